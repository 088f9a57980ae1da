//! Rubrics that cannot be scored are refused before the first call; replies that a reference asks for again are asked for
//! again as often as it does.

use serde_json::{Value, json};

use crate::support::fake_server::{Behaviour, FakeServer};
use crate::support::workspace::Workspace;

/// One case with these criteria and an answer of one system.
fn with_criteria(criteria: &Value) -> Workspace {
    let work = Workspace::new(&["alpha"], 1);
    let case = json!({"case_id": "c1", "question": "Why?", "criteria": criteria});
    work.write("tests.json", &case.to_string());
    work
}

/// A directory `mine` with the default profile after a replacement.
fn write_profile(work: &Workspace, from: &str, to: &str) {
    let profile = work.run(&["rubrics", "show", "criteria"]).exits_with(0);
    assert!(profile.stdout.contains(from), "{}", profile.stdout);
    std::fs::create_dir(work.path("mine")).unwrap();
    work.write("mine/profile.toml", &profile.stdout.replace(from, to));
}

#[test]
fn levels_that_no_reply_can_distinguish_are_refused_by_check_and_score() {
    let work = with_criteria(&json!(["a"]));
    write_profile(&work, "level = \"not met\"", "level = \"MET\"");
    let server = FakeServer::start(Behaviour::good());
    let what = ["mine/profile.toml: the levels \"met\" and \"MET\" cannot be distinguished"];
    work.run(&["rubrics", "check", "tests.json", "--rubric", "mine"])
        .exits_with(3)
        .says(&what);
    work.score(&server, &["--rubric", "mine"])
        .exits_with(3)
        .says(&what);
    assert_eq!(server.chat_count(), 0);
}

#[test]
fn weights_without_a_finite_sum_are_refused_before_the_first_call() {
    let large = |weight: f64| json!({"text": format!("criterion {weight}"), "weight": weight});
    let server = FakeServer::start(Behaviour::good());
    for criteria in [
        json!([large(1e308), large(1.1e308)]),
        json!([large(1e308), large(-1.1e308)]),
        json!([large(1e-300), large(-1e300)]),
        json!({"group": [large(1e308), large(1.1e308)]}),
    ] {
        let work = with_criteria(&criteria);
        let what = [
            "tests.json:1 (case c1): ",
            "are not finite; scale them down",
        ];
        work.run(&["rubrics", "check", "tests.json"])
            .exits_with(3)
            .says(&what);
        work.score(&server, &[]).exits_with(3).says(&what);
    }
    assert_eq!(server.chat_count(), 0);
}

#[test]
fn an_empty_rubric_is_an_error_that_says_what_is_empty() {
    for criteria in [json!({}), json!([])] {
        let work = with_criteria(&criteria);
        work.run(&["rubrics", "check", "tests.json"])
            .exits_with(3)
            .says(&["criteria is empty; give the case criteria, or leave it out"]);
    }
    let work = with_criteria(&json!([]));
    work.write("tests.json", "{}");
    work.run(&["rubrics", "check", "tests.json"])
        .exits_with(3)
        .says(&["tests.json: the first case is an empty object; write one {case_id, question,"]);
}

#[test]
fn race_asks_ten_times_for_a_score_in_every_dimension_and_then_leaves_the_answer_out() {
    let work = Workspace::new(&["alpha"], 1);
    let criterion = |text: &str| json!({"criterion": text, "weight": 1});
    let case = json!({
        "id": "c1", "prompt": "Why?", "article": "Because.",
        "criterions": {"depth": [criterion("a"), criterion("b")], "style": [criterion("c")]},
        "dimension_weight": {"depth": 0.6, "style": 0.4},
    });
    work.write("tests.json", &case.to_string());
    let scores = |numbers: &'static [usize]| {
        let verdicts: Vec<Value> = numbers
            .iter()
            .map(|number| json!({"criterion": number, "article_1_score": 6, "article_2_score": 4}))
            .collect();
        Behaviour::good().saying(move |_| json!({"verdicts": verdicts}).to_string())
    };
    let compat = ["--rubric", "race", "--compat", "--max-unscored", "100%"];
    let server = FakeServer::start(scores(&[]));
    for numbers in [&[][..], &[1, 2]] {
        let server = FakeServer::start(scores(numbers));
        let out = format!("partial{}", numbers.len());
        work.score(
            &server,
            &[&compat[..], &["--no-cache", "--out", &out]].concat(),
        )
        .exits_with(5);
        assert_eq!(server.chat_count(), 10, "{numbers:?}");
        let score = &work.lines(&format!("{out}/scores.jsonl"))[0];
        assert_eq!(score["score"], Value::Null, "{score}");
    }
    // One score in each dimension is enough for the reference: 0.6 of 0.6 + 0.4 in both.
    let server = server.replaced_by(scores(&[2, 3]));
    work.score(&server, &[&compat[..], &["--no-cache"]].concat())
        .exits_with(0);
    assert_eq!(server.chat_count(), 1);
    assert_eq!(work.lines("out/scores.jsonl")[0]["score"], 0.6);
}

/// A workspace with the prompts of the fixture of astabench in `set`, one report, and one case with these ingredients.
fn with_report(ingredients: Option<Value>) -> Workspace {
    let work = Workspace::new(&["alpha"], 1);
    let mut case = json!({"case_id": "c1", "question": "Why?"});
    if let Some(ingredients) = ingredients {
        case["ingredients"] = ingredients;
    }
    work.write("tests.json", &json!([case]).to_string());
    let report = json!({"sections": [{"title": "t", "text": "A claim.", "citations": []}]});
    work.answers("alpha", [("c1", report.to_string())]);
    let fixture = format!(
        "{}/tests/fixtures/prompts/asta-bench",
        env!("CARGO_MANIFEST_DIR")
    );
    work.run(&[
        "prompts", "import", &fixture, "--family", "cs2", "--out", "set",
    ])
    .exits_with(0);
    work
}

#[test]
fn with_imported_prompts_an_unreadable_reply_is_asked_for_as_often_as_by_the_reference() {
    let ingredient = json!([{"name": "a", "criterion": "Says why", "weight": 1, "examples": []}]);
    let work = with_report(Some(ingredient));
    let is_about_ingredients = |text: &str| text.contains("Nests:");
    let server = FakeServer::start(Behaviour::good().saying(move |request| {
        if is_about_ingredients(&request.user_message()) {
            return "I would rather not say.".to_owned();
        }
        json!({"irrelevant_paragraphs": []}).to_string()
    }));
    work.score(
        &server,
        &["--compat", "--prompts", "set", "--max-unscored", "100%"],
    )
    .exits_with(0);
    let chats = server.chats();
    let asked = chats
        .iter()
        .filter(|chat| is_about_ingredients(&chat.user_message()));
    assert_eq!(asked.count(), 21, "one attempt and 20 repeats");
}

#[test]
fn without_ingredients_compat_has_recall_0_and_asks_the_rest() {
    for ingredients in [None, Some(json!([]))] {
        let work = with_report(ingredients);
        let server = FakeServer::start(
            Behaviour::good().saying(|_| json!({"irrelevant_paragraphs": []}).to_string()),
        );
        work.score(&server, &["--compat", "--rubric", "scholarqa-cs2"])
            .exits_with(0);
        let score = &work.lines("out/scores.jsonl")[0];
        let metrics = &score["components"];
        assert_eq!(
            (&metrics["ingredient_recall"], &metrics["answer_precision"]),
            (&json!(0.0), &json!(1.0)),
            "{score}"
        );
        // (0 + 1 + 0 + 0) / 4
        assert_eq!(score["score"], 0.25);
        work.score(&server, &["--rubric", "scholarqa-cs2", "--out", "default"])
            .exits_with(3);
    }
}

#[test]
fn a_tag_named_overall_score_is_the_references_metric_of_every_answer() {
    let work = Workspace::new(&["alpha"], 2);
    let item =
        |criterion: &str, tags: &[&str]| json!({"criterion": criterion, "points": 1, "tags": tags});
    let cases = json!([
        {"prompt_id": "c1", "prompt": "Why?", "rubrics": [item("Names the tide", &["overall_score"]), item("Omits the moon", &["x"])]},
        {"prompt_id": "c2", "prompt": "How?", "rubrics": [item("Omits the moon", &["x"]), item("Names the tide", &["x"]), item("Omits the sun", &[])]},
    ]);
    work.write("tests.json", &cases.to_string());
    let server = FakeServer::start(Behaviour::good().saying(|request| {
        let is_met = request.user_message().contains("Names the tide");
        json!({"explanation": "e", "criteria_met": is_met}).to_string()
    }));
    let metric = |more: &[&str], out: &str| {
        let options = [&["--rubric", "healthbench", "--out", out], more].concat();
        work.score(&server, &options).exits_with(0);
        let summary = work.json(&format!("{out}/summary.json"));
        summary["scorers"][0]["rows"][0]["metrics"]["overall_score"].clone()
    };
    // The tag's score of the first answer, 1/1, and the whole score of the second, 1/3.
    let compat = metric(&["--compat"], "compat");
    assert_eq!(compat["n"], 2);
    let mean = compat["estimate"].as_f64().unwrap();
    assert!((mean - 2.0 / 3.0).abs() < 1e-12, "{mean}");
    assert_eq!(metric(&[], "default")["n"], 1);
}
