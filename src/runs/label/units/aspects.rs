//! Grades in aspects, with the descriptions that the judge had.

use super::{LabelTask, LabeledAnswer, UnitSource};
use crate::domain::{BlindTask, ComponentKind, LabelKind, LabelUnit, ScoredAnswer};
use crate::error::Result;
use crate::runs::label::scales::numbered;

pub(super) const SOURCE: UnitSource = UnitSource {
    kind: LabelKind::Aspect,
    tasks,
};

fn tasks(answer: &LabeledAnswer<'_>, scored: &ScoredAnswer) -> Result<Vec<LabelTask>> {
    let mut tasks = Vec::new();
    for component in &scored.score.components {
        if component.kind != ComponentKind::Aspect {
            continue;
        }
        let mut aspects = answer.aspects.iter();
        let aspect = aspects.find(|aspect| *aspect.name == component.name);
        let text = aspect.map(|aspect| aspect.criteria_description.as_str());
        let mut levels = [("1", ""), ("2", ""), ("3", ""), ("4", ""), ("5", "")];
        if let Some(aspect) = aspect {
            for (level, means) in levels.iter_mut().zip(&aspect.score_descriptions) {
                level.1 = means;
            }
        }
        tasks.push(LabelTask {
            unit: LabelUnit {
                kind: LabelKind::Aspect,
                scorer: scored.score.scorer.name().to_owned(),
                name: component.name.clone(),
            },
            task: BlindTask {
                asks: "Grade from 1 to 5".to_owned(),
                // An imported run has grades and no descriptions: the name says what is graded.
                text: text
                    .filter(|text| !text.is_empty())
                    .unwrap_or(&component.name)
                    .to_owned(),
                ..BlindTask::default()
            },
            scale: numbered(1, &levels),
        });
    }
    Ok(tasks)
}
