//! Criteria: of a list, and the properties and the expertise of a ScholarQA-CS rubric.
//!
//! What is only counted (length), and what takes a reading of every claim (citations, excerpts, snippets of a property), is left
//! to the judge.

use super::{LabelTask, LabeledAnswer, UnitSource};
use crate::dataset::rubric_profile;
use crate::domain::{
    BlindTask, Component, ComponentKind, GivenLabel, LabelKind, LabelScale, LabelUnit, ReplyShape,
    ScoredAnswer,
};
use crate::error::{Error, Result};
use crate::runs::label::scales::scale_of;

pub(super) const SOURCE: UnitSource = UnitSource {
    kind: LabelKind::Criterion,
    tasks,
};

/// The rubric whose levels are those of properties.
const POINTS_PROFILE: &str = "scholarqa-cs";
/// What the fixed criterion asks, in place of the name that its component has as text.
const EXPERTISE: &str = "The answer suits a reader who asks this question: by the terms and the depth of the question, what it takes for \
                         granted is what such a reader knows.";
/// When points of expertise apply.
const EXPERTISE_LEVELS: [(usize, &str); 5] = [
    (
        0,
        "the reader cannot follow it at all, or learns only what the question shows to be known",
    ),
    (3, "large parts are far above or far below the reader"),
    (5, "a reader gets the gist and loses or skips the rest"),
    (
        8,
        "fits, apart from a few unexplained terms or needless basics",
    ),
    (10, "pitched at the reader throughout"),
];

fn tasks(answer: &LabeledAnswer<'_>, scored: &ScoredAnswer) -> Result<Vec<LabelTask>> {
    let mut tasks = Vec::new();
    for component in &scored.score.components {
        let Some((text, scale)) = text_and_scale(answer, component)? else {
            continue;
        };
        tasks.push(LabelTask {
            unit: LabelUnit {
                kind: LabelKind::Criterion,
                scorer: scored.score.scorer.name().to_owned(),
                name: component.name.clone(),
            },
            task: BlindTask {
                asks: "Criterion".to_owned(),
                text,
                snippets: snippets(answer, &component.name),
                ..BlindTask::default()
            },
            scale,
        });
    }
    Ok(tasks)
}

/// What a rater reads of a component, and the scale; `None` for one that is not a criterion.
fn text_and_scale(
    answer: &LabeledAnswer<'_>,
    component: &Component,
) -> Result<Option<(String, LabelScale)>> {
    let scale = match component.kind {
        ComponentKind::Criterion => match answer.profile {
            Some(profile) => scale(&profile.reply)?,
            None => scale(&rubric_profile(None)?.reply)?,
        },
        ComponentKind::Property => points()?,
        ComponentKind::Expertise => {
            return Ok(Some((EXPERTISE.to_owned(), expertise()?)));
        }
        _ => return Ok(None),
    };
    Ok(Some((component.text.clone(), scale)))
}

fn scale(shape: &ReplyShape) -> Result<LabelScale> {
    scale_of(shape).map_err(|why| {
        Error::Settings(format!(
            "the criteria of the run cannot be labeled: {why}; label whole answers (--units answer) or --pairs"
        ))
    })
}

/// 0 to 10 points, whose component is a tenth of them.
fn points() -> Result<LabelScale> {
    let mut scale = scale(&rubric_profile(Some(POINTS_PROFILE))?.reply)?;
    for (points, level) in (0_u8..).zip(&mut scale.levels) {
        // The quotient that the scorer computes, to the last digit: labels are compared with it.
        level.label = GivenLabel::Value(f64::from(points) / 10.0);
    }
    Ok(scale)
}

fn expertise() -> Result<LabelScale> {
    let mut scale = points()?;
    for (points, means) in EXPERTISE_LEVELS {
        means.clone_into(&mut scale.levels[points].means);
    }
    Ok(scale)
}

/// The texts that support a criterion, or that meet it.
fn snippets(answer: &LabeledAnswer<'_>, name: &str) -> Vec<String> {
    let case = &answer.item.case;
    if let Some(property) = case
        .rubric
        .criteria
        .iter()
        .find(|criterion| criterion.name == name)
    {
        return property.snippets.to_vec();
    }
    let mut criteria = case.criteria.iter();
    let criterion = criteria.find(|criterion| criterion.name == name);
    criterion.map_or_else(Vec::new, |criterion| criterion.examples.clone())
}
