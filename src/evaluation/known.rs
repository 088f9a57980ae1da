//! Keys of calls that a plan has found, for the run behind it.
//!
//! To hash a body of 13 kB and to count its tokens is a good part of what a call costs us. A plan does it for every call that is
//! not paid; the run asks the same calls and takes what the plan found.

use std::collections::HashMap;
use std::fmt;
use std::hash::{BuildHasher, Hash, Hasher, RandomState};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::domain::{Fingerprint, JudgeTask};
use crate::judge::{JudgeRequest, RenderedKey};

/// So many keys are kept, some 28 MB; of a run of a million calls the rest is found out twice.
const MOST: usize = 400_000;

/// What was found, by what is asked.
///
/// A call is known by 64 bits over its place (system, case, role, item, judge, draw, attempt) and 64 bits over what it
/// asks; the answer's text belongs to the place. The hashes are keyed by chance, so that no text can be
/// written to meet another: a wrong key would be a wrong reply.
#[derive(Default)]
pub(super) struct KnownKeys {
    keyed: (RandomState, RandomState),
    found: Mutex<HashMap<[u8; 16], Found>>,
}

/// 36 bytes: no call has 2^32 tokens.
#[derive(Clone, Copy)]
struct Found {
    fingerprint: Fingerprint,
    prompt_tokens: u32,
}

impl KnownKeys {
    /// Keeps the key of this request, if it is rendered and there is room.
    pub(super) fn note(&self, request: &JudgeRequest) {
        let Some(rendered) = &request.rendered else { return };
        let Ok(prompt_tokens) = u32::try_from(rendered.prompt_tokens) else { return };
        let address = self.address(request);
        let mut found = self.lock();
        if found.len() < MOST {
            found.insert(address, Found { fingerprint: rendered.fingerprint, prompt_tokens });
        }
    }

    /// The key of a request, if it was kept.
    pub(super) fn find(&self, request: &JudgeRequest) -> Option<RenderedKey> {
        if self.lock().is_empty() {
            return None;
        }
        let address = self.address(request);
        let Found { fingerprint, prompt_tokens } = self.lock().get(&address).copied()?;
        Some(RenderedKey { fingerprint, prompt_tokens: prompt_tokens.into() })
    }

    fn address(&self, request: &JudgeRequest) -> [u8; 16] {
        let call = &request.call;
        let mut place = self.keyed.0.build_hasher();
        (request.system.as_str(), request.case_id.as_str(), &*call.role.name(), &*call.item).hash(&mut place);
        (call.member, call.draw, request.attempt).hash(&mut place);
        let mut asked = self.keyed.1.build_hasher();
        hash_own(&call.task, &mut asked);
        let mut address = [0; 16];
        address[..8].copy_from_slice(&place.finish().to_le_bytes());
        address[8..].copy_from_slice(&asked.finish().to_le_bytes());
        address
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<[u8; 16], Found>> {
        self.found.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What a task asks; of the answer, which is long and belongs to the place, the length.
fn hash_own(task: &JudgeTask, hasher: &mut impl Hasher) {
    (task.kind().as_str(), &**task.question(), task.answer().len()).hash(hasher);
    match task {
        JudgeTask::Expertise { .. } | JudgeTask::Citations { .. } => {}
        JudgeTask::Property { criterion, .. } => criterion.hash(hasher),
        JudgeTask::Evidence { snippets, .. } => snippets.hash(hasher),
        JudgeTask::Aspect { aspect, instruction, reference, .. } => {
            (&aspect.name, &aspect.criteria_description, &aspect.score_descriptions).hash(hasher);
            (instruction, reference).hash(hasher);
        }
        JudgeTask::Attribution { claim, .. } => claim.hash(hasher),
    }
}

impl fmt::Debug for KnownKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} known keys", self.lock().len())
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;
    use crate::domain::{JudgeCall, Role};
    use crate::judge::Rendered;

    fn request(criterion: &str) -> JudgeRequest {
        let task = JudgeTask::Property { question: "q".into(), answer: "a".into(), criterion: criterion.into() };
        JudgeRequest {
            call: JudgeCall { item: "p".into(), role: Role::Rubric, task, draw: 0, member: 0 },
            system: "s".into(),
            case_id: "c".into(),
            attempt: 0,
            rendered: Some(Rendered {
                body: Bytes::new(),
                fingerprint: Fingerprint::from([7; 32]),
                prompt_tokens: 12,
                max_tokens: None,
                note: None,
                is_unpaid: false,
            }),
        }
    }

    #[test]
    fn a_key_is_found_for_the_very_call_that_had_it() {
        let known = KnownKeys::default();
        let noted = request("x");
        assert_eq!(known.find(&noted), None);
        known.note(&noted);
        let key = RenderedKey { fingerprint: Fingerprint::from([7; 32]), prompt_tokens: 12 };
        assert_eq!(known.find(&JudgeRequest { rendered: None, ..noted.clone() }), Some(key));
        let of_call = |change: &dyn Fn(&mut JudgeCall)| {
            let mut other = noted.clone();
            change(&mut other.call);
            other
        };
        for other in [
            request("y"),
            JudgeRequest { attempt: 1, ..noted.clone() },
            JudgeRequest { system: "t".into(), ..noted.clone() },
            JudgeRequest { case_id: "d".into(), ..noted.clone() },
            of_call(&|call| call.draw = 1),
            of_call(&|call| call.member = 1),
            of_call(&|call| call.item = "p2".into()),
        ] {
            assert_eq!(known.find(&other), None, "{other:?}");
        }
    }

    #[test]
    fn what_has_no_key_is_not_kept() {
        let known = KnownKeys::default();
        known.note(&JudgeRequest { rendered: None, ..request("x") });
        assert_eq!(known.find(&request("x")), None);
    }
}
