//! Aspects of answer quality with a description of each grade (Prometheus, Kim et al. 2024).

use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// The lowest grade; grades run to [`MAX_GRADE`].
pub const MIN_GRADE: f64 = 1.0;
/// The best grade.
pub const MAX_GRADE: f64 = 5.0;

/// An aspect, with the field names of ScholarQABench's `prometheus_rubrics_v8.json`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(expecting = "an object with aspect and its descriptions")]
pub struct Aspect {
    /// Its name (`organization`, `coverage`, `relevance` or a custom one).
    #[serde(rename = "aspect")]
    pub name: Arc<str>,
    /// What is graded.
    pub criteria_description: String,
    /// Descriptions of grades 1 to 5.
    #[serde(default)]
    pub score_descriptions: [String; 5],
    /// Whether the judge sees the titles of the cited sources.
    #[serde(default)]
    pub use_title: bool,
    /// Whether the judge sees their texts too.
    #[serde(default)]
    pub use_docs: bool,
}

/// How grades of several samples or judges are merged.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[serde(rename_all = "snake_case")]
pub enum GradeMerge {
    /// Arithmetic mean.
    #[default]
    Mean,
    /// Median; of an even number, the mean of the middle two.
    Median,
    /// The most frequent one; ties take the first seen.
    #[cfg_attr(feature = "clap", value(alias = "most_common"))]
    #[serde(alias = "most-common")]
    MostCommon,
}

impl GradeMerge {
    /// The rule's name in files and options.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Mean => "mean",
            Self::Median => "median",
            Self::MostCommon => "most_common",
        }
    }

    /// Merges grades, points or counts; `None` for none. The result lies between the smallest and the largest;
    /// [`GradeMerge::Mean`] and [`GradeMerge::Median`] do not depend on the order.
    ///
    /// ```
    /// use scholareval_core::domain::GradeMerge;
    /// assert_eq!(GradeMerge::Mean.of(&[1.0, 2.0, 6.0]), Some(3.0));
    /// assert_eq!(GradeMerge::Median.of(&[6.0, 1.0, 2.0, 3.0]), Some(2.5));
    /// assert_eq!(GradeMerge::MostCommon.of(&[4.0, 5.0, 5.0, 4.0]), Some(4.0));
    /// ```
    pub fn of(self, numbers: &[f64]) -> Option<f64> {
        match self {
            Self::Mean => mean(numbers),
            Self::Median => {
                let mut sorted = numbers.to_vec();
                sorted.sort_by(f64::total_cmp);
                let upper = sorted.get(sorted.len() / 2)?;
                let lower = sorted.get((sorted.len() - 1) / 2)?;
                Some((lower + upper) / 2.0)
            }
            Self::MostCommon => {
                let count = |grade: &f64| {
                    numbers
                        .iter()
                        // By total order: NaN, which compat reads, equals itself here.
                        .filter(|other| other.total_cmp(grade).is_eq())
                        .count()
                };
                // `max_by_key` returns the last of equals, so the order is reversed.
                numbers
                    .iter()
                    .rev()
                    .max_by_key(|grade| count(grade))
                    .copied()
            }
        }
    }
}

fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn equally_common_grades_give_the_first_seen() {
        let samples = [4.0, 2.0, 2.0, 4.0];
        assert_eq!(GradeMerge::MostCommon.of(&samples), Some(4.0));
        // 2 2 4 4: (2 + 4) / 2
        assert_eq!(GradeMerge::Median.of(&samples), Some(3.0));
    }

    proptest! {
        #[test]
        fn merged_grades_lie_between_the_grades_and_mean_and_median_ignore_order(
            grades in prop::collection::vec((1..=5_u8).prop_map(f64::from), 0..8)
        ) {
            let turned: Vec<f64> = grades.iter().rev().copied().collect();
            for rule in [GradeMerge::Mean, GradeMerge::Median, GradeMerge::MostCommon] {
                let merged = rule.of(&grades);
                prop_assert_eq!(merged.is_some(), !grades.is_empty());
                if let Some(merged) = merged {
                    prop_assert!(grades.iter().any(|grade| *grade <= merged) && grades.iter().any(|grade| *grade >= merged));
                }
                if rule != GradeMerge::MostCommon {
                    prop_assert_eq!(merged, rule.of(&turned));
                }
            }
        }
    }
}
