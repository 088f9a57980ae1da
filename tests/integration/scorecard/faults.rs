//! Bad input of scorecards: refused before any judge is asked, with file, line and what to type.

use serde_json::json;

use super::workspace::{Finished, Workspace, plain_case};
use super::{FakeServer, empty_workspace, grader, judge_table, prediction, write_predictions};

const ASPECT: &str = r#"{"aspect": "wit", "criteria_description": "Is it funny?", "score1_description": "a",
 "score2_description": "b", "score3_description": "c", "score4_description": "d", "score5_description": "e"}"#;

/// Predictions, a config file with a judge of all aspects and of citations, and the server behind it.
fn work() -> (Workspace, FakeServer) {
    let work = empty_workspace();
    let more = json!({"ctxs": [{"text": "A source."}]});
    let items = [
        prediction("Why?", "So [0].", more.clone()),
        prediction("When?", "Now [0].", more),
    ];
    write_predictions(&work, "alpha.json", &items);
    let server = FakeServer::start(grader(3));
    let roles = "[roles]\naspect = \"mine\"\ncitation = \"mine\"\n";
    work.write("eval.toml", &(judge_table("mine", &server, "") + roles));
    (work, server)
}

/// Runs `score` with the config; nothing may be asked or written.
#[track_caller]
fn refused(
    work: &Workspace,
    server: &FakeServer,
    arguments: &[&str],
    code: i32,
    says: &[&str],
) -> Finished {
    let common = ["score", "--config", "eval.toml", "--out", "out"];
    let done = work
        .run(&[&common[..], arguments].concat())
        .exits_with(code)
        .says(says);
    assert_eq!(
        (server.chat_count(), done.stdout.as_str()),
        (0, ""),
        "{}",
        done.stderr
    );
    assert!(!work.path("out").exists(), "{}", done.stderr);
    done
}

#[test]
fn references_that_cannot_be_joined_are_told() {
    let (work, server) = work();
    let refer = |items: &[serde_json::Value]| write_predictions(&work, "refs.json", items);
    let arguments = ["alpha.json", "--references", "refs.json"];
    // no question in common, and another number of them: neither by question nor by place
    refer(&[json!({"input": "Who?", "output": "I."})]);
    refused(
        &work,
        &server,
        &arguments,
        3,
        &["refs.json", "alpha.json", "2", "1"],
    );
    // one question, two unequal golds
    refer(&[
        json!({"input": "Why?", "answer": "So"}),
        json!({"input": "Why?", "answer": "Not so"}),
    ]);
    refused(&work, &server, &arguments, 3, &["refs.json", "Why?"]);
    work.write("refs.json", "{\"input\": \"Why?\"\n");
    refused(&work, &server, &arguments, 3, &["refs.json:"]);
    refused(
        &work,
        &server,
        &["alpha.json", "--references", "ref.json"],
        3,
        &["ref.json: no such file", "refs.json?"],
    );
}

#[test]
fn reference_answers_of_other_questions_are_joined_by_place_with_a_note() {
    let (work, server) = work();
    let refs = [
        json!({"input": "Why, though?", "output": "R1"}),
        json!({"input": "When then?", "output": "R2"}),
    ];
    write_predictions(&work, "refs.json", &refs);
    let arguments = [
        "score",
        "alpha.json",
        "--config",
        "eval.toml",
        "--references",
        "refs.json",
        "--out",
        "out",
    ];
    work.run(&[&arguments[..], &["--scorers", "prometheus"]].concat())
        .exits_with(0)
        .says(&["note:", "refs.json", "position"]);
    let seen: std::collections::BTreeSet<(String, String)> = server
        .chats()
        .iter()
        .map(|chat| {
            (
                super::judging::section(chat, "response"),
                super::judging::section(chat, "reference"),
            )
        })
        .map(|(answer, reference)| (answer.chars().take(3).collect(), reference))
        .collect();
    let pair = |answer: &str, reference: &str| (answer.to_owned(), reference.to_owned());
    assert_eq!(
        seen.into_iter().collect::<Vec<_>>(),
        [pair("Now", "R2"), pair("So ", "R1")]
    );
}

#[test]
fn unknown_aspects_roles_and_judges_are_told_with_the_known_ones() {
    let (work, server) = work();
    let known = "there are organization, coverage, relevance";
    refused(
        &work,
        &server,
        &["alpha.json", "--aspects", "coverage,charm"],
        2,
        &["no aspect is called \"charm\"", known],
    );
    work.write("aspects.json", &format!("[{ASPECT}]"));
    let arguments = [
        "alpha.json",
        "--aspect-rubrics",
        "aspects.json",
        "--aspects",
        "coverage",
    ];
    refused(
        &work,
        &server,
        &arguments,
        3,
        &[
            "aspects.json: no aspect is called \"coverage\"",
            "it describes wit",
        ],
    );
    let table = judge_table("mine", &server, "");
    for (roles, line, says) in [
        (
            "citations = \"mine\"",
            6,
            &["roles.citations: unknown role", "did you mean citation?"][..],
        ),
        (
            "aspect = \"mina\"",
            6,
            &["there is no judge \"mina\"", "did you mean mine?"],
        ),
        (
            "aspect = 7",
            6,
            &["expected a string, or an array of strings"],
        ),
    ] {
        work.write("eval.toml", &format!("{table}[roles]\n{roles}\n"));
        let place = format!("eval.toml:{line}: ");
        refused(
            &work,
            &server,
            &["alpha.json"],
            3,
            &[&[place.as_str()], says].concat(),
        );
    }
    work.write(
        "eval.toml",
        &judge_table(
            "mine",
            &server,
            "kind = \"label\"\n[roles]\naspect = \"mine\"",
        ),
    );
    refused(
        &work,
        &server,
        &["alpha.json"],
        3,
        &["eval.toml:6: roles.aspect", "label judge", "citations only"],
    );
    work.write(
        "eval.toml",
        &judge_table("mine", &server, "temprature = 0.5"),
    );
    refused(
        &work,
        &server,
        &["alpha.json"],
        3,
        &["eval.toml:4", "temprature", "did you mean temperature?"],
    );
}

#[test]
fn faults_of_an_aspect_file_are_told_all_at_once_with_their_lines() {
    let (work, server) = work();
    let lacking = ASPECT
        .replace(
            "\"score3_description\": \"c\"",
            "\"score3_description\": \"\"",
        )
        .replace("wit", "depth");
    work.write(
        "aspects.json",
        &format!("[{ASPECT},\n{lacking},\n{ASPECT}]"),
    );
    let says = [
        "aspects.json:3",
        "score3_description",
        "aspects.json:5",
        "wit",
    ];
    refused(
        &work,
        &server,
        &["alpha.json", "--aspect-rubrics", "aspects.json"],
        3,
        &says,
    );
    for text in ["{}", "[]", "[", "not JSON"] {
        work.write("aspects.json", text);
        refused(
            &work,
            &server,
            &["alpha.json", "--aspect-rubrics", "aspects.json"],
            3,
            &["aspects.json"],
        );
    }
}

#[test]
fn scorers_that_cannot_run_are_refused_with_what_they_lack() {
    let (work, server) = work();
    for (scorer, says) in [
        ("rubric", &["no test cases given", "--tests FILE"][..]),
        (
            "overlap",
            &["overlap cannot run", "no gold", "--references"],
        ),
        ("rubrik", &["invalid value 'rubrik'", "'rubric'"]),
    ] {
        refused(
            &work,
            &server,
            &["alpha.json", "--scorers", scorer],
            2,
            says,
        );
    }
    write_predictions(
        &work,
        "bare.json",
        &[prediction("Why?", "Because [0].", json!({}))],
    );
    refused(
        &work,
        &server,
        &["bare.json", "--scorers", "entailment"],
        2,
        &["entailment cannot run: no texts of sources"],
    );
    assert_eq!(server.chat_count(), 0);
}

#[test]
fn predictions_without_output_and_mixed_formats_are_told_with_their_line() {
    let (work, server) = work();
    let with = |text: &str| work.write("bad.jsonl", text);
    with("{\"input\": \"Why?\", \"output\": \"So.\"}\n{\"input\": \"When?\", \"id\": \"q2\"}\n");
    refused(
        &work,
        &server,
        &["bad.jsonl"],
        3,
        &["bad.jsonl:2 (case q2): output is missing", "write \"\""],
    );
    with(
        "{\"input\": \"Why?\", \"output\": \"So.\"}\n\n{\"case_id\": \"c1\", \"answer_text\": \"So.\"}\n",
    );
    refused(&work, &server, &["bad.jsonl"], 3, &["bad.jsonl:3"]);
    with("{\"output\": \"So.\"}\n");
    refused(
        &work,
        &server,
        &["bad.jsonl"],
        3,
        &[
            "bad.jsonl: no field for case_id or question: the file has output; looked for",
            "input",
        ],
    );
    // two files of one name are one system's
    std::fs::create_dir(work.path("other")).unwrap();
    write_predictions(
        &work,
        "other/alpha.json",
        &[prediction("Why?", "So.", json!({}))],
    );
    refused(
        &work,
        &server,
        &["alpha.json", "other/alpha.json"],
        3,
        &["alpha"],
    );
    // test cases that ask nothing of it
    let text = json!([plain_case("c1")]).to_string();
    work.write("tests.json", &text);
    refused(
        &work,
        &server,
        &["alpha.json", "--tests", "tests.json"],
        3,
        &["no question of it is in tests.json"],
    );
}
