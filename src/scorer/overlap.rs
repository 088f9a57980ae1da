//! How far an output has the words of its gold: no judge, no meaning.

use crate::domain::{Mode, Prediction};
use crate::text::citation_markers::without_citations;
use crate::text::stems::Stems;
use crate::text::words::{word_count, words};

use super::answer_match::{MatchRule, exact_match, matches, str_em, str_hit, token_f1};
use super::rouge::rouge_best;

/// What can be computed of one output. What lacks its gold is `None`; everything but [`words`](Self::words) is 0..=1.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Overlap {
    /// Words of the output, markers counted.
    pub words: usize,
    /// 1 if the gold answer stands in the output, both without markers and in lower case: as whole words, in compat
    /// mode anywhere. `None` too for an empty gold by default.
    pub matches: Option<f64>,
    /// 1 if gold answer and output are the same when normalised.
    pub exact: Option<f64>,
    /// F1 of the normalised tokens of gold answer and output.
    pub token_f1: Option<f64>,
    /// Share of the sets of short answers of which one is present.
    pub str_em: Option<f64>,
    /// 1 if of every set one is present.
    pub str_hit: Option<f64>,
    /// F of ROUGE-1, ROUGE-2 and ROUGE-L against the better of the references (by ROUGE-L, of equal ones the last).
    pub rouge: Option<[f64; 3]>,
}

/// What ROUGE compares with: the long answers, else the gold answer.
pub fn rouge_references(prediction: &Prediction) -> Vec<&str> {
    let gold = &prediction.gold;
    match gold.long_answers.is_empty() {
        false => gold.long_answers.iter().map(String::as_str).collect(),
        true => gold.answer.as_deref().into_iter().collect(),
    }
}

/// The text up to the end of its word `limit`.
///
/// ```
/// assert_eq!(scholareval::scorer::overlap::first_words("one  two three ", 2), "one  two");
/// ```
pub fn first_words(text: &str, limit: usize) -> &str {
    match words(text).take(limit).last() {
        // A word is a slice of the text: its address tells where it ends.
        Some(last) => {
            let end = (last.as_ptr() as usize).saturating_sub(text.as_ptr() as usize) + last.len();
            text.get(..end).unwrap_or(text)
        }
        None => "",
    }
}

/// All measures of one output; ROUGE, which takes longest, only where `with_rouge` asks for it.
pub fn overlap(prediction: &Prediction, mode: Mode, with_rouge: bool, stems: &Stems) -> Overlap {
    let output = prediction.output();
    let gold = &prediction.gold;
    let answer = gold.answer.as_deref();
    let one = |holds: bool| f64::from(u8::from(holds));
    let rule = match mode {
        Mode::Default => MatchRule::WholeWords,
        Mode::Compat => MatchRule::Substring,
    };
    let rouge = || {
        let (_, scores) = rouge_best(&rouge_references(prediction), output, stems)?;
        Some([scores.rouge_1, scores.rouge_2, scores.rouge_l].map(|score| score.f))
    };
    Overlap {
        words: word_count(output),
        matches: answer
            .and_then(|answer| matches(&without_citations(answer), &without_citations(output), rule))
            .map(one),
        exact: answer.map(|answer| one(exact_match(answer, output))),
        token_f1: answer.map(|answer| token_f1(answer, output)),
        str_em: str_em(&gold.short_answers, output),
        str_hit: str_hit(&gold.short_answers, output).map(one),
        rouge: if with_rouge { rouge() } else { None },
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::domain::Gold;

    fn of(output: &str, gold: Gold, mode: Mode) -> Overlap {
        let prediction = Prediction { output: Some(output.into()), gold, ..Prediction::default() };
        overlap(&prediction, mode, true, &Stems::new())
    }

    fn answer(text: &str) -> Gold {
        Gold { answer: Some(text.to_owned()), ..Gold::default() }
    }

    #[test]
    fn gold_is_matched_as_whole_words_and_in_compat_anywhere() {
        assert_eq!(of("It is known [1].", answer("no"), Mode::Default).matches, Some(0.0));
        assert_eq!(of("It is known [1].", answer("no"), Mode::Compat).matches, Some(1.0));
        assert_eq!(of("Yes [1], it is.", answer("yes, IT [3]"), Mode::Default).matches, Some(1.0));
    }

    #[test]
    fn what_lacks_its_gold_has_no_value() {
        let found = of("a b [1]", Gold::default(), Mode::Default);
        assert_eq!(found, Overlap { words: 3, ..Overlap::default() });
    }

    #[test]
    fn long_answers_are_references_before_the_gold_answer() {
        let gold = Gold { long_answers: vec!["red fish".into(), "blue fish".into()], ..answer("zzz") };
        // blue fish is the output: F 1 in all three
        assert_eq!(of("Blue fish.", gold, Mode::Default).rouge, Some([1.0; 3]));
        assert_eq!(of("zzz", answer("zzz"), Mode::Default).rouge, Some([1.0, 0.0, 1.0]));
    }

    #[test]
    fn short_answers_count_by_set() {
        let gold = Gold { short_answers: vec![vec!["cat".into()], vec!["dog".into()]], ..Gold::default() };
        let found = of("The cat.", gold, Mode::Default);
        assert_eq!((found.str_em, found.str_hit), (Some(0.5), Some(0.0)));
    }

    proptest! {
        #[test]
        fn every_share_is_a_share_and_a_text_equals_itself(output in "\\PC{0,40}", gold in "\\PC{0,40}") {
            let found = of(&output, answer(&gold), Mode::Default);
            let shares = [found.matches, found.exact, found.token_f1].into_iter().flatten();
            for share in shares.chain(found.rouge.into_iter().flatten()) {
                prop_assert!((0.0..=1.0).contains(&share));
            }
            let own = of(&output, answer(&output), Mode::Default);
            prop_assert_eq!((own.exact, own.token_f1), (Some(1.0), Some(1.0)));
        }

        #[test]
        fn first_words_are_a_prefix_of_so_many_words(text in "([a-z \\n]|\\PC){0,30}", limit in 0..6_usize) {
            let cut = first_words(&text, limit);
            prop_assert!(text.starts_with(cut) && word_count(cut) == limit.min(word_count(&text)));
        }
    }
}
