//! Variance components of judged values: questions, judges, their interaction, samples.
//!
//! value = mean + question + judge + question x judge + draw, all random. The components are estimated from mean squares:
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
    /// Judges by question. `None` with one judge, and without repeated samples: then it is in `draw`.
    pub question_judge: Option<f64>,
    /// Residual: samples of one judge on one question.
    pub draw: f64,
    /// Whether every judge judged every question equally often; if not, the estimates are Henderson's.
    pub balanced: bool,
}

/// The variance components of `values`.
///
/// `None` for values that are not finite, fewer than two questions, and without repeated samples or a second judge:
/// then noise and questions cannot be separated. Also `None` if the design does not determine a component (such as
/// every judge with its own questions).
///
/// ```
/// use scholareval::stats::{Judged, variance_components};
///
/// // Two questions, two draws each, one judge: draws (0.1, 0.3) and (0.7, 0.9).
/// let draws = [(0, 0.1), (0, 0.3), (1, 0.7), (1, 0.9)];
/// let values = draws.map(|(question, value)| Judged { question, judge: 0, value });
/// let parts = variance_components(&values).expect("two questions with repeated draws");
/// // Within: (0.02 + 0.02) / 2 = 0.02. Between: the means 0.2 and 0.8 vary by 0.18, less 0.02 / 2.
/// assert!((parts.draw - 0.02).abs() < 1e-12 && (parts.question - 0.17).abs() < 1e-12);
/// ```
pub fn variance_components(values: &[Judged]) -> Option<VarianceComponents> {
    let table = Table::new(values)?;
    let (questions, judges) = (table.by_question.len(), table.by_judge.len());
    let repeated = table.cells.len() < values.len();
    if questions < 2 || (judges < 2 && !repeated) {
        return None;
    }
    let solved = table.solve(judges >= 2, repeated)?.map(|variance| variance.max(0.0));
    Some(VarianceComponents {
        question: solved[0],
        judge: (judges >= 2).then_some(solved[1]),
        question_judge: (judges >= 2 && repeated).then_some(solved[2]),
        draw: solved[3],
        balanced: table.is_balanced(),
    })
}

impl VarianceComponents {
    /// The variance of one question's mean over this many judges with this many samples each, the judges being the same for
    /// all questions: question + question_judge / j + draw / (j d).
    pub fn of_question(&self, judges: usize, draws: usize) -> f64 {
        let j = judges as f64;
        self.question + self.question_judge.unwrap_or(0.0) / j + self.draw / (j * draws as f64)
    }
}

/// Size and sum of a group.
#[derive(Debug, Clone, Copy, Default)]
struct Group {
    count: f64,
    sum: f64,
}

/// The values, centered on their mean, by question, judge and both.
struct Table {
    by_question: BTreeMap<usize, Group>,
    by_judge: BTreeMap<usize, Group>,
    cells: BTreeMap<(usize, usize), Group>,
    total: f64,
    squares: f64,
}

/// Expectation of a quadratic form: its coefficients of question, judge, question x judge and sample.
type Coefficients = [f64; 4];

impl Table {
    fn new(values: &[Judged]) -> Option<Self> {
        let mean = super::mean(&values.iter().map(|judged| judged.value).collect::<Vec<_>>())?;
        let (mut by_question, mut by_judge, mut cells) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        let add = |group: &mut Group, value: f64| {
            group.count += 1.0;
            group.sum += value;
        };
        let mut squares = 0.0;
        for judged in values {
            let value = judged.value - mean;
            squares += value * value;
            add(by_question.entry(judged.question).or_default(), value);
            add(by_judge.entry(judged.judge).or_default(), value);
            add(cells.entry((judged.question, judged.judge)).or_default(), value);
        }
        Some(Self { by_question, by_judge, cells, total: values.len() as f64, squares })
    }

    fn is_balanced(&self) -> bool {
        let full = self.cells.len() == self.by_question.len() * self.by_judge.len();
        let first = self.cells.values().next().map(|cell| cell.count);
        full && self.cells.values().all(|cell| Some(cell.count) == first)
    }

    /// The components of question, judge, question x judge and sample; those left out of the model are 0.
    fn solve(&self, with_judges: bool, repeated: bool) -> Option<[f64; 4]> {
        let total_of = |groups: &mut dyn Iterator<Item = &Group>| groups.map(|g| g.sum * g.sum / g.count).sum::<f64>();
        let questions = total_of(&mut self.by_question.values());
        let judges = total_of(&mut self.by_judge.values());
        let cells = total_of(&mut self.cells.values());
        let [of_mean, of_questions, of_judges, of_cells, of_all] = self.expectations();
        // Differences of totals, whose expectations do not depend on the mean; each row is the form's value and
        // coefficients.
        let minus = |a: Coefficients, b: Coefficients| -> Coefficients { std::array::from_fn(|i| a[i] - b[i]) };
        let plus = |a: Coefficients, b: Coefficients| -> Coefficients { std::array::from_fn(|i| a[i] + b[i]) };
        let mut rows = vec![(questions, minus(of_questions, of_mean))];
        let mut unknown = vec![0];
        if with_judges {
            rows.push((judges, minus(of_judges, of_mean)));
            unknown.push(1);
        }
        if with_judges && repeated {
            rows.push((cells - questions - judges, plus(minus(minus(of_cells, of_questions), of_judges), of_mean)));
            unknown.push(2);
        }
        rows.push(if repeated {
            (self.squares - cells, minus(of_all, of_cells))
        } else {
            // Without repeated samples, what questions and judges do not explain is the residual.
            (self.squares - questions - judges, plus(minus(minus(of_all, of_questions), of_judges), of_mean))
        });
        unknown.push(3);
        let system = rows
            .into_iter()
            .map(|(value, coefficients)| unknown.iter().map(|i| coefficients[*i]).chain([value]).collect())
            .collect();
        let solution = eliminate(system)?;
        let mut components = [0.0; 4];
        unknown.into_iter().zip(solution).for_each(|(i, variance)| components[i] = variance);
        Some(components)
    }

    /// Coefficients of the expected totals: grand mean, by question, by judge, by cell and of all values.
    fn expectations(&self) -> [Coefficients; 5] {
        let n = self.total;
        let squares = |groups: &mut dyn Iterator<Item = &Group>| groups.map(|g| g.count * g.count).sum::<f64>();
        let mean = [
            squares(&mut self.by_question.values()) / n,
            squares(&mut self.by_judge.values()) / n,
            squares(&mut self.cells.values()) / n,
            1.0,
        ];
        let (mut in_questions, mut in_judges) = (0.0, 0.0);
        for ((question, judge), cell) in &self.cells {
            in_questions += cell.count * cell.count / self.by_question[question].count;
            in_judges += cell.count * cell.count / self.by_judge[judge].count;
        }
        [
            mean,
            [n, in_questions, in_questions, self.by_question.len() as f64],
            [in_judges, n, in_judges, self.by_judge.len() as f64],
            [n, n, n, self.cells.len() as f64],
            [n, n, n, n],
        ]
    }
}

/// Gauss elimination with pivoting of rows that end in their right-hand side; `None` for a singular system.
fn eliminate(mut rows: Vec<Vec<f64>>) -> Option<Vec<f64>> {
    let n = rows.len();
    let scale = rows.iter().flat_map(|row| &row[..n]).fold(0.0_f64, |most, value| most.max(value.abs()));
    for column in 0..n {
        let pivot = (column..n).max_by(|a, b| rows[*a][column].abs().total_cmp(&rows[*b][column].abs()))?;
        rows.swap(column, pivot);
        if rows[column][column].abs() <= 1e-10 * scale {
            return None;
        }
        let pivot = rows[column].clone();
        for (_, row) in rows.iter_mut().enumerate().filter(|(index, _)| *index != column) {
            let factor = row[column] / pivot[column];
            row.iter_mut().zip(&pivot).for_each(|(value, above)| *value -= factor * above);
        }
    }
    Some(rows.iter().enumerate().map(|(index, row)| row[n] / row[index]).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(rows: &[(usize, usize, f64)]) -> Vec<Judged> {
        rows.iter()
            .map(|(question, judge, value)| Judged { question: *question, judge: *judge, value: *value })
            .collect()
    }

    #[test]
    fn two_judges_and_no_repeated_draw_by_hand() {
        // Questions 1 2 6 under judge 0, 2 3 7 under judge 1: judges are 1 apart, nothing is left over.
        // MSQ = 2 * 7 = 14 (means 1.5 2.5 6.5, variance 7), MSJ = 3 * 0.5 = 1.5, rest 0: questions 7, judges 1.5 / 3.
        let rows = [(0, 0, 1.0), (1, 0, 2.0), (2, 0, 6.0), (0, 1, 2.0), (1, 1, 3.0), (2, 1, 7.0)];
        let parts = variance_components(&judged(&rows)).unwrap();
        assert!((parts.question - 7.0).abs() < 1e-12 && (parts.judge.unwrap() - 0.5).abs() < 1e-12, "{parts:?}");
        assert!(parts.draw.abs() < 1e-12 && parts.question_judge.is_none() && parts.balanced);
    }

    #[test]
    fn unequal_draws_of_one_judge_are_the_one_way_estimates() {
        // Question 0: 0 2 (mean 1), question 1: 5 7 9 (mean 7). Within (2 + 8) / 3 = 10/3; grand mean 23/5;
        // between 2 * 3.6^2 + 3 * 2.4^2 = 43.2 on 1 df; n0 = (5 - 13/5) / 1 = 2.4; (43.2 - 10/3) / 2.4 = 16.6111
        let rows = [(0, 0, 0.0), (0, 0, 2.0), (1, 0, 5.0), (1, 0, 7.0), (1, 0, 9.0)];
        let parts = variance_components(&judged(&rows)).unwrap();
        assert!((parts.draw - 10.0 / 3.0).abs() < 1e-12 && (parts.question - (43.2 - 10.0 / 3.0) / 2.4).abs() < 1e-12);
        assert!(parts.judge.is_none() && !parts.balanced);
    }

    #[test]
    fn what_cannot_be_split_is_none() {
        assert_eq!(variance_components(&[]), None);
        assert_eq!(variance_components(&judged(&[(0, 0, 1.0), (0, 0, 2.0)])), None);
        assert_eq!(variance_components(&judged(&[(0, 0, 1.0), (1, 0, 2.0)])), None);
        assert_eq!(variance_components(&judged(&[(0, 0, 1.0), (0, 0, f64::NAN), (1, 0, 2.0)])), None);
        // Each judge has its own question, so the two effects cannot be separated.
        let own = [(0, 0, 1.0), (0, 0, 2.0), (1, 1, 5.0), (1, 1, 6.0)];
        assert_eq!(variance_components(&judged(&own)), None);
    }

    #[test]
    fn an_estimate_below_0_is_0() {
        // Both questions have mean 1, draws 0 and 2: between 0, within 2, so questions (0 - 2) / 2 < 0.
        let parts = variance_components(&judged(&[(0, 0, 0.0), (0, 0, 2.0), (1, 0, 0.0), (1, 0, 2.0)])).unwrap();
        assert_eq!((parts.question, parts.draw), (0.0, 2.0));
    }

    #[test]
    fn the_variance_of_a_question_by_hand() {
        let parts = VarianceComponents {
            question: 0.04,
            judge: Some(0.0009),
            question_judge: Some(0.01),
            draw: 0.02,
            balanced: true,
        };
        // 0.04 + 0.01 / 2 + 0.02 / (2 * 5)
        assert!((parts.of_question(2, 5) - 0.047).abs() < 1e-12);
    }
}
