//! `scholareval rescore`: scores and tables again, from the raw replies of a recorded run.

use std::path::Path;
use std::sync::Arc;

use super::Context;
use super::import::IMPORTED;
use crate::analysis::OnUnscored;
use crate::cli::ExitCode;
use crate::cli::args::OutputFormat;
use crate::cli::args::RescoreArgs;
use crate::cli::scoring::jobs::ScorerPlan;
use crate::cli::scoring::outcome::{Presentation, in_input_order, run_name};
use crate::cli::scoring::runtime;
use crate::cli::scoring::sinks::{Nobody, write_items};
use crate::cli::terminal;
use crate::domain::{Mode, Role, RubricParts, ScoredAnswer};
use crate::error::{Error, InputFault, Result};
use crate::evaluation::options::ScoringOptions;
use crate::evaluation::record::{Inputs, Manifest, RecordedReplies, RunDir, RunRecord, RunStatus};
use crate::evaluation::{self, Member, Merge, Options, Panel, Panels, StopHandle};
use crate::judge::Judge;
use crate::judge::planner::ReplySource;

/// Runs the command.
///
/// # Errors
/// When the directory holds no run that can be scored again, or files cannot be written.
pub(super) fn run(args: &RescoreArgs, context: &Context<'_>) -> Result<ExitCode> {
    runtime()?.block_on(rescore(args, context))
}

async fn rescore(args: &RescoreArgs, context: &Context<'_>) -> Result<ExitCode> {
    let mut manifest = manifest_of(&args.run)?;
    if manifest.status != RunStatus::Complete && !args.quiet {
        terminal::note(
            "warning: the run did not finish; what it lacks is unscored here (run score again to finish it)",
        );
    }
    let was = manifest.mode;
    let mode = if args.compat { Mode::Compat } else { was };
    manifest.mode = mode;
    manifest.settings.insert("score.compat".to_owned(), (mode == Mode::Compat).into());
    manifest.reference = Manifest::begin(mode).reference;
    manifest.seed = args.seed.unwrap_or(manifest.seed);
    // The run's own directory by another name is no copy of it: nothing there is removed or copied onto itself.
    let elsewhere = args.out.as_deref().filter(|out| !same_directory(out, &args.run));
    if elsewhere.is_none() && args.out.is_some() && mode != was {
        return Err(other_mode_into_itself(&args.run));
    }
    let scored = replay(args, &manifest, mode != was).await?;
    // A run is not written over with scores of another mode.
    let target = elsewhere.or_else(|| (mode == was).then_some(args.run.as_path()));
    let dir = target.map(RunDir::open).transpose()?;
    let name = manifest.label.clone().unwrap_or_else(|| run_name(target.unwrap_or(&args.run)));
    if let Some(dir) = &dir {
        if elsewhere.is_some() {
            claim(dir, args, &manifest)?;
        }
        write_items(dir, &name, &scored)?;
    }
    let (on_unscored, max_unscored) = policy(args, &manifest);
    let presentation = Presentation {
        manifest: &manifest,
        run: name,
        on_unscored,
        max_unscored,
        seed: manifest.seed,
        agreement: setting(&manifest, "score.agreement"),
        mode,
        format: args.format.unwrap_or(OutputFormat::Table),
        color: context.color,
        bench: None,
        remarks: Vec::new(),
    };
    let code = presentation.conclude(&scored, dir.as_ref())?;
    match dir {
        Some(dir) => {
            if elsewhere.is_some() {
                copy_record(&args.run, dir.path())?;
            }
            // A run that did not finish is none that did for having been scored.
            let finished = manifest.status == RunStatus::Complete;
            let status = if finished { RunStatus::Complete } else { RunStatus::Stopped };
            RunRecord::open(dir, manifest, false)?.finish(status, &scored)?;
        }
        None if !args.quiet => terminal::note("note: scores of another mode; add --out DIR to write them to files"),
        None => {}
    }
    Ok(code)
}

/// The manifest of a run that holds replies.
fn manifest_of(run: &Path) -> Result<Manifest> {
    let manifest = Manifest::of_run(run)?;
    if setting(&manifest, IMPORTED) {
        let what = "this run was imported: it holds scores and no replies, so there is nothing to score again";
        let hint = "compare and report read it as it is; for other scores run score on the answers";
        return Err(InputFault::new(run, what).hint(hint).into());
    }
    Ok(manifest)
}

/// What was given, else what the run did: what becomes of unscored answers, and how many are tolerated.
fn policy(args: &RescoreArgs, manifest: &Manifest) -> (OnUnscored, f64) {
    let was = manifest.policy;
    let as_zero = was.is_some_and(|was| was.unscored_as_zero);
    let on_unscored = if as_zero { OnUnscored::Zero } else { OnUnscored::Exclude };
    let tolerated = was.map_or_else(|| ScoringOptions::default().max_unscored, |was| was.max_unscored);
    (args.on_unscored.unwrap_or(on_unscored), args.max_unscored.unwrap_or(tolerated))
}

/// What a record holds besides scores and summaries.
fn copy_record(from: &Path, to: &Path) -> Result<()> {
    for name in ["calls.jsonl", "inputs.jsonl"] {
        std::fs::copy(from.join(name), to.join(name)).map_err(Error::io(to.join(name), "copy to"))?;
    }
    Ok(())
}

fn same_directory(one: &Path, other: &Path) -> bool {
    matches!((one.canonicalize(), other.canonicalize()), (Ok(one), Ok(other)) if one == other)
}

fn other_mode_into_itself(run: &Path) -> Error {
    InputFault::new(run, "a run is not written over with scores of another mode")
        .hint("name another directory with --out")
        .into()
}

/// Takes a directory for the copy. What is there may be replaced only if it is an earlier copy of this run: another
/// record may hold replies that are nowhere else.
fn claim(dir: &RunDir, args: &RescoreArgs, manifest: &Manifest) -> Result<()> {
    let is_copy = dir.claim(manifest, args.overwrite)?;
    let path = dir.path().join("calls.jsonl");
    if is_copy && path.exists() {
        let read = |path: &Path| std::fs::read(path).map_err(Error::io(path, "read"));
        if read(&path)? != read(&args.run.join("calls.jsonl"))? {
            return Err(InputFault::new(dir.path(), "holds a record of other calls")
                .hint("name another place with --out, or add --overwrite")
                .into());
        }
    }
    Ok(())
}

/// Every answer through the scorers, with the recorded replies as judges.
async fn replay(args: &RescoreArgs, manifest: &Manifest, in_other_mode: bool) -> Result<Vec<Arc<ScoredAnswer>>> {
    let inputs = Inputs::load(&args.run.join("inputs.jsonl"))?;
    let calls = args.run.join("calls.jsonl");
    let replies = RecordedReplies::open(&calls)?.ok_or_else(|| InputFault::new(&calls, "is not there"))?;
    let replies = Arc::new(if in_other_mode { replies.in_other_mode() } else { replies });
    let parts =
        RubricParts { rubrics: setting(manifest, "score.rubrics"), snippets: setting(manifest, "score.snippets") };
    let plan =
        ScorerPlan::from_settings(&manifest.scorers, &manifest.settings, (manifest.mode, parts, manifest.is_lexical()));
    let options = Options {
        concurrency: 1,
        parse_retries: number(manifest, "score.parse_retries", 2),
        retry_unscored: false,
        mode: manifest.mode,
    };
    let items = (&inputs.rubric().cloned().collect(), &inputs.plain().cloned().collect());
    let jobs = plan.jobs(items, &Arc::new(panels(manifest, &replies)), &options, |_| 1);
    let planned = evaluation::plan(&jobs, &mut Nobody).await?;
    let mut scored = planned.scored;
    let rest = evaluation::run(&jobs, &planned.pending, &mut Nobody, &StopHandle::new()).await?;
    scored.extend(rest.scored);
    in_input_order(&mut scored, &jobs);
    Ok(scored)
}

/// The judges of the run, answering with what is recorded.
fn panels(manifest: &Manifest, replies: &Arc<RecordedReplies>) -> Panels {
    let member = |id: &str| Member {
        source: Arc::clone(replies) as Arc<dyn ReplySource>,
        ..Member::new(Arc::clone(replies) as Arc<dyn Judge>, id)
    };
    let mut panels = Panels::none();
    if let Some(judge) = &manifest.judge {
        let merge = manifest.settings.get("score.merge");
        let merge: Option<Merge> = merge.and_then(|merge| serde_json::from_value(merge.clone()).ok());
        let samples = number(manifest, "score.samples", 1);
        let expected = manifest.settings.get("judge.logprobs").is_some_and(|count| !count.is_null());
        let merge = merge.unwrap_or_default();
        panels = panels.with(Role::Rubric, Panel::of_one(Member { samples, merge, expected, ..member(&judge.id) }));
    }
    for (name, entry) in &manifest.roles {
        let Some(role) = Role::from_name(name) else { continue };
        let members = entry.judges.iter().enumerate().map(|(at, judge)| Member {
            samples: entry.samples.get(at).copied().unwrap_or(1),
            merge: entry.merges.get(at).copied().unwrap_or_default(),
            expected: entry.expected.get(at).copied().unwrap_or(false),
            ..member(&judge.id)
        });
        panels = panels.with(role, Panel { members: members.collect(), merge: entry.panel_merge });
    }
    panels
}

fn number(manifest: &Manifest, name: &str, default: u64) -> u32 {
    let value = manifest.settings.get(name).and_then(serde_json::Value::as_u64).unwrap_or(default);
    u32::try_from(value).unwrap_or(u32::MAX)
}

fn setting(manifest: &Manifest, name: &str) -> bool {
    manifest.settings.get(name).and_then(serde_json::Value::as_bool).unwrap_or(false)
}
