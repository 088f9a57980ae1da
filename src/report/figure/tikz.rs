//! A figure as TikZ, for `\input` into a paper.

use super::svg::short;
use super::{Align, Figure, Ink, Shape};
use crate::report::latex::latex_text;

impl Figure {
    /// The figure as a `tikzpicture`. It needs `\usepackage{tikz}`, and has the font of the text around it.
    pub fn tikz(&self) -> String {
        let mut out = format!("% needs \\usepackage{{tikz}}; {}\n", self.comment());
        for ink in Ink::ALL {
            out += &format!("\\definecolor{{{}}}{{HTML}}{{{}}}\n", ink.name(), ink.hex());
        }
        // The same coordinates as in SVG: big points, downwards.
        out += &format!(
            "\\begin{{tikzpicture}}[x=1bp,y=-1bp,font=\\fontsize{{{font}}}{{{font}}}\\selectfont,inner sep=0pt]\n\
             \\useasboundingbox (0,0) rectangle ({},{});\n",
            short(self.width),
            short(self.height),
            font = short(self.font),
        );
        for shape in &self.shapes {
            out += &command(shape);
            out.push('\n');
        }
        out + "\\end{tikzpicture}\n"
    }

    /// What the figure shows, on one line.
    fn comment(&self) -> String {
        self.description.replace(['\n', '\r'], " ")
    }
}

fn command(shape: &Shape) -> String {
    match shape {
        Shape::Line {
            from,
            to,
            ink,
            width,
        } => format!(
            "\\draw[{},line width={}bp] ({},{}) -- ({},{});",
            ink.name(),
            short(*width),
            short(from[0]),
            short(from[1]),
            short(to[0]),
            short(to[1]),
        ),
        Shape::Circle {
            center,
            radius,
            ink,
            is_hollow,
        } => {
            let fill = if *is_hollow { "white" } else { ink.name() };
            format!(
                "\\filldraw[draw={},fill={fill},line width=1bp] ({},{}) circle[radius={}bp];",
                ink.name(),
                short(center[0]),
                short(center[1]),
                short(*radius),
            )
        }
        Shape::Text { at, align, text } => {
            let anchor = match align {
                Align::Start => "base west",
                Align::Middle => "base",
                Align::End => "base east",
            };
            format!(
                "\\node[anchor={anchor}] at ({},{}) {{{}}};",
                short(at[0]),
                short(at[1]),
                latex_text(text),
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_escaped_and_the_comment_is_one_line() {
        let figure = Figure::of_text("a\n\\input{x}", "100% of $x_1$ \\input{y}");
        let tikz = figure.tikz();
        let first = tikz.lines().next().unwrap();
        assert!(
            first.starts_with('%') && first.ends_with("\\input{x}"),
            "{first}"
        );
        assert!(
            !tikz.contains("{\\input{y}") && tikz.contains("100\\% of \\$x\\_1\\$"),
            "{tikz}"
        );
    }
}
