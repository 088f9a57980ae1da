//! Cohen's kappa, plain and weighted: agreement of two raters beyond chance.
//!
//! J. Cohen, "A coefficient of agreement for nominal scales", Educational and Psychological Measurement 20 (1960);
//! "Weighted kappa", Psychological Bulletin 70 (1968). kappa = 1 - D_o / D_e: the mean disagreement of the pairs over
//! the mean disagreement of all combinations of the two raters' own distributions.

use super::alpha::{distinct, place};
use super::bootstrap::{BcaOptions, Interval};
use super::resampling::bca_weighted_interval;

/// How much two different ratings disagree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KappaWeights {
    /// 0 or 1: plain kappa. Numbers are only names.
    Unweighted,
    /// The absolute difference of the values.
    Linear,
    /// The squared difference of the values.
    Quadratic,
}

/// The mean of the kappas of all pairs of raters.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PairwiseKappa {
    /// The mean over the pairs of raters that have a kappa, -1..=1.
    pub mean: f64,
    /// How many pairs have one.
    pub defined: usize,
    /// How many pairs there are.
    pub pairs: usize,
}

/// Cohen's kappa of two raters over the units that both rated.
///
/// Weights go by the values themselves, not by their places among the categories that happen to occur: on a scale of
/// equal steps this is scikit-learn's `cohen_kappa_score` with the whole scale as `labels`. 1 is perfect agreement, 0
/// what chance gives. `None` for unequal lengths, ratings that are not finite, no unit rated by both, and ratings that are
/// all one value.
///
/// ```
/// use scholareval::stats::{KappaWeights, cohens_kappa};
///
/// let yes_no = [Some(1.0), Some(0.0), Some(1.0), Some(0.0)];
/// let other = [Some(1.0), Some(0.0), Some(0.0), None];
/// // 2 of 3 agree; by chance 2/3 * 1/3 + 1/3 * 2/3 = 4/9: (2/3 - 4/9) / (1 - 4/9) = 0.4
/// let kappa = cohens_kappa(&yes_no, &other, KappaWeights::Unweighted);
/// assert!(kappa.is_some_and(|k| (k - 0.4).abs() < 1e-12));
/// ```
pub fn cohens_kappa(x: &[Option<f64>], y: &[Option<f64>], weights: KappaWeights) -> Option<f64> {
    let rated = RatedPairs::new(x, y, weights)?;
    rated.kappa(&vec![1; x.len()])
}

/// The BCa bootstrap interval of [`cohens_kappa`] over units. `None` where kappa is and for fewer than two units.
pub fn cohens_kappa_interval(
    x: &[Option<f64>],
    y: &[Option<f64>],
    weights: KappaWeights,
    options: BcaOptions,
) -> Option<Interval> {
    let (x, y): (Vec<_>, Vec<_>) = x.iter().zip(y).filter(|(x, y)| x.is_some() && y.is_some()).unzip();
    let rated = RatedPairs::new(&x, &y, weights)?;
    bca_weighted_interval(x.len(), |multiplicities| rated.kappa(multiplicities), options)
}

/// The mean of [`cohens_kappa`] over all pairs of raters, each pair over the units both rated (R. J. Light,
/// "Measures of response agreement for qualitative data", Psychological Bulletin 76, 1971). `None` where no pair has a
/// kappa, or a pair is unusable.
pub fn mean_pairwise_kappa(ratings: &[&[Option<f64>]], weights: KappaWeights) -> Option<PairwiseKappa> {
    let pairs = rater_pairs(ratings, weights)?;
    let ones = vec![1; ratings.first()?.len()];
    let kappas: Vec<f64> = pairs.iter().filter_map(|pair| pair.kappa(&ones)).collect();
    let mean = super::mean(&kappas)?;
    Some(PairwiseKappa { mean, defined: kappas.len(), pairs: pairs.len() })
}

/// The BCa bootstrap interval of [`mean_pairwise_kappa`]: units are drawn with all their ratings, those with fewer
/// than two left out.
pub fn mean_pairwise_kappa_interval(
    ratings: &[&[Option<f64>]],
    weights: KappaWeights,
    options: BcaOptions,
) -> Option<Interval> {
    let units = ratings.first()?.len();
    if ratings.iter().any(|own| own.len() != units) {
        return None;
    }
    let kept: Vec<usize> =
        (0..units).filter(|unit| ratings.iter().filter(|own| own[*unit].is_some()).count() >= 2).collect();
    let pairable: Vec<Vec<Option<f64>>> =
        ratings.iter().map(|own| kept.iter().map(|unit| own[*unit]).collect()).collect();
    let pairs = rater_pairs(&pairable.iter().map(Vec::as_slice).collect::<Vec<_>>(), weights)?;
    let statistic = |multiplicities: &[u32]| {
        let kappas: Vec<f64> = pairs.iter().filter_map(|pair| pair.kappa(multiplicities)).collect();
        super::mean(&kappas)
    };
    bca_weighted_interval(kept.len(), statistic, options)
}

pub(super) fn rater_pairs(ratings: &[&[Option<f64>]], weights: KappaWeights) -> Option<Vec<RatedPairs>> {
    let mut pairs = Vec::new();
    for (second, y) in ratings.iter().enumerate() {
        for x in &ratings[..second] {
            pairs.push(RatedPairs::new(x, y, weights)?);
        }
    }
    Some(pairs)
}

/// The units that both rated: where the unit stands, and the places of its two ratings among the distinct values.
pub(super) struct RatedPairs {
    pairs: Vec<(usize, usize, usize)>,
    values: Vec<f64>,
    weights: KappaWeights,
}

impl RatedPairs {
    fn new(x: &[Option<f64>], y: &[Option<f64>], weights: KappaWeights) -> Option<Self> {
        let usable = x.len() == y.len() && x.iter().chain(y).flatten().all(|value| value.is_finite());
        if !usable {
            return None;
        }
        let both: Vec<(usize, f64, f64)> =
            x.iter().zip(y).enumerate().filter_map(|(unit, (x, y))| Some((unit, (*x)?, (*y)?))).collect();
        let values = distinct(both.iter().flat_map(|(_, x, y)| [*x, *y]));
        let pairs = both.iter().map(|(unit, x, y)| (*unit, place(&values, *x), place(&values, *y))).collect();
        Some(Self { pairs, values, weights })
    }

    /// Kappa with every unit taken as often as its multiplicity says.
    pub(super) fn kappa(&self, multiplicities: &[u32]) -> Option<f64> {
        let mut margins = vec![(0.0, 0.0); self.values.len()];
        let (mut total, mut observed) = (0.0, 0.0);
        for (unit, x, y) in &self.pairs {
            let times = f64::from(multiplicities[*unit]);
            margins[*x].0 += times;
            margins[*y].1 += times;
            total += times;
            observed += times * self.disagreement(*x, *y);
        }
        if margins.iter().filter(|(a, b)| a + b > 0.0).count() < 2 {
            return None;
        }
        margins.iter_mut().for_each(|(a, b)| (*a, *b) = (*a / total, *b / total));
        Some(1.0 - observed / total / self.expected(&margins))
    }

    fn disagreement(&self, x: usize, y: usize) -> f64 {
        let difference = self.values[x] - self.values[y];
        match self.weights {
            KappaWeights::Unweighted => f64::from(u8::from(x != y)),
            KappaWeights::Linear => difference.abs(),
            KappaWeights::Quadratic => difference * difference,
        }
    }

    /// The mean disagreement of one rating drawn from each rater's shares, in one pass over the values.
    fn expected(&self, margins: &[(f64, f64)]) -> f64 {
        match self.weights {
            KappaWeights::Unweighted => 1.0 - margins.iter().map(|(a, b)| a * b).sum::<f64>(),
            // E|X - Y| is the integral of F(1 - G) + G(1 - F) over the gaps between values.
            KappaWeights::Linear => {
                let (mut f, mut g, mut sum) = (0.0, 0.0, 0.0);
                for ((a, b), ends) in margins.iter().zip(self.values.windows(2)) {
                    f += a;
                    g += b;
                    sum += (ends[1] - ends[0]) * (f * (1.0 - g) + g * (1.0 - f));
                }
                sum
            }
            // E(X - Y)^2 is both variances and the squared difference of the means.
            KappaWeights::Quadratic => {
                let shares = || margins.iter().zip(&self.values);
                let (mean_a, mean_b) =
                    shares().fold((0.0, 0.0), |(m, k), ((a, b), value)| (m + a * value, k + b * value));
                let squares: f64 =
                    shares().map(|((a, b), v)| a * (v - mean_a).powi(2) + b * (v - mean_b).powi(2)).sum();
                squares + (mean_a - mean_b).powi(2)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const ALL: [KappaWeights; 3] = [KappaWeights::Unweighted, KappaWeights::Linear, KappaWeights::Quadratic];

    fn some(values: &[f64]) -> Vec<Option<f64>> {
        values.iter().copied().map(Some).collect()
    }

    #[test]
    fn three_units_on_a_scale_by_hand() {
        let (x, y) = (some(&[1.0, 2.0, 5.0]), some(&[1.0, 4.0, 4.0]));
        // All 9 combinations: |d| = 0 3 3 / 1 2 2 / 4 1 1 = 17, d^2 = 0 9 9 / 1 4 4 / 16 1 1 = 45, unequal 8.
        // The 3 pairs: |d| = 0 2 1 = 3, d^2 = 0 4 1 = 5, unequal 2. kappa = 1 - (pairs / 3) / (combinations / 9).
        let kappa = |weights| cohens_kappa(&x, &y, weights).unwrap();
        assert!((kappa(KappaWeights::Unweighted) - (1.0 - 3.0 * 2.0 / 8.0)).abs() < 1e-15);
        assert!((kappa(KappaWeights::Linear) - (1.0 - 3.0 * 3.0 / 17.0)).abs() < 1e-15);
        assert!((kappa(KappaWeights::Quadratic) - (1.0 - 3.0 * 5.0 / 45.0)).abs() < 1e-15);
    }

    #[test]
    fn a_panel_has_the_mean_of_its_pairs() {
        let (a, b, c) = (some(&[1.0, 2.0, 3.0]), some(&[1.0, 2.0, 2.0]), some(&[3.0, 2.0, 1.0]));
        let of = |x: &[Option<f64>], y: &[Option<f64>]| cohens_kappa(x, y, KappaWeights::Quadratic).unwrap();
        let expected = (of(&a, &b) + of(&a, &c) + of(&b, &c)) / 3.0;
        let panel = mean_pairwise_kappa(&[&a, &b, &c], KappaWeights::Quadratic).unwrap();
        assert!((panel.mean - expected).abs() < 1e-15);
        assert_eq!((panel.defined, panel.pairs), (3, 3));
    }

    #[test]
    fn a_pair_without_a_kappa_is_counted_and_left_out() {
        let (a, b, apart) = (vec![Some(1.0), Some(2.0), None], some(&[1.0, 2.0, 1.0]), vec![None, None, Some(1.0)]);
        let panel = mean_pairwise_kappa(&[&a, &b, &apart], KappaWeights::Linear).unwrap();
        assert_eq!(panel, PairwiseKappa { mean: 1.0, defined: 1, pairs: 3 });
        assert_eq!(mean_pairwise_kappa(&[&a], KappaWeights::Linear), None);
    }

    #[test]
    fn what_has_no_kappa_is_none() {
        let same = some(&[2.0, 2.0]);
        for weights in ALL {
            assert_eq!(cohens_kappa(&[], &[], weights), None);
            assert_eq!(cohens_kappa(&same, &same, weights), None);
            assert_eq!(cohens_kappa(&same, &same[..1], weights), None);
            assert_eq!(cohens_kappa(&same, &[None, None], weights), None);
            assert_eq!(cohens_kappa(&same, &some(&[1.0, f64::INFINITY]), weights), None);
            // Each rater has one value, another one than the other: no better than chance.
            assert_eq!(cohens_kappa(&same, &some(&[3.0, 3.0]), weights), Some(0.0));
        }
    }

    #[test]
    fn intervals_hold_their_kappa() {
        let rate = |step: i32| -> Vec<Option<f64>> {
            (0..80).map(|u| (u % 11 != step).then(|| f64::from(u * u % 5 + i32::from(u % step == 0)))).collect()
        };
        let (a, b, c) = (rate(3), rate(4), rate(7));
        let options = BcaOptions { resamples: 500, ..BcaOptions::seeded(1) };
        for weights in ALL {
            let kappa = cohens_kappa(&a, &b, weights).unwrap();
            let interval = cohens_kappa_interval(&a, &b, weights, options).unwrap();
            assert!(interval.low < kappa && kappa < interval.high && interval.high <= 1.0);
            let panel = mean_pairwise_kappa(&[&a, &b, &c], weights).unwrap().mean;
            let interval = mean_pairwise_kappa_interval(&[&a, &b, &c], weights, options).unwrap();
            assert!(interval.low < panel && panel < interval.high && interval.high <= 1.0);
        }
    }

    proptest! {
        #[test]
        fn kappa_is_symmetric_bounded_and_blind_to_order(
            pairs in prop::collection::vec((0..5_u8, 0..5_u8), 1..20), turn in 0..20_usize
        ) {
            let split = |pairs: &[(u8, u8)]| -> (Vec<Option<f64>>, Vec<Option<f64>>) {
                pairs.iter().map(|(a, b)| (Some(f64::from(*a)), Some(f64::from(*b)))).unzip()
            };
            let (x, y) = split(&pairs);
            let mut turned = pairs.clone();
            turned.rotate_left(turn % pairs.len());
            let (tx, ty) = split(&turned);
            for weights in ALL {
                let kappa = cohens_kappa(&x, &y, weights);
                for other in [cohens_kappa(&y, &x, weights), cohens_kappa(&tx, &ty, weights)] {
                    prop_assert_eq!(kappa.is_some(), other.is_some());
                    prop_assert!((kappa.unwrap_or(0.0) - other.unwrap_or(0.0)).abs() < 1e-12);
                }
                prop_assert!(kappa.is_none_or(|kappa| (-1.0 - 1e-12..=1.0).contains(&kappa)));
            }
        }
    }
}
