//! Adds perturbed answers to the inputs of a probe, each as an answer of a further system.

use std::collections::HashSet;
use std::sync::Arc;

use serde_json::json;

use super::inputs::LoadedInputs;
use super::judges::Judges;
use crate::dataset;
use crate::domain::{CriteriaLayout, Item, Role, SystemName, TestCase};
use crate::error::{Error, Result};
use crate::question::CRITERIA;
use crate::record::PERTURBATIONS;
use crate::scorer::{Scorer, Subject};
use crate::text::perturbation::Perturbation;

impl LoadedInputs {
    /// Adds every answer with each of these perturbations that changes it, as an answer of a further system. Returns the
    /// perturbations of criteria that change nothing that a judge is asked: they are left out of the probe.
    ///
    /// # Errors
    /// When a system has the name of perturbed answers, a text cannot be read, or no perturbation is left.
    pub(super) fn add_perturbed(
        &mut self,
        perturbations: &[Perturbation],
        scorers: &[Arc<dyn Scorer>],
        judges: &Judges,
    ) -> Result<Vec<Perturbation>> {
        if perturbations.is_empty() {
            return Ok(Vec::new());
        }
        let asked = AskedCriteria::of(scorers, judges);
        let (mut rubric, mut plain) = (Vec::new(), Vec::new());
        let (mut kept, mut left_out) = (Vec::new(), Vec::new());
        for perturbation in perturbations {
            let mut perturbed = perturbed(&self.rubric, *perturbation)?;
            if perturbation.is_of_criteria() {
                perturbed.retain(|item| asked.depends_on_layout(item));
                if perturbed.is_empty() {
                    left_out.push(*perturbation);
                    continue;
                }
            } else {
                // Scorers without criteria are asked the same.
                plain.extend(self::perturbed(&self.plain, *perturbation)?);
            }
            rubric.extend(perturbed);
            kept.push(*perturbation);
        }
        if kept.is_empty() {
            let names: Vec<String> = left_out.iter().map(|left| left.name()).collect();
            let message = format!(
                "--perturb {} changes nothing that the judge is asked about these answers; give other perturbations",
                names.join(",")
            );
            return Err(Error::Settings(message));
        }
        let all = [(&self.rubric, rubric), (&self.plain, plain)];
        let [rubric, plain] = all.map(|(items, added)| with_added(items, added));
        self.set_lists(rubric?, plain?);
        self.settings.insert(PERTURBATIONS.to_owned(), json!(kept));
        Ok(left_out)
    }
}

/// What decides whether a judge of criteria notices how they are laid out.
struct AskedCriteria<'a> {
    scorers: &'a [Arc<dyn Scorer>],
    /// A decision model judges.
    is_decided: bool,
    /// Its requests have one criterion each.
    is_each_alone: bool,
    /// The prompts list the levels.
    shows_levels: bool,
}

impl<'a> AskedCriteria<'a> {
    fn of(scorers: &'a [Arc<dyn Scorer>], judges: &Judges) -> Self {
        let bounds = judges.deciders(&Role::Criteria);
        let questions: Vec<usize> = bounds
            .map(|(_, decider)| decider.bounds().questions)
            .collect();
        let prompts = judges.prompt_set();
        Self {
            scorers,
            is_decided: !questions.is_empty(),
            is_each_alone: !questions.is_empty() && questions.iter().all(|count| *count == 1),
            shows_levels: prompts.is_none_or(|prompts| prompts.shows(&CRITERIA, "levels")),
        }
    }

    /// Whether a judge is asked otherwise about this answer than about the one whose criteria stand as they are written.
    fn depends_on_layout(&self, item: &Item) -> bool {
        let is_shown = match item.layout {
            CriteriaLayout::LevelsReversed => {
                self.is_decided || self.shows_levels || has_level_means(&item.case)
            }
            _ => !self.is_each_alone,
        };
        let subject = Subject::of(item);
        let mut scorers = self.scorers.iter();
        is_shown && scorers.any(|scorer| scorer.depends_on_layout(&subject, self.is_decided))
    }
}

/// Whether the levels stand with a criterion of the case.
fn has_level_means(case: &TestCase) -> bool {
    let mut criteria = case.criteria.iter();
    criteria.any(|criterion| !criterion.level_means.is_empty())
}

/// Each of these answers that the perturbation changes, perturbed.
fn perturbed(items: &[Item], perturbation: Perturbation) -> Result<Vec<Item>> {
    let mut added = Vec::new();
    for item in items {
        added.extend(dataset::perturbed(item, perturbation)?);
    }
    Ok(added)
}

/// The answers with the perturbed ones behind them.
///
/// # Errors
/// When a system has the name of perturbed answers.
fn with_added(items: &[Item], added: Vec<Item>) -> Result<Vec<Item>> {
    // Two systems of one name would be averaged as one.
    let systems: HashSet<&SystemName> = items.iter().map(|item| &item.answer.system).collect();
    for item in &added {
        if systems.contains(&item.answer.system) {
            let name = item.answer.system.as_str();
            return Err(Error::Settings(format!(
                "the system {name:?} has the name of perturbed answers; rename its file"
            )));
        }
    }
    let mut all = items.to_vec();
    all.extend(added);
    Ok(all)
}
