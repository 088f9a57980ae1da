//! Names: those of raters in file names, and those of systems in the texts that raters read.

use std::collections::BTreeMap;

/// A name shorter than this is a word of many texts, and its occurrences say nothing.
const SHORTEST_NAME: usize = 3;

/// The name in file names: `a` to `z`, digits and hyphens.
///
/// ```
/// use scholareval::runs::plain_name;
/// assert_eq!(plain_name("Ana María/../x"), "ana-mar-a-x");
/// ```
pub fn plain_name(name: &str) -> String {
    let mut plain = String::new();
    for c in name.to_lowercase().chars() {
        if c.is_ascii_alphanumeric() {
            plain.push(c);
        } else if !plain.is_empty() && !plain.ends_with('-') {
            plain.push('-');
        }
    }
    let plain = plain.trim_end_matches('-');
    if plain.is_empty() { "rater" } else { plain }.to_owned()
}

/// How many of the texts have each of these names as whole words, in any case; names that occur nowhere are left out.
pub fn mentions<'a>(
    names: impl IntoIterator<Item = &'a str>,
    texts: &[&str],
) -> BTreeMap<&'a str, usize> {
    let texts: Vec<String> = texts.iter().map(|text| text.to_lowercase()).collect();
    let mut counts = BTreeMap::new();
    for name in names {
        let wanted = name.to_lowercase();
        if wanted.chars().count() < SHORTEST_NAME {
            continue;
        }
        let count = texts.iter().filter(|text| has_word(text, &wanted)).count();
        if count > 0 {
            counts.insert(name, count);
        }
    }
    counts
}

fn has_word(text: &str, word: &str) -> bool {
    text.match_indices(word).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let after = text[at + word.len()..].chars().next();
        let is_edge = |c: Option<char>| c.is_none_or(|c| !c.is_alphanumeric());
        is_edge(before) && is_edge(after)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_in_a_file_name_has_letters_digits_and_hyphens_only() {
        let plain = ["r1", "Dr. Ann  O'Neil", "..", "<b>", "ü"].map(plain_name);
        assert_eq!(plain, ["r1", "dr-ann-o-neil", "rater", "b", "rater"]);
    }

    #[test]
    fn a_system_is_found_as_a_whole_word_in_any_case() {
        let texts = ["As GPT-4o, I say", "gpt-4omni", "nothing"];
        let counts = mentions(["gpt-4o", "thing", "no"], &texts);
        assert_eq!(counts.into_iter().collect::<Vec<_>>(), [("gpt-4o", 1)]);
    }
}
