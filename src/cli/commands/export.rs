//! `scholareval export`: a run in the formats of other programs.

use super::CommandContext;
use crate::cli::args::{EeeArgs, ExportArgs, ExportCommand};
use crate::cli::terminal::{path_text, write_stdout};
use crate::error::{Error, Result};
use crate::evaluation::summary;
use crate::record::{RecordedRun, RunStatus, load_run};
use crate::report::{
    EvaluationSource, write_every_eval_ever, write_inspect_logs, write_inspect_scores,
};
use crate::text::names::counted;

/// Runs the command.
///
/// # Errors
/// When the directory is not a run, or a file cannot be written.
pub(super) fn run(command: &ExportCommand, context: &CommandContext<'_>) -> Result<()> {
    let (args, files) = match command {
        ExportCommand::Parquet(args) => (args, parquet(args, context)?),
        ExportCommand::Inspect(args) => (args, inspect(args, context)?),
        ExportCommand::InspectScores(args) => (args, inspect_scores(args, context)?),
        ExportCommand::Eee(args) => (&args.export, every_eval_ever(args, context)?),
    };
    let out = path_text(&args.out);
    write_stdout(format!("wrote {files} to {out}\n").as_bytes())
}

fn inspect(args: &ExportArgs, context: &CommandContext<'_>) -> Result<String> {
    let run = open(args, context)?;
    let logs = write_inspect_logs(&run, &args.out)?;
    if run.items.is_empty() {
        context
            .note("note: the record does not contain the answers (--no-inputs), so the logs show scores only");
    }
    Ok(if logs == 1 {
        "1 log".to_owned()
    } else {
        format!("{logs} logs")
    })
}

fn inspect_scores(args: &ExportArgs, context: &CommandContext<'_>) -> Result<String> {
    let run = open(args, context)?;
    let files = write_inspect_scores(&run, &args.out)?;
    Ok(format!("{} of scores", counted(files, "file")))
}

fn every_eval_ever(args: &EeeArgs, context: &CommandContext<'_>) -> Result<String> {
    let run = open(&args.export, context)?;
    let source = EvaluationSource {
        organization: args.organization.clone(),
        collection: args.collection.clone().unwrap_or_else(|| run.name.clone()),
        models: args.ids.iter().cloned().collect(),
    };
    let systems = run.systems();
    if let Some(unknown) = source
        .models
        .keys()
        .find(|name| !systems.iter().any(|system| system.as_str() == *name))
    {
        let message = format!("--id: the run has no system {unknown}");
        return Err(Error::Settings(message));
    }
    let summary = summary(&run.manifest, &run.scored);
    let written = write_every_eval_ever(&run, &summary, &source, &args.export.out)?;
    if written.unscored > 0 {
        context.note(&format!(
            "note: {} without a record: what was not scored has none, and is counted in the results",
            counted(written.unscored, "value")
        ));
    }
    Ok(format!(
        "{} with {}",
        counted(written.evaluations, "evaluation"),
        counted(written.records, "record")
    ))
}

#[cfg(not(feature = "parquet"))]
fn parquet(_args: &ExportArgs, _context: &CommandContext<'_>) -> Result<String> {
    let message = "export parquet: this program was built without it; build it with `cargo install --path . --features parquet` (the cargo feature `parquet`)";
    Err(Error::Settings(message.to_owned()))
}

#[cfg(feature = "parquet")]
fn parquet(args: &ExportArgs, context: &CommandContext<'_>) -> Result<String> {
    let run = open(args, context)?;
    let [scores, calls] = crate::report::write_parquet_tables(&run, &args.out)?;
    Ok(format!(
        "{} of scores and {}",
        counted(scores as usize, "row"),
        counted(calls as usize, "call")
    ))
}

/// Loads the run and creates the output directory.
fn open(args: &ExportArgs, context: &CommandContext<'_>) -> Result<RecordedRun> {
    let run = load_run(&args.run)?;
    if run.manifest.status != RunStatus::Complete {
        context.warn(&[
            "the run did not finish; what is missing is exported without a value (run score again to finish it)",
        ]);
    }
    // After the run is read, so that a mistyped run leaves no directory.
    std::fs::create_dir_all(&args.out).map_err(Error::io(&args.out, "create"))?;
    Ok(run)
}
