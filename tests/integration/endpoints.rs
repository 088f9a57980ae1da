//! One judge at several endpoints, through the whole program.

mod proxies;
mod streaming;

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use serde_json::{Value, json};

use crate::support::fake_server::{Act, Behaviour, FakeServer, Gate, Reserved};
use crate::support::judging::answer_of;
use crate::support::workspace::{Finished, Workspace, scoring, wait_until};

const SYSTEMS: [&str; 2] = ["alpha", "beta"];
/// 20 answers: all of them belong to one of two servers with a probability of 2 x 2^-20.
const CASES: usize = 10;

/// The addresses of these servers as one argument.
fn urls(servers: &[&FakeServer]) -> String {
    servers
        .iter()
        .map(|server| server.base_url())
        .collect::<Vec<_>>()
        .join(",")
}

/// The answers that a server was asked about.
fn answers(server: &FakeServer) -> BTreeSet<String> {
    server.chats().iter().map(answer_of).collect()
}

/// Calls and scores of a run with one server over so many cases.
fn calm(cases: usize) -> (usize, String) {
    let (work, server) = (
        Workspace::new(&SYSTEMS, cases),
        FakeServer::start(Behaviour::good()),
    );
    work.score(&server, &[]).exits_with(0);
    (server.chat_count(), work.read("out/scores.jsonl"))
}

/// What the summary says of the endpoint at this address.
fn endpoint<'a>(summary: &'a Value, url: &str) -> &'a Value {
    let all = summary["endpoints"]
        .as_array()
        .unwrap_or_else(|| panic!("no endpoints in {summary}"));
    all.iter()
        .find(|endpoint| endpoint["url"] == url)
        .unwrap_or_else(|| panic!("{url} is not in {all:?}"))
}

#[test]
fn each_answer_is_judged_at_one_of_two_servers_with_the_scores_and_keys_of_one() {
    let (calls, scores) = calm(CASES);
    let servers = [
        FakeServer::start(Behaviour::good()),
        FakeServer::start(Behaviour::good()),
    ];
    let both = urls(&[&servers[0], &servers[1]]);
    let work = Workspace::new(&SYSTEMS, CASES);
    // a place for every call: where none waits, none moves because the machine made one server seem slow
    let places = calls.to_string();
    work.run(&scoring(&both, &["--concurrency", &places]))
        .exits_with(0);
    let [first, second] = [answers(&servers[0]), answers(&servers[1])];
    assert!(
        first.is_disjoint(&second),
        "{:?}",
        first.intersection(&second)
    );
    assert_eq!(first.len() + second.len(), SYSTEMS.len() * CASES);
    assert!(!first.is_empty() && !second.is_empty());
    assert_eq!(work.read("out/scores.jsonl"), scores);
    let summary = work.json("out/summary.json");
    for server in &servers {
        let told = endpoint(&summary, &server.base_url());
        assert_eq!(
            (&told["judge"], &told["calls"]),
            (&json!("judge"), &json!(server.chat_count()))
        );
        assert!(
            told["latency_p50_ms"].is_number() && told["latency_p95_ms"].is_number(),
            "{told}"
        );
        assert_eq!(
            (
                &told["errors"],
                &told["cached_prompt_tokens"],
                &told["is_down"]
            ),
            (&json!(0), &json!(0), &json!(false))
        );
    }
    let judge = work.json("out/manifest.json")["roles"]["rubric"]["judges"][0].clone();
    assert_eq!(
        (&judge["id"], &judge["base_url"]),
        (&json!("fake-judge"), &json!(both))
    );

    // the same run again, the addresses the other way round, one of them alone: all is paid
    let sent = |servers: &[FakeServer]| servers.iter().map(FakeServer::chat_count).sum::<usize>();
    assert_eq!(sent(&servers), calls);
    let turned = urls(&[&servers[1], &servers[0]]);
    for (url, out) in [
        (&both, "out"),
        (&turned, "turned"),
        (&servers[0].base_url(), "alone"),
    ] {
        work.run(&scoring(url, &["--out", out]))
            .exits_with(0)
            .says(&["nothing to ask"]);
    }
    assert_eq!(sent(&servers), calls);
    assert_eq!(
        work.json("out/summary.json"),
        summary,
        "what was asked is kept"
    );
    assert!(
        work.json("alone/summary.json")["endpoints"].is_null(),
        "nobody was asked"
    );
}

#[test]
fn the_answers_of_a_server_that_dies_are_judged_by_the_other() {
    let (_, scores) = calm(CASES);
    let dying = FakeServer::start(Behaviour::good().behind(&Gate::after(3)));
    let living = FakeServer::start(Behaviour::good());
    let (both, url) = (urls(&[&dying, &living]), dying.base_url());
    let work = Workspace::new(&SYSTEMS, CASES);
    let mut arguments = scoring(&both, &["--concurrency", "1"]);
    arguments.extend(["--retries", "20"]);
    let child = std::process::Command::new(env!("CARGO_BIN_EXE_scholareval"))
        .env_clear()
        .env("HOME", work.path("."))
        .current_dir(work.path("."))
        .args(&arguments)
        .stdin(std::process::Stdio::null())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    wait_until("the first has replied, and is asked again", || {
        dying.chat_count() > 3
    });
    let _port = dying.gone();
    Finished::of(child.wait_with_output().unwrap()).exits_with(0);
    assert_eq!(work.read("out/scores.jsonl"), scores);
    let summary = work.json("out/summary.json");
    let gone = endpoint(&summary, &url);
    assert!(
        gone["errors"].as_u64().unwrap() > 0 && gone["replies"].as_u64().unwrap() > 0,
        "{gone}"
    );
    let told = endpoint(&summary, &living.base_url());
    assert_eq!(
        (&told["errors"], &told["is_down"]),
        (&json!(0), &json!(false))
    );
}

#[test]
fn work_moves_away_from_a_server_that_is_much_slower() {
    let (calls, scores) = calm(CASES);
    // so slow that the fast one would have to hang for seconds to seem as slow
    let slow = FakeServer::start(Behaviour::good().latency(Duration::from_millis(1500)));
    let fast = FakeServer::start(Behaviour::good());
    let work = Workspace::new(&SYSTEMS, CASES);
    work.run(&scoring(&urls(&[&slow, &fast]), &["--concurrency", "4"]))
        .exits_with(0);
    let moved = answers(&slow).intersection(&answers(&fast)).count();
    assert!(
        moved > 0,
        "no answer that began at the slow one was finished by the fast one"
    );
    assert_eq!(
        slow.chat_count() + fast.chat_count(),
        calls,
        "nothing is asked twice for that"
    );
    assert!(
        slow.max_in_flight() <= 4 && fast.max_in_flight() <= 4,
        "the limit is one of each endpoint"
    );
    assert_eq!(work.read("out/scores.jsonl"), scores);
}

#[test]
fn servers_of_different_models_are_refused_unless_the_user_vouches_for_them() {
    let servers = ["/w/a", "/w/b"]
        .map(|root| FakeServer::start(Behaviour::good().serving("fake-judge", root)));
    let both = urls(&[&servers[0], &servers[1]]);
    let work = Workspace::new(&SYSTEMS, 2);
    let parts = [
        "the endpoints serve different models",
        r#"root "a""#,
        r#"root "b""#,
        "--cache-id",
    ];
    work.run(&scoring(&both, &[])).exits_with(3).says(&parts);
    assert_eq!(servers[0].chat_count() + servers[1].chat_count(), 0);
    work.run(&scoring(&both, &["--cache-id", "mine"]))
        .exits_with(0);
    assert!(servers[0].chat_count() + servers[1].chat_count() > 0);
}

#[test]
fn a_server_that_is_not_there_is_left_out_and_told() {
    let absent = Reserved::new();
    let server = FakeServer::start(Behaviour::good());
    let both = format!("{},{}", absent.base_url(), server.base_url());
    let work = Workspace::new(&SYSTEMS, 2);
    let done = work
        .run(&scoring(&both, &[]))
        .exits_with(0)
        .says(&["is left out", &absent.base_url()]);
    assert!(
        done.stderr.contains("down at the end: no judge answers at"),
        "{}",
        done.stderr
    );
    assert_eq!(
        endpoint(&work.json("out/summary.json"), &absent.base_url())["calls"],
        0
    );
    // check is strict: it asks each of them
    let mut arguments = scoring(&both, &[]);
    arguments[0] = "check";
    let checked = work
        .run(&arguments)
        .exits_with(4)
        .says(&["no judge answers at"]);
    assert!(
        checked
            .stdout
            .contains(&format!("endpoint: {} answers in", server.base_url())),
        "{}",
        checked.stdout
    );
    assert!(
        checked
            .stdout
            .contains(&format!("endpoint: {} does not answer", absent.base_url())),
        "{}",
        checked.stdout
    );
    // nobody at all: as with one address, from the cache
    let sent = server.chat_count();
    let _port = server.gone();
    work.run(&scoring(&both, &[]))
        .exits_with(0)
        .says(&["is unreachable; cached replies", "nothing to ask"]);
    assert!(sent > 0);
}

#[test]
fn waiting_for_servers_goes_on_with_those_that_came() {
    let absent = Reserved::new();
    let loading = FakeServer::start(Behaviour::good().loading(1));
    let both = format!("{},{}", absent.base_url(), loading.base_url());
    let work = Workspace::new(&SYSTEMS, 1);
    work.run(&scoring(&both, &["--wait-server", "6s"]))
        .exits_with(0)
        .says(&["waiting for", "is left out"]);
    work.run(&scoring(
        &absent.base_url(),
        &["--wait-server", "1s", "--out", "other"],
    ))
    .exits_with(4);
}

#[test]
fn a_429_at_one_server_does_not_hold_up_the_calls_of_the_other() {
    let (_, scores) = calm(40);
    let others = Arc::new(AtomicUsize::new(0));
    let asked = Arc::clone(&others);
    let begin: OnceLock<usize> = OnceLock::new();
    let sent_away = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&sent_away);
    let throttling = FakeServer::start(Behaviour::good().deciding(move |_| {
        let asked = asked.load(Ordering::SeqCst);
        // Not before both have work, and until the other has had so many calls more (23 answers; it has fewer of 80 with a
        // probability of 1e-4, and then gets some of this one's), however many pauses that takes the
        // machine. Had the other's places gone to answers that wait, it would have had those of some 8 answers (40 or so)
        // and hardly any more within the time that a run has here.
        let is_closed = asked > 0 && asked < begin.get_or_init(|| asked) + 120;
        counted.fetch_add(usize::from(is_closed), Ordering::SeqCst);
        is_closed.then(|| {
            Act::error(429, "rate_limit_exceeded", "slow down").with_header("Retry-After", "4")
        })
    }));
    let free = FakeServer::start(Behaviour::good().deciding(move |_| {
        others.fetch_add(1, Ordering::SeqCst);
        None
    }));
    let work = Workspace::new(&SYSTEMS, 40);
    let both = urls(&[&throttling, &free]);
    work.run(&scoring(&both, &["--concurrency", "4", "--retries", "30"]))
        .exits_with(0);
    let sent_away = sent_away.load(Ordering::SeqCst);
    assert!(sent_away > 0, "no call came to the closed door");
    assert_eq!(work.read("out/scores.jsonl"), scores);
    let summary = work.json("out/summary.json");
    let throttled = [&throttling, &free]
        .map(|server| endpoint(&summary, &server.base_url())["throttled"].clone());
    assert_eq!(throttled, [json!(sent_away), json!(0)]);
}

#[test]
fn addresses_are_checked_one_by_one_and_shown_masked() {
    let work = Workspace::new(&SYSTEMS, 1);
    for twice in [
        "localhost:1,localhost:1",
        "localhost:1,http://localhost:1/v1/",
    ] {
        work.run(&scoring(twice, &[]))
            .exits_with(2)
            .says(&["--base-url: ", "is given twice"]);
    }
    work.run(&scoring("localhost:1,ftp://x", &[]))
        .exits_with(2)
        .says(&["--base-url: base URL \"ftp://x/\" is neither http nor https"]);
    let shown = work
        .run(&[
            "config",
            "--base-url",
            "gpu1:8000,https://me:hunter2@gpu2/v1?api-key=hunter2",
        ])
        .exits_with(0);
    assert!(
        shown
            .stdout
            .contains("gpu1:8000,https://***@gpu2/v1?api-key=***"),
        "{}",
        shown.stdout
    );
    assert!(!shown.all_text().contains("hunter2"));
    work.write(
        "my.toml",
        "[judge]\nbase_url = [\"gpu1:8000\", \"gpu1:8000\"]\n",
    );
    work.run(&["config", "--config", "my.toml"])
        .exits_with(3)
        .says(&["my.toml:2: judge.base_url: ", "given twice"]);
}

#[test]
fn a_batch_goes_to_the_first_server_that_is_there() {
    let absent = Reserved::new();
    let server = FakeServer::start(Behaviour::good());
    let both = format!("{},{}", absent.base_url(), server.base_url());
    let work = Workspace::new(&SYSTEMS, 1);
    let mut arguments = vec!["batch", "export"];
    arguments.extend(&scoring(&both, &["--out", "batch"])[1..]);
    work.run(&arguments).exits_with(0);
    assert_eq!(
        work.json("batch/batch.json")["parts"][0]["base_url"],
        server.base_url()
    );
}
