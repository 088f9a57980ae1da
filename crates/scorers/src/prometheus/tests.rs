//! Prompts of the aspect judge and how its grades are scored.

use proptest::prelude::*;

use super::*;
use scholareval_core::domain::{CaseId, Reading, Source};
use scholareval_core::question::AspectGrade;

fn aspect(name: &str, use_title: bool, use_docs: bool) -> Arc<Aspect> {
    Arc::new(Aspect {
        name: name.into(),
        use_title,
        use_docs,
        ..Aspect::default()
    })
}

fn scorer(aspects: Vec<Arc<Aspect>>) -> PrometheusScorer {
    PrometheusScorer {
        aspects,
        instruction: "Answer.".into(),
        top_n: 10,
        index_base: IndexBase::Zero,
        mode: Mode::Default,
        use_reference: false,
    }
}

fn case() -> TestCase {
    TestCase::without_rubric(CaseId::from("1"), "From the test case?")
}

fn answer(output: &str, final_passages: Option<&str>) -> Answer {
    let source = |n: usize| Source {
        title: Some(format!("T{n}")),
        text: Some(format!("text {n}")),
        ..Source::default()
    };
    let prediction = Prediction {
        input: "Why?".to_owned(),
        output: Some(output.into()),
        sources: (0..4).map(source).collect(),
        final_passages: final_passages.map(str::to_owned),
        ..Prediction::default()
    };
    Answer {
        prediction: Some(Arc::new(prediction)),
        ..Answer::new("mine".into(), CaseId::from("1"), output)
    }
}

fn question_of(call: &JudgeCall) -> &AspectGrade {
    call.question.downcast_ref().unwrap()
}

fn shown(scorer: &PrometheusScorer, answer: &Answer) -> String {
    let calls = scorer.all_calls(&case(), answer);
    calls[0].question.judged().to_string()
}

fn with(grades: &[(&str, Option<f64>)]) -> Verdicts {
    let judged = |grade: Option<f64>| match grade {
        Some(grade) => Ok(Reading {
            verdict: Verdict::Grade(grade),
            feedback: Some("good".to_owned()),
            belief: None,
        }),
        None => Err(UnscoredReason::new(
            UnscoredKind::Unreadable,
            "no [RESULT] in the reply",
        )),
    };
    grades
        .iter()
        .map(|(name, grade)| ((*name).into(), judged(*grade)))
        .collect()
}

#[test]
fn titles_of_cited_sources_are_shown_where_the_aspect_wants_them_and_texts_too() {
    let answer = answer("A [2, 0] b [9].", None);
    assert_eq!(
        shown(&scorer(vec![aspect("x", false, false)]), &answer),
        "A [2, 0] b [9]."
    );
    assert_eq!(
        shown(&scorer(vec![aspect("x", true, false)]), &answer),
        "A [2, 0] b [9].\n\nReferences:\n[0] T0\n[2] T2"
    );
    assert_eq!(
        shown(
            &PrometheusScorer {
                top_n: 1,
                ..scorer(vec![aspect("x", false, true)])
            },
            &answer
        ),
        "A [2, 0] b [9].\n\nReferences:\n[0] T0: text 0"
    );
    // Counted from 1, [2] is the second source, and [0] is none.
    let from_one = PrometheusScorer {
        index_base: IndexBase::One,
        ..scorer(vec![aspect("x", true, false)])
    };
    assert_eq!(
        shown(&from_one, &answer),
        "A [2, 0] b [9].\n\nReferences:\n[2] T1"
    );
}

#[test]
fn final_passages_stand_for_sources_and_compat_shows_no_titles() {
    let scorer = scorer(vec![aspect("x", true, true)]);
    let compat = PrometheusScorer {
        mode: Mode::Compat,
        ..scorer.clone()
    };
    let passages = answer("A [0].", Some("[0] P"));
    assert_eq!(shown(&scorer, &passages), "A [0].\n\nReferences:\n[0] P");
    assert_eq!(shown(&compat, &passages), "A [0].References:\n[0] P");
    assert_eq!(shown(&compat, &answer("A [0].", None)), "A [0].");
}

#[test]
fn one_call_an_aspect_is_asked_of_its_own_judge() {
    let scorer = scorer(vec![
        aspect("coverage", false, false),
        aspect("relevance", false, false),
    ]);
    let Step::Ask(calls) = scorer.step(
        &Subject::new(&case(), &answer("A.", None)),
        &with(&[("coverage", Some(3.0))]),
    ) else {
        panic!("done")
    };
    assert_eq!(calls.len(), 1);
    assert_eq!(
        (&*calls[0].item, calls[0].role.name().as_ref()),
        ("relevance", "aspect.relevance")
    );
    let AspectGrade {
        question,
        instruction,
        reference,
        ..
    } = question_of(&calls[0]);
    assert_eq!(
        (&**question, &**instruction, reference),
        ("Why?", "Answer.", &None)
    );
}

#[test]
fn an_aspect_without_a_grade_is_left_out_of_the_mean_with_a_note() {
    let names = ["coverage", "relevance", "organization"];
    let scorer = scorer(
        names
            .iter()
            .map(|name| aspect(name, false, false))
            .collect(),
    );
    let verdicts = with(&[
        ("coverage", Some(3.0)),
        ("relevance", None),
        ("organization", Some(4.5)),
    ]);
    let Step::Done(score) = scorer.step(&Subject::new(&case(), &answer("A.", None)), &verdicts)
    else {
        panic!("asked")
    };
    // (3 + 4.5) / 2
    assert_eq!(score.value, Some(3.75));
    assert_eq!(
        score.notes,
        ["no grade for relevance: left out of the mean"]
    );
    assert_eq!(
        score
            .component("relevance")
            .unwrap()
            .reason
            .as_ref()
            .unwrap()
            .kind,
        UnscoredKind::Unreadable
    );
    assert_eq!(
        score
            .component("coverage")
            .unwrap()
            .feedback
            .as_ref()
            .map(|text| text.as_str()),
        Some("good")
    );
    assert!(
        score
            .components
            .iter()
            .all(|c| c.kind == ComponentKind::Aspect && c.weight == 0.0)
    );
}

#[test]
fn a_reference_is_the_answers_else_the_gold_and_a_missing_one_is_noted_and_in_compat_an_exception()
{
    let scorer = PrometheusScorer {
        use_reference: true,
        ..scorer(vec![aspect("x", false, false)])
    };
    let mut given = answer("A.", None);
    let reference = |answer: &Answer| {
        let calls = scorer.all_calls(&case(), answer);
        question_of(&calls[0]).reference.clone()
    };
    assert_eq!(reference(&given), None);
    let verdicts = with(&[("x", Some(5.0))]);
    let Step::Done(score) = scorer.step(&Subject::new(&case(), &given), &verdicts) else {
        panic!("asked")
    };
    assert_eq!(
        score.notes,
        ["no reference answer: none was shown to the judge"]
    );
    let compat = PrometheusScorer {
        mode: Mode::Compat,
        ..scorer.clone()
    };
    let Step::Done(score) = compat.step(&Subject::new(&case(), &given), &Verdicts::new()) else {
        panic!("asked")
    };
    assert_eq!(
        score.components[0]
            .reason
            .as_ref()
            .map(|reason| reason.kind),
        Some(UnscoredKind::Exception)
    );
    Arc::make_mut(given.prediction.as_mut().unwrap())
        .gold
        .answer = Some("gold".to_owned());
    assert_eq!(reference(&given).as_deref(), Some("gold"));
    given.reference_answer = Some("best".into());
    assert_eq!(reference(&given).as_deref(), Some("best"));
}

#[test]
fn without_a_prediction_the_question_is_the_test_cases_and_the_answer_what_the_system_wrote() {
    let mut bare = Answer::new(
        "mine".into(),
        CaseId::from("1"),
        "A [0].\nReferences:\n[0] x",
    );
    bare.own_bytes = Some("A [0].".len());
    let calls = scorer(vec![aspect("x", true, true)]).all_calls(&case(), &bare);
    let shown = question_of(&calls[0]);
    assert_eq!(
        (&*shown.question, &*shown.answer),
        ("From the test case?", "A [0].")
    );
}

proptest! {
    #[test]
    fn the_score_lies_within_the_grades_and_the_order_of_aspects_does_not_matter(
        grades in prop::collection::vec(prop::option::of(1.0..=5.0_f64), 1..5), output in "([\\[\\]0-9, ]|\\PC){0,20}"
    ) {
        let names: Vec<String> = (0..grades.len()).map(|n| format!("a{n}")).collect();
        let aspects: Vec<_> = names.iter().map(|name| aspect(name, true, true)).collect();
        let verdicts = with(&names.iter().map(String::as_str).zip(grades.iter().copied()).collect::<Vec<_>>());
        let done = |aspects: Vec<Arc<Aspect>>| match scorer(aspects).step(&Subject::new(&case(), &answer(&output, None)), &verdicts) {
            Step::Done(score) => score.value,
            Step::Ask(calls) => panic!("{calls:?}"),
        };
        let value = done(aspects.clone());
        let back = done(aspects.into_iter().rev().collect());
        prop_assert_eq!(value.is_some(), grades.iter().any(Option::is_some));
        prop_assert!((value.unwrap_or(1.0) - back.unwrap_or(1.0)).abs() < 1e-12);
        prop_assert!(value.is_none_or(|value| (1.0..=5.0).contains(&value)));
    }

    #[test]
    fn everything_is_asked_at_once_and_never_twice(names in prop::collection::vec("[ab]", 1..5)) {
        let scorer = scorer(names.iter().map(|name| aspect(name, false, false)).collect());
        let Step::Ask(calls) = scorer.step(&Subject::new(&case(), &answer("A.", None)), &Verdicts::new()) else { panic!("done") };
        let items: HashSet<Arc<str>> = calls.iter().map(|call| Arc::clone(&call.item)).collect();
        prop_assert_eq!(items.len(), calls.len());
        let verdicts = items.into_iter().map(|item| (item, Ok(Reading::new(Verdict::Grade(2.0))))).collect();
        prop_assert!(matches!(scorer.step(&Subject::new(&case(), &answer("A.", None)), &verdicts), Step::Done(_)));
    }
}
