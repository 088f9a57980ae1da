use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::*;
use crate::domain::{CriterionVerdict, Verdict};

fn credit_verdict(credit: Option<f64>) -> Verdict {
    let verdict = CriterionVerdict {
        credit,
        ..CriterionVerdict::default()
    };
    Verdict::Criteria([verdict].into())
}

fn decision(
    form: DecisionForm,
    options: &[(&str, Option<f64>)],
    is_fault: bool,
) -> DecisionQuestion {
    let options = options
        .iter()
        .map(|(label, credit)| DecisionOption::new(*label, credit_verdict(*credit)));
    DecisionQuestion {
        instructions: "i".to_owned(),
        form,
        options: options.collect(),
        is_fault,
    }
}

/// The decision of a case of the golden file.
fn asked(case: &Value) -> DecisionQuestion {
    let form = match case["form"].as_str().unwrap() {
        "predicate" => DecisionForm::Predicate,
        "choice" => DecisionForm::Choice,
        _ => DecisionForm::Score,
    };
    let labels = case["options"].as_array().unwrap();
    let credits = case["credits"].as_array().unwrap();
    let options: Vec<(&str, Option<f64>)> = labels
        .iter()
        .zip(credits)
        .map(|(label, credit)| (label.as_str().unwrap(), credit.as_f64()))
        .collect();
    decision(form, &options, case["fault"] == json!(true))
}

fn rounded(number: f64) -> f64 {
    (number * 1e12).round() / 1e12
}

/// What the golden file says of a reading: its fate, and of a verdict its numbers.
fn fate(decision: &DecisionQuestion, reading: &Result<Reading, Unreadable>) -> Value {
    let reading = match reading {
        Ok(reading) => reading,
        Err(unreadable) => {
            let fate = match unreadable.kind {
                UnscoredKind::Missing => "missing",
                UnscoredKind::Refused => "refused",
                _ => "unreadable",
            };
            assert_eq!(unreadable.ask_again, fate == "unreadable");
            return json!({"fate": fate});
        }
    };
    let level = decision
        .options
        .iter()
        .find(|option| option.verdict == reading.verdict);
    let Some(credit) = reading.verdict.number() else {
        return json!({"fate": "abstained", "level": level.unwrap().label});
    };
    let mut fate = json!({"fate": "ok"});
    let belief = reading.belief;
    let has_level = belief.is_none_or(|belief| belief.doubt.is_some());
    if has_level {
        fate["level"] = level.unwrap().label.as_str().into();
        fate["credit"] = credit.into();
    }
    if let Some(belief) = belief {
        fate["expected_credit"] = rounded(belief.expected).into();
        if let Some(doubt) = belief.doubt {
            fate["doubt"] = rounded(doubt).into();
        }
        if belief.is_tie {
            fate["note"] = "tie".into();
        }
    }
    if belief.is_none_or(|belief| belief.doubt.is_none()) {
        fate["note"] = "no probabilities".into();
    }
    fate
}

/// The answers of a reply under the names that we give the questions.
fn renamed(answers: &Value, asked: &[Value]) -> Value {
    let names: Vec<&str> = asked
        .iter()
        .map(|one| one["id"].as_str().unwrap())
        .collect();
    let ours = |name: &str| match names.iter().position(|known| *known == name) {
        Some(place) => name_at(place),
        None => format!("other {name}"),
    };
    match answers {
        Value::Object(answers) => answers
            .iter()
            .map(|(name, answer)| (ours(name), answer.clone()))
            .collect(),
        Value::Array(answers) => {
            let mut answers = answers.clone();
            for answer in &mut answers {
                if let Some(name) = answer["name"].as_str().map(ours) {
                    answer["name"] = name.into();
                }
            }
            answers.into()
        }
        other => other.clone(),
    }
}

#[test]
fn replies_are_read_as_the_reference_reads_them() {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared");
    let shared = std::env::var_os("SCHOLAREVAL_SHARED").map_or_else(beside, PathBuf::from);
    let path = shared.join("golden/decisions.json");
    let Ok(golden) = std::fs::read(&path) else {
        println!("skipped: {} is not there", path.display());
        return;
    };
    let golden: Value = serde_json::from_slice(&golden).unwrap();
    let cases = ["cases", "odd"].map(|list| golden[list].as_array().unwrap());
    let mut read = 0;
    for case in cases.into_iter().flatten() {
        let expected = &case["expected"];
        // Errors, and bodies that are not JSON, are the business of the protocol.
        if expected
            .get("call")
            .is_some_and(|call| call != "unreadable: repeat")
        {
            continue;
        }
        let Ok(body) = serde_json::from_str::<Value>(case["reply"].as_str().unwrap()) else {
            continue;
        };
        let shape = match case["shape"].as_str().unwrap() {
            "systemone" => DecisionShape::Named,
            _ => DecisionShape::Listed,
        };
        let asked_list = case["asked"].as_array().unwrap();
        let decisions: Vec<DecisionQuestion> = asked_list.iter().map(asked).collect();
        let body = body.get("result").unwrap_or(&body);
        let readings = shape.read(&decisions, &renamed(&body["answers"], asked_list));
        let id = &case["id"];
        read += 1;
        let Ok(readings) = readings else {
            assert_eq!(expected["call"], "unreadable: repeat", "{id}");
            continue;
        };
        for ((one, decision), reading) in asked_list.iter().zip(&decisions).zip(&readings) {
            let mut expected = expected[one["id"].as_str().unwrap()].clone();
            expected.as_object_mut().unwrap().remove("why");
            assert_eq!(fate(decision, reading), expected, "{id} {}", one["id"]);
        }
    }
    assert!(read > 30, "{read}");
}

fn read(decision: &DecisionQuestion, answer: Value) -> Result<Reading, Unreadable> {
    let shape = DecisionShape::Named;
    let answers = json!({"c1": answer});
    let mut readings = shape
        .read(std::slice::from_ref(decision), &answers)
        .unwrap();
    readings.remove(0)
}

#[test]
fn a_tie_goes_to_the_worse_side() {
    let options = [("not met", Some(0.0)), ("met", Some(1.0))];
    let half = json!({"type": "noul", "noul": 0.5});
    for (is_fault, credit) in [(false, 0.0), (true, 1.0)] {
        let statement = decision(DecisionForm::Predicate, &options, is_fault);
        let reading = read(&statement, half.clone()).unwrap();
        assert_eq!(reading.verdict.number(), Some(credit));
        assert!(reading.belief.unwrap().is_tie);
    }
}

#[test]
fn an_abstention_is_in_no_mean() {
    let options = [
        ("met", Some(1.0)),
        ("not met", Some(0.0)),
        ("cannot assess", None),
    ];
    let choice = decision(DecisionForm::Choice, &options, false);
    let p = json!({"met": 0.6, "not met": 0.2, "cannot assess": 0.2});
    let answer = json!({"type": "choice", "choice": "met", "probabilities": p});
    let belief = read(&choice, answer).unwrap().belief.unwrap();
    // .6 / (.6 + .2), and its variance
    assert_eq!(rounded(belief.expected), 0.75);
    assert_eq!(rounded(belief.doubt.unwrap()), 0.1875);
}

#[test]
fn a_label_is_matched_without_case_only_if_one_is_alike() {
    let options = [("Met", Some(1.0)), ("MET", Some(0.5)), ("no", Some(0.0))];
    let choice = decision(DecisionForm::Choice, &options, false);
    let answer = |choice: &str| json!({"type": "choice", "choice": choice});
    assert_eq!(
        read(&choice, answer(" NO ")).unwrap().verdict.number(),
        Some(0.0)
    );
    assert_eq!(
        read(&choice, answer("met")).unwrap_err().what,
        "no option is \"met\""
    );
}

#[test]
fn a_mean_level_beyond_the_scale_is_none() {
    let options = [("0", Some(0.0)), ("1", Some(0.5)), ("2", Some(1.0))];
    let scale = decision(DecisionForm::Score, &options, false);
    let answer = |score: f64| json!({"type": "score", "score": score});
    assert_eq!(
        read(&scale, answer(2.0)).unwrap().verdict.number(),
        Some(1.0)
    );
    assert_eq!(
        read(&scale, answer(1.5)).unwrap().verdict.number(),
        Some(0.75)
    );
    let fault = read(&scale, answer(2.1)).unwrap_err();
    assert_eq!(fault.what, "the score is outside its levels");
}
