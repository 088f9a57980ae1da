//! The kinds of questions of this crate, and their names in files.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::fmt;

use serde::{Deserialize, Serialize};

use super::aspect::ASPECT;
use super::attribution::ATTRIBUTION;
use super::citation_group::CITATION_GROUP;
use super::citations::CITATIONS;
use super::criteria::CRITERIA;
use super::deduplicate::DEDUPLICATE;
use super::evidence::EVIDENCE;
use super::kind::KindInfo;
use super::pair::PAIR;
use super::points::{EXPERTISE, PROPERTY};
use super::precision::PRECISION;
use super::statements::STATEMENTS;
use super::support::SUPPORT;

/// The kinds of this crate, in documentation order. Kinds of one prompt family follow each other.
pub static KINDS: [&KindInfo; 13] = [
    &EXPERTISE,
    &PROPERTY,
    &EVIDENCE,
    &CITATIONS,
    &ASPECT,
    &ATTRIBUTION,
    &CRITERIA,
    &PRECISION,
    &CITATION_GROUP,
    &PAIR,
    &STATEMENTS,
    &SUPPORT,
    &DEDUPLICATE,
];

impl KindInfo {
    /// The kind of this crate with this name.
    pub fn named(name: &str) -> Option<&'static Self> {
        KINDS.into_iter().find(|info| info.name == name)
    }

    /// Its name, as it stands in maps and records.
    pub const fn kind(&self) -> Kind {
        Kind(Cow::Borrowed(self.name))
    }
}

/// The name of a kind of question, of this crate or of another one. Kinds sort in the order of [`KINDS`], others by name
/// behind them.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(from = "String")]
pub struct Kind(Cow<'static, str>);

impl Kind {
    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Place in [`KINDS`].
    fn rank(&self) -> usize {
        let place = KINDS.iter().position(|info| info.name == self.0);
        place.unwrap_or(KINDS.len())
    }
}

impl From<String> for Kind {
    fn from(name: String) -> Self {
        match KindInfo::named(&name) {
            Some(info) => info.kind(),
            None => Self(Cow::Owned(name)),
        }
    }
}

impl Ord for Kind {
    fn cmp(&self, other: &Self) -> Ordering {
        let by_rank = self.rank().cmp(&other.rank());
        by_rank.then_with(|| self.0.cmp(&other.0))
    }
}

impl PartialOrd for Kind {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_distinct_and_families_stand_together() {
        for (place, info) in KINDS.iter().enumerate() {
            assert!(std::ptr::eq(KindInfo::named(info.name).unwrap(), *info));
            let family = KINDS.iter().map(|other| other.family);
            let first = family
                .clone()
                .position(|other| other == info.family)
                .unwrap();
            let mut between = family.skip(first).take(place - first);
            assert!(between.all(|other| other == info.family), "{info}");
        }
    }

    #[test]
    fn kinds_sort_in_documentation_order_and_unknown_ones_last() {
        let mut kinds =
            ["zeta", "citations", "alpha", "expertise"].map(|name| Kind::from(name.to_owned()));
        kinds.sort();
        let names = kinds.each_ref().map(Kind::as_str);
        assert_eq!(names, ["expertise", "citations", "alpha", "zeta"]);
    }
}
