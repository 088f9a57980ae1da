//! `plot`: figures of results as SVG and as TikZ.

use std::process::Command;

use serde_json::{Value, json};

use crate::support::fake_server::{Act, Behaviour, FakeServer};
use crate::support::judging::{answer_of, constant_reply, kind_of};
use crate::support::workspace::Workspace;

/// Names that XML, LaTeX and a narrow figure must survive.
const SYSTEMS: [&str; 3] = [
    "50%_of_$x_&_<b>",
    "beta",
    "a-name-of-sixty-characters-that-no-column-of-a-paper-holds-00",
];

/// Points of the answers of each system to each question.
fn points(answer: &str) -> usize {
    let at = answer.find("question ").unwrap() + "question ".len();
    let number: usize = answer[at..].split('.').next().unwrap().parse().unwrap();
    if answer.contains("beta") {
        4 + number % 3
    } else {
        7 + number % 2
    }
}

/// Eight questions, scored into `out` with a judge of this name; `less` points are taken off.
fn score(work: &Workspace, model: &str, out: &str, less: usize) {
    let models = Act::json(&json!({"data": [{"id": model}]}));
    let judge = Behaviour::good()
        .models(models)
        .saying(move |request| match kind_of(request) {
            "property" => json!({"score": points(&answer_of(request)) - less}).to_string(),
            kind => constant_reply(kind),
        });
    let server = FakeServer::start(judge);
    let url = server.base_url();
    let arguments = [
        "score",
        "answers",
        "--tests",
        "tests.json",
        "--model",
        model,
        "--base-url",
        &url,
        "--out",
        out,
    ];
    work.run(&arguments).exits_with(0);
}

fn scored() -> Workspace {
    let work = Workspace::new(&[], 8);
    for system in SYSTEMS {
        let answers: Vec<(String, String)> = (1..=8)
            .map(|at| (format!("c{at}"), format!("Of {system} to question {at}.")))
            .collect();
        work.answers(
            system,
            answers.iter().map(|(id, text)| (id.as_str(), text.clone())),
        );
    }
    score(&work, "fake-judge", "out", 0);
    work
}

/// The places of the circles in an SVG, by x.
fn circles(svg: &str) -> Vec<f64> {
    let parts = svg.split("<circle cx=\"").skip(1);
    parts
        .map(|part| part.split('"').next().unwrap().parse().unwrap())
        .collect()
}

#[test]
fn dots_are_at_the_numbers_of_compare_in_both_forms() {
    let work = scored();
    let compared = work
        .run(&["compare", "out", "--format", "json"])
        .exits_with(0);
    let compared: Value = serde_json::from_str(&compared.stdout).unwrap();
    let systems = compared["metrics"][0]["systems"].as_array().unwrap();
    let means: Vec<f64> = systems
        .iter()
        .map(|own| own["mean"].as_f64().unwrap())
        .collect();
    let done = work
        .run(&[
            "plot",
            "out",
            "--what",
            "means",
            "--out",
            "means.svg",
            "--width",
            "5in",
        ])
        .exits_with(0);
    assert!(done.stderr.contains("means.svg: score (%)"), "{done:?}");
    let svg = work.read("means.svg");
    let places = circles(&svg);
    assert_eq!(places.len(), 3);
    // The first two systems are equal, the third is below.
    let scale = (places[0] - places[2]) / (means[0] - means[2]);
    assert!(scale > 0.0 && (places[1] - places[2] - scale * (means[1] - means[2])).abs() < 0.1);
    assert!(
        svg.contains("50%_of_$x_&amp;_&lt;b&gt;") && !svg.contains("<b>"),
        "{svg}"
    );

    let pairs = [
        "plot",
        "out",
        "--what",
        "pairs",
        "--baseline",
        "beta",
        "--out",
        "pairs.tex",
    ];
    work.run(&pairs).exits_with(0);
    let tex = work.read("pairs.tex");
    assert!(
        tex.contains("50\\%\\_of\\_\\$x\\_\\&") && tex.contains("difference from beta"),
        "{tex}"
    );
    let has_tikz = Command::new("kpsewhich")
        .arg("tikz.sty")
        .output()
        .is_ok_and(|own| own.status.success());
    if !has_tikz {
        eprintln!("skipped: no TikZ (.ci/run installs texlive-pictures)");
    } else if let Some(log) = work.latex_log_with("tikz", "", &format!("\\noindent\n{tex}")) {
        assert!(
            !log.contains("Overfull") && !log.contains("undefined"),
            "{log}"
        );
    }
}

#[test]
fn two_judges_are_two_series_with_a_legend() {
    let work = scored();
    score(&work, "new-judge", "new", 2);
    let judges = [
        "plot",
        "out",
        "new",
        "--what",
        "judges",
        "--out",
        "judges.svg",
    ];
    work.run(&judges).exits_with(0);
    let svg = work.read("judges.svg");
    // Two dots a system, and two in the legend.
    assert_eq!(circles(&svg).len(), 8);
    for name in [">out<", ">new<", "#0072B2", "#E69F00"] {
        assert!(svg.contains(name), "{name} in {svg}");
    }
    work.run(&["plot", "out", "--what", "judges", "--out", "x.svg"])
        .exits_with(2)
        .says(&["two runs"]);
}

#[test]
fn what_cannot_be_drawn_says_so_and_writes_nothing() {
    let work = scored();
    let plot = |more: &[&str]| work.run(&[&["plot", "out"], more].concat());
    plot(&["--what", "means", "--out", "x.png"])
        .exits_with(2)
        .says(&[".svg or .tex"]);
    plot(&["--what", "means", "--out", "x.svg", "--width", "3"])
        .exits_with(2)
        .says(&["3.3in"]);
    plot(&["--what", "means", "--out", "x.svg", "--metric", "scores"])
        .exits_with(3)
        .says(&["did you mean score"]);
    plot(&["--what", "means", "--out", "x.svg", "--baseline", "beta"])
        .exits_with(2)
        .says(&["--what pairs"]);
    plot(&["--what", "pairs", "--out", "x.svg", "--baseline", "betta"])
        .exits_with(3)
        .says(&["did you mean beta"]);
    assert!(!work.path("x.svg").exists());
}
