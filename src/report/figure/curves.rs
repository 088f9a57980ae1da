//! Curves of the difference that a study finds, by its number of questions.

use super::dots::push_legend;
use super::palette::Ink;
use super::scale::ticks;
use super::words::{fitting, text_width};
use super::{Align, Figure, FigureStyle, Label};
use crate::domain::Unit;
use crate::report::axis::Axis;
use crate::report::table::Format;

/// Height of the plot as a share of the width: near the golden ratio.
const HEIGHT: f64 = 0.6;
/// Differences by numbers of questions.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct CurvePlot {
    /// The text along the axis of differences.
    pub(super) axis: String,
    /// The unit of differences.
    pub(super) unit: Unit,
    /// One or two curves.
    pub(super) curves: Vec<Curve>,
    /// Thin curves, between which the first one may be.
    pub(super) limits: Vec<Vec<[f64; 2]>>,
    /// What is written below the plot.
    pub(super) note: String,
}

/// A curve: numbers of questions with the differences that they find.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Curve {
    /// Its name.
    pub(super) name: String,
    /// Its points, by difference.
    pub(super) points: Vec<[f64; 2]>,
    /// The points that have a dot.
    pub(super) dots: Vec<[f64; 2]>,
}

impl Curve {
    /// Whether a point is on the curve: no study has fewer questions than it begins with, also for a difference that is larger.
    fn reaches(&self, [_, difference]: [f64; 2]) -> bool {
        let mut points = self.points.iter();
        points.any(|[_, on_curve]| *on_curve >= difference * 0.999)
    }
}

/// Where the axes are: that of questions is logarithmic.
struct Area {
    left: f64,
    right: f64,
    top: f64,
    bottom: f64,
    /// The first number of questions and the last one.
    ends: [f64; 2],
    axis: Axis,
}

impl Area {
    fn place(&self, [questions, difference]: [f64; 2]) -> [f64; 2] {
        [self.x(questions), self.y(self.axis.at(difference))]
    }

    fn x(&self, questions: f64) -> f64 {
        let [first, last] = self.ends;
        let share = (questions / first).ln() / (last / first).ln();
        self.left + (self.right - self.left) * share
    }

    fn y(&self, percent: f64) -> f64 {
        self.bottom - (self.bottom - self.top) * percent / 100.0
    }
}

impl CurvePlot {
    /// The plot in this style; `None` without a curve.
    pub(super) fn figure(&self, style: &FigureStyle) -> Option<Figure> {
        let mut figure = Figure::new(style, &format!("{}. {}", self.axis, self.note));
        let area = self.area(&figure)?;
        self.push_differences(&mut figure, &area);
        push_questions(&mut figure, &area);
        let names: Vec<String> = self.curves.iter().map(|curve| curve.name.clone()).collect();
        push_legend(&mut figure, &names);
        for limit in &self.limits {
            push_curve(&mut figure, &area, limit, Ink::Axis, 0.4);
        }
        for (series, curve) in self.curves.iter().enumerate() {
            push_curve(
                &mut figure,
                &area,
                &curve.points,
                Ink::of_series(series),
                1.2,
            );
            for dot in curve.dots.iter().filter(|dot| curve.reaches(**dot)) {
                figure.push_dot(area.place(*dot), series, false);
            }
        }
        figure.end_at(area.bottom + 3.6 * style.font, style, &self.note);
        Some(figure)
    }

    fn area(&self, figure: &Figure) -> Option<Area> {
        let font = figure.font;
        let mut questions = Vec::new();
        let mut differences = vec![0.0];
        let curves = self.curves.iter().map(|curve| &curve.points);
        for points in curves.chain(&self.limits) {
            for [count, difference] in points {
                questions.push(*count);
                differences.push(*difference);
            }
        }
        let least = questions.iter().copied().reduce(f64::min)?;
        let most = questions.iter().copied().fold(least, f64::max);
        let axis = Axis::around(differences)?;
        let numbers = ticks(&axis, self.unit);
        let widths = numbers.iter().map(|(_, number)| text_width(number, font));
        // From the left: the name of the axis, its numbers, the plot.
        let left = widths.fold(0.0, f64::max) + 2.0 * font;
        let ends = round_ends(least, most);
        let last = text_width(&Format::Count.show(ends[1]), font) / 2.0;
        let top = figure.height + font * if self.curves.len() > 1 { 2.2 } else { 0.8 };
        Some(Area {
            left,
            right: figure.width - last.max(0.4 * font),
            top,
            bottom: top + HEIGHT * figure.width,
            ends,
            axis,
        })
    }

    /// The grid of differences with its numbers, and along it what they are.
    fn push_differences(&self, figure: &mut Figure, area: &Area) {
        let font = figure.font;
        for (place, number) in ticks(&area.axis, self.unit) {
            let y = area.y(place);
            figure.push_line([area.left, y], [area.right, y], Ink::Grid, 0.5);
            let at = [area.left - 0.4 * font, y + 0.35 * font];
            figure.push_text(Label::new(at, Align::End, number));
        }
        let height = area.bottom - area.top;
        let name = fitting(&self.axis, height, font);
        let at = [0.9 * font, f64::midpoint(area.top, area.bottom)];
        figure.push_text(Label::new(at, Align::Middle, name).upright());
    }
}

/// The grid of numbers of questions, with their numbers and name below.
fn push_questions(figure: &mut Figure, area: &Area) {
    let font = figure.font;
    let mut last_end = f64::NEG_INFINITY;
    for questions in round_numbers(area.ends) {
        let x = area.x(questions);
        figure.push_line([x, area.top], [x, area.bottom], Ink::Grid, 0.5);
        let number = Format::Count.show(questions);
        let half = text_width(&number, font) / 2.0;
        if x - half > last_end + 0.5 * font {
            last_end = x + half;
            let at = [x, area.bottom + 1.6 * font];
            figure.push_text(Label::new(at, Align::Middle, number));
        }
    }
    let at = [
        f64::midpoint(area.left, area.right),
        area.bottom + 2.9 * font,
    ];
    figure.push_text(Label::new(at, Align::Middle, "questions"));
}

fn push_curve(figure: &mut Figure, area: &Area, points: &[[f64; 2]], ink: Ink, width: f64) {
    for two in points.windows(2) {
        figure.push_line(area.place(two[0]), area.place(two[1]), ink, width);
    }
}

/// The nearest of 1, 2 and 5 times powers of ten below and above these numbers.
fn round_ends(least: f64, most: f64) -> [f64; 2] {
    let numbers = round_numbers([1.0, 10.0 * most]);
    let numbers = numbers.into_iter();
    let below = numbers.clone().filter(|number| *number <= least);
    let low = below.fold(1.0, f64::max);
    let high = numbers.filter(|number| *number >= most && *number > low);
    [low, high.fold(10.0 * most, f64::min)]
}

/// 1, 2 and 5 times powers of ten, from the first number to the last one.
fn round_numbers([first, last]: [f64; 2]) -> Vec<f64> {
    let mut numbers = Vec::new();
    let mut power = 1.0;
    while power <= last {
        for factor in [1.0, 2.0, 5.0] {
            let number = factor * power;
            if number >= first && number <= last {
                numbers.push(number);
            }
        }
        power *= 10.0;
    }
    numbers
}

#[cfg(test)]
mod tests {
    use super::super::tests::style;
    use super::*;

    fn plot() -> CurvePlot {
        let points = |most: f64| {
            [0.01, 0.02, 0.05, 0.1]
                .map(|difference: f64| [most * (0.01 / difference).powi(2), difference])
                .to_vec()
        };
        let curve = |name: &str, most| Curve {
            name: name.to_owned(),
            points: points(most),
            dots: points(most),
        };
        CurvePlot {
            axis: "detectable difference in score (points)".to_owned(),
            unit: Unit::Share,
            curves: vec![curve("1 sample", 12_345.0), curve("5 samples", 8000.0)],
            limits: vec![points(9000.0), points(30_000.0)],
            note: "80% power at level 95%, planned from a pilot of 24 questions, of which none is left out.".to_owned(),
        }
    }

    #[test]
    fn texts_are_apart_and_the_axis_has_round_ends() {
        plot().figure(&style()).unwrap().assert_texts_are_apart();
        assert_eq!(round_ends(90.0, 30_000.0), [50.0, 50_000.0]);
        assert_eq!(round_ends(20.0, 20.0), [20.0, 50.0]);
        assert_eq!(round_numbers([20.0, 200.0]), [20.0, 50.0, 100.0, 200.0]);
    }

    #[test]
    fn without_a_curve_there_is_no_figure() {
        let none = CurvePlot {
            curves: Vec::new(),
            limits: Vec::new(),
            ..plot()
        };
        assert_eq!(none.figure(&style()), None);
    }
}
