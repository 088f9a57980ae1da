//! Shares of units that were drawn with known, unequal probabilities.
//!
//! The share is Hajek's ratio: the sum of w a over the sum of w, with w = 1 / probability and a = 1 for a hit (discussion of D. Basu,
//! "An essay on the logical foundations of survey sampling", 1971). Its standard error is that of the sum over questions of
//! w (a - share) / sum(w), each square divided by 1 less the question's share of the weights (CR2); the interval is that of a mean
//! with this error, and t with the number of questions that the weights are worth (Kish) less 1.

use super::bootstrap::Interval;
use super::bounded_mean::{BoundedMean, ENDS_OF_MEAN};

/// A unit of a share.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WeightedUnit {
    /// 1 / probability of being drawn, up to a common factor; above 0.
    pub weight: f64,
    /// Whether the unit counts.
    pub is_hit: bool,
    /// The question. Questions are independent of each other, units of one question are not.
    pub question: usize,
}

/// A share with its interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WeightedShare {
    /// The share, 0..=1.
    pub share: f64,
    /// Its interval; `None` for fewer than two questions.
    pub interval: Option<Interval>,
}

/// The share of hits among these units; `None` without any.
///
/// ```
/// use scholareval_stats::{WeightedUnit, weighted_share};
///
/// let unit = |question, weight, is_hit| WeightedUnit { weight, is_hit, question };
/// let found = weighted_share(&[unit(0, 1.0, true), unit(1, 3.0, false), unit(2, 1.0, true)], 0.95).ok_or("no units")?;
/// assert!((found.share - 0.4).abs() < 1e-12);
/// # Ok::<(), &str>(())
/// ```
pub fn weighted_share(units: &[WeightedUnit], level: f64) -> Option<WeightedShare> {
    let mut weights: Vec<f64> = Vec::new();
    let mut hits: Vec<f64> = Vec::new();
    for unit in units {
        if unit.question >= weights.len() {
            weights.resize(unit.question + 1, 0.0);
            hits.resize(unit.question + 1, 0.0);
        }
        weights[unit.question] += unit.weight;
        hits[unit.question] += if unit.is_hit { unit.weight } else { 0.0 };
    }
    let total: f64 = weights.iter().sum();
    if !(total > 0.0 && total.is_finite()) {
        return None;
    }
    let share = hits.iter().sum::<f64>() / total;
    let mut squares = 0.0;
    let mut weight_squares = 0.0;
    let mut questions = 0.0;
    for (weight, hit) in weights.iter().zip(&hits) {
        if *weight > 0.0 {
            let deviation = (hit - share * weight) / total;
            squares += deviation * deviation / (1.0 - weight / total);
            weight_squares += weight * weight;
            questions += 1.0;
        }
    }
    let effective = total * total / weight_squares;
    let range = Interval::new(0.0, 1.0);
    let worth = [questions, effective];
    let mean = BoundedMean::new([share, squares.sqrt()], range, worth, ENDS_OF_MEAN);
    let interval = mean.interval(level).filter(|_| questions >= 2.0);
    Some(WeightedShare { share, interval })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unit(question: usize, weight: f64, is_hit: bool) -> WeightedUnit {
        WeightedUnit {
            weight,
            is_hit,
            question,
        }
    }

    #[test]
    fn weights_of_one_value_do_not_matter_and_questions_are_the_units() {
        let units = |weight| -> Vec<WeightedUnit> {
            (0..20).map(|at| unit(at, weight, at % 4 != 0)).collect()
        };
        let of_one = weighted_share(&units(1.0), 0.95).unwrap();
        let of_five = weighted_share(&units(5.0), 0.95).unwrap();
        assert!((of_one.share - 0.75).abs() < 1e-12);
        let [of_one, of_five] = [of_one, of_five].map(|share| share.interval.unwrap());
        assert!((of_one.low - of_five.low).abs() < 1e-12);
        // Ten units of each of two questions are worth two.
        let few: Vec<WeightedUnit> = (0..20).map(|at| unit(at % 2, 1.0, at % 4 != 0)).collect();
        let few = weighted_share(&few, 0.95).unwrap().interval.unwrap();
        assert!(
            few.half_width() > 2.0 * of_one.half_width(),
            "{few:?} {of_one:?}"
        );
    }

    #[test]
    fn all_hits_are_no_proof_of_a_share_of_one() {
        let units: Vec<WeightedUnit> = (0..10).map(|at| unit(at, 1.0, true)).collect();
        let share = weighted_share(&units, 0.95).unwrap();
        let interval = share.interval.unwrap();
        assert_eq!((share.share, interval.high), (1.0, 1.0));
        assert!((0.6..0.8).contains(&interval.low), "{interval:?}");
        assert_eq!(weighted_share(&[], 0.95), None);
        assert_eq!(weighted_share(&units[..1], 0.95).unwrap().interval, None);
    }
}
