//! Scores one answer through the library, by two judges: a closure, and the built-in lexical baseline.
//!
//! Run with `cargo run --example score_one`.
#![expect(clippy::print_stdout, reason = "an example shows what it found")]

use std::path::Path;
use std::sync::Arc;

use scholareval::Result;
use scholareval::dataset::{load_answers, load_test_cases};
use scholareval::domain::{JudgeReply, JudgeTask, Mode, Role, RubricParts, ScoredAnswer};
use scholareval::evaluation::{self, EventSink, Item, Job, Member, Options, Panel, Panels, RunEvent, StopHandle};
use scholareval::judge::lexical::Lexical;
use scholareval::judge::{AskFuture, Judge, JudgeRequest, Outcome};
use scholareval::scorer::rubric::RubricScorer;

/// A judge that answers every task by calling a function: what it gives is the raw reply.
struct FromFunction<F>(F);

impl<F: Fn(&JudgeTask) -> String + Send + Sync> Judge for FromFunction<F> {
    fn ask<'a>(&'a self, request: &'a JudgeRequest) -> AskFuture<'a> {
        let reply = JudgeReply::of_text((self.0)(&request.call.task));
        Box::pin(async move { Ok(Outcome::Reply(reply)) })
    }
}

/// Hears what happens in a run and lets it be.
struct Nobody;

impl EventSink for Nobody {
    fn on_event(&mut self, _event: &RunEvent) -> Result<()> {
        Ok(())
    }
}

/// One answer through the rubric scorer, asking `judge`.
async fn score(item: &Item, judge: Arc<dyn Judge>) -> Result<Option<Arc<ScoredAnswer>>> {
    let job = Job {
        items: Arc::from([item.clone()]),
        scorer: Arc::new(RubricScorer::new(RubricParts::BOTH, Mode::Default)),
        panels: Arc::new(Panels::none().with(Role::Rubric, Panel::of_one(Member::new(judge, "example")))),
        options: Arc::new(Options { concurrency: 1, parse_retries: 2, retry_unscored: false, mode: Mode::Default }),
    };
    let outcome = evaluation::run(&[job], &[vec![0]], &mut Nobody, &StopHandle::new()).await?;
    Ok(outcome.scored.into_iter().next())
}

#[tokio::main]
async fn main() -> Result<()> {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("data");
    let tests = load_test_cases(&data.join("test_cases.json"), Mode::Default)?;
    let systems = load_answers(&[data.join("answers/careful.jsonl")], Mode::Default)?;
    let answer = &systems[0].answers[0];
    let case = tests.cases.iter().find(|case| case.case_id == answer.case_id).unwrap_or(&tests.cases[0]);
    let item = Item { case: Arc::clone(case), answer: answer.clone(), steering: Vec::new() };

    // Half marks for everything, in the words that every judge uses.
    let half_marks = |task: &JudgeTask| match task {
        JudgeTask::Evidence { snippets, .. } => format!(r#"{{"score": {}}}"#, snippets.len() as f64 / 2.0),
        JudgeTask::Citations { .. } => r#"{"claims": [{"citations": [{"excerpts": []}]}, {"citations": []}]}"#.into(),
        JudgeTask::Aspect { .. } => "Feedback: so so. [RESULT] 3".into(),
        JudgeTask::Attribution { .. } => "Extrapolatory".into(),
        JudgeTask::Property { .. } | JudgeTask::Expertise { .. } => r#"{"score": 5}"#.into(),
    };
    let judges: [(&str, Arc<dyn Judge>); 2] = [
        ("a judge that gives half marks", Arc::new(FromFunction(half_marks))),
        ("the lexical baseline", Arc::new(Lexical::new(&tests.cases))),
    ];
    for (name, judge) in judges {
        if let Some(scored) = score(&item, judge).await? {
            let score = &scored.score;
            println!("{name}: score {:?}, ann_score {:?}", score.value, score.ann_score);
            for part in &score.components {
                println!("  {:<32} weight {:.3}  value {:?}", part.name, part.weight, part.value);
            }
        }
    }
    Ok(())
}
