//! The cache file and prompt sets, as their commands show and change them.

use scholareval::judge::cache::Cache;
use serde_json::Value;

use super::judging::constant_judge;
use super::workspace::{AT_MOST, NOW, Running, Workspace, wait_until};
use super::{FakeServer, Gate};

fn stats(work: &Workspace, cache: &str) -> Value {
    let done = work
        .run(&["cache", "stats", "--cache", cache, "--format", "json"])
        .exits_with(0);
    serde_json::from_str(&done.stdout).unwrap()
}

#[test]
fn the_cache_of_a_run_is_counted_by_kind_and_judge() {
    let work = Workspace::new(&["alpha"], 2);
    let server = FakeServer::start(constant_judge());
    work.score(&server, &[]).exits_with(0);
    // the default place, beside the work
    let stats = stats(&work, ".scholareval/cache.sqlite");
    assert_eq!(stats["entries"], 2 * AT_MOST);
    assert_eq!(
        stats["by_kind"],
        serde_json::json!({"citations": 2, "evidence": 4, "expertise": 2, "property": 4})
    );
    assert_eq!(stats["by_judge"], serde_json::json!({"fake-judge": 12}));
    let paid: u64 = work
        .lines("out/calls.jsonl")
        .iter()
        .map(|call| call["reply"]["usage"]["prompt_tokens"].as_u64().unwrap())
        .sum();
    assert_eq!(stats["prompt_tokens"], paid);
    let table = work.run(&["cache", "stats"]).exits_with(0).stdout;
    assert!(
        table.contains("replies:  12") && table.contains("fake-judge"),
        "{table}"
    );
}

#[test]
fn merged_caches_serve_the_work_of_both() {
    let work = Workspace::new(&["alpha", "beta"], 2);
    let server = FakeServer::start(constant_judge());
    work.score(
        &server,
        &["--systems", "alpha", "--cache", "a.sqlite", "--out", "a"],
    )
    .exits_with(0);
    work.score(
        &server,
        &["--cases", "c1", "--cache", "b.sqlite", "--out", "b"],
    )
    .exits_with(0);
    let merged = work
        .run(&[
            "cache", "merge", "a.sqlite", "b.sqlite", "--into", "c.sqlite",
        ])
        .exits_with(0);
    // a: alpha's c1 and c2; b: c1 of both, alpha's being there already
    assert_eq!(
        merged.stdout,
        "merged into c.sqlite: 18 replies added, 6 already there\n"
    );
    assert_eq!(stats(&work, "c.sqlite")["entries"], 3 * AT_MOST);
    let before = server.chat_count();
    work.score(&server, &["--cache", "c.sqlite"])
        .exits_with(0)
        .says(&["; 18 cached"]);
    assert_eq!(
        server.chat_count(),
        before + AT_MOST,
        "beta's answer to c2 is left"
    );
}

#[test]
fn a_merge_warns_of_an_empty_cache_and_names_the_file_that_is_missing() {
    let work = Workspace::new(&["alpha"], 1);
    let server = FakeServer::start(constant_judge());
    work.score(&server, &["--cache", "a.sqlite"]).exits_with(0);
    drop(Cache::open(&work.path("b.sqlite")).unwrap());
    let arguments = [
        "cache", "merge", "a.sqlite", "b.sqlite", "--into", "c.sqlite",
    ];
    let merged = work.run(&arguments).exits_with(0);
    assert!(
        merged
            .stderr
            .contains("warning: b.sqlite: holds no replies; ")
            && merged.stderr.contains("b.sqlite-wal, which is missing")
            && !merged.stderr.contains("a.sqlite:"),
        "{}",
        merged.stderr
    );
    assert_eq!(stats(&work, "c.sqlite")["entries"], AT_MOST);
}

#[test]
fn a_corrupt_or_foreign_cache_is_named_and_never_overwritten() {
    let work = Workspace::new(&["alpha"], 1);
    let server = FakeServer::start(constant_judge());
    for text in [
        "this is not a database, but somebody's only copy of something",
        "SQLite format 3\0 and then rubbish",
    ] {
        work.write("mine.sqlite", text);
        work.score(&server, &["--cache", "mine.sqlite"])
            .exits_with(3)
            .says(&["cache mine.sqlite: "]);
        assert_eq!(work.read("mine.sqlite"), text);
    }
    assert_eq!(server.chat_count(), 0);
}

#[test]
fn without_a_cache_no_file_is_made_and_a_rerun_reads_the_record() {
    let work = Workspace::new(&["alpha"], 1);
    let server = FakeServer::start(constant_judge());
    let first = work.score(&server, &["--no-cache"]).exits_with(0);
    assert!(!work.path(".scholareval").exists());
    let planned = work
        .score(&server, &["--no-cache", "--dry-run"])
        .exits_with(0);
    assert!(
        planned.stdout.contains("nothing to ask"),
        "{}",
        planned.stdout
    );
    let second = work
        .score(&server, &["--no-cache"])
        .exits_with(0)
        .says(&["nothing to ask"]);
    assert_eq!(
        (server.chat_count(), second.stdout),
        (AT_MOST, first.stdout)
    );
    work.score(&server, &["--no-cache", "--out", "other"])
        .exits_with(0);
    assert_eq!(server.chat_count(), 2 * AT_MOST);
}

#[test]
fn an_exported_prompt_set_can_be_edited_and_is_told_apart() {
    let work = Workspace::new(&["alpha"], 1);
    let server = FakeServer::start(constant_judge());
    work.score(&server, &[]).exits_with(0);
    work.run(&["prompts", "export", "mine"]).exits_with(0);
    // as exported it is the same set: nothing is asked
    work.score(&server, &["--prompts", "mine"])
        .exits_with(0)
        .says(&["nothing to ask"]);
    let edited = work.read("mine/property.txt") + "\nBe strict about it.\n";
    work.write("mine/property.txt", &edited);
    let shown = work
        .run(&["prompts", "show", "--prompts", "mine"])
        .exits_with(0)
        .stdout;
    // somebody's words are not written over
    work.run(&["prompts", "export", "mine"])
        .exits_with(3)
        .says(&["property.txt"]);
    assert_eq!(work.read("mine/property.txt"), edited);
    work.score(&server, &["--prompts", "mine"])
        .exits_with(3)
        .says(&["out: different prompts of rubric: scholareval@"]);
    let done = work
        .score(&server, &["--prompts", "mine", "--out", "edited"])
        .exits_with(0);
    // only the two criteria are asked in other words
    assert_eq!(server.chat_count(), AT_MOST + 2);
    let strict = server
        .chats()
        .iter()
        .filter(|chat| chat.user_message().contains("Be strict about it."))
        .count();
    assert_eq!(strict, 2);
    let label = work.json("edited/manifest.json")["roles"]["rubric"]["prompts"]["label"]
        .as_str()
        .unwrap()
        .to_owned();
    assert!(
        shown.contains(&label) && done.stdout.contains(&label),
        "{label} is not in {shown} or {}",
        done.stdout
    );
    assert_ne!(
        label,
        work.json("out/manifest.json")["roles"]["rubric"]["prompts"]["label"]
    );
    assert!(
        done.stdout
            .contains("Not comparable with published numbers")
    );
}

#[test]
fn an_unknown_variable_in_a_prompt_is_an_error_that_names_the_known_ones() {
    let work = Workspace::new(&["alpha"], 1);
    let server = FakeServer::start(constant_judge());
    work.run(&["prompts", "export", "mine"]).exits_with(0);
    work.write(
        "mine/property.txt",
        "{{criterion}}\n\nThe answer: {{anwser}}\n",
    );
    work.score(&server, &["--prompts", "mine"])
        .exits_with(3)
        .says(&[
            "mine/property.txt:3: unknown variable {{anwser}}",
            "{{question}}, {{response}}, {{criterion}}",
        ]);
    assert_eq!(server.chat_count(), 0);
}

#[test]
fn two_runs_with_one_record_directory_do_not_meet() {
    let work = Workspace::new(&["alpha"], 2);
    let gate = Gate::after(0);
    let server = FakeServer::start(constant_judge().behind(&gate));
    let first = work.spawn_score(&server, &["--concurrency", "1"]);
    wait_until("the first run asks", || server.chat_count() > 0);
    work.score(&server, &[])
        .exits_with(3)
        .says(&["another scholareval is writing into this directory"]);
    gate.open();
    Running::of(first).finish().exits_with(0);
    assert!(server.chat_count() >= 2 * NOW);
}
