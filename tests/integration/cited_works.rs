//! `citations --works` and the scorer `works`: from answers and libraries to the table, the record and the comparison.

use std::path::Path;

use serde_json::{Value, json};

use crate::html_report::browse;
use crate::support::workspace::{Finished, Workspace};

fn example(name: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/works");
    root.join(name).display().to_string()
}

fn cite(work: &Workspace, more: &[&str]) -> Finished {
    let answers = example("answers");
    let works = example("works.jsonl");
    let all = ["citations", answers.as_str(), "--works", works.as_str()];
    work.run(&[&all[..], more].concat())
}

fn metric(work: &Workspace, dir: &str, system: usize, name: &str) -> Value {
    let summary = work.json(&format!("{dir}/summary.json"));
    summary["scorers"][0]["rows"][system]["metrics"][name]["estimate"].clone()
}

#[test]
fn the_result_comes_first_then_the_systems_then_what_needs_a_look() {
    let work = Workspace::with_cases(&[]);
    let retractions = example("retractions.csv");
    let done = cite(&work, &["--retractions", &retractions, "--out", "out"]).exits_with(0);
    let text = &done.stdout;
    assert!(
        text.starts_with(
            "4 of 6 references were found; 1 differs; 1 is retracted (unknown for 2).\n"
        ),
        "{text}"
    );
    let order = [
        "system  refs  found  differ  not found  retracted",
        "Retracted (1)\n  gull, case 2: [1]\n",
        "notice     retracted 2017-09-12, doi:10.5555/ice.2017.5 (retraction_watch)",
        "Differ from the record (1)\n  gull, case 1: [2]\n",
        "year       cited 2012, recorded 2019",
        "Not found in these files (1)\n  heron, case 1: 2.\n",
        "a work that they do not hold may exist",
        "cannot be estimated",
    ];
    let mut rest = text.as_str();
    for part in order {
        let at = rest
            .find(part)
            .unwrap_or_else(|| panic!("{part} in {text}"));
        rest = &rest[at..];
    }
    for word in ["fake", "fabricated", "hallucinated", "invented"] {
        assert!(!text.to_lowercase().contains(word), "{word} in {text}");
    }

    let lines = work.lines("out/works.jsonl");
    let states: Vec<&str> = lines
        .iter()
        .map(|line| line["state"].as_str().unwrap())
        .collect();
    assert_eq!(
        states,
        [
            "exists",
            "differs",
            "exists",
            "exists",
            "not_in_index",
            "unchecked"
        ]
    );
    assert_eq!(lines[1]["fields"][0]["field"], "year");
    assert_eq!(lines[0]["record"]["id"], "W1");
    let notice = &lines[2]["retraction"]["notice"];
    assert_eq!(notice["status"], "retracted");
    assert_eq!(notice["earlier"][0]["status"], "concern");
    assert_eq!(lines[5]["reason"], "kind");
}

#[test]
fn without_retractions_nothing_is_clean_and_with_coverage_there_is_an_estimate() {
    let work = Workspace::with_cases(&[]);
    std::fs::create_dir(work.path("library")).unwrap();
    let library =
        "@article{a, title = {Why the sky is blue at noon and red at dusk}, year = 2017}\n";
    work.write("works.bib", library);
    let other =
        "@article{b, title = {Eleven reasons for the blue of distant mountains}, year = 2020}\n";
    work.write("mine.bib", &format!("{library}{other}"));
    let done = work
        .run(&[
            "citations",
            "mine.bib",
            "--works",
            "works.bib",
            "--coverage",
            "9/10",
        ])
        .exits_with(0);
    assert!(
        done.stdout.starts_with(
            "1 of 2 references was found; 0 differ; whether any is retracted is unknown.\n"
        ),
        "{}",
        done.stdout
    );
    assert!(
        done.stdout.contains("add --retractions FILE"),
        "{}",
        done.stdout
    );
    assert!(
        !done.stdout.contains("cannot be estimated"),
        "{}",
        done.stdout
    );
    let shown = work
        .run(&[
            "citations",
            "mine.bib",
            "--works",
            "works.bib",
            "--coverage",
            "9/10",
            "--format",
            "json",
        ])
        .exits_with(0);
    let shown: Value = serde_json::from_str(&shown.stdout).unwrap();
    let system = &shown["systems"][0];
    let names = ["nonexistent", "nonexistent_low", "nonexistent_high"];
    let [estimate, low, high] = names.map(|name| system[name].as_f64().unwrap());
    // 1 - 0.5 / 0.9
    assert!((estimate - 4.0 / 9.0).abs() < 1e-12);
    assert!(low <= estimate && estimate <= high);
    let table = work
        .run(&[
            "citations",
            "mine.bib",
            "--works",
            "works.bib",
            "--coverage",
            "9/10",
            "--format",
            "csv",
        ])
        .exits_with(0);
    let header = table.stdout.lines().next().unwrap_or_default();
    assert!(header.contains(&names.join(",")), "{header}");
    assert_eq!(shown["works"][1]["state"], "not_in_index");
    assert_eq!(shown["works"][0]["reference"]["place"], "mine.bib:1");
}

#[test]
fn the_scorer_is_recorded_resumed_rescored_and_compared() {
    let work = Workspace::with_cases(&[]);
    let answers = example("answers");
    let works = example("works.jsonl");
    let score = [
        "score",
        &answers,
        "--scorers",
        "works",
        "--works",
        &works,
        "--out",
        "out",
    ];
    let done = work.run(&score).exits_with(0);
    assert!(
        done.stdout
            .contains("4 of 6 references were found; 1 differs; 1 is retracted"),
        "{}",
        done.stdout
    );
    assert_eq!(metric(&work, "out", 0, "found"), json!(1.0));
    assert_eq!(metric(&work, "out", 0, "differing"), json!(0.25));
    // heron: 1 of 2 decided in one answer, none in the other; 1 of 3 is open.
    assert_eq!(metric(&work, "out", 1, "found"), json!(0.5));
    assert_eq!(metric(&work, "out", 1, "found_at_least"), json!(1.0 / 3.0));
    assert_eq!(metric(&work, "out", 1, "found_at_most"), json!(2.0 / 3.0));
    assert_eq!(metric(&work, "out", 1, "references"), json!(1.5));

    let before = work.read("out/scores.jsonl");
    work.run(&score).exits_with(0);
    assert_eq!(work.read("out/scores.jsonl"), before);
    // The files of works are not needed again.
    work.run(&["rescore", "out", "--out", "again"])
        .exits_with(0);
    assert_eq!(work.read("again/scores.jsonl"), before);
    let compared = work
        .run(&["compare", "out", "--format", "json"])
        .exits_with(0);
    let compared: Value = serde_json::from_str(&compared.stdout).unwrap();
    assert_eq!(compared["metrics"][0]["metric"]["name"], "found");

    // Other files of works are another run.
    work.write(
        "works.bib",
        "@article{a, title = {Something else entirely here}}",
    );
    work.run(&[
        "score",
        &answers,
        "--scorers",
        "works",
        "--works",
        "works.bib",
        "--out",
        "out",
    ])
    .exits_with(3)
    .says(&["works"]);
    // Also with as many records.
    let other = std::fs::read_to_string(&works).unwrap();
    work.write("works.jsonl", &other.replace("10.5555", "10.5556"));
    let again: Vec<&str> = score
        .iter()
        .map(|word| if *word == works { "works.jsonl" } else { *word })
        .collect();
    work.run(&again)
        .exits_with(3)
        .says(&["different works.files"]);
    assert_eq!(work.read("out/scores.jsonl"), before);
    work.write("works.jsonl", &other);
    work.run(&again).exits_with(0);
    // An earlier version did not record what the files held.
    let mut manifest = work.json("out/manifest.json");
    manifest["settings"]["works"]
        .as_object_mut()
        .unwrap()
        .remove("files");
    work.write("out/manifest.json", &manifest.to_string());
    work.run(&score).exits_with(0);
    assert_eq!(work.read("out/scores.jsonl"), before);
}

#[test]
fn what_cannot_be_used_is_named_with_what_to_do() {
    let work = Workspace::with_cases(&[]);
    work.write(
        "mine.bib",
        "@article{a, title = {T}}\n@article{b, title = {Open}\n\n@article{c, title = {U}}\n",
    );
    work.write("bad.csv", "Title,RetractionDOI\n");
    let works = example("works.jsonl");
    work.run(&["citations", "mine.bib"]).exits_with(2).says(&[
        "nothing to check a library by",
        "--works",
        "--retractions",
    ]);
    work.run(&["citations", "mine.bib", "--works", &works])
        .exits_with(0)
        .says(&["warning: mine.bib:2: the entry is not closed"]);
    work.run(&["citations", "mine.bib", "--retractions", "bad.csv"])
        .exits_with(3)
        .says(&["bad.csv:1: no column RetractionDate"]);
    work.run(&[
        "citations",
        "mine.bib",
        &example("answers"),
        "--works",
        &works,
    ])
    .exits_with(2)
    .says(&["libraries and answers are checked apart"]);
    work.run(&[
        "score",
        &example("answers"),
        "--scorers",
        "overlap",
        "--works",
        &works,
    ])
    .exits_with(2)
    .says(&["--works and --retractions are for the scorer works"]);
    work.run(&["citations", &example("answers"), "--coverage", "9/10"])
        .exits_with(2)
        .says(&["--coverage is about files of works"]);
}

#[test]
fn titles_that_are_commands_of_a_terminal_stay_text() {
    let work = Workspace::with_cases(&[]);
    work.write(
        "mine.bib",
        "@article{\u{1b}[2Jk, title = {A title \u{1b}]0;owned\u{7} of five words}}\n",
    );
    let works = example("works.jsonl");
    let done = work
        .run(&["citations", "mine.bib", "--works", &works])
        .exits_with(0);
    assert!(!done.stdout.contains('\u{1b}'), "{:?}", done.stdout);
}

#[test]
fn the_page_has_the_result_first_and_each_reference_with_its_record() {
    let work = Workspace::with_cases(&[]);
    let hostile = "<img src=x onerror=alert(1)></script><script>window.pwned = 1</script>";
    let text = format!(
        "Blue [1, 2].\n\nReferences\n\n[1] Chen, W. (2012). Scattering of short wavelengths: measurements over ten years.\n\
         [2] {hostile} (2020). Nobody has this."
    );
    let lee = "Red.\n\nReferences\n[1] Lee (2017). Why the sky is blue at noon and red at dusk.";
    let nobody =
        "Red.\n\nReferences\n[1] Nobody (2017). Eleven reasons for the blue of distant mountains.";
    work.answers(
        "sky",
        [("c1", text), ("c2", lee.to_owned()), ("c3", lee.to_owned())],
    );
    work.answers(
        "sea",
        [
            ("c1", lee.to_owned()),
            ("c2", nobody.to_owned()),
            ("c3", lee.to_owned()),
        ],
    );
    let works = example("works.jsonl");
    work.run(&[
        "score",
        "answers",
        "--scorers",
        "works",
        "--works",
        &works,
        "--out",
        "out",
    ])
    .exits_with(0);
    work.run(&["report", "out"]).exits_with(0);
    let html = work.read("report.html");
    assert!(
        html.contains(
            "<p class=\"verdict\">5 of 7 references were found; 1 differs; 0 are retracted"
        ),
        "no sentence"
    );
    assert!(!html.contains("<img") && !html.contains("<script>window.pwned"));
    browse(work.path("report.html"), &["works"]);
}
