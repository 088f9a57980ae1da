//! Reads labels: ratings of answers and preferences between two answers, by people or other judges.
//!
//! A file becomes rows of fields, in JSON or CSV; each row is one of three forms, and its labels
//! are collected by rater, where repeats and contradictions are found.

use std::collections::{BTreeMap, HashMap};
use std::hash::Hash;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use scholareval_core::domain::{
    CaseId, ComparedPair, DrawProbabilities, Note, Preference, Rater, RaterKind, Rating, SystemName,
};
use scholareval_core::error::{InputFault, Result};
use scholareval_core::files::read_text;
use scholareval_core::text::names::list;
use scholareval_core::text::spreadsheets::unguarded;

use super::reader::{
    Id, Number, all, csv_as_jsonl, elements, expected, is_csv, is_nan, typed, without_bare_nan,
};

mod words;

pub use words::LabelWords;
use words::MixedValues;

/// The three forms of a label row, for hints.
const EXPECTED: &str = "expected scores (system, case_id, item, rater, value), preferences (case_id, system_a, system_b, \
                        rater, preference), or pairs (question, models, preference_ranking_norm, ..)";
/// Other names for the fields of scores and preferences, which files often have.
const OTHER_NAMES: [(&str, &[&str]); 7] = [
    ("case_id", &["id", "question_id", "question", "prompt"]),
    ("system", &["model", "system_name", "model_name"]),
    (
        "rater",
        &["annotator", "annotator_id", "rater_id", "user", "worker"],
    ),
    ("value", &["score", "rating", "grade", "label"]),
    ("preference", &["winner", "choice", "preferred"]),
    ("system_a", &["model_a", "a"]),
    ("system_b", &["model_b", "b"]),
];
/// Rater of the `model_..` fields; a rater with this name is a judge.
const MODEL: &str = "model";
/// The item name for the whole answer.
const OVERALL: &str = "overall";
const RANKING: &str = "preference_ranking_norm";

/// Labels of one or more files.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Labels {
    /// All raters, in order of first appearance.
    pub raters: Vec<Rater>,
    /// The probabilities with which answers or items were drawn to be labeled, for rows that have one.
    pub probabilities: DrawProbabilities,
    /// Notes on how the files were read.
    pub notes: Vec<Note>,
}

/// Reads files of labels (`docs/formats.md`), in which values may be these words.
///
/// # Errors
/// [`Error::Input`](scholareval_core::error::Error::Input) with the first fault of every file;
/// [`Error::Io`](scholareval_core::error::Error::Io) if a file cannot be read.
pub fn load_labels(paths: &[PathBuf], words: LabelWords) -> Result<Labels> {
    let mut collector = Collector {
        words,
        ..Collector::default()
    };
    all(paths
        .iter()
        .map(|path| collector.read(&read_text(path)?.0, path)))?;
    Ok(collector.finish())
}

/// Parses one file; CSV if `path` ends in `.csv` or the text is not JSON. See [`load_labels`].
///
/// ```
/// use scholareval_dataset::parse_labels;
///
/// let text = "system,case_id,rater,value\ngpt,c1,ann,0.5\n";
/// let labels = parse_labels(text, "labels.csv".as_ref())?;
/// assert_eq!((&*labels.raters[0].name, labels.raters[0].ratings[0].value), ("ann", 0.5));
/// # Ok::<(), scholareval_core::Error>(())
/// ```
///
/// # Errors
/// [`Error::Input`](scholareval_core::error::Error::Input) with the first fault, and how many rows have one.
pub fn parse_labels(text: &str, path: &Path) -> Result<Labels> {
    let mut collector = Collector::default();
    collector.read(text, path)?;
    Ok(collector.finish())
}

/// One row. Empty cells in CSV and bare `NaN` are null.
struct LabelRow<'a> {
    path: &'a Path,
    line: usize,
    /// In CSV every value is a string.
    fields: Map<String, Value>,
}

impl LabelRow<'_> {
    fn has(&self, field: &str) -> bool {
        self.fields.get(field).is_some_and(|value| !value.is_null())
    }

    fn is_null(&self, field: &str) -> bool {
        self.fields.get(field).is_some_and(Value::is_null)
    }

    fn fault(&self, what: impl Into<String>) -> InputFault {
        InputFault::new(self.path, what).at_line(self.line)
    }

    fn required<T: DeserializeOwned>(&self, field: &str) -> Result<T, InputFault> {
        let value = self
            .fields
            .get(field)
            .filter(|value| !value.is_null())
            .ok_or_else(|| {
                let fields = list(self.fields.keys().map(String::as_str), 12);
                self.fault(format!("no {field}: the file has {fields}"))
                    .hint(self.renaming().unwrap_or(EXPECTED.to_owned()))
            })?;
        typed(value.clone()).map_err(|what| self.fault(format!("{field}: {what}")).hint(EXPECTED))
    }

    /// The advice to rename fields with other names.
    fn renaming(&self) -> Option<String> {
        let mut all = Vec::new();
        for (field, others) in &OTHER_NAMES {
            let other = others.iter().find(|other| self.has(other));
            if let Some(other) = other
                && !self.fields.contains_key(*field)
            {
                all.push(format!("{other} to {field}"));
            }
        }
        (!all.is_empty()).then(|| format!("rename {}", all.join(", ")))
    }

    /// A name; may be written as a number.
    fn text(&self, field: &str) -> Result<String, InputFault> {
        match self.required(field)? {
            Id(text) if text.trim().is_empty() => {
                Err(self.fault(format!("{field} is empty")).hint(EXPECTED))
            }
            Id(text) => Ok(text),
        }
    }

    /// The rater's name: spaces around it make no other rater.
    fn rater(&self) -> Result<String, InputFault> {
        self.text("rater").map(|name| name.trim().to_owned())
    }

    /// One number for each of two systems, where it has one.
    fn two_numbers(&self, field: &str) -> Result<[Option<f64>; 2], InputFault> {
        if self.is_null(field) {
            return Ok([None; 2]);
        }
        self.required::<[Number; 2]>(field)
            .map(|numbers| numbers.map(|number| number.0.filter(|value| value.is_finite())))
    }
}

fn rows<'a>(text: &str, path: &'a Path) -> Result<Vec<LabelRow<'a>>> {
    let is_csv = is_csv(path)
        || !(text.trim_start().is_empty() || text.trim_start().starts_with(['[', '{']));
    let json = if is_csv {
        csv_as_jsonl(text, path)?.into()
    } else {
        without_bare_nan(text).0
    };
    let elements = elements(&json, path)?;
    all(elements.iter().map(|line| {
        let mut fields: Map<String, Value> =
            line.read("object").map_err(|fault| fault.hint(EXPECTED))?;
        for (name, value) in &mut fields {
            let cell = value.as_str().filter(|_| is_csv);
            if is_nan(value) || cell.is_some_and(|cell| cell.trim().is_empty()) {
                *value = Value::Null;
            } else if let Some(cell) = cell.filter(|_| matches!(name.as_str(), "item" | "question"))
            {
                // As written to CSV by this program.
                *value = unguarded(cell).into();
            }
        }
        Ok(LabelRow {
            path,
            line: line.number,
            fields,
        })
    }))
}

enum LabelValue {
    Rating(Rating),
    Preference(ComparedPair, Preference),
}

impl LabelValue {
    /// The case, the subject (the rated item or the two systems) as messages name it, and the value as a number.
    fn parts(&self) -> (&CaseId, String, f64) {
        match self {
            Self::Rating(rating) => {
                let subject = match &rating.item {
                    Some(item) => format!("{item:?}"),
                    None => "the answer".to_owned(),
                };
                let system = rating.system.as_str().escape_debug();
                let subject = format!("{subject} of {system}");
                (&rating.case_id, subject, rating.value)
            }
            Self::Preference(pair, preference) => {
                let first = pair.first.as_str().escape_debug();
                let second = pair.second.as_str().escape_debug();
                let subject = format!("{first} against {second}");
                (&pair.case_id, subject, preference.sign().into())
            }
        }
    }
}

/// Labels collected so far.
#[derive(Default)]
struct Collector {
    labels: Labels,
    /// Number and position of each label, by index of the rater, case and subject.
    seen: HashMap<(usize, CaseId, String), (f64, String)>,
    /// Rows without a number in a field of labels, by field.
    missing: BTreeMap<String, usize>,
    words: LabelWords,
    /// Of the file that is read.
    mixed: MixedValues,
}

impl Collector {
    fn read(&mut self, text: &str, path: &Path) -> Result<()> {
        let rows = rows(text, path)?;
        if rows.is_empty() {
            return Err(InputFault::new(path, "no labels in the file").refuse(EXPECTED));
        }
        self.mixed = MixedValues::default();
        let mut faults = rows.iter().filter_map(|row| self.read_row(row).err());
        let Some(mut fault) = faults.next() else {
            return Ok(());
        };
        // One fault per file: a wrong header makes every row fail with the same message.
        let more = faults.count();
        if more > 0 {
            fault.what += &format!("; faults in the file: {}", more + 1);
        }
        Err(fault.into())
    }

    fn finish(mut self) -> Labels {
        let mut fields = Vec::new();
        for (field, rows) in &self.missing {
            fields.push(format!("{field} ({rows})"));
        }
        if !fields.is_empty() {
            let text = format!(
                "Labels without a number (null, empty) are left out; rows by field: {}.",
                fields.join(", ")
            );
            self.labels.notes.push(Note::warning(text));
        }
        self.labels
    }

    fn count_missing(&mut self, field: &str) {
        *self.missing.entry(field.to_owned()).or_default() += 1;
    }

    fn read_row(&mut self, row: &LabelRow<'_>) -> Result<(), InputFault> {
        if row.has("models") {
            return self.read_pair(row);
        }
        let case_id = row.text("case_id")?;
        self.read_score_or_preference(row, case_id.as_str().into())
            .map_err(|fault| fault.of_case(case_id))
    }

    fn read_score_or_preference(
        &mut self,
        row: &LabelRow<'_>,
        case_id: CaseId,
    ) -> Result<(), InputFault> {
        let rater = row.rater()?;
        let is_preference = row.has("preference") || row.has("system_a");
        let field = if is_preference { "preference" } else { "value" };
        if row.is_null(field) {
            self.count_missing(field);
            return Ok(());
        }
        let label = if is_preference {
            let (pair, preference) = preference(row, case_id)?;
            LabelValue::Preference(pair, preference)
        } else {
            let item = if row.has("item") {
                Some(row.text("item")?.into())
            } else {
                None
            };
            let Some(value) = self.rating_value(row, &item)? else {
                return Ok(());
            };
            let rating = Rating {
                system: row.text("system")?.into(),
                case_id,
                item,
                value,
            };
            self.read_probabilities(row, &rating)?;
            LabelValue::Rating(rating)
        };
        // Agreement between two people and between a person and a judge are different results; the
        // name of the released `model_..` fields is the only sign of it in a row.
        let kind = if rater == MODEL {
            RaterKind::Judge
        } else {
            RaterKind::Human
        };
        self.add(row, (&rater, kind), label)
    }

    /// The value of a rating: a number, or a word for one.
    fn rating_value(
        &mut self,
        row: &LabelRow<'_>,
        item: &Option<Arc<str>>,
    ) -> Result<Option<f64>, InputFault> {
        let word = match row.fields.get("value") {
            Some(Value::Bool(value)) => Some(value.to_string()),
            Some(Value::String(text)) if text.trim().parse::<f64>().is_err() => Some(text.clone()),
            _ => None,
        };
        let of_word = word.as_deref().and_then(|word| self.words.value(word));
        let value = match of_word {
            Some(value) => value,
            None => match row.required("value") {
                Ok(Number(Some(value))) => value,
                Ok(Number(None)) => return Ok(None),
                Err(fault) if word.is_some() => {
                    let known = self.words.known();
                    return Err(fault.hint(format!("words that are read as numbers: {known}")));
                }
                Err(fault) => return Err(fault),
            },
        };
        match self.mixed.add(row.line, item, word.as_deref(), value) {
            Some(what) => Err(row
                .fault(what)
                .hint("write all values of an item on one scale")),
            None => Ok(Some(value)),
        }
    }

    /// Reads with which probability the answer, or its item alone, was drawn.
    fn read_probabilities(
        &mut self,
        row: &LabelRow<'_>,
        rating: &Rating,
    ) -> Result<(), InputFault> {
        let Rating {
            system, case_id, ..
        } = rating;
        let probabilities = &mut self.labels.probabilities;
        let answers = &mut probabilities.answers;
        let answer = (system.clone(), case_id.clone());
        read_probability(row, "probability", answer, answers)?;
        if let Some(item) = &rating.item {
            let item = (system.clone(), case_id.clone(), Arc::clone(item));
            read_probability(row, "verdict_probability", item, &mut probabilities.items)?;
        }
        Ok(())
    }

    /// A pair as released with ScholarQA's human evaluation (allenai/ai2-scholarqa-eval): `question`, `models` with two
    /// systems, `preference_ranking_norm` with two numbers, and pairs of numbers `human_..` and `model_..`. The person
    /// is `rater`, else the stem of the file name; the case is `case_id`, else the question.
    fn read_pair(&mut self, row: &LabelRow<'_>) -> Result<(), InputFault> {
        let case = if row.has("case_id") {
            "case_id"
        } else {
            "question"
        };
        let case_id = CaseId::from(row.text(case)?);
        let person = if row.has("rater") {
            row.rater()?
        } else {
            let stem = row.path.file_stem().unwrap_or_default();
            stem.to_string_lossy().trim().to_owned()
        };
        let person = (person.as_str(), RaterKind::Human);
        let models: [SystemName; 2] = row.required("models")?;
        let has_ranking = row.fields.contains_key(RANKING);
        let ranking = if has_ranking {
            row.two_numbers(RANKING)?
        } else {
            [None; 2]
        };
        if let [Some(a), Some(b)] = ranking {
            let [first, second] = models.clone();
            // The released numbers are points of an answer in its pair, so only their difference
            // means something.
            let preference = Preference::of_difference(a - b, 0.0);
            let (pair, preference) =
                ComparedPair::preferring(case_id.clone(), first, second, preference)
                    .ok_or_else(|| row.fault("models: expected two systems, found one twice"))?;
            self.add(row, person, LabelValue::Preference(pair, preference))?;
        } else if has_ranking {
            self.count_missing(RANKING);
        }
        for field in row.fields.keys() {
            let (rater, item) = if let Some(item) = field.strip_prefix("human_") {
                (person, item)
            } else if let Some(item) = field.strip_prefix("model_") {
                ((MODEL, RaterKind::Judge), item)
            } else {
                continue;
            };
            // Comments and the like are not ratings.
            let values = row.two_numbers(field).unwrap_or([None; 2]);
            if values.contains(&None) {
                self.count_missing(field);
            }
            self.rate_both(row, rater, &case_id, &models, item, values)?;
        }
        // Without a rating of the whole answer a judge could not be compared with people by score
        // at all.
        if has_ranking && !row.fields.contains_key("human_overall") {
            self.rate_both(row, person, &case_id, &models, OVERALL, ranking)?;
            let note = Note::warning(
                "Without human_overall, preference_ranking_norm serves as the preference and as the person's ratings of \
                 the two answers.",
            );
            if !self.labels.notes.contains(&note) {
                self.labels.notes.push(note);
            }
        }
        Ok(())
    }

    /// Adds the ratings of two systems' answers.
    fn rate_both(
        &mut self,
        row: &LabelRow<'_>,
        rater: (&str, RaterKind),
        case_id: &CaseId,
        models: &[SystemName; 2],
        item: &str,
        values: [Option<f64>; 2],
    ) -> Result<(), InputFault> {
        let item = if item == OVERALL {
            None
        } else {
            Some(item.into())
        };
        for (system, value) in models.iter().zip(values) {
            let Some(value) = value else { continue };
            let rating = Rating {
                system: system.clone(),
                case_id: case_id.clone(),
                item: item.clone(),
                value,
            };
            self.add(row, rater, LabelValue::Rating(rating))?;
        }
        Ok(())
    }

    /// Adds a label of a rater, unless it repeats an earlier one.
    ///
    /// # Errors
    /// A label that contradicts an earlier one; a name that belongs to a judge in one place and to a person in another.
    fn add(
        &mut self,
        row: &LabelRow<'_>,
        (name, kind): (&str, RaterKind),
        label: LabelValue,
    ) -> Result<(), InputFault> {
        let raters = &mut self.labels.raters;
        let at = raters
            .iter()
            .position(|rater| &*rater.name == name)
            .unwrap_or_else(|| {
                raters.push(Rater::new(name, kind));
                raters.len() - 1
            });
        let rater = &mut raters[at];
        if rater.kind != kind {
            let what = format!("{} is a judge's name and a person's", name.escape_debug());
            return Err(row
                .fault(what)
                .hint("rename the file, or give the person another name under rater"));
        }
        let (case_id, thing, number) = label.parts();
        let key = (at, case_id.clone(), thing);
        if let Some((earlier, position)) = self.seen.get(&key) {
            // Equal repeats are harmless (every pair repeats an answer's ratings), but counting
            // them would lend weight to whoever occurs in many pairs.
            if *earlier == number {
                return Ok(());
            }
            let what = format!(
                "{} rated {} differently before, at {position}",
                name.escape_debug(),
                key.2
            );
            return Err(row
                .fault(what)
                .hint("keep one of the two, or give the raters different names"));
        }
        let position = format!("{}:{}", row.path.display(), row.line)
            .escape_debug()
            .to_string();
        self.seen.insert(key, (number, position));
        match label {
            LabelValue::Rating(rating) => rater.ratings.push(rating),
            LabelValue::Preference(pair, preference) => {
                rater.preferences.insert(pair, preference);
            }
        }
        Ok(())
    }
}

/// Reads the probability in this column of a row, if it has one: the same one in every row of `key`.
fn read_probability<K: Eq + Hash>(
    row: &LabelRow<'_>,
    column: &str,
    key: K,
    probabilities: &mut HashMap<K, f64>,
) -> Result<(), InputFault> {
    if !row.has(column) {
        return Ok(());
    }
    let Number(number) = row.required(column)?;
    let Some(number) = number.filter(|number| *number > 0.0 && *number <= 1.0) else {
        let what = format!("{column}: expected a number above 0, at most 1");
        let hint = "leave the column as label --format csv wrote it, or leave it out";
        return Err(row.fault(what).hint(hint));
    };
    let known = *probabilities.entry(key).or_insert(number);
    if known == number {
        return Ok(());
    }
    let what = format!("{column} {number}, which was {known} before");
    Err(row
        .fault(what)
        .hint("leave the column as label --format csv wrote it"))
}

/// `a`, `b` or `tie`; the name of one of the two systems; or a number: above 0 the first is better, below 0 the second,
/// 0 is a tie. A system's name takes precedence over the letters.
fn preference(
    row: &LabelRow<'_>,
    case_id: CaseId,
) -> Result<(ComparedPair, Preference), InputFault> {
    let a = row.text("system_a")?;
    let b = row.text("system_b")?;
    let value: Value = row.required("preference")?;
    let word = value.as_str().map(str::trim).unwrap_or_default();
    let preference = match (Preference::named(word), Number::try_from(value.clone())) {
        // A system may well be called `b`; its full name must not be read as the letter.
        _ if word == a => Preference::First,
        _ if word == b => Preference::Second,
        (Some(preference), _) => preference,
        (None, Ok(Number(Some(number)))) => Preference::of_difference(number, 0.0),
        _ => {
            let wanted = format!("a, b, tie, {a:?}, {b:?} or a number");
            return Err(row.fault(format!("preference: {}", expected(&wanted, &value))));
        }
    };
    let [first, second] = [&a, &b].map(|system| system.as_str().into());
    ComparedPair::preferring(case_id, first, second, preference).ok_or_else(|| {
        row.fault(format!("system_a and system_b are both {a:?}"))
            .hint("name two systems")
    })
}

#[cfg(test)]
mod tests;
