//! Orders systems by two raters' means and shares of wins.

use std::collections::BTreeSet;

use super::comparisons::Compared;
use super::result::{FEWEST_SYSTEMS, NO_ORDER, RankedSystem, Ranking};
use super::units::{Context, RatedByBoth};
use crate::analysis::ratings::{Estimate, distinct};
use crate::domain::SystemName;
use crate::stats::{Correlation, bca_clustered_interval, rounded};

/// A system, both raters' values of one unit, and its question.
type RatedRow<'a> = (&'a SystemName, [f64; 2], usize);

/// The systems by the means of what both rated; `None` for fewer than two systems.
pub(super) fn by_ratings(shared: &RatedByBoth<'_>) -> Option<Ranking> {
    let row = |at: usize| {
        (
            &shared.units[at].system,
            [shared.x[at], shared.y[at]],
            shared.questions[at],
        )
    };
    ranking(
        &(0..shared.units.len()).map(row).collect::<Vec<_>>(),
        shared.context,
    )
}

/// The systems by shares of wins, a tie being half a win for both; `None` if neither rater compared answers explicitly.
pub(super) fn by_wins(
    compared: &[Compared<'_>],
    thresholds: [f64; 2],
    context: &Context<'_>,
) -> Option<Ranking> {
    if !compared.iter().any(Compared::is_outright) {
        return None;
    }
    let rows = compared.iter().flat_map(|pair| {
        let signs = pair.signs(thresholds).map(f64::from);
        [(0, 1.0), (1, -1.0)].map(|(side, sign)| {
            let shares = signs.map(|own| f64::midpoint(1.0, sign * own));
            (pair.systems[side], shares, pair.question)
        })
    });
    ranking(&rows.collect::<Vec<_>>(), context)
}

/// The systems by both means. The interval of tau-b resamples questions, which are its units.
fn ranking(rows: &[RatedRow<'_>], context: &Context<'_>) -> Option<Ranking> {
    let names: Vec<&SystemName> = rows
        .iter()
        .map(|row| row.0)
        .collect::<BTreeSet<_>>()
        .into_iter()
        .collect();
    let places: Vec<usize> = rows
        .iter()
        .map(|row| names.partition_point(|name| *name < row.0))
        .collect();
    // Both means of every system, with weighted rows; `None` if a system is not drawn.
    let means = |weights: &[u32]| {
        let mut sums = vec![[0.0; 3]; names.len()];
        for (((_, [x, y], _), place), weight) in rows.iter().zip(&places).zip(weights) {
            let weight = f64::from(*weight);
            sums[*place]
                .iter_mut()
                .zip([*x, *y, 1.0])
                .for_each(|(sum, value)| *sum += weight * value);
        }
        let is_drawn = sums.iter().all(|sum| sum[2] > 0.0);
        is_drawn.then(|| {
            sums.iter()
                .map(|[x, y, n]| (x / n, y / n))
                .unzip::<_, _, Vec<f64>, Vec<f64>>()
        })
    };
    let all = vec![1; rows.len()];
    let (x, y) = means(&all).filter(|(x, _)| x.len() >= 2)?;
    let rank = |means: &[f64], at: usize| {
        1 + means
            .iter()
            .filter(|mean| rounded(**mean) > rounded(means[at]))
            .count()
    };
    let ranked = |at: usize| RankedSystem {
        system: names[at].clone(),
        n: places.iter().filter(|place| **place == at).count(),
        first_mean: x[at],
        second_mean: y[at],
        first_rank: rank(&x, at),
        second_rank: rank(&y, at),
    };
    let mut systems: Vec<RankedSystem> = (0..names.len()).map(ranked).collect();
    systems.sort_by_key(|system| (system.second_rank, system.first_rank));
    let tau =
        |weights: &[u32]| means(weights).and_then(|(x, y)| Correlation::KendallTauB.of(&x, &y));
    let questions: Vec<usize> = rows.iter().map(|row| row.2).collect();
    let interval = || bca_clustered_interval(&questions, tau, context.bootstrap());
    let kendall_tau_b = if names.len() < FEWEST_SYSTEMS {
        Estimate::undefined(NO_ORDER)
    } else {
        Estimate::new(tau(&all), interval, "the systems do not differ")
            .with_units(distinct(&questions))
    };
    Some(Ranking {
        systems,
        kendall_tau_b,
    })
}
