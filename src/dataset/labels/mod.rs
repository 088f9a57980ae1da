//! Labels: what people (and other judges) said about answers, from files of scores, of preferences, or of pairs that hold
//! both.

mod collect;
mod csv;
mod fields;
mod pairs;
mod rows;

use std::path::{Path, PathBuf};

use crate::domain::{Fingerprint, Rater};
use crate::error::{Error, InputFault, Result};

use super::elements::elements;
use super::text_file::{as_text, read_bytes};
use collect::Collected;
use fields::Row;

/// The labels of some files.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Labels {
    /// Everyone who rated something, in order of first appearance.
    pub raters: Vec<Rater>,
    /// The files with the blake3 of their bytes.
    pub files: Vec<(PathBuf, Fingerprint)>,
    /// Labels that stand there more than once, and equal; not the ratings of pairs, which each pair of an answer repeats.
    pub repeated: usize,
    /// What a reader must know of how the files were read.
    pub notes: Vec<String>,
}

/// Reads files of labels (`docs/formats.md`).
///
/// # Errors
/// [`Error::Input`] with every fault of every file; [`Error::Io`] if a file cannot be read.
pub fn load_labels(paths: &[PathBuf]) -> Result<Labels> {
    let (mut collected, mut faults, mut files) = (Collected::default(), Vec::new(), Vec::new());
    for path in paths {
        let (bytes, blake3) = read_bytes(path)?;
        files.push((path.clone(), blake3));
        match as_text(&bytes, path, 1).map_err(Error::from).and_then(|text| read(text, path, &mut collected)) {
            Err(Error::Input(more)) => faults.extend(more),
            other => other?,
        }
    }
    if faults.is_empty() { Ok(collected.labels(files)) } else { Err(Error::Input(faults)) }
}

/// Reads the text of one file; `path` stands in messages and tells CSV (`.csv`) from JSON. See [`load_labels`].
///
/// ```
/// use scholareval::dataset::parse_labels;
///
/// let text = "system,case_id,rater,value\ngpt,c1,ann,0.5\n";
/// let labels = parse_labels(text, "labels.csv".as_ref())?;
/// assert_eq!((&*labels.raters[0].name, labels.raters[0].ratings[0].value), ("ann", 0.5));
/// # Ok::<(), scholareval::Error>(())
/// ```
///
/// # Errors
/// [`Error::Input`] with every fault found.
pub fn parse_labels(text: &str, path: &Path) -> Result<Labels> {
    let mut collected = Collected::default();
    read(text, path, &mut collected)?;
    Ok(collected.labels(vec![(path.to_path_buf(), blake3::hash(text.as_bytes()).into())]))
}

/// What a file with no labels should have held.
const EXPECTED: &str = "expected scores (system, case_id, item, rater, value), preferences (case_id, system_a, system_b, \
                        rater, preference), or pairs (question, models, preference_ranking_norm, ..)";

fn read(text: &str, path: &Path, collected: &mut Collected) -> Result<()> {
    let mut faults = Vec::new();
    let found = rows_of(text, path)?;
    if found.is_empty() {
        faults.push(InputFault::new(path, "no labels in the file").hint(EXPECTED));
    }
    for row in &found {
        let read = if row.has("models") { pairs::read(row, collected) } else { rows::read(row, collected) };
        faults.extend(read.err());
    }
    if faults.is_empty() { Ok(()) } else { Err(Error::Input(faults)) }
}

fn rows_of(text: &str, path: &Path) -> Result<Vec<Row>> {
    let is_csv = path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("csv"))
        || !(text.trim_start().is_empty() || text.trim_start().starts_with(['[', '{']));
    if is_csv {
        return Ok(fields::of_csv(csv::records(text, path)?, path)?);
    }
    let mut found = Vec::new();
    for element in elements(text, path)? {
        found.push(fields::of_json(element, path)?);
    }
    Ok(found)
}

#[cfg(test)]
mod tests;
