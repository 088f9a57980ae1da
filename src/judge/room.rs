//! Room for reasoning: how many tokens beyond the verdict a reply limit has, learned from replies that reasoning used up.
//!
//! Nobody knows beforehand whether a model reasons, and how long. A call is *starved* if its limit went to the reasoning
//! ([`JudgeReply::is_starved`]): it is asked again one rung higher, never at the same limit. The first starved call gives
//! all calls of the judge the first rung; the other rungs are for the call alone, until more than one in twenty is starved.
//! Each rung is climbed by one call at a time until a reply to one is whole, so that a judge that never ends costs little.

use std::sync::{Arc, Mutex};

use tokio::sync::{Mutex as FifoMutex, MutexGuard};

use super::forms::Effort;
use super::refusals::Refusals;
use super::{Rendered, locked};
use crate::domain::JudgeReply;
use crate::error::{Error, Result};

/// Tokens of room, from the second try of a call on.
pub const RUNGS: [u64; 3] = [4_000, 16_000, 32_000];
/// The most tokens of a limit with room, which most models can give.
pub const MOST_TOKENS: u64 = 32_768;
/// So many calls must have been asked at the judge's rung before it is raised, if more than one in [`STARVED_SHARE`] was
/// starved.
const FEWEST_CALLS: u64 = 20;
const STARVED_SHARE: u64 = 20;
/// So many calls in a row that fill the highest rung end the run.
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
    /// Tokens of starved replies.
    lost: u64,
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

    /// Gives all calls this room, if they have less.
    ///
    /// # Errors
    /// When it cannot be stored.
    pub fn raise(&self, tokens: u64) -> Result<()> {
        self.learned.add_room(self.effort, tokens)
    }

    /// Counts a new reply. `is_last` of a starved one: no more room can be given.
    ///
    /// # Errors
    /// [`Error::Unreadable`] when several calls in a row have filled the most that can be given; when the room cannot be
    /// stored.
    pub(crate) fn note(
        &self,
        call: &Rendered,
        reply: &JudgeReply,
        is_starved: bool,
        is_last: bool,
    ) -> Result<()> {
        let judges = self.tokens();
        let mut counts = locked(&self.counts);
        let is_at_rung = call.room > 0 && call.room >= judges && call.room < RUNGS[2];
        counts.asked += u64::from(is_at_rung);
        if !is_starved {
            counts.proven = counts.proven.max(call.room);
            // A reply that was cut shows nothing of the others.
            if !reply.is_cut() {
                counts.filled = 0;
            }
        } else {
            counts.starved += u64::from(is_at_rung);
            counts.lost += reply.usage.completion_tokens;
            counts.filled += u32::from(is_last);
            self.raise(RUNGS[0])?;
        }
        if counts.asked >= FEWEST_CALLS && counts.starved * STARVED_SHARE > counts.asked {
            (counts.asked, counts.starved) = (0, 0);
            if let Some(next) = RUNGS.into_iter().find(|rung| *rung > call.room) {
                self.raise(next)?;
            }
        }
        if is_last && counts.filled >= MOST_FILLED {
            return Err(Error::Unreadable(self.endless(call, counts.lost)));
        }
        Ok(())
    }

    /// Why the run ends, and what can be done.
    fn endless(&self, call: &Rendered, lost: u64) -> String {
        let limit = call.longest_reply();
        let advice = match self.total {
            Some(total) => format!(
                "the same command with a higher limit than --max-tokens total={total} continues the run, as far as limits of {MOST_TOKENS} \
                 tokens; "
            ),
            None => String::new(),
        };
        format!(
            "{MOST_FILLED} calls in a row filled their limit of {limit} tokens with reasoning and gave no verdict; such replies \
             took {lost} tokens so far; {advice}--reasoning-effort low or none, or for open models on vLLM and SGLang --extra-body \
             '{{\"chat_template_kwargs\": {{\"enable_thinking\": false}}}}', makes another judge of it, which is asked everything in \
             a run of its own: add --out NEW_RUN"
        )
    }

    /// The right to ask with this room: at once where a reply was whole with as much, else alone. `None` in place of a
    /// guard: nobody needs to wait.
    pub(crate) async fn climb(&self, room: u64) -> Option<MutexGuard<'_, ()>> {
        if locked(&self.counts).proven >= room {
            return None;
        }
        let alone = self.climb.lock().await;
        // The call before this one may have shown it.
        (locked(&self.counts).proven < room).then_some(alone)
    }

    /// Whether the judge was given up: calls that waited must not be sent.
    pub(crate) fn is_given_up(&self) -> bool {
        locked(&self.counts).filled >= MOST_FILLED
    }
}
