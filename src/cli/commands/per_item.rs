//! Shared code of the commands that score items and average by system.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rayon::prelude::*;

use super::Context;
use crate::cli::ExitCode;
use crate::cli::args::PerItemArgs;
use crate::cli::origin::escape_controls;
use crate::cli::summary::conclude;
use crate::cli::terminal::note;
use crate::dataset::{Predictions, References, load_predictions, load_references, missing_output};
use crate::domain::{Answer, CaseId, Item, Mode, Prediction, ScoredAnswer, TestCase};
use crate::error::{Error, InputFault, Result, first_of_each_kind};
use crate::evaluation::record::{InputFile, Inputs, Manifest, RunDir, RunRecord, RunStatus};
use crate::evaluation::run_name;
use crate::report::{RunReport, visible, write_items};
use crate::scorer::{Scorer, Step, Verdicts};

/// The predictions with their gold answers; an item without an output is a fault.
pub(super) fn load(files: &[PathBuf], references: Option<&Path>, quiet: bool) -> Result<Vec<Predictions>> {
    let mut systems = load_predictions(files)?;
    let references = references.map(load_references).transpose()?;
    let mut warnings: Vec<InputFault> = references.iter().flat_map(|read| read.warnings.clone()).collect();
    warnings.extend(references.as_ref().and_then(References::no_golds));
    let mut faults = Vec::new();
    for system in &mut systems {
        warnings.append(&mut system.warnings);
        let (items, path) = (&mut system.items, &system.path);
        warnings.extend(references.as_ref().and_then(|references| references.join_golds(&mut *items, path)));
        faults.extend(items.iter().filter_map(|item| missing_output(item, path)));
    }
    if !faults.is_empty() {
        return Err(Error::Input(faults));
    }
    if !quiet {
        for warning in first_of_each_kind(&warnings) {
            note(&format!("warning: {}", escape_controls(&warning)));
        }
    }
    Ok(systems)
}

/// Scores every item with a scorer that asks no judge, on all cores; systems and items keep their order.
fn score_all(systems: Vec<Predictions>, scorer: &dyn Scorer) -> (Vec<Item>, Vec<Arc<ScoredAnswer>>) {
    let mut ids = Ids::default();
    let mut items: Vec<Item> = Vec::new();
    for system in systems {
        for (id, prediction) in ids.of_file(&system.items).into_iter().zip(system.items) {
            let case = Arc::new(TestCase::without_rubric(id.clone(), &prediction.input));
            let text = prediction.output.clone().unwrap_or_default();
            let (line, prediction) = (prediction.line, Some(Arc::new(prediction)));
            let answer = Answer { prediction, line, ..Answer::new(system.system.clone(), id, text) };
            items.push(Item { case, answer });
        }
    }
    let scored = |item: &Item| match scorer.step(&item.case, &item.answer, &Verdicts::new()) {
        Step::Done(score) => {
            Some(Arc::new(ScoredAnswer::new(item.answer.system.clone(), Arc::clone(&item.case), score)))
        }
        Step::Ask(_) => None,
    };
    let scored = items.par_iter().filter_map(scored).collect();
    (items, scored)
}

/// Assigns case ids: the n-th occurrence of a question is the same case in every system, and no id stands for two
/// questions. (Items without ids are named by their position, which differs between files.)
#[derive(Default)]
struct Ids {
    /// By question and its count of occurrences in the file.
    by_question: HashMap<(String, usize), CaseId>,
    used: HashSet<CaseId>,
}

impl Ids {
    /// The ids of one file's items: those of the first system that has them, with `#2`, `#3`, .. if another item
    /// already has that id.
    fn of_file(&mut self, items: &[Prediction]) -> Vec<CaseId> {
        let mut turns: HashMap<&str, usize> = HashMap::new();
        let mut ids = Vec::with_capacity(items.len());
        for item in items {
            let turn = turns.entry(item.input.trim()).or_default();
            *turn += 1;
            ids.push(self.of(item, *turn));
        }
        ids
    }

    fn of(&mut self, item: &Prediction, turn: usize) -> CaseId {
        let key = (item.input.trim().to_owned(), turn);
        if let Some(known) = self.by_question.get(&key) {
            return known.clone();
        }
        let mut id = CaseId::from(item.id.as_str());
        let mut number = 2;
        while !self.used.insert(id.clone()) {
            id = format!("{}#{number}", item.id).into();
            number += 1;
        }
        self.by_question.insert(key, id.clone());
        id
    }
}

/// The measure and its settings.
pub(super) struct Measurement<'a> {
    pub(super) args: &'a PerItemArgs,
    pub(super) references: Option<&'a Path>,
    pub(super) scorer: &'a dyn Scorer,
    pub(super) mode: Mode,
}

impl Measurement<'_> {
    /// Scores every item, writes the record if requested, and prints the means; `notes` list what was left out and why.
    pub(super) fn run(
        &self,
        systems: Vec<Predictions>,
        notes: impl FnOnce(&[Arc<ScoredAnswer>]) -> Vec<&'static str>,
        context: &Context<'_>,
    ) -> Result<ExitCode> {
        let Self { args, scorer, .. } = self;
        let files = systems.iter().map(|system| (system.system.as_str(), &*system.path));
        let files = files.chain(self.references.map(|path| ("references", path)));
        let inputs = files.map(|(name, path)| InputFile::read(name, path)).collect::<Result<_>>()?;
        let (items, scored) = score_all(systems, *scorer);
        let manifest = Manifest {
            settings: BTreeMap::from([
                (format!("scorer.{}", scorer.name()), scorer.settings()),
                ("score.compat".to_owned(), (self.mode == Mode::Compat).into()),
            ]),
            inputs,
            scorers: vec![scorer.name().to_owned()],
            seed: args.seed,
            answers: items.len() as u64,
            ..Manifest::begin(self.mode)
        };
        let name = args.out.as_deref().map_or_else(|| scorer.name().to_owned(), |out| run_name(&manifest, out));
        let report = RunReport::new(&manifest, &name, &scored, None, &notes(&scored))?;
        if let Some(out) = &args.out {
            let dir = RunDir::open(out)?;
            dir.claim(&manifest, false)?;
            Inputs::new(items).write(&out.join("inputs.jsonl"))?;
            write_items(&dir, &name, &scored)?;
            report.write(&dir)?;
            RunRecord::open(dir, manifest.clone(), false)?.finish(RunStatus::Complete, &scored)?;
        }
        conclude(&report, &manifest, args.format.unwrap_or_default(), context.color)
    }
}

/// How the values of the items with this id were computed, by system.
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

#[cfg(test)]
mod tests {
    use super::*;

    fn items(of: &[(&str, &str)]) -> Vec<Prediction> {
        let item = |(id, input): &(&str, &str)| Prediction {
            id: (*id).to_owned(),
            input: (*input).to_owned(),
            ..Prediction::default()
        };
        of.iter().map(item).collect()
    }

    fn ids(files: &[&[(&str, &str)]]) -> Vec<Vec<String>> {
        let mut ids = Ids::default();
        files.iter().map(|of| ids.of_file(&items(of)).iter().map(CaseId::to_string).collect()).collect()
    }

    #[test]
    fn repeated_questions_have_the_same_ids_in_every_system() {
        let by_place: &[(&str, &str)] = &[("1", "P"), ("2", "Q"), ("3", "P"), ("4", "P ")];
        assert_eq!(ids(&[by_place, by_place]), [["1", "2", "3", "4"], ["1", "2", "3", "4"]]);
        let named: &[(&str, &str)] = &[("x", "P"), ("x", "P"), ("x", "P")];
        assert_eq!(ids(&[named, named]), [["x", "x#2", "x#3"], ["x", "x#2", "x#3"]]);
        // the second P is the third item of a and the second of b
        let other: &[(&str, &str)] = &[("1", "P"), ("2", "P"), ("3", "Q")];
        assert_eq!(ids(&[by_place, other]), [vec!["1", "2", "3", "4"], vec!["1", "3", "2"]]);
    }

    #[test]
    fn no_id_means_two_questions_and_one_that_only_a_later_system_repeats_has_an_id_of_its_own() {
        let a: &[(&str, &str)] = &[("1", "P"), ("2", "Q")];
        let b: &[(&str, &str)] = &[("1", "Q"), ("2", "R"), ("3", "Q"), ("1", "S")];
        assert_eq!(ids(&[a, b]), [vec!["1", "2"], vec!["2", "2#2", "3", "1#2"]]);
    }
}
