//! What the script reads: one block of JSON with the values of all metrics, and one for each case.
//!
//! Keys are short and texts that stand in a block several times (the criteria, replies that are all alike) are kept once,
//! since a page holds thousands of them. `docs/formats.md` tells the form.

use std::collections::HashMap;

use serde::Serialize;
use serde_json::{Value, json};

use super::leaderboard::metric_key;
use super::names::Names;
use super::{HtmlAnswer, HtmlReply, HtmlReport};
use crate::analysis::comparison::{Observation, Observed, ObservedSystem};
use crate::domain::{CaseId, ClaimSupport, ScoredAnswer, Unit};
use crate::error::Result;

/// All cases in order of first appearance over the metrics.
pub(super) struct Cases<'a> {
    list: Vec<(&'a CaseId, &'a str)>,
    places: HashMap<&'a CaseId, usize>,
}

impl<'a> Cases<'a> {
    pub(super) fn of(report: &HtmlReport<'a>) -> Self {
        let mut cases = Self { list: Vec::new(), places: HashMap::new() };
        for case in report.observed.iter().flat_map(|observed| &observed.cases) {
            cases.add(&case.case_id, &case.question);
        }
        for answer in report.runs.iter().flat_map(|run| run.scored) {
            cases.add(&answer.case.case_id, &answer.case.initial_prompt);
        }
        cases
    }

    fn add(&mut self, id: &'a CaseId, question: &'a str) {
        let at = *self.places.entry(id).or_insert_with(|| {
            self.list.push((id, question));
            self.list.len() - 1
        });
        // One run may know a question that another was made without.
        if self.list[at].1.is_empty() {
            self.list[at].1 = question;
        }
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.list.len()
    }
}

/// Six digits behind the point: finer than anything shown.
fn short(value: f64) -> Value {
    json!((value * 1e6).round() / 1e6)
}

fn optional(value: Option<f64>) -> Value {
    value.filter(|value| value.is_finite()).map_or(Value::Null, short)
}

/// Systems, cases, and the values of every metric by system and case: a number, `[low, high]` where it is unscored,
/// null where there is no answer.
pub(super) fn core(report: &HtmlReport<'_>, cases: &Cases<'_>, first: usize) -> Value {
    let comparison = report.comparison;
    let names = Names::of(comparison.systems.iter().map(|system| system.label.as_str()));
    let system = |system: &ObservedSystem| match names.shortened(&system.label) {
        Some(short) => json!({"label": system.label, "short": short, "run": system.run}),
        None => json!({"label": system.label, "run": system.run}),
    };
    let systems: Vec<Value> = comparison.systems.iter().map(system).collect();
    let metric = |metric: &crate::analysis::comparison::MetricComparison| {
        let observed = report.observed.iter().find(|observed| observed.metric == metric.metric);
        json!({
            "key": metric_key(&metric.metric, comparison),
            "scorer": metric.metric.scorer,
            "unit": metric.metric.unit,
            "order": metric.systems.iter().map(|row| row.system).collect::<Vec<_>>(),
            "values": observed.map(|observed| values(observed, report, cases)),
        })
    };
    json!({
        "v": 1,
        "first": first,
        "runs": report.runs.iter().map(|run| run.name.as_str()).collect::<Vec<_>>(),
        "systems": systems,
        "cases": cases.list,
        "metrics": comparison.metrics.iter().map(metric).collect::<Vec<_>>(),
    })
}

fn values(observed: &Observed, report: &HtmlReport<'_>, cases: &Cases<'_>) -> Vec<Vec<Value>> {
    let row = |system: &ObservedSystem| {
        let mut row = vec![Value::Null; cases.len()];
        let own = observed.systems.iter().position(|other| other == system);
        let own = own.and_then(|own| observed.values.get(own)).into_iter().flatten();
        for (case, observation) in observed.cases.iter().zip(own) {
            let Some(place) = cases.places.get(&case.case_id) else { continue };
            row[*place] = match *observation {
                Observation::Value(value) => optional(Some(value)),
                Observation::Unscored { low, high } => json!([optional(Some(low)), optional(Some(high))]),
                Observation::Absent => Value::Null,
            };
        }
        row
    };
    report.comparison.systems.iter().map(row).collect()
}

/// The texts of a block, each once.
#[derive(Default)]
struct Texts<'a> {
    list: Vec<&'a str>,
    places: HashMap<&'a str, usize>,
}

impl<'a> Texts<'a> {
    fn place(&mut self, text: &'a str) -> usize {
        *self.places.entry(text).or_insert_with(|| {
            self.list.push(text);
            self.list.len() - 1
        })
    }

    fn optional(&mut self, text: Option<&'a str>) -> Option<usize> {
        text.map(|text| self.place(text))
    }
}

/// What a case's block holds of one system.
#[derive(Default, Serialize)]
struct SystemEntry {
    #[serde(skip_serializing_if = "Option::is_none")]
    answer: Option<Value>,
    scores: Vec<Value>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    calls: Vec<Value>,
}

/// Everything known of each case, by case and system.
#[derive(Default)]
struct Known<'a> {
    answer: Option<&'a HtmlAnswer<'a>>,
    scored: Vec<&'a ScoredAnswer>,
    replies: Vec<&'a HtmlReply>,
}

/// The blocks of all cases, in their order.
///
/// # Errors
/// When one cannot be serialised.
pub(super) fn case_blocks(report: &HtmlReport<'_>, cases: &Cases<'_>) -> Result<Vec<String>> {
    let systems = &report.comparison.systems;
    let mut known: Vec<Vec<Known<'_>>> =
        cases.list.iter().map(|_| systems.iter().map(|_| Known::default()).collect()).collect();
    let places: HashMap<(usize, &str), usize> =
        systems.iter().enumerate().map(|(at, system)| ((system.run, system.system.as_str()), at)).collect();
    for (run_at, run) in report.runs.iter().enumerate() {
        let place = |system: &str, case: &CaseId| Some((*cases.places.get(case)?, *places.get(&(run_at, system))?));
        for answer in run.scored {
            if let Some((case, system)) = place(answer.system.as_str(), &answer.case.case_id) {
                known[case][system].scored.push(answer);
            }
        }
        for answer in &run.answers {
            if let Some((case, system)) = place(answer.system.as_str(), answer.case_id) {
                known[case][system].answer = Some(answer);
            }
        }
        for reply in &run.replies {
            if let Some((case, system)) = place(reply.system.as_str(), &reply.case_id) {
                known[case][system].replies.push(reply);
            }
        }
    }
    known.iter().map(|systems| case_block(systems)).collect()
}

fn case_block(systems: &[Known<'_>]) -> Result<String> {
    let mut texts = Texts::default();
    let entries: Vec<Option<SystemEntry>> = systems
        .iter()
        .map(|known| {
            let is_there = known.answer.is_some() || !known.scored.is_empty();
            is_there.then(|| SystemEntry {
                answer: known.answer.map(|answer| answer_entry(answer, &mut texts)),
                scores: known.scored.iter().map(|scored| score_entry(scored, &mut texts)).collect(),
                calls: known.replies.iter().map(|reply| call_entry(reply, &mut texts)).collect(),
            })
        })
        .collect();
    let snippets = snippets(systems, &mut texts);
    super::embed::embedded(&json!({"texts": texts.list, "systems": entries, "snippets": snippets}))
}

/// The snippets of the case by the component that counts them.
fn snippets<'a>(systems: &[Known<'a>], texts: &mut Texts<'a>) -> serde_json::Map<String, Value> {
    let Some(scored) = systems.iter().flat_map(|known| &known.scored).next() else { return serde_json::Map::new() };
    let criteria = scored.case.rubric.criteria.iter().filter(|criterion| !criterion.snippets.is_empty());
    let of = |criterion: &'a crate::domain::Criterion| {
        let places: Vec<usize> = criterion.snippets.iter().map(|snippet| texts.place(snippet)).collect();
        (format!("{}_evidence", criterion.name), places.into())
    };
    criteria.map(of).collect()
}

fn answer_entry<'a>(answer: &'a HtmlAnswer<'_>, texts: &mut Texts<'a>) -> Value {
    let mut units = Utf16::new(answer.text);
    let citations: Vec<Value> = answer
        .citations
        .iter()
        .map(|citation| {
            let (start, end) = (units.at(citation.range.start), units.at(citation.range.end));
            json!([start, end, citation.sources, citation.dangling])
        })
        .collect();
    let sources: Vec<Value> = answer
        .sources
        .iter()
        .map(|source| json!([texts.optional(source.title.as_deref()), texts.optional(source.text.as_deref())]))
        .collect();
    let own = answer.own_bytes.filter(|own| *own < answer.text.len()).map(|own| Utf16::new(answer.text).at(own));
    json!({
        "text": texts.place(answer.text), "own": own, "words": answer.words, "cites": citations, "sources": sources,
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
    let components: Vec<Value> = score
        .components
        .iter()
        .map(|component| {
            let reason = component.reason.as_ref().map(|reason| reason.message.as_str());
            json!([
                texts.place(&component.name),
                component.kind,
                texts.place(text_of(scored, &component.name, &component.text)),
                (weighted && component.kind.is_weighted()).then(|| short(component.weight)),
                optional(component.value),
                texts.optional(reason),
                texts.optional(component.feedback.as_deref()),
            ])
        })
        .collect();
    let mut members = serde_json::Map::new();
    for (item, said) in &scored.members {
        let of = said.iter().map(|member| {
            let draws: Vec<Value> = member.draws.iter().map(|draw| optional(*draw)).collect();
            json!([texts.place(&member.judge), optional(member.value), draws])
        });
        members.insert(item.to_string(), of.collect::<Vec<_>>().into());
    }
    let mut many = |list: &'a [String]| list.iter().map(|text| texts.place(text)).collect::<Vec<_>>();
    let (notes, steering) = (many(&score.notes), many(&scored.steering));
    json!({
        "scorer": score.scorer, "unit": unit_of(score), "value": optional(score.value), "ann": optional(score.ann_score),
        "parts": components, "members": members, "notes": notes, "steering": steering,
        "claims": score.claims.iter().map(|claim| claim_entry(claim, texts)).collect::<Vec<_>>(),
    })
}

/// What the score as a whole is in: that of aspects is the mean of their grades, every other one a share.
fn unit_of(score: &crate::domain::Score) -> &'static str {
    let is_grade = score.components.iter().any(|component| component.kind.unit() == Unit::Grade);
    if is_grade && !score.is_weighted_sum() { "grade" } else { "share" }
}

/// What a component was judged by: its own words, else those of the rubric.
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

fn call_entry<'a>(reply: &'a HtmlReply, texts: &mut Texts<'a>) -> Value {
    json!([
        texts.place(&reply.item),
        texts.place(&reply.role),
        texts.place(&reply.judge),
        reply.draw,
        reply.attempt,
        texts.optional(reply.raw.as_deref()),
        texts.optional(reply.reason.as_deref()),
        texts.optional(reply.note.as_deref()),
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

    #[test]
    fn a_text_is_kept_once() {
        let mut texts = Texts::default();
        assert_eq!([texts.place("x"), texts.place("y"), texts.place("x")], [0, 1, 0]);
        assert_eq!(texts.list, ["x", "y"]);
    }
}
