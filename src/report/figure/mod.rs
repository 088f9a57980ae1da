//! Figures for papers, each one of [`FIGURES`], written as SVG or as TikZ.
//!
//! A [`RunFigure`] takes its numbers from runs into a plot of a few shapes (`dots`, `heatmap`, `panels`, `curves`). The plot lays
//! them out as a [`Figure`], a list of lines, rectangles, circles and texts in printer's points. [`Figure::svg`] and
//! [`Figure::tikz`] write the same list, so that both forms look alike; TikZ has the font of the paper around it.

mod criteria;
mod curves;
mod dots;
mod heatmap;
mod judges;
mod labels;
mod means;
mod pairs;
mod palette;
mod panels;
mod power;
mod registry;
mod run_figure;
mod scale;
mod style;
mod svg;
mod tikz;
mod words;

pub(crate) use judges::judges_figure;
pub use palette::Palette;
pub use registry::FIGURES;
pub use run_figure::{DrawnFigure, FigureOption, FigureOptions, FigureRequest, RunFigure};
pub use style::FigureStyle;

use palette::Ink;
use words::{LINE, bold, text_width, wrapped};

use crate::report::visible::visible;

/// Series that differ in color, form or filling: 3 colors times 4 marks.
const MOST_SERIES: usize = 12;

/// Lines of a title at most.
const TITLE_LINES: usize = 4;

/// A laid out figure. Coordinates are points, from the upper left corner.
#[derive(Debug, Clone, PartialEq)]
pub struct Figure {
    width: f64,
    /// The lower end of what is drawn so far.
    height: f64,
    font: f64,
    palette: Palette,
    /// What it shows, for readers of screens.
    description: String,
    shapes: Vec<Shape>,
}

/// What a figure is made of, in the order in which it is drawn.
#[derive(Debug, Clone, PartialEq)]
enum Shape {
    Line(Stroke),
    /// With its upper left corner and its size.
    Rectangle([f64; 2], [f64; 2], Paint),
    /// With its center and its radius.
    Circle([f64; 2], f64, Paint),
    Text(Label),
}

/// A straight line.
#[derive(Debug, Clone, PartialEq)]
struct Stroke {
    from: [f64; 2],
    to: [f64; 2],
    ink: Ink,
    width: f64,
}

/// The colors of a surface.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Paint {
    fill: Ink,
    edge: Ink,
}

/// A text.
#[derive(Debug, Clone, PartialEq)]
struct Label {
    /// On the base line of the text.
    at: [f64; 2],
    align: Align,
    text: String,
    ink: Ink,
    is_bold: bool,
    /// Whether it reads upwards.
    is_upright: bool,
}

/// Which part of a text is at its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Align {
    Start,
    Middle,
    End,
}

impl Label {
    fn new(at: [f64; 2], align: Align, text: impl Into<String>) -> Self {
        Self {
            at,
            align,
            text: text.into(),
            ink: Ink::Text,
            is_bold: false,
            is_upright: false,
        }
    }

    fn bold(self) -> Self {
        Self {
            is_bold: true,
            ..self
        }
    }

    fn upright(self) -> Self {
        Self {
            is_upright: true,
            ..self
        }
    }

    fn in_ink(self, ink: Ink) -> Self {
        Self { ink, ..self }
    }

    /// The width for which there is room.
    fn width(&self, font: f64) -> f64 {
        if self.is_bold {
            text_width(&self.text, bold(font))
        } else {
            text_width(&self.text, font)
        }
    }
}

impl Figure {
    /// A figure of nothing but its title, if it has one. The description is cleaned: names are from files, and XML has no control
    /// characters.
    fn new(style: &FigureStyle, description: &str) -> Self {
        let font = style.font;
        let mut figure = Self {
            width: style.width,
            height: 0.0,
            font,
            palette: style.palette,
            description: visible(description).into_owned(),
            shapes: Vec::new(),
        };
        if let Some(title) = &style.title {
            let lines = wrapped(title, style.width, bold(font), TITLE_LINES);
            figure.height = (lines.len() as f64 * LINE + 0.3) * font;
            for (at, line) in lines.into_iter().enumerate() {
                let y = font * (0.9 + LINE * at as f64);
                figure.push_text(Label::new([0.0, y], Align::Start, line).bold());
            }
        }
        figure
    }

    /// Its height in points, which follows from its contents.
    pub fn height(&self) -> f64 {
        self.height
    }

    fn push_line(&mut self, from: [f64; 2], to: [f64; 2], ink: Ink, width: f64) {
        self.shapes.push(Shape::Line(Stroke {
            from,
            to,
            ink,
            width,
        }));
    }

    fn push_text(&mut self, label: Label) {
        self.shapes.push(Shape::Text(label));
    }

    /// A number of a series: a circle, of the second series a square, and of the third and fourth both hollow, so that four differ
    /// without color.
    fn push_dot(&mut self, center: [f64; 2], series: usize, is_hollow: bool) {
        let radius = 0.28 * self.font;
        let edge = Ink::of_series(series);
        let is_filled = !is_hollow && series % 4 < 2;
        let fill = if is_filled { edge } else { Ink::White };
        let paint = Paint { fill, edge };
        self.shapes.push(if series.is_multiple_of(2) {
            Shape::Circle(center, radius, paint)
        } else {
            let corner = center.map(|coordinate| coordinate - 0.9 * radius);
            Shape::Rectangle(corner, [1.8 * radius; 2], paint)
        });
    }

    /// Lines of text from this base line on; the base line of what follows.
    fn push_lines(&mut self, at: [f64; 2], lines: Vec<String>) -> f64 {
        let mut y = at[1];
        for line in lines {
            self.push_text(Label::new([at[0], y], Align::Start, line));
            y += LINE * self.font;
        }
        y
    }

    /// Ends the figure here, with a note below it if the style has notes.
    fn end_at(&mut self, bottom: f64, style: &FigureStyle, note: &str) {
        let lines = style.note_lines(note);
        self.height = bottom + LINE * self.font * lines.len() as f64;
        self.push_lines([0.0, bottom + 0.8 * self.font], lines);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The width of a column of a paper, and small texts.
    pub(super) fn style() -> FigureStyle {
        FigureStyle {
            width: 240.0,
            font: 8.0,
            palette: Palette::DEFAULT.parse().unwrap(),
            title: None,
            has_notes: true,
        }
    }

    impl Figure {
        /// A figure of one text.
        pub(super) fn of_text(description: &str, text: &str) -> Self {
            let mut figure = Self {
                width: 100.0,
                height: 33.333_333,
                ..Self::new(&style(), "")
            };
            figure.description = description.to_owned();
            figure.push_text(Label::new([1.0, 2.5], Align::End, text));
            figure
        }

        /// The texts in the order in which they are drawn.
        pub(super) fn texts(&self) -> Vec<&str> {
            let mut texts = Vec::new();
            for shape in &self.shapes {
                if let Shape::Text(label) = shape {
                    texts.push(label.text.as_str());
                }
            }
            texts
        }

        /// Fails if two texts overlap, or one is not inside.
        #[track_caller]
        pub(super) fn assert_texts_are_apart(&self) {
            let boxes: Vec<(Bounds, &str)> = self
                .shapes
                .iter()
                .filter_map(|shape| bounds(shape, self.font))
                .collect();
            for (at, (bounds, text)) in boxes.iter().enumerate() {
                let is_inside = bounds.low[0] >= -0.01
                    && bounds.low[1] >= -0.01
                    && bounds.high[0] <= self.width + 0.01
                    && bounds.high[1] <= self.height + 0.01;
                assert!(
                    is_inside,
                    "{text:?} {bounds:?} of {} x {}",
                    self.width, self.height
                );
                for (other, other_text) in &boxes[at + 1..] {
                    let is_apart = (0..2).any(|axis| {
                        bounds.high[axis] <= other.low[axis] + 0.01
                            || other.high[axis] <= bounds.low[axis] + 0.01
                    });
                    assert!(is_apart, "{text:?} {bounds:?}, {other_text:?} {other:?}");
                }
            }
        }
    }

    /// The room that a text takes.
    #[derive(Debug)]
    struct Bounds {
        low: [f64; 2],
        high: [f64; 2],
    }

    fn bounds(shape: &Shape, font: f64) -> Option<(Bounds, &str)> {
        let Shape::Text(label) = shape else {
            return None;
        };
        let width = label.width(font);
        let before = match label.align {
            Align::Start => 0.0,
            Align::Middle => width / 2.0,
            Align::End => width,
        };
        let [x, y] = label.at;
        // Letters reach 0.8 of their size above the base line and 0.25 below it.
        let bounds = if label.is_upright {
            Bounds {
                low: [x - 0.8 * font, y + before - width],
                high: [x + 0.25 * font, y + before],
            }
        } else {
            Bounds {
                low: [x - before, y - 0.8 * font],
                high: [x - before + width, y + 0.25 * font],
            }
        };
        Some((bounds, label.text.as_str()))
    }

    #[test]
    fn a_title_is_above_everything_and_wrapped() {
        let mut titled = style();
        titled.title =
            Some("A title of many words that no column of a paper has on one line".to_owned());
        let figure = Figure::new(&titled, "");
        // Lines of 1.2 times the font, and the room below them.
        let lines = figure.texts().len();
        assert!(lines >= 2, "{:?}", figure.texts());
        assert!((figure.height - (1.2 * lines as f64 + 0.3) * 8.0).abs() < 1e-9);
    }
}
