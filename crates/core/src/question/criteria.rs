//! Which level of a scale does the answer reach on each of some criteria?
//!
//! The scale, and the form in which a reply names its levels, come from the rubric's profile ([`ReplyShape`]).

mod forms;
mod ingredients;
mod levels;
mod options;
mod reading;
mod wording;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::{Value, json};

use super::answered::{self, ANSWER, QUESTION, judged_text};
use super::decision::{DecisionQuestion, DecisionWording};
use super::interface::Question;
use super::kind::KindInfo;
use super::merging::{Sample, merge_readable, readable_verdicts, votes_needed};
use super::reading::{Unreadable, list_schema, object_schema, text_schema};
use super::variable::{Insert, Presence, Variable};
use super::words::Words;
use crate::domain::python_json::kind;
use crate::domain::{
    CaseCriterion, CriteriaLayout, CriterionVerdict, GradeMerge, JudgeReply, Judgment, Mode,
    Reading, ReplyForm, ReplyShape, ShownFields, UnscoredReason, Verdict,
};

/// The length of a text before a mark, in limits of a verdict with its explanation.
const ESSAY: u64 = 8;

/// Levels of a list of criteria.
pub static CRITERIA: KindInfo = KindInfo {
    name: "criteria",
    family: "criteria",
    variables: &[
        QUESTION,
        ANSWER,
        Variable::hostile("criteria").in_section("rubric"),
        Variable::plain("number").only(Presence::WithCriterionFile),
        Variable::hostile("criterion").only(Presence::WithCriterionFile),
        Variable::hostile("examples").only(Presence::WithCriterionFile),
        Variable::plain("levels").only(Presence::WithoutCriterionFile),
        Variable::plain("reply").only(Presence::WithoutCriterionFile),
    ],
    has_criterion_file: true,
    decided: Some(Variable::DECIDED),
    // A level with its explanation, for each criterion of a call.
    reply_limit: Some(300),
    ..KindInfo::DEFAULT
};

/// Decides which level of a scale the answer reaches on each of these criteria.
#[derive(Debug, Clone, PartialEq)]
pub struct CriteriaLevels {
    /// The question.
    pub question: Arc<str>,
    /// The answer.
    pub answer: Arc<str>,
    /// The criteria; never empty.
    pub criteria: Arc<[CaseCriterion]>,
    /// How the reply is read.
    pub shape: Arc<ReplyShape>,
    /// The article that the answer is compared with, if the shape has a second score.
    pub reference: Option<Arc<str>>,
    /// What else the judge sees.
    pub shown: ShownFields,
    /// How levels and criteria are laid out.
    pub layout: CriteriaLayout,
}

impl Question for CriteriaLevels {
    judged_text!(answer);

    fn info(&self) -> &'static KindInfo {
        &CRITERIA
    }

    fn value<'a>(&'a self, variable: &str, insert: &Insert<'_>) -> Cow<'a, str> {
        match variable {
            "criterion" => insert.fixed_criterion(),
            "criteria" => Cow::Owned(self.numbered_criteria(insert)),
            "levels" => Cow::Owned(self.shape.describe_levels(&self.criteria, self.layout)),
            "reply" => Cow::Owned(self.shape.describe_reply(self.criteria.len())),
            "question" => self.shown_question(insert),
            _ => answered::value(variable, &self.question, &self.answer),
        }
    }

    /// Further fields of the case stand behind the question, the article that the answer is compared with behind the answer.
    fn sections_behind(&self, variable: &str) -> Vec<(&'static str, Cow<'_, str>)> {
        match (variable, &self.reference) {
            ("question", _) => self.shown_fields().collect(),
            ("response", Some(reference)) => vec![("reference", Cow::Borrowed(reference))],
            _ => Vec::new(),
        }
    }

    fn shared_texts(&self) -> Vec<&str> {
        let mut texts = vec![self.question_or_note(), &*self.answer];
        texts.extend(self.reference.as_deref());
        for (name, text) in &*self.shown.fields {
            texts.extend([name.as_str(), text.as_str()]);
        }
        texts
    }

    fn items(&self) -> Vec<Arc<str>> {
        let names = self
            .criteria
            .iter()
            .map(|criterion| criterion.name.as_str().into());
        names.collect()
    }

    fn schema(&self) -> Option<Value> {
        if !self.replies_in_json() {
            return None;
        }
        let shape = &self.shape;
        let level = self.level_schema();
        let (list_key, number_key) = shape.list_keys();
        let named = shape.by_text.then_some(&number_key);
        let mut verdict: Value = named
            .into_iter()
            .chain(shape.texts())
            .map(|key| (*key, text_schema()))
            .collect();
        // After the texts: a model that must write its reason first grades by it.
        verdict[&*shape.key] = level.clone();
        if !shape.second.is_empty() {
            verdict[&*shape.second] = level;
        }
        if shape.form == ReplyForm::Map {
            let verdict = object_schema(&verdict);
            let numbers = 1..=self.criteria.len();
            let entries: Value = numbers
                .map(|number| (format!("{number_key}{number}"), verdict.clone()))
                .collect();
            return Some(object_schema(&json!({list_key: object_schema(&entries)})));
        }
        if self.criteria.len() == 1 && shape.list.is_none() {
            return Some(object_schema(&verdict));
        }
        if !shape.by_text {
            verdict[number_key] = json!({"type": "integer"});
        }
        let list = list_schema(&object_schema(&verdict));
        Some(object_schema(&json!({list_key: list})))
    }

    fn reply_units(&self) -> u64 {
        match self.shape.form {
            ReplyForm::Mark => ESSAY,
            _ => self.unit_count(),
        }
    }

    /// A list is JSON as well, but JSON mode and schemas demand an object.
    fn replies_in_json(&self) -> bool {
        matches!(self.shape.form, ReplyForm::Object | ReplyForm::Map)
    }

    /// Reads the verdict on each criterion; a reply that says two things of one is unreadable.
    fn read(&self, reply: &JudgeReply, mode: Mode) -> Result<Reading, Unreadable> {
        let verdicts = reading::verdicts(reply, &self.shape, &self.criteria, mode)?;
        Ok(Reading::new(Verdict::Criteria(verdicts.into())))
    }

    fn split(&self, judgment: &Judgment) -> Vec<Judgment> {
        let places = 0..self.criteria.len();
        places.map(|place| of_criterion(judgment, place)).collect()
    }

    /// Merges the samples of one criterion.
    fn merge(&self, samples: &[Sample], rule: GradeMerge, _mode: Mode) -> Judgment {
        merge_readable(samples, |verdicts| {
            let (credits, seconds) = credits_of(verdicts);
            // A sample without a credit would shift those behind it into other passes.
            let is_whole = credits.len() > 1 && credits.len() == samples.len();
            let is_mean = rule == GradeMerge::Mean && is_whole;
            let merged = CriterionVerdict {
                credit: rule.of(&credits),
                passes: if is_mean { credits.clone() } else { Vec::new() },
                second: rule.of(&seconds),
                also: also_of(verdicts, rule),
                feedback: None,
            };
            Some(Verdict::Criteria([merged].into()))
        })
    }

    fn samples_needed(
        &self,
        samples: &[Sample],
        left: usize,
        rule: GradeMerge,
        _mode: Mode,
    ) -> usize {
        let verdicts = readable_verdicts(samples);
        let (credits, seconds) = credits_of(&verdicts);
        let mut needed = votes_needed(&credits, left, rule);
        if !self.shape.second.is_empty() {
            needed = needed.max(votes_needed(&seconds, left, rule));
        }
        for credits in also_credits(&verdicts).values() {
            needed = needed.max(votes_needed(credits, left, rule));
        }
        needed
    }

    fn layout(&self) -> CriteriaLayout {
        self.layout
    }

    /// A decision a criterion; none where a reply has two scores, or any number.
    fn decisions(&self, wording: &dyn DecisionWording) -> Vec<Vec<DecisionQuestion>> {
        let mut decisions = Vec::new();
        for criterion in &*self.criteria {
            let Some((form, options)) = options::of_criterion(criterion, &self.shape) else {
                return Vec::new();
            };
            let is_fault = criterion.weight < 0.0;
            let decided = self.with_examples(criterion);
            decisions.push(vec![DecisionQuestion {
                instructions: wording.instructions(&decided, is_fault),
                form,
                options,
                is_fault,
            }]);
        }
        decisions
    }

    /// Nothing is behind it.
    fn opening(&self) -> Verdict {
        Verdict::Criteria(Arc::default())
    }

    /// The levels whose credits are nearest to the shares of the criteria that the answer covers.
    fn baseline(&self, words: &dyn Words) -> Option<String> {
        let shares = self.shares(words, &self.answer);
        let second = match &self.reference {
            Some(reference) => self.shares(words, reference),
            None => Vec::new(),
        };
        Some(self.shape.reply_of(&self.criteria, &shares, &second))
    }
}

impl CriteriaLevels {
    /// Whether a decision model sees the options of any criterion in an order that can be reversed.
    pub fn has_reversible_decision(&self) -> bool {
        let mut decisions = self.decisions(&WithoutWords).into_iter().flatten();
        decisions.any(|decision| decision.is_reversible())
    }

    /// The schema of a level.
    fn level_schema(&self) -> Value {
        if self.shape.continuous {
            return json!({"type": "number"});
        }
        let levels = self.shape.words();
        let types: BTreeSet<&str> = levels
            .iter()
            .map(|level| kind(level).trim_start_matches("a "))
            .collect();
        json!({"type": types, "enum": levels})
    }

    /// The share of each criterion that a text covers.
    fn shares(&self, words: &dyn Words, text: &Arc<str>) -> Vec<f64> {
        self.criteria
            .iter()
            .map(|criterion| words.coverage(&criterion.text, text))
            .collect()
    }
}

/// Instructions for looking only at the options of decisions.
struct WithoutWords;

impl DecisionWording for WithoutWords {
    fn instructions(&self, _decided: &str, _is_fault: bool) -> String {
        String::new()
    }
}

/// The credits of one criterion in each sample that assesses it, and those of the reference article.
fn credits_of(verdicts: &[&Verdict]) -> (Vec<f64>, Vec<f64>) {
    let mut credits: Vec<f64> = Vec::new();
    let mut seconds: Vec<f64> = Vec::new();
    for verdict in verdicts {
        let Verdict::Criteria(of_one) = verdict else {
            continue;
        };
        // A judge that abstains says nothing of the reference article either.
        let assessed = of_one
            .first()
            .filter(|criterion| criterion.credit.is_some());
        credits.extend(assessed.and_then(|criterion| criterion.credit));
        seconds.extend(assessed.and_then(|criterion| criterion.second));
    }
    (credits, seconds)
}

/// The credits of one criterion in further metrics, in each sample that assesses it.
fn also_credits<'a>(verdicts: &[&'a Verdict]) -> BTreeMap<&'a String, Vec<f64>> {
    let mut samples: BTreeMap<&String, Vec<f64>> = BTreeMap::new();
    for verdict in verdicts {
        let Verdict::Criteria(of_one) = verdict else {
            continue;
        };
        for (name, credit) in of_one.iter().flat_map(|criterion| &criterion.also) {
            samples.entry(name).or_default().push(*credit);
        }
    }
    samples
}

/// The credits of one criterion in further metrics, each merged over the samples.
fn also_of(verdicts: &[&Verdict], rule: GradeMerge) -> BTreeMap<String, f64> {
    let merged = also_credits(verdicts).into_iter();
    merged
        .filter_map(|(name, credits)| Some((name.clone(), rule.of(&credits)?)))
        .collect()
}

/// What a reply about several criteria says of one of them.
fn of_criterion(judgment: &Judgment, place: usize) -> Judgment {
    let reading = match judgment {
        Ok(reading) => reading,
        Err(reason) => return Err(reason.clone()),
    };
    let Verdict::Criteria(all) = &reading.verdict else {
        return judgment.clone();
    };
    let of_place = all
        .get(place)
        .cloned()
        .ok_or_else(UnscoredReason::other_kind)?;
    let feedback = of_place.feedback.clone();
    Ok(Reading::new(Verdict::Criteria([of_place].into())).with_feedback(feedback))
}

#[cfg(test)]
mod tests;
