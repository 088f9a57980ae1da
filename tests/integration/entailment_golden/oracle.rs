//! One question after the other, as the reference asks: written apart from the scorer, for both modes.

use scholareval::domain::{
    CitedName, Mode, Prediction, Source, citations, cited_claims, without_citations_of,
};
use scholareval::scorer::entailment::{EntailmentScorer, Form};
use scholareval::text::citation_markers::{first_numbers, without_citations};
use scholareval::text::punkt::sentences;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

pub(crate) fn hex_sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

/// The golden file's stub: the first hexadecimal digit is one of 0 to 9.
pub(crate) fn stub(document: &str, claim: &str) -> bool {
    Sha256::digest([document.as_bytes(), &[0], claim.as_bytes()].concat())[0] >> 4 < 10
}

/// One call.
pub(crate) struct Asked {
    pub(crate) document: String,
    pub(crate) claim: String,
    pub(crate) holds: bool,
}

impl Asked {
    /// As it stands in the golden file.
    pub(crate) fn line(&self) -> Value {
        json!([
            hex_sha256(self.document.as_bytes()),
            self.claim,
            u8::from(self.holds)
        ])
    }
}

/// What came of one answer.
pub(crate) struct Walked {
    pub(crate) calls: Vec<Asked>,
    pub(crate) recall: f64,
    pub(crate) precision: f64,
    /// Whether a fault of the reference shows in it.
    pub(crate) on_a_fault: bool,
}

/// The texts of an answer with the numbers they cite.
fn texts(scorer: &EntailmentScorer, item: &Prediction, mode: Mode) -> Vec<(String, Vec<u64>)> {
    let theirs = |text: &str| {
        first_numbers(text)
            .iter()
            .map(|n| n.parse().unwrap_or(u64::MAX))
            .collect()
    };
    let output = item.output();
    let base = u8::from(scorer.index_base).into();
    match (scorer.form, mode == Mode::Compat) {
        (Form::Short, true) => vec![(
            format!("{} {}", item.input, without_citations(output)),
            theirs(&format!("{} {output}", item.input)),
        )],
        (Form::Short, false) => vec![(
            format!(
                "{} {}",
                item.input,
                without_citations_of(output, &citations(output, Some(item), base))
            ),
            each_once(item.cited_numbers(scorer.index_base, mode).into_iter()),
        )],
        (_, true) => sentences(output)
            .into_iter()
            .map(|range| &output[range])
            .filter(|text| text.chars().count() >= 50)
            .map(|text| (without_citations(text), theirs(text)))
            .collect(),
        (_, false) => cited_claims(output, Some(item), base)
            .into_iter()
            .filter(|claim| output[claim.range.clone()].chars().count() >= 50)
            .map(|claim| {
                let numbers = claim.names().filter_map(CitedName::number);
                let numbers = each_once(numbers);
                (claim.text, numbers)
            })
            .collect(),
    }
}

fn each_once(numbers: impl Iterator<Item = u64>) -> Vec<u64> {
    let mut kept: Vec<u64> = Vec::new();
    for number in numbers {
        if !kept.contains(&number) {
            kept.push(number);
        }
    }
    kept
}

fn document(source: &Source, mode: Mode) -> String {
    let text = source.text.clone().unwrap_or_else(|| {
        if mode == Mode::Compat {
            "nan".into()
        } else {
            String::new()
        }
    });
    source
        .title
        .as_ref()
        .map_or_else(|| text.clone(), |title| format!("Title: {title}\n{text}"))
}

pub(crate) fn walk(scorer: &EntailmentScorer, item: &Prediction) -> Walked {
    let compat = scorer.mode == Mode::Compat;
    let mut calls: Vec<Asked> = Vec::new();
    let mut ask = |numbers: &[u64], claim: &str| {
        let documents: Vec<_> = numbers
            .iter()
            .map(|n| document(&item.sources[*n as usize], scorer.mode))
            .collect();
        let document = documents.join("\n");
        let holds = stub(&document, claim);
        calls.push(Asked {
            document,
            claim: claim.to_owned(),
            holds,
        });
        holds
    };
    let [ours, theirs] = [Mode::Default, Mode::Compat].map(|mode| texts(scorer, item, mode));
    let mut on_a_fault = item.replaced_ctxs.is_some() || ours.is_empty() || ours != theirs;
    let texts = if compat { theirs } else { ours };
    let (mut supported, mut earned, mut counted) = (0, 0, 0);
    let mut last: Vec<u64> = Vec::new();
    for (claim, own) in &texts {
        let numbers = if own.is_empty() {
            last.clone()
        } else {
            own.clone()
        };
        let cut: Vec<u64> = numbers.iter().copied().take(scorer.at_most).collect();
        let outside = numbers
            .iter()
            .any(|number| *number >= item.sources.len() as u64);
        on_a_fault |= outside;
        on_a_fault |= cut.iter().any(|n| {
            item.sources
                .get(*n as usize)
                .is_some_and(|source| source.text.is_none())
        });
        counted += if outside && compat { 0 } else { cut.len() };
        if numbers.is_empty() || outside {
            continue;
        }
        last = numbers;
        if !ask(&cut, claim) {
            continue;
        }
        supported += 1;
        for (at, number) in cut.iter().enumerate() {
            let mut others = cut.clone();
            others.remove(cut.iter().position(|other| other == number).unwrap_or(at));
            let needed = cut.len() == 1 || ask(&[*number], claim) || !ask(&others, claim);
            earned += usize::from(needed);
        }
    }
    let share = |part: usize, whole: usize| {
        if whole == 0 {
            0.0
        } else {
            part as f64 / whole as f64
        }
    };
    Walked {
        recall: share(supported, texts.len()),
        precision: share(earned, counted),
        calls,
        on_a_fault,
    }
}
