//! Decides what the records that were found say about a reference.
//!
//! An identifier or an equal title makes a record the one that is meant; a similar title does so only with the authors.
//! Which fields differ is said of the record that agrees most. A state is always about the files that were read: what is
//! in none of them may exist.

use super::agreement::{RecordAgreement, TitleAgreement};
use super::free_text::LONG_TITLE;
use super::keys::{RecordTitle, SoughtWork};
use super::names::shares_authors;
use super::normalize::{folded, is_marked_as_retracted};
use scholareval_core::domain::{
    CheckedReference, DifferingField, PersonName, Reference, ReferenceKind, Retraction,
    RetractionKind, RetractionStatus, UncheckedReason, WorkField, WorkRecord, WorkSource,
    WorkState,
};
use scholareval_core::text::identifiers::IdentifierScheme;

/// Records with a similar title that are kept of a reference.
const SIMILAR_KEPT: usize = 5;

/// Records with an identifier or the title of a reference that are kept: the works with a title like "Introduction" are
/// many, and the best of them decide.
const MATCHES_KEPT: usize = 8;

/// The source of a notice that the title of a record is.
const TITLE_SOURCE: &str = "title";

/// Authors that a difference names.
const AUTHORS_SHOWN: usize = 10;

/// Systems in which a work has one identifier: another one is that of another work. Semantic Scholar, OpenReview and HAL
/// have several for some.
const ONE_FOR_A_WORK: [IdentifierScheme; 4] = [
    IdentifierScheme::Doi,
    IdentifierScheme::Arxiv,
    IdentifierScheme::Pmid,
    IdentifierScheme::Pmcid,
];

/// A record that may be the work of a reference.
#[derive(Debug, Clone)]
pub(super) struct WorkCandidate {
    record: WorkRecord,
    agreement: RecordAgreement,
}

/// The best records of a reference. Which ones are kept does not depend on the order in which they come.
#[derive(Debug, Default)]
pub(super) struct Candidates {
    matches: Vec<WorkCandidate>,
    similar: Vec<WorkCandidate>,
}

impl Candidates {
    /// Takes a record that shares a key or rare words with the reference.
    pub(super) fn take(&mut self, cited: &SoughtWork, record: &WorkRecord, title: &RecordTitle) {
        let agreement = RecordAgreement::of(cited, record, title);
        let (list, kept) = if agreement.has_identifier || agreement.title.is_equal() {
            (&mut self.matches, MATCHES_KEPT)
        } else if matches!(agreement.title, TitleAgreement::Similar(_)) {
            (&mut self.similar, SIMILAR_KEPT)
        } else {
            return;
        };
        let candidate = WorkCandidate {
            record: record.clone(),
            agreement,
        };
        let at = list.partition_point(|other| candidate.order() > other.order());
        let is_known = list
            .get(at)
            .is_some_and(|other| other.order() == candidate.order());
        if at < kept && !is_known {
            list.insert(at, candidate);
            list.truncate(kept);
        }
    }

    /// Whether a record with the title was found.
    pub(super) fn has_title(&self) -> bool {
        let mut matches = self.matches.iter();
        matches.any(|candidate| candidate.agreement.title.is_equal())
    }

    /// All of them, the best first.
    fn sorted(self) -> Vec<WorkCandidate> {
        let mut all = self.matches;
        all.extend(self.similar);
        all.sort_by(|a, b| a.order().cmp(&b.order()));
        all
    }
}

impl WorkCandidate {
    /// The best first; equal ones in an order that does not depend on threads.
    fn order(&self) -> (std::cmp::Reverse<u32>, WorkSource, &str) {
        let rank = std::cmp::Reverse(self.agreement.rank());
        (rank, self.record.source, &self.record.id)
    }

    /// Whether two records are of one work.
    fn is_same_work(&self, other: &Self) -> bool {
        let a = &self.record;
        let b = &other.record;
        a.identifiers()
            .any(|id| b.identifiers().any(|other| other == id))
            || self.agreement.title.is_equal()
                && other.agreement.title.is_equal()
                && shares_authors(&a.authors, &b.authors) == Some(true)
    }
}

/// Decides the state of a reference.
pub(super) fn decide(
    cited: &SoughtWork,
    candidates: Candidates,
    sources: &[WorkSource],
) -> CheckedReference {
    let candidates = candidates.sorted();
    let best = candidates
        .iter()
        .find(|candidate| candidate.agreement.is_the_work());
    let Some(best) = best else {
        return not_found(cited, &candidates, sources);
    };
    let knows_dois = sources.iter().any(|source| *source != WorkSource::Arxiv);
    let fields = differing_fields(cited, best, &candidates, knows_dois);
    let mut checked = CheckedReference {
        state: if is_disputed(best, &candidates) {
            WorkState::SourcesDisagree
        } else if fields.is_empty() {
            WorkState::Exists
        } else {
            WorkState::Differs
        },
        reason: None,
        fields,
        venue: differing_venue(&cited.reference, &best.record),
        retraction: retraction(best, &candidates),
        record: Some(best.record.clone()),
    };
    if is_ambiguous(cited, best, &candidates) {
        // It is open which one of several works is meant, and so what differs.
        checked.state = WorkState::Ambiguous;
        checked.fields.clear();
        checked.retraction = RetractionStatus::Unknown;
    }
    checked
}

/// The state of a reference whose work was not found.
fn not_found(
    cited: &SoughtWork,
    candidates: &[WorkCandidate],
    sources: &[WorkSource],
) -> CheckedReference {
    let kind = kind_of(&cited.reference);
    // A text of short fields has either no title, or one that is too short to be sought.
    let has_title = match &cited.text {
        Some(text) => text.has_long_field(),
        None => !cited.key.is_empty(),
    };
    let misled = candidates
        .iter()
        .find(|candidate| candidate.agreement.is_misled());
    let is_covered = sources.iter().any(|source| source.covers(kind));
    let mut checked = if !has_title && !cited.has_identifier() {
        CheckedReference::unchecked(UncheckedReason::NoTitle)
    } else if matches!(
        kind,
        ReferenceKind::Book | ReferenceKind::Web | ReferenceKind::Software
    ) {
        CheckedReference::unchecked(UncheckedReason::Kind)
    } else if !is_covered {
        CheckedReference::unchecked(UncheckedReason::NotCovered)
    } else {
        CheckedReference {
            state: WorkState::NotInIndex,
            reason: None,
            ..CheckedReference::unchecked(UncheckedReason::NotCovered)
        }
    };
    if let Some(misled) = misled {
        checked.fields = vec![leads_elsewhere(cited, &misled.record)];
        checked.record = Some(misled.record.clone());
    }
    checked
}

/// The kind for which a source must cover a reference.
pub(super) fn kind_of(reference: &Reference) -> ReferenceKind {
    if reference.kind == ReferenceKind::Other
        && reference.arxiv.is_some()
        && reference.doi.is_none()
    {
        return ReferenceKind::Preprint;
    }
    reference.kind
}

/// The fields in which the best record differs.
fn differing_fields(
    cited: &SoughtWork,
    best: &WorkCandidate,
    candidates: &[WorkCandidate],
    knows_dois: bool,
) -> Vec<DifferingField> {
    let reference = &cited.reference;
    let record = &best.record;
    let mut fields = Vec::new();
    if !best.agreement.title.is_equal() && best.agreement.title != TitleAgreement::NotGiven {
        fields.push(DifferingField {
            field: WorkField::Title,
            cited: reference.title.clone(),
            recorded: whole_title(record),
        });
    }
    if best.agreement.authors == Some(false) {
        fields.push(DifferingField {
            field: WorkField::Authors,
            cited: authors_text(&reference.authors, reference.has_more_authors),
            recorded: authors_text(&record.authors, record.has_more_authors),
        });
    }
    if best.agreement.year == Some(false) {
        let text = |year: Option<i32>| year.map(|year| year.to_string()).unwrap_or_default();
        fields.push(DifferingField {
            field: WorkField::Year,
            cited: cited_years(cited),
            recorded: text(record.year),
        });
    }
    fields.extend(differing_identifier(cited, best, candidates, knows_dois));
    fields
}

/// The year of a reference; of free text all numbers that may be one.
fn cited_years(cited: &SoughtWork) -> String {
    let years = match (&cited.text, cited.reference.year) {
        (Some(text), None) => text.years(text.no_title()),
        (_, year) => year.into_iter().collect(),
    };
    let years: Vec<String> = years.iter().map(i32::to_string).collect();
    years.join(", ")
}

/// The identifier of the reference, if it leads to another work than the best record, or to none although the record has
/// one of its kind, or a source of DOIs was read.
fn differing_identifier(
    cited: &SoughtWork,
    best: &WorkCandidate,
    candidates: &[WorkCandidate],
    knows_dois: bool,
) -> Option<DifferingField> {
    for cited_id in cited.reference.identifiers().filter(|id| !id.is_derived) {
        let mut recorded = best.record.identifiers();
        let recorded_id = recorded.find(|id| id.scheme == cited_id.scheme);
        if recorded_id.as_ref() == Some(&cited_id) {
            continue;
        }
        let has_one_for_a_work = ONE_FOR_A_WORK.contains(&cited_id.scheme);
        let is_doi = cited_id.scheme == IdentifierScheme::Doi;
        let mut others = candidates.iter();
        let owner = others.find(|other| other.record.identifiers().any(|id| id == cited_id));
        match owner {
            // One work with two identifiers: a preprint and an article.
            Some(owner) if owner.agreement.is_the_work() => {}
            Some(owner) => return Some(leads_elsewhere(cited, &owner.record)),
            // A source that has DOIs would know this one. arXiv has those that authors enter.
            None if !best.agreement.has_identifier
                && (is_doi && knows_dois || has_one_for_a_work && recorded_id.is_some()) =>
            {
                return Some(DifferingField {
                    field: WorkField::Identifier,
                    cited: cited_id.id,
                    recorded: recorded_id.map(|id| id.id).unwrap_or_default(),
                });
            }
            None => {}
        }
    }
    None
}

fn leads_elsewhere(cited: &SoughtWork, record: &WorkRecord) -> DifferingField {
    let mut identifiers = cited.reference.identifiers();
    let shared = identifiers.find(|id| record.identifiers().any(|recorded| recorded == *id));
    DifferingField {
        field: WorkField::Identifier,
        cited: shared.map(|id| id.id).unwrap_or_default(),
        recorded: whole_title(record),
    }
}

/// Whether a short title is that of several works, and the reference does not say which one it means.
fn is_ambiguous(cited: &SoughtWork, best: &WorkCandidate, candidates: &[WorkCandidate]) -> bool {
    let is_short = cited.text.is_none() && cited.word_count() < LONG_TITLE;
    is_short
        && !best.agreement.has_identifier
        && best.agreement.title.is_equal()
        && candidates.iter().any(|other| {
            other.agreement.title.is_equal()
                && other.agreement.authors == best.agreement.authors
                && !other.is_same_work(best)
        })
}

/// Whether another source has another work under the identifier of a record that agrees.
fn is_disputed(best: &WorkCandidate, candidates: &[WorkCandidate]) -> bool {
    best.agreement.is_whole()
        && best.agreement.has_identifier
        && candidates
            .iter()
            .any(|other| other.record.source != best.record.source && other.agreement.is_misled())
}

/// The venue, where both have one in other words.
fn differing_venue(reference: &Reference, record: &WorkRecord) -> Option<DifferingField> {
    let cited = reference.venue.as_deref()?;
    let recorded = record.venue.as_deref()?;
    let differs = folded(cited) != folded(recorded);
    differs.then(|| DifferingField {
        field: WorkField::Venue,
        cited: cited.to_owned(),
        recorded: recorded.to_owned(),
    })
}

/// What the records of the work say about a retraction: the gravest notice of any source.
fn retraction(best: &WorkCandidate, candidates: &[WorkCandidate]) -> RetractionStatus {
    let mut status = RetractionStatus::Unknown;
    for candidate in candidates {
        let is_best = std::ptr::eq(candidate, best);
        let is_same = candidate.agreement.is_the_work() && candidate.is_same_work(best);
        if !is_best && !is_same {
            continue;
        }
        match (notice_of(&candidate.record), &status) {
            (Some(notice), RetractionStatus::Notice(other))
                if gravity(notice.status) <= gravity(other.status) => {}
            (Some(notice), _) => status = RetractionStatus::Notice(notice),
            (None, RetractionStatus::Unknown) if candidate.record.source.records_retractions() => {
                status = RetractionStatus::NoNotice;
            }
            (None, _) => {}
        }
    }
    status
}

/// The notice that a record has, or that its title is: a journal changes the title of an article that it retracts. A
/// reinstated article may keep such a title.
fn notice_of(record: &WorkRecord) -> Option<Retraction> {
    let recorded = record.retraction.as_ref();
    let decides =
        |notice: &&Retraction| gravity(notice.status) >= gravity(RetractionKind::Reinstated);
    let of_title = is_marked_as_retracted(&record.title)
        .then(|| Retraction::new(RetractionKind::Retracted, TITLE_SOURCE));
    recorded
        .filter(decides)
        .cloned()
        .or(of_title)
        .or_else(|| recorded.cloned())
}

fn gravity(kind: RetractionKind) -> u8 {
    match kind {
        RetractionKind::Retracted => 3,
        RetractionKind::Reinstated => 2,
        RetractionKind::Concern => 1,
        RetractionKind::Corrected => 0,
    }
}

fn whole_title(record: &WorkRecord) -> String {
    match &record.subtitle {
        Some(subtitle) => format!("{}: {subtitle}", record.title),
        None => record.title.clone(),
    }
}

fn authors_text(authors: &[PersonName], has_more: bool) -> String {
    let shown: Vec<String> = authors
        .iter()
        .take(AUTHORS_SHOWN)
        .map(PersonName::text)
        .collect();
    let mut text = shown.join(", ");
    if has_more || authors.len() > AUTHORS_SHOWN {
        text.push_str(" et al.");
    }
    text
}

#[cfg(test)]
#[path = "matching_tests.rs"]
mod tests;
