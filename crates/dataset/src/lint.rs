//! Finds criteria that are hard to judge or count twice, by their words alone.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::path::Path;

use super::criteria::{REPEATED, load_with_lines};
use super::test_cases::TestCases;
use scholareval_core::domain::{CaseCriterion, Mode};
use scholareval_core::error::{InputFault, Result};
use scholareval_core::named_enum;
use scholareval_core::text::names::start_of;
use scholareval_core::text::punkt::sentences;
use scholareval_core::text::tables::WordList;
use scholareval_core::text::tokens::{composed, tokens};

/// Fewest different words of a criterion that others may contain.
const FEWEST_WORDS: usize = 3;

/// Maximum number of pairs of criteria of a case that are compared: all pairs of 1,400 criteria.
const PAIRS: usize = 1_000_000;

/// Fewest words on each side of an `and` that joins two demands.
const WORDS_OF_DEMAND: usize = 3;

/// Verbs with which demands begin, without the ending of the third person.
static VERBS: WordList = WordList::new(
    "acknowledge address argue ask avoid calculate cite clarify compare conclude consider contain contrast define \
    derive describe discuss distinguish emphasize ensure evaluate explain express give highlight identify illustrate include \
    indicate introduce justify keep list mention name note offer outline point present propose provide quote recommend refer \
    reject report say show specify state suggest summarize support use verify warn write",
);

/// Other words behind an `and` that begin a demand.
static BEGINNINGS: WordList = WordList::new("it is are has have does do should must");

/// What may stand before the negation of a demand: `The answer should ..`.
static SUBJECTS: WordList = WordList::new(
    "the this that a an its it any all answer answers response responses report text essay summary memo model \
    assistant output author writer should must shall will can does do did is are was were be has have to overall also",
);

/// Words with which a negation begins, besides those with n't.
static NEGATIONS: WordList = WordList::new(
    "not no never cannot none nothing neither avoid avoids without refrain refrains omit omits exclude \
    excludes free",
);

/// Words that bring a demand in behind a negation.
static TURNS: WordList = WordList::new("but instead rather unless only");

/// Judgments without a measure.
static JUDGMENTS: WordList = WordList::new(
    "accessible adequate adequately appropriate appropriately clarity clear clearly coherent coherently \
    compelling complete comprehensive concise convincing correct correctly easy effective effectively engaging excellent fine \
    fluent good great helpful high informative insightful interesting logical logically nice organized polished professional \
    proper properly quality readable reasonable relevant satisfactory sensible solid sound strong structured style sufficient \
    sufficiently suitable tone useful valuable well worded written",
);

/// Words that say nothing of what a text holds.
static FILLERS: WordList = WordList::new(
    "and or of in on to for with by as at from very quite generally general level manner way task user users reader \
    readers question prompt content writing language provide provides give gives use uses present presents shows understand \
    read follow",
);

named_enum! {
    /// A rule about criteria, in the order of their findings.
    pub enum LintRule {
        /// The criterion equals another one of its case, but for case, white space and punctuation.
        Equal = "equal",
        /// Another criterion of the case has four fifths of its words.
        Similar = "similar",
        /// It joins two demands.
        Joined = "joined",
        /// It has a positive weight and asks only for something to be missing, as it is in an empty answer.
        Negation = "negation",
        /// It only has judgments such as good and clear.
        Vague = "vague",
    }
}

/// What a rule finds.
#[derive(Debug, Clone)]
pub struct LintFinding {
    /// The rule.
    pub rule: LintRule,
    /// Where, and what to do.
    pub fault: InputFault,
}

/// Reads a file as [`load_tests`](super::load_tests) and applies the rules to the criteria of each case. What equal criteria
/// count is a finding and not a warning.
///
/// # Errors
/// As [`load_tests`](super::load_tests).
pub fn lint_tests(path: &Path, rubric: Option<&str>) -> Result<(TestCases, Vec<LintFinding>)> {
    let (mut tests, _, lines) = load_with_lines(path, Mode::Default, rubric, true)?;
    tests.warnings.retain(|warning| warning.hint != REPEATED);
    let mut findings = Vec::new();
    for (case, lines) in tests.cases.iter().zip(&lines) {
        for (place, rule, what, hint) in case_findings(&case.criteria) {
            let what = format!("{} {what}", case.criteria[place].name);
            let fault = InputFault::new(path, what).at_line(lines[place]);
            findings.push(LintFinding {
                rule,
                fault: fault.of_case(case.case_id.as_str()).hint(hint),
            });
        }
    }
    Ok((tests, findings))
}

/// The place of a criterion, the rule, what is wrong, and what to do.
type Finding = (usize, LintRule, String, &'static str);

fn case_findings(criteria: &[CaseCriterion]) -> Vec<Finding> {
    let (mut findings, equal) = equal_findings(criteria);
    findings.extend(similar_findings(criteria, &equal));
    for (place, criterion) in criteria.iter().enumerate() {
        let text = quoted(&criterion.text);
        let demands = without_parentheses(&criterion.text);
        let joint = joint(&demands);
        if let Some(joint) = joint {
            let what = format!("joins two demands ({joint}): {text}");
            let hint = "split it, so that each is met or not";
            findings.push((place, LintRule::Joined, what, hint));
        }
        if criterion.weight > 0.0 && joint.is_none() && is_negation(&demands) {
            let what = format!("is met by an empty answer: {text}");
            let hint = "ask for the fault, with a negative weight";
            findings.push((place, LintRule::Negation, what, hint));
        }
        if is_vague(&criterion.text) {
            let what = format!("names nothing that can be seen in an answer: {text}");
            let hint = "say by what a judge recognizes it";
            findings.push((place, LintRule::Vague, what, hint));
        }
    }
    findings.sort_by_key(|(place, rule, ..)| (*place, *rule as usize));
    findings
}

fn quoted(text: &str) -> String {
    format!("\u{201c}{}\u{201d}", start_of(text))
}

/// Criteria that repeat an earlier one, and for each criterion the first one that it equals.
fn equal_findings(criteria: &[CaseCriterion]) -> (Vec<Finding>, Vec<usize>) {
    let mut findings = Vec::new();
    let mut firsts = Vec::with_capacity(criteria.len());
    let mut places: HashMap<String, usize> = HashMap::new();
    for (place, criterion) in criteria.iter().enumerate() {
        let first = *places.entry(normalized(&criterion.text)).or_insert(place);
        firsts.push(first);
        if first != place {
            let name = &criteria[first].name;
            let what = format!("repeats {name}: {}", quoted(&criterion.text));
            findings.push((place, LintRule::Equal, what, REPEATED));
        }
    }
    (findings, firsts)
}

/// A text without case, white space and punctuation; signs of mathematics stay, since they change what is meant.
fn normalized(text: &str) -> String {
    let mut spaced = String::with_capacity(text.len());
    let mut before = ' ';
    for c in text.chars() {
        let is_minus = "-\u{2212}".contains(c) && !before.is_alphanumeric();
        if is_minus || "+<>=%$\u{2264}\u{2265}".contains(c) {
            // A word, so that it is not punctuation.
            spaced.push_str(&format!(" sign{} ", u32::from(c)));
        } else {
            spaced.push(c);
        }
        before = c;
    }
    words_in(&spaced).join(" ")
}

fn words_in(text: &str) -> Vec<String> {
    if text.is_ascii() {
        tokens(text).collect()
    } else {
        tokens(&composed(text)).collect()
    }
}

/// The different words of a text; in scripts written without spaces pairs of letters.
fn word_set(text: &str) -> HashSet<String> {
    let words: Vec<String> = words_in(text);
    let is_letter = |word: &str| !word.is_ascii() && word.chars().count() == 1;
    let mut set = HashSet::new();
    for (at, word) in words.iter().enumerate() {
        match words.get(at + 1).filter(|next| is_letter(next)) {
            Some(next) if is_letter(word) => set.insert(format!("{word}{next}")),
            _ => set.insert(word.clone()),
        };
    }
    set
}

/// Criteria most of whose words another one has. The words of each are numbers, the rarest of the case first: one that has
/// four fifths of them has one of the first fifth and one, so only criteria with one of these are compared.
fn similar_findings(criteria: &[CaseCriterion], equal: &[usize]) -> Vec<Finding> {
    let sets = numbered_words(criteria);
    let mut places: HashMap<usize, Vec<usize>> = HashMap::new();
    for (place, words) in sets.iter().enumerate() {
        for word in words {
            places.entry(*word).or_default().push(place);
        }
    }
    let mut findings = Vec::new();
    let mut pairs = 0;
    for (place, words) in sets.iter().enumerate() {
        // A repetition is reported once.
        if words.len() < FEWEST_WORDS || equal[place] != place {
            continue;
        }
        let may_miss = words.len() / 5;
        let candidates = words[..=may_miss].iter().flat_map(|word| &places[word]);
        for other in candidates {
            let is_shorter = (words.len(), *other) < (sets[*other].len(), place);
            if !is_shorter || equal[*other] != *other {
                continue;
            }
            pairs += 1;
            if let Some(count) = shared_words(words, &sets[*other], may_miss) {
                let what = format!(
                    "has {count} of its {} words also in {}: {}",
                    words.len(),
                    criteria[*other].name,
                    quoted(&criteria[place].text)
                );
                let hint = "if both ask for the same, take one of them out";
                findings.push((place, LintRule::Similar, what, hint));
                break;
            }
        }
        if pairs > PAIRS {
            let what = format!(
                "is the last of {} that is compared with others: too many of the case share their words",
                criteria.len()
            );
            let hint = "check the case in parts to compare all";
            findings.push((place, LintRule::Similar, what, hint));
            break;
        }
    }
    findings
}

/// The different words of each criterion as numbers in ascending order, smaller ones for rarer words.
fn numbered_words(criteria: &[CaseCriterion]) -> Vec<Vec<usize>> {
    let sets: Vec<HashSet<String>> = criteria
        .iter()
        .map(|criterion| word_set(&criterion.text))
        .collect();
    let mut counts: HashMap<&str, usize> = HashMap::new();
    for word in sets.iter().flatten() {
        *counts.entry(word).or_default() += 1;
    }
    let mut words: Vec<&str> = counts.keys().copied().collect();
    words.sort_by_key(|word| (counts[word], *word));
    let numbers: HashMap<&str, usize> = words.into_iter().zip(0..).collect();
    let numbered = |set: &HashSet<String>| {
        let mut all: Vec<usize> = set.iter().map(|word| numbers[word.as_str()]).collect();
        all.sort_unstable();
        all
    };
    sets.iter().map(numbered).collect()
}

/// How many of these words the others have; `None` if more than `may_miss` are missing.
fn shared_words(words: &[usize], others: &[usize], may_miss: usize) -> Option<usize> {
    let mut missing = 0;
    for word in words {
        if others.binary_search(word).is_err() {
            missing += 1;
            if missing > may_miss {
                return None;
            }
        }
    }
    Some(words.len() - missing)
}

/// A text without what stands in parentheses: examples and explanations.
fn without_parentheses(text: &str) -> Cow<'_, str> {
    if !text.contains('(') {
        return Cow::Borrowed(text);
    }
    let mut depth = 0_usize;
    let mut kept = String::new();
    for c in text.chars() {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ if depth == 0 => kept.push(c),
            _ => {}
        }
    }
    Cow::Owned(kept)
}

/// What joins two demands: a semicolon, the end of a sentence, or an `and` with three words or more on each side before a verb
/// of demands, the first word of the criterion, or a word such as `it` and `is`.
fn joint(text: &str) -> Option<&'static str> {
    if text
        .trim_end()
        .trim_end_matches(';')
        .contains([';', '\u{ff1b}'])
    {
        return Some("a semicolon");
    }
    let full_stops = text.trim_end().trim_end_matches('\u{3002}');
    if has_two_sentences(text) || full_stops.contains('\u{3002}') {
        return Some("two sentences");
    }
    let words = english_words(text);
    for (at, word) in words.iter().enumerate() {
        let behind = words.len() - at - 1;
        if word == "and"
            && at >= WORDS_OF_DEMAND
            && behind >= WORDS_OF_DEMAND
            && begins_demand(&words[at + 1], &words[0])
        {
            return Some("and");
        }
    }
    None
}

/// Whether a sentence begins behind another one. An abbreviation is mostly followed by a small letter.
fn has_two_sentences(text: &str) -> bool {
    // Most criteria have no mark that ends a sentence before their end.
    let inner = text.trim_end_matches(|c: char| !c.is_alphanumeric());
    let begins = |range: Range<usize>| text[range].starts_with(char::is_uppercase);
    inner.contains(['.', '!', '?']) && sentences(text).into_iter().skip(1).any(begins)
}

fn begins_demand(word: &str, first: &str) -> bool {
    let stem = word.strip_suffix('s').unwrap_or(word);
    let shorter = word.strip_suffix("es").unwrap_or(stem);
    let is_verb = [word, stem, shorter]
        .iter()
        .any(|verb| VERBS.contains(verb));
    is_verb || word == first || BEGINNINGS.contains(word)
}

/// Words in lower case without punctuation around them.
fn english_words(text: &str) -> Vec<String> {
    let words = text.split_whitespace().map(|word| {
        let word = word.trim_matches(|c: char| !c.is_alphanumeric());
        word.to_lowercase().replace('\u{2019}', "'")
    });
    words.filter(|word| !word.is_empty()).collect()
}

/// Whether a demand begins with a negation, behind words such as `the answer should`, and no other demand follows.
fn is_negation(text: &str) -> bool {
    let words = english_words(text);
    let negates = |word: &str| NEGATIONS.contains(word) || word.ends_with("n't");
    let first = words
        .iter()
        .position(|word| negates(word) || !SUBJECTS.contains(word.as_str()));
    let Some(first) = first else {
        return false;
    };
    let rest = &words[first..];
    let leaves_out = ["leave", "leaves"].contains(&rest[0].as_str())
        && rest.get(1).is_some_and(|word| word == "out");
    let turns = rest.iter().any(|word| TURNS.contains(word));
    (negates(&rest[0]) || leaves_out) && !turns
}

/// Whether all words that say something are judgments.
fn is_vague(text: &str) -> bool {
    let mut has_judgment = false;
    for word in tokens(text) {
        let word = word.as_str();
        if JUDGMENTS.contains(word) {
            has_judgment = true;
        } else if !SUBJECTS.contains(word) && !FILLERS.contains(word) {
            return false;
        }
    }
    has_judgment
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(texts: &[&str]) -> Vec<(usize, LintRule)> {
        let criteria: Vec<CaseCriterion> = texts
            .iter()
            .enumerate()
            .map(|(place, text)| CaseCriterion {
                name: format!("c{}", place + 1),
                text: (*text).into(),
                weight: 1.0,
                ..CaseCriterion::default()
            })
            .collect();
        let findings = case_findings(&criteria).into_iter();
        findings.map(|(place, rule, ..)| (place, rule)).collect()
    }

    #[test]
    fn equal_criteria_may_differ_in_case_white_space_and_punctuation_but_not_in_signs() {
        let equal = [(1, LintRule::Equal)];
        assert_eq!(of(&["Names the cause.", "names  the\u{a0}CAUSE"]), equal);
        assert_eq!(
            of(&[
                "\u{8bf4}\u{660e}\u{539f}\u{56e0}",
                "\u{8bf4}\u{660e}\u{539f}\u{56e0}\u{3002}"
            ]),
            equal
        );
        assert_eq!(of(&["x > 5", "x < 5", "x -5", "x 5"]), []);
    }

    #[test]
    fn the_shorter_of_two_criteria_with_four_fifths_of_its_words_in_the_other_is_similar() {
        let long = "Says that the old bridge of the town fell in 1893";
        // 4 of 5 words; of 4 words 3 are less than four fifths.
        assert_eq!(
            of(&["Says the bridge fell suddenly", long]),
            [(0, LintRule::Similar)]
        );
        assert_eq!(of(&["Says bridge fell suddenly", long]), []);
        assert_eq!(of(&[long, "The bridge fell"]), [(1, LintRule::Similar)]);
        // Of two with as many words the later one; a word that is repeated counts once.
        assert_eq!(of(&["a b c d e", "f e d c b"]), [(1, LintRule::Similar)]);
        assert_eq!(of(&["bridge bridge bridge", long]), []);
        let chinese = "\u{8bf4}\u{660e}\u{6c34}\u{4f4d}\u{4e0a}\u{5347}\u{7684}\u{539f}\u{56e0}";
        let longer = format!("\u{62a5}\u{544a}{chinese}");
        assert_eq!(of(&[chinese, &longer]), [(0, LintRule::Similar)]);
    }

    #[test]
    fn two_demands_are_joined_by_a_semicolon_a_full_stop_or_and_before_a_verb() {
        for text in [
            "Names the cause; dates the fall",
            "Names the main cause. It dates the fall.",
            "Names the main cause and cites the first report",
            "The cause is named and it is dated to 1893",
            "Dates the first fall and dates the second one",
        ] {
            assert_eq!(of(&[text]), [(0, LintRule::Joined)], "{text}");
        }
        for text in [
            "Names A and B",
            "Names the cats of the house and the dogs of the yard",
            "Names and explains the main cause of the fall",
            "Cites Lee et al. for the main cause;",
            "Names the main cause (e.g. rust; dates are optional. It may be short.)",
        ] {
            assert_eq!(of(&[text]), [], "{text}");
        }
    }

    #[test]
    fn a_merit_that_only_negates_is_met_by_an_empty_answer() {
        for text in [
            "Does not blame the sea",
            "The answer should never name a price",
            "Avoids jargon",
            "Is the report free of errors?",
            "It doesn\u{2019}t exceed 200 words",
            "Leaves out the price",
        ] {
            assert_eq!(of(&[text]), [(0, LintRule::Negation)], "{text}");
        }
        for text in [
            "Notes that no bridge fell",
            "Does not blame the sea but names the rust",
            "The answer names no price",
        ] {
            assert_eq!(of(&[text]), [], "{text}");
        }
        let fault = CaseCriterion {
            text: "Does not name the cause".into(),
            weight: -1.0,
            ..CaseCriterion::default()
        };
        assert!(case_findings(&[fault]).is_empty());
    }

    #[test]
    fn judgments_without_anything_to_see_are_vague() {
        for text in [
            "The answer is clear and well written.",
            "High quality",
            "Is of an appropriate tone for the reader",
        ] {
            assert_eq!(of(&[text]), [(0, LintRule::Vague)], "{text}");
        }
        assert_eq!(
            of(&[
                "Gives a clear date of the fall",
                "Klar und gut",
                "\u{6e05}\u{695a}"
            ]),
            []
        );
    }

    #[test]
    fn ten_thousand_criteria_with_few_words_are_compared_in_bounded_time() {
        let mut state = 7_u64;
        let mut text = || {
            let mut words = Vec::new();
            for _ in 0..20 {
                state = state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1);
                words.push(format!("w{}", (state >> 33) % 60));
            }
            words.join(" ")
        };
        let texts: Vec<String> = (0..10_000).map(|_| text()).collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let findings = of(&texts);
        let similar: Vec<usize> = findings.iter().map(|(place, _)| *place).collect();
        // Each is compared with some 7,000 others, so a million pairs are some 140 criteria.
        assert!(similar.iter().all(|place| *place < 500), "{similar:?}");
    }
}
