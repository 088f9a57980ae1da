//! Labels by people, as tables of ratings or as files that raters downloaded from the pages of `label`.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::label::{Unblinded, criteria_levels, is_label_file, unblind};
use crate::analysis::rater_agreement::{AgreementLevel, ItemScale, LabeledItem};
use crate::dataset::{LabelWords, Labels, SHEET_FILE, TEXTS_FILE, load_labels};
use crate::domain::{Note, Rater};
use crate::error::{Error, InputFault, Result};
use crate::record::RecordedRun;
use crate::scorer::criteria::CRITERIA;

/// People's labels of the answers of a run.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RunLabels {
    /// The raters.
    pub raters: Vec<Rater>,
    /// What they said together on pages of `label`: the adjudicated label, else the mean of the raters.
    pub together: Option<Rater>,
    /// Notes on how the files were read.
    pub notes: Vec<Note>,
}

impl RunLabels {
    /// Reads these files of labels, in any form that `agree` reads; without files there are no labels.
    ///
    /// # Errors
    /// When they cannot be read, do not fit the run, or are given for several runs.
    pub fn load(paths: &[PathBuf], runs: &[RecordedRun]) -> Result<Self> {
        if !paths.is_empty() && runs.len() > 1 {
            let message =
                "--labels needs a single run: in several, a label may be of more than one answer";
            return Err(Error::Settings(message.to_owned()));
        }
        let people = PeopleLabels::load(paths, runs)?;
        let raters = people.labels().raters.clone();
        let is_of_pages = matches!(people, PeopleLabels::OfSheets(_));
        // One rater alone is the people.
        let only = raters.first().filter(|_| is_of_pages).cloned();
        Ok(Self {
            raters,
            together: people.together().or(only),
            notes: people.labels().notes.clone(),
        })
    }
}

/// How names of downloads begin.
const DOWNLOAD_PREFIX: &str = "labels-";

/// Labels in either form.
pub(super) enum PeopleLabels {
    /// Tables, with the scales of labeled criteria.
    OfTables(Labels, Vec<ItemScale>),
    /// Files of labels, unblinded by their sheets.
    OfSheets(Box<Unblinded>),
}

impl PeopleLabels {
    /// Reads these files; of a directory its sheet and the files of labels in it.
    ///
    /// # Errors
    /// When a file cannot be read, does not fit the runs, and for both forms at once.
    pub(super) fn load(paths: &[PathBuf], runs: &[RecordedRun]) -> Result<Self> {
        let named = NamedFiles::among(paths)?;
        if named.of_pages.is_empty() && named.sheets.is_empty() {
            let mut levels = Vec::new();
            for run in runs {
                levels.extend(criteria_levels(run).unwrap_or_default());
            }
            let labels = load_labels(&named.tables, LabelWords::with_levels(levels))?;
            let scales = scales_of_criteria(&labels, runs);
            return Ok(Self::OfTables(labels, scales));
        }
        if !named.tables.is_empty() {
            let message = "--labels: files from the pages of label and tables of labels are read apart; give one kind at a time";
            return Err(Error::Usage(message.to_owned()));
        }
        if let Some(dir) = named.sheets.first()
            && named.of_pages.is_empty()
        {
            let what = if dir.join(SHEET_FILE).is_file() {
                "no labels yet: the sheet is there, but no file of a rater"
            } else {
                "a directory without a sheet of label and without files of raters"
            };
            let fault = InputFault::new(dir, what);
            return Err(fault
                .refuse("put the files that raters downloaded into this directory, or name them"));
        }
        let unblinded = unblind(&named.of_pages, &named.sheets, runs)?;
        Ok(Self::OfSheets(Box::new(unblinded)))
    }

    /// The raters, their probabilities, and notes.
    pub(super) fn labels(&self) -> &Labels {
        match self {
            Self::OfTables(labels, _) => labels,
            Self::OfSheets(unblinded) => &unblinded.labels,
        }
    }

    /// The people together, where that is not the mean of the raters.
    pub(super) fn together(&self) -> Option<Rater> {
        match self {
            Self::OfTables(..) => None,
            Self::OfSheets(unblinded) => unblinded.people.clone(),
        }
    }

    /// The names of the labeled items; none where only whole answers were labeled.
    pub(super) fn items(&self) -> BTreeSet<&str> {
        let ratings = self.labels().raters.iter().flat_map(|rater| &rater.ratings);
        ratings
            .filter_map(|rating| rating.item.as_deref())
            .collect()
    }

    /// The scorers whose units sheets ask about; `None` for tables.
    pub(super) fn scorers(&self) -> Option<BTreeSet<String>> {
        match self {
            Self::OfTables(..) => None,
            Self::OfSheets(unblinded) => Some(unblinded.scorers()),
        }
    }

    /// Items where all labels of tables are of items, or those of pages have a scale; else whole answers.
    pub(super) fn level(&self) -> AgreementLevel {
        let mut ratings = self.labels().raters.iter().flat_map(|rater| &rater.ratings);
        let is_item = match self {
            Self::OfTables(..) => {
                ratings.clone().next().is_some() && ratings.all(|rating| rating.item.is_some())
            }
            Self::OfSheets(unblinded) => !unblinded.scales.is_empty(),
        };
        if is_item {
            AgreementLevel::Item
        } else {
            AgreementLevel::Answer
        }
    }

    /// The scales of the labeled items, where they are known.
    pub(super) fn scales(&self) -> Vec<ItemScale> {
        match self {
            Self::OfTables(_, scales) => scales.clone(),
            Self::OfSheets(unblinded) => unblinded.scales.clone(),
        }
    }
}

/// The files that these paths of labels name: tables, files of raters and sheets.
///
/// # Errors
/// When a directory cannot be read.
pub(super) fn label_files(paths: &[PathBuf]) -> Result<Vec<PathBuf>> {
    let named = NamedFiles::among(paths)?;
    let sheets = named.sheets.iter().map(|dir| dir.join(SHEET_FILE));
    let sheets = sheets.filter(|sheet| sheet.is_file());
    let files = named.tables.iter().chain(&named.of_pages).cloned();
    Ok(files.chain(sheets).collect())
}

/// The labeled criteria of these runs, by the scale on which their judges judged them.
fn scales_of_criteria(labels: &Labels, runs: &[RecordedRun]) -> Vec<ItemScale> {
    let mut labeled = BTreeSet::new();
    let ratings = || labels.raters.iter().flat_map(|rater| &rater.ratings);
    // Grades of criteria have other levels than the judge's.
    let beyond = ratings().filter(|rating| !(0.0..=1.0).contains(&rating.value));
    let beyond: BTreeSet<&Option<Arc<str>>> = beyond.map(|rating| &rating.item).collect();
    for rating in ratings() {
        if let Some(item) = &rating.item
            && !beyond.contains(&rating.item)
        {
            labeled.insert(LabeledItem {
                system: rating.system.clone(),
                case_id: rating.case_id.clone(),
                item: Arc::clone(item),
            });
        }
    }
    let mut scales: Vec<ItemScale> = Vec::new();
    for run in runs {
        let Some(levels) = criteria_levels(run) else {
            continue;
        };
        let mut items = BTreeSet::new();
        let scored = run.scored.iter();
        for answer in scored.filter(|answer| answer.score.scorer == CRITERIA.name) {
            for component in &answer.score.components {
                let item = LabeledItem {
                    system: answer.system.clone(),
                    case_id: answer.case.case_id.clone(),
                    item: (&*component.name).into(),
                };
                if labeled.contains(&item) {
                    items.insert(item);
                }
            }
        }
        match scales.iter_mut().find(|scale| scale.levels == levels) {
            Some(scale) => scale.items.extend(items),
            None => scales.push(ItemScale { levels, items }),
        }
    }
    scales
}

/// Paths of labels by what they are.
#[derive(Default)]
struct NamedFiles {
    /// Directories with a sheet.
    sheets: Vec<PathBuf>,
    /// Files that raters downloaded.
    of_pages: Vec<PathBuf>,
    /// All other files.
    tables: Vec<PathBuf>,
}

impl NamedFiles {
    fn among(paths: &[PathBuf]) -> Result<Self> {
        let mut named = Self::default();
        for path in paths {
            if path.is_dir() {
                named.sheets.push(path.clone());
                named.add_labels_in(path)?;
            } else if path.ends_with(SHEET_FILE) {
                named.sheets.extend(path.parent().map(Path::to_path_buf));
            } else if path.ends_with(TEXTS_FILE) {
                // A pattern such as DIR/*.json names it, too.
            } else if is_label_file(path) {
                named.of_pages.push(path.clone());
            } else {
                named.tables.push(path.clone());
            }
        }
        Ok(named)
    }

    fn add_labels_in(&mut self, dir: &Path) -> Result<()> {
        let mut files = Vec::new();
        for entry in std::fs::read_dir(dir).map_err(Error::io(dir, "read"))? {
            let path = entry.map_err(Error::io(dir, "read"))?.path();
            if is_download(&path) {
                files.push(path);
            }
        }
        files.sort();
        self.of_pages.extend(files);
        Ok(())
    }
}

/// Whether a file in a directory of labels is one that a rater downloaded. By its name, too: a damaged one is an error, and not left
/// out.
fn is_download(path: &Path) -> bool {
    let is_json = path
        .extension()
        .is_some_and(|extension| extension == "json");
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    is_json && (name.starts_with(DOWNLOAD_PREFIX) || is_label_file(path))
}
