//! Exports a run for the datastore of Every Eval Ever, one evaluation per system.
//!
//! The format is version 0.3.0 of its two schemas (`eval.schema.json`, `instance_level_eval.schema.json` of the package
//! every-eval-ever): an aggregate with a result per metric, its interval and its judges, and records of single answers. A record needs
//! a score, so that an answer without one is left out of the records and counted in the result.

use std::collections::{BTreeMap, HashMap};
use std::fs::create_dir_all;
use std::path::{Path, PathBuf};

use chrono::DateTime;
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use super::export::{RunExport, WrittenExport, harmless, numbers_of};
use crate::analysis::{Metric, MetricColumn, ScorerSummary, Summary};
use crate::dataset::with_text;
use crate::domain::{CaseId, GradeMerge, Item, ScoredAnswer, ScorerId, SystemName, Unit};
use crate::error::{Error, Result};
use crate::evaluation::summary;
use crate::files::write_bytes;
use crate::record::{JudgeEntry, RecordedRun, RoleEntry};
use crate::scorer::{ScorerRoles, scorer_named};
use crate::text::names::counted;

/// The version of the schemas.
const VERSION: &str = "0.3.0";
/// Where a system's developer is not known.
const UNKNOWN: &str = "unknown";
/// Sums of weights in another order differ in their last digits.
const ROUNDING: f64 = 1e-9;

/// Who publishes the results, and where they belong in the datastore.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EvaluationSource {
    /// The organization that made the evaluation.
    pub organization: String,
    /// The folder of the datastore, and the name of the data set; that of the run by default.
    pub collection: Option<String>,
    /// The models by system, as `developer/model`; others have the name of their system, and no developer.
    pub models: BTreeMap<String, String>,
}

/// The records of single answers.
#[derive(Default)]
struct AnswerRecords {
    /// One a line.
    lines: String,
    count: usize,
    /// Values without a record: what was not scored.
    unscored: usize,
}

/// An aggregate and its records for each system, below `data/COLLECTION/DEVELOPER/MODEL`. Ids and file names are made of those of
/// the run, so that another export replaces the files.
impl RunExport for EvaluationSource {
    fn write(&self, run: &RecordedRun, out: &Path) -> Result<WrittenExport> {
        let systems = run.systems();
        let is_unknown = |name: &&String| !systems.iter().any(|system| system.as_str() == **name);
        if let Some(unknown) = self.models.keys().find(is_unknown) {
            let message = format!("--id: the run has no system {unknown}");
            return Err(Error::Settings(message));
        }
        let summary = summary(&run.manifest, &run.scored);
        let mut answers = HashMap::new();
        for item in &run.items {
            let item = with_text(item)?;
            let key = (item.answer.system.clone(), item.answer.case_id.clone());
            answers.insert(key, item);
        }
        let (mut count, mut unscored) = (0, 0);
        for system in &systems {
            let evaluation = SystemEvaluation {
                run,
                summary: &summary,
                source: self,
                system,
                answers: &answers,
            };
            let records = evaluation.write(out)?;
            count += records.count;
            unscored += records.unscored;
        }
        let evaluations = counted(systems.len(), "evaluation");
        let note = format!(
            "{} without a record: what was not scored has none, and is counted in the results",
            counted(unscored, "value")
        );
        Ok(WrittenExport {
            contents: format!("{evaluations} with {}", counted(count, "record")),
            note: (unscored > 0).then_some(note),
        })
    }
}

/// One system of the run.
struct SystemEvaluation<'a> {
    run: &'a RecordedRun,
    summary: &'a Summary,
    source: &'a EvaluationSource,
    system: &'a SystemName,
    answers: &'a HashMap<(SystemName, CaseId), Item>,
}

impl SystemEvaluation<'_> {
    fn collection(&self) -> &str {
        self.source.collection.as_deref().unwrap_or(&self.run.name)
    }

    fn write(&self, out: &Path) -> Result<AnswerRecords> {
        let (developer, model) = developer_and_model(self.model());
        let folder: PathBuf = ["data", &harmless(self.collection()), &developer, &model]
            .iter()
            .collect();
        let directory = out.join(&folder);
        create_dir_all(&directory).map_err(Error::io(&directory, "create"))?;
        let id = self.uuid();
        let records = self.records();
        let file = format!("{id}_samples.jsonl");
        write_bytes(&directory.join(&file), records.lines.as_bytes())?;
        let aggregate = self.aggregate(&folder.join(&file), &records);
        let text = format!("{aggregate:#}\n");
        write_bytes(&directory.join(format!("{id}.json")), text.as_bytes())?;
        Ok(records)
    }

    /// The model behind the system.
    fn model(&self) -> &str {
        let known = self.source.models.get(self.system.as_str());
        known.map_or(self.system.as_str(), String::as_str)
    }

    /// A UUID of version 4 in form; made of the run and the system, so that it is the same in every export.
    fn uuid(&self) -> String {
        let named = format!("{}\0{}", self.run.manifest.identity(), self.system.as_str());
        let mut bytes = [0; 16];
        bytes.copy_from_slice(&blake3::hash(named.as_bytes()).as_bytes()[..16]);
        bytes[6] = bytes[6] & 0x0f | 0x40;
        bytes[8] = bytes[8] & 0x3f | 0x80;
        let parts = [
            &bytes[..4],
            &bytes[4..6],
            &bytes[6..8],
            &bytes[8..10],
            &bytes[10..],
        ];
        parts.map(hex).join("-")
    }

    /// `COLLECTION/MODEL/TIME`, as the schema proposes.
    fn evaluation_id(&self) -> String {
        format!("{}/{}/{}", self.collection(), self.model(), self.time())
    }

    /// When the run ended, or began if it did not end.
    fn time(&self) -> String {
        let manifest = &self.run.manifest;
        let finished = manifest.finished_at.as_deref();
        unix_time(finished.unwrap_or(&manifest.started_at))
    }

    fn aggregate(&self, records_path: &Path, records: &AnswerRecords) -> Value {
        let manifest = &self.run.manifest;
        let mut results = Vec::new();
        for scorer in &self.summary.scorers {
            for column in &scorer.columns {
                results.extend(self.result(scorer, column));
            }
        }
        json!({
            "schema_version": VERSION,
            "evaluation_id": self.evaluation_id(),
            "evaluation_timestamp": manifest.started_at,
            "retrieved_timestamp": self.time(),
            "source_metadata": {
                "source_name": self.run.name,
                "source_type": "evaluation_run",
                "source_organization_name": self.source.organization,
                "evaluator_relationship": "other",
            },
            "eval_library": {
                "name": "scholareval",
                "version": manifest.scholareval_version,
                "additional_details": {"mode": format!("{:?}", manifest.mode).to_lowercase()},
            },
            "model_info": model_info(self.model()),
            "evaluation_results": results,
            "detailed_evaluation_results": {
                "format": "jsonl",
                // The datastore has slashes on every system.
                "file_path": records_path.iter().map(|part| part.to_string_lossy()).collect::<Vec<_>>().join("/"),
                "hash_algorithm": "sha256",
                "checksum": sha256(records.lines.as_bytes()),
                "total_rows": records.count,
            },
        })
    }

    /// The result of a metric; `None` where nothing was scored, since a result needs a score.
    fn result(&self, scorer: &ScorerSummary, column: &MetricColumn) -> Option<Value> {
        let metric = scorer.metric(self.system, &column.name)?;
        let score = metric.estimate?;
        let mut config = json!({
            "metric_id": format!("scholareval.{}.{}", scorer.scorer, column.name),
            "metric_name": column.name,
            "metric_unit": unit_name(column.unit),
            // Of a count neither more nor less is better.
            "lower_is_better": false,
            "score_type": "continuous",
            "min_score": bound(column.unit.range().0),
            "max_score": bound(highest(column.unit)),
        });
        if let Some(judged) = self.llm_scoring(&scorer.scorer) {
            config["llm_scoring"] = judged;
        }
        Some(json!({
            "evaluation_result_id": result_id(&scorer.scorer, &column.name),
            "evaluation_name": format!("{}/{}", self.collection(), scorer.scorer),
            "source_data": {
                "dataset_name": self.collection(),
                "source_type": "other",
                "additional_details": self.inputs(),
            },
            "metric_config": config,
            "score_details": self.score_details(score, metric),
        }))
    }

    /// The mean with its interval, what was not scored, and what the mean could be with it.
    fn score_details(&self, score: f64, metric: &Metric) -> Value {
        let mut details = Map::new();
        details.insert("unscored".to_owned(), metric.unscored.to_string().into());
        details.insert("on_unscored".to_owned(), json!(self.summary.on_unscored));
        if let Some(bounds) = metric.bounds {
            let ends = [
                ("lowest_possible_mean", bounds.low),
                ("highest_possible_mean", bounds.high),
            ];
            details.extend(ends.map(|(name, end)| (name.to_owned(), end.to_string().into())));
        }
        let mut uncertainty = json!({"num_samples": metric.n});
        if let Some(interval) = metric.interval {
            uncertainty["confidence_interval"] = json!({
                "lower": interval.low,
                "upper": interval.high,
                "confidence_level": self.summary.level,
                "method": "over questions, as docs/metrics.md of scholareval states for the unit",
            });
        }
        json!({"score": score, "details": details, "uncertainty": uncertainty})
    }

    /// The hashes of the input files.
    fn inputs(&self) -> Map<String, Value> {
        let inputs = self.run.manifest.inputs.iter();
        inputs
            .map(|input| {
                (
                    format!("blake3 {}", input.name),
                    input.blake3.to_string().into(),
                )
            })
            .collect()
    }

    /// The judges of a scorer; `None` if it asked no model.
    fn llm_scoring(&self, scorer: &ScorerId) -> Option<Value> {
        let info = scorer_named(scorer.name())?;
        let mut judges = Vec::new();
        let mut prompts = Vec::new();
        let mut merge = None;
        for (name, role) in &self.run.manifest.roles {
            let is_own = match &info.roles {
                ScorerRoles::One(scorer_role) => scorer_role.name() == *name,
                ScorerRoles::Aspects => name.starts_with("aspect."),
                _ => false,
            };
            if is_own {
                let llms = role.judges.iter().filter(|judge| !judge.lexical);
                judges.extend(llms.map(|judge| judge_config(name, judge)));
                prompts.push(prompts_of(name, role));
                merge = merge.or((role.judges.len() > 1).then_some(role.merge));
            }
        }
        if judges.is_empty() {
            return None;
        }
        let mut scoring = json!({"judges": judges, "input_prompt": prompts.join("; ")});
        if let Some(merge) = merge {
            scoring["aggregation_method"] = aggregation(merge).into();
        }
        Some(scoring)
    }

    /// A record for each value of each answer, one per line.
    fn records(&self) -> AnswerRecords {
        let mut records = AnswerRecords::default();
        let scored = self.run.scored.iter();
        for scored in scored.filter(|scored| scored.system == *self.system) {
            for (name, value) in numbers_of(scored).numbers {
                match value {
                    Some(value) => {
                        records.lines += &self.record(scored, &name, value).to_string();
                        records.lines.push('\n');
                        records.count += 1;
                    }
                    None => records.unscored += 1,
                }
            }
        }
        records
    }

    fn record(&self, scored: &ScoredAnswer, metric: &str, value: f64) -> Value {
        let case = &scored.case;
        let question = case.initial_prompt.as_str();
        let key = (self.system.clone(), case.case_id.clone());
        let item = self.answers.get(&key);
        let answer = item.map_or("", |item| &item.answer.answer_text);
        let highest = highest(self.unit_of(scored, metric));
        json!({
            "schema_version": VERSION,
            "evaluation_id": self.evaluation_id(),
            "model_id": self.model(),
            "evaluation_name": format!("{}/{}", self.collection(), scored.score.scorer),
            "evaluation_result_id": result_id(&scored.score.scorer, metric),
            "sample_id": case.case_id,
            "sample_hash": sha256(question.as_bytes()),
            "interaction_type": "single_turn",
            "input": {"raw": question, "reference": []},
            "output": {"raw": [answer]},
            "messages": null,
            "answer_attribution": [],
            // The schema wants a yes or no of every score: yes is the highest possible one.
            "evaluation": {"score": value, "is_correct": value >= highest - ROUNDING},
            "metadata": {"scorer": scored.score.scorer, "metric": metric},
        })
    }

    /// The unit of a metric, which may be another one than that of the scorer's score: a count of 12 is not above full marks.
    fn unit_of(&self, scored: &ScoredAnswer, metric: &str) -> Unit {
        let mut scorers = self.summary.scorers.iter();
        let scorer = scorers.find(|scorer| scorer.scorer == scored.score.scorer);
        let mut columns = scorer.iter().flat_map(|scorer| &scorer.columns);
        let column = columns.find(|column| column.name == metric);
        column.map_or_else(|| scored.score.unit(), |column| column.unit)
    }
}

/// Developer and model as folders of the datastore.
fn developer_and_model(name: &str) -> (String, String) {
    match name.split_once('/') {
        Some((developer, model)) => (harmless(developer), harmless(model)),
        None => (UNKNOWN.to_owned(), harmless(name)),
    }
}

fn model_info(name: &str) -> Value {
    json!({
        "name": name,
        "id": name,
        "developer": name.split_once('/').map_or(UNKNOWN, |(developer, _)| developer),
        "additional_details": {"deployment_type": UNKNOWN, "model_availability": UNKNOWN},
    })
}

/// A judge with the models that answered for it.
fn judge_config(role: &str, judge: &JudgeEntry) -> Value {
    let mut config =
        json!({"model_info": model_info(judge.model.as_deref().unwrap_or(judge.name()))});
    if let Some(temperature) = judge.settings.get("temperature").and_then(Value::as_f64) {
        config["temperature"] = temperature.into();
    }
    let models = judge.answered_by.iter();
    let answered = models.filter_map(|model| model.model.as_deref());
    config["additional_details"] = json!({
        "role": role,
        "samples": judge.samples.to_string(),
        "answered_by": answered.collect::<Vec<_>>().join(", "),
    });
    config
}

/// The prompts by their label, which has a hash: the record of a run does not hold their texts.
fn prompts_of(name: &str, role: &RoleEntry) -> String {
    let prompts = role.prompts.as_ref();
    let label = prompts.map_or("none", |prompts| &prompts.label);
    format!("{name}: prompts {label}")
}

fn aggregation(merge: GradeMerge) -> &'static str {
    match merge {
        GradeMerge::Mean => "average",
        GradeMerge::Median => "median",
        GradeMerge::MostCommon => "majority_vote",
    }
}

fn result_id(scorer: &ScorerId, metric: &str) -> String {
    format!("{scorer}/{metric}")
}

fn unit_name(unit: Unit) -> &'static str {
    match unit {
        Unit::Share | Unit::Net => "proportion",
        Unit::Grade => "points",
        Unit::Count => "count",
    }
}

/// The highest value of a unit. A net share is at most 1, where every positive weight is earned and no fault is found.
fn highest(unit: Unit) -> f64 {
    match unit {
        Unit::Net => 1.0,
        Unit::Share | Unit::Grade | Unit::Count => unit.range().1,
    }
}

/// An end of a scale as the schema has it.
fn bound(end: f64) -> Value {
    if end == f64::INFINITY {
        "Infinity".into()
    } else if end == f64::NEG_INFINITY {
        "-Infinity".into()
    } else {
        end.into()
    }
}

/// Seconds since 1970, as text, of a time in RFC 3339.
fn unix_time(time: &str) -> String {
    let parsed = DateTime::parse_from_rfc3339(time);
    parsed.map_or_else(|_| "0".to_owned(), |moment| moment.timestamp().to_string())
}

fn sha256(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::analysis::test_support::{answer, component, score};
    use crate::analysis::{AggregateOptions, summarize};
    use crate::domain::{Component, ComponentKind, Mode};
    use crate::record::Manifest;

    /// What the records of an answer with these components say of each metric.
    fn correct(components: Vec<Component>, value: Option<f64>) -> Vec<(String, bool)> {
        let mut score = score(components);
        score.value = value.or(score.value);
        let scored = vec![Arc::new(answer("gpt", "c1", score))];
        let summary = summarize(&scored, &[], AggregateOptions::default());
        let run = RecordedRun {
            path: "runs/r".into(),
            name: "mine".to_owned(),
            manifest: Manifest::begin(Mode::Default),
            items: Vec::new(),
            scored,
        };
        let evaluation = SystemEvaluation {
            run: &run,
            summary: &summary,
            source: &EvaluationSource {
                organization: "Lab".to_owned(),
                collection: Some("set".to_owned()),
                models: BTreeMap::new(),
            },
            system: &"gpt".into(),
            answers: &HashMap::new(),
        };
        let records = evaluation.records().lines;
        let mut by_metric = Vec::new();
        for line in records.lines() {
            let record: Value = serde_json::from_str(line).unwrap();
            let metric = record["metadata"]["metric"].as_str().unwrap().to_owned();
            let is_correct = record["evaluation"]["is_correct"].as_bool().unwrap();
            by_metric.push((metric, is_correct));
        }
        by_metric
    }

    #[test]
    fn only_the_highest_value_of_its_unit_is_correct() {
        let counted = vec![
            component("words", ComponentKind::Count, 0.0, Some(12.0)),
            component("recall", ComponentKind::Share, 0.0, Some(1.0)),
        ];
        let is_correct = |metric: &str, by_metric: &[(String, bool)]| {
            let mut all = by_metric.iter();
            all.find(|(name, _)| name == metric).unwrap().1
        };
        let by_metric = correct(counted, None);
        assert!(!is_correct("words", &by_metric) && is_correct("recall", &by_metric));
        // 0.1 * 3 + 0.7 is a little less than 1.
        let part =
            |name: &str, weight| component(name, ComponentKind::Criterion, weight, Some(1.0));
        let whole = vec![part("a", 0.1), part("b", 0.2), part("c", 0.7)];
        assert!(is_correct(
            "score",
            &correct(whole, Some(0.1 + 0.2 + 0.7 - 1e-16))
        ));
        let net = |fault| {
            let fault = component("fault", ComponentKind::Criterion, -0.5, Some(fault));
            correct(vec![part("a", 1.0), fault], None)
        };
        assert!(is_correct("score", &net(0.0)) && !is_correct("score", &net(1.0)));
    }
}
