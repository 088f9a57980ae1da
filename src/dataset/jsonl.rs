//! JSONL files: one JSON value a line, read in parallel, with every fault placed by file, line and case.

use std::path::Path;

use rayon::prelude::*;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::text_file::{as_text, read_bytes};
use crate::error::{Error, InputFault, Result};

/// How many lines are one task.
const TASK_LINES: usize = 256;

/// A line that is not blank.
#[derive(Debug, Clone, Copy)]
pub struct JsonLine<'a> {
    /// The file.
    pub path: &'a Path,
    /// 1-based line.
    pub number: usize,
    /// Position among the lines that are not blank, from 0.
    pub index: usize,
    /// The line without white space around it.
    pub text: &'a str,
}

impl<'a> JsonLine<'a> {
    /// A fault of this line.
    pub fn fault(&self, what: impl Into<String>) -> InputFault {
        InputFault::new(self.path, what).at_line(self.number)
    }

    /// The value of the line. `example` is a line as it should be.
    ///
    /// # Errors
    /// What is wrong and at which column; the case if the line names one.
    pub fn parse<T: Deserialize<'a>>(&self, example: &str) -> Result<T, InputFault> {
        serde_json::from_str(self.text).map_err(|error| {
            let message = error.to_string();
            let what = message.rsplit_once(" at line ").map_or(message.as_str(), |(what, _)| what);
            let fields: Map<String, Value> = serde_json::from_str(self.text).unwrap_or_default();
            let what = match (error.is_data(), what.starts_with("missing field")) {
                (false, _) => format!("invalid JSON at column {}: {what}", error.column()),
                (true, true) => format!("{what}; found {}", fields.keys().cloned().collect::<Vec<_>>().join(", ")),
                (true, false) => format!("{what} at column {}", error.column()),
            };
            let fault = self.fault(what).hint(format!("write one {example} per line"));
            match ["case_id", "claim_id", "id"].iter().find_map(|key| fields.get(*key)) {
                Some(Value::String(id)) => fault.of_case(id),
                Some(Value::Number(id)) => fault.of_case(id.to_string()),
                _ => fault,
            }
        })
    }
}

/// Reads every line of a file that is not blank.
///
/// # Errors
/// The faults of all lines in file order, or why the file cannot be read.
pub fn read_jsonl<T: Send>(
    path: &Path,
    read: impl Fn(&JsonLine<'_>) -> Result<T, Vec<InputFault>> + Sync,
) -> Result<Vec<T>> {
    parse_jsonl(&read_bytes(path)?.0, path, read)
}

/// [`read_jsonl`] of bytes that came from `path`.
///
/// # Errors
/// The faults of all lines in file order.
pub fn parse_jsonl<T: Send>(
    bytes: &[u8],
    path: &Path,
    read: impl Fn(&JsonLine<'_>) -> Result<T, Vec<InputFault>> + Sync,
) -> Result<Vec<T>> {
    let numbered = bytes.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii).enumerate();
    let lines: Vec<(usize, &[u8])> = numbered.filter(|(_, line)| !line.is_empty()).collect();
    let one = |(index, (number, bytes)): (usize, &(usize, &[u8]))| {
        let number = number + 1;
        let text = as_text(bytes, path, number).map_err(|fault| vec![fault])?;
        read(&JsonLine { path, number, index, text })
    };
    let read: Vec<Result<T, Vec<InputFault>>> =
        lines.par_iter().enumerate().with_min_len(TASK_LINES).map(one).collect();
    let (mut items, mut faults) = (Vec::with_capacity(read.len()), Vec::new());
    for item in read {
        match item {
            Ok(item) => items.push(item),
            Err(found) => faults.extend(found),
        }
    }
    if faults.is_empty() { Ok(items) } else { Err(Error::Input(faults)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq, Deserialize)]
    struct Item {
        id: u32,
        name: String,
    }

    fn read(text: &str) -> Result<Vec<(usize, Item)>> {
        parse_jsonl(text.as_bytes(), Path::new("f"), |line| {
            let item = line.parse("{\"id\": 1, \"name\": \"a\"}").map_err(|fault| vec![fault])?;
            Ok((line.number, item))
        })
    }

    #[test]
    fn blank_lines_count_as_lines_and_every_fault_is_reported_in_order() {
        let item = |id, name: &str| Item { id, name: name.to_owned() };
        let text = "\n{\"id\": 1, \"name\": \"a\"}\r\n  \n{\"name\": \"b\", \"id\": 2}";
        assert_eq!(read(text).unwrap(), [(2, item(1, "a")), (4, item(2, "b"))]);
        let text = "{\"id\": 7}\n{\"id\": \"x\", \"name\": \"\"}\n{\n[]";
        let faults = read(text).unwrap_err().to_string();
        let faults: Vec<&str> = faults.lines().collect();
        assert_eq!(
            faults[0],
            "f:1 (case 7): missing field `name`; found id; write one {\"id\": 1, \"name\": \"a\"} per line"
        );
        assert!(
            faults[1].starts_with("f:2 (case x): invalid type: string \"x\", expected u32 at column 10;"),
            "{faults:?}"
        );
        assert!(faults[2].starts_with("f:3: invalid JSON at column 1: EOF while parsing"), "{faults:?}");
        assert!(faults[3].starts_with("f:4: "), "{faults:?}");
    }

    #[test]
    fn one_thread_and_many_read_the_same() {
        let text: String = (0..2_000).map(|id| format!("{{\"id\": {id}, \"name\": \"{}\"}}\n", id % 50)).collect();
        let on = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| read(&text).unwrap())
        };
        assert_eq!(on(1), on(4));
        assert!(on(4).iter().enumerate().all(|(at, (line, _))| *line == at + 1));
    }
}
