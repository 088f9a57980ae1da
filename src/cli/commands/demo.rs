//! `scholareval demo`: the sample data in a directory, scored by the built-in baseline, and the page of the run.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use scholareval_data::{DATA, Dir, File};
use tempfile::TempDir;

use super::{CommandContext, report, score};
use crate::cli::ExitCode;
use crate::cli::args::{DisplayOptions, ReportArgs};
use crate::cli::settings::Settings;
use crate::error::{Error, InputFault, Result};
use crate::evaluation::options::EvaluationOptions;
use crate::files::write_bytes;

/// Writes `data/`, `runs/demo/` and `report.html` into the directory. The same command again finds all of it there.
///
/// # Errors
/// When a file of the same name has other content (nothing is written then), or anything cannot be written.
pub(super) fn run(dir: &Path, context: &CommandContext<'_>) -> Result<ExitCode> {
    let data = dir.join("data");
    write_sample(&data)?;
    let answers = data.join("answers");
    let tests = data.join("test_cases.json");
    let out = dir.join("runs/demo");
    let mut options = EvaluationOptions::default();
    options.input.answers = vec![answers.clone()];
    options.cases.tests = Some(tests.clone());
    options.output.out = Some(out.clone());
    // Neither a config file nor the environment may choose a judge that costs something.
    let settings = Settings {
        options,
        format: DisplayOptions::default().format,
        dry_run: false,
        warnings: Vec::new(),
        lines: Vec::new(),
        has_page: true,
    };
    let code = score::run(&settings, context)?;
    let page = ReportArgs {
        labels: Vec::new(),
        runs: vec![out],
        out: dir.join("report.html"),
        no_answers: false,
        prompts: None,
        across: None,
        anyway: false,
    };
    report::run(&page, context)?;
    context.note(&format!(
        "Open the page in a browser. By a real judge (plan in place of score shows what it costs):\n  \
         export OPENAI_API_KEY=..\n  scholareval score {} --tests {} --model NAME",
        score::shell_text(&answers),
        score::shell_text(&tests)
    ));
    Ok(code)
}

/// A temporary directory with the sample data.
pub(super) fn temporary_sample() -> Result<TempDir> {
    let dir = TempDir::new().map_err(Error::io(std::env::temp_dir(), "write into"))?;
    write_sample(dir.path())?;
    Ok(dir)
}

/// Writes the sample data, unless one of its files has other content.
fn write_sample(data: &Path) -> Result<()> {
    let mut missing = Vec::new();
    for file in files(&DATA) {
        let path = data.join(file.path());
        match fs::read(&path) {
            Ok(contents) if contents == file.contents() => {}
            Err(error) if error.kind() == ErrorKind::NotFound => {
                // Written only after all files have been looked at: a directory with other data
                // stays as it is.
                missing.push((path, file.contents()))
            }
            Err(error) => return Err(Error::io(&path, "read")(error)),
            Ok(_) => {
                let fault = InputFault::new(path, "exists and differs from the sample data");
                return Err(fault.refuse("name another directory: scholareval demo DIR"));
            }
        }
    }
    for (path, bytes) in missing {
        let parent = path.parent().unwrap_or(data);
        fs::create_dir_all(parent).map_err(Error::io(parent, "create"))?;
        write_bytes(&path, bytes)?;
    }
    Ok(())
}

/// All files below a directory.
fn files(dir: &'static Dir<'_>) -> Vec<&'static File<'static>> {
    dir.files().chain(dir.dirs().flat_map(files)).collect()
}
