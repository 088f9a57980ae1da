//! Labels gathered by rater, each thing once.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use super::Labels;
use super::fields::Row;
use crate::domain::{CaseId, ComparedPair, Fingerprint, Preference, Rater, RaterKind, Rating, SystemName};
use crate::error::InputFault;

/// One label.
pub(super) enum Rated {
    Rating(Rating),
    Preference(Preference),
}

/// What was rated.
#[derive(PartialEq, Eq, Hash)]
enum Thing {
    Rating(CaseId, SystemName, Option<Arc<str>>),
    Pair(ComparedPair),
}

/// What was said of it, and where.
struct Said {
    number: f64,
    path: PathBuf,
    line: usize,
}

/// The labels so far.
#[derive(Default)]
pub(super) struct Collected {
    raters: Vec<Rater>,
    said: Vec<HashMap<Thing, Said>>,
    repeated: usize,
    notes: Vec<String>,
}

impl Collected {
    /// Takes a label of a rater. One that says what an earlier one said is counted and left out.
    ///
    /// # Errors
    /// One that says something else of the same thing; a name that is a judge's here and a person's there.
    pub(super) fn add(&mut self, row: &Row, rater: (&str, RaterKind), label: Rated) -> Result<(), InputFault> {
        let is_new = self.add_repeatable(row, rater, label)?;
        self.repeated += usize::from(!is_new);
        Ok(())
    }

    /// The same of a label that repeats by the design of its file: a rating in each pair that the answer is in. False if
    /// it was known.
    ///
    /// # Errors
    /// As of [`Self::add`].
    pub(super) fn add_repeatable(
        &mut self,
        row: &Row,
        rater: (&str, RaterKind),
        label: Rated,
    ) -> Result<bool, InputFault> {
        let at = self.place(row, rater)?;
        let (thing, number) = match &label {
            Rated::Rating(rating) => {
                (Thing::Rating(rating.case_id.clone(), rating.system.clone(), rating.item.clone()), rating.value)
            }
            Rated::Preference(made) => (Thing::Pair(made.pair.clone()), f64::from(made.preferred.sign())),
        };
        if let Some(earlier) = self.said[at].get(&thing) {
            if earlier.number == number {
                return Ok(false);
            }
            let what = format!(
                "{} rated {} before, at {}:{}, and otherwise",
                shown(rater.0),
                described(&thing),
                shown(&earlier.path.display().to_string()),
                earlier.line
            );
            return Err(row.fault(what).hint("keep one of the two, or give the raters names of their own"));
        }
        self.said[at].insert(thing, Said { number, path: row.path.clone(), line: row.line });
        match label {
            Rated::Rating(rating) => self.raters[at].ratings.push(rating),
            Rated::Preference(preference) => self.raters[at].preferences.push(preference),
        }
        Ok(true)
    }

    fn place(&mut self, row: &Row, (name, kind): (&str, RaterKind)) -> Result<usize, InputFault> {
        match self.raters.iter().position(|rater| &*rater.name == name) {
            Some(at) if self.raters[at].kind == kind => Ok(at),
            Some(_) => {
                let what = format!("{} is a judge's name and a person's", shown(name));
                Err(row.fault(what).hint("rename the file, or give the person another name under rater"))
            }
            None => {
                self.raters.push(Rater::new(name, kind));
                self.said.push(HashMap::new());
                Ok(self.raters.len() - 1)
            }
        }
    }

    /// Keeps a note, once.
    pub(super) fn note(&mut self, text: &str) {
        if !self.notes.iter().any(|known| known == text) {
            self.notes.push(text.to_owned());
        }
    }

    pub(super) fn labels(self, files: Vec<(PathBuf, Fingerprint)>) -> Labels {
        Labels { raters: self.raters, files, repeated: self.repeated, notes: self.notes }
    }
}

fn shown(name: &str) -> String {
    name.escape_debug().to_string()
}

fn described(thing: &Thing) -> String {
    match thing {
        Thing::Rating(_, system, Some(item)) => format!("{} of {}", shown(item), shown(system.as_str())),
        Thing::Rating(_, system, None) => format!("the answer of {}", shown(system.as_str())),
        Thing::Pair(pair) => format!("{} against {}", shown(pair.first.as_str()), shown(pair.second.as_str())),
    }
}
