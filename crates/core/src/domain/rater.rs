//! Ratings and preferences of people and judges.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{CaseId, SystemName, Unit};

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

/// Which of two answers is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Preferred {
    /// The first one.
    First,
    /// The second one.
    Second,
    /// Neither.
    Tie,
}

impl Preferred {
    /// 1 for the first, -1 for the second, 0 for a tie.
    pub fn sign(self) -> i8 {
        match self {
            Self::First => 1,
            Self::Second => -1,
            Self::Tie => 0,
        }
    }

    /// The preference for a difference first - second; at most `threshold` is a tie.
    pub fn of_difference(difference: f64, threshold: f64) -> Self {
        if difference.abs() <= threshold {
            Self::Tie
        } else if difference > 0.0 {
            Self::First
        } else {
            Self::Second
        }
    }

    /// The preference with the answers exchanged.
    #[must_use]
    pub fn exchanged(self) -> Self {
        match self {
            Self::First => Self::Second,
            Self::Second => Self::First,
            Self::Tie => Self::Tie,
        }
    }
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

/// One comparison of two answers by a rater.
#[derive(Debug, Clone, PartialEq)]
pub struct Preference {
    /// The compared answers.
    pub pair: ComparedPair,
    /// The better one.
    pub preferred: Preferred,
}

impl Preference {
    /// The comparison, systems ordered by name; `None` if both are the same system.
    pub fn new(
        case_id: CaseId,
        a: SystemName,
        b: SystemName,
        preferred: Preferred,
    ) -> Option<Self> {
        let (first, second, preferred) = match a.cmp(&b) {
            std::cmp::Ordering::Less => (a, b, preferred),
            std::cmp::Ordering::Equal => return None,
            // One order for a pair, however a file has it: labels of both orders are about the same
            // pair.
            std::cmp::Ordering::Greater => (b, a, preferred.exchanged()),
        };
        Some(Self {
            pair: ComparedPair {
                case_id,
                first,
                second,
            },
            preferred,
        })
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
    pub preferences: Vec<Preference>,
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
            preferences: Vec::new(),
            units: BTreeMap::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comparison_does_not_depend_on_who_is_named_first() {
        let of = |a: &str, b: &str, preferred| {
            Preference::new("c".into(), a.into(), b.into(), preferred)
        };
        assert_eq!(
            of("x", "y", Preferred::First),
            of("y", "x", Preferred::Second)
        );
        assert_eq!(of("x", "y", Preferred::Tie), of("y", "x", Preferred::Tie));
        assert_eq!(of("x", "x", Preferred::Tie), None);
    }

    #[test]
    fn a_difference_within_the_threshold_is_a_tie() {
        let of = |difference| Preferred::of_difference(difference, 0.25);
        assert_eq!(
            [0.5, 0.25, -0.25, -0.5].map(of).map(Preferred::sign),
            [1, 0, 0, -1]
        );
    }
}
