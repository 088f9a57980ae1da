//! How many references are in each state, and the shares that follow from it.

use serde::Serialize;

use super::checked_reference::{CitedWork, RetractionStatus, WorkState};
use super::reference::{Reference, ReferenceKind};
use super::work::RetractionKind;
use crate::text::addresses::addresses_in;
use crate::text::identifiers::IdentifierScheme;
use crate::text::names::grouped;

/// The references of an answer, a system or a library by their states.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct WorkCounts {
    /// Every reference.
    pub references: u64,
    /// Found, and nothing differs.
    pub exists: u64,
    /// Found, with fields that differ.
    pub differs: u64,
    /// Not in files that cover works of their kind.
    pub not_found: u64,
    /// Left open: unchecked, ambiguous, or a matter on which the files disagree.
    pub open: u64,
    /// Of the open ones those that cannot be looked up in these files.
    pub not_looked_up: u64,
    /// Of all references those that are retracted; possible ones are not counted.
    pub retracted: u64,
    /// Of all references those of which nothing is known about retractions.
    pub retraction_unknown: u64,
    /// Of all references those with a DOI.
    pub with_doi: u64,
    /// Of the others those of arXiv.
    pub with_arxiv: u64,
    /// Of the others those with a PMID or PMCID.
    pub with_pubmed: u64,
    /// Of the others those with another identifier, such as that of Semantic Scholar.
    pub with_other_id: u64,
    /// Of the others those with an address.
    pub web_pages: u64,
    /// Those with neither identifier nor address.
    pub without_identifier: u64,
    /// The answers, or libraries, that they are from.
    pub answers: u64,
    /// Those of them in which no references were found.
    pub answers_without_references: u64,
}

/// A share of references, and what it could be if the references that are left open were decided.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct BoundedShare {
    /// Among the references that were decided; `None` without any.
    pub share: Option<f64>,
    /// Over all references, if none of the open ones counted.
    pub low: f64,
    /// Over all references, if all of the open ones counted.
    pub high: f64,
}

impl WorkCounts {
    /// The counts over the references of one answer.
    pub fn of<'a>(works: impl IntoIterator<Item = &'a CitedWork>) -> Self {
        let mut counts = Self::default();
        for work in works {
            counts.add(work);
        }
        counts.answers = 1;
        counts.answers_without_references = u64::from(counts.references == 0);
        counts
    }

    fn add(&mut self, work: &CitedWork) {
        let checked = &work.checked;
        self.references += 1;
        match checked.state {
            WorkState::Exists => self.exists += 1,
            WorkState::Differs => self.differs += 1,
            WorkState::NotInIndex => self.not_found += 1,
            state => {
                self.open += 1;
                self.not_looked_up += u64::from(state == WorkState::Unchecked);
            }
        }
        *self.kind_of(&work.reference) += 1;
        match &checked.retraction {
            RetractionStatus::Unknown => self.retraction_unknown += 1,
            RetractionStatus::NoNotice => {}
            RetractionStatus::Notice(notice) if notice.is_possible => self.retraction_unknown += 1,
            RetractionStatus::Notice(notice) => {
                self.retracted += u64::from(notice.status == RetractionKind::Retracted);
            }
        }
    }

    /// The count of the references with such an identifier.
    fn kind_of(&mut self, reference: &Reference) -> &mut u64 {
        let mut identifiers = reference.identifiers();
        let first = identifiers.find(|identifier| !identifier.is_derived);
        let text = reference.text.as_deref().unwrap_or_default();
        match first.map(|identifier| identifier.scheme) {
            Some(IdentifierScheme::Doi) => &mut self.with_doi,
            Some(IdentifierScheme::Arxiv) => &mut self.with_arxiv,
            Some(IdentifierScheme::Pmid | IdentifierScheme::Pmcid) => &mut self.with_pubmed,
            Some(_) => &mut self.with_other_id,
            None if reference.kind == ReferenceKind::Web || !addresses_in(text).is_empty() => {
                &mut self.web_pages
            }
            None => &mut self.without_identifier,
        }
    }

    /// References of which a work was found.
    pub fn found(&self) -> u64 {
        self.exists + self.differs
    }

    /// References that were decided: found or not found.
    pub fn checked(&self) -> u64 {
        self.found() + self.not_found
    }

    /// The share that was found; `None` without references.
    pub fn found_share(&self) -> Option<BoundedShare> {
        self.share(self.found(), self.open)
    }

    /// The share that was found and differs.
    pub fn differing_share(&self) -> Option<BoundedShare> {
        self.share(self.differs, self.open)
    }

    /// The share that was not found.
    pub fn not_found_share(&self) -> Option<BoundedShare> {
        self.share(self.not_found, self.open)
    }

    /// The share that is retracted, among those whose status is known.
    pub fn retracted_share(&self) -> Option<BoundedShare> {
        self.share(self.retracted, self.retraction_unknown)
    }

    fn share(&self, part: u64, open: u64) -> Option<BoundedShare> {
        if self.references == 0 {
            return None;
        }
        let all = self.references as f64;
        let decided = self.references - open;
        Some(BoundedShare {
            share: (decided > 0).then(|| part as f64 / decided as f64),
            low: part as f64 / all,
            high: (part + open) as f64 / all,
        })
    }

    /// The counts of both together.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            references: self.references + other.references,
            exists: self.exists + other.exists,
            differs: self.differs + other.differs,
            not_found: self.not_found + other.not_found,
            open: self.open + other.open,
            retracted: self.retracted + other.retracted,
            retraction_unknown: self.retraction_unknown + other.retraction_unknown,
            not_looked_up: self.not_looked_up + other.not_looked_up,
            with_doi: self.with_doi + other.with_doi,
            with_arxiv: self.with_arxiv + other.with_arxiv,
            with_pubmed: self.with_pubmed + other.with_pubmed,
            with_other_id: self.with_other_id + other.with_other_id,
            web_pages: self.web_pages + other.web_pages,
            without_identifier: self.without_identifier + other.without_identifier,
            answers: self.answers + other.answers,
            answers_without_references: self.answers_without_references
                + other.answers_without_references,
        }
    }

    /// `8 of 10 references were found; 2 differ; 1 is retracted`.
    ///
    /// Where there are no references, or nothing is known about retractions, the sentence says so: silence would pass for
    /// none.
    pub fn sentence(&self) -> String {
        if self.references == 0 {
            return "no references were found in the answers: nothing was looked up".to_owned();
        }
        let found = self.found();
        let verb = if found == 1 { "was" } else { "were" };
        let mut text = format!(
            "{} of {} references {verb} found; {}",
            grouped(found),
            grouped(self.references),
            agreeing(self.differs, "differs", "differ")
        );
        text.push_str("; ");
        text.push_str(&self.retractions_sentence());
        text
    }

    /// `7 references: 3 DOI, 1 web page, 3 without identifier; 4 cannot be looked up in these files; none in 2 of 5 answers`
    pub fn inventory(&self) -> String {
        let web_pages = if self.web_pages == 1 {
            "web page"
        } else {
            "web pages"
        };
        let mut kinds = Vec::new();
        for (count, name) in [
            (self.with_doi, "DOI"),
            (self.with_arxiv, "arXiv"),
            (self.with_pubmed, "PubMed"),
            (self.with_other_id, "other identifier"),
            (self.web_pages, web_pages),
            (self.without_identifier, "without identifier"),
        ] {
            if count > 0 {
                kinds.push(format!("{} {name}", grouped(count)));
            }
        }
        let mut text = agreeing(self.references, "reference", "references");
        if !kinds.is_empty() {
            text.push_str(": ");
            text.push_str(&kinds.join(", "));
        }
        if self.not_looked_up > 0 {
            let count = grouped(self.not_looked_up);
            text.push_str(&format!("; {count} cannot be looked up in these files"));
        }
        if self.answers_without_references > 0 {
            let without = grouped(self.answers_without_references);
            let answers = agreeing(self.answers, "answer", "answers");
            text.push_str(&format!("; none in {without} of {answers}"));
        }
        text
    }

    /// Whether nothing is known about the retraction of any reference.
    pub fn retractions_are_unknown(&self) -> bool {
        self.retraction_unknown == self.references
    }

    /// `1 is retracted (unknown for 2)`
    pub fn retractions_sentence(&self) -> String {
        if self.retractions_are_unknown() {
            return "whether any is retracted is unknown".to_owned();
        }
        let mut text = agreeing(self.retracted, "is retracted", "are retracted");
        if self.retraction_unknown > 0 {
            text.push_str(&format!(
                " (unknown for {})",
                grouped(self.retraction_unknown)
            ));
        }
        text
    }
}

/// `1 differs`, `2 differ`, `0 differ`.
fn agreeing(count: u64, singular: &str, plural: &str) -> String {
    format!(
        "{} {}",
        grouped(count),
        if count == 1 { singular } else { plural }
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{CheckedReference, Reference, Retraction, UncheckedReason};

    fn work(state: WorkState, retraction: RetractionStatus) -> CitedWork {
        let mut checked = CheckedReference::unchecked(UncheckedReason::NoTitle);
        checked.state = state;
        checked.retraction = retraction;
        CitedWork {
            reference: Reference::new("k", "p"),
            checked,
        }
    }

    #[test]
    fn shares_are_over_decided_references_and_bounds_over_all() {
        use WorkState::*;
        let none = || RetractionStatus::NoNotice;
        let mut retracted = Retraction::new(RetractionKind::Retracted, "s");
        let mut works = vec![
            work(Exists, none()),
            work(Exists, RetractionStatus::Notice(retracted.clone())),
            work(Differs, RetractionStatus::Unknown),
            work(NotInIndex, none()),
            work(Unchecked, none()),
        ];
        let counts = WorkCounts::of(&works);
        // 3 of 4 decided ones; 3/5 .. 4/5 over all.
        let share = counts.found_share().unwrap();
        assert_eq!((share.share, share.low, share.high), (Some(0.75), 0.6, 0.8));
        let retractions = counts.retracted_share().unwrap();
        assert_eq!(
            (retractions.share, retractions.low, retractions.high),
            (Some(0.25), 0.2, 0.4)
        );
        assert_eq!(
            counts.sentence(),
            "3 of 5 references were found; 1 differs; 1 is retracted (unknown for 1)"
        );
        // A retraction by title only, and one that was taken back, do not count.
        retracted.is_possible = true;
        works[1].checked.retraction = RetractionStatus::Notice(retracted);
        let back = Retraction::new(RetractionKind::Reinstated, "s");
        works[3].checked.retraction = RetractionStatus::Notice(back);
        assert_eq!(WorkCounts::of(&works).retracted, 0);
        assert_eq!(WorkCounts::of(&works).retraction_unknown, 2);
    }

    #[test]
    fn references_are_counted_by_their_identifiers() {
        let cited = |state: WorkState, text: &str| {
            let mut work = work(state, RetractionStatus::Unknown);
            work.reference.text = Some(text.to_owned());
            work.reference.take_identifiers(text);
            work
        };
        let works = [
            cited(WorkState::Exists, "10.1000/x, arXiv:2101.00001"),
            cited(WorkState::Exists, "arXiv:2101.00001"),
            cited(WorkState::NotInIndex, "PMC7"),
            cited(WorkState::Unchecked, "https://aclanthology.org/P19-1001"),
            cited(WorkState::Unchecked, "Ice: https://a.org/x"),
            cited(WorkState::Ambiguous, "Snow"),
        ];
        let counts = WorkCounts::of(&works).plus(WorkCounts::of(&[]));
        assert_eq!(
            counts.inventory(),
            "6 references: 1 DOI, 1 arXiv, 1 PubMed, 1 other identifier, 1 web page, 1 without identifier; \
             2 cannot be looked up in these files; none in 1 of 2 answers"
        );
    }

    #[test]
    fn nothing_known_about_retractions_is_not_none() {
        let works = [work(WorkState::Exists, RetractionStatus::Unknown)];
        let counts = WorkCounts::of(&works);
        assert_eq!(
            counts.sentence(),
            "1 of 1 references was found; 0 differ; whether any is retracted is unknown"
        );
        assert_eq!(counts.retracted_share().unwrap().share, None);
        assert_eq!(WorkCounts::default().found_share(), None);
        let none = WorkCounts::of(&[]);
        assert_eq!(none.inventory(), "0 references; none in 1 of 1 answer");
        assert_eq!(
            none.sentence(),
            "no references were found in the answers: nothing was looked up"
        );
        assert_eq!(
            none.retractions_sentence(),
            "whether any is retracted is unknown"
        );
    }
}
