//! Reports: answers of sections, tables and citations, as systems write them for ScholarQA-CS2.
//!
//! What a completion is, is decided as by its reference (astabench 0.5.4, `evals/sqa`): a report, nothing, or what makes
//! it raise an exception.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::python_json::{self, is_truthy, kind};
use super::{IndexBase, Mode, Prediction, Source};
use crate::text::paper_tags::without_tags;
use crate::text::python_chars::is_python_whitespace;

/// What Semantic Scholar gives in place of an abstract: no quote.
const PLACEHOLDER: &str =
    "Please click on the paper title to read the abstract on Semantic Scholar.";

/// The citations of a report; its text is the text of the answer.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    /// Each section, and after it its table if that is not empty.
    pub groups: Vec<CitationGroup>,
    /// Why it has no sections to judge.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault: Option<ReportFault>,
}

/// A section or a table with its citations.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CitationGroup {
    /// Its text without tags, as it is shown to the judge.
    pub text: String,
    /// Its citations, cited in the text or not.
    pub citations: Vec<ShownCitation>,
}

/// Why a report cannot be judged.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReportFault {
    /// The completion does not contain a report: all metrics are 0.
    Nothing(String),
    /// The reference raises an exception and leaves the answer out of its means.
    Dropped(String),
}

/// A citation as it is shown to the judge.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShownCitation {
    /// The marker, as it is in the text.
    pub id: String,
    /// What is known of the source.
    pub shown: ShownText,
}

/// What is known of a source.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ShownText {
    /// Quotes from it, already joined.
    Quotes(String),
    /// Nothing but its title, which a null makes `None`; shown after the prompt set's title marker.
    Title(Option<String>),
}

impl ShownText {
    /// The text shown: a title after the prompt set's marker, and `None`, as Python writes a null, for no title.
    pub fn text(&self, title_marker: &str) -> Cow<'_, str> {
        match self {
            Self::Quotes(quotes) => quotes.into(),
            Self::Title(title) => {
                format!("{title_marker}{}", title.as_deref().unwrap_or("None")).into()
            }
        }
    }
}

impl Report {
    /// The text of the report in a completion, and the report: JSON from the first `{` to the last `}`, else the same less
    /// its first and last character.
    pub fn in_completion(completion: &str) -> (String, Self) {
        let start = completion.find('{').unwrap_or(completion.len());
        let end = completion.rfind('}').map_or(0, |end| end + 1);
        let whole = completion.get(start..end).unwrap_or_default();
        // Without a closing brace, Python's index -1 stands for the last character.
        let last = completion[..if end > 0 { end } else { completion.len() }]
            .char_indices()
            .next_back();
        let inner = last
            .and_then(|(last, _)| completion.get(start + 1..last))
            .unwrap_or_default();
        let mut parsed = python_json::parse(whole);
        if matches!(parsed, Err(python_json::PythonJsonFault::Decode(_))) {
            parsed = python_json::parse(inner);
        }
        match parsed {
            Ok(value) => Self::of_response(&value),
            Err(python_json::PythonJsonFault::Limit) => Self::faulty(ReportFault::Dropped(
                "its JSON is beyond Python's limits".into(),
            )),
            Err(_) => Self::faulty(ReportFault::Nothing("no JSON object in the answer".into())),
        }
    }

    /// The text of the report `{sections: [..]}` or `{response: {sections: [..]}}`, and the report.
    pub fn of_response(response: &Value) -> (String, Self) {
        if !is_truthy(response) {
            return Self::faulty(ReportFault::Nothing("the response is empty".to_owned()));
        }
        read(response).unwrap_or_else(|what| Self::faulty(ReportFault::Dropped(what)))
    }

    /// A plain text as one section, which cites the sources of its prediction by number.
    pub fn of_text(text: &str, sources: Option<(&Prediction, IndexBase)>) -> Self {
        let mut citations = Vec::new();
        if let Some((prediction, base)) = sources {
            for place in prediction.cited_sources(base, Mode::Default) {
                citations.push(ShownCitation {
                    id: format!("[{}]", base.number_of(place)),
                    shown: shown_source(&prediction.sources[place], text),
                });
            }
        }
        Self {
            groups: vec![CitationGroup {
                text: without_tags(text),
                citations,
            }],
            fault: None,
        }
    }

    /// Adds a group, or the first reason why one cannot be judged.
    fn add(&mut self, group: Result<CitationGroup, String>) {
        match group {
            Ok(group) => self.groups.push(group),
            Err(what) if self.fault.is_none() => self.fault = Some(ReportFault::Dropped(what)),
            Err(_) => {}
        }
    }

    fn faulty(fault: ReportFault) -> (String, Self) {
        let report = Self {
            groups: Vec::new(),
            fault: Some(fault),
        };
        (String::new(), report)
    }
}

/// What is shown of a source that a text cites: its text, if that says more, else its title.
fn shown_source(source: &Source, text: &str) -> ShownText {
    match &source.text {
        Some(quote) if is_quotable(quote, text, source.title.as_deref()) => {
            ShownText::Quotes(quote.clone())
        }
        _ => ShownText::Title(source.title.clone()),
    }
}

/// The text and the report of a response; an error where not even the text can be read.
fn read(response: &Value) -> Result<(String, Report), String> {
    let mut fields = object(response, "the answer")?;
    // Once and no deeper, as in the reference: a response in a response has no sections.
    if filled(fields, "sections").is_none()
        && let Some(inner) = filled(fields, "response")
    {
        fields = object(inner, "response")?;
    }
    let sections = match fields.get("sections") {
        None | Some(Value::Null) => return Err("sections is missing".to_owned()),
        Some(sections) => list(sections, "sections")?,
    };
    let mut text = String::new();
    let mut report = Report::default();
    for (at, section) in sections.iter().enumerate() {
        let place = format!("sections[{at}]");
        let (paragraphs, group) = part(section, &place)?;
        report.add(group);
        if !paragraphs.is_empty() {
            text.push_str(&format!("{paragraphs}\n\n"));
        }
        if let Some(table) = section.get("table").filter(|table| !table.is_null()) {
            let (paragraphs, group) = part(table, &format!("{place}.table"))?;
            text.push_str(&format!("{paragraphs}\n\n"));
            if is_truthy(table) {
                report.add(group);
            }
        }
    }
    Ok((text.trim_matches(is_python_whitespace).to_owned(), report))
}

/// The text of a section or table, and its citations, or why they cannot be judged.
fn part<'a>(
    value: &'a Value,
    place: &str,
) -> Result<(&'a str, Result<CitationGroup, String>), String> {
    let fields = object(value, place)?;
    // The title is not used, but the reference fails where it is not a text.
    optional_string(fields, "title", place)?;
    let text = match fields.get("text") {
        Some(text) => string(text, &format!("{place}.text"))?,
        None => "",
    };
    let mut citations: Vec<Result<ShownCitation, String>> = Vec::new();
    for (at, entry) in list_of(fields, "citations", place)?.iter().enumerate() {
        // Two kinds of fault: `?` for what makes the reference fail while reading, so that not even
        // the text is judged; the inner error for what fails when citations are judged.
        citations.push(citation(entry, text, &format!("{place}.citations[{at}]"))?);
    }
    for key in ["text", "citations"] {
        if !fields.contains_key(key) {
            return Ok((text, Err(format!("{place}.{key} is missing"))));
        }
    }
    let citations: Result<Vec<ShownCitation>, String> = citations.into_iter().collect();
    let group = citations.map(|citations| CitationGroup {
        text: without_tags(text),
        citations,
    });
    Ok((text, group))
}

/// A citation of this text as it is shown, or why it cannot be.
fn citation(
    value: &Value,
    text: &str,
    place: &str,
) -> Result<Result<ShownCitation, String>, String> {
    let fields = object(value, place)?;
    let Some(id) = fields.get("id") else {
        return Err(format!("{place}.id is missing"));
    };
    let id = string(id, &format!("{place}.id"))?.to_owned();
    let mut snippets = Vec::new();
    for snippet in list_of(fields, "snippets", place)? {
        snippets.push(string(snippet, &format!("{place}.snippets"))?);
    }
    let title = optional_string(fields, "title", place)?;
    // Not used either, but the reference fails where it is not an object.
    if let Some(metadata) = fields.get("metadata")
        && !metadata.is_null()
    {
        object(metadata, &format!("{place}.metadata"))?;
    }
    let mut quotes = snippets.iter();
    let shown = if !snippets.is_empty() && quotes.all(|quote| is_quotable(quote, text, title)) {
        // The reference's separator.
        ShownText::Quotes(snippets.join("... "))
    } else if fields.contains_key("title") {
        ShownText::Title(title.map(str::to_owned))
    } else {
        return Ok(Err(format!(
            "{place}.title is missing, and it has no usable snippet"
        )));
    };
    Ok(Ok(ShownCitation { id, shown }))
}

/// The value of a field, if it has one that Python counts as true.
fn filled<'a>(fields: &'a Map<String, Value>, key: &str) -> Option<&'a Value> {
    fields.get(key).filter(|value| is_truthy(value))
}

/// The text of a field that may be missing or null.
fn optional_string<'a>(
    fields: &'a Map<String, Value>,
    key: &str,
    place: &str,
) -> Result<Option<&'a str>, String> {
    match fields.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(value) => Ok(Some(string(value, &format!("{place}.{key}"))?)),
    }
}

/// The list of a field that may be missing.
fn list_of<'a>(
    fields: &'a Map<String, Value>,
    key: &str,
    place: &str,
) -> Result<&'a [Value], String> {
    match fields.get(key) {
        None => Ok(&[]),
        Some(value) => list(value, &format!("{place}.{key}")),
    }
}

/// Whether a snippet says more than the text that cites it and the title of its source.
fn is_quotable(snippet: &str, text: &str, title: Option<&str>) -> bool {
    let letters = |text: &str| {
        text.chars()
            .filter(char::is_ascii_alphabetic)
            .collect::<String>()
            .to_ascii_lowercase()
    };
    // Letters only, as in the reference: a quote that differs in spaces or marks says nothing new.
    // A snippet without ASCII letters is part of every text.
    let quote = letters(snippet);
    let is_title = title.is_some_and(|title| !title.is_empty() && letters(title) == quote);
    snippet != PLACEHOLDER && !is_title && !letters(text).contains(&quote)
}

fn object<'a>(value: &'a Value, place: &str) -> Result<&'a Map<String, Value>, String> {
    value
        .as_object()
        .ok_or_else(|| format!("{place} is {}, not an object", kind(value)))
}

fn list<'a>(value: &'a Value, place: &str) -> Result<&'a [Value], String> {
    value
        .as_array()
        .map(Vec::as_slice)
        .ok_or_else(|| format!("{place} is {}, not a list", kind(value)))
}

/// A number beyond the range of `serde_json` is not a string.
fn string<'a>(value: &'a Value, place: &str) -> Result<&'a str, String> {
    let text = value
        .as_str()
        .filter(|_| python_json::number(value).is_none());
    text.ok_or_else(|| format!("{place} is {}, not a string", kind(value)))
}
