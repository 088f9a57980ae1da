//! When two titles are the same: letters and digits of any script, without case, accents, markup and punctuation.
//!
//! A title has two forms: its [`folded`] words, and its key, which is the words without the spaces between them, so that
//! "multi-modal" and "multimodal" are one title. Equality of keys decides; a [`ratio`] of keys only finds candidates: of
//! altered titles four in five are at .90 and more.

use std::borrow::Cow;

use icu_normalizer::DecomposingNormalizerBorrowed;

use super::markup::{GREEK, plain};

/// Between words.
const GAP: char = ' ';

/// Between words with a mark between them that ends a sentence, a field or a quotation.
pub(super) const STOP: char = '|';

/// Between words with a mark between them behind which a subtitle follows.
pub(super) const COLON: char = '^';

/// What journals put before the title of a retracted article; it was not part of the title that is cited.
const NOTICES: [&str; 7] = [
    "retracted article",
    "retracted paper",
    "retracted chapter",
    "retracted",
    "withdrawn article",
    "withdrawn",
    "temporary removal",
];

/// Marks between a title and its subtitle.
const SUBTITLE_MARKS: [&str; 9] = [": ", " - ", " – ", " — ", "—", "? ", "! ", ". ", "："];

/// The words of a text, with one space between them.
pub(super) fn folded(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    fold(&plain(text), &mut out);
    if out.contains([STOP, COLON]) {
        return out.replace([STOP, COLON], " ");
    }
    out
}

/// The words of a text, with [`STOP`] or [`COLON`] in place of a space where a mark ends something.
pub(super) fn folded_with_stops(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    fold(&plain(text), &mut out);
    out
}

/// The key of a title.
pub(super) fn title_key(title: &str) -> String {
    let mut key = folded(without_notice(&plain(title)));
    key.retain(|c| c != GAP);
    key
}

/// A title without its subtitle; `None` if it has none.
pub(super) fn main_title(title: &str) -> Option<String> {
    let title = plain(title);
    let title = without_notice(&title);
    let mut end = title.len();
    for mark in SUBTITLE_MARKS {
        if let Some(at) = title.find(mark) {
            end = end.min(at);
        }
    }
    let rest = title.get(end..)?;
    let has_words = |text: &str| text.chars().any(char::is_alphanumeric);
    (has_words(&title[..end]) && has_words(rest)).then(|| title[..end].to_owned())
}

/// A title without "RETRACTED:" before and "(retracted)" behind it.
pub(super) fn without_notice(title: &str) -> &str {
    let title = title.trim();
    let mut rest = title;
    let inside = title.trim_start_matches(['[', '(', '*']);
    for notice in NOTICES {
        let Some(head) = inside.get(..notice.len()) else {
            continue;
        };
        // "Retracted articles in cancer research" is a title.
        let behind = inside[notice.len()..].trim_start();
        if head.eq_ignore_ascii_case(notice) && behind.starts_with([':', ']', ')', '*']) {
            rest = behind.trim_start_matches([':', ']', ')', '*', ' ']);
            break;
        }
    }
    if let Some(at) = rest.rfind(['(', '['])
        && at > 0
    {
        let last = rest[at + 1..].trim_end_matches([')', ']', '.', ' ']);
        if NOTICES
            .iter()
            .any(|notice| last.eq_ignore_ascii_case(notice))
        {
            rest = rest[..at].trim_end();
        }
    }
    if rest.is_empty() { title } else { rest }
}

/// The words by which a title is found: of scripts without spaces, every two letters.
pub(super) fn words(folded: &str) -> Vec<&str> {
    let mut words = Vec::new();
    for word in folded.split(GAP).filter(|word| !word.is_empty()) {
        if word.chars().any(is_unspaced) {
            push_pairs(word, &mut words);
        } else {
            words.push(word);
        }
    }
    words
}

/// The number of words of folded text.
pub(super) fn word_count(folded: &str) -> usize {
    let mut count = 0;
    for word in folded.split(GAP).filter(|word| !word.is_empty()) {
        let unspaced = word.chars().filter(|c| is_unspaced(*c)).count();
        // A Chinese or Japanese word has two characters on average.
        count += unspaced.div_ceil(2).max(1);
    }
    count
}

fn push_pairs<'a>(word: &'a str, words: &mut Vec<&'a str>) {
    let starts: Vec<usize> = word.char_indices().map(|(at, _)| at).collect();
    for (index, start) in starts.iter().enumerate() {
        let end = starts.get(index + 2).copied().unwrap_or(word.len());
        if index == 0 || index + 1 < starts.len() {
            words.push(&word[*start..end]);
        }
    }
}

/// Whether this is a letter of a script that puts no spaces between words.
fn is_unspaced(c: char) -> bool {
    matches!(
        c as u32,
        0x0e00..=0x0eff | 0x1000..=0x109f | 0x1780..=0x17ff | 0x3040..=0x30ff | 0x3400..=0x9fff | 0xf900..=0xfaff
            | 0x20000..=0x3ffff
    )
}

/// How much of two keys is the same, from 0 to 1: one minus the edits over the length of the longer one.
pub(super) fn ratio(a: &str, b: &str) -> f64 {
    // The difference of lengths is a lower bound of the edits, and cheap.
    let shorter = a.len().min(b.len());
    let longer = a.len().max(b.len());
    if shorter * 2 < longer {
        return 0.0;
    }
    strsim::normalized_levenshtein(a, b)
}

/// Writes the words of plain text.
fn fold(text: &str, out: &mut String) {
    let text: Cow<'_, str> = if text.is_ascii() {
        Cow::Borrowed(text)
    } else {
        DecomposingNormalizerBorrowed::new_nfkd().normalize(text)
    };
    let mut gap = None;
    for c in text.chars() {
        if c.is_alphanumeric() || is_voicing(c) {
            if let Some(gap) = gap.take()
                && !out.is_empty()
            {
                out.push(gap);
            }
            push_folded(c, out);
        } else if is_stop(c) {
            gap = Some(STOP);
        } else if is_colon(c) {
            gap = gap.filter(|gap| *gap == STOP).or(Some(COLON));
        } else if !is_joining(c) {
            gap.get_or_insert(GAP);
        }
    }
}

/// Writes a letter or digit as the Latin letters that people write in its place.
fn push_folded(c: char, out: &mut String) {
    if c.is_ascii() {
        out.push(c.to_ascii_lowercase());
        return;
    }
    for lower in c.to_lowercase() {
        match lower {
            'ß' => out.push_str("ss"),
            'ø' => out.push('o'),
            'æ' => out.push_str("ae"),
            'œ' => out.push_str("oe"),
            'ł' => out.push('l'),
            'đ' | 'ð' => out.push('d'),
            'þ' => out.push_str("th"),
            'ħ' => out.push('h'),
            'ı' => out.push('i'),
            'ŋ' => out.push('n'),
            'ς' => out.push_str("sigma"),
            'ϵ' => out.push_str("epsilon"),
            'α'..='ω' => {
                let entry = GREEK.iter().find(|(_, letter)| *letter == lower);
                out.push_str(entry.map_or("", |(name, _)| name));
            }
            // A combining mark that lower case split off.
            lower if lower.is_alphanumeric() || is_voicing(lower) => out.push(lower),
            _ => {}
        }
    }
}

/// The marks that make が of か: another sound, not an accent.
fn is_voicing(c: char) -> bool {
    matches!(c, '\u{3099}' | '\u{309a}')
}

/// Marks within a word: apostrophes, accents, soft hyphens.
fn is_joining(c: char) -> bool {
    matches!(
        c,
        '\'' | '’' | '‘' | 'ʼ' | 'ʹ' | '`' | '´' | '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{300}'..='\u{36f}'
    )
}

/// Marks behind which a subtitle may follow.
fn is_colon(c: char) -> bool {
    matches!(c, ':' | '?' | '!' | '—' | '：' | '？')
}

fn is_stop(c: char) -> bool {
    matches!(
        c,
        '.' | ','
            | ';'
            | '"'
            | '('
            | ')'
            | '['
            | ']'
            | '“'
            | '”'
            | '„'
            | '«'
            | '»'
            | '*'
            | '_'
            | '|'
            | '。'
            | '，'
            | '、'
            | '；'
            | '「'
            | '」'
            | '『'
            | '』'
            | '《'
            | '》'
            | '（'
            | '）'
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn titles_that_people_write_differently_have_one_key() {
        for (a, b) in [
            ("Multi-Modal learning", "Multimodal Learning"),
            ("RETRACTED: Diet and Health", "Diet and health."),
            ("RETRACTED ARTICLE: Diet and Health", "Diet and health"),
            ("[Retracted] Diet and Health", "Diet and Health (Retracted)"),
            ("Über straße", "UBER STRASSE"),
            ("β-carotene", "beta-carotene"),
            ("Œuvre of Łódź", "oeuvre of lodz"),
            ("Ｆｕｌｌ width ﬁgure", "full width figure"),
            ("İstanbul", "istanbul"),
            ("深度 学习", "深度学习"),
        ] {
            assert_eq!(title_key(a), title_key(b), "{a}");
        }
        for (a, b) in [
            ("Retracted articles: a survey", "articles a survey"),
            ("がき", "かき"),
            ("Training neural networks", "Learning neural networks"),
        ] {
            assert_ne!(title_key(a), title_key(b), "{a}");
        }
        assert_eq!(title_key("Retracted"), "retracted");
    }

    #[test]
    fn a_subtitle_is_behind_a_mark() {
        assert_eq!(main_title("BERT: Pre-training of X").unwrap(), "BERT");
        assert_eq!(main_title("Is it hard? A theory").unwrap(), "Is it hard");
        assert_eq!(main_title("Pre-training - a view").unwrap(), "Pre-training");
        assert_eq!(main_title("Attention is all you need."), None);
        assert_eq!(main_title("GPT-3.5"), None);
    }

    #[test]
    fn scripts_without_spaces_have_words_of_two_letters() {
        assert_eq!(
            words("深度学习 of ai"),
            ["深度", "度学", "学习", "of", "ai"]
        );
        assert_eq!(words("学"), ["学"]);
        assert_eq!(word_count("深度学习 of ai"), 4);
    }

    #[test]
    fn stops_are_where_a_title_may_end() {
        assert_eq!(
            folded_with_stops("Doe, J. (2020) “A title, long.” In X-ray"),
            "doe|j|2020|a title|long|in x ray"
        );
    }

    proptest::proptest! {
        #[test]
        fn folding_twice_changes_nothing(text in ".{0,60}") {
            let once = folded(&text);
            proptest::prop_assert_eq!(folded(&once), once);
        }
    }
}
