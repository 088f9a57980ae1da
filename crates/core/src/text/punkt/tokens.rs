//! Punkt's word tokens: split at white space and around punctuation that is not part of a word.

use crate::text::python_chars::is_python_whitespace;

/// Quotation marks beyond ASCII; NLTK 3.10 treats them like `"`.
pub(super) const QUOTATION_MARKS: [char; 6] = ['«', '»', '‘', '’', '“', '”'];

/// Punctuation that ends the word before it, except the full stop.
pub(super) fn ends_word(c: char) -> bool {
    matches!(
        c,
        ')' | '"' | ';' | '}' | ']' | '*' | ':' | '@' | '\'' | '(' | '{' | '[' | '?' | '!'
    ) || QUOTATION_MARKS.contains(&c)
}

/// Punctuation that is a token by itself.
fn begins_no_word(c: char) -> bool {
    "(\"`{[:;&#*@)}]-,".contains(c)
}

/// The tokens of a text, in order; line breaks always separate.
pub(super) fn tokens(text: &str) -> impl Iterator<Item = &str> {
    let lines = text
        .split('\n')
        .filter(|line| !line.chars().all(is_python_whitespace));
    lines.flat_map(|line| {
        let mut rest = line;
        std::iter::from_fn(move || {
            rest = rest.trim_start();
            let (token, behind) = rest
                .split_at_checked(token_length(rest))
                .filter(|(token, _)| !token.is_empty())?;
            rest = behind;
            Some(token)
        })
    })
}

/// Length of the first token; the text must not start with white space.
fn token_length(line: &str) -> usize {
    let repeated = repeated_mark_length(line);
    if repeated > 0 {
        return repeated;
    }
    let mut ends = line.char_indices().skip(1).map(|(at, _)| at);
    let end = if line.starts_with(begins_no_word) {
        ends.next()
    } else {
        ends.find(|at| is_word_end(&line[*at..]))
    };
    end.unwrap_or(line.len())
}

/// Whether a word ends before `rest`.
fn is_word_end(rest: &str) -> bool {
    stops_word(rest) || rest.strip_prefix(',').is_some_and(stops_word)
}

fn stops_word(rest: &str) -> bool {
    match rest.chars().next() {
        None => true,
        Some(c) => ends_word(c) || c.is_whitespace() || repeated_mark_length(rest) > 0,
    }
}

/// Length of dashes (`--`), dots (`..`) or spaced dots (`. . .`) at the start of `rest`, else 0.
fn repeated_mark_length(rest: &str) -> usize {
    let dashes = run_length(rest, '-');
    let dots = run_length(rest, '.');
    if dashes >= 2 {
        dashes
    } else if dots >= 2 {
        dots
    } else if dots == 1 {
        spaced_dots_length(rest)
    } else {
        0
    }
}

fn run_length(rest: &str, mark: char) -> usize {
    rest.len() - rest.trim_start_matches(mark).len()
}

/// Three dots or more, one white-space character between them.
fn spaced_dots_length(rest: &str) -> usize {
    let (mut length, mut dots) = (0, 0);
    let mut tail = rest;
    while let Some(behind) = tail.strip_prefix('.') {
        dots += 1;
        if dots >= 3 {
            length = rest.len() - behind.len();
        }
        let Some(next) = behind.strip_prefix(char::is_whitespace) else {
            break;
        };
        tail = next;
    }
    length
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use crate::text::python_chars::is_python_whitespace;

    fn tokens(text: &str) -> Vec<&str> {
        super::tokens(text).collect()
    }

    #[test]
    fn words_keep_their_full_stop_and_lose_other_punctuation() {
        assert_eq!(
            tokens("Dr. Who (e.g., x): yes!?"),
            [
                "Dr.", "Who", "(", "e.g.", ",", "x", ")", ":", "yes", "!", "?"
            ]
        );
        assert_eq!(
            tokens("1,000 a,b c,) 'tis it's"),
            ["1,000", "a,b", "c", ",", ")", "'tis", "it", "'s"]
        );
    }

    #[test]
    fn runs_of_dashes_and_dots_are_one_token() {
        assert_eq!(
            tokens("wait...what--no - -x"),
            ["wait", "...", "what", "--", "no", "-", "-", "x"]
        );
        assert_eq!(tokens("so . . . on"), ["so", ". . .", "on"]);
        assert_eq!(tokens(". . on"), [".", ".", "on"], "two are too few");
        assert_eq!(tokens(". . . . x"), [". . . .", "x"]);
        assert_eq!(
            tokens(". . .\n. x"),
            [". . .", ".", "x"],
            "a line break separates"
        );
    }

    proptest! {
        #[test]
        fn tokens_are_all_that_is_not_white_space(text in "([.,?!'\"()\\[\\]a-c\\n -]|\u{a0}|\u{1c}|\\PC){0,40}") {
            let joined: String = tokens(&text).concat();
            let without = |s: &str| s.chars().filter(|c| !is_python_whitespace(*c)).collect::<String>();
            prop_assert_eq!(without(&joined), without(&text));
        }
    }
}
