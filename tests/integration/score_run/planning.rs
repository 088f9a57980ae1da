//! What is asked, in which order, and what is said before it.

use std::collections::BTreeMap;

use serde_json::json;

use super::judging::{Timeline, answer_of, constant_judge, kind_of, section};
use super::workspace::{AT_MOST, KEY, NOW, Running, Workspace, plain_case, test_case, wait_until};
use super::{Act, Behaviour, FakeServer, Gate, Recorded};

/// How many calls of each kind were asked.
fn kinds(server: &FakeServer) -> BTreeMap<&'static str, usize> {
    let mut kinds = BTreeMap::new();
    for chat in server.chats() {
        *kinds.entry(kind_of(&chat)).or_default() += 1;
    }
    kinds
}

/// The numbers of the plan's line: askable now, at most, cached.
#[track_caller]
fn planned(text: &str) -> (usize, usize, usize) {
    let line = text
        .lines()
        .find(|line| line.starts_with("plan: "))
        .unwrap_or_else(|| panic!("no plan in {text}"));
    let between = |before: &str, after: &str| {
        let tail = &line[line.find(before).unwrap() + before.len()..];
        tail[..tail.find(after).unwrap()]
            .replace(',', "")
            .parse()
            .unwrap()
    };
    let cached = line
        .rsplit("; ")
        .find_map(|part| part.strip_suffix(" cached"))
        .map_or(0, |count| count.replace(',', "").parse().unwrap());
    let now = between("plan: ", " calls now");
    let follow_ups = " with all follow-up questions";
    // Without questions that depend on a reply there is one number.
    let at_most = if line.contains(follow_ups) {
        between("up to ", follow_ups)
    } else {
        now
    };
    (now, at_most, cached)
}

#[test]
fn a_dry_run_says_what_the_run_then_asks_and_asks_nothing() {
    let work = Workspace::new(&["alpha", "beta"], 3);
    // the first criterion of every case earns nothing: its gate stays closed
    let is_first = |request: &Recorded| request.user_message().contains("name the causes");
    let server = FakeServer::start(
        constant_judge().when(is_first, Act::Content(json!({"score": 0}).to_string())),
    );
    let dry = work.score(&server, &["--dry-run"]).exits_with(0);
    let (now, at_most, paid) = planned(&dry.stdout);
    assert_eq!((now, at_most, paid), (6 * NOW, 6 * AT_MOST, 0));
    assert_eq!(server.chat_count(), 0);
    assert!(!work.path("out").exists(), "a dry run leaves no record");
    let run = work.score(&server, &[]).exits_with(0);
    assert_eq!(
        planned(&run.stderr),
        (now, at_most, paid),
        "the line before the first call says the same"
    );
    // of the two gates of an answer one is open
    assert_eq!(server.chat_count(), now + 6);
    assert_eq!(
        kinds(&server),
        BTreeMap::from([
            ("citations", 6),
            ("evidence", 6),
            ("expertise", 6),
            ("property", 12)
        ])
    );
    // now all is paid
    let dry = work.score(&server, &["--dry-run"]).exits_with(0);
    assert_eq!(
        dry.stdout,
        "plan: nothing to ask; all 30 replies are cached\n"
    );
    // two more samples of everything; the samples that are paid stay paid
    let more = ["--dry-run", "--samples", "3"];
    assert_eq!(
        planned(&work.score(&server, &more).stdout),
        (6 * NOW * 2, 6 * AT_MOST * 3 - 30, 30)
    );
}

#[test]
fn the_plan_is_printed_before_the_first_call() {
    let work = Workspace::new(&["alpha"], 1);
    let server = FakeServer::start(Behaviour::always(Act::error(401, "invalid_api_key", "no")));
    let done = work.score(&server, &[]).exits_with(4);
    let (plan, error) = (
        done.stderr
            .find("plan: 4 calls now, up to 6 with all follow-up questions"),
        done.stderr.find("error: "),
    );
    assert!(plan.unwrap() < error.unwrap(), "{}", done.stderr);
}

#[test]
fn each_half_of_the_rubric_can_be_asked_alone() {
    for (half, asked, names) in [
        ("criteria", ("property", 2), "p0 p1"),
        // without criteria there are no gates
        ("snippets", ("evidence", 2), "p0_evidence p1_evidence"),
    ] {
        let work = Workspace::new(&["alpha"], 1);
        let server = FakeServer::start(constant_judge());
        let done = work.score(&server, &["--only", half]).exits_with(0);
        assert_eq!(planned(&done.stderr), (4, 4, 0), "{half}");
        assert_eq!(
            kinds(&server),
            BTreeMap::from([("citations", 1), ("expertise", 1), asked]),
            "{half}"
        );
        let score = &work.lines("out/scores.jsonl")[0];
        for name in names.split(' ') {
            // a property of one part gives it its whole weight, 0.6 / 2
            assert_eq!(score["details"][name]["weight"], 0.3, "{half}: {score}");
        }
        assert_eq!(score["details"].as_object().unwrap().len(), 4 + 2, "{half}");
    }
}

#[test]
fn weights_of_properties_without_a_part_go_to_the_others_and_the_run_says_so() {
    let cases = [test_case(
        "c1",
        &[("Say why.", &["Because."]), ("Say when.", &[])],
    )];
    let work = Workspace::with_cases(&cases);
    work.answers("alpha", [("c1", "Because.".to_owned())]);
    let server = FakeServer::start(constant_judge());
    let done = work.score(&server, &["--only", "snippets"]).exits_with(0);
    let score = &work.lines("out/scores.jsonl")[0];
    // p1 has no snippets: its 0.3 goes to p0_evidence
    assert_eq!(score["details"]["p0_evidence"]["weight"], 0.6, "{score}");
    assert_eq!(score["notes"].as_array().unwrap().len(), 1);
    let note = score["notes"][0].as_str().unwrap();
    assert!(
        done.stdout.replace("\n  ", " ").contains(&note[..40]),
        "{note} is not in {}",
        done.stdout
    );
}

#[test]
fn systems_cases_and_a_limit_choose_what_is_scored() {
    let work = Workspace::new(&["alpha", "beta", "gamma"], 4);
    let server = FakeServer::start(constant_judge());
    for (more, expected) in [
        (
            &["--systems", "gamma,alpha.jsonl", "--limit", "1"][..],
            vec!["gamma c1", "alpha c1"],
        ),
        (
            &["--systems", "beta", "--cases", "c4,c2"],
            vec!["beta c2", "beta c4"],
        ),
        (
            &["--systems", "beta", "--cases", "c4,c2", "--limit", "1"],
            vec!["beta c2"],
        ),
    ] {
        work.score(&server, &[more, &["--overwrite"]].concat())
            .exits_with(0);
        let lines = work.lines("out/scores.jsonl");
        let text = |line: &serde_json::Value, key: &str| line[key].as_str().unwrap().to_owned();
        let scored: Vec<String> = lines
            .iter()
            .map(|l| text(l, "system") + " " + &text(l, "case_id"))
            .collect();
        assert_eq!(scored, expected, "{more:?}");
    }
    assert_eq!(
        server.chat_count(),
        4 * AT_MOST,
        "beta's answer to c2 is asked about once"
    );
}

#[test]
fn every_sample_is_asked_and_cached_under_its_index() {
    let work = Workspace::new(&["alpha"], 1);
    let server = FakeServer::start(constant_judge());
    work.score(&server, &["--samples", "3", "--judge-seed", "7"])
        .exits_with(0);
    assert_eq!(server.chat_count(), 3 * AT_MOST);
    let calls = work.lines("out/calls.jsonl");
    for item in [
        "expertise",
        "citations",
        "p0",
        "p1",
        "p0_evidence",
        "p1_evidence",
    ] {
        let of_item = calls.iter().filter(|call| call["item"] == item);
        let mut samples: Vec<u64> = of_item
            .clone()
            .map(|call| call["sample"].as_u64().unwrap())
            .collect();
        samples.sort_unstable();
        assert_eq!(samples, [0, 1, 2], "{item}");
        let keys: std::collections::HashSet<&serde_json::Value> =
            of_item.map(|call| &call["fingerprint"]).collect();
        assert_eq!(keys.len(), 3, "{item}");
    }
    // sample d sends the seed 7 + 1000 d
    let mut seeds: Vec<u64> = server
        .chats()
        .iter()
        .map(|chat| chat.json()["seed"].as_u64().unwrap())
        .collect();
    seeds.sort_unstable();
    seeds.dedup();
    assert_eq!(seeds, [7, 1007, 2007]);
    // fewer samples later: the first sample is found
    work.score(
        &server,
        &["--samples", "1", "--judge-seed", "7", "--out", "one"],
    )
    .exits_with(0)
    .says(&["nothing to"]);
    assert_eq!(server.chat_count(), 3 * AT_MOST);
}

#[test]
fn samples_are_merged_by_their_mean() {
    let work = Workspace::new(&["alpha"], 1);
    // the samples of the first criterion are told apart by their seed: 2, 5 and 8 points
    let sample = |seed: u64| {
        move |request: &Recorded| {
            request.json()["seed"] == seed && section(request, "criterion").contains("causes of c1")
        }
    };
    let points = |points: u64| Act::Content(json!({"score": points}).to_string());
    let judge = constant_judge()
        .when(sample(7), points(2))
        .when(sample(1007), points(5))
        .when(sample(2007), points(8));
    let server = FakeServer::start(judge);
    work.score(&server, &["--samples", "3", "--judge-seed", "7"])
        .exits_with(0);
    // (0.2 + 0.5 + 0.8) / 3
    let value = work.lines("out/scores.jsonl")[0]["components"]["p0"]
        .as_f64()
        .unwrap();
    assert!((value - 0.5).abs() < 1e-12, "{value}");
}

#[test]
fn a_sample_that_counts_too_many_snippets_makes_up_for_no_other() {
    let work = Workspace::new(&["alpha"], 1);
    let counted = |seed: u64, count: u64| {
        let is_meant = move |request: &Recorded| {
            request.json()["seed"] == seed && kind_of(request) == "evidence"
        };
        (is_meant, Act::Content(json!({"score": count}).to_string()))
    };
    let judge = [(7, 0), (1007, 5), (2007, 1)].into_iter().fold(
        constant_judge(),
        |judge, (seed, count)| {
            let (is_meant, says) = counted(seed, count);
            judge.when(is_meant, says)
        },
    );
    work.score(
        &FakeServer::start(judge),
        &["--samples", "3", "--judge-seed", "7"],
    )
    .exits_with(0);
    let components = work.lines("out/scores.jsonl")[0]["components"].clone();
    // of 2 snippets (0 + 2 + 1) / 3 / 2, of 1 snippet (0 + 1 + 1) / 3
    for (name, expected) in [("p0_evidence", 0.5), ("p1_evidence", 2.0 / 3.0)] {
        let value = components[name].as_f64().unwrap();
        assert!((value - expected).abs() < 1e-12, "{name}: {value}");
    }
}

#[test]
fn check_reads_all_input_and_asks_one_question() {
    let work = Workspace::new(&["alpha", "beta"], 3);
    let server = FakeServer::start(Behaviour::good().key(KEY));
    let url = server.base_url();
    let arguments = [
        "check",
        "answers",
        "--tests",
        "tests.json",
        "--model",
        "fake-judge",
        "--base-url",
        &url,
    ];
    let done = work.run(&arguments).exits_with(0);
    assert!(
        done.stdout
            .contains("input: 2 systems, 3 of 3 test cases kept, 6 answers paired, 0 missing")
    );
    assert!(
        done.stdout.contains("judge: fake-judge") && done.stdout.contains("answers in"),
        "{}",
        done.stdout
    );
    let chats = server.chats();
    assert_eq!(chats.len(), 1);
    assert_eq!(kind_of(&chats[0]), "expertise");
    assert!(!work.path("runs").exists());
    // a wrong key
    let output = work
        .command(&arguments)
        .env("OPENAI_API_KEY", "sk-wrong-key")
        .output()
        .unwrap();
    super::workspace::Finished::of(output)
        .exits_with(4)
        .says(&["OPENAI_API_KEY"]);
    // bad input is found before the server is asked
    work.write("answers/beta.jsonl", "{\"case_id\": \"c1\"}\n");
    let before = server.requests().len();
    work.run(&arguments)
        .exits_with(3)
        .says(&["beta.jsonl: no field for answer_text"]);
    assert_eq!(server.requests().len(), before);
}

/// A system with answers whose prompts share more than 1,024 tokens: 1,100 short words have about as many.
fn with_long_answers(cases: &[&str]) -> Workspace {
    let work = Workspace::with_cases(&cases.iter().copied().map(plain_case).collect::<Vec<_>>());
    let answers = cases.iter().map(|case| {
        let text = format!("The alpha answer to {case}{}", " word".repeat(1100));
        (*case, text)
    });
    work.answers("alpha", answers);
    work
}

#[test]
fn the_first_call_of_a_long_answer_goes_alone_and_the_rest_one_by_one_while_answers_wait() {
    let work = with_long_answers(&["c1", "c2", "c3", "c4", "c5", "c6"]);
    let timeline = Timeline::default();
    let latency = std::time::Duration::from_millis(5);
    let gate = Gate::after(0);
    let server = FakeServer::start(
        timeline
            .watch(Behaviour::good())
            .latency(latency)
            .behind(&gate),
    );
    let run = work.spawn_score(&server, &["--concurrency", "3"]);
    wait_until("calls go side by side", || server.max_in_flight() >= 2);
    gate.open();
    Running::of(run).finish().exits_with(0);
    assert!(
        (2..=3).contains(&server.max_in_flight()),
        "{} at once",
        server.max_in_flight()
    );
    let mut in_flight: BTreeMap<String, usize> = BTreeMap::new();
    let (mut answered, mut begun): (Vec<String>, Vec<String>) = (Vec::new(), Vec::new());
    for moment in timeline.moments() {
        let now = in_flight.entry(moment.answer.clone()).or_default();
        if !moment.begins {
            *now -= 1;
            answered.push(moment.answer);
            continue;
        }
        let is_first = !begun.contains(&moment.answer);
        assert!(
            is_first || answered.contains(&moment.answer),
            "a second call before the first was answered"
        );
        if is_first {
            begun.push(moment.answer);
        } else {
            // with 3 places and 6 answers all places are taken until the last answer has begun
            assert!(
                begun.len() == 6 || *now == 0,
                "two calls of one answer at once while {} wait",
                6 - begun.len()
            );
        }
        *now += 1;
    }
    assert_eq!(begun.len(), 6);
}

#[test]
fn idle_places_go_to_a_long_answer_once_its_first_call_is_answered() {
    let work = with_long_answers(&["c1"]);
    let timeline = Timeline::default();
    // none of the three is answered before all have come
    let gate = Gate::after(1);
    let server = FakeServer::start(timeline.watch(Behaviour::good()).behind(&gate));
    let run = work.spawn_score(&server, &["--concurrency", "8"]);
    wait_until("the rest of the first step is asked", || {
        server.chat_count() == NOW
    });
    gate.open();
    Running::of(run).finish().exits_with(0);
    let begins: Vec<bool> = timeline
        .moments()
        .iter()
        .map(|moment| moment.begins)
        .collect();
    assert_eq!(begins[..2], [true, false], "the first call goes alone");
    assert_eq!(
        begins[2..5],
        [true, true, true],
        "the other three of the first step go together"
    );
    assert_eq!(server.max_in_flight(), 3);
}

#[test]
fn the_calls_of_a_short_answer_and_those_of_any_at_once_go_together() {
    for (work, arguments) in [
        (Workspace::new(&["alpha"], 1), &["--concurrency", "8"][..]),
        (
            with_long_answers(&["c1"]),
            &["--concurrency", "8", "--at-once"],
        ),
    ] {
        // none is answered before the first step has come as a whole
        let gate = Gate::after(0);
        let server = FakeServer::start(Behaviour::good().behind(&gate));
        let run = work.spawn_score(&server, arguments);
        wait_until("the first step is asked", || server.max_in_flight() == NOW);
        gate.open();
        Running::of(run).finish().exits_with(0);
    }
}

#[test]
fn a_temporary_run_has_the_record_of_any_other_and_leaves_its_replies_in_the_log() {
    let work = Workspace::new(&["alpha"], 2);
    let server = FakeServer::start(constant_judge());
    work.score(&server, &["--temporary"]).exits_with(0);
    let log = work.path(".scholareval/cache.sqlite-wal");
    assert!(std::fs::metadata(log).is_ok_and(|log| log.len() > 0));
    let asked = server.chat_count();
    // its files have the hashes in its manifest, and the replies are found
    work.run(&["compare", "out"]).exits_with(0);
    work.score(&server, &["--out", "again"]).exits_with(0);
    assert_eq!(server.chat_count(), asked);
    assert!(!work.path(".scholareval/cache.sqlite-wal").exists());
}

#[test]
fn long_answers_start_first() {
    let cases = ["c1", "c2", "c3"];
    let work = Workspace::with_cases(&cases.map(plain_case));
    let text = |words: usize| "word ".repeat(words).trim_end().to_owned();
    work.answers(
        "alpha",
        [("c1", text(20)), ("c2", text(400)), ("c3", text(100))],
    );
    let server = FakeServer::start(constant_judge());
    work.score(&server, &["--concurrency", "1"]).exits_with(0);
    let mut order: Vec<usize> = server
        .chats()
        .iter()
        .map(|chat| answer_of(chat).split(' ').count())
        .collect();
    assert_eq!(order.len(), 3 * AT_MOST);
    order.dedup();
    assert_eq!(
        order,
        [400, 100, 20],
        "one answer after the other, the longest first"
    );
}

#[test]
fn the_calls_of_an_answer_share_their_prefix() {
    let work = Workspace::new(&["alpha"], 1);
    let server = FakeServer::start(constant_judge());
    work.score(&server, &[]).exits_with(0);
    let chats = server.chats();
    let systems: std::collections::HashSet<String> = chats
        .iter()
        .map(|chat| {
            chat.json()["messages"][0]["content"]
                .as_str()
                .unwrap()
                .to_owned()
        })
        .collect();
    assert_eq!(systems.len(), 1, "one system message");
    let prefix = |chat: &Recorded| {
        let message = chat.user_message();
        let end = message.find("</response").unwrap();
        message[..end].to_owned()
    };
    assert!(prefix(&chats[0]).contains("The alpha answer to c1"));
    assert!(chats.iter().all(|chat| prefix(chat) == prefix(&chats[0])));
}
