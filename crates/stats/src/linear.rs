//! Small systems of linear equations, for models with one parameter a system.

/// The Cholesky factor of a symmetric positive definite matrix (rows of a lower triangle).
pub(super) struct Cholesky {
    rows: Vec<Vec<f64>>,
}

impl Cholesky {
    /// `None` if the matrix is not positive definite.
    pub(super) fn of(matrix: &[Vec<f64>]) -> Option<Self> {
        let mut rows: Vec<Vec<f64>> = Vec::with_capacity(matrix.len());
        for (i, given) in matrix.iter().enumerate() {
            let mut row = Vec::with_capacity(i + 1);
            for j in 0..=i {
                let above = if j < i { &rows[j] } else { &row };
                let known: f64 = row.iter().zip(above).take(j).map(|(a, b)| a * b).sum();
                let rest = given[j] - known;
                if j < i {
                    row.push(rest / rows[j][j]);
                } else if rest > 1e-12 * given[i].abs() {
                    row.push(rest.sqrt());
                } else {
                    return None;
                }
            }
            rows.push(row);
        }
        Some(Self { rows })
    }

    /// The x with matrix x = `right`.
    pub(super) fn solve(&self, right: &[f64]) -> Vec<f64> {
        let mut x = right.to_vec();
        for (i, row) in self.rows.iter().enumerate() {
            let known: f64 = row[..i].iter().zip(&x).map(|(a, b)| a * b).sum();
            x[i] = (x[i] - known) / row[i];
        }
        for i in (0..self.rows.len()).rev() {
            let known: f64 = (i + 1..self.rows.len())
                .map(|j| self.rows[j][i] * x[j])
                .sum();
            x[i] = (x[i] - known) / self.rows[i][i];
        }
        x
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equations_are_solved_and_a_matrix_that_is_not_positive_is_refused() {
        let matrix = [vec![4.0, 2.0], vec![2.0, 3.0]];
        // 4 x + 2 y = 8 and 2 x + 3 y = 8.
        let x = Cholesky::of(&matrix).unwrap().solve(&[8.0, 8.0]);
        assert!(
            (x[0] - 1.0).abs() < 1e-12 && (x[1] - 2.0).abs() < 1e-12,
            "{x:?}"
        );
        assert!(Cholesky::of(&[vec![1.0, 1.0], vec![1.0, 1.0]]).is_none());
    }
}
