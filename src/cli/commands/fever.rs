//! `scholareval fever score|check`.

mod explained;
mod leaderboard;

use std::collections::BTreeMap;
use std::path::Path;

use super::Context;
use crate::cli::ExitCode;
use crate::cli::args::{FeverCommand, FeverScoreArgs};
use crate::cli::origin::escape_controls;
use crate::cli::settings::OutputFormat;
use crate::cli::terminal::{note, stdout_width, write_form, write_text};
use crate::dataset::fever::{
    FeverGold, Join, JoinedPrediction, PredictionFile, PredictionsRead, Team, check_submission, fever_2018_leaderboard,
    load_teams,
};
use crate::domain::Mode;
use crate::domain::fever::{ClaimId, Label, Prediction, Raised};
use crate::error::{Error, InputFault, Result};
use crate::report::{TableStyle, visible};
use crate::scorer::fever::{Explanation, Tally, explain, score_instance};
use leaderboard::{Leaderboard, System};

pub(super) fn run(command: &FeverCommand, context: &Context<'_>) -> Result<ExitCode> {
    match command {
        FeverCommand::Score(args) => score(args, context),
        FeverCommand::Check { predictions, claims } => check(predictions, claims.as_deref()),
    }
}

fn check(predictions: &Path, claims: Option<&Path>) -> Result<ExitCode> {
    let submission = check_submission(predictions, claims)?;
    for warning in &submission.warnings {
        tell("warning", &warning.to_string());
    }
    let [supports, refutes, not_enough] = submission.labels;
    let claims = match submission.claims {
        Some(count) => format!("all {count} claims predicted, in their order"),
        None => "order and completeness not checked (--claims FILE)".to_owned(),
    };
    let text = format!(
        "{}: {} predictions: {supports} SUPPORTS, {refutes} REFUTES, {not_enough} NOT ENOUGH INFO\n\
         {} with more than 5 sentences (the shared task drops the surplus without penalty)\n{claims}\nno fault found\n",
        visible(&predictions.display().to_string()),
        submission.predictions,
        submission.beyond_limit,
    );
    write_text(&text)?;
    Ok(ExitCode::Ok)
}

fn score(args: &FeverScoreArgs, context: &Context<'_>) -> Result<ExitCode> {
    let mode = if args.compat { Mode::Compat } else { Mode::Default };
    if args.join == Join::Id && args.gold.is_none() {
        return Err(Error::Usage("--join id: give --gold FILE too".to_owned()));
    }
    let teams = args.teams.as_deref().map(load_teams).transpose()?.unwrap_or_default();
    let owners = owners(args, &teams)?;
    let published = if args.beside_published { fever_2018_leaderboard()? } else { Vec::new() };
    let gold = args.gold.as_deref().map(|path| FeverGold::load(path, mode)).transpose()?;
    let gold = match (gold, args.join) {
        (Some(mut gold), Join::Id) => {
            gold.index_ids()?;
            Some(gold)
        }
        (gold, _) => gold,
    };
    if let Some(wanted) = &args.explain {
        return explain_item(args, gold.as_ref(), mode, wanted);
    }
    let mut systems = Vec::new();
    for (path, (user, team)) in args.predictions.iter().zip(owners) {
        let file = PredictionFile { path, gold: gold.as_ref(), join: args.join, mode };
        let (read, tally, raised) = tally(&file, args.max_evidence.0)?;
        if !args.quiet {
            tell_read(&file, &read);
        }
        let scores = match read.raised.or(raised) {
            Some(raised) => Err(raised),
            None => tally.scores(mode),
        };
        let (missing, unknown) = (read.missing.len(), read.unknown);
        systems.push(System { file: path.display().to_string(), user, team, scores, tally, missing, unknown });
    }
    let board = Leaderboard::new(systems, &published, args.max_evidence.0, mode);
    let text = match args.format.unwrap_or_default() {
        OutputFormat::Table => {
            board.table(TableStyle { width: stdout_width().unwrap_or(100), color: context.color, all_notes: false })
        }
        OutputFormat::Json => board.json(),
        OutputFormat::Csv => board.csv(),
    };
    write_form(&text, args.format.unwrap_or_default())?;
    Ok(if board.has_unscored() { ExitCode::TooManyUnscored } else { ExitCode::Ok })
}

/// Adds a file up. Claims that nothing was predicted for count as a wrong label without evidence.
fn tally(file: &PredictionFile<'_>, max_evidence: Option<usize>) -> Result<(PredictionsRead, Tally, Option<Raised>)> {
    let (mut tally, mut raised) = (Tally::default(), None);
    let read = file.read(
        |joined| score_instance(&joined.gold, &joined.prediction, max_evidence),
        |scored| match scored {
            Ok(score) => tally.add(score),
            Err(first) => _ = raised.get_or_insert(first),
        },
    )?;
    let nothing = Prediction::new(Label::read(""), []);
    for gold in read.missing.iter().filter_map(|claim| file.gold?.get(*claim)) {
        if let Ok(score) = score_instance(&gold, &nothing, max_evidence) {
            tally.add(score);
        }
    }
    Ok((read, tally, raised))
}

fn tell_read(file: &PredictionFile<'_>, read: &PredictionsRead) {
    let path = file.path.display();
    for warning in &read.warnings {
        tell("warning", &warning.to_string());
    }
    if read.unknown > 0 {
        tell("warning", &format!("{path}: {} predictions without a claim, left out", read.unknown));
    }
    if let Some(first) = read.missing.first() {
        let id = file.gold.and_then(|gold| gold.id(*first)).map(ToString::to_string).unwrap_or_default();
        let count = read.missing.len();
        tell("warning", &format!("{path}: {count} claims without a prediction count as wrong; the first has id {id}"));
    }
    if read.own_gold > 0 {
        let what = "bring their own gold, which goes before the gold file";
        tell("note", &format!("{path}: {} predictions {what}", read.own_gold));
    }
}

fn tell(kind: &str, text: &str) {
    note(&format!("{kind}: {}", escape_controls(text)));
}

/// User and team of each file: from `--teams`, else the file's name.
fn owners(args: &FeverScoreArgs, teams: &[Team]) -> Result<Vec<(String, String)>> {
    let files: Vec<String> = args.predictions.iter().map(|path| path.display().to_string()).collect();
    let name_of = |path: &Path| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let mut used = vec![false; teams.len()];
    let mut named: Vec<Option<(String, String)>> = Vec::new();
    for (path, file) in args.predictions.iter().zip(&files) {
        let whole = teams.iter().position(|team| team.file == *file);
        let found = whole.or_else(|| teams.iter().position(|team| team.file == name_of(path)));
        named.push(found.map(|at| {
            used[at] = true;
            (teams[at].user.clone(), teams[at].team.clone())
        }));
    }
    if let (Some(unused), Some(path)) = (used.iter().position(|used| !used), &args.teams) {
        let what = format!("no file of predictions is called {}", teams[unused].file);
        return Err(InputFault::new(path, what).hint(format!("given: {}", files.join(", "))).into());
    }
    let mut stems: BTreeMap<String, usize> = BTreeMap::new();
    let stem_of = |path: &Path| path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    args.predictions.iter().for_each(|path| *stems.entry(stem_of(path)).or_default() += 1);
    // Files of one name (predictions.jsonl in a directory each) are told apart by their path.
    let unnamed = |path: &Path, file: &String| match stems.get(&stem_of(path)) {
        Some(1) => stem_of(path),
        _ => file.clone(),
    };
    let pairs = args.predictions.iter().zip(&files).zip(named);
    Ok(pairs.map(|((path, file), named)| named.unwrap_or_else(|| (unnamed(path, file), String::new()))).collect())
}

fn explain_item(args: &FeverScoreArgs, gold: Option<&FeverGold>, mode: Mode, wanted: &str) -> Result<ExitCode> {
    let id = ClaimId::read(wanted.to_owned());
    let mut found: Vec<(String, usize, Explanation)> = Vec::new();
    for path in &args.predictions {
        let file = PredictionFile { path, gold, join: args.join, mode };
        let explained = |joined: &JoinedPrediction<'_>| {
            let is_wanted = joined.id.as_ref() == Some(&id);
            is_wanted.then(|| (joined.line, explain(&joined.gold, &joined.prediction, args.max_evidence.0)))
        };
        file.read(explained, |item| {
            found.extend(item.map(|(line, explanation)| (path.display().to_string(), line, explanation)));
        })?;
    }
    if found.is_empty() {
        let fault = InputFault::new(&args.predictions[0], format!("no prediction has the id {wanted}"));
        return Err(fault.hint("ids are those of the predictions").into());
    }
    let text = match args.format.unwrap_or_default() {
        OutputFormat::Table => explained::text(wanted, &found, args.max_evidence.0),
        OutputFormat::Json => explained::json(wanted, &found, args.max_evidence.0),
        OutputFormat::Csv => {
            return Err(Error::Usage("--format csv: --explain gives table or json".to_owned()));
        }
    };
    write_form(&text, args.format.unwrap_or_default())?;
    Ok(ExitCode::Ok)
}
