//! A file of predictions scores as it would after converting, real ones too.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use scholareval::dataset::{
    PairOptions, Scorable, ScorableOptions, load_answers, load_references, load_test_cases,
    scorable, supports,
};
use scholareval::domain::Mode;
use scholareval::scorer::citation::IndexBase;
use serde_json::{Value, json};

use crate::rubric_golden::shared;
use crate::support::fake_server::{Behaviour, FakeServer};
use crate::support::judging::{constant_reply, kind_of};
use crate::support::workspace::{Workspace, plain_case};

/// The released answers of experts, with their passages.
fn human_answers() -> Option<PathBuf> {
    let path = shared()?
        .canonicalize()
        .unwrap()
        .join("data/scholarqa_multi/human_answers.json");
    if path.is_file() {
        return Some(path);
    }
    eprintln!("skipped: no released answers at {}", path.display());
    None
}

/// A test case for every question but each seventh, two for each tenth, the second ones at the end.
fn cases_for(path: &Path) -> (Vec<Value>, usize) {
    let items = scholareval::dataset::load_predictions(path).unwrap().items;
    let case = |id: String, input: &str| {
        let mut case = plain_case(&id);
        case["initial_prompt"] = input.into();
        case
    };
    let asked = || items.iter().enumerate().filter(|(at, _)| at % 7 != 0);
    let first = asked().map(|(at, item)| case(format!("case-{at}"), &item.input));
    let again = asked()
        .filter(|(at, _)| at % 10 == 0)
        .map(|(at, item)| case(format!("again-{at}"), &item.input));
    (first.chain(again).collect(), asked().count())
}

fn items_of(file: &Path, tests: &Path, compat: bool, agreement: bool) -> Scorable {
    let mode = if compat { Mode::Compat } else { Mode::Default };
    let tests = load_test_cases(tests, mode).unwrap();
    let systems = load_answers(&[file.to_path_buf()], mode).unwrap();
    let pairing = PairOptions {
        compat,
        agreement,
        ..PairOptions::default()
    };
    scorable(
        Some(&tests),
        &systems,
        None,
        &ScorableOptions {
            pairing,
            block: Some(IndexBase::Zero),
        },
    )
    .unwrap()
}

/// What a rubric is judged on.
fn judged(made: &Scorable) -> Vec<(String, String, String)> {
    let of = |item: &scholareval::domain::Item| {
        let answer = &item.answer;
        (
            item.case.case_id.to_string(),
            answer.answer_text.to_string(),
            answer.own_text().to_owned(),
        )
    };
    made.rubric.iter().map(of).collect()
}

#[test]
fn the_released_expert_answers_score_directly_as_after_converting() {
    let Some(path) = human_answers() else { return };
    let (cases, asked) = cases_for(&path);
    let work = Workspace::with_cases(&cases);
    let (from, tests) = (path.to_str().unwrap(), work.path("tests.json"));
    for (compat, agreement) in [(false, false), (false, true), (true, false)] {
        let mode: &[&str] = if compat { &["--compat"] } else { &[] };
        work.run(
            &[
                &["convert", from, "--tests", "tests.json", "--out", "c.jsonl"][..],
                mode,
            ]
            .concat(),
        )
        .exits_with(0);
        let direct = items_of(&path, &tests, compat, agreement);
        let converted = items_of(&work.path("c.jsonl"), &tests, compat, agreement);
        assert_eq!(judged(&direct), judged(&converted));
        // each tenth but each seventh of 108 places is asked twice: 10, 20, .., 100 without 70
        assert_eq!(direct.rubric.len(), asked + if agreement { 9 } else { 0 });
        let again = direct
            .rubric
            .iter()
            .filter(|item| item.case.case_id.as_str().starts_with("again-"))
            .count();
        assert_eq!(
            again,
            if compat || agreement { 9 } else { 0 },
            "the reference takes the last of two cases"
        );
        assert_eq!((direct.plain.len(), converted.plain.len()), (108, asked));
        assert!(
            judged(&direct)
                .iter()
                .all(|(_, text, own)| text.starts_with(&format!("{own}\nReferences:\n")))
        );
    }
}

#[test]
fn the_released_expert_answers_are_references_to_each_other_and_support_what_they_hold() {
    let Some(path) = human_answers() else { return };
    let systems = load_answers(std::slice::from_ref(&path), Mode::Default).unwrap();
    let references = load_references(&path).unwrap();
    let made = scorable(
        None,
        &systems,
        Some(&references),
        &ScorableOptions::default(),
    )
    .unwrap();
    let found = supports(&made);
    assert_eq!(
        (made.plain.len(), found.questions, found.sources),
        (108, 108, 108)
    );
    assert_eq!(
        (found.rubric, found.gold_answer, found.gold_sources),
        (0, 0, 0)
    );
    assert!(
        made.notes[0].ends_with("for 108 of 108 answers, by input"),
        "{:?}",
        made.notes
    );
    // one id stands twice in the file
    let mut ids = HashMap::new();
    made.plain
        .iter()
        .for_each(|item| *ids.entry(item.case.case_id.as_str()).or_insert(0) += 1);
    assert_eq!(ids.len(), 108);
    for item in &made.plain {
        assert_eq!(
            item.answer.reference_answer.as_deref(),
            Some(&*item.answer.answer_text)
        );
    }
}

#[test]
fn appended_references_count_as_length_in_compat_alone() {
    let work = Workspace::with_cases(&[plain_case("c1")]);
    let item = json!({"input": "What is known about c1?", "output": "word ".repeat(299) + "[0]",
                      "ctxs": [{"title": "T", "text": "long ".repeat(400)}]});
    work.write("p.jsonl", &item.to_string());
    work.run(&[
        "convert",
        "p.jsonl",
        "--tests",
        "tests.json",
        "--out",
        "a.jsonl",
    ])
    .exits_with(0);
    // 299 * 5 characters and those of the marker
    assert_eq!(work.lines("a.jsonl")[0]["references_from"], 299 * 5 + 3);
    let length = |out: &str, mode: &[&str]| {
        work.run(
            &[
                &["score", "a.jsonl", "--tests", "tests.json", "--out", out][..],
                mode,
            ]
            .concat(),
        )
        .exits_with(0);
        work.lines(&format!("{out}/scores.jsonl"))[0]["components"]["length"].as_f64()
    };
    // 300 own words; more than 600 with the list
    assert_eq!(
        (length("o", &[]), length("c", &["--compat"])),
        (Some(1.0), Some(0.0))
    );
    // the record keeps what is the answer's own
    work.run(&["rescore", "o", "--out", "again"]).exits_with(0);
    assert_eq!(
        work.lines("again/scores.jsonl"),
        work.lines("o/scores.jsonl")
    );
    work.run(&[
        "convert",
        "p.jsonl",
        "--tests",
        "tests.json",
        "--out",
        "n.jsonl",
        "--references-block",
        "none",
    ]);
    assert_eq!(work.lines("n.jsonl")[0].get("references_from"), None);
}

#[test]
fn a_wrong_place_of_references_is_told() {
    let work = Workspace::with_cases(&[plain_case("c1")]);
    work.write(
        "a.jsonl",
        "{\"case_id\": \"c1\", \"answer_text\": \"abc\", \"references_from\": 4}",
    );
    work.run(&["score", "a.jsonl", "--tests", "tests.json", "--out", "o"]).exits_with(3).says(&[
        "a.jsonl:1 (case c1): references_from: expected a whole number from 0 to 3 (characters of answer_text), found 4",
    ]);
}

/// The question of a case.
fn question(id: &str) -> String {
    format!("What is known about {id}?")
}

/// System, case and score of a run.
fn scores_of(work: &Workspace, run: &str) -> Vec<(String, Value)> {
    let lines = work.lines(&format!("{run}/scores.jsonl"));
    let score = |line: &Value| {
        (
            line["system"].as_str().unwrap().to_owned(),
            line["components"].clone(),
        )
    };
    lines.iter().map(score).collect()
}

#[test]
fn a_file_scores_the_same_in_every_format_and_under_any_field_names() {
    let work = Workspace::new(&["plain"], 2);
    let texts: Vec<String> = work
        .lines("answers/plain.jsonl")
        .iter()
        .map(|a| a["answer_text"].as_str().unwrap().to_owned())
        .collect();
    let (one, two) = (&texts[0], &texts[1]);
    work.write(
        "csv.csv",
        &format!("\u{feff}id,answer\r\nc1,\"{one}\"\r\nc2,\"{two}\"\r\n"),
    );
    let asked = json!([{"question": question("c1"), "response": one}, {"question": question("c2"), "response": two}]);
    work.write("asked.json", &format!("\u{feff}{asked}"));
    work.write(
        "own.jsonl",
        &format!(
            "{}\n{}\n",
            json!({"q": "c1", "text": one}),
            json!({"q": "c2", "text": two})
        ),
    );
    let files = [
        "score",
        "answers",
        "csv.csv",
        "asked.json",
        "own.jsonl",
        "--tests",
        "tests.json",
        "--out",
        "out",
    ];
    work.run(&files).exits_with(3).says(&[
        "own.jsonl: no field for answer_text, nor for case_id or question: the file has q, text;",
    ]);
    // The fields of one file leave the guesses for the others.
    let done = work
        .run(&[&files[..], &["--fields", "answer_text=text,case_id=q"]].concat())
        .exits_with(0);
    let guessed = "guessed --fields answer_text=answer,case_id=id for csv";
    assert!(done.stderr.contains(guessed), "{}", done.stderr);
    for (file, fields) in [
        ("csv.csv", ""),
        ("asked.json", ""),
        ("own.jsonl", "answer_text=text,case_id=q"),
    ] {
        let out = format!("out-{file}");
        let given: &[&str] = if fields.is_empty() {
            &[]
        } else {
            &["--fields", fields]
        };
        let done = work.run(
            &[
                &[
                    "score",
                    "answers",
                    file,
                    "--tests",
                    "tests.json",
                    "--out",
                    &out,
                ],
                given,
            ]
            .concat(),
        );
        let done = done.exits_with(0);
        assert_eq!(
            done.stderr.matches("guessed --fields").count(),
            usize::from(fields.is_empty()),
            "{}",
            done.stderr
        );
        let scores = scores_of(&work, &out);
        assert_eq!(scores.len(), 4);
        let (plain, other): (Vec<_>, Vec<_>) = scores
            .into_iter()
            .partition(|(system, _)| system == "plain");
        let components =
            |scores: Vec<(String, Value)>| scores.into_iter().map(|(_, components)| components);
        assert!(components(plain).eq(components(other)), "{file}");
        let settings = &work.json(&format!("{out}/manifest.json"))["settings"];
        let (system, _) = file.split_once('.').unwrap();
        assert!(
            settings[format!("score.fields.{system}")]
                .as_str()
                .unwrap()
                .contains('='),
            "{settings}"
        );
        assert!(settings.get("score.fields.plain").is_none(), "{settings}");
    }
    // What was guessed may be given.
    let given = [
        "--out",
        "out-csv.csv",
        "--fields",
        "answer_text=answer,case_id=id",
    ];
    work.run(
        &[
            &["score", "answers", "csv.csv", "--tests", "tests.json"],
            &given[..],
        ]
        .concat(),
    )
    .exits_with(0);
}

#[test]
fn quoted_cells_keep_their_line_breaks_commas_and_quotes() {
    let work = Workspace::with_cases(&[plain_case("7")]);
    work.write(
        "a.csv",
        "question_id,completion\n7,\"One, \"\"two\"\"\n\nthree\"\n",
    );
    work.run(&["score", "a.csv", "--tests", "tests.json", "--out", "out"])
        .exits_with(0);
    let inputs = work.lines("out/inputs.jsonl");
    let answer = inputs.iter().find(|line| line["type"] == "answer").unwrap();
    assert_eq!(
        (&answer["answer_text"], &answer["line"]),
        (&json!("One, \"two\"\n\nthree"), &json!(2))
    );
}

#[test]
fn a_question_that_no_case_asks_or_that_is_answered_twice_is_an_error_with_its_line() {
    let work = Workspace::with_cases(&[plain_case("c1")]);
    let line = |question: &str| json!({"question": question, "answer": "So."}).to_string() + "\n";
    let score = |lines: String| {
        work.write("a.jsonl", &lines);
        work.run(&["score", "a.jsonl", "--tests", "tests.json", "--out", "out"])
            .exits_with(3)
    };
    score(line(&question("c1")) + &line("Why?"))
        .says(&["a.jsonl:2 (case 2): no test case asks \"Why?\"; answers without an id"]);
    let twice = "a.jsonl:2 (case 2): the question \"What is known about c1?\" is answered twice, first on line 1";
    score(line(&question("c1")) + &line(&question("c1"))).says(&[twice]);
}

#[test]
fn a_file_that_is_not_among_the_systems_is_skipped_with_a_note() {
    let work = Workspace::new(&["alpha"], 1);
    work.write(
        "answers/means.jsonl",
        "{\"system\": \"alpha\", \"mean\": 0.5}\n",
    );
    work.write("answers/README.md", "Answers.");
    let score = ["score", "answers", "--tests", "tests.json", "--out", "out"];
    work.run(&score).exits_with(3).says(&[
        "means.jsonl: no field for answer_text, nor",
        "the file has mean, system;",
    ]);
    let chosen = [&score[..], &["--systems", "alpha"]].concat();
    work.run(&chosen)
        .exits_with(0)
        .says(&["note: skipped, not among --systems: means"]);
}

#[test]
fn reasoning_is_no_part_of_an_answer_unless_it_is_kept() {
    let work = Workspace::new(&["alpha"], 3);
    let score = |out: &str, more: &[&str]| {
        work.run(
            &[
                &["score", "answers", "--tests", "tests.json", "--out", out],
                more,
            ]
            .concat(),
        )
        .exits_with(0)
    };
    let texts = |out: &str| {
        let inputs = work.lines(&format!("{out}/inputs.jsonl"));
        let answers = inputs.iter().filter(|line| line["type"] == "answer");
        answers
            .map(|line| line["answer_text"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    score("plain", &[]);
    let plain = texts("plain");
    let thought = [
        format!("<think>The causes of c1?</think>\n{}", plain[0]),
        format!("The effects of c2?\n</think>\n\n{}", plain[1]),
        "<think>The dust of c3".to_owned(),
    ];
    // Under another name, in a file so large that its texts stay there.
    let line = |(id, text): (usize, &String)| {
        json!({"id": format!("c{}", id + 1), "response": text}).to_string() + "\n"
    };
    let lines: String = thought.iter().enumerate().map(line).collect();
    work.write("answers/alpha.jsonl", &(lines + &"\n".repeat(300_000)));
    score("removed", &[]).says(&[
        "note: 3 of 3 answers begin with reasoning, which is removed; --keep-thinking keeps it",
        "warning: answers/alpha.jsonl:3 (case c3): the answer is empty but for its reasoning",
    ]);
    assert_eq!(texts("removed"), [plain[0].as_str(), &plain[1], ""]);
    assert_eq!(
        scores_of(&work, "removed")[..2],
        scores_of(&work, "plain")[..2]
    );
    work.run(&["rescore", "removed", "--out", "again"])
        .exits_with(0);
    assert_eq!(
        work.lines("again/scores.jsonl"),
        work.lines("removed/scores.jsonl")
    );
    score("kept", &["--keep-thinking"]);
    assert_eq!(texts("kept"), thought);
    let done = score("compat", &["--compat"]);
    assert!(
        texts("compat") == thought && !done.stderr.contains("reasoning"),
        "{}",
        done.stderr
    );
    let thinking = ["plain", "removed", "kept"].map(|run| {
        work.json(&format!("{run}/manifest.json"))["settings"]["score.thinking"].clone()
    });
    assert_eq!(thinking, [Value::Null, "removed".into(), "kept".into()]);
    work.run(&["compare", "removed", "kept"])
        .exits_with(3)
        .says(&["different score.thinking: removed (removed), kept (kept)"]);
    work.run(&["rescore", "removed", "--compat"])
        .exits_with(3)
        .says(&["without their reasoning"]);
}

#[test]
fn users_name_tags_of_reasoning_and_a_run_keeps_them() {
    let work = Workspace::new(&[], 2);
    work.answers(
        "alpha",
        ["c1", "c2"].map(|id| (id, format!("<plan>Rayleigh.</plan>{id}: no idea"))),
    );
    // The judge reasons in tags of the same name.
    let judge = Behaviour::good().saying(|request| {
        let reply = constant_reply(kind_of(request));
        format!("<plan>{{\"score\": 1}} or</plan>{reply}")
    });
    let server = FakeServer::start(judge);
    let score = |more: &[&str]| work.score(&server, &[&["--no-cache"], more].concat());
    score(&["--out", "plain", "--parse-retries", "0"]).exits_with(5);
    work.answers(
        "beta",
        ["c1", "c2"].map(|id| (id, format!("<cot>Rayleigh.</cot>{id}: no idea"))),
    );
    let tags = ["--reasoning-tags", "<plan> </plan>"];
    score(&[&tags[..], &["--out", "named"]].concat())
        .exits_with(0)
        .says(&[
            "2 of 4 answers begin with reasoning, which is removed",
            "2 of 4 answers may begin with reasoning, which is kept; --reasoning-tags",
        ]);
    let inputs = work.read("named/inputs.jsonl");
    assert!(!inputs.contains("<plan>") && inputs.contains("\"c1: no idea\""));
    work.run(&["rescore", "named", "--out", "again"])
        .exits_with(0);
    assert_eq!(
        work.lines("again/scores.jsonl"),
        work.lines("named/scores.jsonl")
    );
    score(&["--out", "named"])
        .exits_with(3)
        .says(&["score.reasoning_tags"]);
    score(&["--reasoning-tags", "<plan>"])
        .exits_with(2)
        .says(&["expected an opening and a closing tag"]);
}

#[test]
fn reasoning_in_predictions_is_removed_as_convert_removes_it() {
    let work = Workspace::with_cases(&[plain_case("c1")]);
    let output = "<think>Is it [1]?</think>Rain [0].";
    let ctxs = json!([{"title": "T", "text": "X"}, {"title": "U", "text": "Y"}]);
    work.write(
        "p.jsonl",
        &json!({"input": question("c1"), "output": output, "ctxs": ctxs}).to_string(),
    );
    let convert = [
        "convert",
        "p.jsonl",
        "--tests",
        "tests.json",
        "--out",
        "a.jsonl",
    ];
    work.run(&convert)
        .exits_with(0)
        .says(&["1 of 1 answers begin with reasoning, which is removed"]);
    // The reasoning's citation is not in the list.
    assert_eq!(
        work.lines("a.jsonl")[0]["answer_text"],
        "Rain [0].\nReferences:\n[0] T X\n\n"
    );
    let (direct, converted) = (
        items_of(
            &work.path("p.jsonl"),
            &work.path("tests.json"),
            false,
            false,
        ),
        items_of(
            &work.path("a.jsonl"),
            &work.path("tests.json"),
            false,
            false,
        ),
    );
    assert_eq!(judged(&direct), judged(&converted));
    work.run(&[&convert[..], &["--compat"]].concat())
        .exits_with(0);
    assert!(
        work.lines("a.jsonl")[0]["answer_text"]
            .as_str()
            .unwrap()
            .starts_with(output)
    );
}

#[test]
fn answers_within_other_fields_are_scored_from_large_files_too() {
    let work = Workspace::new(&[], 1);
    // Above the size from which texts stay in their file.
    let text = "word ".repeat(60_000);
    let line = json!({"meta": {"id": "c1"}, "response": {"text": text, "model": "m"}});
    work.write("big.jsonl", &format!("{line}\n"));
    let score = [
        "score",
        "big.jsonl",
        "--tests",
        "tests.json",
        "--out",
        "out",
    ];
    let advice = "--fields answer_text=response.text";
    work.run(&score).exits_with(3).says(&[advice]);
    let fields = ["--fields", "answer_text=response.text,case_id=meta.id"];
    work.run(&[&score[..], &fields].concat()).exits_with(0);
    let manifest = work.json("out/manifest.json");
    let used = &manifest["settings"]["score.fields.big"];
    assert_eq!(used, "answer_text=response.text,case_id=meta.id");
    let lines = work.lines("out/inputs.jsonl");
    let answer = lines.iter().find(|line| line["type"] == "answer").unwrap();
    assert_eq!(answer["answer_text"], text);
}

#[test]
fn references_are_read_from_csv_and_ids_under_the_name_of_the_rubric() {
    let work = Workspace::new(&[], 1);
    work.write(
        "mine.jsonl",
        r#"{"input": "Which capital?", "output": "Paris."}"#,
    );
    work.write("gold.csv", "input;answer\nWhich capital?;Paris\n");
    work.run(&[
        "score",
        "mine.jsonl",
        "--references",
        "gold.csv",
        "--out",
        "out",
    ])
    .exits_with(0)
    .says(&["gold answers from gold.csv for 1 of 1 answers"]);
    let case = json!({"prompt_id": "p", "prompt": "Why?", "rubrics": [
        {"criterion": "names the Moon", "points": 5, "tags": []}]});
    work.write("health.jsonl", &case.to_string());
    work.write(
        "bot.jsonl",
        r#"{"prompt_id": "p", "completion": "the Moon"}"#,
    );
    let score = [
        "score",
        "bot.jsonl",
        "--tests",
        "health.jsonl",
        "--out",
        "health",
    ];
    work.run(&[&score[..], &["--rubric", "healthbench"]].concat())
        .exits_with(0);
    assert_eq!(work.lines("health/scores.jsonl")[0]["case_id"], "p");
}

#[cfg(unix)]
#[test]
fn a_path_that_is_not_utf8_and_a_config_without_end_are_errors() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    let work = Workspace::new(&["alpha"], 1);
    let score = ["score", "answers", "--tests", "tests.json"];
    for option in ["--out", "--prices"] {
        let output = work
            .command(&score)
            .arg(option)
            .arg(OsStr::from_bytes(b"r\xff"))
            .output()
            .unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{stderr}");
        assert!(stderr.contains("the argument is not UTF-8"), "{stderr}");
    }
    work.run(&[&score[..], &["--config", "/dev/zero"]].concat())
        .exits_with(3)
        .says(&["/dev/zero: longer than 16 MiB"]);
}

#[test]
fn a_tag_does_not_take_the_name_of_a_score() {
    let work = Workspace::new(&[], 1);
    let case = json!({"case_id": "1", "question": "Why?", "criteria": [
        {"text": "moon pulls water", "tags": ["score", "lexical_score_low"]}]});
    work.write("cases.jsonl", &case.to_string());
    work.write(
        "bot.jsonl",
        r#"{"case_id": "1", "answer_text": "The moon."}"#,
    );
    let score = [
        "score",
        "bot.jsonl",
        "--tests",
        "cases.jsonl",
        "--out",
        "out",
    ];
    work.run(&score).exits_with(0);
    let summary = work.read("out/summary.csv");
    let columns: Vec<&str> = summary.lines().next().unwrap().split(',').collect();
    // With another judge `score` is the rubric's, which runs are compared by.
    assert!(
        !columns.contains(&"score") && columns.contains(&"tag score"),
        "{columns:?}"
    );
    let lows = columns.iter().filter(|name| **name == "lexical_score_low");
    assert_eq!(lows.count(), 1, "{columns:?}");
}

#[test]
fn pairs_are_asked_about_the_questions_of_answers_with_ids() {
    let work = Workspace::new(&[], 1);
    for system in ["a", "b"] {
        let line =
            json!({"case_id": "t1", "question": "Why do tides rise?", "answer_text": system});
        work.write(&format!("{system}.jsonl"), &line.to_string());
    }
    let pairs = [
        "pairs", "a.jsonl", "b.jsonl", "--judge", "lexical", "--out", "out",
    ];
    work.run(&pairs).exits_with(0);
    let lines = work.lines("out/inputs.jsonl");
    let case = lines.iter().find(|line| line["type"] == "case").unwrap();
    assert_eq!(
        (&case["case_id"], &case["initial_prompt"]),
        (&json!("t1"), &json!("Why do tides rise?"))
    );
    let plain = lines.iter().filter(|line| line["type"] == "answer");
    let texts: Vec<&str> = plain
        .map(|line| line["answer_text"].as_str().unwrap())
        .collect();
    assert!(
        texts.contains(&"a"),
        "no list of sources below it: {texts:?}"
    );
}
