//! Labels gathered by rater, each once.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use super::row::Row;
use crate::domain::{CaseId, ComparedPair, Note, Preference, Rater, RaterKind, Rating, SystemName};
use crate::error::InputFault;

/// The labels of some files.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Labels {
    /// Everyone who rated something, in order of first appearance.
    pub raters: Vec<Rater>,
    /// Repeated labels; not counting the ratings of pairs, which each pair of an answer repeats.
    pub repeated: usize,
    /// What a reader must know of how the files were read.
    pub notes: Vec<Note>,
}

/// One label.
pub(super) enum Label {
    Rating(Rating),
    Preference(Preference),
}

/// A rated thing.
#[derive(PartialEq, Eq, Hash)]
enum Thing {
    Answer(CaseId, SystemName, Option<Arc<str>>),
    Pair(ComparedPair),
}

/// A label's number and place.
struct Seen {
    number: f64,
    path: PathBuf,
    line: usize,
}

/// The labels so far.
#[derive(Default)]
pub(super) struct Collector {
    labels: Labels,
    seen: HashMap<(usize, Thing), Seen>,
}

impl Collector {
    /// Adds a label of a rater. One that equals an earlier one is counted and left out.
    ///
    /// # Errors
    /// A label that contradicts an earlier one; a name that is a judge's here and a person's there.
    pub(super) fn add(&mut self, row: &Row, rater: (&str, RaterKind), label: Label) -> Result<(), InputFault> {
        let is_new = self.add_repeatable(row, rater, label)?;
        self.labels.repeated += usize::from(!is_new);
        Ok(())
    }

    /// [`Self::add`] of a label that repeats by the design of its file: a rating in each pair of the answer. False if it is
    /// known.
    pub(super) fn add_repeatable(
        &mut self,
        row: &Row,
        (name, kind): (&str, RaterKind),
        label: Label,
    ) -> Result<bool, InputFault> {
        let raters = &mut self.labels.raters;
        let at = raters.iter().position(|rater| &*rater.name == name).unwrap_or_else(|| {
            raters.push(Rater::new(name, kind));
            raters.len() - 1
        });
        let rater = &mut raters[at];
        if rater.kind != kind {
            let what = format!("{} is a judge's name and a person's", name.escape_debug());
            return Err(row.fault(what).hint("rename the file, or give the person another name under rater"));
        }
        let (thing, number) = match &label {
            Label::Rating(Rating { case_id, system, item, value }) => {
                (Thing::Answer(case_id.clone(), system.clone(), item.clone()), *value)
            }
            Label::Preference(made) => (Thing::Pair(made.pair.clone()), f64::from(made.preferred.sign())),
        };
        let key = (at, thing);
        if let Some(earlier) = self.seen.get(&key) {
            if earlier.number == number {
                return Ok(false);
            }
            let place = format!("{}:{}", earlier.path.display(), earlier.line);
            let (rater, thing, place) = (name.escape_debug(), described(&key.1), place.escape_debug());
            let what = format!("{rater} rated {thing} differently before, at {place}");
            return Err(row.fault(what).hint("keep one of the two, or give the raters different names"));
        }
        self.seen.insert(key, Seen { number, path: row.path.clone(), line: row.line });
        match label {
            Label::Rating(rating) => rater.ratings.push(rating),
            Label::Preference(preference) => rater.preferences.push(preference),
        }
        Ok(true)
    }

    /// Keeps a note, once.
    pub(super) fn note(&mut self, note: Note) {
        if !self.labels.notes.contains(&note) {
            self.labels.notes.push(note);
        }
    }

    pub(super) fn labels(self) -> Labels {
        self.labels
    }
}

fn described(thing: &Thing) -> String {
    match thing {
        Thing::Answer(_, system, Some(item)) => {
            format!("{} of {}", item.escape_debug(), system.as_str().escape_debug())
        }
        Thing::Answer(_, system, None) => format!("the answer of {}", system.as_str().escape_debug()),
        Thing::Pair(pair) => {
            format!("{} against {}", pair.first.as_str().escape_debug(), pair.second.as_str().escape_debug())
        }
    }
}
