//! The wording of FACT (DeepResearch Bench): what an import from a checkout sends.

use std::fs;
use std::path::{Path, PathBuf};

use scholareval::domain::ReportLanguage;
use scholareval::prompt::{Family, PromptFamily, PromptSet};
use scholareval::question::{CitedStatements, DistinctStatements, STATEMENTS};

/// The made-up scripts of the fixture.
fn made_up() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/prompts/deep_research_bench")
}

#[test]
fn an_import_takes_both_languages_and_counts_as_edited() {
    let set = PromptSet::import_fact(&made_up()).unwrap();
    let messages = set.render(&CitedStatements {
        report: "a {b} {{c}}".into(),
        language: ReportLanguage::English,
    });
    assert_eq!(messages.system, None);
    let expected = "Count the nests of this report: \"each one\".\n[\n    {\n        \"fact\": \"x\"\n    }\n]\na {b} {{c}}\nOnly the list.";
    assert_eq!(messages.user, expected);
    let statements = vec!["one\ntwo".into(), "three".into()];
    let user = set
        .render(&DistinctStatements::new(
            statements,
            ReportLanguage::English,
        ))
        .user;
    assert_eq!(user, "Which nests are the same?\n1. one\ntwo\n2. three");
    let statements = vec!["one".into(), "two".into()];
    let chinese = DistinctStatements::new(statements, ReportLanguage::Chinese);
    assert_eq!(set.render(&chinese).user, "哪些鸟巢一样？\n1. one\n2. two");
    // Our own prompts have one wording for both.
    let ours = PromptSet::builtin().render(&chinese).user;
    assert!(ours.contains("1. one\n2. two"), "{ours}");
    assert!(!set.json_mode(&STATEMENTS) && set.max_tokens(&STATEMENTS).is_none());
    let pages = PromptFamily::of(&STATEMENTS);
    for family in set.families() {
        let is_imported = family.id == pages;
        assert_eq!(family.label().starts_with("custom@"), is_imported);
    }
    let dir = tempfile::tempdir().unwrap();
    let copy = dir.path().join("copy");
    set.export(&copy).unwrap();
    let labels = |set: &PromptSet| set.families().iter().map(Family::label).collect::<Vec<_>>();
    assert_eq!(labels(&PromptSet::load(&copy).unwrap()), labels(&set));
}

#[test]
fn a_missing_script_and_one_of_another_shape_are_named() {
    let dir = tempfile::tempdir().unwrap();
    let fault = || {
        let message = PromptSet::import_fact(dir.path()).unwrap_err().to_string();
        message.replace(&format!("{}", dir.path().display()), "DIR")
    };
    assert_eq!(
        fault(),
        "DIR: has no utils/extract.py; name the top directory of a checkout of deep_research_bench"
    );
    let utils = dir.path().join("utils");
    fs::create_dir(&utils).unwrap();
    for script in ["extract.py", "deduplicate.py", "validate.py"] {
        let source = fs::read_to_string(made_up().join("utils").join(script)).unwrap();
        let source = source.replace("{reference}", "{page_text}");
        fs::write(utils.join(script), source).unwrap();
    }
    let message = fault();
    assert!(
        message.starts_with("DIR/utils/validate.py:")
            && message.contains("prompt_template_en has the unknown {page_text}"),
        "{message}"
    );
}

#[test]
fn the_published_wording_counts_as_published() {
    let Some(checkout) = std::env::var_os("SCHOLAREVAL_FACT") else {
        eprintln!("skipped: SCHOLAREVAL_FACT names no checkout of deep_research_bench");
        return;
    };
    let set = PromptSet::import_fact(Path::new(&checkout)).unwrap();
    let family = set.family(&STATEMENTS).unwrap();
    assert_eq!(family.differences_from_published(), Vec::<String>::new());
    assert_eq!(family.label(), "deep_research_bench@214741e");
}
