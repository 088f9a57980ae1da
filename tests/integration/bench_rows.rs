//! `bench`: the rows of ScholarQABench's own table, from data in its layout to a table in its shape.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::support::fake_server::{Behaviour, FakeServer, Recorded};
use crate::support::judging::{constant_reply, kind_of, section};
use crate::support::workspace::{Finished, Workspace, plain_case};

fn lines(items: &[Value]) -> String {
    items.iter().map(|item| format!("{item}\n")).collect()
}

fn sources() -> Value {
    json!([{"title": "T0", "text": "Frogs are green."}, {"title": "T1", "text": "Salt melts ice."}])
}

/// A directory with `data/` laid out as ScholarQABench's.
fn bench() -> Workspace {
    let work = Workspace::with_cases(&[]);
    for dir in [
        "data/single_paper_tasks",
        "data/scholar_cs",
        "data/scholar_multi",
        "data/scholar_bio",
        "p",
    ] {
        std::fs::create_dir_all(work.path(dir)).unwrap();
    }
    let short = |n: usize, answer: &str| json!({"input": format!("claim {n}"), "answer": answer, "gold_ctx": sources()});
    work.write(
        "data/single_paper_tasks/scifact_test.jsonl",
        &lines(&[short(1, "true"), short(2, "false")]),
    );
    let gold_documents = json!([{"title": "T0", "text": "Frogs are green."}]);
    let long = json!({"input": "which frogs?", "answer": "green frogs swim", "ctxs": sources(), "gold_ctxs": gold_documents});
    work.write("data/single_paper_tasks/qasa_test.jsonl", &lines(&[long]));
    work.write(
        "data/scholar_cs/test_configs_snippets.json",
        &json!([plain_case("c1"), plain_case("c2")]).to_string(),
    );
    let expert = |n: usize| json!({"input": format!("question {n}"), "output": format!("expert {n}"), "ctxs": sources()});
    work.write(
        "data/scholar_multi/human_answers.json",
        &json!([expert(1), expert(2)]).to_string(),
    );
    work.write(
        "data/scholar_bio/questions.jsonl",
        &lines(&[json!({"input": "question b"})]),
    );
    work
}

fn prediction(input: &str, output: &str) -> Value {
    json!({"input": input, "output": output, "ctxs": sources()})
}

/// A judge of every role: rubrics as the constant judge; grade 4 for organization, 2 for whatever else; what the
/// document says of frogs is supported.
fn all_roles() -> FakeServer {
    FakeServer::start(Behaviour::good().saying(|request: &Recorded| {
        let rubric = section(request, "rubric");
        match () {
            () if !section(request, "claim").is_empty() => {
                let supported = section(request, "document").contains("Frogs");
                if supported {
                    "Attributable"
                } else {
                    "Extrapolatory"
                }
                .to_owned()
            }
            () if !rubric.is_empty() => {
                let grade = if rubric.to_lowercase().contains("organi") {
                    4
                } else {
                    2
                };
                format!("Feedback: so it is. [RESULT] {grade}")
            }
            () => constant_reply(kind_of(request)),
        }
    }))
}

fn by(work: &Workspace, server: &FakeServer, arguments: &[&str]) -> Finished {
    let url = server.base_url();
    let judge = [
        "--data",
        "data",
        "--out",
        "out",
        "--model",
        "fake-judge",
        "--base-url",
        &url,
    ];
    work.run(&[&["bench"], arguments, &judge].concat())
}

fn metric(work: &Workspace, system: usize, name: &str) -> Value {
    work.json("out/bench.json")["scorers"][0]["rows"][system]["metrics"][name]["estimate"].clone()
}

#[test]
fn scifact_is_accuracy_with_citations_of_question_and_answer_as_one_claim() {
    let work = bench();
    let answers = [
        prediction("claim 2", "It is true [0]."),
        prediction("claim 1", "true [0] [1]"),
    ];
    work.write("p/s.jsonl", &lines(&answers));
    let server = all_roles();
    let done = by(&work, &server, &["scifact", "p"]).exits_with(0);
    // golds false and true, by question: 1 of 2
    assert_eq!(metric(&work, 0, "match"), 0.5);
    // both claims are supported (the second by both sources together); [1] alone says nothing of frogs, [0] does: it is
    // not needed: precision (1/1 + 1/2) / 2, recall 1, F1 2 * 0.75 / 1.75
    assert_eq!(
        (
            metric(&work, 0, "citation_precision"),
            metric(&work, 0, "citation_recall")
        ),
        (json!(0.75), json!(1.0))
    );
    assert!((metric(&work, 0, "citation_f1").as_f64().unwrap() - 1.5 / 1.75).abs() < 1e-12);
    let claims: Vec<String> = server
        .chats()
        .iter()
        .map(|request| section(request, "claim"))
        .collect();
    assert!(
        claims
            .iter()
            .any(|claim| claim.starts_with("claim 2 It is true")),
        "{claims:?}"
    );
    assert!(
        done.stdout.starts_with(
            "scifact: 2 questions of data/single_paper_tasks/scifact_test.jsonl; means"
        ),
        "{}",
        done.stdout
    );
    let row: Vec<&str> = done
        .stdout
        .lines()
        .find(|line| line.starts_with("s "))
        .unwrap()
        .split_whitespace()
        .collect();
    assert_eq!(row[..2], ["s", "50.0"], "{}", done.stdout);
    assert!(!done.stdout.contains("Blank:"), "{}", done.stdout);
    // The record is that of score, with the row's table beside it.
    assert_eq!(
        work.json("out/summary.json")["scorers"][0]["scorer"],
        "entailment"
    );
    assert_eq!(
        work.json("out/manifest.json")["settings"]["bench"],
        "scifact"
    );
    assert!(work.read("out/bench.csv").starts_with("system,match,"));
}

#[test]
fn without_a_judge_accuracy_stands_and_citations_are_blank_and_never_zero() {
    let work = bench();
    work.write(
        "p/s.jsonl",
        &lines(&[
            prediction("claim 1", "true [0]"),
            prediction("claim 2", "false"),
        ]),
    );
    let done = work
        .run(&["bench", "scifact", "p", "--data", "data", "--out", "out"])
        .exits_with(0);
    assert_eq!(metric(&work, 0, "match"), 1.0);
    assert!(metric(&work, 0, "citation_f1").is_null());
    let told = done.stdout.replace("\n  ", " ");
    assert!(
        told.contains(
            "Blank: citation_precision, citation_recall, citation_f1: no judge (give --model"
        ),
        "{told}"
    );
    let csv = work.read("out/bench.csv");
    assert!(
        csv.lines().nth(1).unwrap().ends_with(",,,,0,0,2,0,0"),
        "{csv}"
    );
    let json = work
        .run(&[
            "bench", "scifact", "p", "--data", "data", "--out", "out", "--format", "json",
        ])
        .exits_with(0);
    assert_eq!(json.stdout, work.read("out/bench.json"));
}

#[test]
fn a_question_without_a_prediction_is_named_and_nothing_is_scored_unless_that_is_allowed() {
    let work = bench();
    work.write(
        "p/s.jsonl",
        &lines(&[
            prediction("claim 2", "false"),
            prediction("claim 2", "true"),
            prediction("x", "y"),
        ]),
    );
    let arguments = [
        "bench",
        "scifact",
        "p",
        "--data",
        "data/single_paper_tasks",
        "--out",
        "out",
    ];
    work.run(&arguments).exits_with(3).says(&[
        "p/s.jsonl: 1 of 2 questions of data/single_paper_tasks/scifact_test.jsonl have no prediction: line 1 “claim 1”; \
         answer them, or score what is there with --allow-missing",
    ]);
    assert!(
        !work.path("out").exists(),
        "nothing is written before everything is there"
    );
    let allowed = [&arguments[..], &["--allow-missing"]].concat();
    let done = work.run(&allowed).exits_with(0).says(&[
        "1 predictions repeat a question more often than",
        "line 2 “claim 2”; the first counts",
        "1 predictions for questions that",
        "line 3 “x”; they are not scored",
    ]);
    // Of the two predictions to claim 2 the first counts, and the one to nothing does not.
    assert_eq!(
        (
            metric(&work, 0, "match"),
            work.json("out/bench.json")["scorers"][0]["rows"][0]["answers"].clone()
        ),
        (json!(1.0), json!(1))
    );
    let row = done
        .stdout
        .lines()
        .find(|line| line.starts_with("s "))
        .unwrap()
        .to_owned();
    assert_eq!(row.split_whitespace().nth(5), Some("1"), "{row}");
    let told = done.stdout.replace("\n  ", " ");
    assert!(
        told.contains("- s: 1 of 2 questions have no prediction."),
        "{told}"
    );
    work.run(&[&allowed[..], &["--strict"]].concat())
        .exits_with(3)
        .says(&["repeat a question more often"]);
}

#[test]
fn qasa_is_rouge_l_whose_gold_documents_are_no_ids() {
    let work = bench();
    work.write(
        "p/s.jsonl",
        &lines(&[prediction("which frogs?", "green frogs [0].")]),
    );
    work.run(&["bench", "qasa", "p", "--data", "data", "--out", "out"])
        .exits_with(0);
    // tokens: green frog, without the marker, and green frog swim: p 2/2, r 2/3, F 2 * 2/3 / (5/3) = 0.8
    assert!((metric(&work, 0, "rouge_l").as_f64().unwrap() - 0.8).abs() < 1e-12);
}

#[test]
fn cs_is_the_rubric_score_of_predictions_and_of_answers() {
    let work = bench();
    let answer = |id: &str| json!({"case_id": id, "answer_text": "In few words."});
    work.write("p/a.jsonl", &lines(&[answer("c1"), answer("c2")]));
    let question = |id: &str| format!("What is known about {id}?");
    let told = [
        prediction(&question("c2"), "In few words [0]."),
        prediction(&question("c1"), "In few words."),
    ];
    work.write("p/b.jsonl", &lines(&told));
    let server = all_roles();
    by(&work, &server, &["cs", "p", "--scorers", "rubric"])
        .exits_with(2)
        .says(&["--scorers"]);
    by(&work, &server, &["cs", "p"]).exits_with(0);
    let rows = work.json("out/bench.json")["scorers"][0]["rows"].clone();
    for system in 0..2 {
        assert!(metric(&work, system, "score").is_f64(), "{rows}");
    }
    let of = |name: &str| {
        rows.as_array()
            .unwrap()
            .iter()
            .position(|row| row["system"] == name)
            .unwrap()
    };
    assert!(
        metric(&work, of("a"), "citation_f1").is_null(),
        "answers without sources have no citations to check: {rows}"
    );
    assert!(metric(&work, of("b"), "citation_f1").is_f64(), "{rows}");
}

#[test]
fn the_baseline_stands_in_no_column_of_an_llm_unless_it_is_asked_for() {
    let work = bench();
    let question = |id: &str| format!("What is known about {id}?");
    work.write(
        "p/b.jsonl",
        &lines(&["c1", "c2"].map(|id| prediction(&question(id), "Rain comes first [0]."))),
    );
    let arguments = ["bench", "cs", "p", "--data", "data", "--out", "out"];
    let done = work
        .run(&arguments)
        .exits_with(0)
        .says(&["score stays blank: no LLM has the role rubric"]);
    assert!(metric(&work, 0, "score").is_null());
    assert!(
        done.stdout
            .contains("Blank: score: no LLM has the role rubric"),
        "{}",
        done.stdout
    );
    let done = work
        .run(&[&arguments[..], &["--judge", "lexical", "--overwrite"]].concat())
        .exits_with(0);
    assert!(metric(&work, 0, "lexical_score").is_f64());
    assert!(done.stdout.contains("lexical_score"), "{}", done.stdout);
}

#[test]
fn multi_is_three_aspects_beside_the_experts_answer_and_their_mean() {
    let work = bench();
    work.write(
        "p/s.jsonl",
        &lines(&[1, 2].map(|n| {
            prediction(
                &format!("question {n}"),
                "Frogs are green, and that is all there is to say [0].",
            )
        })),
    );
    let server = all_roles();
    by(&work, &server, &["multi", "p"]).exits_with(0);
    let grades = ["organization", "coverage", "relevance"].map(|aspect| metric(&work, 0, aspect));
    assert_eq!(grades, [json!(4.0), json!(2.0), json!(2.0)]);
    assert!((metric(&work, 0, "aspect_mean").as_f64().unwrap() - 8.0 / 3.0).abs() < 1e-12);
    assert_eq!(metric(&work, 0, "citation_f1"), 1.0);
    let graded: Vec<Recorded> = server
        .chats()
        .into_iter()
        .filter(|r| !section(r, "rubric").is_empty())
        .collect();
    assert_eq!(graded.len(), 6);
    for request in &graded {
        assert!(
            section(request, "reference").starts_with("expert "),
            "{}",
            request.user_message()
        );
        let instruction = section(request, "instruction");
        assert!(
            instruction.starts_with("Answer the question related to the most recent"),
            "{instruction}"
        );
    }
}

#[test]
fn bio_has_no_reference_and_aspects_without_a_judge_are_blank_with_their_reason() {
    let work = bench();
    let answer = "Frogs are green, and that is all there is to say about them [0].";
    work.write("p/s.jsonl", &lines(&[prediction("question b", answer)]));
    let server = all_roles();
    let config = format!(
        "[judges.one]\nkind = \"chat\"\nmodel = \"fake-judge\"\nbase_url = \"{}\"\n[roles]\n\"aspect.coverage\" = \"one\"\n\
         citation = \"one\"\n",
        server.base_url()
    );
    work.write("eval.toml", &config);
    let arguments = [
        "bench",
        "bio",
        "p",
        "--data",
        "data",
        "--out",
        "out",
        "--config",
        "eval.toml",
    ];
    let done = work.run(&arguments).exits_with(0);
    assert_eq!(
        (
            metric(&work, 0, "coverage"),
            metric(&work, 0, "citation_f1")
        ),
        (json!(2.0), json!(1.0))
    );
    assert!(metric(&work, 0, "relevance").is_null() && metric(&work, 0, "aspect_mean").is_null());
    let told = done.stdout.replace("\n  ", " ");
    assert!(
        told.contains(
            "Blank: organization, relevance, aspect_mean: no judge has the roles aspect.organization, aspect.relevance."
        ),
        "{told}"
    );
    assert!(
        server
            .chats()
            .iter()
            .all(|request| section(request, "reference").is_empty())
    );
}

#[test]
fn a_second_run_pays_nothing_and_a_dry_run_writes_nothing() {
    let work = bench();
    work.write(
        "p/s.jsonl",
        &lines(&[1, 2].map(|n| prediction(&format!("claim {n}"), "true [0]"))),
    );
    let server = all_roles();
    let dry = by(&work, &server, &["scifact", "p", "--dry-run"]).exits_with(0);
    assert!(
        dry.stdout.starts_with("plan: 2 calls now"),
        "{}",
        dry.stdout
    );
    assert!(!work.path("out").exists());
    by(&work, &server, &["scifact", "p"]).exits_with(0);
    let paid = server.chats().len();
    by(&work, &server, &["scifact", "p"]).exits_with(0);
    assert_eq!(server.chats().len(), paid);
}

#[test]
fn mistakes_are_told_with_what_to_type() {
    let work = bench();
    work.write("p/s.jsonl", &lines(&[prediction("claim 1", "true")]));
    work.run(&["bench", "p", "--data", "data"])
        .exits_with(2)
        .says(&["scifact"]);
    work.run(&["bench", "scifact", "p"])
        .exits_with(2)
        .says(&["--data"]);
    work.run(&["bench", "pubmedqa", "p", "--data", "data"])
        .exits_with(3)
        .says(&["single_paper_tasks/pubmed_test.jsonl"]);
    work.run(&["bench", "bio", "p", "--data", "data"])
        .exits_with(3)
        .says(&["no question of", "right benchmark?"]);
    work.write(
        "p/s.jsonl",
        &lines(&[json!({"case_id": "1", "answer_text": "true"})]),
    );
    work.run(&["bench", "scifact", "p", "--data", "data"])
        .exits_with(3)
        .says(&["give predictions"]);
    work.write("few.toml", "[score]\nlimit = 1\n");
    let narrowed = [
        "bench", "scifact", "p", "--data", "data", "--config", "few.toml",
    ];
    let narrowed = work.run(&narrowed).exits_with(3);
    narrowed.says(&["give predictions"]);
}

/// The released data, where they are.
fn shared() -> Option<PathBuf> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared");
    let dir = std::env::var_os("SCHOLAREVAL_SHARED")
        .map_or(beside, PathBuf::from)
        .join("data");
    if !dir.is_dir() {
        eprintln!("skipped: no {}; set SCHOLAREVAL_SHARED", dir.display());
    }
    dir.is_dir().then_some(dir)
}

/// The recipe: each question answered by its gold answer and a marker for each of its gold documents, which are the
/// sources; then nine in ten answers are kept, and every tenth is replaced by `perhaps`.
fn by_recipe(data: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(data).unwrap();
    let items = text
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .enumerate();
    let answered = items.map(|(at, item)| {
        let documents = item["gold_ctx"].as_array().unwrap();
        let markers: String = (0..documents.len())
            .map(|number| format!("[{number}]"))
            .collect();
        let text = |document: &Value| match &document["text"] {
            Value::String(text) => text.clone(),
            parts => parts["contexts"]
                .as_array()
                .unwrap()
                .iter()
                .map(|p| p.as_str().unwrap())
                .collect::<Vec<_>>()
                .join(" "),
        };
        let sources: Vec<Value> = documents
            .iter()
            .map(|d| json!({"title": d["title"], "text": text(d)}))
            .collect();
        let answer = if at % 10 == 9 {
            "perhaps"
        } else {
            item["answer"].as_str().unwrap()
        };
        json!({"input": item["input"], "output": format!("{answer} {markers}"), "ctxs": sources})
    });
    answered.collect()
}

#[test]
fn the_released_short_answer_rows_score_as_the_recipe_says() {
    let Some(data) = shared() else { return };
    let work = bench();
    for (row, file, questions) in [
        ("scifact", "scifact_test.jsonl", 208),
        ("pubmedqa", "pubmed_test.jsonl", 843),
    ] {
        let predictions = by_recipe(&data.join("single_paper").join(file));
        assert_eq!(predictions.len(), questions);
        work.write("p/s.jsonl", &lines(&predictions));
        let arguments = [
            "bench",
            row,
            "p",
            "--data",
            data.to_str().unwrap(),
            "--out",
            "out",
            "--overwrite",
        ];
        work.run(&arguments).exits_with(0);
        // every tenth is wrong: 20 of 208, 84 of 843
        let right = (questions - questions / 10) as f64 / questions as f64;
        assert!(
            (metric(&work, 0, "match").as_f64().unwrap() - right).abs() < 1e-12,
            "{row}"
        );
        work.write("p/s.jsonl", &lines(&predictions[7..]));
        work.run(&arguments).exits_with(3).says(&[
            &format!("7 of {questions} questions of"),
            "and 2 more; answer them",
        ]);
    }
}

#[test]
fn the_released_expert_answers_are_a_complete_system_of_their_own_row() {
    let Some(data) = shared() else { return };
    let work = bench();
    let file = data.join("scholarqa_multi/human_answers.json");
    let arguments = [
        "bench",
        "multi",
        file.to_str().unwrap(),
        "--data",
        data.to_str().unwrap(),
        "--out",
        "out",
    ];
    let done = work
        .run(&arguments)
        .exits_with(0)
        .says(&["for 108 of 108 answers, by input"]);
    let row = &work.json("out/bench.json")["scorers"][0]["rows"][0];
    assert_eq!((&row["answers"], &row["missing"]), (&json!(108), &json!(0)));
    assert!(
        done.stdout
            .contains("Blank: organization, coverage, relevance, aspect_mean: no judge"),
        "{}",
        done.stdout
    );
}

#[test]
fn the_released_answers_to_scholarqa_cs_are_complete() {
    let Some(data) = shared() else { return };
    let work = bench();
    let answers = data.join("scholarqa_cs/src_answers");
    let arguments = [
        "bench",
        "cs",
        answers.to_str().unwrap(),
        "--data",
        data.to_str().unwrap(),
        "--judge",
        "lexical",
    ];
    work.run(&[&arguments[..], &["--out", "out"]].concat())
        .exits_with(0);
    let table = work.json("out/bench.json");
    // 110 cases of 100 questions
    assert_eq!(
        (
            &table["asked"],
            table["scorers"][0]["rows"].as_array().unwrap().len()
        ),
        (&json!(100), 4)
    );
    assert!(
        table["scorers"][0]["rows"]
            .as_array()
            .unwrap()
            .iter()
            .all(|row| row["answers"] == 100),
        "{table}"
    );
}
