//! The two tables and their columns (`docs/formats.md`).

use std::fs::File;
use std::io::BufWriter;
use std::path::Path;

use serde_json::Value;

use crate::cli::ExitCode;
use crate::cli::args::ParquetArgs;
use crate::cli::commands::export::{open, write_whole};
use crate::cli::origin::escape_controls;
use crate::cli::progress::grouped;
use crate::cli::terminal::write_stdout;
use crate::domain::{Component, ComponentKind, ScoredAnswer, Unit, UnscoredKind};
use crate::error::{Error, InputFault, Result};
use crate::evaluation::record::{CallLine, RecordedRun, SCHEMA_VERSION, for_each_call};
use crate::report::{Cell, ColumnType, ParquetTable, parquet_metadata};
use crate::scorer::rubric::LEXICAL;

use ColumnType::{Flag, Number, Text, Whole};

const SCORES: [(&str, ColumnType); 14] = [
    ("run", Text),
    ("system", Text),
    ("case_id", Text),
    ("question", Text),
    ("scorer", Text),
    ("component", Text),
    ("kind", Text),
    ("unit", Text),
    ("text", Text),
    ("weight", Number),
    ("value", Number),
    ("reason_kind", Text),
    ("reason", Text),
    ("feedback", Text),
];

const CALLS: [(&str, ColumnType); 25] = [
    ("run", Text),
    ("v", Whole),
    ("call_id", Text),
    ("system", Text),
    ("case_id", Text),
    ("item", Text),
    ("kind", Text),
    ("role", Text),
    ("judge", Text),
    ("draw", Whole),
    ("attempt", Whole),
    ("fingerprint", Text),
    ("raw", Text),
    ("finish_reason", Text),
    ("model", Text),
    ("verdict", Text),
    ("reason", Text),
    ("reason_kind", Text),
    ("cached", Flag),
    ("prompt_tokens", Whole),
    ("cached_prompt_tokens", Whole),
    ("completion_tokens", Whole),
    ("latency_ms", Whole),
    ("logprobs", Text),
    ("note", Text),
];

type Table<'a> = ParquetTable<&'a mut BufWriter<File>>;

pub(super) fn run(args: &ParquetArgs) -> Result<ExitCode> {
    let (args, overwrite) = (&args.export, args.overwrite);
    let run = open(args)?;
    let [scores, calls] = ["scores.parquet", "calls.parquet"].map(|name| args.out.join(name));
    if !overwrite {
        refuse_tables_of_others(&[&scores, &calls], &run)?;
    }
    let score_rows = table(&scores, &SCORES, &run, |table| {
        run.scored.iter().try_for_each(|scored| answer(table, &run.name, scored).map_err(Error::io(&scores, "write")))
    })?;
    let call_rows = table(&calls, &CALLS, &run, |table| {
        for_each_call(&run.path.join("calls.jsonl"), |line| {
            call(table, &run.name, &line).map_err(Error::io(&calls, "write"))
        })
    })?;
    let (score_rows, call_rows) = (grouped(score_rows), grouped(call_rows));
    let out = escape_controls(&args.out.display().to_string());
    let told = format!("wrote {score_rows} rows of scores and {call_rows} calls to {out}\n");
    write_stdout(told.as_bytes())?;
    Ok(ExitCode::Ok)
}

/// What a table tells of its run.
fn about(run: &RecordedRun) -> [(&'static str, String); 4] {
    [
        ("scholareval.schema_version", SCHEMA_VERSION.to_string()),
        ("scholareval.run", run.name.clone()),
        ("scholareval.judge", run.manifest.judge_id().to_owned()),
        ("scholareval.started_at", run.manifest.started_at.clone()),
    ]
}

/// # Errors
/// Where one of these files is there and is no table of this run.
fn refuse_tables_of_others(paths: &[&Path], run: &RecordedRun) -> Result<()> {
    let own = about(run);
    for path in paths.iter().filter(|path| path.exists()) {
        // What cannot be read is no table of this run either.
        let there = File::open(path).and_then(parquet_metadata).unwrap_or_default();
        let value = |key: &str| there.iter().find(|(known, _)| known == key).map(|(_, value)| value.as_str());
        if own.iter().skip(1).any(|(key, own)| value(key) != Some(own)) {
            let what = match value("scholareval.run") {
                Some(other) => format!("holds a table of another run ({})", other.escape_debug()),
                None => "is there and is no table of this run".to_owned(),
            };
            let hint = "name another place with --out, or add --overwrite";
            return Err(InputFault::new(path, what).hint(hint).into());
        }
    }
    Ok(())
}

/// Writes the table at `path`; gives the number of its rows.
fn table(
    path: &Path,
    columns: &[(&'static str, ColumnType)],
    run: &RecordedRun,
    fill: impl FnOnce(&mut Table<'_>) -> Result<()>,
) -> Result<u64> {
    let about = about(run);
    let about: Vec<(&str, &str)> = about.iter().map(|(key, value)| (*key, value.as_str())).collect();
    write_whole(path, |out| {
        let mut table = ParquetTable::new(out, columns, &about).map_err(Error::io(path, "write"))?;
        fill(&mut table)?;
        table.finish().map_err(Error::io(path, "write"))
    })
}

/// A number of an answer: a sum, or a component.
struct Entry<'a> {
    name: &'a str,
    kind: &'a str,
    unit: &'static str,
    value: Option<f64>,
    part: Option<&'a Component>,
}

/// The sums of an answer, where it has any, then its components.
fn answer(table: &mut Table<'_>, run: &str, scored: &ScoredAnswer) -> std::io::Result<()> {
    let score = &scored.score;
    let has_sum = score.is_weighted_sum();
    let names = if score.scorer == LEXICAL { ["lexical_score", "lexical_ann_score"] } else { ["score", "ann_score"] };
    let graded = score.components.iter().any(|part| part.kind == ComponentKind::Aspect);
    let sum = |kind: &'static str, name: &'static str, value| Entry {
        name,
        kind,
        unit: if graded { "grade" } else { "share" },
        value,
        part: None,
    };
    let mut entries: Vec<Entry<'_>> = Vec::with_capacity(score.components.len() + 2);
    if has_sum || score.value.is_some() {
        entries.push(sum("score", names[0], score.value));
    }
    if has_sum {
        entries.push(sum("ann_score", names[1], score.ann_score));
    }
    entries.extend(score.components.iter().map(|part| Entry {
        name: &part.name,
        kind: part.kind.as_str(),
        unit: match part.kind.unit() {
            Unit::Share => "share",
            Unit::Grade => "grade",
            Unit::Count => "count",
        },
        value: part.value,
        part: Some(part),
    }));
    entries.iter().try_for_each(|entry| number(table, run, scored, entry))
}

fn number(table: &mut Table<'_>, run: &str, scored: &ScoredAnswer, entry: &Entry<'_>) -> std::io::Result<()> {
    let part = entry.part;
    let reason = part.and_then(|part| part.reason.as_ref());
    let reason_kind = reason.map(|reason| kind_name(reason.kind));
    table.push(&[
        Cell::Text(run),
        Cell::Text(scored.system.as_str()),
        Cell::Text(scored.case.case_id.as_str()),
        Cell::Text(&scored.case.initial_prompt),
        Cell::Text(scored.score.scorer),
        Cell::Text(entry.name),
        Cell::Text(entry.kind),
        Cell::Text(entry.unit),
        Cell::text(part.map(|part| part.text.as_str()).filter(|text| !text.is_empty())),
        Cell::number(part.filter(|part| part.kind.is_weighted()).map(|part| part.weight)),
        Cell::number(entry.value),
        Cell::text(reason_kind.as_deref()),
        Cell::text(reason.map(|reason| reason.message.as_str())),
        Cell::text(part.and_then(|part| part.feedback.as_deref())),
    ])
}

/// The kind's name as the record has it.
fn kind_name(kind: UnscoredKind) -> String {
    match serde_json::to_value(kind) {
        Ok(Value::String(name)) => name,
        _ => String::new(),
    }
}

fn call(table: &mut Table<'_>, run: &str, line: &CallLine) -> std::io::Result<()> {
    let json = |value: &Value| value.to_string();
    let verdict = line.verdict.as_ref().map(json);
    let logprobs = line.logprobs.as_ref().and_then(|logprobs| serde_json::to_string(logprobs).ok());
    let reason_kind = line.reason_kind.map(kind_name);
    table.push(&[
        Cell::Text(run),
        Cell::count(line.v.into()),
        Cell::Text(&line.call_id),
        Cell::Text(line.system.as_str()),
        Cell::Text(line.case_id.as_str()),
        Cell::Text(&line.item),
        Cell::Text(&line.kind),
        Cell::Text(&line.role),
        Cell::Text(&line.judge),
        Cell::count(line.draw.into()),
        Cell::count(line.attempt.into()),
        Cell::text(line.fingerprint.as_deref()),
        Cell::text(line.raw.as_deref()),
        Cell::text(line.finish_reason.as_deref()),
        Cell::text(line.model.as_deref()),
        Cell::text(verdict.as_deref()),
        Cell::text(line.reason.as_deref()),
        Cell::text(reason_kind.as_deref()),
        Cell::Flag(line.cached),
        Cell::count(line.prompt_tokens),
        Cell::count(line.cached_prompt_tokens),
        Cell::count(line.completion_tokens),
        Cell::count(line.latency_ms),
        Cell::text(logprobs.as_deref()),
        Cell::text(line.note.as_deref()),
    ])
}
