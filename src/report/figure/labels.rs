//! `plot --what labels`: the systems by people's labels and by the judge's scores.

use super::panels::{FigurePanel, PanelPlot, PanelRow};
use super::run_figure::{DrawnFigure, FigureOption, FigureRequest, RunFigure};
use crate::analysis::comparison::SEED;
use crate::analysis::rater_agreement::{AgreementOptions, RaterAgreement, RaterPair, SummaryRow};
use crate::domain::{RaterKind, Unit};
use crate::error::{Error, Result};
use crate::report::layout::counted;
use crate::report::numbers::shown_coefficient;
use crate::report::table::shown_notes;
use crate::runs::agree;

pub(super) const FIGURE: RunFigure = RunFigure {
    name: "labels",
    help: "means by people and by the judge",
    options: &[FigureOption::Metric, FigureOption::Labels],
    draw,
};

fn draw(request: &FigureRequest<'_>) -> Result<DrawnFigure> {
    let files = &request.options.labels;
    if files.is_empty() {
        let message = "--what labels draws the judge against people: add --labels FILE";
        return Err(Error::Usage(message.to_owned()));
    }
    if request.runs.len() != 1 {
        let message = "--what labels draws one run: its judge against people";
        return Err(Error::Usage(message.to_owned()));
    }
    let mut options = AgreementOptions::seeded(SEED);
    options.metric.clone_from(&request.options.metric);
    let agreement = agree(request.runs, files, &options)?;
    let figure = plot_of(&agreement).and_then(|plot| plot.figure(request.style));
    let figure = figure.ok_or_else(|| {
        request.nothing(
            "nothing to draw: people and judge rated answers of fewer than two systems",
            "label answers of more systems; agree --by item compares within one",
        )
    })?;
    let warnings = shown_notes(&agreement.notes, false);
    Ok(DrawnFigure {
        figure,
        contents: "systems by people and by the judge".to_owned(),
        warnings: warnings.into_iter().cloned().collect(),
    })
}

/// The systems by people's mean labels and by the judge's, over the same answers, best by people first. `None` if no judge and people
/// rated answers of two systems or more.
fn plot_of(agreement: &RaterAgreement) -> Option<PanelPlot> {
    // The pair with the people together comes before those with single people.
    let pair = agreement.pairs.iter().find(|pair| {
        is_rater(agreement, &pair.first, RaterKind::Judge)
            && is_rater(agreement, &pair.second, RaterKind::Human)
    })?;
    let (ranking, of) = match (&pair.ranking, &pair.wins) {
        (Some(ranking), _) => (ranking, "mean"),
        (None, wins) => (wins.as_ref()?, "share of wins"),
    };
    let mut rows = Vec::new();
    for system in &ranking.systems {
        rows.push(PanelRow {
            label: system.system.to_string(),
            values: [system.second_mean, system.first_mean],
        });
    }
    // The scales of people and judge are those of their files, as in the tables of agree.
    let panels = ["people", "judge"].map(|who| FigurePanel {
        axis: format!("{who}, {of}"),
        unit: Unit::Grade,
    });
    Some(PanelPlot {
        panels,
        rows,
        note: note_of_labels(agreement, pair),
    })
}

fn is_rater(agreement: &RaterAgreement, name: &str, kind: RaterKind) -> bool {
    let mut raters = agreement.raters.iter();
    raters.any(|rater| *rater.name == *name && rater.kind == kind)
}

/// How judge and people agree, and people with each other: no judge can be expected to agree more.
fn note_of_labels(agreement: &RaterAgreement, pair: &RaterPair) -> String {
    let name = format!("{} with people", pair.first);
    let row = agreement.summary.iter().find(|row| row.who == name);
    let mut parts = Vec::new();
    if let Some(row) = row {
        parts.push(format!("judge with people {}", tau_b_of(row)));
        if let Some(ceiling) = &row.ceiling {
            parts.push(format!("people with each other {}", tau_b_of(ceiling)));
        }
    }
    if let Some(ranking) = &pair.ranking
        && ranking.kendall_tau_b.estimate.is_some()
    {
        let order = shown_coefficient(&ranking.kendall_tau_b);
        parts.push(format!("order of the systems {order}"));
    }
    let labels = counted(pair.overall.n, "labeled answer");
    if parts.is_empty() {
        // Of preferences, for example.
        return format!("Over {labels}.");
    }
    format!("Over {labels}. Kendall's tau-b: {}.", parts.join("; "))
}

fn tau_b_of(row: &SummaryRow) -> String {
    shown_coefficient(&row.kendall_tau_b)
}
