//! `scholareval scifact ..` as a user runs it.

use serde_json::{Value, json};

use crate::support::workspace::{Finished, Workspace};

/// The worked example of the guidelines and a claim that no abstract decides.
fn workspace() -> Workspace {
    let work = Workspace::with_cases(&[]);
    let support = |sentences: &[u32]| json!({"sentences": sentences, "label": "SUPPORT"});
    let gold = [
        json!({"id": 52, "claim": "ALDH1 \u{1b}[2J", "evidence": {"11": [support(&[0, 1]), support(&[11])], "15": [support(&[4])]}}),
        json!({"id": 60, "claim": "Nobody knows.", "evidence": {}}),
    ];
    let predicted = [
        json!({"id": 60, "evidence": {}}),
        json!({"id": 52, "evidence": {"11": {"sentences": [1, 11, 13], "label": "SUPPORT"}, "16": {"sentences": [18, 20], "label": "REFUTES"}}}),
    ];
    lines(&work, "gold.jsonl", &gold);
    lines(&work, "mine.jsonl", &predicted);
    let abstracts = [(11, 14), (15, 5), (16, 21)];
    let corpus =
        abstracts.map(|(id, n)| json!({"doc_id": id, "title": "t", "abstract": vec!["s"; n], "structured": id == 11}));
    lines(&work, "corpus.jsonl", &corpus);
    work
}

fn lines(work: &Workspace, name: &str, values: &[Value]) {
    work.write(
        name,
        &values
            .iter()
            .map(|value| value.to_string() + "\n")
            .collect::<String>(),
    );
}

#[track_caller]
fn scifact(work: &Workspace, line: &str) -> Finished {
    let arguments: Vec<&str> = ["scifact"]
        .into_iter()
        .chain(line.split_whitespace())
        .collect();
    work.run(&arguments)
}

#[track_caller]
fn json_of(finished: &Finished) -> Value {
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
    serde_json::from_str(&finished.stdout).unwrap()
}

fn metric(scores: &Value, system: usize, name: &str) -> f64 {
    scores["systems"][system]["metrics"][name]["estimate"]
        .as_f64()
        .unwrap()
}

#[test]
fn several_submissions_give_a_leaderboard_and_the_perfect_one_leads_it() {
    let work = workspace();
    let support = |sentences: &[u32]| json!({"sentences": sentences, "label": "SUPPORT"});
    let perfect = json!({"id": 52, "evidence": {"11": support(&[11, 0, 1]), "15": support(&[4])}});
    lines(
        &work,
        "perfect.jsonl",
        &[json!({"id": 60, "evidence": {}}), perfect],
    );
    let run = |more: &str| {
        scifact(
            &work,
            &format!("score --gold gold.jsonl mine.jsonl perfect.jsonl {more}"),
        )
    };
    let scores = json_of(&run("--format json"));
    assert_eq!(
        (
            &scores["systems"][0]["system"],
            &scores["systems"][1]["system"]
        ),
        (&json!("perfect"), &json!("mine"))
    );
    let names = [
        "abstract_rationalized_f1",
        "sentence_label_precision",
        "sentence_label_recall",
        "sentence_label_f1",
    ];
    assert_eq!(names.map(|name| metric(&scores, 0, name)), [1.0; 4]);
    assert_eq!(
        names.map(|name| metric(&scores, 1, name)),
        [1.0 / 2.0, 1.0 / 5.0, 1.0 / 4.0, 2.0 * 0.2 * 0.25 / 0.45]
    );
    let table = run("").stdout;
    assert!(
        table.find("perfect").unwrap() < table.find("mine").unwrap(),
        "{table}"
    );
    assert!(
        table.contains("ranked by sentence_label_f1; %, 95% intervals\n"),
        "{table}"
    );
    // The ranking measure comes first, and is shown at every width.
    let heading = table.lines().find(|line| line.starts_with("system"));
    let heading: Vec<&str> = heading.unwrap().split_whitespace().take(3).collect();
    assert_eq!(heading, ["system", "rank", "sentence_label_f1"]);
    let notes = run("--notes").stdout;
    assert!(
        notes.contains("- 95% intervals: BCa bootstrap over 2 claims, 10,000 resamples, seed 42."),
        "{notes}"
    );
    assert_eq!(run("--format csv").stdout.lines().count(), 3);
    // The default seed is 42, and the same seed gives the same intervals.
    assert_eq!(
        run("--format json").stdout,
        run("--format json --seed 42").stdout
    );
}

#[test]
fn compat_refuses_what_the_reference_dies_of() {
    let work = workspace();
    let finished = scifact(
        &work,
        "score --gold gold.jsonl mine.jsonl --compat --format json",
    );
    assert_eq!(finished.code, Some(3));
    assert!(
        finished
            .stderr
            .contains("mine.jsonl:2 (case 52): abstract 16: unknown label \"REFUTES\""),
        "{}",
        finished.stderr
    );
}

#[test]
fn an_explanation_says_which_rationale_matched_and_which_sentence_missed_its_partner() {
    let work = workspace();
    let explained = scifact(&work, "score --gold gold.jsonl mine.jsonl --explain 52").stdout;
    for line in [
        "abstract 11: SUPPORT is right; rationalized: rationale [11] is within its first 3",
        "sentence 1: missing from its rationale: 0",
        "sentence 13: in no rationale",
        "abstract 16: CONTRADICT predicted, but it is not evidence for this claim",
        "abstract 15: missed; gold SUPPORT, rationales [4]",
    ] {
        assert!(explained.contains(line), "{line} is not in:\n{explained}");
    }
    assert!(!explained.contains('\u{1b}'));
    let unknown = scifact(&work, "score --gold gold.jsonl mine.jsonl --explain 53");
    assert!(
        unknown.code == Some(3) && unknown.stderr.contains("it has 2 claims: 52, 60"),
        "{}",
        unknown.stderr
    );
}

#[test]
fn what_is_in_one_file_only_is_counted_and_reported() {
    let work = workspace();
    lines(
        &work,
        "part.jsonl",
        &[
            json!({"id": 60, "evidence": {}}),
            json!({"id": 61, "evidence": {}}),
        ],
    );
    let finished = scifact(&work, "score --gold gold.jsonl part.jsonl");
    assert_eq!(finished.code, Some(0));
    for note in [
        "part: 1 claim without a prediction: they count in recall",
        "part: 1 prediction for claims that are not in the gold file: they count nowhere",
    ] {
        assert!(finished.stdout.contains(note), "{}", finished.stdout);
    }
}

#[test]
fn bad_input_is_reported_with_file_line_claim_and_remedy() {
    let work = workspace();
    let far = json!({"id": 52, "evidence": {"11": {"sentences": [14], "label": "SUPPORT"}, "9": {"sentences": [], "label": "SUPPORT"}}});
    let check = "check bad.jsonl --claims gold.jsonl --corpus corpus.jsonl";
    let both = ["score --gold gold.jsonl bad.jsonl", check];
    for (line, expected, commands) in [
        (
            far,
            "bad.jsonl:2 (case 52): abstract 11 has no sentence 14; its sentences are 0 to 13",
            &[check][..],
        ),
        (
            json!({"id": 60, "evidence": {}}),
            "bad.jsonl:2 (case 60): claim 60 occurs twice, first in line 1; keep one",
            &both,
        ),
        (
            json!({"id": "52", "evidence": {}}),
            "the gold has the number 52; write it without quotes",
            &both,
        ),
        (
            json!({"id": 52, "evidence": {"1": {"sentences": [], "label": "NEI"}}}),
            "abstract 1: unknown label \"NEI\"",
            &both,
        ),
    ] {
        lines(
            &work,
            "bad.jsonl",
            &[json!({"id": 60, "evidence": {}}), line],
        );
        for command in commands {
            let finished = scifact(&work, command);
            assert!(
                finished.code == Some(3) && finished.stderr.contains(expected),
                "{command}: {}",
                finished.stderr
            );
        }
    }
}

#[test]
fn a_submission_is_checked_against_blind_claims() {
    let work = workspace();
    lines(
        &work,
        "blind.jsonl",
        &[
            json!({"id": 52, "claim": "a"}),
            json!({"id": 70, "claim": "b"}),
        ],
    );
    let finished = scifact(&work, "check mine.jsonl --claims blind.jsonl");
    assert!(
        finished.code == Some(3)
            && finished
                .stderr
                .contains("mine.jsonl:1 (case 60): blind.jsonl has no claim 60")
    );
    let finished = scifact(
        &work,
        "check mine.jsonl --claims gold.jsonl --corpus corpus.jsonl",
    );
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
    assert!(
        finished
            .stdout
            .starts_with("ok: 2 predictions, 2 abstracts\n"),
        "{}",
        finished.stdout
    );
    assert!(
        finished.stdout.contains("in the order of the claims file"),
        "{}",
        finished.stdout
    );
    let blind = scifact(&work, "score --gold blind.jsonl mine.jsonl");
    assert!(
        blind.code == Some(3)
            && blind
                .stderr
                .contains("evidence is missing; this seems to be a blind file")
    );
}

#[test]
fn module_files_are_scored() {
    let work = workspace();
    lines(
        &work,
        "found.jsonl",
        &[
            json!({"claim_id": 52, "doc_ids": [11, 16]}),
            json!({"claim_id": 60, "doc_ids": ["1"]}),
        ],
    );
    let scores = json_of(&scifact(
        &work,
        "retrieval --gold gold.jsonl found.jsonl --format json",
    ));
    // Claim 52 has one of its two abstracts, claim 60 none to find.
    assert_eq!(
        (metric(&scores, 0, "hit_one"), metric(&scores, 0, "hit_all")),
        (1.0, 0.5)
    );
    assert!(
        scores["notes"][1]["text"]
            .as_str()
            .unwrap()
            .contains("1 abstract id in quotes"),
        "{scores}"
    );

    lines(
        &work,
        "selected.jsonl",
        &[
            json!({"claim_id": 52, "evidence": {"11": [1, 11], "16": []}}),
            json!({"claim_id": 60, "evidence": {}}),
        ],
    );
    let scores = json_of(&scifact(
        &work,
        "rationales --gold gold.jsonl selected.jsonl --format json",
    ));
    assert_eq!(
        (
            metric(&scores, 0, "precision"),
            metric(&scores, 0, "recall")
        ),
        (1.0 / 2.0, 1.0 / 4.0)
    );

    let labels = json!({"11": {"label": "SUPPORT", "confidence": 0.9}, "16": {"label": "NOT_ENOUGH_INFO", "confidence": 0.5}});
    lines(
        &work,
        "labels.jsonl",
        &[
            json!({"claim_id": 52, "labels": labels}),
            json!({"claim_id": 60, "labels": {}}),
        ],
    );
    let run = |more: &str| {
        json_of(&scifact(
            &work,
            &format!("labels --gold gold.jsonl labels.jsonl --format json {more}"),
        ))
    };
    assert_eq!(
        run("")["systems"][0]["confusion"]["true_by_predicted"],
        json!([[0, 0, 0], [0, 1, 0], [0, 0, 1]])
    );
    let filtered = run("--filter structured --corpus corpus.jsonl");
    assert_eq!(
        filtered["systems"][0]["confusion"]["true_by_predicted"],
        json!([[0, 0, 0], [0, 0, 0], [0, 0, 1]])
    );
}
