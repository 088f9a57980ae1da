//! The leaderboard: the shared task's columns and its rules for ties.

use std::cmp::Ordering;

use comfy_table::{Attribute, Cell, CellAlignment, ColumnConstraint, ContentArrangement, Table, Width};
use serde_json::{Value, json};

use crate::dataset::fever::PublishedRow;
use crate::domain::Mode;
use crate::domain::fever::Raised;
use crate::report::{TableStyle, plain_table, visible, wrapped};
use crate::scorer::fever::{FeverScores, Tally};

/// A scored file of predictions.
#[derive(Debug, Clone)]
pub(super) struct System {
    pub(super) file: String,
    pub(super) user: String,
    pub(super) team: String,
    /// The five numbers, or what the reference raises (compat).
    pub(super) scores: Result<FeverScores, Raised>,
    pub(super) tally: Tally,
    /// Claims without a prediction.
    pub(super) missing: usize,
    /// Predictions without a claim.
    pub(super) unknown: usize,
}

/// A row, ours or published.
#[derive(Debug, Clone)]
struct Row {
    /// `None` for a system that is unscored.
    rank: Option<usize>,
    user: String,
    team: String,
    /// Strict score, label accuracy, evidence F1: what ranks.
    keys: Option<[f64; 3]>,
    /// What is known of our own systems only.
    system: Option<System>,
}

/// All rows, best first.
#[derive(Debug, Clone)]
pub(super) struct Leaderboard {
    rows: Vec<Row>,
    max_evidence: Option<usize>,
    mode: Mode,
    beside_published: bool,
}

impl Leaderboard {
    /// Ranks by strict score; ties by label accuracy, then by evidence F1; rows equal in all three share a rank. Beside
    /// published rows, which have four decimals, ours are ranked with four decimals too.
    pub(super) fn new(
        systems: Vec<System>,
        published: &[PublishedRow],
        max_evidence: Option<usize>,
        mode: Mode,
    ) -> Self {
        let beside_published = !published.is_empty();
        let rounded = |value: f64| if beside_published { (value * 1e4).round() / 1e4 } else { value };
        let ours = systems.into_iter().map(|system| Row {
            rank: None,
            user: system.user.clone(),
            team: system.team.clone(),
            keys: system.scores.ok().map(|scores| [scores.strict_score, scores.label_accuracy, scores.f1].map(rounded)),
            system: Some(system),
        });
        let theirs = published.iter().map(|row| Row {
            rank: None,
            user: row.user.clone(),
            team: row.team.clone(),
            keys: Some([row.fever_score, row.label_accuracy, row.evidence_f1]),
            system: None,
        });
        let mut rows: Vec<Row> = ours.chain(theirs).collect();
        rows.sort_by(|left, right| best_first(left.keys, right.keys));
        for index in 0..rows.len() {
            let tied = index.checked_sub(1).filter(|before| rows[*before].keys == rows[index].keys);
            rows[index].rank = rows[index].keys.map(|_| tied.and_then(|before| rows[before].rank).unwrap_or(index + 1));
        }
        Self { rows, max_evidence, mode, beside_published }
    }

    /// True if a system has no numbers.
    pub(super) fn has_unscored(&self) -> bool {
        self.rows.iter().any(|row| row.keys.is_none())
    }

    /// For people.
    pub(super) fn table(&self, style: TableStyle) -> String {
        let mut table = plain_table(style.color);
        let titles = [
            "#",
            "User",
            "Team Name",
            "Evidence\nF1",
            "Label\nAccuracy",
            "FEVER\nScore",
            "Preci-\nsion",
            "Recall",
            "Claims",
        ];
        table.set_header(titles.map(|title| {
            let cell = Cell::new(title);
            if style.color { cell.add_attribute(Attribute::Bold) } else { cell }
        }));
        for row in &self.rows {
            let cells = row.cells(|value| format!("{value:.4}"), "-");
            let mark = if self.beside_published && row.system.is_some() { " *" } else { "" };
            let [user, team] = [format!("{}{mark}", visible(&row.user)), visible(&row.team).into_owned()];
            table.add_row([cells[0].clone(), user, team].into_iter().chain(cells[1..].iter().cloned()));
        }
        let drawn = fitted(table, style.width.max(80));
        let counted = match self.max_evidence {
            Some(most) => format!("first {most} predicted sentences"),
            None => "all predicted sentences".to_owned(),
        };
        let compat = if self.mode == Mode::Compat { ", as the reference script counts (compat)" } else { "" };
        format!(
            "FEVER, 0..1, best first, {counted}{compat}\n\n{drawn}\n{}",
            wrapped(&self.footnotes(), usize::from(style.width.max(80)))
        )
    }

    fn footnotes(&self) -> String {
        let mut notes = String::new();
        if self.beside_published {
            notes.push_str(
                "\n- * yours; the others are the preliminary leaderboard of the FEVER shared task 2018, on its blind test set: \
                 compare only what was scored on that set\n",
            );
        }
        for system in self.rows.iter().filter_map(|row| row.system.as_ref()) {
            let name = visible(&system.user);
            if let Err(raised) = system.scores {
                notes.push_str(&format!("\n- {name}: unscored, the reference raises {raised}\n"));
            }
            if system.missing > 0 {
                notes.push_str(&format!("\n- {name}: {} claims without a prediction count as wrong\n", system.missing));
            }
        }
        notes
    }

    /// For programs; `rank` is among all rows shown, `null` for a system without numbers.
    pub(super) fn json(&self) -> String {
        let rows: Vec<Value> = self.rows.iter().map(Row::json).collect();
        let board = json!({
            "schema": 1,
            "mode": if self.mode == Mode::Compat { "compat" } else { "default" },
            "max_evidence": self.max_evidence,
            "rows": rows,
        });
        format!("{board:#}\n")
    }

    /// For programs, the shared task's columns first.
    pub(super) fn csv(&self) -> String {
        let mut csv = String::from(
            "rank,user,team,evidence_f1,label_accuracy,fever_score,evidence_precision,evidence_recall,claims,file,published\n",
        );
        for row in &self.rows {
            let cells = row.cells(|value| value.to_string(), "");
            let file = row.system.as_ref().map(|system| system.file.as_str()).unwrap_or_default();
            let texts = [&row.user, &row.team].map(|text| quoted(&visible(text)));
            let line = [cells[0].clone()].into_iter().chain(texts).chain(cells[1..].iter().cloned());
            let ends = [quoted(&visible(file)), row.system.is_none().to_string()];
            csv.push_str(&line.chain(ends).collect::<Vec<_>>().join(","));
            csv.push('\n');
        }
        csv
    }
}

/// Words of names longer than this are broken where a table has no room.
const LONGEST_WORD: u16 = 14;

impl Row {
    /// Rank, evidence F1, label accuracy, FEVER score, precision, recall, claims; `none` for what is not known.
    fn cells(&self, number: impl Fn(f64) -> String, none: &str) -> [String; 7] {
        let shown = |value: Option<f64>| value.map_or_else(|| none.to_owned(), &number);
        let own = self.system.as_ref().and_then(|system| system.scores.ok());
        let strict = own.map(|scores| scores.strict_score).or(self.keys.map(|keys| keys[0]));
        let accuracy = own.map(|scores| scores.label_accuracy).or(self.keys.map(|keys| keys[1]));
        let f1 = own.map(|scores| scores.f1).or(self.keys.map(|keys| keys[2]));
        [
            self.rank.map_or_else(|| none.to_owned(), |rank| rank.to_string()),
            shown(f1),
            shown(accuracy),
            shown(strict),
            shown(own.map(|scores| scores.precision)),
            shown(own.map(|scores| scores.recall)),
            self.system.as_ref().map_or_else(|| none.to_owned(), |system| system.tally.claims.to_string()),
        ]
    }

    fn json(&self) -> Value {
        let Some(system) = &self.system else {
            let keys = self.keys.unwrap_or_default();
            return json!({
                "rank": self.rank, "user": self.user, "team": self.team, "published": true,
                "strict_score": keys[0], "label_accuracy": keys[1], "evidence_f1": keys[2],
            });
        };
        let scores = system.scores.ok();
        json!({
            "rank": self.rank,
            "user": self.user,
            "team": self.team,
            "published": false,
            "file": system.file,
            "strict_score": scores.map(|scores| scores.strict_score),
            "label_accuracy": scores.map(|scores| scores.label_accuracy),
            "evidence_precision": scores.map(|scores| scores.precision),
            "evidence_recall": scores.map(|scores| scores.recall),
            "evidence_f1": scores.map(|scores| scores.f1),
            "unscored": system.scores.err().map(Raised::name),
            "claims": system.tally.claims,
            "verifiable": system.tally.verifiable,
            "labels_correct": system.tally.labels_correct,
            "strictly_correct": system.tally.strictly_correct,
            "missing": system.missing,
            "unknown": system.unknown,
        })
    }
}

/// The table within `width`: with two spaces between columns, else with one, else with names wrapped.
fn fitted(mut table: Table, width: u16) -> String {
    let fits = |text: &str| text.lines().all(|line| line.chars().count() <= usize::from(width));
    table.set_content_arrangement(ContentArrangement::Disabled);
    for padding in [2, 1, 0] {
        for (index, column) in table.column_iter_mut().enumerate() {
            column.set_padding((0, padding));
            if !(1..=2).contains(&index) {
                column.set_cell_alignment(CellAlignment::Right);
                column.set_constraint(ColumnConstraint::ContentWidth);
            }
        }
        let drawn = table.trim_fmt();
        if fits(&drawn) {
            return drawn;
        }
    }
    // Names of users and teams take several lines, each word whole where there is room for it.
    for index in 1..=2 {
        let widest = table.row_iter().filter_map(|row| row.cell_iter().nth(index)).map(longest_word).max().unwrap_or(0);
        if let Some(column) = table.column_mut(index) {
            column.set_constraint(ColumnConstraint::LowerBoundary(Width::Fixed(widest.min(LONGEST_WORD))));
        }
    }
    table.set_width(width).set_content_arrangement(ContentArrangement::Dynamic);
    table.trim_fmt()
}

fn longest_word(cell: &Cell) -> u16 {
    let words = cell.content();
    let longest = words.split_whitespace().map(|word| word.chars().count()).max().unwrap_or(0);
    u16::try_from(longest).unwrap_or(u16::MAX)
}

/// Greater keys first, systems without numbers last.
fn best_first(left: Option<[f64; 3]>, right: Option<[f64; 3]>) -> Ordering {
    match (left, right) {
        (Some(left), Some(right)) => {
            let orders = left.iter().zip(&right).map(|(left, right)| right.total_cmp(left));
            orders.fold(Ordering::Equal, Ordering::then)
        }
        (left, right) => right.is_some().cmp(&left.is_some()),
    }
}

fn quoted(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text.to_owned() }
}

#[cfg(test)]
mod tests;
