//! Claims and the sources that they cite: those about which a judge was asked.

use super::{LabelTask, LabeledAnswer, UnitSource};
use crate::domain::{BlindTask, ClaimSupport, LabelKind, LabelUnit, ScoredAnswer};
use crate::error::Result;
use crate::runs::label::scales::numbered;

pub(super) const SOURCE: UnitSource = UnitSource {
    kind: LabelKind::Claim,
    tasks,
};

const LEVELS: [(&str, &str); 2] = [
    (
        "not supported",
        "the sources leave the claim or a part of it open, or say otherwise",
    ),
    (
        "supported",
        "the sources together say all that the claim says, or it follows from them",
    ),
];

fn tasks(answer: &LabeledAnswer<'_>, scored: &ScoredAnswer) -> Result<Vec<LabelTask>> {
    let mut tasks = Vec::new();
    for (index, claim) in scored.score.claims.iter().enumerate() {
        let sources = sources(answer, claim);
        // Claims without a usable citation are not supported whatever the sources say; no judge was asked.
        if claim.why.is_some() || sources.is_empty() {
            continue;
        }
        tasks.push(LabelTask {
            unit: LabelUnit {
                kind: LabelKind::Claim,
                scorer: scored.score.scorer.name().to_owned(),
                name: index.to_string(),
            },
            task: BlindTask {
                asks: "Do the cited sources support this claim?".to_owned(),
                text: claim.claim.clone(),
                snippets: vec![claim.claim.clone()],
                is_about_place: true,
                sources,
            },
            scale: numbered(0, &LEVELS),
        });
    }
    Ok(tasks)
}

/// The sources of a claim that the answer has, by index.
fn sources(answer: &LabeledAnswer<'_>, claim: &ClaimSupport) -> Vec<usize> {
    let prediction = answer.item.answer.prediction.as_deref();
    let count = prediction.map_or(0, |prediction| prediction.sources.len());
    let mut places = Vec::new();
    for number in &claim.citations {
        let place = answer.index_base.place_of(*number);
        places.extend(place.filter(|place| *place < count));
    }
    places
}
