//! The page of a certificate: its sentences and its tables.

use super::frame::{ended, head, joined};
use super::safety::push_html;
use super::table::{ShortLabels, push_notes, push_table};
use crate::report::certificate::{certificate_sentences, certificate_tables};
use crate::report::table::Table;
use crate::report::visible;
use crate::runs::Certificate;

const STYLE: &str = joined!("theme.css", "page.css");

/// The page as UTF-8.
pub(crate) fn certificate_page(certificate: &Certificate) -> Vec<u8> {
    let title = format!("Certificate: {}", certificate.judge);
    let sentences = certificate_sentences(certificate);
    plain_page(&title, &sentences, "", &certificate_tables(certificate))
}

/// A page without a script: a title, sentences, markup of ours such as a figure, and tables.
pub(super) fn plain_page(
    title: &str,
    sentences: &[String],
    figure: &str,
    tables: &[Table],
) -> Vec<u8> {
    let mut page = head(&format!("{} · scholareval", visible(title)), "", STYLE);
    push_html!(
        &mut page,
        "<main id=\"content\">\n<h1>{}</h1>\n",
        visible(title)
    );
    let mut class = "verdict";
    for sentence in sentences {
        push_html!(
            &mut page,
            "<p class=\"{}\">{}</p>\n",
            class,
            visible(sentence)
        );
        // What comes after the answer explains it.
        class = "details";
    }
    page.push_str(figure);
    let names = ShortLabels::default();
    for table in tables {
        push_html!(
            &mut page,
            "<section>\n  <h2>{}</h2>\n",
            visible(&table.title)
        );
        push_table(&mut page, &names, table);
        push_notes(&mut page, &table.notes);
        page.push_str("</section>\n");
    }
    page.push_str("</main>\n");
    ended(page, "")
}
