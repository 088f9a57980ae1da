//! How many independent judges a panel is worth.
//!
//! With r the mean Pearson correlation of the errors of two judges, over all pairs of them, the mean of K judges varies as that of
//! K / (1 + (K - 1) r) judges whose errors are independent: the design effect of equally correlated observations (L. Kish, Survey
//! Sampling, 1965, section 5.4).

use super::bootstrap::Interval;
use super::correlation::Correlation;
use super::jackknife::coefficient_interval;

/// Errors with two values per judge need as many units for an interval: with fewer it was found to hold in 81-97% of the samples.
const FEWEST_BINARY: usize = 100;

/// The effective number of a panel's judges.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct EffectiveJudges {
    /// The mean correlation of the errors of two judges, -1..=1.
    pub correlation: f64,
    /// K / (1 + (K - 1) r), 1..=K where r is not negative; K for a negative r.
    pub judges: f64,
    /// Its interval: that of r, by jackknife over questions on the scale of atanh. `None` where r has none, and for values of two
    /// kinds on fewer than 100 units.
    pub interval: Option<Interval>,
}

/// The effective number of judges with these errors: the judge's value less the people's, a list for each judge, by unit. What a judge
/// errs by on average does not count. `questions` are the clusters of the units, `has_two_values` says that judges and people gave two
/// different values only.
///
/// `None` for fewer than two judges, for lists of different lengths, and if a judge errs by the same everywhere.
///
/// ```
/// use scholareval_stats::effective_judges;
///
/// // The same errors twice: two judges are worth one.
/// let errors = [vec![0.1, -0.2, 0.3, 0.0], vec![0.1, -0.2, 0.3, 0.0]];
/// let panel = effective_judges(&errors, &[0, 1, 2, 3], false, 0.95).unwrap();
/// assert!((panel.judges - 1.0).abs() < 1e-12);
/// ```
pub fn effective_judges(
    errors: &[Vec<f64>],
    questions: &[usize],
    has_two_values: bool,
    level: f64,
) -> Option<EffectiveJudges> {
    if errors.len() < 2
        || errors
            .iter()
            .any(|of_judge| of_judge.len() != questions.len())
    {
        return None;
    }
    let all: Vec<usize> = (0..questions.len()).collect();
    let correlation = mean_correlation(errors, &all)?;
    let has_interval = !has_two_values || questions.len() >= FEWEST_BINARY;
    let of_correlation = if has_interval {
        coefficient_interval(questions, |kept| mean_correlation(errors, kept), level)
    } else {
        None
    };
    let count = errors.len();
    Some(EffectiveJudges {
        correlation,
        judges: independent(count, correlation),
        interval: of_correlation.map(|interval| {
            // More correlation, fewer judges.
            Interval::new(
                independent(count, interval.high),
                independent(count, interval.low),
            )
        }),
    })
}

/// The mean correlation over pairs of judges, of these units.
fn mean_correlation(errors: &[Vec<f64>], units: &[usize]) -> Option<f64> {
    let mut of_units = Vec::new();
    for of_judge in errors {
        of_units.push(
            units
                .iter()
                .map(|unit| of_judge[*unit])
                .collect::<Vec<f64>>(),
        );
    }
    let mut sum = 0.0;
    let mut pairs = 0.0;
    for (at, second) in of_units.iter().enumerate() {
        for first in &of_units[..at] {
            sum += Correlation::Pearson.of(first, second)?;
            pairs += 1.0;
        }
    }
    Some(sum / pairs)
}

/// K / (1 + (K - 1) r), at most K: judges that err in opposite directions are not counted as more than they are.
fn independent(judges: usize, correlation: f64) -> f64 {
    let count = judges as f64;
    let shared = 1.0 + (count - 1.0) * correlation;
    if shared < 1.0 { count } else { count / shared }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_judges_by_hand() {
        // Errors with correlation 1 (first and second), 0 (first and third), 0: r = 1/3, 3 / (1 + 2/3) = 1.8.
        let first = vec![1.0, 1.0, -1.0, -1.0];
        let third = vec![1.0, -1.0, 1.0, -1.0];
        let errors = [
            first.clone(),
            first.iter().map(|error| 2.0 * error + 5.0).collect(),
            third,
        ];
        let panel = effective_judges(&errors, &[0, 1, 2, 3], false, 0.95).unwrap();
        assert!((panel.correlation - 1.0 / 3.0).abs() < 1e-12, "{panel:?}");
        assert!((panel.judges - 1.8).abs() < 1e-12, "{panel:?}");
    }

    #[test]
    fn opposite_errors_are_no_more_judges_than_there_are() {
        let errors = [vec![1.0, -1.0, 0.5, 0.0], vec![-1.0, 1.0, -0.5, 0.0]];
        let panel = effective_judges(&errors, &[0, 1, 2, 3], false, 0.95).unwrap();
        assert_eq!((panel.judges, panel.correlation), (2.0, -1.0));
    }

    #[test]
    fn the_interval_is_that_of_the_correlation_and_needs_units() {
        let mut errors = [Vec::new(), Vec::new()];
        let mut questions = Vec::new();
        for unit in 0..120_usize {
            let shared = f64::from(u8::from(unit % 3 == 0));
            errors[0].push(shared - f64::from(u8::from(unit % 5 == 0)));
            errors[1].push(shared - f64::from(u8::from(unit % 7 == 0)));
            questions.push(unit);
        }
        let of = |units: usize, has_two_values| {
            let errors = errors.clone().map(|of_judge| of_judge[..units].to_vec());
            effective_judges(&errors, &questions[..units], has_two_values, 0.95).unwrap()
        };
        let all = of(120, true);
        let interval = all.interval.unwrap();
        assert!(1.0 <= interval.low && interval.low < all.judges && all.judges < interval.high);
        assert!(interval.high <= 2.0);
        assert_eq!(of(99, true).interval, None);
        assert!(of(99, false).interval.is_some());
    }

    #[test]
    fn a_judge_that_errs_by_the_same_everywhere_has_no_correlation() {
        let errors = [vec![0.5; 4], vec![0.1, 0.2, 0.3, 0.0]];
        assert_eq!(effective_judges(&errors, &[0, 1, 2, 3], false, 0.95), None);
        assert_eq!(
            effective_judges(&errors[..1], &[0, 1, 2, 3], false, 0.95),
            None
        );
    }
}
