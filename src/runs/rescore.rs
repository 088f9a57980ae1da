//! Rescores a recorded run from its raw replies: in another mode, by another policy, or after a program change.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;

use crate::analysis::OnUnscored;
use crate::dataset::SelectedItems;
use crate::domain::{Item, Mode, Role, ScoredAnswer, UnscoredKind, parse_share};
use crate::error::{Error, InputFault, Result};
use crate::evaluation::{Job, Member, Options, Panel, Panels, StopHandle};
use crate::evaluation::{in_input_order, needs_rubric, recorded_scorers};
use crate::files::write_whole;
use crate::judge::Judge;
use crate::judge::planner::ReplySource;
use crate::record::NoEvents;
use crate::record::{
    IMPORTED, Inputs, Manifest, PolicyEntry, RecordedReplies, RunDir, RunStatus, THINKING, load_run,
};

/// Settings to change when a run is rescored.
#[derive(Debug, Clone, Default, Args)]
pub struct RescoreOptions {
    /// Parse and count as the reference script does, faults included [default: as in the run]
    #[arg(long)]
    pub compat: bool,
    /// Leave unscored answers out of the means, or count their missing components as 0 [default: as in the run]
    #[arg(long, value_name = "POLICY", value_enum)]
    pub on_unscored: Option<OnUnscored>,
    /// Unscored answers that are tolerated, such as 5%; above it the exit code is 5 [default: as in the run]
    #[arg(long, value_name = "SHARE", value_parser = parse_share, allow_negative_numbers = true)]
    pub max_unscored: Option<f64>,
    /// Seed of the resampling behind the intervals [default: as in the run]
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Write scores and summaries there [default: into RUN]
    #[arg(long, short, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Replace the run record of another run in --out
    #[arg(long, requires = "out")]
    pub overwrite: bool,
}

/// A rescored run.
pub struct RescoredRun {
    /// Its manifest with the new settings.
    pub manifest: Manifest,
    /// Every answer with its score, in the order of the input.
    pub scored: Vec<Arc<ScoredAnswer>>,
    /// Where the scores were written; `None` for scores of another mode without an output directory.
    pub dir: Option<RunDir>,
}

/// Rescores a recorded run. The record of the run is replaced, but not by scores of another mode.
///
/// ```
/// use scholareval::runs::{RescoreOptions, rescore};
/// use scholareval::{Evaluation, Result};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<()> {
/// # let dir = std::env::temp_dir().join(format!("scholareval-rescore-{}", std::process::id()));
/// let evaluation = Evaluation::builder().tests("data/test_cases.json").answers("data/answers");
/// let run = evaluation.run(dir.join("run")).await?;
///
/// // What would the reference script have computed from the same replies? Nothing is written.
/// let mut options = RescoreOptions::default();
/// options.compat = true;
/// let rescored = rescore(run.dir(), &options).await?;
/// assert_eq!(rescored.scored.len(), run.scores().len());
/// assert!(rescored.dir.is_none());
/// # std::fs::remove_dir_all(dir).ok();
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// When the directory does not contain a run that can be rescored, its inputs or calls are not as the finished run left them, or
/// files cannot be written. Its scores may be damaged.
pub async fn rescore(run: &Path, options: &RescoreOptions) -> Result<RescoredRun> {
    let recorded = Manifest::of_run(run)?;
    require_replies(run, &recorded, options.compat)?;
    let mut manifest = rescored_manifest(&recorded, options);
    let is_other_mode = manifest.mode != recorded.mode;
    // The directory of the run under another name is not a copy: nothing there is removed or copied onto itself.
    let elsewhere = options
        .out
        .as_deref()
        .filter(|out| !is_same_directory(out, run));
    if elsewhere.is_none() && options.out.is_some() && is_other_mode {
        // The scores of the recorded mode would be gone, and its directory would claim settings
        // that its calls do not have.
        let fault = InputFault::new(run, "a run is not written over with scores of another mode");
        return Err(fault.refuse("name another directory with --out"));
    }
    let scored = replay(run, &manifest, is_other_mode).await?;
    if let Some(looks) = manifest.looks.as_mut().filter(|_| is_other_mode) {
        // Its decisions and intervals are those of the scores that it had when it ended.
        looks.pairs.clear();
    }
    let dir = match elsewhere {
        Some(out) => Some(copy(run, out, &manifest, options.overwrite)?),
        None if is_other_mode => None,
        None => Some(RunDir::open(run)?),
    };
    if let Some(dir) = &dir {
        // Rescoring does not finish a run.
        let is_complete = recorded.status == RunStatus::Complete;
        let status = if is_complete {
            RunStatus::Complete
        } else {
            RunStatus::Stopped
        };
        dir.finish(&mut manifest, status, &scored)?;
    }
    Ok(RescoredRun {
        manifest,
        scored,
        dir,
    })
}

/// # Errors
/// When the record has no replies, or none to the questions that compat mode asks.
fn require_replies(run: &Path, recorded: &Manifest, compat: bool) -> Result<()> {
    if recorded.is_set(IMPORTED) {
        let what = "this run was imported: it holds scores and no replies, so there is nothing to score again";
        let hint = "compare and report read it as it is; for other scores run score on the answers";
        return Err(InputFault::new(run, what).refuse(hint));
    }
    if !compat {
        return Ok(());
    }
    let thinking = recorded.settings.get(THINKING);
    let profile = recorded.criteria_profile();
    let has_reports = profile.is_some_and(|profile| profile.report);
    let what = if thinking.is_some_and(|setting| setting == "removed") {
        "the answers were judged without their reasoning, which the reference keeps"
    } else if recorded.mode != Mode::Compat && has_reports {
        "the reference reads reports in another way, so that other questions are asked"
    } else {
        return Ok(());
    };
    Err(InputFault::new(run, what).refuse("score them with --compat"))
}

fn rescored_manifest(recorded: &Manifest, options: &RescoreOptions) -> Manifest {
    let mode = if options.compat {
        Mode::Compat
    } else {
        recorded.mode
    };
    let mut manifest = Manifest {
        mode,
        seed: options.seed.unwrap_or(recorded.seed),
        policy: PolicyEntry {
            on_unscored: options.on_unscored.unwrap_or(recorded.policy.on_unscored),
            max_unscored: options.max_unscored.unwrap_or(recorded.policy.max_unscored),
        },
        ..recorded.clone()
    };
    manifest
        .settings
        .insert("score.compat".to_owned(), (mode == Mode::Compat).into());
    manifest.with_reference()
}

fn is_same_directory(one: &Path, other: &Path) -> bool {
    matches!((one.canonicalize(), other.canonicalize()), (Ok(one), Ok(other)) if one == other)
}

/// Claims a directory for a copy of the run, and copies its inputs and calls. Only an earlier copy of this run may be
/// replaced: another record may hold replies that are nowhere else.
fn copy(run: &Path, out: &Path, manifest: &Manifest, overwrite: bool) -> Result<RunDir> {
    let dir = RunDir::open(out)?;
    let is_copy = dir.claim(manifest, overwrite)?;
    let calls = out.join("calls.jsonl");
    if is_copy && calls.exists() && read(&calls)? != read(&run.join("calls.jsonl"))? {
        return Err(InputFault::new(out, "holds a record of other calls")
            .refuse("name another place with --out, or add --overwrite"));
    }
    for name in ["calls.jsonl", "inputs.jsonl"] {
        let from = run.join(name);
        let to = out.join(name);
        let mut file = File::open(&from).map_err(Error::io(&from, "read"))?;
        write_whole(&to, |out| {
            std::io::copy(&mut file, out).map_err(Error::io(&to, "copy to"))
        })?;
    }
    Ok(dir)
}

fn read(path: &Path) -> Result<Vec<u8>> {
    std::fs::read(path).map_err(Error::io(path, "read"))
}

/// Scores every answer with the recorded replies.
async fn replay(
    run: &Path,
    manifest: &Manifest,
    is_other_mode: bool,
) -> Result<Vec<Arc<ScoredAnswer>>> {
    let mut inputs = Inputs::load(run, manifest)?.ok_or_else(|| {
        InputFault::new(run.join("inputs.jsonl"), "the inputs of the run are not there")
            .hint("a run made with --no-inputs cannot be scored again; run score once more, its replies are kept")
    })?;
    // A run that ended at a look has replies to the questions before it.
    if let Some(looks) = manifest.ending_looks() {
        inputs.keep_asked(looks);
    }
    let replies = RecordedReplies::of_run(run, manifest)?;
    let replies = Arc::new(if is_other_mode {
        replies.in_other_mode()
    } else {
        replies
    });
    let lists = [true, false].map(|needs_rubric| inputs.of_scorer(needs_rubric));
    let source = Arc::clone(&replies) as Arc<dyn ReplySource>;
    let jobs = recorded_jobs(manifest, lists, &replies, source)?;
    let planned = crate::evaluation::plan(&jobs, &mut NoEvents).await?;
    let stop = StopHandle::new();
    // What the plan defers is not recorded: this pass gives each such answer its reason.
    let ran = crate::evaluation::run(&jobs, &planned.pending, &mut NoEvents, &stop).await?;
    let mut scored = planned.scored;
    scored.extend(ran.scored);
    in_input_order(&mut scored, &jobs);
    Ok(scored)
}

/// The work of scoring these items, those of rubrics first, with recorded replies.
pub(super) fn recorded_jobs(
    manifest: &Manifest,
    [of_rubric, of_others]: [Vec<Item>; 2],
    replies: &Arc<RecordedReplies>,
    source: Arc<dyn ReplySource>,
) -> Result<Vec<Job>> {
    let retries = manifest
        .settings
        .get("score.parse_retries")
        .and_then(serde_json::Value::as_u64)
        // The default of `--parse-retries`, for records that do not have the setting.
        .unwrap_or(2);
    let options = Arc::new(Options {
        // Reading from one file; several at once would only wait for its lock.
        concurrency: 1,
        parse_retries: u32::try_from(retries).unwrap_or(u32::MAX),
        at_once: false,
        // Nobody is asked: each attempt that exists is in the record.
        retry_unscored: false,
        mode: manifest.mode,
        reasoning_tags: manifest.reasoning_tags(),
        selected_items: Arc::new(asked_items(manifest, replies.dir())?),
    });
    let panels = Arc::new(panels(manifest, replies, &source));
    let of_rubric: Arc<[Item]> = of_rubric.into();
    let of_others: Arc<[Item]> = of_others.into();
    let mut jobs = Vec::new();
    for scorer in recorded_scorers(manifest)? {
        let items = if needs_rubric(&*scorer) {
            &of_rubric
        } else {
            &of_others
        };
        jobs.push(Job {
            items: Arc::clone(items),
            scorer,
            panels: Arc::clone(&panels),
            options: Arc::clone(&options),
        });
    }
    Ok(jobs)
}

/// The items that the judge of a run of drawn verdicts was asked for, by its scores; empty for other runs.
fn asked_items(manifest: &Manifest, run: &Path) -> Result<SelectedItems> {
    let mut items = SelectedItems::new();
    if manifest
        .selection()
        .is_none_or(|selection| selection.verdicts.is_none())
    {
        return Ok(items);
    }
    for answer in load_run(run)?.scored {
        let key = (answer.system.clone(), answer.case.case_id.clone());
        let of_answer = items.entry(key).or_default();
        for component in &answer.score.components {
            let reason = component.reason.as_ref().map(|reason| reason.kind);
            if reason != Some(UnscoredKind::NotAsked) {
                of_answer.insert(component.name.clone());
            }
        }
    }
    Ok(items)
}

/// The judges of the run, replaying the recorded replies.
fn panels(
    manifest: &Manifest,
    replies: &Arc<RecordedReplies>,
    source: &Arc<dyn ReplySource>,
) -> Panels {
    let mut panels = Panels::new();
    for (name, entry) in &manifest.roles {
        let Some(role) = Role::from_name(name) else {
            continue;
        };
        let mut panel = Panel {
            members: Vec::new(),
            merge: entry.merge,
        };
        for judge in &entry.judges {
            panel.members.push(Member {
                source: Arc::clone(source),
                samples: judge.samples,
                merge: judge.merge,
                expected: judge.is_expected(),
                decider: judge.decider(),
                ..Member::new(Arc::clone(replies) as Arc<dyn Judge>, judge.id.as_str())
            });
        }
        panels.insert(role, panel);
    }
    panels
}
