//! `table` from end to end: the table of a paper, of one run and of several.

use serde_json::{Value, json};

use crate::support::fake_server::{Behaviour, FakeServer};
use crate::support::judging::{answer_of, constant_reply, kind_of};
use crate::support::workspace::{Finished, Workspace, plain_case};

const ANSWERS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/data/answers");
const CASES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/data/test_cases.json");
const PREDICTIONS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/data/predictions");
const GOLDS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/data/golds.jsonl");

/// The runs `lex` and `pred` of the sample data.
fn sample_runs() -> Workspace {
    let work = Workspace::with_cases(&[]);
    work.run(&[
        "score", ANSWERS, "--tests", CASES, "--judge", "lexical", "--out", "lex",
    ])
    .exits_with(0);
    work.run(&["score", PREDICTIONS, "--references", GOLDS, "--out", "pred"])
        .exits_with(0);
    work
}

/// The run `out` of these systems.
fn judged(systems: &[&str], cases: usize) -> (Workspace, FakeServer) {
    let work = Workspace::new(systems, cases);
    let server = FakeServer::start(Behaviour::good().saying(|request| match kind_of(request) {
        "property" if answer_of(request).contains("alpha") => r#"{"score": 10}"#.to_owned(),
        kind => constant_reply(kind),
    }));
    work.score(&server, &[]).exits_with(0);
    (work, server)
}

#[test]
fn the_sample_data_in_every_format() {
    let work = sample_runs();
    let table = |more: &[&str]| {
        let metrics = [
            "table",
            "lex",
            "pred",
            "--metrics",
            "lexical_score,lexical_ann_score,rouge_l",
        ];
        work.run(&[&metrics, more].concat()).exits_with(0).stdout
    };
    let for_people = |format: &str| {
        let names = [
            "careful=Careful, Inc. & co",
            "rouge_l=ROUGE-L",
            "lexical_score=Score",
        ];
        let names = names.into_iter().flat_map(|name| ["--names", name]);
        let options = [
            "--group",
            "Rubric=lexical_score,lexical_ann_score",
            "--letters",
            "--format",
            format,
        ];
        table(&names.chain(options).collect::<Vec<_>>())
    };
    insta::assert_snapshot!("sample_table_terminal", for_people("terminal"));
    insta::assert_snapshot!("sample_table_latex", for_people("latex"));
    insta::assert_snapshot!("sample_table_markdown", for_people("markdown"));
    insta::assert_snapshot!("sample_table_csv", table(&["--format", "csv"]));
}

#[test]
fn a_caption_and_a_label_are_those_asked_for() {
    let (work, _server) = judged(&["alpha", "beta"], 3);
    let table = |more: &[&str]| work.run(&[&["table", "out"], more].concat());
    let latex = ["--format", "latex"];
    let caption = ["--caption", "50% of \\input{x}?"];
    let own = table(&[&latex[..], &caption, &["--label", "tab:mine"]].concat());
    let own = own.exits_with(0).stdout;
    assert!(
        own.contains("\\caption{50\\% of \\textbackslash{}input\\{x\\}? Judge of")
            && own.contains("\n\\label{tab:mine}\n"),
        "{own}"
    );
    let alone = table(&[&latex[..], &caption, &["--no-notes"]].concat());
    let alone = alone.exits_with(0).says(&["note: Judge of"]);
    assert!(
        alone.stdout.contains("input\\{x\\}?}\n"),
        "{}",
        alone.stdout
    );
    let shown = table(&caption).exits_with(0).stdout;
    assert!(shown.starts_with("50% of \\input{x}?\n\n"), "{shown}");
    // A label would leave its braces, and what has no label or caption takes none.
    table(&[&latex[..], &["--label", "a}b"]].concat())
        .exits_with(2)
        .says(&["such as tab:scores"]);
    table(&["--label", "tab:x"])
        .exits_with(2)
        .says(&["--format latex"]);
    table(&[&caption[..], &["--format", "csv"]].concat()).exits_with(2);
    if let Some(log) = work.latex_log("", &own) {
        assert!(
            !log.contains("Overfull") && !log.contains("undefined"),
            "{log}"
        );
    }
}

#[test]
fn an_empty_table_is_an_error_in_every_format() {
    let (work, server) = judged(&["alpha"], 2);
    // Another system answers another case: no case has a value of both.
    work.write("tests.json", &json!([plain_case("c9")]).to_string());
    std::fs::remove_file(work.path("answers/alpha.jsonl")).unwrap();
    work.answers("beta", [("c9", "The beta answer to c9.".to_owned())]);
    work.score(&server, &["--out", "other"]).exits_with(0);
    for format in ["terminal", "latex", "markdown", "csv"] {
        let done = work.run(&["table", "out", "other", "--anyway", "--format", format]);
        let done = done.exits_with(3).says(&["the table is empty", "score"]);
        assert_eq!(done.stdout, "");
    }
}

#[test]
fn values_intervals_and_letters_are_those_of_compare() {
    let (work, _server) = judged(&["alpha", "beta"], 10);
    let json = work
        .run(&[
            "compare",
            "out",
            "--metric",
            "score,ann_score",
            "--format",
            "json",
        ])
        .exits_with(0)
        .stdout;
    let compared: Value = serde_json::from_str(&json).unwrap();
    let csv = work.run(&[
        "table",
        "out",
        "--metrics",
        "score,ann_score",
        "--letters",
        "--format",
        "csv",
    ]);
    let csv = csv.exits_with(0).stdout;
    let mut reader = csv::Reader::from_reader(csv.as_bytes());
    let header = reader.headers().unwrap().clone();
    let rows: Vec<csv::StringRecord> = reader.records().map(Result::unwrap).collect();
    for metric in compared["metrics"].as_array().unwrap() {
        let name = metric["metric"]["name"].as_str().unwrap();
        for system in metric["systems"].as_array().unwrap() {
            let row = rows
                .iter()
                .find(|row| row.get(0) == system["label"].as_str())
                .unwrap();
            let cell = |suffix: &str| {
                let key = format!("{name}{suffix}");
                row[header.iter().position(|own| own == key).unwrap()].to_owned()
            };
            let number = |suffix: &str| cell(suffix).parse::<f64>().unwrap();
            assert_eq!(Some(number("")), system["mean"].as_f64(), "{csv}");
            assert_eq!(
                Some(number("_low")),
                system["interval"]["low"].as_f64(),
                "{csv}"
            );
            assert_eq!(
                Some(number("_high")),
                system["interval"]["high"].as_f64(),
                "{csv}"
            );
            assert_eq!(
                Some(cell("_flag").as_str()),
                system["letters"].as_str(),
                "{csv}"
            );
        }
    }
}

#[test]
fn hostile_names_stay_text_and_the_latex_fits_one_and_two_columns() {
    let (work, _server) = judged(&["alpha", "[b]&_%$#{x}~^\\{}", "naïve *"], 3);
    let names = r"alpha=\input{x}|<b>*[l](u)_";
    let markdown = work
        .run(&["table", "out", "--names", names, "--format", "markdown"])
        .exits_with(0)
        .stdout;
    assert!(
        markdown.contains(r"| \\input{x}\|&lt;b&gt;\*\[l\](u)\_ | **"),
        "{markdown}"
    );
    let many = "score,ann_score,length,expertise,citations";
    for more in [
        &["--metrics", "score"][..],
        &["--metrics", many, "--letters"],
        &["--metrics", many, "--interval", "pm"],
    ] {
        let latex = work.run(
            &[
                &["table", "out", "--names", names, "--format", "latex"],
                more,
            ]
            .concat(),
        );
        let latex = latex.exits_with(0).stdout;
        assert!(
            latex.contains("{[}b{]}\\&\\_\\%\\$\\#\\{x\\}\\textasciitilde{}\\textasciicircum{}"),
            "{latex}"
        );
        assert!(
            latex.contains("\n\\textbackslash{}input\\{x\\}\\textbar{}\\textless{}b"),
            "{latex}"
        );
        for class in ["", "twocolumn", "11pt"] {
            let Some(log) = work.latex_log(class, &latex) else {
                return;
            };
            assert!(!log.contains("Overfull"), "{class}: {log}\n{latex}");
        }
    }
}

#[test]
fn systems_of_several_runs_share_rows_by_their_names_in_print() {
    let work = sample_runs();
    let names = [
        "--names",
        "careful=GPT",
        "--names",
        "sourced=GPT",
        "--names",
        "brief=B",
    ];
    let metrics = ["--metrics", "rouge_l", "--group", "Rubric=lexical_score"];
    let options = ["--order", "given", "--decimals", "2", "--interval", "none"];
    let shown = work
        .run(&[&["table", "lex", "pred"], &metrics[..], &names, &options].concat())
        .exits_with(0)
        .stdout;
    let rows: Vec<Vec<&str>> = shown
        .lines()
        .skip(2)
        .take(6)
        .map(|line| line.split_whitespace().collect())
        .collect();
    assert_eq!(
        rows[0],
        ["system", "rouge", "l", "Rubric:", "lexical", "score"],
        "{shown}"
    );
    assert_eq!(rows[2], ["GPT", "22.93", "77.65"], "{shown}");
    assert_eq!([rows[3][0], rows[4][0]], ["B", "vague"], "{shown}");
    let same = [
        "table",
        "lex",
        "--names",
        "careful=GPT",
        "--names",
        "brief=GPT",
    ];
    work.run(&same)
        .exits_with(3)
        .says(&["GPT is the name of careful and brief"]);
    work.run(&["table", "lex", "--names", "carefull=GPT"])
        .exits_with(3)
        .says(&["did you mean careful?"]);
    work.run(&["table", "lex", "--order", "scores"])
        .exits_with(3)
        .says(&["no column or order is called scores"]);
}

#[test]
fn systems_with_values_of_one_metric_in_several_runs_have_rows_by_run() {
    let (work, server) = judged(&["alpha", "beta"], 3);
    work.score(&server, &["--out", "again"]).exits_with(0);
    let shown = work
        .run(&[
            "table",
            "out",
            "again",
            "--order",
            "name",
            "--names",
            "again/beta=B2",
        ])
        .exits_with(0)
        .stdout;
    let rows: Vec<&str> = shown
        .lines()
        .skip(4)
        .map_while(|line| line.split_whitespace().next())
        .collect();
    assert_eq!(
        rows,
        ["B2", "again/alpha", "out/alpha", "out/beta"],
        "{shown}"
    );
    work.score(&server, &["--out", "warm", "--temperature", "0.5"])
        .exits_with(0);
    work.run(&["table", "out", "warm"])
        .exits_with(3)
        .says(&["judge of rubric: 0.0 (out), 0.5 (warm)"]);
    let latex = work
        .run(&["table", "out", "warm", "--anyway", "--format", "latex"])
        .exits_with(0)
        .stdout;
    assert!(
        latex.contains("Not comparable: different temperature of the judge"),
        "{latex}"
    );
    // The judge is not that of the published numbers.
    let judge = "Judge of rubric: fake-judge; prompts ";
    let differs = "Not comparable with published numbers: rubric (judge fake-judge instead of gpt-4o, prompts ";
    assert!(latex.contains(judge) && latex.contains(differs), "{latex}");
}

#[test]
fn without_a_terminal_the_width_is_that_of_columns() {
    let work = sample_runs();
    let widest = |columns: &str| {
        let output = work
            .command(&["compare", "lex", "--metric", "all"])
            .env("COLUMNS", columns)
            .output()
            .unwrap();
        let shown = Finished::of(output).exits_with(0).stdout;
        shown
            .lines()
            .map(|line| line.chars().count())
            .max()
            .unwrap()
    };
    assert!(widest("80") <= 80 && (101..=140).contains(&widest("140")));
}
