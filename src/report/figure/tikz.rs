//! A figure as TikZ, for `\input` into a paper.

use super::palette::Ink;
use super::svg::short;
use super::{Align, Figure, Label, Paint, Shape};
use crate::report::latex::latex_text;

/// What is wider than its room is scaled down to it: a text in the font of the paper, a figure in a column, and characters that the
/// font does not have and that are given by number.
const TEXT_COMMAND: &str =
    "\\newcommand\\figuretextin[2]{\\resizebox{\\ifdim\\width>#1 #1\\else\\width\\fi}{!}{#2}}%\n";

/// A character that the fonts of pdflatex do not have: LuaLaTeX and XeLaTeX set it, if the font of the paper has it.
const CHARACTER_COMMAND: &str =
    "\\newcommand\\figurecharacter[2]{\\ifdefined\\Umathchardef#2\\else\\texttt{#1}\\fi}%\n";
/// How [`latex_text`] begins a character by number. No text of a file has it: its backslashes are spelled out.
const BY_NUMBER: &str = "\\texttt{U+";

impl Figure {
    /// The figure as a `tikzpicture`. It needs `\usepackage{tikz}`, and has the font of the text around it.
    pub fn tikz(&self) -> String {
        let mut out = format!("% needs \\usepackage{{tikz}}; {}\n", self.comment());
        // In a group, so that two figures in a paper may have different colors. Line ends would be spaces.
        out += "\\begingroup%\n";
        out += TEXT_COMMAND;
        out += CHARACTER_COMMAND;
        for ink in Ink::DEFINED {
            let digits = self.palette.hex(ink);
            out += &format!("\\definecolor{{{}}}{{HTML}}{{{digits}}}%\n", ink.name());
        }
        // The same coordinates as in SVG: big points, downwards.
        out += &format!(
            "\\figuretextin{{\\linewidth}}{{%\n\\begin{{tikzpicture}}[x=1bp,y=-1bp,font=\\fontsize{{{font}bp}}{{{font}bp}}\\selectfont,inner sep=0pt,line width=1bp]\n\
             \\useasboundingbox (0,0) rectangle ({},{});\n",
            short(self.width),
            short(self.height),
            font = short(self.font),
        );
        for shape in &self.shapes {
            out += &self.command(shape);
            out.push('\n');
        }
        out + "\\end{tikzpicture}}%\n\\endgroup\n"
    }

    /// What the figure shows, on one line.
    fn comment(&self) -> String {
        self.description.replace(['\n', '\r'], " ")
    }

    fn command(&self, shape: &Shape) -> String {
        match shape {
            Shape::Line(line) => {
                let [from, to] = [line.from, line.to].map(point);
                let width = short(line.width);
                format!(
                    "\\draw[{},line width={width}bp] {from} -- {to};",
                    line.ink.name()
                )
            }
            Shape::Rectangle(corner, size, paint) => {
                let end = [corner[0] + size[0], corner[1] + size[1]];
                let [corner, end] = [*corner, end].map(point);
                format!("{} {corner} rectangle {end};", filled(paint))
            }
            Shape::Circle(center, radius, paint) => {
                let radius = short(*radius);
                format!(
                    "{} {} circle[radius={radius}bp];",
                    filled(paint),
                    point(*center)
                )
            }
            Shape::Text(label) => self.node(label),
        }
    }

    fn node(&self, label: &Label) -> String {
        let anchor = match label.align {
            Align::Start => "base west",
            Align::Middle => "base",
            Align::End => "base east",
        };
        let rotated = if label.is_upright { ",rotate=90" } else { "" };
        let series = if label.is_bold { "\\bfseries " } else { "" };
        format!(
            "\\node[anchor={anchor},text={}{rotated}] at {} {{\\figuretextin{{{}bp}}{{{series}{}}}}};",
            label.ink.name(),
            point(label.at),
            short(label.width(self.font)),
            with_characters(&latex_text(&label.text)),
        )
    }
}

fn point(place: [f64; 2]) -> String {
    let [x, y] = place.map(short);
    format!("({x},{y})")
}

fn filled(paint: &Paint) -> String {
    let [edge, fill] = [paint.edge, paint.fill].map(Ink::name);
    format!("\\filldraw[draw={edge},fill={fill}]")
}

/// The text with the characters by number also as themselves.
fn with_characters(latex: &str) -> String {
    let mut parts = latex.split(BY_NUMBER);
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (digits, rest) = part.split_once('}').unwrap_or((part, ""));
        let number = u32::from_str_radix(digits, 16).ok();
        let character = number.and_then(char::from_u32).map(String::from);
        let character = character.unwrap_or_default();
        out += &format!("\\figurecharacter{{U+{digits}}}{{{character}}}{rest}");
    }
    out
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

    #[test]
    fn characters_without_a_glyph_are_for_other_engines_than_pdflatex() {
        assert_eq!(
            with_characters(&latex_text("a 模 \\texttt{U+0041}")),
            "a \\figurecharacter{U+6A21}{模} \\textbackslash{}texttt\\{U+0041\\}"
        );
    }
}
