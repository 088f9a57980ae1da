//! The order in which answers are planned and judged: case by case over all systems.
//!
//! A run that stops early (a signal, a spent budget, a lost judge) then has the same cases of every system, which can be
//! compared. System by system it would have all cases of the first system and none of the others.

use std::cmp::Reverse;
use std::collections::HashMap;

use super::Job;
use crate::domain::CaseId;

/// The place of an answer: the index of its job, and its index in [`Job::items`].
pub(super) type AnswerPlace = (usize, usize);

/// The answers of these jobs case by case; within a case job by job, in the order of the items.
///
/// Cases with much text come first: at the end of a run, when fewer answers than slots are left, only short ones remain.
/// Cases of the same length keep the order of the items.
pub(super) fn case_by_case(jobs: &[Job]) -> Vec<AnswerPlace> {
    let mut cases: HashMap<&CaseId, CaseLength> = HashMap::new();
    let mut places: Vec<AnswerPlace> = Vec::new();
    for (at, job) in jobs.iter().enumerate() {
        for (index, item) in job.items.iter().enumerate() {
            let next = cases.len();
            let case = cases.entry(&item.case.case_id).or_insert(CaseLength {
                bytes: 0,
                first: next,
            });
            case.bytes += item.answer.text_bytes();
            places.push((at, index));
        }
    }
    // A stable sort: the answers of a case stay in the order of jobs and items.
    places.sort_by_key(|&(at, index)| {
        let case = &cases[&jobs[at].items[index].case.case_id];
        (Reverse(case.bytes), case.first)
    });
    places
}

/// The length of a case's answers.
struct CaseLength {
    /// Of all answers to it, in every job.
    bytes: usize,
    /// How many cases occur before it.
    first: usize,
}
