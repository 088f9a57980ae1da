//! Reads cases with lists of criteria, in JSON, JSONL or CSV, with the field names of a profile.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use serde_json::{Map, Value, json};

use crate::domain::{CaseCriterion, Mode, REPORT_METRICS, RubricProfile, TestCase};
use crate::error::{InputFault, Result};
use crate::text::names::{list, start_of};

use super::inspect_log::read_input;
use super::profiles::{SCHOLARQA_CS2, SHIPPED_PROFILES, rubric_profile};
use super::reader::{Id, JsonLine, csv_as_jsonl, elements, expected, is_csv, no_faults, typed};
use super::test_cases::{TestCases, parse_test_cases};

type Fields = Map<String, Value>;

/// Names of fields with criteria below a criterion, in lower case without separators.
const NESTED: [&str; 7] = [
    "criteria",
    "subcriteria",
    "children",
    "subtasks",
    "subitems",
    "subrubric",
    "subrubrics",
];

/// What a file of cases with criteria holds.
const ONE_CASE: &str = "write one {case_id, question, criteria: [{text, weight}]} per line";

/// The name of HealthBench's score among its metrics.
const OVERALL: &str = "overall_score";

/// What is wrong with weights whose sum is infinite.
const TOO_LARGE: &str =
    "the weights are so large that their sum or their shares of it are not finite; scale them down";

/// A list of criteria with its field and its group.
type CriteriaList<'a> = (String, Option<&'a str>, &'a [Value]);

/// Reads a file of test cases: those of ScholarQA-CS, or cases with criteria (`docs/formats.md`), as the profile of this
/// name or directory says, which is returned with them. Without a name, cases with ingredients are those of ScholarQA-CS2.
/// With `partial_logs`, the file may be an incomplete log.
///
/// # Errors
/// As [`rubric_profile`] and [`load_test_cases`](super::load_test_cases).
pub fn load_tests(
    path: &Path,
    mode: Mode,
    rubric: Option<&str>,
    partial_logs: bool,
) -> Result<(TestCases, RubricProfile)> {
    if path.is_dir() {
        let fault = InputFault::new(path, "is a directory");
        return Err(fault.hint("name the file of test cases").into());
    }
    let (text, blake3, log) = read_input(path, partial_logs)?;
    let mut profile = rubric_profile(rubric)?;
    let is_rows = is_csv(path)
        || !(text.trim_start().is_empty() || text.trim_start().starts_with(['[', '{']));
    let rows = is_rows.then(|| csv_as_jsonl(&text, path)).transpose()?;
    let elements = elements(rows.as_deref().unwrap_or(&text), path)?;
    let fields = elements
        .iter()
        .find_map(|line| serde_json::from_str::<Fields>(line.text).ok());
    if fields.as_ref().is_some_and(Fields::is_empty) {
        return Err(InputFault::new(path, "the first case is an empty object")
            .hint(ONE_CASE)
            .into());
    }
    let fields = fields.unwrap_or_default();
    if rubric.is_none()
        && fields.contains_key("ingredients")
        && !fields.contains_key(&profile.case.criteria)
    {
        profile = rubric_profile(Some(SCHOLARQA_CS2))?;
    }
    let has_criteria = |profile: &RubricProfile| {
        fields.contains_key(&profile.case.criteria)
            || is_rows && fields.contains_key(text_field(&fields, profile))
    };
    // For the reference, cases without ingredients are cases of which it asks for none.
    let may_lack_criteria =
        mode == Mode::Compat && profile.report && fields.contains_key(&profile.case.question);
    if !has_criteria(&profile) && !may_lack_criteria {
        if fields.contains_key("metric_config")
            || fields.contains_key("answer_text")
            || fields.is_empty()
        {
            return Ok((
                TestCases {
                    blake3,
                    ..parse_test_cases(&text, path, mode)?
                },
                profile,
            ));
        }
        let others = SHIPPED_PROFILES
            .iter()
            .filter_map(|(name, _)| rubric_profile(Some(name)).ok());
        let other = others
            .into_iter()
            .find(|other| fields.contains_key(&other.case.id) && has_criteria(other));
        let found = list(fields.keys().map(String::as_str), 8);
        let what = format!(
            "no field {} with the criteria of a case; found {found}",
            profile.case.criteria
        );
        let hint = match other {
            Some(other) => format!("these are fields of --rubric {}", other.name),
            None => format!("{ONE_CASE}, or name the rubric with --rubric"),
        };
        return Err(InputFault::new(path, what).hint(hint).into());
    }
    let mut reader = Reader {
        profile: &profile,
        is_rows,
        mode,
        cases: Vec::new(),
        lines: HashMap::new(),
    };
    let mut faults: Vec<InputFault> = elements
        .iter()
        .filter_map(|line| reader.read(line).err())
        .collect();
    let mut cases = reader.cases;
    let mut warnings = Vec::from_iter(log.and_then(|log| log.warning(path)));
    if mode == Mode::Compat && profile.clip_in_compat {
        extend_overall_tag(&mut cases);
    }
    let scores_zero = mode == Mode::Compat && (profile.zero_in_compat || profile.report);
    for (line, case) in &mut cases {
        if profile.report {
            give_names(&mut case.criteria);
        }
        let of_case = |what: String| line.fault(what).of_case(case.case_id.as_str());
        faults.extend(name_fault(case).map(of_case));
        faults.extend(weight_fault(case, profile.report).map(of_case));
        warnings.extend(
            doubts(case, scores_zero)
                .into_iter()
                .map(|(what, hint)| of_case(what).hint(hint)),
        );
    }
    no_faults(faults)?;
    let cases = cases.into_iter().map(|(_, case)| case.into()).collect();
    Ok((
        TestCases {
            path: path.to_path_buf(),
            blake3,
            cases,
            warnings,
        },
        profile,
    ))
}

/// The field with the text of a criterion; a table calls it `criterion`.
fn text_field<'a>(fields: &Fields, profile: &'a RubricProfile) -> &'a str {
    let own = profile.criterion.text.as_str();
    if fields.contains_key(own) {
        own
    } else {
        "criterion"
    }
}

struct Reader<'a> {
    profile: &'a RubricProfile,
    /// Whether each element is a criterion, not a case.
    is_rows: bool,
    mode: Mode,
    cases: Vec<(JsonLine<'a>, TestCase)>,
    /// Cases by id.
    lines: HashMap<String, usize>,
}

impl<'a> Reader<'a> {
    fn read(&mut self, line: &JsonLine<'a>) -> Result<(), InputFault> {
        let fields: Fields = line.parse("{case_id, question, criteria: [{text, weight}]}")?;
        let name = &self.profile.case.id;
        let id = fields
            .get(name)
            .ok_or_else(|| line.fault(format!("{name} is missing")))?;
        let Id(id) =
            Id::try_from(id.clone()).map_err(|what| line.fault(format!("{name}: {what}")))?;
        if id.is_empty() {
            return Err(line.fault(format!("{name} is empty")));
        }
        self.add(line, &id, &fields)
            .map_err(|what| line.fault(what).of_case(id))
    }

    fn add(&mut self, line: &JsonLine<'a>, id: &str, fields: &Fields) -> Result<(), String> {
        let text = |key: &str| question(fields, key);
        let question = text(&self.profile.case.question)?;
        let place = match self.lines.get(id) {
            Some(first) if !self.is_rows => {
                return Err(format!(
                    "duplicate case id, first on line {}",
                    self.cases[*first].0.number
                ));
            }
            Some(first) if self.cases[*first].1.initial_prompt != question => {
                return Err(format!(
                    "another question than on line {}",
                    self.cases[*first].0.number
                ));
            }
            Some(first) => *first,
            None => {
                self.lines.insert(id.to_owned(), self.cases.len());
                self.cases
                    .push((*line, TestCase::without_rubric(id.into(), &question)));
                self.cases.len() - 1
            }
        };
        let row = [Value::Object(fields.clone())];
        let lists = if self.is_rows {
            vec![(String::new(), None, &row[..])]
        } else {
            self.lists(fields)?
        };
        self.check_groups(fields, &lists)?;
        let mut read = Vec::new();
        for (key, group, criteria) in lists {
            let own = read.len();
            for (at, value) in criteria.iter().enumerate() {
                // ScholarQA-CS2 leaves these out.
                if self.profile.report && value[&self.profile.criterion.text] == "" {
                    continue;
                }
                self.check_flat(&format!("{key}[{at}]"), value)?;
                let number = self.cases[place].1.criteria.len() + read.len() + 1;
                let what = |what: String| {
                    if self.is_rows {
                        what
                    } else {
                        format!("{key}[{at}]: {what}")
                    }
                };
                read.push(self.criterion(value, number).map_err(what)?);
            }
            let Some(name) = group else { continue };
            let of_group = self.group_weight(fields, name)?;
            let whole: f64 = read[own..]
                .iter()
                .map(|criterion| criterion.weight.max(0.0))
                .sum();
            if !whole.is_finite() {
                return Err(format!("{key}: {TOO_LARGE}"));
            }
            for criterion in &mut read[own..] {
                // A group without positive weights counts nothing.
                criterion.weight *= if whole > 0.0 { of_group / whole } else { 0.0 };
                criterion.tags.retain(|tag| tag != name);
                criterion.tags.push(name.to_owned());
            }
        }
        if !self.profile.reply.second.is_empty() {
            let article = text(&self.profile.case.reference)?;
            self.cases[place].1.reference = Some(article.into());
        }
        if !self.is_rows {
            let own: HashSet<String> = read
                .iter()
                .flat_map(|criterion| criterion.tags.clone())
                .collect();
            let of_case = tags(fields.get(&self.profile.case.tags), false)?;
            let of_case: Vec<String> = of_case
                .into_iter()
                .filter(|tag| !own.contains(tag))
                .collect();
            read.iter_mut()
                .for_each(|criterion| criterion.tags.extend(of_case.iter().cloned()));
        }
        self.cases[place].1.criteria.append(&mut read);
        Ok(())
    }

    /// The lists of criteria of a case with their fields: one, or one for each group with its name.
    fn lists<'v>(&self, fields: &'v Fields) -> Result<Vec<CriteriaList<'v>>, String> {
        let key = &self.profile.case.criteria;
        // The reference asks for no ingredients and gives 0.
        let may_be_empty = self.profile.report && self.mode == Mode::Compat;
        let list_in = |key: String, group: Option<&'v str>, value: &'v Value| match value {
            Value::Array(list) if !list.is_empty() || may_be_empty => {
                Ok((key, group, list.as_slice()))
            }
            Value::Array(_) => Err(format!(
                "{key} is empty; give the case criteria, or leave it out"
            )),
            other => Err(format!("{key}: {}", expected("a list", other))),
        };
        match fields.get(key) {
            Some(Value::Object(groups)) if groups.is_empty() => Err(format!(
                "{key} is empty; give the case criteria, or leave it out"
            )),
            Some(Value::Object(groups)) => groups
                .iter()
                .map(|(name, value)| list_in(format!("{key}.{name}"), Some(name), value))
                .collect(),
            Some(list) => Ok(vec![list_in(key.clone(), None, list)?]),
            None if may_be_empty => Ok(Vec::new()),
            None => Err(format!(
                "{key} is missing; found {}",
                list(fields.keys().map(String::as_str), 8)
            )),
        }
    }

    /// Refuses groups without weights: counted equally, or with their criteria pooled, they give different scores, and
    /// only the author of the rubric can say which is meant.
    fn check_groups(&self, fields: &Fields, lists: &[CriteriaList<'_>]) -> Result<(), String> {
        let groups = lists.iter().filter(|(_, group, _)| group.is_some()).count();
        let weights = &self.profile.case.group_weights;
        if groups < 2 || fields.contains_key(weights) && !weights.is_empty() {
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
        let Some(all) = fields.get(weights).filter(|_| !weights.is_empty()) else {
            return Ok(1.0);
        };
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
        let case = &self.profile.case;
        let names = &self.profile.criterion;
        if [
            &names.text,
            &names.weight,
            &names.id,
            &names.tags,
            &names.examples,
        ]
        .into_iter()
        .any(|known| known == name)
        {
            return false;
        }
        let elements: Vec<&Value> = match value {
            Value::Array(list) => list.iter().collect(),
            Value::Object(groups) => groups.values().collect(),
            _ => return false,
        };
        let plain: String = name.chars().filter(|c| c.is_alphanumeric()).collect();
        let is_named = name == case.criteria || NESTED.contains(&plain.to_lowercase().as_str());
        let is_criterion = |element: &&Value| {
            element.get(&names.text).is_some_and(Value::is_string)
                && element.get(&names.weight).is_some()
        };
        is_named && !elements.is_empty() || elements.iter().any(is_criterion)
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
        let is_strict = self.profile.report;
        if is_strict && !fields.get(&names.id).is_some_and(Value::is_string) {
            return Err(format!("{} is not a text", names.id));
        }
        let needs_weight = is_strict || names.weight_required;
        if needs_weight && fields.get(&names.weight).is_none_or(Value::is_null) {
            return Err(format!("{} is missing", names.weight));
        }
        let key = text_field(fields, self.profile);
        let text = match fields.get(key) {
            Some(Value::String(text)) if is_strict || !text.trim().is_empty() => text,
            Some(Value::String(_)) => return Err(format!("{key} is empty")),
            Some(other) => return Err(format!("{key}: {}", expected("a text", other))),
            None => return Err(format!("{} is missing", names.text)),
        };
        let explanation = fields
            .get(&names.explanation)
            .and_then(Value::as_str)
            .filter(|text| !text.trim().is_empty());
        let text = explanation.map_or_else(
            || text.clone(),
            |explanation| format!("{text} ({explanation})"),
        );
        let weight = &names.weight;
        if let (None, Some(other)) = (fields.get(weight), self.other_number(fields)) {
            return Err(format!(
                "no {weight}, but {other} is a number; call it {weight} if it is one, or remove it"
            ));
        }
        let weight = match fields.get(weight) {
            None | Some(Value::Null) => 1.0,
            Some(Value::String(text)) if text.trim().is_empty() && !names.weight_required => 1.0,
            Some(value) => {
                let truth = || {
                    value
                        .as_bool()
                        .filter(|_| is_strict)
                        .map(|is_true| f64::from(u8::from(is_true)))
                };
                let number = value
                    .as_f64()
                    .or_else(|| value.as_str()?.trim().parse().ok())
                    .or_else(truth);
                let number = number.filter(|number: &f64| number.is_finite());
                number
                    .ok_or_else(|| format!("{}: {}", names.weight, expected("a number", value)))?
            }
        };
        let id = fields
            .get(&names.id)
            .filter(|_| !self.is_rows || names.id != self.profile.case.id);
        let id = id
            .map(|id| typed::<Id>(id.clone()))
            .transpose()?
            .map(|Id(id)| id);
        let id = id.filter(|id| is_strict || !id.trim().is_empty());
        let examples = fields
            .get(&names.examples)
            .map_or_else(|| Ok(Vec::new()), |examples| typed(examples.clone()));
        Ok(CaseCriterion {
            name: id.unwrap_or_else(|| format!("c{number}")),
            text: text.as_str().into(),
            weight,
            tags: tags(fields.get(&names.tags), self.is_rows)?,
            examples: examples.map_err(|what| format!("{}: {what}", names.examples))?,
            shared_id: None,
        })
    }
}

impl Reader<'_> {
    /// A field without a known name that holds a number: perhaps the weight under another name.
    fn other_number<'a>(&self, fields: &'a Fields) -> Option<&'a str> {
        let (case, own) = (&self.profile.case, &self.profile.criterion);
        let known = [&case.id, &case.question, &own.text, &own.id, &own.tags].map(String::as_str);
        let is_number = |value: &Value| {
            value.is_number()
                || value
                    .as_str()
                    .is_some_and(|text| text.trim().parse::<f64>().is_ok())
        };
        let other = |(name, value): &(&String, &Value)| {
            is_number(value)
                && !known.contains(&name.as_str())
                && *name != text_field(fields, self.profile)
        };
        fields.iter().find(other).map(|(name, _)| name.as_str())
    }
}

/// A text, or the messages of a conversation.
fn question(fields: &Fields, key: &str) -> Result<String, String> {
    let message = |message: &Value| {
        let part = |key: &str| message.get(key).and_then(Value::as_str);
        Some((
            part("role").unwrap_or("user").to_owned(),
            part("content")?.to_owned(),
        ))
    };
    match fields.get(key) {
        Some(Value::String(text)) => Ok(text.clone()),
        Some(Value::Array(messages)) if !messages.is_empty() => {
            let messages: Option<Vec<(String, String)>> = messages.iter().map(message).collect();
            let messages = messages.ok_or_else(|| format!("{key}: a message has no content"))?;
            Ok(match &messages[..] {
                [(_, only)] => only.clone(),
                all => all
                    .iter()
                    .map(|(role, text)| format!("{role}: {text}"))
                    .collect::<Vec<_>>()
                    .join("\n\n"),
            })
        }
        Some(other) => Err(format!(
            "{key}: {}",
            expected("a text or a list of messages", other)
        )),
        None => Err(format!(
            "{key} is missing; found {}",
            list(fields.keys().map(String::as_str), 8)
        )),
    }
}

/// One tag or a list of tags, each once; in a table separated by semicolons.
fn tags(value: Option<&Value>, is_table: bool) -> Result<Vec<String>, String> {
    let all: Vec<String> = match value {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::String(tags)) if is_table => tags.split(';').map(str::to_owned).collect(),
        Some(Value::String(tag)) => vec![tag.clone()],
        Some(list) => typed(list.clone()).map_err(|what| format!("tags: {what}"))?,
    };
    let mut seen = HashSet::new();
    let tags = all
        .iter()
        .map(|tag| tag.trim())
        .filter(|tag| !tag.is_empty() && seen.insert(*tag));
    Ok(tags.map(str::to_owned).collect())
}

/// The reference has a metric `overall_score` of every answer, its score; a tag of that name replaces it in the answers of
/// its cases alone. So the cases where the tag gives no score get it on all criteria, if others have it.
fn extend_overall_tag(cases: &mut [(JsonLine<'_>, TestCase)]) {
    let mut criteria = cases.iter().flat_map(|(_, case)| &case.criteria);
    if !criteria.any(has_overall_tag) {
        return;
    }
    for (_, case) in cases {
        let mut tagged = case.criteria.iter().filter(|one| has_overall_tag(one));
        if tagged.any(|criterion| criterion.weight > 0.0) {
            continue;
        }
        for criterion in &mut case.criteria {
            criterion.tags.retain(|tag| tag != OVERALL);
            criterion.tags.push(OVERALL.to_owned());
        }
    }
}

fn has_overall_tag(criterion: &CaseCriterion) -> bool {
    criterion.tags.iter().any(|tag| tag == OVERALL)
}

/// Gives each criterion a name of its own, which no other component has; two full stops would name several.
fn give_names(criteria: &mut [CaseCriterion]) {
    let mut seen: HashMap<String, usize> = REPORT_METRICS.map(|name| (name.to_owned(), 1)).into();
    let ids: Vec<String> = criteria
        .iter()
        .map(|criterion| criterion.name.clone())
        .collect();
    for (criterion, id) in criteria.iter_mut().zip(&ids) {
        criterion.shared_id =
            (ids.iter().filter(|other| *other == id).count() > 1).then(|| id.clone());
        let name = if id.trim().is_empty() {
            "unnamed".to_owned()
        } else {
            id.replace("..", "\u{2026}")
        };
        let count = seen.entry(name.clone()).or_default();
        *count += 1;
        criterion.name = if *count > 1 {
            format!("{name} ({count})")
        } else {
            name
        };
    }
}

/// A name that two components would share.
fn name_fault(case: &TestCase) -> Option<String> {
    let mut seen = HashSet::new();
    let mut names = case
        .criteria
        .iter()
        .map(|criterion| criterion.name.as_str());
    // `a..b` names a call about several criteria.
    let name = names
        .find(|name| !seen.insert(*name) || name.contains(".."))?
        .escape_debug();
    Some(format!(
        "the id {name} of a criterion occurs twice or holds two full stops; give each its own id"
    ))
}

/// Weights whose sums or shares no number can hold, so that no answer would have a score. Reports divide by the sum of
/// all weights, others by that of the positive ones.
fn weight_fault(case: &TestCase, is_report: bool) -> Option<String> {
    let mut size = 0.0;
    let mut divisor = 0.0;
    for criterion in &case.criteria {
        size += criterion.weight.abs();
        if is_report || criterion.weight > 0.0 {
            divisor += criterion.weight;
        }
    }
    let is_finite = size.is_finite() && (divisor == 0.0 || (size / divisor).is_finite());
    (!is_finite).then(|| TOO_LARGE.to_owned())
}

/// What may be wrong with the criteria of a case, and what to do.
fn doubts(case: &TestCase, scores_zero: bool) -> Vec<(String, &'static str)> {
    let mut doubts = Vec::new();
    let mut seen: HashMap<String, &str> = HashMap::new();
    for criterion in &case.criteria {
        if let Some(id) = &criterion.shared_id {
            let what = format!(
                "{} shares the name {} with others",
                criterion.name,
                id.escape_debug()
            );
            doubts.push((
                what,
                "it counts by itself; with --compat the last of a name counts, as in the reference",
            ));
        }
        let text = criterion
            .text
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" ")
            .to_lowercase();
        if let Some(first) = seen.insert(text, &criterion.name) {
            let what = format!(
                "{} repeats {first}: \u{201c}{}\u{201d}",
                criterion.name,
                start_of(&criterion.text)
            );
            doubts.push((what, "it counts twice; take one of them out"));
        }
    }
    if case
        .criteria
        .iter()
        .all(|criterion| criterion.weight <= 0.0)
    {
        let hint = match scores_zero {
            true => "its answers score 0, as in the reference; give a criterion a positive weight",
            false => "its answers have no score; give a criterion a positive weight",
        };
        doubts.push((
            "no weight is positive, so that no point can be earned".to_owned(),
            hint,
        ));
    }
    doubts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn weights(name: &str, text: &str) -> Result<Vec<f64>> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(name);
        std::fs::write(&path, text).unwrap();
        let (tests, _) = load_tests(&path, Mode::Default, None, false)?;
        Ok(tests.cases[0]
            .criteria
            .iter()
            .map(|criterion| criterion.weight)
            .collect())
    }

    #[test]
    fn weights_are_read_from_lists_and_tables_and_are_1_where_there_are_none() {
        let list = r#"{"case_id": 7, "question": "q", "criteria": [{"text": "a", "weight": -2}, {"text": "b"}, "c"]}"#;
        assert_eq!(weights("list.jsonl", list).unwrap(), [-2.0, 1.0, 1.0]);
        let table = "case_id,question,criterion,weight\n7,q,a,2\n7,q,b,\n7,q,c,-0.5\n";
        assert_eq!(weights("table.csv", table).unwrap(), [2.0, 1.0, -0.5]);
        assert_eq!(
            weights("plain.csv", "case_id,question,criterion\n7,q,a\n").unwrap(),
            [1.0]
        );
    }

    #[test]
    fn a_number_under_another_name_is_not_taken_for_a_weight_of_1() {
        let table = "case_id,question,criterion,points\n7,q,a,-5\n";
        let error = weights("table.csv", table).unwrap_err().to_string();
        assert!(
            error.contains("no weight, but points is a number; call it weight"),
            "{error}"
        );
        let list =
            r#"{"case_id": "7", "question": "q", "criteria": [{"text": "a", "wieght": -2}]}"#;
        assert!(
            weights("list.jsonl", list)
                .unwrap_err()
                .to_string()
                .contains("wieght is a number")
        );
    }

    #[test]
    fn criteria_below_a_criterion_are_refused_with_their_path() {
        let nested = [
            r#"[{"text": "a", "weight": 1, "sub_tasks": [{"requirements": "b"}]}]"#,
            r#"[{"text": "a", "weight": 1, "parts": [{"text": "b", "weight": 2}]}]"#,
            r#"[{"text": "a", "criteria": {"depth": ["b"]}}]"#,
            r#"{"depth": [{"text": "a", "Sub-Criteria": ["b"]}]}"#,
        ];
        for criteria in nested {
            let case = format!(r#"{{"case_id": 7, "question": "q", "criteria": {criteria}}}"#);
            let error = weights("list.jsonl", &case).unwrap_err().to_string();
            assert!(error.contains("looks like criteria below"), "{error}");
        }
        let case = r#"{"case_id": 7, "question": "q", "criteria": ["a", {"text": "b", "children": ["c"]}]}"#;
        let error = weights("list.jsonl", case).unwrap_err().to_string();
        assert!(
            error.contains("(case 7): criteria[1].children looks"),
            "{error}"
        );
        // Lists of other things, and empty ones, are not asked either, but were never meant to be.
        let others = r#"[{"text": "a", "sources": [{"title": "t", "text": "x", "url": "u"}], "tags": ["b"],
            "snippets": ["s"], "children": [], "evidence": [{"text": "e", "score": 1}], "parent": "p"}]"#;
        let case = format!(r#"{{"case_id": 7, "question": "q", "criteria": {others}}}"#);
        assert_eq!(weights("list.jsonl", &case).unwrap(), [1.0]);
    }

    #[test]
    fn groups_need_weights_unless_there_is_only_one() {
        let groups = |groups: &str, rubric: &str| {
            let dir = tempfile::tempdir().unwrap();
            let path = dir.path().join("cases.jsonl");
            std::fs::write(&path, groups).unwrap();
            let (tests, _) = load_tests(&path, Mode::Default, Some(rubric), false)?;
            let weights = tests.cases[0].criteria.iter();
            Ok::<Vec<f64>, crate::Error>(weights.map(|criterion| criterion.weight).collect())
        };
        let two =
            r#"{"case_id": 7, "question": "q", "criteria": {"a": ["x", "y", "z"], "b": ["w"]}}"#;
        let error = groups(two, "criteria").unwrap_err().to_string();
        assert!(
            error.contains("(case 7): criteria has 2 groups without weights; to pool them,"),
            "{error}"
        );
        let one = r#"{"case_id": 7, "question": "q", "criteria": {"a": ["x", "y"]}}"#;
        assert_eq!(groups(one, "criteria").unwrap(), [0.5, 0.5]);
        let race = r#"{"id": 7, "prompt": "q", "article": "r", "criterions": {
            "a": [{"criterion": "x", "weight": 1}], "b": [{"criterion": "y", "weight": 1}]}}"#;
        let error = groups(race, "race").unwrap_err().to_string();
        assert!(
            error.contains("2 groups, but dimension_weight is missing"),
            "{error}"
        );
    }

    #[test]
    fn a_criterion_without_its_points_is_an_error_where_the_rubric_needs_them() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("cases.jsonl");
        let case = r#"{"prompt_id": "7", "prompt": "q", "rubrics": [{"criterion": "x", "points": 5}, {"criterion": "y"}]}"#;
        std::fs::write(&path, case).unwrap();
        let error = load_tests(&path, Mode::Default, Some("healthbench"), false).unwrap_err();
        let error = error.to_string();
        assert!(
            error.contains("(case 7): rubrics[1]: points is missing"),
            "{error}"
        );
    }
}
