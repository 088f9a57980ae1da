//! Agreement on which of two answers is better.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::measures::{Between, some};
use super::result::{Estimate, PairAgreement, SystemWins, TieThreshold, Wins};
use super::view::{Shared, View, distinct};
use crate::domain::{ComparedPair, Preferred, RaterKind, SystemName};
use crate::stats::{
    KappaWeights, bca_clustered_interval, cohens_kappa, kendall_tau_b, mean_pairwise_kappa_clustered_interval,
};

/// What a rater makes of two answers.
#[derive(Debug, Clone, Copy)]
enum Opinion {
    /// Said outright.
    Said(f64),
    /// The first answer's rating less the second's.
    Difference(f64),
}

impl Opinion {
    fn outcome(self, threshold: f64) -> i8 {
        match self {
            Self::Said(sign) => Preferred::of_difference(sign, 0.0).sign(),
            Self::Difference(difference) => Preferred::of_difference(difference, threshold).sign(),
        }
    }
}

/// Two answers that both raters have an opinion of.
pub(super) struct Compared<'a> {
    pub(super) systems: [&'a SystemName; 2],
    question: usize,
    opinions: [Opinion; 2],
    /// The first rater's ratings of the two.
    values: Option<[f64; 2]>,
}

/// 1 for the same outcome, half where one of the two has a tie, 0 for opposite ones.
pub(super) fn credit(first: i8, second: i8) -> f64 {
    match (first, second) {
        (a, b) if a == b => 1.0,
        (0, _) | (_, 0) => 0.5,
        _ => 0.0,
    }
}

impl<'a> Between<'a> {
    /// The pairs of answers that both compared: where either said so outright those; else all pairs of systems within a
    /// case (or an item of it) that both rated.
    pub(super) fn compared(self, shared: &[Shared<'a>]) -> Vec<Compared<'a>> {
        if self.first.said.is_empty() && self.second.said.is_empty() {
            return shared
                .chunk_by(|a, b| a.unit.case_id == b.unit.case_id && a.unit.item == b.unit.item)
                .flat_map(|same| (0..same.len()).flat_map(move |b| (0..b).map(move |a| (same[a], same[b]))))
                .map(|(a, b)| Compared {
                    systems: [&a.unit.system, &b.unit.system],
                    question: a.question,
                    opinions: [Opinion::Difference(a.x - b.x), Opinion::Difference(a.y - b.y)],
                    values: Some([a.x, b.x]),
                })
                .collect();
        }
        let pairs: BTreeSet<&'a ComparedPair> = self.first.said.keys().chain(self.second.said.keys()).collect();
        let compared = |pair: &'a ComparedPair| {
            Some(Compared {
                systems: [&pair.first, &pair.second],
                question: self.frame.question(&pair.case_id),
                opinions: [opinion(self.first, pair)?, opinion(self.second, pair)?],
                values: values(self.first, pair),
            })
        };
        pairs.into_iter().filter_map(compared).collect()
    }

    /// The threshold given, for judges; 0 for people and where none is given.
    pub(super) fn given_thresholds(self) -> [f64; 2] {
        let of = |view: &View| match view.kind {
            RaterKind::Judge => self.frame.options.tie_threshold.unwrap_or(0.0),
            RaterKind::Human => 0.0,
        };
        [of(self.first), of(self.second)]
    }

    /// Up to which difference each rater's ratings tie, and what is to be told of it.
    pub(super) fn thresholds(self, compared: &[Compared<'_>]) -> ([f64; 2], Option<TieThreshold>) {
        let mut thresholds = self.given_thresholds();
        let kinds = [self.first.kind, self.second.kind];
        let differences = |rater: usize| -> Vec<f64> {
            let size = |pair: &Compared<'_>| match pair.opinions[rater] {
                Opinion::Difference(difference) => Some(difference.abs()),
                Opinion::Said(_) => None,
            };
            compared.iter().filter_map(size).collect()
        };
        let Some(judge) = (0..2).find(|rater| kinds[*rater] == RaterKind::Judge && !differences(*rater).is_empty())
        else {
            return (thresholds, None);
        };
        let name = Arc::clone(if judge == 0 { &self.first.name } else { &self.second.name });
        if let Some(value) = self.frame.options.tie_threshold {
            return (thresholds, Some(TieThreshold { rater: name, value, chosen: false }));
        }
        if kinds[1 - judge] == RaterKind::Judge {
            return (thresholds, None);
        }
        let wanted = compared.iter().filter(|pair| pair.opinions[1 - judge].outcome(0.0) == 0).count();
        if wanted == compared.len() {
            // A person who never prefers would make every pair of the judge a tie as well.
            return (thresholds, None);
        }
        let value = threshold_for(wanted, differences(judge));
        thresholds[judge] = value;
        (thresholds, Some(TieThreshold { rater: name, value, chosen: true }))
    }

    /// The agreement on these pairs; `None` for none.
    pub(super) fn pair_agreement(self, compared: &[&Compared<'_>], thresholds: [f64; 2]) -> Option<PairAgreement> {
        if compared.is_empty() {
            return None;
        }
        let outcomes = outcomes(compared, thresholds);
        let indifferent = self.who_never_prefers(&outcomes);
        let questions: Vec<usize> = compared.iter().map(|pair| pair.question).collect();
        let rate = |counts: &(dyn Fn(i8, i8) -> bool + Sync), credit: &(dyn Fn(i8, i8) -> f64 + Sync)| {
            if let Some(why) = &indifferent {
                return Estimate::undefined(why);
            }
            let statistic = |weights: &[u32]| {
                let kept = outcomes.iter().zip(weights).filter(|((a, b), _)| counts(*a, *b));
                let (sum, total) = kept.fold((0.0, 0.0), |(sum, total), ((a, b), weight)| {
                    (sum + f64::from(*weight) * credit(*a, *b), total + f64::from(*weight))
                });
                (total > 0.0).then(|| sum / total)
            };
            let interval = || bca_clustered_interval(&questions, statistic, self.frame.bca());
            let n = outcomes.iter().filter(|(a, b)| counts(*a, *b)).count();
            Estimate::new(statistic(&vec![1; outcomes.len()]), n, interval, "every pair is a tie for one of the two")
        };
        let strict = |a: i8, b: i8| f64::from(u8::from(a == b));
        let decided = |a: i8, b: i8| a != 0 && b != 0;
        let column =
            |of: fn(&(i8, i8)) -> i8| some(&outcomes.iter().map(|both| f64::from(of(both))).collect::<Vec<_>>());
        let (x, y) = (column(|both| both.0), column(|both| both.1));
        let weights = KappaWeights::Unweighted;
        let interval = || mean_pairwise_kappa_clustered_interval(&[&x, &y], &questions, weights, self.frame.bca());
        let kappa = match &indifferent {
            Some(why) => Estimate::undefined(why),
            None => Estimate::new(cohens_kappa(&x, &y, weights), x.len(), interval, "all outcomes are one"),
        };
        Some(PairAgreement {
            n: outcomes.len(),
            questions: distinct(questions.iter().copied()),
            first_ties: outcomes.iter().filter(|both| both.0 == 0).count(),
            second_ties: outcomes.iter().filter(|both| both.1 == 0).count(),
            strict: rate(&|_, _| true, &strict),
            half_credit: rate(&|_, _| true, &credit),
            decided: outcomes.iter().filter(|both| decided(both.0, both.1)).count(),
            decided_agreement: rate(&decided, &strict),
            kappa,
        })
    }

    /// Whose outcomes are all ties: such a rater agrees with nobody on which is better, and disagrees with nobody.
    fn who_never_prefers(self, outcomes: &[(i8, i8)]) -> Option<String> {
        let never = [outcomes.iter().all(|both| both.0 == 0), outcomes.iter().all(|both| both.1 == 0)];
        let (first, second) = (&self.first.name, &self.second.name);
        match never {
            [true, true] => Some(format!("neither {first} nor {second} ever prefers one")),
            [true, false] => Some(format!("{first} never prefers one")),
            [false, true] => Some(format!("{second} never prefers one")),
            [false, false] => None,
        }
    }

    /// The systems by how often they win; `None` where nobody compared outright, or fewer than two systems were.
    pub(super) fn wins(self, compared: &[Compared<'_>], thresholds: [f64; 2]) -> Option<Wins> {
        let is_outright = |pair: &Compared<'_>| pair.opinions.iter().any(|opinion| matches!(opinion, Opinion::Said(_)));
        if !compared.iter().any(is_outright) {
            return None;
        }
        let table = WinTable::new(compared, thresholds);
        let questions: Vec<usize> = compared.iter().map(|pair| pair.question).collect();
        let tau = |of: fn(&Tally) -> Option<f64>, why: &str| {
            let statistic = |weights: &[u32]| {
                let tallies = table.tallies(weights);
                let x: Vec<f64> = tallies.iter().map(of).collect::<Option<_>>()?;
                let y: Vec<f64> = tallies.iter().map(|tally| tally.rate(1)).collect::<Option<_>>()?;
                kendall_tau_b(&x, &y)
            };
            let interval = || bca_clustered_interval(&questions, statistic, self.frame.bca());
            let drawn = distinct(questions.iter().copied());
            Estimate::new(statistic(&vec![1; compared.len()]), drawn, interval, why)
        };
        let tallies = table.tallies(&vec![1; compared.len()]);
        let mut systems: Vec<SystemWins> = table.systems.iter().zip(&tallies).filter_map(win_row).collect();
        systems.sort_by(|a, b| b.second_rate.total_cmp(&a.second_rate).then_with(|| a.system.cmp(&b.system)));
        let no_means = format!("{} did not rate the answers", self.first.name);
        Some(Wins {
            systems,
            kendall_tau_b: tau(|tally| tally.rate(0), "the systems do not differ"),
            first_means_second_wins: tau(Tally::mean, &no_means),
        })
    }
}

fn win_row((system, tally): (&&SystemName, &Tally)) -> Option<SystemWins> {
    Some(SystemWins {
        system: (*system).clone(),
        n: tally.n as usize,
        first_rate: tally.rate(0)?,
        second_rate: tally.rate(1)?,
        first_mean: tally.mean(),
    })
}

fn opinion(view: &View, pair: &ComparedPair) -> Option<Opinion> {
    let said = view.said.get(pair).map(|sign| Opinion::Said(*sign));
    said.or_else(|| values(view, pair).map(|[a, b]| Opinion::Difference(a - b)))
}

fn values(view: &View, pair: &ComparedPair) -> Option<[f64; 2]> {
    Some([view.value(&pair.case_id, &pair.first)?, view.value(&pair.case_id, &pair.second)?])
}

fn outcomes(compared: &[&Compared<'_>], thresholds: [f64; 2]) -> Vec<(i8, i8)> {
    let both =
        |pair: &&Compared<'_>| (pair.opinions[0].outcome(thresholds[0]), pair.opinions[1].outcome(thresholds[1]));
    compared.iter().map(both).collect()
}

/// The difference up to which as nearly `wanted` of these are ties as can be; of two equally near ones the smaller.
pub(super) fn threshold_for(wanted: usize, mut differences: Vec<f64>) -> f64 {
    differences.sort_unstable_by(f64::total_cmp);
    let ties = |threshold: f64| differences.partition_point(|difference| *difference <= threshold);
    let candidates = std::iter::once(0.0).chain(differences.iter().copied());
    candidates.min_by_key(|threshold| ties(*threshold).abs_diff(wanted)).unwrap_or(0.0)
}

/// Who met whom, with what outcome.
struct WinTable<'a> {
    systems: Vec<&'a SystemName>,
    games: Vec<Game>,
}

/// Places of two systems, the outcome by each rater, the first rater's ratings.
type Game = ([usize; 2], [i8; 2], Option<[f64; 2]>);

impl<'a> WinTable<'a> {
    fn new(compared: &[Compared<'a>], thresholds: [f64; 2]) -> Self {
        let mut places: BTreeMap<&'a SystemName, usize> =
            compared.iter().flat_map(|pair| pair.systems.map(|system| (system, 0))).collect();
        places.values_mut().enumerate().for_each(|(at, place)| *place = at);
        let game = |pair: &Compared<'a>| {
            let outcomes = [0, 1].map(|rater| pair.opinions[rater].outcome(thresholds[rater]));
            (pair.systems.map(|system| places[system]), outcomes, pair.values)
        };
        Self { games: compared.iter().map(game).collect(), systems: places.keys().copied().collect() }
    }

    fn tallies(&self, weights: &[u32]) -> Vec<Tally> {
        let mut tallies = vec![Tally::default(); self.systems.len()];
        for ((systems, outcomes, values), weight) in self.games.iter().zip(weights) {
            let weight = f64::from(*weight);
            for side in 0..2 {
                let tally = &mut tallies[systems[side]];
                let sign = if side == 0 { 1.0 } else { -1.0 };
                tally.n += weight;
                for (won, outcome) in tally.won.iter_mut().zip(outcomes) {
                    *won += weight * f64::midpoint(1.0, sign * f64::from(*outcome));
                }
                match values {
                    Some(values) => tally.sum += weight * values[side],
                    None => tally.unrated += weight,
                }
            }
        }
        tallies
    }
}

/// One system's games.
#[derive(Debug, Clone, Copy, Default)]
struct Tally {
    n: f64,
    won: [f64; 2],
    sum: f64,
    unrated: f64,
}

impl Tally {
    fn rate(&self, rater: usize) -> Option<f64> {
        (self.n > 0.0).then(|| self.won[rater] / self.n)
    }

    fn mean(&self) -> Option<f64> {
        (self.n > 0.0 && self.unrated == 0.0).then(|| self.sum / self.n)
    }
}
