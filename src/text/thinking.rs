//! Reasoning that a model writes before its answer, as in `<think>..</think>`.

const OPEN: &str = "<think>";
const CLOSE: &str = "</think>";
/// White space within a line.
const BLANKS: [char; 3] = [' ', '\t', '\r'];

/// Length in bytes of the reasoning at the start of a text, with the white space behind it; 0 if there is none.
///
/// It is a block that begins the text, or, since chat templates write the opening tag themselves, everything up to a
/// closing tag that begins or ends its line, has no opening tag before it and stands in no code block. A block that is
/// never closed takes the whole text. Tags elsewhere belong to the answer.
///
/// ```
/// use scholareval::text::thinking::thinking_bytes;
///
/// let text = "<think>Is it rain?</think>\n\nRain. Write `</think>` at the end.";
/// assert_eq!(&text[thinking_bytes(text)..], "Rain. Write `</think>` at the end.");
/// ```
pub fn thinking_bytes(text: &str) -> usize {
    let mut answer = text;
    while let Some(rest) = after_block(answer) {
        answer = rest.trim_start();
    }
    text.len() - answer.len()
}

/// What follows the reasoning that begins the text.
fn after_block(text: &str) -> Option<&str> {
    if let Some(block) = text.trim_start().strip_prefix(OPEN) {
        // A block that is never closed was cut while the model was reasoning: there is no answer
        // behind it.
        return Some(block.split_once(CLOSE).map_or("", |(_, rest)| rest));
    }
    let (mut fences, mut from) = (0, 0);
    for (at, _) in text.match_indices(CLOSE) {
        let (between, rest) = (&text[from..at], &text[at + CLOSE.len()..]);
        // Then both tags are part of the text, such as an answer about such models.
        if between.contains(OPEN) {
            return None;
        }
        fences += between.matches("```").count();
        let begins_line = matches!(
            text[..at].trim_end_matches(BLANKS).chars().next_back(),
            None | Some('\n')
        );
        let ends_line = matches!(
            rest.trim_start_matches(BLANKS).chars().next(),
            None | Some('\n')
        );
        // Within a sentence or a code block the tag is quoted.
        if (begins_line || ends_line) && fences % 2 == 0 {
            return Some(rest);
        }
        from = at + CLOSE.len();
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_reasoning_at_the_start_is_removed() {
        for (text, answer) in [
            ("Rain.", "Rain."),
            ("\n Rain.", "\n Rain."),
            ("<think>Why?</think>Rain.", "Rain."),
            (" \n<think>\nWhy?\n</think>\n\nRain.\n", "Rain.\n"),
            ("<think></think><think>Why?</think> Rain.", "Rain."),
            // The template wrote the opening tag.
            ("Why?\n</think>\n\nRain.", "Rain."),
            ("Why?</think>\nRain.", "Rain."),
            ("`</think>` ends it.\n</think>Rain.", "Rain."),
            ("Why?</think>", ""),
            // Cut off.
            ("<think>Why? Because", ""),
            // Tags that the answer mentions.
            ("Models write <think> first.", "Models write <think> first."),
            (
                "Rain.\n<think>\nWhy?\n</think>\n",
                "Rain.\n<think>\nWhy?\n</think>\n",
            ),
            (
                "It ends with `</think>`, then rain.",
                "It ends with `</think>`, then rain.",
            ),
            (
                "So:\n```\n{reasoning}</think>\n```\n",
                "So:\n```\n{reasoning}</think>\n```\n",
            ),
        ] {
            assert_eq!(&text[thinking_bytes(text)..], answer, "{text:?}");
        }
    }

    #[test]
    fn many_tags_take_linear_time() {
        for text in [
            "```\n".to_owned() + &"\n</think>".repeat(200_000),
            "x</think>y".repeat(200_000),
        ] {
            assert_eq!(thinking_bytes(&text), 0);
        }
    }
}
