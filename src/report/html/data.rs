//! The page's data for the script: one block of JSON with the values of all metrics, and one per case.

use std::collections::{BTreeMap, HashMap};

use serde::Serialize;
use serde_json::{Map, Value, json};

use super::HtmlReport;
use super::groups::CriterionGroups;
use super::heatmap::criteria_values;
use super::people::{ItemLabels, People, PreferenceLabel};
use super::safety::embedded;
use crate::analysis::ASPECT_MEAN;
use crate::analysis::comparison::{MetricComparison, Observation, Observations};
use crate::dataset::with_text;
use crate::domain::{
    Answer, CaseId, CitedWork, Component, ComponentKind, Item, RetractionStatus, ScoredAnswer,
    SystemName, Unit, UnscoredKind, Verdict, WorkField, citations,
};
use crate::error::Result;
use crate::record::CallRecord;
use crate::report::comparison::metric_name;
use crate::report::table::short_names;
use crate::report::works::{WorkPart, cited_parts, notice_text, record_parts};
use crate::scorer::pairs::PREFERENCE;
use crate::scorer::scorer_named;
use crate::stats::mean;
use crate::text::source_lists::source_lists;
use crate::text::words::word_count;

/// Six decimals, finer than anything shown. Null if not finite.
fn short(value: f64) -> Value {
    if value.is_finite() {
        json!((value * 1e6).round() / 1e6)
    } else {
        Value::Null
    }
}

/// Systems, cases, and the values of every metric by system and case: a number, `[low, high]` where it is unscored, with what it
/// counts as if it counts, null where there is no answer.
pub(super) fn core(report: &HtmlReport<'_>, people: &People<'_>, first: usize) -> Value {
    let comparison = report.comparison;
    let labels = comparison.systems.iter().map(|system| &system.label);
    let names = short_names(labels.clone().map(String::as_str));
    let systems = labels.zip(names);
    let cases = report.observations.cases.iter();
    let mut metrics = Vec::new();
    for metric in &comparison.metrics {
        metrics.push(json!({
            "key": metric_name(comparison, metric),
            "scorer": metric.metric.scorer,
            "unit": metric.metric.unit,
            "order": metric.systems.iter().map(|row| row.system).collect::<Vec<_>>(),
            "values": values_of(report.observations, metric),
        }));
    }
    json!({
        "first": first,
        "systems": systems.map(|(label, short)| json!({"label": label, "short": short})).collect::<Value>(),
        "cases": cases.map(|case| json!([case.case_id, case.question])).collect::<Value>(),
        "metrics": metrics,
        "criteria": criteria_values(report),
        "differ": report.labels.map(|_| people.differing_cases(report)),
    })
}

/// The values of a metric, a row for each system; null where the runs have none of it.
fn values_of(observations: &Observations, metric: &MetricComparison) -> Value {
    let mut tables = observations.metrics.iter();
    let Some(table) = tables.find(|table| table.metric == metric.metric) else {
        return Value::Null;
    };
    let mut rows = Vec::new();
    for row in &table.values {
        rows.push(row.iter().map(observed).collect::<Value>());
    }
    Value::Array(rows)
}

fn observed(observation: &Observation) -> Value {
    match observation {
        Observation::Value(value) => short(*value),
        Observation::Unscored(range) => json!([short(range.low), short(range.high)]),
        Observation::Counted(value, range) => {
            json!([short(range.low), short(range.high), short(*value)])
        }
        Observation::Missing | Observation::NotApplicable => Value::Null,
    }
}

/// One system in a case's block: its answer, its scores, and the judges' replies.
#[derive(Default, Serialize)]
struct SystemEntry<'a> {
    answer: Value,
    scores: Vec<Value>,
    calls: Vec<Value>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    people: Vec<ItemLabels>,
    /// Its comparisons with other answers, which become one score.
    #[serde(skip)]
    games: Games<'a>,
}

/// The comparisons of an answer with others in a case.
#[derive(Default)]
struct Games<'a> {
    scorer: String,
    /// A part of the score for each, with the value for this answer.
    parts: Vec<Value>,
    /// The values of whole comparisons, by opponent.
    values: BTreeMap<&'a SystemName, Vec<f64>>,
    injection: Vec<String>,
}

impl Games<'_> {
    /// The score of all comparisons; `None` without any.
    fn score(&self) -> Option<Value> {
        if self.parts.is_empty() {
            return None;
        }
        let against = self.values.values().filter_map(|values| mean(values));
        Some(json!({
            "scorer": self.scorer,
            "unit": Unit::Share,
            "sums": [["win_rate", mean(&against.collect::<Vec<_>>())]],
            "parts": self.parts,
            "members": {},
            "notes": [],
            "injection": self.injection,
            "claims": [],
        }))
    }
}

/// The data of a case, by system; `None` for a system without anything about it.
#[derive(Serialize)]
struct CaseBlock<'a> {
    systems: Vec<Option<&'a SystemEntry<'a>>>,
    snippets: Option<BTreeMap<String, &'a [String]>>,
    measures: &'a [ScorerMeasures<'a>],
    /// Heading and group around of each group of criteria.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    groups: &'a [(String, Option<usize>)],
    /// By run the lines that prompts consist of.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    prompts: Vec<&'a [String]>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    preferences: &'a [PreferenceLabel],
}

/// A scorer with its components by name.
type ScorerMeasures<'a> = (&'a str, Vec<(&'a str, Value)>);

/// What the components of a case measure: once for all systems, since their texts are most of a page without answers.
#[derive(Default)]
struct CaseMeasures<'a>(Vec<ScorerMeasures<'a>>);

impl<'a> CaseMeasures<'a> {
    /// Adds the components of a score that are new; returns the places of all of them among those of the scorer.
    fn add(&mut self, scored: &'a ScoredAnswer, groups: &CriterionGroups) -> Vec<usize> {
        let scorer = scored.score.scorer.as_str();
        let known = self.0.iter().position(|(name, _)| *name == scorer);
        let place = known.unwrap_or(self.0.len());
        if known.is_none() {
            self.0.push((scorer, Vec::new()));
        }
        let measures = &mut self.0[place].1;
        let mut places = Vec::new();
        for component in &scored.score.components {
            let known = measures
                .iter()
                .position(|(name, _)| **name == *component.name);
            let place = known.unwrap_or(measures.len());
            if place == measures.len() {
                measures.push((&component.name, measure_of(component, groups)));
            }
            let measure = &mut measures[place].1;
            // An answer in which the judge could not assess it has no weight for it.
            if measure["weight"] == 0.0 {
                measure["weight"] = short(component.weight);
            }
            places.push(place);
        }
        places
    }
}

fn measure_of(component: &Component, groups: &CriterionGroups) -> Value {
    let mut measure = json!({
        "kind": component.kind,
        "text": component.text,
        "weight": short(component.weight),
    });
    if component.kind == ComponentKind::Criterion
        && let Some(group) = groups.innermost(&component.name)
    {
        measure["group"] = group.into();
    }
    measure
}

/// A part of a case's block, with the index of its run.
enum CasePart<'a> {
    Score(&'a ScoredAnswer),
    /// With the number of the first source, as citation scorers record it.
    Answer(&'a Item, u64),
    Call(&'a CallRecord),
}

/// The parts of each case, in the order of the runs.
type PartsByCase<'a> = HashMap<&'a CaseId, Vec<(usize, CasePart<'a>)>>;

/// The blocks of all cases, in their order. Each is made when it is needed: as JSON values, all of them would take several
/// times the memory of the page.
///
/// # Errors
/// When one cannot be serialized.
pub(super) fn case_blocks(
    report: &HtmlReport<'_>,
    people: &People<'_>,
) -> impl Iterator<Item = Result<String>> {
    let parts = parts_by_case(report);
    let cases = report.observations.cases.iter();
    cases.map(move |case| {
        let parts = parts.get(&case.case_id).map_or(&[][..], Vec::as_slice);
        case_block(report, &case.case_id, parts, people)
    })
}

/// Sorts what the runs record by case: a run is written answer by answer, the page case by case.
fn parts_by_case<'a>(report: &'a HtmlReport<'_>) -> PartsByCase<'a> {
    let mut parts = PartsByCase::new();
    let mut add = |case, run, part| parts.entry(case).or_default().push((run, part));
    for (at, run) in report.runs.iter().enumerate() {
        for scored in &run.scored {
            add(&scored.case.case_id, at, CasePart::Score(scored));
        }
        if report.with_answers {
            let base = run.manifest.index_base();
            for item in &run.items {
                add(&item.answer.case_id, at, CasePart::Answer(item, base));
            }
        }
        for call in report.calls.get(at).into_iter().flatten() {
            add(&call.case_id, at, CasePart::Call(call));
        }
    }
    parts
}

fn case_block(
    report: &HtmlReport<'_>,
    case: &CaseId,
    parts: &[(usize, CasePart<'_>)],
    people: &People<'_>,
) -> Result<String> {
    let mut entries: HashMap<(usize, &SystemName), SystemEntry<'_>> = HashMap::new();
    let mut snippets: Option<BTreeMap<String, &[String]>> = None;
    let mut measures = CaseMeasures::default();
    let mut groups: Option<CriterionGroups> = None;
    for (run, part) in parts {
        match part {
            CasePart::Score(scored) => match &scored.systems {
                Some(systems) => add_game(&mut entries, *run, scored, systems),
                None => {
                    let entry = entries.entry((*run, &scored.system)).or_default();
                    let groups = groups.get_or_insert_with(|| CriterionGroups::of(&scored.case));
                    let places = measures.add(scored, groups);
                    let score = score_entry(scored, &places, report.with_answers);
                    entry.scores.push(score);
                    snippets.get_or_insert_with(|| snippets_of(scored));
                }
            },
            CasePart::Answer(item, base) => {
                let answer = &item.answer;
                let entry = entries.entry((*run, &answer.system)).or_default();
                entry.answer = answer_entry(&with_text(item)?.answer, *base);
            }
            CasePart::Call(call) => {
                let entry = entries.entry((*run, &call.system)).or_default();
                let mut shown = call_entry(call);
                match report.prompts.get(*run).map(|prompts| prompts.of(call)) {
                    Some(Ok(texts)) => shown["prompt"] = json!([run, texts]),
                    Some(Err(why)) => shown["no_prompt"] = why.into(),
                    None => {}
                }
                entry.calls.push(shown);
            }
        }
    }
    move_calls_of_games(&mut entries, parts);
    for ((_, system), entry) in &mut entries {
        entry.scores.extend(entry.games.score());
        entry.people = people.of_answer(system, case).to_vec();
    }
    let systems = report.comparison.systems.iter();
    let systems = systems.map(|system| entries.get(&(system.run, &system.system)));
    let prompts = report.prompts.iter().map(|prompts| prompts.lines(case));
    embedded(&CaseBlock {
        systems: systems.collect(),
        snippets,
        measures: &measures.0,
        groups: groups.as_ref().map_or(&[], |groups| &groups.list),
        prompts: prompts.collect(),
        preferences: people.preferences(case),
    })
}

/// Adds a comparison to both systems, each with the value from its side, under one name, so that they stand in one row.
fn add_game<'a>(
    entries: &mut HashMap<(usize, &'a SystemName), SystemEntry<'a>>,
    run: usize,
    scored: &'a ScoredAnswer,
    [first, second]: &'a [SystemName; 2],
) {
    let score = &scored.score;
    for (system, other, is_first) in [(first, second, true), (second, first, false)] {
        let of_system = |value: f64| if is_first { value } else { 1.0 - value };
        let games = &mut entries.entry((run, system)).or_default().games;
        score.scorer.as_str().clone_into(&mut games.scorer);
        let against = games.values.entry(other).or_default();
        against.extend(score.value.map(of_system));
        let components = score.components.iter();
        for part in components.filter(|part| part.kind.is_weighted()) {
            let name = part_of_game(&scored.system, &part.name);
            let mut system_part = part.clone();
            system_part.value = part.value.map(of_system);
            if part.name == PREFERENCE {
                // The only one: a column of full weights would say nothing.
                system_part.weight = 0.0;
            }
            games.parts.push(json!([name, system_part]));
        }
        if is_first {
            games.injection.extend(scored.injection.iter().cloned());
        }
    }
}

/// What a comparison is called on the page: the systems in the order shown, with the criterion if there is one.
fn part_of_game(pair: &SystemName, item: &str) -> String {
    if item == PREFERENCE {
        pair.to_string()
    } else {
        format!("{pair}: {item}")
    }
}

/// Moves the replies about a pair to the system that was shown first, below its part.
fn move_calls_of_games<'a>(
    entries: &mut HashMap<(usize, &'a SystemName), SystemEntry<'a>>,
    parts: &[(usize, CasePart<'a>)],
) {
    for (run, part) in parts {
        let CasePart::Score(scored) = part else {
            continue;
        };
        let Some([first, _]) = &scored.systems else {
            continue;
        };
        let Some(of_pair) = entries.remove(&(*run, &scored.system)) else {
            continue;
        };
        let calls = &mut entries.entry((*run, first)).or_default().calls;
        for mut call in of_pair.calls {
            let name = part_of_game(&scored.system, call["item"].as_str().unwrap_or_default());
            call["item"] = name.into();
            for item in call["items"].as_array_mut().into_iter().flatten() {
                *item = part_of_game(&scored.system, item.as_str().unwrap_or_default()).into();
            }
            calls.push(call);
        }
    }
}

/// The snippets of the criteria of the answer's case, by the name of their component.
fn snippets_of(scored: &ScoredAnswer) -> BTreeMap<String, &[String]> {
    let mut snippets = BTreeMap::new();
    for criterion in &scored.case.rubric.criteria {
        if !criterion.snippets.is_empty() {
            let component = format!("{}_evidence", criterion.name);
            snippets.insert(component, &*criterion.snippets);
        }
    }
    snippets
}

/// `own` is the start of an appended list of references; `cites` are start, end, indices of the cited sources, and numbers
/// without a source; `entries` is the number of entries of its lists of sources.
fn answer_entry(answer: &Answer, index_base: u64) -> Value {
    let text: &str = &answer.answer_text;
    let prediction = answer.prediction.as_deref();
    let mut cites = Vec::new();
    for cite in citations(answer.own_text(), prediction, index_base) {
        let start = utf16(text, cite.place.range.start);
        let end = utf16(text, cite.place.range.end);
        cites.push(json!([start, end, cite.sources, cite.dangling]));
    }
    let lists = source_lists(answer.own_text());
    let entries: usize = lists.iter().map(|list| list.entries.len()).sum();
    let references_start = answer.own_bytes.filter(|start| *start < text.len());
    json!({
        "text": text,
        "cites": cites,
        "entries": entries,
        "own": references_start.map(|start| utf16(text, start)),
        "words": word_count(answer.own_text()),
        "sources": prediction.map_or(&[][..], |prediction| &prediction.sources),
        "works": answer.works.iter().flat_map(|works| works.iter()).map(work_entry).collect::<Value>(),
    })
}

/// A cited work: what is cited and what is recorded in parts, each with whether it differs.
fn work_entry(work: &CitedWork) -> Value {
    let checked = &work.checked;
    let differing: Vec<WorkField> = checked.fields.iter().map(|field| field.field).collect();
    let marked = |parts: Vec<WorkPart>| -> Value {
        let parts = parts.into_iter().map(|part| {
            let differs = part.field.is_some_and(|field| differing.contains(&field));
            json!([part.text, differs])
        });
        parts.collect()
    };
    let record = checked.record.as_ref();
    let (status, notice) = match &checked.retraction {
        RetractionStatus::Unknown => ("unknown", None),
        RetractionStatus::NoNotice => ("no_notice", None),
        RetractionStatus::Notice(notice) if notice.is_possible => ("possible", Some(notice)),
        RetractionStatus::Notice(notice) => (notice.status.name(), Some(notice)),
    };
    json!({
        "key": work.reference.key,
        "state": checked.state,
        "reason": checked.reason,
        "cited": marked(cited_parts(&work.reference)),
        "record": record.map(|record| marked(record_parts(record))),
        "source": record.map(|record| format!("{} {}", record.source.name(), record.id)),
        "fields": checked.fields,
        "status": status,
        "notice": notice.map(notice_text),
    })
}

/// A score: its sums under the names of the metrics, and its components, those that a reader wants first before the others. A
/// script would reorder names that are numbers in an object. Cited pages and addresses are sources, which stand on pages with answers only.
fn score_entry(scored: &ScoredAnswer, places: &[usize], with_answers: bool) -> Value {
    let score = &scored.score;
    let mut components: Vec<_> = places.iter().zip(&score.components).collect();
    let headline = scorer_named(score.scorer.name()).map_or(&[][..], |info| info.headline);
    components.sort_by_key(|(_, component)| !headline.contains(&component.name.as_str()));
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
        "parts": components.into_iter().map(|(place, component)| part_entry(*place, component)).collect::<Value>(),
        "members": scored.members,
        "notes": score.notes,
        "injection": scored.injection,
        "claims": score.claims,
        "pages": if with_answers { &score.pages[..] } else { &[] },
        "addresses": if with_answers { &score.addresses[..] } else { &[] },
    })
}

/// The place of a component among those of its scorer, what an answer earned for it, and what was said of that.
fn part_entry(place: usize, component: &Component) -> Value {
    let value = component.value.map(short);
    let mut said = Map::new();
    if let Some(reason) = &component.reason {
        let mut unscored = json!({"message": reason.message});
        if reason.kind == UnscoredKind::Abstained {
            unscored["abstained"] = true.into();
        }
        said.insert("unscored".to_owned(), unscored);
    }
    if let Some(feedback) = &component.feedback {
        said.insert("feedback".to_owned(), json!(feedback));
    }
    if let Some(belief) = &component.belief {
        let numbers = json!({
            "expected": short(belief.expected),
            "doubt": belief.doubt.map(short),
            "tie": belief.is_tie,
        });
        said.insert("belief".to_owned(), numbers);
    }
    if said.is_empty() {
        json!([place, value])
    } else {
        json!([place, value, said])
    }
}

fn call_entry(call: &CallRecord) -> Value {
    let reply = call.reply.as_ref();
    // The items of a request to a decision model, whose reply answers all of them.
    let items = match &call.verdict {
        Ok(Verdict::Decided(decided)) => decided.iter().map(|item| &item.item).collect(),
        _ => vec![&call.item],
    };
    json!({
        "item": call.item,
        "items": items,
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
pub(super) fn utf16(text: &str, byte: usize) -> usize {
    let before = text.get(..byte);
    before.map_or(0, |before| before.encode_utf16().count())
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
