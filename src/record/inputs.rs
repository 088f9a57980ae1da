//! `inputs.jsonl`: the cases and answers as they were scored.
//!
//! Cases and answers are written once each, in the order of scoring, and read back into the same
//! items, so that a run can be scored again without the files it was made of.

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::lines::LineReader;
use super::manifest::Manifest;
use super::writer::write_line;
use crate::analysis::comparison::RunLooks;
use crate::dataset::with_text;
use crate::domain::{CaseId, FieldInFile, Item, SubjectKind, SystemName, TestCase};
use crate::error::{Error, Result};
use crate::files::write_whole;

/// A line of the file: a case (before its answers), an answer, or the two lists of answers (last).
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum InputLine<C, A> {
    Case(C),
    Answer(A),
    Lists {
        rubric: Vec<usize>,
        plain: Vec<usize>,
        /// The answers of each pair, in the order in which a judge sees them.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pairs: Vec<[usize; 2]>,
    },
}

/// The cases and answers of a run.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Inputs {
    /// What the run scores.
    subject: SubjectKind,
    /// The cases, answered or not, each once.
    pub cases: Vec<Arc<TestCase>>,
    /// The answers, each once.
    pub items: Vec<Item>,
    /// Indices into `items` of the answers for the rubric scorer, in the order of the run.
    rubric: Vec<usize>,
    /// Indices into `items` of the answers for the other scorers, in the order of the run.
    plain: Vec<usize>,
    /// Indices into `items` of the answers of each pair, in the order in which a judge sees them.
    pairs: Vec<[usize; 2]>,
}

impl Inputs {
    /// These answers for all scorers; for the rubric scorer, only those whose case has a rubric or criteria.
    pub fn new(items: Vec<Item>) -> Self {
        let rubric = (0..items.len())
            .filter(|index| items[*index].case.has_rubric())
            .collect();
        let plain = (0..items.len()).collect();
        Self {
            cases: cases_of(&items),
            items,
            rubric,
            plain,
            ..Self::default()
        }
    }

    /// The answers of these pairs, each once.
    pub fn of_pairs(pairs: &[Item]) -> Self {
        let mut items: Vec<Item> = Vec::new();
        let mut index_of: HashMap<(&SystemName, &CaseId), usize> = HashMap::new();
        let mut index_pairs = Vec::with_capacity(pairs.len());
        for pair in pairs {
            let Some(other) = &pair.other else {
                continue;
            };
            let places = [&pair.answer, &**other].map(|answer| {
                let key = (&answer.system, &pair.case.case_id);
                *index_of.entry(key).or_insert_with(|| {
                    items.push(Item::new(Arc::clone(&pair.case), answer.clone()));
                    items.len() - 1
                })
            });
            index_pairs.push(places);
        }
        Self {
            subject: SubjectKind::Pair,
            cases: cases_of(&items),
            items,
            pairs: index_pairs,
            ..Self::default()
        }
    }

    /// The answers for the rubric scorer and those for the other scorers. If both lists have an answer of a system to a
    /// case, that of the first list is used.
    pub fn of_lists(rubric: &[Item], plain: &[Item]) -> Self {
        let mut items: Vec<Item> = rubric.to_vec();
        let mut index_of: HashMap<(&SystemName, &CaseId), usize> = HashMap::new();
        for (index, item) in rubric.iter().enumerate() {
            index_of.insert((&item.answer.system, &item.case.case_id), index);
        }
        let mut plain_indices = Vec::with_capacity(plain.len());
        for item in plain {
            let key = (&item.answer.system, &item.case.case_id);
            // Most answers are in both lists: writing them once halves the file.
            let index = index_of.get(&key).copied().unwrap_or(items.len());
            if index == items.len() {
                items.push(item.clone());
            }
            plain_indices.push(index);
        }
        Self {
            cases: cases_of(&items),
            items,
            rubric: (0..rubric.len()).collect(),
            plain: plain_indices,
            ..Self::default()
        }
    }

    /// The answers for the rubric scorer, in the order of the run.
    pub fn rubric(&self) -> impl Iterator<Item = &Item> {
        let rubric = self.rubric.iter();
        rubric.filter_map(|index| self.items.get(*index))
    }

    /// The answers for the other scorers, in the order of the run.
    pub fn plain(&self) -> impl Iterator<Item = &Item> {
        self.plain.iter().filter_map(|index| self.items.get(*index))
    }

    /// Keeps what was asked of a run that ended at a look.
    pub fn keep_asked(&mut self, looks: &RunLooks) {
        let is_kept =
            |item: &Item| looks.has_asked(item.system().as_str(), item.case.case_id.as_str());
        let [rubric, plain] = [true, false].map(|needs_rubric| {
            let mut items = self.of_scorer(needs_rubric);
            items.retain(is_kept);
            items
        });
        *self = match self.subject {
            SubjectKind::Answer => Self::of_lists(&rubric, &plain),
            SubjectKind::Pair => Self::of_pairs(&plain),
        };
    }

    /// The pairs, in the order of the run.
    fn pairs(&self) -> Vec<Item> {
        let mut pairs = Vec::with_capacity(self.pairs.len());
        for [first, second] in &self.pairs {
            if let (Some(first), Some(second)) = (self.items.get(*first), self.items.get(*second)) {
                let [first_answer, second_answer] = [first, second].map(|item| item.answer.clone());
                pairs.push(Item::pair(
                    Arc::clone(&first.case),
                    first_answer,
                    second_answer,
                ));
            }
        }
        pairs
    }

    /// What this scorer scores, in the order of the run.
    pub fn of_scorer(&self, needs_rubric: bool) -> Vec<Item> {
        match self.subject {
            SubjectKind::Answer if needs_rubric => self.rubric().cloned().collect(),
            SubjectKind::Answer => self.plain().cloned().collect(),
            SubjectKind::Pair => self.pairs(),
        }
    }

    /// Writes the file atomically.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn write(&self, path: &Path) -> Result<()> {
        write_whole(path, |out| {
            let mut write = |line: InputLine<&TestCase, &Item>| {
                write_line(out, &line).map_err(Error::io(path, "write"))
            };
            for case in &self.cases {
                write(InputLine::Case(case))?;
            }
            for item in &self.items {
                // One text in memory at a time: those of large files were left there.
                write(InputLine::Answer(&with_text(item)?))?;
            }
            write(InputLine::Lists {
                rubric: self.rubric.clone(),
                plain: self.plain.clone(),
                pairs: self.pairs.clone(),
            })
        })
    }

    /// Reads the inputs of the run in `dir`; `None` if it was made with `--no-inputs`. Texts of answers stay in the file
    /// until [`with_text`] reads them.
    ///
    /// # Errors
    /// When the file is not as the finished run left it, a line is broken, or an answer has no case.
    pub fn load(dir: &Path, manifest: &Manifest) -> Result<Option<Self>> {
        let Some(mut lines) = LineReader::of_run(dir, "inputs.jsonl", manifest)? else {
            return Ok(None);
        };
        let mut inputs = Self {
            subject: manifest.subject,
            ..Self::default()
        };
        let mut cases: HashMap<CaseId, Arc<TestCase>> = HashMap::new();
        let field = Arc::new(FieldInFile {
            path: dir.join("inputs.jsonl"),
            name: "answer_text".to_owned(),
        });
        while let Some((position, line)) = lines.read::<InputLine<TestCase, Item>>()? {
            match line {
                InputLine::Case(case) => {
                    let case: Arc<TestCase> = Arc::new(case);
                    cases.insert(case.case_id.clone(), Arc::clone(&case));
                    inputs.cases.push(case);
                }
                InputLine::Answer(Item {
                    mut answer, layout, ..
                }) => {
                    let case = cases.get(&answer.case_id).ok_or_else(|| {
                        lines
                            .fault("an answer precedes its case".into())
                            .of_case(answer.case_id.as_str())
                    })?;
                    answer.case_id = case.case_id.clone();
                    // The output of the prediction is left in the file with the text, so both must be equal.
                    let prediction = answer.prediction.as_ref();
                    let output = prediction.and_then(|prediction| prediction.output.as_deref());
                    if output == Some(answer.own_text()) {
                        answer.leave_text(&field, position.offset, position.length);
                    }
                    let item = Item::new(Arc::clone(case), answer);
                    inputs.items.push(item.laid_out(layout));
                }
                InputLine::Lists {
                    rubric,
                    plain,
                    pairs,
                } => {
                    inputs.rubric = rubric;
                    inputs.plain = plain;
                    inputs.pairs = pairs;
                }
            }
        }
        Ok(Some(inputs))
    }
}

/// The cases of these answers, each once, in the order of their first answer.
fn cases_of(items: &[Item]) -> Vec<Arc<TestCase>> {
    let mut seen = HashSet::new();
    items
        .iter()
        .filter(|item| seen.insert(&item.case.case_id))
        .map(|item| Arc::clone(&item.case))
        .collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::domain::{Answer, Criterion, Gold, Prediction, Rubric, Source, SourceWork};

    /// The inputs of an unfinished run.
    fn read(dir: &Path) -> Inputs {
        let inputs = Inputs::load(dir, &Manifest::default())
            .expect("read")
            .expect("there");
        Inputs {
            items: inputs
                .items
                .iter()
                .map(|item| with_text(item).expect("a text"))
                .collect(),
            ..inputs
        }
    }

    #[test]
    fn a_text_that_is_the_output_of_its_prediction_stays_in_the_file() {
        let case = case(0);
        let prediction = Prediction {
            output: Some("own".into()),
            ..Prediction::default()
        };
        let answer = Answer::new("s".into(), case.case_id.clone(), "own\nReferences:\n");
        let answer = Answer {
            own_bytes: Some(3),
            prediction: Some(Arc::new(prediction)),
            ..answer
        };
        let items = vec![Item::new(case, answer)];
        let dir = tempfile::tempdir().expect("a directory");
        Inputs::new(items.clone())
            .write(&dir.path().join("inputs.jsonl"))
            .expect("written");
        let read_lazily = Inputs::load(dir.path(), &Manifest::default())
            .expect("read")
            .expect("there");
        assert_eq!(&*read_lazily.items[0].answer.answer_text, "");
        assert_eq!(read(dir.path()).items, items);
    }

    #[test]
    fn inputs_survive_their_file() {
        let case = Arc::new(TestCase {
            criteria: Vec::new(),
            reference: None,
            shown: Default::default(),
            group: None,
            case_id: "c1".into(),
            initial_prompt: "why?".into(),
            annotator: "A".into(),
            agreement: true,
            rubric: Rubric {
                question: "why?".into(),
                criteria: vec![Criterion {
                    name: "p".into(),
                    criterion: "say why".into(),
                    weight: 0.1 + 0.5,
                    snippets: Arc::from(vec!["because\n\u{2028}".to_owned()]),
                }],
                ..Rubric::default()
            },
        });
        let item = |system: &str| {
            let answer = Answer {
                line: 3,
                ..Answer::new(system.into(), "c1".into(), "so \u{0} \"it\" is")
            };
            Item::new(Arc::clone(&case), answer)
        };
        let items = vec![item("a"), item("b")];
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("inputs.jsonl");
        Inputs::new(items.clone()).write(&path).expect("written");
        assert_eq!(read(dir.path()).items, items);
        assert_eq!(
            std::fs::read_to_string(&path)
                .expect("text")
                .lines()
                .count(),
            4,
            "one case, two answers, the lists"
        );
    }

    /// The case `c<number>`; even ones have a rubric.
    fn case(number: usize) -> Arc<TestCase> {
        let mut case = TestCase::without_rubric(format!("c{number}").into(), "why?");
        if number.is_multiple_of(2) {
            case.rubric.length_weight = 1.0;
        }
        Arc::new(case)
    }

    fn text() -> impl Strategy<Value = String> {
        "([a-z\\[\\]0-9 \\n\"]|\\PC){0,12}"
    }

    fn source() -> impl Strategy<Value = Source> {
        let some = || prop::option::of(text());
        (some(), some(), any::<bool>(), some()).prop_map(|(title, text, text_is_nan, key)| {
            let work = text.clone().map(|name| SourceWork {
                authors: vec![name],
                year: Some(2020),
                url: key.clone(),
                id: key.clone(),
            });
            Source {
                title,
                text,
                text_is_nan,
                key,
                work: work.map(Box::new),
            }
        })
    }

    fn gold() -> impl Strategy<Value = Gold> {
        let texts = || prop::collection::vec(text(), 0..3);
        let sets = prop::collection::vec(prop::collection::vec(text(), 0..2), 0..2);
        (
            prop::option::of(text()),
            prop::option::of(texts()),
            texts(),
            sets,
            texts(),
        )
            .prop_map(
                |(answer, gold_ctxs, gold_texts, short_answers, long_answers)| Gold {
                    answer,
                    gold_ctxs,
                    gold_texts,
                    short_answers,
                    long_answers,
                },
            )
    }

    fn prediction() -> impl Strategy<Value = Prediction> {
        let ids = (
            prop_oneof![Just("c0".to_owned()), text()],
            prop_oneof![Just("why?".to_owned()), text()],
        );
        let output = prop::option::of(prop_oneof![Just("own".to_owned()), text()]);
        let mapping = prop::option::of(prop::collection::btree_map(text(), text(), 0..3));
        let sources = prop::collection::vec(source(), 0..3);
        (
            ids,
            output,
            sources,
            prop::option::of(text()),
            mapping,
            gold(),
            0..3_usize,
        )
            .prop_map(
                |((id, input), output, sources, final_passages, id_mapping, gold, line)| {
                    Prediction {
                        id,
                        input,
                        output: output.map(Into::into),
                        replaced_ctxs: (line > 0).then_some(sources.len() + 1),
                        sources,
                        final_passages,
                        id_mapping,
                        gold,
                        line,
                    }
                },
            )
    }

    fn items() -> impl Strategy<Value = Vec<Item>> {
        let reference = || prop::option::of(text());
        let item_parts = (
            0..4_usize,
            0..3_usize,
            any::<bool>(),
            prop::option::of(prediction()),
            reference(),
        );
        prop::collection::vec(item_parts, 0..8).prop_map(|parts| {
            let mut seen = std::collections::HashSet::new();
            let once = parts
                .into_iter()
                .filter(|(number, system, ..)| seen.insert((*number, *system)));
            once.map(|(number, system, block, prediction, reference)| {
                let case = case(number);
                let answer = Answer {
                    own_bytes: block.then_some(3),
                    prediction: prediction.map(Arc::new),
                    reference_answer: reference.map(Arc::from),
                    line: 1,
                    ..Answer::new(
                        format!("s{system}").into(),
                        case.case_id.clone(),
                        "own\nReferences:\n",
                    )
                };
                Item::new(case, answer)
            })
            .collect()
        })
    }

    proptest! {
        #[test]
        fn every_item_survives_its_file(items in items()) {
            let dir = tempfile::tempdir().expect("a directory");
            let path = dir.path().join("inputs.jsonl");
            Inputs::new(items.clone()).write(&path).expect("written");
            prop_assert_eq!(read(dir.path()).items, items);
        }
        #[test]
        fn both_lists_survive_with_their_order_and_every_answer_is_written_once(
            items in items(), in_plain in prop::collection::vec(any::<bool>(), 8), turn in 0..8_usize
        ) {
            let rubric: Vec<Item> = items.iter().filter(|item| !item.case.rubric.is_none()).cloned().collect();
            let is_left = |item: &Item| !rubric.contains(item);
            let mut plain: Vec<Item> =
                items.iter().zip(in_plain).filter(|(item, kept)| *kept || is_left(item)).map(|(item, _)| item.clone()).collect();
            let middle = turn.min(plain.len());
            plain.rotate_left(middle);
            let inputs = Inputs::of_lists(&rubric, &plain);
            let dir = tempfile::tempdir().expect("a directory");
            let path = dir.path().join("inputs.jsonl");
            inputs.write(&path).expect("written");
            let from_file = read(dir.path());
            prop_assert_eq!(from_file.rubric().cloned().collect::<Vec<_>>(), rubric);
            prop_assert_eq!(from_file.plain().cloned().collect::<Vec<_>>(), plain);
            let lines = std::fs::read_to_string(&path).expect("text");
            let answers = lines.lines().filter(|line| line.contains("\"type\":\"answer\"")).count();
            prop_assert_eq!(answers, items.len());
            let cases: std::collections::HashSet<_> = items.iter().map(|item| item.case.case_id.clone()).collect();
            prop_assert_eq!(lines.lines().count(), answers + cases.len() + 1);
        }
    }
}
