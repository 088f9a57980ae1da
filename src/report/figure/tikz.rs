//! A figure as TikZ, for `\input` into a paper.

use super::palette::Ink;
use super::svg::short;
use super::{Align, Figure, Label, Shape};
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
            Shape::Rectangle {
                corner,
                size,
                fill,
                edge,
            } => format!(
                "\\filldraw[draw={},fill={}] ({},{}) rectangle ({},{});",
                edge.name(),
                fill.name(),
                short(corner[0]),
                short(corner[1]),
                short(corner[0] + size[0]),
                short(corner[1] + size[1]),
            ),
            Shape::Circle {
                center,
                radius,
                fill,
                edge,
            } => format!(
                "\\filldraw[draw={},fill={}] ({},{}) circle[radius={}bp];",
                edge.name(),
                fill.name(),
                short(center[0]),
                short(center[1]),
                short(*radius),
            ),
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
            "\\node[anchor={anchor},text={}{rotated}] at ({},{}) {{\\figuretextin{{{}bp}}{{{series}{}}}}};",
            label.ink.name(),
            short(label.at[0]),
            short(label.at[1]),
            short(label.width(self.font)),
            with_characters(&latex_text(&label.text)),
        )
    }
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
