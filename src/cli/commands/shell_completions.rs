//! `scholareval shell-completions SHELL`.

use clap_complete::Shell;

use crate::cli::program;
use crate::cli::terminal::write_stdout;
use crate::error::Result;

pub(super) fn run(shell: Shell) -> Result<()> {
    // Into memory first: the generator panics on a closed pipe.
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut program(), "scholareval", &mut script);
    write_stdout(&script)
}
