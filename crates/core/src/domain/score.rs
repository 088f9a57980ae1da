//! The score of one answer.
//!
//! A `Component` has a `Measure`, which the scores of all systems share, and a value or a reason. A
//! `Score` is written as a line of `scores.jsonl` and read back through `RecordedScore`.

use std::collections::HashSet;
use std::hash::{Hash, Hasher};
use std::ops::{Deref, DerefMut};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use serde::de::Error;
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

use super::{
    Belief, CaseGroup, CitedAddress, CitedPage, ClaimSupport, MAX_GRADE, MIN_GRADE, ScorerId,
    UnscoredKind, UnscoredReason,
};
use crate::named_enum;

/// Weights sum to 1 within this.
// The reference's tolerance of a weight sum.
const RANGE_TOLERANCE: f64 = 1e-6;

/// Unit of a quantity's values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// 0..=1, shown as %.
    Share,
    /// 1..=5, shown with two decimals.
    Grade,
    /// A count per item, shown with one decimal.
    Count,
    /// A share that negative weights can pull below 0, shown as %.
    Net,
}

impl Unit {
    /// The lowest and the highest value; infinite for counts and net shares.
    pub fn range(self) -> (f64, f64) {
        match self {
            Self::Share => (0.0, 1.0),
            Self::Grade => (MIN_GRADE, MAX_GRADE),
            Self::Count => (0.0, f64::INFINITY),
            Self::Net => (f64::NEG_INFINITY, f64::INFINITY),
        }
    }
}

/// True for what an amount, a rate or a price can be: a finite number of 0 or more. NaN compares as false with every limit,
/// which would switch the limit off.
pub fn is_amount(number: f64) -> bool {
    number.is_finite() && number >= 0.0
}

/// Parses a finite number of 0 or more.
///
/// # Errors
/// A message with the expected form.
pub fn parse_amount(text: &str) -> Result<f64, String> {
    let number = text.trim().parse().ok().filter(|number| is_amount(*number));
    number.ok_or_else(|| "not a finite number of 0 or more, such as 0.5 or 12".to_owned())
}

/// Parses a share, 0..=1, written as `5%` or `0.05`.
///
/// # Errors
/// A message with the expected form.
pub fn parse_share(text: &str) -> Result<f64, String> {
    let parsed = match text.trim().strip_suffix('%') {
        Some(percentage) => parse_amount(percentage).map(|number| number / 100.0),
        None => parse_amount(text),
    };
    let share = parsed.ok().filter(|share| *share <= 1.0);
    share.ok_or_else(|| "not a share from 0% to 100%; write 5% or 0.05".to_owned())
}

/// A share between 0 and 1: neither of them.
///
/// # Errors
/// As [`parse_share`].
pub fn parse_inner_share(text: &str) -> Result<f64, String> {
    let share = parse_share(text)
        .ok()
        .filter(|share| *share > 0.0 && *share < 1.0);
    share.ok_or_else(|| "not between 0 and 1; write 0.05 or 5%".to_owned())
}

named_enum! {
    /// What a component measures; the tidy `items.csv` carries it.
    pub enum ComponentKind {
        /// Counted from the text, no judge.
        Length = "length",
        /// The fixed criterion on expertise.
        Expertise = "expertise",
        /// Share of claims with a citation.
        Citations = "citations",
        /// Share of citations with an excerpt.
        Excerpts = "excerpts",
        /// One judged criterion of the test case.
        Property = "property",
        /// Share of a criterion's snippets that are present.
        Evidence = "evidence",
        /// The credit for one criterion of a list.
        Criterion = "criterion",
        /// A grade 1..=5 in one aspect.
        Aspect = "aspect",
        /// Any other share, 0..=1, without a weight.
        Share = "share",
        /// A share without a weight that may lie below 0 or above 1.
        Net = "net",
        /// A count, without a weight.
        Count = "count",
    }
}

impl ComponentKind {
    /// The components of every rubric, annotated or not.
    pub const ALL_STATIC: [Self; 4] = [
        Self::Length,
        Self::Expertise,
        Self::Citations,
        Self::Excerpts,
    ];

    /// The unit of its values.
    pub fn unit(self) -> Unit {
        match self {
            Self::Aspect => Unit::Grade,
            Self::Count => Unit::Count,
            Self::Net => Unit::Net,
            _ => Unit::Share,
        }
    }

    /// Whether it is a component of the weighted rubric score; otherwise the weight means nothing.
    pub fn is_weighted(self) -> bool {
        !matches!(self, Self::Aspect | Self::Share | Self::Net | Self::Count)
    }

    /// Whether components of this kind differ from case to case.
    pub fn is_of_case(self) -> bool {
        self.is_annotated() || self == Self::Criterion
    }

    /// Whether it comes from the annotator's rubric (`ann_score`).
    pub fn is_annotated(self) -> bool {
        matches!(self, Self::Property | Self::Evidence)
    }
}

/// One component of a score. A large run has millions, so that it is kept small.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Component {
    /// What is measured; its fields are read as those of the component.
    #[serde(flatten)]
    pub measure: Arc<Measure>,
    /// 0..=1; `None` if it could not be judged. Compat mode may exceed the range.
    pub value: Option<f64>,
    /// Why the value is missing.
    #[serde(default, rename = "unscored", skip_serializing_if = "Option::is_none")]
    pub reason: Option<Box<UnscoredReason>>,
    /// The judge's feedback, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub feedback: Option<Arc<String>>,
    /// What the probabilities of a decision model say, in units of the value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub belief: Option<Box<Belief>>,
}

/// What a component measures: the same in the scores of all systems.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Measure {
    /// Its name, unique within a score; in files the key of the component.
    #[serde(skip)]
    pub name: String,
    /// Its kind.
    pub kind: ComponentKind,
    /// The criterion's text, or the number of snippets.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub text: String,
    /// Its weight in the score; 0 if the score is not a weighted sum.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub weight: f64,
    /// Its tags.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
}

impl Measure {
    /// Whether it is a fault: a criterion with a negative weight, so that meeting it takes points away.
    pub fn is_fault(&self) -> bool {
        self.weight < 0.0
    }
}

impl Eq for Measure {}

impl Hash for Measure {
    fn hash<H: Hasher>(&self, state: &mut H) {
        // Weights are floats, which have no hash; equality looks at them.
        (&self.name, &self.text).hash(state);
    }
}

impl Deref for Component {
    type Target = Measure;

    fn deref(&self) -> &Measure {
        &self.measure
    }
}

impl DerefMut for Component {
    fn deref_mut(&mut self) -> &mut Measure {
        Arc::make_mut(&mut self.measure)
    }
}

impl Component {
    /// A component without a weight and a value.
    pub fn new(name: &str, kind: ComponentKind) -> Self {
        let measure = Measure {
            name: name.to_owned(),
            kind,
            text: String::new(),
            weight: 0.0,
            tags: Vec::new(),
        };
        Self {
            measure: Arc::new(measure),
            value: None,
            reason: None,
            feedback: None,
            belief: None,
        }
    }

    /// Sets the text.
    #[must_use]
    pub fn with_text(mut self, text: &str) -> Self {
        text.clone_into(&mut self.text);
        self
    }

    /// Whether the judge says that it cannot assess it.
    pub fn is_abstained(&self) -> bool {
        self.reason
            .as_ref()
            .is_some_and(|reason| reason.kind == UnscoredKind::Abstained)
    }

    /// Sets the weight.
    #[must_use]
    pub fn with_weight(mut self, weight: f64) -> Self {
        self.weight = weight;
        self
    }

    /// Sets the value and feedback, or the reason why the value is missing.
    #[must_use]
    pub fn with(mut self, value: Result<(f64, Option<String>), UnscoredReason>) -> Self {
        match value {
            Ok((value, feedback)) => {
                (self.value, self.feedback) = (Some(value), feedback.map(Arc::new))
            }
            Err(reason) => self.reason = Some(reason.into()),
        }
        self
    }
}

fn is_zero(weight: &f64) -> bool {
    *weight == 0.0
}

/// An equal measure that is in memory already, or this one.
fn shared(measure: Arc<Measure>) -> Arc<Measure> {
    static MEASURES: LazyLock<Mutex<HashSet<Arc<Measure>>>> = LazyLock::new(Mutex::default);
    let mut measures = MEASURES.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = measures.get(&measure) {
        return Arc::clone(known);
    }
    if measures.len() == measures.capacity() {
        // Before the set grows, it drops what no score uses any more.
        // One for the set itself.
        measures.retain(|measure| Arc::strong_count(measure) > 1);
        let used = measures.len();
        measures.reserve(used);
    }
    measures.insert(Arc::clone(&measure));
    measure
}

/// The score of one answer by one scorer.
///
/// ```
/// use scholareval_core::domain::{Component, ComponentKind, Score};
///
/// let length = Component::new("length", ComponentKind::Length).with_weight(0.25).with(Ok((0.5, None)));
/// let property = Component::new("names_a_cause", ComponentKind::Property).with_weight(0.75);
/// let score = Score { scorer: "rubric".into(), components: vec![length, property], ..Score::default() };
///
/// // The property was not judged: no score, but bounds of it.
/// assert!(!score.is_complete() && score.value.is_none());
/// assert_eq!((score.filled(0.0).0, score.filled(1.0).0), (0.125, 0.875));
/// ```
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(try_from = "RecordedScore")]
pub struct Score {
    /// The scorer, and whether the built-in baseline judged.
    pub scorer: ScorerId,
    /// Sum of weight x value; `None` if a component has no value.
    pub value: Option<f64>,
    /// Whether the sum is cut to 0..=1.
    pub is_clipped: bool,
    /// The group of its case, if the benchmark takes the mean of groups.
    pub group: Option<CaseGroup>,
    /// Whether the benchmark pools the criteria of all answers.
    pub is_pooled: bool,
    /// The same with the expected values of the components in place of the most probable ones; `None` unless a decision model
    /// gave the probabilities of all of them.
    pub expected: Option<f64>,
    /// The same over the annotated components, divided by their total weight; `None` if one of them has no value.
    pub ann_score: Option<f64>,
    /// Divisor of `ann_score`: the annotated components' total weight (in compat mode the constant 0.6); 0 if there are
    /// none, which leaves `ann_score` undefined.
    pub ann_divisor: f64,
    /// Every component, in rubric order.
    pub components: Vec<Component>,
    /// Notes needed to use the score (weights scaled, ..).
    pub notes: Vec<String>,
    /// The claims with their support, if citations were judged.
    pub claims: Vec<ClaimSupport>,
    /// The pages that the answer cites, if they were looked at.
    pub pages: Vec<CitedPage>,
    /// The addresses that the answer cites, if it was looked up where they come from.
    pub addresses: Vec<CitedAddress>,
}

/// A score as a line of `scores.jsonl` holds it.
///
/// The key of the sum says who judged: `lexical_score` is the baseline's. A scorer's name says nothing, since users may name
/// scorers as they like.
#[derive(Deserialize)]
struct RecordedScore {
    scorer: String,
    #[serde(default, deserialize_with = "present")]
    score: Option<Option<f64>>,
    #[serde(default, deserialize_with = "present")]
    lexical_score: Option<Option<f64>>,
    #[serde(default)]
    expected_score: Option<f64>,
    #[serde(default, alias = "lexical_ann_score")]
    ann_score: Option<f64>,
    #[serde(default)]
    clipped: bool,
    #[serde(default)]
    group: Option<CaseGroup>,
    #[serde(default)]
    micro: bool,
    #[serde(default)]
    ann_divisor: f64,
    #[serde(deserialize_with = "by_name")]
    details: Vec<Component>,
    notes: Vec<String>,
    #[serde(default)]
    claims: Vec<ClaimSupport>,
    #[serde(default)]
    pages: Vec<CitedPage>,
    #[serde(default)]
    addresses: Vec<CitedAddress>,
}

/// Components of the scorer `works` that had these names, which are those of the ends of an interval, and their names now.
const RENAMED: [(&str, &str); 2] = [
    ("found_low", "found_at_least"),
    ("found_high", "found_at_most"),
];

/// Gives components of earlier runs the names that they have now.
fn rename(scorer: &str, components: &mut [Component]) {
    for component in components.iter_mut().filter(|_| scorer == "works") {
        let renamed = RENAMED.iter().find(|(old, _)| *old == component.name);
        if let Some((_, new)) = renamed {
            (*new).clone_into(&mut component.name);
        }
    }
}

/// A value whose key is there, null or not.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Option<f64>>, D::Error> {
    Option::deserialize(deserializer).map(Some)
}

impl TryFrom<RecordedScore> for Score {
    type Error = &'static str;

    fn try_from(mut recorded: RecordedScore) -> Result<Self, Self::Error> {
        rename(&recorded.scorer, &mut recorded.details);
        let is_baseline = recorded.lexical_score.is_some();
        let value = match (recorded.score, recorded.lexical_score) {
            (Some(value), None) | (None, Some(value)) => value,
            (None, None) => return Err("missing field `score`"),
            (Some(_), Some(_)) => return Err("both `score` and `lexical_score`"),
        };
        Ok(Self {
            scorer: ScorerId::from_record(&recorded.scorer, is_baseline),
            value,
            is_clipped: recorded.clipped,
            group: recorded.group,
            is_pooled: recorded.micro,
            expected: recorded.expected_score,
            ann_score: recorded.ann_score,
            ann_divisor: recorded.ann_divisor,
            components: recorded.details,
            notes: recorded.notes,
            claims: recorded.claims,
            pages: recorded.pages,
            addresses: recorded.addresses,
        })
    }
}

/// The sums of the baseline are called `lexical_score` and `lexical_ann_score`. `components` has the values by name,
/// `details` the whole components. `ann_score` and its divisor are omitted for scores that are not weighted sums.
impl Serialize for Score {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (score, ann_score) = self.sum_names();
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("scorer", &self.scorer)?;
        map.serialize_entry(score, &self.value)?;
        if let Some(expected) = self.expected {
            map.serialize_entry("expected_score", &expected)?;
        }
        if self.is_clipped {
            map.serialize_entry("clipped", &true)?;
        }
        if let Some(group) = &self.group {
            map.serialize_entry("group", group)?;
        }
        if self.is_pooled {
            map.serialize_entry("micro", &true)?;
        }
        if self.has_ann_score() {
            map.serialize_entry(ann_score, &self.ann_score)?;
            map.serialize_entry("ann_divisor", &self.ann_divisor)?;
        }
        map.serialize_entry(
            "components",
            &ByName(&self.components, |component| component.value),
        )?;
        map.serialize_entry("details", &ByName(&self.components, |component| component))?;
        map.serialize_entry("notes", &self.notes)?;
        if !self.claims.is_empty() {
            map.serialize_entry("claims", &self.claims)?;
        }
        if !self.pages.is_empty() {
            map.serialize_entry("pages", &self.pages)?;
        }
        if !self.addresses.is_empty() {
            map.serialize_entry("addresses", &self.addresses)?;
        }
        map.end()
    }
}

/// Components by name, in rubric order, reduced by the function.
struct ByName<'a, T>(&'a [Component], fn(&'a Component) -> T);

impl<T: Serialize> Serialize for ByName<'_, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(
            self.0
                .iter()
                .map(|component| (&component.name, (self.1)(component))),
        )
    }
}

/// What is wrong with a value that is there and outside its range.
fn outside(name: &str, value: Option<f64>, (low, high): (f64, f64)) -> Option<String> {
    let value = value?;
    if (low - RANGE_TOLERANCE..=high + RANGE_TOLERANCE).contains(&value) {
        return None;
    }
    let name = name.escape_debug();
    Some(format!("{name} is {value}, outside {low}..{high}"))
}

/// Parses components by name, in file order.
fn by_name<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Component>, D::Error> {
    let fields = Map::<String, Value>::deserialize(deserializer)?;
    let mut components = Vec::new();
    for (name, value) in fields {
        let mut component = Component::deserialize(value).map_err(D::Error::custom)?;
        component.name = name;
        component.measure = shared(component.measure);
        components.push(component);
    }
    Ok(components)
}

impl Score {
    /// Names of `value` and `ann_score` in files and tables.
    pub fn sum_names(&self) -> (&'static str, &'static str) {
        self.scorer.sum_names()
    }

    /// Adds a reason to every component without a finite value. NaN, which compat mode allows, counts as missing.
    /// Equal measures of several scores are in memory once.
    #[must_use]
    pub fn with_reasons(mut self) -> Self {
        for component in self.components.iter_mut() {
            component.measure = shared(Arc::clone(&component.measure));
            if component.value.is_some_and(|value| !value.is_finite()) {
                let what = "the value is not a finite number";
                component.reason = Some(UnscoredReason::new(UnscoredKind::Exception, what).into());
                component.value = None;
            } else if component.value.is_none() && component.reason.is_none() {
                component.reason =
                    Some(UnscoredReason::new(UnscoredKind::NotAsked, "not asked").into());
            }
        }
        self.value = self.value.filter(|value| value.is_finite());
        self.ann_score = self.ann_score.filter(|value| value.is_finite());
        self
    }

    /// The score without any value, for this reason; not even what is counted from the text has one.
    #[must_use]
    pub fn without_values(mut self, reason: &UnscoredReason) -> Self {
        self.value = None;
        self.expected = None;
        self.ann_score = None;
        self.claims.clear();
        self.pages.clear();
        self.addresses.clear();
        for component in &mut self.components {
            component.value = None;
            component.feedback = None;
            component.reason = Some(reason.clone().into());
        }
        self
    }

    /// Whether a decision model judged it: the probabilities of a component are known.
    pub fn is_decided(&self) -> bool {
        self.components
            .iter()
            .any(|component| component.belief.is_some())
    }

    /// The component with this name.
    pub fn component(&self, name: &str) -> Option<&Component> {
        self.components
            .iter()
            .find(|component| &*component.name == name)
    }

    /// The first value outside the range of its unit, in words. A sum or mean lies in the range of its components.
    pub fn out_of_range(&self) -> Option<String> {
        let is_net = self.unit() == Unit::Net;
        if let Some(range) = self.range_of_sums() {
            let (score, ann_score) = self.sum_names();
            for (name, value) in [(score, self.value), (ann_score, self.ann_score)] {
                if let Some(what) = outside(name, value, range) {
                    return Some(what);
                }
            }
        }
        for component in &self.components {
            // Negative weights take a recall out of its range, too.
            if is_net && component.kind == ComponentKind::Share {
                continue;
            }
            let range = component.kind.unit().range();
            if let Some(what) = outside(&component.name, component.value, range) {
                return Some(what);
            }
        }
        None
    }

    /// Where the sums can be: between the lowest and the highest value of any component. A net share is a sum over weights of
    /// both signs, which the ranges of its components do not bound. `None` without components.
    fn range_of_sums(&self) -> Option<(f64, f64)> {
        if self.unit() == Unit::Net {
            return Some(Unit::Net.range());
        }
        let mut all: Option<(f64, f64)> = None;
        for component in &self.components {
            let (low, high) = component.kind.unit().range();
            all = Some(match all {
                Some((lowest, highest)) => (low.min(lowest), high.max(highest)),
                None => (low, high),
            });
        }
        all
    }

    /// Whether the value is a weighted sum of the components, as for rubrics.
    pub fn is_weighted_sum(&self) -> bool {
        self.components
            .iter()
            .any(|component| component.kind.is_weighted())
    }

    /// Whether the score has a part that comes from an annotator: a rubric's, not a list of criteria.
    pub fn has_ann_score(&self) -> bool {
        self.components.iter().any(|component| {
            component.kind.is_weighted() && component.kind != ComponentKind::Criterion
        })
    }

    /// The unit of the score as a whole.
    pub fn unit(&self) -> Unit {
        match self.is_weighted_sum() {
            true if !self.is_clipped
                && self
                    .components
                    .iter()
                    .any(|component| component.weight < 0.0) =>
            {
                Unit::Net
            }
            false
                if self
                    .components
                    .iter()
                    .any(|component| component.kind == ComponentKind::Aspect) =>
            {
                Unit::Grade
            }
            _ => Unit::Share,
        }
    }

    /// Whether every component has a value, but for those that a judge cannot assess.
    pub fn is_complete(&self) -> bool {
        self.components
            .iter()
            .all(|component| component.value.is_some() || component.is_abstained())
    }

    /// A sum of weight x value, cut to 0..=1 if the score is.
    pub fn cut(&self, sum: f64) -> f64 {
        if self.is_clipped {
            sum.clamp(0.0, 1.0)
        } else {
            sum
        }
    }

    /// `score` and `ann_score` with `fill` for missing values: 0 and 1 give the bounds, 0 is `--on-unscored zero`. For
    /// negative weights it is the other way round: 0 gives the lowest sum, 1 the highest.
    /// Without annotated components `ann_score` stays undefined.
    pub fn filled(&self, fill: f64) -> (f64, Option<f64>) {
        let sums = WeightedSums::of(&self.components, fill);
        let annotated = self
            .components
            .iter()
            .any(|component| component.kind.is_annotated());
        (
            self.cut(sums.all),
            (annotated && self.ann_divisor > 0.0).then(|| sums.annotated / self.ann_divisor),
        )
    }
}

/// Sums of weight x value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WeightedSums {
    /// Over all components.
    pub all: f64,
    /// Over annotated ones.
    pub annotated: f64,
}

impl WeightedSums {
    /// The sums, with `fill` for missing values. Snippets are added last, as in the reference, so that sums match to
    /// the last digit.
    pub fn of(components: &[Component], fill: f64) -> Self {
        let mut sums = Self {
            all: 0.0,
            annotated: 0.0,
        };
        // Criteria first, then evidence: the reference's order, in which floats are added.
        for component in components {
            if component.kind != ComponentKind::Evidence {
                sums.add(component, fill);
            }
        }
        for component in components {
            if component.kind == ComponentKind::Evidence {
                sums.add(component, fill);
            }
        }
        sums
    }

    fn add(&mut self, component: &Component, fill: f64) {
        // The worst that can be of a fault is that it is there.
        let worst_or_best = if component.weight < 0.0 {
            1.0 - fill
        } else {
            fill
        };
        let part = component.weight * component.value.unwrap_or(worst_or_best);
        self.all += part;
        if component.kind.is_annotated() {
            self.annotated += part;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_a_percentage_or_a_number_up_to_1() {
        assert_eq!(
            ["5%", "0.05", " 100 %", "1", "0"].map(parse_share),
            [0.05, 0.05, 1.0, 1.0, 0.0].map(Ok)
        );
        for text in ["20", "101%", "-5%", "5", "", "%", "NaN", "inf"] {
            assert!(
                parse_share(text).is_err_and(|what| what.contains("write 5% or 0.05")),
                "{text}"
            );
        }
    }

    #[test]
    fn a_measure_is_in_memory_once_and_only_while_a_component_has_it() {
        assert_eq!(size_of::<Component>(), 48);
        let of = |name: &str, weight| {
            score(
                vec![component(ComponentKind::Property, weight, None).named(name)],
                0.0,
            )
        };
        let (first, second) = (
            of("shared", 0.5).with_reasons(),
            of("shared", 0.5).with_reasons(),
        );
        let read: Score = serde_json::from_str(&serde_json::to_string(&first).unwrap()).unwrap();
        let is_same =
            |other: &Score| Arc::ptr_eq(&first.components[0].measure, &other.components[0].measure);
        assert!(is_same(&second) && is_same(&read));
        assert!(
            !is_same(&of("shared", 0.25).with_reasons()),
            "its weight differs"
        );
        let unused =
            Arc::downgrade(&of("used by no component", 0.5).with_reasons().components[0].measure);
        let many: Vec<_> = (0..200_000)
            .map(|number| of(&number.to_string(), 0.5).with_reasons())
            .collect();
        assert!(unused.upgrade().is_none(), "{} scores", many.len());
    }

    impl Component {
        fn named(mut self, name: &str) -> Self {
            self.name = name.to_owned();
            self
        }
    }

    fn component(kind: ComponentKind, weight: f64, value: Option<f64>) -> Component {
        Component {
            value,
            ..Component::new(kind.name(), kind).with_weight(weight)
        }
    }

    fn score(components: Vec<Component>, ann_divisor: f64) -> Score {
        Score {
            scorer: "rubric".into(),
            value: None,
            ann_score: None,
            ann_divisor,
            components,
            notes: Vec::new(),
            ..Score::default()
        }
    }

    #[test]
    fn bounds_of_earlier_runs_have_the_names_of_today() {
        let names = |scorer: &str| {
            let line = format!(
                r#"{{"scorer": "{scorer}", "score": 1.0, "notes": [], "details": {{
                    "found": {{"kind": "share", "value": 1.0}}, "found_low": {{"kind": "share", "value": 0.5}}}}}}"#
            );
            let score: Score = serde_json::from_str(&line).unwrap();
            let components = score.components.iter();
            let names = components.map(|component| component.name.clone());
            names.collect::<Vec<_>>()
        };
        assert_eq!(names("works"), ["found", "found_at_least"]);
        assert_eq!(names("mine"), ["found", "found_low"]);
    }

    #[test]
    fn missing_values_are_filled_in_score_and_ann_score() {
        let score = score(
            vec![
                component(ComponentKind::Expertise, 0.5, None),
                component(ComponentKind::Property, 0.25, Some(0.8)),
                component(ComponentKind::Evidence, 0.25, None),
            ],
            0.5,
        );
        // 0.25 * 0.8 = 0.2; divided by 0.5 = 0.4.
        assert_eq!(score.filled(0.0), (0.2, Some(0.4)));
        // 0.5 + 0.2 + 0.25 = 0.95; (0.2 + 0.25) / 0.5 = 0.9.
        assert_eq!(score.filled(1.0), (0.95, Some(0.9)));
        assert!(!score.is_complete());
    }

    #[test]
    fn an_undefined_ann_score_is_bounded_by_the_fill() {
        let score = score(vec![component(ComponentKind::Length, 1.0, Some(0.5))], 0.0);
        assert_eq!(score.filled(0.0), (0.5, None));
        assert_eq!(score.filled(1.0), (0.5, None));
    }
}
