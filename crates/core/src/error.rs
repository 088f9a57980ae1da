//! The error type of the library.
//!
//! Every message is a lower-case fragment: what is wrong, where (file, line, case) and what to do. The command line
//! maps each variant to one exit code (see `cli::exit_code`).

use std::collections::HashMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// `Result` with this crate's [`enum@Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// One fault in one input file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InputFault {
    /// The file as the user named it.
    pub path: PathBuf,
    /// 1-based line, if the fault has one.
    pub line: Option<usize>,
    /// The `case_id`, if known.
    pub case_id: Option<String>,
    /// What is wrong, as a lower-case fragment.
    pub what: String,
    /// What to do; empty if unknown.
    pub hint: String,
}

impl InputFault {
    /// A fault of the file `path` as a whole.
    pub fn new(path: impl AsRef<Path>, what: impl Into<String>) -> Self {
        Self {
            path: path.as_ref().to_path_buf(),
            line: None,
            case_id: None,
            what: what.into(),
            hint: String::new(),
        }
    }

    /// Adds the 1-based line; 0 is none.
    #[must_use]
    pub fn at_line(mut self, line: usize) -> Self {
        self.line = (line > 0).then_some(line);
        self
    }

    /// Adds the case.
    #[must_use]
    pub fn of_case(mut self, case_id: impl Into<String>) -> Self {
        self.case_id = Some(case_id.into());
        self
    }

    /// Adds what to do.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = hint.into();
        self
    }

    /// The fault as an error, with what to do.
    pub fn refuse(self, hint: impl Into<String>) -> Error {
        Error::from(self.hint(hint))
    }
}

impl fmt::Display for InputFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", escaped(&self.path.display().to_string()))?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        if let Some(case_id) = &self.case_id {
            write!(f, " (case {})", case_id.escape_debug())?;
        }
        write!(f, ": {}", escaped(&self.what))?;
        if !self.hint.is_empty() {
            write!(f, "; {}", escaped(&self.hint))?;
        }
        Ok(())
    }
}

/// Everything that can stop a command.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Error {
    /// Input that cannot be used: every fault found, in file order (exit 3).
    #[error("{}", first_of_each_kind(.0).join("\n"))]
    Input(Vec<InputFault>),
    /// Settings that cannot be used (exit 3).
    #[error("{0}")]
    Settings(String),
    /// A command line that contradicts itself (exit 2).
    #[error("{0}")]
    Usage(String),
    /// The judge cannot be used at all: wrong key, spent quota, no server (exit 4).
    #[error("{0}")]
    JudgeUnavailable(String),
    /// Replies came, but none of a kind could be read (exit 5).
    #[error("{0}")]
    Unreadable(String),
    /// The reply cache cannot be used (exit 3).
    #[error("cache {}: {what}", escaped(&path.display().to_string()))]
    Cache {
        /// The cache file.
        path: PathBuf,
        /// What is wrong with it and what to do.
        what: String,
    },
    /// A file or directory could not be read or written (exit 3).
    #[error("{}: cannot {action}: {source}{}", escaped(&path.display().to_string()), remedy(source))]
    Io {
        /// The path concerned.
        path: PathBuf,
        /// What failed: `read`, `create`, `append to`.
        action: &'static str,
        /// The operating system's error.
        source: Arc<std::io::Error>,
    },
    /// Stopped early on purpose; the message says how to continue (exit 7).
    #[error("{0}")]
    Stopped(String),
    /// A bug in this program, never in its input (exit 1).
    #[error("internal error: {0}; please report it")]
    Internal(String),
}

/// What to do about a failed read or write, if the error has one remedy.
fn remedy(source: &std::io::Error) -> &'static str {
    use std::io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
    match source.kind() {
        StorageFull | QuotaExceeded => "; free some space and run the same command again",
        FileTooLarge => {
            "; raise the limit on the size of files (ulimit -f) and run the same command again"
        }
        _ => "",
    }
}

impl Error {
    /// An [`Error::Io`] for `path`; for use with `map_err`.
    pub fn io(path: impl AsRef<Path>, action: &'static str) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.as_ref().to_path_buf();
        move |source| Self::Io {
            path,
            action,
            source: Arc::new(source),
        }
    }
}

impl From<InputFault> for Error {
    fn from(fault: InputFault) -> Self {
        Self::Input(vec![fault])
    }
}

/// Escapes control characters, so that a line break in the name of a file or of a field cannot forge a line of a message.
fn escaped(text: &str) -> String {
    let escaped = |c: char| {
        if c.is_control() {
            c.escape_default().to_string()
        } else {
            c.to_string()
        }
    };
    text.chars().map(escaped).collect()
}

/// Maximum number of faults printed; the rest are counted.
const FAULTS_SHOWN: usize = 20;

/// Maximum number printed of one kind in one file.
const SHOWN_PER_KIND: usize = 10;

/// The first faults of each kind, one line each, then the number of further ones. Faults of one file that differ only
/// in numbers and quoted text are of one kind.
fn first_of_each_kind(faults: &[InputFault]) -> Vec<String> {
    let mut counts: HashMap<String, usize> = HashMap::new();
    let mut lines = Vec::new();
    for fault in faults {
        let count = counts.entry(kind_of(fault)).or_default();
        *count += 1;
        // A limit for each kind: thousands of equal faults must not push the only other one off the
        // screen.
        if *count <= SHOWN_PER_KIND && lines.len() < FAULTS_SHOWN {
            lines.push(fault.to_string());
        }
    }
    if lines.len() < faults.len() {
        lines.push(format!("and {} more faults", faults.len() - lines.len()));
    }
    lines
}

/// The file and the message without numbers and quoted text.
fn kind_of(fault: &InputFault) -> String {
    // Every second part is within quotes.
    let outside_quotes = fault.what.split('"').step_by(2);
    let words = outside_quotes
        .flat_map(str::chars)
        .filter(|c| !c.is_ascii_digit());
    format!("{}\n{}", fault.path.display(), words.collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_says_what_to_do_and_other_failures_say_no_more_than_they_know() {
        let message = |kind: std::io::ErrorKind| {
            Error::io("calls.jsonl", "append to")(kind.into()).to_string()
        };
        let full = message(std::io::ErrorKind::StorageFull);
        assert!(
            full.starts_with("calls.jsonl: cannot append to: "),
            "{full}"
        );
        assert!(
            full.ends_with("; free some space and run the same command again"),
            "{full}"
        );
        assert!(!message(std::io::ErrorKind::NotFound).contains(';'));
    }

    #[test]
    fn a_fault_names_file_line_case_and_remedy() {
        let fault = InputFault::new("a/gpt.jsonl", "duplicate case_id")
            .at_line(7)
            .of_case("c1")
            .hint("keep one of the two lines");
        assert_eq!(
            fault.to_string(),
            "a/gpt.jsonl:7 (case c1): duplicate case_id; keep one of the two lines"
        );
    }

    #[test]
    fn a_file_name_cannot_forge_a_line() {
        let fault = InputFault::new("a\nerror: forged.jsonl", "no answers in the file");
        assert_eq!(
            fault.to_string(),
            "a\\nerror: forged.jsonl: no answers in the file"
        );
        let fault = InputFault::new("a", "field b\nerror: forged").hint("name\nanother");
        assert_eq!(
            fault.to_string(),
            "a: field b\\nerror: forged; name\\nanother"
        );
        assert_eq!(
            Error::io("a\u{1b}", "read")(std::io::Error::other("x")).to_string(),
            "a\\u{1b}: cannot read: x"
        );
    }

    #[test]
    fn many_faults_of_one_kind_are_cut_and_counted() {
        let faults = |name: &'static str, what: &'static str, n: usize| {
            (0..n).map(move |line| {
                InputFault::new(name, format!("{what} \"{line}x\", as on {line}")).at_line(line)
            })
        };
        let text = Error::Input(faults("f", "bad", 25).collect()).to_string();
        assert_eq!(text.lines().count(), 11);
        assert!(
            text.ends_with("f:9: bad \"9x\", as on 9\nand 15 more faults"),
            "{text}"
        );
        // Ten of each of two kinds are printed; of the third kind nothing.
        let three = faults("f", "bad", 11)
            .chain(faults("g", "bad", 12))
            .chain(faults("g", "worse", 3));
        let text = Error::Input(three.collect()).to_string();
        assert_eq!(
            text.lines().skip(20).collect::<Vec<_>>(),
            ["and 6 more faults"]
        );
    }
}
