//! The only module that writes to standard output and standard error.

use std::borrow::Cow;
use std::io::{ErrorKind, IsTerminal, Write};
use std::path::Path;

use super::args::{ColorChoice, OutputFormat};
use super::origin::{Environment, escape_controls};
use crate::error::{Error, Result};
use crate::report::wrapped;
use crate::stats::Interval;
pub(crate) use crate::text::names::grouped;

/// Writes a result to standard output. A closed pipe (`| head`) is not an error.
///
/// # Errors
/// [`Error::Io`] if standard output cannot be written (a full disk behind `>`).
pub(crate) fn write_stdout(bytes: &[u8]) -> Result<()> {
    write_to(&mut std::io::stdout().lock(), bytes)
}

fn write_to(out: &mut impl Write, bytes: &[u8]) -> Result<()> {
    match out.write_all(bytes).and_then(|()| out.flush()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        other => other.map_err(Error::io(Path::new("standard output"), "write")),
    }
}

/// Writes text for people to standard output: wrapped to the width of a terminal, elsewhere unchanged.
///
/// # Errors
/// As [`write_stdout`].
pub(crate) fn write_text(text: &str) -> Result<()> {
    write_stdout(fitted(text, stdout_width()).as_bytes())
}

/// Writes a result in this format: for people with [`write_text`], for programs unchanged.
///
/// # Errors
/// As [`write_stdout`].
pub(crate) fn write_form(text: &str, format: OutputFormat) -> Result<()> {
    if format == OutputFormat::Table {
        write_text(text)
    } else {
        write_stdout(text.as_bytes())
    }
}

/// Wraps the text to this many columns; unchanged without a terminal. Colored lines are not wrapped: escape codes take
/// no columns.
fn fitted(text: &str, width: Option<u16>) -> Cow<'_, str> {
    let Some(width) = width.map(usize::from).filter(|width| *width > 0) else {
        return Cow::Borrowed(text);
    };
    let mut lines = Vec::new();
    for line in text.split('\n') {
        if line.contains('\u{1b}') {
            lines.push(line.to_owned());
        } else {
            lines.push(wrapped(line, width));
        }
    }
    Cow::Owned(lines.join("\n"))
}

/// Writes lines to standard error, wrapped to the width of its terminal, with control characters visible: names may
/// come from hostile files or servers. A failure to write cannot be reported.
pub(crate) fn note(text: &str) {
    let width = std::io::stderr()
        .is_terminal()
        .then(|| console::Term::stderr().size().1);
    let _ = writeln!(
        std::io::stderr().lock(),
        "{}",
        fitted(&escaped_lines(text), width)
    );
}

/// The text with everything except line breaks escaped.
pub(crate) fn escaped_lines(text: &str) -> String {
    text.split('\n')
        .map(escape_controls)
        .collect::<Vec<_>>()
        .join("\n")
}

/// The path with everything unprintable escaped.
pub(crate) fn path_text(path: &Path) -> String {
    escape_controls(&path.display().to_string())
}

/// About how many: `950`, `96,000`, `2.8 M`.
pub(crate) fn about(number: f64) -> String {
    match number {
        0.0..1e4 => grouped(number.round() as u64),
        // Three digits at most: an estimate within ±12% has no more.
        0.0..1e6 => grouped(1000 * (number / 1e3).round() as u64),
        _ => format!("{:.1} M", number / 1e6),
    }
}

/// `$12.50`, below a dime `$0.0042`.
pub(crate) fn dollars(usd: f64) -> String {
    // A trial of ten calls would cost `$0.00`.
    if usd > 0.0 && usd < 0.1 {
        format!("${usd:.4}")
    } else {
        format!("${usd:.2}")
    }
}

/// `$0.0042 to $12.50`.
pub(crate) fn cost_range(range: Interval) -> String {
    format!("{} to {}", dollars(range.low), dollars(range.high))
}

/// The day of the price list behind an amount of money, if it is from there.
pub(crate) fn of_day(prices_of: Option<&str>) -> String {
    prices_of.map_or_else(String::new, |day| format!(" (prices of {day})"))
}

/// Width of the terminal on standard output, if there is one.
pub(crate) fn stdout_width() -> Option<u16> {
    std::io::stdout()
        .is_terminal()
        .then(|| console::Term::stdout().size().1)
}

/// True if a stream may be colored.
pub(crate) fn color(choice: ColorChoice, is_terminal: bool, environment: &Environment) -> bool {
    match choice {
        ColorChoice::Always => true,
        ColorChoice::Never => false,
        ColorChoice::Auto => {
            is_terminal
                && environment.get("NO_COLOR").is_none()
                && environment.get("TERM") != Some("dumb")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn auto_colors_a_terminal_unless_the_environment_says_otherwise() {
        let none = Environment::default();
        let no_color = Environment::from_pairs([("NO_COLOR", "1")]);
        let dumb = Environment::from_pairs([("TERM", "dumb")]);
        assert!(color(ColorChoice::Auto, true, &none));
        assert!(!color(ColorChoice::Auto, false, &none));
        assert!(
            !color(ColorChoice::Auto, true, &no_color) && !color(ColorChoice::Auto, true, &dumb)
        );
        assert!(
            color(ColorChoice::Always, false, &no_color) && !color(ColorChoice::Never, true, &none)
        );
    }

    #[test]
    fn numbers_for_people_are_short() {
        assert_eq!(
            [950.4, 95_983.0, 2_827_074.0].map(about),
            ["950", "96,000", "2.8 M"]
        );
        assert_eq!(
            [0.0, 0.0042, 0.42, 12.5].map(dollars),
            ["$0.00", "$0.0042", "$0.42", "$12.50"]
        );
    }

    #[test]
    fn one_is_singular() {}

    #[test]
    fn a_terminal_gets_lines_of_its_width_and_a_pipe_the_text_as_it_is() {
        let text = "note: one two three four\n  /a/path/of/many/characters is not there\n";
        assert_eq!(fitted(text, None), text);
        let shown = "note: one two\nthree four\n  /a/path/of/many/characters\n  is not there\n";
        assert_eq!(fitted(text, Some(15)), shown);
        let colored = "\u{1b}[1ma line of several words\u{1b}[0m\n";
        assert_eq!(fitted(colored, Some(10)), colored);
    }

    #[test]
    fn a_closed_pipe_is_silent_and_a_full_disk_is_an_error() {
        struct Failing(ErrorKind);
        impl Write for Failing {
            fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
                Err(self.0.into())
            }
            fn flush(&mut self) -> std::io::Result<()> {
                Err(self.0.into())
            }
        }
        assert!(write_to(&mut Failing(ErrorKind::BrokenPipe), b"text").is_ok());
        assert!(write_to(&mut Failing(ErrorKind::StorageFull), b"text").is_err());
    }
}
