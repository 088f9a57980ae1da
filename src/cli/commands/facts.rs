//! `scholareval scifact ..` and `scholareval fever ..`.

use super::CommandContext;
use crate::cli::args::{DisplayOptions, FeverCommand, OutputFormat, ScifactCommand};
use crate::cli::terminal::{write_form, write_text};
use crate::error::{Error, Result};
use crate::facts::claims::CheckedSubmission;
use crate::facts::{Explanation, Leaderboard, fever_files, scifact_files};
use crate::report::{facts, render_json, visible};

/// Runs `scifact`.
///
/// # Errors
/// Every fault of the files.
pub(super) fn scifact(command: &ScifactCommand, context: &CommandContext<'_>) -> Result<()> {
    match command {
        ScifactCommand::Score {
            options,
            explain: Some(id),
            display,
        } => show_explanation(&options.explain(id)?, display.format),
        ScifactCommand::Score {
            options, display, ..
        } => show(options.leaderboard()?, display, context),
        ScifactCommand::Retrieval { files, display } => show(files.retrieval()?, display, context),
        ScifactCommand::Rationales { files, display } => {
            show(files.rationales()?, display, context)
        }
        ScifactCommand::Labels { options, display } => {
            show(options.leaderboard()?, display, context)
        }
        ScifactCommand::Check {
            predictions,
            claims,
            corpus,
        } => show_check(&scifact_files::check_submission(
            predictions,
            claims.as_deref(),
            corpus.as_deref(),
        )?),
    }
}

/// Runs `fever`.
///
/// # Errors
/// Every fault of the files.
pub(super) fn fever(command: &FeverCommand, context: &CommandContext<'_>) -> Result<()> {
    match command {
        FeverCommand::Score {
            options,
            explain: Some(id),
            display,
        } => show_explanation(&options.explain(id)?, display.format),
        FeverCommand::Score {
            options, display, ..
        } => show(options.leaderboard()?, display, context),
        FeverCommand::Check {
            predictions,
            claims,
        } => show_check(&fever_files::check_submission(
            predictions,
            claims.as_deref(),
        )?),
    }
}

fn show_check(checked: &CheckedSubmission) -> Result<()> {
    let mut text = format!("ok: {}\n", checked.summary);
    for note in &checked.notes {
        text.push_str(&format!("note: {}\n", visible(&note.text)));
    }
    write_text(&text)
}

fn show(
    mut board: Leaderboard,
    display: &DisplayOptions,
    context: &CommandContext<'_>,
) -> Result<()> {
    if context.global.quiet {
        board.notes.clear();
    }
    context.show(
        display.format,
        &board,
        &board.notes,
        |style| Ok(facts::leaderboard_table(&board, false).terminal(style)),
        || facts::leaderboard_table(&board, true),
    )
}

fn show_explanation(explained: &[Explanation], format: OutputFormat) -> Result<()> {
    let text = match format {
        OutputFormat::Table => facts::explanation(explained),
        OutputFormat::Json => {
            render_json(&serde_json::json!({"schema_version": 1, "systems": explained}))?
        }
        OutputFormat::Csv => {
            return Err(Error::Usage(
                "--format csv: --explain gives table or json".to_owned(),
            ));
        }
    };
    write_form(&text, format)
}
