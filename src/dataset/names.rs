//! Suggestions for unknown names.

use crate::text::nearest::nearest;

/// Maximum number of names to list.
const SHOWN: usize = 5;

/// Maximum number of characters of a question in a message.
const QUESTION_SHOWN: usize = 60;

/// Hint for an unknown name: the nearest known one, else the first known ones.
pub(crate) fn suggest<'a>(unknown: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let known: Vec<&str> = known.into_iter().collect();
    match nearest(unknown, known.iter().copied()) {
        Some(name) => format!("did you mean {}?", name.escape_debug()),
        None if known.is_empty() => String::new(),
        None => format!("known: {}", list(known, SHOWN)),
    }
}

/// `a, b, c and 4 more`.
pub(crate) fn list<'a>(names: impl IntoIterator<Item = &'a str>, shown: usize) -> String {
    let names: Vec<String> = names.into_iter().map(|name| name.escape_debug().to_string()).collect();
    let mut text = names.iter().take(shown).cloned().collect::<Vec<_>>().join(", ");
    if names.len() > shown {
        text.push_str(&format!(" and {} more", names.len() - shown));
    }
    text
}

/// The beginning of a question.
pub(super) fn start_of(question: &str) -> String {
    let start: String = question.chars().take(QUESTION_SHOWN).collect();
    if start.len() < question.len() { start + "\u{2026}" } else { start }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_close_name_is_suggested_before_the_others_are_listed() {
        let known = ["claude", "gpt", "nora", "perplexity"];
        assert_eq!(suggest("Cluade", known), "did you mean claude?");
        assert_eq!(suggest("zzz", known), "known: claude, gpt, nora, perplexity");
        assert_eq!(suggest("x", []), "");
    }

    #[test]
    fn long_lists_are_cut_and_counted() {
        assert_eq!(list(["a", "b", "c"], 2), "a, b and 1 more");
    }
}
