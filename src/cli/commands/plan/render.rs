//! A bill as text.

use std::time::Duration;

use super::bill::{Bill, Cost, Costs, Line, Range, Time};
use super::counting::Counted;
use crate::cli::duration::format_duration;
use crate::cli::origin::escape_controls;
use crate::cli::prices::Prices;
use crate::cli::progress::grouped;
use crate::error::{Error, Result};

/// The bill for programs.
pub(super) fn json(bill: &Bill) -> Result<String> {
    serde_json::to_string_pretty(bill)
        .map(|text| text + "\n")
        .map_err(|error| Error::Internal(format!("cannot write a plan as JSON: {error}")))
}

/// The bill for people.
pub(super) fn table(bill: &Bill) -> String {
    let (answers, cached) = (grouped(bill.answers), grouped(bill.cached));
    if bill.lines.is_empty() {
        return format!("plan: {answers} answers; nothing to ask, {cached} replies already paid\n");
    }
    let mut text = format!("plan: {answers} answers; {cached} replies already paid\n\n");
    text.push_str(&rows(bill));
    text.push_str(&format!(
        "\nexpected: {:.0}% of the questions that depend on a reply are asked (--gate-rate {}); reply tokens: from one \
         a call to the reply limits\n",
        100.0 * bill.gate_rate,
        bill.gate_rate,
    ));
    text.push_str(&repeats(&bill.total));
    bill.counting.iter().filter(|counted| counted.of > 0).for_each(|counted| text.push_str(&counted_line(counted)));
    text.push_str(&format!(
        "shared prefixes: {} of the {} expected prompt tokens stand in the call before, too; a server that keeps \
         prefixes reads them once\n",
        whole(bill.total.expected.shared_prefix_tokens),
        whole(bill.total.expected.prompt_tokens),
    ));
    text.push_str(&money(bill));
    bill.time.iter().for_each(|time| text.push_str(&time_line(time)));
    text
}

fn rows(bill: &Bill) -> String {
    let head = ["role", "kind", "judge", "now", "expected", "at most", "prompt tokens", "reply tokens", "USD"];
    let mut rows = vec![head.map(str::to_owned)];
    let has_judged = |line: &&Line| line.costs.at_most.calls > 0.0;
    for line in bill.lines.iter().filter(has_judged) {
        let names = [line.role.clone(), line.kind.to_owned(), escape_controls(&line.judge)];
        rows.push(row(names, [&line.costs.now, &line.costs.expected, &line.costs.at_most]));
    }
    let total = &bill.total;
    rows.push(row(["all".into(), String::new(), String::new()], [&total.now, &total.expected, &total.at_most]));
    let widths: Vec<usize> =
        (0..head.len()).map(|at| rows.iter().map(|row| row[at].chars().count()).max().unwrap_or(0)).collect();
    let mut text = String::new();
    for row in rows {
        let cells = row.iter().zip(&widths).enumerate().map(|(at, (cell, width))| match at {
            0..=2 => format!("{cell:<width$}"),
            _ => format!("{cell:>width$}"),
        });
        text.push_str(cells.collect::<Vec<_>>().join("  ").trim_end());
        text.push('\n');
    }
    text
}

/// The tokens and the cost are ranges from what is askable now to every gate open.
fn row([role, kind, judge]: [String; 3], [now, expected, at_most]: [&Cost; 3]) -> [String; 9] {
    let span = |low: f64, high: f64| {
        if whole(low) == whole(high) { whole(low) } else { format!("{}..{}", whole(low), whole(high)) }
    };
    [
        role,
        kind,
        judge,
        whole(now.calls),
        whole(expected.calls),
        whole(at_most.calls),
        span(now.prompt_tokens, at_most.prompt_tokens),
        span(now.reply_tokens.low, at_most.reply_tokens.high),
        match (now.usd, at_most.usd) {
            (Some(now), Some(at_most)) => dollars(Range { low: now.low, high: at_most.high }),
            _ => "-".to_owned(),
        },
    ]
}

/// Most replies can be read: what asking again can add at most stands apart, so that "at most" stays a useful number.
fn repeats(total: &Costs) -> String {
    let (at_most, worst) = (&total.at_most, &total.with_repeats);
    if whole(worst.calls) == whole(at_most.calls) {
        return String::new();
    }
    let usd = worst.usd.map_or_else(String::new, |usd| format!(", {:.4} USD", usd.high));
    format!(
        "replies that cannot be read are asked for again (--parse-retries): with every one unreadable to the last \
         {} calls, {} prompt tokens{usd} at most\n",
        whole(worst.calls),
        whole(worst.prompt_tokens),
    )
}

/// How the prompt tokens of one judge were found, and how far they may be off.
fn counted_line(counted: &Counted) -> String {
    let of = grouped(counted.of);
    let how = match (counted.by, counted.failed) {
        (Some(by), _) if counted.counted >= counted.of => {
            let about = if counted.error > 0.0 { format!(", to {}", percent(counted.error)) } else { String::new() };
            format!("counted by {by} on all {of} calls{about}")
        }
        (Some(by), _) => {
            let (some, error) = (grouped(counted.counted), percent(counted.error));
            format!("counted by {by} on {some} of {of} calls, told from these of the others, to {error} either way")
        }
        (None, Some(failed)) => {
            format!(
                "estimated, to {} either way ({failed} was asked to count them and did not)",
                percent(counted.error)
            )
        }
        (None, None) => format!("estimated, to {} either way", percent(counted.error)),
    };
    format!("prompt tokens of {}: {how}\n", escape_controls(&counted.judge))
}

fn percent(share: f64) -> String {
    // Never told smaller than it is; 1000 * 0.12 may be a hair above 120.
    format!("{:.1}%", (1000.0 * share - 1e-6).ceil().max(0.0) / 10.0)
}

fn money(bill: &Bill) -> String {
    let mut text = String::new();
    if let (Some(now), Some(expected), Some(at_most)) =
        (bill.total.now.usd, bill.total.expected.usd, bill.total.at_most.usd)
    {
        text.push_str(&format!(
            "cost in USD: now {}, expected {}, at most {}\n",
            dollars(now),
            dollars(expected),
            dollars(at_most)
        ));
    }
    let unpriced = bill.time.iter().filter(|time| !time.has_price).filter_map(|time| time.model.as_deref());
    for model in unpriced {
        let what = Prices::what_to_write(model);
        text.push_str(&format!("no price for {}: {what}\n", escape_controls(model)));
    }
    text
}

fn time_line(time: &Time) -> String {
    let took = |seconds: f64| format_duration(Duration::from_secs(seconds.ceil() as u64));
    let mut parts = Vec::new();
    parts.extend(time.seconds_by_rpm.map(|seconds| format!("{} by its requests a minute", took(seconds))));
    parts.extend(time.seconds_by_tpm.map(|seconds| format!("{} by its tokens a minute", took(seconds))));
    let (per, at_once) = (took(time.seconds_per_second_of_a_call), time.concurrency);
    parts.push(format!("{per} for every second that a call takes ({at_once} at once)"));
    format!("time of {}: at least {}\n", escape_controls(&time.judge), parts.join("; "))
}

fn whole(number: f64) -> String {
    grouped(number.round() as u64)
}

fn dollars(range: Range) -> String {
    format!("{:.4}..{:.4}", range.low, range.high)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(by: Option<&'static str>, failed: Option<&'static str>, counted: u64, error: f64) -> String {
        counted_line(&Counted { judge: "j".into(), by, failed, counted, of: 4206, error })
    }

    #[test]
    fn it_is_told_who_counted_how_many_and_how_far_that_may_be_off() {
        assert_eq!(line(Some("vllm"), None, 4206, 0.0), "prompt tokens of j: counted by vllm on all 4,206 calls\n");
        assert_eq!(
            line(Some("vllm"), None, 64, 0.0041),
            "prompt tokens of j: counted by vllm on 64 of 4,206 calls, told from these of the others, to 0.5% either way\n"
        );
        assert_eq!(line(None, None, 0, 0.12), "prompt tokens of j: estimated, to 12.0% either way\n");
        assert!(line(None, Some("vllm"), 0, 0.12).contains("(vllm was asked to count them and did not)"));
    }
}
