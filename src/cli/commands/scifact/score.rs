//! `scifact score`.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use super::explained::render_explanations;
use super::joined::{check_ids, typed_claim};
use super::{counted, each_file, no_faults, show, system_names, unscored_row};
use crate::cli::ExitCode;
use crate::cli::args::ScifactScoreArgs;
use crate::cli::commands::Context;
use crate::cli::settings::OutputFormat;
use crate::cli::terminal;
use crate::dataset::scifact::{load_claims, load_corpus, load_predictions};
use crate::domain::Mode;
use crate::domain::scifact::{Claim, Prediction, Raised};
use crate::error::{Error, Result};
use crate::report::{ScoreRow, ScoreTable};
use crate::scorer::scifact::{Measures, ScoreOptions, SentenceCap, Submission, explain, score};
use crate::stats::{BcaOptions, bca_sums_intervals};

/// Positions of the F1s among the twelve numbers, in the order of the measures.
const F1S: [usize; 4] = [2, 5, 8, 11];

/// Runs the command.
///
/// # Errors
/// Every fault of the files.
pub(super) fn run(args: &ScifactScoreArgs, context: &Context<'_>) -> Result<ExitCode> {
    let mode = args.out.mode();
    let claims = load_claims(&args.gold, mode)?;
    let submissions = each_file(&args.predictions, |path| load_predictions(path, mode))?;
    if mode == Mode::Default {
        check(args, &claims, &submissions)?;
    }
    let names = system_names(&args.predictions);
    if let Some(typed) = &args.explain {
        return explain_claim(args, typed, &claims, &names, &submissions);
    }
    let cap = SentenceCap::from(args.sentence_cap);
    let reference = if mode == Mode::Default { reference_scores(args, cap) } else { Vec::new() };
    let mut scores =
        ScoreTable { title: title(cap, mode), names: metric_names(), shown: F1S.to_vec(), ..ScoreTable::default() };
    for (at, (system, predictions)) in names.iter().zip(&submissions).enumerate() {
        match score(&claims, predictions, ScoreOptions { cap, mode }) {
            Ok(submission) => {
                let reference = reference.get(at);
                scores.notes.extend(notes(system, &submission, mode, cap, reference));
                scores.rows.push(row(system, &submission, args.out.seed, reference));
            }
            Err(raised) => scores.rows.push(unscored_row(system, &raised)),
        }
    }
    scores.notes.push(super::intervals_note(claims.len(), args.out.seed));
    // By sentence_label, then abstract_rationalized.
    show(scores, &[F1S[3], F1S[1]], &args.out, context)
}

fn check(args: &ScifactScoreArgs, claims: &[Claim], submissions: &[Vec<Prediction>]) -> Result<()> {
    for (path, predictions) in args.predictions.iter().zip(submissions) {
        check_ids(claims, predictions.iter().map(|line| (&line.claim_id, line.line)), path)?;
    }
    let Some(path) = &args.corpus else { return Ok(()) };
    let corpus = load_corpus(path)?;
    let mut faults = corpus.faults_of_claims(claims, &args.gold);
    for (path, predictions) in args.predictions.iter().zip(submissions) {
        faults.extend(corpus.faults_of_predictions(predictions, path));
    }
    no_faults(faults)
}

/// What the reference gives for each file.
fn reference_scores(args: &ScifactScoreArgs, cap: SentenceCap) -> Vec<Result<Measures, Raised>> {
    let mode = Mode::Compat;
    let Ok(claims) = load_claims(&args.gold, mode) else { return Vec::new() };
    let of = |path: &PathBuf| {
        let predictions = load_predictions(path, mode).ok()?;
        Some(score(&claims, &predictions, ScoreOptions { cap, mode }).map(|submission| submission.measures()))
    };
    args.predictions.iter().map_while(of).collect()
}

fn title(cap: SentenceCap, mode: Mode) -> String {
    let cap = match cap {
        SentenceCap::Three => "first 3 sentences",
        SentenceCap::ShortestRationale => "first max(3, shortest rationale) sentences",
    };
    let mode = if mode == Mode::Compat { ", as the reference scores" } else { "" };
    format!("SciFact; rationalized: {cap}; best sentence label F1 first{mode}")
}

fn metric_names() -> Vec<String> {
    let of = |measure: &&str| ["precision", "recall", "f1"].map(|part| format!("{measure}_{part}"));
    Measures::NAMES.iter().flat_map(of).collect()
}

fn row(system: &str, submission: &Submission, seed: u64, reference: Option<&Result<Measures, Raised>>) -> ScoreRow {
    let rows: Vec<[f64; 8]> = submission.claims.iter().map(|counts| counts.as_row()).collect();
    let intervals = bca_sums_intervals(&rows, |sums| Measures::of_row(sums).flat(), BcaOptions::seeded(seed));
    let counts = serde_json::to_value(submission.sums()).unwrap_or_default();
    let mut more = Map::new();
    more.insert("claims".to_owned(), submission.claims.len().into());
    more.insert("counts".to_owned(), counts);
    for (name, count) in [
        ("claims_unpredicted", submission.claims_unpredicted),
        ("predictions_unknown", submission.predictions_unknown),
        ("abstracts_undecided", submission.abstracts_undecided),
        ("abstracts_long", submission.abstracts_long),
    ] {
        more.insert(name.to_owned(), count.into());
    }
    if let Some(reference) = reference {
        let value = match reference {
            Ok(measures) => serde_json::to_value(measures).unwrap_or_default(),
            Err(raised) => json!({"exception": raised.exception, "at": raised.at}),
        };
        more.insert("reference".to_owned(), value);
    }
    ScoreRow {
        system: system.to_owned(),
        values: submission.measures().flat().map(Some).to_vec(),
        intervals: intervals.map(|interval| interval.map(|ends| (ends.low, ends.high))).to_vec(),
        unscored: None,
        more,
    }
}

fn notes(
    system: &str,
    scored: &Submission,
    mode: Mode,
    cap: SentenceCap,
    reference: Option<&Result<Measures, Raised>>,
) -> Vec<String> {
    let missing = match mode {
        Mode::Default => "they count in recall",
        Mode::Compat => "the reference forgets them",
    };
    let cut = match cap {
        SentenceCap::Three => "only the first 3 count towards rationalized",
        SentenceCap::ShortestRationale => {
            "only the first 3, or as many as the shortest rationale has, count towards rationalized"
        }
    };
    let told = [
        (scored.claims_unpredicted, "claim", format!("without a prediction: {missing}")),
        (scored.predictions_unknown, "prediction", "for claims that are not in the gold: counted nowhere".to_owned()),
        (scored.abstracts_undecided, "abstract", "labelled NOT_ENOUGH_INFO: left out".to_owned()),
        (scored.abstracts_long, "abstract", format!("with more than 3 sentences: {cut}")),
    ];
    let told = told.into_iter().filter(|(count, _, _)| *count > 0);
    let mut notes: Vec<String> =
        told.map(|(count, noun, what)| format!("{system}: {} {what}", counted(count, noun))).collect();
    notes.extend(reference.and_then(|reference| differs(system, scored, reference)));
    notes
}

/// By how much and why the reference gives other numbers, if it does.
fn differs(system: &str, scored: &Submission, reference: &Result<Measures, Raised>) -> Option<String> {
    let (ours, unpredicted) = (&scored.measures(), scored.claims_unpredicted);
    let reference = match reference {
        Ok(reference) if reference == ours => return None,
        Ok(reference) => reference,
        Err(raised) => return Some(format!("{system}: {raised}, so it has no score")),
    };
    let (ours, theirs) = (ours.flat(), reference.flat());
    let of = |which: &usize| format!("{} {:.1}", metric_names()[*which], 100.0 * theirs[*which]);
    let different: Vec<String> = F1S.iter().filter(|which| ours[**which] != theirs[**which]).map(of).collect();
    let why =
        if unpredicted > 0 { "it forgets claims without a prediction" } else { "it knows no SUPPORTS and REFUTES" };
    Some(format!("{system}: the reference gives {}: {why} (--compat)", different.join(", ")))
}

fn explain_claim(
    args: &ScifactScoreArgs,
    typed: &str,
    claims: &[Claim],
    names: &[String],
    submissions: &[Vec<Prediction>],
) -> Result<ExitCode> {
    let claim = typed_claim(claims, typed, Path::new(&args.gold))?;
    let of = |predictions: &Vec<Prediction>| {
        explain(claim, predictions.iter().find(|line| line.claim_id == claim.id), args.sentence_cap.into())
    };
    let told: Vec<_> = names.iter().cloned().zip(submissions.iter().map(of)).collect();
    let text = match args.out.format.unwrap_or_default() {
        OutputFormat::Table => render_explanations(&told),
        OutputFormat::Json => {
            let systems: Vec<Value> =
                told.iter().map(|(system, told)| json!({"system": system, "explanation": told})).collect();
            let text = serde_json::to_string_pretty(&json!({"schema_version": 1, "systems": systems}));
            text.map_err(|error| Error::Internal(format!("explanation as JSON: {error}")))? + "\n"
        }
        OutputFormat::Csv => return Err(Error::Usage("--format csv: --explain gives table or json".to_owned())),
    };
    terminal::write_form(&text, args.out.format.unwrap_or_default())?;
    Ok(ExitCode::Ok)
}
