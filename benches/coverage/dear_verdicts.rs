//! Means of a cheap judge corrected by drawn verdicts of a dear one: what the intervals hold, and what the draw saves.
//!
//! Where the cheap judge is calibrated, labels alone are worth 0.55 of an even draw if probabilities spread widely, and 0.3 if they are
//! mostly near 0 and 1.

use rand::RngExt;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;
use scholareval::runs::{FrameVerdict, VerdictFrame};
use scholareval::stats::{
    AnchoredAnswer, DrawnVerdict, Interval, MetricValues, anchored_mean, corrected_interval,
    corrected_values, mean, paired_family, random_sample, systematic_sample,
};

use super::{normal, resampling};

const ANSWERS: usize = 100;
const CRITERIA: [usize; 2] = [10, 40];
const SHARES: [f64; 3] = [0.05, 0.1, 0.2];
/// Standard deviations of the logits of a criterion's probability.
const SPREADS: [(f64, &str); 2] = [(2.3, "wide"), (5.0, "near 0 and 1")];
/// Routing asks the dear judge where the cheap one is less sure than this.
const SURE: f64 = 0.9;

/// How the cheap judge's probability is to the true one.
#[derive(Debug, Clone, Copy)]
enum CheapJudge {
    Calibrated,
    TooSure,
    Mild,
    SureAndWrong,
    Useless,
}

impl CheapJudge {
    fn says(self, p: f64, rng: &mut ChaCha8Rng) -> f64 {
        let logit = (p / (1.0 - p)).ln();
        let said = match self {
            Self::Calibrated => logit,
            Self::TooSure => 2.5 * logit,
            Self::Mild => 0.7 * logit + 0.8 + 0.7 * normal(rng),
            Self::SureAndWrong if rng.random::<f64>() < 0.1 => -1.5 * logit,
            Self::SureAndWrong => 1.5 * logit,
            // Evenly spread probabilities.
            Self::Useless => {
                let p: f64 = rng.random_range(0.001..0.999);
                (p / (1.0 - p)).ln()
            }
        };
        (1.0 / (1.0 + (-said).exp())).clamp(0.001, 0.999)
    }
}

/// The questions and their criteria.
#[derive(Debug, Clone, Copy)]
struct Rubrics {
    /// The most criteria of a question.
    criteria: usize,
    /// Weights of -5 to 10 of 5 or more criteria; else equal weights of all.
    weighted: bool,
    /// The standard deviation of the logits.
    spread: f64,
}

/// The verdicts of a run with the dear judge's credits. Systems are equally good; questions are harder or easier for all of them.
fn board(
    judge: CheapJudge,
    rubrics: Rubrics,
    systems: usize,
    rng: &mut ChaCha8Rng,
) -> (VerdictFrame, Vec<f64>) {
    let Rubrics {
        criteria,
        weighted,
        spread,
    } = rubrics;
    let mut frame = VerdictFrame {
        answers: Vec::new(),
        verdicts: Vec::new(),
        left_out: 0,
        without_doubt: 0,
    };
    let mut dear = Vec::new();
    for question in 0..ANSWERS {
        let mut weights = vec![1.0; criteria];
        if weighted {
            // Rubrics with weights of their own have lengths of their own.
            weights.truncate(rng.random_range(5..=criteria));
            for weight in &mut weights {
                *weight = f64::from(rng.random_range(-5..=10_i32));
            }
            weights[0] = 10.0;
        }
        let positive: f64 = weights.iter().filter(|weight| **weight > 0.0).sum();
        // Two thirds are met.
        let quality = 0.8 + 0.5 * normal(rng);
        weights.retain(|weight| *weight != 0.0);
        for system in 0..systems {
            for (at, weight) in weights.iter().enumerate() {
                let p = 1.0 / (1.0 + (-(quality + spread * normal(rng))).exp());
                dear.push(f64::from(u8::from(rng.random::<f64>() < p)));
                let credit = judge.says(p, rng);
                frame.verdicts.push(FrameVerdict {
                    answer: frame.answers.len(),
                    item: at.to_string(),
                    weight: weight / positive,
                    credit,
                    doubt: credit * (1.0 - credit),
                });
            }
            let name = format!("system {system}");
            frame
                .answers
                .push((name.as_str().into(), question.to_string().into(), 0.0));
        }
    }
    (frame, dear)
}

/// The values of the answers by a sample of the verdicts.
fn values(
    frame: &VerdictFrame,
    dear: &[f64],
    sample: &[usize],
    probabilities: &[f64],
    cheap: impl Fn(&FrameVerdict) -> f64,
) -> Vec<f64> {
    let mut verdicts: Vec<DrawnVerdict> = Vec::new();
    for (at, verdict) in frame.verdicts.iter().enumerate() {
        verdicts.push(DrawnVerdict {
            answer: verdict.answer,
            weight: verdict.weight,
            cheap: cheap(verdict),
            dear: None,
            probability: probabilities[at],
        });
    }
    for at in sample {
        verdicts[*at].dear = Some(dear[*at]);
    }
    corrected_values(&verdicts, frame.answers.len())
}

/// Sums over repetitions: intervals that hold the truth, and squares of the errors of the draw.
#[derive(Debug, Clone, Copy, Default)]
struct Held {
    doubt: f64,
    difference: f64,
    whole: f64,
    by_doubt: f64,
    even: f64,
    labels: f64,
    routed: f64,
}

impl Held {
    fn plus(self, other: Self) -> Self {
        Self {
            doubt: self.doubt + other.doubt,
            difference: self.difference + other.difference,
            whole: self.whole + other.whole,
            by_doubt: self.by_doubt + other.by_doubt,
            even: self.even + other.even,
            labels: self.labels + other.labels,
            routed: self.routed + other.routed,
        }
    }
}

fn draws(share: f64, verdicts: usize) -> usize {
    (share * verdicts as f64).round() as usize
}

/// Whether there is an interval that holds the truth.
fn is_held(interval: Option<Interval>, truth: f64) -> bool {
    interval.is_some_and(|interval| interval.holds(truth))
}

/// Whether the interval of the difference of two equal systems holds 0.
fn difference_held(judge: CheapJudge, rubrics: Rubrics, share: f64, seed: u64) -> bool {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let (frame, dear) = board(judge, rubrics, 2, &mut rng);
    let n = draws(share, frame.verdicts.len());
    let probabilities = frame.probabilities(n);
    let (sample, _) = frame.draw(n, seed).unwrap();
    let both = values(&frame, &dear, &sample, &probabilities, |verdict| {
        verdict.credit
    });
    let differences: Vec<f64> = both.chunks(2).map(|pair| pair[0] - pair[1]).collect();
    let drawn = MetricValues::Corrected(n);
    let family = paired_family(&[&differences], None, drawn, resampling(seed));
    is_held(family.unwrap().pairs[0].interval, 0.0)
}

/// The interval of the mean where whole answers are drawn, as `compare --corrected-by` of a run by the dear judge on these gives it.
fn of_whole_answers(
    frame: &VerdictFrame,
    dear: &[f64],
    rubrics: Rubrics,
    share: f64,
    seed: u64,
) -> Option<Interval> {
    let anchors = random_sample(&[0; ANSWERS], draws(share, ANSWERS), seed);
    let mut sums = [[0.0; 2]; ANSWERS];
    for (verdict, dear) in frame.verdicts.iter().zip(dear) {
        sums[verdict.answer][0] += verdict.weight * verdict.credit;
        sums[verdict.answer][1] += verdict.weight * dear;
    }
    let mut answers = Vec::new();
    for (question, [new, old]) in sums.into_iter().enumerate() {
        let old = anchors.contains(&question).then_some(old);
        answers.push(AnchoredAnswer { new, old, question });
    }
    // Scores with negative weights have no range.
    let range = (!rubrics.weighted).then_some(Interval::new(0.0, 1.0));
    anchored_mean(&answers, range, resampling(seed))?.of_questions
}

/// The dear judge's mean of a sample of merits or faults: by labels alone, the others are like these.
fn labels_mean(frame: &VerdictFrame, dear: &[f64], sample: &[usize], is_fault: bool) -> f64 {
    let (mut sum, mut whole) = (0.0, 0.0);
    for at in sample {
        let weight = frame.verdicts[*at].weight;
        if (weight < 0.0) == is_fault {
            sum += weight.abs() * dear[*at];
            whole += weight.abs();
        }
    }
    if whole > 0.0 { sum / whole } else { 0.5 }
}

fn repetition(judge: CheapJudge, rubrics: Rubrics, share: f64, truth: f64, seed: u64) -> Held {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let (frame, dear) = board(judge, rubrics, 1, &mut rng);
    let all = frame.verdicts.len();
    let n = draws(share, all);
    let everything: Vec<usize> = (0..all).collect();
    let of_these = mean(&values(
        &frame,
        &dear,
        &everything,
        &vec![1.0; all],
        |verdict| verdict.credit,
    ))
    .unwrap();
    let error = |values: &[f64]| (mean(values).unwrap() - of_these).powi(2);

    let probabilities = frame.probabilities(n);
    let (sample, _) = frame.draw(n, seed).unwrap();
    let by_doubt = values(&frame, &dear, &sample, &probabilities, |verdict| {
        verdict.credit
    });

    let even = vec![n as f64 / all as f64; all];
    let sample = systematic_sample(&even, seed);
    let evenly = values(&frame, &dear, &sample, &even, |verdict| verdict.credit);
    let centers = [false, true].map(|is_fault| labels_mean(&frame, &dear, &sample, is_fault));
    let center = |verdict: &FrameVerdict| centers[usize::from(verdict.weight < 0.0)];
    let labels = values(&frame, &dear, &sample, &even, center);

    // Routing: the dear verdict stands where the cheap one is not sure.
    let mut unsure = everything;
    unsure.retain(|at| {
        let credit = frame.verdicts[*at].credit;
        credit.max(1.0 - credit) < SURE
    });
    let routed = values(&frame, &dear, &unsure, &vec![1.0; all], |verdict| {
        f64::from(u8::from(verdict.credit > 0.5))
    });
    let interval = corrected_interval(&by_doubt, None, n, 0.95);
    let whole = of_whole_answers(&frame, &dear, rubrics, share, seed);
    let difference = difference_held(judge, rubrics, share, seed);
    Held {
        doubt: f64::from(u8::from(is_held(interval, truth))),
        difference: f64::from(u8::from(difference)),
        whole: f64::from(u8::from(is_held(whole, truth))),
        by_doubt: error(&by_doubt),
        even: error(&evenly),
        labels: error(&labels),
        routed: mean(&routed).unwrap() - of_these,
    }
}

/// The mean of many boards.
fn truth(rubrics: Rubrics) -> f64 {
    let means = (0..3_000_u64).into_par_iter().map(|seed| {
        let mut rng = ChaCha8Rng::seed_from_u64(1_000_000 + seed);
        let (frame, dear) = board(CheapJudge::Calibrated, rubrics, 1, &mut rng);
        let products = frame
            .verdicts
            .iter()
            .zip(&dear)
            .map(|(verdict, dear)| verdict.weight * dear);
        products.sum::<f64>() / ANSWERS as f64
    });
    mean(&means.collect::<Vec<_>>()).unwrap()
}

pub(super) fn dear_verdicts(repetitions: u64) {
    println!(
        "\nCorrected means: intervals that hold the mean (%) by drawn verdicts / the difference of two systems / the mean by whole answers; \
         variance of an even draw over that by doubt and over that of labels only; bias of routing below {SURE}"
    );
    for weighted in [false, true] {
        for criteria in CRITERIA {
            for (spread, name) in SPREADS {
                let rubrics = Rubrics {
                    criteria,
                    weighted,
                    spread,
                };
                let truth = truth(rubrics);
                for judge in [
                    CheapJudge::Calibrated,
                    CheapJudge::TooSure,
                    CheapJudge::Mild,
                    CheapJudge::SureAndWrong,
                    CheapJudge::Useless,
                ] {
                    let cells = SHARES.map(|share| {
                        let held = (0..repetitions)
                            .into_par_iter()
                            .map(|seed| repetition(judge, rubrics, share, truth, seed))
                            .reduce(Held::default, Held::plus);
                        let percent = |count: f64| 100.0 * count / repetitions as f64;
                        format!(
                            "{:.0}%: {:.1} / {:.1} / {:.1} gain {:.2} labels {:.2} routed {:+.3}",
                            100.0 * share,
                            percent(held.doubt),
                            percent(held.difference),
                            percent(held.whole),
                            held.even / held.by_doubt,
                            held.even / held.labels,
                            held.routed / repetitions as f64,
                        )
                    });
                    let weights = if weighted { "-5..10" } else { "equal" };
                    println!(
                        "{weights} {criteria} {name} {judge:?}: {}",
                        cells.join("   ")
                    );
                }
            }
        }
    }
}
