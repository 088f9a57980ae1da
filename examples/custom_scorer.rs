//! A scorer of one's own: does the answer name limits? The lexical baseline judges it, so that no key is needed.
//!
//! A scorer asks and never calls: `step` is a pure function that returns questions, or the finished score. Run with
//! `cargo run --example custom_scorer`.
#![expect(clippy::print_stdout, reason = "an example shows what it found")]

use std::sync::Arc;

use scholareval::domain::{Answer, JudgeCall, JudgeTask, Reading, Role, Score, TestCase, Verdict};
use scholareval::scorer::{Scorer, Step, Verdicts};
use scholareval::{Evaluation, Result};

struct Limits;

impl Scorer for Limits {
    fn name(&self) -> &'static str {
        "limits"
    }

    fn step(&self, case: &TestCase, answer: &Answer, verdicts: &Verdicts) -> Step {
        let value = match verdicts.get("limits") {
            Some(Ok(Reading {
                verdict: Verdict::Points(points),
                ..
            })) => Some(points / 10.0),
            // No verdict, no value: an answer that could not be judged is unscored, and never 0.
            Some(_) => None,
            None => {
                let task = JudgeTask::Property {
                    question: Arc::clone(&case.rubric.question),
                    answer: Arc::clone(&answer.answer_text),
                    criterion: "The answer names limits, uncertainty or open problems.".into(),
                };
                return Step::Ask(vec![JudgeCall {
                    item: "limits".into(),
                    role: Role::Rubric,
                    task,
                    sample: 0,
                    member: 0,
                }]);
            }
        };
        Step::Done(Score {
            scorer: self.name(),
            value,
            ..Score::default()
        })
    }
}

#[tokio::main]
async fn main() -> Result<()> {
    let evaluation = Evaluation::builder()
        .tests("data/test_cases.json")
        .answers("data/answers")
        .scorer(Limits);
    for scored in evaluation.run("runs/limits").await?.scores() {
        println!(
            "{} {}: {:?}",
            scored.system, scored.case.case_id, scored.score.value
        );
    }
    Ok(())
}
