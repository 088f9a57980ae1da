//! Options of the built-in scorers, and how a scorer is made from them or from a record.

use std::num::{NonZeroU64, NonZeroUsize};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use serde::{Deserialize, Serialize};

use crate::dataset::ReferencesBlock;
use crate::domain::BatchSize;
use crate::error::{InputFault, Result};
use crate::judge::options::defaults;
use crate::record::Manifest;
use crate::scorer::citation::IndexBase;
use crate::scorer::entailment::Form;
use crate::scorer::pages::Dedup;
use crate::scorer::{InputNeed, SCORERS, Scorer, ScorerInfo, scorer_named};
use crate::sources::{StoredPages, moment};

/// From the beginning of a day to its last second.
const LAST_SECOND: Duration = Duration::from_secs(24 * 60 * 60 - 1);

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
    #[arg(
        long,
        help = scorers_help(),
        value_name = "A,B",
        value_parser = scorer_parser(),
        value_delimiter = ',',
        hide_possible_values = true
    )]
    pub scorers: Vec<&'static ScorerInfo>,
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
    /// Files of works to look references up in: dumps of Crossref, OpenAlex, Semantic Scholar or arXiv, a library, an index
    #[arg(long, value_name = "SRC", num_args = 1..)]
    pub works: Vec<PathBuf>,
    /// Retractions: a CSV such as that of Retraction Watch
    #[arg(long, value_name = "FILE")]
    pub retractions: Option<PathBuf>,
    /// Compare only the first N words of an output with its gold answers [default: all]
    #[arg(long, value_name = "N")]
    pub max_words: Option<NonZeroUsize>,
    /// Judge whether the pages that answers cite support them; the pages are those of this store (see sources index)
    #[arg(long, value_name = "FILE")]
    pub sources: Option<PathBuf>,
    /// Of several snapshots of a page, read the newest one up to this day (2026-10-01) [default: the newest]
    #[arg(long, value_name = "DATE", value_parser = parse_day, requires = "sources")]
    pub as_of: Option<String>,
    /// Tokens of a page that a judge reads at a time; a longer page is read in up to 8 parts [default: 30000]
    #[arg(long, value_name = "N", requires = "sources")]
    pub page_tokens: Option<NonZeroU64>,
    /// Which statements about a page count as one: those with the same words, or those of which a judge says so (a further
    /// call for each page with several) [default: words]
    #[arg(
        long,
        value_name = "words|judge",
        value_enum,
        hide_possible_values = true,
        requires = "sources"
    )]
    pub dedup: Option<Dedup>,
}

/// Parses a day, or a moment.
fn parse_day(text: &str) -> std::result::Result<String, String> {
    match moment(text) {
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
            scorer.needs == InputNeed::Pages && self.sources.is_some()
        } else {
            self.names(scorer)
        }
    }

    /// The saved pages, if a store is named.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub(super) fn saved_pages(&self) -> Result<Option<StoredPages>> {
        let Some(path) = &self.sources else {
            return Ok(None);
        };
        // A day ends with its last second.
        let as_of = self.as_of.as_deref().and_then(moment);
        let is_day = self
            .as_of
            .as_ref()
            .is_some_and(|text| text.trim().len() == 10);
        let as_of = as_of.map(|moment| if is_day { moment + LAST_SECOND } else { moment });
        StoredPages::open(path, as_of).map(Some)
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
    use crate::domain::{Mode, Role, RubricParts, RubricProfile};
    use crate::question::PairForm;
    use crate::scorer::pages::PAGE_TOKENS;
    use crate::scorer::{RecordedSetup, ScorerRoles, Setup};

    fn setup<'a>(profile: &'a RubricProfile, options: &'a ScorerOptions) -> Setup<'a> {
        Setup {
            mode: Mode::Default,
            parts: RubricParts::BOTH,
            profile,
            aspects: &[],
            items: &[],
            is_baseline: true,
            instruction: &options.instruction,
            top_n: options.top_n,
            use_reference: true,
            index_base: options.index_base,
            entail: options.entail,
            by_criteria: false,
            pair_form: PairForm::Winner,
            at_most: options.at_most.get(),
            max_words: None,
            pages: None,
            page_tokens: PAGE_TOKENS,
            dedup: Dedup::Words,
        }
    }

    #[test]
    fn every_scorer_has_the_facts_of_its_info_and_is_restored_from_its_settings() {
        let (profile, options) = (
            dataset::rubric_profile(None).unwrap(),
            ScorerOptions::default(),
        );
        for info in SCORERS {
            let scorer = (info.make)(&setup(&profile, &options));
            assert_eq!(scorer.name(), info.name);
            let roles = match &info.roles {
                ScorerRoles::One(role) => vec![role.clone()],
                // No aspect was named.
                ScorerRoles::None | ScorerRoles::Aspects => Vec::<Role>::new(),
            };
            assert_eq!(scorer.roles(), roles, "{info:?}");
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
            let score = (info.make)(&setup(&profile, &options))
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
