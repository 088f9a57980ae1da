//! `scholareval citations`: the audit of citations in answers; with `--works` or `--retractions` the works that answers or
//! libraries cite; with `--entail` also what a judge says of the citations.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::{CommandContext, score};
use crate::cli::ExitCode;
use crate::cli::args::CitationsArgs;
use crate::cli::outputs::refuse_input;
use crate::cli::reading::ReadingProgress;
use crate::cli::settings::Settings;
use crate::cli::terminal::path_text;
use crate::domain::{CitedWork, SystemName};
use crate::error::{Error, Result};
use crate::evaluation::{LookedUpReferences, look_up_references};
use crate::report::{AnswerWorks, CitedWorksReport};
use crate::scorer::citation::CITATION_AUDIT;
use crate::scorer::entailment::ENTAILMENT;
use crate::scorer::works::WORKS;
use crate::works::{is_library, load_library};

/// Runs the command.
///
/// # Errors
/// Any error of the input, and of the judge with `--entail`.
pub(super) fn run(args: CitationsArgs, context: &CommandContext<'_>) -> Result<ExitCode> {
    let scorers = &args.score.options.scorers;
    let looks_up = !scorers.works.is_empty() || scorers.retractions.is_some();
    let libraries = libraries_among(&args.score.options.input.answers)?;
    if args.coverage.is_some() && !looks_up {
        let message = "--coverage is about files of works; add --works SRC..";
        return Err(Error::Usage(message.to_owned()));
    }
    if libraries > 0 {
        if libraries < args.score.options.input.answers.len() {
            let message = "libraries and answers are checked apart; name one kind";
            return Err(Error::Usage(message.to_owned()));
        }
        if !looks_up {
            let message =
                "nothing to check a library by; add --works SRC.., --retractions FILE or both";
            return Err(Error::Usage(message.to_owned()));
        }
        check_libraries(&args, context)?;
        return Ok(ExitCode::Ok);
    }
    let answers = &args.score.options.input.answers;
    if looks_up
        && answers
            .iter()
            .any(|path| path.join("manifest.json").is_file())
    {
        let message = "a run has the works that were looked up for it; for other files of works name the files of answers";
        return Err(Error::Usage(message.to_owned()));
    }
    let mut chosen = Vec::new();
    if context.is_flag("entail") {
        chosen.extend([&ENTAILMENT, &CITATION_AUDIT]);
    } else if context.is_flag("model") {
        let message = "--model: without --entail, citations asks no judge; add --entail, or leave the model out";
        return Err(Error::Settings(message.to_owned()));
    }
    if looks_up {
        chosen.push(&WORKS);
    } else if chosen.is_empty() {
        chosen.push(&CITATION_AUDIT);
    }
    let mut score_args = args.score;
    score_args.options.scorers.scorers = chosen;
    score::run_citations(&context.settings(&score_args)?, context, args.coverage)
}

/// Broken entries of a library that are named.
const SHOWN_FAULTS: usize = 10;

/// How many of these files are libraries.
fn libraries_among(paths: &[PathBuf]) -> Result<usize> {
    let mut count = 0;
    for path in paths {
        count += usize::from(is_library(path)?);
    }
    Ok(count)
}

/// Looks up every entry of the libraries, shows what was found, and writes `works.jsonl` with `--out`.
fn check_libraries(args: &CitationsArgs, context: &CommandContext<'_>) -> Result<()> {
    let settings = context.settings(&args.score)?;
    let report = library_report(&settings, args, context)?;
    if let Some(dir) = &settings.options.output.out {
        std::fs::create_dir_all(dir).map_err(Error::io(dir, "create"))?;
        let path = dir.join("works.jsonl");
        refuse_input(
            "--out",
            &path,
            settings.options.scorers.works.iter().map(PathBuf::as_path),
        )?;
        report.write(&path)?;
        context.note(&format!("works: {}", path_text(&path)));
    }
    context.show(
        settings.format,
        &report,
        &[],
        |style| Ok(report.text(style)),
        || report.table(),
    )
}

fn library_report(
    settings: &Settings,
    args: &CitationsArgs,
    context: &CommandContext<'_>,
) -> Result<CitedWorksReport> {
    let mut libraries = Vec::new();
    let mut references = Vec::new();
    for path in &settings.options.input.answers {
        let list = load_library(path)?;
        // The first are enough to see what is wrong; too many are an error.
        context.warn(&list.faults[..list.faults.len().min(SHOWN_FAULTS)]);
        libraries.push((library_name(path), list.references.len()));
        references.extend(list.references);
    }
    let progress = ReadingProgress::new(context.global.quiet);
    let on_bytes = progress.clone();
    let lookup = look_up_references(&references, &settings.options.scorers, &move |done, all| {
        on_bytes.read(done, all);
    });
    progress.finish();
    let LookedUpReferences {
        checked,
        warnings,
        records,
        ..
    } = lookup?;
    context.warn(&warnings);
    let mut works = references
        .into_iter()
        .zip(checked)
        .map(|(reference, checked)| CitedWork { reference, checked });
    let mut answers = Vec::new();
    for (system, count) in libraries {
        answers.push(AnswerWorks {
            system,
            case_id: None,
            works: Arc::new(works.by_ref().take(count).collect()),
        });
    }
    let coverage = args.coverage.map(|coverage| coverage.0);
    Ok(CitedWorksReport::new(answers, records, coverage))
}

/// The name of a library in tables: that of its file.
fn library_name(path: &Path) -> SystemName {
    let name = path.file_name().unwrap_or(path.as_os_str());
    name.to_string_lossy().as_ref().into()
}
