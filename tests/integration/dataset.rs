//! Reading and pairing real and made files.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use scholareval::dataset::{PairOptions, Pairing, TestCases, load_answers, load_test_cases, pair};
use scholareval::domain::{Mode, RubricParts};
use scholareval::scorer::rubric::RubricScorer;

use super::rubric_golden::shared;

fn tests_of(shared: &Path) -> TestCases {
    load_test_cases(
        &shared.join("data/scholarqa_cs/test_configs_snippets.json"),
        Mode::Default,
    )
    .unwrap()
}

fn paired(shared: &Path, options: &PairOptions) -> Pairing {
    let systems = load_answers(
        &[shared.join("data/scholarqa_cs/src_answers")],
        Mode::Default,
    )
    .unwrap();
    pair(&tests_of(shared), &systems, options).unwrap()
}

/// Calls at most, by system.
fn at_most(pairing: &Pairing) -> BTreeMap<String, usize> {
    let scorer = RubricScorer::new(RubricParts::BOTH, Mode::Default);
    let mut calls = BTreeMap::new();
    for item in &pairing.items {
        *calls.entry(item.answer.system.to_string()).or_default() +=
            scorer.all_calls(&item.case, &item.answer).len();
    }
    calls
}

#[test]
fn the_released_test_cases_are_read_whole_and_without_a_warning() {
    let Some(shared) = shared() else { return };
    let tests = tests_of(&shared);
    assert_eq!((tests.cases.len(), tests.warnings.len()), (110, 0));
    assert_eq!(
        tests
            .cases
            .iter()
            .map(|case| case.rubric.criteria.len())
            .sum::<usize>(),
        484
    );
    // 10 questions have two annotations each, all 20 marked.
    assert_eq!(tests.cases.iter().filter(|case| case.agreement).count(), 20);
}

#[test]
fn the_released_answers_pair_to_100_cases_a_system_and_110_with_agreement() {
    let Some(shared) = shared() else { return };
    for (agreement, cases, criteria, calls) in [
        // 2 calls a case and 2 a criterion: 200 + 2 * 446 = 1092.
        (false, 100, 446, 1092),
        // 220 + 2 * 484 = 1188.
        (true, 110, 484, 1188),
    ] {
        let options = PairOptions {
            agreement,
            ..PairOptions::default()
        };
        let pairing = paired(&shared, &options);
        assert_eq!(pairing.kept_cases.len(), cases);
        assert_eq!(
            (
                pairing.items.len(),
                pairing.missing.len(),
                pairing.warnings.len()
            ),
            (4 * cases, 0, 0)
        );
        let kept: usize = pairing.items[..cases]
            .iter()
            .map(|item| item.case.rubric.criteria.len())
            .sum();
        assert_eq!(kept, criteria);
        let systems: Vec<String> = at_most(&pairing).into_keys().collect();
        assert_eq!(systems, ["claude", "gpt", "nora", "perplexity"]);
        assert!(
            at_most(&pairing).values().all(|count| *count == calls),
            "{:?}",
            at_most(&pairing)
        );
        // Each half alone: one call a criterion fewer.
        for parts in [
            RubricParts {
                rubrics: true,
                snippets: false,
            },
            RubricParts {
                rubrics: false,
                snippets: true,
            },
        ] {
            let scorer = RubricScorer::new(parts, Mode::Default);
            let of_half = pairing.items[..cases]
                .iter()
                .map(|item| scorer.all_calls(&item.case, &item.answer).len());
            assert_eq!(of_half.sum::<usize>(), calls - criteria);
        }
    }
}

#[test]
fn compat_pairs_the_released_answers_as_default_does() {
    let Some(shared) = shared() else { return };
    // Every system answered every case, so that the first annotation is also the first answered.
    let options = PairOptions {
        compat: true,
        ..PairOptions::default()
    };
    let compat = paired(&shared, &options);
    assert_eq!(compat, paired(&shared, &PairOptions::default()));
}

struct Dir(tempfile::TempDir);

impl Dir {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn file(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.0.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, bytes).unwrap();
        path
    }

    /// The message of loading these paths, without the directory's name.
    fn error(&self, paths: &[&str]) -> String {
        let paths: Vec<PathBuf> = paths.iter().map(|path| self.0.path().join(path)).collect();
        let error = load_answers(&paths, Mode::Default).unwrap_err().to_string();
        error.replace(&format!("{}/", self.0.path().display()), "")
    }
}

const LINE: &str = "{\"case_id\": \"1\", \"answer_text\": \"a\"}\n";

#[test]
fn a_directory_gives_its_jsonl_files_in_name_order_and_nothing_else() {
    let dir = Dir::new();
    for name in [
        "d/b.jsonl",
        "d/a.jsonl",
        "d/notes.txt",
        "d/.hidden.jsonl",
        "d/sub.jsonl/x.jsonl",
    ] {
        dir.file(name, LINE);
    }
    let single = dir.file("z.json", format!("\u{feff}{LINE}"));
    let systems = load_answers(
        &[single.clone(), dir.0.path().join("d"), single],
        Mode::Default,
    )
    .unwrap();
    let names: Vec<&str> = systems
        .iter()
        .map(|answers| answers.system.as_str())
        .collect();
    assert_eq!(names, ["z", "a", "b"]);
    assert_eq!(systems[0].answers.len(), 1);
}

#[test]
fn a_missing_file_an_empty_directory_and_equal_stems_are_errors_that_say_what_to_do() {
    let dir = Dir::new();
    dir.file("claude.jsonl", LINE);
    dir.file("more/claude.jsonl", LINE);
    fs::create_dir(dir.0.path().join("empty")).unwrap();
    assert_eq!(
        dir.error(&["cluade.jsonl", "empty"]),
        "cluade.jsonl: no such file or directory; did you mean claude.jsonl?\n\
         empty: no *.jsonl, *.json, *.csv file in the directory; put one file of {case_id, answer_text} per system there"
    );
    assert_eq!(
        dir.error(&["claude.jsonl", "more"]),
        "more/claude.jsonl: a second file of the system \"claude\", beside claude.jsonl; rename one of the two: a \
         system is named by its file"
    );
    assert!(load_answers(&[], Mode::Default).is_err());
}

#[test]
fn faults_of_all_files_are_told_at_once() {
    let dir = Dir::new();
    dir.file("d/a.jsonl", "{\"case_id\": \"1\"}\n");
    dir.file(
        "d/b.jsonl",
        b"\n{\"case_id\": \"1\", \"answer_text\": \"\xff\"}\n".as_slice(),
    );
    assert_eq!(
        dir.error(&["d"]),
        "d/a.jsonl: no field for answer_text: the file has case_id; looked for answer_text, answer, response, output, \
         completion, article; name it with --fields answer_text=FIELD, or leave the file out with --systems\n\
         d/b.jsonl:2: invalid UTF-8 at byte 34 of the line; save the file as UTF-8"
    );
}

#[test]
fn a_missing_or_broken_test_file_is_an_error_with_place() {
    let dir = Dir::new();
    let path = dir.file("tests.json", "[\n{\"case_id\": [1]}\n]");
    let error = load_test_cases(&path, Mode::Default)
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("tests.json:2: case_id: expected an id, found a list"),
        "{error}"
    );
    let error = load_test_cases(&dir.0.path().join("test.json"), Mode::Default)
        .unwrap_err()
        .to_string();
    assert!(
        error.ends_with("no such file or directory; did you mean tests.json?"),
        "{error}"
    );
    let path = dir.file("latin.json", b"[\n\"\xe9\"]");
    let error = load_test_cases(&path, Mode::Default)
        .unwrap_err()
        .to_string();
    assert!(error.contains("latin.json:2: invalid UTF-8"), "{error}");
}
