//! What is asked at once: the calls of a scorer, multiplied by judges and samples.
//!
//! A judge that writes text is asked call by call. A decision model is asked many questions about one text in one request: the
//! items of all calls of one role and kind about that text are gathered here, and what such a request brings goes back to the
//! calls that its items belong to. A request that was too long is asked in halves, and an item whose answer cannot be read
//! alone, once.

use std::sync::Arc;

use super::Job;
use super::panel::Member;
use super::votes::sure_samples;
use crate::domain::{CriteriaLayout, Judgment, Mode, UnscoredKind, UnscoredReason};
use crate::judge::decider::Decider;
use crate::question::{ChunkItem, DecisionChunk, JudgeCall, Question as _};

/// The result of a request: its verdict, its first reply, and flags.
pub(super) struct SampleResult {
    pub(super) sample: Judgment,
    /// The text of the first reply; empty unless texts are merged, so that others are not held until the answer is
    /// scored. `None` without any reply.
    pub(super) raw: Option<String>,
    pub(super) flags: Vec<String>,
    /// The attempt that ended it, 0-based.
    pub(super) attempt: u32,
}

impl SampleResult {
    pub(super) fn unscored(reason: UnscoredReason) -> Self {
        Self {
            sample: Err(reason),
            raw: None,
            flags: Vec::new(),
            attempt: 0,
        }
    }
}

/// One request: one sample of a call, or of items of several calls, from one judge.
pub(super) struct SampleCall<'a> {
    pub(super) member: &'a Member,
    pub(super) call: JudgeCall,
    /// Number of gates before it that are assumed to be open.
    pub(super) gates: usize,
    /// The items that it is about: the indices of call and item.
    pub(super) places: Vec<(usize, usize)>,
    /// The index of its first attempt.
    pub(super) attempt: u32,
}

/// How an item of a call ended: the indices of call and item, and its result; `None` if it was deferred.
pub(super) type ItemEnd = (usize, usize, Option<SampleResult>);

impl<'a> SampleCall<'a> {
    /// The indices of judge and sample.
    pub(super) fn key(&self) -> (u32, u32) {
        (self.call.member, self.call.sample)
    }

    /// The ends of its items, and the requests to make for those that have none yet.
    pub(super) fn end(&self, end: Option<SampleResult>) -> (Vec<ItemEnd>, Vec<Self>) {
        let Some(end) = end else {
            let deferred = self.places.iter();
            return (
                deferred.map(|(call, item)| (*call, *item, None)).collect(),
                Vec::new(),
            );
        };
        let chunk = self.chunk();
        if let (Some(chunk), Err(reason)) = (chunk, &end.sample)
            && let Some(halves) = halves_of(chunk, reason)
        {
            return (Vec::new(), self.in_halves(halves));
        }
        let judgments = if self.places.len() == 1 && chunk.is_none() {
            vec![end.sample.clone()]
        } else {
            self.call.question.split(&end.sample)
        };
        let mut ended = Vec::new();
        let mut further = Vec::new();
        for (at, ((call_index, item), judgment)) in self.places.iter().zip(judgments).enumerate() {
            let alone = chunk.filter(|_| self.is_asked_alone(&judgment));
            if let Some(alone) = alone.and_then(|chunk| chunk.alone(at)) {
                further.push(self.about(alone, &[(*call_index, *item)], end.attempt + 1));
                continue;
            }
            let of_item = SampleResult {
                sample: judgment,
                raw: end.raw.clone().filter(|_| chunk.is_none()),
                flags: end.flags.clone(),
                attempt: end.attempt,
            };
            ended.push((*call_index, *item, Some(of_item)));
        }
        (ended, further)
    }

    /// What is asked of a decision model; `None` of a judge that writes text.
    pub(super) fn chunk(&self) -> Option<&DecisionChunk> {
        self.call.question.downcast_ref()
    }

    /// Whether other requests ask everything again that this one asks, if it ends with this sample.
    pub(super) fn is_replaced(&self, sample: &Judgment, mode: Mode) -> bool {
        let Some(chunk) = self.chunk() else {
            let question = &self.call.question;
            return mode == Mode::Default && question.unit_count() > 1 && is_unreadable(sample);
        };
        if let Err(reason) = sample
            && halves_of(chunk, reason).is_some()
        {
            return true;
        }
        let judgments = chunk.split(sample);
        judgments.iter().all(|item| self.is_asked_alone(item))
    }

    /// Whether an item of this chunk is asked alone if it ends with this sample.
    pub(super) fn asks_some_alone(&self, chunk: &DecisionChunk, sample: &Judgment) -> bool {
        let judgments = chunk.split(sample);
        judgments.iter().any(|item| self.is_asked_alone(item))
    }

    /// Whether an item of a chunk that ended so is asked alone: once, since a request of a further attempt asks one item already.
    fn is_asked_alone(&self, judgment: &Judgment) -> bool {
        self.attempt == 0 && is_unreadable(judgment)
    }

    fn in_halves(&self, [first, second]: [DecisionChunk; 2]) -> Vec<Self> {
        let (of_first, of_second) = self.places.split_at(first.items.len());
        vec![
            self.about(first, of_first, 0),
            self.about(second, of_second, 0),
        ]
    }

    /// A request to the same judge about these items only.
    fn about(&self, chunk: DecisionChunk, places: &[(usize, usize)], attempt: u32) -> Self {
        Self {
            call: call_about(chunk, &self.call),
            places: places.to_vec(),
            attempt,
            ..*self
        }
    }
}

/// The parts in which a request is asked again that was too long.
fn halves_of(chunk: &DecisionChunk, reason: &UnscoredReason) -> Option<[DecisionChunk; 2]> {
    if reason.kind == UnscoredKind::ContextOverflow {
        chunk.halves()
    } else {
        None
    }
}

fn is_unreadable(judgment: &Judgment) -> bool {
    judgment
        .as_ref()
        .is_err_and(|reason| reason.kind == UnscoredKind::Unreadable)
}

/// The call about a chunk, in the role and to the judge of another call.
fn call_about(chunk: DecisionChunk, call: &JudgeCall) -> JudgeCall {
    JudgeCall {
        item: chunk.name(),
        question: Arc::new(chunk),
        ..call.clone()
    }
}

/// The samples of these calls that every judge of its role is asked for in any case, judge by judge, so that each judge finds
/// the prefix of its prompts in its cache.
pub(super) fn units<'a>(job: &'a Job, calls: &[JudgeCall], gates: usize) -> Vec<SampleCall<'a>> {
    let mut units = Vec::new();
    for (call_index, call) in calls.iter().enumerate() {
        let panel = job.panels.get(&call.role);
        let members = panel.into_iter().flat_map(|panel| &panel.members);
        for (index, member) in (0_u32..).zip(members) {
            for sample in 0..sure_samples(call, member, job.options.mode) {
                units.push(SampleCall {
                    member,
                    call: JudgeCall {
                        sample,
                        member: index,
                        ..call.clone()
                    },
                    gates,
                    places: (0..call.items().len())
                        .map(|item| (call_index, item))
                        .collect(),
                    attempt: 0,
                });
            }
        }
    }
    // Stable, so that the calls of one judge keep the order in which the scorer asks.
    units.sort_by_key(|unit| unit.call.member);
    gathered(units)
}

/// The same requests, with those to decision models gathered: what one of them asks is of one role, kind, judge and sample, and
/// about one text.
fn gathered(units: Vec<SampleCall<'_>>) -> Vec<SampleCall<'_>> {
    let mut whole = Vec::new();
    let mut groups: Vec<AskedTogether<'_>> = Vec::new();
    for unit in units {
        let Some(decider) = &unit.member.decider else {
            whole.push(unit);
            continue;
        };
        let items = decider.items(&unit.call);
        match groups.iter_mut().find(|group| group.takes(&unit)) {
            Some(group) => group.add(&unit, items),
            None => groups.push(AskedTogether::of(unit, decider, items)),
        }
    }
    whole.extend(groups.into_iter().flat_map(AskedTogether::requests));
    // Again judge by judge.
    whole.sort_by_key(|unit| unit.call.member);
    whole
}

/// Items that may be asked together.
struct AskedTogether<'a> {
    first: SampleCall<'a>,
    decider: &'a Decider,
    items: Vec<ChunkItem>,
    places: Vec<(usize, usize)>,
}

impl<'a> AskedTogether<'a> {
    fn of(mut first: SampleCall<'a>, decider: &'a Decider, items: Vec<ChunkItem>) -> Self {
        let places = std::mem::take(&mut first.places);
        Self {
            first,
            decider,
            items,
            places,
        }
    }

    fn takes(&self, unit: &SampleCall<'_>) -> bool {
        let (ours, theirs) = (&self.first.call, &unit.call);
        self.first.key() == unit.key()
            && ours.role == theirs.role
            && ours.question.info().name == theirs.question.info().name
            && ours.question.shared_texts() == theirs.question.shared_texts()
            && ours.question.layout() != CriteriaLayout::Alone
    }

    fn add(&mut self, unit: &SampleCall<'a>, items: Vec<ChunkItem>) {
        self.items.extend(items);
        self.places.extend(&unit.places);
    }

    /// One request for as many items as its judge takes at once.
    fn requests(self) -> Vec<SampleCall<'a>> {
        let mut requests = Vec::new();
        let (mut items, mut places) = (&*self.items, &*self.places);
        while !items.is_empty() {
            let fitting = self.decider.fitting(items);
            let chunk = self.decider.chunk(&items[..fitting]);
            requests.push(self.first.about(chunk, &places[..fitting], 0));
            (items, places) = (&items[fitting..], &places[fitting..]);
        }
        requests
    }
}
