//! `report`: a run becomes a page, and the page is used in a real browser.

use std::path::PathBuf;
use std::process::Command;

use serde_json::{Value, json};

use crate::criteria::with_a_fault;
use crate::rubric_golden::shared;
use crate::support::fake_server::{Behaviour, FakeServer};
use crate::support::judging::kind_of;
use crate::support::workspace::{KEY, Workspace};

/// Everything that could run if it became markup; `pwned` is what the browser looks for.
pub(crate) const HOSTILE: &str = "</script><script>window.pwned = 1</script> <img src=x onerror=\"window.pwned = 2\"> \
    <a href=\"javascript:window.pwned = 3\" onclick=\"window.pwned = 4\">link</a> <!-- --!> ]]> <svg onload=window.pwned=5> \
    javascript:alert(1) {{ 7 * 7 }} {% raw %} \u{2028}\u{2029} ' \" & &lt;script&gt; [1]";

/// Markdown whose links, images and HTML would run or load something.
const MARKDOWN: &str = "# Title <img src=x onerror=window.pwned=6>\n\n- [link](javascript:window.pwned=7) **a *b** c* ***d***\n  \
    - ![image](http://127.0.0.1:9/x.png) <javascript:window.pwned=8>\n\n| a | b |\n|---|---|\n| <svg onload=window.pwned=9> | \
    [d](data:text/html,x) |\n\n```html\n<script>window.pwned = 10</script>\n```\n[[[[[ `` ` ** __";

/// Two systems, one of them hostile in name and words, by a judge that is hostile too and asked twice.
fn hostile_run() -> Workspace {
    let work = Workspace::new(&["plain"], 3);
    work.answers(
        "<b onclick=pwned()>&\"evil",
        ["c1", "c2", "c3"].map(|id| (id, format!("{HOSTILE} Of {id}.\n\n{MARKDOWN}"))),
    );
    let server = FakeServer::start(Behaviour::good().saying(|request| match kind_of(request) {
        "citations" => json!({"claims": [{"claim_text": HOSTILE, "citations": []}]}).to_string(),
        "evidence" => json!({"score": 1, "reason": HOSTILE}).to_string(),
        _ => json!({"score": 6, "reason": HOSTILE}).to_string(),
    }));
    work.score(&server, &["--samples", "2"]).exits_with(0);
    work
}

/// Uses the page in Chromium, or says why it cannot.
pub(crate) fn browse(page: PathBuf, more: &[&str]) {
    let Some(playwright) = std::env::var_os("SCHOLAREVAL_PLAYWRIGHT") else {
        eprintln!(
            "skipped: SCHOLAREVAL_PLAYWRIGHT names no directory with node_modules/playwright-core (.ci/run makes one)"
        );
        return;
    };
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/browser/report.mjs");
    let output = Command::new("node")
        .arg(script)
        .arg(page)
        .args(more)
        .env("PLAYWRIGHT_DIR", playwright)
        .output()
        .expect("node runs");
    let said = format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    assert!(output.status.success(), "{said}");
    assert!(said.matches("ok: ").count() > 8, "{said}");
}

#[test]
fn a_page_of_hostile_answers_runs_nothing_in_a_browser() {
    let work = hostile_run();
    let done = work.run(&["report", "out"]).exits_with(0);
    assert!(
        done.stdout
            .contains("wrote report.html: 2 systems, 3 cases"),
        "{}",
        done.stdout
    );
    let page = work.read("report.html");
    assert!(
        !page.contains("<script>window.pwned") && !page.contains("<img") && !page.contains(KEY)
    );
    browse(work.path("report.html"), &["hostile"]);
}

#[test]
fn a_met_fault_does_not_look_like_a_success_in_a_browser() {
    let work = with_a_fault();
    work.run(&["report", "out"]).exits_with(0);
    let page = work.read("report.html");
    assert!(page.contains("c* (3 faults)") && page.contains(">-50.0<"));
    browse(work.path("report.html"), &["faults"]);
}

#[test]
fn the_page_of_the_released_answers_is_under_ten_megabytes_and_works_in_a_browser() {
    let Some(data) = shared()
        .map(|shared| shared.join("data/scholarqa_cs"))
        .filter(|data| data.is_dir())
    else {
        eprintln!("skipped: no released answers");
        return;
    };
    let data = data.canonicalize().unwrap();
    let (answers, tests) = (
        data.join("src_answers"),
        data.join("test_configs_snippets.json"),
    );
    let work = Workspace::with_cases(&[]);
    let score = [
        "score",
        answers.to_str().unwrap(),
        "--tests",
        tests.to_str().unwrap(),
        "--out",
        "out",
        "--agreement",
    ];
    work.run(&score).exits_with(0);
    let done = work
        .run(&["report", "out", "--out", "page.html"])
        .exits_with(0);
    assert!(done.stdout.contains("4 systems"), "{}", done.stdout);
    let page = work.read("page.html");
    assert!(page.len() < 10_000_000, "{} bytes", page.len());
    browse(work.path("page.html"), &[]);
}

#[test]
fn eight_systems_with_names_of_any_length_have_room_in_a_browser() {
    let names = [
        "gpt-4o-2024-08-06",
        "openscholar_8b_reranked_feedback",
        "perplexity",
        "nora",
        "claude",
        "llama-3.1-70b-instruct",
    ];
    let work = Workspace::new(&names, 3);
    let answers = || ["c1", "c2", "c3"].map(|id| (id, format!("An answer to {id} [1].")));
    work.answers(
        "a-system-name-of-exactly-52-characters_with_feedback",
        answers(),
    );
    work.answers(&"x".repeat(240), answers());
    let server = FakeServer::start(Behaviour::good());
    work.score(&server, &[]).exits_with(0);
    work.run(&["report", "out"]).exits_with(0);
    let page = work.read("report.html");
    assert!(page.contains(&format!("title=\"{}\"", "x".repeat(240))));
    // Headings that are signs have a tooltip.
    let heading = "<abbr tabindex=\"0\" title=\"cases where the first system is better (win), equal (tie), worse (loss)\">";
    assert!(page.contains(heading));
    browse(work.path("report.html"), &[]);
}

/// Name and value of an answer's first criterion.
fn first_property(work: &Workspace, system: &str, case: &str) -> (String, f64) {
    let lines = work.lines("out/scores.jsonl");
    let score = lines
        .iter()
        .find(|line| line["system"] == system && line["case_id"] == case)
        .unwrap();
    let details = score["details"].as_object().unwrap();
    let (item, detail) = details
        .iter()
        .find(|(_, detail)| detail["kind"] == "property")
        .unwrap();
    (item.clone(), detail["value"].as_f64().unwrap())
}

#[test]
fn labels_of_people_stand_with_the_judge_in_a_browser() {
    let work = Workspace::new(&["plain", "other"], 3);
    let server = FakeServer::start(Behaviour::good());
    work.score(&server, &[]).exits_with(0);
    let (item, value) = first_property(&work, "plain", "c1");
    let far = if value > 0.5 { 0.0 } else { 1.0 };
    let (same, own) = first_property(&work, "other", "c2");
    // Far from the judge in the first case, its own value in the second; of the third nothing.
    let labels = format!(
        "system,case_id,item,rater,value\nplain,c1,{item},ann,{far}\nplain,c1,{item},ben,{far}\nother,c2,{same},ann,{own}\n"
    );
    work.write("labels.csv", &labels);
    work.run(&["report", "out", "--labels", "labels.csv"])
        .exits_with(0);
    let page = work.read("report.html");
    assert!(page.contains("judge and people differ in 1 of 2 labeled cases"));
    browse(work.path("report.html"), &["labels"]);
    work.run(&["rescore", "out", "--out", "second"])
        .exits_with(0);
    work.run(&["report", "out", "second", "--labels", "labels.csv"])
        .exits_with(3)
        .says(&["--labels needs a single run"]);
}

#[test]
fn an_unfinished_run_says_on_how_many_cases_its_verdict_rests() {
    let work = Workspace::new(&["plain", "other"], 3);
    let server = FakeServer::start(Behaviour::good());
    work.score(&server, &["--slice", "1/2"]).exits_with(0);
    work.run(&["report", "out"]).exits_with(0);
    let page = work.read("report.html");
    assert!(page.contains("unfinished: rests on "), "no warning");
}

#[test]
fn a_page_can_be_made_without_answers_and_never_replaces_another_file() {
    let work = hostile_run();
    work.run(&["report", "out"]).exits_with(0);
    let whole = work.read("report.html");
    // An earlier report is replaced unasked.
    work.run(&["report", "out", "--no-answers"]).exits_with(0);
    let small = work.read("report.html");
    assert!(whole.contains("Of c1.") && !small.contains("Of c1."));
    assert!(small.len() < whole.len());
    work.write("notes.html", "mine");
    work.run(&["report", "out", "--out", "notes.html"])
        .exits_with(3)
        .says(&["is not a report", "name another file"]);
    work.run(&["report", "out", "--out", "out/scores.jsonl"])
        .exits_with(2)
        .says(&["this is the input"]);
    assert_eq!(work.read("notes.html"), "mine");
    work.run(&["report", "nowhere"])
        .exits_with(3)
        .says(&["nowhere: no such directory"]);
}

#[test]
fn the_criteria_of_a_long_rubric_are_all_on_the_page_and_shown_on_request() {
    let work = Workspace::with_cases(&[]);
    let criterion =
        |at: usize| json!({"text": format!("No. {at} <img src=x onerror=alert(1)>"), "weight": 1});
    let criteria: Vec<Value> = (1..=45).map(criterion).collect();
    let case =
        |id: &str| json!({"case_id": id, "question": format!("Why {id}?"), "criteria": criteria});
    work.write(
        "criteria.json",
        &json!(["c1", "c2", "c3"].map(case)).to_string(),
    );
    for (system, text) in [("good", "No. 1 No. 2 No. 7"), ("bad", "nothing")] {
        let answers = ["c1", "c2", "c3"].map(|id| (id, text.to_owned()));
        work.answers(system, answers);
    }
    work.run(&[
        "score",
        "answers",
        "--tests",
        "criteria.json",
        "--out",
        "out",
    ])
    .exits_with(0);
    work.run(&["report", "out"]).exits_with(0);
    let page = work.read("report.html");
    // 45 texts in three cases, as `criteria` counts them; 5 lines wait behind the first 40.
    assert!(page.contains("135 criteria, those with the largest differences first"));
    let grouped = work.run(&["criteria", "out"]).exits_with(0).stdout;
    assert!(grouped.contains("(135 criteria)"), "{grouped}");
    assert_eq!(page.matches("<tr class=\"more\"").count(), 5);
    assert!(!page.contains("<img src=x"));
    browse(work.path("report.html"), &["long"]);
}

#[test]
fn the_nodes_of_a_tree_fold_on_the_page_of_its_case_in_a_browser() {
    let work = Workspace::with_cases(&[]);
    let leaf = |text: String, weight: usize| json!({"requirements": text, "weight": weight, "sub_tasks": [], "task_category": "Code Development"});
    let tree = |id: &str| {
        let leaves = |part: usize| {
            let leaves = (1..=10).map(|at| leaf(format!("Step {part}-{at} <img src=x>"), at));
            Value::from_iter(leaves)
        };
        let parts = (1..=4).map(|part| {
            json!({"requirements": format!("Part {part} <img src=x>"), "weight": part, "sub_tasks": leaves(part)})
        });
        json!({"id": id, "requirements": format!("Why {id}?"), "weight": 1, "sub_tasks": Value::from_iter(parts)})
    };
    let trees = ["c1", "c2", "c3"].map(|id| tree(id).to_string());
    work.write("trees.jsonl", &trees.join("\n"));
    for (system, text) in [("good", "Step 1-1, Step 2-7, Part 3."), ("bad", "nothing")] {
        let answers = ["c1", "c2", "c3"].map(|id| (id, text.to_owned()));
        work.answers(system, answers);
    }
    let score = [
        "score",
        "answers",
        "--tests",
        "trees.jsonl",
        "--rubric",
        "paperbench",
        "--out",
        "out",
    ];
    work.run(&score).exits_with(0);
    work.run(&["report", "out"]).exits_with(0);
    let page = work.read("report.html");
    assert!(page.contains(r#""groups":[["1 Part 1 "#) && !page.contains("<img src=x"));
    browse(work.path("report.html"), &["tree"]);
    let by_tag = work.run(&["criteria", "out"]).exits_with(0).stdout;
    assert!(
        by_tag.contains("By tag") && by_tag.contains("c3 4"),
        "{by_tag}"
    );
}

#[test]
fn the_page_shows_what_people_say_together_of_a_whole_answer_and_of_how_much() {
    let work = Workspace::new(&["plain", "other"], 3);
    let server = FakeServer::start(Behaviour::good());
    work.score(&server, &[]).exits_with(0);
    let label = [
        "label",
        "out",
        "--answers",
        "6",
        "--raters",
        "ann",
        "--out",
        "l",
    ];
    work.run(&label).exits_with(0);
    let sheet = work.json("l/sheet.json");
    let items = sheet["items"].as_array().unwrap().iter();
    let given = |value: f64| -> Vec<Value> {
        let of = |item: &Value| json!({"item": item["id"], "label": {"value": value}, "seconds": 1.0, "at": "2026"});
        items.clone().map(of).collect()
    };
    let file = |rater: &str, value: f64| {
        json!({"schema_version": 1, "sheet": sheet["id"], "rater": rater, "saved_at": "2026",
        "adjudicated": rater == "adjudication", "labels": given(value)})
    };
    work.write("l/labels-ann.json", &file("ann", 0.1).to_string());
    work.write("l/labels-all.json", &file("adjudication", 0.3).to_string());
    work.run(&["report", "out", "--labels", "l"]).exits_with(0);
    // Credits of 0.3 by weight over their weights are 0.3, whatever ann said.
    assert!(
        work.read("report.html")
            .contains(r#""item":"","labels":[["ann",0.1"#)
    );
    browse(work.path("report.html"), &["settled"]);
}
