//! Scores a directory of answers with an OpenAI-compatible judge, a reply cache and limits.
//!
//! It asks the server that OPENAI_BASE_URL names, else one of your own, with the key in OPENAI_API_KEY. Run with `cargo run
//! --example score_one`.
#![expect(clippy::print_stdout, reason = "an example shows what it found")]

use scholareval::{Evaluation, JudgeBuilder, Result};

#[tokio::main]
async fn main() -> Result<()> {
    let key = std::env::var("OPENAI_API_KEY").unwrap_or_default();
    let url = std::env::var("OPENAI_BASE_URL").unwrap_or("http://localhost:8000/v1".into());
    let judge = JudgeBuilder::openai("openai/gpt-oss-120b")
        .base_url(url)
        .api_key(key)
        .concurrency(8)
        .requests_per_minute(500);
    let evaluation = Evaluation::builder()
        .tests("data/test_cases.json")
        .answers("data/answers");
    let run = evaluation
        .judge(judge.cache("replies.sqlite"))
        .run("runs/one")
        .await?;
    for scored in run.scores() {
        println!(
            "{} {}: {:?}",
            scored.system, scored.case.case_id, scored.score.value
        );
    }
    Ok(())
}
