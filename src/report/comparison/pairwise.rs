//! What pairs of answers show beyond their comparison: strengths, the orders of each pair, sentences on place and length.

use crate::analysis::comparison::{Comparison, Pairwise};
use crate::domain::Note;
use crate::report::layout::{counted, listed};
use crate::report::legend::COMPARISON_LEGEND;
use crate::report::numbers::percent;
use crate::report::table::{Cell, Column, Format, Table};
use crate::stats::BothOrders;

/// A judge whose verdict follows the place in more of the questions than this is not one to rely on.
const MOSTLY: f64 = 0.5;

/// Adds the strengths to the table of the systems, whose rows are in the same order.
pub(super) fn push_strengths(table: &mut Table, pairwise: &Pairwise) {
    if pairwise.no_strengths.is_some() {
        return;
    }
    let mut against = Vec::new();
    let mut strengths = Vec::new();
    for strength in &pairwise.strengths {
        against.push(Cell::maybe(strength.against_the_others));
        strengths.push(Cell::estimate(strength.strength, strength.interval));
    }
    // Systems without a value are below the others.
    against.resize(table.rows.len(), Cell::Missing);
    strengths.resize(table.rows.len(), Cell::Missing);
    table.push(
        COMPARISON_LEGEND.column("against_the_others", Format::Percent),
        against,
    );
    table.push(
        COMPARISON_LEGEND.column("strength", Format::Difference(2)),
        strengths,
    );
}

/// The compared pairs with what both orders say of them; `None` for other comparisons.
pub(in crate::report) fn orders_table(comparison: &Comparison) -> Option<Table> {
    let pairwise = comparison.pairwise.as_ref()?;
    let rows = &pairwise.pairs;
    let level = percent(comparison.options.level);
    let intervals = if comparison.runs.iter().any(|run| run.looks.is_some()) {
        format!("repeated {level} intervals")
    } else {
        format!("{level} intervals of each pair alone")
    };
    let title = format!("Win rates of pairs with {intervals}; a tie is half a win");
    let mut table = Table::new(title, Vec::new());
    table.column(Column::text("system"), rows, |row| &row.first);
    table.column(Column::text("against"), rows, |row| &row.second);
    let win_rate = Column {
        has_interval: true,
        ..COMPARISON_LEGEND.column("win_rate", Format::Percent)
    };
    table.column(win_rate, rows, |row| (row.rate.win_rate, row.interval));
    table.column(Column::count("questions"), rows, |row| row.rate.questions);
    let share = |key: &str| COMPARISON_LEGEND.column(key, Format::Percent);
    table.column(share("when_first"), rows, |row| row.rate.when_first);
    table.column(share("when_second"), rows, |row| row.rate.when_second);
    table.column(share("consistent"), rows, |row| {
        row.rate.orders.consistent_share()
    });
    table.column(share("at_equal_length"), rows, |row| {
        Cell::estimate(row.at_equal_length, row.at_equal_length_interval)
    });
    let residual = COMPARISON_LEGEND.column("residual", Format::PercentDifference);
    table.column(residual, rows, |row| row.residual);
    Some(table)
}

/// The notes on the verdicts of a run of pairs; none for other comparisons.
pub(in crate::report) fn comparison_notes(comparison: &Comparison) -> Vec<Note> {
    let mut notes = Vec::new();
    if let Some(pairwise) = &comparison.pairwise {
        notes.extend(by_strengths(comparison));
        notes.extend(pairwise_notes(pairwise));
    }
    notes
}

/// Why the verdict on a pair has another win rate than its row: where some pairs were not compared on some questions, differences
/// are those of strengths.
fn by_strengths(comparison: &Comparison) -> Option<Note> {
    let is_circle = comparison.pairwise.as_ref()?.is_circle;
    let mut pairs = comparison.metrics.first()?.pairs.iter();
    pairs.find(|pair| is_circle && pair.p.is_some())?;
    Some(Note::warning(
        "Not every pair was compared on every question: p, letters and the win rates of the verdict are by the strengths, those in the \
         table of pairs by the verdicts on the pair alone.",
    ))
}

/// What a reader must know of the verdicts, most important first.
fn pairwise_notes(pairwise: &Pairwise) -> Vec<Note> {
    let mut notes = Vec::new();
    notes.extend(follows_the_place(&pairwise.orders));
    notes.extend(pairwise.no_strengths.clone().map(Note::warning));
    if let Some(cycles) = listed(pairwise.cycles.iter().map(cycle)) {
        notes.push(Note::warning(format!(
            "Significant differences in a circle, so that the systems have no order: {cycles}."
        )));
    }
    if pairwise.unscored > 0 {
        notes.push(Note::warning(format!(
            "{} without a verdict; the other order of the pair still counts.",
            counted(pairwise.unscored, "comparison")
        )));
    }
    notes.push(Note::info(
        "A difference of win rates is the share of comparisons won less the share lost.",
    ));
    let mut pairs = pairwise.pairs.iter();
    // With one order of each pair it is what the better systems have.
    if pairs.any(|pair| pair.rate.position_effect.is_some()) {
        notes.push(Note::info(place(pairwise)));
    }
    notes.extend(both_orders(&pairwise.orders).map(Note::info));
    notes.extend(length(pairwise).map(Note::info));
    notes.push(Note::info(format!(
        "Ties: {}% of {}.",
        Format::Percent.show(pairwise.tie_share),
        counted(pairwise.verdicts, "verdict")
    )));
    if let Some(share) = pairwise.much_better {
        notes.push(Note::info(format!(
            "Much better: {}% of the verdicts, counted as better.",
            Format::Percent.show(share)
        )));
    }
    if pairwise.triads > 0 {
        let share = pairwise.cyclic_triads as f64 / pairwise.triads as f64;
        notes.push(Note::info(format!(
            "Of {} of systems with three decided pairs in a question, {}% are circles (coin flips give 25%).",
            counted(pairwise.triads, "triad"),
            Format::Percent.show(share)
        )));
    }
    notes
}

fn cycle([a, b, c]: &[String; 3]) -> String {
    format!("{a} beats {b}, {b} beats {c}, {c} beats {a}")
}

/// The warning about a judge whose verdict mostly follows the place of an answer.
fn follows_the_place(orders: &BothOrders) -> Option<Note> {
    let share = orders.consistent_share()?;
    if share >= MOSTLY {
        return None;
    }
    Some(Note::warning(format!(
        "Both orders say the same in only {}% of the comparisons: the judge follows the place of an answer more than its text.",
        Format::Percent.show(share)
    )))
}

/// How often the answer shown first wins.
fn place(pairwise: &Pairwise) -> String {
    let share = Format::Percent.show(pairwise.first_shown);
    match pairwise.first_shown_error {
        Some(error) => format!(
            "The answer shown first has {share}% of the verdicts (standard error {}), a tie counting half.",
            Format::Percent.show(error)
        ),
        None => {
            format!("The answer shown first has {share}% of the verdicts, a tie counting half.")
        }
    }
}

fn both_orders(orders: &BothOrders) -> Option<String> {
    (orders.questions > 0).then(|| {
        format!(
            "Of {} in both orders, {} have the same verdict, {} follow the first place and {} the second.",
            counted(orders.questions, "comparison"),
            orders.consistent,
            orders.towards_first,
            orders.towards_second
        )
    })
}

fn length(pairwise: &Pairwise) -> Option<String> {
    (pairwise.decided > 0).then(|| {
        format!(
            "The longer answer wins {} of {} decided verdicts ({}%).",
            pairwise.longer_wins,
            pairwise.decided,
            Format::Percent.show(pairwise.longer_wins as f64 / pairwise.decided as f64)
        )
    })
}
