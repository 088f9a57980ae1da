//! Prediction files: outputs with their sources and, where there are some, golds.

use std::path::{Path, PathBuf};

use rayon::prelude::*;

use crate::domain::{Fingerprint, Prediction, SystemName};
use crate::error::{Error, InputFault, Result};

use super::answer_files::system_files;
use super::elements::{Element, elements};
use super::fields::{Findings, Place};
use super::prediction_fields::{Question, read_prediction};
use super::shape::Shape;
use super::text_file::{as_text, read_bytes};

/// The predictions of one file, in file order.
#[derive(Debug, Clone, PartialEq)]
pub struct Predictions {
    /// The system: the stem of its file's name.
    pub system: SystemName,
    /// Its file.
    pub path: PathBuf,
    /// blake3 of the file's bytes.
    pub blake3: Fingerprint,
    /// What it answered; never empty.
    pub items: Vec<Prediction>,
    /// What is odd but usable (a bare `NaN`).
    pub warnings: Vec<InputFault>,
}

/// Reads prediction files (`docs/formats.md`), one system a file; a directory stands for its `*.jsonl`, one
/// without any for its `*.json`.
///
/// # Errors
/// [`Error::Input`] with every fault of every file; [`Error::Usage`] without any path; [`Error::Io`] if a file cannot
/// be read.
pub fn load_predictions(paths: &[PathBuf]) -> Result<Vec<Predictions>> {
    let files = system_files(paths)?;
    let read: Vec<Result<Predictions>> = files
        .into_par_iter()
        .map(|(system, path)| {
            let (bytes, blake3) = read_bytes(&path)?;
            Ok(Predictions { blake3, ..parse_predictions(as_text(&bytes, &path, 1)?, system, &path)? })
        })
        .collect();
    let (mut systems, mut faults) = (Vec::new(), Vec::new());
    for result in read {
        match result {
            Ok(predictions) => systems.push(predictions),
            Err(Error::Input(more)) => faults.extend(more),
            Err(other) => return Err(other),
        }
    }
    if faults.is_empty() { Ok(systems) } else { Err(Error::Input(faults)) }
}

/// Reads the text of one file; `path` stands in messages. See [`load_predictions`].
///
/// ```
/// use scholareval::dataset::parse_predictions;
/// let text = r#"{"data": [{"input": "Why?", "output": "So [0].", "ctxs": [{"title": "T", "text": "X"}]}]}"#;
/// let predictions = parse_predictions(text, "mine".into(), "mine.json".as_ref())?;
/// assert_eq!((predictions.items[0].id.as_str(), predictions.items[0].sources.len()), ("1", 1));
/// # Ok::<(), scholareval::Error>(())
/// ```
///
/// # Errors
/// [`Error::Input`] with every fault found.
pub fn parse_predictions(text: &str, system: SystemName, path: &Path) -> Result<Predictions> {
    let (items, warnings) = read_predictions(&elements(text, path)?, Question::Required, path)?;
    Ok(Predictions { system, path: path.to_path_buf(), blake3: blake3::hash(text.as_bytes()).into(), items, warnings })
}

/// The predictions of these elements, and what is odd.
///
/// # Errors
/// [`Error::Input`] with every fault found.
pub(super) fn read_predictions(
    elements: &[Element],
    question: Question,
    path: &Path,
) -> Result<(Vec<Prediction>, Vec<InputFault>)> {
    if let Some(other) = Shape::of(elements.iter().map(|element| &element.value), Shape::Predictions) {
        return Err(other.fault(path, Shape::Predictions).into());
    }
    let mut found = Findings::default();
    let mut items = Vec::new();
    for (index, element) in elements.iter().enumerate() {
        let place = Place { path, line: element.line, case_id: None };
        items.extend(read_prediction(&element.value, index + 1, question, place, &mut found));
    }
    if items.is_empty() && found.faults.is_empty() {
        let fault = InputFault::new(path, "no predictions in the file");
        found.faults.push(fault.hint("expected a JSON list, {\"data\": [..]} or lines of {input, output, ..}"));
    }
    if !found.faults.is_empty() {
        return Err(Error::Input(found.faults));
    }
    Ok((items, found.warnings))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Source;
    use serde_json::json;

    fn parse(text: &str) -> Result<Predictions> {
        parse_predictions(text, "s".into(), Path::new("s.json"))
    }

    fn faults(text: &str) -> Vec<String> {
        match parse(text) {
            Err(Error::Input(faults)) => faults.iter().map(ToString::to_string).collect(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn every_field_is_read() {
        let text = json!([{
            "id": 7, "query": "Q?", "output": "o [0]", "answer": "a", "ctxs": [{"text": "unused"}],
            "docs": [{"title": "", "sent": "S", "text": "T"}, {"text": "U", "title": null}],
            "gold_ctxs": ["d0", 3], "id_mapping": {"0": "d0", "1": 3},
            "gold_ctx": [{"title": "", "text": "one"}, {"text": {"contexts": ["b", "c"]}}],
            "qa_pairs": [{"short_answers": ["x", "y"]}], "annotations": [{"long_answer": "l"}], "more": 1,
        }])
        .to_string();
        let item = &parse(&text).unwrap().items[0];
        assert_eq!((item.id.as_str(), item.input.as_str(), item.output(), item.line), ("7", "Q?", "o [0]", 1));
        let source = |title: &str, text: &str| Source {
            title: Some(title.to_owned()),
            text: Some(text.to_owned()),
            ..Source::default()
        };
        assert_eq!(item.sources, [source("", "S"), source("", "U")]);
        assert_eq!(item.gold.gold_ctxs.as_deref(), Some(&["d0".to_owned(), "3".to_owned()][..]));
        assert_eq!(item.id_mapping.as_ref().unwrap()["1"], "3");
        assert_eq!(item.gold.gold_texts, ["one", "b c"]);
        assert_eq!((&item.gold.short_answers[0][1], &item.gold.long_answers[0]), (&"y".to_owned(), &"l".to_owned()));
    }

    #[test]
    fn an_object_of_sources_has_text_and_title() {
        let item = &parse(r#"{"input": "q", "output": "", "ctxs": {"k": ["text", "title"]}}"#).unwrap().items[0];
        let expected = Source {
            title: Some("title".into()),
            text: Some("text".into()),
            text_is_nan: false,
            key: Some("k".into()),
        };
        assert_eq!(item.sources, [expected]);
    }

    #[test]
    fn final_passages_are_a_text_or_a_list_of_texts_or_objects() {
        let of = |value: serde_json::Value| {
            let text = json!([{"input": "q", "output": "o", "final_passages": value}]).to_string();
            parse(&text).unwrap().items[0].final_passages.clone()
        };
        assert_eq!(of(json!("[0] T X\n")).as_deref(), Some("[0] T X\n"));
        assert_eq!(of(json!(["[3] a", "[5] b"])).as_deref(), Some("[3] a\n[5] b"));
        let objects = json!([{"title": "T", "text": "X"}, {"text": "Y"}, {"title": "", "sent": "S"}]);
        assert_eq!(of(objects).as_deref(), Some("[0] T X\n[1] Y\n[2] S"));
        assert_eq!(of(json!(null)), None);
        let wrong = json!([{"input": "q", "output": "o", "final_passages": 3}]).to_string();
        assert_eq!(faults(&wrong), ["s.json:1: final_passages: expected a string, found the number 3"]);
    }

    #[test]
    fn a_bare_nan_is_missing_text_with_a_warning() {
        let read =
            parse("[\n{\"input\": \"q\", \"output\": \"o\", \"ctxs\": [{\"title\": \"T\", \"text\": NaN}]}]").unwrap();
        assert!(read.items[0].sources[0].text_is_nan && read.items[0].sources[0].text.is_none());
        assert_eq!(
            read.warnings.iter().map(ToString::to_string).collect::<Vec<_>>(),
            ["s.json:2: ctxs[0].text is a bare NaN; read as missing; write a text or null"]
        );
    }

    #[test]
    fn every_fault_is_told_with_line_and_id() {
        let text =
            "{\"id\": \"a\", \"output\": 3}\n7\n{\"id\": \"b\", \"input\": \"q\", \"output\": \"\", \"ctxs\": [1]}";
        assert_eq!(
            faults(text),
            [
                "s.json:1 (case a): neither input nor query; give each element the question as input",
                "s.json:1 (case a): output: expected a string, found the number 3",
                "s.json:2: each element: expected an object, found the number 7",
                "s.json:3 (case b): ctxs[0]: expected an object with title and text, found the number 1",
            ]
        );
        assert!(faults("[]")[0].starts_with("s.json: no predictions in the file"));
    }
}
