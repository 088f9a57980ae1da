//! What a judge is asked through: chat, raw completions, or a model that answers with one label.

use std::fmt;

use crate::domain::CallKind;

/// Reply limit of kinds that answer with one number.
const SCORE_TOKENS: u64 = 100;
/// Reply limit of a grade with its feedback, as published for Prometheus (ScholarQABench, `prometheus_eval.py`).
const GRADE_TOKENS: u64 = 512;
/// Reply limit of a model that answers with one label, as published for AttrScore (ScholarQABench,
/// `citation_correctness_eval.py`).
const LABEL_TOKENS: u64 = 10;

/// The route and the wire form of a judge's calls.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum EndpointKind {
    /// `POST /chat/completions`: the server makes the prompt from messages.
    #[default]
    Chat,
    /// `POST /completions`: the prompt is made here, in a named conversation format.
    Completions,
    /// `POST /completions` of a model whose whole reply is one literal label (AttrScore).
    Label,
}

impl EndpointKind {
    /// All kinds, in the order they are documented.
    pub const ALL: [Self; 3] = [Self::Chat, Self::Completions, Self::Label];

    /// The name in files and options.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Chat => "chat",
            Self::Completions => "completions",
            Self::Label => "label",
        }
    }

    /// The kind of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == name)
    }

    /// The route below the base URL.
    pub fn path(self) -> &'static str {
        match self {
            Self::Chat => "/chat/completions",
            Self::Completions | Self::Label => "/completions",
        }
    }

    /// True where the prompt is one text that is made here.
    pub fn is_raw(self) -> bool {
        self != Self::Chat
    }

    /// The reply limit in tokens of a kind of question where nobody gives another: 100 for a number or a label with
    /// its reason, 512 for a grade with feedback, 10 where the reply is nothing but a label; `None` (no limit) for
    /// claims, whose list restates the whole answer.
    pub fn default_max_tokens(self, kind: CallKind) -> Option<u64> {
        match kind {
            CallKind::Citations => None,
            CallKind::Attribution if self == Self::Label => Some(LABEL_TOKENS),
            CallKind::Aspect => Some(GRADE_TOKENS),
            CallKind::Expertise | CallKind::Property | CallKind::Evidence | CallKind::Attribution => Some(SCORE_TOKENS),
        }
    }
}

impl fmt::Display for EndpointKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_is_found_by_its_name() {
        for kind in EndpointKind::ALL {
            assert_eq!(EndpointKind::from_name(kind.as_str()), Some(kind));
        }
        assert_eq!(EndpointKind::from_name("Chat"), None);
    }

    #[test]
    fn only_a_label_model_is_held_to_ten_tokens() {
        let limits = EndpointKind::ALL.map(|kind| kind.default_max_tokens(CallKind::Attribution));
        assert_eq!(limits, [Some(100), Some(100), Some(10)]);
        assert_eq!(EndpointKind::Completions.default_max_tokens(CallKind::Aspect), Some(512));
        assert_eq!(EndpointKind::Chat.default_max_tokens(CallKind::Citations), None);
    }
}
