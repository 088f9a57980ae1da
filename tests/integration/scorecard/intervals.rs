//! One mean has one interval, whichever command shows it.

use serde_json::{Value, json};

use super::{
    Behaviour, FakeServer, Recorded, Workspace, aspect_of, empty_workspace, judge_table, judging,
    metric, prediction, write_predictions,
};
use crate::support::workspace::test_case;

fn number_of(text: &str) -> u32 {
    u32::from(blake3::hash(text.as_bytes()).as_bytes()[0])
}

/// Grades, labels and points by the prompt alone, so that answers differ.
fn opinions(request: &Recorded) -> String {
    let number = number_of(&request.user_message());
    if aspect_of(request) != "none" {
        return format!("Feedback: read. [RESULT] {}", 1 + number % 5);
    }
    if !judging::section(request, "claim").is_empty() {
        return ["Attributable", "Extrapolatory", "Contradictory"][number as usize % 3].to_owned();
    }
    match judging::kind_of(request) {
        "property" | "expertise" => json!({"score": number % 11}).to_string(),
        kind => judging::constant_reply(kind),
    }
}

/// What `compare` says of a system by one metric: its mean and the interval of it.
#[track_caller]
fn compared(told: &Value, name: &str, system: &str) -> [Value; 3] {
    let metric = told["metrics"]
        .as_array()
        .unwrap()
        .iter()
        .find(|metric| metric["metric"]["name"] == name);
    let metric = metric.unwrap_or_else(|| panic!("no {name} in {told}"));
    let systems = metric["systems"].as_array().unwrap();
    let own = systems.iter().find(|own| own["label"] == system).unwrap();
    [
        own["mean"].clone(),
        own["interval"]["low"].clone(),
        own["interval"]["high"].clone(),
    ]
}

/// The same of an object of `summary.json`.
fn summed_up(metric: &Value) -> [Value; 3] {
    ["estimate", "low", "high"].map(|part| metric[part].clone())
}

/// Equal to the last digit, and an interval that holds more than the mean.
#[track_caller]
fn is_one(ours: &[Value; 3], theirs: &[Value; 3], name: &str) {
    let number = |value: &Value| {
        value
            .as_f64()
            .unwrap_or_else(|| panic!("{name}: {ours:?} {theirs:?}"))
    };
    assert!(
        (number(&ours[0]) - number(&theirs[0])).abs() < 1e-12,
        "{name}: {ours:?} {theirs:?}"
    );
    assert_eq!(ours[1..], theirs[1..], "{name}");
    assert!(number(&ours[1]) < number(&ours[2]), "{name}: {ours:?}");
}

#[track_caller]
fn comparison(work: &Workspace) -> Value {
    serde_json::from_str(
        &work
            .run(&["compare", "out", "--metric", "all", "--format", "json"])
            .exits_with(0)
            .stdout,
    )
    .unwrap()
}

#[test]
fn score_and_compare_give_one_interval_where_questions_repeat() {
    let work = empty_workspace();
    let server = FakeServer::start(Behaviour::good().saying(opinions));
    let words = [
        "tides", "winds", "rain", "dust", "snow", "heat", "frost", "fog",
    ];
    // Eight questions, each asked twice or thrice: 20 cases, whose ids (12, 3#2, ..) sort otherwise than the file.
    let answer = |system: &str, at: usize| {
        let word = words[at % 8];
        let gold = if number_of(&format!("{system} {at}")).is_multiple_of(2) {
            word
        } else {
            "nothing"
        };
        let output = format!(
            "The {system} claims number {at} that {gold} follows from the pull of the sea [0]. It is so [1]."
        );
        let ctxs = json!([{"title": "T0", "text": format!("Source {at}.")}, {"title": "T1", "text": "Another source."}]);
        prediction(
            &format!("What of the {word}?"),
            &output,
            json!({"ctxs": ctxs, "answer": word}),
        )
    };
    for system in ["alpha", "beta"] {
        let items: Vec<Value> = (0..20).map(|at| answer(system, at)).collect();
        write_predictions(&work, &format!("{system}.json"), &items);
    }
    let table = judge_table("mine", &server, "");
    work.write(
        "eval.toml",
        &(table + "[roles]\naspect = \"mine\"\ncitation = \"mine\"\n"),
    );
    let scored = work
        .run(&[
            "score",
            "alpha.json",
            "beta.json",
            "--config",
            "eval.toml",
            "--out",
            "out",
        ])
        .exits_with(0)
        .says(&[
            "160 calls made, in ",
            "next: scholareval compare out; scholareval report out --out report.html",
        ]);
    let notes = work.json("out/summary.json")["notes"].to_string();
    assert!(
        notes.contains("over 8 questions with all their cases (20)"),
        "{notes}"
    );
    // 20 answers of each system are 40, whoever scores them.
    let planned = [
        "plan",
        "alpha.json",
        "beta.json",
        "--config",
        "eval.toml",
        "--format",
        "json",
    ];
    let planned: Value = serde_json::from_str(&work.run(&planned).exits_with(0).stdout).unwrap();
    assert_eq!(
        (&planned["answers"], &planned["answer_scores"]),
        (&json!(40), &json!(160))
    );
    let (summary, told) = (work.json("out/summary.json"), comparison(&work));
    assert_eq!(
        (&summary["cases"], &summary["questions"]),
        (&json!(20), &json!(8))
    );
    for (scorer, columns) in [
        (
            "prometheus",
            &["organization", "coverage", "relevance", "aspect_mean"][..],
        ),
        (
            "entailment",
            &["citation_recall", "citation_precision", "citation_f1_macro"],
        ),
        ("overlap", &["match"]),
    ] {
        for column in columns {
            for system in ["alpha", "beta"] {
                let own = summed_up(&metric(&summary, scorer, system, column));
                is_one(
                    &own,
                    &compared(&told, column, system),
                    &format!("{system} {column}"),
                );
            }
        }
    }
    // Roles with one judge and one set of prompts share a line.
    let together = "Judge of coverage, organization, relevance: fake-judge";
    assert!(notes.contains(together), "{notes}");
    // A system's citation F1 is made of two means: questions are drawn for it, too.
    let f1 = summed_up(&metric(&summary, "entailment", "alpha", "citation_f1"));
    assert!(
        f1[1].as_f64() < f1[0].as_f64() && f1[0].as_f64() < f1[2].as_f64(),
        "{f1:?}"
    );
    assert_eq!(
        work.run(&["rescore", "out"]).exits_with(0).stdout,
        scored.stdout
    );
}

#[test]
fn the_rubrics_interval_is_that_of_compare_too() {
    let ids: Vec<String> = (1..=12).map(|at| format!("case {}", at * 7 % 13)).collect();
    let case = |(at, id): (usize, &String)| {
        let mut case = test_case(
            id,
            &[("It should name the causes.", &["Rain comes first."])],
        );
        let question = format!("What is known about matter {}?", at % 4);
        case["initial_prompt"] = question.clone().into();
        case["metric_config"]["config"]["question"] = question.into();
        case
    };
    let work = Workspace::with_cases(&ids.iter().enumerate().map(case).collect::<Vec<_>>());
    for system in ["alpha", "beta"] {
        let answers = ids
            .iter()
            .map(|id| (id.as_str(), format!("The {system} answer to {id}.")));
        work.answers(system, answers);
    }
    let server = FakeServer::start(Behaviour::good().saying(opinions));
    work.score(&server, &[]).exits_with(0);
    let (summary, told) = (work.json("out/summary.json"), comparison(&work));
    for row in summary["scorers"][0]["rows"].as_array().unwrap() {
        for name in ["score", "ann_score", "expertise"] {
            let system = row["system"].as_str().unwrap();
            is_one(
                &summed_up(&row["metrics"][name]),
                &compared(&told, name, system),
                &format!("{system} {name}"),
            );
        }
    }
}
