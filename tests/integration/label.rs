//! `label`: pages on which people label, what is on them and what is not, and their use in a real browser.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::process::Command;

use serde_json::{Value, json};

use crate::html_report::HOSTILE;
use crate::support::fake_server::{Behaviour, FakeServer};
use crate::support::judging::kind_of;
use crate::support::workspace::{Workspace, plain_case};

/// Answers of these systems to `cases` plain cases, all with this text, scored by a judge whose feedback is a name.
fn scored(systems: &[&str], cases: usize, text: &str) -> Workspace {
    let ids: Vec<String> = (1..=cases).map(|i| format!("wombat{i}")).collect();
    let work = Workspace::with_cases(&ids.iter().map(|id| plain_case(id)).collect::<Vec<_>>());
    for system in systems {
        let answers = ids.iter().map(|id| (id.as_str(), text.to_owned()));
        work.answers(system, answers);
    }
    let server = FakeServer::start(Behaviour::good().saying(|request| match kind_of(request) {
        "citations" => json!({"claims": []}).to_string(),
        "evidence" => json!({"score": 1, "reason": "okapi"}).to_string(),
        _ => json!({"score": 6, "reason": "okapi"}).to_string(),
    }));
    let more = ["--run-label", "tapir", "--out", "out"];
    work.score(&server, &more).exits_with(0);
    work
}

/// `label` with these arguments into `labels`.
fn label(work: &Workspace, arguments: &[&str]) -> String {
    let all = [&["label", "out", "--out", "labels"], arguments].concat();
    work.run(&all).exits_with(0).all_text()
}

/// The ids of a rater's items.
fn items_of(sheet: &Value, rater: usize) -> Vec<String> {
    let items = sheet["raters"][rater]["items"].as_array().unwrap();
    let id = |item: &Value| item["item"].as_str().unwrap().to_owned();
    items.iter().map(id).collect()
}

fn item<'a>(sheet: &'a Value, id: &str) -> &'a Value {
    let mut items = sheet["items"].as_array().unwrap().iter();
    items.find(|item| item["id"] == id).unwrap()
}

#[test]
fn a_page_has_no_name_of_what_is_labeled_and_the_sheet_has_all_of_them() {
    let work = scored(
        &["zebrafinch", "quokka"],
        4,
        "It rains [1] and then it dries.",
    );
    label(
        &work,
        &[
            "--answers",
            "8",
            "--raters",
            "ann,Ben/../Ö",
            "--overlap",
            "2",
        ],
    );
    let sheet = work.json("labels/sheet.json");
    for page in ["labels/ann.html", "labels/ben.html"] {
        let text = work.read(page).to_lowercase();
        for name in [
            "zebrafinch",
            "quokka",
            "okapi",
            "tapir",
            "fake-judge",
            "wombat1\"",
            "\"p0\"",
        ] {
            // The case's id is in its question, as a word of it.
            assert!(!text.contains(name), "{name} is in {page}");
        }
        assert!(text.contains("it rains [1]") && text.contains("causes of wombat1"));
        assert!(!text.contains("http://") && !text.contains("https://"));
    }
    assert_eq!(sheet["runs"], json!(["tapir"]));
    assert_eq!(sheet["frame"].as_array().unwrap().len(), 8);
    // Two properties and the expertise of each answer.
    assert_eq!(sheet["items"].as_array().unwrap().len(), 24);
    let units: BTreeSet<String> = sheet["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| item["unit"].to_string())
        .collect();
    let of =
        |name: &str| json!({"kind": "criterion", "scorer": "rubric", "name": name}).to_string();
    assert_eq!(units, BTreeSet::from(["expertise", "p0", "p1"].map(of)));
}

#[test]
fn shared_answers_are_on_every_page_and_the_others_on_one_in_orders_of_their_own() {
    let work = scored(&["zebrafinch", "quokka"], 6, "It rains.");
    label(
        &work,
        &["--answers", "10", "--raters", "a,b", "--overlap", "4"],
    );
    let sheet = work.json("labels/sheet.json");
    let pages = [0, 1].map(|rater| items_of(&sheet, rater));
    // 4 shared answers and half of the other 6, 3 items each.
    assert_eq!(pages.clone().map(|page| page.len()), [21, 21]);
    let sets = pages.clone().map(BTreeSet::from_iter);
    let shared: Vec<&String> = sets[0].intersection(&sets[1]).collect();
    assert_eq!(shared.len(), 12);
    assert!(shared.iter().all(|id| item(&sheet, id)["shared"] == true));
    let order = |page: &[String]| -> Vec<String> {
        let own = page.iter().filter(|id| shared.contains(id));
        own.cloned().collect()
    };
    assert_ne!(order(&pages[0]), order(&pages[1]));
    // An answer is read once: its items follow each other.
    for page in &pages {
        let mut answers: Vec<&Value> = page.iter().map(|id| &item(&sheet, id)["answer"]).collect();
        answers.dedup();
        assert_eq!(answers.len(), 7);
    }
    let drawn = sheet["frame"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|answer| answer["drawn"] == true);
    assert_eq!(drawn.count(), 10);
    let sum: f64 = sheet["frame"]
        .as_array()
        .unwrap()
        .iter()
        .map(|answer| answer["probability"].as_f64().unwrap())
        .sum();
    assert!((sum - 10.0).abs() < 1e-9);
    // The same draw again changes nothing; another one does not take its place.
    label(
        &work,
        &["--answers", "10", "--raters", "a,b", "--overlap", "4"],
    );
    assert_eq!(work.json("labels/sheet.json"), sheet);
    work.run(&[
        "label",
        "out",
        "--out",
        "labels",
        "--answers",
        "9",
        "--raters",
        "a",
    ])
    .exits_with(3)
    .says(&["holds the sheet of another draw", "--out"]);
}

#[test]
fn pairs_are_two_systems_answers_to_one_question_on_random_sides() {
    let work = scored(&["zebrafinch", "quokka", "numbat"], 8, "It rains.");
    label(
        &work,
        &[
            "--pairs",
            "--answers",
            "20",
            "--raters",
            "a,b",
            "--overlap",
            "20",
        ],
    );
    let sheet = work.json("labels/sheet.json");
    // Three pairs of systems, eight questions.
    assert_eq!(
        sheet["pairs"],
        json!({"of": 24, "probability": 20.0 / 24.0})
    );
    for own in sheet["items"].as_array().unwrap() {
        let answer = |side: &str| &sheet["frame"][own[side].as_u64().unwrap() as usize];
        assert_eq!(answer("answer")["case_id"], answer("other")["case_id"]);
        assert_ne!(answer("answer")["system"], answer("other")["system"]);
    }
    let swapped = |rater: usize| -> BTreeMap<String, bool> {
        let items = sheet["raters"][rater]["items"].as_array().unwrap().iter();
        items
            .map(|item| (item["item"].to_string(), item["swapped"] == true))
            .collect()
    };
    assert_ne!(swapped(0), swapped(1));
}

#[test]
fn a_system_named_in_an_answer_and_what_cannot_be_drawn_are_said() {
    let work = scored(&["zebrafinch", "quokka"], 3, "As Quokka I say: rain.");
    let text = label(&work, &["--answers", "6", "--raters", "a"]);
    assert!(
        text.contains("contain names of systems") && text.contains("quokka in 6"),
        "{text}"
    );
    let other = ["label", "out", "--out", "other", "--raters"];
    work.run(&[&other[..], &["a", "--answers", "7"]].concat())
        .exits_with(3)
        .says(&["there are 6 answers with a value"]);
    work.run(&[&other[..], &["a,a", "--answers", "6"]].concat())
        .exits_with(2)
        .says(&["a is named twice"]);
    // In agree, the run's judge has the name of the run.
    work.run(&[&other[..], &["tapir ", "--answers", "6"]].concat())
        .exits_with(2)
        .says(&["\"tapir\" is the name of a run"]);
    work.run(&[&other[..], &["a,b,c", "--answers", "2", "--overlap", "0"]].concat())
        .exits_with(3)
        .says(&["nothing is left for c"]);
    assert!(!work.path("other").exists());
    // A table has no directory and no raters; a page needs both.
    for more in [&["--out", "other"][..], &["--raters", "a"]] {
        let table = ["label", "out", "--answers", "2", "--format", "csv"];
        work.run(&[&table[..], more].concat())
            .exits_with(2)
            .says(&["--format csv writes a table of answers"]);
    }
    work.run(&[&other[..], &["a", "--answers", "2", "--format", "page"]].concat())
        .exits_with(0);
}

/// Uses the page in Chromium, or says why it cannot; gives what the script prints.
fn browse(work: &Workspace, page: &str, mode: &str) -> Option<String> {
    let Some(playwright) = std::env::var_os("SCHOLAREVAL_PLAYWRIGHT") else {
        eprintln!(
            "skipped: SCHOLAREVAL_PLAYWRIGHT names no directory with node_modules/playwright-core (.ci/run makes one)"
        );
        return None;
    };
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/browser/label.mjs");
    let folder: PathBuf = work.path(&format!("browser-{mode}"));
    std::fs::create_dir(&folder).unwrap();
    let output = Command::new("node")
        .arg(script)
        .args([&work.path(page), &folder])
        .arg(mode)
        .env("PLAYWRIGHT_DIR", playwright)
        .output()
        .expect("node runs");
    let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{stdout}{stderr}");
    Some(stdout)
}

#[test]
fn forty_labels_by_keyboard_survive_a_killed_browser() {
    let work = scored(&["zebrafinch", "quokka"], 7, "It rains [1].");
    label(&work, &["--answers", "14", "--raters", "ann"]);
    let Some(printed) = browse(&work, "labels/ann.html", "work") else {
        return;
    };
    let pressed: BTreeMap<String, String> =
        serde_json::from_str(printed.lines().next().unwrap()).unwrap();
    let sheet = work.json("labels/sheet.json");
    let id = sheet["id"].as_str().unwrap();
    let file = work.json(&format!("browser-work/labels-ann-{id}.json"));
    let mut labels = 0;
    let mut gaps = Vec::new();
    let mut values = 0;
    for own in file["labels"].as_array().unwrap() {
        let Some(key) = pressed.get(own["item"].as_str().unwrap()) else {
            continue;
        };
        let expected = match key.as_str() {
            "x" => None,
            "+" => Some(1.0),
            number => Some(number.parse::<f64>().unwrap() / 10.0),
        };
        assert_eq!(own["label"]["value"].as_f64(), expected, "{own}");
        assert_eq!(own["label"] == "cannot_assess", expected.is_none(), "{own}");
        values += usize::from(expected.is_some());
        let unit = &item(&sheet, own["item"].as_str().unwrap())["unit"];
        if unit["name"] == "expertise" {
            // The judge gives 6 points to everything.
            gaps.extend(expected.map(|value| (value - 0.6).abs()));
        }
        labels += 1;
    }
    assert_eq!(
        (labels, &file["sheet"], &file["rater"]),
        (40, &sheet["id"], &json!("ann"))
    );
    let download = format!("browser-work/labels-ann-{id}.json");
    let agree = [
        "agree", "out", "--level", "item", "--format", "json", "--labels", "labels", &download,
    ];
    let agreement: Value = serde_json::from_str(&work.run(&agree).exits_with(0).stdout).unwrap();
    let mut raters = agreement["raters"].as_array().unwrap().iter();
    let ann = raters.find(|rater| rater["name"] == "ann").unwrap();
    assert_eq!(ann["ratings"], values);
    let read = [
        "criteria", "out", "--format", "json", "--labels", "labels", &download,
    ];
    let criteria: Value = serde_json::from_str(&work.run(&read).exits_with(0).stdout).unwrap();
    let mut rows = criteria["criteria"].as_array().unwrap().iter();
    let expertise = rows.find(|row| row["name"] == "expertise").unwrap();
    assert_eq!(expertise["labels"], gaps.len());
    let gap = expertise["people_gap"].as_f64().unwrap();
    let expected = gaps.iter().sum::<f64>() / gaps.len() as f64;
    assert!((gap - expected).abs() < 1e-9, "{gap} {expected}");
}

#[test]
fn hostile_answers_run_nothing_and_a_refused_storage_is_announced() {
    let work = scored(&["zebrafinch", "quokka"], 9, HOSTILE);
    label(&work, &["--answers", "18", "--raters", "</script><b>ann"]);
    let page = work.read("labels/script-b-ann.html");
    assert!(
        !page.contains("<script>window.pwned")
            && !page.contains("<img")
            && !page.contains("<b>ann")
    );
    browse(&work, "labels/script-b-ann.html", "hostile");
}

#[test]
fn two_thousand_items_are_usable_on_one_page() {
    let criteria: Vec<String> = (0..20)
        .map(|at| format!("Names the cause number {at} of rain"))
        .collect();
    let case = |at: usize| json!({"case_id": format!("c{at}"), "question": format!("Why rain {at}?"), "criteria": criteria});
    let cases: Vec<Value> = (0..50).map(case).collect();
    let work = Workspace::with_cases(&cases);
    for system in ["zebrafinch", "quokka"] {
        let ids: Vec<String> = (0..50).map(|at| format!("c{at}")).collect();
        let text = "Rain has causes, and these have numbers [1]. ".repeat(60);
        work.answers(system, ids.iter().map(|id| (id.as_str(), text.clone())));
    }
    work.run(&["score", "answers", "--tests", "tests.json", "--out", "out"])
        .exits_with(0);
    label(&work, &["--answers", "100", "--raters", "ann", "--random"]);
    browse(&work, "labels/ann.html", "many");
}

#[test]
fn items_on_which_raters_differ_are_settled_on_a_page_without_their_names() {
    let work = scored(&["zebrafinch", "quokka"], 3, "It rains.");
    label(
        &work,
        &[
            "--answers",
            "6",
            "--raters",
            "marmoset,ocelot",
            "--overlap",
            "6",
        ],
    );
    let sheet = work.json("labels/sheet.json");
    let ids = items_of(&sheet, 0);
    let file = |rater: &str, first: f64, comment: &str| {
        let label = |at: usize, id: &String| {
            let value = if at == 0 { first } else { 0.5 };
            json!({"item": id, "label": {"value": value}, "comment": comment, "seconds": 1.5, "at": "2026-01-01T00:00:00.000Z"})
        };
        let labels: Vec<Value> = ids
            .iter()
            .enumerate()
            .map(|(at, id)| label(at, id))
            .collect();
        json!({"schema_version": 1, "sheet": sheet["id"], "rater": rater, "saved_at": "", "labels": labels}).to_string()
    };
    work.write("one.json", &file("marmoset", 0.2, "because of <i>this</i>"));
    work.write("two.json", &file("ocelot", 0.7, ""));
    let settle = ["label", "--adjudicate", "labels", "one.json", "two.json"];
    let done = work.run(&settle).exits_with(0);
    assert!(
        done.stdout
            .contains("adjudication.html: 1 item on which raters differ"),
        "{}",
        done.stdout
    );
    let page = work.read("labels/adjudication.html");
    for name in ["marmoset", "ocelot", "zebrafinch", "quokka", "<i>"] {
        assert!(!page.contains(name), "{name}");
    }
    browse(&work, "labels/adjudication.html", "adjudicate");
    work.write("two.json", &file("ocelot", 0.2, ""));
    work.run(&settle)
        .exits_with(3)
        .says(&["nothing to settle", "18 items that two of them labeled"]);
    work.write("two.json", &file("stranger", 0.2, ""));
    work.run(&settle)
        .exits_with(3)
        .says(&["two.json", "not on a page of stranger"]);
}
