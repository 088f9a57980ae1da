use proptest::prelude::*;

use super::*;

fn score(reference: &str, hypothesis: &str) -> RougeScores {
    rouge(reference, hypothesis, Mode::Compat, &Stems::default())
}

#[test]
fn shared_tokens_are_clipped_and_order_counts_for_l_only() {
    // Reference: the cat the dog; hypothesis: dog the the the. Shared singles: dog 1, the min(2, 3) = 2, so 3 of 4.
    let scores = score("the cat the dog", "dog the the the");
    assert_eq!(
        scores.rouge_1,
        Prf {
            precision: 0.75,
            recall: 0.75,
            f1: 0.75
        }
    );
    // Pairs: the-cat cat-the the-dog against dog-the the-the the-the: none.
    assert_eq!(scores.rouge_2, Prf::default());
    // the the is common: 2 of 4.
    assert_eq!(
        scores.rouge_l,
        Prf {
            precision: 0.5,
            recall: 0.5,
            f1: 0.5
        }
    );
}

#[test]
fn a_text_without_tokens_scores_zero() {
    assert_eq!(score("", "a b"), RougeScores::default());
    assert_eq!(score("字。", "字。"), RougeScores::default());
    // One token has no pairs: 0 and not 0/0.
    assert_eq!(score("cat", "cat").rouge_2, Prf::default());
}

#[test]
fn tokens_are_ascii_words_with_long_ones_stemmed() {
    let text = "Naïve relational DBs, don't!";
    assert_eq!(
        tokens(text, Mode::Compat),
        ["na", "ve", "relat", "dbs", "don", "t"]
    );
    assert_eq!(
        tokens(text, Mode::Default),
        ["naïve", "relat", "dbs", "don", "t"]
    );
}

fn tokens(text: &str, mode: Mode) -> Vec<String> {
    let tokens = rouge_tokens(text, mode, &Stems::default());
    tokens.iter().map(|token| token.to_string()).collect()
}

#[test]
fn every_script_has_tokens_by_default() {
    for (text, expected) in [
        ("Пушкин: «Полтава»", &["пушкин", "полтава"][..]),
        ("पूर्व प्रधानमन्त्री", &["पूर्व", "प्रधानमन्त्री"]),
        ("BERT学习, ２回", &["bert", "学", "习", "２", "回"]),
        ("สวัสดี", &["ส", "ว", "ั", "ส", "ด", "ี"]),
        ("データ々ﾃ", &["デ", "ー", "タ", "々", "ﾃ"]),
        // Decomposed, upper case; not stemmed, as English words are.
        ("CAFE\u{301}S cities", &["cafés", "citi"]),
        ("H₂O x_y ½", &["h₂o", "x", "y", "½"]),
        ("தமிழ்", &["தமிழ்"]),
        (
            "한국어 \u{eaa}\u{eb0} \u{1781}\u{17d2} \u{1019}\u{103c}",
            &[
                "한국어",
                "\u{eaa}",
                "\u{eb0}",
                "\u{1781}",
                "\u{17d2}",
                "\u{1019}",
                "\u{103c}",
            ],
        ),
        ("…—👍", &[]),
    ] {
        assert_eq!(tokens(text, Mode::Default), expected, "{text}");
    }
    let stems = Stems::default();
    // 北京 against 北京市: singles p 2/2, r 2/3; pairs p 1/1, r 1/2: F 2/3; L as singles.
    let scores = rouge("北京市", "北京", Mode::Default, &stems);
    let prf = Prf::of(2.0, 2.0, 3.0);
    assert_eq!((scores.rouge_1, scores.rouge_l), (prf, prf));
    assert_eq!(scores.rouge_2, Prf::of(1.0, 1.0, 2.0));
    // Equal but for the form of accents and case.
    let scores = rouge("É\u{e8}", "e\u{301}È", Mode::Default, &stems);
    assert_eq!(scores.rouge_1.f1, 1.0);
}

#[test]
fn of_two_references_the_better_l_counts_and_a_tie_takes_the_second() {
    let stems = Stems::default();
    // L: first 3/3, second 1/3.
    assert_eq!(
        rouge_best(&["x y z", "x b c"], "x y z", Mode::Default, &stems)
            .unwrap()
            .0,
        0
    );
    // L is 2 of 3 for both; ROUGE-2 is 1/2 for the first and 0 for the second, which counts anyway.
    let (at, scores) = rouge_best(&["x y q", "x q z"], "x y z", Mode::Default, &stems).unwrap();
    assert_eq!((at, scores.rouge_2.f1), (1, 0.0));
    assert_eq!(rouge_best(&[], "x", Mode::Default, &stems), None);
}

fn texts() -> impl Strategy<Value = String> {
    "([a-c]|cats|running|[ .\n]|\\PC){0,40}"
}

proptest! {
    #[test]
    fn numbers_are_shares_and_swapping_the_texts_swaps_precision_and_recall(first in texts(), second in texts()) {
        let (there, back) = (score(&first, &second), score(&second, &first));
        for (there, back) in [
            (there.rouge_1, back.rouge_1), (there.rouge_2, back.rouge_2), (there.rouge_l, back.rouge_l)
        ] {
            for number in [there.precision, there.recall, there.f1] {
                prop_assert!((0.0..=1.0).contains(&number));
            }
            prop_assert_eq!((there.precision, there.recall), (back.recall, back.precision));
        }
        prop_assert!(there.rouge_l.precision <= there.rouge_1.precision);
    }

    #[test]
    fn a_text_against_itself_is_one_where_it_has_tokens(text in texts()) {
        let tokens = rouge_tokens(&text, Mode::Compat, &Stems::default()).len();
        let scores = score(&text, &text);
        prop_assert_eq!(scores.rouge_1.f1, f64::from(u8::from(tokens > 0)));
        prop_assert_eq!(scores.rouge_2.f1, f64::from(u8::from(tokens > 1)));
        prop_assert_eq!(scores.rouge_l.f1, f64::from(u8::from(tokens > 0)));
    }

    #[test]
    fn ascii_has_the_references_tokens_by_default(text in "[ -~\n]{0,40}") {
        prop_assert_eq!(tokens(&text, Mode::Default), tokens(&text, Mode::Compat));
    }
}

#[test]
fn the_subsequence_need_not_be_contiguous() {
    // 1 2 3 4 5 and 9 1 3 9 5: 1 3 5 is common.
    assert_eq!(
        longest_common_subsequence(&[1, 2, 3, 4, 5], &[9, 1, 3, 9, 5]),
        3
    );
    assert_eq!(longest_common_subsequence(&[], &[1]), 0);
}

#[test]
fn carries_cross_machine_words() {
    let all: Vec<u32> = (0..200).collect();
    assert_eq!(longest_common_subsequence(&all, &all), 200);
    assert_eq!(longest_common_subsequence(&[7; 130], &[7; 129]), 129);
    // Every other number of 0..200 is 100 numbers.
    let even: Vec<u32> = all.iter().copied().filter(|n| n % 2 == 0).collect();
    assert_eq!(longest_common_subsequence(&all, &even), 100);
    // 0..2000 twice, and backwards once: ascending from each at most one, but 2000 of the second.
    let long: Vec<u32> = (0..2_000).chain(0..2_000).collect();
    let back: Vec<u32> = (0..2_000).rev().collect();
    assert_eq!(
        longest_common_subsequence(&long, &long[1_000..3_000]),
        2_000
    );
    assert_eq!(longest_common_subsequence(&long, &back), 2);
}

proptest! {
    // The plain way takes the product of the lengths.
    #![proptest_config(ProptestConfig::with_cases(40))]
    #[test]
    fn the_fast_length_is_that_of_the_subsequence(
        left in prop::collection::vec(0_u32..6, 0..700), right in prop::collection::vec(0_u32..8, 0..700)
    ) {
        // lengths[l][r]: of the first l and r items.
        let mut lengths = vec![vec![0; right.len() + 1]; left.len() + 1];
        for (l, a) in left.iter().enumerate() {
            for (r, b) in right.iter().enumerate() {
                lengths[l + 1][r + 1] =
                    if a == b { lengths[l][r] + 1 } else { lengths[l + 1][r].max(lengths[l][r + 1]) };
            }
        }
        prop_assert_eq!(longest_common_subsequence(&left, &right), lengths[left.len()][right.len()]);
    }
}
