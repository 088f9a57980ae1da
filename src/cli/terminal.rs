//! Standard output and standard error: the one place that writes to them.

use std::io::{ErrorKind, IsTerminal, Write};
use std::path::Path;

use super::args::ColorChoice;
use super::origin::{Environment, escape_controls};
use super::progress::grouped;
use crate::error::{Error, Result};

/// Writes a result to standard output. A reader that has gone away (`| head`) is no fault.
///
/// # Errors
/// [`Error::Io`] if standard output cannot be written (a full disk behind `>`).
pub fn write_stdout(bytes: &[u8]) -> Result<()> {
    let mut stdout = std::io::stdout().lock();
    forgive_closed_pipe(stdout.write_all(bytes).and_then(|()| stdout.flush()))
        .map_err(Error::io(Path::new("standard output"), "write"))
}

/// A broken pipe counts as success.
///
/// # Errors
/// Every other error as it came.
pub fn forgive_closed_pipe(result: std::io::Result<()>) -> std::io::Result<()> {
    match result {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        other => other,
    }
}

/// Writes lines to standard error, control characters visible (names in them may come from hostile files or servers).
/// Where even that fails nobody is left to be told.
pub fn note(text: &str) {
    let mut stderr = std::io::stderr().lock();
    let _ = writeln!(stderr, "{}", escaped_lines(text));
}

/// The text with everything but its line breaks escaped.
pub fn escaped_lines(text: &str) -> String {
    text.split('\n').map(escape_controls).collect::<Vec<_>>().join("\n")
}

/// `1 system`, `1,200 systems`.
pub fn counted(number: usize, noun: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{} {noun}{plural}", grouped(number as u64))
}

/// True if standard error is a terminal: then progress is a bar.
pub fn stderr_is_terminal() -> bool {
    std::io::stderr().is_terminal()
}

/// Columns of the terminal behind standard output; `None` if there is none.
pub fn stdout_width() -> Option<u16> {
    std::io::stdout().is_terminal().then(|| console::Term::stdout().size().1)
}

/// True if what goes to standard output may be coloured.
pub fn stdout_color(choice: ColorChoice, environment: &Environment) -> bool {
    color(choice, std::io::stdout().is_terminal(), environment)
}

fn color(choice: ColorChoice, is_terminal: bool, environment: &Environment) -> bool {
    match choice {
        ColorChoice::Always => true,
        ColorChoice::Never => false,
        ColorChoice::Auto => {
            is_terminal && environment.get("NO_COLOR").is_none() && environment.get("TERM") != Some("dumb")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn auto_colours_a_terminal_unless_told_otherwise() {
        let none = Environment::default();
        let no_color = Environment::from_pairs([("NO_COLOR", "1")]);
        let dumb = Environment::from_pairs([("TERM", "dumb")]);
        assert!(color(ColorChoice::Auto, true, &none));
        assert!(!color(ColorChoice::Auto, false, &none));
        assert!(!color(ColorChoice::Auto, true, &no_color) && !color(ColorChoice::Auto, true, &dumb));
        assert!(color(ColorChoice::Always, false, &no_color) && !color(ColorChoice::Never, true, &none));
    }

    #[test]
    fn one_is_no_plural() {
        assert_eq!([0, 1, 1200].map(|n| counted(n, "case")), ["0 cases", "1 case", "1,200 cases"]);
    }

    #[test]
    fn a_closed_pipe_is_no_fault_and_a_full_disk_is() {
        assert!(forgive_closed_pipe(Err(ErrorKind::BrokenPipe.into())).is_ok());
        assert!(forgive_closed_pipe(Err(ErrorKind::StorageFull.into())).is_err());
    }
}
