//! What is in the messages of our own prompt set, and judges that answer by it.

use std::sync::{Arc, Mutex};

use serde_json::json;

use super::fake_server::{Act, Behaviour, Recorded};

/// The sections that the fence knows.
const SECTIONS: [&str; 13] = [
    "question",
    "response",
    "response_a",
    "response_b",
    "criterion",
    "snippets",
    "instruction",
    "reference",
    "rubric",
    "document",
    "claim",
    "page",
    "statements",
];

/// The kind of question, by the sections that the message has.
pub(crate) fn kind_of(request: &Recorded) -> &'static str {
    let (outside, sections) = unfenced(&request.user_message());
    let has = |name: &str| sections.iter().any(|(section, _)| section == name);
    match () {
        () if has("snippets") => "evidence",
        () if has("criterion") => "property",
        () if outside.contains("claim_text") => "citations",
        () => "expertise",
    }
}

/// The text of a section, or nothing.
pub(crate) fn section(request: &Recorded, name: &str) -> String {
    let (_, sections) = unfenced(&request.user_message());
    sections
        .into_iter()
        .find(|(section, _)| section == name)
        .map(|(_, text)| text)
        .unwrap_or_default()
}

/// The answer that is being judged.
pub(crate) fn answer_of(request: &Recorded) -> String {
    section(request, "response")
}

/// Takes a message apart by the rule of the fence, as a strict reader would: a section begins with
/// `<name id="8 hexadecimal digits">` and a line feed, and ends with nothing but a line feed and the closing tag of
/// the same name and id. Gives what stands outside, and the sections.
pub(crate) fn unfenced(message: &str) -> (String, Vec<(String, String)>) {
    let (mut outside, mut sections) = (String::new(), Vec::new());
    let mut rest = message;
    while let Some((before, name, id, after)) = next_opening(rest) {
        let closing = format!("\n</{name} id=\"{id}\">");
        let Some(end) = after.find(&closing) else {
            break;
        };
        outside.push_str(before);
        sections.push((name.to_owned(), after[..end].to_owned()));
        rest = &after[end + closing.len()..];
    }
    outside.push_str(rest);
    (outside, sections)
}

/// The first opening tag: what stands before it, its name, its id, what follows.
fn next_opening(text: &str) -> Option<(&str, &'static str, &str, &str)> {
    text.match_indices('<').find_map(|(at, _)| {
        SECTIONS.into_iter().find_map(|name| {
            let tail = text[at + 1..].strip_prefix(name)?.strip_prefix(" id=\"")?;
            let (id, tail) = tail.split_at_checked(8)?;
            let tail = tail.strip_prefix("\">\n")?;
            id.chars()
                .all(|c| c.is_ascii_hexdigit())
                .then_some((&text[..at], name, id, tail))
        })
    })
}

/// A judge of constant opinion: 8 points for everything, one snippet conveyed, two claims of which one has a citation
/// with an excerpt.
///
/// A plain case then has: length 1 (few words), expertise 0.8, citations 1/2, excerpts 1/1, p0 0.8, p0_evidence 1/2,
/// p1 0.8, p1_evidence 1/1, so that
/// score = 0.05 * 1 + 0.05 * 0.8 + 0.2 * 0.5 + 0.1 * 1 + 0.15 * (0.8 + 0.5 + 0.8 + 1) = 0.755 and
/// ann_score = 0.15 * (0.8 + 0.5 + 0.8 + 1) / 0.6 = 0.775.
pub(crate) fn constant_judge() -> Behaviour {
    Behaviour::good().saying(|request| constant_reply(kind_of(request)))
}

/// What the constant judge says.
pub(crate) fn constant_reply(kind: &str) -> String {
    let claims = json!([
        {"claim_text": "one", "citations": [{"citation_text": "[1]", "excerpts": ["words"]}]},
        {"claim_text": "two", "citations": []},
    ]);
    match kind {
        "citations" => json!({"claims": claims}),
        "evidence" => json!({"score": 1}),
        _ => json!({"score": 8, "reason": "it is so"}),
    }
    .to_string()
}

pub(crate) const CONSTANT_SCORE: f64 = 0.755;
pub(crate) const CONSTANT_ANN_SCORE: f64 = 0.775;

/// A chat request begun (`true`) or answered, with the answer it is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Moment {
    pub(crate) answer: String,
    pub(crate) begins: bool,
}

/// When requests came and were answered, in order.
#[derive(Debug, Clone, Default)]
pub(crate) struct Timeline(Arc<Mutex<Vec<Moment>>>);

impl Timeline {
    /// Lets `judge` note its requests here. A request that comes while another is being answered stands between the
    /// beginning and the end of that one.
    pub(crate) fn watch(&self, judge: Behaviour) -> Behaviour {
        let (begun, ended) = (self.clone(), self.clone());
        // The rule takes no request, it only sees them all.
        judge
            .when(move |request| begun.note(request, true), Act::Good)
            .saying(move |request| {
                ended.note(request, false);
                constant_reply(kind_of(request))
            })
    }

    fn note(&self, request: &Recorded, begins: bool) -> bool {
        self.0.lock().unwrap().push(Moment {
            answer: answer_of(request),
            begins,
        });
        false
    }

    pub(crate) fn moments(&self) -> Vec<Moment> {
        self.0.lock().unwrap().clone()
    }
}
