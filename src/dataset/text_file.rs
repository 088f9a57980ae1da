//! Reading text files whose encoding is checked before anything else.

use std::path::Path;

use crate::domain::Fingerprint;
use crate::error::{Error, InputFault, Result};

use super::names::suggest;

/// The bytes of a file without a UTF-8 byte order mark, and their hash with it (a pipe can be read only once); a
/// missing file is an error that suggests close names.
pub(crate) fn read_bytes(path: &Path) -> Result<(Vec<u8>, Fingerprint)> {
    let mut bytes = std::fs::read(path).map_err(|error| {
        if error.kind() == std::io::ErrorKind::NotFound { no_such(path).into() } else { Error::io(path, "read")(error) }
    })?;
    let blake3 = blake3::hash(&bytes).into();
    if bytes.starts_with(b"\xef\xbb\xbf") {
        bytes.drain(..3);
    }
    Ok((bytes, blake3))
}

/// A fault for a path that does not exist.
pub(super) fn no_such(path: &Path) -> InputFault {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let Ok(entries) = std::fs::read_dir(parent) else {
        let hint = format!("the directory {} does not exist either", parent.display());
        return InputFault::new(path, "no such file or directory").hint(hint);
    };
    let mut names: Vec<String> =
        entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    let wanted = path.file_name().unwrap_or_default().to_string_lossy();
    // Whatever else lies there says nothing: only what has the same extension may be meant.
    let ending = |name: &str| Path::new(name).extension().map(|own| own.to_ascii_lowercase());
    let may_be_meant = |name: &&str| !name.starts_with('.') && ending(name) == ending(&wanted);
    let hint = suggest(&wanted, names.iter().map(String::as_str).filter(may_be_meant));
    InputFault::new(path, "no such file or directory").hint(hint)
}

/// The text of a line or file, or a fault that names the line (the first line of `bytes` is `first_line`).
pub(super) fn as_text<'a>(bytes: &'a [u8], path: &Path, first_line: usize) -> Result<&'a str, InputFault> {
    str::from_utf8(bytes).map_err(|error| {
        let before = &bytes[..error.valid_up_to()];
        let line_start = before.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        let line = first_line + before.iter().filter(|byte| **byte == b'\n').count();
        InputFault::new(path, format!("invalid UTF-8 at byte {} of the line", before.len() - line_start + 1))
            .at_line(line)
            .hint("save the file as UTF-8")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invalid_utf8_is_told_with_line_and_byte() {
        let fault = as_text(b"ab\nc\xffd", Path::new("f"), 1).unwrap_err();
        assert_eq!(fault.to_string(), "f:2: invalid UTF-8 at byte 2 of the line; save the file as UTF-8");
    }

    #[test]
    fn a_missing_file_suggests_its_neighbours() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("answers.jsonl"), "\u{feff}x").unwrap();
        assert_eq!(read_bytes(&dir.path().join("answers.jsonl")).unwrap().0, b"x");
        let error = read_bytes(&dir.path().join("anwsers.jsonl")).unwrap_err().to_string();
        assert!(error.ends_with("no such file or directory; did you mean answers.jsonl?"), "{error}");
        std::fs::write(dir.path().join("page.html"), "").unwrap();
        let error = read_bytes(&dir.path().join("claude.jsonl")).unwrap_err().to_string();
        assert!(error.ends_with("no such file or directory; known: answers.jsonl"), "{error}");
        let error = read_bytes(&dir.path().join("no/such")).unwrap_err().to_string();
        assert!(error.contains("does not exist either"), "{error}");
    }
}
