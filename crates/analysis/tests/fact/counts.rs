//! Finished runs of FACT, scored again from their verdicts, against the numbers of `stat.py` and of our rules
//! (`golden/fact.json`, `stat`).

use std::sync::Arc;

use serde_json::{Value, json};

use super::{CITATIONS, metric, rows};
use scholareval_core::domain::{
    Answer, CaseId, CitedStatement, JudgeReply, Judgment, Mode, PageState, Reading, Score,
    ScoredAnswer, SupportCounts, TestCase, UnscoredKind, UnscoredReason, Verdict,
};
use scholareval_core::question::{
    CitedStatements, DistinctStatements, JudgeCall, PageSupport, Question,
};
use scholareval_scorers::pages::test_support::Pages;
use scholareval_scorers::pages::{
    ACCURACY, ACCURACY_MACRO, Dedup, EFFECTIVE, PAGE_TOKENS, PageScorer,
};
use scholareval_scorers::{Scorer as _, Step, Subject, Verdicts};

/// A page in a line of FACT's last file.
struct ValidatedPage<'a> {
    url: String,
    statements: Vec<String>,
    fields: &'a Value,
}

impl ValidatedPage<'_> {
    /// The text that a judge reads, which begins with the address: the golden texts are the same on many pages.
    fn text(&self) -> Option<String> {
        let content = self.fields["url_content"].as_str()?;
        Some(format!("{} {content}", self.url))
    }

    /// What the recorded judge replies about the whole page. It says nothing about one of several statements alone.
    fn judgment(&self, question: &PageSupport, mode: Mode) -> Judgment {
        let is_whole = question.statements.len() == self.statements.len();
        if !is_whole || !self.fields["validate_error"].is_null() {
            let reason = UnscoredReason::new(UnscoredKind::Unreadable, "no verdict in the file");
            return Err(reason);
        }
        let mut verdicts = self.fields["validate_res"].clone();
        for verdict in verdicts.as_array_mut().unwrap() {
            // The file counts from 0, a judge from 1.
            verdict["idx"] = json!(verdict["idx"].as_u64().unwrap() + 1);
        }
        let reply = JudgeReply::of_text(verdicts.to_string());
        question.parse(&reply, mode).map_err(Into::into)
    }
}

/// The pages of a line. A name that is not an address gets a site, and a statement without its text gets one.
fn pages_of(item: &Value) -> Vec<ValidatedPage<'_>> {
    let mut pages = Vec::new();
    for (name, fields) in item["citations_deduped"].as_object().unwrap() {
        let is_address = name.starts_with("http");
        let mut statements = Vec::new();
        for (number, fact) in (1..).zip(fields["facts"].as_array().unwrap()) {
            statements.push(match fact.as_str().unwrap() {
                "" => format!("Statement {number}."),
                text => text.to_owned(),
            });
        }
        pages.push(ValidatedPage {
            url: if is_address {
                name.clone()
            } else {
                format!("https://{name}.example/")
            },
            statements,
            fields,
        });
    }
    pages
}

/// The reply to the question for the statements of a report.
fn listed(pages: &[ValidatedPage<'_>]) -> Judgment {
    let mut statements = Vec::new();
    for page in pages {
        for text in &page.statements {
            statements.push(CitedStatement {
                text: text.clone(),
                urls: vec![page.url.clone()],
            });
        }
    }
    Ok(Reading::new(Verdict::Statements(statements.into())))
}

/// Enters what the recorded judge replies to a call.
fn answer(call: &JudgeCall, pages: &[ValidatedPage<'_>], mode: Mode, verdicts: &mut Verdicts) {
    let question = &call.question;
    let judgment = if question.downcast_ref::<CitedStatements>().is_some() {
        listed(pages)
    } else if let Some(distinct) = question.downcast_ref::<DistinctStatements>() {
        // The file has no statement twice.
        let all: Vec<usize> = (1..=distinct.statements.len()).collect();
        let reply = JudgeReply::of_text(json!(all).to_string());
        question.parse(&reply, mode).map_err(Into::into)
    } else {
        let support: &PageSupport = question.downcast_ref().unwrap();
        let (url, _) = support.page.split_once(' ').unwrap();
        let page = pages.iter().find(|page| page.url == url).unwrap();
        page.judgment(support, mode)
    };
    if judgment.is_err() {
        verdicts.insert(Arc::clone(&call.item), judgment);
        return;
    }
    let judgments = question.split(&judgment);
    for (name, judgment) in call.items().into_iter().zip(judgments) {
        let item = if judgment.is_ok() {
            name
        } else {
            Arc::clone(&call.item)
        };
        verdicts.insert(item, judgment);
    }
}

fn score_of(item: &Value, case: &TestCase, mode: Mode) -> Score {
    let pages = pages_of(item);
    let mut saved = Pages::default();
    for page in &pages {
        if let Some(text) = page.text() {
            saved = saved.with(&page.url, PageState::Ok, &text);
        }
    }
    let scorer = PageScorer {
        pages: Some(Arc::new(saved)),
        page_tokens: PAGE_TOKENS,
        dedup: Dedup::Words,
        is_baseline: false,
        mode,
    };
    let report = Answer::new("s".into(), case.case_id.clone(), "A report.");
    let subject = Subject::new(case, &report);
    let mut verdicts = Verdicts::new();
    loop {
        match scorer.step(&subject, &verdicts) {
            Step::Done(score) => return score,
            Step::Ask(calls) => {
                for call in calls {
                    assert!(!verdicts.contains_key(&call.item), "{} twice", call.item);
                    answer(&call, &pages, mode, &mut verdicts);
                }
            }
        }
    }
}

fn scored(row: &Value, mode: Mode) -> Vec<Arc<ScoredAnswer>> {
    let mut scored = Vec::new();
    for item in row["items"].as_array().unwrap() {
        let id: CaseId = item["id"].to_string().into();
        let case = Arc::new(TestCase::without_rubric(id, "q"));
        let score = score_of(item, &case, mode);
        scored.push(Arc::new(ScoredAnswer::new("s".into(), case, score)));
    }
    scored
}

#[test]
fn compat_numbers_are_those_of_the_reference() {
    for row in rows("stat") {
        let tag = row["tag"].as_str().unwrap();
        let result = &row["result"];
        let scored = scored(&row, Mode::Compat);
        let mean = |name: &str| json!(metric(&scored, name).estimate);
        if result["exception"] == "KeyError" {
            // The only report is unscored with the exception.
            let component = scored[0].score.component(CITATIONS).unwrap();
            let reason = component.reason.as_ref().unwrap();
            let raised = format!("KeyError: {}", result["message"].as_str().unwrap());
            assert!(reason.message.ends_with(&raised), "{tag}: {reason:?}");
            continue;
        }
        // Where the script divides by zero, there is no accuracy.
        assert_eq!(result["valid_rate"], mean(ACCURACY), "{tag}");
        if result["exception"].is_null() {
            assert_eq!(result["total_citations"], mean(CITATIONS), "{tag}");
            assert_eq!(result["total_valid_citations"], mean(EFFECTIVE), "{tag}");
        }
    }
}

#[test]
fn our_numbers_count_open_pairs_and_reports_without_citations() {
    for row in rows("stat") {
        let tag = row["tag"].as_str().unwrap();
        let expected = &row["default"];
        let scored = scored(&row, Mode::Default);
        let mut counts = SupportCounts::default();
        for answer in &scored {
            counts += SupportCounts::of(&answer.score.pages);
        }
        assert_eq!(expected["answers"], scored.len(), "{tag}");
        for (name, sum) in [
            ("supported", counts.supported),
            ("unsupported", counts.unsupported),
            ("open", counts.open),
        ] {
            assert_eq!(expected[name], sum, "{tag}: {name}");
        }
        for name in [ACCURACY, ACCURACY_MACRO, EFFECTIVE, CITATIONS] {
            let mean = metric(&scored, name).estimate;
            let wanted = expected[name].as_f64();
            assert_eq!(mean.is_some(), wanted.is_some(), "{tag}: {name}");
            // Our means add up in another order than Python's.
            let difference = mean.unwrap_or_default() - wanted.unwrap_or_default();
            assert!(difference.abs() < 1e-12, "{tag}: {name} {mean:?}");
        }
        let macro_answers = metric(&scored, ACCURACY_MACRO).n;
        assert_eq!(expected["macro_answers"], macro_answers, "{tag}");
        if counts.open > 0 {
            let bounds = metric(&scored, ACCURACY).bounds.unwrap();
            let wanted = &expected["citation_accuracy_bounds"];
            assert_eq!(json!([bounds.low, bounds.high]), *wanted, "{tag}");
            let high = metric(&scored, EFFECTIVE).bounds.unwrap().high;
            assert_eq!(expected["effective_citations_high"], high, "{tag}");
        }
    }
}
