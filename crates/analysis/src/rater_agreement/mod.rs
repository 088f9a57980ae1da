//! Agreement of raters: judges, people, runs and annotators.
//!
//! [`run_rater`] makes a [`Rater`](scholareval_core::domain::Rater) from a run, people come from label files; [`rater_agreement`]
//! compares them in pairs and together. Formulas: `docs/metrics.md`. An undefined value has a reason; a missing rating
//! is never 0; questions with all their ratings are the units of intervals.
//!
//! ```
//! use scholareval_analysis::rater_agreement::{AgreementOptions, Labeled, rater_agreement};
//! use scholareval_core::domain::{Rater, RaterKind, Rating};
//!
//! let rater = |name: &str, values: [f64; 3]| {
//!     let mut rater = Rater::new(name, RaterKind::Human);
//!     rater.ratings = values
//!         .into_iter()
//!         .enumerate()
//!         .map(|(at, value)| Rating { system: "s".into(), case_id: format!("c{at}").into(), item: None, value })
//!         .collect();
//!     rater
//! };
//! let labels = Labeled { raters: vec![rater("ann", [1.0, 2.0, 4.0]), rater("bob", [2.0, 3.0, 5.0])], ..Labeled::default() };
//! let agreement = rater_agreement(&labels, &AgreementOptions::seeded(42));
//! assert_eq!(agreement.pairs[0].overall.kendall_tau_b.estimate, Some(1.0));
//! ```

mod compare;
mod comparisons;
mod confusion;
mod corrected_shares;
mod gates;
mod groups;
mod label_plan;
mod pair;
mod panel_errors;
mod powered;
mod reliability;
mod result;
mod run;
mod scales;
mod systems;
mod units;

pub use super::ratings::Estimate;
pub use compare::{Labeled, rater_agreement};
pub use confusion::{ItemScale, LabeledItem};
pub use corrected_shares::RunVerdicts;
pub use gates::agreement_gates;
pub use label_plan::{FEWEST_PILOT_LABELS, LabelPlan, PlannedLabels, label_plans};
pub use reliability::{LabeledBelief, Reliability, ReliabilityBin, reliability};
pub use result::{
    AgreementLevel, AgreementOptions, Confusion, LevelAccuracy, Measures, PairAgreement,
    PanelErrors, PartMeasures, PoweredMean, RankedSystem, Ranking, RaterAgreement, RaterGroup,
    RaterPair, RaterSummary, RoganGladenShare, SummaryRow, TieThreshold,
};
pub use run::{rated_scorer, run_rater};

#[cfg(test)]
mod tests;
