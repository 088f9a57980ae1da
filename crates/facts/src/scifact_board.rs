//! Scores SciFact files into leaderboards.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use serde_json::{Map, Value, json};

use super::claims::{ClaimFile, FromLine, count_note, system_names};
use super::leaderboard::{Explanation, Leaderboard, Measurement, ScoredFile};
use super::scifact::{
    COUNTS, ClaimPrediction, Counts, DocId, EvidenceLabel, GoldClaim, MEASURES, SentenceCap,
    explain, measures, score, sums,
};
use super::scifact_files::{Corpus, costly_abstracts};
use super::scifact_modules::{
    LabelCounts, PredictedLabels, Rationales, Retrieved, label_measures, rationale_measures,
    retrieval_measures, score_labels, score_rationales, score_retrieval, scores_by_label,
};
use scholareval_core::domain::{Mode, Note};
use scholareval_core::error::{InputFault, Result};
use scholareval_core::text::names::{counted, grouped};
use scholareval_dataset::{all, no_faults};
use scholareval_stats::{BootstrapOptions, Prf, bca_sums_intervals};

/// The values of a [`Prf`], in order.
const PARTS: [&str; 3] = ["precision", "recall", "f1"];

/// Gold file and files to score.
#[derive(Debug, Clone, Args)]
pub struct ScifactFiles {
    /// Claims with their evidence
    #[arg(long, value_name = "FILE")]
    pub gold: PathBuf,
    /// Predictions, one file a system
    #[arg(required = true, value_name = "PREDICTIONS")]
    pub predictions: Vec<PathBuf>,
    /// Give the numbers of the reference scripts
    #[arg(long)]
    pub compat: bool,
    /// Seed of the resampling behind the intervals
    #[arg(long, value_name = "N", default_value_t = 42)]
    pub seed: u64,
}

/// Options for submissions.
#[derive(Debug, Clone, Args)]
pub struct ScifactOptions {
    /// Gold and submissions.
    #[command(flatten)]
    pub files: ScifactFiles,
    /// Sentences that count towards rationalized: 3 as in the paper, or shortest-rationale as on the leaderboard
    #[arg(
        long,
        value_name = "CAP",
        value_enum,
        default_value_t,
        hide_possible_values = true
    )]
    pub sentence_cap: SentenceCap,
}

/// Structure of the abstracts to count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Structure {
    /// With headed sections.
    Structured,
    /// Without.
    Unstructured,
}

/// Options for predicted labels.
#[derive(Debug, Clone, Args)]
pub struct ScifactLabels {
    /// Gold and files.
    #[command(flatten)]
    pub files: ScifactFiles,
    /// Count only these abstracts: structured or unstructured
    #[arg(
        long,
        value_name = "WHICH",
        value_enum,
        requires = "corpus",
        hide_possible_values = true
    )]
    pub filter: Option<Structure>,
    /// Abstracts; says which are structured
    #[arg(long, value_name = "FILE")]
    pub corpus: Option<PathBuf>,
}

impl ScifactFiles {
    fn mode(&self) -> Mode {
        Mode::of(self.compat)
    }

    fn load<T: FromLine>(&self) -> Result<(ClaimFile<GoldClaim>, Vec<ClaimFile<T>>)> {
        let claims = ClaimFile::<GoldClaim>::load(&self.gold, self.mode())?;
        let files = self.predictions.iter().map(|path| {
            let file = ClaimFile::<T>::load(path, self.mode())?;
            // Compat reports what the reference stops at, in the reference's words.
            if self.mode() == Mode::Default {
                file.must_join(&claims)?;
            }
            Ok(file)
        });
        let files = all(files)?;
        Ok((claims, files))
    }

    /// The leaderboard of these files. `missing` describes how claims without a prediction count.
    fn leaderboard<T>(
        &self,
        title: &str,
        ranked_by: &[&str],
        (claims, files): (ClaimFile<GoldClaim>, Vec<ClaimFile<T>>),
        missing: &str,
        score: impl Fn(&ClaimFile<GoldClaim>, &ClaimFile<T>) -> Result<ScoredFile>,
    ) -> Result<Leaderboard> {
        let compat = if self.compat {
            ", numbers of the reference scripts"
        } else {
            ""
        };
        let missing = if self.compat {
            "the reference leaves them out"
        } else {
            missing
        };
        let BootstrapOptions {
            level,
            resamples,
            seed,
            ..
        } = BootstrapOptions::seeded(self.seed);
        let n = counted(claims.lines.len(), "claim");
        let (level, resamples) = (100.0 * level, grouped(resamples.into()));
        let how = format!(
            "{level:.0}% intervals: BCa bootstrap over {n}, {resamples} resamples, seed {seed}."
        );
        let title = format!("SciFact {title}{compat}; %, {level:.0}% intervals");
        let mut scored = all(files.iter().map(|file| score(&claims, file)))?;
        for (scored, file) in scored.iter_mut().zip(&files) {
            let (unpredicted, unknown) = (claims.unknown(file).len(), file.unknown(&claims).len());
            scored.details["claims"] = claims.lines.len().into();
            scored.details["claims_unpredicted"] = unpredicted.into();
            scored.details["predictions_unknown"] = unknown.into();
            let missing = format!("without a prediction: {missing}");
            let left_out = "for claims that are not in the gold file: they count nowhere";
            let notes = [
                count_note(unpredicted, "claim", &missing),
                count_note(unknown, "prediction", left_out),
            ];
            scored.notes.splice(0..0, notes.into_iter().flatten());
        }
        let systems = system_names(&self.predictions).into_iter().zip(scored);
        let mut board = Leaderboard::of(title, 1, systems, ranked_by);
        board.notes.insert(0, Note::info(how));
        Ok(board)
    }

    /// Measures of summed counts with their intervals.
    fn measure<const C: usize, const K: usize>(
        &self,
        names: [impl Into<String>; K],
        counts: &[[f64; C]],
        statistic: impl Fn(&[f64; C]) -> [f64; K] + Sync,
    ) -> Vec<Measurement> {
        // Of sums, resampled by claim: precision and recall are ratios of sums, for which a mean
        // over claims is another number.
        let intervals = bca_sums_intervals(counts, &statistic, BootstrapOptions::seeded(self.seed));
        let values = statistic(&sums(counts));
        let measured = names.into_iter().zip(values).zip(intervals);
        measured
            .map(|((name, value), interval)| Measurement::new(name, value, interval))
            .collect()
    }

    /// Scores retrieved abstracts: hit one, hit all.
    ///
    /// # Errors
    /// Every fault of the files.
    pub fn retrieval(&self) -> Result<Leaderboard> {
        let files = self.load::<Retrieved>()?;
        self.leaderboard(
            "abstract retrieval",
            &["hit_all", "hit_one"],
            files,
            "they do not count as hits",
            |claims, file| {
                let counts = score_retrieval(claims, file, self.mode())?;
                let ids = file.lines.iter().flat_map(|line| &line.value.0);
                let quoted = ids.filter(|id| !id.is_number()).count();
                let what = "in quotes: they match nothing; write numbers in doc_ids";
                let notes = Vec::from_iter(count_note(quoted, "abstract id", what));
                let metrics = self.measure(["hit_one", "hit_all"], &counts, retrieval_measures);
                Ok(ScoredFile {
                    notes,
                    ..ScoredFile::of(metrics)
                })
            },
        )
    }

    /// Scores selected rationale sentences: precision, recall, F1.
    ///
    /// # Errors
    /// Every fault of the files.
    pub fn rationales(&self) -> Result<Leaderboard> {
        let files = self.load::<Rationales>()?;
        self.leaderboard(
            "rationale selection",
            &["f1"],
            files,
            "they count in recall",
            |claims, file| {
                let counts = score_rationales(claims, file, self.mode())?;
                let metrics = self.measure(PARTS, &counts, rationale_measures);
                Ok(ScoredFile::of(metrics))
            },
        )
    }
}

impl ScifactOptions {
    /// Scores submissions by abstract and by sentence. Ranked by F1 of sentences with label, then of rationalized
    /// abstracts.
    ///
    /// # Errors
    /// Every fault of the files; in compat also input at which the reference fails.
    pub fn leaderboard(&self) -> Result<Leaderboard> {
        let cap = match self.sentence_cap {
            SentenceCap::Three => "first 3 sentences",
            SentenceCap::ShortestRationale => "first max(3, shortest rationale) sentences",
        };
        let title = format!("submissions; rationalized: {cap}; ranked by sentence_label_f1");
        let ranked_by = ["sentence_label_f1", "abstract_rationalized_f1"];
        let files = self.files.load::<ClaimPrediction>()?;
        self.files.leaderboard(
            &title,
            &ranked_by,
            files,
            "they count in recall",
            |claims, file| {
                let counts = score(claims, file, self.sentence_cap, self.files.mode())?;
                let statistic = |sums: &Counts| {
                    let measures = measures(sums).map(Prf::values);
                    std::array::from_fn(|at| measures[at / 3][at % 3])
                };
                let named = COUNTS.iter().zip(sums(&counts));
                let named: Map<String, Value> = named
                    .map(|(name, sum)| ((*name).to_owned(), json!(sum as u64)))
                    .collect();
                let names: [String; 12] =
                    std::array::from_fn(|at| format!("{}_{}", MEASURES[at / 3], PARTS[at % 3]));
                let metrics = self.files.measure(names, &counts, statistic);
                Ok(ScoredFile {
                    metrics,
                    details: json!({"counts": named}),
                    notes: costly_abstracts(file),
                })
            },
        )
    }

    /// Explains the score of the claim with this id, for each system.
    ///
    /// # Errors
    /// Every fault of the files; an unknown claim.
    pub fn explain(&self, id: &str) -> Result<Vec<Explanation>> {
        let (claims, files) = self.files.load::<ClaimPrediction>()?;
        let Some(claim) = claims
            .lines
            .iter()
            .find(|claim| claim.id.to_string() == id.trim())
        else {
            let first: Vec<String> = claims
                .lines
                .iter()
                .take(5)
                .map(|claim| claim.id.to_string())
                .collect();
            let fault = InputFault::new(
                &self.files.gold,
                format!("--explain {id:?}: there is no such claim"),
            );
            let known = format!(
                "it has {}: {}, ..",
                counted(claims.lines.len(), "claim"),
                first.join(", ")
            );
            return Err(fault.refuse(known));
        };
        let explained = system_names(&self.files.predictions)
            .into_iter()
            .zip(&files)
            .map(|(system, file)| {
                let prediction = file
                    .lines
                    .iter()
                    .find(|line| line.id == claim.id)
                    .map(|line| &line.value);
                let findings = explain(
                    &claim.value,
                    prediction,
                    self.sentence_cap,
                    self.files.mode(),
                );
                Explanation {
                    system,
                    claim: format!("{}: {}", claim.id, claim.value.text),
                    findings,
                }
            });
        Ok(explained.collect())
    }
}

impl ScifactLabels {
    /// Scores predicted labels: accuracy, macro F1 and the confusion matrix.
    ///
    /// # Errors
    /// Every fault of the files.
    pub fn leaderboard(&self) -> Result<Leaderboard> {
        let files = self.files.load::<PredictedLabels>()?;
        let corpus = self.corpus.as_deref().map(Corpus::load).transpose()?;
        if let Some(corpus) = &corpus {
            let cited = |labels: &PredictedLabels| {
                labels.0.keys().map(|id| (id.clone(), Vec::new())).collect()
            };
            let faults = files.1.iter().flat_map(|file| corpus.faults(file, cited));
            no_faults(faults.collect())?;
        }
        let keep = |doc_id: &DocId| match (self.filter, &corpus) {
            (Some(which), Some(corpus)) => {
                corpus.is_structured(doc_id) == Some(which == Structure::Structured)
            }
            _ => true,
        };
        let ranked_by = ["macro_f1", "accuracy"];
        self.files.leaderboard("label prediction", &ranked_by, files, "they count nowhere", |claims, file| {
            let counts = score_labels(claims, file, keep, self.files.mode())?;
            let names = ["accuracy", "macro_f1", "macro_f1_without_nei", "gold_input_accuracy"];
            let mut metrics = self.files.measure(names, &counts, label_measures);
            let sums = sums(&counts);
            let mut notes = Vec::new();
            // 0 of 0 labels does not give an accuracy of 0.
            let is_defined = [sums[..9].iter().sum::<f64>() > 0.0, sums[10] > 0.0];
            for (at, metric) in metrics.iter_mut().enumerate().filter(|(at, _)| !is_defined[at / 3]) {
                (metric.estimate, metric.interval) = (None, None);
                if at == 3 && self.files.compat {
                    let what = "the reference has no gold_input_accuracy where abstracts of a claim differ in label.";
                    notes.push(Note::warning(what));
                }
            }
            Ok(ScoredFile { metrics, details: label_details(&sums), notes })
        })
    }
}

fn label_details(sums: &LabelCounts) -> Value {
    let rows: [[u64; 3]; 3] =
        std::array::from_fn(|truly| std::array::from_fn(|at| sums[3 * truly + at] as u64));
    json!({"classes": scores_by_label(sums), "confusion": {"order": EvidenceLabel::ALL, "true_by_predicted": rows}})
}
