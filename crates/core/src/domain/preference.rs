//! Which of two answers is better.

use serde::{Deserialize, Serialize};

/// Which of two answers is better, by their order: that in which they are shown, or that of a [pair](super::ComparedPair). In files
/// of labels it is a side of the page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Preference {
    /// The first one.
    #[serde(rename = "left")]
    First,
    /// Neither.
    #[serde(rename = "tie")]
    Tie,
    /// The second one.
    #[serde(rename = "right")]
    Second,
}

impl Preference {
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

    /// The preference that `a`, `b` or `tie` names, whatever the case of its letters.
    pub fn named(word: &str) -> Option<Self> {
        let mut all = [Self::First, Self::Tie, Self::Second].into_iter();
        all.find(|preference| word.trim().eq_ignore_ascii_case(preference.name()))
    }

    /// `A`, `B` or `tie`.
    pub fn name(self) -> &'static str {
        match self {
            Self::First => "A",
            Self::Tie => "tie",
            Self::Second => "B",
        }
    }

    /// 1 for the first, -1 for the second, 0 for a tie.
    pub fn sign(self) -> i8 {
        match self {
            Self::First => 1,
            Self::Tie => 0,
            Self::Second => -1,
        }
    }

    /// The share of the first answer: 1, 0 if the second is better, 1/2 for a tie.
    pub fn points(self) -> f64 {
        f64::midpoint(1.0, self.sign().into())
    }

    /// The preference between the answers in the other order, if they are exchanged.
    #[must_use]
    pub fn exchanged_if(self, is_exchanged: bool) -> Self {
        match self {
            Self::First if is_exchanged => Self::Second,
            Self::Second if is_exchanged => Self::First,
            same => same,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_within_the_threshold_is_a_tie() {
        let of = |difference| Preference::of_difference(difference, 0.25);
        let preferences = [0.5, 0.25, -0.25, -0.5].map(of);
        assert_eq!(preferences.map(Preference::sign), [1, 0, 0, -1]);
        assert_eq!(preferences.map(Preference::points), [1.0, 0.5, 0.5, 0.0]);
    }

    #[test]
    fn names_are_read_in_any_case() {
        assert_eq!(Preference::named(" b "), Some(Preference::Second));
        assert_eq!(Preference::named("TIE"), Some(Preference::Tie));
        assert_eq!(Preference::named("c"), None);
    }
}
