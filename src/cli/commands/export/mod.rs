//! `scholareval export`: a run in the forms of other programs.

mod inspect;
mod parquet;

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use crate::cli::ExitCode;
use crate::cli::args::{ExportArgs, ExportCommand};
use crate::cli::terminal;
use crate::error::{Error, Result};
use crate::evaluation::record::{RecordedRun, RunStatus, load_run};

/// Runs the command.
///
/// # Errors
/// When the directory is no run, or a file cannot be written.
pub(super) fn run(command: &ExportCommand) -> Result<ExitCode> {
    match command {
        ExportCommand::Parquet(args) => parquet::run(args),
        ExportCommand::Inspect(args) => inspect::run(args),
    }
}

/// The run, and the directory to write into.
fn open(args: &ExportArgs) -> Result<RecordedRun> {
    let run = load_run(&args.run)?;
    if run.manifest.status != RunStatus::Complete && !args.quiet {
        terminal::note(
            "warning: the run did not finish; what it lacks is exported without a value (run score again to finish it)",
        );
    }
    std::fs::create_dir_all(&args.out).map_err(Error::io(&args.out, "create"))?;
    Ok(run)
}

/// Writes a file whole or not at all.
fn write_whole<T>(path: &Path, write: impl FnOnce(&mut BufWriter<File>) -> Result<T>) -> Result<T> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let partial = path.with_file_name(format!(".{name}.partial"));
    let mut out = BufWriter::new(File::create(&partial).map_err(Error::io(&partial, "create"))?);
    let written = write(&mut out).and_then(|value| {
        out.flush().map_err(Error::io(&partial, "write"))?;
        Ok(value)
    });
    match written {
        Ok(value) => {
            std::fs::rename(&partial, path).map_err(Error::io(path, "create"))?;
            Ok(value)
        }
        Err(error) => {
            // Nothing of use is in it; where even that fails, the first error is the one to tell.
            let _ = std::fs::remove_file(&partial);
            Err(error)
        }
    }
}
