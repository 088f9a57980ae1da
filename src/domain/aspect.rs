//! An aspect of answer quality with a description of each of its five scores (Prometheus, Kim et al. 2024).

use std::sync::Arc;

/// Grades run from this to [`MAX_GRADE`].
pub const MIN_GRADE: f64 = 1.0;
/// The best grade.
pub const MAX_GRADE: f64 = 5.0;

/// One aspect, under the names of ScholarQABench's `prometheus_rubrics_v8.json`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Aspect {
    /// Its name (`organization`, `coverage`, `relevance`, or one of the user's).
    pub name: Arc<str>,
    /// What is graded.
    pub criteria_description: String,
    /// What an answer of grade 1, 2, .. 5 is like.
    pub score_descriptions: [String; 5],
    /// Whether the judge sees the titles of the sources that the answer cites.
    pub use_title: bool,
    /// Whether the judge sees the texts of those sources, too.
    pub use_docs: bool,
}
