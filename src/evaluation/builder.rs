//! Evaluations: built from options, then prepared, planned and run.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::choice::Choice;
use super::inputs::LoadedInputs;
use super::judges::Judges;
use super::looks::observed_systems;
use super::options::EvaluationOptions;
use super::pairs::PairChoice;
use super::prepared::Prepared;
use super::preset::Preset;
use super::recorded::RecordedEvaluation;
use super::scorer_files::{ScorerFiles, roles_of};
use super::scorers::needs_rubric;
use super::session::Run;
use super::slicing::keep_slice;
use super::works::{OnBytes, look_up};
use super::{Plan, StopHandle};
use crate::analysis::comparison::ScoreRule;
use crate::domain::{RubricProfile, Severity, SubjectKind};
use crate::error::{Error, Result};
use crate::judge::{Judge, JudgeBuilder, Notify};
use crate::record::{Manifest, NoEvents, PolicyEntry, scorer_key};
use crate::scorer::{Scorer, ScorerInfo};
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
            notify: Arc::new(|_, _| ()),
            on_bytes: Arc::new(|_, _| ()),
        }
    }

    /// The test cases with their rubrics (JSON).
    #[must_use]
    pub fn tests(mut self, path: impl Into<PathBuf>) -> Self {
        self.options.cases.tests = Some(path.into());
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
            notify,
            on_bytes,
        } = self;
        let mut inputs = LoadedInputs::load(&options, preset.as_deref())?.selected(&options)?;
        look_up(&mut inputs, &options.scorers, &*on_bytes)?;
        inputs.pair_up(&options)?;
        repeat_as_reference(&mut options, &inputs.profile);
        // Who brings a scorer wants that one alone, and not a paid run of all the others.
        let choice = if options.scorers.scorers.is_empty() && !own_scorers.is_empty() {
            Choice::default()
        } else {
            Choice::of(&options, &inputs.support, preset.is_some())?
        };
        tell_of_inputs(&inputs, &choice, &*notify);
        let read = ScorerFiles::load(&choice, &options)?;
        inputs.files.extend(read.files.iter().cloned());
        let roles = read.roles(&choice, &own_scorers);
        let judges = Judges::identify(&options, own_judge.as_ref(), &roles, &*notify).await?;
        inputs.check_prompts(judges.prompt_set())?;
        inputs.use_prompts(judges.prompt_set());
        let mut scorers = read.scorers(&choice, &options, &inputs, &judges)?;
        scorers.extend(own_scorers);
        // After the judges are known, since slices are dealt out by calls, and before the
        // perturbations, so that an answer and its perturbed forms are in one slice.
        if let Some(slice) = options.bounds.slice {
            keep_slice(&mut inputs, slice, &scorers, &judges)?;
        }
        let rule = look_rule(&options, &inputs)?;
        check_rule_of_probe(rule.is_some(), &perturbations)?;
        let left_out = inputs.add_perturbed(&perturbations, &scorers, &judges)?;
        if !left_out.is_empty() {
            let note = format!(
                "not probed: {} (nothing changes that this judge is asked)",
                left_out.join(", ")
            );
            notify(Severity::Info, &note);
        }
        let mut manifest = manifest(&options, &inputs, &scorers, &judges);
        manifest.certificates = options.asking.certificates()?;
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
        prepared.check_decisions()?;
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

/// In compat mode asks as often for a readable reply as the reference: some references do more often than we, and with fewer
/// attempts compat could not give their number.
fn repeat_as_reference(options: &mut EvaluationOptions, profile: &RubricProfile) {
    if options.scoring.compat {
        let repeats = profile.repeats_in_compat();
        let asking = &mut options.asking;
        asking.parse_retries = asking.parse_retries.max(repeats);
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

/// # Errors
/// For a baseline that nothing is compared with.
fn check_baseline(options: &EvaluationOptions) -> Result<()> {
    let bounds = &options.bounds;
    if bounds.baseline.is_none() || bounds.until.is_some() || options.pairs.is_some() {
        return Ok(());
    }
    let message = "--baseline needs --until baseline, or the command pairs; the systems of a finished run are compared with one of them \
                   by compare --baseline SYSTEM";
    Err(Error::Usage(message.to_owned()))
}

/// The rule of the looks that `--until` asks for.
fn look_rule(options: &EvaluationOptions, inputs: &LoadedInputs) -> Result<Option<ScoreRule>> {
    let bounds = &options.bounds;
    let Some(until) = &bounds.until else {
        return Ok(None);
    };
    let baseline = bounds.baseline.as_deref();
    let rule = ScoreRule::new(until, baseline, &observed_systems(inputs))?;
    if bounds.slice.is_some() {
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
    let (mut manifest, scorers) = recorded.manifest(&options, &inputs, &judges)?;
    manifest.certificates = options.asking.certificates()?;
    let rule = look_rule(&options, &inputs)?;
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
    prepared.check_decisions()?;
    Ok(prepared)
}

/// The manifest of the run.
fn manifest(
    options: &EvaluationOptions,
    inputs: &LoadedInputs,
    scorers: &[Arc<dyn Scorer>],
    judges: &Judges,
) -> Manifest {
    let mut settings = options.run_settings();
    let mut names = Vec::new();
    for scorer in scorers {
        let of_scorer = scorer.settings();
        if !of_scorer.is_null() {
            settings.insert(scorer_key(scorer.name()), of_scorer);
        }
        names.push(scorer.name().to_owned());
    }
    settings.extend(inputs.settings.clone());
    let mut manifest = Manifest {
        label: options.output.label.clone(),
        settings,
        inputs: inputs.files.clone(),
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
        subject: inputs.subject,
        ..Manifest::begin(options.scoring.mode())
    };
    let uses_tests = match inputs.subject {
        SubjectKind::Answer => scorers.iter().any(|scorer| needs_rubric(&**scorer)),
        SubjectKind::Pair => true,
    };
    // Runs of plain scorers alone pair nothing with test cases, so that no answer can be missing.
    if uses_tests && inputs.has_tests() {
        manifest.missing = inputs.missing_names();
    }
    manifest.with_reference()
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
