//! References from a separate file: gold answers for overlap, and answers that illustrate an aspect's best grade. One
//! file may contain both.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use scholareval_core::domain::{Fingerprint, Gold, Prediction};
use scholareval_core::error::{InputFault, Result};
use scholareval_core::files::read_text;
use scholareval_core::text::names::{counted, list, start_of};

use super::SystemAnswers;
use super::predictions::{
    empty_golds, empty_golds_note, nan_warning, no_question, read_predictions,
};
use super::reader::{all, elements, is_csv, rows_as_jsonl, without_bare_nan};

/// References, in file order.
#[derive(Debug, Clone)]
pub struct References {
    /// The file.
    pub path: PathBuf,
    /// blake3 of the file's bytes.
    pub blake3: Fingerprint,
    /// Warnings.
    pub warnings: Vec<InputFault>,
    /// A note on empty cells, which do not count as references.
    pub(super) note: Option<String>,
    /// By trimmed question.
    golds: HashMap<String, (usize, Gold)>,
    /// Question (empty if missing) and answer of each element.
    answers: Vec<(String, Option<Arc<str>>)>,
}

/// Reads a file of references (`docs/formats.md`) in the form of predictions, as JSON or CSV.
///
/// The fields `answer`, `gold_ctxs`, `gold_ctx`, `qa_pairs` and `annotations` are gold. If several elements share an
/// `input`, equal gold answers count once and gold documents are combined, since several papers may support one claim.
/// An `output` is a reference answer; elements without a question can then be joined by position.
///
/// # Errors
/// [`Error::Input`](scholareval_core::Error::Input) if two gold answers of one `input` differ (naming both lines), if a gold answer has no question,
/// and for every other fault of the file.
pub fn load_references(path: &Path) -> Result<References> {
    let (text, blake3) = read_text(path)?;
    let text = rows_as_jsonl(&text, path)?;
    let (json, nan_line) = without_bare_nan(&text);
    let elements = elements(&json, path)?;
    let mut items = read_predictions(&elements, path)?;
    if is_csv(path) {
        for item in &mut items {
            item.output.take_if(|cell| cell.trim().is_empty());
        }
    }
    let note = empty_golds_note(empty_golds(&elements));
    let warnings = nan_warning(path, nan_line).into_iter().collect();
    let answers = items
        .iter()
        .map(|item| (item.input.trim().to_owned(), item.output.clone()))
        .collect();
    Ok(References {
        path: path.to_path_buf(),
        blake3,
        warnings,
        note: note.map(|note| InputFault::new(path, note).to_string()),
        golds: golds_by_question(items, path)?,
        answers,
    })
}

fn golds_by_question(
    items: Vec<Prediction>,
    path: &Path,
) -> Result<HashMap<String, (usize, Gold)>> {
    let mut golds: HashMap<String, (usize, Gold)> = HashMap::new();
    all(items
        .into_iter()
        .filter(|item| item.gold != Gold::default())
        .map(|item| {
            let question = item.input.trim();
            if question.is_empty() {
                return Err(no_question(&item, path).into());
            }
            let Some((first, gold)) = golds.get_mut(question) else {
                golds.insert(question.to_owned(), (item.line, item.gold));
                return Ok(());
            };
            // Documents are set aside for the comparison: they add up, everything else must be
            // equal.
            let gold_texts = std::mem::take(&mut gold.gold_texts);
            if *gold
                != (Gold {
                    gold_texts: Vec::new(),
                    ..item.gold.clone()
                })
            {
                let shown = start_of(question);
                let what = format!(
                    "different gold answers for the question \"{}\" of line {first}",
                    shown.escape_debug()
                );
                let fault = InputFault::new(path, what)
                    .at_line(item.line)
                    .of_case(item.id);
                return Err(fault.refuse("keep one of the two lines, or make them equal"));
            }
            gold.gold_texts = gold_texts;
            let new: Vec<String> = item
                .gold
                .gold_texts
                .into_iter()
                .filter(|text| !gold.gold_texts.contains(text))
                .collect();
            gold.gold_texts.extend(new);
            Ok(())
        }))?;
    Ok(golds)
}

impl References {
    /// Number of questions with gold answers.
    pub fn gold_count(&self) -> usize {
        self.golds.len()
    }

    fn has_answers(&self) -> bool {
        self.answers.iter().any(|(_, answer)| answer.is_some())
    }

    /// A warning if the file contains nothing to compare with.
    pub(super) fn nothing(&self) -> Option<InputFault> {
        (self.golds.is_empty() && !self.has_answers()).then(|| {
            InputFault::new(&self.path, "no reference in the file")
                .hint("give output for reference answers; answer, qa_pairs, annotations or gold_ctxs for gold answers")
        })
    }

    /// Adds gold answers and reference answers to a system's answers, and warnings to the system. The notes describe
    /// the join.
    ///
    /// # Errors
    /// If reference answers can be joined neither by question nor by position.
    pub(super) fn join(&self, system: &mut SystemAnswers) -> Result<Vec<String>> {
        let from = self.path.display();
        let mut notes = Vec::new();
        if !self.golds.is_empty() {
            let (mut with_gold, mut without) = (0, Vec::new());
            for prediction in system
                .answers
                .iter_mut()
                .filter_map(|answer| answer.prediction.as_mut())
            {
                match self.golds.get(prediction.input.trim()) {
                    Some((_, gold)) => {
                        with_gold += 1;
                        Arc::make_mut(prediction).gold = gold.clone();
                    }
                    None => without.push(prediction.id.clone()),
                }
            }
            let all = with_gold + without.len();
            notes.push(format!(
                "gold answers from {from} for {with_gold} of {all} answers, by input"
            ));
            if !without.is_empty() {
                let shown = list(without.iter().map(String::as_str), 5);
                let what = format!(
                    "{} without gold answers in {from}: {shown}",
                    counted(without.len(), "prediction")
                );
                let fault = InputFault::new(&system.path, what);
                system
                    .warnings
                    .push(fault.hint("gold answers are joined by equal input"));
            }
        }
        if self.has_answers() {
            let (answers, how) = self.answers_for(system)?;
            let (with_answer, all) = (answers.iter().flatten().count(), answers.len());
            notes.push(format!(
                "reference answers from {from} for {with_answer} of {all} answers, {how}"
            ));
            if with_answer < all {
                let what = format!(
                    "{} without a reference answer in {from}",
                    counted(all - with_answer, "answer")
                );
                system.warnings.push(
                    InputFault::new(&system.path, what)
                        .hint("their aspects are judged without one"),
                );
            }
            for (answer, reference) in system.answers.iter_mut().zip(answers) {
                answer.reference_answer = reference;
            }
        }
        Ok(notes
            .into_iter()
            .map(|note| InputFault::new(&system.path, note).to_string())
            .collect())
    }

    /// The reference answers for a system's answers, in their order, and how they were joined: by question if the
    /// references' questions are distinct and any of them occurs, else by position.
    fn answers_for(&self, system: &SystemAnswers) -> Result<(Vec<Option<Arc<str>>>, &'static str)> {
        let known: HashMap<&str, &Option<Arc<str>>> = self
            .answers
            .iter()
            .map(|(question, answer)| (question.as_str(), answer))
            .collect();
        // With repeated questions a join by question would give several answers the same reference.
        let are_distinct = known.len() == self.answers.len() && !known.contains_key("");
        let is_asked = system
            .answers
            .iter()
            .any(|answer| known.contains_key(answer.question()));
        if are_distinct && (is_asked || !system.by_question) {
            let of = |question: &str| known.get(question).and_then(|answer| (*answer).clone());
            return Ok((
                system
                    .answers
                    .iter()
                    .map(|answer| of(answer.question()))
                    .collect(),
                "by input",
            ));
        }
        // Equal counts are the only check that a join by position has; one line too few would shift
        // every reference.
        if system.answers.len() != self.answers.len() {
            let what = format!(
                "{} answers, but {} references in {}; they are joined by position, as not every reference has an input \
                 of its own that is asked",
                system.answers.len(),
                self.answers.len(),
                self.path.display()
            );
            let hint = "give each reference its own input, or as many references as answers in the same order";
            return Err(InputFault::new(&system.path, what).refuse(hint));
        }
        let how = "by position, because not every reference has its own input that is asked";
        Ok((
            self.answers
                .iter()
                .map(|(_, answer)| answer.clone())
                .collect(),
            how,
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse_answers;
    use scholareval_core::domain::Mode;

    fn load(text: &str) -> Result<References> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("r.jsonl");
        std::fs::write(&path, text).unwrap();
        load_references(&path)
    }

    #[test]
    fn equal_golds_of_one_question_merge_and_unequal_ones_are_an_error_naming_both_lines() {
        let line = |answer: &str| format!("{{\"input\": \"q\", \"answer\": \"{answer}\"}}\n");
        assert_eq!(load(&(line("a") + &line("a"))).unwrap().gold_count(), 1);
        let error = load(&(line("a") + &line("a") + &line("b")))
            .unwrap_err()
            .to_string();
        assert!(
            error.contains(
                "r.jsonl:3 (case 3): different gold answers for the question \"q\" of line 1; keep"
            ),
            "{error}"
        );
    }

    #[test]
    fn gold_documents_of_one_question_are_put_together() {
        let line = |text: &str| {
            format!(
                "{{\"input\": \"q\", \"answer\": \"a\", \"gold_ctx\": [{{\"text\": \"{text}\"}}]}}\n"
            )
        };
        let references = load(&(line("one") + &line("two") + &line("one"))).unwrap();
        assert_eq!(references.golds["q"].1.gold_texts, ["one", "two"]);
    }

    #[test]
    fn golds_are_joined_by_question_and_the_rest_is_reported() {
        let references = load("{\"input\": \"q \", \"answer\": \"gold\"}").unwrap();
        let text = "{\"input\": \"q\", \"output\": \"o\", \"answer\": \"own\"}\n{\"input\": \"r\", \"output\": \"o\"}";
        let mut system =
            parse_answers(text, "s".into(), Path::new("s.jsonl"), Mode::Default).unwrap();
        let notes = references.join(&mut system).unwrap();
        assert!(
            notes[0].ends_with("for 1 of 2 answers, by input"),
            "{notes:?}"
        );
        let warning = system.warnings[0].to_string();
        assert!(
            warning.starts_with("s.jsonl: 1 prediction without gold answers in ")
                && warning.contains(": 2;"),
            "{warning}"
        );
        assert_eq!(
            system.answers[0]
                .prediction
                .as_ref()
                .unwrap()
                .gold
                .answer
                .as_deref(),
            Some("gold")
        );
    }

    #[test]
    fn a_file_of_reference_answers_alone_leaves_gold_answers_as_they_are() {
        let references = load("{\"input\": \"q\", \"output\": \"Q\"}").unwrap();
        let text = "{\"input\": \"q\", \"output\": \"o\", \"answer\": \"own\"}";
        let mut system =
            parse_answers(text, "s".into(), Path::new("s.jsonl"), Mode::Default).unwrap();
        references.join(&mut system).unwrap();
        assert_eq!(system.warnings, []);
        assert_eq!(
            system.answers[0]
                .prediction
                .as_ref()
                .unwrap()
                .gold
                .answer
                .as_deref(),
            Some("own")
        );
    }

    /// The reference answers of predictions with these questions, and how they were joined.
    fn joined(
        references: &References,
        inputs: &[&str],
    ) -> Result<(Vec<Option<String>>, &'static str)> {
        let line = |input: &&str| format!("{{\"input\": \"{input}\", \"output\": \"o\"}}\n");
        let text: String = inputs.iter().map(line).collect();
        let system = parse_answers(&text, "s".into(), Path::new("s.jsonl"), Mode::Default)?;
        let (answers, how) = references.answers_for(&system)?;
        Ok((
            answers
                .into_iter()
                .map(|answer| answer.map(|text| text.to_string()))
                .collect(),
            how,
        ))
    }

    #[test]
    fn reference_answers_are_joined_by_input_where_each_has_its_own() {
        let references =
            load("{\"input\": \"q\", \"output\": \"Q\"}\n{\"query\": \" r\", \"output\": \"R\"}")
                .unwrap();
        assert!(references.has_answers() && references.gold_count() == 0);
        let expected = vec![Some("R".to_owned()), None, Some("Q".to_owned())];
        assert_eq!(
            joined(&references, &["r", "x", "q"]).unwrap(),
            (expected, "by input")
        );
        let again = vec![Some("R".to_owned()); 2];
        assert_eq!(
            joined(&references, &["r", "r"]).unwrap(),
            (again, "by input")
        );
    }

    #[test]
    fn reference_answers_are_joined_by_position_else_and_must_be_as_many() {
        let references =
            load("{\"output\": \"Q\"}\n{\"input\": \"r\", \"output\": \"R\"}").unwrap();
        let (answers, how) = joined(&references, &["r", "q"]).unwrap();
        assert_eq!(answers, [Some("Q".to_owned()), Some("R".to_owned())]);
        assert!(how.starts_with("by position"), "{how}");
        let twice =
            load("{\"input\": \"r\", \"output\": \"Q\"}\n{\"input\": \"r\", \"output\": \"R\"}")
                .unwrap();
        assert_eq!(joined(&twice, &["r", "r"]).unwrap().0, answers);
        let error = joined(&twice, &["r", "r", "r"]).unwrap_err().to_string();
        assert!(
            error.starts_with("s.jsonl: 3 answers, but 2 references in "),
            "{error}"
        );
    }

    #[test]
    fn one_file_may_hold_answers_and_golds_and_a_gold_needs_a_question() {
        let both = load("{\"input\": \"q\", \"output\": \"Q\", \"answer\": \"a\"}").unwrap();
        assert!(both.has_answers() && both.gold_count() == 1);
        assert_eq!(both.golds["q"].1.answer.as_deref(), Some("a"));
        let error = load("{\"id\": \"x\", \"output\": \"Q\", \"answer\": \"a\"}")
            .unwrap_err()
            .to_string();
        assert!(error.ends_with(
            "r.jsonl:1 (case x): neither input nor query; give each element the question as input"
        ));
    }

    #[test]
    fn an_empty_cell_of_a_table_is_no_gold_and_an_empty_text_in_json_is_one() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("r.csv");
        std::fs::write(&path, "input,answer,output\nq,a,\nr,,R\ns, ,\n").unwrap();
        let references = load_references(&path).unwrap();
        assert_eq!(references.gold_count(), 1);
        assert!(
            references
                .note
                .as_ref()
                .unwrap()
                .ends_with("r.csv: 2 empty cells of answer in CSV: no gold answer there")
        );
        let answers = references
            .answers
            .iter()
            .map(|(_, answer)| answer.as_deref());
        assert_eq!(answers.collect::<Vec<_>>(), [None, Some("R"), None]);
        let json = load("{\"input\": \"q\", \"answer\": \"\"}").unwrap();
        assert_eq!((json.gold_count(), json.note), (1, None));
        let path = dir.path().join("s.csv");
        std::fs::write(&path, "input,output,answer\nq,o,\nr,o,a\n").unwrap();
        let (systems, notes) = crate::AnswerOptions::default().load(&[path]).unwrap();
        let golds = systems[0]
            .answers
            .iter()
            .map(|answer| answer.prediction.as_ref().unwrap().gold.answer.as_deref());
        assert_eq!(golds.collect::<Vec<_>>(), [None, Some("a")]);
        assert_eq!(
            notes,
            ["1 empty cell of answer in CSV: no gold answer there"]
        );
    }
}
