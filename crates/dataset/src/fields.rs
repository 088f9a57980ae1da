//! Names of fields in files of answers: the documented ones, those of `--fields`, or guesses where only one reading is
//! possible.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;
use serde_json::value::RawValue;

use scholareval_core::domain::repeated_keys::settled;
use scholareval_core::error::{Error, InputFault};
use scholareval_core::text::names::list;

use super::reader::JsonLine;

/// The parts of an answer, as `--fields` names them.
pub const PARTS: [&str; 3] = ["answer_text", "case_id", "question"];

/// Maximum number of records that are searched for the fields of a file.
const RECORDS: usize = 20;

/// Maximum number of fields of a file to list.
const SHOWN: usize = 8;

/// Fields that only predictions have.
const OF_PREDICTIONS: [&str; 4] = ["input", "query", "ctxs", "docs"];

/// An element of a file by its fields.
pub(super) type Record<'a> = BTreeMap<String, &'a RawValue>;

/// The names that the field of a part may have, and those that mean it where only one of them occurs.
fn names<'a>(
    part: &str,
    given: &'a [(String, String)],
    is_prediction: bool,
) -> (Vec<&'a str>, &'static [&'static str]) {
    let (documented, guesses): (&[&str], &[&str]) = match part {
        // The `answer` of a prediction is the gold one.
        "answer_text" if is_prediction => (&["output"], &[]),
        "answer_text" => (
            &["answer_text"],
            &["answer", "response", "output", "completion", "article"],
        ),
        "case_id" => (&["case_id"], &["id", "question_id"]),
        _ => (&["input", "query"], &["question", "prompt"]),
    };
    let names_given = given
        .iter()
        .filter(|(name, _)| name == part)
        .map(|(_, field)| field.as_str());
    let is_given = is_named(part, given);
    (
        // A given field comes first. In a file without it the documented one counts, since one command
        // reads several systems' files.
        names_given.chain(documented.iter().copied()).collect(),
        if is_given || is_prediction {
            &[]
        } else {
            guesses
        },
    )
}

/// Whether `--fields` gives this part.
fn is_named(part: &str, given: &[(String, String)]) -> bool {
    given.iter().any(|(name, _)| name == part)
}

/// All names that a part may have in a file of answers.
fn known_names(part: &str) -> Vec<&'static str> {
    let (documented, guesses) = names(part, &[], false);
    [&documented, guesses].concat()
}

/// The given fields, and for records of lm-evaluation-harness those of the parts that are not given.
fn with_harness_fields(
    given: &[(String, String)],
    elements: &[JsonLine<'_>],
    id_field: &str,
) -> Vec<(String, String)> {
    let mut all = given.to_vec();
    for (part, field) in harness_fields(elements, id_field) {
        if !is_named(part, given) {
            all.push((part.to_owned(), field));
        }
    }
    all
}

/// Where lm-evaluation-harness writes the parts of a generated answer (`--log_samples`): the text is the first filtered response,
/// the document of the task has id or question. Empty for other records.
fn harness_fields(elements: &[JsonLine<'_>], id_field: &str) -> Vec<(&'static str, String)> {
    let first = elements.first();
    let record: Option<Value> = first.and_then(|line| serde_json::from_str(line.text).ok());
    let Some(record) = record else {
        return Vec::new();
    };
    let document = &record["doc"];
    if !record["filtered_resps"][0].is_string() || !document.is_object() {
        return Vec::new();
    }
    let mut fields = vec![("answer_text", "filtered_resps.0".to_owned())];
    let ids = ["case_id", id_field, "id", "question_id"].map(|name| ("case_id", name));
    let questions = ["question", "prompt", "input", "query"].map(|name| ("question", name));
    let mut parts = ids.into_iter().chain(questions);
    let field = parts.find(|(_, name)| !document[*name].is_null());
    fields.extend(field.map(|(part, name)| (part, format!("doc.{name}"))));
    fields
}

/// How a file is read.
#[derive(Debug, Default)]
pub(super) struct FieldReading {
    /// Fields that have another name than their reader expects, after the expected name.
    renamed: Vec<(&'static str, String)>,
    /// The field with the question of answers with an id.
    question: Option<String>,
    /// The guesses, as `--fields` would give them; empty without any.
    pub(super) guesses: String,
    /// Whether these are answers without an id, which are joined to test cases by question.
    pub(super) without_id: bool,
    /// Fields of `--fields` that the file does not have.
    pub(super) absent: Vec<(String, String)>,
}

impl FieldReading {
    /// How the elements of a file are read, with the fields that `--fields` gives as `(part, field)`. `id_field` is the
    /// name of the id in the test cases, which answers may have, too.
    ///
    /// # Errors
    /// A file without a field for a part, or with several that could hold it.
    pub(super) fn of(
        elements: &[JsonLine<'_>],
        given: &[(String, String)],
        id_field: &str,
        path: &Path,
    ) -> Result<Self, InputFault> {
        // One command reads several systems' files: a field that this one does not have says nothing about it.
        let known = fields_of(elements, given);
        let (present, absent): (Vec<_>, Vec<_>) = given
            .iter()
            .cloned()
            .partition(|(_, field)| known.contains_key(field));
        let mut given = with_harness_fields(&present, elements, id_field);
        let fields = fields_of(elements, &given);
        // A file of test cases in the place of answers gets a separate message, which is better than
        // one about missing fields.
        if elements.is_empty() || fields.contains_key("metric_config") {
            return Ok(Self::default());
        }
        let is_prediction = !fields.contains_key("answer_text")
            && OF_PREDICTIONS
                .iter()
                .any(|field| fields.contains_key(*field));
        let has_only_id_field = fields.contains_key(id_field) && !fields.contains_key("case_id");
        if has_only_id_field && !is_named("case_id", &given) && !is_prediction {
            given.push(("case_id".to_owned(), id_field.to_owned()));
        }
        let finder = Finder {
            fields: &fields,
            given: &given,
            absent: &absent,
            is_prediction,
            path,
            guessed: Vec::new(),
        };
        finder.reading(elements)
    }

    /// The fields that have other names than expected, given or guessed: `answer_text=answer,case_id=id`.
    pub(super) fn renamed(&self) -> String {
        let all: Vec<String> = self
            .renamed
            .iter()
            .map(|(expected, field)| format!("{expected}={field}"))
            .collect();
        all.join(",")
    }

    /// The field with the text of an answer of `{case_id, answer_text}`.
    pub(super) fn text_field(&self) -> &str {
        let renamed = self
            .renamed
            .iter()
            .find(|(expected, _)| *expected == "answer_text");
        renamed.map_or("answer_text", |(_, field)| field)
    }

    /// The question of an answer with an id.
    pub(super) fn question(&self, line: &JsonLine<'_>) -> Option<Value> {
        let field = self.question.as_deref()?;
        let text = settled(line.text);
        let record: Record<'_> = serde_json::from_str(&text).ok()?;
        serde_json::from_str(value_at(&record, field)?.get()).ok()
    }

    /// The JSON of an element with the expected names.
    pub(super) fn json<'a>(&self, line: &JsonLine<'a>) -> Cow<'a, str> {
        let text = settled(line.text);
        let record = if self.renamed.is_empty() {
            None
        } else {
            serde_json::from_str::<Record<'_>>(&text).ok()
        };
        let Some(mut record) = record else {
            return line.text.into();
        };
        let mut values = Vec::new();
        for (expected, field) in &self.renamed {
            if let Some(value) = value_at(&record, field) {
                values.push(((*expected).to_owned(), value));
            }
        }
        // A field that is in the way of an expected name goes: `--fields answer_text=final` means
        // `final` even where `answer_text` exists.
        record.retain(|name, _| {
            self.renamed
                .iter()
                .all(|(expected, field)| name != expected && name != field)
        });
        record.extend(values);
        serde_json::to_string(&record).map_or(line.text.into(), Cow::Owned)
    }

    /// Adds to faults which fields their names mean.
    pub(super) fn explain(&self, error: Error) -> Error {
        let Error::Input(mut faults) = error else {
            return error;
        };
        for (expected, field) in &self.renamed {
            let text = format!("; {expected} is the field {}", field.escape_debug());
            for fault in &mut faults {
                fault.hint.push_str(&text);
            }
        }
        Error::Input(faults)
    }
}

/// The value that `field` names in an element: the field of this name, else one within others by a path of names and
/// positions, `response.text` or `choices.0.text`, or by a JSON Pointer, `/response/text`.
pub(super) fn value_at<'a>(record: &Record<'a>, field: &str) -> Option<&'a RawValue> {
    if let Some(value) = record.get(field) {
        return Some(value);
    }
    let steps = steps_of(field);
    let (first, rest) = steps.split_first()?;
    let mut value = *record.get(first)?;
    for step in rest {
        value = child(value, step)?;
    }
    Some(value)
}

/// The names and positions of a path with dots, or of a JSON Pointer.
fn steps_of(field: &str) -> Vec<String> {
    match field.strip_prefix('/') {
        Some(pointer) => pointer.split('/').map(unescaped).collect(),
        None => field.split('.').map(str::to_owned).collect(),
    }
}

/// A name in a JSON Pointer (RFC 6901).
fn unescaped(step: &str) -> String {
    step.replace("~1", "/").replace("~0", "~")
}

fn child<'a>(value: &'a RawValue, step: &str) -> Option<&'a RawValue> {
    let text = value.get();
    if text.starts_with('[') {
        let list: Vec<&RawValue> = serde_json::from_str(text).ok()?;
        return list.get(step.parse::<usize>().ok()?).copied();
    }
    let record: Record<'a> = serde_json::from_str(text).ok()?;
    record.get(step).copied()
}

/// The first records of a file.
fn first_records<'a>(elements: &[JsonLine<'a>]) -> impl Iterator<Item = Record<'a>> {
    elements
        .iter()
        .filter_map(|line| serde_json::from_str(line.text).ok())
        .take(RECORDS)
}

/// The fields of the first records, and given ones within others, with the length of the longest text there.
fn fields_of(elements: &[JsonLine<'_>], given: &[(String, String)]) -> BTreeMap<String, usize> {
    let mut fields = BTreeMap::new();
    for record in first_records(elements) {
        for (field, value) in &record {
            note_length(&mut fields, field, value);
        }
        for (_, field) in given {
            if let Some(value) = value_at(&record, field) {
                note_length(&mut fields, field, value);
            }
        }
    }
    fields
}

/// Keeps the length of the field's longest text; 0 for other values.
fn note_length(fields: &mut BTreeMap<String, usize>, field: &str, value: &RawValue) {
    let is_text = value.get().starts_with('"');
    let bytes = if is_text { value.get().len() } else { 0 };
    let longest = fields.entry(field.to_owned()).or_insert(0);
    *longest = bytes.max(*longest);
}

/// The last name of a path.
pub(super) fn last_step(path: &str) -> &str {
    path.rsplit(['.', '/']).next().unwrap_or(path)
}

/// # Errors
/// When `field` holds objects that are not reports of sections.
fn require_text(elements: &[JsonLine<'_>], field: &str, path: &Path) -> Result<(), InputFault> {
    let values = first_records(elements)
        .filter_map(|record| serde_json::from_str(value_at(&record, field)?.get()).ok());
    let values: Vec<Value> = values.collect();
    let Some(object) = values.first().and_then(Value::as_object) else {
        return Ok(());
    };
    if values
        .iter()
        .any(|value| !value.is_object() || is_report(value))
    {
        return Ok(());
    }
    let field = field.escape_debug();
    let what = format!("{field} is an object without sections, not the text of an answer");
    // Most likely the longest text in it.
    let texts = object
        .iter()
        .filter_map(|(name, value)| Some((name, value.as_str()?.len())));
    let longest = texts.max_by_key(|(_, bytes)| *bytes);
    let within = longest.map_or("FIELD", |(name, _)| name.as_str());
    let within = within.escape_debug();
    let hint = format!("name the text in it with --fields answer_text={field}.{within}");
    Err(InputFault::new(path, what).hint(hint))
}

fn is_report(object: &Value) -> bool {
    object.get("sections").is_some() || object["response"].get("sections").is_some()
}

/// Finds the fields of a file's parts.
struct Finder<'a> {
    /// With the length of the longest text in each.
    fields: &'a BTreeMap<String, usize>,
    /// Of `--fields`, those in the file, and those that it does not have.
    given: &'a [(String, String)],
    absent: &'a [(String, String)],
    is_prediction: bool,
    path: &'a Path,
    /// The guesses so far, as `--fields` would give them.
    guessed: Vec<String>,
}

impl Finder<'_> {
    /// How the file is read, once its fields are known.
    ///
    /// # Errors
    /// As [`FieldReading::of`].
    fn reading(mut self, elements: &[JsonLine<'_>]) -> Result<FieldReading, InputFault> {
        let text = self.find("answer_text")?;
        let id = self.find("case_id")?;
        if let Some(field) = &text {
            require_text(elements, field, self.path)?;
        }
        let without_id = id.is_none() && !self.is_prediction;
        let question = if without_id || self.is_prediction {
            self.find("question")?
        } else {
            None
        };
        let mut renamed: Vec<(&'static str, String)> = Vec::new();
        match (text, id, question) {
            // From here on there are two forms only, answers and predictions; whatever the file
            // called its fields, later code knows no third one.
            (Some(text), Some(id), None) if !self.is_prediction => {
                renamed.push(("answer_text", text));
                renamed.push(("case_id", id));
            }
            (Some(text), id, Some(question)) => {
                renamed.push(("output", text));
                renamed.push(("input", question));
                renamed.extend(id.map(|id| ("id", id)));
            }
            (text, _, question) => {
                let mut parts = Vec::new();
                if text.is_none() {
                    parts.push("answer_text");
                }
                if question.is_none() && self.is_prediction {
                    parts.push("question");
                } else if question.is_none() && without_id {
                    parts.push("case_id");
                }
                return Err(self.missing(&parts));
            }
        }
        // Readers accept two names for these.
        renamed.retain(|(expected, field)| {
            field != expected && !matches!(field.as_str(), "query" | "case_id")
        });
        Ok(FieldReading {
            renamed,
            question: self.known_question(),
            guesses: self.guessed.join(","),
            without_id,
            absent: self.absent.to_vec(),
        })
    }

    /// The field of this part: one of the names of the part, else the only one that can mean it.
    ///
    /// # Errors
    /// When several fields could hold it.
    fn find(&mut self, part: &str) -> Result<Option<String>, InputFault> {
        let (documented, guesses) = names(part, self.given, self.is_prediction);
        for field in documented {
            if self.fields.contains_key(field) {
                return Ok(Some(field.to_owned()));
            }
        }
        let mut possible = guesses.to_vec();
        possible.retain(|field| self.fields.contains_key(*field));
        match possible[..] {
            [] => Ok(None),
            [field] => {
                self.guessed.push(format!("{part}={field}"));
                Ok(Some(field.to_owned()))
            }
            // A wrong guess would score the wrong text without any sign of it, so two possible
            // fields are a fault.
            [first, ..] => {
                let what = format!("{} could each be the {part}", possible.join(" and "));
                let hint = format!("name one: --fields {part}={first}");
                Err(InputFault::new(self.path, what).hint(hint))
            }
        }
    }

    /// The question of answers with an id, which they need not have: the first field that may be one and holds a text.
    fn known_question(&self) -> Option<String> {
        let (documented, guesses) = names("question", self.given, false);
        let mut possible = documented.into_iter().chain(guesses.iter().copied());
        let field = possible.find(|field| self.fields.get(*field).is_some_and(|bytes| *bytes > 0));
        field.map(str::to_owned)
    }

    /// The names that a part may have here.
    fn all_names(&self, part: &str) -> Vec<&str> {
        let (names, guesses) = names(part, self.given, self.is_prediction);
        let absent = self.absent.iter().filter(|(name, _)| name == part);
        let absent = absent.map(|(_, field)| field.as_str()).collect();
        [absent, names, guesses.to_vec()].concat()
    }

    /// The fault of these parts, which have no field: what was found, and the `--fields` that may name them.
    fn missing(&self, parts: &[&str]) -> InputFault {
        let mut labels = Vec::new();
        let mut looked_for = Vec::new();
        for part in parts {
            looked_for.extend(self.all_names(part));
            if *part == "case_id" {
                // A question serves where there is no id.
                looked_for.extend(self.all_names("question"));
                labels.push("case_id or question");
            } else {
                labels.push(part);
            }
        }
        let found = if self.fields.is_empty() {
            "none".to_owned()
        } else {
            list(self.fields.keys().map(String::as_str), SHOWN)
        };
        let what = format!(
            "no field for {}: the file has {found}; looked for {}",
            labels.join(", nor for "),
            looked_for.join(", ")
        );
        let fault = InputFault::new(self.path, what);
        if self.fields.values().all(|bytes| *bytes == 0) {
            let example = if self.is_prediction {
                "{input, output}"
            } else {
                "{case_id, answer_text}"
            };
            return fault.hint(format!("write one {example} per line"));
        }
        // The message gives the flag as it could be pasted.
        let entries = parts.iter().map(|part| match *part {
            "answer_text" => format!("answer_text={}", self.longest_unknown_text()),
            "case_id" => "case_id=FIELD (or question=FIELD)".to_owned(),
            part => format!("{part}=FIELD"),
        });
        fault.hint(format!(
            "name it with --fields {}, or leave the file out with --systems",
            entries.collect::<Vec<_>>().join(",")
        ))
    }

    /// The field with the longest text that is not another part: most likely the answer.
    fn longest_unknown_text(&self) -> String {
        let known = PARTS.map(known_names).concat();
        let texts = self.fields.iter().filter(|(_, bytes)| **bytes > 0);
        let unknown = texts.filter(|(field, _)| !known.contains(&field.as_str()));
        let longest = unknown.max_by_key(|(_, bytes)| **bytes);
        longest.map_or("FIELD".to_owned(), |(field, _)| {
            field.escape_debug().to_string()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{AnswerOptions, SystemAnswers, parse_answers};
    use scholareval_core::domain::Mode;

    fn read(name: &str, text: &str) -> Result<SystemAnswers, Error> {
        parse_answers(text, "s".into(), Path::new(name), Mode::Default)
    }

    #[test]
    fn every_shape_of_a_file_is_read_and_guesses_are_reported() {
        let by_id = "answer_text=answer,case_id=id";
        let shapes = [
            (
                "a.jsonl",
                r#"{"case_id": "1", "answer_text": "A"} {"case_id": "2", "answer_text": "B"}"#,
                "",
            ),
            (
                "a.json",
                r#"[{"case_id": 1, "answer_text": "A"}, {"case_id": 2, "answer_text": "B"}]"#,
                "",
            ),
            (
                "a.jsonl",
                r#"{"id": "1", "answer": "A"} {"id": "2", "answer": "B"}"#,
                by_id,
            ),
            ("a.csv", "id,answer\n1,A\n2,B\n", by_id),
            ("a.csv", "id;answer\n1;A\n2;B\n", by_id),
            ("a.csv", "id\tanswer\n1\tA\n2\tB\n", by_id),
            (
                "a.csv",
                "\"answer\",model,id\r\n\"A\",m,1\r\n\"B\",\"m, n\",2\r\n",
                by_id,
            ),
            (
                "a.json",
                r#"{"data": [{"id": 1, "answer": "A", "question": "P"}, {"id": 2, "answer": "B"}]}"#,
                by_id,
            ),
            (
                "a.json",
                r#"[{"question_id": 1, "completion": "A"}, {"question_id": 2, "completion": "B"}]"#,
                "answer_text=completion,case_id=question_id",
            ),
            (
                "a.jsonl",
                r#"{"case_id": "1", "response": "A", "query": null} {"case_id": "2", "response": "B"}"#,
                "not read",
            ),
            (
                "a.jsonl",
                r#"{"case_id": "1", "output": "A"} {"case_id": "2", "output": "B"}"#,
                "answer_text=output",
            ),
            (
                "a.jsonl",
                r#"{"id": 1, "answer_text": "A", "ctxs": []} {"id": 2, "answer_text": "B"}"#,
                "case_id=id",
            ),
        ];
        for (name, text, guesses) in shapes {
            if guesses == "not read" {
                assert!(read(name, text).is_err(), "{text}");
                continue;
            }
            let read = read(name, text).unwrap();
            let answers: Vec<_> = read
                .answers
                .iter()
                .map(|a| (a.case_id.as_str(), &*a.answer_text))
                .collect();
            assert_eq!(
                (answers, read.guesses.as_str()),
                (vec![("1", "A"), ("2", "B")], guesses),
                "{text}"
            );
            assert!(!read.by_question && !read.without_id, "{text}");
        }
        let questions = [
            (
                r#"{"question": "P", "answer": "A"}"#,
                "answer_text=answer,question=question",
                true,
            ),
            (
                r#"{"prompt": "P", "response": "A"}"#,
                "answer_text=response,question=prompt",
                true,
            ),
            (
                r#"{"prompt": "P", "answer_text": "A"}"#,
                "question=prompt",
                true,
            ),
            // Predictions, whose answer is the gold one.
            (r#"{"input": "P", "output": "A", "answer": "G"}"#, "", false),
            (
                r#"{"query": "P", "output": "A", "ctxs": [], "answer": "G", "id": 7}"#,
                "",
                false,
            ),
        ];
        for (text, guesses, without_id) in questions {
            let read = read("a.jsonl", text).unwrap();
            let answer = &read.answers[0];
            assert_eq!(
                (
                    answer.question(),
                    &*answer.answer_text,
                    read.guesses.as_str()
                ),
                ("P", "A", guesses),
                "{text}"
            );
            assert_eq!(
                (read.by_question, read.without_id),
                (true, without_id),
                "{text}"
            );
            let gold = answer
                .prediction
                .as_ref()
                .and_then(|prediction| prediction.gold.answer.as_deref());
            assert_eq!(gold, (!without_id).then_some("G"), "{text}");
        }
    }

    #[test]
    fn given_fields_go_before_documented_ones_and_guesses() {
        let text = r#"{"case_id": "x", "answer_text": "X", "qid": 1, "text": "A", "question": "P", "answer": "G"}"#;
        let json = |given: &[(&str, &str)]| {
            let path = Path::new("a.jsonl");
            let given: Vec<_> = given
                .iter()
                .map(|(part, field)| ((*part).to_owned(), (*field).to_owned()))
                .collect();
            let line = JsonLine {
                path,
                number: 1,
                index: 0,
                text,
            };
            FieldReading::of(&[line], &given, "case_id", path)
                .map(|reading| reading.json(&line).into_owned())
        };
        let both = json(&[("answer_text", "text"), ("case_id", "qid")]).unwrap();
        assert_eq!(
            both,
            r#"{"answer":"G","answer_text":"A","case_id":1,"question":"P"}"#
        );
        assert_eq!(
            json(&[("answer_text", "txt")]).unwrap(),
            text,
            "another file may have it"
        );
    }

    #[test]
    fn fields_within_others_are_named_by_path_or_pointer() {
        let text =
            r#"{"meta": {"x.y": {"n": 7}, "ask": "P"}, "response": {"choices": [{"text": "A"}]}}"#;
        let read = |fields: &[(&str, &str)]| {
            let fields = fields.iter();
            let options = AnswerOptions {
                fields: fields
                    .map(|(part, field)| ((*part).to_owned(), (*field).to_owned()))
                    .collect(),
                ..AnswerOptions::default()
            };
            let dir = tempfile::tempdir().unwrap();
            let path = dir.path().join("s.jsonl");
            std::fs::write(&path, text).unwrap();
            let (mut systems, _) = options.load(&[path]).unwrap();
            systems.remove(0)
        };
        let by_id = read(&[
            ("answer_text", "response.choices.0.text"),
            ("case_id", "/meta/x.y/n"),
        ]);
        assert_eq!(by_id.answers[0].case_id.as_str(), "7");
        assert_eq!(&*by_id.answers[0].answer_text, "A");
        assert_eq!(
            by_id.renamed,
            "answer_text=response.choices.0.text,case_id=/meta/x.y/n"
        );
        let by_question = read(&[
            ("answer_text", "/response/choices/0/text"),
            ("question", "meta.ask"),
        ]);
        assert_eq!(by_question.answers[0].question(), "P");
    }

    #[test]
    fn the_id_of_the_test_cases_is_read_in_answers_too() {
        let path = Path::new("a.jsonl");
        let reading = |text: &str| {
            let line = JsonLine {
                path,
                number: 1,
                index: 0,
                text,
            };
            let reading = FieldReading::of(&[line], &[], "prompt_id", path);
            let reading = reading.unwrap_or_else(|fault| panic!("{fault}"));
            (reading.renamed(), reading.guesses)
        };
        let (renamed, guesses) = reading(r#"{"prompt_id": "7", "answer_text": "A", "id": 1}"#);
        assert_eq!(renamed, "case_id=prompt_id");
        assert_eq!(guesses, "");
        let (renamed, _) = reading(r#"{"prompt_id": "7", "answer_text": "A", "case_id": 1}"#);
        assert_eq!(renamed, "");
        let (_, guesses) = reading(r#"{"id": "7", "answer_text": "A"}"#);
        assert_eq!(guesses, "case_id=id");
    }

    #[test]
    fn a_file_that_cannot_be_used_is_one_error_with_its_fields_and_the_option_to_type() {
        let out = "or leave the file out with --systems";
        let all = "answer_text, answer, response, output, completion, article, case_id, id, question_id, input, query, question, \
                   prompt";
        let faults = [
            (
                "a.jsonl",
                "{\"id\": 1, \"text\": \"So.\", \"score\": 2}\n{\"id\": 2, \"text\": \"No.\", \"score\": 2}",
                format!(
                    "a.jsonl: no field for answer_text: the file has id, score, text; looked for answer_text, answer, \
                     response, output, completion, article; name it with --fields answer_text=text, {out}"
                ),
            ),
            (
                "a.csv",
                "system,answer\nx,So.\ny,No.\n",
                format!(
                    "a.csv: no field for case_id or question: the file has answer, system; looked for case_id, id, \
                     question_id, input, query, question, prompt; name it with --fields case_id=FIELD (or question=FIELD), {out}"
                ),
            ),
            (
                "a.json",
                "[{\"input\": \"P\", \"answer\": \"G\", \"generated\": \"A\"}]",
                format!(
                    "a.json: no field for answer_text: the file has answer, generated, input; looked for output; name \
                     it with --fields answer_text=generated, {out}"
                ),
            ),
            (
                "a.jsonl",
                "{\"id\": 1, \"answer\": \"G\", \"response\": \"A\"}",
                "a.jsonl: answer and response could each be the answer_text; name one: --fields answer_text=answer"
                    .to_owned(),
            ),
            (
                "a.json",
                "[\"So.\", \"No.\"]",
                format!(
                    "a.json: no field for answer_text, nor for case_id or question: the file has none; looked for {all}; \
                     write one {{case_id, answer_text}} per line"
                ),
            ),
            (
                "a.json",
                "{\"results\": {\"gpt\": {\"c1\": \"So.\"}}}",
                format!(
                    "a.json: no field for answer_text, nor for case_id or question: the file has results; looked for \
                     {all}; write one {{case_id, answer_text}} per line"
                ),
            ),
            (
                "a.csv",
                "Frage,Antwort\nx,So.\n",
                format!(
                    "a.csv: no field for answer_text, nor for case_id or question: the file has Antwort, Frage; looked \
                     for {all}; name it with --fields answer_text=Antwort,case_id=FIELD (or question=FIELD), {out}"
                ),
            ),
            (
                "a.csv",
                "id,answer\n1,So, no.\n",
                "a.csv:2: expected 2 cells as in the header, found 3; put quotes around a cell that holds a comma, and \
                 close every quote"
                    .to_owned(),
            ),
            (
                "a.csv",
                "id,answer\r\n1,So.\r\n\r\n2,So, no.\r\n",
                "a.csv:4: expected 2 cells as in the header, found 3; put quotes around a cell that holds a comma, and \
                 close every quote"
                    .to_owned(),
            ),
            (
                "a.csv",
                "id;answer\n1;So; no.\n",
                "a.csv:2: expected 2 cells as in the header, found 3; put quotes around a cell that holds a semicolon, \
                 and close every quote"
                    .to_owned(),
            ),
            (
                "a.jsonl",
                r#"{"id": 1, "response": {"text": "So.", "model": "m"}}"#,
                "a.jsonl: response is an object without sections, not the text of an answer; name the text in it with \
                 --fields answer_text=response.text"
                    .to_owned(),
            ),
            (
                "a.jsonl",
                r#"{"meta": {"id": 1}, "reply": "So it is.", "model": "m"}"#,
                format!(
                    "a.jsonl: no field for answer_text, nor for case_id or question: the file has meta, model, reply; \
                     looked for {all}; name it with --fields answer_text=reply,case_id=FIELD (or question=FIELD), {out}"
                ),
            ),
            (
                "a.csv",
                "id,answer\n1,\"So.\n2,No.\n",
                "a.csv:2: odd number of quotes in the row; close each quoted cell, and double the quotes in it: \"a 5\"\" \
                 pipe\""
                    .to_owned(),
            ),
            (
                "a.csv",
                "id,answer\n1,\"a\n\"\"b\"\"\"\n2,a 5\" pipe\n3,No.\n",
                "a.csv:4: odd number of quotes in the row; close each quoted cell, and double the quotes in it: \"a 5\"\" \
                 pipe\""
                    .to_owned(),
            ),
        ];
        for (name, text, message) in faults {
            assert_eq!(read(name, text).unwrap_err().to_string(), message);
        }
        // The fields that other faults mean.
        let error = read("a.csv", "id,answer\n1,A\n1,B\n")
            .unwrap_err()
            .to_string();
        assert_eq!(
            error,
            "a.csv:3 (case 1): duplicate case_id, first on line 2; keep one of the two lines; answer_text is the field \
             answer; case_id is the field id"
        );
    }

    #[test]
    fn answers_with_an_id_keep_their_question() {
        let given = |text: &str, fields: &[(&str, &str)]| {
            let fields = fields.iter();
            let options = AnswerOptions {
                fields: fields
                    .map(|(part, field)| ((*part).to_owned(), (*field).to_owned()))
                    .collect(),
                ..AnswerOptions::default()
            };
            let dir = tempfile::tempdir().unwrap();
            let path = dir.path().join("s.jsonl");
            std::fs::write(&path, text).unwrap();
            options
                .load(&[path])
                .map(|(mut systems, _)| systems.remove(0))
        };
        let question = |text: &str, fields: &[(&str, &str)]| {
            let read = given(text, fields).unwrap();
            let answer = &read.answers[0];
            assert_eq!((read.by_question, answer.case_id.as_str()), (false, "1"));
            (answer.question().to_owned(), read.renamed)
        };
        let row = r#"{"case_id": 1, "answer_text": "A", "question": "P?", "asked": "Q?", "prompt": ["x"]}"#;
        assert_eq!(question(row, &[]), ("P?".to_owned(), String::new()));
        assert_eq!(question(row, &[("question", "asked")]).0, "Q?");
        // A given question leaves the guess of the id, as it leaves that of the text.
        let nested = r#"{"id": 1, "task": {"q": "Q?"}, "answer": "A"}"#;
        assert_eq!(question(nested, &[("question", "task.q")]).0, "Q?");
        let harness = r#"{"filtered_resps": ["A"], "doc": {"id": 1, "q": "Q?"}}"#;
        assert_eq!(question(harness, &[("question", "doc.q")]).0, "Q?");
        let guessed = r#"{"id": 1, "answer": "A", "prompt": "P?"}"#;
        assert_eq!(
            question(guessed, &[]),
            ("P?".to_owned(), "answer_text=answer,case_id=id".to_owned())
        );
        let error = given(row, &[("question", "aksed")])
            .unwrap_err()
            .to_string();
        assert_eq!(
            error,
            "--fields question=aksed: no file has the field aksed"
        );
        let twice = r#"{"id": 1, "answer": "A", "answer": "B"}"#;
        let error = given(twice, &[]).unwrap_err().to_string();
        assert!(
            error.contains(
                "answer_text: expected a string or a report of sections, found two different"
            ),
            "{error}"
        );
    }

    #[test]
    fn fields_for_some_files_leave_the_guesses_for_others() {
        let dir = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| std::fs::write(dir.path().join(name), text).unwrap();
        write("a.jsonl", r#"{"case_id": "1", "final": "A", "draft": "x"}"#);
        write("b.jsonl", r#"{"case_id": "1", "response": "B"}"#);
        let options = AnswerOptions {
            fields: vec![("answer_text".to_owned(), "final".to_owned())],
            ..AnswerOptions::default()
        };
        let (systems, notes) = options.load(&[dir.path().to_path_buf()]).unwrap();
        let texts = systems.iter().map(|read| &*read.answers[0].answer_text);
        assert_eq!(texts.collect::<Vec<_>>(), ["A", "B"]);
        assert_eq!(notes, ["guessed --fields answer_text=response for b"]);
    }
}
