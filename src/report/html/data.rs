//! The page's data for the script: one block of JSON with the values of all metrics, and one per case.

use std::collections::{BTreeMap, HashMap};

use serde::Serialize;
use serde_json::{Value, json};

use super::HtmlReport;
use super::citations::citations;
use super::safety::embedded;
use crate::analysis::ASPECT_MEAN;
use crate::analysis::comparison::Observation;
use crate::dataset::with_text;
use crate::domain::{Answer, CaseId, Item, ScoredAnswer, SystemName, Unit};
use crate::error::Result;
use crate::record::CallRecord;
use crate::report::comparison::metric_name;
use crate::report::table::short_names;
use crate::text::words::word_count;

/// Six decimals, finer than anything shown. Null if not finite.
fn short(value: f64) -> Value {
    if value.is_finite() {
        json!((value * 1e6).round() / 1e6)
    } else {
        Value::Null
    }
}

/// Systems, cases, and the values of every metric by system and case: a number, `[low, high]` where it is unscored,
/// null where there is no answer.
pub(super) fn core(report: &HtmlReport<'_>, first: usize) -> Value {
    let (comparison, observations) = (report.comparison, report.observations);
    let names = short_names(
        comparison
            .systems
            .iter()
            .map(|system| system.label.as_str()),
    );
    let systems = comparison.systems.iter().zip(names);
    let observed = |observation: &Observation| match observation {
        Observation::Value(value) => short(*value),
        Observation::Unscored(range) | Observation::Lowest(range) => {
            json!([short(range.low), short(range.high)])
        }
        Observation::Missing | Observation::NotApplicable => Value::Null,
    };
    let metrics = comparison.metrics.iter().map(|metric| {
        let table = observations
            .metrics
            .iter()
            .find(|table| table.metric == metric.metric);
        let values = table.map(|table| {
            table
                .values
                .iter()
                .map(|row| row.iter().map(observed).collect::<Value>())
                .collect::<Value>()
        });
        json!({
            "key": metric_name(comparison, metric),
            "scorer": metric.metric.scorer,
            "unit": metric.metric.unit,
            "order": metric.systems.iter().map(|row| row.system).collect::<Vec<_>>(),
            "values": values,
        })
    });
    json!({
        "first": first,
        "systems": systems.map(|(system, short)| json!({"label": system.label, "short": short})).collect::<Vec<_>>(),
        "cases": observations.cases.iter().map(|case| json!([case.case_id, case.question])).collect::<Vec<_>>(),
        "metrics": metrics.collect::<Vec<_>>(),
    })
}

/// One system in a case's block: its answer, its scores, and the judges' replies.
#[derive(Default, Serialize)]
struct SystemEntry {
    answer: Value,
    scores: Vec<Value>,
    calls: Vec<Value>,
}

/// The data of a case, by system; `None` for a system without anything about it.
#[derive(Serialize)]
struct CaseBlock<'a> {
    systems: Vec<Option<&'a SystemEntry>>,
    snippets: Option<BTreeMap<String, &'a [String]>>,
}

/// A part of a case's block, with the index of its run.
enum Part<'a> {
    Score(&'a ScoredAnswer),
    /// With the number of the first source, as citation scorers record it.
    Answer(&'a Item, u64),
    Call(&'a CallRecord),
}

/// The parts of each case, in the order of the runs.
type Parts<'a> = HashMap<&'a CaseId, Vec<(usize, Part<'a>)>>;

/// The blocks of all cases, in their order. Each is made when it is needed: as JSON values, all of them would take several
/// times the memory of the page.
///
/// # Errors
/// When one cannot be serialized.
pub(super) fn case_blocks(report: &HtmlReport<'_>) -> impl Iterator<Item = Result<String>> {
    let parts = parts_by_case(report);
    report.observations.cases.iter().map(move |case| {
        let own = parts.get(&case.case_id).map_or(&[][..], Vec::as_slice);
        case_block(report, own)
    })
}

fn parts_by_case<'a>(report: &'a HtmlReport<'_>) -> Parts<'a> {
    let mut parts = Parts::new();
    let mut add = |case: &'a CaseId, run: usize, part: Part<'a>| {
        parts.entry(case).or_default().push((run, part));
    };
    for (at, run) in report.runs.iter().enumerate() {
        for scored in &run.scored {
            add(&scored.case.case_id, at, Part::Score(scored));
        }
        let base = run
            .manifest
            .settings
            .values()
            .find_map(|setting| setting.get("index_base")?.as_u64())
            .unwrap_or(0);
        for item in run.items.iter().filter(|_| report.with_answers) {
            add(&item.answer.case_id, at, Part::Answer(item, base));
        }
        for call in report.calls.get(at).into_iter().flatten() {
            add(&call.case_id, at, Part::Call(call));
        }
    }
    parts
}

fn case_block(report: &HtmlReport<'_>, parts: &[(usize, Part<'_>)]) -> Result<String> {
    let mut entries: HashMap<(usize, &SystemName), SystemEntry> = HashMap::new();
    let mut snippets: Option<BTreeMap<String, &[String]>> = None;
    for (run, part) in parts {
        match part {
            Part::Score(scored) => {
                let entry = entries.entry((*run, &scored.system)).or_default();
                entry.scores.push(score_entry(scored));
                snippets.get_or_insert_with(|| snippets_of(scored));
            }
            Part::Answer(item, base) => {
                let answer = &item.answer;
                let entry = entries.entry((*run, &answer.system)).or_default();
                entry.answer = answer_entry(&with_text(item)?.answer, *base);
            }
            Part::Call(call) => {
                let entry = entries.entry((*run, &call.system)).or_default();
                entry.calls.push(call_entry(call));
            }
        }
    }
    let systems = report.comparison.systems.iter();
    let systems = systems
        .map(|system| entries.get(&(system.run, &system.system)))
        .collect();
    embedded(&CaseBlock { systems, snippets })
}

/// The snippets of the criteria of the answer's case, by the name of their component.
fn snippets_of(scored: &ScoredAnswer) -> BTreeMap<String, &[String]> {
    let criteria = scored.case.rubric.criteria.iter();
    criteria
        .filter(|criterion| !criterion.snippets.is_empty())
        .map(|criterion| (format!("{}_evidence", criterion.name), &*criterion.snippets))
        .collect()
}

/// `own` is the start of an appended list of references; `cites` are start, end, indices of the cited sources, and numbers
/// without a source.
fn answer_entry(answer: &Answer, index_base: u64) -> Value {
    let text: &str = &answer.answer_text;
    let prediction = answer.prediction.as_deref();
    let cites = citations(answer.own_text(), prediction, index_base).into_iter();
    let cites = cites.map(|cite| {
        json!([
            utf16(text, cite.range.start),
            utf16(text, cite.range.end),
            cite.sources,
            cite.dangling
        ])
    });
    json!({
        "text": text,
        "cites": cites.collect::<Value>(),
        "own": answer.own_bytes.filter(|own| *own < text.len()).map(|own| utf16(text, own)),
        "words": word_count(answer.own_text()),
        "sources": prediction.map_or(&[][..], |prediction| &prediction.sources),
    })
}

/// A score: its sums under the names of the metrics, and its components in their order. A script would reorder names that
/// are numbers in an object.
fn score_entry(scored: &ScoredAnswer) -> Value {
    let score = &scored.score;
    let (name, ann_name) = score.sum_names();
    let sums = match score.unit() {
        Unit::Grade => json!([[ASPECT_MEAN, score.value]]),
        _ if score.is_weighted_sum() && !score.has_ann_score() => json!([[name, score.value]]),
        _ if score.is_weighted_sum() => json!([[name, score.value], [ann_name, score.ann_score]]),
        _ => json!([]),
    };
    json!({
        "scorer": score.scorer,
        "unit": score.unit(),
        "sums": sums,
        "parts": score.components.iter().map(|part| json!([part.name, part])).collect::<Value>(),
        "members": scored.members,
        "notes": score.notes,
        "injection": scored.injection,
        "claims": score.claims,
    })
}

fn call_entry(call: &CallRecord) -> Value {
    let reply = call.reply.as_ref();
    json!({
        "item": call.item,
        "role": call.role,
        "judge": call.judge,
        "sample": call.sample,
        "attempt": call.attempt,
        "reply": reply.map(|reply| &reply.content),
        "reasoning": reply.and_then(|reply| reply.reasoning.as_deref()),
        "unscored": call.verdict.as_ref().err().map(|reason| &reason.message),
        "note": reply.and_then(|reply| reply.note.as_deref()),
    })
}

/// The offset in UTF-16 units, as scripts count, of a byte of the text; 0 within a character.
fn utf16(text: &str, byte: usize) -> usize {
    text.get(..byte)
        .map_or(0, |before| before.encode_utf16().count())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_are_in_utf16_units() {
        // ü takes two bytes and one unit, the emoji four bytes and two units.
        let text = "aü😀b";
        assert_eq!(
            [0, 1, 3, 7, 8].map(|byte| utf16(text, byte)),
            [0, 1, 2, 4, 5]
        );
    }
}
