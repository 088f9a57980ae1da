//! An endpoint is asked only while it is known to serve the judge's model.
//!
//! Replies are kept under the one identity of the judge, whichever endpoint gave them and whenever. So a server that was not
//! there at the start, or that broke a connection since (it may have been started anew, with another model), has to say who it is
//! before the next call goes there. So has one whose reply names another model than its replies before, and until it has,
//! that reply does not count.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::Mutex as FifoMutex;
use tokio::time::Instant;

use crate::error::Error;
use crate::judge::endpoint::Endpoint;
use crate::judge::identity::{ServerIdentity, ask_server, judge_id, wait_for_server};
use crate::judge::{AskError, AskFuture, Judge, JudgeRequest, Outcome};

/// What an endpoint has to say of itself.
#[derive(Debug, Clone)]
pub struct Vouch {
    /// Where it is asked.
    pub endpoint: Endpoint,
    /// The model that is asked there.
    pub model: String,
    /// What it has to say is behind that name.
    pub identity: ServerIdentity,
    /// True if it has said so already.
    pub is_known: bool,
}

/// A judge at one endpoint, asked only while `vouch` holds.
///
/// A call that meets a doubtful endpoint looks itself ([`crate::judge::identity`]: at most two short questions), those that
/// come meanwhile wait for what it finds. An endpoint that cannot be reached is a passing failure for as long as a lone one
/// would be waited for ([`crate::judge::endpoint::Timeouts::server_gone`]), and not at all if it never was there; then, and
/// where another model answers, it is [`AskError::Fatal`], by which a pool takes it out.
#[derive(Debug)]
pub struct Vouched<J> {
    inner: J,
    vouch: Option<Vouch>,
    is_known: AtomicBool,
    looks: FifoMutex<Looks>,
    /// What its replies call the model. A gateway may have several names for one.
    names: Mutex<BTreeSet<String>>,
}

#[derive(Debug, Default)]
struct Looks {
    /// It has been there at some time.
    was_there: bool,
    /// Since when it is not.
    absent: Option<Instant>,
    /// The last look that found nothing good.
    last: Option<(Instant, Doubt)>,
}

/// Why an endpoint is not asked.
#[derive(Debug, Clone)]
enum Doubt {
    /// It cannot be reached, or does not say who it is.
    Absent(String),
    /// The same for too long, or somebody else is there.
    Lost(String),
}

impl Doubt {
    fn into_error(self) -> AskError {
        match self {
            Self::Absent(message) => AskError::Transient { message, status: None, retry_after: None },
            Self::Lost(message) => AskError::Fatal(Error::JudgeUnavailable(message)),
        }
    }
}

impl<J> Vouched<J> {
    /// `inner`, asked while `vouch` holds; `None` where nobody has to say anything (the user vouches for it).
    pub fn new(inner: J, vouch: Option<Vouch>) -> Self {
        // OpenAI's own service says nothing about what is behind a name.
        let vouch = vouch.filter(|vouch| !vouch.endpoint.is_openai());
        let is_known = vouch.as_ref().is_none_or(|vouch| vouch.is_known);
        let looks = Looks { was_there: is_known, ..Looks::default() };
        Self {
            inner,
            vouch,
            is_known: AtomicBool::new(is_known),
            looks: FifoMutex::new(looks),
            names: Mutex::default(),
        }
    }

    /// True if this name is another one than those of the replies before.
    fn is_new_name(&self, name: &str) -> bool {
        let mut names = self.names.lock().unwrap_or_else(PoisonError::into_inner);
        if names.is_empty() {
            names.insert(name.to_owned());
        }
        !names.contains(name)
    }

    fn note_name(&self, name: &str) {
        self.names.lock().unwrap_or_else(PoisonError::into_inner).insert(name.to_owned());
    }

    async fn settle(&self, vouch: &Vouch) -> Result<(), AskError> {
        let came = Instant::now();
        let mut looks = self.looks.lock().await;
        if self.is_known.load(Ordering::Acquire) {
            return Ok(());
        }
        if let Some((at, doubt)) = &looks.last
            && *at >= came
        {
            return Err(doubt.clone().into_error());
        }
        let Err(doubt) = look(vouch).await else {
            *looks = Looks { was_there: true, ..Looks::default() };
            self.is_known.store(true, Ordering::Release);
            return Ok(());
        };
        let doubt = match doubt {
            Doubt::Absent(words) => {
                let since = *looks.absent.get_or_insert(came);
                let patience = if looks.was_there { vouch.endpoint.timeouts.server_gone } else { Duration::ZERO };
                if since.elapsed() >= patience { Doubt::Lost(words) } else { Doubt::Absent(words) }
            }
            lost => lost,
        };
        looks.last = Some((Instant::now(), doubt.clone()));
        Err(doubt.into_error())
    }
}

/// Asks the server who it is.
async fn look(vouch: &Vouch) -> Result<(), Doubt> {
    let absent = |error: Error| Doubt::Absent(error.to_string());
    wait_for_server(&vouch.endpoint, Duration::ZERO, |_, _| ()).await.map_err(absent)?;
    let now = ask_server(&vouch.endpoint, Some(&vouch.model)).await.map_err(absent)?.identity;
    let url = vouch.endpoint.masked_url();
    if now == vouch.identity {
        return Ok(());
    }
    let id = |identity| judge_id(&vouch.model, None, identity);
    if now.says_less_than(&vouch.identity) {
        return Err(Doubt::Absent(format!("{url} says less of what it serves than {}", id(&vouch.identity))));
    }
    Err(Doubt::Lost(format!(
        "{url} serves another model than this run asks ({}, and not {}); it is not asked",
        id(&now),
        id(&vouch.identity)
    )))
}

impl<J: Judge> Judge for Vouched<J> {
    fn ask<'a>(&'a self, request: &'a JudgeRequest) -> AskFuture<'a> {
        let Some(vouch) = &self.vouch else { return self.inner.ask(request) };
        Box::pin(async move {
            if !self.is_known.load(Ordering::Acquire) {
                self.settle(vouch).await?;
            }
            let result = self.inner.ask(request).await;
            // No connection, a broken one, or something else than a reply: it may be another server the next time.
            if matches!(result, Err(AskError::Transient { status: None, .. })) {
                self.is_known.store(false, Ordering::Release);
            }
            if let Ok(Outcome::Reply(reply)) = &result
                && let Some(name) = reply.model.as_deref()
                && self.is_new_name(name)
            {
                self.is_known.store(false, Ordering::Release);
                self.settle(vouch).await?;
                self.note_name(name);
            }
            result
        })
    }

    fn asking(&self) -> Option<usize> {
        self.inner.asking()
    }
}
