//! `scholareval batch export`: what a run would ask now, as request files.

use std::collections::BTreeMap;
use std::path::Path;

use crate::cli::ExitCode;
use crate::cli::args::BatchExportArgs;
use crate::cli::commands::score::Prepared;
use crate::cli::origin::escape_controls;
use crate::cli::progress::grouped;
use crate::cli::scoring::runtime;
use crate::cli::scoring::sinks::Nobody;
use crate::cli::settings::Settings;
use crate::cli::terminal;
use crate::error::{Error, Result};
use crate::evaluation::{self, Collector, DeferredCall, PlanOutcome};
use crate::judge::batch::{BatchCall, BatchLimits, BatchManifest, BatchWriter, MANIFEST_FILE};
use crate::judge::kind::JudgeKind;

/// Runs the command.
pub(super) fn run(args: &BatchExportArgs, settings: &Settings) -> Result<ExitCode> {
    runtime()?.block_on(export(args, settings))
}

async fn export(args: &BatchExportArgs, settings: &Settings) -> Result<ExitCode> {
    let Some(dir) = &args.score.output.out else {
        return Err(Error::Usage("no directory for the batch is named; add --out DIR".into()));
    };
    if settings.cache.path.is_none() {
        return Err(Error::Usage(
            "--no-cache: the results of a batch are kept in the cache; leave --no-cache out".into(),
        ));
    }
    check_free(dir, settings.output.overwrite)?;
    let prepared = Prepared::load(settings, None).await?;
    let jobs = prepared.jobs(settings, None, &Default::default())?.0;
    let default = BatchLimits::default();
    let limits = BatchLimits {
        requests: args.max_requests.map_or(default.requests, std::num::NonZeroU64::get),
        bytes: args.max_bytes.unwrap_or(default.bytes),
    };
    let mut files = Files { dir, limits, vllm: args.vllm, writer: None };
    let planned = evaluation::plan_collecting(&jobs, &mut Nobody, &mut files).await?;
    let Some(writer) = files.writer else { return nothing(&planned) };
    let addresses: BTreeMap<String, Option<String>> =
        (prepared.judges.all()).map(|(_, judge)| (judge.judge_id().to_owned(), judge.first_url())).collect();
    let manifest = writer.finish(|judge| addresses.get(judge).cloned().flatten())?;
    terminal::write_stdout(summary(&manifest, &planned, dir).as_bytes())?;
    if !settings.output.quiet {
        let shown = escape_controls(&dir.display().to_string());
        terminal::note(&format!(
            "next: scholareval batch submit {shown} (a batch service), vllm run-batch, or contrib/ray_batch.py; then \
             scholareval batch import RESULTS --batch {shown}"
        ));
    }
    Ok(ExitCode::Ok)
}

/// A batch that was handed in is paid for: its directory is never written again.
fn check_free(dir: &Path, overwrite: bool) -> Result<()> {
    if !dir.join(MANIFEST_FILE).exists() {
        return Ok(());
    }
    let shown = escape_controls(&dir.display().to_string());
    let manifest = BatchManifest::load(dir)?;
    if manifest.is_submitted() {
        return Err(Error::Usage(format!(
            "--out {shown}: the batch there was handed to a service; name another directory"
        )));
    }
    if !overwrite {
        return Err(Error::Usage(format!("--out {shown}: there is a batch already; add --overwrite to replace it")));
    }
    for part in &manifest.parts {
        let path = dir.join(&part.file);
        match std::fs::remove_file(&path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(Error::io(&path, "remove")(error));
            }
            _ => {}
        }
    }
    let path = dir.join(MANIFEST_FILE);
    std::fs::remove_file(&path).map_err(Error::io(&path, "remove"))
}

/// Writes calls into files as they come; nothing is made before the first.
struct Files<'a> {
    dir: &'a Path,
    limits: BatchLimits,
    vllm: bool,
    writer: Option<BatchWriter>,
}

impl Collector for Files<'_> {
    fn take(&mut self, call: DeferredCall) -> Result<()> {
        let route = call.route.ok_or_else(|| Error::Internal("a call was rendered for no route".into()))?;
        if self.vllm && route != JudgeKind::Chat {
            return Err(Error::Usage(format!(
                "--vllm: vllm run-batch takes chat only, and {} asks {} through {}; give that judge kind = \"chat\", or \
                 run its file with contrib/ray_batch.py",
                escape_controls(&call.judge),
                call.kind,
                route.path()
            )));
        }
        let writer = match &mut self.writer {
            Some(writer) => writer,
            None => self.writer.insert(BatchWriter::create(self.dir, self.limits)?),
        };
        let label = BatchCall {
            custom_id: call.fingerprint,
            kind: call.kind.as_str().to_owned(),
            judge: call.judge.to_string(),
            role: call.role.name().into_owned(),
            draw: call.draw,
            attempt: call.attempt,
        };
        writer.add(&label, route, &call.body, call.prompt_tokens)
    }
}

fn nothing(planned: &PlanOutcome) -> Result<ExitCode> {
    let text = match (planned.plan.at_most, planned.plan.cached) {
        (0, cached) => format!("nothing to export: all {} replies are already paid\n", grouped(cached)),
        _ => "nothing to export: no judge here is asked through a server\n".to_owned(),
    };
    terminal::write_stdout(text.as_bytes())?;
    Ok(ExitCode::Ok)
}

fn summary(manifest: &BatchManifest, planned: &PlanOutcome, dir: &Path) -> String {
    let mut text = String::new();
    for part in &manifest.parts {
        text.push_str(&format!(
            "{}: {} requests to {}, {:.1} MB, about {} prompt tokens, judge {}\n",
            escape_controls(&dir.join(&part.file).display().to_string()),
            grouped(part.requests),
            part.url,
            part.bytes as f64 / 1e6,
            grouped(part.prompt_tokens),
            escape_controls(&part.judge),
        ));
    }
    let behind = planned.plan.at_most - planned.plan.askable_now;
    if behind > 0 {
        text.push_str(&format!(
            "behind gates: at most {} calls more, to be exported after the import of these\n",
            grouped(behind)
        ));
    }
    text
}
