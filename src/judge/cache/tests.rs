//! Tests of the cache as a whole that need its inside; the outside is tested in `tests/integration/cache.rs`.

use std::path::{Path, PathBuf};
use std::time::Duration;

use futures::executor::block_on;
use futures::future::join_all;
use proptest::prelude::*;
use tempfile::TempDir;

use super::*;
use crate::domain::{Fingerprint, JudgeReply, TokenLogprob, Usage};
use crate::error::Error;

fn dir() -> (TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("sub/dir/cache.sqlite");
    (dir, path)
}

fn key(number: u32) -> Fingerprint {
    Fingerprint::from(blake3::hash(&number.to_le_bytes()))
}

fn label() -> CallLabel {
    CallLabel { kind: "property".into(), judge: "gpt".into(), role: "rubric".into(), draw: 0, attempt: 0 }
}

fn entry(number: u32, content: &str) -> Entry {
    let usage = Usage { prompt_tokens: 100, cached_prompt_tokens: 40, completion_tokens: 7 };
    let reply =
        JudgeReply { usage, latency_ms: 12, model: Some("gpt-1".into()), cached: true, ..JudgeReply::of_text(content) };
    Entry::new(key(number), label(), reply)
}

fn text(cache: &Cache, number: u32) -> Option<String> {
    cache.get(&key(number)).unwrap().map(|reply| reply.content)
}

fn message(error: Error) -> String {
    assert!(matches!(error, Error::Cache { .. }), "{error:?}");
    error.to_string()
}

#[test]
fn a_reply_comes_back_as_it_was_stored_and_marked_cached() {
    let (_dir, path) = dir();
    let cache = Cache::open(&path).unwrap();
    let stored = entry(1, "{\"score\": 7}\0 end");
    block_on(cache.put(stored.clone())).unwrap();
    assert_eq!(cache.get(&key(1)).unwrap(), Some(stored.reply.clone()));
    assert!(stored.reply.cached);
    assert_eq!(cache.get(&key(2)).unwrap(), None);
    drop(cache);
    assert_eq!(Cache::open(&path).unwrap().get(&key(1)).unwrap(), Some(stored.reply));
}

#[test]
fn the_first_reply_of_a_key_stays() {
    let (_dir, path) = dir();
    let cache = Cache::open(&path).unwrap();
    block_on(cache.put(entry(1, "first"))).unwrap();
    block_on(cache.put(entry(1, "second"))).unwrap();
    assert_eq!(text(&cache, 1).as_deref(), Some("first"));
    assert_eq!(cache.stats().unwrap().total.entries, 1);
}

#[test]
fn a_dropped_put_is_committed_all_the_same() {
    let (_dir, path) = dir();
    let cache = Cache::open(&path).unwrap();
    for n in 0..200 {
        drop(cache.put(entry(n, "paid")));
    }
    drop(cache);
    assert_eq!(Cache::open(&path).unwrap().stats().unwrap().total.entries, 200);
}

#[test]
fn a_token_count_beyond_sqlites_integers_is_capped_and_the_row_stays_whole() {
    let (_dir, path) = dir();
    let cache = Cache::open(&path).unwrap();
    let mut huge = entry(1, "x");
    huge.reply.usage.prompt_tokens = u64::MAX;
    block_on(cache.put(huge)).unwrap();
    // 2^63 - 1 is SQLite's largest integer.
    assert_eq!(cache.get(&key(1)).unwrap().unwrap().usage.prompt_tokens, (1 << 63) - 1);
}

#[test]
fn a_newer_schema_is_refused_and_says_so() {
    let (_dir, path) = dir();
    drop(Cache::open(&path).unwrap());
    let connection = rusqlite::Connection::open(&path).unwrap();
    connection.pragma_update(None, "user_version", SCHEMA_VERSION + 1).unwrap();
    drop(connection);
    let text = message(Cache::open(&path).unwrap_err());
    assert!(text.contains("schema version 3") && text.contains("update scholareval"), "{text}");
}

#[test]
fn a_database_without_our_tables_is_refused_even_with_our_marks() {
    let (_dir, path) = dir();
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    let connection = rusqlite::Connection::open(&path).unwrap();
    connection.execute_batch("CREATE TABLE t (x)").unwrap();
    connection.pragma_update(None, "application_id", APPLICATION_ID).unwrap();
    connection.pragma_update(None, "user_version", SCHEMA_VERSION).unwrap();
    drop(connection);
    message(Cache::open(&path).unwrap_err());
}

#[test]
fn an_emptied_file_beside_a_full_log_is_refused() {
    let (_dir, path) = dir();
    let cache = Cache::open(&path).unwrap();
    block_on(cache.put(entry(1, "x"))).unwrap();
    let copy = path.with_file_name("copy.sqlite");
    std::fs::write(&copy, b"").unwrap();
    std::fs::copy(file::beside(&path, "-wal"), file::beside(&copy, "-wal")).unwrap();
    let text = message(Cache::open(&copy).unwrap_err());
    assert!(text.contains("its log"), "{text}");
    assert_eq!(std::fs::metadata(&copy).unwrap().len(), 0);
}

#[test]
fn a_reply_changed_behind_our_back_is_an_error_and_not_a_reply() {
    let (_dir, path) = dir();
    let cache = Cache::open(&path).unwrap();
    block_on(cache.put(entry(1, "{\"score\": 3}"))).unwrap();
    block_on(cache.put(entry(2, "whole"))).unwrap();
    let other = rusqlite::Connection::open(&path).unwrap();
    let changed = other.execute("UPDATE replies SET content = '{\"score\": 9}' WHERE rowid = 1", []).unwrap();
    assert_eq!(changed, 1);
    let text = message(cache.get(&key(1)).unwrap_err());
    assert!(text.contains("damaged") && text.contains("cache merge"), "{text}");
    assert!(block_on(cache.try_claim(&key(1))).is_err());
    assert_eq!(cache.get(&key(2)).unwrap().unwrap().content, "whole");
    let report = cache.prune(PruneOptions { damaged: true, ..PruneOptions::default() }).unwrap();
    assert_eq!(report.removed, 1);
    assert_eq!(cache.get(&key(1)).unwrap(), None);
}

#[test]
fn a_full_disk_is_an_error_with_a_remedy_and_the_cache_stays_whole() {
    let (_dir, path) = dir();
    // 16 pages of 4 KiB hold the tables and a few replies of 3 KB, not 100 of them.
    let options = CacheOptions { max_bytes: Some(16 * 4096), ..CacheOptions::default() };
    let cache = Cache::open_with(&path, options).unwrap();
    let long = "y".repeat(3000);
    let done: Vec<_> = block_on(join_all((0..100).map(|n| cache.put(entry(n, &long)))));
    let refused = done.iter().filter(|done| done.is_err()).count();
    assert!((80..100).contains(&refused), "{refused}");
    let told = message(done.into_iter().find_map(Result::err).unwrap());
    assert!(told.contains("disk is full"), "{told}");
    drop(cache);
    let cache = Cache::open(&path).unwrap();
    let kept = (0..100).filter(|&n| text(&cache, n).as_deref() == Some(&long)).count();
    assert_eq!(kept, 100 - refused);
    block_on(cache.put(entry(1000, "room again"))).unwrap();
}

#[test]
fn a_claim_that_could_not_be_turned_into_a_reply_is_not_held_for_ever() {
    let (_dir, path) = dir();
    let options = CacheOptions { max_bytes: Some(16 * 4096), ..CacheOptions::default() };
    let cache = Cache::open_with(&path, options).unwrap();
    let Claim::Mine(guard) = block_on(cache.try_claim(&key(1))).unwrap() else { panic!("not mine") };
    assert!(block_on(cache.put_claimed(entry(1, &"z".repeat(100_000)), guard)).is_err());
    assert!(matches!(block_on(cache.try_claim(&key(1))).unwrap(), Claim::Mine(_)));
}

#[test]
fn of_two_handles_one_gets_the_claim_and_the_other_the_reply() {
    let (_dir, path) = dir();
    let (one, two) = (Cache::open(&path).unwrap(), Cache::open(&path).unwrap());
    let Claim::Mine(guard) = block_on(one.try_claim(&key(1))).unwrap() else { panic!("not mine") };
    assert!(matches!(block_on(two.try_claim(&key(1))).unwrap(), Claim::Theirs));
    block_on(one.put_claimed(entry(1, "x"), guard)).unwrap();
    assert!(matches!(block_on(two.try_claim(&key(1))).unwrap(), Claim::Cached(reply) if reply.content == "x"));
    let rows: i64 = rusqlite::Connection::open(&path)
        .unwrap()
        .query_row("SELECT count(*) FROM claims", [], |row| row.get(0))
        .unwrap();
    assert_eq!(rows, 0);
}

#[test]
fn a_dropped_guard_and_a_closed_cache_give_their_claims_back() {
    let (_dir, path) = dir();
    let (one, two) = (Cache::open(&path).unwrap(), Cache::open(&path).unwrap());
    let first = block_on(one.try_claim(&key(1))).unwrap();
    let _kept = block_on(one.try_claim(&key(2))).unwrap();
    drop(first);
    // A claim of another key waits behind the release in the writer's queue.
    drop(block_on(one.try_claim(&key(3))).unwrap());
    assert!(matches!(block_on(two.try_claim(&key(1))).unwrap(), Claim::Mine(_)));
    assert!(matches!(block_on(two.try_claim(&key(2))).unwrap(), Claim::Theirs));
    drop(one);
    assert!(matches!(block_on(two.try_claim(&key(2))).unwrap(), Claim::Mine(_)));
}

#[test]
fn identical_calls_of_one_handle_share_a_claim_until_the_last_lets_go() {
    let (_dir, path) = dir();
    let (one, two) = (Cache::open(&path).unwrap(), Cache::open(&path).unwrap());
    let first = block_on(one.try_claim(&key(1))).unwrap();
    let Claim::Mine(second) = block_on(one.try_claim(&key(1))).unwrap() else { panic!("not shared") };
    drop(first);
    drop(block_on(one.try_claim(&key(9))).unwrap());
    assert!(matches!(block_on(two.try_claim(&key(1))).unwrap(), Claim::Theirs));
    drop(second);
    drop(block_on(one.try_claim(&key(9))).unwrap());
    assert!(matches!(block_on(two.try_claim(&key(1))).unwrap(), Claim::Mine(_)));
}

#[test]
fn a_live_claim_outlasts_its_lease_and_a_dead_one_does_not() {
    let (_dir, path) = dir();
    let options = CacheOptions { lease: Duration::from_secs(3), ..CacheOptions::default() };
    let (one, two) = (Cache::open_with(&path, options).unwrap(), Cache::open_with(&path, options).unwrap());
    let guard = block_on(one.try_claim(&key(1))).unwrap();
    let dead = rusqlite::Connection::open(&path).unwrap();
    dead.busy_timeout(Duration::from_secs(60)).unwrap();
    let end_of_lease = || -> i64 {
        let end = "SELECT expires_at FROM claims WHERE key = ?1";
        dead.query_row(end, [key(1).as_bytes()], |row| row.get(0)).unwrap()
    };
    // Who lives renews it, whenever the machine lets it.
    let first = end_of_lease();
    let is_renewed = (0..12_000).any(|_| {
        std::thread::sleep(Duration::from_millis(5));
        end_of_lease() > first
    });
    assert!(is_renewed, "the lease still ends at {first}");
    drop(guard);
    // A dead process leaves a row that nobody renews.
    let end = i64::try_from(record::now_ms()).unwrap() + 300;
    dead.execute("INSERT INTO claims VALUES (?1, '1-dead', ?2)", rusqlite::params![key(2).as_bytes(), end]).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    assert!(matches!(runtime.block_on(two.claim(&key(2))).unwrap(), Claim::Mine(_)));
}

#[test]
fn stats_count_by_kind_and_judge() {
    let (_dir, path) = dir();
    let cache = Cache::open(&path).unwrap();
    let mut other = entry(2, "y");
    other.label = CallLabel { kind: "evidence".into(), judge: "llama".into(), ..label() };
    other.created_at = 1_000;
    for entry in [entry(1, "x"), other, entry(3, "z")] {
        block_on(cache.put(entry)).unwrap();
    }
    let stats = cache.stats().unwrap();
    // Three entries of 100 prompt (40 cached) and 7 reply tokens.
    let total = GroupStats { entries: 3, prompt_tokens: 300, cached_prompt_tokens: 120, completion_tokens: 21 };
    assert_eq!(stats.total, total);
    assert_eq!(
        stats.by_kind.iter().map(|(kind, group)| (kind.as_str(), group.entries)).collect::<Vec<_>>(),
        [("evidence", 1), ("property", 2)]
    );
    assert_eq!(stats.by_judge["llama"].entries, 1);
    assert_eq!(stats.oldest, Some(1_000));
    assert!(stats.newest > stats.oldest && stats.bytes > 0);
}

#[test]
fn pruning_removes_what_meets_all_conditions_and_shrinks_the_file() {
    let (_dir, path) = dir();
    let cache = Cache::open(&path).unwrap();
    let long = "w".repeat(20_000);
    let puts = (0..100).map(|n| {
        let mut entry = entry(n, &long);
        entry.created_at = if n < 50 { 1_000 } else { entry.created_at };
        entry.label.judge = if n % 2 == 0 { "a".into() } else { "b".into() };
        cache.put(entry)
    });
    block_on(join_all(puts)).into_iter().for_each(|done| done.unwrap());
    assert!(matches!(cache.prune(PruneOptions::default()), Err(Error::Usage(_))));
    let old_of_a =
        PruneOptions { older_than: Some(Duration::from_secs(3600)), judge: Some("a"), ..PruneOptions::default() };
    let report = cache.prune(old_of_a).unwrap();
    // Of the 50 old ones every second is of judge a.
    assert_eq!(report.removed, 25);
    assert!(report.bytes_after < report.bytes_before, "{report:?}");
    assert_eq!((text(&cache, 0), text(&cache, 1)), (None, Some(long.clone())));
    let matching = |entry: &Entry| entry.key == key(1);
    assert_eq!(cache.prune(PruneOptions { matching: Some(&matching), ..PruneOptions::default() }).unwrap().removed, 1);
    assert_eq!(cache.stats().unwrap().total.entries, 74);
}

fn merged(sources: &[&Path], into: &Path) -> crate::Result<MergeReport> {
    merge(&sources.iter().map(|source| source.to_path_buf()).collect::<Vec<_>>(), into)
}

#[test]
fn merging_keeps_what_is_there_and_counts_conflicts() {
    let dir = tempfile::tempdir().unwrap();
    let [a, b, c] = ["a", "b", "c"].map(|name| dir.path().join(name));
    for (path, entries) in [(&a, [(1, "one"), (2, "two")]), (&b, [(2, "TWO"), (3, "three")])] {
        let cache = Cache::open(path).unwrap();
        for (number, content) in entries {
            block_on(cache.put(entry(number, content))).unwrap();
        }
    }
    let before = std::fs::read(&a).unwrap();
    let report = merged(&[&a, &b, &a], &c).unwrap();
    let counts: Vec<_> =
        report.sources.iter().map(|s| (s.entries.added, s.entries.known, s.entries.conflicts)).collect();
    assert_eq!(counts, [(2, 0, 0), (1, 0, 1), (0, 2, 0)]);
    assert_eq!((report.added(), report.conflicts()), (3, 1));
    let cache = Cache::open(&c).unwrap();
    assert_eq!([1, 2, 3].map(|n| text(&cache, n).unwrap()), ["one", "two", "three"]);
    assert_eq!(std::fs::read(&a).unwrap(), before);
    assert_eq!(
        std::fs::read_dir(dir.path())
            .unwrap()
            .filter(|f| f.as_ref().unwrap().path() == dir.path().join("a-wal"))
            .count(),
        0
    );
}

#[test]
fn merging_reads_a_cache_that_is_in_use_its_log_included() {
    let dir = tempfile::tempdir().unwrap();
    let (a, c) = (dir.path().join("a"), dir.path().join("c"));
    let open = Cache::open(&a).unwrap();
    block_on(open.put(entry(1, "only in the log"))).unwrap();
    assert_eq!(merged(&[&a], &c).unwrap().added(), 1);
}

#[test]
fn merging_refuses_foreign_missing_and_same_files_before_it_writes() {
    let dir = tempfile::tempdir().unwrap();
    let [good, foreign, into] = ["good", "foreign", "into"].map(|name| dir.path().join(name));
    drop(Cache::open(&good).unwrap());
    std::fs::write(&foreign, "not a database, but some text that is long enough").unwrap();
    message(merged(&[&good, &foreign], &into).unwrap_err());
    message(merged(&[&good, &dir.path().join("missing")], &into).unwrap_err());
    assert!(matches!(merged(&[&good], &dir.path().join("./good")), Err(Error::Usage(_))));
    assert!(matches!(merged(&[], &into), Err(Error::Usage(_))));
    assert!(!into.exists());
}

#[test]
fn a_damaged_entry_is_left_out_of_a_merge_and_an_export() {
    let dir = tempfile::tempdir().unwrap();
    let (a, c) = (dir.path().join("a"), dir.path().join("c"));
    let cache = Cache::open(&a).unwrap();
    block_on(join_all([cache.put(entry(1, "x")), cache.put(entry(2, "y"))])).into_iter().for_each(|done| done.unwrap());
    rusqlite::Connection::open(&a).unwrap().execute("UPDATE replies SET draw = 5 WHERE rowid = 1", []).unwrap();
    let report = merged(&[&a], &c).unwrap();
    assert_eq!((report.added(), report.sources[0].damaged), (1, 1));
    let mut lines = Vec::new();
    assert_eq!(cache.export(&mut lines, Path::new("out")).unwrap(), ExportReport { entries: 1, damaged: 1 });
}

fn with_logprobs(number: u32) -> Entry {
    let mut entry = entry(number, "7");
    let top = vec![("7".to_owned(), -0.1), ("8".to_owned(), -1.0 / 3.0)];
    entry.reply.logprobs = Some(vec![TokenLogprob { token: "7".into(), logprob: -0.1, top }]);
    entry
}

#[test]
fn probabilities_are_kept_exported_and_merged_and_their_damage_is_found() {
    let dir = tempfile::tempdir().unwrap();
    let (a, c) = (dir.path().join("a"), dir.path().join("c"));
    let cache = Cache::open(&a).unwrap();
    block_on(join_all([cache.put(with_logprobs(1)), cache.put(entry(2, "plain"))]));
    assert_eq!(cache.get(&key(1)).unwrap(), Some(with_logprobs(1).reply), "to the last bit");
    let mut lines = Vec::new();
    cache.export(&mut lines, Path::new("out")).unwrap();
    let lines = String::from_utf8(lines).unwrap();
    let lines: Vec<serde_json::Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let exported = serde_json::json!([{"token": "7", "logprob": -0.1, "top": [["7", -0.1], ["8", -1.0 / 3.0]]}]);
    assert_eq!((&lines[0]["logprobs"], lines[1].get("logprobs")), (&exported, None));
    assert_eq!(merged(&[&a], &c).unwrap().added(), 2);
    assert_eq!(Cache::open(&c).unwrap().get(&key(1)).unwrap(), Some(with_logprobs(1).reply));
    let behind = rusqlite::Connection::open(&a).unwrap();
    behind.execute("UPDATE replies SET logprobs = replace(logprobs, '0.1', '0.2') WHERE rowid = 1", []).unwrap();
    behind.execute("UPDATE replies SET logprobs = '[]' WHERE rowid = 2", []).unwrap();
    for number in [1, 2] {
        assert!(message(cache.get(&key(number)).unwrap_err()).contains("damaged"));
    }
}

/// A cache as version 1 of the tables was: without the column.
fn version_1(path: &Path, numbers: impl IntoIterator<Item = u32>) {
    let cache = Cache::open(path).unwrap();
    numbers.into_iter().for_each(|number| drop(cache.put(entry(number, &format!("reply {number}")))));
    drop(cache);
    let connection = rusqlite::Connection::open(path).unwrap();
    connection.execute_batch("ALTER TABLE replies DROP COLUMN logprobs; PRAGMA user_version = 1").unwrap();
}

#[test]
fn a_cache_of_version_1_is_brought_up_to_date_without_losing_an_entry() {
    let (_dir, path) = dir();
    version_1(&path, 0..300);
    let cache = Cache::open(&path).unwrap();
    assert_eq!(cache.stats().unwrap().total.entries, 300);
    assert!((0..300).all(|number| text(&cache, number) == Some(format!("reply {number}"))));
    block_on(cache.put(with_logprobs(1000))).unwrap();
    assert_eq!(cache.get(&key(1000)).unwrap(), Some(with_logprobs(1000).reply));
    drop(cache);
    let version: i32 =
        rusqlite::Connection::open(&path).unwrap().pragma_query_value(None, "user_version", |row| row.get(0)).unwrap();
    assert_eq!(version, SCHEMA_VERSION);
    assert_eq!(text(&Cache::open(&path).unwrap(), 299).as_deref(), Some("reply 299"));
}

#[test]
fn a_source_of_version_1_is_merged_and_stays_as_it_was() {
    let dir = tempfile::tempdir().unwrap();
    let (a, c) = (dir.path().join("a"), dir.path().join("c"));
    version_1(&a, 0..300);
    let before = std::fs::read(&a).unwrap();
    assert_eq!(merged(&[&a], &c).unwrap().added(), 300);
    assert_eq!(std::fs::read(&a).unwrap(), before);
    assert_eq!(text(&Cache::open(&c).unwrap(), 7).as_deref(), Some("reply 7"));
}

#[test]
fn two_openers_bring_a_cache_up_to_date_once() {
    let (_dir, path) = dir();
    version_1(&path, 0..3);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| assert_eq!(Cache::open(&path).unwrap().stats().unwrap().total.entries, 3));
        }
    });
}

#[test]
fn the_digest_of_a_plain_reply_is_that_of_version_1() {
    let (_dir, path) = dir();
    let cache = Cache::open(&path).unwrap();
    let entry = entry(1, "x");
    block_on(cache.put(entry.clone())).unwrap();
    // key, then texts with their lengths (u64::MAX for a missing one), then the numbers in order of the columns
    let mut hasher = blake3::Hasher::new();
    hasher.update(key(1).as_bytes());
    for text in ["property", "gpt", "rubric", "x", "stop", "gpt-1"] {
        hasher.update(&(text.len() as u64).to_le_bytes()).update(text.as_bytes());
    }
    for number in [0, 0, 100, 40, 7, 12, i64::try_from(entry.created_at).unwrap()] {
        hasher.update(&number.to_le_bytes());
    }
    let expected = i64::from_le_bytes(hasher.finalize().as_bytes()[..8].try_into().unwrap());
    let connection = rusqlite::Connection::open(&path).unwrap();
    let digest: i64 = connection.query_row("SELECT digest FROM replies", [], |row| row.get(0)).unwrap();
    assert_eq!(digest, expected);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_exported_is_what_was_stored(
        contents in proptest::collection::vec(any::<String>(), 1..20),
        reason in any::<Option<String>>(),
        model in any::<Option<String>>(),
        judge in any::<String>(),
        draw in any::<u32>(),
    ) {
        let dir = tempfile::tempdir().unwrap();
        let a = Cache::open(&dir.path().join("a")).unwrap();
        let mut number = 0;
        for content in contents {
            let mut entry = entry(number, &content);
            entry.reply.finish_reason.clone_from(&reason);
            entry.reply.model.clone_from(&model);
            entry.label = CallLabel { judge: judge.clone(), draw, ..label() };
            block_on(a.put(entry)).unwrap();
            number += 1;
        }
        let mut lines = Vec::new();
        a.export(&mut lines, Path::new("out")).unwrap();
        let lines: Vec<serde_json::Value> =
            String::from_utf8(lines).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        prop_assert_eq!(lines.len(), number as usize);
        for (n, line) in (0..number).zip(lines) {
            let reply = a.get(&key(n)).unwrap().unwrap();
            prop_assert_eq!(line["content"].as_str(), Some(reply.content.as_str()));
            prop_assert_eq!(line["finish_reason"].as_str(), reason.as_deref());
            prop_assert_eq!(line["model"].as_str(), model.as_deref());
            prop_assert_eq!(line["judge"].as_str(), Some(judge.as_str()));
            prop_assert_eq!(line["draw"].as_u64(), Some(u64::from(draw)));
        }
    }
}
