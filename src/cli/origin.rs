//! Where a setting's value came from, and the environment it may come from.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use serde_json::Value;

/// Where a value came from. Earlier kinds win: flag, environment, file, default.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// An option of the command line, such as `--model`.
    Flag(&'static str),
    /// An environment variable.
    Environment(&'static str),
    /// The environment variable that `api_key_env` names.
    Variable(String),
    /// A key of the config file.
    File {
        /// The file as the user named it.
        path: PathBuf,
        /// 1-based line.
        line: usize,
        /// The key with its table: `judge.model`.
        key: String,
    },
    /// Built in.
    Default,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flag(flag) => write!(f, "flag {flag}"),
            Self::Environment(name) => write!(f, "environment {name}"),
            Self::Variable(name) => write!(f, "environment {name}"),
            Self::File { path, line, key } => write!(f, "file {}:{line} ({key})", path.display()),
            Self::Default => f.write_str("default"),
        }
    }
}

/// One setting as `scholareval config` shows it. Secrets are masked when the line is made, so a line holds none.
#[derive(Debug, Clone, PartialEq)]
pub struct SettingLine {
    /// The key with its table: `judge.model`.
    pub key: String,
    /// The value; null where there is none.
    pub value: Value,
    /// Where it came from.
    pub origin: Origin,
}

impl SettingLine {
    /// The value on one line: strings without quotes, lists with commas, `-` for none. Control characters are escaped.
    pub fn shown(&self) -> String {
        fn plain(value: &Value) -> String {
            match value {
                Value::Null => "-".to_owned(),
                Value::String(text) => escape_controls(text),
                Value::Array(items) => items.iter().map(plain).collect::<Vec<_>>().join(", "),
                other => escape_controls(&other.to_string()),
            }
        }
        plain(&self.value)
    }
}

/// The text with control characters (escape sequences, line breaks) and marks that turn the reading direction made
/// visible, as in the reports.
pub fn escape_controls(text: &str) -> String {
    crate::report::visible(text).into_owned()
}

/// The process environment, read once. It holds keys: it has no `Debug` on purpose.
#[derive(Clone, Default)]
pub struct Environment(BTreeMap<String, String>);

impl Environment {
    /// The variables of this process; those that are not UTF-8 are left out.
    pub fn current() -> Self {
        Self(std::env::vars_os().filter_map(|(k, v)| Some((k.into_string().ok()?, v.into_string().ok()?))).collect())
    }

    /// Made-up variables, for tests and embedding.
    pub fn from_pairs<K: Into<String>, V: Into<String>>(pairs: impl IntoIterator<Item = (K, V)>) -> Self {
        Self(pairs.into_iter().map(|(k, v)| (k.into(), v.into())).collect())
    }

    /// The variable's value; an empty or blank one counts as not set.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str).filter(|value| !value.trim().is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_empty_variable_counts_as_not_set() {
        let environment = Environment::from_pairs([("A", ""), ("B", " \n"), ("C", "x")]);
        assert_eq!((environment.get("A"), environment.get("B"), environment.get("C")), (None, None, Some("x")));
    }

    #[test]
    fn a_line_shows_no_control_characters() {
        let line = SettingLine { key: "k".to_owned(), value: json!(["a\u{1b}[31m", "b"]), origin: Origin::Default };
        assert_eq!(line.shown(), "a\\u{1b}[31m, b");
    }

    #[test]
    fn a_file_origin_names_path_line_and_key() {
        let origin = Origin::File { path: "my.toml".into(), line: 4, key: "judge.model".to_owned() };
        assert_eq!(origin.to_string(), "file my.toml:4 (judge.model)");
    }
}
