//! Which of some statements does a web page support? A label for each of them.

use std::borrow::Cow;
use std::sync::Arc;

use serde_json::{Value, json};

use super::answered::judged_text;
use super::decision::{DecisionForm, DecisionOption, DecisionQuestion, DecisionWording};
use super::deduplicate::numbered;
use super::fact;
use super::interface::Question;
use super::kind::{CHINESE, KindInfo, PAGES_PARTS, part_in};
use super::merging::{Sample, merge_readable, readable_verdicts, values_needed};
use super::reading::{self, Unreadable, list_of, list_schema, object_schema, single, text_schema};
use super::variable::{Insert, Variable};
use super::words::Words;
use crate::domain::{
    GradeMerge, JudgeReply, Judgment, Mode, PageVerdict, Reading, ReportLanguage, StatementSupport,
    UnscoredKind, UnscoredReason, Verdict,
};

/// Support of statements by a page.
pub static SUPPORT: KindInfo = KindInfo {
    name: "support",
    family: "pages",
    parts: PAGES_PARTS,
    optional_parts: &[CHINESE],
    variables: &[
        Variable::hostile("page").shared(),
        Variable::hostile("statements"),
    ],
    // A reason of a sentence with its label, for each statement of a call.
    reply_limit: Some(100),
    decided: Some(Variable::HOSTILE_DECIDED.in_section("statement")),
    ..KindInfo::DEFAULT
};

/// Decides of each of some statements whether a page supports it.
#[derive(Debug, Clone, PartialEq)]
pub struct PageSupport {
    /// The text of the page, or of a window of it.
    pub page: Arc<str>,
    /// The statements with the names of their items; never empty.
    pub statements: Arc<[NamedStatement]>,
    /// The language of the report.
    pub language: ReportLanguage,
}

/// A statement with the name under which its verdict is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedStatement {
    /// The name of the item.
    pub item: Arc<str>,
    /// The statement.
    pub text: Arc<str>,
}

impl Question for PageSupport {
    fn info(&self) -> &'static KindInfo {
        &SUPPORT
    }

    fn part(&self) -> &'static str {
        part_in(self.language)
    }

    fn value<'a>(&'a self, variable: &str, insert: &Insert<'_>) -> Cow<'a, str> {
        match variable {
            "page" => Cow::Borrowed(&self.page),
            "statements" => Cow::Owned(self.numbered_statements(insert)),
            _ => Cow::Borrowed(""),
        }
    }

    fn shared_texts(&self) -> Vec<&str> {
        vec![&self.page]
    }

    // Statements stay whole.
    judged_text!(page);

    fn judged_name(&self) -> &'static str {
        "page"
    }

    fn items(&self) -> Vec<Arc<str>> {
        let items = self
            .statements
            .iter()
            .map(|statement| Arc::clone(&statement.item));
        items.collect()
    }

    fn schema(&self) -> Option<Value> {
        let labels = json!({"type": "string", "enum": ["supported", "unsupported"]});
        let number = json!({"type": "integer"});
        let verdict = json!({"number": number, "reason": text_schema(), "verdict": labels});
        let list = list_schema(&object_schema(&verdict));
        let truth = json!({"type": "boolean"});
        Some(object_schema(
            &json!({"has_content": truth, "statements": list}),
        ))
    }

    /// Reads the verdicts, in our form or in that of FACT's prompts. A statement that has none, or several, is left open: it is
    /// asked alone. A number beyond the list says that the judge counted otherwise, and no verdict of that reply counts.
    fn read(&self, reply: &JudgeReply, mode: Mode) -> Result<Reading, Unreadable> {
        if mode == Mode::Compat {
            let verdicts = as_reference(&reply.content, self.statements.len())?;
            return Ok(Reading::new(Verdict::Support(verdicts.into())));
        }
        let count = self.statements.len();
        let list = match fact::list_in(reply) {
            Some(list) => list,
            None => {
                let object = reading::object(reply)?;
                if single(&object, "has_content").map_err(Unreadable::new)?
                    == Some(&Value::Bool(false))
                {
                    let all = vec![StatementSupport::of(PageVerdict::NoContent); count];
                    return Ok(Reading::new(Verdict::Support(all.into())));
                }
                // Where a judge is asked for a list, some put it into an object.
                let key = if object.get("results").is_some() {
                    "results"
                } else {
                    "statements"
                };
                list_of(&object, key, "").map_err(Unreadable::new)?.to_vec()
            }
        };
        let mut verdicts = vec![StatementSupport::of(PageVerdict::Unreadable); count];
        let mut times = vec![0; count];
        for entry in &list {
            let place = place(entry, count).map_err(Unreadable::new)?;
            times[place] += 1;
            verdicts[place] = support(entry);
        }
        // A page without content is without content for every statement.
        let is_empty = verdicts
            .iter()
            .all(|verdict| verdict.verdict == PageVerdict::NoContent);
        for (verdict, times) in verdicts.iter_mut().zip(times) {
            if times != 1 || (verdict.verdict == PageVerdict::NoContent && !is_empty) {
                *verdict = StatementSupport::of(PageVerdict::Unreadable);
            }
        }
        Ok(Reading::new(Verdict::Support(verdicts.into())))
    }

    fn split(&self, judgment: &Judgment) -> Vec<Judgment> {
        let places = 0..self.statements.len();
        places.map(|place| of_statement(judgment, place)).collect()
    }

    /// The most common verdict of one statement; on a tie, the one that came first.
    fn merge(&self, samples: &[Sample], _rule: GradeMerge, _mode: Mode) -> Judgment {
        merge_readable(samples, |verdicts| {
            let labels = labels_of(verdicts);
            let most = labels.iter().max_by_key(|label| {
                let votes = labels.iter().filter(|other| other == label).count();
                let first = labels.iter().position(|other| other == *label);
                (votes, std::cmp::Reverse(first))
            });
            most.map(|label| Verdict::Support([StatementSupport::of(*label)].into()))
        })
    }

    fn samples_needed(
        &self,
        samples: &[Sample],
        left: usize,
        _rule: GradeMerge,
        _mode: Mode,
    ) -> usize {
        let verdicts = readable_verdicts(samples);
        values_needed(&labels_of(&verdicts), left)
    }

    /// A choice a statement.
    fn decisions(&self, wording: &dyn DecisionWording) -> Vec<Vec<DecisionQuestion>> {
        let verdicts = [
            ("unsupported", PageVerdict::Unsupported),
            ("supported", PageVerdict::Supported),
            ("no content", PageVerdict::NoContent),
        ];
        let options = verdicts.map(|(label, verdict)| {
            DecisionOption::new(
                label,
                Verdict::Support([StatementSupport::of(verdict)].into()),
            )
        });
        let mut decisions = Vec::new();
        for statement in &*self.statements {
            decisions.push(vec![DecisionQuestion {
                instructions: wording.instructions(&statement.text, false),
                form: DecisionForm::Choice,
                options: options.to_vec(),
                is_fault: false,
            }]);
        }
        decisions
    }

    /// Nothing is behind it.
    fn opening(&self) -> Verdict {
        Verdict::Support(Arc::default())
    }

    /// A page supports a statement whose words it has.
    fn baseline(&self, words: &dyn Words) -> Option<String> {
        let mut verdicts: Vec<Value> = Vec::new();
        for (number, statement) in (1..).zip(&*self.statements) {
            let label = if words.is_support(&self.page, &statement.text) {
                "supported"
            } else {
                "unsupported"
            };
            verdicts.push(json!({"number": number, "verdict": label}));
        }
        Some(json!({"has_content": true, "statements": verdicts}).to_string())
    }
}

impl PageSupport {
    /// The statements with their numbers, from 1, a line each.
    fn numbered_statements(&self, insert: &Insert<'_>) -> String {
        let texts = self
            .statements
            .iter()
            .map(|statement| Arc::clone(&statement.text));
        numbered(&texts.collect::<Vec<_>>(), insert)
    }
}

/// The place of the statement that an entry is about.
fn place(entry: &Value, count: usize) -> Result<usize, String> {
    let number = entry.get("number").or_else(|| entry.get("idx"));
    let number = number.ok_or("a verdict has no number")?;
    let number = number
        .as_u64()
        .or_else(|| number.as_str()?.trim().parse().ok());
    let number = number.ok_or("a number is not a whole one")?;
    let place = usize::try_from(number)
        .ok()
        .and_then(|number| number.checked_sub(1));
    place
        .filter(|place| *place < count)
        .ok_or_else(|| format!("number {number} is outside 1..{count}"))
}

fn support(entry: &Value) -> StatementSupport {
    let label = entry.get("verdict").or_else(|| entry.get("result"));
    let label = label.and_then(Value::as_str).unwrap_or_default();
    StatementSupport {
        verdict: PageVerdict::named(label),
        feedback: reading::feedback(entry),
    }
}

/// The verdicts as the reference counts them, in the order of the reply: it checks how many there are and nothing else, and
/// asks again if that differs.
fn as_reference(reply: &str, count: usize) -> Result<Vec<StatementSupport>, Unreadable> {
    let text = match fact::list_of_ours(reply, "statements") {
        Some(list) => in_form_of_reference(reply, &list, count),
        None => reply.to_owned(),
    };
    let verdicts = fact::validation(&text, count).map_err(|message| {
        let what = "the reference script cannot use the reply";
        if message.is_empty() {
            return Unreadable::new(format!(
                "{what}: not one verdict for each of {count} statements"
            ));
        }
        Unreadable::new(format!("{what}: {message}"))
    })?;
    let mut supports: Vec<StatementSupport> = Vec::new();
    for verdict in &verdicts {
        let label = verdict.get("result").ok_or_else(|| {
            let raised = fact::PythonException::key("result");
            Unreadable::exception(format!("the reference script ends with {raised}"))
        })?;
        supports.push(StatementSupport::of(fact::counted_as(label)));
    }
    Ok(supports)
}

/// A reply to our prompts as the list that the reference asks for.
fn in_form_of_reference(reply: &str, list: &[Value], count: usize) -> String {
    let object = reading::outermost_object(reply, Mode::Compat).unwrap_or_default();
    let mut verdicts: Vec<Value> = Vec::new();
    if object.get("has_content") == Some(&Value::Bool(false)) {
        for number in 1..=count {
            verdicts.push(json!({"idx": number, "result": "unknown"}));
        }
    } else {
        for entry in list {
            verdicts.push(json!({"idx": entry.get("number"), "result": entry.get("verdict")}));
        }
    }
    Value::Array(verdicts).to_string()
}

/// The verdicts of one statement in its samples.
fn labels_of(verdicts: &[&Verdict]) -> Vec<PageVerdict> {
    let mut labels: Vec<PageVerdict> = Vec::new();
    for verdict in verdicts {
        if let Verdict::Support(of_one) = verdict {
            labels.extend(of_one.first().map(|statement| statement.verdict));
        }
    }
    labels
}

/// What a reply about several statements says of one of them.
fn of_statement(judgment: &Judgment, place: usize) -> Judgment {
    let reading = match judgment {
        Ok(reading) => reading,
        Err(reason) => return Err(reason.clone()),
    };
    let Verdict::Support(all) = &reading.verdict else {
        return judgment.clone();
    };
    let of_place = all.get(place).ok_or_else(UnscoredReason::other_kind)?;
    if of_place.verdict == PageVerdict::Unreadable {
        let what = format!("no single verdict on statement {}", place + 1);
        return Err(UnscoredReason::new(UnscoredKind::Unreadable, what));
    }
    let feedback = of_place.feedback.clone();
    Ok(Reading::new(Verdict::Support([of_place.clone()].into())).with_feedback(feedback))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn question() -> PageSupport {
        let statements = ["Ice shrinks.", "Ice grows."];
        let named = |(at, text): (usize, &&str)| NamedStatement {
            item: format!("s{at}").into(),
            text: (*text).into(),
        };
        PageSupport {
            page: "Sea ice shrank by 13% per decade.".into(),
            statements: statements.iter().enumerate().map(named).collect(),
            language: ReportLanguage::English,
        }
    }

    /// The verdicts of the two statements; `None` for one that is asked alone.
    fn read(reply: &str) -> Result<Vec<Option<PageVerdict>>, String> {
        let question = question();
        let reading = question.parse(&JudgeReply::of_text(reply), Mode::Default);
        let reading = reading.map_err(|unreadable| unreadable.what)?;
        let mut verdicts = Vec::new();
        for judgment in question.split(&Ok(reading)) {
            let label = judgment
                .ok()
                .map(|reading| labels_of(&[&reading.verdict])[0]);
            verdicts.push(label);
        }
        Ok(verdicts)
    }

    #[test]
    fn each_statement_has_one_verdict_or_is_asked_alone() {
        let supported = Some(PageVerdict::Supported);
        let unsupported = Some(PageVerdict::Unsupported);
        let of = |list: &str| {
            read(&format!(
                "{{\"has_content\": true, \"statements\": [{list}]}}"
            ))
            .unwrap()
        };
        let first = r#"{"number": 1, "verdict": "supported"}"#;
        let second = r#"{"number": "2", "reason": "r", "verdict": "Unsupported "}"#;
        assert_eq!(of(&format!("{second}, {first}")), [supported, unsupported]);
        assert_eq!(of(first), [supported, None]);
        assert_eq!(of(&format!("{first}, {first}")), [None, None]);
        let other = r#"{"number": 1, "verdict": "partially supported"}"#;
        assert_eq!(of(other), [None, None]);
    }

    #[test]
    fn a_page_without_content_is_said_of_all_and_a_strange_number_spoils_the_reply() {
        let none = Some(PageVerdict::NoContent);
        assert_eq!(
            read(r#"{"has_content": false, "statements": []}"#).unwrap(),
            [none, none]
        );
        for (reply, what) in [
            (
                r#"{"statements": [{"number": 0, "verdict": "supported"}]}"#,
                "number 0 is outside 1..2",
            ),
            (
                r#"{"statements": [{"number": 3, "verdict": "supported"}]}"#,
                "number 3 is outside 1..2",
            ),
            (
                r#"{"statements": [{"verdict": "supported"}]}"#,
                "a verdict has no number",
            ),
            ("no", "no JSON object"),
        ] {
            assert!(read(reply).unwrap_err().contains(what), "{reply}");
        }
    }

    #[test]
    fn compat_counts_every_label_but_two_as_unsupported_and_checks_no_number() {
        let read = |reply: &str| {
            let reading = question().parse(&JudgeReply::of_text(reply), Mode::Compat);
            reading.map(|reading| reading.verdict)
        };
        let reply = r#"[{"idx": 9, "result": "Supported"}, {"idx": 9, "result": "unknown"}]"#;
        let expected = [PageVerdict::Unsupported, PageVerdict::NoContent];
        let expected = expected.map(StatementSupport::of);
        assert_eq!(read(reply), Ok(Verdict::Support(expected.into())));
        let ours = r#"{"has_content": true, "statements": [{"number": 1, "verdict": "supported"}, {"number": 2, "verdict": "unsupported"}]}"#;
        let expected = [PageVerdict::Supported, PageVerdict::Unsupported];
        let expected = expected.map(StatementSupport::of);
        assert_eq!(read(ours), Ok(Verdict::Support(expected.into())));
        let empty = [PageVerdict::NoContent; 2].map(StatementSupport::of);
        let nothing = r#"{"has_content": false, "statements": []}"#;
        assert_eq!(read(nothing), Ok(Verdict::Support(empty.into())));
        let unreadable = read(r#"[{"idx": 1, "result": "supported"}]"#).unwrap_err();
        assert!(unreadable.ask_again && unreadable.what.ends_with("each of 2 statements"));
        let raised = read(r#"[{"idx": 1}, {"idx": 2}]"#).unwrap_err();
        assert!(!raised.ask_again && raised.what.ends_with("KeyError: 'result'"));
    }

    #[test]
    fn verdicts_in_the_form_of_fact_are_read_by_our_rules() {
        let supported = Some(PageVerdict::Supported);
        let unsupported = Some(PageVerdict::Unsupported);
        let none = Some(PageVerdict::NoContent);
        let first = r#"{"idx": 1, "result": "supported"}"#;
        let second = r#"{"idx": 2, "result": "not_supported"}"#;
        let both = format!("<think>[</think>```json\n[{first}, {second}]```");
        assert_eq!(read(&both), Ok(vec![supported, unsupported]));
        assert_eq!(
            read(&format!("{{\"results\": [{first}]}}")),
            Ok(vec![supported, None])
        );
        let unknown = r#"{"idx": 2, "result": "unknown"}"#;
        assert_eq!(
            read(&format!("[{first}, {unknown}]")),
            Ok(vec![supported, None])
        );
        let first = r#"{"idx": 1, "result": "unknown"}"#;
        assert_eq!(read(&format!("[{first}, {unknown}]")), Ok(vec![none, none]));
    }

    #[test]
    fn samples_of_a_statement_are_merged_by_vote() {
        let sample = |verdict| {
            let support = StatementSupport::of(verdict);
            Sample::from(Ok(Reading::new(Verdict::Support([support].into()))))
        };
        let labels = [
            PageVerdict::Unsupported,
            PageVerdict::Supported,
            PageVerdict::Supported,
        ];
        let samples = labels.map(sample);
        let vote = GradeMerge::MostCommon;
        let merged = question().merge(&samples, vote, Mode::Default).unwrap();
        assert_eq!(labels_of(&[&merged.verdict]), [PageVerdict::Supported]);
        let needed = question().samples_needed(&samples[1..], 1, vote, Mode::Default);
        assert_eq!(needed, 0);
    }
}
