//! Files with one line per claim: ids, parsing, and joining two files.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt;
use std::path::{Path, PathBuf};

use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use scholareval_core::domain::repeated_keys::is_long_number;
use scholareval_core::domain::{Mode, Note};
use scholareval_core::error::{Error, InputFault, Result};
use scholareval_core::files::read_bytes;
use scholareval_core::text::names::counted;
use scholareval_dataset::{no_faults, parse_jsonl};

/// Identifier of a claim or an abstract: a number in the released files. A text is never equal to a number, and a number
/// beyond 64 bits is a text of its digits.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(untagged, expecting = "expected an id, a whole number or a string")]
pub enum EntryId {
    /// A whole number.
    Number(i64),
    /// A text.
    Text(String),
}

/// The S2ORC identifier of an abstract, a number as its file writes it: `03` is another abstract than `3`.
pub type DocId = EntryId;

impl EntryId {
    /// The number of an abstract that a key is; `None` if it is not a whole number.
    fn of_key(key: &str) -> Option<DocId> {
        let digits = key.trim();
        let digits = digits.strip_prefix(['-', '+']).unwrap_or(digits);
        if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        let number = key.parse().map(Self::Number).ok();
        let same = number.filter(|number| number.to_string() == key);
        Some(same.unwrap_or_else(|| Self::Text(key.to_owned())))
    }

    /// The number that Python's `int` reads; a longer one as its text.
    pub(super) fn python_int(&self) -> Result<i128, String> {
        let text = self.to_string();
        text.trim().parse().map_err(|_| text)
    }

    /// Whether this is a number of an abstract, and not one in quotes.
    pub(super) fn is_number(&self) -> bool {
        match self {
            Self::Number(_) => true,
            Self::Text(text) => is_long_number(text),
        }
    }

    /// The number that a text would be without its quotes.
    fn in_quotes(&self) -> Option<i64> {
        match self {
            Self::Number(_) => None,
            Self::Text(text) => text.trim().parse().ok(),
        }
    }
}

impl fmt::Display for EntryId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => write!(f, "{number}"),
            Self::Text(text) => f.write_str(text),
        }
    }
}

/// A value for each abstract: an object whose keys are numbers.
#[derive(Debug)]
pub struct ByDocument<V>(pub(super) BTreeMap<DocId, V>);

impl<'de, V: Deserialize<'de>> Deserialize<'de> for ByDocument<V> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let by_text = BTreeMap::<String, V>::deserialize(deserializer)?;
        let mut by_document = BTreeMap::new();
        for (key, value) in by_text {
            let doc_id = DocId::of_key(&key).ok_or_else(|| {
                D::Error::custom(format!("expected the number of an abstract, found {key:?}"))
            })?;
            by_document.insert(doc_id, value);
        }
        Ok(Self(by_document))
    }
}

/// A whole number, which may be written `1.0`: in Python the two are equal.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(try_from = "Value")]
pub(super) struct Whole(pub(super) i64);

impl TryFrom<Value> for Whole {
    type Error = String;

    fn try_from(value: Value) -> Result<Self, String> {
        if let Some(number) = value.as_i64() {
            return Ok(Self(number));
        }
        match value.as_f64() {
            // Up to there, every whole number has a distinct float.
            Some(number) if number.fract() == 0.0 && number.abs() < 9e15 => Ok(Self(number as i64)),
            _ => Err(format!("expected a whole number, found {value}")),
        }
    }
}

/// The remedy for an id in quotes.
const QUOTED: &str = "write it without quotes";

/// What is wrong with a line, and what to do.
pub type LineFault = (String, String);

/// The value of a line without faults.
pub(super) fn without_faults<T>(value: T, faults: Vec<LineFault>) -> Result<T, Vec<LineFault>> {
    if faults.is_empty() {
        Ok(value)
    } else {
        Err(faults)
    }
}

/// The contents of a line besides the claim's id.
pub trait FromLine: Sized + Send {
    /// The line in the file's schema.
    type Line: DeserializeOwned;
    /// A valid line, for messages.
    const EXAMPLE: &str;
    /// Whether the file holds the gold labels, which must not be empty and has each claim once even in compat.
    const IS_GOLD: bool = false;
    /// Whether a claim may have several lines, as in files joined by order.
    const MAY_REPEAT: bool = false;

    /// Parses the claim's id and the line's contents, or its faults. Compat accepts labels by their exact names only,
    /// as the reference scripts do.
    fn from_line(line: Self::Line, mode: Mode) -> (EntryId, Result<Self, Vec<LineFault>>);
}

/// A line with a claim's id and one field by abstract.
#[derive(Debug, Deserialize)]
pub struct ByAbstract<V> {
    #[serde(alias = "claim_id")]
    pub(super) id: EntryId,
    #[serde(alias = "labels", alias = "doc_ids")]
    pub(super) evidence: V,
}

/// A claim of which only the id is used.
#[derive(Debug, Deserialize)]
pub struct BlindClaim {
    id: EntryId,
}

impl FromLine for BlindClaim {
    type Line = Self;
    const EXAMPLE: &str = "{\"id\": 1, \"claim\": \"..\"}";
    const IS_GOLD: bool = true;

    fn from_line(line: Self, _: Mode) -> (EntryId, Result<Self, Vec<LineFault>>) {
        (line.id.clone(), Ok(line))
    }
}

/// A submission without faults.
#[derive(Debug, Clone, PartialEq)]
pub struct CheckedSubmission {
    /// Its contents.
    pub summary: String,
    /// Notes on what is allowed but costs points.
    pub notes: Vec<Note>,
}

/// One line about a claim.
#[derive(Debug, Clone, PartialEq)]
pub struct ClaimLine<T> {
    /// The claim.
    pub id: EntryId,
    /// 1-based line of the file.
    pub line: usize,
    /// Its contents.
    pub value: T,
}

/// A file with one line per claim, in file order.
#[derive(Debug, Clone, PartialEq)]
pub struct ClaimFile<T> {
    /// The file.
    pub path: PathBuf,
    /// Its non-blank lines.
    pub lines: Vec<ClaimLine<T>>,
}

impl<T: FromLine> ClaimFile<T> {
    /// Reads a file.
    ///
    /// # Errors
    /// Every fault of the file, or why it cannot be read.
    pub fn load(path: &Path, mode: Mode) -> Result<Self> {
        Self::parse(&read_bytes(path)?.0, path, mode)
    }

    /// [`load`](Self::load) for the bytes of `path`.
    ///
    /// # Errors
    /// Every fault. By default a repeated claim is one; in compat, where its predictions count twice, only in the gold
    /// file.
    pub fn parse(bytes: &[u8], path: &Path, mode: Mode) -> Result<Self> {
        let lines = parse_jsonl(bytes, path, |line| {
            let read: T::Line = line.read(T::EXAMPLE)?;
            let (id, value) = T::from_line(read, mode);
            let value = value.map_err(|faults| {
                let mut placed = Vec::new();
                for (what, hint) in faults {
                    placed.push(line.fault(what).of_case(id.to_string()).hint(hint));
                }
                Error::Input(placed)
            })?;
            Ok(ClaimLine {
                id,
                line: line.number,
                value,
            })
        })?;
        // Against an empty gold file every system scores 0 or 1 for want of claims; an empty
        // submission is just a bad one.
        if T::IS_GOLD && lines.is_empty() {
            let fault = InputFault::new(path, "no claims in the file");
            return Err(fault.refuse(format!("write one {} per line", T::EXAMPLE)));
        }
        let file = Self {
            path: path.to_path_buf(),
            lines,
        };
        if !T::MAY_REPEAT && (mode == Mode::Default || T::IS_GOLD) {
            no_faults(file.repeated())?;
        }
        Ok(file)
    }
}

impl<T> ClaimFile<T> {
    /// A fault of one of its lines.
    pub fn fault(&self, line: &ClaimLine<T>, what: impl Into<String>) -> InputFault {
        InputFault::new(&self.path, what)
            .at_line(line.line)
            .of_case(line.id.to_string())
    }

    /// A fault for each line with a repeated claim.
    pub(super) fn repeated(&self) -> Vec<InputFault> {
        let mut first_lines = HashMap::with_capacity(self.lines.len());
        let mut faults = Vec::new();
        for line in &self.lines {
            if let Some(first) = first_lines.insert(&line.id, line.line) {
                let what = format!("claim {} occurs twice, first in line {first}", line.id);
                faults.push(self.fault(line, what).hint("keep one of the two lines"));
            }
        }
        faults
    }

    /// The first position where the claims of the two files differ.
    pub(super) fn out_of_order<U>(&self, claims: &ClaimFile<U>) -> Option<InputFault> {
        let most = self.lines.len().max(claims.lines.len());
        let at = (0..most).find(|at| self.id_at(*at) != claims.id_at(*at))?;
        let wanted = match claims.id_at(at) {
            Some(id) => format!("claim {id}"),
            None => "no further claim".to_owned(),
        };
        let wanted = format!("{} has {wanted} here", claims.path.display());
        let fault = match self.lines.get(at) {
            Some(line) => self.fault(line, wanted),
            None => InputFault::new(
                &self.path,
                format!("the file ends after {}, but {wanted}", counted(at, "line")),
            ),
        };
        Some(fault.hint("keep the claims and their order"))
    }

    fn id_at(&self, place: usize) -> Option<&EntryId> {
        self.lines.get(place).map(|line| &line.id)
    }

    /// The lines by claim; the later one if a claim is repeated.
    pub fn by_claim(&self) -> HashMap<&EntryId, &ClaimLine<T>> {
        // Collecting keeps the later of two, as the reference's dictionary does.
        self.lines.iter().map(|line| (&line.id, line)).collect()
    }

    /// A fault for each line whose claim is not in `claims`.
    pub(super) fn unknown<U>(&self, claims: &ClaimFile<U>) -> Vec<InputFault> {
        let known: HashSet<&EntryId> = claims.lines.iter().map(|line| &line.id).collect();
        let mut faults = Vec::new();
        for line in &self.lines {
            if known.contains(&line.id) {
                continue;
            }
            let number = line.id.in_quotes();
            if let Some(number) = number.filter(|number| known.contains(&EntryId::Number(*number)))
            {
                let what = format!(
                    "the claim's id is the string \"{}\", the gold has the number {number}",
                    line.id
                );
                faults.push(self.fault(line, what).hint(QUOTED));
            } else {
                let what = format!("{} has no claim {}", claims.path.display(), line.id);
                let fault = self.fault(line, what);
                faults.push(fault.hint("check the id, or delete the line"));
            }
        }
        faults
    }

    /// Rejects predictions that do not fit these claims: ids written as text that are numbers in the gold file, or no
    /// claim in common.
    ///
    /// # Errors
    /// One fault for each such id, or one for the file.
    pub(super) fn must_join<U>(&self, claims: &ClaimFile<U>) -> Result<()> {
        let mut faults = self.unknown(claims);
        let none_joins = !faults.is_empty() && faults.len() == self.lines.len();
        // Unknown claims alone may be of another split and are counted; a quoted id is a mistake
        // that would make a prediction miss its claim.
        faults.retain(|fault| fault.hint == QUOTED);
        if none_joins && faults.is_empty() {
            let what = format!(
                "none of its {} is in the gold file",
                counted(self.lines.len(), "claim")
            );
            faults.push(InputFault::new(&self.path, what).hint("check --gold and the ids"));
        }
        no_faults(faults)
    }
}

/// Names of the systems: file stems, or the whole path if two files have the same stem.
pub(super) fn system_names(paths: &[PathBuf]) -> Vec<String> {
    let mut stems: Vec<String> = Vec::new();
    for path in paths {
        let stem = path.file_stem().unwrap_or_default();
        stems.push(stem.to_string_lossy().into_owned());
    }
    let mut names = Vec::new();
    for (path, stem) in paths.iter().zip(&stems) {
        // `run1/predictions.jsonl` and `run2/predictions.jsonl`: the shared task fixes the name of
        // the file.
        let with_stem = stems.iter().filter(|other| *other == stem).count();
        names.push(if with_stem == 1 {
            stem.clone()
        } else {
            path.display().to_string()
        });
    }
    names
}

/// The note on a count above 0: `2 claims without a prediction.`
pub(super) fn count_note(count: usize, noun: &str, what: &str) -> Option<Note> {
    (count > 0).then(|| Note::warning(format!("{} {what}.", counted(count, noun))))
}
