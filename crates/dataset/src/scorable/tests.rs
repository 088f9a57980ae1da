//! Building items: both forms, with and without test cases, with and without references.

use std::path::Path;

use serde_json::{Value, json};

use super::*;
use crate::{
    Conversion, PairOptions, convert, load_references, parse_answers, parse_test_cases,
    render_answer,
};
use scholareval_core::domain::{CaseCriterion, Mode};

fn tests_of(cases: &[(&str, &str)]) -> TestCases {
    let case = |(id, prompt): &(&str, &str)| {
        json!({"case_id": id, "initial_prompt": prompt, "metric_config": {"config": {
            "question": prompt, "length_weight": 0.25, "expertise_weight": 0.25, "citations_weight": 0.25,
            "excerpts_weight": 0.25, "other_properties": []}}})
    };
    let text = Value::from(cases.iter().map(case).collect::<Vec<_>>()).to_string();
    parse_test_cases(&text, Path::new("t.json"), Mode::Default).unwrap()
}

/// Cases 1 and 3 are two annotations of question A.
fn tests() -> TestCases {
    tests_of(&[("1", "A"), ("2", "B"), ("3", "A"), ("4", "C")])
}

fn file(name: &str, items: &[Value]) -> SystemAnswers {
    let text: String = items.iter().map(|item| format!("{item}\n")).collect();
    parse_answers(
        &text,
        name.into(),
        Path::new(&format!("{name}.jsonl")),
        Mode::Default,
    )
    .unwrap()
}

fn said(input: &str, output: &str) -> Value {
    json!({"input": input, "output": output, "ctxs": [{"title": "T", "text": "X"}]})
}

fn answered(case_id: &str, text: &str) -> Value {
    json!({"case_id": case_id, "answer_text": text})
}

fn with_block(compat: bool) -> ScorableOptions {
    let pairing = PairOptions {
        compat,
        ..PairOptions::default()
    };
    ScorableOptions {
        pairing,
        block: Some(IndexBase::Zero),
    }
}

fn ids(items: &[Item]) -> Vec<(&str, &str, &str)> {
    items
        .iter()
        .map(|i| {
            (
                i.answer.system.as_str(),
                i.case.case_id.as_str(),
                i.answer.own_text(),
            )
        })
        .collect()
}

fn message(result: Result<Scorable>) -> String {
    result.unwrap_err().to_string()
}

fn references(items: &[Value]) -> References {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("r.jsonl");
    std::fs::write(
        &path,
        items
            .iter()
            .map(|item| format!("{item}\n"))
            .collect::<String>(),
    )
    .unwrap();
    load_references(&path).unwrap()
}

#[test]
fn predictions_are_paired_by_question_and_the_unasked_are_plain() {
    let system = file("a", &[said(" B ", "b"), said("A", "a"), said("Z", "z")]);
    let result = scorable(Some(&tests()), &[system], None, &with_block(false)).unwrap();
    assert_eq!(ids(&result.rubric), [("a", "1", "a"), ("a", "2", "b")]);
    assert_eq!(&*result.rubric[0].answer.answer_text, "a\nReferences:\n");
    assert_eq!(
        ids(&result.plain),
        [("a", "2", "b"), ("a", "1", "a"), ("a", "3#3", "z")]
    );
    assert!(result.plain[2].case.rubric.is_none() && !result.plain[0].case.rubric.is_none());
    assert!(
        result
            .plain
            .iter()
            .all(|item| item.answer.case_id == item.case.case_id)
    );
    assert_eq!(
        result.plain[1], result.rubric[0],
        "an answer in both lists is the same in both"
    );
    assert_eq!(
        result.warnings,
        [
            "a.jsonl:3 (case 3): no test case asks \"Z\"; it is not scored by a rubric",
            "a.jsonl: 1 of 3 test cases have no answer: 4"
        ]
    );
    assert_eq!((result.missing.len(), result.kept_cases.len()), (1, 3));
    assert_eq!(
        result
            .files
            .iter()
            .map(|file| file.name.as_str())
            .collect::<Vec<_>>(),
        ["tests", "a"]
    );
}

#[test]
fn agreement_pairs_a_prediction_with_every_annotation_and_keeps_it_once_in_plain() {
    let pairing = PairOptions {
        agreement: true,
        ..PairOptions::default()
    };
    let options = ScorableOptions {
        pairing,
        block: None,
    };
    let predicted = file("a", &[said("A", "a")]);
    let given = file("b", &[answered("1", "x"), answered("3", "x")]);
    let result = scorable(Some(&tests()), &[predicted, given], None, &options).unwrap();
    assert_eq!(
        ids(&result.rubric),
        [
            ("a", "1", "a"),
            ("a", "3", "a"),
            ("b", "1", "x"),
            ("b", "3", "x")
        ]
    );
    assert_eq!(ids(&result.plain), [("a", "1", "a"), ("b", "1", "x")]);
}

#[test]
fn a_question_answered_twice_is_an_error_and_in_compat_the_last_counts() {
    let twice = [file(
        "a",
        &[said("A", "first"), said("A", "last"), said("B", "b")],
    )];
    let error = message(scorable(Some(&tests()), &twice, None, &with_block(false)));
    assert_eq!(
        error,
        "a.jsonl:2 (case 2): the question \"A\" is answered twice, first on line 1; keep one of the two"
    );
    let result = scorable(Some(&tests()), &twice, None, &with_block(true)).unwrap();
    // the reference's converter takes the last of two cases
    assert_eq!(ids(&result.rubric), [("a", "2", "b"), ("a", "3", "last")]);
    assert_eq!(
        ids(&result.plain),
        [("a", "1#1", "first"), ("a", "3", "last"), ("a", "2", "b")]
    );
    assert!(result.warnings[0].starts_with(
        "a.jsonl:2 (case 2): the question \"A\" is answered twice, first on line 1; this"
    ));
    // without test cases two rows of one question are two items
    let plain = scorable(None, &twice, None, &with_block(false)).unwrap();
    assert_eq!(
        ids(&plain.plain),
        [("a", "1", "first"), ("a", "2", "last"), ("a", "3", "b")]
    );
}

/// System, case, text and how much of it is by the system.
type Judged = (String, String, String, Option<usize>);

/// Items of a file scored directly, and of what `convert` makes of it.
fn both_ways(system: &SystemAnswers, tests: &TestCases, compat: bool) -> [Vec<Judged>; 2] {
    let mode = if compat { Mode::Compat } else { Mode::Default };
    let converted = convert(
        system,
        tests,
        &Conversion {
            block: Some(IndexBase::Zero),
            mode,
        },
    )
    .unwrap();
    let text: String = converted.answers.iter().map(render_answer).collect();
    let answers = parse_answers(&text, system.system.clone(), Path::new("c.jsonl"), mode).unwrap();
    [system.clone(), answers].map(|file| {
        let result = scorable(Some(tests), &[file], None, &with_block(compat)).unwrap();
        let items = result.rubric.into_iter();
        items
            .map(|item| {
                let text = item.answer.answer_text.to_string();
                (
                    item.answer.system.to_string(),
                    item.case.case_id.to_string(),
                    text,
                    item.answer.own_bytes,
                )
            })
            .collect()
    })
}

#[test]
fn a_file_scored_directly_equals_one_converted_first() {
    let predictions = file(
        "a",
        &[
            said("A", "a\u{e9} [0]"),
            said("C", ""),
            said("B", "b"),
            said("none", "n"),
        ],
    );
    for compat in [false, true] {
        let [direct, converted] = both_ways(&predictions, &tests(), compat);
        assert_eq!(direct, converted);
        assert_eq!(direct.len(), 3);
    }
    let twice = file("a", &[said("A", "first"), said("A", "last")]);
    let [direct, converted] = both_ways(&twice, &tests(), true);
    assert_eq!(direct, converted);
}

#[test]
fn without_test_cases_equal_questions_of_systems_share_the_first_systems_id() {
    let named = |id: &str, input: &str| json!({"id": id, "input": input, "output": id});
    let a = file("a", &[named("x", "P"), named("x", "Q"), named("3", "R")]);
    let b = file("b", &[said("R ", "r"), said("Q", "q"), said("S", "s")]);
    let result = scorable(None, &[a, b], None, &ScorableOptions::default()).unwrap();
    let names: Vec<_> = result
        .plain
        .iter()
        .map(|i| (i.answer.system.as_str(), i.answer.case_id.as_str()))
        .collect();
    // Q is the second "x" of a, by its place "x#2"; S is the third of b, where 3 is taken by R
    assert_eq!(
        names,
        [
            ("a", "x"),
            ("a", "x#2"),
            ("a", "3"),
            ("b", "3"),
            ("b", "x#2"),
            ("b", "3#3")
        ]
    );
    assert!(Arc::ptr_eq(&result.plain[2].case, &result.plain[3].case));
    assert!(result.rubric.is_empty() && result.kept_cases.is_empty());
    assert_eq!(
        result.warnings,
        [
            "a.jsonl: 1 of 4 questions have no answer: 3#3",
            "b.jsonl: 1 of 4 questions have no answer: x"
        ]
    );
    assert_eq!(
        result.plain[0].answer.own_bytes, None,
        "nothing was appended"
    );
}

#[test]
fn cases_and_limit_choose_without_test_cases_too() {
    let files = [
        file("a", &[said("P", "p"), said("Q", "q"), said("P", "again")]),
        file("b", &[said("Q", "q")]),
    ];
    let of = |files: &[SystemAnswers], pairing| {
        scorable(
            None,
            files,
            None,
            &ScorableOptions {
                pairing,
                block: None,
            },
        )
    };
    let with = |pairing: PairOptions| of(&files, pairing);
    let names = |names: &[&str]| Some(names.iter().map(|name| (*name).to_owned()).collect());
    let result = with(PairOptions {
        limit: Some(1),
        ..PairOptions::default()
    })
    .unwrap();
    assert_eq!(ids(&result.plain), [("a", "1", "p"), ("a", "3", "again")]);
    let result = of(
        &files[1..],
        PairOptions {
            cases: names(&["2"]),
            ..PairOptions::default()
        },
    );
    // alone, b has another id
    assert_eq!(
        message(result),
        "unknown case \"2\" among the predictions; did you mean 1?"
    );
    let result = with(PairOptions {
        cases: names(&["2"]),
        ..PairOptions::default()
    })
    .unwrap();
    assert_eq!(ids(&result.plain), [("a", "2", "q"), ("b", "2", "q")]);
    let error = message(with(PairOptions {
        limit: Some(0),
        ..PairOptions::default()
    }));
    assert_eq!(error, "no question is left to score; raise the limit");
    // with test cases what they leave out is left out of both lists
    let pairing = PairOptions {
        limit: Some(1),
        ..PairOptions::default()
    };
    let predictions = file("a", &[said("A", "a"), said("B", "b"), said("Z", "z")]);
    let result = scorable(
        Some(&tests()),
        &[predictions],
        None,
        &ScorableOptions {
            pairing,
            block: None,
        },
    )
    .unwrap();
    assert_eq!(
        (ids(&result.rubric), ids(&result.plain)),
        (vec![("a", "1", "a")], vec![("a", "1", "a")])
    );
}

#[test]
fn answers_of_case_id_and_text_are_predictions_of_their_question() {
    let mut cut = answered("1", "own [0]\nReferences:\n[0] T");
    cut["references_from"] = 7.into();
    let file = file(
        "a",
        &[
            cut,
            answered("2", "b"),
            answered("4", "c"),
            answered("9", "stray"),
        ],
    );
    let golds = references(&[
        json!({"input": "A", "answer": "gold"}),
        json!({"input": "B", "qa_pairs": [{"short_answers": ["b"]}]}),
    ]);
    let result = scorable(Some(&tests()), &[file], Some(&golds), &with_block(false)).unwrap();
    assert_eq!(result.rubric, result.plain);
    let first = result.plain[0].answer.prediction.as_ref().unwrap();
    assert_eq!(
        (
            first.input.as_str(),
            first.output(),
            first.gold.answer.as_deref()
        ),
        ("A", "own [0]", Some("gold"))
    );
    assert!(
        result.notes[0].starts_with("a.jsonl: gold answers from ")
            && result.notes[0].ends_with(" for 2 of 3 answers, by input")
    );
    assert!(
        result
            .warnings
            .iter()
            .any(|w| w.starts_with("a.jsonl: 1 prediction without gold answers in ")),
        "{result:?}"
    );
    let supported = supports(&result);
    let expected = Support {
        rubric: 3,
        questions: 3,
        gold_answer: 1,
        short_answers: 1,
        ..Support::default()
    };
    assert_eq!(supported, expected);
}

#[test]
fn reference_answers_and_golds_come_from_one_file() {
    let with_gold = json!({"input": "P", "output": "p", "answer": "own", "ctxs": [{"title": "T", "text": "X"}]});
    let a = file("a", &[with_gold, said("Q", "q")]);
    let answers = references(&[
        json!({"input": "Q", "output": "best Q"}),
        json!({"input": "P", "output": "best P"}),
    ]);
    let result = scorable(
        None,
        std::slice::from_ref(&a),
        Some(&answers),
        &ScorableOptions::default(),
    )
    .unwrap();
    let reference_answers = |result: &Scorable| {
        result
            .plain
            .iter()
            .map(|i| i.answer.reference_answer.clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(
        reference_answers(&result),
        [Some("best P".into()), Some("best Q".into())]
    );
    let gold = &result.plain[0].answer.prediction.as_ref().unwrap().gold;
    assert_eq!(
        gold.answer.as_deref(),
        Some("own"),
        "a file of answers takes no gold away"
    );
    assert!(
        result.notes[0].ends_with("for 2 of 2 answers, by input"),
        "{:?}",
        result.notes
    );
    assert_eq!(
        (supports(&result).sources, supports(&result).gold_answer),
        (2, 1)
    );
    let by_place = references(&[json!({"output": "one", "id": 1}), json!({"output": "two"})]);
    let result = scorable(
        None,
        std::slice::from_ref(&a),
        Some(&by_place),
        &ScorableOptions::default(),
    )
    .unwrap();
    assert_eq!(
        reference_answers(&result),
        [Some("one".into()), Some("two".into())]
    );
    assert!(
        result.notes[0]
            .ends_with("by position, because not every reference has its own input that is asked"),
        "{:?}",
        result.notes
    );
    let other = references(&[json!({"output": "one"})]);
    let error = message(scorable(
        None,
        &[a],
        Some(&other),
        &ScorableOptions::default(),
    ));
    assert!(
        error.starts_with("a.jsonl: 2 answers, but 1 references in "),
        "{error}"
    );
    assert_eq!(
        result.files.last().map(|file| file.name.as_str()),
        Some("references")
    );
}

#[test]
fn strict_makes_every_warning_an_error() {
    let strict = PairOptions {
        strict: true,
        ..PairOptions::default()
    };
    let options = ScorableOptions {
        pairing: strict,
        block: None,
    };
    let files = [file("a", &[said("P", "p"), said("Q", "")])];
    assert_eq!(
        message(scorable(None, &files, None, &options)),
        "a.jsonl:2 (case 2): the answer is empty"
    );
    let empty = references(&[json!({"input": "P"})]);
    assert!(
        message(scorable(None, &files, Some(&empty), &options))
            .contains("r.jsonl: no reference in the file; give")
    );
}

#[test]
fn what_cannot_be_scored_is_reported() {
    let no_output = parse_answers(
        "{\"input\": \"A\"}",
        "a".into(),
        Path::new("a.jsonl"),
        Mode::Default,
    );
    let error = no_output.unwrap_err().to_string();
    assert_eq!(
        error,
        "a.jsonl: no field for answer_text: the file has input; looked for output; name it with --fields answer_text=FIELD, or leave the file out with --systems"
    );
    let unasked = file("a", &[said("Z", "z")]);
    let error = message(scorable(
        Some(&tests()),
        &[unasked],
        None,
        &ScorableOptions::default(),
    ));
    assert!(
        error.starts_with("a.jsonl: no question of it is in t.json; input must equal"),
        "{error}"
    );
    let without_text =
        |input: &str| json!({"input": input, "output": "o [0]", "ctxs": [{"title": "T"}]});
    let raising = [file("a", &[without_text("A"), without_text("Z")])];
    let error = message(scorable(Some(&tests()), &raising, None, &with_block(true)));
    assert_eq!(
        error,
        "a.jsonl:1 (case 1): the reference script raises KeyError here"
    );
    // without a rubric nothing looks at the block
    let result = scorable(None, &raising, None, &with_block(true)).unwrap();
    assert_eq!(result.plain[1].answer.own_bytes, None);
    let nothing = parse_answers("", "e".into(), Path::new("e.jsonl"), Mode::Default).unwrap();
    assert_eq!(
        message(scorable(
            None,
            &[nothing],
            None,
            &ScorableOptions::default()
        )),
        "e.jsonl: no answers to score; name files that hold some"
    );
}

#[test]
fn answers_without_test_cases_have_no_question_and_keep_their_ids_for_themselves() {
    let files = [
        file("a", &[answered("1", "x")]),
        file("b", &[said("P", "p")]),
    ];
    let result = scorable(None, &files, None, &ScorableOptions::default()).unwrap();
    assert_eq!(ids(&result.plain), [("a", "1", "x"), ("b", "1#1", "p")]);
    let supported = supports(&result);
    assert_eq!(
        (result.plain.len(), supported.questions, supported.sources),
        (2, 1, 1)
    );
}

#[test]
fn the_question_of_an_id_is_the_first_that_any_file_has() {
    let answer_to =
        |id: &str, question: &str| json!({"case_id": id, "question": question, "answer_text": "n"});
    let a = file("a", &[answered("1", "m")]);
    let b = file("b", &[answer_to("1", "Why?"), answer_to("2", "How?")]);
    let c = file("c", &[answer_to("1", " Why? "), answer_to("2", "What?")]);
    let files = [a, b, c];
    let result = scorable(None, &files, None, &ScorableOptions::default()).unwrap();
    let questions = result.plain.iter().map(|item| {
        let case = &item.case;
        (&*case.initial_prompt, item.answer.question())
    });
    assert_eq!(
        questions.collect::<Vec<_>>(),
        [
            ("Why?", "Why?"),
            ("Why?", "Why?"),
            ("How?", "How?"),
            ("Why?", "Why?"),
            ("How?", "What?")
        ]
    );
    let two = "c.jsonl: 1 case with another question than in b.jsonl: 2; give each question an id of its own";
    assert!(
        result.warnings.contains(&two.to_owned()),
        "{:?}",
        result.warnings
    );
    let mut strict = ScorableOptions::default();
    strict.pairing.strict = true;
    assert!(message(scorable(None, &files, None, &strict)).contains(two));
}

/// Three cases of one question, each with other criteria.
fn equal_questions() -> TestCases {
    let case = |id: &str| {
        let criterion = CaseCriterion {
            weight: 1.0,
            name: "c1".into(),
            ..CaseCriterion::default()
        };
        Arc::new(TestCase {
            criteria: vec![criterion],
            ..TestCase::without_rubric(id.into(), "Summarize.")
        })
    };
    TestCases {
        cases: ["a", "b", "c"].map(case).to_vec(),
        ..tests()
    }
}

#[test]
fn an_answer_with_an_id_is_an_answer_to_its_own_case_whatever_its_question() {
    let system = file(
        "s",
        &[answered("a", "x"), answered("b", "y"), answered("c", "x")],
    );
    let result = scorable(
        Some(&equal_questions()),
        &[system],
        None,
        &with_block(false),
    )
    .unwrap();
    // Criteria are asked of all three; the text x, which answers one question twice, is one answer.
    assert_eq!(ids(&result.rubric).len(), 3);
    assert_eq!(ids(&result.plain), [("s", "a", "x"), ("s", "b", "y")]);
    assert_eq!(
        result.uncounted,
        [
            "s: 1 answer with the text of another one to the same question; each text counts once, except for rubrics"
        ]
    );
}

#[test]
fn a_limit_counts_cases_of_equal_questions_and_missing_answers_are_not_equal() {
    let tests = equal_questions();
    let missing = |id: &str| json!({"case_id": id, "answer_text": Value::Null});
    let system = file("s", &[answered("a", "x"), missing("b"), missing("c")]);
    let of = |limit| {
        let pairing = PairOptions {
            limit,
            ..PairOptions::default()
        };
        let options = ScorableOptions {
            pairing,
            block: None,
        };
        scorable(Some(&tests), std::slice::from_ref(&system), None, &options).unwrap()
    };
    assert_eq!(ids(&of(Some(2)).plain), [("s", "a", "x"), ("s", "b", "")]);
    assert_eq!(of(None).plain.len(), 3);
}

#[test]
fn further_annotators_cases_are_counted_in_a_sentence() {
    let second = |text: &str| {
        let system = file(
            "s",
            &[answered("1", "x"), answered("2", "y"), answered("3", text)],
        );
        scorable(Some(&tests()), &[system], None, &with_block(false)).unwrap()
    };
    let same = second("x");
    assert_eq!(ids(&same.plain), [("s", "1", "x"), ("s", "2", "y")]);
    assert_eq!(
        same.uncounted,
        ["Test cases: 4 read, 3 counted: 1 question has a second annotator's case (--agreement)"]
    );
    let other = second("z");
    assert_eq!(ids(&other.rubric), [("s", "1", "x"), ("s", "2", "y")]);
    assert_eq!(
        ids(&other.plain),
        [("s", "1", "x"), ("s", "2", "y"), ("s", "3", "z")]
    );
    assert_eq!(
        other.uncounted,
        [
            "Test cases: 4 read, 3 counted: 1 question has a second annotator's case (--agreement); scorers that ask no rubric count 1 \
          answer to these"
        ]
    );
}

#[test]
fn predictions_with_ids_to_equal_questions_are_matched_by_them() {
    let row = |id: &str, text: &str| json!({"id": id, "input": "Summarize.", "output": text});
    let first = file("a", &[row("x", "ax"), row("y", "ay")]);
    let second = file("b", &[row("y", "by"), row("x", "bx")]);
    let systems = [first, second];
    let result = scorable(None, &systems, None, &ScorableOptions::default()).unwrap();
    assert_eq!(
        ids(&result.plain),
        [
            ("a", "x", "ax"),
            ("a", "y", "ay"),
            ("b", "y", "by"),
            ("b", "x", "bx")
        ]
    );
    let tests = tests_of(&[("y", "Summarize."), ("x", "Other?")]);
    let two = tests_of(&[("x", "Summarize."), ("y", "Summarize.")]);
    let cases = TestCases {
        cases: [&two.cases[0], &two.cases[1]].map(Arc::clone).to_vec(),
        ..tests
    };
    let how = ScorableOptions {
        pairing: PairOptions {
            agreement: true,
            ..PairOptions::default()
        },
        block: None,
    };
    let result = scorable(Some(&cases), &systems, None, &how).unwrap();
    assert_eq!(
        ids(&result.rubric),
        [
            ("a", "x", "ax"),
            ("a", "y", "ay"),
            ("b", "x", "bx"),
            ("b", "y", "by")
        ]
    );
}
