//! Tests of the cache as a whole that need its inside; the outside is tested in `tests/integration/cache.rs`.

use std::path::{Path, PathBuf};
use std::time::Duration;

use proptest::prelude::*;
use tempfile::TempDir;

use super::*;
use scholareval_core::domain::{Fingerprint, JudgeReply, TokenLogprob, Usage};
use scholareval_core::error::Error;

fn dir() -> (TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("sub/dir/cache.sqlite");
    (dir, path)
}

fn key(number: u32) -> Fingerprint {
    Fingerprint::from(blake3::hash(&number.to_le_bytes()))
}

fn label() -> CallLabel {
    CallLabel {
        kind: "property".into(),
        judge: "gpt".into(),
        role: "rubric".into(),
        sample: 0,
        attempt: 0,
    }
}

fn entry(number: u32, content: &str) -> Entry {
    let usage = Usage {
        prompt_tokens: 100,
        cached_prompt_tokens: 40,
        completion_tokens: 7,
        ..Usage::default()
    };
    let reply = JudgeReply {
        usage,
        latency_ms: 12,
        model: Some("gpt-1".into()),
        cached: true,
        ..JudgeReply::of_text(content)
    };
    Entry::new(key(number), label(), reply)
}

fn content(cache: &Cache, number: u32) -> Option<String> {
    cache.get(&key(number)).unwrap().map(|reply| reply.content)
}

/// A cache on 16 pages of 4 KiB: they hold the tables and a few replies of 3 KB, not 100 of them.
fn small(path: &Path) -> Cache {
    let connection = file::open_or_create(path).unwrap();
    connection
        .pragma_update_and_check(None, "max_page_count", 16, |_| Ok(()))
        .unwrap();
    Cache::start(path, connection, Duration::from_secs(60)).unwrap()
}

fn is_granted(leased: scholareval_core::Result<Option<Leased>>) -> bool {
    matches!(leased.unwrap(), Some(Leased::Granted(_)))
}

fn lease(cache: &Cache, number: u32) -> Lease {
    match cache.try_lease(&key(number)).unwrap() {
        Some(Leased::Granted(lease)) => lease,
        other => panic!("{other:?}"),
    }
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
    cache.put(&stored, None).unwrap();
    assert_eq!(cache.get(&key(1)).unwrap(), Some(stored.reply.clone()));
    assert!(stored.reply.cached);
    assert_eq!(cache.get(&key(2)).unwrap(), None);
    drop(cache);
    assert_eq!(
        Cache::open(&path).unwrap().get(&key(1)).unwrap(),
        Some(stored.reply)
    );
}

/// The replies in a copy of the file alone, without its log.
fn replies_in_copy(path: &Path) -> i64 {
    let copy = path.with_file_name("copy.sqlite");
    std::fs::copy(path, &copy).unwrap();
    rusqlite::Connection::open(&copy)
        .unwrap()
        .query_row("SELECT count(*) FROM replies", [], |row| row.get(0))
        .unwrap()
}

#[test]
fn a_closed_cache_is_whole_in_its_file_alone() {
    let (_dir, path) = dir();
    let (cache, other) = (Cache::open(&path).unwrap(), Cache::open(&path).unwrap());
    cache.put(&entry(1, "x"), None).unwrap();
    // Both have a connection for reading, and the other one stays open as that of another process would.
    assert!(content(&cache, 1).is_some() && content(&other, 1).is_some());
    drop(cache);
    assert_eq!(replies_in_copy(&path), 1);
    other.put(&entry(2, "y"), None).unwrap();
    drop(other);
    assert_eq!(replies_in_copy(&path), 2);
    assert!(!file::beside(&path, "-wal").exists());
}

#[test]
fn a_cache_is_settled_while_it_is_open() {
    let (_dir, path) = dir();
    let cache = Cache::open(&path).unwrap();
    cache.put(&entry(1, "x"), None).unwrap();
    settle(&path).unwrap();
    assert_eq!(replies_in_copy(&path), 1);
    settle(&path.with_file_name("missing")).unwrap();
    assert!(!path.with_file_name("missing").exists());
}

/// The first bytes of a cache, and the journal of a transaction that began with so many pages.
fn cut_while_it_was_made(path: &Path, pages_before: u32) {
    drop(Cache::open(path).unwrap());
    let whole = std::fs::read(path).unwrap();
    std::fs::write(path, &whole[..1000]).unwrap();
    let mut journal = vec![0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7];
    for number in [0, 7, pages_before, 512, 4096] {
        journal.extend(u32::to_be_bytes(number));
    }
    journal.resize(512, 0);
    std::fs::write(file::beside(path, "-journal"), journal).unwrap();
}

#[test]
fn a_cache_that_was_cut_while_it_was_made_is_made_anew_and_no_other_one() {
    let (_dir, path) = dir();
    cut_while_it_was_made(&path, 0);
    let target = path.with_file_name("target");
    assert!(message(merged(&[&path], &target).unwrap_err()).contains("missing or empty"));
    let cache = Cache::open(&path).unwrap();
    cache.put(&entry(1, "x"), None).unwrap();
    drop(cache);
    let before = path.with_file_name("before.sqlite");
    cut_while_it_was_made(&before, 5);
    message(Cache::open(&before).unwrap_err());
    assert_eq!(std::fs::metadata(&before).unwrap().len(), 1000);
}

#[test]
fn a_lease_of_before_the_last_start_of_the_machine_is_void() {
    let (_dir, path) = dir();
    let cache = Cache::open(&path).unwrap();
    let behind = rusqlite::Connection::open(&path).unwrap();
    for (number, seconds) in [(1, 59), (2, 7_200)] {
        let (key, end) = (key(number), lease_clock::now_ms() + seconds * 1000);
        let values = rusqlite::params![key.as_bytes(), "1|another host|00", end];
        behind
            .execute("INSERT INTO leases VALUES (?1, ?2, ?3)", values)
            .unwrap();
    }
    assert!(cache.try_lease(&key(1)).unwrap().is_none());
    assert_eq!(
        cache.asked_by_other(&key(1)).unwrap().as_deref(),
        Some("process 1 on another host")
    );
    assert!(is_granted(cache.try_lease(&key(2))));
}

#[test]
fn the_first_reply_of_a_key_stays() {
    let (_dir, path) = dir();
    let cache = Cache::open(&path).unwrap();
    cache.put(&entry(1, "first"), None).unwrap();
    cache.put(&entry(1, "second"), None).unwrap();
    assert_eq!(content(&cache, 1).as_deref(), Some("first"));
    assert_eq!(cache.stats().unwrap().entries, 1);
}

#[test]
fn a_newer_schema_is_refused_and_says_so() {
    let (_dir, path) = dir();
    drop(Cache::open(&path).unwrap());
    let connection = rusqlite::Connection::open(&path).unwrap();
    connection
        .pragma_update(None, "user_version", SCHEMA_VERSION + 1)
        .unwrap();
    drop(connection);
    let text = message(Cache::open(&path).unwrap_err());
    assert!(
        text.contains(&format!("schema version {}", SCHEMA_VERSION + 1))
            && text.contains("update scholareval"),
        "{text}"
    );
}

#[test]
fn an_emptied_file_beside_a_full_log_is_refused() {
    let (_dir, path) = dir();
    let cache = Cache::open(&path).unwrap();
    cache.put(&entry(1, "x"), None).unwrap();
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
    cache.put(&entry(1, "{\"score\": 3}"), None).unwrap();
    cache.put(&entry(2, "whole"), None).unwrap();
    let other = rusqlite::Connection::open(&path).unwrap();
    let changed = other
        .execute(
            "UPDATE replies SET entry = replace(entry, 'score', 'scare') WHERE rowid = 1",
            [],
        )
        .unwrap();
    assert_eq!(changed, 1);
    let text = message(cache.get(&key(1)).unwrap_err());
    assert!(
        text.contains("damaged") && text.contains("cache merge"),
        "{text}"
    );
    assert!(cache.try_lease(&key(1)).is_err());
    assert_eq!(cache.get(&key(2)).unwrap().unwrap().content, "whole");
    assert_eq!(
        (
            cache.stats().unwrap().entries,
            cache.stats().unwrap().damaged
        ),
        (1, 1)
    );
}

#[test]
fn a_full_disk_is_an_error_with_a_remedy_and_the_cache_stays_whole() {
    let (_dir, path) = dir();
    let cache = small(&path);
    let long = "y".repeat(3000);
    let done: Vec<_> = (0..100)
        .map(|n| cache.put(&entry(n, &long), None))
        .collect();
    let refused = done.iter().filter(|done| done.is_err()).count();
    assert!((80..100).contains(&refused), "{refused}");
    let text = message(done.into_iter().find_map(Result::err).unwrap());
    assert!(text.contains("disk is full"), "{text}");
    drop(cache);
    let cache = Cache::open(&path).unwrap();
    let kept = (0..100)
        .filter(|&n| content(&cache, n).as_deref() == Some(&long))
        .count();
    assert_eq!(kept, 100 - refused);
    cache.put(&entry(1000, "room again"), None).unwrap();
}

#[test]
fn a_lease_whose_reply_could_not_be_stored_is_given_back() {
    let (_dir, path) = dir();
    let (cache, other) = (small(&path), Cache::open(&path).unwrap());
    let lease = lease(&cache, 1);
    assert!(
        cache
            .put(&entry(1, &"z".repeat(100_000)), Some(lease))
            .is_err()
    );
    assert!(is_granted(other.try_lease(&key(1))));
}

#[test]
fn of_two_handles_one_gets_the_lease_and_the_other_the_reply() {
    let (_dir, path) = dir();
    let (first, second) = (Cache::open(&path).unwrap(), Cache::open(&path).unwrap());
    let lease = lease(&first, 1);
    assert!(second.try_lease(&key(1)).unwrap().is_none());
    assert!(
        first.try_lease(&key(1)).unwrap().is_none(),
        "an identical call of this handle waits, too"
    );
    first.put(&entry(1, "x"), Some(lease)).unwrap();
    let leased = second.try_lease(&key(1)).unwrap();
    assert!(matches!(leased, Some(Leased::Cached(reply)) if reply.content == "x"));
    let rows: i64 = rusqlite::Connection::open(&path)
        .unwrap()
        .query_row("SELECT count(*) FROM leases", [], |row| row.get(0))
        .unwrap();
    assert_eq!(rows, 0);
}

#[test]
fn a_dropped_lease_and_a_closed_cache_give_leases_back() {
    let (_dir, path) = dir();
    let (first, second) = (Cache::open(&path).unwrap(), Cache::open(&path).unwrap());
    let released = lease(&first, 1);
    let _kept = lease(&first, 2);
    drop(released);
    assert!(is_granted(second.try_lease(&key(1))));
    assert!(second.try_lease(&key(2)).unwrap().is_none());
    drop(first);
    assert!(is_granted(second.try_lease(&key(2))));
}

#[test]
fn a_lease_is_renewed_while_its_process_lives_and_ends_by_itself_elsewhere() {
    let (_dir, path) = dir();
    let three_seconds = Duration::from_secs(3);
    let handle = Cache::start(&path, file::open_or_create(&path).unwrap(), three_seconds).unwrap();
    let lease = lease(&handle, 1);
    let behind = rusqlite::Connection::open(&path).unwrap();
    behind.busy_timeout(Duration::from_secs(60)).unwrap();
    let end_of_lease = || -> i64 {
        let end = "SELECT expires_at FROM leases WHERE key = ?1";
        behind
            .query_row(end, [key(1).as_bytes()], |row| row.get(0))
            .unwrap()
    };
    let first = end_of_lease();
    let is_renewed = (0..12_000).any(|_| {
        std::thread::sleep(Duration::from_millis(5));
        end_of_lease() > first
    });
    assert!(is_renewed, "the lease still ends at {first}");
    drop(lease);
    // A process of another host that was killed leaves a row that nobody renews.
    let end = lease_clock::now_ms() + 300;
    let other = key(2);
    let values = rusqlite::params![other.as_bytes(), "1|another host|00", end];
    behind
        .execute("INSERT INTO leases VALUES (?1, ?2, ?3)", values)
        .unwrap();
    assert!(handle.try_lease(&key(2)).unwrap().is_none());
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap();
    assert!(matches!(
        runtime.block_on(handle.lease(&key(2))).unwrap(),
        Leased::Granted(_)
    ));
}

#[test]
fn stats_count_by_kind_and_judge() {
    let (_dir, path) = dir();
    let cache = Cache::open(&path).unwrap();
    let mut other = entry(2, "y");
    other.label = CallLabel {
        kind: "evidence".into(),
        judge: "llama".into(),
        ..label()
    };
    for entry in [entry(1, "x"), other, entry(3, "z")] {
        cache.put(&entry, None).unwrap();
    }
    let stats = cache.stats().unwrap();
    // Three entries of 100 prompt (40 cached) and 7 reply tokens.
    assert_eq!(
        (stats.entries, stats.damaged, stats.prompt_tokens),
        (3, 0, 300)
    );
    assert_eq!(
        (stats.cached_prompt_tokens, stats.completion_tokens),
        (120, 21)
    );
    assert_eq!(
        stats.by_kind,
        [("evidence".to_owned(), 1), ("property".to_owned(), 2)].into()
    );
    assert_eq!(stats.by_judge["llama"], 1);
    assert!(stats.bytes > 0);
}

/// The stored entries, in their order, as `sqlite3` shows them.
fn stored(path: &Path) -> Vec<serde_json::Value> {
    let connection = rusqlite::Connection::open(path).unwrap();
    let mut select = connection
        .prepare("SELECT entry FROM replies ORDER BY rowid")
        .unwrap();
    let rows = select.query_map([], |row| row.get::<_, String>(0)).unwrap();
    rows.map(|row| serde_json::from_str(&row.unwrap()).unwrap())
        .collect()
}

fn merged(sources: &[&Path], into: &Path) -> scholareval_core::Result<MergeReport> {
    merge(
        &sources
            .iter()
            .map(|source| source.to_path_buf())
            .collect::<Vec<_>>(),
        into,
    )
}

#[test]
fn merging_keeps_what_is_there_and_counts_conflicts() {
    let dir = tempfile::tempdir().unwrap();
    let [a, b, c] = ["a", "b", "c"].map(|name| dir.path().join(name));
    for (path, entries) in [
        (&a, [(1, "one"), (2, "two")]),
        (&b, [(2, "TWO"), (3, "three")]),
    ] {
        let cache = Cache::open(path).unwrap();
        for (number, content) in entries {
            cache.put(&entry(number, content), None).unwrap();
        }
    }
    let before = std::fs::read(&a).unwrap();
    let report = merged(&[&a, &b, &a], &c).unwrap();
    // a: 2 new; b: 1 new, 1 in conflict; a again: 2 known
    assert_eq!(
        report,
        MergeReport {
            inserted: Inserted {
                added: 3,
                known: 2,
                conflicts: 1
            },
            ..MergeReport::default()
        }
    );
    let cache = Cache::open(&c).unwrap();
    assert_eq!(
        [1, 2, 3].map(|n| content(&cache, n).unwrap()),
        ["one", "two", "three"]
    );
    assert_eq!(std::fs::read(&a).unwrap(), before);
    assert_eq!(
        std::fs::read_dir(dir.path())
            .unwrap()
            .filter(|f| f.as_ref().unwrap().path() == dir.path().join("a-wal"))
            .count(),
        0
    );
}

fn by_model(number: u32, model: &str) -> Entry {
    let mut entry = entry(number, model);
    entry.reply.model = Some(model.to_owned());
    entry
}

/// What a merge says of `source`.
fn suspicion(source: &Path) -> Option<String> {
    let target = source.with_file_name("target");
    let report = merged(&[source], &target).unwrap();
    report.suspicious.into_iter().next().map(|(_, what)| what)
}

#[test]
fn a_merge_names_the_log_of_an_empty_source() {
    let (_dir, path) = dir();
    drop(Cache::open(&path).unwrap());
    let what = suspicion(&path).unwrap();
    assert!(
        what.starts_with("holds no replies") && what.contains("cache.sqlite-wal"),
        "{what}"
    );
}

#[test]
fn a_merge_names_the_missing_log_of_a_file_that_was_copied_while_in_use() {
    let (_dir, path) = dir();
    let cache = Cache::open(&path).unwrap();
    cache.put(&entry(1, "x"), None).unwrap();
    let lease = lease(&cache, 2);
    // SQLite moves the log into the file whenever it has grown to a thousand pages.
    let log = "PRAGMA wal_checkpoint(PASSIVE)";
    let checkpoint = |connection: &rusqlite::Connection| connection.query_row(log, [], |_| Ok(()));
    checkpoint(&rusqlite::Connection::open(&path).unwrap()).unwrap();
    let copy = path.with_file_name("copy.sqlite");
    std::fs::copy(&path, &copy).unwrap();
    let what = suspicion(&copy).unwrap();
    assert!(what.contains("copy.sqlite-wal is missing"), "{what}");
    // With its log the same file is whole.
    assert_eq!(suspicion(&path), None);
    drop((lease, cache));
    assert_eq!(suspicion(&path), None);
}

#[test]
fn a_process_that_ends_at_once_leaves_a_file_without_leases() {
    let (_dir, path) = dir();
    let cache = Cache::open(&path).unwrap();
    cache.put(&entry(1, "x"), None).unwrap();
    let _lease = lease(&cache, 2);
    settle(&path).unwrap();
    let copy = path.with_file_name("copy.sqlite");
    std::fs::copy(&path, &copy).unwrap();
    assert_eq!(suspicion(&copy), None);
}

#[test]
fn a_key_keeps_the_replies_of_every_model_also_through_a_merge() {
    let dir = tempfile::tempdir().unwrap();
    let [a, b, c] = ["a", "b", "c"].map(|name| dir.path().join(name));
    for (path, model) in [(&a, "old"), (&b, "new")] {
        let cache = Cache::open(path).unwrap();
        cache.put(&by_model(1, model), None).unwrap();
        let mut inserted = Inserted::default();
        cache
            .insert_all(&[by_model(2, model)], &mut inserted)
            .unwrap();
        assert_eq!(
            cache.answering_model("gpt").unwrap().as_deref(),
            Some(model)
        );
        std::thread::sleep(Duration::from_millis(5));
    }
    let report = merged(&[&a, &b, &b], &c).unwrap();
    let expected = Inserted {
        added: 4,
        known: 2,
        conflicts: 0,
    };
    assert_eq!(report.inserted, expected);
    let cache = Cache::open(&c).unwrap();
    for model in ["old", "new"] {
        let models = Models::Only([model.to_owned()].into());
        let reply = cache.get_by(&key(1), &models).unwrap().reply().unwrap();
        assert_eq!(reply.content, model);
    }
    let neither = Models::Only(["another".to_owned()].into());
    assert_eq!(
        cache.get_by(&key(1), &neither).unwrap(),
        Stored::OfOtherModels
    );
    assert_eq!(content(&cache, 1).unwrap(), "old", "the first one");
    assert_eq!(
        cache.answering_model("gpt").unwrap().as_deref(),
        Some("new"),
        "the later one"
    );
    assert_eq!(cache.stats().unwrap().entries, 4);
}

#[test]
fn merging_reads_a_cache_that_is_in_use_its_log_included() {
    let dir = tempfile::tempdir().unwrap();
    let (a, c) = (dir.path().join("a"), dir.path().join("c"));
    let open = Cache::open(&a).unwrap();
    open.put(&entry(1, "only in the log"), None).unwrap();
    assert_eq!(merged(&[&a], &c).unwrap().inserted.added, 1);
}

#[test]
fn merging_refuses_foreign_missing_and_same_files_before_it_writes() {
    let dir = tempfile::tempdir().unwrap();
    let [good, foreign, into] = ["good", "foreign", "into"].map(|name| dir.path().join(name));
    drop(Cache::open(&good).unwrap());
    std::fs::write(
        &foreign,
        "not a database, but some text that is long enough",
    )
    .unwrap();
    message(merged(&[&good, &foreign], &into).unwrap_err());
    message(merged(&[&good, &dir.path().join("missing")], &into).unwrap_err());
    assert!(matches!(
        merged(&[&good], &dir.path().join("./good")),
        Err(Error::Usage(_))
    ));
    assert!(!into.exists());
}

#[test]
fn a_damaged_entry_is_left_out_of_a_merge() {
    let dir = tempfile::tempdir().unwrap();
    let (a, c) = (dir.path().join("a"), dir.path().join("c"));
    let cache = Cache::open(&a).unwrap();
    cache.put(&entry(1, "x"), None).unwrap();
    cache.put(&entry(2, "y"), None).unwrap();
    rusqlite::Connection::open(&a)
        .unwrap()
        .execute("UPDATE replies SET digest = 5 WHERE rowid = 1", [])
        .unwrap();
    let report = merged(&[&a], &c).unwrap();
    assert_eq!((report.inserted.added, report.damaged), (1, 1));
}

fn with_logprobs(number: u32) -> Entry {
    let mut entry = entry(number, "7");
    let top = vec![("7".to_owned(), -0.1), ("8".to_owned(), -1.0 / 3.0)];
    entry.reply.logprobs = Some(vec![TokenLogprob {
        token: "7".into(),
        logprob: -0.1,
        top,
    }]);
    entry
}

#[test]
fn probabilities_are_kept_and_merged_and_their_damage_is_found() {
    let dir = tempfile::tempdir().unwrap();
    let (a, c) = (dir.path().join("a"), dir.path().join("c"));
    let cache = Cache::open(&a).unwrap();
    cache.put(&with_logprobs(1), None).unwrap();
    cache.put(&entry(2, "plain"), None).unwrap();
    assert_eq!(
        cache.get(&key(1)).unwrap(),
        Some(with_logprobs(1).reply),
        "to the last bit"
    );
    let lines = stored(&a);
    let expected = serde_json::json!([{"token": "7", "logprob": -0.1, "top": [["7", -0.1], ["8", -1.0 / 3.0]]}]);
    assert_eq!(
        (
            &lines[0]["reply"]["logprobs"],
            lines[1]["reply"].get("logprobs")
        ),
        (&expected, None)
    );
    assert_eq!(merged(&[&a], &c).unwrap().inserted.added, 2);
    assert_eq!(
        Cache::open(&c).unwrap().get(&key(1)).unwrap(),
        Some(with_logprobs(1).reply)
    );
    let behind = rusqlite::Connection::open(&a).unwrap();
    behind
        .execute(
            "UPDATE replies SET entry = replace(entry, '-0.1', '-0.2') WHERE rowid = 1",
            [],
        )
        .unwrap();
    assert!(message(cache.get(&key(1)).unwrap_err()).contains("damaged"));
}

#[test]
fn the_last_report_of_a_server_is_remembered_and_merged() {
    let dir = tempfile::tempdir().unwrap();
    let [older, newer, merged] = ["older", "newer", "merged"].map(|name| dir.path().join(name));
    let cache = Cache::open(&older).unwrap();
    assert_eq!(cache.servers().unwrap(), []);
    for (name, identity) in [
        ("http://a m", "zero"),
        ("http://a m", "one"),
        ("http://b m", "three"),
    ] {
        cache.remember_server(name, identity).unwrap();
    }
    assert_eq!(
        cache.servers().unwrap()[0].1,
        "three",
        "the last one asked comes first"
    );
    drop(cache);
    std::thread::sleep(Duration::from_millis(5));
    Cache::open(&newer)
        .unwrap()
        .remember_server("http://a m", "two")
        .unwrap();
    merge(&[newer, older], &merged).unwrap();
    let cache = Cache::open(&merged).unwrap();
    let servers: std::collections::BTreeMap<String, String> =
        cache.servers().unwrap().into_iter().collect();
    assert_eq!(
        (
            servers["http://a m"].as_str(),
            servers["http://b m"].as_str()
        ),
        ("two", "three")
    );
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_stored_is_what_was_put(
        contents in proptest::collection::vec(any::<String>(), 1..20),
        reason in any::<Option<String>>(),
        model in any::<Option<String>>(),
        judge in any::<String>(),
        sample in any::<u32>(),
    ) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a");
        let a = Cache::open(&path).unwrap();
        let mut entries = Vec::new();
        for (number, content) in (0..).zip(contents) {
            let mut entry = entry(number, &content);
            entry.reply.finish_reason.clone_from(&reason);
            entry.reply.model.clone_from(&model);
            entry.reply.usage.prompt_tokens = u64::MAX;
            entry.label = CallLabel { judge: judge.clone(), sample, ..label() };
            a.put(&entry, None).unwrap();
            entries.push(entry);
        }
        let read = stored(&path).into_iter().map(|entry| serde_json::from_value::<Entry>(entry).unwrap());
        prop_assert_eq!(&read.collect::<Vec<_>>(), &entries);
        for entry in entries {
            prop_assert_eq!(a.get(&entry.key).unwrap(), Some(entry.reply));
        }
    }
}
