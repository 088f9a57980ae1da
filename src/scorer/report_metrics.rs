//! Formulas of ScholarQA-CS2 for one report, without a judge: verdicts in, metrics out (`docs/metrics.md`).
//!
//! Source: astabench 0.5.4, `evals/sqa` (allenai/asta-bench 36c9bc1): `rubric.py`, `precision_eval.py`, `citation_eval.py`,
//! `task.py`. Sums run from left to right.

use std::collections::{BTreeSet, HashSet};

use crate::domain::{CaseCriterion, CitationGroup, CitedClaim, Mode, RubricProfile, ShownText};
use crate::text::difflib::{paragraphs, ratio};
use crate::text::punkt::sentences;
use crate::text::python_chars::is_python_whitespace;

/// A text of the judge is a paragraph of the answer from this similarity on.
const SAME_TEXT: f64 = 0.85;
/// Weights of the four metrics.
pub const METRIC_WEIGHTS: [f64; 4] = [0.25; 4];

/// The share of each ingredient in the recall: weight / sum of the weights; `None` if that is 0 and there are any. In
/// compat mode, of ingredients with one id the last weight counts, in the place of the first.
pub fn ingredient_shares(ingredients: &[CaseCriterion], mode: Mode) -> Option<Vec<f64>> {
    let weight = |(at, own): (usize, &CaseCriterion)| {
        let has_id = |other: &&CaseCriterion| other.shared_id == own.shared_id;
        match own.shared_id.is_some() && mode == Mode::Compat {
            false => own.weight,
            true if ingredients[..at].iter().any(|other| has_id(&other)) => 0.0,
            true => ingredients
                .iter()
                .rfind(has_id)
                .map_or(own.weight, |last| last.weight),
        }
    };
    let weights: Vec<f64> = ingredients.iter().enumerate().map(weight).collect();
    let whole = sum(&weights);
    (whole != 0.0 || weights.is_empty())
        .then(|| weights.iter().map(|weight| weight / whole).collect())
}

/// Sum of share x credit (0, 0.5 or 1) over the ingredients.
pub fn ingredient_recall(shares: &[f64], credits: &[f64]) -> f64 {
    let parts: Vec<f64> = shares
        .iter()
        .zip(credits)
        .map(|(share, credit)| share * credit)
        .collect();
    sum(&parts)
}

/// The number of paragraphs of a report, and for each text of the judge the first paragraph that it equals up to small
/// differences; texts that equal none are left out.
pub fn irrelevant_paragraphs(report: &str, irrelevant: &[String]) -> (usize, Vec<usize>) {
    let paragraphs = paragraphs(report);
    let place = |text: &String| {
        let text = text.trim_matches(is_python_whitespace);
        let is_same = |paragraph: &&str| {
            // The ratio cannot exceed that of the lengths.
            let (one, other) = (
                text.chars().count() as f64,
                paragraph.chars().count() as f64,
            );
            let most = if one + other == 0.0 {
                1.0
            } else {
                2.0 * one.min(other) / (one + other)
            };
            most >= SAME_TEXT && ratio(text, paragraph) >= SAME_TEXT
        };
        paragraphs.iter().position(is_same)
    };
    (
        paragraphs.len(),
        irrelevant.iter().filter_map(place).collect(),
    )
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
        let bare = |id: &str| id.replace(['[', ']', '(', ')'], "");
        let is_title = |shown: &ShownText| match shown {
            ShownText::Title(_) => true,
            ShownText::Quotes(quotes) => {
                !profile.title_marker.is_empty() && quotes.starts_with(&profile.title_marker)
            }
        };
        let titles = group
            .citations
            .iter()
            .filter(|citation| is_title(&citation.shown));
        let titles: HashSet<String> = titles.map(|citation| bare(&citation.id)).collect();
        for claim in claims {
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
        let cited = self
            .claims
            .iter()
            .filter(|[supporting, others, _]| supporting + others > 0);
        let share = |[supporting, others, half]: &[usize; 3]| {
            (*supporting as f64 - 0.5 * *half as f64) / (supporting + others) as f64
        };
        let shares: Vec<f64> = cited.map(share).collect();
        if shares.is_empty() {
            0.0
        } else {
            sum(&shares) / shares.len() as f64
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
