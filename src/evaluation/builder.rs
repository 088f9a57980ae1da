//! Evaluations: built from options, then prepared, planned and run.

use std::collections::BTreeSet;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Value, json};

use super::choice::{Choice, aspects_of};
use super::inputs::LoadedInputs;
use super::judges::Judges;
use super::looks::observed_systems;
use super::options::EvaluationOptions;
use super::pairs::{ChosenPairs, PairChoice, PairOrders, PairTerms};
use super::prepared::Prepared;
use super::preset::Preset;
use super::recorded::{CITATION_PROMPTS, RecordedEvaluation};
use super::scorers::needs_rubric;
use super::session::Run;
use super::slicing::keep_slice;
use super::works::{OnBytes, look_up};
use super::{Plan, StopHandle};
use crate::analysis::comparison::{LookRule, ScoreRule};
use crate::dataset::InputFile;
use crate::domain::{Aspect, Item, Role, RubricProfile, SavedPages, Severity};
use crate::error::{Error, Result};
use crate::judge::{Judge, JudgeBuilder, Notify};
use crate::prompt::PromptSet;
use crate::question::{CITATION_GROUP, PAIR, PairForm};
use crate::record::{
    Manifest, NoEvents, PAIRS_SETTING, PERTURBATIONS, PolicyEntry, SOURCES_INPUT, scorer_key,
};
use crate::scorer::pages::PAGE_TOKENS;
use crate::scorer::{InputNeed, Scorer, ScorerInfo, ScorerRoles, Setup};
use crate::text::perturbation::Perturbation;

/// An evaluation: answers, test cases, a judge, and any other option.
///
/// ```
/// use scholareval::{Evaluation, JudgeBuilder};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> scholareval::Result<()> {
/// # let dir = std::env::temp_dir().join(format!("scholareval-evaluation-{}", std::process::id()));
/// // `JudgeBuilder::server("http://localhost:8000")` in its place asks a model.
/// let judge = JudgeBuilder::lexical();
/// let evaluation = Evaluation::builder().tests("data/test_cases.json").answers("data/answers").judge(judge);
/// let run = evaluation.run(dir.join("run")).await?;
/// println!("{} scores in {}", run.scores().len(), run.dir().display());
/// assert!(run.scores().iter().all(|scored| scored.score.is_complete()));
/// # std::fs::remove_dir_all(dir).ok();
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Evaluation {
    options: EvaluationOptions,
    own_judge: Option<Arc<dyn Judge>>,
    own_scorers: Vec<Arc<dyn Scorer>>,
    preset: Option<Arc<Preset>>,
    perturbations: Vec<Perturbation>,
    rule: Option<Arc<dyn LookRule>>,
    notify: Arc<Notify>,
    on_bytes: Arc<OnBytes>,
}

impl Evaluation {
    /// An evaluation with default options: nothing to read yet, and the lexical baseline as judge.
    pub fn builder() -> Self {
        Self::from_options(EvaluationOptions::default())
    }

    /// An evaluation with these options; everything that the command line can set is among them.
    pub fn from_options(options: EvaluationOptions) -> Self {
        Self {
            options,
            own_judge: None,
            own_scorers: Vec::new(),
            preset: None,
            perturbations: Vec::new(),
            rule: None,
            notify: Arc::new(|_, _| ()),
            on_bytes: Arc::new(|_, _| ()),
        }
    }

    /// The test cases with their rubrics (JSON).
    #[must_use]
    pub fn tests(mut self, path: impl Into<PathBuf>) -> Self {
        self.options.input.tests = Some(path.into());
        self
    }

    /// A JSONL file of answers, or a directory of such files; may be called several times. The directory of a run stands
    /// for the answers, test cases and settings that it holds; then only the judge is chosen.
    #[must_use]
    pub fn answers(mut self, path: impl Into<PathBuf>) -> Self {
        self.options.input.answers.push(path.into());
        self
    }

    /// The judge of all roles that name no judge, with its limits and its cache.
    #[must_use]
    pub fn judge(mut self, judge: JudgeBuilder) -> Self {
        self.options.judge = judge.options;
        self.options.limits = judge.limits;
        self.options.cache = judge.cache;
        self.own_judge = judge.own;
        self
    }

    /// A built-in scorer; may be called several times. Default: every scorer that the input supports.
    #[must_use]
    pub fn built_in(mut self, scorer: &'static ScorerInfo) -> Self {
        self.options.scorers.scorers.push(scorer);
        self
    }

    /// A custom scorer; may be called several times. Built-in ones run beside it only if they are named.
    #[must_use]
    pub fn scorer(mut self, scorer: impl Scorer + 'static) -> Self {
        self.own_scorers.push(Arc::new(scorer));
        self
    }

    /// Receives messages for the user: warnings about the input, servers that are still loading.
    #[must_use]
    pub fn on_note(mut self, notify: impl Fn(Severity, &str) + Send + Sync + 'static) -> Self {
        self.notify = Arc::new(notify);
        self
    }

    /// Receives the bytes read so far and all bytes there are, from any thread, while files of works are read.
    #[must_use]
    pub fn on_bytes(mut self, on_bytes: impl Fn(u64, u64) + Send + Sync + 'static) -> Self {
        self.on_bytes = Arc::new(on_bytes);
        self
    }

    /// The questions of a benchmark; every system must answer them.
    #[must_use]
    pub fn preset(mut self, preset: Preset) -> Self {
        self.preset = Some(Arc::new(preset));
        self
    }

    /// Scores every answer also with each of these perturbations that changes it, as an answer of the system `NAME + padded`
    /// (and so on). [`probe`](crate::analysis::probe) compares them.
    #[must_use]
    pub fn perturbed(mut self, perturbations: &[Perturbation]) -> Self {
        self.perturbations = perturbations.to_vec();
        self
    }

    /// Asks the questions in random order and ends at the look at which this rule has nothing left to decide. The option `until`
    /// does the same by a metric of the scores.
    #[must_use]
    pub fn look_rule(mut self, rule: impl LookRule + 'static) -> Self {
        self.rule = Some(Arc::new(rule));
        self
    }

    /// Reads all input, chooses the scorers and asks every server which model it serves. Nothing is paid
    /// or written.
    ///
    /// # Errors
    /// For options and input that cannot be used; for a judge that is unreachable and unknown from earlier runs.
    pub async fn prepare(self) -> Result<Prepared> {
        self.options.check()?;
        check_baseline(&self.options)?;
        match RecordedEvaluation::among(&self.options)? {
            Some(recorded) => self.prepare_recorded(&recorded).await,
            None => self.prepare_files().await,
        }
    }

    /// What an earlier run holds, by another judge.
    async fn prepare_recorded(self, recorded: &RecordedEvaluation) -> Result<Prepared> {
        let has_own =
            self.preset.is_some() || !self.perturbations.is_empty() || !self.own_scorers.is_empty();
        if has_own {
            let message = "the answers of a run are scored again as they were scored there; give the files of answers";
            return Err(Error::Usage(message.to_owned()));
        }
        let chosen = self.options.pairs.as_ref();
        if chosen.is_some_and(|chosen| *chosen != PairChoice::default()) {
            let message =
                "a run of pairs is judged again pair by pair; leave the options of pairs out";
            return Err(Error::Usage(message.to_owned()));
        }
        prepare_recorded(recorded, self.options, self.own_judge.as_ref(), self.notify).await
    }

    /// The answers of files.
    async fn prepare_files(self) -> Result<Prepared> {
        let Self {
            mut options,
            own_judge,
            own_scorers,
            preset,
            perturbations,
            rule,
            notify,
            on_bytes,
        } = self;
        let mut inputs = LoadedInputs::load(&options, preset.as_deref())?.selected(&options)?;
        look_up(&mut inputs, &options.scorers, &*on_bytes)?;
        let chosen_pairs = paired(&mut inputs, &options)?;
        let has_looks = options.scoring.until.is_some() || rule.is_some();
        inputs
            .notes
            .extend(note_on_orders(chosen_pairs.as_ref(), has_looks));
        repeat_as_reference(&mut options, &inputs.profile);
        // Who brings a scorer wants that one alone, and not a paid run of all the others.
        let choice = if options.scorers.scorers.is_empty() && !own_scorers.is_empty() {
            Choice::default()
        } else {
            Choice::of(&options, &inputs.support, preset.is_some())?
        };
        tell_of_inputs(&inputs, &choice, &*notify);
        let mut making = ScorerMaking {
            options: &options,
            choice: &choice,
            own_scorers: &own_scorers,
            aspects: chosen_aspects(&choice, &options)?,
            // Of all slices, so that each runs the same scorers with the same settings.
            items: Arc::clone(&inputs.plain),
            pair_form: PairForm::default(),
            pages: saved_pages(&choice, &options)?,
        };
        // Which judges there are depends on the scorers, and some scorers depend on their judge: they are made twice.
        let roles = roles_of(&making.scorers(&inputs.profile, false));
        let judges = Judges::identify(&options, own_judge.as_ref(), &roles, &*notify).await?;
        // The marker of a title is part of the imported wording of ScholarQA-CS2; other rubrics
        // have no titles to mark.
        let report_prompts = judges.prompt_set().filter(|_| inputs.profile.report);
        inputs.profile.title_marker = match report_prompts {
            Some(set) => set.title_marker().to_owned(),
            None => String::new(),
        };
        let rubric_judge = judges.rubric();
        let is_lexical = rubric_judge.is_some_and(|named| named.judge.is_lexical());
        if let (Some(_), Some(set)) = (&chosen_pairs, judges.prompt_set()) {
            making.pair_form = set.pair_form();
            check_pair_prompts(&options, set)?;
        }
        let scorers = making.scorers(&inputs.profile, is_lexical);
        // After the judges are known, since slices are dealt out by calls, and before the
        // perturbations, so that an answer and its perturbed forms are in one slice.
        if let Some(slice) = options.input.slice {
            keep_slice(&mut inputs, slice, &scorers, &judges)?;
        }
        let sources = making.sources_file();
        let rule = look_rule(&options, rule, &inputs)?;
        check_rule_of_probe(rule.is_some(), &perturbations)?;
        inputs.add_perturbed(&perturbations)?;
        let mut manifest = manifest(&options, &inputs, &scorers, &judges)?;
        manifest.inputs.extend(sources);
        let settings = &mut manifest.settings;
        settings.extend(inputs.settings.clone());
        let of_citations = report_prompts.and_then(|set| set.family(&CITATION_GROUP));
        if let Some(family) = of_citations {
            settings.insert(CITATION_PROMPTS.to_owned(), family.label().into());
        }
        settings.extend(settings_of_commands(
            preset.as_deref(),
            chosen_pairs.as_ref(),
            &perturbations,
        ));
        let prepared = Prepared {
            options,
            inputs,
            choice,
            judges,
            manifest,
            scorers,
            rule,
            notify,
        };
        prepared.check_until()?;
        Ok(prepared)
    }

    /// Counts the calls of a run, without making any.
    ///
    /// # Errors
    /// As [`Evaluation::prepare`].
    pub async fn plan(self) -> Result<Plan> {
        Ok(self.prepare().await?.plan().await?.plan)
    }

    /// Runs the evaluation and records it in the directory `dir`. The same call again continues where it stopped.
    ///
    /// # Errors
    /// As [`Evaluation::prepare`]; for a directory that holds another run; when the judge becomes unusable.
    pub async fn run(self, dir: impl AsRef<Path>) -> Result<Run> {
        let mut run = self.prepare().await?.start(dir.as_ref()).await?;
        run.ask(&mut NoEvents, &StopHandle::new()).await?;
        Ok(run)
    }
}

/// A note on pairs whose second order could only be left out at a look.
const NO_LOOKS: &str = "--orders auto shows every pair in both orders without --until, which decides where one order suffices";

/// What to know of pairs whose second order is left out only at a look, where there are no looks.
fn note_on_orders(pairs: Option<&ChosenPairs>, has_looks: bool) -> Option<String> {
    let is_auto = pairs.is_some_and(|chosen| chosen.orders == PairOrders::Auto);
    (is_auto && !has_looks).then(|| NO_LOOKS.to_owned())
}

/// In compat mode asks as often for a readable reply as the reference: some references do more often than we, and with fewer
/// attempts compat could not give their number.
fn repeat_as_reference(options: &mut EvaluationOptions, profile: &RubricProfile) {
    if options.scoring.compat {
        let repeats = profile.repeats_in_compat();
        options.scoring.parse_retries = options.scoring.parse_retries.max(repeats);
    }
}

/// # Errors
/// For looks at a probe.
fn check_rule_of_probe(has_looks: bool, perturbations: &[Perturbation]) -> Result<()> {
    if has_looks && !perturbations.is_empty() {
        let message =
            "--until does not fit probe, which compares each system with its own changed answers";
        return Err(Error::Usage(message.to_owned()));
    }
    Ok(())
}

/// Puts the answers together in pairs, if they are to be compared.
fn paired(inputs: &mut LoadedInputs, options: &EvaluationOptions) -> Result<Option<ChosenPairs>> {
    let Some(choice) = &options.pairs else {
        return Ok(None);
    };
    let scoring = &options.scoring;
    let terms = PairTerms {
        baseline: scoring.baseline.as_deref(),
        has_looks: scoring.until.is_some(),
        seed: scoring.seed,
    };
    inputs.make_pairs(choice, terms).map(Some)
}

/// The saved pages, if a scorer reads them.
fn saved_pages(
    choice: &Choice,
    options: &EvaluationOptions,
) -> Result<Option<Arc<dyn SavedPages>>> {
    let mut scorers = choice.scorers.iter();
    if !scorers.any(|scorer| scorer.needs == InputNeed::Pages) {
        return Ok(None);
    }
    let pages = options.scorers.saved_pages()?;
    Ok(pages.map(|pages| Arc::new(pages) as Arc<dyn SavedPages>))
}

/// The aspects to grade, if a scorer grades them.
fn chosen_aspects(choice: &Choice, options: &EvaluationOptions) -> Result<Vec<Arc<Aspect>>> {
    let mut scorers = choice.scorers.iter();
    if scorers.any(|scorer| scorer.roles == ScorerRoles::Aspects) {
        aspects_of(options)
    } else {
        Ok(Vec::new())
    }
}

/// The settings that only some commands have.
fn settings_of_commands(
    preset: Option<&Preset>,
    pairs: Option<&ChosenPairs>,
    perturbations: &[Perturbation],
) -> Vec<(String, Value)> {
    let mut settings = Vec::new();
    if let Some(preset) = preset {
        settings.push(("bench".to_owned(), preset.name.into()));
    }
    if let Some(chosen) = pairs {
        settings.push((PAIRS_SETTING.to_owned(), json!(chosen)));
    }
    if !perturbations.is_empty() {
        settings.push((PERTURBATIONS.to_owned(), json!(perturbations)));
    }
    settings
}

/// # Errors
/// For a baseline that nothing is compared with.
fn check_baseline(options: &EvaluationOptions) -> Result<()> {
    let scoring = &options.scoring;
    if scoring.baseline.is_none() || scoring.until.is_some() || options.pairs.is_some() {
        return Ok(());
    }
    let message = "--baseline needs --until baseline, or the command pairs; the systems of a finished run are compared with one of them \
                   by compare --baseline SYSTEM";
    Err(Error::Usage(message.to_owned()))
}

/// The rule of the looks: the given one, else that of `--until`.
fn look_rule(
    options: &EvaluationOptions,
    given: Option<Arc<dyn LookRule>>,
    inputs: &LoadedInputs,
) -> Result<Option<Arc<dyn LookRule>>> {
    let scoring = &options.scoring;
    let rule = match (given, &scoring.until) {
        (Some(given), _) => given,
        (None, Some(until)) => {
            let systems = observed_systems(inputs);
            let baseline = scoring.baseline.as_deref();
            Arc::new(ScoreRule::new(until, baseline, &systems)?)
        }
        (None, None) => return Ok(None),
    };
    if options.input.slice.is_some() {
        // A slice has only a part of the questions: its looks would not be those of the whole run.
        let message = "--until does not fit --slice: the looks are at all questions of a run";
        return Err(Error::Usage(message.to_owned()));
    }
    Ok(Some(rule))
}

/// Prepares what an earlier run holds for another judge.
async fn prepare_recorded(
    recorded: &RecordedEvaluation,
    options: EvaluationOptions,
    own_judge: Option<&Arc<dyn Judge>>,
    notify: Arc<Notify>,
) -> Result<Prepared> {
    let options = recorded.with_its_settings(options)?;
    let inputs = recorded.inputs(&options)?.selected(&options)?;
    let choice = recorded.choice();
    tell_of_inputs(&inputs, &choice, &*notify);
    let roles = roles_of(&recorded.scorers()?);
    let judges = Judges::identify(&options, own_judge, &roles, &*notify).await?;
    let (manifest, scorers) = recorded.manifest(&options, &inputs, &judges)?;
    let rule = look_rule(&options, None, &inputs)?;
    let prepared = Prepared {
        options,
        inputs,
        choice,
        judges,
        manifest,
        scorers,
        rule,
        notify,
    };
    prepared.check_until()?;
    Ok(prepared)
}

/// What the scorers of an evaluation are made of, besides the profile.
struct ScorerMaking<'a> {
    options: &'a EvaluationOptions,
    choice: &'a Choice,
    own_scorers: &'a [Arc<dyn Scorer>],
    aspects: Vec<Arc<Aspect>>,
    items: Arc<[Item]>,
    pair_form: PairForm,
    pages: Option<Arc<dyn SavedPages>>,
}

impl ScorerMaking<'_> {
    /// The store of saved pages as an input of the run.
    fn sources_file(&self) -> Option<InputFile> {
        let path = self.options.scorers.sources.as_ref()?;
        let pages = self.pages.as_ref()?;
        // Runs are continued and scored again from anywhere.
        let path = path.canonicalize().unwrap_or_else(|_| path.clone());
        Some(InputFile::new(SOURCES_INPUT, &path, pages.hash()))
    }

    /// The scorers, the built-in ones first. `is_baseline` if the built-in baseline judges rubrics.
    fn scorers(&self, profile: &RubricProfile, is_baseline: bool) -> Vec<Arc<dyn Scorer>> {
        let options = &self.options.scorers;
        let setup = Setup {
            mode: self.options.scoring.mode(),
            parts: self.options.scoring.parts(),
            profile,
            aspects: &self.aspects,
            items: &self.items,
            is_baseline,
            instruction: &options.instruction,
            top_n: options.top_n,
            use_reference: !options.no_reference,
            index_base: options.index_base,
            entail: options.entail,
            by_criteria: self
                .options
                .pairs
                .as_ref()
                .is_some_and(|pairs| pairs.by_criteria),
            pair_form: self.pair_form,
            at_most: options.at_most.get(),
            max_words: options.max_words.map(NonZeroUsize::get),
            pages: self.pages.as_ref(),
            page_tokens: options.page_tokens.unwrap_or(PAGE_TOKENS),
            dedup: options.dedup.unwrap_or_default(),
        };
        let mut scorers = Vec::new();
        for info in &self.choice.scorers {
            scorers.push((info.make)(&setup));
        }
        scorers.extend(self.own_scorers.iter().cloned());
        scorers
    }
}

/// The manifest of the run.
fn manifest(
    options: &EvaluationOptions,
    inputs: &LoadedInputs,
    scorers: &[Arc<dyn Scorer>],
    judges: &Judges,
) -> Result<Manifest> {
    let mut settings = options.run_settings();
    let mut names = Vec::new();
    for scorer in scorers {
        let of_scorer = scorer.settings();
        if !of_scorer.is_null() {
            settings.insert(scorer_key(scorer.name()), of_scorer);
        }
        names.push(scorer.name().to_owned());
    }
    let mut files = inputs.files.clone();
    if let Some(aspects) = &options.scorers.aspect_rubrics {
        let bytes = std::fs::read(aspects).map_err(Error::io(aspects, "read"))?;
        let hash = blake3::hash(&bytes).into();
        files.push(InputFile::new("aspects", aspects, hash));
    }
    let needs_rubrics = scorers.iter().any(|scorer| needs_rubric(&**scorer));
    let is_of_tests = needs_rubrics && inputs.has_tests();
    let mut manifest = Manifest {
        label: options.output.label.clone(),
        settings,
        inputs: files,
        scorers: names,
        roles: judges.entries(),
        seed: options.scoring.seed,
        answers: inputs.answers(scorers),
        kept_cases: inputs.kept_cases.iter().map(ToString::to_string).collect(),
        warnings: inputs.warnings.clone(),
        uncounted: inputs.uncounted.clone(),
        policy: PolicyEntry {
            on_unscored: options.scoring.on_unscored,
            max_unscored: options.scoring.max_unscored,
        },
        ..Manifest::begin(options.scoring.mode())
    };
    let is_of_pairs = options.pairs.is_some() && inputs.has_tests();
    // Runs of plain scorers alone pair nothing with test cases, so that no answer can be missing.
    if is_of_tests || is_of_pairs {
        manifest.missing = inputs.missing_names();
    }
    Ok(manifest.with_reference())
}

/// # Errors
/// Where criteria are asked for that the prompts do not show.
fn check_pair_prompts(options: &EvaluationOptions, set: &PromptSet) -> Result<()> {
    let by_criteria = options
        .pairs
        .as_ref()
        .is_some_and(|pairs| pairs.by_criteria);
    if by_criteria && !set.shows(&PAIR, "criterion") {
        let message = "--by-criteria: these prompts compare answers as a whole; add {{criterion}} to a user file of [pair], or leave the \
                       option out";
        return Err(Error::Usage(message.to_owned()));
    }
    Ok(())
}

/// The roles in which the scorers ask judges, each once.
fn roles_of(scorers: &[Arc<dyn Scorer>]) -> Vec<Role> {
    let mut roles = BTreeSet::new();
    for scorer in scorers {
        roles.extend(scorer.roles());
    }
    roles.into_iter().collect()
}

/// Tells what was noticed about the files and which scorers are chosen.
fn tell_of_inputs(inputs: &LoadedInputs, choice: &Choice, notify: &Notify) {
    for warning in &inputs.warnings {
        notify(Severity::Warning, warning);
    }
    let notes = inputs.uncounted.iter().chain(&inputs.notes);
    for note in notes.chain(&choice.note()) {
        notify(Severity::Info, note);
    }
}
