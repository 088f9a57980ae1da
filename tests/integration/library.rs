//! The library without the command line: an evaluation in a few lines, and the examples that show it.

use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use scholareval::domain::JudgeReply;
use scholareval::judge::{AskFuture, Judge, JudgeRequest, Outcome};
use scholareval::{Evaluation, JudgeBuilder};

use crate::support::fake_server::FakeServer;
use crate::support::judging::constant_judge;
use crate::support::workspace::Workspace;

/// Runs an example where its relative paths lead to the sample data. Plain `cargo test` builds the examples, `--test` does not.
fn example(name: &str, dir: &Path, variables: &[(&str, &str)]) -> String {
    let program = Path::new(env!("CARGO_BIN_EXE_scholareval"))
        .with_file_name("examples")
        .join(name);
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("data");
    std::fs::create_dir_all(dir.join("data/answers")).unwrap();
    for file in [
        "test_cases.json",
        "answers/brief.jsonl",
        "answers/careful.jsonl",
        "answers/vague.jsonl",
    ] {
        std::fs::copy(data.join(file), dir.join("data").join(file)).unwrap();
    }
    let output = Command::new(program)
        .current_dir(dir)
        .env_clear()
        .envs(variables.iter().copied())
        .output();
    let output = output
        .unwrap_or_else(|error| panic!("{name}: {error}; plain `cargo test` builds the examples"));
    assert!(
        output.status.success(),
        "{name}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn the_example_with_a_server_scores_a_directory_and_pays_nothing_twice() {
    let server =
        FakeServer::start(constant_judge().serving("openai/gpt-oss-120b", "/models/gpt-oss-120b"));
    let (dir, url) = (tempfile::tempdir().unwrap(), server.base_url());
    let variables = [("OPENAI_BASE_URL", url.as_str()), ("OPENAI_API_KEY", "k")];
    let scored = example("score_one", dir.path(), &variables);
    assert!(
        scored.lines().count() > 3 && scored.contains("careful") && scored.contains("Some("),
        "{scored}"
    );
    let asked = server.chat_count();
    assert!(asked > 0 && dir.path().join("replies.sqlite").exists());
    assert!(dir.path().join("runs/one/scores.jsonl").exists());
    assert_eq!(example("score_one", dir.path(), &variables), scored);
    assert_eq!(server.chat_count(), asked);
    assert!(include_str!("../../examples/score_one.rs").lines().count() <= 35);
}

#[test]
fn the_examples_with_a_judge_and_a_scorer_of_ones_own_run_offline() {
    for name in ["custom_judge", "custom_scorer"] {
        let scored = example(name, tempfile::tempdir().unwrap().path(), &[]);
        assert!(
            scored.lines().count() >= 3 && scored.contains("Some("),
            "{name}: {scored}"
        );
    }
}

/// Gives every criterion 5 of 10 points, and counts what it is asked.
struct Counting(Arc<AtomicUsize>);

impl Judge for Counting {
    fn ask<'a>(&'a self, request: &'a JudgeRequest) -> AskFuture<'a> {
        self.0.fetch_add(1, Ordering::Relaxed);
        let reply = match request.call.question.info().name {
            "citations" => r#"{"claims": []}"#,
            _ => r#"{"score": 5}"#,
        };
        Box::pin(std::future::ready(Ok(Outcome::Reply(JudgeReply::of_text(
            reply,
        )))))
    }
}

#[tokio::test]
async fn an_evaluation_is_planned_run_and_summed_up_and_a_second_one_asks_nothing() {
    let work = Workspace::new(&["alpha", "beta"], 2);
    let asked = Arc::new(AtomicUsize::new(0));
    let evaluation = || {
        let judge = JudgeBuilder::custom("counting", Counting(Arc::clone(&asked)));
        Evaluation::builder()
            .tests(work.path("tests.json"))
            .answers(work.path("answers"))
            .judge(judge)
    };
    let plan = evaluation().plan().await.unwrap();
    assert_eq!(plan.answers, 4);
    assert!(!work.path("run").exists() && asked.load(Ordering::Relaxed) == 0);
    let run = evaluation().run(work.path("run")).await.unwrap();
    assert_eq!(
        (run.scores().len(), run.dir()),
        (4, work.path("run").as_path())
    );
    assert_eq!(work.lines("run/scores.jsonl").len(), 4);
    assert_eq!(run.manifest().roles["rubric"].judges[0].id, "counting");
    assert_eq!(run.summary().unscored_share, 0.0);
    let calls = asked.load(Ordering::Relaxed);
    assert!(calls as u64 >= plan.askable_now);
    drop(run);
    let again = evaluation().run(work.path("run")).await.unwrap();
    assert_eq!(
        (again.scores().len(), asked.load(Ordering::Relaxed)),
        (4, calls)
    );
    let missing = Evaluation::builder()
        .answers(work.path("nowhere"))
        .run(work.path("other"))
        .await
        .err()
        .unwrap();
    assert!(missing.to_string().contains("nowhere"), "{missing}");
}
