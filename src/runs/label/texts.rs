//! An answer as raters read it: question, text, citations and sources, and nothing that says whose it is.

use std::collections::BTreeSet;

use crate::domain::{
    Answer, BlindAnswer, BlindCitation, BlindSource, Item, Prediction, Report, citations,
};

/// The answer of an item whose text has been read; `base` is the number of the first source. Sources have their text if they are
/// cited or in `needed`: the others would only make the page larger.
pub(super) fn blind_answer(item: &Item, base: u64, needed: &BTreeSet<usize>) -> BlindAnswer {
    let answer = &item.answer;
    let mut sources = sources(answer);
    let mut citations = resolved_citations(answer, base);
    if let Some(report) = answer.report.as_deref().filter(|_| sources.is_empty()) {
        let ids = add_sources_of_report(report, &mut sources);
        for citation in &mut citations {
            let marker = answer.answer_text.get(citation.start..citation.end);
            let place = ids.iter().position(|id| Some(*id) == marker);
            citation.sources.extend(place);
        }
    }
    let mut with_text = needed.clone();
    with_text.extend(citations.iter().flat_map(|citation| &citation.sources));
    for (place, source) in sources.iter_mut().enumerate() {
        if !with_text.contains(&place) {
            source.text = None;
        }
    }
    BlindAnswer {
        question: question(item).to_owned(),
        text: answer.answer_text.to_string(),
        own_bytes: answer
            .own_bytes
            .filter(|bytes| *bytes < answer.answer_text.len()),
        citations,
        sources,
    }
}

/// The question as a judge reads it.
fn question(item: &Item) -> &str {
    let case = &item.case;
    let questions = [
        &*case.rubric.question,
        &case.initial_prompt,
        item.answer.question(),
    ];
    let mut filled = questions.into_iter().filter(|text| !text.trim().is_empty());
    filled.next().unwrap_or_default()
}

fn sources(answer: &Answer) -> Vec<BlindSource> {
    let prediction: Option<&Prediction> = answer.prediction.as_deref();
    let mut sources = Vec::new();
    for source in prediction.map_or(&[][..], |prediction| &prediction.sources) {
        sources.push(BlindSource {
            title: source.title.clone(),
            text: source.text.clone(),
        });
    }
    sources
}

fn resolved_citations(answer: &Answer, base: u64) -> Vec<BlindCitation> {
    let mut all = Vec::new();
    for citation in citations(answer.own_text(), answer.prediction.as_deref(), base) {
        all.push(BlindCitation {
            start: citation.place.range.start,
            end: citation.place.range.end,
            sources: citation.sources,
            dangling: citation.dangling,
        });
    }
    all
}

/// Adds what a report says of its citations, each once, and gives their markers in the same order.
fn add_sources_of_report<'a>(report: &'a Report, sources: &mut Vec<BlindSource>) -> Vec<&'a str> {
    let mut ids: Vec<&str> = Vec::new();
    for citation in report.groups.iter().flat_map(|group| &group.citations) {
        if ids.contains(&citation.id.as_str()) {
            continue;
        }
        ids.push(&citation.id);
        sources.push(BlindSource {
            title: Some(citation.id.clone()),
            text: Some(citation.shown.text("").into_owned()),
        });
    }
    ids
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::domain::{CitationGroup, ShownCitation, ShownText, Source, TestCase};

    fn item(text: &str) -> Item {
        let case = Arc::new(TestCase::without_rubric("c".into(), "why?"));
        let answer = Answer::new("s".into(), "c".into(), text);
        Item::new(case, answer)
    }

    #[test]
    fn only_sources_that_are_cited_or_needed_have_their_text() {
        let mut item = item("It rains [1].");
        let source = |name: &str| Source {
            title: Some(name.to_owned()),
            text: Some(format!("text of {name}")),
            ..Source::default()
        };
        item.answer.prediction = Some(Arc::new(Prediction {
            sources: ["a", "b", "c"].map(source).to_vec(),
            ..Prediction::default()
        }));
        let shown = blind_answer(&item, 0, &BTreeSet::from([2]));
        let texts: Vec<bool> = shown
            .sources
            .iter()
            .map(|source| source.text.is_some())
            .collect();
        assert_eq!(texts, [false, true, true]);
        assert_eq!(shown.citations[0].sources, [1]);
        assert_eq!(shown.question, "why?");
    }

    #[test]
    fn a_citation_of_a_report_leads_to_its_quotes() {
        let mut item = item("It rains [1].");
        item.answer.report = Some(Arc::new(Report {
            groups: vec![CitationGroup {
                text: String::new(),
                citations: vec![ShownCitation {
                    id: "[1]".to_owned(),
                    shown: ShownText::Quotes("rain fell".to_owned()),
                }],
            }],
            fault: None,
        }));
        let shown = blind_answer(&item, 0, &BTreeSet::new());
        assert_eq!(shown.citations[0].sources, [0]);
        assert_eq!(shown.sources[0].text.as_deref(), Some("rain fell"));
    }
}
