//! Parity with the reference's SciFact scores (`golden/scifact.json`).
//!
//! Compat gives every number to 1e-12, and an input error where the reference dies. Default gives the same numbers but
//! for the rows named in `default_differs`, which have expected values of their own.

use std::path::{Path, PathBuf};

use scholareval::Result;
use scholareval::domain::Mode;
use scholareval::facts::claims::{ClaimFile, ClaimLine, EntryId};
use scholareval::facts::scifact::{
    DocId, Evidence, GoldClaim, MEASURES, SentenceCap, measures, score, sums,
};
use scholareval::facts::scifact_modules::{
    LabelCounts, label_measures, rationale_measures, retrieval_measures, score_labels,
    score_rationales, score_retrieval, scores_by_label,
};
use scholareval::stats::Prf;
use serde_json::{Map, Value, json};

const CAPS: [(&str, SentenceCap); 2] = [
    ("verisci", SentenceCap::Three),
    ("leaderboard", SentenceCap::ShortestRationale),
];

/// The shared directory of inputs and golden numbers; `None`, with a printed reason, where there is none.
fn shared() -> Option<PathBuf> {
    let path = std::env::var_os("SCHOLAREVAL_SHARED").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared"),
        PathBuf::from,
    );
    if path.join("golden/scifact.json").is_file() {
        return Some(path);
    }
    eprintln!(
        "skipped: no golden numbers at {}; set SCHOLAREVAL_SHARED",
        path.display()
    );
    None
}

fn golden(shared: &Path) -> Value {
    serde_json::from_str(&std::fs::read_to_string(shared.join("golden/scifact.json")).unwrap())
        .unwrap()
}

fn jsonl(values: &Value) -> Vec<u8> {
    values
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|value| (value.to_string() + "\n").into_bytes())
        .collect()
}

fn gold_bytes(row: &Value, shared: &Path) -> Vec<u8> {
    match row["gold_file"].as_str() {
        Some(name) => std::fs::read(
            shared
                .join("data/scifact")
                .join(name.trim_start_matches("scifact_")),
        )
        .unwrap(),
        None => jsonl(&row["gold"]),
    }
}

/// The golden file's own oracle: rationales one after the other as they stand.
fn concatenated(claims: &ClaimFile<GoldClaim>) -> Vec<u8> {
    let of = |claim: &ClaimLine<GoldClaim>| {
        let predicted = |gold: &Evidence| json!({"label": gold.label.name(), "sentences": gold.rationales.concat()});
        let gold = claim.value.evidence.iter();
        let evidence: Map<String, Value> = gold
            .map(|(doc_id, gold)| (doc_id.to_string(), predicted(gold)))
            .collect();
        let EntryId::Number(id) = claim.id else {
            panic!("{:?}", claim.id)
        };
        json!({"id": id, "evidence": evidence})
    };
    jsonl(&claims.lines.iter().map(of).collect())
}

fn parse<T: scholareval::facts::claims::FromLine>(
    bytes: &[u8],
    mode: Mode,
) -> Result<ClaimFile<T>> {
    ClaimFile::parse(bytes, Path::new("f"), mode)
}

/// The measures of a row, or why there are none.
fn run(row: &Value, shared: &Path, cap: SentenceCap, mode: Mode) -> Result<[Prf; 4]> {
    let claims = parse(&gold_bytes(row, shared), mode)?;
    let predicted = if row["pred"].is_array() {
        jsonl(&row["pred"])
    } else {
        concatenated(&claims)
    };
    Ok(measures(&sums(&score(
        &claims,
        &parse(&predicted, mode)?,
        cap,
        mode,
    )?)))
}

#[track_caller]
fn assert_measures(measures: &[Prf; 4], expected: &Value, what: &str) {
    for (name, prf) in MEASURES.iter().zip(measures) {
        for (key, value) in [
            ("precision", prf.precision),
            ("recall", prf.recall),
            ("f1", prf.f1),
        ] {
            let expected = expected[name][key].as_f64().unwrap();
            assert!(
                (value - expected).abs() <= 1e-12,
                "{what}, {name} {key}: {value} for {expected}"
            );
        }
    }
}

/// Rows on a fault of the reference, with what default mode gives: measures in the order of the names, or an error.
fn default_differs(
    name: &str,
    scorer: &str,
) -> Option<std::result::Result<[[f64; 3]; 4], &'static str>> {
    const ALL_RIGHT: [[f64; 3]; 4] = [[1.0; 3]; 4];
    Some(match (name, scorer) {
        // Gold: 3 abstracts, 5 sentences; predicted: 1 abstract, 1 sentence, both right. P 1, R 1/3 and 1/5, F 1/2 and 1/3.
        ("missing_prediction", _) => Ok([
            [1.0, 1.0 / 3.0, 0.5],
            [1.0, 1.0 / 3.0, 0.5],
            [1.0, 1.0 / 5.0, 1.0 / 3.0],
            [1.0, 1.0 / 5.0, 1.0 / 3.0],
        ]),
        ("no_predictions", "leaderboard") => Ok([[0.0; 3]; 4]),
        ("order_differs", "leaderboard") => Ok(ALL_RIGHT),
        ("empty_rationale_list", _) => Err("has no rationale"),
        ("lowercase_label", _) => Err("unknown label \"support\"; did you mean SUPPORT?"),
        // The command refuses it; here the line's claim is unknown and the one abstract of the gold is missed.
        ("string_claim_id", _) => Ok([[0.0; 3]; 4]),
        _ => return None,
    })
}

#[test]
fn compat_gives_every_measure_of_the_golden_file_and_an_error_where_the_reference_dies() {
    let Some(shared) = shared() else { return };
    let golden = golden(&shared);
    for row in golden["cases"].as_array().unwrap() {
        for (key, cap) in CAPS {
            let expected = if row[key] == "same" {
                &row["verisci"]
            } else {
                &row[key]
            };
            let what = format!("case {} {} {key}", row["i"], row["name"]);
            match (
                expected["exception"].as_str(),
                run(row, &shared, cap, Mode::Compat),
            ) {
                (Some(_), Err(_)) => {}
                (None, Ok(measures)) => assert_measures(&measures, expected, &what),
                (_, given) => panic!("{what}: {given:?} for {expected}"),
            }
        }
    }
}

#[test]
fn default_gives_every_measure_but_on_the_references_faults() {
    let Some(shared) = shared() else { return };
    let golden = golden(&shared);
    for row in golden["cases"].as_array().unwrap() {
        for (key, cap) in CAPS {
            let what = format!("case {} {} {key}", row["i"], row["name"]);
            let given = run(row, &shared, cap, Mode::Default);
            match (
                default_differs(row["name"].as_str().unwrap_or_default(), key),
                given,
            ) {
                (Some(Err(error)), Err(given)) => {
                    assert!(given.to_string().contains(error), "{what}: {given}")
                }
                (Some(Ok(expected)), Ok(measures)) => {
                    let given = measures.map(Prf::values);
                    let close = given
                        .iter()
                        .flatten()
                        .zip(expected.iter().flatten())
                        .all(|(a, b)| (a - b).abs() < 1e-12);
                    assert!(close, "{what}: {given:?} for {expected:?}");
                }
                (None, Ok(measures)) => {
                    let expected = if row[key] == "same" {
                        &row["verisci"]
                    } else {
                        &row[key]
                    };
                    assert_measures(&measures, expected, &what);
                }
                (expected, given) => panic!("{what}: {given:?} for {expected:?}"),
            }
        }
    }
}

/// The numbers of a script's print-out, in its order.
fn numbers(text: &str) -> Vec<f64> {
    let clean = |c: char| {
        if c.is_ascii_digit() || c == '.' || c == '-' {
            c
        } else {
            ' '
        }
    };
    // "Macro F1" and "F1:" are words.
    let text = text.replace("F1", "").replace("f1", "");
    let text: String = text.chars().map(clean).collect();
    text.split_whitespace()
        .filter_map(|number| number.parse().ok())
        .collect()
}

/// What a script's row gives, in the order of the print-out.
fn run_script(row: &Value, mode: Mode) -> Result<Vec<f64>> {
    let claims = parse(&jsonl(&row["gold"]), mode)?;
    let bytes = jsonl(&row["pred"]);
    match row["script"].as_str().unwrap() {
        "abstract_retrieval" => Ok(retrieval_measures(&sums(&score_retrieval(
            &claims,
            &parse(&bytes, mode)?,
            mode,
        )?))
        .to_vec()),
        "rationale_selection" => Ok(rationale_measures(&sums(&score_rationales(
            &claims,
            &parse(&bytes, mode)?,
            mode,
        )?))
        .to_vec()),
        script => {
            let structured: Vec<DocId> = row["structured_docs"]
                .as_array()
                .into_iter()
                .flatten()
                .map(|doc| DocId::Number(doc.as_i64().unwrap()))
                .collect();
            let keep = |doc: &DocId| {
                row["filter"]
                    .as_str()
                    .is_none_or(|f| (f == "structured") == structured.contains(doc))
            };
            let sums: LabelCounts =
                sums(&score_labels(&claims, &parse(&bytes, mode)?, keep, mode)?);
            let measures = label_measures(&sums);
            if script == "label_accuracy_gold_inputs" {
                return Ok(vec![measures[3]]);
            }
            let classes = scores_by_label(&sums);
            let columns = [
                |c: &Class| c.f1,
                |c: &Class| c.precision,
                |c: &Class| c.recall,
            ];
            let by_class = columns
                .into_iter()
                .flat_map(|column| classes.iter().map(column));
            let matrix = classes.iter().flat_map(|truly| {
                classes
                    .iter()
                    .map(move |predicted| sums[3 * truly.label as usize + predicted.label as usize])
            });
            Ok(measures[..3]
                .iter()
                .copied()
                .chain(by_class)
                .chain(matrix)
                .collect())
        }
    }
}

type Class = scholareval::facts::scifact_modules::LabelScores;

fn assert_numbers(given: &[f64], expected: &[f64], script: &str, what: &str) {
    // Two of the scripts print four decimals.
    let tolerance = if ["abstract_retrieval", "label_prediction"].contains(&script) {
        0.500_001e-4
    } else {
        1e-12
    };
    assert_eq!(
        given.len(),
        expected.len(),
        "{what}: {given:?} for {expected:?}"
    );
    for (given, expected) in given.iter().zip(expected) {
        assert!(
            (given - expected).abs() <= tolerance,
            "{what}: {given} for {expected}"
        );
    }
}

#[test]
fn compat_gives_what_the_module_scripts_print() {
    let Some(shared) = shared() else { return };
    for row in golden(&shared)["scripts"].as_array().unwrap() {
        let what = format!("script {} {}", row["i"], row["script"]);
        match (
            row["stdout"]["exception"].as_str(),
            run_script(row, Mode::Compat),
        ) {
            (Some(_), Err(_)) => {}
            (None, Ok(given)) => {
                let expected = numbers(row["stdout"].as_str().unwrap());
                assert_numbers(&given, &expected, row["script"].as_str().unwrap(), &what);
            }
            (_, given) => panic!("{what}: {given:?}"),
        }
    }
}

#[test]
fn default_gives_what_the_module_scripts_print_but_on_their_faults() {
    let Some(shared) = shared() else { return };
    for row in golden(&shared)["scripts"].as_array().unwrap() {
        let script = row["script"].as_str().unwrap();
        let what = format!("script {} {} {script}", row["i"], row["name"]);
        let expected = match row["name"].as_str().unwrap_or_default() {
            // Two claims, the only line is for one of them: 1 hit of 2.
            "all_nei_hits" => vec![0.5, 0.5],
            "empty_file" => vec![0.0, 0.0],
            // Nothing is labeled; the command gives no value.
            "none" => vec![0.0; 3],
            // REFUTES is CONTRADICT: one abstract, truly SUPPORT. Accuracy and F1 0; classes C and S; matrix [0 0] [1 0].
            "bad_label" => [vec![0.0; 9], vec![0.0, 0.0, 1.0, 0.0]].concat(),
            _ => numbers(row["stdout"].as_str().unwrap()),
        };
        assert_numbers(
            &run_script(row, Mode::Default).unwrap(),
            &expected,
            script,
            &what,
        );
    }
}
