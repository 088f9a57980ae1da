//! Retraction Watch: the CSV file that Crossref publishes.

use scholareval_core::domain::{Retraction, RetractionKind};

use super::cells::{date_of, dois_of, pmids_of};
use super::{RetractionList, RetractionRow};

pub(super) static RETRACTION_WATCH: RetractionList = RetractionList {
    name: "Retraction Watch",
    columns: &[
        "Title",
        "RetractionDate",
        "RetractionDOI",
        "RetractionPubMedID",
        "OriginalPaperDOI",
        "OriginalPaperPubMedID",
        "RetractionNature",
    ],
    read,
};

fn read(cells: &[String]) -> Result<RetractionRow, String> {
    let [
        title,
        date,
        notice_dois,
        notice_pmids,
        work_dois,
        work_pmids,
        nature,
    ] = cells
    else {
        return Err("not a row of Retraction Watch".to_owned());
    };
    let status = kind_of(nature)
        .ok_or_else(|| format!("RetractionNature is {nature:?}, not a kind of notice"))?;
    let mut works = dois_of(work_dois);
    works.extend(pmids_of(work_pmids));
    let mut notice = Retraction::new(status, "retraction_watch");
    notice.date = date_of(date);
    let mut named = dois_of(notice_dois);
    named.extend(pmids_of(notice_pmids));
    notice.notice = named.into_iter().next();
    Ok(RetractionRow {
        title: title.clone(),
        works,
        notice,
    })
}

fn kind_of(nature: &str) -> Option<RetractionKind> {
    match nature.to_ascii_lowercase().as_str() {
        "retraction" => Some(RetractionKind::Retracted),
        "expression of concern" => Some(RetractionKind::Concern),
        "correction" => Some(RetractionKind::Corrected),
        "reinstatement" => Some(RetractionKind::Reinstated),
        _ => None,
    }
}
