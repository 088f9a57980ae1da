//! A bill as text.

use std::time::Duration;

use super::bill::{Bill, Costs, Line, Range, Time};
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
        "\nexpected: {:.0}% of the questions that depend on a reply are asked (--gate-rate {}); tokens and USD are of the \
         expected calls, reply tokens up to the reply limits; the rest: --format json\n",
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

/// A block for each role and judge, in their order, and one for all: every number whole, in 80 columns.
fn rows(bill: &Bill) -> String {
    let judged: Vec<&Line> = bill.lines.iter().filter(|line| line.costs.at_most.calls > 0.0).collect();
    let blocks: Vec<&[&Line]> = judged.chunk_by(|a, b| a.role == b.role && a.judge == b.judge).collect();
    let mut rows = vec![
        ["", "calls", "calls", "calls", "prompt", "reply", "USD"].map(str::to_owned),
        ["", "now", "expected", "at most", "tokens", "tokens", "expected"].map(str::to_owned),
    ];
    rows.extend(judged.iter().map(|line| row(&format!("  {}", line.kind), &line.costs)));
    rows.push(row("all", &bill.total));
    let widths: Vec<usize> =
        (0..rows[0].len()).map(|at| rows.iter().map(|row| row[at].chars().count()).max().unwrap_or(0)).collect();
    let drawn = |row: &[String; 7]| {
        let cells = row.iter().zip(&widths).enumerate().map(|(at, (cell, width))| match at {
            0 => format!("{cell:<width$}"),
            _ => format!("{cell:>width$}"),
        });
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned() + "\n"
    };
    let mut text: String = rows[..2].iter().map(drawn).collect();
    let mut lines = rows[2..].iter();
    for block in blocks {
        text.push_str(&format!("{}, judged by {}\n", block[0].role, escape_controls(&block[0].judge)));
        lines.by_ref().take(block.len()).for_each(|row| text.push_str(&drawn(row)));
    }
    lines.for_each(|row| text.push_str(&drawn(row)));
    text
}

/// Calls now, expected and at most; of the expected ones prompt tokens, reply tokens at most, and the cost.
fn row(name: &str, costs: &Costs) -> [String; 7] {
    let Costs { now, expected, at_most, .. } = costs;
    [
        name.to_owned(),
        whole(now.calls),
        whole(expected.calls),
        whole(at_most.calls),
        many(expected.prompt_tokens),
        many(expected.reply_tokens.high),
        expected.usd.map_or_else(|| "-".to_owned(), dollars),
    ]
}

/// Most replies can be read: what asking again can add at most stands apart, so that "at most" stays a useful number.
fn repeats(total: &Costs) -> String {
    let (at_most, worst) = (&total.at_most, &total.with_repeats);
    if whole(worst.calls) == whole(at_most.calls) {
        return String::new();
    }
    let usd = worst.usd.map_or_else(String::new, |usd| format!(", {} USD", dollar(usd.high)));
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

/// Tens of millions and more in millions: columns stay narrow.
fn many(tokens: f64) -> String {
    if tokens < 1e7 { whole(tokens) } else { format!("{:.1}M", tokens / 1e6) }
}

fn dollars(range: Range) -> String {
    format!("{}..{}", dollar(range.low), dollar(range.high))
}

/// Cents from a dollar on, below hundredths of a cent.
fn dollar(usd: f64) -> String {
    if usd < 1.0 { format!("{usd:.4}") } else { format!("{usd:.2}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::commands::plan::bill::Cost;

    fn line(by: Option<&'static str>, failed: Option<&'static str>, counted: u64, error: f64) -> String {
        counted_line(&Counted { judge: "j".into(), by, failed, counted, of: 4206, error })
    }

    #[test]
    fn a_table_of_several_roles_and_judges_fits_80_columns_with_every_number_whole() {
        let of = |calls: f64, usd: f64| {
            let usd = Some(Range { low: 0.4 * usd, high: usd });
            let reply_tokens = Range { low: calls, high: 512.0 * calls };
            Cost { calls, prompt_tokens: 1234.0 * calls, shared_prefix_tokens: 0.0, reply_tokens, usd }
        };
        let line = |role: &str, kind, judge: &str, calls: f64| {
            let (now, expected, at_most) =
                (of(calls, calls / 100.0), of(1.5 * calls, calls), of(2.0 * calls, 2.0 * calls));
            Line {
                role: role.to_owned(),
                kind,
                judge: judge.to_owned(),
                costs: Costs { now, expected, at_most, with_repeats: at_most },
            }
        };
        let long = "prometheus-eval/prometheus-bgb-8x7b-v2.0";
        let lines = vec![
            line("aspect.organization", "aspect", long, 0.5),
            line("rubric", "expertise", "gpt", 1200.0),
            line("rubric", "property", "gpt", 98_765.0),
        ];
        let (total, time, counting) = (lines[2].costs, Vec::new(), Vec::new());
        let bill = Bill {
            answers: 1,
            answer_scores: 1,
            cached: 0,
            gate_rate: 0.7,
            estimate_error: 0.12,
            counting,
            lines,
            total,
            time,
        };
        let text = rows(&bill);
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        assert!(text.contains(&format!("aspect.organization, judged by {long}\n")), "{text}");
        assert_eq!(text.matches("rubric, judged by gpt\n").count(), 1, "{text}");
        // 1.5 * 98765 calls of 1,234 and 512 tokens; cents from a dollar on, else hundredths of them
        for number in ["98,765   148,148  197,530     182.8M    75.9M  39506.00..98765.00\n", "  0.2000..0.5000\n"] {
            assert!(text.contains(number), "{number:?} is not in\n{text}");
        }
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
