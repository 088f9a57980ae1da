//! What a rubric asks and weighs in one mode: components, weights, gates, before any verdict.

use std::collections::HashSet;
use std::sync::Arc;

use crate::domain::{
    Answer, ComponentKind, Criterion, JudgeCall, JudgeTask, Mode, Role, Rubric, RubricParts, UnscoredKind,
    UnscoredReason,
};

/// The reference divides the annotated sum by this, whatever the annotated weights are.
const REFERENCE_ANN_DIVISOR: f64 = 0.6;

/// The reference's tolerance for the sum of weights.
const WEIGHT_TOLERANCE: f64 = 1e-6;

/// Where the value of a part comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Source {
    /// Counted from the answer.
    Length,
    /// The fixed criterion about expertise.
    Expertise,
    /// The claims reply: share of cited claims.
    Citations,
    /// The claims reply: share of quoted citations; asked by [`Source::Citations`].
    Excerpts,
    /// The text of this criterion.
    Criterion(usize),
    /// The snippets of this criterion.
    Snippets(usize),
    /// A criterion that no reply can tell about in this mode.
    Nothing,
}

/// One part of the score before it has a value.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Part {
    /// Name of the component it fills.
    pub(super) name: String,
    pub(super) kind: ComponentKind,
    pub(super) weight: f64,
    /// What is judged, for people.
    pub(super) text: String,
    pub(super) source: Source,
    /// Key of its verdict.
    pub(super) item: Arc<str>,
    /// The part that must earn something before this one is asked.
    pub(super) gate: Option<usize>,
}

/// Everything that is known before the first verdict.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Plan {
    /// In the order in which the reference fills them.
    pub(super) parts: Vec<Part>,
    pub(super) ann_divisor: f64,
    pub(super) notes: Vec<String>,
    /// Why nothing is asked at all.
    pub(super) refused: Option<UnscoredReason>,
}

/// A criterion as one mode sees it.
struct Halves<'a> {
    criterion: &'a Criterion,
    text: bool,
    snippets: bool,
}

impl Plan {
    pub(super) fn new(rubric: &Rubric, asked: RubricParts, mode: Mode) -> Self {
        let halves: Vec<Halves<'_>> = rubric
            .criteria
            .iter()
            .map(|criterion| Halves {
                criterion,
                text: asked.rubrics && !criterion.criterion.is_empty(),
                snippets: asked.snippets && !criterion.snippets.is_empty(),
            })
            .collect();
        let mut plan = Self { parts: static_parts(rubric), ann_divisor: 0.0, notes: Vec::new(), refused: None };
        let scale = match mode {
            Mode::Default => plan.scale(&halves),
            Mode::Compat => 1.0,
        };
        for (index, half) in halves.iter().enumerate() {
            plan.add(index, half, scale);
        }
        plan.name_items();
        let weights = collapsed_weights(&plan.parts);
        match mode {
            Mode::Default => plan.ann_divisor = annotated_weight(&plan.parts),
            Mode::Compat => {
                plan.ann_divisor = REFERENCE_ANN_DIVISOR;
                plan.refused = reference_refuses(rubric, &weights);
            }
        }
        // Equal names share one weight, the last one written (`dict.update`).
        for part in &mut plan.parts {
            if let Some((_, weight)) = weights.iter().find(|(name, _)| *name == part.name) {
                part.weight = *weight;
            }
        }
        if plan.ann_divisor <= 0.0 {
            plan.notes.push("no property has a weight: ann_score is undefined".to_owned());
        }
        plan
    }

    /// By how much to scale the weights of criteria with a part, so that all criteria keep their total.
    fn scale(&mut self, halves: &[Halves<'_>]) -> f64 {
        let total: f64 = halves.iter().map(|half| half.criterion.weight).sum();
        let is_judged = |half: &&Halves<'_>| half.text || half.snippets;
        let judged: f64 = halves.iter().filter(is_judged).map(|half| half.criterion.weight).sum();
        let left_out = halves.len() - halves.iter().filter(is_judged).count();
        if left_out == 0 {
            return 1.0;
        }
        if judged > 0.0 {
            self.notes.push(format!(
                "{left_out} of {} properties have nothing to judge in this mode; the weights of the others are scaled \
                 by {:.4} so that together they keep {total:.4}",
                halves.len(),
                total / judged
            ));
            return total / judged;
        }
        if total > 0.0 {
            let message = "no property has anything to judge in this mode; score criteria, snippets or both";
            self.notes.push(message.to_owned());
            self.refused = Some(UnscoredReason::new(UnscoredKind::NotAsked, message));
        }
        1.0
    }

    fn add(&mut self, index: usize, half: &Halves<'_>, scale: f64) {
        let Halves { criterion, text, snippets } = half;
        let evidence = format!("{}_evidence", criterion.name);
        let share = criterion.weight / if *text && *snippets { 2.0 } else { 1.0 } * scale;
        let mut gate = None;
        if *text {
            gate = Some(self.parts.len());
            self.push(&criterion.name, Source::Criterion(index), share, &criterion.criterion);
        }
        if *snippets {
            let count = criterion.snippets.len();
            let shown = if count == 1 { "1 snippet".to_owned() } else { format!("{count} snippets") };
            self.push(&evidence, Source::Snippets(index), share, &shown);
            if let Some(part) = self.parts.last_mut() {
                part.gate = gate;
            }
        } else if !text && self.refused.is_some() {
            // Nothing stands for it, but its weight must be seen to be missing.
            self.push(&criterion.name, Source::Nothing, criterion.weight, &criterion.criterion);
        }
    }

    fn push(&mut self, name: &str, source: Source, weight: f64, text: &str) {
        self.parts.push(part(name, source, weight, text));
    }

    /// Gives every asked part a key of its own. Only where names collide (an input error, but the reference goes on)
    /// does a key differ from the component's name: the last of them, whose value stays, keeps the name.
    fn name_items(&mut self) {
        let mut taken: HashSet<Arc<str>> = self.parts.iter().map(|part| Arc::clone(&part.item)).collect();
        let mut kept: HashSet<Arc<str>> = HashSet::new();
        let mut claims = None;
        for part in self.parts.iter_mut().rev().filter(|part| part.source.is_asked()) {
            if !kept.insert(Arc::clone(&part.item)) {
                let fresh =
                    (1_usize..).map(|n| Arc::from(format!("{}#{n}", part.name))).find(|item| !taken.contains(item));
                part.item = fresh.unwrap_or_else(|| Arc::clone(&part.item));
                taken.insert(Arc::clone(&part.item));
            }
            if part.source == Source::Citations {
                claims = Some(Arc::clone(&part.item));
            }
        }
        if let (Some(claims), Some(excerpts)) =
            (claims, self.parts.iter_mut().find(|part| part.source == Source::Excerpts))
        {
            excerpts.item = claims;
        }
    }

    /// The call that gives part `index` its verdict; `None` if none does.
    pub(super) fn call(&self, index: usize, rubric: &Rubric, answer: &Answer) -> Option<JudgeCall> {
        let part = self.parts.get(index)?;
        let question = Arc::clone(&rubric.question);
        let answer = Arc::clone(&answer.answer_text);
        let task = match part.source {
            Source::Expertise => JudgeTask::Expertise { question, answer },
            Source::Citations => JudgeTask::Citations { question, answer },
            Source::Criterion(i) => {
                JudgeTask::Property { question, answer, criterion: Arc::clone(&rubric.criteria.get(i)?.criterion) }
            }
            Source::Snippets(i) => {
                JudgeTask::Evidence { question, answer, snippets: Arc::clone(&rubric.criteria.get(i)?.snippets) }
            }
            Source::Length | Source::Excerpts | Source::Nothing => return None,
        };
        Some(JudgeCall { item: Arc::clone(&part.item), role: Role::Rubric, task, draw: 0, member: 0 })
    }
}

impl Source {
    fn is_asked(self) -> bool {
        matches!(self, Self::Expertise | Self::Citations | Self::Criterion(_) | Self::Snippets(_))
    }

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

fn part(name: &str, source: Source, weight: f64, text: &str) -> Part {
    // The reference tells static components by name: a property called `length` is one to it.
    let kind = ComponentKind::ALL_STATIC.into_iter().find(|kind| kind.as_str() == name).unwrap_or(source.kind());
    Part { name: name.to_owned(), kind, weight, text: text.to_owned(), source, item: Arc::from(name), gate: None }
}

fn static_parts(rubric: &Rubric) -> Vec<Part> {
    let length = format!("words, {} to {}", rubric.low_length, rubric.high_length);
    vec![
        part("length", Source::Length, rubric.length_weight, &length),
        part("expertise", Source::Expertise, rubric.expertise_weight, "expertise needed matches the asker's"),
        part("citations", Source::Citations, rubric.citations_weight, "claims with a citation"),
        part("excerpts", Source::Excerpts, rubric.excerpts_weight, "citations with an excerpt"),
    ]
}

/// Weights by name in the order the reference sums them: static ones, criteria, snippets; of equal names the first
/// place and the last weight.
fn collapsed_weights(parts: &[Part]) -> Vec<(String, f64)> {
    let is_snippets = |part: &&Part| matches!(part.source, Source::Snippets(_));
    let mut weights: Vec<(String, f64)> = Vec::with_capacity(parts.len());
    let criteria = parts.iter().filter(|part| !is_snippets(part));
    for part in criteria.chain(parts.iter().filter(is_snippets)) {
        match weights.iter_mut().find(|(name, _)| *name == part.name) {
            Some(entry) => entry.1 = part.weight,
            None => weights.push((part.name.clone(), part.weight)),
        }
    }
    weights
}

fn annotated_weight(parts: &[Part]) -> f64 {
    parts.iter().filter(|part| part.kind.is_annotated()).map(|part| part.weight).sum()
}

/// Where the reference dies before its first call.
fn reference_refuses(rubric: &Rubric, weights: &[(String, f64)]) -> Option<UnscoredReason> {
    let sum: f64 = weights.iter().map(|(_, weight)| weight).sum();
    // Written so that a NaN fails as well.
    let asserted = (sum - 1.0).abs() < WEIGHT_TOLERANCE;
    let name = match (asserted, rubric.low_length == rubric.high_length) {
        (false, _) => "AssertionError",
        (true, true) => "ZeroDivisionError",
        (true, false) => return None,
    };
    Some(UnscoredReason::new(UnscoredKind::Exception, name))
}
