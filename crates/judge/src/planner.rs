//! Replies of earlier calls: planning uses nothing else, and a resumed run uses them first.
//!
//! A plan goes the same way as a run, with a judge that only recalls; a second way, which only counts, would sooner or later
//! count something else than a run asks.

use std::sync::Arc;

use super::{AskError, AskFuture, Judge, JudgeRequest, Outcome};
use scholareval_core::domain::{JudgeReply, UnscoredReason};
use scholareval_core::error::Result;

/// Stored replies: the cache, or the record of an earlier run.
pub trait ReplySource: Send + Sync {
    /// The reply to this request, if there is one.
    ///
    /// # Errors
    /// When the replies cannot be read.
    fn find(&self, request: &JudgeRequest) -> Result<Option<JudgeReply>>;

    /// Why the server refused the text of this request, if it did: then it would refuse it again.
    ///
    /// # Errors
    /// When the record cannot be read.
    fn refusal(&self, _request: &JudgeRequest) -> Result<Option<UnscoredReason>> {
        Ok(None)
    }
}

/// The first of several sources that has the reply; none of an empty list.
impl ReplySource for Vec<Arc<dyn ReplySource>> {
    fn find(&self, request: &JudgeRequest) -> Result<Option<JudgeReply>> {
        for source in self {
            let reply = source.find(request)?;
            if reply.is_some() {
                return Ok(reply);
            }
        }
        Ok(None)
    }

    fn refusal(&self, request: &JudgeRequest) -> Result<Option<UnscoredReason>> {
        for source in self {
            let refusal = source.refusal(request)?;
            if refusal.is_some() {
                return Ok(refusal);
            }
        }
        Ok(None)
    }
}

/// The reply to this request in that source, flagged as cached; else the refusal of its text.
///
/// # Errors
/// [`AskError::Fatal`] when the source cannot be read.
pub fn recall(
    source: &dyn ReplySource,
    request: &JudgeRequest,
) -> Result<Option<Outcome>, AskError> {
    if let Some(reply) = source.find(request).map_err(AskError::Fatal)? {
        return Ok(Some(Outcome::Reply(JudgeReply {
            cached: true,
            ..reply
        })));
    }
    let refusal = source.refusal(request).map_err(AskError::Fatal)?;
    Ok(refusal.map(Outcome::Unscored))
}

/// Answers from a [`ReplySource`] and asks the inner judge for the rest. A run is resumed from its record this way,
/// with or without its cache.
pub(crate) struct Recalling<J> {
    source: Arc<dyn ReplySource>,
    inner: J,
}

impl<J> Recalling<J> {
    /// `inner`, after `source`.
    pub(crate) fn new(source: Arc<dyn ReplySource>, inner: J) -> Self {
        Self { source, inner }
    }
}

impl<J: Judge> Judge for Recalling<J> {
    fn ask<'a>(&'a self, request: &'a JudgeRequest) -> AskFuture<'a> {
        match recall(&*self.source, request).transpose() {
            Some(recalled) => Box::pin(std::future::ready(recalled)),
            None => self.inner.ask(request),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use scholareval_core::domain::{CaseId, Role, SystemName};
    use scholareval_core::question::{Expertise, JudgeCall};

    struct Knows(&'static str);

    impl ReplySource for Knows {
        fn find(&self, request: &JudgeRequest) -> Result<Option<JudgeReply>> {
            Ok((&*request.call.item == self.0).then(|| JudgeReply::of_text("{\"score\": 1}")))
        }
    }

    fn request(item: &str) -> JudgeRequest {
        JudgeRequest {
            call: JudgeCall::new(
                item,
                Role::Rubric,
                Expertise {
                    question: "q".into(),
                    answer: "a".into(),
                },
            ),
            system: SystemName::from("s"),
            case_id: CaseId::from("c"),
            attempt: 0,
            rendered: None,
        }
    }

    #[tokio::test]
    async fn recalling_asks_only_for_missing_replies() {
        struct Defers;
        impl Judge for Defers {
            fn ask<'a>(&'a self, _: &'a JudgeRequest) -> AskFuture<'a> {
                Box::pin(std::future::ready(Ok(Outcome::Deferred)))
            }
        }
        let recalling = Recalling::new(Arc::new(Knows("expertise")), Defers);
        assert!(
            matches!(recalling.ask(&request("expertise")).await, Ok(Outcome::Reply(reply)) if reply.cached)
        );
        assert_eq!(
            recalling.ask(&request("other")).await.ok(),
            Some(Outcome::Deferred)
        );
    }
}
