//! Exports a run as inspect-ai logs, one per system, for `inspect view`.
//!
//! The format is version 2 of `EvalLog` in JSON, as inspect-ai 0.3 documents it ("Eval Logs", and `inspect log schema`).
//! The model under test is the system; judges are in `model_roles` and in the metadata.
//!
//! A sample is a case. The rubric gives two numbers (`rubric` and `rubric.ann_score`), every other scorer one object
//! with a number per component. Unscored is a bare `NaN`, as inspect-ai writes it (a null inside an object), with the
//! reason beside it; metrics leave it out.

use std::collections::{BTreeSet, HashMap};
use std::io::Write;
use std::path::Path;

use serde::Serialize;
use serde_json::ser::Formatter;
use serde_json::{Map, Value, json};

use crate::dataset::with_text;
use crate::domain::{Answer, CaseId, Score, ScoredAnswer, SystemName, TestCase, UnscoredKind, UnscoredReason};
use crate::error::{Error, Result};
use crate::evaluation::record::{JudgeEntry, Manifest, RecordedRun, RunStatus};
use crate::files::write_bytes;
use crate::stats::{mean, sd};

/// The version of `EvalLog` that is written.
const VERSION: u32 = 2;

/// Maximum length of a name in a file name.
const KEPT_OF_A_NAME: usize = 40;

/// Writes the logs into a directory, one per system; returns their number.
///
/// # Errors
/// When a file cannot be written.
pub fn write_inspect_logs(run: &RecordedRun, out: &Path) -> Result<usize> {
    let items = run.items.iter().map(with_text).collect::<Result<Vec<_>>>()?;
    let answers: HashMap<(&SystemName, &CaseId), &Answer> =
        items.iter().map(|item| ((&item.answer.system, &item.case.case_id), &item.answer)).collect();
    let systems = run.systems();
    for system in &systems {
        let log = render_inspect_log(run, system, &answers)?;
        write_bytes(&out.join(file_name(run, system)), &log)?;
    }
    Ok(systems.len())
}

/// One case of a system with its answer, if recorded, and its scores.
type Sample<'a> = (&'a TestCase, Option<&'a Answer>, Vec<&'a ScoredAnswer>);

fn render_inspect_log(
    run: &RecordedRun,
    system: &SystemName,
    answers: &HashMap<(&SystemName, &CaseId), &Answer>,
) -> Result<Vec<u8>> {
    let mut samples: Vec<Sample<'_>> = Vec::new();
    let mut places: HashMap<&CaseId, usize> = HashMap::new();
    for scored in run.scored.iter().filter(|scored| scored.system == *system) {
        let case = &*scored.case;
        let place = *places.entry(&case.case_id).or_insert_with(|| {
            let answer = answers.get(&(system, &case.case_id)).copied();
            samples.push((case, answer, Vec::new()));
            samples.len() - 1
        });
        samples[place].2.push(scored);
    }
    let mut bytes = Vec::new();
    let mut writer = serde_json::Serializer::with_formatter(&mut bytes, NanFormatter);
    log(run, system, &samples)
        .serialize(&mut writer)
        .map_err(|error| Error::Internal(format!("log for inspect-ai: {error}")))?;
    bytes.push(b'\n');
    Ok(bytes)
}

fn log(run: &RecordedRun, system: &SystemName, samples: &[Sample<'_>]) -> Value {
    let manifest = &run.manifest;
    let rubric = manifest.roles.get("rubric").and_then(|entry| entry.prompts.as_ref());
    let run_id = manifest.identity().short(16);
    let task_id = format!("{run_id}{}", short_hash(system));
    let of_system = || samples.iter().flat_map(|(.., scored)| scored.iter().copied());
    let with_score: BTreeSet<&str> =
        of_system().filter(|answer| answer.score.value.is_some()).map(|answer| answer.score.scorer).collect();
    let has_score = |scored: &ScoredAnswer| with_score.contains(scored.score.scorer);
    let results = results(of_system().flat_map(|scored| numbers(&scored.score, has_score(scored))));
    let mut scorers: Vec<Value> = Vec::new();
    for result in &results {
        let scorer = json!({"name": result["scorer"], "metrics": [{"name": "mean"}, {"name": "stderr"}]});
        if !scorers.contains(&scorer) {
            scorers.push(scorer);
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
                "sample_ids": samples.iter().map(|(case, ..)| &case.case_id).collect::<Vec<_>>(),
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
                "prompts": rubric.map(|prompts| &prompts.label),
                "settings": manifest.settings,
            },
            "scorers": scorers,
        },
        "plan": {"name": "plan", "steps": [], "config": {}},
        "results": {"total_samples": samples.len(), "completed_samples": samples.len(), "scores": results},
        "stats": {
            "started_at": manifest.started_at,
            "completed_at": manifest.finished_at.as_deref().unwrap_or_default(),
            "model_usage": {},
        },
        "samples": samples.iter().map(|of| sample(system, of, has_score)).collect::<Vec<_>>(),
    })
}

/// The judges by role: `rubric`, `aspect.coverage`, `citation`; further members of a panel have a number as suffix.
fn judges(manifest: &Manifest) -> Value {
    let mut judges = Map::new();
    let entry = |judge: &JudgeEntry| json!({"model": judge.id, "base_url": judge.base_url, "config": {}, "args": {}});
    for (role, of_role) in &manifest.roles {
        for (at, judge) in of_role.judges.iter().enumerate() {
            let name = if at == 0 { role.clone() } else { format!("{role}.{}", at + 1) };
            judges.insert(name, entry(judge));
        }
    }
    judges.into()
}

/// The numbers of a score with scorer and name. For a weighted sum only the sums, each as its own scorer, since its
/// components differ from case to case; for other scorers the score, if any answer has one, and every component.
fn numbers(score: &Score, has_score: bool) -> Vec<(String, String, Option<f64>)> {
    let scorer = score.scorer.to_owned();
    if score.is_weighted_sum() {
        let annotated = format!("{scorer}.ann_score");
        return vec![(scorer.clone(), scorer, score.value), (annotated.clone(), annotated, score.ann_score)];
    }
    let own = has_score.then(|| (scorer.clone(), "score".to_owned(), score.value));
    let components = score.components.iter().filter(|component| &*component.name != "score" || !has_score);
    own.into_iter()
        .chain(components.map(|component| (scorer.clone(), component.name.to_string(), component.value)))
        .collect()
}

/// Entries of `results.scores`: mean and standard error of the values.
fn results(numbers: impl Iterator<Item = (String, String, Option<f64>)>) -> Vec<Value> {
    let mut columns: Vec<(String, String, Vec<Option<f64>>)> = Vec::new();
    for (scorer, name, number) in numbers {
        match columns.iter_mut().find(|(of, known, _)| *of == scorer && *known == name) {
            Some((_, _, values)) => values.push(number),
            None => columns.push((scorer, name, vec![number])),
        }
    }
    let entry = |(scorer, name, all): (String, String, Vec<Option<f64>>)| {
        let values: Vec<f64> = all.iter().flatten().copied().collect();
        let stderr = sd(&values).map(|sd| sd / (values.len() as f64).sqrt());
        let metrics: Map<String, Value> = [("mean", mean(&values)), ("stderr", stderr)]
            .into_iter()
            .filter_map(|(name, value)| Some((name.to_owned(), json!({"name": name, "value": value?, "params": {}}))))
            .collect();
        json!({
            "name": name,
            "scorer": scorer,
            "scored_samples": values.len(),
            "unscored_samples": all.len() - values.len(),
            "params": {},
            "metrics": metrics,
        })
    };
    columns.into_iter().map(entry).collect()
}

fn sample(system: &SystemName, (case, recorded, all): &Sample<'_>, has_score: impl Fn(&ScoredAnswer) -> bool) -> Value {
    let question = case.initial_prompt.as_str();
    let answer = recorded.map_or("", |answer| &answer.answer_text);
    let gold = recorded.and_then(|answer| answer.prediction.as_ref()?.gold.answer.as_deref());
    let target = gold.or_else(|| recorded.and_then(|answer| answer.reference_answer.as_deref()));
    let mut scores = Map::new();
    for scored in all {
        let numbers = numbers(&scored.score, has_score(scored));
        if scored.score.is_weighted_sum() {
            for (name, _, number) in numbers {
                scores.insert(name, entry(scored, number.map_or(NAN.into(), Value::from), number.is_none()));
            }
        } else {
            let is_unscored = numbers.iter().any(|(_, _, number)| number.is_none());
            let object: Map<String, Value> =
                numbers.into_iter().map(|(_, name, number)| (name, Value::from(number))).collect();
            scores.insert(scored.score.scorer.to_owned(), entry(scored, object.into(), is_unscored));
        }
    }
    let assistant = json!({"role": "assistant", "content": answer, "model": system, "source": "generate"});
    let note = recorded.is_none().then_some("the record of the run does not hold this answer");
    json!({
        "id": case.case_id,
        "epoch": 1,
        "input": question,
        "target": target.unwrap_or_default(),
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

fn entry(scored: &ScoredAnswer, value: Value, is_unscored: bool) -> Value {
    let score = &scored.score;
    let metadata = json!({"score": score, "injection": scored.injection});
    let mut entry = json!({"value": value, "explanation": explanation(score), "metadata": metadata});
    if is_unscored {
        let reason = score.components.iter().find_map(|component| component.reason.as_deref());
        entry["reason"] = reason.map_or("scoring_failed", inspect_reason).into();
    }
    entry
}

/// The matching inspect-ai reason: the judge failed, or there was nothing to judge with.
fn inspect_reason(reason: &UnscoredReason) -> &'static str {
    use UnscoredKind::{ContextOverflow, Cut, Refused, Unreachable, Unreadable};
    let is_of_judge = matches!(reason.kind, Unreadable | Cut | ContextOverflow | Refused | Unreachable);
    if is_of_judge { "grader_failed" } else { "scoring_failed" }
}

/// One line per component with its value and the judge's feedback, then the notes.
fn explanation(score: &Score) -> String {
    let mut lines = Vec::new();
    for component in &score.components {
        let value = match (component.value, &component.reason) {
            (Some(value), _) => value.to_string(),
            (None, Some(reason)) => format!("unscored ({reason})"),
            (None, None) => "unscored".to_owned(),
        };
        let feedback = component.feedback.as_ref().map(|feedback| format!(": {feedback}")).unwrap_or_default();
        lines.push(format!("- {} = {value}{feedback}", component.name));
    }
    lines.extend(score.notes.iter().map(|note| format!("- note: {note}")));
    lines.join("\n")
}

/// Eight digits, different for every system.
fn short_hash(system: &SystemName) -> String {
    blake3::hash(system.as_str().as_bytes()).to_hex().chars().take(8).collect()
}

/// `TIME_RUN_SYSTEM_ID.json`, the pattern by which inspect-ai finds its logs. Run and system are sanitized; the id
/// differs where they then look the same.
fn file_name(run: &RecordedRun, system: &SystemName) -> String {
    let time: String = run.manifest.started_at.chars().take(19).collect();
    let id = format!("{}{}", run.manifest.identity().short(16), short_hash(system));
    format!("{}_{}_{}_{id}.json", harmless(&time), harmless(&run.name), harmless(system.as_str()))
}

/// The name without path separators and other unsafe characters.
fn harmless(name: &str) -> String {
    let kept = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '-' };
    name.chars().take(KEPT_OF_A_NAME).map(kept).collect()
}

/// Stands for NaN, which a [`Value`] cannot hold: a number that is not a score, count or seed.
const NAN: i64 = i64::MIN;

/// Writes [`NAN`] as the bare word.
struct NanFormatter;

impl Formatter for NanFormatter {
    fn write_i64<W: ?Sized + Write>(&mut self, writer: &mut W, value: i64) -> std::io::Result<()> {
        if value == NAN { writer.write_all(b"NaN") } else { write!(writer, "{value}") }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::analysis::test_support::{answer, component, score};
    use crate::domain::{ComponentKind, Mode};

    fn run(name: &str, scored: Vec<ScoredAnswer>) -> RecordedRun {
        let manifest = Manifest { started_at: "2026-01-02T03:04:05.6Z".into(), ..Manifest::begin(Mode::Default) };
        let scored = scored.into_iter().map(Arc::new).collect();
        RecordedRun { path: "runs/r".into(), name: name.to_owned(), manifest, items: Vec::new(), scored }
    }

    fn text(scored: Vec<ScoredAnswer>) -> String {
        let log = render_inspect_log(&run("mine", scored), &"gpt".into(), &HashMap::new()).unwrap();
        String::from_utf8(log).unwrap()
    }

    #[test]
    fn an_unscored_answer_is_a_bare_nan_with_a_reason_and_in_no_mean() {
        let part = |value| component("p", ComponentKind::Property, 1.0, value);
        let text = text(vec![
            answer("gpt", "c1", score(vec![part(Some(0.5))])),
            answer("gpt", "c2", score(vec![part(None)])),
            answer("gpt", "c3", score(vec![part(Some(1.0))])),
        ]);
        assert!(text.contains("\"value\":NaN"), "{text}");
        let value: Value = serde_json::from_str(&text.replace("NaN", "null")).unwrap();
        let unscored = &value["samples"][1]["scores"]["rubric"];
        assert!(unscored["value"].is_null() && unscored["reason"].is_string(), "{unscored}");
        let rubric = &value["results"]["scores"][0];
        assert_eq!((rubric["name"].as_str(), rubric["scored_samples"].as_u64()), (Some("rubric"), Some(2)));
        assert_eq!(rubric["unscored_samples"], 1);
        // (0.5 + 1) / 2; sqrt((0.25^2 + 0.25^2) / 1 / 2) = 0.25
        assert_eq!(rubric["metrics"]["mean"]["value"], 0.75);
        assert!((rubric["metrics"]["stderr"]["value"].as_f64().unwrap() - 0.25).abs() < 1e-12);
    }

    #[test]
    fn other_scorers_give_an_object_of_their_components_with_null_for_what_is_unscored() {
        let parts = |value| {
            let mut made = score(vec![
                component("coverage", ComponentKind::Aspect, 0.0, Some(4.0)),
                component("relevance", ComponentKind::Aspect, 0.0, value),
            ]);
            made.scorer = "prometheus";
            made.value = value.map(|value: f64| (4.0 + value) / 2.0);
            made
        };
        let text = text(vec![answer("gpt", "c1", parts(Some(2.0))), answer("gpt", "c2", parts(None))]);
        let value: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(
            value["samples"][0]["scores"]["prometheus"]["value"],
            json!({"score": 3.0, "coverage": 4.0, "relevance": 2.0})
        );
        assert!(value["samples"][1]["scores"]["prometheus"]["value"]["relevance"].is_null());
        let names: Vec<_> = value["results"]["scores"].as_array().unwrap().iter().map(|entry| &entry["name"]).collect();
        assert_eq!(names, ["score", "coverage", "relevance"]);
        // one value alone has no standard error
        assert!(value["results"]["scores"][2]["metrics"].get("stderr").is_none());
    }

    #[test]
    fn no_run_or_system_name_escapes_the_directory() {
        let run = run("../up", Vec::new());
        let name = file_name(&run, &"../../etc/pass_wd\u{1b}".into());
        assert!(name.starts_with("2026-01-02T03-04-05_---up_------etc-pass-wd-_"), "{name}");
        assert_ne!(file_name(&run, &"a b".into()), file_name(&run, &"a-b".into()));
    }
}
