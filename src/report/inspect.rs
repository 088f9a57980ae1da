//! Exports a run as inspect-ai logs, one per system, for `inspect view`.
//!
//! The format is version 2 of `EvalLog` in JSON, as inspect-ai 0.3 documents it ("Eval Logs", and `inspect log schema`).
//! The model under test is the system; judges are in `model_roles` and in the metadata.
//!
//! A sample is a case. A scorer gives one object with a number per metric: the sums of a rubric, whose components differ
//! from case to case, and every number of other scorers. Unscored is a bare `NaN`, as Inspect writes it, with the reason
//! beside it: its metrics leave NaN out of their means and count it, but take a null for a scored 0.

use std::collections::HashMap;
use std::io::{self, Write};
use std::path::Path;

use serde::Serialize;
use serde_json::ser::{CompactFormatter, Formatter, Serializer};
use serde_json::{Map, Value, json};

use super::answer_warnings;
use super::export::{RunExport, ScorerNumbers, WrittenExport, gold_answer, harmless, numbers_of};
use crate::analysis::distinct;
use crate::dataset::with_text;
use crate::domain::{
    Answer, CaseId, Score, ScoredAnswer, SystemName, TestCase, UnscoredKind, UnscoredReason,
};
use crate::error::{Error, Result};
use crate::files::write_bytes;
use crate::record::{Manifest, RecordedRun, RunStatus};
use crate::stats::{mean, sd};
use crate::text::names::counted;

/// The version of `EvalLog` that is written.
const VERSION: u32 = 2;

/// Stands for NaN in a log until it is written, since a [`Value`] cannot hold NaN. No other number of a log is this one.
pub(super) const NAN: i64 = i64::MIN;

/// Logs for `inspect view`, one per system.
#[derive(Debug, Clone, Copy)]
pub struct InspectLogs;

impl RunExport for InspectLogs {
    fn write(&self, run: &RecordedRun, out: &Path) -> Result<WrittenExport> {
        let logs = write_logs(run, out)?;
        let is_without_answers = run.items.is_empty();
        let note =
            "the record does not contain the answers (--no-inputs), so the logs show scores only";
        Ok(WrittenExport {
            contents: counted(logs, "log"),
            note: is_without_answers.then(|| note.to_owned()),
        })
    }
}

/// Writes the logs; returns their number.
fn write_logs(run: &RecordedRun, out: &Path) -> Result<usize> {
    let items = run.items.iter().map(with_text);
    let items = items.collect::<Result<Vec<_>>>()?;
    let mut answers = HashMap::new();
    for item in &items {
        answers.insert((&item.answer.system, &item.case.case_id), &item.answer);
    }
    let systems = run.systems();
    for system in &systems {
        let log = render_inspect_log(run, system, &answers)?;
        write_bytes(&out.join(file_name(run, system)), &log)?;
    }
    Ok(systems.len())
}

/// One case of a system with its answer, if recorded, and its scores.
struct InspectCase<'a> {
    case: &'a TestCase,
    answer: Option<&'a Answer>,
    scored: Vec<&'a ScoredAnswer>,
}

/// The cases of a system, in the order of its scores.
fn samples<'a>(
    run: &'a RecordedRun,
    system: &'a SystemName,
    answers: &HashMap<(&SystemName, &CaseId), &'a Answer>,
) -> Vec<InspectCase<'a>> {
    let mut samples: Vec<InspectCase<'_>> = Vec::new();
    let mut places: HashMap<&CaseId, usize> = HashMap::new();
    for scored in run.scored.iter().filter(|scored| scored.system == *system) {
        let case = &*scored.case;
        let place = *places.entry(&case.case_id).or_insert_with(|| {
            samples.push(InspectCase {
                case,
                answer: answers.get(&(system, &case.case_id)).copied(),
                scored: Vec::new(),
            });
            samples.len() - 1
        });
        samples[place].scored.push(scored);
    }
    samples
}

fn render_inspect_log(
    run: &RecordedRun,
    system: &SystemName,
    answers: &HashMap<(&SystemName, &CaseId), &Answer>,
) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    push_line(
        &mut bytes,
        &log(run, system, &samples(run, system, answers)),
    )?;
    Ok(bytes)
}

/// Adds a line of JSON in which [`NAN`] is a bare `NaN`.
///
/// # Errors
/// [`Error::Internal`] if the value cannot be serialized.
pub(super) fn push_line(bytes: &mut Vec<u8>, value: &Value) -> Result<()> {
    value
        .serialize(&mut Serializer::with_formatter(&mut *bytes, WithNan))
        .map_err(|error| Error::Internal(format!("JSON for inspect-ai: {error}")))?;
    bytes.push(b'\n');
    Ok(())
}

/// Writes [`NAN`] as Python does.
struct WithNan;

impl Formatter for WithNan {
    fn write_i64<W: ?Sized + Write>(&mut self, writer: &mut W, value: i64) -> io::Result<()> {
        if value == NAN {
            return writer.write_all(b"NaN");
        }
        CompactFormatter.write_i64(writer, value)
    }
}

/// The log of a system.
fn log(run: &RecordedRun, system: &SystemName, samples: &[InspectCase<'_>]) -> Value {
    let manifest = &run.manifest;
    let rubric = manifest.roles.get("rubric");
    let prompts = rubric.and_then(|entry| entry.prompts.as_ref());
    // From the settings: exporting a run twice gives logs with the same ids, which replace each
    // other in a viewer.
    let run_id = manifest.identity().short(16);
    let task_id = format!("{run_id}{}", short_hash(system.as_str()));
    let mut numbers = Vec::new();
    for sample in samples {
        numbers.extend(sample.scored.iter().map(|scored| numbers_of(scored)));
    }
    let scorers = scorers_with_names(&numbers);
    // By key, for every key: a list would be for scores that are a single number.
    let metrics = json!({"*": [{"name": "inspect_ai/mean"}, {"name": "inspect_ai/stderr"}]});
    let mut results = Vec::new();
    for (scorer, names) in &scorers {
        for name in names {
            results.push(result(scorer, name, &numbers));
        }
    }
    json!({
        "version": VERSION,
        "status": if manifest.status == RunStatus::Complete { "success" } else { "cancelled" },
        "eval": {
            "eval_id": task_id,
            "run_id": run_id,
            "created": manifest.started_at,
            "task": format!("scholareval/{}", run.name),
            "task_id": task_id,
            "task_version": 0,
            "dataset": {
                "samples": samples.len(),
                "sample_ids": samples.iter().map(|sample| &sample.case.case_id).collect::<Vec<_>>(),
                "shuffled": false,
            },
            "model": system,
            "model_roles": judges(manifest),
            "config": {},
            "packages": {"scholareval": env!("CARGO_PKG_VERSION")},
            "metadata": {
                "run": run.name,
                "mode": manifest.mode,
                "lexical": manifest.is_lexical(),
                "answered_by": manifest.answered_judges(),
                "warnings": answer_warnings(run),
                "prompts": prompts.map(|prompts| &prompts.label),
                "settings": manifest.settings,
            },
            "scorers": scorers.iter().map(|(scorer, _)| json!({"name": scorer, "metrics": metrics})).collect::<Vec<_>>(),
        },
        "plan": {"name": "plan", "steps": [], "config": {}},
        "results": {"total_samples": samples.len(), "completed_samples": samples.len(), "scores": results},
        "stats": {
            "started_at": manifest.started_at,
            "completed_at": manifest.finished_at.as_deref().unwrap_or_default(),
            "model_usage": {},
        },
        "samples": samples.iter().map(|case| sample(system, case, &scorers)).collect::<Vec<_>>(),
    })
}

/// Each scorer with the names of its numbers, which are the same in every sample's score.
fn scorers_with_names<'a>(all: &'a [ScorerNumbers<'_>]) -> Vec<(&'a str, Vec<&'a str>)> {
    let mut scorers = Vec::new();
    for scorer in distinct(all.iter().map(|numbers| numbers.scorer)) {
        let of_scorer = all.iter().filter(|numbers| numbers.scorer == scorer);
        let names = of_scorer.flat_map(|numbers| &numbers.numbers);
        scorers.push((scorer, distinct(names.map(|(name, _)| name.as_str()))));
    }
    scorers
}

/// The judges by role: `rubric`, `aspect.coverage`, `citation`; further members of a panel have a number as suffix.
fn judges(manifest: &Manifest) -> Value {
    let mut judges = Map::new();
    for (role, of_role) in &manifest.roles {
        for (at, judge) in of_role.judges.iter().enumerate() {
            let name = match at {
                0 => role.clone(),
                _ => format!("{role}.{}", at + 1),
            };
            let entry = json!({
                "model": judge.id,
                "base_url": judge.base_url,
                "config": {},
                "args": {},
            });
            judges.insert(name, entry);
        }
    }
    judges.into()
}

/// An entry of `results.scores`: mean and standard error of a number.
fn result(scorer: &str, name: &str, all: &[ScorerNumbers<'_>]) -> Value {
    let answers = all.iter().filter(|numbers| numbers.scorer == scorer);
    let values = answers.clone().filter_map(|numbers| numbers.value(name));
    let values: Vec<f64> = values.collect();
    let stderr = sd(&values).map(|sd| sd / (values.len() as f64).sqrt());
    let mut metrics = Map::new();
    // The standard error over answers, as Inspect computes it, so that its viewer shows the same
    // number when it recomputes it.
    for (name, value) in [("mean", mean(&values)), ("stderr", stderr)] {
        if let Some(value) = value {
            let metric = json!({"name": name, "value": value, "params": {}});
            metrics.insert(name.to_owned(), metric);
        }
    }
    json!({
        "name": name,
        "scorer": scorer,
        "scored_samples": values.len(),
        "unscored_samples": answers.count() - values.len(),
        "params": {},
        "metrics": metrics,
    })
}

/// A case as inspect-ai knows it: the question, the answer, and a score by each scorer.
fn sample(system: &SystemName, sample: &InspectCase<'_>, scorers: &[(&str, Vec<&str>)]) -> Value {
    let case = sample.case;
    let question = case.initial_prompt.as_str();
    let answer = sample.answer.map_or("", |answer| &answer.answer_text);
    let mut scores = Map::new();
    for scored in &sample.scored {
        let value = value_of(scored, scorers);
        scores.insert(scored.score.scorer.to_string(), entry(scored, value));
    }
    let assistant =
        json!({"role": "assistant", "content": answer, "model": system, "source": "generate"});
    let note = match sample.answer {
        Some(_) => None,
        None => Some("the record of the run does not hold this answer"),
    };
    json!({
        "id": case.case_id,
        "epoch": 1,
        "input": question,
        "target": sample.answer.and_then(gold_answer).unwrap_or_default(),
        "messages": [{"role": "user", "content": question, "source": "input"}, assistant],
        "output": {
            "model": system,
            "choices": [{"message": assistant, "stop_reason": "stop"}],
            "completion": answer,
        },
        "scores": scores,
        "metadata": {"annotator": case.annotator, "note": note},
        "store": {},
        "events": [],
        "model_usage": {},
        "attachments": {},
    })
}

/// Every number that the scorer has for any answer; unscored is NaN.
fn value_of(scored: &ScoredAnswer, scorers: &[(&str, Vec<&str>)]) -> Map<String, Value> {
    let numbers = numbers_of(scored);
    let mut object = Map::new();
    for (scorer, names) in scorers {
        if *scorer != numbers.scorer {
            continue;
        }
        for name in names {
            let value = numbers.value(name).map_or(Value::from(NAN), Value::from);
            object.insert((*name).to_owned(), value);
        }
    }
    object
}

/// A score: its numbers, why some are missing, and what a reader of the log sees of it.
fn entry(scored: &ScoredAnswer, value: Map<String, Value>) -> Value {
    let score = &scored.score;
    let is_unscored = value.values().any(|value| *value == NAN);
    let metadata = json!({"score": score, "injection": scored.injection});
    let mut entry =
        json!({"value": value, "explanation": explanation(score), "metadata": metadata});
    if is_unscored {
        let mut components = score.components.iter();
        let reason = components.find_map(|component| component.reason.as_deref());
        entry["reason"] = reason.map_or("scoring_failed", inspect_reason).into();
    }
    entry
}

/// The matching inspect-ai reason: the judge failed, or there was nothing to judge with.
fn inspect_reason(reason: &UnscoredReason) -> &'static str {
    use UnscoredKind::{ContextOverflow, Cut, Moderated, Refused, Unreachable, Unreadable};
    match reason.kind {
        Unreadable | Cut | ContextOverflow | Refused | Moderated | Unreachable => "grader_failed",
        _ => "scoring_failed",
    }
}

/// One line per component with its value and the judge's feedback, then the notes.
pub(super) fn explanation(score: &Score) -> String {
    let mut lines = Vec::new();
    for component in &score.components {
        let value = match (component.value, &component.reason) {
            (Some(value), _) => value.to_string(),
            (None, Some(reason)) => format!("unscored ({reason})"),
            (None, None) => "unscored".to_owned(),
        };
        let mut line = format!("- {} = {value}", component.name);
        if component.is_fault() {
            line += " (fault: a negative weight)";
        }
        if let Some(feedback) = &component.feedback {
            line += &format!(": {feedback}");
        }
        lines.push(line);
    }
    for note in &score.notes {
        lines.push(format!("- note: {note}"));
    }
    lines.join("\n")
}

/// Eight digits, different for every name.
pub(super) fn short_hash(name: &str) -> String {
    blake3::hash(name.as_bytes()).to_hex()[..8].to_owned()
}

/// `TIME_RUN_SYSTEM_ID.json`, the pattern by which inspect-ai finds its logs. Run and system are sanitized; the id
/// differs where they then look the same.
fn file_name(run: &RecordedRun, system: &SystemName) -> String {
    let time: String = run.manifest.started_at.chars().take(19).collect();
    let names = [&time, &*run.name, system.as_str()].map(harmless);
    let run_id = run.manifest.identity().short(16);
    let system_id = short_hash(system.as_str());
    format!("{}_{run_id}{system_id}.json", names.join("_"))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::analysis::test_support::{answer, component, score};
    use crate::domain::{ComponentKind, Mode};

    fn run(name: &str, scored: Vec<ScoredAnswer>) -> RecordedRun {
        let manifest = Manifest {
            started_at: "2026-01-02T03:04:05.6Z".into(),
            ..Manifest::begin(Mode::Default)
        };
        let scored = scored.into_iter().map(Arc::new).collect();
        RecordedRun {
            path: "runs/r".into(),
            name: name.to_owned(),
            manifest,
            items: Vec::new(),
            scored,
        }
    }

    fn written(scored: Vec<ScoredAnswer>) -> Value {
        let log = render_inspect_log(&run("mine", scored), &"gpt".into(), &HashMap::new()).unwrap();
        let log = String::from_utf8(log).unwrap();
        serde_json::from_str(&log.replace(":NaN", ":\"NaN\"")).unwrap()
    }

    #[test]
    fn an_unscored_answer_is_nan_with_a_reason_and_in_no_mean() {
        let part = |value| component("p", ComponentKind::Property, 1.0, value);
        let log = written(vec![
            answer("gpt", "c1", score(vec![part(Some(0.5))])),
            answer("gpt", "c2", score(vec![part(None)])),
            answer("gpt", "c3", score(vec![part(Some(1.0))])),
        ]);
        let unscored = &log["samples"][1]["scores"]["rubric"];
        assert!(
            unscored["value"]["score"] == "NaN" && unscored["reason"].is_string(),
            "{unscored}"
        );
        let rubric = &log["results"]["scores"][0];
        assert_eq!(
            (rubric["scorer"].as_str(), rubric["name"].as_str()),
            (Some("rubric"), Some("score"))
        );
        assert_eq!(
            (&rubric["scored_samples"], &rubric["unscored_samples"]),
            (&json!(2), &json!(1))
        );
        // (0.5 + 1) / 2; sqrt((0.25^2 + 0.25^2) / 1 / 2) = 0.25
        assert_eq!(rubric["metrics"]["mean"]["value"], 0.75);
        assert!((rubric["metrics"]["stderr"]["value"].as_f64().unwrap() - 0.25).abs() < 1e-12);
    }

    #[test]
    fn other_scorers_give_every_number_with_nan_for_what_is_unscored() {
        let parts = |value| {
            let mut score = score(vec![
                component("coverage", ComponentKind::Aspect, 0.0, Some(4.0)),
                component("relevance", ComponentKind::Aspect, 0.0, value),
            ]);
            score.scorer = "prometheus".into();
            score.value = value.map(|value: f64| (4.0 + value) / 2.0);
            score
        };
        let log = written(vec![
            answer("gpt", "c1", parts(Some(2.0))),
            answer("gpt", "c2", parts(None)),
        ]);
        let value = |sample: usize| &log["samples"][sample]["scores"]["prometheus"]["value"];
        assert_eq!(
            value(0),
            &json!({"aspect_mean": 3.0, "coverage": 4.0, "relevance": 2.0})
        );
        assert_eq!(
            value(1),
            &json!({"aspect_mean": "NaN", "coverage": 4.0, "relevance": "NaN"})
        );
        let names: Vec<_> = log["results"]["scores"]
            .as_array()
            .unwrap()
            .iter()
            .map(|entry| &entry["name"])
            .collect();
        assert_eq!(names, ["aspect_mean", "coverage", "relevance"]);
        // one value alone has no standard error
        assert!(
            log["results"]["scores"][2]["metrics"]
                .get("stderr")
                .is_none()
        );
    }

    #[test]
    fn no_run_or_system_name_escapes_the_directory() {
        let run = run("../up", Vec::new());
        let name = file_name(&run, &"../../etc/pass_wd\u{1b}".into());
        assert!(
            name.starts_with("2026-01-02T03-04-05_---up_------etc-pass-wd-_"),
            "{name}"
        );
        assert_ne!(
            file_name(&run, &"a b".into()),
            file_name(&run, &"a-b".into())
        );
    }
}
