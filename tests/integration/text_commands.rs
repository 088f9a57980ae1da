//! `citations`, `overlap`, `convert` and `build-tests` from end to end.

use serde_json::{Value, json};

use crate::support::workspace::{Workspace, plain_case};

fn lines(items: &[Value]) -> String {
    items.iter().map(|item| format!("{item}\n")).collect()
}

fn sources(n: usize) -> Value {
    (0..n)
        .map(|i| json!({"title": format!("T{i}"), "text": format!("X{i}")}))
        .collect()
}

/// Two systems of two answers, with gold sources.
fn audited() -> Workspace {
    let work = Workspace::with_cases(&[]);
    let item = |id: &str, output: &str| {
        json!({"id": id, "input": format!("{id}?"), "output": output, "ctxs": sources(3),
               "answer": "gold [0] [1]"})
    };
    // precision 1 and 1/2, mean 3/4; recall 1 and 1/2
    work.write(
        "good.jsonl",
        &lines(&[item("a", "Yes [0, 1]. So it is."), item("b", "No [0] [2].")]),
    );
    // cites 9, which is not a source
    work.write(
        "bad.json",
        &json!({"data": [item("a", "Perhaps [9]."), item("b", "")]}).to_string(),
    );
    work
}

#[test]
fn several_files_give_one_table_a_row_a_system() {
    let work = audited();
    let done = work
        .run(&["citations", "good.jsonl", "bad.json"])
        .exits_with(0);
    let rows = done
        .stdout
        .lines()
        .filter(|line| line.starts_with("good   ") || line.starts_with("bad   "))
        .count();
    assert_eq!(rows, 2, "{}", done.stdout);
    // twelve columns are wider than 100: those left out are named
    assert!(
        done.stdout
            .contains("Not shown at this width (see --format csv): ")
            && done.stdout.contains(" gold_f1 ")
    );
    let csv = work
        .run(&["citations", "good.jsonl", "bad.json", "--format", "csv"])
        .exits_with(0)
        .stdout;
    assert!(
        csv.lines().next().unwrap().contains("gold_precision") && csv.contains(",0.75,"),
        "{csv}"
    );
    assert!(
        done.stdout.lines().all(|line| line.chars().count() <= 100),
        "{}",
        done.stdout
    );
}

#[test]
fn commands_take_only_what_they_use() {
    let of_judges = [
        "--model",
        "--temperature",
        "--budget-usd",
        "--cache",
        "--samples",
    ];
    let refused: [(&[&str], &[&str]); 4] = [
        (&["citations", "good.jsonl"], &of_judges),
        (
            &["overlap", "good.jsonl"],
            &[&of_judges[..], &["--works"]].concat(),
        ),
        (
            &["pairs", "good.jsonl"],
            &["--works", "--scorers", "--entail"],
        ),
        (&["probe", "good.jsonl"], &["--until", "--baseline"]),
    ];
    let work = audited();
    for (command, options) in refused {
        for option in options {
            let done = work.run(&[command, &[option, "1"]].concat());
            done.exits_with(2).says(&["unexpected argument", option]);
        }
    }
}

#[test]
fn what_a_config_file_has_for_other_commands_has_no_effect() {
    let work = audited();
    work.write(
        "all.toml",
        "[score]\nscorers = [\"rubric\"]\nsamples = 3\n[judge]\nmodel = \"m\"\n[budget]\nbudget_usd = 1.0\n",
    );
    let audit = |more: &[&str]| {
        let done = work.run(&[&["citations", "good.jsonl", "--format", "csv"], more].concat());
        done.exits_with(0).stdout
    };
    assert_eq!(audit(&[]), audit(&["--config", "all.toml"]));
    work.write("wrong.toml", "[score]\nsamples = \"many\"\n");
    let done = work.run(&["citations", "good.jsonl", "--config", "wrong.toml"]);
    done.exits_with(3).says(&["wrong.toml", "score.samples"]);
}

#[test]
fn values_of_every_item_are_written_with_out_and_means_as_json() {
    let work = audited();
    let done = work
        .run(&[
            "citations",
            "good.jsonl",
            "bad.json",
            "--out",
            "o",
            "--format",
            "json",
        ])
        .exits_with(0);
    let items = work.lines("o/scores.jsonl");
    assert_eq!(items.len(), 4);
    let bad = items
        .iter()
        .find(|item| item["system"] == "bad" && item["case_id"] == "a")
        .unwrap();
    assert_eq!(bad["components"]["dangling"], 1.0);
    let printed: Value = serde_json::from_str(&done.stdout).unwrap();
    assert_eq!(printed, work.json("o/summary.json"));
    let rows = printed["scorers"][0]["rows"].as_array().unwrap();
    let precision =
        &rows.iter().find(|row| row["system"] == "good").unwrap()["metrics"]["gold_precision"];
    assert_eq!(precision["estimate"], 0.75);
    assert!(precision["low"].as_f64().unwrap() >= 0.0);
    assert!(
        work.read("o/summary.csv")
            .starts_with("system,words,words_low,")
    );
    // the record has the form of a run of `score`
    let manifest = work.json("o/manifest.json");
    assert_eq!(
        (&manifest["scorers"][0], &manifest["status"]),
        (&"citation_audit".into(), &"complete".into())
    );
    assert!(
        work.read("o/items.csv")
            .contains(",bad,a,citation_audit,dangling,count,")
    );
}

#[test]
fn the_index_base_and_references_change_what_is_found() {
    let work = audited();
    work.write(
        "golds.jsonl",
        &lines(&[json!({"input": "a?", "answer": "[2]"})]),
    );
    let arguments = [
        "citations",
        "good.jsonl",
        "--index-base",
        "1",
        "--references",
        "golds.jsonl",
        "--out",
        "o",
    ];
    work.run(&arguments)
        .exits_with(0)
        .says(&["1 prediction without gold answers in golds.jsonl: b"]);
    let components = &work.lines("o/scores.jsonl")[0]["components"];
    // 0 is not a source where counting begins at 1; gold is [2], which is not cited
    assert_eq!(
        (&components["dangling"], &components["gold_precision"]),
        (&1.0.into(), &0.0.into())
    );
}

#[test]
fn bad_predictions_are_told_with_file_line_and_id() {
    let work = Workspace::with_cases(&[]);
    work.write(
        "p.jsonl",
        &lines(&[
            json!({"id": "x", "input": "q"}),
            json!({"id": "y", "input": "q", "output": ""}),
        ]),
    );
    work.run(&["citations", "p.jsonl"])
        .exits_with(3)
        .says(&["p.jsonl:1 (case x): output is missing; write \"\""]);
}

#[test]
fn a_question_annotated_twice_gives_both_cases_and_numbers_stay() {
    let mut second = plain_case("c2");
    second["initial_prompt"] = "What is known about c1?".into();
    let work = Workspace::with_cases(&[plain_case("c1"), second]);
    let item =
        json!({"input": "What is known about c1?", "output": "This [2].", "ctxs": sources(3)});
    let stray = json!({"input": "What else?", "output": "x"});
    work.write("p.jsonl", &lines(&[item, stray]));
    let convert = |more: &[&str]| {
        let arguments = [
            "convert",
            "p.jsonl",
            "--tests",
            "tests.json",
            "--out",
            "a.jsonl",
        ];
        let done = work
            .run(&[&arguments[..], more].concat())
            .exits_with(0)
            .says(&["no test case asks \"What else?\""]);
        assert!(done.stdout.starts_with("wrote "));
        work.lines("a.jsonl")
            .iter()
            .map(|line| (line["case_id"].clone(), line["answer_text"].clone()))
            .collect()
    };
    let answer = |id: &str, text: &str| (Value::from(id), Value::from(text));
    let kept = "This [2].\nReferences:\n[2] T2 X2\n\n";
    let both: Vec<_> = convert(&[]);
    assert_eq!(both, [answer("c1", kept), answer("c2", kept)]);
    // as the reference: the last case, numbered anew
    let last: Vec<_> = convert(&["--compat"]);
    assert_eq!(
        last,
        [answer("c2", "This [2].\nReferences:\n[0] T2 X2\n\n")]
    );
    let bare: Vec<_> = convert(&["--references-block", "none"]);
    assert_eq!(bare[0], answer("c1", "This [2]."));
}

#[test]
fn what_was_converted_and_built_can_be_scored() {
    let work = Workspace::with_cases(&[]);
    let text = |t: &str| json!({"text": t, "snippets": ["Rain comes first."]});
    work.write(
        "ingredients.json",
        &json!([{"question": "Why?", "agreement": false, "spreadsheet": {"id": "s", "name": "Annotator 1"},
                 "ingredients": {"most_important": [text("Name rain.")], "nice_to_have": [text("Name wind.")]}}])
        .to_string(),
    );
    work.run(&["build-tests", "ingredients.json", "--out", "t.json"])
        .exits_with(0);
    work.write(
        "p.jsonl",
        &lines(&[json!({"input": "Why?", "output": "Rain comes first [0].", "ctxs": sources(1)})]),
    );
    work.run(&[
        "convert", "p.jsonl", "--tests", "t.json", "--out", "a.jsonl",
    ])
    .exits_with(0);
    work.run(&["score", "a.jsonl", "--tests", "t.json", "--out", "o"])
        .exits_with(0);
    let built = work.json("t.json");
    // 0.6 / (2 * 1 + 1) = 0.2
    assert_eq!(
        built[0]["metric_config"]["config"]["other_properties"][1]["weight"].as_f64(),
        Some(0.6 / 3.0)
    );
    assert_eq!(
        work.lines("o/scores.jsonl")[0]["case_id"],
        built[0]["case_id"]
    );
}

#[test]
fn overlap_compares_outputs_with_gold_in_one_table() {
    let work = Workspace::with_cases(&[]);
    let item = |id: &str, output: &str| json!({"id": id, "input": id, "output": output});
    work.write(
        "p.jsonl",
        &lines(&[item("a", "Yes [0]."), item("b", "It is known.")]),
    );
    let gold = |id: &str, answer: &str| json!({"input": id, "answer": answer});
    work.write(
        "g.jsonl",
        &lines(&[gold("a", "yes"), gold("b", "no"), gold("b", "no")]),
    );
    let run = |more: &[&str]| {
        let done = work.run(
            &[
                &[
                    "overlap",
                    "p.jsonl",
                    "--references",
                    "g.jsonl",
                    "--format",
                    "json",
                ],
                more,
            ]
            .concat(),
        );
        serde_json::from_str::<Value>(&done.exits_with(0).stdout).unwrap()
    };
    let found = run(&["--out", "o"]);
    let row = &found["scorers"][0]["rows"][0]["metrics"];
    // "yes" is there, "no" is not a word of "known"; markers do not count: "yes" is exact, F1 1, and has 1 word of 1 and 3
    assert_eq!(
        (&row["match"]["estimate"], &row["exact_match"]["estimate"]),
        (&0.5.into(), &0.5.into())
    );
    assert_eq!(row["token_f1"]["estimate"].as_f64(), Some(0.5));
    assert_eq!(row["words"]["estimate"], 2.0);
    assert!(row.get("str_em").is_none(), "no qa_pairs");
    assert_eq!(work.lines("o/scores.jsonl")[1]["components"]["match"], 0.0);
    // in compat "no" stands within "known"; of one word only "Yes" is left
    assert_eq!(
        run(&["--compat"])["scorers"][0]["rows"][0]["metrics"]["match"]["estimate"],
        1.0
    );
    let cut = run(&["--max-words", "1"]);
    let cut = &cut["scorers"][0]["rows"][0]["metrics"];
    assert_eq!(
        (&cut["exact_match"]["estimate"], &cut["words"]["estimate"]),
        (&0.5.into(), &1.0.into())
    );
}

#[test]
fn rouge_knows_every_script_and_compat_says_where_it_knows_none() {
    let work = Workspace::with_cases(&[]);
    let item = |text: &str| json!({"id": text, "input": text, "output": text, "answer": text});
    let texts = ["สวัสดี", "पूर्व प्रधानमन्त्री", "北京", "Пушкин"];
    work.write("p.jsonl", &lines(&texts.map(item)));
    for (mode, expected) in [(&[][..], 1.0), (&["--compat"][..], 0.0)] {
        let arguments = ["overlap", "p.jsonl", "--out", "o", "--overwrite"];
        work.run(&[&arguments[..], mode].concat()).exits_with(0);
        for line in work.lines("o/scores.jsonl") {
            assert_eq!(line["components"]["rouge_l"], expected, "{line}");
        }
        let notes = work.json("o/summary.json")["scorers"][0]["notes"].to_string();
        let has_note = notes.contains("ROUGE is 0 for texts without a word in a-z or 0-9");
        assert_eq!(has_note, expected == 0.0, "{notes}");
    }
}

#[test]
fn the_audit_reads_every_form_of_citations_and_compat_the_references() {
    let work = Workspace::with_cases(&[]);
    let output =
        "Ice melts.[0-1] Snow stays.\n[2] So:\n- Rain falls [1; 7]\n- Wind【1】\n雪。冰。【0】";
    let item = json!({"id": "a", "input": "a?", "output": output, "ctxs": sources(3)});
    work.write("p.jsonl", &lines(&[item]));
    let found = |mode: &[&str]| {
        let arguments = ["citations", "p.jsonl", "--out", "o", "--overwrite"];
        work.run(&[&arguments[..], mode].concat()).exits_with(0);
        work.lines("o/scores.jsonl")[0]["components"].clone()
    };
    // Markers 0-1, 2, 1 and 7, 1, 0: numbers 0, 1, 2 and 7, which has no source. Cited: ice, snow, rain, wind and the second
    // sentence in Chinese of 7 claims ("So:" is one).
    let ours = found(&[]);
    let values = ["markers", "sources", "dangling", "unused"].map(|name| ours[name].as_f64());
    assert_eq!(values, [Some(5.0), Some(4.0), Some(1.0), Some(0.0)]);
    assert_eq!(ours["cited_sentences"].as_f64(), Some(5.0 / 7.0));
    // The reference knows [2] alone, in the last of three sentences.
    let theirs = found(&["--compat"]);
    assert_eq!(
        (&theirs["markers"], &theirs["sources"]),
        (&1.0.into(), &1.0.into())
    );
    assert_eq!(theirs["cited_sentences"].as_f64(), Some(1.0 / 3.0));
}

#[test]
fn items_without_ids_are_not_taken_for_those_of_other_questions() {
    let work = Workspace::with_cases(&[]);
    let item = |input: &str| json!({"input": input, "output": "Yes.", "answer": "yes"});
    work.write("a.jsonl", &lines(&[item("one?"), item("two?")]));
    work.write(
        "b.jsonl",
        &lines(&[item("two?"), item("three?"), item("two?")]),
    );
    work.run(&["overlap", "a.jsonl", "b.jsonl", "--out", "o"])
        .exits_with(0);
    let ids: Vec<String> = work
        .lines("o/scores.jsonl")
        .iter()
        .map(|line| format!("{} {}", line["system"], line["case_id"]))
        .collect();
    // place 1 of the second file is place 2 of the first; place 2 asks what the first does not; place 3 asks again
    assert_eq!(
        ids,
        [
            r#""a" "1""#,
            r#""a" "2""#,
            r#""b" "2""#,
            r#""b" "2#2""#,
            r#""b" "3""#
        ]
    );
}

#[test]
fn the_record_of_overlap_and_of_citations_is_scored_again_as_it_was() {
    let work = audited();
    for arguments in [
        &["overlap", "good.jsonl", "--max-words", "2"][..],
        &["citations", "good.jsonl", "bad.json", "--index-base", "1"],
    ] {
        let out = arguments[0];
        work.run(&[arguments, &["--out", out]].concat())
            .exits_with(0);
        let before = (
            work.read(&format!("{out}/scores.jsonl")),
            work.read(&format!("{out}/summary.csv")),
        );
        work.run(&["rescore", out, "--out", "again", "--overwrite"])
            .exits_with(0);
        assert_eq!(
            before,
            (
                work.read("again/scores.jsonl"),
                work.read("again/summary.csv")
            ),
            "{out}"
        );
    }
}

#[test]
fn an_empty_gold_answer_matches_nothing() {
    let work = Workspace::with_cases(&[]);
    work.write(
        "e.jsonl",
        &lines(&[json!({"input": "q", "output": "x", "answer": " "})]),
    );
    work.run(&["overlap", "e.jsonl", "--out", "o"])
        .exits_with(0);
    let components = &work.lines("o/scores.jsonl")[0]["components"];
    assert!(
        components.get("match").is_none() && components["exact_match"] == 0.0,
        "{components}"
    );
}

#[test]
fn the_released_short_answer_questions_serve_as_references() {
    let dir = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared");
    let dir = std::env::var_os("SCHOLAREVAL_SHARED").map_or(dir, std::path::PathBuf::from);
    let path = dir.join("data/single_paper/scifact_test.jsonl");
    if !path.is_file() {
        eprintln!("skipped: no {}", path.display());
        return;
    }
    // 208 lines, 187 questions; answers of one question agree, its gold documents may differ
    assert_eq!(
        scholareval::dataset::load_references(&path)
            .unwrap()
            .gold_count(),
        187
    );
}
