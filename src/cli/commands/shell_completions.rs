//! `scholareval shell-completions SHELL`.

use clap_complete::Shell;

use crate::cli::terminal::write_stdout;
use crate::cli::{ExitCode, program};
use crate::error::Result;

pub(super) fn run(shell: Shell) -> Result<ExitCode> {
    // Into memory first: the generator panics on a closed pipe.
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut program(), "scholareval", &mut script);
    write_stdout(&script)?;
    Ok(ExitCode::Ok)
}
