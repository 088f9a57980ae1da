//! `scholareval batch import`: results into the cache.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::cli::ExitCode;
use crate::cli::args::BatchImportArgs;
use crate::cli::commands::Context;
use crate::cli::origin::escape_controls;
use crate::cli::progress::grouped;
use crate::cli::scoring::runtime;
use crate::cli::settings::{DEFAULT_CACHE, keys};
use crate::cli::terminal;
use crate::error::{Error, Result};
use crate::judge::batch::{BatchManifest, CALLS_FILE, CallIndex, ImportReport, Importer};
use crate::judge::cache::Cache;

/// Runs the command.
pub(super) fn run(args: &BatchImportArgs, context: &Context<'_>) -> Result<ExitCode> {
    let from_environment = || keys::CACHE_PATH.env.iter().find_map(|name| context.environment.get(name));
    let named = args.cache.cache.clone();
    let path = named.unwrap_or_else(|| PathBuf::from(from_environment().unwrap_or(DEFAULT_CACHE)));
    let files = result_files(&args.files)?;
    let calls = calls(args, &files)?;
    let cache = Cache::open(&path)?;
    let report = runtime()?.block_on(async {
        let mut importer = Importer::new(&cache, &calls);
        for file in &files {
            importer.take(file).await?;
        }
        Ok::<_, Error>(importer.into_report())
    })?;
    terminal::write_stdout(summary(&report, &path).as_bytes())?;
    if report.is_empty() {
        terminal::note(&format!(
            "warning: no result stands in the files; {} requests of the export have none there",
            grouped(calls.len() as u64)
        ));
    }
    for (id, why) in &report.first_errors {
        terminal::note(&format!("no reply: {id}: {why}"));
    }
    more(report.errors, report.first_errors.len(), "requests without a reply");
    if report.faults > 0 {
        let mut faults = report.first_faults;
        let hidden = report.faults - faults.len() as u64;
        if let (Some(last), true) = (faults.last_mut(), hidden > 0) {
            last.hint.push_str(&format!(" ({} such lines more)", grouped(hidden)));
        }
        return Err(Error::Input(faults));
    }
    Ok(ExitCode::Ok)
}

fn more(all: u64, shown: usize, what: &str) {
    let hidden = all.saturating_sub(shown as u64);
    if hidden > 0 {
        terminal::note(&format!("and {} {what} more", grouped(hidden)));
    }
}

/// The files that were named; of a batch's directory its results.
fn result_files(named: &[PathBuf]) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for path in named {
        if !path.is_dir() {
            files.push(path.clone());
            continue;
        }
        let manifest = BatchManifest::load(path)?;
        let before = files.len();
        files.extend(manifest.parts.iter().flat_map(|part| &part.results).map(|name| path.join(name)));
        if files.len() == before {
            let shown = escape_controls(&path.display().to_string());
            return Err(Error::Usage(format!(
                "{shown}: no results were fetched into this batch yet; scholareval batch fetch {shown}, or name result \
                 files"
            )));
        }
    }
    Ok(files)
}

/// What was asked: the calls of the batches that are named, else of those beside the files.
fn calls(args: &BatchImportArgs, files: &[PathBuf]) -> Result<CallIndex> {
    let beside = |file: &PathBuf| file.parent().map(|dir| dir.join(CALLS_FILE)).filter(|path| path.is_file());
    let lists: BTreeSet<PathBuf> = match args.batches.is_empty() {
        true => files.iter().filter_map(beside).collect(),
        false => args.batches.iter().map(|dir| dir.join(CALLS_FILE)).collect(),
    };
    if lists.is_empty() {
        return Err(Error::Usage(
            "what was asked is not known: no calls.jsonl lies beside the results; name the directory that batch export \
             wrote with --batch DIR"
                .into(),
        ));
    }
    let mut calls = CallIndex::default();
    lists.iter().try_for_each(|list| calls.add(list))?;
    Ok(calls)
}

fn summary(report: &ImportReport, cache: &Path) -> String {
    let cache = escape_controls(&cache.display().to_string());
    let mut text = format!(
        "imported into {cache}: {} replies newly paid ({} prompt tokens, {} reply tokens), {} there already\n",
        grouped(report.added),
        grouped(report.prompt_tokens),
        grouped(report.completion_tokens),
        grouped(report.known + report.conflicts)
    );
    if report.conflicts > 0 {
        let conflicts = grouped(report.conflicts);
        text.push_str(&format!("{conflicts} of these had another reply; the one that was there stays\n"));
    }
    if report.errors > 0 {
        text.push_str(&format!("{} requests have no reply and can be asked again\n", grouped(report.errors)));
    }
    text.push_str("next: scholareval plan, with the arguments of score, tells what is askable now\n");
    text
}
