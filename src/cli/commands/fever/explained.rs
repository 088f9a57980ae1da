//! One claim, shown sentence by sentence.

use std::fmt::Write as _;

use serde_json::json;

use crate::report::visible;
use crate::scorer::fever::Explanation;

/// For each file that predicts it: labels, groups, predicted sentences, verdict.
pub(super) fn text(id: &str, found: &[(String, usize, Explanation)], max_evidence: Option<usize>) -> String {
    let mut out = String::new();
    for (file, line, explained) in found {
        let _ = writeln!(out, "{}:{line}, claim {}", visible(file), visible(id));
        let predicted = explained.predicted_label.as_deref().unwrap_or("(no label)");
        let right = if predicted == explained.gold_label { "right" } else { "wrong" };
        let _ = writeln!(
            out,
            "  label      predicted {}, gold {}: {right}",
            visible(predicted),
            visible(&explained.gold_label)
        );
        groups(&mut out, explained);
        sentences(&mut out, explained, max_evidence);
        verdict(&mut out, explained);
    }
    out
}

fn groups(out: &mut String, explained: &Explanation) {
    for (index, group) in explained.groups.iter().enumerate() {
        let state = if group.is_whole() { "whole" } else { "not whole" };
        let sentences = group.sentences.iter().map(|(sentence, is_predicted)| {
            let mark = if *is_predicted { "predicted" } else { "missing" };
            format!("{} ({mark})", visible(sentence))
        });
        let _ = writeln!(out, "  group {:<4} {state}: {}", index + 1, sentences.collect::<Vec<_>>().join(", "));
    }
    if explained.groups.is_empty() {
        let _ = writeln!(out, "  groups     none in the gold");
    }
}

fn sentences(out: &mut String, explained: &Explanation, max_evidence: Option<usize>) {
    for (index, predicted) in explained.predicted.iter().enumerate() {
        let state = match (predicted.well_formed, predicted.counts, predicted.is_gold) {
            (false, _, _) => "not [page, line]".to_owned(),
            (true, false, _) => format!("beyond --max-evidence {}, not counted", max_evidence.unwrap_or_default()),
            (true, true, true) => "in a group".to_owned(),
            (true, true, false) => "in no group".to_owned(),
        };
        let _ = writeln!(out, "  sentence {:<1} {}: {state}", index + 1, visible(&predicted.sentence));
    }
    if explained.predicted.is_empty() {
        let _ = writeln!(out, "  sentences  none predicted");
    }
}

fn verdict(out: &mut String, explained: &Explanation) {
    let score = match &explained.score {
        Ok(score) => score,
        Err(raised) => {
            let _ = writeln!(out, "  unscored   {raised}");
            return;
        }
    };
    let strict = if score.strictly_correct { "1" } else { "0" };
    let evidence = match (score.precision, score.recalled) {
        (Some(share), Some(recalled)) => format!(
            "precision {}/{}{}, recall {}",
            share.hits,
            share.predicted,
            if share.predicted == 0 { " (counts 1)" } else { "" },
            u8::from(recalled)
        ),
        _ => "evidence does not count (NOT ENOUGH INFO)".to_owned(),
    };
    let _ = writeln!(out, "  score      strict {strict}, {evidence}");
}

/// The same for programs.
pub(super) fn json(id: &str, found: &[(String, usize, Explanation)], max_evidence: Option<usize>) -> String {
    let one = |(file, line, explained): &(String, usize, Explanation)| {
        let groups: Vec<_> = explained
            .groups
            .iter()
            .map(|group| {
                let sentences: Vec<_> = group
                    .sentences
                    .iter()
                    .map(|(sentence, predicted)| json!({ "sentence": sentence, "predicted": predicted }))
                    .collect();
                json!({ "whole": group.is_whole(), "sentences": sentences })
            })
            .collect();
        let predicted: Vec<_> = explained
            .predicted
            .iter()
            .map(|predicted| {
                json!({ "sentence": predicted.sentence, "in_a_group": predicted.is_gold, "counts": predicted.counts,
                "well_formed": predicted.well_formed })
            })
            .collect();
        let score = explained.score.as_ref().ok();
        json!({
            "file": file,
            "line": line,
            "gold_label": explained.gold_label,
            "predicted_label": explained.predicted_label,
            "label_correct": score.map(|score| score.label_correct),
            "strictly_correct": score.map(|score| score.strictly_correct),
            "precision": score.and_then(|score| score.precision).map(|share| share.value()),
            "recall": score.and_then(|score| score.recalled).map(u8::from),
            "unscored": explained.score.as_ref().err().map(|raised| raised.name()),
            "groups": groups,
            "predicted": predicted,
        })
    };
    let all: Vec<_> = found.iter().map(one).collect();
    format!("{:#}\n", json!({ "id": id, "max_evidence": max_evidence, "predictions": all }))
}
