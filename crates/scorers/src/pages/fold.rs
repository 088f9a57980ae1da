//! The score of an answer from its pairs of statements and pages.

use super::cited::AskedPage;
use super::passage::PageWords;
use super::support::pair_verdict;
use super::{PAGES, PageScorer};
use crate::Verdicts;
use scholareval_core::domain::{
    CitedPage, Component, ComponentKind, JudgedStatement, Mode, Score, SupportCounts, SupportState,
    UnscoredReason,
};

/// The share of the judged pairs that are supported; of a system over all its pairs.
pub const ACCURACY: &str = "citation_accuracy";
/// The mean of the accuracy of each answer.
pub const ACCURACY_MACRO: &str = "citation_accuracy_macro";
/// Supported pairs.
pub const EFFECTIVE: &str = "effective_citations";
/// Pairs.
pub(super) const CITATIONS: &str = "citations";
/// The share of the pairs that are open.
const UNVERIFIED: &str = "unverified";

/// Descriptions of the components.
const ACCURACY_TEXT: &str = "supported / (supported + unsupported)";
const EFFECTIVE_TEXT: &str = "statements that a cited page supports";
const CITATIONS_TEXT: &str = "pairs of a statement and a cited page";
const UNVERIFIED_TEXT: &str = "pairs that nobody can judge / all pairs";

/// The score of an answer without a usable list of statements, or with pairs that were not asked.
pub(super) fn unscored(scorer: &PageScorer, reason: &UnscoredReason) -> Score {
    let components = [
        share(ACCURACY, ACCURACY_TEXT),
        count(EFFECTIVE, EFFECTIVE_TEXT),
        count(CITATIONS, CITATIONS_TEXT),
        share(UNVERIFIED, UNVERIFIED_TEXT),
    ];
    Score {
        scorer: PAGES.score_id(scorer.is_baseline),
        components: components
            .into_iter()
            .map(|component| component.with(Err(reason.clone())))
            .collect(),
        ..Score::default()
    }
}

/// The score of an answer that cites these pages, once a judge has said all it can.
pub(super) fn score(scorer: &PageScorer, pages: Vec<AskedPage>, verdicts: &Verdicts) -> Score {
    let mut judged = Vec::with_capacity(pages.len());
    for (number, page) in (1..).zip(pages) {
        match judged_page(number, page, verdicts) {
            Ok(page) => judged.push(page),
            Err(reason) => return unscored(scorer, &reason),
        }
    }
    score_of_pages(scorer.is_baseline, Mode::Default, judged)
}

/// The score of an answer whose pages have these verdicts. In compat mode only judged pairs are citations.
pub(super) fn score_of_pages(is_baseline: bool, mode: Mode, judged: Vec<CitedPage>) -> Score {
    let counts = SupportCounts::of(&judged);
    let accuracy = ratio(counts.supported, counts.judged());
    let mut components = Vec::new();
    // Without a judged pair there is no accuracy: an answer without citations is neither right nor wrong in them.
    components.extend(accuracy.map(|accuracy| with(share(ACCURACY, ACCURACY_TEXT), accuracy)));
    components.push(with(
        count(EFFECTIVE, EFFECTIVE_TEXT),
        counts.supported as f64,
    ));
    let citations = match mode {
        Mode::Default => counts.all(),
        Mode::Compat => counts.judged(),
    };
    components.push(with(count(CITATIONS, CITATIONS_TEXT), citations as f64));
    let unverified = ratio(counts.open, counts.all()).filter(|_| mode == Mode::Default);
    components.extend(unverified.map(|open| with(share(UNVERIFIED, UNVERIFIED_TEXT), open)));
    Score {
        scorer: PAGES.score_id(is_baseline),
        value: accuracy,
        components,
        pages: judged,
        ..Score::default()
    }
}

/// The score of an answer that the reference leaves out of its numbers: it has none.
pub(super) fn left_out_score(is_baseline: bool) -> Score {
    Score {
        scorer: PAGES.score_id(is_baseline),
        ..Score::default()
    }
}

fn ratio(part: u64, all: u64) -> Option<f64> {
    (all > 0).then(|| part as f64 / all as f64)
}

fn share(name: &str, text: &str) -> Component {
    Component::new(name, ComponentKind::Share).with_text(text)
}

fn count(name: &str, text: &str) -> Component {
    Component::new(name, ComponentKind::Count).with_text(text)
}

fn with(component: Component, value: f64) -> Component {
    component.with(Ok((value, None)))
}

/// A page with the verdict on each of its statements, and the passage behind it.
fn judged_page(
    number: usize,
    page: AskedPage,
    verdicts: &Verdicts,
) -> Result<CitedPage, UnscoredReason> {
    let passages = PageWords::of(&page.windows);
    let mut statements = Vec::with_capacity(page.statements.len());
    for (place, text) in page.statements.iter().enumerate() {
        let verdict = pair_verdict(number, &page, place, verdicts)?;
        let is_judged = verdict.state != SupportState::Open;
        statements.push(JudgedStatement {
            text: text.to_string(),
            verdict: verdict.state,
            open: verdict.open,
            feedback: verdict.feedback,
            passage: is_judged.then(|| passages.nearest(text)).flatten(),
        });
    }
    Ok(CitedPage {
        url: page.url,
        key: page.key,
        read: page.read,
        statements,
    })
}
