//! Boards: the runs by one judge, of a part of the systems each, as one run.

use crate::error::{InputFault, Result};
use crate::record::{RecordedRun, RunStatus};

/// These runs as one, which has the name of the first and the number of the others; `None` without a run.
///
/// # Errors
/// If two of them have a system of the same name.
pub(super) fn board_of(runs: Vec<RecordedRun>) -> Result<Option<RecordedRun>> {
    let others = runs.len().saturating_sub(1);
    let mut runs = runs.into_iter();
    let Some(mut board) = runs.next() else {
        return Ok(None);
    };
    if others > 0 {
        board.name += &format!(" + {others}");
    }
    for run in runs {
        let known = board.systems();
        if let Some(system) = run.systems().iter().find(|system| known.contains(system)) {
            let what = format!("{system} is also in another run by the same judge");
            let hint = "name one run of each system";
            return Err(InputFault::new(&run.path, what).hint(hint).into());
        }
        if run.manifest.status != RunStatus::Complete {
            board.manifest.status = run.manifest.status;
        }
        board.manifest.answers += run.manifest.answers;
        board.manifest.missing.extend(run.manifest.missing);
        board.items.extend(run.items);
        board.scored.extend(run.scored);
    }
    Ok(Some(board))
}
