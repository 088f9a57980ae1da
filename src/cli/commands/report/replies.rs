//! Raw replies out of `calls.jsonl`.

use std::fs::File;
use std::io::{BufRead, BufReader, ErrorKind};
use std::path::Path;

use crate::error::{Error, InputFault, Result};
use crate::evaluation::record::CallLine;
use crate::report::html::HtmlReply;

/// Every reply of a run, in the order of the file; none where the file is not there. A last line without an end is one
/// that a kill tore, and is left out.
///
/// # Errors
/// When the file cannot be read or a whole line is no call.
pub(super) fn load_replies(run: &Path) -> Result<Vec<HtmlReply>> {
    let path = run.join("calls.jsonl");
    let file = match File::open(&path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(Error::io(&path, "read")(error)),
    };
    let mut replies = Vec::new();
    let (mut reader, mut line) = (BufReader::new(file), Vec::new());
    for number in 1.. {
        line.clear();
        reader.read_until(b'\n', &mut line).map_err(Error::io(&path, "read"))?;
        if line.last() != Some(&b'\n') {
            break;
        }
        let call: CallLine = serde_json::from_slice(&line).map_err(|error| {
            InputFault::new(&path, format!("no line of a run record: {error}"))
                .at_line(number)
                .hint("score the run again, or leave replies out with --no-replies")
        })?;
        replies.push(HtmlReply {
            system: call.system,
            case_id: call.case_id,
            role: call.role,
            item: call.item,
            judge: call.judge,
            draw: call.draw,
            attempt: call.attempt,
            raw: call.raw,
            reason: call.reason,
            note: call.note,
        });
    }
    Ok(replies)
}
