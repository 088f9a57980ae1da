//! The self-preference of judges: how often simultaneous intervals hold it, and how often a judge without any is said to have one.

use std::collections::HashMap;

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;
use scholareval::analysis::comparison::{
    ComparedCase, ComparisonOptions, FamilyJudge, MetricId, MetricTable, Observation, Observations,
    ObservedSystem, SelfPreference, self_preferences,
};
use scholareval::domain::{SubjectKind, SystemName, Unit};

use super::{RESAMPLES, holds, normal};

/// Families of systems and judges.
const FAMILIES: usize = 2;

/// Values of systems by judges.
#[derive(Debug, Clone, Copy)]
enum Values {
    /// Shares with effects of judge, system and question, and of each two of them; standard deviations of 0.1.
    Shares,
    /// The same rounded to fifths.
    Fifths,
    /// The same without a range.
    Counts,
}

impl Values {
    fn unit(self) -> Unit {
        match self {
            Self::Shares | Self::Fifths => Unit::Share,
            Self::Counts => Unit::Count,
        }
    }

    fn of(self, value: f64) -> f64 {
        match self {
            Self::Shares => value.clamp(0.0, 1.0),
            Self::Fifths => (5.0 * value).round().clamp(0.0, 5.0) / 5.0,
            Self::Counts => value,
        }
    }
}

/// A benchmark by several judges of two families in turn, as are the systems.
#[derive(Debug, Clone, Copy)]
struct Setting {
    values: Values,
    systems: usize,
    judges: usize,
    /// What a judge gives systems of its family on average.
    favor: f64,
}

fn family(at: usize) -> String {
    format!("family {}", at % FAMILIES)
}

fn system(at: usize) -> SystemName {
    format!("system {at}").into()
}

impl Setting {
    /// The values of this many questions by all judges, for systems with these effects.
    fn observed(self, questions: usize, rng: &mut ChaCha8Rng, effects: &[f64]) -> Observations {
        let cases = (0..questions).map(|case| ComparedCase {
            case_id: format!("c{case:05}").into(),
            question: format!("question {case}").into(),
        });
        let easy: Vec<f64> = (0..questions).map(|_| 0.1 * normal(rng)).collect();
        let mut by_system = Vec::new();
        for _ in 0..self.systems {
            let of_system: Vec<f64> = easy.iter().map(|easy| easy + 0.1 * normal(rng)).collect();
            by_system.push(of_system);
        }
        let mut systems = Vec::new();
        let mut values = Vec::new();
        for judge in 0..self.judges {
            for (at, by_question) in by_system.iter().enumerate() {
                let favor = if at % FAMILIES == judge % FAMILIES {
                    self.favor
                } else {
                    0.0
                };
                let fixed = 0.5 + 0.02 * judge as f64 + effects[at] + favor;
                let row = by_question.iter().map(|question| {
                    Observation::Value(self.values.of(fixed + question + 0.1 * normal(rng)))
                });
                values.push(row.collect());
                systems.push(ObservedSystem {
                    label: format!("run {judge}/system {at}"),
                    system: system(at),
                    run: judge,
                });
            }
        }
        Observations {
            subject: SubjectKind::Answer,
            systems,
            cases: cases.collect(),
            words: None,
            metrics: vec![MetricTable {
                metric: MetricId {
                    scorer: "rubric".into(),
                    name: "score".to_owned(),
                    unit: self.values.unit(),
                    higher_is_better: true,
                },
                values,
                net_ranges: Vec::new(),
                drawn: Vec::new(),
                samples: None,
                votes: false,
                games: Vec::new(),
                sets: Vec::new(),
            }],
            row: None,
        }
    }

    fn preferences(
        self,
        questions: usize,
        rng: &mut ChaCha8Rng,
        effects: &[f64],
        seed: u64,
    ) -> Vec<SelfPreference> {
        let all = self.observed(questions, rng, effects);
        let judges = (0..self.judges).map(|judge| FamilyJudge {
            index: judge,
            run: format!("run {judge}"),
            name: format!("judge {judge}"),
            family: Some(family(judge)),
        });
        let families = (0..self.systems).map(|at| (system(at), family(at)));
        let options = ComparisonOptions {
            resamples: RESAMPLES,
            ..ComparisonOptions::seeded(seed)
        };
        self_preferences(
            &all,
            &judges.collect::<Vec<_>>(),
            &families.collect::<HashMap<_, _>>(),
            &options,
        )
    }

    /// The effects of systems, which are the same in every repetition.
    fn effects(self) -> Vec<f64> {
        let mut rng = ChaCha8Rng::seed_from_u64(self.systems as u64);
        (0..self.systems).map(|_| 0.1 * normal(&mut rng)).collect()
    }

    /// The preferences in 20,000 questions, which stand for the true ones: the ends of the range take a part of each effect.
    fn truth(self) -> Vec<f64> {
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let preferences = self.preferences(20_000, &mut rng, &self.effects(), 1);
        preferences
            .iter()
            .map(|preference| preference.preference.unwrap())
            .collect()
    }
}

pub(super) fn self_preference(repetitions: u64) {
    println!(
        "\nSelf-preference: all simultaneous intervals hold it / some judge is said to have one (%), by questions"
    );
    let sizes = [10, 30, 60, 100];
    println!(
        "{:44} {}",
        "values, systems, judges, favor",
        sizes.map(|size| format!("{size:>14}")).join(" ")
    );
    for values in [Values::Shares, Values::Fifths, Values::Counts] {
        for (systems, judges) in [(5, 2), (8, 3), (12, 5)] {
            for favor in [0.0, 0.05] {
                let setting = Setting {
                    values,
                    systems,
                    judges,
                    favor,
                };
                let truth = setting.truth();
                let cells = sizes.map(|questions| cell(setting, questions, &truth, repetitions));
                println!(
                    "{:44} {}",
                    format!("{values:?}, {systems}, {judges}, {favor}"),
                    cells.join(" ")
                );
            }
        }
    }
}

fn cell(setting: Setting, questions: usize, truth: &[f64], repetitions: u64) -> String {
    let effects = setting.effects();
    let outcomes = (0..repetitions).into_par_iter().map(|seed| {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let preferences = setting.preferences(questions, &mut rng, &effects, seed);
        let mut pairs = preferences.iter().zip(truth);
        let is_held = pairs.all(|(preference, truth)| holds(preference.interval, *truth));
        [
            is_held,
            preferences.iter().any(|preference| preference.differs),
        ]
        .map(u64::from)
    });
    let sums = outcomes.reduce(|| [0, 0], |a, b| [a[0] + b[0], a[1] + b[1]]);
    let [held, differ] = sums.map(|sum| 100.0 * sum as f64 / repetitions as f64);
    format!("{:>14}", format!("{held:.1} / {differ:.1}"))
}
