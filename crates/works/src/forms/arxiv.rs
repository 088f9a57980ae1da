//! The metadata of arXiv, as Kaggle gives it: one paper a line.

use crate::names::name_of_parts;
use scholareval_core::domain::{Retraction, RetractionKind, WorkRecord, WorkSource};
use serde::Deserialize;

use super::lenient::{List, Text};
use super::{DumpForm, has_members, year_of};

pub(super) static ARXIV: DumpForm = DumpForm {
    name: "arXiv",
    layout: "the metadata of Kaggle as JSON lines",
    source: WorkSource::Arxiv,
    fits: |item| has_members(item, &["id", "authors_parsed"]),
    read: |json| serde_json::from_str::<ArxivPaper<'_>>(json).map(ArxivPaper::into_record),
};

/// How authors say in a comment that they withdrew a paper.
const WITHDRAWALS: &str = "has been withdrawn, is withdrawn, was withdrawn, paper withdrawn, submission withdrawn, \
    article withdrawn";

#[derive(Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct ArxivPaper<'a> {
    id: Text<'a>,
    title: Text<'a>,
    /// `[last, first, suffix]`.
    authors_parsed: List<List<Text<'a>>>,
    doi: Text<'a>,
    comments: Text<'a>,
    #[serde(rename = "journal-ref")]
    journal: Text<'a>,
    versions: List<ArxivVersion<'a>>,
    update_date: Text<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct ArxivVersion<'a> {
    /// `Mon, 2 Apr 2007 19:18:42 GMT`.
    created: Text<'a>,
}

impl ArxivPaper<'_> {
    fn into_record(self) -> WorkRecord {
        let mut record = WorkRecord::new(WorkSource::Arxiv);
        record.take_identifiers(&format!("arXiv:{}", self.id.0));
        record.id = self.id.0.into_owned();
        // Some papers name the DOIs of an article and its erratum: the first one is kept.
        record.take_identifiers(&self.doi.0);
        record.set_title(&self.title.0);
        for name in self.authors_parsed.0 {
            let mut parts = name.0.into_iter();
            let family = parts.next().unwrap_or_default();
            let given = parts.next().unwrap_or_default();
            record.authors.push(name_of_parts(&family.0, &given.0));
        }
        let created = self.versions.0.first().and_then(ArxivVersion::year);
        record.year = created.or_else(|| year_of(&self.update_date.0));
        record.venue = self.journal.some();
        record.is_preprint = true;
        if is_withdrawn(&self.comments.0) {
            let mut notice = Retraction::new(RetractionKind::Retracted, WorkSource::Arxiv.name());
            notice.notice = self.comments.some();
            record.retraction = Some(notice);
        }
        record
    }
}

impl ArxivVersion<'_> {
    fn year(&self) -> Option<i32> {
        self.created.0.split(' ').find_map(year_of)
    }
}

fn is_withdrawn(comments: &str) -> bool {
    if !comments.contains("ithdrawn") {
        return false;
    }
    let comments = comments.trim().to_lowercase();
    let mut withdrawals = WITHDRAWALS.split(", ");
    comments.starts_with("withdrawn") || withdrawals.any(|words| comments.contains(words))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_paper_is_read_with_its_withdrawal() {
        let json = r#"{"id":"0704.0001","submitter":"x","title":"Calculation of prompt\n  diphoton production",
            "authors_parsed":[["Balázs","C.",""],["Nadolsky","P. M.",""]],"doi":"10.1103/PhysRevD.76.013009 10.1/x",
            "comments":"This paper has been withdrawn by the author","journal-ref":null,"abstract":"..",
            "versions":[{"version":"v1","created":"Mon, 2 Apr 2007 19:18:42 GMT"}],"update_date":"2008-11-26"}"#;
        let record = (ARXIV.read)(json).unwrap();
        assert_eq!(record.title, "Calculation of prompt diphoton production");
        assert_eq!(
            (record.year, record.arxiv.as_deref()),
            (Some(2007), Some("0704.0001"))
        );
        assert_eq!(record.doi.as_deref(), Some("10.1103/physrevd.76.013009"));
        assert_eq!(record.retraction.unwrap().status, RetractionKind::Retracted);
        assert!(!is_withdrawn(
            "We correct the proof of a paper that others have withdrawn"
        ));
    }
}
