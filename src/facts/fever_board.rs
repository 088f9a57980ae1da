//! From FEVER's files to a leaderboard.

use std::path::{Path, PathBuf};

use clap::Args;
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::claims::{each, no_faults, system_names};
use super::fever::{Explanation, FeverScores, Prediction, Tally, explain, score_instance};
use super::fever_files::{GoldFile, Instance, Join, Predictions, PredictionsRead};
use super::leaderboard::{Leaderboard, Measurement, Standing};
use crate::domain::{Mode, Note};
use crate::error::{Error, InputFault, Result};

/// The leaderboard of the shared task (preliminary results of 2018, <https://fever.ai/2018/task.html>).
const PUBLISHED: &str = include_str!("../../data/fever_2018_leaderboard.csv");

/// What ranks systems, the first first.
const RANKED_BY: [&str; 3] = ["fever_score", "label_accuracy", "evidence_f1"];

/// The measures of one file, the counts behind them, and notes.
type FileScore = (Vec<Measurement>, Map<String, Value>, Vec<Note>);

/// What is scored and how.
#[derive(Debug, Clone, Args)]
pub struct FeverOptions {
    /// Files of predictions, one a system
    #[arg(required = true, value_name = "PREDICTIONS")]
    pub predictions: Vec<PathBuf>,
    /// Gold labels and evidence, for predictions that do not bring their own
    #[arg(long, value_name = "FILE")]
    pub gold: Option<PathBuf>,
    /// How many predicted sentences count for a claim: a number, or all
    #[arg(long, value_name = "N", default_value = "5", value_parser = parse_max_evidence)]
    pub max_evidence: MaxEvidence,
    /// How predictions find their gold in FILE: by order or by id
    #[arg(long, value_name = "HOW", value_enum, default_value_t, hide_possible_values = true)]
    pub join: Join,
    /// CSV of file,user,team for the leaderboard
    #[arg(long, value_name = "FILE")]
    pub teams: Option<PathBuf>,
    /// Add the published leaderboard of the shared task of 2018
    #[arg(long)]
    pub beside_published: bool,
    /// Give the numbers of the reference script
    #[arg(long)]
    pub compat: bool,
}

/// How many predicted sentences count; `None` for all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MaxEvidence(pub Option<usize>);

fn parse_max_evidence(text: &str) -> Result<MaxEvidence, String> {
    match text {
        "all" => Ok(MaxEvidence(None)),
        _ => text.parse().map(|most| MaxEvidence(Some(most))).map_err(|_| "expected a number or all".to_owned()),
    }
}

/// Why a claim scored as it did in one file.
#[derive(Debug, Clone, Serialize)]
pub struct FeverExplanation {
    /// The file of predictions.
    pub file: String,
    /// 1-based line of the prediction.
    pub line: usize,
    /// The rest.
    #[serde(flatten)]
    pub explanation: Explanation,
}

impl FeverOptions {
    fn mode(&self) -> Mode {
        if self.compat { Mode::Compat } else { Mode::Default }
    }

    fn load_gold(&self) -> Result<Option<GoldFile>> {
        if self.join == Join::Id && self.gold.is_none() {
            return Err(Error::Usage("--join id: give --gold FILE too".to_owned()));
        }
        self.gold.as_deref().map(|path| GoldFile::load(path, self.join, self.mode())).transpose()
    }

    fn read<T: Send>(
        &self,
        path: &Path,
        gold: Option<&GoldFile>,
        map: impl Fn(&Instance<'_>) -> T + Sync,
    ) -> Result<PredictionsRead<T>> {
        Predictions { path, gold, join: self.join, mode: self.mode() }.read(map)
    }

    /// Scores every file. Ranked by strict score, ties by label accuracy, then by evidence F1; with published rows, which
    /// have four decimals, by four decimals.
    ///
    /// # Errors
    /// Every fault of the files; in compat also where the reference divides by zero.
    pub fn leaderboard(&self) -> Result<Leaderboard> {
        let owners = self.owners()?;
        let gold = self.load_gold()?;
        let counted = match self.max_evidence.0 {
            Some(most) => format!("first {most} predicted sentences"),
            None => "all predicted sentences".to_owned(),
        };
        let compat = if self.compat { ", numbers of the reference script" } else { "" };
        let title = format!("FEVER, {counted}{compat}");
        let mut board = Leaderboard { title, decimals: Some(4), systems: Vec::new(), notes: Vec::new() };
        let scored = each(&self.predictions, |path| self.score(path, gold.as_ref()))?;
        for ((system, team), (metrics, details, notes)) in owners.into_iter().zip(scored) {
            board.notes.extend(notes);
            board.systems.push(Standing { rank: 0, system, team, published: false, metrics, details });
        }
        if self.beside_published {
            board.systems.extend(published_systems()?);
            board.notes.push(Note::warning(
                "The published rows are preliminary results of the shared task of 2018 on its blind test set: compare \
                 only what was scored on that set.",
            ));
        }
        board.rank(&RANKED_BY, self.beside_published.then_some(4));
        Ok(board)
    }

    /// The measures of one file, counts behind them, and notes.
    fn score(&self, path: &Path, gold: Option<&GoldFile>) -> Result<FileScore> {
        let most = self.max_evidence.0;
        let read = self.read(path, gold, |instance| score_instance(instance.gold, &instance.prediction, most))?;
        let mut tally = Tally::default();
        read.results.into_iter().for_each(|score| tally.add(score));
        let nothing = Prediction::new("", &[]);
        read.missing.iter().for_each(|gold| tally.add(score_instance(gold, &nothing, most)));
        let scores = tally.scores(self.mode());
        if self.compat && scores.precision + scores.recall == 0.0 {
            let what =
                "precision and recall are both 0, of which the reference script makes no F1 (it divides by zero)";
            return Err(InputFault::new(path, what).hint("score without --compat").into());
        }
        let details = json!({
            "file": path.display().to_string(),
            "claims": tally.claims,
            "verifiable": tally.verifiable,
            "labels_correct": tally.labels_correct,
            "strictly_correct": tally.strictly_correct,
            "missing": read.missing.len(),
            "unknown": read.unknown,
        });
        let Value::Object(details) = details else { return Err(Error::Internal("details of a file".to_owned())) };
        Ok((measurements(&scores), details, read.notes))
    }

    /// Why the prediction with this id scored as it did, for each file that has it.
    ///
    /// # Errors
    /// Every fault of the files; no prediction has this id.
    pub fn explain(&self, id: &str) -> Result<Vec<FeverExplanation>> {
        let gold = self.load_gold()?;
        let explained = each(&self.predictions, |path| {
            let read = self.read(path, gold.as_ref(), |instance| {
                let is_wanted = instance.id.as_ref().is_some_and(|own| own.to_string() == id);
                is_wanted.then(|| FeverExplanation {
                    file: path.display().to_string(),
                    line: instance.line,
                    explanation: explain(instance.gold, &instance.prediction, self.max_evidence.0),
                })
            })?;
            Ok(read.results.into_iter().flatten().collect::<Vec<_>>())
        })?;
        let explained = explained.concat();
        if explained.is_empty() {
            let fault = InputFault::new(&self.predictions[0], format!("no prediction has the id {id}"));
            return Err(fault.hint("ids are those of the predictions").into());
        }
        Ok(explained)
    }

    /// User and team of each file: from `--teams`, else the file's name and no team.
    fn owners(&self) -> Result<Vec<(String, String)>> {
        let teams = self.teams.as_deref().map(load_teams).transpose()?.unwrap_or_default();
        let name = |path: &Path| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let is_of = |team: &[String; 3], path: &Path| team[0] == path.display().to_string() || team[0] == name(path);
        let unused = teams.iter().find(|team| !self.predictions.iter().any(|path| is_of(team, path)));
        if let (Some([file, ..]), Some(path)) = (unused, &self.teams) {
            let given: Vec<String> = self.predictions.iter().map(|path| path.display().to_string()).collect();
            let fault = InputFault::new(path, format!("no file of predictions has the name {file}"));
            return Err(fault.hint(format!("given: {}", given.join(", "))).into());
        }
        let owner = |(path, name): (&PathBuf, String)| match teams.iter().find(|team| is_of(team, path)) {
            Some([_, user, team]) => (user.clone(), team.clone()),
            None => (name, String::new()),
        };
        Ok(self.predictions.iter().zip(system_names(&self.predictions)).map(owner).collect())
    }
}

fn measurements(scores: &FeverScores) -> Vec<Measurement> {
    let values = [
        ("evidence_f1", scores.f1),
        ("label_accuracy", scores.label_accuracy),
        ("fever_score", scores.strict_score),
        ("evidence_precision", scores.precision),
        ("evidence_recall", scores.recall),
    ];
    values.map(|(name, value)| Measurement { name, estimate: Some(value), interval: None }).to_vec()
}

/// The rows of the published leaderboard.
fn published_systems() -> Result<Vec<Standing>> {
    let broken = |error: &dyn std::fmt::Display| Error::Internal(format!("data/fever_2018_leaderboard.csv: {error}"));
    let rows =
        csv::Reader::from_reader(PUBLISHED.as_bytes()).into_deserialize::<(usize, String, String, f64, f64, f64)>();
    rows.map(|row| {
        let (_, system, team, f1, accuracy, strict) = row.map_err(|error| broken(&error))?;
        let known = [Some(f1), Some(accuracy), Some(strict), None, None];
        let names = ["evidence_f1", "label_accuracy", "fever_score", "evidence_precision", "evidence_recall"];
        let measured = names.into_iter().zip(known);
        let metrics = measured.map(|(name, estimate)| Measurement { name, estimate, interval: None }).collect();
        Ok(Standing { rank: 0, system, team, published: true, metrics, details: Map::new() })
    })
    .collect()
}

/// Rows of file, user, team; the header and the team may be left out.
fn load_teams(path: &Path) -> Result<Vec<[String; 3]>> {
    let text = std::fs::read(path).map_err(Error::io(path, "read"))?;
    let mut reader = csv::ReaderBuilder::new();
    let reader =
        reader.has_headers(false).flexible(true).trim(csv::Trim::All).from_reader(text.as_slice()).into_records();
    let (mut teams, mut faults): (Vec<[String; 3]>, Vec<InputFault>) = (Vec::new(), Vec::new());
    for row in reader {
        let row = row.map_err(|error| InputFault::new(path, format!("no valid CSV: {error}")))?;
        let line = row.position().map_or(0, |position| position.line() as usize);
        let fault = |what: String| InputFault::new(path, what).at_line(line);
        match row.iter().collect::<Vec<_>>()[..] {
            ["file", "user", "team"] if line == 1 => {}
            [file, ..] if teams.iter().any(|team| team[0] == file) => {
                faults.push(fault(format!("{file} is listed twice")).hint("keep one of the two lines"));
            }
            [file, user] => teams.push([file, user, ""].map(str::to_owned)),
            [file, user, team] => teams.push([file, user, team].map(str::to_owned)),
            _ => faults.push(fault(format!("expected file,user,team, found {} cells", row.len()))),
        }
    }
    no_faults(faults)?;
    Ok(teams)
}
