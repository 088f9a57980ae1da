//! Counts who answered, in a manifest.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::Path;

use serde::Deserialize;

use super::answered::{AnsweredJudge, AnsweringModel};
use super::lines::LineReader;
use super::manifest::Manifest;
use super::role::{JudgeEntry, RoomUse};
use crate::domain::{CallId, ModelEnd, Role};
use crate::error::Result;
use crate::question::TOO_LONG;
use crate::text::names::without_directories;

/// Longest name that is recorded, in characters: names come from servers.
const MAX_NAME: usize = 200;

/// The fields of a line of `calls.jsonl` that say who answered.
#[derive(Deserialize)]
struct AnsweredCall {
    call_id: CallId,
    role: Role,
    judge: String,
    #[serde(default)]
    room: u64,
    reply: Option<ReplyIdentity>,
}

/// The rooms of one judge's replies in a role.
#[derive(Default)]
struct RoomCount {
    /// Replies by the tokens of their room.
    replies: BTreeMap<u64, u64>,
    /// The room of the last reply to each call that was cut.
    cut: HashMap<CallId, u64>,
    asked_again: HashSet<CallId>,
    repeats: u64,
}

impl RoomCount {
    fn add(&mut self, call: &AnsweredCall, is_cut: bool) {
        *self.replies.entry(call.room).or_default() += 1;
        if self
            .cut
            .get(&call.call_id)
            .is_some_and(|room| *room < call.room)
        {
            self.asked_again.insert(call.call_id);
            self.repeats += 1;
        }
        if is_cut {
            self.cut.insert(call.call_id, call.room);
        }
    }

    /// The sums; `None` where no reply had room.
    fn total(&self) -> Option<RoomUse> {
        let with_room = self.replies.iter().filter(|(room, _)| **room > 0);
        let (tokens, _) = with_room.max_by_key(|(_, replies)| **replies)?;
        Some(RoomUse {
            tokens: *tokens,
            calls: self.replies.values().sum::<u64>() - self.repeats,
            asked_again: self.asked_again.len() as u64,
        })
    }
}

#[derive(Deserialize)]
struct ReplyIdentity {
    model: Option<String>,
    system_fingerprint: Option<String>,
    #[serde(default)]
    finish_reason: Option<String>,
    end: Option<ModelEnd>,
    #[serde(default)]
    cached: bool,
}

impl Manifest {
    /// Counts which models the replies in `calls.jsonl` of this directory name.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub(super) fn count_answers(&mut self, dir: &Path) -> Result<()> {
        for role in self.roles.values_mut() {
            for judge in &mut role.judges {
                // Counted anew from the file, which holds the calls of all sessions: adding would
                // count earlier ones twice.
                judge.answered_by.clear();
                judge.room = None;
            }
        }
        // Lenient: a torn line must not keep a run from being finished.
        let Some(mut lines) = LineReader::to_resume(&dir.join("calls.jsonl"))? else {
            return Ok(());
        };
        let mut rooms: HashMap<(Role, String), RoomCount> = HashMap::new();
        while let Some((_, mut call)) = lines.read::<AnsweredCall>()? {
            // A failed call has no model: counting it would make a run with failures look mixed.
            let Some(reply) = call.reply.take() else {
                continue;
            };
            // The server's refusal in place of a reply.
            if reply.finish_reason.as_deref() == Some(TOO_LONG) {
                continue;
            }
            let own_rooms = rooms.entry((call.role.clone(), call.judge.clone()));
            let is_cut = reply.finish_reason.as_deref() == Some("length");
            own_rooms.or_default().add(&call, is_cut);
            let Some(role) = self.roles.get_mut(&*call.role.name()) else {
                continue;
            };
            let mut judges = role.judges.iter_mut();
            if let Some(judge) = judges.find(|judge| judge.id == call.judge) {
                let counted = model_among(&mut judge.answered_by, recorded_name(reply.model));
                counted.calls += 1;
                // A cached reply has what was stated when it came.
                if !reply.cached && reply.end.is_some() {
                    judge.end = reply.end;
                }
                if let Some(fingerprint) = recorded_name(reply.system_fingerprint) {
                    counted.add_fingerprint(fingerprint, 1);
                }
            }
        }
        for ((role, id), count) in rooms {
            let role = self.roles.get_mut(&*role.name());
            let mut judges = role.into_iter().flat_map(|role| &mut role.judges);
            if let Some(judge) = judges.find(|judge| judge.id == id) {
                judge.room = count.total();
            }
        }
        Ok(())
    }

    /// Whether nobody has counted yet who answered: the run was killed, or written before this was recorded.
    pub(super) fn misses_answers(&self) -> bool {
        let mut judges = self.roles.values().flat_map(|role| &role.judges);
        judges.all(|judge| judge.answered_by.is_empty())
    }

    /// Whether every judge is a decision model, of which there is at least one.
    pub fn asks_only_decision_models(&self) -> bool {
        let mut judges = self.roles.values().flat_map(|role| &role.judges).peekable();
        judges.peek().is_some() && judges.all(|judge| judge.decider().is_some())
    }

    /// Every judge with the models that answered for it; one that has several roles once.
    pub fn answered_judges(&self) -> Vec<AnsweredJudge> {
        let mut answered: Vec<AnsweredJudge> = Vec::new();
        for entry in self.roles.values().flat_map(|role| &role.judges) {
            let known = answered.iter().position(|judge| judge.id == entry.id);
            let place = known.unwrap_or(answered.len());
            if known.is_none() {
                answered.push(answered_judge(entry));
            }
            for answering_model in &entry.answered_by {
                let model = model_among(&mut answered[place].models, answering_model.model.clone());
                model.calls += answering_model.calls;
                for (fingerprint, calls) in &answering_model.fingerprints {
                    model.add_fingerprint(fingerprint.clone(), *calls);
                }
            }
        }
        answered
    }
}

/// The judge of that entry, without the models that answered.
fn answered_judge(entry: &JudgeEntry) -> AnsweredJudge {
    AnsweredJudge {
        judge: entry.name().to_owned(),
        requested: entry.model.clone(),
        models: Vec::new(),
        is_lexical: entry.lexical,
        id: entry.id.clone(),
    }
}

/// The entry of the model with that name, which is added in the order of names if it is new.
fn model_among(models: &mut Vec<AnsweringModel>, name: Option<String>) -> &mut AnsweringModel {
    let place = models.partition_point(|known| known.model < name);
    if models.get(place).is_none_or(|known| known.model != name) {
        let model = AnsweringModel {
            model: name,
            ..AnsweringModel::default()
        };
        models.insert(place, model);
    }
    &mut models[place]
}

/// A name as it is recorded: not empty, and not longer than [`MAX_NAME`].
fn recorded_name(name: Option<String>) -> Option<String> {
    let name: String = without_directories(&name?).chars().take(MAX_NAME).collect();
    Some(name).filter(|name| !name.is_empty())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::record::RoleEntry;

    fn answering(model: &str, calls: u64, fingerprints: &[&str]) -> AnsweringModel {
        AnsweringModel {
            model: Some(model.to_owned()),
            calls,
            fingerprints: fingerprints
                .iter()
                .map(|name| ((*name).to_owned(), 1))
                .collect(),
        }
    }

    /// A run in which these models answered for the judge `gpt-4o` as `rubric` and as `citation`.
    fn run(rubric: &[AnsweringModel], citation: &[AnsweringModel]) -> Manifest {
        let role = |answered: &[AnsweringModel]| RoleEntry {
            judges: vec![JudgeEntry {
                id: "gpt-4o".to_owned(),
                model: Some("gpt-4o".to_owned()),
                answered_by: answered.to_vec(),
                ..JudgeEntry::default()
            }],
            ..RoleEntry::default()
        };
        let roles = [("rubric", rubric), ("citation", citation)];
        Manifest {
            roles: roles
                .into_iter()
                .map(|(name, answered)| (name.to_owned(), role(answered)))
                .collect(),
            ..Manifest::default()
        }
    }

    #[test]
    fn several_models_are_a_warning_even_if_each_has_its_own_role() {
        let dated = answering("gpt-4o-2024-08-06", 4, &[]);
        let other = answering("gpt-5", 1, &[]);
        let judge = run(&[dated], &[other]).answered_judges().remove(0);
        assert!(judge.is_mixed());
        assert_eq!(
            judge.warning().unwrap(),
            "Several models answered as judge gpt-4o: gpt-4o-2024-08-06 (4 calls), gpt-5 (1 call); their scores are not \
             comparable, so score again with another --out"
        );
        assert_eq!(
            judge.label(),
            "gpt-4o (answered by gpt-4o-2024-08-06 and gpt-5)"
        );
    }

    #[test]
    fn another_name_is_shown_and_noted_unless_it_extends_the_requested_one() {
        let judge = |model: &str| {
            let models = [answering(model, 3, &[])];
            run(&models, &models).answered_judges().remove(0)
        };
        let same = judge("gpt-4o");
        assert_eq!((same.label().as_str(), same.warning()), ("gpt-4o", None));
        let dated = judge("gpt-4o-2024-08-06");
        assert_eq!(dated.label(), "gpt-4o (answered by gpt-4o-2024-08-06)");
        assert_eq!(dated.warning(), None);
        let other = judge("gpt-4.1");
        assert_eq!(
            other.warning().unwrap(),
            "Judge gpt-4o was requested, and gpt-4.1 answered"
        );
        assert_eq!(other.models[0].calls, 6);
    }

    #[test]
    fn replies_without_a_model_contradict_nothing() {
        let unnamed = AnsweringModel {
            calls: 2,
            ..AnsweringModel::default()
        };
        let named = answering("gpt-4o", 2, &["fp_a", "fp_b"]);
        let judge = run(&[unnamed, named], &[]).answered_judges().remove(0);
        assert_eq!(judge.warning(), None);
    }

    #[test]
    fn calls_are_counted_by_role_judge_and_model() {
        let dir = tempfile::tempdir().unwrap();
        let line = |role: &str, judge: &str, reply: &str| {
            let call_id = "0".repeat(32);
            format!(
                "{{\"call_id\":\"{call_id}\",\"role\":\"{role}\",\"judge\":\"{judge}\",\"reply\":{reply}}}\n"
            )
        };
        let named = r#"{"model":"gpt-4o-2024-08-06","system_fingerprint":"fp"}"#;
        let text = [
            line("rubric", "gpt-4o", named),
            line("rubric", "gpt-4o", named),
            line("rubric", "gpt-4o", "null"),
            line("rubric", "another judge", named),
            line("citation", "gpt-4o", r#"{"model":""}"#),
        ];
        std::fs::write(dir.path().join("calls.jsonl"), text.concat()).unwrap();
        let mut manifest = run(&[answering("old", 9, &[])], &[]);
        manifest.count_answers(dir.path()).unwrap();
        let answering_models = |role: &str| manifest.roles[role].judges[0].answered_by.clone();
        let expected = AnsweringModel {
            fingerprints: BTreeMap::from([("fp".to_owned(), 2)]),
            ..answering("gpt-4o-2024-08-06", 2, &[])
        };
        assert_eq!(answering_models("rubric"), [expected]);
        let unnamed = AnsweringModel {
            calls: 1,
            ..AnsweringModel::default()
        };
        assert_eq!(answering_models("citation"), [unnamed]);
    }
}
