//! The score of one answer.

use std::fmt;
use std::sync::{Mutex, PoisonError};

use serde::de::{MapAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{ClaimSupport, UnscoredKind, UnscoredReason};

/// The name of the rubric's scores where the built-in baseline judged: they are not to be taken for an LLM's.
pub const LEXICAL: &str = "lexical_rubric";

/// What the numbers of a quantity are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// 0..=1, shown as per cent.
    Share,
    /// 1..=5, shown with two decimals.
    Grade,
    /// A count an item, shown with one decimal.
    Count,
}

/// What a component measures; the tidy `items.csv` carries it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ComponentKind {
    /// Counted from the text, no judge.
    Length,
    /// One judged criterion, the fixed one about expertise.
    Expertise,
    /// Share of claims with a citation.
    Citations,
    /// Share of citations with an excerpt.
    Excerpts,
    /// One judged criterion of the test case.
    Property,
    /// Share of a criterion's snippets that are present.
    Evidence,
    /// A grade 1..=5 in one aspect.
    Aspect,
    /// Any other share, 0..=1, without a weight.
    Share,
    /// A count, without a weight.
    Count,
}

impl ComponentKind {
    /// The components that every rubric has, annotated or not.
    pub const ALL_STATIC: [Self; 4] = [Self::Length, Self::Expertise, Self::Citations, Self::Excerpts];

    /// The kind's name in files.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Length => "length",
            Self::Expertise => "expertise",
            Self::Citations => "citations",
            Self::Excerpts => "excerpts",
            Self::Property => "property",
            Self::Evidence => "evidence",
            Self::Aspect => "aspect",
            Self::Share => "share",
            Self::Count => "count",
        }
    }

    /// What its numbers are.
    pub fn unit(self) -> Unit {
        match self {
            Self::Aspect => Unit::Grade,
            Self::Count => Unit::Count,
            _ => Unit::Share,
        }
    }

    /// True for the parts of a weighted sum, which the rubric score is; the weight of the others means nothing.
    pub fn is_weighted(self) -> bool {
        !matches!(self, Self::Aspect | Self::Share | Self::Count)
    }

    /// True for the components that come from the annotator's rubric (they make up `ann_score`).
    pub fn is_annotated(self) -> bool {
        matches!(self, Self::Property | Self::Evidence)
    }
}

/// One weighted part of a score.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Component {
    /// Its name, unique within a score; in files the key of the component.
    #[serde(skip)]
    pub name: String,
    /// What it measures.
    pub kind: ComponentKind,
    /// What was judged: the criterion's text, or how many snippets.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub text: String,
    /// Its weight in the score; 0 where the score is no weighted sum.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub weight: f64,
    /// 0..=1; `None` if it could not be judged. (In compat mode it may leave 0..=1.)
    pub value: Option<f64>,
    /// Why there is no value.
    #[serde(default, rename = "unscored", skip_serializing_if = "Option::is_none")]
    pub reason: Option<UnscoredReason>,
    /// What the judge said besides the number, where it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub feedback: Option<String>,
}

impl Component {
    /// A component without a weight and a value.
    pub fn new(name: &str, kind: ComponentKind) -> Self {
        let (name, text) = (name.to_owned(), String::new());
        Self { name, kind, text, weight: 0.0, value: None, reason: None, feedback: None }
    }

    /// The component with this value and the judge's feedback, or the reason why there is none.
    #[must_use]
    pub fn with(mut self, value: Result<(f64, Option<String>), UnscoredReason>) -> Self {
        match value {
            Ok((value, feedback)) => (self.value, self.feedback) = (Some(value), feedback),
            Err(reason) => self.reason = Some(reason),
        }
        self
    }
}

fn is_zero(weight: &f64) -> bool {
    *weight == 0.0
}

/// The name of a scorer.
pub type ScorerId = &'static str;

/// The score of one answer by one scorer.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
pub struct Score {
    /// The scorer's name.
    #[serde(deserialize_with = "interned")]
    pub scorer: ScorerId,
    /// Sum of weight x value; `None` if a component has no value.
    #[serde(rename = "score", alias = "lexical_score")]
    pub value: Option<f64>,
    /// The same over annotated components, divided by their total weight; `None` if one of them has no value.
    #[serde(default, alias = "lexical_ann_score")]
    pub ann_score: Option<f64>,
    /// What `ann_score` is divided by: the annotated components' total weight (the constant 0.6 in compat mode);
    /// 0 where no component is annotated, which leaves `ann_score` undefined.
    #[serde(default)]
    pub ann_divisor: f64,
    /// Every component, in the order of the rubric.
    #[serde(rename = "details", deserialize_with = "by_name")]
    pub components: Vec<Component>,
    /// What a reader must know of how it came about (weights scaled, ..).
    pub notes: Vec<String>,
    /// The claims with their support, where citations were judged.
    #[serde(default)]
    pub claims: Vec<ClaimSupport>,
}

/// The sums are called `lexical_score` and `lexical_ann_score` where the baseline judged. `components` has the values by
/// name, `details` the components whole. `ann_score` and its divisor are left out of scores that are no weighted sum.
impl Serialize for Score {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (score, ann_score) = self.sum_names();
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("scorer", self.scorer)?;
        map.serialize_entry(score, &self.value)?;
        if self.is_weighted_sum() {
            map.serialize_entry(ann_score, &self.ann_score)?;
            map.serialize_entry("ann_divisor", &self.ann_divisor)?;
        }
        map.serialize_entry("components", &ByName(&self.components, |component| component.value))?;
        map.serialize_entry("details", &ByName(&self.components, |component| component))?;
        map.serialize_entry("notes", &self.notes)?;
        if !self.claims.is_empty() {
            map.serialize_entry("claims", &self.claims)?;
        }
        map.end()
    }
}

/// Components by name, in the order of the rubric: what the function takes of each.
struct ByName<'a, T>(&'a [Component], fn(&'a Component) -> T);

impl<T: Serialize> Serialize for ByName<'_, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|component| (&component.name, (self.1)(component))))
    }
}

/// Reads components by name, in the order of the file.
fn by_name<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Component>, D::Error> {
    struct Components;

    impl<'de> Visitor<'de> for Components {
        type Value = Vec<Component>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("components by name")
        }

        fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Self::Value, M::Error> {
            let mut components = Vec::new();
            while let Some((name, component)) = map.next_entry::<String, Component>()? {
                components.push(Component { name, ..component });
            }
            Ok(components)
        }
    }

    deserializer.deserialize_map(Components)
}

/// The name of a scorer as one that lives on: there are as few as scorers, and users may have their own.
fn interned<'de, D: Deserializer<'de>>(deserializer: D) -> Result<ScorerId, D::Error> {
    static NAMES: Mutex<Vec<ScorerId>> = Mutex::new(Vec::new());
    let name = String::deserialize(deserializer)?;
    let mut names = NAMES.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = names.iter().find(|known| **known == name) {
        return Ok(known);
    }
    let new: ScorerId = Box::leak(name.into());
    names.push(new);
    Ok(new)
}

impl Score {
    /// The names of `value` and `ann_score` in files and tables.
    pub fn sum_names(&self) -> (&'static str, &'static str) {
        if self.scorer == LEXICAL { ("lexical_score", "lexical_ann_score") } else { ("score", "ann_score") }
    }

    /// The same with a reason for every component without a finite value. A NaN, which compat mode lets pass, is no value.
    #[must_use]
    pub fn with_reasons(mut self) -> Self {
        for component in self.components.iter_mut() {
            if component.value.is_some_and(|value| !value.is_finite()) {
                let what = "the value is not a finite number";
                component.reason = Some(UnscoredReason::new(UnscoredKind::Exception, what));
                component.value = None;
            } else if component.value.is_none() && component.reason.is_none() {
                component.reason = Some(UnscoredReason::new(UnscoredKind::NotAsked, "not asked"));
            }
        }
        let finite = |value: Option<f64>| value.filter(|value| value.is_finite());
        (self.value, self.ann_score) = (finite(self.value), finite(self.ann_score));
        self
    }

    /// The component of that name.
    pub fn component(&self, name: &str) -> Option<&Component> {
        self.components.iter().find(|component| component.name == name)
    }

    /// True if the value is a weighted sum of the components, as the rubric's is.
    pub fn is_weighted_sum(&self) -> bool {
        self.components.iter().any(|component| component.kind.is_weighted())
    }

    /// True if every component has a value.
    pub fn is_complete(&self) -> bool {
        self.components.iter().all(|component| component.value.is_some())
    }

    /// `score` and `ann_score` as they would be if every component without a value had the value `fill`: 0 and 1
    /// give the bounds, 0 is what `--on-unscored zero` counts. Without annotated
    /// components there is no `ann_score` to fill.
    pub fn filled(&self, fill: f64) -> (f64, Option<f64>) {
        let sums = WeightedSums::of(&self.components, fill);
        let annotated = self.components.iter().any(|component| component.kind.is_annotated());
        (sums.all, (annotated && self.ann_divisor > 0.0).then(|| sums.annotated / self.ann_divisor))
    }
}

/// Sums of weight x value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct WeightedSums {
    /// Over all components.
    pub(crate) all: f64,
    /// Over annotated ones.
    pub(crate) annotated: f64,
}

impl WeightedSums {
    /// The sums, with `fill` for missing values. Snippets are added last, as in the reference, whose sums ours must
    /// equal to the last digit.
    pub(crate) fn of(components: &[Component], fill: f64) -> Self {
        let is_evidence = |component: &&Component| component.kind == ComponentKind::Evidence;
        let criteria = components.iter().filter(|component| !is_evidence(component));
        let mut sums = Self { all: 0.0, annotated: 0.0 };
        for component in criteria.chain(components.iter().filter(is_evidence)) {
            let part = component.weight * component.value.unwrap_or(fill);
            sums.all += part;
            if component.kind.is_annotated() {
                sums.annotated += part;
            }
        }
        sums
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn component(kind: ComponentKind, weight: f64, value: Option<f64>) -> Component {
        let name = kind.as_str().to_owned();
        Component { name, kind, text: String::new(), weight, value, reason: None, feedback: None }
    }

    fn score(components: Vec<Component>, ann_divisor: f64) -> Score {
        Score {
            scorer: "rubric",
            value: None,
            ann_score: None,
            ann_divisor,
            components,
            notes: Vec::new(),
            claims: Vec::new(),
        }
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
