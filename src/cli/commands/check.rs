//! `scholareval check`: everything that can go wrong before the first paid call, for the price of one tiny call.

use super::Context;
use crate::cli::ExitCode;
use crate::cli::progress::grouped;
use crate::cli::scoring::inputs::LoadedInputs;
use crate::cli::scoring::runtime;
use crate::cli::scoring::setup::Identified;
use crate::cli::settings::Settings;
use crate::cli::terminal;
use crate::error::Result;

/// Runs the command.
///
/// # Errors
/// What `score` would have stumbled over.
pub(super) fn run(settings: &Settings, _context: &Context<'_>) -> Result<ExitCode> {
    runtime()?.block_on(check(settings))
}

async fn check(settings: &Settings) -> Result<ExitCode> {
    let inputs = LoadedInputs::load(settings)?;
    let mut lines = String::new();
    let systems: std::collections::BTreeSet<_> = inputs.items.iter().map(|item| &item.answer.system).collect();
    lines.push_str(&format!(
        "input: {} systems, {} of {} test cases kept, {} answers paired, {} missing\n",
        systems.len(),
        inputs.kept_cases.len(),
        inputs.all_cases.len(),
        grouped(inputs.items.len() as u64),
        inputs.missing.len()
    ));
    for warning in &inputs.warnings {
        lines.push_str(&format!("warning: {warning}\n"));
    }
    let identified = Identified::identify(settings).await?;
    let entry = identified.entry();
    lines.push_str(&format!("judge: {}\n", entry.id));
    if let Some(prompts) = identified.prompts_entry() {
        lines.push_str(&format!("prompts: {}\n", prompts.label));
    }
    match identified.ping().await? {
        Some(reply) => lines.push_str(&format!(
            "endpoint: {} answers in {} ms ({} prompt tokens, {} reply tokens)\n",
            entry.base_url.unwrap_or_default(),
            reply.latency_ms,
            reply.usage.prompt_tokens,
            reply.usage.completion_tokens
        )),
        None => lines.push_str("endpoint: none needed, the judge is the built-in lexical baseline\n"),
    }
    // The judge's identity is in the server's words.
    terminal::write_stdout(terminal::escaped_lines(&lines).as_bytes())?;
    Ok(ExitCode::Ok)
}
