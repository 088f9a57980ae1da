//! `sources index` and `sources coverage` for files of works.

use std::path::Path;

use crate::support::workspace::Workspace;

fn example(name: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/works");
    root.join(name).display().to_string()
}

fn work() -> Workspace {
    Workspace::with_cases(&[])
}

#[test]
fn files_of_works_become_an_index_of_their_own() {
    let work = work();
    let works = example("works.jsonl");
    let made = work.run(&["sources", "index", &works]).exits_with(0);
    assert!(
        made.stdout
            .starts_with("works.sqlite: 4 works added, 4 in total\n"),
        "{}",
        made.stdout
    );
    assert!(made.stdout.contains("4  openalex"), "{}", made.stdout);
    let again = work.run(&["sources", "index", &works]).exits_with(0);
    assert!(
        again
            .stdout
            .starts_with("works.sqlite: 0 works added, 4 in total\n"),
        "{}",
        again.stdout
    );
    assert!(
        again.stdout.contains("1  files that were read before"),
        "{}",
        again.stdout
    );
}

#[test]
fn pages_and_works_are_not_mixed_up() {
    let work = work();
    let works = example("works.jsonl");
    work.write(
        "page.jsonl",
        r#"{"url": "https://example.org/a", "text": "A page."}"#,
    );
    let mixed = work
        .run(&["sources", "index", "page.jsonl", &works])
        .exits_with(3);
    assert!(
        mixed
            .stderr
            .contains("index pages and works with two commands"),
        "{}",
        mixed.stderr
    );
    assert!(!work.path("works.sqlite").exists() && !work.path("sources.sqlite").exists());
    work.run(&["sources", "index", "page.jsonl"]).exits_with(0);
    work.run(&["sources", "index", &works]).exits_with(0);
    let shown = work
        .run(&[
            "sources",
            "show",
            "doi:10.1000/x",
            "--sources",
            "works.sqlite",
        ])
        .exits_with(3);
    assert!(
        shown
            .stderr
            .contains("an index of works, not a store of pages"),
        "{}",
        shown.stderr
    );
    let into = work
        .run(&["sources", "index", &works, "--out", "sources.sqlite"])
        .exits_with(3);
    assert!(
        into.stderr
            .contains("not an index of works; it was not changed"),
        "{}",
        into.stderr
    );
    let into = work
        .run(&["sources", "index", "page.jsonl", "--out", "works.sqlite"])
        .exits_with(3);
    assert!(
        into.stderr
            .contains("an index of works, not a store of pages"),
        "{}",
        into.stderr
    );
}
