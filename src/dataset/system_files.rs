//! Files of answers, whatever their form: each is recognised by what it holds.

use std::path::{Path, PathBuf};

use rayon::prelude::*;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;

use crate::domain::{Fingerprint, Mode, SystemName};
use crate::error::{Error, InputFault, Result};

use super::answer_files::system_files;
use super::elements::{Element, elements, without_bare_nan};
use super::prediction_fields::Question;
use super::predictions::read_predictions;
use super::shape::Shape;
use super::text_file::{as_text, read_bytes};
use super::{Predictions, SystemAnswers, parse_answers, parse_predictions};

/// What one system wrote, in either form.
#[derive(Debug, Clone, PartialEq)]
pub enum SystemFile {
    /// Lines of `{case_id, answer_text}`.
    Answers(SystemAnswers),
    /// Predictions: `{input or query, output, ctxs, ..}`.
    Predictions(Predictions),
}

impl SystemFile {
    /// The system: the stem of its file's name.
    pub fn system(&self) -> &SystemName {
        match self {
            Self::Answers(answers) => &answers.system,
            Self::Predictions(predictions) => &predictions.system,
        }
    }

    /// Its file.
    pub fn path(&self) -> &Path {
        match self {
            Self::Answers(answers) => &answers.path,
            Self::Predictions(predictions) => &predictions.path,
        }
    }

    /// blake3 of the file's bytes.
    pub fn blake3(&self) -> Fingerprint {
        match self {
            Self::Answers(answers) => answers.blake3,
            Self::Predictions(predictions) => predictions.blake3,
        }
    }
}

/// Reads files of answers or predictions, one system a file. A directory stands for its `*.jsonl`; one without any for
/// its `*.json`.
///
/// # Errors
/// [`Error::Input`] with every fault of every file, two files of one stem and a file of mixed forms among them;
/// [`Error::Usage`] without any path; [`Error::Io`] if a file cannot be read.
pub fn load_systems(paths: &[PathBuf], mode: Mode) -> Result<Vec<SystemFile>> {
    let read: Vec<Result<SystemFile>> = system_files(paths)?
        .into_par_iter()
        .map(|(system, path)| {
            let (bytes, blake3) = read_bytes(&path)?;
            Ok(match parse_system(&bytes, system, &path, mode)? {
                SystemFile::Answers(answers) => SystemFile::Answers(SystemAnswers { blake3, ..answers }),
                SystemFile::Predictions(read) => SystemFile::Predictions(Predictions { blake3, ..read }),
            })
        })
        .collect();
    let (mut systems, mut faults) = (Vec::new(), Vec::new());
    for result in read {
        match result {
            Ok(system) => systems.push(system),
            Err(Error::Input(more)) => faults.extend(more),
            Err(other) => return Err(other),
        }
    }
    if faults.is_empty() { Ok(systems) } else { Err(Error::Input(faults)) }
}

/// Reads the bytes of one system's file; `path` stands in messages. See [`load_systems`].
///
/// # Errors
/// [`Error::Input`] with every fault found.
pub fn parse_system(bytes: &[u8], system: SystemName, path: &Path, mode: Mode) -> Result<SystemFile> {
    // Text that is no UTF-8 is told by whoever reads the file; its kind can be told all the same.
    let lossy = String::from_utf8_lossy(bytes);
    if lossy.trim_start().starts_with('[') {
        return Ok(SystemFile::Predictions(read_list(as_text(bytes, path, 1)?, system, path)?));
    }
    let kinds: Vec<(usize, Kind)> = kinds_of_lines(&lossy);
    one_kind(&kinds, path)?;
    if let (true, Some(Shape::TestCases)) = (kinds.is_empty(), Shape::of_text(&lossy, path, Shape::Answers)) {
        return Err(Shape::TestCases.fault(path, Shape::Answers).into());
    }
    let kind = match kinds.first() {
        Some((_, kind)) => *kind,
        // Objects over several lines, one under `data`, or nothing that can be read.
        None if elements(&lossy, path).is_ok_and(|found| is_predictions(&found)) => Kind::Prediction,
        None => guess(&lossy),
    };
    match kind {
        Kind::Answer => Ok(SystemFile::Answers(parse_answers(bytes, system, path, mode)?)),
        Kind::Prediction if kinds.is_empty() => {
            Ok(SystemFile::Predictions(read_list(as_text(bytes, path, 1)?, system, path)?))
        }
        Kind::Prediction => Ok(SystemFile::Predictions(parse_predictions(as_text(bytes, path, 1)?, system, path)?)),
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Answer,
    Prediction,
}

/// The keys that tell what an object is, whatever their values.
#[derive(Deserialize)]
struct Keys {
    #[serde(default, deserialize_with = "present")]
    answer_text: bool,
    #[serde(default, deserialize_with = "present")]
    input: bool,
    #[serde(default, deserialize_with = "present")]
    query: bool,
    #[serde(default, deserialize_with = "present")]
    output: bool,
}

fn present<'de, D: serde::Deserializer<'de>>(value: D) -> Result<bool, D::Error> {
    IgnoredAny::deserialize(value).map(|_| true)
}

impl Keys {
    /// An answer may have further fields, a question among them.
    fn kind(&self) -> Option<Kind> {
        match self {
            Self { answer_text: true, .. } => Some(Kind::Answer),
            Self { input, query, output, .. } if *input || *query || *output => Some(Kind::Prediction),
            _ => None,
        }
    }
}

/// What the lines that hold a whole object are, where their keys tell.
fn kinds_of_lines(text: &str) -> Vec<(usize, Kind)> {
    let text = without_bare_nan(text);
    let of_line = |(index, line): (usize, &str)| {
        let keys: Keys = serde_json::from_str(line.trim()).ok()?;
        Some((index + 1, keys.kind()?))
    };
    text.split('\n').enumerate().filter(|(_, line)| line.trim_start().starts_with('{')).filter_map(of_line).collect()
}

fn kind_of(value: &Value) -> Option<Kind> {
    let has = |key: &str| value.get(key).is_some();
    Keys { answer_text: has("answer_text"), input: has("input"), query: has("query"), output: has("output") }.kind()
}

fn is_predictions(elements: &[Element]) -> bool {
    elements.iter().find_map(|element| kind_of(&element.value)) == Some(Kind::Prediction)
}

/// Of a file that nothing can be told of otherwise: whatever names `answer_text`, or no field of predictions.
fn guess(text: &str) -> Kind {
    let names = |key: &str| text.contains(&format!("\"{key}\""));
    match !names("answer_text") && ["input", "query", "output"].into_iter().any(names) {
        true => Kind::Prediction,
        false => Kind::Answer,
    }
}

/// Predictions that do not stand a line each.
fn read_list(text: &str, system: SystemName, path: &Path) -> Result<Predictions> {
    let elements = elements(text, path)?;
    let kinds: Vec<_> = elements.iter().filter_map(|e| Some((e.line, kind_of(&e.value)?))).collect();
    one_kind(&kinds, path)?;
    if let Some((line, Kind::Answer)) = kinds.first() {
        let fault = InputFault::new(path, "a list of answers").at_line(*line);
        return Err(fault.hint("write one {\"case_id\": .., \"answer_text\": ..} object per line").into());
    }
    let (items, warnings) = read_predictions(&elements, Question::Required, path)?;
    let blake3 = blake3::hash(text.as_bytes()).into();
    Ok(Predictions { system, path: path.to_path_buf(), blake3, items, warnings })
}

/// A fault that names the first line of another kind than the lines before it.
fn one_kind(kinds: &[(usize, Kind)], path: &Path) -> Result<()> {
    let Some((first_line, first)) = kinds.first() else { return Ok(()) };
    let Some((line, _)) = kinds.iter().find(|(_, kind)| kind != first) else { return Ok(()) };
    let what = match first {
        Kind::Answer => {
            format!("a prediction {{input, output, ..}} after an answer {{case_id, answer_text}} on line {first_line}")
        }
        Kind::Prediction => {
            format!("an answer {{case_id, answer_text}} after a prediction {{input, output, ..}} on line {first_line}")
        }
    };
    Err(InputFault::new(path, what).at_line(*line).hint("keep answers and predictions in files of their own").into())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(text: impl AsRef<[u8]>) -> Result<SystemFile> {
        parse_system(text.as_ref(), "s".into(), Path::new("s.jsonl"), Mode::Default)
    }

    fn told(text: impl AsRef<[u8]>) -> String {
        read(text).unwrap_err().to_string()
    }

    const ANSWER: &str = "{\"case_id\": \"1\", \"answer_text\": \"a\"}";
    const PREDICTION: &str = "{\"input\": \"q\", \"output\": \"o\"}";

    #[test]
    fn every_form_is_recognised_by_its_content() {
        let answers = [
            ANSWER.to_owned(),
            format!("\n\n{ANSWER}\n"),
            String::new(),
            "{\"case_id\": \"1\", \"answer_text\": \"a\", \"query\": \"q\"}".into(),
        ];
        for text in answers {
            assert!(matches!(read(&text), Ok(SystemFile::Answers(_))), "{text}");
        }
        let predictions = [
            PREDICTION.to_owned(),
            format!("{PREDICTION}\n{PREDICTION}"),
            format!(" [{PREDICTION}]"),
            format!("{{\"data\": [{PREDICTION}, {PREDICTION}]}}"),
            format!("{{\"data\": [\n{PREDICTION},\n{PREDICTION}\n]}}"),
            PREDICTION.replace(',', ",\n"),
            "{\"input\": \"q\", \"output\": \"o\", \"ctxs\": [{\"text\": NaN}]}".to_owned(),
        ];
        for text in predictions {
            assert!(matches!(read(&text), Ok(SystemFile::Predictions(_))), "{text}");
        }
    }

    #[test]
    fn a_file_of_mixed_forms_is_a_fault_that_names_the_line() {
        let mixed = told(format!("{ANSWER}\n\n{PREDICTION}"));
        assert_eq!(
            mixed,
            "s.jsonl:3: a prediction {input, output, ..} after an answer {case_id, answer_text} on line 1; keep answers \
             and predictions in files of their own"
        );
        assert!(told(format!("[{PREDICTION},\n{ANSWER}]")).starts_with("s.jsonl:2: an answer {case_id"));
        assert!(told(format!("[{ANSWER}]")).starts_with("s.jsonl:1: a list of answers; write one"));
    }

    #[test]
    fn faults_are_those_of_the_form_that_the_file_has() {
        assert!(told(format!("{{bad}}\n{ANSWER}")).starts_with("s.jsonl:1: invalid JSON at column 2: key must be"));
        assert_eq!(told("{\"case_id\": \"1\"}"), "s.jsonl:1 (case 1): answer_text is missing");
        assert!(told("{\"id\": \"x\", \"output\": \"o\"}").starts_with("s.jsonl:1 (case x): neither input nor query"));
        assert!(told(b"{\"input\": \"\xff\", \"output\": \"o\"}").contains("invalid UTF-8 at byte 12"));
        assert!(told(b"{\"case_id\": \"\xff\", \"answer_text\": \"o\"}").contains("invalid UTF-8 at byte 14"));
    }

    proptest! {
        #[test]
        fn no_bytes_make_reading_panic_and_a_prediction_is_never_taken_for_an_answer(
            parts in prop::collection::vec(prop::sample::select(vec![
                "{", "}", "[", "]", ",", "\n", "\"data\":", ANSWER, PREDICTION, "NaN", "\"", "\\", "\u{e9}", "{}",
            ]), 0..9),
            tail in prop::collection::vec(any::<u8>(), 0..4),
        ) {
            let bytes = [parts.concat().as_bytes(), &tail].concat();
            match read(&bytes) {
                Ok(SystemFile::Predictions(found)) => prop_assert!(parts.contains(&PREDICTION) && !found.items.is_empty()),
                Ok(SystemFile::Answers(found)) => prop_assert!(found.answers.is_empty() || parts.contains(&ANSWER)),
                Err(Error::Input(faults)) => prop_assert!(!faults.is_empty()),
                Err(other) => prop_assert!(false, "{other}"),
            }
        }
    }

    #[test]
    fn a_directory_without_jsonl_stands_for_its_json_and_two_files_of_one_stem_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| std::fs::write(dir.path().join(name), text).unwrap();
        let names = |systems: Vec<SystemFile>| systems.iter().map(|s| s.system().to_string()).collect::<Vec<_>>();
        let load = |paths: &[PathBuf]| load_systems(paths, Mode::Default);
        write("b.json", &format!("[{PREDICTION}]"));
        write("a.json", PREDICTION);
        let here = [dir.path().to_path_buf()];
        assert_eq!(names(load(&here).unwrap()), ["a", "b"]);
        write("c.jsonl", ANSWER);
        assert_eq!(names(load(&here).unwrap()), ["c"]);
        write("c.json", PREDICTION);
        let error = load(&[dir.path().join("c.jsonl"), dir.path().join("c.json")]).unwrap_err().to_string();
        assert!(error.contains("a second file of the system \"c\""), "{error}");
    }
}
