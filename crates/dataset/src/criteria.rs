//! Reads files of cases with lists of criteria, in JSON, JSONL or CSV, with the field names of a profile.
//!
//! The first case decides the profile, unless it is named; [`CriteriaReader`] reads the cases; then the criteria of each
//! case are checked together.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::Path;

use serde_json::{Map, Value};

use super::case_criteria::{CriteriaReader, FileForm, TEXT_OF_TABLES, TOO_LARGE, names_of};
use super::inspect_log::read_input;
use super::paths::{FieldPath, Gap};
use super::profiles::{SCHOLARQA_CS2, named_keys, rubric_profile, shipped_profiles};
use super::reader::{JsonLine, csv_as_jsonl, elements, is_csv, no_faults};
use super::test_cases::{TestCases, parse_test_cases};
use scholareval_core::domain::{CaseCriterion, Mode, REPORT_METRICS, RubricProfile, TestCase};
use scholareval_core::error::{InputFault, Result};
use scholareval_core::text::names::{counted, list, start_of};

/// What a file of cases with criteria holds.
const ONE_CASE: &str = "write one {case_id, question, criteria: [{text, weight}]} per line";

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
    if path.is_dir() {
        let fault = InputFault::new(path, "is a directory");
        return Err(fault.hint("name the file of test cases").into());
    }
    let (text, blake3, log) = read_input(path, partial_logs)?;
    // Tables often come as `.txt` or `.tsv`; JSON always begins with a bracket or brace.
    let is_table = is_csv(path) || text.trim_start().starts_with(|c| !['[', '{'].contains(&c));
    let rows = is_table.then(|| csv_as_jsonl(&text, path)).transpose()?;
    let elements = elements(rows.as_deref().unwrap_or(&text), path)?;
    let first = FirstCase::of(&elements, is_table, path)?;
    let profile = first.profile(rubric)?;
    // For the reference, cases without ingredients are cases of which it asks for none.
    let may_be_without_criteria =
        mode == Mode::Compat && profile.report && first.has(&profile.case.question.0[0]);
    if !first.has_criteria(&profile) && !may_be_without_criteria {
        if first.is_scholarqa_cs() {
            let mut tests = parse_test_cases(&text, path, mode)?;
            tests.blake3 = blake3;
            return Ok((tests, profile));
        }
        return Err(first.fault(&profile, path).into());
    }
    let mut reader = CriteriaReader::new(&profile, first.form(&profile), mode)
        .map_err(|what| InputFault::new(path, what))?;
    no_faults(field_faults(
        named_keys(rubric)?.as_ref(),
        &elements,
        &reader,
    ))?;
    let faults = elements.iter().filter_map(|line| reader.read(line).err());
    let mut faults: Vec<InputFault> = faults.collect();
    let mut warnings = Vec::from_iter(log.and_then(|log| log.warning(path)));
    let skipped = reader.skipped();
    let (mut cases, of_reader) = reader.into_cases();
    warnings.extend(of_reader);
    if skipped > 0 {
        let what = format!(
            "{} left out, as case.skip of the profile says",
            counted(skipped, "case")
        );
        warnings.push(InputFault::new(path, what));
    }
    if cases.is_empty() && faults.is_empty() {
        let fault = InputFault::new(path, "case.skip of the profile leaves no case");
        return Err(fault.hint("correct it in profile.toml").into());
    }
    if mode == Mode::Compat && profile.clip_in_compat {
        extend_overall_tag(&mut cases);
    }
    let scores_zero = mode == Mode::Compat && (profile.zero_in_compat || profile.report);
    for (line, case) in &mut cases {
        // Before names are checked: the ids of ScholarQA-CS2 and in trees may repeat.
        if profile.report || profile.has_trees() {
            give_names(&mut case.criteria);
        }
        let id = case.case_id.as_str();
        let faults_of_case = case_faults(case, profile.report).into_iter();
        faults.extend(faults_of_case.map(|what| line.fault(what).of_case(id)));
        let doubts = doubts(case, &profile, scores_zero).into_iter();
        warnings.extend(doubts.map(|(what, hint)| line.fault(what).of_case(id).hint(hint)));
    }
    no_faults(faults)?;
    let tests = TestCases {
        path: path.to_path_buf(),
        blake3,
        cases: cases.into_iter().map(|(_, case)| case.into()).collect(),
        warnings,
    };
    Ok((tests, profile))
}

/// The fields of the first case, which show what kind of file it is.
struct FirstCase {
    /// An object.
    fields: Value,
    is_table: bool,
    /// Whether no other case is in a `.json` file.
    is_alone: bool,
}

impl FirstCase {
    /// # Errors
    /// When the first element is an empty object.
    fn of(elements: &[JsonLine<'_>], is_table: bool, path: &Path) -> Result<Self> {
        for line in elements {
            let Ok(fields) = serde_json::from_str::<Map<String, Value>>(line.text) else {
                continue;
            };
            if fields.is_empty() {
                let fault = InputFault::new(path, "the first case is an empty object");
                return Err(fault.hint(ONE_CASE).into());
            }
            let is_json = path.extension().is_some_and(|ending| ending == "json");
            return Ok(Self {
                fields: Value::Object(fields),
                is_table,
                is_alone: elements.len() == 1 && is_json,
            });
        }
        Ok(Self {
            fields: Value::Object(Map::new()),
            is_table,
            is_alone: false,
        })
    }

    /// How the file holds cases, by this profile.
    fn form(&self, profile: &RubricProfile) -> FileForm {
        // A row of a table is a case if a cell has all its criteria.
        let is_case = !profile.case.rows && profile.case.criteria.contains(":json");
        FileForm {
            is_table: self.is_table,
            is_rows: profile.case.rows || self.is_table && !is_case,
            is_one_case: self.is_alone,
        }
    }

    /// Whether the path leads to a value, or to one of another kind than the path needs, which the reader reports.
    fn has(&self, path: &str) -> bool {
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

    /// Whether this is a file of ScholarQA-CS, or none that its reader cannot explain better.
    fn is_scholarqa_cs(&self) -> bool {
        let is_empty = self.fields.as_object().is_none_or(Map::is_empty);
        self.has("metric_config") || self.has("answer_text") || is_empty
    }

    /// Names the fields that were found, and the profile that they are of.
    fn fault(&self, profile: &RubricProfile, path: &Path) -> InputFault {
        let criteria = &profile.case.criteria;
        let gap = FieldPath::parse(criteria).and_then(|path| Ok(path.matches(&self.fields)?.gap));
        let found = match gap {
            Ok(Some(gap)) if !gap.is_at_root() => gap.to_string(),
            _ => format!("found {}", names_of(&self.fields)),
        };
        let what = format!("no field {criteria} with the criteria of a case; {found}");
        let hint = match self.other_profile() {
            Some(other) => format!("these are fields of --rubric {}", other.name),
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
                && (!profile.has_trees() || self.has(&profile.criterion.children))
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
    let criteria: Vec<Cow<'_, Value>> = cases
        .iter()
        .flat_map(|case| reader.criteria_of(case).unwrap_or_default())
        .map(|criterion| criterion.value)
        .collect();
    let cases: Vec<Cow<'_, Value>> = cases.iter().map(Cow::Borrowed).collect();
    for (key, path) in paths {
        let (all, owner) = if key.starts_with("criterion.") {
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
        // A tree that cannot be read has no criteria here; the reader says why.
        let is_elsewhere = is_elsewhere || reader.profile.has_trees() && all.is_empty();
        let Some(gap) = nowhere(path, all).filter(|_| !is_elsewhere) else {
            continue;
        };
        let fields = all.iter().filter_map(|value| value.as_object());
        let found: BTreeSet<&str> = fields.flat_map(Map::keys).map(String::as_str).collect();
        let found = if gap.is_at_root() {
            format!("found {}", list(found, 8))
        } else {
            gap.to_string()
        };
        let path = path.text().escape_debug();
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

/// The longest part of a path that leads nowhere in all these values; `None` if it leads somewhere, or to a value of another
/// kind, which the reader reports with its line.
fn nowhere(path: &FieldPath, values: &[Cow<'_, Value>]) -> Option<Gap> {
    let mut longest = Gap::default();
    for value in values {
        let found = path.matches(value).ok()?;
        if !found.all.is_empty() {
            return None;
        }
        longest = found
            .gap
            .filter(|gap| gap.is_beyond(&longest))
            .unwrap_or(longest);
    }
    Some(longest)
}

/// The reference has a metric `overall_score` of every answer, its score; a tag of that name replaces it in the answers of
/// its cases alone. So the cases where the tag gives no score get it on all criteria, if others have it.
fn extend_overall_tag(cases: &mut [(JsonLine<'_>, TestCase)]) {
    let mut criteria = cases.iter().flat_map(|(_, case)| &case.criteria);
    if !criteria.any(has_overall_tag) {
        return;
    }
    for (_, case) in cases {
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

/// What makes a case unusable.
fn case_faults(case: &TestCase, is_report: bool) -> Vec<String> {
    let names = name_fault(case).into_iter();
    names.chain(weight_fault(case, is_report)).collect()
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
        // In a tree a text may stand below several nodes.
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
            doubts.push((what, "it counts twice; take one of them out"));
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

    /// Reads a tree with the profile of PaperBench from a file below `made/`.
    fn tree(file: &str, tree: &str) -> Result<TestCases> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("made").join(file);
        std::fs::create_dir(dir.path().join("made")).unwrap();
        std::fs::write(&path, tree).unwrap();
        Ok(load_tests(&path, Mode::Default, Some("paperbench"), false)?.0)
    }

    fn node(id: &str, weight: &str, children: &str) -> String {
        format!(
            r#"{{"id": "{id}", "requirements": "made {id}", "weight": {weight}, "sub_tasks": {children}}}"#
        )
    }

    #[test]
    fn leaves_of_a_tree_have_the_shares_of_their_path_and_tags_of_their_nodes() {
        let leaf = |id, weight| node(id, weight, "[]");
        let inner = node(
            "x",
            "3",
            &format!("[{}, {}]", leaf("a", "1"), leaf("b", "4")),
        );
        let nothing = node("y", "1", &format!("[{}]", leaf("a", "0")));
        let root = node(
            "r",
            "9",
            &format!("[{inner}, {nothing}, {}]", leaf("c", "1")),
        );
        let tests = tree("rubric.json", &root).unwrap();
        let case = &tests.cases[0];
        assert_eq!(case.case_id.as_str(), "made");
        let read: Vec<_> = case
            .criteria
            .iter()
            .map(|leaf| (&*leaf.name, leaf.weight))
            .collect();
        assert_eq!(
            read,
            [
                ("a", 0.6 * 0.2),
                ("b", 0.6 * 0.8),
                ("a (2)", 0.0),
                ("c", 0.2)
            ]
        );
        assert_eq!(case.criteria[0].tags, ["made 1"]);
        assert_eq!(case.criteria[3].tags, [""; 0]);
        let above: Vec<&str> = case.criteria[0]
            .nodes_above
            .iter()
            .map(|text| &**text)
            .collect();
        assert_eq!(above, ["made r", "made x"]);
        let warnings: Vec<String> = tests.warnings.iter().map(ToString::to_string).collect();
        assert!(
            warnings[0].contains("all weights of the children of node 2 are 0"),
            "{warnings:?}"
        );
        assert!(warnings[1].contains("a shares the name a"), "{warnings:?}");
        assert_eq!(
            tree("rows.jsonl", &root).unwrap().cases[0].case_id.as_str(),
            "r"
        );
    }

    #[test]
    fn faults_of_a_tree_have_their_place() {
        let faults = [
            (
                node("a", "-1", "[]"),
                "sub_tasks[0].sub_tasks[0]: the weight -1 is below 0",
            ),
            (
                node("a", "1", "null"),
                "sub_tasks[0].sub_tasks[0]: sub_tasks: expected a list",
            ),
            (
                r#"{"weight": 1}"#.to_owned(),
                "sub_tasks[0].sub_tasks[0]: sub_tasks is missing",
            ),
            (
                node("a", "null", "[]"),
                "sub_tasks[0].sub_tasks[0]: weight is missing",
            ),
        ];
        for (leaf, expected) in faults {
            let inner = node("x", "1", &format!("[{leaf}]"));
            let error = tree("rubric.json", &node("r", "1", &format!("[{inner}]")));
            let error = error.unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
        let mut deep = node("a", "1", "[]");
        for _ in 0..100 {
            deep = node("x", "1", &format!("[{deep}]"));
        }
        let error = tree("rubric.json", &deep).unwrap_err().to_string();
        assert!(
            error.contains("rubric.json:1") && error.contains("recursion limit"),
            "{error}"
        );
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
}
