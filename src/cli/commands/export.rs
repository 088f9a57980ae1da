//! `scholareval export`: a run in the formats of other programs.

use super::CommandContext;
use crate::cli::args::{EeeArgs, ExportArgs, ExportCommand};
use crate::cli::terminal::{path_text, write_stdout};
use crate::error::{Error, Result};
use crate::record::{RunStatus, load_run};
use crate::report::{EvaluationSource, InspectLogs, InspectScores, RunExport};

/// Runs the command.
///
/// # Errors
/// When the directory is not a run, or a file cannot be written.
pub(super) fn run(command: &ExportCommand, context: &CommandContext<'_>) -> Result<()> {
    let (args, export) = export_of(command)?;
    let run = load_run(&args.run)?;
    if run.manifest.status != RunStatus::Complete {
        context.warn(&[
            "the run did not finish; what is missing is exported without a value (run score again to finish it)",
        ]);
    }
    // After the run is read, so that a mistyped run leaves no directory.
    std::fs::create_dir_all(&args.out).map_err(Error::io(&args.out, "create"))?;
    let written = export.write(&run, &args.out)?;
    if let Some(note) = written.note {
        context.note(&format!("note: {note}"));
    }
    let out = path_text(&args.out);
    write_stdout(format!("wrote {} to {out}\n", written.contents).as_bytes())
}

/// The form that the command names.
fn export_of(command: &ExportCommand) -> Result<(&ExportArgs, Box<dyn RunExport>)> {
    Ok(match command {
        ExportCommand::Parquet(args) => (args, parquet()?),
        ExportCommand::Inspect(args) => (args, Box::new(InspectLogs)),
        ExportCommand::InspectScores(args) => (args, Box::new(InspectScores)),
        ExportCommand::Eee(args) => (&args.export, Box::new(evaluations(args))),
    })
}

fn evaluations(args: &EeeArgs) -> EvaluationSource {
    EvaluationSource {
        organization: args.organization.clone(),
        collection: args.collection.clone(),
        models: args.ids.iter().cloned().collect(),
    }
}

#[cfg(not(feature = "parquet"))]
fn parquet() -> Result<Box<dyn RunExport>> {
    let message = "export parquet: this program was built without it; build it with `cargo install --path . --features parquet` (the cargo feature `parquet`)";
    Err(Error::Settings(message.to_owned()))
}

#[cfg(feature = "parquet")]
fn parquet() -> Result<Box<dyn RunExport>> {
    Ok(Box::new(crate::report::ParquetTables))
}
