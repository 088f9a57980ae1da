//! Which answers of a run an old judge scored: a random part of each system's, or all of other systems.

use std::collections::BTreeSet;

use super::random_draw::{answers_of, draw_again};
use crate::domain::{AnswerSelection, CaseId, SystemName};
use crate::error::{Error, InputFault, Result};
use crate::record::{RecordedRun, RunStatus};

/// By what the scale of an old judge is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BasisOfRuns {
    /// It scored a random part of the answers.
    Anchors,
    /// It scored other systems.
    Systems,
}

/// What `old`, a run by the old judge, is for the answers of `new`.
///
/// # Errors
/// If it has answers of the same systems which were not drawn at random from those of `new`, if it is unfinished, and if it
/// has all answers of every system, so that nothing is estimated.
pub(super) fn old_scale_basis(new: &RecordedRun, old: &RecordedRun) -> Result<BasisOfRuns> {
    if old.manifest.status != RunStatus::Complete {
        let fault = InputFault::new(&old.path, "the run by the old judge is unfinished");
        return Err(fault.refuse("run its score command once more"));
    }
    let of_new = answers_of(new);
    let of_old = answers_of(old);
    if let Some(selection) = old.manifest.selection() {
        check_draw(&selection, &of_new, &of_old, old)?;
        return Ok(BasisOfRuns::Anchors);
    }
    let by_old: BTreeSet<&SystemName> = of_old.iter().map(|(system, _)| system).collect();
    if of_new.iter().any(|(system, _)| !by_old.contains(system)) {
        return Ok(BasisOfRuns::Systems);
    }
    if of_new.is_subset(&of_old) {
        let message = format!(
            "{} has the old judge's scores of every answer: nothing is estimated",
            old.name
        );
        // The runs may be given in the wrong order.
        let hint = if new.manifest.selection().is_some() {
            format!(
                "is {} the one by the new judge? Then name it first",
                old.name
            )
        } else {
            format!("compare {} itself", old.name)
        };
        return Err(Error::Settings(format!("{message}; {hint}")));
    }
    Err(not_at_random(old))
}

/// # Errors
/// If the answers that the old judge scored are not those that the recorded seed draws from the answers of the new run.
fn check_draw(
    selection: &AnswerSelection,
    of_new: &BTreeSet<(SystemName, CaseId)>,
    of_old: &BTreeSet<(SystemName, CaseId)>,
    old: &RecordedRun,
) -> Result<()> {
    let Some(drawn) = selection.drawn else {
        return Err(not_at_random(old));
    };
    let again: BTreeSet<(SystemName, CaseId)> = draw_again(of_new, selection.answers, drawn.seed)
        .into_iter()
        .collect();
    if drawn.of == of_new.len() && again == *of_old {
        return Ok(());
    }
    let what = format!(
        "its {} answers are not those that seed {} draws from the {} answers of the run by the new judge",
        of_old.len(),
        drawn.seed,
        of_new.len()
    );
    let fault = InputFault::new(&old.path, what);
    let hint = "draw from that run (label NEW --answers N --random --format csv) and score the file by the old judge";
    Err(fault.refuse(hint))
}

fn not_at_random(old: &RecordedRun) -> Error {
    let what = "it scored a part of the answers that was not drawn at random, so that the other answers may differ from it";
    let fault = InputFault::new(&old.path, what);
    let hint = "draw with label NEW --answers N --random --format csv, then score ANSWERS --selected FILE by the old judge";
    fault.refuse(hint)
}
