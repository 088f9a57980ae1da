//! Figures for papers: a few shapes, written as SVG or as TikZ.
//!
//! A [`DotPlot`] has the numbers of a comparison; [`DotPlot::figure`] lays it out as a [`Figure`], a list of lines, circles and texts
//! in printer's points. [`Figure::svg`] and [`Figure::tikz`] write the same list, so that both forms look alike; TikZ has the font
//! of the paper around it.

mod dots;
mod results;
mod svg;
mod tikz;

pub use dots::{Dot, DotPlot, DotRow};
pub use results::{plot_of_judges, plot_of_means, plot_of_pairs};

/// The size of a figure.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FigureSize {
    /// Its width in points (1/72 inch).
    pub width: f64,
    /// The size of its texts in points.
    pub font: f64,
}

/// A laid out figure. Coordinates are points, from the upper left corner.
#[derive(Debug, Clone, PartialEq)]
pub struct Figure {
    width: f64,
    height: f64,
    font: f64,
    /// What it shows, for readers of screens.
    description: String,
    shapes: Vec<Shape>,
}

#[cfg(test)]
impl Figure {
    /// A figure of one text.
    fn of_text(description: &str, text: &str) -> Self {
        Self {
            width: 100.0,
            height: 33.333_333,
            font: 8.0,
            description: description.to_owned(),
            shapes: vec![Shape::Text {
                at: [1.0, 2.5],
                align: Align::End,
                text: text.to_owned(),
            }],
        }
    }
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
    Circle {
        center: [f64; 2],
        radius: f64,
        ink: Ink,
        /// Whether only its edge is drawn.
        is_hollow: bool,
    },
    Text {
        /// On the base line of the text.
        at: [f64; 2],
        align: Align,
        text: String,
    },
}

/// Which part of a text is at its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Align {
    Start,
    Middle,
    End,
}

/// A color. The two of data are those of M. Okabe and K. Ito, which people with color-blindness distinguish, and in gray they differ,
/// too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ink {
    Grid,
    Axis,
    First,
    Second,
}

impl Ink {
    const ALL: [Self; 4] = [Self::Grid, Self::Axis, Self::First, Self::Second];

    fn name(self) -> &'static str {
        match self {
            Self::Grid => "figuregrid",
            Self::Axis => "figureaxis",
            Self::First => "figurefirst",
            Self::Second => "figuresecond",
        }
    }

    /// Red, green and blue as hexadecimal digits.
    fn hex(self) -> &'static str {
        match self {
            Self::Grid => "DDDDDD",
            Self::Axis => "555555",
            Self::First => "0072B2",
            Self::Second => "E69F00",
        }
    }

    fn of_series(series: usize) -> Self {
        if series == 0 {
            Self::First
        } else {
            Self::Second
        }
    }
}
