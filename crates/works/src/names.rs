//! Names of authors: reading them from the forms in which people write them, and when two lists are those of one work.
//!
//! Names are written with all given names or initials, family name first or last, with or without accents and particles,
//! and lists are cut. So one name never decides: two lists agree if half of the shorter one is in the other one.

use super::markup::plain;
use super::normalize::folded;
use scholareval_core::domain::PersonName;

/// Words before a family name that belong to it, and that indexes put anywhere.
const PARTICLES: [&str; 21] = [
    "van", "von", "der", "den", "de", "del", "della", "di", "da", "dos", "das", "du", "la", "le",
    "ter", "ten", "zu", "zur", "af", "al", "el",
];

/// Words behind a name that are not part of it.
const SUFFIXES: [&str; 8] = ["jr", "sr", "ii", "iii", "iv", "phd", "md", "dr"];

/// The longest of them, in bytes, with a point or a space around it.
const SUFFIX_BYTES: usize = 6;

/// The share of the shorter list that must be in the other one, if given names agree where both have them.
const SHARED: f64 = 0.5;

/// The share if they do not: nicknames, or the same family name of somebody else.
const SHARED_FAMILIES: f64 = 0.75;

/// A name from its parts, which may have markup.
pub(super) fn name_of_parts(family: &str, given: &str) -> PersonName {
    PersonName {
        family: plain(family).into_owned(),
        given: plain(given).into_owned(),
    }
}

/// Reads a name: `Last, First`, `First von Last`, `Last FM`, or a group in the braces of BibTeX.
pub(super) fn parse_name(text: &str) -> PersonName {
    let trimmed = text.trim();
    if is_braced(trimmed) {
        return name_of_parts(trimmed, "");
    }
    let text = plain(trimmed);
    if let Some((family, given)) = text.split_once(',') {
        // `Last, Jr., First`.
        let given = given.rsplit(',').find(|part| !is_suffix(part));
        return name_of_parts(family, given.unwrap_or_default().trim());
    }
    let mut words: Vec<&str> = text.split_whitespace().collect();
    while words.len() > 1 && words.last().is_some_and(|word| is_suffix(word)) {
        words.pop();
    }
    let Some((last, before)) = words.split_last() else {
        return PersonName::default();
    };
    // `Smith JA`: Vancouver style.
    if let Some(first) = before.first()
        && is_block_of_initials(last)
        && !is_block_of_initials(first)
    {
        return name_of_parts(&before.join(" "), last);
    }
    let start = before
        .iter()
        .position(|word| is_particle(word))
        .filter(|at| *at > 0)
        .unwrap_or(before.len());
    name_of_parts(&words[start..].join(" "), &before[..start].join(" "))
}

/// The words of the family name that a text must have to name this author; empty for a name without letters.
pub(super) fn family_words(name: &PersonName) -> String {
    let words = folded(&name.family);
    let kept = without_particles(&words);
    if kept.is_empty() { words } else { kept }
}

/// `{The ATLAS Collaboration}`: one pair of braces around everything.
fn is_braced(text: &str) -> bool {
    let inside = text
        .strip_prefix('{')
        .and_then(|text| text.strip_suffix('}'));
    inside.is_some_and(|inside| !inside.contains(['{', '}']))
}

fn is_suffix(word: &str) -> bool {
    // Looked at for every author of a dump: few names are so short.
    word.len() <= SUFFIX_BYTES && SUFFIXES.contains(&folded(word).as_str())
}

fn is_particle(word: &str) -> bool {
    word.starts_with(char::is_lowercase) && PARTICLES.contains(&folded(word).as_str())
}

/// `JA`, up to three capital letters without points.
fn is_block_of_initials(word: &str) -> bool {
    word.chars().count() <= 3 && word.chars().all(char::is_uppercase)
}

fn without_particles(words: &str) -> String {
    let kept: Vec<&str> = words
        .split(' ')
        .filter(|word| !PARTICLES.contains(word))
        .collect();
    kept.join(" ")
}

/// A name in the form in which names are compared.
struct ComparedName {
    /// The family name, without particles.
    family: String,
    /// The family name with particles, as one word: `Al-Harbi` is `Alharbi`.
    joined: String,
    /// The family name with ae, oe and ue for umlauts, if it has some.
    german: Option<String>,
    /// The first letters of the given names.
    initials: Vec<char>,
    /// All words of the name, sorted: a name whose parts an index has swapped.
    words: Vec<String>,
}

impl ComparedName {
    fn of(name: &PersonName) -> Self {
        let family = family_words(name);
        let given = folded(&name.given);
        let mut words: Vec<String> = format!("{family} {given}")
            .split_whitespace()
            .map(str::to_owned)
            .collect();
        words.sort();
        Self {
            joined: folded(&name.family).replace(' ', ""),
            german: with_german_umlauts(&name.family),
            initials: initials(&name.given, &given),
            family,
            words,
        }
    }

    fn shares_family(&self, other: &Self) -> bool {
        is_same_family(&self.family, &other.family)
            || self.joined == other.joined && !self.joined.is_empty()
            || self.german.as_ref() == Some(&other.family)
            || other.german.as_ref() == Some(&self.family)
    }

    fn is_same(&self, other: &Self) -> bool {
        let agrees = match (self.initials.first(), other.initials.first()) {
            (Some(a), Some(b)) => a == b,
            _ => true,
        };
        let is_swapped = self.words.len() > 1 && self.words == other.words;
        is_swapped
            || agrees && self.shares_family(other)
            || self.is_within(other)
            || other.is_within(self)
    }

    /// Whether the family name is anywhere in the other name, with the initial of another word of it: indexes take a second
    /// surname, or a given name behind the family name, for the family name.
    fn is_within(&self, other: &Self) -> bool {
        let family: Vec<&str> = self.family.split(' ').collect();
        let has_family = family
            .iter()
            .all(|name| other.words.iter().any(|word| word == name));
        let Some(initial) = self.initials.first() else {
            return false;
        };
        let mut rest = other
            .words
            .iter()
            .filter(|word| !family.contains(&word.as_str()));
        has_family && rest.any(|word| word.starts_with(*initial))
    }
}

/// Whether one family name is the other, or one part of it: "García" of "García Márquez".
fn is_same_family(a: &str, b: &str) -> bool {
    if a.is_empty() || b.is_empty() {
        return false;
    }
    let joined = |name: &str| name.replace(' ', "");
    if a == b || joined(a) == joined(b) {
        return true;
    }
    let (short, long) = if a.len() < b.len() { (a, b) } else { (b, a) };
    let parts: Vec<&str> = long.split(' ').collect();
    short.len() > 2 && (parts.first() == Some(&short) || parts.last() == Some(&short))
}

fn with_german_umlauts(family: &str) -> Option<String> {
    let family = plain(family).to_lowercase();
    // Precomposed, or the letter and a combining mark.
    let mut spelled = family.replace('\u{308}', "e");
    for (umlaut, letters) in [("ä", "ae"), ("ö", "oe"), ("ü", "ue")] {
        spelled = spelled.replace(umlaut, letters);
    }
    (spelled != family).then(|| without_particles(&folded(&spelled)))
}

/// The first letters of given names; of `JA` both.
fn initials(given: &str, folded_given: &str) -> Vec<char> {
    if is_block_of_initials(given.trim()) {
        return folded_given.chars().collect();
    }
    folded_given
        .split(' ')
        .filter_map(|word| word.chars().next())
        .collect()
}

/// Whether two lists of authors are those of one work, whichever of them is cut. `None` if one is empty.
pub(super) fn shares_authors(cited: &[PersonName], recorded: &[PersonName]) -> Option<bool> {
    let compared = |names: &[PersonName]| -> Vec<ComparedName> {
        let names = names.iter().map(ComparedName::of);
        names.filter(|name| !name.family.is_empty()).collect()
    };
    let cited = compared(cited);
    let recorded = compared(recorded);
    if cited.is_empty() || recorded.is_empty() {
        return None;
    }
    let shorter = cited.len().min(recorded.len()) as f64;
    let mut same = 0.0;
    let mut families = 0.0;
    for name in &cited {
        if recorded.iter().any(|other| name.is_same(other)) {
            same += 1.0;
        }
        if recorded.iter().any(|other| name.shares_family(other)) {
            families += 1.0;
        }
    }
    Some(same / shorter >= SHARED || families / shorter >= SHARED_FAMILIES)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(list: &str) -> Vec<PersonName> {
        list.split(" and ").map(parse_name).collect()
    }

    #[test]
    fn names_are_read_in_every_form() {
        for (text, family, given) in [
            ("Knuth, Donald E.", "Knuth", "Donald E."),
            ("Donald E. Knuth", "Knuth", "Donald E."),
            ("Jan-Willem van de Meent", "van de Meent", "Jan-Willem"),
            ("King, Jr., Martin Luther", "King", "Martin Luther"),
            ("Martin Luther King Jr.", "King", "Martin Luther"),
            ("Smith JA", "Smith", "JA"),
            ("de la Cruz M", "de la Cruz", "M"),
            ("{The ATLAS Collaboration}", "The ATLAS Collaboration", ""),
            ("M{\\\"u}ller, J{\\\"o}rg", "Mu\u{308}ller", "Jo\u{308}rg"),
            ("Plato", "Plato", ""),
            ("", "", ""),
        ] {
            assert_eq!(parse_name(text), name_of_parts(family, given), "{text}");
        }
    }

    #[test]
    fn indexes_that_take_another_word_for_the_family_name_agree() {
        for (cited, recorded) in [
            ("Wang, W.", "Wang Wei"),
            ("García, J.", "José García Pérez"),
            ("Nagy J", "Nagy János"),
            ("Alharbi, S.", "Sami Al-Harbi"),
        ] {
            let shared = shares_authors(&names(cited), &names(recorded));
            assert_eq!(shared, Some(true), "{cited}");
        }
        let other = shares_authors(&names("Wang, J."), &names("Wang Wei"));
        assert_eq!(other, Some(false));
    }

    #[test]
    fn lists_agree_as_people_write_them() {
        let recorded = names(
            "Jörg Müller and Gabriel García Márquez and Jan-Willem van de Meent and Wei Wang",
        );
        for cited in [
            "Müller, J. and García, G.",
            "Mueller, Joerg and Garcia Marquez, G and Meent, J.-W. van de and Wang, W",
            "M{\\\"u}ller, J{\\\"o}rg",
            "Wang Wei",
            "Wei, Wang",
            "MULLER J and others",
        ] {
            assert_eq!(
                shares_authors(&names(cited), &recorded),
                Some(true),
                "{cited}"
            );
        }
        for cited in [
            "Jun Wang and Li Chen and Hao Zhou",
            "Jane Doe and John Smith",
            "Anonymous Authors",
        ] {
            assert_eq!(
                shares_authors(&names(cited), &recorded),
                Some(false),
                "{cited}"
            );
        }
        assert_eq!(shares_authors(&[], &recorded), None);
    }
}
