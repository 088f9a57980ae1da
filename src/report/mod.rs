//! Pure renderers of a summary: a table for people, JSON and CSV for programs.
//!
//! Nothing here opens a file or prints: every function returns text. Terminal tables are in per cent with one
//! decimal, files in 0..=1. Names and messages come from files and servers, so whatever could move a cursor or
//! reverse the reading direction is shown escaped (see [`visible`]); `items.csv` alone keeps texts as they are.

mod agreement;
mod bench_table;
mod comparison;
pub mod facts;
mod files;
mod footnotes;
mod headline;
pub mod html;
mod inspect;
mod items;
mod layout;
mod markup;
mod panel_notes;
#[cfg(feature = "parquet")]
mod parquet;
mod rubric_table;
mod scorecard;
mod section_table;
pub mod table;
mod terminal;
mod visible;

#[cfg(feature = "parquet")]
pub use self::parquet::{Cell, ColumnType, ParquetTable, parquet_metadata};
pub use agreement::{render_agreement_csv, render_agreement_json, render_agreement_table};
pub use bench_table::{
    BenchBlank, BenchColumn, BenchCoverage, BenchSource, BenchTable, render_bench_csv, render_bench_json,
    render_bench_table,
};
pub use comparison::{
    ComparisonContext, render_comparison_csv, render_comparison_json, render_comparison_latex,
    render_comparison_markdown, render_comparison_table,
};
pub use files::{render_csv, render_json, terminal_safe_json};
pub use inspect::{InspectJudge, InspectRun, InspectSample, render_inspect_log};
pub use items::ItemsCsv;
pub use layout::{plain_table, wrapped};
pub use rubric_table::render_table;
pub use scorecard::{render_scorecard_csv, render_scorecard_json, render_scorecard_table};
pub use table::Table;
pub use terminal::TableStyle;
pub use visible::visible;

use crate::analysis::Agreement;
use crate::domain::EndpointUse;

/// What a report says about a run besides its numbers.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ReportContext {
    /// The run's name, usually its directory.
    pub run: String,
    /// Who judged, as the reader should know it: a model's name, or `lexical`.
    pub judge_label: String,
    /// Whose wording was sent: `scholarqabench@95e6fc5`, or a set's fingerprint.
    pub prompts_label: String,
    /// Why the numbers cannot be compared with published ones; `None` where they can.
    pub comparability_note: Option<String>,
    /// Which slice of the answers these are (`2/5`), where they are not all: a part is no result.
    pub slice: Option<String>,
    /// True if `remarks` name judge and prompts of the rubric, as of every role.
    pub names_roles: bool,
    /// Further sentences about the run, without the full stop.
    pub remarks: Vec<String>,
    /// How two annotators' rubrics agree, where that was asked for.
    pub agreement: Option<Agreement>,
    /// What the endpoints of the judges did, where any was asked.
    pub endpoints: Vec<EndpointUse>,
}

#[cfg(test)]
mod rubric_table_tests;
