//! The config file: TOML with the options' tables and keys.
//!
//! Tables are `[score]`, `[judge]`, `[limits]`, `[budget]`, `[cache]` and `[output]`, further judges under
//! `[judges.NAME]`, `[roles]` and `[prices."MODEL"]`. A key is the name of its flag with `_` for `-`. Paths are relative to
//! the file. The file never holds an API key: `judge.api_key_env` names the variable that does. A file pairs a variable with
//! a server other than loopback only if the user trusts it (`--trust-config`).
//!
//! Every key ([`EXAMPLE`]):
//!
//! ```toml
#![doc = include_str!("example.toml")]
//! ```

use std::path::{Path, PathBuf};

use serde_json::{Number, Value};
use toml::de::{DeTable, DeValue};

use crate::error::{Error, InputFault, Result};
use crate::evaluation::options::DEFAULT_JUDGE;
use crate::evaluation::roles::ASPECT_ROLE;
use crate::files::read_small_text;
use crate::text::nesting::check_nesting;

/// A config file with every key, as documentation.
pub const EXAMPLE: &str = include_str!("example.toml");

/// One value of the file.
#[derive(Clone)]
pub(super) struct ConfigEntry {
    /// Its table: `judge`, `judges.NAME`, `roles`.
    pub(super) table: String,
    /// Its key in the table.
    pub(super) key: String,
    /// The value; dates become strings.
    pub(super) value: Value,
    /// 1-based line of its key.
    pub(super) line: usize,
}

/// The values of a config file, in the order of its lines. It may hold secrets: it has no `Debug` on purpose.
#[derive(Clone)]
pub(super) struct ConfigFile {
    pub(super) path: PathBuf,
    /// BLAKE3 of the file.
    pub(super) hash: String,
    pub(super) entries: Vec<ConfigEntry>,
}

impl ConfigFile {
    /// Reads a config file.
    ///
    /// # Errors
    /// [`Error::Io`] if it cannot be read; [`Error::Input`] if it is not TOML, or a judge has an invalid name.
    pub(super) fn load(path: &Path) -> Result<Self> {
        let (text, hash) = read_small_text(path)?;
        Ok(Self {
            hash: hash.to_string(),
            ..Self::parse(path, &text)?
        })
    }

    /// The values of the text, as if it were the file at this path.
    fn parse(path: &Path, text: &str) -> Result<Self> {
        // The parser recurses: brackets without end would overflow the stack before any error.
        check_nesting(text, path)?;
        let document = DeTable::parse(text).map_err(|error| {
            // Only the message: the parser's error as a whole repeats the line, and the line may hold a secret.
            let what = format!("not valid TOML: {}", error.message().trim());
            let offset = error.span().map_or(0, |span| span.start);
            Error::from(InputFault::new(path, what).at_line(line_of(text, offset)))
        })?;
        let mut file = Self {
            path: path.to_path_buf(),
            hash: String::new(),
            entries: Vec::new(),
        };
        for (name, content) in document.get_ref() {
            let line = line_of(text, name.span().start);
            match content.get_ref() {
                DeValue::Table(judges) if name.get_ref() == "judges" => {
                    for (name, content) in judges {
                        let line = line_of(text, name.span().start);
                        let name = name.get_ref();
                        file.check_judge(name, line)?;
                        let table = format!("judges.{name}");
                        file.add_table(&table, content.get_ref(), line, text)?;
                    }
                }
                other => file.add_table(name.get_ref(), other, line, text)?,
            }
        }
        // The parser's tables are sorted by name; faults are reported from the top of the file.
        file.entries.sort_by_key(|entry| entry.line);
        Ok(file)
    }

    /// Adds the values of a table whose header is on this line of the text.
    fn add_table(
        &mut self,
        table: &str,
        content: &DeValue<'_>,
        line: usize,
        text: &str,
    ) -> Result<()> {
        let DeValue::Table(keys) = content else {
            let what = format!("{} is outside of a table", table.escape_debug());
            let hint = "keys belong below the header of their table, such as [judge]";
            return Err(InputFault::new(&self.path, what).at_line(line).refuse(hint));
        };
        for (key, value) in keys {
            match value.get_ref() {
                // aspect.coverage = .. without quotes is a table in TOML.
                DeValue::Table(aspects) if table == "roles" && key.get_ref() == ASPECT_ROLE => {
                    for (aspect, value) in aspects {
                        self.entries.push(ConfigEntry {
                            table: table.to_owned(),
                            key: format!("{ASPECT_ROLE}.{}", aspect.get_ref()),
                            value: to_json(value.get_ref()),
                            line: line_of(text, aspect.span().start),
                        });
                    }
                }
                other => self.entries.push(ConfigEntry {
                    table: table.to_owned(),
                    key: key.get_ref().to_string(),
                    value: to_json(other),
                    line: line_of(text, key.span().start),
                }),
            }
        }
        Ok(())
    }

    /// The name of a further judge is part of the names of its options, which errors show.
    fn check_judge(&self, name: &str, line: usize) -> Result<()> {
        let is_plain = name
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_');
        let (what, hint) = if name == DEFAULT_JUDGE {
            (
                "[judges.judge]: judge is the name of [judge]".to_owned(),
                "give this one another name, or write [judge]",
            )
        } else if name.is_empty() || !is_plain {
            (
                format!("[judges]: {name:?} is not a judge's name"),
                "use letters, digits, - and _, as in [judges.prometheus-bgb]",
            )
        } else {
            return Ok(());
        };
        Err(InputFault::new(&self.path, what).at_line(line).refuse(hint))
    }

    /// The line of a key, if the file has it.
    pub(super) fn line(&self, table: &str, key: &str) -> Option<usize> {
        self.entries
            .iter()
            .find(|entry| entry.table == table && entry.key == key)
            .map(|entry| entry.line)
    }
}

/// The 1-based line at this offset of a text.
fn line_of(text: &str, offset: usize) -> usize {
    let before = text.as_bytes().iter().take(offset);
    1 + before.filter(|byte| **byte == b'\n').count()
}

/// TOML as JSON: options need no dates, so these become strings; numbers keep their exact integer value. A number that JSON
/// does not have (`nan`, `inf`, beyond 64 bits) becomes a string, which no option takes as a number.
fn to_json(value: &DeValue<'_>) -> Value {
    match value {
        DeValue::String(text) => Value::from(text.as_ref()),
        DeValue::Boolean(flag) => Value::from(*flag),
        DeValue::Integer(integer) => {
            i64::from_str_radix(&integer.as_str().replace('_', ""), integer.radix())
                .map_or_else(|_| Value::from(integer.as_str()), Value::from)
        }
        DeValue::Float(float) => {
            let number = float
                .as_str()
                .replace('_', "")
                .parse()
                .ok()
                .and_then(Number::from_f64);
            number.map_or_else(|| Value::from(float.as_str()), Value::Number)
        }
        DeValue::Datetime(datetime) => Value::from(datetime.to_string()),
        DeValue::Array(items) => items.iter().map(|item| to_json(item.get_ref())).collect(),
        DeValue::Table(table) => table
            .iter()
            .map(|(key, value)| (key.get_ref().to_string(), to_json(value.get_ref())))
            .collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(text: &str) -> String {
        ConfigFile::parse(Path::new("dir/my.toml"), text)
            .err()
            .expect("an error")
            .to_string()
    }

    #[test]
    fn values_keep_their_table_and_line() {
        let text = "[judge]\nmodel = \"m\"\nmax_tokens = { property = 1_00 }\n[roles]\naspect.coverage = \"a\"\n\
                    [judges.b]\nrpm = 5\n";
        let file = ConfigFile::parse(Path::new("my.toml"), text).unwrap();
        let lines = [
            ("judge", "model"),
            ("roles", "aspect.coverage"),
            ("judges.b", "rpm"),
            ("judge", "rpm"),
        ];
        assert_eq!(
            lines.map(|(table, key)| file.line(table, key)),
            [Some(2), Some(5), Some(7), None]
        );
        assert_eq!(file.entries[1].value, serde_json::json!({"property": 100}));
    }

    #[test]
    fn an_invalid_config_file_is_rejected_with_its_line_and_without_its_text() {
        let secret =
            message("[judge]\nmodel = \"m\"\nheaders = { Authorization = Bearer hunter2 }\n");
        assert!(
            secret.starts_with("dir/my.toml:3: not valid TOML: ") && !secret.contains("hunter2"),
            "{secret}"
        );
        assert!(message("model = \"m\"").starts_with("dir/my.toml:1: model is outside of a table"));
        assert!(message("[judges.\"b c\"]\n").contains("\"b c\" is not a judge's name"));
        assert!(message("[judges.judge]\n").contains("judge is the name of [judge]"));
        assert!(
            message("[judges]\nmodel = \"m\"\n").contains(":2: judges.model is outside of a table")
        );
    }

    #[test]
    fn nesting_does_not_exhaust_the_stack() {
        for open in ["[", "{", "{a=", "{a=[", "{\n"] {
            let text = format!("[judge]\nextra_body = {}", open.repeat(30_000));
            assert!(message(&text).contains("more than 100 levels"), "{open}");
        }
        for (table, key) in [("[judge]\n", "a."), ("", "a."), ("[", "a.")] {
            let text = format!("{table}{}b = 1\n", key.repeat(30_000));
            drop(ConfigFile::parse(Path::new("my.toml"), &text));
        }
    }
}
