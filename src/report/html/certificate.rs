//! The page of a certificate: its sentences and its tables.

use super::frame::{ended, head};
use super::safety::push_html;
use super::table::{ShortLabels, push_notes, push_table};
use crate::report::certificate::{certificate_sentences, certificate_tables};
use crate::report::visible;
use crate::runs::Certificate;

const STYLE: &str = concat!(include_str!("theme.css"), "\n", include_str!("page.css"));

/// The page as UTF-8.
pub(crate) fn certificate_page(certificate: &Certificate) -> Vec<u8> {
    let title = format!("Certificate of {}", certificate.judge);
    let mut page = head(&format!("{} · scholareval", visible(&title)), "", STYLE);
    push_html!(
        &mut page,
        "<main id=\"content\">\n<h1>{}</h1>\n",
        visible(&title)
    );
    for sentence in certificate_sentences(certificate) {
        push_html!(
            &mut page,
            "<p class=\"verdict\">{}</p>\n",
            visible(&sentence)
        );
    }
    let names = ShortLabels::default();
    for table in certificate_tables(certificate) {
        push_html!(
            &mut page,
            "<section>\n  <h2>{}</h2>\n",
            visible(&table.title)
        );
        push_table(&mut page, &names, &table);
        push_notes(&mut page, &table.notes);
        page.push_str("</section>\n");
    }
    page.push_str("</main>\n");
    ended(page, "")
}
