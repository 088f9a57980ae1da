//! `scholareval criteria`: which criteria discriminate.

use super::CommandContext;
use crate::analysis::comparison::{ComparisonOptions, Observations};
use crate::cli::args::CriteriaArgs;
use crate::error::{InputFault, Result};
use crate::report::{criteria_table, criteria_text, run_warnings};
use crate::runs::{RunSet, criteria_of};

/// Runs the command.
///
/// # Errors
/// When a run or labels cannot be read, runs are not comparable, or no run has criteria.
pub(super) fn run(args: &CriteriaArgs, context: &CommandContext<'_>) -> Result<()> {
    let set = RunSet::open(&context.runs(&args.runs)?.0, args.anyway)?;
    let mut criteria = criteria_of(&set, &args.labels)?;
    if criteria.criteria.is_empty() {
        let fault = InputFault::new(
            &args.runs[0],
            "no criteria: neither a rubric nor aspects were scored",
        );
        return Err(
            fault.refuse("score with test cases (--tests), or aspects (--scorers prometheus)")
        );
    }
    // Of nothing: only what it says about the runs is needed.
    let comparison = set.compare(&Observations::default(), &ComparisonOptions::seeded(0));
    criteria.notes.splice(..0, run_warnings(&comparison));
    context.show(
        args.display.format,
        &criteria,
        &criteria.notes,
        |style| Ok(criteria_text(&criteria, style)),
        || criteria_table(&criteria),
    )
}
