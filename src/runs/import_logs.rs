//! Imports Inspect's logs of ScholarQA-CS2 as a run: the verdicts in them are scored again, and the metrics compared with
//! the logged ones.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use super::import::{ImportOptions, ImportedRun, TOLERANCE, import_results};
use crate::dataset::{InspectSample, read_input};
use crate::domain::{
    CaseId, Item, JudgeReply, Mode, REPORT_METRICS, Report, ReportFault, ScoredAnswer, SystemName,
    UnscoredKind, UnscoredReason,
};
use crate::error::{InputFault, Result};
use crate::evaluation::options::EvaluationOptions;
use crate::evaluation::{Evaluation, StopHandle};
use crate::judge::{AskFuture, Judge, JudgeBuilder, JudgeRequest, Outcome};
use crate::record::NoEvents;
use crate::record::{IMPORTED, Manifest, RunStatus};
use crate::scorer::criteria::CRITERIA;

/// The name of the mean of [`REPORT_METRICS`] in logs.
const MEAN: &str = "global_avg";

const KEPT: &str =
    "answers without verdicts that can be scored again keep the metrics of their log";

/// The answers of logs: a judge that repeats the logged verdicts.
#[derive(Clone, Default)]
struct Logged {
    samples: Arc<HashMap<(SystemName, CaseId), InspectSample>>,
    /// Whether any verdicts are for other formulas than ours.
    is_retrieverless: bool,
}

impl Judge for Logged {
    fn ask<'a>(&'a self, request: &'a JudgeRequest) -> AskFuture<'a> {
        let sample = self
            .sample(&request.system, &request.case_id)
            .filter(|_| !self.is_retrieverless);
        let missing = || {
            Outcome::Unscored(UnscoredReason::new(
                UnscoredKind::NotAsked,
                "no verdict in the log",
            ))
        };
        let reply = sample.and_then(|sample| sample.reply(&*request.call.question));
        let outcome = reply.map_or_else(missing, |text| Outcome::Reply(JudgeReply::of_text(text)));
        Box::pin(std::future::ready(Ok(outcome)))
    }
}

impl Logged {
    fn sample(&self, system: &SystemName, case_id: &CaseId) -> Option<&InspectSample> {
        self.samples.get(&(system.clone(), case_id.clone()))
    }

    /// The answer; without logged metrics it is one that the reference drops.
    fn with_error(&self, item: &Item) -> Item {
        let mut item = item.clone();
        let sample = self.sample(&item.answer.system, &item.answer.case_id);
        if let Some(sample) = sample.filter(|sample| sample.metric(MEAN).is_none()) {
            let fault = Some(ReportFault::Dropped(
                sample.error["message"]
                    .as_str()
                    .unwrap_or("no scores in the log")
                    .to_owned(),
            ));
            item.answer.report = Some(Arc::new(Report {
                fault,
                ..Report::default()
            }));
        }
        item
    }

    /// Compares the metrics of an answer with the logged ones, which replace them if there are no verdicts; the manifest
    /// gets the warnings.
    fn compare(&self, answer: &mut Arc<ScoredAnswer>, manifest: &mut Manifest) {
        let Some(sample) = self.sample(&answer.system, &answer.case.case_id) else {
            return;
        };
        // Verdicts of another variant of the task fit none of our formulas: the logged metrics are
        // all that is left of such an answer.
        if answer.score.value.is_none() && sample.metric(MEAN).is_some() {
            let score = &mut Arc::make_mut(answer).score;
            score.value = sample.metric(MEAN);
            score
                .components
                .retain(|component| REPORT_METRICS.contains(&&*component.name));
            for component in &mut score.components {
                (component.value, component.reason) = (sample.metric(&component.name), None);
                // The reference's mean is over the four metrics, so that the components add up to
                // the score again.
                component.weight = 1.0 / REPORT_METRICS.len() as f64;
            }
            if manifest
                .settings
                .insert(IMPORTED.to_owned(), true.into())
                .is_none()
            {
                manifest.warnings.push(KEPT.to_owned());
            }
        }
        for name in REPORT_METRICS.into_iter().chain([MEAN]) {
            let by_verdicts = answer
                .score
                .component(name)
                .map_or(answer.score.value, |component| component.value);
            let logged = sample.metric(name);
            if !logged
                .zip(by_verdicts)
                .map_or(logged == by_verdicts, |(logged, by_verdicts)| {
                    (logged - by_verdicts).abs() <= TOLERANCE
                })
            {
                let [logged, by_verdicts] = [logged, by_verdicts]
                    .map(|value| value.map_or("missing".to_owned(), |it| it.to_string()));
                let place = format!("{} (case {})", answer.system, answer.case.case_id);
                manifest.warnings.push(format!(
                    "{place}: {name} is {logged} in the log, {by_verdicts} by its verdicts"
                ));
            }
        }
    }
}

/// Imports logs of ScholarQA-CS2, or the reference script's results, as a run.
///
/// # Errors
/// Every fault of the files; as [`Evaluation::run`] for logs; when the run cannot be written.
pub async fn import(options: &ImportOptions) -> Result<ImportedRun> {
    match import_logs(options).await? {
        Some(imported) => Ok(imported),
        None => import_results(options),
    }
}

/// Imports logs, each with the answers of one system; `None` if the first file is not a log.
///
/// # Errors
/// For logs of another task than `sqa` or of different judges, and other files beside logs; as [`Evaluation::run`].
async fn import_logs(options: &ImportOptions) -> Result<Option<ImportedRun>> {
    let Some((logged, logged_judge)) = read_logs(options)? else {
        return Ok(None);
    };
    let judge = options.judge.clone().or(logged_judge).unwrap_or_default();
    let settings = settings_of(options);
    let judge = JudgeBuilder::custom(format!("imported:{judge}"), logged.clone());
    let evaluation = Evaluation::from_options(settings)
        .judge(judge)
        .built_in(&CRITERIA);
    let mut prepared = evaluation.prepare().await?;
    prepared.inputs.rubric = prepared
        .inputs
        .rubric
        .iter()
        .map(|item| logged.with_error(item))
        .collect();
    let mut run = prepared.start(&options.out).await?;
    run.ask(&mut NoEvents, &StopHandle::new()).await?;
    let mut record = run.record;
    let mut scored = run.scored;
    let manifest = &mut record.manifest;
    let others = manifest.warnings.len();
    for answer in &mut scored {
        logged.compare(answer, manifest);
    }
    // The first warnings are shown.
    manifest.warnings.rotate_left(others);
    record.finish(RunStatus::Complete, &scored)?;
    Ok(Some(ImportedRun { record, scored }))
}

/// The samples of all logs and the judge of them; `None` if the first file is not a log.
fn read_logs(options: &ImportOptions) -> Result<Option<(Logged, Option<String>)>> {
    let mut samples = HashMap::new();
    let mut judges = BTreeSet::new();
    let mut logged = Logged::default();
    for path in &options.files {
        let log = match read_input(path, options.partial_logs)?.2 {
            None if samples.is_empty() => return Ok(None),
            log => log.unwrap_or_default(),
        };
        judges.insert(log.judge().unwrap_or("unknown").to_owned());
        let task = log.eval["task"].as_str().unwrap_or_default();
        let task = task.rsplit('/').next().unwrap_or_default();
        if !task.starts_with("sqa") || judges.len() > 1 || !options.answers.is_empty() {
            let judges = Vec::from_iter(judges).join(" and ");
            let hint = "one run takes logs of the task sqa (ScholarQA-CS2) by one judge, without --answers";
            return Err(
                InputFault::new(path, format!("task {task}, judged by {judges}")).refuse(hint),
            );
        }
        logged.is_retrieverless |= log.eval["task_args"]["is_retrieverless"] == true;
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        let system = SystemName::from(name.into_owned());
        for sample in log.samples {
            samples.insert((system.clone(), sample.id().into()), sample);
        }
    }
    logged.samples = Arc::new(samples);
    Ok(Some((logged, judges.pop_first())))
}

/// The options of an evaluation that scores the logged answers again.
fn settings_of(options: &ImportOptions) -> EvaluationOptions {
    let mut settings = EvaluationOptions::default();
    settings.cases.tests = match &options.tests {
        Some(tests) => Some(tests.clone()),
        // A log has the test cases, too.
        None => options.files.first().cloned(),
    };
    settings.input.answers.clone_from(&options.files);
    settings.input.partial_logs = options.partial_logs;
    // The log was made by the reference, so that only its rules can give its numbers.
    settings.scoring.compat = options.mode != Some(Mode::Default);
    // What the evaluation dropped is not a failure of the import.
    settings.scoring.max_unscored = 1.0;
    settings.output.label.clone_from(&options.run_label);
    settings.output.overwrite = options.overwrite;
    settings
}
