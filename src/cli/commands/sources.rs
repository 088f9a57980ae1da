//! `scholareval sources index|show|missing`.

use std::path::Path;

use super::CommandContext;
use crate::cli::args::SourcesCommand;
use crate::cli::origin::escape_controls;
use crate::cli::terminal::{escaped_lines, grouped, path_text, write_stdout};
use crate::dataset::load_answers;
use crate::domain::Mode;
use crate::error::{InputFault, Result};
use crate::sources::{CitedPages, IndexReport, PageStore, StoredPage, index};

/// Runs the command.
///
/// # Errors
/// When a source, the store or an answer file cannot be read, or a page is not in the store.
pub(super) fn run(command: &SourcesCommand, context: &CommandContext<'_>) -> Result<()> {
    match command {
        SourcesCommand::Index { sources, out } => {
            let report = index(sources, out)?;
            context.warn(&report.faults);
            write_stdout(index_text(out, &report).as_bytes())
        }
        SourcesCommand::Show { url, store } => show(url, &store.sources, context),
        SourcesCommand::Missing { answers, store } => {
            let store = PageStore::open(&store.sources)?;
            let mut cited = CitedPages::default();
            for system in load_answers(answers, Mode::Default)? {
                for answer in &system.answers {
                    cited.add(&answer.answer_text, &store)?;
                }
            }
            context.note(&missing_text(&cited));
            write_stdout(lines(&cited.missing).as_bytes())
        }
    }
}

/// What was added, and the states of the pages.
fn index_text(out: &Path, report: &IndexReport) -> String {
    let mut text = format!(
        "{}: {} pages added, {} already there\n",
        path_text(out),
        grouped(report.added),
        grouped(report.known)
    );
    for (state, count) in &report.states {
        text.push_str(&format!("{:>9}  {}\n", grouped(*count), state.name()));
    }
    for (count, what) in [
        (report.redirects, "redirects"),
        (
            report.other,
            "parts that are not pages (images, styles, snippets, empty addresses)",
        ),
        (report.broken, "broken parts left out"),
    ] {
        if count > 0 {
            text.push_str(&format!("{:>9}  {what}\n", grouped(count)));
        }
    }
    text
}

/// Prints the text of a page to standard output, and what is known about it to standard error.
fn show(url: &str, path: &Path, context: &CommandContext<'_>) -> Result<()> {
    let store = PageStore::open(path)?;
    let snapshots = store.snapshots(url)?;
    let Some(page) = snapshots.first() else {
        let what = format!("no page of {} in the store", escape_controls(url));
        let fault = InputFault::new(path, what);
        return Err(fault
            .hint("fetch it and add it with `scholareval sources index`")
            .into());
    };
    context.note(&page_text(page, snapshots.len()));
    let Some(text) = store.text(page)? else {
        return Ok(());
    };
    write_stdout(format!("{}\n", escaped_lines(&text)).as_bytes())
}

/// What is known about a page, one fact a line.
fn page_text(page: &StoredPage, snapshots: usize) -> String {
    let mut state = page.state.name().to_owned();
    if !page.reason.is_empty() {
        state.push_str(&format!(" ({})", page.reason));
    }
    if !page.state.is_readable() {
        state.push_str(": a judge is not asked about this page");
    }
    let status = page
        .status
        .map(|status| status.to_string())
        .unwrap_or_default();
    let facts = [
        ("url", page.url.as_str()),
        ("final url", page.final_url.as_deref().unwrap_or_default()),
        ("title", page.title.as_str()),
        ("state", state.as_str()),
        ("kind", page.kind.name()),
        (
            "retrieved",
            page.retrieved_at.as_deref().unwrap_or_default(),
        ),
        ("status", status.as_str()),
        ("source", page.source.as_str()),
    ];
    let mut text = String::new();
    for (name, value) in facts {
        if !value.is_empty() {
            text.push_str(&format!(
                "{:<11}{}\n",
                format!("{name}:"),
                escape_controls(value)
            ));
        }
    }
    if snapshots > 1 {
        text.push_str(&format!("snapshots: {snapshots}\n"));
    }
    text.trim_end().to_owned()
}

/// How many of the cited pages are there, and in which state.
fn missing_text(cited: &CitedPages) -> String {
    let stored: u64 = cited.stored.values().sum();
    let all = stored + cited.missing.len() as u64;
    let mut text = format!(
        "{} cited pages: {} not in the store",
        grouped(all),
        grouped(cited.missing.len() as u64)
    );
    for (state, count) in &cited.stored {
        text.push_str(&format!(", {} {}", grouped(*count), state.name()));
    }
    text
}

fn lines(addresses: &[String]) -> String {
    let mut text = String::new();
    for address in addresses {
        text.push_str(&escape_controls(address));
        text.push('\n');
    }
    text
}
