//! How a decision model is asked: what of a question it decides, and how many decisions stand in one request.

use std::sync::Arc;

use super::decision_bounds::DecisionBounds;
use super::kind::JudgeKind;
use crate::prompt::PromptSet;
use scholareval_core::domain::CriteriaLayout;
use scholareval_core::question::{ChunkItem, DecisionChunk, DecisionShape, JudgeCall, KindInfo};

/// How the questions to a decision model are gathered into requests.
///
/// A recorded run is read again with the bounds that it was made with, so that the same requests are looked up: what is
/// asked together decides the reply.
#[derive(Debug, Clone)]
pub struct Decider {
    prompts: Arc<PromptSet>,
    shape: DecisionShape,
    bounds: DecisionBounds,
}

impl Decider {
    /// That of a judge of this kind within these bounds; `None` for judges that write text.
    pub fn new(kind: JudgeKind, prompts: Arc<PromptSet>, bounds: DecisionBounds) -> Option<Self> {
        let shape = kind.protocol().decision_shape()?;
        Some(Self {
            prompts,
            shape,
            bounds,
        })
    }

    /// What one request may hold.
    pub fn bounds(&self) -> DecisionBounds {
        self.bounds
    }

    /// The same with at most so many decisions a request.
    #[must_use]
    pub fn at_most(&self, questions: usize) -> Self {
        Self {
            bounds: self.bounds.at_most(questions),
            ..self.clone()
        }
    }

    /// The items of a call with the decisions that settle them; empty if its question cannot be asked this way.
    pub fn items(&self, call: &JudgeCall) -> Vec<ChunkItem> {
        let decisions = self.prompts.decisions(&*call.question);
        let mut items = Vec::new();
        for (name, decisions) in call.items().into_iter().zip(decisions) {
            items.push(ChunkItem {
                name,
                question: Arc::clone(&call.question),
                decisions,
            });
        }
        items
    }

    /// Whether this kind of question is asked in the built-in words, though the prompts are others.
    pub fn uses_builtin_text(&self, info: &KindInfo) -> bool {
        let family = self.prompts.family(info);
        family.is_some_and(|family| !family.is_builtin()) && !self.prompts.has_decision(info)
    }

    /// How many of these items, from the first on, one request asks: as many as the bound allows, at least one.
    pub fn fitting(&self, items: &[ChunkItem]) -> usize {
        let mut decisions = 0;
        let fits = items.iter().take_while(|item| {
            decisions += item.decisions.len();
            decisions <= self.bounds.questions
        });
        fits.count().max(1)
    }

    /// How many options a choice among these items has, if they are more than the servers take.
    pub fn options_too_many(&self, items: &[ChunkItem]) -> Option<usize> {
        let decisions = items.iter().flat_map(|item| &item.decisions);
        let most = decisions.map(|decision| decision.options.len()).max()?;
        (most > self.bounds.options).then_some(most)
    }

    /// The request that asks these items.
    pub fn chunk(&self, items: &[ChunkItem]) -> DecisionChunk {
        DecisionChunk {
            shape: self.shape,
            is_reversed: items
                .iter()
                .any(|item| item.question.layout() == CriteriaLayout::LevelsReversed),
            items: items.into(),
        }
    }
}
