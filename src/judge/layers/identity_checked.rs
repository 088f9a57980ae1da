//! An endpoint is asked only while it is known to serve the judge's model.
//!
//! Replies are kept under the one identity of the judge, whichever endpoint gave them and whenever. So a server that was not
//! there at the start, or that broke a connection since (it may have been restarted with another model), has to report its
//! identity before the next call goes there. So has one whose reply names another model than its replies before, and until
//! it has, that reply does not count.

use std::collections::BTreeSet;
use std::time::Duration;

use tokio::sync::{Mutex as FifoMutex, MutexGuard};
use tokio::time::Instant;

use crate::domain::JudgeReply;
use crate::error::Error;
use crate::judge::endpoint::Endpoint;
use crate::judge::identity::{ServerIdentity, ask_server, judge_id, wait_for_server};
use crate::judge::{AskError, AskFuture, Judge, JudgeRequest, Outcome};

/// What an endpoint has to report of itself.
#[derive(Debug, Clone)]
pub struct ExpectedIdentity {
    /// Where it is asked.
    pub endpoint: Endpoint,
    /// The model that is asked there.
    pub model: String,
    /// What it has to report behind that name.
    pub identity: ServerIdentity,
    /// True if it has reported so already.
    pub is_known: bool,
}

/// A judge at one endpoint, asked only while it serves what is expected.
///
/// A call that meets an unchecked endpoint probes it ([`crate::judge::identity`]: at most two short questions), those that
/// come meanwhile wait for the result. An endpoint that cannot be reached is a transient failure for as long as a lone one
/// would be waited for ([`crate::judge::endpoint::Timeouts::server_gone`]), and not at all if it never was there; then, and
/// where another model answers, it is [`AskError::Fatal`], by which a pool takes it out.
pub struct IdentityChecked<J> {
    inner: J,
    expected: Option<ExpectedIdentity>,
    /// Held while the endpoint is probed.
    known: FifoMutex<Known>,
}

/// What is known of an endpoint.
#[derive(Default)]
struct Known {
    /// It serves what is expected.
    is_checked: bool,
    /// It has been there at some time.
    was_there: bool,
    /// Since when it is not.
    missing: Option<Instant>,
    /// The last probe that failed.
    failed: Option<(Instant, AskError)>,
    /// What its replies call the model. A gateway may have several names for one.
    names: BTreeSet<String>,
}

impl<J> IdentityChecked<J> {
    /// `inner`, asked while it serves what is `expected`; `None` where nothing is checked (the user gave the judge a name).
    pub fn new(inner: J, expected: Option<ExpectedIdentity>) -> Self {
        // OpenAI's own service does not report what is behind a name.
        let expected = expected.filter(|expected| !expected.endpoint.is_openai());
        let is_checked = expected.as_ref().is_some_and(|expected| expected.is_known);
        let known = FifoMutex::new(Known { is_checked, was_there: is_checked, ..Known::default() });
        Self { inner, expected, known }
    }

    /// Probes the endpoint unless it is checked.
    async fn check(&self, expected: &ExpectedIdentity) -> Result<MutexGuard<'_, Known>, AskError> {
        let came = Instant::now();
        let mut known = self.known.lock().await;
        if known.is_checked {
            return Ok(known);
        }
        if let Some((at, error)) = &known.failed
            && *at >= came
        {
            return Err(error.clone());
        }
        let Err(error) = probe(expected).await else {
            (known.is_checked, known.was_there, known.missing) = (true, true, None);
            return Ok(known);
        };
        let since = *known.missing.get_or_insert(came);
        let patience = if known.was_there { expected.endpoint.timeouts.server_gone } else { Duration::ZERO };
        let error = match error {
            AskError::Transient { message, .. } if since.elapsed() >= patience => lost(message),
            error => error,
        };
        known.failed = Some((Instant::now(), error.clone()));
        Err(error)
    }
}

fn lost(message: String) -> AskError {
    AskError::Fatal(Error::JudgeUnavailable(message))
}

/// Asks the server what it serves: a transient failure if it does not say, a fatal one if it is another model.
async fn probe(expected: &ExpectedIdentity) -> Result<(), AskError> {
    let missing = |message| AskError::Transient { message, status: None, retry_after: None };
    let ExpectedIdentity { endpoint, model, identity, .. } = expected;
    let report = async {
        wait_for_server(endpoint, Duration::ZERO, |_, _| ()).await?;
        ask_server(endpoint, Some(model)).await
    };
    let now = report.await.map_err(|error| missing(error.to_string()))?.identity;
    let url = endpoint.masked_url();
    let [id, before] = [&now, identity].map(|identity| judge_id(model, None, identity));
    if now == *identity {
        Ok(())
    } else if now.says_less_than(identity) {
        Err(missing(format!("{url} reports less of what it serves than {before}")))
    } else {
        let what = format!("{url} serves another model than this run asks ({id}, and not {before}); it is not asked");
        Err(lost(what))
    }
}

impl<J: Judge> Judge for IdentityChecked<J> {
    fn ask<'a>(&'a self, request: &'a JudgeRequest) -> AskFuture<'a> {
        let Some(expected) = &self.expected else { return self.inner.ask(request) };
        Box::pin(async move {
            drop(self.check(expected).await?);
            let result = self.inner.ask(request).await;
            match &result {
                // No connection, a broken one, or something else than a reply: it may be another server the next time.
                Err(AskError::Transient { status: None, .. }) => self.known.lock().await.is_checked = false,
                Ok(Outcome::Reply(JudgeReply { model: Some(name), .. })) => {
                    let mut known = self.known.lock().await;
                    if !known.names.is_empty() && !known.names.contains(name) {
                        known.is_checked = false;
                        drop(known);
                        known = self.check(expected).await?;
                    }
                    known.names.insert(name.clone());
                }
                _ => {}
            }
            result
        })
    }

    fn asking(&self) -> Option<usize> {
        self.inner.asking()
    }
}
