//! The settings in force, merged once: flags > environment > config file > default.
//!
//! [`Settings::load`] reads every source, checks every value and remembers where it came from. What rooms need are the
//! plain structs inside: [`JudgeSettings`], [`LimitSettings`], [`ScorerSettings`], [`CacheSettings`],
//! [`ScoreSettings`], [`OutputSettings`]. [`Settings::role`] says who judges what, [`Settings::judge_named`] how that one
//! is reached. [`Settings::describe`] lists all settings with their origins, secrets masked;
//! [`Settings::run_fingerprint_inputs`] lists those that change scores.

mod budget;
mod fingerprint;
mod groups;
mod judge;
mod judges;
pub mod keys;
mod merge;
mod request;
mod roles;
mod scorers;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod tests_roles;
pub mod value;

use std::collections::BTreeMap;
use std::fmt;
use std::num::{NonZeroU32, NonZeroUsize};
use std::path::{Path, PathBuf};

use serde_json::Value;

pub use budget::{BudgetSettings, Dollars};
pub use groups::{
    CacheSettings, EntailForm, JudgeRef, JudgeSettings, LimitSettings, MergeRule, NamedJudge, OnUnscored, OutputFormat,
    OutputSettings, ReferencesBlock, RoleSettings, ScoreSettings, ScorerName, ScorerSettings, Streaming,
};

use super::args::ScoreArgs;
use super::config_file::{ConfigFile, DEFAULT_JUDGE};
use super::origin::{Environment, Origin, SettingLine};
use super::prices::Prices;
use crate::domain::{Mode, Role, RubricParts};
use crate::error::{Error, Result};
pub use crate::judge::conversation::Conversation;
pub use crate::judge::kind::JudgeKind;
use merge::{Sources, fault};
use value::{Names, SettingValue, Share};

/// OpenAI's address: where a model is asked if nothing says otherwise.
pub const OPENAI_BASE_URL: &str = "https://api.openai.com/v1";

/// Where replies are kept if nothing says otherwise, relative to the working directory.
pub const DEFAULT_CACHE: &str = ".scholareval/cache.sqlite";

/// Seed of the resampling if nothing says otherwise.
pub const DEFAULT_SEED: u64 = 42;

/// Tolerated share of unscored answers if nothing says otherwise.
pub const DEFAULT_MAX_UNSCORED: f64 = 0.01;

/// Everything that was set, with its origins.
#[derive(Clone)]
pub struct Settings {
    /// The judge of `[judge]` and the flags.
    pub judge: JudgeSettings,
    /// How fast it is asked.
    pub limits: LimitSettings,
    /// Further judges (`[judges.NAME]`), in the order of the file.
    pub judges: Vec<NamedJudge>,
    /// Who has which role (`[roles]`), aspects with judges of their own among them; ask [`Settings::role`] instead.
    pub roles: BTreeMap<Role, RoleSettings>,
    /// Who has all other aspects (`roles.aspect`).
    pub aspect_role: Option<RoleSettings>,
    /// Which scorers.
    pub scorers: ScorerSettings,
    /// The cache.
    pub cache: CacheSettings,
    /// What is scored.
    pub score: ScoreSettings,
    /// How much of it, for how much.
    pub budget: BudgetSettings,
    /// What models cost.
    pub prices: Prices,
    /// What is written.
    pub output: OutputSettings,
    /// What the user should know: lower-case fragments for standard error.
    pub warnings: Vec<String>,
    lines: Vec<SettingLine>,
}

impl fmt::Debug for Settings {
    /// The masked lines only.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.lines.iter().map(|line| (&line.key, &line.value))).finish()
    }
}

/// The input files of a run, given for certain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Inputs<'a> {
    /// The test cases, where given: only the rubric needs them.
    pub tests: Option<&'a Path>,
    /// Files and directories of answers; not empty.
    pub answers: &'a [PathBuf],
}

impl Settings {
    /// Merges and checks all sources.
    ///
    /// # Errors
    /// [`Error::Usage`] for a flag, [`Error::Settings`] for an environment variable, [`Error::Input`] (with file and
    /// line) for the config file; each names the option, what is wrong and what to type.
    pub fn load(args: &ScoreArgs, environment: &Environment) -> Result<Self> {
        let file = args.input.config.as_deref().or(environment.get(keys::CONFIG_ENV).map(Path::new));
        let file = file.map(ConfigFile::load).transpose()?;
        let mut sources =
            Sources { environment, keys: environment, in_use: true, file: file.as_ref(), lines: Vec::new() };
        let mut warnings = Vec::new();
        let mut score = merge_score(&mut sources, args)?;
        let budget = budget::merge_budget(&mut sources, &args.budget)?;
        let prices = Prices::of(file.as_ref())?;
        let scorers = scorers::merge_scorers(&mut sources, &args.scorers)?;
        let roles = roles::merge_roles(&sources)?;
        let judge = judge::merge_judge(&mut sources, &args.judge, &args.limits, &mut warnings)?;
        let limits = judges::merge_limits(&mut sources, &args.limits)?;
        let draws = judges::Draws { samples: score.samples, merge: score.merge };
        let judges = judges::merge_judges(&mut sources, draws, &roles.used(&scorers), &mut warnings)?;
        sources.lines.extend(roles.lines);
        let cache = merge_cache(&mut sources, args)?;
        score.prompts = sources.path(&keys::PROMPTS, args.scoring.prompts.clone())?;
        let output = merge_output(&mut sources, args)?;
        let lines = std::mem::take(&mut sources.lines);
        let (roles, aspect_role) = (roles.own, roles.aspect);
        let mut settings = Self {
            judge,
            limits,
            judges,
            roles,
            aspect_role,
            scorers,
            cache,
            score,
            budget,
            prices,
            output,
            warnings,
            lines,
        };
        settings.check_kinds(&sources)?;
        settings.warn_about_default_judge(environment);
        settings.warnings.extend(settings.role_warnings());
        Ok(settings)
    }

    /// What the user should know of the judge of `[judge]`, if it is asked at all.
    fn warn_about_default_judge(&mut self, environment: &Environment) {
        if !self.used_judges().contains(DEFAULT_JUDGE) {
            return;
        }
        if let Some(why) = judges::repeats(&self.judge, self.score.samples) {
            self.warnings.push(format!(
                "{} samples {why} repeat one reply; give --temperature 0.7 or so with an LLM, or --samples 1",
                self.score.samples
            ));
        }
        let by_default = self.lines.iter().any(|line| line.key == keys::KIND.name && line.origin == Origin::Default);
        if by_default && environment.get("OPENAI_BASE_URL").is_some() {
            let what = "OPENAI_BASE_URL alone chooses no judge: this is the lexical one; give --model";
            self.warnings.push(what.to_owned());
        }
    }

    /// The files to be read.
    ///
    /// # Errors
    /// [`Error::Usage`] if there are no answers, or no test cases though the rubric was asked for; with what to type.
    pub fn inputs(&self) -> Result<Inputs<'_>> {
        let usage = |what: &str| Error::Usage(what.to_owned());
        if self.score.answers.is_empty() {
            return Err(usage(
                "no answers given; name JSONL files or a directory of them: scholareval score ANSWERS..",
            ));
        }
        let tests = self.score.tests.as_deref();
        if tests.is_none() && self.scorers.names_scorer(ScorerName::Rubric) {
            return Err(Self::no_tests());
        }
        Ok(Inputs { tests, answers: &self.score.answers })
    }

    /// The error for test cases that are needed and missing, with what to type.
    pub fn no_tests() -> Error {
        let what = "no test cases given; add --tests FILE, or tests = \"FILE\" under [score] in the config file";
        Error::Usage(what.to_owned())
    }

    /// Every setting with its origin, in a fixed order, secrets masked.
    pub fn describe(&self) -> &[SettingLine] {
        &self.lines
    }
}

/// Calls in flight if nothing says otherwise.
const DEFAULT_CONCURRENCY: NonZeroUsize = match NonZeroUsize::new(32) {
    Some(n) => n,
    None => NonZeroUsize::MIN,
};

fn merge_score(sources: &mut Sources<'_>, args: &ScoreArgs) -> Result<ScoreSettings> {
    let names = |names: Option<Names>| names.map(|Names(names)| names);
    Ok(ScoreSettings {
        answers: merge_answers(sources, args)?,
        tests: sources.path(&keys::TESTS, args.input.tests.clone())?,
        parts: merge_parts(sources, args)?,
        systems: names(sources.optional(&keys::SYSTEMS, args.input.systems.clone())?),
        cases: names(sources.optional(&keys::CASES, args.input.cases.clone())?),
        limit: sources.optional(&keys::LIMIT, args.input.limit)?.map(NonZeroUsize::get),
        samples: sources.or_default(&keys::SAMPLES, args.scoring.samples, NonZeroU32::MIN)?.get(),
        merge: sources.or_default(&keys::MERGE, args.scoring.merge, MergeRule::Mean)?,
        agreement: sources.switch(&keys::AGREEMENT, args.scoring.agreement)?,
        mode: if sources.switch(&keys::COMPAT, args.scoring.compat)? { Mode::Compat } else { Mode::Default },
        strict: sources.switch(&keys::STRICT, args.input.strict)?,
        on_unscored: sources.or_default(&keys::ON_UNSCORED, args.scoring.on_unscored, OnUnscored::Exclude)?,
        max_unscored: {
            sources.or_default(&keys::MAX_UNSCORED, args.scoring.max_unscored, Share(DEFAULT_MAX_UNSCORED))?.0
        },
        parse_retries: sources.or_default(&keys::PARSE_RETRIES, args.scoring.parse_retries, 2)?,
        seed: sources.or_default(&keys::SEED, args.scoring.seed, DEFAULT_SEED)?,
        prompts: None,
        dry_run: sources.switch(&keys::DRY_RUN, args.scoring.dry_run)?,
    })
}

fn merge_answers(sources: &mut Sources<'_>, args: &ScoreArgs) -> Result<Vec<PathBuf>> {
    let given: Vec<PathBuf> = args.input.answers.iter().chain(&args.input.qa_dir).cloned().collect();
    let flag = if args.input.answers.is_empty() { "--qa-dir" } else { keys::ANSWERS.flag };
    let (paths, origin) = if given.is_empty() {
        match sources.in_file::<Names>(&keys::ANSWERS)? {
            Some((Names(names), origin)) => {
                (names.into_iter().map(|name| sources.resolved(PathBuf::from(name), &origin)).collect(), origin)
            }
            None => (Vec::new(), Origin::Default),
        }
    } else {
        (given, Origin::Flag(flag))
    };
    let shown: Vec<Value> = paths.iter().map(PathBuf::to_json).collect();
    sources.note(keys::ANSWERS.name, if shown.is_empty() { Value::Null } else { Value::Array(shown) }, origin);
    Ok(paths)
}

/// `--rubrics` and `--snippets` are one choice: either of them restricts to its half, neither or both mean both; flags
/// replace the file's choice as a whole.
fn merge_parts(sources: &mut Sources<'_>, args: &ScoreArgs) -> Result<RubricParts> {
    let (rubrics, snippets) = (args.scoring.rubrics, args.scoring.snippets);
    let file_rubrics = sources.in_file::<bool>(&keys::RUBRICS)?;
    let file_snippets = sources.in_file::<bool>(&keys::SNIPPETS)?;
    let (parts, origin) = if rubrics || snippets {
        let flag = if rubrics { keys::RUBRICS.flag } else { keys::SNIPPETS.flag };
        (RubricParts { rubrics, snippets }, Origin::Flag(flag))
    } else {
        let origin = file_rubrics.as_ref().or(file_snippets.as_ref()).map(|(_, origin)| origin.clone());
        let parts = match (file_rubrics.map(|(on, _)| on), file_snippets.map(|(on, _)| on)) {
            (None, None) => RubricParts::BOTH,
            (Some(on), None) => RubricParts { rubrics: on, snippets: !on },
            (None, Some(on)) => RubricParts { rubrics: !on, snippets: on },
            (Some(rubrics), Some(snippets)) => RubricParts { rubrics, snippets },
        };
        (parts, origin.unwrap_or(Origin::Default))
    };
    if !parts.rubrics && !parts.snippets {
        return Err(fault(&keys::RUBRICS, &origin, "rubrics and snippets are both false; set one of them to true"));
    }
    sources.note(keys::RUBRICS.name, Value::from(parts.rubrics), origin.clone());
    sources.note(keys::SNIPPETS.name, Value::from(parts.snippets), origin);
    Ok(parts)
}

/// A path that is stronger than the `enabled = false` of the file turns the cache on again.
fn merge_cache(sources: &mut Sources<'_>, args: &ScoreArgs) -> Result<CacheSettings> {
    let enabled = sources.find(&keys::CACHE_ENABLED, args.cache.no_cache.then_some(false))?;
    let path = sources.find(&keys::CACHE_PATH, args.cache.cache.clone())?;
    let path_is_stronger = matches!(&path, Some((_, Origin::Flag(_) | Origin::Environment(_))));
    let (enabled, enabled_origin) = match enabled {
        Some((false, Origin::File { .. })) if path_is_stronger => {
            (true, path.as_ref().map_or(Origin::Default, |(_, origin)| origin.clone()))
        }
        Some(found) => found,
        None => (true, Origin::Default),
    };
    let (path, origin) = path
        .map(|(path, origin)| (sources.resolved(path, &origin), origin))
        .unwrap_or_else(|| (PathBuf::from(DEFAULT_CACHE), Origin::Default));
    sources.note(keys::CACHE_ENABLED.name, Value::from(enabled), enabled_origin);
    sources.note(keys::CACHE_PATH.name, if enabled { path.to_json() } else { Value::Null }, origin);
    let retry_unscored = sources.switch(&keys::RETRY_UNSCORED, args.cache.retry_unscored)?;
    Ok(CacheSettings { path: enabled.then_some(path), retry_unscored })
}

fn merge_output(sources: &mut Sources<'_>, args: &ScoreArgs) -> Result<OutputSettings> {
    let flags = &args.output;
    Ok(OutputSettings {
        out: sources.path(&keys::OUT, flags.out.clone())?,
        overwrite: sources.switch(&keys::OVERWRITE, flags.overwrite)?,
        inputs: !sources.switch(&keys::NO_INPUTS, flags.no_inputs)?,
        label: sources.optional(&keys::LABEL, flags.run_label.clone())?,
        results_file: sources.path(&keys::RESULTS_FILE, flags.results_file.clone())?,
        format: sources.or_default(&keys::FORMAT, flags.format, OutputFormat::Table)?,
        quiet: sources.switch(&keys::QUIET, flags.quiet)?,
    })
}
