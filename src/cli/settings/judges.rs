//! Further judges, `[judges.NAME]`: each table is read as if it were a config file's `[judge]` and `[limits]`.

use std::collections::BTreeSet;
use std::num::NonZeroU32;

use super::judge::merge_judge;
use super::keys;
use super::merge::{Sources, fault};
use super::{DEFAULT_CONCURRENCY, JudgeKind, JudgeSettings, LimitSettings, MergeRule, NamedJudge};
use crate::cli::args::{JudgeArgs, LimitArgs};
use crate::cli::config_file::ConfigFile;
use crate::cli::origin::{Environment, Origin};
use crate::error::Result;

/// How often every judge is asked that does not say so itself.
#[derive(Clone, Copy)]
pub(super) struct Draws {
    pub(super) samples: u32,
    pub(super) merge: MergeRule,
}

/// Merges all further judges; those in `used` are asked in this run, so that their keys must be set.
pub(super) fn merge_judges(
    sources: &mut Sources<'_>,
    draws: Draws,
    used: &BTreeSet<String>,
    warnings: &mut Vec<String>,
) -> Result<Vec<NamedJudge>> {
    let Some(file) = sources.file else { return Ok(Vec::new()) };
    let mut judges = Vec::new();
    for (name, line) in file.judges() {
        let Some(table) = file.of_judge(name) else { continue };
        let mut told = Vec::new();
        judges.push(merge_one(sources, &Table { file: &table, name, line }, draws, used.contains(name), &mut told)?);
        warnings.extend(told.into_iter().map(|warning| format!("[judges.{name}]: {warning}")));
    }
    Ok(judges)
}

struct Table<'a> {
    file: &'a ConfigFile,
    name: &'a str,
    line: usize,
}

fn merge_one(
    outer: &mut Sources<'_>,
    table: &Table<'_>,
    draws: Draws,
    in_use: bool,
    warnings: &mut Vec<String>,
) -> Result<NamedJudge> {
    let given = |key: &str| table.file.get(key).is_some();
    if ![keys::KIND.name, keys::MODEL.name, keys::BASE_URL.name].into_iter().any(given) {
        let what = "neither model nor base_url; add one of them, or kind = \"lexical\" for the built-in baseline";
        let origin = Origin::File {
            path: table.file.path().to_path_buf(),
            line: table.line,
            key: format!("{}.{}", keys::JUDGES, table.name),
        };
        return Err(fault(&keys::KIND, &origin, what));
    }
    // No environment: SCHOLAREVAL_MODEL and the like mean the judge of the flags. Keys are looked up in the real one.
    let empty = Environment::default();
    let mut sources =
        Sources { environment: &empty, keys: outer.keys, in_use, file: Some(table.file), lines: Vec::new() };
    let judge = merge_judge(&mut sources, &JudgeArgs::default(), &LimitArgs::default(), warnings)?;
    let limits = merge_limits(&mut sources, &LimitArgs::default())?;
    let origin_of = |key: &str| outer.lines.iter().find(|line| line.key == key).map(|line| line.origin.clone());
    let samples: Option<(NonZeroU32, Origin)> = sources.find(&keys::SAMPLES, None)?;
    let merge: Option<(MergeRule, Origin)> = sources.find(&keys::MERGE, None)?;
    let (samples, samples_origin) = match samples {
        Some((samples, origin)) => (samples.get(), origin),
        None => (draws.samples, origin_of(keys::SAMPLES.name).unwrap_or(Origin::Default)),
    };
    let (merge, merge_origin) =
        merge.unwrap_or_else(|| (draws.merge, origin_of(keys::MERGE.name).unwrap_or(Origin::Default)));
    sources.note(keys::SAMPLES.name, samples.into(), samples_origin);
    sources.note(keys::MERGE.name, merge.as_str().into(), merge_origin);
    if in_use && let Some(why) = repeats(&judge, samples) {
        warnings.push(format!(
            "{samples} samples {why} repeat one reply; set temperature = 0.7 or so with an LLM, or samples = 1"
        ));
    }
    let lines = sources.lines.into_iter().map(|mut line| {
        line.key = table.file.shown(&line.key);
        line
    });
    outer.lines.extend(lines);
    Ok(NamedJudge { name: table.name.to_owned(), judge, limits, samples, merge })
}

/// How fast a judge is asked.
pub(super) fn merge_limits(sources: &mut Sources<'_>, flags: &LimitArgs) -> Result<LimitSettings> {
    Ok(LimitSettings {
        concurrency: sources.or_default(&keys::CONCURRENCY, flags.concurrency, DEFAULT_CONCURRENCY)?,
        rpm: sources.optional(&keys::RPM, flags.rpm)?,
        tpm: sources.optional(&keys::TPM, flags.tpm)?,
    })
}

/// Why several draws are one and the same, if they are.
pub(super) fn repeats(judge: &JudgeSettings, samples: u32) -> Option<&'static str> {
    match judge.kind {
        _ if samples <= 1 => None,
        JudgeKind::Lexical => Some("by the lexical judge"),
        _ => (judge.temperature == Some(0.0)).then_some("at temperature 0"),
    }
}
