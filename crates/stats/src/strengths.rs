//! Strengths of systems from pairwise verdicts.
//!
//! R. A. Bradley and M. E. Terry (Biometrika 39, 1952): logit P(the first wins) = s_first - s_second + g, with the strengths s
//! adding to 0 and g the worth of the first place; a tie is half a win. R. R. Davidson (JASA 65, 1970) gives ties a probability
//! in proportion to nu sqrt(pi_first pi_second) with pi = exp(s).
//!
//! Standard errors are over questions: H^-1 (Q / (Q - 1) sum over questions of g_q g_q') H^-1, with H the information and g_q the
//! score of a question's verdicts. Where strengths do not exist there is no prior: the reason is returned.

use std::collections::BTreeMap;

use serde::Serialize;

use super::linear::Cholesky;
use super::pairwise::{PairVerdict, clustered_error};

/// What a tie is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Ties {
    /// Half a win of each.
    #[default]
    Half,
    /// An outcome of its own (Davidson); values other than 0, 1/2 and 1 are not possible.
    Davidson,
}

/// Strengths of systems.
#[derive(Debug, Clone, PartialEq)]
pub struct Strengths {
    /// By system, natural logarithms that add to 0.
    pub values: Vec<f64>,
    /// Their standard errors; `None` for a single question.
    pub errors: Option<Vec<f64>>,
    /// The worth of the first place, in the same unit, with its standard error; `None` if it was not asked for.
    pub position: Option<(f64, Option<f64>)>,
    /// Davidson's nu: 0 without ties.
    pub nu: Option<f64>,
    /// By question and system: how far the question moves the strength.
    influences: Vec<Vec<f64>>,
}

/// Why strengths do not exist.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NoStrengths {
    /// These groups of systems were never compared with each other, directly or through others.
    NotCompared(Vec<Vec<usize>>),
    /// These groups, the best first, have no win or tie against those before them: their distance is unbounded (L. R. Ford,
    /// American Mathematical Monthly 64, 1957).
    Separated(Vec<Vec<usize>>),
    /// The place decides every verdict, so that nothing is left for the systems.
    Position,
}

impl Strengths {
    /// The strengths of systems 0 to `systems` - 1, with the worth of the first place if `with_position` is set.
    ///
    /// # Errors
    /// When they do not exist.
    pub fn of(
        systems: usize,
        verdicts: &[PairVerdict],
        ties: Ties,
        with_position: bool,
    ) -> Result<Self, NoStrengths> {
        let groups = groups_by_comparison(systems, verdicts);
        if groups.len() != 1 {
            return Err(NoStrengths::NotCompared(groups));
        }
        let groups = groups_by_credit(systems, verdicts);
        if groups.len() != 1 {
            return Err(NoStrengths::Separated(groups));
        }
        let has_ties = verdicts.iter().any(|verdict| verdict.value == 0.5);
        let model = Model {
            systems,
            has_position: with_position,
            has_nu: ties == Ties::Davidson && has_ties,
        };
        let (parameters, information) = model.fit(verdicts).ok_or(NoStrengths::Position)?;
        let mut nu = (ties == Ties::Davidson).then_some(0.0);
        if model.has_nu {
            nu = parameters.last().map(|log_nu| log_nu.exp());
        }
        let scores = model.scores_by_question(verdicts, &parameters);
        let scores = scores.values();
        let moved: Vec<Vec<f64>> = scores.map(|score| information.solve(score)).collect();
        let influences: Vec<Vec<f64>> = moved.iter().map(|change| model.centered(change)).collect();
        let of_system = |system: usize| influences.iter().map(move |influence| influence[system]);
        let errors = (0..systems).map(|system| clustered_error(of_system(system)));
        let position = with_position.then(|| {
            let place = model.position();
            let error = clustered_error(moved.iter().map(|change| change[place]));
            (parameters[place], error)
        });
        Ok(Self {
            values: model.centered(&parameters),
            errors: errors.collect(),
            position,
            nu,
            influences,
        })
    }

    /// The number of questions.
    pub fn questions(&self) -> usize {
        self.influences.len()
    }

    /// One value for each question, whose mean is s_first - s_second and whose standard error is that of this difference: what a
    /// test of paired differences takes. (Difference + Q times the question's influence on it.)
    pub fn pseudo_values(&self, first: usize, second: usize) -> Vec<f64> {
        let difference = self.values[first] - self.values[second];
        let questions = self.questions() as f64;
        let mut values = Vec::with_capacity(self.questions());
        for influence in &self.influences {
            values.push(difference + questions * (influence[first] - influence[second]));
        }
        values
    }

    /// The mean of a system's probabilities to beat each of the others, a tie counting half.
    pub fn win_rate_against_the_others(&self, system: usize) -> f64 {
        let others = (0..self.values.len()).filter(|other| *other != system);
        let mut sum = 0.0;
        for other in others {
            let difference = self.values[system] - self.values[other];
            sum += Moments::at(difference, self.nu.unwrap_or(0.0)).mean;
        }
        sum / (self.values.len() - 1) as f64
    }
}

/// Verdicts at one difference of strengths: a value of 1, 1/2 or 0.
struct Moments {
    mean: f64,
    variance: f64,
    tie: f64,
}

impl Moments {
    fn at(difference: f64, nu: f64) -> Self {
        let win = (difference / 2.0).exp();
        let loss = (-difference / 2.0).exp();
        let whole = win + loss + nu;
        let tie = nu / whole;
        let mean = win / whole + tie / 2.0;
        Self {
            mean,
            variance: win / whole + tie / 4.0 - mean * mean,
            tie,
        }
    }
}

/// The parameters: strengths of all systems but the last, whose strength is 0, then g, then ln nu.
struct Model {
    systems: usize,
    has_position: bool,
    has_nu: bool,
}

/// Steps of Newton's method; a few suffice where strengths exist.
const MOST_STEPS: usize = 200;
/// A logit beyond it is certainty in any study.
const UNBOUNDED: f64 = 30.0;

impl Model {
    fn count(&self) -> usize {
        self.systems - 1 + usize::from(self.has_position) + usize::from(self.has_nu)
    }

    fn position(&self) -> usize {
        self.systems - 1
    }

    fn nu(&self, parameters: &[f64]) -> f64 {
        if self.has_nu {
            parameters[self.count() - 1].exp()
        } else {
            0.0
        }
    }

    /// How a verdict's logit depends on the parameters: their places and signs.
    fn terms(&self, verdict: &PairVerdict) -> Vec<(usize, f64)> {
        let last = self.systems - 1;
        let mut terms = Vec::with_capacity(3);
        if verdict.first < last {
            terms.push((verdict.first, 1.0));
        }
        if verdict.second < last {
            terms.push((verdict.second, -1.0));
        }
        if self.has_position {
            terms.push((self.position(), 1.0));
        }
        terms
    }

    fn moments(&self, terms: &[(usize, f64)], parameters: &[f64]) -> Moments {
        let logit = terms.iter().map(|(at, sign)| sign * parameters[*at]).sum();
        Moments::at(logit, self.nu(parameters))
    }

    /// Adds the score of a verdict: the derivative of its log-likelihood.
    fn add_score(&self, verdict: &PairVerdict, parameters: &[f64], score: &mut [f64]) {
        let terms = self.terms(verdict);
        let moments = self.moments(&terms, parameters);
        for (at, sign) in &terms {
            score[*at] += sign * (verdict.value - moments.mean);
        }
        if self.has_nu {
            let is_tie = f64::from(u8::from(verdict.value == 0.5));
            score[self.count() - 1] += is_tie - moments.tie;
        }
    }

    /// Adds the information of a verdict: the negative second derivative.
    fn add_information(&self, verdict: &PairVerdict, parameters: &[f64], sum: &mut [Vec<f64>]) {
        let terms = self.terms(verdict);
        let moments = self.moments(&terms, parameters);
        for (row, sign) in &terms {
            for (column, other) in &terms {
                sum[*row][*column] += sign * other * moments.variance;
            }
        }
        if self.has_nu {
            let nu = self.count() - 1;
            let covariance = moments.tie * (0.5 - moments.mean);
            for (at, sign) in &terms {
                sum[*at][nu] += sign * covariance;
                sum[nu][*at] += sign * covariance;
            }
            sum[nu][nu] += moments.tie * (1.0 - moments.tie);
        }
    }

    /// The maximum of the likelihood by Newton's method, with the information there; `None` if it is unbounded.
    fn fit(&self, verdicts: &[PairVerdict]) -> Option<(Vec<f64>, Cholesky)> {
        let count = self.count();
        let mut parameters = vec![0.0; count];
        for _ in 0..MOST_STEPS {
            let mut score = vec![0.0; count];
            let mut information = vec![vec![0.0; count]; count];
            for verdict in verdicts {
                self.add_score(verdict, &parameters, &mut score);
                self.add_information(verdict, &parameters, &mut information);
            }
            let information = Cholesky::of(&information)?;
            let step = information.solve(&score);
            let largest = step
                .iter()
                .fold(0.0_f64, |most, change| most.max(change.abs()));
            // Longer steps overshoot where the likelihood is flat.
            let length = if largest > 2.0 { 2.0 / largest } else { 1.0 };
            for (parameter, step) in parameters.iter_mut().zip(&step) {
                *parameter += length * step;
            }
            if parameters
                .iter()
                .any(|parameter| parameter.abs() > UNBOUNDED)
            {
                return None;
            }
            if largest < 1e-13 {
                return Some((parameters, information));
            }
        }
        None
    }

    fn scores_by_question(
        &self,
        verdicts: &[PairVerdict],
        parameters: &[f64],
    ) -> BTreeMap<usize, Vec<f64>> {
        let mut scores = BTreeMap::new();
        for verdict in verdicts {
            let score = scores
                .entry(verdict.question)
                .or_insert_with(|| vec![0.0; self.count()]);
            self.add_score(verdict, parameters, score);
        }
        scores
    }

    /// The strengths of all systems, moved so that they add to 0.
    fn centered(&self, parameters: &[f64]) -> Vec<f64> {
        let mut values = parameters[..self.systems - 1].to_vec();
        values.push(0.0);
        let mean = values.iter().sum::<f64>() / self.systems as f64;
        values.iter_mut().for_each(|value| *value -= mean);
        values
    }
}

/// Groups of systems that were compared, directly or through others.
fn groups_by_comparison(systems: usize, verdicts: &[PairVerdict]) -> Vec<Vec<usize>> {
    let mut reaches = Reach::new(systems);
    for verdict in verdicts {
        reaches.add(verdict.first, verdict.second);
        reaches.add(verdict.second, verdict.first);
    }
    reaches.groups()
}

/// Groups of systems that have credit against each other, directly or through others; the best first.
fn groups_by_credit(systems: usize, verdicts: &[PairVerdict]) -> Vec<Vec<usize>> {
    let mut reaches = Reach::new(systems);
    for verdict in verdicts {
        if verdict.value > 0.0 {
            reaches.add(verdict.first, verdict.second);
        }
        if verdict.value < 1.0 {
            reaches.add(verdict.second, verdict.first);
        }
    }
    reaches.groups()
}

/// Which systems lead to which others, over any number of steps.
struct Reach {
    reaches: Vec<Vec<bool>>,
}

impl Reach {
    fn new(systems: usize) -> Self {
        let mut reaches = vec![vec![false; systems]; systems];
        for (at, row) in reaches.iter_mut().enumerate() {
            row[at] = true;
        }
        Self { reaches }
    }

    fn add(&mut self, from: usize, to: usize) {
        if self.reaches[from][to] {
            return;
        }
        let beyond = self.reaches[to].clone();
        for row in self.reaches.iter_mut().filter(|row| row[from]) {
            for (is_reached, reached) in row.iter_mut().zip(&beyond) {
                *is_reached |= reached;
            }
        }
    }

    /// Systems that reach each other, those that reach the most others first.
    fn groups(&self) -> Vec<Vec<usize>> {
        let mut groups: Vec<Vec<usize>> = Vec::new();
        for system in 0..self.reaches.len() {
            let is_mutual = |group: &&mut Vec<usize>| {
                let other = group[0];
                self.reaches[system][other] && self.reaches[other][system]
            };
            if let Some(group) = groups.iter_mut().find(is_mutual) {
                group.push(system);
            } else {
                groups.push(vec![system]);
            }
        }
        let reached = |group: &Vec<usize>| {
            self.reaches[group[0]]
                .iter()
                .filter(|is_reached| **is_reached)
                .count()
        };
        groups.sort_by_key(|group| std::cmp::Reverse(reached(group)));
        groups
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_systems_have_the_logit_of_their_win_rate() {
        // Three wins of four: ln 3, half of it to either side.
        let verdicts = [1.0, 1.0, 1.0, 0.0].map(|value| PairVerdict::new(0, 0, 1, value));
        let strengths = Strengths::of(2, &verdicts, Ties::Half, false).unwrap();
        assert!((strengths.values[0] - 3.0_f64.ln() / 2.0).abs() < 1e-12);
        assert!((strengths.win_rate_against_the_others(0) - 0.75).abs() < 1e-12);
        assert_eq!(strengths.errors, None);
    }

    #[test]
    fn what_has_no_strength_says_why() {
        let apart = [
            PairVerdict::new(0, 0, 1, 0.5),
            PairVerdict::new(0, 2, 3, 1.0),
        ];
        let groups = vec![vec![0, 1], vec![2, 3]];
        let strengths = Strengths::of(4, &apart, Ties::Half, false);
        assert_eq!(strengths, Err(NoStrengths::NotCompared(groups)));
        // 1 and 2 tie; 0 beats both.
        let best = [
            PairVerdict::new(0, 1, 2, 0.5),
            PairVerdict::new(0, 0, 1, 1.0),
            PairVerdict::new(0, 2, 0, 0.0),
        ];
        let groups = vec![vec![0], vec![1, 2]];
        let strengths = Strengths::of(3, &best, Ties::Half, false);
        assert_eq!(strengths, Err(NoStrengths::Separated(groups)));
        let by_place = [
            PairVerdict::new(0, 0, 1, 1.0),
            PairVerdict::new(0, 1, 0, 1.0),
        ];
        assert_eq!(
            Strengths::of(2, &by_place, Ties::Half, true),
            Err(NoStrengths::Position)
        );
        let strengths = Strengths::of(2, &by_place, Ties::Half, false).unwrap();
        assert_eq!(strengths.values, [0.0, 0.0]);
    }

    #[test]
    fn pseudo_values_have_the_difference_as_mean_and_its_error() {
        let verdicts: Vec<PairVerdict> = (0..12)
            .map(|at| {
                PairVerdict::new(at / 2, at % 2, 1 - at % 2, f64::from(u8::from(at % 3 == 0)))
            })
            .collect();
        let strengths = Strengths::of(2, &verdicts, Ties::Half, true).unwrap();
        let values = strengths.pseudo_values(0, 1);
        let difference = strengths.values[0] - strengths.values[1];
        assert!((super::super::mean(&values).unwrap() - difference).abs() < 1e-9);
        // The two strengths mirror each other: their difference has twice the error of one.
        let error = super::super::sd(&values).unwrap() / 6.0_f64.sqrt();
        assert!((error - 2.0 * strengths.errors.unwrap()[0]).abs() < 1e-9);
    }
}
