//! `scholareval scifact ..`: scores of SciFact submissions and modules, and the files around them.

mod explained;
mod files;
mod joined;
mod modules;
mod score;

use std::path::{Path, PathBuf};

use super::Context;
use crate::cli::ExitCode;
use crate::cli::args::{OutArgs, ScifactCommand};
use crate::cli::settings::OutputFormat;
use crate::cli::terminal;
use crate::domain::scifact::Raised;
use crate::error::{Error, InputFault, Result};
use crate::report::{
    ScoreRow, ScoreTable, TableStyle, render_score_csv, render_score_json, render_score_table, visible,
};
use crate::stats::BcaOptions;

/// Runs the command.
///
/// # Errors
/// Every fault of the files.
pub(super) fn run(command: &ScifactCommand, context: &Context<'_>) -> Result<ExitCode> {
    match command {
        ScifactCommand::Score(args) => score::run(args, context),
        ScifactCommand::Retrieval(args) => modules::retrieval(args, context),
        ScifactCommand::Rationales(args) => modules::rationales(args, context),
        ScifactCommand::Labels(args) => modules::labels(args, context),
        ScifactCommand::Merge(args) => files::merge(args),
        ScifactCommand::Oracle(args) => files::oracle(args),
        ScifactCommand::Check(args) => files::check(args),
    }
}

/// One file's system name: its stem, or the whole path where two files have the same stem.
fn system_names(paths: &[PathBuf]) -> Vec<String> {
    let stem = |path: &PathBuf| path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    let stems: Vec<String> = paths.iter().map(stem).collect();
    let named = |(path, stem): (&PathBuf, &String)| {
        let alone = stems.iter().filter(|other| *other == stem).count() == 1;
        if alone { stem.clone() } else { path.display().to_string() }
    };
    paths.iter().zip(&stems).map(named).collect()
}

/// Reads every file; the faults of all are told together.
fn each_file<T>(paths: &[PathBuf], mut read: impl FnMut(&Path) -> Result<T>) -> Result<Vec<T>> {
    let (mut items, mut faults) = (Vec::new(), Vec::new());
    for path in paths {
        match read(path) {
            Ok(item) => items.push(item),
            Err(Error::Input(found)) => faults.extend(found),
            Err(other) => return Err(other),
        }
    }
    if faults.is_empty() { Ok(items) } else { Err(Error::Input(faults)) }
}

/// Faults as an error, if there are any.
fn no_faults(faults: Vec<InputFault>) -> Result<()> {
    if faults.is_empty() { Ok(()) } else { Err(Error::Input(faults)) }
}

/// A row of a system that has no numbers, because the reference has none.
fn unscored_row(system: &str, raised: &Raised) -> ScoreRow {
    let reason = format!("unscored, {raised}");
    ScoreRow { system: system.to_owned(), unscored: Some(reason), ..ScoreRow::default() }
}

/// Writes the table, best first by the number at `key`, and gives the exit code.
fn show(mut scores: ScoreTable, key: &[usize], out: &OutArgs, context: &Context<'_>) -> Result<ExitCode> {
    let of = |row: &ScoreRow, which: &usize| row.values.get(*which).copied().flatten().unwrap_or(-1.0);
    scores.rows.sort_by(|a, b| {
        let by_keys = key.iter().map(|which| of(b, which).total_cmp(&of(a, which)));
        by_keys.reduce(std::cmp::Ordering::then).unwrap_or(std::cmp::Ordering::Equal).then(a.system.cmp(&b.system))
    });
    let width = terminal::stdout_width().unwrap_or(TableStyle::default().width);
    let text = match out.format.unwrap_or_default() {
        OutputFormat::Table => {
            render_score_table(&scores, &TableStyle { width, color: context.color, all_notes: false })
        }
        OutputFormat::Json => render_score_json(&scores)?,
        OutputFormat::Csv => render_score_csv(&scores),
    };
    terminal::write_form(&text, out.format.unwrap_or_default())?;
    if out.format.unwrap_or_default() == OutputFormat::Csv {
        scores.notes.iter().for_each(|note| terminal::note(&format!("note: {}", visible(note))));
    }
    let unscored = scores.rows.iter().any(|row| row.unscored.is_some());
    Ok(if unscored { ExitCode::TooManyUnscored } else { ExitCode::Ok })
}

/// `1 claim`, `2 claims`.
fn counted(count: usize, noun: &str) -> String {
    if count == 1 { format!("1 {noun}") } else { format!("{count} {noun}s") }
}

/// How many claims there are, and how intervals were made.
fn intervals_note(claims: usize, seed: u64) -> String {
    let options = BcaOptions::seeded(seed);
    format!(
        "n: {}; intervals: {:.0}%, BCa bootstrap over the claims, {} resamples, seed {seed}",
        counted(claims, "claim"),
        100.0 * options.level,
        options.resamples
    )
}
