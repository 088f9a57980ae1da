//! `scholareval plan`: estimates calls, tokens, time and cost of a run.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::cli::ExitCode;
use crate::cli::args::{OutputFormat, PlanArgs};
use crate::cli::origin::escape_controls;
use crate::cli::progress::grouped;
use crate::cli::scoring::runtime;
use crate::cli::scoring::sinks::Nobody;
use crate::cli::scoring::words::plan_line;
use crate::cli::settings::Settings;
use crate::cli::terminal;
use crate::domain::TimeSpan;
use crate::error::{Error, Result};
use crate::evaluation::options::check_share;
use crate::evaluation::{self, Cost, CountedTokens, JudgeTerms, JudgeTime, Plan, PlanEstimate, PlanLine};
use crate::judge::layers::budgeted::Price;
use crate::report::TableStyle;
use crate::report::table::{Cell, Column, Format, Table};
use crate::stats::Interval;

use super::score::Prepared;

/// Runs the command.
///
/// # Errors
/// For input and settings that cannot be used, and for a server whose identity is unknown and that cannot be reached.
pub(super) fn run(args: &PlanArgs, settings: &Settings) -> Result<ExitCode> {
    let gate_rate = args.gate_rate;
    check_share(gate_rate).map_err(|what| Error::Usage(format!("--gate-rate: {what}")))?;
    runtime()?.block_on(async {
        let prepared = Prepared::load(settings, None).await?;
        let jobs = prepared.jobs(settings, None, &Arc::default())?.0;
        let mut terms = BTreeMap::new();
        for (named, identified) in prepared.judges.named() {
            let Some(model) = identified.model() else { continue };
            let limits = named.limits.of_all(identified.endpoint_count());
            let of_judge = JudgeTerms {
                model: model.to_owned(),
                price: settings.options.prices.get(model).copied(),
                concurrency: limits.concurrency.get(),
                requests_per_minute: limits.rpm.map(|limit| limit.get().into()),
                tokens_per_minute: limits.tpm.map(|limit| limit.get()),
                counter: identified.prompt_counter()?,
            };
            terms.insert(identified.judge_id().to_owned(), of_judge);
        }
        let estimate = evaluation::estimate(&jobs, &mut Nobody, &terms, gate_rate).await?;
        let text = match settings.format {
            OutputFormat::Json => serde_json::to_string_pretty(&estimate)
                .map(|text| text + "\n")
                .map_err(|error| Error::Internal(format!("cannot write a plan as JSON: {error}")))?,
            OutputFormat::Csv => table(&estimate).csv()?,
            OutputFormat::Table => text(&estimate),
        };
        terminal::write_form(&text, settings.format)?;
        Ok(ExitCode::Ok)
    })
}

/// The estimate for people, the result first.
fn text(estimate: &PlanEstimate) -> String {
    let PlanLine { now, expected, at_most, .. } = &estimate.total;
    let plan = Plan {
        askable_now: now.calls as u64,
        at_most: at_most.calls as u64,
        cached: estimate.cached,
        prompt_tokens_now: now.prompt_tokens as u64,
        prompt_tokens_at_most: at_most.prompt_tokens as u64,
        ..Plan::default()
    };
    let mut text = plan_line(&plan) + "\n";
    if at_most.calls == 0.0 {
        return text;
    }
    text.push('\n');
    let style = TableStyle { width: terminal::stdout_width().unwrap_or(120), ..TableStyle::default() };
    text.push_str(&table(estimate).terminal(&style));
    text.push_str(&format!(
        "\nexpected: {:.0}% of the questions that depend on a reply are asked (--gate-rate {}); tokens and USD are of the \
         expected calls, replies up to their limits; unreadable replies are asked for again (--parse-retries), which is \
         not counted\n",
        100.0 * estimate.gate_rate,
        estimate.gate_rate,
    ));
    let counted = estimate.counting.iter().filter(|counted| counted.of > 0);
    counted.for_each(|counted| text.push_str(&counted_line(counted)));
    text.push_str(&format!(
        "shared prefixes: {} of the {} expected prompt tokens are also in the call before; a server with a prefix cache \
         reads them once\n",
        whole(expected.shared_prefix_tokens),
        whole(expected.prompt_tokens),
    ));
    if let (Some(now), Some(expected), Some(at_most)) = (now.usd, expected.usd, at_most.usd) {
        let (now, expected, at_most) = (dollars(now), dollars(expected), dollars(at_most));
        text.push_str(&format!("cost in USD: now {now}, expected {expected}, at most {at_most}\n"));
    }
    for time in estimate.time.iter().filter(|time| !time.has_price) {
        let what = Price::how_to_set(&time.model);
        text.push_str(&format!("no price for {}: {what}\n", escape_controls(&time.model)));
    }
    estimate.time.iter().for_each(|time| text.push_str(&time_line(time)));
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

/// Calls now, expected and at most; of the expected ones prompt tokens, reply tokens at most, and the cost.
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

/// How the prompt tokens of one judge were found, and how far they may be off.
fn counted_line(counted: &CountedTokens) -> String {
    let (some, of, error) = (grouped(counted.counted), grouped(counted.of), 100.0 * counted.error);
    let how = match (counted.by, counted.failed) {
        (Some(by), _) if counted.counted >= counted.of => format!("counted by {by} on all {of} calls, ±{error:.1}%"),
        (Some(by), _) => format!("counted by {by} on {some} of {of} calls, ±{error:.1}%"),
        (None, Some(failed)) => format!("estimated, ±{error:.1}% ({failed} could not count them)"),
        (None, None) => format!("estimated, ±{error:.1}%"),
    };
    format!("prompt tokens of {}: {how}\n", escape_controls(&counted.judge))
}

fn time_line(time: &JudgeTime) -> String {
    let took = |seconds: f64| TimeSpan::from_secs(seconds.ceil() as u64).to_string();
    let mut parts = Vec::new();
    parts.extend(time.seconds_by_rpm.map(|seconds| format!("{} by its requests per minute", took(seconds))));
    parts.extend(time.seconds_by_tpm.map(|seconds| format!("{} by its tokens per minute", took(seconds))));
    let (per, at_once) = (took(time.seconds_per_second_of_a_call), time.concurrency);
    parts.push(format!("{per} for every second that a call takes ({at_once} at once)"));
    format!("time of {}: at least {}\n", escape_controls(&time.judge), parts.join("; "))
}

fn whole(number: f64) -> String {
    grouped(number.round() as u64)
}

fn dollars(range: Interval) -> String {
    format!("{} to {}", dollar(range.low), dollar(range.high))
}

/// Cents from a dollar on, below hundredths of a cent.
fn dollar(usd: f64) -> String {
    if usd < 1.0 { format!("{usd:.4}") } else { format!("{usd:.2}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_on_tokens_says_who_counted_how_many_and_the_error() {
        let line = |by, failed, counted, error| {
            counted_line(&CountedTokens { judge: "j".into(), by, failed, counted, of: 4206, error })
        };
        assert_eq!(
            line(Some("vllm"), None, 4206, 0.0),
            "prompt tokens of j: counted by vllm on all 4,206 calls, ±0.0%\n"
        );
        assert_eq!(
            line(Some("vllm"), None, 64, 0.0051),
            "prompt tokens of j: counted by vllm on 64 of 4,206 calls, ±0.5%\n"
        );
        assert_eq!(line(None, None, 0, 0.12), "prompt tokens of j: estimated, ±12.0%\n");
        assert!(line(None, Some("vllm"), 0, 0.12).contains("±12.0% (vllm could not count them)"));
    }
}
