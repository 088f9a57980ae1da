//! The file of a page: never written over something else, and whole or not at all.

use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use crate::cli::outputs::refuse_input;
use crate::error::{Error, InputFault, Result};
use crate::evaluation::record::RecordedRun;

/// How far into a file its generator is looked for; the head of a page ends its style sheet later, but names it before.
const HEAD: u64 = 4096;

/// Checks the place before the work: it is no file of a run, it is an earlier report if it is there at all, and it can be
/// written.
///
/// # Errors
/// When one of these does not hold.
pub(super) fn check(out: &Path, overwrite: bool, runs: &[RecordedRun]) -> Result<()> {
    let files =
        ["manifest.json", "inputs.jsonl", "calls.jsonl", "scores.jsonl", "summary.json", "summary.csv", "items.csv"];
    let inputs: Vec<PathBuf> = runs.iter().flat_map(|run| files.map(|file| run.path.join(file))).collect();
    refuse_input("--out", out, inputs.iter().map(PathBuf::as_path))?;
    if out.is_dir() {
        let hint = format!("name a file, such as {}", out.join("report.html").display());
        return Err(InputFault::new(out, "--out is a directory").hint(hint).into());
    }
    if out.exists() && !overwrite && !is_report(out)? {
        let fault = InputFault::new(out, "is there and is no report");
        return Err(fault.hint("name another file with --out, or add --overwrite").into());
    }
    let partial = partial(out);
    File::create(&partial).and_then(|_| std::fs::remove_file(&partial)).map_err(Error::io(out, "create"))
}

/// Whether a file is a page that was made here.
fn is_report(path: &Path) -> Result<bool> {
    let mut head = Vec::new();
    let file = File::open(path).map_err(Error::io(path, "read"))?;
    file.take(HEAD).read_to_end(&mut head).map_err(Error::io(path, "read"))?;
    let text = String::from_utf8_lossy(&head);
    Ok(text.starts_with("<!DOCTYPE html>") && text.contains("<meta name=\"generator\" content=\"scholareval "))
}

/// Writes the page beside its place, then moves it there.
///
/// # Errors
/// When it cannot be written; then nothing is left behind, and an earlier page stays as it was.
pub(super) fn write(out: &Path, page: &[u8]) -> Result<()> {
    let partial = partial(out);
    let written = File::create(&partial).and_then(|mut file| file.write_all(page).and_then(|()| file.sync_all()));
    written.and_then(|()| std::fs::rename(&partial, out)).map_err(|error| {
        let _ = std::fs::remove_file(&partial);
        Error::io(out, "write")(error)
    })
}

fn partial(out: &Path) -> PathBuf {
    let mut name = out.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.partial", std::process::id()));
    out.with_file_name(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_report_is_replaced_unasked() {
        let dir = tempfile::tempdir().unwrap();
        let out = dir.path().join("page.html");
        check(&out, false, &[]).unwrap();
        write(&out, b"<!DOCTYPE html><meta name=\"generator\" content=\"scholareval 1\">").unwrap();
        check(&out, false, &[]).unwrap();
        write(&out, b"<!DOCTYPE html><p>mine").unwrap();
        let error = check(&out, false, &[]).unwrap_err().to_string();
        assert!(error.contains("is no report") && error.contains("--overwrite"), "{error}");
        check(&out, true, &[]).unwrap();
        // Nothing of the work is left beside the page.
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_directory_and_a_place_that_is_not_there_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        assert!(check(dir.path(), true, &[]).unwrap_err().to_string().contains("report.html"));
        assert!(check(&dir.path().join("no/such/page.html"), false, &[]).is_err());
    }
}
