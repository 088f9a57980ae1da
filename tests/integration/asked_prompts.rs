//! What a judge was asked, rendered again from the record: `prompts show RUN --case ID`, and the page.

use serde_json::{Value, json};

use crate::html_report::HOSTILE;
use crate::support::fake_server::{FakeServer, Recorded};
use crate::support::judging::{answer_of, constant_judge};
use crate::support::workspace::{AT_MOST, Workspace};

const SHOW: [&str; 5] = ["prompts", "show", "out", "--case", "c1"];

/// The calls about the case `c1`.
fn of_first_case(server: &FakeServer) -> Vec<Recorded> {
    let mut calls = server.requests();
    calls.retain(|call| call.is_chat() && call.text().contains("answer to c1"));
    calls
}

/// The texts of a chat request, as they are printed.
fn printed(call: &Recorded) -> String {
    let mut text = String::new();
    for message in call.json()["messages"].as_array().unwrap() {
        let (role, content) = (&message["role"], &message["content"]);
        text += &format!(
            "--- {}\n{}\n",
            role.as_str().unwrap(),
            content.as_str().unwrap()
        );
    }
    text
}

#[test]
fn the_prompts_of_a_case_are_those_that_the_server_received() {
    let work = Workspace::new(&["a", "b"], 2);
    let server = FakeServer::start(constant_judge());
    work.score(&server, &[]).exits_with(0);
    let shown = work.run(&SHOW).exits_with(0).stdout;
    let calls = of_first_case(&server);
    // Two systems with six calls each.
    assert_eq!(calls.len(), 2 * AT_MOST);
    for call in &calls {
        assert!(shown.contains(&printed(call)), "{}\n{shown}", printed(call));
    }
    assert_eq!(shown.matches("--- user\n").count(), calls.len());
    assert_eq!(shown.matches("--- raw reply\n").count(), calls.len());
    assert!(
        shown.contains(
            "=== a, expertise (expertise), asked of fake-judge as rubric, sample 1, attempt 1\n"
        ),
        "{shown}"
    );
    // One criterion has two snippets and one has one: a call each, of one system.
    let arguments = [&SHOW[..], &["--systems", "b", "--item", "evidence"]].concat();
    let of_kind = work.run(&arguments).exits_with(0).stdout;
    assert_eq!(of_kind.matches("=== ").count(), 2, "{of_kind}");
    assert!(!of_kind.contains("The a answer"), "{of_kind}");
}

#[test]
fn a_raw_prompt_is_shown_as_it_was_sent() {
    let work = Workspace::new(&["a"], 1);
    let server = FakeServer::start(constant_judge());
    work.score(
        &server,
        &["--judge", "completions", "--conversation", "chatml"],
    )
    .exits_with(0);
    let shown = work.run(&SHOW).exits_with(0).stdout;
    for call in of_first_case(&server) {
        let prompt = call.json()["prompt"].as_str().unwrap().to_owned();
        assert!(prompt.starts_with("<|im_start|>"), "{prompt}");
        assert!(shown.contains(&format!("--- user\n{prompt}\n")), "{shown}");
    }
}

#[test]
fn a_prompt_with_another_hash_is_not_shown() {
    let work = Workspace::new(&["a"], 1);
    let server = FakeServer::start(constant_judge());
    work.score(&server, &[]).exits_with(0);
    work.edit_scores(str::to_owned);
    let inputs = work.read("out/inputs.jsonl");
    work.write(
        "out/inputs.jsonl",
        &inputs.replace("in few words", "in other words"),
    );
    let shown = work.run(&SHOW).exits_with(0).stdout;
    assert!(!shown.contains("--- user"), "{shown}");
    let why = "--- prompt not shown: what the record and the given prompts make does not have the hash of what was sent";
    assert_eq!(shown.matches(why).count(), AT_MOST, "{shown}");
    // A record of an earlier version has no hash.
    work.write("out/inputs.jsonl", &inputs);
    let mut lines = work.lines("out/calls.jsonl");
    for line in &mut lines {
        line.as_object_mut().unwrap().remove("prompt").unwrap();
    }
    let lines: Vec<String> = lines.iter().map(Value::to_string).collect();
    work.write("out/calls.jsonl", &(lines.join("\n") + "\n"));
    let shown = work.run(&SHOW).exits_with(0).stdout;
    let why = "--- prompt not shown: the record has no hash of a prompt";
    assert_eq!(shown.matches(why).count(), AT_MOST, "{shown}");
    assert!(!shown.contains("--- user"), "{shown}");
}

#[test]
fn the_prompts_of_a_set_need_the_set() {
    let work = Workspace::new(&["a"], 1);
    let server = FakeServer::start(constant_judge());
    work.run(&["prompts", "export", "mine"]).exits_with(0);
    for entry in std::fs::read_dir(work.path("mine")).unwrap() {
        let path = entry.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap();
        if path.extension().is_some_and(|kind| kind != "toml") {
            std::fs::write(&path, format!("Mine.\n{text}")).unwrap();
        }
    }
    work.score(&server, &["--prompts", "mine"]).exits_with(0);
    let shown = work.run(&SHOW).exits_with(0).stdout;
    assert!(!shown.contains("--- user"), "{shown}");
    assert!(
        shown.contains("the judge was asked with the prompts custom@"),
        "{shown}"
    );
    assert!(shown.contains("with --prompts DIR"), "{shown}");
    let shown = work
        .run(&[&SHOW[..], &["--prompts", "mine"]].concat())
        .exits_with(0)
        .stdout;
    let calls = of_first_case(&server);
    assert_eq!(
        shown.matches("--- user\nMine.\n").count(),
        calls.len(),
        "{shown}"
    );
}

#[test]
fn hostile_answers_are_shown_escaped_and_unknown_cases_named() {
    let work = Workspace::new(&[], 2);
    let text = format!("The answer to c1 \u{1b}[31m\u{202e} {HOSTILE}");
    work.answers("a", [("c1", text), ("c2", "The answer to c2.".to_owned())]);
    let server = FakeServer::start(constant_judge());
    work.score(&server, &[]).exits_with(0);
    let shown = work.run(&SHOW).exits_with(0).stdout;
    assert!(shown.contains("\\u{1b}[31m\\u{202e}"), "{shown}");
    assert!(!shown.contains(['\u{1b}', '\u{202e}']));
    let shown = work
        .run(&["prompts", "show", "out", "--case", "c3"])
        .exits_with(3);
    shown.says(&["has no call about case \"c3\""]);
    work.run(&["prompts", "show", "out"])
        .exits_with(2)
        .says(&["--case"]);
}

#[test]
fn the_page_holds_each_prompt_in_lines_that_calls_share() {
    let work = Workspace::new(&["a"], 1);
    let long = format!(
        "The a answer to c1. {}",
        "A long line of words. ".repeat(500)
    );
    work.answers("a", [("c1", long.clone())]);
    let server = FakeServer::start(constant_judge());
    work.score(&server, &[]).exits_with(0);
    work.run(&["report", "out", "--out", "page.html"])
        .exits_with(0);
    let page = work.read("page.html");
    let (_, block) = page.split_once("id=\"case-0\">").unwrap();
    let block: Value = serde_json::from_str(block.split_once("</script>").unwrap().0).unwrap();
    let mut prompts: Vec<Vec<String>> = Vec::new();
    for call in block["systems"][0]["calls"].as_array().unwrap() {
        let joined = |ranges: &Value| {
            let lines = block["prompts"][0].as_array().unwrap();
            let mut text = Vec::new();
            for range in ranges.as_array().unwrap() {
                let [first, count] = [0, 1].map(|at| range[at].as_u64().unwrap() as usize);
                text.extend(
                    lines[first..first + count]
                        .iter()
                        .map(|line| line.as_str().unwrap()),
                );
            }
            text.join("\n")
        };
        prompts.push(
            call["prompt"][1]
                .as_array()
                .unwrap()
                .iter()
                .map(joined)
                .collect(),
        );
    }
    let mut sent: Vec<Vec<String>> = Vec::new();
    for call in of_first_case(&server) {
        assert!(!answer_of(&call).is_empty());
        let messages = call.json()["messages"].as_array().unwrap().clone();
        sent.push(
            messages
                .iter()
                .map(|message| message["content"].as_str().unwrap().to_owned())
                .collect(),
        );
    }
    prompts.sort();
    sent.sort();
    assert_eq!(prompts, sent);
    // Once as the answer and once as a line of all prompts.
    assert_eq!(page.matches(long.trim_end()).count(), 2);
    assert_eq!(block["systems"][0]["calls"][0].get("no_prompt"), None);
    let json = json!(block["prompts"]).to_string();
    assert!(json.len() < 2 * long.len(), "{} bytes", json.len());
}
