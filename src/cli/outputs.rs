//! Checks that outputs do not overwrite inputs.

use std::path::Path;

use crate::error::{Error, Result};

/// Rejects an output that is one of the inputs, under any name.
///
/// # Errors
/// [`Error::Usage`], which names the option and the file.
pub(super) fn refuse_input<'a>(
    option: &str,
    out: &Path,
    inputs: impl IntoIterator<Item = &'a Path>,
) -> Result<()> {
    // An output that does not exist cannot be an input. Links and `..` make one file of many names.
    let Ok(target) = out.canonicalize() else {
        return Ok(());
    };
    for input in inputs {
        if input.canonicalize().is_ok_and(|input| input == target) {
            return Err(Error::Usage(format!(
                "{option} {}: this is the input {}; name another file",
                out.display(),
                input.display()
            )));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_input_is_not_written_over_under_another_name() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("a.json");
        std::fs::write(&file, "[]").unwrap();
        let same = dir.path().join(".").join("a.json");
        let error = refuse_input("--out", &same, [file.as_path()])
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("this is the input") && error.contains("a.json"),
            "{error}"
        );
        assert!(refuse_input("--out", &dir.path().join("b.json"), [file.as_path()]).is_ok());
    }
}
