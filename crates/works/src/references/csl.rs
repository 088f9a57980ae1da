//! CSL-JSON, as Zotero, Mendeley, Pandoc and Crossref write it.

use std::path::Path;

use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::{
    ParsedEntry, add_author, place_of, plain_text, settle_preprint, take_arxiv_id, year_in,
};
use crate::names::name_of_parts;
use scholareval_core::domain::{Reference, ReferenceKind};
use scholareval_core::error::{InputFault, Result};

/// Fields of answers and predictions, which CSL-JSON does not have.
const ANSWER_FIELDS: [&str; 5] = ["answer_text", "answer", "output", "response", "completion"];

/// Whether JSON is a library: its first element has a title or a DOI and no field of an answer.
pub(super) fn is_csl(text: &str) -> bool {
    let Ok(elements) = elements(text) else {
        return false;
    };
    let first = elements.first().map(|(_, raw)| raw.get());
    let Some(Value::Object(first)) = first.and_then(|raw| serde_json::from_str(raw).ok()) else {
        return false;
    };
    let is_work = ["title", "DOI", "container-title"]
        .iter()
        .any(|name| first.contains_key(*name));
    is_work && !ANSWER_FIELDS.iter().any(|name| first.contains_key(*name))
}

/// Members that works have and saved pages do not.
const MEMBERS: [&str; 5] = ["issued", "DOI", "container-title", "ISBN", "citation-key"];

/// Whether this is a work, and not a saved page.
pub(crate) fn is_csl_record(record: &Map<String, Value>) -> bool {
    record.contains_key("title") && MEMBERS.iter().any(|name| record.contains_key(*name))
}

/// The entries of a library.
///
/// # Errors
/// For invalid JSON, with its line.
pub(super) fn parse(text: &str, path: &Path) -> Result<Vec<ParsedEntry>> {
    let elements = elements(text).map_err(|error| {
        let what = format!("invalid JSON: {error}");
        InputFault::new(path, what).at_line(error.line())
    })?;
    let mut entries = Vec::with_capacity(elements.len());
    for (line, raw) in elements {
        let value: Value = serde_json::from_str(raw.get()).unwrap_or_default();
        entries.push(match &value {
            Value::Object(_) => Ok(reference(&value, path, line)),
            _ => Err(InputFault::new(path, "an entry is not a JSON object").at_line(line)),
        });
    }
    Ok(entries)
}

/// The elements of a list, of `{"items": [..]}`, or the single object, each with its line.
fn elements(text: &str) -> serde_json::Result<Vec<(usize, &RawValue)>> {
    #[derive(serde::Deserialize)]
    struct CslItems<'a> {
        #[serde(borrow)]
        items: Vec<&'a RawValue>,
    }
    let text = text.trim_end();
    let raws = if text.trim_start().starts_with('[') {
        serde_json::from_str::<Vec<&RawValue>>(text)?
    } else if let Ok(wrapped) = serde_json::from_str::<CslItems<'_>>(text) {
        wrapped.items
    } else {
        vec![serde_json::from_str::<&RawValue>(text)?]
    };
    let mut lines = Vec::with_capacity(raws.len());
    let mut counted = 0;
    let mut line = 1;
    for raw in raws {
        // The raw values are slices of the text.
        let start = raw.get().as_ptr() as usize - text.as_ptr() as usize;
        line += text[counted..start].matches('\n').count();
        counted = start;
        lines.push((line, raw));
    }
    Ok(lines)
}

/// The reference of an entry.
fn reference(entry: &Value, path: &Path, line: usize) -> Reference {
    let key = text_of(&entry["id"]).unwrap_or_default();
    let mut reference = Reference::new(key, place_of(path, line));
    reference.title = text_of(&entry["title"])
        .map(|title| plain_text(&title))
        .unwrap_or_default();
    let authors = &entry["author"];
    let authors = if authors.is_array() {
        authors
    } else {
        &entry["editor"]
    };
    for author in authors.as_array().into_iter().flatten() {
        take_author(&mut reference, author);
    }
    reference.year = year_of(&entry["issued"]);
    let venue = text_of(&entry["container-title"]);
    let venue = venue.or_else(|| text_of(&entry["publisher"]));
    reference.venue = venue.map(|venue| plain_text(&venue));
    reference.kind = kind_of(entry["type"].as_str().unwrap_or_default());
    if let Some(doi) = text_of(&entry["DOI"]) {
        reference.take_identifiers(&doi);
    }
    for name in ["PMID", "PMCID"] {
        if let Some(id) = text_of(&entry[name]) {
            reference.take_identifiers(&format!("{name}: {id}"));
        }
    }
    for name in ["URL", "note", "archive_location", "number"] {
        if let Some(text) = text_of(&entry[name]) {
            reference.take_identifiers(&text);
            if name != "URL" {
                take_arxiv_id(&mut reference, &text);
            }
        }
    }
    settle_preprint(&mut reference);
    reference
}

/// `{family, given}` with particles, or `{literal}`.
fn take_author(reference: &mut Reference, author: &Value) {
    let part = |name: &str| text_of(&author[name]).unwrap_or_default();
    let literal = part("literal");
    let mut family = part("family");
    if family.is_empty() {
        let name = if literal.is_empty() {
            part("given")
        } else {
            literal
        };
        add_author(reference, &name);
        return;
    }
    let particle = part("non-dropping-particle");
    if !particle.is_empty() {
        family = format!("{particle} {family}");
    }
    reference.authors.push(name_of_parts(
        &plain_text(&family),
        &plain_text(&part("given")),
    ));
}

/// `{date-parts: [[2021, 5, 14]]}`, `{raw: ..}`, `{literal: ..}`, or a text.
fn year_of(issued: &Value) -> Option<i32> {
    if let Some(year) = text_of(&issued["date-parts"][0][0]) {
        return year_in(&year);
    }
    let given = ["raw", "literal", "year"]
        .iter()
        .find_map(|name| text_of(&issued[*name]));
    year_in(&given.or_else(|| text_of(issued))?)
}

/// A text or a number; of a list the first (Crossref's titles).
fn text_of(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.trim().to_owned()),
        Value::Number(number) => Some(number.to_string()),
        Value::Array(list) => text_of(list.first()?),
        _ => None,
    }
}

/// The kind of work of a CSL type, or of a type of Crossref.
fn kind_of(kind: &str) -> ReferenceKind {
    match kind {
        "article-journal"
        | "article-magazine"
        | "article-newspaper"
        | "paper-conference"
        | "review"
        | "journal-article"
        | "proceedings-article" => ReferenceKind::Article,
        "article" | "posted-content" => ReferenceKind::Preprint,
        "book" | "chapter" | "book-chapter" | "collection" | "entry" | "entry-dictionary"
        | "entry-encyclopedia" | "thesis" | "report" | "manuscript" | "patent" | "standard"
        | "legal_case" | "legislation" => ReferenceKind::Book,
        "webpage" | "post" | "post-weblog" => ReferenceKind::Web,
        "software" | "dataset" => ReferenceKind::Software,
        _ => ReferenceKind::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Vec<Reference> {
        let entries = parse(text, "refs.json".as_ref()).unwrap();
        entries.into_iter().map(|entry| entry.unwrap()).collect()
    }

    #[test]
    fn an_entry_with_everything() {
        let text = r#"[
          {"id": 7, "type": "article-journal", "title": "<i>Ice</i> &amp; snow",
           "author": [{"family": "Berg", "given": "Jan", "non-dropping-particle": "van den"}, {"literal": "ATLAS Collaboration"}],
           "issued": {"date-parts": [["2021", 5]]}, "container-title": "Nature", "DOI": "10.1000/ABC", "PMID": "12"}
        ]"#;
        let references = read(text);
        let reference = &references[0];
        assert_eq!(
            (reference.key.as_str(), reference.place.as_str()),
            ("7", "refs.json:2")
        );
        assert_eq!(reference.title, "Ice & snow");
        assert_eq!(reference.authors[0].family, "van den Berg");
        assert_eq!(reference.authors[1].text(), "ATLAS Collaboration");
        assert_eq!(
            (reference.year, reference.doi.as_deref()),
            (Some(2021), Some("10.1000/abc"))
        );
        assert_eq!(
            (reference.pmid.as_deref(), reference.kind),
            (Some("12"), ReferenceKind::Article)
        );
    }

    #[test]
    fn lists_of_crossref_and_years_in_every_form() {
        let text = r#"{"items": [{"title": ["T"], "container-title": ["V"], "type": "posted-content"},
            {"title": "U", "issued": {"raw": "2020-01"}}, {"title": "W", "issued": {"literal": "in press"}},
            {"title": "X", "note": "arXiv:2101.00001 [cs]"}]}"#;
        let references = read(text);
        assert_eq!(references[0].title, "T");
        assert_eq!(references[0].kind, ReferenceKind::Preprint);
        let years: Vec<Option<i32>> = references.iter().map(|reference| reference.year).collect();
        assert_eq!(years, [None, Some(2020), None, None]);
        assert_eq!(references[3].arxiv.as_deref(), Some("2101.00001"));
    }

    #[test]
    fn answers_are_no_library_and_faults_have_lines() {
        assert!(is_csl(r#"[{"title": "T", "type": "book"}]"#));
        assert!(!is_csl(r#"[{"title": "T", "answer_text": "A"}]"#));
        assert!(!is_csl(r#"[{"case_id": "T"}]"#));
        assert!(!is_csl("{"));
        let entries = parse("[\n{\"title\": \"T\"},\n5]", "r.json".as_ref()).unwrap();
        let fault = entries[1].as_ref().unwrap_err().to_string();
        assert_eq!(fault, "r.json:3: an entry is not a JSON object");
        let error = parse("[\n{\"title\": \"T\"", "r.json".as_ref()).unwrap_err();
        assert!(
            error.to_string().starts_with("r.json:2: invalid JSON"),
            "{error}"
        );
    }
}
