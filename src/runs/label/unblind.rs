//! Labels of people back as ratings of the answers of runs.
//!
//! A file of labels names its sheet, which is looked for where the file is, one folder above, and among the given directories. Each label is then
//! that of a unit of an answer ([`LabelSheet`]); the texts of the answers, and what else raters read, must be those of the runs.
//! Rounds of labeling are joined: an answer was drawn by at least one of them with probability 1 - product(1 - p).

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};

use super::texts::blind_answer;
use super::units::RunTasks;
use crate::analysis::rater_agreement::{ItemScale, LabeledItem};
use crate::dataset::{
    Labels, SHEET_FILE, load_label_files, load_label_sheet, no_faults, with_text,
};
use crate::domain::{
    CaseId, GivenLabel, Item, LabelFile, LabelKind, LabelSheet, LabelUnit, Note, Preference,
    Preferred, Rater, RaterKind, Rating, ScoredAnswer, SheetItem, SystemName,
};
use crate::error::{InputFault, Result};
use crate::record::RecordedRun;
use crate::stats::mean;

/// An answer by its system and its case.
type AnswerKey = (SystemName, CaseId);

/// Labels of sheets, as ratings.
#[derive(Debug, Clone, Default)]
pub(in crate::runs) struct Unblinded {
    /// The raters, with the probabilities of the answers.
    pub(in crate::runs) labels: Labels,
    /// The people together: of each item the adjudicated label, else the mean of the raters' labels.
    pub(in crate::runs) people: Option<Rater>,
    /// The scales of the labeled items.
    pub(in crate::runs) scales: Vec<ItemScale>,
    /// The kinds that are labeled.
    kinds: BTreeSet<LabelKind>,
}

/// Whether a file is one that a rater downloaded from a page.
pub(in crate::runs) fn is_label_file(path: &Path) -> bool {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    serde_json::from_str::<LabelFile>(&text).is_ok()
}

/// The labels in these files as ratings of the answers of these runs. `sheets` are directories of sheets.
///
/// # Errors
/// For a file without its sheet, for items that are not on its rater's page, and where a run has another text than the one that was
/// labeled.
pub(in crate::runs) fn unblind(
    files: &[PathBuf],
    sheets: &[PathBuf],
    runs: &[RecordedRun],
) -> Result<Unblinded> {
    let mut collector = Collector::default();
    for (path, file) in load_label_files(files)? {
        let sheet = sheet_of(&path, &file, sheets)?;
        collector.add(&path, &file, &sheet)?;
        if !collector.sheets.iter().any(|own| own.id == sheet.id) {
            collector.sheets.push(sheet);
        }
    }
    collector.check_texts(runs)?;
    Ok(collector.finish(runs))
}

/// The sheet of a file of labels.
fn sheet_of(path: &Path, file: &LabelFile, sheets: &[PathBuf]) -> Result<LabelSheet> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let mut places = sheets.to_vec();
    places.push(folder.to_path_buf());
    places.push(folder.join(".."));
    for place in places {
        if place.join(SHEET_FILE).is_file() {
            let sheet = load_label_sheet(&place)?;
            if sheet.id == file.sheet {
                return Ok(sheet);
            }
        }
    }
    let what = format!("sheet.json of its sheet, {}, was not found", file.sheet);
    let hint = "put the file into the directory that scholareval label made, or name that directory among --labels";
    Err(InputFault::new(path, what).hint(hint).into())
}

/// What people say of an item.
#[derive(Debug, Default)]
struct ItemLabels {
    by_rater: BTreeMap<String, f64>,
    settled: Option<f64>,
}

impl ItemLabels {
    /// The adjudicated label, else the mean of the raters' labels.
    fn value(&self) -> Option<f64> {
        let values: Vec<f64> = self.by_rater.values().copied().collect();
        self.settled.or_else(|| mean(&values))
    }
}

/// What people say of a pair of answers.
#[derive(Debug, Default)]
struct PairLabels {
    by_rater: BTreeMap<String, Preference>,
    settled: Option<Preference>,
}

/// The labels so far.
#[derive(Default)]
struct Collector {
    sheets: Vec<LabelSheet>,
    /// By answer, then by unit.
    items: BTreeMap<AnswerKey, BTreeMap<LabelUnit, ItemLabels>>,
    /// By item.
    pairs: BTreeMap<String, PairLabels>,
    raters: BTreeSet<String>,
    not_assessed: usize,
}

impl Collector {
    fn add(&mut self, path: &Path, file: &LabelFile, sheet: &LabelSheet) -> Result<()> {
        for label in &file.labels {
            let (Some(item), Some(on_page)) = (
                sheet.item(&label.item),
                sheet.on_page(&file.rater, &label.item),
            ) else {
                let item = label.item.escape_debug();
                let rater = file.rater.escape_debug();
                let what = format!("item {item} is not on a page of {rater}");
                let fault = InputFault::new(path, what);
                return Err(fault
                    .hint("files of labels must stay as they were downloaded")
                    .into());
            };
            match label.label {
                Some(GivenLabel::Value(value)) => self.add_value(file, sheet, item, value),
                Some(GivenLabel::Preference(side)) => {
                    self.add_preference(file, sheet, item, on_page.preferred(side));
                }
                Some(GivenLabel::CannotAssess) => self.not_assessed += 1,
                None => {}
            }
        }
        Ok(())
    }

    fn add_value(&mut self, file: &LabelFile, sheet: &LabelSheet, item: &SheetItem, value: f64) {
        let answer = &sheet.frame[item.answer];
        let key = (answer.system.clone(), answer.case_id.clone());
        let of_answer = self.items.entry(key).or_default();
        let labels = of_answer.entry(item.unit.clone()).or_default();
        if file.adjudicated {
            labels.settled = Some(value);
        } else {
            labels.by_rater.insert(file.rater.clone(), value);
            self.raters.insert(file.rater.clone());
        }
    }

    fn add_preference(
        &mut self,
        file: &LabelFile,
        sheet: &LabelSheet,
        item: &SheetItem,
        preferred: Preferred,
    ) {
        let first = &sheet.frame[item.answer];
        let second = &sheet.frame[item.other.unwrap_or(item.answer)];
        let preference = Preference::new(
            first.case_id.clone(),
            first.system.clone(),
            second.system.clone(),
            preferred,
        );
        let Some(preference) = preference else { return };
        let labels = self.pairs.entry(item.id.clone()).or_default();
        if file.adjudicated {
            labels.settled = Some(preference);
        } else {
            labels.by_rater.insert(file.rater.clone(), preference);
            self.raters.insert(file.rater.clone());
        }
    }

    /// # Errors
    /// For the first labeled answer of each run that has another text there, or a unit that reads otherwise.
    fn check_texts(&self, runs: &[RecordedRun]) -> Result<()> {
        let mut faults = Vec::new();
        for run in runs {
            let tasks = RunTasks::new(run);
            for item in &run.items {
                if let Some(what) = self.other_text(run, &tasks, item)? {
                    let fault = InputFault::new(&run.path, what);
                    faults.push(fault.of_case(item.case.case_id.as_str()).hint(
                        "labels are of the texts that were shown: name the run that was labeled, or one that scored the same answers again",
                    ));
                    break;
                }
            }
        }
        no_faults(faults)
    }

    /// What of an answer of a run is not what raters read.
    fn other_text(
        &self,
        run: &RecordedRun,
        tasks: &RunTasks<'_>,
        item: &Item,
    ) -> Result<Option<String>> {
        let system = &item.answer.system;
        for sheet in &self.sheets {
            let place = sheet
                .frame
                .iter()
                .position(|own| own.system == *system && own.case_id == item.case.case_id);
            let Some(place) = place.filter(|place| sheet.frame[*place].drawn) else {
                continue;
            };
            let text_differs = sheet.frame[place].text != item.answer.text_hash();
            if text_differs {
                return Ok(Some(format!(
                    "the answer of {system} is not the one that was labeled"
                )));
            }
            let kinds: BTreeSet<LabelKind> = sheet.items.iter().map(|own| own.unit.kind).collect();
            let with_text = with_text(item)?;
            for task in tasks.tasks(item, &kinds)? {
                let mut labeled = sheet.items.iter();
                let own = labeled.find(|own| own.answer == place && own.unit == task.unit);
                let needed: BTreeSet<usize> = task.task.sources.iter().copied().collect();
                let shown = blind_answer(&with_text, run.manifest.index_base(), &needed);
                if own.is_some_and(|own| own.shown != task.task.shown(&shown, &task.scale)) {
                    let name = &task.unit.name;
                    return Ok(Some(format!(
                        "{name} of the answer of {system} reads otherwise than what was labeled"
                    )));
                }
            }
        }
        Ok(None)
    }

    fn finish(self, runs: &[RecordedRun]) -> Unblinded {
        let kinds: BTreeSet<LabelKind> = self.items_of_sheets().map(|own| own.unit.kind).collect();
        let mut unblinded = Unblinded {
            scales: self.scales(),
            kinds,
            ..Unblinded::default()
        };
        let weights = unblinded.weights(runs);
        for name in &self.raters {
            let mut rater = Rater::new(name.as_str(), RaterKind::Human);
            for (answer, units) in &self.items {
                let own = |labels: &ItemLabels| labels.by_rater.get(name).copied();
                self.rate(&mut rater, answer, units, own, &weights);
            }
            let pairs = self.pairs.values();
            rater.preferences = pairs
                .filter_map(|pair| pair.by_rater.get(name).cloned())
                .collect();
            unblinded.labels.raters.push(rater);
        }
        let mut people = Rater::new("people", RaterKind::Human);
        let mut partly = 0;
        for (answer, units) in &self.items {
            let is_whole = self.rate(&mut people, answer, units, ItemLabels::value, &weights);
            partly += usize::from(!is_whole);
        }
        people.preferences = self.pairs.values().filter_map(majority).collect();
        let is_settled = self
            .items
            .values()
            .flat_map(BTreeMap::values)
            .any(|own| own.settled.is_some())
            || self.pairs.values().any(|own| own.settled.is_some());
        // One rater alone is the people.
        if self.raters.len() > 1 || is_settled {
            unblinded.people = Some(people);
        }
        unblinded.labels.probabilities = self.probabilities();
        unblinded.labels.notes = self.notes(partly);
        unblinded
    }

    fn items_of_sheets(&self) -> impl Iterator<Item = &SheetItem> {
        self.sheets.iter().flat_map(|sheet| &sheet.items)
    }

    /// Adds the ratings of an answer's units, and that of the whole answer if every unit on the sheets has one; returns whether it
    /// has.
    fn rate(
        &self,
        rater: &mut Rater,
        answer: &AnswerKey,
        units: &BTreeMap<LabelUnit, ItemLabels>,
        value_of: impl Fn(&ItemLabels) -> Option<f64>,
        weights: &Weights,
    ) -> bool {
        let mut values: BTreeMap<&LabelUnit, f64> = BTreeMap::new();
        for (unit, labels) in units {
            values.extend(value_of(labels).map(|value| (unit, value)));
        }
        let rating = |item: Option<&LabelUnit>, value: f64| Rating {
            system: answer.0.clone(),
            case_id: answer.1.clone(),
            item: item.map(|unit| item_name(unit).into()),
            value,
        };
        for (unit, value) in &values {
            if unit.kind != LabelKind::Answer {
                rater.ratings.push(rating(Some(unit), *value));
            }
        }
        let expected = self.units_of(answer);
        let is_complete = expected.iter().all(|unit| values.contains_key(unit));
        let whole = if is_complete {
            whole_of(&values, answer, weights)
        } else {
            None
        };
        rater.ratings.extend(whole.map(|value| rating(None, value)));
        whole.is_some()
    }

    /// The units of an answer on all sheets.
    fn units_of(&self, answer: &AnswerKey) -> BTreeSet<&LabelUnit> {
        let mut units = BTreeSet::new();
        for sheet in &self.sheets {
            for item in &sheet.items {
                let own = &sheet.frame[item.answer];
                if own.system == answer.0 && own.case_id == answer.1 {
                    units.insert(&item.unit);
                }
            }
        }
        units
    }

    /// The labeled items of each scale of numbers.
    fn scales(&self) -> Vec<ItemScale> {
        let mut scales: Vec<ItemScale> = Vec::new();
        for sheet in &self.sheets {
            for item in &sheet.items {
                let mut levels = Vec::new();
                for level in &sheet.scales[item.scale].levels {
                    if let GivenLabel::Value(value) = level.label {
                        levels.push((level.name.clone(), value));
                    }
                }
                let answer = &sheet.frame[item.answer];
                let labeled = LabeledItem {
                    system: answer.system.clone(),
                    case_id: answer.case_id.clone(),
                    item: item_name(&item.unit).into(),
                };
                if item.unit.kind == LabelKind::Answer || levels.is_empty() {
                    continue;
                }
                match scales.iter_mut().find(|scale| scale.levels == levels) {
                    Some(scale) => {
                        scale.items.insert(labeled);
                    }
                    None => scales.push(ItemScale {
                        levels,
                        items: BTreeSet::from([labeled]),
                    }),
                }
            }
        }
        scales
    }

    /// By answer the probability that at least one of the rounds drew it; they are independent.
    fn probabilities(&self) -> HashMap<AnswerKey, f64> {
        let mut missed: BTreeMap<AnswerKey, f64> = BTreeMap::new();
        for answer in self.sheets.iter().flat_map(|sheet| &sheet.frame) {
            if let Some(probability) = answer.probability {
                let key = (answer.system.clone(), answer.case_id.clone());
                *missed.entry(key).or_insert(1.0) *= 1.0 - probability;
            }
        }
        let drawn = missed.into_iter();
        drawn.map(|(key, missed)| (key, 1.0 - missed)).collect()
    }

    fn notes(&self, partly: usize) -> Vec<Note> {
        let mut notes = Vec::new();
        if partly > 0 {
            notes.push(Note::warning(format!(
                "{partly} of {} labeled answers have labels of some of their items only: these count as items, and not as whole answers.",
                self.items.len()
            )));
        }
        if self.not_assessed > 0 {
            notes.push(Note::info(format!(
                "{} items could not be assessed by a rater and have no label of theirs.",
                self.not_assessed
            )));
        }
        notes
    }
}

/// The adjudicated preference, else what most raters prefer; a split is a tie.
fn majority(labels: &PairLabels) -> Option<Preference> {
    if let Some(settled) = &labels.settled {
        return Some(settled.clone());
    }
    let first = labels.by_rater.values().next()?;
    let signs = labels
        .by_rater
        .values()
        .map(|own| i32::from(own.preferred.sign()));
    Some(Preference {
        pair: first.pair.clone(),
        preferred: Preferred::of_difference(f64::from(signs.sum::<i32>()), 0.0),
    })
}

/// The name of a unit among the items of an answer, as in `items.csv`.
fn item_name(unit: &LabelUnit) -> String {
    match unit.kind {
        LabelKind::Claim => format!("claim {}", unit.name),
        _ => unit.name.clone(),
    }
}

/// The weight of each unit in the score of its answer.
type Weights = BTreeMap<(AnswerKey, LabelUnit), f64>;

/// The value of a whole answer from those of its units, by the rule of scores: credits by weight over the positive weights, so
/// that full marks are 1; without weights the mean. Of whole answers the label itself.
fn whole_of(
    values: &BTreeMap<&LabelUnit, f64>,
    answer: &AnswerKey,
    weights: &Weights,
) -> Option<f64> {
    let first = values.keys().next()?.kind;
    let whole = values
        .iter()
        .find(|(unit, _)| unit.kind == LabelKind::Answer);
    if let Some((_, label)) = whole {
        return Some(*label);
    }
    let mut plain = Vec::new();
    let mut credits = 0.0;
    let mut positive = 0.0;
    // Kinds have scales of their own: the answer's value is that of the first one.
    for (unit, value) in values.iter().filter(|(unit, _)| unit.kind == first) {
        let key = (answer.clone(), LabelUnit::clone(unit));
        let weight = weights.get(&key).copied().unwrap_or_default();
        credits += weight * value;
        positive += weight.max(0.0);
        plain.push(*value);
    }
    if positive > 0.0 {
        Some(credits / positive)
    } else {
        mean(&plain)
    }
}

impl Unblinded {
    /// A run's judge as a rater of the labeled kinds of units: of each answer the units, and the whole from exactly these. `None` if
    /// whole answers or pairs were labeled, which are compared with the run's own scores.
    pub(in crate::runs) fn judge(&self, name: &str, run: &RecordedRun) -> Result<Option<Rater>> {
        let is_of_units = !self.kinds.contains(&LabelKind::Answer) && !self.kinds.is_empty();
        if !is_of_units || self.kinds.contains(&LabelKind::Pair) {
            return Ok(None);
        }
        let weights = self.weights(std::slice::from_ref(run));
        let tasks = RunTasks::new(run);
        let mut rater = Rater::new(name, RaterKind::Judge);
        for item in &run.items {
            let answer = (item.answer.system.clone(), item.case.case_id.clone());
            let tasks = tasks.tasks(item, &self.kinds)?;
            let units: Vec<LabelUnit> = tasks.into_iter().map(|task| task.unit).collect();
            let scored = run.scored.iter().filter(|own| {
                own.system == answer.0 && own.case.case_id == answer.1 && own.systems.is_none()
            });
            let scored: Vec<&ScoredAnswer> = scored.map(|own| &**own).collect();
            let mut values: BTreeMap<&LabelUnit, f64> = BTreeMap::new();
            for unit in &units {
                values.extend(judged_value(unit, &scored).map(|value| (unit, value)));
            }
            let rating = |item: Option<String>, value: f64| Rating {
                system: answer.0.clone(),
                case_id: answer.1.clone(),
                item: item.map(Into::into),
                value,
            };
            for (unit, value) in &values {
                rater.ratings.push(rating(Some(item_name(unit)), *value));
            }
            if values.len() == units.len() {
                let whole = whole_of(&values, &answer, &weights);
                rater.ratings.extend(whole.map(|value| rating(None, value)));
            }
        }
        Ok(Some(rater))
    }

    /// The weights of the units in these runs; the first run with an answer decides.
    fn weights(&self, runs: &[RecordedRun]) -> Weights {
        let mut weights = Weights::new();
        for answer in runs.iter().flat_map(|run| &run.scored) {
            let key = (answer.system.clone(), answer.case.case_id.clone());
            for component in &answer.score.components {
                for kind in &self.kinds {
                    let unit = LabelUnit {
                        kind: *kind,
                        scorer: answer.score.scorer.name().to_owned(),
                        name: component.name.clone(),
                    };
                    weights
                        .entry((key.clone(), unit))
                        .or_insert(component.weight);
                }
            }
        }
        weights
    }
}

/// The judge's value of a unit.
fn judged_value(unit: &LabelUnit, scored: &[&ScoredAnswer]) -> Option<f64> {
    let mut of_scorer = scored
        .iter()
        .filter(|own| own.score.scorer.name() == unit.scorer);
    match unit.kind {
        LabelKind::Criterion | LabelKind::Aspect => {
            of_scorer.find_map(|own| own.score.component(&unit.name)?.value)
        }
        LabelKind::Claim => {
            let index: usize = unit.name.parse().ok()?;
            let claims = of_scorer.find_map(|own| own.score.claims.get(index))?;
            claims
                .supported
                .map(|supported| f64::from(u8::from(supported)))
        }
        _ => None,
    }
}
