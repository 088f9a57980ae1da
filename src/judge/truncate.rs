//! Cutting what is judged so that its prompt fits (`--truncate`); never done unasked, and always reported.

use std::sync::Arc;

use crate::domain::JudgeTask;

/// By how much a text was cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Truncation {
    /// Characters (Unicode scalar values) that stayed, from the beginning.
    pub kept_chars: usize,
    /// Characters that there were.
    pub of_chars: usize,
}

/// A task and whether its prompt fits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fitted {
    /// It fits as it is.
    Whole,
    /// With its text cut it does.
    Cut(JudgeTask, Truncation),
    /// What stands around the text alone is too long.
    Never,
}

/// The task with the longest beginning of its text that fits into `room` tokens; `count` gives the tokens of a task's
/// whole prompt, reply not included. Cut is the answer, or the document of an attribution, at the end of a word; the
/// question, the criterion and the claim stay whole.
///
/// `count` is called about as often as the text's length has binary digits. Where it only estimates, `room` should leave
/// it a margin (an eighth); what is returned fits by its own numbers, whether or not they grow evenly.
pub fn fit(task: &JudgeTask, room: u64, count: impl Fn(&JudgeTask) -> u64) -> Fitted {
    if count(task) <= room {
        return Fitted::Whole;
    }
    let text = cut_text(task);
    let ends = word_ends(text);
    // The longest that fits lies in low..high; low fits, or is the empty text that has not been counted yet.
    let (mut low, mut high) = (0, ends.len());
    let mut best = None;
    while low < high {
        let middle = low + (high - low) / 2;
        let shorter = with_text(task, &text[..ends[middle]]);
        if count(&shorter) <= room {
            best = Some((shorter, ends[middle]));
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    match best {
        Some((task, end)) => {
            let (kept, of) = (text[..end].chars().count(), text.chars().count());
            Fitted::Cut(task, Truncation { kept_chars: kept, of_chars: of })
        }
        None => Fitted::Never,
    }
}

/// The text that may be cut.
fn cut_text(task: &JudgeTask) -> &Arc<str> {
    match task {
        JudgeTask::Attribution { document, .. } => document,
        other => other.answer(),
    }
}

fn with_text(task: &JudgeTask, text: &str) -> JudgeTask {
    let mut task = task.clone();
    let place = match &mut task {
        JudgeTask::Attribution { document, .. } => document,
        JudgeTask::Expertise { answer, .. }
        | JudgeTask::Property { answer, .. }
        | JudgeTask::Evidence { answer, .. }
        | JudgeTask::Citations { answer, .. }
        | JudgeTask::Aspect { answer, .. } => answer,
    };
    *place = text.into();
    task
}

/// Where words end, but for the last; text without white space may be cut after any character.
fn word_ends(text: &str) -> Vec<usize> {
    let is_end = |(at, c): &(usize, char)| c.is_whitespace() && !text[..*at].ends_with(char::is_whitespace) && *at > 0;
    let ends: Vec<usize> = text.char_indices().filter(is_end).map(|(at, _)| at).collect();
    if ends.is_empty() { text.char_indices().map(|(at, _)| at).skip(1).collect() } else { ends }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn task(answer: &str) -> JudgeTask {
        JudgeTask::Property { question: "q".into(), answer: answer.into(), criterion: "c".into() }
    }

    /// Ten tokens around an answer of one token a word.
    fn words(task: &JudgeTask) -> u64 {
        10 + task.answer().split_whitespace().count() as u64
    }

    #[test]
    fn an_answer_is_cut_to_the_last_word_that_fits() {
        let of = task("one two  three four");
        assert_eq!(fit(&of, 14, words), Fitted::Whole);
        let cut = Truncation { kept_chars: 14, of_chars: 19 };
        assert_eq!(fit(&of, 13, words), Fitted::Cut(task("one two  three"), cut));
        let cut = Truncation { kept_chars: 3, of_chars: 19 };
        assert_eq!(fit(&of, 11, words), Fitted::Cut(task("one"), cut));
        assert_eq!(fit(&of, 10, words), Fitted::Never, "an empty answer is none");
    }

    #[test]
    fn of_an_attribution_the_document_is_cut() {
        let of = |document: &str| JudgeTask::Attribution { claim: "a b c".into(), document: document.into() };
        let count = |task: &JudgeTask| task.question().len() as u64;
        let cut = Truncation { kept_chars: 2, of_chars: 5 };
        assert_eq!(fit(&of("d\u{e9} fg"), 4, count), Fitted::Cut(of("d\u{e9}"), cut));
    }

    #[test]
    fn text_without_spaces_is_cut_between_characters() {
        let count = |task: &JudgeTask| task.answer().chars().count() as u64;
        let cut = Truncation { kept_chars: 2, of_chars: 4 };
        assert_eq!(
            fit(&task("\u{8a9e}\u{8a9e}\u{8a9e}\u{8a9e}"), 2, count),
            Fitted::Cut(task("\u{8a9e}\u{8a9e}"), cut)
        );
    }

    proptest! {
        #[test]
        fn what_is_cut_is_a_beginning_that_fits(text in "([a-z\u{e9}]{0,4}[ \n]{0,2}){0,30}", room in 0_u64..40) {
            match fit(&task(&text), room, words) {
                Fitted::Whole => prop_assert!(words(&task(&text)) <= room),
                Fitted::Cut(cut, Truncation { kept_chars, of_chars }) => {
                    prop_assert!(words(&cut) <= room && text.starts_with(&**cut.answer()));
                    prop_assert_eq!((cut.answer().chars().count(), text.chars().count()), (kept_chars, of_chars));
                    prop_assert_eq!(words(&cut), room, "the longest");
                }
                Fitted::Never => prop_assert!(room <= 10 || text.split_whitespace().count() < 2),
            }
        }
    }
}
