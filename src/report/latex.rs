//! A [`Table`] as a LaTeX float that fits a column or a page.

use super::table::{Cell, Column, Format, Table};
use super::visible;

/// A way to set a table. The first one that is wide enough is taken.
struct Layout {
    /// The environment: `table` in a column, `table*` across the page.
    float: &'static str,
    /// Room for the table in em of `\small`, for usual document classes at 10 to 12 points.
    room: f64,
    font: &'static str,
    /// Size of the font, in that of `\small`.
    scale: f64,
    /// `\tabcolsep` in points.
    separation: u8,
    /// Whether intervals stand below the numbers instead of beside them.
    stacked: bool,
}

const COLUMN: Layout = Layout { float: "table", room: 21.5, font: "small", scale: 1.0, separation: 6, stacked: false };
const PAGE: Layout = Layout { float: "table*", room: 35.0, ..COLUMN };
const LAYOUTS: [Layout; 8] = [
    COLUMN,
    Layout { separation: 3, ..COLUMN },
    PAGE,
    Layout { separation: 3, ..PAGE },
    Layout { font: "footnotesize", scale: 0.92, separation: 3, ..PAGE },
    Layout { separation: 3, stacked: true, ..PAGE },
    Layout { font: "footnotesize", scale: 0.92, separation: 3, stacked: true, ..PAGE },
    Layout { font: "scriptsize", scale: 0.8, separation: 2, stacked: true, ..PAGE },
];

/// Size of intervals below numbers, in that of the numbers.
const STACKED: f64 = 0.85;

impl Table {
    /// A float with `booktabs` rules that compiles as it is; title and warnings are its caption. `label` is for `\ref`.
    pub fn latex(&self, label: &str) -> String {
        let fitting = LAYOUTS.iter().find(|layout| self.width(layout) <= layout.room);
        let layout = fitting.unwrap_or(&LAYOUTS[LAYOUTS.len() - 1]);
        let advice = if fitting.is_none() { "% wider than a page: show fewer columns or no intervals\n" } else { "" };
        let (float, font, separation) = (layout.float, layout.font, layout.separation);
        let mut caption = latex_text(&self.title);
        if !caption.is_empty() {
            caption.push('.');
        }
        for note in self.shown_notes(false) {
            caption.push(' ');
            caption.push_str(&latex_text(&note.text));
        }
        let align: String = self.columns.iter().map(|c| if c.format == Format::Text { 'l' } else { 'r' }).collect();
        let headings: Vec<String> = self.columns.iter().map(|column| latex_text(&column.heading)).collect();
        let mut out = format!(
            "% needs \\usepackage{{booktabs}}\n{advice}\\begin{{{float}}}[t]\n\\centering\n\\caption{{{}}}\n\
             \\label{{{}}}\n\\{font}\n\\setlength{{\\tabcolsep}}{{{separation}pt}}\n\\begin{{tabular}}{{{align}}}\n\
             \\toprule\n{}{} \\\\\n\\midrule\n",
            caption.trim(),
            latex_text(label),
            self.groups(),
            headings.join(" & ")
        );
        for (at, row) in self.rows.iter().enumerate() {
            let cells = || row.iter().zip(&self.columns);
            let number = |(place, (cell, column))| latex_cell(cell, column, self.is_best(at, place), layout.stacked);
            let numbers: Vec<String> = cells().enumerate().map(number).collect();
            out.push_str(&format!("{} \\\\\n", numbers.join(" & ")));
            let below: Vec<String> = cells().map(|(cell, column)| latex_interval(cell, column)).collect();
            if layout.stacked && below.iter().any(|interval| !interval.is_empty()) {
                let small =
                    |text: &String| if text.is_empty() { String::new() } else { format!("{{\\scriptsize {text}}}") };
                let small = below.iter().map(small);
                out.push_str(&format!("{} \\\\[3pt]\n", small.collect::<Vec<_>>().join(" & ")));
            }
        }
        out + &format!("\\bottomrule\n\\end{{tabular}}\n\\end{{{float}}}\n")
    }

    /// The row of group headings with the rules below; empty without groups.
    fn groups(&self) -> String {
        if self.columns.iter().all(|column| column.group.is_empty()) {
            return String::new();
        }
        let (mut cells, mut rules, mut first) = (Vec::new(), String::new(), 1);
        for columns in self.columns.chunk_by(|a, b| a.group == b.group) {
            let (count, last) = (columns.len(), first + columns.len() - 1);
            if columns[0].group.is_empty() {
                cells.extend(vec![String::new(); count]);
            } else {
                cells.push(format!("\\multicolumn{{{count}}}{{c}}{{{}}}", latex_text(&columns[0].group)));
                rules.push_str(&format!("\\cmidrule(lr){{{first}-{last}}}"));
            }
            first = last + 1;
        }
        format!("{} \\\\\n{rules}\n", cells.join(" & "))
    }

    /// Estimated width in em of `\small`.
    fn width(&self, layout: &Layout) -> f64 {
        let of_column = |(at, column): (usize, &Column)| {
            let cells = self.rows.iter().filter_map(|row| row.get(at));
            cells.map(|cell| cell_width(cell, column, layout.stacked)).fold(text_width(&column.heading), f64::max)
        };
        let columns: Vec<f64> = self.columns.iter().enumerate().map(of_column).collect();
        // A group's heading can be wider than its columns.
        let mut own = columns.iter();
        let groups = self.columns.chunk_by(|a, b| a.group == b.group);
        let total: f64 =
            groups.map(|group| own.by_ref().take(group.len()).sum::<f64>().max(text_width(&group[0].group))).sum();
        layout.scale * total + self.columns.len() as f64 * 2.0 * f64::from(layout.separation) / 9.0
    }
}

/// A cell; with `stacked`, without its interval.
fn latex_cell(cell: &Cell, column: &Column, is_best: bool, stacked: bool) -> String {
    match cell {
        Cell::Text(text) => latex_text(text),
        Cell::Missing => "--".to_owned(),
        Cell::Value { value, flag, .. } => {
            let number = latex_number(&column.format.show(*value));
            let number = if is_best { format!("\\textbf{{{number}}}") } else { number };
            let flag = latex_text(flag);
            let flag = if flag.is_empty() { flag } else { format!("$^{{\\textrm{{{flag}}}}}$") };
            let interval = if stacked { String::new() } else { latex_interval(cell, column) };
            number + &flag + if interval.is_empty() { "" } else { "~" } + &interval
        }
    }
}

/// The interval of a cell; empty without one.
fn latex_interval(cell: &Cell, column: &Column) -> String {
    match cell {
        Cell::Value { interval: Some(interval), .. } => latex_number(&column.show_interval(*interval)),
        _ => String::new(),
    }
}

fn latex_number(shown: &str) -> String {
    shown
        .chars()
        .map(|c| match c {
            '-' => "$-$".to_owned(),
            '±' => "$\\pm$".to_owned(),
            '<' | '>' => format!("${c}$"),
            '[' | ']' => c.to_string(),
            c => latex_text(&c.to_string()),
        })
        .collect()
}

fn cell_width(cell: &Cell, column: &Column, stacked: bool) -> f64 {
    match cell {
        Cell::Text(text) => text_width(text),
        Cell::Missing => 1.0,
        Cell::Value { value, interval, flag } => {
            // Bold is wider.
            let number = text_width(&column.format.show(*value)) * if column.highest_is_best { 1.15 } else { 1.0 };
            let number = number + 0.75 * text_width(flag);
            let interval =
                interval.map_or(0.0, |interval| text_width(" ") + text_width(&column.show_interval(interval)));
            if stacked { number.max(STACKED * interval) } else { number + interval }
        }
    }
}

/// Width of text in em, from above.
fn text_width(text: &str) -> f64 {
    let of = |c: char| match c {
        'i' | 'j' | 'l' | '.' | ',' | ':' | ';' | '!' | '|' | '\'' | '`' | '[' | ']' => 0.3,
        ' ' | 'f' | 't' | 'r' | 's' | 'I' | '(' | ')' => 0.41,
        'm' | 'w' | '%' | '&' | '@' | '+' | '-' | '±' | '<' | '>' | '=' | '~' | '#' => 0.86,
        'M' | 'W' => 1.05,
        c if c.is_ascii_uppercase() || ('\u{c0}'..='\u{ff}').contains(&c) => 0.8,
        c if c.is_ascii() => 0.57,
        // Shown by its number.
        _ => 4.5,
    };
    visible(text).chars().map(of).sum()
}

/// Escapes text for pdflatex: commands are spelled out, and letters beyond Western European ones, for which the default
/// fonts have no glyph, are given by number.
pub(super) fn latex_text(text: &str) -> String {
    visible(text).chars().fold(String::with_capacity(text.len() + 8), |mut out, c| {
        match c {
            '\\' => out.push_str("\\textbackslash{}"),
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
            '–' => out.push_str("--"),
            c if c.is_ascii() || ('\u{c0}'..='\u{ff}').contains(&c) && !"ÐÞðþ×÷".contains(c) => out.push(c),
            other => out.push_str(&format!("\\texttt{{U+{:04X}}}", u32::from(other))),
        }
        out
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{Note, Unit};
    use crate::stats::Interval;

    /// A table of so many metrics of a system.
    fn table(metrics: usize) -> Table {
        let mut table = Table::new("Means", vec![Column::new("system", Format::Text)]);
        table.columns.extend((0..metrics).map(|_| Column::metric("score", Unit::Share)));
        let value = Cell::estimate(Some(0.375), Some(Interval { low: 0.25, high: 0.5 })).flagged("ab");
        table.rows.push([vec![Cell::text("a|b_c")], vec![value; metrics]].concat());
        table.rows.push([vec![Cell::text("d")], vec![Cell::number(0.25); metrics]].concat());
        table.notes.push(Note::warning("50% of it."));
        table
    }

    #[test]
    fn a_float_has_booktabs_rules_and_its_notes_in_the_caption() {
        let shown = table(1).latex("tab:means");
        assert!(shown.starts_with("% needs \\usepackage{booktabs}\n\\begin{table}[t]\n"), "{shown}");
        assert!(shown.contains("\\caption{Means. 50\\% of it.}\n\\label{tab:means}"), "{shown}");
        assert!(shown.contains("a\\textbar{}b\\_c & \\textbf{37.5}$^{\\textrm{ab}}$~[25.0, 50.0] \\\\\n"), "{shown}");
        assert_eq!(latex_text("a--b 模"), "a-{}-b \\texttt{U+6A21}");
    }

    #[test]
    fn a_wide_table_crosses_the_page_then_stacks_its_intervals_then_says_that_it_is_too_wide() {
        assert!(table(3).latex("t").contains("\\begin{table*}[t]"));
        let stacked = table(5).latex("t");
        assert!(stacked.contains(" & {\\scriptsize [25.0, 50.0]} \\\\[3pt]\n"), "{stacked}");
        assert!(!stacked.contains("wider than a page") && table(20).latex("t").contains("% wider than a page"));
    }

    #[test]
    fn half_widths_and_groups() {
        let mut table = table(2);
        table.columns[2].half_widths = true;
        (1..3).for_each(|at| table.columns[at].group = "R&D".to_owned());
        let shown = table.latex("t");
        assert!(shown.contains(" & \\multicolumn{2}{c}{R\\&D} \\\\\n\\cmidrule(lr){2-3}\nsystem & score"), "{shown}");
        assert!(shown.contains("~[25.0, 50.0] & \\textbf{37.5}$^{\\textrm{ab}}$~$\\pm$ 12.5 \\\\"), "{shown}");
    }
}
