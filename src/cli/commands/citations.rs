//! `scholareval citations`: the audit of citations in answers; with `--works` or `--retractions` the works that answers or
//! libraries cite. It asks no judge.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::score::{RunTable, evaluation, score};
use super::{CommandContext, runtime};
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
use crate::scorer::works::WORKS;
use crate::stats::FoundReferences;
use crate::works::{is_library, load_library};

/// Runs the command.
///
/// # Errors
/// Any error of the input.
pub(super) fn run(args: &CitationsArgs, context: &CommandContext<'_>) -> Result<ExitCode> {
    let settings = context.settings_with(args, |options| {
        let scorer = if options.scorers.works.is_given() {
            &WORKS
        } else {
            &CITATION_AUDIT
        };
        options.scorers.scorers = vec![scorer];
    })?;
    let coverage = args.coverage.map(|coverage| coverage.0);
    let looks_up = settings.options.scorers.works.is_given();
    if coverage.is_some() && !looks_up {
        let message = "--coverage is about files of works; add --works SRC..";
        return Err(Error::Usage(message.to_owned()));
    }
    let answers = &settings.options.input.answers;
    let libraries = libraries_among(answers)?;
    if libraries > 0 {
        if libraries < answers.len() {
            let message = "libraries and answers are checked apart; name one kind";
            return Err(Error::Usage(message.to_owned()));
        }
        if !looks_up {
            let message =
                "nothing to check a library by; add --works SRC.., --retractions FILE or both";
            return Err(Error::Usage(message.to_owned()));
        }
        check_libraries(&settings, coverage, context)?;
        return Ok(ExitCode::Ok);
    }
    let mut paths = answers.iter();
    if looks_up && paths.any(|path| path.join("manifest.json").is_file()) {
        let message = "a run has the works that were looked up for it; for other files of works name the files of answers";
        return Err(Error::Usage(message.to_owned()));
    }
    let evaluation = evaluation(&settings, context);
    runtime()?.block_on(async {
        let shown = RunTable {
            works: true,
            coverage,
            ..RunTable::default()
        };
        score(evaluation.prepare().await?, &settings, context, shown).await
    })
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
fn check_libraries(
    settings: &Settings,
    coverage: Option<FoundReferences>,
    context: &CommandContext<'_>,
) -> Result<()> {
    let report = library_report(settings, coverage, context)?;
    if let Some(dir) = &settings.options.output.out {
        std::fs::create_dir_all(dir).map_err(Error::io(dir, "create"))?;
        let path = dir.join("works.jsonl");
        let works = &settings.options.scorers.works.works;
        refuse_input("--out", &path, works.iter().map(PathBuf::as_path))?;
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
    coverage: Option<FoundReferences>,
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
    let lookup = look_up_references(
        &references,
        &settings.options.scorers.works,
        &move |done, all| {
            on_bytes.read(done, all);
        },
    );
    progress.finish();
    let LookedUpReferences {
        checked,
        warnings,
        records,
        ..
    } = lookup?;
    context.warn(&warnings);
    let works = references.into_iter().zip(checked);
    let mut works = works.map(|(reference, checked)| CitedWork { reference, checked });
    let mut answers = Vec::new();
    for (system, count) in libraries {
        answers.push(AnswerWorks {
            system,
            case_id: None,
            works: Arc::new(works.by_ref().take(count).collect()),
        });
    }
    Ok(CitedWorksReport::new(answers, records, coverage))
}

/// The name of a library in tables: that of its file.
fn library_name(path: &Path) -> SystemName {
    let name = path.file_name().unwrap_or(path.as_os_str());
    name.to_string_lossy().as_ref().into()
}
