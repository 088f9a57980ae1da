//! `scholareval agree`: agreement of judges with people, among judges, and among people.

use super::CommandContext;
use crate::cli::args::{AgreeArgs, OutputFormat};
use crate::cli::terminal::{write_form, write_stdout};
use crate::error::{Error, Result};
use crate::report::table::{Cell, Column, Table, shown_notes};
use crate::report::{label_plan_table, render_agreement_csv, render_agreement_table, render_json};
use crate::runs::{agree, draw_answers, plan_labels, select_answers};

/// Runs the command.
///
/// # Errors
/// As [`agree`].
pub(super) fn run(args: &AgreeArgs, context: &CommandContext<'_>) -> Result<()> {
    if args.runs.is_empty() && args.labels.is_empty() {
        let what = "agree needs two raters: RUN --labels FILE, two runs, or --labels A B (two files of labels)";
        return Err(Error::Usage(what.to_owned()));
    }
    if let Some(n) = args.select {
        return select(args, n, context);
    }
    if args.plan {
        return plan(args, context);
    }
    let agreement = agree(&context.runs(&args.runs)?.0, &args.labels, &args.options)?;
    let format = args.display.format;
    let text = match format {
        OutputFormat::Table => render_agreement_table(&agreement, &args.by, &context.style()),
        OutputFormat::Json => render_json(&agreement)?,
        OutputFormat::Csv => render_agreement_csv(&agreement, context.global.csv_text())?,
    };
    write_form(&text, format)?;
    if format != OutputFormat::Table {
        // Formats for programs have no place for what a person must know.
        let notes = [&agreement.notes[..], &agreement.powered_notes].concat();
        for warning in shown_notes(&notes, false) {
            context.note(&format!("warning: {}", warning.text));
        }
    }
    Ok(())
}

/// Shows how many labels the means of systems need.
fn plan(args: &AgreeArgs, context: &CommandContext<'_>) -> Result<()> {
    let plans = plan_labels(&context.runs(&args.runs)?.0, &args.labels, &args.options)?;
    let table = label_plan_table(&plans);
    context.show(
        args.display.format,
        &plans,
        &[],
        |style| Ok(table.terminal(style)),
        || table.clone(),
    )
}

/// Writes a file of labels to fill in to standard output.
fn select(args: &AgreeArgs, n: usize, context: &CommandContext<'_>) -> Result<()> {
    // The probability of a draw belongs to one list of answers.
    let [run] = &context.runs(&args.runs)?.0[..] else {
        return Err(Error::Usage(
            "--select draws answers of one run: agree RUN --select N".to_owned(),
        ));
    };
    let item = args.options.metric.as_deref();
    let seed = args.options.seed;
    let selection = if args.random {
        draw_answers(run, n, seed)?
    } else {
        select_answers(run, item, n, seed)?
    };
    let mut columns = vec![Column::text("system"), Column::text("case_id")];
    if item.is_some() {
        columns.push(Column::text("item"));
    }
    columns.extend(["rater", "value", "probability"].map(Column::text));
    if selection.random.is_some() {
        columns.extend(["seed", "drawn_from"].map(Column::text));
    }
    let mut table = Table::new("", columns);
    for answer in &selection.answers {
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
        row.push(Cell::text(answer.probability.to_string()));
        if let Some(drawn) = selection.random {
            row.push(Cell::text(drawn.seed.to_string()));
            row.push(Cell::text(drawn.of.to_string()));
        }
        table.rows.push(row);
    }
    write_stdout(table.csv(context.global.csv_text())?.as_bytes())?;
    let how = if selection.random.is_some() {
        "at random, so that score --selected and compare --corrected-by take the file, too"
    } else if selection.uniform {
        "all with the same probability, since the run has no samples or panel that show where its judge is unsure"
    } else {
        "more often where samples and judges differ"
    };
    context.note(&format!(
        "{} of {} answers drawn, {how}; fill in value, then pass the file to --labels",
        selection.answers.len(),
        selection.of
    ));
    Ok(())
}
