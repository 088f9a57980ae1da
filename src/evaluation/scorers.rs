//! The built-in scorers: names, options, what each needs and how it is made for a run or from a record.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Arc;

use clap::{Args, ValueEnum};
use serde::{Deserialize, Serialize};

use crate::dataset::ReferencesBlock;
use crate::dataset::Support;
use crate::domain::{Aspect, BatchSize, Item, Mode, RubricParts, RubricProfile};
use crate::error::{InputFault, Result};
use crate::judge::options::defaults;
use crate::record::{Manifest, criteria_scorer, rubric_scorer};
use crate::scorer::Scorer;
use crate::scorer::citation::{CitationAuditScorer, IndexBase, names_gold_sources};
use crate::scorer::criteria::CriteriaScorer;
use crate::scorer::entailment::{EntailmentScorer, Form};
use crate::scorer::overlap::OverlapScorer;
use crate::scorer::prometheus::PrometheusScorer;
use crate::scorer::rubric::RubricScorer;

/// A built-in scorer, in the order of the scorecard.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, ValueEnum, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
#[value(rename_all = "snake_case")]
pub enum ScorerName {
    /// The ScholarQA-CS rubric.
    Rubric,
    /// A list of criteria, as a profile says.
    Criteria,
    /// Grades of 1 to 5 in aspects (Prometheus).
    Prometheus,
    /// Citation precision and recall by entailment.
    Entailment,
    /// Citations as far as they can be checked without a judge.
    #[value(alias = "citation-audit")]
    #[serde(alias = "citation-audit")]
    CitationAudit,
    /// Short answers and ROUGE against gold.
    Overlap,
}

impl ScorerName {
    /// The name in options, files and columns.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Rubric => "rubric",
            Self::Criteria => "criteria",
            Self::Prometheus => "prometheus",
            Self::Entailment => "entailment",
            Self::CitationAudit => "citation_audit",
            Self::Overlap => "overlap",
        }
    }

    /// The scorer of that name.
    pub(super) fn of(name: &str) -> Option<Self> {
        Self::value_variants()
            .iter()
            .find(|known| known.as_str() == name)
            .copied()
    }

    /// What the input does not have and the scorer needs.
    pub(super) fn missing_input(self, support: &Support) -> Option<&'static str> {
        let golds = support.gold_answer + support.short_answers + support.long_answers;
        let (is_missing, what) = match self {
            Self::Rubric if support.criteria > 0 => (
                true,
                "the test cases hold criteria, no rubric of ScholarQA-CS",
            ),
            Self::Rubric => (support.rubric == 0, "no test cases (add --tests FILE)"),
            Self::Criteria => (
                support.criteria == 0,
                "no test cases with criteria (add --tests FILE)",
            ),
            Self::Prometheus => (support.questions == 0, "no questions beside the answers"),
            Self::Entailment => (support.sources == 0, "no sources (ctxs or docs)"),
            Self::CitationAudit => (
                support.sources + support.gold_sources == 0,
                "no sources (ctxs or docs) and no gold_ctxs",
            ),
            Self::Overlap => (
                golds == 0,
                "no gold answers (answer, qa_pairs or annotations, or --references FILE)",
            ),
        };
        is_missing.then_some(what)
    }

    /// The scorer of a new run.
    pub(super) fn make(self, run: &ScorerSetup<'_>) -> Arc<dyn Scorer> {
        let ScorerSetup { options, mode, .. } = *run;
        let index_base = options.index_base;
        match self {
            Self::Rubric => Arc::new(RubricScorer::new(run.parts, mode).lexical(run.is_lexical)),
            Self::Criteria => Arc::new(CriteriaScorer {
                profile: run.profile.clone(),
                mode,
                lexical: run.is_lexical,
            }),
            Self::Prometheus => Arc::new(PrometheusScorer {
                aspects: run.aspects.to_vec(),
                instruction: options.instruction.as_str().into(),
                top_n: options.top_n,
                index_base,
                mode,
                use_reference: !options.no_reference,
            }),
            Self::Entailment => Arc::new(EntailmentScorer {
                form: options.entail,
                at_most: options.at_most.get(),
                index_base,
                mode,
            }),
            Self::CitationAudit => {
                let mut predictions = run
                    .items
                    .iter()
                    .filter_map(|item| item.answer.prediction.as_deref());
                let with_gold = mode == Mode::Compat || predictions.any(names_gold_sources);
                Arc::new(CitationAuditScorer {
                    index_base,
                    with_gold,
                })
            }
            Self::Overlap => Arc::new(OverlapScorer {
                mode,
                max_words: options.max_words.map(NonZeroUsize::get),
            }),
        }
    }

    /// The scorer of a recorded run, with the settings and mode of its manifest.
    fn recorded(self, manifest: &Manifest) -> Result<Arc<dyn Scorer>> {
        let mode = manifest.mode;
        Ok(match self {
            Self::Rubric => Arc::new(rubric_scorer(manifest)),
            Self::Criteria => Arc::new(criteria_scorer(manifest)?),
            Self::Prometheus => Arc::new(PrometheusScorer {
                mode,
                ..manifest.settings_of(self.as_str())?
            }),
            Self::Entailment => Arc::new(EntailmentScorer {
                mode,
                ..manifest.settings_of(self.as_str())?
            }),
            Self::CitationAudit => {
                Arc::new(manifest.settings_of::<CitationAuditScorer>(self.as_str())?)
            }
            Self::Overlap => Arc::new(OverlapScorer {
                mode,
                ..manifest.settings_of(self.as_str())?
            }),
        })
    }
}

/// What the scorers of a new run are made from.
pub(super) struct ScorerSetup<'a> {
    pub(super) options: &'a ScorerOptions,
    /// How criteria are asked and counted.
    pub(super) profile: &'a RubricProfile,
    /// The scored halves of the rubrics.
    pub(super) parts: RubricParts,
    pub(super) mode: Mode,
    pub(super) aspects: &'a [Arc<Aspect>],
    pub(super) items: &'a [Item],
    /// True if the built-in baseline judges the rubric.
    pub(super) is_lexical: bool,
}

/// Whether any scorer needs the rubrics: those of rubrics and of criteria, and custom ones.
pub(crate) fn needs_rubric(scorer: &dyn Scorer) -> bool {
    ScorerName::of(scorer.name())
        .is_none_or(|name| matches!(name, ScorerName::Rubric | ScorerName::Criteria))
}

/// The scorers of a recorded run.
///
/// # Errors
/// For a scorer that is not built in, and for invalid settings.
pub(crate) fn recorded_scorers(manifest: &Manifest) -> Result<Vec<Arc<dyn Scorer>>> {
    let unknown =
        |name: &str| InputFault::new("manifest.json", format!("{name} is not a built-in scorer"));
    let scorer = |name: &String| {
        ScorerName::of(name)
            .ok_or_else(|| unknown(name))?
            .recorded(manifest)
    };
    manifest.scorers.iter().map(scorer).collect()
}

/// Which scorers, and what each needs.
#[derive(Debug, Clone, Args, Serialize, Deserialize)]
#[command(next_help_heading = "Scorers")]
pub struct ScorerOptions {
    /// rubric, criteria, prometheus, entailment, citation_audit, overlap [default: all that the input supports]
    #[arg(
        long,
        value_name = "A,B",
        value_enum,
        value_delimiter = ',',
        hide_possible_values = true
    )]
    pub scorers: Vec<ScorerName>,
    /// How criteria are read, asked and counted: a name that `rubrics list` shows, or a directory with a
    /// profile.toml [default: criteria]
    #[arg(long, value_name = "NAME|DIR")]
    pub rubric: Option<String>,
    /// Criteria asked in one call [default: as the rubric says]
    #[arg(long, value_name = "N|all", value_parser = BatchSize::from_text)]
    pub criteria_per_call: Option<BatchSize>,
    /// Gold and reference answers, joined by question
    #[arg(long, value_name = "FILE")]
    pub references: Option<PathBuf>,
    /// Append a list of the cited sources to answers made from predictions; not counted in lengths
    #[arg(
        long,
        value_name = "append|none",
        value_enum,
        default_value_t,
        hide_possible_values = true
    )]
    pub references_block: ReferencesBlock,
    /// Number of the first source
    #[arg(
        long,
        value_name = "0|1",
        value_enum,
        default_value_t,
        hide_possible_values = true
    )]
    pub index_base: IndexBase,
    /// Cut prompts that do not fit the judge's context, and flag them, instead of leaving them unscored
    #[arg(long)]
    pub truncate: bool,
    /// Grade only these aspects [default: all of the rubrics]
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    pub aspects: Vec<String>,
    /// Aspects with the descriptions of their scores, as released [default: built in]
    #[arg(long, value_name = "FILE")]
    pub aspect_rubrics: Option<PathBuf>,
    /// Grade aspects without reference answers
    #[arg(long)]
    pub no_reference: bool,
    /// Text before the question in grading prompts; published: "Answer the question related to the most
    /// recent scientific literature." [default: nothing]
    #[arg(
        long,
        value_name = "TEXT",
        default_value = "",
        hide_default_value = true
    )]
    pub instruction: String,
    /// Show at most N of the cited sources to judges of aspects
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub top_n: usize,
    /// Judge citations sentence by sentence (long), or the question with the whole answer (short); citations does so
    /// only with this option, and needs a --model then
    #[arg(
        long,
        num_args = 0..=1,
        default_missing_value = "long",
        value_name = "long|short",
        value_enum,
        default_value_t,
        hide_possible_values = true
    )]
    pub entail: Form,
    /// Count only the first N citations of a claim
    #[arg(long, value_name = "N", default_value = "3")]
    pub at_most: NonZeroUsize,
    /// Compare only the first N words of an output with its gold answers [default: all]
    #[arg(long, value_name = "N")]
    pub max_words: Option<NonZeroUsize>,
}

impl Default for ScorerOptions {
    fn default() -> Self {
        defaults()
    }
}

impl ScorerOptions {
    /// Whether this scorer was requested by name.
    pub fn names(&self, scorer: ScorerName) -> bool {
        self.scorers.contains(&scorer)
    }

    /// Whether this scorer was requested, or none was: then the input decides.
    pub fn may_run(&self, scorer: ScorerName) -> bool {
        self.scorers.is_empty() || self.names(scorer)
    }
}
