//! The verdicts of a run from which a few are drawn for a dear judge or for people.
//!
//! A verdict is a component of an answer that has a weight and was judged. It is drawn with a known probability, half in proportion to
//! its weight and half to its weight times the standard deviation of its credit as the cheap judge's probabilities have it. Answers
//! that miss a verdict of the cheap judge are not in the frame: their value could not be corrected.

use std::collections::HashSet;

use crate::domain::{CaseId, Component, ComponentKind, Digest, Mode, SystemName, VerdictDraw};
use crate::error::{Error, InputFault, Result};
use crate::record::RecordedRun;
use crate::runs::RunSet;
use crate::stats::{systematic_sample, weighted_inclusion_probabilities};

/// A score differs from the weighted mean of its components by no more than this.
const SAME_SCORE: f64 = 1e-6;

/// A verdict by its system, its case and the name of its component.
pub(super) type VerdictKey = (SystemName, CaseId, String);

/// A verdict of the cheap judge that can be drawn.
#[derive(Debug, Clone, PartialEq)]
pub struct FrameVerdict {
    /// The answer, by its index in the frame.
    pub answer: usize,
    /// The component.
    pub item: String,
    /// Its weight as a share of the positive weights of its answer; negative for a fault.
    pub weight: f64,
    /// The cheap judge's credit: the expected one where its probabilities are known, which leaves least to correct.
    pub credit: f64,
    /// The variance of the credit under the judge's probabilities; without these the largest on its scale.
    pub doubt: f64,
}

/// The verdicts of a run that can be drawn.
#[derive(Debug, Clone, PartialEq)]
pub struct VerdictFrame {
    /// The answers, by system and case, each with the part of its score that no verdict of the frame gives.
    pub answers: Vec<(SystemName, CaseId, f64)>,
    /// The verdicts, answer by answer.
    pub verdicts: Vec<FrameVerdict>,
    /// Answers that are not in it, since the cheap judge gave no verdict on one of their components.
    pub left_out: usize,
    /// Verdicts without probabilities.
    pub without_doubt: usize,
}

impl VerdictFrame {
    /// The frame of this run.
    ///
    /// # Errors
    /// When its scores are not weighted means of judged components, and when no answer has all verdicts.
    pub fn of(run: &RecordedRun) -> Result<Self> {
        check_rule(run)?;
        let mut frame = Self {
            answers: Vec::new(),
            verdicts: Vec::new(),
            left_out: 0,
            without_doubt: 0,
        };
        let mut scored: Vec<_> = run.scored.iter().collect();
        scored.retain(|answer| answer.score.components.iter().any(is_judged));
        scored.sort_by(|a, b| (&a.system, &a.case.case_id).cmp(&(&b.system, &b.case.case_id)));
        for answer in scored {
            let components = &answer.score.components;
            let Some(value) = answer.score.value else {
                frame.left_out += 1;
                continue;
            };
            // An abstention has no weight left, so that the score may be whole without it.
            if components.iter().any(|component| component.value.is_none()) {
                frame.left_out += 1;
                continue;
            }
            let sum = components
                .iter()
                .filter(|component| component.kind.is_weighted());
            let sum: f64 = sum
                .map(|component| component.weight * component.value.unwrap_or_default())
                .sum();
            if (sum - value).abs() > SAME_SCORE {
                return Err(not_a_mean(
                    run,
                    "a score differs from the weighted mean of its criteria",
                ));
            }
            frame.add(
                answer.system.clone(),
                answer.case.case_id.clone(),
                components,
            );
        }
        if frame.verdicts.is_empty() {
            let fault =
                InputFault::new(&run.path, "no answer has a verdict on each of its criteria");
            return Err(fault.refuse("score its answers by criteria first"));
        }
        Ok(frame)
    }

    /// The frame of the only run of a set.
    ///
    /// # Errors
    /// As [`VerdictFrame::of`]; for several runs.
    pub fn of_one(set: &RunSet) -> Result<Self> {
        let [run] = &set.runs[..] else {
            return Err(Error::Usage(
                "verdicts are drawn from one run: name only one".to_owned(),
            ));
        };
        Self::of(run)
    }

    fn add(&mut self, system: SystemName, case: CaseId, components: &[Component]) {
        let answer = self.answers.len();
        let mut rest = 0.0;
        let components = components.iter();
        for component in components.filter(|component| component.kind.is_weighted()) {
            let credit = component.value.unwrap_or_default();
            if !is_judged(component) {
                rest += component.weight * credit;
                continue;
            }
            let belief = component.belief.as_deref();
            let doubt = belief.and_then(|belief| belief.doubt);
            self.without_doubt += usize::from(doubt.is_none());
            let (low, high) = component.kind.unit().range();
            self.verdicts.push(FrameVerdict {
                answer,
                item: component.name.clone(),
                weight: component.weight,
                credit: belief.map_or(credit, |belief| belief.expected),
                doubt: doubt.unwrap_or((high - low).powi(2) / 4.0),
            });
        }
        self.answers.push((system, case, rest));
    }

    /// The probability with which each verdict is among `n` drawn ones.
    pub fn probabilities(&self, n: usize) -> Vec<f64> {
        let verdicts = self.verdicts.iter();
        let weights: Vec<f64> = verdicts.map(|verdict| verdict.weight.abs()).collect();
        let sizes = self.verdicts.iter();
        let sizes = sizes.map(|verdict| verdict.weight.abs() * verdict.doubt.max(0.0).sqrt());
        let sizes: Vec<f64> = sizes.collect();
        weighted_inclusion_probabilities(&weights, &sizes, n)
    }

    /// Draws `n` verdicts: their indices, and how to draw them again.
    ///
    /// # Errors
    /// [`Error::Settings`] for fewer verdicts than `n`, and for `n` = 0.
    pub fn draw(&self, n: usize, seed: u64) -> Result<(Vec<usize>, VerdictDraw)> {
        let of = self.verdicts.len();
        if n == 0 || n > of {
            return Err(Error::Settings(format!(
                "--verdicts {n}: there are {of} verdicts; draw 1 or more of them"
            )));
        }
        let probabilities = self.probabilities(n);
        let draw = VerdictDraw {
            verdicts: n,
            of,
            seed,
            frame: self.hash(&probabilities),
        };
        Ok((systematic_sample(&probabilities, seed), draw))
    }

    /// The indices of the verdicts of this draw with the probability of every verdict; `None` if it is of another frame.
    pub(super) fn draw_again(&self, draw: &VerdictDraw) -> Option<(HashSet<usize>, Vec<f64>)> {
        let (drawn, again) = self.draw(draw.verdicts, draw.seed).ok()?;
        (again == *draw).then(|| {
            (
                drawn.into_iter().collect(),
                self.probabilities(draw.verdicts),
            )
        })
    }

    /// The system, case and component of a verdict.
    pub(super) fn key(&self, verdict: usize) -> VerdictKey {
        let FrameVerdict { answer, item, .. } = &self.verdicts[verdict];
        let (system, case, _) = &self.answers[*answer];
        (system.clone(), case.clone(), item.clone())
    }

    /// Everything on which the draw and the corrected values depend.
    fn hash(&self, probabilities: &[f64]) -> Digest<8> {
        let mut hasher = blake3::Hasher::new();
        for (at, probability) in probabilities.iter().enumerate() {
            let (system, case, item) = self.key(at);
            for name in [system.as_str(), case.as_str(), &item] {
                hasher.update(&(name.len() as u64).to_le_bytes());
                hasher.update(name.as_bytes());
            }
            for number in [
                *probability,
                self.verdicts[at].weight,
                self.verdicts[at].credit,
            ] {
                hasher.update(&number.to_le_bytes());
            }
        }
        hasher.finalize().into()
    }

    /// A sentence on what is not in the frame, or has no probabilities; `None` if everything is in it.
    pub fn warning(&self) -> Option<String> {
        let mut parts = Vec::new();
        if self.left_out > 0 {
            parts.push(format!(
                "{} of {} answers have no verdict on one of their criteria and cannot be corrected",
                self.left_out,
                self.left_out + self.answers.len()
            ));
        }
        if self.without_doubt > 0 {
            parts.push(format!(
                "{} of {} verdicts have no probabilities and count as the most doubtful",
                self.without_doubt,
                self.verdicts.len()
            ));
        }
        (!parts.is_empty()).then(|| parts.join("; "))
    }
}

/// Whether a judge gave the component its value by itself. One reply has both shares of citations, which no other judge is asked for
/// one by one.
fn is_judged(component: &Component) -> bool {
    let is_single = matches!(
        component.kind,
        ComponentKind::Criterion
            | ComponentKind::Property
            | ComponentKind::Evidence
            | ComponentKind::Expertise
    );
    is_single && component.weight != 0.0
}

/// # Errors
/// For a run whose rule makes the weights depend on the judge, clips, or adds other metrics.
fn check_rule(run: &RecordedRun) -> Result<()> {
    let Some(profile) = run.manifest.criteria_profile() else {
        return Ok(());
    };
    let is_compat = run.manifest.mode == Mode::Compat;
    if profile.report {
        return Err(not_a_mean(
            run,
            "its scores are means of several metrics of a report",
        ));
    }
    if !profile.reply.second.is_empty() {
        return Err(not_a_mean(
            run,
            "its weights depend on what the judge says of the reference article",
        ));
    }
    if profile.clip || is_compat && profile.round_in_compat.is_some() {
        return Err(not_a_mean(
            run,
            "the score of an answer is clipped or rounded",
        ));
    }
    if is_compat && profile.clip_in_compat {
        return Err(not_a_mean(run, "its means are clipped in compat mode"));
    }
    Ok(())
}

fn not_a_mean(run: &RecordedRun, why: &str) -> Error {
    let what = format!("dear verdicts cannot correct this run: {why}");
    let hint = "take a run whose scores are weighted means of criteria, or let the dear judge score whole answers (label --answers N \
                --random)";
    InputFault::new(&run.path, what).refuse(hint)
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    use super::*;
    use crate::stats::{DrawnVerdict, corrected_interval, corrected_values, mean, sd};

    fn frame(verdicts: Vec<FrameVerdict>, answers: usize) -> VerdictFrame {
        VerdictFrame {
            answers: (0..answers)
                .map(|at| ("s".into(), at.to_string().into(), 0.0))
                .collect(),
            verdicts,
            left_out: 0,
            without_doubt: 0,
        }
    }

    fn verdict(answer: usize, item: usize, weight: f64, credit: f64) -> FrameVerdict {
        FrameVerdict {
            answer,
            item: item.to_string(),
            weight,
            credit,
            doubt: credit * (1.0 - credit),
        }
    }

    #[test]
    fn half_of_the_draw_goes_by_weight_and_half_by_doubt_and_a_changed_run_is_another_frame() {
        // |w|: .5, .5, 1; |w| sqrt(d): .25, .15, .3
        let all = vec![
            verdict(0, 0, 0.5, 0.5),
            verdict(0, 1, 0.5, 0.9),
            verdict(1, 0, -1.0, 0.1),
        ];
        let found = frame(all.clone(), 2);
        let expected = [0.125 + 0.25 / 1.4, 0.125 + 0.15 / 1.4, 0.25 + 0.3 / 1.4];
        for (found, expected) in found.probabilities(1).iter().zip(expected) {
            assert!((found - expected).abs() < 1e-12, "{found} {expected}");
        }
        let (drawn, draw) = found.draw(2, 7).unwrap();
        assert_eq!((drawn.len(), draw.verdicts, draw.of), (2, 2, 3));
        assert!(found.draw_again(&draw).is_some());
        let mut changed = found;
        changed.verdicts[1].credit = 0.8;
        assert_eq!(changed.draw_again(&draw), None);
        assert!(changed.draw(0, 1).is_err() && changed.draw(4, 1).is_err());
    }

    #[test]
    fn intervals_hold_for_a_judge_that_is_too_sure_where_its_mean_and_routing_do_not() {
        // 60 answers of 10 criteria; the cheap judge says .97 where .8 are met and .1 where .3 are: the truth is .55, its mean .535,
        // and routing below .9 never sees the sure mistakes of the first half.
        let (mut held, mut estimates, mut routed) = (0, Vec::new(), Vec::new());
        for seed in 0..300_u64 {
            let mut rng = ChaCha8Rng::seed_from_u64(seed);
            let mut verdicts = Vec::new();
            let mut dear = Vec::new();
            for at in 0..600 {
                let is_easy = at % 2 == 0;
                let (said, met) = if is_easy { (0.97, 0.8) } else { (0.1, 0.3) };
                verdicts.push(verdict(at / 10, at % 10, 0.1, said));
                dear.push(f64::from(u8::from(rng.random::<f64>() < met)));
            }
            let frame = frame(verdicts, 60);
            let (drawn, draw) = frame.draw(60, seed).unwrap();
            let (again, probabilities) = frame.draw_again(&draw).unwrap();
            assert_eq!(again.len(), drawn.len());
            let verdicts: Vec<DrawnVerdict> = frame
                .verdicts
                .iter()
                .enumerate()
                .map(|(at, verdict)| DrawnVerdict {
                    answer: verdict.answer,
                    weight: verdict.weight,
                    cheap: verdict.credit,
                    dear: again.contains(&at).then_some(dear[at]),
                    probability: probabilities[at],
                })
                .collect();
            let values = corrected_values(&verdicts, 60);
            let estimate = mean(&values).unwrap();
            let interval = corrected_interval(&values, None, drawn.len(), 0.95).unwrap();
            held += usize::from(interval.holds(0.55));
            estimates.push(estimate);
            routed.push(
                mean(
                    &frame
                        .verdicts
                        .iter()
                        .map(|verdict| verdict.credit.round())
                        .collect::<Vec<_>>(),
                )
                .unwrap(),
            );
        }
        // 95% of 300, +- 3 standard errors of 1.26%.
        assert!((274..=296).contains(&held), "{held}");
        let bias = mean(&estimates).unwrap() - 0.55;
        assert!(
            bias.abs() < 3.0 * sd(&estimates).unwrap() / 300_f64.sqrt(),
            "{bias}"
        );
        // Everything is sure, so that routing asks nothing: 1 and 0 in halves.
        assert!((mean(&routed).unwrap() - 0.55).abs() > 0.04);
    }
}
