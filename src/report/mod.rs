//! Results as tables for people, JSON and CSV for programs, and one HTML page.
//!
//! Nothing here prints; except for exports (`write_..`), every function returns text or a [`Table`]. People see percent
//! with one decimal, programs natural units (0..=1). Names and messages come from files and servers, so control
//! characters are escaped (see [`visible`]; not in `items.csv`), and CSV is guarded against spreadsheets ([`CsvText`]).

mod agreement;
mod anchors;
mod axis;
mod bench;
mod certificate;
mod comparison;
mod criteria;
mod every_eval_ever;
mod export;
pub(crate) mod facts;
mod figure;
pub(crate) mod html;
mod inspect;
mod inspect_scores;
mod json;
mod junit;
mod latex;
mod layout;
mod legend;
mod looks;
mod markup;
mod metrics_table;
mod numbers;
#[cfg(feature = "parquet")]
mod parquet;
mod power;
mod probe;
mod results_file;
mod rows;
mod run_list;
mod run_report;
mod scorecard;
pub mod table;
mod terminal;
mod verdict_plan;
mod visible;
pub(crate) mod works;

#[cfg(feature = "parquet")]
pub use self::parquet::ParquetTables;
pub use agreement::{
    AgreementTables, label_plan_table, render_agreement_csv, render_agreement_table,
};
pub use anchors::{anchor_plan_table, anchor_plan_text};
pub use bench::{Bench, BenchBlank};
pub use certificate::{certificate_table, certificate_text};
pub use comparison::{comparison_table, comparison_text, run_warnings};
pub use criteria::{criteria_table, criteria_text};
pub use every_eval_ever::EvaluationSource;
pub use export::{RunExport, WrittenExport};
pub(crate) use figure::judges_figure;
pub use figure::{
    DrawnFigure, FIGURES, Figure, FigureOption, FigureOptions, FigureRequest, FigureStyle, Palette,
    RunFigure,
};
pub use inspect::InspectLogs;
pub use inspect_scores::InspectScores;
pub use json::render_json;
pub use junit::{UncheckedGate, junit};
pub use latex::DEFAULT_LABEL;
pub use layout::wrapped;
pub(crate) use legend::{COMPARISON_LEGEND, CRITERIA_LEGEND, SCORECARD_LEGEND};
pub use metrics_table::{IntervalStyle, MetricsTableOptions, paper_table};
pub(crate) use power::no_pilot;
pub use power::{power_table, power_text};
pub use results_file::{check_writable, write_results};
pub use rows::{ComponentRow, component_rows, write_items_csv};
pub use run_list::run_list;
pub use run_report::{RunReport, write_items};
pub use scorecard::{scorecard, scorecard_csv, scorecard_json};
pub use table::Table;
pub use terminal::TableStyle;
pub use verdict_plan::{verdict_plan_table, verdict_plan_text};
pub use visible::visible;
pub use works::{AnswerWorks, CitedWorksReport, SystemWorks};

pub use crate::text::spreadsheets::CsvText;

use serde::Serialize;

use crate::analysis::comparison::RunLooks;
use crate::analysis::{Agreement, distinct};
use crate::domain::{EndpointUse, Note};
use crate::record::{AnsweredJudge, RecordedRun};

/// The warnings on who answered, for exports.
fn answer_warnings(run: &RecordedRun) -> Vec<String> {
    let judges = run.manifest.answered_judges();
    judges.iter().filter_map(AnsweredJudge::warning).collect()
}

/// Context of a report, besides its numbers.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct ReportContext {
    /// The run's name, usually its directory.
    pub run: String,
    /// The judges' models, or the lexical baseline; empty without a judge.
    pub judge: String,
    /// The judges with the models that answered for them; empty where no recorded reply names one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub answered_by: Vec<AnsweredJudge>,
    /// The rubric's prompts: `scholarqabench@95e6fc5`, or a set's fingerprint.
    pub prompts: String,
    /// The row of a benchmark that the run is, if it is one.
    #[serde(skip)]
    pub row: Option<String>,
    /// That row, where its numbers are shown instead of those of the scorers.
    #[serde(flatten)]
    pub bench: Option<Bench>,
    /// Which part of the answers these are (`slice 2/5`), if they are not all: a part is not a result.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub part: Option<String>,
    /// Whether the run did not finish, so that systems may have scores of different cases.
    #[serde(skip)]
    pub unfinished: bool,
    /// Warnings for the reader.
    #[serde(skip)]
    pub notes: Vec<Note>,
    /// Agreement of two annotators' rubrics, if requested.
    pub agreement: Option<Agreement>,
    /// The looks at the run and their decisions (`--until`), else null.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub looks: Option<RunLooks>,
    /// Statistics of the judges' endpoints, if any was used.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub endpoints: Vec<EndpointUse>,
}

impl ReportContext {
    /// Warnings that other models than the requested ones answered.
    fn answer_warnings(&self) -> impl Iterator<Item = Note> {
        let warnings = self.answered_by.iter().filter_map(AnsweredJudge::warning);
        warnings.map(|text| Note::warning(format!("{text}.")))
    }

    /// The judges, with the models that answered for them where these have other names.
    fn judge_label(&self) -> String {
        if self.answered_by.is_empty() {
            return self.judge.clone();
        }
        let labels = self.answered_by.iter().map(AnsweredJudge::label);
        distinct(labels).join(" and ")
    }
}
