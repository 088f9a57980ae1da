//! Whether runs have the texts that raters read: labels of one text say nothing of another one.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::asked_units::AskedUnits;
use super::texts::blind_answer;
use super::units::{LabelTask, RunTasks};
use crate::dataset::{no_faults, with_text};
use crate::domain::{
    CaseId, Digest, DrawProbabilities, Item, LabelKind, LabelSheet, LabelUnit, SystemName,
};
use crate::error::{InputFault, Result};
use crate::record::RecordedRun;

/// # Errors
/// For the first labeled answer of each run that has another text there, or a unit that reads otherwise, and for runs without texts.
pub(super) fn check_texts(sheets: &[LabelSheet], runs: &[RecordedRun]) -> Result<()> {
    let sheets: Vec<LabeledTexts<'_>> = sheets.iter().map(LabeledTexts::of).collect();
    let mut faults = Vec::new();
    for run in runs {
        if run.items.is_empty() {
            let what = "has no texts, so that nobody knows whether they are those that were labeled: it was made with --no-inputs, \
                        or imported without answers";
            let fault = InputFault::new(&run.path, what);
            faults.push(fault.hint("score or import the answers with their texts"));
            continue;
        }
        let tasks = RunTasks::new(run);
        for item in &run.items {
            if let Some(difference) = other_text(&sheets, run, &tasks, item)? {
                let fault = InputFault::new(&run.path, difference);
                faults.push(fault.of_case(item.case.case_id.as_str()).hint(
                    "labels are of the texts that were shown: name the run that was labeled, or one that scored the same answers again",
                ));
                break;
            }
        }
    }
    no_faults(faults)
}

/// What of an answer of a run is not what raters read.
fn other_text(
    sheets: &[LabeledTexts<'_>],
    run: &RecordedRun,
    tasks: &RunTasks<'_>,
    item: &Item,
) -> Result<Option<String>> {
    let system = &item.answer.system;
    for sheet in sheets {
        let places = sheet.drawn.get(&(system, &item.case.case_id));
        for place in places.into_iter().flatten() {
            if sheet.sheet.frame[*place].text != item.answer.text_hash() {
                return Ok(Some(format!(
                    "the answer of {system} is not the one that was labeled"
                )));
            }
            let tasks = tasks.tasks(item, &sheet.kinds)?;
            if let Some(unit) = sheet.other_task(*place, &tasks, run, item)? {
                let name = &unit.name;
                return Ok(Some(format!(
                    "{name} of the answer of {system} reads otherwise than what was labeled"
                )));
            }
        }
    }
    Ok(None)
}

/// The texts of a sheet by what they are of.
struct LabeledTexts<'a> {
    sheet: &'a LabelSheet,
    kinds: BTreeSet<LabelKind>,
    /// Places of drawn answers in the frame. Two runs of one system may have two answers to a question.
    drawn: HashMap<(&'a SystemName, &'a CaseId), Vec<usize>>,
    /// What was shown of each unit, by the place of its answer.
    shown: HashMap<(usize, &'a LabelUnit), Digest<16>>,
}

impl<'a> LabeledTexts<'a> {
    fn of(sheet: &'a LabelSheet) -> Self {
        let mut drawn: HashMap<(&SystemName, &CaseId), Vec<usize>> = HashMap::new();
        for (place, answer) in sheet.frame.iter().enumerate() {
            if answer.drawn {
                let key = (&answer.system, &answer.case_id);
                drawn.entry(key).or_default().push(place);
            }
        }
        let mut shown = HashMap::new();
        let mut kinds = BTreeSet::new();
        for item in &sheet.items {
            shown.insert((item.answer, &item.unit), item.shown);
            kinds.insert(item.unit.kind);
        }
        Self {
            sheet,
            kinds,
            drawn,
            shown,
        }
    }

    /// The unit of the answer at this place that reads otherwise in a run.
    fn other_task<'t>(
        &self,
        place: usize,
        tasks: &'t [LabelTask],
        run: &RecordedRun,
        item: &Item,
    ) -> Result<Option<&'t LabelUnit>> {
        let sources = tasks.iter().flat_map(|task| &task.task.sources);
        let needed: BTreeSet<usize> = sources.copied().collect();
        let answer = blind_answer(&with_text(item)?, run.manifest.index_base(), &needed);
        for task in tasks {
            let labeled = self.shown.get(&(place, &task.unit));
            if labeled.is_some_and(|labeled| *labeled != task.task.shown(&answer, &task.scale)) {
                return Ok(Some(&task.unit));
            }
        }
        Ok(None)
    }
}

/// By answer the probability that at least one of the rounds drew it; rounds are independent. Of two answers by one system to one
/// question, that of the runs counts. Of drawn verdicts each has its own, which only one round can have.
pub(super) fn probabilities(
    sheets: &[LabelSheet],
    runs: &[RecordedRun],
    asked_units: &AskedUnits,
) -> DrawProbabilities {
    let mut known: HashMap<(&SystemName, &CaseId), HashSet<Digest<16>>> = HashMap::new();
    for item in runs.iter().flat_map(|run| &run.items) {
        let key = (&item.answer.system, &item.case.case_id);
        known
            .entry(key)
            .or_default()
            .insert(item.answer.text_hash());
    }
    let mut missed: HashMap<(SystemName, CaseId), f64> = HashMap::new();
    for answer in sheets.iter().flat_map(|sheet| &sheet.frame) {
        let texts = known.get(&(&answer.system, &answer.case_id));
        let is_of_run = texts.is_none_or(|texts| texts.contains(&answer.text));
        if let Some(probability) = answer.probability.filter(|_| is_of_run) {
            let key = (answer.system.clone(), answer.case_id.clone());
            *missed.entry(key).or_insert(1.0) *= 1.0 - probability;
        }
    }
    let drawn = missed.into_iter();
    let mut probabilities = DrawProbabilities {
        answers: drawn.map(|(key, missed)| (key, 1.0 - missed)).collect(),
        items: HashMap::new(),
    };
    for sheet in sheets {
        for item in &sheet.items {
            if let Some(probability) = item.probability {
                let answer = &sheet.frame[item.answer];
                let name = asked_units.item_name(&item.unit).into();
                let key = (answer.system.clone(), answer.case_id.clone(), name);
                probabilities.items.insert(key, probability);
            }
        }
    }
    probabilities
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::domain::{Answer, FrameAnswer, LABEL_SCHEMA, LabelDraw, Mode, TestCase};
    use crate::record::Manifest;

    fn run(text: &str) -> RecordedRun {
        let case = Arc::new(TestCase::without_rubric("c".into(), "why?"));
        let answer = Answer::new("s".into(), "c".into(), text);
        RecordedRun {
            path: "r".into(),
            name: "r".to_owned(),
            manifest: Manifest::begin(Mode::Default),
            items: vec![Item::new(case, answer)],
            scored: Vec::new(),
        }
    }

    /// A sheet of two answers by one system to one question, with their probabilities; the second one is drawn.
    fn sheet(first: &RecordedRun, second: &RecordedRun) -> LabelSheet {
        let answer = |run: &RecordedRun, probability, drawn| FrameAnswer {
            run: 0,
            system: "s".into(),
            case_id: "c".into(),
            text: run.items[0].answer.text_hash(),
            probability: Some(probability),
            drawn,
        };
        LabelSheet {
            schema_version: LABEL_SCHEMA,
            id: Digest::from([1; 8]),
            seed: 1,
            draw: LabelDraw::Spread,
            metric: None,
            runs: vec!["r".to_owned()],
            frame: vec![answer(first, 0.9, false), answer(second, 0.2, true)],
            pairs: None,
            verdicts: None,
            scales: Vec::new(),
            items: Vec::new(),
            raters: Vec::new(),
        }
    }

    #[test]
    fn of_two_answers_by_one_system_labels_are_of_the_drawn_one() {
        let [first, second] = ["It rains.", "It pours."].map(run);
        let sheets = [sheet(&first, &second)];
        let refused = check_texts(&sheets, std::slice::from_ref(&first)).unwrap_err();
        assert!(refused.to_string().contains("not the one that was labeled"));
        check_texts(&sheets, std::slice::from_ref(&second)).unwrap();
        let units = AskedUnits::default();
        let by_answer = probabilities(&sheets, std::slice::from_ref(&second), &units).answers;
        let p = by_answer[&("s".into(), "c".into())];
        assert!((p - 0.2).abs() < 1e-12, "{p}");
        // Two rounds drew it independently.
        let [one, mut two] = [sheet(&first, &second), sheet(&first, &second)];
        two.id = Digest::from([2; 8]);
        let joined = probabilities(&[one, two], &[second], &units).answers;
        let p = joined[&("s".into(), "c".into())];
        assert!((p - (1.0 - 0.8 * 0.8)).abs() < 1e-12, "{p}");
    }

    #[test]
    fn a_run_without_texts_is_an_error() {
        let mut run = run("It rains.");
        run.items.clear();
        let error = check_texts(&[], &[run]).unwrap_err().to_string();
        assert!(error.contains("has no texts"), "{error}");
    }
}
