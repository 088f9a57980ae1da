//! `scholareval check`: finds problems before the run is paid for, by one real question of each role.

use std::collections::BTreeSet;

use super::score::evaluation;
use super::{CommandContext, demo};
use crate::cli::settings::Settings;
use crate::cli::terminal;
use crate::domain::{JudgeReply, today};
use crate::error::{Error, Result};
use crate::evaluation::options::DEFAULT_JUDGE;
use crate::evaluation::{Changed, CheckedServer, LoadedInputs, NamedJudge, Prepared};
use crate::judge::refuse_ended;
use crate::prompt::PromptFamily;
use crate::text::names::{counted, without_directories};

/// Runs the command.
///
/// # Errors
/// The errors of `score`, for the sample data where no answers are given.
pub(super) async fn run(settings: &Settings, context: &CommandContext<'_>) -> Result<()> {
    let mut settings = settings.clone();
    let options = &mut settings.options;
    let sample = options
        .input
        .answers
        .is_empty()
        .then(demo::temporary_sample)
        .transpose()?;
    if let Some(sample) = &sample {
        options.input.answers = vec![sample.path().join("answers")];
        options.cases.tests = Some(sample.path().join("test_cases.json"));
    }
    let prepared = evaluation(&settings, context).prepare().await?;
    let mut lines = match &sample {
        Some(_) => {
            "input: no answers given, so the sample data of demo are asked about\n".to_owned()
        }
        None => input_line(&prepared.inputs),
    };
    let mut failed = None;
    // Every judge is tried before the first error ends the command: one call of it shows all of them.
    for (name, named) in prepared.judges.all() {
        let (more, error) = judge_lines(&prepared, name, named).await?;
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

/// Identity and prompts of a judge, whether each of its servers answers, and what was learned of it; returns the first error.
async fn judge_lines(
    prepared: &Prepared,
    name: &str,
    named: &NamedJudge,
) -> Result<(String, Option<Error>)> {
    let title = if name == DEFAULT_JUDGE {
        "judge".to_owned()
    } else {
        format!("judge {name}")
    };
    let mut lines = format!("{title}: {}\n", named.judge.judge_id());
    for family in PromptFamily::all() {
        if let Some(prompts) = named.prompts(family) {
            let family_note = if family == PromptFamily::RUBRIC {
                String::new()
            } else {
                format!(" ({})", family.as_str())
            };
            lines.push_str(&format!("prompts{family_note}: {}\n", prompts.label));
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
    let checked = prepared.check(name, named).await?;
    let mut learned = BTreeSet::new();
    for server_checked in &checked {
        lines.push_str(&endpoint_line(server_checked));
        for (_, reply) in &server_checked.replies {
            learned.extend(learned_of_reply(reply, &server.request.model));
        }
    }
    lines.extend(learned);
    for server_checked in &checked {
        lines.push_str(&decision_lines(server_checked));
    }
    if server.room() > 0 {
        let room = counted(
            usize::try_from(server.room()).unwrap_or(usize::MAX),
            "token",
        );
        lines.push_str(&format!(
            "room: {room} for reasoning in every reply limit\n"
        ));
    }
    // The first one decides the exit code; all of them are in the lines above it.
    let failed = checked.into_iter().find_map(|checked| checked.fault);
    Ok((lines, failed))
}

/// Whether a server answered, and what that cost.
fn endpoint_line(checked: &CheckedServer) -> String {
    let url = &checked.url;
    let Some((_, reply)) = checked.replies.first() else {
        let state = match checked.fault {
            Some(_) => "does not answer",
            None => "was not asked: there is no answer to ask about",
        };
        return format!("endpoint: {url} {state}\n");
    };
    let fault = match checked.fault {
        Some(_) => ", without a verdict",
        None => "",
    };
    let roles = checked.replies.iter().map(|(role, _)| role.name());
    let roles = roles.collect::<Vec<_>>().join(", ");
    let ([prompt, replied], millis) = (checked.tokens, reply.latency_ms);
    format!(
        "endpoint: {url} answers in {millis} ms{fault} ({roles}: {prompt} prompt tokens, {replied} reply tokens)\n"
    )
}

/// What is known of a decision model: how far its verdicts flip, or, if it gives none, what its server is asked instead.
fn decision_lines(checked: &CheckedServer) -> String {
    let mut lines = String::new();
    if let Some(flips) = &checked.flips {
        let tried = [
            (flips.reversed, "with options in the other order"),
            (flips.alone, "one question a request"),
            (flips.repeated, "repeated"),
        ];
        // The options of a scale have one order.
        let tried = tried.iter().filter(|(changed, _)| changed.of > 0);
        let parts = tried.map(|(Changed { changed, of }, how)| format!("{changed} of {of} {how}"));
        let parts: Vec<String> = parts.collect();
        lines.push_str(&format!("verdicts that change: {}\n", parts.join(", ")));
    }
    for (kind, route) in &checked.spoken {
        let url = &checked.url;
        let is_usual = kind.protocol().path() == *route;
        let base_url = if is_usual {
            url.clone()
        } else {
            format!("{url}{route}")
        };
        lines.push_str(&format!(
            "found: {url}{route} answers; give --judge {kind} --base-url {base_url}\n"
        ));
    }
    lines
}

/// What a reply shows of the judge, one line each.
fn learned_of_reply(reply: &JudgeReply, requested: &str) -> Vec<String> {
    let mut lines = Vec::new();
    if let Some(end) = reply.end {
        lines.push(format!("model: {}\n", end.sentence(requested, today())));
    }
    let answering = reply.answering_model();
    if let Some(model) = answering.filter(|model| *model != without_directories(requested)) {
        lines.push(format!("model: {model} answers\n"));
    }
    if let Some(note) = &reply.note {
        lines.push(format!("note: {note}\n"));
    }
    lines
}
