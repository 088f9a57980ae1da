//! Reads one case with its criteria, or one criterion in a row of a table, by the field names of a profile.
//!
//! `CriteriaReader` takes element after element; a case's lists are checked and flattened, the
//! weights of groups shared out, and tags of the case added.

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value, json};

use super::fields::{last_step, steps_of};
use super::reader::{Id, JsonLine, expected, typed};
use scholareval_core::domain::repeated_keys::{TWO_VALUES_NAME, has_two_values};
use scholareval_core::domain::{CaseCriterion, Mode, RubricProfile, TestCase};
use scholareval_core::error::InputFault;
use scholareval_core::text::names::list;

/// The fields of a case or of a criterion.
pub(super) type Fields = Map<String, Value>;

/// What is wrong with weights whose sum is infinite.
pub(super) const TOO_LARGE: &str =
    "the weights are so large that their sum or their shares of it are not finite; scale them down";

/// Names of fields with criteria below a criterion, in lower case without separators.
const NESTED: &str = "criteria subcriteria children subtasks subitems subrubric subrubrics";

/// Names of weights in lists of objects, besides the profile's.
const WEIGHTS: [&str; 3] = ["weight", "weights", "points"];

/// A list of criteria with the path of its field and, if it is one, the name of its group.
struct CriteriaList<'a> {
    field: String,
    group: Option<&'a str>,
    criteria: &'a [Value],
}

/// Reads cases with their criteria, element by element of a file.
pub(super) struct CriteriaReader<'a> {
    profile: &'a RubricProfile,
    /// Whether each element is a criterion, not a case.
    is_rows: bool,
    mode: Mode,
    cases: Vec<(JsonLine<'a>, TestCase)>,
    /// Cases by id.
    lines: HashMap<String, usize>,
}

impl<'a> CriteriaReader<'a> {
    /// With `is_rows`, each element is a criterion with its case, not a case.
    pub(super) fn new(profile: &'a RubricProfile, is_rows: bool, mode: Mode) -> Self {
        Self {
            profile,
            is_rows,
            mode,
            cases: Vec::new(),
            lines: HashMap::new(),
        }
    }

    /// The cases in file order, each with its first line.
    pub(super) fn into_cases(self) -> Vec<(JsonLine<'a>, TestCase)> {
        self.cases
    }

    /// Reads a case, or a criterion of one.
    ///
    /// # Errors
    /// When its fields are not those of the profile.
    pub(super) fn read(&mut self, line: &JsonLine<'a>) -> Result<(), InputFault> {
        let fields: Fields = line.read("{case_id, question, criteria: [{text, weight}]}")?;
        let name = &self.profile.case.id;
        let id = field_at(&fields, name).ok_or_else(|| line.fault(format!("{name} is missing")))?;
        let Id(id) =
            Id::try_from(id.clone()).map_err(|what| line.fault(format!("{name}: {what}")))?;
        if id.is_empty() {
            return Err(line.fault(format!("{name} is empty")));
        }
        self.add(line, &id, &fields)
            .map_err(|what| line.fault(what).of_case(id))
    }

    fn add(&mut self, line: &JsonLine<'a>, id: &str, fields: &Fields) -> Result<(), String> {
        let place = self.place(line, id, fields)?;
        let row = [Value::Object(fields.clone())];
        let lists = if self.is_rows {
            vec![CriteriaList {
                field: String::new(),
                group: None,
                criteria: &row,
            }]
        } else {
            self.lists(fields)?
        };
        self.check_groups(fields, &lists)?;
        let mut criteria = Vec::new();
        for list in &lists {
            // Numbers run through the whole case, as names must be unique in it and not only in a
            // group.
            let before = self.cases[place].1.criteria.len() + criteria.len();
            let mut read = self.criteria(list, before)?;
            if let Some(group) = list.group {
                let weight = self.group_weight(fields, group)?;
                share(&mut read, group, weight)
                    .map_err(|what| format!("{}: {what}", list.field))?;
            }
            criteria.append(&mut read);
        }
        if !self.is_rows {
            let tags = tags(field_at(fields, &self.profile.case.tags.0[0]), false)?;
            add_tags_of_case(&mut criteria, tags);
        }
        // Judges that compare with a reference article are shown it.
        if !self.profile.reply.second.is_empty() {
            let article = question(fields, &self.profile.case.reference)?;
            self.cases[place].1.reference = Some(article.into());
        }
        self.cases[place].1.criteria.append(&mut criteria);
        Ok(())
    }

    /// The index of the case with this id, which is added if it is new. Rows of one case may be anywhere in a table.
    fn place(&mut self, line: &JsonLine<'a>, id: &str, fields: &Fields) -> Result<usize, String> {
        let question = question(fields, &self.profile.case.question.0[0])?;
        let Some(place) = self.lines.get(id).copied() else {
            let case = TestCase::without_rubric(id.into(), &question);
            self.lines.insert(id.to_owned(), self.cases.len());
            self.cases.push((*line, case));
            return Ok(self.cases.len() - 1);
        };
        let (first, case) = &self.cases[place];
        let number = first.number;
        if !self.is_rows {
            return Err(format!("duplicate case id, first on line {number}"));
        }
        // Rows with one id and two questions are two cases with a mistyped id; merged, their
        // criteria would be asked of the wrong answer.
        if case.initial_prompt != question {
            return Err(format!("another question than on line {number}"));
        }
        Ok(place)
    }

    /// The criteria of a list; those without a name are numbered after the `before` ones of their case.
    fn criteria(
        &self,
        list: &CriteriaList<'_>,
        before: usize,
    ) -> Result<Vec<CaseCriterion>, String> {
        let mut read = Vec::new();
        for (at, value) in list.criteria.iter().enumerate() {
            // ScholarQA-CS2 leaves these out.
            if self.profile.report && value[&self.profile.criterion.text] == "" {
                continue;
            }
            let place = format!("{}[{at}]", list.field);
            self.check_flat(&place, value)?;
            let criterion = self.criterion(value, before + read.len() + 1);
            read.push(criterion.map_err(|what| {
                if self.is_rows {
                    what
                } else {
                    format!("{place}: {what}")
                }
            })?);
        }
        Ok(read)
    }

    /// The lists of criteria of a case: one, or one for each group with its name.
    fn lists<'v>(&self, fields: &'v Fields) -> Result<Vec<CriteriaList<'v>>, String> {
        let key = &self.profile.case.criteria;
        match field_at(fields, key) {
            Some(value) if has_two_values(value) => Err(format!("{key} has {TWO_VALUES_NAME}")),
            Some(Value::Object(groups)) if groups.is_empty() => Err(is_empty(key)),
            Some(Value::Object(groups)) => {
                let mut lists = Vec::new();
                for (name, value) in groups {
                    lists.push(self.list(format!("{key}.{name}"), Some(name), value)?);
                }
                Ok(lists)
            }
            Some(list) => Ok(vec![self.list(key.clone(), None, list)?]),
            None if self.may_be_empty() => Ok(Vec::new()),
            None => Err(format!("{key} is missing; found {}", names_of(fields))),
        }
    }

    fn list<'v>(
        &self,
        field: String,
        group: Option<&'v str>,
        value: &'v Value,
    ) -> Result<CriteriaList<'v>, String> {
        match value {
            Value::Array(criteria) if criteria.is_empty() && !self.may_be_empty() => {
                Err(is_empty(&field))
            }
            Value::Array(criteria) => Ok(CriteriaList {
                field,
                group,
                criteria,
            }),
            other => Err(format!("{field}: {}", expected("a list", other))),
        }
    }

    /// The reference of ScholarQA-CS2 asks for no ingredients where there are none, and gives 0.
    fn may_be_empty(&self) -> bool {
        self.profile.report && self.mode == Mode::Compat
    }

    /// Refuses groups without weights: counted equally, or with their criteria pooled, they give different scores, and
    /// only the author of the rubric can say which is meant.
    fn check_groups(&self, fields: &Fields, lists: &[CriteriaList<'_>]) -> Result<(), String> {
        let groups = lists.iter().filter(|list| list.group.is_some()).count();
        let weights = &self.profile.case.group_weights;
        if groups < 2 || field_at(fields, weights).is_some() && !weights.is_empty() {
            return Ok(());
        }
        let criteria = &self.profile.case.criteria;
        if weights.is_empty() {
            let tags = &self.profile.criterion.tags;
            return Err(format!(
                "{criteria} has {groups} groups without weights; to pool them, write one list and the group of each \
                 criterion as its {tags}; to weight them, name the field of their weights as case.group_weights in a profile"
            ));
        }
        Err(format!(
            "{criteria} has {groups} groups, but {weights} is missing; give each group its weight there"
        ))
    }

    /// The weight of a group of criteria; 1 if it is the only one and has none.
    fn group_weight(&self, fields: &Fields, name: &str) -> Result<f64, String> {
        let weights = &self.profile.case.group_weights;
        let Some(all) = field_at(fields, weights).filter(|_| !weights.is_empty()) else {
            return Ok(1.0);
        };
        // Negative shares would turn the criteria of a group into penalties and the divisor with
        // them.
        let weight = all[name].as_f64().filter(|weight| *weight >= 0.0);
        weight.ok_or_else(|| {
            format!("{weights}.{name} is not a weight; give the group a number from 0")
        })
    }

    /// Refuses a field that holds criteria below the criterion at `place`: they would not be asked.
    fn check_flat(&self, place: &str, criterion: &Value) -> Result<(), String> {
        let fields = criterion.as_object().into_iter().flatten();
        for (name, value) in fields {
            if self.is_nested(name, value) {
                return Err(format!(
                    "{place}.{name} looks like criteria below a criterion, which would not be asked; list every criterion \
                     to ask in {}, or take the field out",
                    self.profile.case.criteria
                ));
            }
        }
        Ok(())
    }

    /// Whether a field of a criterion holds further criteria: by its name, or because its elements have the text and the
    /// weight of one. Sources, snippets and tags have neither.
    fn is_nested(&self, name: &str, value: &Value) -> bool {
        let names = &self.profile.criterion;
        let known = [
            &names.text,
            &names.weight,
            &names.id,
            &names.tags,
            &names.examples,
        ];
        if known.into_iter().any(|known| known == name) {
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
        let is_named = name == self.profile.case.criteria
            || NESTED
                .split(' ')
                .any(|nested| nested == plain.to_lowercase());
        is_named && !elements.is_empty()
            || elements.iter().any(|element| {
                element.get(&names.text).is_some_and(Value::is_string)
                    && element.get(&names.weight).is_some()
            })
    }

    fn criterion(&self, value: &Value, number: usize) -> Result<CaseCriterion, String> {
        let names = &self.profile.criterion;
        let only_text;
        let fields = match value {
            Value::Object(fields) => fields,
            Value::String(text) => {
                only_text = Map::from_iter([(names.text.clone(), json!(text))]);
                &only_text
            }
            other => return Err(expected("an object or a text", other)),
        };
        for name in [
            &names.id,
            &names.weight,
            &names.tags,
            &names.examples,
            &names.explanation,
        ] {
            if field_at(fields, name).is_some_and(has_two_values) {
                return Err(format!("{name} has {TWO_VALUES_NAME}"));
            }
        }
        if self.profile.report && !field_at(fields, &names.id).is_some_and(Value::is_string) {
            return Err(format!("{} is not a text", names.id));
        }
        let needs_weight = self.profile.report || names.weight_required;
        if needs_weight && field_at(fields, &names.weight).is_none_or(Value::is_null) {
            return Err(format!("{} is missing", names.weight));
        }
        let text = self.text(fields)?;
        let weight = self.weight(fields)?;
        let id = self.id(fields)?;
        let tags = tags(field_at(fields, &names.tags), self.is_rows)?;
        let examples = match field_at(fields, &names.examples) {
            Some(examples) => {
                typed(examples.clone()).map_err(|what| format!("{}: {what}", names.examples))?
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
            level_means: Vec::new(),
        })
    }

    /// The text of a criterion, with its explanation in parentheses.
    fn text(&self, fields: &Fields) -> Result<String, String> {
        let names = &self.profile.criterion;
        let key = text_field(fields, self.profile);
        let text = match field_at(fields, key) {
            Some(Value::String(text)) if self.profile.report || !text.trim().is_empty() => text,
            Some(Value::String(_)) => return Err(format!("{key} is empty")),
            Some(other) => return Err(format!("{key}: {}", expected("a text", other))),
            None => return Err(format!("{} is missing", names.text)),
        };
        match field_at(fields, &names.explanation).and_then(Value::as_str) {
            Some(explanation) if !explanation.trim().is_empty() => {
                Ok(format!("{text} ({explanation})"))
            }
            _ => Ok(text.clone()),
        }
    }

    /// The weight of a criterion, 1 if it has none. Then a number under another name is refused: it may be the weight, which
    /// would not count.
    fn weight(&self, fields: &Fields) -> Result<f64, String> {
        let names = &self.profile.criterion;
        let name = &names.weight;
        let Some(value) = field_at(fields, name) else {
            return match (self.other_number(fields), parent_of(fields, name)) {
                (Some(other), _) => Err(format!(
                    "no {name}, but {other} is a number; call it {name} if it is one, or remove it"
                )),
                (None, Some(parent)) => Err(format!(
                    "{name} is missing, though {parent} is there; add it, or null for 1"
                )),
                (None, None) => Ok(1.0),
            };
        };
        let number = match value {
            Value::Null => Some(1.0),
            // An empty cell of a table is what null is in JSON.
            Value::String(text) if text.trim().is_empty() && !names.weight_required => Some(1.0),
            Value::String(text) => text.trim().parse().ok(),
            // Python's True and False are 1 and 0 in sums.
            Value::Bool(is_true) if self.profile.report => Some(f64::from(u8::from(*is_true))),
            other => other.as_f64(),
        };
        let number = number.filter(|number| number.is_finite());
        number.ok_or_else(|| format!("{name}: {}", expected("a number", value)))
    }

    /// The id of a criterion; in a table the field may be that of its case.
    fn id(&self, fields: &Fields) -> Result<Option<String>, String> {
        let name = &self.profile.criterion.id;
        if self.is_rows && *name == self.profile.case.id {
            return Ok(None);
        }
        let Some(id) = field_at(fields, name) else {
            return Ok(None);
        };
        let Id(id) = typed::<Id>(id.clone())?;
        let is_given = self.profile.report || !id.trim().is_empty();
        Ok(is_given.then_some(id))
    }

    /// A field without a known name that holds a number, also within others: perhaps the weight under another name.
    fn other_number(&self, fields: &Fields) -> Option<String> {
        let case = &self.profile.case;
        let fields_of_criterion = &self.profile.criterion;
        let text = text_field(fields, self.profile);
        let known = [
            &case.id,
            &case.question.0[0],
            text,
            &fields_of_criterion.text,
            &fields_of_criterion.id,
            &fields_of_criterion.tags,
        ];
        // `points: 5` read as weight 1 would give every criterion the same weight, with nothing
        // to see in the output.
        let mut all = fields.iter();
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

/// The field that holds the one of this path, if it is there.
fn parent_of(fields: &Fields, path: &str) -> Option<String> {
    let mut steps = steps_of(path);
    steps.pop()?;
    let parent = steps.join(".");
    let is_there = field_at(fields, &parent).is_some_and(|value| !value.is_null());
    is_there.then_some(parent)
}

/// The value of a field: the one of this name, else one within others by a path, as for `--fields`.
pub(super) fn field_at<'v>(fields: &'v Fields, name: &str) -> Option<&'v Value> {
    fields.get(name).or_else(|| {
        let steps = steps_of(name);
        let (first, within) = steps.split_first()?;
        let mut steps = within.iter();
        steps.try_fold(fields.get(first)?, |value, step| match value {
            Value::Array(list) => list.get(step.parse::<usize>().ok()?),
            other => other.get(step),
        })
    })
}

/// Whether the value is a number, also one that is written as a text.
fn is_number(value: &Value) -> bool {
    match value {
        Value::String(text) => text.trim().parse::<f64>().is_ok(),
        other => other.is_number(),
    }
}

/// Gives the criteria of a group their share of its weight, and its name as a tag.
///
/// # Errors
/// When the sum of their weights is infinite.
fn share(criteria: &mut [CaseCriterion], group: &str, weight: f64) -> Result<(), String> {
    let whole: f64 = criteria
        .iter()
        .map(|criterion| criterion.weight.max(0.0))
        .sum();
    if !whole.is_finite() {
        return Err(TOO_LARGE.to_owned());
    }
    // A group without positive weights counts nothing.
    let factor = if whole > 0.0 { weight / whole } else { 0.0 };
    for criterion in criteria {
        criterion.weight *= factor;
        // A tag counts a criterion once, so a criterion that already names its group must not have
        // it twice.
        criterion.tags.retain(|tag| tag != group);
        criterion.tags.push(group.to_owned());
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

fn is_empty(field: &str) -> String {
    format!("{field} is empty; give the case criteria, or leave it out")
}

/// The first names of fields.
fn names_of(fields: &Fields) -> String {
    list(fields.keys().map(String::as_str), 8)
}

/// A text, or the messages of a conversation.
fn question(fields: &Fields, key: &str) -> Result<String, String> {
    match field_at(fields, key) {
        Some(Value::String(text)) => Ok(text.clone()),
        Some(Value::Array(messages)) if !messages.is_empty() => {
            conversation(messages).ok_or_else(|| format!("{key}: a message has no content"))
        }
        Some(other) => Err(format!(
            "{key}: {}",
            expected("a text or a list of messages", other)
        )),
        None => Err(format!("{key} is missing; found {}", names_of(fields))),
    }
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

/// One tag or a list of tags, each once; in a table separated by semicolons.
fn tags(value: Option<&Value>, is_table: bool) -> Result<Vec<String>, String> {
    let all: Vec<String> = match value {
        None | Some(Value::Null) => Vec::new(),
        // Semicolons, because commas separate the cells.
        Some(Value::String(tags)) if is_table => tags.split(';').map(str::to_owned).collect(),
        Some(Value::String(tag)) => vec![tag.clone()],
        Some(list) => typed(list.clone()).map_err(|what| format!("tags: {what}"))?,
    };
    let mut tags: Vec<String> = Vec::new();
    for tag in &all {
        let tag = tag.trim();
        if !tag.is_empty() && !tags.iter().any(|known| known == tag) {
            tags.push(tag.to_owned());
        }
    }
    Ok(tags)
}

/// The field with the text of a criterion; a table calls it `criterion`.
pub(super) fn text_field<'a>(fields: &Fields, profile: &'a RubricProfile) -> &'a str {
    let field = profile.criterion.text.as_str();
    if field_at(fields, field).is_some() {
        field
    } else {
        "criterion"
    }
}
