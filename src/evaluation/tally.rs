//! Counts and collects the calls of a run; identical calls count once.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Arc, Mutex};

use bytes::Bytes;

use super::Member;
use super::Plan;
use crate::domain::{Fingerprint, Role};
use crate::error::Result;
use crate::judge::batch::BatchCall;
use crate::judge::cache::CallLabel;
use crate::judge::kind::JudgeKind;
use crate::judge::{JudgeRequest, Rendered, locked};
use crate::question::Kind;
use crate::record::CallRecord;

/// A call that a run would ask now.
#[derive(Debug, Clone)]
pub struct DeferredCall {
    /// The cache key of its reply, and what it asks.
    pub call: BatchCall,
    /// The JSON body that would be sent.
    pub body: Bytes,
    /// The route it would be sent to, where known.
    pub route: Option<JudgeKind>,
    /// About how many tokens the prompt has.
    pub prompt_tokens: u64,
}

/// Receives a call that a run would make now; an error ends the planning.
pub type Collect<'a> = dyn FnMut(DeferredCall) -> Result<()> + 'a;

/// A number of calls with their tokens.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PlannedCalls {
    /// Calls; identical ones count once.
    pub calls: u64,
    /// Estimated prompt tokens of all calls.
    pub prompt_tokens: u64,
    /// Sum of the reply limits; a call without one counts its prompt's tokens.
    pub reply_limit: u64,
}

impl PlannedCalls {
    fn add(&mut self, other: Self) {
        self.calls += other.calls;
        self.prompt_tokens += other.prompt_tokens;
        self.reply_limit += other.reply_limit;
    }
}

/// The calls of a run to one judge in one role.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanGroup {
    /// Which role asks.
    pub role: Role,
    /// What is asked.
    pub kind: Kind,
    /// Identity of the judge.
    pub judge: Arc<str>,
    /// The most tokens of room for reasoning in a reply limit.
    pub room: u64,
    /// Askable now.
    pub now: PlannedCalls,
    /// With every gate open; repeats after unreadable replies are not counted.
    pub at_most: PlannedCalls,
}

impl PlanGroup {
    fn add(&mut self, gates: usize, calls: PlannedCalls) {
        self.at_most.add(calls);
        if gates == 0 {
            self.now.add(calls);
        }
    }
}

/// The calls of a plan that are not cached.
#[derive(Debug, Default)]
pub(super) struct Tally(Mutex<CallCounts>);

#[derive(Debug, Default)]
struct CallCounts {
    /// Each call with its group and the number of gates before it; 0 is askable now.
    by_key: HashMap<Fingerprint, (usize, usize, PlannedCalls)>,
    /// Calls without a key (of judges that answer the task itself); the others are added at the end.
    groups: Vec<PlanGroup>,
}

impl CallCounts {
    fn group(&mut self, role: &Role, kind: Kind, judge: &Arc<str>) -> usize {
        let is_it =
            |group: &PlanGroup| group.role == *role && group.kind == kind && group.judge == *judge;
        self.groups.iter().position(is_it).unwrap_or_else(|| {
            let (role, judge, none) = (role.clone(), Arc::clone(judge), PlannedCalls::default());
            self.groups.push(PlanGroup {
                role,
                kind,
                judge,
                room: 0,
                now: none,
                at_most: none,
            });
            self.groups.len() - 1
        })
    }
}

impl Tally {
    /// Counts a call that is not cached. One that is behind a gate here and askable elsewhere is askable.
    fn count(&self, request: &JudgeRequest, judge: &Arc<str>, gates: usize) {
        let counts = &mut *locked(&self.0);
        let group = counts.group(
            &request.call.role,
            request.call.question.info().kind(),
            judge,
        );
        let rendered = request.rendered.as_ref();
        let prompt_tokens = rendered.map_or(0, |rendered| rendered.body.prompt_tokens);
        let reply_limit = rendered.map_or(0, Rendered::longest_reply);
        let call = PlannedCalls {
            calls: 1,
            prompt_tokens,
            reply_limit,
        };
        let room = rendered.map_or(0, |rendered| rendered.room);
        counts.groups[group].room = room.max(counts.groups[group].room);
        let Some(rendered) = rendered else {
            counts.groups[group].add(gates, call);
            return;
        };
        match counts.by_key.entry(rendered.fingerprint) {
            // Counted once, since the cache answers the second of two identical calls.
            Entry::Occupied(mut known) => known.get_mut().1 = gates.min(known.get().1),
            Entry::Vacant(place) => drop(place.insert((group, gates, call))),
        }
    }

    /// The counts in the order of role, kind and judge; adds them to `plan`.
    pub(super) fn groups(&self, plan: &mut Plan) -> Vec<PlanGroup> {
        let counts = locked(&self.0);
        let mut groups = counts.groups.clone();
        for (group, gates, call) in counts.by_key.values() {
            groups[*group].add(*gates, *call);
        }
        for group in &groups {
            plan.askable_now += group.now.calls;
            plan.at_most += group.at_most.calls;
        }
        // Answers are planned on several cores, so that groups appear in any order.
        groups.sort_by_cached_key(|group| {
            (
                group.role.name().into_owned(),
                group.kind.to_string(),
                Arc::clone(&group.judge),
            )
        });
        groups
    }
}

/// The tally of one answer, with its calls.
pub(super) struct AnswerTally<'a> {
    pub(super) tally: &'a Tally,
    /// Whether calls askable now are kept with their bodies.
    pub(super) keeps: bool,
    pub(super) calls: Mutex<AnswerCalls>,
}

/// The calls of a planned answer.
#[derive(Default)]
pub(super) struct AnswerCalls {
    /// Those with a cached reply.
    pub(super) recalled: Vec<CallRecord>,
    /// Those that can be made now, if they are kept.
    pub(super) deferred: Vec<DeferredCall>,
}

impl AnswerTally<'_> {
    /// Counts a call to this member.
    pub(super) fn count(&self, request: &JudgeRequest, member: &Member, gates: usize) {
        if let Some(rendered) = request
            .rendered
            .as_ref()
            .filter(|_| self.keeps && gates == 0)
        {
            let label = CallLabel::of(request, &member.judge_id);
            locked(&self.calls).deferred.push(DeferredCall {
                call: BatchCall {
                    custom_id: rendered.fingerprint,
                    label,
                },
                // Only exporting a batch serializes the body.
                body: Bytes::clone(&rendered.body.bytes),
                route: member.renderer.as_ref().map(|renderer| renderer.route()),
                prompt_tokens: rendered.body.prompt_tokens,
            });
        }
        self.tally.count(request, &member.judge_id, gates);
    }

    /// Keeps a call with a cached reply.
    pub(super) fn recall(&self, record: CallRecord) {
        locked(&self.calls).recalled.push(record);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::Body;
    use crate::question::{Expertise, JudgeCall};

    fn request(key: Option<u8>, prompt_tokens: u64, max_tokens: Option<u64>) -> JudgeRequest {
        let task = Expertise {
            question: "q".into(),
            answer: "a".into(),
        };
        JudgeRequest {
            call: JudgeCall::new("expertise", Role::Rubric, task),
            system: "s".into(),
            case_id: "c".into(),
            attempt: 0,
            rendered: key.map(|key| Rendered {
                max_tokens,
                ..Rendered::new(Fingerprint::from([key; 32]), move || {
                    Body::new(prompt_tokens, Bytes::new)
                })
            }),
        }
    }

    #[test]
    fn identical_calls_are_one_and_askable_if_one_of_them_is() {
        let tally = Tally::default();
        let judge: Arc<str> = "j".into();
        let count = |key, tokens, gates| tally.count(&request(key, tokens, None), &judge, gates);
        count(Some(1), 10, 0);
        count(Some(1), 10, 0);
        count(Some(2), 7, 1);
        count(Some(2), 7, 0);
        count(Some(3), 5, 1);
        count(None, 0, 1);
        let mut plan = Plan::default();
        tally.groups(&mut plan);
        // now: keys 1 and 2; at most: also key 3 and the call without a key
        assert_eq!((plan.askable_now, plan.at_most), (2, 4));
    }

    #[test]
    fn calls_behind_gates_count_at_most() {
        let tally = Tally::default();
        let judge: Arc<str> = "j".into();
        tally.count(&request(Some(1), 100, Some(10)), &judge, 0);
        tally.count(&request(Some(2), 40, Some(10)), &judge, 1);
        tally.count(&request(Some(3), 40, None), &judge, 2);
        let group = tally.groups(&mut Plan::default()).remove(0);
        let calls = |prompt_tokens, reply_limit| PlannedCalls {
            calls: 1,
            prompt_tokens,
            reply_limit,
        };
        // without a limit a reply counts as long as its prompt
        assert_eq!(
            (group.now, group.at_most),
            (
                calls(100, 10),
                PlannedCalls {
                    calls: 3,
                    ..calls(180, 60)
                }
            )
        );
    }
}
