//! `scholareval export inspect`: a log of inspect-ai for each system.

use std::collections::HashMap;
use std::io::Write;
use std::path::Path;

use serde_json::{Value, json};

use super::{open, write_whole};
use crate::cli::ExitCode;
use crate::cli::args::ExportArgs;
use crate::cli::origin::escape_controls;
use crate::cli::terminal::{note, write_stdout};
use crate::domain::{Answer, CaseId, SystemName};
use crate::error::{Error, Result};
use crate::evaluation::record::{JudgeEntry, RecordedRun, RunStatus};
use crate::report::{InspectJudge, InspectRun, InspectSample, render_inspect_log};

/// Characters of a name that are kept in a file's.
const KEPT_OF_A_NAME: usize = 40;

/// Runs the command.
///
/// # Errors
/// When the directory is no run, or a file cannot be written.
pub(super) fn run(args: &ExportArgs) -> Result<ExitCode> {
    let recorded = open(args)?;
    let run = about(&recorded);
    let texts: HashMap<(&SystemName, &CaseId), &Answer> =
        recorded.items.iter().map(|item| ((&item.answer.system, &item.case.case_id), &item.answer)).collect();
    let systems = recorded.systems();
    for system in &systems {
        let log = render_inspect_log(&run, system, &samples(&recorded, system, &texts))?;
        let path = args.out.join(file_name(&run, system));
        write_whole(&path, |out| out.write_all(&log).map_err(Error::io(&path, "write")))?;
    }
    let out = escape_controls(&args.out.display().to_string());
    let logs = if systems.len() == 1 { "1 log".to_owned() } else { format!("{} logs", systems.len()) };
    write_stdout(format!("wrote {logs} to {out}\n").as_bytes())?;
    if recorded.items.is_empty() && !args.quiet {
        note("note: the record holds no answers (--no-inputs), so the logs show scores alone");
    }
    Ok(ExitCode::Ok)
}

/// Every case of a system once, in the order of its scores.
fn samples<'a>(
    recorded: &'a RecordedRun,
    system: &SystemName,
    texts: &HashMap<(&SystemName, &CaseId), &'a Answer>,
) -> Vec<InspectSample<'a>> {
    let mut samples: Vec<InspectSample<'a>> = Vec::new();
    let mut places: HashMap<&CaseId, usize> = HashMap::new();
    for scored in recorded.scored.iter().filter(|scored| scored.system == *system) {
        let case = &*scored.case;
        if let Some(sample) = places.get(&case.case_id).and_then(|place| samples.get_mut(*place)) {
            sample.scored.push(scored);
            continue;
        }
        let answer = texts.get(&(system, &case.case_id)).copied();
        let gold = answer.and_then(|answer| answer.prediction.as_ref()?.gold.answer.as_deref());
        places.insert(&case.case_id, samples.len());
        samples.push(InspectSample {
            case,
            answer: answer.map(|answer| &*answer.answer_text),
            target: gold.or_else(|| answer.and_then(|answer| answer.reference_answer.as_deref())),
            scored: vec![scored],
        });
    }
    samples
}

fn about(recorded: &RecordedRun) -> InspectRun {
    let manifest = &recorded.manifest;
    let name = |path: &str| Path::new(path).file_name().map(|name| name.to_string_lossy().into_owned());
    let tests = manifest.inputs.iter().find(|input| input.name == "tests");
    let mut judges: Vec<InspectJudge> = Vec::new();
    let mut add = |role: &str, at: usize, judge: &JudgeEntry| {
        let role = if at == 0 { role.to_owned() } else { format!("{role}.{}", at + 1) };
        if !judges.iter().any(|known| known.role == role) {
            judges.push(InspectJudge { role, judge: judge.id.clone(), base_url: judge.base_url.clone() });
        }
    };
    manifest.judge.iter().for_each(|judge| add("rubric", 0, judge));
    for (role, entry) in &manifest.roles {
        entry.judges.iter().enumerate().for_each(|(at, judge)| add(role, at, judge));
    }
    let prompts = manifest.prompts.as_ref().map(|prompts| json!(prompts.label));
    InspectRun {
        run: recorded.name.clone(),
        run_id: manifest.identity().short(16),
        started_at: manifest.started_at.clone(),
        completed_at: manifest.finished_at.clone(),
        complete: manifest.status == RunStatus::Complete,
        dataset: tests.and_then(|tests| name(&tests.path)),
        judges,
        metadata: json!({
            "run": recorded.name,
            "mode": manifest.mode,
            "lexical": manifest.is_lexical(),
            "prompts": prompts.unwrap_or(Value::Null),
            "settings": manifest.settings,
        }),
    }
}

/// `TIME_RUN_SYSTEM_ID.json`, the form by which inspect-ai knows its logs. Of run and system only what is harmless in a
/// name is kept; the id tells apart what then looks the same.
fn file_name(run: &InspectRun, system: &SystemName) -> String {
    let time: String = run.started_at.chars().take(19).map(|c| if c == ':' { '-' } else { c }).collect();
    let id: String = blake3::hash(system.as_str().as_bytes()).to_hex().chars().take(8).collect();
    format!("{}_{}_{}_{}{id}.json", harmless(&time), harmless(&run.run), harmless(system.as_str()), run.run_id)
}

/// The name without anything that could lead elsewhere or part the file's name.
fn harmless(name: &str) -> String {
    let kept = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '-' };
    name.chars().take(KEPT_OF_A_NAME).map(kept).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_name_of_a_run_or_system_leads_out_of_the_directory() {
        let run = InspectRun {
            run: "../up".into(),
            run_id: "ab".into(),
            started_at: "2026-01-02T03:04:05.6Z".into(),
            completed_at: None,
            complete: true,
            dataset: None,
            judges: Vec::new(),
            metadata: Value::Null,
        };
        let name = file_name(&run, &"../../etc/pass_wd\u{1b}".into());
        assert!(name.starts_with("2026-01-02T03-04-05_---up_------etc-pass-wd-_ab"), "{name}");
        assert_ne!(file_name(&run, &"a b".into()), file_name(&run, &"a-b".into()));
    }
}
