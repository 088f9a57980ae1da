//! Orders systems by two raters' means and shares of wins.

use std::collections::BTreeSet;

use super::comparisons::Compared;
use super::result::{FEWEST_SYSTEMS, NO_ORDER, RankedSystem, Ranking};
use super::units::{Context, RatedByBoth};
use crate::ratings::{Estimate, distinct};
use scholareval_core::domain::SystemName;
use scholareval_stats::{Correlation, bca_clustered_interval, rank_among};

/// A system, both raters' values of one unit, and its question.
type RatedRow<'a> = (&'a SystemName, [f64; 2], usize);

/// The systems by the means of what both rated; `None` for fewer than two systems.
pub(super) fn by_ratings(shared: &RatedByBoth<'_>) -> Option<Ranking> {
    let mut rows: Vec<RatedRow<'_>> = Vec::new();
    for (at, unit) in shared.units.iter().enumerate() {
        let values = [shared.x[at], shared.y[at]];
        rows.push((&unit.system, values, shared.questions[at]));
    }
    ranking(&rows, shared.context)
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
            let shares = signs.map(|other_sign| f64::midpoint(1.0, sign * other_sign));
            (pair.systems[side], shares, pair.question)
        })
    });
    ranking(&rows.collect::<Vec<_>>(), context)
}

/// The systems by both means. The interval of tau-b resamples questions, which are its units.
fn ranking(rows: &[RatedRow<'_>], context: &Context<'_>) -> Option<Ranking> {
    let systems: BTreeSet<&SystemName> = rows.iter().map(|row| row.0).collect();
    let names = Vec::from_iter(systems);
    let places = rows
        .iter()
        .map(|row| names.partition_point(|name| *name < row.0));
    let places: Vec<usize> = places.collect();
    let all = vec![1; rows.len()];
    let (x, y) = weighted_means(rows, &places, names.len(), &all).filter(|(x, _)| x.len() >= 2)?;
    let mut systems = Vec::new();
    for (at, name) in names.iter().enumerate() {
        systems.push(RankedSystem {
            system: (*name).clone(),
            n: places.iter().filter(|place| **place == at).count(),
            first_mean: x[at],
            second_mean: y[at],
            first_rank: rank_among(x[at], x.iter().copied()),
            second_rank: rank_among(y[at], y.iter().copied()),
        });
    }
    systems.sort_by_key(|system| (system.second_rank, system.first_rank));
    let questions: Vec<usize> = rows.iter().map(|row| row.2).collect();
    let kendall_tau_b = if names.len() < FEWEST_SYSTEMS {
        Estimate::undefined(NO_ORDER)
    } else {
        let tau = Correlation::KendallTauB.of(&x, &y);
        let tau_of = |weights: &[u32]| {
            let (x, y) = weighted_means(rows, &places, names.len(), weights)?;
            Correlation::KendallTauB.of(&x, &y)
        };
        let interval = || bca_clustered_interval(&questions, tau_of, context.bootstrap());
        let tau = Estimate::new(tau, interval, "the systems do not differ");
        Estimate {
            n: Some(names.len()),
            ..tau.with_units(distinct(&questions))
        }
    };
    Some(Ranking {
        systems,
        kendall_tau_b,
    })
}

/// Both means of every system, with weighted rows; `None` if a system is not drawn. `places` are the systems of the rows.
fn weighted_means(
    rows: &[RatedRow<'_>],
    places: &[usize],
    systems: usize,
    weights: &[u32],
) -> Option<(Vec<f64>, Vec<f64>)> {
    let mut sums = vec![[0.0; 3]; systems];
    for (((_, [x, y], _), place), weight) in rows.iter().zip(places).zip(weights) {
        let weight = f64::from(*weight);
        let sums_of_system = &mut sums[*place];
        sums_of_system[0] += weight * x;
        sums_of_system[1] += weight * y;
        sums_of_system[2] += weight;
    }
    let mut x_means = Vec::with_capacity(systems);
    let mut y_means = Vec::with_capacity(systems);
    for [x, y, n] in sums {
        if n <= 0.0 {
            return None;
        }
        x_means.push(x / n);
        y_means.push(y / n);
    }
    Some((x_means, y_means))
}
