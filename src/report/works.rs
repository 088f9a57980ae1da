//! The works that answers or libraries cite: one sentence, a table of systems, and the references that need a look.
//!
//! A state says what files of works hold, and nothing about who cites: texts here never say that a work was invented.

use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;

use serde::Serialize;
use textwrap::WordSplitter;

use super::layout::{listed, wrapped};
use super::legend::WORKS_LEGEND;
use super::table::{Cell, Column, Format, Table};
use super::{TableStyle, visible};
use crate::analysis::distinct;
use crate::domain::{
    BoundedShare, CaseId, CitedWork, PersonName, Reference, Retraction, RetractionKind,
    RetractionStatus, SystemName, WorkCounts, WorkField, WorkRecord, WorkState,
};
use crate::error::Error;
use crate::files::write_whole;
use crate::stats::{FoundReferences, Interval, missing_share};

/// References of a group that are shown without `--notes`.
const SHOWN: usize = 10;

/// Characters of a cited text or title that are shown.
const TEXT_WIDTH: usize = 160;

/// Level of the interval of the share of works that do not exist.
const LEVEL: f64 = 0.95;

/// The works that one answer, or a library, cites.
#[derive(Debug, Clone)]
pub struct AnswerWorks {
    /// The system; for a library its name.
    pub system: SystemName,
    /// The case; `None` for a library.
    pub case_id: Option<CaseId>,
    /// Its references, looked up.
    pub works: Arc<Vec<CitedWork>>,
}

/// What is known about the cited works of all answers.
#[derive(Debug, Clone, Serialize)]
pub struct CitedWorksReport {
    /// Over all systems.
    pub counts: WorkCounts,
    /// Each system, in their order.
    pub systems: Vec<SystemWorks>,
    /// Records in the files of works, by source.
    pub records: Vec<(String, u64)>,
    /// Every reference.
    #[serde(rename = "works", serialize_with = "lines")]
    answers: Vec<AnswerWorks>,
    /// How many of known real works the files hold.
    #[serde(skip)]
    coverage: Option<FoundReferences>,
}

/// The cited works of a system.
#[derive(Debug, Clone, Serialize)]
pub struct SystemWorks {
    /// The system.
    pub system: SystemName,
    /// Its references by their states.
    pub counts: WorkCounts,
    /// The share that was found.
    pub found: Option<BoundedShare>,
    /// The share that was found and differs.
    pub differing: Option<BoundedShare>,
    /// The share that was not found.
    pub not_found: Option<BoundedShare>,
    /// The share that is retracted.
    pub retracted: Option<BoundedShare>,
    /// The estimated share of works that do not exist; `None` without a measured coverage.
    pub nonexistent: Option<f64>,
    /// The lower end of its interval.
    pub nonexistent_low: Option<f64>,
    /// The upper end.
    pub nonexistent_high: Option<f64>,
}

/// A line of `works.jsonl`.
#[derive(Serialize)]
struct WorkLine<'a> {
    system: &'a SystemName,
    #[serde(skip_serializing_if = "Option::is_none")]
    case_id: Option<&'a CaseId>,
    #[serde(flatten)]
    work: &'a CitedWork,
}

fn lines<S: serde::Serializer>(answers: &[AnswerWorks], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(lines_of(answers))
}

fn lines_of(answers: &[AnswerWorks]) -> impl Iterator<Item = WorkLine<'_>> {
    answers.iter().flat_map(|answer| {
        answer.works.iter().map(|work| WorkLine {
            system: &answer.system,
            case_id: answer.case_id.as_ref(),
            work,
        })
    })
}

impl CitedWorksReport {
    /// The report of these answers. `records` has the number of records in the files of works by source, `coverage` how many of
    /// known real works these files hold.
    pub fn new(
        answers: Vec<AnswerWorks>,
        records: Vec<(String, u64)>,
        coverage: Option<FoundReferences>,
    ) -> Self {
        let mut systems = Vec::new();
        for name in distinct(answers.iter().map(|answer| &answer.system)) {
            let of_system = answers.iter().filter(|answer| answer.system == *name);
            systems.push(SystemWorks::of(name, of_system, coverage));
        }
        let counts = systems
            .iter()
            .fold(WorkCounts::default(), |sum, system| sum.plus(system.counts));
        Self {
            counts,
            systems,
            records,
            answers,
            coverage,
        }
    }

    /// The systems, one a row, with what their references are.
    pub fn table(&self) -> Table {
        let mut table = self.state_table();
        for (key, count) in KINDS {
            let column = WORKS_LEGEND.column(key, Format::Count);
            table.column(column, &self.systems, |system| count(&system.counts) as f64);
        }
        table
    }

    /// The systems with their references by state.
    fn state_table(&self) -> Table {
        let systems = &self.systems;
        let mut table = Table::new("", Vec::new());
        table.column(Column::text("system"), systems, |system| &system.system);
        for (key, count) in COUNTS {
            let column = WORKS_LEGEND.column(key, Format::Count).kept();
            table.column(column, systems, |system| {
                // Nothing known is not none.
                let is_unknown = key == "retracted" && system.counts.retractions_are_unknown();
                (!is_unknown).then(|| count(&system.counts) as f64)
            });
        }
        let share = |key: &str| WORKS_LEGEND.column(key, Format::Percent);
        if self.coverage.is_some() {
            let column = Column {
                has_interval: true,
                ..share("nonexistent")
            };
            table.column(column, systems, SystemWorks::nonexistent_cell);
        }
        table.column(share("found_share"), systems, |system| system.found?.share);
        let (least, most) = (share("found_at_least"), share("found_at_most"));
        table.column(least, systems, |system| Some(system.found?.low));
        table.column(most, systems, |system| Some(system.found?.high));
        table
    }

    /// Sentence, table, the references that need a look, and what to know about the numbers.
    pub fn text(&self, style: &TableStyle) -> String {
        let width = style.columns();
        let mut text = wrapped(&format!("{}.", self.sentence()), width);
        text.push('\n');
        text.push_str(&wrapped(&format!("{}.", self.counts.inventory()), width));
        text.push_str("\n\n");
        text.push_str(&self.state_table().terminal(style));
        for group in GROUPS {
            self.push_group(&mut text, *group, style);
        }
        for note in self.notes() {
            text.push('\n');
            text.push_str(&wrapped(&format!("- {note}"), width));
        }
        text.push('\n');
        text
    }

    /// The result, and where each reference is.
    pub fn summary(&self, style: &TableStyle) -> String {
        let text = format!(
            "{}. {}. Each reference: works.jsonl, or the report page.",
            self.sentence(),
            self.counts.inventory()
        );
        wrapped(&text, style.columns()) + "\n"
    }

    /// The result in one sentence.
    fn sentence(&self) -> String {
        if !self.records.is_empty() || self.counts.references == 0 {
            return self.counts.sentence();
        }
        format!(
            "{} references, not looked up in files of works; {}",
            Format::Count.show(self.counts.references as f64),
            self.counts.retractions_sentence()
        )
    }

    /// Adds the references of a group, the first ones without `--notes`.
    fn push_group(&self, text: &mut String, (title, has): LookGroup, style: &TableStyle) {
        let mut works = Vec::new();
        for answer in &self.answers {
            for work in answer.works.iter().filter(|work| has(work)) {
                works.push((answer, work));
            }
        }
        if works.is_empty() {
            return;
        }
        let count = Format::Count.show(works.len() as f64);
        text.push_str(&format!("\n{title} ({count})\n"));
        let most = if style.all_notes { usize::MAX } else { SHOWN };
        let shown = works.len().min(most);
        for (answer, work) in &works[..shown] {
            push_work(text, answer, work, style.columns());
        }
        if shown < works.len() {
            let more = works.len() - shown;
            let more = Format::Count.show(more as f64);
            text.push_str(&format!("  .. and {more} more: --notes, or works.jsonl\n"));
        }
    }

    /// What a reader must know to use the numbers.
    fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        let mut records = Vec::new();
        for (source, count) in &self.records {
            let count = Format::Count.show(*count as f64);
            records.push(format!("{source} ({count})"));
        }
        if records.is_empty() {
            notes.push(
                "no files of works were given (--works SRC..): nothing was looked up".to_owned(),
            );
        } else {
            notes.push(format!(
                "records looked at: {}; a work that they do not hold may exist",
                records.join(", ")
            ));
            notes.extend(self.bounds_note());
            if self.coverage.is_none() && self.counts.checked() > 0 {
                notes.push(
                    "the share of works that do not exist cannot be estimated: how many real works of the field these files hold \
                     is unknown (measure it with scholareval sources coverage, then add --coverage FOUND/ALL)"
                        .to_owned(),
                );
            }
        }
        if self.counts.references > 0 && self.counts.retractions_are_unknown() {
            notes.push(
                "whether works are retracted is unknown: add --retractions FILE (a CSV such as that of Retraction Watch)".to_owned(),
            );
        }
        notes
    }

    /// What the references that are left open could change.
    fn bounds_note(&self) -> Option<String> {
        let mut systems = Vec::new();
        for system in &self.systems {
            if let Some(share) = system.found.filter(|_| system.counts.open > 0) {
                let low = Format::Percent.show(share.low);
                let high = Format::Percent.show(share.high);
                systems.push(format!("{} {low} to {high}%", system.system.as_str()));
            }
        }
        let systems = listed(systems)?;
        Some(format!(
            "open: not looked up (a book, a web page, no title, a kind that these files do not cover), a title that several works \
             share, or files that disagree; found, if none or all of them were: {systems}"
        ))
    }

    /// Writes `works.jsonl`: a line for each reference.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn write(&self, path: &Path) -> crate::Result<()> {
        write_whole(path, |out| {
            for line in lines_of(&self.answers) {
                serde_json::to_writer(&mut *out, &line)
                    .map_err(std::io::Error::from)
                    .and_then(|()| out.write_all(b"\n"))
                    .map_err(Error::io(path, "write"))?;
            }
            Ok(())
        })
    }
}

/// A column of counts: its key and its value.
type CountColumn = (&'static str, fn(&WorkCounts) -> u64);

/// The references by state.
const COUNTS: [CountColumn; 6] = [
    ("references", |counts| counts.references),
    ("found", WorkCounts::found),
    ("differ", |counts| counts.differs),
    ("not_found", |counts| counts.not_found),
    ("retracted", |counts| counts.retracted),
    ("open", |counts| counts.open),
];

/// What the references are, not in the terminal: the text above its table says it.
const KINDS: [CountColumn; 9] = [
    ("not_looked_up", |counts| counts.not_looked_up),
    ("with_doi", |counts| counts.with_doi),
    ("with_arxiv", |counts| counts.with_arxiv),
    ("with_pubmed", |counts| counts.with_pubmed),
    ("with_other_id", |counts| counts.with_other_id),
    ("web_pages", |counts| counts.web_pages),
    ("without_identifier", |counts| counts.without_identifier),
    ("answers", |counts| counts.answers),
    ("answers_without_references", |counts| {
        counts.answers_without_references
    }),
];

impl SystemWorks {
    fn of<'a>(
        system: &SystemName,
        answers: impl Iterator<Item = &'a AnswerWorks>,
        coverage: Option<FoundReferences>,
    ) -> Self {
        let mut counts = WorkCounts::default();
        let mut units = Vec::new();
        for answer in answers {
            let answer_counts = WorkCounts::of(answer.works.iter());
            counts = counts.plus(answer_counts);
            if answer.case_id.is_some() {
                units.push(unit_of(answer_counts));
            } else {
                // The references of a library do not come in answers: each stands for itself.
                let works = answer.works.iter();
                units.extend(works.map(|work| unit_of(WorkCounts::of([work]))));
            }
        }
        let nonexistent = coverage.and_then(|coverage| missing_share(&units, coverage, LEVEL));
        let interval = nonexistent.and_then(|share| share.interval);
        Self {
            system: system.clone(),
            counts,
            found: counts.found_share(),
            differing: counts.differing_share(),
            not_found: counts.not_found_share(),
            retracted: counts.retracted_share(),
            nonexistent: nonexistent.map(|share| share.share),
            nonexistent_low: interval.map(|interval| interval.low),
            nonexistent_high: interval.map(|interval| interval.high),
        }
    }

    fn nonexistent_cell(&self) -> Cell {
        let ends = self.nonexistent_low.zip(self.nonexistent_high);
        let interval = ends.map(|(low, high)| Interval { low, high });
        Cell::estimate(self.nonexistent, interval)
    }
}

fn unit_of(counts: WorkCounts) -> FoundReferences {
    FoundReferences {
        found: counts.found(),
        checked: counts.checked(),
    }
}

/// References that need a look for one reason: its title, and whether a reference is one of them.
type LookGroup = (&'static str, fn(&CitedWork) -> bool);

/// The groups, the most urgent first. A reference is in the first one that fits, so that nothing is shown twice.
const GROUPS: &[LookGroup] = &[
    ("Retracted", |work| {
        has_notice(work, RetractionKind::Retracted)
    }),
    ("With an expression of concern", |work| {
        has_notice(work, RetractionKind::Concern)
    }),
    ("Differ from the record", |work| {
        is_only(work, WorkState::Differs)
    }),
    ("Not found in these files", |work| {
        is_only(work, WorkState::NotInIndex)
    }),
    ("The files disagree", |work| {
        is_only(work, WorkState::SourcesDisagree)
    }),
    ("Several works of this title", |work| {
        is_only(work, WorkState::Ambiguous)
    }),
    (
        "Possibly retracted: a notice has the same title (not counted)",
        |work| {
            let is_possible = retraction_of(work).is_some_and(|(_, is_possible)| is_possible);
            is_possible && work.checked.state == WorkState::Exists
        },
    ),
];

/// Whether a notice is about this work, and not only about its title.
fn has_notice(work: &CitedWork, kind: RetractionKind) -> bool {
    retraction_of(work) == Some((kind, false))
}

/// Whether the work has this state, and is in no group of notices.
fn is_only(work: &CitedWork, state: WorkState) -> bool {
    let is_urgent =
        has_notice(work, RetractionKind::Retracted) || has_notice(work, RetractionKind::Concern);
    !is_urgent && work.checked.state == state
}

/// What the notice about a work says, and whether it was found by title only.
fn retraction_of(work: &CitedWork) -> Option<(RetractionKind, bool)> {
    match &work.checked.retraction {
        RetractionStatus::Notice(notice) => Some((notice.status, notice.is_possible)),
        _ => None,
    }
}

/// Adds a reference with its record and what differs.
fn push_work(text: &mut String, answer: &AnswerWorks, work: &CitedWork, width: usize) {
    let reference = &work.reference;
    let key = &reference.key;
    let place = match &answer.case_id {
        Some(case_id) => format!("{}, case {case_id}: {key}", answer.system),
        None => format!("{key} ({})", reference.place),
    };
    push_line(text, "  ", &place, width);
    push_fact(text, "cited", &joined(&cited_parts(reference)), width);
    if let Some(record) = &work.checked.record {
        let mut parts = record_parts(record);
        parts.push(WorkPart {
            field: None,
            text: format!("{} {}", record.source.name(), record.id),
        });
        push_fact(text, "record", &joined(&parts), width);
    }
    for field in &work.checked.fields {
        let recorded = if field.recorded.is_empty() {
            "none".to_owned()
        } else {
            shortened(&field.recorded)
        };
        let fact = format!("cited {}, recorded {recorded}", shortened(&field.cited));
        push_fact(text, field.field.name(), &fact, width);
    }
    if let RetractionStatus::Notice(notice) = &work.checked.retraction {
        push_fact(text, "notice", &notice_text(notice), width);
    }
}

fn push_fact(text: &mut String, name: &str, fact: &str, width: usize) {
    push_line(text, &format!("    {name:<11}"), fact, width);
}

/// Adds text that may be hostile on lines of this width, the further ones indented like the first.
fn push_line(text: &mut String, lead: &str, line: &str, width: usize) {
    let indent = " ".repeat(lead.chars().count());
    let options = textwrap::Options::new(width)
        .initial_indent(lead)
        .subsequent_indent(&indent)
        .word_splitter(WordSplitter::NoHyphenation);
    text.push_str(&textwrap::fill(&visible(line), options));
    text.push('\n');
}

fn shortened(text: &str) -> String {
    super::visible::shortened(text, TEXT_WIDTH)
}

/// A part of a work as it is shown.
pub(crate) struct WorkPart {
    /// The field that it is; `None` for a free text and the name of a source.
    pub(crate) field: Option<WorkField>,
    /// Its text, shortened.
    pub(crate) text: String,
}

/// What is cited: authors, title, venue, year and identifier, or the text.
pub(crate) fn cited_parts(reference: &Reference) -> Vec<WorkPart> {
    if let Some(text) = &reference.text {
        let text = shortened(text);
        return vec![WorkPart { field: None, text }];
    }
    let id = reference.identifiers().find(|id| !id.is_derived);
    let authors = authors_text(&reference.authors, reference.has_more_authors);
    let mut parts = work_parts(
        authors,
        &reference.title,
        reference.venue.as_deref(),
        reference.year,
    );
    parts.extend(id.map(|id| WorkPart {
        field: Some(WorkField::Identifier),
        text: shortened(&id.id),
    }));
    parts
}

/// What is recorded: authors, title, venue and year.
pub(crate) fn record_parts(record: &WorkRecord) -> Vec<WorkPart> {
    let title = match &record.subtitle {
        Some(subtitle) => format!("{}: {subtitle}", record.title),
        None => record.title.clone(),
    };
    let authors = authors_text(&record.authors, false);
    work_parts(authors, &title, record.venue.as_deref(), record.year)
}

fn joined(parts: &[WorkPart]) -> String {
    let texts: Vec<&str> = parts.iter().map(|part| part.text.as_str()).collect();
    texts.join("; ")
}

/// `Vaswani, Shazeer, Parmar et al.`
fn authors_text(authors: &[PersonName], has_more: bool) -> String {
    let families = authors.iter().take(3).map(|name| name.family.as_str());
    let mut text = families.collect::<Vec<_>>().join(", ");
    if !text.is_empty() && (has_more || authors.len() > 3) {
        text.push_str(" et al.");
    }
    text
}

/// The parts that are not empty.
fn work_parts(
    authors: String,
    title: &str,
    venue: Option<&str>,
    year: Option<i32>,
) -> Vec<WorkPart> {
    let year = year.map(|year| year.to_string()).unwrap_or_default();
    let parts = [
        (WorkField::Authors, authors),
        (WorkField::Title, shortened(title)),
        (WorkField::Venue, shortened(venue.unwrap_or_default())),
        (WorkField::Year, year),
    ];
    let mut shown = Vec::new();
    for (field, text) in parts {
        let field = Some(field);
        if !text.is_empty() {
            shown.push(WorkPart { field, text });
        }
    }
    shown
}

/// `retracted 2010-02-06, doi:10.1000/x (retraction_watch)`
pub(crate) fn notice_text(notice: &Retraction) -> String {
    let mut text = match notice.status {
        RetractionKind::Retracted => "retracted",
        RetractionKind::Concern => "expression of concern",
        RetractionKind::Corrected => "corrected",
        RetractionKind::Reinstated => "reinstated",
    }
    .to_owned();
    if let Some(date) = &notice.date {
        text.push(' ');
        text.push_str(date);
    }
    if let Some(named) = &notice.notice {
        text.push_str(", ");
        text.push_str(&shortened(named));
    }
    text.push_str(&format!(" ({})", notice.source));
    text
}
