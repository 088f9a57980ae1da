//! Judges by role: who is asked what, in which form; the cache, the record, `rescore` and the reference's reading.

use serde_json::{Value, json};

use super::workspace::{Finished, Workspace, wait_until};
use crate::support::fake_server::Gate;

use super::{
    Behaviour, FakeServer, Recorded, aspect_of, close, empty_workspace, estimate, grader,
    judge_table, judging, prediction, write_predictions,
};

/// Calls to the judge of coverage and organization, to that of relevance, and to that of citations.
const CALLS: [usize; 3] = [4, 2, 4];

/// The judges of the published set-up: two Prometheus models and a label model.
struct Three {
    grades: FakeServer,
    relevance: FakeServer,
    labels: FakeServer,
}

impl Three {
    fn start(with: impl Fn(Behaviour) -> Behaviour) -> Self {
        let grades = |request: &Recorded| match aspect_of(request) {
            "coverage" => "Feedback: broad. [RESULT] 4".to_owned(),
            "organization" => "Feedback: loose. [RESULT] 2".to_owned(),
            _ => "what is this?".to_owned(),
        };
        // The last marker counts, the reference reads the first.
        let relevance = "Feedback: [RESULT] 5\nOn second thought: Feedback: drifts. [RESULT] 3";
        let label = |request: &Recorded| {
            if judging::section(request, "claim").contains("moon") {
                "Extrapolatory".to_owned()
            } else {
                "Attributable".to_owned()
            }
        };
        let start = |behaviour: Behaviour| FakeServer::start(with(behaviour));
        Self {
            grades: start(Behaviour::good().saying(grades)),
            relevance: start(Behaviour::good().saying(move |_| relevance.to_owned())),
            labels: start(Behaviour::good().saying(label)),
        }
    }

    fn counts(&self) -> [usize; 3] {
        [&self.grades, &self.relevance, &self.labels].map(FakeServer::chat_count)
    }

    /// Two answers of `alpha`; the first cites two sources for its claim, the second one.
    fn workspace(&self) -> Workspace {
        let work = empty_workspace();
        let ctxs = json!([{"title": "T0", "text": "First source."}, {"title": "T1", "text": "Second source."}]);
        let more = json!({"ctxs": ctxs, "answer": "A reference answer."});
        let tides = "The tides follow the pull of the sea's own weight and of the wind [0][1].";
        let cheese = "The moon is made of a cheese that has been left out for far too long [0].";
        let items = [
            prediction("Why are there tides?", tides, more.clone()),
            prediction("What is up there?", cheese, more),
        ];
        write_predictions(&work, "alpha.json", &items);
        // Identities of their own: three fake servers serve the same name.
        let grader = |id: &str, format: &str| {
            format!(
                "cache_id = \"{id}\"\nkind = \"completions\"\nconversation = \"{format}\"\ntemperature = 0.01\n\
                 top_p = 0.95\nconcurrency = 1"
            )
        };
        let tables = [
            judge_table("bgb", &self.grades, &grader("bgb", "llama-2")),
            judge_table(
                "prometheus",
                &self.relevance,
                &grader("prometheus", "mistral"),
            ),
            judge_table(
                "attrscore",
                &self.labels,
                "cache_id = \"attrscore\"\nkind = \"label\"\nconcurrency = 1",
            ),
        ];
        let roles = "[roles]\naspect = \"bgb\"\n\"aspect.relevance\" = \"prometheus\"\ncitation = \"attrscore\"\n";
        work.write("eval.toml", &(tables.concat() + roles));
        work
    }
}

fn run(work: &Workspace, more: &[&str]) -> Finished {
    let mut arguments = vec!["score", "alpha.json", "--config", "eval.toml"];
    if !more.contains(&"--out") {
        arguments.extend(["--out", "out"]);
    }
    arguments.extend(more);
    work.run(&arguments)
}

fn assert_scored(summary: &Value, relevance: f64) {
    let estimate = |scorer, column| estimate(summary, scorer, column);
    close(&estimate("prometheus", "coverage"), 4.0);
    close(&estimate("prometheus", "organization"), 2.0);
    close(&estimate("prometheus", "relevance"), relevance);
    close(
        &estimate("prometheus", "aspect_mean"),
        (4.0 + 2.0 + relevance) / 3.0,
    );
    // claims 1/1 and 0/1; citations 2/2 (each alone supports) and 0/1: means 1/2 and 1/2, harmonic mean 1/2
    close(&estimate("entailment", "citation_recall"), 0.5);
    close(&estimate("entailment", "citation_precision"), 0.5);
    close(&estimate("entailment", "citation_f1"), 0.5);
}

#[test]
fn each_role_asks_its_own_judge_in_its_own_form_and_nobody_else() {
    let three = Three::start(|behaviour| behaviour);
    let work = three.workspace();
    run(&work, &[])
        .exits_with(0)
        .says(&["scorers: prometheus, entailment, citation_audit, overlap; left out: rubric"]);
    assert_eq!(three.counts(), CALLS);
    assert_scored(&work.json("out/summary.json"), 3.0);

    let mut aspects: Vec<&str> = three.grades.chats().iter().map(aspect_of).collect();
    aspects.sort_unstable();
    assert_eq!(
        aspects,
        ["coverage", "coverage", "organization", "organization"]
    );
    assert!(
        three
            .relevance
            .chats()
            .iter()
            .all(|chat| aspect_of(chat) == "relevance")
    );
    let forms = [
        (&three.grades, "[INST] <<SYS>>\n", 512),
        (&three.relevance, "[INST] ", 512),
        (&three.labels, "", 10),
    ];
    for (server, mark, limit) in forms {
        for chat in server.chats() {
            let body = chat.json();
            assert_eq!(
                (chat.method.as_str(), chat.path.as_str()),
                ("POST", "/v1/completions")
            );
            assert_eq!(body["max_tokens"], limit, "{body}");
            assert!(
                body["messages"].is_null() && body["response_format"].is_null(),
                "{body}"
            );
            let prompt = body["prompt"].as_str().unwrap();
            assert!(prompt.starts_with(mark), "{prompt}");
            assert_eq!(prompt.ends_with(" [/INST]"), !mark.is_empty(), "{prompt}");
            let sampling = if limit == 10 {
                (json!(0.0), Value::Null)
            } else {
                (json!(0.01), json!(0.95))
            };
            assert_eq!(
                (body["temperature"].clone(), body["top_p"].clone()),
                sampling,
                "{body}"
            );
        }
    }
    assert!(
        !three.relevance.chats()[0]
            .user_message()
            .contains("<<SYS>>"),
        "that is another format's mark"
    );

    // the titles of cited sources where the aspect wants them, and only there
    for chat in three.grades.chats() {
        let response = judging::section(&chat, "response");
        assert_eq!(
            response.contains("[0] T0"),
            aspect_of(&chat) == "coverage",
            "{response}"
        );
    }
    assert!(
        three
            .grades
            .chats()
            .iter()
            .all(|chat| judging::section(chat, "reference") == "A reference answer.")
    );
}

#[test]
fn what_is_paid_is_not_asked_again_and_the_record_gives_the_same_scores() {
    let three = Three::start(|behaviour| behaviour);
    let work = three.workspace();
    let first = run(&work, &[]).exits_with(0);
    let again = run(&work, &[]).exits_with(0).says(&["nothing to ask"]);
    run(&work, &["--out", "other"])
        .exits_with(0)
        .says(&["nothing to ask"]);
    assert_eq!(three.counts(), CALLS, "replies are in the cache");
    assert_eq!(again.stdout, first.stdout);
    let (before, scores) = (work.json("out/summary.json"), work.read("out/scores.jsonl"));
    assert_eq!(
        work.run(&["rescore", "out"]).exits_with(0).stdout,
        first.stdout
    );
    assert_eq!(
        (work.json("out/summary.json"), work.read("out/scores.jsonl")),
        (before, scores)
    );
    // the same questions by a run of one scorer
    let arguments = [
        "score",
        "alpha.json",
        "--scorers",
        "entailment",
        "--entail",
        "long",
        "--config",
        "eval.toml",
        "--out",
        "citations",
    ];
    work.run(&arguments).exits_with(0).says(&["nothing to ask"]);
    assert_eq!(three.counts(), CALLS);
    close(
        &estimate(
            &work.json("citations/summary.json"),
            "entailment",
            "citation_f1",
        ),
        0.5,
    );
}

#[test]
fn compat_reads_the_first_marker_of_the_same_replies() {
    let three = Three::start(|behaviour| behaviour);
    let work = three.workspace();
    run(&work, &[]).exits_with(0);
    run(&work, &["--compat", "--out", "compat"]).exits_with(0);
    let compat = work.json("compat/summary.json");
    close(&estimate(&compat, "prometheus", "relevance"), 5.0);
    close(&estimate(&compat, "prometheus", "coverage"), 4.0);
    let rescored = work
        .run(&["rescore", "out", "--compat", "--out", "rescored", "--notes"])
        .exits_with(0);
    close(
        &estimate(
            &work.json("rescored/summary.json"),
            "prometheus",
            "relevance",
        ),
        5.0,
    );
    assert!(rescored.stdout.contains("5.00"), "{}", rescored.stdout);
}

#[test]
#[cfg(unix)]
fn a_run_that_was_killed_goes_on_without_a_cache() {
    // of each judge the first call is answered, the second not: the grader and the judge of citations are asked two
    let gate = Gate::after(1);
    let three = Three::start(|behaviour| behaviour.behind(&gate));
    let work = three.workspace();
    let asked = || three.counts().iter().sum::<usize>();
    let arguments = [
        "score",
        "alpha.json",
        "--config",
        "eval.toml",
        "--no-cache",
        "--out",
        "out",
    ];
    let mut child = std::process::Command::new(env!("CARGO_BIN_EXE_scholareval"))
        .env_clear()
        .env("HOME", work.path(""))
        .current_dir(work.path(""))
        .args(arguments)
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    wait_until("some calls were answered", || asked() >= 4);
    child.kill().unwrap();
    child.wait().unwrap();
    let recorded = work
        .lines("out/calls.jsonl")
        .iter()
        .filter(|line| !line["reply"]["content"].is_null())
        .count();
    let before = asked();
    gate.open();
    assert!(
        recorded >= 1 && before < CALLS.iter().sum(),
        "{recorded} recorded of {before}"
    );
    run(&work, &["--no-cache"]).exits_with(0);
    assert_eq!(
        asked() - before,
        CALLS.iter().sum::<usize>() - recorded,
        "what is recorded is not asked again"
    );
    assert_scored(&work.json("out/summary.json"), 3.0);
}

#[test]
fn the_rubrics_judge_may_be_a_further_one_whose_samples_the_record_knows() {
    let work = Workspace::new(&["alpha"], 1);
    // grades of expertise and criteria: 2, 4, 6 by turns
    let turn = std::sync::atomic::AtomicUsize::new(0);
    let judge = judging::constant_judge().saying(move |request| match judging::kind_of(request) {
        "citations" | "evidence" => judging::constant_reply(judging::kind_of(request)),
        _ => json!({"score": 2 + 2 * (turn.fetch_add(1, std::sync::atomic::Ordering::SeqCst) % 3)})
            .to_string(),
    });
    let server = FakeServer::start(judge);
    let table = judge_table(
        "mine",
        &server,
        "samples = 3\nmerge = \"median\"\ntemperature = 0.7\nconcurrency = 1",
    );
    work.write("eval.toml", &(table + "[roles]\nrubric = \"mine\"\n"));
    let arguments = [
        "score",
        "answers",
        "--tests",
        "tests.json",
        "--config",
        "eval.toml",
        "--out",
        "out",
    ];
    let first = work.run(&arguments).exits_with(0);
    let scores = work.read("out/scores.jsonl");
    let line = &work.lines("out/scores.jsonl")[0];
    // the samples of each criterion are 2, 4, 6 in some order: median 4
    close(&line["components"]["expertise"], 0.4);
    close(&line["components"]["p0"], 0.4);
    assert_eq!(
        line["members"]["p0"][0]["samples"]
            .as_array()
            .unwrap()
            .len(),
        3,
        "{line}"
    );
    let again = work.run(&["rescore", "out"]).exits_with(0);
    assert_eq!(
        (again.stdout, work.read("out/scores.jsonl")),
        (first.stdout, scores)
    );
}

#[test]
fn a_scorer_that_is_named_needs_a_judge() {
    let three = Three::start(grader_of_nothing);
    let work = three.workspace();
    let expected =
        "entailment cannot run: no judge (give --model or --base-url, or a judge under [roles])";
    work.run(&[
        "score",
        "alpha.json",
        "--scorers",
        "entailment",
        "--out",
        "out",
    ])
    .exits_with(2)
    .says(&[expected]);
    assert!(!work.path("out").exists());
}

#[test]
fn citations_take_the_index_base_of_the_config_unless_they_are_given_one() {
    let three = Three::start(|behaviour| behaviour);
    let work = three.workspace();
    let claim = "The tides follow the pull of the sea's own weight and of the wind [2].";
    let ctxs = json!({"ctxs": [{"text": "First."}, {"text": "Second."}]});
    write_predictions(&work, "alpha.json", &[prediction("Why?", claim, ctxs)]);
    work.write(
        "eval.toml",
        &(work.read("eval.toml") + "[score]\nindex_base = 1\n"),
    );
    let run = |out: &str, more: &[&str]| {
        let arguments = [
            "score",
            "alpha.json",
            "--scorers",
            "entailment,citation_audit",
            "--entail",
            "long",
            "--config",
            "eval.toml",
            "--out",
            out,
        ];
        work.run(&[&arguments[..], more].concat()).exits_with(0);
        let summary = work.json(&format!("{out}/summary.json"));
        (
            estimate(&summary, "entailment", "citation_recall"),
            estimate(&summary, "citation_audit", "dangling"),
        )
    };
    // the second of two sources, or a third that is not there
    assert_eq!(run("one", &[]), (json!(1.0), json!(0.0)));
    assert_eq!(
        judging::section(&three.labels.chats()[0], "document"),
        "Second."
    );
    assert_eq!(
        run("zero", &["--index-base", "0"]),
        (json!(0.0), json!(1.0))
    );
    assert_eq!(three.counts(), [0, 0, 1]);
}

fn grader_of_nothing(_: Behaviour) -> Behaviour {
    grader(1)
}
