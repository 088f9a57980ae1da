//! Cuts the text of a question to the room there is for its prompt (`--truncate`).

use std::sync::Arc;

use scholareval_core::question::Question;

/// The question about the longest beginning of its text that fits into `room` tokens; `count` gives the tokens of a
/// question's whole prompt, reply not included. `None` if no beginning fits. The text ends with a word; everything else
/// that the question shows stays whole.
///
/// `count` is called about as often as the text's length has binary digits.
pub(super) fn cut_to_fit(
    question: &dyn Question,
    room: u64,
    count: impl Fn(&dyn Question) -> u64,
) -> Option<Arc<dyn Question>> {
    let text = question.judged();
    let ends = word_ends(text);
    // By halving, since each look renders and counts a whole prompt.
    let fitting = ends.partition_point(|end| {
        let cut = question.with_judged(text[..*end].into());
        count(&*cut) <= room
    });
    let longest = *ends.get(fitting.checked_sub(1)?)?;
    Some(question.with_judged(text[..longest].into()))
}

/// Ends of the words except the last; text without white space may be cut after any character.
fn word_ends(text: &str) -> Vec<usize> {
    let mut ends = Vec::new();
    for (at, c) in text.char_indices() {
        let before = &text[..at];
        if c.is_whitespace() && at > 0 && !before.ends_with(char::is_whitespace) {
            ends.push(at);
        }
    }
    if ends.is_empty() {
        text.char_indices().map(|(at, _)| at).skip(1).collect()
    } else {
        ends
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use scholareval_core::question::{Property, SourceSupport};

    fn about(answer: &str) -> Property {
        Property {
            question: "q".into(),
            answer: answer.into(),
            criterion: "c".into(),
        }
    }

    /// Ten tokens around an answer of one token a word.
    fn words(question: &dyn Question) -> u64 {
        10 + question.judged().split_whitespace().count() as u64
    }

    /// The judged text of the cut question.
    fn cut(
        question: &dyn Question,
        room: u64,
        count: impl Fn(&dyn Question) -> u64,
    ) -> Option<String> {
        let cut = cut_to_fit(question, room, count)?;
        Some(cut.judged().to_string())
    }

    #[test]
    fn an_answer_is_cut_to_the_last_word_that_fits() {
        let of = about("one two  three four");
        assert_eq!(cut(&of, 13, words).as_deref(), Some("one two  three"));
        assert_eq!(cut(&of, 11, words).as_deref(), Some("one"));
        assert_eq!(cut(&of, 10, words), None, "an empty answer is none");
    }

    #[test]
    fn of_an_attribution_the_document_is_cut() {
        let of = |document: &str| SourceSupport {
            claim: "a b c".into(),
            document: document.into(),
        };
        let count = |question: &dyn Question| question.judged().len() as u64;
        let cut = cut_to_fit(&of("d\u{e9} fg"), 4, count).unwrap();
        let expected: &dyn Question = &of("d\u{e9}");
        assert_eq!(&*cut, expected);
    }

    #[test]
    fn text_without_spaces_is_cut_between_characters() {
        let count = |question: &dyn Question| question.judged().chars().count() as u64;
        let whole = about("\u{8a9e}\u{8a9e}\u{8a9e}\u{8a9e}");
        assert_eq!(cut(&whole, 2, count).as_deref(), Some("\u{8a9e}\u{8a9e}"));
    }

    proptest! {
        #[test]
        fn what_is_cut_is_a_beginning_that_fits(text in "([a-z\u{e9}]{0,4}[ \n]{0,2}){0,30}", room in 0_u64..40) {
            let whole = about(&text);
            prop_assume!(words(&whole) > room);
            match cut_to_fit(&whole, room, words) {
                Some(cut) => {
                    prop_assert!(text.starts_with(&**cut.judged()));
                    prop_assert_eq!(words(&*cut), room, "the longest");
                }
                None => prop_assert!(room <= 10 || text.split_whitespace().count() < 2),
            }
        }
    }
}
