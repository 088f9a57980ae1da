//! `scholareval check`: finds problems before the first paid call, for the price of one tiny call.

use std::collections::BTreeSet;

use super::CommandContext;
use super::score::evaluation;
use crate::cli::settings::Settings;
use crate::cli::terminal;
use crate::domain::today;
use crate::error::{Error, Result};
use crate::evaluation::options::DEFAULT_JUDGE;
use crate::evaluation::{LoadedInputs, NamedJudge};
use crate::judge::refuse_ended;
use crate::prompt::PromptFamily;
use crate::text::names::counted;

/// Runs the command.
///
/// # Errors
/// The errors of `score`.
pub(super) async fn run(settings: &Settings, context: &CommandContext<'_>) -> Result<()> {
    let prepared = evaluation(settings, context).prepare().await?;
    let mut lines = input_line(&prepared.inputs);
    let mut failed = None;
    // Every judge is tried before the first error ends the command: one call of it shows all of them.
    for (name, named) in prepared.judges.all() {
        let (more, error) = judge_lines(name, named).await?;
        lines.push_str(&more);
        failed = failed.or(error);
    }
    // The identity is text from the server.
    terminal::write_text(&terminal::escaped_lines(&lines))?;
    failed.map_or(Ok(()), Err)
}

/// The answers and, with test cases, how many of these they are for.
fn input_line(inputs: &LoadedInputs) -> String {
    let items = if inputs.rubric.is_empty() {
        &inputs.plain
    } else {
        &inputs.rubric
    };
    let systems: BTreeSet<_> = items.iter().map(|item| &item.answer.system).collect();
    let systems = counted(systems.len(), "system");
    if inputs.all_cases.is_empty() {
        return format!("input: {systems}, {}\n", counted(items.len(), "answer"));
    }
    format!(
        "input: {systems}, {} of {} kept, {} paired, {} missing\n",
        inputs.kept_cases.len(),
        counted(inputs.all_cases.len(), "test case"),
        counted(items.len(), "answer"),
        inputs.missing.len()
    )
}

/// Identity and prompts of a judge, and whether each of its servers answers; returns the first error.
async fn judge_lines(name: &str, named: &NamedJudge) -> Result<(String, Option<Error>)> {
    let title = if name == DEFAULT_JUDGE {
        "judge".to_owned()
    } else {
        format!("judge {name}")
    };
    let mut lines = format!("{title}: {}\n", named.judge.judge_id());
    for family in PromptFamily::all() {
        if let Some(prompts) = named.prompts(family) {
            let of = if family == PromptFamily::RUBRIC {
                String::new()
            } else {
                format!(" ({})", family.as_str())
            };
            lines.push_str(&format!("prompts{of}: {}\n", prompts.label));
        }
    }
    let Some(server) = named.judge.server() else {
        lines.push_str("endpoint: none needed, the judge is the built-in lexical baseline\n");
        return Ok((lines, None));
    };
    let ending = match server.ending().await {
        Ok(ending) => ending,
        Err(error) => return Ok((lines, Some(error))),
    };
    if let Some(ending) = ending {
        lines.push_str(&format!("model: {}\n", ending.sentence(today())));
        // A call would be answered by an error, or by another model.
        if let Err(error) = refuse_ended(&ending) {
            return Ok((lines, Some(error)));
        }
    }
    let mut failed = None;
    for (url, answer) in server.ping().await? {
        match answer {
            Ok(reply) => {
                lines.push_str(&format!(
                    "endpoint: {url} answers in {} ms ({} prompt tokens, {} reply tokens)\n",
                    reply.latency_ms, reply.usage.prompt_tokens, reply.usage.completion_tokens
                ));
                if let Some(end) = reply.end {
                    let sentence = end.sentence(&server.request.model, today());
                    lines.push_str(&format!("model: {sentence}\n"));
                }
            }
            Err(error) => {
                lines.push_str(&format!("endpoint: {url} does not answer\n"));
                // The first one decides the exit code; all of them are in the lines above it.
                failed.get_or_insert(error);
            }
        }
    }
    if let Some(note) = server.left_out() {
        lines.push_str(&format!("note: {note}\n"));
    }
    Ok((lines, failed))
}
