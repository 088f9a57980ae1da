//! Reads predictions: outputs with their sources and, if present, gold answers.
//!
//! Serde reads an element in the names that several benchmarks use for the same thing;
//! `PredictionLine::prediction` settles which of them count.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Deserializer};
use serde_json::Value;

use scholareval_core::domain::{Fingerprint, Gold, Prediction, Source, SourceWork};
use scholareval_core::error::{InputFault, Result};
use scholareval_core::files::read_text;
use scholareval_core::text::names::counted;

use super::files::FileKind;
use super::reader::{
    Id, JsonLine, all, elements, expected, is_csv, is_nan, rows_as_jsonl, typed, without_bare_nan,
};

const EXAMPLE: &str = "{\"input\": .., \"output\": .., \"ctxs\": [{\"title\": .., \"text\": ..}]}";

/// The questions of a data file in the form of predictions, in file order.
#[derive(Debug, Clone, PartialEq)]
pub struct Predictions {
    /// Its file.
    pub path: PathBuf,
    /// blake3 of the file's bytes.
    pub blake3: Fingerprint,
    /// Its predictions, each with a question; never empty.
    pub items: Vec<Prediction>,
}

/// Reads a file of predictions (`docs/formats.md`).
///
/// # Errors
/// [`Error::Input`](scholareval_core::Error::Input) with every fault; [`Error::Io`](scholareval_core::Error::Io) if the file cannot be read.
pub fn load_predictions(path: &Path) -> Result<Predictions> {
    let (text, blake3) = read_text(path)?;
    Ok(Predictions {
        blake3,
        ..parse_predictions(&text, path)?
    })
}

/// Parses one file; `path` is for messages. See [`load_predictions`].
///
/// ```
/// use scholareval_dataset::parse_predictions;
/// let text = r#"{"data": [{"input": "Why?", "output": "So [0].", "ctxs": [{"title": "T", "text": "X"}]}]}"#;
/// let predictions = parse_predictions(text, "mine.json".as_ref())?;
/// assert_eq!((predictions.items[0].id.as_str(), predictions.items[0].sources.len()), ("1", 1));
/// # Ok::<(), scholareval_core::Error>(())
/// ```
///
/// # Errors
/// [`Error::Input`](scholareval_core::Error::Input) with every fault found, such as a missing question.
pub fn parse_predictions(text: &str, path: &Path) -> Result<Predictions> {
    let text_of_rows = rows_as_jsonl(text, path)?;
    let (json, _) = without_bare_nan(&text_of_rows);
    let items = with_questions(read_predictions(&elements(&json, path)?, path)?, path)?;
    Ok(Predictions {
        path: path.to_path_buf(),
        blake3: blake3::hash(text.as_bytes()).into(),
        items,
    })
}

/// Checks that every prediction has a question.
///
/// # Errors
/// Every prediction without one.
pub(super) fn with_questions(items: Vec<Prediction>, path: &Path) -> Result<Vec<Prediction>> {
    all(items.into_iter().map(|item| {
        if item.input.is_empty() {
            Err(no_question(&item, path).into())
        } else {
            Ok(item)
        }
    }))
}

/// The warning about a file with a bare `NaN`, first on `line`.
pub(super) fn nan_warning(path: &Path, line: Option<usize>) -> Option<InputFault> {
    let fault =
        InputFault::new(path, "a bare NaN is read as missing text").hint("write a text or null");
    line.map(|line| fault.at_line(line))
}

/// How many rows of a CSV file have an empty cell in the place of their gold answer: it is none, as null is none in JSON.
pub(super) fn empty_golds(lines: &[JsonLine<'_>]) -> usize {
    let rows = lines.iter().filter(|line| is_csv(line.path));
    let rows = rows.filter_map(|line| serde_json::from_str::<Value>(line.text).ok());
    rows.filter(|row| row["answer"].as_str().map(str::trim) == Some(""))
        .count()
}

/// The note about so many [`empty_golds`]; `None` without any.
pub(super) fn empty_golds_note(count: usize) -> Option<String> {
    let cells = counted(count, "empty cell");
    (count > 0).then(|| format!("{cells} of answer in CSV: no gold answer there"))
}

/// Parses the elements; a prediction without a question gets an empty `input`.
///
/// # Errors
/// [`Error::Input`] with every fault found.
pub(super) fn read_predictions(elements: &[JsonLine<'_>], path: &Path) -> Result<Vec<Prediction>> {
    FileKind::Predictions.check(elements, path)?;
    if elements.is_empty() {
        let fault = InputFault::new(path, "no predictions in the file");
        return Err(
            fault.refuse("expected a JSON list, {\"data\": [..]} or lines of {input, output, ..}")
        );
    }
    all(elements
        .iter()
        .map(|line| Ok(line.read::<PredictionLine>(EXAMPLE)?.prediction(line))))
}

/// The fault of a prediction without a question.
pub(super) fn no_question(item: &Prediction, path: &Path) -> InputFault {
    let fault = InputFault::new(path, "neither input nor query")
        .at_line(item.line)
        .of_case(&*item.id);
    fault.hint("give each element the question as input")
}

/// An element in the file's schema.
#[derive(Deserialize)]
#[serde(expecting = "an object with input and output")]
struct PredictionLine {
    id: Option<Id>,
    case_id: Option<Id>,
    input: Option<OptionalText>,
    query: Option<OptionalText>,
    output: Option<OptionalText>,
    answer: Option<OptionalText>,
    docs: Option<Sources>,
    ctxs: Option<Sources>,
    gold_ctxs: Option<GoldSources>,
    gold_ctx: Option<Vec<GoldDocument>>,
    id_mapping: Option<BTreeMap<String, Id>>,
    qa_pairs: Option<Vec<ShortAnswers>>,
    annotations: Option<Vec<LongAnswer>>,
    final_passages: Option<Passages>,
}

impl PredictionLine {
    fn prediction(self, line: &JsonLine<'_>) -> Prediction {
        let replaced_ctxs = self
            .docs
            .as_ref()
            .and(self.ctxs.as_ref())
            .map(|ctxs| ctxs.0.len());
        let (gold_ctxs, documents) = match self.gold_ctxs {
            Some(GoldSources::Ids(ids)) => (Some(ids.into_iter().map(|id| id.0).collect()), None),
            Some(GoldSources::Documents(documents)) => (None, Some(documents)),
            None => (None, None),
        };
        // QASA's test file has the documents under the name that others give to ids, with the
        // passages under the singular.
        let documents = self.gold_ctx.or(documents).unwrap_or_default();
        let mut short_answers = Vec::new();
        for pair in self.qa_pairs.unwrap_or_default() {
            let texts = pair.short_answers.into_iter();
            short_answers.push(texts.filter_map(|text| text.given).collect());
        }
        let is_csv = is_csv(line.path);
        let answer = given(self.answer).filter(|text| !is_csv || !text.trim().is_empty());
        let long_answers = self.annotations.unwrap_or_default().into_iter();
        let id_mapping = self
            .id_mapping
            .map(|ids| ids.into_iter().map(|(number, id)| (number, id.0)).collect());
        Prediction {
            id: self
                .id
                .or(self.case_id)
                // The position, as some released sets have no ids.
                .map_or_else(|| (line.index + 1).to_string(), |id| id.0),
            input: given(self.input.or(self.query)).unwrap_or_default(),
            output: given(self.output).map(Arc::from),
            sources: self
                // Where a file has both, `docs` are the sources that the model was shown, to which
                // the numbers in the output refer.
                .docs
                .or(self.ctxs)
                .map(|sources| sources.0)
                .unwrap_or_default(),
            replaced_ctxs,
            final_passages: self.final_passages.and_then(Passages::text),
            id_mapping,
            gold: Gold {
                answer,
                gold_ctxs,
                gold_texts: documents
                    .into_iter()
                    .filter_map(GoldDocument::text)
                    .collect(),
                short_answers,
                long_answers: long_answers
                    .filter_map(|annotation| annotation.long_answer.given)
                    .collect(),
            },
            line: line.number,
        }
    }
}

/// A text that may be missing: null, or Python's bare `NaN`.
#[derive(Default, Deserialize)]
#[serde(try_from = "Value")]
struct OptionalText {
    given: Option<String>,
    is_nan: bool,
}

impl TryFrom<Value> for OptionalText {
    type Error = String;

    fn try_from(value: Value) -> Result<Self, String> {
        match value {
            Value::String(text) => Ok(Self {
                given: Some(text),
                is_nan: false,
            }),
            Value::Null => Ok(Self::default()),
            other if is_nan(&other) => Ok(Self {
                given: None,
                is_nan: true,
            }),
            other => Err(expected("a string", &other)),
        }
    }
}

/// A source of a list.
#[derive(Deserialize)]
#[serde(expecting = "an object with title and text")]
struct SourceLine {
    #[serde(default, deserialize_with = "present")]
    title: Option<OptionalText>,
    #[serde(default)]
    text: OptionalText,
    #[serde(default, deserialize_with = "present")]
    sent: Option<OptionalText>,
    // Of any type: benchmarks write each of these in several ways, and no score but that of the works needs them.
    #[serde(default)]
    authors: Value,
    #[serde(default)]
    year: Value,
    #[serde(default)]
    url: Value,
    #[serde(default)]
    doi: Value,
    #[serde(default)]
    id: Value,
    #[serde(default, rename = "paperId")]
    paper_id: Value,
}

impl SourceLine {
    /// Authors, year, address and id; `None` if the file has none of them.
    fn work(&self) -> Option<Box<SourceWork>> {
        let url = [&self.doi, &self.url]
            .into_iter()
            .filter_map(Value::as_str)
            .find(|address| !address.is_empty());
        let id = self.id.as_str().or_else(|| self.paper_id.as_str());
        let work = SourceWork {
            authors: author_names(&self.authors),
            year: year_of(&self.year),
            url: url.map(str::to_owned),
            id: id.map(str::to_owned),
        };
        (work != SourceWork::default()).then(|| Box::new(work))
    }
}

/// The names in a list of texts or of `{name}`; a single text holds one name.
fn author_names(authors: &Value) -> Vec<String> {
    let list = match authors {
        Value::Array(list) => list.as_slice(),
        single => std::slice::from_ref(single),
    };
    let names = list
        .iter()
        .filter_map(|author| author.as_str().or_else(|| author.get("name")?.as_str()));
    names
        .map(str::trim)
        .filter(|name| !name.is_empty())
        .map(str::to_owned)
        .collect()
}

/// `2015`, `2015.0` or `"2015"`.
fn year_of(year: &Value) -> Option<i32> {
    let number = match year {
        Value::Number(number) => number.as_f64()?,
        Value::String(text) => text.trim().parse().ok()?,
        _ => return None,
    };
    (1000.0..3000.0).contains(&number).then_some(number as i32)
}

/// A field that is present, even if null.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<OptionalText>, D::Error> {
    OptionalText::deserialize(deserializer).map(Some)
}

impl From<SourceLine> for Source {
    fn from(line: SourceLine) -> Self {
        // Files with short extracts (`sent`) show these to the model in place of the passage, so
        // citations are judged by them.
        let work = line.work();
        let text = line.sent.unwrap_or(line.text);
        Self {
            work,
            title: line.title.map(|title| title.given.unwrap_or_default()),
            text_is_nan: text.is_nan,
            text: text.given,
            key: None,
        }
    }
}

/// Sources: a list of objects, or an object of `[text, title]`.
#[derive(Deserialize)]
#[serde(try_from = "Value")]
pub(super) struct Sources(pub(super) Vec<Source>);

impl TryFrom<Value> for Sources {
    type Error = String;

    fn try_from(value: Value) -> Result<Self, String> {
        match value {
            Value::Array(_) => typed::<Vec<SourceLine>>(value)
                .map(|list| Self(list.into_iter().map(Source::from).collect())),
            Value::Object(map) => {
                let sources: Result<_, String> = map.into_iter().map(keyed_source).collect();
                sources.map(Self)
            }
            other => Err(expected("a list or an object", &other)),
        }
    }
}

/// Ids of gold sources, or the gold documents themselves, as in QASA's test file.
#[derive(Deserialize)]
#[serde(untagged, expecting = "expected a list of ids, or of documents {text}")]
enum GoldSources {
    Ids(Vec<Id>),
    Documents(Vec<GoldDocument>),
}

#[derive(Deserialize)]
#[serde(
    untagged,
    expecting = "expected a text or {text}; a text may be {contexts: [..]}"
)]
enum GoldDocument {
    Wrapped { text: GoldText },
    Bare(GoldText),
}

#[derive(Deserialize)]
#[serde(untagged)]
enum GoldText {
    Parts { contexts: Vec<String> },
    Whole(OptionalText),
}

impl GoldDocument {
    /// The text; parts are joined by spaces.
    fn text(self) -> Option<String> {
        let (Self::Wrapped { text } | Self::Bare(text)) = self;
        match text {
            GoldText::Parts { contexts } => Some(contexts.join(" ")),
            GoldText::Whole(text) => text.given,
        }
    }
}

#[derive(Deserialize)]
struct ShortAnswers {
    short_answers: Vec<OptionalText>,
}

#[derive(Deserialize)]
struct LongAnswer {
    long_answer: OptionalText,
}

/// Passages behind an answer.
#[derive(Deserialize)]
#[serde(
    untagged,
    expecting = "expected a text, or a list of texts and {title, text}"
)]
enum Passages {
    Parts(Vec<Passage>),
    Whole(OptionalText),
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Passage {
    // Larger than a text: a list of passages is mostly texts.
    Source(Box<SourceLine>),
    Text(OptionalText),
}

impl Passages {
    /// One text: as it is, or the parts of a list, one per line. Text parts are unchanged (a pipeline has numbered
    /// them); objects become `[n] title text`, n counted from 0 as in ScholarQABench's files.
    fn text(self) -> Option<String> {
        let parts = match self {
            Self::Whole(text) => return text.given,
            Self::Parts(parts) => parts,
        };
        let mut lines = Vec::new();
        for (index, part) in parts.into_iter().enumerate() {
            match part {
                Passage::Text(text) => lines.extend(text.given),
                Passage::Source(source) => lines.push(source_line(index, (*source).into())),
            }
        }
        Some(lines.join("\n"))
    }
}

fn given(text: Option<OptionalText>) -> Option<String> {
    text.and_then(|text| text.given)
}

/// A source of a map by its key: `[text, title]`.
fn keyed_source((key, pair): (String, Value)) -> Result<Source, String> {
    let (text, title) =
        typed::<(OptionalText, OptionalText)>(pair).map_err(|what| format!("{key}: {what}"))?;
    Ok(Source {
        title: title.given,
        text: text.given,
        text_is_nan: text.is_nan,
        key: Some(key),
        work: None,
    })
}

/// `[0] title text`, what is empty left out.
fn source_line(index: usize, source: Source) -> String {
    let mut line = format!("[{index}]");
    for text in [source.title, source.text].into_iter().flatten() {
        if !text.is_empty() {
            line.push(' ');
            line.push_str(&text);
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;
    use scholareval_core::domain::{Mode, Source};
    use scholareval_core::error::Error;
    use serde_json::json;

    fn parse(text: &str) -> Result<Predictions> {
        parse_predictions(text, Path::new("s.json"))
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
        assert_eq!(
            (
                item.id.as_str(),
                item.input.as_str(),
                item.output(),
                item.line
            ),
            ("7", "Q?", "o [0]", 1)
        );
        let source = |title: &str, text: &str| Source {
            title: Some(title.to_owned()),
            text: Some(text.to_owned()),
            ..Source::default()
        };
        assert_eq!(item.sources, [source("", "S"), source("", "U")]);
        assert_eq!(
            item.gold.gold_ctxs.as_deref(),
            Some(&["d0".to_owned(), "3".to_owned()][..])
        );
        assert_eq!(item.id_mapping.as_ref().unwrap()["1"], "3");
        assert_eq!(item.gold.gold_texts, ["one", "b c"]);
        assert_eq!(
            (&item.gold.short_answers[0][1], &item.gold.long_answers[0]),
            (&"y".to_owned(), &"l".to_owned())
        );
    }

    #[test]
    fn an_object_of_sources_has_text_and_title() {
        let item = &parse(r#"{"input": "q", "output": "", "ctxs": {"k": ["text", "title"]}}"#)
            .unwrap()
            .items[0];
        let expected = Source {
            title: Some("title".into()),
            text: Some("text".into()),
            text_is_nan: false,
            key: Some("k".into()),
            work: None,
        };
        assert_eq!(item.sources, [expected]);
    }

    #[test]
    fn a_source_may_name_its_work_in_several_ways() {
        let work = |ctx: serde_json::Value| {
            let text = json!([{"input": "q", "output": "o", "ctxs": [ctx]}]).to_string();
            parse(&text).unwrap().items[0].sources[0].work.clone()
        };
        let named = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        let full = json!({"authors": [{"authorId": "1", "name": "A B"}], "year": "2015", "url": "https://x.org", "doi": ""});
        let expected = SourceWork {
            authors: named(&["A B"]),
            year: Some(2015),
            url: Some("https://x.org".into()),
            id: None,
        };
        assert_eq!(work(full).as_deref(), Some(&expected));
        let other = json!({"authors": ["A", " "], "year": 2015.0, "url": 5, "doi": "10.1000/x"});
        let read = work(other).unwrap();
        assert_eq!((read.authors, read.year), (named(&["A"]), Some(2015)));
        assert_eq!(read.url.as_deref(), Some("10.1000/x"));
        assert_eq!(work(json!({"authors": null, "year": "soon"})), None);
    }

    #[test]
    fn final_passages_are_a_text_or_a_list_of_texts_or_objects() {
        let of = |value: serde_json::Value| {
            let text = json!([{"input": "q", "output": "o", "final_passages": value}]).to_string();
            parse(&text).unwrap().items[0].final_passages.clone()
        };
        assert_eq!(of(json!("[0] T X\n")).as_deref(), Some("[0] T X\n"));
        assert_eq!(
            of(json!(["[3] a", "[5] b"])).as_deref(),
            Some("[3] a\n[5] b")
        );
        let objects =
            json!([{"title": "T", "text": "X"}, {"text": "Y"}, {"title": "", "sent": "S"}]);
        assert_eq!(of(objects).as_deref(), Some("[0] T X\n[1] Y\n[2] S"));
        assert_eq!(of(json!(null)), None);
        let wrong = json!([{"input": "q", "output": "o", "final_passages": 3}]).to_string();
        assert!(faults(&wrong)[0].starts_with(
            "s.json:1: final_passages: expected a text, or a list of texts and {title"
        ));
    }

    #[test]
    fn a_bare_nan_is_missing_text_with_a_warning() {
        let text = "[\n{\"input\": \"q\", \"output\": \"o\", \"ctxs\": [{\"title\": \"T\", \"text\": NaN}]}]";
        let source = &parse(text).unwrap().items[0].sources[0];
        assert!(source.text_is_nan && source.text.is_none());
        let read =
            crate::parse_answers(text, "s".into(), Path::new("s.json"), Mode::Default).unwrap();
        assert_eq!(
            read.warnings
                .iter()
                .map(ToString::to_string)
                .collect::<Vec<_>>(),
            ["s.json:2: a bare NaN is read as missing text; write a text or null"]
        );
    }

    #[test]
    fn every_fault_is_reported_with_line_and_id() {
        let text = "{\"id\": \"a\", \"output\": 3}\n7\n{\"id\": \"b\", \"input\": \"q\", \"output\": \"\", \"ctxs\": [1]}\n\
            {\"id_mapping\": {\"0\": []}}";
        let expected = [
            "s.json:1 (case a): output: expected a string, found 3; write one {\"input\": ..",
            "s.json:2: invalid type: integer `7`, expected an object with input and output; write one",
            "s.json:3 (case b): ctxs: [0]: invalid type: integer `1`, expected an object with title and text; write",
            "s.json:4: id_mapping.0: expected an id, found a list; write",
        ];
        for (fault, expected) in faults(text).iter().zip(expected) {
            assert!(fault.starts_with(expected), "{fault}");
        }
        assert_eq!(
            faults("{\"id\": \"a\", \"output\": \"o\"}"),
            ["s.json:1 (case a): neither input nor query; give each element the question as input"]
        );
        assert!(faults("[]")[0].starts_with("s.json: no predictions in the file"));
    }
}
