//! Statistics on slices: resampling intervals, correlation, summaries.
//!
//! Everything here is a pure function of its arguments: what is random is seeded, what is undefined is `None` and
//! never NaN. The functions are checked against SciPy; `tests/fixtures/stats/make_golden.py` says how.
//!
//! ```
//! use scholareval::stats::{BcaOptions, bca_mean_interval, mean};
//!
//! let scores = [0.2, 0.4, 0.4, 0.7, 0.9];
//! let interval = bca_mean_interval(&scores, BcaOptions::seeded(7));
//! assert!(interval.is_some_and(|i| i.low < 0.52 && 0.52 < i.high));
//! assert_eq!(mean(&[]), None);
//! ```

mod binomial;
mod bootstrap;
mod bootstrap_sums;
mod correlation;
mod summary;

pub use bootstrap::{BcaOptions, Interval, bca_mean_interval, bca_mean_intervals};
pub use bootstrap_sums::bca_sums_intervals;
pub use correlation::{intraclass_correlation, kendall_tau_b, pearson, spearman};
pub use summary::{mean, quantile, sd};
