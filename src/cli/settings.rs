//! The options of a command from all sources: flags > environment > config file > defaults.
//!
//! Flags, environment variables and defaults are clap's ([`EvaluationOptions`] derives them). The config file's values
//! replace defaults: options and file are merged as JSON by one rule for all keys. [`Settings::lines`] has all
//! options with their origins, secrets masked.

use std::any::TypeId;
use std::path::PathBuf;

use clap::ArgMatches;
use clap::parser::ValueSource;
use serde_json::{Map, Value, json};

use super::args::{OutputFormat, ScoreArgs};
use super::config_file::{ConfigFile, Entry};
use super::keys::{
    KeyUse, NamedServers, OPENAI_BASE_URL_ENV, is_trusted, is_variable, not_set, secret,
};
use super::origin::{Environment, Origin, SettingLine};
use crate::error::{Error, InputFault, Result};
use crate::evaluation::options::{DEFAULT_JUDGE, EvaluationOptions, JudgeTable, as_map};
use crate::judge::endpoint::{Endpoint, is_secret_name, mask_url, masked_json};
use crate::judge::kind::JudgeKind;
use crate::judge::options::{JudgeOptions, OptionFault, defaults};
use crate::text::names::{nearest, suggest};

/// Tables of the config file, each with the option structs whose keys it holds.
const TABLES: [(&str, &[&str]); 6] = [
    ("score", &["input", "scoring", "scorers"]),
    ("judge", &["judge"]),
    ("limits", &["limits"]),
    ("budget", &["budget"]),
    ("cache", &["cache"]),
    ("output", &["output", "display"]),
];

/// Keys that exclude each other: a stronger source for one of them resets the others.
const CHOICES: [(&str, &str, [&str; 2]); 2] = [
    ("judge", "judge", ["temperature", "no_temperature"]),
    ("cache", "cache", ["path", "no_cache"]),
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
}

impl Settings {
    /// Merges and checks all sources. `matches` belongs to the command that gave `args`.
    ///
    /// # Errors
    /// [`Error::Usage`] for a flag, [`Error::Settings`] for an environment variable, [`Error::Input`] (with file and
    /// line) for the config file; each names the option, what is wrong and what to write.
    pub fn load(args: &ScoreArgs, matches: &ArgMatches, environment: &Environment) -> Result<Self> {
        let mut sources = Sources::new(args, matches, environment)?;
        let mut args = sources.merged(args)?;
        args.options.input.answers.append(&mut args.qa_dir);
        let ScoreArgs {
            mut options,
            display,
            dry_run,
            ..
        } = args;
        let mut warnings = Vec::new();
        let judge = &mut options.judge;
        let openai = environment.get(OPENAI_BASE_URL_ENV);
        if !matches!(judge.kind(), JudgeKind::Lexical | JudgeKind::Anthropic)
            && judge.base_url.is_empty()
        {
            judge.kind = Some(judge.kind());
            judge.base_url = openai
                .into_iter()
                .flat_map(|urls| urls.split(','))
                .map(|url| url.trim().to_owned())
                .collect();
            sources.is_openai_variable = !judge.base_url.is_empty();
        } else if judge.kind.is_none() && judge.kind() == JudgeKind::Lexical && openai.is_some() {
            warnings
                .push(format!("{OPENAI_BASE_URL_ENV} alone chooses no judge: this is the lexical one; give --model"));
        }
        options.check().map_err(|fault| sources.fault(fault))?;
        let used = options.used_judges();
        let (judges, main) = (&mut options.judges, &mut options.judge);
        let tables = judges
            .iter_mut()
            .map(|(name, table)| (format!("judges.{name}"), name.as_str(), &mut table.judge));
        for (table, name, judge) in tables.chain([("judge".to_owned(), DEFAULT_JUDGE, main)]) {
            sources.read_secrets(
                &table,
                judge,
                used.contains(name),
                environment,
                &mut warnings,
            )?;
        }
        warnings.extend(options.warnings());
        let lines = sources.describe(&ScoreArgs {
            options: options.clone(),
            display: display.clone(),
            ..defaults()
        });
        Ok(Self {
            options,
            format: display.format,
            dry_run,
            warnings,
            lines,
        })
    }
}

/// The sources of options.
struct Sources<'a> {
    matches: &'a ArgMatches,
    /// The options as clap knows them: flags, variables, types.
    command: clap::Command,
    file: Option<ConfigFile>,
    /// True if the judge's address is that of `OPENAI_BASE_URL`.
    is_openai_variable: bool,
    /// The servers that the user named.
    servers: NamedServers,
}

impl<'a> Sources<'a> {
    fn new(args: &ScoreArgs, matches: &'a ArgMatches, environment: &Environment) -> Result<Self> {
        let file = args.config.as_deref().map(ConfigFile::load).transpose()?;
        let command = <ScoreArgs as clap::Args>::augment_args(clap::Command::new("score"));
        let trusts = file
            .as_ref()
            .is_some_and(|file| is_trusted(&file.hash, args.trust_config, environment));
        let servers = NamedServers::new(&args.options.judge.base_url, environment, trusts);
        Ok(Self {
            matches,
            command,
            file,
            is_openai_variable: false,
            servers,
        })
    }

    /// The arguments with values from the file instead of defaults.
    fn merged(&self, args: &ScoreArgs) -> Result<ScoreArgs> {
        let default = as_map(&defaults::<ScoreArgs>());
        let mut map = as_map(args);
        let mut faults = Vec::new();
        for entry in self.file.iter().flat_map(|file| &file.entries) {
            if let Err(fault) = self.place(entry, &mut map, &default) {
                faults.push(fault);
            }
        }
        if !faults.is_empty() {
            return Err(Error::Input(faults));
        }
        for (table, group, keys) in CHOICES {
            let ranks = keys.map(|key| self.origin(table, key).rank());
            let strongest = ranks.into_iter().max().unwrap_or(0);
            for (key, _) in keys.iter().zip(ranks).filter(|(_, rank)| *rank < strongest) {
                map[group][*key] = default[group][*key].clone();
            }
            let origins = keys.map(|key| self.origin(table, key));
            if let ([Origin::Flag(one), Origin::Flag(other)], true) =
                (origins, keys[1].starts_with("no_"))
            {
                return Err(Error::Usage(format!(
                    "{other} contradicts {one}; drop one of the two"
                )));
            }
        }
        let merged: ScoreArgs = serde_json::from_value(Value::Object(map)).map_err(|error| {
            Error::Internal(format!("options cannot be merged: {}", message(&error)))
        })?;
        Ok(ScoreArgs {
            qa_dir: args.qa_dir.clone(),
            dry_run: args.dry_run,
            ..merged
        })
    }

    /// Applies one value of the file, unless a stronger source has set it.
    fn place(
        &self,
        entry: &Entry,
        map: &mut Map<String, Value>,
        default: &Map<String, Value>,
    ) -> Result<(), InputFault> {
        let Entry {
            table,
            key,
            value,
            line,
        } = entry;
        let path = self
            .file
            .as_ref()
            .map(|file| file.path.clone())
            .unwrap_or_default();
        let fault = |what: String| InputFault::new(&path, what).at_line(*line);
        let value = self.resolved(table, key, value);
        let mut changed = map.clone();
        let old = match (
            table.split_once('.'),
            TABLES.iter().find(|(name, _)| name == table),
        ) {
            (Some((_, judge)), _) => {
                let judge = changed["judges"][judge].as_object_mut().map(std::mem::take);
                let mut keys = judge.unwrap_or_else(|| as_map(&JudgeTable::default()));
                let Some(slot) = keys.get_mut(key) else {
                    return Err(unknown_key(&fault, table, key, &keys));
                };
                *slot = value;
                changed["judges"][&table["judges.".len()..]] = Value::Object(keys);
                None
            }
            (None, Some((_, groups))) => {
                let Some(group) = groups
                    .iter()
                    .find(|group| default[**group].get(key).is_some())
                else {
                    let known = groups
                        .iter()
                        .filter_map(|group| default[*group].as_object())
                        .flatten();
                    let known = known
                        .map(|(key, value)| (key.clone(), value.clone()))
                        .collect();
                    return Err(unknown_key(&fault, table, key, &known));
                };
                Some((*group, std::mem::replace(&mut changed[*group][key], value)))
            }
            (None, None) if ["roles", "prices"].contains(&table.as_str()) => {
                changed[table][key] = value;
                None
            }
            (None, None) => return Err(unknown_table(&fault, table)),
        };
        if let Err(error) = serde_json::from_value::<ScoreArgs>(Value::Object(changed.clone())) {
            return Err(fault(format!("{table}.{key}: {}", message(&error))));
        }
        *map = changed;
        if let Some((group, old)) = old {
            let is_stronger =
                self.explicit_origin(table, key).is_some() || old != default[group][key];
            let slot = &mut map[group][key];
            match (slot, old) {
                // Headers, limits by kind: a flag replaces the entries of its name.
                (Value::Object(weak), Value::Object(strong)) if is_stronger => {
                    weak.retain(|name, _| {
                        !strong.keys().any(|other| other.eq_ignore_ascii_case(name))
                    });
                    weak.extend(strong);
                }
                (slot, old) if is_stronger => *slot = old,
                _ => {}
            }
        }
        Ok(())
    }

    /// Resolves a path relative to the file.
    fn resolved(&self, table: &str, key: &str, value: &Value) -> Value {
        let is_path = |arg: &clap::Arg| arg.get_value_parser().type_id() == TypeId::of::<PathBuf>();
        if !self.arg(table, key).is_some_and(is_path) {
            return value.clone();
        }
        let parent = self
            .file
            .as_ref()
            .and_then(|file| file.path.parent())
            .unwrap_or(std::path::Path::new(""));
        match value {
            Value::String(path) => json!(parent.join(path)),
            Value::Array(paths) => paths
                .iter()
                .map(|path| self.resolved(table, key, path))
                .collect(),
            other => other.clone(),
        }
    }

    /// The argument of a key: the one of its name, or of table and key if another table also has that key.
    fn arg(&self, table: &str, key: &str) -> Option<&clap::Arg> {
        let with_table = format!("{table}_{key}");
        let find = |id: &str| self.command.get_arguments().find(|arg| arg.get_id() == id);
        TABLES
            .iter()
            .find(|(name, _)| *name == table)
            .and_then(|_| find(&with_table).or_else(|| find(key)))
    }

    /// The flag or variable that set a value, if any.
    fn explicit_origin(&self, table: &str, key: &str) -> Option<Origin> {
        let arg = self.arg(table, key)?;
        let source = |id: &str| {
            let is_known = self.matches.ids().any(|known| known == id);
            is_known.then(|| self.matches.value_source(id)).flatten()
        };
        match source(arg.get_id().as_str()) {
            Some(ValueSource::CommandLine) => Some(Origin::Flag(flag_text(arg))),
            Some(ValueSource::EnvVariable) => Some(Origin::Environment(
                arg.get_env()
                    .unwrap_or_default()
                    .to_string_lossy()
                    .into_owned(),
            )),
            _ if key == "answers" && source("qa_dir") == Some(ValueSource::CommandLine) => {
                Some(Origin::Flag("--qa-dir".to_owned()))
            }
            _ => None,
        }
    }

    fn origin(&self, table: &str, key: &str) -> Origin {
        let given = self
            .explicit_origin(table, key)
            .or_else(|| self.file_origin(table, key));
        given.unwrap_or_else(|| match (table, key) {
            ("judge", "base_url") if self.is_openai_variable => {
                Origin::Environment(OPENAI_BASE_URL_ENV.to_owned())
            }
            // Unset options of a further judge are those of the run.
            (table, "samples" | "merge") if table.starts_with("judges.") => {
                self.origin("score", key)
            }
            _ => Origin::Default,
        })
    }

    fn file_origin(&self, table: &str, key: &str) -> Option<Origin> {
        let file = self.file.as_ref()?;
        Some(Origin::File {
            path: file.path.clone(),
            line: file.line(table, key)?,
            key: format!("{table}.{key}"),
        })
    }

    /// The error for an invalid option, with the exit code of its origin: a flag gives a usage error.
    fn fault(&self, fault: OptionFault) -> Error {
        let origin_of = |key: &str| {
            let split = if key.starts_with("judges.") {
                key.rsplit_once('.')
            } else {
                key.split_once('.')
            };
            split.map_or(Origin::Default, |(table, key)| self.origin(table, key))
        };
        let mut what = fault.what;
        let origin = origin_of(&fault.key);
        let other = fault.contradicts.as_deref().map(origin_of);
        if let (Some(key), Some(other)) = (&fault.contradicts, &other) {
            what.push_str(&format!(" ({key} comes from {other})"));
        }
        match (&origin, other) {
            (Origin::Flag(flag), _) => Error::Usage(format!("{flag}: {what}")),
            (_, Some(Origin::Flag(_))) => Error::Usage(format!("{}: {what}", fault.key)),
            (Origin::Environment(name), _) => {
                Error::Settings(format!("environment variable {name}: {what}"))
            }
            (Origin::File { path, line, key }, _) => {
                InputFault::new(path, format!("{key}: {what}"))
                    .at_line(*line)
                    .into()
            }
            (Origin::Default, _) => match self.judge_line(&fault.key) {
                Some((path, line)) => InputFault::new(path, format!("{}: {what}", fault.key))
                    .at_line(line)
                    .into(),
                None => Error::Settings(format!("{}: {what}", fault.key)),
            },
        }
    }

    /// The first line of a further judge's table, for errors about a missing key.
    fn judge_line(&self, key: &str) -> Option<(PathBuf, usize)> {
        let (table, _) = key.strip_prefix("judges.").and(key.rsplit_once('.'))?;
        let file = self.file.as_ref()?;
        Some((
            file.path.clone(),
            file.entries.iter().find(|entry| entry.table == table)?.line,
        ))
    }

    /// Reads the API key of a judge and its secret headers, for the servers that may get them. Only variables that are
    /// named must be set, since local servers need no key.
    fn read_secrets(
        &self,
        table: &str,
        judge: &mut JudgeOptions,
        is_used: bool,
        environment: &Environment,
        warnings: &mut Vec<String>,
    ) -> Result<()> {
        let is_asked = is_used && judge.kind() != JudgeKind::Lexical;
        let whose = if table == "judge" {
            String::new()
        } else {
            format!("[{table}]: ")
        };
        let key = (
            None,
            judge.api_key_variable().to_owned(),
            self.origin(table, "api_key_env"),
        );
        // Where file and flags name such headers, all of them count as the file's.
        let of_headers = self
            .file_origin(table, "header_env")
            .unwrap_or_else(|| Origin::Flag("--header-env".to_owned()));
        let headers = judge
            .header_env
            .iter()
            .map(|(header, name)| (Some(header.clone()), name.clone(), of_headers.clone()));
        for (header, name, origin) in [key].into_iter().chain(headers).collect::<Vec<_>>() {
            let option = format!(
                "{table}.{}",
                if header.is_some() {
                    "header_env"
                } else {
                    "api_key_env"
                }
            );
            let fault = |what: String| Err(self.fault(OptionFault::new(&option, what)));
            let is_named = header.is_some() || judge.api_key_env.is_some();
            let value = secret(environment, &name, header.is_some())?;
            if is_named && value.is_none() && (is_asked || !is_variable(&name)) {
                return fault(not_set(&name));
            }
            for url in judge
                .addresses()
                .into_iter()
                .filter(|_| is_asked && value.is_some())
            {
                let server = Endpoint::new(&url)?;
                let what = format!("{}, which only the config file names", server.masked_url());
                match self.servers.key_use(&name, &origin, &server) {
                    KeyUse::Send => {}
                    KeyUse::Refuse => {
                        let hint = "add --trust-config if you trust that file";
                        return fault(format!("{name} would be sent to {what}; {hint}"));
                    }
                    KeyUse::Withhold => {
                        if server.login.is_none() {
                            warnings.push(format!(
                                "{whose}{name} is not sent to {what}; add --trust-config to send it"
                            ));
                        }
                        judge.withheld_from.push(url);
                    }
                }
            }
            match header {
                Some(header) => judge
                    .secret_headers
                    .extend(value.map(|value| (header, value))),
                None => judge.api_key = value,
            }
        }
        let mut services = judge
            .addresses()
            .into_iter()
            .filter_map(|url| Endpoint::new(&url).ok()?.service());
        if let Some(service) = services.rfind(|_| is_asked && judge.api_key.is_none()) {
            let name = judge.api_key_variable();
            let remedy = "export it, or name another variable with --api-key-env (api_key_env in the config file)";
            warnings.push(format!(
                "{whose}{name} is not set: {service} will reject calls; {remedy}"
            ));
        }
        Ok(())
    }

    fn describe(&self, args: &ScoreArgs) -> Vec<SettingLine> {
        let map = as_map(args);
        let mut lines = Vec::new();
        for (table, groups) in TABLES {
            let keys = groups
                .iter()
                .filter_map(|group| map[*group].as_object())
                .flatten();
            self.describe_table(table, keys, &args.options.judge, &mut lines);
        }
        for (name, judge) in &args.options.judges {
            let mut keys = as_map(judge);
            for key in ["samples", "merge"] {
                if let Some(value) = keys.get_mut(key).filter(|value| value.is_null()) {
                    *value = map["scoring"][key].clone();
                }
            }
            self.describe_table(&format!("judges.{name}"), &keys, &judge.judge, &mut lines);
        }
        if let Some(roles) = map["roles"].as_object().filter(|roles| roles.len() > 1) {
            self.describe_table("roles", roles, &args.options.judge, &mut lines);
        }
        lines
    }

    /// The lines of one table; for the baseline only its kind, since it uses nothing else.
    fn describe_table<'m>(
        &self,
        table: &str,
        keys: impl IntoIterator<Item = (&'m String, &'m Value)>,
        judge: &JudgeOptions,
        lines: &mut Vec<SettingLine>,
    ) {
        let is_judge = table == "judge" || table.starts_with("judges.");
        let is_lexical = (is_judge || table == "limits") && judge.kind() == JudgeKind::Lexical;
        for (key, value) in keys
            .into_iter()
            .filter(|(key, _)| !is_lexical || *key == "kind")
        {
            let origin = self.origin(table, key);
            let mut line = |key: String, value: Value| {
                lines.push(SettingLine {
                    key,
                    value,
                    origin: origin.clone(),
                })
            };
            match masked(key, value, judge) {
                Value::Object(members) if key != "extra_body" => {
                    members
                        .into_iter()
                        .for_each(|(name, value)| line(format!("{table}.{key}.{name}"), value));
                }
                value => line(format!("{table}.{key}"), value),
            }
        }
        if is_judge && !is_lexical {
            let (value, origin) = match &judge.api_key {
                Some(_) => (
                    "set, not shown",
                    Origin::Environment(judge.api_key_variable().to_owned()),
                ),
                None => ("not set", Origin::Default),
            };
            lines.push(SettingLine {
                key: format!("{table}.api_key"),
                value: value.into(),
                origin,
            });
        }
    }
}

/// The value as `config` shows it.
fn masked(key: &str, value: &Value, judge: &JudgeOptions) -> Value {
    match (key, value) {
        ("base_url", Value::Array(urls)) if urls.is_empty() => json!(judge.addresses().join(",")),
        ("base_url", Value::Array(urls)) => {
            let urls = urls.iter().filter_map(Value::as_str).map(mask_url);
            json!(urls.collect::<Vec<_>>().join(","))
        }
        ("kind", Value::Null) => json!(judge.kind()),
        ("headers" | "extra_body", value) => masked_json(value),
        (_, Value::Array(items)) if items.is_empty() => Value::Null,
        (_, value) => value.clone(),
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

/// Serde's message for a value of the wrong type, without the value, which may be secret.
fn message(error: &serde_json::Error) -> String {
    let text = error.to_string();
    match text.split_once('"').zip(text.rsplit_once('"')) {
        Some(((start, _), (_, end))) if text.starts_with("invalid") => {
            format!("{}{end}", start.trim_end())
        }
        _ => text,
    }
}

/// The error for an unknown key, with the nearest known one or its correct table.
fn unknown_key(
    fault: &dyn Fn(String) -> InputFault,
    table: &str,
    key: &str,
    known: &Map<String, Value>,
) -> InputFault {
    let shown = key.escape_debug();
    let near = nearest(key, known.keys().map(String::as_str));
    if is_secret_name(key) && near.is_none_or(|known| known == "api_key_env") {
        let owner = if table.starts_with("judges.") {
            table
        } else {
            "judge"
        };
        return fault(format!("[{table}] {shown}: a config file must not hold an API key")).hint(format!(
            "put the key into an environment variable and write api_key_env = \"ITS_NAME\" under [{owner}]"
        ));
    }
    let fault = fault(format!("unknown key {shown} in [{table}]"));
    match table_of(key).filter(|_| near.is_none()) {
        Some(other) => fault.hint(format!("{shown} belongs under [{other}]")),
        None => fault.hint(suggest(key, known.keys().map(String::as_str))),
    }
}

fn unknown_table(fault: &dyn Fn(String) -> InputFault, table: &str) -> InputFault {
    let known = TABLES
        .iter()
        .map(|(name, _)| *name)
        .chain(["judges", "roles", "prices"]);
    fault(format!("unknown table [{}]", table.escape_debug())).hint(suggest(table, known))
}

/// The table that holds a key.
fn table_of(key: &str) -> Option<&'static str> {
    let default = as_map(&defaults::<ScoreArgs>());
    let holds = |groups: &[&str]| {
        groups
            .iter()
            .any(|group| default[*group].get(key).is_some())
    };
    TABLES
        .iter()
        .find(|(_, groups)| holds(groups))
        .map(|(table, _)| *table)
}
