//! Runs that end when it is decided (`score --until`): looks, decisions, kills, budgets, and what is read from such a run.

use serde_json::{Value, json};

use crate::support::fake_server::{Act, Behaviour, FakeServer, Gate, Recorded};
use crate::support::workspace::{Finished, Workspace, wait_until};

/// Grades every answer by the grade that it names.
fn honest() -> Behaviour {
    Behaviour::good().saying(grade_of)
}

fn grade_of(request: &Recorded) -> String {
    let text = request.user_message();
    let at = text.find("my grade is ").unwrap() + "my grade is ".len();
    format!("Feedback: it was read. [RESULT] {}", &text[at..=at])
}

/// A system with the grade of its answer to each question.
type SystemGrades = (&'static str, fn(usize) -> usize);

/// Answers of these systems to so many questions; each answer takes one call.
fn work_with(systems: &[SystemGrades], questions: usize) -> Workspace {
    let work = Workspace::with_cases(&[]);
    for (system, grade) in systems {
        let answer = |at: usize| {
            let text = format!("To question {at} of {system}, my grade is {}.", grade(at));
            json!({"input": format!("What is known about {at}?"), "output": text})
        };
        let answers: Vec<Value> = (0..questions).map(answer).collect();
        work.write(
            &format!("answers/{system}.json"),
            &Value::from(answers).to_string(),
        );
    }
    work
}

/// Grades of 4 and 5 against 1 and 2.
const APART: [SystemGrades; 2] = [("new", |at| 4 + at % 2), ("old", |at| 1 + at / 2 % 2)];
/// One in five better by 1, one in five worse by 1.
const EQUAL: [SystemGrades; 2] = [
    ("new", |_| 3),
    ("old", |at| match at % 5 {
        0 => 2,
        1 => 4,
        _ => 3,
    }),
];
/// Two in three better by 1, one in three worse by 1: not decided at the first look.
const NEAR: [SystemGrades; 2] = [
    ("new", |_| 3),
    ("old", |at| if at % 3 == 2 { 4 } else { 2 }),
];

fn arguments<'a>(url: &'a str, out: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let common = [
        "score",
        "answers",
        "--scorers",
        "prometheus",
        "--aspects",
        "coverage",
        "--no-reference",
        "--model",
        "fake-judge",
        "--base-url",
        url,
        "--out",
        out,
    ];
    [&common[..], more].concat()
}

fn score(work: &Workspace, server: &FakeServer, more: &[&str]) -> Finished {
    work.run(&arguments(&server.base_url(), "out", more))
}

fn looks(work: &Workspace) -> Value {
    work.json("out/manifest.json")["looks"].clone()
}

#[test]
fn systems_that_differ_much_are_decided_at_the_first_look_and_the_rest_can_be_asked_later() {
    let work = work_with(&APART, 50);
    let server = FakeServer::start(honest());
    let until = ["--until", "new>=old-0.5"];
    let plan = score(&work, &server, &[&until[..], &["--dry-run"]].concat()).exits_with(0);
    assert!(
        plan.stdout.contains(
            "after 20, 30, 40, 50 questions, when at most 40, 60, 80, 100 calls are made"
        ),
        "{}",
        plan.stdout
    );
    let done = score(&work, &server, &until)
        .exits_with(0)
        .says(&["look 1 of 4 (20 of 50 questions)"]);
    assert_eq!(server.chat_count(), 40);
    for part in [
        "Ended at look 1 of 4, after 20 of 50 questions (--until new>=old-0.5): decided in coverage.",
        "(repeated 95% interval): above -0.5",
    ] {
        assert!(
            flat(&done.stdout).contains(part),
            "{part} not in {}",
            done.stdout
        );
    }
    assert!(!done.stdout.contains("p = ") && !done.stdout.contains("p < "));
    let recorded = looks(&work);
    assert_eq!(
        (&recorded["look"], &recorded["decided_at"]),
        (&json!(1), &json!(1))
    );
    assert_eq!(recorded["pairs"][0]["decision"], "above");
    assert_eq!(recorded["cases"].as_array().unwrap().len(), 20);
    assert_eq!(work.json("out/summary.json")["looks"], recorded);
    assert_eq!(work.json("out/manifest.json")["status"], "complete");

    // The same command again asks nothing, without its judge as well; rescoring gives the same report.
    let again = score(&work, &server, &until).exits_with(0);
    assert_eq!(
        (again.stdout, server.chat_count()),
        (done.stdout.clone(), 40)
    );
    assert_eq!(
        work.run(&["rescore", "out"]).exits_with(0).stdout,
        done.stdout
    );

    // Another condition or another order of questions would be a second try.
    for other in [
        &["--until", "new>=old-0.4"][..],
        &["--until", "new>=old-0.5", "--seed", "7"],
    ] {
        score(&work, &server, other).exits_with(3).says(&[
            "different --until: new>=old-0.5 with seed 42 (in the run), new>=old-0.",
            "name another directory with --out, or add --overwrite",
        ]);
    }
    assert_eq!(server.chat_count(), 40);

    let compared = work
        .run(&["compare", "out", "--format", "json"])
        .exits_with(0);
    let compared: Value = serde_json::from_str(&compared.stdout).unwrap();
    let pair = &compared["metrics"][0]["pairs"][0];
    assert_eq!(
        (&pair["p"], &pair["is_at_look"]),
        (&Value::Null, &json!(true))
    );
    assert_eq!(pair["interval"], recorded["pairs"][0]["interval"]);
    assert_eq!(compared["metrics"][0]["cases_in_all"], 20);
    assert_eq!(compared["metrics"][0]["groups"], json!([]));
    let text = work
        .run(&["compare", "out", "--require", "new>=old-0.5"])
        .exits_with(0);
    assert!(
        flat(&text.stdout).contains("repeated interval"),
        "{}",
        text.stdout
    );
    assert!(
        flat(&text.stdout).contains("ended after 20 of 50 questions"),
        "{}",
        text.stdout
    );
    assert!(
        work.run(&["runs", "."])
            .exits_with(0)
            .stdout
            .contains("decided")
    );
    work.run(&["report", "out", "--out", "page.html"])
        .exits_with(0);

    score(&work, &server, &[]).exits_with(0);
    assert_eq!(server.chat_count(), 100);
    assert_eq!(looks(&work), Value::Null);
    let compared = work.run(&["compare", "out"]).exits_with(0);
    assert!(compared.stdout.contains("p < 0.001"), "{}", compared.stdout);
}

/// The text without line breaks.
fn flat(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn equal_systems_end_where_going_on_is_futile() {
    let work = work_with(&EQUAL, 50);
    let server = FakeServer::start(honest());
    let done = score(&work, &server, &["--until", "all"]).exits_with(0);
    let recorded = looks(&work);
    assert_eq!(recorded["pairs"][0]["decision"], "futile");
    let look = recorded["look"].as_u64().unwrap() as usize;
    assert!(look < 4, "{recorded}");
    assert_eq!(server.chat_count(), 2 * [20, 30, 40][look - 1]);
    assert!(
        flat(&done.stdout).contains("futile to go on"),
        "{}",
        done.stdout
    );
    // What was not decided is no gate that is met.
    work.run(&["compare", "out", "--require", "new>=old"])
        .exits_with(8);
}

#[test]
fn a_run_that_is_killed_between_looks_has_the_same_looks_and_decisions() {
    let expected = work_with(&NEAR, 50);
    let server = FakeServer::start(honest());
    let until = [
        "--until",
        "baseline",
        "--baseline",
        "old",
        "--concurrency",
        "4",
    ];
    let done = score(&expected, &server, &until).exits_with(0);
    let recorded = looks(&expected);
    assert!(recorded["look"].as_u64().unwrap() > 1, "{recorded}");
    let calls = server.chat_count();

    let work = work_with(&NEAR, 50);
    // In the first look, between both, and in the second.
    let gate = Gate::holding(0..0);
    let server = FakeServer::start(honest().behind(&gate));
    for answered in [17, 40, 51] {
        gate.hold(answered..usize::MAX);
        let url = server.base_url();
        let mut child = std::process::Command::new(env!("CARGO_BIN_EXE_scholareval"))
            .env_clear()
            .env("HOME", work.path("."))
            .env("OPENAI_API_KEY", "k")
            .current_dir(work.path("."))
            .args(arguments(&url, "out", &until))
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::null())
            .spawn()
            .unwrap();
        wait_until("a call is held back", || server.chat_count() > answered);
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(looks(&work), Value::Null, "unfinished");
    }
    gate.open();
    let resumed = score(&work, &server, &until).exits_with(0);
    assert_eq!(looks(&work), recorded);
    assert_eq!(resumed.stdout, done.stdout);
    assert_eq!(
        work.read("out/scores.jsonl"),
        expected.read("out/scores.jsonl")
    );
    // At most the calls in flight at each kill are asked twice.
    assert!(
        server.chat_count() <= calls + 3 * 4,
        "{} {calls}",
        server.chat_count()
    );
}

#[test]
fn a_budget_that_ends_inside_a_look_and_a_judge_that_fails_leave_an_unfinished_run() {
    let work = work_with(&APART, 50);
    let server = FakeServer::start(honest());
    let until = ["--until", "new>old"];
    let spent = [&until[..], &["--budget-tokens", "20000"]].concat();
    score(&work, &server, &spent).exits_with(7);
    let asked = server.chat_count();
    assert!((1..40).contains(&asked), "{asked}");
    assert_eq!(work.json("out/manifest.json")["status"], "stopped");
    assert_eq!(looks(&work), Value::Null);
    let server = server.replaced_by(Behaviour::always(Act::error(401, "invalid_api_key", "no")));
    score(&work, &server, &until).exits_with(4);
    assert_eq!(looks(&work), Value::Null);
    let server = server.replaced_by(honest());
    score(&work, &server, &until).exits_with(0);
    assert_eq!(looks(&work)["decided_at"], 1);
    assert_eq!(server.chat_count(), 40 - asked);
}

#[test]
fn answers_without_a_score_are_no_reason_to_end() {
    // All answers of old fail, or could be anything: nothing is decided by them.
    let work = work_with(&APART, 50);
    let fails = |request: &Recorded| request.user_message().contains("of old, my");
    let moderated = Act::error(400, "content_filter", "refused by the content filter");
    let server = FakeServer::start(honest().when(fails, moderated));
    score(&work, &server, &["--until", "new>old"]).exits_with(5);
    let recorded = looks(&work);
    assert_eq!(
        (&recorded["look"], &recorded["decided_at"]),
        (&json!(4), &Value::Null)
    );
    assert_eq!(server.chat_count(), 100);
}

#[test]
fn few_questions_have_no_early_look() {
    for questions in [1, 19] {
        let work = work_with(&APART, questions);
        let server = FakeServer::start(honest());
        score(&work, &server, &["--until", "new>old"]).exits_with(0);
        let recorded = looks(&work);
        assert_eq!(
            recorded["looks"].as_array().unwrap().len(),
            1,
            "{questions}"
        );
        assert_eq!(server.chat_count(), 2 * questions);
        let decision = if questions == 1 { "undecided" } else { "above" };
        assert_eq!(recorded["pairs"][0]["decision"], decision);
        // One look is no look before the end: what compare says holds.
        let compared = work
            .run(&["compare", "out", "--format", "json"])
            .exits_with(0);
        let compared: Value = serde_json::from_str(&compared.stdout).unwrap();
        let pair = &compared["metrics"][0]["pairs"][0];
        assert!(pair.get("is_at_look").is_none());
        assert_eq!(pair["p"].is_null(), questions == 1);
    }
}

#[test]
fn conditions_that_cannot_be_read_cost_nothing() {
    let work = work_with(&APART, 20);
    let server = FakeServer::start(honest());
    for (more, code, part) in [
        (&["--until", "baseline"][..], 2, "needs --baseline SYSTEM"),
        (&["--until", "new>=odl"], 3, "no system is called odl"),
        (&["--until", "coverage>=3"], 2, "it orders two systems"),
        (
            &["--until", "new>old", "--slice", "1/2"],
            2,
            "does not fit --slice",
        ),
        (&["--baseline", "old"], 2, "--until"),
    ] {
        score(&work, &server, more).exits_with(code).says(&[part]);
    }
    // Metrics are known by what the scorers would score.
    score(&work, &server, &["--until", "covrage:new>old"])
        .exits_with(3)
        .says(&["did you mean coverage?"]);
    for (until, part) in [
        ("new>=old-5", "no difference of coverage is as large"),
        ("prometheus.coverage:new>=old-4", "as large as the margin"),
    ] {
        let more = ["--until", until, "--dry-run"];
        score(&work, &server, &more).exits_with(2).says(&[part]);
    }
    assert_eq!(server.chat_count(), 0);
    let right = ["--until", "coverage:new>=old-3.9", "--dry-run"];
    score(&work, &server, &right).exits_with(0);
}

#[test]
fn metrics_of_every_scorer_are_known_before_the_first_call() {
    let work = Workspace::new(&["new", "old"], 20);
    let server = FakeServer::start(Behaviour::good());
    let url = server.base_url();
    for (metric, code) in [
        ("score", 0),
        ("rubric.ann_score", 0),
        ("expertise", 0),
        ("citation_recall", 3),
    ] {
        let until = format!("{metric}:new>=old-0.1");
        let all = [
            "score",
            "answers",
            "--tests",
            "tests.json",
            "--model",
            "fake-judge",
            "--base-url",
            &url,
            "--until",
            &until,
            "--dry-run",
        ];
        work.run(&all).exits_with(code);
    }
    assert_eq!(server.chat_count(), 0);
}
