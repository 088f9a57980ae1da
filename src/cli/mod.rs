//! The command line. Only this module uses arguments, the environment, standard output and the exit code.
//!
//! [`main`] parses the arguments, runs one command (`commands`) and maps its result to an [`ExitCode`]. Settings are
//! merged once, with their origins ([`settings`]). Commands write results to standard output through `terminal` (a
//! closed pipe is silent success); notes, progress and errors go to standard error.

pub mod args;
pub(crate) mod commands;
pub mod config_file;
pub(crate) mod exit_code;
mod keys;
pub(crate) mod logging;
pub mod origin;
mod outcome;
mod outputs;
mod problems;
pub(crate) mod progress;
mod reading;
pub mod settings;
pub(crate) mod signals;
mod summary;
pub(crate) mod terminal;

use std::ffi::OsString;

use clap::builder::Resettable;
use clap::error::{ContextKind, ContextValue};
use clap::{CommandFactory as _, FromArgMatches as _};

pub use exit_code::ExitCode;

use crate::error::Error;
use args::{Cli, laid_out};
use origin::Environment;

/// Parses the process's arguments, runs the command, prints any error, returns the exit code.
pub fn main() -> ExitCode {
    signals::survive_file_size_limit();
    let environment = Environment::current();
    let code = run(&environment);
    outcome::report_exit(&environment, code);
    code
}

/// From the arguments to the exit code.
fn run(environment: &Environment) -> ExitCode {
    if let Some(text) = fault_of_argument(std::env::args_os()) {
        terminal::note(&text);
        return ExitCode::Usage;
    }
    let known = command(program(), environment);
    let parsed = known.clone().try_get_matches();
    let parsed = parsed.and_then(|matches| Ok((Cli::from_arg_matches(&matches)?, matches)));
    let (cli, matches) = match parsed {
        Ok(parsed) => parsed,
        Err(error) => return answer_instead(&error, &known, environment),
    };
    logging::start(cli.global.verbose);
    match commands::run(cli, &matches, environment) {
        Ok(code) => code,
        Err(error) => {
            terminal::note(&error_text(&error, &command_of(std::env::args().skip(1))));
            ExitCode::from(&error)
        }
    }
}

/// Prints help, the version or what is wrong with the arguments: clap has all three as errors.
fn answer_instead(
    error: &clap::Error,
    known: &clap::Command,
    environment: &Environment,
) -> ExitCode {
    if let Some(text) = fault_of_variable(error, known, environment) {
        terminal::note(&text);
        return ExitCode::BadInput;
    }
    // A failure to print cannot be reported.
    let _ = error.print();
    if error.use_stderr() {
        ExitCode::Usage
    } else {
        ExitCode::Ok
    }
}

/// The message for an argument that is not UTF-8: options, records and reports hold paths as text.
fn fault_of_argument(mut arguments: impl Iterator<Item = OsString>) -> Option<String> {
    let argument = arguments.find(|argument| argument.to_str().is_none())?;
    let shown = origin::escape_controls(&argument.to_string_lossy());
    Some(format!(
        "error: {shown}: the argument is not UTF-8; rename the file or directory, or give another path"
    ))
}

/// The program's arguments and help texts, from which man pages and completions are made.
pub fn program() -> clap::Command {
    laid_out(Cli::command())
}

/// The command with its subcommands. A blank environment variable counts as unset, and help shows no values of
/// variables, which may be secret.
fn command(command: clap::Command, environment: &Environment) -> clap::Command {
    let command = command.mut_args(|arg| {
        let arg = arg.hide_env_values(true);
        let name = variable(&arg);
        // `SCHOLAREVAL_CACHE= scholareval ..` is how shells unset a variable for one command.
        if std::env::var_os(&name).is_some() && environment.get(&name).is_none() {
            arg.env(Resettable::Reset)
        } else {
            arg
        }
    });
    command.mut_subcommands(|sub| self::command(sub, environment))
}

/// The environment variable of an argument; empty without one.
fn variable(arg: &clap::Arg) -> String {
    arg.get_env()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned()
}

/// The message for a value from an environment variable; that of the parser would name a flag that was not given.
fn fault_of_variable(
    error: &clap::Error,
    known: &clap::Command,
    environment: &Environment,
) -> Option<String> {
    let flag = context_text(error, ContextKind::InvalidArg)?;
    let value = context_text(error, ContextKind::InvalidValue)?;
    let long = flag.split([' ', '=']).next()?.trim_start_matches("--");
    if std::env::args().any(|arg| arg.trim_start_matches("--").split('=').next() == Some(long)) {
        return None;
    }
    let arg = all_args(known).into_iter().find(|arg| {
        // Two arguments may share a flag's name in different commands: the one whose variable has
        // the value is meant.
        let set = environment.get(&variable(arg));
        arg.get_long() == Some(long) && set.is_some_and(|set| set.contains(value))
    })?;
    let why = match std::error::Error::source(error) {
        Some(source) => source.to_string(),
        None => "not one of the possible values".to_owned(),
    };
    Some(format!(
        "error: environment variable {} ({}): {why}",
        variable(arg),
        origin::escape_controls(value)
    ))
}

fn context_text(error: &clap::Error, kind: ContextKind) -> Option<&str> {
    match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text),
        _ => None,
    }
}

/// The arguments of a command and of its subcommands.
fn all_args(command: &clap::Command) -> Vec<&clap::Arg> {
    command
        .get_arguments()
        .chain(command.get_subcommands().flat_map(all_args))
        .collect()
}

/// The command in the arguments, if any.
fn command_of(mut arguments: impl Iterator<Item = String>) -> String {
    let known = Cli::command();
    arguments
        .find(|argument| known.find_subcommand(argument).is_some())
        .unwrap_or_default()
}

/// The error as printed: one fault per line, control characters escaped (names may come from hostile files).
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
    fn an_error_is_printed_without_control_characters_one_fault_per_line() {
        let error = Error::Input(vec![
            InputFault::new("a", "bad \u{1b}[2J"),
            InputFault::new("b", "worse"),
        ]);
        assert_eq!(
            error_text(&error, "score"),
            "error: a: bad \\u{1b}[2J\n       b: worse"
        );
    }

    #[cfg(unix)]
    #[test]
    fn an_argument_that_is_not_utf8_is_named() {
        use std::os::unix::ffi::OsStringExt;
        let arguments = |bytes: &[u8]| {
            let path = OsString::from_vec(bytes.to_vec());
            fault_of_argument(["scholareval".into(), path].into_iter())
        };
        assert_eq!(arguments("r\u{e9}sum\u{e9}".as_bytes()), None);
        let text = arguments(b"run\xff").unwrap();
        let start = "error: run\u{fffd}: the argument is not UTF-8; rename";
        assert!(text.starts_with(start), "{text}");
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
