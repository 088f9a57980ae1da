//! Components, weights and gates of a rubric in one mode, before any verdict.

use crate::domain::{
    Component, ComponentKind, Criterion, Mode, Rubric, RubricParts, UnscoredKind, UnscoredReason,
};

/// The reference's divisor for the annotated sum, whatever the annotated weights are.
const REFERENCE_ANN_DIVISOR: f64 = 0.6;

/// The reference's tolerance for the sum of weights.
const WEIGHT_TOLERANCE: f64 = 1e-6;

/// Source of a component's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Source {
    /// Counted from the answer.
    Length,
    /// The fixed criterion on expertise.
    Expertise,
    /// The claims reply: share of cited claims.
    Citations,
    /// The claims reply: share of quoted citations; asked by [`Source::Citations`].
    Excerpts,
    /// The text of this criterion.
    Criterion(usize),
    /// The snippets of this criterion.
    Snippets(usize),
    /// A criterion that cannot be judged in this mode.
    Nothing,
}

/// One component of the score, before it has a value.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Part {
    /// The component's name.
    pub(super) component: Component,
    pub(super) source: Source,
    /// Key of its verdict: the component's name, unless names collide (compat only).
    pub(super) item: String,
}

/// Everything known before the first verdict.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Plan {
    /// In the order of the reference.
    pub(super) parts: Vec<Part>,
    pub(super) ann_divisor: f64,
    pub(super) notes: Vec<String>,
    /// Why no call is made.
    pub(super) refused: Option<UnscoredReason>,
}

impl Plan {
    pub(super) fn new(rubric: &Rubric, asked: RubricParts, mode: Mode) -> Self {
        let mut plan = Self {
            parts: Vec::new(),
            ann_divisor: 0.0,
            notes: Vec::new(),
            refused: None,
        };
        let length = format!("words, {} to {}", rubric.low_length, rubric.high_length);
        plan.push("length", Source::Length, rubric.length_weight, &length);
        plan.push(
            "expertise",
            Source::Expertise,
            rubric.expertise_weight,
            "expertise needed matches the asker's",
        );
        plan.push(
            "citations",
            Source::Citations,
            rubric.citations_weight,
            "claims with a citation",
        );
        plan.push(
            "excerpts",
            Source::Excerpts,
            rubric.excerpts_weight,
            "citations with an excerpt",
        );
        let has_text = |criterion: &Criterion| asked.rubrics && !criterion.criterion.is_empty();
        let has_snippets = |criterion: &Criterion| asked.snippets && !criterion.snippets.is_empty();
        let is_judged = |criterion: &Criterion| has_text(criterion) || has_snippets(criterion);
        let scale = if mode == Mode::Default {
            plan.scale(&rubric.criteria, is_judged)
        } else {
            1.0
        };
        for (index, criterion) in rubric.criteria.iter().enumerate() {
            let (text, snippets) = (has_text(criterion), has_snippets(criterion));
            let share = criterion.weight / if text && snippets { 2.0 } else { 1.0 } * scale;
            if text {
                plan.push(
                    &criterion.name,
                    Source::Criterion(index),
                    share,
                    &criterion.criterion,
                );
            }
            if snippets {
                let count = criterion.snippets.len();
                let shown = if count == 1 {
                    "1 snippet".to_owned()
                } else {
                    format!("{count} snippets")
                };
                plan.push(
                    &format!("{}_evidence", criterion.name),
                    Source::Snippets(index),
                    share,
                    &shown,
                );
            }
            if !text && !snippets && plan.refused.is_some() {
                // It is not asked, but its missing weight must count.
                plan.push(
                    &criterion.name,
                    Source::Nothing,
                    criterion.weight,
                    &criterion.criterion,
                );
            }
        }
        match mode {
            Mode::Default => {
                let annotated = plan
                    .parts
                    .iter()
                    .filter(|part| part.component.kind.is_annotated());
                plan.ann_divisor = annotated.map(|part| part.component.weight).sum();
            }
            Mode::Compat => {
                plan.ann_divisor = REFERENCE_ANN_DIVISOR;
                plan.refused = plan.refused_by_reference(rubric);
            }
        }
        if plan.ann_divisor <= 0.0 {
            plan.notes
                .push("no property has a weight: ann_score is undefined".to_owned());
        }
        plan
    }

    /// Index of the component that must be above 0 before this one is asked: the criterion of these snippets.
    pub(super) fn gate(&self, index: usize) -> Option<usize> {
        let before = index.checked_sub(1)?;
        match (self.parts[before].source, self.parts[index].source) {
            (Source::Criterion(text), Source::Snippets(snippets)) if text == snippets => {
                Some(before)
            }
            _ => None,
        }
    }

    /// Factor for the weights of judged criteria, so that all criteria keep their total weight.
    fn scale(&mut self, criteria: &[Criterion], is_judged: impl Fn(&Criterion) -> bool) -> f64 {
        let total: f64 = criteria.iter().map(|criterion| criterion.weight).sum();
        let judged: f64 = criteria
            .iter()
            .filter(|c| is_judged(c))
            .map(|criterion| criterion.weight)
            .sum();
        let left_out = criteria
            .iter()
            .filter(|criterion| !is_judged(criterion))
            .count();
        if left_out > 0 && judged > 0.0 {
            self.notes.push(format!(
                "{left_out} of {} properties have nothing to judge in this mode; the weights of the others are scaled \
                 by {:.4} so that together they keep {total:.4}",
                criteria.len(),
                total / judged
            ));
            return total / judged;
        }
        if left_out > 0 && total > 0.0 {
            let message =
                "no property has anything to judge in this mode; score criteria, snippets or both";
            self.notes.push(message.to_owned());
            self.refused = Some(UnscoredReason::new(UnscoredKind::NotAsked, message));
        }
        1.0
    }

    fn push(&mut self, name: &str, source: Source, weight: f64, text: &str) {
        let kind = match source {
            Source::Length => ComponentKind::Length,
            Source::Expertise => ComponentKind::Expertise,
            Source::Citations => ComponentKind::Citations,
            Source::Excerpts => ComponentKind::Excerpts,
            Source::Criterion(_) | Source::Nothing => ComponentKind::Property,
            Source::Snippets(_) => ComponentKind::Evidence,
        };
        // The reference recognizes static components by name, so a property called `length` counts as one.
        let kind = ComponentKind::ALL_STATIC
            .into_iter()
            .find(|kind| kind.as_str() == name)
            .unwrap_or(kind);
        let component = Component::new(name, kind)
            .with_text(text)
            .with_weight(weight);
        let item = match source {
            Source::Excerpts => "citations".to_owned(),
            _ if self
                .parts
                .iter()
                .any(|earlier| &*earlier.component.name == name) =>
            {
                format!("{name}#{}", self.parts.len())
            }
            _ => name.to_owned(),
        };
        self.parts.push(Part {
            component,
            source,
            item,
        });
    }

    /// Whether the reference fails before its first call: if the weights (of equal names the last) do not sum to 1, or
    /// the length bounds are equal.
    fn refused_by_reference(&self, rubric: &Rubric) -> Option<UnscoredReason> {
        let is_last = |at: usize, name: &str| {
            !self.parts[at + 1..]
                .iter()
                .any(|later| &*later.component.name == name)
        };
        let last = self
            .parts
            .iter()
            .enumerate()
            .filter(|(at, part)| is_last(*at, &part.component.name));
        let sum: f64 = last.map(|(_, part)| part.component.weight).sum();
        // Written so that NaN fails too.
        let sums_to_1 = (sum - 1.0).abs() < WEIGHT_TOLERANCE;
        let what = match (sums_to_1, rubric.low_length == rubric.high_length) {
            (false, _) => "the reference refuses weights whose sum is not 1",
            (true, true) => "the reference divides by zero where low_length equals high_length",
            (true, false) => return None,
        };
        Some(UnscoredReason::new(UnscoredKind::Exception, what))
    }
}
