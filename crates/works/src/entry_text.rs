//! What an entry of a list says besides its work: in which form it can be read, when it was seen, how often it is cited; and
//! whether it names people.

use scholareval_core::text::identifiers::is_arxiv_id;

/// Forms of documents that stand in brackets.
const FORMATS: &str = "pdf, html, free pdf, full text, online, book, doc, download";

/// The longest remark in brackets, in bytes.
const REMARK_BYTES: usize = 24;

/// Words before the day on which a page was seen.
const SEEN: &str = "accessed, access date, date accessed, retrieved, last visited, visited, viewed, abgerufen, zugriff, \
    consulté, consultado, consultato, acesso em, geraadpleegd, erişim, дата обращения, Дата обращения, 访问, 訪問, 检索, \
    閲覧, アクセス";

/// Words before the number of citations of a work.
const COUNTED: &str = "n_citations:, citations:, cited by";

/// How far behind its words a day ends, in bytes.
const DAY_BYTES: usize = 40;

/// Words of a day: `on 3 March`. A title that begins with "Retrieved" has more before a year.
const DAY_WORDS: usize = 2;

/// The text without the format, the day of access and the number of citations.
pub(super) fn without_remarks(text: &str) -> String {
    let text = without_brackets(text);
    let lower = text.to_ascii_lowercase();
    let mut kept = String::with_capacity(text.len());
    let mut at = 0;
    while at < text.len() {
        let length = remark_length(&lower, at);
        if let Some(length) = length {
            at += length;
        } else {
            let next = lower[at..].chars().next().map_or(1, char::len_utf8);
            kept.push_str(&text[at..at + next]);
            at += next;
        }
    }
    kept
}

/// The text without formats and numbers of arXiv in brackets, and words in brackets before it: `(html)`, `[2103.04567v2]`,
/// `[Paper]`.
fn without_brackets(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(open) = rest.find(['[', '(']) {
        let inner = &rest[open + 1..];
        let length = inner[..inner.floor_char_boundary(REMARK_BYTES)].find([']', ')']);
        let is_remark = length.is_some_and(|length| {
            let is_first = rest.len() == text.len() && rest.starts_with('[');
            let is_link = inner[length + 1..].starts_with('(');
            let is_label = inner[..length]
                .chars()
                .all(|c| c.is_alphabetic() || c == ' ');
            is_format(&inner[..length]) || is_first && is_label && !is_link
        });
        let end = match length {
            Some(length) if is_remark => open + length + 2,
            _ => open + 1,
        };
        kept.push_str(&rest[..if is_remark { open } else { end }]);
        rest = &rest[end..];
    }
    kept + rest
}

fn is_format(remark: &str) -> bool {
    let remark = remark.trim().to_lowercase();
    let versioned = remark.trim_end_matches(|c: char| c.is_ascii_digit());
    let id = versioned.strip_suffix('v').unwrap_or(&remark);
    FORMATS.split(", ").any(|format| format == remark) || is_arxiv_id(id)
}

/// The length of the remark that begins here.
fn remark_length(lower: &str, at: usize) -> Option<usize> {
    let rest = &lower[at..];
    let is_word = lower[..at].ends_with(|c: char| c.is_ascii_alphanumeric());
    let begins = |words: &str| {
        let mut words = words.split(", ");
        words.find(|word| rest.starts_with(word)).map(str::len)
    };
    if is_word {
        return None;
    }
    if let Some(length) = begins(COUNTED) {
        let behind = rest[length..].trim_start();
        let number = behind.trim_start_matches(|c: char| c.is_ascii_digit());
        return (number.len() < behind.len()).then(|| rest.len() - number.len());
    }
    let length = begins(SEEN)?;
    let end = rest.floor_char_boundary(length + DAY_BYTES);
    let day = &rest[length..end];
    let year = year_end(day)?;
    let words = day[..year].split(|c: char| !c.is_alphabetic());
    if words.filter(|word| !word.is_empty()).count() > DAY_WORDS {
        return None;
    }
    let behind = day[year..].trim_start_matches(|c: char| {
        c.is_ascii_digit() || matches!(c, '-' | '/' | '年' | '月' | '日' | '号')
    });
    Some(end - behind.len())
}

/// Where the first number of four digits ends.
fn year_end(text: &str) -> Option<usize> {
    let mut end = 0;
    for part in text.split_inclusive(|c: char| !c.is_ascii_digit()) {
        let digits = part.trim_end_matches(|c: char| !c.is_ascii_digit());
        if digits.len() == 4 {
            return Some(end + 4);
        }
        end += part.len();
    }
    None
}

/// Capitals with points that stand for other things than given names: countries, degrees, the word journal.
const NO_INITIALS: [&str; 6] = ["U.S", "U.K", "U.N", "E.U", "D.C", "J"];

/// Whether a text names people as references do: an initial next to a name, `et al.`, or the mark of a paper in Chinese lists.
pub(super) fn names_people(text: &str) -> bool {
    if text.contains("et al") || text.contains("[J]") || text.contains("[C]") {
        return true;
    }
    let mut before = "";
    for word in text.split_whitespace() {
        let core = word.trim_matches(|c: char| !c.is_alphanumeric());
        let mut letters = core.split(['.', '-']);
        let is_initial = core.starts_with(char::is_uppercase)
            && letters.all(|part| part.is_empty() || is_one_capital(part));
        let is_behind_comma = before.ends_with(',');
        let is_behind_name =
            before.starts_with(char::is_uppercase) && before.trim_end_matches(',').len() > 1;
        let is_pointed = word.trim_end_matches([',', ';', ')', ':']).ends_with('.');
        let is_of_name = is_behind_name && word.ends_with([',', ';'])
            || is_pointed && (is_behind_comma || !NO_INITIALS.contains(&core));
        if is_initial && is_of_name {
            return true;
        }
        before = word;
    }
    false
}

fn is_one_capital(text: &str) -> bool {
    let mut letters = text.chars();
    letters.next().is_some_and(char::is_uppercase) && letters.next().is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn remarks_are_no_part_of_an_entry() {
        for (text, kept) in [
            ("[PDF] Ice and snow", " Ice and snow"),
            ("Ice and snow (pdf)", "Ice and snow "),
            ("[2103.04567] Ice and snow", " Ice and snow"),
            ("[2103.04567v12] Ice and snow", " Ice and snow"),
            ("[Paper] Ice and snow", " Ice and snow"),
            (
                "Ice and snow - WHO, accessed May 5, 2024.",
                "Ice and snow - WHO, .",
            ),
            ("Ice (Accessed: 2024-05-01) 2019", "Ice () 2019"),
            ("Ice. Retrieved on 3 March 2023, from |", "Ice. , from |"),
            ("Eis. (abgerufen am 3. März 2023)", "Eis. ()"),
            ("雪. 访问日期：2024年5月1日。", "雪. 。"),
            ("Лёд (дата обращения: 01.05.2024)", "Лёд ()"),
            (
                "(1, Doe et al., 2019) | n_citations: 2005 | Ice",
                "(1, Doe et al., 2019) |  | Ice",
            ),
            (
                "77 | Doe et al. | 2019 | Citations: 5",
                "77 | Doe et al. | 2019 | ",
            ),
        ] {
            assert_eq!(without_remarks(text), kept);
        }
        for text in [
            "Doe, J. (2020). The retrieved past. Press.",
            "Retrieved from | on ice, and so on, for a long time since 1999",
            "Unaccessed 2024",
            "Retrieved memories of the winters since 1999",
            "The citations: a study of 2019",
            "Ice [in German] (2019)",
            "[Ice and snow]( | )",
        ] {
            assert_eq!(without_remarks(text), text);
        }
    }

    #[test]
    fn people_have_initials() {
        for text in [
            "Berger, A., & Lin, K. (2019). Snow",
            "A. Berger and K. Lin, \"Snow\"",
            "Roe, J. (2020). Snow.",
            "Berger A, Lin K. Snow.",
            "J.-P. Roux. Snow.",
            "Berger et al. Snow. 2019",
            "张三. 雪[J]. 冰, 2019",
        ] {
            assert!(names_people(text), "{text}");
        }
        for text in [
            "How lakes warm in spring",
            "Snow lasts longer - Journal of Cold Places",
            "World Health Organization (2024). Ice.",
            "U.S. Geological Survey (2024). Ice.",
            "Snow lasts longer. J. Cold Places, 4",
            "What is Vitamin D",
            "A study of ice",
            "",
        ] {
            assert!(!names_people(text), "{text}");
        }
    }
}
