//! The measurement of `docs/metrics.md`: HALLMARK's altered and invented references, and its valid ones as people write
//! them, with the valid entries as works. Runs where the shared data are.

use scholareval_core::domain::{
    CheckedReference, PersonName, Reference, ReferenceKind, WorkField, WorkRecord, WorkSource,
    WorkState,
};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use serde::Deserialize;

use super::keys::SoughtWork;
use super::markup::plain;
use super::names::parse_name;
use super::normalize::{main_title, title_key};
use super::wanted::{WantedWorks, counts_among};

#[derive(Deserialize)]
struct HallmarkEntry {
    bibtex_key: String,
    fields: HallmarkFields,
    label: String,
    hallucination_type: Option<String>,
}

#[derive(Deserialize)]
struct HallmarkFields {
    title: String,
    author: String,
    year: String,
    booktitle: Option<String>,
    journal: Option<String>,
    doi: Option<String>,
}

impl HallmarkEntry {
    fn authors(&self) -> Vec<&str> {
        self.fields.author.split(" and ").collect()
    }

    fn venue(&self) -> Option<String> {
        self.fields
            .booktitle
            .clone()
            .or_else(|| self.fields.journal.clone())
    }

    fn reference(&self) -> Reference {
        let mut reference = Reference::new(&self.bibtex_key, "dev.jsonl");
        reference.title = self.fields.title.clone();
        reference.authors = self.authors().into_iter().map(parse_name).collect();
        reference.year = self.fields.year.parse().ok();
        reference.venue = self.venue();
        reference.kind = ReferenceKind::Article;
        if let Some(doi) = &self.fields.doi {
            reference.take_identifiers(doi);
        }
        reference
    }
}

fn entries() -> Option<Vec<HallmarkEntry>> {
    let shared = std::env::var_os("SCHOLAREVAL_SHARED").map_or_else(
        || PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared")),
        PathBuf::from,
    );
    let Ok(text) = std::fs::read_to_string(shared.join("data/hallmark/dev.jsonl")) else {
        eprintln!("skipped: the data of HALLMARK are not there (SCHOLAREVAL_SHARED)");
        return None;
    };
    Some(
        text.lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect(),
    )
}

fn check(references: &[Reference], works: &[WorkRecord]) -> Vec<CheckedReference> {
    let cited: Vec<SoughtWork> = references.iter().map(SoughtWork::new).collect();
    let counts = counts_among(&cited);
    let wanted = WantedWorks::new(cited, &counts);
    for work in works {
        wanted.offer(work);
    }
    wanted.decide(&[WorkSource::Library])
}

fn works(entries: &[HallmarkEntry]) -> Vec<WorkRecord> {
    let valid = entries.iter().filter(|entry| entry.label == "VALID");
    valid
        .map(|entry| WorkRecord::from_reference(entry.reference()))
        .collect()
}

/// `exists 3, differs(title) 20, not_in_index 5`.
fn counted(checked: &[CheckedReference]) -> String {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for reference in checked {
        let mut name = reference.state.name().to_owned();
        let fields: Vec<&str> = reference
            .fields
            .iter()
            .map(|field| field.field.name())
            .collect();
        if !fields.is_empty() {
            name.push_str(&format!("({})", fields.join("+")));
        }
        *counts.entry(name).or_default() += 1;
    }
    let counts: Vec<String> = counts
        .iter()
        .map(|(name, count)| format!("{name} {count}"))
        .collect();
    counts.join(", ")
}

#[test]
fn altered_references_do_not_exist_and_differ_in_what_was_altered() {
    let Some(entries) = entries() else {
        return;
    };
    let works = works(&entries);
    let titles: BTreeSet<String> = works.iter().map(|work| title_key(&work.title)).collect();
    let mut by_kind: BTreeMap<&str, Vec<&HallmarkEntry>> = BTreeMap::new();
    for entry in &entries {
        by_kind
            .entry(entry.hallucination_type.as_deref().unwrap_or("valid"))
            .or_default()
            .push(entry);
    }
    for (kind, entries) in by_kind {
        let references: Vec<Reference> = entries.iter().map(|entry| entry.reference()).collect();
        let checked = check(&references, &works);
        println!("{kind} ({}): {}", entries.len(), counted(&checked));
        for (entry, result) in entries.iter().zip(&checked) {
            let title = &entry.fields.title;
            let has_original = titles.contains(&title_key(title));
            let differs_in = |field: WorkField| {
                result.state == WorkState::Differs
                    && result.fields.iter().any(|other| other.field == field)
            };
            match kind {
                // Two of these differ from their original in a hyphen, which is no other title.
                "near_miss_title" | "chimeric_title" | "plausible_fabrication" => {
                    assert!(
                        has_original || result.state != WorkState::Exists,
                        "{title}: {result:?}"
                    );
                }
                _ if !has_original => {
                    assert_ne!(result.state, WorkState::Exists, "{title}");
                }
                "placeholder_authors" | "swapped_authors" => {
                    assert!(differs_in(WorkField::Authors), "{title}: {result:?}");
                }
                "future_date" => assert!(differs_in(WorkField::Year), "{title}: {result:?}"),
                "fabricated_doi" => {
                    assert!(differs_in(WorkField::Identifier), "{title}: {result:?}")
                }
                // Two of these have another year, too.
                "wrong_venue" if differs_in(WorkField::Year) => {}
                "wrong_venue" | "nonexistent_venue" | "preprint_as_published" => {
                    assert_eq!(result.state, WorkState::Exists, "{title}: {result:?}");
                    let recorded = result
                        .record
                        .as_ref()
                        .and_then(|record| record.venue.as_ref());
                    let has_venues = recorded.is_some() && entry.venue().is_some();
                    assert_eq!(result.venue.is_some(), has_venues, "{title}: {result:?}");
                }
                "valid" => assert_eq!(result.state, WorkState::Exists, "{title}: {result:?}"),
                _ => {}
            }
        }
    }
}

/// A way of writing a reference.
type Style = fn(&HallmarkEntry) -> Reference;

fn initials(given: &str, point: &str) -> Vec<String> {
    given
        .split([' ', '-'])
        .filter_map(|word| word.chars().next())
        .map(|c| format!("{c}{point}"))
        .collect()
}

fn changed(entry: &HallmarkEntry, change: impl Fn(&mut Reference)) -> Reference {
    let mut reference = entry.reference();
    reference.doi = None;
    reference.arxiv = None;
    change(&mut reference);
    reference
}

fn with_authors(entry: &HallmarkEntry, write: impl Fn(&PersonName) -> String) -> Reference {
    changed(entry, |reference| {
        let names: Vec<String> = reference.authors.iter().map(&write).collect();
        reference.authors = names.iter().map(|name| parse_name(name)).collect();
    })
}

fn latex(text: &str) -> String {
    let accents = [
        ('é', "{\\'e}"),
        ('á', "\\'{a}"),
        ('í', "{\\'\\i}"),
        ('ó', "\\'o"),
        ('ü', "{\\\"u}"),
        ('ö', "\\\"{o}"),
        ('ä', "{\\\"a}"),
        ('ç', "\\c{c}"),
        ('ñ', "{\\~n}"),
        ('ß', "{\\ss}"),
        ('ø', "{\\o}"),
        ('è', "\\`e"),
        ('š', "{\\v{s}}"),
        ('č', "\\v{c}"),
        ('ł', "{\\l}"),
        ('&', "\\&"),
    ];
    let mut text = text.to_owned();
    for (letter, command) in accents {
        text = text.replace(letter, command);
    }
    text
}

fn apa(entry: &HallmarkEntry) -> String {
    let names: Vec<String> = entry
        .reference()
        .authors
        .iter()
        .map(|name| format!("{}, {}", name.family, initials(&name.given, ".").join(" ")))
        .collect();
    let venue = entry
        .venue()
        .map(|venue| format!(" {venue}."))
        .unwrap_or_default();
    let title = entry.fields.title.trim_end_matches('.');
    format!(
        "{} ({}). {title}.{venue}",
        names.join(", "),
        entry.fields.year
    )
}

fn ieee(entry: &HallmarkEntry) -> String {
    let names: Vec<String> = entry
        .reference()
        .authors
        .iter()
        .map(|name| format!("{} {}", initials(&name.given, ".").join(" "), name.family))
        .collect();
    let venue = entry
        .venue()
        .map(|venue| format!(" in Proc. {venue},"))
        .unwrap_or_default();
    format!(
        "[7] {}, “{},”{venue} {}, pp. 1–12.",
        names.join(", "),
        entry.fields.title,
        entry.fields.year
    )
}

fn vancouver(entry: &HallmarkEntry) -> String {
    let mut names: Vec<String> = entry
        .reference()
        .authors
        .iter()
        .map(|name| format!("{} {}", name.family, initials(&name.given, "").concat()))
        .collect();
    if names.len() > 6 {
        names.truncate(6);
        names.push("et al".to_owned());
    }
    let venue = entry
        .venue()
        .map(|venue| format!(" {venue}."))
        .unwrap_or_default();
    format!(
        "{}. {}.{venue} {}",
        names.join(", "),
        entry.fields.title.trim_end_matches('.'),
        entry.fields.year
    )
}

/// The ways in which people write a reference.
fn styles() -> [(&'static str, Style); 11] {
    [
        ("without DOI", |entry| changed(entry, |_| {})),
        ("initials", |entry| {
            with_authors(entry, |name| {
                format!("{} {}", initials(&name.given, ".").join(" "), name.family)
            })
        }),
        ("Last, First", |entry| {
            with_authors(entry, |name| format!("{}, {}", name.family, name.given))
        }),
        ("LaTeX accents", |entry| {
            changed(entry, |reference| {
                reference.title = latex(&reference.title);
                reference.authors = entry
                    .authors()
                    .into_iter()
                    .map(|name| parse_name(&latex(name)))
                    .collect();
            })
        }),
        ("upper case", |entry| {
            changed(entry, |reference| {
                reference.title = plain(&reference.title).to_uppercase()
            })
        }),
        ("without subtitle", |entry| {
            changed(entry, |reference| {
                if let Some(main) = main_title(&reference.title) {
                    reference.title = main;
                }
            })
        }),
        ("et al.", |entry| {
            changed(entry, |reference| {
                reference.authors.truncate(1);
                reference.has_more_authors = true;
            })
        }),
        ("title only", |entry| {
            changed(entry, |reference| {
                reference.authors.clear();
                reference.year = None;
            })
        }),
        ("text, APA", |entry| {
            Reference::of_text(&entry.bibtex_key, "", apa(entry))
        }),
        ("text, IEEE", |entry| {
            Reference::of_text(&entry.bibtex_key, "", ieee(entry))
        }),
        ("text, Vancouver", |entry| {
            Reference::of_text(&entry.bibtex_key, "", vancouver(entry))
        }),
    ]
}

#[test]
fn valid_references_exist_as_people_write_them() {
    let Some(entries) = entries() else {
        return;
    };
    let works = works(&entries);
    for (name, style) in styles() {
        let valid: Vec<&HallmarkEntry> = entries
            .iter()
            .filter(|entry| entry.label == "VALID")
            .collect();
        let references: Vec<Reference> = valid.iter().map(|entry| style(entry)).collect();
        let checked = check(&references, &works);
        println!("{name}: {}", counted(&checked));
        for (reference, result) in references.iter().zip(&checked) {
            if result.state != WorkState::Exists {
                let text = reference.text.as_deref().unwrap_or(&reference.title);
                println!("    {} {:?} {text}", result.state.name(), result.fields);
            }
        }
        let missed = checked
            .iter()
            .filter(|result| result.state != WorkState::Exists)
            .count();
        assert!(
            missed * 50 <= checked.len(),
            "{name}: {missed} of {}",
            checked.len()
        );
    }
}

/// An altered title in a free text is not found, and its authors do not make it so.
#[test]
fn altered_titles_in_free_text_do_not_exist() {
    let Some(entries) = entries() else {
        return;
    };
    let works = works(&entries);
    let titles: BTreeSet<String> = works.iter().map(|work| title_key(&work.title)).collect();
    let altered = ["near_miss_title", "chimeric_title", "plausible_fabrication"];
    let altered: Vec<&HallmarkEntry> = entries
        .iter()
        .filter(|entry| {
            entry
                .hallucination_type
                .as_deref()
                .is_some_and(|kind| altered.contains(&kind))
        })
        .filter(|entry| !titles.contains(&title_key(&entry.fields.title)))
        .collect();
    for (name, style) in [
        ("APA", apa as fn(&HallmarkEntry) -> String),
        ("IEEE", ieee),
        ("Vancouver", vancouver),
    ] {
        let references: Vec<Reference> = altered
            .iter()
            .map(|entry| {
                let doi = entry
                    .fields
                    .doi
                    .as_ref()
                    .map(|doi| format!(" doi:{doi}"))
                    .unwrap_or_default();
                Reference::of_text(&entry.bibtex_key, "", style(entry) + &doi)
            })
            .collect();
        let checked = check(&references, &works);
        println!("{name}: {}", counted(&checked));
        for (reference, result) in references.iter().zip(&checked) {
            assert_ne!(result.state, WorkState::Exists, "{reference:?} {result:?}");
        }
    }
}
