//! `scholareval plan`: estimates calls, tokens and cost of a run.

use crate::cli::ExitCode;
use crate::cli::args::{OutputFormat, PlanArgs};
use crate::cli::origin::escape_controls;
use crate::cli::settings::Settings;
use crate::cli::terminal;
use crate::cli::terminal::cost_range;
use crate::error::{Error, Result};
use crate::evaluation::options::check_share;
use crate::evaluation::{Cost, PlanEstimate, PlanLine};
use crate::judge::layers::budgeted::Price;
use crate::report::table::{Cell, Column, Format, Table};
use crate::report::{TableStyle, render_json};

use super::score::{evaluation, plan_line};
use super::{Context, runtime};

/// Runs the command.
///
/// # Errors
/// For unusable input and settings, and for a server that is unreachable and unknown from earlier runs.
pub(super) fn run(args: &PlanArgs, settings: &Settings, context: &Context<'_>) -> Result<ExitCode> {
    let gate_rate = args.gate_rate;
    check_share(gate_rate).map_err(|what| Error::Usage(format!("--gate-rate: {what}")))?;
    runtime()?.block_on(async {
        let estimate = evaluation(settings).prepare().await?.estimate(gate_rate).await?;
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
    let PlanLine { now, expected, at_most, .. } = &estimate.total;
    let mut text = plan_line(estimate) + "\n";
    if at_most.calls == 0.0 {
        return text;
    }
    let (table, rate) = (table(estimate).terminal(style), estimate.gate_rate);
    text.push_str(&format!(
        "\n{table}\nexpected: {:.0}% of the questions that depend on a reply are asked (--gate-rate {rate}); tokens \
         (estimated, ±12%) and USD are of the expected calls, replies up to their limits; repeats after unreadable replies \
         (--parse-retries) are not counted\n",
        100.0 * rate,
    ));
    if let (Some(now), Some(expected), Some(at_most)) = (now.usd, expected.usd, at_most.usd) {
        let [now, expected, at_most] = [now, expected, at_most].map(cost_range);
        text.push_str(&format!("cost: now {now}, expected {expected}, at most {at_most}\n"));
    }
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
        ("calls_expected", "Expected", Format::Count),
        ("calls_at_most", "At most", Format::Count),
        ("prompt_tokens", "Prompt tokens", Format::Count),
        ("reply_tokens", "Reply tokens", Format::Count),
        ("usd_low", "USD from", Format::Number(2)),
        ("usd_high", "USD to", Format::Number(2)),
    ];
    let mut table = Table::new("", columns.map(|(key, heading, format)| Column::headed(key, heading, format)).to_vec());
    let lines = estimate.lines.iter().filter(|line| line.at_most.calls > 0.0);
    table.rows = lines.chain([&estimate.total]).map(row).collect();
    table
}

/// Calls now, expected and at most; for the expected ones prompt tokens, reply tokens at most, and the cost.
fn row(line: &PlanLine) -> Vec<Cell> {
    let Cost { calls, prompt_tokens, reply_tokens, usd, .. } = line.expected;
    vec![
        Cell::text(format!("{} {}", line.role, line.kind).trim_end()),
        Cell::text(&line.judge),
        Cell::number(line.now.calls),
        Cell::number(calls),
        Cell::number(line.at_most.calls),
        Cell::number(prompt_tokens),
        Cell::number(reply_tokens.high),
        Cell::maybe(usd.map(|usd| usd.low)),
        Cell::maybe(usd.map(|usd| usd.high)),
    ]
}
