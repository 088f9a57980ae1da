//! Whether decision models can be asked what a run asks of them: told before the first call.

use std::collections::BTreeSet;

use super::prepared::Prepared;
use crate::domain::Severity;
use crate::error::{Error, Result};
use crate::question::JudgeCall;
use crate::scorer::{Scorer, Step, Subject, Verdicts};

/// The scorers that ask nothing but what a decision model can answer; `criteria` does with most profiles.
const DECIDED: &str = "criteria, prometheus, entailment, citation_audit, pairs";

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
                    "the scorer {} asks the judge {judge} for {info}, a list or a free number, but a decision model only chooses among \
                     given options; {}",
                    scorer.name(),
                    way_out(call),
                )));
            }
            if let Some(options) = decider.options_too_many(&items) {
                let most = decider.bounds().options;
                return Err(Error::Usage(format!(
                    "the scorer {} asks the judge {judge} for {info} with {options} options, and its server takes {most}; give the \
                     scale fewer levels, or {}",
                    scorer.name(),
                    way_out(call),
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

/// What the user can do about a question that a decision model cannot be asked.
fn way_out(call: &JudgeCall) -> String {
    let role = call.role.name();
    format!(
        "give the role {role} another judge ([roles] in the config file), or name scorers that it can be asked: --scorers {DECIDED}"
    )
}
