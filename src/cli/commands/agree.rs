//! `scholareval agree`: judges against people, against each other, and people among themselves.

mod metric;

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use super::Context;
use crate::analysis::rater_agreement::{
    AgreementLevel, AgreementOptions, Labelled, RaterAgreement, ReversedItem, rater_agreement, reversed_items,
};
use crate::cli::ExitCode;
use crate::cli::args::AgreeArgs;
use crate::cli::settings::OutputFormat;
use crate::cli::terminal::{note, stdout_width, write_form};
use crate::dataset::{Labels, load_labels};
use crate::domain::{CaseId, Rater, SystemName};
use crate::error::{Error, InputFault, Result};
use crate::evaluation::record::{RecordedRun, RunStatus, load_run};
use crate::report::{TableStyle, render_agreement_csv, render_agreement_json, render_agreement_table};

/// Runs the command.
///
/// # Errors
/// When runs or labels cannot be read, or fewer than two raters have something in common.
pub(super) fn run(args: &AgreeArgs, context: &Context<'_>) -> Result<ExitCode> {
    if args.runs.is_empty() && args.labels.is_empty() {
        return Err(Error::Usage(
            "agree needs two raters: --labels A B (two files of labels suffice), --runs A B, or --runs RUN --labels FILE"
                .to_owned(),
        ));
    }
    let runs: Vec<RecordedRun> = args.runs.iter().map(|dir| load_run(dir)).collect::<Result<_>>()?;
    let labels = load_labels(&args.labels)?;
    let names = names_of(&runs, &labels)?;
    let metric = args.metric.as_deref();
    let own = metric::of_runs(&runs, &labels, metric)?;
    let of_runs: Vec<Rater> = runs
        .iter()
        .zip(&names)
        .zip(&own)
        .map(|((run, name), own)| metric::rater(name, run, own.as_deref(), metric))
        .collect();
    let mut raters = of_runs.clone();
    raters.extend(labels.raters.iter().cloned());
    if raters.len() < 2 {
        return Err(one_rater(&raters));
    }
    let questions: HashMap<CaseId, Arc<str>> = runs
        .iter()
        .flat_map(|run| &run.scored)
        .map(|answer| (answer.case.case_id.clone(), Arc::from(answer.case.initial_prompt.as_str())))
        .collect();
    let options = AgreementOptions {
        level: AgreementLevel::from(args.level),
        metric: args.metric.clone(),
        tie_threshold: args.tie_threshold,
        resamples: args.resamples,
        ..AgreementOptions::seeded(args.seed)
    };
    let mut agreement = rater_agreement(&Labelled { raters, questions }, &options);
    let missing = missing(&runs, &names, &labels);
    refuse_nothing_shared(&agreement, &labels, &missing)?;
    agreement.notes.extend(notes(&runs, &of_runs, &labels));
    if !args.quiet {
        missing.iter().for_each(|what| note(&format!("warning: {what}")));
    }
    let text = match args.format.unwrap_or(OutputFormat::Table) {
        OutputFormat::Table => {
            let style = TableStyle { width: stdout_width().unwrap_or(80), color: context.color, all_notes: false };
            render_agreement_table(&agreement, &style)
        }
        OutputFormat::Json => render_agreement_json(&agreement)?,
        OutputFormat::Csv => render_agreement_csv(&agreement),
    };
    write_form(&text, args.format.unwrap_or(OutputFormat::Table))?;
    Ok(ExitCode::Ok)
}

/// A name for each run: its own, or, where two raters would be called so, its path.
fn names_of(runs: &[RecordedRun], labels: &Labels) -> Result<Vec<String>> {
    let taken = |name: &str| {
        let of_runs = runs.iter().filter(|run| run.name == name).count();
        of_runs > 1 || labels.raters.iter().any(|rater| *rater.name == *name)
    };
    let name = |run: &RecordedRun| if taken(&run.name) { run.path.display().to_string() } else { run.name.clone() };
    let names: Vec<String> = runs.iter().map(name).collect();
    for (at, name) in names.iter().enumerate() {
        if names[..at].contains(name) || labels.raters.iter().any(|rater| *rater.name == **name) {
            let fault = InputFault::new(&runs[at].path, format!("two raters are called {}", name.escape_debug()));
            return Err(fault.hint("name each run once, and give raters in the labels other names").into());
        }
    }
    Ok(names)
}

fn one_rater(raters: &[Rater]) -> Error {
    let who =
        raters.first().map_or_else(|| "nobody".to_owned(), |rater| format!("{} alone", rater.name.escape_debug()));
    Error::Settings(format!(
        "agreement needs two raters, found {who}; add labels of people (--labels FILE) or a second run (--runs A B)"
    ))
}

/// Two raters who have nothing in common have no agreement, but neither have they none: that is a fault of the input.
fn refuse_nothing_shared(agreement: &RaterAgreement, labels: &Labels, missing: &[String]) -> Result<()> {
    let most = agreement.pairs.iter().map(|pair| pair.overall.n).max().unwrap_or(0);
    if most > 1 || agreement.pairs.iter().any(|pair| pair.overall.comparisons.is_some()) {
        return Ok(());
    }
    let level = agreement.options.level;
    if most == 1 {
        let (one, needed) = match level {
            AgreementLevel::Item => ("one item", "two items"),
            AgreementLevel::Answer => ("one answer", "two answers"),
            AgreementLevel::System => ("one system", "two systems"),
        };
        let text = format!("no two raters share more than {one}; agreement needs {needed} at least that both rated");
        return Err(Error::Settings(with_missing(text, missing)));
    }
    let count = |rater: &crate::analysis::rater_agreement::RaterSummary| {
        format!("{} {} and {}", rater.name.escape_debug(), rater.ratings, rater.preferences)
    };
    let counts: Vec<String> =
        agreement.raters.iter().filter(|rater| rater.mean_of.is_empty()).take(8).map(count).collect();
    let of = match level {
        AgreementLevel::Item => "items",
        AgreementLevel::Answer | AgreementLevel::System => "whole answers",
    };
    let hint = hint(agreement, labels, missing);
    let text =
        format!("no two raters rated the same thing (ratings of {of} and comparisons: {}); {hint}", counts.join("; "));
    Err(Error::Settings(with_missing(text, missing)))
}

/// What to type where nothing is shared.
fn hint(agreement: &RaterAgreement, labels: &Labels, missing: &[String]) -> String {
    let ratings = || labels.raters.iter().flat_map(|rater| &rater.ratings);
    let items: BTreeSet<&str> = ratings().filter_map(|rating| rating.item.as_deref()).collect();
    let is_whole = agreement.options.level != AgreementLevel::Item && agreement.options.metric.is_none();
    if is_whole && !items.is_empty() && ratings().all(|rating| rating.item.is_some()) {
        let first = items.first().copied().unwrap_or_default().escape_debug().to_string();
        let named = listed("", &items);
        return format!(
            "all labels are of items ({}); add --level item, or --metric {first:?}",
            named.trim_start_matches(": ")
        );
    }
    if !missing.is_empty() {
        return "write system and case_id as they are in the run".to_owned();
    }
    "check that system and case_id are written as in the run, or choose another --level or --metric".to_owned()
}

fn with_missing(text: String, missing: &[String]) -> String {
    [text].iter().chain(missing).map(String::as_str).collect::<Vec<_>>().join("; ")
}

/// Notes for the reader of the result.
fn notes(runs: &[RecordedRun], raters: &[Rater], labels: &Labels) -> Vec<String> {
    let mut notes = labels.notes.clone();
    if labels.repeated > 0 {
        notes.push(format!("{} labels stand in the files more than once and count once", labels.repeated));
    }
    notes.extend(labels.raters.iter().filter_map(turned_round));
    for (run, rater) in runs.iter().zip(raters) {
        let name = &rater.name;
        if run.manifest.status != RunStatus::Complete {
            notes.push(format!("{name}: the run did not finish; what it lacks is left out"));
        }
        if run.manifest.judge.as_ref().is_some_and(|judge| judge.lexical) {
            notes.push(format!("{name}: judged by the built-in lexical baseline, which is no LLM"));
        }
        let scored: BTreeSet<(&SystemName, &CaseId)> = rater
            .ratings
            .iter()
            .filter(|rating| rating.item.is_none())
            .map(|rating| (&rating.system, &rating.case_id))
            .collect();
        let answers: BTreeSet<(&SystemName, &CaseId)> =
            run.scored.iter().map(|answer| (&answer.system, &answer.case.case_id)).collect();
        if scored.len() < answers.len() {
            let missing = answers.len() - scored.len();
            notes.push(format!("{name}: {missing} of {} answers have no value and are left out", answers.len()));
        }
    }
    notes
}

/// How many labels are of answers that each run lacks, with the systems and cases it does not know.
fn missing(runs: &[RecordedRun], names: &[String], labels: &Labels) -> Vec<String> {
    let mut missing = Vec::new();
    for (run, name) in runs.iter().zip(names) {
        let answers: BTreeSet<(&SystemName, &CaseId)> =
            run.scored.iter().map(|answer| (&answer.system, &answer.case.case_id)).collect();
        let systems: BTreeSet<&SystemName> = answers.iter().map(|(system, _)| *system).collect();
        let cases: BTreeSet<&CaseId> = answers.iter().map(|(_, case)| *case).collect();
        let rated = labels.raters.iter().flat_map(|rater| &rater.ratings);
        let rated = rated.map(|rating| (&rating.system, &rating.case_id));
        let compared = labels
            .raters
            .iter()
            .flat_map(|rater| &rater.preferences)
            .flat_map(|made| [(&made.pair.first, &made.pair.case_id), (&made.pair.second, &made.pair.case_id)]);
        let lacking: Vec<(&SystemName, &CaseId)> =
            rated.chain(compared).filter(|answer| !answers.contains(answer)).collect();
        if lacking.is_empty() {
            continue;
        }
        let strangers: BTreeSet<&str> =
            lacking.iter().filter(|(system, _)| !systems.contains(system)).map(|(system, _)| system.as_str()).collect();
        let unknown: BTreeSet<&str> =
            lacking.iter().filter(|(_, case)| !cases.contains(case)).map(|(_, case)| case.as_str()).collect();
        missing.push(format!(
            "{} labels are of answers that {} lacks{}{}",
            lacking.len(),
            name.escape_debug(),
            listed("; no such system", &strangers),
            listed("; no such case", &unknown)
        ));
    }
    missing
}

/// That numbers of a person run against the same person's preferences.
fn turned_round(rater: &Rater) -> Option<String> {
    let found = reversed_items(rater);
    let item = |item: &ReversedItem| format!("{} ({}:{})", item.item.escape_debug(), item.against, item.with);
    let items: Vec<String> = found.iter().map(item).collect();
    (!items.is_empty()).then(|| {
        format!(
            "{}: the numbers of {} run against the same person's preferences (pairs against:with them): if 1 is the best \
             grade, turn them round before use; here more counts as better",
            rater.name.escape_debug(),
            items.join(", ")
        )
    })
}

fn listed(what: &str, names: &BTreeSet<&str>) -> String {
    const SHOWN: usize = 3;
    if names.is_empty() {
        return String::new();
    }
    let cut = |name: &&str| name.chars().take(60).collect::<String>().escape_debug().to_string();
    let shown: Vec<String> = names.iter().take(SHOWN).map(cut).collect();
    let more = names.len().saturating_sub(SHOWN);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{what}: {}{more}", shown.join(", "))
}
