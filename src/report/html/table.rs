//! A [`Table`] as rows of an HTML table.

use std::collections::HashMap;

use super::safety::push_html;
use crate::analysis::comparison::Comparison;
use crate::domain::Note;
use crate::report::table::{Cell, Column, Format, Table, short_names};
use crate::report::visible;

/// The names of the systems as the page has room for them.
#[derive(Default)]
pub(super) struct ShortLabels(HashMap<String, String>);

impl ShortLabels {
    pub(super) fn of(comparison: &Comparison) -> Self {
        let labels = comparison.systems.iter().map(|system| &system.label);
        let short = short_names(labels.clone().map(String::as_str));
        Self(labels.cloned().zip(short).collect())
    }

    /// The short name of a label, or another text, with the places where the page may break it: names have few other places
    /// for a line break.
    pub(super) fn push(&self, page: &mut String, label: &str) {
        let name = match self.0.get(label) {
            Some(short) => short.clone(),
            None => visible(label).into_owned(),
        };
        for (at, piece) in name.split_inclusive(['_', '/', '-']).enumerate() {
            if at > 0 {
                page.push_str("<wbr>");
            }
            push_html!(page, "{}", piece);
        }
    }
}

/// Head and rows, in a table that scrolls sideways.
pub(super) fn push_table(page: &mut String, names: &ShortLabels, table: &Table) {
    page.push_str("  <table class=\"plain\">\n    <thead><tr>");
    push_headings(page, table);
    page.push_str("</tr></thead>\n    <tbody>");
    push_rows(page, names, table);
    page.push_str("\n    </tbody>\n  </table>\n");
}

/// The headings, each with its meaning as a tooltip.
pub(super) fn push_headings(page: &mut String, table: &Table) {
    for column in &table.columns {
        let heading = visible(&column.heading);
        push_html!(page, r#"<th scope="col"{}>"#, number_class(column));
        if column.meaning.is_empty() {
            push_html!(page, "{}</th>", heading);
        } else {
            push_html!(
                page,
                r#"<abbr tabindex="0" title="{}">{}</abbr></th>"#,
                column.meaning,
                heading
            );
        }
    }
}

/// The class of a heading.
pub(super) fn number_class(column: &Column) -> &'static str {
    if column.format == Format::Text {
        ""
    } else {
        " class=n"
    }
}

/// All rows, of nothing but their cells.
pub(super) fn push_rows(page: &mut String, names: &ShortLabels, table: &Table) {
    for row in 0..table.rows.len() {
        page.push_str("\n    <tr>");
        push_cells(page, names, table, row);
        page.push_str("</tr>");
    }
}

/// The cells of a row. Its name, the first one, and names of systems may be shortened: they have the full one as a tooltip.
pub(super) fn push_cells(page: &mut String, names: &ShortLabels, table: &Table, row: usize) {
    for (at, (cell, column)) in table.rows[row].iter().zip(&table.columns).enumerate() {
        let kind = if column.format == Format::Text {
            "words"
        } else {
            "n"
        };
        let best = if table.is_best(row, at) { " best" } else { "" };
        push_html!(
            page,
            r#"<td class="{}{}" data-heading="{}""#,
            kind,
            best,
            visible(&column.heading)
        );
        let mut shown = column.shown(cell);
        if *cell == Cell::Missing {
            shown.text = "\u{2013}".to_owned();
        }
        let text = &shown.text;
        if at == 0 || names.0.contains_key(text) {
            push_html!(page, r#" title="{}">"#, visible(text));
            names.push(page, text);
        } else {
            push_html!(page, ">{}", visible(text));
        }
        if !shown.flag.is_empty() {
            push_html!(page, "<sup>{}</sup>", visible(&shown.flag));
        }
        if let Some(interval) = &shown.interval {
            push_html!(page, " <small>{}</small>", interval);
        }
        page.push_str("</td>");
    }
}

/// The notes below a table; nothing without any.
pub(super) fn push_notes(page: &mut String, notes: &[Note]) {
    if notes.is_empty() {
        return;
    }
    page.push_str("  <ul class=\"notes\">");
    for note in notes {
        push_html!(page, "<li>{}</li>", visible(&note.text));
    }
    page.push_str("</ul>\n");
}
