//! The axis below a plot.

use super::palette::Ink;
use super::words::{LINE, fitting, text_width};
use super::{Align, Figure, Label};
use crate::domain::Unit;
use crate::report::axis::Axis;

/// A horizontal axis between two places.
pub(super) struct FigureScale {
    pub(super) axis: Axis,
    pub(super) left: f64,
    pub(super) right: f64,
}

/// The room below a plot for the numbers of its axis and its name, in sizes of the font.
pub(super) const BELOW: f64 = 3.0;

impl FigureScale {
    /// Where a number is.
    pub(super) fn x(&self, value: f64) -> f64 {
        self.left + (self.right - self.left) * self.axis.at(value) / 100.0
    }

    /// The grid from `top` to `bottom`, with its numbers below it, and below them what the axis shows, between `ends`.
    pub(super) fn push(
        &self,
        figure: &mut Figure,
        [top, bottom]: [f64; 2],
        unit: Unit,
        (name, ends): (&str, [f64; 2]),
    ) {
        let font = figure.font;
        let mut last_end = f64::NEG_INFINITY;
        for (place, number) in ticks(&self.axis, unit) {
            let x = self.left + (self.right - self.left) * place / 100.0;
            figure.push_line([x, top], [x, bottom], Ink::Grid, 0.5);
            let half = text_width(&number, font) / 2.0;
            // A narrow axis has room for every second number.
            if x - half > last_end + 0.3 * font && x + half <= figure.width {
                last_end = x + half;
                let at = [x, bottom + 1.1 * font];
                figure.push_text(Label::new(at, Align::Middle, number));
            }
        }
        let text = fitting(name, ends[1] - ends[0], font);
        // Below the middle of the axis, which may be narrower than the text.
        let half = text_width(&text, font) / 2.0;
        let middle = f64::midpoint(self.left, self.right).min(ends[1] - half);
        let y = bottom + (1.3 + LINE) * font;
        figure.push_text(Label::new(
            [middle.max(ends[0] + half), y],
            Align::Middle,
            text,
        ));
    }
}

/// The places of an axis in percent of its length, with their numbers: with a true minus, and without zeros that all have in common.
pub(super) fn ticks(axis: &Axis, unit: Unit) -> Vec<(f64, String)> {
    let mut ticks = axis.ticks(unit);
    while ticks
        .iter()
        .all(|(_, number)| number.contains('.') && number.ends_with('0'))
    {
        for (_, number) in &mut ticks {
            number.pop();
        }
    }
    for (_, number) in &mut ticks {
        *number = number.trim_end_matches('.').replace('-', "−");
    }
    ticks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_the_decimals_that_they_need() {
        let shown = |low: f64, high: f64, unit| -> Vec<String> {
            let axis = Axis::around([low, high]).unwrap();
            ticks(&axis, unit).into_iter().map(|tick| tick.1).collect()
        };
        assert_eq!(shown(1.0, 5.0, Unit::Grade), ["0", "2", "4", "6"]);
        assert_eq!(shown(3.5, 4.5, Unit::Grade), ["3.5", "4.0", "4.5"]);
        assert_eq!(shown(-0.1, 0.1, Unit::Share), ["−10", "0", "10"]);
    }
}
