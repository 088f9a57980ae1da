//! DOIs: where one begins, and what of an address or a sentence is not part of it.

use super::arxiv::{id_at_start, leading_digits};
use super::web_address::is_at;
use super::word::{is_trailing, word_end};
use super::{IdentifierScheme, WorkIdentifier};

/// Segments behind a DOI in an address that name a form of the page or a part of it.
const PAGES: &str = "full pdf epdf pdfdirect abstract html htm xml meta fulltext fulltext.html tables figures \
    references citations metrics suppl suppl_file summary id";

/// Endings of a DOI in an address that name a form of the page.
const ADDRESS_ENDINGS: &str = ".pdf .epdf .full-text .full .abstract .svg .html .htm .xml .long .short \
    .supplementary-material";

/// Endings that are taken off in running text, too, where a publisher's address is pasted without its host.
const TEXT_ENDINGS: &str = ".pdf .full .html";

/// Hosts that put the number of the article behind the DOI: `/doi/10.1093/abc/btz123/5566506`.
const NUMBERED_HOSTS: &str = "academic.oup.com direct.mit.edu pubs.aip.org pubs.geoscienceworld.org \
    ashpublications.org asmedigitalcollection.asme.org read.dukeupress.edu rupress.org";

/// Hosts whose DOIs have two parts, before the title of the work.
const TWO_PART_HOSTS: &str = "taylorfrancis.com tandfonline.com";

/// The longest prefix, in bytes.
const PREFIX_BYTES: usize = 40;

/// Digits from which on a segment is the number of an article.
const ARTICLE_DIGITS: usize = 4;

/// The DOI of a text that is nothing but one, or its address at doi.org, without any character that needs care.
pub(super) fn of_plain_field(text: &str) -> Option<WorkIdentifier> {
    let at_resolver = text.strip_prefix("https://doi.org/");
    let doi = at_resolver.unwrap_or(text);
    let is_plain =
        |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'/' | b'-' | b'_');
    let is_whole = doi.starts_with("10.") && doi.ends_with(|c: char| c.is_ascii_alphanumeric());
    if !is_whole || !doi.bytes().all(is_plain) {
        return None;
    }
    match at_resolver {
        Some(_) => of_address(doi, "doi.org"),
        None => of_text(doi),
    }
}

/// Whether a DOI begins at a place of a text: `10.`, four digits or more, a slash.
pub(super) fn begins_at(text: &str, at: usize) -> bool {
    let Some(rest) = text[at..].strip_prefix("10.") else {
        return false;
    };
    let before = &text[..at];
    let is_inside = before.ends_with(|c: char| c.is_ascii_alphanumeric() || c == '.');
    let label = before.strip_suffix('.').unwrap_or(before);
    let follows_label =
        label.len() >= 3 && label.as_bytes()[label.len() - 3..].eq_ignore_ascii_case(b"doi");
    prefix_length(rest).is_some() && (!is_inside || follows_label)
}

/// The length of `4321` or `4321.77` before a slash.
fn prefix_length(text: &str) -> Option<usize> {
    let length = text
        .bytes()
        .take(PREFIX_BYTES)
        .take_while(|byte| byte.is_ascii_digit() || *byte == b'.')
        .count();
    let registrant = leading_digits(&text[..length]);
    let rest = text.as_bytes().get(length..)?;
    let has_slash =
        rest.starts_with(b"/") || rest.len() > 2 && rest[..3].eq_ignore_ascii_case(b"%2f");
    ((4..=9).contains(&registrant) && has_slash).then_some(length)
}

/// The DOI that begins in a decoded path or parameter of an address.
pub(super) fn in_address(text: &str, host: &str) -> Option<WorkIdentifier> {
    let (start, _) = text
        .match_indices("10.")
        .find(|(at, _)| begins_at(text, *at))?;
    of_address(&text[start..word_end(text, start)], host)
}

/// The DOI of a word in running text.
pub(super) fn of_text(word: &str) -> Option<WorkIdentifier> {
    normalized(without_endings(word, TEXT_ENDINGS))
}

fn of_address(doi: &str, host: &str) -> Option<WorkIdentifier> {
    let doi = doi.split(";jsessionid").next().unwrap_or_default();
    // Of handbooks the address has the DOI of the book, a volume and the name of the chapter.
    if doi.contains(".001.0001/") {
        return None;
    }
    let has_two_parts = is_at(host, TWO_PART_HOSTS);
    let has_article_number = is_at(host, NUMBERED_HOSTS);
    let mut length = 0;
    for (index, segment) in doi.split('/').enumerate() {
        let is_number =
            segment.len() >= ARTICLE_DIGITS && segment.bytes().all(|byte| byte.is_ascii_digit());
        let is_behind = segment.is_empty()
            || PAGES
                .split(' ')
                .any(|page| segment.eq_ignore_ascii_case(page))
            || segment.starts_with("tab-")
            || has_two_parts
            || is_number && has_article_number;
        // A prefix and one part of a suffix are always of the DOI.
        if index > 1 && is_behind {
            break;
        }
        length += segment.len() + usize::from(index > 0);
    }
    normalized(without_endings(&doi[..length], ADDRESS_ENDINGS))
}

fn without_endings<'a>(mut doi: &'a str, endings: &str) -> &'a str {
    loop {
        let shorter = endings.split(' ').find_map(|ending| {
            let start = doi.len().checked_sub(ending.len())?;
            let tail = doi.get(start..)?;
            tail.eq_ignore_ascii_case(ending).then(|| &doi[..start])
        });
        match shorter {
            Some(shorter) => doi = shorter,
            None => return doi,
        }
    }
}

/// The DOI in lower case; that of arXiv as the number of the paper. `None` if it is not one.
fn normalized(doi: &str) -> Option<WorkIdentifier> {
    let doi = doi
        .trim_end_matches(|c| matches!(c, '/' | '-') || is_trailing(c))
        .to_lowercase();
    let (prefix, suffix) = doi.split_once('/')?;
    match prefix {
        // The ACM numbers under it what it does not register; others use the prefix for examples.
        "10.5555" if is_number_of_acm(suffix) => return None,
        "10.48550" => {
            let (_, id) = id_at_start(suffix.strip_prefix("arxiv.")?)?;
            return Some(WorkIdentifier::new(IdentifierScheme::Arxiv, id));
        }
        _ => {}
    }
    let suffix = match prefix {
        "10.1101" | "10.64898" => without_version(suffix),
        "10.1371" => without_part(suffix),
        _ => suffix,
    };
    let is_doi = prefix_length(&doi[3..]).is_some() && suffix.contains(char::is_alphanumeric);
    is_doi.then(|| WorkIdentifier::new(IdentifierScheme::Doi, format!("{prefix}/{suffix}")))
}

/// `3600270`, `3600270.3601234`.
fn is_number_of_acm(suffix: &str) -> bool {
    suffix
        .bytes()
        .all(|byte| byte.is_ascii_digit() || byte == b'.')
}

/// The number of a preprint without `v2` and what the server puts behind it.
pub(super) fn without_version(number: &str) -> &str {
    for (at, _) in number.match_indices('v') {
        let digits = number[at + 1..]
            .bytes()
            .take_while(u8::is_ascii_digit)
            .count();
        let rest = &number[at + 1 + digits..];
        let is_behind_digit = number[..at].ends_with(|c: char| c.is_ascii_digit());
        if digits > 0 && is_behind_digit && (rest.is_empty() || rest.starts_with(['.', '/'])) {
            return &number[..at];
        }
    }
    number
}

/// The article of PLOS of which this is a figure, a table or a supplement: `.g001`, `.t001`, `.s001`.
fn without_part(suffix: &str) -> &str {
    let Some((article, part)) = suffix.rsplit_once('.') else {
        return suffix;
    };
    let number = part.strip_prefix(['g', 't', 's']).unwrap_or_default();
    let is_part = number.len() == 3 && number.bytes().all(|byte| byte.is_ascii_digit());
    if is_part { article } else { suffix }
}
