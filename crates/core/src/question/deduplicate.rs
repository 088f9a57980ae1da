//! Which of some statements say the same? A list of those that stay.

use std::borrow::Cow;
use std::sync::Arc;

use serde_json::{Value, json};

use super::fact::{self, FactListFault};
use super::interface::Question;
use super::kind::{CHINESE, KindInfo, PAGES_PARTS, part_in};
use super::reading::{self, Unreadable, list_of, list_schema, object_schema};
use super::variable::{Insert, Variable};
use super::words::Words;
use crate::domain::{JudgeReply, Mode, Reading, ReportLanguage, Verdict};

/// Statements that stay when those that say the same are left out.
pub static DEDUPLICATE: KindInfo = KindInfo {
    name: "deduplicate",
    family: "pages",
    parts: PAGES_PARTS,
    optional_parts: &[CHINESE],
    variables: &[Variable::hostile("statements").shared()],
    // A number of a few tokens for each statement; long lists stay below it, too.
    reply_limit: Some(2_000),
    ..KindInfo::DEFAULT
};

/// Says which statements stay when of those that say the same only one does.
#[derive(Debug, Clone, PartialEq)]
pub struct DistinctStatements {
    /// The statements, which cite one page; never empty.
    pub statements: Arc<[Arc<str>]>,
    /// All of them as one text, for limits and delimiters.
    pub joined: Arc<str>,
    /// The language of the report.
    pub language: ReportLanguage,
}

impl DistinctStatements {
    /// The question about these statements.
    pub fn new(statements: impl Into<Arc<[Arc<str>]>>, language: ReportLanguage) -> Self {
        let statements = statements.into();
        let joined = statements.join("\n").into();
        Self {
            statements,
            joined,
            language,
        }
    }
}

impl Question for DistinctStatements {
    fn info(&self) -> &'static KindInfo {
        &DEDUPLICATE
    }

    fn part(&self) -> &'static str {
        part_in(self.language)
    }

    fn value<'a>(&'a self, variable: &str, insert: &Insert<'_>) -> Cow<'a, str> {
        match variable {
            "statements" => Cow::Owned(numbered(&self.statements, insert)),
            _ => Cow::Borrowed(""),
        }
    }

    fn shared_texts(&self) -> Vec<&str> {
        vec![&self.joined]
    }

    fn judged(&self) -> &Arc<str> {
        &self.joined
    }

    /// The statements, whatever the text: a list that is cut would keep what it does not show.
    fn with_judged(&self, _text: Arc<str>) -> Arc<dyn Question> {
        Arc::new(self.clone())
    }

    fn judged_name(&self) -> &'static str {
        "statements"
    }

    fn schema(&self) -> Option<Value> {
        let numbers = list_schema(&json!({"type": "integer"}));
        Some(object_schema(&json!({"kept": numbers})))
    }

    fn read(&self, reply: &JudgeReply, mode: Mode) -> Result<Reading, Unreadable> {
        let count = self.statements.len();
        let places = if mode == Mode::Compat {
            let text = match fact::list_of_ours(&reply.content, "kept") {
                Some(list) => Value::Array(list).to_string(),
                None => reply.content.clone(),
            };
            fact::kept_statements(&text, count).map_err(unusable)?
        } else {
            let object = reading::object(reply)?;
            kept(&object, count).map_err(Unreadable::new)?
        };
        Ok(Reading::new(Verdict::Kept(places.into())))
    }

    /// All of them: planning counts every statement.
    fn opening(&self) -> Verdict {
        Verdict::Kept((0..self.statements.len()).collect())
    }

    /// The first of each text.
    fn baseline(&self, _words: &dyn Words) -> Option<String> {
        let mut numbers: Vec<usize> = Vec::new();
        for (place, statement) in self.statements.iter().enumerate() {
            if !self.statements[..place].contains(statement) {
                numbers.push(place + 1);
            }
        }
        Some(json!({"kept": numbers}).to_string())
    }
}

/// Statements with their numbers, from 1, a line each.
pub(super) fn numbered(statements: &[Arc<str>], insert: &Insert<'_>) -> String {
    let mut lines: Vec<String> = Vec::new();
    for (number, statement) in (1..).zip(statements) {
        lines.push(format!("{number}. {}", insert.on_one_line(statement)));
    }
    lines.join("\n")
}

/// The places of the statements that stay: numbers from 1, each once, at least one.
fn kept(object: &Value, count: usize) -> Result<Vec<usize>, String> {
    let mut places: Vec<usize> = Vec::new();
    for number in list_of(object, "kept", "")? {
        let number = number.as_u64().ok_or("a number is not a whole one")?;
        let place = usize::try_from(number)
            .ok()
            .and_then(|number| number.checked_sub(1))
            .filter(|place| *place < count)
            .ok_or_else(|| format!("number {number} is outside 1..{count}"))?;
        if places.contains(&place) {
            return Err(format!("number {number} is there twice"));
        }
        places.push(place);
    }
    if places.is_empty() {
        return Err("keeps no statement".to_owned());
    }
    places.sort_unstable();
    Ok(places)
}

fn unusable(fault: FactListFault) -> Unreadable {
    match fault {
        FactListFault::Unreadable(what) => Unreadable::new(what),
        FactListFault::Raised(raised) => {
            Unreadable::exception(format!("the reference script ends with {raised}"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::UnscoredKind;

    fn read(reply: &str, mode: Mode) -> Result<Vec<usize>, Unreadable> {
        let texts: Vec<Arc<str>> = ["A.", "B.", "A."].map(Arc::from).to_vec();
        let question = DistinctStatements::new(texts, ReportLanguage::English);
        let reading = question.parse(&JudgeReply::of_text(reply), mode)?;
        match reading.verdict {
            Verdict::Kept(places) => Ok(places.to_vec()),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn each_number_once_and_within_the_list() {
        assert_eq!(read(r#"{"kept": [2, 1]}"#, Mode::Default), Ok(vec![0, 1]));
        for (reply, what) in [
            (r#"{"kept": []}"#, "keeps no statement"),
            (r#"{"kept": [1, 1]}"#, "number 1 is there twice"),
            (r#"{"kept": [0]}"#, "number 0 is outside 1..3"),
            (r#"{"kept": [4]}"#, "number 4 is outside 1..3"),
            (r#"{"kept": ["1"]}"#, "not a whole one"),
            ("[1]", "no JSON object"),
        ] {
            let unreadable = read(reply, Mode::Default).unwrap_err();
            assert!(
                unreadable.ask_again && unreadable.what.contains(what),
                "{unreadable:?}"
            );
        }
    }

    #[test]
    fn compat_reads_as_the_reference_and_does_not_ask_again_where_it_ends() {
        assert_eq!(read("```json\n[1, 1]```", Mode::Compat), Ok(vec![0, 0]));
        assert_eq!(read(r#"{"kept": [1, 1]}"#, Mode::Compat), Ok(vec![0, 0]));
        assert!(read("no", Mode::Compat).unwrap_err().ask_again);
        let raised = read("[9]", Mode::Compat).unwrap_err();
        assert!(!raised.ask_again && raised.kind == UnscoredKind::Exception);
    }
}
