//! How far the verdicts of a decision model depend on what stands around a question: the order of its options, and the other
//! questions of its request.

use std::sync::Arc;

use super::units::SampleCall;
use crate::domain::{Item, Mode, UnscoredReason, Verdict};
use crate::judge::{JudgeRequest, Outcome};
use crate::question::{ChunkItem, DecisionChunk, JudgeCall};

/// How many questions are asked again.
const SAMPLE: usize = 10;

/// How many verdicts about one answer changed when its questions were asked again.
#[derive(Debug, Clone, Copy)]
pub struct Flips {
    /// In the same request.
    pub repeated: Changed,
    /// With their options in the other order.
    pub reversed: Changed,
    /// One by one.
    pub alone: Changed,
}

/// A number of changed verdicts.
#[derive(Debug, Clone, Copy, Default)]
pub struct Changed {
    /// Those that changed.
    pub changed: usize,
    /// Those that were given both times.
    pub of: usize,
}

impl Flips {
    /// Asks the first questions of this request about an answer again; `None` for a judge that writes text.
    pub(super) async fn of(unit: &SampleCall<'_>, item: &Item) -> Option<Self> {
        let whole = unit.call.question.downcast_ref::<DecisionChunk>()?;
        let count = whole.items.len().min(SAMPLE);
        let chunk = whole.of(&whole.items[..count]);
        let first = verdicts(unit, item, chunk.clone()).await;
        let repeated = verdicts(unit, item, chunk.clone()).await;
        let other_order = DecisionChunk {
            is_reversed: true,
            ..chunk.clone()
        };
        let mut reversed = verdicts(unit, item, other_order).await;
        let mut alone = Vec::new();
        for (at, asked) in chunk.items.iter().enumerate() {
            if !is_reversible(asked) {
                reversed[at] = None;
            }
            let of_item = chunk.of(std::slice::from_ref(asked));
            alone.extend(verdicts(unit, item, of_item).await);
        }
        Some(Self {
            repeated: Changed::between(&first, &repeated),
            reversed: Changed::between(&first, &reversed),
            alone: Changed::between(&first, &alone),
        })
    }
}

impl Changed {
    fn between(first: &[Option<Verdict>], again: &[Option<Verdict>]) -> Self {
        let mut counted = Self::default();
        for (first, again) in first.iter().zip(again) {
            if first.is_some() && again.is_some() {
                counted.of += 1;
                counted.changed += usize::from(first != again);
            }
        }
        counted
    }
}

fn is_reversible(item: &ChunkItem) -> bool {
    let mut decisions = item.decisions.iter();
    decisions.any(|decision| decision.is_reversible())
}

/// The verdict on each item of a chunk, by the judge of this request.
async fn verdicts(
    unit: &SampleCall<'_>,
    item: &Item,
    chunk: DecisionChunk,
) -> Vec<Option<Verdict>> {
    let call = JudgeCall {
        item: chunk.name(),
        question: Arc::new(chunk),
        ..unit.call.clone()
    };
    let renderer = unit.member.renderer.as_ref();
    let request = JudgeRequest {
        system: item.system(),
        case_id: item.case.case_id.clone(),
        attempt: 0,
        rendered: renderer.map(|renderer| renderer.render(&call, 0)),
        call,
    };
    let question = &request.call.question;
    let judgment = match unit.member.judge.ask(&request).await {
        Ok(Outcome::Reply(reply)) => question
            .parse(&reply, Mode::Default)
            .map_err(UnscoredReason::from),
        // A check continues: its first call reports what is wrong with the judge.
        _ => return vec![None; question.items().len()],
    };
    let judgments = question.split(&judgment).into_iter();
    judgments
        .map(|judgment| judgment.ok().map(|reading| reading.verdict))
        .collect()
}
