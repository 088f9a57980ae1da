//! The references of answers as `lists.json` has them: markers, identifiers, addresses, and no state that accuses falsely.

use std::collections::HashMap;

use serde::Deserialize;

use super::references_of;
use crate::keys::SoughtWork;
use crate::names::parse_name;
use crate::wanted::WantedWorks;
use scholareval_core::domain::{
    Answer, CheckedReference, IndexBase, Reference, WorkRecord, WorkSource, WorkState,
};
use scholareval_core::text::identifiers::{IdentifierScheme, WorkIdentifier};

#[derive(Deserialize)]
struct GoldenRow {
    id: String,
    text: String,
    references: Vec<GoldenReference>,
}

#[derive(Deserialize)]
struct GoldenReference {
    marker: String,
    title: Option<String>,
    #[serde(default)]
    authors: Vec<String>,
    year: Option<i32>,
    doi: Option<String>,
    arxiv: Option<String>,
    s2: Option<String>,
    url: Option<String>,
}

impl GoldenReference {
    /// The work as a file of works has it, with what the list leaves out.
    fn record(&self) -> WorkRecord {
        let mut reference = Reference::new(self.marker.clone(), "");
        reference.title = self.title.clone().unwrap_or_default();
        // Nearly all rows cite these two works, each without some of its fields.
        let is_snow = self.doi.as_deref() == Some("10.4321/snow.2019.7");
        let (authors, year) = match (self.authors.is_empty(), is_snow) {
            (false, _) => (self.authors.clone(), self.year),
            (true, true) => (vec!["Berger".to_owned(), "Lin".to_owned()], Some(2019)),
            (true, false) => (vec!["Okafor".to_owned()], Some(2021)),
        };
        reference.authors = authors.iter().map(|name| parse_name(name)).collect();
        reference.year = year;
        reference.doi.clone_from(&self.doi);
        reference.arxiv.clone_from(&self.arxiv);
        let s2 = self.s2.iter();
        reference.other_ids = s2
            .map(|id| WorkIdentifier::new(IdentifierScheme::S2, id.as_str()))
            .collect();
        let mut record = WorkRecord::from_reference(reference);
        record.source = WorkSource::Openalex;
        record
    }

    /// What the reference does not have of this one.
    fn faults(&self, read: &Reference) -> Vec<String> {
        let s2 = read.other_ids.iter();
        let mut s2 = s2.filter(|id| id.scheme == IdentifierScheme::S2);
        let mut faults = Vec::new();
        let marker = read.key.trim_matches(['[', ']', '.']).to_owned();
        for (name, read, wanted) in [
            ("marker", Some(marker), Some(self.marker.clone())),
            ("doi", read.doi.clone(), self.doi.clone()),
            ("arxiv", read.arxiv.clone(), self.arxiv.clone()),
            ("s2", s2.next().map(|id| id.id.clone()), self.s2.clone()),
        ] {
            if read != wanted {
                faults.push(format!("{name} is {read:?}, not {wanted:?}"));
            }
        }
        let text = read.text.as_deref().unwrap_or_default();
        if let Some(url) = &self.url
            && !text.contains(url.as_str())
        {
            faults.push(format!("no {url} in {text:?}"));
        }
        faults
    }
}

fn faults_of(row: &GoldenRow) -> Vec<String> {
    let answer = Answer::new("s".into(), "c".into(), row.text.as_str());
    let read = references_of(&answer, IndexBase::One);
    if read.len() != row.references.len() {
        let texts: Vec<_> = read.iter().map(|reference| &reference.text).collect();
        let wanted = row.references.len();
        return vec![format!(
            "{} references, not {wanted}: {texts:?}",
            read.len()
        )];
    }
    let mut faults = Vec::new();
    for (read, wanted) in read.iter().zip(&row.references) {
        faults.extend(wanted.faults(read));
        let checked = checked_by(read, &[wanted.record()]);
        // Of a page without a title there is nothing to look up.
        let is_page = wanted.title.is_none() && wanted.url.is_some();
        if checked.state != WorkState::Exists && !is_page {
            let (state, fields) = (checked.state.name(), &checked.fields);
            faults.push(format!("{state} {fields:?}: {:?}", read.text));
        }
    }
    faults
}

fn checked_by(reference: &Reference, records: &[WorkRecord]) -> CheckedReference {
    let sought = vec![SoughtWork::new(reference)];
    let candidates = WantedWorks::new(sought, &HashMap::new());
    for record in records {
        candidates.offer(record);
    }
    candidates.decide(&[WorkSource::Openalex]).remove(0)
}

#[test]
fn references_are_those_of_the_golden_file() {
    let beside = || concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared").into();
    let shared =
        std::env::var_os("SCHOLAREVAL_SHARED").map_or_else(beside, std::path::PathBuf::from);
    let path = shared.join("golden/lists.json");
    let Ok(json) = std::fs::read_to_string(&path) else {
        eprintln!(
            "skipped: {} is not there; set SCHOLAREVAL_SHARED",
            path.display()
        );
        return;
    };
    let rows: Vec<GoldenRow> = serde_json::from_str(&json).unwrap();
    let mut wrong = Vec::new();
    for row in &rows {
        let faults = faults_of(row);
        if !faults.is_empty() {
            wrong.push(format!("{}: {}", row.id, faults.join("; ")));
        }
    }
    assert!(
        wrong.is_empty(),
        "{} of {}:\n{}",
        wrong.len(),
        rows.len(),
        wrong.join("\n")
    );
}

/// Files of works with the two works that the lists below cite.
fn two_works() -> [WorkRecord; 2] {
    let work = |title: &str, author: &str, year, doi: &str, arxiv: &str| {
        let mut reference = Reference::new("k", "");
        reference.title = title.to_owned();
        reference.authors = vec![parse_name(author)];
        reference.year = Some(year);
        reference.doi = Some(doi.to_owned()).filter(|doi| !doi.is_empty());
        reference.arxiv = Some(arxiv.to_owned()).filter(|arxiv| !arxiv.is_empty());
        let mut record = WorkRecord::from_reference(reference);
        record.source = WorkSource::SemanticScholar;
        record.id = "24681012".to_owned();
        record
    };
    [
        work(
            "Moss keeps city walls cool in summer",
            "Ida Holm",
            2018,
            "10.4321/moss.2018.3",
            "",
        ),
        work(
            "Rivers carry more sand after forest fires",
            "Paul Reyes",
            2020,
            "",
            "2006.05678",
        ),
    ]
}

const MOSS: &str = "Moss keeps city walls cool in summer";
const RIVERS: &str = "Rivers carry more sand after forest fires";

/// Entries as systems write them: with sites, formats and days of access, each of one work.
#[test]
fn nothing_around_a_title_makes_it_differ() {
    let entries = [
        format!("1. {MOSS}: https://doi.org/10.4321/moss.2018.3"),
        format!("1. {MOSS}. https://doi.org/10.4321/moss.2018.3"),
        format!("1. [{MOSS}](https://doi.org/10.4321/moss.2018.3)"),
        format!("- [{MOSS} - ScienceDirect](https://doi.org/10.4321/moss.2018.3)"),
        format!(
            "[1] https://doi.org/10.4321/moss.2018.3 - {MOSS} | Wall Science | Springer Nature"
        ),
        format!("[1] Frontiers | {MOSS}: https://doi.org/10.4321/moss.2018.3"),
        format!("[1] {MOSS} | Frontiers: https://doi.org/10.4321/moss.2018.3"),
        format!("[1] Full article: {MOSS} https://doi.org/10.4321/moss.2018.3"),
        format!(
            "[1] (PDF) {MOSS} - ResearchGate, accessed May 5, 2024, https://doi.org/10.4321/moss.2018.3"
        ),
        format!(
            "1. {MOSS} - Wall Science, Accessed: 2024-05-01. https://doi.org/10.4321/moss.2018.3"
        ),
        format!(
            "1. \"{MOSS}.\" Wall Science. Springer. Retrieved June 2023, from https://doi.org/10.4321/moss.2018.3"
        ),
        format!("1. {MOSS}. Wall Science. ScienceDirect. https://doi.org/10.4321/moss.2018.3"),
        format!("[1] {MOSS} · Wall Science · PubMed: https://doi.org/10.4321/moss.2018.3"),
        format!("[1] 访问日期：2024年5月1日. {MOSS}. https://doi.org/10.4321/moss.2018.3"),
        "1. [https://doi.org/10.4321/moss.2018.3](https://doi.org/10.4321/moss.2018.3)".to_owned(),
        "1. ScienceDirect: https://doi.org/10.4321/moss.2018.3".to_owned(),
        format!("[^1]: Holm, I. (2018). {MOSS}. Wall Science."),
        format!("(1) Holm I. {MOSS}[J]. Wall Science, 2018, 4(2): 11-19."),
        format!(
            "1) Holm, Ida. \"{MOSS}.\" Wall Science 4.2 (2018): 11-19. Web. Accessed 5 May 2024."
        ),
        format!("【1】Holm I. {MOSS}. Wall Sci. 2018;4(2):11-9."),
        format!("<li>Holm, I. (2018). {MOSS}. Wall Science.</li>"),
        format!("1. [(1, Holm et al., 2018) | n_citations: 1999 | {MOSS} ]:"),
        format!("* **{MOSS}** (Holm, 2018)"),
        format!("| 1 | {MOSS} | Holm, 2018 | https://doi.org/10.4321/moss.2018.3 |"),
        "- [24681012 | Holm et al. | 2018 | Citations: 1999]".to_owned(),
        format!("[1] [2006.05678] {RIVERS}: https://arxiv.org/abs/2006.05678"),
        format!("[1] {RIVERS} - arXiv: https://arxiv.org/pdf/2006.05678v2"),
        format!("1. Reyes, P. (2020). {RIVERS}. arXiv: https://arxiv.org/abs/2006.05678"),
    ];
    for entry in entries {
        let text = format!("Walls warm in the sun.\n\n## References\n\n{entry}\n");
        let answer = Answer::new("s".into(), "c".into(), text.as_str());
        let read = references_of(&answer, IndexBase::One);
        assert_eq!(read.len(), 1, "{entry}");
        let checked = checked_by(&read[0], &two_works());
        assert_eq!(
            checked.state,
            WorkState::Exists,
            "{entry}: {:?}",
            checked.fields
        );
    }
}

#[test]
fn what_contradicts_still_differs() {
    for (entry, field) in [
        (
            format!("Roe, K. (2018). {MOSS}. https://doi.org/10.4321/moss.2018.3"),
            "authors",
        ),
        (
            format!("Holm, I. (2003). {MOSS}. Wall Science, 4(2)."),
            "year",
        ),
        (
            format!("{MOSS}, 2003: https://doi.org/10.4321/moss.2018.3"),
            "year",
        ),
        (
            format!("{MOSS} - K. Roe et al.: https://doi.org/10.4321/moss.2018.3"),
            "authors",
        ),
        (
            format!("[(1, Roe et al., 2018) | n_citations: 5 | {MOSS} ]:"),
            "authors",
        ),
    ] {
        let checked = checked_by(&Reference::of_text("1", "c", entry.as_str()), &two_works());
        let fields = checked.fields.iter().map(|field| field.field.name());
        assert_eq!(fields.collect::<Vec<_>>().join(" "), field, "{entry}");
    }
}
