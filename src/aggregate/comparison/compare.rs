//! Tables of systems and cases to a comparison.

use super::{Comparison, ComparisonOptions, Observed};

/// Compares the systems of each table. `runs` and `marks` of the result are left empty for the caller, who knows them.
pub fn compare(observed: &[Observed], options: &ComparisonOptions) -> Comparison {
    let systems = observed.first().map(|first| first.systems.clone()).unwrap_or_default();
    Comparison {
        schema_version: 1,
        runs: Vec::new(),
        systems,
        options: options.clone(),
        metrics: Vec::new(),
        marks: Vec::new(),
    }
}
