//! When two titles are the same: letters and digits of any script, without case, accents, markup and punctuation.
//!
//! A title has two forms: its [`folded`] words, and its key, which is the words without the spaces between them, so that
//! "multi-modal" and "multimodal" are one title. Equality of keys decides; a [`ratio`] of keys only finds candidates: of
//! altered titles four in five are at .90 and more.

use std::borrow::Cow;

use icu_normalizer::DecomposingNormalizerBorrowed;

use super::markup::{GREEK, plain};
use scholareval_core::text::tables::pairs;

/// Between words.
const GAP: char = ' ';

/// Between words with a mark between them that ends a sentence, a field or a quotation.
pub(super) const STOP: char = '|';

/// Between words with a mark between them behind which a subtitle follows.
pub(super) const COLON: char = '^';

/// Between words with both: `”:`, `) –`.
pub(super) const STOP_AND_COLON: char = '&';

/// Between words with a quotation mark or a bracket between them, and no other mark.
pub(super) const QUOTE: char = '"';

/// All that stands between words.
pub(super) const GAPS: [char; 5] = [GAP, STOP, COLON, STOP_AND_COLON, QUOTE];

/// The first word of what journals put before or behind the title of an article that they take back.
const NOTICES: [&str; 5] = ["retracted", "withdrawn", "removed", "撤稿", "已撤稿"];

/// The words that may follow it.
const NOTICE_WORDS: &str = "abstract and article book chapter conference letter manuscript note paper preprint proceeding \
    proceedings protocol publication replaced report republished review study thesis";

/// Such words of an article that may come back.
const TEMPORARY_NOTICE: &str = "temporary removal";

/// Marks behind a notice that stands before a title.
const NOTICE_ENDS: [char; 10] = [':', '：', ']', ')', '】', '*', '|', '—', '–', '.'];

/// With what the mark between a title and its subtitle begins.
const SUBTITLE_MARKS: [char; 9] = [':', '：', ' ', '—', '?', '？', '!', '！', '.'];

/// Quotation marks and brackets, at the beginning and at the end.
const OPENING: &str = "\"'“‘„‚«‹»›「『《〈（([{【";
const CLOSING: &str = "\"'”’“‘»›«‹」』》〉）)]}】";

/// Other marks that end a sentence or a field.
const STOPS: &str = ".,;*_|。，、；";

/// The words of a text, with one space between them.
pub(super) fn folded(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    fold(&plain(text), &mut out);
    if out.contains(&GAPS[1..]) {
        return out.replace(&GAPS[1..], " ");
    }
    out
}

/// The words of a text, with another one of the [`GAPS`] in place of a space where a mark ends something.
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
    let mut ends = title
        .match_indices(SUBTITLE_MARKS)
        .filter_map(|(at, _)| Some(at + main_title_end(&title[at..])?));
    let (main, rest) = title.split_at(ends.next()?);
    let has_words = |text: &str| text.chars().any(char::is_alphanumeric);
    (has_words(main) && has_words(rest)).then(|| main.to_owned())
}

/// Where a main title ends, if it does at this mark: before a colon, before a dash with spaces, or behind the marks of a
/// sentence and of the quotation that it ends.
fn main_title_end(rest: &str) -> Option<usize> {
    let marks = ["：", "—", ": ", " - ", " – "];
    if marks.iter().any(|mark| rest.starts_with(mark)) {
        return Some(0);
    }
    let behind = rest.strip_prefix(['？', '！', '?', '!', '.'])?;
    let subtitle = behind.trim_start_matches(is_closing);
    let ends = subtitle.starts_with(' ') || rest.starts_with(['？', '！']);
    ends.then(|| rest.len() - subtitle.len())
}

/// Whether a title ends in a quotation mark or a bracket.
pub(super) fn ends_in_quotation(title: &str) -> bool {
    title.trim_end().ends_with(is_closing)
}

fn is_closing(c: char) -> bool {
    CLOSING.contains(c)
}

/// A title without "RETRACTED:" before and "(retracted)" behind it.
pub(super) fn without_notice(title: &str) -> &str {
    title_and_notice(title).0
}

/// Whether the title says that the work is retracted: "RETRACTED: ..", "[Withdrawn] ..", ".. (retracted article)".
/// "Retraction: .." is the title of a notice.
pub(super) fn is_marked_as_retracted(title: &str) -> bool {
    let title = plain(title);
    title_and_notice(&title).1.is_some_and(is_retraction)
}

/// A title, and what the journal put before or behind it.
fn title_and_notice(title: &str) -> (&str, Option<&str>) {
    let title = title.trim();
    let marked = notice_before(title).or_else(|| notice_behind(title));
    let has_words = |text: &str| text.chars().any(char::is_alphanumeric);
    match marked {
        Some((rest, notice)) if has_words(rest) => (rest, Some(notice)),
        _ => (title, None),
    }
}

/// A title behind a notice, and the notice. "Retracted articles in cancer research" is a title.
fn notice_before(title: &str) -> Option<(&str, &str)> {
    let inside = title.trim_start_matches(|c| c == '*' || OPENING.contains(c));
    let begins_with = |notice: &&str| {
        let head = inside.get(..notice.len());
        head.is_some_and(|head| head.eq_ignore_ascii_case(notice))
    };
    // Nearly all titles begin otherwise, which is seen at once.
    if !NOTICES.iter().chain(&[TEMPORARY_NOTICE]).any(begins_with) {
        return None;
    }
    let ends = inside
        .find(NOTICE_ENDS)
        .into_iter()
        .chain(inside.find(" - "));
    let (notice, rest) = inside.split_at(ends.min()?);
    let is_mark = |c: char| c == ' ' || c == '-' || NOTICE_ENDS.contains(&c);
    is_notice(notice).then(|| (rest.trim_start_matches(is_mark), notice.trim()))
}

/// A title before a notice, and the notice: "(Retracted article. See vol. 375, 2010)".
fn notice_behind(title: &str) -> Option<(&str, &str)> {
    let last = title.rsplit(' ').next().unwrap_or_default();
    if !last.ends_with(|c| c == '.' || is_closing(c)) && !is_retraction(last) {
        return None;
    }
    let (rest, behind) = title.rsplit_once(['(', '[', '【', '（', '—', '–'])?;
    let notice = behind
        .split([')', ']', '】', '）', '.', ':', ';', ','])
        .next()?;
    is_notice(notice).then(|| (rest.trim_end(), notice.trim()))
}

fn is_notice(words: &str) -> bool {
    is_retraction(words) || words.trim().eq_ignore_ascii_case(TEMPORARY_NOTICE)
}

/// Whether these words say that an article is retracted.
pub(super) fn is_retraction(words: &str) -> bool {
    let mut words = words.split_whitespace();
    let first = words.next().unwrap_or_default();
    NOTICES
        .iter()
        .any(|notice| first.eq_ignore_ascii_case(notice))
        && words.all(|word| {
            let mut known = NOTICE_WORDS.split_whitespace();
            known.any(|known| word.eq_ignore_ascii_case(known))
        })
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
    let mut gap = WordGap::default();
    for c in text.chars() {
        if c.is_alphanumeric() || is_voicing(c) {
            let gap = std::mem::take(&mut gap);
            if gap.has_marks && !out.is_empty() {
                out.push(gap.as_char());
            }
            push_folded(c, out);
        } else if !is_joining(c) {
            gap.add(c);
        }
    }
}

/// The marks between two words.
#[derive(Default)]
struct WordGap {
    /// Whether there are any, be it a space.
    has_marks: bool,
    /// Whether a sentence, a field or a quotation ends.
    has_stop: bool,
    /// Whether that is only said by a quotation mark or a bracket.
    has_quote: bool,
    /// Whether a colon or dash is among them, behind which a subtitle follows.
    has_colon: bool,
    /// Whether they end with that of a question, behind which a subtitle may follow.
    has_question: bool,
}

impl WordGap {
    fn add(&mut self, c: char) {
        self.has_marks = true;
        match c {
            ' ' => {}
            ':' | '—' | '：' => self.has_colon = true,
            // A dash between words may be a hyphen, but not behind a quotation or a bracket.
            '-' | '–' | '‒' | '―' => self.has_colon |= self.has_stop,
            '?' | '!' | '？' | '！' => self.has_question = true,
            _ if STOPS.contains(c) => {
                self.has_quote = false;
                self.has_stop = true;
                self.has_question = false;
            }
            _ if OPENING.contains(c) || CLOSING.contains(c) => {
                self.has_quote |= !self.has_stop;
                self.has_stop = true;
                self.has_question = false;
            }
            _ => {}
        }
    }

    fn as_char(&self) -> char {
        let has_colon = self.has_colon || self.has_question;
        match (self.has_stop, has_colon) {
            (true, true) => STOP_AND_COLON,
            (true, false) if self.has_quote => QUOTE,
            (true, false) => STOP,
            (false, true) => COLON,
            (false, false) => GAP,
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
                let entry = pairs(GREEK).find(|(_, letter)| letter.starts_with(lower));
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
        assert_eq!(main_title("Is it hard? A theory").unwrap(), "Is it hard?");
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
            "doe|j|2020\"a title|long|in x ray"
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
