//! One metric prepared for comparison: systems in order, and their shared cases.

use std::collections::BTreeSet;

use super::set_table::SetTable;
use super::{
    ComparisonDepth, ComparisonOptions, MetricId, MetricTable, Observation, Observations,
    ObservedSystem,
};
use crate::quantity::{MeanValues, bounds};
use crate::questions::Questions;
use crate::summary::Metric;
use scholareval_core::domain::SubjectKind;
use scholareval_stats::{
    BootstrapOptions, Interval, MetricValues, SystemWinRate, corrected_interval, mean, rank_among,
};

/// Tolerance for sums in another order.
pub(super) const SAME: f64 = 1e-12;

/// Systems are identified by rank (0 is the best), cases by their index in the observations.
pub(crate) struct SharedCases<'a> {
    pub(super) all: &'a Observations,
    pub(super) table: &'a MetricTable,
    pub(super) options: &'a ComparisonOptions,
    /// Indices of the systems in the observations, best first; those without a value last.
    pub(crate) order: Vec<usize>,
    /// Number of systems with a value.
    pub(super) participants: usize,
    /// All cases, by id, so that file order changes no number.
    pub(crate) by_id: Vec<usize>,
    /// The question of every case, as a number.
    pub(super) question_of: Vec<usize>,
    /// The shared cases, by id; of judged pairs all with a verdict.
    pub(crate) cases: Vec<usize>,
    /// Their questions.
    pub(super) questions: Vec<usize>,
    /// Values of the participants over the shared cases.
    pub(super) values: Vec<Vec<f64>>,
    /// Of judged pairs, the win rate of each system of the observations that has one.
    pub(super) win_rates: Vec<Option<SystemWinRate>>,
}

/// The cases of observations in the order of statistics.
#[derive(Debug)]
pub(crate) struct CaseOrder {
    /// All cases, by id, so that file order changes no number.
    pub(crate) by_id: Vec<usize>,
    /// The question of every case, as a number.
    pub(crate) question_of: Vec<usize>,
}

/// The ranks of these means: 1 is the highest.
pub(super) fn ranks_of(means: &[Option<f64>]) -> Vec<Option<usize>> {
    let mut ranks = Vec::with_capacity(means.len());
    for mean in means {
        ranks.push(mean.map(|mean| rank_among(mean, means.iter().copied().flatten())));
    }
    ranks
}

/// The lists as slices.
pub(super) fn slices(lists: &[Vec<f64>]) -> Vec<&[f64]> {
    lists.iter().map(Vec::as_slice).collect()
}

impl Observations {
    /// The cases by id, and their questions.
    pub(crate) fn case_order(&self) -> CaseOrder {
        let mut by_id: Vec<usize> = (0..self.cases.len()).collect();
        // Draws of a seeded bootstrap are by position: in the order of files, the same data in
        // another order would give other intervals.
        by_id.sort_by(|a, b| self.cases[*a].case_id.cmp(&self.cases[*b].case_id));
        let cases = self.cases.iter();
        let numbers = Questions::of_texts(cases.map(|case| (&case.case_id, &*case.question)));
        let cases = self.cases.iter();
        CaseOrder {
            by_id,
            question_of: cases.map(|case| numbers.number(&case.case_id)).collect(),
        }
    }

    /// The results of `of_metric` for the shared cases of each metric that has one.
    pub(super) fn by_metric<T>(
        &self,
        options: &ComparisonOptions,
        of_metric: impl Fn(&SharedCases<'_>) -> Option<T>,
    ) -> Vec<T> {
        let tables = self.metrics.iter();
        let results = tables.filter_map(|table| of_metric(&SharedCases::of(self, table, options)));
        results.collect()
    }

    /// The first headline metric, with the lowest and the highest mean of a system over the shared cases.
    pub fn headline_range(&self) -> Option<(&MetricId, Interval)> {
        let table = &self.metrics[*self.headline().first()?];
        let options = ComparisonOptions::seeded(0);
        let shared = SharedCases::of(self, table, &options);
        let means: Vec<f64> = (0..shared.participants)
            .filter_map(|rank| shared.mean(rank))
            .collect();
        let low = means.iter().copied().reduce(f64::min)?;
        let high = means.into_iter().fold(low, f64::max);
        Some((&table.metric, Interval::new(low, high)))
    }
}

impl MetricTable {
    /// The number of the whole set that is the metric's column, if there is one.
    pub(super) fn column_set(&self) -> Option<&SetTable> {
        self.sets.iter().find(|set| set.metric == self.metric)
    }

    /// The values of a system over these cases, without those that have none.
    pub(crate) fn values_over(&self, system: usize, cases: &[usize]) -> Vec<f64> {
        let values = cases.iter().map(|case| self.values[system][*case].value());
        values.flatten().collect()
    }
}

impl<'a> SharedCases<'a> {
    pub(crate) fn of(
        all: &'a Observations,
        table: &'a MetricTable,
        options: &'a ComparisonOptions,
    ) -> Self {
        let CaseOrder { by_id, question_of } = all.case_order();
        let mut shared = Self {
            all,
            table,
            options,
            order: Vec::new(),
            participants: 0,
            by_id,
            question_of,
            cases: Vec::new(),
            questions: Vec::new(),
            values: Vec::new(),
            win_rates: Vec::new(),
        };
        let verdicts = shared.verdicts();
        let systems = 0..all.systems.len();
        shared.win_rates = systems
            .map(|system| SystemWinRate::of(system, &verdicts))
            .collect();
        shared.order_systems();
        shared
    }

    /// Puts the best system first, and finds the shared cases with their values.
    fn order_systems(&mut self) {
        let (all, table) = (self.all, self.table);
        // A system without any value would leave no shared case for the others.
        let has_value = |system: usize| {
            let mut row = table.values[system].iter();
            row.any(|observation| observation.value().is_some())
        };
        let (participants, mut without): (Vec<usize>, Vec<usize>) =
            (0..all.systems.len()).partition(|system| has_value(*system));
        let set = table.column_set();
        self.cases = self.by_id.clone();
        self.cases.retain(|case| {
            let has_value = |system: &usize| table.values[*system][*case].value().is_some();
            match (set, all.subject) {
                (Some(set), _) => set.has_shared_part(&participants, *case),
                (None, SubjectKind::Answer) => participants.iter().all(has_value),
                // Every verdict counts, whatever others of its case are missing.
                (None, SubjectKind::Pair) => participants.iter().any(has_value),
            }
        });
        // Without a shared case, order by the means over all cases of each system.
        let (counted, sharing) = if self.cases.is_empty() {
            (&self.by_id, &[][..])
        } else {
            (&self.cases, &participants[..])
        };
        let values_over = |system: usize, cases: &[usize]| match set {
            Some(set) => set.values_over(system, sharing, cases),
            None => table.values_over(system, cases),
        };
        let means: Vec<f64> = (0..all.systems.len())
            .map(|system| match &self.win_rates[system] {
                Some(win_rate) => win_rate.win_rate,
                None => mean(&values_over(system, counted)).unwrap_or(f64::NEG_INFINITY),
            })
            .collect();
        let mut order = participants.clone();
        order.sort_by(|a, b| {
            means[*b]
                .total_cmp(&means[*a])
                .then_with(|| all.systems[*a].label.cmp(&all.systems[*b].label))
        });
        without.sort_by_key(|system| &all.systems[*system].label);
        let cases = self.cases.iter();
        self.questions = cases.map(|case| self.question_of[*case]).collect();
        for system in &order {
            self.values.push(match &self.win_rates[*system] {
                Some(win_rate) => win_rate.values(&self.questions),
                None => values_over(*system, &self.cases),
            });
        }
        self.participants = order.len();
        order.extend(without);
        self.order = order;
    }

    /// The mean of a system over the shared cases.
    pub(crate) fn mean(&self, rank: usize) -> Option<f64> {
        let win_rate = self.win_rate(rank).map(|win_rate| win_rate.win_rate);
        win_rate.or_else(|| mean(self.values.get(rank)?))
    }

    /// The ranks of the systems in their order, by their means over the shared cases.
    pub(crate) fn ranks(&self) -> Vec<Option<usize>> {
        let means = (0..self.order.len()).map(|rank| self.mean(rank));
        ranks_of(&means.collect::<Vec<_>>())
    }

    /// The mean of a system over all its answers, without an interval.
    pub(crate) fn metric(&self, rank: usize) -> Metric {
        let row = &self.table.values[self.order[rank]];
        let observed: Vec<Observation> = self.by_id.iter().map(|case| row[*case]).collect();
        let values: Vec<f64> = observed.iter().filter_map(|value| value.value()).collect();
        let unscored = observed.iter().filter(|value| value.is_unscored());
        Metric {
            estimate: mean(&values),
            n: values.len(),
            unscored: unscored.count(),
            bounds: bounds(&observed),
            ..Metric::default()
        }
    }

    /// The interval of a system's mean over those of these cases that it has a value of.
    pub(crate) fn interval(&self, rank: usize, cases: &[usize]) -> Option<Interval> {
        let values = self.known_values(rank, cases);
        if let Some(drawn) = self.drawn(rank, cases) {
            let questions = Some(&*values.questions);
            return corrected_interval(&values.values, questions, drawn, self.options.level);
        }
        values.interval(self.table.metric.unit, self.bootstrap())
    }

    /// How many verdicts of a dear judge corrected the values of a system in these cases; `None` for values that none corrects.
    fn drawn(&self, rank: usize, cases: &[usize]) -> Option<usize> {
        let row = self.table.drawn.get(self.order[rank])?;
        Some(cases.iter().map(|case| row[*case]).sum())
    }

    /// The same of any two of these systems together: of the two with the fewest.
    fn drawn_of_two(&self, ranks: &[usize], cases: &[usize]) -> Option<usize> {
        let drawn = ranks.iter().map(|rank| self.drawn(*rank, cases));
        let mut drawn: Vec<usize> = drawn.collect::<Option<_>>()?;
        drawn.sort_unstable();
        Some(drawn.iter().take(2).sum())
    }

    /// The values of a system in those of these cases that it has one of.
    pub(super) fn known_values(&self, rank: usize, cases: &[usize]) -> MeanValues {
        let mut values = MeanValues::default();
        for case in cases {
            if let Some(value) = self.observation(rank, *case).value() {
                let net_range = self.net_range(rank, *case);
                values.push(value, self.question_of[*case], net_range);
            }
        }
        values
    }

    /// The system at this rank.
    pub(super) fn system(&self, rank: usize) -> &'a ObservedSystem {
        &self.all.systems[self.order[rank]]
    }

    pub(super) fn bootstrap(&self) -> BootstrapOptions {
        BootstrapOptions::seeded(self.options.seed)
            .level(self.options.level)
            .resamples(self.options.resamples)
    }

    pub(super) fn label(&self, rank: usize) -> &str {
        self.system(rank).label.as_str()
    }

    /// The tested pairs, the better system first: all, those with the baseline, or none.
    pub(super) fn pairs(&self) -> Vec<(usize, usize)> {
        if self.options.depth == ComparisonDepth::Means {
            return Vec::new();
        }
        let mut pairs = Vec::new();
        for first in 0..self.participants {
            for second in first + 1..self.participants {
                if self.is_baseline(first) || self.is_baseline(second) {
                    pairs.push((first, second));
                }
            }
        }
        pairs
    }

    /// Whether the pairs of this system are tested: those of the baseline, or all without one.
    fn is_baseline(&self, rank: usize) -> bool {
        match &self.options.baseline {
            Some(baseline) => baseline == self.label(rank),
            None => true,
        }
    }

    /// Values of the first system less those of the second, by pair.
    pub(super) fn differences(&self, pairs: &[(usize, usize)]) -> Vec<Vec<f64>> {
        pairs.iter().map(|pair| self.difference(*pair)).collect()
    }

    fn difference(&self, (first, second): (usize, usize)) -> Vec<f64> {
        let values = self.values[first].iter().zip(&self.values[second]);
        values.map(|(a, b)| a - b).collect()
    }

    /// The differences that count as wins, ties and losses of a pair: one of each case in which the two were compared.
    pub(super) fn differences_by_case(&self, pair: (usize, usize)) -> Vec<f64> {
        match self.all.subject {
            SubjectKind::Answer => self.difference(pair),
            SubjectKind::Pair => {
                let leads = self.cases.iter().map(|case| self.lead(pair, *case));
                leads.flatten().collect()
            }
        }
    }

    /// What the values of these systems can be in these cases. Net shares lie between the means of the lowest and of the highest
    /// values; without a range for every value, and where one is outside of it (as in compat mode), any numbers.
    pub(super) fn values_of(&self, ranks: &[usize], cases: &[usize]) -> MetricValues {
        if self.table.metric.is_binary() {
            return MetricValues::ZeroOr(1.0);
        }
        if let Some(drawn) = self.drawn_of_two(ranks, cases) {
            return MetricValues::Corrected(drawn);
        }
        let mut sum = 0.0;
        for case in cases {
            let mut widest: f64 = 0.0;
            for rank in ranks {
                let range = self.table.metric.range();
                let Some(range) = range.or_else(|| self.net_range(*rank, *case)) else {
                    return MetricValues::Any;
                };
                let value = self.observation(*rank, *case).value();
                if value.is_some_and(|value| !range.holds(value)) {
                    return MetricValues::Any;
                }
                widest = widest.max(range.high - range.low);
            }
            sum += widest;
        }
        match sum / cases.len() as f64 {
            width if width > 0.0 => MetricValues::Within(width),
            _ => MetricValues::Any,
        }
    }

    /// What the values of all systems can be in the shared cases.
    pub(super) fn metric_values(&self) -> MetricValues {
        let all: Vec<usize> = (0..self.participants).collect();
        self.values_of(&all, &self.cases)
    }

    pub(super) fn observation(&self, rank: usize, case: usize) -> Observation {
        self.table.values[self.order[rank]][case]
    }

    /// What a net share can be in a case: by the answer of this system, or without one by those of the others. `None` for other
    /// units.
    pub(super) fn net_range(&self, rank: usize, case: usize) -> Option<Interval> {
        let ranges = &self.table.net_ranges;
        if let Some(range) = ranges.get(self.order[rank]).and_then(|row| row[case]) {
            return Some(range);
        }
        let all = ranges.iter().filter_map(|row| row[case]);
        all.reduce(|a, b| Interval::new(a.low.min(b.low), a.high.max(b.high)))
    }

    /// The number of cases that the metric applies to.
    pub(super) fn cases_in_all(&self) -> usize {
        let mut cases = self.by_id.clone();
        cases.retain(|case| {
            let mut rows = self.table.values.iter();
            rows.any(|row| row[*case] != Observation::NotApplicable)
        });
        // An aspect that was graded counts a case of which another one was not asked.
        cases.len().max(self.cases.len())
    }

    pub(super) fn distinct_questions(&self) -> usize {
        self.questions.iter().collect::<BTreeSet<_>>().len()
    }
}
