//! `scholareval label`: pages on which people label answers of runs.

use std::fs;
use std::path::{Path, PathBuf};

use super::CommandContext;
use crate::cli::args::{LabelArgs, LabelForm};
use crate::cli::terminal::{path_text, write_stdout};
use crate::dataset::{
    SHEET_FILE, TEXTS_FILE, load_blind_texts, load_label_files, load_label_sheet,
};
use crate::domain::{ADJUDICATOR, LabelKind, LabelSheet, RaterPage};
use crate::error::{Error, InputFault, Result};
use crate::files::{write_bytes, write_json};
use crate::report::html::{adjudication_page, label_page};
use crate::report::table::{Cell, Column, Table};
use crate::runs::{LabelOptions, LabelRound, RunSet, VerdictFrame, disputes, label_round};
use crate::text::names::counted;

/// Runs the command.
///
/// # Errors
/// When runs or labels cannot be read, answers cannot be drawn, or the pages cannot be written.
pub(super) fn run(args: &LabelArgs, context: &CommandContext<'_>) -> Result<()> {
    if let Some(dir) = &args.adjudicate {
        return adjudicate(dir, &args.paths);
    }
    // `true`: nothing is compared, so that runs by different judges may hold the answers.
    let runs = RunSet::open(&context.runs(&args.paths)?.0, true)?;
    if args.format == Some(LabelForm::Csv) {
        return write_csv(&runs, args, context);
    }
    let Some(out) = &args.out else {
        return Err(Error::Usage(
            "--out: name a directory for the pages".to_owned(),
        ));
    };
    let round = label_round(&runs, &args.options)?;
    require_no_other_sheet(out, &round.sheet)?;
    let warnings: Vec<&str> = round.notes.iter().map(|note| note.text.as_str()).collect();
    context.warn(&warnings);
    write_round(out, &round)
}

/// # Errors
/// When the directory holds another sheet: labels of its pages would have nothing to be read by.
fn require_no_other_sheet(out: &Path, sheet: &LabelSheet) -> Result<()> {
    if !out.join(SHEET_FILE).exists() || load_label_sheet(out)?.id == sheet.id {
        return Ok(());
    }
    let what = "holds the sheet of another draw, without which labels of its pages cannot be read";
    let hint = "name another directory with --out";
    Err(InputFault::new(out, what).refuse(hint))
}

/// Writes sheet, texts and pages, and says what they are.
fn write_round(out: &Path, round: &LabelRound) -> Result<()> {
    let LabelRound { sheet, texts, .. } = round;
    fs::create_dir_all(out).map_err(Error::io(out, "create"))?;
    write_json(&out.join(SHEET_FILE), sheet)?;
    write_json(&out.join(TEXTS_FILE), texts)?;
    let mut lines = String::new();
    for rater in &sheet.raters {
        let path = out.join(&rater.page);
        write_bytes(&path, &label_page(sheet, texts, rater)?)?;
        let contents = contents(sheet, rater);
        lines += &format!(
            "wrote {} for {}: {contents}\n",
            path_text(&path),
            rater.rater.escape_debug()
        );
    }
    lines += &format!(
        "Send each rater their page. Keep {SHEET_FILE} and {TEXTS_FILE}: they say which answer is whose.\n"
    );
    write_stdout(lines.as_bytes())
}

/// `84 criteria of 12 answers, 20 also labeled by others`
fn contents(sheet: &LabelSheet, rater: &RaterPage) -> String {
    let items: Vec<_> = rater
        .items
        .iter()
        .filter_map(|on_page| sheet.item(&on_page.item))
        .collect();
    let mut answers: Vec<usize> = items.iter().map(|item| item.answer).collect();
    answers.dedup();
    let mut kinds: Vec<LabelKind> = items.iter().map(|item| item.unit.kind).collect();
    kinds.sort_unstable();
    kinds.dedup();
    let contents = match kinds[..] {
        [LabelKind::Pair] => counted(items.len(), "pair"),
        [LabelKind::Answer] => counted(items.len(), "answer"),
        _ => format!(
            "{} about {}",
            counted(items.len(), "item"),
            counted(answers.len(), "answer")
        ),
    };
    let shared = items.iter().filter(|item| item.shared).count();
    if shared == 0 || sheet.raters.len() == 1 {
        return contents;
    }
    format!("{contents}, {shared} of them on every page")
}

/// Writes the page of the items on which raters differ.
fn adjudicate(dir: &Path, labels: &[PathBuf]) -> Result<()> {
    let sheet = load_label_sheet(dir)?;
    let texts = load_blind_texts(dir, &sheet)?;
    let disputed = disputes(&sheet, &load_label_files(labels)?)?;
    let path = dir.join(format!("{ADJUDICATOR}.html"));
    write_bytes(&path, &adjudication_page(&sheet, &texts, &disputed)?)?;
    let line = format!(
        "wrote {}: {} on which raters differ\n",
        path_text(&path),
        counted(disputed.len(), "item")
    );
    write_stdout(line.as_bytes())
}

/// A given option that only pages have.
fn flag_of_pages(args: &LabelArgs) -> Option<&'static str> {
    let options = &args.options;
    [
        (args.out.is_some(), "--out"),
        (!options.raters.is_empty(), "--raters"),
        (options.overlap.is_some(), "--overlap"),
        (!options.units.is_empty(), "--units"),
        (options.pairs, "--pairs"),
    ]
    .into_iter()
    .find_map(|(is_given, flag)| is_given.then_some(flag))
}

/// Writes a table of the drawn answers, or verdicts, to standard output.
fn write_csv(runs: &RunSet, args: &LabelArgs, context: &CommandContext<'_>) -> Result<()> {
    // The probability of a draw belongs to one list of answers.
    if runs.runs.len() > 1 {
        return Err(Error::Usage(
            "--format csv draws answers of one run: label RUN --answers N --format csv".to_owned(),
        ));
    }
    if let Some(flag) = flag_of_pages(args) {
        return Err(Error::Usage(format!(
            "{flag} is for pages, and --format csv writes a table of answers to standard output; leave one of them out"
        )));
    }
    if runs.run_of_pairs().is_some() {
        let message = "--format csv lists single answers, and a run of pairs is labeled in pairs; leave --format out";
        return Err(Error::Usage(message.to_owned()));
    }
    match args.options.verdicts {
        Some(n) => write_verdicts(&VerdictFrame::of_one(runs)?, n, args.options.seed, context),
        None => write_answers(runs, &args.options, context),
    }
}

/// Writes a table of drawn answers to standard output.
fn write_answers(
    runs: &RunSet,
    options: &LabelOptions,
    context: &CommandContext<'_>,
) -> Result<()> {
    let item = options.metric.as_deref();
    let candidates = options.candidates(runs)?;
    let drawn = candidates.draw(options.answers, options.seed)?;
    let mut columns = vec![Column::text("system"), Column::text("case_id")];
    if item.is_some() {
        columns.push(Column::text("item"));
    }
    columns.extend(["rater", "value", "probability"].map(Column::text));
    if options.random {
        columns.extend(["seed", "drawn_from"].map(Column::text));
    }
    let mut table = Table::new("", columns);
    let is_uniform = drawn.windows(2).all(|two| two[0].0 == two[1].0);
    for (answer, (probability, is_drawn)) in candidates.answers.iter().zip(&drawn) {
        if !is_drawn {
            continue;
        }
        let mut row = vec![
            Cell::text(answer.system.as_str()),
            Cell::text(answer.case_id.as_str()),
        ];
        row.extend(item.map(Cell::text));
        // A name to be replaced: a file without raters would not load, and its error would come
        // after the labeling.
        row.push(Cell::text("person"));
        // Empty for the label.
        row.push(Cell::text(""));
        row.push(Cell::text(probability.to_string()));
        if options.random {
            // By these the draw can be repeated, and so checked.
            row.push(Cell::text(options.seed.to_string()));
            row.push(Cell::text(candidates.answers.len().to_string()));
        }
        table.rows.push(row);
    }
    write_stdout(table.csv(context.csv_text())?.as_bytes())?;
    let how = if options.random {
        "at random, so that score --selected and compare --corrected-by take the file, too"
    } else if is_uniform {
        "all with the same probability, since the run has no samples or panel that show where its judge is unsure"
    } else {
        "more often where samples and judges differ"
    };
    context.note(&format!(
        "{} of {} answers drawn, {how}; fill in value, then pass the file to agree --labels",
        table.rows.len(),
        candidates.answers.len()
    ));
    Ok(())
}

/// Writes a table of drawn verdicts to standard output.
fn write_verdicts(
    frame: &VerdictFrame,
    n: usize,
    seed: u64,
    context: &CommandContext<'_>,
) -> Result<()> {
    let (drawn, draw) = frame.draw(n, seed)?;
    let probabilities = frame.probabilities(n);
    let columns = [
        "system",
        "case_id",
        "item",
        "rater",
        "value",
        "verdict_probability",
        "seed",
        "drawn_from",
        "frame",
    ];
    let mut table = Table::new("", columns.map(Column::text).to_vec());
    for at in &drawn {
        let verdict = &frame.verdicts[*at];
        let (system, case_id, _) = &frame.answers[verdict.answer];
        let row = [
            system.as_str(),
            case_id.as_str(),
            &verdict.item,
            "person",
            "",
            &probabilities[*at].to_string(),
            &seed.to_string(),
            &draw.of.to_string(),
            &draw.frame.to_string(),
        ];
        table.rows.push(row.map(Cell::text).to_vec());
    }
    write_stdout(table.csv(context.csv_text())?.as_bytes())?;
    if let Some(warning) = frame.warning() {
        context.warn(&[&*warning]);
    }
    context.note(&format!(
        "{} of {} verdicts drawn; let a dear judge give them (score RUN --selected FILE) or fill in value, then compare RUN \
         --corrected-by the run or the file",
        drawn.len(),
        draw.of
    ));
    Ok(())
}
