//! Records that were damaged or left half-written: what is refused, what repairs it, and what the same command does.

use scholareval::record::load_run;
use serde_json::Value;

use super::judging::constant_judge;
use super::workspace::{AT_MOST, Workspace};
use super::{Act, Behaviour, FakeServer};

const CALLS: usize = 2 * 3 * AT_MOST;
const RESCORE: &str = "`scholareval rescore out --out NEW`";
const AGAIN: &str = "run the same score command again";

/// A finished run `out` of two systems and three cases, each answer with a score of its own.
fn finished(more: &[&str]) -> (Workspace, FakeServer) {
    let work = Workspace::new(&["alpha", "beta"], 3);
    let server = FakeServer::start(Behaviour::good());
    work.score(&server, more).exits_with(0);
    (work, server)
}

/// Line `at` replaced by these lines.
fn with_line(text: &str, at: usize, lines: impl Fn(&str) -> String) -> String {
    let lines = |(index, line): (usize, &str)| {
        if index == at {
            lines(line)
        } else {
            format!("{line}\n")
        }
    };
    text.lines().enumerate().map(lines).collect()
}

/// The file cut before each of its lines, cut at other bytes, and with lines deleted, doubled and swapped.
fn damages(text: &str) -> Vec<(String, String)> {
    let count = text.lines().count();
    let mut ends: Vec<usize> = text
        .match_indices('\n')
        .map(|(at, _)| at + 1)
        .filter(|end| *end < text.len())
        .collect();
    ends.push(0);
    // 7919 is a prime, so that these bytes lie at all parts of a line
    ends.extend((1..40).map(|step| step * 7919 % text.len()));
    let mut damages: Vec<_> = ends
        .iter()
        .map(|end| (format!("cut at byte {end}"), text[..*end].to_owned()))
        .collect();
    for at in 0..count {
        damages.push((
            format!("without line {at}"),
            with_line(text, at, |_| String::new()),
        ));
        damages.push((
            format!("line {at} twice"),
            with_line(text, at, |line| format!("{line}\n{line}\n")),
        ));
    }
    let mut swapped: Vec<&str> = text.lines().collect();
    swapped.swap(0, count - 1);
    damages.push(("swapped".to_owned(), swapped.join("\n") + "\n"));
    damages.push((
        "a line more".to_owned(),
        text.to_owned() + "{\"type\":\"lists\",\"rubric\":[],\"plain\":[]}\n",
    ));
    damages
}

#[test]
fn damaged_scores_of_a_finished_run_are_refused_wherever_the_damage_is() {
    let (work, _server) = finished(&[]);
    let whole = work.read("out/scores.jsonl");
    let first = work.lines("out/scores.jsonl")[0]["score"].to_string();
    let mut damages = damages(&whole);
    damages.push((
        "57".to_owned(),
        whole.replacen(&format!("\"score\":{first}"), "\"score\":57.0", 1),
    ));
    for (what, damaged) in damages {
        work.write("out/scores.jsonl", &damaged);
        let error = load_run(&work.path("out")).expect_err(&what).to_string();
        assert!(
            error.contains("scores.jsonl") && error.contains("--out NEW"),
            "{what}: {error}"
        );
    }
    work.write("out/scores.jsonl", &whole);
    assert_eq!(load_run(&work.path("out")).unwrap().scored.len(), 6);
}

#[test]
fn no_command_uses_damaged_scores_and_rescore_makes_them_again() {
    let (work, server) = finished(&[]);
    let whole = work.read("out/scores.jsonl");
    let two: String = whole
        .lines()
        .take(2)
        .map(|line| format!("{line}\n"))
        .collect();
    work.write("out/scores.jsonl", &two);
    let counts = format!(
        "out/scores.jsonl: is not as the run left it: 2 scores, not 6 ({} bytes, not ",
        two.len()
    );
    work.write("labels.csv", "system,case_id,rater,value\nalpha,c1,me,4\n");
    for command in [
        &["compare", "out"][..],
        &["compare", "out", "--require", "score>=0.1"],
        &["compare", "out", "--require", "alpha>=beta"],
        &["agree", "out", "--labels", "labels.csv"],
        &["report", "out", "--out", "page.html"],
        &["export", "inspect", "out", "--out", "logs"],
    ] {
        let done = work.run(command).exits_with(3).says(&[&counts, RESCORE]);
        assert_eq!(done.stdout, "", "{command:?}");
    }
    work.run(&["rescore", "out", "--out", "new"]).exits_with(0);
    assert_eq!(work.read("new/scores.jsonl"), whole);
    work.run(&["rescore", "out"]).exits_with(0);
    work.run(&["compare", "out"]).exits_with(0);
    // so does the command of the run
    work.write("out/scores.jsonl", &two);
    work.score(&server, &[]).exits_with(0);
    assert_eq!(
        (work.read("out/scores.jsonl"), server.chat_count() <= CALLS),
        (whole, true)
    );
    // tables for people are theirs
    for table in ["items.csv", "summary.csv", "summary.json"] {
        work.write(&format!("out/{table}"), "mine");
    }
    work.run(&["compare", "out"]).exits_with(0);
}

#[test]
fn damaged_inputs_and_calls_are_refused_and_the_same_command_mends_them() {
    let (work, server) = finished(&[]);
    let (asked, scores) = (server.chat_count(), work.read("out/scores.jsonl"));
    for name in ["out/inputs.jsonl", "out/calls.jsonl"] {
        for at in (0..damages(&work.read(name)).len()).step_by(13) {
            let whole = work.read(name);
            let (what, damaged) = damages(&whole).swap_remove(at);
            work.write(name, &damaged);
            work.run(&["rescore", "out", "--out", "new"])
                .exits_with(3)
                .says(&[name, AGAIN]);
            let page = work
                .run(&["report", "out", "--out", "page.html"])
                .exits_with(3);
            page.says(&[name, AGAIN]);
            let mended = work.score(&server, &[]);
            if name.contains("calls") && damaged.len() >= whole.len() {
                // replies that cannot be relied on are not used
                mended.exits_with(3).says(&[
                    "calls.jsonl: was changed after the run ended",
                    "--overwrite",
                ]);
                work.score(&server, &["--overwrite"]).exits_with(0);
            } else {
                mended.exits_with(0);
            }
            assert_eq!(
                (work.read("out/scores.jsonl"), server.chat_count()),
                (scores.clone(), asked),
                "{what}"
            );
            work.run(&["rescore", "out"]).exits_with(0);
        }
    }
    std::fs::remove_file(work.path("out/inputs.jsonl")).unwrap();
    work.run(&["compare", "out"])
        .exits_with(3)
        .says(&["inputs.jsonl: is missing", AGAIN]);
    work.score(&server, &[]).exits_with(0);
    work.run(&["compare", "out"]).exits_with(0);
}

#[test]
fn a_run_without_inputs_is_checked_and_repaired_by_its_own_command() {
    let (work, server) = finished(&["--no-inputs"]);
    work.run(&["compare", "out"]).exits_with(0);
    let whole = work.read("out/scores.jsonl");
    work.write("out/scores.jsonl", &whole[..whole.len() / 2]);
    work.run(&["compare", "out", "--require", "score>=0.1"])
        .exits_with(3)
        .says(&["scores.jsonl", AGAIN]);
    work.score(&server, &["--no-inputs"]).exits_with(0);
    assert_eq!(work.read("out/scores.jsonl"), whole);
    assert!(!work.path("out/inputs.jsonl").exists());
}

#[test]
fn a_score_outside_its_range_is_refused_also_in_a_run_that_was_killed() {
    let work = Workspace::new(&["alpha"], 2);
    let server = FakeServer::start(constant_judge());
    work.score(&server, &[]).exits_with(0);
    let (whole, score) = (
        work.read("out/scores.jsonl"),
        work.lines("out/scores.jsonl")[0]["score"].clone(),
    );
    for (from, to, what) in [
        (
            &*format!("\"score\":{score}"),
            "\"score\":57.0",
            "(case c1): score is 57, outside 0..1",
        ),
        (
            "\"value\":0.8",
            "\"value\":-0.5",
            "(case c1): expertise is -0.5, outside 0..1",
        ),
    ] {
        work.edit_scores(|_| whole.replacen(from, to, 1));
        work.run(&["compare", "out"])
            .exits_with(3)
            .says(&["out/scores.jsonl:1", what]);
    }
}

#[test]
fn a_lost_cache_costs_a_run_nothing_and_its_replies_stay_its_own() {
    let (work, server) = finished(&[]);
    let (asked, scores) = (server.chat_count(), work.read("out/scores.jsonl"));
    let (calls, stdout) = (
        work.read("out/calls.jsonl"),
        work.score(&server, &[]).exits_with(0).stdout,
    );
    let server = server.replaced_by(Behaviour::always(Act::error(401, "invalid_api_key", "no")));
    std::fs::remove_dir_all(work.path(".scholareval")).unwrap();
    work.score(&server, &["--dry-run"]).exits_with(0);
    let done = work
        .score(&server, &[])
        .exits_with(0)
        .says(&["nothing to ask"]);
    assert_eq!((server.chat_count(), done.stdout), (0, stdout));
    assert_eq!(
        (work.read("out/scores.jsonl"), work.read("out/calls.jsonl")),
        (scores, calls)
    );
    assert_eq!(work.json("out/manifest.json")["status"], "complete");
    let stats: Value =
        serde_json::from_str(&work.run(&["cache", "stats", "--format", "json"]).stdout).unwrap();
    assert_eq!(
        stats["entries"], 0,
        "{asked} replies of the record are not for other runs"
    );
}

#[test]
fn a_call_that_failed_is_asked_again_and_a_lost_cache_changes_nothing_about_it() {
    let work = Workspace::new(&["alpha"], 1);
    let is_claims = |request: &super::Recorded| request.asks_for_claims();
    let server = FakeServer::start(constant_judge().when(is_claims, Act::error(422, "bad", "no")));
    work.score(&server, &["--max-unscored", "1"]).exits_with(0);
    std::fs::remove_dir_all(work.path(".scholareval")).unwrap();
    let server = server.replaced_by(constant_judge());
    work.score(&server, &[]).exits_with(0);
    assert_eq!(server.chat_count(), 1);
    assert!(work.lines("out/scores.jsonl")[0]["score"].is_number());
}

#[test]
fn leftovers_of_a_kill_or_a_full_disk_do_not_stop_the_same_command() {
    let (work, server) = finished(&[]);
    let (asked, scores, calls) = (
        server.chat_count(),
        work.read("out/scores.jsonl"),
        work.read("out/calls.jsonl"),
    );
    let unfinish = |dir: &str| {
        let mut manifest = work.json(&format!("{dir}/manifest.json"));
        manifest["status"] = "running".into();
        manifest["files"] = serde_json::json!({});
        work.write(&format!("{dir}/manifest.json"), &manifest.to_string());
    };
    let half = &calls[..calls.len() / 2];
    for (name, leftover) in [
        ("calls.jsonl", half),
        // blocks that a power cut left empty, before others that were written
        (
            "calls.jsonl",
            &with_line(&calls, 1, |_| "\0\0\0\0\n".to_owned()),
        ),
        ("calls.jsonl", &format!("{calls}\0\0\0\0")),
        ("scores.jsonl", &scores[..50]),
        (".inputs.jsonl.partial", "{\"type\""),
        (".manifest.json.partial", ""),
    ] {
        unfinish("out");
        work.write(&format!("out/{name}"), leftover);
        for gone in ["inputs.jsonl", "items.csv"] {
            std::fs::remove_file(work.path("out").join(gone)).unwrap();
        }
        work.score(&server, &[]).exits_with(0);
        assert_eq!(
            (work.read("out/scores.jsonl"), server.chat_count()),
            (scores.clone(), asked),
            "{name}"
        );
        work.run(&["rescore", "out", "--out", "copy"]).exits_with(0);
        assert_eq!(work.lines("out/calls.jsonl").len(), asked, "{name}");
        std::fs::remove_dir_all(work.path("copy")).unwrap();
    }
    // a copy that was not finished
    work.run(&["rescore", "out", "--out", "copy"]).exits_with(0);
    unfinish("copy");
    for gone in ["calls.jsonl", "inputs.jsonl", "scores.jsonl"] {
        std::fs::remove_file(work.path("copy").join(gone)).unwrap();
        work.write("copy/.calls.jsonl.partial", half);
        work.run(&["rescore", "out", "--out", "copy"]).exits_with(0);
        assert_eq!(work.read("copy/scores.jsonl"), scores);
        unfinish("copy");
    }
}
