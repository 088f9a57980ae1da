//! How exact means that a few dear verdicts correct will be, from the cheap judge's run alone.
//!
//! With the weights w, doubts d and probabilities p of the verdicts of n answers, and V the variance of their scores by expected
//! credits, the variance of a corrected mean is expected to be (V + mean of sum w^2 d + mean of sum w^2 d (1 / p - 1)) / n: answers
//! differ, their true credits vary around the expected ones, and the draw adds its share. It holds as far as the cheap judge's
//! probabilities do. t has the degrees of freedom of the interval that it plans (`stats::corrected_interval`).

use std::collections::BTreeMap;

use serde::Serialize;

use super::verdict_frame::VerdictFrame;
use crate::stats::{sd, t_quantile};

/// Level of the intervals.
const LEVEL: f64 = 0.95;

/// Shares of the verdicts that a plan shows.
const SHARES: [f64; 7] = [0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 1.0];

/// Half-widths of the intervals of corrected means by the number of drawn verdicts.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct VerdictPlan {
    /// Verdicts that can be drawn.
    pub verdicts: usize,
    /// Their answers.
    pub answers: usize,
    /// Level of the intervals, 0..1.
    pub level: f64,
    /// The fewest drawn verdicts that reach the asked half-width; `None` if none was asked for, or all of them do not.
    pub fewest: Option<PlannedDraw>,
    /// By number of drawn verdicts, ascending.
    pub rows: Vec<PlannedDraw>,
}

/// A number of drawn verdicts.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct PlannedDraw {
    /// Drawn verdicts.
    pub drawn: usize,
    /// The half-width of the interval of a system's corrected mean; of several systems the widest one.
    pub half_width: f64,
}

/// What a plan knows of a system.
#[derive(Default)]
struct PlannedSystem {
    /// The expected score of each answer.
    expected: Vec<f64>,
    /// The summed variances of its scores around these.
    variance: f64,
    /// The expected number of drawn verdicts.
    drawn: f64,
}

impl VerdictFrame {
    /// The plan of draws of these verdicts; `None` if no system has two answers. `wanted` is a half-width to reach.
    pub fn plan(&self, wanted: Option<f64>) -> Option<VerdictPlan> {
        let all = self.verdicts.len();
        let mut rows: Vec<PlannedDraw> = Vec::new();
        for share in SHARES {
            let drawn = ((share * all as f64).round() as usize).max(1);
            if rows.last().is_none_or(|row| row.drawn < drawn) {
                rows.push(self.planned(drawn)?);
            }
        }
        let mut fewest = None;
        if let Some(wanted) =
            wanted.filter(|wanted| rows.last().is_some_and(|all| all.half_width <= *wanted))
        {
            // More draws never widen the interval.
            let (mut low, mut high) = (1, all);
            while low < high {
                let middle = usize::midpoint(low, high);
                if self.planned(middle)?.half_width <= wanted {
                    high = middle;
                } else {
                    low = middle + 1;
                }
            }
            fewest = self.planned(high);
        }
        Some(VerdictPlan {
            verdicts: all,
            answers: self.answers.len(),
            level: LEVEL,
            fewest,
            rows,
        })
    }

    fn planned(&self, drawn: usize) -> Option<PlannedDraw> {
        let probabilities = self.probabilities(drawn);
        let mut of_answers = vec![0.0; self.answers.len()];
        let mut expected: Vec<f64> = self.answers.iter().map(|(_, _, rest)| *rest).collect();
        let mut variances = vec![0.0; self.answers.len()];
        for (verdict, probability) in self.verdicts.iter().zip(probabilities) {
            expected[verdict.answer] += verdict.weight * verdict.credit;
            // w^2 d, and w^2 d (1 / p - 1) by the draw.
            variances[verdict.answer] += verdict.weight.powi(2) * verdict.doubt / probability;
            of_answers[verdict.answer] += probability;
        }
        let mut systems: BTreeMap<&str, PlannedSystem> = BTreeMap::new();
        for (at, (system, _, _)) in self.answers.iter().enumerate() {
            let of_system = systems.entry(system.as_str()).or_default();
            of_system.expected.push(expected[at]);
            of_system.variance += variances[at];
            of_system.drawn += of_answers[at];
        }
        let mut widest: Option<f64> = None;
        for system in systems.values() {
            let n = system.expected.len() as f64;
            let Some(spread) = sd(&system.expected) else {
                continue;
            };
            let degrees = (n.min(system.drawn) - 1.0).max(1.0);
            let t = t_quantile(f64::midpoint(1.0, LEVEL), degrees)?;
            let half_width = t * ((spread.powi(2) + system.variance / n) / n).sqrt();
            widest = Some(widest.map_or(half_width, |widest| widest.max(half_width)));
        }
        widest.map(|half_width| PlannedDraw { drawn, half_width })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runs::FrameVerdict;

    #[test]
    fn the_width_is_that_of_answers_credits_and_draw() {
        // Two answers of one criterion, expected .8 and .4, doubts .16 and .24; both drawn with probability 1/2 or so.
        let verdict = |answer, credit: f64| FrameVerdict {
            answer,
            item: "c".to_owned(),
            weight: 1.0,
            credit,
            doubt: credit * (1.0 - credit),
        };
        let frame = VerdictFrame {
            answers: vec![("s".into(), "a".into(), 0.0), ("s".into(), "b".into(), 0.0)],
            verdicts: vec![verdict(0, 0.8), verdict(1, 0.4)],
            left_out: 0,
            without_doubt: 0,
        };
        let plan = frame.plan(None).unwrap();
        // All drawn: (0.08 + (0.16 + 0.24) / 2) / 2 = 0.14, times t(1) = 12.7062
        let all = plan.rows.last().unwrap();
        assert_eq!(all.drawn, 2);
        assert!(
            (all.half_width - 12.7062 * 0.14_f64.sqrt()).abs() < 1e-3,
            "{all:?}"
        );
        // One drawn: half of it by weight, 1/4 each, half by .4 and .4899.
        let p = [
            0.25 + 0.5 * 0.4 / 0.889_898,
            0.25 + 0.5 * 0.489_898 / 0.889_898,
        ];
        let variance: f64 = (0.08 + (0.16 / p[0] + 0.24 / p[1]) / 2.0) / 2.0;
        assert!((plan.rows[0].half_width - 12.7062 * variance.sqrt()).abs() < 1e-3);
        assert_eq!(frame.plan(Some(5.0)).unwrap().fewest.unwrap().drawn, 2);
        assert_eq!(frame.plan(Some(0.1)).unwrap().fewest, None);
    }

    #[test]
    fn t_has_the_degrees_of_the_fewer_of_answers_and_drawn_verdicts() {
        // Four answers of one criterion, all alike: the variance is 0.25 / p / 4, with p = 1/2 or 1.
        let mut frame = VerdictFrame {
            answers: Vec::new(),
            verdicts: Vec::new(),
            left_out: 0,
            without_doubt: 0,
        };
        for answer in 0..4_usize {
            frame
                .answers
                .push(("s".into(), answer.to_string().into(), 0.0));
            frame.verdicts.push(FrameVerdict {
                answer,
                item: "c".to_owned(),
                weight: 1.0,
                credit: 0.5,
                doubt: 0.25,
            });
        }
        // t of 97.5% with 1 and 3 degrees of freedom.
        for (drawn, expected) in [(2, 12.706_2 * 0.125_f64.sqrt()), (4, 3.182_446 * 0.25)] {
            let planned = frame.planned(drawn).unwrap();
            assert!((planned.half_width - expected).abs() < 1e-4, "{planned:?}");
        }
    }
}
