//! Replies of Jina's reader: `{code, data: {url, title, description, content, warning}}`.

use super::{Fields, RecordForm};
use crate::page::{PageBody, SavedPage};
use crate::sink::{Sink, SourcePlace};
use scholareval_core::error::Result;

pub(super) static JINA: RecordForm = RecordForm {
    fits: |fields| fields.object("data").is_some_and(|data| data.has("url")),
    read,
};

fn read(fields: &Fields<'_>, place: &SourcePlace, sink: &mut Sink<'_>) -> Result<()> {
    let Some(data) = fields.object("data") else {
        sink.other();
        return Ok(());
    };
    let warning = data.text("warning").unwrap_or_default();
    // The reader replies with the text of an error page as if it were the page.
    let body = if warning.contains("returned error") {
        PageBody::Failed(warning)
    } else {
        data.first_text(&["content", "text"])
            .map_or(PageBody::Nothing, PageBody::Text)
    };
    let mut page = SavedPage::new(data.text("url").unwrap_or_default(), body);
    page.title = data.text("title");
    sink.page(page, place)
}
