//! A judge of one's own: it gives half marks for everything. Run with `cargo run --example custom_judge`.
#![expect(clippy::print_stdout, reason = "an example shows what it found")]

use scholareval::domain::JudgeReply;
use scholareval::judge::{AskFuture, Judge, JudgeRequest, Outcome};
use scholareval::question::{Citations, SnippetEvidence};
use scholareval::{Evaluation, JudgeBuilder, Result};

struct HalfMarks;

impl Judge for HalfMarks {
    fn ask<'a>(&'a self, request: &'a JudgeRequest) -> AskFuture<'a> {
        let question = &*request.call.question;
        let reply = if let Some(evidence) = question.downcast_ref::<SnippetEvidence>() {
            format!(r#"{{"score": {}}}"#, evidence.snippets.len() as f64 / 2.0)
        } else if question.downcast_ref::<Citations>().is_some() {
            r#"{"claims": [{"citations": [{"excerpts": []}]}, {"citations": []}]}"#.to_owned()
        } else {
            r#"{"score": 5}"#.to_owned()
        };
        Box::pin(std::future::ready(Ok(Outcome::Reply(JudgeReply::of_text(
            reply,
        )))))
    }
}

#[tokio::main]
async fn main() -> Result<()> {
    let judge = JudgeBuilder::custom("half-marks", HalfMarks);
    let evaluation = Evaluation::builder()
        .tests("data/test_cases.json")
        .answers("data/answers");
    for scored in evaluation.judge(judge).run("runs/half").await?.scores() {
        println!(
            "{} {}: {:?}",
            scored.system, scored.case.case_id, scored.score.value
        );
    }
    Ok(())
}
