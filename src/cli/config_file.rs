//! The config file: TOML with tables `[score]`, `[judge]`, `[limits]`, `[cache]`, `[prompts]` and `[output]`.
//!
//! Keys are those of [`keys`](super::settings::keys); an unknown one is an error that names the nearest known one.
//! Paths are relative to the file. The file never holds a key: `judge.api_key_env` names the variable that does.
//!
//! Every key ([`EXAMPLE`]):
//!
//! ```toml
#![doc = include_str!("example.toml")]
//! ```

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::{Map, Number, Value};
use toml::de::{DeTable, DeValue};

use super::masking::is_secret_name;
use super::settings::keys::{TABLES, file_keys};
use super::suggest::nearest;
use crate::error::{Error, InputFault, Result};

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
        let line_of = |offset: usize| text.as_bytes().iter().take(offset).filter(|byte| **byte == b'\n').count() + 1;
        let document = DeTable::parse(text).map_err(|error| {
            // Only the message: the parser's own display repeats the line, and the line may hold a secret.
            let fault = InputFault::new(path, format!("not valid TOML: {}", error.message().trim()));
            Error::from(fault.at_line(line_of(error.span().map_or(0, |span| span.start))))
        })?;
        let mut file = Self { path: path.to_path_buf(), entries: BTreeMap::new() };
        let mut faults = Vec::new();
        for (table, content) in document.get_ref() {
            let line = line_of(table.span().start);
            match content.get_ref() {
                DeValue::Table(keys) if TABLES.contains(&table.get_ref().as_ref()) => {
                    for (key, value) in keys {
                        let line = line_of(key.span().start);
                        match file.checked(table.get_ref(), key.get_ref()) {
                            Some(fault) => faults.push(fault.at_line(line)),
                            None => {
                                let name = format!("{}.{}", table.get_ref(), key.get_ref());
                                file.entries.insert(name, Entry { value: to_json(value.get_ref()), line });
                            }
                        }
                    }
                }
                other => faults.push(file.wrong_top_level(table.get_ref(), other).at_line(line)),
            }
        }
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

    /// A path of the file: relative ones start at the file's directory.
    pub fn resolve(&self, path: &Path) -> PathBuf {
        self.path.parent().unwrap_or(Path::new("")).join(path)
    }

    /// A fault of one key's value.
    pub fn fault(&self, name: &str, line: usize, what: &str) -> Error {
        InputFault::new(&self.path, format!("{name}: {what}")).at_line(line).into()
    }

    fn checked(&self, table: &str, key: &str) -> Option<InputFault> {
        if file_keys(table).any(|known| known == key) {
            return None;
        }
        let shown = key.escape_debug();
        if is_secret_name(key) && nearest(key, file_keys(table)).is_none_or(|known| known == "api_key_env") {
            return Some(
                InputFault::new(&self.path, format!("[{table}] {shown}: a config file must not hold a key")).hint(
                    "put the key into an environment variable and write api_key_env = \"ITS_NAME\" under [judge]",
                ),
            );
        }
        let fault = InputFault::new(&self.path, format!("unknown key {shown} in [{table}]"));
        let elsewhere = TABLES.into_iter().find(|other| file_keys(other).any(|known| known == key));
        Some(match (nearest(key, file_keys(table)), elsewhere) {
            (Some(known), _) => fault.hint(format!("did you mean {known}?")),
            (None, Some(other)) => fault.hint(format!("{key} belongs under [{other}]")),
            (None, None) => fault.hint(format!("known are {}", file_keys(table).collect::<Vec<_>>().join(", "))),
        })
    }

    fn wrong_top_level(&self, name: &str, value: &DeValue<'_>) -> InputFault {
        let shown = name.escape_debug();
        if TABLES.contains(&name) {
            return InputFault::new(&self.path, format!("{shown} is not a table"))
                .hint(format!("write [{shown}] and its keys below it"));
        }
        let owner = TABLES.into_iter().find(|table| file_keys(table).any(|known| known == name));
        let what = if value.is_table() { "table" } else { "key" };
        let fault = InputFault::new(&self.path, format!("unknown {what} {shown}"));
        match (owner, nearest(name, TABLES)) {
            (Some(table), _) => fault.hint(format!("{shown} belongs under [{table}]")),
            (None, Some(table)) => fault.hint(format!("did you mean [{table}]?")),
            (None, None) => fault.hint(format!("known tables are {}", TABLES.map(|t| format!("[{t}]")).join(", "))),
        }
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn parse(text: &str) -> Result<ConfigFile> {
        ConfigFile::parse(Path::new("dir/my.toml"), text)
    }

    fn message(text: &str) -> String {
        parse(text).err().expect("an error").to_string()
    }

    #[test]
    fn the_example_holds_every_key_of_every_table() {
        let file = parse(EXAMPLE).unwrap();
        for table in TABLES {
            for key in file_keys(table) {
                // kind stands as a comment: it contradicts the model that the example also has
                let shown = file.get(&format!("{table}.{key}")).is_some() || EXAMPLE.contains(&format!("# {key} = "));
                assert!(shown, "{table}.{key} is missing in example.toml");
            }
        }
    }

    #[test]
    fn values_keep_their_line_and_type() {
        let file = parse("[judge]\nmodel = \"m\"\nmax_tokens = { property = 1_00 }\n\n[limits]\nrpm = 5\n").unwrap();
        assert_eq!(file.get("judge.model").map(|e| (e.value.clone(), e.line)), Some((json!("m"), 2)));
        assert_eq!(file.get("judge.max_tokens").map(|e| e.value.clone()), Some(json!({"property": 100})));
        assert_eq!(file.get("limits.rpm").map(|e| e.line), Some(6));
        assert_eq!(file.resolve(Path::new("a.json")), Path::new("dir/a.json"));
        assert_eq!(file.resolve(Path::new("/a.json")), Path::new("/a.json"));
    }

    #[test]
    fn unknown_keys_are_all_named_with_line_and_nearest_known_key() {
        let text = message("[judge]\nmodle = \"m\"\n[limits]\nmodel = 1\n[jugde]\n");
        assert_eq!(
            text,
            "dir/my.toml:2: unknown key modle in [judge]; did you mean model?\n\
             dir/my.toml:4: unknown key model in [limits]; model belongs under [judge]\n\
             dir/my.toml:5: unknown table jugde; did you mean [judge]?"
        );
    }

    #[test]
    fn a_key_outside_its_table_is_told_where_it_belongs() {
        assert_eq!(message("model = \"m\""), "dir/my.toml:1: unknown key model; model belongs under [judge]");
        assert_eq!(message("judge = 3"), "dir/my.toml:1: judge is not a table; write [judge] and its keys below it");
    }

    #[test]
    fn an_api_key_in_the_file_is_refused_and_not_repeated() {
        for key in ["api_key", "apikey", "openai_api_key", "token", "API_KEY"] {
            let text = message(&format!("[judge]\n{key} = \"sk-hunter2\"\n"));
            assert!(text.contains("api_key_env = ") && text.contains(":2:") && !text.contains("hunter2"), "{text}");
        }
    }

    #[test]
    fn a_syntax_error_names_its_line_and_does_not_repeat_the_text() {
        let text = message("[judge]\nmodel = \"m\"\nheaders = { Authorization = Bearer hunter2 }\n");
        assert!(text.starts_with("dir/my.toml:3: not valid TOML: ") && !text.contains("hunter2"), "{text}");
    }
}
