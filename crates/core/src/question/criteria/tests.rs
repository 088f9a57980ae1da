use super::*;
use crate::domain::Level;
use crate::question::decision::DecisionForm;

struct Plain;

impl DecisionWording for Plain {
    fn instructions(&self, decided: &str, _is_fault: bool) -> String {
        decided.to_owned()
    }
}

impl Words for Plain {
    fn coverage(&self, criterion: &str, _answer: &Arc<str>) -> f64 {
        f64::from(u8::from(criterion.contains("all")))
    }

    fn expertise(&self, _question: &str, _answer: &Arc<str>) -> f64 {
        0.0
    }

    fn has_snippet(&self, _snippet: &str, _answer: &Arc<str>) -> bool {
        false
    }

    fn is_related(&self, _text: &str, _question: &str) -> bool {
        false
    }

    fn is_support(&self, _source: &str, _claim: &str) -> bool {
        false
    }

    fn claims(&self, _answer: &str) -> Value {
        Value::Null
    }
}

fn question(form: ReplyForm, texts: &[&str]) -> CriteriaLevels {
    let level = |level: &str, credit| Level {
        level: level.into(),
        credit,
        also: BTreeMap::new(),
        means: format!("profile: {level}"),
    };
    let mut criteria = Vec::new();
    for text in texts {
        criteria.push(CaseCriterion {
            text: (*text).into(),
            weight: -2.0,
            level_means: vec!["case: yes".to_owned(), "case: no".to_owned()],
            ..CaseCriterion::default()
        });
    }
    CriteriaLevels {
        question: "q".into(),
        answer: "a".into(),
        criteria: criteria.into(),
        shape: Arc::new(ReplyShape {
            form,
            key: "score".to_owned(),
            marks: vec!["VERDICT:".to_owned()],
            levels: vec![level("Yes", 1.0), level("No", 0.0)],
            ..ReplyShape::default()
        }),
        reference: None,
        shown: ShownFields::default(),
        layout: Default::default(),
    }
}

fn of_shape(question: &CriteriaLevels, change: impl FnOnce(&mut ReplyShape)) -> CriteriaLevels {
    let mut shape = (*question.shape).clone();
    change(&mut shape);
    CriteriaLevels {
        shape: shape.into(),
        ..question.clone()
    }
}

#[test]
fn the_nodes_above_a_criterion_stand_before_its_text() {
    let asked = question(ReplyForm::Object, &["it runs"]);
    let criterion = CaseCriterion {
        nodes_above: vec!["the paper".into(), "its code".into()],
        ..asked.criteria[0].clone()
    };
    assert_eq!(
        asked.with_examples(&criterion),
        "[part of: the paper > its code] it runs"
    );
}

#[test]
fn with_compat_any_number_counts_where_not_only_levels_are_read() {
    let numbers = of_shape(&question(ReplyForm::Object, &["it runs"]), |shape| {
        shape.levels[0].level = 1.into();
        shape.levels[1].level = 0.into();
    });
    let only_levels = of_shape(&numbers, |shape| shape.only_levels = true);
    let two = JudgeReply::of_text(r#"{"score": 2}"#);
    assert!(numbers.read(&two, Mode::Compat).is_ok());
    assert!(only_levels.read(&two, Mode::Compat).is_err());
    let met = JudgeReply::of_text(r#"{"score": 1.0}"#);
    assert!(only_levels.read(&met, Mode::Compat).is_ok());
}

#[test]
fn the_baseline_replies_in_every_form_and_prompts_and_schemas_describe_it() {
    let two = ["it covers all", "nothing"];
    let by_text = of_shape(&question(ReplyForm::Object, &two), |shape| {
        shape.by_text = true;
        shape.list = Some(("results".to_owned(), "item".to_owned()));
    });
    let questions = [
        (
            question(ReplyForm::List, &two),
            "[\"Yes\" or \"No\", ..]",
            false,
        ),
        (
            question(ReplyForm::Map, &two),
            "{\"verdicts\": {\"criterion1\": {\"explanation\": ",
            true,
        ),
        (
            question(ReplyForm::FirstWord, &two[..1]),
            "as the first word, Yes or No;",
            false,
        ),
        (
            question(ReplyForm::Mark, &two[..1]),
            "VERDICT: and the level: Yes or No",
            false,
        ),
        (
            by_text,
            "{\"results\": [{\"item\": \"the text of the criterion\", \"explanation\": ",
            true,
        ),
    ];
    for (question, description, has_schema) in questions {
        let count = question.criteria.len();
        let described = question.shape.describe_reply(count);
        assert!(described.contains(description), "{described}");
        let reply = question.baseline(&Plain).unwrap();
        let read = question.parse(&JudgeReply::of_text(&*reply), Mode::Default);
        let Verdict::Criteria(verdicts) = read.unwrap().verdict else {
            panic!("{reply}");
        };
        let credits: Vec<_> = verdicts.iter().map(|verdict| verdict.credit).collect();
        assert_eq!(credits, [Some(1.0), Some(0.0)][..count], "{reply}");
        assert_eq!(question.replies_in_json(), has_schema);
        assert_eq!(question.schema().is_some(), has_schema);
    }
}

#[test]
fn schemas_name_the_entries_of_maps_and_texts() {
    let schema = question(ReplyForm::Map, &["a", "b"]).schema().unwrap();
    let entries = &schema["properties"]["verdicts"];
    assert_eq!(entries["required"], json!(["criterion1", "criterion2"]));
    let entry = &entries["properties"]["criterion2"];
    assert_eq!(entry["required"], json!(["explanation", "score"]));
    let by_text = of_shape(&question(ReplyForm::Object, &["a", "b"]), |shape| {
        shape.by_text = true
    });
    let schema = by_text.schema().unwrap();
    let entry = &schema["properties"]["verdicts"]["items"];
    assert_eq!(
        entry["required"],
        json!(["criterion", "explanation", "score"])
    );
    assert_eq!(entry["properties"]["criterion"], json!({"type": "string"}));
}

#[test]
fn every_form_is_a_decision_with_the_meanings_of_the_case_but_for_any_number_behind_a_mark() {
    for form in [
        ReplyForm::List,
        ReplyForm::Map,
        ReplyForm::FirstWord,
        ReplyForm::Mark,
    ] {
        let mut asked = question(form, &["a"]);
        asked.shown.weight = true;
        let decision = asked.decisions(&Plain).remove(0).remove(0);
        assert_eq!(decision.form, DecisionForm::Predicate);
        assert_eq!(decision.instructions, "[-2 points] a");
        let means: Vec<_> = decision
            .options
            .iter()
            .map(|option| &*option.means)
            .collect();
        assert_eq!(means, ["case: no", "case: yes"]);
    }
    let numbers = |form| {
        let asked = of_shape(&question(form, &["a"]), |shape| {
            shape.continuous = true;
            shape.levels[0].level = 10.into();
            shape.levels[1].level = 0.into();
        });
        asked.decisions(&Plain)
    };
    assert_eq!(numbers(ReplyForm::Mark), Vec::<Vec<_>>::new());
    let of_map = numbers(ReplyForm::Map).remove(0).remove(0);
    assert_eq!(of_map.options.len(), 11);
    assert_eq!(of_map.options[10].means, "case: yes");
}

#[test]
fn samples_are_asked_for_while_a_further_credit_is_open() {
    let sample = |credit: f64, strict: f64| {
        let verdict = CriterionVerdict {
            credit: Some(credit),
            also: [("strict".to_owned(), strict)].into(),
            ..CriterionVerdict::default()
        };
        Sample::from(Ok(Reading::new(Verdict::Criteria([verdict].into()))))
    };
    let asked = question(ReplyForm::FirstWord, &["a"]);
    let needed = |samples: &[Sample]| {
        asked.samples_needed(samples, 1, GradeMerge::MostCommon, Mode::Default)
    };
    assert_eq!(needed(&[sample(0.0, 0.0), sample(0.0, 0.0)]), 0);
    assert_eq!(needed(&[sample(0.0, 0.0), sample(0.0, 1.0)]), 1);
}

#[test]
fn passes_are_known_where_every_sample_has_a_credit() {
    let sample = |credit: Option<f64>| {
        let verdict = CriterionVerdict {
            credit,
            ..CriterionVerdict::default()
        };
        Sample::from(Ok(Reading::new(Verdict::Criteria([verdict].into()))))
    };
    let merged = |samples: &[Sample], rule| {
        let merged = question(ReplyForm::Object, &["a"]).merge(samples, rule, Mode::Default);
        let Verdict::Criteria(of_one) = merged.unwrap().verdict else {
            panic!("another verdict")
        };
        (of_one[0].credit, of_one[0].passes.clone())
    };
    let [met, not] = [1.0, 0.0].map(|credit| sample(Some(credit)));
    let both = [met.clone(), not.clone()];
    assert_eq!(merged(&both, GradeMerge::Mean), (Some(0.5), vec![1.0, 0.0]));
    // The third sample would be taken for the second pass.
    let open = [met.clone(), sample(None), not];
    assert_eq!(merged(&open, GradeMerge::Mean), (Some(0.5), Vec::new()));
    assert_eq!(
        merged(&both, GradeMerge::MostCommon),
        (Some(1.0), Vec::new())
    );
    assert_eq!(merged(&[met], GradeMerge::Mean), (Some(1.0), Vec::new()));
}
