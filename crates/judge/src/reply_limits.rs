//! Reply limits: the tokens that a call is asked with, and those that the same call was asked with before.
//!
//! A limit is that of the kind of question, by the user or by the prompts, times the units of the call (the criteria of a list),
//! and the room for reasoning that the judge has shown to need ([`ReasoningRoom`]). Lists that restate the answer have a limit
//! of ours where neither the user nor the reference decides.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::body::RequestOptions;
use super::capacity::Capacity;
use super::forms::Effort;
use super::kind::JudgeKind;
use super::parameter::Parameter;
use super::protocol::{Protocol, WhenRefused};
use super::refusals::Refusals;
use super::room::{MOST_TOKENS, RUNGS, ReasoningRoom};
use crate::prompt::{Prompt, PromptSet};
use scholareval_core::question::{Kind, KindInfo, Question};
use scholareval_core::text::model_tokens::estimate_tokens;

/// What bounds reply limits with their room for reasoning.
#[derive(Debug, Clone, Copy, Default)]
pub struct LimitBounds {
    /// The most tokens of reply and reasoning together, by the user.
    pub total: Option<u64>,
    /// The context of the server.
    pub capacity: Option<Capacity>,
    /// Whether replies of an earlier session may have any room, whatever is known of the judge.
    pub is_continued: bool,
}

/// A reply limit, which may have room for reasoning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ReplyLimit {
    /// Tokens of the reply without its reasoning.
    visible: u64,
    /// The room from the first call on.
    start: u64,
}

impl ReplyLimit {
    /// The tokens with this room, of which at most `most` are given for it.
    fn with_room(self, room: u64, most: u64) -> u64 {
        (self.visible + room).min(most.max(self.visible))
    }

    /// The tokens of a first call to a server that takes any limit.
    fn first(self) -> u64 {
        self.visible + self.start
    }
}

/// The limit of one call.
#[derive(Debug, Clone, Copy)]
pub(super) struct CallLimits {
    /// `None`: it has none.
    pub(super) limit: Option<ReplyLimit>,
    /// The room for reasoning.
    pub(super) room: u64,
    /// The most tokens that a limit may have by room.
    most: u64,
    /// The tokens that are sent.
    pub(super) sent: Option<u64>,
    /// Whether it is our limit of a list.
    pub(super) is_list_limit: bool,
}

/// Other tokens with which a call was, or is usually, asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct OtherTokens {
    pub(super) tokens: Option<u64>,
    /// Whether a user chose them.
    pub(super) is_chosen: bool,
    /// Whether it is the limit of the call with other room.
    pub(super) is_same_limit: bool,
}

/// Our limits of lists.
struct ListLimits {
    /// Kinds of questions whose reply limit the user gave.
    given: BTreeSet<Kind>,
    /// The context of the server, where it is known.
    capacity: Option<Capacity>,
}

/// The reply limits of the calls to one judge.
pub(super) struct LimitRules {
    prompts: Arc<PromptSet>,
    protocol: &'static dyn Protocol,
    effort: Option<Effort>,
    refusals: Arc<Refusals>,
    pub(super) room: ReasoningRoom,
    bounds: LimitBounds,
    /// `None`: lists have no limit of ours, and no call has room that its kind does not begin with.
    lists: Option<ListLimits>,
}

impl LimitRules {
    pub(super) fn new(
        prompts: Arc<PromptSet>,
        options: &RequestOptions,
        refusals: Arc<Refusals>,
    ) -> Self {
        let effort = options.reasoning_effort;
        Self {
            prompts,
            protocol: options.endpoint.protocol(),
            effort,
            room: ReasoningRoom::new(Arc::clone(&refusals), effort),
            refusals,
            bounds: LimitBounds::default(),
            lists: None,
        }
    }

    pub(super) fn within(mut self, bounds: LimitBounds) -> Self {
        self.bounds = bounds;
        self.room = self.room.within(bounds.total);
        self
    }

    /// With our limits of lists, except of the kinds `given` by the user; `capacity` is the context of the server.
    pub(super) fn with_list_limits(
        mut self,
        given: impl IntoIterator<Item = Kind>,
        capacity: Option<Capacity>,
    ) -> Self {
        let given = given.into_iter().collect();
        self.lists = Some(ListLimits { given, capacity });
        self
    }

    /// Ours, unless it is a published wording.
    fn list_limits(&self, info: &KindInfo) -> Option<&ListLimits> {
        self.lists.as_ref().filter(|_| self.prompts.is_fenced(info))
    }

    /// The limit of a call whose kind has this limit, and what of it is sent. `room` is what the call has shown to need, if it has.
    pub(super) fn of_call(
        &self,
        question: &dyn Question,
        prompt: &Prompt,
        given: Option<u64>,
        room: Option<u64>,
    ) -> CallLimits {
        let info = question.info();
        let list_limit = self.list_limit(question, prompt);
        let limit = match given.or_else(|| self.limit_of_foreign_kind(info)) {
            Some(limit) => Some(self.limit_of_units(question, limit)),
            None => list_limit.or_else(|| self.required_limit()),
        };
        // Published wordings are asked under their published limit first, whatever is known of the judge.
        let learned = self.list_limits(info).map_or(0, |_| self.room.tokens());
        let start = limit.map_or(0, |limit| limit.start);
        let room = room.unwrap_or(learned.max(start));
        let most = self.most_tokens(prompt, limit.map_or(0, ReplyLimit::first));
        let sent = limit.map(|limit| limit.with_room(room, most));
        let total = self.bounds.total.filter(|_| !self.has_lost_limit());
        CallLimits {
            limit,
            room,
            most,
            sent: sent.into_iter().chain(total).min(),
            is_list_limit: given.is_none() && list_limit.is_some(),
        }
    }

    /// The limit of a kind that is defined outside this crate: neither prompts nor options have one for it.
    fn limit_of_foreign_kind(&self, info: &KindInfo) -> Option<u64> {
        let is_foreign = self.prompts.family(info).is_none();
        let limit = info.reply_limit.filter(|_| is_foreign)?;
        Some(limit + self.reasoning())
    }

    /// The limit of a call for this limit of its kind, which is one of a unit: of each criterion of a list. The room for
    /// the reasoning, which a given limit does not have, is that of one reply.
    fn limit_of_units(&self, question: &dyn Question, limit: u64) -> ReplyLimit {
        let reasoning = self.reasoning();
        let of_prompts = self.prompts.max_tokens(question.info());
        let is_given = of_prompts.is_none_or(|of_kind| limit != of_kind + reasoning);
        let start = if is_given { 0 } else { reasoning };
        ReplyLimit {
            visible: (limit - start).saturating_mul(question.reply_units()),
            start,
        }
    }

    /// The limit that the protocol requires where none is wanted.
    fn required_limit(&self) -> Option<ReplyLimit> {
        let visible = self.protocol.required_limit()?;
        Some(ReplyLimit {
            visible,
            start: self.reasoning(),
        })
    }

    /// The most tokens that a limit may have by room for reasoning: those that models can give, unless the effort asks for more
    /// `at_first`, that the server takes, and that the context has left.
    fn most_tokens(&self, prompt: &Prompt, at_first: u64) -> u64 {
        let context = self.bounds.capacity.map(|capacity| {
            capacity
                .context_tokens
                .saturating_sub(with_margin(prompt.tokens()))
        });
        let bounds = context.into_iter().chain(self.refusals.most_tokens());
        bounds.fold(MOST_TOKENS.max(at_first), u64::min)
    }

    fn reasoning(&self) -> u64 {
        self.effort.map_or(0, Effort::tokens)
    }

    /// Our limit of a list. None where the user gave one (or `none`), where the prompts have one, where the server refused
    /// it, and where a server that counts the reply has no room for it: there the context is the limit.
    fn list_limit(&self, question: &dyn Question, prompt: &Prompt) -> Option<ReplyLimit> {
        let info = question.info();
        let lists = self.list_limits(info).filter(|_| info.is_list())?;
        let is_decided = lists.given.contains(&info.kind())
            || self.prompts.max_tokens(info).is_some()
            || self.refusals.has(Parameter::ListLimit)
            || self.has_lost_limit();
        if is_decided {
            return None;
        }
        let limit = self.usual_list_limit(question);
        if let Some(capacity) = lists.capacity.filter(|capacity| capacity.counts_reply) {
            let reply = limit.visible.saturating_add(limit.start);
            let all = with_margin(prompt.tokens()).saturating_add(reply);
            if all > capacity.context_tokens {
                return None;
            }
        }
        Some(limit)
    }

    /// Whether the server refuses reply limits, under the other name as well if there is one.
    fn has_lost_limit(&self) -> bool {
        let form = self.protocol.parameter(Parameter::MaxTokens);
        let has_one_name = form.is_some_and(|form| form.when_refused == WhenRefused::LeftOut);
        self.refusals.has(Parameter::MaxCompletionTokens)
            || self.refusals.has(Parameter::MaxTokens) && has_one_name
    }

    fn usual_list_limit(&self, question: &dyn Question) -> ReplyLimit {
        ReplyLimit {
            visible: JudgeKind::list_limit(estimate_tokens(question.judged())),
            start: self.reasoning(),
        }
    }

    /// The other limits that the judge was, or is usually, asked with, each with the room for reasoning that its replies may
    /// have had.
    pub(super) fn others(&self, question: &dyn Question, limits: CallLimits) -> Vec<OtherTokens> {
        let CallLimits {
            limit, sent, most, ..
        } = limits;
        let info = question.info();
        let given: BTreeSet<Option<ReplyLimit>> = self
            .refusals
            .limits(info)
            .into_iter()
            .map(|given| given.map(|given| self.limit_of_units(question, given)))
            .collect();
        let mut others = given.clone();
        if info.is_list() {
            others.extend([None, Some(self.usual_list_limit(question))]);
        }
        let usual = self.prompts.max_tokens(info);
        let usual = usual.map(|limit| limit + self.reasoning());
        others.insert(usual.map(|usual| self.limit_of_units(question, usual)));
        others.insert(limit);
        // Of a judge that never was short of room, no reply has more than the first.
        let has_rooms = self.bounds.is_continued || self.room.tokens() > 0;
        let rungs = if has_rooms { &RUNGS[..] } else { &[] };
        // Each with whether a user chose it, and whether it is the same without the room.
        let mut by_tokens: BTreeMap<Option<u64>, (bool, bool)> = BTreeMap::new();
        for total in self.refusals.totals() {
            by_tokens.insert(Some(total), (true, false));
        }
        for other in others {
            // That lists have our limit, or none in compat mode, is not a choice of the user.
            let is_chosen = other != limit && (given.contains(&limit) || given.contains(&other));
            by_tokens.insert(other.map(ReplyLimit::first), (is_chosen, other == limit));
            for room in rungs {
                let with_room = other.map(|other| other.with_room(other.start.max(*room), most));
                by_tokens.insert(with_room, (is_chosen, other == limit));
            }
        }
        by_tokens.remove(&sent);
        let mut others = Vec::new();
        for (tokens, (is_chosen, is_same_limit)) in by_tokens {
            others.push(OtherTokens {
                tokens,
                is_chosen,
                is_same_limit,
            });
        }
        others
    }
}

/// A quarter more, since tokens are estimated.
fn with_margin(tokens: u64) -> u64 {
    tokens / 4 * 5
}
