//! `scholareval rescore`: scores and tables again, from the raw replies of a recorded run.

use std::path::Path;
use std::sync::Arc;

use super::Context;
use super::score::REFERENCE;
use crate::cli::ExitCode;
use crate::cli::args::RescoreArgs;
use crate::cli::scoring::outcome::{Presentation, in_input_order, run_name};
use crate::cli::scoring::sinks::{Nobody, write_items};
use crate::cli::scoring::{runtime, scorers};
use crate::cli::settings::{DEFAULT_MAX_UNSCORED, OnUnscored, OutputFormat};
use crate::cli::terminal;
use crate::domain::{Mode, Role, RubricParts, ScoredAnswer};
use crate::error::{Error, InputFault, Result};
use crate::judge::planner::ReplySource;
use crate::pipeline::record::{
    Manifest, RecordedReplies, RunDir, RunRecord, RunStatus, load_inputs, load_manifest, write_inputs,
};
use crate::pipeline::{self, Job, Member, Options, Panel, Panels, StopHandle};

/// Runs the command.
///
/// # Errors
/// When the directory holds no run that can be scored again, or files cannot be written.
pub(super) fn run(args: &RescoreArgs, context: &Context<'_>) -> Result<ExitCode> {
    runtime()?.block_on(rescore(args, context))
}

async fn rescore(args: &RescoreArgs, context: &Context<'_>) -> Result<ExitCode> {
    let mut manifest = load_manifest(&args.run)?.ok_or_else(|| {
        InputFault::new(&args.run, "holds no manifest.json")
            .hint("name the directory of a run (score tells it at the end)")
    })?;
    if manifest.status != RunStatus::Complete && !args.quiet {
        terminal::note(
            "warning: the run did not finish; what it lacks is unscored here (run score again to finish it)",
        );
    }
    let was = manifest.mode;
    let mode = if args.compat { Mode::Compat } else { was };
    manifest.mode = mode;
    manifest.settings.insert("score.compat".to_owned(), (mode == Mode::Compat).into());
    manifest.reference = (mode == Mode::Compat).then(|| REFERENCE.to_owned());
    manifest.seed = args.seed.unwrap_or(manifest.seed);
    // The run's own directory by another name is no copy of it: nothing there is removed or copied onto itself.
    let elsewhere = args.out.as_deref().filter(|out| !same_directory(out, &args.run));
    if elsewhere.is_none() && args.out.is_some() && mode != was {
        return Err(other_mode_into_itself(&args.run));
    }
    let scored = replay(args, &manifest).await?;
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
    let presentation = Presentation {
        manifest: &manifest,
        run: name,
        on_unscored: args.on_unscored.unwrap_or(OnUnscored::Exclude),
        max_unscored: args.max_unscored.map_or(DEFAULT_MAX_UNSCORED, |share| share.0),
        seed: manifest.seed,
        agreement: setting(&manifest, "score.agreement"),
        mode,
        format: args.format.unwrap_or(OutputFormat::Table),
        color: context.color,
    };
    let code = presentation.conclude(&scored, dir.as_ref())?;
    match dir {
        Some(dir) => {
            if elsewhere.is_some() {
                std::fs::copy(args.run.join("calls.jsonl"), dir.path().join("calls.jsonl"))
                    .map_err(Error::io(dir.path(), "copy calls.jsonl into"))?;
                write_inputs(&dir.path().join("inputs.jsonl"), &load_inputs(&args.run.join("inputs.jsonl"))?)?;
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

/// Every answer through the scorer, with the recorded replies as judge.
async fn replay(args: &RescoreArgs, manifest: &Manifest) -> Result<Vec<Arc<ScoredAnswer>>> {
    let items: Arc<[pipeline::Item]> = load_inputs(&args.run.join("inputs.jsonl"))?.into();
    let calls = args.run.join("calls.jsonl");
    let replies = RecordedReplies::open(&calls)?.ok_or_else(|| InputFault::new(&calls, "is not there"))?;
    let replies = Arc::new(replies);
    let parts =
        RubricParts { rubrics: setting(manifest, "score.rubrics"), snippets: setting(manifest, "score.snippets") };
    let (scorer, reference) = scorers(parts, manifest.mode, manifest.is_lexical());
    let number = |name: &str, default: u64| {
        let value = manifest.settings.get(name).and_then(serde_json::Value::as_u64).unwrap_or(default);
        u32::try_from(value).unwrap_or(u32::MAX)
    };
    let member = Member {
        source: Arc::clone(&replies) as Arc<dyn ReplySource>,
        samples: number("score.samples", 1),
        ..Member::new(replies, manifest.judge_id())
    };
    let job = Job {
        items: Arc::clone(&items),
        scorer,
        reference,
        panels: Arc::new(Panels::none().with(Role::Rubric, Panel::of_one(member))),
        options: Arc::new(Options {
            concurrency: 1,
            parse_retries: number("score.parse_retries", 2),
            retry_unscored: false,
            acknowledge: false,
            mode: manifest.mode,
        }),
    };
    let jobs = [job];
    let planned = pipeline::plan(&jobs, &mut Nobody).await?;
    let mut scored = planned.scored;
    let rest = pipeline::run(&jobs, &planned.pending, &mut Nobody, &StopHandle::new()).await?;
    scored.extend(rest.scored);
    in_input_order(&mut scored, &items);
    Ok(scored)
}

fn setting(manifest: &Manifest, name: &str) -> bool {
    manifest.settings.get(name).and_then(serde_json::Value::as_bool).unwrap_or(false)
}
