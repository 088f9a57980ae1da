//! Deals what was drawn to the raters, in orders that differ between them.

use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::domain::{LabelKind, PageItem, SheetItem};

/// The streams of one seed: the draw itself has the first one, and no decision changes another.
const DEALING: u64 = 1;
const RATERS: u64 = 100;

/// The places in the draw that each rater gets: `overlap` of them, chosen at random, go to everybody, and the others are dealt out
/// one by one.
pub(super) struct Hands {
    /// The places that everybody gets.
    pub(super) shared: Vec<usize>,
    /// Those of each rater alone.
    pub(super) by_rater: Vec<Vec<usize>>,
}

/// Deals so many drawn answers or pairs to so many raters.
pub(super) fn deal(drawn: usize, raters: usize, overlap: usize, seed: u64) -> Hands {
    let mut deck: Vec<usize> = (0..drawn).collect();
    deck.shuffle(&mut stream(seed, DEALING));
    let rest = deck.split_off(overlap.min(drawn));
    let mut by_rater = vec![Vec::new(); raters];
    for (turn, place) in rest.into_iter().enumerate() {
        by_rater[turn % raters].push(place);
    }
    Hands {
        shared: deck,
        by_rater,
    }
}

/// The items of a rater in the order of the page, from their groups by answer or pair. An answer's items stay together, so that it
/// is read once; claims stay in the order of the text.
pub(super) fn page_order(
    mut groups: Vec<Vec<&SheetItem>>,
    rater: usize,
    seed: u64,
) -> Vec<PageItem> {
    let mut rng = stream(seed, RATERS + rater as u64);
    groups.shuffle(&mut rng);
    let mut page = Vec::new();
    for mut group in groups {
        let mut claims: Vec<&SheetItem> = Vec::new();
        group.retain(|item| {
            let is_claim = item.unit.kind == LabelKind::Claim;
            if is_claim {
                claims.push(item);
            }
            !is_claim
        });
        group.shuffle(&mut rng);
        // Kind by kind: a rater keeps one scale in mind at a time. The sort is stable.
        group.sort_by_key(|item| item.unit.kind);
        for item in group.into_iter().chain(claims) {
            page.push(PageItem {
                item: item.id.clone(),
                swapped: item.unit.kind == LabelKind::Pair && rng.random(),
            });
        }
    }
    page
}

/// A stream of random numbers of this seed.
pub(super) fn stream(seed: u64, number: u64) -> ChaCha8Rng {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    rng.set_stream(number);
    rng
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn shared_places_go_to_everybody_and_the_others_to_one_rater_each() {
        let hands = deal(11, 3, 2, 7);
        assert_eq!(hands.shared.len(), 2);
        let sizes: Vec<usize> = hands.by_rater.iter().map(Vec::len).collect();
        assert_eq!(sizes, [3, 3, 3]);
        let all: BTreeSet<usize> = hands
            .shared
            .iter()
            .chain(hands.by_rater.iter().flatten())
            .copied()
            .collect();
        assert_eq!(all.len(), 11);
        // More shared than drawn: everybody gets everything.
        assert_eq!(deal(3, 2, 9, 7).shared.len(), 3);
    }
}
