//! What the commands have in common that give values an item and means a system.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rayon::prelude::*;
use serde_json::Value;

use super::Context;
use super::score::REFERENCE;
use crate::aggregate::{AggregateOptions, scorecard};
use crate::cli::ExitCode;
use crate::cli::args::PerItemArgs;
use crate::cli::origin::escape_controls;
use crate::cli::scoring::outcome::run_name;
use crate::cli::scoring::sinks::write_items;
use crate::cli::settings::OutputFormat;
use crate::cli::terminal::{note, stdout_width, write_form};
use crate::dataset::{Predictions, load_predictions, load_references};
use crate::domain::{Answer, CaseId, Mode, Prediction, ScoredAnswer, SystemName, TestCase};
use crate::error::{Error, InputFault, Result};
use crate::pipeline::Item;
use crate::pipeline::record::{InputFile, Manifest, RunDir, RunRecord, RunStatus, SCHEMA_VERSION, write_inputs};
use crate::report::{
    ReportContext, TableStyle, render_scorecard_csv, render_scorecard_json, render_scorecard_table, visible,
};
use crate::scorer::{Scorer, Step, Verdicts};

/// The predictions with their golds; an item without an output is a fault.
pub(super) fn load(files: &[PathBuf], references: Option<&Path>, quiet: bool) -> Result<Vec<Predictions>> {
    let mut systems = load_predictions(files)?;
    let references = references.map(load_references).transpose()?;
    let mut warnings: Vec<InputFault> = references.iter().flat_map(|read| read.warnings.clone()).collect();
    let mut faults = Vec::new();
    for system in &mut systems {
        warnings.append(&mut system.warnings);
        warnings.extend(references.as_ref().and_then(|references| references.join(system)));
        let missing = system.items.iter().filter(|item| item.output.is_none());
        faults.extend(missing.map(|item| {
            let fault = InputFault::new(&system.path, "output is missing").at_line(item.line).of_case(&*item.id);
            fault.hint("write \"\" for an empty answer")
        }));
    }
    if !faults.is_empty() {
        return Err(Error::Input(faults));
    }
    if !quiet {
        for warning in &warnings {
            note(&format!("warning: {}", escape_controls(&warning.to_string())));
        }
    }
    Ok(systems)
}

/// Every item through a scorer that asks no judge, and through the one that tells what the reference makes of it, where
/// there is one; on all cores, systems and items in their order.
pub(super) fn score_all(
    systems: Vec<Predictions>,
    scorer: &dyn Scorer,
    reference: Option<&dyn Scorer>,
) -> (Vec<Item>, Vec<Arc<ScoredAnswer>>) {
    let mut ids = Ids::default();
    let mut item = |system: &SystemName, prediction: Prediction| {
        let id = ids.of(system, &prediction);
        let text = prediction.output.clone().unwrap_or_default();
        let case = Arc::new(TestCase::without_rubric(id.clone(), &prediction.input));
        let line = prediction.line;
        let prediction = Some(Arc::new(prediction));
        let answer = Answer { prediction, line, ..Answer::new(system.clone(), id, Arc::clone(&text)) };
        Item { case, answer, steering: Vec::new() }
    };
    let items: Vec<Item> = systems
        .into_iter()
        .flat_map(|system| {
            system.items.into_iter().map(|prediction| item(&system.system, prediction)).collect::<Vec<_>>()
        })
        .collect();
    let score_of = |scorer: &dyn Scorer, item: &Item| match scorer.step(&item.case, &item.answer, &Verdicts::new()) {
        Step::Done(score) => Some(score),
        Step::Ask(_) => None,
    };
    let scored = items.par_iter().filter_map(|item| {
        Some(Arc::new(ScoredAnswer {
            system: item.answer.system.clone(),
            case: Arc::clone(&item.case),
            score: score_of(scorer, item)?,
            reference: reference.and_then(|reference| score_of(reference, item)),
            members: BTreeMap::new(),
            steering: Vec::new(),
        }))
    });
    let scored = scored.collect();
    (items, scored)
}

/// Case ids: equal questions of several systems are one case, and no id means two questions. (Items without ids are
/// called by their place, which is another question in every file.)
#[derive(Default)]
struct Ids {
    by_question: HashMap<String, CaseId>,
    used: HashSet<CaseId>,
    taken: HashSet<(SystemName, CaseId)>,
}

impl Ids {
    fn of(&mut self, system: &SystemName, prediction: &Prediction) -> CaseId {
        let known = self.by_question.get(&prediction.input).cloned();
        if let Some(id) = known.filter(|id| self.taken.insert((system.clone(), id.clone()))) {
            return id;
        }
        // A new question, or one that the system answers again.
        let numbered = (2..).map(|n| CaseId::from(format!("{}#{n}", prediction.id)));
        let mut candidates = std::iter::once(CaseId::from(prediction.id.as_str())).chain(numbered);
        let id =
            candidates.find(|id| self.used.insert(id.clone())).unwrap_or_else(|| CaseId::from(prediction.id.as_str()));
        self.taken.insert((system.clone(), id.clone()));
        self.by_question.entry(prediction.input.clone()).or_insert_with(|| id.clone());
        id
    }
}

/// What is told beside the means, and where they go.
pub(super) struct Conclusion<'a> {
    pub(super) args: &'a PerItemArgs,
    pub(super) scorer: &'static str,
    pub(super) mode: Mode,
    /// What changes scores, by name.
    pub(super) settings: BTreeMap<String, Value>,
    /// The input files with their hashes.
    pub(super) inputs: Vec<InputFile>,
    /// What was left out, and why.
    pub(super) notes: Vec<String>,
}

impl Conclusion<'_> {
    /// Sums up, writes the record where one is wanted, and prints.
    pub(super) fn conclude(
        self,
        items: &[Item],
        scored: &[Arc<ScoredAnswer>],
        context: &Context<'_>,
    ) -> Result<ExitCode> {
        let options = AggregateOptions { mode: self.mode, seed: self.args.seed, ..AggregateOptions::default() };
        let card = scorecard(scored, &[], options);
        let run = self.args.out.as_deref().map_or_else(|| self.scorer.to_owned(), run_name);
        let report = ReportContext { run, remarks: self.notes.clone(), ..ReportContext::default() };
        let (json, csv) = (render_scorecard_json(&card, &report)?, render_scorecard_csv(&card));
        if let Some(out) = &self.args.out {
            let dir = RunDir::open(out)?;
            let manifest = self.manifest(items.len());
            dir.claim(&manifest, false)?;
            write_inputs(&out.join("inputs.jsonl"), items)?;
            write_items(&dir, &report.run, scored)?;
            dir.write_file("summary.json", json.as_bytes())?;
            dir.write_file("summary.csv", csv.as_bytes())?;
            RunRecord::open(dir, manifest, false)?.finish(RunStatus::Complete, scored)?;
        }
        let text = match self.args.format.unwrap_or(OutputFormat::Table) {
            OutputFormat::Table => {
                let style = TableStyle { width: stdout_width().unwrap_or(80), color: context.color };
                render_scorecard_table(&card, &report, &style)
            }
            OutputFormat::Json => json,
            OutputFormat::Csv => csv,
        };
        write_form(&text, self.args.format.unwrap_or(OutputFormat::Table))?;
        Ok(ExitCode::Ok)
    }

    fn manifest(&self, answers: usize) -> Manifest {
        Manifest {
            schema_version: SCHEMA_VERSION,
            scholareval_version: env!("CARGO_PKG_VERSION").to_owned(),
            status: RunStatus::Running,
            label: None,
            started_at: jiff::Timestamp::now().to_string(),
            finished_at: None,
            mode: self.mode,
            reference: (self.mode == Mode::Compat).then(|| REFERENCE.to_owned()),
            settings: self.settings.clone(),
            inputs: self.inputs.clone(),
            prompts: None,
            judge: None,
            scorers: vec![self.scorer.to_owned()],
            roles: BTreeMap::new(),
            seed: self.args.seed,
            answers: answers as u64,
            missing: Vec::new(),
            kept_cases: Vec::new(),
            pairing_differences: Vec::new(),
            warnings: Vec::new(),
            policy: None,
            endpoints: Vec::new(),
        }
    }
}

/// The files of these systems, and that of the golds, with their hashes.
pub(super) fn input_files(systems: &[Predictions], references: Option<&Path>) -> Result<Vec<InputFile>> {
    let systems = systems.iter().map(|system| file_of(system.system.as_str(), &system.path));
    systems.chain(references.map(|path| file_of("references", path))).collect()
}

/// A file with its hash.
pub(super) fn file_of(name: &str, path: &Path) -> Result<InputFile> {
    let bytes = std::fs::read(path).map_err(Error::io(path, "read"))?;
    Ok(InputFile { name: name.to_owned(), path: path.display().to_string(), blake3: blake3::hash(&bytes).into() })
}

/// What is to be told of the items with this id, system by system.
pub(super) fn explain_items(
    systems: &[Predictions],
    id: &str,
    explained: impl Fn(&Prediction) -> String,
) -> Result<String> {
    let mut out = String::new();
    for system in systems {
        for item in system.items.iter().filter(|item| item.id == id) {
            out.push_str(&format!("{} {}\n", visible(system.system.as_str()), visible(id)));
            out.push_str(&explained(item));
        }
    }
    if out.is_empty() {
        let path = systems.first().map(|system| system.path.clone()).unwrap_or_default();
        let fault = InputFault::new(path, format!("no item has the id {id}"));
        return Err(fault.hint("items without an id or case_id are called by their place, from 1").into());
    }
    Ok(out)
}
