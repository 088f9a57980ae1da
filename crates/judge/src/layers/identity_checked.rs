//! Uses an endpoint only while it is known to serve the judge's model.
//!
//! Replies are cached under the one identity of the judge, whichever endpoint gave them. So a server that was
//! unreachable at the start, or broke a connection since (it may have been restarted with another model), has to report
//! its identity before the next call. So does one whose reply names another model than its earlier replies; that reply
//! is discarded.
//!
//! The layer is inside the pool, one around each endpoint: which server answers is known only here, and an endpoint that
//! serves something else is lost to the pool while the others continue.

use std::collections::BTreeSet;
use std::time::Duration;

use tokio::sync::{Mutex as FifoMutex, MutexGuard};
use tokio::time::Instant;

use crate::endpoint::Endpoint;
use crate::identity::{ServerIdentity, judge_id, report_of};
use crate::{AskError, AskFuture, Judge, JudgeRequest, Outcome, fatal};
use scholareval_core::domain::JudgeReply;

/// The expected identity of an endpoint.
#[derive(Debug, Clone)]
pub struct ExpectedIdentity {
    /// Its address.
    pub endpoint: Endpoint,
    /// The model name for requests.
    pub model: String,
    /// The identity that it must report.
    pub identity: ServerIdentity,
    /// True if it has reported it already.
    pub is_known: bool,
}

/// A judge at one endpoint, used only while it serves the expected model.
///
/// A call to an unchecked endpoint probes it ([`crate::identity`]: at most two short requests); concurrent calls
/// wait for the result. An unreachable endpoint is a transient failure for
/// [`crate::endpoint::Timeouts::server_gone`], or not at all if it was never reachable; after that, and if
/// another model answers, it is [`AskError::Fatal`], by which a pool drops it.
pub struct IdentityChecked<J> {
    inner: J,
    expected: Option<ExpectedIdentity>,
    /// Held while the endpoint is probed, so that calls wait for one probe and do not make one each.
    known: FifoMutex<KnownEndpoint>,
}

/// What is known of an endpoint.
#[derive(Default)]
struct KnownEndpoint {
    /// It serves the expected model.
    is_checked: bool,
    /// It was reachable at some time.
    was_there: bool,
    /// When it became unreachable.
    missing: Option<Instant>,
    /// The error of the last failed probe.
    failed: Option<(Instant, AskError)>,
    /// The model name in its replies. A gateway may have several names for one model.
    names: BTreeSet<String>,
}

impl<J> IdentityChecked<J> {
    /// `inner`, used while it serves `expected`; `None` disables the check (the user named the judge).
    pub fn new(inner: J, expected: Option<ExpectedIdentity>) -> Self {
        // OpenAI's service does not identify the model behind a name.
        let expected = expected.filter(|expected| expected.endpoint.service().is_none());
        let is_checked = expected.as_ref().is_some_and(|expected| expected.is_known);
        let known = FifoMutex::new(KnownEndpoint {
            is_checked,
            was_there: is_checked,
            ..KnownEndpoint::default()
        });
        Self {
            inner,
            expected,
            known,
        }
    }

    /// Accepts the model name of a reply. If earlier replies had other names, the server is probed first: it may have been
    /// replaced while its address stayed.
    async fn vouch_for(&self, name: &str, expected: &ExpectedIdentity) -> Result<(), AskError> {
        let mut known = self.known.lock().await;
        if !known.names.is_empty() && !known.names.contains(name) {
            known.is_checked = false;
            drop(known);
            known = self.check(expected).await?;
        }
        known.names.insert(name.to_owned());
        Ok(())
    }

    /// Probes the endpoint unless it is checked.
    async fn check(
        &self,
        expected: &ExpectedIdentity,
    ) -> Result<MutexGuard<'_, KnownEndpoint>, AskError> {
        let came = Instant::now();
        let mut known = self.known.lock().await;
        if known.is_checked {
            return Ok(known);
        }
        // The probe that this call waited for speaks for it, too: hundreds of waiting calls must not probe one by one.
        if let Some((at, error)) = &known.failed
            && *at >= came
        {
            return Err(error.clone());
        }
        let Err(error) = probe(expected).await else {
            known.is_checked = true;
            known.was_there = true;
            known.missing = None;
            return Ok(known);
        };
        let since = *known.missing.get_or_insert(came);
        // A server that restarts comes back; one that never was there is probably a wrong address.
        let patience = if known.was_there {
            expected.endpoint.timeouts.server_gone
        } else {
            Duration::ZERO
        };
        let error = match error {
            AskError::Transient { message, .. } if since.elapsed() >= patience => fatal(message),
            error => error,
        };
        known.failed = Some((Instant::now(), error.clone()));
        Err(error)
    }
}

/// Probes the server: a transient failure if it reports nothing, a fatal one if it is another model.
async fn probe(expected: &ExpectedIdentity) -> Result<(), AskError> {
    let ExpectedIdentity {
        endpoint,
        model,
        identity,
        ..
    } = expected;
    let report = report_of(endpoint, Some(model)).await.flatten();
    let now = report
        .map_err(|error| AskError::transient(error.to_string()))?
        .identity;
    let url = endpoint.masked_url();
    let before = judge_id(model, None, identity);
    if now.is_same_model(identity) {
        return Ok(());
    }
    // A server that is still loading reports less (no fingerprint yet), which does not mean another
    // model.
    if now.says_less_than(identity) {
        return Err(AskError::transient(format!(
            "{url} reports less about its model than before ({before})"
        )));
    }
    let id = judge_id(model, None, &now);
    Err(fatal(format!(
        "{url} serves another model than this run uses ({id}, not {before}); it is not used"
    )))
}

impl<J: Judge> Judge for IdentityChecked<J> {
    fn ask<'a>(&'a self, request: &'a JudgeRequest) -> AskFuture<'a> {
        let Some(expected) = &self.expected else {
            return self.inner.ask(request);
        };
        Box::pin(async move {
            drop(self.check(expected).await?);
            let result = self.inner.ask(request).await;
            match &result {
                // No connection, a broken one, or an invalid reply: the next one may come from another server.
                Err(AskError::Transient { status: None, .. }) => {
                    self.known.lock().await.is_checked = false
                }
                Ok(Outcome::Reply(JudgeReply {
                    model: Some(name), ..
                })) => self.vouch_for(name, expected).await?,
                _ => {}
            }
            result
        })
    }
}
