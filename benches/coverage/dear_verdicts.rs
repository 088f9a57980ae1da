//! Means of a cheap judge corrected by drawn verdicts of a dear one: what the intervals hold, and what the draw saves.

use rand::RngExt;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;
use scholareval::runs::{FrameVerdict, VerdictFrame};
use scholareval::stats::{
    DrawnVerdict, corrected_values, mean, mean_interval, random_sample, systematic_sample,
};

use super::{holds, normal, resampling};

const ANSWERS: usize = 100;
const CRITERIA: [usize; 2] = [10, 40];
const SHARES: [f64; 3] = [0.05, 0.1, 0.2];
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
            Self::Useless => normal(rng),
        };
        (1.0 / (1.0 + (-said).exp())).clamp(0.001, 0.999)
    }
}

/// The verdicts of a run with the dear judge's credits.
fn board(
    judge: CheapJudge,
    criteria: usize,
    weighted: bool,
    spread: f64,
    rng: &mut ChaCha8Rng,
) -> (VerdictFrame, Vec<f64>) {
    let mut frame = VerdictFrame {
        answers: Vec::new(),
        verdicts: Vec::new(),
        left_out: 0,
        without_doubt: 0,
    };
    let mut dear = Vec::new();
    for answer in 0..ANSWERS {
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
        for (at, weight) in weights.into_iter().enumerate() {
            let p = 1.0 / (1.0 + (-(quality + spread * normal(rng))).exp());
            dear.push(f64::from(u8::from(rng.random::<f64>() < p)));
            let credit = judge.says(p, rng);
            if weight != 0.0 {
                frame.verdicts.push(FrameVerdict {
                    answer,
                    item: at.to_string(),
                    weight: weight / positive,
                    credit,
                    doubt: credit * (1.0 - credit),
                });
            } else {
                dear.pop();
            }
        }
        frame
            .answers
            .push(("s".into(), answer.to_string().into(), 0.0));
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
            whole: self.whole + other.whole,
            by_doubt: self.by_doubt + other.by_doubt,
            even: self.even + other.even,
            labels: self.labels + other.labels,
            routed: self.routed + other.routed,
        }
    }
}

fn repetition(
    judge: CheapJudge,
    criteria: usize,
    weighted: bool,
    spread: f64,
    share: f64,
    truth: f64,
    seed: u64,
) -> Held {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let (frame, dear) = board(judge, criteria, weighted, spread, &mut rng);
    let all = frame.verdicts.len();
    let n = (share * all as f64).round() as usize;
    let everything: Vec<usize> = (0..all).collect();
    let of_these = mean(&values(
        &frame,
        &dear,
        &everything,
        &vec![1.0; all],
        |verdict| verdict.credit,
    ))
    .unwrap();
    let interval = |values: &[f64]| {
        let questions: Vec<usize> = (0..values.len()).collect();
        mean_interval(values, Some(&questions), None, resampling(seed))
    };
    let error = |values: &[f64]| (mean(values).unwrap() - of_these).powi(2);

    let probabilities = frame.probabilities(n);
    let (sample, _) = frame.draw(n, seed).unwrap();
    let by_doubt = values(&frame, &dear, &sample, &probabilities, |verdict| {
        verdict.credit
    });

    let even = vec![n as f64 / all as f64; all];
    let sample = systematic_sample(&even, seed);
    let evenly = values(&frame, &dear, &sample, &even, |verdict| verdict.credit);
    // Labels only: what is not labeled is like the labeled ones of the same sign.
    let mean_of = |is_fault: bool| {
        let of_sign = sample
            .iter()
            .filter(|at| (frame.verdicts[**at].weight < 0.0) == is_fault);
        let (mut sum, mut whole) = (0.0, 0.0);
        for at in of_sign {
            let weight = frame.verdicts[*at].weight.abs();
            sum += weight * dear[*at];
            whole += weight;
        }
        if whole > 0.0 { sum / whole } else { 0.5 }
    };
    let centers = [mean_of(false), mean_of(true)];
    let center = |verdict: &FrameVerdict| centers[usize::from(verdict.weight < 0.0)];
    let labels = values(&frame, &dear, &sample, &even, center);

    // Whole answers: all verdicts of a share of the answers.
    let answers = random_sample(
        &[0; ANSWERS],
        (share * ANSWERS as f64).round() as usize,
        seed,
    );
    let mut of_answers = everything.clone();
    of_answers.retain(|at| answers.contains(&frame.verdicts[*at].answer));
    let whole = values(&frame, &dear, &of_answers, &vec![share; all], |verdict| {
        verdict.credit
    });

    // Routing: the dear verdict stands where the cheap one is not sure.
    let mut unsure = everything;
    unsure.retain(|at| {
        let credit = frame.verdicts[*at].credit;
        credit.max(1.0 - credit) < SURE
    });
    let routed = values(&frame, &dear, &unsure, &vec![1.0; all], |verdict| {
        f64::from(u8::from(verdict.credit > 0.5))
    });
    Held {
        doubt: f64::from(u8::from(holds(interval(&by_doubt), truth))),
        whole: f64::from(u8::from(holds(interval(&whole), truth))),
        by_doubt: error(&by_doubt),
        even: error(&evenly),
        labels: error(&labels),
        routed: mean(&routed).unwrap() - of_these,
    }
}

/// The mean of many boards.
fn truth(criteria: usize, weighted: bool, spread: f64) -> f64 {
    let means = (0..3_000_u64).into_par_iter().map(|seed| {
        let mut rng = ChaCha8Rng::seed_from_u64(1_000_000 + seed);
        let (frame, dear) = board(CheapJudge::Calibrated, criteria, weighted, spread, &mut rng);
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
        "\nCorrected means: intervals that hold the truth (%) by drawn verdicts / whole answers; variance of an even draw over that by doubt \
         and over that of labels only; bias of routing below {SURE}"
    );
    for weighted in [false, true] {
        for criteria in CRITERIA {
            for (spread, name) in [(1.2, "wide"), (3.5, "near 0 and 1")] {
                let truth = truth(criteria, weighted, spread);
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
                            .map(|seed| {
                                repetition(judge, criteria, weighted, spread, share, truth, seed)
                            })
                            .reduce(Held::default, Held::plus);
                        let percent = |count: f64| 100.0 * count / repetitions as f64;
                        format!(
                            "{:.0}%: {:.1} / {:.1} gain {:.2} labels {:.2} routed {:+.3}",
                            100.0 * share,
                            percent(held.doubt),
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
