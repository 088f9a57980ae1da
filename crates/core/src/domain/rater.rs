//! Ratings and preferences of people and judges.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{CaseId, Preference, SystemName, Unit};

/// Kind of rater: decides which raters are averaged to `humans` and whose near-ties count as ties.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RaterKind {
    /// A judge: a run, a panel member, or a model's scores in a label file.
    Judge,
    /// A person.
    Human,
}

/// A number given to an answer or to an item of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Rating {
    /// The system.
    pub system: SystemName,
    /// The test case.
    pub case_id: CaseId,
    /// The component, aspect or criterion; `None`: the whole answer.
    pub item: Option<Arc<str>>,
    /// Finite, on the scale of the rater.
    pub value: f64,
}

/// Two systems' answers to one case, ordered by system name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ComparedPair {
    /// The test case.
    pub case_id: CaseId,
    /// The first system by name.
    pub first: SystemName,
    /// The second system.
    pub second: SystemName,
}

impl ComparedPair {
    /// The pair of these systems, and whether the second one is its first: one order for a pair, however a file has it.
    pub fn of(case_id: CaseId, a: SystemName, b: SystemName) -> (Self, bool) {
        let is_exchanged = a > b;
        let [first, second] = if is_exchanged { [b, a] } else { [a, b] };
        let pair = Self {
            case_id,
            first,
            second,
        };
        (pair, is_exchanged)
    }

    /// The pair of these systems with the preference between them; `None` if both are the same system.
    pub fn preferring(
        case_id: CaseId,
        a: SystemName,
        b: SystemName,
        preference: Preference,
    ) -> Option<(Self, Preference)> {
        let (pair, is_exchanged) = Self::of(case_id, a, b);
        let preference = preference.exchanged_if(is_exchanged);
        (pair.first != pair.second).then_some((pair, preference))
    }
}

/// A rater with all ratings, at most one per item.
#[derive(Debug, Clone, PartialEq)]
pub struct Rater {
    /// The name, unique among the raters.
    pub name: Arc<str>,
    /// A judge or a person.
    pub kind: RaterKind,
    /// Ratings.
    pub ratings: Vec<Rating>,
    /// Preferences.
    pub preferences: BTreeMap<ComparedPair, Preference>,
    /// The unit of an item's ratings (`None`: of whole answers), where its question says so.
    pub units: BTreeMap<Option<Arc<str>>, Unit>,
}

impl Rater {
    /// A rater without ratings.
    pub fn new(name: impl Into<Arc<str>>, kind: RaterKind) -> Self {
        Self {
            name: name.into(),
            kind,
            ratings: Vec::new(),
            preferences: BTreeMap::new(),
            units: BTreeMap::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comparison_does_not_depend_on_who_is_named_first() {
        let of = |a: &str, b: &str, preference| {
            ComparedPair::preferring("c".into(), a.into(), b.into(), preference)
        };
        assert_eq!(
            of("x", "y", Preference::First),
            of("y", "x", Preference::Second)
        );
        assert_eq!(of("x", "y", Preference::Tie), of("y", "x", Preference::Tie));
        assert_eq!(of("x", "x", Preference::Tie), None);
    }
}
