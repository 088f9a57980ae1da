//! Logs of Inspect: the pages that tools fetched while an answer was written. A tool event has the address among its
//! arguments and the page as its result; long results are attachments of the sample.

use serde_json::value::RawValue;

use super::{Fields, RecordForm, string};
use crate::page::{PageBody, SavedPage};
use crate::sink::{Sink, SourcePlace};
use scholareval_core::error::Result;

pub(super) static INSPECT_LOG: RecordForm = RecordForm {
    fits: |fields| fields.has("eval") && fields.has("samples"),
    read: |fields, place, sink| {
        for sample in fields.list("samples") {
            read_inspect_sample(sample.get(), place, sink)?;
        }
        Ok(())
    },
};

/// How a log refers to a long text.
const ATTACHMENT: &str = "attachment://";

/// How tools that report failures as text begin it.
const FAILED: &str = "Error";

/// The longest text that is taken for such a failure, in bytes: pages begin with this word, too.
const FAILED_BYTES: usize = 500;

/// Reads one sample of a log.
///
/// # Errors
/// When its pages cannot be written, or too many samples are broken.
pub(crate) fn read_inspect_sample(
    json: &str,
    place: &SourcePlace,
    sink: &mut Sink<'_>,
) -> Result<()> {
    let sample = match Fields::parse(json) {
        Ok(sample) => sample,
        Err(what) => return sink.broken(place.fault(what)),
    };
    let attachments = sample.object("attachments");
    for event in sample.list("events") {
        let Ok(event) = Fields::parse(event.get()) else {
            continue;
        };
        if event.text("event").as_deref() != Some("tool") {
            continue;
        }
        let url = event
            .object("arguments")
            .and_then(|arguments| arguments.text("url"));
        match url.map(|url| page(url, &event, attachments.as_ref())) {
            Some(Ok(page)) => sink.page(page, place)?,
            Some(Err(what)) => sink.broken(place.fault(what))?,
            None => {}
        }
    }
    // A sample counts, though none of its tools may fetch pages.
    sink.other();
    Ok(())
}

fn page(
    url: String,
    event: &Fields<'_>,
    attachments: Option<&Fields<'_>>,
) -> Result<SavedPage, String> {
    let text = event
        .0
        .get("result")
        .map_or_else(String::new, |result| result_text(result, attachments));
    let is_failure = text.starts_with(FAILED) && text.len() <= FAILED_BYTES;
    let body = if let Some(error) = event.error("error") {
        PageBody::Failed(error)
    } else if is_failure {
        PageBody::Failed(text)
    } else {
        PageBody::Text(text)
    };
    let mut page = SavedPage::new(url, body);
    page.retrieved_at = event.moment("timestamp")?;
    if event.is_set("truncated") {
        page.cut_by = Some("the tool cut the text".to_owned());
    }
    Ok(page)
}

/// The result of a tool: a text, or a list of parts with texts.
fn result_text(result: &RawValue, attachments: Option<&Fields<'_>>) -> String {
    if let Some(text) = string(result) {
        return attached(text, attachments);
    }
    let parts: Vec<&RawValue> = serde_json::from_str(result.get()).unwrap_or_default();
    let mut texts = Vec::new();
    for part in parts {
        let text = Fields::parse(part.get())
            .ok()
            .and_then(|part| part.text("text"));
        texts.extend(text.map(|text| attached(text, attachments)));
    }
    texts.join("\n\n")
}

/// The text itself, where the log has it elsewhere.
fn attached(text: String, attachments: Option<&Fields<'_>>) -> String {
    let name = text
        .strip_prefix(ATTACHMENT)
        .filter(|name| !name.contains(char::is_whitespace));
    let attachment = name.and_then(|name| attachments?.text(name));
    attachment.unwrap_or(text)
}
