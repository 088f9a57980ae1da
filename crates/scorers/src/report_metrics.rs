//! Formulas of ScholarQA-CS2 for one report, without a judge: verdicts in, metrics out (`docs/metrics.md`).
//!
//! Source: astabench 0.5.4, `evals/sqa` (allenai/asta-bench 36c9bc1): `rubric.py`, `precision_eval.py`, `citation_eval.py`,
//! `task.py`. Sums run from left to right.

use std::collections::{BTreeSet, HashSet};

use scholareval_core::domain::{
    CaseCriterion, CitationGroup, CitedClaim, Mode, RubricProfile, ShownText,
};
use scholareval_core::text::difflib::{paragraphs, ratio};
use scholareval_core::text::punkt::sentences;
use scholareval_core::text::python_chars::is_python_whitespace;

/// A text of the judge is a paragraph of the answer from this similarity on.
// The cutoff of the reference: judges quote paragraphs with small changes.
const SAME_TEXT: f64 = 0.85;
/// Weights of the four metrics.
pub const METRIC_WEIGHTS: [f64; 4] = [0.25; 4];

/// The share of each ingredient in the recall: weight / sum of the weights; `None` if that is 0 and there are any. In
/// compat mode, of ingredients with one id the last weight counts, in the place of the first.
pub fn ingredient_shares(ingredients: &[CaseCriterion], mode: Mode) -> Option<Vec<f64>> {
    let mut weights = Vec::with_capacity(ingredients.len());
    for place in 0..ingredients.len() {
        weights.push(if mode == Mode::Compat {
            weight_in_reference(place, ingredients)
        } else {
            ingredients[place].weight
        });
    }
    let whole = sum(&weights);
    if whole == 0.0 && !weights.is_empty() {
        return None;
    }
    Some(weights.iter().map(|weight| weight / whole).collect())
}

/// The reference keeps weights in a dictionary by id.
fn weight_in_reference(place: usize, ingredients: &[CaseCriterion]) -> f64 {
    let ingredient = &ingredients[place];
    if ingredient.shared_id.is_none() {
        return ingredient.weight;
    }
    let mut before = ingredients[..place].iter();
    if before.any(|other| other.shared_id == ingredient.shared_id) {
        return 0.0;
    }
    let mut all = ingredients.iter();
    let last = all.rfind(|other| other.shared_id == ingredient.shared_id);
    last.map_or(ingredient.weight, |last| last.weight)
}

/// Sum of share x credit (0, 0.5 or 1) over the ingredients.
pub fn ingredient_recall(shares: &[f64], credits: &[f64]) -> f64 {
    let parts = shares.iter().zip(credits);
    let parts: Vec<f64> = parts.map(|(share, credit)| share * credit).collect();
    sum(&parts)
}

/// The number of paragraphs of a report, and for each text of the judge the first paragraph that it equals up to small
/// differences; texts that equal none are left out.
pub fn irrelevant_paragraphs(report: &str, irrelevant: &[String]) -> (usize, Vec<usize>) {
    let paragraphs = paragraphs(report);
    let mut places = Vec::new();
    for text in irrelevant {
        let text = text.trim_matches(is_python_whitespace);
        let mut paragraphs = paragraphs.iter();
        places.extend(paragraphs.position(|paragraph| is_same(text, paragraph)));
    }
    (paragraphs.len(), places)
}

/// Whether two texts are equal up to small differences.
fn is_same(text: &str, paragraph: &str) -> bool {
    // The ratio cannot exceed that of the lengths, which is computed much faster.
    let first = text.chars().count() as f64;
    let second = paragraph.chars().count() as f64;
    let most = if first + second == 0.0 {
        1.0
    } else {
        2.0 * first.min(second) / (first + second)
    };
    most >= SAME_TEXT && ratio(text, paragraph) >= SAME_TEXT
}

/// 1 - irrelevant paragraphs / paragraphs.
pub fn answer_precision(report: &str, irrelevant: &[String]) -> f64 {
    let (all, marked) = irrelevant_paragraphs(report, irrelevant);
    1.0 - marked.iter().collect::<BTreeSet<_>>().len() as f64 / all as f64
}

/// What the citation metrics are made of; counts of groups add up.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CitationCounts {
    /// Claims that are fully supported, with a supporting citation.
    pub supported: usize,
    /// Other claims, and sentences of groups without citations.
    pub unsupported: usize,
    /// Supported claims whose supporting citations are all known by their title only.
    pub half: usize,
    /// For each claim the number of its supporting and of its other citations, and of distinct supporting ones that are
    /// known by their title only.
    pub claims: Vec<[usize; 3]>,
}

impl CitationCounts {
    /// Adds the claims of a group; one without citations has none, its sentences are unsupported. Quotes that begin with the
    /// marker of titles count as titles, unless it is empty. If the profile is of systems without retrieval, every supporting
    /// citation counts as a title.
    pub fn add(&mut self, group: &CitationGroup, claims: &[CitedClaim], profile: &RubricProfile) {
        if group.citations.is_empty() {
            let text = group.text.trim_matches(is_python_whitespace);
            self.unsupported += if text.is_empty() {
                0
            } else {
                sentences(&group.text).len()
            };
            return;
        }
        let mut titles: HashSet<String> = HashSet::new();
        for citation in &group.citations {
            if is_title(&citation.shown, profile) {
                titles.insert(bare(&citation.id));
            }
        }
        for claim in claims {
            // Judges write ids with and without brackets; the count below is that of the list,
            // repeats included, as in the reference.
            let supporting: HashSet<String> = claim.supporting.iter().map(|id| bare(id)).collect();
            let count = claim.supporting.len();
            let half = if profile.retrieverless {
                count
            } else {
                supporting.intersection(&titles).count()
            };
            let is_supported = claim.is_fully_supported && count > 0;
            self.supported += usize::from(is_supported);
            self.unsupported += usize::from(!is_supported);
            self.half += usize::from(is_supported && count == half);
            self.claims.push([count, claim.non_supporting.len(), half]);
        }
    }

    /// (supported - half / 2) / (supported + unsupported); 0 without claims.
    pub fn recall(&self) -> f64 {
        let all = self.supported + self.unsupported;
        if all == 0 {
            0.0
        } else {
            (self.supported as f64 - 0.5 * self.half as f64) / all as f64
        }
    }

    /// Mean over claims with citations of (supporting - half / 2) / all; 0 without any.
    pub fn precision(&self) -> f64 {
        let mut shares = Vec::new();
        for [supporting, others, half] in self.claims.iter().copied() {
            let all = supporting + others;
            if all > 0 {
                shares.push((supporting as f64 - 0.5 * half as f64) / all as f64);
            }
        }
        if shares.is_empty() {
            0.0
        } else {
            sum(&shares) / shares.len() as f64
        }
    }
}

/// A citation's id without its brackets.
fn bare(id: &str) -> String {
    id.replace(['[', ']', '(', ')'], "")
}

/// Whether a citation shows nothing but the title of its source.
fn is_title(shown: &ShownText, profile: &RubricProfile) -> bool {
    match shown {
        ShownText::Title(_) => true,
        ShownText::Quotes(quotes) => {
            !profile.title_marker.is_empty() && quotes.starts_with(&profile.title_marker)
        }
    }
}

/// Sum of weight x metric over ingredient recall, answer precision, citation precision and citation recall.
pub fn global_average(metrics: [f64; 4], weights: [f64; 4]) -> f64 {
    metrics
        .iter()
        .zip(weights)
        .fold(0.0, |sum, (metric, weight)| sum + weight * metric)
}

fn sum(values: &[f64]) -> f64 {
    values.iter().fold(0.0, |sum, value| sum + value)
}
