//! References from a file of their own: golds that overlap is measured against, and answers that an aspect's best
//! grade is shown by. One file may hold both.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::domain::{Fingerprint, Gold, Prediction};
use crate::error::{Error, InputFault, Result};

use super::names::list;
use super::predictions::{Predictions, nan_warning, no_question, read_predictions};
use super::reader::{elements, read_text, without_bare_nan};

/// References, in file order.
#[derive(Debug, Clone)]
pub struct References {
    path: PathBuf,
    blake3: Fingerprint,
    /// By question, without white space around it.
    golds: HashMap<String, (usize, Gold)>,
    has_golds: bool,
    /// Question (empty where there is none) and answer of each element.
    answers: Vec<(String, Option<Arc<str>>)>,
    /// What is odd but usable.
    pub warnings: Vec<InputFault>,
}

/// Reads a file of references (`docs/formats.md`): the form of predictions.
///
/// What stands under `answer`, `gold_ctxs`, `gold_ctx`, `qa_pairs` and `annotations` is gold. Of several elements with one
/// `input` equal golds count once; their gold documents are put together, for one claim may be told by several papers.
/// An `output` is a reference answer; elements without a question can then be joined by their place.
///
/// # Errors
/// [`Error::Input`] where two golds of one `input` differ, naming both lines, where a gold has no question, and for
/// every other fault of the file.
pub fn load_references(path: &Path) -> Result<References> {
    let (text, blake3) = read_text(path)?;
    let (json, nan_line) = without_bare_nan(&text);
    let items = read_predictions(&elements(&json, path)?, path)?;
    let warnings = nan_warning(path, nan_line).into_iter().collect();
    let has_golds = items.iter().any(|item| has_gold(&item.gold));
    let has_answers = items.iter().any(|item| item.output.is_some());
    let answers = items.iter().map(|item| (question(&item.input).to_owned(), item.output.as_deref().map(Arc::from)));
    let answers = answers.collect();
    let golds = if has_golds || !has_answers { golds_by_question(items, path)? } else { HashMap::new() };
    Ok(References { path: path.to_path_buf(), blake3, golds, has_golds, answers, warnings })
}

/// What questions are compared by.
fn question(input: &str) -> &str {
    input.trim()
}

fn has_gold(gold: &Gold) -> bool {
    *gold != Gold::default()
}

fn golds_by_question(items: Vec<Prediction>, path: &Path) -> Result<HashMap<String, (usize, Gold)>> {
    let mut golds: HashMap<String, (usize, Gold)> = HashMap::new();
    let mut faults = Vec::new();
    // An answer without a gold says nothing of what is gold.
    for item in items.into_iter().filter(|item| item.output.is_none() || has_gold(&item.gold)) {
        if question(&item.input).is_empty() {
            faults.push(no_question(&item, path));
            continue;
        }
        match golds.get_mut(question(&item.input)) {
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
                golds.insert(question(&item.input).to_owned(), (item.line, item.gold));
            }
        }
    }
    if faults.is_empty() { Ok(golds) } else { Err(Error::Input(faults)) }
}

/// Equal in everything but the gold documents.
fn same_answers(one: &Gold, other: &Gold) -> bool {
    one.answer == other.answer
        && one.gold_ctxs == other.gold_ctxs
        && one.short_answers == other.short_answers
        && one.long_answers == other.long_answers
}

impl References {
    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// blake3 of the file's bytes.
    pub fn blake3(&self) -> Fingerprint {
        self.blake3
    }

    /// How many questions have a gold.
    pub fn len(&self) -> usize {
        self.golds.len()
    }

    /// True without any gold by question.
    pub fn is_empty(&self) -> bool {
        self.golds.is_empty()
    }

    /// True if any element holds something that outputs are compared with.
    pub fn has_golds(&self) -> bool {
        self.has_golds
    }

    /// True if any element has an `output`: an answer that aspects are judged beside.
    pub fn has_answers(&self) -> bool {
        self.answers.iter().any(|(_, answer)| answer.is_some())
    }

    /// The gold of a question.
    pub fn gold(&self, input: &str) -> Option<&Gold> {
        self.golds.get(question(input)).map(|(_, gold)| gold)
    }

    /// Gives every prediction the gold of its question, in place of its own. Gives a warning for each file with
    /// questions that have none; their predictions keep what they have. Of references without any gold nothing is
    /// joined, and [`Self::no_golds`] tells it once.
    pub fn join(&self, predictions: &mut Predictions) -> Option<InputFault> {
        if !self.has_golds {
            return None;
        }
        let mut without: Vec<String> = Vec::new();
        for item in &mut predictions.items {
            match self.gold(&item.input) {
                Some(gold) => item.gold = gold.clone(),
                None => without.push(item.id.clone()),
            }
        }
        self.without_gold(&predictions.path, &without)
    }

    /// The warning about these items of a file; `None` if there are none.
    pub(super) fn without_gold(&self, path: &Path, ids: &[String]) -> Option<InputFault> {
        (!ids.is_empty()).then(|| {
            let shown = list(ids.iter().map(String::as_str), 5);
            let what = format!("{} predictions without a gold in {}: {shown}", ids.len(), self.path.display());
            InputFault::new(path, what).hint("golds are joined by equal input")
        })
    }

    /// The warning that nothing in the file is gold, so that outputs are compared with nothing of it; `None` where
    /// something is.
    pub fn no_golds(&self) -> Option<InputFault> {
        (!self.has_golds).then(|| {
            let holds = if self.has_answers() { "it holds reference answers (output) alone" } else { "it holds none" };
            InputFault::new(&self.path, format!("no golds in the file: {holds}"))
                .hint("golds stand under answer, qa_pairs, annotations, gold_ctxs or gold_ctx; own ones stay")
        })
    }

    /// The reference answers of a system's items, in their order.
    ///
    /// They are joined by `input` where every input is present and there once in both files, and any of them is in
    /// both; else by place.
    ///
    /// # Errors
    /// Where they are joined by place and are not as many.
    pub fn answers_for(&self, inputs: &[&str], path: &Path) -> Result<JoinedAnswers> {
        let here = inputs.iter().map(|input| question(input));
        // Nothing in common: the questions are worded otherwise, and no answer would find its reference.
        let known: HashSet<&str> = self.answers.iter().map(|(question, _)| question.as_str()).collect();
        let any_common = inputs.iter().any(|input| known.contains(question(input)));
        if any_common && self.questions_are_distinct() && are_distinct(here) {
            return Ok(JoinedAnswers { answers: self.answers_by_question(inputs), by: JoinedBy::Input });
        }
        if inputs.len() != self.answers.len() {
            let what = format!(
                "{} answers, but {} references in {}; they are joined by place, as not every input is there once",
                inputs.len(),
                self.answers.len(),
                self.path.display()
            );
            let hint = "give each question an input of its own in both files, or as many elements in the same order";
            return Err(InputFault::new(path, what).hint(hint).into());
        }
        let answers = self.answers.iter().map(|(_, answer)| answer.clone()).collect();
        Ok(JoinedAnswers { answers, by: JoinedBy::Place })
    }

    /// True if every element has a question of its own.
    pub(super) fn questions_are_distinct(&self) -> bool {
        are_distinct(self.answers.iter().map(|(question, _)| question.as_str()))
    }

    /// The reference answers to these questions; of several to one question the first.
    pub(super) fn answers_by_question(&self, inputs: &[&str]) -> Vec<Option<Arc<str>>> {
        let mut known: HashMap<&str, &Option<Arc<str>>> = HashMap::new();
        for (question, answer) in &self.answers {
            known.entry(question).or_insert(answer);
        }
        inputs.iter().map(|input| known.get(question(input)).and_then(|answer| (*answer).clone())).collect()
    }
}

/// True if none is empty and none is there twice.
fn are_distinct<'a>(questions: impl Iterator<Item = &'a str>) -> bool {
    let mut seen = HashSet::new();
    questions.into_iter().all(|question| !question.is_empty() && seen.insert(question))
}

/// How reference answers found their items.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JoinedBy {
    /// By equal questions.
    Input,
    /// By their place in the file.
    Place,
}

/// The reference answers of the items of one system.
#[derive(Debug, Clone, PartialEq)]
pub struct JoinedAnswers {
    /// One an item, in the items' order; `None` where there is none.
    pub answers: Vec<Option<Arc<str>>>,
    /// How they were joined.
    pub by: JoinedBy,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataset::parse_predictions;

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
        let references = load("{\"input\": \"q \", \"answer\": \"gold\"}").unwrap();
        let text = "{\"input\": \"q\", \"output\": \"o\", \"answer\": \"own\"}\n{\"input\": \"r\", \"output\": \"o\"}";
        let mut predictions = parse_predictions(text, "s".into(), Path::new("s.jsonl")).unwrap();
        let warning = references.join(&mut predictions).unwrap().to_string();
        assert!(
            warning.starts_with("s.jsonl: 1 predictions without a gold in ") && warning.contains(": 2;"),
            "{warning}"
        );
        assert_eq!(predictions.items[0].gold.answer.as_deref(), Some("gold"));
    }

    #[test]
    fn a_file_of_reference_answers_alone_says_that_it_holds_no_golds_and_blames_no_input() {
        let references = load("{\"input\": \"q\", \"output\": \"Q\"}").unwrap();
        let text = "{\"input\": \"q\", \"output\": \"o\", \"answer\": \"own\"}";
        let mut predictions = parse_predictions(text, "s".into(), Path::new("s.jsonl")).unwrap();
        assert_eq!(references.join(&mut predictions), None);
        assert_eq!(predictions.items[0].gold.answer.as_deref(), Some("own"));
        let told = references.no_golds().unwrap().to_string();
        assert!(
            told.contains("r.jsonl: no golds in the file: it holds reference answers (output) alone; golds"),
            "{told}"
        );
        assert!(load("{\"input\": \"q\", \"answer\": \"a\"}").unwrap().no_golds().is_none());
    }

    fn joined(references: &References, inputs: &[&str]) -> (Vec<Option<String>>, JoinedBy) {
        let joined = references.answers_for(inputs, Path::new("s.jsonl")).unwrap();
        (joined.answers.into_iter().map(|answer| answer.map(|text| text.to_string())).collect(), joined.by)
    }

    #[test]
    fn reference_answers_are_joined_by_input_where_every_input_is_there_once() {
        let references = load("{\"input\": \"q\", \"output\": \"Q\"}\n{\"query\": \" r\", \"output\": \"R\"}").unwrap();
        assert!(references.has_answers() && !references.has_golds() && references.is_empty());
        let expected = vec![Some("R".to_owned()), None, Some("Q".to_owned())];
        assert_eq!(joined(&references, &["r", "x", "q"]), (expected, JoinedBy::Input));
    }

    #[test]
    fn reference_answers_are_joined_by_place_else_and_must_be_as_many() {
        let references = load("{\"output\": \"Q\"}\n{\"input\": \"r\", \"output\": \"R\"}").unwrap();
        let by_place = (vec![Some("Q".to_owned()), Some("R".to_owned())], JoinedBy::Place);
        assert_eq!(joined(&references, &["r", "q"]), by_place);
        let twice = load("{\"input\": \"q\", \"output\": \"Q\"}\n{\"input\": \"r\", \"output\": \"R\"}").unwrap();
        assert_eq!(joined(&twice, &["r", "r"]), by_place);
        let error = twice.answers_for(&["r", "r", "r"], Path::new("s.jsonl")).unwrap_err().to_string();
        assert!(error.starts_with("s.jsonl: 3 answers, but 2 references in "), "{error}");
    }

    #[test]
    fn one_file_may_hold_answers_and_golds_and_a_gold_needs_a_question() {
        let both = load("{\"input\": \"q\", \"output\": \"Q\", \"answer\": \"a\"}").unwrap();
        assert!(both.has_answers() && both.has_golds());
        assert_eq!(both.gold(" q").and_then(|gold| gold.answer.as_deref()), Some("a"));
        let error = load("{\"id\": \"x\", \"output\": \"Q\", \"answer\": \"a\"}").unwrap_err().to_string();
        assert!(
            error.ends_with("r.jsonl:1 (case x): neither input nor query; give each element the question as input")
        );
    }
}
