//! Reading scores back: a recorded run as the scored answers it was made of.

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use serde::Deserialize;
use serde_json::{Map, Value};

use super::calls::for_each_parsed;
use super::inputs::{Cases, load_cases_and_items, load_item_lists};
use super::manifest::{Manifest, RunStatus};
use super::reader::load_manifest;
use super::unfinished::with_lacking;
use crate::domain::{
    CaseId, ClaimSupport, Component, ComponentKind, MemberValues, Score, ScoredAnswer, SystemName, TestCase,
    UnscoredReason,
};
use crate::error::{InputFault, Result};
use crate::evaluation::Item;

/// A run as its record has it: enough for every comparison and report, without a judge.
#[derive(Debug, Clone)]
pub struct RecordedRun {
    /// Its directory.
    pub path: PathBuf,
    /// Its label, else the name of its directory.
    pub name: String,
    /// What was run.
    pub manifest: Manifest,
    /// The answers with their cases, each once; empty for a run made with `--no-inputs`, and without the answers whose
    /// text an imported run does not know.
    pub items: Vec<Item>,
    /// Every answer by every scorer, in the order of the file (scorer by scorer, systems and cases in input order). A case
    /// that is not in `items` has its id alone. Of a run that did not finish, what it did not get to stands here without a
    /// value; of one that keeps no inputs that is not known.
    pub scored: Vec<Arc<ScoredAnswer>>,
}

impl RecordedRun {
    /// The systems in order of their first answer.
    pub fn systems(&self) -> Vec<SystemName> {
        let mut systems: Vec<SystemName> = Vec::new();
        for answer in &self.scored {
            if !systems.contains(&answer.system) {
                systems.push(answer.system.clone());
            }
        }
        systems
    }

    /// The scorers in order of their first answer (`rubric`, `lexical_rubric`, `prometheus`, ..).
    pub fn scorers(&self) -> Vec<&'static str> {
        let mut scorers: Vec<&'static str> = Vec::new();
        for answer in &self.scored {
            if !scorers.contains(&answer.score.scorer) {
                scorers.push(answer.score.scorer);
            }
        }
        scorers
    }
}

/// Reads a run directory: its manifest, its inputs where it has them, and its scores.
///
/// # Errors
/// When the directory is no run, holds no scores, or a file of it cannot be read; the error names file and line.
///
/// ```
/// let nothing = scholareval::evaluation::record::load_run(std::path::Path::new("/no/such/run"));
/// assert!(nothing.unwrap_err().to_string().contains("manifest.json"));
/// ```
pub fn load_run(dir: &Path) -> Result<RecordedRun> {
    let manifest = load_manifest(dir)?.ok_or_else(|| {
        InputFault::new(dir, "holds no manifest.json").hint("name the directory of a run (score tells it at the end)")
    })?;
    let inputs = dir.join("inputs.jsonl");
    let (cases, items) = if inputs.exists() { load_cases_and_items(&inputs)? } else { Default::default() };
    let path = dir.join("scores.jsonl");
    let mut scored = load_scores(&path, &cases)?;
    let is_finished = manifest.status == RunStatus::Complete;
    if scored.is_empty() {
        let hint = if is_finished { "score some answers first" } else { GO_ON };
        return Err(InputFault::new(path, "no scores: nothing of the run has been scored").hint(hint).into());
    }
    if !is_finished && !items.is_empty() {
        scored = with_lacking(&manifest, &load_item_lists(&inputs)?, scored);
    }
    let directory = || dir.canonicalize().ok()?.file_name().map(|name| name.to_string_lossy().into_owned());
    let name = manifest.label.clone().or_else(directory).unwrap_or_else(|| dir.display().to_string());
    Ok(RecordedRun { path: dir.to_path_buf(), name, manifest, items, scored })
}

/// A line of `scores.jsonl` as it is read.
#[derive(Deserialize)]
struct ReadLine {
    v: u32,
    system: SystemName,
    case_id: CaseId,
    scorer: String,
    #[serde(alias = "lexical_score")]
    score: Option<f64>,
    #[serde(default, alias = "lexical_ann_score")]
    ann_score: Option<f64>,
    components: Map<String, Value>,
    kinds: Option<HashMap<String, ComponentKind>>,
    #[serde(default)]
    weights: HashMap<String, f64>,
    #[serde(default)]
    ann_divisor: f64,
    #[serde(default)]
    texts: HashMap<String, String>,
    #[serde(default)]
    feedback: HashMap<String, String>,
    #[serde(default)]
    unscored: HashMap<String, UnscoredReason>,
    #[serde(default)]
    claims: Vec<ClaimSupport>,
    #[serde(default)]
    members: BTreeMap<Arc<str>, Vec<MemberValues>>,
    #[serde(default)]
    notes: Vec<String>,
    #[serde(default)]
    steering: Vec<String>,
}

/// Reads `scores.jsonl`; `cases` give the answers their questions and rubrics.
///
/// # Errors
/// When the file is missing or a line is broken.
fn load_scores(path: &Path, cases: &Cases) -> Result<Vec<Arc<ScoredAnswer>>> {
    let file = File::open(path)
        .map_err(|error| InputFault::new(path, format!("cannot read the scores of the run: {error}")).hint(GO_ON))?;
    let mut bare: HashMap<CaseId, Arc<TestCase>> = HashMap::new();
    let mut scored = Vec::new();
    for_each_parsed(path, file, |number, read: ReadLine| {
        let case = cases.get(&read.case_id).cloned().unwrap_or_else(|| {
            let new = || Arc::new(TestCase::without_rubric(read.case_id.clone(), ""));
            Arc::clone(bare.entry(read.case_id.clone()).or_insert_with(new))
        });
        let of = read.case_id.clone();
        let fault = |what: String| InputFault::new(path, what).at_line(number).of_case(of.as_str()).hint(HINT);
        scored.push(Arc::new(answer_of(read, case).map_err(fault)?));
        Ok(())
    })?;
    Ok(scored)
}

/// The name of a scorer as one that lives on: there are as few as scorers, and users may have their own.
fn interned(name: &str) -> &'static str {
    static NAMES: Mutex<Vec<&'static str>> = Mutex::new(Vec::new());
    let mut names = NAMES.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = names.iter().find(|known| **known == name) {
        return known;
    }
    let new: &'static str = Box::leak(name.into());
    names.push(new);
    new
}

const GO_ON: &str = "run score once more to finish the run, its replies are kept";
const HINT: &str = "scholareval rescore RUN makes the scores of a run anew from its replies";

fn answer_of(read: ReadLine, case: Arc<TestCase>) -> std::result::Result<ScoredAnswer, String> {
    if read.v > super::SCHEMA_VERSION {
        return Err(format!("format {} is newer than this program's {}", read.v, super::SCHEMA_VERSION));
    }
    let scorer = interned(&read.scorer);
    let kinds = read.kinds.ok_or("the kinds of its components are not told: written by an earlier version")?;
    let component = |(name, value): (&String, &Value)| {
        let kind = *kinds.get(name).ok_or_else(|| format!("component {name:?} has no kind"))?;
        Ok(Component {
            name: name.clone(),
            kind,
            text: read.texts.get(name).cloned().unwrap_or_default(),
            weight: read.weights.get(name).copied().unwrap_or_default(),
            value: value.as_f64(),
            reason: read.unscored.get(name).cloned(),
            feedback: read.feedback.get(name).cloned(),
        })
    };
    let components = read.components.iter().map(component).collect::<std::result::Result<Vec<_>, String>>()?;
    let score = Score {
        scorer,
        value: read.score,
        ann_score: read.ann_score,
        ann_divisor: read.ann_divisor,
        components,
        notes: read.notes,
        claims: read.claims,
    };
    Ok(ScoredAnswer { system: read.system, case, score, members: read.members, steering: read.steering })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::UnscoredKind;
    use crate::evaluation::record::lines::ScoreLine;

    fn component(name: &str, kind: ComponentKind, value: Option<f64>) -> Component {
        let reason = value.is_none().then(|| UnscoredReason::new(UnscoredKind::Cut, "cut at 5 tokens"));
        let feedback = value.map(|_| "good".to_owned());
        Component { name: name.into(), kind, text: "what".into(), weight: 0.5, value, reason, feedback }
    }

    fn answer(scorer: &'static str, kind: ComponentKind, values: [Option<f64>; 2], is_sum: bool) -> ScoredAnswer {
        let components = vec![component("b", kind, values[0]), component("a", kind, values[1])];
        let total = |of: &[Component]| of.iter().map(|part| Some(part.value? * 0.5)).sum::<Option<f64>>();
        let score = Score {
            scorer,
            value: total(&components),
            ann_score: if is_sum { total(&components) } else { None },
            ann_divisor: if is_sum { 1.0 } else { 0.0 },
            components: components.clone(),
            notes: vec!["scaled".into()],
            claims: Vec::new(),
        };
        let draw = MemberValues { judge: "toy".into(), value: Some(7.0), draws: vec![Some(7.0), None], spread: None };
        let members = BTreeMap::from([("b".into(), vec![draw])]);
        let case = Arc::new(TestCase::without_rubric("c".into(), "why?"));
        ScoredAnswer { system: "s".into(), case, score, members, steering: vec!["tags".into()] }
    }

    fn written(answers: &[ScoredAnswer]) -> (tempfile::TempDir, PathBuf) {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("scores.jsonl");
        let line = |answer| serde_json::to_string(&ScoreLine::of(answer)).expect("a line") + "\n";
        std::fs::write(&path, answers.iter().map(line).collect::<String>()).expect("written");
        (dir, path)
    }

    fn cases(answers: &[ScoredAnswer]) -> HashMap<CaseId, Arc<TestCase>> {
        answers.iter().map(|answer| (answer.case.case_id.clone(), Arc::clone(&answer.case))).collect()
    }

    #[test]
    fn scores_come_back_as_they_were_written() {
        let answers = [
            answer("rubric", ComponentKind::Property, [Some(0.25), Some(0.1 + 0.2)], true),
            answer("rubric", ComponentKind::Property, [None, Some(1.0)], true),
            answer("lexical_rubric", ComponentKind::Property, [Some(0.0), Some(1.0)], true),
        ];
        let (_dir, path) = written(&answers);
        let read = load_scores(&path, &cases(&answers)).expect("scores");
        assert_eq!(read.iter().map(|answer| (**answer).clone()).collect::<Vec<_>>(), answers);
    }

    #[test]
    fn scores_that_are_no_weighted_sum_come_back_without_weights() {
        let aspects = answer("prometheus", ComponentKind::Aspect, [Some(4.0), Some(2.0)], false);
        let (_dir, path) = written(std::slice::from_ref(&aspects));
        let read = load_scores(&path, &cases(std::slice::from_ref(&aspects))).expect("scores");
        assert_eq!(read[0].score.components[0].value, Some(4.0));
        assert_eq!(read[0].score.components[0].weight, 0.0);
    }

    #[test]
    fn a_torn_last_line_is_left_out_and_a_broken_one_is_named() {
        let answers = [answer("rubric", ComponentKind::Property, [Some(0.25), Some(0.5)], true)];
        let (_dir, path) = written(&answers);
        let whole = std::fs::read_to_string(&path).expect("text");
        std::fs::write(&path, format!("{whole}{}", &whole[..whole.len() / 2])).expect("written");
        assert_eq!(load_scores(&path, &cases(&answers)).expect("scores").len(), 1);
        std::fs::write(&path, format!("{whole}{{}}\n")).expect("written");
        let error = load_scores(&path, &cases(&answers)).expect_err("a broken line").to_string();
        assert!(error.contains("scores.jsonl") && error.contains('2'), "{error}");
    }

    #[test]
    fn a_record_of_an_earlier_version_says_what_to_do() {
        let answers = [answer("rubric", ComponentKind::Property, [Some(0.25), Some(0.5)], true)];
        let (_dir, path) = written(&answers);
        let text = std::fs::read_to_string(&path).expect("text").replace("\"kinds\"", "\"other\"");
        std::fs::write(&path, text).expect("written");
        let error = load_scores(&path, &cases(&answers)).expect_err("no kinds").to_string();
        assert!(error.contains("rescore"), "{error}");
    }
}
