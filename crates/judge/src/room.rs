//! Room for reasoning: how many tokens beyond the verdict a reply limit has, learned from replies that reasoning used up.
//!
//! Nobody knows beforehand whether a model reasons, and how long. A call is *starved* if its limit went to the reasoning
//! (`JudgeReply::is_starved`): it is asked again one rung higher, never at the same limit. The first starved call gives
//! all calls of the judge the first rung; the other rungs are for the call alone, until more than one in twenty is starved.
//! Each rung is climbed by one call at a time until a reply to one is whole, so that a judge that never ends costs little.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use tokio::sync::{Mutex as FifoMutex, MutexGuard};

use super::forms::Effort;
use super::refusals::Refusals;
use super::{Rendered, locked};
use scholareval_core::domain::JudgeReply;
use scholareval_core::error::{Error, Result};
use scholareval_core::question::Kind;

/// Tokens of room, from the second try of a call on.
pub const RUNGS: [u64; 3] = [4_000, 16_000, 32_000];
/// The most tokens of a limit with room, which most models can give.
pub const MOST_TOKENS: u64 = 32_768;
/// So many calls must have been asked at the judge's rung before it is raised, if more than one in [`STARVED_SHARE`] was
/// starved.
const FEWEST_CALLS: u64 = 20;
const STARVED_SHARE: u64 = 20;
/// Or so many starved calls, if they are more than one in [`SOON_SHARE`] and a higher rung was enough.
const FEWEST_STARVED: u64 = 3;
const SOON_SHARE: u64 = 3;
/// Stated limits below this are other numbers of a message.
const LEAST_STATED: u64 = 1_000;
/// So many calls in a row that fill the highest rung end the run: of all calls, or of a kind that never had a whole reply.
const MOST_FILLED: u32 = 3;

/// The room of one judge, and how its calls did with it.
#[derive(Debug)]
pub struct ReasoningRoom {
    learned: Arc<Refusals>,
    /// The effort that the judge is asked for, by which its room is learned.
    effort: Option<Effort>,
    /// The user's limit of reply and reasoning together.
    total: Option<u64>,
    counts: Mutex<RoomCounts>,
    climb: FifoMutex<()>,
}

/// What new replies have shown.
#[derive(Debug, Default)]
struct RoomCounts {
    /// Calls at the judge's rung, and those of them that were starved.
    asked: u64,
    starved: u64,
    /// The highest room with which a reply was whole.
    proven: u64,
    /// Calls in a row without a whole reply that filled the highest limit.
    filled: u32,
    /// The same of each kind of question; `None` for one with a whole reply, of which single calls may be endless.
    filled_of_kind: BTreeMap<Kind, Option<u32>>,
    /// Tokens of starved replies.
    lost: u64,
}

impl RoomCounts {
    /// Whether so many calls at the judge's rung were starved that all calls need the next one.
    fn needs_more(&self, judges: u64) -> bool {
        let often = self.asked >= FEWEST_CALLS && self.starved * STARVED_SHARE > self.asked;
        let soon = self.starved >= FEWEST_STARVED
            && self.starved * SOON_SHARE > self.asked
            && self.proven > judges;
        often || soon
    }

    /// A whole reply to this kind of question came.
    fn add_whole(&mut self, kind: &Kind) {
        self.filled = 0;
        self.filled_of_kind.insert(kind.clone(), None);
    }

    /// A call of this kind filled the most that can be given.
    fn add_filled(&mut self, kind: &Kind) {
        self.filled += 1;
        let of_kind = self.filled_of_kind.entry(kind.clone()).or_insert(Some(0));
        *of_kind = of_kind.map(|filled| filled + 1);
    }

    /// Whether the judge is given up, for all calls or for one kind: each further call would cost as much in vain.
    fn is_endless(&self) -> bool {
        let mut of_kinds = self.filled_of_kind.values().flatten();
        self.filled >= MOST_FILLED || of_kinds.any(|filled| *filled >= MOST_FILLED)
    }
}

impl ReasoningRoom {
    /// The room of a judge of which this is known.
    pub fn new(learned: Arc<Refusals>, effort: Option<Effort>) -> Self {
        Self {
            learned,
            effort,
            total: None,
            counts: Mutex::default(),
            climb: FifoMutex::default(),
        }
    }

    /// With the user's limit of reply and reasoning together.
    #[must_use]
    pub fn within(self, total: Option<u64>) -> Self {
        Self { total, ..self }
    }

    /// Tokens of room that all calls of the judge have; 0 where none was starved so far.
    pub fn tokens(&self) -> u64 {
        self.learned.room(self.effort)
    }

    /// Gives the calls of a batch the first rung, unless the judge is asked not to reason: nothing is learned in between.
    ///
    /// # Errors
    /// When it cannot be stored.
    pub fn begin_batch(&self) -> Result<()> {
        if self.effort == Some(Effort::None) {
            return Ok(());
        }
        self.raise(RUNGS[0])
    }

    /// Gives all calls this room, if they have less.
    ///
    /// # Errors
    /// When it cannot be stored.
    pub fn raise(&self, tokens: u64) -> Result<()> {
        if tokens <= self.tokens() {
            return Ok(());
        }
        self.learned.add_room(self.effort, tokens)
    }

    /// Counts a new reply. `is_last` of a starved one: no more room can be given.
    ///
    /// # Errors
    /// [`Error::Unreadable`] when several calls in a row have filled the most that can be given; when the room cannot be
    /// stored.
    pub fn note(
        &self,
        call: &Rendered,
        kind: &Kind,
        reply: &JudgeReply,
        is_starved: bool,
        is_last: bool,
    ) -> Result<()> {
        let judges = self.tokens().max(self.effort.map_or(0, Effort::tokens));
        let mut counts = locked(&self.counts);
        let is_at_rung = call.room > 0 && call.room == judges;
        // Under the user's total, more room gives no higher limit.
        let is_bound = self
            .total
            .is_some_and(|total| call.longest_reply() >= total);
        counts.asked += u64::from(is_at_rung);
        if !is_starved {
            counts.proven = counts.proven.max(call.room);
            // A reply that was cut shows nothing of the others.
            if !reply.is_cut() {
                counts.add_whole(kind);
            }
        } else {
            counts.starved += u64::from(is_at_rung);
            counts.lost += reply.usage.completion_tokens;
            if is_last {
                counts.add_filled(kind);
            }
            if !is_bound {
                self.raise(RUNGS[0])?;
            }
        }
        if counts.needs_more(judges) && !is_bound {
            (counts.asked, counts.starved) = (0, 0);
            if let Some(next) = RUNGS.into_iter().find(|rung| *rung > judges) {
                self.raise(next)?;
            }
        }
        if is_starved && is_last && counts.is_endless() {
            return Err(Error::Unreadable(self.endless(call, kind, &counts)));
        }
        Ok(())
    }

    /// Why the run ends, and what can be done.
    fn endless(&self, call: &Rendered, kind: &Kind, counts: &RoomCounts) -> String {
        let (limit, lost) = (call.longest_reply(), counts.lost);
        let calls = if counts.filled >= MOST_FILLED {
            format!("{MOST_FILLED} calls in a row")
        } else {
            format!("{MOST_FILLED} {kind} calls")
        };
        format!(
            "{calls} filled their limit of {limit} tokens with reasoning and gave no verdict; such replies \
             took {lost} tokens so far; {}",
            self.advice()
        )
    }

    /// What helps a judge whose reasoning takes the most that can be given.
    pub fn advice(&self) -> String {
        let total = match self.total {
            Some(total) => format!(
                "the same command with a higher limit than --max-tokens total={total} continues the run, as far as limits of {MOST_TOKENS} \
                 tokens; "
            ),
            None => String::new(),
        };
        format!(
            "{total}a lower --reasoning-effort (low, none), or for open models on vLLM and SGLang --extra-body \
             '{{\"chat_template_kwargs\": {{\"enable_thinking\": false}}}}', makes another judge of it, which is asked everything in \
             a run of its own: add --out NEW_RUN"
        )
    }

    /// Learns the highest limit that the server's refusal of this call states, if it states one below that of the call.
    ///
    /// # Errors
    /// When it cannot be stored.
    pub fn learn_most(&self, call: &Rendered, refusal: &str) -> Result<()> {
        match call.max_tokens.and_then(|sent| stated_limit(refusal, sent)) {
            Some(most) => self.learned.add_most_tokens(most),
            None => Ok(()),
        }
    }

    /// Whether a reply was whole with as much room.
    pub fn is_proven(&self, room: u64) -> bool {
        locked(&self.counts).proven >= room
    }

    /// The right to ask with this room: at once where a reply was whole with as much, else alone. `None` in place of a
    /// guard: nobody needs to wait.
    pub async fn climb(&self, room: u64) -> Option<MutexGuard<'_, ()>> {
        if self.is_proven(room) {
            return None;
        }
        let alone = self.climb.lock().await;
        // The call before this one may have shown it.
        (!self.is_proven(room)).then_some(alone)
    }

    /// Whether the judge was given up: calls that waited must not be sent.
    pub fn is_given_up(&self) -> bool {
        locked(&self.counts).is_endless()
    }
}

/// The highest number below `sent` in the refusal of a limit: "64100 > 64000, which is the maximum allowed". Numbers of a context
/// are not limits of a reply, and the first one is the status.
fn stated_limit(refusal: &str, sent: u64) -> Option<u64> {
    let (_, message) = refusal.split_once(": ")?;
    if message.to_ascii_lowercase().contains("context") {
        return None;
    }
    let digits = message.replace(',', "");
    let numbers = digits.split(|c: char| !c.is_ascii_digit());
    let limits = numbers.filter_map(|number| number.parse::<u64>().ok());
    limits
        .filter(|limit| (LEAST_STATED..sent).contains(limit))
        .max()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Body;
    use scholareval_core::domain::Fingerprint;
    use scholareval_core::question::{CITATIONS, KindInfo, PROPERTY};

    fn call(room: u64) -> Rendered {
        Rendered {
            room,
            max_tokens: Some(100 + room),
            ..Rendered::new(Fingerprint::from([1; 32]), Body::default)
        }
    }

    fn note(room: &ReasoningRoom, of_call: u64, is_starved: bool, is_last: bool) -> Result<()> {
        note_kind(room, &PROPERTY, of_call, is_starved, is_last)
    }

    fn note_kind(
        room: &ReasoningRoom,
        kind: &KindInfo,
        of_call: u64,
        is_starved: bool,
        is_last: bool,
    ) -> Result<()> {
        let reply = if is_starved {
            JudgeReply::of_used_up_limit(100 + of_call)
        } else {
            JudgeReply::of_text("{}")
        };
        let kind = kind.kind();
        room.note(&call(of_call), &kind, &reply, is_starved, is_last)
    }

    #[test]
    fn the_judge_gets_the_first_rung_at_once_and_the_next_when_one_in_twenty_is_starved() {
        let room = ReasoningRoom::new(Arc::default(), None);
        note(&room, 0, true, false).unwrap();
        assert_eq!(room.tokens(), 4_000);
        note(&room, 4_000, true, false).unwrap();
        // What a call needed beyond the rung of the judge says nothing of the rung.
        for _ in 0..40 {
            note(&room, 16_000, true, false).unwrap();
        }
        for _ in 0..19 {
            note(&room, 4_000, false, false).unwrap();
        }
        assert_eq!(room.tokens(), 4_000, "1 of 20 is not more than 5%");
        note(&room, 4_000, true, false).unwrap();
        assert_eq!(room.tokens(), 16_000, "2 of 21 are");
        // Each effort has separate room.
        let low = ReasoningRoom::new(Arc::clone(&room.learned), Some(Effort::Low));
        assert_eq!(low.tokens(), 0);
    }

    #[test]
    fn a_refusal_states_the_highest_limit() {
        for (refusal, limit) in [
            (
                "status 400: max_tokens is too large: 4100. This model supports at most 4096 completion tokens, whereas you provided 4100.",
                Some(4_096),
            ),
            (
                "status 400: max_tokens: 4100 > 4,000, which is the maximum allowed number of output tokens for m",
                Some(4_000),
            ),
            (
                "status 400: maximum context length is 4097 tokens, and you requested 4100 (3000 in the completion)",
                None,
            ),
            ("status 400: max_tokens is too large", None),
        ] {
            assert_eq!(stated_limit(refusal, 4_100), limit, "{refusal}");
        }
    }

    #[test]
    fn three_starved_calls_of_few_raise_the_judge_once_a_higher_rung_is_proven() {
        let room = ReasoningRoom::new(Arc::default(), None);
        note(&room, 0, true, false).unwrap();
        for _ in 0..3 {
            note(&room, 4_000, true, false).unwrap();
        }
        assert_eq!(
            room.tokens(),
            4_000,
            "nobody knows whether 16,000 are enough"
        );
        note(&room, 16_000, false, false).unwrap();
        assert_eq!(room.tokens(), 16_000);
    }

    #[test]
    fn three_filled_limits_in_a_row_end_the_run_and_a_whole_reply_begins_anew() {
        let room = ReasoningRoom::new(Arc::default(), None);
        for _ in 0..2 {
            note(&room, 32_000, true, true).unwrap();
        }
        note(&room, 4_000, false, true).unwrap();
        for _ in 0..2 {
            note(&room, 32_000, true, true).unwrap();
        }
        let error = note(&room, 32_000, true, true).unwrap_err().to_string();
        // five replies of 32,100 tokens
        assert!(error.contains("took 160500 tokens so far"), "{error}");
        assert!(room.is_given_up());
    }

    #[test]
    fn a_kind_that_never_ends_is_given_up_among_whole_replies_of_others() {
        let room = ReasoningRoom::new(Arc::default(), None);
        let note = |kind, is_starved| note_kind(&room, kind, 32_000, is_starved, true);
        for _ in 0..2 {
            note(&CITATIONS, true).unwrap();
            note(&PROPERTY, false).unwrap();
        }
        let error = note(&CITATIONS, true).unwrap_err().to_string();
        assert!(error.contains("3 citations calls"), "{error}");
        assert!(room.is_given_up());
        // One whole reply shows that the kind can be answered.
        let room = ReasoningRoom::new(Arc::default(), None);
        let note = |kind, is_starved| note_kind(&room, kind, 32_000, is_starved, true);
        note(&CITATIONS, false).unwrap();
        for _ in 0..9 {
            note(&CITATIONS, true).unwrap();
            note(&PROPERTY, false).unwrap();
        }
        assert!(!room.is_given_up());
    }

    #[tokio::test]
    async fn a_rung_is_climbed_alone_until_a_reply_was_whole_with_it() {
        let room = ReasoningRoom::new(Arc::default(), None);
        let first = room.climb(4_000).await;
        assert!(first.is_some());
        assert!(room.climb.try_lock().is_err(), "the second one waits");
        note(&room, 4_000, false, true).unwrap();
        drop(first);
        assert!(room.climb(4_000).await.is_none());
        assert!(room.climb(16_000).await.is_some());
    }
}
