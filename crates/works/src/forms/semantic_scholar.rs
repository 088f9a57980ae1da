//! Semantic Scholar: the datasets `papers` and `s2orc` as JSON lines.

use crate::names::parse_name;
use scholareval_core::domain::{WorkRecord, WorkSource};
use serde::Deserialize;
use serde_json::Value;

use super::lenient::{List, Text};
use super::{DumpForm, has_members, year_of};

pub(super) static SEMANTIC_SCHOLAR: DumpForm = DumpForm {
    name: "Semantic Scholar",
    layout: "papers or S2ORC as JSON lines",
    source: WorkSource::SemanticScholar,
    fits: |item| has_members(item, &["corpusid"]),
    read: |json| serde_json::from_str::<ScholarPaper<'_>>(json).map(ScholarPaper::into_record),
};

#[derive(Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct ScholarPaper<'a> {
    corpusid: Text<'a>,
    externalids: Option<ScholarIds<'a>>,
    title: Text<'a>,
    authors: List<ScholarAuthor<'a>>,
    year: Text<'a>,
    venue: Text<'a>,
    #[serde(borrow, default)]
    url: Text<'a>,
    /// Of S2ORC: the full text, with the places of title and authors.
    content: Option<ScholarContent<'a>>,
}

/// `papers` has `DOI`, S2ORC has `doi`.
#[derive(Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct ScholarIds<'a> {
    #[serde(rename = "DOI", alias = "doi")]
    doi: Text<'a>,
    #[serde(rename = "ArXiv", alias = "arxiv")]
    arxiv: Text<'a>,
    #[serde(rename = "PubMed", alias = "pubmed")]
    pubmed: Text<'a>,
    #[serde(borrow, rename = "PubMedCentral", alias = "pmc", default)]
    pubmed_central: Text<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct ScholarAuthor<'a> {
    name: Text<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct ScholarContent<'a> {
    text: Text<'a>,
    annotations: Option<ScholarAnnotations<'a>>,
}

/// Lists of `{"start": .., "end": ..}` as JSON in a text.
#[derive(Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct ScholarAnnotations<'a> {
    title: Text<'a>,
    author: Text<'a>,
}

impl ScholarPaper<'_> {
    fn into_record(self) -> WorkRecord {
        let mut record = WorkRecord::new(WorkSource::SemanticScholar);
        record.id = self.corpusid.0.into_owned();
        if let Some(ids) = &self.externalids {
            record.take_identifiers(&ids.doi.0);
            if !ids.arxiv.is_empty() {
                record.take_identifiers(&format!("arXiv:{}", ids.arxiv.0));
            }
            for (label, id) in [("PMID: ", &ids.pubmed), ("PMCID: ", &ids.pubmed_central)] {
                if !id.is_empty() {
                    record.take_identifiers(&format!("{label}{}", id.0));
                }
            }
        }
        record.take_identifiers(&self.url.0);
        record.set_title(&self.title.0);
        for author in self.authors.0 {
            record.authors.push(parse_name(&author.name.0));
        }
        record.year = year_of(&self.year.0);
        record.is_preprint =
            record.arxiv.is_some() && (record.doi.is_none() || self.venue.0 == "arXiv.org");
        record.venue = self.venue.some();
        if let Some(content) = self.content
            && record.title.is_empty()
        {
            content.complete(&mut record);
        }
        record
    }
}

impl ScholarContent<'_> {
    /// Takes title and authors out of the full text.
    fn complete(&self, record: &mut WorkRecord) {
        let Some(annotations) = &self.annotations else {
            return;
        };
        if let Some(title) = self.annotated(&annotations.title.0).first() {
            record.set_title(title);
        }
        if record.authors.is_empty() {
            let authors = self.annotated(&annotations.author.0);
            record.authors = authors.iter().map(|name| parse_name(name)).collect();
        }
    }

    /// The texts at the places of a list. Places count characters.
    fn annotated(&self, list: &str) -> Vec<String> {
        let places: Vec<Value> = serde_json::from_str(list).unwrap_or_default();
        let mut texts = Vec::new();
        for place in places.iter().take(100) {
            let number = |name: &str| {
                let value = &place[name];
                let number = value.as_u64().or_else(|| value.as_str()?.parse().ok());
                number.and_then(|number| usize::try_from(number).ok())
            };
            if let (Some(start), Some(end)) = (number("start"), number("end")) {
                let length = end.saturating_sub(start);
                texts.push(self.text.0.chars().skip(start).take(length).collect());
            }
        }
        texts
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::names::name_of_parts;

    #[test]
    fn papers_and_s2orc_are_read() {
        let json = r#"{"corpusid":7,"externalids":{"DOI":"10.1000/A","ArXiv":"1706.03762","PubMed":"99","MAG":null},
            "title":"Attention","authors":[{"authorId":"1","name":"A. Vaswani"}],"year":2017,"venue":"NIPS","url":"x"}"#;
        let record = (SEMANTIC_SCHOLAR.read)(json).unwrap();
        assert_eq!((record.id.as_str(), record.year), ("7", Some(2017)));
        assert_eq!(record.arxiv.as_deref(), Some("1706.03762"));
        assert_eq!(record.pmid.as_deref(), Some("99"));
        assert_eq!(record.authors, [name_of_parts("Vaswani", "A.")]);
        assert!(!record.is_preprint);
        let json = r#"{"corpusid":8,"externalids":{"doi":"10.1000/b","arxiv":null},"content":{"text":"é A title\nAnn Lee\n..",
            "annotations":{"title":"[{\"start\":2,\"end\":9}]","author":"[{\"start\":\"10\",\"end\":\"17\"}]"}}}"#;
        let record = (SEMANTIC_SCHOLAR.read)(json).unwrap();
        assert_eq!(record.title, "A title");
        assert_eq!(record.authors, [name_of_parts("Lee", "Ann")]);
        assert_eq!(record.doi.as_deref(), Some("10.1000/b"));
    }
}
