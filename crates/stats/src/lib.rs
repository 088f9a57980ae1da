//! Statistics on slices: intervals, tests, agreement, power.
//!
//! All functions are pure: random ones are seeded and do not depend on the number of threads; undefined values are
//! `None`, never NaN.
//!
//! - Intervals: [`mean_interval`] and [`mean_interval_within`] for means, [`bca_clustered_interval`] for other statistics,
//!   [`bca_sums_intervals`] for measures of summed counts.
//! - Comparing systems: [`paired_family`], [`holm_adjusted`], [`cohens_dz`], [`cliffs_delta`],
//!   [`indistinguishable_groups`], [`rank_distribution`]; length-adjusted: [`least_squares`]; planning: [`PilotSpread`].
//! - Pairwise judging: [`WinRate`], [`SystemWinRate`], [`Strengths`]; looks before the end:
//!   [`critical_values`], [`LookEstimate`].
//! - Agreement of raters: [`Coefficient`] (alpha, kappa, AC1, ICC), [`Correlation`], both with [`coefficient_interval`].
//! - Judge noise: [`variance_components`].
//! - Prediction-powered inference: [`prediction_powered_mean`]; samples of answers to label: [`systematic_sample`];
//!   values corrected by a few dear verdicts: [`corrected_values`]; shares by sensitivity and specificity: [`rogan_gladen`].
//!
//! Checked against SciPy, statsmodels, krippendorff, scikit-learn, pingouin and ppi-python, see
//! `tests/scipy/make_golden.py` and `tests/golden/make_golden.py`.
//!
//! ```
//! use scholareval_stats::{BootstrapOptions, mean, mean_interval};
//!
//! let scores = [0.2, 0.4, 0.4, 0.7, 0.9];
//! let interval = mean_interval(&scores, None, None, BootstrapOptions::seeded(7));
//! assert!(interval.is_some_and(|i| i.low < 0.52 && 0.52 < i.high));
//! assert_eq!(mean(&[]), None);
//! ```

mod agreement;
mod anchors;
mod bootstrap;
mod bounded_mean;
mod corrected;
mod correlation;
mod deviation;
mod distributions;
mod effect;
mod effective;
mod f1_of_means;
mod groups;
mod holm;
mod jackknife;
mod linear;
mod looks;
mod missing_share;
mod paired;
mod paired_difference;
mod paired_test;
mod pairwise;
mod power;
mod ppi;
mod ranks;
mod regression;
mod rogan_gladen;
mod sampling;
mod strengths;
mod studentized;
mod summary;
mod table_posterior;
mod variance;
mod weighted_share;

pub use agreement::{Coefficient, MeasurementLevel};
pub use anchors::{
    AnchoredAnswer, AnchoredMean, CarriedMean, FEWEST_ANCHOR_SYSTEMS, anchored_mean, carried_mean,
    fewest_differing, sampling_half_width,
};
pub use bootstrap::{
    BootstrapOptions, Interval, bca_clustered_interval, bca_sums_intervals, clipped_mean_sd,
};
pub use corrected::{DrawnVerdict, corrected_interval, corrected_values, variance_of_draw};
pub use correlation::{Correlation, intraclass_correlation};
pub use deviation::Deviation;
pub use distributions::{normal_quantile, t_quantile};
pub use effect::{cliffs_delta, cohens_dz};
pub use effective::{EffectiveJudges, effective_judges};
pub use f1_of_means::{f1_of_means, mean_of_means};
pub use groups::{group_letters, indistinguishable_groups};
pub use holm::holm_adjusted;
pub use jackknife::coefficient_interval;
pub use looks::{LookEstimate, critical_values, predictive_probability};
pub use missing_share::{FoundReferences, MissingShare, missing_share};
pub use paired::paired_family;
pub use paired_test::{MetricValues, PairedFamily, PairedMethod, PairedTest};
pub use pairwise::{BothOrders, PairVerdict, SystemWinRate, WinRate, cyclic_triads, first_shown};
pub use power::{PilotSpread, questions_for};
pub use ppi::{Estimand, JudgedAnswer, PredictionPoweredMean, prediction_powered_mean};
pub use ranks::{rank_among, rank_distribution};
pub use regression::{Line, least_squares};
pub use rogan_gladen::{CorrectedShare, RecognizedShare, rogan_gladen};
pub use sampling::{
    inclusion_probabilities, random_sample, systematic_sample, weighted_inclusion_probabilities,
};
pub use strengths::{NoStrengths, Strengths, Ties};
pub use studentized::{mean_interval, mean_interval_within, standard_error};
pub use summary::{Prf, harmonic_mean, mean, quantile, ratio, rounded, sd};
pub use variance::{Judged, VarianceComponents, variance_components};
pub use weighted_share::{WeightedShare, WeightedUnit, weighted_share};
