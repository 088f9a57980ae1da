//! Estimates, budgets, time limits, and slices.

use serde_json::Value;

use crate::support::fake_server::{Behaviour, FakeServer, Gate};
use crate::support::judging::constant_judge;
use crate::support::workspace::{AT_MOST, Finished, NOW, Running, Workspace, test_case};

const PRICES: &str = "[prices.\"fake-judge\"]\nprompt = 1.0\ncompletion = 10.0\n";

fn plan(work: &Workspace, server: &FakeServer, more: &[&str]) -> Finished {
    let url = server.base_url();
    let mut arguments = vec![
        "plan",
        "answers",
        "--tests",
        "tests.json",
        "--model",
        "fake-judge",
        "--base-url",
        &url,
    ];
    arguments.extend(more);
    work.run(&arguments)
}

fn planned(work: &Workspace, server: &FakeServer, more: &[&str]) -> Value {
    let done = plan(work, server, &[more, &["--format", "json"]].concat()).exits_with(0);
    serde_json::from_str(&done.stdout).unwrap_or_else(|error| panic!("{error}: {}", done.stdout))
}

fn number(value: &Value, pointer: &str) -> f64 {
    value
        .pointer(pointer)
        .and_then(Value::as_f64)
        .unwrap_or_else(|| panic!("no {pointer} in {value}"))
}

/// Tokens that the server has counted so far.
fn used(server: &FakeServer) -> (usize, usize) {
    let bodies: Vec<usize> = server
        .chats()
        .iter()
        .map(|chat| chat.body.len() / 4)
        .collect();
    (bodies.len(), bodies.iter().sum())
}

#[test]
fn the_run_lies_within_what_the_plan_said_and_nothing_is_asked_for_it() {
    let work = Workspace::new(&["alpha", "beta"], 3);
    work.write("prices.toml", PRICES);
    let server = FakeServer::start(Behaviour::good());
    let config = ["--config", "prices.toml"];
    let before = planned(&work, &server, &config);
    assert_eq!(server.chat_count(), 0);
    assert!(!work.path("runs").exists(), "a plan leaves no record");
    let calls = |of: &str| number(&before, &format!("/total/{of}/calls"));
    assert_eq!(
        (calls("now"), calls("at_most")),
        ((6 * NOW) as f64, (6 * AT_MOST) as f64)
    );
    let kinds: Vec<(&str, f64)> = before["lines"]
        .as_array()
        .unwrap()
        .iter()
        .map(|line| {
            (
                line["kind"].as_str().unwrap(),
                number(line, "/at_most/calls"),
            )
        })
        .collect();
    assert_eq!(
        kinds,
        [
            ("citations", 6.0),
            ("evidence", 12.0),
            ("expertise", 6.0),
            ("property", 12.0)
        ]
    );
    work.score(&server, &[]).exits_with(0);
    let (asked, _) = used(&server);
    assert!(
        (calls("now")..=calls("at_most")).contains(&(asked as f64)),
        "{asked} calls"
    );
    // all is paid: nothing is left to plan
    let after = planned(&work, &server, &config);
    assert_eq!(
        (
            number(&after, "/total/at_most/calls"),
            number(&after, "/cached")
        ),
        (0.0, asked as f64)
    );
    let text = plan(&work, &server, &config).exits_with(0).stdout;
    assert!(text.contains("nothing to ask"), "{text}");
}

#[test]
fn the_table_shows_calls_tokens_and_money() {
    let work = Workspace::new(&["alpha"], 2);
    work.write("prices.toml", PRICES);
    let server = FakeServer::start(Behaviour::good());
    let more = ["--config", "prices.toml"];
    let text = plan(&work, &server, &more).exits_with(0).stdout;
    for part in [
        "plan: 8 calls now, up to 12 with all follow-up questions; ~",
        "rubric evidence",
        "; $0.",
        "(estimated, ±12%)",
    ] {
        assert!(text.contains(part), "{part:?} is not in\n{text}");
    }
    let without = plan(&work, &server, &[]).exits_with(0).stdout;
    assert!(
        without.contains("no price for fake-judge: give --price IN,OUT"),
        "{without}"
    );
    let csv = plan(&work, &server, &["--format", "csv"])
        .exits_with(0)
        .stdout;
    assert!(
        csv.lines().any(|line| line.starts_with("all,8,12,")),
        "{csv}"
    );
    // the price of the flag is that of the table, which it replaces
    let by_flag = plan(&work, &server, &["--price", "1, 10"])
        .exits_with(0)
        .stdout;
    assert_eq!(by_flag, text);
    assert_eq!(
        work.score(&server, &["--dry-run", "--price", "1,10"])
            .exits_with(0)
            .stdout,
        text
    );
    assert!(
        text.contains(" prompt tokens (up to ~") && text.contains("; $0."),
        "{text}"
    );
    plan(&work, &server, &["--price", "cheap"])
        .exits_with(2)
        .says(&["--price", "such as 2.5,10"]);
    plan(&work, &server, &["--prices", "none.json"])
        .exits_with(3)
        .says(&["none.json"]);
}

#[test]
fn a_plan_needs_no_server_where_the_judge_is_known() {
    let work = Workspace::new(&["alpha"], 2);
    // nobody listens on the discard port of this machine
    let judge = [
        "--base-url",
        "http://127.0.0.1:9/v1",
        "--model",
        "some-model",
        "--cache-id",
        "mine",
    ];
    let done = work
        .run(&[&["plan", "answers", "--tests", "tests.json"][..], &judge].concat())
        .exits_with(0);
    assert!(
        done.stdout.starts_with("plan: 8 calls now"),
        "{}",
        done.stdout
    );
}

#[test]
fn the_day_of_the_price_list_stands_beside_money_from_it() {
    let work = Workspace::new(&["alpha"], 2);
    let offline = [
        "plan",
        "answers",
        "--tests",
        "tests.json",
        "--model",
        "gpt-4o",
    ];
    let list = include_str!("../../data/prices.json");
    let day = list
        .split("\"date\": \"")
        .nth(1)
        .unwrap()
        .split('"')
        .next()
        .unwrap();
    let listed = work.run(&offline).exits_with(0).stdout;
    assert_eq!(
        listed.matches(&format!("(prices of {day})")).count(),
        1,
        "{listed}"
    );
    let given = work
        .run(&[&offline[..], &["--price", "1,10"]].concat())
        .exits_with(0)
        .stdout;
    assert!(
        given.contains("; $0.") && !given.contains("prices of"),
        "{given}"
    );
}

#[test]
fn a_budget_in_tokens_is_not_passed_and_the_same_command_goes_on() {
    let work = Workspace::new(&["alpha", "beta"], 4);
    let server = FakeServer::start(Behaviour::good());
    let budget = 20_000;
    let more = ["--budget-tokens", "20000"];
    let mut sessions = 0;
    loop {
        let before: usize = spent(&work);
        let done = work.score(&server, &more);
        sessions += 1;
        let used = spent(&work) - before;
        assert!(used <= budget, "{used} tokens in session {sessions}");
        if done.code == Some(0) {
            break;
        }
        done.exits_with(7)
            .says(&["--budget-tokens", "the same command continues"]);
        assert!(used > 0 && sessions < 20, "session {sessions} went nowhere");
    }
    assert!(sessions > 1, "the budget was too large for this test");
    // nothing was asked twice
    let bodies: std::collections::HashSet<Vec<u8>> =
        server.chats().into_iter().map(|chat| chat.body).collect();
    assert_eq!(bodies.len(), server.chat_count());
}

/// Prompt and reply tokens of the cache.
fn spent(work: &Workspace) -> usize {
    if !work.path(".scholareval/cache.sqlite").exists() {
        return 0;
    }
    let stats = work
        .run(&["cache", "stats", "--format", "json"])
        .exits_with(0)
        .stdout;
    let stats: Value = serde_json::from_str(&stats).unwrap();
    ["prompt_tokens", "completion_tokens"]
        .iter()
        .map(|name| stats[name].as_u64().unwrap() as usize)
        .sum()
}

#[test]
fn a_budget_in_dollars_needs_a_price_before_anything_is_asked() {
    let work = Workspace::new(&["alpha"], 4);
    let server = FakeServer::start(Behaviour::good());
    work.score(&server, &["--budget-usd", "1"])
        .exits_with(3)
        .says(&["--budget-usd", "[prices.\"fake-judge\"]"]);
    assert_eq!(server.chat_count(), 0);
    work.write("prices.toml", PRICES);
    let with = |usd| ["--config", "prices.toml", "--budget-usd", usd];
    // nothing fits into so little
    work.score(&server, &with("0.0000001"))
        .exits_with(7)
        .says(&["USD (--budget-usd)"]);
    assert_eq!(server.chat_count(), 0);
    work.score(&server, &with("0.008")).exits_with(7);
    // a prompt token costs 1e-6 USD, a reply token 1e-5: in all at most 0.008
    let stats = work
        .run(&["cache", "stats", "--format", "json"])
        .exits_with(0)
        .stdout;
    let stats: Value = serde_json::from_str(&stats).unwrap();
    let usd = number(&stats, "/prompt_tokens") * 1e-6 + number(&stats, "/completion_tokens") * 1e-5;
    assert!(usd > 0.0 && usd <= 0.008, "{usd} USD");
    work.score(&server, &with("5")).exits_with(0);
    work.score(&server, &["--budget-usd", "0"])
        .exits_with(2)
        .says(&["12.50"]);
}

#[test]
fn a_time_limit_stops_the_run_in_time_and_the_same_command_goes_on() {
    let work = Workspace::new(&["alpha", "beta"], 4);
    // what is on its way when the time is over is answered then
    let gate = Gate::after(6);
    let server = FakeServer::start(constant_judge().behind(&gate));
    let mut run =
        Running::of(work.spawn_score(&server, &["--time-limit", "1s", "--concurrency", "2"]));
    run.comes_to_say("stopping: calls in flight may finish");
    gate.open();
    run.finish()
        .exits_with(7)
        .says(&["the time limit of 1s (--time-limit)"]);
    assert!(
        server.chat_count() <= 6 + 2,
        "nothing new is asked when the time is over"
    );
    work.score(&server, &["--concurrency", "64"]).exits_with(0);
    assert_eq!(
        server.chat_count(),
        8 * AT_MOST,
        "what was paid is not asked again"
    );
}

#[test]
fn slices_are_disjoint_complete_and_merge_into_a_run_that_asks_nothing() {
    let work = Workspace::new(&["alpha", "beta"], 5);
    let server = FakeServer::start(constant_judge());
    let mut seen: Vec<String> = Vec::new();
    for number in 1..=3 {
        let (slice, cache, out) = (
            format!("{number}/3"),
            format!("cache-{number}"),
            format!("out-{number}"),
        );
        let more = ["--slice", &slice, "--cache", &cache, "--out", &out];
        let hint = format!(
            "next: when all 3 slices are done, scholareval cache merge {cache} OTHER_CACHES.. --into all.sqlite"
        );
        let done = work.score(&server, &more).exits_with(0).says(&[&hint]);
        assert!(
            !done.all_text().contains("scholareval compare"),
            "slices have hardly any case of several systems"
        );
        assert_eq!(
            work.json(&format!("{out}/manifest.json"))["settings"]["score.slice"],
            slice
        );
        let text = |line: &Value, key: &str| line[key].as_str().unwrap().to_owned();
        let lines = work.lines(&format!("{out}/scores.jsonl"));
        seen.extend(
            lines
                .iter()
                .map(|line| text(line, "system") + " " + &text(line, "case_id")),
        );
    }
    seen.sort();
    let all: Vec<String> = ["alpha", "beta"]
        .iter()
        .flat_map(|system| (1..=5).map(move |case| format!("{system} c{case}")))
        .collect();
    assert_eq!(seen, all);
    assert_eq!(server.chat_count(), 10 * AT_MOST);
    work.run(&[
        "cache", "merge", "cache-1", "cache-2", "cache-3", "--into", "all",
    ])
    .exits_with(0);
    work.score(&server, &["--cache", "all"])
        .exits_with(0)
        .says(&["plan: nothing to ask"]);
    assert_eq!(server.chat_count(), 10 * AT_MOST);
    // another slice is another run: its record is not written over
    work.score(&server, &["--slice", "2/3", "--out", "out-1"])
        .exits_with(3);
    work.score(&server, &["--slice", "0/3"])
        .exits_with(2)
        .says(&["2/5"]);
}

#[test]
fn slices_are_even_in_calls_whatever_is_cached() {
    let short: [(&str, &[&str]); 1] = [("Names rain.", &["Rain."])];
    let long: [(&str, &[&str]); 4] = [
        ("Names rain.", &["Rain."]),
        ("Names wind.", &["Wind."]),
        ("Names dust.", &["Dust."]),
        ("Names snow.", &["Snow."]),
    ];
    let ids = ["c1", "c2", "c3", "c4", "c5", "c6"];
    let mut cases = Vec::new();
    for pair in ids.chunks(2) {
        cases.push(test_case(pair[0], &short));
        cases.push(test_case(pair[1], &long));
    }
    let work = Workspace::with_cases(&cases);
    for system in ["alpha", "beta"] {
        work.answers(system, ids.map(|id| (id, format!("{system} on {id}."))));
    }
    let server = FakeServer::start(constant_judge());
    // Two general questions, and two for each criterion: 4 calls for a short case and 10 for a long one, together
    // 2 x (3 x 4 + 3 x 10) = 84, a third of which is 28. The cache is shared: what the first slice paid does not count less
    // for the others.
    for number in 1..=3 {
        let slice = format!("{number}/3");
        work.score(
            &server,
            &["--slice", &slice, "--out", &slice.replace('/', "-")],
        )
        .exits_with(0);
        assert_eq!(server.chat_count(), 28 * number);
    }
    work.score(&server, &[]).exits_with(0);
    assert_eq!(server.chat_count(), 84);
}

#[test]
fn a_slice_of_the_baseline_and_one_without_a_cache_end_with_what_is_next() {
    let work = Workspace::new(&["alpha", "beta"], 2);
    let arguments = [
        "score",
        "answers",
        "--tests",
        "tests.json",
        "--slice",
        "1/2",
    ];
    let baseline = work.run(&arguments).exits_with(0);
    baseline.says(&["next: the same command without --slice scores all answers"]);
    let server = FakeServer::start(constant_judge());
    work.score(&server, &["--slice", "2/2", "--no-cache"])
        .exits_with(0)
        .says(&["without a cache cannot be joined"]);
}

/// The run `out` of two systems on so many cases, with a spread of their differences.
fn pilot(cases: usize) -> (Workspace, FakeServer) {
    let work = Workspace::new(&["alpha", "beta"], cases);
    let server = FakeServer::start(constant_judge());
    work.score(&server, &[]).exits_with(0);
    // Every answer has 0.755; alpha is better by 0.1 in the first three cases.
    work.edit_scores(|scores| scores.replacen("\"score\":0.755", "\"score\":0.855", 3));
    (work, server)
}

#[test]
fn a_study_is_planned_from_a_pilot_and_never_from_its_difference() {
    let (work, _server) = pilot(24);
    let plan = |more: &[&str]| work.run(&[&["plan", "--power", "out"], more].concat());
    let text = plan(&[])
        .exits_with(0)
        .stdout
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ");
    // Of 24 differences three are 0.1: their variance is 0.1^2 * 3 * 21 / (24 * 23) = 0.001141, its root 3.4 points.
    assert!(
        text.starts_with(
            "To find a difference of 5.0 points in score between two of 2 systems with 80% power"
        ),
        "{text}"
    );
    assert!(
        text.contains("from a pilot of 24 questions") && text.contains("3.4 points"),
        "{text}"
    );
    assert!(!text.contains("too few"), "{text}");
    let json = plan(&["--difference", "0.01", "--format", "json"])
        .exits_with(0)
        .stdout;
    let json: Value = serde_json::from_str(&json).unwrap();
    assert!(
        (number(&json, "/sd") - 0.001_141_3_f64.sqrt()).abs() < 1e-5,
        "{json}"
    );
    // About (1.96 + 0.84)^2 * 0.001141 / 0.01^2 = 90.
    let questions = number(&json, "/studies/0/questions");
    assert!((80.0..110.0).contains(&questions), "{json}");
    let csv = plan(&["--difference", "0.01", "--format", "csv"]).exits_with(0);
    assert!(
        csv.stdout
            .starts_with("difference,questions,questions_low,questions_high\n0.01,"),
        "{}",
        csv.stdout
    );
    assert!(
        csv.stderr
            .contains("warning: The ranges are what the pilot leaves open"),
        "{}",
        csv.stderr
    );
    let (few, _server) = pilot(6);
    let text = few.run(&["plan", "--power", "out"]).exits_with(0).stdout;
    assert!(
        text.contains("6 questions are too few to plan by"),
        "{text}"
    );
}

#[test]
fn a_plan_of_a_study_takes_no_options_of_score_and_says_what_is_missing() {
    let (work, _server) = pilot(4);
    let plan = |more: &[&str]| work.run(&[&["plan"], more].concat());
    plan(&["answers", "--power", "out"])
        .exits_with(2)
        .says(&["cannot be used with --power"]);
    plan(&["--power", "out", "--tests", "tests.json"])
        .exits_with(2)
        .says(&["--tests", "cannot be used with --power"]);
    plan(&["answers", "--difference", "0.02"])
        .exits_with(2)
        .says(&["--power"]);
    plan(&["--power", "out", "--difference", "5"])
        .exits_with(2)
        .says(&["not between 0 and 1"]);
    plan(&["--power", "out", "--metric", "scoer"])
        .exits_with(3)
        .says(&["did you mean score?"]);
    plan(&["--power", "out", "--metric", "length"])
        .exits_with(3)
        .says(&["out: no pilot", "two systems"]);
    plan(&["--power", "answers"])
        .exits_with(3)
        .says(&["name the directory of a run"]);
}
