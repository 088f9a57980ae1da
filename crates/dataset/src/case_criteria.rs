//! Reads one case with its criteria, or one criterion in a row, by the paths of a profile.
//!
//! `CriteriaReader` takes element after element; a case's lists are checked and flattened, the
//! weights of groups shared out, and tags of the case added.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::ffi::OsStr;
use std::mem;
use std::path::Path;

use serde_json::{Map, Value, json};

use super::fields::last_step;
use super::paths::{FieldPath, Match, at_place, within};
use super::profile_paths::{ProfilePaths, TEXT_OF_TABLES};
use super::reader::{Id, JsonLine, expected, typed};
use scholareval_core::domain::repeated_keys::{TWO_VALUES, TWO_VALUES_NAME};
use scholareval_core::domain::{CaseCriterion, CaseGroup, Mode, RubricProfile, TestCase, text_of};
use scholareval_core::error::InputFault;
use scholareval_core::text::names::{counted, list};

/// What is wrong with weights whose sum is infinite.
pub(super) const TOO_LARGE: &str =
    "the weights are so large that their sum or their shares of it are not finite; scale them down";

/// Names of fields with criteria below a criterion, in lower case without separators.
const NESTED: &str = "criteria subcriteria children subtasks subitems subrubric subrubrics";

/// Names of weights in lists of objects, besides the profile's.
const WEIGHTS: [&str; 3] = ["weight", "weights", "points"];

/// Maximum number of turns of a talk in numbered fields.
const TURNS: usize = 100;

/// How the elements of a file hold cases.
#[derive(Debug, Clone, Copy)]
pub(super) struct FileForm {
    /// Whether the file is a table, whose cells are texts.
    pub(super) is_table: bool,
    /// Whether each element is a criterion with its case, not a case.
    pub(super) is_rows: bool,
    /// Whether the file is `.json` with one element.
    pub(super) is_one_case: bool,
}

/// A case so far.
pub(super) struct CaseRead<'a> {
    /// Its first line.
    pub(super) line: JsonLine<'a>,
    /// The line of each of its criteria.
    pub(super) lines: Vec<usize>,
    pub(super) case: TestCase,
    tags: Vec<String>,
}

/// Reads cases with their criteria, element by element of a file.
pub(super) struct CriteriaReader<'a> {
    pub(super) profile: &'a RubricProfile,
    pub(super) paths: ProfilePaths<'a>,
    form: FileForm,
    mode: Mode,
    cases: Vec<CaseRead<'a>>,
    /// Cases by id.
    lines: HashMap<String, usize>,
    /// Ids of cases that the profile leaves out.
    skipped: BTreeSet<String>,
    warnings: Vec<InputFault>,
}

impl<'a> CriteriaReader<'a> {
    /// # Errors
    /// When a path of the profile is not one, or rows of criteria should be trees.
    pub(super) fn new(
        profile: &'a RubricProfile,
        form: FileForm,
        mode: Mode,
    ) -> Result<Self, String> {
        if profile.has_trees() && form.is_rows {
            return Err(
                "criterion.children is for cases with a tree each, not for rows".to_owned(),
            );
        }
        Ok(Self {
            profile,
            paths: ProfilePaths::of(profile)?,
            form,
            mode,
            cases: Vec::new(),
            lines: HashMap::new(),
            skipped: BTreeSet::new(),
            warnings: Vec::new(),
        })
    }

    /// Whether each element of the file is a criterion with its case.
    pub(super) fn is_of_rows(&self) -> bool {
        self.form.is_rows
    }

    /// The cases in file order, and warnings about them and about the file at `path`.
    pub(super) fn into_cases(mut self, path: &Path) -> (Vec<CaseRead<'a>>, Vec<InputFault>) {
        if !self.skipped.is_empty() {
            let count = counted(self.skipped.len(), "case");
            let what = format!("{count} left out, as case.skip of the profile says");
            self.warnings.push(InputFault::new(path, what));
        }
        for read in &mut self.cases {
            add_tags_of_case(&mut read.case.criteria, mem::take(&mut read.tags));
        }
        (self.cases, self.warnings)
    }

    /// Reads a case, or a criterion of one.
    ///
    /// # Errors
    /// When its fields are not those of the profile.
    pub(super) fn read(&mut self, line: &JsonLine<'a>) -> Result<(), InputFault> {
        let fields: Map<String, Value> =
            line.read("{case_id, question, criteria: [{text, weight}]}")?;
        let fields = Value::Object(fields);
        let id = self
            .case_id(line, &fields)
            .map_err(|what| line.fault(what))?;
        self.add(line, &id, &fields)
            .map_err(|what| line.fault(what).of_case(id))
    }

    fn case_id(&self, line: &JsonLine<'_>, fields: &Value) -> Result<String, String> {
        let path = &self.paths.id;
        if path.text == ProfilePaths::ROW_NUMBER {
            return Ok((line.index + 1).to_string());
        }
        if self.paths.is_id_of_file && self.form.is_one_case {
            return directory_of(line.path);
        }
        let Some(id) = path.value(fields)? else {
            return Err(format!("{path} is missing"));
        };
        let Id(id) = Id::try_from(id).map_err(|what| format!("{path}: {what}"))?;
        if id.is_empty() {
            return Err(format!("{path} is empty"));
        }
        Ok(id)
    }

    fn add(&mut self, line: &JsonLine<'a>, id: &str, fields: &Value) -> Result<(), String> {
        let is_skipped = self.is_skipped(fields)?;
        self.check_whole(id, is_skipped)?;
        if is_skipped {
            self.skipped.insert(id.to_owned());
            return Ok(());
        }
        let place = self.place(line, id, fields)?;
        // Numbers run through the whole case, as names must be unique in it and not only in a group.
        let before = self.cases[place].case.criteria.len();
        let (mut criteria, weightless) = if self.profile.has_trees() {
            self.leaves(id, fields)?
        } else {
            self.listed(fields, before)?
        };
        for fault in weightless {
            let hint = "its criteria are asked and count nothing; give one of them a weight";
            self.warnings.push(line.fault(fault).of_case(id).hint(hint));
        }
        let read = &mut self.cases[place];
        read.lines
            .extend(std::iter::repeat_n(line.number, criteria.len()));
        read.case.criteria.append(&mut criteria);
        Ok(())
    }

    /// Refuses a case of which some rows are skipped: what is left would be scored as if it were the whole.
    fn check_whole(&self, id: &str, is_skipped: bool) -> Result<(), String> {
        if !self.form.is_rows || self.paths.skip.is_empty() {
            return Ok(());
        }
        let mut cases = self.cases.iter().map(|read| &read.case.case_id);
        let is_torn = if is_skipped {
            cases.any(|case| case.as_str() == id)
        } else {
            self.skipped.contains(id)
        };
        if is_torn {
            return Err("case.skip leaves out some rows of this case and not others".to_owned());
        }
        Ok(())
    }

    /// The criteria of lists, behind `before` others of the case, and which groups have no weight.
    fn listed(
        &self,
        fields: &Value,
        before: usize,
    ) -> Result<(Vec<CaseCriterion>, Vec<String>), String> {
        let elements = self.criteria_of(fields)?;
        let mut criteria = Vec::new();
        let mut groups: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        for element in &elements {
            // ScholarQA-CS2 leaves these out.
            let text = self.paths.text.value(&element.value)?;
            if self.profile.report && text.is_some_and(|text| text == "") {
                continue;
            }
            let criterion = self.criterion_at(element, before + criteria.len() + 1)?;
            if !element.groups.is_empty() {
                let members = groups.entry(element.groups.join(".")).or_default();
                members.push(criteria.len());
            }
            criteria.push(criterion);
        }
        self.weigh_groups(fields, &groups, &mut criteria)?;
        let mut weightless = Vec::new();
        for (group, members) in &groups {
            if members.iter().all(|at| criteria[*at].weight == 0.0) {
                weightless.push(format!("the group {} has no weight", group.escape_debug()));
            }
        }
        Ok((criteria, weightless))
    }

    /// The criterion at its place in a case, with its groups as tags.
    pub(super) fn criterion_at(
        &self,
        element: &Match,
        number: usize,
    ) -> Result<CaseCriterion, String> {
        self.check_flat(element)?;
        let criterion = self.criterion(&element.value, number);
        let mut criterion = criterion.map_err(|what| at_place(&element.place, &what))?;
        for group in &element.groups {
            // A tag counts a criterion once, so a criterion that already names its group must not
            // have it twice.
            criterion.tags.retain(|tag| tag != group);
            criterion.tags.push(group.clone());
        }
        Ok(criterion)
    }

    /// Whether the profile leaves this case out.
    fn is_skipped(&self, fields: &Value) -> Result<bool, String> {
        for (path, values) in &self.paths.skip {
            let value = path.value(fields)?;
            // Tables have texts only.
            let is_listed = |value: &Value| {
                let mut listed = values.iter();
                listed.any(|other| text_of(other) == text_of(value))
            };
            if value.is_some_and(|value| is_listed(&value)) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The index of the case with this id, which is added if it is new. Rows of one case may be anywhere in a file.
    fn place(&mut self, line: &JsonLine<'a>, id: &str, fields: &Value) -> Result<usize, String> {
        let question = self.question(fields)?;
        let mut case = TestCase::without_rubric(id.into(), &question);
        // Judges that compare with a reference article are shown it.
        if !self.profile.reply.second.is_empty() {
            case.reference = Some(question_at(fields, &self.paths.reference)?.into());
        }
        case.shown = self.shown(fields)?.into();
        case.group = self.group(fields)?;
        let tags = self.tags_of_case(fields)?;
        let Some(place) = self.lines.get(id).copied() else {
            self.lines.insert(id.to_owned(), self.cases.len());
            self.cases.push(CaseRead {
                line: *line,
                lines: Vec::new(),
                case,
                tags,
            });
            return Ok(self.cases.len() - 1);
        };
        let first = &self.cases[place];
        let number = first.line.number;
        if !self.form.is_rows {
            return Err(format!("duplicate case id, first on line {number}"));
        }
        // Rows with one id and two questions are two cases with a mistyped id; merged, their
        // criteria would be asked of the wrong answer.
        let other = if first.case.initial_prompt != question {
            "another question"
        } else if first.case.reference != case.reference {
            "another reference article"
        } else if (&first.case.shown, &first.case.group) != (&case.shown, &case.group) {
            "other texts for the judge (show)"
        } else if first.tags != tags {
            "other tags of the case"
        } else {
            return Ok(place);
        };
        Err(format!("{other} than on line {number}"))
    }

    /// Each criterion of a case, with its groups and its place.
    pub(super) fn criteria_of(&self, fields: &Value) -> Result<Vec<Match>, String> {
        if self.profile.has_trees() {
            return self.leaf_values(fields);
        }
        if self.form.is_rows {
            return Ok(self.paths.itself.matches(fields)?.all);
        }
        let path = &self.paths.criteria;
        let mut found = path.matches(fields)?;
        let mut criteria = Vec::new();
        for value in found.all {
            let rest = match &value.value {
                _ if path.ends_in_elements() => &self.paths.itself,
                Value::String(_) => &self.paths.itself,
                other if self.is_criterion(other) => &self.paths.itself,
                Value::Object(_) => &self.paths.groups,
                _ => &self.paths.elements,
            };
            let mut matches = rest.matches_from(&value.value, &value.groups, &value.place)?;
            criteria.append(&mut matches.all);
            found.gap = found.gap.or(matches.gap);
        }
        match found.gap {
            _ if self.may_be_empty() => Ok(criteria),
            // A group without criteria counts for nothing among tags.
            Some(gap) if gap.is_empty && self.profile.case.pooled && !criteria.is_empty() => {
                Ok(criteria)
            }
            Some(gap) if gap.is_empty => Err(format!(
                "{} is empty; give the case criteria, or leave it out",
                gap.place
            )),
            Some(gap) if gap.steps == 0 => {
                Err(format!("{path} is missing; found {}", names_of(fields)))
            }
            Some(gap) => Err(format!("{path} is missing; {gap}")),
            None => Ok(criteria),
        }
    }

    /// Whether a criterion has a text.
    pub(super) fn has_text(&self, criterion: &Value) -> bool {
        let mut paths = [&self.paths.text, &self.paths.text_of_tables].into_iter();
        let has = |path: &FieldPath| path.value(criterion).is_ok_and(|text| text.is_some());
        criterion.is_string() || paths.any(has)
    }

    /// Whether an object is a criterion, not groups of criteria.
    fn is_criterion(&self, object: &Value) -> bool {
        let text = self.paths.text.value(object);
        object.is_object() && text.is_ok_and(|text| text.is_some_and(|text| text.is_string()))
    }

    /// The reference of ScholarQA-CS2 asks for no ingredients where there are none, and gives 0.
    fn may_be_empty(&self) -> bool {
        self.profile.report && self.mode == Mode::Compat
    }

    /// Gives the criteria of each group their shares of its weight.
    fn weigh_groups(
        &self,
        fields: &Value,
        groups: &BTreeMap<String, Vec<usize>>,
        criteria: &mut [CaseCriterion],
    ) -> Result<(), String> {
        if self.profile.case.pooled {
            return Ok(());
        }
        let weights = self.group_weights(fields, groups.len())?;
        for (name, members) in groups {
            let weight = self.group_weight(weights.as_ref(), name)?;
            let place = &self.profile.case.criteria;
            share(criteria, members, weight).map_err(|what| format!("{place}.{name}: {what}"))?;
        }
        Ok(())
    }

    /// The object with the weights of groups, if the profile names one. Groups without weights are refused: counted equally,
    /// or with their criteria pooled, they give different scores, and only the author of the rubric can say which is meant.
    fn group_weights(&self, fields: &Value, groups: usize) -> Result<Option<Value>, String> {
        let path = &self.paths.group_weights;
        let criteria = &self.paths.criteria;
        if !path.text.is_empty() {
            let weights = path.value(fields)?;
            if weights.is_none() && groups > 1 {
                return Err(format!(
                    "{criteria} has {groups} groups, but {path} is missing; give each group its weight there"
                ));
            }
            return Ok(weights);
        }
        if groups > 1 {
            return Err(format!(
                "{criteria} has {groups} groups without weights; to pool them, write case.pooled = true in a profile; to \
                 weight them, name the field of their weights as case.group_weights"
            ));
        }
        Ok(None)
    }

    /// The weight of a group of criteria; 1 if it is the only one and has none.
    fn group_weight(&self, weights: Option<&Value>, name: &str) -> Result<f64, String> {
        let Some(all) = weights else {
            return Ok(1.0);
        };
        // Negative shares would turn the criteria of a group into penalties and the divisor with
        // them.
        let weight = all[name].as_f64().filter(|weight| *weight >= 0.0);
        weight.ok_or_else(|| {
            let path = &self.paths.group_weights;
            format!("{path}.{name} is not a weight; give the group a number from 0")
        })
    }

    /// Refuses a criterion with a field that holds further criteria: they would not be asked.
    fn check_flat(&self, criterion: &Match) -> Result<(), String> {
        for (name, value) in criterion.value.as_object().into_iter().flatten() {
            if self.is_nested(name, value) {
                let place = within(&criterion.place, name);
                return Err(format!(
                    "{place} looks like criteria below a criterion, which would not be asked; list every criterion to ask \
                     in {}, name the field of a tree as criterion.children in a profile, or take it out",
                    self.paths.criteria
                ));
            }
        }
        Ok(())
    }

    /// Whether a field of a criterion holds further criteria: by its name, or because its elements have the text and the
    /// weight of one. Sources, snippets and tags have neither.
    fn is_nested(&self, name: &str, value: &Value) -> bool {
        let paths = &self.paths;
        let known = [
            &paths.text,
            &paths.weight,
            &paths.criterion_id,
            &paths.criterion_tags,
            &paths.examples,
        ];
        if known.into_iter().any(|path| path.begins_with(name)) {
            return false;
        }
        let elements: Vec<&Value> = match value {
            Value::Array(list) => list.iter().collect(),
            Value::Object(groups) => groups.values().collect(),
            _ => return false,
        };
        let plain: String = name.chars().filter(|c| c.is_alphanumeric()).collect();
        // Names are compared without case and separators: `sub_criteria`, `subCriteria` and
        // `Sub-criteria` all occur.
        let is_named = name == paths.criteria.text
            || NESTED
                .split(' ')
                .any(|nested| nested == plain.to_lowercase());
        let has = |element: &Value, path: &FieldPath| {
            path.value(element).is_ok_and(|value| value.is_some())
        };
        is_named && !elements.is_empty()
            || elements
                .iter()
                .any(|element| self.is_criterion(element) && has(element, &paths.weight))
    }

    fn criterion(&self, value: &Value, number: usize) -> Result<CaseCriterion, String> {
        if !value.is_object() && !value.is_string() {
            return Err(expected("an object or a text", value));
        }
        let id = self.paths.criterion_id.value(value)?;
        if self.profile.report && !id.is_some_and(|id| id.is_string()) {
            return Err(format!("{} is not a text", self.paths.criterion_id));
        }
        let text = self.text(value)?;
        let weight = self.weight(value)?;
        let id = self.id(value)?;
        let tags = self.tags(&self.paths.criterion_tags, value)?;
        if tags.is_empty() && self.profile.criterion.tag_required {
            return Err(format!("{} is missing", self.paths.criterion_tags));
        }
        let examples = match self.paths.examples.value(value)? {
            Some(examples) => {
                typed(examples).map_err(|what| format!("{}: {what}", self.paths.examples))?
            }
            None => Vec::new(),
        };
        Ok(CaseCriterion {
            name: id.unwrap_or_else(|| format!("c{number}")),
            text: text.into(),
            weight,
            tags,
            examples,
            shared_id: None,
            level_means: self.level_means(value)?,
            nodes_above: Vec::new(),
        })
    }

    /// The text of a criterion, with its explanation in parentheses.
    pub(super) fn text(&self, criterion: &Value) -> Result<String, String> {
        if let Value::String(text) = criterion {
            return self.checked_text("the criterion", text);
        }
        let mut path = &self.paths.text;
        let mut value = path.value(criterion)?;
        if value.is_none() {
            path = &self.paths.text_of_tables;
            value = path.value(criterion)?;
        }
        let text = match value.as_ref() {
            Some(Value::String(text)) => self.checked_text(&path.text, text)?,
            Some(other) => return Err(format!("{path}: {}", expected("a text", other))),
            None => return Err(format!("{} is missing", self.paths.text)),
        };
        match self.paths.explanation.value(criterion)?.as_ref() {
            Some(Value::String(explanation)) if !explanation.trim().is_empty() => {
                Ok(format!("{text} ({explanation})"))
            }
            _ => Ok(text),
        }
    }

    fn checked_text(&self, name: &str, text: &str) -> Result<String, String> {
        if text.trim().is_empty() && !self.profile.report {
            return Err(format!("{name} is empty"));
        }
        Ok(text.to_owned())
    }

    /// The weight of a criterion, 1 if it has none. Then a number under another name is refused: it may be the weight, which
    /// would not count.
    pub(super) fn weight(&self, criterion: &Value) -> Result<f64, String> {
        let names = &self.profile.criterion;
        let path = self.weight_path(criterion)?;
        let has_class = matches!(path, Cow::Owned(_));
        let is_required = self.profile.report || names.weight_required || has_class;
        let mut matches = path.matches(criterion)?;
        let parent = matches.gap.take().filter(|gap| gap.is_at_last_step(&path));
        let Some(value) = matches
            .only(&path)?
            .filter(|value| !is_required || !value.is_null())
        else {
            if is_required {
                return Err(format!("{path} is missing"));
            }
            return match (self.other_number(criterion), parent) {
                (Some(other), _) => Err(format!(
                    "no {path}, but {other} is a number; call it {path} if it is one, or remove it"
                )),
                (None, Some(gap)) => Err(format!(
                    "{path} is missing, though {} is there; add it, or null for 1",
                    gap.place
                )),
                (None, None) => Ok(1.0),
            };
        };
        let number = match &value {
            Value::Null => Some(1.0),
            // An empty cell of a table is what null is in JSON.
            Value::String(text) if text.trim().is_empty() && !names.weight_required => Some(1.0),
            word if !names.weights.is_empty() => return self.weight_of_word(&path, word),
            Value::String(text) => text.trim().parse().ok(),
            // Python's True and False are 1 and 0 in sums.
            Value::Bool(is_true) if self.profile.report => Some(f64::from(u8::from(*is_true))),
            other => other.as_f64(),
        };
        let number = number.filter(|number| number.is_finite());
        number.ok_or_else(|| format!("{path}: {}", expected("a number", &value)))
    }

    /// The path of the weight, with the texts of the fields that it names in braces.
    fn weight_path(&self, criterion: &Value) -> Result<Cow<'_, FieldPath>, String> {
        let path = &self.paths.weight;
        if !path.has_braces() {
            return Ok(Cow::Borrowed(path));
        }
        let path = path.filled(|name, before| {
            // The field may be beside the weight.
            let mut value = FieldPath::parse(name)?.value(criterion)?;
            let beside;
            if value.is_none() {
                beside = FieldPath::parse(&format!("{before}{name}"))?;
                value = beside.value(criterion)?;
            }
            match value.as_ref() {
                Some(Value::String(text)) if !text.trim().is_empty() => {
                    Ok(text.trim().replace(' ', "_"))
                }
                Some(other) => Err(format!("{name}: {}", expected("a text", other))),
                None => Err(format!("{name}, which names the weight, is missing")),
            }
        });
        path.map(Cow::Owned)
    }

    fn weight_of_word(&self, path: &FieldPath, word: &Value) -> Result<f64, String> {
        let weights = &self.profile.criterion.weights;
        let weight = word.as_str().and_then(|word| weights.get(word.trim()));
        weight.copied().ok_or_else(|| {
            let words = list(weights.keys().map(String::as_str), 8);
            let what = expected("a word of criterion.weights", word);
            format!("{path}: {what}; it has {words}")
        })
    }

    /// What each level means for this criterion, if the profile names fields that say so.
    fn level_means(&self, criterion: &Value) -> Result<Vec<String>, String> {
        let mut means = Vec::new();
        if self.paths.level_means.text.is_empty() {
            return Ok(means);
        }
        for level in &self.profile.reply.levels {
            let level = text_of(&level.level);
            let path = self.paths.level_means.filled(|_, _| Ok(level.clone()))?;
            match path.value(criterion)?.as_ref() {
                Some(Value::String(text)) if !text.trim().is_empty() => means.push(text.clone()),
                Some(Value::Null | Value::String(_)) | None => {
                    return Err(format!(
                        "{path}, which says what level {level} means, is missing"
                    ));
                }
                Some(other) => return Err(format!("{path}: {}", expected("a text", other))),
            }
        }
        Ok(means)
    }

    /// The id of a criterion; in rows the field may be that of their case.
    fn id(&self, criterion: &Value) -> Result<Option<String>, String> {
        let path = &self.paths.criterion_id;
        if self.form.is_rows && *path == self.paths.id {
            return Ok(None);
        }
        let Some(id) = path.value(criterion)? else {
            return Ok(None);
        };
        let Id(id) = typed::<Id>(id)?;
        let is_given = self.profile.report || !id.trim().is_empty();
        Ok(is_given.then_some(id))
    }

    /// The tags of a case. No two fields may give the same one: it would count twice what it means.
    fn tags_of_case(&self, fields: &Value) -> Result<Vec<String>, String> {
        let mut tags: Vec<String> = Vec::new();
        for path in &self.paths.tags {
            // A row has the tags of its criterion in the same field.
            if self.form.is_rows && *path == self.paths.criterion_tags {
                continue;
            }
            for tag in self.tags(path, fields)? {
                if tags.contains(&tag) {
                    return Err(format!(
                        "{path}: the case has the tag {} from another field, too",
                        tag.escape_debug()
                    ));
                }
                tags.push(tag);
            }
        }
        Ok(tags)
    }

    /// One tag or a list of tags, each once; in a table separated by semicolons.
    pub(super) fn tags(&self, path: &FieldPath, fields: &Value) -> Result<Vec<String>, String> {
        let mut all: Vec<String> = Vec::new();
        for found in path.matches(fields)?.all {
            match found.value {
                Value::Null => {}
                // Semicolons, because commas separate the cells.
                Value::String(tags) if self.form.is_table => {
                    all.extend(tags.split(';').map(str::to_owned));
                }
                Value::String(tag) => all.push(tag),
                list => {
                    let tags: Vec<String> =
                        typed(list).map_err(|what| format!("{}: {what}", found.place))?;
                    all.extend(tags);
                }
            }
        }
        let mut seen = HashSet::new();
        let tags = all.iter().map(|tag| tag.trim());
        let tags = tags.filter(|tag| !tag.is_empty() && seen.insert(*tag));
        Ok(tags.map(str::to_owned).collect())
    }

    /// The group of a case by whose mean its system is valued; a benchmark that has groups has one for each case.
    fn group(&self, fields: &Value) -> Result<Option<CaseGroup>, String> {
        let path = &self.paths.group;
        if path.text.is_empty() {
            return Ok(None);
        }
        match path.value(fields)?.as_ref() {
            Some(Value::String(group)) if !group.trim().is_empty() => {
                let name = group.trim();
                if self.profile.case.nest.contains_key(name) {
                    return Err(format!(
                        "{path}: the group {} has the name that case.nest gives to several groups",
                        name.escape_debug()
                    ));
                }
                let mut nests = self.profile.case.nest.iter();
                let within = nests.find(|(_, groups)| groups.iter().any(|group| group == name));
                Ok(Some(CaseGroup {
                    name: name.into(),
                    within: within.map(|(within, _)| within.as_str().into()),
                }))
            }
            Some(other) => Err(format!("{path}: {}", expected("a text", other))),
            None => Err(format!("{path} is missing; found {}", names_of(fields))),
        }
    }

    /// Names and texts of further fields that the judge sees; one that the case does not have is left out.
    fn shown(&self, fields: &Value) -> Result<Vec<(String, String)>, String> {
        let mut shown = Vec::new();
        for path in &self.paths.shown {
            let mut values = Vec::new();
            for found in path.matches(fields)?.all {
                if !found.value.is_null() {
                    values.push(found.value);
                }
            }
            let value = match values.len() {
                0 => continue,
                1 => values.remove(0),
                _ => Value::Array(values),
            };
            let text = text_of(&value);
            if text.contains(TWO_VALUES) {
                return Err(format!("{path} has {TWO_VALUES_NAME}"));
            }
            shown.push((path.last_name().to_owned(), text));
        }
        Ok(shown)
    }

    /// The question of a case: a text, messages, or the turns of a talk in numbered fields.
    fn question(&self, fields: &Value) -> Result<String, String> {
        let paths = &self.paths.question;
        let [first, ..] = &paths[..] else {
            return Err("the profile names no question".to_owned());
        };
        if !first.has_braces() {
            return question_at(fields, first);
        }
        let mut messages = Vec::new();
        for n in 0..TURNS {
            for (at, path) in paths.iter().enumerate() {
                let path = path.filled(|_, _| Ok(n.to_string()))?;
                // The last one is the reply; what stands before it is the user's.
                let is_reply = at > 0 && at + 1 == paths.len();
                let role = if is_reply { "assistant" } else { "user" };
                let texts = match path.value(fields)?.as_ref() {
                    Some(Value::String(text)) => text.clone(),
                    Some(Value::Array(texts)) if at > 0 => texts_of(texts, &path)?,
                    Some(Value::Null) | None if at > 0 => String::new(),
                    Some(Value::Null) | None if n > 0 => {
                        return Ok(conversation(&messages).unwrap_or_default());
                    }
                    None => return Err(format!("{path} is missing; found {}", names_of(fields))),
                    Some(other) => return Err(format!("{path}: {}", expected("a text", other))),
                };
                if !texts.is_empty() {
                    messages.push(json!({"role": role, "content": texts}));
                }
            }
        }
        Err(format!("{first}: a talk has at most {TURNS} turns"))
    }

    /// A field without a known name that holds a number, also within others: perhaps the weight under another name.
    fn other_number(&self, criterion: &Value) -> Option<String> {
        let paths = &self.paths;
        let has_text = paths.text.value(criterion).is_ok_and(|text| text.is_some());
        let of_criterion = [
            &paths.text,
            &paths.criterion_id,
            &paths.criterion_tags,
            &paths.children,
            &paths.id,
        ];
        let of_case = paths.question.iter().chain(&paths.tags).chain(&paths.shown);
        let all = of_case.chain(of_criterion);
        let mut known: Vec<&str> = all.map(|path| path.text.as_str()).collect();
        known.extend(paths.skip.iter().map(|(path, _)| path.text.as_str()));
        known.extend((!has_text).then_some(TEXT_OF_TABLES));
        // `points: 5` read as weight 1 would give every criterion the same weight, with nothing
        // to see in the output.
        let mut all = criterion.as_object().into_iter().flatten();
        all.find_map(|(name, value)| self.number_within(name, value, &known, false))
    }

    /// The path of a number at or below `path`, none of whose names is known. Objects in lists are mostly sources, whose
    /// pages and years are not weights: there the name must be one of a weight.
    fn number_within(
        &self,
        path: &str,
        value: &Value,
        known: &[&str],
        is_listed: bool,
    ) -> Option<String> {
        let name = last_step(path);
        if known.contains(&path) || known.contains(&name) {
            return None;
        }
        let within = |step: &str, value: &Value, is_listed: bool| {
            self.number_within(&format!("{path}.{step}"), value, known, is_listed)
        };
        match value {
            Value::Object(fields) => fields
                .iter()
                .find_map(|(name, value)| within(name, value, is_listed)),
            Value::Array(list) => {
                let mut objects = list
                    .iter()
                    .enumerate()
                    .filter(|(_, element)| element.is_object());
                objects.find_map(|(at, element)| within(&at.to_string(), element, true))
            }
            _ => {
                let is_weight =
                    name == last_step(&self.profile.criterion.weight) || WEIGHTS.contains(&name);
                (is_number(value) && (is_weight || !is_listed)).then(|| path.to_owned())
            }
        }
    }
}

/// Whether the value is a number, also one that is written as a text.
fn is_number(value: &Value) -> bool {
    match value {
        Value::String(text) => text.trim().parse::<f64>().is_ok(),
        other => other.is_number(),
    }
}

/// Gives these criteria their share of the weight of their group.
///
/// # Errors
/// When the sum of their weights is infinite.
fn share(criteria: &mut [CaseCriterion], members: &[usize], weight: f64) -> Result<(), String> {
    let weights = members.iter().map(|at| criteria[*at].weight.max(0.0));
    let whole: f64 = weights.sum();
    if !whole.is_finite() {
        return Err(TOO_LARGE.to_owned());
    }
    // A group without positive weights counts nothing.
    let factor = if whole > 0.0 { weight / whole } else { 0.0 };
    for at in members {
        criteria[*at].weight *= factor;
    }
    Ok(())
}

/// Adds the tags of a case to each of its criteria, but none that a criterion has by itself: there it means that one.
fn add_tags_of_case(criteria: &mut [CaseCriterion], mut tags: Vec<String>) {
    let mut of_criteria: HashSet<String> = HashSet::new();
    for criterion in &*criteria {
        of_criteria.extend(criterion.tags.iter().cloned());
    }
    tags.retain(|tag| !of_criteria.contains(tag));
    for criterion in criteria {
        criterion.tags.extend(tags.iter().cloned());
    }
}

/// The name of the directory of a file.
fn directory_of(file: &Path) -> Result<String, String> {
    let file = std::path::absolute(file).map_err(|error| error.to_string())?;
    // `..` has no name; the directory that it stands for has one.
    let real = std::fs::canonicalize(&file).unwrap_or_default();
    let mut names = [&file, &real]
        .into_iter()
        .filter_map(|file| file.parent().and_then(Path::file_name));
    match names.next().and_then(OsStr::to_str) {
        Some(name) => Ok(name.to_owned()),
        None => Err(
            "case.id is the name of the file's directory, which is not a text; move the file"
                .to_owned(),
        ),
    }
}

/// The first names of fields.
pub(super) fn names_of(fields: &Value) -> String {
    let fields = fields.as_object().into_iter().flatten();
    list(fields.map(|(name, _)| name.as_str()), 8)
}

/// A text, or the messages of a conversation.
fn question_at(fields: &Value, path: &FieldPath) -> Result<String, String> {
    match path.value(fields)?.as_ref() {
        Some(Value::String(text)) => Ok(text.clone()),
        Some(Value::Array(messages)) if !messages.is_empty() => {
            conversation(messages).ok_or_else(|| format!("{path}: a message has no content"))
        }
        Some(other) => Err(format!(
            "{path}: {}",
            expected("a text or a list of messages", other)
        )),
        None => Err(format!("{path} is missing; found {}", names_of(fields))),
    }
}

/// Texts beside a turn of a talk, such as documents, as one text.
fn texts_of(texts: &[Value], path: &FieldPath) -> Result<String, String> {
    let texts: Vec<String> = typed(Value::from(texts)).map_err(|what| format!("{path}: {what}"))?;
    Ok(texts.join("\n\n"))
}

/// Messages as one text: a single one as it is, several with their roles.
fn conversation(messages: &[Value]) -> Option<String> {
    let mut turns = Vec::new();
    for message in messages {
        let content = message.get("content")?.as_str()?;
        // HealthBench grades the whole conversation, so its turns keep their roles; a single
        // message is simply the question.
        if messages.len() == 1 {
            return Some(content.to_owned());
        }
        let role = message.get("role").and_then(Value::as_str);
        turns.push(format!("{}: {content}", role.unwrap_or("user")));
    }
    Some(turns.join("\n\n"))
}
