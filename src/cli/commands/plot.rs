//! `scholareval plot`: figures of results, for a paper.

use std::path::Path;

use super::CommandContext;
use crate::cli::args::PlotArgs;
use crate::error::{Error, Result};
use crate::files::write_bytes;
use crate::report::{Figure, FigureRequest};

/// The height of the texts on a page of a paper in points, 9 inches.
const PAGE: f64 = 648.0;

/// Runs the command.
///
/// # Errors
/// For a file of another kind, an option of another figure, when a run cannot be read, runs are not comparable, a name is unknown, or
/// nothing can be drawn.
pub(super) fn run(args: &PlotArgs, context: &CommandContext<'_>) -> Result<()> {
    let write = writer_for(&args.out)?;
    let request = FigureRequest {
        runs: &context.runs(&args.runs)?.0,
        options: &args.options,
        style: &args.style,
    };
    let drawn = request.draw(args.what)?;
    write_bytes(&args.out, write(&drawn.figure).as_bytes())?;
    for warning in drawn.warnings {
        context.note(&format!("warning: {}", warning.text));
    }
    let mut line = format!("{}: {}", args.out.display(), drawn.contents);
    let height = drawn.figure.height();
    if height > PAGE {
        line += &format!(
            ", {:.0} in high; a larger --width or a smaller --font-size makes it lower",
            height / 72.0
        );
    }
    context.note(&line);
    Ok(())
}

/// How a figure is written into a file of this name.
///
/// # Errors
/// For a file of another kind.
fn writer_for(path: &Path) -> Result<fn(&Figure) -> String> {
    match path.extension().and_then(|extension| extension.to_str()) {
        Some("svg") => Ok(Figure::svg),
        Some("tex") => Ok(Figure::tikz),
        _ => {
            let message = "--out: the file must end in .svg or .tex, which says what is written";
            Err(Error::Usage(message.to_owned()))
        }
    }
}
