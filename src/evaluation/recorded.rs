//! An evaluation of what an earlier run holds: its answers, questions and settings, by another judge.
//!
//! Everything but the judge comes from the record, so that two runs differ in nothing else: inputs from `inputs.jsonl`,
//! settings and scorers from the manifest. The files that the run was made of are not read, and may be gone. Options that
//! would change what is scored are errors, since their effect would be taken for that of the judge.

use std::path::Path;
use std::sync::Arc;

use serde_json::Value;

use super::choice::Choice;
use super::inputs::{CITATION_PROMPTS, LoadedInputs, REMOVED};
use super::judges::Judges;
use super::options::EvaluationOptions;
use super::scorers::recorded_scorers;
use super::works::recorded_work_records;
use crate::dataset::{self, Support};
use crate::domain::{Item, Mode};
use crate::error::{Error, InputFault, Result};
use crate::question::CITATION_GROUP;
use crate::record::{IMPORTED, Inputs, KEPT_ERRORS, Manifest, THINKING};
use crate::scorer::{Scorer, scorer_named};

/// An earlier run whose answers are scored again.
pub(super) struct RecordedEvaluation {
    manifest: Manifest,
    inputs: Inputs,
}

impl RecordedEvaluation {
    /// The run among the answers; `None` if these are files of answers.
    ///
    /// # Errors
    /// If there are other answers beside the run; when the run cannot be read, or has no inputs.
    pub(super) fn among(options: &EvaluationOptions) -> Result<Option<Self>> {
        let answers = &options.input.answers;
        let Some(run) = answers.iter().find(|path| is_run(path)) else {
            return Ok(None);
        };
        if answers.len() > 1 {
            let message = format!(
                "{} is a run, whose answers are scored again alone; leave the other ANSWERS out",
                run.display()
            );
            return Err(Error::Usage(message));
        }
        let out = options.output.out.as_deref();
        if out.is_some_and(|out| is_same_directory(out, run)) {
            let fault = InputFault::new(run, "is the run whose answers are scored again");
            return Err(fault.refuse("name another directory with --out"));
        }
        Self::load(run).map(Some)
    }

    fn load(run: &Path) -> Result<Self> {
        let manifest = Manifest::of_run(run)?;
        if manifest.is_set(IMPORTED) {
            let fault =
                InputFault::new(run, "this run was imported: it holds scores and no answers");
            return Err(fault.refuse("give the files of answers"));
        }
        let inputs = Inputs::load(run, &manifest)?.ok_or_else(|| {
            let what = "this run holds no answers: inputs.jsonl is missing (--no-inputs)";
            InputFault::new(run, what).hint("give the files of answers and test cases")
        })?;
        Ok(Self { manifest, inputs })
    }

    /// The options with the settings of the run.
    ///
    /// # Errors
    /// [`Error::Usage`] for options that would change what is scored.
    pub(super) fn with_its_settings(
        &self,
        mut options: EvaluationOptions,
    ) -> Result<EvaluationOptions> {
        self.refuse_other_settings(&options)?;
        let defaults = EvaluationOptions::default();
        let settings = &self.manifest.settings;
        options.scoring.compat = self.manifest.mode == Mode::Compat;
        if let Some(retries) = settings.get("score.parse_retries").and_then(Value::as_u64) {
            options.asking.parse_retries = u32::try_from(retries).unwrap_or(u32::MAX);
        }
        options.input.reasoning_tags =
            Some(self.manifest.reasoning_tags()).filter(|tags| !tags.is_empty());
        options.asking.truncate = self.manifest.is_set("score.truncate");
        // As if they were named: some take the judge of the command only then.
        options.scorers.scorers = self.choice().scorers;
        // How scores are summarized may be chosen anew; else it is as in the run.
        if options.scoring.seed == defaults.scoring.seed {
            options.scoring.seed = self.manifest.seed;
        }
        let policy = self.manifest.policy;
        if options.scoring.on_unscored == defaults.scoring.on_unscored {
            options.scoring.on_unscored = policy.on_unscored;
        }
        if options.scoring.max_unscored == defaults.scoring.max_unscored {
            options.scoring.max_unscored = policy.max_unscored;
        }
        Ok(options)
    }

    /// # Errors
    /// For a setting that was given and is another one in the run.
    fn refuse_other_settings(&self, options: &EvaluationOptions) -> Result<()> {
        let defaults = EvaluationOptions::default().run_settings();
        let mut others = Vec::new();
        for (name, value) in options.run_settings() {
            let is_given = defaults.get(&name) != Some(&value);
            if is_given && self.manifest.settings.get(&name) != Some(&value) {
                others.push(name.trim_start_matches("score.").to_owned());
            }
        }
        // What was removed when the files were read is not in the run.
        let input = &options.input;
        let recorded = |name| self.manifest.settings.get(name);
        if input.keep_thinking && recorded(THINKING) == Some(&REMOVED.into()) {
            others.push("keep_thinking".to_owned());
        }
        if input.keep_errors && recorded(KEPT_ERRORS) == Some(&false.into()) {
            others.push("keep_errors".to_owned());
        }
        if others.is_empty() {
            return Ok(());
        }
        Err(Error::Usage(format!(
            "the answers of a run are scored again as they were scored there, only the judge is another one; leave out \
             what differs: {}",
            others.join(", ")
        )))
    }

    /// The inputs of the run.
    ///
    /// # Errors
    /// When the default profile cannot be read.
    pub(super) fn inputs(&self, options: &EvaluationOptions) -> Result<LoadedInputs> {
        let manifest = &self.manifest;
        let rubric: Arc<[Item]> = self.inputs.rubric().cloned().collect();
        // Of a run of pairs the pairs.
        let plain: Arc<[Item]> = self.inputs.of_scorer(false).into();
        let profile = match manifest.criteria_profile() {
            Some(profile) => profile,
            None => dataset::rubric_profile(None)?,
        };
        // Without rubrics the scorers take the other list.
        let all_cases = if rubric.is_empty() {
            Vec::new()
        } else {
            self.inputs.cases.clone()
        };
        let mut missing = Vec::new();
        for (system, case) in &manifest.missing {
            missing.push((system.as_str().into(), case.as_str().into()));
        }
        let kept_cases = manifest.kept_cases.iter();
        Ok(LoadedInputs {
            subject: manifest.subject,
            rubric,
            plain,
            profile,
            support: Support::default(),
            all_cases,
            kept_cases: kept_cases.map(|case| case.as_str().into()).collect(),
            missing,
            files: manifest.inputs.clone(),
            warnings: manifest.warnings.clone(),
            uncounted: manifest.uncounted.clone(),
            notes: unread_files(options),
            settings: manifest.settings.clone(),
            work_records: recorded_work_records(manifest),
            selected_items: Arc::default(),
            coverage: Vec::new(),
        })
    }

    /// The scorers of the run, by name.
    pub(super) fn choice(&self) -> Choice {
        let names = self.manifest.scorers.iter();
        Choice {
            scorers: names.filter_map(|name| scorer_named(name)).collect(),
            ..Choice::default()
        }
    }

    /// The scorers of the run; `is_baseline` if the built-in baseline is going to judge.
    ///
    /// # Errors
    /// For a scorer that is not built in, and for settings that cannot be read.
    pub(super) fn scorers(&self) -> Result<Vec<Arc<dyn Scorer>>> {
        recorded_scorers(&self.manifest)
    }

    /// The manifest of the new run, and its scorers as these judges are asked.
    ///
    /// # Errors
    /// When the judges are asked with other prompts than those of the run.
    pub(super) fn manifest(
        &self,
        options: &EvaluationOptions,
        inputs: &LoadedInputs,
        judges: &Judges,
    ) -> Result<(Manifest, Vec<Arc<dyn Scorer>>)> {
        let earlier = self.manifest.clone();
        let answers = inputs.answers(&recorded_scorers(&earlier)?);
        let manifest = Manifest {
            label: options.output.label.clone(),
            roles: judges.entries(),
            seed: options.scoring.seed,
            policy: crate::record::PolicyEntry {
                on_unscored: options.scoring.on_unscored,
                max_unscored: options.scoring.max_unscored,
            },
            settings: inputs.settings.clone(),
            inputs: earlier.inputs,
            scorers: earlier.scorers,
            answers,
            missing: inputs.missing_names(),
            kept_cases: earlier.kept_cases,
            warnings: earlier.warnings,
            uncounted: inputs.uncounted.clone(),
            subject: inputs.subject,
            ..Manifest::begin(earlier.mode)
        };
        let manifest = manifest.with_reference();
        self.check_prompts(&manifest, judges)?;
        // Of the new manifest: whether the baseline judges is a matter of the judge.
        let scorers = recorded_scorers(&manifest)?;
        Ok((manifest, scorers))
    }

    /// # Errors
    /// For the first role whose prompts are not those of the run: a shift would be that of the prompts, too.
    fn check_prompts(&self, new: &Manifest, judges: &Judges) -> Result<()> {
        for (role, entry) in &self.manifest.roles {
            let now = new.roles.get(role).and_then(|role| role.prompts.as_ref());
            // The built-in baseline reads no prompts.
            if let (Some(before), Some(now)) = (&entry.prompts, now)
                && before.fingerprint != now.fingerprint
            {
                return Err(self.other_prompts(&before.label, &now.label));
            }
        }
        let recorded = self.manifest.settings.get(CITATION_PROMPTS);
        let now = judges
            .prompt_set()
            .and_then(|set| set.family(&CITATION_GROUP));
        if let (Some(Value::String(before)), Some(now)) = (recorded, now)
            && *before != now.label()
        {
            return Err(self.other_prompts(before, &now.label()));
        }
        Ok(())
    }

    fn other_prompts(&self, before: &str, now: &str) -> Error {
        let version = &self.manifest.scholareval_version;
        Error::Settings(format!(
            "the run was judged with the prompts {before}, which are not those given now ({now}); name the directory that \
             has them with --prompts DIR (built-in prompts are those of scholareval {version})"
        ))
    }
}

/// Whether the path is the directory of a run, and not one of answers that happens to hold a manifest.
fn is_run(path: &Path) -> bool {
    let Ok(text) = std::fs::read(path.join("manifest.json")) else {
        return false;
    };
    let manifest: Value = serde_json::from_slice(&text).unwrap_or_default();
    manifest["scholareval_version"].is_string()
}

fn is_same_directory(one: &Path, other: &Path) -> bool {
    matches!((one.canonicalize(), other.canonicalize()), (Ok(one), Ok(other)) if one == other)
}

/// A note on files that are named, perhaps by the config file, and not read.
fn unread_files(options: &EvaluationOptions) -> Vec<String> {
    let scorers = &options.scorers;
    let aspects = &scorers.aspect_file.aspect_rubrics;
    let given = [
        ("--tests", options.cases.tests.is_some()),
        ("--references", scorers.gold.references.is_some()),
        ("--rubric", options.cases.rubric.is_some()),
        ("--aspect-rubrics", aspects.is_some()),
    ];
    let mut notes = Vec::new();
    for (name, is_given) in given {
        if is_given {
            notes.push(format!("{name} is not read: the run holds what is scored"));
        }
    }
    notes
}
