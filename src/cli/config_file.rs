//! The config file: TOML with the tables of [`TABLES`], further judges under `[judges.NAME]`, and `[roles]`.
//!
//! Keys are those of [`keys`](super::settings::keys); an unknown one is an error that names the nearest known one.
//! Paths are relative to the file. The file never holds a key: `judge.api_key_env` names the variable that does.
//!
//! Every key ([`EXAMPLE`]):
//!
//! ```toml
#![doc = include_str!("example.toml")]
//! ```

mod tables;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::{Map, Number, Value};
use toml::de::{DeTable, DeValue};

use super::masking::is_secret_name;
use super::settings::keys::{JUDGES, PRICES, ROLES, TABLES, file_keys};
use super::suggest::nearest;
use crate::error::{Error, InputFault, Result};

pub use tables::{ASPECT_ROLE, DEFAULT_JUDGE, ROLES_MERGE, judge_keys};

/// A config file with every key, as documentation.
pub const EXAMPLE: &str = include_str!("example.toml");

/// One value of the file.
#[derive(Clone)]
pub struct Entry {
    /// The value; dates became strings.
    pub value: Value,
    /// 1-based line of its key.
    pub line: usize,
}

/// A config file whose keys are all known. It may hold secrets in headers and URLs: it has no `Debug` on purpose.
#[derive(Clone)]
pub struct ConfigFile {
    path: PathBuf,
    entries: BTreeMap<String, Entry>,
    judges: Vec<JudgeTable>,
    /// The judge whose table this is a view of: then keys are shown under its name.
    judge: Option<String>,
}

/// One `[judges.NAME]`.
#[derive(Clone)]
struct JudgeTable {
    name: String,
    line: usize,
    entries: BTreeMap<String, Entry>,
}

impl ConfigFile {
    /// Reads a config file.
    ///
    /// # Errors
    /// [`Error::Io`] if it cannot be read; [`Error::Input`] with every fault (line, key, remedy) otherwise.
    pub fn load(path: &Path) -> Result<Self> {
        let bytes = std::fs::read(path).map_err(Error::io(path, "read config file"))?;
        let text = String::from_utf8(bytes)
            .map_err(|_| InputFault::new(path, "not UTF-8 text").hint("save the config file as UTF-8"))?;
        Self::parse(path, &text)
    }

    /// Reads the text of a config file that lies at `path`.
    ///
    /// # Errors
    /// [`Error::Input`] with every fault.
    pub fn parse(path: &Path, text: &str) -> Result<Self> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let line_of = |offset: usize| line_of(text, offset);
        let document = DeTable::parse(text).map_err(|error| {
            // Only the message: the parser's own display repeats the line, and the line may hold a secret.
            let fault = InputFault::new(path, format!("not valid TOML: {}", error.message().trim()));
            Error::from(fault.at_line(line_of(error.span().map_or(0, |span| span.start))))
        })?;
        let mut file = Self { path: path.to_path_buf(), entries: BTreeMap::new(), judges: Vec::new(), judge: None };
        let mut faults = Vec::new();
        for (table, content) in document.get_ref() {
            let line = line_of(table.span().start);
            match (table.get_ref().as_ref(), content.get_ref()) {
                (JUDGES, DeValue::Table(judges)) => file.read_judges(judges, &line_of, &mut faults),
                (PRICES, DeValue::Table(models)) => file.read_prices(models, &line_of),
                (ROLES, DeValue::Table(roles)) => file.read_roles(roles, &line_of, &mut faults),
                (name, DeValue::Table(keys)) if TABLES.contains(&name) => {
                    for (key, value) in keys {
                        let line = line_of(key.span().start);
                        match file.checked(name, key.get_ref()) {
                            Some(fault) => faults.push(fault.at_line(line)),
                            None => {
                                let name = format!("{name}.{}", key.get_ref());
                                file.entries.insert(name, Entry { value: to_json(value.get_ref()), line });
                            }
                        }
                    }
                }
                (name, other) => faults.push(file.wrong_top_level(name, other).at_line(line)),
            }
        }
        file.judges.sort_by_key(|judge| judge.line);
        faults.sort_by_key(|fault| fault.line);
        if faults.is_empty() { Ok(file) } else { Err(Error::Input(faults)) }
    }

    /// The file as the user named it.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The value of `judge.model` and the like.
    pub fn get(&self, name: &str) -> Option<&Entry> {
        self.entries.get(name)
    }

    /// The entries whose names start like this, without that start: `roles.`, say.
    pub fn under<'a>(&'a self, start: &'a str) -> impl Iterator<Item = (&'a str, &'a Entry)> {
        self.entries.iter().filter_map(move |(name, entry)| Some((name.strip_prefix(start)?, entry)))
    }

    /// Names of the further judges with the lines of their tables, in the order of the file.
    pub fn judges(&self) -> impl Iterator<Item = (&str, usize)> {
        self.judges.iter().map(|judge| (judge.name.as_str(), judge.line))
    }

    /// One further judge's table as a file of its own: what stands in `[judges.NAME]` is found there as `judge.*`,
    /// `limits.*`, `score.samples` and `score.merge`, and shown as `judges.NAME.*`.
    pub fn of_judge(&self, name: &str) -> Option<Self> {
        let table = self.judges.iter().find(|judge| judge.name == name)?;
        Some(Self {
            path: self.path.clone(),
            entries: table.entries.clone(),
            judges: Vec::new(),
            judge: Some(table.name.clone()),
        })
    }

    /// The name under which a key is shown: `judges.NAME.model` for `judge.model` of a further judge.
    pub fn shown(&self, name: &str) -> String {
        match (&self.judge, name.split_once('.')) {
            (Some(judge), Some((_, key))) => format!("{JUDGES}.{judge}.{key}"),
            _ => name.to_owned(),
        }
    }

    /// The further judge whose table this is a view of.
    pub fn judge(&self) -> Option<&str> {
        self.judge.as_deref()
    }

    /// A path of the file: relative ones start at the file's directory.
    pub fn resolve(&self, path: &Path) -> PathBuf {
        self.path.parent().unwrap_or(Path::new("")).join(path)
    }

    /// A fault of one key's value.
    pub fn fault(&self, name: &str, line: usize, what: &str) -> Error {
        InputFault::new(&self.path, format!("{}: {what}", self.shown(name))).at_line(line).into()
    }

    /// What is wrong with a key of one of [`TABLES`]; `None` if nothing is.
    fn checked(&self, table: &str, key: &str) -> Option<InputFault> {
        let known: Vec<&str> = file_keys(table).collect();
        if known.contains(&key) {
            return None;
        }
        let elsewhere = TABLES.into_iter().find(|other| file_keys(other).any(|known| known == key));
        Some(self.unknown_key(table, key, &known, elsewhere))
    }

    /// An unknown key, with the nearest known one, or the table where it belongs.
    fn unknown_key(&self, table: &str, key: &str, known: &[&str], elsewhere: Option<&str>) -> InputFault {
        let shown = key.escape_debug();
        let near = nearest(key, known.iter().copied());
        if is_secret_name(key) && near.is_none_or(|known| known == "api_key_env") {
            let owner = if table.starts_with(JUDGES) { table } else { "judge" };
            return InputFault::new(&self.path, format!("[{table}] {shown}: a config file must not hold a key")).hint(
                format!(
                    "put the key into an environment variable and write api_key_env = \"ITS_NAME\" under [{owner}]"
                ),
            );
        }
        let fault = InputFault::new(&self.path, format!("unknown key {shown} in [{table}]"));
        match (near, elsewhere) {
            (Some(known), _) => fault.hint(format!("did you mean {known}?")),
            (None, Some(other)) => fault.hint(format!("{key} belongs under [{other}]")),
            (None, None) => fault.hint(format!("known are {}", known.join(", "))),
        }
    }

    fn wrong_top_level(&self, name: &str, value: &DeValue<'_>) -> InputFault {
        let shown = name.escape_debug();
        let tables = || TABLES.into_iter().chain([JUDGES, ROLES, PRICES]);
        if tables().any(|table| table == name) {
            let header = match name {
                JUDGES => "judges.NAME",
                PRICES => "prices.\"MODEL\"",
                name => name,
            };
            return InputFault::new(&self.path, format!("{shown} is not a table"))
                .hint(format!("write [{header}] and its keys below it"));
        }
        let owner = TABLES.into_iter().find(|table| file_keys(table).any(|known| known == name));
        let what = if value.is_table() { "table" } else { "key" };
        let fault = InputFault::new(&self.path, format!("unknown {what} {shown}"));
        match (owner, nearest(name, tables())) {
            (Some(table), _) => fault.hint(format!("{shown} belongs under [{table}]")),
            (None, Some(table)) => fault.hint(format!("did you mean [{table}]?")),
            (None, None) => {
                let known: Vec<String> = tables().map(|table| format!("[{table}]")).collect();
                fault.hint(format!("known tables are {}", known.join(", ")))
            }
        }
    }
}

/// The 1-based line of a byte of the text.
fn line_of(text: &str, offset: usize) -> usize {
    text.as_bytes().iter().take(offset).filter(|byte| **byte == b'\n').count() + 1
}

/// TOML as JSON: settings need no dates, so these become strings; numbers keep their exact integer value.
fn to_json(value: &DeValue<'_>) -> Value {
    match value {
        DeValue::String(text) => Value::from(text.as_ref()),
        DeValue::Boolean(flag) => Value::from(*flag),
        DeValue::Integer(integer) => {
            i64::from_str_radix(&integer.as_str().replace('_', ""), integer.radix()).map_or(Value::Null, Value::from)
        }
        DeValue::Float(float) => {
            let number = float.as_str().replace('_', "").parse().ok().and_then(Number::from_f64);
            number.map_or_else(|| Value::from(float.as_str()), Value::Number)
        }
        DeValue::Datetime(datetime) => Value::from(datetime.to_string()),
        DeValue::Array(items) => Value::Array(items.iter().map(|item| to_json(item.get_ref())).collect()),
        DeValue::Table(table) => {
            let pairs = table.iter().map(|(key, value)| (key.get_ref().to_string(), to_json(value.get_ref())));
            Value::Object(pairs.collect::<Map<_, _>>())
        }
    }
}
