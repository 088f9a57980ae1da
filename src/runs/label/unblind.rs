//! Labels of people back as ratings of the answers of runs.
//!
//! A file of labels names its sheet, which is looked for where the file is, one folder above, and among the given directories. Each
//! label is then that of a unit of an answer ([`LabelSheet`]); the texts of the answers, and what else raters read, must be those of
//! the runs. Rounds of labeling are joined if they ask about the same kinds of units.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::asked_units::{AnswerKey, AskedUnits, UnitWeights};
use super::labeled_texts::{check_texts, probabilities};
use crate::analysis::rater_agreement::ItemScale;
use crate::dataset::{Labels, SHEET_FILE, load_label_files, load_label_sheet};
use crate::domain::{
    ComparedPair, GivenLabel, LabelFile, LabelKind, LabelSheet, LabelUnit, Note, Preference, Rater,
    RaterKind, SheetItem, VerdictDraw,
};
use crate::error::{InputFault, Result};
use crate::record::RecordedRun;
use crate::stats::mean;
use crate::text::names::counted;

/// Two labels of a scale are further apart than this.
const SAME_LEVEL: f64 = 1e-9;

/// Labels of sheets, as ratings.
#[derive(Debug, Clone, Default)]
pub(in crate::runs) struct Unblinded {
    /// The raters, with the probabilities of the answers.
    pub(in crate::runs) labels: Labels,
    /// The people together: of each item the adjudicated label, else the mean of the raters' labels.
    pub(in crate::runs) people: Option<Rater>,
    /// The scales of the labeled items.
    pub(in crate::runs) scales: Vec<ItemScale>,
    /// The draw of the labeled verdicts, if single verdicts of one round were drawn.
    pub(in crate::runs) verdicts: Option<VerdictDraw>,
    asked_units: AskedUnits,
}

impl Unblinded {
    /// The scorers whose units were labeled.
    pub(in crate::runs) fn scorers(&self) -> BTreeSet<String> {
        self.asked_units.scorers()
    }

    /// A run's judge as a rater of the labeled units; `None` if whole answers or pairs were labeled, which are compared with the
    /// scores of the run.
    pub(in crate::runs) fn judge(&self, name: &str, run: &RecordedRun) -> Result<Option<Rater>> {
        self.asked_units.judge(name, run)
    }
}

/// Whether a file is one that a rater downloaded from a page.
pub(in crate::runs) fn is_label_file(path: &Path) -> bool {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    serde_json::from_str::<LabelFile>(&text).is_ok()
}

/// The labels in these files as ratings of the answers of these runs. `sheets` are directories of sheets.
///
/// # Errors
/// For a file without its sheet, for labels that its page cannot give, for rounds about different kinds of units, and where a run has
/// another text than the one that was labeled.
pub(in crate::runs) fn unblind(
    files: &[PathBuf],
    sheets: &[PathBuf],
    runs: &[RecordedRun],
) -> Result<Unblinded> {
    let mut collector = LabelCollector::default();
    for (path, file) in load_label_files(files)? {
        let sheet = sheet_of(&path, &file, sheets)?;
        collector.add(&path, &file, &sheet)?;
        collector.add_sheet(&path, sheet)?;
    }
    check_texts(&collector.sheets, runs)?;
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
    Err(InputFault::new(path, what).refuse(hint))
}

/// What people say of a unit of an answer, or of a pair.
struct PeopleSay<T> {
    by_rater: BTreeMap<String, DatedLabel<T>>,
    settled: Option<DatedLabel<T>>,
}

/// A label, and when it was given.
struct DatedLabel<T> {
    label: T,
    at: String,
}

impl<T> Default for PeopleSay<T> {
    fn default() -> Self {
        Self {
            by_rater: BTreeMap::new(),
            settled: None,
        }
    }
}

impl<T: Copy> PeopleSay<T> {
    /// Adds the label of a file. A rater who labels a unit in two rounds means the later label.
    fn add(&mut self, file: &LabelFile, label: T, at: &str) {
        let earlier = if file.adjudicated {
            self.settled.as_ref()
        } else {
            self.by_rater.get(&file.rater)
        };
        // Times of pages are of one form, in UTC, so that their order is that of the texts.
        if earlier.is_some_and(|earlier| *earlier.at > *at) {
            return;
        }
        let at = at.to_owned();
        let label = DatedLabel { label, at };
        if file.adjudicated {
            self.settled = Some(label);
        } else {
            self.by_rater.insert(file.rater.clone(), label);
        }
    }

    fn by(&self, rater: &str) -> Option<T> {
        self.by_rater
            .get(rater)
            .map(|dated_label| dated_label.label)
    }

    fn settled(&self) -> Option<T> {
        self.settled.as_ref().map(|dated_label| dated_label.label)
    }

    fn labels(&self) -> impl Iterator<Item = T> {
        self.by_rater.values().map(|dated_label| dated_label.label)
    }
}

/// The adjudicated value, else the mean of the raters' values.
fn value_together(values: &PeopleSay<f64>) -> Option<f64> {
    let all: Vec<f64> = values.labels().collect();
    values.settled().or_else(|| mean(&all))
}

/// The adjudicated preference, else what most raters prefer; a split is a tie.
fn preference_together(preferences: &PeopleSay<Preference>) -> Preference {
    let signs = preferences.labels().map(Preference::sign).map(f64::from);
    let majority = Preference::of_difference(signs.sum(), 0.0);
    preferences.settled().unwrap_or(majority)
}

/// The labels so far.
#[derive(Default)]
struct LabelCollector {
    /// The sheets of the files, each once.
    sheets: Vec<LabelSheet>,
    values: BTreeMap<AnswerKey, BTreeMap<LabelUnit, PeopleSay<f64>>>,
    preferences: BTreeMap<ComparedPair, PeopleSay<Preference>>,
    raters: BTreeSet<String>,
    not_assessed: usize,
}

impl LabelCollector {
    /// # Errors
    /// For a sheet that asks about other kinds of units than the first one: an answer that only one of them drew would count with the
    /// probability of both, and the scales of kinds differ. For a second sheet where one of them is of drawn verdicts.
    fn add_sheet(&mut self, path: &Path, sheet: LabelSheet) -> Result<()> {
        if self.sheets.iter().any(|other| other.id == sheet.id) {
            return Ok(());
        }
        let is_of_verdicts = sheet.verdicts.is_some();
        let mut sheets = self.sheets.iter();
        if sheets.any(|first| is_of_verdicts || first.verdicts.is_some()) {
            let what = "labels of drawn verdicts have the probabilities of their draw alone and cannot be joined with those of another";
            let hint = "name the files of one draw at a time";
            return Err(InputFault::new(path, what).refuse(hint));
        }
        if let Some(first) = self.sheets.first()
            && kinds_of(first) != kinds_of(&sheet)
        {
            let what = format!(
                "these labels are of other units ({}) than those of the other files ({})",
                kind_names(&sheet),
                kind_names(first)
            );
            let hint = "name the files of one kind of units at a time";
            return Err(InputFault::new(path, what).refuse(hint));
        }
        self.sheets.push(sheet);
        Ok(())
    }

    /// # Errors
    /// For a label of an item that is not on the rater's page, or that the page does not offer.
    fn add(&mut self, path: &Path, file: &LabelFile, sheet: &LabelSheet) -> Result<()> {
        let hint = "files of labels must stay as they were downloaded";
        for label in &file.labels {
            let on_page = sheet.on_page(&file.rater, &label.item);
            let (Some(item), Some(on_page)) = (sheet.item(&label.item), on_page) else {
                let item = label.item.escape_debug();
                let rater = file.rater.escape_debug();
                let what = format!("item {item} is not on a page of {rater}");
                return Err(InputFault::new(path, what).refuse(hint));
            };
            let Some(given) = label.label else { continue };
            if !is_offered(sheet, item, given) {
                let item = label.item.escape_debug();
                let what = format!("the label of item {item} is not on its scale");
                return Err(InputFault::new(path, what).refuse(hint));
            }
            match given {
                GivenLabel::Value(value) => {
                    let values = self.values_of(sheet, item);
                    values.add(file, value, &label.at);
                }
                GivenLabel::Preference(preference) => {
                    let preference = on_page.preferred(preference);
                    if let Some((pair, preference)) = preferring(sheet, item, preference) {
                        let of_pair = self.preferences.entry(pair).or_default();
                        of_pair.add(file, preference, &label.at);
                    }
                }
                GivenLabel::CannotAssess => {
                    self.not_assessed += 1;
                    continue;
                }
            }
            if !file.adjudicated {
                self.raters.insert(file.rater.clone());
            }
        }
        Ok(())
    }

    fn values_of(&mut self, sheet: &LabelSheet, item: &SheetItem) -> &mut PeopleSay<f64> {
        let answer = &sheet.frame[item.answer];
        let key = (answer.system.clone(), answer.case_id.clone());
        let of_answer = self.values.entry(key).or_default();
        of_answer.entry(item.unit.clone()).or_default()
    }

    fn finish(self, runs: &[RecordedRun]) -> Unblinded {
        let asked_units = AskedUnits::of(&self.sheets);
        let weights = asked_units.weights(runs);
        let mut labels = Labels::default();
        for name in &self.raters {
            let by_rater = |item_labels: &PeopleSay<f64>| item_labels.by(name);
            let (mut rater, _) = self.rater(name, by_rater, &asked_units, &weights);
            for (pair, pair_labels) in &self.preferences {
                let preference = pair_labels.by(name);
                rater
                    .preferences
                    .extend(preference.map(|preference| (pair.clone(), preference)));
            }
            labels.raters.push(rater);
        }
        let (mut people, partly) = self.rater("people", value_together, &asked_units, &weights);
        for (pair, pair_labels) in &self.preferences {
            let together = preference_together(pair_labels);
            people.preferences.insert(pair.clone(), together);
        }
        // One rater alone is the people.
        let are_several = self.raters.len() > 1 || self.settled() > 0;
        labels.probabilities = probabilities(&self.sheets, runs, &asked_units);
        labels.notes = self.notes(partly);
        Unblinded {
            labels,
            people: are_several.then_some(people),
            scales: asked_units.scales(&self.sheets),
            verdicts: match &self.sheets[..] {
                [only] => only.verdicts,
                _ => None,
            },
            asked_units,
        }
    }

    /// A rater with these values, and the number of answers of which some units have no value.
    fn rater(
        &self,
        name: &str,
        value_of: impl Fn(&PeopleSay<f64>) -> Option<f64>,
        asked_units: &AskedUnits,
        weights: &UnitWeights,
    ) -> (Rater, usize) {
        let mut rater = Rater::new(name, RaterKind::Human);
        let mut partly = 0;
        for (answer, units) in &self.values {
            let mut values: BTreeMap<&LabelUnit, f64> = BTreeMap::new();
            for (unit, unit_labels) in units {
                values.extend(value_of(unit_labels).map(|value| (unit, value)));
            }
            let is_whole = asked_units.rate(&mut rater, answer, &values, weights);
            partly += usize::from(!is_whole);
        }
        (rater, partly)
    }

    /// How many labels are adjudicated.
    fn settled(&self) -> usize {
        let values = self.values.values().flat_map(BTreeMap::values);
        let preferences = self.preferences.values();
        values.filter(|labels| labels.settled.is_some()).count()
            + preferences
                .filter(|labels| labels.settled.is_some())
                .count()
    }

    fn notes(&self, partly: usize) -> Vec<Note> {
        let mut notes = Vec::new();
        if self.settled() > 0 {
            notes.push(Note::warning(format!(
                "Settled by adjudication: {}, which the people together have; raters agree or differ by their own labels.",
                counted(self.settled(), "label")
            )));
        }
        if partly > 0 && self.sheets.iter().all(|sheet| sheet.verdicts.is_none()) {
            notes.push(Note::warning(format!(
                "{partly} of {} labeled answers have labels for only some of their items: the items count, the whole answers do not.",
                self.values.len()
            )));
        }
        if self.not_assessed > 0 {
            notes.push(Note::info(format!(
                "{} labels say that the item cannot be assessed; they count as missing.",
                self.not_assessed
            )));
        }
        notes
    }
}

/// The kinds of units that a sheet asks about.
fn kinds_of(sheet: &LabelSheet) -> BTreeSet<LabelKind> {
    sheet.items.iter().map(|item| item.unit.kind).collect()
}

/// `criterion, claim`
fn kind_names(sheet: &LabelSheet) -> String {
    let kinds = kinds_of(sheet).into_iter();
    let names = kinds.map(|kind| format!("{kind:?}").to_lowercase());
    let names: Vec<String> = names.collect();
    names.join(", ")
}

/// Whether the page of an item offers this label.
fn is_offered(sheet: &LabelSheet, item: &SheetItem, given: GivenLabel) -> bool {
    let levels = &sheet.scales[item.scale].levels;
    match given {
        GivenLabel::CannotAssess => true,
        GivenLabel::Preference(_) => levels.iter().any(|level| level.label == given),
        GivenLabel::Value(value) => levels.iter().any(|level| {
            matches!(level.label, GivenLabel::Value(level_value) if (level_value - value).abs() < SAME_LEVEL)
        }),
    }
}

/// The preference between the two answers of an item; `None` if they are of one system.
fn preferring(
    sheet: &LabelSheet,
    item: &SheetItem,
    preference: Preference,
) -> Option<(ComparedPair, Preference)> {
    let first = &sheet.frame[item.answer];
    let second = &sheet.frame[item.other?];
    let [first_system, second_system] = [first, second].map(|answer| answer.system.clone());
    ComparedPair::preferring(
        first.case_id.clone(),
        first_system,
        second_system,
        preference,
    )
}
