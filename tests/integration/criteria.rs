//! `criteria` from end to end: which criteria of a recorded run discriminate.

use serde_json::{Value, json};

use crate::support::fake_server::{Behaviour, FakeServer};
use crate::support::judging::{answer_of, constant_reply, kind_of, section};
use crate::support::workspace::{Finished, Workspace, test_case};

/// A text that must stay text in a terminal, a spreadsheet and a page.
const HOSTILE: &str = "=HYPERLINK(\"x\") <script>window.pwned = 1</script> \u{1b}[2J of it";

/// Two cases by a judge that never sees the effects, and gives the causes 10 points in alpha's answers and 4 in beta's.
fn judged() -> Workspace {
    let effects = format!("{HOSTILE}: effects");
    let case = |id| {
        test_case(
            id,
            &[(HOSTILE, &["Rain.", "Wind."]), (&effects, &["Dust."])],
        )
    };
    let work = Workspace::with_cases(&[case("c1"), case("c2")]);
    for system in ["alpha", "beta"] {
        work.answers(
            system,
            ["c1", "c2"].map(|id| (id, format!("The {system} answer to {id}."))),
        );
    }
    let server = FakeServer::start(Behaviour::good().saying(|request| match kind_of(request) {
        "property" if section(request, "criterion").contains("effects") => {
            json!({"score": 0}).to_string()
        }
        "property" if answer_of(request).contains("alpha") => json!({"score": 10}).to_string(),
        "property" => json!({"score": 4}).to_string(),
        kind => constant_reply(kind),
    }));
    work.score(&server, &[]).exits_with(0);
    work
}

/// At 80 columns.
fn criteria(work: &Workspace, more: &[&str]) -> Finished {
    let mut command = work.command(&[&["criteria", "out"], more].concat());
    Finished::of(command.env("COLUMNS", "80").output().unwrap())
}

fn rows(work: &Workspace, more: &[&str]) -> Vec<Value> {
    let done = criteria(work, &[&["--format", "json"], more].concat()).exits_with(0);
    let found: Value = serde_json::from_str(&done.stdout).unwrap();
    found["criteria"].as_array().unwrap().clone()
}

#[track_caller]
fn close(value: &Value, expected: f64) {
    assert!(
        value
            .as_f64()
            .is_some_and(|value| (value - expected).abs() < 1e-9),
        "{value} is not {expected}"
    );
}

#[test]
fn the_first_sentence_counts_what_separates_the_answers_and_the_table_fits() {
    let work = judged();
    let table = criteria(&work, &[]).exits_with(0).stdout;
    // Four general criteria, and of two cases p0, p1 and the snippets of both. Only p0 differs between answers: length and
    // excerpts are full, expertise, citations and the snippets of p0 equal, p1 and its snippets 0.
    assert!(
        table.starts_with("2 of 12 criteria separate the answers; 10 are suspicious.\n"),
        "{table}"
    );
    for line in [
        "\nno marks        4  no answer",
        "\nfull marks      2  every",
        "\none value       4  all answers",
    ] {
        assert!(table.contains(line), "{line:?} in {table}");
    }
    assert!(
        table.contains("at most 2 answers: if these are equal, up to 78%"),
        "{table}"
    );
    assert!(
        table.lines().all(|line| line.chars().count() <= 80) && !table.contains('\u{1b}'),
        "{table}"
    );
    // Of the effects in two cases; with all notes of the causes, too.
    let all = criteria(&work, &["--notes"]).exits_with(0).stdout;
    assert_eq!(
        [table, all].map(|text| text.matches("=HYPERLINK").count()),
        [2, 4]
    );
}

#[test]
fn json_has_every_criterion_with_hand_computed_numbers() {
    let rows = rows(&judged(), &[]);
    let find = |name: &str, case: Value| {
        rows.iter()
            .find(|row| row["name"] == name && row["case_id"] == case)
            .unwrap()
    };
    assert_eq!(rows.len(), 14);
    let p0 = find("p0", "c2".into());
    assert_eq!(
        (&p0["finding"], &p0["answers"], &p0["text"]),
        (&Value::Null, &2.into(), &HOSTILE.into())
    );
    // 1 and 0.4: mean 0.7, squares 2 * 0.3^2 over 1
    close(&p0["mean"], 0.7);
    close(&p0["variance"], 0.18);
    assert_eq!(p0["item_rest"]["undefined"], "fewer than 10 answers");
    assert_eq!(find("p1_evidence", "c1".into())["finding"], "never_met");
    // Four criteria: 1 and 0.4, 0 and 0, twice. Deviations of 0.3 in four of eight values: total 0.36; between systems
    // 2 * 0.6^2 / 4 = 0.18; the rest over 4 - 1 is 0.06; (0.18 - 0.06) / 0.36.
    let group = find("p", Value::Null);
    assert_eq!(
        (&group["group_of"], &group["answers"]),
        (&4.into(), &8.into())
    );
    close(&group["mean"], 0.35);
    close(&group["at_lowest"], 0.5);
    close(&group["at_full"], 0.25);
    close(&group["system_share"], 1.0 / 3.0);
}

#[test]
fn labels_of_people_are_counted_and_strange_ones_refused() {
    let work = judged();
    work.write(
        "labels.csv",
        "system,case_id,rater,item,value\nalpha,c1,ann,p0,5\nbeta,c1,ann,p0,1\nalpha,c2,ann,p0,4\n",
    );
    let rows = rows(&work, &["--labels", "labels.csv"]);
    let labels: Vec<&Value> = rows
        .iter()
        .filter(|row| row["name"] == "p0")
        .map(|row| &row["labels"])
        .collect();
    assert_eq!(labels, [&json!(2), &json!(1)]);
    work.write(
        "strange.csv",
        "system,case_id,rater,item,value\nalpha,c1,ann,p9,5\n",
    );
    criteria(&work, &["--labels", "strange.csv"])
        .exits_with(3)
        .says(&["no label of a person is of a criterion"]);
    criteria(&work, &["out", "--labels", "labels.csv"]).exits_with(0);
    // The criteria that people and judge read differently are in the order of a column, which no width hides.
    work.write(
        "shares.csv",
        "system,case_id,rater,item,value\nalpha,c1,ann,p0,0.5\nbeta,c1,ann,p0,0.1\nalpha,c2,ann,p0,0\n",
    );
    for columns in ["80", "100", "160"] {
        let mut command = work.command(&["criteria", "out", "--labels", "shares.csv"]);
        let shown = Finished::of(command.env("COLUMNS", columns).output().unwrap());
        let shown = shown.exits_with(0).stdout;
        let table = shown.split("Read differently").nth(1).unwrap();
        assert!(
            table.lines().nth(2).unwrap().contains("off by"),
            "{columns}: {shown}"
        );
    }
}

#[test]
fn a_hostile_criterion_is_text_in_csv_and_page() {
    let work = judged();
    let csv = criteria(&work, &["--format", "csv"]).exits_with(0).stdout;
    assert!(
        csv.starts_with("finding,scorer,name,text,case_id,kind,answers,mean,"),
        "{csv}"
    );
    assert!(
        csv.contains(",\"'=HYPERLINK(") && !csv.contains('\u{1b}'),
        "{csv}"
    );
    work.run(&["report", "out"]).exits_with(0);
    let page = work.read("report.html");
    assert!(
        page.contains("2 of 12 criteria separate the answers")
            && page.contains("&lt;script&gt;window.pwned")
    );
    assert!(!page.contains("<script>window.pwned") && !page.contains("\u{1b}"));
}

/// Two systems and three cases with a criterion of weight 2 and a fault of weight -1, in the form of `rubrics list`'s
/// default. The judge finds the criterion met everywhere, and the fault in beta's answers.
pub(crate) fn with_a_fault() -> Workspace {
    let work = Workspace::new(&["alpha", "beta"], 3);
    let case = |id: &str| {
        json!({"case_id": id, "question": format!("What of {id}?"), "criteria": [
            {"text": "Names the cause", "weight": 2},
            {"text": "Blames the sea", "weight": -1},
        ]})
    };
    work.write(
        "tests.json",
        &json!([case("c1"), case("c2"), case("c3")]).to_string(),
    );
    let server = FakeServer::start(Behaviour::good().saying(|request| {
        let is_fault = request.user_message().contains("Blames");
        let is_met = !is_fault || answer_of(request).contains("beta");
        let verdict = if is_met { "met" } else { "not met" };
        json!({"explanation": "as it is", "verdict": verdict}).to_string()
    }));
    work.score(&server, &[]).exits_with(0);
    work
}

#[test]
fn a_met_fault_has_a_minus_sign_and_is_called_a_fault() {
    let work = with_a_fault();
    let table = criteria(&work, &["--notes"]).exits_with(0).stdout;
    // Beta has the fault in all cases, alpha in none: half of the answers to each case have it.
    assert_eq!(table.matches("fault: Blames the sea").count(), 3, "{table}");
    assert!(table.contains("c* (3 faults)"), "{table}");
    assert_eq!(table.matches("-50.0").count(), 4, "{table}");
    let rows = rows(&work, &[]);
    let faults: Vec<_> = rows.iter().filter(|row| row["fault"] == true).collect();
    assert_eq!(faults.len(), 4, "{faults:?}");
    faults.iter().for_each(|row| close(&row["mean"], -0.5));

    let met = criteria(&work, &["--format", "csv"]).exits_with(0).stdout;
    assert!(
        met.lines().next().unwrap().ends_with(",group_of,fault"),
        "{met}"
    );
}

#[test]
fn a_run_without_criteria_is_one_clear_error() {
    let work = Workspace::with_cases(&[]);
    let data = format!("{}/data", env!("CARGO_MANIFEST_DIR"));
    let (predictions, golds) = (format!("{data}/predictions"), format!("{data}/golds.jsonl"));
    work.run(&[
        "overlap",
        &predictions,
        "--references",
        &golds,
        "--out",
        "out",
    ])
    .exits_with(0);
    let done = criteria(&work, &[])
        .exits_with(3)
        .says(&["out: no criteria: neither a rubric nor aspects were scored"]);
    assert_eq!(done.stderr.matches("error").count(), 1, "{}", done.stderr);
    assert!(!work.run(&["report", "out"]).exits_with(0).stdout.is_empty());
    assert!(!work.read("report.html").contains("criteria-title"));
}

#[test]
fn a_judge_that_can_do_one_criterion_at_a_time_is_asked_so_and_never_given_up() {
    let work = Workspace::new(&["alpha"], 6);
    let case = |i: usize| json!({"case_id": format!("c{i}"), "question": format!("What of {i}?"), "criteria": ["a", "b"]});
    work.write(
        "tests.json",
        &Value::from((1..=6).map(case).collect::<Vec<_>>()).to_string(),
    );
    let server = FakeServer::start(Behaviour::good().saying(|request| {
        if request.user_message().contains("verdicts") {
            "I find both of them met.".to_owned()
        } else {
            json!({"explanation": "it is there", "verdict": "met"}).to_string()
        }
    }));
    let both = [
        "--criteria-per-call",
        "2",
        "--parse-retries",
        "0",
        "--concurrency",
        "8",
    ];
    work.score(&server, &both).exits_with(0);
    // Each answer: both criteria in one call, which cannot be read, then each alone.
    assert_eq!(server.chat_count(), 6 * 3);
    assert!(
        work.lines("out/scores.jsonl")
            .iter()
            .all(|line| line["score"] == 1.0)
    );
    work.score(&server, &both).exits_with(0);
    assert_eq!(server.chat_count(), 6 * 3);
}
