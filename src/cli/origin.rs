//! Origins of option values, and the process environment.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use serde_json::Value;

/// Origin of a value. Stronger kinds win: flag, environment, file, default.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// An option of the command line, such as `--model`.
    Flag(String),
    /// An environment variable.
    Environment(String),
    /// A key of the config file.
    File {
        /// The path as given.
        path: PathBuf,
        /// 1-based line.
        line: usize,
        /// The key with its table: `judge.model`.
        key: String,
    },
    /// Built in.
    Default,
}

impl Origin {
    /// Precedence: higher values win.
    pub fn rank(&self) -> u8 {
        match self {
            Self::Flag(_) => 3,
            Self::Environment(_) => 2,
            Self::File { .. } => 1,
            Self::Default => 0,
        }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flag(flag) => write!(f, "flag {flag}"),
            Self::Environment(name) => write!(f, "environment {name}"),
            Self::File { path, line, key } => write!(f, "file {}:{line} ({key})", path.display()),
            Self::Default => f.write_str("default"),
        }
    }
}

/// One option as `scholareval config` shows it. Secrets are masked on construction.
#[derive(Debug, Clone, PartialEq)]
pub struct SettingLine {
    /// The key with its table: `judge.model`.
    pub key: String,
    /// The value; null if unset.
    pub value: Value,
    /// Its origin.
    pub origin: Origin,
}

impl SettingLine {
    /// The value on one line: strings without quotes, lists with commas, `-` if unset. Control characters are escaped.
    pub fn value_text(&self) -> String {
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

/// The text with control characters (escape sequences, line breaks) and bidirectional controls made visible, as in the
/// reports.
pub fn escape_controls(text: &str) -> String {
    crate::report::visible(text).into_owned()
}

/// The process environment, read once. It holds keys: it has no `Debug` on purpose.
#[derive(Clone, Default)]
pub struct Environment(BTreeMap<String, String>);

impl Environment {
    /// The variables of this process; those that are not UTF-8 are left out.
    pub fn current() -> Self {
        Self(
            std::env::vars_os()
                .filter_map(|(k, v)| Some((k.into_string().ok()?, v.into_string().ok()?)))
                .collect(),
        )
    }

    /// Given variables, for tests and embedding.
    pub fn from_pairs<K: Into<String>, V: Into<String>>(
        pairs: impl IntoIterator<Item = (K, V)>,
    ) -> Self {
        Self(
            pairs
                .into_iter()
                .map(|(k, v)| (k.into(), v.into()))
                .collect(),
        )
    }

    /// The variable's value; an empty or blank one counts as unset.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0
            .get(name)
            .map(String::as_str)
            .filter(|value| !value.trim().is_empty())
    }
}
