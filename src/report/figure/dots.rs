//! A dot plot: numbers with intervals, a row each, on one axis.

use super::palette::Ink;
use super::scale::{BELOW, FigureScale};
use super::words::{fitting, text_width};
use super::{Align, Figure, FigureStyle, Label};
use crate::domain::Unit;
use crate::report::axis::Axis;
use crate::stats::Interval;

/// Numbers with intervals in rows.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct DotPlot {
    /// What the axis shows: `score (%)`.
    pub(super) axis: String,
    /// The unit of the numbers.
    pub(super) unit: Unit,
    /// A line at this number.
    pub(super) reference: Option<f64>,
    /// Names of the series, if there are several.
    pub(super) series: Vec<String>,
    /// The rows, from the top.
    pub(super) rows: Vec<DotRow>,
}

/// A row.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct DotRow {
    /// Its name.
    pub(super) label: String,
    /// The name that is subtracted from it.
    pub(super) less: Option<String>,
    /// Its numbers, one for each series.
    pub(super) dots: Vec<Dot>,
}

/// A number.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Dot {
    /// The number.
    pub(super) value: f64,
    /// Its interval.
    pub(super) interval: Option<Interval>,
    /// Whether it is drawn hollow, as differences that are not significant are.
    pub(super) is_hollow: bool,
}

/// The largest share of the width that names of rows take.
const WIDEST_LABELS: f64 = 0.45;
/// Between the names of a difference.
const MINUS: &str = " – ";
/// The room of a dot in a legend with the space around it and its name, in sizes of the font.
const DOT_ROOM: f64 = 2.2;
/// The height of a row, in sizes of the font.
pub(super) const ROW: f64 = 1.7;

/// Where the parts of the plot are.
struct Layout {
    top: f64,
    bottom: f64,
    font: f64,
    scale: FigureScale,
}

impl Layout {
    fn y(&self, row: usize) -> f64 {
        self.top + self.font * ROW * (row as f64 + 0.5)
    }
}

impl DotPlot {
    /// The plot in this style; its height follows from the number of rows. `None` without a number.
    pub(super) fn figure(&self, style: &FigureStyle) -> Option<Figure> {
        if self.rows.is_empty() {
            return None;
        }
        let room = WIDEST_LABELS * style.width;
        let rows = self.rows.iter();
        let labels = rows.map(|row| row.fitting_label(room, style.font));
        let labels: Vec<String> = labels.collect();
        let mut figure = Figure::new(style, &self.description());
        let layout = self.layout(&figure, &labels)?;
        let area = [layout.top, layout.bottom];
        let ends = [0.0, style.width];
        layout
            .scale
            .push(&mut figure, area, self.unit, (&self.axis, ends));
        if let Some(reference) = self.reference {
            let x = layout.scale.x(reference);
            figure.push_line([x, layout.top], [x, layout.bottom], Ink::Axis, 0.8);
        }
        push_legend(&mut figure, &self.series);
        for (at, (row, label)) in self.rows.iter().zip(labels).enumerate() {
            push_row_label(&mut figure, layout.scale.left, layout.y(at), label);
            push_dots(&mut figure, &layout, at, row);
        }
        figure.height = layout.bottom + BELOW * style.font;
        Some(figure)
    }

    /// Where the parts are if the rows have these names; `None` without a number.
    fn layout(&self, figure: &Figure, labels: &[String]) -> Option<Layout> {
        let font = figure.font;
        let legend = legend_names(&self.series, figure.width, font);
        let top = figure.height + font * (0.3 + ROW * legend.len() as f64);
        Some(Layout {
            top,
            bottom: top + font * ROW * self.rows.len() as f64,
            font,
            scale: FigureScale {
                axis: self.scale_axis()?,
                left: labels_width(labels, font),
                // Half of the last number on the axis is beyond its end.
                right: figure.width - 1.6 * font,
            },
        })
    }

    fn scale_axis(&self) -> Option<Axis> {
        let reference = self.reference.map(|number| (number, None));
        let dots = self.rows.iter().flat_map(|row| &row.dots);
        Axis::around_estimates(
            reference
                .into_iter()
                .chain(dots.map(|dot| (dot.value, dot.interval))),
        )
    }

    /// `score (%): 3 rows from careful to vague`
    fn description(&self) -> String {
        let first = self.rows.first().map(DotRow::name).unwrap_or_default();
        let last = self.rows.last().map(DotRow::name).unwrap_or_default();
        let count = self.rows.len();
        format!("{}: {count} rows from {first} to {last}", self.axis)
    }
}

impl DotRow {
    /// `careful`, `careful – brief`
    fn name(&self) -> String {
        match &self.less {
            Some(less) => format!("{}{MINUS}{less}", self.label),
            None => self.label.clone(),
        }
    }

    /// The name cut to a width; of a difference both names, so that the pair stays readable.
    fn fitting_label(&self, width: f64, font: f64) -> String {
        let Some(less) = &self.less else {
            return fitting(&self.label, width, font);
        };
        let room = width - text_width(MINUS, font);
        let first = fitting(&self.label, room_beside(less, room, font), font);
        let second = fitting(less, room_beside(&self.label, room, font), font);
        format!("{first}{MINUS}{second}")
    }
}

/// The room for a name next to another one: half of it, and what the other one leaves.
fn room_beside(other: &str, room: f64, font: f64) -> f64 {
    (room - text_width(other, font)).max(room / 2.0)
}

/// The names of rows, cut to a share of the width.
pub(super) fn row_labels<'a>(
    names: impl Iterator<Item = &'a str>,
    style: &FigureStyle,
) -> Vec<String> {
    names
        .map(|name| fitting(name, WIDEST_LABELS * style.width, style.font))
        .collect()
}

/// The room for the names of rows, with the space after them.
pub(super) fn labels_width(labels: &[String], font: f64) -> f64 {
    let widths = labels.iter().map(|label| text_width(label, font));
    widths.fold(0.0, f64::max) + 0.8 * font
}

/// The name of a row before its middle.
pub(super) fn push_row_label(figure: &mut Figure, left: f64, y: f64, label: String) {
    let at = [left - 0.6 * figure.font, y + 0.35 * figure.font];
    figure.push_text(Label::new(at, Align::End, label));
}

/// The names of series as the lines of a legend have room for them; nothing for one series.
fn legend_names(series: &[String], width: f64, font: f64) -> Vec<Vec<String>> {
    let mut lines: Vec<Vec<String>> = Vec::new();
    if series.len() < 2 {
        return lines;
    }
    let mut end = f64::INFINITY;
    for name in series {
        let name = fitting(name, 0.4 * width, font);
        let room = DOT_ROOM * font + text_width(&name, font);
        if end + room > width {
            lines.push(Vec::new());
            end = 0.0;
        }
        end += room;
        if let Some(line) = lines.last_mut() {
            line.push(name);
        }
    }
    lines
}

/// The dots of several series with their names, above what follows; nothing for one series.
pub(super) fn push_legend(figure: &mut Figure, series: &[String]) {
    let font = figure.font;
    let mut place = 0;
    for (line, names) in legend_names(series, figure.width, font)
        .into_iter()
        .enumerate()
    {
        let y = figure.height + ROW * font * line as f64;
        let mut x = 0.3 * font;
        for name in names {
            figure.push_dot([x, y + 0.7 * font], place, false);
            x += 0.7 * font;
            let width = text_width(&name, font);
            let at = [x, y + 1.05 * font];
            figure.push_text(Label::new(at, Align::Start, name));
            x += width + 1.5 * font;
            place += 1;
        }
    }
}

/// The numbers of a row: intervals below dots, those of several series joined by a line.
fn push_dots(figure: &mut Figure, layout: &Layout, at: usize, row: &DotRow) {
    let y = layout.y(at);
    let x = |value| layout.scale.x(value);
    if row.dots.len() > 1 {
        let values = row.dots.iter().map(|dot| dot.value);
        let low = values.clone().fold(f64::INFINITY, f64::min);
        let high = values.fold(f64::NEG_INFINITY, f64::max);
        figure.push_line([x(low), y], [x(high), y], Ink::Axis, 0.5);
    }
    for (series, dot) in row.dots.iter().enumerate() {
        if let Some(interval) = dot.interval {
            let ink = Ink::of_series(series);
            figure.push_line([x(interval.low), y], [x(interval.high), y], ink, 1.0);
        }
        figure.push_dot([x(dot.value), y], series, dot.is_hollow);
    }
}

#[cfg(test)]
mod tests {
    use super::super::Shape;
    use super::super::tests::style;
    use super::*;

    fn plot(labels: &[&str]) -> DotPlot {
        let row = |(at, label): (usize, &&str)| DotRow {
            label: (*label).to_owned(),
            less: None,
            dots: vec![Dot {
                value: 0.1 * at as f64,
                interval: Some(Interval {
                    low: 0.1 * at as f64 - 0.05,
                    high: 0.1 * at as f64 + 0.05,
                }),
                is_hollow: false,
            }],
        };
        DotPlot {
            axis: "score (%)".to_owned(),
            unit: Unit::Share,
            reference: None,
            series: Vec::new(),
            rows: labels.iter().enumerate().map(row).collect(),
        }
    }

    #[test]
    fn no_two_texts_overlap_and_all_are_inside_with_fifty_long_names() {
        let names: Vec<String> = (0..50)
            .map(|at| {
                format!("SYSTEM-{at:02}-名前-with-a-name-of-sixty-characters-and-no-space-{at:02}")
            })
            .collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let figure = plot(&names).figure(&style()).unwrap();
        assert!(figure.texts().len() > 50);
        figure.assert_texts_are_apart();
    }

    #[test]
    fn a_difference_shows_both_names_and_without_any_there_is_no_figure() {
        let mut plot = plot(&["a-system-with-a-long-name-for-a-column-of-a-paper"]);
        plot.reference = Some(0.0);
        plot.rows[0].less = Some("b".to_owned());
        let figure = plot.figure(&style()).unwrap();
        figure.assert_texts_are_apart();
        let texts = figure.texts();
        assert!(
            texts
                .iter()
                .any(|text| text.starts_with("a-sys") && text.ends_with("paper – b")),
            "{texts:?}"
        );
        plot.rows.clear();
        assert_eq!(plot.figure(&style()), None);
    }

    #[test]
    fn six_series_have_a_legend_of_several_lines_and_marks_that_differ() {
        let mut plot = plot(&["a", "b"]);
        let names = ["one", "two", "three", "four", "five", "six"];
        plot.series = names.map(|name| format!("judge-number-{name}")).to_vec();
        for row in &mut plot.rows {
            row.dots = vec![row.dots[0]; 6];
        }
        let figure = plot.figure(&style()).unwrap();
        figure.assert_texts_are_apart();
        // The legend comes before the rows. Each mark has another form, filling or color.
        let mut marks: Vec<String> = Vec::new();
        for shape in &figure.shapes {
            match shape {
                Shape::Circle(_, _, paint) => marks.push(format!("circle {paint:?}")),
                Shape::Rectangle(_, _, paint) => marks.push(format!("square {paint:?}")),
                Shape::Line(_) | Shape::Text(_) => {}
            }
        }
        assert_eq!(
            marks.len(),
            18,
            "six in the legend, six in each of two rows"
        );
        marks.truncate(6);
        marks.sort();
        marks.dedup();
        assert_eq!(marks.len(), 6, "{marks:?}");
    }

    #[test]
    fn a_name_with_control_characters_leaves_valid_xml() {
        let name = "a\u{1b}[2J\u{0}\u{fffe}\u{ffff}";
        let svg = plot(&[name]).figure(&style()).unwrap().svg();
        let hostile = ['\u{1b}', '\u{0}', '\u{fffe}', '\u{ffff}'];
        assert!(!svg.contains(hostile), "{svg}");
    }

    #[test]
    fn dots_are_where_their_numbers_are_on_the_axis() {
        let figure = plot(&["a", "b", "c"]).figure(&style()).unwrap();
        let circles: Vec<f64> = figure
            .shapes
            .iter()
            .filter_map(|shape| match shape {
                Shape::Circle(center, ..) => Some(center[0]),
                _ => None,
            })
            .collect();
        assert_eq!(circles.len(), 3);
        assert!((circles[2] - circles[1] - (circles[1] - circles[0])).abs() < 0.1);
        assert_eq!(plot(&[]).figure(&style()), None);
    }
}
