//! Parity of sentences, ROUGE, stems and short answers with the references' numbers (`golden/sentences.json`,
//! `golden/rouge.json`, `golden/short_answer.json`).

use scholareval::domain::Mode;
use scholareval::scorer::answer_match::{
    exact_match, is_present, matches, normalize, str_em, token_f1,
};
use scholareval::scorer::rouge::{rouge, rouge_best, rouge_tokens};
use scholareval::stats::Prf;
use scholareval::text::citation_markers::number_markers;
use scholareval::text::punkt::sentences;
use scholareval::text::stems::Stems;
use serde_json::Value;

use crate::rubric_golden::shared;

const TOLERANCE: f64 = 1e-12;

/// A golden file; `None`, with a printed reason, where there is none.
pub(crate) fn golden(name: &str) -> Option<Value> {
    let text = std::fs::read_to_string(shared()?.join("golden").join(name)).unwrap();
    Some(serde_json::from_str(&text).unwrap())
}

fn rows<'a>(golden: &'a Value, key: &str) -> &'a [Value] {
    let rows = golden[key].as_array().unwrap();
    assert!(!rows.is_empty(), "no {key} in the golden file");
    rows
}

fn texts(value: &Value) -> Vec<&str> {
    value
        .as_array()
        .unwrap()
        .iter()
        .map(|text| text.as_str().unwrap())
        .collect()
}

fn text<'a>(row: &'a Value, key: &str) -> &'a str {
    row[key].as_str().unwrap()
}

fn close(ours: f64, theirs: &Value) -> bool {
    (ours - theirs.as_f64().unwrap()).abs() <= TOLERANCE
}

#[test]
fn every_golden_text_is_cut_into_nltks_sentences() {
    let Some(golden) = golden("sentences.json") else {
        return;
    };
    for row in rows(&golden, "cases") {
        let input = text(row, "text");
        let ours: Vec<&str> = sentences(input)
            .into_iter()
            .map(|range| &input[range])
            .collect();
        assert_eq!(ours, texts(&row["sentences"]), "case {}", row["i"]);
    }
}

fn assert_rouge(ours: Prf, theirs: &Value, context: &Value) {
    for (number, expected) in [ours.precision, ours.recall, ours.f1]
        .into_iter()
        .zip(theirs.as_array().unwrap())
    {
        assert!(
            close(number, expected),
            "{ours:?} and {theirs} in {context}"
        );
    }
}

#[test]
fn every_golden_pair_has_the_references_rouge() {
    let Some(golden) = golden("rouge.json") else {
        return;
    };
    let stems = Stems::default();
    for row in rows(&golden, "cases") {
        let (reference, hypothesis) = (text(row, "reference"), text(row, "hypothesis"));
        let counts = [reference, hypothesis]
            .map(|text| rouge_tokens(text, Mode::Compat, &stems).len() as u64);
        assert_eq!(
            counts.to_vec(),
            row["n_tokens"]
                .as_array()
                .unwrap()
                .iter()
                .map(|n| n.as_u64().unwrap())
                .collect::<Vec<_>>()
        );
        let ours = rouge(reference, hypothesis, Mode::Compat, &stems);
        assert_rouge(ours.rouge_1, &row["rouge1"], &row["i"]);
        assert_rouge(ours.rouge_2, &row["rouge2"], &row["i"]);
        assert_rouge(ours.rouge_l, &row["rougeL"], &row["i"]);
        if reference.is_ascii() && hypothesis.is_ascii() {
            let default = rouge(reference, hypothesis, Mode::Default, &stems);
            assert_eq!(default, ours, "{}", row["i"]);
        }
    }
}

#[test]
fn every_golden_word_has_the_references_stem_and_token() {
    let Some(golden) = golden("rouge.json") else {
        return;
    };
    let stems = Stems::default();
    for row in rows(&golden, "stems") {
        // Short words are not stemmed for ROUGE: `rouge` is the word itself there.
        assert_eq!(&*stems.stem(text(row, "w")), text(row, "rouge"), "{row}");
    }
    for row in rows(&golden, "tokens") {
        let ours = rouge_tokens(text(row, "text"), Mode::Compat, &stems);
        assert_eq!(
            ours.iter().map(|token| &**token).collect::<Vec<_>>(),
            texts(&row["tokens_stem"]),
            "{row}"
        );
    }
}

#[test]
fn of_two_golden_references_the_references_choice_counts() {
    let Some(golden) = golden("rouge.json") else {
        return;
    };
    for row in rows(&golden, "two_references") {
        let (_, ours) = rouge_best(
            &texts(&row["long_answers"]),
            text(row, "output"),
            Mode::Compat,
            &Stems::default(),
        )
        .unwrap();
        let theirs = &row["single_item_scores"];
        for (score, key) in [
            (ours.rouge_1, "rouge1"),
            (ours.rouge_2, "rouge2"),
            (ours.rouge_l, "rougeL"),
        ] {
            assert!(
                close(100.0 * score.f1, &theirs[key]),
                "{score:?} and {theirs}"
            );
        }
    }
}

#[test]
fn every_golden_short_answer_has_the_references_numbers() {
    let Some(golden) = golden("short_answer.json") else {
        return;
    };
    for row in rows(&golden, "cases") {
        let (gold, output) = (text(row, "gold"), text(row, "pred"));
        assert_eq!(normalize(gold), text(row, "norm_gold"), "{row}");
        assert_eq!(normalize(output), text(row, "norm_pred"), "{row}");
        assert_eq!(
            u64::from(exact_match(gold, output)),
            row["exact"].as_u64().unwrap(),
            "{row}"
        );
        assert!(close(token_f1(gold, output), &row["f1"]), "{row}");
        assert_eq!(
            is_present(&[gold], output, Mode::Compat),
            row["presence"].as_bool().unwrap(),
            "{row}"
        );
    }
    for row in rows(&golden, "agg") {
        let pairs: Vec<(&str, &str)> = row["pairs"]
            .as_array()
            .unwrap()
            .iter()
            .map(|pair| (pair[0].as_str().unwrap(), pair[1].as_str().unwrap()))
            .collect();
        let percent = |value: &dyn Fn(&str, &str) -> f64| {
            100.0
                * pairs
                    .iter()
                    .map(|(gold, output)| value(gold, output))
                    .sum::<f64>()
                / pairs.len() as f64
        };
        assert!(
            (percent(&token_f1) - row["QA-F1"].as_f64().unwrap()).abs() < 1e-11,
            "{row}"
        );
        let exact = percent(&|gold, output| f64::from(u8::from(exact_match(gold, output))));
        assert!(
            (exact - row["QA-EM"].as_f64().unwrap()).abs() < 1e-11,
            "{row}"
        );
    }
}

/// Markers removed, runs of white space made one space, trimmed, ` .` and ` ,` tightened.
fn without_markers(text: &str) -> String {
    let mut rest = String::new();
    let mut end = 0;
    for marker in number_markers(text) {
        rest.push_str(&text[end..marker.range.start]);
        end = marker.range.end;
    }
    rest.push_str(&text[end..]);
    let mut clean = String::new();
    let mut run = String::new();
    for c in rest.chars().chain(['\0']) {
        if c.is_whitespace() {
            run.push(c);
            continue;
        }
        clean.push_str(if run.chars().count() > 1 { " " } else { &run });
        run.clear();
        clean.push(c);
    }
    clean
        .trim_end_matches('\0')
        .trim()
        .replace(" .", ".")
        .replace(" ,", ",")
}

#[test]
fn match_is_the_references_in_compat_and_by_default_but_within_words_and_for_empty_gold() {
    let Some(golden) = golden("short_answer.json") else {
        return;
    };
    let mut within_words = Vec::new();
    for row in rows(&golden, "cases") {
        let (gold, output) = (
            without_markers(text(row, "gold")),
            without_markers(text(row, "pred")),
        );
        let theirs = row["match"].as_f64().unwrap() == 1.0;
        assert_eq!(matches(&gold, &output, Mode::Compat), Some(theirs), "{row}");
        match matches(&gold, &output, Mode::Default) {
            None => assert!(gold.is_empty(), "{row}"),
            Some(ours) if ours == theirs => {}
            Some(ours) => {
                assert!(!ours, "whole words are stricter: {row}");
                within_words.push((text(row, "gold").to_owned(), text(row, "pred").to_owned()));
            }
        }
    }
    within_words.sort_unstable();
    within_words.dedup();
    // The rows on which the two modes differ: gold stands only inside another word.
    let expected = [
        ("no", "It is not known [0]."),
        ("no", "None of the above."),
        ("no", "The answer is unknown."),
        ("true", "falsetrue"),
        ("yes", "The eyes have it."),
        ("yes", "Yesterday we saw [0]."),
        ("yes", "eyes"),
    ];
    assert_eq!(
        within_words,
        expected.map(|(gold, output)| (gold.to_owned(), output.to_owned()))
    );
}

#[test]
fn every_golden_list_has_the_references_presence() {
    let Some(golden) = golden("short_answer.json") else {
        return;
    };
    for row in rows(&golden, "str_em") {
        let items = row["data"].as_array().unwrap();
        let sets: Vec<Option<Vec<Vec<&str>>>> = items
            .iter()
            .map(|item| {
                item["qa_pairs"]
                    .as_array()
                    .map(|pairs| pairs.iter().map(|p| texts(&p["short_answers"])).collect())
            })
            .collect();
        let outputs: Vec<&str> = items.iter().map(|item| text(item, "output")).collect();
        let shares: Vec<Option<f64>> = sets
            .iter()
            .zip(&outputs)
            .map(|(sets, output)| {
                sets.as_ref()
                    .and_then(|sets| str_em(sets, output, Mode::Compat))
            })
            .collect();
        let theirs = &row["str_em"];
        // Where the first item has no short answers the reference gives 0 without a look at the others.
        if theirs["exception"].is_null() && sets[0].is_some() {
            let n = items.len() as f64;
            match shares.iter().copied().sum::<Option<f64>>() {
                None => assert_eq!(theirs[0], "NaN", "{row}"),
                Some(sum) => assert!(close(100.0 * sum / n, &theirs[0]), "{row}"),
            }
            let hits = shares.iter().filter(|share| **share == Some(1.0)).count();
            assert!(close(100.0 * hits as f64 / n, &theirs[1]), "{row}");
        }
        for (at, (sets, output)) in sets.iter().zip(&outputs).enumerate() {
            let Some(sets) = sets.as_ref().filter(|sets| !sets.is_empty()) else {
                continue;
            };
            let present: Vec<bool> = sets
                .iter()
                .map(|set| is_present(set, output, Mode::Compat))
                .collect();
            assert_eq!(serde_json::json!(present), row["presence"][at], "{row}");
            let share = present.iter().filter(|is| **is).count() as f64 / present.len() as f64;
            assert_eq!(str_em(sets, output, Mode::Compat), Some(share));
        }
    }
}
