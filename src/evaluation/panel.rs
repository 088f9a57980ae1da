//! Who is asked: a role has one judge, or a panel of several.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::merge::Merge;
use crate::domain::Role;
use crate::judge::Judge;
use crate::judge::planner::{NoReplies, ReplySource};
use crate::judge::render::{NoRendering, Renderer};

/// One judge of a panel, with how it is asked.
#[derive(Clone)]
pub struct Member {
    /// Asks for real.
    pub judge: Arc<dyn Judge>,
    /// Calls to bytes.
    pub renderer: Arc<dyn Renderer>,
    /// Replies already paid.
    pub source: Arc<dyn ReplySource>,
    /// Its identity, for records.
    pub judge_id: Arc<str>,
    /// Draws of every call (>= 1).
    pub samples: u32,
    /// How its draws become one verdict.
    pub merge: Merge,
    /// Whether a score is the probability-weighted mean over the alternatives of its token, where the server tells them.
    pub expected: bool,
}

impl Member {
    /// A judge that answers the task itself, asked once, of which nothing is paid yet.
    pub fn new(judge: Arc<dyn Judge>, judge_id: impl Into<Arc<str>>) -> Self {
        Self {
            judge,
            renderer: Arc::new(NoRendering),
            source: Arc::new(NoReplies),
            judge_id: judge_id.into(),
            samples: 1,
            merge: Merge::default(),
            expected: false,
        }
    }
}

/// The judges of one role; with more than one each gives a verdict, and the panel's is made from them.
#[derive(Clone)]
pub struct Panel {
    /// Its judges; not empty.
    pub members: Vec<Member>,
    /// How their verdicts become one.
    pub merge: Merge,
}

impl Panel {
    /// One judge alone.
    pub fn of_one(member: Member) -> Self {
        Self { members: vec![member], merge: Merge::Mean }
    }
}

/// The panels of a run by role. What is asked of a role without one stays unscored, with that reason.
#[derive(Clone, Default)]
pub struct Panels {
    by_role: BTreeMap<Role, Panel>,
}

impl Panels {
    /// Nobody is asked.
    pub fn none() -> Self {
        Self::default()
    }

    /// The same with this panel for that role.
    #[must_use]
    pub fn with(mut self, role: Role, panel: Panel) -> Self {
        self.by_role.insert(role, panel);
        self
    }

    /// The panel of that role.
    pub fn of(&self, role: &Role) -> Option<&Panel> {
        self.by_role.get(role)
    }

    /// Every judge of every role.
    pub fn members(&self) -> impl Iterator<Item = &Member> {
        self.by_role.values().flat_map(|panel| &panel.members)
    }
}

impl std::fmt::Debug for Panels {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let ids = |panel: &Panel| panel.members.iter().map(|member| Arc::clone(&member.judge_id)).collect::<Vec<_>>();
        f.debug_map().entries(self.by_role.iter().map(|(role, panel)| (role.name(), ids(panel)))).finish()
    }
}
