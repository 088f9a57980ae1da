//! What the script reads: one block of JSON with the values of all metrics, and one for each case.
//!
//! Keys are short, and texts that a block has several times (criteria, equal replies) are in it once, since a page has
//! thousands of them. `docs/formats.md` describes the form.

use std::borrow::Cow;
use std::collections::HashMap;

use serde::Serialize;
use serde_json::{Map, Value, json};

use super::citations::citations;
use super::leaderboard::metric_key;
use super::safety::embedded;
use super::{HtmlReport, HtmlRun};
use crate::analysis::comparison::Observation;
use crate::domain::{Answer, CaseId, ClaimSupport, Criterion, Score, ScoredAnswer, SystemName, Unit};
use crate::error::Result;
use crate::evaluation::CallRecord;
use crate::report::table::short_names;
use crate::text::words::word_count;

/// Six digits behind the point: finer than anything shown. Null without a finite value.
fn short(value: Option<f64>) -> Value {
    value.filter(|value| value.is_finite()).map_or(Value::Null, |value| json!((value * 1e6).round() / 1e6))
}

/// Systems, cases, and the values of every metric by system and case: a number, `[low, high]` where it is unscored,
/// null where there is no answer.
pub(super) fn core(report: &HtmlReport<'_>, first: usize) -> Value {
    let (comparison, observations) = (report.comparison, report.observations);
    let names = short_names(comparison.systems.iter().map(|system| system.label.as_str()));
    let systems = comparison.systems.iter().zip(names);
    let observed = |observation: &Observation| match observation {
        Observation::Value(value) => short(Some(*value)),
        Observation::Unscored(range) => json!([short(Some(range.low)), short(Some(range.high))]),
        Observation::Missing | Observation::NotApplicable => Value::Null,
    };
    let metrics = comparison.metrics.iter().map(|metric| {
        let table = observations.metrics.iter().find(|table| table.metric == metric.metric);
        let values = table
            .map(|table| table.values.iter().map(|row| row.iter().map(observed).collect::<Value>()).collect::<Value>());
        json!({
            "key": metric_key(&metric.metric, comparison),
            "scorer": metric.metric.scorer,
            "unit": metric.metric.unit,
            "order": metric.systems.iter().map(|row| row.system).collect::<Vec<_>>(),
            "values": values,
        })
    });
    json!({
        "v": 1,
        "first": first,
        "systems": systems.map(|(system, short)| json!({"label": system.label, "short": short})).collect::<Vec<_>>(),
        "cases": observations.cases.iter().map(|case| json!([case.case_id, case.question])).collect::<Vec<_>>(),
        "metrics": metrics.collect::<Vec<_>>(),
    })
}

/// The texts of a block, each once.
#[derive(Default)]
struct Texts<'a> {
    list: Vec<Cow<'a, str>>,
    places: HashMap<Cow<'a, str>, usize>,
}

impl<'a> Texts<'a> {
    fn place(&mut self, text: impl Into<Cow<'a, str>>) -> usize {
        let text = text.into();
        *self.places.entry(text).or_insert_with_key(|text| {
            self.list.push(text.clone());
            self.list.len() - 1
        })
    }

    fn optional(&mut self, text: Option<&'a str>) -> Option<usize> {
        text.map(|text| self.place(text))
    }

    fn places(&mut self, texts: &'a [String]) -> Vec<usize> {
        texts.iter().map(|text| self.place(text)).collect()
    }
}

/// What a case's block has of one system.
#[derive(Serialize)]
struct SystemEntry {
    #[serde(skip_serializing_if = "Option::is_none")]
    answer: Option<Value>,
    scores: Vec<Value>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    calls: Vec<Value>,
}

/// The records of one answer.
#[derive(Default)]
struct Records<'a> {
    answer: Option<(&'a Answer, u64)>,
    scored: Vec<&'a ScoredAnswer>,
    calls: Vec<&'a CallRecord>,
}

/// The blocks of all cases, in their order.
///
/// # Errors
/// When one cannot be serialized.
pub(super) fn case_blocks(report: &HtmlReport<'_>) -> Result<Vec<String>> {
    let mut records: HashMap<(usize, &SystemName, &CaseId), Records<'_>> = HashMap::new();
    for (at, run) in report.runs.iter().enumerate() {
        gather(at, run, &mut records);
    }
    let systems = &report.comparison.systems;
    let block = |case: &CaseId| {
        let own: Vec<Option<&Records<'_>>> =
            systems.iter().map(|system| records.get(&(system.run, &system.system, case))).collect();
        case_block(&own)
    };
    report.observations.cases.iter().map(|case| block(&case.case_id)).collect()
}

fn gather<'a>(
    at: usize,
    run: &'a HtmlRun<'_>,
    records: &mut HashMap<(usize, &'a SystemName, &'a CaseId), Records<'a>>,
) {
    for scored in run.scored {
        records.entry((at, &scored.system, &scored.case.case_id)).or_default().scored.push(scored);
    }
    for item in run.items {
        let answer = &item.answer;
        records.entry((at, &answer.system, &answer.case_id)).or_default().answer = Some((answer, run.index_base));
    }
    for call in &run.calls {
        records.entry((at, &call.system, &call.case_id)).or_default().calls.push(call);
    }
}

fn case_block(systems: &[Option<&Records<'_>>]) -> Result<String> {
    let mut texts = Texts::default();
    let mut entries = Vec::new();
    for records in systems {
        entries.push(records.map(|records| SystemEntry {
            answer: records.answer.map(|(answer, base)| answer_entry(answer, base, &mut texts)),
            scores: records.scored.iter().map(|scored| score_entry(scored, &mut texts)).collect(),
            calls: records.calls.iter().map(|call| call_entry(call, &mut texts)).collect(),
        }));
    }
    // The snippets of the case by the component that counts them.
    let rubric = systems.iter().flatten().flat_map(|records| &records.scored).next().map(|scored| &scored.case.rubric);
    let criteria = rubric.into_iter().flat_map(|rubric| &rubric.criteria).filter(|own| !own.snippets.is_empty());
    let mut snippets = Map::new();
    for Criterion { name, snippets: own, .. } in criteria {
        let places: Vec<usize> = own.iter().map(|snippet| texts.place(snippet)).collect();
        snippets.insert(format!("{name}_evidence"), places.into());
    }
    embedded(&json!({"texts": texts.list, "systems": entries, "snippets": snippets}))
}

fn answer_entry<'a>(answer: &'a Answer, index_base: u64, texts: &mut Texts<'a>) -> Value {
    let text: &str = &answer.answer_text;
    let prediction = answer.prediction.as_deref();
    let mut units = Utf16::new(text);
    let cites: Vec<Value> = citations(answer.own_text(), prediction, index_base)
        .into_iter()
        .map(|cite| json!([units.at(cite.range.start), units.at(cite.range.end), cite.sources, cite.dangling]))
        .collect();
    let sources: Vec<Value> = prediction
        .map_or(&[][..], |prediction| prediction.sources.as_slice())
        .iter()
        .map(|source| json!([texts.optional(source.title.as_deref()), texts.optional(source.text.as_deref())]))
        .collect();
    let own = answer.own_bytes.filter(|own| *own < text.len()).map(|own| Utf16::new(text).at(own));
    json!({
        "text": texts.place(text), "own": own, "words": word_count(answer.own_text()), "cites": cites, "sources": sources,
    })
}

/// Places in UTF-16 units, as scripts count them, for places in bytes that only grow.
struct Utf16<'a> {
    rest: &'a str,
    bytes: usize,
    units: usize,
}

impl<'a> Utf16<'a> {
    fn new(text: &'a str) -> Self {
        Self { rest: text, bytes: 0, units: 0 }
    }

    fn at(&mut self, byte: usize) -> usize {
        // A place before the last one, or within a character, stays where the last one was.
        let step = byte.saturating_sub(self.bytes);
        if let Some((passed, rest)) = self.rest.split_at_checked(step) {
            self.units += passed.encode_utf16().count();
            (self.rest, self.bytes) = (rest, self.bytes + step);
        }
        self.units
    }
}

fn score_entry<'a>(scored: &'a ScoredAnswer, texts: &mut Texts<'a>) -> Value {
    let score = &scored.score;
    let weighted = score.is_weighted_sum();
    let mut parts: Vec<Value> = Vec::new();
    for component in &score.components {
        let reason = component.reason.as_ref().map(|reason| reason.message.as_str());
        parts.push(json!([
            texts.place(&component.name),
            component.kind,
            texts.place(text_of(scored, &component.name, &component.text)),
            short(Some(component.weight).filter(|_| weighted && component.kind.is_weighted())),
            short(component.value),
            texts.optional(reason),
            texts.optional(component.feedback.as_deref()),
        ]));
    }
    let mut members = Map::new();
    for (item, own) in &scored.members {
        let of = own.iter().map(|member| {
            let samples: Vec<Value> = member.draws.iter().map(|sample| short(*sample)).collect();
            json!([texts.place(&*member.judge), short(member.value), samples])
        });
        members.insert(item.to_string(), of.collect::<Vec<_>>().into());
    }
    json!({
        "scorer": score.scorer, "unit": unit_of(score), "value": short(score.value), "ann": short(score.ann_score),
        "parts": parts, "members": members, "notes": texts.places(&score.notes),
        "injection": texts.places(&scored.steering),
        "claims": score.claims.iter().map(|claim| claim_entry(claim, texts)).collect::<Vec<_>>(),
    })
}

/// The unit of a whole score: that of aspects is the mean of their grades, every other one a share.
fn unit_of(score: &Score) -> &'static str {
    let is_grade = score.components.iter().any(|component| component.kind.unit() == Unit::Grade);
    if is_grade && !score.is_weighted_sum() { "grade" } else { "share" }
}

/// What a component was judged by: its own text, else that of the rubric.
fn text_of<'a>(scored: &'a ScoredAnswer, name: &str, text: &'a str) -> &'a str {
    if !text.is_empty() {
        return text;
    }
    let criteria = &scored.case.rubric.criteria;
    criteria.iter().find(|criterion| criterion.name == name).map_or("", |criterion| &criterion.criterion)
}

fn claim_entry<'a>(claim: &'a ClaimSupport, texts: &mut Texts<'a>) -> Value {
    let why = claim.unscored.as_ref().map(|reason| reason.message.as_str()).or(claim.why.as_deref());
    json!([
        texts.place(&claim.claim),
        claim.citations,
        claim.inherited,
        claim.label,
        claim.supported,
        claim.precise_citations,
        texts.optional(why),
        texts.optional(claim.feedback.as_deref()),
    ])
}

fn call_entry<'a>(call: &'a CallRecord, texts: &mut Texts<'a>) -> Value {
    let reply = call.reply.as_ref();
    json!([
        texts.place(&*call.item),
        texts.place(call.role.name()),
        texts.place(&*call.judge),
        call.draw,
        call.attempt,
        texts.optional(reply.map(|reply| reply.content.as_str())),
        texts.optional(call.verdict.as_ref().err().map(|reason| reason.message.as_str())),
        texts.optional(reply.and_then(|reply| reply.note.as_deref())),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_counted_as_scripts_count_them() {
        // ü takes two bytes and one unit, the emoji four bytes and two units.
        let text = "aü😀b";
        let mut units = Utf16::new(text);
        assert_eq!([0, 1, 3, 7, 8].map(|byte| units.at(byte)), [0, 1, 2, 4, 5]);
        // Within the emoji: the place before it.
        assert_eq!(Utf16::new(text).at(5), 0);
    }
}
