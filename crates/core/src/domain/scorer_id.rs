//! Which scorer gave a score, and whether the built-in baseline judged.

use std::fmt;
use std::sync::Arc;

use serde::{Serialize, Serializer};

/// A scorer, together with whether the built-in lexical baseline judged for it.
///
/// The two are one id: scores of the baseline are grouped, averaged and compared by themselves, and never mixed with those
/// of an LLM. In files and tables the baseline's id is `lexical_` and the scorer's name.
///
/// ```
/// use scholareval_core::domain::ScorerId;
///
/// let baseline = ScorerId::baseline("rubric");
/// assert_eq!((baseline.as_str(), baseline.name()), ("lexical_rubric", "rubric"));
/// assert_ne!(baseline, ScorerId::new("rubric"));
/// // A name says nothing about the judge.
/// assert!(!ScorerId::new("lexical_density").is_baseline());
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ScorerId {
    label: Arc<str>,
    name: Arc<str>,
    is_baseline: bool,
}

impl ScorerId {
    /// A scorer that no judge, or a judge other than the baseline, serves.
    pub fn new(name: &str) -> Self {
        let name: Arc<str> = name.into();
        Self {
            label: Arc::clone(&name),
            name,
            is_baseline: false,
        }
    }

    /// A scorer for which the built-in baseline judged.
    pub fn baseline(name: &str) -> Self {
        Self {
            label: format!("lexical_{name}").into(),
            name: name.into(),
            is_baseline: true,
        }
    }

    /// A row of a benchmark, which stands for several scorers: its name, and whether the baseline judged for one of them.
    pub fn of_row(row: &str, is_baseline: bool) -> Self {
        Self {
            is_baseline,
            ..Self::new(row)
        }
    }

    /// The id from a record: its label, and whether the baseline judged, which the record says by another key.
    pub(super) fn from_record(label: &str, is_baseline: bool) -> Self {
        if is_baseline {
            Self::baseline(label.strip_prefix("lexical_").unwrap_or(label))
        } else {
            Self::new(label)
        }
    }

    /// The scorer's name, whoever judged: `rubric`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The id in files and tables: `rubric`, `lexical_rubric`.
    pub fn as_str(&self) -> &str {
        &self.label
    }

    /// Names of its score and of the annotated part of it, in files and tables.
    pub fn sum_names(&self) -> (&'static str, &'static str) {
        if self.is_baseline {
            ("lexical_score", "lexical_ann_score")
        } else {
            ("score", "ann_score")
        }
    }

    /// Whether the built-in baseline judged.
    pub fn is_baseline(&self) -> bool {
        self.is_baseline
    }
}

impl Default for ScorerId {
    fn default() -> Self {
        Self::new("")
    }
}

impl From<&str> for ScorerId {
    fn from(name: &str) -> Self {
        Self::new(name)
    }
}

impl fmt::Display for ScorerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.label)
    }
}

impl Serialize for ScorerId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.label)
    }
}

impl PartialEq<str> for ScorerId {
    fn eq(&self, label: &str) -> bool {
        self.as_str() == label
    }
}

impl PartialEq<&str> for ScorerId {
    fn eq(&self, label: &&str) -> bool {
        self.as_str() == *label
    }
}
