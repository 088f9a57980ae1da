//! Simple linear regression, for length-adjusted differences of two systems.
//!
//! Judges favor long answers. Regressing the difference in score on the difference in length over the shared cases, the
//! intercept is the difference at equal length. (The idea of length-controlled comparison: Y. Dubois et al.,
//! "Length-controlled AlpacaEval", 2024, there with a logistic model of preferences.) Ordinary least squares with t
//! intervals: e.g. N. R. Draper and H. Smith, "Applied regression analysis" (1998), chapter 1.

use super::bootstrap::Interval;
use super::distributions::t_quantile;
use super::summary::mean;

/// The line y = intercept + slope x.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Line {
    /// y at x = 0: the difference at equal length.
    pub intercept: f64,
    /// Its t interval.
    pub intercept_interval: Interval,
    /// y per unit of x.
    pub slope: f64,
    /// Its t interval.
    pub slope_interval: Interval,
    /// Share of the variance of y that the line explains, 0..=1; 1 if y does not vary.
    pub r_squared: f64,
}

/// The least-squares line of `y` on `x`, with t intervals (n - 2 degrees of freedom) at this level.
///
/// `None` for unequal lengths, fewer than three pairs, values that are not finite, x that does not vary, and a level
/// outside 0..1.
///
/// ```
/// use scholareval_stats::least_squares;
///
/// // Per 100 words more 0.1 more; at equal length 0.05 is left.
/// let words = [-100.0, 0.0, 100.0, 200.0];
/// let score = [-0.05, 0.05, 0.15, 0.25];
/// let line = least_squares(&words, &score, 0.95);
/// assert!(line.is_some_and(|line| (line.intercept - 0.05).abs() < 1e-12 && (line.slope - 0.001).abs() < 1e-12));
/// ```
pub fn least_squares(x: &[f64], y: &[f64], level: f64) -> Option<Line> {
    let paired =
        x.len() == y.len() && x.len() >= 3 && x.iter().chain(y).all(|value| value.is_finite());
    let usable = paired && level > 0.0 && level < 1.0;
    if !usable || x.iter().all(|value| *value == x[0]) {
        return None;
    }
    let n = x.len() as f64;
    let mean_x = mean(x)?;
    let mean_y = mean(y)?;
    let mut xx = 0.0;
    let mut xy = 0.0;
    let mut yy = 0.0;
    for (x, y) in x.iter().zip(y) {
        let dx = x - mean_x;
        let dy = y - mean_y;
        xx += dx * dx;
        xy += dx * dy;
        yy += dy * dy;
    }
    let slope = xy / xx;
    let intercept = mean_y - slope * mean_x;
    // From the residuals: yy - slope xy can fall below 0 on a perfect line.
    let mut rest = 0.0;
    for (x, y) in x.iter().zip(y) {
        rest += ((y - mean_y) - slope * (x - mean_x)).powi(2);
    }
    let variance = rest / (n - 2.0);
    let t = t_quantile(f64::midpoint(1.0, level), n - 2.0)?;
    let line = Line {
        intercept,
        intercept_interval: Interval::around(
            intercept,
            t * (variance * (1.0 / n + mean_x * mean_x / xx)).sqrt(),
        ),
        slope,
        slope_interval: Interval::around(slope, t * (variance / xx).sqrt()),
        r_squared: if yy > 0.0 {
            (1.0 - rest / yy).clamp(0.0, 1.0)
        } else {
            1.0
        },
    };
    (line.slope.is_finite() && line.intercept_interval.high.is_finite()).then_some(line)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn three_points_by_hand() {
        // x -1 0 1, y 0 1 5: slope 5 / 2, intercept 2; residuals 0.5 -1 0.5, squares 1.5 on 1 df, t = 12.7062
        let line = least_squares(&[-1.0, 0.0, 1.0], &[0.0, 1.0, 5.0], 0.95).unwrap();
        assert!((line.slope - 2.5).abs() < 1e-12 && (line.intercept - 2.0).abs() < 1e-12);
        // Halves: 12.7062 sqrt(1.5 / 3) = 8.98465 and 12.7062 sqrt(1.5 / 2) = 11.0039
        assert!(
            (line.intercept_interval.high - 10.984_65).abs() < 1e-4,
            "{line:?}"
        );
        assert!(
            (line.slope_interval.low - (2.5 - 11.003_9)).abs() < 1e-4,
            "{line:?}"
        );
        // 1 - 1.5 / 14
        assert!((line.r_squared - 12.5 / 14.0).abs() < 1e-12);
    }

    #[test]
    fn what_has_no_line_is_none() {
        assert_eq!(least_squares(&[1.0, 2.0], &[1.0, 2.0], 0.95), None);
        assert_eq!(least_squares(&[1.0, 2.0, 3.0], &[1.0, 2.0], 0.95), None);
        assert_eq!(least_squares(&[0.1; 4], &[1.0, 2.0, 3.0, 4.0], 0.95), None);
        assert_eq!(
            least_squares(&[1.0, 2.0, f64::NAN], &[1.0, 2.0, 3.0], 0.95),
            None
        );
        assert_eq!(least_squares(&[1.0, 2.0, 3.0], &[1.0, 2.0, 3.0], 0.0), None);
    }

    proptest! {
        #[test]
        fn a_line_moves_with_its_points_and_is_blind_to_their_order(
            points in prop::collection::vec((-50..50_i32, -50..50_i32), 3..20), turn in 0..20_usize
        ) {
            let list = |points: &[(i32, i32)], up: f64| -> (Vec<f64>, Vec<f64>) {
                points.iter().map(|(x, y)| (f64::from(*x), f64::from(*y) + up)).unzip()
            };
            let mut turned = points.clone();
            turned.rotate_left(turn % points.len());
            let ((x, y), (tx, ty)) = (list(&points, 0.0), list(&turned, 3.0));
            let (line, moved) = (least_squares(&x, &y, 0.9), least_squares(&tx, &ty, 0.9));
            prop_assert_eq!(line.is_some(), moved.is_some());
            if let (Some(line), Some(moved)) = (line, moved) {
                prop_assert!((line.intercept + 3.0 - moved.intercept).abs() < 1e-8);
                prop_assert!((line.slope - moved.slope).abs() < 1e-8);
                prop_assert!((0.0..=1.0).contains(&line.r_squared));
            }
        }
    }
}
