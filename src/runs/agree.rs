//! Agreement of recorded runs with the labels of people, and of runs with each other.

use std::collections::{BTreeSet, HashMap};
use std::path::PathBuf;
use std::sync::Arc;

use crate::analysis::rater_agreement::{
    AgreementLevel, AgreementOptions, FEWEST_PILOT_LABELS, LabelPlan, Labeled, RaterAgreement,
    label_plans, rater_agreement, run_rater,
};
use crate::dataset::{Labels, load_labels, no_faults};
use crate::domain::{CaseId, Note, Rater, SystemName};
use crate::error::{Error, InputFault, Result};
use crate::record::{RecordedRun, RunStatus, load_run};
use crate::text::names::{list, suggest};

/// Measures the agreement of the judges of `runs` (directories) and the raters in the files of `labels`.
///
/// # Errors
/// [`Error::Input`] for runs and labels that cannot be read; [`Error::Settings`] for fewer than two raters, for a metric
/// that does not exist, and when no two raters share two rated items.
pub fn agree(
    runs: &[PathBuf],
    labels: &[PathBuf],
    options: &AgreementOptions,
) -> Result<RaterAgreement> {
    let (labeled, labels, notes) = load(runs, labels, options)?;
    let mut agreement = rater_agreement(&labeled, options);
    require_shared(&agreement, &labels)?;
    agreement.notes.splice(..0, notes);
    agreement
        .notes
        .sort_by_key(|note| std::cmp::Reverse(note.severity));
    Ok(agreement)
}

/// Plans the labels that a system's mean on the human scale needs, by the labels at hand.
///
/// # Errors
/// As [`agree`]; [`Error::Settings`] for too few labels of answers that the runs judged.
pub fn plan_labels(
    runs: &[PathBuf],
    labels: &[PathBuf],
    options: &AgreementOptions,
) -> Result<Vec<LabelPlan>> {
    let (labeled, ..) = load(runs, labels, options)?;
    let plans = label_plans(&labeled, options);
    if plans.is_empty() {
        let what = format!(
            "--plan needs a run and at least {FEWEST_PILOT_LABELS} ratings of its whole answers by people, not all equal; \
             label more answers"
        );
        return Err(Error::Settings(what));
    }
    Ok(plans)
}

/// The raters of runs and labels, the labels by themselves, and notes on both.
fn load(
    runs: &[PathBuf],
    labels: &[PathBuf],
    options: &AgreementOptions,
) -> Result<(Labeled, Labels, Vec<Note>)> {
    let runs: Vec<RecordedRun> = runs
        .iter()
        .map(|dir| load_run(dir))
        .collect::<Result<_>>()?;
    let is_given = !labels.is_empty();
    let labels = load_labels(labels)?;
    let metric = options.metric.as_deref();
    let mut raters: Vec<Rater> = Vec::new();
    for run in &runs {
        raters.push(judge(&rater_name(run, &runs, &labels)?, run, metric)?);
    }
    if let Some(metric) = metric.filter(|_| runs.is_empty()) {
        require_item(metric, &labels)?;
    }
    let mut notes = missing_answers(&runs, &raters, &labels)?;
    notes.extend(
        runs.iter()
            .zip(&raters)
            .flat_map(|(run, rater)| run_notes(run, rater)),
    );
    notes.extend(labels.notes.iter().cloned());
    if labels.repeated > 0 {
        notes.push(Note::info(format!(
            "{} repeated labels count once.",
            labels.repeated
        )));
    }
    raters.extend(labels.raters.iter().cloned());
    if let [] | [_] = &raters[..] {
        let found = raters.first().map_or("none".to_owned(), |rater| {
            rater.name.escape_debug().to_string()
        });
        let remedy = match is_given && labels.raters.is_empty() {
            true => "the files of labels hold no value; fill in the column value",
            false => "add labels of people (--labels FILE) or a second run",
        };
        return Err(Error::Settings(format!(
            "agreement needs two raters, found only {found}; {remedy}"
        )));
    }
    let answers = runs.iter().flat_map(|run| &run.scored);
    let questions: HashMap<CaseId, Arc<str>> = answers
        .map(|answer| {
            (
                answer.case.case_id.clone(),
                answer.case.initial_prompt.as_str().into(),
            )
        })
        .collect();
    let probabilities = labels.probabilities.clone();
    Ok((
        Labeled {
            raters,
            questions,
            probabilities,
        },
        labels,
        notes,
    ))
}

/// The run's name, or its path where another rater has that name.
fn rater_name(run: &RecordedRun, runs: &[RecordedRun], labels: &Labels) -> Result<String> {
    let is_labeled = |name: &str| labels.raters.iter().any(|rater| *rater.name == *name);
    let path = run.path.display().to_string();
    let is_taken =
        is_labeled(&run.name) || runs.iter().filter(|other| other.name == run.name).count() > 1;
    if is_taken
        && (is_labeled(&path) || runs.iter().filter(|other| other.path == run.path).count() > 1)
    {
        let fault = InputFault::new(
            &run.path,
            format!("two raters are called {}", path.escape_debug()),
        );
        return Err(fault
            .hint("name each run once, and give raters in the labels other names")
            .into());
    }
    Ok(if is_taken { path } else { run.name.clone() })
}

fn judge(name: &str, run: &RecordedRun, metric: Option<&str>) -> Result<Rater> {
    let unknown = |known: Vec<String>| {
        let metric = metric.unwrap_or_default();
        InputFault::new(
            &run.path,
            format!("the run has no number called {metric:?}"),
        )
        .hint(suggestion(metric, &known))
    };
    Ok(run_rater(name, &run.scored, metric).map_err(unknown)?)
}

/// The nearest known name, or the known names. The lexical baseline's score is not `score`, but is meant by it.
fn suggestion(typed: &str, known: &[String]) -> String {
    let lexical = format!("lexical_{typed}");
    match known.contains(&lexical) {
        true => format!("did you mean {lexical}?"),
        false => suggest(typed, known.iter().map(String::as_str)),
    }
}

fn require_item(metric: &str, labels: &Labels) -> Result<()> {
    let known: Vec<String> = items(labels).into_iter().map(str::to_owned).collect();
    if known.iter().any(|item| item == metric) {
        return Ok(());
    }
    let hint = suggestion(metric, &known);
    Err(Error::Settings(format!(
        "--metric {metric}: the labels have no such item; {hint}"
    )))
}

fn items(labels: &Labels) -> BTreeSet<&str> {
    labels
        .raters
        .iter()
        .flat_map(|rater| &rater.ratings)
        .filter_map(|rating| rating.item.as_deref())
        .collect()
}

/// Raters without shared items have no agreement, which differs from disagreement: a fault of the input.
fn require_shared(agreement: &RaterAgreement, labels: &Labels) -> Result<()> {
    let most = agreement
        .pairs
        .iter()
        .map(|pair| pair.overall.n)
        .max()
        .unwrap_or(0);
    if most > 1
        || agreement
            .pairs
            .iter()
            .any(|pair| pair.overall.comparisons.is_some())
    {
        return Ok(());
    }
    let is_item = agreement.options.level == AgreementLevel::Item;
    let unit = if is_item { "item" } else { "answer" };
    let what = match most {
        1 => format!(
            "no two raters share more than one {unit}; agreement needs two {unit}s that both rated"
        ),
        _ => format!("no two raters rated the same {unit}"),
    };
    let items = items(labels);
    let mut rated = labels.raters.iter().flat_map(|rater| &rater.ratings);
    let hint = match items.first() {
        Some(first) if !is_item && agreement.options.metric.is_none() && rated.all(|rating| rating.item.is_some()) => {
            let items = list(items.iter().copied(), 3);
            format!("all labels are of items ({items}); add --level item, or --metric {first:?}")
        }
        _ => {
            "check that system and case_id are written as in the run, or choose another --level or --metric".to_owned()
        }
    };
    Err(Error::Settings(format!("{what}; {hint}")))
}

/// A note about the labels of answers that a run does not have, with the unknown systems and cases.
///
/// # Errors
/// When no run has any answer with a label.
fn missing_answers<'a>(
    runs: &'a [RecordedRun],
    judges: &[Rater],
    labels: &'a Labels,
) -> Result<Vec<Note>> {
    let mut labeled: Vec<(&SystemName, &CaseId)> = Vec::new();
    for rater in &labels.raters {
        let pairs = rater.preferences.iter().map(|made| &made.pair);
        labeled.extend(
            pairs.flat_map(|pair| [(&pair.first, &pair.case_id), (&pair.second, &pair.case_id)]),
        );
        labeled.extend(
            rater
                .ratings
                .iter()
                .map(|rating| (&rating.system, &rating.case_id)),
        );
    }
    let mut notes = Vec::new();
    let mut faults = Vec::new();
    for (run, judge) in runs.iter().zip(judges) {
        let answers = answers(run);
        let missing: Vec<_> = labeled
            .iter()
            .copied()
            .filter(|answer| !answers.contains(answer))
            .collect();
        if missing.is_empty() {
            continue;
        }
        let unknown = |what: &str, of: fn((&'a SystemName, &'a CaseId)) -> &'a str| {
            let known: BTreeSet<&str> = answers.iter().copied().map(of).collect();
            let names: BTreeSet<&str> = missing
                .iter()
                .copied()
                .map(of)
                .filter(|name| !known.contains(name))
                .collect();
            if names.is_empty() {
                return String::new();
            }
            format!(
                "; no such {what}: {} (the run has {})",
                list(names, 3),
                list(known, 5)
            )
        };
        let unknown = unknown("system", |answer| answer.0.as_str())
            + &unknown("case", |answer| answer.1.as_str());
        if missing.len() == labeled.len() {
            let what = format!("no label is of an answer in this run{unknown}");
            faults.push(
                InputFault::new(&run.path, what).hint("write system and case_id as in the run"),
            );
        }
        let (missing, all, name) = (missing.len(), labeled.len(), &judge.name);
        notes.push(Note::warning(format!(
            "{missing} of {all} labels are of answers that are not in {name}{unknown}."
        )));
    }
    if faults.len() == runs.len() {
        no_faults(faults)?;
    }
    Ok(notes)
}

fn answers(run: &RecordedRun) -> BTreeSet<(&SystemName, &CaseId)> {
    run.scored
        .iter()
        .map(|answer| (&answer.system, &answer.case.case_id))
        .collect()
}

fn run_notes(run: &RecordedRun, judge: &Rater) -> Vec<Note> {
    let (mut notes, name) = (Vec::new(), &judge.name);
    if run.manifest.status != RunStatus::Complete {
        notes.push(Note::warning(format!(
            "{name}: the run did not finish; missing answers are left out."
        )));
    }
    if run.manifest.is_lexical() {
        notes.push(Note::warning(format!(
            "{name}: scored by the built-in lexical baseline, not by an LLM."
        )));
    }
    let whole = judge.ratings.iter().filter(|rating| rating.item.is_none());
    let scored: BTreeSet<_> = whole
        .map(|rating| (&rating.system, &rating.case_id))
        .collect();
    let all = answers(run).len();
    if scored.len() < all {
        let unscored = all - scored.len();
        notes.push(Note::warning(format!(
            "{name}: {unscored} of {all} answers have no value and are left out."
        )));
    }
    notes
}
