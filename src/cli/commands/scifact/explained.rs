//! The text of `--explain`.

use std::fmt::Write as _;

use crate::report::visible;
use crate::scorer::scifact::{AbstractExplanation, ClaimExplanation, SentenceCredit};

/// Why a claim scored as it did, for each system.
pub(super) fn render_explanations(told: &[(String, ClaimExplanation)]) -> String {
    let mut out = String::new();
    let Some((_, first)) = told.first() else { return out };
    // Writing to a string cannot fail.
    let _ = writeln!(out, "claim {}: {}", first.id, visible(&first.claim));
    for (system, told) in told {
        let counts = &told.counts;
        let _ = writeln!(out, "\n{}{}", visible(system), if told.predicted { "" } else { ": no prediction" });
        for explanation in &told.abstracts {
            let _ = writeln!(out, "  abstract {}: {}", explanation.doc_id, verdict(explanation));
            for credit in &explanation.sentences {
                let _ = writeln!(out, "    sentence {}: {}", credit.sentence, reason(explanation, credit));
            }
        }
        let _ = writeln!(
            out,
            "  abstracts: {} relevant, {} predicted, {} label-only, {} rationalized",
            counts.abstracts_relevant,
            counts.abstracts_retrieved,
            counts.abstracts_label_only,
            counts.abstracts_rationalized
        );
        let _ = writeln!(
            out,
            "  sentences: {} relevant, {} predicted, {} selection, {} label",
            counts.sentences_relevant, counts.sentences_retrieved, counts.sentences_selection, counts.sentences_label
        );
    }
    out
}

fn verdict(told: &AbstractExplanation) -> String {
    let sets: Vec<String> = told.rationales.iter().map(|rationale| format!("{:?}", rationale.0)).collect();
    let sets = sets.join(" ");
    let (predicted, gold) = match (told.predicted, told.gold) {
        (Some(predicted), Some(gold)) => (predicted, gold),
        (Some(predicted), None) => return format!("{predicted} predicted, but it is no evidence for this claim"),
        (None, Some(gold)) => return format!("missed; gold {gold}, rationales {sets}"),
        (None, None) => return "neither predicted nor gold".to_owned(),
    };
    let label =
        if told.label_only { format!("{predicted} is right") } else { format!("{predicted} is wrong, gold {gold}") };
    let first = told.sentences_counted;
    match told.matched {
        Some(matched) if told.label_only => {
            format!("{label}; rationalized: rationale {:?} is within its first {first}", told.rationales[matched].0)
        }
        Some(matched) => format!("{label}, so rationale {:?} does not help", told.rationales[matched].0),
        None => format!("{label}; not rationalized: none of the rationales {sets} is within its first {first}"),
    }
}

fn reason(told: &AbstractExplanation, credit: &SentenceCredit) -> String {
    if credit.label {
        return "counts".to_owned();
    }
    if credit.selection {
        return "counts for selection; not for label, which is wrong".to_owned();
    }
    if credit.repeated {
        return "listed before; counts in precision only".to_owned();
    }
    if told.gold.is_none() {
        return "the abstract is not relevant".to_owned();
    }
    if !credit.in_rationale {
        return "in no rationale".to_owned();
    }
    let lacks: Vec<String> = credit.lacks.iter().map(ToString::to_string).collect();
    format!("its rationale lacks {}", lacks.join(", "))
}
