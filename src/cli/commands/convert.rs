//! `scholareval convert` and `build-tests`: predictions to answers, annotated ingredients to test cases, as `score` reads them.

use super::CommandContext;
use crate::cli::args::{BuildTestsArgs, ConvertArgs};
use crate::cli::origin::escape_controls;
use crate::cli::outputs::refuse_input;
use crate::cli::terminal::{path_text, write_stdout};
use crate::dataset::{
    AnswerOptions, Conversion, ReferencesBlock, convert, load_ingredients, load_test_cases,
    render_answer, render_test_cases,
};
use crate::domain::Mode;
use crate::error::{Error, InputFault, Result};
use crate::text::names::counted;

/// Writes predictions as answers to the test cases whose question they answer.
///
/// # Errors
/// Every fault of the files, and when no question is in the test cases.
pub(super) fn run(args: &ConvertArgs, context: &CommandContext<'_>) -> Result<()> {
    // An output that is an input would be empty before it is read.
    refuse_input(
        "--out",
        &args.out,
        [args.file.as_path(), args.tests.as_path()],
    )?;
    let mode = Mode::of(args.compat);
    let appended = args.references_block == ReferencesBlock::Append;
    let how = Conversion {
        block: appended.then_some(args.index_base),
        mode,
    };
    let tests = load_test_cases(&args.tests, mode)?;
    let reading = AnswerOptions {
        mode,
        keep_thinking: args.keep_thinking,
        // Whoever scores the answers decides what an error text is.
        keep_errors: true,
        reasoning_tags: args.reasoning_tags.clone(),
        ..AnswerOptions::default()
    };
    let (systems, notes) = reading.load(std::slice::from_ref(&args.file))?;
    let mut warnings = tests.warnings.clone();
    let mut text = String::new();
    let mut answers = 0;
    for system in systems {
        if !system.by_question {
            let fault = InputFault::new(&system.path, "holds answers with a case_id already");
            return Err(fault.refuse("score it as it is"));
        }
        let converted = convert(&system, &tests, &how)?;
        warnings.extend(system.warnings);
        for fault in converted.unasked {
            warnings.push(fault.hint("left out"));
        }
        warnings.extend(converted.repeated);
        text.extend(converted.answers.iter().map(render_answer));
        answers += converted.answers.len();
    }
    if answers == 0 {
        let fault = InputFault::new(
            &args.file,
            format!("no question of it is in {}", args.tests.display()),
        );
        return Err(fault.refuse("input must equal the initial_prompt of a test case"));
    }
    std::fs::write(&args.out, text).map_err(Error::io(&args.out, "write"))?;
    for note in &notes {
        context.note(&format!("note: {}", escape_controls(note)));
    }
    context.warn(&warnings);
    let out = path_text(&args.out);
    write_stdout(format!("wrote {} to {out}\n", counted(answers, "answer")).as_bytes())
}

/// Writes annotated ingredients as test cases.
///
/// # Errors
/// Every fault of the file.
pub(super) fn build_tests(args: &BuildTestsArgs) -> Result<()> {
    refuse_input("--out", &args.out, [args.file.as_path()])?;
    let cases = load_ingredients(&args.file)?;
    std::fs::write(&args.out, render_test_cases(&cases)?).map_err(Error::io(&args.out, "write"))?;
    write_stdout(
        format!(
            "wrote {} test cases to {}\n",
            cases.len(),
            path_text(&args.out)
        )
        .as_bytes(),
    )
}
