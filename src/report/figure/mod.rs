//! Figures for papers: a few shapes, written as SVG or as TikZ.
//!
//! A [`DotPlot`], a [`Heatmap`], a [`PanelPlot`] or a [`PowerPlot`] has the numbers of a result (`results.rs` makes them); its `figure`
//! lays them out as a [`Figure`], a list of lines, rectangles, circles and texts in printer's points. [`Figure::svg`] and
//! [`Figure::tikz`] write the same list, so that both forms look alike; TikZ has the font of the paper around it.

mod dots;
mod heatmap;
mod palette;
mod panels;
mod power;
mod results;
mod scale;
mod svg;
mod tikz;
mod words;

pub use dots::{Dot, DotPlot, DotRow};
pub use heatmap::{HeatGroup, HeatRow, Heatmap};
pub use palette::Palette;
pub use panels::{FigurePanel, PanelPlot, PanelRow};
pub use power::{PowerCurve, PowerPlot};
pub use results::{
    plot_of_criteria, plot_of_judges, plot_of_labels, plot_of_means, plot_of_pairs, plot_of_power,
};

use palette::Ink;
use words::{LINE, bold, text_width, wrapped};

use crate::report::visible::visible;

/// Lines of a title at most.
const TITLE_LINES: usize = 4;

/// How a figure is drawn.
#[derive(Debug, Clone, PartialEq)]
pub struct FigureStyle {
    /// Its width in points (1/72 inch).
    pub width: f64,
    /// The size of its texts in points.
    pub font: f64,
    /// Its colors.
    pub palette: Palette,
    /// A title within it; papers have captions.
    pub title: Option<String>,
    /// Whether what the numbers are stands below it.
    pub has_notes: bool,
}

/// A laid out figure. Coordinates are points, from the upper left corner.
#[derive(Debug, Clone, PartialEq)]
pub struct Figure {
    width: f64,
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
    Line {
        from: [f64; 2],
        to: [f64; 2],
        ink: Ink,
        width: f64,
    },
    Rectangle {
        /// The upper left corner.
        corner: [f64; 2],
        size: [f64; 2],
        fill: Ink,
        /// The color of its edge.
        edge: Ink,
    },
    Circle {
        center: [f64; 2],
        radius: f64,
        fill: Ink,
        edge: Ink,
    },
    Text(Label),
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

impl Shape {
    /// The shape further down.
    fn lowered(self, by: f64) -> Self {
        let lower = |[x, y]: [f64; 2]| [x, y + by];
        match self {
            Self::Line {
                from,
                to,
                ink,
                width,
            } => Self::Line {
                from: lower(from),
                to: lower(to),
                ink,
                width,
            },
            Self::Rectangle {
                corner,
                size,
                fill,
                edge,
            } => Self::Rectangle {
                corner: lower(corner),
                size,
                fill,
                edge,
            },
            Self::Circle {
                center,
                radius,
                fill,
                edge,
            } => Self::Circle {
                center: lower(center),
                radius,
                fill,
                edge,
            },
            Self::Text(label) => Self::Text(Label {
                at: lower(label.at),
                ..label
            }),
        }
    }
}

impl FigureStyle {
    /// The lines of a note, at most so many; none without notes.
    fn note_lines(&self, note: &str, most: usize) -> Vec<String> {
        if self.has_notes {
            wrapped(note, self.width, self.font, most)
        } else {
            Vec::new()
        }
    }
}

impl Figure {
    /// An empty figure without a height. The description is cleaned: names are from files, and XML has no control characters.
    fn new(style: &FigureStyle, description: &str) -> Self {
        Self {
            width: style.width,
            height: 0.0,
            font: style.font,
            palette: style.palette,
            description: visible(description).into_owned(),
            shapes: Vec::new(),
        }
    }

    /// Its height in points, which follows from its contents.
    pub fn height(&self) -> f64 {
        self.height
    }

    fn push_line(&mut self, from: [f64; 2], to: [f64; 2], ink: Ink, width: f64) {
        self.shapes.push(Shape::Line {
            from,
            to,
            ink,
            width,
        });
    }

    fn push_text(&mut self, label: Label) {
        self.shapes.push(Shape::Text(label));
    }

    /// A number of a series: a circle, of the second series a square, so that they differ without color, too.
    fn push_dot(&mut self, center: [f64; 2], series: usize, is_hollow: bool) {
        let radius = 0.28 * self.font;
        let edge = Ink::of_series(series);
        let fill = if is_hollow { Ink::White } else { edge };
        self.shapes.push(if series == 0 {
            Shape::Circle {
                center,
                radius,
                fill,
                edge,
            }
        } else {
            Shape::Rectangle {
                corner: center.map(|coordinate| coordinate - 0.9 * radius),
                size: [1.8 * radius; 2],
                fill,
                edge,
            }
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

    /// The figure with its title above it, if it has one.
    fn titled(mut self, style: &FigureStyle) -> Self {
        let Some(title) = &style.title else {
            return self;
        };
        let lines = wrapped(title, self.width, bold(self.font), TITLE_LINES);
        let height = (lines.len() as f64 * LINE + 0.3) * self.font;
        let mut shapes = Vec::new();
        for (at, line) in lines.into_iter().enumerate() {
            let y = self.font * (0.9 + LINE * at as f64);
            shapes.push(Shape::Text(Label::new([0.0, y], Align::Start, line).bold()));
        }
        for shape in self.shapes {
            shapes.push(shape.lowered(height));
        }
        self.shapes = shapes;
        self.height += height;
        self
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
        let figure = Figure::of_text("", "shown");
        let [before, after] = [figure.clone(), figure.titled(&titled)];
        assert!(after.height > before.height + 2.0 * 8.0);
        let texts = after.texts();
        assert!(
            texts.len() > 2 && texts.last() == Some(&"shown"),
            "{texts:?}"
        );
    }
}
