//! The released answers of four systems.

use std::collections::HashMap;

use super::*;
use crate::rubric_golden::shared;

const SYSTEMS: [&str; 4] = ["claude", "gpt", "nora", "perplexity"];

/// The four systems under the lexical baseline; `None` where the released answers are not here.
fn four_systems() -> Option<Workspace> {
    let data = shared()?.canonicalize().unwrap().join("data/scholarqa_cs");
    let (answers, tests) = (
        data.join("src_answers"),
        data.join("test_configs_snippets.json"),
    );
    if !answers.is_dir() || !tests.is_file() {
        eprintln!("skipped: no released answers at {}", data.display());
        return None;
    }
    let work = Workspace::with_cases(&[]);
    work.run(&[
        "score",
        answers.to_str().unwrap(),
        "--tests",
        tests.to_str().unwrap(),
        "--out",
        "out",
    ])
    .exits_with(0);
    Some(work)
}

/// Lexical scores by system and case, read without the program.
fn scores(work: &Workspace) -> HashMap<String, HashMap<String, f64>> {
    let mut scores: HashMap<String, HashMap<String, f64>> = HashMap::new();
    for line in work.lines("out/scores.jsonl") {
        let text = |name: &str| line[name].as_str().unwrap().to_owned();
        scores
            .entry(text("system"))
            .or_default()
            .insert(text("case_id"), line["lexical_score"].as_f64().unwrap());
    }
    scores
}

#[test]
fn means_differences_and_wins_are_those_of_the_scores() {
    let Some(work) = four_systems() else { return };
    let scores = scores(&work);
    let mean = |system: &str| scores[system].values().sum::<f64>() / 100.0;
    let told = as_json(&compare(&work, &["out", "--format", "json"]).exits_with(0));
    let metric = &told["metrics"][0];
    assert_eq!(
        (
            metric["metric"]["name"].as_str(),
            metric["cases"].as_array().unwrap().len()
        ),
        (Some("lexical_score"), 100)
    );
    let mut order = SYSTEMS.to_vec();
    order.sort_by(|a, b| mean(b).total_cmp(&mean(a)));
    let labels: Vec<&str> = metric["systems"]
        .as_array()
        .unwrap()
        .iter()
        .map(|system| system["label"].as_str().unwrap())
        .collect();
    assert_eq!(labels, order);
    for system in metric["systems"].as_array().unwrap() {
        is_close(&system["mean"], mean(system["label"].as_str().unwrap()));
    }
    for pair in metric["pairs"].as_array().unwrap() {
        let [first, second] =
            ["first", "second"].map(|which| labels[pair[which].as_u64().unwrap() as usize]);
        is_close(&pair["difference"], mean(first) - mean(second));
        let differences: Vec<f64> = scores[first]
            .iter()
            .map(|(case, value)| value - scores[second][case])
            .collect();
        let count = |holds: fn(f64) -> bool| {
            differences
                .iter()
                .filter(|difference| holds(**difference))
                .count() as u64
        };
        assert_eq!(pair["wins"].as_u64(), Some(count(|d| d > 1e-9)));
        assert_eq!(pair["losses"].as_u64(), Some(count(|d| d < -1e-9)));
    }
    let table = compare(&work, &["out"]).exits_with(0).stdout;
    for system in SYSTEMS {
        let row = table
            .lines()
            .find(|line| line.starts_with(&format!("{system}  ")))
            .unwrap();
        assert_eq!(
            row.split_whitespace().nth(1),
            Some(&*format!("{:.1}", 100.0 * mean(system))),
            "{row}"
        );
    }
    assert!(table.contains("not by an LLM"), "{table}");
    assert!(
        table.lines().all(|line| line.chars().count() <= 100),
        "{table}"
    );
    assert_eq!(
        compare(&work, &["out"]).stdout,
        table,
        "the same seed gives the same numbers"
    );
}
