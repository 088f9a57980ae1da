//! Crossref: the public data file (a directory of `*.json.gz` with `{"items": []}`), or one work a line.

use crate::names::name_of_parts;
use scholareval_core::domain::{Retraction, RetractionKind, WorkRecord, WorkSource};
use serde::Deserialize;

use super::lenient::{List, Text};
use super::{DumpForm, has_members, year_of};

pub(super) static CROSSREF: DumpForm = DumpForm {
    name: "Crossref",
    layout: "works as JSON lines, or {\"items\": []}",
    source: WorkSource::Crossref,
    fits: |item| {
        has_members(item, &["DOI"]) && item.get("title").is_none_or(|title| !title.is_string())
    },
    read: |json| serde_json::from_str::<CrossrefWork<'_>>(json).map(CrossrefWork::into_record),
};

#[derive(Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct CrossrefWork<'a> {
    #[serde(rename = "DOI")]
    doi: Text<'a>,
    title: Text<'a>,
    subtitle: Text<'a>,
    author: List<CrossrefAuthor<'a>>,
    issued: Option<CrossrefDate<'a>>,
    #[serde(rename = "type")]
    kind: Text<'a>,
    #[serde(rename = "container-title")]
    venue: Text<'a>,
    #[serde(rename = "updated-by")]
    updates: List<CrossrefUpdate<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct CrossrefAuthor<'a> {
    given: Text<'a>,
    family: Text<'a>,
    /// Of a group.
    name: Text<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct CrossrefDate<'a> {
    #[serde(rename = "date-parts")]
    parts: List<List<Text<'a>>>,
}

/// A notice about the work. `update-to`, which is not read, marks the notice itself.
#[derive(Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct CrossrefUpdate<'a> {
    #[serde(rename = "DOI")]
    doi: Text<'a>,
    #[serde(rename = "type")]
    kind: Text<'a>,
    source: Text<'a>,
    updated: Option<CrossrefDate<'a>>,
}

impl CrossrefWork<'_> {
    fn into_record(self) -> WorkRecord {
        let mut record = WorkRecord::new(WorkSource::Crossref);
        record.take_identifiers(&self.doi.0);
        record.id = self.doi.0.to_lowercase();
        record.set_title(&self.title.0);
        record.subtitle = self.subtitle.some();
        for author in self.author.0 {
            let family = if author.family.is_empty() {
                author.name.0
            } else {
                author.family.0
            };
            record.authors.push(name_of_parts(&family, &author.given.0));
        }
        record.year = self.issued.as_ref().and_then(CrossrefDate::year);
        record.venue = self.venue.some();
        record.is_preprint = self.kind.0 == "posted-content";
        record.retraction = gravest(self.updates.0);
        record
    }
}

impl CrossrefDate<'_> {
    fn year(&self) -> Option<i32> {
        year_of(&self.parts.0.first()?.0.first()?.0)
    }

    /// `2021-05-14`, or the parts of it that are there.
    fn text(&self) -> Option<String> {
        let parts = &self.parts.0.first()?.0;
        let mut text = parts.first()?.0.to_string();
        for part in parts.iter().skip(1).take_while(|part| !part.is_empty()) {
            text.push_str(&format!("-{:0>2}", part.0));
        }
        (!text.is_empty()).then_some(text)
    }
}

/// The notice that decides about a work: the latest retraction or reinstatement, else a concern, else a correction.
fn gravest(updates: Vec<CrossrefUpdate<'_>>) -> Option<Retraction> {
    let mut latest: Option<((u8, String), Retraction)> = None;
    for update in updates {
        let (gravity, status) = match &*update.kind.0.to_lowercase() {
            "reinstatement" => (2, RetractionKind::Reinstated),
            "retraction" | "partial_retraction" | "withdrawal" | "removal" => {
                (2, RetractionKind::Retracted)
            }
            "expression_of_concern" => (1, RetractionKind::Concern),
            "correction" | "corrigendum" | "erratum" | "addendum" => (0, RetractionKind::Corrected),
            _ => continue,
        };
        let date = update.updated.as_ref().and_then(CrossrefDate::text);
        // `2019-01` is before `2019-01-14`; a notice without a date before all others.
        let order = (gravity, date.clone().unwrap_or_default());
        if latest.as_ref().is_some_and(|(other, _)| *other >= order) {
            continue;
        }
        let source = match &*update.source.0 {
            "retraction-watch" => "retraction_watch",
            _ => "crossref",
        };
        let mut notice = Retraction::new(status, source);
        notice.date = date;
        notice.notice = update.doi.some();
        latest = Some((order, notice));
    }
    latest.map(|(_, notice)| notice)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_work_is_read_with_its_notices() {
        let json = r#"{"DOI":"10.1000/ABC","title":["RETRACTED: Diet"],"subtitle":[],"type":"journal-article",
            "author":[{"given":"Ann","family":"Lee","sequence":"first"},{"name":"The Group"}],
            "issued":{"date-parts":[[2017,6,12]]},"container-title":["Journal of X"],"reference-count":3,
            "updated-by":[{"DOI":"10.1000/c","type":"correction","source":"publisher"},
                          {"DOI":"10.1000/r","type":"retraction","source":"retraction-watch","updated":{"date-parts":[[2019,1]]}}],
            "update-to":[{"DOI":"10.1000/old","type":"retraction"}]}"#;
        let record = (CROSSREF.read)(json).unwrap();
        assert_eq!(record.doi.as_deref(), Some("10.1000/abc"));
        assert_eq!((record.year, record.is_preprint), (Some(2017), false));
        assert_eq!(record.authors[1], name_of_parts("The Group", ""));
        let notice = record.retraction.unwrap();
        assert_eq!(notice.status, RetractionKind::Retracted);
        assert_eq!(notice.date.as_deref(), Some("2019-01"));
        assert_eq!(notice.source, "retraction_watch");
    }

    #[test]
    fn a_notice_is_not_a_retracted_work_and_gaps_are_no_faults() {
        let json = r#"{"DOI":"10.1000/n","title":[],"author":null,"issued":{"date-parts":[[null]]},
            "update-to":[{"DOI":"10.1000/old","type":"retraction"}],"type":"posted-content"}"#;
        let record = (CROSSREF.read)(json).unwrap();
        assert_eq!((record.year, &record.retraction), (None, &None));
        assert!(record.is_preprint && record.title.is_empty());
    }

    #[test]
    fn the_latest_retraction_or_reinstatement_decides() {
        let notice = |kind: &str, year: i32| {
            format!(r#"{{"type":"{kind}","updated":{{"date-parts":[[{year}]]}}}}"#)
        };
        let status = |notices: &[String]| {
            let notices = notices.join(",");
            let json = format!(r#"{{"DOI":"10.1000/q","updated-by":[{notices}]}}"#);
            (CROSSREF.read)(&json).unwrap().retraction.unwrap().status
        };
        let retracted = notice("retraction", 2012);
        let reinstated = notice("reinstatement", 2013);
        let again = notice("retraction", 2015);
        let corrected = notice("correction", 2016);
        let once = [retracted.clone(), reinstated.clone()];
        assert_eq!(status(&once), RetractionKind::Reinstated);
        let twice = [again, reinstated, retracted, corrected];
        assert_eq!(status(&twice), RetractionKind::Retracted);
    }
}
