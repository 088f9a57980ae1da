//! A scorer of one's own, with a kind of question of its own: how many limits does the answer name? The built-in baseline
//! replies, so that no key is needed; a model would be shown the question's template.
//!
//! A scorer asks and never calls: `step` is a pure function that returns questions, or the finished score. A question
//! says everything of its kind: what it shows, how a reply is read and how samples merge. Run with
//! `cargo run --example custom_scorer`.
#![expect(clippy::print_stdout, reason = "an example shows what it found")]

use std::borrow::Cow;
use std::sync::Arc;

use scholareval::domain::{GradeMerge, JudgeReply, Judgment, Mode, Reading, Role, Score, Verdict};
use scholareval::question::{
    Insert, JudgeCall, KindInfo, Question, Sample, Unreadable, Variable, Words, merge_numbers,
    reading,
};
use scholareval::scorer::{Scorer, Step, Subject, Verdicts};
use scholareval::{Evaluation, Result};
use serde_json::{Value, json};

/// So many limits are enough.
const ENOUGH: f64 = 3.0;
/// Words that the baseline takes for signs of a limit.
const SIGNS: [&str; 5] = ["however", "limit", "unclear", "uncertain", "unknown"];

static LIMITS: KindInfo = KindInfo {
    name: "limits",
    family: "limits",
    variables: &[Variable::hostile("response").shared()],
    reply_limit: Some(50),
    template: Some(
        "{{response}}\n\nHow many limits, uncertainties or open problems does this answer name? \
         Reply with a JSON object: {\"score\": number}",
    ),
    ..KindInfo::DEFAULT
};

/// Counts the limits that an answer names.
#[derive(Debug, Clone, PartialEq)]
struct Limits {
    answer: Arc<str>,
}

impl Question for Limits {
    fn info(&self) -> &'static KindInfo {
        &LIMITS
    }

    fn value<'a>(&'a self, _variable: &str, _insert: &Insert<'_>) -> Cow<'a, str> {
        Cow::Borrowed(&self.answer)
    }

    fn shared_texts(&self) -> Vec<&str> {
        vec![&self.answer]
    }

    fn judged(&self) -> &Arc<str> {
        &self.answer
    }

    fn with_judged(&self, answer: Arc<str>) -> Arc<dyn Question> {
        Arc::new(Self { answer })
    }

    fn schema(&self) -> Option<Value> {
        let score = json!({"score": {"type": "integer"}});
        Some(reading::object_schema(&score))
    }

    fn read(&self, reply: &JudgeReply, _mode: Mode) -> Result<Reading, Unreadable> {
        let object = reading::object(reply)?;
        let count = reading::score(&object)?;
        if count < 0.0 || count.is_infinite() {
            return Err(Unreadable::new(format!("{count} is not a count")));
        }
        Ok(Reading::new(Verdict::Count(count)))
    }

    fn merge(&self, samples: &[Sample], rule: GradeMerge, _mode: Mode) -> Judgment {
        merge_numbers(samples, rule, Verdict::Count)
    }

    fn opening(&self) -> Verdict {
        Verdict::Count(ENOUGH)
    }

    fn baseline(&self, _words: &dyn Words) -> Option<String> {
        let text = self.answer.to_lowercase();
        let count: usize = SIGNS.iter().map(|sign| text.matches(sign).count()).sum();
        Some(json!({"score": count}).to_string())
    }
}

/// The share of enough limits that an answer names.
struct LimitScorer;

impl Scorer for LimitScorer {
    fn name(&self) -> &str {
        "limits"
    }

    fn step(&self, subject: &Subject<'_>, verdicts: &Verdicts) -> Step {
        let value = match verdicts.get("limits") {
            Some(Ok(reading)) => reading.verdict.number(),
            // No verdict, no value: an answer that could not be judged is unscored, and never 0.
            Some(Err(_)) => None,
            None => {
                let answer = Arc::clone(&subject.answer.answer_text);
                let call = JudgeCall::new("limits", Role::Rubric, Limits { answer });
                return Step::Ask(vec![call]);
            }
        };
        Step::Done(Score {
            scorer: self.name().into(),
            value: value.map(|count| count.min(ENOUGH) / ENOUGH),
            ..Score::default()
        })
    }
}

#[tokio::main]
async fn main() -> Result<()> {
    let evaluation = Evaluation::builder()
        .tests("data/test_cases.json")
        .answers("data/answers")
        .scorer(LimitScorer);
    for scored in evaluation.run("runs/limits").await?.scores() {
        println!(
            "{} {}: {:?}",
            scored.system, scored.case.case_id, scored.score.value
        );
    }
    Ok(())
}
