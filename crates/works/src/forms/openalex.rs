//! OpenAlex: works as JSON lines (`works/updated_date=*/*.gz`, or `data/jsonl/`).

use crate::names::parse_name;
use scholareval_core::domain::{Retraction, RetractionKind, WorkRecord, WorkSource};
use serde::Deserialize;

use super::lenient::{List, Text};
use super::{DumpForm, year_of};

pub(super) static OPENALEX: DumpForm = DumpForm {
    name: "OpenAlex",
    layout: "works as JSON lines",
    source: WorkSource::Openalex,
    fits: |item| {
        let id = item.get("id").and_then(serde_json::Value::as_str);
        id.is_some_and(|id| id.starts_with("https://openalex.org/W"))
    },
    read: |json| serde_json::from_str::<OpenalexWork<'_>>(json).map(OpenalexWork::into_record),
};

#[derive(Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct OpenalexWork<'a> {
    id: Text<'a>,
    doi: Text<'a>,
    display_name: Text<'a>,
    title: Text<'a>,
    publication_year: Text<'a>,
    #[serde(rename = "type")]
    kind: Text<'a>,
    authorships: List<OpenalexAuthorship<'a>>,
    ids: Option<OpenalexIds<'a>>,
    is_retracted: Text<'a>,
    primary_location: Option<OpenalexLocation<'a>>,
    locations: List<OpenalexLocation<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct OpenalexAuthorship<'a> {
    author: Option<OpenalexName<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct OpenalexName<'a> {
    display_name: Text<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct OpenalexIds<'a> {
    pmid: Text<'a>,
    #[serde(borrow, default)]
    pmcid: Text<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct OpenalexLocation<'a> {
    landing_page_url: Text<'a>,
    source: Option<OpenalexName<'a>>,
}

impl OpenalexWork<'_> {
    fn into_record(self) -> WorkRecord {
        let mut record = WorkRecord::new(WorkSource::Openalex);
        record.id = self
            .id
            .0
            .trim_start_matches("https://openalex.org/")
            .to_owned();
        record.take_identifiers(&self.doi.0);
        if let Some(ids) = &self.ids {
            record.take_identifiers(&ids.pmid.0);
            record.take_identifiers(&ids.pmcid.0);
        }
        // The preprint of an article is a location of it.
        for location in &self.locations.0 {
            if location.landing_page_url.0.contains("arxiv.org/") {
                record.take_identifiers(&location.landing_page_url.0);
            }
        }
        let title = if self.display_name.is_empty() {
            self.title
        } else {
            self.display_name
        };
        record.set_title(&title.0);
        for authorship in self.authorships.0 {
            if let Some(author) = authorship.author {
                record.authors.push(parse_name(&author.display_name.0));
            }
        }
        record.year = year_of(&self.publication_year.0);
        record.venue = self
            .primary_location
            .and_then(|location| location.source?.display_name.some());
        record.is_preprint =
            self.kind.0 == "preprint" || record.arxiv.is_some() && record.doi.is_none();
        if self.is_retracted.0 == "true" {
            let notice = Retraction::new(RetractionKind::Retracted, WorkSource::Openalex.name());
            record.retraction = Some(notice);
        }
        record
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::names::name_of_parts;

    #[test]
    fn a_work_is_read() {
        let json = r#"{"id":"https://openalex.org/W42","doi":"https://doi.org/10.1000/AbC","display_name":"A <i>title</i>",
            "publication_year":2020,"type":"article","is_retracted":true,
            "authorships":[{"author":{"id":"x","display_name":"Ann B. Lee"}},{"author":null}],
            "ids":{"openalex":"x","pmid":"https://pubmed.ncbi.nlm.nih.gov/123"},
            "primary_location":{"landing_page_url":"https://x.org","source":{"display_name":"Journal of X"}},
            "locations":[{"landing_page_url":"http://arxiv.org/abs/2001.00001v2","source":null}],
            "abstract_inverted_index":{"a":[1]}}"#;
        let record = (OPENALEX.read)(json).unwrap();
        assert_eq!(record.id, "W42");
        assert_eq!(record.doi.as_deref(), Some("10.1000/abc"));
        assert_eq!(record.arxiv.as_deref(), Some("2001.00001"));
        assert_eq!(record.pmid.as_deref(), Some("123"));
        assert_eq!(record.authors, [name_of_parts("Lee", "Ann B.")]);
        assert_eq!(record.venue.as_deref(), Some("Journal of X"));
        assert!(record.retraction.is_some() && !record.is_preprint);
    }

    #[test]
    fn what_is_null_is_empty() {
        let json = r#"{"id":"https://openalex.org/W1","doi":null,"display_name":null,"publication_year":null,
            "authorships":null,"ids":null,"primary_location":null,"locations":null,"is_retracted":null}"#;
        let record = (OPENALEX.read)(json).unwrap();
        assert!(record.title.is_empty() && record.year.is_none() && record.retraction.is_none());
    }
}
