//! Counts what a run would ask, and collects it; identical calls are one.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;

use super::Member;
use super::event::Plan;
use super::sample::{Sample, SampledCall};
use crate::domain::{CallKind, Fingerprint, Role};
use crate::error::Result;
use crate::judge::JudgeRequest;
use crate::judge::kind::JudgeKind;

/// A call that a run would ask now.
#[derive(Debug, Clone)]
pub struct DeferredCall {
    /// The cache key of its reply.
    pub fingerprint: Fingerprint,
    /// The JSON body that would be sent.
    pub body: Bytes,
    /// The route it would be sent to, where known.
    pub route: Option<JudgeKind>,
    /// What is asked.
    pub kind: CallKind,
    /// Which role asks it.
    pub role: Role,
    /// Identity of the judge.
    pub judge: Arc<str>,
    /// Index of the draw.
    pub draw: u32,
    /// 0, or the n-th time of asking again.
    pub attempt: u32,
    /// About how many tokens the prompt has.
    pub prompt_tokens: u64,
}

/// Who takes the calls that a run would ask now.
pub trait Collector {
    /// Takes one call; no fingerprint comes twice.
    ///
    /// # Errors
    /// An error ends the planning.
    fn take(&mut self, call: DeferredCall) -> Result<()>;
}

/// So many calls, and what they cost.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PlannedCalls {
    /// Calls; identical ones are one.
    pub calls: u64,
    /// About how many prompt tokens they have together.
    pub prompt_tokens: u64,
    /// Of these, tokens of a prefix that the call before it, of the same answer and judge, has in common with it.
    pub shared_tokens: u64,
    /// Their reply limits together; a call without one is taken to reply with as many tokens as its prompt has.
    pub reply_limit: u64,
}

impl PlannedCalls {
    fn add(&mut self, ahead: &Ahead, times: u64) {
        self.calls += times;
        self.prompt_tokens += times * u64::from(ahead.prompt_tokens);
        self.shared_tokens += times * u64::from(ahead.shared_tokens);
        self.reply_limit += times * u64::from(ahead.reply_limit);
    }

    /// Both together.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            calls: self.calls + other.calls,
            prompt_tokens: self.prompt_tokens + other.prompt_tokens,
            shared_tokens: self.shared_tokens + other.shared_tokens,
            reply_limit: self.reply_limit + other.reply_limit,
        }
    }
}

/// What a run would ask of one judge in one role.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanGroup {
    /// Which role asks.
    pub role: Role,
    /// What is asked.
    pub kind: CallKind,
    /// Identity of the judge.
    pub judge: Arc<str>,
    /// Askable now.
    pub now: PlannedCalls,
    /// Behind one gate that a deferred reply must open, behind two, ..
    pub gated: Vec<PlannedCalls>,
    /// What asking again would add if every reply, of those at most, were unreadable for as long as it is asked for.
    pub repeats: PlannedCalls,
    /// Some of the calls, drawn at random, where a sample was wanted.
    pub sample: Vec<SampledCall>,
}

impl PlanGroup {
    /// With every gate open; replies that are asked for again are in [`PlanGroup::repeats`].
    pub fn at_most(&self) -> PlannedCalls {
        self.gated.iter().fold(self.now, |sum, gated| sum.plus(*gated))
    }

    /// If each gate opens with this probability, 0..=1: `now + sum over n of rate^n * calls behind n gates`, taken of every
    /// number.
    pub fn expected(&self, gate_rate: f64) -> [f64; 4] {
        let numbers =
            |of: PlannedCalls| [of.calls, of.prompt_tokens, of.shared_tokens, of.reply_limit].map(|n| n as f64);
        let mut sum = numbers(self.now);
        let mut rate = 1.0;
        for gated in &self.gated {
            rate *= gate_rate;
            sum.iter_mut().zip(numbers(*gated)).for_each(|(sum, number)| *sum += rate * number);
        }
        sum
    }
}

/// The calls of a plan that are not paid.
#[derive(Debug, Default)]
pub(super) struct Tally {
    counts: Mutex<Counts>,
    /// So many calls of each group are kept with their bodies.
    sampled: usize,
}

/// How far a call is from being asked, and how often it may be.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Distance {
    /// Behind so many gates; 0 is askable now.
    pub(super) gates: usize,
    /// So often its reply can be asked for again.
    pub(super) repeats: u32,
}

type GroupKey = (Role, CallKind, Arc<str>);

#[derive(Debug, Default)]
struct Counts {
    by_key: HashMap<Half, Ahead>,
    groups: Vec<GroupKey>,
    samples: Vec<Sample>,
    group_index: BTreeMap<(String, &'static str, Arc<str>), usize>,
    /// Calls without a key (judges that answer the task itself).
    keyless: Vec<Ahead>,
}

/// The first half of a cache key, by which calls are told apart: 128 bits are enough to count by, and a million whole keys
/// would take 16 MB more, twice that while their table grows.
type Half = [u8; 16];

fn half(key: &Fingerprint) -> Half {
    let mut half = Half::default();
    half.iter_mut().zip(key.as_bytes()).for_each(|(half, byte)| *half = *byte);
    half
}

/// A plan of a million calls holds a million of these: 20 bytes each, and no call has 2^32 tokens.
#[derive(Debug, Clone, Copy)]
struct Ahead {
    /// Behind so many gates; 0 is askable now.
    gates: u16,
    /// How often it may be asked again.
    repeats: u16,
    group: u16,
    prompt_tokens: u32,
    shared_tokens: u32,
    reply_limit: u32,
}

fn in_32_bits(tokens: u64) -> u32 {
    u32::try_from(tokens).unwrap_or(u32::MAX)
}

fn in_16_bits(count: usize) -> u16 {
    u16::try_from(count).unwrap_or(u16::MAX)
}

impl Counts {
    fn group(&mut self, (role, kind, judge): GroupKey) -> usize {
        let next = self.groups.len();
        let key = (role.name().into_owned(), kind.as_str(), Arc::clone(&judge));
        let at = *self.group_index.entry(key).or_insert(next);
        if at == next {
            self.groups.push((role, kind, judge));
            self.samples.push(Sample::default());
        }
        at
    }

    fn all(&self) -> impl Iterator<Item = &Ahead> {
        self.by_key.values().chain(&self.keyless)
    }
}

impl Tally {
    /// A tally that keeps so many calls of each group with their bodies.
    pub(super) fn sampling(sampled: usize) -> Self {
        Self { sampled, ..Self::default() }
    }

    fn counts(&self) -> std::sync::MutexGuard<'_, Counts> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts a call that is not paid. One that is behind a gate here and askable elsewhere is askable.
    fn count(&self, request: &JudgeRequest, judge: &Arc<str>, distance: Distance, shared_tokens: u64) {
        let mut counts = self.counts();
        let group = counts.group((request.call.role.clone(), request.call.task.kind(), Arc::clone(judge)));
        let (gates, repeats) = (in_16_bits(distance.gates), u16::try_from(distance.repeats).unwrap_or(u16::MAX));
        let (of, shared_tokens) = (in_16_bits(group), in_32_bits(shared_tokens));
        let mut ahead = Ahead { gates, repeats, group: of, prompt_tokens: 0, shared_tokens, reply_limit: 0 };
        let Some(rendered) = &request.rendered else {
            counts.keyless.push(ahead);
            return;
        };
        ahead.prompt_tokens = in_32_bits(rendered.prompt_tokens);
        ahead.reply_limit = in_32_bits(rendered.max_tokens.unwrap_or(rendered.prompt_tokens));
        if let Some(known) = counts.by_key.get_mut(&half(&rendered.fingerprint)) {
            known.gates = known.gates.min(gates);
            return;
        }
        counts.by_key.insert(half(&rendered.fingerprint), ahead);
        if let Some(sample) = counts.samples.get_mut(group) {
            sample.offer(rendered, self.sampled);
        }
    }

    /// Adds what was counted to `plan`.
    pub(super) fn add_to(&self, plan: &mut Plan) {
        for ahead in self.counts().all() {
            plan.at_most += 1;
            plan.prompt_tokens_at_most += u64::from(ahead.prompt_tokens);
            if ahead.gates == 0 {
                plan.askable_now += 1;
                plan.prompt_tokens_now += u64::from(ahead.prompt_tokens);
            }
        }
    }

    /// What was counted by role, kind and judge.
    pub(super) fn groups(&self) -> Vec<PlanGroup> {
        let counts = self.counts();
        let empty = |(role, kind, judge): &GroupKey| PlanGroup {
            role: role.clone(),
            kind: *kind,
            judge: Arc::clone(judge),
            now: PlannedCalls::default(),
            gated: Vec::new(),
            repeats: PlannedCalls::default(),
            sample: Vec::new(),
        };
        let mut groups: Vec<PlanGroup> = counts.groups.iter().map(empty).collect();
        let gates = |of: &Fingerprint| counts.by_key.get(&half(of)).map_or(0, |ahead| usize::from(ahead.gates));
        for (group, sample) in groups.iter_mut().zip(&counts.samples) {
            group.sample = sample.calls(gates);
        }
        for ahead in counts.all() {
            let Some(group) = groups.get_mut(usize::from(ahead.group)) else { continue };
            group.repeats.add(ahead, ahead.repeats.into());
            let Some(behind) = usize::from(ahead.gates).checked_sub(1) else {
                group.now.add(ahead, 1);
                continue;
            };
            if group.gated.len() <= behind {
                group.gated.resize(behind + 1, PlannedCalls::default());
            }
            group.gated[behind].add(ahead, 1);
        }
        counts.group_index.values().filter_map(|at| groups.get(*at).cloned()).collect()
    }
}

/// The same for one answer, with what is collected of it.
pub(super) struct AnswerTally<'a> {
    tally: &'a Tally,
    keeps: bool,
    own: Mutex<Own>,
}

#[derive(Default)]
struct Own {
    collected: Vec<DeferredCall>,
    /// The body that each judge would read last.
    last: HashMap<Arc<str>, Bytes>,
}

impl<'a> AnswerTally<'a> {
    /// `keeps`: calls askable now are kept with their bodies.
    pub(super) fn new(tally: &'a Tally, keeps: bool) -> Self {
        Self { tally, keeps, own: Mutex::default() }
    }

    /// Counts a call to this member.
    pub(super) fn count(&self, request: &JudgeRequest, member: &Member, distance: Distance) {
        let mut own = self.own.lock().unwrap_or_else(PoisonError::into_inner);
        let mut shared = 0;
        if let Some(rendered) = &request.rendered {
            let before = own.last.insert(Arc::clone(&member.judge_id), rendered.body.clone());
            let same = before.map_or(0, |before| common_prefix(&before, &rendered.body));
            // The share of the bytes stands for the share of the tokens.
            shared = rendered.prompt_tokens * same as u64 / (rendered.body.len() as u64).max(1);
            if self.keeps && distance.gates == 0 {
                own.collected.push(DeferredCall {
                    fingerprint: rendered.fingerprint,
                    body: rendered.body.clone(),
                    route: member.renderer.route(),
                    kind: request.call.task.kind(),
                    role: request.call.role.clone(),
                    judge: Arc::clone(&member.judge_id),
                    draw: request.call.draw,
                    attempt: request.attempt,
                    prompt_tokens: rendered.prompt_tokens,
                });
            }
        }
        self.tally.count(request, &member.judge_id, distance, shared);
    }

    /// What was kept.
    pub(super) fn into_collected(self) -> Vec<DeferredCall> {
        self.own.into_inner().unwrap_or_else(PoisonError::into_inner).collected
    }
}

/// How many bytes two texts begin with in common: block by block first, since those of one answer share some 12 kB.
fn common_prefix(a: &[u8], b: &[u8]) -> usize {
    const BLOCK: usize = 256;
    let blocks = a.chunks_exact(BLOCK).zip(b.chunks_exact(BLOCK)).take_while(|(a, b)| a == b).count() * BLOCK;
    blocks + a[blocks..].iter().zip(&b[blocks..]).take_while(|(a, b)| a == b).count()
}

/// Hands the calls of answers on in the order in which the answers were begun, each fingerprint once.
pub(super) struct InOrder<'a> {
    collector: &'a mut dyn Collector,
    begun: usize,
    handed: usize,
    waiting: BTreeMap<usize, Vec<DeferredCall>>,
    known: HashSet<Fingerprint>,
}

impl<'a> InOrder<'a> {
    pub(super) fn new(collector: &'a mut dyn Collector) -> Self {
        Self { collector, begun: 0, handed: 0, waiting: BTreeMap::new(), known: HashSet::new() }
    }

    /// The place of the next answer.
    pub(super) fn next_place(&mut self) -> usize {
        self.begun += 1;
        self.begun - 1
    }

    /// Takes the calls of the answer at that place.
    pub(super) fn take(&mut self, place: usize, calls: Vec<DeferredCall>) -> Result<()> {
        self.waiting.insert(place, calls);
        while let Some(calls) = self.waiting.remove(&self.handed) {
            self.handed += 1;
            for call in calls {
                if self.known.insert(call.fingerprint) {
                    self.collector.take(call)?;
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{JudgeCall, JudgeTask};
    use crate::judge::Rendered;

    fn request(key: Option<u8>, prompt_tokens: u64, max_tokens: Option<u64>) -> JudgeRequest {
        let task = JudgeTask::Expertise { question: "q".into(), answer: "a".into() };
        JudgeRequest {
            call: JudgeCall { item: "expertise".into(), role: Role::Rubric, task, draw: 0, member: 0 },
            system: "s".into(),
            case_id: "c".into(),
            attempt: 0,
            rendered: key.map(|key| Rendered {
                body: Bytes::new(),
                fingerprint: Fingerprint::from([key; 32]),
                prompt_tokens,
                max_tokens,
                note: None,
                is_unpaid: false,
            }),
        }
    }

    fn behind(gates: usize) -> Distance {
        Distance { gates, repeats: 0 }
    }

    #[test]
    fn identical_calls_are_one_and_askable_if_one_of_them_is() {
        let tally = Tally::default();
        let judge: Arc<str> = "j".into();
        let count = |key, tokens, gates| tally.count(&request(key, tokens, None), &judge, behind(gates), 0);
        count(Some(1), 10, 0);
        count(Some(1), 10, 0);
        count(Some(2), 7, 1);
        count(Some(2), 7, 0);
        count(Some(3), 5, 1);
        count(None, 0, 1);
        let mut plan = Plan::default();
        tally.add_to(&mut plan);
        // now: keys 1 and 2; at most: key 3 and the call without a key besides
        assert_eq!((plan.askable_now, plan.at_most), (2, 4));
        assert_eq!((plan.prompt_tokens_now, plan.prompt_tokens_at_most), (17, 22));
    }

    #[test]
    fn what_is_expected_lies_between_now_and_at_most_by_the_rate_of_the_gates() {
        let tally = Tally::default();
        let judge: Arc<str> = "j".into();
        tally.count(&request(Some(1), 100, Some(10)), &judge, behind(0), 0);
        tally.count(&request(Some(2), 40, Some(10)), &judge, behind(1), 20);
        tally.count(&request(Some(3), 40, None), &judge, behind(2), 0);
        let group = tally.groups().remove(0);
        // calls 1 + 0.5 + 0.25; prompt 100 + 20 + 10; shared 0.5 * 20; replies 10 + 0.5 * 10 + 0.25 * 40 (no limit)
        assert_eq!(group.expected(0.5), [1.75, 130.0, 10.0, 25.0]);
        let at_most = PlannedCalls { calls: 3, prompt_tokens: 180, shared_tokens: 20, reply_limit: 60 };
        assert_eq!(group.at_most(), at_most);
    }

    #[test]
    fn replies_that_are_asked_for_again_are_counted_apart() {
        let tally = Tally::default();
        let judge: Arc<str> = "j".into();
        tally.count(&request(Some(1), 100, Some(10)), &judge, Distance { gates: 0, repeats: 2 }, 20);
        tally.count(&request(Some(2), 40, Some(10)), &judge, Distance { gates: 1, repeats: 1 }, 0);
        let group = tally.groups().remove(0);
        // 2 * (1 call, 100, 20, 10) + 1 * (1 call, 40, 0, 10)
        let repeats = PlannedCalls { calls: 3, prompt_tokens: 240, shared_tokens: 40, reply_limit: 30 };
        assert_eq!((group.repeats, group.at_most().calls), (repeats, 2));
    }

    #[test]
    fn calls_are_handed_on_in_the_order_of_answers_and_once() {
        struct Kept(Vec<u8>);
        impl Collector for Kept {
            fn take(&mut self, call: DeferredCall) -> Result<()> {
                self.0.push(call.fingerprint.as_bytes()[0]);
                Ok(())
            }
        }
        let call = |key: u8| DeferredCall {
            fingerprint: Fingerprint::from([key; 32]),
            body: Bytes::new(),
            route: None,
            kind: CallKind::Property,
            role: Role::Rubric,
            judge: "j".into(),
            draw: 0,
            attempt: 0,
            prompt_tokens: 1,
        };
        let mut kept = Kept(Vec::new());
        let mut order = InOrder::new(&mut kept);
        let places = [order.next_place(), order.next_place()];
        order.take(places[1], vec![call(2), call(3)]).unwrap();
        order.take(places[0], vec![call(1), call(2)]).unwrap();
        assert_eq!(kept.0, [1, 2, 3]);
    }

    #[test]
    fn a_common_prefix_ends_at_the_first_difference() {
        assert_eq!(common_prefix(b"abcd", b"abxd"), 2);
        assert_eq!(common_prefix(b"", b"abxd"), 0);
        let long = [b'x'; 1000];
        for end in [0, 255, 256, 257, 512, 999] {
            let mut other = long;
            other[end] = b'y';
            assert_eq!(common_prefix(&long, &other), end);
        }
        assert_eq!((common_prefix(&long, &long), common_prefix(&long, &long[..300])), (1000, 300));
    }
}
