//! Which claims of a section or table do its citations support? A list (ScholarQA-CS2).

use std::borrow::Cow;
use std::sync::Arc;

use serde_json::{Value, json};

use super::answered::judged_text;
use super::astabench::{self, whole_number};
use super::interface::Question;
use super::kind::KindInfo;
use super::reading::{
    Unreadable, list_of, list_schema, object_schema, quoted, single, text_schema,
};
use super::variable::{Insert, Variable};
use super::words::Words;
use crate::domain::python_json::kind;
use crate::domain::{CitedClaim, JudgeReply, Mode, Reading, ShownCitation, Verdict, text_of};
use crate::text::sentences::simple_sentences;

/// Claims of a section with their citations.
pub static CITATION_GROUP: KindInfo = KindInfo {
    name: "citation_group",
    family: "cs2",
    variables: &[
        Variable::hostile("response").shared(),
        Variable::hostile("citations").in_section("document"),
    ],
    has_title_marker: true,
    ..KindInfo::DEFAULT
};

/// Words that pydantic reads as false and as true.
const WORDS: [[&str; 6]; 2] = [
    ["0", "off", "f", "false", "n", "no"],
    ["1", "on", "t", "true", "y", "yes"],
];

/// Decides which claims of a section or table are supported by its citations.
#[derive(Debug, Clone, PartialEq)]
pub struct SectionCitations {
    /// The section's or the table's text.
    pub text: Arc<str>,
    /// All its citations, cited in the text or not; never empty.
    pub citations: Arc<[ShownCitation]>,
}

impl Question for SectionCitations {
    fn info(&self) -> &'static KindInfo {
        &CITATION_GROUP
    }

    fn value<'a>(&'a self, variable: &str, insert: &Insert<'_>) -> Cow<'a, str> {
        match variable {
            "response" => Cow::Borrowed(&self.text),
            "citations" => Cow::Owned(self.shown_citations(insert)),
            _ => Cow::Borrowed(""),
        }
    }

    fn shared_texts(&self) -> Vec<&str> {
        // Twice, since a section is also the question: the ids in cached requests are hashes of both.
        vec![&self.text, &self.text]
    }

    judged_text!(text);

    fn schema(&self) -> Option<Value> {
        let ids = list_schema(&text_schema());
        let truth = json!({"type": "boolean"});
        let claim = json!({
            "text": text_schema(), "supporting": ids, "non_supporting": ids, "is_fully_supported": truth,
        });
        let claims = list_schema(&object_schema(&claim));
        Some(object_schema(&json!({"claims": claims})))
    }

    fn read(&self, reply: &JudgeReply, mode: Mode) -> Result<Reading, Unreadable> {
        let object = astabench::object(reply, mode)?;
        let list = list_of(&object, "claims", "").map_err(Unreadable::new)?;
        let claims: Result<Arc<[CitedClaim]>, String> =
            list.iter().map(|entry| claim(entry, mode)).collect();
        let claims = claims.map_err(Unreadable::new)?;
        Ok(Reading::new(Verdict::CitedClaims(claims)))
    }

    /// Nothing is behind it.
    fn opening(&self) -> Verdict {
        Verdict::CitedClaims(Arc::default())
    }

    /// Claims are sentences; the citations in one support it by the words of their sources.
    fn baseline(&self, words: &dyn Words) -> Option<String> {
        let mut claims: Vec<Value> = Vec::new();
        for range in simple_sentences(&self.text) {
            let claim = &self.text[range];
            let mut ids: Vec<&str> = Vec::new();
            for citation in &*self.citations {
                let is_cited = claim.contains(&citation.id);
                if is_cited && words.is_support(&citation.shown.text(""), claim) {
                    ids.push(&citation.id);
                }
            }
            claims.push(
                json!({"text": claim, "is_fully_supported": !ids.is_empty(), "supporting": ids}),
            );
        }
        Some(json!({"claims": claims}).to_string())
    }
}

impl SectionCitations {
    /// Each citation with what is known of its source.
    fn shown_citations(&self, insert: &Insert<'_>) -> String {
        let mut shown: Vec<String> = Vec::new();
        for citation in &*self.citations {
            let text = citation.shown.text(insert.title_marker);
            shown.push(insert.on_one_line(&format!("{}: {text}", citation.id)));
        }
        shown.join("\n\n")
    }
}

/// A claim, with the conversions of pydantic: ids become texts as Python prints them, words such as `yes` are true.
fn claim(claim: &Value, mode: Mode) -> Result<CitedClaim, String> {
    let has_text = claim
        .get("text")
        .is_some_and(|text| kind(text) == "a string");
    if mode == Mode::Compat && !has_text {
        return Err("a claim has no text".to_owned());
    }
    let support =
        single(claim, "is_fully_supported")?.ok_or("a claim has no is_fully_supported")?;
    let is_fully_supported = truth(support).ok_or_else(|| {
        format!(
            "is_fully_supported is {}, not true or false",
            quoted(&text_of(support))
        )
    })?;
    Ok(CitedClaim {
        supporting: ids(claim, "supporting")?,
        non_supporting: ids(claim, "non_supporting")?,
        is_fully_supported,
    })
}

/// The ids that a claim lists under a key, which may be missing.
fn ids(claim: &Value, key: &str) -> Result<Vec<String>, String> {
    if claim.get(key).is_none() {
        return Ok(Vec::new());
    }
    let list = list_of(claim, key, "claim.")?;
    Ok(list.iter().map(id).collect())
}

/// An id as Python prints it.
fn id(id: &Value) -> String {
    match id {
        Value::Null => "None".to_owned(),
        Value::Bool(true) => "True".to_owned(),
        Value::Bool(false) => "False".to_owned(),
        _ => text_of(id),
    }
}

/// True or false, also as a word, or as 1 or 0.
fn truth(value: &Value) -> Option<bool> {
    if let Value::String(text) = value {
        let text = text.to_ascii_lowercase();
        let place = WORDS.iter().position(|words| words.contains(&&*text));
        return place.map(|place| place == 1);
    }
    match whole_number(value) {
        Some(0.0) => Some(false),
        Some(1.0) => Some(true),
        _ => None,
    }
}
