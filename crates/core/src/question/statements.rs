//! Which statements of a report cite web pages? A list of statements with their addresses.

use std::borrow::Cow;
use std::sync::Arc;

use serde_json::{Value, json};

use super::answered::judged_text;
use super::fact::{self, FactExtraction, PythonException};
use super::interface::Question;
use super::kind::{CHINESE, KindInfo, PAGES_PARTS, part_in};
use super::reading::{self, Unreadable, list_of, list_schema, object_schema, single, text_schema};
use super::variable::{Insert, Variable};
use super::words::Words;
use crate::domain::{
    CitedStatement, JudgeReply, Mode, Reading, ReportLanguage, Verdict, cited_claims, text_of,
};

/// Statements with the pages that they cite.
pub static STATEMENTS: KindInfo = KindInfo {
    name: "statements",
    family: "pages",
    parts: PAGES_PARTS,
    optional_parts: &[CHINESE],
    variables: &[Variable::hostile("response").shared()],
    // The reply is as long as the report; a cut one is asked again by halves.
    reply_limit: Some(16_000),
    ..KindInfo::DEFAULT
};

/// Lists the statements of a report, or of a part of it, that cite pages.
#[derive(Debug, Clone, PartialEq)]
pub struct CitedStatements {
    /// The report, with its list of references.
    pub report: Arc<str>,
    /// The language of the report.
    pub language: ReportLanguage,
}

impl Question for CitedStatements {
    fn info(&self) -> &'static KindInfo {
        &STATEMENTS
    }

    fn part(&self) -> &'static str {
        part_in(self.language)
    }

    fn value<'a>(&'a self, variable: &str, _insert: &Insert<'_>) -> Cow<'a, str> {
        match variable {
            "response" => Cow::Borrowed(&self.report),
            _ => Cow::Borrowed(""),
        }
    }

    fn shared_texts(&self) -> Vec<&str> {
        vec![&self.report]
    }

    judged_text!(report);

    fn schema(&self) -> Option<Value> {
        let urls = list_schema(&text_schema());
        let statement = object_schema(&json!({"statement": text_schema(), "urls": urls}));
        Some(object_schema(
            &json!({"statements": list_schema(&statement)}),
        ))
    }

    fn is_text_of_reply(&self) -> bool {
        true
    }

    /// Reads the statements; one without text, or with addresses that are not texts, makes the reply unreadable.
    fn read(&self, reply: &JudgeReply, mode: Mode) -> Result<Reading, Unreadable> {
        if mode == Mode::Compat {
            let statements = as_reference(&reply.content)?;
            return Ok(Reading::new(Verdict::Statements(statements.into())));
        }
        let statements: Result<Vec<CitedStatement>, String> = match fact::list_in(reply) {
            Some(list) => list.iter().map(fact::statement).collect(),
            None => {
                let object = reading::object(reply)?;
                let list = list_of(&object, "statements", "").map_err(Unreadable::new)?;
                list.iter().map(statement).collect()
            }
        };
        let statements = statements.map_err(Unreadable::new)?;
        Ok(Reading::new(Verdict::Statements(statements.into())))
    }

    /// The sentences with an address or a number of the list of references: so a plan counts about as many pages as there are.
    fn opening(&self) -> Verdict {
        Verdict::Statements(cited_sentences(&self.report).into())
    }

    /// The sentences with an address or a number of the list of references.
    fn baseline(&self, _words: &dyn Words) -> Option<String> {
        let mut statements: Vec<Value> = Vec::new();
        for CitedStatement { text, urls } in cited_sentences(&self.report) {
            statements.push(json!({"statement": text, "urls": urls}));
        }
        Some(json!({"statements": statements}).to_string())
    }
}

/// The sentences that cite an address, in themselves or by an entry of the list of sources that has it.
fn cited_sentences(report: &str) -> Vec<CitedStatement> {
    let mut statements = Vec::new();
    for claim in cited_claims(report, None, 0) {
        let mut urls: Vec<String> = Vec::new();
        for citation in claim.citations {
            urls.extend(citation.urls);
        }
        if !urls.is_empty() {
            let text = claim.text;
            statements.push(CitedStatement { text, urls });
        }
    }
    statements
}

/// One statement of the list.
fn statement(entry: &Value) -> Result<CitedStatement, String> {
    let text = single(entry, "statement")?.and_then(Value::as_str);
    let text = text.map(str::trim).filter(|text| !text.is_empty());
    let text = text.ok_or("a statement has no text")?;
    let mut urls: Vec<String> = Vec::new();
    for url in list_of(entry, "urls", "statement.")? {
        let url = url.as_str().ok_or("an address is not a text")?;
        urls.push(url.trim().to_owned());
    }
    Ok(CitedStatement {
        text: text.to_owned(),
        urls,
    })
}

/// The statements as the reference reads them, each with one address. It reads a reply several times and never asks again.
fn as_reference(reply: &str) -> Result<Vec<CitedStatement>, Unreadable> {
    if let Some(list) = fact::list_of_ours(reply, "statements") {
        return list
            .iter()
            .map(|entry| statement(entry).map(one_address_each))
            .collect::<Result<Vec<_>, _>>()
            .map(|statements| statements.concat())
            .map_err(|what| left_out(&what));
    }
    let citations = match fact::extraction(reply) {
        FactExtraction::Citations(citations) => citations,
        FactExtraction::Failed => return Err(left_out("extraction failed")),
        FactExtraction::NotWritten => {
            return Err(left_out("the reference script cannot read the reply"));
        }
    };
    let mut statements: Vec<CitedStatement> = Vec::new();
    for citation in &citations {
        let url = citation.get("url").map(fact::address).ok_or_else(|| {
            let raised = PythonException::key("url");
            Unreadable::exception(format!("the reference script ends with {raised}"))
        })?;
        statements.push(CitedStatement {
            text: text_of(&citation["fact"]),
            urls: vec![url],
        });
    }
    Ok(statements)
}

/// The statement once for each of its addresses, once with an empty one if it has none.
fn one_address_each(statement: CitedStatement) -> Vec<CitedStatement> {
    let mut urls = statement.urls;
    if urls.is_empty() {
        urls.push(String::new());
    }
    let text = statement.text;
    let mut statements = Vec::with_capacity(urls.len());
    for url in urls {
        statements.push(CitedStatement {
            text: text.clone(),
            urls: vec![url],
        });
    }
    statements
}

/// A reply after which the report is in no later file of the reference.
fn left_out(what: &str) -> Unreadable {
    Unreadable {
        ask_again: false,
        ..Unreadable::new(what)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(reply: &str) -> Result<Vec<CitedStatement>, String> {
        let question = CitedStatements {
            report: "r".into(),
            language: ReportLanguage::English,
        };
        let reading = question.parse(&JudgeReply::of_text(reply), Mode::Default);
        match reading.map_err(|unreadable| unreadable.what)?.verdict {
            Verdict::Statements(statements) => Ok(statements.to_vec()),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn statements_are_read_with_their_addresses_which_may_be_none() {
        let reply = r#"{"statements": [{"statement": " Ice shrinks. ", "urls": ["https://example.org/a", " b "]},
                        {"statement": "Ice grows.", "urls": []}]}"#;
        let statements = read(reply).unwrap();
        assert_eq!(statements[0].text, "Ice shrinks.");
        assert_eq!(statements[0].urls, ["https://example.org/a", "b"]);
        assert!(statements[1].urls.is_empty());
        assert!(read(r#"{"statements": []}"#).unwrap().is_empty());
    }

    #[test]
    fn a_list_in_the_form_of_fact_is_read_by_our_rules() {
        let list = r#"[{"fact": "[Ice](u) shrinks", "ref_idx": 1, "url": "https://a.example"}, {"fact": "x", "url": ""}]"#;
        let statements = read(&format!("<think>x</think>{list}")).unwrap();
        assert_eq!(statements[0].text, "[Ice] shrinks");
        assert_eq!(statements[0].urls, ["https://a.example"]);
        assert!(statements[1].urls.is_empty());
        assert_eq!(
            read(r#"[{"fact": null, "url": "u"}]"#).unwrap_err(),
            "a statement has no text"
        );
        assert!(read(&format!("{{\"citations\": {list}}}")).is_err());
        // Escapes that JSON does not have are repaired as by the scripts, and only those.
        let escaped = r#"[{"fact": "ice \> 3 m \~ 4 \+ 5 \< 6", "url": "u"}]"#;
        assert_eq!(read(escaped).unwrap()[0].text, "ice > 3 m ~ 4 + 5 < 6");
        assert!(read(r#"[{"fact": "50\% of ice", "url": "u"}]"#).is_err());
    }

    #[test]
    fn compat_reads_a_list_of_citations_and_never_asks_again() {
        let read = |reply: &str| {
            let question = CitedStatements {
                report: "r".into(),
                language: ReportLanguage::English,
            };
            question.parse(&JudgeReply::of_text(reply), Mode::Compat)
        };
        let reply = r#"[{"fact": "[Ice](u) shrinks", "url": null}, {"fact": "x", "url": ""}]"#;
        let reading = read(reply).unwrap();
        let expected = [("[Ice] shrinks", "null"), ("x", "")];
        let expected = expected.map(|(text, url)| CitedStatement {
            text: text.to_owned(),
            urls: vec![url.to_owned()],
        });
        assert_eq!(reading.verdict, Verdict::Statements(expected.into()));
        let ours = r#"{"statements": [{"statement": "x", "urls": ["u", "v"]}, {"statement": "y", "urls": []}]}"#;
        let Verdict::Statements(ours) = read(ours).unwrap().verdict else {
            panic!("no statements");
        };
        let ours: Vec<(&str, &str)> = ours
            .iter()
            .map(|statement| (&*statement.text, &*statement.urls[0]))
            .collect();
        assert_eq!(ours, [("x", "u"), ("x", "v"), ("y", "")]);
        let unreadable = read("").unwrap_err();
        assert_eq!(
            (unreadable.what.as_str(), unreadable.ask_again),
            ("extraction failed", false)
        );
        assert!(
            read(r#"[{"fact": "x"}]"#)
                .unwrap_err()
                .what
                .ends_with("KeyError: 'url'")
        );
    }

    #[test]
    fn numbers_and_addresses_cite_in_the_order_of_the_sentences_and_references_do_not() {
        let report = "Ice shrinks [2]. Nobody cites this. Ice grows (https://b.example/x).\n\n[1] One, https://a.example\n[2] Two: https://c.example/y";
        let statements = cited_sentences(report);
        let texts: Vec<&str> = statements
            .iter()
            .map(|statement| statement.text.as_str())
            .collect();
        assert_eq!(texts.len(), 2, "{texts:?}");
        assert!(texts[0].starts_with("Ice shrinks") && !texts[0].contains('['));
        assert_eq!(statements[0].urls, ["https://c.example/y"]);
        assert_eq!(statements[1].urls, ["https://b.example/x"]);
    }

    #[test]
    fn other_shapes_are_unreadable_and_say_where() {
        for (reply, what) in [
            (
                r#"{"statements": [{"statement": null, "urls": []}]}"#,
                "a statement has no text",
            ),
            (
                r#"{"statements": [{"statement": "x", "urls": [3]}]}"#,
                "an address is not a text",
            ),
            (r#"{"statements": [{"statement": "x"}]}"#, "urls"),
            (r#"{"claims": []}"#, "statements"),
            ("3", "no JSON object"),
        ] {
            let error = read(reply).unwrap_err();
            assert!(error.contains(what), "{reply}: {error}");
        }
    }
}
