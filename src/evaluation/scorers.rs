//! Options of the built-in scorers, and how a scorer is made from them or from a record.

use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use serde::{Deserialize, Serialize};

use crate::error::{Error, InputFault, Result};
use crate::judge::options::defaults;
use crate::record::Manifest;
use crate::scorer::{BuiltInOptions, InputNeed, SCORERS, Scorer, ScorerInfo, scorer_named};
use crate::sources::{StoredPages, last_moment};

/// Whether any scorer needs the rubrics: those of rubrics and of criteria, and custom ones.
pub(crate) fn needs_rubric(scorer: &dyn Scorer) -> bool {
    scorer_named(scorer.name()).is_none_or(ScorerInfo::scores_test_cases)
}

/// The scorers of a recorded run.
///
/// # Errors
/// For a scorer that is not built in, and for invalid settings.
pub(crate) fn recorded_scorers(manifest: &Manifest) -> Result<Vec<Arc<dyn Scorer>>> {
    let mut scorers = Vec::new();
    for name in &manifest.scorers {
        let info = scorer_named(name).ok_or_else(|| {
            InputFault::new("manifest.json", format!("{name} is not a built-in scorer"))
        })?;
        scorers.push(manifest.scorer(info)?);
    }
    Ok(scorers)
}

/// Parses the name of a built-in scorer; `citation-audit` is `citation_audit`.
fn scorer_parser() -> impl TypedValueParser<Value = &'static ScorerInfo> {
    let offered = SCORERS.iter().filter(|scorer| scorer.is_offered());
    let names = offered.map(|scorer| {
        PossibleValue::new(scorer.name)
            .help(scorer.help)
            .alias(scorer.name.replace('_', "-"))
    });
    PossibleValuesParser::new(names).try_map(|name| {
        let name = name.replace('-', "_");
        scorer_named(&name).ok_or_else(|| format!("{name} is not a built-in scorer"))
    })
}

/// The help of `--scorers`.
fn scorers_help() -> String {
    let offered = SCORERS.iter().filter(|scorer| scorer.is_offered());
    let names: Vec<&str> = offered.map(|scorer| scorer.name).collect();
    let names = names.join(", ");
    format!("{names} [default: all that the input supports]")
}

/// Which scorers, and what each needs.
#[derive(Debug, Clone, Args, Serialize, Deserialize)]
#[command(next_help_heading = "Scorers")]
pub struct ScorerOptions {
    /// The scorers to run; empty for all that the input supports.
    #[arg(long, help = scorers_help(), value_name = "A,B")]
    #[arg(value_parser = scorer_parser(), value_delimiter = ',')]
    #[arg(hide_possible_values = true)]
    pub scorers: Vec<&'static ScorerInfo>,
    /// Gold answers.
    #[command(flatten)]
    #[serde(flatten)]
    pub gold: GoldOptions,
    /// Aspects.
    #[command(flatten)]
    #[serde(flatten)]
    pub aspect_file: AspectFileOptions,
    /// Works.
    #[command(flatten)]
    #[serde(flatten)]
    pub works: WorksOptions,
    /// Saved pages.
    #[command(flatten)]
    #[serde(flatten)]
    pub pages: PageStoreOptions,
    /// Of each scorer.
    #[command(flatten)]
    #[serde(flatten)]
    pub built_in: BuiltInOptions,
}

/// The file of gold answers.
#[derive(Debug, Clone, Default, Args, Serialize, Deserialize)]
#[command(next_help_heading = "Scorers")]
pub struct GoldOptions {
    /// Gold and reference answers, joined by question
    #[arg(long, value_name = "FILE")]
    pub references: Option<PathBuf>,
}

/// The file of aspects.
#[derive(Debug, Clone, Default, Args, Serialize, Deserialize)]
#[command(next_help_heading = "Scorers")]
pub struct AspectFileOptions {
    /// Aspects with the descriptions of their scores, as released [default: built in]
    #[arg(long, value_name = "FILE")]
    pub aspect_rubrics: Option<PathBuf>,
}

/// Files of works.
#[derive(Debug, Clone, Default, Args, Serialize, Deserialize)]
#[command(next_help_heading = "Scorers")]
pub struct WorksOptions {
    /// Files of works to look references up in: dumps of Crossref, OpenAlex, Semantic Scholar or arXiv, a library, an index
    #[arg(long, value_name = "SRC", num_args = 1..)]
    pub works: Vec<PathBuf>,
    /// Retractions: a CSV such as that of Retraction Watch
    #[arg(long, value_name = "FILE")]
    pub retractions: Option<PathBuf>,
}

impl WorksOptions {
    /// Whether there is anything to look references up in.
    pub fn is_given(&self) -> bool {
        !self.works.is_empty() || self.retractions.is_some()
    }
}

/// The store of saved pages.
#[derive(Debug, Clone, Default, Args, Serialize, Deserialize)]
#[command(next_help_heading = "Scorers")]
pub struct PageStoreOptions {
    /// Judge whether the pages that answers cite support them; the pages are those of this store (see sources index)
    #[arg(long, value_name = "FILE")]
    pub sources: Option<PathBuf>,
    /// Of several snapshots of a page, read the newest one up to this day (2026-10-01) [default: the newest]
    #[arg(long, value_name = "DATE", value_parser = parse_day, requires = "sources")]
    pub as_of: Option<String>,
}

impl PageStoreOptions {
    /// The saved pages, if a store is named.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub(super) fn open(&self) -> Result<Option<StoredPages>> {
        let Some(path) = &self.sources else {
            return Ok(None);
        };
        // Not by its parser alone: the library and configuration files set it, too.
        let as_of = self.as_of.as_deref().map(|text| {
            last_moment(text).ok_or_else(|| {
                Error::Settings(format!(
                    "as_of: {text:?} is not a day; write it as 2026-10-01"
                ))
            })
        });
        let as_of = as_of.transpose()?;
        StoredPages::open(path, as_of).map(Some)
    }
}

/// Parses a day, or a moment.
fn parse_day(text: &str) -> std::result::Result<String, String> {
    match last_moment(text) {
        Some(_) => Ok(text.to_owned()),
        None => Err("not a day; write it as 2026-10-01".to_owned()),
    }
}

impl Default for ScorerOptions {
    fn default() -> Self {
        defaults()
    }
}

impl ScorerOptions {
    /// Whether this scorer was requested by name.
    pub fn names(&self, scorer: &ScorerInfo) -> bool {
        self.scorers.contains(&scorer)
    }

    /// Whether this scorer was requested: by name, or by an option that only it needs.
    pub fn requests(&self, scorer: &ScorerInfo) -> bool {
        if self.scorers.is_empty() {
            scorer.needs == InputNeed::Pages && self.pages.sources.is_some()
        } else {
            self.names(scorer)
        }
    }

    /// Whether this scorer was requested, or none was: then the input decides. Every input has answers, which says
    /// nothing about whether a scorer of answers alone is wanted: it must be named.
    pub fn may_run(&self, scorer: &ScorerInfo) -> bool {
        if self.scorers.is_empty() {
            scorer.needs != InputNeed::Answers
        } else {
            self.names(scorer)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataset;
    use crate::domain::{Mode, RubricParts, RubricProfile};
    use crate::question::PairForm;
    use crate::scorer::{NewScorer, RecordedSetup};

    fn new_scorer<'a>(profile: &'a RubricProfile, options: &'a ScorerOptions) -> NewScorer<'a> {
        NewScorer {
            options: &options.built_in,
            mode: Mode::Default,
            profile,
            aspects: &[],
            items: &[],
            is_baseline: true,
            by_criteria: false,
            pair_form: PairForm::Winner,
            pages: None,
        }
    }

    #[test]
    fn every_scorer_has_the_facts_of_its_info_and_is_restored_from_its_settings() {
        let (profile, options) = (
            dataset::rubric_profile(None).unwrap(),
            ScorerOptions::default(),
        );
        for info in SCORERS {
            let scorer = (info.make)(&new_scorer(&profile, &options));
            assert_eq!(scorer.name(), info.name);
            // No aspect is named.
            assert_eq!(scorer.roles(), info.judge_roles(&[]), "{info:?}");
            let settings = scorer.settings();
            let recorded = RecordedSetup {
                settings: &settings,
                parts: RubricParts::BOTH,
                pages: None,
                mode: Mode::Default,
                is_baseline: true,
            };
            let restored = (info.restore)(&recorded).unwrap();
            assert_eq!(restored.settings(), settings, "{info:?}");
            assert_eq!(restored.name(), info.name);
        }
    }

    #[test]
    fn a_score_says_that_the_baseline_made_it() {
        let (profile, options) = (
            dataset::rubric_profile(None).unwrap(),
            ScorerOptions::default(),
        );
        let case = crate::domain::TestCase::without_rubric("c".into(), "Why?");
        let of_cases = SCORERS.iter().filter(|info| info.scores_test_cases());
        for info in of_cases {
            let score = (info.make)(&new_scorer(&profile, &options))
                .template(&case)
                .unwrap();
            assert!(score.scorer.is_baseline() && score.scorer.name() == info.name);
        }
    }

    #[test]
    fn the_help_the_example_and_the_docs_list_the_registry() {
        let offered = SCORERS.iter().filter(|info| info.is_offered());
        let names: Vec<&str> = offered.map(|info| info.name).collect();
        let listed = names.join(", ");
        assert!(scorers_help().starts_with(&listed));

        let quoted: Vec<String> = names.iter().map(|name| format!("\"{name}\"")).collect();
        let config = include_str!("../../docs/formats/config.md");
        for text in [include_str!("../cli/example.toml"), config] {
            let line = text.lines().find(|line| line.starts_with("scorers = ["));
            let line = line.unwrap_or_default();
            for name in &quoted {
                assert!(line.contains(name.as_str()), "{name} is not in {line}");
            }
        }
        let quoted: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
        assert!(
            include_str!("../../docs/formats/run-directory.md").contains(&quoted.join(", ")),
            "run-directory.md: the manifest's scorers"
        );

        let metrics = include_str!("../../docs/metrics/scorers.md");
        let rows: Vec<&str> = metrics
            .lines()
            .skip_while(|line| !line.starts_with("| scorer | "))
            .skip(2)
            .take_while(|line| line.starts_with("| `"))
            .filter_map(|line| line.split('`').nth(1))
            .collect();
        let all: Vec<&str> = SCORERS.iter().map(|info| info.name).collect();
        assert_eq!(rows, all, "scorers.md: which scorers run, and on what");
    }
}
