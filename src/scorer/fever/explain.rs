//! Why a claim scored as it did.

use super::{InstanceScore, counted, is_same, score_instance};
use crate::domain::fever::{Form, Gold, Prediction, Raised};

/// A claim, sentence by sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Explanation {
    /// The gold label.
    pub gold_label: String,
    /// The predicted label; `None` where it cannot be read.
    pub predicted_label: Option<String>,
    /// What the claim adds, or what the reference raises.
    pub score: Result<InstanceScore, Raised>,
    /// The gold groups, in file order.
    pub groups: Vec<GroupExplained>,
    /// The predicted sentences, in file order.
    pub predicted: Vec<SentenceExplained>,
}

/// A gold group and what of it was predicted among the sentences that count.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupExplained {
    /// Its sentences, as `page:line`, and whether each was predicted.
    pub sentences: Vec<(String, bool)>,
}

impl GroupExplained {
    /// True if all its sentences were predicted.
    pub fn is_whole(&self) -> bool {
        self.sentences.iter().all(|(_, predicted)| *predicted)
    }
}

/// A predicted sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SentenceExplained {
    /// `page:line`; `?` where it is neither.
    pub sentence: String,
    /// True if it stands in a gold group.
    pub is_gold: bool,
    /// True if it is within the first `max_evidence`.
    pub counts: bool,
    /// True if it is written as `[page, line]`.
    pub well_formed: bool,
}

/// Why this claim scored as it did; nothing of a claim that is not verifiable counts as evidence.
pub fn explain(gold: &Gold<'_>, prediction: &Prediction<'_>, max_evidence: Option<usize>) -> Explanation {
    let counted = counted(prediction, max_evidence).unwrap_or_default();
    let groups = gold.groups().map(|group| {
        let is_predicted = |wanted| counted.iter().any(|predicted| is_same(predicted, wanted));
        let sentences = group.0.iter().map(|wanted| (wanted.to_string(), is_predicted(wanted))).collect();
        GroupExplained { sentences }
    });
    let predicted = prediction.evidence.iter().flatten().enumerate().map(|(index, predicted)| SentenceExplained {
        sentence: predicted.sentence.as_ref().map_or_else(|| "?".to_owned(), ToString::to_string),
        is_gold: gold.sentences().iter().any(|wanted| wanted.line.is_some() && is_same(predicted, wanted)),
        counts: index < counted.len(),
        well_formed: predicted.form != Form::Bad,
    });
    Explanation {
        gold_label: gold.label.name().to_owned(),
        predicted_label: prediction.label.as_ref().ok().map(|label| label.name().to_owned()),
        score: score_instance(gold, prediction, max_evidence),
        groups: groups.collect(),
        predicted: predicted.collect(),
    }
}
