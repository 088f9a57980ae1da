//! Citations and conversion against the numbers of the reference scripts.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use scholareval::dataset::references_block;
use scholareval::domain::{Gold, Mode, Prediction};
use scholareval::scorer::citation::{IndexBase, coverage};
use scholareval::text::citation_markers::{citation_ids, first_numbers, without_citations};
use scholareval::text::words::word_count;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use sha2::{Digest, Sha256};

fn shared() -> Option<PathBuf> {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared");
    let dir = std::env::var_os("SCHOLAREVAL_SHARED").map_or_else(beside, PathBuf::from);
    if dir.join("golden").is_dir() {
        return Some(dir);
    }
    eprintln!("skipped: no golden numbers in {}", dir.display());
    None
}

fn golden(name: &str) -> Option<String> {
    Some(std::fs::read_to_string(shared()?.join("golden").join(name)).unwrap())
}

#[derive(Deserialize)]
struct Markers {
    text: String,
    extract: Vec<String>,
    remove: String,
    /// Raw: one has 30 digits.
    first_number_refs: Vec<Box<RawValue>>,
}

#[derive(Deserialize)]
struct CitationsFile {
    cases: Vec<Markers>,
    coverage: Vec<Value>,
}

#[test]
fn markers_are_the_references_in_compat() {
    let Some(text) = golden("citations.json") else {
        return;
    };
    let file: CitationsFile = serde_json::from_str(&text).unwrap();
    assert!(file.cases.len() >= 200);
    for case in file.cases {
        assert_eq!(citation_ids(&case.text), case.extract, "{:?}", case.text);
        assert_eq!(
            without_citations(&case.text),
            case.remove,
            "{:?}",
            case.text
        );
        let numbers: Vec<&str> = case.first_number_refs.iter().map(|raw| raw.get()).collect();
        assert_eq!(first_numbers(&case.text), numbers, "{:?}", case.text);
    }
}

fn prediction(item: &Value) -> Prediction {
    let text = |key: &str| item[key].as_str().map(str::to_owned);
    let strings = |value: &Value| value.as_str().unwrap().to_owned();
    let mapping = item["id_mapping"].as_object();
    Prediction {
        output: text("output").map(Into::into),
        id_mapping: mapping.map(|map| {
            map.iter()
                .map(|(k, v)| (k.clone(), strings(v)))
                .collect::<BTreeMap<_, _>>()
        }),
        gold: Gold {
            answer: text("answer"),
            gold_ctxs: item["gold_ctxs"]
                .as_array()
                .map(|ids| ids.iter().map(strings).collect()),
            ..Gold::default()
        },
        ..Prediction::default()
    }
}

#[test]
fn coverage_is_the_references_in_compat() {
    let Some(text) = golden("citations.json") else {
        return;
    };
    let file: CitationsFile = serde_json::from_str(&text).unwrap();
    assert!(file.coverage.len() >= 10);
    for case in file
        .coverage
        .iter()
        .filter(|case| case["coverage"]["num_preds"].is_number())
    {
        let items: Vec<Prediction> = case["data"]
            .as_array()
            .unwrap()
            .iter()
            .map(prediction)
            .collect();
        let found: Vec<_> = items
            .iter()
            .map(|item| coverage(item, IndexBase::Zero, Mode::Compat).unwrap())
            .collect();
        let mean = |values: Vec<f64>| values.iter().sum::<f64>() / values.len() as f64;
        let expect = |key: &str, ours: f64| {
            let theirs = case["coverage"][key].as_f64().unwrap();
            // the reference's are per cent
            assert!(
                (theirs - ours).abs() < 1e-12 * theirs.max(1.0) * 10.0,
                "{key}: {theirs} {ours} in {case}"
            );
        };
        expect(
            "num_preds",
            mean(found.iter().map(|c| c.cited as f64).collect()),
        );
        expect(
            "evidence_prec",
            100.0 * mean(found.iter().map(|c| c.scores.precision).collect()),
        );
        expect(
            "evidence_rec",
            100.0 * mean(found.iter().map(|c| c.scores.recall).collect()),
        );
        expect(
            "evidence_f1",
            100.0 * mean(found.iter().map(|c| c.scores.f1).collect()),
        );
        let words = mean(
            items
                .iter()
                .map(|item| word_count(item.output()) as f64)
                .collect(),
        );
        assert!((words - case["compute_len"].as_f64().unwrap()).abs() < 1e-12);
    }
}

/// The prediction of a converted case, read as a file would be: a real one from its place in the released answers.
fn converted(case: &Value) -> Option<Prediction> {
    let element = if case["pred"].is_object() {
        let mut element = case["pred"].clone();
        element["input"] = "q".into();
        element.to_string()
    } else {
        let at = case["ref"]
            .as_str()?
            .rsplit_once('[')?
            .1
            .trim_end_matches(']')
            .parse::<usize>()
            .unwrap();
        let path = shared()?.join("data/scholarqa_multi/human_answers.json");
        return scholareval::dataset::load_predictions(&path)
            .unwrap()
            .items
            .get(at)
            .cloned();
    };
    let read = scholareval::dataset::parse_predictions(&element, Path::new("s.json")).unwrap();
    read.items.into_iter().next()
}

/// What the list must be by default: the reference's with the numbers of the output put back.
fn with_numbers_kept(block: &str, ids: &[u64]) -> String {
    let mut block = block.to_owned();
    for (order, id) in ids.iter().enumerate().rev() {
        let (old, new) = (format!("\n[{order}] "), format!("\n[{id}] "));
        let at = block.rfind(&old).unwrap();
        block.replace_range(at..at + old.len(), &new);
    }
    block
}

#[test]
fn converted_answers_are_the_references_in_compat_and_keep_their_numbers_by_default() {
    let Some(text) = golden("convert.json") else {
        return;
    };
    let file: Value = serde_json::from_str(&text).unwrap();
    let cases = file["cases"].as_array().unwrap();
    assert_eq!(
        cases.len() as u64,
        file["counts"]["cases"].as_u64().unwrap()
    );
    for case in cases {
        let prediction = converted(case).unwrap();
        let compat = references_block(&prediction, IndexBase::Zero, Mode::Compat);
        if let Some(exception) = case["exception"].as_str() {
            assert_eq!(compat, Err(exception), "{case}");
            continue;
        }
        let block = compat.unwrap();
        let whole = format!("{}{block}", prediction.output());
        match case["answer_text"].as_str() {
            Some(expected) => assert_eq!(whole, expected),
            None => {
                assert_eq!(block, case["tail"].as_str().unwrap());
                let hash: String = Sha256::digest(&whole)
                    .iter()
                    .map(|byte| format!("{byte:02x}"))
                    .collect();
                assert_eq!(hash, case["answer_sha256"].as_str().unwrap());
            }
        }
        let ids: Vec<u64> = case["reference_ids"]
            .as_array()
            .unwrap()
            .iter()
            .map(|id| id.as_u64().unwrap())
            .collect();
        let cited: Vec<u64> = prediction
            .cited_sources(IndexBase::Zero, Mode::Compat)
            .into_iter()
            .map(|place| place as u64)
            .collect();
        assert_eq!(cited, ids);
        let ours = references_block(&prediction, IndexBase::Zero, Mode::Default).unwrap();
        let odd = prediction
            .sources
            .iter()
            .any(|source| source.text_is_nan || source.key.is_some());
        if odd {
            // [compat] rows: a bare NaN is missing text; of an object of sources the values count
            let is_read = !ours.contains("nan\n\n") && !ours.contains("[0] b a\n");
            assert!(is_read, "{ours}");
        } else {
            assert_eq!(ours, with_numbers_kept(&block, &ids));
        }
    }
}
