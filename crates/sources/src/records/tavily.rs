//! Replies of Tavily: `{results: [{url, raw_content}], failed_results: [{url, error}]}`. The `content` of a search is a
//! snippet; a judge would not find in it what the page says.

use super::{Fields, RecordForm, plain};
use crate::page::{PageBody, SavedPage};
use crate::sink::{Sink, SourcePlace};
use scholareval_core::error::Result;

pub(super) static TAVILY: RecordForm = RecordForm {
    fits: |fields| fields.has("results"),
    read,
};

fn read(fields: &Fields<'_>, place: &SourcePlace, sink: &mut Sink<'_>) -> Result<()> {
    for result in fields.list("results") {
        let Ok(result) = Fields::parse(result.get()) else {
            sink.broken(place.fault("a result that is not an object"))?;
            continue;
        };
        let Some(text) = result.first_text(&["raw_content"]) else {
            sink.other();
            continue;
        };
        let mut page = SavedPage::new(
            result.text("url").unwrap_or_default(),
            plain::text_or_failure(text),
        );
        page.title = result.text("title");
        sink.page(page, place)?;
    }
    for failed in fields.list("failed_results") {
        let Ok(failed) = Fields::parse(failed.get()) else {
            sink.broken(place.fault("a failed result that is not an object"))?;
            continue;
        };
        let message = failed
            .error("error")
            .unwrap_or_else(|| "the fetch failed".to_owned());
        let url = failed.text("url").unwrap_or_default();
        sink.page(SavedPage::new(url, PageBody::Failed(message)), place)?;
    }
    Ok(())
}
