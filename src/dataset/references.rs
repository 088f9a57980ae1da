//! Golds from a file of their own, joined to predictions by the question.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use crate::domain::Gold;
use crate::error::{Error, InputFault, Result};

use super::names::list;
use super::predictions::{Predictions, parse_predictions};
use super::text_file::{as_text, read_bytes};

/// Golds by question.
#[derive(Debug, Clone)]
pub struct References {
    path: PathBuf,
    golds: HashMap<String, (usize, Gold)>,
    /// What is odd but usable.
    pub warnings: Vec<InputFault>,
}

/// Reads a file of references: predictions whose outputs are not looked at. Of several with one `input` equal golds
/// count once; their gold documents are put together, for one claim may be told by several papers.
///
/// # Errors
/// [`Error::Input`] where two golds of one `input` differ, naming both lines, and for every other fault of the file.
pub fn load_references(path: &Path) -> Result<References> {
    let bytes = read_bytes(path)?.0;
    let read = parse_predictions(as_text(&bytes, path, 1)?, "references".into(), path)?;
    let mut golds: HashMap<String, (usize, Gold)> = HashMap::new();
    let mut faults = Vec::new();
    for item in read.items {
        match golds.get_mut(&item.input) {
            Some((first, gold)) if !same_answers(gold, &item.gold) => {
                let what = format!(
                    "another gold for the question \"{}\" of line {first}",
                    item.input.chars().take(60).collect::<String>().escape_debug()
                );
                let fault = InputFault::new(path, what).at_line(item.line).of_case(item.id);
                faults.push(fault.hint("keep one of the two lines, or make them equal"));
            }
            Some((_, gold)) => {
                let new = item.gold.gold_texts.into_iter();
                let new: Vec<String> = new.filter(|text| !gold.gold_texts.contains(text)).collect();
                gold.gold_texts.extend(new);
            }
            None => {
                golds.insert(item.input, (item.line, item.gold));
            }
        }
    }
    if !faults.is_empty() {
        return Err(Error::Input(faults));
    }
    Ok(References { path: path.to_path_buf(), golds, warnings: read.warnings })
}

/// Equal in everything but the gold documents.
fn same_answers(one: &Gold, other: &Gold) -> bool {
    one.answer == other.answer
        && one.gold_ctxs == other.gold_ctxs
        && one.short_answers == other.short_answers
        && one.long_answers == other.long_answers
}

impl References {
    /// How many questions have a gold.
    pub fn len(&self) -> usize {
        self.golds.len()
    }

    /// True without any gold.
    pub fn is_empty(&self) -> bool {
        self.golds.is_empty()
    }

    /// Gives every prediction the gold of its question, in place of its own. Gives a warning for each file with
    /// questions that have none; their predictions keep what they have.
    pub fn join(&self, predictions: &mut Predictions) -> Option<InputFault> {
        let mut without: Vec<String> = Vec::new();
        for item in &mut predictions.items {
            match self.golds.get(&item.input) {
                Some((_, gold)) => item.gold = gold.clone(),
                None => without.push(item.id.clone()),
            }
        }
        (!without.is_empty()).then(|| {
            let ids = list(without.iter().map(String::as_str), 5);
            let what = format!("{} predictions without a reference in {}: {ids}", without.len(), self.path.display());
            InputFault::new(&predictions.path, what).hint("references are joined by equal input")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(text: &str) -> Result<References> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("r.jsonl");
        std::fs::write(&path, text).unwrap();
        load_references(&path)
    }

    #[test]
    fn equal_golds_of_one_question_merge_and_unequal_ones_are_an_error_naming_both_lines() {
        let line = |answer: &str| format!("{{\"input\": \"q\", \"answer\": \"{answer}\"}}\n");
        assert_eq!(load(&(line("a") + &line("a"))).unwrap().len(), 1);
        let error = load(&(line("a") + &line("a") + &line("b"))).unwrap_err().to_string();
        assert!(error.contains("r.jsonl:3 (case 3): another gold for the question \"q\" of line 1; keep"), "{error}");
    }

    #[test]
    fn gold_documents_of_one_question_are_put_together() {
        let line =
            |text: &str| format!("{{\"input\": \"q\", \"answer\": \"a\", \"gold_ctx\": [{{\"text\": \"{text}\"}}]}}\n");
        let references = load(&(line("one") + &line("two") + &line("one"))).unwrap();
        assert_eq!(references.golds["q"].1.gold_texts, ["one", "two"]);
    }

    #[test]
    fn golds_are_joined_by_question_and_the_rest_is_told() {
        let references = load("{\"input\": \"q\", \"answer\": \"gold\"}").unwrap();
        let text = "{\"input\": \"q\", \"output\": \"o\", \"answer\": \"own\"}\n{\"input\": \"r\", \"output\": \"o\"}";
        let mut predictions = parse_predictions(text, "s".into(), Path::new("s.jsonl")).unwrap();
        let warning = references.join(&mut predictions).unwrap().to_string();
        assert!(
            warning.starts_with("s.jsonl: 1 predictions without a reference in ") && warning.contains(": 2;"),
            "{warning}"
        );
        assert_eq!(predictions.items[0].gold.answer.as_deref(), Some("gold"));
    }
}
