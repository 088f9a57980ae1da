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
    /// names of the perturbations that change nothing that a judge is asked: they are left out of the probe.
    ///
    /// # Errors
    /// When a system has the name of perturbed answers, a text cannot be read, or no perturbation is left.
    pub(super) fn add_perturbed(
        &mut self,
        perturbations: &[Perturbation],
        scorers: &[Arc<dyn Scorer>],
        judges: &Judges,
    ) -> Result<Vec<String>> {
        if perturbations.is_empty() {
            return Ok(Vec::new());
        }
        let asked = AskedCriteria::of(scorers, judges);
        let (mut rubric, mut plain) = (Vec::new(), Vec::new());
        let (mut kept, mut left_out) = (Vec::new(), Vec::new());
        for perturbation in perturbations {
            let mut added = perturbed(&self.rubric, *perturbation)?;
            if perturbation.is_of_criteria() {
                // Of criteria only those who ask about them see anything.
                added.retain(|item| asked.depends_on_layout(item));
            }
            if added.is_empty() && perturbation.needs_criteria() {
                left_out.push(perturbation.name());
                continue;
            }
            if !perturbation.is_of_criteria() {
                plain.extend(perturbed(&self.plain, *perturbation)?);
            }
            rubric.extend(added);
            kept.push(*perturbation);
        }
        if kept.is_empty() {
            let message = format!(
                "--perturb {} changes nothing that the judge is asked about these answers; give other perturbations",
                left_out.join(",")
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

/// What decides whether the judges of criteria notice how these are laid out.
struct AskedCriteria<'a> {
    scorers: &'a [Arc<dyn Scorer>],
    /// The judges; without the built-in baseline, which does not notice.
    ways: Vec<Way>,
    /// The prompts list the levels.
    shows_levels: bool,
}

/// How one judge is asked.
#[derive(Clone, Copy)]
enum Way {
    /// By prompts.
    Written,
    /// By requests to a decision model, of several criteria or of one each.
    Decided { is_of_several: bool },
}

impl<'a> AskedCriteria<'a> {
    fn of(scorers: &'a [Arc<dyn Scorer>], judges: &Judges) -> Self {
        let mut ways = Vec::new();
        for (name, named) in judges.all() {
            let is_asked = judges.roles_of(name).any(|role| *role == Role::Criteria);
            match named.decider() {
                _ if !is_asked || named.judge.is_lexical() => {}
                None => ways.push(Way::Written),
                Some(decider) => ways.push(Way::Decided {
                    is_of_several: decider.bounds().questions > 1,
                }),
            }
        }
        let prompts = judges.prompt_set();
        Self {
            scorers,
            ways,
            shows_levels: prompts.is_none_or(|prompts| prompts.shows(&CRITERIA, "levels")),
        }
    }

    /// Whether a judge is asked otherwise about this answer than about the one whose criteria stand as they are written.
    fn depends_on_layout(&self, item: &Item) -> bool {
        let subject = Subject::of(item);
        let is_reversed = item.layout == CriteriaLayout::LevelsReversed;
        let shows_levels = self.shows_levels || has_level_means(&item.case);
        let mut ways = self.ways.iter();
        ways.any(|way| {
            let (is_shown, is_decided) = match way {
                Way::Written => (!is_reversed || shows_levels, false),
                Way::Decided { is_of_several } => (is_reversed || *is_of_several, true),
            };
            let mut scorers = self.scorers.iter();
            is_shown && scorers.any(|scorer| scorer.depends_on_layout(&subject, is_decided))
        })
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
