//! The command line: the only owner of arguments, the environment, standard output and the process's exit.
//!
//! [`main`] parses the arguments, runs one [command](commands) and turns what it returns into an [`ExitCode`]. Settings
//! are merged once, with their origins ([`settings`]). A command writes its result to standard output through
//! [`terminal`] (a closed pipe is silent success); notes, progress and errors go to standard error.

pub mod args;
pub mod commands;
pub mod config_file;
pub mod duration;
pub mod exit_code;
pub mod logging;
pub mod masking;
pub mod origin;
mod outputs;
pub mod prices;
pub mod progress;
mod scoring;
pub mod settings;
pub mod signals;
pub mod suggest;
pub mod terminal;

use clap::{CommandFactory as _, Parser as _};

pub use exit_code::ExitCode;

use crate::error::Error;
use args::Cli;
use origin::Environment;

/// Parses the process's arguments, runs the command, tells an error, gives the exit code.
pub fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            // Help and version are no faults; where printing fails nobody is left to be told.
            let _ = error.print();
            return if error.use_stderr() { ExitCode::Usage } else { ExitCode::Ok };
        }
    };
    let environment = Environment::current();
    logging::start(cli.global.verbose);
    match commands::run(cli, &environment) {
        Ok(code) => code,
        Err(error) => {
            terminal::note(&error_text(&error, &command_of(std::env::args().skip(1))));
            ExitCode::from(&error)
        }
    }
}

/// The command that the arguments name; nothing where they name none.
fn command_of(arguments: impl Iterator<Item = String>) -> String {
    let known = Cli::command();
    let mut arguments = arguments;
    arguments.find(|argument| known.find_subcommand(argument).is_some()).unwrap_or_default()
}

/// The error as it is told: one fault a line, control characters visible (names in it may come from hostile files).
fn error_text(error: &Error, command: &str) -> String {
    let message = error.to_string();
    let lines: Vec<String> = message.lines().map(origin::escape_controls).collect();
    let mut text = format!("error: {}", lines.join("\n       "));
    if matches!(error, Error::Usage(_)) {
        text.push_str("\nhint: `scholareval --help` lists the commands");
        if !command.is_empty() {
            text.push_str(&format!(", `scholareval {command} --help` its options"));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::InputFault;

    #[test]
    fn an_error_is_told_without_control_characters_one_fault_a_line() {
        let error = Error::Input(vec![InputFault::new("a", "bad \u{1b}[2J"), InputFault::new("b", "worse")]);
        assert_eq!(error_text(&error, "score"), "error: a: bad \\u{1b}[2J\n       b: worse");
    }

    #[test]
    fn a_usage_error_says_where_help_is() {
        let error = Error::Usage("no answers".to_owned());
        assert!(error_text(&error, "compare").contains("\nhint: `scholareval --help` lists"));
        assert!(error_text(&error, "compare").contains("`scholareval compare --help`"));
        let arguments = ["--color", "never", "compare", "score"].map(str::to_owned);
        assert_eq!(command_of(arguments.into_iter()), "compare");
    }
}
