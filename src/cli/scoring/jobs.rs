//! The scorers of a run and their jobs; what a record has to hold so that they can be made again.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::domain::{Aspect, Mode, Role, RubricParts};
use crate::evaluation::options::{EvaluationOptions, ScorerName};
use crate::evaluation::{Item, Job, Options, Panels};
use crate::scorer::Scorer;
use crate::scorer::citation::{CitationAuditScorer, IndexBase};
use crate::scorer::entailment::{EntailmentScorer, Form};
use crate::scorer::overlap::{Measure, OverlapScorer};
use crate::scorer::prometheus::PrometheusScorer;
use crate::scorer::rubric::RubricScorer;

/// Everything that scorers are made from. It can be read back from the settings of a manifest.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::cli) struct ScorerPlan {
    pub(in crate::cli) scorers: Vec<ScorerName>,
    pub(in crate::cli) mode: Mode,
    pub(in crate::cli) parts: RubricParts,
    /// True if the built-in baseline judges the rubric.
    pub(in crate::cli) lexical: bool,
    pub(in crate::cli) aspects: Vec<Arc<Aspect>>,
    pub(in crate::cli) instruction: String,
    pub(in crate::cli) top_n: usize,
    pub(in crate::cli) no_reference: bool,
    pub(in crate::cli) index_base: IndexBase,
    pub(in crate::cli) entail: Form,
    pub(in crate::cli) at_most: usize,
    pub(in crate::cli) max_words: Option<usize>,
    /// What overlap measures.
    pub(in crate::cli) metrics: Vec<Measure>,
    /// Whether any gold names sources.
    pub(in crate::cli) gold_sources: bool,
}

impl ScorerPlan {
    /// What the settings ask for.
    pub(in crate::cli) fn of(
        settings: &EvaluationOptions,
        scorers: &[ScorerName],
        aspects: Vec<Arc<Aspect>>,
        lexical: bool,
    ) -> Self {
        let own = &settings.scorers;
        Self {
            scorers: scorers.to_vec(),
            mode: settings.scoring.mode(),
            parts: settings.scoring.parts(),
            lexical,
            aspects,
            instruction: own.instruction.clone(),
            top_n: own.top_n,
            no_reference: own.no_reference,
            index_base: own.index_base,
            entail: own.entail,
            at_most: own.at_most.get(),
            max_words: own.max_words.map(NonZeroUsize::get),
            metrics: Measure::ALL.to_vec(),
            gold_sources: true,
        }
    }

    /// The settings that a record keeps of the scorers beside the rubric: `scorer.<name>`.
    pub(in crate::cli) fn to_settings(&self) -> BTreeMap<String, Value> {
        let of = |scorer: ScorerName| match scorer {
            ScorerName::Rubric => None,
            ScorerName::Prometheus => Some(json!({
                "aspects": self.aspects,
                "instruction": self.instruction, "top_n": self.top_n, "no_reference": self.no_reference,
                "index_base": self.index_base,
            })),
            ScorerName::Entailment => Some(json!({
                "form": self.entail, "at_most": self.at_most, "index_base": self.index_base,
            })),
            ScorerName::CitationAudit => Some(json!({"index_base": self.index_base, "with_gold": self.gold_sources})),
            ScorerName::Overlap => Some(overlap_settings(&self.metrics, self.max_words)),
        };
        let named = |scorer: &ScorerName| Some((format!("scorer.{}", scorer.as_str()), of(*scorer)?));
        self.scorers.iter().filter_map(named).collect()
    }

    /// What a record kept; `scorers` are names of the manifest.
    pub(in crate::cli) fn from_settings(
        scorers: &[String],
        kept: &BTreeMap<String, Value>,
        (mode, parts, lexical): (Mode, RubricParts, bool),
    ) -> Self {
        let of =
            |scorer: ScorerName, name: &str| kept.get(&format!("scorer.{}", scorer.as_str())).and_then(|v| v.get(name));
        let count = |scorer, name: &str| of(scorer, name).and_then(Value::as_u64).map(|n| n as usize);
        let base = [ScorerName::Prometheus, ScorerName::Entailment, ScorerName::CitationAudit];
        let form = of(ScorerName::Entailment, "form");
        Self {
            scorers: ScorerName::ALL
                .into_iter()
                .filter(|scorer| scorers.iter().any(|name| name == scorer.as_str()))
                .collect(),
            mode,
            parts,
            lexical,
            aspects: of(ScorerName::Prometheus, "aspects").map(read).unwrap_or_default(),
            instruction: of(ScorerName::Prometheus, "instruction")
                .and_then(Value::as_str)
                .unwrap_or_default()
                .to_owned(),
            top_n: count(ScorerName::Prometheus, "top_n").unwrap_or(10),
            no_reference: of(ScorerName::Prometheus, "no_reference").and_then(Value::as_bool).unwrap_or(false),
            index_base: base.into_iter().find_map(|scorer| of(scorer, "index_base")).map(read).unwrap_or_default(),
            entail: form.map(read).unwrap_or_default(),
            at_most: count(ScorerName::Entailment, "at_most").unwrap_or(3),
            max_words: count(ScorerName::Overlap, "max_words"),
            metrics: metrics_of(of(ScorerName::Overlap, "metrics")),
            gold_sources: of(ScorerName::CitationAudit, "with_gold").and_then(Value::as_bool).unwrap_or(true),
        }
    }

    /// The scorer of that name.
    pub(in crate::cli) fn scorer(&self, scorer: ScorerName) -> Arc<dyn Scorer> {
        let (mode, index_base) = (self.mode, self.index_base);
        match scorer {
            ScorerName::Rubric => Arc::new(RubricScorer::new(self.parts, mode).lexical(self.lexical)),
            ScorerName::Prometheus => Arc::new(PrometheusScorer {
                aspects: self.aspects.clone(),
                instruction: self.instruction.as_str().into(),
                top_n: self.top_n,
                index_base,
                mode,
                use_reference: !self.no_reference,
            }),
            ScorerName::Entailment => {
                Arc::new(EntailmentScorer { form: self.entail, at_most: self.at_most, index_base, mode })
            }
            ScorerName::CitationAudit => Arc::new(CitationAuditScorer { index_base, with_gold: self.gold_sources }),
            ScorerName::Overlap => {
                Arc::new(OverlapScorer { metrics: self.metrics.clone(), mode, max_words: self.max_words })
            }
        }
    }

    /// The roles that a scorer asks.
    pub(in crate::cli) fn roles(&self, scorer: ScorerName) -> Vec<Role> {
        match scorer {
            ScorerName::Rubric => vec![Role::Rubric],
            ScorerName::Prometheus => {
                self.aspects.iter().map(|aspect| Role::Aspect(Arc::clone(&aspect.name))).collect()
            }
            ScorerName::Entailment => vec![Role::Citation],
            ScorerName::CitationAudit | ScorerName::Overlap => Vec::new(),
        }
    }

    /// A job for each scorer: the rubric's over `rubric`, the others' over `plain`; `places` tells how many calls its roles
    /// take at once.
    pub(in crate::cli) fn jobs(
        &self,
        (rubric, plain): (&Arc<[Item]>, &Arc<[Item]>),
        panels: &Arc<Panels>,
        options: &Options,
        places: impl Fn(&[Role]) -> usize,
    ) -> Vec<Job> {
        let job = |scorer: &ScorerName| {
            let items = if *scorer == ScorerName::Rubric { rubric } else { plain };
            let concurrency = places(&self.roles(*scorer)).max(1);
            Job {
                items: Arc::clone(items),
                scorer: self.scorer(*scorer),
                panels: Arc::clone(panels),
                options: Arc::new(Options { concurrency, ..options.clone() }),
            }
        };
        self.scorers.iter().map(job).collect()
    }
}

/// What a record keeps of overlap.
pub(in crate::cli) fn overlap_settings(metrics: &[Measure], max_words: Option<usize>) -> Value {
    json!({"metrics": metrics, "max_words": max_words})
}

/// All of them where the record names none.
fn metrics_of(kept: Option<&Value>) -> Vec<Measure> {
    kept.and_then(|kept| serde_json::from_value(kept.clone()).ok()).unwrap_or_else(|| Measure::ALL.to_vec())
}

/// A value that a record keeps; the default where it is something else.
fn read<T: DeserializeOwned + Default>(value: &Value) -> T {
    serde_json::from_value(value.clone()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_is_read_back_from_what_the_record_kept() {
        let aspect = Aspect { name: "coverage".into(), use_title: true, ..Aspect::default() };
        let plan = ScorerPlan {
            scorers: vec![ScorerName::Prometheus, ScorerName::Entailment, ScorerName::Overlap],
            mode: Mode::Default,
            parts: RubricParts::BOTH,
            lexical: false,
            aspects: vec![Arc::new(aspect)],
            instruction: "Answer.".into(),
            top_n: 7,
            no_reference: true,
            index_base: IndexBase::One,
            entail: Form::Short,
            at_most: 2,
            max_words: Some(30),
            metrics: vec![Measure::Words, Measure::Rouge],
            gold_sources: true,
        };
        let names: Vec<String> = plan.scorers.iter().map(|scorer| scorer.as_str().to_owned()).collect();
        let read = ScorerPlan::from_settings(&names, &plan.to_settings(), (plan.mode, plan.parts, plan.lexical));
        assert_eq!(read, plan);
    }
}
