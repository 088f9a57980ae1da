//! What a rubric asks and weighs in one mode: components, weights, gates, before any verdict.

use std::borrow::Cow;
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
pub(super) struct Part<'a> {
    /// Name of the component it fills.
    pub(super) name: Cow<'a, str>,
    pub(super) kind: ComponentKind,
    pub(super) weight: f64,
    /// What is judged, for people.
    pub(super) text: Cow<'a, str>,
    pub(super) source: Source,
    /// Key of its verdict, where that is not the name.
    key: Option<String>,
    /// The part that must earn something before this one is asked.
    pub(super) gate: Option<usize>,
}

/// Everything that is known before the first verdict. It is made anew for every step of every answer, and so borrows what
/// it can.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Plan<'a> {
    /// In the order in which the reference fills them.
    pub(super) parts: Vec<Part<'a>>,
    /// True if parts have equal names (an input error, but the reference goes on).
    pub(super) has_twins: bool,
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

impl<'a> Plan<'a> {
    pub(super) fn new(rubric: &'a Rubric, asked: RubricParts, mode: Mode) -> Self {
        let halves: Vec<Halves<'a>> = rubric
            .criteria
            .iter()
            .map(|criterion| Halves {
                criterion,
                text: asked.rubrics && !criterion.criterion.is_empty(),
                snippets: asked.snippets && !criterion.snippets.is_empty(),
            })
            .collect();
        let parts = static_parts(rubric, 2 * halves.len());
        let mut plan = Self { parts, has_twins: false, ann_divisor: 0.0, notes: Vec::new(), refused: None };
        let scale = match mode {
            Mode::Default => plan.scale(&halves),
            Mode::Compat => 1.0,
        };
        for (index, half) in halves.iter().enumerate() {
            plan.add(index, half, scale);
        }
        plan.has_twins = has_twins(&plan.parts);
        plan.name_items();
        let weights = collapsed_weights(&plan.parts, plan.has_twins);
        match mode {
            Mode::Default => plan.ann_divisor = annotated_weight(&plan.parts),
            Mode::Compat => {
                plan.ann_divisor = REFERENCE_ANN_DIVISOR;
                plan.refused = reference_refuses(rubric, &weights);
            }
        }
        if plan.has_twins {
            // Equal names share one weight, the last one written (`dict.update`).
            let shared: Vec<f64> = plan.parts.iter().map(|part| weight_of(&plan.parts, &weights, part)).collect();
            plan.parts.iter_mut().zip(shared).for_each(|(part, weight)| part.weight = weight);
        }
        if plan.ann_divisor <= 0.0 {
            plan.notes.push("no property has a weight: ann_score is undefined".to_owned());
        }
        plan
    }

    /// By how much to scale the weights of criteria with a part, so that all criteria keep their total.
    fn scale(&mut self, halves: &[Halves<'a>]) -> f64 {
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

    fn add(&mut self, index: usize, half: &Halves<'a>, scale: f64) {
        let Halves { criterion, text, snippets } = *half;
        let share = criterion.weight / if text && snippets { 2.0 } else { 1.0 } * scale;
        let mut gate = None;
        if text {
            gate = Some(self.parts.len());
            self.push(&criterion.name, Source::Criterion(index), share, &*criterion.criterion);
        }
        if snippets {
            let evidence = format!("{}_evidence", criterion.name);
            let count = criterion.snippets.len();
            let shown = if count == 1 { "1 snippet".to_owned() } else { format!("{count} snippets") };
            self.push(evidence, Source::Snippets(index), share, shown);
            if let Some(part) = self.parts.last_mut() {
                part.gate = gate;
            }
        } else if !text && self.refused.is_some() {
            // Nothing stands for it, but its weight must be seen to be missing.
            self.push(&criterion.name, Source::Nothing, criterion.weight, &*criterion.criterion);
        }
    }

    fn push(&mut self, name: impl Into<Cow<'a, str>>, source: Source, weight: f64, text: impl Into<Cow<'a, str>>) {
        self.parts.push(part(name.into(), source, weight, text.into()));
    }

    /// Gives every asked part a key of its own. Only where names collide (an input error, but the reference goes on)
    /// does a key differ from the component's name: the last of them, whose value stays, keeps the name.
    fn name_items(&mut self) {
        if self.has_twins {
            self.tell_twins_apart();
        }
        let claims = self.parts.iter().find(|part| part.source == Source::Citations).map(|part| part.item().to_owned());
        if let Some(excerpts) = self.parts.iter_mut().find(|part| part.source == Source::Excerpts) {
            excerpts.key = claims;
        }
    }

    fn tell_twins_apart(&mut self) {
        let mut taken: HashSet<String> = self.parts.iter().map(|part| part.item().to_owned()).collect();
        let mut kept: HashSet<String> = HashSet::new();
        for part in self.parts.iter_mut().rev().filter(|part| part.source.is_asked()) {
            if !kept.insert(part.item().to_owned()) {
                let fresh = (1_usize..).map(|n| format!("{}#{n}", part.name)).find(|item| !taken.contains(item));
                taken.extend(fresh.clone());
                part.key = fresh;
            }
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
        Some(JudgeCall { item: Arc::from(part.item()), role: Role::Rubric, task, draw: 0, member: 0 })
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

impl Part<'_> {
    /// Key of its verdict.
    pub(super) fn item(&self) -> &str {
        self.key.as_deref().unwrap_or(&self.name)
    }
}

fn part<'a>(name: Cow<'a, str>, source: Source, weight: f64, text: Cow<'a, str>) -> Part<'a> {
    // The reference tells static components by name: a property called `length` is one to it.
    let kind = ComponentKind::ALL_STATIC.into_iter().find(|kind| kind.as_str() == name).unwrap_or(source.kind());
    Part { name, kind, weight, text, source, key: None, gate: None }
}

/// The parts that every rubric has; `more` are to come.
fn static_parts(rubric: &Rubric, more: usize) -> Vec<Part<'_>> {
    let length = format!("words, {} to {}", rubric.low_length, rubric.high_length);
    let mut parts = Vec::with_capacity(4 + more);
    parts.extend([
        part("length".into(), Source::Length, rubric.length_weight, length.into()),
        part(
            "expertise".into(),
            Source::Expertise,
            rubric.expertise_weight,
            "expertise needed matches the asker's".into(),
        ),
        part("citations".into(), Source::Citations, rubric.citations_weight, "claims with a citation".into()),
        part("excerpts".into(), Source::Excerpts, rubric.excerpts_weight, "citations with an excerpt".into()),
    ]);
    parts
}

fn has_twins(parts: &[Part<'_>]) -> bool {
    parts.iter().enumerate().any(|(at, part)| parts[..at].iter().any(|earlier| earlier.name == part.name))
}

/// Weights in the order the reference sums them: static parts, criteria, snippets; of equal names the first place and the
/// last weight. Each beside the index of a part of that name.
fn collapsed_weights(parts: &[Part<'_>], has_twins: bool) -> Vec<(usize, f64)> {
    let is_snippets = |part: &Part<'_>| matches!(part.source, Source::Snippets(_));
    let mut weights: Vec<(usize, f64)> = Vec::with_capacity(parts.len());
    let of = |snippets: bool| parts.iter().enumerate().filter(move |(_, part)| is_snippets(part) == snippets);
    for (index, part) in of(false).chain(of(true)) {
        let earlier = weights.iter_mut().find(|(first, _)| has_twins && parts[*first].name == part.name);
        match earlier {
            Some(entry) => entry.1 = part.weight,
            None => weights.push((index, part.weight)),
        }
    }
    weights
}

fn weight_of(parts: &[Part<'_>], weights: &[(usize, f64)], part: &Part<'_>) -> f64 {
    weights.iter().find(|(index, _)| parts[*index].name == part.name).map_or(part.weight, |(_, weight)| *weight)
}

fn annotated_weight(parts: &[Part<'_>]) -> f64 {
    parts.iter().filter(|part| part.kind.is_annotated()).map(|part| part.weight).sum()
}

/// Where the reference dies before its first call.
fn reference_refuses(rubric: &Rubric, weights: &[(usize, f64)]) -> Option<UnscoredReason> {
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
