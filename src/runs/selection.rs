//! Draws the answers of a run that are worth labeling.

use std::path::{Path, PathBuf};

use super::random_draw::{answers_of, drawn_again};
use super::run_set::RunSet;
use crate::analysis::comparison::{MetricTable, Observations};
use crate::domain::{CaseId, RandomDraw, SystemName};
use crate::error::{Error, Result};
use crate::record::load_run;
use crate::stats::{inclusion_probabilities, mean, sd, systematic_sample};

/// Answers to label.
#[derive(Debug, Clone, PartialEq)]
pub struct Selection {
    /// The answers, by case and system.
    pub answers: Vec<SelectedAnswer>,
    /// Answers with a value, from which these were drawn.
    pub of: usize,
    /// Whether every answer had the same probability: nothing sets apart the uncertainty of the judge about them.
    pub uniform: bool,
    /// The draw, if it was at random from all answers of the run.
    pub random: Option<RandomDraw>,
}

/// An answer to label.
#[derive(Debug, Clone, PartialEq)]
pub struct SelectedAnswer {
    /// The system.
    pub system: SystemName,
    /// The test case.
    pub case_id: CaseId,
    /// The probability with which it was drawn, above 0, at most 1.
    pub probability: f64,
}

/// Draws `n` answers with a value of the metric (the run's most important one by default): half of the sample is spread evenly,
/// half in proportion to the standard deviation of the values by every judge and sample. Where an answer has fewer than two
/// of these, it has the mean of the others.
///
/// # Errors
/// When the run cannot be read; [`Error::Settings`] for a metric that it does not have, for fewer answers than `n`, and for `n` = 0.
pub fn select_answers(
    run: &PathBuf,
    metric: Option<&str>,
    n: usize,
    seed: u64,
) -> Result<Selection> {
    // `true`: a single run has nothing to differ from.
    let observations = RunSet::open(std::slice::from_ref(run), true)?.observe()?;
    let chosen = metric.map_or_else(
        || Ok(observations.headline()),
        |name| observations.metrics_named(name),
    )?;
    let table = chosen.first().map(|at| &observations.metrics[*at]);
    let mut answers = match table {
        Some(table) => with_value(&observations, table),
        None => Vec::new(),
    };
    // The draw is systematic, so that an order by case spreads it over the cases; the same run and
    // seed give the same answers.
    answers.sort_by(|a, b| (a.1, a.0).cmp(&(b.1, b.0)));
    if n == 0 || n > answers.len() {
        let what = format!(
            "--select {n}: the run has {} answers with a value; select 1 or more of them",
            answers.len()
        );
        return Err(Error::Settings(what));
    }
    let known: Vec<f64> = answers.iter().filter_map(|(.., spread)| *spread).collect();
    // Neither favored nor neglected: nothing is known of how sure the judge is about it.
    let typical = mean(&known).unwrap_or(0.0);
    let spreads: Vec<f64> = answers
        .iter()
        .map(|(.., spread)| spread.unwrap_or(typical))
        .collect();
    let probabilities = inclusion_probabilities(&spreads, n);
    let selected = systematic_sample(&probabilities, seed)
        .into_iter()
        .map(|at| {
            let (system, case_id, _) = answers[at];
            SelectedAnswer {
                system: system.clone(),
                case_id: case_id.clone(),
                probability: probabilities[at],
            }
        });
    let uniform = probabilities.windows(2).all(|two| two[0] == two[1]);
    Ok(Selection {
        answers: selected.collect(),
        of: answers.len(),
        uniform,
        random: None,
    })
}

/// Draws `n` answers of a run at random: each has the same probability, and a system has its share of them. The metrics
/// do not matter, so that the answers are the same ones for each of them.
///
/// # Errors
/// When the run cannot be read; [`Error::Settings`] for fewer answers than `n`, and for `n` = 0.
pub fn draw_answers(run: &Path, n: usize, seed: u64) -> Result<Selection> {
    let run = load_run(run)?;
    let all = answers_of(&run);
    let answers = drawn_again(&all, n, seed);
    if answers.is_empty() {
        let what = format!(
            "--select {n}: the run has {} answers; select 1 or more of them",
            all.len()
        );
        return Err(Error::Settings(what));
    }
    let probability = n as f64 / all.len() as f64;
    let selected = answers.into_iter().map(|(system, case_id)| SelectedAnswer {
        system,
        case_id,
        probability,
    });
    Ok(Selection {
        answers: selected.collect(),
        of: all.len(),
        uniform: true,
        random: Some(RandomDraw {
            of: all.len(),
            seed,
        }),
    })
}

/// The answers with a value of the metric, and how much its samples differ where there are several.
fn with_value<'a>(
    observations: &'a Observations,
    table: &MetricTable,
) -> Vec<(&'a SystemName, &'a CaseId, Option<f64>)> {
    let mut answers = Vec::new();
    for (at, case) in observations.cases.iter().enumerate() {
        for (row, system) in observations.systems.iter().enumerate() {
            if table.values[row][at].value().is_none() {
                continue;
            }
            let spread = match &table.samples {
                Some(samples) => sd(&samples[row][at].concat()),
                None => None,
            };
            answers.push((&system.system, &case.case_id, spread));
        }
    }
    answers
}
