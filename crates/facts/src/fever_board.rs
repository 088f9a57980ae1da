//! Scores FEVER files into a leaderboard.

use std::path::{Path, PathBuf};

use clap::Args;
use rayon::prelude::*;
use serde_json::json;

use super::claims::{ClaimFile, system_names};
use super::fever::{
    FeverGold, FeverPrediction, FeverScores, InstanceScore, explain, score_instance,
};
use super::fever_files::{Join, Predicted, join};
use super::leaderboard::{Explanation, Leaderboard, Measurement, ScoredFile};
use scholareval_core::domain::Mode;
use scholareval_core::error::{Error, InputFault, Result};
use scholareval_dataset::{all, no_faults};

/// Measures in the order of the published table.
const MEASURES: [&str; 5] = [
    "evidence_f1",
    "label_accuracy",
    "fever_score",
    "evidence_precision",
    "evidence_recall",
];
/// Measures that rank systems, most important first.
const RANKED_BY: [&str; 3] = ["fever_score", "label_accuracy", "evidence_f1"];

/// Options of FEVER scoring.
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
    pub max_evidence: usize,
    /// How predictions find their gold in FILE: by order or by id
    #[arg(
        long,
        value_name = "HOW",
        value_enum,
        default_value_t,
        hide_possible_values = true
    )]
    pub join: Join,
    /// Give the numbers of the reference script
    #[arg(long)]
    pub compat: bool,
}

fn parse_max_evidence(text: &str) -> Result<usize, String> {
    if text == "all" {
        Ok(usize::MAX)
    } else {
        text.parse()
            .map_err(|_| "expected a number or all".to_owned())
    }
}

impl FeverOptions {
    fn mode(&self) -> Mode {
        Mode::of(self.compat)
    }

    fn load_gold(&self) -> Result<Option<ClaimFile<FeverGold>>> {
        if self.join == Join::Id && self.gold.is_none() {
            return Err(Error::Usage("--join id: give --gold FILE too".to_owned()));
        }
        let gold = self
            .gold
            .as_deref()
            .map(|path| ClaimFile::<FeverGold>::load(path, self.mode()))
            .transpose()?;
        if let Some(gold) = gold.as_ref().filter(|_| self.join == Join::Id) {
            // By order a claim may repeat; by id the second would silently replace the first.
            no_faults(gold.repeated())?;
        }
        Ok(gold)
    }

    /// Scores every file. Ranked by strict score, ties by label accuracy, then by evidence F1.
    ///
    /// # Errors
    /// Every fault of the files; in compat also if the reference divides by zero.
    pub fn leaderboard(&self) -> Result<Leaderboard> {
        let gold = self.load_gold()?;
        let counted = match self.max_evidence {
            usize::MAX => "all predicted sentences".to_owned(),
            most => format!("first {most} predicted sentences"),
        };
        let compat = if self.compat {
            ", numbers of the reference script"
        } else {
            ""
        };
        let title = format!("FEVER, {counted}{compat}; in %");
        let scored = all(self
            .predictions
            .iter()
            .map(|path| self.score(path, gold.as_ref())))?;
        let systems = system_names(&self.predictions).into_iter().zip(scored);
        // As many digits as the published table has, which gives shares with four decimals.
        Ok(Leaderboard::of(title, 2, systems, &RANKED_BY))
    }

    fn score(&self, path: &Path, gold: Option<&ClaimFile<FeverGold>>) -> Result<ScoredFile> {
        let file = ClaimFile::<Predicted>::load(path, self.mode())?;
        let joined = join(&file, gold, self.join, self.mode())?;
        let most = Some(self.max_evidence);
        let pairs = joined.pairs.par_iter();
        let mut claims: Vec<InstanceScore> = pairs
            .map(|(line, gold)| score_instance(gold, &line.value.prediction, most))
            .collect();
        // An empty label equals no gold label, so that the claim is wrong in each measure.
        let nothing = FeverPrediction::new("", &[]);
        claims.extend(
            joined
                .missing
                .iter()
                .map(|gold| score_instance(gold, &nothing, most)),
        );
        let scores = FeverScores::of(&claims, self.mode());
        if self.compat && scores.precision + scores.recall == 0.0 {
            let what = "precision and recall are both 0, for which the reference script has no F1 (it divides by zero)";
            return Err(InputFault::new(path, what).refuse("score without --compat"));
        }
        let details = json!({
            "file": path.display().to_string(),
            "claims": claims.len(),
            "verifiable": claims.iter().filter(|claim| claim.precision.is_some()).count(),
            "labels_correct": claims.iter().filter(|claim| claim.label_correct).count(),
            "strictly_correct": claims.iter().filter(|claim| claim.strictly_correct).count(),
            "missing": joined.missing.len(),
            "unknown": joined.unknown,
        });
        let values = [
            scores.f1,
            scores.label_accuracy,
            scores.strict_score,
            scores.precision,
            scores.recall,
        ];
        let measured = MEASURES.into_iter().zip(values);
        let metrics = measured
            .map(|(name, value)| Measurement::new(name, value, None))
            .collect();
        Ok(ScoredFile {
            metrics,
            details,
            notes: joined.notes,
        })
    }

    /// Explains the score of the prediction with this id, for each file that has it.
    ///
    /// # Errors
    /// Every fault of the files; no prediction has this id.
    pub fn explain(&self, id: &str) -> Result<Vec<Explanation>> {
        let gold = self.load_gold()?;
        let mut explained = Vec::new();
        for (path, system) in self.predictions.iter().zip(system_names(&self.predictions)) {
            let file = ClaimFile::<Predicted>::load(path, self.mode())?;
            let pairs = join(&file, gold.as_ref(), self.join, self.mode())?.pairs;
            for (line, gold) in pairs {
                if line.id.to_string() == id {
                    let most = Some(self.max_evidence);
                    explained.push(Explanation {
                        system: system.clone(),
                        claim: id.to_owned(),
                        findings: explain(gold, &line.value.prediction, most),
                    });
                }
            }
        }
        if explained.is_empty() {
            let fault = InputFault::new(
                &self.predictions[0],
                format!("no prediction has the id {id}"),
            );
            return Err(fault.refuse("ids are those of the predictions"));
        }
        Ok(explained)
    }
}
