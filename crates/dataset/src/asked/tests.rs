use proptest::prelude::*;

use std::path::Path;

use super::*;
use crate::{parse_answers, parse_predictions, parse_test_cases};

fn data(questions: &[(&str, &str)]) -> AskedQuestions {
    let line = |(input, answer): &(&str, &str)| {
        format!("{{\"input\": \"{input}\", \"answer\": \"{answer}\"}}\n")
    };
    let text: String = questions.iter().map(line).collect();
    let data = parse_predictions(&text, Path::new("d.jsonl")).unwrap();
    AskedQuestions::of_predictions(data, Mode::Default)
}

fn outputs(questions: &[&str]) -> SystemAnswers {
    let line = |(at, input): (usize, &&str)| {
        format!("{{\"input\": \"{input}\", \"output\": \"o{at}\"}}\n")
    };
    let text: String = questions.iter().enumerate().map(line).collect();
    parse_answers(&text, "s".into(), Path::new("s.jsonl"), Mode::Default).unwrap()
}

fn kept(covered: &Covered) -> Vec<(&str, Option<&str>)> {
    let predictions = covered
        .system
        .answers
        .iter()
        .filter_map(|answer| answer.prediction.as_ref());
    predictions
        .map(|item| (item.output(), item.gold.answer.as_deref()))
        .collect()
}

#[test]
fn a_complete_file_passes_whatever_its_order_and_gets_the_golds() {
    let covered = data(&[("p", "yes"), ("q", "no")])
        .cover(outputs(&["q ", "p"]))
        .unwrap();
    assert_eq!(kept(&covered), [("o0", Some("no")), ("o1", Some("yes"))]);
    assert_eq!(
        (covered.answered, covered.missing, covered.odd),
        (2, None, Vec::new())
    );
}

#[test]
fn missing_questions_are_counted_and_the_first_five_named_by_line() {
    let all: Vec<String> = (1..=9).map(|n| format!("q{n}")).collect();
    let all: Vec<(&str, &str)> = all
        .iter()
        .map(|question| (question.as_str(), "a"))
        .collect();
    let covered = data(&all).cover(outputs(&["q2", "q9"])).unwrap();
    assert_eq!(
        covered.missing.unwrap().to_string(),
        "s.jsonl: 7 of 9 questions of d.jsonl have no prediction: line 1 “q1”, line 3 “q3”, line 4 “q4”, line 5 “q5”, \
         line 6 “q6” and 2 more"
    );
}

#[test]
fn questions_on_one_line_are_named_by_their_place() {
    let text = "[{\"input\": \"p\"}, {\"input\": \"q\"}, {\"input\": \"r\"}]";
    let questions = AskedQuestions::of_predictions(
        parse_predictions(text, Path::new("d.json")).unwrap(),
        Mode::Default,
    );
    let covered = questions.cover(outputs(&["q"])).unwrap();
    assert!(
        covered
            .missing
            .unwrap()
            .what
            .ends_with("have no prediction: item 1 “p”, item 3 “r”")
    );
}

#[test]
fn a_question_that_the_data_ask_twice_needs_two_predictions_and_the_second_gets_the_second_gold() {
    let questions = data(&[("p", "1"), ("q", "2"), ("p", "3")]);
    assert_eq!(questions.ambiguous(), 1);
    let covered = questions.cover(outputs(&["p", "q", "p"])).unwrap();
    assert_eq!(
        kept(&covered),
        [("o0", Some("1")), ("o1", Some("2")), ("o2", Some("3"))]
    );
    let once = questions.cover(outputs(&["p", "q"])).unwrap();
    assert!(
        once.missing
            .unwrap()
            .what
            .ends_with("1 of 3 questions of d.jsonl have no prediction: line 3 “p”")
    );
}

#[test]
fn what_is_answered_again_or_not_asked_is_reported_and_left_out_but_in_compat() {
    let mut questions = data(&[("p", "1")]);
    let covered = questions.cover(outputs(&["p", "p", "x"])).unwrap();
    assert_eq!(kept(&covered), [("o0", Some("1"))]);
    let messages: Vec<String> = covered.odd.iter().map(ToString::to_string).collect();
    assert_eq!(
        messages,
        [
            "s.jsonl: 1 predictions repeat a question more often than d.jsonl does: line 2 “p”; the first counts, these \
             are not scored",
            "s.jsonl: 1 predictions for questions that are not in d.jsonl: line 3 “x”; they are not scored",
        ]
    );
    questions.mode = Mode::Compat;
    assert_eq!(
        kept(&questions.cover(outputs(&["p", "p", "x"])).unwrap()).len(),
        3
    );
}

#[test]
fn a_file_that_answers_nothing_is_refused() {
    let error = data(&[("p", "1")])
        .cover(outputs(&["x"]))
        .unwrap_err()
        .to_string();
    assert!(
        error.starts_with("s.jsonl: no question of d.jsonl is answered; its input must equal"),
        "{error}"
    );
}

/// Three cases, the first two of one question.
fn cases(mode: Mode) -> AskedQuestions {
    let case = |id: &str, question: &str| {
        format!(
            r#"{{"case_id": "{id}", "initial_prompt": "{question}", "annotator": "A", "agreement": false,
            "metric_config": {{"config": {{"question": "{question}", "low_length": 300, "high_length": 600,
            "length_weight": 0.25, "expertise_weight": 0.25, "citations_weight": 0.25, "excerpts_weight": 0.25,
            "other_properties": []}}}}}}"#
        )
    };
    let text = format!(
        "[{}, {}, {}]",
        case("a", "p"),
        case("b", "p"),
        case("c", "q")
    );
    AskedQuestions::of_test_cases(
        &parse_test_cases(&text, Path::new("t.json"), Mode::Default).unwrap(),
        mode,
    )
}

#[test]
fn of_two_annotations_of_a_question_the_first_needs_the_answer_and_in_compat_any() {
    let answers = |ids: [&str; 2]| {
        let text: String = ids
            .map(|id| format!("{{\"case_id\": \"{id}\", \"answer_text\": \"o\"}}\n"))
            .concat();
        parse_answers(&text, "s".into(), Path::new("s.jsonl"), Mode::Default).unwrap()
    };
    assert_eq!(cases(Mode::Default).count(), 2);
    assert_eq!(
        cases(Mode::Default)
            .cover(answers(["a", "c"]))
            .unwrap()
            .missing,
        None
    );
    let missing = cases(Mode::Default)
        .cover(answers(["b", "c"]))
        .unwrap()
        .missing
        .unwrap();
    assert!(missing.what.ends_with(": a “p”"), "{missing}");
    assert_eq!(
        cases(Mode::Compat)
            .cover(answers(["b", "c"]))
            .unwrap()
            .missing,
        None
    );
    // Predictions name the question; both annotations are one.
    assert_eq!(
        cases(Mode::Default)
            .cover(outputs(&["q", "p"]))
            .unwrap()
            .answered,
        2
    );
    let error = data(&[("p", "1")])
        .cover(answers(["a", "c"]))
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("have no question; give predictions"),
        "{error}"
    );
}

proptest! {
    #[test]
    fn every_prediction_is_kept_or_reported_and_every_question_answered_or_missing(
        asked in prop::collection::vec(0..4_u8, 1..8), given in prop::collection::vec(0..6_u8, 1..8)
    ) {
        let names = |all: &[u8]| all.iter().map(|n| format!("q{n}")).collect::<Vec<_>>();
        let (asked, given) = (names(&asked), names(&given));
        let rows: Vec<(&str, &str)> = asked.iter().map(|q| (q.as_str(), "a")).collect();
        let file = outputs(&given.iter().map(String::as_str).collect::<Vec<_>>());
        let Ok(covered) = data(&rows).cover(file) else {
            prop_assert!(!given.iter().any(|question| asked.contains(question)));
            return Ok(());
        };
        let count = |fault: &InputFault| fault.what.split(' ').next().unwrap().parse::<usize>().unwrap();
        prop_assert_eq!(kept(&covered).len(), covered.answered);
        prop_assert_eq!(covered.answered + covered.odd.iter().map(count).sum::<usize>(), given.len());
        prop_assert_eq!(covered.answered + covered.missing.iter().map(count).sum::<usize>(), asked.len());
    }
}
