//! What changes between two runs of the same systems, such as two versions of them at two dates.

use serde::Serialize;

use super::judge_change::{SystemShift, system_shifts, systems_of_both};
use super::shared::SharedCases;
use super::{ComparisonOptions, MetricId, Observations};

/// The change of each system by one metric, over the cases with a value of every system in every run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RunChange {
    /// The metric.
    pub metric: MetricId,
    /// The earlier run.
    pub old: String,
    /// The later run.
    pub new: String,
    /// Shared cases.
    pub cases: usize,
    /// Distinct questions among them.
    pub questions: usize,
    /// The systems, best in the old run first. Their intervals and p are adjusted for these changes alone, not for the pairs
    /// of different systems.
    pub systems: Vec<SystemShift>,
}

/// The changes from the first to the second of these runs (index and name), by every metric with values of both on at least
/// two questions.
pub fn run_changes(
    all: &Observations,
    runs: [(usize, &str); 2],
    options: &ComparisonOptions,
) -> Vec<RunChange> {
    all.by_metric(options, |shared| run_change(shared, runs))
}

fn run_change(shared: &SharedCases<'_>, runs: [(usize, &str); 2]) -> Option<RunChange> {
    let both = systems_of_both(shared, runs.map(|(run, _)| run));
    let systems = system_shifts(shared, &both)?;
    Some(RunChange {
        metric: shared.table.metric.clone(),
        old: runs[0].1.to_owned(),
        new: runs[1].1.to_owned(),
        cases: shared.cases.len(),
        questions: shared.distinct_questions(),
        systems,
    })
}

#[cfg(test)]
mod tests {
    use super::super::compare_tests::{assert_close, quick, table};
    use super::*;

    /// Three systems in two runs on eight cases: the first gains 0.1 in each, the others nothing on average.
    fn two_dates() -> Observations {
        let old: Vec<f64> = (0..8).map(|case| 0.3 + 0.05 * f64::from(case)).collect();
        let better: Vec<f64> = old.iter().map(|value| value + 0.1).collect();
        let other: Vec<f64> = (0..8)
            .map(|case| old[case] + if case % 2 == 0 { 0.01 } else { -0.01 })
            .collect();
        let mut all = table(&[
            ("old/a", &old),
            ("old/b", &old),
            ("old/c", &old),
            ("new/a", &better),
            ("new/b", &other),
            ("new/c", &other),
        ]);
        for (at, system) in all.systems.iter_mut().enumerate() {
            system.run = at / 3;
            system.system = ["a", "b", "c"][at % 3].into();
        }
        all
    }

    #[test]
    fn each_system_has_its_change_adjusted_for_these_changes_alone() {
        let changes = run_changes(&two_dates(), [(0, "old"), (1, "new")], &quick());
        let change = &changes[0];
        assert_eq!((changes.len(), change.cases, change.questions), (1, 8, 8));
        let names: Vec<&str> = change
            .systems
            .iter()
            .map(|system_shift| system_shift.system.as_str())
            .collect();
        assert_eq!(names, ["a", "b", "c"]);
        let gained = &change.systems[0];
        assert_close(gained.shift.shift, 0.1, 1e-12, "gain of a");
        // Of 2^8 assignments of signs, two give all changes of a one sign, and two all those of b, which are those of c.
        assert_close(gained.shift.p, 4.0 / 256.0, 1e-12, "p");
        assert!(gained.shift.differs);
        assert!(
            change.systems[1..]
                .iter()
                .all(|system_shift| !system_shift.shift.differs)
        );
    }

    #[test]
    fn systems_of_one_run_have_no_change() {
        let mut all = two_dates();
        all.systems[3].system = "d".into();
        let changes = run_changes(&all, [(0, "old"), (1, "new")], &quick());
        let names: Vec<&str> = changes[0]
            .systems
            .iter()
            .map(|system_shift| system_shift.system.as_str())
            .collect();
        assert_eq!(names, ["b", "c"]);
        assert!(run_changes(&all, [(0, "old"), (2, "none")], &quick()).is_empty());
    }
}
