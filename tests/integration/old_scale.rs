//! Means on the scale of an old judge: `label --random --format csv`, `score --selected`, `compare --corrected-by`, `plan --anchors`.

use std::collections::HashMap;

use serde_json::{Value, json};

use crate::support::fake_server::{Act, Behaviour, FakeServer, Recorded};
use crate::support::workspace::{Finished, Workspace};

/// The grade that the answer names.
fn named_grade(request: &Recorded) -> usize {
    let text = request.user_message();
    let at = text.find("my grade is ").unwrap() + "my grade is ".len();
    text[at..=at].parse().unwrap()
}

fn new_judge(request: &Recorded) -> String {
    format!("Feedback: read. [RESULT] {}", named_grade(request))
}

/// One less than the new judge for every second question.
fn old_judge(request: &Recorded) -> String {
    let text = request.user_message();
    let at = text.find("To question ").unwrap() + "To question ".len();
    let number: String = text[at..]
        .chars()
        .take_while(char::is_ascii_digit)
        .collect();
    let number: usize = number.parse().unwrap();
    let grade = named_grade(request) - usize::from(number.is_multiple_of(2));
    format!("Feedback: read. [RESULT] {grade}")
}

fn server(model: &str, says: fn(&Recorded) -> String) -> FakeServer {
    let models = Act::json(&json!({"data": [{"id": model}]}));
    FakeServer::start(Behaviour::good().models(models).saying(says))
}

/// Answers of these systems, each with a least grade, to 40 questions.
fn work_with(systems: &[(&str, usize)]) -> Workspace {
    let work = Workspace::with_cases(&[]);
    for (system, least) in systems {
        let mut answers: Vec<Value> = Vec::new();
        for at in 0..40 {
            let grade = least + at * 7 % 3;
            let text = format!("To question {at} of {system}, my grade is {grade}.");
            answers.push(json!({"case_id": format!("c{at}"), "input": format!("What is {at}?"), "output": text}));
        }
        let answers = Value::from(answers).to_string();
        work.write(&format!("answers/{system}.json"), &answers);
    }
    work
}

/// Scores these answers by this model.
fn score(
    work: &Workspace,
    answers: &str,
    server: &FakeServer,
    out: &str,
    more: &[&str],
) -> Finished {
    let url = server.base_url();
    let model = server_model(out);
    let common = [
        "score",
        answers,
        "--model",
        model,
        "--base-url",
        &url,
        "--out",
        out,
    ];
    work.run(&[&common[..], more].concat())
}

fn server_model(out: &str) -> &'static str {
    if out.starts_with("old") {
        "old-judge"
    } else {
        "new-judge"
    }
}

const ASPECTS: [&str; 5] = [
    "--scorers",
    "prometheus",
    "--aspects",
    "coverage",
    "--no-reference",
];

/// The run `new` of these systems, after which the user's files are gone.
fn by_new_judge(systems: &[(&str, usize)]) -> Workspace {
    let work = work_with(systems);
    let judge = server("new-judge", new_judge);
    score(&work, "answers", &judge, "new", &ASPECTS).exits_with(0);
    work
}

/// Draws answers of the run `new`, and lets the old judge score them.
fn by_old_judge(work: &Workspace, n: &str) -> usize {
    let drawn = work
        .run(&[
            "label",
            "new",
            "--answers",
            n,
            "--random",
            "--seed",
            "5",
            "--format",
            "csv",
        ])
        .exits_with(0);
    work.write("drawn.csv", &drawn.stdout);
    let judge = server("old-judge", old_judge);
    score(work, "new", &judge, "old", &["--selected", "drawn.csv"]).exits_with(0);
    judge.chat_count()
}

/// The grade of every answer in a run.
fn grades(work: &Workspace, run: &str) -> HashMap<(String, String), f64> {
    let mut grades = HashMap::new();
    for line in work.lines(&format!("{run}/scores.jsonl")) {
        let name = |key: &str| line[key].as_str().unwrap().to_owned();
        let grade = line["components"]["coverage"].as_f64().unwrap();
        grades.insert((name("system"), name("case_id")), grade);
    }
    grades
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

fn sd(values: &[f64]) -> f64 {
    let center = mean(values);
    let squares: f64 = values.iter().map(|value| (value - center).powi(2)).sum();
    (squares / (values.len() as f64 - 1.0)).sqrt()
}

fn corrected(work: &Workspace, more: &[&str]) -> Value {
    let common = [
        "compare",
        "new",
        "--corrected-by",
        "old",
        "--format",
        "json",
    ];
    let compared = work.run(&[&common[..], more].concat()).exits_with(0);
    serde_json::from_str(&compared.stdout).unwrap()
}

fn close(value: &Value, expected: f64) {
    let found = value.as_f64().unwrap_or_else(|| panic!("{value}"));
    assert!((found - expected).abs() < 1e-5, "{found} {expected}");
}

#[test]
fn a_random_part_by_the_old_judge_gives_its_mean_of_all() {
    let work = by_new_judge(&[("alpha", 2), ("beta", 3)]);
    std::fs::remove_dir_all(work.path("answers")).unwrap();
    assert_eq!(
        by_old_judge(&work, "24"),
        24,
        "only the drawn answers are paid for"
    );
    let selected = &work.json("old/manifest.json")["settings"]["selected"];
    assert_eq!(selected["drawn"], json!({"of": 80, "seed": 5}));

    let by_new = grades(&work, "new");
    let by_old = grades(&work, "old");
    let comparison = corrected(&work, &[]);
    let scale = &comparison["old_scales"][0];
    assert_eq!(scale["basis"], "anchors");
    for (at, system) in ["alpha", "beta"].into_iter().enumerate() {
        let row = &scale["systems"][at];
        assert_eq!(row["system"], system);
        assert_eq!((&row["anchors"], &row["answers"]), (&json!(12), &json!(40)));
        let all: Vec<f64> = by_new
            .iter()
            .filter(|(key, _)| key.0 == system)
            .map(|(_, grade)| *grade)
            .collect();
        let old = by_old.iter().filter(|(key, _)| key.0 == system);
        let differences: Vec<f64> = old.map(|(key, grade)| grade - by_new[key]).collect();
        let estimate = mean(&all) + mean(&differences);
        close(&row["estimate"], estimate);
        // t(11) = 2.200985
        let half = 2.200_985 * sd(&differences) * ((1.0 - 12.0 / 40.0) / 12.0_f64).sqrt();
        close(&row["interval"]["low"], estimate - half);
        close(&row["interval"]["high"], estimate + half);
    }
    let shown = work
        .run(&["compare", "new", "--corrected-by", "old"])
        .exits_with(0);
    assert!(
        shown
            .stdout
            .contains("which scored 12 of 40 answers of each system")
            && shown.stdout.contains("not ranked"),
        "{shown:?}"
    );
    assert_eq!(
        work.json("old/summary.json")["part"],
        "24 selected answers, drawn at random from 80"
    );

    let planned = work
        .run(&["plan", "--anchors", "new", "old", "--format", "json"])
        .exits_with(0);
    let planned: Value = serde_json::from_str(&planned.stdout).unwrap();
    assert_eq!(
        (&planned["pilot"], &planned["answers"]),
        (&json!(24), &json!(40))
    );
    // t(19) = 2.093024, 20 of 40 answers
    let sd = planned["sd"].as_f64().unwrap();
    close(
        &planned["rows"][0]["half_width"],
        2.093_024 * sd * (0.5 / 20.0_f64).sqrt(),
    );
}

#[test]
fn a_draw_is_checked_and_another_part_is_refused() {
    let work = by_new_judge(&[("alpha", 2)]);
    by_old_judge(&work, "12");
    let drawn = work.read("drawn.csv");
    let judge = server("old-judge", old_judge);
    let refused = |out: &str| {
        let compared = work.run(&["compare", "new", "--corrected-by", out]);
        assert_ne!(compared.code, Some(0), "{compared:?}");
        compared.stderr.clone()
    };

    // One row less is another draw.
    let mut rows: Vec<&str> = drawn.lines().collect();
    rows.pop();
    work.write("cut.csv", &(rows.join("\n") + "\n"));
    score(&work, "new", &judge, "old-cut", &["--selected", "cut.csv"]).exits_with(0);
    assert!(refused("old-cut").contains("are not those that seed 5 draws"));

    // A list by hand, and a part that is no selection.
    work.write("hand.csv", "system,case_id\nalpha,c1\nalpha,c2\nalpha,c5\n");
    score(
        &work,
        "new",
        &judge,
        "old-hand",
        &["--selected", "hand.csv"],
    )
    .exits_with(0);
    assert!(refused("old-hand").contains("not drawn at random"));
    let limited = [&ASPECTS[..], &["--limit", "9"]].concat();
    score(&work, "answers", &judge, "old-limit", &limited).exits_with(0);
    assert!(refused("old-limit").contains("not drawn at random"));

    // All answers: nothing is left to estimate.
    score(&work, "new", &judge, "old-all", &[]).exits_with(0);
    assert!(refused("old-all").contains("nothing is estimated"));

    // An answer that the run does not have.
    work.write("other.csv", "system,case_id\nalpha,c1\ngamma,c1\n");
    let other = score(
        &work,
        "new",
        &judge,
        "old-other",
        &["--selected", "other.csv"],
    );
    assert!(
        other.code != Some(0)
            && other.stderr.contains("other.csv")
            && other.stderr.contains("gamma"),
        "{other:?}"
    );
}

#[test]
fn after_the_end_of_a_judge_other_systems_are_the_units() {
    let systems = [
        ("a1", 2),
        ("a2", 3),
        ("a3", 2),
        ("a4", 3),
        ("a5", 2),
        ("a6", 3),
    ];
    let work = work_with(&systems);
    let judge = server("old-judge", |request| {
        // Favors a2.
        if request.user_message().contains(" of a2,") {
            return new_judge(request);
        }
        old_judge(request)
    });
    score(&work, "answers", &judge, "old", &ASPECTS).exits_with(0);
    // A system that the old judge never saw: its mean is between those of the others.
    let answers: Vec<Value> = (0..40)
        .map(|at| {
            let grade = 3 + at * 5 % 2;
            let text = format!("To question {at} of fresh, my grade is {grade}.");
            json!({"case_id": format!("c{at}"), "input": format!("What is {at}?"), "output": text})
        })
        .collect();
    work.write("answers/fresh.json", &Value::from(answers).to_string());
    let judge = server("new-judge", new_judge);
    score(&work, "answers", &judge, "new", &ASPECTS).exits_with(0);

    let by_new = grades(&work, "new");
    let by_old = grades(&work, "old");
    let shift = |system: &str| {
        let of_system = by_old.iter().filter(|(key, _)| key.0 == system);
        mean(
            &of_system
                .map(|(key, grade)| grade - by_new[key])
                .collect::<Vec<_>>(),
        )
    };
    let shifts: Vec<f64> = systems.iter().map(|(system, _)| shift(system)).collect();
    let comparison = corrected(&work, &[]);
    let scale = &comparison["old_scales"][0];
    assert_eq!(
        scale["systems"].as_array().unwrap().len(),
        1,
        "measured systems have no estimate"
    );
    let row = &scale["systems"][0];
    assert_eq!(row["system"], "fresh");
    let estimate = row["new_mean"].as_f64().unwrap() + mean(&shifts);
    close(&row["estimate"], estimate);
    // t(5) = 2.570582
    let half = 2.570_582 * sd(&shifts) * (7.0 / 6.0_f64).sqrt();
    close(&row["interval"]["high"], estimate + half);

    // Without the favored one the others agree.
    let row = &corrected(&work, &["--without", "a2"])["old_scales"][0]["systems"][0];
    close(
        &row["estimate"],
        row["new_mean"].as_f64().unwrap() + shift("a1"),
    );
    // Too few systems.
    let row = &corrected(&work, &["--without", "a1,a2"])["old_scales"][0]["systems"][0];
    assert_eq!(row["estimate"], Value::Null);
    assert!(
        row["why_not"].as_str().unwrap().contains("needs 5 systems"),
        "{row}"
    );
    // Beyond the systems that both judges scored.
    let row = &corrected(&work, &["--without", "a2,a4,a6"])["old_scales"][0]["systems"][0];
    assert!(
        row["why_not"]
            .as_str()
            .unwrap()
            .contains("outside the range"),
        "{row}"
    );
}

#[test]
fn boards_of_several_runs_are_bridged_by_five_systems_and_not_by_four() {
    let systems = [("a1", 2), ("a2", 3), ("a3", 2), ("a4", 3), ("a5", 2)];
    let work = work_with(&systems);
    std::fs::create_dir(work.path("old")).unwrap();
    std::fs::create_dir(work.path("more")).unwrap();
    for system in ["a4", "a5"] {
        let name = format!("{system}.json");
        std::fs::rename(
            work.path("answers").join(&name),
            work.path("more").join(&name),
        )
        .unwrap();
    }
    // The old board is two runs in a directory, the new one two runs with another system.
    let judge = server("old-judge", old_judge);
    score(&work, "answers", &judge, "old/first", &ASPECTS).exits_with(0);
    score(&work, "more", &judge, "old/second", &ASPECTS).exits_with(0);
    let fresh = work
        .read("answers/a2.json")
        .replace(" of a2,", " of fresh,");
    work.write("more/fresh.json", &fresh);
    let judge = server("new-judge", new_judge);
    score(&work, "answers", &judge, "new", &ASPECTS).exits_with(0);
    score(&work, "more", &judge, "new-more", &ASPECTS).exits_with(0);

    let bridge = |more: &[&str]| {
        let common = [
            "compare",
            "new",
            "new-more",
            "--corrected-by",
            "old",
            "--format",
            "json",
        ];
        let done = work.run(&[&common[..], more].concat()).exits_with(0);
        serde_json::from_str::<Value>(&done.stdout).unwrap()["old_scales"][0].clone()
    };
    let scale = bridge(&[]);
    assert_eq!(
        (&scale["old"], &scale["new"]),
        (&"first + 1".into(), &"new + 1".into())
    );
    let names: Vec<&str> = systems.iter().map(|(name, _)| *name).collect();
    assert_eq!(scale["basis"]["systems"], json!(names));
    let rows = scale["systems"].as_array().unwrap();
    assert_eq!((rows.len(), &rows[0]["system"]), (1, &"fresh".into()));
    // The old judge gives one less for every second question, whatever the system.
    let new_mean = rows[0]["new_mean"].as_f64().unwrap();
    close(&rows[0]["estimate"], new_mean - 0.5);

    let row = &bridge(&["--without", "a5"])["systems"][0];
    assert_eq!(
        (&row["estimate"], &row["interval"]),
        (&Value::Null, &Value::Null)
    );
    assert!(
        row["why_not"].as_str().unwrap().contains("needs 5 systems"),
        "{row}"
    );

    // The same systems twice are not a board.
    work.run(&[
        "compare",
        "new",
        "new-more",
        "--corrected-by",
        "old/first",
        "--anyway",
    ])
    .exits_with(0);
    score(&work, "answers", &judge, "new-again", &ASPECTS).exits_with(0);
    work.run(&["compare", "new", "new-again", "--corrected-by", "old"])
        .exits_with(3)
        .says(&["new-again: a1 is also in another run by the same judge"]);
}
