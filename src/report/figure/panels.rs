//! A dot plot of two numbers that have different scales: rows with an axis for each.

use super::dots::{ROW, labels_width, push_row_label, row_labels};
use super::scale::{BELOW, FigureScale};
use super::{Figure, FigureStyle};
use crate::domain::Unit;
use crate::report::axis::Axis;

/// Two numbers a row, in panels side by side.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct PanelPlot {
    /// The left panel and the right one.
    pub(super) panels: [FigurePanel; 2],
    /// The rows, from the top.
    pub(super) rows: Vec<PanelRow>,
    /// What is written below them.
    pub(super) note: String,
}

/// What a panel shows.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct FigurePanel {
    /// The text below its axis.
    pub(super) axis: String,
    /// The unit of its numbers.
    pub(super) unit: Unit,
}

/// A row.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct PanelRow {
    /// Its name.
    pub(super) label: String,
    /// Its number in each panel.
    pub(super) values: [f64; 2],
}

impl PanelPlot {
    /// The plot in this style; `None` without rows.
    pub(super) fn figure(&self, style: &FigureStyle) -> Option<Figure> {
        let font = style.font;
        let names = self.rows.iter().map(|row| row.label.as_str());
        let labels = row_labels(names, style);
        let left = labels_width(&labels, font);
        let scales = self.scales(left, style)?;
        let mut figure = Figure::new(style, &self.description());
        let top = figure.height + 0.3 * font;
        let bottom = top + font * ROW * self.rows.len() as f64;
        let middle = f64::midpoint(scales[0].right, scales[1].left);
        let ends = [
            [0.0, middle - 0.3 * font],
            [middle + 0.3 * font, style.width],
        ];
        for ((scale, panel), ends) in scales.iter().zip(&self.panels).zip(ends) {
            scale.push(&mut figure, [top, bottom], panel.unit, (&panel.axis, ends));
        }
        for (at, (row, label)) in self.rows.iter().zip(labels).enumerate() {
            let y = top + font * ROW * (at as f64 + 0.5);
            push_row_label(&mut figure, left, y, label);
            for (panel, scale) in scales.iter().enumerate() {
                figure.push_dot([scale.x(row.values[panel]), y], panel, false);
            }
        }
        figure.end_at(bottom + (BELOW + 0.4) * font, style, &self.note);
        Some(figure)
    }

    /// The axes, of equal width.
    fn scales(&self, left: f64, style: &FigureStyle) -> Option<[FigureScale; 2]> {
        let font = style.font;
        let gap = 2.5 * font;
        // Half of the last number on an axis is beyond its end.
        let width = (style.width - 1.6 * font - left - gap) / 2.0;
        let scale = |panel: usize, left: f64| {
            let axis = Axis::around(self.rows.iter().map(|row| row.values[panel]))?;
            let right = left + width;
            Some(FigureScale { axis, left, right })
        };
        Some([scale(0, left)?, scale(1, left + width + gap)?])
    }

    fn description(&self) -> String {
        let [left, right] = &self.panels;
        let count = self.rows.len();
        format!(
            "{} and {} of {count} systems. {}",
            left.axis, right.axis, self.note
        )
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::style;
    use super::*;

    #[test]
    fn texts_of_fifty_systems_are_apart() {
        let panel = |axis: &str, unit| FigurePanel {
            axis: axis.to_owned(),
            unit,
        };
        let row = |at: usize| PanelRow {
            label: format!("System {at} of a laboratory with a name that is long, 北京大学"),
            values: [1.0 + at as f64 / 13.0, 0.5 + at as f64 / 120.0],
        };
        let plot = PanelPlot {
            panels: [
                panel("mean of people with a rather long name", Unit::Grade),
                panel("mean of gpt-oss-120b-instruct-awq", Unit::Share),
            ],
            rows: (0..50).map(row).collect(),
            note: "Agreement of both on answers, and a sentence that is longer than a column."
                .to_owned(),
        };
        plot.figure(&style()).unwrap().assert_texts_are_apart();
        let none = PanelPlot {
            rows: Vec::new(),
            ..plot
        };
        assert_eq!(none.figure(&style()), None);
    }
}
