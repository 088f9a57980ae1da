//! A cache that was cut anywhere, and a whole run on what is left of it: an error or the right scores.

use crate::support::fake_server::Gate;
use crate::support::workspace::wait_until;

use super::{Behaviour, CALM, CASES, FakeServer, SYSTEMS, Workspace};

/// Runs on `cut.sqlite` (and its log, if it has one), which were just written; true if the run took it.
#[track_caller]
fn right_or_refused(work: &Workspace, server: &FakeServer, what: &str) -> bool {
    let before = std::fs::read(work.path("cut.sqlite")).unwrap();
    let sent = server.chat_count();
    let _ = std::fs::remove_dir_all(work.path("cut"));
    let done = work.score(server, &["--cache", "cut.sqlite", "--out", "cut"]);
    if done.code == Some(0) {
        assert_eq!(
            work.read("cut/scores.jsonl"),
            CALM.scores,
            "{what}: wrong scores"
        );
        assert_eq!(done.stdout, CALM.stdout, "{what}");
        return true;
    }
    let done = done.exits_with(3).says(&["cache cut.sqlite: ", "--cache"]);
    assert_eq!(done.stdout, "", "{what}");
    assert_eq!(server.chat_count(), sent, "{what}: paid on a broken cache");
    if done.stderr.contains("it was not changed") {
        assert!(
            std::fs::read(work.path("cut.sqlite")).unwrap() == before,
            "{what}: a refused file was changed"
        );
    }
    if done.stderr.contains("cache merge") {
        copies_what_is_whole(work, server, what);
    }
    false
}

/// Does what the error says. A file whose tables cannot be found has nothing to copy.
#[track_caller]
fn copies_what_is_whole(work: &Workspace, server: &FakeServer, what: &str) {
    let merged = work.run(&["cache", "merge", "cut.sqlite", "--into", "new.sqlite"]);
    assert!(
        matches!(merged.code, Some(0 | 3)),
        "{what}: {:?} {}",
        merged.code,
        merged.stderr
    );
    let _ = std::fs::remove_dir_all(work.path("cut"));
    work.score(server, &["--cache", "new.sqlite", "--out", "cut"])
        .exits_with(0);
    assert_eq!(
        work.read("cut/scores.jsonl"),
        CALM.scores,
        "{what}: wrong scores after the merge"
    );
    for file in ["new.sqlite", "new.sqlite-wal", "new.sqlite-shm"] {
        let _ = std::fs::remove_file(work.path(file));
    }
}

#[test]
fn a_cache_that_is_cut_at_any_byte_is_refused_or_gives_the_right_scores() {
    let work = Workspace::new(&SYSTEMS, CASES);
    let server = FakeServer::start(Behaviour::good());
    work.score(&server, &["--cache", "whole.sqlite"])
        .exits_with(0);
    let whole = std::fs::read(work.path("whole.sqlite")).unwrap();
    let mut taken = Vec::new();
    // 60 places: 7919 is a prime, so they lie at all parts of a page; and both ends
    let places =
        (0..57).map(|step| (step * whole.len() / 57 + step * 7919 % 4096).min(whole.len()));
    for length in places.chain([1, whole.len() - 1, whole.len()]) {
        std::fs::write(work.path("cut.sqlite"), &whole[..length]).unwrap();
        if right_or_refused(
            &work,
            &server,
            &format!("cut at byte {length} of {}", whole.len()),
        ) {
            taken.push(length);
        }
        for log in ["cut.sqlite-wal", "cut.sqlite-shm"] {
            let _ = std::fs::remove_file(work.path(log));
        }
    }
    assert!(taken.contains(&whole.len()), "the whole file is a cache");
}

#[test]
fn a_log_that_is_cut_at_any_byte_loses_replies_and_never_turns_them_into_others() {
    let work = Workspace::new(&SYSTEMS, CASES);
    let most = CALM.calls * 3 / 4;
    let server = FakeServer::start(Behaviour::good().behind(&Gate::after(most)));
    let mut run = work.spawn_score(&server, &["--cache", "killed.sqlite", "--concurrency", "4"]);
    wait_until("most is paid", || server.chat_count() > most);
    run.kill().unwrap();
    run.wait().unwrap();
    let (file, log) = ["killed.sqlite", "killed.sqlite-wal"]
        .map(|name| std::fs::read(work.path(name)).unwrap())
        .into();
    assert!(log.len() > 4096, "the kill left no log");
    let server = server.replaced_by(Behaviour::good());
    for step in 0..=15 {
        let length = (step * log.len() / 15).saturating_sub(step * 7919 % 4096);
        std::fs::write(work.path("cut.sqlite"), &file).unwrap();
        std::fs::write(work.path("cut.sqlite-wal"), &log[..length]).unwrap();
        let what = format!("log cut at byte {length} of {}", log.len());
        assert!(
            right_or_refused(&work, &server, &what),
            "{what}: refused, though the file is whole"
        );
    }
}
