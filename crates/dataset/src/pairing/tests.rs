//! Pairing on small inputs.

use super::*;
use scholareval_core::domain::Rubric;

fn case(id: &str, prompt: &str) -> Arc<TestCase> {
    let rubric = Rubric {
        question: prompt.into(),
        low_length: 300,
        high_length: 600,
        length_weight: 0.25,
        expertise_weight: 0.25,
        citations_weight: 0.25,
        excerpts_weight: 0.25,
        criteria: Vec::new(),
    };
    let initial_prompt = prompt.to_owned();
    Arc::new(TestCase {
        case_id: id.into(),
        initial_prompt,
        annotator: String::new(),
        agreement: false,
        rubric,
        criteria: Vec::new(),
        reference: None,
        shown: Default::default(),
        group: None,
    })
}

/// Cases 1 and 3 are two annotations of question A.
fn tests() -> TestCases {
    let cases = vec![
        case("1", "A"),
        case("2", "B"),
        case("3", "A"),
        case("4", "C"),
    ];
    TestCases {
        path: "t.json".into(),
        blake3: [0; 32].into(),
        cases,
        warnings: Vec::new(),
    }
}

fn system(name: &str, ids: &[&str]) -> SystemAnswers {
    let answer = |(i, id): (usize, &&str)| Answer {
        line: i + 1,
        ..Answer::new(name.into(), (*id).into(), "x")
    };
    let answers = ids.iter().enumerate().map(answer).collect();
    let path = format!("{name}.jsonl");
    SystemAnswers {
        answers,
        ..SystemAnswers::new(name.into(), Path::new(&path), [0; 32].into())
    }
}

fn ids(pairing: &Pairing) -> Vec<(&str, &str)> {
    pairing
        .items
        .iter()
        .map(|item| (item.answer.system.as_str(), item.case.case_id.as_str()))
        .collect()
}

fn case_ids(pairing: &Pairing) -> Vec<&str> {
    pairing.kept_cases.iter().map(CaseId::as_str).collect()
}

fn names(names: &[&str]) -> Option<Vec<String>> {
    Some(names.iter().map(|name| (*name).to_owned()).collect())
}

#[test]
fn cases_with_criteria_are_all_scored_even_with_one_question() {
    let with_criteria = |id: &str| {
        let criterion = scholareval_core::domain::CaseCriterion {
            weight: 1.0,
            name: "c1".into(),
            ..Default::default()
        };
        Arc::new(TestCase {
            criteria: vec![criterion],
            ..(*case(id, "A")).clone()
        })
    };
    let tests = TestCases {
        cases: vec![with_criteria("1"), with_criteria("2")],
        ..tests()
    };
    let pairing = pair(&tests, &[system("a", &["1", "2"])], &PairOptions::default()).unwrap();
    assert_eq!(ids(&pairing), [("a", "1"), ("a", "2")]);
}

#[test]
fn of_two_annotations_the_first_in_the_file_is_kept_for_all_systems() {
    let systems = [
        system("a", &["4", "3", "2", "1"]),
        system("b", &["3", "2", "4"]),
    ];
    let pairing = pair(&tests(), &systems, &PairOptions::default()).unwrap();
    assert_eq!(
        ids(&pairing),
        [("a", "1"), ("a", "2"), ("a", "4"), ("b", "2"), ("b", "4")]
    );
    assert_eq!(case_ids(&pairing), ["1", "2", "4"]);
    assert_eq!(pairing.missing, [("b".into(), "1".into())]);
    assert_eq!(
        pairing.warnings,
        ["b.jsonl: 1 of 3 test cases have no answer: 1"]
    );
}

#[test]
fn in_compat_each_system_keeps_the_first_annotation_it_answered() {
    let systems = [
        system("a", &["1", "2", "3", "4"]),
        system("b", &["3", "2", "4"]),
    ];
    let compat = PairOptions {
        compat: true,
        ..PairOptions::default()
    };
    let pairing = pair(&tests(), &systems, &compat).unwrap();
    assert_eq!(
        ids(&pairing),
        [
            ("a", "1"),
            ("a", "2"),
            ("a", "4"),
            ("b", "2"),
            ("b", "3"),
            ("b", "4")
        ]
    );
    assert_eq!(case_ids(&pairing), ["1", "2", "3", "4"]);
    assert!(pairing.missing.is_empty() && pairing.warnings.is_empty());
}

#[test]
fn agreement_keeps_every_annotation() {
    let agreement = PairOptions {
        agreement: true,
        ..PairOptions::default()
    };
    let pairing = pair(&tests(), &[system("a", &["1", "2", "3", "4"])], &agreement).unwrap();
    assert_eq!(case_ids(&pairing), ["1", "2", "3", "4"]);
    assert_eq!(pairing.items.len(), 4);
}

#[test]
fn an_answer_without_a_test_case_is_a_warning_with_its_line() {
    let pairing = pair(
        &tests(),
        &[system("a", &["1", "2", "4", "9"])],
        &PairOptions::default(),
    )
    .unwrap();
    assert_eq!(
        pairing.warnings,
        ["a.jsonl:4 (case 9): no test case in t.json has this case_id; the answer is not scored"]
    );
    let many: Vec<String> = (10..20).map(|i| i.to_string()).collect();
    let many: Vec<&str> = ["1", "2", "4"]
        .into_iter()
        .chain(many.iter().map(String::as_str))
        .collect();
    let pairing = pair(&tests(), &[system("a", &many)], &PairOptions::default()).unwrap();
    assert_eq!(pairing.warnings.len(), 6);
    assert_eq!(
        pairing.warnings[5],
        "a.jsonl: 5 more answers have no test case and are not scored"
    );
}

#[test]
fn strict_makes_warnings_errors() {
    let strict = PairOptions {
        strict: true,
        ..PairOptions::default()
    };
    assert!(pair(&tests(), &[system("a", &["1", "2", "4"])], &strict).is_ok());
    let error = pair(&tests(), &[system("a", &["1", "2"])], &strict).unwrap_err();
    assert_eq!(
        error.to_string(),
        "a.jsonl: 1 of 3 test cases have no answer: 4"
    );
}

#[test]
fn cases_and_limit_choose_before_and_after_annotations_are_grouped() {
    let systems = [system("a", &["1", "2", "3", "4"])];
    let options = PairOptions {
        cases: names(&["3", "4"]),
        ..PairOptions::default()
    };
    assert_eq!(
        case_ids(&pair(&tests(), &systems, &options).unwrap()),
        ["3", "4"]
    );
    let options = PairOptions {
        limit: Some(2),
        ..PairOptions::default()
    };
    assert_eq!(
        case_ids(&pair(&tests(), &systems, &options).unwrap()),
        ["1", "2"]
    );
    let options = PairOptions {
        limit: Some(0),
        ..PairOptions::default()
    };
    assert!(matches!(
        pair(&tests(), &systems, &options),
        Err(Error::Settings(_))
    ));
}

#[test]
fn an_unknown_case_is_an_error_with_suggestions() {
    let systems = [system("gpt", &["1"])];
    let options = PairOptions {
        cases: names(&["x9"]),
        ..PairOptions::default()
    };
    let error = pair(&tests(), &systems, &options).unwrap_err().to_string();
    assert_eq!(error, "unknown case \"x9\" in t.json; known: 1, 2, 3, 4");
}

#[test]
fn a_system_without_any_paired_answer_is_kept_but_none_at_all_is_an_error() {
    let systems = [system("a", &["1", "2", "4"]), system("b", &[])];
    let pairing = pair(&tests(), &systems, &PairOptions::default()).unwrap();
    assert_eq!(pairing.missing.len(), 3);
    let error = pair(&tests(), &[system("a", &["id-7"])], &PairOptions::default())
        .unwrap_err()
        .to_string();
    assert_eq!(
        error,
        "a.jsonl: no answer of any system has a test case (test cases are \"1\", .., answers \"id-7\", ..); give \
         answers the case_id of their test case in t.json"
    );
    let error = pair(&tests(), &[system("a", &[])], &PairOptions::default())
        .unwrap_err()
        .to_string();
    assert!(
        error.starts_with("a.jsonl: no answers in the file; write one {\"case_id\""),
        "{error}"
    );
}
