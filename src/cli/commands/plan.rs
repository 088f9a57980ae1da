//! `scholareval plan`: estimates calls, tokens and cost of a run.

use crate::cli::ExitCode;
use crate::cli::args::OutputFormat;
use crate::cli::origin::escape_controls;
use crate::cli::settings::Settings;
use crate::cli::terminal;
use crate::error::Result;
use crate::evaluation::{PlanEstimate, PlanLine};
use crate::judge::layers::budgeted::Price;
use crate::report::table::{Cell, Column, Format, Table};
use crate::report::{TableStyle, render_json};

use super::score::{evaluation, plan_line};
use super::{Context, runtime};

/// Runs the command.
///
/// # Errors
/// For unusable input and settings, and for a server that is unreachable and unknown from earlier runs.
pub(super) fn run(settings: &Settings, context: &Context<'_>) -> Result<ExitCode> {
    runtime()?.block_on(async {
        let prepared = evaluation(settings).prepare().await?;
        let estimate = prepared.cost(&prepared.plan().await?);
        let text = match settings.format {
            OutputFormat::Json => render_json(&estimate)?,
            OutputFormat::Csv => table(&estimate).csv(context.global.csv_text())?,
            OutputFormat::Table => text(&estimate, &context.style()),
        };
        terminal::write_form(&text, settings.format)?;
        Ok(ExitCode::Ok)
    })
}

/// The estimate for people, the result first.
fn text(estimate: &PlanEstimate, style: &TableStyle) -> String {
    let mut text = plan_line(estimate) + "\n";
    if estimate.total.at_most.calls == 0 {
        return text;
    }
    text.push_str(&format!(
        "\n{}\nat most: every question that depends on a reply is asked; repeats after unreadable replies (--parse-retries) \
         are not counted. Tokens (of prompts estimated, ±12%; of replies up to their limits) and USD are of these calls\n",
        table(estimate).terminal(style),
    ));
    for model in &estimate.unpriced {
        text.push_str(&format!("no price for {}: {}\n", escape_controls(model), Price::how_to_set(model)));
    }
    text
}

fn table(estimate: &PlanEstimate) -> Table {
    let columns = [
        ("question", "Question", Format::Text),
        ("judge", "Judge", Format::Text),
        ("calls_now", "Now", Format::Count),
        ("calls_at_most", "At most", Format::Count),
        ("prompt_tokens", "Prompt tokens", Format::Count),
        ("reply_tokens", "Reply tokens", Format::Count),
        ("usd_low", "USD from", Format::Number(2)),
        ("usd_high", "USD to", Format::Number(2)),
    ];
    let mut table = Table::new("", columns.map(|(key, heading, format)| Column::headed(key, heading, format)).to_vec());
    let lines = estimate.lines.iter().filter(|line| line.at_most.calls > 0);
    table.rows = lines.chain([&estimate.total]).map(row).collect();
    table
}

/// Calls now and at most, and the tokens and cost of the latter.
fn row(line: &PlanLine) -> Vec<Cell> {
    let most = line.at_most;
    vec![
        Cell::text(format!("{} {}", line.role, line.kind).trim_end()),
        Cell::text(&line.judge),
        Cell::number(line.now.calls as f64),
        Cell::number(most.calls as f64),
        Cell::number(most.prompt_tokens as f64),
        Cell::number(most.reply_tokens as f64),
        Cell::maybe(most.usd.map(|usd| usd.low)),
        Cell::maybe(most.usd.map(|usd| usd.high)),
    ]
}
