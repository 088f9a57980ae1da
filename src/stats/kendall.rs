//! Kendall's rank correlation tau-b of weighted units in O(n log n).
//!
//! M. G. Kendall, "The treatment of ties in ranking problems", Biometrika 33 (1945); the order of counting follows
//! W. R. Knight, "A computer method for calculating Kendall's tau with ungrouped data", JASA 61 (1966), with a Fenwick
//! tree (P. M. Fenwick, 1994) in place of the merge sort, so that a resample needs no sorting.

use super::summary::{distinct, place};

/// Pairs prepared for counting: sorted by x, with the index of y among its distinct values.
pub(super) struct RankedPairs {
    /// Per distinct x in ascending order: (unit, index of y).
    by_x: Vec<Vec<(usize, usize)>>,
    distinct_y: usize,
}

impl RankedPairs {
    pub(super) fn new(x: &[f64], y: &[f64]) -> Self {
        let (values_x, values_y) = (distinct(x.iter().copied()), distinct(y.iter().copied()));
        let mut by_x = vec![Vec::new(); values_x.len()];
        for (unit, (x, y)) in x.iter().zip(y).enumerate() {
            by_x[place(&values_x, *x)].push((unit, place(&values_y, *y)));
        }
        Self { by_x, distinct_y: values_y.len() }
    }

    /// tau-b = (concordant - discordant) / sqrt(pairs untied in x * pairs untied in y), with a weight for every unit;
    /// `None` if all x or all y are tied.
    pub(super) fn tau_b(&self, weights: &[u32]) -> Option<f64> {
        let mut seen = Fenwick::new(self.distinct_y);
        let mut with_y = vec![0_u64; self.distinct_y];
        let (mut balance, mut tied_x, mut total) = (0_i128, 0_u128, 0_u64);
        for same_x in &self.by_x {
            let mut here = 0_u64;
            // Pairs within one x are tied: compare all with smaller x before adding any.
            for (unit, y) in same_x.iter().filter(|(unit, _)| weights[*unit] > 0) {
                let (below, not_above) = (seen.sum_of_first(*y), seen.sum_of_first(*y + 1));
                balance += i128::from(weights[*unit]) * (i128::from(below) - i128::from(total - not_above));
                here += u64::from(weights[*unit]);
            }
            for (unit, y) in same_x.iter().filter(|(unit, _)| weights[*unit] > 0) {
                seen.add(*y, u64::from(weights[*unit]));
                with_y[*y] += u64::from(weights[*unit]);
            }
            tied_x += pairs(here);
            total += here;
        }
        let tied_y: u128 = with_y.into_iter().map(pairs).sum();
        let (untied_x, untied_y) = (pairs(total) - tied_x, pairs(total) - tied_y);
        if untied_x == 0 || untied_y == 0 {
            return None;
        }
        Some((balance as f64 / (untied_x as f64).sqrt() / (untied_y as f64).sqrt()).clamp(-1.0, 1.0))
    }
}

/// Number of pairs of `n` items.
fn pairs(n: u64) -> u128 {
    u128::from(n) * u128::from(n.saturating_sub(1)) / 2
}

/// Prefix sums over a row of counters, in O(log n).
struct Fenwick(Vec<u64>);

impl Fenwick {
    fn new(counters: usize) -> Self {
        Self(vec![0; counters + 1])
    }

    fn add(&mut self, counter: usize, amount: u64) {
        let mut node = counter + 1;
        while node < self.0.len() {
            self.0[node] += amount;
            node += node & node.wrapping_neg();
        }
    }

    fn sum_of_first(&self, counters: usize) -> u64 {
        let (mut node, mut sum) = (counters, 0);
        while node > 0 {
            sum += self.0[node];
            node &= node - 1;
        }
        sum
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn tau_by_pairs(x: &[f64], y: &[f64]) -> Option<f64> {
        let (mut balance, mut untied_x, mut untied_y) = (0.0, 0.0_f64, 0.0_f64);
        for i in 0..x.len() {
            for j in 0..i {
                let sign = |d: f64| if d == 0.0 { 0.0 } else { d.signum() };
                let (dx, dy) = (sign(x[i] - x[j]), sign(y[i] - y[j]));
                balance += dx * dy;
                untied_x += dx * dx;
                untied_y += dy * dy;
            }
        }
        (untied_x > 0.0 && untied_y > 0.0).then(|| balance / (untied_x * untied_y).sqrt())
    }

    #[test]
    fn one_swap_among_four_by_hand() {
        // 6 pairs, 1 discordant: (5 - 1) / 6
        let tau = RankedPairs::new(&[1.0, 2.0, 3.0, 4.0], &[1.0, 3.0, 2.0, 4.0]).tau_b(&[1; 4]).unwrap();
        assert!((tau - 4.0 / 6.0).abs() < 1e-15);
    }

    proptest! {
        #[test]
        fn a_weight_of_k_is_the_unit_written_k_times(units in prop::collection::vec((0..6_u8, 0..6_u8, 0..4_u32), 1..25)) {
            let (x, y): (Vec<f64>, Vec<f64>) = units.iter().map(|(x, y, _)| (f64::from(*x), f64::from(*y))).unzip();
            let weights: Vec<u32> = units.iter().map(|unit| unit.2).collect();
            let written: Vec<(f64, f64)> = units
                .iter()
                .flat_map(|(x, y, w)| std::iter::repeat_n((f64::from(*x), f64::from(*y)), *w as usize))
                .collect();
            let (long_x, long_y): (Vec<f64>, Vec<f64>) = written.into_iter().unzip();
            let (ours, theirs) = (RankedPairs::new(&x, &y).tau_b(&weights), tau_by_pairs(&long_x, &long_y));
            prop_assert_eq!(ours.is_some(), theirs.is_some());
            prop_assert!((ours.unwrap_or(0.0) - theirs.unwrap_or(0.0)).abs() < 1e-12);
        }
    }
}
