//! Exports the scores of a run for inspect-ai's scorer `precomputed_scores`, which puts them into a log of the same samples.
//!
//! One file per system and scorer, since a log is of one model and a score has one value: `{id, epoch, value, explanation, metadata}` per
//! line. Unscored is a bare `NaN`, which Inspect counts as unscored; a sample without a line would be left out of both counts. All
//! values of a file are of one metric, since Inspect takes their mean.

use std::path::Path;

use serde_json::{Value, json};

use super::export::{RunExport, WrittenExport, harmless, numbers_of};
use super::inspect::{NAN, explanation, push_line, short_hash};
use crate::analysis::distinct;
use crate::domain::{ScoredAnswer, ScorerId, SystemName};
use crate::error::Result;
use crate::files::write_bytes;
use crate::record::RecordedRun;
use crate::text::names::counted;

/// Scores for the logs of the same samples, one file per system and scorer.
#[derive(Debug, Clone, Copy)]
pub struct InspectScores;

impl RunExport for InspectScores {
    fn write(&self, run: &RecordedRun, out: &Path) -> Result<WrittenExport> {
        let files = write_files(run, out)?;
        Ok(WrittenExport::new(format!(
            "{} of scores",
            counted(files, "file")
        )))
    }
}

/// Writes the files; returns their number.
fn write_files(run: &RecordedRun, out: &Path) -> Result<usize> {
    let mut files = 0;
    for system in &run.systems() {
        let of_system = run.scored.iter().filter(|scored| scored.system == *system);
        let scorers = distinct(of_system.map(|scored| &scored.score.scorer));
        for scorer in scorers {
            let bytes = lines(run, system, scorer)?;
            write_bytes(&out.join(file_name(run, system, scorer)), &bytes)?;
            files += 1;
        }
    }
    Ok(files)
}

/// The scores of a system by a scorer.
fn lines(run: &RecordedRun, system: &SystemName, scorer: &ScorerId) -> Result<Vec<u8>> {
    let mut answers = Vec::new();
    for scored in &run.scored {
        if scored.system == *system && scored.score.scorer == *scorer {
            answers.push(&**scored);
        }
    }
    let metric = main_metric(&answers);
    let mut bytes = Vec::new();
    for scored in answers {
        push_line(&mut bytes, &record(scored, &metric))?;
    }
    Ok(bytes)
}

/// The name of the number that is the value: that of the whole answer, which comes first where an answer has it, or else the
/// first component. An unscored answer may have no number of its whole; its first component must not take that place.
fn main_metric(answers: &[&ScoredAnswer]) -> String {
    let whole = answers.iter().find(|scored| scored.score.value.is_some());
    let numbers = whole
        .or(answers.first())
        .map(|scored| numbers_of(scored).numbers);
    let first = numbers.and_then(|numbers| numbers.into_iter().next());
    first.map_or_else(String::new, |(name, _)| name)
}

/// The line of an answer: the value of this metric, and all numbers in the metadata.
fn record(scored: &ScoredAnswer, metric: &str) -> Value {
    let numbers = numbers_of(scored).numbers;
    let mut of_metric = numbers.iter().filter(|(name, _)| name == metric);
    let value = of_metric.next().and_then(|(_, value)| *value);
    let all = numbers
        .into_iter()
        .map(|(name, value)| (name, value.into()));
    let all: serde_json::Map<String, Value> = all.collect();
    json!({
        "id": scored.case.case_id,
        // The answer is that of the first epoch, also where the log has more.
        "epoch": 1,
        "value": value.map_or(Value::from(NAN), Value::from),
        "explanation": explanation(&scored.score),
        "metadata": {
            "scorer": scored.score.scorer,
            "metric": metric,
            "numbers": all,
            "components": scored.score.components.iter().map(|component| json!({"name": component.name, "component": component})).collect::<Vec<_>>(),
        },
    })
}

/// `RUN_SYSTEM_SCORER_ID.jsonl`; the id differs where names look the same without unsafe characters.
fn file_name(run: &RecordedRun, system: &SystemName, scorer: &ScorerId) -> String {
    let names = [&*run.name, system.as_str(), scorer.as_str()].map(harmless);
    let id = short_hash(&format!("{}\0{}", system.as_str(), scorer.as_str()));
    format!("{}_{id}.jsonl", names.join("_"))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::analysis::test_support::{answer, component, score};
    use crate::domain::{ComponentKind, Mode};
    use crate::record::Manifest;

    fn run(scored: Vec<ScoredAnswer>) -> RecordedRun {
        RecordedRun {
            path: "runs/r".into(),
            name: "mine".to_owned(),
            manifest: Manifest::begin(Mode::Default),
            items: Vec::new(),
            scored: scored.into_iter().map(Arc::new).collect(),
        }
    }

    #[test]
    fn a_component_never_is_the_value_of_an_answer_without_a_score() {
        let graded = |case: &str, mean: Option<f64>| {
            let aspect = component("coverage", ComponentKind::Aspect, 0.0, Some(4.0));
            let mut score = score(vec![aspect]);
            score.scorer = "prometheus".into();
            score.value = mean;
            answer("gpt", case, score)
        };
        let run = run(vec![graded("c1", None), graded("c2", Some(3.0))]);
        let bytes = lines(&run, &"gpt".into(), &"prometheus".into()).unwrap();
        let text = String::from_utf8(bytes).unwrap();
        let values: Vec<Value> = text
            .replace(":NaN", ":\"NaN\"")
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).unwrap()["value"].clone())
            .collect();
        assert_eq!(values, [json!("NaN"), json!(3.0)]);
    }

    #[test]
    fn scorers_whose_names_look_the_same_have_files_of_their_own() {
        let run = run(Vec::new());
        let name = |scorer: &str| file_name(&run, &"gpt".into(), &scorer.into());
        assert_ne!(name("my.scorer"), name("my-scorer"));
    }
}
