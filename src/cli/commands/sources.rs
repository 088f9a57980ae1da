//! `scholareval sources index|show|coverage|missing`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::CommandContext;
use crate::cli::args::SourcesCommand;
use crate::cli::origin::escape_controls;
use crate::cli::reading::ReadingProgress;
use crate::cli::terminal::{escaped_lines, grouped, path_text, write_stdout};
use crate::dataset::load_answers;
use crate::domain::{Mode, SavedPages};
use crate::error::{InputFault, Result};
use crate::sources::{CitedPages, IndexReport, PageStore, StoredPage, StoredPages, index};
use crate::stats::{WeightedUnit, weighted_share};
use crate::works::{WorkState, Works, WorksIndexReport, index_works, is_works, load_library};

/// The level of the interval of a coverage.
const LEVEL: f64 = 0.95;

/// Runs the command.
///
/// # Errors
/// When a source, the store or an answer file cannot be read, or a page is not in the store.
pub(super) fn run(command: &SourcesCommand, context: &CommandContext<'_>) -> Result<()> {
    match command {
        SourcesCommand::Index { sources, out } => index_sources(sources, out.as_deref(), context),
        SourcesCommand::Show { url, store } => show(url, &store.sources, context),
        SourcesCommand::Coverage { library, works } => coverage(library, works, context),
        SourcesCommand::Missing { answers, store } => missing(answers, &store.sources, context),
    }
}

/// Prints the cited addresses that a fetcher should get. Before the first fetch there is no store.
fn missing(answers: &[PathBuf], path: &Path, context: &CommandContext<'_>) -> Result<()> {
    let store = if path.exists() {
        Some(StoredPages::open(path, None)?)
    } else {
        None
    };
    let mut cited = CitedPages::default();
    for system in load_answers(answers, Mode::Default)? {
        for answer in &system.answers {
            let pages = store.as_ref().map(|store| store as &dyn SavedPages);
            cited.add(&answer.answer_text, pages)?;
        }
    }
    if store.is_none() {
        let what = format!(
            "there is no store {} yet: all cited pages are listed",
            path_text(path)
        );
        context.note(&what);
    }
    context.note(&missing_text(&cited));
    write_stdout(lines(&cited.missing).as_bytes())
}

/// Reads sources of pages into a store, or of works into an index: which one, the sources say.
fn index_sources(
    sources: &[PathBuf],
    out: Option<&Path>,
    context: &CommandContext<'_>,
) -> Result<()> {
    let mut works = Vec::new();
    let mut pages = Vec::new();
    for source in sources {
        let list = if is_works(source)? {
            &mut works
        } else {
            &mut pages
        };
        list.push(source);
    }
    if let (Some(work), Some(page)) = (works.first(), pages.first()) {
        let what = format!("a file of works, and {} is not one", path_text(page));
        let fault = InputFault::new(work, what);
        return Err(fault.refuse("index pages and works with two commands, into two files"));
    }
    if works.is_empty() {
        let out = out.unwrap_or(Path::new("sources.sqlite"));
        let report = index(sources, out)?;
        context.warn(&report.faults);
        return write_stdout(index_text(out, &report).as_bytes());
    }
    let out = out.unwrap_or(Path::new("works.sqlite"));
    let progress = ReadingProgress::new(context.global.quiet);
    let indexed = index_works(sources, out, &|read, all| progress.read(read, all));
    progress.finish();
    let report = indexed?;
    context.warn(&report.faults);
    write_stdout(works_text(out, &report).as_bytes())
}

/// What was added to an index of works.
fn works_text(out: &Path, report: &WorksIndexReport) -> String {
    let added: u64 = report.added.iter().map(|(_, count)| count).sum();
    let mut text = format!(
        "{}: {} works added, {} in total\n",
        path_text(out),
        grouped(added),
        grouped(report.total)
    );
    for (source, count) in &report.added {
        text.push_str(&format!("{:>11}  {}\n", grouped(*count), source.name()));
    }
    for (count, label) in [
        (report.known_files, "files that were read before"),
        (report.broken, "broken records left out"),
    ] {
        if count > 0 {
            text.push_str(&format!("{:>11}  {label}\n", grouped(count)));
        }
    }
    text
}

/// Prints how many works of a library are found.
fn coverage(library: &Path, works: &[PathBuf], context: &CommandContext<'_>) -> Result<()> {
    // First: a mistyped name of a dump must not wait for a library, nor the other way round.
    let mut works = Works::open(works)?;
    let list = load_library(library)?;
    context.warn(&list.faults);
    let progress = ReadingProgress::new(context.global.quiet);
    let checked = works.check(&list.references, &|read, all| progress.read(read, all));
    progress.finish();
    let checked = checked?;
    context.warn(&works.report().faults);
    let mut counts: BTreeMap<WorkState, u64> = BTreeMap::new();
    let mut units = Vec::new();
    for (reference, work) in list.references.iter().zip(&checked) {
        *counts.entry(work.state).or_default() += 1;
        let is_decided = work.state.is_found() || work.state == WorkState::NotInIndex;
        // Of a kind that is not covered, those that are found would make a share of 100%.
        if is_decided && works.report().covers(reference) {
            units.push(WeightedUnit {
                weight: 1.0,
                is_hit: work.state.is_found(),
                question: units.len(),
            });
        }
    }
    if units.is_empty() {
        let what = "no work of the library can be looked up in these files";
        let fault = InputFault::new(library, what);
        return Err(fault.refuse("add files that cover works of its kinds: --works"));
    }
    write_stdout(coverage_text(&units, &counts).as_bytes())
}

/// `480/513 works of the library are found: 93.6% [91.1, 95.4]`, then the states.
fn coverage_text(units: &[WeightedUnit], counts: &BTreeMap<WorkState, u64>) -> String {
    let found = units.iter().filter(|unit| unit.is_hit).count();
    let all = units.len();
    let mut text = format!("{found}/{all} works of the library are found");
    if let Some(share) = weighted_share(units, LEVEL) {
        text.push_str(&format!(": {:.1}%", 100.0 * share.share));
        if let Some(interval) = share.interval {
            let low = 100.0 * interval.low;
            let high = 100.0 * interval.high;
            text.push_str(&format!(" [{low:.1}, {high:.1}]"));
        }
    }
    text.push('\n');
    for state in WorkState::ALL {
        let count = counts.get(&state).copied().unwrap_or_default();
        if count > 0 {
            text.push_str(&format!("{:>11}  {}\n", grouped(count), state.name()));
        }
    }
    let counted = all as u64;
    let others = counts.values().sum::<u64>() - counted;
    if others > 0 {
        text.push_str(&format!(
            "{} are not counted: undecided, or of a kind that these files do not cover\n",
            grouped(others)
        ));
    }
    // Files that hold none of the works estimate nothing.
    if found > 0 {
        text.push_str(&format!(
            "For the commands that count cited works: --coverage {found}/{all}\n"
        ));
    }
    text
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
    for (count, label) in [
        (report.redirects, "redirects"),
        (
            report.other,
            "parts that are not pages (images, styles, snippets, empty addresses)",
        ),
        (report.broken, "broken parts left out"),
    ] {
        if count > 0 {
            text.push_str(&format!("{:>9}  {label}\n", grouped(count)));
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
        return Err(fault.refuse("fetch it and add it with `scholareval sources index`"));
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
