use super::*;
use crate::analysis::made::{component, score};
use crate::domain::ComponentKind;

fn run() -> InspectRun {
    InspectRun {
        run: "mine".into(),
        run_id: "abc".into(),
        started_at: "2026-01-02T03:04:05Z".into(),
        completed_at: Some("2026-01-02T03:05:05Z".into()),
        complete: true,
        dataset: Some("tests.json".into()),
        judges: vec![InspectJudge { role: "rubric".into(), judge: "toy".into(), base_url: None }],
        metadata: serde_json::json!({"mode": "default"}),
    }
}

fn answer(case: &str, scored: crate::domain::Score) -> ScoredAnswer {
    crate::analysis::made::answer("gpt", case, scored)
}

fn text(samples: &[InspectSample<'_>]) -> String {
    String::from_utf8(render_inspect_log(&run(), &"gpt".into(), samples).unwrap()).unwrap()
}

fn sample(scored: &ScoredAnswer) -> InspectSample<'_> {
    InspectSample { case: &scored.case, answer: Some("an answer"), target: None, scored: vec![scored] }
}

#[test]
fn an_unscored_answer_is_a_bare_nan_with_a_reason_and_in_no_mean() {
    let part = |value| component("p", ComponentKind::Property, 1.0, value);
    let scored = [
        answer("c1", score(vec![part(Some(0.5))])),
        answer("c2", score(vec![part(None)])),
        answer("c3", score(vec![part(Some(1.0))])),
    ];
    let text = text(&scored.iter().map(sample).collect::<Vec<_>>());
    assert!(text.contains("\"value\": NaN"), "{text}");
    let value: Value = serde_json::from_str(&text.replace("NaN", "null")).unwrap();
    let unscored = &value["samples"][1]["scores"]["rubric"];
    assert!(unscored["value"].is_null() && unscored["reason"].is_string(), "{unscored}");
    let rubric = &value["results"]["scores"][0];
    assert_eq!((rubric["name"].as_str(), rubric["scored_samples"].as_u64()), (Some("rubric"), Some(2)));
    assert_eq!(rubric["unscored_samples"], 1);
    // (0.5 + 1) / 2; sqrt((0.25^2 + 0.25^2) / 1 / 2) = 0.25
    assert_eq!(rubric["metrics"]["mean"]["value"], 0.75);
    assert_eq!(rubric["metrics"]["stderr"]["value"], 0.25);
}

#[test]
fn other_scorers_give_an_object_of_their_components_with_null_for_what_is_unscored() {
    let parts = |value| {
        let mut made = score(vec![
            component("coverage", ComponentKind::Aspect, 0.0, Some(4.0)),
            component("relevance", ComponentKind::Aspect, 0.0, value),
        ]);
        made.scorer = "prometheus";
        made.value = value.map(|value: f64| (4.0 + value) / 2.0);
        made
    };
    let scored = [answer("c1", parts(Some(2.0))), answer("c2", parts(None))];
    let value: Value = serde_json::from_str(&text(&scored.iter().map(sample).collect::<Vec<_>>())).unwrap();
    assert_eq!(
        value["samples"][0]["scores"]["prometheus"]["value"],
        serde_json::json!({"score": 3.0, "coverage": 4.0, "relevance": 2.0})
    );
    assert!(value["samples"][1]["scores"]["prometheus"]["value"]["relevance"].is_null());
    let names: Vec<_> = value["results"]["scores"].as_array().unwrap().iter().map(|entry| &entry["name"]).collect();
    assert_eq!(names, ["score", "coverage", "relevance"]);
    // one value alone has no standard error
    assert!(value["results"]["scores"][2]["metrics"].get("stderr").is_none());
}
