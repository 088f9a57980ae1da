//! The estimate of a run, which `plan` and `--dry-run` show: calls, tokens and cost.

use serde::Serialize;

use crate::cli::args::OutputFormat;
use crate::cli::origin::escape_controls;
use crate::cli::terminal::{about, cost_range, grouped, of_day};
use crate::domain::{BatchSize, EndingModel, today};
use crate::error::Result;
use crate::evaluation::{Cost, PlanEstimate, PlanLine, Prepared};
use crate::judge::layers::budgeted::Price;
use crate::report::TableStyle;
use crate::report::table::{Cell, Column, Format, Table, short_names};
use crate::stats::Interval;

use super::CommandContext;

/// Shows the estimate of a run.
///
/// # Errors
/// When the cache cannot be read.
pub(super) async fn show_plan(
    prepared: &Prepared,
    format: OutputFormat,
    context: &CommandContext<'_>,
) -> Result<()> {
    let planned = prepared.plan().await?;
    let endings: Vec<EndingModel> = prepared.endings(&planned).await?.into_values().collect();
    let estimate = prepared.cost(&planned);
    let batches = prepared.batch_costs().await?;
    let mut looks = Vec::new();
    for (look, estimate) in prepared.look_costs().await? {
        looks.push(LookCost {
            questions: look.questions,
            one_order: look.one_order,
            cost: estimate.total.at_most,
        });
    }
    let mut criteria_per_call = Vec::new();
    for (size, estimate) in &batches {
        criteria_per_call.push(SizedCost {
            size: *size,
            cost: estimate.total.at_most,
        });
    }
    let value = WithBatches {
        estimate: &estimate,
        batch_usd: whole_cost(&estimate.total).batch_usd(),
        criteria_per_call,
        looks,
        ending_models: &endings,
    };
    context.show(
        format,
        &value,
        &[],
        |style| {
            let text = text(&estimate, &batches, style);
            Ok(text + &looks_line(&value.looks) + &ending_lines(&endings))
        },
        || table(&estimate, str::to_owned),
    )
}

/// The estimate with the cost of other numbers of criteria a call.
#[derive(Serialize)]
struct WithBatches<'a> {
    #[serde(flatten)]
    estimate: &'a PlanEstimate,
    /// From the calls now to all calls, at a batch service.
    batch_usd: Option<Interval>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    criteria_per_call: Vec<SizedCost>,
    /// What is asked at most until each look.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    looks: Vec<LookCost>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    ending_models: &'a [EndingModel],
}

#[derive(Serialize)]
struct LookCost {
    questions: usize,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    one_order: bool,
    #[serde(flatten)]
    cost: Cost,
}

/// `looks after 40, 60, 80, 100 questions, when at most 400, 600, 800, 1,000 calls are made`; empty without looks.
fn looks_line(looks: &[LookCost]) -> String {
    if looks.is_empty() {
        return String::new();
    }
    let mut questions = Vec::new();
    let mut calls = Vec::new();
    let has_one_order = looks.iter().any(|look| look.one_order);
    for look in looks {
        let orders = if has_one_order && !look.one_order {
            " (both orders)"
        } else {
            ""
        };
        questions.push(grouped(look.questions as u64) + orders);
        calls.push(grouped(look.cost.calls));
    }
    format!(
        "looks (--until) after {} questions, when at most {} calls are made\n",
        questions.join(", "),
        calls.join(", ")
    )
}

#[derive(Serialize)]
struct SizedCost {
    size: BatchSize,
    #[serde(flatten)]
    cost: Cost,
}

/// What services state about the end of the models, a line each.
fn ending_lines(endings: &[EndingModel]) -> String {
    let today = today();
    let mut lines = String::new();
    for ending in endings {
        lines.push_str(&escape_controls(&ending.sentence(today)));
        lines.push('\n');
    }
    lines
}

/// Calls and cost of the criteria by how many are asked in a call.
fn batch_table(batches: &[(BatchSize, PlanEstimate)]) -> Table {
    let mut table = Table::new("", Vec::new());
    let sizes = batches.iter().map(|(size, _)| Cell::text(size.to_string()));
    let size = Column::headed("criteria_per_call", "Criteria per call", Format::Text);
    table.push(size, sizes);
    let costs: Vec<Cost> = batches
        .iter()
        .map(|(_, estimate)| whole_cost(&estimate.total))
        .collect();
    push_costs(&mut table, "calls", "Calls", &costs);
    table
}

/// The estimate for people, the result first.
fn text(
    estimate: &PlanEstimate,
    batches: &[(BatchSize, PlanEstimate)],
    style: &TableStyle,
) -> String {
    let mut text = plan_line(estimate) + "\n";
    if estimate.total.at_most.calls == 0 {
        return text;
    }
    text.push_str(&format!(
        "\n{}\nat most: every question that depends on a reply is asked; repeats after unreadable replies (--parse-retries) \
         are not counted. Prompt tokens (estimated, ±12%) are of these calls, USD from the calls now to these (replies up to their \
         limits)\n",
        table(estimate, short_name).terminal(style),
    ));
    if let Some(range) = whole_cost(&estimate.total).batch_usd() {
        let cost = cost_range(range);
        text.push_str(&format!(
            "\n{cost} at a batch service of OpenAI, Anthropic or Google (scholareval batch), half of the price\n"
        ));
    }
    if !batches.is_empty() {
        text.push_str(&format!(
            "\n{}\n--criteria-per-call chooses\n",
            batch_table(batches).terminal(style)
        ));
    }
    for model in &estimate.unpriced {
        text.push_str(&format!(
            "no price for {}: {}\n",
            escape_controls(model),
            Price::how_to_set(model)
        ));
    }
    text
}

/// The plan, printed before the first paid call.
pub(super) fn plan_line(estimate: &PlanEstimate) -> String {
    let now = &estimate.total.now;
    let at_most = &estimate.total.at_most;
    let cached = grouped(estimate.cached);
    if at_most.calls == 0 {
        return format!("plan: nothing to ask; all {cached} replies are cached");
    }
    let mut line = format!("plan: {} calls now", grouped(now.calls));
    if now.calls != at_most.calls {
        let most = grouped(at_most.calls);
        line.push_str(&format!(", up to {most} with all follow-up questions"));
    }
    let tokens = about(now.prompt_tokens as f64);
    let most_tokens = about(at_most.prompt_tokens as f64);
    line.push_str(&format!("; ~{tokens} prompt tokens"));
    // Rounded numbers are compared, since equal ones would read as a mistake.
    if tokens != most_tokens {
        line.push_str(&format!(" (up to ~{most_tokens})"));
    }
    if estimate.room_tokens > 0 {
        let room = grouped(estimate.room_tokens);
        line.push_str(&format!("; room for {room} tokens of reasoning a reply"));
    }
    if let Some(range) = whole_cost(&estimate.total).usd {
        let of_day = of_day(estimate.prices_of.as_deref());
        line.push_str(&format!("; {}{of_day}", cost_range(range)));
    }
    if estimate.cached > 0 {
        line.push_str(&format!("; {cached} cached"));
    }
    line
}

/// The calls at most, with the price from the least for those now to the most for all: what a run can cost.
fn whole_cost(line: &PlanLine) -> Cost {
    let both = line.now.usd.zip(line.at_most.usd);
    Cost {
        usd: both.map(|(now, most)| Interval {
            low: now.low,
            high: most.high,
        }),
        ..line.at_most
    }
}

/// A model's name, which may be a long path, shortened for people.
fn short_name(name: &str) -> String {
    short_names(std::iter::once(name)).concat()
}

/// A row for each question, judges named by `judge_name`. These come last: where the terminal is too narrow, the last
/// columns are left out, and the numbers are what was asked for.
fn table(estimate: &PlanEstimate, judge_name: fn(&str) -> String) -> Table {
    let mut lines: Vec<&PlanLine> = estimate.lines.iter().collect();
    lines.retain(|line| line.at_most.calls > 0);
    lines.push(&estimate.total);
    let mut table = Table::new("", Vec::new());
    let question = Column::headed("question", "Question", Format::Text);
    table.column(question, &lines, |line| question_cell(line));
    let now = Column::headed("calls_now", "Now", Format::Count);
    table.column(now, &lines, |line| line.now.calls as f64);
    let costs: Vec<Cost> = lines.iter().map(|line| whole_cost(line)).collect();
    push_costs(&mut table, "calls_at_most", "At most", &costs);
    let judge = Column::headed("judge", "Judge", Format::Text);
    table.column(judge, &lines, |line| judge_name(&line.judge));
    table
}

/// The role and the kind of a question, once where both have one name; the total has no kind.
fn question_cell(line: &PlanLine) -> Cell {
    if line.role == line.kind {
        Cell::text(&line.kind)
    } else {
        Cell::text(format!("{} {}", line.role, line.kind).trim_end())
    }
}

/// Calls, prompt tokens and the range of their cost.
fn push_costs(table: &mut Table, key: &str, heading: &str, costs: &[Cost]) {
    let calls = Column::headed(key, heading, Format::Count);
    table.column(calls, costs, |cost| cost.calls as f64);
    let tokens = Column::headed("prompt_tokens", "Prompt tokens", Format::Count);
    table.column(tokens, costs, |cost| cost.prompt_tokens as f64);
    let low = Column::headed("usd_low", "USD from", Format::Number(2));
    table.column(low, costs, |cost| Some(cost.usd?.low));
    let high = Column::headed("usd_high", "USD to", Format::Number(2));
    table.column(high, costs, |cost| Some(cost.usd?.high));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evaluation::Cost;
    use crate::report::CsvText;

    #[test]
    fn a_long_model_path_hides_no_number() {
        let path = "/scratch/shared/models/huggingface/hub/models--org--judge-70b-instruct/snapshots/0123456789";
        let cost = Cost {
            calls: 1188,
            prompt_tokens: 1_500_000,
            reply_tokens: 118_800,
            usd: Some(Interval {
                low: 7.0,
                high: 28.0,
            }),
        };
        let line = |kind: &str| PlanLine {
            role: "aspect.organization".into(),
            kind: kind.to_owned(),
            judge: path.to_owned(),
            now: cost,
            at_most: cost,
        };
        let estimate = PlanEstimate {
            answers: 2,
            answer_scores: 2,
            cached: 0,
            unpriced: Vec::new(),
            prices_of: None,
            room_tokens: 0,
            lines: vec![line("aspect")],
            total: line(""),
        };
        let shown = table(&estimate, short_name).terminal(&TableStyle::default());
        assert!(shown.contains("1,500,000"), "{shown}");
        assert!(shown.contains("7.00") && shown.contains("28.00"), "{shown}");
        assert!(
            table(&estimate, str::to_owned)
                .csv(CsvText::Guarded)
                .unwrap()
                .contains(path)
        );
    }

    #[test]
    fn the_plan_says_what_is_asked_and_what_is_cached() {
        let estimate = |calls: u64, cached, usd: Option<f64>| {
            let cost = |calls: u64, usd: Option<f64>| Cost {
                calls,
                prompt_tokens: 1234 * calls,
                reply_tokens: 100 * calls,
                usd: usd.map(|usd| Interval {
                    low: usd,
                    high: 2.0 * usd,
                }),
            };
            let total = PlanLine {
                role: "all".into(),
                kind: String::new(),
                judge: String::new(),
                now: cost(calls, usd),
                at_most: cost(2 * calls, usd.map(|usd| 2.0 * usd)),
            };
            let (unpriced, lines, prices_of) =
                (Vec::new(), Vec::new(), usd.map(|_| "2026-01-31".to_owned()));
            PlanEstimate {
                answers: 2,
                answer_scores: 2,
                cached,
                unpriced,
                prices_of,
                room_tokens: 0,
                lines,
                total,
            }
        };
        assert_eq!(
            plan_line(&estimate(10, 3, None)),
            "plan: 10 calls now, up to 20 with all follow-up questions; ~12,000 prompt tokens (up to ~25,000); 3 cached"
        );
        // what is 0 is left out; from the least for the calls now to the most for all: 7 to 2 * 2 * 7
        assert_eq!(
            plan_line(&estimate(1188, 0, Some(7.0))),
            "plan: 1,188 calls now, up to 2,376 with all follow-up questions; ~1.5 M prompt tokens (up to ~2.9 M); $7.00 to $28.00 \
             (prices of 2026-01-31)"
        );
        // The table has the same lower price: that of the calls now, 7, and not that of all, 14.
        let shown = table(&estimate(1188, 0, Some(7.0)), short_name);
        let prices = shown.csv(CsvText::Guarded).unwrap();
        assert!(
            prices.ends_with("all,1188,2376,2931984,7,28,\n"),
            "{prices}"
        );
        assert_eq!(
            plan_line(&estimate(0, 3, None)),
            "plan: nothing to ask; all 3 replies are cached"
        );
    }
}
