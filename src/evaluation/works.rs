//! Looks up the works that answers cite, before a run: the answers then hold what the files of works say.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::json;

use super::inputs::LoadedInputs;
use super::scorers::{ScorerOptions, WorksOptions};
use crate::dataset::{InputFile, with_text};
use crate::domain::{
    CaseId, CheckedReference, CitedWork, Fingerprint, Item, Reference, SystemName,
};
use crate::error::{Error, Result};
use crate::record::Manifest;
use crate::scorer::works::WORKS;
use crate::works::{Retractions, Works, references_of};

/// Receives the bytes read so far and all bytes there are, from any thread, while files of works are read.
pub type OnBytes = dyn Fn(u64, u64) + Send + Sync;

/// The works that an answer cites, by system and case.
type WorksOfAnswers = HashMap<(SystemName, CaseId), Arc<Vec<CitedWork>>>;

/// The setting of a run with what its files of works held: two runs that differ in it are not comparable.
const WORKS_SETTING: &str = "works";

/// Gives every answer what the files of works and of retractions say about its references; without such files nothing.
///
/// # Errors
/// For files that cannot be used, and if the scorers are named and that of works is not among them.
pub(super) fn look_up(
    inputs: &mut LoadedInputs,
    options: &ScorerOptions,
    on_bytes: &OnBytes,
) -> Result<()> {
    if !options.works.is_given() {
        return Ok(());
    }
    if !options.may_run(&WORKS) {
        let message = "--works and --retractions are for the scorer works; name it in --scorers, or leave them out";
        return Err(Error::Usage(message.to_owned()));
    }
    let index_base = options.built_in.markers.index_base;
    let mut keys = Vec::new();
    let mut references: Vec<Vec<Reference>> = Vec::new();
    for item in inputs.plain.iter() {
        let whole = with_text(item)?;
        keys.push(key_of(item));
        references.push(references_of(&whole.answer, index_base));
    }
    let mut looked_up = look_up_references(&references.concat(), &options.works, on_bytes)?;
    let mut checked = looked_up.checked.drain(..);
    let mut works = WorksOfAnswers::new();
    for (key, answer_references) in keys.into_iter().zip(references) {
        let mut cited = Vec::with_capacity(answer_references.len());
        for reference in answer_references {
            let Some(checked) = checked.next() else {
                return Err(Error::Internal("a reference was not looked up".to_owned()));
            };
            cited.push(CitedWork { reference, checked });
        }
        works.insert(key, Arc::new(cited));
    }
    drop(checked);
    inputs.support.works = works.len();
    inputs.give_works(&works);
    inputs.warnings.extend(looked_up.warnings);
    let retractions = looked_up.files.first().map(|file| file.blake3);
    let mut held = json!({"records": looked_up.records, "retractions": retractions});
    if let Some(content) = looked_up.content {
        held["files"] = json!(content);
    }
    inputs.settings.insert(WORKS_SETTING.to_owned(), held);
    inputs.work_records = looked_up.records;
    inputs.files.extend(looked_up.files);
    Ok(())
}

/// The records in the files of works of a recorded run, by source.
pub(super) fn recorded_work_records(manifest: &Manifest) -> Vec<(String, u64)> {
    let held = manifest.settings.get(WORKS_SETTING);
    let records = held.and_then(|held| held.get("records"));
    records
        .and_then(|records| serde_json::from_value(records.clone()).ok())
        .unwrap_or_default()
}

/// What the files say about references, in their order, and what was read.
#[derive(Debug, Default)]
pub struct LookedUpReferences {
    /// What is known about each reference.
    pub checked: Vec<CheckedReference>,
    /// A hash of what the files of works hold; `None` without any.
    pub content: Option<Fingerprint>,
    /// Records in the files of works, by source.
    pub records: Vec<(String, u64)>,
    /// Broken lines.
    pub warnings: Vec<String>,
    /// The file of retractions, with its hash.
    pub files: Vec<InputFile>,
}

/// Looks references up in the files of works and of retractions of these options.
///
/// # Errors
/// For files that cannot be read, have an unknown form or are broken by more than 1%.
pub fn look_up_references(
    references: &[Reference],
    options: &WorksOptions,
    on_bytes: &OnBytes,
) -> Result<LookedUpReferences> {
    let mut lookup = LookedUpReferences::default();
    // First, since it is small: a wrong file is found before hours of reading.
    let retractions = match &options.retractions {
        Some(path) => {
            let (retractions, blake3) = Retractions::load(path)?;
            let file = InputFile::new("retractions", path, blake3);
            lookup.files.push(file);
            let (broken, faults) = retractions.broken();
            lookup.warn(broken, faults);
            Some(retractions)
        }
        None => None,
    };
    let mut works = Works::open(&options.works)?;
    lookup.checked = works.check(references, &|done, all| on_bytes(done, all))?;
    let report = works.report();
    lookup.content = report.content;
    for (source, count) in &report.records {
        lookup.records.push((source.name().to_owned(), *count));
    }
    lookup.warn(report.broken, &report.faults);
    if let Some(retractions) = &retractions {
        for (reference, checked) in references.iter().zip(&mut lookup.checked) {
            retractions.apply(reference, checked);
        }
    }
    Ok(lookup)
}

impl LookedUpReferences {
    /// Adds the lines that were left out, as warnings.
    fn warn(&mut self, broken: u64, faults: &[crate::error::InputFault]) {
        self.warnings.extend(faults.iter().map(ToString::to_string));
        let further = broken.saturating_sub(faults.len() as u64);
        if further > 0 {
            self.warnings
                .push(format!("{further} more broken lines were left out"));
        }
    }
}

fn key_of(item: &Item) -> (SystemName, CaseId) {
    (item.answer.system.clone(), item.case.case_id.clone())
}

impl LoadedInputs {
    /// Gives each answer its works.
    fn give_works(&mut self, works: &WorksOfAnswers) {
        let given = |items: &[Item]| -> Vec<Item> {
            let mut items = items.to_vec();
            for item in &mut items {
                item.answer.works = works.get(&key_of(item)).cloned();
            }
            items
        };
        let rubric = given(&self.rubric);
        let plain = given(&self.plain);
        self.set_lists(rubric, plain);
    }
}
