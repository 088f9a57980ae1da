//! Whether decision models can be asked what a run asks of them, checked before the first call.

use std::collections::BTreeSet;

use super::prepared::Prepared;
use crate::domain::Severity;
use crate::error::{Error, Result};
use crate::question::JudgeCall;
use crate::scorer::{Scorer, Step, Subject, Verdicts};

/// The scorers whose questions a decision model can answer.
const DECIDED: &str =
    "criteria (rubrics other than race and scholarqa-cs2), prometheus, entailment";

impl Prepared {
    /// # Errors
    /// [`Error::Usage`] for a question to a decision model that no given options can answer, or more of them than its server takes,
    /// with the role that needs another judge.
    pub(super) fn check_decisions(&self) -> Result<()> {
        let mut seen: BTreeSet<(String, &str)> = BTreeSet::new();
        for scorer in &self.scorers {
            let mut roles = scorer.roles().into_iter();
            if !roles.any(|role| self.judges.deciders(&role).next().is_some()) {
                continue;
            }
            for item in self.inputs.items(&**scorer).iter() {
                let Step::Ask(calls) = scorer.step(&Subject::of(item), &Verdicts::default()) else {
                    continue;
                };
                for call in &calls {
                    let role = call.role.name().into_owned();
                    if seen.insert((role, call.question.info().name)) {
                        self.check_call(&**scorer, call)?;
                    }
                }
            }
        }
        Ok(())
    }

    fn check_call(&self, scorer: &dyn Scorer, call: &JudgeCall) -> Result<()> {
        let info = call.question.info();
        for (judge, decider) in self.judges.deciders(&call.role) {
            let items = decider.items(call);
            if items.len() < call.items().len() {
                return Err(Error::Usage(format!(
                    "the scorer {} asks for {info} without fixed options (a list, any number or over 255 levels), but {}",
                    scorer.name(),
                    way_out(call, judge),
                )));
            }
            if let Some(options) = decider.options_too_many(&items) {
                let most = decider.bounds().options;
                return Err(Error::Usage(format!(
                    "the scorer {} asks for {info} with {options} options, more than the {most} of this server; give the scale \
                     fewer levels: {}",
                    scorer.name(),
                    way_out(call, judge),
                )));
            }
            if decider.uses_builtin_text(info) {
                let note = format!(
                    "the prompts have no text for decision models: {info} is asked in the built-in words (--compat then means \
                     the reference's sums, not its prompts)"
                );
                (self.notify)(Severity::Warning, &note);
            }
        }
        Ok(())
    }
}

/// What the judge of this question can do instead, and which role needs another one.
fn way_out(call: &JudgeCall, judge: &str) -> String {
    let role = call.role.name();
    format!(
        "the judge of the role {role} ({judge}) is a decision model, which chooses among given options; give this role another \
         judge ([roles] in the config file), or choose scorers that it can answer with --scorers: {DECIDED}"
    )
}
