//! Logs of Inspect evaluations (`.eval` archives and JSON): the answers, the test cases, and what the judge of
//! ScholarQA-CS2 (AstaBench's `sqa` tasks) replied.
//!
//! The format is that of `inspect_ai` 0.3; the places of the judge's replies are those of `astabench` 0.5.4.

use std::path::Path;

use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::domain::{Fingerprint, JudgeTask};
use crate::error::{InputFault, Result};
use crate::files::{for_each_member, is_zip, read_bytes, utf8};

use super::reader::{Id, without_bare_nan};

/// A log of one evaluation: one system's answers to the cases of one task.
#[derive(Debug, Clone, Default, Deserialize)]
pub struct InspectLog {
    /// The logged specification of the evaluation: its task, arguments, models and scorers.
    pub eval: Value,
    #[serde(default)]
    status: String,
    /// The answers, in file order.
    #[serde(default)]
    pub samples: Vec<InspectSample>,
}

/// One answer with what was logged about it.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct InspectSample {
    id: Id,
    target: Value,
    output: Value,
    scores: Value,
    /// The logged exception; null for none.
    pub error: Value,
}

impl InspectLog {
    /// Reads a log; `None` for a file that is none.
    ///
    /// # Errors
    /// An archive that is damaged or no log, with the member.
    fn parse(bytes: &[u8], path: &Path) -> Result<Option<Self>, InputFault> {
        if !is_zip(bytes) {
            let text = str::from_utf8(bytes)
                .ok()
                .filter(|text| text.trim_start().starts_with('{'));
            let log: Option<Self> =
                text.and_then(|text| serde_json::from_str(&without_bare_nan(text).0).ok());
            return match log.filter(|log| log.eval["task"].is_string()) {
                Some(log) if log.status == "started" => {
                    Err(InputFault::new(path, "an unfinished log"))
                }
                log => Ok(log),
            };
        }
        let mut log = Self::default();
        let is_read = |name: &str| name == "header.json" || name.starts_with("samples/");
        for_each_member(bytes, path, is_read, |member, text| {
            let json = without_bare_nan(text).0;
            let read = match member.ends_with("header.json") {
                true => serde_json::from_str(&json).map(|header: Self| log.eval = header.eval),
                false => serde_json::from_str(&json).map(|sample| log.samples.push(sample)),
            };
            read.map_err(|error| {
                InputFault::new(member, format!("not what Inspect writes: {error}"))
            })
        })?;
        match log.eval {
            Value::Null => Err(InputFault::new(
                path.join("header.json"),
                "is not in the archive",
            )),
            _ => Ok(Some(log)),
        }
    }

    /// The model that judged, if the log names it.
    pub fn judge(&self) -> Option<&str> {
        let model = &self.eval["scorers"][0]["options"]["scorers"][0]["params"]["model"];
        [
            &self.eval["task_args"]["scorer_model"],
            model,
            &model["model"],
        ]
        .into_iter()
        .find_map(Value::as_str)
    }

    /// The text of a file with the same answers and, where the targets are rubrics, the same test cases.
    fn as_lines(&self) -> String {
        let line = |sample: &InspectSample| {
            let target = sample
                .target
                .as_str()
                .or_else(|| sample.target[0].as_str())
                .unwrap_or_default();
            let mut fields: Map<String, Value> = serde_json::from_str(target).unwrap_or_default();
            fields.insert("case_id".to_owned(), sample.id().into());
            fields.insert(
                "answer_text".to_owned(),
                sample.output["completion"]
                    .as_str()
                    .unwrap_or_default()
                    .into(),
            );
            format!("{}\n", Value::Object(fields))
        };
        self.samples.iter().map(line).collect()
    }
}

impl InspectSample {
    /// The id of its case.
    pub fn id(&self) -> &str {
        &self.id.0
    }

    /// The logged value of a metric.
    pub fn metric(&self, name: &str) -> Option<f64> {
        self.scores
            .as_object()?
            .values()
            .find_map(|score| score["value"][name].as_f64())
    }

    /// What the judge replied to a question about the answer, as JSON text.
    pub fn reply(&self, task: &JudgeTask) -> Option<String> {
        let reply = match task {
            JudgeTask::Criteria { .. } => json!({"scores": self.logged("scores").next()?}),
            JudgeTask::Precision { .. } => {
                let texts = self.logged("irrelevant_texts").next()?.as_array()?.iter();
                json!({"irrelevant_paragraphs": texts.map(|text| json!({"answer_text": text})).collect::<Vec<_>>()})
            }
            JudgeTask::CitationGroup { text, .. } => {
                let mut groups = self.logged("text").zip(self.logged("claims"));
                json!({"claims": groups.find(|(logged, _)| logged.as_str() == Some(text))?.1})
            }
            _ => return None,
        };
        Some(reply.to_string())
    }

    /// What the scorers logged under this name, in order: several scorers in one score list their metadata, others have
    /// it in their own score.
    fn logged<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Value> {
        let metadata = self
            .scores
            .as_object()
            .into_iter()
            .flatten()
            .flat_map(|(_, score)| {
                let own = &score["metadata"];
                own["score_meta"]
                    .as_array()
                    .map_or(std::slice::from_ref(own), Vec::as_slice)
            });
        let entries =
            metadata.flat_map(move |own| own["prompt_logs"][name].as_array().into_iter().flatten());
        entries.map(move |entry| &entry["data"][name])
    }
}

/// The text of a file of answers or test cases and its hash; for a log a text that says the same, and the log.
///
/// # Errors
/// Text that is not UTF-8; an archive that is damaged or no log, with the member; [`Error::Io`](crate::Error::Io) if the
/// file cannot be read.
pub fn read_input(path: &Path) -> Result<(String, Fingerprint, Option<InspectLog>)> {
    let (bytes, blake3) = read_bytes(path)?;
    match InspectLog::parse(&bytes, path)? {
        Some(log) => Ok((log.as_lines(), blake3, Some(log))),
        None => Ok((utf8(bytes, path)?, blake3, None)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::tests::zipped;
    use rawzip::CompressionMethod;

    fn sample(id: &str) -> Value {
        let logged = |name: &str, value: Value| json!([{"prompt_id": "1", "data": {name: value}}]);
        let criteria = json!({"prompt_logs": {"scores": logged("scores", json!([{"criteria_idx": 1, "score": 2}]))}});
        let precision = json!({"prompt_logs": {"irrelevant_texts": logged("irrelevant_texts", json!(["off topic"]))}});
        let groups = json!({"prompt_logs": {"text": logged("text", json!("One [1].")), "claims": logged("claims", json!([]))}});
        json!({
            "id": id, "epoch": 1, "input": "q", "target": json!({"question": "q"}).to_string(), "messages": [{"role": "user"}],
            "output": {"completion": "text"}, "error": {"message": "KeyError"},
            "scores": {"all": {"value": {"global_avg": 0.5}, "metadata": {"score_meta": [criteria, precision, groups]}}},
        })
    }

    fn parse(header: Option<&str>, samples: &[&str]) -> Result<Option<InspectLog>, InputFault> {
        let samples = samples
            .iter()
            .enumerate()
            .map(|(at, text)| (format!("samples/{at}.json"), *text));
        let all: Vec<_> = samples
            .chain(header.map(|text| ("header.json".to_owned(), text)))
            .collect();
        let members: Vec<_> = all
            .iter()
            .map(|(name, text)| (&**name, CompressionMethod::ZSTD, *text, *text))
            .collect();
        InspectLog::parse(&zipped(&members), Path::new("x.eval"))
    }

    const HEADER: &str = r#"{"version": 2, "eval": {"task": "astabench/sqa_dev", "task_args": {"scorer_model": "j"}}}"#;

    #[test]
    fn an_archive_and_its_json_form_give_the_same_answers_cases_and_replies() {
        let sample = sample("c1");
        let archive = parse(Some(HEADER), &[&sample.to_string()])
            .unwrap()
            .unwrap();
        let mut whole: Value = serde_json::from_str(HEADER).unwrap();
        whole["samples"] = json!([sample]);
        let json = InspectLog::parse(whole.to_string().as_bytes(), Path::new("x.json"))
            .unwrap()
            .unwrap();
        for log in [archive, json] {
            assert_eq!(
                (log.eval["task"].as_str(), log.judge()),
                (Some("astabench/sqa_dev"), Some("j"))
            );
            let line = "{\"question\":\"q\",\"case_id\":\"c1\",\"answer_text\":\"text\"}\n";
            assert_eq!(log.as_lines(), line);
            let sample = &log.samples[0];
            assert_eq!(
                (
                    sample.metric("global_avg"),
                    sample.metric("f1"),
                    sample.error["message"].as_str()
                ),
                (Some(0.5), None, Some("KeyError"))
            );
            let precision = JudgeTask::Precision {
                question: "q".into(),
                answer: "a".into(),
            };
            let of = |text: &str| {
                sample.reply(&JudgeTask::CitationGroup {
                    text: text.into(),
                    citations: [].into(),
                })
            };
            assert_eq!(
                sample.reply(&precision).unwrap(),
                r#"{"irrelevant_paragraphs":[{"answer_text":"off topic"}]}"#
            );
            assert_eq!(
                (of("One [1].").as_deref(), of("Two.")),
                (Some(r#"{"claims":[]}"#), None)
            );
        }
    }

    #[test]
    fn other_files_are_no_logs_and_damaged_ones_are_named() {
        for text in [
            "",
            "[1]",
            "{\"case_id\": 1}\n{}",
            "{\"eval\": 1}",
            "{\"eval\": {\"task\"",
        ] {
            assert!(
                InspectLog::parse(text.as_bytes(), Path::new("x.json"))
                    .unwrap()
                    .is_none(),
                "{text}"
            );
        }
        let started = r#"{"status": "started", "eval": {"task": "sqa"}}"#;
        let error = InspectLog::parse(started.as_bytes(), Path::new("x.json"))
            .unwrap_err()
            .to_string();
        assert_eq!(error, "x.json: an unfinished log");
        let sample = sample("c1").to_string();
        for (header, sample, what) in [
            (None, &*sample, "x.eval/header.json: is not in the archive"),
            (
                Some("{}"),
                &*sample,
                "x.eval/header.json: not what Inspect writes: missing field `eval`",
            ),
            (
                Some(HEADER),
                &sample[..90],
                "x.eval/samples/0.json: not what Inspect writes: EOF",
            ),
            (
                Some(HEADER),
                "{\"id\": []}",
                "x.eval/samples/0.json: not what Inspect writes: expected an id, found a list",
            ),
        ] {
            let error = parse(header, &[sample]).unwrap_err().to_string();
            assert!(error.starts_with(what), "{error}");
        }
        let log = parse(Some(HEADER), &[r#"{"id": 7, "target": ["none"]}"#])
            .unwrap()
            .unwrap();
        assert_eq!(log.as_lines(), "{\"case_id\":\"7\",\"answer_text\":\"\"}\n");
    }
}
