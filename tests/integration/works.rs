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

#[test]
fn coverage_counts_the_works_of_kinds_that_the_files_cover() {
    let work = work();
    let library = example("library.bib");
    let works = example("works.jsonl");
    let expected = "\
4/5 works of the library are found: 80.0% [22.5, 98.0]
          3  exists
          1  differs
          1  not_in_index
For the commands that count cited works: --coverage 4/5
";
    let done = work
        .run(&["sources", "coverage", &library, "--works", &works])
        .exits_with(0);
    assert_eq!(done.stdout, expected);
    work.run(&["sources", "index", &works]).exits_with(0);
    let done = work
        .run(&["sources", "coverage", &library, "--works", "works.sqlite"])
        .exits_with(0);
    assert_eq!(done.stdout, expected);
    // arXiv does not have articles: finding some of them says nothing about the others.
    let paper = r#"{"id": "1501.00001", "title": "Diet of whales and the thickness of ice", "authors_parsed": [["Ivanova", "Olga", ""]],
        "versions": [{"created": "Mon, 5 Jan 2015 10:00:00 GMT"}]}"#;
    work.write("arxiv.json", &paper.replace('\n', ""));
    work.run(&["sources", "coverage", &library, "--works", "arxiv.json"])
        .exits_with(3)
        .says(&["no work of the library can be looked up in these files"]);
    // A library is a file of works, too.
    let done = work
        .run(&["sources", "coverage", &library, "--works", &library])
        .exits_with(0);
    assert!(done.stdout.starts_with("5/5 works"), "{}", done.stdout);
}
