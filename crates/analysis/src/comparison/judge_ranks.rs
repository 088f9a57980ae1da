//! Ranks of systems under several judges of the same answers, or with several prompt sets.
//!
//! With y the mean of a system by a judge, it is split as in a table of two ways: `y = m + (a - m) + b + r`, with m the mean of all, a the
//! mean of the system over judges, b the offset of the judge (its severity), and r the residual, by which the judge favors the system.
//! Offsets change no rank, residuals do.

use serde::Serialize;

use super::judge_change::{Shift, index_pairs, order_tests, paired_tests, systems_of_all};
use super::shared::{SAME, SharedCases};
use super::{ComparisonOptions, MetricId, Observations};
use scholareval_core::domain::SystemName;
use scholareval_stats::{Interval, MetricValues, holm_adjusted, mean, rank_among, sd, t_quantile};

/// Fewest judges for intervals over judges: as for anchor systems, a spread of fewer says little about a further one.
pub const FEWEST_JUDGES: usize = 5;

/// The ranks of the systems by one metric under each judge, over the cases with a value of every system in every run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct JudgeRanks {
    /// The metric.
    pub metric: MetricId,
    /// Shared cases.
    pub cases: usize,
    /// Distinct questions among them.
    pub questions: usize,
    /// The mean over systems and judges.
    pub grand_mean: f64,
    /// The judges, in the order of their runs.
    pub judges: Vec<JudgeOffset>,
    /// The systems, best by their mean over judges first.
    pub systems: Vec<SystemRanks>,
    /// All pairs of systems, the better one by its mean over judges first.
    pub pairs: Vec<SystemOrder>,
}

/// How severe a judge is.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct JudgeOffset {
    /// The run by the judge.
    pub run: String,
    /// The mean over systems.
    pub mean: f64,
    /// That mean less the mean of all; intervals and p are of all judges simultaneously.
    pub offset: Shift,
}

/// A system under each judge; lists are in the order of the judges.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SystemRanks {
    /// The system.
    pub system: SystemName,
    /// Its mean over judges.
    pub mean: f64,
    /// Where its mean over further judges lies, for these questions; `None` for fewer than [`FEWEST_JUDGES`].
    pub interval: Option<Interval>,
    /// Its means.
    pub means: Vec<f64>,
    /// Its ranks; equal means share a rank.
    pub ranks: Vec<usize>,
    /// Its means less its mean over judges and the offsets; intervals and p are of all systems and judges simultaneously.
    pub residuals: Vec<Shift>,
    /// Whether its order with every other system holds, so that its rank is the same under every judge.
    pub holds: bool,
}

/// The order of two systems.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SystemOrder {
    /// The systems.
    pub systems: [SystemName; 2],
    /// Mean of first minus second by each judge.
    pub differences: Vec<f64>,
    /// The largest p of the pair under any judge, 1 where signs differ, adjusted for all pairs (Holm).
    pub p: f64,
    /// Whether the first is significantly better under every judge: `p` below 1 - level.
    pub holds: bool,
}

/// The ranks under the judges of these runs (index and name), by every metric that has values of all on at least two questions.
/// Empty for fewer than two runs.
pub fn judge_ranks(
    all: &Observations,
    runs: &[(usize, &str)],
    options: &ComparisonOptions,
) -> Vec<JudgeRanks> {
    if runs.len() < 2 {
        return Vec::new();
    }
    all.by_metric(options, |shared| ranks_by_metric(shared, runs))
}

fn ranks_by_metric(shared: &SharedCases<'_>, runs: &[(usize, &str)]) -> Option<JudgeRanks> {
    let grid = JudgeGrid::of(shared, runs);
    let pairs = grid.orders()?;
    let judges = grid.judges(runs)?;
    Some(JudgeRanks {
        metric: shared.table.metric.clone(),
        cases: shared.cases.len(),
        questions: shared.distinct_questions(),
        grand_mean: mean_of(judges.iter().map(|judge| judge.mean)),
        systems: grid.systems(&pairs)?,
        judges,
        pairs,
    })
}

/// The values of one metric by system, judge and case.
struct JudgeGrid<'a> {
    shared: &'a SharedCases<'a>,
    /// The ranks among all systems of all runs, by system (best first) and judge.
    ranks: Vec<Vec<usize>>,
    /// The means by system and judge.
    means: Vec<Vec<f64>>,
}

impl<'a> JudgeGrid<'a> {
    fn of(shared: &'a SharedCases<'a>, runs: &[(usize, &str)]) -> Self {
        let indices: Vec<usize> = runs.iter().map(|(run, _)| *run).collect();
        let mut rows = Vec::new();
        for ranks in systems_of_all(shared, &indices) {
            let means = ranks.iter().filter_map(|rank| mean(&shared.values[*rank]));
            let means: Vec<f64> = means.collect();
            rows.push((mean_of(means.iter().copied()), ranks, means));
        }
        // Equal ones stay in the order of the first run.
        rows.sort_by(|a, b| b.0.total_cmp(&a.0));
        let mut grid = Self {
            shared,
            ranks: Vec::new(),
            means: Vec::new(),
        };
        for (_, ranks, means) in rows {
            grid.ranks.push(ranks);
            grid.means.push(means);
        }
        grid
    }

    fn system(&self, at: usize) -> SystemName {
        self.shared.system(self.ranks[at][0]).system.clone()
    }

    /// The order of every pair. `None` without systems and for fewer than two questions.
    ///
    /// That a pair has the same order under every judge is an alternative that each judge's test must support: the largest of their p is
    /// a p of it (intersection-union test; R. L. Berger, Technometrics 24, 1982), so that only pairs need an adjustment.
    fn orders(&self) -> Option<Vec<SystemOrder>> {
        let judges = 0..self.ranks.first()?.len();
        let mut by_judge = Vec::new();
        for judge in judges {
            by_judge.push(order_tests(self.shared, &self.ranks, judge)?);
        }
        let mut orders = Vec::new();
        for (at, (first, second)) in index_pairs(self.ranks.len()).into_iter().enumerate() {
            let tests: Vec<_> = by_judge.iter().map(|tests| tests[at]).collect();
            let is_same = tests.iter().all(|test| test.difference > SAME);
            let largest = tests
                .iter()
                .map(|test| test.pointwise_p)
                .fold(0.0, f64::max);
            orders.push(SystemOrder {
                systems: [first, second].map(|at| self.system(at)),
                differences: tests.iter().map(|test| test.difference).collect(),
                p: if is_same { largest } else { 1.0 },
                holds: false,
            });
        }
        let p: Vec<f64> = orders.iter().map(|order| order.p).collect();
        for (order, p) in orders.iter_mut().zip(holm_adjusted(&p)) {
            order.p = p;
            order.holds = p < self.shared.bootstrap().alpha();
        }
        Some(orders)
    }

    /// The judges with their offsets; `None` for fewer than two questions.
    fn judges(&self, runs: &[(usize, &str)]) -> Option<Vec<JudgeOffset>> {
        let count = runs.len() as f64;
        let offsets = self.effects(1.0 - 1.0 / count, |case| case.offsets())?;
        let mut judges = Vec::new();
        for (judge, ((_, name), offset)) in runs.iter().zip(offsets).enumerate() {
            judges.push(JudgeOffset {
                run: (*name).to_owned(),
                mean: mean_of(self.means.iter().map(|means| means[judge])),
                offset,
            });
        }
        Some(judges)
    }

    /// The systems with their residuals; `None` for fewer than two questions.
    fn systems(&self, pairs: &[SystemOrder]) -> Option<Vec<SystemRanks>> {
        let [systems, judges] = [self.ranks.len(), self.ranks.first()?.len()];
        // The weight of the value itself, and as much for all values of other systems by other judges.
        let mut weight = 2.0;
        for count in [systems, judges] {
            weight *= 1.0 - 1.0 / count as f64;
        }
        let residuals = self.effects(weight, CaseGrid::residuals)?;
        let mut rows = Vec::new();
        for (at, residuals) in residuals.chunks(judges).enumerate() {
            let system = self.system(at);
            let means = &self.means[at];
            let mut of_system = pairs.iter().filter(|pair| pair.systems.contains(&system));
            let ranks = (0..judges).map(|judge| {
                rank_among(means[judge], self.means.iter().map(|others| others[judge]))
            });
            rows.push(SystemRanks {
                mean: mean_of(means.iter().copied()),
                interval: over_judges(means, self.shared.options.level),
                ranks: ranks.collect(),
                residuals: residuals.to_vec(),
                holds: systems > 1 && of_system.all(|pair| pair.holds),
                means: means.clone(),
                system,
            });
        }
        Some(rows)
    }

    /// The means of linear combinations of the values of a case, with intervals that resample questions; they are one family. The
    /// positive weights of each combination add to `weight`.
    fn effects(&self, weight: f64, of_case: impl Fn(&CaseGrid) -> Vec<f64>) -> Option<Vec<Shift>> {
        let mut lists: Vec<Vec<f64>> = Vec::new();
        for case in 0..self.shared.cases.len() {
            let effects = of_case(&self.case(case));
            lists.resize(effects.len(), Vec::new());
            for (list, effect) in lists.iter_mut().zip(effects) {
                list.push(effect);
            }
        }
        // Residuals of a single system are all 0 and have no range.
        let values = if weight > 0.0 {
            self.shared.metric_values().combined(weight)
        } else {
            MetricValues::Any
        };
        let tests = paired_tests(self.shared, &lists, values)?;
        let alpha = self.shared.bootstrap().alpha();
        Some(tests.iter().map(|test| Shift::of(test, alpha)).collect())
    }

    fn case(&self, case: usize) -> CaseGrid {
        let mut values = Vec::new();
        for ranks in &self.ranks {
            let of_system = ranks.iter().map(|rank| self.shared.values[*rank][case]);
            values.push(of_system.collect());
        }
        CaseGrid { values }
    }
}

/// The values of a case by system and judge.
struct CaseGrid {
    values: Vec<Vec<f64>>,
}

impl CaseGrid {
    /// The mean over systems less the mean of all, by judge.
    fn offsets(&self) -> Vec<f64> {
        let judges = 0..self.values[0].len();
        let means = judges.map(|judge| mean_of(self.values.iter().map(|row| row[judge])));
        let means: Vec<f64> = means.collect();
        let all = mean_of(means.iter().copied());
        means.into_iter().map(|mean| mean - all).collect()
    }

    /// The value less the mean of its system and the offset of its judge; all judges of the first system first.
    fn residuals(&self) -> Vec<f64> {
        let offsets = self.offsets();
        let mut residuals = Vec::new();
        for row in &self.values {
            let of_system = mean_of(row.iter().copied());
            for (value, offset) in row.iter().zip(&offsets) {
                residuals.push(value - of_system - offset);
            }
        }
        residuals
    }
}

fn mean_of(values: impl Iterator<Item = f64>) -> f64 {
    mean(&values.collect::<Vec<f64>>()).unwrap_or_default()
}

/// Student's interval of the mean of a system over judges, who are the units.
fn over_judges(means: &[f64], level: f64) -> Option<Interval> {
    if means.len() < FEWEST_JUDGES {
        return None;
    }
    let count = means.len() as f64;
    let t = t_quantile(f64::midpoint(1.0, level), count - 1.0)?;
    let half = t * sd(means)? / count.sqrt();
    Some(Interval::around(mean(means)?, half))
}

#[cfg(test)]
mod tests {
    use super::super::compare_tests::{assert_close, quick, table};
    use super::*;

    const RUNS: [(usize, &str); 5] = [(0, "o"), (1, "n"), (2, "p"), (3, "q"), (4, "r")];

    /// Systems (rows) with these means by judges (columns), over so many questions. Values differ from the means by up to 0.015, by
    /// another amount for each system and judge, and in every four questions by 0 in all.
    fn judged(means: &[&[f64]], questions: usize) -> Observations {
        let names = ["a", "b", "c"];
        let mut rows = Vec::new();
        for judge in 0..means[0].len() {
            for (at, of_system) in means.iter().enumerate() {
                let noise = |case: usize| 0.01 * (((case + at + judge) % 4) as f64 - 1.5);
                let values = (0..questions).map(|case| of_system[judge] + noise(case));
                rows.push((judge, names[at], values.collect::<Vec<f64>>()));
            }
        }
        let labeled: Vec<(&str, &[f64])> = rows
            .iter()
            .map(|(_, name, values)| (*name, &values[..]))
            .collect();
        let mut all = table(&labeled);
        for (system, (judge, name, _)) in all.systems.iter_mut().zip(&rows) {
            system.run = *judge;
            system.label = format!("{judge}/{name}");
        }
        all
    }

    /// The third judge favors `c`, which it ranks above `b`.
    fn three_by_three(questions: usize) -> JudgeRanks {
        let all = judged(
            &[&[0.8, 0.7, 0.6], &[0.6, 0.5, 0.4], &[0.4, 0.3, 0.5]],
            questions,
        );
        judge_ranks(&all, &RUNS[..3], &quick()).remove(0)
    }

    #[test]
    fn a_table_of_three_systems_and_judges_by_hand() {
        let ranks = three_by_three(12);
        assert_eq!((ranks.cases, ranks.questions), (12, 12));
        // The columns have means of 0.6, 0.5 and 0.5, all values 1.6 / 3.
        assert_close(ranks.grand_mean, 1.6 / 3.0, 1e-12, "grand mean");
        let thirds = |numbers: [f64; 3]| numbers.map(|number| number / 30.0);
        for (judge, offset) in ranks.judges.iter().zip(thirds([2.0, -1.0, -1.0])) {
            assert_close(judge.offset.shift, offset, 1e-12, &judge.run);
        }
        // 0.8 is 0.7, the mean of a, 2 / 30, the offset of o, and 1 / 30.
        let expected = [
            ("a", 0.7, [1.0, 1.0, -2.0], [1, 1, 1]),
            ("b", 0.5, [1.0, 1.0, -2.0], [2, 2, 3]),
            ("c", 0.4, [-2.0, -2.0, 4.0], [3, 3, 2]),
        ];
        for (system, (name, mean, residuals, places)) in ranks.systems.iter().zip(expected) {
            assert_eq!(
                (system.system.as_str(), &system.ranks[..]),
                (name, &places[..])
            );
            assert_close(system.mean, mean, 1e-12, name);
            for (ours, theirs) in system.residuals.iter().zip(thirds(residuals)) {
                assert_close(ours.shift, theirs, 1e-12, name);
            }
            assert_eq!(
                system.interval, None,
                "three judges say nothing of further ones"
            );
        }
        let favored = ranks.systems[2].residuals[2];
        assert!(favored.differs && favored.interval.is_some_and(|interval| interval.low > 0.0));
    }

    #[test]
    fn an_order_holds_if_every_judge_supports_it_and_a_rank_if_all_its_pairs_do() {
        let ranks = three_by_three(12);
        // All 12 differences of a pair have one sign: 2 / 2^12 by each judge; the smallest of three p times 3, and the next not
        // less. b and c change places by the third judge.
        let smallest = 3.0 * 2.0 / 4096.0;
        let expected = [
            (["a", "b"], smallest, true),
            (["a", "c"], smallest, true),
            (["b", "c"], 1.0, false),
        ];
        for (pair, (systems, p, holds)) in ranks.pairs.iter().zip(expected) {
            assert_eq!(pair.systems.each_ref().map(SystemName::as_str), systems);
            assert_close(pair.p, p, 1e-12, "p");
            assert_eq!(pair.holds, holds, "{systems:?}");
        }
        assert_close(
            ranks.pairs[2].differences[2],
            0.4 - 0.5,
            1e-12,
            "b less c by p",
        );
        let holding: Vec<bool> = ranks.systems.iter().map(|system| system.holds).collect();
        assert_eq!(holding, [true, false, false]);
    }

    #[test]
    fn five_questions_support_no_order() {
        // 2 / 2^5 is more than 0.05.
        let ranks = three_by_three(5);
        assert!(ranks.pairs.iter().all(|pair| !pair.holds));
        assert!(ranks.systems.iter().all(|system| !system.holds));
    }

    #[test]
    fn five_judges_are_a_sample_of_judges() {
        let means: &[f64] = &[0.5, 0.6, 0.7, 0.8, 0.9];
        let lower: Vec<f64> = means.iter().map(|mean| mean - 0.3).collect();
        let all = judged(&[means, &lower], 8);
        let ranks = judge_ranks(&all, &RUNS, &quick()).remove(0);
        // s = 0.1581, t(4) = 2.776: 2.776 * 0.1581 / sqrt(5) = 0.1963 to each side of 0.7.
        let interval = ranks.systems[0].interval.unwrap();
        assert_close(interval.low, 0.7 - 0.1963, 1e-4, "low");
        assert_close(interval.high, 0.7 + 0.1963, 1e-4, "high");
        // Judges that differ in severity alone keep every rank.
        assert!(ranks.systems.iter().all(|system| system.holds));
        let residuals = ranks.systems.iter().flat_map(|system| &system.residuals);
        for residual in residuals {
            assert_close(residual.shift, 0.0, 1e-12, "residual");
        }
    }

    #[test]
    fn a_single_system_has_offsets_and_no_rank_that_holds() {
        let all = judged(&[&[0.6, 0.4]], 12);
        let ranks = judge_ranks(&all, &RUNS[..2], &quick()).remove(0);
        assert_close(ranks.judges[0].offset.shift, 0.1, 1e-12, "offset");
        assert!(ranks.pairs.is_empty() && !ranks.systems[0].holds);
        let residual = ranks.systems[0].residuals[0];
        assert!(
            residual.shift.abs() < 1e-12 && !residual.differs,
            "{residual:?}"
        );
    }

    #[test]
    fn one_run_and_one_question_have_no_ranks() {
        let all = judged(&[&[0.6, 0.4], &[0.5, 0.3]], 12);
        assert!(judge_ranks(&all, &RUNS[..1], &quick()).is_empty());
        let all = judged(&[&[0.6, 0.4], &[0.5, 0.3]], 1);
        assert!(judge_ranks(&all, &RUNS[..2], &quick()).is_empty());
    }
}
