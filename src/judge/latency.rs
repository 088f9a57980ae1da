//! A histogram of latencies: fixed size, no lock, a known error.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

/// Each power of two is split into so many buckets (2^5), as in HDR histograms.
const PARTS_LOG2: u32 = 5;
const PARTS: u64 = 1 << PARTS_LOG2;
/// Longer latencies count as this one: 2^27 - 1 ms are 37 hours.
const LONGEST: u64 = (1 << 27) - 1;
const BUCKETS: usize = bucket_of(LONGEST) + 1;

/// Counts of latencies in milliseconds. Below 64 ms a bucket is one millisecond; above, at most 1/32 of its lower end,
/// and its middle stands for it: a quantile is off by at most 1/64 (1.6%) of the true one.
pub(super) struct Histogram {
    buckets: Box<[AtomicU64]>,
}

impl Default for Histogram {
    fn default() -> Self {
        Self { buckets: (0..BUCKETS).map(|_| AtomicU64::new(0)).collect() }
    }
}

impl Histogram {
    /// Counts one latency.
    pub(super) fn add(&self, millis: u64) {
        if let Some(bucket) = self.buckets.get(bucket_of(millis.min(LONGEST))) {
            bucket.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// The smallest latency in milliseconds that a share `q` (0..=1) of all does not exceed (nearest rank); `None` if
    /// there are none.
    pub(super) fn quantile(&self, q: f64) -> Option<f64> {
        let counts: Vec<u64> = self.buckets.iter().map(|bucket| bucket.load(Ordering::Relaxed)).collect();
        let rank = (counts.iter().sum::<u64>() as f64 * q).ceil().max(1.0) as u64;
        let mut seen = 0;
        let bucket = counts.iter().position(|count| {
            seen += count;
            seen >= rank
        })?;
        let (low, width) = range_of(bucket);
        Some(low as f64 + (width - 1) as f64 / 2.0)
    }
}

impl fmt::Debug for Histogram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Histogram").field("p50", &self.quantile(0.5)).field("p95", &self.quantile(0.95)).finish()
    }
}

/// Values below 2 * [`PARTS`] have a bucket each; of larger ones the five bits behind the first count.
const fn bucket_of(value: u64) -> usize {
    if value < 2 * PARTS {
        return value as usize;
    }
    let shift = value.ilog2() - PARTS_LOG2;
    (shift as u64 * PARTS + (value >> shift)) as usize
}

/// The lower end and the width of a bucket.
fn range_of(bucket: usize) -> (u64, u64) {
    let bucket = bucket as u64;
    if bucket < 2 * PARTS {
        return (bucket, 1);
    }
    let shift = bucket / PARTS - 1;
    ((bucket - shift * PARTS) << shift, 1 << shift)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn quantiles_are_nearest_ranks() {
        let histogram = Histogram::default();
        assert_eq!(histogram.quantile(0.5), None);
        for millis in 1..=20 {
            histogram.add(millis);
        }
        // 20 x 0.5 = 10th, 20 x 0.95 = 19th, the first, the last
        let found = [0.5, 0.95, 0.0, 1.0].map(|q| histogram.quantile(q).unwrap());
        assert_eq!(found, [10.0, 19.0, 1.0, 20.0]);
    }

    #[test]
    fn latencies_without_end_count_as_the_longest() {
        let histogram = Histogram::default();
        histogram.add(u64::MAX);
        let p50 = histogram.quantile(0.5).unwrap();
        assert!((p50 / LONGEST as f64 - 1.0).abs() < 1.0 / 64.0, "{p50}");
    }

    proptest! {
        #[test]
        fn the_error_is_at_most_a_sixty_fourth(mut values in proptest::collection::vec(0_u64..4_000_000, 1..60), q in 0.0..=1.0_f64) {
            let histogram = Histogram::default();
            values.iter().for_each(|value| histogram.add(*value));
            values.sort_unstable();
            let rank = ((values.len() as f64 * q).ceil() as usize).max(1);
            let (expected, found) = (values[rank - 1] as f64, histogram.quantile(q).unwrap());
            prop_assert!((found - expected).abs() <= expected / 64.0, "{found} for {expected}");
        }

        #[test]
        fn each_value_lies_in_its_bucket(value in 0..=LONGEST) {
            let (low, width) = range_of(bucket_of(value));
            prop_assert!(low <= value && value < low + width);
            prop_assert!(width == 1 || width * 32 <= low);
        }
    }
}
