//! `demo`: sample data, run and page in a directory; no file of the user is replaced.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use crate::support::workspace::{Finished, Workspace};

/// All files below a directory, by their paths in it.
fn files(dir: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(dir).unwrap().map(|entry| entry.unwrap()) {
        let name = entry.file_name().into_string().unwrap();
        if entry.path().is_dir() {
            found.extend(
                files(&entry.path())
                    .into_iter()
                    .map(|(own, bytes)| (format!("{name}/{own}"), bytes)),
            )
        } else {
            drop(found.insert(name, fs::read(entry.path()).unwrap()))
        }
    }
    found
}

#[test]
fn the_demo_is_the_sample_data_scored_by_the_baseline_whatever_the_environment_says() {
    let work = Workspace::new(&[], 0);
    // A model that the environment names is not asked.
    let env = [
        ("SCHOLAREVAL_MODEL", "gpt-4o"),
        ("SCHOLAREVAL_BASE_URL", "http://127.0.0.1:9"),
    ];
    let done = Finished::of(
        work.command(&["demo", "new one"])
            .envs(env)
            .output()
            .unwrap(),
    )
    .exits_with(0);
    let done = done.says(&[
        "scholareval score 'new one/data/answers' --tests 'new one/data/test_cases.json' --model",
    ]);
    assert!(
        done.stdout.contains("careful  77.6 [68.7, 83.6]"),
        "{}",
        done.stdout
    );
    assert!(
        done.stdout
            .contains("wrote new one/report.html: 3 systems, 8 cases"),
        "{}",
        done.stdout
    );
    // The page is there.
    let all = &done.stderr;
    assert!(
        all.contains("next: scholareval compare") && !all.contains("scholareval report"),
        "{all}"
    );
    let mut data = files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("data"));
    // The directory is a package, too.
    for name in [
        "Cargo.toml",
        "LICENSE-APACHE",
        "LICENSE-MIT",
        "NOTICE",
        "build.rs",
        "lib.rs",
    ] {
        data.remove(name).unwrap();
    }
    assert!(
        data.len() > 10 && files(&work.path("new one/data")) == data,
        "{:?}",
        data.keys()
    );
    assert_eq!(
        work.json("new one/runs/demo/manifest.json")["status"],
        "complete"
    );
    let again = work.run(&["demo", "new one", "-q"]).exits_with(0);
    assert_eq!((again.stdout, again.stderr.as_str()), (done.stdout, ""));
}

#[test]
fn a_file_of_the_user_is_kept_and_named() {
    let work = Workspace::new(&[], 0);
    work.run(&["demo", "-q"]).exits_with(0);
    for (name, hint) in [
        ("data/golds.jsonl", "name another directory"),
        ("report.html", "exists and is not a report"),
    ] {
        let path = format!("scholareval-demo/{name}");
        let before = fs::read(work.path(&path)).unwrap();
        let _ = fs::remove_dir_all(work.path("scholareval-demo/data/answers"));
        work.write(&path, "mine");
        work.run(&["demo"]).exits_with(3).says(&[&path, hint]);
        assert_eq!(fs::read_to_string(work.path(&path)).unwrap(), "mine");
        // A refusal of the data comes before anything is written.
        assert_eq!(
            work.path("scholareval-demo/data/answers").exists(),
            name == "report.html"
        );
        fs::write(work.path(&path), before).unwrap();
    }
}
