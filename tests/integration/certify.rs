//! `certify` from end to end: the certificate of a judge, and what later runs say of it.

use scholareval::stats::effective_judges;
use serde_json::{Map, Value, json};

use crate::support::fake_server::{Act, Behaviour, FakeServer, good_completion};
use crate::support::judging::{answer_of, constant_reply, kind_of, section};
use crate::support::workspace::{Finished, Workspace, test_case};

/// Questions.
const CASES: usize = 10;

/// Ten questions with one criterion; `good` answers them all, `poor` none.
fn workspace() -> Workspace {
    let mut cases = Vec::new();
    for case in 0..CASES {
        let criterion = format!("The answer should name cause-{case}.");
        cases.push(test_case(&format!("c{case}"), &[(&criterion, &[])]));
    }
    let work = Workspace::with_cases(&cases);
    let ids: Vec<String> = (0..CASES).map(|case| format!("c{case}")).collect();
    for (system, words) in [("good", "It is cause-"), ("poor", "It is not known: ")] {
        let answers = (0..CASES).map(|case| format!("{words}{case}."));
        work.answers(system, ids.iter().map(String::as_str).zip(answers));
    }
    work.write("labels.csv", &labels());
    work
}

/// What people say: the truth.
fn labels() -> String {
    let mut labels = String::from("system,case_id,item,rater,value\n");
    for case in 0..CASES {
        labels += &format!("good,c{case},p0,ann,1\npoor,c{case},p0,ann,0\n");
    }
    labels
}

/// A judge that sees whether the cause is named, except in these cases of `good` and of `poor`.
fn judge(errors: [&'static [usize]; 2]) -> Behaviour {
    Behaviour::good().saying(move |request| match kind_of(request) {
        "property" => {
            let criterion = section(request, "criterion");
            let is_named = answer_of(request).contains("cause-");
            let errors = errors[usize::from(!is_named)];
            let is_wrong = errors
                .iter()
                .any(|case| criterion.contains(&format!("cause-{case}.")));
            let points = if is_named == is_wrong { 0 } else { 10 };
            json!({"score": points, "reason": "so"}).to_string()
        }
        kind => constant_reply(kind),
    })
}

fn certify(work: &Workspace, more: &[&str]) -> Finished {
    work.run(&[&["certify", "out", "--labels", "labels.csv"], more].concat())
}

/// A certificate of a judge that errs once in each system: 18 of 20 labels are the same, half of which would be so by chance.
fn certified() -> (Workspace, FakeServer) {
    let work = workspace();
    let server = FakeServer::start(judge([&[0], &[1]]));
    work.score(&server, &[]).exits_with(0);
    certify(&work, &[]).exits_with(0);
    (work, server)
}

/// Changes fields of the certificate, and signs it again as `certify` would.
fn forge(work: &Workspace, fields: &[(&str, Value)], is_signed: bool) {
    let mut all: Map<String, Value> = serde_json::from_str(&work.read("certificate.json")).unwrap();
    let hash = all.remove("blake3").unwrap();
    for (name, value) in fields {
        all.insert((*name).to_owned(), value.clone());
    }
    let signed = blake3::hash(json!(all).to_string().as_bytes()).to_hex();
    all.insert(
        "blake3".to_owned(),
        if is_signed {
            json!(signed.as_str())
        } else {
            hash
        },
    );
    work.write("forged.json", &json!(all).to_string());
}

#[test]
fn a_certificate_has_agreement_by_system_and_the_judge_by_hashes_and_no_text() {
    let (work, _server) = certified();
    let certificate = work.json("certificate.json");
    // Agreement 18/20, by chance 1/2: (0.9 - 0.5) / 0.5.
    assert_eq!(
        (&certificate["measure"], &certificate["labels"]),
        (&"kappa".into(), &20.into())
    );
    assert!((certificate["estimate"].as_f64().unwrap() - 0.8).abs() < 1e-12);
    assert!(certificate["interval"][0].as_f64().unwrap() < 0.8);
    // The judge gives good 1 of 10 less, and poor 1 of 10 more.
    let shift =
        |system: usize| certificate["systems"][system]["measures"]["shift"]["estimate"].as_f64();
    assert!((shift(0).unwrap() + 0.1).abs() < 1e-12 && (shift(1).unwrap() - 0.1).abs() < 1e-12);
    let role = &certificate["roles"]["rubric"];
    assert_eq!(role["judges"][0]["model"], "fake-judge");
    assert_eq!(role["judges"][0]["protocol"], "chat");
    assert_eq!(role["prompts"].as_str().unwrap().len(), 64);
    assert_eq!(certificate["cost"]["calls"].as_u64().unwrap() % 20, 0);
    let files = [work.read("certificate.json"), work.read("certificate.html")];
    for text in ["cause-", "What is known", "ann\""] {
        assert!(files.iter().all(|file| !file.contains(text)), "{text}");
    }
    assert!(files[1].contains("kappa 0.80 ["), "{}", files[1]);
}

#[test]
fn every_report_shows_the_certificate_and_asks_nothing_again() {
    let (work, server) = certified();
    let unchecked = "Judge not checked against people.";
    let scored = work.score(&server, &[]).exits_with(0);
    assert!(scored.stdout.contains(unchecked), "{scored:?}");
    let calls = server.chat_count();
    let scored = work
        .score(&server, &["--certificate", "certificate.json"])
        .exits_with(0);
    assert_eq!(server.chat_count(), calls);
    let checked = "Judge checked on 20 labels, kappa 0.80 [";
    assert!(scored.stdout.contains(checked), "{scored:?}");
    let compared = work.run(&["compare", "out"]).exits_with(0);
    assert!(compared.stdout.contains(checked), "{compared:?}");
    let table = work
        .run(&["table", "out", "--format", "latex"])
        .exits_with(0);
    let caption = table
        .stdout
        .lines()
        .find(|line| line.starts_with("\\caption"))
        .unwrap();
    assert!(
        caption.contains("Judge checked on 20 labels, kappa 0.80 {[}"),
        "{caption}"
    );
    work.run(&["report", "out", "--out", "page.html"])
        .exits_with(0);
    assert!(work.read("page.html").contains(checked));
    // A config file has the same key.
    work.write("c.toml", "[score]\ncertificate = [\"certificate.json\"]\n");
    let by_config = work.score(&server, &["--config", "c.toml"]).exits_with(0);
    assert!(by_config.stdout.contains(checked), "{by_config:?}");
}

#[test]
fn another_judge_is_not_checked_and_the_line_says_why() {
    let (work, server) = certified();
    let reason = |more: &[&str]| {
        let given = [
            &["--certificate", "certificate.json", "--out", "other"],
            more,
        ]
        .concat();
        let scored = work
            .score(&server, &[&given[..], &["--overwrite"]].concat())
            .exits_with(0);
        let start = scored
            .stdout
            .find("Judge not checked")
            .unwrap_or_else(|| panic!("{scored:?}"));
        let text: String = scored.stdout[start..].chars().take(400).collect();
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    assert!(reason(&["--temperature", "0.7"]).contains("is for temperature 0.0 and not 0.7"));
    assert!(
        reason(&["--reasoning-effort", "low"])
            .contains("is for reasoning effort unset and not low")
    );
    work.run(&["prompts", "export", "prompts"]).exits_with(0);
    let file = work.path("prompts").join("property.txt");
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, text + "\nBe brief.\n").unwrap();
    assert!(reason(&["--prompts", "prompts"]).contains("is for other prompts"));
}

#[test]
fn a_certificate_expires() {
    let (work, server) = certified();
    let score = |days: &str| {
        let more = ["--certificate", "forged.json", "--certificate-days", days];
        work.score(&server, &more)
            .exits_with(0)
            .stdout
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" ")
    };
    forge(&work, &[("checked_on", json!("2020-01-01"))], true);
    assert!(
        score("180").contains("the certificate of 2020-01-01 was"),
        "{}",
        score("180")
    );
    assert!(score("180").contains("days old, more than 180 (certificate_days)"));
    assert!(score("100000").contains("Judge checked on 20 labels"));
}

#[test]
fn changed_certificates_and_those_of_other_versions_are_errors() {
    let (work, server) = certified();
    let error = || {
        let scored = work.score(&server, &["--certificate", "forged.json"]);
        assert_ne!(scored.code, Some(0), "{scored:?}");
        scored.stderr
    };
    forge(&work, &[("estimate", json!(0.99))], false);
    assert!(
        error().contains("forged.json: was changed after certify made it"),
        "{}",
        error()
    );
    forge(&work, &[("certificate_version", json!(7))], true);
    assert!(
        error().contains("a certificate of version 7; this program reads 1"),
        "{}",
        error()
    );
    work.write("forged.json", "{}");
    assert!(error().contains("not a certificate"), "{}", error());
    let edited = labels().replace("poor,c3,p0,ann,0", "poor,c3,p0,ann,1");
    work.write("labels.csv", &edited);
    let again = certify(&work, &[]).exits_with(0);
    assert!(
        again
            .stderr
            .contains("replaces: judge checked on 20 labels, kappa 0.80 ["),
        "{again:?}"
    );
    assert!(again.stderr.contains(", by other labels"), "{again:?}");
    work.write("labels.json", "[1]");
    let kept = certify(&work, &["--out", "labels.csv"]).exits_with(2);
    assert!(kept.stderr.contains("this is the input"), "{kept:?}");
    let kept = certify(&work, &["--out", "labels.json"]);
    assert!(
        kept.stderr
            .contains("is not a certificate, and is not written over"),
        "{kept:?}"
    );
}

#[test]
fn a_judge_that_changed_within_the_run_and_the_baseline_have_no_certificate() {
    let work = workspace();
    let server = FakeServer::start(Behaviour::good().deciding(|request| {
        let mut reply = good_completion("/v1/chat/completions", &request.json());
        let is_other = answer_of(request).contains("cause-1.");
        reply["model"] = json!(if is_other { "other" } else { "fake-judge" });
        Some(Act::json(&reply))
    }));
    work.score(&server, &[]).exits_with(0);
    let refused = certify(&work, &[]);
    assert!(
        refused
            .stderr
            .contains("the judge changed within the run. Several models answered"),
        "{refused:?}"
    );
    work.run(&[
        "score",
        "answers",
        "--tests",
        "tests.json",
        "--out",
        "out",
        "--overwrite",
    ])
    .exits_with(0);
    let refused = certify(&work, &[]);
    assert!(
        refused
            .stderr
            .contains("the built-in baseline has no certificate"),
        "{refused:?}"
    );
}

#[test]
fn a_panel_is_worth_the_judges_that_err_apart() {
    let work = workspace();
    // Both err in c0 and c1 of good, the second also in c2; the third elsewhere.
    let servers = [
        FakeServer::start(judge([&[0, 1], &[]])),
        FakeServer::start(judge([&[0, 1, 2], &[]])),
        FakeServer::start(judge([&[5], &[4]])),
    ];
    let mut config = String::new();
    for (name, server) in ["one", "two", "three"].iter().zip(&servers) {
        let url = server.base_url();
        config += &format!("[judges.{name}]\nmodel = \"m-{name}\"\nbase_url = \"{url}\"\n");
    }
    work.write(
        "panel.toml",
        &(config + "[roles]\nrubric = [\"one\", \"two\", \"three\"]\n"),
    );
    let score = [
        "score",
        "answers",
        "--tests",
        "tests.json",
        "--config",
        "panel.toml",
        "--trust-config",
    ];
    work.run(&[&score[..], &["--out", "out"]].concat())
        .exits_with(0);
    let done = certify(&work, &[]).exits_with(0);
    let certificate = work.json("certificate.json");
    // Errors by unit: good c0..c9, then poor c0..c9.
    let mut errors = vec![vec![0.0; 20]; 3];
    for (judge, unit, error) in [
        (0, 0, -1.0),
        (0, 1, -1.0),
        (1, 0, -1.0),
        (1, 1, -1.0),
        (1, 2, -1.0),
        (2, 5, -1.0),
        (2, 14, 1.0),
    ] {
        errors[judge][unit] = error;
    }
    let questions: Vec<usize> = (0..20).map(|unit| unit % 10).collect();
    let expected = effective_judges(&errors, &questions, true, 0.95).unwrap();
    let panel = &certificate["panel"]["errors"];
    assert!(
        (panel["effective"]["estimate"].as_f64().unwrap() - expected.judges).abs() < 1e-9,
        "{panel}"
    );
    // Of two values an interval needs 100 units.
    assert_eq!(panel["effective"]["low"], Value::Null);
    assert!(done.stdout.contains("independent ones"), "{done:?}");
    let best = &certificate["panel"]["judges"][0];
    // 18 of 20 the same: m-one has 18, m-two 17, m-three 18, of which one is too high.
    assert!(
        (best["agreement"]["estimate"].as_f64().unwrap() - 0.8).abs() < 1e-12,
        "{best}"
    );
}

#[test]
fn a_probe_counts_if_its_judge_is_the_one_of_the_run() {
    let (work, server) = certified();
    let url = server.base_url();
    let probe = |out: &str, temperature: &str| {
        let probe = [
            "probe",
            "answers",
            "--tests",
            "tests.json",
            "--model",
            "fake-judge",
            "--base-url",
            &url,
        ];
        let more = [
            "--perturb",
            "padded,bullets",
            "--out",
            out,
            "--temperature",
            temperature,
        ];
        work.run(&[&probe[..], &more].concat()).exits_with(0);
    };
    probe("probe", "0");
    certify(&work, &["--probe", "probe"]).exits_with(0);
    let probes = work.json("certificate.json")["probes"].clone();
    assert_eq!(probes[0]["perturbation"], "padded");
    assert_eq!(probes[0]["answers"], 20);
    probe("warm", "0.7");
    let refused = certify(&work, &["--probe", "warm"]);
    assert!(
        refused
            .stderr
            .contains("the probe is of another judge of rubric: temperature 0.0 and not 0.7"),
        "{refused:?}"
    );
    let refused = certify(&work, &["--probe", "out"]);
    assert!(refused.stderr.contains("not a run of probe"), "{refused:?}");
}

/// The lines of a block of commands in the guide that begin with this program.
fn recipe(marker: &str, program: &str) -> String {
    let guide =
        std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/guide.md")).unwrap();
    let mut blocks = guide
        .split("```sh\n")
        .skip(1)
        .filter_map(|rest| rest.split("```").next());
    let block = blocks.find(|block| block.contains(marker)).unwrap();
    let lines = block.lines().filter(|line| line.starts_with(program));
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn the_recipe_for_physicians_makes_tests_answers_and_labels() {
    let is_there = std::process::Command::new("jq")
        .arg("--version")
        .output()
        .is_ok();
    if !is_there {
        println!("skipped: jq is not installed");
        return;
    }
    let work = workspace();
    let mut rows = Vec::new();
    for case in 0..CASES {
        rows.push(json!({
            "prompt_id": format!("p{case}"), "completion_id": "one", "category": "cluster:causes", "rubric": format!("Names cause-{case}."),
            "prompt": [{"role": "user", "content": format!("Why is there rain \"{case}\"?")}],
            "completion": format!("It is cause-{case}, I say."),
            "binary_labels": [case > 0, true], "anonymized_physician_ids": ["ann", "ben"],
        }).to_string());
    }
    work.write("meta_eval.jsonl", &rows.join("\n"));
    let done = std::process::Command::new("sh")
        .args(["-e", "-c", &recipe("physicians.csv", "jq")])
        .current_dir(work.path(""))
        .output()
        .unwrap();
    assert!(done.status.success(), "{done:?}");
    let server = FakeServer::start(
        Behaviour::good().saying(|_| json!({"explanation": "so", "verdict": "met"}).to_string()),
    );
    let url = server.base_url();
    let score = [
        "score",
        "completions.jsonl",
        "--rubric",
        "criteria",
        "--tests",
        "physicians-tests.jsonl",
        "--model",
        "fake-judge",
    ];
    work.run(&[&score[..], &["--base-url", &url, "--out", "out"]].concat())
        .exits_with(0);
    work.run(&[
        "agree",
        "out",
        "--labels",
        "physicians.csv",
        "--level",
        "item",
        "--format",
        "json",
    ])
    .exits_with(0);
    let done = work.run(&["certify", "out", "--labels", "physicians.csv"]);
    // A judge that says the same of everything has a kappa of 0.
    assert_eq!(done.code, Some(0), "{done:?}");
    let certificate = work.json("certificate.json");
    assert_eq!(
        (&certificate["raters"], &certificate["labels"]),
        (&2.into(), &10.into())
    );
    assert_eq!(
        certificate["roles"]
            .as_object()
            .unwrap()
            .keys()
            .collect::<Vec<_>>(),
        ["criteria"]
    );
}

#[test]
fn labels_of_whole_answers_certify_the_judge_of_the_score_and_no_other() {
    let work = workspace();
    let server = FakeServer::start(Behaviour::good().saying(|request| {
        let is_named = answer_of(request).contains("cause-");
        match kind_of(request) {
            _ if !section(request, "rubric").is_empty() => {
                format!("so [RESULT] {}", if is_named { 4 } else { 2 })
            }
            "property" => json!({"score": if is_named { 10 } else { 0 }}).to_string(),
            kind => constant_reply(kind),
        }
    }));
    let aspects = ["--scorers", "rubric,prometheus"];
    work.score(&server, &aspects).exits_with(0);
    let mut labels = String::from("system,case_id,rater,value\n");
    for case in 0..CASES {
        labels += &format!(
            "good,c{case},ann,{}\npoor,c{case},ann,{}\n",
            5 - case % 2,
            1 + case % 2
        );
    }
    work.write("labels.csv", &labels);
    certify(&work, &[]).exits_with(0);
    let roles = |certificate: Value| {
        certificate["roles"]
            .as_object()
            .unwrap()
            .keys()
            .cloned()
            .collect::<Vec<_>>()
    };
    assert_eq!(roles(work.json("certificate.json")), ["rubric"]);
    let scored = work
        .score(
            &server,
            &[&aspects[..], &["--certificate", "certificate.json"]].concat(),
        )
        .exits_with(0);
    let text = scored
        .stdout
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ");
    assert!(
        text.contains("Judge of rubric checked on 20 labels, tau-b"),
        "{text}"
    );
    assert!(text.contains("not checked against people."), "{text}");
    certify(&work, &["--metric", "coverage"]).exits_with(0);
    assert_eq!(roles(work.json("certificate.json")), ["aspect.coverage"]);
}
