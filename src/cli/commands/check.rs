//! `scholareval check`: everything that can go wrong before the first paid call, for the price of one tiny call.

use super::Context;
use super::score::prompts;
use crate::cli::ExitCode;
use crate::cli::scoring::choice::Choice;
use crate::cli::scoring::inputs::LoadedInputs;
use crate::cli::scoring::roles::{Judges, aspects_of, roles_of};
use crate::cli::scoring::runtime;
use crate::cli::scoring::setup::Identified;
use crate::cli::settings::Settings;
use crate::cli::terminal;
use crate::error::{Error, Result};
use crate::evaluation::options::{DEFAULT_JUDGE, ScorerName};
use crate::prompt::PromptFamily;

/// Runs the command.
///
/// # Errors
/// What `score` would have stumbled over.
pub(super) fn run(settings: &Settings, _context: &Context<'_>) -> Result<ExitCode> {
    runtime()?.block_on(check(settings))
}

async fn check(settings: &Settings) -> Result<ExitCode> {
    let inputs = LoadedInputs::load(&settings.options)?;
    let choice = Choice::of(&settings.options, &inputs.support)?;
    let aspects = if choice.has(ScorerName::Prometheus) { aspects_of(&settings.options)? } else { Vec::new() };
    let mut lines = input_lines(&inputs);
    let told = !settings.quiet;
    for warning in inputs.warnings.iter().filter(|_| told) {
        lines.push_str(&format!("warning: {warning}\n"));
    }
    for note in inputs.notes.iter().chain(&choice.note).filter(|_| told) {
        lines.push_str(&format!("note: {note}\n"));
    }
    let roles = roles_of(&choice, &aspects);
    let judges = Judges::identify(settings, &roles, &prompts(settings)?).await?;
    let mut failed = None;
    for (name, identified) in judges.all() {
        let (more, error) = judge_lines(name, identified).await?;
        lines.push_str(&more);
        failed = failed.or(error);
    }
    // The judge's identity is in the server's words.
    terminal::write_text(&terminal::escaped_lines(&lines))?;
    failed.map_or(Ok(ExitCode::Ok), Err)
}

fn input_lines(inputs: &LoadedInputs) -> String {
    let items = if inputs.rubric.is_empty() { &inputs.plain } else { &inputs.rubric };
    let systems: std::collections::BTreeSet<_> = items.iter().map(|item| &item.answer.system).collect();
    if inputs.all_cases.is_empty() {
        let (systems, answers) = (systems.len(), items.len());
        return format!("input: {}, {}\n", terminal::counted(systems, "system"), terminal::counted(answers, "answer"));
    }
    format!(
        "input: {}, {} of {} kept, {} paired, {} missing\n",
        terminal::counted(systems.len(), "system"),
        inputs.kept_cases.len(),
        terminal::counted(inputs.all_cases.len(), "test case"),
        terminal::counted(items.len(), "answer"),
        inputs.missing.len()
    )
}

/// Who a judge is, and whether each of its endpoints answers; the first error of those that do not.
async fn judge_lines(name: &str, identified: &Identified) -> Result<(String, Option<Error>)> {
    let entry = identified.entry();
    let title = if name == DEFAULT_JUDGE { "judge".to_owned() } else { format!("judge {name}") };
    let mut lines = format!("{title}: {}\n", entry.id);
    for family in PromptFamily::ALL {
        if let Some(prompts) = identified.prompts_entry(family) {
            let of = if family == PromptFamily::Rubric { String::new() } else { format!(" ({})", family.as_str()) };
            lines.push_str(&format!("prompts{of}: {}\n", prompts.label));
        }
    }
    if identified.is_lexical() {
        lines.push_str("endpoint: none needed, the judge is the built-in lexical baseline\n");
    }
    let mut failed = None;
    for (url, answer) in identified.ping().await? {
        match answer {
            Ok(reply) => lines.push_str(&format!(
                "endpoint: {url} answers in {} ms ({} prompt tokens, {} reply tokens)\n",
                reply.latency_ms, reply.usage.prompt_tokens, reply.usage.completion_tokens
            )),
            Err(error) => {
                lines.push_str(&format!("endpoint: {url} does not answer\n"));
                failed.get_or_insert(error);
            }
        }
    }
    Ok((lines, failed))
}
