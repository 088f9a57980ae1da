//! Ranks of systems under several judges or prompt sets: which hold, in sentences, and as tables.

use crate::analysis::comparison::{FEWEST_JUDGES, JudgeRanks, RunFactor, Shift, SystemRanks};
use crate::report::layout::{counted, listed};
use crate::report::numbers::{percent, shown_difference, unit_name};
use crate::report::table::{Cell, Column, Format, Table, short_names};

/// The sentences in the order in which a reader needs them.
pub(super) fn sentences(ranks: &JudgeRanks, factor: RunFactor) -> Vec<String> {
    let mut sentences = vec![verdict(ranks, factor), offsets(ranks, factor)];
    sentences.extend(residuals(ranks, factor));
    sentences
}

/// `score: the order of 2 of 3 pairs of systems holds under all of these 3 judges; ranks that hold: careful (1).`
fn verdict(ranks: &JudgeRanks, factor: RunFactor) -> String {
    let name = &ranks.metric.name;
    if let [only] = &ranks.systems[..] {
        return format!(
            "{name}: {} is the only system and has no order.",
            only.system
        );
    }
    let noun = factor.noun();
    // A few judges are not a sample of judges.
    let judges = match ranks.judges.len() {
        2 => format!("both of these {noun}s"),
        few if few < FEWEST_JUDGES => format!("all of these {}", counted(few, noun)),
        many => format!("all {}", counted(many, noun)),
    };
    let pairs = ranks.pairs.iter().filter(|pair| pair.holds).count();
    if pairs == 0 {
        return format!("{name}: no order of two systems holds under {judges}.");
    }
    let holding = ranks.systems.iter().filter(|system| system.holds);
    let named = listed(holding.map(|system| format!("{} ({})", system.system, system.ranks[0])));
    let rest = match named {
        Some(named) => format!("ranks that hold: {named}"),
        None => "no rank holds".to_owned(),
    };
    let all = counted(ranks.pairs.len(), "pair");
    format!("{name}: the order of {pairs} of {all} of systems holds under {judges}; {rest}.")
}

/// `Offsets from the mean of all judges: gpt-4o +6.7 [5.1, 8.3]; gpt-5 -6.7 [-8.3, -5.1].`
fn offsets(ranks: &JudgeRanks, factor: RunFactor) -> String {
    let mut offsets = Vec::new();
    for judge in &ranks.judges {
        offsets.push(format!("{} {}", judge.run, shown(&judge.offset, ranks)));
    }
    format!(
        "Offsets from the mean of all {}s: {}.",
        factor.noun(),
        listed(offsets).unwrap_or_default()
    )
}

/// `Beyond these offsets some judges favor or disfavor a system: vague by gpt-5 +3.3 [1.1, 5.5].` The significant residuals, the largest
/// first; `None` without any.
fn residuals(ranks: &JudgeRanks, factor: RunFactor) -> Option<String> {
    let mut significant = Vec::new();
    for system in &ranks.systems {
        for (judge, residual) in ranks.judges.iter().zip(&system.residuals) {
            if residual.differs {
                significant.push((system, judge, residual));
            }
        }
    }
    significant.sort_by(|a, b| b.2.shift.abs().total_cmp(&a.2.shift.abs()));
    let mut texts = Vec::new();
    for (system, judge, residual) in significant {
        texts.push(format!(
            "{} by {} {}",
            system.system,
            judge.run,
            shown(residual, ranks)
        ));
    }
    Some(format!(
        "Beyond these offsets some {}s favor or disfavor a system: {}.",
        factor.noun(),
        listed(texts)?
    ))
}

/// `+3.3 [1.1, 5.5]`
fn shown(shift: &Shift, ranks: &JudgeRanks) -> String {
    shown_difference(shift.shift, shift.interval, ranks.metric.unit)
}

/// The systems with their ranks, a column for each judge.
pub(super) fn ranks_by_system(ranks: &JudgeRanks, factor: RunFactor, level: f64) -> Table {
    let interval = if ranks.judges.len() < FEWEST_JUDGES {
        String::new()
    } else {
        format!(" with {} intervals over {}s", percent(level), factor.noun())
    };
    let title = format!(
        "{} ({}), mean of {}{interval} and rank under each, * holds under all: {}",
        ranks.metric.name,
        unit_name(ranks.metric.unit),
        counted(ranks.judges.len(), factor.noun()),
        counted(ranks.cases, "shared case"),
    );
    let rows = &ranks.systems;
    let mut table = Table::new(title, Vec::new());
    table.column(Column::text("system"), rows, |row| &row.system);
    let mean = Column::new("mean", Format::of_mean(ranks.metric.unit));
    table.column(mean, rows, |row| (row.mean, row.interval));
    let names = short_names(ranks.judges.iter().map(|judge| judge.run.as_str()));
    for (judge, name) in names.iter().enumerate() {
        let column = Column::headed(&format!("rank_{name}"), name, Format::Count);
        table.column(column, rows, |row| rank_cell(row, judge));
    }
    table
}

/// The rank of a system under a judge, flagged if it holds.
fn rank_cell(row: &SystemRanks, judge: usize) -> Cell {
    let flag = if row.holds { "*" } else { "" };
    Cell::count(row.ranks[judge]).flagged(flag)
}

/// The means of the systems by each judge, a row each, with ranks and residuals.
pub(super) fn residuals_by_judge(ranks: &JudgeRanks, factor: RunFactor, level: f64) -> Table {
    let noun = factor.noun();
    let title = format!(
        "{} ({}) of each system by each {noun}, its rank (* holds under all), and the residual, the mean less that of the system and \
         the offset of the {noun}, with simultaneous {} intervals, * significant",
        ranks.metric.name,
        unit_name(ranks.metric.unit),
        percent(level),
    );
    let mut rows = Vec::new();
    for system in &ranks.systems {
        for judge in 0..ranks.judges.len() {
            rows.push((system, judge));
        }
    }
    let unit = ranks.metric.unit;
    let mut table = Table::new(title, Vec::new());
    table.column(Column::text("system"), &rows, |(row, _)| &row.system);
    table.column(Column::text("judge"), &rows, |(_, judge)| {
        &*ranks.judges[*judge].run
    });
    let mean = Column::new("mean", Format::of_mean(unit));
    table.column(mean, &rows, |(row, judge)| row.means[*judge]);
    let rank = Column {
        has_flag: true,
        ..Column::count("rank")
    };
    table.column(rank, &rows, |(row, judge)| rank_cell(row, *judge));
    let residual = Column::new("residual", Format::of_difference(unit)).kept();
    table.column(residual, &rows, |(row, judge)| {
        let residual = &row.residuals[*judge];
        let flag = if residual.differs { "*" } else { "" };
        Cell::from((residual.shift, residual.interval)).flagged(flag)
    });
    table.column(Column::new("p", Format::PValue), &rows, |(row, judge)| {
        row.residuals[*judge].p
    });
    table
}
