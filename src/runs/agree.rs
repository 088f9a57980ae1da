//! Agreement of recorded runs with the labels of people, and of runs with each other.
//!
//! A run becomes a rater by one of its metrics; people come from files of labels; both go to
//! `analysis::rater_agreement`.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::PathBuf;
use std::sync::Arc;

use super::people::PeopleLabels;
use crate::analysis::rater_agreement::{
    AgreementLevel, AgreementOptions, FEWEST_PILOT_LABELS, LabelPlan, Labeled, LabeledBelief,
    RaterAgreement, Reliability, RunVerdicts, label_plans, rater_agreement, reliability, run_rater,
};
use crate::dataset::{Labels, no_faults};
use crate::domain::{CaseId, ComponentKind, Note, Rater, SystemName};
use crate::error::{Error, InputFault, Result};
use crate::record::{RecordedRun, RunStatus, load_run, setting_differences};
use crate::scorer::criteria::CRITERIA;
use crate::text::names::{list, suggest};

/// Differences of runs that leave the judge as it is.
const OTHER_INPUTS: [&str; 4] = [
    "different test cases",
    "different references",
    "different questions",
    "different cases",
];

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
    agreement_of(&load_runs(runs)?, labels, options)
}

/// As [`agree`], for runs that were read.
///
/// # Errors
/// As [`agree`].
pub(super) fn agreement_of(
    runs: &[RecordedRun],
    labels: &[PathBuf],
    options: &AgreementOptions,
) -> Result<RaterAgreement> {
    let (labeled, labels, notes, reliability) = load(runs, labels, options)?;
    let mut agreement = rater_agreement(&labeled, options);
    agreement.reliability = reliability;
    require_shared(&agreement, &labels)?;
    agreement.notes.splice(..0, notes);
    agreement
        .notes
        // Stable: notes of one severity stay in the order of runs, then labels.
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
    let (labeled, ..) = load(&load_runs(runs)?, labels, options)?;
    let plans = label_plans(&labeled, options);
    if plans.is_empty() {
        let message = format!(
            "--plan needs a run and at least {FEWEST_PILOT_LABELS} ratings of its whole answers by people, not all equal; \
             label more answers"
        );
        return Err(Error::Settings(message));
    }
    Ok(plans)
}

fn load_runs(runs: &[PathBuf]) -> Result<Vec<RecordedRun>> {
    runs.iter().map(|dir| load_run(dir)).collect()
}

/// The raters of runs and labels, the labels by themselves, notes on both, and how reliable the probabilities of runs are.
fn load(
    runs: &[RecordedRun],
    labels: &[PathBuf],
    options: &AgreementOptions,
) -> Result<(Labeled, Labels, Vec<Note>, Vec<Reliability>)> {
    let is_given = !labels.is_empty();
    let people = PeopleLabels::load(labels, runs)?;
    let labels = people.labels();
    let metric = options.metric.as_deref();
    let mut raters = judges(runs, &people, metric)?;
    if let Some(metric) = metric.filter(|_| runs.is_empty()) {
        require_item(metric, labels)?;
    }
    let mut notes = missing_answers(runs, &raters, labels)?;
    for (run, rater) in runs.iter().zip(&raters) {
        notes.extend(run_notes(run, rater));
    }
    notes.extend(labels.notes.iter().cloned());
    raters.extend(labels.raters.iter().cloned());
    require_two(&raters, is_given && labels.raters.is_empty())?;
    let verdicts = if is_given {
        verdicts_of(runs, &raters)
    } else {
        Vec::new()
    };
    let labeled = Labeled {
        raters,
        questions: questions_of(runs),
        groups: groups_of(runs),
        probabilities: labels.probabilities.clone(),
        people: people.together(),
        scales: people.scales(),
        verdicts,
    };
    let mut reliabilities = Vec::new();
    for (run, rater) in runs.iter().zip(&labeled.raters) {
        reliabilities.extend(reliability(&rater.name, &beliefs(run, &labeled, labels)));
    }
    let labels = labels.clone();
    Ok((labeled, labels, notes, reliabilities))
}

/// The run's probabilities of criteria with two levels that people labeled, with the labels. Where people are split, they have
/// none.
fn beliefs(run: &RecordedRun, labeled: &Labeled, labels: &Labels) -> Vec<LabeledBelief> {
    let is_met_or_not = is_met_or_not(run);
    let people = labeled
        .people
        .as_ref()
        .map_or(&labels.raters[..], std::slice::from_ref);
    let mut values: HashMap<(&SystemName, &CaseId, &str), Vec<f64>> = HashMap::new();
    for rating in people
        .iter()
        .flat_map(|rater| &rater.ratings)
        .filter(|_| is_met_or_not)
    {
        if let Some(item) = &rating.item {
            let key = (&rating.system, &rating.case_id, &**item);
            values.entry(key).or_default().push(rating.value);
        }
    }
    let mut beliefs = Vec::new();
    for answer in &run.scored {
        let case = &answer.case.case_id;
        for component in &answer.score.components {
            let said = values.get(&(&answer.system, case, &*component.name));
            let (Some(belief), Some(said)) = (&component.belief, said) else {
                continue;
            };
            let name = Arc::from(&*component.name);
            let probability = labels.probabilities.of(&answer.system, case, Some(&name));
            let is_met = said[0] > 0.5;
            let level = f64::from(u8::from(is_met));
            if belief.doubt.is_some() && said.iter().all(|value| (value - level).abs() < 1e-9) {
                beliefs.push(LabeledBelief {
                    probability: belief.expected,
                    is_met,
                    weight: 1.0 / probability.unwrap_or(1.0),
                });
            }
        }
    }
    beliefs
}

/// Whether the criteria of a run are met or not, and nothing between.
fn is_met_or_not(run: &RecordedRun) -> bool {
    let profile = run.manifest.criteria_profile();
    let levels = profile.map_or_else(Vec::new, |profile| profile.reply.levels.clone());
    let credits = levels.iter().map(|level| level.credit);
    levels.len() == 2
        && credits
            .into_iter()
            .all(|credit| credit == 0.0 || credit == 1.0)
}

/// The verdicts of runs whose criteria are met or not; `raters` begin with these runs.
fn verdicts_of(runs: &[RecordedRun], raters: &[Rater]) -> Vec<RunVerdicts> {
    let mut all = Vec::new();
    for (run, rater) in runs.iter().zip(raters) {
        if !is_met_or_not(run) {
            continue;
        }
        let mut same_judge = vec![Arc::clone(&rater.name)];
        for (other, other_rater) in runs.iter().zip(raters) {
            if rater.name != other_rater.name && has_same_judge(run, other) {
                same_judge.push(Arc::clone(&other_rater.name));
            }
        }
        let mut verdicts: BTreeMap<SystemName, Vec<(CaseId, Option<bool>)>> = BTreeMap::new();
        let perturbed = perturbed_systems(run);
        for answer in run
            .scored
            .iter()
            .filter(|answer| answer.score.scorer == CRITERIA.name)
        {
            if perturbed.contains(&answer.system) {
                continue;
            }
            let of_system = verdicts.entry(answer.system.clone()).or_default();
            for component in &answer.score.components {
                if component.kind == ComponentKind::Criterion
                    && let Some(value) = component.value
                {
                    let is_split = (value - 0.5).abs() <= 1e-9;
                    let is_met = (!is_split).then_some(value > 0.5);
                    of_system.push((answer.case.case_id.clone(), is_met));
                }
            }
        }
        verdicts.retain(|_, of_system| !of_system.is_empty());
        all.push(RunVerdicts {
            judge: Arc::clone(&rater.name),
            same_judge,
            verdicts,
        });
    }
    all
}

/// The perturbed copies of systems in a run of `probe`, whose texts no system wrote.
fn perturbed_systems(run: &RecordedRun) -> BTreeSet<SystemName> {
    let systems = run.systems();
    let mut perturbed = BTreeSet::new();
    for perturbation in run.manifest.perturbations() {
        perturbed.extend(systems.iter().map(|system| system.perturbed(perturbation)));
    }
    perturbed
}

/// Whether two runs differ in nothing but their answers, cases and criteria, so that a judge errs in both alike.
fn has_same_judge(run: &RecordedRun, other: &RecordedRun) -> bool {
    let manifests = [("", &run.manifest), ("", &other.manifest)];
    let differences = setting_differences(&manifests, false);
    differences.iter().all(|difference| {
        let of_input = OTHER_INPUTS
            .iter()
            .any(|input| difference.text.starts_with(input));
        !difference.is_judge && of_input
    })
}

/// The judge of each run as a rater: of what people labeled on pages, else by the metric of the run.
fn judges(runs: &[RecordedRun], people: &PeopleLabels, metric: Option<&str>) -> Result<Vec<Rater>> {
    let mut raters = Vec::new();
    for run in runs {
        let name = rater_name(run, runs, people.labels())?;
        let of_units = match people {
            PeopleLabels::OfSheets(unblinded) if metric.is_none() => unblinded.judge(&name, run)?,
            _ => None,
        };
        raters.push(match of_units {
            Some(rater) => rater,
            None => judge(&name, run, metric)?,
        });
    }
    Ok(raters)
}

/// # Errors
/// For fewer than two raters; `is_unfilled` if there are files of labels and no label in them.
fn require_two(raters: &[Rater], is_unfilled: bool) -> Result<()> {
    let only_rater = match raters {
        [] => "none".to_owned(),
        [rater] => rater.name.escape_debug().to_string(),
        _ => return Ok(()),
    };
    let remedy = if is_unfilled {
        "the files of labels hold no value; fill in the column value"
    } else {
        "add labels of people (--labels FILE) or a second run"
    };
    Err(Error::Settings(format!(
        "agreement needs two raters, found only {only_rater}; {remedy}"
    )))
}

/// The question of each case. Answers to one question are not independent evidence: intervals resample questions.
fn questions_of(runs: &[RecordedRun]) -> HashMap<CaseId, Arc<str>> {
    let mut questions: HashMap<CaseId, Arc<str>> = HashMap::new();
    for answer in runs.iter().flat_map(|run| &run.scored) {
        let question = answer.case.initial_prompt.as_str();
        questions.insert(answer.case.case_id.clone(), question.into());
    }
    questions
}

/// The group of each case that has one.
fn groups_of(runs: &[RecordedRun]) -> HashMap<CaseId, Arc<str>> {
    let mut groups: HashMap<CaseId, Arc<str>> = HashMap::new();
    for answer in runs.iter().flat_map(|run| &run.scored) {
        if let Some(group) = &answer.case.group {
            groups.insert(answer.case.case_id.clone(), Arc::clone(&group.name));
        }
    }
    groups
}

/// The run's name, or its path where another rater has that name.
fn rater_name(run: &RecordedRun, runs: &[RecordedRun], labels: &Labels) -> Result<String> {
    let with_name = runs.iter().filter(|other| other.name == run.name).count();
    if with_name == 1 && !is_labeler(&run.name, labels) {
        return Ok(run.name.clone());
    }
    let path = run.path.display().to_string();
    let with_path = runs.iter().filter(|other| other.path == run.path).count();
    if with_path == 1 && !is_labeler(&path, labels) {
        return Ok(path);
    }
    let what = format!("two raters are called {}", path.escape_debug());
    Err(InputFault::new(&run.path, what)
        .hint("name each run once, and give raters in the labels other names")
        .into())
}

/// Whether a rater of the labels has this name.
fn is_labeler(name: &str, labels: &Labels) -> bool {
    labels.raters.iter().any(|rater| *rater.name == *name)
}

/// The run's judge as a rater: its values of the metric.
fn judge(name: &str, run: &RecordedRun, metric: Option<&str>) -> Result<Rater> {
    let rater = run_rater(name, run.manifest.subject, &run.scored, metric);
    Ok(rater.map_err(|known| {
        let metric = metric.unwrap_or_default();
        let what = format!("the run has no number called {metric:?}");
        InputFault::new(&run.path, what).hint(suggestion(metric, &known))
    })?)
}

/// The nearest known name, or the known names. The lexical baseline's score is not `score`, but is meant by it.
fn suggestion(typed: &str, known: &[String]) -> String {
    let lexical = format!("lexical_{typed}");
    if known.contains(&lexical) {
        return format!("did you mean {lexical}?");
    }
    suggest(typed, known.iter().map(String::as_str))
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
    let mut most = 0;
    for pair in &agreement.pairs {
        // One shared item has no spread, and no coefficient is defined.
        if pair.overall.n > 1 || pair.overall.comparisons.is_some() {
            return Ok(());
        }
        most = most.max(pair.overall.n);
    }
    let is_item = agreement.options.level == AgreementLevel::Item;
    let unit = if is_item { "item" } else { "answer" };
    let message = if most == 1 {
        format!(
            "no two raters share more than one {unit}; agreement needs two {unit}s that both rated"
        )
    } else {
        format!("no two raters rated the same {unit}")
    };
    let asks_for_answers = !is_item && agreement.options.metric.is_none();
    let items = items(labels);
    let mut ratings = labels.raters.iter().flat_map(|rater| &rater.ratings);
    let hint = match items.first() {
        Some(first) if asks_for_answers && ratings.all(|rating| rating.item.is_some()) => {
            let items = list(items.iter().copied(), 3);
            format!("all labels are of items ({items}); add --metric {first:?} for one of them, or --level item for all")
        }
        _ => "check that system and case_id are written as in the run, or choose another --level or --metric"
            .to_owned(),
    };
    Err(Error::Settings(format!("{message}; {hint}")))
}

/// An answer by its system and its case.
type AnswerOf<'a> = (&'a SystemName, &'a CaseId);

/// A note about the labels of answers that a run does not have, with the unknown systems and cases.
///
/// # Errors
/// When no run has any answer with a label.
fn missing_answers(runs: &[RecordedRun], judges: &[Rater], labels: &Labels) -> Result<Vec<Note>> {
    let labeled = labeled_answers(labels);
    let mut notes = Vec::new();
    let mut faults = Vec::new();
    for (run, judge) in runs.iter().zip(judges) {
        let answers = answers(run);
        let mut missing = labeled.clone();
        missing.retain(|answer| !answers.contains(answer));
        if missing.is_empty() {
            continue;
        }
        let unknown = unknown("system", systems_of(&missing), systems_of(&answers))
            + &unknown("case", cases_of(&missing), cases_of(&answers));
        if missing.len() == labeled.len() {
            let what = format!("no label is of an answer in this run{unknown}");
            let fault = InputFault::new(&run.path, what);
            faults.push(fault.hint("write system and case_id as in the run"));
        }
        notes.push(Note::warning(format!(
            "{} of {} labels are of answers that are not in {}{unknown}.",
            missing.len(),
            labeled.len(),
            judge.name
        )));
    }
    // Labels of several runs may be in one file, so that one run without any is only noted.
    if faults.len() == runs.len() {
        no_faults(faults)?;
    }
    Ok(notes)
}

/// The answers that the labels are of, once for each label; a preference is of two.
fn labeled_answers(labels: &Labels) -> Vec<AnswerOf<'_>> {
    let mut labeled = Vec::new();
    for rater in &labels.raters {
        for pair in rater.preferences.keys() {
            labeled.push((&pair.first, &pair.case_id));
            labeled.push((&pair.second, &pair.case_id));
        }
        for rating in &rater.ratings {
            labeled.push((&rating.system, &rating.case_id));
        }
    }
    labeled
}

/// `; no such system: a (the run has b, c)`; nothing if all are known.
fn unknown(kind: &str, mut names: BTreeSet<&str>, known: BTreeSet<&str>) -> String {
    names.retain(|name| !known.contains(name));
    if names.is_empty() {
        return String::new();
    }
    let names = list(names, 3);
    format!("; no such {kind}: {names} (the run has {})", list(known, 5))
}

fn systems_of<'a>(answers: impl IntoIterator<Item = &'a AnswerOf<'a>>) -> BTreeSet<&'a str> {
    let systems = answers.into_iter().map(|(system, _)| system.as_str());
    systems.collect()
}

fn cases_of<'a>(answers: impl IntoIterator<Item = &'a AnswerOf<'a>>) -> BTreeSet<&'a str> {
    let cases = answers.into_iter().map(|(_, case)| case.as_str());
    cases.collect()
}

/// The answers of a run; of one that compares them in pairs those of both systems.
fn answers(run: &RecordedRun) -> BTreeSet<AnswerOf<'_>> {
    let mut answers = BTreeSet::new();
    for answer in &run.scored {
        let case = &answer.case.case_id;
        match &answer.systems {
            Some([first, second]) => answers.extend([(first, case), (second, case)]),
            None => answers.extend([(&answer.system, case)]),
        }
    }
    answers
}

fn run_notes(run: &RecordedRun, judge: &Rater) -> Vec<Note> {
    let mut notes = Vec::new();
    let name = &judge.name;
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
    let mut scored: BTreeSet<AnswerOf<'_>> = BTreeSet::new();
    for rating in &judge.ratings {
        if rating.item.is_none() {
            scored.insert((&rating.system, &rating.case_id));
        }
    }
    for pair in judge.preferences.keys() {
        scored.extend([(&pair.first, &pair.case_id), (&pair.second, &pair.case_id)]);
    }
    let all = answers(run).len();
    if scored.len() < all {
        let unscored = all - scored.len();
        notes.push(Note::warning(format!(
            "{name}: {unscored} of {all} answers have no value and are left out."
        )));
    }
    notes
}
