//! `scifact merge|oracle|check`: submissions made and checked.

use std::path::Path;

use super::joined::unknown_ids;
use super::{counted, no_faults};
use crate::cli::ExitCode;
use crate::cli::args::{CheckArgs, MergeArgs, OracleArgs};
use crate::cli::terminal;
use crate::dataset::scifact::{
    load_blind_claims, load_claims, load_corpus, load_labels, load_predictions, load_rationales, render_predictions,
};
use crate::domain::Mode;
use crate::domain::scifact::{Claim, ClaimId, Prediction};
use crate::error::{Error, InputFault, Result};
use crate::scorer::scifact::{self, SentenceCap, Unmerged, never_rationalized};

/// `scifact merge`.
///
/// # Errors
/// Every fault of the files, and what is in one of them only.
pub(super) fn merge(args: &MergeArgs) -> Result<ExitCode> {
    let rationales = load_rationales(&args.rationales, Mode::Default)?;
    let labels = load_labels(&args.labels, Mode::Default)?;
    let merged = scifact::merge(&rationales, &labels)
        .map_err(|unmerged| Error::Input(unmerged.iter().map(|one| unmerged_fault(one, args)).collect()))?;
    write(&args.out, &merged)?;
    let undecided: usize = merged.iter().map(|line| line.undecided).sum();
    let left_out = counted(undecided, "abstract");
    terminal::note(&format!("merged {}; left out {left_out} labelled NOT_ENOUGH_INFO", counted(merged.len(), "claim")));
    Ok(ExitCode::Ok)
}

fn unmerged_fault(unmerged: &Unmerged, args: &MergeArgs) -> InputFault {
    let fault = |path: &Path, line: usize, id: &ClaimId, what: String| {
        InputFault::new(path, what).at_line(line).of_case(id.to_string())
    };
    let (rationales, labels) = (&args.rationales, &args.labels);
    match unmerged {
        Unmerged::NoLabels(id, line) => fault(rationales, *line, id, "the claim has no line of labels".to_owned())
            .hint(format!("add one to {}", labels.display())),
        Unmerged::NoRationales(id, line) => fault(labels, *line, id, "the claim has no line of sentences".to_owned())
            .hint(format!("add one to {}", rationales.display())),
        Unmerged::NoLabel(id, doc_id, line) => fault(rationales, *line, id, format!("abstract {doc_id} has no label"))
            .hint(format!("label it in {}, NOT_ENOUGH_INFO to leave it out", labels.display())),
        Unmerged::NoSentences(id, doc_id, line) => {
            fault(labels, *line, id, format!("abstract {doc_id} has no list of sentences"))
                .hint(format!("list them in {}, [] for none", rationales.display()))
        }
    }
}

/// `scifact oracle`.
///
/// # Errors
/// Every fault of the gold.
pub(super) fn oracle(args: &OracleArgs) -> Result<ExitCode> {
    let claims = load_claims(&args.gold, Mode::Default)?;
    let predictions = scifact::oracle(&claims);
    write(&args.out, &predictions)?;
    let abstracts = predictions.iter().map(|line| line.evidence.len()).sum();
    terminal::note(&format!("wrote {} with {}", counted(claims.len(), "claim"), counted(abstracts, "abstract")));
    let missed = never_rationalized(&claims, SentenceCap::Three);
    if !missed.is_empty() {
        let first: Vec<String> = missed.iter().take(5).map(|(id, doc_id)| format!("{doc_id} of claim {id}")).collect();
        terminal::note(&format!(
            "note: {} without a rationale of at most 3 sentences ({}): rationalized is 1 only with --sentence-cap \
             shortest-rationale",
            counted(missed.len(), "abstract"),
            first.join(", ")
        ));
    }
    Ok(ExitCode::Ok)
}

fn write(out: &Path, predictions: &[Prediction]) -> Result<()> {
    let text = render_predictions(predictions);
    if out == Path::new("-") {
        return terminal::write_stdout(text.as_bytes());
    }
    std::fs::write(out, text).map_err(Error::io(out, "create"))
}

/// `scifact check`.
///
/// # Errors
/// Every fault of the submission: what reading finds, unknown claims and, with a corpus, abstracts and sentences that
/// are not in it.
pub(super) fn check(args: &CheckArgs) -> Result<ExitCode> {
    let predictions = load_predictions(&args.predictions, Mode::Default)?;
    let claims = args.claims.as_ref().map(|path| load_blind_claims(path, Mode::Default)).transpose()?;
    let corpus = args.corpus.as_deref().map(load_corpus).transpose()?;
    let mut faults = Vec::new();
    if let Some(claims) = &claims {
        let ids = predictions.iter().map(|line| (&line.claim_id, line.line));
        faults.extend(unknown_ids(claims, ids, &args.predictions));
    }
    if let Some(corpus) = &corpus {
        faults.extend(corpus.faults_of_predictions(&predictions, &args.predictions));
    }
    no_faults(faults)?;
    let abstracts = predictions.iter().map(|line| line.evidence.len()).sum();
    let mut text = format!("ok: {}, {}\n", counted(predictions.len(), "prediction"), counted(abstracts, "abstract"));
    for note in notes(&predictions, claims.as_deref()) {
        text.push_str(&format!("note: {note}\n"));
    }
    for (missing, option) in [(claims.is_none(), "--claims"), (corpus.is_none(), "--corpus")] {
        if missing {
            let what = if option == "--claims" { "claim ids" } else { "abstracts and sentence positions" };
            text.push_str(&format!("note: {what} are not checked: give {option} FILE\n"));
        }
    }
    terminal::write_stdout(text.as_bytes())?;
    Ok(ExitCode::Ok)
}

fn notes(predictions: &[Prediction], claims: Option<&[Claim]>) -> Vec<String> {
    let mut notes = Vec::new();
    let undecided: usize = predictions.iter().map(|line| line.undecided).sum();
    if undecided > 0 {
        notes.push(format!(
            "{} labelled NOT_ENOUGH_INFO: skipped here, refused by the leaderboard",
            counted(undecided, "abstract")
        ));
    }
    let long = predictions.iter().flat_map(|line| &line.evidence).filter(|found| found.sentences.len() > 3).count();
    if long > 0 {
        let long = counted(long, "abstract");
        notes.push(format!("{long} with more than 3 sentences: only the first 3 count towards rationalized"));
    }
    if let Some(claims) = claims {
        let predicted: std::collections::HashSet<_> = predictions.iter().map(|line| &line.claim_id).collect();
        let missing = claims.iter().filter(|claim| !predicted.contains(&claim.id)).count();
        if missing > 0 {
            notes.push(format!("{} without a prediction", counted(missing, "claim")));
        }
        let in_order = claims.iter().map(|claim| &claim.id).eq(predictions.iter().map(|line| &line.claim_id));
        if !in_order {
            notes.push("the leaderboard wants one line for each claim, in the order of the claims file".to_owned());
        }
    }
    notes
}
