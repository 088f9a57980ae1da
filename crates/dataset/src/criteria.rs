//! Reads files of cases with lists of criteria, in JSON, JSONL or CSV, with the field names of a profile.
//!
//! The first case decides the profile, unless it is named; [`CriteriaReader`] reads the cases; then the criteria of each
//! case are checked together.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::Path;

use serde_json::{Map, Value};

use super::case_criteria::{CaseRead, CriteriaReader, FileForm, TOO_LARGE, names_of};
use super::inspect_log::read_input;
use super::paths::{FieldPath, PathGap};
use super::profile_paths::{ProfilePaths, TEXT_OF_TABLES};
use super::profiles::{SCHOLARQA_CS2, named_keys, rubric_profile, shipped_profiles};
use super::reader::{JsonLine, csv_as_jsonl, elements, is_csv, no_faults};
use super::test_cases::{TestCases, parse_test_cases};
use scholareval_core::domain::{CaseCriterion, Mode, REPORT_METRICS, RubricProfile, TestCase};
use scholareval_core::error::{InputFault, Result};
use scholareval_core::text::names::{list, start_of};

/// What a file of cases with criteria holds.
const ONE_CASE: &str = "write one {case_id, question, criteria: [{text, weight}]} per line";

/// What to do about a criterion that a case has twice.
pub(super) const REPEATED: &str = "it counts twice; take one of them out";

/// The name of HealthBench's score among its metrics.
const OVERALL: &str = "overall_score";

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
    let (tests, profile, _) = load_with_lines(path, mode, rubric, partial_logs)?;
    Ok((tests, profile))
}

/// [`load_tests`], and the line of each criterion of each case.
///
/// # Errors
/// As [`load_tests`].
pub(super) fn load_with_lines(
    path: &Path,
    mode: Mode,
    rubric: Option<&str>,
    partial_logs: bool,
) -> Result<(TestCases, RubricProfile, Vec<Vec<usize>>)> {
    if path.is_dir() {
        let fault = InputFault::new(path, "is a directory");
        return Err(fault.refuse("name the file of test cases"));
    }
    let (text, blake3, log) = read_input(path, partial_logs)?;
    let rows = rows_of_table(&text, path)?;
    let elements = elements(rows.as_deref().unwrap_or(&text), path)?;
    let first = FirstCase::of(&elements, rows.is_some(), path)?;
    let profile = first.profile(rubric)?;
    // For the reference, cases without ingredients are cases of which it asks for none.
    let may_be_without_criteria =
        mode == Mode::Compat && profile.report && first.has(&profile.case.question.0[0]);
    if !first.has_criteria(&profile) && !may_be_without_criteria {
        if first.is_scholarqa_cs() {
            let mut tests = parse_test_cases(&text, path, mode)?;
            tests.blake3 = blake3;
            return Ok((tests, profile, Vec::new()));
        }
        return Err(first.fault(&profile, rubric, path).into());
    }
    let file = CriteriaFile {
        path,
        elements: &elements,
        form: first.form(&profile),
    };
    let (reads, of_cases) = file.read(&profile, named_keys(rubric)?.as_ref(), mode)?;
    let mut warnings = Vec::from_iter(log.and_then(|log| log.warning(path)));
    warnings.extend(of_cases);
    let mut cases = Vec::with_capacity(reads.len());
    let mut lines = Vec::with_capacity(reads.len());
    for read in reads {
        cases.push(read.case.into());
        lines.push(read.lines);
    }
    let tests = TestCases {
        path: path.to_path_buf(),
        blake3,
        cases,
        warnings,
    };
    Ok((tests, profile, lines))
}

/// The rows of a table as lines of JSON; `None` for JSON. Tables often come as `.txt` or `.tsv`; JSON always begins with a
/// bracket or brace.
///
/// # Errors
/// When it is not a table.
pub(super) fn rows_of_table(text: &str, path: &Path) -> Result<Option<String>> {
    let is_table = is_csv(path) || text.trim_start().starts_with(|c| !['[', '{'].contains(&c));
    Ok(is_table.then(|| csv_as_jsonl(text, path)).transpose()?)
}

/// A file of cases with criteria.
pub(super) struct CriteriaFile<'a> {
    pub(super) path: &'a Path,
    pub(super) elements: &'a [JsonLine<'a>],
    pub(super) form: FileForm,
}

impl<'a> CriteriaFile<'a> {
    /// The cases by this profile, and warnings. `named` has the keys with which a profile of the user's names fields.
    ///
    /// # Errors
    /// Every fault, with its line.
    pub(super) fn read(
        &self,
        profile: &'a RubricProfile,
        named: Option<&HashSet<String>>,
        mode: Mode,
    ) -> Result<(Vec<CaseRead<'a>>, Vec<InputFault>)> {
        let path = self.path;
        let mut reader = CriteriaReader::new(profile, self.form, mode)
            .map_err(|what| InputFault::new(path, what))?;
        no_faults(field_faults(named, self.elements, &reader))?;
        let faults = self
            .elements
            .iter()
            .filter_map(|line| reader.read(line).err());
        let mut faults: Vec<InputFault> = faults.collect();
        let (mut cases, mut warnings) = reader.into_cases(path);
        if cases.is_empty() && faults.is_empty() {
            let fault = InputFault::new(path, "case.skip of the profile leaves no case");
            return Err(fault.refuse("correct it in profile.toml"));
        }
        if mode == Mode::Compat && profile.clip_in_compat {
            extend_overall_tag(&mut cases);
        }
        let (of_cases, doubts) = check_cases(&mut cases, profile, mode);
        faults.extend(of_cases);
        warnings.extend(doubts);
        let unused = unused_names(profile, &cases).into_iter();
        warnings.extend(unused.map(|what| InputFault::new(path, what)));
        no_faults(faults)?;
        Ok((cases, warnings))
    }
}

/// Tags and groups that a profile names and no case has.
fn unused_names(profile: &RubricProfile, cases: &[CaseRead<'_>]) -> Vec<String> {
    let mut tags = HashSet::new();
    let mut groups = HashSet::new();
    for CaseRead { case, .. } in cases {
        tags.extend(case.criteria.iter().flat_map(|criterion| &criterion.tags));
        groups.extend(case.group.as_ref().map(|group| &*group.name));
    }
    let mut unused = Vec::new();
    let nested = profile.case.nest.values().flatten().map(String::as_str);
    let absent: Vec<&str> = nested.filter(|name| !groups.contains(name)).collect();
    if !absent.is_empty() {
        let names = list(absent, 8);
        unused.push(format!("no case is of these groups of case.nest: {names}"));
    }
    let only = profile.criterion.only.iter();
    for tag in only.filter(|tag| !tags.contains(tag)) {
        let tag = tag.escape_debug();
        unused.push(format!("no criterion has the tag {tag} of criterion.only"));
    }
    for metric in &profile.metrics {
        if !metric.tag.is_empty() && !tags.contains(&metric.tag) {
            let (name, tag) = (metric.name.escape_debug(), metric.tag.escape_debug());
            unused.push(format!(
                "the metric {name} is about the tag {tag}, which no criterion has"
            ));
        }
    }
    unused
}

/// Gives the criteria of reports their names, and returns the faults and the warnings of all cases.
fn check_cases(
    cases: &mut [CaseRead<'_>],
    profile: &RubricProfile,
    mode: Mode,
) -> (Vec<InputFault>, Vec<InputFault>) {
    let (mut faults, mut warnings) = (Vec::new(), Vec::new());
    let scores_zero = mode == Mode::Compat && (profile.zero_in_compat || profile.report);
    for CaseRead { line, case, .. } in cases {
        // Before names are checked: the ids of ScholarQA-CS2 and of trees may repeat.
        if profile.report || profile.has_trees() {
            give_names(&mut case.criteria);
        }
        let id = case.case_id.as_str();
        let faults_of_case = case_faults(case, profile).into_iter();
        faults.extend(faults_of_case.map(|what| line.fault(what).of_case(id)));
        let doubts = doubts(case, profile, scores_zero).into_iter();
        warnings.extend(doubts.map(|(what, hint)| line.fault(what).of_case(id).hint(hint)));
    }
    (faults, warnings)
}

/// The fields of the first case, which show what kind of file it is.
pub(super) struct FirstCase {
    /// An object.
    fields: Value,
    is_table: bool,
    /// Whether it is the only case of a `.json` file.
    is_alone: bool,
}

impl FirstCase {
    pub(super) fn new(fields: Value, is_table: bool) -> Self {
        Self {
            fields,
            is_table,
            is_alone: false,
        }
    }

    /// # Errors
    /// When the first element is an empty object, or none is JSON.
    pub(super) fn of(elements: &[JsonLine<'_>], is_table: bool, path: &Path) -> Result<Self> {
        for line in elements {
            let Ok(fields) = serde_json::from_str::<Map<String, Value>>(line.text) else {
                continue;
            };
            if fields.is_empty() {
                let fault = InputFault::new(path, "the first case is an empty object");
                return Err(fault.refuse(ONE_CASE));
            }
            let is_json = path.extension().is_some_and(|ending| ending == "json");
            return Ok(Self {
                is_alone: elements.len() == 1 && is_json,
                ..Self::new(Value::Object(fields), is_table)
            });
        }
        if let Some(line) = elements.first()
            && let Err(error) = serde_json::from_str::<Value>(line.text)
        {
            return Err(line.invalid_json(&error, ONE_CASE).into());
        }
        Ok(Self::new(Value::Object(Map::new()), is_table))
    }

    /// How the file holds cases, by this profile.
    pub(super) fn form(&self, profile: &RubricProfile) -> FileForm {
        // A row of a table is a case if a cell has all its criteria.
        let is_case = !profile.case.rows && profile.case.criteria.contains(":json");
        FileForm {
            is_table: self.is_table,
            is_rows: profile.case.rows || self.is_table && !is_case,
            is_one_case: self.is_alone,
        }
    }

    /// Whether the path leads to a value, or to one of another kind than the path needs, which the reader reports.
    pub(super) fn has(&self, path: &str) -> bool {
        let found =
            FieldPath::parse(path).and_then(|path| Ok(!path.matches(&self.fields)?.all.is_empty()));
        found.unwrap_or(true)
    }

    /// The profile of this name; without a name, that of ScholarQA-CS2 for cases with ingredients.
    fn profile(&self, rubric: Option<&str>) -> Result<RubricProfile> {
        let profile = rubric_profile(rubric)?;
        let is_unnamed = rubric.is_none() && !self.has(&profile.case.criteria);
        if is_unnamed && self.has("ingredients") {
            // Only this set has the field, and its scoring differs so much (four components,
            // reports) that the default profile would give a plausible wrong score.
            return rubric_profile(Some(SCHOLARQA_CS2));
        }
        Ok(profile)
    }

    fn has_criteria(&self, profile: &RubricProfile) -> bool {
        let is_rows = self.form(profile).is_rows;
        self.has(&profile.case.criteria)
            || is_rows && (self.has(&profile.criterion.text) || self.has(TEXT_OF_TABLES))
    }

    /// Whether the case is a tree, if the profile reads trees.
    fn is_tree(&self, profile: &RubricProfile) -> bool {
        !profile.has_trees() || self.has(&profile.criterion.children)
    }

    /// Whether id, question, criteria and the text of the first one are where the profile says.
    pub(super) fn has_fields_of(&self, profile: &RubricProfile) -> bool {
        let has_case = self.has(&profile.case.id) || profile.case.id == ProfilePaths::ROW_NUMBER;
        let question = profile.case.question.0[0].replace("{n}", "0");
        if !has_case
            || !self.has(&question)
            || !self.has_criteria(profile)
            || !self.is_tree(profile)
        {
            return false;
        }
        let Ok(reader) = CriteriaReader::new(profile, self.form(profile), Mode::Default) else {
            return false;
        };
        let Ok(criteria) = reader.criteria_of(&self.fields) else {
            // The reader reports what is wrong in the field.
            return true;
        };
        criteria
            .first()
            .is_none_or(|first| reader.has_text(&first.value))
    }

    /// Whether this is a file of ScholarQA-CS, or none that its reader cannot explain better.
    pub(super) fn is_scholarqa_cs(&self) -> bool {
        let is_empty = self.fields.as_object().is_none_or(Map::is_empty);
        self.has("metric_config") || self.has("answer_text") || is_empty
    }

    /// Names the fields that were found, and the profile that they are of.
    fn fault(&self, profile: &RubricProfile, rubric: Option<&str>, path: &Path) -> InputFault {
        let criteria = &profile.case.criteria;
        let gap = FieldPath::parse(criteria).and_then(|path| Ok(path.matches(&self.fields)?.gap));
        let found = match gap {
            Ok(Some(gap)) if gap.steps > 0 => gap.to_string(),
            _ => format!("found {}", names_of(&self.fields)),
        };
        let what = format!("no field {criteria} with the criteria of a case; {found}");
        let hint = match self.other_profile() {
            Some(other) => format!("these are fields of --rubric {}", other.name),
            None if rubric.is_some() => ONE_CASE.to_owned(),
            None => format!("{ONE_CASE}, or name the rubric with --rubric"),
        };
        InputFault::new(path, what).hint(hint)
    }

    /// The first built-in profile whose fields these are.
    fn other_profile(&self) -> Option<RubricProfile> {
        for (name, _) in shipped_profiles() {
            if let Ok(profile) = rubric_profile(Some(&name))
                && self.has(&profile.case.id)
                && self.has_criteria(&profile)
                && self.is_tree(&profile)
                && CriteriaReader::new(&profile, self.form(&profile), Mode::Default)
                    .is_ok_and(|reader| reader.criteria_of(&self.fields).is_ok())
            {
                return Some(profile);
            }
        }
        None
    }
}

/// A fault for each path of the user's profile that leads nowhere in all cases: an unknown weight would count every criterion
/// alike, faults as merits. A built-in profile names fields that files need not have, but not within others.
fn field_faults(
    named: Option<&HashSet<String>>,
    elements: &[JsonLine<'_>],
    reader: &CriteriaReader<'_>,
) -> Vec<InputFault> {
    let mut paths = reader.paths.by_key();
    paths.retain(|(key, path)| match named {
        Some(named) => named.contains(*key),
        None => path.is_nested() && *key != "show",
    });
    let mut faults = Vec::new();
    let Some(first) = elements.first().filter(|_| !paths.is_empty()) else {
        return faults;
    };
    let cases = elements
        .iter()
        .filter_map(|line| serde_json::from_str(line.text).ok());
    let cases: Vec<Value> = cases.collect();
    let criteria: Vec<Value> = cases
        .iter()
        .flat_map(|case| reader.criteria_of(case).unwrap_or_default())
        .map(|criterion| criterion.value)
        .collect();
    for (key, path) in paths {
        let (all, owner) = if key.starts_with("criterion.") {
            // Lists of criteria that cannot be read are reported with their lines.
            if criteria.is_empty() {
                continue;
            }
            (&criteria, "criterion")
        } else {
            (&cases, "case")
        };
        // A row has no list of criteria, and may call their text otherwise.
        let is_elsewhere = match key {
            "case.criteria" => reader.is_of_rows(),
            "criterion.text" => nowhere(&reader.paths.text_of_tables, all).is_none(),
            _ => false,
        };
        let Some(gap) = nowhere(path, all).filter(|_| !is_elsewhere) else {
            continue;
        };
        let path = path.text.escape_debug();
        let found = found_instead(&gap, all);
        let what = format!("{key} is the field {path}, which no {owner} has; {found}");
        let hint = match named {
            Some(_) => "correct the key in profile.toml, or take it out",
            None => {
                "give the cases as their benchmark has them, or name their fields in a profile of your own"
            }
        };
        faults.push(InputFault::new(first.path, what).hint(hint));
    }
    faults
}

/// The longest part of a path that is there, or the fields of these values.
fn found_instead(gap: &PathGap, values: &[Value]) -> String {
    if gap.steps > 0 {
        return gap.to_string();
    }
    let fields = values.iter().filter_map(Value::as_object);
    let names: BTreeSet<&str> = fields.flat_map(Map::keys).map(String::as_str).collect();
    format!("found {}", list(names, 8))
}

/// The longest part of a path that leads nowhere in all these values; `None` if it leads somewhere, or to a value of another
/// kind, which the reader reports with its line.
fn nowhere(path: &FieldPath, values: &[Value]) -> Option<PathGap> {
    let mut longest = PathGap::default();
    for value in values {
        let found = path.matches(value).ok()?;
        if !found.all.is_empty() {
            return None;
        }
        longest = found
            .gap
            .filter(|gap| gap.steps > longest.steps)
            .unwrap_or(longest);
    }
    Some(longest)
}

/// The reference has a metric `overall_score` of every answer, its score; a tag of that name replaces it in the answers of
/// its cases alone. So the cases where the tag gives no score get it on all criteria, if others have it.
fn extend_overall_tag(cases: &mut [CaseRead<'_>]) {
    let mut criteria = cases.iter().flat_map(|read| &read.case.criteria);
    if !criteria.any(has_overall_tag) {
        return;
    }
    for CaseRead { case, .. } in cases {
        let mut tagged = case
            .criteria
            .iter()
            .filter(|criterion| has_overall_tag(criterion));
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

/// Gives each criterion a name that no other component has; two full stops would name several.
fn give_names(criteria: &mut [CaseCriterion]) {
    let mut seen: HashMap<String, usize> = REPORT_METRICS.map(|name| (name.to_owned(), 1)).into();
    let ids: Vec<String> = criteria
        .iter()
        .map(|criterion| criterion.name.clone())
        .collect();
    let mut counts: HashMap<&str, usize> = HashMap::new();
    for id in &ids {
        *counts.entry(id).or_default() += 1;
    }
    for (criterion, id) in criteria.iter_mut().zip(&ids) {
        // The judge of ScholarQA-CS2 is asked by id, so compat mode must know which ones shared
        // one; the names made here are distinct.
        criterion.shared_id = (counts[&**id] > 1).then(|| id.clone());
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
fn name_fault(case: &TestCase, profile: &RubricProfile) -> Option<String> {
    let metrics = profile.metrics.iter().map(|metric| metric.name.as_str());
    let mut seen: HashSet<&str> = metrics.collect();
    let mut names = case
        .criteria
        .iter()
        .map(|criterion| criterion.name.as_str());
    // `a..b` names a call about several criteria.
    let name = names
        .find(|name| !seen.insert(*name) || name.contains(".."))?
        .escape_debug();
    Some(format!(
        "the id {name} of a criterion occurs twice, is that of a metric, or holds two full stops; give each its own id"
    ))
}

/// What makes a case unusable.
fn case_faults(case: &TestCase, profile: &RubricProfile) -> Vec<String> {
    let names = name_fault(case, profile).into_iter();
    names.chain(weight_fault(case, profile.report)).collect()
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
fn doubts(
    case: &TestCase,
    profile: &RubricProfile,
    scores_zero: bool,
) -> Vec<(String, &'static str)> {
    let mut doubts = Vec::new();
    let mut seen: HashMap<String, &str> = HashMap::new();
    for criterion in &case.criteria {
        if let Some(id) = &criterion.shared_id {
            let what = format!(
                "{} shares the name {} with others",
                criterion.name,
                id.escape_debug()
            );
            let hint = if profile.report {
                "it counts by itself; with --compat the last of a name counts, as in the reference"
            } else {
                "it counts by itself"
            };
            doubts.push((what, hint));
        }
        // In a tree a text may be below several nodes.
        if profile.has_trees() {
            continue;
        }
        let words: Vec<&str> = criterion.text.split_whitespace().collect();
        // Copies of a criterion usually differ in case or line breaks only.
        let text = words.join(" ").to_lowercase();
        if let Some(first) = seen.insert(text, &criterion.name) {
            let what = format!(
                "{} repeats {first}: \u{201c}{}\u{201d}",
                criterion.name,
                start_of(&criterion.text)
            );
            doubts.push((what, REPEATED));
        }
    }
    if case
        .criteria
        .iter()
        .all(|criterion| criterion.weight <= 0.0)
    {
        let what = "no weight is positive, so that no point can be earned";
        let hint = if scores_zero {
            "its answers score 0, as in the reference; give a criterion a positive weight"
        } else {
            "its answers have no score; give a criterion a positive weight"
        };
        doubts.push((what.to_owned(), hint));
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
            Ok::<Vec<f64>, scholareval_core::Error>(
                weights.map(|criterion| criterion.weight).collect(),
            )
        };
        let two =
            r#"{"case_id": 7, "question": "q", "criteria": {"a": ["x", "y", "z"], "b": ["w"]}}"#;
        let error = groups(two, "criteria").unwrap_err().to_string();
        assert!(
            error.contains("(case 7): criteria has 2 groups without weights; to pool them,"),
            "{error}"
        );
        let case_of_groups = r#"{"case_id": 7, "question": "q", "criteria": {"a": ["x", "y"]}}"#;
        assert_eq!(groups(case_of_groups, "criteria").unwrap(), [0.5, 0.5]);
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

    /// What is wrong with these cases under a profile of the user's with these keys.
    fn profile_fault(keys: &str, name: &str, cases: &str) -> Option<String> {
        let dir = tempfile::tempdir().unwrap();
        let profile = format!(
            "name = \"mine\"\nabout = \"a\"\n{keys}\n[reply]\nlevels = [{{ level = 1, credit = 1, means = \"\" }}, \
             {{ level = 0, credit = 0, means = \"\" }}]\n"
        );
        std::fs::write(dir.path().join("profile.toml"), profile).unwrap();
        let path = dir.path().join(name);
        std::fs::write(&path, cases).unwrap();
        let read = load_tests(&path, Mode::Default, dir.path().to_str(), false);
        read.err().map(|error| error.to_string())
    }

    #[test]
    fn a_field_that_a_profile_names_and_no_row_has_is_an_error_with_the_part_that_exists() {
        let cases = r#"{"case_id": 7, "question": "q", "meta": {"topic": "t"}, "criteria": [
            {"text": "a", "scoring": {"points": -5}}, {"text": "b", "scoring": {"points": 3}}]}"#;
        let keys = [
            (
                "[criterion]\nweight = \"scoring.weight\"",
                "criterion.weight is the field scoring.weight, which no criterion \
             has; scoring has points; correct the key in profile.toml",
            ),
            (
                "[criterion]\ntags = \"axis\"",
                "criterion.tags is the field axis, which no criterion has; found scoring, text;",
            ),
            ("[criterion]\nid = \"key\"", "criterion.id is the field key"),
            (
                "[criterion]\nexplanation = \"why\"",
                "criterion.explanation is the field why",
            ),
            (
                "[criterion]\ntext = \"what\"",
                "criterion.text is the field what",
            ),
            (
                "[criterion]\nweight = \"weight\"",
                "criterion.weight is the field weight",
            ),
            (
                "[case]\ntags = \"meta.field\"",
                "case.tags is the field meta.field, which no case has; meta has topic;",
            ),
            (
                "[case]\ngroup_weights = \"shares\"",
                "case.group_weights is the field shares",
            ),
            (
                "[case]\nreference = \"article\"",
                "case.reference is the field article",
            ),
        ];
        for (keys, expected) in keys {
            let fault = profile_fault(keys, "cases.json", cases).unwrap();
            assert!(fault.contains(expected), "{fault}");
        }
        let keys = "[case]\ntags = \"meta.topic\"\n[criterion]\nweight = \"scoring.points\"";
        assert_eq!(profile_fault(keys, "cases.json", cases), None);
        let table = "case_id,question,criterion,points\n7,q,a,-5\n";
        let weight = |field: &str| format!("[criterion]\ntext = \"what\"\nweight = \"{field}\"");
        assert_eq!(profile_fault(&weight("points"), "t.csv", table), None);
        let fault = profile_fault(&weight("score"), "t.csv", table).unwrap();
        assert!(
            fault.contains("criterion.weight is the field score"),
            "{fault}"
        );
        // The built-in profiles name fields that files need not have, but a nested weight does not count as 1.
        let fault = weights(
            "cases.jsonl",
            &cases.replace("points", "weight").replace('\n', " "),
        );
        let fault = fault.unwrap_err().to_string();
        assert!(
            fault.contains("no weight, but scoring.weight is a number"),
            "{fault}"
        );
    }

    #[test]
    fn a_nested_number_is_not_taken_for_a_weight_of_1() {
        let case = |fault: &str| {
            format!(
                r#"{{"case_id": 7, "question": "q", "criteria": [
                {{"text": "a", "scoring": {{"points": 3}}}}, {{"text": "b", {fault}}}]}}"#
            )
        };
        // Under weights of 1 and 1 the fault would be a merit.
        let fault_of = |named: &str, fault: &str| profile_fault(named, "cases.json", &case(fault));
        let fault = fault_of("", r#""scoring": {"points": -2}"#).unwrap();
        assert!(fault.contains("no weight, but scoring.points is a number"));
        let built_in = case(r#""x": 1"#).replace('\n', " ");
        let fault = weights("c.jsonl", &built_in).unwrap_err().to_string();
        assert!(
            fault.contains("no weight, but scoring.points is"),
            "{fault}"
        );
        let weight = "[criterion]\nweight = \"scoring.points\"";
        let faults = [
            (
                r#""scoring": {"pionts": "-2"}"#,
                "but scoring.pionts is a number",
            ),
            (r#""a": {"b": {"rank": -2}}"#, "but a.b.rank is a number"),
            (
                r#""attrs": [{"weight": -2}]"#,
                "but attrs.0.weight is a number",
            ),
            (
                r#""scoring": {"axis": "x"}"#,
                "scoring.points is missing, though",
            ),
        ];
        for (fault, expected) in faults {
            let message = fault_of(weight, fault).unwrap();
            assert!(message.contains(expected), "{message}");
        }
        let unweighted = [
            r#""scoring": {"points": null}"#,
            r#""scoring": null"#,
            r#""meta": {"id": 5, "tags": [{"id": 5}], "by": "x"}"#,
            r#""sources": [{"title": "t", "year": 2024}], "pages": [3]"#,
        ];
        for row in unweighted {
            assert_eq!(fault_of(weight, row), None, "{row}");
        }
    }

    #[test]
    fn a_weight_that_stands_twice_is_an_error_unless_both_are_equal() {
        let case = |criterion: &str| {
            format!(
                r#"{{"case_id": 7, "question": "q", "criteria": [{{"text": "a", {criterion}}}]}}"#
            )
        };
        let equal = case(r#""weight": 2, "note": 1, "weight": 2.0, "note": 2"#);
        assert_eq!(weights("list.jsonl", &equal).unwrap(), [2.0]);
        let two = case(r#""weight": 2, "weight": -2"#);
        let error = weights("list.jsonl", &two).unwrap_err().to_string();
        assert!(
            error.contains("list.jsonl:1 (case 7): criteria[0]: weight has two different values"),
            "{error}"
        );
        let lists = r#"{"case_id": 7, "question": "q", "criteria": ["a"], "criteria": ["b"]}"#;
        let error = weights("list.jsonl", lists).unwrap_err().to_string();
        assert!(
            error.contains("criteria has two different values"),
            "{error}"
        );
    }

    /// The cases of a file and the warnings, under a profile of the user's with these keys.
    fn read_with(keys: &str, name: &str, cases: &str) -> Result<TestCases> {
        let dir = tempfile::tempdir().unwrap();
        let levels = "levels = [{ level = 1, credit = 1, means = \"\" }, { level = 0, credit = 0, means = \"\" }]";
        let profile = format!("name = \"mine\"\nabout = \"a\"\n{keys}\n[reply]\n{levels}\n");
        std::fs::write(dir.path().join("profile.toml"), profile).unwrap();
        let path = dir.path().join(name);
        std::fs::write(&path, cases).unwrap();
        Ok(load_tests(&path, Mode::Default, dir.path().to_str(), false)?.0)
    }

    fn fault_with(keys: &str, cases: &str) -> String {
        read_with(keys, "cases.jsonl", cases)
            .unwrap_err()
            .to_string()
    }

    #[test]
    fn groups_of_texts_are_pooled_and_tags() {
        let keys = "show = [\"question\", \"content.blocked\", \"content.none\"]\n[case]\nid = \"idx\"\nquestion = \"prompt\"\n\
                    criteria = \"content.rubric.*[]\"\ntags = [\"theme\", \"language\"]\npooled = true\nskip = { idx = [112, \"3\"] }\n\
                    [criterion]\ntext = \".\"";
        let case = |idx: u32, more: &str| {
            format!(
                r#"{{"idx": {idx}, "prompt": "q", "theme": "Food", "language": null, "content": {{
                "rubric": {{"recall": ["a", "b"], "analysis": ["c"]}}, "blocked": {{"title": "t", "urls": [1]}}{more}}}}}"#
            )
        };
        let cases = [case(1, ""), case(112, ""), case(3, r#", "none": 1"#)].join("\n");
        let read = read_with(keys, "cases.json", &cases).unwrap();
        let [only] = &read.cases[..] else {
            panic!("{:?}", read.cases);
        };
        let criteria: Vec<_> = only.criteria.iter().collect();
        assert_eq!((criteria[2].weight, &*criteria[2].text), (1.0, "c"));
        assert_eq!(criteria[2].tags, ["analysis", "Food"]);
        let shown = r#"{"title":"t","urls":[1]}"#;
        assert_eq!(*only.shown, [("blocked".to_owned(), shown.to_owned())]);
        assert!(
            read.warnings[0]
                .to_string()
                .contains("2 cases left out, as case.skip")
        );
        let unpooled = keys.replace("pooled = true", "");
        let fault = fault_with(&unpooled, &case(1, r#", "none": 1"#).replace('\n', " "));
        assert!(
            fault.contains("2 groups without weights; to pool them, write case.pooled = true"),
            "{fault}"
        );
    }

    #[test]
    fn criteria_in_a_text_are_grouped_by_the_id_of_their_section() {
        let keys = "[case]\nid = \"id\"\nquestion = \"problem\"\ncriteria = \"answer:json.sections[id].criteria[]\"\npooled = true\n\
                    [criterion]\ntext = \"requirement\"";
        let with = |rubric: &str| {
            let rubric = Value::from(rubric);
            format!(r#"{{"id": "x", "problem": "q", "answer": {rubric}}}"#)
        };
        let sections = r#"{"sections": [
            {"id": "facts", "criteria": [{"id": "a", "weight": 10, "requirement": "r"}, {"id": "b", "weight": -15, "requirement": "s"}]},
            {"id": "style", "criteria": [{"id": "c", "weight": 0, "requirement": "t"}]}]}"#;
        let read = read_with(keys, "cases.jsonl", &with(sections)).unwrap();
        let criteria: Vec<_> = read.cases[0].criteria.iter().collect();
        assert_eq!((criteria[1].weight, &*criteria[1].name), (-15.0, "b"));
        assert_eq!(criteria[1].tags, ["facts"]);
        let warning = read.warnings[0].to_string();
        assert!(
            warning.contains("(case x): the group style has no weight"),
            "{warning}"
        );
        for (rubric, expected) in [
            (
                "Points: 4",
                "cases.jsonl:1 (case x): answer: no JSON in the text",
            ),
            (
                r#"{"sections": [{"criteria": []}]}"#,
                "answer:json.sections[0] has no text id",
            ),
            (
                r#"{"sections": [{"id": 1, "criteria": []}]}"#,
                "answer:json.sections[0].criteria is empty",
            ),
            (
                r#"{"sections": [{"id": 1, "criteria": [{"requirement": "r"}]}, {"id": 2}]}"#,
                "criteria[] is missing; answer:json.sections[1] has id",
            ),
            (
                r#"{"parts": [], "b": 1}"#,
                "the criteria of a case; answer:json has parts, b",
            ),
            (
                r#"{"sections": [{"id": 1, "criteria": [{"id": "a", "requirement": "r", "parts": [{"requirement": "s", "weight": 1}]}]}]}"#,
                "(case x): answer:json.sections[0].criteria[0].parts looks like criteria below",
            ),
        ] {
            let fault = fault_with(keys, &with(rubric));
            assert!(fault.contains(expected), "{fault}");
            assert_eq!(fault.lines().count(), 1, "{fault}");
        }
    }

    #[test]
    fn turns_are_read_and_a_word_names_the_weight() {
        let keys = "[case]\nid = \"#\"\nquestion = [\"prompt_{n}\", \"response_{n}\"]\ncriteria = \"rubric\"\n\
                    [criterion]\ntext = \"title\"\nweight = \"annotations.{weight_class}_weight\"";
        let with = |annotations: &str| {
            format!(
                r#"{{"prompt_0": "a", "response_0": "b", "prompt_1": "c", "response_1": null, "prompt_2": null, "rubric": [
                {{"title": "t", "annotations": {annotations}}}]}}"#
            )
            .replace('\n', " ")
        };
        let good = r#"{"weight_class": "critically important", "critically_important_weight": 9, "important_weight": 1}"#;
        let read = read_with(keys, "cases.jsonl", &[with(good), with(good)].join("\n")).unwrap();
        let second = &read.cases[1];
        assert_eq!(
            (second.case_id.as_str(), second.criteria[0].weight),
            ("2", 9.0)
        );
        assert_eq!(
            &*second.initial_prompt,
            "user: a\n\nassistant: b\n\nuser: c"
        );
        for (annotations, expected) in [
            (
                r#"{"weight_class": "important"}"#,
                "rubric[0]: annotations.important_weight is missing",
            ),
            (
                r#"{"weight_class": "a.b", "a": {"b_weight": 1}}"#,
                "annotations.a.b_weight is missing",
            ),
            (
                r#"{"important_weight": 1}"#,
                "weight_class, which names the weight, is missing",
            ),
        ] {
            let fault = fault_with(keys, &with(annotations));
            assert!(
                fault.contains(&format!("(case 1): rubric[0]: {expected}"))
                    || fault.contains(expected),
                "{fault}"
            );
        }
    }

    #[test]
    fn words_have_the_weights_of_the_profile_and_other_values_none() {
        let keys = "[criterion]\nweight = \"kind\"\nweights = { Critical = 4, Minor = 2 }";
        let with = |kind: &str| {
            format!(
                r#"{{"case_id": 7, "question": "q", "criteria": [{{"text": "a", "kind": {kind}}}]}}"#
            )
        };
        let read = read_with(keys, "cases.jsonl", &with("\"Critical\"")).unwrap();
        assert_eq!(read.cases[0].criteria[0].weight, 4.0);
        for (kind, found) in [
            ("\"critical\"", "\"critical\""),
            ("true", "true"),
            ("3", "3"),
        ] {
            let fault = fault_with(keys, &with(kind));
            let expected = format!(
                "criteria[0]: kind: expected a word of criterion.weights, found {found}; it has Critical, Minor"
            );
            assert!(fault.contains(&expected), "{fault}");
        }
        let fault = fault_with("[criterion]\nweight = \"kind\"", &with("true"));
        assert!(
            fault.contains("kind: expected a number, found true"),
            "{fault}"
        );
    }

    #[test]
    fn one_object_or_text_is_one_criterion_which_says_what_levels_mean() {
        let keys = "[case]\ncriteria = \"rubric\"\n[criterion]\ntext = \"criteria\"\nlevel_means = \"score{level}_description\"";
        let with = |more: &str| {
            format!(
                r#"{{"case_id": 7, "question": "q", "rubric": {{"criteria": "a", "score1_description": "good"{more}}}}}"#
            )
        };
        let read = read_with(
            keys,
            "cases.jsonl",
            &with(r#", "score0_description": "bad""#),
        )
        .unwrap();
        assert_eq!(read.cases[0].criteria[0].level_means, ["good", "bad"]);
        let fault = fault_with(keys, &with(""));
        let expected = "rubric: score0_description, which says what level 0 means, is missing";
        assert!(fault.contains(expected), "{fault}");
        let text = r#"{"case_id": 7, "question": "q", "rubric": "a"}"#;
        let read = read_with("[case]\ncriteria = \"rubric\"", "cases.jsonl", text).unwrap();
        assert_eq!(&*read.cases[0].criteria[0].text, "a");
    }

    #[test]
    fn rows_of_one_id_are_a_case_and_agree() {
        let keys =
            "[case]\nid = \"qid\"\nrows = true\ntags = \"area\"\n[criterion]\ntext = \"item\"";
        let row = |id: &str, question: &str, area: &str, item: &str| {
            format!(
                r#"{{"qid": "{id}", "question": "{question}", "area": "{area}", "item": "{item}"}}"#
            )
        };
        let rows =
            |other: String| [row("x", "q", "a", "i"), row("y", "q", "a", "j"), other].join("\n");
        let read = read_with(keys, "rows.jsonl", &rows(row("x", "q", "a", "k"))).unwrap();
        let criteria: Vec<_> = read.cases[0].criteria.iter().collect();
        assert_eq!(criteria.len(), 2);
        assert_eq!((&*criteria[1].text, &*criteria[1].name), ("k", "c2"));
        assert_eq!(criteria[1].tags, ["a"]);
        for (other, expected) in [
            (
                row("x", "r", "a", "k"),
                "rows.jsonl:3 (case x): another question than on line 1",
            ),
            (
                row("x", "q", "b", "k"),
                "other tags of the case than on line 1",
            ),
        ] {
            let error = read_with(keys, "rows.jsonl", &rows(other)).unwrap_err();
            assert!(error.to_string().contains(expected), "{error}");
        }
    }

    #[test]
    fn a_table_has_a_case_in_a_row_if_a_cell_has_its_criteria() {
        let keys =
            "[case]\nid = \"#\"\nquestion = \"talk:json\"\ncriteria = \"meta:json.rubrics:json\"";
        let table = "talk,meta\n\"[{\"\"content\"\": \"\"q\"\"}]\",\"{\"\"rubrics\"\": \"\"[\\\"\"a\\\"\", \\\"\"b\\\"\"]\"\"}\"\n";
        let read = read_with(keys, "cases.csv", table).unwrap();
        let case = &read.cases[0];
        assert_eq!((&*case.initial_prompt, case.criteria.len()), ("q", 2));
    }

    #[test]
    fn two_fields_with_the_same_tag_are_an_error() {
        let case =
            r#"{"case_id": 7, "question": "q", "a": "x", "b": ["y", "x"], "criteria": ["c"]}"#;
        let fault = fault_with("[case]\ntags = [\"a\", \"b\"]", case);
        assert!(
            fault.contains("(case 7): b: the case has the tag x from another field, too"),
            "{fault}"
        );
    }

    #[test]
    fn another_kind_of_value_than_the_path_needs_is_one_error_with_its_place() {
        let case =
            |rubric: &str| format!(r#"{{"case_id": 7, "question": "q", "rubric": {rubric}}}"#);
        for (path, rubric, expected) in [
            (
                "rubric.*[]",
                r#"{"a": ["b"], "c": {"d": "e"}}"#,
                "rubric.c: expected a list, found an object",
            ),
            (
                "rubric.*[]",
                r#"["a"]"#,
                "rubric: expected an object, found a list",
            ),
            (
                "rubric[]",
                r#"{"a": ["b"]}"#,
                "rubric: expected a list, found an object",
            ),
            (
                "rubric[]",
                r#"[["a"]]"#,
                "rubric[0]: expected an object or a text, found a list",
            ),
            (
                "rubric.*[]",
                r#"{"a": ["b"], "c": null}"#,
                "rubric.*[] is missing; rubric.c is null",
            ),
        ] {
            let keys = format!("[case]\ncriteria = \"{path}\"\npooled = true");
            let fault = fault_with(&keys, &case(rubric));
            assert!(
                fault.contains(&format!("cases.jsonl:1 (case 7): {expected}")),
                "{fault}"
            );
            assert_eq!(fault.lines().count(), 1, "{fault}");
        }
    }

    #[test]
    fn ten_thousand_criteria_of_a_case_are_read_and_a_wrong_path_is_one_error() {
        let criterion = |at: usize| {
            format!(r#"{{"id": "{at}", "requirements": "Criterion {at}", "weight": 1}}"#)
        };
        let criteria: Vec<String> = (0..10_000).map(criterion).collect();
        let case = format!(
            r#"{{"case_id": 7, "question": "q", "criteria": [{}]}}"#,
            criteria.join(",")
        );
        let keys = "[criterion]\ntext = \"requirements\"";
        let read = read_with(keys, "cases.jsonl", &case).unwrap();
        assert_eq!(read.cases[0].criteria.len(), 10_000);
        let fault = fault_with("[criterion]\ntext = \"text.of\"", &case);
        assert_eq!(fault.lines().count(), 1);
    }
}
