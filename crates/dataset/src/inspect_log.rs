//! Logs of Inspect evaluations (`.eval` archives and JSON): the answers, the test cases, and what the judge of
//! ScholarQA-CS2 (AstaBench's `sqa` tasks) replied.
//!
//! The format is that of `inspect_ai` 0.3; the places of the judge's replies are those of `astabench` 0.5.4.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use scholareval_core::domain::{Fingerprint, RetrievalTrace};
use scholareval_core::error::{InputFault, Result};
use scholareval_core::files::{for_each_member, is_zip, read_bytes, utf8};
use scholareval_core::question::Question;
use scholareval_core::text::names::counted;

use super::reader::{Id, without_bare_nan};
use super::traces::trace;

/// The member of an archive with what is known when an evaluation ends.
const HEADER: &str = "header.json";

/// How a log refers to a long text.
const ATTACHMENT: &str = "attachment://";

/// The member with what is known when it begins: of a log without [`HEADER`], the header.
const START: &str = "_journal/start.json";

/// A log of one evaluation: one system's answers to the cases of one task.
#[derive(Debug, Clone, Default, Deserialize)]
pub struct InspectLog {
    /// The logged specification of the evaluation: its task, arguments, models and scorers.
    pub eval: Value,
    #[serde(default)]
    status: String,
    /// The counts of samples.
    #[serde(default)]
    results: Value,
    /// The answers, in file order.
    #[serde(default)]
    pub samples: Vec<InspectSample>,
    /// What is missing from an incomplete log, or left out of it.
    #[serde(skip)]
    pub incomplete: Option<String>,
}

/// One answer with what was logged about it.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct InspectSample {
    id: Id,
    /// The number of the repetition, from 1.
    epoch: u64,
    target: Value,
    output: Value,
    scores: Value,
    /// The logged exception; null for none.
    pub error: Value,
    /// What happened in the sample, and the long texts of it; both are dropped once the trace is read.
    events: Option<Vec<LoggedEvent>>,
    attachments: HashMap<String, Value>,
    #[serde(skip)]
    trace: Option<RetrievalTrace>,
}

/// An event, as far as it is about a tool: those of models have all messages, which are not read.
#[derive(Debug, Clone, Default, Deserialize, Serialize)]
#[serde(default)]
struct LoggedEvent {
    event: String,
    arguments: Value,
    result: Value,
    error: Value,
}

impl InspectLog {
    /// Reads a log; `None` for a file that is not one.
    ///
    /// # Errors
    /// An archive that is damaged or not a log, with the member.
    fn parse(bytes: &[u8], path: &Path) -> Result<Option<Self>, InputFault> {
        let log = if is_zip(bytes) {
            Some(Self::unpack(bytes, path)?)
        } else {
            Self::parse_json(bytes)
        };
        Ok(log.map(Self::first_epoch))
    }

    fn parse_json(bytes: &[u8]) -> Option<Self> {
        let text = str::from_utf8(bytes).ok()?;
        // Parsing a large JSONL file as one value only to learn that it is none would double the
        // time to read it.
        if !text.trim_start().starts_with('{') {
            return None;
        }
        let mut log: Self = serde_json::from_str(&without_bare_nan(text).0).ok()?;
        log.samples.iter_mut().for_each(InspectSample::keep_trace);
        // The one field that every log has and no file of answers.
        log.eval["task"].is_string().then_some(log)
    }

    fn unpack(bytes: &[u8], path: &Path) -> Result<Self, InputFault> {
        let mut header = None;
        let mut start = None;
        let mut samples = Vec::new();
        for_each_member(bytes, path, is_read, |member, text| {
            let json = without_bare_nan(text).0;
            let read = if member.ends_with(HEADER) {
                serde_json::from_str(&json).map(|log: Self| header = Some(log))
            } else if member.ends_with(START) {
                serde_json::from_str(&json).map(|log: Self| start = Some(log))
            } else {
                serde_json::from_str(&json).map(|mut sample: InspectSample| {
                    sample.keep_trace();
                    samples.push(sample);
                })
            };
            read.map_err(|error| {
                InputFault::new(member, format!("not what Inspect writes: {error}"))
            })
        })?;
        // An evaluation that was stopped has no header yet, but its samples are complete.
        let started = start.map(|log: Self| Self {
            status: "started".to_owned(),
            ..log
        });
        let Some(log) = header.or(started) else {
            let fault = InputFault::new(path.join(HEADER), "is not in the archive");
            return Err(fault);
        };
        Ok(Self { samples, ..log })
    }

    /// The log with one answer to each case, that of the first epoch, and what is missing.
    fn first_epoch(mut self) -> Self {
        let logged = self.samples.len();
        let mut seen = HashSet::new();
        // A stable sort: within an epoch the cases keep their order.
        self.samples.sort_by_key(|sample| sample.epoch);
        self.samples
            .retain(|sample| seen.insert(sample.id.0.clone()));
        let mut missing = Vec::new();
        if !matches!(self.status.as_str(), "" | "success") {
            missing.push(format!("its status is {}", self.status));
        }
        if let Some(planned) = self.planned_samples()
            && planned > logged as u64
        {
            missing.push(format!("it holds {logged} of {planned} samples"));
        }
        if logged > self.samples.len() {
            let cases = counted(self.samples.len(), "case");
            missing.push(format!("it holds {logged} answers to {cases} (epochs)"));
        }
        self.incomplete = (!missing.is_empty()).then(|| missing.join(", "));
        self
    }

    /// How many samples the evaluation was to have: by its results, or if it has none, by its plan.
    fn planned_samples(&self) -> Option<u64> {
        if let Some(total) = self.results["total_samples"].as_u64() {
            return Some(total);
        }
        let cases = self.eval["dataset"]["samples"].as_u64()?;
        let epochs = self.eval["config"]["epochs"].as_u64().unwrap_or(1);
        Some(cases.saturating_mul(epochs))
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
        let mut lines = String::new();
        for sample in &self.samples {
            lines.push_str(&sample.line());
            lines.push('\n');
        }
        lines
    }
}

impl InspectSample {
    /// Reads the trace, and drops what it was read from, which is most of a sample.
    fn keep_trace(&mut self) {
        let attachments = std::mem::take(&mut self.attachments);
        let Some(mut events) = self.events.take() else {
            return;
        };
        events.retain(|event| event.event == "tool");
        for event in &mut events {
            attach(&mut event.result, &attachments);
        }
        let message = &self.output["choices"][0]["message"];
        let row = json!({"events": events, "content": message["content"]});
        self.trace = trace(&row.to_string());
    }

    /// Its target's fields with its id and answer, as a JSON object.
    fn line(&self) -> String {
        let target = match self.target.as_str() {
            Some(text) => text,
            None => self.target[0].as_str().unwrap_or_default(),
        };
        let answer = self.output["completion"].as_str().unwrap_or_default();
        // Only a target that is an object has fields of an answer.
        let mut fields: Map<String, Value> = serde_json::from_str(target).unwrap_or_default();
        fields.insert("case_id".to_owned(), self.id().into());
        fields.insert("answer_text".to_owned(), answer.into());
        if let Some(trace) = &self.trace {
            fields.insert("trace".to_owned(), json!(trace));
        }
        Value::Object(fields).to_string()
    }

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
    pub fn reply(&self, question: &dyn Question) -> Option<String> {
        let reply = match question.info().name {
            "criteria" => json!({"scores": self.logged("scores").next()?}),
            "precision" => {
                let texts = self.logged("irrelevant_texts").next()?.as_array()?.iter();
                let entries: Vec<Value> = texts.map(|text| json!({"answer_text": text})).collect();
                json!({"irrelevant_paragraphs": entries})
            }
            "citation_group" => {
                let section = &**question.judged();
                // By the section's text, as the position does not serve: which sections were asked
                // about is known only to the evaluation.
                let mut groups = self.logged("text").zip(self.logged("claims"));
                json!({"claims": groups.find(|(logged, _)| logged.as_str() == Some(section))?.1})
            }
            _ => return None,
        };
        Some(reply.to_string())
    }

    /// What the scorers logged under this name, in order: several scorers in one score list their metadata, others have
    /// it in one score each.
    fn logged<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Value> {
        let metadata = self
            .scores
            .as_object()
            .into_iter()
            .flatten()
            .flat_map(|(_, score)| {
                let metadata_of_score = &score["metadata"];
                metadata_of_score["score_meta"]
                    .as_array()
                    .map_or(std::slice::from_ref(metadata_of_score), Vec::as_slice)
            });
        let entries = metadata.flat_map(move |metadata_of_score| {
            metadata_of_score["prompt_logs"][name]
                .as_array()
                .into_iter()
                .flatten()
        });
        entries.map(move |entry| &entry["data"][name])
    }
}

/// Puts the long texts of a sample where its log refers to them.
fn attach(value: &mut Value, attachments: &HashMap<String, Value>) {
    match value {
        Value::String(text) => {
            let name = text.strip_prefix(ATTACHMENT);
            if let Some(attached) = name.and_then(|name| attachments.get(name)) {
                *value = attached.clone();
            }
        }
        Value::Array(parts) => parts.iter_mut().for_each(|part| attach(part, attachments)),
        Value::Object(fields) => fields
            .values_mut()
            .for_each(|field| attach(field, attachments)),
        _ => {}
    }
}

/// The text of a file of answers or test cases and its hash; for a log a text that says the same, and the log.
///
/// # Errors
/// Text that is not UTF-8; an archive that is damaged or not a log, with the member; a log of an evaluation that is not
/// finished, or with several answers to a case, unless `partial` takes what is there;
/// [`Error::Io`](scholareval_core::Error::Io) if the file cannot be read.
pub fn read_input(path: &Path, partial: bool) -> Result<(String, Fingerprint, Option<InspectLog>)> {
    let (bytes, blake3) = read_bytes(path)?;
    let Some(log) = InspectLog::parse(&bytes, path)? else {
        return Ok((utf8(bytes, path)?, blake3, None));
    };
    if let Some(what) = log.incomplete.as_ref().filter(|_| !partial) {
        let fault = InputFault::new(path, format!("an incomplete log: {what}"));
        return Err(
            fault.refuse("--partial-logs takes the answers that it holds, one for each case")
        );
    }
    Ok((log.as_lines(), blake3, Some(log)))
}

impl InspectLog {
    /// The warning about an incomplete log at `path` that is read.
    pub(super) fn warning(&self, path: &Path) -> Option<InputFault> {
        let what = self.incomplete.as_ref()?;
        let fault = InputFault::new(path, format!("an incomplete log: {what}"));
        Some(fault.hint("the answers that it holds are taken, one for each case"))
    }
}

/// Archives also hold journals, summaries and logs of each event, which can be much larger than the samples.
fn is_read(member: &str) -> bool {
    matches!(member, HEADER | START) || member.starts_with("samples/")
}

#[cfg(test)]
mod tests {
    use super::*;
    use rawzip::CompressionMethod;
    use scholareval_core::files::test_support::zipped;
    use scholareval_core::question::{IrrelevantParagraphs, SectionCitations};

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

    const SPECIFICATION: &str = r#"{"version": 2, "eval": {"task": "astabench/sqa_dev", "task_args": {"scorer_model": "j"}}}"#;

    #[test]
    fn an_archive_and_its_json_form_give_the_same_answers_cases_and_replies() {
        let sample = sample("c1");
        let archive = parse(Some(SPECIFICATION), &[&sample.to_string()])
            .unwrap()
            .unwrap();
        let mut whole: Value = serde_json::from_str(SPECIFICATION).unwrap();
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
            let precision = IrrelevantParagraphs {
                question: "q".into(),
                answer: "a".into(),
            };
            let of = |text: &str| {
                sample.reply(&SectionCitations {
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
    fn what_tools_retrieved_is_a_trace_with_long_results_put_in_their_place() {
        let mut sample = sample("c1");
        sample["events"] = json!([
            {"event": "model", "output": {"error": null}},
            {"event": "tool", "arguments": {"url": "https://a.org"}, "result": "Ice."},
            {"event": "tool", "arguments": {"query": "ice"}, "result": [{"type": "text", "text": "attachment://7f"}]},
        ]);
        sample["attachments"] = json!({"7f": "1. https://b.org"});
        let log = parse(Some(SPECIFICATION), &[&sample.to_string()]);
        let lines = log.unwrap().unwrap().as_lines();
        let trace = r#""trace":{"retrieved":["https://a.org"],"searched":["https://b.org"]}"#;
        assert!(lines.contains(trace), "{lines}");
        sample["events"] = json!([]);
        let log = parse(Some(SPECIFICATION), &[&sample.to_string()]);
        let lines = log.unwrap().unwrap().as_lines();
        assert!(lines.contains(r#""trace":{"retrieved":[]}"#), "{lines}");
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
        let sample = sample("c1").to_string();
        for (header, sample, what) in [
            (None, &*sample, "x.eval/header.json: is not in the archive"),
            (
                Some("{}"),
                &*sample,
                "x.eval/header.json: not what Inspect writes: missing field `eval`",
            ),
            (
                Some(SPECIFICATION),
                &sample[..90],
                "x.eval/samples/0.json: not what Inspect writes: EOF",
            ),
            (
                Some(SPECIFICATION),
                "{\"id\": []}",
                "x.eval/samples/0.json: not what Inspect writes: expected an id, found a list",
            ),
        ] {
            let error = parse(header, &[sample]).unwrap_err().to_string();
            assert!(error.starts_with(what), "{error}");
        }
        let log = parse(Some(SPECIFICATION), &[r#"{"id": 7, "target": ["none"]}"#])
            .unwrap()
            .unwrap();
        assert_eq!(log.as_lines(), "{\"case_id\":\"7\",\"answer_text\":\"\"}\n");
    }

    /// What is missing from a log with this header and these samples, and the ids and answers that are taken.
    fn read_incomplete(rest: &Value, samples: &[(&str, u64)]) -> (Option<String>, Vec<String>) {
        let samples: Vec<Value> = samples
            .iter()
            .map(|(id, epoch)| {
                let text = format!("{id} {epoch}");
                json!({"id": id, "epoch": epoch, "output": {"completion": text}})
            })
            .collect();
        let mut log = json!({"eval": {"task": "sqa"}, "samples": samples});
        let fields = rest.as_object().unwrap().clone();
        log.as_object_mut().unwrap().extend(fields);
        let log = InspectLog::parse(log.to_string().as_bytes(), Path::new("x.json"));
        let log = log.unwrap().unwrap();
        let texts = log.samples.iter().map(|sample| {
            let text = sample.output["completion"].as_str();
            text.unwrap().to_owned()
        });
        let texts = texts.collect();
        (log.incomplete, texts)
    }

    #[test]
    fn what_is_missing_from_a_log_is_named_and_it_gives_the_first_epoch() {
        let two = [("a", 1), ("b", 1)];
        let complete = json!({"status": "success", "results": {"total_samples": 2}});
        assert_eq!(read_incomplete(&complete, &two).0, None);
        let fewer = json!({"status": "success", "results": {"total_samples": 3}});
        let what = read_incomplete(&fewer, &two).0;
        assert_eq!(what.as_deref(), Some("it holds 2 of 3 samples"));
        // Without results, 2 cases in 2 epochs were planned.
        let eval = json!({"task": "sqa", "dataset": {"samples": 2}, "config": {"epochs": 2}});
        for status in ["started", "error", "cancelled"] {
            let what = read_incomplete(&json!({"status": status, "eval": eval}), &two).0;
            let expected = format!("its status is {status}, it holds 2 of 4 samples");
            assert_eq!(what, Some(expected));
        }
        let epochs = [("a", 2), ("b", 1), ("a", 1)];
        let (what, texts) = read_incomplete(&json!({"status": "success"}), &epochs);
        assert_eq!(
            what.as_deref(),
            Some("it holds 3 answers to 2 cases (epochs)")
        );
        assert_eq!(texts, ["b 1", "a 1"]);
    }

    #[test]
    fn an_archive_without_a_header_is_a_log_that_was_started() {
        let sample = sample("c1").to_string();
        let members = [
            (START, SPECIFICATION),
            ("samples/c1_epoch_1.json", &*sample),
        ];
        let members = members.map(|(name, text)| (name, CompressionMethod::STORE, text, text));
        let log = InspectLog::parse(&zipped(&members), Path::new("x.eval"));
        let log = log.unwrap().unwrap();
        assert_eq!(log.incomplete.as_deref(), Some("its status is started"));
        assert_eq!(log.samples.len(), 1);
    }
}
