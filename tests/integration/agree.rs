//! `agree` from end to end: people, judges, runs.

use std::collections::BTreeMap;
use std::path::PathBuf;

use scholareval::analysis::rater_agreement::{AgreementOptions, Labeled, rater_agreement};
use scholareval::domain::{Rater, RaterKind, Rating};
use serde_json::{Value, json};

use crate::rubric_golden::shared;
use crate::support::workspace::{Workspace, test_case};

/// Three systems and six cases, scored by the lexical baseline into `r1`.
fn scored() -> Workspace {
    let words = ["rain", "wind", "dust", "snow", "hail", "fog"];
    let cases: Vec<Value> = words
        .iter()
        .map(|word| {
            test_case(
                &format!("c-{word}"),
                &[(&format!("The answer should name {word} and storms."), &[])],
            )
        })
        .collect();
    let work = Workspace::with_cases(&cases);
    for (system, style) in [("good", 0), ("fair", 1), ("poor", 2)] {
        let answer = |word: &&str| match style {
            0 => format!("It is {word} and storms that matter [1]. More storms bring more {word}."),
            1 if word.len() == 4 => format!("Perhaps {word}."),
            _ => "Nothing is known about that.".to_owned(),
        };
        let ids: Vec<String> = words.iter().map(|word| format!("c-{word}")).collect();
        work.answers(
            system,
            ids.iter().map(String::as_str).zip(words.iter().map(answer)),
        );
    }
    work.run(&[
        "score",
        "answers",
        "--tests",
        "tests.json",
        "--out",
        "r1",
        "--quiet",
    ])
    .exits_with(0);
    work
}

/// What a run says of each answer: `(system, case) -> score`.
fn scores(work: &Workspace, run: &str) -> BTreeMap<(String, String), f64> {
    let text = |line: &Value, field: &str| line[field].as_str().unwrap().to_owned();
    let rubric = |line: &Value| line["scorer"] == "lexical_rubric" || line["scorer"] == "rubric";
    work.lines(&format!("{run}/scores.jsonl"))
        .iter()
        .filter(|line| rubric(line))
        .map(|line| {
            let score = line
                .get("lexical_score")
                .or(line.get("score"))
                .and_then(Value::as_f64)
                .unwrap();
            ((text(line, "system"), text(line, "case_id")), score)
        })
        .collect()
}

fn grade(system: &str, case: &str) -> f64 {
    let best = match system {
        "good" => 5.0,
        "fair" => 3.0,
        _ => 1.0,
    };
    if case.ends_with('g') {
        best - 0.5
    } else {
        best
    }
}

#[test]
fn a_run_is_compared_with_what_people_said() {
    let work = scored();
    let said = scores(&work, "r1");
    assert_eq!(said.len(), 18);
    let mut labels = String::from("system,case_id,rater,value\n");
    for (system, case) in said.keys().filter(|(_, case)| case != "c-fog") {
        labels.push_str(&format!("{system},{case},ann,{}\n", grade(system, case)));
    }
    labels.push_str("stranger,c-rain,ann,3\ngood,no-such,ann,3\n");
    work.write("labels.csv", &labels);
    let arguments = [
        "agree",
        "r1",
        "--labels",
        "labels.csv",
        "--resamples",
        "200",
    ];
    let missing = "2 of 17 labels are of answers that are not in r1; no such system: stranger (the run has fair, good, \
                   poor); no such case: no-such (the run has c-dust, c-fog, c-hail, c-rain, c-snow and 1 more)";
    let done = work
        .run(&[&arguments[..], &["--format", "json"]].concat())
        .exits_with(0)
        .says(&[missing]);
    let found: Value = serde_json::from_str(&done.stdout).unwrap();
    assert!(
        found["notes"][0].as_str().unwrap().starts_with(missing),
        "{found}"
    );
    let pair = &found["pairs"][0];
    assert_eq!(
        (&pair["first"], &pair["second"]),
        (&"r1".into(), &"ann".into())
    );
    let (x, y): (Vec<f64>, Vec<f64>) = said
        .iter()
        .filter(|((_, case), _)| case != "c-fog")
        .map(|((system, case), score)| (*score, grade(system, case)))
        .unzip();
    assert_eq!(pair["overall"]["n"], 15);
    near(&pair["overall"]["pearson"]["estimate"], pearson(&x, &y));
    near(&pair["overall"]["kendall_tau_b"]["estimate"], tau_b(&x, &y));
    // five questions give the same three pairs of numbers each: without any one of them nothing changes
    assert!(pair["overall"]["pearson"]["low"].is_null(), "{pair}");
    // lexical shares and grades from 1 to 5 have no kappa
    assert!(
        pair["overall"]["kappa"]["undefined"]
            .as_str()
            .unwrap()
            .starts_with("not on one scale"),
        "{pair}"
    );
    // five labels and one verdict without one: too few verdicts
    let powered = &found["powered"][0];
    assert_eq!(
        (&powered["labeled"], &powered["unlabeled"]),
        (&5.into(), &1.into())
    );
    assert_eq!(
        powered["powered"]["undefined"],
        "one answer without a label is too few"
    );
    let table = work.run(&arguments).exits_with(0).stdout;
    assert!(
        table.starts_with(
            "Does r1 agree with people? Agreement on answers, 95% intervals, n in parentheses\n"
        ) && table.contains("\nr1 with people  100.0 (15) ["),
        "{table}"
    );
    let table_text = table.replace('\n', " ");
    assert!(
        table_text.contains(" r1 with people prefer the same one of two answers in 100.0%"),
        "{table}"
    );
    assert!(
        table_text
            .contains(" Order of systems: tau-b not defined (an order needs at least 4 systems)."),
        "{table}"
    );
    assert!(
        table.contains("lexical baseline, not by an LLM") && table.lines().count() < 20,
        "{table}"
    );
    // Other tables on request.
    assert_eq!(
        table.matches('─').count(),
        table.lines().nth(3).map_or(0, |rule| rule.chars().count()),
        "{table}"
    );
    let by_system = work
        .run(&[&arguments[..], &["--by", "system"]].concat())
        .exits_with(0)
        .stdout;
    assert!(
        by_system.contains("\nDo r1 and ann agree on every system? By system\n")
            && !by_system.contains("Krippendorff"),
        "{by_system}"
    );
    assert!(!table.contains("NaN") && !table.contains("BCa"), "{table}");
    let with_notes = work
        .run(&[&arguments[..], &["--notes"]].concat())
        .exits_with(0)
        .stdout;
    // Where lines break depends on the words before.
    let with_notes = with_notes.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        with_notes.contains("BCa bootstrap over questions, 200 resamples, seed 42"),
        "{with_notes}"
    );
    let csv = work
        .run(&[&arguments[..], &["--format", "csv", "--quiet"]].concat())
        .exits_with(0);
    assert!(
        csv.stdout.starts_with(
            "first,second,part,name,measure,n,questions,estimate,low,high,undefined\n"
        )
    );
    assert!(
        csv.stdout.contains("\nr1,ann,overall,,pearson,15,5,"),
        "{}",
        csv.stdout
    );
    assert_eq!(csv.stderr, "");
}

#[test]
fn levels_and_metrics_choose_what_is_compared() {
    let work = scored();
    let lines = work.lines("r1/scores.jsonl");
    let mut labels = String::new();
    let mut expected = 0;
    for line in &lines {
        let Some(value) = line["components"]["p0"].as_f64() else {
            continue;
        };
        expected += 1;
        let label = json!({"system": line["system"], "case_id": line["case_id"], "item": "p0", "rater": "ann", "value": value});
        labels.push_str(&format!("{label}\n"));
    }
    assert_eq!(expected, 18);
    work.write("items.jsonl", &labels);
    let run = |more: &[&str]| {
        let base = [
            "agree",
            "r1",
            "--labels",
            "items.jsonl",
            "--resamples",
            "100",
            "--format",
            "json",
        ];
        work.run(&[&base[..], more].concat())
    };
    let items: Value =
        serde_json::from_str(&run(&["--level", "item"]).exits_with(0).stdout).unwrap();
    assert_eq!(items["pairs"][0]["items"][0]["name"], "p0");
    near(
        &items["pairs"][0]["items"][0]["measures"]["pearson"]["estimate"],
        1.0,
    );
    let whole: Value =
        serde_json::from_str(&run(&["--metric", "p0"]).exits_with(0).stdout).unwrap();
    near(&whole["groups"][0]["icc_2_1"]["estimate"], 1.0);
    let order = &whole["pairs"][0]["ranking"]["kendall_tau_b"];
    assert_eq!(
        (&order["estimate"], &order["undefined"]),
        (&Value::Null, &"an order needs at least 4 systems".into())
    );
    // the labels are of an item: there is nothing to compare whole answers with
    run(&[]).exits_with(3).says(&[
        "no two raters rated the same answer",
        "all labels are of items (p0); add --metric \"p0\" for one of them, or --level item for all",
    ]);
    run(&["--metric", "lenght"]).exits_with(3).says(&[
        "the run has no number called \"lenght\"",
        "did you mean length?",
    ]);
    // a score is the rubric's; what the baseline gives has its own name
    run(&["--metric", "score"])
        .exits_with(3)
        .says(&["did you mean lexical_score?"]);
    run(&["--metric", "lexical_score"])
        .exits_with(3)
        .says(&["no two raters rated the same answer"]);
}

#[test]
fn tables_fit_100_columns_whatever_raters_and_systems_are_called() {
    let work = Workspace::with_cases(&[]);
    let long = |who: usize| format!("{:_<38}{who:02}", "annotators_of_the_second_round");
    let row = |who: usize, case: usize, system: &str, value: usize| {
        let value = value % 5 + 1;
        format!(
            "{}\n",
            json!({"system": system, "case_id": format!("c{case}"), "rater": long(who), "value": value})
        )
    };
    let systems = [
        "openscholar_8b_rerank_feedback_with_citations",
        "gpt-4o-2024-08-06",
    ];
    let mut labels = String::new();
    for (who, case) in (0..3).flat_map(|who| (0..12).map(move |case| (who, case))) {
        labels.push_str(&row(who, case, systems[0], case * case + who * case));
        labels.push_str(&row(who, case, systems[1], 3 * case + who));
    }
    work.write("l.jsonl", &labels);
    let text = work
        .run(&[
            "agree",
            "--labels",
            "l.jsonl",
            "--resamples",
            "50",
            "--notes",
        ])
        .exits_with(0)
        .stdout;
    assert!(
        text.lines().all(|line| line.chars().count() <= 100),
        "{text}"
    );
    // names lose their middle, never the end that makes the difference
    for who in 0..3 {
        assert!(text.contains(&format!("____{who:02} ")), "{text}");
    }
    assert!(
        text.contains("Not shown at this width")
            && text.contains("Intervals need at least 10 units"),
        "{text}"
    );
    // a number and its interval are never broken
    let intervals = text
        .lines()
        .filter(|line| line.contains(" [") && !line.starts_with('-'));
    assert!(
        intervals.clone().count() > 10 && intervals.clone().all(|line| line.contains(']')),
        "{text}"
    );
}

#[test]
fn two_runs_are_two_judges() {
    let work = scored();
    work.run(&[
        "score",
        "answers",
        "--tests",
        "tests.json",
        "--out",
        "r2",
        "--quiet",
    ])
    .exits_with(0);
    let done = work
        .run(&["agree", "r1", "r2", "--format", "json", "--resamples", "50"])
        .exits_with(0);
    let found: Value = serde_json::from_str(&done.stdout).unwrap();
    let overall = &found["pairs"][0]["overall"];
    assert_eq!(overall["n"], 18);
    near(&overall["spearman"]["estimate"], 1.0);
    near(&overall["comparisons"]["strict"]["estimate"], 1.0);
    work.run(&["agree", "r1", "r1"])
        .exits_with(3)
        .says(&["agreement needs two raters, found only r1"]);
}

#[test]
fn too_few_raters_and_broken_labels_say_what_to_do() {
    let work = scored();
    work.run(&["agree"])
        .exits_with(2)
        .says(&["RUN --labels FILE, two runs, or --labels A B"]);
    work.run(&["agree", "r1"])
        .exits_with(3)
        .says(&["agreement needs two raters, found only r1; add labels"]);
    work.write("one.csv", "system,case_id,rater,value\ngood,c-rain,ann,5\n");
    work.run(&["agree", "--labels", "one.csv"])
        .exits_with(3)
        .says(&["found only ann"]);
    let of_one = ["agree", "r1", "--labels", "one.csv"];
    work.run(&of_one).exits_with(3).says(&[
        "no two raters share more than one answer",
        "agreement needs two answers",
    ]);
    work.write(
        "equal.csv",
        "system,case_id,rater,value\ngood,c-rain,ann,3\nfair,c-rain,ann,3\npoor,c-wind,ann,3\n",
    );
    let equal = work
        .run(&["agree", "r1", "--labels", "equal.csv", "--by", "system"])
        .exits_with(0)
        .stdout;
    assert!(
        equal.contains("\nNo agreement can be measured: ann gave all the same value.\n"),
        "{equal}"
    );
    work.write(
        "strange.csv",
        "system,case_id,rater,value\nnobody,c-rain,ann,5\ngood,nowhere,ann,4\n",
    );
    work.run(&["agree", "r1", "--labels", "strange.csv", "--quiet"]).exits_with(3).says(&[
        "r1: no label is of an answer in this run; no such system: nobody (the run has fair, good, poor); no such case: \
         nowhere (the run has c-dust, ",
    ]);
    work.write(
        "headers.csv",
        "model,question_id,annotator,score\ngood,c-rain,ann,5\n",
    );
    work.run(&["agree", "r1", "--labels", "headers.csv"]).exits_with(3).says(&[
        "headers.csv:2: no case_id: the file has model, question_id, annotator, score; rename question_id to case_id, model \
         to system, annotator to rater, score to value",
    ]);
    work.write(
        "bad.csv",
        "system,case_id,rater,value\ngood,c-rain,ann,five\n",
    );
    work.run(&["agree", "r1", "--labels", "bad.csv"])
        .exits_with(3)
        .says(&["bad.csv:2 (case c-rain): value: expected a number, found \"five\""]);
    work.run(&["agree", "nowhere", "--labels", "one.csv"])
        .exits_with(3)
        .says(&["nowhere: no such directory; name the directory of a run"]);
    work.run(&["agree", "--labels", "one.csv", "--tie-threshold", "-1"])
        .exits_with(2)
        .says(&["not a finite number of 0 or more"]);
}

#[test]
fn names_from_files_cannot_command_a_terminal() {
    let work = Workspace::with_cases(&[]);
    let row = |rater: &str, case: u32, value: f64| {
        format!(
            "{}\n",
            json!({"system": "s\u{1b}[2J", "case_id": format!("c{case}"), "rater": rater, "value": value})
        )
    };
    let labels: String = (0..4)
        .flat_map(|case| {
            [
                row("a\u{1b}[31m", case, f64::from(case)),
                row("b", case, f64::from(case * case)),
            ]
        })
        .collect();
    work.write("l.jsonl", &labels);
    for format in ["table", "json", "csv"] {
        let done = work
            .run(&[
                "agree",
                "--labels",
                "l.jsonl",
                "--resamples",
                "20",
                "--format",
                format,
            ])
            .exits_with(0);
        assert!(
            !done.all_text().contains('\u{1b}'),
            "{format}: {}",
            done.stdout
        );
    }
}

// The released preferences, with every number recomputed by the plainest loops.

type Pairs = Vec<(String, [String; 2], [f64; 2], [f64; 2])>;

/// `(question, systems, people's ranking, the model's overall)` of a file.
fn pairs_of(path: &PathBuf) -> Pairs {
    let items: Vec<Value> = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let two = |value: &Value| [value[0].as_f64().unwrap(), value[1].as_f64().unwrap()];
    let name = |value: &Value| value.as_str().unwrap().to_owned();
    items
        .iter()
        .map(|item| {
            let models = [name(&item["models"][0]), name(&item["models"][1])];
            (
                name(&item["question"]),
                models,
                two(&item["preference_ranking_norm"]),
                two(&item["model_overall"]),
            )
        })
        .collect()
}

fn sign(two: [f64; 2], threshold: f64) -> i32 {
    // 0.36 - 0.35 is 0.01
    let difference = ((two[0] - two[1]) * 1e12).round() / 1e12;
    if difference.abs() <= threshold {
        0
    } else if difference > 0.0 {
        1
    } else {
        -1
    }
}

fn strict_and_half(outcomes: &[(i32, i32)]) -> (f64, f64) {
    let n = outcomes.len() as f64;
    let same = outcomes.iter().filter(|(a, b)| a == b).count() as f64;
    let one_tie = outcomes
        .iter()
        .filter(|(a, b)| a != b && (*a == 0 || *b == 0))
        .count() as f64;
    (same / n, (same + 0.5 * one_tie) / n)
}

fn tau_b(x: &[f64], y: &[f64]) -> f64 {
    let (mut balance, mut untied_x, mut untied_y) = (0.0, 0.0, 0.0);
    for i in 0..x.len() {
        for j in 0..i {
            let (a, b) = (sign([x[i], x[j]], 0.0), sign([y[i], y[j]], 0.0));
            balance += f64::from(a * b);
            untied_x += f64::from(a.abs());
            untied_y += f64::from(b.abs());
        }
    }
    balance / (untied_x * untied_y).sqrt()
}

fn pearson(x: &[f64], y: &[f64]) -> f64 {
    let mean = |list: &[f64]| list.iter().sum::<f64>() / list.len() as f64;
    let (mx, my) = (mean(x), mean(y));
    let sum = |of: &dyn Fn(f64, f64) -> f64| {
        x.iter()
            .zip(y)
            .map(|(a, b)| of(a - mx, b - my))
            .sum::<f64>()
    };
    sum(&|a, b| a * b) / (sum(&|a, _| a * a) * sum(&|_, b| b * b)).sqrt()
}

#[track_caller]
fn near(value: &Value, expected: f64) {
    assert!(
        value
            .as_f64()
            .is_some_and(|value| (value - expected).abs() < 1e-9),
        "{value} is not {expected}"
    );
}

/// Mean over the answers of each system, systems by name.
fn means(values: &BTreeMap<(String, String), f64>) -> Vec<f64> {
    let mut by_system: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    values
        .iter()
        .for_each(|((system, _), value)| by_system.entry(system).or_default().push(*value));
    by_system
        .values()
        .map(|own| own.iter().sum::<f64>() / own.len() as f64)
        .collect()
}

fn win_rates(pairs: &Pairs) -> Vec<f64> {
    let mut games: BTreeMap<&str, (f64, f64)> = BTreeMap::new();
    for (_, models, ranking, _) in pairs {
        let sign = f64::from(sign(*ranking, 0.0));
        for (model, won) in models.iter().zip([(1.0 + sign) / 2.0, (1.0 - sign) / 2.0]) {
            let own = games.entry(model).or_default();
            *own = (own.0 + won, own.1 + 1.0);
        }
    }
    games.values().map(|(won, n)| won / n).collect()
}

#[test]
fn the_released_preferences_give_the_numbers_that_plain_loops_give() {
    let Some(shared) = shared() else { return };
    let folder = shared
        .canonicalize()
        .unwrap()
        .join("data/human_preferences");
    let files =
        ["ann1", "ann2"].map(|who| folder.join(format!("pairwise_dev_assigned_{who}.json")));
    let work = Workspace::with_cases(&[]);
    let paths = files.each_ref().map(|path| path.to_str().unwrap());
    let base = [
        "agree",
        "--labels",
        paths[0],
        paths[1],
        "--resamples",
        "200",
        "--format",
        "json",
    ];
    let found: Value = serde_json::from_str(&work.run(&base).exits_with(0).stdout).unwrap();
    let pair = |first: &str, second: &str| {
        let pairs = found["pairs"].as_array().unwrap().iter();
        pairs
            .clone()
            .find(|pair| pair["first"] == first && pair["second"] == second)
            .unwrap()
            .clone()
    };
    let (one, two) = (pairs_of(&files[0]), pairs_of(&files[1]));
    let people = pair("pairwise_dev_assigned_ann1", "pairwise_dev_assigned_ann2");
    let comparisons = &people["overall"]["comparisons"];
    assert_eq!(comparisons["n"], 300);
    let both: Vec<(i32, i32)> = one
        .iter()
        .zip(&two)
        .map(|(a, b)| (sign(a.2, 0.0), sign(b.2, 0.0)))
        .collect();
    let (strict, half) = strict_and_half(&both);
    near(&comparisons["strict"]["estimate"], strict);
    near(&comparisons["half_credit"]["estimate"], half);

    // The person's rating of each answer, which every pair it is in repeats; the model's likewise.
    let ratings = |pairs: &Pairs, model: bool| -> BTreeMap<(String, String), f64> {
        let side = |at: usize| {
            pairs.iter().map(move |(question, models, human, judge)| {
                (
                    (models[at].clone(), question.clone()),
                    if model { judge[at] } else { human[at] },
                )
            })
        };
        side(0).chain(side(1)).collect()
    };
    let (first, second, model) = (
        ratings(&one, false),
        ratings(&two, false),
        ratings(&one, true),
    );
    let list = |of: &BTreeMap<(String, String), f64>| of.values().copied().collect::<Vec<f64>>();
    near(
        &people["overall"]["kendall_tau_b"]["estimate"],
        tau_b(&list(&first), &list(&second)),
    );
    near(
        &people["overall"]["pearson"]["estimate"],
        pearson(&list(&first), &list(&second)),
    );
    near(
        &people["ranking"]["kendall_tau_b"]["estimate"],
        tau_b(&means(&first), &means(&second)),
    );
    near(
        &people["wins"]["kendall_tau_b"]["estimate"],
        tau_b(&win_rates(&one), &win_rates(&two)),
    );

    // Within questions, as the meta-evaluation counts: pairs of the file, the mean over both people.
    let within = |pairs: &Pairs| {
        let signs: Vec<(i32, i32)> = pairs
            .iter()
            .map(|pair| (sign(pair.2, 0.0), sign(pair.3, 0.0)))
            .collect();
        let untied = |of: &dyn Fn(&(i32, i32)) -> i32| {
            f64::from(signs.iter().map(|pair| of(pair).abs()).sum::<i32>())
        };
        let balance: i32 = signs.iter().map(|(human, model)| human * model).sum();
        f64::from(balance) / (untied(&|pair| pair.0) * untied(&|pair| pair.1)).sqrt()
    };
    let (by_one, by_two) = (within(&one), within(&two));
    assert!(
        (by_one - 0.2350).abs() < 5e-5 && (by_two - 0.2324).abs() < 5e-5,
        "{by_one} {by_two}"
    );
    let summary = &found["summary"][1];
    assert_eq!(summary["who"], "model with people");
    near(
        &summary["within_question_tau_b"]["estimate"],
        f64::midpoint(by_one, by_two),
    );
    assert_eq!(summary["ceiling"], found["summary"][0]);

    let judged = pair("model", "pairwise_dev_assigned_ann1");
    near(
        &judged["overall"]["within_question_tau_b"]["estimate"],
        by_one,
    );
    near(
        &judged["overall"]["kendall_tau_b"]["estimate"],
        tau_b(&list(&model), &list(&first)),
    );
    near(
        &judged["ranking"]["kendall_tau_b"]["estimate"],
        tau_b(&means(&model), &means(&first)),
    );
    // The threshold: as many ties of the model as of the person.
    let threshold = judged["tie_threshold"]["value"].as_f64().unwrap();
    let ties = |of: &dyn Fn(&Pairs) -> usize| of(&one);
    let of_person = ties(&|pairs| pairs.iter().filter(|pair| sign(pair.2, 0.0) == 0).count());
    let of_model = ties(&|pairs| {
        pairs
            .iter()
            .filter(|pair| sign(pair.3, threshold) == 0)
            .count()
    });
    assert_eq!(of_person, of_model);
    let both: Vec<(i32, i32)> = one
        .iter()
        .map(|pair| (sign(pair.3, threshold), sign(pair.2, 0.0)))
        .collect();
    let (strict, half) = strict_and_half(&both);
    near(
        &judged["overall"]["comparisons"]["strict"]["estimate"],
        strict,
    );
    near(
        &judged["overall"]["comparisons"]["half_credit"]["estimate"],
        half,
    );
    near(
        &judged["overall"]["comparisons"]["kappa"]["estimate"],
        kappa_and_alpha(&both).0,
    );
    assert_eq!(judged["ranking"]["systems"].as_array().unwrap().len(), 6);
}

/// Kappa and nominal alpha of outcomes, each pair counted in both orders.
fn kappa_and_alpha(outcomes: &[(i32, i32)]) -> (f64, f64) {
    let both: Vec<(i32, i32)> = outcomes
        .iter()
        .flat_map(|(a, b)| [(*a, *b), (-a, -b)])
        .collect();
    let n = both.len() as f64;
    let share =
        |of: &dyn Fn(&(i32, i32)) -> bool| both.iter().filter(|pair| of(pair)).count() as f64 / n;
    let differ = share(&|(a, b)| a != b);
    let by_chance: f64 = [-1, 0, 1]
        .map(|c| share(&|(a, _)| *a == c) * share(&|(_, b)| *b == c))
        .iter()
        .sum();
    let counts = [-1, 0, 1].map(|c| n * (share(&|(a, _)| *a == c) + share(&|(_, b)| *b == c)));
    let unequal = 4.0 * n * n - counts.iter().map(|count| count * count).sum::<f64>();
    (
        1.0 - differ / (1.0 - by_chance),
        1.0 - differ / (unequal / (2.0 * n * (2.0 * n - 1.0))),
    )
}

#[test]
fn kappa_and_alpha_of_the_released_preferences_are_those_of_both_orders() {
    let Some(shared) = shared() else { return };
    let folder = shared
        .canonicalize()
        .unwrap()
        .join("data/human_preferences");
    let files =
        ["ann1", "ann2"].map(|who| folder.join(format!("pairwise_dev_assigned_{who}.json")));
    let (one, two) = (pairs_of(&files[0]), pairs_of(&files[1]));
    let both: Vec<(i32, i32)> = one
        .iter()
        .zip(&two)
        .map(|(a, b)| (sign(a.2, 0.0), sign(b.2, 0.0)))
        .collect();
    let (kappa, alpha) = kappa_and_alpha(&both);
    // scikit-learn 1.9.1 (cohen_kappa_score) and krippendorff 0.9.0 over the 600 outcomes of both orders.
    assert!(
        (kappa - 0.23784143904064).abs() < 1e-12 && (alpha - 0.23796888888889).abs() < 1e-12,
        "{kappa} {alpha}"
    );
    let found = agreement_of(&files.map(|path| std::fs::read_to_string(path).unwrap()));
    let people = found["pairs"]
        .as_array()
        .unwrap()
        .iter()
        .find(|pair| pair["first"] != "model")
        .unwrap();
    near(
        &people["overall"]["comparisons"]["kappa"]["estimate"],
        kappa,
    );
    let groups = found["groups"].as_array().unwrap();
    let group = groups
        .iter()
        .find(|group| group["of"] == "preferences")
        .unwrap();
    assert_eq!(
        (&group["n"], &group["questions"]),
        (&300.into(), &100.into())
    );
    near(&group["alpha_nominal"]["estimate"], alpha);
}

/// `agree --format json` of these files of labels, each by its own person.
fn agreement_of(files: &[String]) -> Value {
    let work = Workspace::with_cases(&[]);
    let names: Vec<String> = (0..files.len())
        .map(|at| format!("person{at}.json"))
        .collect();
    names
        .iter()
        .zip(files)
        .for_each(|(name, text)| work.write(name, text));
    let arguments = [
        "agree",
        "--resamples",
        "200",
        "--format",
        "json",
        "--labels",
    ]
    .into_iter();
    let arguments: Vec<&str> = arguments.chain(names.iter().map(String::as_str)).collect();
    serde_json::from_str(&work.run(&arguments).exits_with(0).stdout).unwrap()
}

/// The same result with `x-` taken from the systems' names, lists of systems by name.
fn unnamed(value: &Value) -> Value {
    let name = |value: &Value| {
        ["system", "name"]
            .iter()
            .find_map(|key| value[key].as_str().map(str::to_owned))
    };
    match value {
        // These notes list systems in order.
        Value::Object(fields) => {
            let unordered = fields.iter().filter(|(key, _)| *key != "powered_notes");
            unordered
                .map(|(key, value)| (key.clone(), unnamed(value)))
                .collect()
        }
        Value::Array(list) => {
            // Differences of two systems have a sign: they say which is first.
            let unsigned = list.iter().filter(|value| value["minus"].is_null());
            let mut list: Vec<Value> = unsigned.map(unnamed).collect();
            list.sort_by_key(name);
            Value::Array(list)
        }
        Value::String(text) if text.chars().nth(1) == Some('-') => text[2..].into(),
        _ => value.clone(),
    }
}

#[track_caller]
fn assert_equal_numbers(one: &Value, other: &Value, place: &str) {
    match (one, other) {
        (Value::Object(a), Value::Object(b)) => {
            assert!(a.keys().eq(b.keys()), "{place}");
            a.iter().for_each(|(key, value)| {
                assert_equal_numbers(value, &b[key], &format!("{place}.{key}"))
            });
        }
        (Value::Array(a), Value::Array(b)) => {
            assert_eq!(a.len(), b.len(), "{place}");
            a.iter()
                .zip(b)
                .for_each(|(a, b)| assert_equal_numbers(a, b, place));
        }
        (Value::Number(_), Value::Number(b)) => near(one, b.as_f64().unwrap()),
        _ => assert_eq!(one, other, "{place}"),
    }
}

/// Prefixes that order six systems as by name, in reverse, and mixed.
const NAMINGS: [[char; 6]; 3] = [
    ['a', 'b', 'c', 'd', 'e', 'f'],
    ['f', 'e', 'd', 'c', 'b', 'a'],
    ['c', 'f', 'a', 'e', 'b', 'd'],
];

#[test]
fn no_number_depends_on_the_names_of_systems() {
    let systems = [
        "elicit",
        "openai-dr",
        "perplexity",
        "qwen-sqa",
        "sqa",
        "storm",
    ];
    // Two people and the model rate and compare answers; the first named of two wins more often than not.
    let made = |person: usize| {
        let pair = |at: usize| {
            let (a, b) = (at % 6, (at + 1 + at / 6 % 5) % 6);
            let preference =
                [[1.0, 0.0], [0.5, 0.5], [1.0, 0.5], [0.0, 1.0]][(at * 7 + at / 3 * person) % 4];
            let model = [(at * 37 % 101) as f64 / 101.0, (at * 53 % 89) as f64 / 89.0];
            json!({"question": format!("q{at}"), "models": [systems[a], systems[b]], "model_overall": model,
                   "preference_ranking_norm": preference})
        };
        serde_json::to_string(&(0..60).map(pair).collect::<Vec<_>>()).unwrap()
    };
    let mut inputs = vec![[made(0), made(1)]];
    inputs.extend(shared().map(|shared| {
        let folder = shared
            .canonicalize()
            .unwrap()
            .join("data/human_preferences");
        ["ann1", "ann2"].map(|who| {
            std::fs::read_to_string(folder.join(format!("pairwise_dev_assigned_{who}.json")))
                .unwrap()
        })
    }));
    for files in inputs {
        let [first, second, third] = NAMINGS.map(|prefixes| {
            let renamed = files.each_ref().map(|text| {
                systems
                    .iter()
                    .zip(prefixes)
                    .fold(text.clone(), |text, (system, prefix)| {
                        text.replace(&format!("\"{system}\""), &format!("\"{prefix}-{system}\""))
                    })
            });
            unnamed(&agreement_of(&renamed))
        });
        assert!(first["pairs"].as_array().unwrap().len() > 2, "{first}");
        assert_equal_numbers(&first, &second, "");
        assert_equal_numbers(&first, &third, "");
    }
}

#[test]
fn the_near_experts_rating_of_the_whole_answer_is_not_their_ranking() {
    let Some(shared) = shared() else { return };
    let chosen = shared
        .canonicalize()
        .unwrap()
        .join("data/human_preferences/pairwise_chosen.json");
    let work = Workspace::with_cases(&[]);
    let base = [
        "agree",
        "--labels",
        chosen.to_str().unwrap(),
        "--resamples",
        "200",
        "--format",
        "json",
    ];
    let found: Value = serde_json::from_str(&work.run(&base).exits_with(0).stdout).unwrap();
    let expert = &found["pairs"][0];
    assert_eq!(
        (&expert["first"], &expert["overall"]["n"]),
        (&"model".into(), &60.into())
    );
    let experts = pairs_of(&chosen);
    let threshold = expert["tie_threshold"]["value"].as_f64().unwrap();
    let both: Vec<(i32, i32)> = experts
        .iter()
        .map(|pair| (sign(pair.3, threshold), sign(pair.2, 0.0)))
        .collect();
    near(
        &expert["overall"]["comparisons"]["strict"]["estimate"],
        strict_and_half(&both).0,
    );
    near(
        &expert["overall"]["comparisons"]["half_credit"]["estimate"],
        strict_and_half(&both).1,
    );
    assert_eq!(expert["overall"]["kappa"]["estimate"], Value::Null);
}

/// The two annotators of each question annotated twice, as raters of systems, in order of the questions.
fn annotators(results: &Value) -> Vec<[Rater; 2]> {
    let mut questions: Vec<(String, Vec<String>, [Rater; 2])> = Vec::new();
    for (system, rows) in results.as_object().unwrap() {
        for row in rows.as_array().unwrap().iter().filter(|row| row[2] == true) {
            let (id, question) = (row[0].as_str().unwrap(), row[3].as_str().unwrap());
            let at = questions
                .iter()
                .position(|known| known.0 == question)
                .unwrap_or_else(|| {
                    let nobody = ["one", "two"].map(|name| Rater::new(name, RaterKind::Human));
                    questions.push((question.to_owned(), Vec::new(), nobody));
                    questions.len() - 1
                });
            let (_, ids, raters) = &mut questions[at];
            let place = ids.iter().position(|known| known == id).unwrap_or_else(|| {
                ids.push(id.to_owned());
                ids.len() - 1
            });
            let value = row[5].as_f64().filter(|_| place < 2);
            let rating = value.map(|value| Rating {
                system: system.as_str().into(),
                case_id: question.into(),
                item: None,
                value,
            });
            raters[place.min(1)].ratings.extend(rating);
        }
    }
    questions.into_iter().map(|(_, _, raters)| raters).collect()
}

#[test]
fn two_annotators_of_a_question_agree_as_scipy_says() {
    let Some(shared) = shared() else { return };
    let text = std::fs::read_to_string(shared.join("golden/agreement.json")).unwrap();
    let golden: Value = serde_json::from_str(&text).unwrap();
    let mut options = AgreementOptions::seeded(1);
    options.resamples = 1;
    let mut compared = 0;
    for case in golden["cases"].as_array().unwrap() {
        let proper = &case["proper"];
        let questions = annotators(&case["results_by_src"]);
        for (at, raters) in questions.into_iter().enumerate() {
            let labeled = Labeled {
                raters: raters.into(),
                ..Labeled::default()
            };
            let found = rater_agreement(&labeled, &options).pairs.remove(0).overall;
            for (name, ours) in [
                ("kendall_tau_b", found.kendall_tau_b),
                ("pearson", found.pearson),
                ("spearman", found.spearman),
            ] {
                // "NaN" where SciPy has no number: there is none here, and a reason
                match (proper[name][at].as_f64(), ours.estimate) {
                    (Some(expected), Some(ours)) => {
                        assert!((expected - ours).abs() < 1e-12, "{name}: {expected} {ours}")
                    }
                    (expected, estimate) => {
                        assert_eq!(
                            (expected, ours.undefined.is_some()),
                            (estimate, true),
                            "{name}"
                        )
                    }
                }
                compared += 1;
            }
        }
    }
    assert!(compared > 100, "{compared}");
}

#[test]
fn selected_answers_come_back_as_labels_and_plan_further_ones() {
    let work = scored();
    let select = |n: &str| {
        work.run(&[
            "label",
            "r1",
            "--answers",
            n,
            "--seed",
            "1",
            "--format",
            "csv",
        ])
    };
    let template = select("9")
        .exits_with(0)
        .says(&["9 of 18 answers drawn, all with the same probability"])
        .stdout;
    assert_eq!(template, select("9").stdout);
    let mut rows = template.lines();
    assert_eq!(rows.next(), Some("system,case_id,rater,value,probability"));
    assert!(
        rows.clone().count() == 9 && rows.all(|row| row.ends_with(",person,,0.5")),
        "{template}"
    );
    for n in ["0", "19"] {
        select(n)
            .exits_with(3)
            .says(&["there are 18 answers with a value; draw 1 or more of them"]);
    }
    work.run(&[
        "score",
        "answers",
        "--tests",
        "tests.json",
        "--out",
        "r2",
        "--quiet",
    ])
    .exits_with(0);
    work.run(&["label", "r1", "r2", "--answers", "3", "--format", "csv"])
        .exits_with(2);

    let filled: Vec<String> = template
        .lines()
        .map(|row| {
            let cells: Vec<&str> = row.split(',').collect();
            if cells[0] == "system" {
                row.to_owned()
            } else {
                row.replace(",,", &format!(",{},", grade(cells[0], cells[1])))
            }
        })
        .collect();
    work.write("filled.csv", &filled.join("\n"));
    work.run(&["agree", "r1", "--labels", "filled.csv"])
        .exits_with(0);
    let plan = work.run(&["agree", "r1", "--labels", "filled.csv", "--plan"]);
    plan.exits_with(3)
        .says(&["--plan needs a run and at least 20 ratings"]);
}
