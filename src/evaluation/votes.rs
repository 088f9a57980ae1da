//! How many samples a vote needs: no more are taken once none that is left could change it.
//!
//! Samples whose most common verdict counts are taken in rounds. Each round has the fewest further samples after which the vote
//! may be settled, so that they are asked at once and none is asked in vain. The verdict is that of all samples.

use super::panel::Member;
use crate::domain::Mode;
use crate::question::{JudgeCall, Question, Sample};

/// The first samples, which are always taken: they alone show how much a judge's verdicts vary, since the others are taken only
/// where these differ.
const ALWAYS: u32 = 2;

/// The number of samples that a call takes in any case.
pub(super) fn sure_samples(call: &JudgeCall, member: &Member, mode: Mode) -> u32 {
    let all = member.samples.max(1);
    let needed = further_samples(call, member, mode, Vec::new(), all);
    needed.max(ALWAYS).min(all)
}

/// The number of samples of the next round, of the `left` ones that may follow these; 0 if the vote is settled.
pub(super) fn further_samples(
    call: &JudgeCall,
    member: &Member,
    mode: Mode,
    samples: Vec<Sample>,
    left: u32,
) -> u32 {
    let question = &*call.question;
    let items = by_item(question, samples, call.items().len());
    let mut further = 0;
    for samples in items {
        // A call about several criteria is asked again until the vote on each of them is settled.
        let needed = question.samples_needed(&samples, left as usize, member.merge, mode);
        further = further.max(needed);
    }
    u32::try_from(further).unwrap_or(left).min(left)
}

/// The samples of each of so many items; a question about one thing has one.
pub(super) fn by_item(
    question: &dyn Question,
    samples: Vec<Sample>,
    count: usize,
) -> Vec<Vec<Sample>> {
    if count == 1 {
        return vec![samples];
    }
    let mut items: Vec<Vec<Sample>> = vec![Vec::new(); count];
    for sample in samples {
        let parts = question.split(&sample.judgment);
        for (item, judgment) in items.iter_mut().zip(parts) {
            item.push(judgment.into());
        }
    }
    items
}
