//! Builds the built-in scorers from options or from a recorded run.

use std::num::NonZeroUsize;
use std::sync::Arc;

use serde::de::DeserializeOwned;

use super::options::{EvaluationOptions, ScorerName};
use super::record::Manifest;
use crate::domain::{Aspect, Item, Mode, RubricParts};
use crate::error::{InputFault, Result};
use crate::scorer::Scorer;
use crate::scorer::citation::{CitationAuditScorer, names_gold_sources};
use crate::scorer::entailment::EntailmentScorer;
use crate::scorer::overlap::OverlapScorer;
use crate::scorer::prometheus::PrometheusScorer;
use crate::scorer::rubric::RubricScorer;

/// The scorer of that name. With `is_lexical` the built-in baseline judges the rubric.
pub(super) fn scorer(
    name: ScorerName,
    options: &EvaluationOptions,
    aspects: &[Arc<Aspect>],
    is_lexical: bool,
    items: &[Item],
) -> Arc<dyn Scorer> {
    let (scorer_options, mode) = (&options.scorers, options.scoring.mode());
    let index_base = scorer_options.index_base;
    match name {
        ScorerName::Rubric => Arc::new(RubricScorer::new(options.scoring.parts(), mode).lexical(is_lexical)),
        ScorerName::Prometheus => Arc::new(PrometheusScorer {
            aspects: aspects.to_vec(),
            instruction: scorer_options.instruction.as_str().into(),
            top_n: scorer_options.top_n,
            index_base,
            mode,
            use_reference: !scorer_options.no_reference,
        }),
        ScorerName::Entailment => Arc::new(EntailmentScorer {
            form: scorer_options.entail,
            at_most: scorer_options.at_most.get(),
            index_base,
            mode,
        }),
        ScorerName::CitationAudit => {
            let mut predictions = items.iter().filter_map(|item| item.answer.prediction.as_deref());
            let with_gold = mode == Mode::Compat || predictions.any(names_gold_sources);
            Arc::new(CitationAuditScorer { index_base, with_gold })
        }
        ScorerName::Overlap => {
            Arc::new(OverlapScorer { mode, max_words: scorer_options.max_words.map(NonZeroUsize::get) })
        }
    }
}

/// The scorers of a recorded run, with the settings and mode of its manifest.
///
/// # Errors
/// For a scorer that is not built in, and for invalid settings.
pub(super) fn recorded_scorers(manifest: &Manifest) -> Result<Vec<Arc<dyn Scorer>>> {
    let mode = manifest.mode;
    let scorer = |name: &String| -> Result<Arc<dyn Scorer>> {
        let built_in = ScorerName::ALL.into_iter().find(|built_in| built_in.as_str() == name);
        let built_in =
            built_in.ok_or_else(|| InputFault::new("manifest.json", format!("{name} is not a built-in scorer")))?;
        Ok(match built_in {
            ScorerName::Rubric => {
                let (rubrics, snippets) = (manifest.is_set("score.rubrics"), manifest.is_set("score.snippets"));
                let parts = RubricParts { rubrics, snippets };
                Arc::new(RubricScorer::new(parts, mode).lexical(manifest.is_lexical()))
            }
            ScorerName::Prometheus => Arc::new(PrometheusScorer { mode, ..recorded_scorer(manifest, name)? }),
            ScorerName::Entailment => Arc::new(EntailmentScorer { mode, ..recorded_scorer(manifest, name)? }),
            ScorerName::CitationAudit => Arc::new(recorded_scorer::<CitationAuditScorer>(manifest, name)?),
            ScorerName::Overlap => Arc::new(OverlapScorer { mode, ..recorded_scorer(manifest, name)? }),
        })
    };
    manifest.scorers.iter().map(scorer).collect()
}

fn recorded_scorer<T: DeserializeOwned>(manifest: &Manifest, name: &str) -> Result<T> {
    let key = format!("scorer.{name}");
    let value = manifest.settings.get(&key).cloned().unwrap_or_default();
    serde_json::from_value(value).map_err(|error| {
        InputFault::new("manifest.json", format!("setting {key}: {error}")).hint("score the answers anew").into()
    })
}
