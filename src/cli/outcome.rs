//! How the program ended, for a program that started it.
//!
//! The exit code says it, but where a parent ignores SIGCHLD the system keeps none, and a line of standard error cannot name
//! every path. A caller makes an empty file and names it in `SCHOLAREVAL_OUTCOME`; the program appends `NAME=VALUE` fields, a
//! NUL byte after each: `run`, the directory of a finished run, and at last `exit_code`.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::Path;

use super::exit_code::ExitCode;
use super::origin::Environment;

/// The variable that names the file.
const OUTCOME_ENV: &str = "SCHOLAREVAL_OUTCOME";

/// Reports the directory of a finished run.
pub(super) fn report_run(environment: &Environment, run: &Path) {
    append(environment, "run", run.as_os_str().as_encoded_bytes());
}

/// Reports the exit code.
pub(super) fn report_exit(environment: &Environment, code: ExitCode) {
    append(
        environment,
        "exit_code",
        (code as u8).to_string().as_bytes(),
    );
}

/// A field that cannot be written is missing, which the caller takes as a failure.
fn append(environment: &Environment, name: &str, value: &[u8]) {
    let Some(path) = environment.get(OUTCOME_ENV) else {
        return;
    };
    let field = [name.as_bytes(), b"=", value, b"\0"].concat();
    let written = OpenOptions::new()
        // Never created: only the file of the caller may be written to, whatever the variable says.
        .append(true)
        .open(path)
        .and_then(|mut file| file.write_all(&field));
    if let Err(error) = written {
        tracing::warn!(%error, "the outcome could not be written to the file in {OUTCOME_ENV}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_appended_and_no_file_is_made() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("outcome");
        let environment = Environment::from_pairs([(OUTCOME_ENV, file.to_str().unwrap())]);
        report_exit(&environment, ExitCode::Ok);
        assert!(!file.exists());
        std::fs::write(&file, "").unwrap();
        report_run(&environment, Path::new("a\nb"));
        report_exit(&environment, ExitCode::BelowThreshold);
        assert_eq!(std::fs::read(&file).unwrap(), b"run=a\nb\0exit_code=6\0");
    }
}
