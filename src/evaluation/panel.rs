//! Judges of a role: one judge, or a panel of several.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::domain::{GradeMerge, Role};
use crate::judge::Judge;
use crate::judge::answering::Answering;
use crate::judge::decider::Decider;
use crate::judge::planner::ReplySource;
use crate::judge::render::Renderer;

/// One judge of a panel, with its settings.
#[derive(Clone)]
pub struct Member {
    /// The judge with its layers.
    pub judge: Arc<dyn Judge>,
    /// Renders calls to requests; `None` for judges that answer the task itself.
    pub renderer: Option<Arc<Renderer>>,
    /// Cached replies.
    pub source: Arc<dyn ReplySource>,
    /// Which cached replies count; `None` without a cache.
    pub answering: Option<Arc<Answering>>,
    /// Counts the calls that are with the judge right now, without those that wait for a permit or a pause; `None` where
    /// they are not counted. A run that is stopped waits no longer than for these.
    pub in_flight: Option<Arc<dyn Fn() -> usize + Send + Sync>>,
    /// Its identity, for records.
    pub judge_id: Arc<str>,
    /// Samples per call (>= 1).
    pub samples: u32,
    /// How its samples are merged.
    pub merge: GradeMerge,
    /// How a decision model is asked; `None` for judges that write text.
    pub decider: Option<Decider>,
    /// Whether a score is the probability-weighted mean over the alternatives of its token, where the server reports
    /// them.
    pub expected: bool,
}

impl Member {
    /// A judge that answers the task itself, with one sample per call and no cached replies.
    pub fn new(judge: Arc<dyn Judge>, judge_id: impl Into<Arc<str>>) -> Self {
        Self {
            judge,
            renderer: None,
            source: Arc::new(Vec::<Arc<dyn ReplySource>>::new()),
            answering: None,
            in_flight: None,
            judge_id: judge_id.into(),
            samples: 1,
            merge: GradeMerge::default(),
            decider: None,
            expected: false,
        }
    }
}

/// The judges of one role. Several judges each give a verdict; these are merged into the panel's.
#[derive(Clone)]
pub struct Panel {
    /// Its judges; not empty.
    pub members: Vec<Member>,
    /// How their verdicts are merged.
    pub merge: GradeMerge,
}

impl Panel {
    /// A panel of one judge.
    pub fn of_one(member: Member) -> Self {
        Self {
            members: vec![member],
            merge: GradeMerge::Mean,
        }
    }
}

/// The panels of a run by role. Calls of a role without a panel stay unscored for that reason.
pub type Panels = BTreeMap<Role, Panel>;
