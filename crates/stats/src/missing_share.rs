//! The share of cited works that do not exist, from the share that an index finds and the share of real works that it holds.
//!
//! An index that holds the share c of real works finds the share p = (1 - q) c of references, if q of them do not exist and none
//! of these is found. So q = 1 - p / c, and not below 0 (W. J. Rogan, B. Gladen, "Estimating prevalence from the results of a
//! screening test", American Journal of Epidemiology 107, 1978, with a specificity of 1). The interval of p / c is that of the
//! intervals of p and c (MOVER: A. Donner, G. Y. Zou, "Closed-form confidence intervals for functions of the normal mean and
//! standard deviation", Statistical Methods in Medical Research 21, 2012).

use super::bootstrap::Interval;
use super::weighted_share::{WeightedShare, WeightedUnit, weighted_share};

/// References of an answer: how many were found, and how many were found or not found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FoundReferences {
    /// Found.
    pub found: u64,
    /// Found or not found.
    pub checked: u64,
}

/// The estimated share of works that do not exist.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MissingShare {
    /// The estimate, 0..=1.
    pub share: f64,
    /// Its interval; `None` for fewer than two answers, or two real works.
    pub interval: Option<Interval>,
}

/// The estimated share of works that do not exist; `None` without references that were checked, or if the index holds none of
/// the real works.
///
/// The references of an answer are not independent of each other: each answer is one unit of the interval.
///
/// ```
/// use scholareval_stats::{FoundReferences, missing_share};
///
/// let answers = vec![FoundReferences { found: 8, checked: 10 }; 20];
/// // The index holds 9 of 10 real works: 1 - 0.8 / 0.9.
/// let coverage = FoundReferences { found: 450, checked: 500 };
/// let estimate = missing_share(&answers, coverage, 0.95).ok_or("nothing was checked")?;
/// assert!((estimate.share - 0.1111).abs() < 1e-4);
/// # Ok::<(), &str>(())
/// ```
pub fn missing_share(
    answers: &[FoundReferences],
    coverage: FoundReferences,
    level: f64,
) -> Option<MissingShare> {
    let found_share = share_of(answers, level)?;
    let real = vec![
        FoundReferences {
            found: 1,
            checked: 1
        };
        usize::try_from(coverage.found).ok()?
    ];
    let not_held = coverage.checked.checked_sub(coverage.found)?;
    let mut works = real;
    let missing = FoundReferences {
        found: 0,
        checked: 1,
    };
    works.extend(vec![missing; usize::try_from(not_held).ok()?]);
    let held = share_of(&works, level)?;
    if held.share == 0.0 {
        return None;
    }
    let ratio = ratio_interval(&found_share, &held);
    Some(MissingShare {
        share: (1.0 - found_share.share / held.share).clamp(0.0, 1.0),
        interval: ratio.map(|ratio| ratio.negated().map(|end| (1.0 + end).clamp(0.0, 1.0))),
    })
}

/// The share of found references, each answer a unit.
fn share_of(answers: &[FoundReferences], level: f64) -> Option<WeightedShare> {
    let mut units = Vec::new();
    for (question, answer) in answers.iter().enumerate() {
        let mut add = |count: u64, is_hit| {
            if count > 0 {
                units.push(WeightedUnit {
                    weight: count as f64,
                    is_hit,
                    question,
                });
            }
        };
        add(answer.found, true);
        add(answer.checked.saturating_sub(answer.found), false);
    }
    weighted_share(&units, level)
}

/// The interval of a / b from those of a and b.
fn ratio_interval(a: &WeightedShare, b: &WeightedShare) -> Option<Interval> {
    let of_a = a.interval?;
    let of_b = b.interval?;
    let product = a.share * b.share;
    let end = |of_a: f64, of_b: f64, sign: f64| {
        let square =
            product * product - of_a * of_b * (2.0 * a.share - of_a) * (2.0 * b.share - of_b);
        let end = (product + sign * square.max(0.0).sqrt()) / (of_b * (2.0 * b.share - of_b));
        end.is_finite().then_some(end)
    };
    Some(Interval::new(
        end(of_a.low, of_b.high, -1.0)?.max(0.0),
        end(of_a.high, of_b.low, 1.0)?,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answers(found: u64, checked: u64, count: usize) -> Vec<FoundReferences> {
        vec![FoundReferences { found, checked }; count]
    }

    fn coverage(found: u64, checked: u64) -> FoundReferences {
        FoundReferences { found, checked }
    }

    #[test]
    fn an_index_that_finds_as_much_as_it_holds_estimates_none() {
        let estimate = missing_share(&answers(9, 10, 30), coverage(90, 100), 0.95).unwrap();
        assert_eq!(estimate.share, 0.0);
        let interval = estimate.interval.unwrap();
        assert!(interval.low == 0.0 && interval.high > 0.0 && interval.high < 0.3);
        // Finding more than it holds of real works is chance, and no negative share.
        let more = missing_share(&answers(10, 10, 30), coverage(90, 100), 0.95).unwrap();
        assert_eq!(more.share, 0.0);
    }

    #[test]
    fn the_interval_holds_the_estimate_and_more_data_narrow_it() {
        let mut few = answers(8, 10, 10);
        few.extend(answers(5, 10, 10));
        let wide = missing_share(&few, coverage(45, 50), 0.95).unwrap();
        // 1 - 0.65 / 0.9
        assert!((wide.share - 0.2778).abs() < 1e-4);
        let wide = wide.interval.unwrap();
        assert!(wide.low < 0.2778 && wide.high > 0.2778);
        let many: Vec<_> = few.iter().copied().cycle().take(200).collect();
        let narrow = missing_share(&many, coverage(450, 500), 0.95).unwrap();
        assert!(narrow.interval.unwrap().half_width() < wide.half_width());
    }

    #[test]
    fn nothing_found_is_all_missing_and_nothing_checked_is_nothing() {
        let none = missing_share(&answers(0, 10, 10), coverage(90, 100), 0.95).unwrap();
        assert_eq!(none.share, 1.0);
        assert_eq!(
            missing_share(&answers(0, 0, 5), coverage(90, 100), 0.95),
            None
        );
        assert_eq!(
            missing_share(&answers(1, 2, 5), coverage(0, 100), 0.95),
            None
        );
        assert_eq!(missing_share(&[], coverage(1, 1), 0.95), None);
    }
}
