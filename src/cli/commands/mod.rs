//! One file per command. A command gets merged settings, works through the library and returns an exit code.

mod agree;
mod anchors;
mod batch;
mod bench;
mod cache;
mod certify;
mod check;
mod citations;
mod compare;
mod config;
mod convert;
mod criteria;
mod demo;
mod estimate;
mod export;
mod facts;
mod gates;
mod import;
mod label;
mod plan;
mod plot;
mod power;
mod probe;
mod prompts;
mod report;
mod rescore;
mod rubrics;
mod runs;
mod score;
mod shell_completions;
mod sources;
mod table;
mod verdicts;

use std::fmt::Display;
use std::io::IsTerminal as _;
use std::path::PathBuf;

use clap::parser::ValueSource;
use clap::{ArgMatches, Args};
use serde::Serialize;

use super::ExitCode;
use super::args::{Cli, Command, GlobalArgs, OutputFormat};
use super::origin::{Environment, escape_controls};
use super::settings::Settings;
use super::terminal;
use crate::domain::Note;
use crate::error::{Error, Result};
use crate::evaluation::options::EvaluationOptions;
use crate::report::{CsvText, Table, TableStyle, render_json};
use crate::runs::run_directories;
use crate::scorer::ScorerInfo;
use crate::scorer::overlap::OVERLAP;
use crate::scorer::pairs::PAIRS;

/// Width of tables if standard output is not a terminal and `COLUMNS` is not set.
// Wider than a terminal's 80: files and pipes show more columns, and still fit a page.
const PLAIN_WIDTH: u16 = 100;

/// Input of every command besides its arguments.
#[derive(Clone)]
pub(crate) struct CommandContext<'a> {
    /// The arguments as clap parsed them, with their sources.
    pub matches: &'a ArgMatches,
    /// The process environment.
    pub environment: &'a Environment,
    /// Options of every command.
    pub global: GlobalArgs,
    /// True if standard output may be colored.
    pub color: bool,
}

impl CommandContext<'_> {
    /// The options of `args` from all sources; their warnings go to standard error.
    fn settings(&self, args: &(impl Args + Serialize)) -> Result<Settings> {
        self.settings_with(args, |_| ())
    }

    /// As [`settings`](Self::settings), for a command that runs this scorer alone.
    fn settings_naming(
        &self,
        scorer: &'static ScorerInfo,
        args: &(impl Args + Serialize),
    ) -> Result<Settings> {
        self.settings_with(args, |options| options.scorers.scorers = vec![scorer])
    }

    /// As [`settings`](Self::settings), for a command that decides some of them.
    fn settings_with(
        &self,
        args: &(impl Args + Serialize),
        decide: impl FnOnce(&mut EvaluationOptions),
    ) -> Result<Settings> {
        let settings = Settings::load(args, decide, self.matches, self.environment)?;
        self.warn(&settings.warnings);
        Ok(settings)
    }

    /// Writes lines to standard error unless `--quiet` was given.
    fn note(&self, text: &str) {
        if !self.global.quiet {
            terminal::note(text);
        }
    }

    /// Writes each warning as one line: names in it may have line breaks.
    fn warn(&self, warnings: &[impl Display]) {
        for warning in warnings {
            self.note(&format!(
                "warning: {}",
                escape_controls(&warning.to_string())
            ));
        }
    }

    /// The runs that the arguments name, a directory of runs for those in it, and the lines about those that are skipped,
    /// which are printed as notes.
    ///
    /// # Errors
    /// As [`run_directories`].
    fn runs(&self, paths: &[PathBuf]) -> Result<(Vec<PathBuf>, Vec<String>)> {
        let (runs, skipped) = run_directories(paths)?;
        for line in &skipped {
            self.note(&format!("note: {line}"));
        }
        Ok((runs, skipped))
    }

    /// Writes a result in this format. Its warnings go to standard error with JSON and CSV; text has them itself.
    ///
    /// # Errors
    /// When it cannot be rendered or written.
    fn show<T: Serialize>(
        &self,
        format: OutputFormat,
        value: &T,
        warnings: &[Note],
        text: impl FnOnce(&TableStyle) -> Result<String>,
        csv: impl FnOnce() -> Table,
    ) -> Result<()> {
        let shown = match format {
            OutputFormat::Table => text(&self.style())?,
            OutputFormat::Json => render_json(value)?,
            OutputFormat::Csv => csv().csv(self.csv_text())?,
        };
        if format != OutputFormat::Table {
            for warning in warnings {
                self.note(&format!("warning: {}", warning.text));
            }
        }
        terminal::write_form(&shown, format)
    }

    /// How tables are shown.
    fn style(&self) -> TableStyle {
        // The terminal first: shells export a COLUMNS from before the window was resized.
        let width = terminal::stdout_width().or_else(|| self.given_width());
        TableStyle {
            width: width.unwrap_or(PLAIN_WIDTH),
            color: self.color,
            all_notes: self.is_on("notes"),
        }
    }

    /// How text is written to CSV.
    fn csv_text(&self) -> CsvText {
        if self.is_on("raw_csv") {
            CsvText::Unchanged
        } else {
            CsvText::Guarded
        }
    }

    /// Whether a switch is on, given by its id; a command without it leaves it off.
    fn is_on(&self, id: &str) -> bool {
        matches!(self.matches.try_get_one::<bool>(id), Ok(Some(true)))
    }

    /// `COLUMNS`, as far as it is a number.
    fn given_width(&self) -> Option<u16> {
        self.environment.get("COLUMNS")?.parse().ok()
    }

    /// True if the command line has this argument, given by its id.
    fn is_flag(&self, id: &str) -> bool {
        self.matches.value_source(id) == Some(ValueSource::CommandLine)
    }
}

/// A multi-threaded runtime for the command.
///
/// # Errors
/// When the system starts no threads.
fn runtime() -> Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| Error::Internal(format!("no runtime can be started: {error}")))
}

/// Runs the command.
///
/// # Errors
/// Any error of the command; see [`ExitCode`].
pub(crate) fn run(
    cli: Cli,
    mut matches: &ArgMatches,
    environment: &Environment,
) -> Result<ExitCode> {
    let color = terminal::color(
        cli.global.color,
        std::io::stdout().is_terminal(),
        environment,
    );
    // The matches of the innermost command have the sources of its arguments.
    while let Some((_, of_command)) = matches.subcommand() {
        matches = of_command;
    }
    let context = CommandContext {
        matches,
        environment,
        global: cli.global,
        color,
    };
    run_command(cli.command, &context)
}

fn run_command(command: Command, context: &CommandContext<'_>) -> Result<ExitCode> {
    match command {
        Command::Demo { dir } => return demo::run(&dir, context),
        Command::Score(args) => return score::run(&context.settings(&*args)?, context),
        Command::Bench(args) => return bench::run(&args, context),
        Command::Probe(args) => return probe::run(&args, context),
        Command::Pairs(args) => {
            let settings = context.settings_naming(&PAIRS, &*args)?;
            return score::run(&settings, context);
        }
        Command::Overlap(args) => {
            let settings = context.settings_naming(&OVERLAP, &*args)?;
            return score::run(&settings, context);
        }
        Command::Citations(args) => return citations::run(&args, context),
        Command::Plan(args) => return plan::run(*args, context),
        Command::Rescore(args) => return rescore::run(&args, context),
        Command::Compare(args) => return compare::run(&args, context),
        Command::Cache(command) => return cache::run(&command),
        Command::Import(args) => return import::run(&args, context),
        Command::Check(args) => {
            runtime()?.block_on(check::run(&context.settings(&*args)?, context))?
        }
        Command::Batch(command) => batch::run(command, context)?,
        Command::Runs(args) => runs::run(&args, context)?,
        Command::Report(args) => report::run(&args, context)?,
        Command::Table(args) => table::run(&args, context)?,
        Command::Plot(args) => plot::run(&args, context)?,
        Command::Config(args) => config::run(&context.settings(&*args)?, context)?,
        Command::Prompts(command) => prompts::run(&command)?,
        Command::Rubrics(command) => rubrics::run(&command)?,
        Command::Scifact(command) => facts::scifact(&command, context)?,
        Command::Fever(command) => facts::fever(&command, context)?,
        Command::Agree(args) => return agree::run(&args, context),
        Command::Certify(args) => certify::run(&args, context)?,
        Command::Label(args) => label::run(&args, context)?,
        Command::Criteria(args) => criteria::run(&args, context)?,
        Command::Convert(args) => convert::run(&args, context)?,
        Command::BuildTests(args) => convert::build_tests(&args)?,
        Command::Sources(command) => sources::run(&command, context)?,
        Command::Export(command) => export::run(&command, context)?,
        Command::ShellCompletions { shell } => shell_completions::run(shell)?,
    }
    Ok(ExitCode::Ok)
}
