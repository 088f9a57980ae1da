//! A heatmap: criteria by systems, the mean credit in each cell.
//!
//! The criteria are the rows with their texts, and the systems the columns, as long as all systems have room. Where they are too many,
//! the systems are the rows and the criteria numbered columns, with their texts below.

use super::dots::{labels_width, push_row_label, row_labels};
use super::palette::{Hue, Ink};
use super::words::{LINE, bold, fitting, text_width, wrapped};
use super::{Align, Figure, FigureStyle, Label, Paint, Shape};

/// The widest column beside texts that need the room, and the narrowest one, in sizes of the font: a narrower one has no room for
/// `100`.
const WIDEST_COLUMN: f64 = 4.0;
const NARROWEST_COLUMN: f64 = 2.1;
/// The share of the width that the texts of criteria have at least.
const TEXTS: f64 = 0.4;
/// Lines of a criterion at most: as a row, and in the list below a figure.
const ROW_LINES: usize = 3;
const LISTED_LINES: usize = 2;
/// Height of a name of a system that reads upwards, in sizes of the font.
const TALLEST_NAME: f64 = 12.0;
/// Height of a row of one line, in sizes of the font.
const ROW: f64 = 1.7;
/// The tint of no credit, so that its cell is seen, and what full credit adds to it, in percent.
const PALEST: f64 = 6.0;
const TINTS: f64 = 84.0;

/// Shares by criterion and system.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Heatmap {
    /// The names of the systems.
    pub(super) systems: Vec<String>,
    /// The criteria by group.
    pub(super) groups: Vec<HeatGroup>,
    /// What the numbers are, below the cells.
    pub(super) note: String,
}

/// Criteria that belong together.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct HeatGroup {
    /// Its name; empty if its only row says it.
    pub(super) heading: String,
    /// Whether its shares are those of faults found, which have a color and an edge that no credit has.
    pub(super) is_fault: bool,
    /// The criteria.
    pub(super) rows: Vec<HeatRow>,
}

/// A criterion.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct HeatRow {
    /// Its text.
    pub(super) text: String,
    /// The share of each system, 0..=1.
    pub(super) shares: Vec<Option<f64>>,
}

/// Where a cell is, and its number.
struct HeatCell {
    corner: [f64; 2],
    size: [f64; 2],
    share: Option<f64>,
    is_fault: bool,
}

impl Heatmap {
    /// The heatmap in this style; `None` without a cell.
    pub(super) fn figure(&self, style: &FigureStyle) -> Option<Figure> {
        let rows: usize = self.groups.iter().map(|group| group.rows.len()).sum();
        if rows == 0 || self.systems.is_empty() {
            return None;
        }
        let description = format!(
            "{rows} criteria of {} systems. {}",
            self.systems.len(),
            self.note
        );
        let figure = Figure::new(style, &description);
        let systems = self.systems.len() as f64;
        let room = (1.0 - TEXTS) * style.width / systems;
        Some(if room >= NARROWEST_COLUMN * style.font {
            // What the texts do not need is the columns'.
            let spare = (style.width - self.texts_width(style.font)) / systems;
            let column = spare.max(room.min(WIDEST_COLUMN * style.font));
            self.by_criterion(figure, style, column)
        } else {
            self.by_system(figure, style)
        })
    }

    /// The width of the texts of criteria, each on one line.
    fn texts_width(&self, font: f64) -> f64 {
        let rows = self.groups.iter().flat_map(|group| &group.rows);
        let widths = rows.map(|row| text_width(&row.text, font));
        // The distance of a text from its cells, and a little for rounding.
        widths.fold(0.0, f64::max) + 0.9 * font
    }

    /// A row for each criterion, columns of this width.
    fn by_criterion(&self, mut figure: Figure, style: &FigureStyle, column: f64) -> Figure {
        let font = figure.font;
        let left = figure.width - column * self.systems.len() as f64;
        let mut y = self.push_names(&mut figure, left, column);
        for group in &self.groups {
            if !group.heading.is_empty() {
                y += 0.5 * font;
                for line in wrapped(&group.heading, figure.width, bold(font), 2) {
                    let at = [0.0, y + 0.9 * font];
                    figure.push_text(Label::new(at, Align::Start, line).bold());
                    y += LINE * font;
                }
                y += 0.3 * font;
            }
            for row in &group.rows {
                let lines = wrapped(&row.text, left - 0.8 * font, font, ROW_LINES);
                let height = (LINE * lines.len() as f64 + ROW - LINE) * font;
                let shares = row.shares.iter().enumerate();
                for (system, share) in shares {
                    let cell = HeatCell {
                        corner: [left + column * system as f64, y],
                        size: [column, height],
                        share: *share,
                        is_fault: group.is_fault,
                    };
                    push_cell(&mut figure, &cell);
                }
                figure.push_lines([0.0, y + 1.15 * font], lines);
                y += height;
            }
        }
        figure.end_at(y + 0.7 * font, style, &self.note);
        figure
    }

    /// The names of systems above their columns: upright unless all fit. The upper end of what follows.
    fn push_names(&self, figure: &mut Figure, left: f64, column: f64) -> f64 {
        let font = figure.font;
        let names = self.systems.iter();
        let names = names.map(|name| fitting(name, TALLEST_NAME * font, font));
        let names: Vec<String> = names.collect();
        let widths = names.iter().map(|name| text_width(name, font));
        let widest = widths.fold(0.0, f64::max);
        let is_upright = widest > column - 0.4 * font;
        let height = if is_upright {
            widest + 0.5 * font
        } else {
            1.4 * font
        };
        let bottom = figure.height + height;
        for (system, name) in names.into_iter().enumerate() {
            let middle = left + column * (system as f64 + 0.5);
            figure.push_text(if is_upright {
                let at = [middle + 0.3 * font, bottom - 0.3 * font];
                Label::new(at, Align::Start, name).upright()
            } else {
                Label::new([middle, bottom - 0.5 * font], Align::Middle, name)
            });
        }
        bottom
    }

    /// A row for each system, columns of numbers of criteria, and their texts below.
    fn by_system(&self, mut figure: Figure, style: &FigureStyle) -> Figure {
        let font = figure.font;
        let labels = row_labels(self.systems.iter().map(String::as_str), style);
        let left = labels_width(&labels, font);
        let mut columns = Vec::new();
        for group in &self.groups {
            columns.extend(group.rows.iter().map(|row| (group.is_fault, row)));
        }
        let most = ((figure.width - left) / (NARROWEST_COLUMN * font))
            .floor()
            .max(1.0);
        let panels = (columns.len() as f64 / most).ceil();
        // Panels of about equal width.
        let in_panel = (columns.len() as f64 / panels).ceil() as usize;
        let column = (figure.width - left) / in_panel as f64;
        let mut y = figure.height;
        for (panel, columns) in columns.chunks(in_panel).enumerate() {
            y += 1.4 * font;
            for at in 0..columns.len() {
                let x = left + column * (at as f64 + 0.5);
                let number = (panel * in_panel + at + 1).to_string();
                figure.push_text(Label::new([x, y - 0.4 * font], Align::Middle, number));
            }
            for (system, label) in labels.iter().enumerate() {
                push_row_label(&mut figure, left, y + ROW / 2.0 * font, label.clone());
                for (at, (is_fault, row)) in columns.iter().enumerate() {
                    let cell = HeatCell {
                        corner: [left + column * at as f64, y],
                        size: [column, ROW * font],
                        share: row.shares[system],
                        is_fault: *is_fault,
                    };
                    push_cell(&mut figure, &cell);
                }
                y += ROW * font;
            }
            y += 0.6 * font;
        }
        y = self.push_list(&mut figure, y);
        figure.end_at(y + 0.3 * font, style, &self.note);
        figure
    }

    /// The texts of the numbered criteria by group; the lower end.
    fn push_list(&self, figure: &mut Figure, top: f64) -> f64 {
        let font = figure.font;
        let indent = 2.0 * font;
        let mut number = 0;
        let mut y = top + 0.9 * font;
        for group in &self.groups {
            if !group.heading.is_empty() {
                y += 0.3 * font;
                let heading = fitting(&group.heading, figure.width, bold(font));
                figure.push_text(Label::new([0.0, y], Align::Start, heading).bold());
                y += LINE * font;
            }
            for row in &group.rows {
                number += 1;
                let at = [indent - 0.5 * font, y];
                figure.push_text(Label::new(at, Align::End, number.to_string()));
                let lines = wrapped(&row.text, figure.width - indent, font, LISTED_LINES);
                y = figure.push_lines([indent, y], lines);
            }
        }
        y - 0.6 * font
    }
}

/// A cell: its tint says what its number says, in percent.
fn push_cell(figure: &mut Figure, cell: &HeatCell) {
    let font = figure.font;
    let hue = if cell.is_fault {
        Hue::Fault
    } else {
        Hue::First
    };
    let [x, y] = cell.corner;
    let [width, height] = cell.size;
    let at = [x + width / 2.0, y + height / 2.0 + 0.35 * font];
    let Some(share) = cell.share else {
        figure.push_text(Label::new(at, Align::Middle, "–").in_ink(Ink::Axis));
        return;
    };
    let percent = (PALEST + TINTS * share.clamp(0.0, 1.0)).round() as u8;
    let fill = Ink::Tint(hue, percent);
    // The edge of a fault says without color that a high number is bad.
    let edge = if cell.is_fault { Ink::Data(hue) } else { fill };
    // White between neighbors: the edge reaches half a point outwards.
    let gap = 1.0;
    let corner = [x + gap, y + gap];
    let size = [width - 2.0 * gap, height - 2.0 * gap];
    let paint = Paint { fill, edge };
    figure.shapes.push(Shape::Rectangle(corner, size, paint));
    let ink = figure.palette.text_on(hue, percent);
    let number = format!("{:.0}", 100.0 * share);
    figure.push_text(Label::new(at, Align::Middle, number).in_ink(ink));
}

#[cfg(test)]
mod tests {
    use super::super::tests::style;
    use super::*;

    fn heatmap(systems: usize, criteria: usize) -> Heatmap {
        let row = |at: usize| HeatRow {
            text: format!(
                "{at} {}",
                "Names 名前 of a_mechanism and its source; ".repeat(5)
            ),
            shares: (0..systems)
                .map(|system| (system != 1).then(|| ((system + at) % 11) as f64 / 10.0))
                .collect(),
        };
        let group = |heading: &str, is_fault, rows: std::ops::Range<usize>| HeatGroup {
            heading: heading.to_owned(),
            is_fault,
            rows: rows.map(row).collect(),
        };
        Heatmap {
            systems: (0..systems)
                .map(|at| format!("system-{at:02}-{}", "long-name-e\u{301}-".repeat(5)))
                .collect(),
            groups: vec![
                group("Most important items of the rubric", false, 0..criteria / 2),
                group("Faults", true, criteria / 2..criteria),
            ],
            note: "Mean credit in percent. –: not judged".to_owned(),
        }
    }

    #[test]
    fn texts_of_few_and_of_many_systems_are_apart() {
        for (systems, criteria) in [(1, 2), (3, 20), (8, 20), (9, 20), (50, 20), (50, 40)] {
            for width in [150.0, 240.0, 504.0] {
                let style = FigureStyle { width, ..style() };
                let figure = heatmap(systems, criteria).figure(&style).unwrap();
                figure.assert_texts_are_apart();
            }
        }
        assert_eq!(heatmap(0, 2).figure(&style()), None);
        assert_eq!(heatmap(2, 0).figure(&style()), None);
    }

    #[test]
    fn cells_have_the_numbers_and_faults_a_color_and_an_edge_of_theirs() {
        let figure = heatmap(3, 2).figure(&style()).unwrap();
        let texts = figure.texts();
        // By row: 0, missing, 2 of 10; the fault 1, missing, 3 of 10.
        let numbers: Vec<&str> = texts
            .iter()
            .copied()
            .filter(|text| *text == "–" || text.parse::<usize>().is_ok())
            .collect();
        assert_eq!(numbers, ["0", "–", "20", "10", "–", "30"]);
        let mut cells = Vec::new();
        for shape in &figure.shapes {
            if let Shape::Rectangle(.., Paint { fill, edge }) = shape {
                cells.push((*fill, *edge));
            }
        }
        let credit = |percent| {
            (
                Ink::Tint(Hue::First, percent),
                Ink::Tint(Hue::First, percent),
            )
        };
        let fault = |percent| (Ink::Tint(Hue::Fault, percent), Ink::Data(Hue::Fault));
        // 6 + 84 * share
        assert_eq!(cells, [credit(6), credit(23), fault(14), fault(31)]);
    }

    #[test]
    fn many_systems_are_rows_and_the_criteria_have_numbers() {
        let wide = heatmap(50, 4).figure(&style()).unwrap();
        let texts = wide.texts();
        assert!(texts.starts_with(&["1", "2", "3", "4"]), "{texts:?}");
        assert!(
            texts.iter().any(|text| text.starts_with("3 Names")),
            "{texts:?}"
        );
    }

    #[test]
    fn columns_have_the_room_that_short_texts_leave() {
        let mut heatmap = heatmap(3, 4);
        for group in &mut heatmap.groups {
            for row in &mut group.rows {
                row.text = "length".to_owned();
            }
        }
        let across = FigureStyle {
            width: 504.0,
            ..style()
        };
        let figure = heatmap.figure(&across).unwrap();
        figure.assert_texts_are_apart();
        let widths = figure.shapes.iter().filter_map(|shape| match shape {
            Shape::Rectangle(_, size, _) => Some(size[0]),
            _ => None,
        });
        // Six letters take less than 6 * 0.6 * 8 = 29 of 504 points, and three columns the rest.
        let least = widths.fold(f64::MAX, f64::min);
        assert!(least > (504.0 - 29.0 - 8.0) / 3.0 - 2.0, "{least}");
        let bare = FigureStyle {
            has_notes: false,
            ..across
        };
        let bare = heatmap.figure(&bare).unwrap();
        assert!(
            bare.height < figure.height
                && !bare
                    .texts()
                    .iter()
                    .any(|text| text.starts_with("Mean credit"))
        );
    }
}
