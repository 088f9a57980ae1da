//! `scholareval build-tests`: test cases from annotated ingredients.

use crate::cli::ExitCode;
use crate::cli::args::BuildTestsArgs;
use crate::cli::origin::escape_controls;
use crate::cli::outputs::refuse_input;
use crate::cli::terminal::write_stdout;
use crate::dataset::{load_ingredients, render_test_cases};
use crate::error::{Error, Result};

pub(super) fn run(args: &BuildTestsArgs) -> Result<ExitCode> {
    refuse_input("--out", &args.out, [args.file.as_path()])?;
    let cases = load_ingredients(&args.file)?;
    std::fs::write(&args.out, render_test_cases(&cases)?).map_err(Error::io(&args.out, "write"))?;
    let out = escape_controls(&args.out.display().to_string());
    write_stdout(format!("wrote {} test cases to {out}\n", cases.len()).as_bytes())?;
    Ok(ExitCode::Ok)
}
