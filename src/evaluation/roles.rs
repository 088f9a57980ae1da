//! Judges by role: `[roles]` gives the rubric, each aspect and the citations one judge, or a panel of several.

use std::collections::BTreeSet;

use super::options::{DEFAULT_JUDGE, EvaluationOptions, JudgeNames};
use crate::domain::{GradeMerge, Role};
use crate::judge::kind::JudgeKind;
use crate::judge::options::{JudgeOptions, LimitOptions, OptionFault};
use crate::scorer::{SCORERS, ScorerInfo, ScorerRoles};
use crate::text::names::nearest;

/// The role of all aspects that have no role, and the prefix of the roles of single aspects.
pub(crate) const ASPECT_ROLE: &str = "aspect";

/// A judge with its settings: that of `[judge]` and the flags, or a further one.
#[derive(Clone, Copy)]
pub struct JudgeRef<'a> {
    /// Its name in the config file; `judge` is the one of `[judge]`.
    pub name: &'a str,
    /// Its model and requests.
    pub judge: &'a JudgeOptions,
    /// Its limits.
    pub limits: &'a LimitOptions,
    /// Samples per question, >= 1.
    pub samples: u32,
    /// How its samples are merged.
    pub merge: GradeMerge,
}

/// The role of a key of `[roles]`; `aspect` stands for any aspect.
fn role_of_key(key: &str) -> Option<Role> {
    if key == ASPECT_ROLE {
        Some(any_aspect())
    } else {
        Role::from_name(key)
    }
}

/// An aspect that no key names.
fn any_aspect() -> Role {
    Role::Aspect("any other".into())
}

/// The roles that the default judge has without being asked: who gives test cases wants them judged.
fn is_of_test_cases(role: &Role) -> bool {
    // Not aspects and citations: their calls multiply the cost of a run, and nobody asked for them.
    matches!(role, Role::Rubric | Role::Criteria)
}

/// Whether a judge of this kind can judge this role.
fn can_judge(kind: JudgeKind, role: &Role) -> bool {
    match kind {
        JudgeKind::Lexical => matches!(
            role,
            Role::Rubric | Role::Criteria | Role::Pair | Role::Page
        ),
        // AttrScore and its like are trained to say one of three labels about a citation and
        // nothing else.
        JudgeKind::Label => *role == Role::Citation,
        _ => true,
    }
}

impl EvaluationOptions {
    /// The judge of that name; `judge` is the one of `[judge]` and the flags.
    pub fn judge_named<'a>(&'a self, name: &'a str) -> Option<JudgeRef<'a>> {
        if name == DEFAULT_JUDGE {
            let (samples, merge) = (self.asking.samples.get(), self.asking.merge);
            return Some(JudgeRef {
                name,
                judge: &self.judge,
                limits: &self.limits,
                samples,
                merge,
            });
        }
        let table = self.judges.get(name)?;
        let samples = table.samples.unwrap_or(self.asking.samples).get();
        let merge = table.merge.unwrap_or(self.asking.merge);
        Some(JudgeRef {
            name,
            judge: &table.judge,
            limits: &table.limits,
            samples,
            merge,
        })
    }

    /// Names of the judges of a role, empty if it has none: those that `[roles]` names for it or, for an aspect, for
    /// all aspects; else the judge of `[judge]`, which always has the rubric and criteria, but aspects and citations only if their
    /// scorer was requested by name (so that nothing is paid for unrequested). The baseline can judge only the rubric
    /// and criteria, a label judge only citations.
    pub fn judges_of(&self, role: &Role) -> Vec<String> {
        let of_aspects = || {
            matches!(role, Role::Aspect(_))
                .then(|| self.roles.judges.get(ASPECT_ROLE))
                .flatten()
        };
        match self.roles.judges.get(&*role.name()).or_else(of_aspects) {
            Some(JudgeNames(names)) => names.clone(),
            None if self.default_has(role) => vec![DEFAULT_JUDGE.to_owned()],
            None => Vec::new(),
        }
    }

    /// Whether all judges of a role are decision models.
    pub(super) fn is_decided(&self, role: &Role) -> bool {
        let judges = self.judges_of(role);
        let kinds = judges
            .iter()
            .map(|name| self.judge_named(name).map(|named| named.judge.kind()));
        let mut are_decision = kinds.map(|kind| kind.is_some_and(JudgeKind::is_decision_model));
        !judges.is_empty() && are_decision.all(|is_decision| is_decision)
    }

    /// True if some judge has the role.
    pub fn has_role(&self, role: &Role) -> bool {
        !self.judges_of(role).is_empty()
    }

    /// True if any aspect has a judge.
    pub fn has_aspect_role(&self) -> bool {
        self.named_roles()
            .any(|(_, role, _)| matches!(role, Role::Aspect(_)))
            || self.has_role(&any_aspect())
    }

    /// Whether the default judge could have the roles of this scorer, which it has only if the scorer is named.
    pub(super) fn default_could_judge(&self, scorer: &ScorerInfo) -> bool {
        let role = match &scorer.roles {
            ScorerRoles::None => return false,
            ScorerRoles::One(role) => role.clone(),
            ScorerRoles::Aspects => any_aspect(),
        };
        !is_of_test_cases(&role) && can_judge(self.judge.kind(), &role)
    }

    fn default_has(&self, role: &Role) -> bool {
        (is_of_test_cases(role) || self.is_scorer_requested(role))
            && can_judge(self.judge.kind(), role)
    }

    /// Whether a scorer of this role was requested.
    fn is_scorer_requested(&self, role: &Role) -> bool {
        SCORERS
            .iter()
            .any(|scorer| scorer.has_role(role) && self.scorers.requests(scorer))
    }

    /// Whether a scorer of this role may run.
    fn may_run(&self, role: &Role) -> bool {
        SCORERS
            .iter()
            .any(|scorer| scorer.has_role(role) && self.scorers.may_run(scorer))
    }

    /// The entries of `[roles]`, each with its key and the names of its judges.
    fn named_roles(&self) -> impl Iterator<Item = (&String, Role, &Vec<String>)> {
        let judges = self.roles.judges.iter();
        judges.filter_map(|(key, JudgeNames(names))| Some((key, role_of_key(key)?, names)))
    }

    /// Names of the judges whose scorers may run.
    pub fn used_judges(&self) -> BTreeSet<String> {
        // A judge whose scorer does not run needs neither its key nor a reachable server.
        let named = self.named_roles().filter(|(_, role, _)| self.may_run(role));
        let used = named.flat_map(|(.., names)| names.iter().cloned());
        let mut used: BTreeSet<String> = used.collect();
        let of_all = [
            Role::Rubric,
            Role::Criteria,
            Role::Citation,
            Role::Pair,
            Role::Page,
            any_aspect(),
        ];
        used.extend(
            of_all
                .iter()
                .filter(|role| self.may_run(role))
                .flat_map(|role| self.judges_of(role)),
        );
        used
    }

    /// Rejects unknown roles and judges, and judges that cannot do what their role requires.
    pub(super) fn check_roles(&self) -> Result<(), OptionFault> {
        for (key, JudgeNames(names)) in &self.roles.judges {
            let fault = |what: String| Err(OptionFault::new(&format!("roles.{key}"), what));
            let Some(role) = role_of_key(key) else {
                let near = nearest(
                    key,
                    [
                        "rubric",
                        "criteria",
                        "citation",
                        "pair",
                        ASPECT_ROLE,
                        "merge",
                    ],
                );
                let hint = near.map_or_else(
                    || "known are rubric, criteria, citation, pair, aspect, aspect.NAME, and merge for panels".to_owned(),
                    |near| format!("did you mean {near}?"),
                );
                return fault(format!("unknown role; {hint}"));
            };
            for (at, name) in names.iter().enumerate() {
                let Some(JudgeRef { judge, .. }) = self.judge_named(name) else {
                    let known = self.judges.keys().map(String::as_str);
                    let known: Vec<&str> = known.chain([DEFAULT_JUDGE]).collect();
                    let hint = nearest(name, known.iter().copied()).map_or_else(
                        || format!("known are {}", known.join(", ")),
                        |near| format!("did you mean {near}?"),
                    );
                    return fault(format!(
                        "there is no judge \"{}\"; {hint} (others are defined by [judges.NAME])",
                        name.escape_debug()
                    ));
                };
                // A judge named twice would have twice the weight without a second opinion; samples
                // say this in the record.
                if names[..at].contains(name) {
                    return fault(format!(
                        "{name} is named twice in this panel; name it once, and use samples"
                    ));
                }
                if !can_judge(judge.kind(), &role) {
                    let only = if judge.kind() == JudgeKind::Lexical {
                        "rubrics and criteria"
                    } else {
                        "citations"
                    };
                    return fault(format!(
                        "{name} is a {} judge, which can judge {only} only; name a chat or completions judge",
                        judge.kind()
                    ));
                }
            }
            if names.is_empty() {
                return fault("no judge is named; leave the role out, or name one".to_owned());
            }
        }
        Ok(())
    }

    /// Settings of judges and roles that have no effect, as sentences without a full stop.
    pub fn warnings(&self) -> Vec<String> {
        let used = self.used_judges();
        let named: BTreeSet<&String> = self.named_roles().flat_map(|(.., names)| names).collect();
        let unused = self.judges.keys().filter(|name| !named.contains(name));
        let mut warnings: Vec<String> = unused
            .map(|name| {
                format!(
                    "[judges.{name}] has no role and is not used; name it under [roles], or drop it"
                )
            })
            .collect();
        for JudgeRef {
            name,
            judge,
            samples,
            ..
        } in used.iter().filter_map(|name| self.judge_named(name))
        {
            let whose = if name == DEFAULT_JUDGE {
                String::new()
            } else {
                format!("[judges.{name}]: ")
            };
            // At temperature 0 or with a fixed seed all samples are one reply, and their spread of
            // 0 would look like certainty.
            if let (Some(why), true) = (judge.repeats(), samples > 1) {
                let remedy = "set a temperature of 0.7 or so with an LLM, or 1 sample";
                warnings.push(format!(
                    "{whose}{samples} samples {why} repeat one reply; {remedy}"
                ));
            }
        }
        warnings
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::json;

    use super::*;
    use crate::evaluation::options::{JudgeTable, RoleTable, judge_settings};
    use crate::scorer::rubric::RubricPart;

    fn server() -> JudgeOptions {
        JudgeOptions {
            base_url: vec!["localhost:1".to_owned()],
            ..JudgeOptions::default()
        }
    }

    fn with_roles(roles: &[(&str, &[&str])]) -> EvaluationOptions {
        let table = |kind| JudgeTable {
            judge: JudgeOptions {
                kind: Some(kind),
                ..server()
            },
            ..JudgeTable::default()
        };
        let names =
            |names: &[&str]| JudgeNames(names.iter().map(|name| (*name).to_owned()).collect());
        let lexical = JudgeOptions {
            kind: Some(JudgeKind::Lexical),
            ..JudgeOptions::default()
        };
        EvaluationOptions {
            judges: BTreeMap::from([
                ("prometheus".to_owned(), table(JudgeKind::Completions)),
                ("attrscore".to_owned(), table(JudgeKind::Label)),
                (
                    "words".to_owned(),
                    JudgeTable {
                        judge: lexical,
                        ..JudgeTable::default()
                    },
                ),
            ]),
            roles: RoleTable {
                merge: GradeMerge::Median,
                judges: roles
                    .iter()
                    .map(|(role, judges)| ((*role).to_owned(), names(judges)))
                    .collect(),
            },
            ..EvaluationOptions::default()
        }
    }

    fn aspect(name: &str) -> Role {
        Role::Aspect(name.into())
    }

    #[test]
    fn roles_fall_back_from_the_aspect_to_all_aspects_to_the_judge() {
        let roles: &[(&str, &[&str])] = &[
            ("aspect", &["prometheus"]),
            ("aspect.relevance", &["judge", "prometheus"]),
            ("citation", &["attrscore"]),
        ];
        let options = EvaluationOptions {
            judge: server(),
            ..with_roles(roles)
        };
        assert_eq!(options.check(), Ok(()));
        assert_eq!(options.judges_of(&aspect("coverage")), ["prometheus"]);
        assert_eq!(
            options.judges_of(&aspect("relevance")),
            ["judge", "prometheus"]
        );
        assert_eq!(options.judges_of(&Role::Citation), ["attrscore"]);
        assert_eq!(options.judges_of(&Role::Rubric), ["judge"]);
    }

    #[test]
    fn without_roles_the_judge_grades_only_what_was_asked_for_by_name_and_the_baseline_never() {
        use crate::scorer::entailment::ENTAILMENT;
        use crate::scorer::prometheus::PROMETHEUS;
        use crate::scorer::rubric::RUBRIC;
        let has = |judge: JudgeOptions, scorers: &[&'static ScorerInfo]| {
            let mut options = EvaluationOptions {
                judge,
                ..EvaluationOptions::default()
            };
            options.scorers.scorers = scorers.to_vec();
            (
                options.has_role(&Role::Rubric),
                options.has_role(&aspect("coverage")),
                options.has_role(&Role::Citation),
            )
        };
        let label = || JudgeOptions {
            kind: Some(JudgeKind::Label),
            ..server()
        };
        assert_eq!(has(JudgeOptions::default(), &[]), (true, false, false));
        assert_eq!(has(server(), &[]), (true, false, false));
        assert_eq!(has(server(), &[&PROMETHEUS]), (true, true, false));
        assert_eq!(has(server(), &[&RUBRIC, &ENTAILMENT]), (true, false, true));
        assert_eq!(
            has(JudgeOptions::default(), &[&PROMETHEUS, &ENTAILMENT]),
            (true, false, false)
        );
        assert_eq!(
            has(label(), &[&PROMETHEUS, &ENTAILMENT]),
            (false, false, true)
        );
    }

    #[test]
    fn invalid_roles_are_rejected_with_a_hint() {
        for (role, judges, expected) in [
            (
                "aspect",
                &["promethus"][..],
                "there is no judge \"promethus\"; did you mean prometheus?",
            ),
            (
                "rubric",
                &["gpt-4"],
                "known are attrscore, prometheus, words, judge (others are defined by",
            ),
            (
                "rubric",
                &["judge", "judge"],
                "judge is named twice in this panel",
            ),
            (
                "aspect.coverage",
                &["words"],
                "words is a lexical judge, which can judge rubrics and criteria only",
            ),
            ("citation", &["judge"], "judge is a lexical judge"),
            (
                "aspect",
                &["attrscore"],
                "attrscore is a label judge, which can judge citations only",
            ),
            ("rubrik", &["judge"], "unknown role; did you mean rubric?"),
            ("rubric", &[], "no judge is named"),
        ] {
            let fault = with_roles(&[(role, judges)]).check().unwrap_err();
            assert!(
                fault.key == format!("roles.{role}") && fault.what.contains(expected),
                "{fault:?}"
            );
        }
    }

    #[test]
    fn settings_without_effect_are_warned_about() {
        let warnings = with_roles(&[("citation", &["attrscore"])]).warnings();
        assert!(
            warnings[0].starts_with("[judges.prometheus] has no role"),
            "{warnings:?}"
        );
        let mut sampled = with_roles(&[
            ("aspect", &["prometheus"]),
            ("citation", &["attrscore"]),
            ("rubric", &["words"]),
        ]);
        sampled.judges.get_mut("prometheus").unwrap().samples = std::num::NonZeroU32::new(3);
        let warnings = sampled.warnings();
        assert_eq!(warnings.len(), 1, "{warnings:?}");
        assert!(
            warnings[0]
                .starts_with("[judges.prometheus]: 3 samples at temperature 0 repeat one reply")
        );
    }

    #[test]
    fn run_settings_hold_what_affects_scores_and_no_secret() {
        let base = |change: fn(&mut EvaluationOptions)| {
            let mut options =
                with_roles(&[("aspect", &["prometheus"]), ("citation", &["attrscore"])]);
            options.judge = server();
            change(&mut options);
            let of_judges =
                [&options.judge, &options.judges["prometheus"].judge].map(judge_settings);
            (options.run_settings(), of_judges)
        };
        let same: [fn(&mut EvaluationOptions); 6] = [
            |options| options.limits.retries = 1,
            |options| options.cache.no_cache = true,
            |options| options.scoring.seed = 7,
            |options| options.judge.base_url = vec!["elsewhere".to_owned()],
            |options| options.output.overwrite = true,
            |options| {
                options.judges.get_mut("prometheus").unwrap().limits.rpm =
                    std::num::NonZeroU32::new(3)
            },
        ];
        for change in same {
            assert_eq!(base(|_| ()), base(change));
        }
        let other: [fn(&mut EvaluationOptions); 7] = [
            |options| options.scoring.compat = true,
            |options| options.scorers.built_in.rubric.only = Some(RubricPart::Criteria),
            |options| options.input.systems = vec!["a".to_owned()],
            |options| options.judge.seed = Some(1),
            |options| options.judge.no_temperature = true,
            |options| options.scorers.built_in.aspects.top_n = 3,
            |options| options.judges.get_mut("prometheus").unwrap().judge.top_p = Some(0.9),
        ];
        for change in other {
            assert_ne!(base(|_| ()), base(change));
        }
        let with_secret = base(|options| {
            options.judge.extra_body = Some(json!({"nested": {"api_key": "hunter2"}}))
        });
        assert!(!format!("{with_secret:?}").contains("hunter2"));
        let systems = |names: &[&str]| {
            let mut options = EvaluationOptions::default();
            options.input.systems = names.iter().map(|name| (*name).to_owned()).collect();
            options.run_settings()
        };
        assert_eq!(systems(&["b", "a.jsonl"]), systems(&["a", "b"]));
    }
}
