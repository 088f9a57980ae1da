//! CSV after RFC 4180: a header, cells between commas, quotes around what holds a comma, a quote or a line break.

use std::path::Path;

use crate::error::InputFault;

/// A record with the 1-based line it begins on.
#[derive(Debug, PartialEq)]
pub(super) struct Record {
    pub(super) line: usize,
    pub(super) cells: Vec<String>,
}

/// The records of a text; empty lines are none.
///
/// # Errors
/// A quote that is never closed, or text outside a cell's quotes, at its line.
pub(super) fn records(text: &str, path: &Path) -> Result<Vec<Record>, InputFault> {
    let mut reader = Reader { rest: text, line: 1, path };
    let mut found = Vec::new();
    while !reader.rest.is_empty() {
        let record = reader.record()?;
        if record.cells != [""] {
            found.push(record);
        }
    }
    Ok(found)
}

struct Reader<'a> {
    rest: &'a str,
    line: usize,
    path: &'a Path,
}

impl Reader<'_> {
    fn record(&mut self) -> Result<Record, InputFault> {
        let line = self.line;
        let mut cells = Vec::new();
        loop {
            let cell = if self.rest.starts_with('"') { self.quoted()? } else { self.bare() };
            cells.push(cell);
            if let Some(rest) = self.rest.strip_prefix(',') {
                self.rest = rest;
                continue;
            }
            let after = self.rest.strip_prefix("\r\n").or_else(|| self.rest.strip_prefix(['\n', '\r']));
            self.rest = match after {
                Some(rest) => rest,
                None if self.rest.is_empty() => "",
                None => {
                    let fault = InputFault::new(self.path, "text after a closing quote").at_line(self.line);
                    return Err(fault.hint("put quotes around the whole cell, and write \"\" for a quote in it"));
                }
            };
            self.line += 1;
            return Ok(Record { line, cells });
        }
    }

    fn bare(&mut self) -> String {
        let end = self.rest.find([',', '\n', '\r']).unwrap_or(self.rest.len());
        let (cell, rest) = self.rest.split_at(end);
        self.rest = rest;
        cell.to_owned()
    }

    fn quoted(&mut self) -> Result<String, InputFault> {
        let opened = self.line;
        let mut cell = String::new();
        self.rest = &self.rest[1..];
        loop {
            let Some(end) = self.rest.find('"') else {
                let fault = InputFault::new(self.path, "a quote that is never closed").at_line(opened);
                return Err(fault.hint("close it with \", and write \"\" for a quote in a cell"));
            };
            cell.push_str(&self.rest[..end]);
            self.line += self.rest[..end].matches('\n').count();
            self.rest = &self.rest[end + 1..];
            match self.rest.strip_prefix('"') {
                Some(rest) => {
                    cell.push('"');
                    self.rest = rest;
                }
                None => return Ok(cell),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(text: &str) -> Vec<(usize, Vec<String>)> {
        let found = records(text, Path::new("l.csv")).unwrap();
        found.into_iter().map(|record| (record.line, record.cells)).collect()
    }

    fn cells(cells: &[&str]) -> Vec<String> {
        cells.iter().map(|cell| (*cell).to_owned()).collect()
    }

    #[test]
    fn quotes_keep_commas_quotes_and_line_breaks() {
        let found = read("a,b\r\n\"x, \"\"y\"\"\nz\",2\n\nlast,\n");
        assert_eq!(found[0], (1, cells(&["a", "b"])));
        assert_eq!(found[1], (2, cells(&["x, \"y\"\nz", "2"])));
        // lines 2 and 3 are one record, line 4 is empty
        assert_eq!(found[2], (5, cells(&["last", ""])));
        assert_eq!(read("a,b"), [(1, cells(&["a", "b"]))]);
        assert_eq!(read(""), []);
    }

    #[test]
    fn a_broken_quote_is_told_with_its_line() {
        let fault = |text| records(text, Path::new("l.csv")).unwrap_err().to_string();
        assert!(fault("a\n\"open\nmore").starts_with("l.csv:2: a quote that is never closed"));
        assert!(fault("a\n\"x\"y,2\n").starts_with("l.csv:2: text after a closing quote"));
    }

    proptest! {
        #[test]
        fn what_is_quoted_comes_back(rows in prop::collection::vec(prop::collection::vec("[a,\"\n é]{0,6}", 2), 1..6)) {
            let quoted = |cell: &String| format!("\"{}\"", cell.replace('"', "\"\""));
            let line = |row: &Vec<String>| row.iter().map(quoted).collect::<Vec<_>>().join(",") + "\n";
            let text: String = rows.iter().map(line).collect();
            let back: Vec<Vec<String>> = read(&text).into_iter().map(|(_, cells)| cells).collect();
            prop_assert_eq!(back, rows);
        }
    }
}
