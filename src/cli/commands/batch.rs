//! `scholareval batch export|import|submit|fetch|cancel`.
//!
//! `export` goes the way of a run with a judge that writes each call into a file; `submit`, `fetch` and
//! `cancel` talk to the service; `import` puts the results into the cache, from which the run then
//! scores.

use std::collections::BTreeSet;
use std::num::NonZeroU64;
use std::path::{Path, PathBuf};

use super::cache::inserted_text;
use super::score::evaluation;
use super::{CommandContext, runtime};
use crate::cli::args::{BatchCommand, BatchExportArgs, BatchImportArgs, BatchServiceArgs};
use crate::cli::keys::{KeyUse, NamedServers, not_set, secret};
use crate::cli::origin::{Origin, escape_controls};
use crate::cli::settings::Settings;
use crate::cli::terminal::{self, cost_range, grouped, of_day, path_text};
use crate::error::{Error, Result};
use crate::evaluation::Plan;
use crate::judge::batch::{
    BatchCalls, BatchLimits, BatchManifest, BatchPart, BatchService, BatchState, CALLS_FILE,
    ImportReport, MANIFEST_FILE, batches_of, refuse_link,
};
use crate::judge::cache::{Cache, Inserted};
use crate::judge::endpoint::Endpoint;
use crate::judge::options::{CacheOptions, check_header, check_header_variable};
use crate::text::names::counted;

/// Requests without a reply that are listed after an import.
const ERRORS_SHOWN: usize = 20;

/// Runs the command.
///
/// # Errors
/// Any error; the same command continues with what is not done.
pub(super) fn run(command: BatchCommand, context: &CommandContext<'_>) -> Result<()> {
    match command {
        BatchCommand::Export(args) => {
            runtime()?.block_on(export(&args, &context.settings(&args.score)?, context))
        }
        BatchCommand::Import(args) => import(&args),
        BatchCommand::Submit(args) => runtime()?.block_on(submit(&args, context)),
        BatchCommand::Fetch(args) => runtime()?.block_on(fetch(&args, context)),
        BatchCommand::Cancel(args) => runtime()?.block_on(cancel(&args, context)),
    }
}

/// Writes the calls without a cached reply as request files of a batch service.
async fn export(
    args: &BatchExportArgs,
    settings: &Settings,
    context: &CommandContext<'_>,
) -> Result<()> {
    let Some(dir) = &args.score.options.output.out else {
        return Err(Error::Usage(
            "no directory for the batch is named; add --out DIR".into(),
        ));
    };
    // Without a cache the paid results would have no place to go.
    if settings.options.cache.no_cache {
        let message = "--no-cache: the results of a batch go into the cache; leave --no-cache out";
        return Err(Error::Usage(message.into()));
    }
    // Before the plan, which takes minutes for a large run.
    BatchManifest::make_room(dir, settings.options.output.overwrite)?;
    let limits = BatchLimits {
        requests: args.max_requests.map_or(u64::MAX, NonZeroU64::get),
        bytes: args.max_bytes.map_or(u64::MAX, NonZeroU64::get),
    };
    let prepared = evaluation(settings, context).prepare().await?;
    let (planned, manifest) = prepared.export_batch(dir.clone(), limits).await?;
    let Some(manifest) = manifest else {
        let text = match (planned.plan.at_most, planned.plan.cached) {
            (0, cached) => format!(
                "nothing to export: {} cached\n",
                counted(cached as usize, "reply")
            ),
            _ => "nothing to export: no judge of this run has a server\n".to_owned(),
        };
        return terminal::write_stdout(text.as_bytes());
    };
    let mut text = export_text(&manifest, &planned.plan);
    let estimate = prepared.cost(&planned);
    if let Some(range) = estimate.total.now.batch_usd() {
        let (cost, of_day) = (cost_range(range), of_day(estimate.prices_of.as_deref()));
        text.push_str(&format!("cost: {cost} at half of the price{of_day}\n"));
    }
    terminal::write_stdout(text.as_bytes())?;
    let dir = path_text(dir);
    let mut parts = manifest.parts.iter();
    let next = if parts.any(|part| batches_of(part.kind).upload_path().is_some()) {
        format!(
            "submit {dir} (a batch service), vllm run-batch, or contrib/ray_batch.py; then scholareval batch import {dir} \
             RESULTS"
        )
    } else {
        format!("submit {dir}")
    };
    context.note(&format!("next: scholareval batch {next}"));
    Ok(())
}

/// The request files, and what cannot be asked before their results are there.
fn export_text(manifest: &BatchManifest, plan: &Plan) -> String {
    let mut text = String::new();
    for part in &manifest.parts {
        text.push_str(&format!(
            "{}: {} to {}, {:.1} MB, ~{} prompt tokens, judge {}\n",
            path_text(&manifest.dir.join(&part.file)),
            counted(part.requests as usize, "request"),
            part.url,
            part.bytes as f64 / 1e6,
            grouped(part.prompt_tokens),
            escape_controls(&part.judge),
        ));
    }
    let behind = plan.at_most - plan.askable_now;
    if behind > 0 {
        text.push_str(&format!(
            "behind gates: up to {} more calls, to be exported after these are imported\n",
            grouped(behind)
        ));
    }
    text
}

/// Puts results into the cache, where the next run finds them.
fn import(args: &BatchImportArgs) -> Result<()> {
    let manifest = BatchManifest::load(&args.dir)?;
    let path = &cache_of(args, &manifest)?;
    let list = args.dir.join(CALLS_FILE);
    let files = if args.files.is_empty() {
        fetched(&args.dir, &manifest)?
    } else {
        args.files.clone()
    };
    refuse_link(&list)?;
    let cache = Cache::open(path)?;
    let mut calls = BatchCalls::default();
    let mut report = ImportReport::default();
    let known = calls.read(&list)?;
    for file in &files {
        calls.import(file, &cache, &mut report)?;
    }
    terminal::write_stdout(import_text(&report, path).as_bytes())?;
    for (id, reason) in report.errors.iter().take(ERRORS_SHOWN) {
        terminal::note(&format!("no reply: {id}: {reason}"));
    }
    let more = report.errors.len().saturating_sub(ERRORS_SHOWN);
    if more > 0 {
        terminal::note(&format!("and {more} more requests without a reply"));
    }
    // Last: what could be read is in the cache by now.
    if !report.faults.is_empty() {
        return Err(Error::Input(report.faults));
    }
    if report.inserted == Inserted::default() && report.errors.is_empty() {
        terminal::note(&format!(
            "warning: the files contain no results of the {known} exported requests"
        ));
    }
    Ok(())
}

/// The cache that results go into: that which the export read. The manifest may come from somebody else: it may name a file, and
/// must not create one.
fn cache_of(args: &BatchImportArgs, manifest: &BatchManifest) -> Result<PathBuf> {
    if let Some(path) = &args.cache {
        return Ok(path.clone());
    }
    let Some(path) = &manifest.cache else {
        return Ok(CacheOptions::default().path);
    };
    if !path.is_file() {
        return Err(Error::Usage(format!(
            "{} is missing, the reply cache of this batch's export; name one with --cache FILE",
            path_text(path)
        )));
    }
    Ok(path.clone())
}

/// The results that were fetched into the directory.
fn fetched(dir: &Path, manifest: &BatchManifest) -> Result<Vec<PathBuf>> {
    let files = manifest.parts.iter().flat_map(|part| &part.results);
    let files: Vec<PathBuf> = files.map(|name| dir.join(name)).collect();
    for file in &files {
        refuse_link(file)?;
    }
    if files.is_empty() {
        let dir = path_text(dir);
        let message = "no results were fetched into this batch yet; run scholareval batch fetch";
        return Err(Error::Usage(format!(
            "{dir}: {message} {dir}, or name files: scholareval batch import {dir} RESULTS"
        )));
    }
    Ok(files)
}

/// What the results gave, and the next command.
fn import_text(report: &ImportReport, cache: &Path) -> String {
    let mut text = inserted_text("imported", cache, report.inserted);
    if !report.errors.is_empty() {
        text.push_str(&format!(
            "{} without a reply, to be asked again\n",
            counted(report.errors.len(), "request")
        ));
    }
    text.push_str(
        "next: scholareval plan, with the options of score, shows which calls are left\n",
    );
    text
}

/// What a service does meanwhile, such as waiting.
fn notify(text: &str) {
    terminal::note(&format!("note: {text}"));
}

/// Submits the request files that were not submitted yet.
async fn submit(args: &BatchServiceArgs, context: &CommandContext<'_>) -> Result<()> {
    // Locked: two processes that submit the same file would pay for it twice.
    let (mut manifest, _lock) = BatchManifest::load_locked(&args.dir)?;
    let services = services(&manifest, args, context)?;
    for (part, service) in services.iter().enumerate() {
        let verb = if service.submit(&mut manifest, part, &notify).await? {
            "submitted"
        } else {
            "was submitted"
        };
        let BatchPart { file, batch_id, .. } = &manifest.parts[part];
        let id = escape_controls(batch_id.as_deref().unwrap_or_default());
        terminal::write_stdout(format!("{file}: {verb} as {id}\n").as_bytes())?;
    }
    let dir = path_text(&args.dir);
    let parts = manifest.parts.iter();
    let hours = parts.map(|part| batches_of(part.kind).hours());
    let hours = hours.max().unwrap_or_default();
    terminal::note(&format!(
        "next: scholareval batch fetch {dir}; repeat it until all results are there (at most {hours} hours)"
    ));
    Ok(())
}

/// Shows the service's progress on each file, and downloads finished results. Exits with 7 while some are pending, and
/// with 4 if results cannot be had; those of the other files are fetched all the same, since they are paid.
async fn fetch(args: &BatchServiceArgs, context: &CommandContext<'_>) -> Result<()> {
    let (mut manifest, _lock) = BatchManifest::load_locked(&args.dir)?;
    let services = services(&manifest, args, context)?;
    let mut failures = Vec::new();
    for (part, service) in services.iter().enumerate() {
        match service.fetch(&mut manifest, part).await {
            Err(Error::JudgeUnavailable(reason)) => {
                failures.push(format!("{}: {reason}", manifest.parts[part].file));
            }
            fetched => fetched?,
        }
        let part = &manifest.parts[part];
        let mut text = part_text(part);
        for name in &part.results {
            text.push_str(&format!("  {}\n", path_text(&args.dir.join(name))));
        }
        terminal::write_stdout(text.as_bytes())?;
        // A failed batch may have results all the same: those are paid for, and the rest is asked
        // again.
        if part.state() == BatchState::Failed && part.results.is_empty() {
            failures.push(failed_text(part));
        }
    }
    let has_results = manifest.parts.iter().any(|part| !part.results.is_empty());
    let to_come = manifest.parts.iter().filter(|part| !part.is_over()).count();
    if has_results && (to_come == 0 || !failures.is_empty()) {
        let dir = path_text(&args.dir);
        terminal::note(&format!("next: scholareval batch import {dir}"));
    }
    if !failures.is_empty() {
        return Err(Error::JudgeUnavailable(failures.join("\n")));
    }
    if to_come > 0 {
        return Err(Error::Stopped(format!(
            "{} not done yet; finished results were fetched, run the same command again for the rest",
            counted(to_come, "file")
        )));
    }
    Ok(())
}

/// Cancels the batches that are not over.
async fn cancel(args: &BatchServiceArgs, context: &CommandContext<'_>) -> Result<()> {
    let (mut manifest, _lock) = BatchManifest::load_locked(&args.dir)?;
    let services = services(&manifest, args, context)?;
    for (part, service) in services.iter().enumerate() {
        service.cancel(&mut manifest, part).await?;
        terminal::write_stdout(part_text(&manifest.parts[part]).as_bytes())?;
    }
    let dir = path_text(&args.dir);
    terminal::note(&format!(
        "next: scholareval batch fetch {dir}, for what was answered before; it is paid"
    ));
    Ok(())
}

/// What to do about a batch that the service could not work on.
fn failed_text(part: &BatchPart) -> String {
    let status = escape_controls(part.status.as_deref().unwrap_or_default());
    format!(
        "{}: the service gave up the batch ({status}) without a result; mend what it reports and export the calls into \
         another directory",
        part.file
    )
}

/// A request file with the service's progress and errors.
fn part_text(part: &BatchPart) -> String {
    let mut text = format!(
        "{}: {}, {} of {} done, {} failed\n",
        part.file,
        escape_controls(part.status.as_deref().unwrap_or("not submitted")),
        grouped(part.completed),
        grouped(part.requests),
        grouped(part.failed)
    );
    for error in &part.errors {
        text.push_str(&format!("  {}\n", escape_controls(error)));
    }
    text
}

/// The service of each request file.
fn services(
    manifest: &BatchManifest,
    args: &BatchServiceArgs,
    context: &CommandContext<'_>,
) -> Result<Vec<BatchService>> {
    let mut keyless = BTreeSet::new();
    let mut services = Vec::new();
    for part in &manifest.parts {
        let endpoint = Endpoint::of(address(part, args)?, part.kind.protocol())?;
        let endpoint = with_secrets(endpoint, args, context, &mut keyless)?;
        services.push(BatchService::new(endpoint, part.kind)?);
    }
    let file = path_text(&args.dir.join(MANIFEST_FILE));
    for (name, url) in keyless {
        terminal::note(&format!(
            "warning: {name} is not sent to {url}, which only {file} names; add --base-url {url} to send it"
        ));
    }
    Ok(services)
}

/// The address of the service that a request file goes to.
///
/// # Errors
/// When only the export had all of it: the directory holds no secret.
fn address<'a>(part: &'a BatchPart, args: &'a BatchServiceArgs) -> Result<&'a str> {
    let given = args.base_url.as_deref();
    let url = given
        .or(part.base_url.as_deref())
        .unwrap_or(part.kind.protocol().address().base_url);
    // The manifest has addresses with their secrets masked.
    if url.contains("***") {
        return Err(Error::Usage(format!(
            "the address of {} has a secret, which is not stored in {}; give it with --base-url",
            part.file,
            path_text(&args.dir)
        )));
    }
    Ok(url)
}

/// The endpoint of a service with what it may get of the user's secrets; the variable of a key that it must not get goes into
/// `keyless`, with its address.
fn with_secrets(
    mut endpoint: Endpoint,
    args: &BatchServiceArgs,
    context: &CommandContext<'_>,
    keyless: &mut BTreeSet<(String, String)>,
) -> Result<Endpoint> {
    let default = endpoint.protocol.address().key_variable;
    let variable = args.api_key_env.as_deref().unwrap_or(default);
    let environment = context.environment;
    let named_by = if context.is_flag("api_key_env") {
        // The directory may come from somebody else; only a flag says that the user means this
        // server.
        Origin::Flag("--api-key-env".to_owned())
    } else {
        Origin::Default
    };
    let servers = NamedServers::new(args.base_url.as_slice(), environment, false);
    let key_use = servers.key_use(variable, &named_by, &endpoint);
    let key = secret(environment, variable, false)?;
    // A login in the address is sent instead, so that nothing is missing.
    if key.is_some() && key_use != KeyUse::Send && endpoint.login.is_none() {
        keyless.insert((variable.to_owned(), endpoint.masked_url()));
    }
    endpoint.api_key = key.filter(|_| key_use == KeyUse::Send);
    endpoint.api_key_env = variable.to_owned();
    for header in &args.headers {
        check_header(header).map_err(|fault| Error::Usage(format!("--header: {}", fault.what)))?;
        endpoint.headers.push(header.clone());
    }
    for header in &args.header_env {
        check_header_variable(header).map_err(|fault| header_fault(&fault.what))?;
        let (name, variable) = header;
        let Some(value) = secret(environment, variable, true)? else {
            return Err(header_fault(&not_set(variable)));
        };
        endpoint.secret_headers.push((name.clone(), value));
    }
    Ok(endpoint)
}

fn header_fault(what: &str) -> Error {
    Error::Usage(format!("--header-env: {what}"))
}
