//! Reads systems' outputs: answers `{case_id, answer_text, references_from?}` or predictions, one file per system.
//!
//! The way of a file: text (of a log or a table made into lines of JSON), its elements, the fields
//! they mean (`fields`), one answer per element; then reasoning is removed, reports are read, and
//! the texts of large files are left where they are.

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rayon::prelude::*;
use serde::Deserialize;
use serde_json::{Value, json};

use scholareval_core::domain::repeated_keys::{TWO_VALUES_NAME, has_two_values};
use scholareval_core::domain::{
    Answer, CaseId, FieldInFile, Fingerprint, Item, Mode, Prediction, Report, ReportFault, Source,
    SystemName, TestCase, is_error_text,
};
use scholareval_core::error::{Error, InputFault, Result};
use scholareval_core::text::names::{counted, list};
use scholareval_core::text::thinking::{may_begin_with_thinking, thinking_bytes};

use super::fields::{FieldReading, Record, value_at};
use super::files::{FileKind, SystemFile, system_files};
use super::inspect_log::read_input;
use super::predictions::{
    Sources, empty_golds, empty_golds_note, nan_warning, read_predictions, with_questions,
};
use super::reader::{
    Id, JsonLine, all, elements, expected, is_csv, rows_as_jsonl, without_bare_nan,
};
use super::traces::trace;

/// From this size on, in bytes, the texts of answers are left in their file.
const LARGE_FILE: usize = 256 << 10;

/// Maximum number of systems to list in a note.
const SHOWN: usize = 5;

const EXAMPLE: &str = "{\"case_id\": .., \"answer_text\": ..}";

/// Start of an appended block of references in `answer_text`, in Unicode characters.
const REFERENCES_FROM: &str = "references_from";

/// The answers of one system, in file order.
#[derive(Debug, Clone, PartialEq)]
pub struct SystemAnswers {
    /// The system: the stem of its file's name.
    pub system: SystemName,
    /// Its file.
    pub path: PathBuf,
    /// blake3 of the file's bytes.
    pub blake3: Fingerprint,
    /// Whether these join test cases by question instead of `case_id`: predictions, and answers without an id.
    pub by_question: bool,
    /// Whether they are answers without an id: no list of sources is appended, and each question needs a test case.
    pub without_id: bool,
    /// Guessed fields of the file, as `--fields` would give them; empty without any.
    pub guesses: String,
    /// Fields with other names than expected, given or guessed; empty without any.
    pub renamed: String,
    /// Number of answers that begin with [reasoning](thinking_bytes), which may have been removed.
    pub thinking: usize,
    /// Number of answers that, as they are kept, may begin with reasoning in an unknown form.
    pub maybe_thinking: usize,
    /// The cases whose answer is only the error text of a failed generation; none in compat mode.
    pub error_texts: Vec<CaseId>,
    /// Fields of `--fields` that the file does not have.
    pub(super) absent: Vec<(String, String)>,
    /// Number of empty cells of a CSV file in the place of gold answers.
    pub(super) empty_golds: usize,
    /// Its answers; unless joined by question, each `case_id` occurs once.
    pub answers: Vec<Answer>,
    /// Warnings (empty answers; duplicates in compat mode).
    pub warnings: Vec<InputFault>,
}

/// Reads files of answers or predictions, one per system; fields decide which. A directory means its `*.jsonl`, or its
/// `*.json` if it has none, or else its `*.csv`. See [`AnswerOptions::load`].
///
/// # Errors
/// As [`AnswerOptions::load`].
pub fn load_answers(paths: &[PathBuf], mode: Mode) -> Result<Vec<SystemAnswers>> {
    Ok(AnswerOptions {
        mode,
        ..AnswerOptions::default()
    }
    .load(paths)?
    .0)
}

/// How files of answers are read.
#[derive(Debug, Clone, Default)]
pub struct AnswerOptions {
    /// In [`Mode::Compat`] the last of several answers with the same `case_id` counts, with a warning, and reasoning is
    /// kept.
    pub mode: Mode,
    /// The fields that hold the parts of an answer, as `(part, field)` with a part of [`ANSWER_PARTS`](super::ANSWER_PARTS);
    /// for others the documented ones, else guesses.
    pub fields: Vec<(String, String)>,
    /// The name of the id in the test cases, which answers may have, too; empty: `case_id`.
    pub id_field: String,
    /// Keep [reasoning](thinking_bytes) at the start of an answer.
    pub keep_thinking: bool,
    /// Score answers that are only the error text of a failed generation.
    pub keep_errors: bool,
    /// Forms of reasoning besides the known ones, each as `OPEN CLOSE`.
    pub reasoning_tags: Vec<String>,
    /// Leave the texts of large files of `{case_id, answer_text}` there, but for CSV: [`with_text`] reads each when it is
    /// needed, so that the memory of a run does not grow with them.
    pub leave_texts: bool,
    /// Read texts that hold a report as JSON as [reports](Report); in compat mode, every text.
    pub reports: bool,
    /// Take what incomplete logs hold.
    pub partial_logs: bool,
    /// Read only these systems, in this order (with or without `.jsonl`); all if empty.
    pub systems: Vec<String>,
}

impl SystemAnswers {
    /// A system without answers.
    pub fn new(system: SystemName, path: &Path, blake3: Fingerprint) -> Self {
        Self {
            system,
            path: path.to_path_buf(),
            blake3,
            by_question: false,
            without_id: false,
            guesses: String::new(),
            renamed: String::new(),
            thinking: 0,
            maybe_thinking: 0,
            error_texts: Vec::new(),
            absent: Vec::new(),
            empty_golds: 0,
            answers: Vec::new(),
            warnings: Vec::new(),
        }
    }
}

impl AnswerOptions {
    /// Reads the answers; the notes say what was skipped, guessed and removed.
    ///
    /// # Errors
    /// [`Error::Input`] with every fault of every file, including two files with the same stem and predictions without an
    /// output; [`Error::Settings`] for unknown systems and for fields that no file has; [`Error::Usage`] without any path; [`Error::Io`] if a file cannot
    /// be read.
    pub fn load(&self, paths: &[PathBuf]) -> Result<(Vec<SystemAnswers>, Vec<String>)> {
        let (files, mut notes) = system_files(paths, &self.systems)?;
        // Files are read in parallel, but collected in their order: every fault of every file is
        // reported at once, and always in the same order.
        let systems = all(files
            .par_iter()
            .map(|file| self.load_file(file))
            .collect::<Vec<_>>())?;
        self.require_fields(&systems)?;
        let empty_golds = systems.iter().map(|read| read.empty_golds).sum();
        notes.extend(empty_golds_note(empty_golds));
        let mut guesses = BTreeMap::<&str, Vec<&str>>::new();
        for read in systems.iter().filter(|read| !read.guesses.is_empty()) {
            // One note for all files with the same guess; a directory of twenty systems has one
            // schema.
            guesses
                .entry(&read.guesses)
                .or_default()
                .push(read.system.as_str());
        }
        for (fields, names) in guesses {
            let names = list(names, SHOWN);
            notes.push(format!("guessed --fields {fields} for {names}"));
        }
        let answers: usize = systems.iter().map(|read| read.answers.len()).sum();
        let removed: usize = systems.iter().map(|read| read.thinking).sum();
        let kept: usize = systems.iter().map(|read| read.maybe_thinking).sum();
        let removal = "begin with reasoning, which is removed; --keep-thinking keeps it";
        let doubt =
            "may begin with reasoning, which is kept; --reasoning-tags \"OPEN CLOSE\" removes it";
        for (count, what) in [(removed, removal), (kept, doubt)] {
            if count > 0 && !self.keeps_thinking() {
                notes.push(format!("{count} of {answers} answers {what}"));
            }
        }
        Ok((systems, notes))
    }

    /// # Errors
    /// When no file has one of the given fields.
    fn require_fields(&self, files: &[SystemAnswers]) -> Result<()> {
        for given in &self.fields {
            if !files.is_empty() && files.iter().all(|file| file.absent.contains(given)) {
                let (part, field) = (&given.0, given.1.escape_debug());
                let what = format!("--fields {part}={field}: no file has the field {field}");
                return Err(Error::Settings(what));
            }
        }
        Ok(())
    }

    /// The answers of one file.
    fn load_file(&self, (system, path): &SystemFile) -> Result<SystemAnswers> {
        let (text, blake3, log) = read_input(path, self.partial_logs)?;
        // A pipe cannot be read again. The file may begin with a byte order mark.
        // A table or a log is parsed from a text made of it, whose offsets say nothing about the file.
        let is_left =
            self.leave_texts && text.len() >= LARGE_FILE && !is_csv(path) && log.is_none();
        let file = std::fs::metadata(path)
            .ok()
            .filter(|file| is_left && file.is_file());
        let before = file.and_then(|file| file.len().checked_sub(text.len() as u64));
        let mut read = self.parse(&text, system.clone(), path, before)?;
        read.blake3 = blake3;
        read.warnings.extend(log.and_then(|log| log.warning(path)));
        Ok(read)
    }

    /// Whether reasoning is kept.
    pub fn keeps_thinking(&self) -> bool {
        self.keep_thinking || self.mode == Mode::Compat
    }

    /// The warning about answers that are only error texts, where these are not scored.
    fn error_texts(&self, read: &SystemAnswers) -> Option<InputFault> {
        let count = counted(read.error_texts.len(), "answer");
        let cases = list(read.error_texts.iter().map(CaseId::as_str), SHOWN);
        let what = format!(
            "{count} with nothing but the error text of a failed generation (unscored): {cases}"
        );
        let hint = "generate the answer again, or score the text as it is with --keep-errors";
        let is_warned = !self.keep_errors && !read.error_texts.is_empty();
        is_warned.then(|| InputFault::new(&read.path, what).hint(hint))
    }

    /// Parses the text of one file; with the number of bytes before it in the file, the texts of answers are left there.
    fn parse(
        &self,
        text: &str,
        system: SystemName,
        path: &Path,
        before: Option<u64>,
    ) -> Result<SystemAnswers> {
        let mut read =
            SystemAnswers::new(system.clone(), path, blake3::hash(text.as_bytes()).into());
        let text = rows_as_jsonl(text, path)?;
        let (json, nan_line) = without_bare_nan(&text);
        let elements = elements(&json, path)?;
        let reading = FieldReading::of(&elements, &self.fields, &self.id_field, path)?;
        let texts = elements.iter().map(|element| reading.json(element));
        let texts: Vec<_> = texts.collect();
        let mut lines = Vec::with_capacity(elements.len());
        for (element, text) in elements.iter().zip(&texts) {
            lines.push(JsonLine { text, ..*element });
        }
        // Only after the fields have their expected names can the kind of the file be seen.
        read.by_question = FileKind::of(&lines) == Some(FileKind::Predictions);
        read.without_id = reading.without_id;
        let field = Arc::new(FieldInFile {
            path: path.to_path_buf(),
            name: reading.text_field().into(),
        });
        let mut collecting = Collecting {
            path,
            read,
            options: self,
            by_case: HashMap::new(),
        };
        let mut ignored = Vec::new();
        let added = if collecting.read.by_question {
            collecting.read.warnings.extend(nan_warning(path, nan_line));
            collecting.add_predictions(&lines, &elements, &system)
        } else {
            FileKind::Answers.check(&lines, path)?;
            // One by one: the text of each is left in the file before the next is read.
            all(lines.iter().zip(&elements).map(|(line, element)| {
                let mut answer = self.read_answer(line, &system, &mut ignored)?;
                keep_question(&mut answer, reading.question(element), line)?;
                answer.trace = trace(element.text).map(Arc::new);
                collecting.add(answer, TextPlace::of(element, &json, before, &field))
            }))
        };
        added.map_err(|error| reading.explain(error))?;
        let mut read = collecting.read;
        read.warnings.extend(self.error_texts(&read));
        let is_empty = read.answers.is_empty();
        let nothing = is_empty.then(|| InputFault::new(path, "no answers in the file"));
        read.warnings.extend(ignored.into_iter().chain(nothing));
        Ok(SystemAnswers {
            renamed: reading.renamed(),
            guesses: reading.guesses,
            absent: reading.absent,
            ..read
        })
    }
}

/// Where the text of an answer can be left.
struct TextPlace<'a> {
    field: &'a Arc<FieldInFile>,
    offset: u64,
    bytes: usize,
}

impl<'a> TextPlace<'a> {
    /// The place of an element, whose JSON is a slice of that of the file, which begins behind the bytes `before`.
    fn of(
        element: &JsonLine<'_>,
        json: &str,
        before: Option<u64>,
        field: &'a Arc<FieldInFile>,
    ) -> Option<Self> {
        let within = (element.text.as_ptr() as usize).saturating_sub(json.as_ptr() as usize);
        Some(Self {
            field,
            offset: before? + within as u64,
            bytes: element.text.len(),
        })
    }
}

/// The answers of a file so far.
struct Collecting<'a> {
    path: &'a Path,
    read: SystemAnswers,
    options: &'a AnswerOptions,
    /// Indices of the answers.
    by_case: HashMap<CaseId, usize>,
}

impl Collecting<'_> {
    /// Adds the predictions of a file; `elements` are its lines with their own names of fields.
    fn add_predictions(
        &mut self,
        lines: &[JsonLine<'_>],
        elements: &[JsonLine<'_>],
        system: &SystemName,
    ) -> Result<Vec<()>> {
        let predicted = predicted_answers(lines, system, self.path)?;
        self.read.empty_golds = empty_golds(lines);
        all(predicted
            .into_iter()
            .zip(elements)
            .map(|(mut answer, element)| {
                self.options.read_report(&mut answer);
                answer.trace = trace(element.text).map(Arc::new);
                self.add(answer, None)
            }))
    }

    /// Adds an answer, without its reasoning, with its text left in the file where there is a place for it.
    fn add(&mut self, mut answer: Answer, place: Option<TextPlace<'_>>) -> Result<()> {
        let read = &mut self.read;
        let (thinking, empty) = remove_thinking(&mut answer, self.options);
        read.thinking += usize::from(thinking > 0);
        read.maybe_thinking += usize::from(may_begin_with_thinking(answer.own_text()));
        let case_id = answer.case_id.clone();
        if self.options.mode == Mode::Default && is_error_text(answer.own_text()) {
            read.error_texts.push(case_id.clone());
            answer.is_missing = !self.options.keep_errors;
        }
        let place_of_answer = (answer.line, case_id.as_str());
        let path = self.path;
        let report_fault = answer
            .report
            .as_ref()
            .and_then(|report| report.fault.as_ref());
        // An empty answer is scored (0, or not by some scorers), as leaving it out would favor
        // systems that give up; so it is a warning and no fault.
        if let (Some(what), None) = (empty, report_fault) {
            read.warnings
                .push(answer_fault(path, place_of_answer, what.to_owned()));
        }
        if let Some(ReportFault::Nothing(what) | ReportFault::Dropped(what)) = report_fault {
            let what = format!("no report that can be judged: {what}");
            read.warnings
                .push(answer_fault(path, place_of_answer, what));
        }
        // The text of a report was made from its JSON, so it stands nowhere in the file.
        if let Some(place) = place
            && answer.report.is_none()
            && !answer.is_missing
        {
            answer.leave_text(place.field, place.offset, place.bytes);
        }
        // Predictions are paired by their question; two may answer the same one.
        let known = self.by_case.get(&case_id).filter(|_| !read.by_question);
        let Some(first) = known.and_then(|index| read.answers.get_mut(*index)) else {
            self.by_case.insert(case_id.clone(), read.answers.len());
            read.answers.push(answer);
            return Ok(());
        };
        let what = format!("duplicate case_id, first on line {}", first.line);
        // Of two answers nobody knows which one was meant, and to take either would score a line
        // that the author may have replaced.
        if self.options.mode == Mode::Default {
            let fault = answer_fault(path, place_of_answer, what);
            return Err(fault.refuse("keep one of the two lines"));
        }
        let what = format!("{what}; this one counts");
        read.warnings
            .push(answer_fault(path, place_of_answer, what));
        *first = answer;
        Ok(())
    }
}

/// A fault of the answer on that line, to that case.
fn answer_fault(path: &Path, (line, case_id): (usize, &str), what: String) -> InputFault {
    InputFault::new(path, what).at_line(line).of_case(case_id)
}

/// The predictions as answers.
///
/// # Errors
/// Every prediction without a question or an output.
fn predicted_answers(
    lines: &[JsonLine<'_>],
    system: &SystemName,
    path: &Path,
) -> Result<Vec<Answer>> {
    let items = with_questions(read_predictions(lines, path)?, path)?;
    all(items.into_iter().map(|item| {
        // A missing output is most likely a failed generation; as an empty answer it would silently
        // cost the system its score.
        let Some(text) = item.output.clone() else {
            let fault = InputFault::new(path, "output is missing")
                .at_line(item.line)
                .of_case(&*item.id);
            return Err(fault.refuse("write \"\" for an empty answer"));
        };
        let answer = Answer::new(system.clone(), item.id.as_str().into(), text);
        Ok(Answer {
            line: item.line,
            prediction: Some(Arc::new(item)),
            ..answer
        })
    }))
}

/// Removes the reasoning of an answer unless it is kept; returns its length, and what is wrong with an empty answer.
fn remove_thinking(answer: &mut Answer, options: &AnswerOptions) -> (usize, Option<&'static str>) {
    let thinking = thinking_bytes(answer.own_text(), &options.reasoning_tags);
    if thinking > 0 && !options.keeps_thinking() {
        answer.answer_text = answer.answer_text[thinking..].into();
        // `references_from` counts from the start of the text as given, reasoning included.
        answer.own_bytes = answer.own_bytes.map(|bytes| bytes - thinking);
        let own_text = answer.own_text_shared();
        if let Some(prediction) = &mut answer.prediction {
            Arc::make_mut(prediction).output = Some(own_text);
        }
    }
    let empty = if thinking > 0 {
        "the answer is empty but for its reasoning"
    } else {
        "the answer is empty"
    };
    (
        thinking,
        answer.own_text().trim().is_empty().then_some(empty),
    )
}

/// The answer with its text, or the pair with both, read again where they were left in their file.
///
/// # Errors
/// When the file cannot be read, or has changed.
pub fn with_text(item: &Item) -> Result<Item> {
    let mut item = item.clone();
    read_text(&mut item.answer, &item.case)?;
    if let Some(other) = &mut item.other {
        read_text(Arc::make_mut(other), &item.case)?;
    }
    Ok(item)
}

/// Reads the answer's text, if it was left in its file.
fn read_text(answer: &mut Answer, case: &TestCase) -> Result<()> {
    let Some(place) = answer.left_in.take() else {
        return Ok(());
    };
    let path = &place.field.path;
    // The texts are read one record at a time and never cached: scoring needs each one once, and
    // the point of leaving them is that memory does not grow with the files.
    let mut bytes = Vec::new();
    let mut file = File::open(path).map_err(Error::io(path, "read"))?;
    let read = file
        .seek(SeekFrom::Start(place.offset))
        .and_then(|_| file.take(place.bytes as u64).read_to_end(&mut bytes));
    read.map_err(Error::io(path, "read"))?;
    let text = str::from_utf8(&bytes).ok().and_then(|json| {
        let json = without_bare_nan(json).0;
        let record: Record<'_> = serde_json::from_str(&json).ok()?;
        let text = value_at(&record, &place.field.name)?;
        let text: String = serde_json::from_str(text.get()).ok()?;
        // Reasoning is removed from its start.
        text.get(text.len().checked_sub(place.text_bytes)?..)
            .map(Arc::<str>::from)
    });
    // Scores of a text other than the one recorded would enter the run under the wrong hash.
    let Some(text) = text.filter(|text| place.blake3 == blake3::hash(text.as_bytes()).into())
    else {
        let fault = InputFault::new(path, "the file was changed while its answers were scored");
        return Err(fault
            .of_case(answer.case_id.as_str())
            .refuse("give the same command again"));
    };
    answer.answer_text = text;
    let own_text = answer.own_text_shared();
    match &mut answer.prediction {
        Some(prediction) => Arc::make_mut(prediction).output = Some(own_text),
        // Without test cases the case has no question.
        None if case.initial_prompt.is_empty() => {}
        None => answer.prediction = Some(Arc::new(prediction_of(answer, case))),
    }
    Ok(())
}

/// The answer as a prediction of the question of its case, with the sources that it has.
pub(super) fn prediction_of(answer: &Answer, case: &TestCase) -> Prediction {
    Prediction {
        id: answer.case_id.to_string(),
        input: case.initial_prompt.clone(),
        output: Some(answer.own_text_shared()),
        line: answer.line,
        ..answer.prediction.as_deref().cloned().unwrap_or_default()
    }
}

/// Parses the text of one system's file; `path` is for messages. See [`load_answers`].
///
/// # Errors
/// [`Error::Input`] with every fault found.
pub fn parse_answers(
    text: &str,
    system: SystemName,
    path: &Path,
    mode: Mode,
) -> Result<SystemAnswers> {
    AnswerOptions {
        mode,
        ..AnswerOptions::default()
    }
    .parse(text, system, path, None)
}

#[derive(Deserialize)]
struct AnswerLine {
    case_id: Id,
    /// A text, or a report of sections.
    answer_text: Value,
    references_from: Option<Value>,
    docs: Option<Value>,
    ctxs: Option<Value>,
}

impl AnswerOptions {
    fn read_answer(
        &self,
        line: &JsonLine<'_>,
        system: &SystemName,
        warnings: &mut Vec<InputFault>,
    ) -> Result<Answer, InputFault> {
        let AnswerLine {
            case_id: Id(case_id),
            answer_text,
            references_from,
            docs,
            ctxs,
        } = line.read(EXAMPLE)?;
        let fault = |what: String| line.fault(what).of_case(&case_id);
        if case_id.is_empty() {
            return Err(fault("case_id is empty".to_owned()));
        }
        let mut answer = Answer::new(system.clone(), case_id.as_str().into(), "");
        answer.line = line.number;
        match answer_text {
            Value::String(text) => answer.answer_text = text.into(),
            response @ Value::Object(_) if !has_two_values(&response) => {
                set_report(&mut answer, Report::of_response(&response))
            }
            Value::Null if self.mode == Mode::Default => answer.is_missing = true,
            other => {
                return Err(fault(format!(
                    "answer_text: {}",
                    expected("a string or a report of sections", &other)
                )));
            }
        }
        self.read_report(&mut answer);
        match references_from
            .map(|from| own_bytes(&from, &answer.answer_text))
            .transpose()
        {
            Ok(own_bytes) => answer.own_bytes = own_bytes,
            Err(what) => {
                let fault = fault(what)
                    .hint("leave it out where no references were appended to the answer");
                // Compat mode ignores it.
                if self.mode == Mode::Default {
                    return Err(fault);
                }
                warnings.push(fault);
            }
        }
        let given = docs.into_iter().chain(ctxs);
        let sources = given.filter(|value| value.is_array() || value.is_object());
        match sources.map(Sources::try_from).next().transpose() {
            Ok(Some(Sources(sources))) => keep_sources(&mut answer, sources),
            Ok(None) => {}
            Err(what) => {
                let fault = fault(format!("ctxs: {what}"));
                warnings.push(fault.hint("the answer is read without its sources"));
            }
        }
        Ok(answer)
    }

    /// Reads the report in the text of an answer, if reports are read and it has none yet.
    fn read_report(&self, answer: &mut Answer) {
        let text = Arc::clone(&answer.answer_text);
        // The reference tries to parse every completion as a report; by default a text that merely
        // mentions JSON stays an answer.
        let is_json = self.mode == Mode::Compat
            || text.trim_start().starts_with('{')
            || text.contains("\"sections\"");
        // The JSON of an error is a missing answer, not a faulty report.
        let is_error = self.mode == Mode::Default && !self.keep_errors && is_error_text(&text);
        if self.reports && answer.report.is_none() && is_json && !is_error {
            let start = if self.keeps_thinking() {
                0
            } else {
                thinking_bytes(&text, &self.reasoning_tags)
            };
            set_report(answer, Report::in_completion(&text[start..]));
        }
    }
}

/// Makes an answer with sources a prediction that may cite them.
fn keep_sources(answer: &mut Answer, sources: Vec<Source>) {
    if sources.is_empty() {
        return;
    }
    let case = TestCase::without_rubric(answer.case_id.clone(), "");
    let prediction = Prediction {
        sources,
        ..prediction_of(answer, &case)
    };
    answer.prediction = Some(Arc::new(prediction));
}

/// Makes an answer a prediction of its question, if it has one.
///
/// # Errors
/// When it has two.
fn keep_question(
    answer: &mut Answer,
    question: Option<Value>,
    line: &JsonLine<'_>,
) -> Result<(), InputFault> {
    match question {
        Some(question) if has_two_values(&question) => {
            let fault = line.fault(format!("the question has {TWO_VALUES_NAME}"));
            return Err(fault.of_case(answer.case_id.as_str()));
        }
        Some(Value::String(question)) if !question.trim().is_empty() => {
            let case = TestCase::without_rubric(answer.case_id.clone(), question.trim());
            answer.prediction = Some(Arc::new(prediction_of(answer, &case)));
        }
        _ => {}
    }
    Ok(())
}

/// Gives an answer its report, with the text of it.
fn set_report(answer: &mut Answer, (text, report): (String, Report)) {
    (answer.answer_text, answer.report) = (text.into(), Some(Arc::new(report)));
    if let Some(prediction) = &mut answer.prediction {
        Arc::make_mut(prediction).output = Some(Arc::clone(&answer.answer_text));
    }
}

/// Converts the number of Unicode characters written by the system to bytes.
fn own_bytes(from: &Value, text: &str) -> Result<usize, String> {
    let characters = from
        .as_u64()
        .and_then(|characters| usize::try_from(characters).ok());
    // Characters, because that is what `len` counts in Python, with which these files are written.
    let place = characters.and_then(|characters| {
        text.char_indices()
            .map(|(at, _)| at)
            .chain([text.len()])
            .nth(characters)
    });
    place.ok_or_else(|| {
        let wanted = format!(
            "a whole number from 0 to {} (characters of answer_text)",
            text.chars().count()
        );
        format!("{REFERENCES_FROM}: {}", expected(&wanted, from))
    })
}

/// An answer as a line of a file; the inverse of [`parse_answers`].
pub fn render_answer(answer: &Answer) -> String {
    let text = Some(&*answer.answer_text).filter(|text| !answer.is_missing || !text.is_empty());
    let mut line = json!({"case_id": answer.case_id.as_str(), "answer_text": text});
    if answer.own_bytes.is_some() {
        line[REFERENCES_FROM] = answer.own_text().chars().count().into();
    }
    format!("{line}\n")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{parse_predictions, parse_test_cases};

    fn parse(text: impl AsRef<str>, mode: Mode) -> Result<SystemAnswers> {
        parse_answers(text.as_ref(), "gpt".into(), Path::new("gpt.jsonl"), mode)
    }

    fn faults(text: impl AsRef<str>) -> Vec<String> {
        match parse(text, Mode::Default) {
            Err(Error::Input(faults)) => faults.iter().map(ToString::to_string).collect(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn blank_lines_and_windows_line_ends_are_skipped_and_lines_still_count() {
        let text = "\r\n{\"case_id\": \"1\", \"answer_text\": \"a\\nb\", \"more\": 1}\r\n\n {\"case_id\":\"2\",\"answer_text\":\"c\"}";
        let answers = parse(text, Mode::Default).unwrap().answers;
        let read: Vec<_> = answers
            .iter()
            .map(|a| (a.case_id.as_str(), &*a.answer_text, a.line))
            .collect();
        assert_eq!(read, [("1", "a\nb", 2), ("2", "c", 4)]);
    }

    #[test]
    fn a_duplicate_case_id_is_an_error_naming_both_lines() {
        let text =
            "{\"case_id\":\"1\",\"answer_text\":\"a\"}\n{\"case_id\":\"1\",\"answer_text\":\"b\"}";
        assert_eq!(
            faults(text),
            ["gpt.jsonl:2 (case 1): duplicate case_id, first on line 1; keep one of the two lines"]
        );
        let compat = parse(text, Mode::Compat).unwrap();
        assert_eq!(
            (
                compat.answers.len(),
                &*compat.answers[0].answer_text,
                compat.warnings.len()
            ),
            (1, "b", 1)
        );
    }

    #[test]
    fn every_faulty_line_is_reported() {
        let text = "{\"case_id\":\"1\"}\n{\"case_id\":[2],\"answer_text\":\"a\"}\n{\"case_id\":\"3\",\"answer_text\":5}\n\
            {bad}\n[1]\n\"x\"\n{\"case_id\":\"4\",\"answer_text\":\"\\ud800\"}\n{\"case_id\":\"\",\"answer_text\":\"a\"}";
        let expected = [
            "gpt.jsonl:1 (case 1): answer_text is missing; found case_id; write one {\"case_id\": .., \"answer_text\": \
             ..} per line",
            "gpt.jsonl:2: case_id: expected an id, found a list; write one",
            "gpt.jsonl:3 (case 3): answer_text: expected a string or a report of sections, found 5",
            "gpt.jsonl:4: invalid JSON at column 2: key must be a string; write one",
            "gpt.jsonl:5: expected an object, found a list; write one",
            "gpt.jsonl:6: invalid type: string \"x\", expected struct AnswerLine; write one",
            "gpt.jsonl:7: invalid JSON at column 37: ",
            "gpt.jsonl:8 (case ): case_id is empty",
        ];
        let faults = faults(text);
        assert_eq!(faults.len(), expected.len());
        for (fault, expected) in faults.iter().zip(expected) {
            assert!(fault.starts_with(expected), "{fault}");
        }
        assert!(faults[6].contains("half a character"), "{faults:?}");
    }

    #[test]
    fn reports_are_objects_or_completions_that_hold_one() {
        let report = r#"{"sections": [{"text": "A [1].", "citations": []}, {"text": "B.", "citations": []}]}"#;
        let object = parse(
            format!("{{\"case_id\": 1, \"response\": {report}}}"),
            Mode::Default,
        )
        .unwrap();
        let line = |text: String| json!({"case_id": 1, "answer_text": text}).to_string();
        let of = |text: String, mode| {
            let options = AnswerOptions {
                mode,
                reports: true,
                ..AnswerOptions::default()
            };
            options
                .parse(&line(text), "gpt".into(), Path::new("gpt.jsonl"), None)
                .unwrap()
        };
        let completion = of(format!("<think>{{}}</think>Here: {report}"), Mode::Default);
        for read in [&object, &completion] {
            let answer = &read.answers[0];
            assert_eq!(
                (
                    &*answer.answer_text,
                    answer.report.as_ref().unwrap().groups.len()
                ),
                ("A [1].\n\nB.", 2)
            );
        }
        assert_eq!(
            of("plain {text}".to_owned(), Mode::Default).answers[0].report,
            None
        );
        let dropped = of(r#"{"section": []}"#.to_owned(), Mode::Default);
        assert!(
            dropped
                .warnings
                .iter()
                .any(|warning| warning.to_string().contains("sections is missing"))
        );
        let none = of("plain".to_owned(), Mode::Compat).answers[0]
            .report
            .clone()
            .unwrap();
        assert!(matches!(none.fault, Some(ReportFault::Nothing(_))));
        assert_eq!(
            parse(line(report.to_owned()), Mode::Default)
                .unwrap()
                .answers[0]
                .report,
            None,
            "without reports"
        );
    }

    #[test]
    fn references_from_counts_characters_and_must_lie_within_the_text() {
        // three characters of five bytes are by the system
        let line =
            "{\"case_id\":\"1\",\"answer_text\":\"\u{e9}\u{e9}a\\nR\",\"references_from\":3}";
        let answer = &parse(line, Mode::Default).unwrap().answers[0];
        assert_eq!(
            (answer.own_bytes, answer.own_text()),
            (Some(5), "\u{e9}\u{e9}a")
        );
        let with = |from: &str| {
            format!("{{\"case_id\":\"1\",\"answer_text\":\"ab\",\"references_from\":{from}}}")
        };
        assert_eq!(
            parse(with("2"), Mode::Default).unwrap().answers[0].own_bytes,
            Some(2)
        );
        assert_eq!(
            parse(with("null"), Mode::Default).unwrap().answers[0].own_bytes,
            None
        );
        for wrong in ["3", "-1", "1.5", "\"1\""] {
            let message = &faults(with(wrong))[0];
            assert!(
                message
                    .contains("references_from: expected a whole number from 0 to 2 (characters"),
                "{message}"
            );
            let compat = parse(with(wrong), Mode::Compat).unwrap();
            assert_eq!(
                (compat.answers[0].own_bytes, compat.warnings.len()),
                (None, 1)
            );
        }
    }

    #[test]
    fn a_rendered_answer_is_read_as_it_was() {
        let answer = Answer {
            own_bytes: Some(2),
            line: 1,
            ..Answer::new("gpt".into(), "1".into(), "\u{e9}\n\"x\"")
        };
        assert_eq!(
            parse(render_answer(&answer), Mode::Default)
                .unwrap()
                .answers,
            [answer]
        );
    }

    #[test]
    fn an_empty_answer_and_an_empty_file_are_warnings() {
        let answers = parse("{\"case_id\":\"1\",\"answer_text\":\" \"}", Mode::Default).unwrap();
        assert_eq!(
            answers.warnings[0].to_string(),
            "gpt.jsonl:1 (case 1): the answer is empty"
        );
        assert_eq!(
            parse("\n", Mode::Default).unwrap().warnings[0].to_string(),
            "gpt.jsonl: no answers in the file"
        );
    }

    fn read(text: impl AsRef<str>) -> Result<SystemAnswers> {
        parse_answers(
            text.as_ref(),
            "s".into(),
            Path::new("s.jsonl"),
            Mode::Default,
        )
    }

    fn message(text: impl AsRef<str>) -> String {
        read(text).unwrap_err().to_string()
    }

    const ANSWER: &str = "{\"case_id\": \"1\", \"answer_text\": \"a\"}";
    const PREDICTION: &str = "{\"input\": \"q\", \"output\": \"o\"}";

    #[test]
    fn every_form_is_recognized_by_its_content() {
        let answers = [
            ANSWER.to_owned(),
            format!("[{ANSWER}]"),
            format!("\n\n{ANSWER}\n"),
            String::new(),
            "{\"case_id\": \"1\", \"answer_text\": \"a\", \"query\": \"q\"}".into(),
        ];
        for text in answers {
            assert!(!read(&text).unwrap().by_question, "{text}");
        }
        let predictions = [
            PREDICTION.to_owned(),
            format!("{PREDICTION}\n{PREDICTION}"),
            format!(" [{PREDICTION}]"),
            format!("{{\"data\": [{PREDICTION}, {PREDICTION}]}}"),
            format!("{{\"data\": [\n{PREDICTION},\n{PREDICTION}\n]}}"),
            PREDICTION.replace(',', ",\n"),
            "{\"input\": \"q\", \"output\": \"o\", \"ctxs\": [{\"text\": NaN}]}".to_owned(),
        ];
        for text in predictions {
            assert!(read(&text).unwrap().by_question, "{text}");
        }
    }

    #[test]
    fn a_file_of_mixed_forms_is_a_fault_that_names_the_line() {
        let mixed = message(format!("{ANSWER}\n\n{PREDICTION}"));
        assert!(
            mixed.starts_with(
                "s.jsonl:3: case_id is missing; found input, output; write one {\"case_id\""
            ),
            "{mixed}"
        );
        assert!(
            message(format!("[{PREDICTION},\n{ANSWER}]"))
                .starts_with("s.jsonl:2 (case 1): neither input nor query")
        );
    }

    #[test]
    fn faults_are_those_of_the_form_that_the_file_has() {
        assert!(
            message(format!("{{bad}}\n{ANSWER}"))
                .starts_with("s.jsonl:1: invalid JSON at column 2: key must be")
        );
        assert!(
            message("{\"case_id\": \"1\"}")
                .starts_with("s.jsonl: no field for answer_text: the file has case_id;")
        );
    }

    #[test]
    fn a_file_given_in_the_place_of_another_is_one_fault() {
        const CASE: &str = "{\"case_id\": \"1\", \"initial_prompt\": \"q\", \"metric_config\": {}}";
        for text in [
            format!("[{CASE},\n{CASE}]"),
            format!("{CASE}\n{CASE}"),
            CASE.replace(',', ",\n"),
        ] {
            assert!(
                message(&text)
                    .starts_with("s.jsonl: looks like a file of test cases {initial_prompt"),
                "{}",
                message(&text)
            );
            let error = parse_predictions(&text, Path::new("f"))
                .unwrap_err()
                .to_string();
            assert!(
                error.starts_with("f: looks like a file of test cases {")
                    && error.lines().count() == 1,
                "{error}"
            );
        }
        let tests = |text: &str| {
            parse_test_cases(text, Path::new("f"), Mode::Default)
                .unwrap_err()
                .to_string()
        };
        for text in [
            format!("{ANSWER}\n{ANSWER}"),
            format!("[{ANSWER}, {ANSWER}]"),
        ] {
            assert_eq!(
                tests(&text),
                "f: looks like a file of answers {case_id, answer_text}; give it as ANSWERS, and a file of test cases as \
                 --tests FILE"
            );
            let error = parse_predictions(&text, Path::new("f"))
                .unwrap_err()
                .to_string();
            assert!(error.starts_with(
                "f: looks like a file of answers {case_id, answer_text}; expected {input"
            ));
        }
        for text in [
            PREDICTION.to_owned(),
            format!("{{\"data\": [{PREDICTION}]}}"),
        ] {
            assert!(
                tests(&text)
                    .starts_with("f: looks like a file of predictions {input, output, ..}; give"),
                "{text}"
            );
        }
        assert!(tests("{\"case_id\": \"1\"}").contains("initial_prompt is missing"));
    }

    proptest! {
        #[test]
        fn no_text_makes_reading_panic_and_a_prediction_is_never_taken_for_an_answer(
            parts in prop::collection::vec(prop::sample::select(vec![
                "{", "}", "[", "]", ",", "\n", "\"data\":", ANSWER, PREDICTION, "NaN", "\"", "\\", "\u{e9}", "{}",
            ]), 0..9),
            tail in ".{0,3}",
        ) {
            let text = parts.concat() + &tail;
            match read(&text) {
                Ok(answers) if answers.by_question => prop_assert!(parts.contains(&PREDICTION) && !answers.answers.is_empty()),
                Ok(answers) => prop_assert!(answers.answers.is_empty() || parts.contains(&ANSWER)),
                Err(Error::Input(faults)) => prop_assert!(!faults.is_empty()),
                Err(other) => prop_assert!(false, "{other}"),
            }
        }
    }

    #[test]
    fn a_directory_without_jsonl_stands_for_its_json_and_two_files_of_one_stem_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| std::fs::write(dir.path().join(name), text).unwrap();
        let names = |systems: &[SystemAnswers]| {
            systems
                .iter()
                .map(|s| s.system.to_string())
                .collect::<Vec<_>>()
        };
        let load = |paths: &[PathBuf]| AnswerOptions::default().load(paths);
        write("b.json", &format!("[{PREDICTION}]"));
        write("a.json", PREDICTION);
        let here = [dir.path().to_path_buf()];
        let (systems, notes) = load(&here).unwrap();
        assert_eq!(
            (names(&systems), notes),
            (vec!["a".to_owned(), "b".to_owned()], vec![])
        );
        write("c.jsonl", ANSWER);
        let (systems, notes) = load(&here).unwrap();
        let note = format!(
            "skipped in {}, which has *.jsonl: a.json, b.json",
            dir.path().display()
        );
        assert_eq!((names(&systems), notes), (vec!["c".to_owned()], vec![note]));
        write("c.json", PREDICTION);
        let error = load(&[dir.path().join("c.jsonl"), dir.path().join("c.json")])
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("a second file of the system \"c\""),
            "{error}"
        );
    }

    #[test]
    fn chosen_systems_are_read_in_their_order_and_an_unknown_one_is_an_error_with_a_suggestion() {
        let dir = tempfile::tempdir().unwrap();
        for name in ["claude.jsonl", "gpt.jsonl", "rest.jsonl"] {
            std::fs::write(
                dir.path().join(name),
                if name == "rest.jsonl" {
                    "broken"
                } else {
                    ANSWER
                },
            )
            .unwrap();
        }
        let load = |names: &[&str]| {
            let systems = names.iter().map(|name| (*name).to_owned()).collect();
            AnswerOptions {
                systems,
                ..AnswerOptions::default()
            }
            .load(&[dir.path().to_path_buf()])
        };
        let (systems, notes) = load(&["gpt.jsonl", "claude", "gpt"]).unwrap();
        assert_eq!(
            systems
                .iter()
                .map(|read| read.system.as_str())
                .collect::<Vec<_>>(),
            ["gpt", "claude"]
        );
        assert_eq!(notes, ["skipped, not among --systems: rest"]);
        let error = load(&["gpt", "cluade"]).unwrap_err().to_string();
        assert_eq!(error, "unknown system \"cluade\"; did you mean claude?");
    }

    #[test]
    fn sources_of_an_answer_with_an_id_are_kept() {
        let lines = r#"{"case_id": 1, "answer_text": "So [0].", "question": "Why?", "ctxs": [{"title": "T", "text": "x", "year": 2020}]}
            {"case_id": 2, "answer_text": "So.", "docs": {"k": ["text", "title"]}, "ctxs": []}
            {"case_id": 3, "answer_text": "So.", "ctxs": []}
            {"case_id": 4, "answer_text": "So.", "ctxs": "none"}
            {"case_id": 5, "answer_text": "So.", "ctxs": [7]}"#;
        let read = parse_answers(lines, "s".into(), "s.jsonl".as_ref(), Mode::Default).unwrap();
        let predictions: Vec<_> = read
            .answers
            .iter()
            .map(|answer| &answer.prediction)
            .collect();
        let first = predictions[0].as_ref().unwrap();
        assert_eq!((first.output(), first.sources.len()), ("So [0].", 1));
        assert_eq!(first.sources[0].work.as_ref().unwrap().year, Some(2020));
        let second = predictions[1].as_ref().unwrap();
        assert_eq!(second.sources[0].title.as_deref(), Some("title"));
        assert!(
            predictions[2..]
                .iter()
                .all(|prediction| prediction.is_none())
        );
        let warning = read.warnings[0].to_string();
        assert!(warning.contains("s.jsonl:5 (case 5): ctxs: "), "{warning}");
    }

    #[test]
    fn a_text_that_was_left_in_its_file_is_read_again_and_a_changed_file_is_an_error() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("gpt.jsonl");
        let line = |text: &str| {
            format!(
                "{{\"case_id\":\"1\",\"x\":NaN,\"answer_text\":\"{text}\",\"references_from\":2}}\n"
            )
        };
        let padding = "\n".repeat(LARGE_FILE);
        std::fs::write(&path, format!("\u{feff}\n{}{padding}", line("caf\\u00e9"))).unwrap();
        let options = AnswerOptions {
            leave_texts: true,
            ..AnswerOptions::default()
        };
        let mut answers = options
            .load(std::slice::from_ref(&path))
            .unwrap()
            .0
            .remove(0)
            .answers;
        let mut answer = answers.remove(0);
        assert_eq!(
            (&*answer.answer_text, answer.text_bytes(), answer.line),
            ("", 5, 2)
        );
        answer.prediction = Some(Arc::new(Prediction {
            output: Some("".into()),
            ..Prediction::default()
        }));
        let case = scholareval_core::domain::TestCase::without_rubric("1".into(), "q");
        let item = Item::new(Arc::new(case), answer);
        let read = with_text(&item).unwrap().answer;
        assert_eq!(
            (&*read.answer_text, read.own_text(), read.left_in.is_none()),
            ("caf\u{e9}", "ca", true)
        );
        assert_eq!(read.prediction.unwrap().output(), "ca");
        for changed in [format!("\u{feff}\n{}", line("tea\\u00e9")), String::new()] {
            std::fs::write(&path, changed).unwrap();
            let error = with_text(&item).unwrap_err().to_string();
            assert!(
                error.contains("gpt.jsonl (case 1): the file was changed while"),
                "{error}"
            );
        }
        assert_eq!(load_answers(&[path], Mode::Default).unwrap()[0].answers, []);
    }
}
