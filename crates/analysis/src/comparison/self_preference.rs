//! Whether judges favor systems of their family: runs by different judges of the same answers.
//!
//! With y the value of a system by a judge in a case, the residual is y - a - b: a is the mean of the system over the judges, b
//! the mean of the judge over the systems less the mean of all. The self-preference of a judge is the mean residual of the
//! systems of its family less that of the systems of other families; systems of unknown family count for neither. b is in
//! both and cancels, so that each case gives one number, whose mean has an interval over questions.

use std::collections::HashMap;

use serde::Serialize;

use super::judge_change::systems_of_all;
use super::shared::{SharedCases, slices};
use super::{ComparisonOptions, MetricId, Observations};
use scholareval_core::domain::SystemName;
use scholareval_stats::{Interval, MetricValues, PairedTest, mean, paired_family};

/// Fewest systems of the judge's family, and fewest of others: one system of a side differs from others by more than its family.
pub const FEWEST_OF_FAMILY: usize = 2;

/// The judge of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FamilyJudge {
    /// The index of its run.
    pub index: usize,
    /// The run.
    pub run: String,
    /// Its name.
    pub name: String,
    /// Its family, if it is known.
    pub family: Option<String>,
}

/// What a judge gives systems of its family by one metric, compared with the mean of all judges.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SelfPreference {
    /// The metric.
    pub metric: MetricId,
    /// The judge.
    pub judge: String,
    /// Its run.
    pub run: String,
    /// Its family, if it is known.
    pub family: Option<String>,
    /// The systems of its family.
    pub family_systems: Vec<SystemName>,
    /// The systems of other known families.
    pub other_systems: Vec<SystemName>,
    /// Number of judges, it included.
    pub judges: usize,
    /// Shared cases.
    pub cases: usize,
    /// Distinct questions among them.
    pub questions: usize,
    /// Mean residual of the systems of its family less that of others; `None` for fewer than two systems of either side or two
    /// questions. Where it alone of K judges favors its family by d, d (K - 1) / K, since it is one of the mean.
    pub preference: Option<f64>,
    /// Its interval, simultaneous over the judges of the metric; `None` if it is unbounded or every case has the same value.
    pub interval: Option<Interval>,
    /// Two-sided p, adjusted for these judges.
    pub p: Option<f64>,
    /// Whether it is significant: `p` below 1 - level.
    pub differs: bool,
}

impl SelfPreference {
    fn with(self, test: &PairedTest, alpha: f64) -> Self {
        Self {
            preference: Some(test.difference),
            interval: test.interval,
            p: Some(test.p),
            differs: test.p < alpha,
            ..self
        }
    }
}

/// A system with its ranks in the runs, in their order.
struct SystemOfRuns<'a> {
    name: &'a SystemName,
    ranks: Vec<usize>,
}

impl SystemOfRuns<'_> {
    /// What a judge gives it in a case above the mean of all judges.
    fn above_mean(&self, shared: &SharedCases<'_>, judge: usize, case: usize) -> f64 {
        let values = self.ranks.iter().map(|rank| shared.values[*rank][case]);
        let sum: f64 = values.sum();
        shared.values[self.ranks[judge]][case] - sum / self.ranks.len() as f64
    }
}

/// The self-preference of each of these judges of the runs, in the order of runs, by every metric of the observations. `families` has
/// the systems whose family is known. Empty for fewer than two judges.
pub fn self_preferences(
    all: &Observations,
    judges: &[FamilyJudge],
    families: &HashMap<SystemName, String>,
    options: &ComparisonOptions,
) -> Vec<SelfPreference> {
    if judges.len() < 2 {
        return Vec::new();
    }
    let preferences = all.by_metric(options, |shared| Some(by_metric(shared, judges, families)));
    preferences.concat()
}

fn by_metric(
    shared: &SharedCases<'_>,
    judges: &[FamilyJudge],
    families: &HashMap<SystemName, String>,
) -> Vec<SelfPreference> {
    let runs: Vec<usize> = judges.iter().map(|judge| judge.index).collect();
    let mut systems = Vec::new();
    for ranks in systems_of_all(shared, &runs) {
        let name = &shared.system(ranks[0]).system;
        systems.push(SystemOfRuns { name, ranks });
    }
    let mut preferences = Vec::new();
    let mut judges_with_sides = Vec::new();
    let mut by_case = Vec::new();
    for (at, judge) in judges.iter().enumerate() {
        let sides = sides_of(judge, &systems, families);
        if sides.iter().all(|side| side.len() >= FEWEST_OF_FAMILY) {
            judges_with_sides.push(at);
            by_case.push(residuals(shared, at, &sides));
        }
        let [family_systems, other_systems] =
            sides.map(|side| side.iter().map(|system| system.name.clone()).collect());
        preferences.push(SelfPreference {
            metric: shared.table.metric.clone(),
            judge: judge.name.clone(),
            run: judge.run.clone(),
            family: judge.family.clone(),
            family_systems,
            other_systems,
            judges: judges.len(),
            cases: shared.cases.len(),
            questions: shared.distinct_questions(),
            preference: None,
            interval: None,
            p: None,
            differs: false,
        });
    }
    let values = values_of(shared, judges.len());
    let questions = Some(&*shared.questions);
    let options = shared.bootstrap();
    if let Some(tests) = paired_family(&slices(&by_case), questions, values, options) {
        for (at, test) in judges_with_sides.into_iter().zip(&tests.pairs) {
            preferences[at] = preferences[at].clone().with(test, options.alpha());
        }
    }
    preferences
}

/// The systems of the judge's family, and those of other known families; none for a judge of unknown family.
fn sides_of<'a, 'b>(
    judge: &FamilyJudge,
    systems: &'b [SystemOfRuns<'a>],
    families: &HashMap<SystemName, String>,
) -> [Vec<&'b SystemOfRuns<'a>>; 2] {
    let mut sides = [Vec::new(), Vec::new()];
    if let Some(family) = &judge.family {
        for system in systems {
            if let Some(of_system) = families.get(system.name) {
                sides[usize::from(of_system != family)].push(system);
            }
        }
    }
    sides
}

/// By case the mean residual of the systems of the first side less that of the second side.
fn residuals(
    shared: &SharedCases<'_>,
    judge: usize,
    sides: &[Vec<&SystemOfRuns<'_>>; 2],
) -> Vec<f64> {
    let mut by_case = Vec::new();
    for case in 0..shared.cases.len() {
        let [of_family, of_others] = sides.each_ref().map(|side| {
            let side = side.iter();
            let above = side.map(|system| system.above_mean(shared, judge, case));
            mean(&above.collect::<Vec<_>>()).unwrap_or_default()
        });
        by_case.push(of_family - of_others);
    }
    by_case
}

/// What the numbers of cases can be: a value is at most (K - 1) / K of the metric's width above or below the mean of K judges, and the
/// difference of two sides twice as far from 0.
fn values_of(shared: &SharedCases<'_>, judges: usize) -> MetricValues {
    let count = judges as f64;
    shared.metric_values().combined(2.0 * (count - 1.0) / count)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::comparison::{RunAnswers, observe};
    use crate::test_support::{answer, component, score};
    use scholareval_core::domain::{ComponentKind, ScoredAnswer};

    /// Answers to 20 questions by systems a, b of X and c, d of Y, and e of an unknown family; the judge gives `favor` more to those
    /// of `favored`, and `offset` more to all.
    fn run(favored: [&str; 2], favor: f64, offset: f64) -> Vec<Arc<ScoredAnswer>> {
        let mut scored = Vec::new();
        for case in 0..20 {
            for (at, system) in ["a", "b", "c", "d", "e"].into_iter().enumerate() {
                let favor = if favored.contains(&system) {
                    favor
                } else {
                    0.0
                };
                // In half of the questions the favor is twice as large.
                let favor = favor * (1.0 + (case % 2) as f64);
                let value = 0.2 + 0.01 * case as f64 + 0.02 * at as f64 + favor + offset;
                let property = component("p0", ComponentKind::Property, 1.0, Some(value));
                scored.push(Arc::new(answer(
                    system,
                    &format!("c{case}"),
                    score(vec![property]),
                )));
            }
        }
        scored
    }

    fn judge(name: &str, family: Option<&str>) -> FamilyJudge {
        FamilyJudge {
            index: 0,
            run: format!("run of {name}"),
            name: name.to_owned(),
            family: family.map(str::to_owned),
        }
    }

    fn preferences(runs: &[Vec<Arc<ScoredAnswer>>], judges: &[FamilyJudge]) -> Vec<SelfPreference> {
        let names = ["first", "second", "third"];
        let runs = runs.iter().zip(names).map(|(scored, name)| RunAnswers {
            name,
            scored,
            ..RunAnswers::default()
        });
        let mut all = observe(&runs.collect::<Vec<_>>());
        all.metrics.truncate(1);
        let mut judges = judges.to_vec();
        for (index, judge) in judges.iter_mut().enumerate() {
            judge.index = index;
        }
        let families = ["a", "b", "c", "d"].map(|name| {
            let family = if name < "c" { "X" } else { "Y" };
            (name.into(), family.to_owned())
        });
        self_preferences(
            &all,
            &judges,
            &families.into(),
            &ComparisonOptions::seeded(1),
        )
    }

    #[test]
    fn a_favor_counts_less_its_share_of_the_mean_and_offsets_and_systems_of_unknown_family_do_not()
    {
        let runs = [
            run(["a", "b"], 0.1, 0.2),
            run(["", ""], 0.0, 0.0),
            run(["", ""], 0.0, 0.1),
        ];
        let judges = [
            judge("x", Some("X")),
            judge("y", Some("Y")),
            judge("z", None),
        ];
        let [x, y, z] = &preferences(&runs, &judges)[..] else {
            panic!("three judges")
        };
        assert_eq!(
            (&x.family_systems, &x.other_systems),
            (&y.other_systems, &y.family_systems)
        );
        assert_eq!(
            (x.family_systems.len(), x.judges, x.cases, x.questions),
            (2, 3, 20, 20)
        );
        // The favor is 0.1 or 0.2, 0.15 on average; 2 of 3 parts of it are above the mean of three judges.
        assert!((x.preference.unwrap() - 0.1).abs() < 1e-12, "{x:?}");
        // For the second judge a and b are 1 of 3 parts below that mean, and c and d on it.
        assert!((y.preference.unwrap() - 0.05).abs() < 1e-12, "{y:?}");
        assert!(
            x.differs && x.interval.is_some_and(|interval| interval.low > 0.0),
            "{x:?}"
        );
        assert_eq!((z.preference, z.p, z.family_systems.len()), (None, None, 0));
    }

    #[test]
    fn equal_judges_prefer_nothing_and_too_few_judges_or_systems_have_no_number() {
        let runs = [run(["", ""], 0.0, 0.2), run(["", ""], 0.0, 0.0)];
        let judges = [judge("x", Some("X")), judge("v", Some("V"))];
        let [x, v] = &preferences(&runs, &judges)[..] else {
            panic!("two judges")
        };
        assert!(x.preference.unwrap().abs() < 1e-12 && !x.differs, "{x:?}");
        // All four systems are of other families.
        assert_eq!(
            (v.preference, v.family_systems.len(), v.other_systems.len()),
            (None, 0, 4)
        );
        assert!(preferences(&runs[..1], &judges[..1]).is_empty());
    }
}
