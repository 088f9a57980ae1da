//! `runs`: the list of recorded runs.

use serde_json::{Value, json};

use crate::support::workspace::Workspace;

#[test]
fn runs_are_listed_with_their_headline_score_and_damage_is_a_line() {
    let work = Workspace::new(&["alpha", "beta"], 2);
    work.run(&["runs"]).exits_with(3);
    for name in ["old", "new", "stopped"] {
        work.run(&[
            "score",
            "answers",
            "--tests",
            "tests.json",
            "--out",
            &format!("runs/{name}"),
            "-q",
        ])
        .exits_with(0);
    }
    for (name, field, value) in [
        ("old", "started_at", "2020-01-02T03:04:05Z"),
        ("new", "started_at", "2026-01-02T03:04:05Z"),
        ("stopped", "started_at", "2025-01-02T03:04:05Z"),
        ("stopped", "status", "running"),
    ] {
        let path = format!("runs/{name}/manifest.json");
        let mut manifest = work.json(&path);
        manifest[field] = value.into();
        if name == "stopped" {
            manifest.as_object_mut().unwrap().remove("headline");
        }
        work.write(&path, &manifest.to_string());
    }
    for name in ["no_run", "torn"] {
        std::fs::create_dir(work.path(&format!("runs/{name}"))).unwrap();
    }
    work.write("runs/torn/manifest.json", "{");
    // Only manifests are read.
    std::fs::remove_file(work.path("runs/old/scores.jsonl")).unwrap();
    std::fs::remove_file(work.path("runs/old/summary.json")).unwrap();
    let summary = work.json("runs/new/summary.json");
    let rows = summary["scorers"][0]["rows"].as_array().unwrap();
    let means = rows
        .iter()
        .filter_map(|row| row["metrics"]["lexical_score"]["estimate"].as_f64());
    let means: Vec<f64> = means.collect();
    let (lowest, highest) = (means[0].min(means[1]), means[0].max(means[1]));

    let table = work.run(&["runs"]).exits_with(0).stdout;
    let lines: Vec<&str> = table.lines().collect();
    let (low, high) = (
        format!("{:.1}%", 100.0 * lowest),
        format!("{:.1}%", 100.0 * highest),
    );
    for (line, parts) in [
        (
            4,
            [
                "new",
                "2026-01-02 03:04",
                "lexical",
                "complete",
                &low,
                &high,
            ],
        ),
        (
            5,
            [
                "stopped",
                "2025-01-02 03:04",
                "lexical",
                "unfinished",
                "-",
                "-",
            ],
        ),
        (
            6,
            [
                "old",
                "2020-01-02 03:04",
                "lexical",
                "complete",
                &low,
                &high,
            ],
        ),
        (7, ["torn", "", "", "damaged", "-", "-"]),
    ] {
        assert!(
            parts.iter().all(|part| lines[line].contains(part)),
            "{parts:?}\n{table}"
        );
    }
    assert!(
        table.contains("- runs/torn/manifest.json: no manifest of a run: "),
        "{table}"
    );

    let done = work
        .run(&["runs", "runs", "--format", "json"])
        .exits_with(0)
        .says(&["runs/torn/manifest.json: no"]);
    let runs: Value = serde_json::from_str(&done.stdout).unwrap();
    let fields = ["run", "systems", "cases", "metric", "unit"].map(|field| runs[0][field].clone());
    assert_eq!(
        fields,
        [
            json!("runs/new"),
            json!(["alpha", "beta"]),
            json!(2),
            json!("lexical_score"),
            json!("share")
        ]
    );
    assert_eq!(
        (runs[0]["lowest"].as_f64(), runs[0]["highest"].as_f64()),
        (Some(lowest), Some(highest))
    );
    assert_eq!(
        (&runs[1]["metric"], &runs[3]["status"]),
        (&Value::Null, &"damaged".into())
    );
    let csv = work.run(&["runs", "--format", "csv", "-q"]).exits_with(0);
    assert!(
        csv.stdout
            .starts_with("run,judge,status,lowest,highest,metric,systems,cases,started_at\n")
    );
    assert!(
        csv.stdout
            .contains("lexical_score,2,2,2026-01-02T03:04:05Z"),
        "{}",
        csv.stdout
    );
    assert_eq!(csv.stderr, "");
}
