//! Corrects the scores of a run by the verdicts of a dear judge, or of people, on a few of its criteria.

use std::collections::HashMap;
use std::path::Path;

use super::RunSet;
use super::comparable::require_same_answers;
use super::people::PeopleLabels;
use super::run_set::judge_names;
use super::verdict_frame::{VerdictFrame, VerdictKey};
use crate::analysis::comparison::{
    Comparison, ComparisonOptions, CorrectedValue, Observations, VerdictCorrection,
};
use crate::dataset::{SHEET_FILE, load_selected};
use crate::domain::{CaseId, Component, Rater, SystemName, VerdictDraw};
use crate::error::{Error, InputFault, Result};
use crate::record::{RecordedRun, RunStatus, load_run};
use crate::stats::{DrawnVerdict, corrected_values};

/// The verdicts of a dear judge on drawn criteria.
#[derive(Debug, Clone, PartialEq)]
pub struct DearVerdicts {
    judge: String,
    draw: VerdictDraw,
    credits: HashMap<VerdictKey, f64>,
}

impl DearVerdicts {
    /// Reads a run that scored drawn verdicts of `cheap`, or people's labels of these; `None` for a run that scored whole answers.
    ///
    /// # Errors
    /// For a run that is unfinished or of other answer texts, and for labels that are not those of a draw of verdicts.
    pub fn load(path: &Path, cheap: &RunSet) -> Result<Option<Self>> {
        if path.is_dir() && path.join("manifest.json").is_file() {
            return Self::of_run(&load_run(path)?, cheap);
        }
        let is_of_runs = path.is_dir() && !path.join(SHEET_FILE).is_file();
        if is_of_runs || !path.exists() {
            return Ok(None);
        }
        Self::of_people(path, &cheap.runs).map(Some)
    }

    fn of_run(run: &RecordedRun, cheap: &RunSet) -> Result<Option<Self>> {
        let Some(draw) = run
            .manifest
            .selection()
            .and_then(|selection| selection.verdicts)
        else {
            return Ok(None);
        };
        if run.manifest.status != RunStatus::Complete {
            let fault = InputFault::new(&run.path, "the run by the dear judge is unfinished");
            return Err(fault.refuse("run its score command once more"));
        }
        let mut texts = HashMap::new();
        for cheap in &cheap.runs {
            require_same_answers(cheap, run)?;
            texts.extend(components(cheap).map(|(key, component)| (key, component.text.as_str())));
        }
        let mut credits = HashMap::new();
        for (key, component) in components(run) {
            let Some(value) = component.value else {
                continue;
            };
            if texts.get(&key).is_some_and(|text| *text != component.text) {
                let what = format!(
                    "the criterion {} reads otherwise in this run of the dear judge than in the run to correct",
                    key.2.escape_debug()
                );
                let fault = InputFault::new(&run.path, what).of_case(key.1.as_str());
                return Err(fault.refuse("let both judges score by the same rubric"));
            }
            credits.insert(key, value);
        }
        Ok(Some(Self {
            judge: judge_names(&run.manifest),
            draw,
            credits,
        }))
    }

    fn of_people(path: &Path, runs: &[RecordedRun]) -> Result<Self> {
        let labels = PeopleLabels::load(&[path.to_path_buf()], runs)?;
        let draw = match &labels {
            PeopleLabels::OfSheets(unblinded) => unblinded.verdicts,
            PeopleLabels::OfTables(..) => load_selected(path)?.recorded.verdicts,
        };
        let Some(draw) = draw else {
            let what = "these labels are not of drawn verdicts, so that nobody knows how likely each was to be labeled";
            let hint = "draw with label RUN --verdicts N, and label what it draws";
            return Err(InputFault::new(path, what).refuse(hint));
        };
        let raters = labels
            .together()
            .map_or_else(|| labels.labels().raters.clone(), |people| vec![people]);
        let names: Vec<&str> = raters.iter().map(|rater| &*rater.name).collect();
        Ok(Self {
            judge: names.join(", "),
            draw,
            credits: mean_credits(&raters),
        })
    }
}

/// The components of a run's answers.
fn components(run: &RecordedRun) -> impl Iterator<Item = (VerdictKey, &Component)> {
    run.scored.iter().flat_map(|answer| {
        let components = answer.score.components.iter();
        components.map(|component| {
            let case = answer.case.case_id.clone();
            (
                (answer.system.clone(), case, component.name.clone()),
                component,
            )
        })
    })
}

/// The mean of the raters' values of each item.
fn mean_credits(raters: &[Rater]) -> HashMap<VerdictKey, f64> {
    let mut sums: HashMap<VerdictKey, (f64, f64)> = HashMap::new();
    for rating in raters.iter().flat_map(|rater| &rater.ratings) {
        if let Some(item) = &rating.item {
            let key = (
                rating.system.clone(),
                rating.case_id.clone(),
                item.to_string(),
            );
            let sum = sums.entry(key).or_default();
            *sum = (sum.0 + rating.value, sum.1 + 1.0);
        }
    }
    let sums = sums.into_iter();
    let means = sums.map(|(key, (sum, count))| (key, sum / count));
    means.collect()
}

/// The values of the answers by the dear judge's credits of these verdicts, each drawn with its probability.
fn correct(
    frame: &VerdictFrame,
    credits: &HashMap<usize, f64>,
    probabilities: &[f64],
) -> HashMap<(SystemName, CaseId), CorrectedValue> {
    let mut verdicts = Vec::new();
    let mut drawn = vec![0; frame.answers.len()];
    for (at, verdict) in frame.verdicts.iter().enumerate() {
        let dear = credits.get(&at).copied();
        drawn[verdict.answer] += usize::from(dear.is_some());
        verdicts.push(DrawnVerdict {
            answer: verdict.answer,
            weight: verdict.weight,
            cheap: verdict.credit,
            dear,
            probability: probabilities[at],
        });
    }
    let values = corrected_values(&verdicts, frame.answers.len());
    let mut corrected = HashMap::new();
    for (at, (system, case, rest)) in frame.answers.iter().enumerate() {
        let value = CorrectedValue {
            value: values[at] + rest,
            drawn: drawn[at],
        };
        corrected.insert((system.clone(), case.clone()), value);
    }
    corrected
}

impl RunSet {
    /// The systems of one run compared by their scores as they are, and corrected by these dear verdicts.
    ///
    /// # Errors
    /// As [`VerdictFrame::of`]; for several runs; where the verdicts were drawn from another run, or none of them has a credit.
    pub fn corrected_by(
        &self,
        dear: &DearVerdicts,
        path: &Path,
        options: &ComparisonOptions,
    ) -> Result<Comparison> {
        let [run] = &self.runs[..] else {
            return Err(Error::Usage(
                "drawn verdicts correct one run: name only the one that they were drawn from"
                    .to_owned(),
            ));
        };
        let frame = VerdictFrame::of(run)?;
        let Some((drawn, probabilities)) = frame.draw_again(&dear.draw) else {
            let what = format!(
                "its {} verdicts were not drawn from {} as it is: it is another run, or was scored again since",
                dear.draw.verdicts, run.name
            );
            let hint =
                "name the run that they were drawn from, or draw anew (label RUN --verdicts N)";
            return Err(InputFault::new(path, what).refuse(hint));
        };
        let mut credits = HashMap::new();
        for at in &drawn {
            let credit = dear.credits.get(&frame.key(*at));
            credits.extend(credit.map(|credit| (*at, *credit)));
        }
        if credits.is_empty() {
            let fault = InputFault::new(
                path,
                "none of the drawn verdicts has a credit by the dear judge",
            );
            return Err(fault.refuse("let it score the file of the draw (score RUN --selected FILE), or fill in its labels"));
        }
        // A verdict that is not given is taken to be like the others: those given stand for it, each by as much.
        let given = credits.len() as f64 / drawn.len() as f64;
        let probabilities: Vec<f64> = probabilities.iter().map(|p| p * given).collect();
        let corrected = correct(&frame, &credits, &probabilities);
        let observations: Observations = self.observe()?.with_corrected(&corrected);
        Ok(Comparison {
            correction: Some(VerdictCorrection {
                cheap: judge_names(&run.manifest),
                dear: dear.judge.clone(),
                drawn: drawn.len(),
                of: frame.verdicts.len(),
                missing: drawn.len() - credits.len(),
                left_out: frame.left_out,
            }),
            ..self.compare(&observations, options)
        })
    }
}
