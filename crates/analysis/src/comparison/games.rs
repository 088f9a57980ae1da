//! Judged pairs of answers as observations: who met whom in which case, and who was better.
//!
//! A system's mean is its win rate: the mean over the others of how often it beats each, from all verdicts at hand. A case with a
//! verdict missing keeps the others. Pairs of systems are tested by the verdicts on the two, which [`PairSample`] prepares:
//!
//! - where every pair was compared wherever both have an answer, by what each question says of the pair, so that a test needs no model;
//! - in a circle, where a question compares only some pairs, by strengths (Bradley and Terry), which also use what a third
//!   system says of two.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::shared::{SharedCases, slices};
use super::{
    ComparedCase, MetricId, MetricTable, Observation, Observations, ObservedSystem, RunAnswers,
};
use scholareval_core::domain::{CaseId, ScoredAnswer, SubjectKind, SystemName, Unit};
use scholareval_scorers::pairs::{MUCH_BETTER, PAIRS, WORDS};
use scholareval_stats::{
    BootstrapOptions, Interval, MetricValues, NoStrengths, PairVerdict, PairedFamily, Strengths,
    SystemWinRate, Ties, WinRate, mean, paired_family,
};

/// Fewest questions for values that are adjusted for the place of an answer, or estimated by strengths.
// Below it signs are flipped, which needs the plain value of each question.
const FEWEST_ADJUSTED: usize = 20;

/// A judged pair of answers to a case, in the order in which the judge sees them.
#[derive(Debug, Clone, PartialEq)]
pub struct Game {
    /// Index of the system whose answer is shown first.
    pub first: usize,
    /// Index of the other one.
    pub second: usize,
    /// 1 if the first is better, 0 if the second is, 1/2 for a tie; `None` if it could not be judged.
    pub value: Option<f64>,
    /// The lowest and the highest value it could have.
    pub range: Interval,
    /// Words of the first answer and of the second.
    pub words: Option<[f64; 2]>,
    /// Share of verdicts that call an answer much better, where the judge can say so.
    pub much_better: Option<f64>,
}

impl Game {
    /// Its values for this system: the lowest and the highest; `None` if the system has no part in it.
    fn range_of(&self, system: usize) -> Option<Interval> {
        if self.first == system {
            return Some(self.range);
        }
        let Interval { low, high } = self.range;
        (self.second == system).then(|| Interval::new(1.0 - high, 1.0 - low))
    }

    /// Whether these two meet in it.
    pub(super) fn is_between(&self, first: usize, second: usize) -> bool {
        [self.first, self.second] == [first, second] || [self.second, self.first] == [first, second]
    }
}

/// Tabulates the pairs of a run: one metric, the win rate.
pub(super) fn observe_games(run: &RunAnswers<'_>) -> Observations {
    let systems = systems_of(run);
    let mut cases: Vec<ComparedCase> = Vec::new();
    let mut case_of: HashMap<CaseId, usize> = HashMap::new();
    let system_of: HashMap<&SystemName, usize> = systems.iter().zip(0..).collect();
    let mut games: Vec<Vec<Game>> = Vec::new();
    for answer in run.scored {
        let Some([first, second]) = &answer.systems else {
            continue;
        };
        let id = &answer.case.case_id;
        let case = *case_of.entry(id.clone()).or_insert_with(|| {
            cases.push(ComparedCase {
                case_id: id.clone(),
                question: answer.case.initial_prompt.trim().into(),
            });
            cases.len() - 1
        });
        games.resize(cases.len(), Vec::new());
        games[case].push(game(answer, system_of[first], system_of[second]));
    }
    let mut values = Vec::with_capacity(systems.len());
    for system in 0..systems.len() {
        let by_case = games.iter().map(|games| observation(games, system));
        values.push(by_case.collect::<Vec<_>>());
    }
    for (system, case) in run.unanswered.iter().flatten() {
        if let (Some(system), Some(case)) = (system_of.get(system), case_of.get(case))
            && values[*system][*case] == Observation::NotApplicable
        {
            values[*system][*case] = Observation::Missing;
        }
    }
    let first = run.scored.first();
    let scorer = first.map_or_else(|| PAIRS.name.into(), |answer| answer.score.scorer.clone());
    let name = if scorer.is_baseline() {
        "lexical_win_rate"
    } else {
        "win_rate"
    };
    let metric = MetricId::new(&scorer, name.to_owned(), Unit::Share);
    let table = MetricTable {
        metric,
        values,
        samples: None,
        votes: false,
        net_ranges: Vec::new(),
        drawn: Vec::new(),
        games,
        sets: Vec::new(),
    };
    Observations {
        subject: SubjectKind::Pair,
        systems: systems.into_iter().map(observed).collect(),
        cases,
        metrics: vec![table],
        ..Observations::default()
    }
}

/// The systems by name.
fn systems_of(run: &RunAnswers<'_>) -> Vec<SystemName> {
    let mut systems: BTreeSet<SystemName> = BTreeSet::new();
    for answer in run.scored {
        systems.extend(answer.systems.iter().flatten().cloned());
    }
    let unanswered = run.unanswered.iter().flatten();
    systems.extend(unanswered.map(|(system, _)| system.clone()));
    systems.into_iter().collect()
}

fn observed(system: SystemName) -> ObservedSystem {
    ObservedSystem {
        label: system.to_string(),
        system,
        run: 0,
    }
}

fn game(answer: &ScoredAnswer, first: usize, second: usize) -> Game {
    let score = &answer.score;
    let count = |name: &str| score.component(name).and_then(|component| component.value);
    let [own_words, other_words] = WORDS.map(count);
    let range = match score.value {
        Some(value) => Interval::new(value, value),
        // Of an unfinished run, what was not asked has the components of other cases, whose weights add to more.
        None => Interval::new(score.filled(0.0).0.max(0.0), score.filled(1.0).0.min(1.0)),
    };
    Game {
        first,
        second,
        value: score.value,
        range,
        words: own_words.zip(other_words).map(<[f64; 2]>::from),
        much_better: count(MUCH_BETTER),
    }
}

/// The mean of the lowest values that a system could have in these games, that of the highest ones, and that of its verdicts.
fn means_of(system: usize, games: &[Game], other: usize) -> [Option<f64>; 3] {
    let mut values: [Vec<f64>; 3] = Default::default();
    for game in games.iter().filter(|game| game.is_between(system, other)) {
        if let Some(range) = game.range_of(system) {
            values[0].push(range.low);
            values[1].push(range.high);
            values[2].extend(game.value.map(|_| range.low));
        }
    }
    values.map(|list| mean(&list))
}

/// The mean over those whom a system met in a case of its verdicts against each, so that one counts no more for being met in both
/// orders; where verdicts are missing, of those at hand.
fn observation(games: &[Game], system: usize) -> Observation {
    let games_of_system = games.iter().filter(|game| game.range_of(system).is_some());
    let others = games_of_system.map(|game| game.first + game.second - system);
    let others: BTreeSet<usize> = others.collect();
    let others = others.into_iter();
    let met: Vec<[Option<f64>; 3]> = others.map(|other| means_of(system, games, other)).collect();
    let [low, high, known] = [0, 1, 2].map(|kind| {
        let against = met.iter().filter_map(|means| means[kind]);
        mean(&against.collect::<Vec<_>>())
    });
    match (low.zip(high), known) {
        (Some((low, high)), _) if low == high => Observation::Value(low),
        (Some((low, high)), Some(value)) => Observation::Counted(value, Interval { low, high }),
        (Some((low, high)), None) => Observation::Unscored(Interval { low, high }),
        (None, _) => Observation::NotApplicable,
    }
}

/// What pairs of systems are tested by.
pub(super) struct PairSample {
    /// For each pair one value a question or case.
    pub(super) differences: Vec<Vec<f64>>,
    /// The question of each value.
    pub(super) questions: Vec<usize>,
    /// What the values can be.
    values: MetricValues,
    /// Whether the values are differences of strengths, and not of win rates.
    pub(super) is_of_strengths: bool,
    /// The win rates by which the pairs are tested; empty for strengths and few questions, which are tested by their values.
    win_rates: Vec<WinRate>,
}

impl PairSample {
    /// The tests of the pairs.
    pub(super) fn family(&self, options: BootstrapOptions) -> Option<PairedFamily> {
        if !self.win_rates.is_empty() {
            return WinRate::family(&self.win_rates, options);
        }
        let lists = slices(&self.differences);
        paired_family(&lists, Some(&self.questions), self.values, options)
    }
}

impl SharedCases<'_> {
    /// The verdicts of all cases: where one order has no verdict, the other one still counts.
    pub(super) fn verdicts(&self) -> Vec<PairVerdict> {
        self.verdicts_by(|game| game.value)
    }

    /// The verdicts that a judged pair stands for by `value`.
    fn verdicts_by(&self, value: impl Fn(&Game) -> Option<f64>) -> Vec<PairVerdict> {
        let mut verdicts = Vec::new();
        for case in &self.by_id {
            let question = self.question_of[*case];
            for game in self.games_of(*case) {
                if let Some(value) = value(game) {
                    verdicts.push(PairVerdict::new(question, game.first, game.second, value));
                }
            }
        }
        verdicts
    }

    /// The win rate of a system against the others that it met; `None` for other metrics.
    pub(super) fn win_rate(&self, rank: usize) -> Option<&SystemWinRate> {
        self.win_rates[self.order[rank]].as_ref()
    }

    /// The same with all missing verdicts against the system, and in favor of it.
    pub(super) fn win_rate_bounds(&self, rank: usize) -> Option<Interval> {
        let system = self.order[rank];
        let [low, high] = [false, true].map(|is_best| {
            let verdicts = self.verdicts_by(|game| {
                let Interval { low, high } = game.range;
                let is_highest = is_best == (game.first == system);
                Some(if is_highest { high } else { low })
            });
            SystemWinRate::of(system, &verdicts).map(|win_rate| win_rate.win_rate)
        });
        low.zip(high).map(|(low, high)| Interval { low, high })
    }

    /// The judged pairs of a case.
    pub(super) fn games_of(&self, case: usize) -> &[Game] {
        self.table.games.get(case).map_or(&[], Vec::as_slice)
    }

    /// What these pairs are tested by: the values of both systems in each shared case, or the verdicts on the two. `None` where the
    /// verdicts allow no test.
    pub(super) fn pair_sample(&self, ranks: &[(usize, usize)]) -> Option<PairSample> {
        match self.all.subject {
            SubjectKind::Answer => Some(PairSample {
                differences: self.differences(ranks),
                questions: self.questions.clone(),
                values: self.metric_values(),
                is_of_strengths: false,
                win_rates: Vec::new(),
            }),
            SubjectKind::Pair => self.verdict_sample(ranks),
        }
    }

    fn verdict_sample(&self, ranks: &[(usize, usize)]) -> Option<PairSample> {
        let verdicts = self.verdicts();
        let distinct: BTreeSet<usize> = verdicts.iter().map(|verdict| verdict.question).collect();
        let questions: Vec<usize> = distinct.into_iter().collect();
        let is_enough = questions.len() >= FEWEST_ADJUSTED;
        if self.is_circle(ranks) {
            // A circle: strengths, which need enough questions for their errors.
            let strengths = strengths_by_rank(self, &verdicts, Ties::Half).ok();
            let strengths = strengths.filter(|_| is_enough)?;
            let ranks = ranks.iter();
            let differences = ranks.map(|(first, second)| strengths.pseudo_values(*first, *second));
            return Some(PairSample {
                differences: differences.collect(),
                questions,
                values: MetricValues::Any,
                is_of_strengths: true,
                win_rates: Vec::new(),
            });
        }
        let mut differences = Vec::with_capacity(ranks.len());
        let mut win_rates = Vec::new();
        for pair in ranks {
            let [first, second] = [self.order[pair.0], self.order[pair.1]];
            let by_place = is_enough || !self.is_in_one_order(*pair);
            let values = WinRate::pseudo_values(first, second, &verdicts, &questions, by_place)?;
            differences.push(values);
            if is_enough {
                win_rates.push(WinRate::of(first, second, &verdicts)?);
            }
        }
        Some(PairSample {
            differences,
            questions,
            values: MetricValues::Any,
            is_of_strengths: false,
            win_rates,
        })
    }

    /// Whether some of these pairs were not compared in a case in which both systems met others.
    pub(super) fn is_circle(&self, ranks: &[(usize, usize)]) -> bool {
        let has_met = |rank: usize, case: usize| self.observation(rank, case).range().is_some();
        let mut ranks = ranks.iter();
        ranks.any(|pair| {
            let mut met = self.by_id.iter();
            met.any(|case| {
                let is_left_out = self.lead_range(*pair, *case).is_none();
                is_left_out && has_met(pair.0, *case) && has_met(pair.1, *case)
            })
        })
    }

    /// By how much the first system's share of a pair's verdicts is above the second's in a case: -1..=1.
    pub(super) fn lead(&self, (first, second): (usize, usize), case: usize) -> Option<f64> {
        let [_, _, known] = means_of(self.order[first], self.games_of(case), self.order[second]);
        Some(2.0 * known? - 1.0)
    }

    /// The lowest and the highest lead in a case; `None` if the two were not compared there.
    pub(super) fn lead_range(
        &self,
        (first, second): (usize, usize),
        case: usize,
    ) -> Option<Interval> {
        let [low, high, _] = means_of(self.order[first], self.games_of(case), self.order[second]);
        Some(Interval::new(low?, high?).map(|end| 2.0 * end - 1.0))
    }

    /// Whether these two were compared in both places, but never in both orders of one question: then the values of each place vary
    /// around a mean of that place.
    pub(super) fn is_in_one_order(&self, (first, second): (usize, usize)) -> bool {
        let win_rate = WinRate::of(self.order[first], self.order[second], &self.verdicts());
        win_rate.is_some_and(|win_rate| {
            win_rate.position_effect.is_some() && win_rate.orders.questions == 0
        })
    }
}

/// The strengths of the systems in the order of their ranks; the worth of the first place is part of the model where some pair was
/// judged in both orders. With one order of each pair only the assumption of one scale for all would separate it from the strengths.
///
/// # Errors
/// Why they do not exist.
pub(super) fn strengths_by_rank(
    shared: &SharedCases<'_>,
    verdicts: &[PairVerdict],
    ties: Ties,
) -> Result<Strengths, NoStrengths> {
    let rank_of: BTreeMap<usize, usize> = shared.order.iter().copied().zip(0..).collect();
    let mut ranked = Vec::with_capacity(verdicts.len());
    for verdict in verdicts {
        ranked.push(PairVerdict {
            first: rank_of[&verdict.first],
            second: rank_of[&verdict.second],
            ..*verdict
        });
    }
    let shown = ranked.iter().map(|verdict| (verdict.first, verdict.second));
    let shown: BTreeSet<(usize, usize)> = shown.collect();
    let has_both_orders = shown
        .iter()
        .any(|(first, second)| shown.contains(&(*second, *first)));
    let strengths = Strengths::of(shared.participants, &ranked, ties, has_both_orders);
    match strengths {
        // The place decides every verdict, so that its worth has no limit: without it the systems are equal.
        Err(NoStrengths::Position) => Strengths::of(shared.participants, &ranked, ties, false),
        strengths => strengths,
    }
}

/// A difference of strengths as one of win rates: 2 / (1 + exp(-d)) - 1.
pub(super) fn lead_of_strengths(difference: f64) -> f64 {
    (difference / 2.0).tanh()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::comparison::{Comparison, ComparisonOptions, PairComparison, compare};
    use scholareval_core::domain::{Answer, Component, ComponentKind, Item, Score, TestCase};

    /// A comparison in a case, with the value of the first system.
    fn judged(case: usize, first: &str, second: &str, value: Option<f64>) -> Arc<ScoredAnswer> {
        let case = Arc::new(TestCase::without_rubric(
            format!("c{case:03}").into(),
            &format!("Question {case}?"),
        ));
        let answer = |system: &str| Answer::new(system.into(), case.case_id.clone(), system);
        let item = Item::pair(Arc::clone(&case), answer(first), answer(second));
        let mut component = Component::new("preference", ComponentKind::Criterion).with_weight(1.0);
        component.value = value;
        let score = Score {
            scorer: PAIRS.name.into(),
            value,
            components: vec![component],
            ..Score::default()
        };
        Arc::new(ScoredAnswer::of_item(&item, score))
    }

    fn compared(scored: &[Arc<ScoredAnswer>]) -> Comparison {
        let run = RunAnswers {
            name: "run",
            scored,
            ..RunAnswers::default()
        };
        compare(&observe_games(&run), &ComparisonOptions::seeded(1))
    }

    #[test]
    fn a_systems_value_in_a_case_is_the_mean_over_those_it_met() {
        let scored = [
            judged(0, "a", "b", Some(1.0)),
            judged(0, "b", "a", Some(0.5)),
            judged(0, "a", "c", Some(0.0)),
        ];
        let observed = observe_games(&RunAnswers {
            name: "run",
            scored: &scored,
            ..RunAnswers::default()
        });
        // a: 1 and 1/2 against b, 0 against c; b: 0 and 1/2; c: 1.
        let values: Vec<Option<f64>> = observed.metrics[0]
            .values
            .iter()
            .map(|row| row[0].value())
            .collect();
        assert_eq!(values, [Some(0.375), Some(0.25), Some(1.0)]);
    }

    /// The values of a system in a case when shown first and second.
    type BothPlaces = [Option<f64>; 2];

    /// Pairs of systems in both orders, with the values of the first by case.
    fn both_orders(pairs: &[(&str, &str, &[BothPlaces])]) -> Vec<Arc<ScoredAnswer>> {
        let mut scored = Vec::new();
        for (first, second, values) in pairs {
            for (case, [first_value, second_value]) in values.iter().enumerate() {
                scored.push(judged(case, first, second, *first_value));
                scored.push(judged(
                    case,
                    second,
                    first,
                    second_value.map(|value| 1.0 - value),
                ));
            }
        }
        scored
    }

    const WIN: BothPlaces = [Some(1.0); 2];
    const LOSS: BothPlaces = [Some(0.0); 2];
    const SPLIT: BothPlaces = [Some(1.0), Some(0.0)];

    #[test]
    fn a_missing_verdict_leaves_the_others_of_its_case() {
        let scored = both_orders(&[("a", "b", &[[Some(1.0), None], WIN, SPLIT, SPLIT])]);
        let comparison = compared(&scored);
        let metric = &comparison.metrics[0];
        let a = &metric.systems[0];
        assert_eq!((a.label.as_str(), a.unscored, a.own_cases), ("a", 1, 4));
        assert_eq!((metric.cases.len(), metric.questions), (4, 4));
        // Shown first 4 of 4, shown second 1 of 3; the missing one could make it 1 or 2 of 4.
        let expected = f64::midpoint(1.0, 1.0 / 3.0);
        assert_eq!((a.mean, a.own_mean), (Some(expected), Some(expected)));
        let bounds = Interval {
            low: 0.625,
            high: 0.75,
        };
        assert_eq!(a.bounds, Some(bounds));
        let pairwise = comparison.pairwise.unwrap();
        assert_eq!(pairwise.unscored, 1);
        let pair = &pairwise.pairs[0];
        assert_eq!(
            (Some(pair.rate.win_rate), pair.interval),
            (a.mean, a.interval)
        );
        // 2 W - 1, although the case with one verdict says 1.
        assert!((metric.pairs[0].difference - (2.0 * expected - 1.0)).abs() < 1e-12);
    }

    #[test]
    fn a_system_without_a_complete_case_has_a_win_rate_and_a_strength() {
        let gap = [Some(1.0), None];
        let scored = both_orders(&[
            ("a", "b", &[WIN, SPLIT, LOSS, WIN]),
            ("a", "c", &[gap, [None, Some(0.0)], gap, [None; 2]]),
            ("b", "c", &[WIN, [None, Some(1.0)], LOSS, [None, Some(0.0)]]),
        ]);
        let comparison = compared(&scored);
        let metric = &comparison.metrics[0];
        assert_eq!(metric.cases.len(), 4);
        let mean = |label: &str| {
            let mut systems = metric.systems.iter();
            systems
                .find(|system| system.label == label)
                .unwrap()
                .mean
                .unwrap()
        };
        // a against b: (3/4 + 2/4) / 2, against c: (2/2 + 0/1) / 2. b against c: (1/2 + 2/4) / 2.
        assert_eq!(mean("a"), f64::midpoint(0.625, 0.5));
        assert_eq!(mean("b"), f64::midpoint(0.375, 0.5));
        assert_eq!(mean("c"), f64::midpoint(0.5, 0.5));
        let pairwise = comparison.pairwise.unwrap();
        assert_eq!(pairwise.no_strengths, None);
        assert!(
            pairwise
                .strengths
                .iter()
                .all(|system| system.strength.is_some())
        );
        // Every pair was compared in every case: no circle, although nothing on a and c could be read in the last one.
        assert!(!pairwise.is_circle && metric.pairs.iter().all(|pair| pair.p.is_some()));
    }

    #[test]
    fn a_question_without_a_verdict_on_a_pair_is_no_evidence() {
        // a beats b in five of six questions; of the sixth nothing could be read.
        let scored = both_orders(&[
            ("a", "b", &[WIN, WIN, WIN, WIN, WIN, [None; 2]]),
            ("a", "c", &[WIN, LOSS, WIN, LOSS, WIN, LOSS]),
            ("b", "c", &[LOSS, WIN, LOSS, WIN, WIN, LOSS]),
        ]);
        let comparison = compared(&scored);
        let metric = &comparison.metrics[0];
        let label = |rank: usize| metric.systems[rank].label.as_str();
        let mut pairs = metric.pairs.iter();
        let is_wanted =
            |pair: &&PairComparison| [label(pair.first), label(pair.second)] == ["a", "b"];
        let pair = pairs.find(is_wanted).unwrap();
        // Five wins of five: 2 of 32 assignments, and not 2 of 64.
        assert_eq!((pair.difference, pair.pointwise_p), (1.0, Some(2.0 / 32.0)));
    }

    #[test]
    fn the_first_place_has_a_worth_only_where_a_pair_has_both_orders() {
        // a before b and b before c win 14 of 15, c before a 7: without a worth of the place, 14/15 - 2/3 = 4/5 - 8/15 = 4/15 leave
        // the strengths ln 2, 0 and -ln 2. With one, 2 x the first and the third differ by ln 14 + ln(8/7).
        let mut scored = Vec::new();
        for case in 0..15 {
            let won = |of_15: usize| Some(f64::from(u8::from(case < of_15)));
            scored.push(judged(case, "a", "b", won(14)));
            scored.push(judged(case, "b", "c", won(14)));
            scored.push(judged(case, "c", "a", won(7)));
        }
        let strengths = |scored: &[Arc<ScoredAnswer>]| {
            let strengths = compared(scored).pairwise.unwrap().strengths;
            strengths
                .iter()
                .map(|system| system.strength.unwrap())
                .collect::<Vec<_>>()
        };
        for (strength, expected) in
            strengths(&scored)
                .iter()
                .zip([2.0_f64.ln(), 0.0, -(2.0_f64.ln())])
        {
            assert!((strength - expected).abs() < 1e-9, "{strength}");
        }
        // The other order of one pair: 14 to 1 for the place there.
        for case in 0..15 {
            let won = Some(f64::from(u8::from(case < 14)));
            scored.push(judged(case, "b", "a", won));
        }
        let [a, b, _] = strengths(&scored)[..] else {
            panic!("three systems");
        };
        assert!((a - b).abs() < 0.5, "{a} {b}");
    }

    #[test]
    fn few_questions_are_tested_by_what_each_says_of_the_pair() {
        let mut scored = Vec::new();
        for case in 0..6 {
            scored.push(judged(case, "a", "b", Some(1.0)));
            scored.push(judged(
                case,
                "b",
                "a",
                Some(if case == 0 { 1.0 } else { 0.0 }),
            ));
        }
        let comparison = compared(&scored);
        let pair = &comparison.metrics[0].pairs[0];
        // Five wins in both orders; in one question each order has another winner, a tie.
        assert_eq!((pair.wins, pair.ties, pair.losses), (5, 1, 0));
        assert!((pair.difference - 5.0 / 6.0).abs() < 1e-12);
        // 2 of 32 assignments of the five that are not 0.
        assert_eq!(pair.p, Some(2.0 / 32.0));
    }

    #[test]
    fn a_circle_is_tested_by_strengths_from_twenty_questions_on() {
        let circle = |cases: usize| {
            let mut scored = Vec::new();
            for case in 0..cases {
                // Of four systems two pairs a question, so that no pair is in every one. The first by name wins three times of four.
                let pairs = match case % 3 {
                    0 => [("a", "b"), ("c", "d")],
                    1 => [("b", "c"), ("d", "a")],
                    _ => [("a", "c"), ("b", "d")],
                };
                for (first, second) in pairs {
                    let is_expected = (case / 3) % 4 != 3;
                    let value = f64::from(u8::from((first < second) == is_expected));
                    scored.push(judged(case, first, second, Some(value)));
                }
            }
            compared(&scored)
        };
        let few = circle(12);
        assert!(few.metrics[0].pairs.iter().all(|pair| pair.p.is_none()));
        let many = circle(48);
        let pair = &many.metrics[0].pairs[0];
        assert!(pair.p.is_some() && pair.standard_error.is_none());
        let interval = pair.interval.unwrap();
        assert!(interval.low > -1.0 && interval.high < 1.0, "{interval:?}");
        let strengths = many.pairwise.unwrap().strengths;
        let sum: f64 = strengths.iter().filter_map(|system| system.strength).sum();
        assert!(sum.abs() < 1e-9);
    }

    #[test]
    fn systems_that_beat_each_other_in_a_circle_are_named() {
        let mut scored = Vec::new();
        for case in 0..8 {
            for (first, second) in [("a", "b"), ("b", "c"), ("c", "a")] {
                scored.push(judged(case, first, second, Some(1.0)));
                scored.push(judged(case, second, first, Some(0.0)));
            }
        }
        let pairwise = compared(&scored).pairwise.unwrap();
        assert_eq!((pairwise.triads, pairwise.cyclic_triads), (8, 8));
        assert_eq!(pairwise.cycles.len(), 1);
    }
}
