//! The judge that only counts: it knows replies that are already paid, and defers everything else.
//!
//! Planning is the same pipeline with this judge. What it answers is final (an answer whose replies are all known
//! is scored by it); what it defers is what a run would ask.

use std::sync::Arc;

use super::{AskError, AskFuture, Judge, JudgeRequest, Outcome};
use crate::domain::JudgeReply;
use crate::error::Result;

/// Somewhere replies are kept: the cache, or the record of an earlier run.
pub trait ReplySource: Send + Sync {
    /// The reply to this very request, if it is kept.
    ///
    /// # Errors
    /// When the place cannot be read.
    fn find(&self, request: &JudgeRequest) -> Result<Option<JudgeReply>>;
}

/// Knows nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoReplies;

impl ReplySource for NoReplies {
    fn find(&self, _request: &JudgeRequest) -> Result<Option<JudgeReply>> {
        Ok(None)
    }
}

/// Answers from a [`ReplySource`], and defers what it does not hold.
#[derive(Clone)]
pub struct Planner {
    source: Arc<dyn ReplySource>,
}

impl Planner {
    /// A planner over that source.
    pub fn new(source: Arc<dyn ReplySource>) -> Self {
        Self { source }
    }
}

impl Judge for Planner {
    fn ask<'a>(&'a self, request: &'a JudgeRequest) -> AskFuture<'a> {
        let outcome = match self.source.find(request) {
            Ok(Some(reply)) => Ok(Outcome::Reply(JudgeReply { cached: true, ..reply })),
            Ok(None) => Ok(Outcome::Deferred),
            Err(error) => Err(AskError::Fatal(error)),
        };
        Box::pin(std::future::ready(outcome))
    }
}

/// Takes from a [`ReplySource`] what it holds, and asks the inner judge for the rest: a run without a cache is resumed
/// so from its own record.
pub struct Recalling<J> {
    source: Arc<dyn ReplySource>,
    inner: J,
}

impl<J> Recalling<J> {
    /// `inner`, after `source`.
    pub fn new(source: Arc<dyn ReplySource>, inner: J) -> Self {
        Self { source, inner }
    }
}

impl<J: Judge> Judge for Recalling<J> {
    fn ask<'a>(&'a self, request: &'a JudgeRequest) -> AskFuture<'a> {
        match self.source.find(request) {
            Ok(Some(reply)) => Box::pin(std::future::ready(Ok(Outcome::Reply(JudgeReply { cached: true, ..reply })))),
            Ok(None) => self.inner.ask(request),
            Err(error) => Box::pin(std::future::ready(Err(AskError::Fatal(error)))),
        }
    }

    fn asking(&self) -> Option<usize> {
        self.inner.asking()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{CaseId, JudgeCall, JudgeTask, Role, SystemName};

    struct Knows(&'static str);

    impl ReplySource for Knows {
        fn find(&self, request: &JudgeRequest) -> Result<Option<JudgeReply>> {
            Ok((&*request.call.item == self.0).then(|| JudgeReply::of_text("{\"score\": 1}")))
        }
    }

    fn request(item: &str) -> JudgeRequest {
        JudgeRequest {
            call: JudgeCall {
                item: item.into(),
                role: Role::Rubric,
                task: JudgeTask::Expertise { question: "q".into(), answer: "a".into() },
                draw: 0,
                member: 0,
            },
            system: SystemName::from("s"),
            case_id: CaseId::from("c"),
            attempt: 0,
            rendered: None,
        }
    }

    #[tokio::test]
    async fn known_replies_are_given_as_cached_and_unknown_ones_deferred() {
        let planner = Planner::new(Arc::new(Knows("expertise")));
        let Ok(Outcome::Reply(reply)) = planner.ask(&request("expertise")).await else { panic!("expected a reply") };
        assert!(reply.cached);
        assert_eq!(planner.ask(&request("other")).await.ok(), Some(Outcome::Deferred));
    }

    #[tokio::test]
    async fn recalling_asks_only_for_what_is_not_kept() {
        let recalling = Recalling::new(Arc::new(Knows("expertise")), Planner::new(Arc::new(NoReplies)));
        assert!(matches!(recalling.ask(&request("expertise")).await, Ok(Outcome::Reply(reply)) if reply.cached));
        assert_eq!(recalling.ask(&request("other")).await.ok(), Some(Outcome::Deferred));
    }
}
