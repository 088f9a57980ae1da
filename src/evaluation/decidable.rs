//! Whether decision models can be asked what a run asks of them: told before the first call.

use std::collections::BTreeSet;

use super::prepared::Prepared;
use crate::domain::Severity;
use crate::error::{Error, Result};
use crate::question::{JudgeCall, KINDS};
use crate::scorer::{Scorer, Step, Subject, Verdicts};

impl Prepared {
    /// # Errors
    /// [`Error::Usage`] for a question to a decision model that options fixed before the reply cannot answer, with the role that
    /// needs another judge.
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
            if decider.items(call).len() < call.items().len() {
                let role = call.role.name();
                let mut can: Vec<&str> = KINDS
                    .iter()
                    .filter(|kind| kind.decided.is_some())
                    .map(|kind| kind.name)
                    .collect();
                can.retain(|kind| *kind != info.name);
                return Err(Error::Usage(format!(
                    "{} asks the judge {judge} for {info}, whose reply is a list or a free number: a decision model chooses among \
                     options and can answer {}; give the role {role} another judge under [roles], or leave the scorer out with \
                     --scorers",
                    scorer.name(),
                    can.join(", "),
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
