//! Components, weights and gates of a rubric in one mode, before any verdict.

use scholareval_core::domain::{
    Component, ComponentKind, Criterion, Mode, Rubric, RubricParts, UnscoredKind, UnscoredReason,
};

/// The reference's divisor for the annotated sum, whatever the annotated weights are.
const REFERENCE_ANN_DIVISOR: f64 = 0.6;

/// The reference's tolerance for the sum of weights.
const WEIGHT_TOLERANCE: f64 = 1e-6;

/// Where the value of a component comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ComponentSource {
    /// Counted from the answer.
    Length,
    /// The fixed criterion on expertise.
    Expertise,
    /// The claims reply: share of cited claims.
    Citations,
    /// The claims reply: share of quoted citations; asked by [`ComponentSource::Citations`].
    Excerpts,
    /// The text of this criterion.
    Criterion(usize),
    /// The snippets of this criterion.
    Snippets(usize),
    /// A criterion that cannot be judged in this mode.
    Nothing,
}

impl ComponentSource {
    fn kind(self) -> ComponentKind {
        match self {
            Self::Length => ComponentKind::Length,
            Self::Expertise => ComponentKind::Expertise,
            Self::Citations => ComponentKind::Citations,
            Self::Excerpts => ComponentKind::Excerpts,
            Self::Criterion(_) | Self::Nothing => ComponentKind::Property,
            Self::Snippets(_) => ComponentKind::Evidence,
        }
    }
}

/// One component of the score, before it has a value.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct PlannedComponent {
    /// Its name, kind, text and weight.
    pub(super) component: Component,
    pub(super) source: ComponentSource,
    /// Key of its verdict: the component's name, unless names collide (compat only).
    pub(super) item: String,
}

/// Everything known before the first verdict.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct RubricPlan {
    /// In the order of the reference.
    pub(super) components: Vec<PlannedComponent>,
    pub(super) ann_divisor: f64,
    pub(super) notes: Vec<String>,
    /// Why no call is made.
    pub(super) refused: Option<UnscoredReason>,
}

impl RubricPlan {
    pub(super) fn new(rubric: &Rubric, parts: RubricParts, mode: Mode) -> Self {
        let mut plan = Self {
            components: Vec::new(),
            ann_divisor: 0.0,
            notes: Vec::new(),
            refused: None,
        };
        plan.push_static(rubric);
        let scale = match mode {
            Mode::Default => plan.scale(&rubric.criteria, parts),
            // The reference does not scale; it refuses what does not sum to 1.
            Mode::Compat => 1.0,
        };
        for (index, criterion) in rubric.criteria.iter().enumerate() {
            plan.push_criterion(index, criterion, parts, scale);
        }
        match mode {
            Mode::Default => plan.ann_divisor = plan.annotated_weight(),
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
        match (
            self.components[before].source,
            self.components[index].source,
        ) {
            (ComponentSource::Criterion(text), ComponentSource::Snippets(snippets))
                if text == snippets =>
            {
                Some(before)
            }
            _ => None,
        }
    }

    /// The item of the snippets that are asked only if this component is above 0.
    pub(super) fn behind(&self, index: usize) -> Option<&str> {
        let next = self.components.get(index + 1)?;
        self.gate(index + 1).map(|_| next.item.as_str())
    }

    /// The components of every rubric.
    fn push_static(&mut self, rubric: &Rubric) {
        let length = format!("words, {} to {}", rubric.low_length, rubric.high_length);
        self.push(
            "length",
            ComponentSource::Length,
            rubric.length_weight,
            &length,
        );
        self.push(
            "expertise",
            ComponentSource::Expertise,
            rubric.expertise_weight,
            "expertise needed matches the asker's",
        );
        self.push(
            "citations",
            ComponentSource::Citations,
            rubric.citations_weight,
            "claims with a citation",
        );
        self.push(
            "excerpts",
            ComponentSource::Excerpts,
            rubric.excerpts_weight,
            "citations with an excerpt",
        );
    }

    /// The components of a criterion: its text and its snippets, each with half of the weight if both are judged.
    fn push_criterion(
        &mut self,
        index: usize,
        criterion: &Criterion,
        parts: RubricParts,
        scale: f64,
    ) {
        let text = has_text(criterion, parts);
        let snippets = has_snippets(criterion, parts);
        let halves = if text && snippets { 2.0 } else { 1.0 };
        let weight = criterion.weight / halves * scale;
        if text {
            self.push(
                &criterion.name,
                ComponentSource::Criterion(index),
                weight,
                &criterion.criterion,
            );
        }
        if snippets {
            let count = match criterion.snippets.len() {
                1 => "1 snippet".to_owned(),
                count => format!("{count} snippets"),
            };
            self.push(
                &format!("{}_evidence", criterion.name),
                ComponentSource::Snippets(index),
                weight,
                &count,
            );
        }
        if !text && !snippets && self.refused.is_some() {
            // It is not asked, but its missing weight must count.
            self.push(
                &criterion.name,
                ComponentSource::Nothing,
                criterion.weight,
                &criterion.criterion,
            );
        }
    }

    fn push(&mut self, name: &str, source: ComponentSource, weight: f64, text: &str) {
        // The reference recognizes static components by name, so a property called `length` counts as one.
        let kind = ComponentKind::ALL_STATIC
            .into_iter()
            .find(|kind| kind.name() == name)
            .unwrap_or(source.kind());
        let component = Component::new(name, kind)
            .with_text(text)
            .with_weight(weight);
        let item = if source == ComponentSource::Excerpts {
            "citations".to_owned()
        } else if has_component(&self.components, name) {
            format!("{name}#{}", self.components.len())
        } else {
            name.to_owned()
        };
        self.components.push(PlannedComponent {
            component,
            source,
            item,
        });
    }

    /// Factor for the weights of judged criteria, so that all criteria keep their total weight.
    fn scale(&mut self, criteria: &[Criterion], parts: RubricParts) -> f64 {
        let total: f64 = criteria.iter().map(|criterion| criterion.weight).sum();
        let judged: Vec<&Criterion> = criteria
            .iter()
            .filter(|criterion| has_text(criterion, parts) || has_snippets(criterion, parts))
            .collect();
        let judged_weight: f64 = judged.iter().map(|criterion| criterion.weight).sum();
        let left_out = criteria.len() - judged.len();
        if left_out > 0 && judged_weight > 0.0 {
            self.notes.push(format!(
                "{left_out} of {} properties have nothing to judge in this mode; the weights of the others are scaled \
                 by {:.4} so that together they keep {total:.4}",
                criteria.len(),
                total / judged_weight
            ));
            return total / judged_weight;
        }
        if left_out > 0 && total > 0.0 {
            let message =
                "no property has anything to judge in this mode; score criteria, snippets or both";
            self.notes.push(message.to_owned());
            self.refused = Some(UnscoredReason::new(UnscoredKind::NotAsked, message));
        }
        1.0
    }

    /// The total weight of the annotator's components.
    fn annotated_weight(&self) -> f64 {
        let components = self.components.iter().map(|planned| &planned.component);
        components
            .filter(|component| component.kind.is_annotated())
            .map(|component| component.weight)
            .sum()
    }

    /// Whether the reference fails before its first call: if the weights (of equal names the last) do not sum to 1, or
    /// the length bounds are equal.
    fn refused_by_reference(&self, rubric: &Rubric) -> Option<UnscoredReason> {
        let all = self.components.iter().enumerate();
        let last_of_name = all.filter(|(at, planned)| {
            !has_component(&self.components[at + 1..], &planned.component.name)
        });
        let sum: f64 = last_of_name
            .map(|(_, planned)| planned.component.weight)
            .sum();
        // Written so that NaN fails too.
        let sums_to_1 = (sum - 1.0).abs() < WEIGHT_TOLERANCE;
        let what = if !sums_to_1 {
            "the reference refuses weights whose sum is not 1"
        } else if rubric.low_length == rubric.high_length {
            "the reference divides by zero where low_length equals high_length"
        } else {
            return None;
        };
        Some(UnscoredReason::new(UnscoredKind::Exception, what))
    }
}

fn has_component(components: &[PlannedComponent], name: &str) -> bool {
    components
        .iter()
        .any(|planned| planned.component.name == name)
}

/// Whether the text of a criterion is judged.
fn has_text(criterion: &Criterion, parts: RubricParts) -> bool {
    parts.rubrics && !criterion.criterion.is_empty()
}

/// Whether the snippets of a criterion are judged.
fn has_snippets(criterion: &Criterion, parts: RubricParts) -> bool {
    parts.snippets && !criterion.snippets.is_empty()
}
