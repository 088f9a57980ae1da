//! `scholareval cache stats|merge`.

use std::path::Path;

use crate::cli::ExitCode;
use crate::cli::args::{CacheCommand, OutputFormat};
use crate::cli::origin::escape_controls;
use crate::cli::terminal::{self, grouped, path_text, write_stdout};
use crate::error::{Error, Result};
use crate::judge::cache::{self, Cache, CacheStats, Inserted, MergeReport};
use crate::report::render_json;

/// Runs the command.
///
/// # Errors
/// When a cache does not exist, or cannot be read or written.
pub(super) fn run(command: &CacheCommand) -> Result<ExitCode> {
    match command {
        CacheCommand::Stats { file, format } => {
            let stats = Cache::open(existing(&file.cache)?)?.stats()?;
            let text = match format.unwrap_or_default() {
                OutputFormat::Table => stats_text(&stats),
                OutputFormat::Json => render_json(&stats)?,
                OutputFormat::Csv => {
                    return Err(Error::Usage(
                        "--format csv: cache stats prints table or json".to_owned(),
                    ));
                }
            };
            write_stdout(text.as_bytes())?;
        }
        CacheCommand::Merge { sources, into } => {
            // All of them before the first is read: a mistyped name must not leave half a merge.
            for source in sources {
                existing(source)?;
            }
            let report = cache::merge(sources, into)?;
            write_stdout(merge_text(into, &report).as_bytes())?;
            for (path, reason) in &report.suspicious {
                let warning = format!("warning: {}: {reason}", path.display());
                terminal::note(&escape_controls(&warning));
            }
            // A failing exit code, so that scripts do not delete incompletely merged sources.
            if !report.incomplete.is_empty() {
                return Ok(ExitCode::BadInput);
            }
        }
    }
    Ok(ExitCode::Ok)
}

/// The path if the file exists: a reading command must not create it.
fn existing(path: &Path) -> Result<&Path> {
    if path.is_file() {
        return Ok(path);
    }
    let what = "there is no such cache; name one with --cache FILE".to_owned();
    Err(Error::Cache {
        path: path.to_path_buf(),
        what,
    })
}

/// The statistics for people, one per line.
fn stats_text(stats: &CacheStats) -> String {
    let prompt = grouped(stats.prompt_tokens);
    let reply = grouped(stats.completion_tokens);
    let reasoning = match stats.reasoning_tokens {
        0 => String::new(),
        tokens => format!(", {} of them reasoning", grouped(tokens)),
    };
    let mut text = format!(
        "cache:    {}\nreplies:  {}\nsize:     {:.1} MB\ntokens:   {prompt} prompt, {reply} reply{reasoning}\n",
        path_text(&stats.path),
        grouped(stats.entries),
        stats.bytes as f64 / 1e6,
    );
    if stats.damaged > 0 {
        text.push_str(&format!("damaged:  {}\n", grouped(stats.damaged)));
    }
    for (title, groups) in [("by kind:", &stats.by_kind), ("by judge:", &stats.by_judge)] {
        for (at, (name, count)) in groups.iter().enumerate() {
            let title = if at == 0 { title } else { "" };
            text.push_str(&format!(
                "{title:<9} {:>9}  {}\n",
                grouped(*count),
                escape_controls(name)
            ));
        }
    }
    text
}

/// How many replies a cache got.
pub(super) fn inserted_text(verb: &str, into: &Path, inserted: Inserted) -> String {
    let there = inserted.known + inserted.conflicts;
    let mut text = format!(
        "{verb} into {}: {} replies added, {} already there\n",
        path_text(into),
        grouped(inserted.added),
        grouped(there)
    );
    if inserted.conflicts > 0 {
        text.push_str(&format!(
            "{} of these have a different reply in the cache, which is kept\n",
            grouped(inserted.conflicts)
        ));
    }
    text
}

/// What was merged, and what is missing of the sources.
fn merge_text(into: &Path, report: &MergeReport) -> String {
    let mut text = inserted_text("merged", into, report.inserted);
    if report.damaged > 0 {
        text.push_str(&format!(
            "{} damaged replies were left out\n",
            report.damaged
        ));
    }
    for (path, why) in &report.incomplete {
        text.push_str(&format!(
            "{}: only partly read: {}\n",
            path_text(path),
            escape_controls(why)
        ));
    }
    text
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    #[test]
    fn stats_show_groups_tokens_and_dates() {
        let stats = CacheStats {
            path: "c.sqlite".into(),
            entries: 3,
            bytes: 1_500_000,
            by_kind: [("evidence".to_owned(), 1), ("property".to_owned(), 2)].into(),
            by_judge: [("m\u{1b}".to_owned(), 3)].into(),
            prompt_tokens: 1000,
            completion_tokens: 5,
            ..CacheStats::default()
        };
        // 1,500,000 bytes / 1e6 = 1.5 MB
        assert_eq!(
            stats_text(&stats),
            "cache:    c.sqlite\nreplies:  3\nsize:     1.5 MB\ntokens:   1,000 prompt, 5 reply\n\
             by kind:          1  evidence\n                  2  property\nby judge:         3  m\\u{1b}\n"
        );
    }

    #[test]
    fn a_merge_reports_problems_only_if_there_are_any() {
        let calm = MergeReport {
            inserted: Inserted {
                added: 2,
                known: 3,
                conflicts: 0,
            },
            ..MergeReport::default()
        };
        assert_eq!(
            merge_text(Path::new("c"), &calm),
            "merged into c: 2 replies added, 3 already there\n"
        );
        let incomplete = vec![(PathBuf::from("s"), "malformed page".to_owned())];
        let text = merge_text(
            Path::new("c"),
            &MergeReport {
                inserted: Inserted {
                    conflicts: 1,
                    ..calm.inserted
                },
                damaged: 4,
                incomplete,
                ..MergeReport::default()
            },
        );
        assert!(text.ends_with(
            "1 of these have a different reply in the cache, which is kept\n4 damaged replies were left out\n\
             s: only partly read: malformed page\n"
        ));
    }
}
