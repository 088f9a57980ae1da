use serde_json::json;

use super::*;
use crate::domain::{CaseCriterion, Level, ReplyShape};
use crate::question::{CriteriaLevels, DecisionForm, DecisionWording, SnippetEvidence};

/// Instructions that are what is decided.
struct Plain;

impl DecisionWording for Plain {
    fn instructions(&self, decided: &str, is_fault: bool) -> String {
        format!("{decided}{}", if is_fault { " (fault)" } else { "" })
    }
}

fn level(level: Value, credit: f64) -> Level {
    let means = format!("earns {credit}");
    Level {
        also: Default::default(),
        level,
        credit,
        means,
    }
}

fn criteria(levels: Vec<Level>, abstain: &str, weights: &[f64]) -> CriteriaLevels {
    let shape = ReplyShape {
        levels,
        abstain: abstain.to_owned(),
        ..ReplyShape::default()
    };
    let criteria = weights
        .iter()
        .enumerate()
        .map(|(at, weight)| CaseCriterion {
            name: format!("k{}", at + 1),
            text: format!("criterion {}", at + 1).into(),
            weight: *weight,
            ..CaseCriterion::default()
        });
    CriteriaLevels {
        question: "q".into(),
        answer: "a".into(),
        criteria: criteria.collect(),
        shape: Arc::new(shape),
        reference: None,
        shown: Default::default(),
        layout: Default::default(),
    }
}

fn met_or_not(weights: &[f64]) -> CriteriaLevels {
    let levels = vec![level(json!("met"), 1.0), level(json!("not met"), 0.0)];
    criteria(levels, "", weights)
}

fn chunk(question: impl Question, names: &[&str]) -> DecisionChunk {
    let question: Arc<dyn Question> = Arc::new(question);
    let decisions = question.decisions(&Plain);
    let items = names
        .iter()
        .zip(decisions)
        .map(|(name, decisions)| ChunkItem {
            name: (*name).into(),
            question: Arc::clone(&question),
            decisions,
        });
    DecisionChunk {
        shape: DecisionShape::Named,
        is_reversed: false,
        items: items.collect(),
    }
}

fn numbers(chunk: &DecisionChunk, answers: &Value) -> Vec<Option<f64>> {
    let reply = JudgeReply::of_text(answers.to_string());
    let judgment = chunk
        .parse(&reply, Mode::Default)
        .map_err(UnscoredReason::from);
    let judgments = chunk.split(&judgment).into_iter();
    let numbers = judgments.map(|judgment| judgment.ok()?.verdict.number());
    numbers.collect()
}

#[test]
fn a_request_asks_its_items_under_names_in_their_order() {
    let chunk = chunk(met_or_not(&[1.0, -1.0]), &["k1", "k2"]);
    let questions = chunk.questions();
    let means = json!({"true": "earns 1", "false": "earns 0"});
    let expected = json!({
        "c1": {"type": "noul", "instructions": "criterion 1", "criteria": means},
        "c2": {"type": "noul", "instructions": "criterion 2 (fault)", "criteria": means},
    });
    assert_eq!(questions, expected);
    let listed = DecisionShape::Listed.written(&chunk.decisions()[1..], false);
    let instructions = "criterion 2 (fault)\nTrue when: earns 1\nFalse when: earns 0";
    let expected = json!([{"type": "predicate", "name": "c1", "instructions": instructions}]);
    assert_eq!(listed, expected);
}

#[test]
fn one_unreadable_answer_leaves_the_others_alone() {
    let chunk = chunk(met_or_not(&[1.0, 1.0, 1.0]), &["k1", "k2", "k3"]);
    let noul = |p: f64| json!({"type": "noul", "noul": p});
    let answers = json!({"c1": noul(0.9), "c2": noul(1.2), "c3": noul(0.1)});
    assert_eq!(numbers(&chunk, &answers), [Some(1.0), None, Some(0.0)]);
}

#[test]
fn scales_and_abstentions_are_choices() {
    let three = vec![
        level(json!(1), 1.0),
        level(json!(0.5), 0.5),
        level(json!(0), 0.0),
    ];
    let form = |question: CriteriaLevels| {
        let decision = question.decisions(&Plain).remove(0).remove(0);
        let labels: Vec<String> = decision
            .options
            .iter()
            .map(|option| option.label.clone())
            .collect();
        (decision.form, labels.join(" "))
    };
    let scale = form(criteria(three.clone(), "", &[1.0]));
    assert_eq!(scale, (DecisionForm::Score, "0 0.5 1".to_owned()));
    let choice = form(criteria(three, "cannot assess", &[1.0]));
    assert_eq!(
        choice,
        (DecisionForm::Choice, "1 0.5 0 cannot assess".to_owned())
    );
    let mut points = criteria(
        vec![level(json!(0), 0.0), level(json!(10), 1.0)],
        "",
        &[1.0],
    );
    Arc::make_mut(&mut points.shape).continuous = true;
    let (form, labels) = form(points);
    assert_eq!(
        (form, labels.split(' ').count()),
        (DecisionForm::Choice, 11)
    );
}

#[test]
fn two_scores_are_no_decision() {
    let mut compared = met_or_not(&[1.0]);
    Arc::make_mut(&mut compared.shape).second = "second".to_owned();
    assert!(compared.decisions(&Plain).is_empty());
}

#[test]
fn snippets_are_counted_and_one_without_a_verdict_leaves_the_count_open() {
    let evidence = SnippetEvidence {
        question: "q".into(),
        answer: "a".into(),
        snippets: ["s", "t", "u"].map(str::to_owned).into(),
    };
    let chunk = chunk(evidence, &["k1_evidence"]);
    let noul = |p: f64| json!({"type": "noul", "noul": p});
    let answers = json!({"c1": noul(0.9), "c2": noul(0.2), "c3": noul(0.7)});
    assert_eq!(numbers(&chunk, &answers), [Some(2.0)]);
    let reading = chunk.read(&JudgeReply::of_text(answers.to_string()), Mode::Default);
    let belief = chunk
        .split(&Ok(reading.unwrap()))
        .remove(0)
        .unwrap()
        .belief
        .unwrap();
    // .9 + .2 + .7, and .09 + .16 + .21
    assert!((belief.expected - 1.8).abs() < 1e-12);
    assert!((belief.doubt.unwrap() - 0.46).abs() < 1e-12);
    let answers = json!({"c1": noul(0.9), "c3": noul(0.7)});
    assert_eq!(numbers(&chunk, &answers), [None]);
}

#[test]
fn what_is_too_long_is_asked_in_halves_until_one_is_left() {
    let whole = chunk(met_or_not(&[1.0; 3]), &["k1", "k2", "k3"]);
    assert_eq!(&*whole.name(), "k1..k3");
    let [first, second] = whole.halves().unwrap();
    assert_eq!([&*first.name(), &*second.name()], ["k1..k2", "k3"]);
    assert!(second.halves().is_none());
    let reply = JudgeReply {
        finish_reason: Some(TOO_LONG.to_owned()),
        ..JudgeReply::of_text("status 413")
    };
    let unreadable = second.parse(&reply, Mode::Default).unwrap_err();
    assert_eq!(unreadable.kind, UnscoredKind::ContextOverflow);
    assert!(!unreadable.ask_again);
}
