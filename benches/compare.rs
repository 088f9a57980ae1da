//! What a comparison costs: 10 systems over 1,000 cases with the defaults, all pairs, on one thread and on two.
//!
//! `cargo bench --bench compare` prints elapsed seconds; it only reports.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout)]

use std::sync::Arc;
use std::time::Instant;

use scholareval::analysis::comparison::{
    ComparedCase, Comparison, ComparisonOptions, MetricId, MetricTable, Observation, Observations,
    ObservedSystem, compare,
};
use scholareval::domain::{SubjectKind, Unit};

const SYSTEMS: usize = 10;
const CASES: usize = 1_000;

fn main() {
    let rows: Vec<Vec<f64>> = (0..SYSTEMS)
        .map(|system| (0..CASES).map(|case| value(system, case)).collect())
        .collect();
    let plain = table(&rows, false);
    let with_words = table(&rows, true);
    println!("{SYSTEMS} systems, {CASES} cases, 10,000 resamples, all pairs; seconds elapsed");
    for threads in [1, 2] {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .expect("a pool");
        let (whole, first) = pool.install(|| timed(&plain));
        let (worded, _) = pool.install(|| timed(&with_words));
        println!(
            "{threads} threads: compare {whole:.2}, with words known {worded:.2}; {} of {} pairs differ significantly",
            first.metrics[0]
                .pairs
                .iter()
                .filter(|pair| pair.differs)
                .count(),
            first.metrics[0].pairs.len()
        );
    }
}

/// Made scores: a system is a little better than the next.
fn value(system: usize, case: usize) -> f64 {
    let mixed = (case * 2_654_435_761 + system * 40_503 * (case + 7)) % 1_009;
    mixed as f64 / 1_009.0 + 0.01 * system as f64
}

fn timed(observations: &Observations) -> (f64, Comparison) {
    let begin = Instant::now();
    let comparison = compare(observations, &ComparisonOptions::seeded(7));
    (begin.elapsed().as_secs_f64(), comparison)
}

fn table(rows: &[Vec<f64>], with_words: bool) -> Observations {
    let system = |place: usize| ObservedSystem {
        label: format!("system {place}"),
        system: format!("system {place}").as_str().into(),
        run: 0,
    };
    let case = |place: usize| ComparedCase {
        case_id: format!("case {place:04}").as_str().into(),
        question: Arc::from(format!("question {place}")),
    };
    let words = |row: &Vec<f64>| {
        row.iter()
            .map(|value| Some((value * 400.0).round() + 100.0))
            .collect()
    };
    let table = MetricTable {
        votes: false,
        games: Vec::new(),
        sets: Vec::new(),
        metric: MetricId {
            scorer: "rubric".into(),
            name: "score".into(),
            unit: Unit::Share,
            higher_is_better: true,
        },
        values: rows
            .iter()
            .map(|row| row.iter().map(|value| Observation::Value(*value)).collect())
            .collect(),
        net_ranges: Vec::new(),
        drawn: Vec::new(),
        samples: None,
    };
    Observations {
        subject: SubjectKind::Answer,
        systems: (0..rows.len()).map(system).collect(),
        cases: (0..CASES).map(case).collect(),
        words: with_words.then(|| rows.iter().map(words).collect()),
        metrics: vec![table],
        ..Observations::default()
    }
}
