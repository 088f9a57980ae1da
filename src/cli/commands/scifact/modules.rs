//! `scifact retrieval|rationales|labels`: scores of the three modules.

use std::path::Path;

use serde_json::{Map, Value, json};

use super::joined::check_ids;
use super::{counted, each_file, no_faults, show, system_names, unscored_row};
use crate::cli::ExitCode;
use crate::cli::args::{FilesArgs, LabelsArgs, Structure};
use crate::cli::commands::Context;
use crate::dataset::scifact::{Corpus, load_claims, load_corpus, load_labels, load_rationales, load_retrievals};
use crate::domain::Mode;
use crate::domain::scifact::{Claim, ClaimId, DocId, Label, LabelPrediction, Raised};
use crate::error::{InputFault, Result};
use crate::report::{ScoreRow, ScoreTable};
use crate::scorer::scifact::{ClassScores, LabelScores, Prf, score_labels, score_rationales, score_retrieval};
use crate::stats::{BcaOptions, bca_sums_intervals};

/// A system's row and what is to be said about it.
type Scored = (ScoreRow, Vec<String>);

/// Reads gold and files, scores each, makes the table.
fn table<T>(
    args: &FilesArgs,
    title: &str,
    names: &[&str],
    load: impl Fn(&Path, Mode) -> Result<Vec<T>>,
    place: impl Fn(&T) -> (&ClaimId, usize),
    score: impl Fn(&str, &[Claim], &[T]) -> Result<Scored, Raised>,
) -> Result<ScoreTable> {
    let mode = args.out.mode();
    let claims = load_claims(&args.gold, mode)?;
    let files = each_file(&args.files, |path| load(path, mode))?;
    if mode == Mode::Default {
        for (path, lines) in args.files.iter().zip(&files) {
            check_ids(&claims, lines.iter().map(&place), path)?;
        }
    }
    let as_reference = if mode == Mode::Compat { ", as the reference scores" } else { "" };
    let mut scores = ScoreTable {
        title: format!("SciFact {title}{as_reference}"),
        names: names.iter().map(|name| (*name).to_owned()).collect(),
        shown: (0..names.len()).collect(),
        ..ScoreTable::default()
    };
    for (system, lines) in system_names(&args.files).iter().zip(&files) {
        match score(system, &claims, lines) {
            Ok((row, notes)) => {
                scores.rows.push(row);
                scores.notes.extend(notes);
            }
            Err(raised) => scores.rows.push(unscored_row(system, &raised)),
        }
    }
    scores.notes.push(super::intervals_note(claims.len(), args.out.seed));
    Ok(scores)
}

/// A row with the intervals of statistics of summed counts. What has no value has no interval.
fn row<const C: usize, const K: usize>(
    system: &str,
    values: [Option<f64>; K],
    counts: &[[f64; C]],
    statistic: impl Fn(&[f64; C]) -> [f64; K] + Sync,
    seed: u64,
) -> ScoreRow {
    let intervals = bca_sums_intervals(counts, statistic, BcaOptions::seeded(seed));
    let ends = intervals
        .iter()
        .zip(&values)
        .map(|(interval, value)| interval.filter(|_| value.is_some()).map(|interval| (interval.low, interval.high)));
    ScoreRow { system: system.to_owned(), values: values.to_vec(), intervals: ends.collect(), ..ScoreRow::default() }
}

/// Notes of what is in one file only.
fn unmatched(system: &str, claims: usize, missing: &str, predictions: usize) -> Vec<String> {
    let told = [
        (claims, "claim", format!("without a prediction: {missing}")),
        (predictions, "prediction", "for claims that are not in the gold: counted nowhere".to_owned()),
    ];
    let told = told.into_iter().filter(|(count, _, _)| *count > 0);
    told.map(|(count, noun, what)| format!("{system}: {} {what}", counted(count, noun))).collect()
}

fn missing(mode: Mode, default: &'static str) -> &'static str {
    if mode == Mode::Compat { "the reference forgets them" } else { default }
}

/// `scifact retrieval`.
///
/// # Errors
/// Every fault of the files.
pub(super) fn retrieval(args: &FilesArgs, context: &Context<'_>) -> Result<ExitCode> {
    let mode = args.out.mode();
    let score = |system: &str, claims: &[Claim], lines: &[_]| {
        let scored = score_retrieval(claims, lines, mode)?;
        let mut notes =
            unmatched(system, scored.claims_unpredicted, missing(mode, "they are no hits"), scored.predictions_unknown);
        if scored.text_ids > 0 {
            let ids = counted(scored.text_ids, "abstract id");
            notes.push(format!("{system}: {ids} in quotes: they match nothing; write numbers in doc_ids"));
        }
        let counts: Vec<[f64; 3]> = scored.claims.iter().map(|[one, all]| [*one, *all, 1.0]).collect();
        let shares = |sums: &[f64; 3]| [sums[0] / sums[2], sums[1] / sums[2]];
        Ok((row(system, [scored.hit_one(), scored.hit_all()], &counts, shares, args.out.seed), notes))
    };
    let scores = table(
        args,
        "abstract retrieval",
        &["hit_one", "hit_all"],
        load_retrievals,
        |line| (&line.claim_id, line.line),
        score,
    )?;
    show(scores, &[1, 0], &args.out, context)
}

/// `scifact rationales`.
///
/// # Errors
/// Every fault of the files.
pub(super) fn rationales(args: &FilesArgs, context: &Context<'_>) -> Result<ExitCode> {
    let mode = args.out.mode();
    let score = |system: &str, claims: &[Claim], lines: &[_]| {
        let scored = score_rationales(claims, lines, mode)?;
        let of = |measure: Prf| [measure.precision, measure.recall, measure.f1];
        let notes = unmatched(
            system,
            scored.claims_unpredicted,
            missing(mode, "they count in recall"),
            scored.predictions_unknown,
        );
        let statistic = |sums: &[f64; 3]| of(Prf::of(sums[0], sums[1], sums[2]));
        Ok((row(system, of(scored.measure()).map(Some), &scored.claims, statistic, args.out.seed), notes))
    };
    let names = ["precision", "recall", "f1"];
    let scores =
        table(args, "rationale selection", &names, load_rationales, |line| (&line.claim_id, line.line), score)?;
    show(scores, &[2], &args.out, context)
}

/// `scifact labels`.
///
/// # Errors
/// Every fault of the files.
pub(super) fn labels(args: &LabelsArgs, context: &Context<'_>) -> Result<ExitCode> {
    let files = &args.files;
    let mode = files.out.mode();
    let corpus = args.corpus.as_deref().map(load_corpus).transpose()?;
    let keep = |doc_id: DocId| match (args.filter, &corpus) {
        (Some(which), Some(corpus)) => corpus.is_structured(doc_id) == Some(which == Structure::Structured),
        _ => true,
    };
    if let Some(corpus) = &corpus {
        let loaded = each_file(&files.files, |path| Ok(unknown_abstracts(corpus, &load_labels(path, mode)?, path)))?;
        no_faults(loaded.concat())?;
    }
    let score = |system: &str, claims: &[Claim], lines: &[_]| {
        let scored = score_labels(claims, lines, keep, mode)?;
        let values =
            [scored.accuracy(), scored.macro_f1(), scored.macro_f1_without_nei(), scored.gold_input_accuracy()];
        let mut row = row(system, values, &scored.claims, LabelScores::summary, files.out.seed);
        row.more = more(&scored);
        let missing = missing(mode, "they count nowhere");
        let mut notes = unmatched(system, scored.claims_unpredicted, missing, scored.predictions_unknown);
        notes.extend(confusion_notes(system, &scored));
        Ok((row, notes))
    };
    let names = ["accuracy", "macro_f1", "macro_f1_without_nei", "gold_input_accuracy"];
    let scores = table(files, "label prediction", &names, load_labels, |line| (&line.claim_id, line.line), score)?;
    show(scores, &[1, 0], &files.out, context)
}

fn unknown_abstracts(corpus: &Corpus, lines: &[LabelPrediction], path: &Path) -> Vec<InputFault> {
    let labels = lines.iter().flat_map(|line| line.labels.iter().map(move |(doc_id, _)| (line, *doc_id)));
    let unknown = labels.filter(|(_, doc_id)| corpus.sentences(*doc_id).is_none());
    let fault = |(line, doc_id): (&LabelPrediction, DocId)| {
        let fault = InputFault::new(path, format!("abstract {doc_id} is not in the corpus")).at_line(line.line);
        fault.of_case(line.claim_id.to_string()).hint("check the id, or the corpus")
    };
    unknown.map(fault).collect()
}

fn more(scored: &LabelScores) -> Map<String, Value> {
    let mut more = Map::new();
    more.insert("classes".to_owned(), serde_json::to_value(scored.classes()).unwrap_or_default());
    let confusion = json!({"order": Label::ALL, "true_by_predicted": scored.confusion()});
    more.insert("confusion".to_owned(), confusion);
    more
}

/// Scores by label and the confusion matrix.
fn confusion_notes(system: &str, scored: &LabelScores) -> Vec<String> {
    let confusion = scored.confusion();
    let class = |class: &ClassScores| {
        let [contradict, nei, support] = confusion[class.label as usize];
        format!(
            "{system}: {}: P {:.1}, R {:.1}, F1 {:.1}; predicted CONTRADICT {contradict}, NOT_ENOUGH_INFO {nei}, SUPPORT \
             {support}",
            class.label,
            100.0 * class.precision,
            100.0 * class.recall,
            100.0 * class.f1
        )
    };
    let mut notes: Vec<String> = scored.classes().iter().map(class).collect();
    if let Err(raised) = &scored.gold_input {
        notes.push(format!("{system}: no gold_input_accuracy: {raised}"));
    }
    notes
}
