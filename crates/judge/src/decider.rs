//! How a decision model is asked: what of a question it decides, and how many decisions stand in one request.

use std::sync::Arc;

use super::kind::JudgeKind;
use crate::prompt::PromptSet;
use scholareval_core::question::{ChunkItem, DecisionChunk, DecisionShape, JudgeCall, KindInfo};

/// How the questions to a decision model are gathered into requests.
///
/// A recorded run is read again with the bounds that it was made with, so that the same requests are looked up: what is
/// asked together decides the reply.
#[derive(Debug, Clone)]
pub struct Decider {
    prompts: Arc<PromptSet>,
    shape: DecisionShape,
    /// The most decisions of a request, >= 1.
    most: usize,
}

impl Decider {
    /// That of a judge of this kind, with at most so many decisions a request; `None` for judges that write text.
    pub fn new(kind: JudgeKind, prompts: Arc<PromptSet>, most: usize) -> Option<Self> {
        let shape = kind.protocol().decision_shape()?;
        Some(Self {
            prompts,
            shape,
            most: most.max(1),
        })
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
            decisions <= self.most
        });
        fits.count().max(1)
    }

    /// The request that asks these items.
    pub fn chunk(&self, items: &[ChunkItem]) -> DecisionChunk {
        DecisionChunk {
            shape: self.shape,
            items: items.into(),
        }
    }
}
