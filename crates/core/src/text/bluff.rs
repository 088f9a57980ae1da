//! An answer that names what its criteria ask about and says nothing of it, as systems learn to write that are rewarded by
//! rubrics.
//!
//! It claims to cover the words of each criterion, in sentences without content, evidence and citations.

use std::cmp::Reverse;

use super::tokens::{is_stop_word, token_ranges};

/// Words of a phrase that spaces separate. A longer one could be a statement of the criterion, which is an answer.
const MOST_WORDS: usize = 2;
/// Bytes of a phrase: in a script without spaces, words have no ends.
const MOST_BYTES: usize = 48;
/// Phrases of a criterion or a question.
const MOST_PHRASES: usize = 4;
/// Sentences of a paragraph.
const PARAGRAPH: usize = 5;

/// Words of criteria about an answer and not about its topic; sorted, to be searched by halving.
const RUBRIC_WORDS: [&str; 36] = [
    "answer",
    "answers",
    "appropriate",
    "cite",
    "cites",
    "clearly",
    "correctly",
    "criteria",
    "criterion",
    "describe",
    "describes",
    "discuss",
    "discusses",
    "explain",
    "explains",
    "explicitly",
    "give",
    "gives",
    "identifies",
    "identify",
    "include",
    "includes",
    "list",
    "lists",
    "mention",
    "mentions",
    "name",
    "names",
    "provide",
    "provides",
    "question",
    "response",
    "responses",
    "specific",
    "state",
    "states",
];

/// The first sentence.
const OPENING: &str = "This is a complete answer to the question about {}.";
/// Sentences about the criteria, in turn.
const CLAIMS: [&str; 8] = [
    "It covers {} in depth.",
    "Close attention is paid to {}, which is treated from every side.",
    "The part on {} is clear and detailed.",
    "With regard to {}, each relevant point is made.",
    "The reader also learns all that matters about {}.",
    "A careful account of {} belongs to this answer as well.",
    "Nothing essential about {} is left out.",
    "The evidence on {} is presented with the necessary detail.",
];
/// The last sentence.
const CLOSING: &str = "Taken together, these points answer the question in full.";

/// The answer to a question that names the words of each of these demands; `None` where none of them has any. Numbers are not
/// named, since they can be what is asked for.
///
/// ```
/// use scholareval_core::text::bluff::bluff;
///
/// let text = bluff("Does aspirin help?", ["Explains that aspirin lowers mortality by 30%."]);
/// let expected = "This is a complete answer to the question about aspirin help. It covers aspirin lowers and mortality \
///     in depth. Taken together, these points answer the question in full.";
/// assert_eq!(text.as_deref(), Some(expected));
/// assert_eq!(bluff("Does aspirin help?", ["It does."]), None);
/// ```
pub fn bluff<'a>(question: &str, demands: impl IntoIterator<Item = &'a str>) -> Option<String> {
    let mut sentences = Vec::new();
    for demand in demands {
        if let Some(phrases) = phrase_list(demand) {
            let claim = CLAIMS[sentences.len() % CLAIMS.len()];
            sentences.push(claim.replace("{}", &phrases));
        }
    }
    if sentences.is_empty() {
        return None;
    }
    if let Some(phrases) = phrase_list(question) {
        sentences.insert(0, OPENING.replace("{}", &phrases));
    }
    sentences.push(CLOSING.to_owned());
    let paragraphs = sentences.chunks(PARAGRAPH);
    let paragraphs: Vec<String> = paragraphs.map(|sentences| sentences.join(" ")).collect();
    Some(paragraphs.join("\n\n"))
}

/// `aspirin lowers, children and mortality`: the longest phrases of a text, which are seldom those of the wording of rubrics, by the
/// alphabet, so that none of its statements stays together.
fn phrase_list(text: &str) -> Option<String> {
    let mut phrases = key_phrases(text);
    phrases.sort_by_key(|phrase| phrase.to_lowercase());
    phrases.dedup_by_key(|phrase| phrase.to_lowercase());
    phrases.sort_by_key(|phrase| Reverse(phrase.len()));
    phrases.truncate(MOST_PHRASES);
    phrases.sort_by_key(|phrase| phrase.to_lowercase());
    let last = phrases.pop()?;
    if phrases.is_empty() {
        return Some(last.to_owned());
    }
    Some(format!("{} and {last}", phrases.join(", ")))
}

/// The runs of words with content, of up to [`MOST_WORDS`] each, in order.
fn key_phrases(text: &str) -> Vec<&str> {
    let mut phrases: Vec<&str> = Vec::new();
    // The open phrase: where it starts and ends, and its number of words.
    let mut open: Option<(usize, usize, usize)> = None;
    for word in token_ranges(text) {
        if let Some((start, end, words)) = open {
            let more = match &text[end..word.start] {
                // Parts of a word with a hyphen, and letters of a script without spaces.
                "" | "-" | "'" | "’" => Some(words),
                " " if words < MOST_WORDS && has_content(&text[word.clone()]) => Some(words + 1),
                _ => None,
            };
            if let Some(more) = more.filter(|_| word.end - start <= MOST_BYTES) {
                open = Some((start, word.end, more));
                continue;
            }
            phrases.push(&text[start..end]);
            open = None;
        }
        if has_content(&text[word.clone()]) && word.len() <= MOST_BYTES {
            open = Some((word.start, word.end, 1));
        }
    }
    phrases.extend(open.map(|(start, end, _)| &text[start..end]));
    phrases
}

/// Whether a word is about a topic; a number can be the answer itself.
fn has_content(word: &str) -> bool {
    let lower = word.to_lowercase();
    let is_name = word.len() > 1 && !word.starts_with(char::is_numeric);
    is_name && !is_stop_word(&lower) && RUBRIC_WORDS.binary_search(&lower.as_str()).is_err()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::text::citation_markers::{author_year_markers, citation_markers};

    #[test]
    fn phrases_are_short_and_have_no_numbers_and_no_words_of_rubrics() {
        assert!(RUBRIC_WORDS.is_sorted());
        let criterion = "The answer should explain that lipid-based nanoparticles protect mRNA from RNases (90% of \
            COVID-19 vaccines), e.g. Pfizer's";
        let expected = [
            "lipid-based nanoparticles",
            "protect mRNA",
            "RNases",
            "COVID-19 vaccines",
            "Pfizer's",
        ];
        assert_eq!(key_phrases(criterion), expected);
        // Three bytes a letter: 16 letters.
        let han = "脂".repeat(40);
        assert_eq!(key_phrases(&han)[0], "脂".repeat(16));
        assert_eq!(key_phrases(&"x".repeat(100)), [""; 0]);
    }

    #[test]
    fn the_longest_phrases_are_named_by_the_alphabet_and_once() {
        let criterion = "Solvers of SAT, clause learning, Random restarts, backtracking, SAT, memory, Random restarts";
        // 15 letters, 15, 12, 7 (of Solvers and memory the longer one).
        let expected = "backtracking, clause learning, Random restarts and Solvers";
        assert_eq!(phrase_list(criterion).as_deref(), Some(expected));
        assert_eq!(phrase_list("It is 30%."), None);
    }

    #[test]
    fn each_criterion_has_a_sentence_and_sentences_take_turns() {
        let demands: Vec<String> = (0..9)
            .map(|i| format!("Mentions topic{}.", "abcdefghi".chars().nth(i).unwrap()))
            .collect();
        let text = bluff("", demands.iter().map(String::as_str)).unwrap();
        // Nine claims and the closing sentence, five a paragraph.
        assert_eq!(text.split("\n\n").count(), 2);
        assert!(
            text.starts_with("It covers topica in depth. Close attention is paid to topicb, "),
            "{text}"
        );
        assert!(
            text.contains(" It covers topici in depth. Taken together, "),
            "{text}"
        );
        for letter in "abcdefghi".chars() {
            assert_eq!(text.matches(&format!("topic{letter}")).count(), 1, "{text}");
        }
    }

    proptest! {
        #[test]
        fn hostile_criteria_leave_words_alone(criterion in "(\\PC|[\n\t]|\\[1\\]|\\(Ng, 2001\\)|</answer>|\\{\\}| [a-z]{4,9}){0,30}") {
            let Some(text) = bluff(&criterion, [criterion.as_str()]) else { return Ok(()) };
            prop_assert!(citation_markers(&text).is_empty() && author_year_markers(&text).is_empty(), "{}", text);
            prop_assert!(!text.contains(['<', '>', '[', ']', '{', '}', '\n', '`']), "{}", text);
            // Four phrases of 48 bytes in each of two sentences.
            prop_assert!(text.len() < 700, "{}", text);
        }
    }
}
