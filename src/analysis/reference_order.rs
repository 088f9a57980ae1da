//! The order in which the reference script sees systems: `numpy.argsort(-scores)`.
//!
//! NumPy's default sort is not stable, so ties depend on how it was built. The golden numbers were made with NumPy
//! 1.26 on AVX-512, where short lists go through a bitonic network over a power of two of places, at least 8, padded
//! with infinity. Equal keys are never exchanged, which fixes the order of ties; this module repeats the network.

/// Lists longer than this are sorted stably: there NumPy partitions first, and nobody compares that many systems.
const NETWORK_LIMIT: usize = 256;

/// The indices of the scores from best to worst, ties in the order that NumPy leaves them in.
pub(super) fn descending_order(scores: &[f64]) -> Vec<usize> {
    if scores.len() > NETWORK_LIMIT {
        let mut order: Vec<usize> = (0..scores.len()).collect();
        order.sort_by(|a, b| scores[*b].total_cmp(&scores[*a]));
        return order;
    }
    let places = scores.len().next_power_of_two().max(8);
    let key = |index: usize| scores.get(index).map_or(f64::INFINITY, |score| -score);
    let mut lanes: Vec<(f64, usize)> = (0..places).map(|index| (key(index), index)).collect();
    let mut block = 2;
    while block <= places {
        merge(&mut lanes, block);
        block *= 2;
    }
    lanes.into_iter().map(|(_, index)| index).filter(|index| *index < scores.len()).collect()
}

/// Merges sorted halves of every block: first each lane with its mirror image, then at falling distances.
fn merge(lanes: &mut [(f64, usize)], block: usize) {
    for start in (0..lanes.len()).step_by(block) {
        for i in 0..block / 2 {
            compare(lanes, start + i, start + block - 1 - i);
        }
    }
    let mut distance = block / 4;
    while distance > 0 {
        for i in (0..lanes.len()).filter(|i| i & distance == 0) {
            compare(lanes, i, i + distance);
        }
        distance /= 2;
    }
}

fn compare(lanes: &mut [(f64, usize)], low: usize, high: usize) {
    if lanes[low].0 > lanes[high].0 {
        lanes.swap(low, high);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn ties_fall_as_numpy_leaves_them() {
        // numpy.argsort(-numpy.array(scores)) of NumPy 1.26.4 on AVX-512
        let (a, b) = (1.0, 0.5);
        assert_eq!(descending_order(&[0.0, 1.0, 1.0, 0.78]), [1, 2, 3, 0]);
        assert_eq!(descending_order(&[b, b, a, 0.0, a]), [2, 4, 1, 0, 3]);
        assert_eq!(descending_order(&[b; 9]), [0, 1, 2, 3, 4, 5, 6, 7, 8]);
        assert_eq!(descending_order(&[a, b, a, b, a, b, a, b, a, 0.2]), [0, 2, 6, 4, 8, 3, 5, 1, 7, 9]);
    }

    proptest! {
        #[test]
        fn the_order_is_a_permutation_from_best_to_worst(scores in prop::collection::vec(0..6_u8, 0..70)) {
            let scores: Vec<f64> = scores.into_iter().map(f64::from).collect();
            let order = descending_order(&scores);
            let mut sorted = order.clone();
            sorted.sort_unstable();
            prop_assert_eq!(sorted, (0..scores.len()).collect::<Vec<_>>());
            prop_assert!(order.windows(2).all(|pair| scores[pair[0]] >= scores[pair[1]]));
        }
    }
}
