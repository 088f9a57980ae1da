//! Whether the judges of a run were checked against people, by the certificates that the run was given.

use chrono::NaiveDate;
use serde_json::{Value, json};

use super::answered;
use super::certificate::{CertifiedJudge, CertifiedRole};
use super::manifest::Manifest;
use super::role::{JudgeEntry, RoleEntry};
use crate::domain::{Fingerprint, Role, today};
use crate::scorer::criteria::CRITERIA;
use crate::scorer::scorer_named;

impl Manifest {
    /// Whether the judge of a role was checked against people: `checked on ..`, or `not checked against people`, with the reason where
    /// a certificate of its role does not count. `None` for the built-in baseline and for a role that the run does not have.
    pub fn judge_check(&self, role: &str) -> Option<String> {
        let entry = self.roles.get(role)?;
        if entry.judges.iter().all(|judge| judge.lexical) {
            return None;
        }
        let now = self.certified_role(role, entry);
        let day = self.started_on();
        let mut reasons = Vec::new();
        for head in &self.certificates.heads {
            match head.refusal(role, &now, day, self.certificates.days) {
                None if entry.judges.iter().any(JudgeEntry::is_mixed) => {
                    reasons.push("several models answered in this run".to_owned());
                }
                None => return Some(head.sentence()),
                Some(reason) if reason.is_empty() => {}
                Some(reason) => reasons.push(reason),
            }
        }
        let mut text = "not checked against people".to_owned();
        if !reasons.is_empty() {
            text += &format!(": {}", reasons.join("; "));
        }
        Some(text)
    }

    /// The day on which the run began, UTC.
    pub(crate) fn started_on(&self) -> NaiveDate {
        let day = self.started_at.get(..10).and_then(|day| day.parse().ok());
        day.unwrap_or_else(today)
    }

    /// Who judged this role of a run.
    pub(crate) fn certified_role(&self, role: &str, entry: &RoleEntry) -> CertifiedRole {
        let is_panel = entry.judges.len() > 1;
        let mut judges: Vec<CertifiedJudge> =
            entry.judges.iter().map(JudgeEntry::certified).collect();
        // The order of a panel's judges does not matter.
        judges.sort_by_key(|judge| json!(judge).to_string());
        CertifiedRole {
            judges,
            merge: is_panel.then_some(entry.merge),
            prompts: entry.prompts.as_ref().map(|prompts| prompts.fingerprint),
            profile: self.profile_hash(role),
        }
    }

    /// The hash of how the role is asked and counted: the mode, and of the scorers that ask it their settings, of criteria their profile
    /// only. The criteria of a case are not a part of it.
    fn profile_hash(&self, role: &str) -> Fingerprint {
        let mut settings: Vec<Value> = Vec::new();
        for scorer in &self.scorers {
            let info = scorer_named(scorer);
            let known = info.zip(Role::from_name(role));
            if !known.is_some_and(|(info, role)| info.has_role(&role)) {
                continue;
            }
            settings.push(if *scorer == CRITERIA.name {
                json!(self.criteria_profile())
            } else {
                json!(self.scorer_settings(scorer))
            });
        }
        blake3::hash(json!([self.mode, settings]).to_string().as_bytes()).into()
    }
}

impl JudgeEntry {
    /// By what certificates name it.
    fn certified(&self) -> CertifiedJudge {
        let setting = |name: &str| self.settings.get(name).cloned().unwrap_or_default();
        let sends_temperature = setting("no_temperature") != Value::Bool(true);
        let named = answered::names(&self.answered_by);
        let reported = self.served.as_ref();
        let reported = reported.and_then(|served| served["id"].as_str());
        CertifiedJudge {
            protocol: setting("kind"),
            model: self.model.clone(),
            served_model: named.first().copied().or(reported).map(str::to_owned),
            reasoning_effort: setting("reasoning_effort"),
            temperature: if sends_temperature {
                setting("temperature")
            } else {
                Value::Null
            },
            samples: self.samples,
            merge: (self.samples > 1).then_some(self.merge),
            expected: self.is_expected(),
        }
    }
}
