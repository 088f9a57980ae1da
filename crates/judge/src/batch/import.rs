//! Results of a batch service into the cache.
//!
//! The calls of a directory are read first; a line of results finds its call by `custom_id`, is
//! read like a live reply, and is stored under the call's fingerprint.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use clap::ValueEnum as _;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::service::{BatchResult, batches_of};
use crate::cache::{Cache, CallLabel, Entry, Inserted};
use crate::chat::error_words;
use crate::kind::JudgeKind;
use crate::protocol::completion::{MENDED, MENDED_NOTE, decode};
use crate::protocol::{BodyFault, Protocol};
use scholareval_core::domain::{Fingerprint, JudgeReply};
use scholareval_core::error::{Error, InputFault, Result};

/// Longest line of a file of results, in bytes; the longest reply of a service has some 100 KB.
const LONGEST_LINE: u64 = 64 << 20;
/// Bytes of lines whose replies are held in memory until they are stored in one transaction.
const STORED_AT_ONCE: usize = 8 << 20;

/// One line of `calls.jsonl`: what a request asks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BatchCall {
    /// The fingerprint of the call, in hexadecimal digits.
    pub custom_id: Fingerprint,
    /// The label of its reply in the cache.
    #[serde(flatten)]
    pub label: CallLabel,
}

/// What an import did.
#[derive(Debug, Default)]
pub struct ImportReport {
    /// Replies.
    pub inserted: Inserted,
    /// Requests without a reply, each once: custom id, and the first reason.
    pub errors: Vec<(String, String)>,
    /// The requests in `errors`.
    failed: HashSet<Fingerprint>,
    /// Lines that are not results, or belong to no known batch.
    pub faults: Vec<InputFault>,
}

impl ImportReport {
    /// A line may be in several files, or twice in one: the request is still asked again once.
    fn note_failure(&mut self, request: Fingerprint, reason: String) {
        if self.failed.insert(request) {
            self.errors.push((request.to_string(), reason));
        }
    }
}

/// The calls of batches, by the id of their request.
#[derive(Debug, Default)]
pub struct BatchCalls(HashMap<Fingerprint, CallLabel>);

impl BatchCalls {
    /// Adds the calls of a `calls.jsonl`. Returns how many calls are known now.
    ///
    /// # Errors
    /// [`Error::Io`] if it cannot be read, [`Error::Input`] with file and line for a line of another form.
    pub fn read(&mut self, path: &Path) -> Result<usize> {
        for_each_line(path, |number, line| {
            let call: BatchCall = serde_json::from_slice(line).map_err(|error| {
                InputFault::new(path, format!("not a line of a batch's calls: {error}"))
                    .at_line(number)
                    .hint("export the batch again")
            })?;
            self.0.insert(call.custom_id, call.label);
            Ok(())
        })?;
        Ok(self.0.len())
    }

    /// Stores the replies of a result file. A line that is not a result is reported, and the others are imported all the
    /// same: what they hold is paid.
    ///
    /// # Errors
    /// [`Error::Io`] if the file cannot be read, [`Error::Cache`] if the cache cannot be written.
    pub fn import(&self, path: &Path, cache: &Cache, report: &mut ImportReport) -> Result<()> {
        let mut entries = Vec::new();
        let mut held = 0;
        let read = for_each_line(path, |number, line| {
            match self.read_result(line) {
                Ok((call, Ok(reply))) => {
                    entries.push(Entry::new(call.custom_id, call.label, reply))
                }
                Ok((call, Err(reason))) => report.note_failure(call.custom_id, reason),
                Err((what, hint)) => report
                    .faults
                    .push(InputFault::new(path, what).at_line(number).hint(hint)),
            }
            held += line.len();
            // One transaction for many replies, as each one waits for the disk; and not one for
            // all, or a large file would stand in memory.
            if held > STORED_AT_ONCE {
                cache.insert_all(&std::mem::take(&mut entries), &mut report.inserted)?;
                held = 0;
            }
            Ok(())
        });
        cache.insert_all(&entries, &mut report.inserted)?;
        match read {
            Err(Error::Input(faults)) => report.faults.extend(faults),
            other => other?,
        }
        Ok(())
    }

    /// The call that a line answers, with its reply or why there is none; else what is wrong with the line, and what to
    /// do about it.
    fn read_result(&self, line: &[u8]) -> Result<CallReply, (String, &'static str)> {
        let parsed = serde_json::from_slice::<Value>(line);
        let value = parsed.or_else(|error| decode(line, "\"choices\"").ok_or(error));
        let value = value.map_err(|error| {
            let hint = if error.is_eof() {
                "its end is missing: fetch the file again"
            } else {
                ""
            };
            (format!("not a result of a batch ({error})"), hint)
        })?;
        // By its form: results may come from any program that wrote them as the service does.
        let mut kinds = JudgeKind::value_variants().iter();
        let result =
            kinds.find_map(|kind| Some((kind.protocol(), batches_of(*kind).result(&value)?)));
        let Some((protocol, result)) = result else {
            return Err(("not a result of a batch".to_owned(), ""));
        };
        let key = Fingerprint::from_hex(&result.custom_id);
        let Some((custom_id, label)) = key.and_then(|key| Some((key, self.0.get(&key)?.clone())))
        else {
            let id: String = result.custom_id.chars().take(80).collect();
            let hint = "name the directory of the batch that it is a result of";
            return Err((format!("no calls.jsonl has the request {id:?}"), hint));
        };
        let is_mended = value[MENDED] == true;
        let reply = reply_of(result, protocol, is_mended);
        Ok((BatchCall { custom_id, label }, reply))
    }
}

/// A call with its reply, or why there is none.
type CallReply = (BatchCall, Result<JudgeReply, String>);

/// The reply of a result, however blank or cut, read as that of a call; or why there is none.
fn reply_of(
    result: BatchResult,
    protocol: &dyn Protocol,
    is_mended: bool,
) -> Result<JudgeReply, String> {
    let reply = protocol.read(result.body?, 0).map_err(|fault| match fault {
        BodyFault::Error(error) => Some(error_words(&error)).filter(|words| !words.is_empty()),
        BodyFault::NotACompletion => None,
    });
    let mut reply = reply
        .map_err(|words| words.unwrap_or_else(|| "a result without a completion".to_owned()))?;
    if is_mended {
        reply.note = Some(MENDED_NOTE.to_owned());
    }
    Ok(reply)
}

/// Calls `visit` with the number and the bytes of every line that is not blank; one line is in memory at a time.
///
/// # Errors
/// [`Error::Io`] if the file cannot be read, [`Error::Input`] for a line that is too long to be one, and any error of
/// `visit`.
fn for_each_line(path: &Path, mut visit: impl FnMut(usize, &[u8]) -> Result<()>) -> Result<()> {
    let mut reader = BufReader::new(File::open(path).map_err(Error::io(path, "read"))?);
    let mut line = Vec::new();
    for number in 1.. {
        line.clear();
        let read = (&mut reader)
            // A file without line breaks (a zipped one, say) must not be read into memory as one
            // line.
            .take(LONGEST_LINE + 1)
            .read_until(b'\n', &mut line);
        if read.map_err(Error::io(path, "read"))? == 0 {
            break;
        }
        if line.len() as u64 > LONGEST_LINE {
            let what = format!("a line of more than {} MB", LONGEST_LINE >> 20);
            let fault = InputFault::new(path, what).at_line(number);
            return Err(fault.refuse("name a file with one result per line"));
        }
        if !line.trim_ascii().is_empty() {
            visit(number, &line)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(key: u8, content: &str) -> String {
        let id = format!("{key:02x}").repeat(32);
        format!(
            "{{\"custom_id\":\"{id}\",\"response\":{{\"status_code\":200,\"body\":{{\"choices\":[{{\"message\":{{\
             \"content\":\"{content}\"}}}}],\"usage\":{{\"prompt_tokens\":10,\"completion_tokens\":2}}}}}},\"error\":null}}\n"
        )
    }

    #[test]
    fn a_line_of_another_form_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("calls.jsonl");
        std::fs::write(&path, "\n{\"custom_id\":\"xyz\"}\n").unwrap();
        let error = BatchCalls::default().read(&path).unwrap_err().to_string();
        assert!(
            error.contains("calls.jsonl:2: not a line of a batch's calls"),
            "{error}"
        );
    }

    #[test]
    fn replies_go_under_their_key_once_and_what_is_there_stays() {
        let dir = tempfile::tempdir().unwrap();
        let calls_path = dir.path().join("calls.jsonl");
        let calls: String = (1_u8..=3)
            .map(|key| {
                let id = format!("{key:02x}").repeat(32);
                format!("{{\"custom_id\":\"{id}\",\"kind\":\"property\",\"judge\":\"m\",\"role\":\"rubric\",\"sample\":0,\"attempt\":0}}\n")
            })
            .collect();
        std::fs::write(&calls_path, calls).unwrap();
        let cache = Cache::open(&dir.path().join("c.sqlite")).unwrap();
        let results = dir.path().join("r.jsonl");
        let error = format!(
            "{{\"custom_id\":\"{}\",\"response\":null,\"error\":{{\"message\":\"expired\"}}}}\n",
            "03".repeat(32)
        );
        let torn = &line(2, "x")[..40];
        let text = [
            &line(1, "a"),
            "\n",
            &line(1, "a"),
            &line(1, "other"),
            &line(2, "b"),
            &error,
            &error,
            &line(9, "z"),
            torn,
        ]
        .concat();
        std::fs::write(&results, text).unwrap();
        let (mut calls, mut report) = (BatchCalls::default(), ImportReport::default());
        assert_eq!(calls.read(&calls_path).unwrap(), 3);
        calls.import(&results, &cache, &mut report).unwrap();
        assert_eq!(
            report.inserted,
            Inserted {
                added: 2,
                known: 1,
                conflicts: 1
            }
        );
        // The failed request is there twice, and asked again once.
        assert_eq!((report.errors.len(), report.faults.len()), (1, 2));
        let faults: Vec<String> = report.faults.iter().map(ToString::to_string).collect();
        assert!(
            faults[0].contains("r.jsonl:8")
                && faults[0].contains("name the directory of the batch"),
            "{faults:?}"
        );
        assert!(
            faults[1].contains("r.jsonl:9") && faults[1].contains("its end is missing"),
            "{faults:?}"
        );
        let kept = cache.get(&Fingerprint::from([1; 32])).unwrap().unwrap();
        assert_eq!((kept.content.as_str(), kept.usage.prompt_tokens), ("a", 10));
    }

    /// The reply on a line, or why there is none.
    fn read(line: &[u8]) -> Result<JudgeReply, String> {
        let key = Fingerprint::from([1; 32]);
        let label: CallLabel = serde_json::from_str(
            r#"{"kind":"property","judge":"m","role":"rubric","sample":0,"attempt":0}"#,
        )
        .unwrap();
        let line = String::from_utf8_lossy(line).replace("\"k\"", &format!("\"{key}\""));
        let calls = BatchCalls([(key, label)].into());
        calls.read_result(line.as_bytes()).unwrap().1
    }

    fn reply(line: &str) -> JudgeReply {
        read(line.as_bytes()).unwrap()
    }

    fn refused(line: &str) -> String {
        read(line.as_bytes()).unwrap_err()
    }

    #[test]
    fn openai_vllm_and_ray_results_are_read() {
        let body = r#"{"model":"m","choices":[{"message":{"content":"{\"score\": 3}"},"finish_reason":"stop"}],"usage":{"prompt_tokens":9,"completion_tokens":2}}"#;
        for line in [
            format!(
                r#"{{"id":"b1","custom_id":"k","response":{{"status_code":200,"request_id":"r","body":{body}}},"error":null}}"#
            ),
            format!(r#"{{"custom_id":"k","response":{{"body":{body},"status_code":200}}}}"#),
            format!(r#"{{"custom_id":"k","response":{body}}}"#),
        ] {
            let reply = reply(&line);
            assert_eq!(
                (reply.content.as_str(), reply.usage.prompt_tokens),
                ("{\"score\": 3}", 9),
                "{line}"
            );
            assert!(!reply.cached);
        }
    }

    #[test]
    fn an_error_member_that_says_nothing_is_no_error() {
        let body = r#"{"choices":[{"message":{"content":"{\"score\": 3}"}}]}"#;
        for blank in ["{}", "\"\"", "false", "null", "[]"] {
            let line = format!(
                r#"{{"custom_id":"k","response":{{"status_code":200,"body":{body}}},"error":{blank}}}"#
            );
            assert_eq!(reply(&line).content, "{\"score\": 3}", "{blank}");
        }
    }

    #[test]
    fn a_line_without_an_end_is_not_read_into_memory() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("r.jsonl");
        let file = File::create(&path).unwrap();
        file.set_len(LONGEST_LINE + 2).unwrap();
        let cache = Cache::open(&dir.path().join("c.sqlite")).unwrap();
        let mut report = ImportReport::default();
        BatchCalls::default()
            .import(&path, &cache, &mut report)
            .unwrap();
        let fault = report.faults[0].to_string();
        assert!(
            fault.contains("r.jsonl:1: a line of more than 64 MB"),
            "{fault}"
        );
    }

    #[test]
    fn cut_and_blank_completions_are_replies_as_they_are() {
        let line = |choice: &str| {
            format!(
                r#"{{"custom_id":"k","response":{{"status_code":200,"body":{{"choices":[{choice}]}}}}}}"#
            )
        };
        assert!(reply(&line(r#"{"text":" Attrib","finish_reason":"length"}"#)).is_cut());
        assert_eq!(reply(&line(r#"{"message":{"content":null}}"#)).content, "");
    }

    #[test]
    fn a_line_with_a_lone_surrogate_is_mended_and_flagged() {
        let line = br#"{"custom_id":"k","response":{"status_code":200,"body":{"choices":[{"message":{"content":"x\ud800"}}]}}}"#;
        let reply = read(line).unwrap();
        assert_eq!(
            (reply.content.as_str(), reply.note.as_deref()),
            ("x\u{fffd}", Some(MENDED_NOTE))
        );
    }

    #[test]
    fn errors_hold_the_words_of_the_service() {
        for (line, said) in [
            (
                r#"{"custom_id":"k","response":null,"error":{"code":"batch_expired","message":"too late"}}"#,
                "too late",
            ),
            (
                r#"{"custom_id":"k","response":{"status_code":400,"body":{"error":{"message":"bad field"}}},"error":null}"#,
                "status 400: bad field",
            ),
            (
                r#"{"custom_id":"k","response":{"status_code":500,"body":null},"error":{"message":"boom"}}"#,
                "status 500: boom",
            ),
            (
                r#"{"custom_id":"k","response":{"status_code":429}}"#,
                "status 429",
            ),
            (
                r#"{"custom_id":"k","response":{"status_code":200,"body":{"error":{"message":"gone"}}}}"#,
                "gone",
            ),
            (
                r#"{"custom_id":"k","response":{"status_code":200,"body":{"x":1}}}"#,
                "without a completion",
            ),
            (
                r#"{"custom_id":"k","response":{"status_code":200}}"#,
                "without a completion",
            ),
            (r#"{"custom_id":"k"}"#, "no response and no error"),
            (r#"{"custom_id":"k","response":7}"#, "without a completion"),
        ] {
            assert!(refused(line).contains(said), "{line}: {}", refused(line));
        }
    }

    #[test]
    fn a_key_in_an_error_is_masked() {
        let said = refused(
            r#"{"custom_id":"k","response":{"status_code":401,"body":{"error":{"message":"Incorrect API key provided: sk-abcdefgh1234."}}}}"#,
        );
        assert!(!said.contains("abcdefgh"), "{said}");
    }

    #[test]
    fn a_line_that_is_no_result_is_an_error() {
        let wrong = |line: &str| {
            BatchCalls::default()
                .read_result(line.as_bytes())
                .unwrap_err()
        };
        let (cut, hint) = wrong("{\"custom_id\":\"ab");
        assert_eq!(
            cut,
            "not a result of a batch (EOF while parsing a string at line 1 column 16)"
        );
        assert!(hint.contains("its end is missing"));
        assert!(
            [wrong("{\"custom_id\":7}"), wrong("[]")]
                .iter()
                .all(|(what, hint)| what.contains("not a result") && hint.is_empty())
        );
    }
}
