//! Answers: JSON lines of `{case_id, answer_text, references_from?}`, one file per system.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::domain::{Answer, CaseId, Fingerprint, Mode, SystemName};
use crate::error::{Error, InputFault, Result};

use super::answer_files::answer_files;
use super::fields::{Fields, Findings, Place, describe};
use super::text_file::{as_text, read_bytes};

/// Where an appended block of references begins in `answer_text`: Unicode characters before it.
const REFERENCES_FROM: &str = "references_from";

/// The answers of one system, in file order.
#[derive(Debug, Clone, PartialEq)]
pub struct SystemAnswers {
    /// The system: the stem of its file's name.
    pub system: SystemName,
    /// Its file.
    pub path: PathBuf,
    /// blake3 of the file's bytes.
    pub blake3: Fingerprint,
    /// Its answers, no two with one `case_id`.
    pub answers: Vec<Answer>,
    /// What is odd but usable (empty answers; duplicates in compat mode).
    pub warnings: Vec<InputFault>,
}

/// Reads answer files and directories of them (`*.jsonl`, in name order): one system per file.
///
/// In [`Mode::Compat`] the last of several answers with one `case_id` counts, with a warning.
///
/// # Errors
/// [`Error::Input`] with every fault of every file; [`Error::Usage`] without any path; [`Error::Io`] if a file cannot
/// be read.
pub fn load_answers(paths: &[PathBuf], mode: Mode) -> Result<Vec<SystemAnswers>> {
    let mut systems = Vec::new();
    let mut faults = Vec::new();
    for (system, path) in answer_files(paths)? {
        let (bytes, blake3) = read_bytes(&path)?;
        match parse_answers(&bytes, system, &path, mode) {
            Ok(answers) => systems.push(SystemAnswers { blake3, ..answers }),
            Err(Error::Input(more)) => faults.extend(more),
            Err(other) => return Err(other),
        }
    }
    if faults.is_empty() { Ok(systems) } else { Err(Error::Input(faults)) }
}

/// Reads the bytes of one system's file; `path` stands in messages. See [`load_answers`].
///
/// # Errors
/// [`Error::Input`] with every fault found.
pub fn parse_answers(bytes: &[u8], system: SystemName, path: &Path, mode: Mode) -> Result<SystemAnswers> {
    let mut found = Findings::default();
    let mut answers: Vec<Answer> = Vec::new();
    let mut places: HashMap<CaseId, usize> = HashMap::new();
    for (index, bytes) in bytes.split(|byte| *byte == b'\n').enumerate() {
        let line = index + 1;
        let place = Place { path, line, case_id: None };
        let Some(answer) = read_line(bytes, &system, place, mode, &mut found) else { continue };
        let place = Place { path, line, case_id: Some(answer.case_id.as_str()) };
        match places.get(&answer.case_id).and_then(|place| answers.get_mut(*place)) {
            None => {
                places.insert(answer.case_id.clone(), answers.len());
                answers.push(answer);
            }
            Some(first) => {
                let what = format!("duplicate case_id, first on line {}", first.line);
                match mode {
                    Mode::Default => found.faults.push(place.fault(what).hint("keep one of the two lines")),
                    Mode::Compat => {
                        found.warnings.push(place.fault(format!("{what}; this one counts")));
                        *first = answer;
                    }
                }
            }
        }
    }
    if !found.faults.is_empty() {
        return Err(Error::Input(found.faults));
    }
    if answers.is_empty() {
        found.warnings.push(InputFault::new(path, "no answers in the file"));
    }
    let blake3 = blake3::hash(bytes).into();
    Ok(SystemAnswers { system, path: path.to_path_buf(), blake3, answers, warnings: found.warnings })
}

/// The answer of one line; `None` if it is blank or faulty.
fn read_line(bytes: &[u8], system: &SystemName, place: Place<'_>, mode: Mode, found: &mut Findings) -> Option<Answer> {
    let text = match as_text(bytes, place.path, place.line) {
        Ok(text) => text.trim(),
        Err(fault) => {
            found.faults.push(fault);
            return None;
        }
    };
    if text.is_empty() {
        return None;
    }
    let value: Value = match serde_json::from_str(text) {
        Ok(value) => value,
        Err(error) => {
            found.faults.push(invalid_json(place, &error));
            return None;
        }
    };
    let place = Place { case_id: value.get("case_id").and_then(Value::as_str), ..place };
    if let Value::Array(_) = value {
        let fault = place.fault("the line holds a list, not one answer");
        found.faults.push(fault.hint("write one {\"case_id\": .., \"answer_text\": ..} object per line"));
        return None;
    }
    let fields = Fields::of(&value, "", place, found)?;
    let (case_id, answer_text) = (fields.string("case_id", found), fields.string("answer_text", found));
    let (case_id, answer_text) = (case_id?, answer_text?);
    if case_id.is_empty() {
        found.faults.push(place.fault("case_id is empty"));
    }
    let own_bytes = own_bytes(value.get(REFERENCES_FROM), answer_text, mode, place, found);
    let answer = Answer { line: place.line, own_bytes, ..Answer::new(system.clone(), case_id.into(), answer_text) };
    if answer.own_text().trim().is_empty() {
        found.warnings.push(place.fault("the answer is empty"));
    }
    Some(answer)
}

/// How many bytes of the text are the system's own, from how many Unicode characters are. In compat mode, where nothing
/// depends on it, what cannot be used is only a warning.
fn own_bytes(from: Option<&Value>, text: &str, mode: Mode, place: Place<'_>, found: &mut Findings) -> Option<usize> {
    let from = from.filter(|from| !from.is_null())?;
    let characters = from.as_u64().and_then(|characters| usize::try_from(characters).ok());
    let own = characters.and_then(|own| text.char_indices().map(|(at, _)| at).chain([text.len()]).nth(own));
    if own.is_none() {
        let total = text.chars().count();
        let what = format!(
            "{REFERENCES_FROM}: expected a whole number from 0 to {total} (characters of answer_text), found {}",
            describe(from)
        );
        let fault = place.fault(what).hint("leave it out where no references were appended to the answer");
        if mode == Mode::Compat { &mut found.warnings } else { &mut found.faults }.push(fault);
    }
    own
}

/// An answer as a line of a file, for [`parse_answers`].
pub fn render_answer(answer: &Answer) -> String {
    let mut line = json!({"case_id": answer.case_id.as_str(), "answer_text": &*answer.answer_text});
    if answer.own_bytes.is_some() {
        line[REFERENCES_FROM] = answer.own_text().chars().count().into();
    }
    format!("{line}\n")
}

fn invalid_json(place: Place<'_>, error: &serde_json::Error) -> InputFault {
    let message = error.to_string();
    let message = message.split(" at line ").next().unwrap_or_default();
    let fault = place.fault(format!("invalid JSON at column {}: {message}", error.column()));
    fault.hint(if message.contains("surrogate") || message.contains("hex escape") {
        "half a character (an escape like \\ud800 without its other half): take it out of the text"
    } else {
        "write one {\"case_id\": .., \"answer_text\": ..} object per line"
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: impl AsRef<[u8]>, mode: Mode) -> Result<SystemAnswers> {
        parse_answers(text.as_ref(), "gpt".into(), Path::new("gpt.jsonl"), mode)
    }

    fn faults(text: impl AsRef<[u8]>) -> Vec<String> {
        match parse(text, Mode::Default) {
            Err(Error::Input(faults)) => faults.iter().map(ToString::to_string).collect(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn blank_lines_and_windows_line_ends_are_skipped_and_lines_still_count() {
        let text = "\r\n{\"case_id\": \"1\", \"answer_text\": \"a\\nb\", \"more\": 1}\r\n\n {\"case_id\":\"2\",\"answer_text\":\"c\"}";
        let answers = parse(text, Mode::Default).unwrap().answers;
        let read: Vec<_> = answers.iter().map(|a| (a.case_id.as_str(), &*a.answer_text, a.line)).collect();
        assert_eq!(read, [("1", "a\nb", 2), ("2", "c", 4)]);
    }

    #[test]
    fn a_duplicate_case_id_is_an_error_naming_both_lines() {
        let text = "{\"case_id\":\"1\",\"answer_text\":\"a\"}\n{\"case_id\":\"1\",\"answer_text\":\"b\"}";
        assert_eq!(
            faults(text),
            ["gpt.jsonl:2 (case 1): duplicate case_id, first on line 1; keep one of the two lines"]
        );
        let compat = parse(text, Mode::Compat).unwrap();
        assert_eq!((compat.answers.len(), &*compat.answers[0].answer_text, compat.warnings.len()), (1, "b", 1));
    }

    #[test]
    fn every_faulty_line_is_told() {
        let text =
            b"{\"case_id\":\"1\"}\n{\"case_id\":2,\"answer_text\":\"a\"}\n{\"case_id\":\"3\",\"answer_text\":null}\n\
            {bad}\n[1]\n\"x\"\n{\"case_id\":\"4\",\"answer_text\":\"\xff\"}\n{\"case_id\":\"\",\"answer_text\":\"a\"}";
        assert_eq!(
            faults(text),
            [
                "gpt.jsonl:1 (case 1): answer_text is missing",
                "gpt.jsonl:2: case_id: expected a string, found the number 2",
                "gpt.jsonl:3 (case 3): answer_text: expected a string, found null",
                "gpt.jsonl:4: invalid JSON at column 2: key must be a string; write one {\"case_id\": .., \
                 \"answer_text\": ..} object per line",
                "gpt.jsonl:5: the line holds a list, not one answer; write one {\"case_id\": .., \"answer_text\": ..} \
                 object per line",
                "gpt.jsonl:6: each element: expected an object, found the string \"x\"",
                "gpt.jsonl:7: invalid UTF-8 at byte 31 of the line; save the file as UTF-8",
                "gpt.jsonl:8 (case ): case_id is empty",
            ]
        );
    }

    #[test]
    fn references_from_counts_characters_and_must_lie_within_the_text() {
        // three characters of five bytes are the system's own
        let line = "{\"case_id\":\"1\",\"answer_text\":\"\u{e9}\u{e9}a\\nR\",\"references_from\":3}";
        let answer = &parse(line, Mode::Default).unwrap().answers[0];
        assert_eq!((answer.own_bytes, answer.own_text()), (Some(5), "\u{e9}\u{e9}a"));
        let with = |from: &str| format!("{{\"case_id\":\"1\",\"answer_text\":\"ab\",\"references_from\":{from}}}");
        assert_eq!(parse(with("2"), Mode::Default).unwrap().answers[0].own_bytes, Some(2));
        assert_eq!(parse(with("null"), Mode::Default).unwrap().answers[0].own_bytes, None);
        for wrong in ["3", "-1", "1.5", "\"1\""] {
            let told = &faults(with(wrong))[0];
            assert!(told.contains("references_from: expected a whole number from 0 to 2 (characters"), "{told}");
            let compat = parse(with(wrong), Mode::Compat).unwrap();
            assert_eq!((compat.answers[0].own_bytes, compat.warnings.len()), (None, 1));
        }
    }

    #[test]
    fn a_rendered_answer_is_read_as_it_was() {
        let answer = Answer { own_bytes: Some(2), line: 1, ..Answer::new("gpt".into(), "1".into(), "\u{e9}\n\"x\"") };
        assert_eq!(parse(render_answer(&answer), Mode::Default).unwrap().answers, [answer]);
    }

    #[test]
    fn an_empty_answer_and_an_empty_file_are_warnings() {
        let answers = parse("{\"case_id\":\"1\",\"answer_text\":\" \"}", Mode::Default).unwrap();
        assert_eq!(answers.warnings[0].to_string(), "gpt.jsonl:1 (case 1): the answer is empty");
        assert_eq!(parse("\n", Mode::Default).unwrap().warnings[0].to_string(), "gpt.jsonl: no answers in the file");
    }
}
