//! `scholareval batch submit|status|fetch`: a batch directory and its service.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::path::Path;

use secrecy::SecretString;

use crate::cli::ExitCode;
use crate::cli::args::BatchServiceArgs;
use crate::cli::commands::Context;
use crate::cli::origin::escape_controls;
use crate::cli::progress::grouped;
use crate::cli::scoring::runtime;
use crate::cli::settings::OPENAI_BASE_URL;
use crate::cli::terminal;
use crate::error::{Error, Result};
use crate::judge::batch::{BatchApi, BatchManifest, BatchPart, PartState};
use crate::judge::endpoint::Endpoint;

/// Hands every request file in that was not.
pub(super) fn submit(args: &BatchServiceArgs, context: &Context<'_>) -> Result<ExitCode> {
    let mut batch = Batch::open(args, context)?;
    runtime()?.block_on(async {
        for index in 0..batch.manifest.parts.len() {
            let (mut part, dir) = (batch.manifest.parts[index].clone(), args.dir.clone());
            let manifest = &mut batch.manifest;
            let api = batch.services.of(&part)?;
            let is_new = api.submit(&dir, &mut part, |part| manifest.update(&dir, index, part)).await?;
            let id = escape_controls(part.batch_id.as_deref().unwrap_or_default());
            let what = if is_new { "submitted as" } else { "was submitted as" };
            terminal::write_stdout(format!("{}: {what} {id}\n", part.file).as_bytes())?;
        }
        let shown = escape_controls(&args.dir.display().to_string());
        terminal::note(&format!("next: scholareval batch fetch {shown}, as often as it takes (at most 24 hours)"));
        Ok(ExitCode::Ok)
    })
}

/// Asks how far each file is.
pub(super) fn status(args: &BatchServiceArgs, context: &Context<'_>) -> Result<ExitCode> {
    let mut batch = Batch::open(args, context)?;
    runtime()?.block_on(async {
        for index in 0..batch.manifest.parts.len() {
            let mut part = batch.manifest.parts[index].clone();
            let state = batch.services.of(&part)?.state(&mut part).await?;
            batch.manifest.update(&args.dir, index, &part)?;
            terminal::write_stdout(line(&state).as_bytes())?;
        }
        Ok(ExitCode::Ok)
    })
}

/// Downloads what is there; exit 7 while something is still to come.
pub(super) fn fetch(args: &BatchServiceArgs, context: &Context<'_>) -> Result<ExitCode> {
    let mut batch = Batch::open(args, context)?;
    let shown = escape_controls(&args.dir.display().to_string());
    runtime()?.block_on(async {
        let mut to_come = 0;
        for index in 0..batch.manifest.parts.len() {
            let (mut part, dir) = (batch.manifest.parts[index].clone(), args.dir.clone());
            let manifest = &mut batch.manifest;
            let api = batch.services.of(&part)?;
            let fetched = api.fetch(&dir, &mut part, |part| manifest.update(&dir, index, part)).await?;
            batch.manifest.update(&args.dir, index, &part)?;
            to_come += usize::from(!fetched.state.is_over());
            let mut text = line(&fetched.state);
            for name in &fetched.results {
                text.push_str(&format!("  {}\n", escape_controls(&args.dir.join(name).display().to_string())));
            }
            terminal::write_stdout(text.as_bytes())?;
        }
        if to_come > 0 {
            return Err(Error::Stopped(format!(
                "{to_come} files are not done yet; what is there was fetched, the same command fetches the rest"
            )));
        }
        terminal::note(&format!("next: scholareval batch import {shown}"));
        Ok(ExitCode::Ok)
    })
}

fn line(state: &PartState) -> String {
    let mut text = format!(
        "{}: {}, {} of {} done, {} failed\n",
        state.file,
        escape_controls(&state.status),
        grouped(state.completed),
        grouped(state.total),
        grouped(state.failed)
    );
    for error in &state.errors {
        text.push_str(&format!("  {}\n", escape_controls(error)));
    }
    text
}

/// A batch directory with the services of its files.
struct Batch {
    manifest: BatchManifest,
    services: Services,
}

impl Batch {
    fn open(args: &BatchServiceArgs, context: &Context<'_>) -> Result<Self> {
        let manifest = BatchManifest::load(&args.dir)?;
        let mut services = Services { base_url: args.base_url.clone(), by_url: BTreeMap::new() };
        for part in &manifest.parts {
            let url = services.address(part, &args.dir)?;
            if let Entry::Vacant(free) = services.by_url.entry(url) {
                let api = BatchApi::new(endpoint(free.key(), args, context)?)?;
                free.insert(api);
            }
        }
        Ok(Self { manifest, services })
    }
}

struct Services {
    base_url: Option<String>,
    by_url: BTreeMap<String, BatchApi>,
}

impl Services {
    fn of(&self, part: &BatchPart) -> Result<&BatchApi> {
        let url = self.base_url.as_deref().or(part.base_url.as_deref()).unwrap_or(OPENAI_BASE_URL);
        self.by_url.get(url).ok_or_else(|| Error::Internal("a file of a batch has no service".into()))
    }

    fn address(&self, part: &BatchPart, dir: &Path) -> Result<String> {
        let url = self.base_url.as_deref().or(part.base_url.as_deref()).unwrap_or(OPENAI_BASE_URL);
        if url.contains("***") {
            let dir = escape_controls(&dir.display().to_string());
            return Err(Error::Usage(format!(
                "the address of {} has a secret, which is not kept in {dir}; give it with --base-url",
                part.file
            )));
        }
        Ok(url.to_owned())
    }
}

fn endpoint(url: &str, args: &BatchServiceArgs, context: &Context<'_>) -> Result<Endpoint> {
    let mut endpoint = Endpoint::new(url)?;
    endpoint.api_key = context.environment.get(&args.api_key_env).map(|key| SecretString::from(key.trim()));
    endpoint.api_key_env.clone_from(&args.api_key_env);
    for header in &args.headers {
        let (name, value) = header.split_once(':').ok_or_else(|| {
            // The text may be a secret: it is not repeated.
            Error::Usage("--header: expected NAME:VALUE, such as 'X-Team: biology'".to_owned())
        })?;
        endpoint.headers.push((name.trim().to_owned(), value.trim().to_owned()));
    }
    Ok(endpoint)
}
