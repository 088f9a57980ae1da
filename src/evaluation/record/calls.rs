//! Reading calls back, one at a time: a run may have more of them than memory.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

use serde::de::DeserializeOwned;

use super::SCHEMA_VERSION;
use super::lines::CallLine;
use crate::error::{Error, InputFault, Result};

/// Hands every whole line of a `calls.jsonl` to `each`, in file order. A torn last line is left out.
///
/// # Errors
/// When the file cannot be read or a line is no call (the error names it), and what `each` fails with.
pub fn for_each_call(path: &Path, mut each: impl FnMut(CallLine) -> Result<()>) -> Result<()> {
    let file = File::open(path).map_err(Error::io(path, "read"))?;
    for_each_parsed(path, file, |number, call: CallLine| {
        if call.v > SCHEMA_VERSION {
            let what = format!("format {} is newer than this program's {SCHEMA_VERSION}", call.v);
            let fault = InputFault::new(path, what).at_line(number);
            return Err(fault.hint("use the version that wrote it, or a newer one").into());
        }
        each(call)
    })
}

/// Hands every whole line of a record, read, with its number to `each`. A line without an end is one that a kill tore.
pub(super) fn for_each_parsed<T: DeserializeOwned>(
    path: &Path,
    file: File,
    mut each: impl FnMut(usize, T) -> Result<()>,
) -> Result<()> {
    let (mut reader, mut line) = (BufReader::with_capacity(1 << 16, file), Vec::new());
    for number in 1.. {
        line.clear();
        reader.read_until(b'\n', &mut line).map_err(Error::io(path, "read"))?;
        if line.last() != Some(&b'\n') {
            break;
        }
        let unreadable = |error| InputFault::new(path, format!("no line of a run record: {error}")).at_line(number);
        each(number, serde_json::from_slice(&line).map_err(unreadable)?)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(item: &str, v: u32) -> String {
        format!(
            "{{\"v\":{v},\"call_id\":\"0\",\"system\":\"s\",\"case_id\":\"c\",\"item\":\"{item}\",\"kind\":\"property\",\
             \"role\":\"rubric\",\"judge\":\"j\",\"draw\":0,\"attempt\":0,\"fingerprint\":null,\"raw\":\"x\",\
             \"finish_reason\":null,\"model\":null,\"verdict\":null,\"reason\":null,\"reason_kind\":null,\"cached\":false,\
             \"prompt_tokens\":1,\"cached_prompt_tokens\":0,\"completion_tokens\":2,\"latency_ms\":3}}\n"
        )
    }

    fn items(text: &str) -> Result<Vec<String>> {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("calls.jsonl");
        std::fs::write(&path, text).expect("written");
        let mut items = Vec::new();
        for_each_call(&path, |call| {
            items.push(call.item);
            Ok(())
        })?;
        Ok(items)
    }

    #[test]
    fn calls_come_in_file_order_without_a_torn_last_line() {
        let text = line("a", 1) + &line("b", 1);
        assert_eq!(items(&text).expect("calls"), ["a", "b"]);
        assert_eq!(items(&text[..text.len() - 3]).expect("calls"), ["a"]);
        assert_eq!(items("").expect("calls"), [""; 0]);
    }

    #[test]
    fn a_broken_line_and_one_of_a_newer_format_are_named() {
        let broken = items(&(line("a", 1) + "{}\n")).expect_err("a fault").to_string();
        assert!(broken.contains("calls.jsonl:2: no line of a run record"), "{broken}");
        let newer = items(&line("a", 9)).expect_err("a fault").to_string();
        assert!(newer.contains("calls.jsonl:1: format 9 is newer"), "{newer}");
    }
}
