//! How many samples a vote needs: no more are taken once none that is left could change it.
//!
//! Samples whose most common verdict counts are taken in rounds. Each round has the fewest further samples after which the vote
//! may be settled, so that they are asked at once and none is asked in vain. The verdict is that of all samples.

use super::panel::Member;
use crate::domain::Mode;
use crate::question::{JudgeCall, Sample};

/// The first samples, which are always taken: they alone show how much a judge's verdicts vary, since the others are taken only
/// where these differ.
const ALWAYS: u32 = 2;

/// The number of samples that a call takes in any case.
pub(super) fn sure_samples(call: &JudgeCall, member: &Member, mode: Mode) -> u32 {
    let all = member.samples.max(1);
    if member.decider.is_some() {
        // Its requests ask many questions, which would each have another number.
        return all;
    }
    let items = vec![Vec::new(); call.items().len()];
    let needed = further_samples(call, member, mode, &items, all);
    needed.max(ALWAYS).min(all)
}

/// The number of samples of the next round, of the `left` ones that may follow these, which are those of each item; 0 if the vote
/// is settled.
pub(super) fn further_samples(
    call: &JudgeCall,
    member: &Member,
    mode: Mode,
    items: &[Vec<Sample>],
    left: u32,
) -> u32 {
    let mut further = 0;
    for samples in items {
        // A call about several criteria is asked again until the vote on each of them is settled.
        let needed = call
            .question
            .samples_needed(samples, left as usize, member.merge, mode);
        further = further.max(needed);
    }
    u32::try_from(further).unwrap_or(left).min(left)
}
