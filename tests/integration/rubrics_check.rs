//! `rubrics check`: rules about the words of criteria, and drafts of profiles.

use serde_json::json;

use crate::support::workspace::Workspace;

#[test]
fn lint_names_line_case_and_criterion_of_each_finding_and_counts_them_by_rule() {
    let work = Workspace::new(&["alpha"], 1);
    let row = |id: &str, text: &str, weight: f64| {
        json!({"case_id": id, "question": "Why?", "criteria": [
            {"id": "first", "text": "Names the rust of the old bridge", "weight": 1},
            {"id": "second", "text": text, "weight": weight},
        ]})
        .to_string()
    };
    let rows = [
        row("a", "names the rust of the old bridge.", 1.0),
        row("b", "Names the rust of the bridge", 1.0),
        row("c", "Dates the fall; cites a report", 1.0),
        row("d", "Does not blame the sea", 1.0),
        row("e", "Does not date the fall", -1.0),
        row("f", "Is clear and well written", 1.0),
    ];
    work.write("tests.jsonl", &rows.join("\n"));
    let run = work
        .run(&["rubrics", "check", "tests.jsonl", "--lint"])
        .exits_with(0);
    let lines: Vec<&str> = run.stdout.lines().collect();
    let expected = [
        "tests.jsonl: 6 cases, 12 criteria, 1 of negative weight",
        "equal: tests.jsonl:1 (case a): second repeats first: \u{201c}names the rust of the old bridge.\u{201d}; it counts twice; \
         take one of them out",
        "similar: tests.jsonl:2 (case b): second has 5 of its 5 words also in first: \u{201c}Names the rust of the bridge\u{201d}; \
         if both ask for the same, take one of them out",
        "joined: tests.jsonl:3 (case c): second joins two demands (a semicolon): \u{201c}Dates the fall; cites a report\u{201d}; \
         split it, so that each is met or not",
        "negation: tests.jsonl:4 (case d): second is met by an empty answer: \u{201c}Does not blame the sea\u{201d}; ask for the \
         fault, with a negative weight",
        "vague: tests.jsonl:6 (case f): second names nothing that can be seen in an answer: \u{201c}Is clear and well \
         written\u{201d}; say by what a judge recognizes it",
        "lint: 5 findings: 1 equal, 1 similar, 1 joined, 1 negation, 1 vague",
    ];
    assert_eq!(lines, expected, "{}", run.stdout);
    // A table has a line for each criterion.
    work.write(
        "table.csv",
        "case_id,question,criterion\na,Why?,Names the cause\na,Why?,Avoids jargon\n",
    );
    let run = work.run(&["rubrics", "check", "table.csv", "--lint"]);
    let negation = "negation: table.csv:3 (case a): c2 is met by an empty answer";
    let stdout = run.exits_with(0).stdout;
    assert!(stdout.contains(negation), "{stdout}");
}

#[test]
fn an_unknown_form_gets_a_draft_that_the_next_check_reads() {
    let work = Workspace::new(&["alpha"], 1);
    let row = |id: &str, points: &str| {
        json!({"uid": id, "query": "Why did the bridge fall?", "parts": [
            {"name": "facts", "criteria": [{"requirement": "Names the rust", points: 3}]},
            {"name": "style", "criteria": [{"requirement": "Has a table", points: 1}]},
        ]})
        .to_string()
    };
    let rows = [row("a", "points"), row("b", "points")];
    work.write("tests.jsonl", &rows.join("\n"));
    let run = work
        .run(&["rubrics", "check", "tests.jsonl"])
        .exits_with(3)
        .says(&[
            "tests.jsonl: no built-in rubric reads the file",
            "decide 2 comments",
        ]);
    for line in [
        "id = \"#\"",
        "criteria = \"parts[name].criteria[]\"",
        "text = \"requirement\"",
        "# Case 1 as the judge will see it: Why did the bridge fall?",
        "# c1 (weight 3): Names the rust",
    ] {
        assert!(
            run.stdout.lines().any(|other| other == line),
            "{}",
            run.stdout
        );
    }
    std::fs::create_dir(work.path("mine")).unwrap();
    work.write("mine/profile.toml", &run.stdout);
    let run = work.run(&["rubrics", "check", "tests.jsonl", "--rubric", "mine"]);
    let summary = "tests.jsonl: 2 cases, 4 criteria, 0 of negative weight\n";
    assert_eq!(run.exits_with(0).stdout, summary);

    let decided = json!({"id": "a", "query": "Why did the bridge fall?", "checklist": ["Names the rust", "Has a table"]});
    work.write("tests.jsonl", &decided.to_string());
    let run = work.run(&["rubrics", "check", "tests.jsonl"]);
    let stdout = run.exits_with(0).stdout;
    assert!(stdout.contains("criteria = \"checklist[]\""), "{stdout}");
    let draco = format!("{}/data/rubrics/draco.jsonl", env!("CARGO_MANIFEST_DIR"));
    work.run(&["rubrics", "check", &draco])
        .exits_with(3)
        .says(&["a built-in rubric, draco; add --rubric draco"]);
}
