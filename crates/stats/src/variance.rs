//! Variance components of judged values: questions, judges, their interaction, samples.
//!
//! value = mean + question + judge + question x judge + sample, all random. The components are estimated from mean squares:
//! S. R. Searle, G. Casella and C. E. McCulloch, "Variance components" (1992), chapter 4 for balanced data; for unbalanced
//! data Henderson's method I (C. R. Henderson, "Estimation of variance and covariance components", Biometrics 9, 1953),
//! which equals the former where data are balanced. Sums of squares of raw group totals are set to their expectations, which
//! are linear in the components.

use std::collections::BTreeMap;

use serde::Serialize;

/// One judged value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Judged {
    /// The question (case).
    pub question: usize,
    /// The judge.
    pub judge: usize,
    /// The value of one sample.
    pub value: f64,
}

/// Variances that sum to that of a single judged value, in squared units of the values; estimates below 0 become 0.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct VarianceComponents {
    /// Between questions.
    pub question: f64,
    /// Between judges, of which some are more lenient. `None` with one judge.
    pub judge: Option<f64>,
    /// Judges by question. `None` with one judge, and without repeated samples: then it is in `sample`.
    pub question_judge: Option<f64>,
    /// Residual: samples of one judge on one question.
    pub sample: f64,
}

/// The variance components of `values`.
///
/// `None` for values that are not finite, fewer than two questions, and without repeated samples or a second judge:
/// then noise and questions cannot be separated. Also `None` if the design does not determine a component (such as
/// every judge with other questions).
///
/// ```
/// use scholareval_stats::{Judged, variance_components};
///
/// // Two questions, two samples each, one judge: samples (0.1, 0.3) and (0.7, 0.9).
/// let samples = [(0, 0.1), (0, 0.3), (1, 0.7), (1, 0.9)];
/// let values = samples.map(|(question, value)| Judged { question, judge: 0, value });
/// let parts = variance_components(&values).expect("two questions with repeated samples");
/// // Within: (0.02 + 0.02) / 2 = 0.02. Between: the means 0.2 and 0.8 vary by 0.18, less 0.02 / 2.
/// assert!((parts.sample - 0.02).abs() < 1e-12 && (parts.question - 0.17).abs() < 1e-12);
/// ```
pub fn variance_components(values: &[Judged]) -> Option<VarianceComponents> {
    let table = CrossTable::new(values)?;
    let questions = table.by_question.len();
    let judges = table.by_judge.len();
    let repeated = table.cells.len() < values.len();
    if questions < 2 || (judges < 2 && !repeated) {
        return None;
    }
    let solved = table
        .solve(judges >= 2, repeated)?
        // Estimates from differences of sums can fall below 0 where the component is small; a
        // variance cannot.
        .map(|variance| variance.max(0.0));
    Some(VarianceComponents {
        question: solved[0],
        judge: (judges >= 2).then_some(solved[1]),
        // With one sample a cell, interaction and noise cannot be separated: both are in `sample`.
        question_judge: (judges >= 2 && repeated).then_some(solved[2]),
        sample: solved[3],
    })
}

impl VarianceComponents {
    /// The variance of one question's mean over this many judges with this many samples each, the judges being the same for
    /// all questions: question + question_judge / j + sample / (j d).
    pub fn of_question(&self, judges: usize, samples: usize) -> f64 {
        let j = judges as f64;
        self.question + self.question_judge.unwrap_or(0.0) / j + self.sample / (j * samples as f64)
    }
}

/// Size and sum of a group.
#[derive(Debug, Clone, Copy, Default)]
struct Group {
    count: f64,
    sum: f64,
}

impl Group {
    fn add(&mut self, value: f64) {
        self.count += 1.0;
        self.sum += value;
    }
}

/// The sum of the groups' squared sums, each divided by its count.
fn raw_total<'a>(groups: impl Iterator<Item = &'a Group>) -> f64 {
    groups
        .map(|group| group.sum * group.sum / group.count)
        .sum()
}

/// The sum of the groups' squared counts.
fn squared_counts<'a>(groups: impl Iterator<Item = &'a Group>) -> f64 {
    groups.map(|group| group.count * group.count).sum()
}

/// The values, centered on their mean, by question, judge and both.
struct CrossTable {
    by_question: BTreeMap<usize, Group>,
    by_judge: BTreeMap<usize, Group>,
    cells: BTreeMap<(usize, usize), Group>,
    total: f64,
    squares: f64,
}

impl CrossTable {
    fn new(values: &[Judged]) -> Option<Self> {
        let mean = super::mean(&values.iter().map(|judged| judged.value).collect::<Vec<_>>())?;
        let mut table = Self {
            by_question: BTreeMap::new(),
            by_judge: BTreeMap::new(),
            cells: BTreeMap::new(),
            total: values.len() as f64,
            squares: 0.0,
        };
        for judged in values {
            let Judged {
                question, judge, ..
            } = *judged;
            // Squares of raw totals are compared, and a common mean in all of them would swallow the
            // differences.
            let value = judged.value - mean;
            table.squares += value * value;
            table.by_question.entry(question).or_default().add(value);
            table.by_judge.entry(judge).or_default().add(value);
            let cell = table.cells.entry((question, judge)).or_default();
            cell.add(value);
        }
        Some(table)
    }

    /// The components of question, judge, question x judge and sample; those left out of the model are 0.
    fn solve(&self, with_judges: bool, repeated: bool) -> Option<[f64; 4]> {
        let forms = forms(with_judges, repeated);
        let totals = self.totals();
        let mut equations = Vec::new();
        for (_, factors) in &forms {
            let mut equation: Vec<f64> = forms
                .iter()
                .map(|(component, _)| combine(factors, &totals, *component))
                .collect();
            equation.push(combine(factors, &totals, 4));
            equations.push(equation);
        }
        let mut components = [0.0; 4];
        for ((component, _), variance) in forms.iter().zip(eliminate(equations)?) {
            components[*component] = variance;
        }
        Some(components)
    }

    /// The totals sum(group sum^2 / group count) of all values as one group (0, as they are centered), by question, by judge, by
    /// cell, and of every value: the coefficients of question, judge, question x judge and sample in the expectation, the total.
    fn totals(&self) -> [[f64; 5]; 5] {
        let n = self.total;
        let mut in_questions = 0.0;
        let mut in_judges = 0.0;
        for ((question, judge), cell) in &self.cells {
            in_questions += cell.count * cell.count / self.by_question[question].count;
            in_judges += cell.count * cell.count / self.by_judge[judge].count;
        }
        let questions = self.by_question.len() as f64;
        let judges = self.by_judge.len() as f64;
        let cells = self.cells.len() as f64;
        [
            [
                squared_counts(self.by_question.values()) / n,
                squared_counts(self.by_judge.values()) / n,
                squared_counts(self.cells.values()) / n,
                1.0,
                0.0,
            ],
            [
                n,
                in_questions,
                in_questions,
                questions,
                raw_total(self.by_question.values()),
            ],
            [
                in_judges,
                n,
                in_judges,
                judges,
                raw_total(self.by_judge.values()),
            ],
            [n, n, n, cells, raw_total(self.cells.values())],
            [n, n, n, n, self.squares],
        ]
    }
}

/// Differences of totals, whose expectations do not depend on the mean: a component, and the factors of the totals.
fn forms(with_judges: bool, repeated: bool) -> Vec<(usize, [f64; 5])> {
    let mut forms = vec![(0, [-1.0, 1.0, 0.0, 0.0, 0.0])];
    if with_judges {
        forms.push((1, [-1.0, 0.0, 1.0, 0.0, 0.0]));
    }
    if with_judges && repeated {
        forms.push((2, [1.0, -1.0, -1.0, 1.0, 0.0]));
    }
    if repeated {
        forms.push((3, [0.0, 0.0, 0.0, -1.0, 1.0]));
    } else {
        // Without repeated samples, what questions and judges do not explain is the residual.
        forms.push((3, [1.0, -1.0, -1.0, 0.0, 1.0]));
    }
    forms
}

/// One column of the totals, each total multiplied by its factor, summed.
fn combine(factors: &[f64; 5], totals: &[[f64; 5]; 5], column: usize) -> f64 {
    let terms = factors.iter().zip(totals);
    terms.map(|(factor, total)| factor * total[column]).sum()
}

/// Gauss elimination with pivoting of rows that end in their right-hand side; `None` for a singular system.
fn eliminate(mut rows: Vec<Vec<f64>>) -> Option<Vec<f64>> {
    let n = rows.len();
    let scale = rows
        .iter()
        .flat_map(|row| &row[..n])
        .fold(0.0_f64, |most, value| most.max(value.abs()));
    for column in 0..n {
        let pivot =
            (column..n).max_by(|a, b| rows[*a][column].abs().total_cmp(&rows[*b][column].abs()))?;
        rows.swap(column, pivot);
        // A pivot of rounding size means that the data do not identify the components (each judge
        // saw other questions).
        if rows[column][column].abs() <= 1e-10 * scale {
            return None;
        }
        let pivot = rows[column].clone();
        let rows = rows.iter_mut();
        for (_, row) in rows.enumerate().filter(|(index, _)| *index != column) {
            let factor = row[column] / pivot[column];
            row.iter_mut()
                .zip(&pivot)
                .for_each(|(value, above)| *value -= factor * above);
        }
    }
    Some(
        rows.iter()
            .enumerate()
            .map(|(index, row)| row[n] / row[index])
            .collect(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(rows: &[(usize, usize, f64)]) -> Vec<Judged> {
        rows.iter()
            .map(|(question, judge, value)| Judged {
                question: *question,
                judge: *judge,
                value: *value,
            })
            .collect()
    }

    #[test]
    fn two_judges_and_no_repeated_sample_by_hand() {
        // Questions 1 2 6 under judge 0, 2 3 7 under judge 1: judges are 1 apart, nothing is left over.
        // MSQ = 2 * 7 = 14 (means 1.5 2.5 6.5, variance 7), MSJ = 3 * 0.5 = 1.5, rest 0: questions 7, judges 1.5 / 3.
        let rows = [
            (0, 0, 1.0),
            (1, 0, 2.0),
            (2, 0, 6.0),
            (0, 1, 2.0),
            (1, 1, 3.0),
            (2, 1, 7.0),
        ];
        let parts = variance_components(&judged(&rows)).unwrap();
        assert!(
            (parts.question - 7.0).abs() < 1e-12 && (parts.judge.unwrap() - 0.5).abs() < 1e-12,
            "{parts:?}"
        );
        assert!(parts.sample.abs() < 1e-12 && parts.question_judge.is_none());
    }

    #[test]
    fn unequal_samples_of_one_judge_are_the_one_way_estimates() {
        // Question 0: 0 2 (mean 1), question 1: 5 7 9 (mean 7). Within (2 + 8) / 3 = 10/3; grand mean 23/5;
        // between 2 * 3.6^2 + 3 * 2.4^2 = 43.2 on 1 df; n0 = (5 - 13/5) / 1 = 2.4; (43.2 - 10/3) / 2.4 = 16.6111
        let rows = [
            (0, 0, 0.0),
            (0, 0, 2.0),
            (1, 0, 5.0),
            (1, 0, 7.0),
            (1, 0, 9.0),
        ];
        let parts = variance_components(&judged(&rows)).unwrap();
        assert!(
            (parts.sample - 10.0 / 3.0).abs() < 1e-12
                && (parts.question - (43.2 - 10.0 / 3.0) / 2.4).abs() < 1e-12
        );
        assert!(parts.judge.is_none());
    }

    #[test]
    fn what_cannot_be_split_is_none() {
        assert_eq!(variance_components(&[]), None);
        assert_eq!(
            variance_components(&judged(&[(0, 0, 1.0), (0, 0, 2.0)])),
            None
        );
        assert_eq!(
            variance_components(&judged(&[(0, 0, 1.0), (1, 0, 2.0)])),
            None
        );
        assert_eq!(
            variance_components(&judged(&[(0, 0, 1.0), (0, 0, f64::NAN), (1, 0, 2.0)])),
            None
        );
        // Each judge has another question, so the two effects cannot be separated.
        let one_question_each = [(0, 0, 1.0), (0, 0, 2.0), (1, 1, 5.0), (1, 1, 6.0)];
        assert_eq!(variance_components(&judged(&one_question_each)), None);
    }

    #[test]
    fn an_estimate_below_0_is_0() {
        // Both questions have mean 1, samples 0 and 2: between 0, within 2, so questions (0 - 2) / 2 < 0.
        let parts = variance_components(&judged(&[
            (0, 0, 0.0),
            (0, 0, 2.0),
            (1, 0, 0.0),
            (1, 0, 2.0),
        ]))
        .unwrap();
        assert_eq!((parts.question, parts.sample), (0.0, 2.0));
    }

    #[test]
    fn the_variance_of_a_question_by_hand() {
        let parts = VarianceComponents {
            question: 0.04,
            judge: Some(0.0009),
            question_judge: Some(0.01),
            sample: 0.02,
        };
        // 0.04 + 0.01 / 2 + 0.02 / (2 * 5)
        assert!((parts.of_question(2, 5) - 0.047).abs() < 1e-12);
    }
}
