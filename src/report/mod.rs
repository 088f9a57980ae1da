//! Results as tables for people, JSON and CSV for programs, and one HTML page.
//!
//! Nothing here prints; but for exports (`write_..`), every function returns text or a [`Table`]. People see percent with one decimal,
//! programs natural units (0..=1). Names and messages come from files and servers, so whatever could move a cursor or
//! reverse the reading direction is shown escaped (see [`visible`]); `items.csv` alone keeps texts as they are.

mod agreement;
mod bench;
mod comparison;
pub mod facts;
pub mod html;
mod inspect;
mod json;
mod layout;
mod markup;
mod panel_notes;
#[cfg(feature = "parquet")]
mod parquet;
mod results_file;
mod rows;
mod run_report;
mod scorecard;
pub mod table;
mod terminal;
mod visible;

#[cfg(feature = "parquet")]
pub use self::parquet::write_parquet_tables;
pub use agreement::{render_agreement_csv, render_agreement_json, render_agreement_table};
pub use bench::{Bench, BenchBlank, BenchColumn, bench_csv, bench_json, bench_table};
pub use comparison::ComparisonReport;
pub use inspect::write_inspect_logs;
pub use json::{render_json, terminal_safe_json};
pub use layout::wrapped;
pub use results_file::{check_writable, write_results};
pub use rows::{ComponentRow, component_rows, render_items_csv};
pub use run_report::{RunReport, write_items};
pub use scorecard::{scorecard, scorecard_csv, scorecard_json};
pub use table::Table;
pub use terminal::TableStyle;
pub use visible::visible;

use serde::Serialize;

use crate::analysis::Agreement;
use crate::domain::{EndpointUse, Note};

/// What a report says about a run besides its numbers.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct ReportContext {
    /// The run's name, usually its directory.
    pub run: String,
    /// Who judged the rubric: a model's name, or `lexical`; empty without such a judge.
    pub judge: String,
    /// Whose wording was sent: `scholarqabench@95e6fc5`, or a set's fingerprint.
    pub prompts: String,
    /// Which slice of the answers these are (`2/5`), where they are not all: a part is no result.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slice: Option<String>,
    /// What a reader must know of the run.
    #[serde(skip)]
    pub notes: Vec<Note>,
    /// How two annotators' rubrics agree, where that was asked for.
    pub agreement: Option<Agreement>,
    /// What the endpoints of the judges did, where any was asked.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub endpoints: Vec<EndpointUse>,
}
