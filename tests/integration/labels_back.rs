//! Labels from the pages of `label`, read back by `agree` and `criteria`: numbers by hand, adjudication, joined rounds, faults.

use std::collections::{BTreeMap, BTreeSet};

use scholareval::domain::LabelSheet;
use serde_json::{Value, json};

use crate::support::fake_server::{Behaviour, FakeServer, Recorded};
use crate::support::workspace::Workspace;

/// The number of the question in an answer.
fn number_in(text: &str) -> usize {
    let at = text.find("To question ").unwrap() + "To question ".len();
    let digits: String = text[at..]
        .chars()
        .take_while(char::is_ascii_digit)
        .collect();
    digits.parse().unwrap()
}

/// The judge's grade of question `at`: in coverage 4, but 2 for every third; in relevance always 3.
fn judged(aspect: &str, at: usize) -> usize {
    match aspect {
        "coverage" if at.is_multiple_of(3) => 2,
        "coverage" => 4,
        _ => 3,
    }
}

fn grade(request: &Recorded) -> String {
    let text = request.user_message();
    let aspect = if text.to_lowercase().contains("coverage") {
        "coverage"
    } else {
        "relevance"
    };
    format!(
        "Feedback: read. [RESULT] {}",
        judged(aspect, number_in(&text))
    )
}

/// Grades of 20 answers of a system in two aspects.
fn scored() -> Workspace {
    let work = Workspace::with_cases(&[]);
    let answer = |at: usize| json!({"case_id": format!("c{at:02}"), "input": format!("What is {at}?"), "output": format!("To question {at}: this.")});
    let answers: Vec<Value> = (0..20).map(answer).collect();
    work.write("answers/alpha.json", &Value::from(answers).to_string());
    let server = FakeServer::start(Behaviour::good().saying(grade));
    let url = server.base_url();
    let aspects = [
        "--scorers",
        "prometheus",
        "--aspects",
        "coverage,relevance",
        "--no-reference",
    ];
    let score = [
        "score",
        "answers",
        "--model",
        "fake-judge",
        "--base-url",
        &url,
        "--out",
        "out",
    ];
    work.run(&[&score[..], &aspects].concat()).exits_with(0);
    work
}

fn label(work: &Workspace, out: &str, answers: &str, seed: &str) -> Value {
    let arguments = [
        "label",
        "out",
        "--answers",
        answers,
        "--raters",
        "ann,ben",
        "--overlap",
        answers,
        "--random",
        "--seed",
        seed,
        "--out",
        out,
    ];
    work.run(&arguments).exits_with(0);
    work.json(&format!("{out}/sheet.json"))
}

/// A changed sheet as if `label` had made it.
fn with_its_id(sheet: &Value) -> Value {
    let mut sheet: LabelSheet = serde_json::from_value(sheet.clone()).unwrap();
    sheet.id = sheet.hash().unwrap();
    serde_json::to_value(sheet).unwrap()
}

/// The case number and the aspect of every item.
fn items(sheet: &Value) -> BTreeMap<String, (usize, String)> {
    let mut items = BTreeMap::new();
    for item in sheet["items"].as_array().unwrap() {
        let answer = &sheet["frame"][item["answer"].as_u64().unwrap() as usize];
        let case = answer["case_id"].as_str().unwrap();
        // Whole answers have none.
        let name = item["unit"]["name"].as_str().unwrap_or_default().to_owned();
        items.insert(
            item["id"].as_str().unwrap().to_owned(),
            (case[1..].parse().unwrap(), name),
        );
    }
    items
}

/// A file of labels; `None` leaves an item out.
fn write_labels(
    work: &Workspace,
    path: &str,
    sheet: &Value,
    rater: &str,
    given: impl Fn(usize, &str) -> Option<usize>,
) {
    let mut labels = Vec::new();
    for (id, (at, aspect)) in items(sheet) {
        if let Some(value) = given(at, &aspect) {
            labels.push(json!({"item": id, "label": {"value": value}, "seconds": 1.0, "at": "2026-01-01T00:00:00Z"}));
        }
    }
    let is_settled = rater == "adjudication";
    let file = json!({"schema_version": 1, "sheet": sheet["id"], "rater": rater, "adjudicated": is_settled, "saved_at": "", "labels": labels});
    work.write(path, &file.to_string());
}

fn agree(work: &Workspace, labels: &[&str]) -> Value {
    let common = ["agree", "out", "--format", "json", "--labels"];
    let done = work.run(&[&common[..], labels].concat()).exits_with(0);
    serde_json::from_str(&done.stdout).unwrap()
}

#[track_caller]
fn close(value: &Value, expected: f64) {
    let found = value.as_f64().unwrap_or_else(|| panic!("{value}"));
    assert!((found - expected).abs() < 1e-9, "{found} {expected}");
}

#[test]
fn levels_of_the_judge_and_of_people_are_weighted_by_the_draw() {
    let work = scored();
    let mut sheet = label(&work, "sheet", "20", "1");
    // As if cases below 10 had been drawn with probability 1/4.
    for answer in sheet["frame"].as_array_mut().unwrap() {
        let case = answer["case_id"].as_str().unwrap()[1..]
            .parse::<usize>()
            .unwrap();
        answer["probability"] = json!(if case < 10 { 0.25 } else { 1.0 });
    }
    let sheet = with_its_id(&sheet);
    work.write("sheet/sheet.json", &sheet.to_string());
    // Ann agrees with the judge on coverage up to case 14, and gives 4 after it.
    let ann = |at: usize, aspect: &str| match aspect {
        "coverage" if at < 15 => Some(judged("coverage", at)),
        "coverage" => Some(4),
        _ => Some(3),
    };
    write_labels(&work, "sheet/ann.json", &sheet, "ann", ann);
    let agreement = agree(&work, &["sheet/ann.json"]);
    let confusion = &agreement["confusions"][0];
    assert_eq!(confusion["items"], 40);
    assert_eq!(confusion["questions"], 20);
    // Coverage: the judge gives 2 to 0, 3, .., 18, people to 0, 3, .., 12. Weights: 4 below case 10.
    let level = |name: &str| {
        let rows = confusion["accuracy"].as_array().unwrap();
        rows.iter()
            .find(|row| row["level"].as_str().unwrap().starts_with(name))
            .unwrap()
            .clone()
    };
    close(&level("2")["sensitivity"]["estimate"], 1.0);
    // People say 4 of 1, 2, 4, 5, 7, 8 (weight 4 each), 10, 11, 13, 14, and 15 to 19; the judge says 2 of 15 and 18.
    close(
        &level("4")["sensitivity"]["estimate"],
        (24.0 + 4.0 + 3.0) / (24.0 + 9.0),
    );
    // Of the items without a 2 by people: those 33, and 40 + 10 of relevance, of which all but 2 are not a 2 by the judge.
    close(
        &level("2")["specificity"]["estimate"],
        (33.0 + 50.0 - 2.0) / 83.0,
    );
    assert_eq!(level("5")["sensitivity"]["estimate"], Value::Null);
    let shown = work
        .run(&["agree", "out", "--labels", "sheet/ann.json"])
        .exits_with(0);
    assert!(shown.stdout.contains("sensitivity"), "{shown:?}");

    // Which criteria are read differently: coverage by 2 of 5 grades in 2 of 20 answers.
    let criteria = work
        .run(&[
            "criteria",
            "out",
            "--labels",
            "sheet/ann.json",
            "--format",
            "json",
        ])
        .exits_with(0);
    let criteria: Value = serde_json::from_str(&criteria.stdout).unwrap();
    let rows = criteria["criteria"].as_array().unwrap();
    let gap =
        |name: &str| rows.iter().find(|row| row["name"] == name).unwrap()["people_gap"].clone();
    close(&gap("coverage"), 2.0 * 0.5 / 20.0);
    close(&gap("relevance"), 0.0);
}

#[test]
fn whole_answers_are_those_with_every_label_and_adjudication_settles() {
    let work = scored();
    let sheet = label(&work, "sheet", "20", "1");
    // Both label everything, but Ben no relevance below case 5; they differ on the coverage of case 19.
    let ann = |at: usize, aspect: &str| Some(if aspect == "coverage" { 1 + at % 4 } else { 3 });
    let ben = |at: usize, aspect: &str| match (aspect, at) {
        ("coverage", 19) => Some(1),
        ("coverage", _) => Some(1 + at % 4),
        (_, 0..5) => None,
        _ => Some(3),
    };
    write_labels(&work, "sheet/ann.json", &sheet, "ann", ann);
    write_labels(&work, "sheet/ben.json", &sheet, "ben", ben);
    let agreement = agree(&work, &["sheet/ann.json", "sheet/ben.json"]);
    let rater = |agreement: &Value, name: &str| {
        let raters = agreement["raters"].as_array().unwrap();
        raters
            .iter()
            .find(|rater| rater["name"] == name)
            .unwrap()
            .clone()
    };
    assert_eq!(rater(&agreement, "ann")["ratings"], 20);
    assert_eq!(
        rater(&agreement, "ben")["ratings"],
        15,
        "no whole answer without every label"
    );
    assert_eq!(
        rater(&agreement, "humans")["ratings"],
        20,
        "together they have every label"
    );
    let mean = |agreement: &Value| {
        let powered = agreement["powered"].as_array().unwrap();
        powered[0]["labels_only"]["estimate"].clone()
    };
    // Coverage 1, 2, 3, 4 in turn: 2.5 on average; of case 19 ann says 4 and ben 1, 2.5 together. With relevance 3.
    let people = |of_19: f64| ((50.0 - 4.0 + of_19) / 20.0 + 3.0) / 2.0;
    close(&mean(&agreement), people(2.5));

    write_labels(
        &work,
        "sheet/settled.json",
        &sheet,
        "adjudication",
        |at, aspect| (at == 19 && aspect == "coverage").then_some(1),
    );
    let settled = agree(
        &work,
        &["sheet/ann.json", "sheet/ben.json", "sheet/settled.json"],
    );
    close(&mean(&settled), people(1.0));
    let of_people = |agreement: &Value| {
        let pairs = agreement["pairs"].as_array().unwrap();
        let pair = pairs
            .iter()
            .find(|pair| pair["first"] == "ann" && pair["second"] == "ben");
        pair.unwrap()["overall"]["kendall_tau_b"]["estimate"].clone()
    };
    assert_eq!(
        of_people(&agreement),
        of_people(&settled),
        "raters agree as they labeled"
    );
    assert!(
        settled["raters"]
            .as_array()
            .unwrap()
            .iter()
            .all(|rater| rater["name"] != "adjudication")
    );
}

#[test]
fn rounds_join_and_faults_name_the_file() {
    let work = scored();
    let one = label(&work, "one", "10", "1");
    let two = label(&work, "two", "10", "2");
    let all = |_: usize, aspect: &str| Some(if aspect == "coverage" { 4 } else { 3 });
    write_labels(&work, "one/ann.json", &one, "ann", all);
    write_labels(&work, "two/ann.json", &two, "ann", all);
    let joined = agree(&work, &["one/ann.json", "two/ann.json"]);
    let cases =
        |sheet: &Value| -> Vec<usize> { items(sheet).into_values().map(|(at, _)| at).collect() };
    let mut both = [cases(&one), cases(&two)].concat();
    both.sort_unstable();
    both.dedup();
    assert_eq!(joined["confusions"][0]["questions"], both.len());

    // Who labels an answer in both rounds means the later label, however the files are named.
    let low = |_: usize, _: &str| Some(1);
    write_labels(&work, "two/ann.json", &two, "ann", low);
    let later = work
        .read("two/ann.json")
        .replace("2026-01-01", "2026-02-01");
    work.write("two/ann.json", &later);
    let means = [
        ["one/ann.json", "two/ann.json"],
        ["two/ann.json", "one/ann.json"],
    ]
    .map(|files| agree(&work, &files)["powered"][0]["labels_only"]["estimate"].clone());
    assert_eq!(means[0], means[1]);
    // The first round alone has 3.5.
    let of_two: BTreeSet<usize> = cases(&two).into_iter().collect();
    let [once, again] = [both.len() - of_two.len(), of_two.len()].map(|count| count as f64);
    close(&means[0], (3.5 * once + again) / both.len() as f64);

    // Without its sheet, beside tables, of other units, off the scale, and of other texts.
    std::fs::create_dir(work.path("alone")).unwrap();
    work.write("alone/ann.json", &work.read("one/ann.json"));
    let refused = |labels: &[&str], says: &[&str]| {
        let common = ["agree", "out", "--labels"];
        let done = work.run(&[&common[..], labels].concat());
        assert_ne!(done.code, Some(0), "{done:?}");
        done.says(says);
    };
    refused(
        &["alone/ann.json"],
        &[
            "alone/ann.json",
            "sheet.json of its sheet",
            "among --labels",
        ],
    );
    // A directory stands for its sheet and the labels in it; a pattern may name the sheet, too.
    agree(&work, &["one"]);
    agree(
        &work,
        &["one/sheet.json", "one/texts.json", "alone/ann.json"],
    );
    work.write("table.csv", "system,case_id,rater,value\nalpha,c01,eve,3\n");
    refused(&["one/ann.json", "table.csv"], &["one kind at a time"]);
    let whole = [
        "label",
        "out",
        "--answers",
        "10",
        "--raters",
        "ann",
        "--random",
        "--units",
        "answer",
        "--out",
        "whole",
    ];
    work.run(&whole).exits_with(0);
    let whole = work.json("whole/sheet.json");
    write_labels(&work, "whole/ann.json", &whole, "ann", |_, _| Some(4));
    refused(
        &["one/ann.json", "whole/ann.json"],
        &["whole/ann.json", "other units (answer)", "(aspect)"],
    );
    write_labels(&work, "one/off.json", &one, "ben", |_, _| Some(6));
    refused(&["one/off.json"], &["one/off.json", "not on its scale"]);
    std::fs::remove_file(work.path("one/off.json")).unwrap();
    let whole = work.read("one/ann.json");
    work.write("one/labels-ben.json", &whole[..whole.len() / 2]);
    refused(&["one"], &["one/labels-ben.json", "not a file of labels"]);
    std::fs::remove_file(work.path("one/labels-ben.json")).unwrap();
    let inputs = work.read("out/inputs.jsonl");
    assert!(inputs.contains("To question 3:"), "texts are recorded");
    let other = work.read("one/sheet.json");
    let sheet: Value = serde_json::from_str(&other).unwrap();
    let drawn = sheet["frame"]
        .as_array()
        .unwrap()
        .iter()
        .find(|own| own["drawn"] == true)
        .unwrap();
    let hash = drawn["text"].as_str().unwrap();
    let other: Value = serde_json::from_str(&other.replace(hash, &"0".repeat(hash.len()))).unwrap();
    let other = with_its_id(&other);
    work.write("one/sheet.json", &other.to_string());
    write_labels(&work, "one/ann.json", &other, "ann", all);
    refused(&["one/ann.json"], &["is not the one that was labeled"]);
}

#[test]
fn an_edited_sheet_is_refused_and_two_labels_at_one_time_name_both_places() {
    let work = scored();
    let sheet = label(&work, "l", "4", "1");
    write_labels(&work, "l/labels-ann.json", &sheet, "ann", |at, _| {
        Some(1 + at % 5)
    });
    write_labels(&work, "l/labels-ben.json", &sheet, "ben", |at, _| {
        Some(1 + at % 4)
    });
    let labels = ["agree", "out", "--labels", "l"];
    let shown = work.run(&labels).exits_with(0).stdout;
    // Four answers that both raters labeled.
    assert!(
        shown.contains(" (4)") && shown.contains("(n = 4)"),
        "{shown}"
    );
    write_labels(&work, "l/labels-more.json", &sheet, "ann ", |at, _| {
        Some(5 - at % 5)
    });
    work.run(&labels).exits_with(3).says(&[
        "labels-more.json:",
        "by ann at one time; the other one is at l/labels-ann.json:",
    ]);
    std::fs::remove_file(work.path("l/labels-more.json")).unwrap();
    let mut edited = sheet.clone();
    edited["frame"][0]["probability"] = json!(0.5);
    work.write("l/sheet.json", &edited.to_string());
    work.run(&labels)
        .exits_with(3)
        .says(&["sheet.json: was edited: its id is not the hash of what it holds"]);
}
