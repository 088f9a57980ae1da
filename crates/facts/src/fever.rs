//! FEVER: strict score, label accuracy, and macro precision, recall and F1 of the evidence.
//!
//! All are 0..=1. Source: `fever-scorer`, `src/fever/scorer.py`, commit 4801615; J. Thorne et al., "The Fact
//! Extraction and VERification (FEVER) Shared Task", 2018. Only the first `max_evidence` predicted sentences count
//! (the shared task: 5); `None` means all.
//!
//! The worked example of the reference's README:
//!
//! ```
//! use scholareval_core::domain::Mode;
//! use scholareval_facts::fever::{FeverGold, FeverPrediction, FeverScores, Sentence, score_instance};
//!
//! # fn main() {
//! let gold = FeverGold::new("REFUTES", vec![vec![Sentence::new("page1", 1), Sentence::new("page2", 2)]]);
//! let first = FeverPrediction::new("REFUTES", &[("page1", 1)]); // page2:2 is missing
//! let second = FeverPrediction::new("REFUTES", &[("page1", 1), ("page2", 2), ("page3", 3)]);
//!
//! let claims = [first, second].map(|prediction| score_instance(&gold, &prediction, Some(5)));
//! let scores = FeverScores::of(&claims, Mode::Default);
//! assert_eq!(scores.strict_score, 0.5);
//! assert_eq!(scores.label_accuracy, 1.0);
//! assert!((scores.precision - 0.833).abs() < 0.001); // (1 + 2/3) / 2
//! assert_eq!(scores.recall, 0.5); // (0 + 1) / 2
//! assert_eq!(scores.f1, 0.625); // 2 * 5/6 * 1/2 / (5/6 + 1/2)
//! # }
//! ```

use std::fmt;

use super::leaderboard::CountedPart;
use scholareval_core::domain::Mode;
use scholareval_stats::harmonic_mean;

/// The labels of the task, as in files; comparison ignores case.
pub const LABELS: [&str; 3] = ["SUPPORTS", "REFUTES", "NOT ENOUGH INFO"];

/// A Wikipedia sentence: page name and 0-based line. Both are `None` in the gold evidence of unverifiable claims.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sentence {
    /// The page's name in the corpus, such as `Oliver_Reed`.
    pub page: Option<String>,
    /// The line on the page.
    pub line: Option<i64>,
}

impl Sentence {
    /// The sentence on this line of the page.
    pub fn new(page: &str, line: i64) -> Self {
        Self {
            page: Some(page.to_owned()),
            line: Some(line),
        }
    }
}

impl fmt::Display for Sentence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let line = self
            .line
            .map_or_else(|| "null".to_owned(), |line| line.to_string());
        write!(f, "{}:{line}", self.page.as_deref().unwrap_or("null"))
    }
}

/// The gold label and evidence of a claim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FeverGold {
    /// The label, in upper case.
    pub label: String,
    /// Groups of sentences. Each group is sufficient evidence, and is recalled if all its sentences are predicted; an
    /// empty group always is.
    pub groups: Vec<Vec<Sentence>>,
}

impl FeverGold {
    /// Gold data with this label, in any case.
    pub fn new(label: &str, groups: Vec<Vec<Sentence>>) -> Self {
        Self {
            label: label.to_uppercase(),
            groups,
        }
    }

    /// Whether evidence counts for the claim.
    pub fn is_verifiable(&self) -> bool {
        self.label != LABELS[2]
    }

    /// Whether the sentence is in any group. Gold entries without a line do not count as evidence.
    fn has(&self, sentence: &Sentence) -> bool {
        sentence.line.is_some() && self.groups.iter().flatten().any(|gold| gold == sentence)
    }
}

/// A system's prediction for a claim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FeverPrediction {
    /// The label, in upper case.
    pub label: String,
    /// The sentences, best first.
    pub evidence: Vec<Sentence>,
}

impl FeverPrediction {
    /// A prediction with this label, in any case.
    pub fn new(label: &str, evidence: &[(&str, i64)]) -> Self {
        let evidence = evidence
            .iter()
            .map(|(page, line)| Sentence::new(page, *line))
            .collect();
        Self {
            label: label.to_uppercase(),
            evidence,
        }
    }

    /// The first `max_evidence` sentences: only these count.
    fn counted(&self, max_evidence: Option<usize>) -> &[Sentence] {
        let all = self.evidence.len();
        &self.evidence[..max_evidence.unwrap_or(all).min(all)]
    }
}

/// Contribution of one claim to the five measures.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct InstanceScore {
    /// The label is right.
    pub label_correct: bool,
    /// The label is right and, for a verifiable claim, a whole group is predicted; false for gold data without any
    /// group.
    pub strictly_correct: bool,
    /// Evidence precision: share of the predicted sentences that are in any group, 1 if nothing is predicted. A
    /// sentence predicted twice counts twice. `None` for an unverifiable claim.
    pub precision: Option<f64>,
    /// Evidence recall, all or nothing: a whole group is predicted, or the gold data has none; `None` for an
    /// unverifiable claim.
    pub recalled: Option<bool>,
}

/// Scores one claim.
pub fn score_instance(
    gold: &FeverGold,
    prediction: &FeverPrediction,
    max_evidence: Option<usize>,
) -> InstanceScore {
    let label_correct = prediction.label == gold.label;
    if !gold.is_verifiable() {
        return InstanceScore {
            label_correct,
            strictly_correct: label_correct,
            precision: None,
            recalled: None,
        };
    }
    let counted = prediction.counted(max_evidence);
    let has_whole_group = gold
        .groups
        .iter()
        .any(|group| group.iter().all(|wanted| counted.contains(wanted)));
    let hits = counted.iter().filter(|sentence| gold.has(sentence)).count();
    // Nothing predicted is perfect precision in the reference; recall pays for it.
    let precision = if counted.is_empty() {
        1.0
    } else {
        hits as f64 / counted.len() as f64
    };
    InstanceScore {
        label_correct,
        strictly_correct: label_correct && has_whole_group,
        precision: Some(precision),
        // A verifiable claim without groups asks for no evidence: the reference counts it as
        // recalled, and never as strictly correct.
        recalled: Some(has_whole_group || gold.groups.is_empty()),
    }
}

/// The five measures of a system, each 0..=1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FeverScores {
    /// Claims with the right label and, where verifiable, a whole evidence group, over all claims. The FEVER score.
    pub strict_score: f64,
    /// Claims with the right label over all claims.
    pub label_accuracy: f64,
    /// Mean evidence precision over verifiable claims; 1 if there are none.
    pub precision: f64,
    /// Share of verifiable claims with a whole group predicted; 0 if there are none.
    pub recall: f64,
    /// 2 precision recall / (precision + recall); 0 if both are 0 (the reference divides by zero).
    pub f1: f64,
}

impl FeverScores {
    /// The five measures of these claims; without claims, precision is 1 and the others are 0. Precisions are summed in
    /// order of size, so that claim order does not affect the last digit; compat sums in file order, as the reference
    /// does.
    pub fn of(claims: &[InstanceScore], mode: Mode) -> Self {
        let share = |holds: fn(&InstanceScore) -> bool, all: usize| {
            claims.iter().filter(|claim| holds(claim)).count() as f64 / all.max(1) as f64
        };
        let mut precisions: Vec<f64> = claims.iter().filter_map(|claim| claim.precision).collect();
        if mode == Mode::Default {
            precisions.sort_by(f64::total_cmp);
        }
        let verifiable = precisions.len();
        let precision = if verifiable == 0 {
            1.0
        } else {
            precisions.iter().sum::<f64>() / verifiable as f64
        };
        let recall = share(|claim| claim.recalled == Some(true), verifiable);
        Self {
            strict_score: share(|claim| claim.strictly_correct, claims.len()),
            label_accuracy: share(|claim| claim.label_correct, claims.len()),
            precision,
            recall,
            f1: harmonic_mean(precision, recall),
        }
    }
}

/// Explains the score of this claim.
pub(super) fn explain(
    gold: &FeverGold,
    prediction: &FeverPrediction,
    max_evidence: Option<usize>,
) -> Vec<CountedPart> {
    let score = score_instance(gold, prediction, max_evidence);
    let counted = prediction.counted(max_evidence);
    let right = if score.label_correct {
        "right"
    } else {
        "wrong"
    };
    let mut findings = vec![CountedPart::new(
        "label",
        format!(
            "predicted {}, gold {}: {right}",
            prediction.label, gold.label
        ),
    )];
    for (group, number) in gold.groups.iter().zip(1..) {
        let mut sentences = Vec::new();
        for wanted in group {
            let state = if counted.contains(wanted) {
                "predicted"
            } else {
                "missing"
            };
            sentences.push(format!("{wanted} ({state})"));
        }
        findings.push(CountedPart::new(
            format!("group {number}"),
            sentences.join(", "),
        ));
    }
    for (at, sentence) in prediction.evidence.iter().enumerate() {
        let state = match (at < counted.len(), gold.has(sentence)) {
            (false, _) => "beyond --max-evidence, not counted",
            (true, true) => "in a group",
            (true, false) => "in no group",
        };
        findings.push(CountedPart::new(sentence.to_string(), state));
    }
    let evidence = match (score.precision, score.recalled) {
        (Some(precision), Some(recalled)) => {
            format!("precision {precision:.4}, recall {}", u8::from(recalled))
        }
        _ => "evidence does not count (NOT ENOUGH INFO)".to_owned(),
    };
    findings.push(CountedPart::new(
        "score",
        format!("strict {}, {evidence}", u8::from(score.strictly_correct)),
    ));
    findings
}

#[cfg(test)]
mod tests;
