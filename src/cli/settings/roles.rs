//! Who judges what: `[roles]` gives the rubric, each aspect and the citations one judge, or a panel of several.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::merge::Sources;
use super::value::{Names, SettingValue};
use super::{JudgeKind, JudgeRef, MergeRule, RoleSettings, ScorerName, ScorerSettings, Settings, keys};
use crate::cli::config_file::{ASPECT_ROLE, ConfigFile, DEFAULT_JUDGE, Entry, ROLES_MERGE};
use crate::cli::origin::{Origin, SettingLine, escape_controls};
use crate::cli::suggest::nearest;
use crate::domain::Role;
use crate::error::Result;

/// The roles of the file.
#[derive(Default)]
pub(super) struct Roles {
    /// Roles with judges of their own.
    pub(super) own: BTreeMap<Role, RoleSettings>,
    /// The judges of all other aspects.
    pub(super) aspect: Option<RoleSettings>,
    /// What `config` shows of them.
    pub(super) lines: Vec<SettingLine>,
}

/// Reads `[roles]`. Every name must be that of a judge; what kind of judge it is, [`check_kinds`] looks at.
pub(super) fn merge_roles(sources: &Sources<'_>) -> Result<Roles> {
    let Some(file) = sources.file else { return Ok(Roles::default()) };
    let mut roles = Roles::default();
    let start = format!("{}.", keys::ROLES);
    let name = |role: &str| format!("{start}{role}");
    let merge = file.get(&name(ROLES_MERGE)).map(|entry| {
        let rule = MergeRule::from_json(&entry.value).map_err(|what| file.fault(&name(ROLES_MERGE), entry.line, &what));
        Ok::<_, crate::error::Error>((rule?, sources.file_origin(&name(ROLES_MERGE), entry)))
    });
    let (merge, merge_origin) = merge.transpose()?.unwrap_or((MergeRule::Mean, Origin::Default));
    for (role, entry) in file.under(&start).filter(|(role, _)| *role != ROLES_MERGE) {
        let judges = names_of_judges(file, &name(role), entry)?;
        let shown = if let [one] = &judges[..] { Value::from(one.as_str()) } else { Value::from(judges.clone()) };
        let origin = sources.file_origin(&name(role), entry);
        roles.lines.push(SettingLine { key: name(role), value: shown, origin });
        let settings = RoleSettings { judges, merge };
        match Role::from_name(role) {
            Some(role) => {
                roles.own.insert(role, settings);
            }
            None => roles.aspect = Some(settings),
        }
    }
    if !roles.lines.is_empty() || merge_origin != Origin::Default {
        let value = Value::from(merge.as_str());
        roles.lines.push(SettingLine { key: name(ROLES_MERGE), value, origin: merge_origin });
    }
    Ok(roles)
}

/// One name, or a list of different ones, each of a judge that is there.
fn names_of_judges(file: &ConfigFile, key: &str, entry: &Entry) -> Result<Vec<String>> {
    let refused = |what: &str| file.fault(key, entry.line, what);
    let Names(names) = Names::from_json(&entry.value).map_err(|_| {
        refused("expected the name of a judge, such as \"judge\", or an array of names: [\"one\", \"two\"]")
    })?;
    let known = || file.judges().map(|(name, _)| name).chain([DEFAULT_JUDGE]);
    for (i, name) in names.iter().enumerate() {
        if !known().any(|judge| judge == name) {
            let hint = match nearest(name, known()) {
                Some(near) => format!("did you mean {near}?"),
                None => format!("known are {}", known().collect::<Vec<_>>().join(", ")),
            };
            let name = escape_controls(name);
            return Err(refused(&format!(
                "there is no judge \"{name}\"; {hint} (others are defined by [judges.NAME])"
            )));
        }
        if names[..i].contains(name) {
            return Err(refused(&format!(
                "{name} stands twice in this panel; name it once, and use samples for draws"
            )));
        }
    }
    Ok(names)
}

impl Roles {
    /// Names of the judges whose scorers may run, as far as `[roles]` says it.
    pub(super) fn used(&self, scorers: &ScorerSettings) -> BTreeSet<String> {
        used(&self.own, self.aspect.as_ref(), scorers)
    }
}

fn used(
    own: &BTreeMap<Role, RoleSettings>,
    aspect: Option<&RoleSettings>,
    scorers: &ScorerSettings,
) -> BTreeSet<String> {
    let own = own.iter().filter(|(role, _)| scorers.may_run(scorer_of(role))).map(|(_, settings)| settings);
    let aspect = aspect.filter(|_| scorers.may_run(ScorerName::Prometheus));
    own.chain(aspect).flat_map(|settings| settings.judges.iter().cloned()).collect()
}

/// The scorer that asks a role.
fn scorer_of(role: &Role) -> ScorerName {
    match role {
        Role::Rubric => ScorerName::Rubric,
        Role::Aspect(_) => ScorerName::Prometheus,
        Role::Citation => ScorerName::Entailment,
    }
}

impl Settings {
    /// The judge of that name; `judge` is the one of `[judge]` and the flags.
    pub fn judge_named(&self, name: &str) -> Option<JudgeRef<'_>> {
        if name == DEFAULT_JUDGE {
            return Some(JudgeRef {
                name: DEFAULT_JUDGE,
                judge: &self.judge,
                limits: self.limits,
                samples: self.score.samples,
                merge: self.score.merge,
            });
        }
        self.judges.iter().find(|judge| judge.name == name).map(|named| JudgeRef {
            name: &named.name,
            judge: &named.judge,
            limits: named.limits,
            samples: named.samples,
            merge: named.merge,
        })
    }

    /// Who has a role: whom `[roles]` names, for an aspect else whom it names for all aspects; else the judge of
    /// `[judge]`, which has the rubric always, aspects and citations only where their scorer was asked for by name (so
    /// that nothing is paid for unasked). The baseline can judge the rubric only, a label judge citations only.
    pub fn role(&self, role: &Role) -> Option<RoleSettings> {
        let explicit = self.roles.get(role).or(match role {
            Role::Aspect(_) => self.aspect_role.as_ref(),
            Role::Rubric | Role::Citation => None,
        });
        explicit.cloned().or_else(|| self.default_has(role).then(default_role))
    }

    /// True if some judge has the role.
    pub fn has_role(&self, role: &Role) -> bool {
        self.role(role).is_some()
    }

    fn default_has(&self, role: &Role) -> bool {
        let asked = *role == Role::Rubric || self.scorers.names_scorer(scorer_of(role));
        asked && may_have(self.judge.kind, role)
    }

    /// Names of the judges whose scorers may run.
    pub(super) fn used_judges(&self) -> BTreeSet<String> {
        let mut names = used(&self.roles, self.aspect_role.as_ref(), &self.scorers);
        let open = [Role::Rubric, Role::Citation].into_iter().filter(|role| !self.roles.contains_key(role));
        let aspects = self.aspect_role.is_none().then(|| Role::Aspect(ASPECT_ROLE.into()));
        if open.chain(aspects).any(|role| self.scorers.may_run(scorer_of(&role)) && self.default_has(&role)) {
            names.insert(DEFAULT_JUDGE.to_owned());
        }
        names
    }

    /// Refuses judges that cannot do what their role asks.
    ///
    /// # Errors
    /// [`Error::Input`](crate::error::Error::Input) naming the role's line in the file.
    pub(super) fn check_kinds(&self, sources: &Sources<'_>) -> Result<()> {
        let Some(file) = sources.file else { return Ok(()) };
        let own = self.roles.iter().map(|(role, settings)| (role.name().into_owned(), role.clone(), settings));
        let aspect = self.aspect_role.iter();
        let aspect = aspect.map(|settings| (ASPECT_ROLE.to_owned(), Role::Aspect(ASPECT_ROLE.into()), settings));
        for (name, role, settings) in own.chain(aspect) {
            for judge in settings.judges.iter().filter_map(|judge| self.judge_named(judge)) {
                if !may_have(judge.judge.kind, &role) {
                    let key = format!("{}.{name}", keys::ROLES);
                    let line = file.get(&key).map_or(0, |entry| entry.line);
                    return Err(file.fault(&key, line, &cannot(&judge)));
                }
            }
        }
        Ok(())
    }

    /// What of judges and roles the user should know.
    pub(super) fn role_warnings(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        let named: BTreeSet<&String> = self.roles.values().chain(&self.aspect_role).flat_map(|r| &r.judges).collect();
        for judge in self.judges.iter().filter(|judge| !named.contains(&judge.name)) {
            let name = &judge.name;
            warnings.push(format!("[judges.{name}] has no role and is not asked; name it under [roles], or drop it"));
        }
        let aspects = self.aspect_role.is_some() || self.roles.keys().any(|role| matches!(role, Role::Aspect(_)));
        let without = |scorer: ScorerName, role: &str| {
            format!(
                "no judge has the role {role}, so {} stays blank; give --model or --base-url, or a judge under [roles]",
                scorer.as_str()
            )
        };
        let asked = |scorer| self.scorers.names_scorer(scorer);
        if asked(ScorerName::Prometheus) && !aspects && !self.has_role(&Role::Aspect(ASPECT_ROLE.into())) {
            warnings.push(without(ScorerName::Prometheus, ASPECT_ROLE));
        }
        if asked(ScorerName::Entailment) && !self.has_role(&Role::Citation) {
            warnings.push(without(ScorerName::Entailment, "citation"));
        }
        if self.scorers.may_run(ScorerName::Rubric) && !self.has_role(&Role::Rubric) {
            warnings.push(
                "a label judge cannot judge the rubric, which stays blank; name another judge under [roles], \
                 or leave the rubric out with --scorers"
                    .to_owned(),
            );
        }
        warnings
    }
}

fn default_role() -> RoleSettings {
    RoleSettings { judges: vec![DEFAULT_JUDGE.to_owned()], merge: MergeRule::Mean }
}

/// True if a judge of this kind can judge what the role asks.
fn may_have(kind: JudgeKind, role: &Role) -> bool {
    match kind {
        JudgeKind::Lexical => *role == Role::Rubric,
        JudgeKind::Label => *role == Role::Citation,
        JudgeKind::Chat | JudgeKind::Completions => true,
    }
}

fn cannot(judge: &JudgeRef<'_>) -> String {
    let only = if judge.judge.kind == JudgeKind::Lexical { "the rubric" } else { "citations" };
    let kind = judge.judge.kind.as_str();
    format!("{} is a {kind} judge, which can judge {only} only; name a chat or completions judge", judge.name)
}
