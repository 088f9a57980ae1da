//! Reports: answers of sections, tables and citations, as systems write them for ScholarQA-CS2.
//!
//! What a completion is, is decided as by its reference (astabench 0.5.4, `evals/sqa`): a report, nothing, or what makes
//! it raise an exception.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::python_json::{self, is_truthy, kind};
use super::{IndexBase, Prediction};
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
        let is_decoded =
            |parsed: &Result<_, _>| !matches!(parsed, Err(python_json::Fault::Decode(_)));
        let parsed = Some(python_json::parse(whole))
            .filter(is_decoded)
            .unwrap_or_else(|| python_json::parse(inner));
        match parsed {
            Ok(value) => Self::of_response(&value),
            Err(python_json::Fault::Limit) => Self::faulty(ReportFault::Dropped(
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
        let cited = |(prediction, base): (&Prediction, IndexBase)| {
            let citation = |place: usize| {
                let source = &prediction.sources[place];
                let quote = source
                    .text
                    .clone()
                    .filter(|quote| is_quotable(quote, text, source.title.as_deref()));
                let shown =
                    quote.map_or_else(|| ShownText::Title(source.title.clone()), ShownText::Quotes);
                ShownCitation {
                    id: format!("[{}]", base.number_of(place)),
                    shown,
                }
            };
            prediction
                .cited_sources(base)
                .into_iter()
                .map(citation)
                .collect()
        };
        let citations = sources.map(cited).unwrap_or_default();
        Self {
            groups: vec![CitationGroup {
                text: without_tags(text),
                citations,
            }],
            fault: None,
        }
    }

    fn faulty(fault: ReportFault) -> (String, Self) {
        (
            String::new(),
            Self {
                groups: Vec::new(),
                fault: Some(fault),
            },
        )
    }
}

/// The text and the report of a response; an error where not even the text can be read.
fn read(response: &Value) -> Result<(String, Report), String> {
    let mut fields = object(response, "the answer")?;
    let filled = |key: &str| fields.get(key).filter(|value| is_truthy(value));
    if let (None, Some(inner)) = (filled("sections"), filled("response")) {
        fields = object(inner, "response")?;
    }
    let sections = match fields.get("sections") {
        None | Some(Value::Null) => return Err("sections is missing".to_owned()),
        Some(sections) => list(sections, "sections")?,
    };
    let (mut text, mut report) = (String::new(), Report::default());
    let mut add = |group: Result<CitationGroup, String>| match group {
        Ok(group) => report.groups.push(group),
        Err(what) => report.fault = report.fault.take().or(Some(ReportFault::Dropped(what))),
    };
    for (at, section) in sections.iter().enumerate() {
        let place = format!("sections[{at}]");
        let (own, group) = part(section, &place)?;
        add(group);
        if !own.is_empty() {
            text.push_str(&format!("{own}\n\n"));
        }
        if let Some(table) = section.get("table").filter(|table| !table.is_null()) {
            let (own, group) = part(table, &format!("{place}.table"))?;
            text.push_str(&format!("{own}\n\n"));
            if is_truthy(table) {
                add(group);
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
    let of = |key: &str| format!("{place}.{key}");
    fields
        .get("title")
        .filter(|title| !title.is_null())
        .map(|title| string(title, &of("title")))
        .transpose()?;
    let text = fields
        .get("text")
        .map_or(Ok(""), |text| string(text, &of("text")))?;
    let all = fields
        .get("citations")
        .map_or(Ok(&[][..]), |all| list(all, &of("citations")))?;
    let citations = all
        .iter()
        .enumerate()
        .map(|(at, one)| citation(one, text, &format!("{place}.citations[{at}]")));
    let citations: Vec<Result<ShownCitation, String>> = citations.collect::<Result<_, _>>()?;
    let missing = ["text", "citations"]
        .into_iter()
        .find(|key| !fields.contains_key(*key));
    let group = match missing {
        Some(key) => Err(format!("{} is missing", of(key))),
        None => citations.into_iter().collect(),
    };
    let group = group.map(|citations| CitationGroup {
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
    let of = |key: &str| format!("{place}.{key}");
    let id = fields
        .get("id")
        .ok_or_else(|| format!("{} is missing", of("id")))?;
    let id = string(id, &of("id"))?.to_owned();
    let snippets = fields
        .get("snippets")
        .map_or(Ok(&[][..]), |all| list(all, &of("snippets")))?;
    let snippets: Vec<&str> = snippets
        .iter()
        .map(|one| string(one, &of("snippets")))
        .collect::<Result<_, _>>()?;
    let title = fields
        .get("title")
        .filter(|title| !title.is_null())
        .map(|title| string(title, &of("title")))
        .transpose()?;
    fields
        .get("metadata")
        .filter(|own| !own.is_null())
        .map(|own| object(own, &of("metadata")))
        .transpose()?;
    let is_quoted = !snippets.is_empty()
        && snippets
            .iter()
            .all(|snippet| is_quotable(snippet, text, title));
    let shown = match is_quoted {
        true => ShownText::Quotes(snippets.join("... ")),
        false if fields.contains_key("title") => ShownText::Title(title.map(str::to_owned)),
        false => {
            return Ok(Err(format!(
                "{} is missing, and it has no usable snippet",
                of("title")
            )));
        }
    };
    Ok(Ok(ShownCitation { id, shown }))
}

/// Whether a snippet says more than the text that cites it and the title of its source.
fn is_quotable(snippet: &str, text: &str, title: Option<&str>) -> bool {
    let letters = |text: &str| {
        text.chars()
            .filter(char::is_ascii_alphabetic)
            .collect::<String>()
            .to_ascii_lowercase()
    };
    let own = letters(snippet);
    let is_title = title.is_some_and(|title| !title.is_empty() && letters(title) == own);
    snippet != PLACEHOLDER && !is_title && !letters(text).contains(&own)
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
