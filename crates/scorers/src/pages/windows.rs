//! Long pages, divided into parts that a judge reads one by one.

use std::num::NonZeroU64;
use std::sync::Arc;

use scholareval_core::text::model_tokens::estimate_tokens;

/// The most parts of a page: a longer one is not read. Reading only its beginning would call statements unsupported that
/// the rest supports.
const MAX_WINDOWS: usize = 8;

/// Length in bytes of what two parts share, so that a passage at the border is whole in one of them.
const OVERLAP: usize = 1000;

/// The parts of a text, each of about so many tokens; `None` if there are too many.
pub(super) fn windows(text: &Arc<str>, page_tokens: NonZeroU64) -> Option<Vec<Arc<str>>> {
    let tokens = estimate_tokens(text);
    if tokens <= page_tokens.get() {
        return Some(vec![Arc::clone(text)]);
    }
    let share = page_tokens.get() as f64 / tokens as f64;
    let size = ((text.len() as f64 * share) as usize).max(2 * OVERLAP);
    let mut windows = Vec::new();
    let mut start = 0;
    while start < text.len() {
        if windows.len() == MAX_WINDOWS {
            return None;
        }
        let end = word_end(text, start + size);
        windows.push(text[start..end].into());
        if end == text.len() {
            break;
        }
        start = word_end(text, end - OVERLAP);
    }
    Some(windows)
}

/// The first end of a word at or after this place; a run of letters without an end is cut between characters.
fn word_end(text: &str, at: usize) -> usize {
    let at = text.ceil_char_boundary(at);
    let rest = &text[at..];
    let near = &rest[..rest.floor_char_boundary(OVERLAP / 2)];
    match near.find(char::is_whitespace) {
        Some(offset) => at + offset,
        None => at,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn windows_of(words: usize, page_tokens: u64) -> Option<Vec<Arc<str>>> {
        let text: Arc<str> = "glacier ".repeat(words).into();
        windows(&text, NonZeroU64::new(page_tokens).unwrap())
    }

    #[test]
    fn a_short_page_is_one_part_and_a_long_one_has_parts_that_overlap() {
        assert_eq!(windows_of(100, 1000).unwrap().len(), 1);
        let parts = windows_of(5000, 2000).unwrap();
        assert!((3..=4).contains(&parts.len()), "{}", parts.len());
        for part in &parts {
            assert!(estimate_tokens(part) <= 2200);
            // No word is cut.
            assert!(part.split_whitespace().all(|word| word == "glacier"));
        }
        let bytes: usize = parts.iter().map(|part| part.len()).sum();
        assert!(bytes >= 5000 * 8 + (parts.len() - 1) * (OVERLAP - 10));
    }

    #[test]
    fn a_page_of_too_many_parts_is_not_read_at_all() {
        assert_eq!(windows_of(50_000, 2000), None);
    }

    #[test]
    fn text_without_spaces_is_cut_between_characters() {
        let text: Arc<str> = "冰".repeat(6000).into();
        let parts = windows(&text, NonZeroU64::new(2000).unwrap()).unwrap();
        assert!(parts.len() > 1 && parts.iter().all(|part| part.chars().all(|c| c == '冰')));
    }
}
