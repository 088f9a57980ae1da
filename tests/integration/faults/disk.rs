//! A disk that fills: a small tmpfs, which only root may mount. (A limit on the size of files stands for it in
//! `resume.rs`, where everybody can run it.)

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use rusqlite::Connection;

use super::{Calm, FakeServer, Finished, Ledger, SYSTEMS, Workspace, every_call_is_accounted_for};

const CASES: usize = 24;
const PLACES: &str = "4";
const IN_FLIGHT: usize = 4;

/// A file system of its own; gone when dropped.
struct SmallDisk {
    place: PathBuf,
}

impl SmallDisk {
    /// Mounts `size` at `place`, or tells why that cannot be.
    fn mount(place: PathBuf, size: &str) -> Result<Self, String> {
        std::fs::create_dir(&place).unwrap();
        mount(
            &["-t", "tmpfs", "-o", &format!("size={size}"), "tmpfs"],
            &place,
        )?;
        Ok(Self { place })
    }

    #[track_caller]
    fn grow(&self, size: &str) {
        mount(&["-o", &format!("remount,size={size}")], &self.place).unwrap();
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount")
            .args(["-l".as_ref(), self.place.as_os_str()])
            .status();
    }
}

fn mount(options: &[&str], place: &Path) -> Result<(), String> {
    let done = Command::new("mount")
        .args(options)
        .arg(place)
        .output()
        .map_err(|error| format!("no mount: {error}"))?;
    if done.status.success() {
        Ok(())
    } else {
        Err(String::from_utf8_lossy(&done.stderr).trim().to_owned())
    }
}

/// A run whose place `arguments` lie on a disk of `size`: it stops, says what to do, and goes on when there is room.
#[track_caller]
fn stops_and_goes_on(size: &str, arguments: &[&str], words: &[&str]) {
    let (work, ledger) = (Workspace::new(&SYSTEMS, CASES), Ledger::default());
    let disk = match SmallDisk::mount(work.path("disk"), size) {
        Ok(disk) => disk,
        Err(reason) => return eprintln!("skipped: no tmpfs can be mounted ({reason})"),
    };
    let calm = Calm::run(CASES);
    let more = [&["--concurrency", PLACES], arguments].concat();
    let server = FakeServer::start(ledger.judge(|_| None).latency(Duration::from_millis(2)));
    let stopped = work.score(&server, &more).exits_with(3).says(words);
    assert_eq!(stopped.stdout, "", "no table of half a run");
    let sent = server.chat_count();
    assert!(
        (1..calm.calls).contains(&sent),
        "{sent} of {} calls before it was full",
        calm.calls
    );
    cache_is_whole(&work, arguments);
    // nothing was done about it: the same again, and what it paid for meanwhile is kept where there is room
    work.score(&server, &more).exits_with(3).says(words);
    assert!(
        ledger.paid_again() <= 2 * IN_FLIGHT,
        "{} replies were sent twice",
        ledger.paid_again()
    );
    cache_is_whole(&work, arguments);
    disk.grow("64m");
    let done: Finished = work.score(&server, &more).exits_with(0);
    assert_eq!(done.stdout, calm.stdout);
    let out = if arguments.contains(&"--out") {
        "disk/out"
    } else {
        "out"
    };
    assert_eq!(work.read(&format!("{out}/scores.jsonl")), calm.scores);
    let again = ledger.paid_again();
    assert!(again <= 3 * IN_FLIGHT, "{again} replies were sent twice");
    if out == "out" {
        every_call_is_accounted_for(&work);
    }
}

/// SQLite finds no fault in the cache, if there is one, and the program can read it.
#[track_caller]
fn cache_is_whole(work: &Workspace, arguments: &[&str]) {
    let Some(at) = arguments.iter().position(|argument| *argument == "--cache") else {
        return;
    };
    let path = work.path(arguments[at + 1]);
    let check: String = Connection::open(&path)
        .unwrap()
        .query_row("PRAGMA integrity_check", [], |row| row.get(0))
        .unwrap();
    assert_eq!(check, "ok");
    work.run(&["cache", "stats", "--cache", arguments[at + 1]])
        .exits_with(0);
}

#[test]
#[cfg(target_os = "linux")]
fn a_full_disk_under_the_cache() {
    let words = [
        "cache disk/c.sqlite: cannot",
        "free some space and run the same command again",
    ];
    stops_and_goes_on("700k", &["--cache", "disk/c.sqlite"], &words);
}

#[test]
#[cfg(target_os = "linux")]
fn a_full_disk_under_the_record() {
    let words = [
        "disk/out/",
        "No space left on device",
        "free some space and run the same command again",
    ];
    stops_and_goes_on("60k", &["--cache", "c.sqlite", "--out", "disk/out"], &words);
}

#[test]
#[cfg(target_os = "linux")]
fn a_full_disk_under_the_record_of_a_run_without_a_cache() {
    let words = [
        "disk/out/",
        "No space left on device",
        "free some space and run the same command again",
    ];
    stops_and_goes_on("60k", &["--no-cache", "--out", "disk/out"], &words);
}
