//! `scholareval import`: the reference script's results file becomes a run.

mod answers;
mod scores;

use std::sync::Arc;

use super::Context;
use crate::cli::ExitCode;
use crate::cli::args::ImportArgs;
use crate::cli::args::OutputFormat;
use crate::cli::origin::escape_controls;
use crate::cli::summary::conclude;
use crate::cli::terminal;
use crate::dataset::{ResultsFile, TestCases, load_results, load_test_cases};
use crate::domain::{Mode, TestCase};
use crate::error::{Error, InputFault, Result};
use crate::evaluation::options::ScoringOptions;
use crate::evaluation::record::{IMPORTED, InputFile, Inputs, JudgeEntry, Manifest, RunDir, RunRecord, RunStatus};
use crate::evaluation::run_name;
use crate::report::{RunReport, write_items};

use answers::{Texts, with_texts};
use scores::{Imported, WARNINGS_TOLD};

/// What the identity of a judge begins with that nobody here has asked.
const JUDGE_PREFIX: &str = "imported:";

/// Runs the command.
///
/// # Errors
/// [`Error::Input`] with every fault of the files; [`Error::Io`] when the run cannot be written.
pub(super) fn run(args: &ImportArgs, context: &Context<'_>) -> Result<ExitCode> {
    let files = read_all(&args.files)?;
    let lexical = scores::is_lexical(&files)?;
    let mode = args.mode.map_or_else(|| scores::mode_of(&files), Mode::from);
    let is_guessed = args.mode.is_none() && mode == Mode::Compat;
    let tests = load_test_cases(&args.tests, mode)?;
    let mut imported = scores::import(&files, &tests, (mode, lexical))?;
    let texts = match args.answers.as_slice() {
        [] => Texts::default(),
        paths => with_texts(paths, &tests, &mut imported, mode)?,
    };
    if args.strict && !imported.warnings.is_empty() {
        return Err(Error::Input(imported.warnings));
    }
    if !args.quiet {
        tell(&imported.warnings);
        if is_guessed {
            terminal::note(&format!("note: {}", scores::MODE_UNKNOWN));
        }
    }
    let manifest = manifest(args, &files, &tests, &imported, &texts);
    let dir = RunDir::open(&args.out)?;
    dir.claim(&manifest, args.overwrite)?;
    let name = run_name(&manifest, &args.out);
    let mut inputs = Inputs::new(texts.items);
    inputs.cases = cases(&imported, &tests);
    inputs.write(&dir.path().join("inputs.jsonl"))?;
    write_items(&dir, &name, &imported.scored)?;
    let remarks: &[&str] = if is_guessed { &[scores::MODE_UNKNOWN] } else { &[] };
    let report = RunReport::new(&manifest, &name, &imported.scored, None, remarks)?;
    report.write(&dir)?;
    let code = conclude(&report, &manifest, args.format.unwrap_or(OutputFormat::Table), context.color)?;
    RunRecord::open(dir, manifest, false)?.finish(RunStatus::Complete, &imported.scored)?;
    if !args.quiet {
        terminal::note(&format!("record of the run: {}", args.out.display()));
    }
    Ok(code)
}

/// Every file, no system in two of them.
fn read_all(paths: &[std::path::PathBuf]) -> Result<Vec<ResultsFile>> {
    let files: Vec<ResultsFile> = paths.iter().map(|path| load_results(path)).collect::<Result<_>>()?;
    let mut faults = Vec::new();
    for (at, file) in files.iter().enumerate() {
        for system in &file.systems {
            let has = |other: &&ResultsFile| other.systems.iter().any(|known| known.system == system.system);
            if let Some(other) = files.iter().take(at).find(has) {
                let what = format!("system \"{}\" is in {} too", system.system, other.path.display());
                faults.push(InputFault::new(&file.path, what).hint("import one of the two, or each into its own run"));
            }
        }
    }
    if faults.is_empty() { Ok(files) } else { Err(Error::Input(faults)) }
}

/// The first warnings; the manifest keeps all.
fn tell(warnings: &[InputFault]) {
    for warning in warnings.iter().take(WARNINGS_TOLD) {
        terminal::note(&format!("warning: {}", escape_controls(&warning.to_string())));
    }
    if warnings.len() > WARNINGS_TOLD {
        let more = warnings.len() - WARNINGS_TOLD;
        terminal::note(&format!("warning: and {more} more; the manifest of the run has them all"));
    }
}

/// The cases that count, in file order.
fn cases(imported: &Imported, tests: &TestCases) -> Vec<Arc<TestCase>> {
    tests.cases.iter().filter(|case| imported.kept_cases.contains(&case.case_id)).cloned().collect()
}

fn manifest(
    args: &ImportArgs,
    files: &[ResultsFile],
    tests: &TestCases,
    imported: &Imported,
    texts: &Texts,
) -> Manifest {
    let input = |name: &str, path: &std::path::Path, blake3| InputFile {
        name: name.to_owned(),
        path: path.display().to_string(),
        blake3,
    };
    let mut inputs = vec![input("tests", &tests.path, tests.blake3)];
    inputs.extend(files.iter().map(|file| input("results", &file.path, file.blake3)));
    inputs.extend(texts.files.iter().cloned());
    let mut hasher = blake3::Hasher::new();
    for file in files {
        hasher.update(file.blake3.as_bytes());
    }
    let hash = hasher.finalize().to_hex();
    let named = args.judge.clone().unwrap_or_else(|| hash.chars().take(16).collect());
    let compat = imported.mode == Mode::Compat;
    let settings = [
        ("score.rubrics", imported.parts.rubrics),
        ("score.snippets", imported.parts.snippets),
        ("score.agreement", imported.agreement),
        ("score.compat", compat),
        (IMPORTED, true),
    ];
    Manifest {
        label: args.run_label.clone(),
        settings: settings.into_iter().map(|(name, value)| (name.to_owned(), value.into())).collect(),
        inputs,
        judge: Some(JudgeEntry {
            id: format!("{JUDGE_PREFIX}{named}"),
            model: None,
            base_url: None,
            served: None,
            lexical: imported.lexical,
        }),
        scorers: vec!["rubric".to_owned()],
        seed: ScoringOptions::default().seed,
        answers: imported.scored.len() as u64,
        missing: imported.missing.iter().map(|(system, case)| (system.to_string(), case.to_string())).collect(),
        kept_cases: imported.kept_cases.iter().map(ToString::to_string).collect(),
        warnings: imported.warnings.iter().map(ToString::to_string).collect(),
        ..Manifest::begin(imported.mode)
    }
}
