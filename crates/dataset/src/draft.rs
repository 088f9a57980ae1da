//! Drafts a profile for a file of cases with criteria whose form no built-in profile has: which fields look like what.

use std::collections::{BTreeSet, HashSet};
use std::path::Path;

use serde_json::{Map, Value};

use super::case_criteria::CaseRead;
use super::criteria::{CriteriaFile, FirstCase, rows_of_table};
use super::inspect_log::read_input;
use super::paths::FieldPath;
use super::profiles::{keys_of, parse, rubric_profile, shipped_profiles};
use super::reader::{JsonLine, elements};
use scholareval_core::domain::{Mode, text_of};
use scholareval_core::error::{Error, InputFault, Result};
use scholareval_core::text::names::{list, start_of};

/// Maximum number of cases, and of criteria, whose fields are compared.
const SAMPLES: usize = 2_000;

/// Maximum number of fields within others on the way to one.
const DEPTH: usize = 6;

/// Maximum number of fields of an object, and of all, that are compared.
const FIELDS: usize = 300;

/// Maximum number of different words that a field of weights has.
const WEIGHT_WORDS: usize = 8;

/// Maximum number of characters of a tag, or of a word for a weight.
const TAG_CHARS: usize = 60;

/// Names of fields, the most certain first.
const CRITERIA: &str =
    "criteria rubrics rubric criterions checklist nuggets requirements ingredients items criterion";
const NO_CRITERIA: &str = "messages conversation history references sources documents ctxs citations answers responses tags urls files";
const IDS: &str =
    "case_id id qid task_id prompt_id question_id example_id sample_id uuid idx index key task";
const QUESTIONS: &str =
    "question prompt query problem instruction task input messages conversation history request";
const TEXTS: &str = "criterion text requirement criteria statement description nugget item checklist rubric title question content name";
const WEIGHTS: &str = "weight points point score marks mark importance priority severity";
const CRITERION_IDS: &str = "id criterion_id item_id rubric_item_id uuid key";
const TAGS: &str = "category categories tags tag theme topic domain field section dimension axis aspect subject sector type kind";

/// A profile that a file of criteria may have.
#[derive(Debug, Clone)]
pub struct ProfileDraft {
    /// The text of its `profile.toml`, which `--rubric DIR` reads.
    pub text: String,
    /// How many comments in it begin with `undecided`.
    pub undecided: usize,
}

/// Drafts a profile for this file; `None` if the default profile has its fields, so that only their values can be wrong, or
/// if nothing in it looks like criteria.
///
/// # Errors
/// When the file cannot be read, and for a file of a built-in profile, which the message names.
pub fn draft_profile(path: &Path) -> Result<Option<ProfileDraft>> {
    let (text, ..) = read_input(path, true)?;
    let rows = rows_of_table(&text, path)?;
    let elements = elements(rows.as_deref().unwrap_or(&text), path)?;
    let is_table = rows.is_some();
    let first = FirstCase::of(&elements, is_table, path)?;
    let mut cases = Vec::new();
    for line in elements.iter().take(SAMPLES) {
        let Ok(fields) = line.read::<Map<String, Value>>("") else {
            return Ok(None);
        };
        cases.push(Value::Object(fields));
    }
    let default = rubric_profile(None)?;
    let is_default = |case: &Value| FirstCase::new(case.clone(), is_table).has_fields_of(&default);
    if first.is_scholarqa_cs() || first.has("ingredients") || cases.iter().any(is_default) {
        return Ok(None);
    }
    let place = CriteriaPlace::of(&cases[0]);
    if let Some(name) = built_in_profile(&first, place.as_ref())? {
        let fault = InputFault::new(
            path,
            format!("the file has the fields of a built-in rubric, {name}"),
        );
        return Err(fault.refuse(format!("add --rubric {name}")));
    }
    let Some(draft) = Drafting::of(&cases, place, is_table) else {
        return Ok(None);
    };
    draft.finished(path, &elements, &first).map(Some)
}

/// The built-in profile that has the fields of the first case. One whose criteria are elsewhere than where they seem to be
/// only shares names with the file.
fn built_in_profile(first: &FirstCase, place: Option<&CriteriaPlace>) -> Result<Option<String>> {
    for (name, _) in shipped_profiles() {
        let profile = rubric_profile(Some(&name))?;
        let is_elsewhere = match place {
            Some(place) if place.rank > 1 && !profile.case.rows && !profile.has_trees() => {
                let path = FieldPath::parse(&profile.case.criteria);
                !path.is_ok_and(|path| path.begins_with(&place.root))
            }
            _ => false,
        };
        if !is_elsewhere && first.has_fields_of(&profile) {
            return Ok(Some(name));
        }
    }
    Ok(None)
}

/// Where a case seems to have its criteria.
#[derive(Debug, Clone, Default, PartialEq)]
struct CriteriaPlace {
    path: String,
    /// The first field on the path.
    root: String,
    /// How certain it is; 0 for no name that says so.
    rank: usize,
    /// Whether it is one text, not a list.
    is_text: bool,
    /// The names of the groups of an object of lists.
    groups: Vec<String>,
    is_grouped: bool,
}

impl CriteriaPlace {
    /// The most certain place of a case, the innermost of several.
    fn of(case: &Value) -> Option<Self> {
        let mut places = Vec::new();
        for (name, value) in case.as_object()? {
            let start = Self {
                path: name.clone(),
                root: name.clone(),
                ..Self::default()
            };
            start.walk(value, name, false, DEPTH, &mut places);
        }
        // The last of the highest.
        places.into_iter().max_by_key(|place| place.rank)
    }

    /// Adds the places at this value and within it. `name` is that of its field; `is_below` says that a field around it is
    /// named like criteria.
    fn walk(&self, value: &Value, name: &str, is_below: bool, depth: usize, to: &mut Vec<Self>) {
        let name_rank = rank(name, CRITERIA);
        if depth == 0 || rank(name, NO_CRITERIA) > 0 {
            return;
        }
        let is_below_next = is_below || name_rank > 0;
        let at = |path: String, rank: usize| Self {
            path,
            rank,
            ..self.clone()
        };
        // Lists before texts, and names before fields around.
        let list_rank = match name_rank {
            0 => 1 + 3 * usize::from(is_below),
            rank => 4 + rank,
        };
        match value {
            Value::String(text) => match inner_json(text) {
                Some(inner) => {
                    let path = format!("{}:json", self.path);
                    at(path, 0).walk(&inner, name, is_below, depth - 1, to);
                }
                None if name_rank > 0 => to.push(Self {
                    is_text: true,
                    ..at(self.path.clone(), 1 + name_rank)
                }),
                None => {}
            },
            Value::Array(elements) if is_criteria(elements) => {
                to.push(at(format!("{}[]", self.path), list_rank));
                self.walk_sections(elements, is_below_next, depth, to);
            }
            Value::Array(elements) => self.walk_sections(elements, is_below_next, depth, to),
            Value::Object(fields) => {
                for (field, value) in fields {
                    let path = format!("{}.{field}", self.path);
                    at(path, 0).walk(value, field, is_below_next, depth - 1, to);
                }
                let is_list =
                    |value: &Value| value.as_array().is_some_and(|list| is_criteria(list));
                if fields.len() > 1 && fields.values().all(is_list) {
                    to.push(Self {
                        groups: fields.keys().cloned().collect(),
                        is_grouped: true,
                        ..at(format!("{}.*[]", self.path), list_rank)
                    });
                }
            }
            _ => {}
        }
    }

    /// The places within the elements of a list, which may be groups with a name.
    fn walk_sections(&self, elements: &[Value], is_below: bool, depth: usize, to: &mut Vec<Self>) {
        let Some(Value::Object(first)) = elements.first() else {
            return;
        };
        let fields = Field::all(elements.iter());
        let label = named(&fields, "id name title section category group", |field| {
            field.is_distinct() && field.are_all(Value::is_string)
        });
        for (name, value) in first {
            if value.is_array() || value.is_object() {
                let by = label.map_or("", |label| &label.path);
                let section = Self {
                    path: format!("{}[{by}].{name}", self.path),
                    is_grouped: self.is_grouped || label.is_some(),
                    ..self.clone()
                };
                section.walk(value, name, is_below, depth - 1, to);
            }
        }
    }
}

/// Whether these are texts or objects with a text, but not the messages of a talk.
fn is_criteria(elements: &[Value]) -> bool {
    let is_text = |value: &Value| value.as_str().is_some_and(|text| text.contains(' '));
    let is_criterion = |element: &Value| match element {
        Value::Object(fields) => !fields.contains_key("role") && fields.values().any(is_text),
        other => other.is_string(),
    };
    !elements.is_empty() && elements.iter().all(is_criterion)
}

/// The list or object that a text holds.
fn inner_json(text: &str) -> Option<Value> {
    if !text.trim_start().starts_with(['{', '[']) {
        return None;
    }
    serde_json::from_str(text).ok()
}

/// How certain a name is one of the list: 2 if it is, 1 if a word of it is.
fn rank(name: &str, names: &str) -> usize {
    let name = name.to_lowercase();
    let is_listed = |word: &str| names.split_whitespace().any(|listed| listed == word);
    if is_listed(&name) {
        return 2;
    }
    usize::from(name.split(|c: char| !c.is_alphanumeric()).any(is_listed))
}

/// A field with its values in all cases or criteria that are compared.
struct Field {
    path: String,
    /// Null where it is missing.
    values: Vec<Value>,
}

impl Field {
    /// The fields of these objects and of objects within them, in the order in which they occur.
    fn all<'v>(objects: impl Iterator<Item = &'v Value>) -> Vec<Self> {
        let mut fields: Vec<Self> = Vec::new();
        for (count, object) in objects.enumerate() {
            let mut leaves = Vec::new();
            add_leaves(object, "", DEPTH, &mut leaves);
            for (path, value) in leaves {
                let known = fields.iter().position(|field| field.path == path);
                let place = known.unwrap_or(fields.len());
                if known.is_none() && place == FIELDS {
                    continue;
                }
                if known.is_none() {
                    let values = Vec::new();
                    fields.push(Self { path, values });
                }
                let values = &mut fields[place].values;
                values.resize(count, Value::Null);
                values.push(value);
            }
            for field in &mut fields {
                field.values.resize(count + 1, Value::Null);
            }
        }
        fields
    }

    fn are_all(&self, test: impl Fn(&Value) -> bool) -> bool {
        self.values.iter().all(test)
    }

    fn is_distinct(&self) -> bool {
        self.is_distinct_within(&vec![String::new(); self.values.len()])
    }

    /// Whether it is an id of criteria, which differs from that of others with the same owner.
    fn is_distinct_within(&self, owners: &[String]) -> bool {
        let mut seen = HashSet::new();
        let mut all = self.values.iter().zip(owners);
        self.are_all(is_name) && all.all(|(value, owner)| seen.insert((owner, text_of(value))))
    }

    fn is_text(&self) -> bool {
        self.are_all(|value| value.as_str().is_some_and(|text| !text.trim().is_empty()))
    }

    /// Whether there are numbers, and nothing else.
    fn is_number(&self) -> bool {
        let is_number = |value: &Value| match value {
            Value::String(text) => text.trim().parse::<f64>().is_ok(),
            other => other.is_number(),
        };
        let mut values = self
            .values
            .iter()
            .filter(|value| !value.is_null())
            .peekable();
        values.peek().is_some() && values.all(is_number)
    }

    /// Its different short texts.
    fn words(&self) -> BTreeSet<&str> {
        self.values.iter().filter_map(Value::as_str).collect()
    }

    fn is_tag(&self) -> bool {
        let is_short = |value: &Value| value.as_str().is_some_and(|text| text.len() <= TAG_CHARS);
        self.values.iter().any(|value| !value.is_null())
            && self.are_all(|value| match value {
                Value::Array(tags) => tags.iter().all(is_short),
                other => other.is_null() || is_short(other),
            })
    }
}

/// Whether a value may be an id: a number or a short text.
fn is_name(value: &Value) -> bool {
    let is_short = |text: &str| !text.trim().is_empty() && text.len() <= TAG_CHARS;
    value.is_number() || value.as_str().is_some_and(is_short)
}

/// Whether a value may be a question: a text, or the messages of a talk.
fn is_question(value: &Value) -> bool {
    let is_message = |value: &Value| value["role"].is_string() && value["content"].is_string();
    match value {
        Value::String(text) => text.contains(' ') || !text.is_ascii(),
        Value::Array(messages) => !messages.is_empty() && messages.iter().all(is_message),
        _ => false,
    }
}

/// The values of an object that are not objects, with their paths.
fn add_leaves(value: &Value, path: &str, depth: usize, to: &mut Vec<(String, Value)>) {
    for (name, value) in value.as_object().into_iter().flatten() {
        if to.len() == FIELDS {
            return;
        }
        let path = if path.is_empty() {
            name.clone()
        } else {
            format!("{path}.{name}")
        };
        let inner = value.as_str().and_then(inner_json);
        match inner.as_ref().unwrap_or(value) {
            object @ Value::Object(_) if depth > 1 => {
                let path = if inner.is_some() {
                    path + ":json"
                } else {
                    path
                };
                add_leaves(object, &path, depth - 1, to);
            }
            list @ Value::Array(_) if inner.is_some() => to.push((path + ":json", list.clone())),
            _ => to.push((path, value.clone())),
        }
    }
}

/// The field with the first of these names that passes a test; else with one of them as a word of its name.
fn named<'f>(fields: &'f [Field], names: &str, test: impl Fn(&Field) -> bool) -> Option<&'f Field> {
    let last = |field: &Field| {
        let path = field.path.trim_end_matches(":json");
        path.rsplit('.').next().unwrap_or_default().to_lowercase()
    };
    let mut exact = names.split_whitespace().filter_map(|name| {
        let mut all = fields.iter();
        all.find(|field| last(field) == name && test(field))
    });
    let mut partial = fields.iter();
    exact
        .next()
        .or_else(|| partial.find(|field| rank(&last(field), names) > 0 && test(field)))
}

/// The lines of a draft.
struct Drafting {
    lines: Vec<String>,
    undecided: usize,
}

impl Drafting {
    fn of(cases: &[Value], place: Option<CriteriaPlace>, is_table: bool) -> Option<Self> {
        let place = place.filter(|place| place.rank > 0);
        let mut fields = Field::all(cases.iter());
        let is_list = place.as_ref().is_some_and(|place| !place.is_text);
        let id = named(&fields, IDS, |field| field.is_distinct());
        let repeated = named(&fields, IDS, |field| field.are_all(is_name));
        let is_rows = !is_list && (is_table || id.is_none() && repeated.is_some());
        if place.is_none() && !is_rows {
            return None;
        }
        let mut draft = Self {
            lines: vec!["\n[case]".to_owned()],
            undecided: 0,
        };
        if is_rows {
            draft.add_row_fields(&fields);
            return Some(draft);
        }
        let place = place?;
        fields.retain(|field| {
            !FieldPath::parse(&field.path).is_ok_and(|path| path.begins_with(&place.root))
                || is_beside(&field.path, &place)
        });
        draft.add_id(named(&fields, IDS, |field| field.is_distinct()));
        let question = draft.add_question(&fields);
        draft.add_criteria(&place, cases);
        draft.add_tags(&fields, &[&question]);
        draft.lines.push("\n[criterion]".to_owned());
        draft.add_criterion(&place, cases);
        Some(draft)
    }

    fn key(&mut self, key: &str, path: &str) {
        self.lines.push(format!("{key} = {}", quoted(path)));
    }

    fn undecided(&mut self, what: &str) {
        self.undecided += 1;
        self.lines.push(comment(&format!("undecided: {what}")));
    }

    fn add_id(&mut self, id: Option<&Field>) {
        if id.is_none() {
            self.undecided(
                "no field looks like the id of a case; # is the number of its row, from 1",
            );
        }
        self.key("id", id.map_or("#", |field| &field.path));
    }

    /// Adds the question and returns its path.
    fn add_question(&mut self, fields: &[Field]) -> String {
        let is_text = |field: &Field| field.are_all(is_question);
        let question = named(fields, QUESTIONS, is_text);
        if question.is_none() {
            let texts = fields.iter().filter(|field| is_text(field));
            let texts = list(texts.map(|field| field.path.as_str()), 8);
            let found = if texts.is_empty() {
                "there are no texts"
            } else {
                &texts
            };
            self.undecided(&format!("which field is the question; {found}"));
        }
        let longest = || {
            let texts = fields.iter().filter(|field| is_text(field));
            texts.max_by_key(|field| text_of(&field.values[0]).len())
        };
        let path = question.or_else(longest);
        let path = path.map_or("question", |field| &field.path).to_owned();
        self.key("question", &path);
        path
    }

    fn add_criteria(&mut self, place: &CriteriaPlace, cases: &[Value]) {
        if place.rank == 1 {
            self.undecided("whether these are the criteria, which no name says");
        }
        self.key("criteria", &place.path);
        if !place.is_grouped {
            return;
        }
        let has_groups = |value: &Value| {
            let weights = value.as_object();
            weights.is_some_and(|weights| {
                let weight = |name: &String| weights.get(name).is_some_and(Value::is_number);
                !place.groups.is_empty() && place.groups.iter().all(weight)
            })
        };
        let mut fields = cases[0].as_object().into_iter().flatten();
        if let Some((name, _)) = fields.find(|(_, value)| has_groups(value)) {
            self.key("group_weights", name);
            return;
        }
        self.undecided(
            "whether groups are only tags (pooled = true); if they have weights, name their field as group_weights instead",
        );
        self.lines.push("pooled = true".to_owned());
    }

    /// Adds up to three tags of cases that others of these paths do not name.
    fn add_tags(&mut self, fields: &[Field], others: &[&str]) {
        let is_tag = |field: &&Field| {
            let path = field.path.as_str();
            let name = path.rsplit('.').next().unwrap_or_default();
            !others.contains(&path) && rank(name, TAGS) == 2 && field.is_tag()
        };
        let tags: Vec<String> = fields
            .iter()
            .filter(is_tag)
            .map(|field| quoted(&field.path))
            .take(3)
            .collect();
        self.lines.push(format!("tags = [{}]", tags.join(", ")));
    }

    fn add_criterion(&mut self, place: &CriteriaPlace, cases: &[Value]) {
        if place.is_text {
            self.undecided(
                "whether the one text is met or not as a whole; for points see `scholareval rubrics show frontierscience-research`",
            );
            return self.key("text", ".");
        }
        let mut criteria = Vec::new();
        let mut owners = Vec::new();
        for (owner, case) in cases.iter().enumerate() {
            let matches = FieldPath::parse(&place.path)
                .and_then(|path| path.matches(case).map(|matches| matches.all));
            for criterion in matches.unwrap_or_default() {
                criteria.push(criterion.value);
                owners.push(owner.to_string());
            }
            if criteria.len() > SAMPLES {
                break;
            }
        }
        if criteria.iter().all(Value::is_string) {
            return self.key("text", ".");
        }
        let fields = Field::all(criteria.iter());
        self.add_criterion_fields(&fields, &owners, &[]);
    }

    /// Adds the fields of criteria, except those of the case at `others`. `owners` has the case of each criterion.
    fn add_criterion_fields(&mut self, fields: &[Field], owners: &[String], others: &[&str]) {
        let is_free = |field: &Field| !others.contains(&field.path.as_str());
        let is_text = |field: &Field| {
            is_free(field) && field.is_text() && field.words().iter().any(|text| text.contains(' '))
        };
        let mut texts = fields.iter().filter(|field| is_text(field));
        let text = named(fields, TEXTS, is_text);
        if text.is_none() {
            let names = list(texts.clone().map(|field| field.path.as_str()), 8);
            self.undecided(&format!("which field is the text of a criterion: {names}"));
        }
        let text = text.or_else(|| texts.next());
        let text = text.map_or("text", |field| &field.path).to_owned();
        self.key("text", &text);
        let weight = self.add_weight(fields, &[others, &[&text]].concat());
        let is_id = |field: &Field| {
            is_free(field) && field.path != text && field.is_distinct_within(owners)
        };
        if let Some(id) = named(fields, CRITERION_IDS, is_id).filter(|field| field.path != weight) {
            self.key("id", &id.path);
        }
        let is_tag = |field: &Field| {
            is_free(field) && ![&text, &weight].contains(&&field.path) && field.is_tag()
        };
        let tag = named(fields, TAGS, is_tag).map_or("", |field| &field.path);
        self.key("tags", tag);
    }

    /// Adds the weight and returns its path; empty if there is none.
    fn add_weight(&mut self, fields: &[Field], others: &[&str]) -> String {
        let is_free = |field: &Field| !others.contains(&field.path.as_str());
        let is_number = |field: &Field| is_free(field) && field.is_number();
        if let Some(weight) = named(fields, WEIGHTS, is_number) {
            self.key("weight", &weight.path);
            return weight.path.clone();
        }
        let is_word = |field: &Field| {
            is_free(field)
                && field.is_tag()
                && field.is_text()
                && field.words().len() <= WEIGHT_WORDS
        };
        if let Some(weight) = named(fields, WEIGHTS, is_word) {
            let words = weight.words().into_iter();
            let words: Vec<String> = words
                .map(|word| format!("{} = 1", quoted(word.trim())))
                .collect();
            self.undecided(
                "the number for each word; or take out both lines, and each criterion counts 1",
            );
            self.key("weight", &weight.path);
            self.lines
                .push(format!("weights = {{ {} }}", words.join(", ")));
            return weight.path.clone();
        }
        let is_other = |field: &&Field| {
            is_number(field)
                && rank(
                    field.path.rsplit('.').next().unwrap_or_default(),
                    CRITERION_IDS,
                ) == 0
        };
        let others: Vec<&str> = fields
            .iter()
            .filter(is_other)
            .map(|field| field.path.as_str())
            .collect();
        if let Some(path) = others.first() {
            self.undecided(&format!(
                "which number is the weight: {}",
                list(others.iter().copied(), 8)
            ));
            self.key("weight", path);
            return (*path).to_owned();
        }
        self.lines.push(comment(
            "no field looks like a weight: each criterion counts 1",
        ));
        String::new()
    }

    /// Adds the fields of rows, each of which is a criterion with its case.
    fn add_row_fields(&mut self, fields: &[Field]) {
        let id = named(fields, IDS, |field| field.are_all(is_name));
        self.add_id(id);
        let owners: Vec<String> = match id {
            Some(id) => id.values.iter().map(text_of).collect(),
            None => (0..fields.first().map_or(0, |field| field.values.len()))
                .map(|row| row.to_string())
                .collect(),
        };
        let id = id.map_or("#", |field| &field.path).to_owned();
        let question = self.add_question(fields);
        self.lines.push("rows = true".to_owned());
        self.lines.push("tags = []\n\n[criterion]".to_owned());
        self.add_criterion_fields(fields, &owners, &[&id, &question]);
    }

    /// The whole draft, with the first case as the judge will see it.
    fn finished(
        mut self,
        path: &Path,
        elements: &[JsonLine<'_>],
        first: &FirstCase,
    ) -> Result<ProfileDraft> {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let mut head = vec![
            comment(
                "A draft: decide what is undecided, save it as DIR/profile.toml, and check it with --rubric DIR",
            ),
            "name = \"draft\"".to_owned(),
            format!("about = {}", quoted(&format!("Criteria of {name}"))),
        ];
        head.append(&mut self.lines);
        self.lines = head;
        let levels = [
            "\n[reply]",
            "# Levels are not in a file of criteria: these are the default",
            "levels = [",
            "    { level = \"met\", credit = 1, means = \"the answer does all that the criterion says\" },",
            "    { level = \"not met\", credit = 0, means = \"it does not, or not all of it\" },",
            "]\n",
        ];
        self.lines.extend(levels.map(str::to_owned));
        let source = self.lines.join("\n");
        let profile = parse(&source, path)?;
        let file = CriteriaFile {
            path,
            elements,
            form: first.form(&profile),
        };
        match file.read(&profile, Some(&keys_of(&source, path)?), Mode::Default) {
            Ok((cases, _)) => self.add_case(&cases[0]),
            Err(Error::Input(faults)) => {
                for fault in faults.iter().take(3) {
                    self.undecided(&format!("this draft does not read {fault}"));
                }
            }
            Err(other) => return Err(other),
        }
        Ok(ProfileDraft {
            text: self.lines.join("\n") + "\n",
            undecided: self.undecided,
        })
    }

    fn add_case(&mut self, read: &CaseRead<'_>) {
        let case = &read.case;
        self.lines.push(comment(&format!(
            "Case {} as the judge will see it: {}",
            case.case_id,
            start_of(&case.initial_prompt)
        )));
        for criterion in case.criteria.iter().take(3) {
            let text = start_of(&criterion.text);
            self.lines.push(comment(&format!(
                "{} (weight {}): {text}",
                criterion.name, criterion.weight
            )));
        }
        if case.criteria.len() > 3 {
            self.lines
                .push(comment(&format!("and {} more", case.criteria.len() - 3)));
        }
    }
}

/// Whether a field is outside the criteria, though the first field of their path is around both.
fn is_beside(path: &str, place: &CriteriaPlace) -> bool {
    path != place.root && path.contains('.') && {
        let parent = place.path.split(['[', '*']).next().unwrap_or_default();
        !path.starts_with(parent.trim_end_matches('.'))
    }
}

/// A text of TOML.
fn quoted(text: &str) -> String {
    // JSON leaves this control character as it is.
    Value::from(text).to_string().replace('\u{7f}', "\\u007F")
}

/// A comment of one line.
fn comment(text: &str) -> String {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let printable: String = text.chars().filter(|c| !c.is_control()).collect();
    format!("# {printable}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load_tests;
    use serde_json::json;

    /// The draft for a file with these rows, or the error.
    fn draft(rows: &[Value]) -> Result<Option<ProfileDraft>> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("cases.jsonl");
        let lines: Vec<String> = rows.iter().map(Value::to_string).collect();
        std::fs::write(&path, lines.join("\n")).unwrap();
        let draft = draft_profile(&path)?;
        if let Some(draft) = &draft {
            let profile = dir.path().join("profile.toml");
            std::fs::write(profile, &draft.text).unwrap();
            let read = load_tests(&path, Mode::Default, dir.path().to_str(), false);
            assert!(read.is_ok(), "{}\n{}", read.unwrap_err(), draft.text);
        }
        Ok(draft)
    }

    /// Asserts that a draft has these lines and so much undecided.
    fn assert_draft(rows: &[Value], undecided: usize, lines: &[&str]) {
        let draft = draft(rows).unwrap().unwrap();
        for line in lines {
            let has = draft.text.lines().any(|other| other == *line);
            assert!(has, "no line {line}\n{}", draft.text);
        }
        assert_eq!(draft.undecided, undecided, "{}", draft.text);
        let comments = draft.text.matches("# undecided: ").count();
        assert_eq!(comments, undecided, "{}", draft.text);
    }

    #[test]
    fn a_list_of_objects_is_decided() {
        let row = |id: &str| {
            json!({"id": id, "query": "Why do tides differ?", "topic": "seas", "checklist": [
                {"key": 1, "requirement": "Names the moon", "points": 2, "axis": "facts"},
                {"key": 2, "requirement": "Blames the wind", "points": -1, "axis": "facts"},
            ]})
        };
        let lines = [
            "id = \"id\"",
            "question = \"query\"",
            "criteria = \"checklist[]\"",
            "tags = [\"topic\"]",
            "text = \"requirement\"",
            "weight = \"points\"",
            "tags = \"axis\"",
            "# Case a as the judge will see it: Why do tides differ?",
            "# 1 (weight 2): Names the moon",
            "# 2 (weight -1): Blames the wind",
        ];
        assert_draft(&[row("a"), row("b")], 0, &lines);
    }

    #[test]
    fn nested_groups_are_pooled_until_their_weights_are_named() {
        let row = json!({"number": 4, "idx": 7, "body": {"task": "Report on yeast.", "blocked": {"title": "A text"},
            "rubric": {"recall": ["Names two kinds"], "style": ["Has a table", "Has a list"]}}});
        let lines = [
            "id = \"idx\"",
            "question = \"body.task\"",
            "criteria = \"body.rubric.*[]\"",
            "pooled = true",
            "text = \".\"",
        ];
        assert_draft(&[row], 1, &lines);
        let weighted = json!({"id": 1, "prompt": "Report on yeast.", "shares": {"a": 0.6, "b": 0.4},
            "criteria": {"a": [{"requirement": "Names two kinds", "weight": 1}], "b": [{"requirement": "Has a table", "weight": 1}]}});
        let lines = ["criteria = \"criteria.*[]\"", "group_weights = \"shares\""];
        assert_draft(&[weighted], 0, &lines);
    }

    #[test]
    fn json_in_a_text_has_criteria_in_named_sections() {
        let rubric = json!({"name": "made", "sections": [
            {"id": "facts", "title": "Facts of it", "criteria": [{"id": "x", "requirement": "Names ext4 and its sums", "score": 3}]},
            {"id": "style", "title": "Style of it", "criteria": [{"id": "y", "requirement": "Has a table of them", "score": 1}]},
        ]});
        let row = json!({"uuid": "u1", "task": "Which file systems keep sums?", "solution": rubric.to_string()});
        let lines = [
            "id = \"uuid\"",
            "question = \"task\"",
            "criteria = \"solution:json.sections[id].criteria[]\"",
            "weight = \"score\"",
        ];
        assert_draft(&[row], 1, &lines);
        let talk = json!([{"role": "user", "content": "Which book on knots?"}]).to_string();
        let inner = json!(["Is it short?", "Does it name a book?"]).to_string();
        let row = json!({"conversation": talk, "meta": json!({"rubrics": inner}).to_string()});
        let lines = [
            "id = \"#\"",
            "question = \"conversation:json\"",
            "criteria = \"meta:json.rubrics:json[]\"",
        ];
        assert_draft(&[row], 1, &lines);
    }

    #[test]
    fn one_text_and_words_for_weights_are_undecided() {
        let row = json!({"uuid": "u1", "question": "Why does it slow down?",
            "rubric": "Points: 4 - says why.\nPoints: 6 - says how fast."});
        assert_draft(&[row], 1, &["criteria = \"rubric\"", "text = \".\""]);
        let row = json!({"uuid": "u1", "question": "Why do bees dance?", "items": [
            {"statement": "It says where food is", "importance": "vital"},
            {"statement": "Von Frisch described it", "importance": "okay"},
        ]});
        let lines = [
            "text = \"statement\"",
            "weight = \"importance\"",
            "weights = { \"okay\" = 1, \"vital\" = 1 }",
        ];
        assert_draft(&[row], 1, &lines);
    }

    #[test]
    fn rows_of_one_id_are_criteria() {
        let row = |text: &str| json!({"task_id": "t1", "prompt": "Write about tea.", "requirement": text, "points": 2});
        let rows = [row("Names two kinds"), row("Has a table")];
        let lines = [
            "id = \"task_id\"",
            "rows = true",
            "text = \"requirement\"",
            "weight = \"points\"",
        ];
        assert_draft(&rows, 0, &lines);
    }

    #[test]
    fn known_forms_get_no_draft() {
        let faulty = json!({"case_id": "a", "question": "Why?", "criteria": [{"text": "Says it", "weight": "much"}]});
        assert!(draft(&[faulty]).unwrap().is_none());
        assert!(
            draft(&[json!({"id": "a", "answer_of": 3})])
                .unwrap()
                .is_none()
        );
        let rubric = json!({"sections": [{"id": "s", "criteria": [{"id": "c", "requirement": "Names it", "weight": 1}]}]});
        let draco = json!({"id": "a", "domain": "D", "problem": "Which one is it?", "answer": rubric.to_string()});
        let error = draft(&[draco]).unwrap_err().to_string();
        assert!(
            error.contains("a built-in rubric, draco; add --rubric draco"),
            "{error}"
        );
    }

    #[test]
    fn every_sample_of_a_built_in_profile_is_recognized() {
        let samples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../data/rubrics");
        let mut count = 0;
        for (name, _) in shipped_profiles() {
            let path = samples.join(format!("{}.jsonl", name.replace('-', "_")));
            if name == "criteria" || !path.is_file() {
                continue;
            }
            let error = draft_profile(&path).unwrap_err().to_string();
            assert!(error.ends_with(&format!("add --rubric {name}")), "{error}");
            count += 1;
        }
        assert!(count > 10, "{count} samples");
    }
}
