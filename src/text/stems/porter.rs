//! Porter's algorithm with NLTK's extensions.
//!
//! M. F. Porter: *An algorithm for suffix stripping*, Program 14 (1980), 130-137, whose names are used here: a letter
//! is a vowel or a consonant, the *measure* of a stem counts how often a consonant follows a vowel in it, and in each
//! step the first ending that fits decides, whether or not its condition holds. NLTK 3.10.4 (`nltk.stem.porter`, its
//! default mode) adds a list of irregular words, treats words of four letters in `-ies` and `-ied` apart, and changes a
//! few rules; these places say so.
//!
//! Every step is linear in the length of the word, whatever its letters.

/// Words with stems of their own (NLTK).
const IRREGULAR: &[(&str, &str)] = &[
    ("sky", "sky"),
    ("skies", "sky"),
    ("dying", "die"),
    ("lying", "lie"),
    ("tying", "tie"),
    ("news", "news"),
    ("innings", "inning"),
    ("inning", "inning"),
    ("outings", "outing"),
    ("outing", "outing"),
    ("cannings", "canning"),
    ("canning", "canning"),
    ("howe", "howe"),
    ("proceed", "proceed"),
    ("exceed", "exceed"),
    ("succeed", "succeed"),
];

/// Endings of step 2 and what replaces them behind a stem of measure above 0; `bli` for `abli` is NLTK's.
const STEP_2: &[(&str, &str)] = &[
    ("ational", "ate"),
    ("tional", "tion"),
    ("enci", "ence"),
    ("anci", "ance"),
    ("izer", "ize"),
    ("bli", "ble"),
    ("alli", "al"),
    ("entli", "ent"),
    ("eli", "e"),
    ("ousli", "ous"),
    ("ization", "ize"),
    ("ation", "ate"),
    ("ator", "ate"),
    ("alism", "al"),
    ("iveness", "ive"),
    ("fulness", "ful"),
    ("ousness", "ous"),
    ("aliti", "al"),
    ("iviti", "ive"),
    ("biliti", "ble"),
    ("fulli", "ful"),
];

/// Endings of step 3 and what replaces them behind a stem of measure above 0.
const STEP_3: &[(&str, &str)] =
    &[("icate", "ic"), ("ative", ""), ("alize", "al"), ("iciti", "ic"), ("ical", "ic"), ("ful", ""), ("ness", "")];

/// Endings that step 4 takes from a stem of measure above 1; `ion` only behind `s` or `t`.
const STEP_4: &[&str] = &[
    "al", "ance", "ence", "er", "ic", "able", "ible", "ant", "ement", "ment", "ent", "ion", "ou", "ism", "ate", "iti",
    "ous", "ive", "ize",
];

/// The stem of a lower-cased word, never empty for a word that is not.
pub(super) fn stem(word: &str) -> String {
    if let Some((_, stem)) = IRREGULAR.iter().find(|(irregular, _)| *irregular == word) {
        return (*stem).to_owned();
    }
    let mut letters = Letters(word.chars().collect());
    if letters.0.len() <= 2 {
        return word.to_owned();
    }
    letters.plural();
    letters.past_and_participle();
    letters.final_y();
    letters.double_endings();
    if let Some((stem, ending)) = letters.first_of(STEP_3) {
        letters.replace_if(0, stem, ending);
    }
    letters.single_endings();
    letters.final_e();
    letters.final_ll();
    letters.0.into_iter().collect()
}

/// A word, or what is left of it; a stem is given by its length.
struct Letters(Vec<char>);

impl Letters {
    /// Whether the letter is a consonant; a `y` is one at the start of the word and behind a vowel.
    fn is_consonant(&self, at: usize) -> bool {
        let run = self.0[..=at].iter().rev().take_while(|letter| **letter == 'y').count();
        // In a run of `y` vowels and consonants take turns, and so they do with the letter before the run.
        let before = at.checked_sub(run).is_some_and(|before| !is_vowel(self.0[before]));
        before == run.is_multiple_of(2)
    }

    /// For each letter of the stem whether it is a consonant.
    fn consonants(&self, stem: usize) -> impl Iterator<Item = bool> {
        self.0[..stem].iter().scan(false, |previous, letter| {
            *previous = if *letter == 'y' { !*previous } else { !is_vowel(*letter) };
            Some(*previous)
        })
    }

    fn measure(&self, stem: usize) -> usize {
        let mut after_vowel = false;
        self.consonants(stem)
            .filter(|consonant| {
                let counts = *consonant && after_vowel;
                after_vowel = !consonant;
                counts
            })
            .count()
    }

    fn has_vowel(&self, stem: usize) -> bool {
        self.consonants(stem).any(|consonant| !consonant)
    }

    /// Consonant, vowel and a consonant other than `w`, `x`, `y` at the end of the stem (the paper's *o); NLTK: also a
    /// vowel and a consonant that are all of it.
    fn ends_short(&self, stem: usize) -> bool {
        match stem {
            0 | 1 => false,
            2 => !self.is_consonant(0) && self.is_consonant(1),
            _ => {
                self.is_consonant(stem - 3)
                    && !self.is_consonant(stem - 2)
                    && self.is_consonant(stem - 1)
                    && !matches!(self.0[stem - 1], 'w' | 'x' | 'y')
            }
        }
    }

    /// The stem in front of the ending, if the word has it.
    fn before(&self, ending: &str) -> Option<usize> {
        let stem = self.0.len().checked_sub(ending.len())?;
        let fits = self.0.iter().rev().zip(ending.bytes().rev()).all(|(letter, other)| *letter == char::from(other));
        fits.then_some(stem)
    }

    /// The stem and the replacement of the first ending that the word has.
    fn first_of(&self, rules: &[(&str, &'static str)]) -> Option<(usize, &'static str)> {
        rules.iter().find_map(|(ending, other)| Some((self.before(ending)?, *other)))
    }

    fn replace(&mut self, stem: usize, ending: &str) {
        self.0.truncate(stem);
        self.0.extend(ending.chars());
    }

    fn replace_if(&mut self, measure_above: usize, stem: usize, ending: &str) {
        if self.measure(stem) > measure_above {
            self.replace(stem, ending);
        }
    }

    /// Step 1a.
    fn plural(&mut self) {
        // NLTK: "ties" keeps its e.
        if self.before("ies") == Some(1) {
            self.0.truncate(3);
            return;
        }
        if let Some((stem, ending)) = self.first_of(&[("sses", "ss"), ("ies", "i"), ("ss", "ss"), ("s", "")]) {
            self.replace(stem, ending);
        }
    }

    /// Step 1b.
    fn past_and_participle(&mut self) {
        // NLTK: as for plurals.
        if let Some(stem) = self.before("ied") {
            return self.replace(stem, if stem == 1 { "ie" } else { "i" });
        }
        if let Some(stem) = self.before("eed") {
            return self.replace_if(0, stem, "ee");
        }
        let Some(stem) = self.before("ed").or_else(|| self.before("ing")).filter(|stem| self.has_vowel(*stem)) else {
            return;
        };
        self.0.truncate(stem);
        if let Some((stem, ending)) = self.first_of(&[("at", "ate"), ("bl", "ble"), ("iz", "ize")]) {
            return self.replace(stem, ending);
        }
        let doubled = stem > 1 && self.0[stem - 1] == self.0[stem - 2] && self.is_consonant(stem - 1);
        if doubled && !matches!(self.0[stem - 1], 'l' | 's' | 'z') {
            self.0.truncate(stem - 1);
        } else if !doubled && self.measure(stem) == 1 && self.ends_short(stem) {
            self.0.push('e');
        }
    }

    /// Step 1c. NLTK: a `y` becomes `i` behind a consonant that is not the first letter.
    fn final_y(&mut self) {
        if let Some(stem) = self.before("y").filter(|stem| *stem > 1 && self.is_consonant(stem - 1)) {
            self.replace(stem, "i");
        }
    }

    /// Step 2.
    fn double_endings(&mut self) {
        // NLTK: what `alli` leaves goes through the step again, as in "rationally".
        if let Some(stem) = self.before("alli").filter(|stem| self.measure(*stem) > 0) {
            self.replace(stem, "al");
        }
        if let Some((stem, ending)) = self.first_of(STEP_2) {
            return self.replace_if(0, stem, ending);
        }
        // NLTK: the measure is that of the stem with its `l`.
        if let Some(stem) = self.before("logi") {
            self.replace_if(0, stem + 1, "og");
        }
    }

    /// Step 4.
    fn single_endings(&mut self) {
        let Some((ending, stem)) = STEP_4.iter().find_map(|ending| Some((*ending, self.before(ending)?))) else {
            return;
        };
        let holds = ending != "ion" || matches!(self.0[..stem].last(), Some('s' | 't'));
        if holds {
            self.replace_if(1, stem, "");
        }
    }

    /// Step 5a.
    fn final_e(&mut self) {
        let Some(stem) = self.before("e") else { return };
        let measure = self.measure(stem);
        if measure > 1 || (measure == 1 && !self.ends_short(stem)) {
            self.0.truncate(stem);
        }
    }

    /// Step 5b.
    fn final_ll(&mut self) {
        if let Some(stem) = self.before("ll") {
            self.replace_if(1, stem + 1, "");
        }
    }
}

fn is_vowel(letter: char) -> bool {
    matches!(letter, 'a' | 'e' | 'i' | 'o' | 'u')
}

#[cfg(test)]
mod tests {
    use nltk_porter::{Mode, PorterStemmer};
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_papers_examples_and_nltks_exceptions_hold() {
        for (word, expected) in [
            ("caresses", "caress"),
            ("ponies", "poni"),
            ("agreed", "agre"),
            ("hopping", "hop"),
            ("falling", "fall"),
            ("filing", "file"),
            ("happy", "happi"),
            ("relational", "relat"),
            ("rationally", "ration"),
            ("generalizations", "gener"),
            ("adoption", "adopt"),
            ("controlling", "control"),
            ("geologi", "geolog"),
            ("ties", "tie"),
            ("died", "die"),
            ("dying", "die"),
            ("enjoy", "enjoy"),
        ] {
            assert_eq!(stem(word), expected, "{word}");
        }
    }

    #[test]
    fn all_combinations_of_beginnings_and_endings_have_the_stems_of_the_other_port() {
        let other = PorterStemmer::new(Mode::Nltk);
        let beginnings =
            ["", "a", "b", "y", "ab", "ba", "yy", "bay", "oat", "tro", "trou", "ball", "hopp", "écol", "字"];
        let extra = ["s", "es", "ies", "ied", "eed", "ed", "ing", "ll", "y", "e", "logi", "alli", "ative", "at", "bl"];
        let endings: Vec<&str> =
            STEP_2.iter().chain(STEP_3).map(|(ending, _)| *ending).chain(STEP_4.iter().copied()).chain(extra).collect();
        for beginning in beginnings {
            for middle in &endings {
                for end in ["", "s", "ed", "ing", "ly", "e", "ness", "ion"] {
                    let word = format!("{beginning}{middle}{end}");
                    assert_eq!(stem(&word), other.stem(&word), "{word}");
                }
            }
        }
        for (word, _) in IRREGULAR {
            assert_eq!(stem(word), other.stem(word), "{word}");
        }
    }

    #[test]
    fn a_word_of_a_million_y_takes_linear_time() {
        // Quadratic work would take many minutes.
        let word = "y".repeat(1_000_000);
        assert_eq!(stem(&word).len(), 1_000_000);
    }

    proptest! {
        #[test]
        fn any_word_has_the_stem_of_the_other_port_and_none_is_empty(
            word in "([a-z0-9]|[aeiouy]|[lszty]|é|字|\\PC|ing|ed|s|ation|al|iz|ly){1,12}"
        ) {
            let word = word.to_lowercase();
            let ours = stem(&word);
            prop_assert!(!ours.is_empty());
            prop_assert_eq!(ours, PorterStemmer::new(Mode::Nltk).stem(&word));
        }
    }
}
