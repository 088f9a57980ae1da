//! A dot plot: numbers with intervals, a row each, on one axis.

use super::{Align, Figure, FigureSize, Ink, Shape};
use crate::domain::Unit;
use crate::report::axis::Axis;
use crate::report::visible::{visible, without_middle};
use crate::stats::Interval;

/// Numbers with intervals in rows.
#[derive(Debug, Clone, PartialEq)]
pub struct DotPlot {
    /// What the axis shows: `score (%)`.
    pub axis: String,
    /// The unit of the numbers.
    pub unit: Unit,
    /// A line at this number.
    pub reference: Option<f64>,
    /// Names of the series, if there are two.
    pub series: Vec<String>,
    /// The rows, from the top.
    pub rows: Vec<DotRow>,
}

/// A row.
#[derive(Debug, Clone, PartialEq)]
pub struct DotRow {
    /// Its name.
    pub label: String,
    /// Its numbers, one for each series.
    pub dots: Vec<Dot>,
}

/// A number.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Dot {
    /// The number.
    pub value: f64,
    /// Its interval.
    pub interval: Option<Interval>,
    /// Whether it is drawn hollow, as differences that are not significant are.
    pub is_hollow: bool,
}

/// The largest share of the width that names of rows take.
const WIDEST_LABELS: f64 = 0.45;
/// The height of a row, in sizes of the font.
const ROW: f64 = 1.7;
/// The width of a character on average, in sizes of the font; that of a letter of CJK is 1.
const CHARACTER: f64 = 0.55;

/// Where the parts of the plot are.
struct Layout {
    left: f64,
    right: f64,
    top: f64,
    bottom: f64,
    font: f64,
    axis: Axis,
}

impl Layout {
    fn x(&self, value: f64) -> f64 {
        self.left + (self.right - self.left) * self.axis.at(value) / 100.0
    }

    fn y(&self, row: usize) -> f64 {
        self.top + self.font * ROW * (row as f64 + 0.5)
    }
}

impl DotPlot {
    /// The plot in this size; its height follows from the number of rows. `None` without a number.
    pub fn figure(&self, size: FigureSize) -> Option<Figure> {
        let font = size.font;
        let room = (WIDEST_LABELS * size.width / (CHARACTER * font)) as usize;
        let labels = self.rows.iter().map(|row| fitting(&row.label, room));
        let labels: Vec<String> = labels.collect();
        let layout = self.layout(size, &labels)?;
        let mut figure = Figure {
            width: size.width,
            // Below the rows: the numbers of the axis, and what it shows.
            height: layout.bottom + 3.4 * font,
            font,
            description: self.description(),
            shapes: Vec::new(),
        };
        self.push_axis(&mut figure, &layout);
        self.push_legend(&mut figure, &layout);
        for (at, (row, label)) in self.rows.iter().zip(labels).enumerate() {
            figure.push_text(
                [layout.left - 0.6 * font, layout.y(at) + 0.35 * font],
                Align::End,
                label,
            );
            push_dots(&mut figure, &layout, at, row);
        }
        Some(figure)
    }

    /// Where the parts are if the rows have these names; `None` without a number.
    fn layout(&self, size: FigureSize, labels: &[String]) -> Option<Layout> {
        let font = size.font;
        let widths = labels.iter().map(|label| text_width(label, font));
        let legend = if self.series.len() > 1 {
            font * ROW
        } else {
            0.0
        };
        let top = 0.3 * font + legend;
        Some(Layout {
            left: widths.fold(0.0, f64::max) + 0.8 * font,
            // Half of the last number on the axis stands beyond its end.
            right: size.width - 1.6 * font,
            top,
            bottom: top + font * ROW * self.rows.len() as f64,
            font,
            axis: Axis::around(self.numbers())?,
        })
    }

    /// Every number that the axis must hold.
    fn numbers(&self) -> Vec<f64> {
        let mut numbers = Vec::from_iter(self.reference);
        for dot in self.rows.iter().flat_map(|row| &row.dots) {
            numbers.push(dot.value);
            numbers.extend(dot.interval.iter().flat_map(|own| [own.low, own.high]));
        }
        numbers
    }

    /// `score (%): 3 rows from careful to vague`
    fn description(&self) -> String {
        let first = self.rows.first().map_or("", |row| &row.label);
        let last = self.rows.last().map_or("", |row| &row.label);
        // Names are from files, and XML has no control characters.
        visible(&format!(
            "{}: {} rows from {first} to {last}",
            self.axis,
            self.rows.len()
        ))
        .into_owned()
    }

    /// The grid with its numbers, the line of reference, and what the axis shows.
    fn push_axis(&self, figure: &mut Figure, layout: &Layout) {
        let font = layout.font;
        let width = layout.right - layout.left;
        for (place, number) in layout.axis.ticks(self.unit) {
            let x = layout.left + width * place / 100.0;
            figure.push_line([x, layout.top], [x, layout.bottom], Ink::Grid, 0.5);
            figure.push_text([x, layout.bottom + 1.3 * font], Align::Middle, number);
        }
        if let Some(reference) = self.reference {
            let x = layout.x(reference);
            figure.push_line([x, layout.top], [x, layout.bottom], Ink::Axis, 0.8);
        }
        let room = (figure.width / (CHARACTER * font)) as usize;
        let text = fitting(&self.axis, room);
        // Below the middle of the axis, which may be narrower than the text, and within the figure.
        let half = text_width(&text, font) / 2.0;
        let middle = f64::midpoint(layout.left, layout.right).min(figure.width - half);
        let at = [middle.max(half), layout.bottom + 2.8 * font];
        figure.push_text(at, Align::Middle, text);
    }

    fn push_legend(&self, figure: &mut Figure, layout: &Layout) {
        if self.series.len() < 2 {
            return;
        }
        let font = layout.font;
        let room = (0.4 * figure.width / (CHARACTER * font)) as usize;
        let mut x = font;
        for (series, name) in self.series.iter().enumerate() {
            let name = fitting(name, room);
            figure.shapes.push(Shape::Circle {
                center: [x, 0.7 * font],
                radius: 0.28 * font,
                ink: Ink::of_series(series),
                is_hollow: false,
            });
            x += 0.7 * font;
            let width = text_width(&name, font);
            figure.push_text([x, 1.05 * font], Align::Start, name);
            x += width + 1.5 * font;
        }
    }
}

/// The numbers of a row: intervals below dots, those of two series joined by a line.
fn push_dots(figure: &mut Figure, layout: &Layout, at: usize, row: &DotRow) {
    let y = layout.y(at);
    if let [first, .., last] = &row.dots[..] {
        figure.push_line(
            [layout.x(first.value), y],
            [layout.x(last.value), y],
            Ink::Axis,
            0.5,
        );
    }
    for (series, dot) in row.dots.iter().enumerate() {
        let ink = Ink::of_series(series);
        if let Some(interval) = dot.interval {
            let low = layout.x(interval.low);
            let high = layout.x(interval.high);
            figure.push_line([low, y], [high, y], ink, 1.0);
        }
        figure.shapes.push(Shape::Circle {
            center: [layout.x(dot.value), y],
            radius: 0.28 * layout.font,
            ink,
            is_hollow: dot.is_hollow,
        });
    }
}

impl Figure {
    fn push_line(&mut self, from: [f64; 2], to: [f64; 2], ink: Ink, width: f64) {
        self.shapes.push(Shape::Line {
            from,
            to,
            ink,
            width,
        });
    }

    fn push_text(&mut self, at: [f64; 2], align: Align, text: String) {
        self.shapes.push(Shape::Text { at, align, text });
    }
}

/// The text without control characters, cut in its middle to so many characters of average width.
fn fitting(text: &str, room: usize) -> String {
    let mut shown = without_middle(&visible(text), room);
    let mut limit = room;
    while text_width(&shown, 1.0) > room as f64 * CHARACTER && limit > 4 {
        limit -= 1;
        shown = without_middle(&visible(text), limit);
    }
    shown
}

/// About how wide a text is. The width of letters depends on the font, which a figure does not know.
fn text_width(text: &str, font: f64) -> f64 {
    let mut width = 0.0;
    for c in text.chars() {
        width += if is_wide(c) { 1.0 } else { CHARACTER };
    }
    width * font
}

/// Whether a character is as wide as it is high: CJK, full width forms, pictures.
fn is_wide(c: char) -> bool {
    matches!(u32::from(c), 0x1100..=0x115F | 0x2E80..=0xA4CF | 0xAC00..=0xD7A3 | 0xF900..=0xFAFF | 0xFE30..=0xFE6F | 0xFF00..=0xFF60 | 0x1F300..)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZE: FigureSize = FigureSize {
        width: 240.0,
        font: 8.0,
    };

    fn plot(labels: &[&str]) -> DotPlot {
        let row = |(at, label): (usize, &&str)| DotRow {
            label: (*label).to_owned(),
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

    /// The box of a text: left, right, upper and lower end.
    fn box_of(shape: &Shape) -> Option<[f64; 4]> {
        let Shape::Text { at, align, text } = shape else {
            return None;
        };
        let width = text_width(text, SIZE.font);
        let left = match align {
            Align::Start => at[0],
            Align::Middle => at[0] - width / 2.0,
            Align::End => at[0] - width,
        };
        Some([
            left,
            left + width,
            at[1] - SIZE.font,
            at[1] + 0.3 * SIZE.font,
        ])
    }

    #[test]
    fn no_two_texts_overlap_and_all_are_inside_with_fifty_long_names() {
        let names: Vec<String> = (0..50)
            .map(|at| {
                format!("system-{at:02}-名前-with-a-name-of-sixty-characters-and-no-space-{at:02}")
            })
            .collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let figure = plot(&names).figure(SIZE).unwrap();
        let boxes: Vec<[f64; 4]> = figure.shapes.iter().filter_map(box_of).collect();
        assert!(boxes.len() > 50);
        for (at, one) in boxes.iter().enumerate() {
            assert!(
                one[0] >= 0.0 && one[1] <= figure.width && one[3] <= figure.height,
                "{one:?}"
            );
            for other in &boxes[at + 1..] {
                let apart = one[1] <= other[0]
                    || other[1] <= one[0]
                    || one[3] <= other[2]
                    || other[3] <= one[2];
                assert!(apart, "{one:?} {other:?}");
            }
        }
    }

    #[test]
    fn a_name_with_control_characters_leaves_valid_xml() {
        let svg = plot(&["a\u{1b}[2J\u{0}"]).figure(SIZE).unwrap().svg();
        assert!(!svg.contains('\u{1b}') && !svg.contains('\u{0}'), "{svg}");
    }

    #[test]
    fn dots_are_where_their_numbers_are_on_the_axis() {
        let figure = plot(&["a", "b", "c"]).figure(SIZE).unwrap();
        let circles: Vec<f64> = figure
            .shapes
            .iter()
            .filter_map(|shape| match shape {
                Shape::Circle { center, .. } => Some(center[0]),
                _ => None,
            })
            .collect();
        assert_eq!(circles.len(), 3);
        assert!((circles[2] - circles[1] - (circles[1] - circles[0])).abs() < 0.1);
        assert_eq!(plot(&[]).figure(SIZE), None);
    }
}
