//! Judges: who answers a scorer's questions, and the layers around them.
//!
//! A [`Judge`] takes a [`JudgeRequest`] and gives an [`Outcome`]. [`JudgeBuilder`] makes one of options. Judges wrap judges:
//! `Cached(Budgeted(ContextLimited(Retrying(Scouted(Pool[RateLimited(IdentityChecked(Chat))])))))`. A cache hit costs no permit
//! and no token, identical calls wait for the first one's reply, what is too long is not sent, every retry buys new permits
//! and may go to another replica, what the server refuses is learned by one call.

#[doc(hidden)]
pub mod answering;
#[doc(hidden)]
pub mod batch;
#[doc(hidden)]
pub mod body;
#[doc(hidden)]
pub mod builder;
#[doc(hidden)]
pub mod cache;
#[doc(hidden)]
pub mod capacity;
#[doc(hidden)]
pub mod chat;
#[doc(hidden)]
pub mod conversation;
mod cut;
#[doc(hidden)]
pub mod decider;
#[doc(hidden)]
pub mod decision_bounds;
#[doc(hidden)]
pub mod endpoint;
#[doc(hidden)]
pub mod forms;
#[doc(hidden)]
pub mod identity;
pub mod kind;
#[doc(hidden)]
pub mod layers;
pub mod lexical;
#[doc(hidden)]
pub mod meters;
#[doc(hidden)]
pub mod options;
#[doc(hidden)]
pub mod parameter;
#[doc(hidden)]
pub mod planner;
#[doc(hidden)]
pub mod prices;
pub mod prompt;
#[doc(hidden)]
pub mod protocol;
#[doc(hidden)]
pub mod refusals;
#[doc(hidden)]
pub mod render;
#[doc(hidden)]
pub mod reply_forms;
#[doc(hidden)]
pub mod reply_limits;
#[doc(hidden)]
pub mod room;
#[doc(hidden)]
pub mod servers;
#[doc(hidden)]
pub mod streak;
#[doc(hidden)]
pub mod tokens;

use std::future::Future;
use std::iter;
use std::pin::Pin;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;

pub use builder::JudgeBuilder;
use forms::Effort;
use parameter::Parameter;
use prompt::Prompt;

use scholareval_core::domain::{
    CaseId, EndingModel, Fingerprint, JudgeReply, Severity, SystemName, UnscoredKind,
    UnscoredReason, today,
};
use scholareval_core::error::{Error, Result};
use scholareval_core::question::JudgeCall;

/// One call on its way to a judge.
#[derive(Debug, Clone)]
pub struct JudgeRequest {
    /// What is asked.
    pub call: JudgeCall,
    /// Whose answer it is about.
    pub system: SystemName,
    /// Which case it is about.
    pub case_id: CaseId,
    /// 0 for the first time of asking; n for the n-th time the reply was unreadable.
    pub attempt: u32,
    /// The rendered call; `None` for judges that answer the task itself (lexical, tests).
    pub rendered: Option<Rendered>,
}

/// A call as it goes over the wire.
#[derive(Debug, Clone)]
pub struct Rendered {
    /// What is sent, made when it is first used: a cached call needs only its fingerprint.
    pub body: Arc<LazyLock<Body, Box<dyn FnOnce() -> Body + Send>>>,
    /// The cache key: kind, judge identity, messages, sampling parameters, seed, sample, attempt.
    pub fingerprint: Fingerprint,
    /// Its prompt; `None` only in tests of other parts.
    pub prompt: Option<Arc<Prompt>>,
    /// The key that earlier versions gave the same call, if it was another one.
    pub earlier_key: Option<Fingerprint>,
    /// The same call under other reply limits that this judge was asked with. Their replies count if they were not cut: a
    /// judge does not see its limit.
    pub other_limits: Vec<OtherLimit>,
    /// The model's name in requests.
    pub model: String,
    /// The reply limit that is sent, if one is.
    pub max_tokens: Option<u64>,
    /// Tokens of the limit that are room for reasoning, unless another bound is lower.
    pub room: u64,
    /// Parameters of the call that could be left out, if the server refuses them.
    pub parameters: Vec<Parameter>,
    /// Whether it asks for our schema, though nobody asked for one.
    pub is_own_schema: bool,
    /// What a reader of the score must know of the call (its text was cut); `None` for nothing.
    pub note: Option<String>,
    /// Whether it is sent with temperature 0: asked again, it gets about the same reply.
    pub is_deterministic: bool,
}

impl Rendered {
    /// A call without a reply limit and a note; `body` is called once at most.
    pub fn new(fingerprint: Fingerprint, body: impl FnOnce() -> Body + Send + 'static) -> Self {
        let body: Box<dyn FnOnce() -> Body + Send> = Box::new(body);
        let body = Arc::new(LazyLock::new(body));
        Self {
            body,
            fingerprint,
            prompt: None,
            earlier_key: None,
            other_limits: Vec::new(),
            model: String::new(),
            max_tokens: None,
            room: 0,
            parameters: Vec::new(),
            is_own_schema: false,
            note: None,
            is_deterministic: false,
        }
    }

    /// The stored reply to this call: that of its key, else a whole one under another reply limit, with a note.
    ///
    /// # Errors
    /// Those of `stored`.
    pub fn find(
        &self,
        stored: impl Fn(&Fingerprint) -> Result<Option<JudgeReply>, Error>,
    ) -> Result<Option<JudgeReply>, Error> {
        // The exact key comes first, so that a repeated run gives the replies of the first one,
        // whatever other limits were tried in between.
        for key in iter::once(&self.fingerprint).chain(&self.earlier_key) {
            if let Some(reply) = stored(key)? {
                return Ok(Some(reply));
            }
        }
        for other in &self.other_limits {
            let usable = stored(&other.key)?.filter(|reply| {
                // With less room its text was cut as well: that is not asked again.
                let is_kept = other.is_same_limit && !reply.is_starved(reply, false);
                let is_whole = is_kept || !reply.is_cut();
                is_whole && (!other.is_other_form || reply.content.contains('{'))
            });
            if let Some(reply) = usable.filter(|reply| !reply.content.trim().is_empty()) {
                return Ok(Some(if other.is_chosen {
                    under_another_limit(reply)
                } else {
                    reply
                }));
            }
        }
        Ok(None)
    }

    /// The longest reply in tokens. A call without a limit restates the answer: its reply counts as long as its prompt.
    pub fn longest_reply(&self) -> u64 {
        self.max_tokens.unwrap_or(self.body.prompt_tokens)
    }
}

/// A call under another reply limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OtherLimit {
    /// Its cache key.
    pub key: Fingerprint,
    /// Whether a user chose one of the two limits: its replies are noted.
    pub is_chosen: bool,
    /// Whether its call asked for a form that is not sent any more: only a reply in that form counts.
    pub is_other_form: bool,
    /// Whether only the room for reasoning differs.
    pub is_same_limit: bool,
}

impl OtherLimit {
    /// The key of the call in a form that is not sent any more.
    fn of_other_form(key: Fingerprint) -> Self {
        Self {
            key,
            is_chosen: false,
            is_other_form: true,
            is_same_limit: false,
        }
    }
}

/// What a reader of the scores must know of a reply that is found under another reply limit.
const OTHER_LIMIT: &str =
    "replies given under another reply limit count (--max-tokens); none of them was cut";

fn under_another_limit(mut reply: JudgeReply) -> JudgeReply {
    reply.note = match reply.note {
        Some(note) if note.contains(OTHER_LIMIT) => Some(note),
        Some(note) => Some(format!("{note}; {OTHER_LIMIT}")),
        None => Some(OTHER_LIMIT.to_owned()),
    };
    reply
}

/// What is sent of a call.
#[derive(Debug)]
pub struct Body {
    /// The canonical JSON, serialized when it is first used: a plan needs only its tokens.
    pub bytes: LazyLock<Bytes, Box<dyn FnOnce() -> Bytes + Send>>,
    /// About how many tokens the prompt has.
    pub prompt_tokens: u64,
}

impl Body {
    /// A body with a prompt of about so many tokens; `bytes` is called once at most.
    pub fn new(prompt_tokens: u64, bytes: impl FnOnce() -> Bytes + Send + 'static) -> Self {
        let bytes: Box<dyn FnOnce() -> Bytes + Send> = Box::new(bytes);
        Self {
            bytes: LazyLock::new(bytes),
            prompt_tokens,
        }
    }
}

/// An empty body.
impl Default for Body {
    fn default() -> Self {
        Self::new(0, Bytes::new)
    }
}

/// What became of a call.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// A whole reply, readable or not.
    Reply(JudgeReply),
    /// No reply, for this reason; the run continues.
    Unscored(UnscoredReason),
    /// Not asked now (planning, batch, a spent budget); no failure.
    Deferred,
}

/// Why a judge gave no outcome.
#[derive(Debug, Clone)]
pub enum AskError {
    /// Worth another attempt (408, 409, 429, 5xx, resets, time-outs, cut bodies).
    Transient {
        /// What happened, with the server's message, secrets masked.
        message: String,
        /// HTTP status, where there was one; 408 also where we stopped waiting.
        status: Option<u16>,
        /// How long the server asks to wait.
        retry_after: Option<Duration>,
    },
    /// This call will never work (other 4xx); the run continues without it.
    Refused {
        /// The server's message.
        message: String,
        /// HTTP status.
        status: u16,
        /// Which kind of unscored it becomes.
        kind: UnscoredKind,
    },
    /// The server refuses this parameter of the call: asked without it, the call may work.
    Unsupported {
        /// What it refuses; one of [`Rendered::parameters`].
        parameter: Parameter,
        /// The server's message.
        message: String,
    },
    /// The run must stop.
    Fatal(Error),
}

/// How the message of a time-out ends that no other attempt can avoid: the retrying layer makes none.
pub(crate) const ENDS_THE_SAME_WAY: &str = "at temperature 0 another attempt would end the same way, so none is made; \
     nothing of the reply is stored: give calls more time with --timeout 30m, or shorten their replies with \
     --max-tokens KIND=N";

impl AskError {
    /// A transient failure without a status.
    fn transient(message: String) -> Self {
        Self::Transient {
            message,
            status: None,
            retry_after: None,
        }
    }
}

/// The judge cannot be used: the run must stop.
fn fatal(message: String) -> AskError {
    AskError::Fatal(Error::JudgeUnavailable(message))
}

/// What a user can do about a model that has ended.
const AFTER_THE_END: &str = "name another one with --model; for numbers that compare, let it score the answers of \
     earlier runs again: scholareval score OLD_RUN --model NEW --out NEW_RUN";

/// # Errors
/// [`Error::JudgeUnavailable`] for a model that has ended by what its service states: another one may answer in its place.
pub fn refuse_ended(ending: &EndingModel) -> Result<()> {
    let today = today();
    if !ending.end.is_over(today) {
        return Ok(());
    }
    Err(Error::JudgeUnavailable(format!(
        "{}, as its service states; {AFTER_THE_END}",
        ending.sentence(today)
    )))
}

/// What is wrong with an effort, and which ones the model takes.
pub(crate) fn other_efforts(what: &str, efforts: Option<Vec<Effort>>) -> String {
    let others = efforts.map_or_else(|| "another level".to_owned(), Effort::names);
    format!("{what}; give one that it takes ({others}), or leave --reasoning-effort out")
}

/// What [`Judge::ask`] gives.
pub type AskFuture<'a> = Pin<Box<dyn Future<Output = Result<Outcome, AskError>> + Send + 'a>>;

/// What a lock holds, even if a thread panicked while holding it.
pub fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Takes sentences for the user while judges and inputs are prepared: a server that is still loading, a changed model.
pub type Notify = dyn Fn(Severity, &str) + Send + Sync;

/// Answers questions about answers.
///
/// ```
/// use scholareval_core::domain::{JudgeReply, Role};
/// use scholareval_judge::{AskFuture, Judge, JudgeRequest, Outcome};
/// use scholareval_core::question::{JudgeCall, Property};
///
/// /// Gives every answer one point.
/// struct Strict;
///
/// impl Judge for Strict {
///     fn ask<'a>(&'a self, _request: &'a JudgeRequest) -> AskFuture<'a> {
///         let reply = JudgeReply::of_text(r#"{"score": 1}"#);
///         Box::pin(std::future::ready(Ok(Outcome::Reply(reply))))
///     }
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let question = Property {
///     question: "Why is the sky blue?".into(),
///     answer: "Short wavelengths scatter more.".into(),
///     criterion: "The answer names Rayleigh scattering.".into(),
/// };
/// let request = JudgeRequest {
///     call: JudgeCall::new("scattering", Role::Rubric, question),
///     system: "mine".into(),
///     case_id: "sky".into(),
///     attempt: 0,
///     rendered: None,
/// };
/// let outcome = Strict.ask(&request).await;
/// assert!(matches!(outcome, Ok(Outcome::Reply(reply)) if reply.content == r#"{"score": 1}"#));
/// # }
/// ```
pub trait Judge: Send + Sync {
    /// Asks one question.
    ///
    /// # Errors
    /// [`AskError::Fatal`] when the run must stop; [`AskError::Unsupported`] where the pipeline asks again without a
    /// parameter; the two others are turned into [`Outcome::Unscored`] by the retrying layer and by the pipeline.
    fn ask<'a>(&'a self, request: &'a JudgeRequest) -> AskFuture<'a>;
}

impl<J: Judge + ?Sized> Judge for std::sync::Arc<J> {
    fn ask<'a>(&'a self, request: &'a JudgeRequest) -> AskFuture<'a> {
        (**self).ask(request)
    }
}
