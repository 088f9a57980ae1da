//! `scholareval cache stats|prune|export|merge`.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::json;

use crate::cli::ExitCode;
use crate::cli::args::{CacheCommand, CacheFileArgs, PruneArgs};
use crate::cli::commands::Context;
use crate::cli::origin::escape_controls;
use crate::cli::settings::{DEFAULT_CACHE, OutputFormat, keys};
use crate::cli::suggest::nearest;
use crate::cli::terminal::{forgive_closed_pipe, note, write_stdout};
use crate::domain::{CallKind, JudgeTask, Mode};
use crate::error::{Error, Result};
use crate::judge::cache::{self, Cache, Entry, GroupStats, PruneOptions};

/// What is told about a cache.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Stats {
    /// Replies kept.
    entries: u64,
    /// Size of the file.
    bytes: u64,
    /// Replies by kind of question.
    by_kind: Vec<(String, u64)>,
    /// Replies by judge identity.
    by_judge: Vec<(String, u64)>,
    /// Prompt tokens paid for them.
    prompt_tokens: u64,
    /// Reply tokens paid for them.
    completion_tokens: u64,
    /// Unix seconds of the oldest and newest entry.
    span: Option<(u64, u64)>,
}

/// What a merge did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Merged {
    /// Entries copied.
    added: u64,
    /// Entries that were there already.
    kept: u64,
    /// Of these, how many had another reply.
    conflicts: u64,
    /// Entries left out because they are damaged.
    damaged: u64,
    /// Sources that could not be read to their end: path and why.
    broken_off: Vec<(PathBuf, String)>,
}

pub(super) fn run(command: &CacheCommand, context: &Context<'_>) -> Result<ExitCode> {
    match command {
        CacheCommand::Stats { file, format } => {
            let path = existing(file, context)?;
            let stats = read_stats(&path)?;
            let text = match format.unwrap_or_default() {
                OutputFormat::Table => render_stats(&path, &stats),
                OutputFormat::Json => render_stats_json(&path, &stats),
                OutputFormat::Csv => {
                    return Err(Error::Usage("--format csv: cache stats gives table or json".to_owned()));
                }
            };
            write_stdout(text.as_bytes())?;
        }
        CacheCommand::Prune(args) => {
            checked_kind(args)?;
            let path = existing(&args.file, context)?;
            let deleted = prune(&path, args)?;
            write_stdout(format!("deleted {deleted} replies from {}\n", shown(&path)).as_bytes())?;
        }
        CacheCommand::Export { file, out } => {
            let path = existing(file, context)?;
            let entries = export(&path, out)?;
            note(&format!("exported {entries} replies"));
        }
        CacheCommand::Merge { sources, into } => {
            for source in sources {
                must_exist(source)?;
            }
            let merged = merge(sources, into)?;
            write_stdout(render_merged(into, &merged).as_bytes())?;
            // Who deletes the sources next must not take this for the whole of them.
            if !merged.broken_off.is_empty() {
                return Ok(ExitCode::BadInput);
            }
        }
    }
    Ok(ExitCode::Ok)
}

/// The cache that was named (flag, environment, default); it must exist: looking must not make one.
fn existing(file: &CacheFileArgs, context: &Context<'_>) -> Result<PathBuf> {
    let from_environment = || keys::CACHE_PATH.env.iter().find_map(|name| context.environment.get(name));
    let path = file.cache.clone().unwrap_or_else(|| PathBuf::from(from_environment().unwrap_or(DEFAULT_CACHE)));
    must_exist(&path)?;
    Ok(path)
}

fn must_exist(path: &Path) -> Result<()> {
    if path.is_file() {
        return Ok(());
    }
    let what = "there is no such cache; name one with --cache FILE".to_owned();
    Err(Error::Cache { path: path.to_path_buf(), what })
}

fn checked_kind(args: &PruneArgs) -> Result<Option<CallKind>> {
    let Some(name) = &args.kind else { return Ok(None) };
    CallKind::from_name(name).map(Some).ok_or_else(|| {
        let known = CallKind::ALL.map(CallKind::as_str);
        let hint = nearest(name, known).map_or_else(|| known.join(", "), |near| format!("did you mean {near}?"));
        Error::Usage(format!("--kind: {name:?} is no kind of question; {hint}"))
    })
}

fn shown(path: &Path) -> String {
    escape_controls(&path.display().to_string())
}

fn render_stats(path: &Path, stats: &Stats) -> String {
    let mut text = format!(
        "cache:    {}\nreplies:  {}\nsize:     {}\ntokens:   {} prompt, {} reply\n",
        shown(path),
        stats.entries,
        size(stats.bytes),
        stats.prompt_tokens,
        stats.completion_tokens
    );
    if let Some((oldest, newest)) = stats.span {
        text.push_str(&format!("from:     {}\nto:       {}\n", date(oldest), date(newest)));
    }
    for (title, groups) in [("by kind", &stats.by_kind), ("by judge", &stats.by_judge)] {
        for (i, (name, count)) in groups.iter().enumerate() {
            let title = if i == 0 { format!("{title}:") } else { String::new() };
            text.push_str(&format!("{title:<9} {count:>9}  {}\n", escape_controls(name)));
        }
    }
    text
}

/// Bytes as people read them, in powers of 1000.
fn size(bytes: u64) -> String {
    match bytes {
        0..1_000 => format!("{bytes} bytes"),
        1_000..1_000_000 => format!("{:.1} kB", bytes as f64 / 1e3),
        1_000_000..1_000_000_000 => format!("{:.1} MB", bytes as f64 / 1e6),
        _ => format!("{:.1} GB", bytes as f64 / 1e9),
    }
}

fn render_stats_json(path: &Path, stats: &Stats) -> String {
    let groups = |groups: &[(String, u64)]| groups.iter().cloned().collect::<std::collections::BTreeMap<_, _>>();
    let value = json!({
        "path": path.display().to_string(),
        "entries": stats.entries,
        "bytes": stats.bytes,
        "prompt_tokens": stats.prompt_tokens,
        "completion_tokens": stats.completion_tokens,
        "oldest": stats.span.map(|(oldest, _)| oldest),
        "newest": stats.span.map(|(_, newest)| newest),
        "by_kind": groups(&stats.by_kind),
        "by_judge": groups(&stats.by_judge),
    });
    format!("{value:#}\n")
}

fn render_merged(into: &Path, merged: &Merged) -> String {
    let mut text = format!("merged into {}: {} added, {} there already\n", shown(into), merged.added, merged.kept);
    if merged.conflicts > 0 {
        text.push_str(&format!("{} of these had another reply; the one that was there stays\n", merged.conflicts));
    }
    if merged.damaged > 0 {
        text.push_str(&format!("{} damaged ones were left out\n", merged.damaged));
    }
    for (path, why) in &merged.broken_off {
        text.push_str(&format!("{}: not read to its end: {}\n", shown(path), escape_controls(why)));
    }
    text
}

/// Unix seconds as an HTTP date in UTC, or the number itself where no calendar reaches it.
fn date(seconds: u64) -> String {
    const YEAR_9999: u64 = 253_402_300_799;
    let time: Option<SystemTime> = UNIX_EPOCH.checked_add(Duration::from_secs(seconds));
    match time {
        Some(time) if seconds <= YEAR_9999 => httpdate::fmt_http_date(time),
        _ => seconds.to_string(),
    }
}

fn read_stats(path: &Path) -> Result<Stats> {
    let stats = Cache::open(path)?.stats()?;
    let counts = |groups: &BTreeMap<String, GroupStats>| {
        groups.iter().map(|(name, group)| (name.clone(), group.entries)).collect()
    };
    Ok(Stats {
        entries: stats.total.entries,
        bytes: stats.bytes,
        by_kind: counts(&stats.by_kind),
        by_judge: counts(&stats.by_judge),
        prompt_tokens: stats.total.prompt_tokens,
        completion_tokens: stats.total.completion_tokens,
        span: stats.oldest.zip(stats.newest),
    })
}

fn prune(path: &Path, args: &PruneArgs) -> Result<u64> {
    let matching = |entry: &Entry| args.all || !is_readable(entry);
    let options = PruneOptions {
        older_than: args.older_than,
        judge: args.judge.as_deref(),
        kind: checked_kind(args)?.map(CallKind::as_str),
        matching: (args.all || args.unreadable).then_some(&matching as &dyn Fn(&Entry) -> bool),
        damaged: args.damaged,
    };
    Ok(Cache::open(path)?.prune(options)?.removed)
}

/// Whether a verdict can be read in the reply. What is read does not depend on the texts that were asked about.
fn is_readable(entry: &Entry) -> bool {
    let text: Arc<str> = Arc::from("");
    let (question, answer) = (Arc::clone(&text), Arc::clone(&text));
    let task = match CallKind::from_name(&entry.label.kind) {
        Some(CallKind::Expertise) => JudgeTask::Expertise { question, answer },
        Some(CallKind::Property) => JudgeTask::Property { question, answer, criterion: text },
        Some(CallKind::Evidence) => JudgeTask::Evidence { question, answer, snippets: Arc::from(vec![String::new()]) },
        Some(CallKind::Citations) => JudgeTask::Citations { question, answer },
        Some(CallKind::Attribution) => JudgeTask::Attribution { claim: answer, document: question },
        Some(CallKind::Aspect) => {
            JudgeTask::Aspect { aspect: Arc::default(), instruction: text, question, answer, reference: None }
        }
        // A kind of a later version: not ours to call unreadable.
        None => return true,
    };
    task.parse(&entry.reply, Mode::Default).is_ok()
}

fn export(path: &Path, out: &Path) -> Result<u64> {
    let cache = Cache::open(path)?;
    if out == Path::new("-") {
        let mut stdout = BufWriter::new(ForgivingStdout);
        let report = cache.export(&mut stdout, Path::new("standard output"))?;
        stdout.flush().map_err(Error::io("standard output", "write"))?;
        return Ok(told(report));
    }
    let mut file = BufWriter::new(File::create(out).map_err(Error::io(out, "create"))?);
    let report = cache.export(&mut file, out)?;
    file.flush().map_err(Error::io(out, "write"))?;
    Ok(told(report))
}

/// The entries of an export, once what is left out has been told.
fn told(report: cache::ExportReport) -> u64 {
    if report.damaged > 0 {
        note(&format!("warning: {} damaged replies were left out", report.damaged));
    }
    report.entries
}

/// Standard output; a reader that has gone away is no fault.
struct ForgivingStdout;

impl Write for ForgivingStdout {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        forgive_closed_pipe(std::io::stdout().lock().write_all(bytes)).map(|()| bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        forgive_closed_pipe(std::io::stdout().lock().flush())
    }
}

fn merge(sources: &[PathBuf], into: &Path) -> Result<Merged> {
    let report = cache::merge(sources, into)?;
    let known: u64 = report.sources.iter().map(|source| source.entries.known).sum();
    Ok(Merged {
        added: report.added(),
        kept: known + report.conflicts(),
        conflicts: report.conflicts(),
        damaged: report.sources.iter().map(|source| source.damaged).sum(),
        broken_off: (report.sources.iter())
            .filter_map(|source| Some((source.path.clone(), source.broken_off.clone()?)))
            .collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stats_show_groups_tokens_and_dates() {
        let stats = Stats {
            entries: 3,
            bytes: 1_500_000,
            by_kind: vec![("evidence".to_owned(), 1), ("property".to_owned(), 2)],
            by_judge: vec![("m\u{1b}".to_owned(), 3)],
            prompt_tokens: 10,
            completion_tokens: 5,
            span: Some((0, 86_400)),
        };
        let text = render_stats(Path::new("c.sqlite"), &stats);
        // 1,500,000 bytes / 1e6 = 1.5 MB; 86,400 s are one day after the epoch, a Thursday
        assert_eq!(
            text,
            "cache:    c.sqlite\nreplies:  3\nsize:     1.5 MB\ntokens:   10 prompt, 5 reply\n\
             from:     Thu, 01 Jan 1970 00:00:00 GMT\nto:       Fri, 02 Jan 1970 00:00:00 GMT\n\
             by kind:          1  evidence\n                  2  property\nby judge:         3  m\\u{1b}\n"
        );
    }

    #[test]
    fn a_small_cache_has_a_size_too() {
        let sizes = [0, 999, 28_672, 1_500_000, 2_000_000_000].map(size);
        assert_eq!(sizes, ["0 bytes", "999 bytes", "28.7 kB", "1.5 MB", "2.0 GB"]);
    }

    #[test]
    fn a_date_beyond_the_calendar_is_the_number() {
        assert_eq!(date(u64::MAX), u64::MAX.to_string());
    }

    #[test]
    fn a_merge_tells_trouble_only_where_there_was_some() {
        let calm = Merged { added: 2, kept: 3, ..Merged::default() };
        assert_eq!(render_merged(Path::new("c"), &calm), "merged into c: 2 added, 3 there already\n");
        let broken_off = vec![(PathBuf::from("s"), "malformed page".to_owned())];
        let text = render_merged(Path::new("c"), &Merged { conflicts: 1, damaged: 4, broken_off, ..calm });
        assert!(text.ends_with(
            "1 of these had another reply; the one that was there stays\n4 damaged ones were left out\n\
             s: not read to its end: malformed page\n"
        ));
    }
}
