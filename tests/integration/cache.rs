//! The reply cache between threads and processes, under kills, and on files that are damaged or somebody else's.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use futures::StreamExt;
use scholareval::Error;
use scholareval::domain::{Fingerprint, JudgeReply, Role};
use scholareval::judge::answering::Answering;
use scholareval::judge::cache::{Cache, CallLabel, Entry, Leased};
use scholareval::judge::layers::cached::Cached;
use scholareval::judge::meters::Meters;
use scholareval::judge::{AskFuture, Body, Judge, JudgeRequest, Outcome, Rendered};
use scholareval::question::{Expertise, JudgeCall};

/// The cache file a child process works on; only children have it.
const CHILD_CACHE: &str = "SCHOLAREVAL_TEST_CHILD_CACHE";
/// Calls that several processes share.
const SHARED_CALLS: u64 = 200;

fn key(number: u64) -> Fingerprint {
    Fingerprint::from(blake3::hash(&number.to_le_bytes()))
}

/// Replies of 0 to 12,000 bytes, so that some fill many pages.
fn content(number: u64) -> String {
    format!("reply {number} ").repeat(usize::try_from(number % 40 * 30).unwrap())
}

fn entry(number: u64) -> Entry {
    let label = CallLabel {
        kind: "property".into(),
        judge: "gpt".into(),
        role: "rubric".into(),
        sample: 0,
        attempt: 0,
    };
    Entry::new(key(number), label, JudgeReply::of_text(content(number)))
}

/// This test binary once more, running one ignored test as a child.
fn child(test: &str, cache: &Path) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            &format!("cache::{test}"),
            "--ignored",
            "--nocapture",
            "--test-threads",
            "1",
        ])
        .env(CHILD_CACHE, cache)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

fn child_cache() -> Option<PathBuf> {
    let path = std::env::var_os(CHILD_CACHE).map(PathBuf::from);
    if path.is_none() {
        eprintln!("skipped: only run as a child of another test");
    }
    path
}

/// Whole lines `<word> <number>` of a child, as they come.
fn numbers(child: &mut Child, word: &'static str) -> impl Iterator<Item = u64> + use<> {
    let mut lines = BufReader::new(child.stdout.take().unwrap());
    std::iter::from_fn(move || {
        loop {
            let mut line = String::new();
            if lines.read_line(&mut line).unwrap() == 0 {
                return None;
            }
            let rest = line
                .strip_suffix('\n')
                .and_then(|line| line.strip_prefix(word))
                .map(str::trim);
            if let Some(number) = rest.and_then(|text| text.parse().ok()) {
                return Some(number);
            }
        }
    })
}

fn report(word: &str, number: u64) {
    // The line break before ends what the test harness has begun.
    let mut out = std::io::stdout().lock();
    out.write_all(format!("\n{word} {number}\n").as_bytes())
        .unwrap();
    out.flush().unwrap();
}

#[test]
#[ignore = "runs as a child of `every_acknowledged_reply_survives_kill_9`"]
fn child_that_writes_until_it_is_killed() {
    let Some(path) = child_cache() else { return };
    let cache = Cache::open(&path).unwrap();
    for number in 0..1_000_000 {
        cache.put(&entry(number), None).unwrap();
        report("stored", number);
    }
}

#[test]
fn every_acknowledged_reply_survives_kill_9() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("cache.sqlite");
    for round in 1..=3 {
        let mut child = child("child_that_writes_until_it_is_killed", &path);
        let mut stored = numbers(&mut child, "stored");
        // Later rounds write first what is there already, so each goes further than the one before.
        let mut acknowledged: BTreeSet<u64> = stored.by_ref().take(round * 300).collect();
        child.kill().unwrap();
        acknowledged.extend(stored);
        child.wait().unwrap();
        assert!(acknowledged.len() >= round * 300);
        let cache = Cache::open(&path).unwrap();
        for number in acknowledged {
            assert_eq!(
                cache.get(&key(number)).unwrap().map(|reply| reply.content),
                Some(content(number)),
                "{number}"
            );
        }
    }
}

/// Says who it is, slowly enough for others to ask meanwhile.
struct Slow(AtomicU64);

impl Judge for Slow {
    fn ask<'a>(&'a self, request: &'a JudgeRequest) -> AskFuture<'a> {
        Box::pin(async move {
            self.0.fetch_add(1, Ordering::Relaxed);
            tokio::time::sleep(Duration::from_millis(3)).await;
            Ok(Outcome::Reply(JudgeReply::of_text(
                request.case_id.as_str(),
            )))
        })
    }
}

fn request(number: u64) -> JudgeRequest {
    let task = Expertise {
        question: "q".into(),
        answer: "a".into(),
    };
    let rendered = Rendered::new(key(number), Body::default);
    let call = JudgeCall::new("expertise", Role::Rubric, task);
    let case_id = number.to_string().into();
    JudgeRequest {
        call,
        system: "s".into(),
        case_id,
        attempt: 0,
        rendered: Some(rendered),
    }
}

/// Asks every shared call twice, eight at once; how many the judge inside was asked.
fn ask_all(path: &Path) -> u64 {
    let slow = Arc::new(Slow(AtomicU64::new(0)));
    let cache = Cache::open(path).unwrap();
    let answering = Arc::new(Answering::new(cache, "gpt").unwrap());
    let judge = Cached::new(Arc::clone(&slow), answering, Arc::new(Meters::default()));
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap();
    let requests: Vec<_> = (0..SHARED_CALLS)
        .flat_map(|number| [request(number), request(number)])
        .collect();
    let outcomes: Vec<_> = runtime.block_on(
        futures::stream::iter(&requests)
            .map(|request| judge.ask(request))
            .buffered(8)
            .collect(),
    );
    for (request, outcome) in requests.iter().zip(outcomes) {
        let Ok(Outcome::Reply(reply)) = outcome else {
            panic!("{outcome:?}")
        };
        assert_eq!(reply.content, request.case_id.as_str());
    }
    slow.0.load(Ordering::Relaxed)
}

#[test]
#[ignore = "runs as a child of `three_processes_on_one_cache_pay_every_call_once`"]
fn child_that_asks_all() {
    let Some(path) = child_cache() else { return };
    report("asked", ask_all(&path));
}

#[test]
fn three_processes_on_one_cache_pay_every_call_once() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("cache.sqlite");
    let mut children = [
        child("child_that_asks_all", &path),
        child("child_that_asks_all", &path),
    ];
    let mut asked = ask_all(&path);
    for child in &mut children {
        // Read to the end: a child whose output is closed early fails.
        asked += numbers(child, "asked").sum::<u64>();
        assert!(child.wait().unwrap().success());
    }
    assert_eq!(asked, SHARED_CALLS);
    assert_eq!(
        Cache::open(&path).unwrap().stats().unwrap().entries,
        SHARED_CALLS
    );
}

#[cfg(unix)]
#[test]
fn the_lease_of_a_killed_process_is_free_at_once() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("cache.sqlite");
    let mut child = child("child_that_leases_and_sleeps", &path);
    assert_eq!(numbers(&mut child, "leased").next(), Some(1));
    let cache = Cache::open(&path).unwrap();
    assert!(
        cache.try_lease(&key(1)).unwrap().is_none(),
        "its owner lives"
    );
    child.kill().unwrap();
    child.wait().unwrap();
    // Its lease has most of a minute left.
    assert!(matches!(
        cache.try_lease(&key(1)).unwrap(),
        Some(Leased::Granted(_))
    ));
}

#[test]
#[ignore = "runs as a child of `the_lease_of_a_killed_process_is_free_at_once`"]
fn child_that_leases_and_sleeps() {
    let Some(path) = child_cache() else { return };
    let cache = Cache::open(&path).unwrap();
    let leased = cache.try_lease(&key(1)).unwrap();
    report(
        "leased",
        u64::from(matches!(leased, Some(Leased::Granted(_)))),
    );
    std::thread::sleep(Duration::from_secs(60));
}

#[test]
fn who_waits_for_a_lease_gets_the_reply_when_it_comes() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("cache.sqlite");
    let (one, two) = (Cache::open(&path).unwrap(), Cache::open(&path).unwrap());
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap();
    runtime.block_on(async {
        let Some(Leased::Granted(lease)) = one.try_lease(&key(7)).unwrap() else {
            panic!("not granted")
        };
        let key = key(7);
        let mut waiting = Box::pin(two.lease(&key));
        assert!(
            tokio::time::timeout(Duration::from_millis(50), &mut waiting)
                .await
                .is_err()
        );
        one.put(&entry(7), Some(lease)).unwrap();
        let Leased::Cached(reply) = waiting.await.unwrap() else {
            panic!("no reply")
        };
        assert_eq!(reply.content, content(7));
    });
}

#[test]
fn handles_and_threads_on_one_file_all_see_everything() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("new/cache.sqlite");
    // All make the file at once.
    std::thread::scope(|scope| {
        for thread in 0..6_u64 {
            let path = &path;
            scope.spawn(move || {
                let cache = Cache::open(path).unwrap();
                let numbers = thread * 100..(thread + 1) * 100;
                numbers
                    .clone()
                    .for_each(|number| cache.put(&entry(number), None).unwrap());
                for number in numbers {
                    assert_eq!(
                        cache.get(&key(number)).unwrap().unwrap().content,
                        content(number)
                    );
                }
            });
        }
    });
    let cache = Cache::open(&path).unwrap();
    assert!((0..600).all(|number| cache.get(&key(number)).unwrap().is_some()));
}

/// Opens what may be damaged; no panic, and whatever is given is right. True if it opened.
fn right_or_refused(path: &Path, count: u64) -> bool {
    let before = std::fs::read(path).unwrap();
    match Cache::open(path) {
        Err(Error::Cache { path: named, what }) => {
            assert_eq!(named, path);
            assert!(
                what.contains(';') || what.contains("--cache"),
                "no remedy: {what}"
            );
            assert_eq!(
                std::fs::read(path).unwrap(),
                before,
                "a refused file was changed"
            );
            false
        }
        Err(other) => panic!("{other:?}"),
        Ok(cache) => {
            for number in 0..count {
                if let Ok(Some(reply)) = cache.get(&key(number)) {
                    assert_eq!(reply.content, content(number), "wrong content of {number}");
                }
            }
            let _ = cache.stats();
            true
        }
    }
}

/// The bytes of a closed cache with 60 entries.
fn closed_cache() -> Vec<u8> {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("cache.sqlite");
    let cache = Cache::open(&path).unwrap();
    (0..60).for_each(|number| cache.put(&entry(number), None).unwrap());
    drop(cache);
    std::fs::read(&path).unwrap()
}

#[test]
fn a_file_cut_anywhere_is_an_error_or_a_valid_cache() {
    let whole = closed_cache();
    let dir = tempfile::tempdir().unwrap();
    let mut opened = Vec::new();
    let lengths = [
        0, 1, 15, 16, 50, 99, 100, 511, 512, 4095, 4096, 4097, 8192, 20_000,
    ]
    .into_iter()
    .chain((0..20).map(|step| whole.len() * step / 20 / 4096 * 4096))
    .chain([whole.len() - 1, whole.len()]);
    for length in lengths {
        let path = dir.path().join(format!("cut-{length}"));
        std::fs::write(&path, &whole[..length]).unwrap();
        if right_or_refused(&path, 60) {
            opened.push(length);
        }
    }
    // An empty file is a new cache, the whole file is the old one. The header's page count betrays every cut but one
    // inside the last page, where the rows' digests stand guard.
    opened.sort_unstable();
    opened.dedup();
    assert_eq!(opened, [0, whole.len() - 1, whole.len()]);
}

#[test]
fn bytes_changed_anywhere_never_give_a_wrong_reply() {
    let whole = closed_cache();
    let dir = tempfile::tempdir().unwrap();
    for step in 0..60 {
        let mut bytes = whole.clone();
        // 7919 and 104729 are primes: the places spread over all pages and all parts of a page.
        let at = (step * 104_729 + step * step * 7_919) % bytes.len();
        let end = (at + 40).min(bytes.len());
        bytes[at..end].iter_mut().for_each(|byte| *byte ^= 0x5a);
        let path = dir.path().join(format!("changed-{step}"));
        std::fs::write(&path, &bytes).unwrap();
        right_or_refused(&path, 60);
    }
}

#[test]
fn a_log_cut_anywhere_loses_only_what_was_in_it() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("cache.sqlite");
    drop(Cache::open(&path).unwrap());
    let cache = Cache::open(&path).unwrap();
    for number in 0..30 {
        cache.put(&entry(number), None).unwrap();
    }
    let main = std::fs::read(&path).unwrap();
    let log = std::fs::read(dir.path().join("cache.sqlite-wal")).unwrap();
    drop(cache);
    for step in 0..=20 {
        let copy = dir.path().join(format!("copy-{step}"));
        std::fs::write(&copy, &main).unwrap();
        std::fs::write(
            dir.path().join(format!("copy-{step}-wal")),
            &log[..log.len() * step / 20],
        )
        .unwrap();
        assert!(right_or_refused(&copy, 30), "{step}");
    }
    // The uncut log gives everything back.
    assert_eq!(
        Cache::open(&dir.path().join("copy-20"))
            .unwrap()
            .stats()
            .unwrap()
            .entries,
        30
    );
}

#[test]
fn files_of_something_else_are_refused_and_left_as_they_are() {
    let dir = tempfile::tempdir().unwrap();
    let text = dir.path().join("notes.txt");
    std::fs::write(&text, "my notes\n".repeat(1000)).unwrap();
    let short = dir.path().join("short");
    std::fs::write(&short, "x").unwrap();
    for (name, wal) in [("plain.db", false), ("wal.db", true)] {
        let connection = rusqlite::Connection::open(dir.path().join(name)).unwrap();
        if wal {
            let _: String = connection
                .query_row("PRAGMA journal_mode = WAL", [], |row| row.get(0))
                .unwrap();
        }
        connection
            .execute_batch("CREATE TABLE recipes (name TEXT); INSERT INTO recipes VALUES ('soup')")
            .unwrap();
    }
    // The header of a cache does not make a cache: other tables, other columns, a trigger on our tables, and one whose
    // log is not empty.
    let made = [
        ("tables.db", ""),
        ("columns.db", ""),
        ("trigger.db", ""),
        ("log.db", ""),
    ]
    .map(|(name, _)| name);
    let open: Vec<rusqlite::Connection> = made
        .into_iter()
        .map(|name| {
            let path = dir.path().join(name);
            drop(Cache::open(&path).unwrap());
            let connection = rusqlite::Connection::open(&path).unwrap();
            let change = match name {
                "columns.db" => "ALTER TABLE replies ADD COLUMN mine TEXT; PRAGMA wal_checkpoint(TRUNCATE)",
                "trigger.db" => {
                    "CREATE TRIGGER t AFTER INSERT ON replies BEGIN DELETE FROM leases; END; \
                     PRAGMA wal_checkpoint(TRUNCATE)"
                }
                "tables.db" => "DROP TABLE replies; CREATE TABLE recipes (name TEXT); PRAGMA wal_checkpoint(TRUNCATE)",
                _ => "DROP TABLE replies; PRAGMA wal_checkpoint(TRUNCATE); CREATE TABLE recipes (name TEXT)",
            };
            connection.execute_batch(change).unwrap();
            connection
        })
        .collect();
    let listing = || -> BTreeSet<(PathBuf, Vec<u8>)> {
        let files = std::fs::read_dir(dir.path())
            .unwrap()
            .map(|file| file.unwrap().path());
        files
            .map(|path| (path.clone(), std::fs::read(&path).unwrap()))
            .collect()
    };
    let before = listing();
    for name in ["notes.txt", "short", "plain.db", "wal.db"]
        .into_iter()
        .chain(made)
    {
        let error = Cache::open(&dir.path().join(name)).unwrap_err().to_string();
        assert!(error.contains(name) && error.contains("--cache"), "{error}");
    }
    assert!(
        Cache::open(dir.path())
            .unwrap_err()
            .to_string()
            .contains("is a directory")
    );
    assert!(
        Cache::open(&dir.path().join("log.db"))
            .unwrap_err()
            .to_string()
            .contains("does not have the tables")
    );
    assert_eq!(listing(), before);
    drop(open);
}

#[test]
fn a_path_with_odd_characters_is_just_a_path() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a b?c#d%41&mode=ro/käse.sqlite");
    Cache::open(&path).unwrap().put(&entry(5), None).unwrap();
    assert_eq!(
        Cache::open(&path)
            .unwrap()
            .get(&key(5))
            .unwrap()
            .unwrap()
            .content,
        content(5)
    );
    assert!(path.exists());
}
