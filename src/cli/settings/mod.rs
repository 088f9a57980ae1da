//! The options of a command from all sources: flags > environment > config file > defaults.
//!
//! Flags, environment variables and defaults are clap's (`EvaluationOptions` derives them). The config file's values
//! replace defaults: options and file are merged as JSON by one rule for all keys (`merge`). Then the judges get their keys,
//! for the servers that may have them (`secrets`). [`Settings::lines`] has all options with their origins, secrets masked
//! (`lines`).

mod lines;
mod merge;
mod secrets;

use std::path::PathBuf;

use clap::parser::ValueSource;
use clap::{ArgMatches, Args};
use serde::Serialize;

use super::args::{OutputFormat, ScoreArgs};
use super::config_file::ConfigFile;
use super::keys::{NamedServers, OPENAI_BASE_URL_ENV, is_trusted};
use super::origin::{Environment, Origin, SettingLine};
use crate::error::{Error, InputFault, Result};
use crate::evaluation::options::EvaluationOptions;
use crate::judge::kind::JudgeKind;
use crate::judge::options::{JudgeOptions, OptionFault, defaults};

/// Tables of the config file, each with the option structs whose keys it holds.
const TABLES: [(&str, &[&str]); 6] = [
    (
        "score",
        &["input", "cases", "scoring", "asking", "bounds", "scorers"],
    ),
    ("judge", &["judge"]),
    ("limits", &["limits"]),
    ("budget", &["budget"]),
    ("cache", &["cache"]),
    ("output", &["output", "results", "display"]),
];

/// The options of a scoring command, with their origins. They may hold secrets: no `Debug` on purpose.
#[derive(Clone)]
pub struct Settings {
    /// The options of the evaluation.
    pub options: EvaluationOptions,
    /// Format of the summary on standard output.
    pub format: OutputFormat,
    /// True if calls are only counted.
    pub dry_run: bool,
    /// Warnings: lower-case sentences for standard error.
    pub warnings: Vec<String>,
    /// Every option with its origin, in a fixed order, secrets masked.
    pub lines: Vec<SettingLine>,
    /// Whether the command also writes the page of the run.
    pub has_page: bool,
}

impl Settings {
    /// Merges and checks all sources. `args` are those of a command, whose groups of options have the names that they have in
    /// [`ScoreArgs`]; what a command does not take has its default. `decide` sets what the command itself decides, and
    /// `matches` belongs to the command.
    ///
    /// # Errors
    /// [`Error::Usage`] for a flag, [`Error::Settings`] for an environment variable, [`Error::Input`] (with file and
    /// line) for the config file; each names the option, what is wrong and what to write.
    pub fn load<T: Args + Serialize>(
        args: &T,
        decide: impl FnOnce(&mut EvaluationOptions),
        matches: &ArgMatches,
        environment: &Environment,
    ) -> Result<Self> {
        let command = T::augment_args(clap::Command::new("score"));
        let given = merge::as_score_args(args)?;
        let mut sources = SettingSources::new(&given, command, matches, environment)?;
        let mut args = sources.merged(&given)?;
        let mut options = args.options;
        options.input.answers.append(&mut args.qa_dir);
        options.output.temporary = args.temporary;
        decide(&mut options);
        let mut warnings = Vec::new();
        warnings.extend(sources.use_openai_variable(&mut options.judge, environment));
        // Before secrets are read: a malformed address must not get one.
        options.check().map_err(|fault| sources.fault(fault))?;
        sources.read_secrets(&mut options, environment, &mut warnings)?;
        warnings.extend(options.warnings());
        let lines = sources.describe(&ScoreArgs {
            options: options.clone(),
            display: args.display.clone(),
            ..defaults()
        });
        Ok(Self {
            options,
            format: args.display.format,
            dry_run: args.dry_run,
            warnings,
            lines,
            has_page: false,
        })
    }
}

/// The sources of options.
struct SettingSources<'a> {
    matches: &'a ArgMatches,
    /// The options of the command as clap knows them: flags, variables, types.
    command: clap::Command,
    file: Option<ConfigFile>,
    /// True if the judge's address is that of `OPENAI_BASE_URL`.
    is_openai_variable: bool,
    /// The servers that the user named.
    servers: NamedServers,
}

impl<'a> SettingSources<'a> {
    fn new(
        args: &ScoreArgs,
        command: clap::Command,
        matches: &'a ArgMatches,
        environment: &Environment,
    ) -> Result<Self> {
        let config = args.file.config.as_deref();
        let file = config.map(ConfigFile::load).transpose()?;
        let trusts = file
            .as_ref()
            .is_some_and(|file| is_trusted(&file.hash, args.file.trust_config, environment));
        let servers = NamedServers::new(&args.options.judge.base_url, environment, trusts);
        Ok(Self {
            matches,
            command,
            file,
            is_openai_variable: false,
            servers,
        })
    }

    /// Gives a judge with a server but without an address the one that other OpenAI clients use, too. Returns the warning for a
    /// user who expects this variable to choose a judge.
    fn use_openai_variable(
        &mut self,
        judge: &mut JudgeOptions,
        environment: &Environment,
    ) -> Option<String> {
        let urls = environment.get(OPENAI_BASE_URL_ENV);
        let kind = judge.kind();
        let has_address = !judge.base_url.is_empty();
        let variable = kind.protocol().address().address_variable;
        let reads_it = kind != JudgeKind::Lexical && variable == Some(OPENAI_BASE_URL_ENV);
        if reads_it && !has_address {
            // An address would make a judge without a kind another one.
            judge.kind = Some(kind);
            if let Some(urls) = urls {
                judge.base_url = urls.split(',').map(|url| url.trim().to_owned()).collect();
                self.is_openai_variable = true;
            }
            return None;
        }
        if judge.kind.is_none() && kind == JudgeKind::Lexical && urls.is_some() {
            return Some(format!(
                "{OPENAI_BASE_URL_ENV} alone chooses no judge: this is the lexical one; give --model"
            ));
        }
        None
    }

    /// The argument of a key: the one of its name, or of table and key if another table also has that key.
    fn arg(&self, table: &str, key: &str) -> Option<&clap::Arg> {
        if !TABLES.iter().any(|(name, _)| *name == table) {
            return None;
        }
        self.arg_of_id(&format!("{table}_{key}"))
            .or_else(|| self.arg_of_id(key))
    }

    /// Whether the command uses a key of the config file. The tables of judges are used by the commands that ask one.
    fn uses(&self, table: &str, key: &str) -> bool {
        if TABLES.iter().any(|(name, _)| *name == table) {
            self.arg(table, key).is_some()
        } else {
            self.arg_of_id("model").is_some()
        }
    }

    fn arg_of_id(&self, id: &str) -> Option<&clap::Arg> {
        self.command.get_arguments().find(|arg| arg.get_id() == id)
    }

    /// Where clap has the value of an argument from; `None` where the command has no such argument.
    fn value_source(&self, id: &str) -> Option<ValueSource> {
        // clap panics for an id that it does not know.
        if self.matches.ids().any(|known| known == id) {
            self.matches.value_source(id)
        } else {
            None
        }
    }

    /// The flag or variable that set a value, if any.
    fn explicit_origin(&self, table: &str, key: &str) -> Option<Origin> {
        let arg = self.arg(table, key)?;
        match self.value_source(arg.get_id().as_str()) {
            Some(ValueSource::CommandLine) => Some(Origin::Flag(flag_text(arg))),
            Some(ValueSource::EnvVariable) => {
                let name = arg.get_env().unwrap_or_default();
                Some(Origin::Environment(name.to_string_lossy().into_owned()))
            }
            _ if key == "answers"
                && self.value_source("qa_dir") == Some(ValueSource::CommandLine) =>
            {
                Some(Origin::Flag("--qa-dir".to_owned()))
            }
            _ => None,
        }
    }

    /// Where a value is from, the strongest source first.
    fn origin(&self, table: &str, key: &str) -> Origin {
        let given = self
            .explicit_origin(table, key)
            .or_else(|| self.file_origin(table, key));
        if let Some(given) = given {
            return given;
        }
        match (table, key) {
            ("judge", "base_url") if self.is_openai_variable => {
                Origin::Environment(OPENAI_BASE_URL_ENV.to_owned())
            }
            // Unset options of a further judge are those of the run.
            (table, "samples" | "merge") if table.starts_with("judges.") => {
                self.origin("score", key)
            }
            _ => Origin::Default,
        }
    }

    fn file_origin(&self, table: &str, key: &str) -> Option<Origin> {
        let file = self.file.as_ref()?;
        Some(Origin::File {
            path: file.path.clone(),
            line: file.line(table, key)?,
            key: format!("{table}.{key}"),
        })
    }

    /// The origin of a key with its table: `judge.model`, `judges.NAME.model`.
    fn origin_of(&self, key: &str) -> Origin {
        let split = if key.starts_with("judges.") {
            key.rsplit_once('.')
        } else {
            key.split_once('.')
        };
        match split {
            Some((table, key)) => self.origin(table, key),
            None => Origin::Default,
        }
    }

    /// The error for an invalid option, with the exit code of its origin: a flag gives a usage error.
    fn fault(&self, fault: OptionFault) -> Error {
        let mut message = fault.what;
        let origin = self.origin_of(&fault.key);
        let mut other = None;
        if let Some(key) = &fault.contradicts {
            let origin = self.origin_of(key);
            message.push_str(&format!(" ({key} comes from {origin})"));
            other = Some(origin);
        }
        match (&origin, other) {
            (Origin::Flag(flag), _) => Error::Usage(format!("{flag}: {message}")),
            // The flag is what the user typed last, and can change at once.
            (_, Some(Origin::Flag(_))) => Error::Usage(format!("{}: {message}", fault.key)),
            (Origin::Environment(name), _) => {
                Error::Settings(format!("environment variable {name}: {message}"))
            }
            (Origin::File { path, line, key }, _) => {
                InputFault::new(path, format!("{key}: {message}"))
                    .at_line(*line)
                    .into()
            }
            (Origin::Default, _) => match self.judge_line(&fault.key) {
                Some((path, line)) => InputFault::new(path, format!("{}: {message}", fault.key))
                    .at_line(line)
                    .into(),
                None => Error::Settings(format!("{}: {message}", fault.key)),
            },
        }
    }

    /// The first line of a further judge's table, for errors about a missing key.
    fn judge_line(&self, key: &str) -> Option<(PathBuf, usize)> {
        let (table, _) = key.strip_prefix("judges.").and(key.rsplit_once('.'))?;
        let file = self.file.as_ref()?;
        let first = file.entries.iter().find(|entry| entry.table == table)?;
        Some((file.path.clone(), first.line))
    }
}

/// An option as typed.
fn flag_text(arg: &clap::Arg) -> String {
    match (arg.get_long(), arg.get_value_names()) {
        (Some(long), _) => format!("--{long}"),
        (None, Some([name, ..])) => name.to_string(),
        (None, _) => arg.get_id().to_string(),
    }
}
