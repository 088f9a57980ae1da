//! Reads which answers, or which single verdicts on them, are to be asked for: what a draw writes, or a list of answers by hand.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::reader::{Id, JsonLine, Number, all, elements, is_csv, rows_as_jsonl};
use scholareval_core::domain::{
    AnswerSelection, CaseId, Digest, RandomDraw, SystemName, VerdictDraw,
};
use scholareval_core::error::{InputFault, Result};
use scholareval_core::files::read_text;
use scholareval_core::text::spreadsheets::unguarded;

/// A row of the file, for hints.
const ROW: &str =
    "a row has system and case_id, with seed and drawn_from if it was drawn at random";

/// Names of the items of answers, by system and case.
pub type SelectedItems = HashMap<(SystemName, CaseId), HashSet<String>>;

/// The answers that a file names.
#[derive(Debug, Clone, PartialEq)]
pub struct SelectedAnswers {
    /// The file.
    pub path: PathBuf,
    /// The answers, by system and case.
    pub answers: HashSet<(SystemName, CaseId)>,
    /// The items of each answer that are asked for; empty where whole answers are.
    pub items: SelectedItems,
    /// What a run of these records.
    pub recorded: AnswerSelection,
}

/// A row: an answer, or with `frame` a verdict on one of its items, and how all of the file were drawn.
#[derive(Deserialize)]
struct SelectedRow {
    system: Id,
    case_id: Id,
    item: Option<Id>,
    frame: Option<Digest<8>>,
    seed: Option<Number>,
    drawn_from: Option<Number>,
}

/// How the rows of a file were drawn.
#[derive(PartialEq)]
struct RowDraw {
    answers: Option<RandomDraw>,
    frame: Option<Digest<8>>,
}

impl RowDraw {
    /// The draw of this number of verdicts; `None` for rows of answers.
    fn verdicts(&self, count: usize) -> Option<VerdictDraw> {
        let drawn = self.answers?;
        Some(VerdictDraw {
            verdicts: count,
            of: drawn.of,
            seed: drawn.seed,
            frame: self.frame?,
        })
    }
}

impl SelectedRow {
    fn draw(&self) -> Option<RandomDraw> {
        Some(RandomDraw {
            of: whole(self.drawn_from.as_ref())? as usize,
            seed: whole(self.seed.as_ref())?,
        })
    }
}

/// A whole number from 0 up to where all of them are numbers in JSON.
fn whole(number: Option<&Number>) -> Option<u64> {
    let value = number?.0?;
    let is_whole = value >= 0.0 && value.fract() == 0.0 && value < 9e15;
    is_whole.then_some(value as u64)
}

/// The rows of a file so far.
#[derive(Default)]
struct SelectedRows {
    is_csv: bool,
    answers: HashSet<(SystemName, CaseId)>,
    items: SelectedItems,
    draws: Vec<RowDraw>,
    /// A fault for each row that repeats another one.
    repeated: Vec<InputFault>,
}

impl SelectedRows {
    fn add(&mut self, line: &JsonLine<'_>) -> Result<()> {
        let row: SelectedRow = line.read("object").map_err(|fault| fault.hint(ROW))?;
        let [system, case_id] = [&row.system, &row.case_id].map(|cell| self.text(cell));
        self.draws.push(RowDraw {
            answers: row.draw(),
            frame: row.frame,
        });
        let answer: (SystemName, CaseId) = (system.as_str().into(), case_id.as_str().into());
        let is_new_answer = self.answers.insert(answer.clone());
        let (noun, is_new) = match row.item.filter(|_| row.frame.is_some()) {
            None => ("answer", is_new_answer),
            Some(item) => {
                let item = self.text(&item);
                let items = self.items.entry(answer).or_default();
                ("verdict on one item of the answer", items.insert(item))
            }
        };
        if !is_new {
            let fault = line.fault(format!("the {noun} of {system} is named twice"));
            self.repeated.push(fault.of_case(&case_id));
        }
        Ok(())
    }

    /// The text of a cell, without the mark that keeps a spreadsheet from taking it for a formula.
    fn text(&self, cell: &Id) -> String {
        let text = if self.is_csv {
            unguarded(&cell.0)
        } else {
            &cell.0
        };
        text.to_owned()
    }
}

/// Reads a file of selected answers: CSV with a header, JSON lines or a JSON list.
///
/// # Errors
/// [`Error::Input`](scholareval_core::error::Error::Input) for rows without a system or a case, for an answer that is named twice, for
/// rows of several draws, and for a file without rows; [`Error::Io`](scholareval_core::error::Error::Io) if it cannot be read.
pub fn load_selected(path: &Path) -> Result<SelectedAnswers> {
    let (text, blake3) = read_text(path)?;
    let json = rows_as_jsonl(&text, path)?;
    let mut rows = SelectedRows {
        is_csv: is_csv(path),
        ..SelectedRows::default()
    };
    let elements = elements(&json, path)?;
    all(elements.iter().map(|line| rows.add(line)))?;
    only_once(rows.repeated)?;
    let draws = rows.draws;
    let Some(first) = draws.first() else {
        return Err(InputFault::new(path, "the file names no answer").refuse(ROW));
    };
    if draws.iter().any(|draw| draw != first) {
        let fault = InputFault::new(
            path,
            "its rows are of several draws (seed, drawn_from, frame)",
        );
        return Err(fault.refuse("give the answers of one draw"));
    }
    let recorded = AnswerSelection {
        blake3,
        answers: rows.answers.len(),
        drawn: first.answers.filter(|_| first.frame.is_none()),
        verdicts: first.verdicts(draws.len()),
    };
    Ok(SelectedAnswers {
        path: path.to_path_buf(),
        answers: rows.answers,
        items: rows.items,
        recorded,
    })
}

/// # Errors
/// For the first of these faults, one for each row that repeats another one.
fn only_once(repeated: Vec<InputFault>) -> Result<()> {
    // A file of labels has many rows of each answer: one error says it.
    let more = repeated.len().saturating_sub(1);
    if let Some(fault) = repeated.into_iter().next() {
        let hint = match more {
            0 => "remove one of the rows".to_owned(),
            more => format!("so are {more} more; name each answer in one row"),
        };
        return Err(fault.refuse(hint));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(name: &str, text: &str) -> Result<SelectedAnswers> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(name);
        std::fs::write(&path, text).unwrap();
        load_selected(&path)
    }

    #[test]
    fn a_draw_is_read_with_its_seed_and_what_it_was_drawn_from() {
        let text = "system,case_id,rater,value,probability,seed,drawn_from\na,c1,person,,0.5,7,4\nb,c2,person,,0.5,7,4\n";
        let selected = load("drawn.csv", text).unwrap();
        assert!(selected.answers.contains(&("b".into(), "c2".into())));
        assert_eq!(selected.recorded.drawn, Some(RandomDraw { of: 4, seed: 7 }));
        assert_eq!(
            selected.recorded.sentence(),
            "2 selected answers, drawn at random from 4"
        );
    }

    #[test]
    fn a_draw_of_verdicts_names_items_of_answers() {
        let text = "system,case_id,item,rater,value,probability,seed,drawn_from,frame\n\
                    a,c1,cites,person,,0.5,7,4,00000000000000ab\na,c1,\"'=states\",person,,0.25,7,4,00000000000000ab\n";
        let selected = load("drawn.csv", text).unwrap();
        let items = &selected.items[&("a".into(), "c1".into())];
        assert!(items.contains("cites") && items.contains("=states"));
        let sentence = selected.recorded.sentence();
        assert!(
            sentence.starts_with("2 verdicts on 1 answers, drawn from 4"),
            "{sentence}"
        );
        let twice = text.replace("'=states", "cites");
        let message = load("twice.csv", &twice).unwrap_err().to_string();
        assert!(
            message.contains("verdict on one item") && message.contains("named twice"),
            "{message}"
        );
    }

    #[test]
    fn a_list_by_hand_is_no_random_draw() {
        let selected = load("hand.jsonl", "{\"system\": \"a\", \"case_id\": 3}\n").unwrap();
        assert_eq!(selected.recorded.drawn, None);
        assert!(selected.answers.contains(&("a".into(), "3".into())));
    }

    #[test]
    fn faults_name_line_and_case() {
        let twice = load("a.csv", "system,case_id\na,c1\na,c1\n").unwrap_err();
        let message = twice.to_string();
        // One error for a file of labels, with many rows of each answer.
        let text = "system,case_id\na,c1\na,c1\nb,c1\nb,c1\nb,c1\n";
        let many = load("a.csv", text).unwrap_err().to_string();
        assert!(
            many.contains(":3") && many.contains("so are 2 more"),
            "{many}"
        );
        assert_eq!(many.lines().count(), 1, "{many}");
        assert!(
            message.contains(":3") && message.contains("c1") && message.contains("named twice"),
            "{message}"
        );
        let mixed = "system,case_id,seed,drawn_from\na,c1,1,9\na,c2,2,9\n";
        let message = load("b.csv", mixed).unwrap_err().to_string();
        assert!(message.contains("several draws"), "{message}");
        for empty in ["system,case_id\n", ""] {
            assert!(load("c.csv", empty).is_err());
        }
        let message = load("d.csv", "system\na\n").unwrap_err().to_string();
        assert!(message.contains("case_id"), "{message}");
    }
}
