//! Which questions are asked, in which order, and how the verdicts are scored.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use proptest::prelude::*;

use super::*;
use scholareval_core::domain::{
    Answer, CaseId, ClaimSupport, Judgment, Prediction, Reading, Score, Source, TestCase,
    UnscoredKind,
};
use scholareval_core::question::JudgeCall;

const DEFAULT: EntailmentScorer = EntailmentScorer {
    form: Form::Long,
    at_most: 3,
    index_base: IndexBase::Zero,
    mode: Mode::Default,
};
const COMPAT: EntailmentScorer = EntailmentScorer {
    mode: Mode::Compat,
    ..DEFAULT
};

fn case() -> TestCase {
    TestCase::without_rubric(CaseId::from("1"), "Why?")
}

/// An answer with six sources, `T0: text 0` to `T5: text 5`.
fn answer(output: &str) -> Answer {
    let source = |n: usize| Source {
        text: Some(format!("text {n}")),
        ..Source::default()
    };
    let sources = (0..6).map(source).collect();
    let input = "Why?".to_owned();
    let prediction = Prediction {
        input,
        output: Some(output.into()),
        sources,
        ..Prediction::default()
    };
    Answer {
        prediction: Some(Arc::new(prediction)),
        ..Answer::new("mine".into(), CaseId::from("1"), output)
    }
}

/// A sentence that is long enough, with this at its end.
fn long(text: &str) -> String {
    format!("This sentence is surely longer than fifty characters {text}. ")
}

/// All calls asked, in order, and the score; `judge` sees the document.
fn run(
    scorer: &EntailmentScorer,
    answer: &Answer,
    judge: impl Fn(&str) -> Judgment,
) -> (Vec<String>, Score) {
    let mut verdicts = Verdicts::new();
    let mut calls_made = Vec::new();
    loop {
        match scorer.step(&Subject::new(&case(), answer), &verdicts) {
            Step::Done(score) => return (calls_made, score),
            Step::Ask(calls) => {
                assert!(!calls.is_empty());
                for call in calls {
                    assert_eq!(
                        (&call.role, call.sample, call.member),
                        (&Role::Citation, 0, 0)
                    );
                    calls_made.push(format!(
                        "{} <- {}",
                        call.item,
                        call.question.judged().replace('\n', "|")
                    ));
                    let judged = judge(call.question.judged());
                    assert!(verdicts.insert(call.item, judged).is_none(), "asked twice");
                }
            }
        }
    }
}

fn label(holds: bool) -> Judgment {
    let label = if holds {
        Attribution::Attributable
    } else {
        Attribution::Contradictory
    };
    Ok(Reading {
        verdict: Verdict::Attribution(label),
        feedback: Some("because".to_owned()),
        belief: None,
    })
}

fn values(score: &Score) -> [Option<f64>; 3] {
    ["citation_recall", "citation_precision", "citation_f1"]
        .map(|name| score.component(name).unwrap().value)
}

fn why(claim: &ClaimSupport) -> &str {
    claim.why.as_deref().unwrap_or_default()
}

#[test]
fn precision_is_asked_only_where_recall_holds_and_others_only_where_one_alone_does_not_support() {
    let text = long("[0][1]") + &long("again [2]") + &long("too [3][4]");
    // 3 and 4 together do not support; of 0 and 1 only 0 does alone.
    let (calls, score) = run(&DEFAULT, &answer(&text), |document| {
        label(!document.contains('3') && document != "text 1")
    });
    assert_eq!(
        calls,
        [
            "s1[0,1] <- text 0|text 1",
            "s2[2] <- text 2",
            "s3[3,4] <- text 3|text 4",
            "s1[0] <- text 0",
            "s1[1] <- text 1",
        ]
    );
    // Recall 2/3. The others without 1 are 0 alone, which is known: 1 is superfluous. Precision (1 + 1 + 0) / 5.
    assert_eq!(
        values(&score),
        [
            Some(2.0 / 3.0),
            Some(0.4),
            Some(2.0 * (2.0 / 3.0) * 0.4 / (2.0 / 3.0 + 0.4))
        ]
    );
    assert_eq!(why(&score.claims[0]), "not needed: [1]");
    assert_eq!(score.claims[0].precise_citations, Some(1));
    assert_eq!(
        (score.claims[2].label, score.claims[2].supported),
        (Some(Attribution::Contradictory), Some(false))
    );
    assert_eq!(score.claims[2].feedback.as_deref(), Some("because"));
}

#[test]
fn out_of_range_citations_are_wrong_and_leave_precision_only_in_compat() {
    let text = long("[0][9]") + &long("again [1]");
    let (calls, score) = run(&DEFAULT, &answer(&text), |_| label(true));
    assert_eq!(calls, ["s2[1] <- text 1"]);
    // 1 of 2 claims; 1 of 3 citations.
    assert_eq!(values(&score)[..2], [Some(0.5), Some(1.0 / 3.0)]);
    assert_eq!(
        (why(&score.claims[0]), score.claims[0].supported),
        ("[9] is out of range", Some(false))
    );
    let (_, compat) = run(&COMPAT, &answer(&text), |_| label(true));
    assert_eq!(values(&compat)[..2], [Some(0.5), Some(1.0)]);
}

#[test]
fn range_is_checked_before_citations_are_cut() {
    let (calls, score) = run(&DEFAULT, &answer(&long("[0][1][2][9]")), |_| label(true));
    assert_eq!((calls.len(), values(&score)[0]), (0, Some(0.0)));
    assert_eq!(score.claims[0].citations, [0, 1, 2]);
}

#[test]
fn every_number_of_a_marker_counts_and_in_compat_the_first_behind_any_bracket() {
    let text = answer(&long("in [3 mice] [0, 1]"));
    let (calls, _) = run(&DEFAULT, &text, |_| label(false));
    assert_eq!(calls, ["s1[0,1] <- text 0|text 1"]);
    let (calls, _) = run(&COMPAT, &text, |_| label(false));
    assert_eq!(calls, ["s1[3,0] <- text 3|text 0"]);
}

#[test]
fn a_source_cited_twice_counts_once_and_in_compat_twice() {
    let text = answer(&long("[2][2]"));
    let (calls, score) = run(&DEFAULT, &text, |_| label(true));
    assert_eq!(
        (calls, score.claims[0].precise_citations),
        (vec!["s1[2] <- text 2".to_owned()], Some(1))
    );
    let (calls, score) = run(&COMPAT, &text, |document| label(document.contains('\n')));
    // Alone it does not support, and neither does what is left when its first mention goes: both count as precise.
    // All three single questions are one.
    assert_eq!(calls, ["s1[2,2] <- text 2|text 2", "s1[2] <- text 2"]);
    assert_eq!(
        (values(&score)[1], score.claims[0].precise_citations),
        (Some(1.0), Some(2))
    );
}

#[test]
fn a_sentence_without_markers_inherits_the_last_valid_uncut_list_of_an_unskipped_sentence() {
    let text =
        long("none yet") + &long("[0][1][2][3]") + "Short [4]. " + &long("bad [9]") + &long("none");
    let (calls, score) = run(
        &EntailmentScorer {
            at_most: 2,
            ..DEFAULT
        },
        &answer(&text),
        |_| label(false),
    );
    assert_eq!(
        calls,
        ["s2[0,1] <- text 0|text 1", "s5[0,1] <- text 0|text 1"]
    );
    let claims: Vec<_> = score
        .claims
        .iter()
        .map(|claim| (claim.inherited, why(claim)))
        .collect();
    assert_eq!(
        claims,
        [
            (false, "no citation"),
            (false, ""),
            (false, "skipped: under 50 characters"),
            (false, "[9] is out of range"),
            (true, "")
        ]
    );
    assert_eq!(score.component("sentences").unwrap().value, Some(4.0));
    assert_eq!(score.component("skipped").unwrap().value, Some(1.0));
    assert_eq!(
        score.notes,
        ["sentences under 50 characters do not count as claims and were skipped (column skipped)"]
    );
}

#[test]
fn an_empty_answer_is_0_and_in_compat_no_value_at_all() {
    let (_, score) = run(&DEFAULT, &answer(" "), |_| label(true));
    assert_eq!((values(&score), score.value), ([Some(0.0); 3], Some(0.0)));
    let (_, compat) = run(&COMPAT, &answer(" "), |_| label(true));
    assert!(compat.components.is_empty() && compat.value.is_none());
}

#[test]
fn the_short_form_is_one_claim_behind_its_question_whose_brackets_count_only_in_compat() {
    let mut short_answer = answer("yes [1].");
    let prediction = Arc::make_mut(short_answer.prediction.as_mut().unwrap());
    prediction.input = "Is x [0] true?".to_owned();
    let short = EntailmentScorer {
        form: Form::Short,
        ..DEFAULT
    };
    let Step::Ask(calls) = short.step(&Subject::new(&case(), &short_answer), &Verdicts::new())
    else {
        panic!("done")
    };
    assert_eq!(
        (
            &*question_of(&calls[0]).claim,
            &*question_of(&calls[0]).document
        ),
        ("Is x [0] true? yes.", "text 1")
    );
    let (calls, _) = run(
        &EntailmentScorer {
            mode: Mode::Compat,
            ..short
        },
        &short_answer,
        |_| label(false),
    );
    assert_eq!(calls, ["s1[0,1] <- text 0|text 1"]);
}

#[test]
fn what_could_not_be_judged_is_null_with_its_bounds_never_0() {
    let text = long("[0]") + &long("and [1]");
    let lost = UnscoredReason::new(UnscoredKind::Cut, "reply cut at 10 tokens");
    let judge = |document: &str| {
        if document == "text 0" {
            Err(lost.clone())
        } else {
            label(true)
        }
    };
    let (_, score) = run(&DEFAULT, &answer(&text), judge);
    assert_eq!((values(&score), score.value), ([None; 3], None));
    let reason = score
        .component("citation_recall")
        .unwrap()
        .reason
        .clone()
        .unwrap();
    assert_eq!(
        *reason,
        UnscoredReason::new(
            UnscoredKind::Cut,
            "1 of 2 claims unscored (between 0.500 and 1.000): reply cut at 10 tokens"
        )
    );
    assert_eq!(
        (score.claims[0].supported, score.claims[0].precise_citations),
        (None, None)
    );
    assert_eq!(score.claims[0].unscored, Some(lost));
}

#[test]
fn an_unscored_precision_question_leaves_recall_whole() {
    let lost = UnscoredReason::new(UnscoredKind::Refused, "no");
    let judge = |document: &str| {
        if document == "text 1" {
            Err(lost.clone())
        } else {
            label(true)
        }
    };
    let (_, score) = run(&DEFAULT, &answer(&long("[0][1]")), judge);
    assert_eq!(values(&score), [Some(1.0), None, None]);
    assert_eq!(
        (score.claims[0].supported, score.claims[0].precise_citations),
        (Some(true), None)
    );
}

#[test]
fn questions_that_only_compat_asks_have_names_of_their_own() {
    // Default verdicts are read again under the reference's rules: [3 mice] must not get the verdict of [0, 1].
    let text = answer(&long("in [3 mice] [0, 1]"));
    let items = |scorer: &EntailmentScorer| match scorer
        .step(&Subject::new(&case(), &text), &Verdicts::new())
    {
        Step::Ask(calls) => calls[0].item.to_string(),
        Step::Done(score) => panic!("{score:?}"),
    };
    assert_eq!(
        (items(&DEFAULT), items(&COMPAT)),
        ("s1[0,1]".to_owned(), "s1[3,0]".to_owned())
    );
}

#[test]
fn a_missing_text_is_empty_and_in_compat_nan_or_an_exception() {
    let mut text = answer(&long("[0]"));
    let sources = &mut Arc::make_mut(text.prediction.as_mut().unwrap()).sources;
    sources[0] = Source {
        title: Some("T".to_owned()),
        text_is_nan: true,
        ..Source::default()
    };
    assert_eq!(
        run(&DEFAULT, &text, |_| label(true)).0,
        ["s1[0] <- Title: T|"]
    );
    assert_eq!(
        run(&COMPAT, &text, |_| label(true)).0,
        ["s1[0]nan <- Title: T|nan"]
    );
    Arc::make_mut(text.prediction.as_mut().unwrap()).sources[0].text_is_nan = false;
    let (calls, score) = run(&COMPAT, &text, |_| label(true));
    let reason = score.component("citation_f1").unwrap().reason.clone();
    assert_eq!(
        (calls.len(), reason.map(|reason| reason.kind)),
        (0, Some(UnscoredKind::Exception))
    );
}

#[test]
fn where_docs_are_fewer_than_ctxs_compat_raises_and_the_default_is_out_of_range() {
    let mut text = answer(&long("[7]"));
    Arc::make_mut(text.prediction.as_mut().unwrap()).replaced_ctxs = Some(9);
    let (_, score) = run(&COMPAT, &text, |_| label(true));
    assert_eq!(
        score
            .component("citation_f1")
            .unwrap()
            .reason
            .as_ref()
            .unwrap()
            .kind,
        UnscoredKind::Exception
    );
    let (_, score) = run(&DEFAULT, &text, |_| label(true));
    assert_eq!(
        (values(&score)[0], why(&score.claims[0])),
        (Some(0.0), "[7] is out of range")
    );
}

#[test]
fn an_answer_without_a_prediction_is_its_own_text_without_sources() {
    let mut bare = Answer::new(
        "mine".into(),
        CaseId::from("1"),
        format!("{}References: [0]", long("[0]")),
    );
    bare.own_bytes = Some(long("[0]").len());
    let (calls, score) = run(&DEFAULT, &bare, |_| label(true));
    assert_eq!(
        (calls.len(), score.claims.len(), why(&score.claims[0])),
        (0, 1, "[0] is out of range")
    );
}

#[test]
fn what_another_claim_asked_at_once_stands_before_nothing() {
    // Both sentences make one claim. [0] alone is asked by the first at once, so that the others of the second, [2, 1], hang
    // on [0, 2, 1] together only: they are one reply away, not two.
    let text = long("same [0]") + &long("same [0][2][1]");
    let (case, answer) = (case(), answer(&text));
    let possible = DEFAULT
        .possible(&Subject::new(&case, &answer), &Verdicts::new())
        .unwrap();
    let gates = |items: &[&str]| {
        possible
            .iter()
            .find(|open| items.contains(&&*open.call.item))
            .map(|open| open.gates)
    };
    assert_eq!(
        gates(&["s2[2,1]"]),
        Some(1),
        "{:?}",
        possible
            .iter()
            .map(|p| (&p.call.item, p.gates))
            .collect::<Vec<_>>()
    );
}

#[test]
fn markers_behind_full_stops_items_and_other_scripts_are_read_by_default_only() {
    let item = "- One of several items that has no full stop at its end";
    let text = format!(
        "This sentence is surely longer than fifty characters.[0] {}\n{item} [1]\n{item} [2-3]",
        long("again, with the citation where it was [1]")
    );
    let (calls, score) = run(&DEFAULT, &answer(&text), |_| label(false));
    // The first two read as in the reference and keep the names by which its verdicts are found.
    assert_eq!(
        calls,
        [
            "s1[0] <- text 0",
            "s2[1] <- text 1",
            "c3[1] <- text 1",
            "c4[2,3] <- text 2|text 3"
        ]
    );
    assert_eq!(
        score.claims[2].claim,
        "One of several items that has no full stop at its end"
    );
    // [0] is a citation of the second sentence, [1] of both items together, [2-3] is 2.
    let (calls, _) = run(&COMPAT, &answer(&text), |_| label(false));
    assert_eq!(
        calls,
        ["s2[0,1] <- text 0|text 1", "s3[1,2] <- text 1|text 2"]
    );

    // 17 characters of Chinese count as 51: as much as 50 of English say. The full stop does not count among them.
    let sentence = "北极的海冰在过去四十年里明显变薄了";
    let text = format!("{sentence}【0】。{sentence}。[4] 冰【1】。");
    let (calls, score) = run(&DEFAULT, &answer(&text), |_| label(true));
    assert_eq!(calls, ["c1[0] <- text 0", "c2[4] <- text 4"]);
    assert_eq!(why(&score.claims[2]), "skipped: under 50 characters");
    assert_eq!(values(&score), [Some(1.0); 3]);
}

proptest! {
    #[test]
    fn shares_are_shares_nothing_is_asked_twice_and_all_calls_is_an_upper_bound(
        parts in prop::collection::vec("([a-z ]{50}|\\[[0-7](, [0-7])?\\]|[.] |\\PC{0,9}|\\n){0,7}", 1..4),
        at_most in 0..4_usize, compat: bool, short: bool, seed: u64,
    ) {
        let form = if short { Form::Short } else { Form::Long };
        let mode = if compat { Mode::Compat } else { Mode::Default };
        let scorer = EntailmentScorer { form, at_most, mode, index_base: IndexBase::One };
        let answer = answer(&parts.concat());
        let mut seen = HashSet::new();
        let mut verdicts = Verdicts::new();
        let all: HashSet<QuestionKey> = scorer
            .possible(&Subject::new(&case(), &answer), &Verdicts::new())
            .unwrap()
            .iter()
            .map(|possible| key(&possible.call))
            .collect();
        let score = loop {
            match scorer.step(&Subject::new(&case(), &answer), &verdicts) {
                Step::Done(score) => break score,
                Step::Ask(calls) => for call in calls {
                    prop_assert!(seen.insert(key(&call)), "asked twice: {:?}", call);
                    prop_assert!(all.contains(&key(&call)));
                    let question = question_of(&call);
                    let length = question.document.len() as u64 + question.claim.len() as u64;
                    verdicts.insert(Arc::clone(&call.item), label(!(length ^ seed).is_multiple_of(3)));
                }
            }
        };
        for value in values_of(&score) {
            prop_assert!((0.0..=1.0).contains(&value));
        }
    }

    /// Sentences of three texts with up to four citations each: the same questions come up in several places. Whatever
    /// the judge says, and after each of its replies, every call was listed as possible, and no nearer.
    #[test]
    fn no_verdicts_ask_for_more_than_is_possible(
        cited in prop::collection::vec((0..3_usize, prop::collection::vec(0..6_u8, 1..5)), 1..5),
        at_most in 0..5_usize, compat: bool, labels in prop::collection::vec(0..4_u8, 64),
    ) {
        let marks = |numbers: &[u8]| numbers.iter().map(|number| format!("[{number}]")).collect::<String>();
        let text: String = cited.iter().map(|(text, numbers)| long(&format!("{text} {}", marks(numbers)))).collect();
        let mode = if compat { Mode::Compat } else { Mode::Default };
        let (scorer, answer) = (EntailmentScorer { at_most, mode, ..DEFAULT }, answer(&text));
        let mut verdicts = Verdicts::new();
        let mut labels = labels.iter().cycle();
        let mut rounds = 0;
        let mut bounds: Vec<HashMap<QuestionKey, usize>> = Vec::new();
        while let Step::Ask(calls) = scorer.step(&Subject::new(&case(), &answer), &verdicts) {
            let possible = scorer.possible(&Subject::new(&case(), &answer), &verdicts).unwrap();
            let bound: HashMap<_, _> = possible.iter().map(|possible| (key(&possible.call), possible.gates)).collect();
            prop_assert_eq!(bound.len(), possible.len(), "a question twice");
            bounds.push(bound);
            for call in calls {
                for (round, bound) in bounds.iter().enumerate() {
                    let gates = bound.get(&key(&call)).copied();
                    prop_assert!(gates.is_some_and(|gates| gates <= rounds - round), "{:?} is {:?} away", call, gates);
                }
                let judged = match labels.next() {
                    Some(0) => Err(UnscoredReason::new(UnscoredKind::Unreadable, "?")),
                    Some(1) => label(false),
                    _ => label(true),
                };
                verdicts.insert(Arc::clone(&call.item), judged);
            }
            rounds += 1;
        }
        prop_assert!(scorer.possible(&Subject::new(&case(), &answer), &verdicts).unwrap().is_empty(), "all is known");
    }

    #[test]
    fn the_order_of_whole_paragraphs_does_not_matter(cited in prop::collection::vec(0..8_u8, 1..6)) {
        let sentence = |(at, number): (usize, &u8)| long(&format!("{at} [{number}]"));
        let forth: String = cited.iter().enumerate().map(sentence).collect();
        let back: String = cited.iter().enumerate().rev().map(sentence).collect();
        let judge = |document: &str| label(document.contains(['0', '2', '5']));
        prop_assert_eq!(values(&run(&DEFAULT, &answer(&forth), judge).1), values(&run(&DEFAULT, &answer(&back), judge).1));
    }
}

type QuestionKey = (Arc<str>, Arc<str>);

fn question_of(call: &JudgeCall) -> &SourceSupport {
    call.question.downcast_ref().unwrap()
}

fn key(call: &JudgeCall) -> QuestionKey {
    (
        Arc::clone(&question_of(call).claim),
        Arc::clone(&question_of(call).document),
    )
}

fn values_of(score: &Score) -> Vec<f64> {
    let shares: HashMap<_, _> = score
        .components
        .iter()
        .map(|c| (&*c.name, c.value))
        .collect();
    ["citation_recall", "citation_precision", "citation_f1"]
        .iter()
        .filter_map(|name| *shares.get(name)?)
        .collect()
}
