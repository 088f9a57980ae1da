//! Lists of the page: what was run, what is unscored, how panels agree, how draws differ.

use serde::Serialize;

use super::HtmlRun;
use super::figures::coefficient_range;
use super::leaderboard::Fact;
use crate::analysis::comparison::Comparison;
use crate::analysis::{DrawNoise, Estimate, PanelAgreement};
use crate::report::panel_notes::shown as on_scale;
use crate::report::visible;

/// More unscored answers than this are counted, not listed: the heat map finds them.
const LISTED: usize = 1000;

/// A run's facts.
#[derive(Debug, Serialize)]
pub(super) struct RunView {
    name: String,
    facts: Vec<Fact>,
}

/// An answer that lacks a value.
#[derive(Debug, Serialize)]
pub(super) struct Unscored {
    label: String,
    /// The case's id, for readers.
    case: String,
    /// What leads to the case in this page.
    link: String,
    scorer: String,
    reasons: Vec<Fact>,
}

/// Unscored answers.
#[derive(Debug, Serialize)]
pub(super) struct UnscoredList {
    rows: Vec<Unscored>,
    total: usize,
}

/// One group of items that several judges judged.
#[derive(Debug, Serialize)]
pub(super) struct PanelView {
    run: String,
    scorer: String,
    group: String,
    judges: Vec<Fact>,
    units: usize,
    judged_by_all: usize,
    alpha: String,
    kappa: String,
}

/// One judge that was asked several times.
#[derive(Debug, Serialize)]
pub(super) struct DrawView {
    run: String,
    scorer: String,
    group: String,
    judge: String,
    draws: usize,
    units: usize,
    mean_sd: String,
    all_equal: String,
}

fn shown(text: &str) -> String {
    visible(text).into_owned()
}

pub(super) fn run_views(runs: &[HtmlRun<'_>]) -> Vec<RunView> {
    let facts =
        |run: &HtmlRun<'_>| run.facts.iter().map(|(name, value)| Fact::new(shown(name), shown(value))).collect();
    runs.iter().map(|run| RunView { name: shown(&run.name), facts: facts(run) }).collect()
}

pub(super) fn unscored(comparison: &Comparison, runs: &[HtmlRun<'_>]) -> UnscoredList {
    let mut list = UnscoredList { rows: Vec::new(), total: 0 };
    for (run_at, run) in runs.iter().enumerate() {
        for answer in run.scored {
            let missing = answer.score.components.iter().filter(|component| component.value.is_none());
            let reason = |component: &crate::domain::Component| {
                let why = component.reason.as_ref().map_or("not asked", |reason| reason.message.as_str());
                Fact::new(shown(&component.name), shown(why))
            };
            let reasons: Vec<Fact> = missing.map(reason).collect();
            if reasons.is_empty() {
                continue;
            }
            list.total += 1;
            if list.rows.len() < LISTED {
                let is_own = |system: &&crate::analysis::comparison::ObservedSystem| {
                    system.run == run_at && system.system == answer.system
                };
                let label = comparison.systems.iter().find(is_own).map_or(answer.system.as_str(), |own| &own.label);
                let case = answer.case.case_id.as_str();
                list.rows.push(Unscored {
                    label: shown(label),
                    case: shown(case),
                    link: format!("#case={}&systems={}", percent_encoded(case), percent_encoded(label)),
                    scorer: answer.score.scorer.to_owned(),
                    reasons,
                });
            }
        }
    }
    list
}

/// The text as a part of an address: what is not an ASCII letter, digit or one of `-_.~` as `%XX` of its UTF-8.
fn percent_encoded(text: &str) -> String {
    use std::fmt::Write as _;
    text.bytes().fold(String::with_capacity(text.len()), |mut encoded, byte| {
        if byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            let _ = write!(encoded, "%{byte:02X}");
        }
        encoded
    })
}

pub(super) fn panel_views(runs: &[HtmlRun<'_>]) -> Vec<PanelView> {
    let view = |run: &HtmlRun<'_>, panel: &PanelAgreement| PanelView {
        run: shown(&run.name),
        scorer: panel.scorer.to_owned(),
        group: shown(&panel.group.name),
        judges: panel
            .judges
            .iter()
            .map(|judge| {
                Fact::new(shown(&judge.judge), judge.mean.map_or_else(dash, |mean| on_scale(mean, panel.group.scale)))
            })
            .collect(),
        units: panel.units,
        judged_by_all: panel.judged_by_all,
        alpha: with_interval(&panel.alpha),
        kappa: with_interval(&panel.kappa),
    };
    runs.iter().flat_map(|run| run.panels.iter().map(move |panel| view(run, panel))).collect()
}

pub(super) fn draw_views(runs: &[HtmlRun<'_>]) -> Vec<DrawView> {
    let view = |run: &HtmlRun<'_>, draws: &DrawNoise| DrawView {
        run: shown(&run.name),
        scorer: draws.scorer.to_owned(),
        group: shown(&draws.group.name),
        judge: shown(&draws.judge),
        draws: draws.draws,
        units: draws.units,
        mean_sd: draws.mean_sd.map_or_else(dash, |sd| on_scale(sd, draws.group.scale)),
        all_equal: draws.all_equal.map_or_else(dash, |share| format!("{:.0}%", 100.0 * share)),
    };
    runs.iter().flat_map(|run| run.draws.iter().map(move |draws| view(run, draws))).collect()
}

fn dash() -> String {
    "\u{2013}".to_owned()
}

fn with_interval(value: &Estimate) -> String {
    value.estimate.map_or_else(dash, |estimate| coefficient_range(estimate, value.low.zip(value.high)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_holds_no_mark_of_its_own() {
        assert_eq!(percent_encoded("a b&c=#\"<ü"), "a%20b%26c%3D%23%22%3C%C3%BC");
    }
}
