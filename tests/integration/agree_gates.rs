//! `agree` as a gate on a judge, with words as labels, groups of cases, and systems without labels.

use serde_json::{Value, json};

use crate::support::fake_server::{Behaviour, FakeServer};
use crate::support::workspace::{Finished, Workspace};

const CASES: usize = 40;

/// What people say of alpha's answer to this case.
fn is_met(case: usize) -> bool {
    case.is_multiple_of(2)
}

/// One criterion for each of 40 cases of two themes; the judge replies what an answer demands of it. In alpha's answers it errs in the
/// first four cases, which are of the theme heat; beta has no labels, and 25 of its answers are said to meet their criterion.
fn judged() -> Workspace {
    judged_with("beta")
}

/// As [`judged`], with another name for beta.
fn judged_with(beta: &str) -> Workspace {
    let case = |at: usize| {
        let theme = if at < CASES / 2 { "heat" } else { "cold" };
        json!({"case_id": format!("c{at:02}"), "question": format!("Why {at}?"), "criteria": ["Names it."], "theme": theme})
    };
    let cases: Vec<Value> = (0..CASES).map(case).collect();
    let work = Workspace::with_cases(&cases);
    let profile = work.run(&["rubrics", "show", "criteria"]).exits_with(0);
    std::fs::create_dir(work.path("mine")).unwrap();
    let profile = profile.stdout + "\n[case]\ngroup = \"theme\"\n";
    work.write("mine/profile.toml", &profile);
    let answers = |system: &str, met: &dyn Fn(usize) -> bool| {
        let mut texts = Vec::new();
        for at in 0..CASES {
            let verdict = if met(at) { "good" } else { "poor" };
            texts.push((format!("c{at:02}"), format!("A {verdict} answer.")));
        }
        let texts = texts.iter().map(|(id, text)| (id.as_str(), text.clone()));
        work.answers(system, texts);
    };
    answers("alpha", &|at| is_met(at) != (at < 4));
    answers(beta, &|at| at < 25);
    let server = FakeServer::start(Behaviour::good().saying(|request| {
        let is_good = request.user_message().contains("A good answer.");
        let level = if is_good { "met" } else { "not met" };
        json!({"explanation": "read", "level": level, "verdict": level}).to_string()
    }));
    work.score(&server, &["--rubric", "mine"]).exits_with(0);
    // The same judge on beta's answers alone, to be held against labels of another run.
    let later = ["--rubric", "mine", "--out", "later", "--systems", beta];
    work.score(&server, &later).exits_with(0);
    let scores = work.lines("out/scores.jsonl");
    let details = scores[0]["details"].as_object().unwrap();
    let item = details.keys().next().unwrap();
    let mut labels = "system,case_id,item,rater,value\n".to_owned();
    for at in 0..CASES {
        let word = match (is_met(at), at % 3) {
            (true, 0) => "Yes",
            (true, _) => "met",
            (false, 0) => "NOT MET",
            (false, _) => "0",
        };
        labels += &format!("alpha,c{at:02},{item},ann,{word}\n");
    }
    work.write("labels.csv", &labels);
    work
}

fn agree(work: &Workspace, more: &[&str]) -> Finished {
    let common = ["agree", "out", "--labels", "labels.csv", "--level", "item"];
    work.run(&[&common[..], more].concat())
}

fn as_json(work: &Workspace, more: &[&str]) -> Value {
    let done = agree(work, &[&["--format", "json"], more].concat());
    serde_json::from_str(&done.stdout).unwrap()
}

#[track_caller]
fn near(value: &Value, expected: f64) {
    let is_near = |value: f64| (value - expected).abs() < 1e-9;
    assert!(
        value.as_f64().is_some_and(is_near),
        "{value} is not {expected}"
    );
}

#[test]
fn the_interval_of_the_judge_with_people_decides() {
    let work = judged();
    // 36 of 40 are equal, half of the labels are met: kappa (0.9 - 0.5) / 0.5.
    let met = [
        "kappa>=0.4",
        "sensitivity>=0.5",
        "abs(shift)<=0.3",
        "out:ac1>=0.4",
    ];
    let met: Vec<&str> = met.iter().flat_map(|gate| ["--require", gate]).collect();
    let done = agree(&work, &met).exits_with(0);
    for gate in [
        "kappa>=0.4",
        "sensitivity>=0.5",
        "abs(shift)<=0.3",
        "out:ac1>=0.4",
    ] {
        let line = format!("\nmet        {gate}: ");
        assert!(done.stdout.contains(&line), "{}", done.stdout);
    }
    let undecided = ["--require", "kappa>=0.7"];
    agree(&work, &undecided).exits_with(8).says(&[
        "undecided: kappa>=0.7: kappa of out with ann is 0.800 [",
        "by 40 labels; about ",
        " labels would decide",
    ]);
    agree(
        &work,
        &[&undecided[..], &["--on-undecided", "pass"]].concat(),
    )
    .exits_with(0);
    let missed = [&undecided[..], &["--require", "specificity>=0.999"]].concat();
    agree(&work, &missed)
        .exits_with(6)
        .says(&["error: not met: specificity>=0.999: specificity of out with ann is 0.900 ["]);
    let printed = as_json(&work, &missed);
    assert_eq!(printed["gates"][0]["outcome"], "undecided");
    near(&printed["gates"][0]["threshold"], 0.7);
    assert!(printed["gates"][0]["labels_needed"].as_u64().unwrap() > 40);
    // Few labels have no interval.
    let labels = work.read("labels.csv");
    let few: Vec<&str> = labels.lines().take(9).collect();
    work.write("labels.csv", &few.join("\n"));
    agree(&work, &["--require", "raw_agreement>=0.1"])
        .exits_with(8)
        .says(&["is 0.500: 8 labels give no interval"]);
}

#[test]
fn conditions_are_test_cases_of_a_junit_file_and_unreadable_ones_say_why() {
    let work = judged();
    let gates = [
        "--junit",
        "gates.xml",
        "--require",
        "kappa>=0.4",
        "--require",
        "kappa>=0.7",
        "--require",
        "kappa>=0.999",
    ];
    agree(&work, &gates).exits_with(6);
    let file = work.read("gates.xml");
    assert!(
        file.contains("tests=\"3\" failures=\"1\" errors=\"0\" skipped=\"1\""),
        "{file}"
    );
    assert!(file.contains("<property name=\"labels_needed\""), "{file}");
    let unknown = [&gates[..], &["--require", "kapa>=0.6"]].concat();
    agree(&work, &unknown).exits_with(2).says(&[
        "--require kapa>=0.6: no number is called kapa; did you mean kappa?",
        "not met",
    ]);
    assert!(
        work.read("gates.xml")
            .contains("tests=\"4\" failures=\"1\" errors=\"1\"")
    );
    agree(&work, &["--require", "kappa>=1.5"])
        .exits_with(2)
        .says(&["kappa lies between -1 and 1"]);
    // Without a result, the file of an earlier run would be read.
    work.run(&[
        "agree",
        "out",
        "--junit",
        "gates.xml",
        "--require",
        "kappa>=0.6",
    ])
    .exits_with(3);
    assert!(
        work.read("gates.xml")
            .contains("tests=\"1\" failures=\"0\" errors=\"1\"")
    );
}

#[test]
fn groups_of_cases_and_words_as_labels_are_read() {
    let work = judged();
    let printed = as_json(&work, &[]);
    let pair = &printed["pairs"][0];
    near(&pair["overall"]["kappa"]["estimate"], 0.8);
    near(&pair["overall"]["shift"]["estimate"], 0.0);
    let groups = pair["groups"].as_array().unwrap();
    let names: Vec<&Value> = groups.iter().map(|group| &group["name"]).collect();
    assert_eq!(names, ["cold", "heat"]);
    // All four errors are in the 20 cases of heat.
    near(&groups[0]["measures"]["raw_agreement"]["estimate"], 1.0);
    near(&groups[1]["measures"]["raw_agreement"]["estimate"], 0.8);
    let table = agree(&work, &["--by", "group"]).exits_with(0).stdout;
    assert!(
        table.starts_with("Does out agree with people? Agreement on items")
            && table.contains("\nDo out and ann agree in every group of cases? By group\n")
            && !table.contains("AC1"),
        "{table}"
    );
    // The first half of the labels is of one group.
    let labels = work.read("labels.csv");
    let of_heat: Vec<&str> = labels.lines().take(1 + CASES / 2).collect();
    work.write("labels.csv", &of_heat.join("\n"));
    let table = agree(&work, &["--by", "group"]).exits_with(0).stdout;
    let note = "--by group: no table, since the cases are not of several groups";
    assert!(table.replace('\n', " ").contains(note), "{table}");
    work.write("labels.csv", &labels.replace("Yes", "surely"));
    agree(&work, &[]).exits_with(3).says(&[
        "labels.csv:2 (case c00): value: expected a number, found \"surely\"; faults in the file: 7; words that are read as \
         numbers: not met, met, yes, no, true, false, unmet\n",
    ]);
    work.write("labels.csv", &labels.replace(",0\n", ",5\n"));
    agree(&work, &[])
        .exits_with(3)
        .says(&["value: words are numbers from 0 to 1 here, and line "]);
}

#[test]
fn where_one_value_is_frequent_raw_agreement_and_ac1_stand_with_kappa() {
    let work = judged();
    let labels = work.read("labels.csv");
    let mut lines: Vec<String> = labels.lines().map(str::to_owned).collect();
    // People find all 40 met but one; the judge 20, half of its values.
    for (at, line) in lines.iter_mut().skip(1).enumerate() {
        let (start, _) = line.rsplit_once(',').unwrap();
        let word = if at == 7 { "no" } else { "yes" };
        *line = format!("{start},{word}");
    }
    work.write("labels.csv", &lines.join("\n"));
    let skewed = agree(&work, &[]).exits_with(0).stdout;
    // Equal: the judge calls 20 met, the one label of "no" not.
    let row = "out and ann  52.5 (40) [36.9, 67.6]  0.05 [";
    assert!(
        skewed.contains("Do they agree beyond the most frequent value?")
            && skewed.contains(row)
            && skewed.contains("kappa's paradox"),
        "{skewed}"
    );
    let twice: Vec<String> = lines
        .iter()
        .skip(1)
        .map(|line| line.replace(",ann,", ",ben,"))
        .collect();
    work.write("labels.csv", &[lines, twice].concat().join("\n"));
    let by_rater = agree(&work, &["--by", "rater"]).exits_with(0).stdout;
    let mut lines = by_rater.lines();
    let header = lines.find(|line| line.contains("Cohen's kappa"));
    assert!(
        header.is_some_and(|line| line.contains("equal (%)") && line.contains("AC1")),
        "{by_rater}"
    );
    assert!(by_rater.contains("kappa's paradox"), "{by_rater}");
}

#[test]
fn systems_without_labels_have_shares_by_sensitivity_and_specificity() {
    let work = judged();
    let printed = as_json(&work, &[]);
    let shares = printed["rogan_gladen"].as_array().unwrap();
    assert_eq!(shares.len(), 1, "{shares:?}");
    let share = &shares[0];
    assert_eq!(
        (&share["system"], &share["labels_of"]),
        (&"beta".into(), &"out".into())
    );
    assert_eq!(
        (&share["met_labels"], &share["unmet_labels"]),
        (&20.into(), &20.into())
    );
    // Sensitivity and specificity are 18 of 20: (25 / 40 + 0.9 - 1) / 0.8.
    near(&share["judged_met"], 0.625);
    near(&share["met"]["estimate"], 0.65625);
    assert!(share["met"]["low"].as_f64() < Some(0.6) && share["met"]["high"].as_f64() > Some(0.7));
    let table = agree(&work, &["--by", "system"]).exits_with(0).stdout;
    assert!(
        table.contains("(Rogan-Gladen)") && table.contains("65.6 ["),
        "{table}"
    );
    let csv = agree(&work, &["--format", "csv"]).exits_with(0).stdout;
    assert!(
        csv.contains("out,people,met,beta,rogan_gladen,40,40,0.656"),
        "{csv}"
    );
    // The same judge in another run.
    let later = [
        "agree",
        "out",
        "later",
        "--labels",
        "labels.csv",
        "--level",
        "item",
    ];
    let done = work
        .run(&[&later[..], &["--format", "json"]].concat())
        .exits_with(0);
    let printed: Value = serde_json::from_str(&done.stdout).unwrap();
    let later = &printed["rogan_gladen"][1];
    assert_eq!(
        (&later["judge"], &later["labels_of"]),
        (&"later".into(), &"out".into())
    );
    near(&later["met"]["estimate"], 0.65625);
}

#[test]
fn perturbed_copies_of_a_probe_have_no_share() {
    let work = judged_with("alpha + padded");
    let shares = as_json(&work, &[])["rogan_gladen"].clone();
    assert_eq!(shares[0]["system"], "alpha + padded");
    let mut manifest = work.json("out/manifest.json");
    manifest["settings"]["probe"] = json!(["padded"]);
    work.write("out/manifest.json", &manifest.to_string());
    agree(&work, &[]).exits_with(0);
    assert_eq!(as_json(&work, &[])["rogan_gladen"], Value::Null);
}

#[test]
fn the_first_sentence_answers_the_question_of_the_title() {
    let work = judged();
    let labels = work.read("labels.csv");
    let with_ben = |shift: usize| {
        let mut both = labels.clone();
        for (at, line) in labels.lines().skip(1).enumerate() {
            let (start, _) = line.rsplit_once(',').unwrap();
            // Every 20th label of ben differs from ann's, and so do those from `shift` on.
            let is_same = at % 20 != 0 && at < shift;
            let value = usize::from(is_met(at) == is_same);
            both += &format!("{},{value}\n", start.replace(",ann", ",ben"));
        }
        work.write("labels.csv", &both);
        agree(&work, &[]).exits_with(0).stdout.replace('\n', " ")
    };
    // People agree in 38 of 40 with tau-b 0.9, the judge with each of them in 36.
    let alike = with_ben(CASES);
    let title = "Does out agree with people as people do with each other? Agreement on items";
    assert!(
        alike.starts_with(title)
            && alike
                .contains("No significant difference from people with each other: out with people"),
        "{alike}"
    );
    // People agree in 9 of 40, the judge with ann in 36 and with ben in 7: the interval of people ends below the mean of the judge.
    let apart = with_ben(10);
    assert!(
        apart.contains("More than people agree with each other: out with people"),
        "{apart}"
    );
}

#[test]
fn criteria_with_a_grade_are_not_met_or_unmet() {
    let criteria = ["Names it.", "Explains it."];
    let cases: Vec<Value> = (0..6)
        .map(|at| json!({"case_id": format!("c{at}"), "question": format!("Why {at}?"), "criteria": criteria}))
        .collect();
    let work = Workspace::with_cases(&cases);
    work.answers(
        "alpha",
        ["c0", "c1", "c2", "c3", "c4", "c5"].map(|id| (id, id.to_owned())),
    );
    let server = FakeServer::start(Behaviour::good().saying(|request| {
        let is_met = request.user_message().contains("Names");
        let level = if is_met { "met" } else { "not met" };
        json!({"explanation": "read", "level": level, "verdict": level}).to_string()
    }));
    work.score(&server, &["--rubric", "criteria"]).exits_with(0);
    let scores = work.lines("out/scores.jsonl");
    let items: Vec<String> = scores[0]["details"]
        .as_object()
        .unwrap()
        .keys()
        .cloned()
        .collect();
    assert_eq!(items.len(), 2, "{items:?}");
    // Of five grades the second criterion has the lowest one only: a 1 is not met.
    let label = |grades: bool| {
        let mut labels = "system,case_id,item,rater,value\n".to_owned();
        for at in 0..6 {
            let first = if grades { 1 + at % 5 } else { at % 2 };
            labels += &format!("alpha,c{at},{},ann,{first}\n", items[0]);
            labels += &format!("alpha,c{at},{},ann,1\n", items[1]);
        }
        work.write("labels.csv", &labels);
        as_json(&work, &[])["confusions"].clone()
    };
    assert_eq!(label(true), Value::Null);
    assert_eq!(label(false)[0]["items"], 12);
}
