//! A [`Table`] as a LaTeX float.

use super::table::{Cell, Column, Format, Table};
use super::visible;

/// The label of a table, unless another is chosen.
pub const DEFAULT_LABEL: &str = "tab:results";

/// Characters in the widest row up to which a table stands in a column; a wider one crosses the page.
// About what a column of a two-column paper holds in \small.
const COLUMN_WIDTH: usize = 50;

/// Characters beyond those of fonts, each with its command.
const COMMANDS: &str = include_str!("latex_commands.txt");

impl Table {
    /// A float with `booktabs` rules that compiles as it is; title and warnings are its caption. A table that is wider
    /// than its column or page is scaled down to it. `label` is for `\ref`.
    pub fn latex(&self, label: &str) -> String {
        let is_wide = self.width() > COLUMN_WIDTH;
        let float = if is_wide { "table*" } else { "table" };
        let mut align = String::new();
        let mut headings = Vec::new();
        for column in &self.columns {
            let is_text = column.format == Format::Text;
            align.push(if is_text { 'l' } else { 'r' });
            headings.push(latex_text(&column.heading));
        }
        let mut out = format!(
            "% needs \\usepackage{{booktabs,graphicx}}\n\\begin{{{float}}}[t]\n\\centering\n\\caption{{{}}}\n\
             \\label{{{label}}}\n\\small\n\
             \\resizebox{{\\ifdim\\width>\\linewidth\\linewidth\\else\\width\\fi}}{{!}}{{%\n\
             \\begin{{tabular}}{{{align}}}\n\\toprule\n{}{} \\\\\n\\midrule\n",
            latex_text(&self.caption()),
            self.groups(),
            headings.join(" & ")
        );
        for (at, row) in self.rows.iter().enumerate() {
            let mut cells = Vec::new();
            for (place, (cell, column)) in row.iter().zip(&self.columns).enumerate() {
                cells.push(latex_cell(cell, column, self.is_best(at, place)));
            }
            out += &format!("{} \\\\\n", cells.join(" & "));
        }
        out + &format!("\\bottomrule\n\\end{{tabular}}}}\n\\end{{{float}}}\n")
    }

    /// The title and the warnings, as sentences.
    fn caption(&self) -> String {
        let mut caption = self.title.clone();
        if !self.title.ends_with(['.', '?', '!']) {
            caption.push('.');
        }
        for note in self.warnings() {
            caption.push(' ');
            caption += &note.text;
        }
        caption
    }

    /// The row of group headings with the rules below; empty without groups.
    fn groups(&self) -> String {
        if self.columns.iter().all(|column| column.group.is_empty()) {
            return String::new();
        }
        let mut cells = Vec::new();
        let mut rules = String::new();
        let mut first = 1;
        for columns in self.columns.chunk_by(|a, b| a.group == b.group) {
            let count = columns.len();
            let last = first + count - 1;
            let group = &columns[0].group;
            if group.is_empty() {
                cells.extend(vec![String::new(); count]);
            } else {
                let group = latex_text(group);
                cells.push(format!("\\multicolumn{{{count}}}{{c}}{{{group}}}"));
                rules.push_str(&format!("\\cmidrule(lr){{{first}-{last}}}"));
            }
            first = last + 1;
        }
        format!("{} \\\\\n{rules}\n", cells.join(" & "))
    }

    /// Characters in the widest row, with two between columns.
    fn width(&self) -> usize {
        let mut width = 0;
        for (at, column) in self.columns.iter().enumerate() {
            let cells = self.column_texts(at);
            let widest = cells.iter().map(|text| text.chars().count()).max();
            width += 2 + widest.unwrap_or(0).max(column.heading.chars().count());
        }
        width
    }
}

/// The source of a cell: number, raised flag, interval. The space before the interval breaks no line.
fn latex_cell(cell: &Cell, column: &Column, is_best: bool) -> String {
    let shown = column.shown(cell);
    let mut text = match cell {
        Cell::Text(text) => return latex_text(text),
        Cell::Missing => return "--".to_owned(),
        Cell::Value { .. } => latex_number(&shown.text),
    };
    if is_best {
        text = format!("\\textbf{{{text}}}");
    }
    if !shown.flag.is_empty() {
        text += &format!("$^{{\\textrm{{{}}}}}$", latex_text(&shown.flag));
    }
    if let Some(interval) = shown.interval {
        text.push('~');
        text += &latex_number(&interval);
    }
    text
}

/// Signs and comparisons in math mode: in text, a minus would be a hyphen and `<` another character.
fn latex_number(shown: &str) -> String {
    let mut text = String::new();
    for c in shown.chars() {
        match c {
            '-' => text.push_str("$-$"),
            '±' => text.push_str("$\\pm$"),
            '<' | '>' => text += &format!("${c}$"),
            '[' | ']' => text.push(c),
            c => text += &latex_text(&c.to_string()),
        }
    }
    text
}

/// Escapes text for pdflatex: commands are spelled out, and letters beyond Western European ones, for which the default
/// fonts have no glyph, are given by number.
pub(super) fn latex_text(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 8);
    for c in visible(text).chars() {
        match c {
            '\\' => out.push_str("\\textbackslash{}"),
            '\u{a0}' => out.push('~'),
            '~' => out.push_str("\\textasciitilde{}"),
            '^' => out.push_str("\\textasciicircum{}"),
            '<' => out.push_str("\\textless{}"),
            '>' => out.push_str("\\textgreater{}"),
            '|' => out.push_str("\\textbar{}"),
            '"' => out.push_str("\\char34{}"),
            // At the start of a row these would be arguments of the previous row's end.
            '[' | ']' | '*' => out.extend(['{', c, '}']),
            '&' | '%' | '$' | '#' | '_' | '{' | '}' => out.extend(['\\', c]),
            // Two of them would become a dash or another quotation mark.
            '-' | '`' | '\'' | ',' if out.ends_with(c) => {
                out.push_str("{}");
                out.push(c);
            }
            c if has_glyph(c) => out.push(c),
            other => match command_for(other) {
                Some(command) => out.push_str(command),
                None => out.push_str(&format!("\\texttt{{U+{:04X}}}", u32::from(other))),
            },
        }
    }
    out
}

/// What sets a usual character of scientific texts that the default fonts have elsewhere.
fn command_for(c: char) -> Option<&'static str> {
    let mut lines = COMMANDS.lines();
    lines.find_map(|line| line.strip_prefix(c)?.strip_prefix(' '))
}

/// Whether the default fonts of pdflatex have the character: ASCII, and Western European letters but for those that need the T1
/// encoding.
fn has_glyph(c: char) -> bool {
    c.is_ascii() || ('\u{c0}'..='\u{ff}').contains(&c) && !"ÐÞðþ×÷".contains(c)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{Note, Unit};
    use crate::stats::Interval;

    /// A table of so many metrics of a system.
    fn table(metrics: usize) -> Table {
        let mut table = Table::new("Means", vec![Column::new("system", Format::Text)]);
        table
            .columns
            .extend((0..metrics).map(|_| Column::metric("score", Unit::Share)));
        let value = Cell::estimate(
            Some(0.375),
            Some(Interval {
                low: 0.25,
                high: 0.5,
            }),
        )
        .flagged("ab");
        table
            .rows
            .push([vec![Cell::text("a|b_c")], vec![value; metrics]].concat());
        table
            .rows
            .push([vec![Cell::text("d")], vec![Cell::number(0.25); metrics]].concat());
        table.notes.push(Note::warning("50% of it."));
        table
    }

    #[test]
    fn a_float_has_booktabs_rules_and_its_notes_in_the_caption() {
        let shown = table(1).latex(DEFAULT_LABEL);
        assert!(
            shown.starts_with("% needs \\usepackage{booktabs,graphicx}\n\\begin{table}[t]\n"),
            "{shown}"
        );
        assert!(
            shown.contains("\\caption{Means. 50\\% of it.}\n\\label{tab:results}"),
            "{shown}"
        );
        assert!(
            shown.contains(
                "a\\textbar{}b\\_c & \\textbf{37.5}$^{\\textrm{ab}}$~[25.0, 50.0] \\\\\n"
            ),
            "{shown}"
        );
        assert_eq!(latex_text("a--b 模"), "a-{}-b \\texttt{U+6A21}");
        assert_eq!(latex_text("a—b… ≥1"), "a---b\\ldots{} $\\geq$1");
    }

    #[test]
    fn a_wide_table_crosses_the_page() {
        assert!(
            table(2).latex(DEFAULT_LABEL).contains("\\begin{table}[t]")
                && table(3).latex(DEFAULT_LABEL).contains("\\begin{table*}[t]")
        );
    }

    #[test]
    fn half_widths_and_groups() {
        let mut table = table(2);
        table.columns[2].half_widths = true;
        (1..3).for_each(|at| table.columns[at].group = "R&D".to_owned());
        let shown = table.latex("tab:other");
        assert!(
            shown.contains(
                " & \\multicolumn{2}{c}{R\\&D} \\\\\n\\cmidrule(lr){2-3}\nsystem & score"
            ),
            "{shown}"
        );
        assert!(
            shown.contains("~[25.0, 50.0] & \\textbf{37.5}$^{\\textrm{ab}}$~$\\pm$ 12.5 \\\\"),
            "{shown}"
        );
    }
}
