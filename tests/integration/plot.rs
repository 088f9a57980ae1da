//! `plot`: figures of results as SVG and as TikZ.

use std::process::Command;

use scholareval::report::FIGURES;
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
    // A circle and a square a system and in the legend, and the ground.
    assert_eq!(circles(&svg).len(), 4);
    assert_eq!(svg.matches("<rect ").count(), 5);
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

/// Opens the figures in Chromium, where no two texts may overlap and none may leave its drawing; or says why it cannot.
fn measure_in_browser(work: &Workspace, names: &[String]) {
    let Some(playwright) = std::env::var_os("SCHOLAREVAL_PLAYWRIGHT") else {
        eprintln!(
            "skipped: SCHOLAREVAL_PLAYWRIGHT names no directory with node_modules/playwright-core (.ci/run makes one)"
        );
        return;
    };
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/browser/figures.mjs");
    let output = Command::new("node")
        .arg(script)
        .args(names.iter().map(|name| work.path(name)))
        .env("PLAYWRIGHT_DIR", playwright)
        .output()
        .expect("node runs");
    let printed = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{printed}{errors}");
    assert_eq!(printed.matches("ok: ").count(), names.len(), "{printed}");
}

/// Compiles the figures in one document, with lines of this width that none may cross; or says why it cannot.
fn compile(work: &Workspace, names: &[String], width: &str) {
    let has_tikz = Command::new("kpsewhich")
        .arg("tikz.sty")
        .output()
        .is_ok_and(|own| own.status.success());
    if !has_tikz {
        eprintln!("skipped: no TikZ (.ci/run installs texlive-pictures)");
        return;
    }
    let mut document = format!("\\hsize={width}\\linewidth=\\hsize\n");
    for name in names {
        document += &format!("\\noindent\n{}\\clearpage\n", work.read(name));
    }
    if let Some(log) = work.latex_log_with("tikz", "", &document) {
        assert!(
            !log.contains("Overfull \\hbox") && !log.contains("undefined"),
            "{log}"
        );
    }
}

/// Sixty characters: of CJK, with combining marks, with what LaTeX and XML escape, of capitals, or plain.
fn long_name(at: usize) -> String {
    let middle = match at % 5 {
        0 => "大規模言語モデルの名前".repeat(9),
        1 => "e\u{301}a\u{308}".repeat(30),
        2 => "_%&<b>$x^2~{#}".repeat(9),
        3 => "WIDE-MODEL-".repeat(9),
        _ => "a-plain-name-".repeat(9),
    };
    let end = format!("-{at:02}");
    let start: String = middle.chars().take(60 - end.len()).collect();
    start + &end
}

/// Twenty criteria of 200 characters, four of them faults, in each of six cases.
fn write_long_criteria(work: &Workspace) {
    let mut criteria = Vec::new();
    for at in 0..20 {
        let weight = if at < 16 { 1 } else { -1 };
        let words = [
            "explains the mechanism & names <its> source ",
            "名詞の長い説明 ",
            "100% of $x_1$ ",
        ];
        let text: String = words[at % 3].repeat(20).chars().take(190).collect();
        let tags = [format!("axis:part_{}", at / 8)];
        criteria.push(json!({"text": format!("No. {at} {text}"), "weight": weight, "tags": tags}));
    }
    let mut lines = String::new();
    for case in 0..6 {
        let question = format!("Why is number {case}?");
        let case =
            json!({"case_id": format!("c{case}"), "question": question, "criteria": criteria});
        lines += &format!("{case}\n");
    }
    work.write("criteria.jsonl", &lines);
}

/// Fifty systems with long names, scored by the built-in baseline, and labels of two people.
fn extremes() -> Workspace {
    let work = Workspace::with_cases(&[]);
    write_long_criteria(&work);
    let mut labels = "system,case_id,rater,value\n".to_owned();
    for at in 0..50 {
        let words = [
            "mechanism source explains",
            "the mechanism",
            "100% of it names",
            "名詞の長い説明",
        ];
        let answers: Vec<(String, String)> = (0..6)
            .map(|case| {
                let words = words[(at + case) % 4];
                (format!("c{case}"), format!("{words} {}", "x ".repeat(at)))
            })
            .collect();
        let name = long_name(at);
        let answers = answers.iter().map(|(id, text)| (id.as_str(), text.clone()));
        work.answers(&name, answers);
        for (case, rater) in [(0, "ann"), (0, "ben"), (1, "ann"), (1, "ben")] {
            labels += &format!("\"{name}\",c{case},{rater},{}\n", (at + case) % 5 + 1);
        }
    }
    work.write("labels.csv", &labels);
    work.run(&[
        "score",
        "answers",
        "--tests",
        "criteria.jsonl",
        "--out",
        "out",
    ])
    .exits_with(0);
    work
}

#[test]
fn texts_of_extreme_figures_overlap_nowhere_in_a_browser_and_they_compile() {
    let work = extremes();
    let title = "A title that a column does not hold: 100% of & <everything>, 名前";
    let baseline = long_name(7);
    let plots: &[(&str, &[&str])] = &[
        ("power", &["--what", "power", "--title", title]),
        ("means", &["--what", "means", "--title", title]),
        ("pairs", &["--what", "pairs", "--baseline", &baseline]),
        ("criteria", &["--what", "criteria", "--title", title]),
        (
            "wide",
            &["--what", "criteria", "--width", "7in", "--font-size", "6"],
        ),
        (
            "gray",
            &["--what", "criteria", "--width", "19in", "--colors", "gray"],
        ),
        ("labels", &["--what", "labels", "--labels", "labels.csv"]),
        (
            "narrow",
            &[
                "--what",
                "labels",
                "--labels",
                "labels.csv",
                "--width",
                "2in",
            ],
        ),
    ];
    for figure in FIGURES {
        // Those of several judges and prompts need several runs; they have the shape of the means.
        let is_drawn = plots.iter().any(|(_, options)| options[1] == figure.name);
        let needs_runs = matches!(figure.name, "judges" | "prompts");
        assert!(is_drawn || needs_runs, "{}", figure.name);
    }
    let mut drawn = [Vec::new(), Vec::new()];
    for (name, options) in plots {
        for (form, extension) in ["svg", "tex"].iter().enumerate() {
            let file = format!("{name}.{extension}");
            let plot = ["plot", "out", "--out", &file];
            work.run(&[&plot[..], options].concat()).exits_with(0);
            drawn[form].push(file);
        }
    }
    let [svg, tex] = drawn;
    measure_in_browser(&work, &svg);
    let (column, across): (Vec<String>, Vec<String>) = tex
        .into_iter()
        .partition(|name| !["wide.tex", "gray.tex"].contains(&name.as_str()));
    compile(&work, &column, "3.3in");
    compile(&work, &across, "19in");
}

#[test]
fn a_heatmap_has_the_credit_of_criteria_and_how_often_faults_were_found() {
    let work = Workspace::with_cases(&[]);
    let criteria = json!([
        {"text": "Names the mechanism", "weight": 2},
        {"text": "Blames the sea", "weight": -1},
    ]);
    work.write(
        "criteria.json",
        &json!([{"case_id": "c1", "question": "Why?", "criteria": criteria}]).to_string(),
    );
    for (system, text) in [("good", "names the mechanism"), ("bad", "blames the sea")] {
        work.answers(system, [("c1", text.to_owned())]);
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
    work.run(&["plot", "out", "--what", "criteria", "--out", "x.svg"])
        .exits_with(0);
    let svg = work.read("x.svg");
    let texts: Vec<&str> = svg
        .split("</text>")
        .filter_map(|part| part.rsplit_once('>').map(|own| own.1))
        .collect();
    assert_eq!(texts[..2], ["good", "bad"], "the best system is first");
    assert_eq!(
        texts[2..6],
        ["Criteria", "100", texts[4], "Names the mechanism"]
    );
    assert!(
        texts[6].starts_with("Faults") && texts[8] == "100",
        "{texts:?}"
    );
    work.run(&[
        "plot",
        "out",
        "--what",
        "criteria",
        "--no-notes",
        "--out",
        "bare.svg",
    ])
    .exits_with(0);
    assert!(
        svg.contains("full marks; of faults") && !work.read("bare.svg").contains(">Mean credit")
    );
    // A fault has an edge in its color, which credit has not.
    assert_eq!(svg.matches("stroke=\"#D55E00\"").count(), 2);
}

#[test]
fn an_option_of_another_figure_is_refused() {
    let work = scored();
    let refused: [(&[&str], &str); 7] = [
        (&["--what", "labels"], "--labels FILE"),
        (&["--what", "means", "--labels", "l.csv"], "--what labels"),
        (&["--what", "criteria", "--metric", "score"], "--metric"),
        (&["--what", "labels", "--anyway"], "--what means, pairs"),
        (&["--what", "means", "--colors", "red"], "okabe-ito"),
        (&["--what", "means", "--colors", "1,2,3,4"], "three colors"),
        (&["--what", "means", "--font-size", "80"], "4 to 20"),
    ];
    for (options, message) in refused {
        work.run(&[&["plot", "out", "--out", "x.svg"], options].concat())
            .exits_with(2)
            .says(&[message]);
    }
    assert!(!work.path("x.svg").exists());
}

/// The figures of the guide: the commands before its images, with the names of the images.
fn figures_of_the_guide(guide: &str) -> Vec<(String, Vec<String>)> {
    let mut command = "";
    let mut figures = Vec::new();
    for line in guide.lines() {
        if let Some(arguments) = line.strip_prefix("    scholareval plot ") {
            command = arguments;
        } else if let Some((_, name)) = line.split_once("](figure-") {
            let name = name.trim_end_matches(".svg)").to_owned();
            let (options, _) = command.split_once(" --out ").unwrap();
            let arguments = options.split(' ').map(|argument| match argument {
                "runs/mine" => "demo/runs/demo".to_owned(),
                "data/labels.csv" => format!("demo/{argument}"),
                _ => argument.to_owned(),
            });
            figures.push((name, arguments.collect()));
        }
    }
    figures
}

/// The images in docs/ are drawn anew and compared. After a change that is wanted, `UPDATE_FIGURES=1` writes them; look at them.
#[test]
fn the_figures_of_the_guide_are_those_of_the_demo() {
    let work = Workspace::with_cases(&[]);
    work.run(&["demo", "demo"]).exits_with(0);
    let docs = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("docs");
    let figures = figures_of_the_guide(&std::fs::read_to_string(docs.join("guide.md")).unwrap());
    assert!(figures.len() > 4, "{figures:?}");
    let mut drawn = Vec::new();
    for (name, arguments) in figures {
        let file = format!("demo/figure-{name}.svg");
        let mut command = vec!["plot"];
        command.extend(arguments.iter().map(String::as_str));
        command.extend(["--out", &file]);
        work.run(&command).exits_with(0);
        let image = format!("figure-{name}.svg");
        if std::env::var_os("UPDATE_FIGURES").is_some() {
            std::fs::copy(work.path(&file), docs.join(&image)).unwrap();
        }
        let known = std::fs::read_to_string(docs.join(&image)).unwrap_or_default();
        assert!(
            known == work.read(&file),
            "docs/{image} is not what the demo draws; UPDATE_FIGURES=1 writes it"
        );
        drawn.push(file);
    }
    measure_in_browser(&work, &drawn);
}
