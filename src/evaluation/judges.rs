//! The judges of a run: identified once, then built with their layers, one or a panel per role.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::json;

use super::options::{DEFAULT_JUDGE, EvaluationOptions, judge_settings};
use super::roles::JudgeRef;
use super::spending::Spending;
use super::{JudgeTerms, Member, Panel, Panels};
use crate::domain::{EndpointUse, GradeMerge, Role, Severity, TestCase};
use crate::error::{Error, Result};
use crate::judge::builder::{BuiltJudge, IdentifiedJudge, JudgeBuilder, ServedModel, Shared};
use crate::judge::forms::ServiceTier;
use crate::judge::layers::budgeted::Price;
use crate::judge::meters::{Activity, Meters};
use crate::judge::options::{JudgeOptions, LimitOptions};
use crate::judge::planner::ReplySource;
use crate::judge::prices::PriceList;
use crate::judge::refusals::ReplyLimits;
use crate::judge::servers::Fleet;
use crate::judge::{Judge, Notify};
use crate::prompt::{PromptFamily, PromptSet};
use crate::record::{JudgeEntry, PromptsEntry, RecordedReplies, RoleEntry};

/// The servers of a run, by the names of their judges.
#[derive(Clone, Default)]
pub struct Endpoints(Vec<(String, Arc<Fleet>)>);

impl Endpoints {
    /// What they do right now.
    pub fn activity(&self) -> Activity {
        self.0
            .iter()
            .map(|(_, fleet)| fleet.activity())
            .fold(Activity::default(), Activity::plus)
    }

    /// What each server did so far, for judges with any calls.
    pub fn stats(&self) -> Vec<EndpointUse> {
        let of_judge = |(judge, fleet): &(String, Arc<Fleet>)| {
            let stats = fleet.stats();
            let was_asked = stats.iter().any(|stats| stats.calls > 0);
            let uses = stats.into_iter().map(|stats| EndpointUse {
                judge: judge.clone(),
                stats,
            });
            if was_asked {
                uses.collect()
            } else {
                Vec::new()
            }
        };
        self.0.iter().flat_map(of_judge).collect()
    }
}

/// An identified judge with its settings.
pub struct NamedJudge {
    /// Which judge it is.
    pub judge: IdentifiedJudge,
    price: Option<Price>,
    limits: LimitOptions,
    samples: u32,
    merge: GradeMerge,
    options: JudgeOptions,
}

impl NamedJudge {
    /// Concurrent answers that keep all its servers busy. An answer stays at its server and the hash spreads answers
    /// unevenly, so this is slightly above the servers' total.
    fn lanes(&self) -> usize {
        let servers = self.judge.server_count();
        let all = self.limits.concurrency.get().saturating_mul(servers);
        if servers > 1 {
            all.saturating_add(all / 4)
        } else {
            all
        }
    }

    /// Its manifest entry, with the reply limits of these calls.
    fn entry(&self, family: PromptFamily) -> JudgeEntry {
        let server = self.judge.server();
        let served = server.map(|server| &server.servers.served);
        let mut settings = judge_settings(&self.options);
        if let Some(server) = server {
            // Null where the user gave `none`; no entry for lists that nobody limited.
            let mut limits: BTreeMap<&str, Option<u64>> = BTreeMap::new();
            for kind in family.kinds() {
                let limit = server.request.max_tokens.get(kind).copied();
                if limit.is_some() || server.given_limits.contains(kind) {
                    limits.insert(kind.as_str(), limit);
                }
            }
            settings.insert("max_tokens".to_owned(), json!(limits));
        }
        JudgeEntry {
            id: self.judge.judge_id().to_owned(),
            model: server.map(|server| server.request.model.clone()),
            base_url: server.map(|server| server.servers.urls()),
            served: served
                .map(|it| json!({"id": it.served, "root": it.root, "model_path": it.model_path})),
            lexical: self.judge.is_lexical(),
            samples: self.samples,
            merge: self.merge,
            settings,
            answered_by: Vec::new(),
        }
    }

    /// The manifest entry of the prompts of this family; `None` if no prompt is used.
    pub fn prompts(&self, family: PromptFamily) -> Option<PromptsEntry> {
        let family = self.judge.server()?.prompts.family_of(family);
        Some(PromptsEntry {
            label: family.label(),
            fingerprint: family.fingerprint(),
            comparable_with_published: family.is_published(),
        })
    }
}

/// The judges of a run, each identified once, by name.
pub struct Judges {
    by_name: BTreeMap<String, NamedJudge>,
    /// Each role with the names of its judges; roles without a judge are left out.
    roles: Vec<(Role, Vec<String>)>,
    /// How the verdicts of a panel are merged.
    panel_merge: GradeMerge,
    /// The day of the price list, if a price is from there.
    pub(super) prices_of: Option<String>,
    pub(super) spending: Spending,
}

impl Judges {
    /// The prompts of the first judge that has any.
    pub(super) fn prompt_set(&self) -> Option<&PromptSet> {
        self.by_name
            .values()
            .find_map(|named| named.judge.server())
            .map(|server| &*server.prompts)
    }

    /// Asks every server which model it serves. `own` replaces the judge of `[judge]`.
    ///
    /// # Errors
    /// As [`JudgeBuilder::identify`]; for a panel with two equal judges.
    pub(super) async fn identify(
        options: &EvaluationOptions,
        own: Option<&Arc<dyn Judge>>,
        roles: &[Role],
        notify: &Notify,
    ) -> Result<Self> {
        let prompts = Arc::new(match options.prompts_dir() {
            Some(dir) => PromptSet::load(&dir)?,
            None => PromptSet::builtin(),
        });
        let judges_of = |role: &Role| (role.clone(), options.judges_of(role));
        let roles: Vec<_> = roles.iter().map(judges_of).collect();
        if let Some((role, _)) = roles.iter().find(|(_, judges)| judges.is_empty()) {
            return Err(Error::Settings(format!(
                "no judge has the role {}; give it one under [roles]",
                role.name()
            )));
        }
        let list = PriceList::load(options.budget.prices.as_deref())?;
        let (mut by_name, mut uses_list) = (BTreeMap::<String, NamedJudge>::new(), false);
        for name in roles.iter().flat_map(|(_, judges)| judges) {
            if by_name.contains_key(name) {
                continue;
            }
            let JudgeRef {
                judge: judge_options,
                limits,
                samples,
                merge,
                ..
            } = options
                .judge_named(name)
                .ok_or_else(|| Error::Settings(format!("[roles]: no judge is called {name:?}")))?;
            let builder = JudgeBuilder {
                options: judge_options.clone(),
                limits: limits.clone(),
                cache: options.cache.clone(),
                own: own.filter(|_| name == DEFAULT_JUDGE).cloned(),
            };
            let judge = builder.identify(&prompts, notify).await?;
            if judge.is_lexical() && options.scoring.prompts.is_some() {
                let what =
                    "the lexical judge reads no prompts; --prompts has no effect without a model";
                notify(Severity::Warning, what);
            }
            let given = options.budget.price().filter(|_| name == DEFAULT_JUDGE);
            let given =
                given.or_else(|| options.prices.get(&judge.server()?.request.model).copied());
            let listed = |server: &ServedModel| {
                list.find(&server.request.model, server.servers.endpoints().next()?)
            };
            let listed = judge.server().filter(|_| given.is_none()).and_then(listed);
            let share = judge_options
                .service_tier
                .map_or(1.0, ServiceTier::price_share);
            let listed = listed.map(|price| price.times(share));
            uses_list |= listed.is_some();
            let price = given.or(listed);
            let (options, limits) = (judge_options.clone(), limits.clone());
            by_name.insert(
                name.clone(),
                NamedJudge {
                    judge,
                    price,
                    limits,
                    samples,
                    merge,
                    options,
                },
            );
        }
        let models = by_name
            .values()
            .filter_map(|named| Some((named.judge.server()?, named.price)));
        let spending = Spending::of(
            options,
            models.map(|(server, price)| (server.request.model.as_str(), price)),
        )?;
        let prices_of = uses_list.then_some(list.date);
        let judges = Self {
            by_name,
            roles,
            panel_merge: options.roles.merge,
            prices_of,
            spending,
        };
        judges.refuse_twins()?;
        if options.scoring.compat {
            judges.refuse_what_the_reference_cannot_merge()?;
        }
        Ok(judges)
    }

    /// The judges of a role, in the order of the panel.
    fn of<'a>(
        &'a self,
        names: &'a [String],
    ) -> impl Iterator<Item = (&'a str, &'a NamedJudge)> + Clone {
        names
            .iter()
            .filter_map(|name| Some((name.as_str(), self.by_name.get(name)?)))
    }

    /// Calls for one question of a role: every sample of every judge.
    pub(super) fn calls_a_question(&self, role: &Role) -> u64 {
        let names = self.roles.iter().find(|(known, _)| known == role);
        let Some((_, names)) = names else {
            return 0;
        };
        self.of(names)
            .map(|(_, named)| u64::from(named.samples))
            .sum()
    }

    fn refuse_twins(&self) -> Result<()> {
        for (role, names) in &self.roles {
            let mut seen: BTreeMap<&str, &str> = BTreeMap::new();
            for (name, named) in self.of(names) {
                let id = named.judge.judge_id();
                if let Some(other) = seen.insert(id, name) {
                    let role = role.name();
                    return Err(Error::Settings(format!(
                        "[roles] {role}: {other} and {name} are one judge ({id}); a panel needs different ones, or give \
                         each its own cache_id"
                    )));
                }
            }
        }
        Ok(())
    }

    /// The reference script cannot merge several grades by their mean: reject this before any call.
    fn refuse_what_the_reference_cannot_merge(&self) -> Result<()> {
        let of_aspects = self
            .roles
            .iter()
            .filter(|(role, _)| matches!(role, Role::Aspect(_)));
        let mut judges = of_aspects.flat_map(|(_, names)| self.of(names));
        if judges.any(|(_, named)| named.samples > 1 && named.merge != GradeMerge::MostCommon) {
            return Err(Error::Usage(
                "--compat: the reference script cannot merge several grades by mean or median; \
                 give --merge most-common, or --samples 1"
                    .to_owned(),
            ));
        }
        Ok(())
    }

    /// The judge of rubrics or criteria, if these are scored; the first of a panel.
    pub(super) fn rubric(&self) -> Option<&NamedJudge> {
        let (_, names) = self
            .roles
            .iter()
            .find(|(role, _)| matches!(role, Role::Rubric | Role::Criteria))?;
        self.of(names).next().map(|(_, named)| named)
    }

    /// True if replies are cached, or there is no judge.
    pub fn is_cached(&self) -> bool {
        let mut judges = self.by_name.values().map(|named| &named.judge);
        judges
            .clone()
            .all(|judge| judge.is_cached() || judge.is_lexical())
            && judges.any(IdentifiedJudge::is_cached)
    }

    /// Every judge by name.
    pub fn all(&self) -> impl Iterator<Item = (&str, &NamedJudge)> {
        self.by_name
            .iter()
            .map(|(name, named)| (name.as_str(), named))
    }

    /// Why a run with calls for one of these roles must not start.
    pub(super) fn cannot_be_asked(&self, roles: &[Role]) -> Option<String> {
        let names = self
            .roles
            .iter()
            .filter(|(role, _)| roles.contains(role))
            .flat_map(|(_, names)| names);
        names
            .filter_map(|name| self.by_name.get(name)?.judge.server()?.cannot_be_asked())
            .next()
    }

    /// Whether the judge with this identity cannot be asked.
    pub(super) fn is_out_of_reach(&self, judge_id: &str) -> bool {
        let mut judges = self.by_name.values().map(|named| &named.judge);
        judges.any(|judge| {
            let server = judge.server().filter(|_| judge.judge_id() == judge_id);
            server.is_some_and(|server| server.cannot_be_asked().is_some())
        })
    }

    /// The manifest entries of the roles.
    pub(super) fn entries(&self) -> BTreeMap<String, RoleEntry> {
        let entry = |(role, names): &(Role, Vec<String>)| {
            let (family, members) = (family_of(role), self.of(names).map(|(_, named)| named));
            let entry = RoleEntry {
                prompts: members
                    .clone()
                    .next()
                    .and_then(|named| named.prompts(family)),
                judges: members.map(|named| named.entry(family)).collect(),
                merge: self.panel_merge,
            };
            (role.name().into_owned(), entry)
        };
        self.roles.iter().map(entry).collect()
    }

    /// Each model with its price, by judge identity.
    pub(super) fn terms(&self) -> BTreeMap<String, JudgeTerms> {
        let servers = self
            .by_name
            .values()
            .filter_map(|named| Some((named.judge.server()?, named.price)));
        let terms = servers.map(|(server, price)| {
            (
                server.request.judge_id.clone(),
                JudgeTerms {
                    model: server.request.model.clone(),
                    price,
                },
            )
        });
        terms.collect()
    }

    /// The panels of the run and their servers, with the layers around every judge. `corpus` weighs words for the lexical baseline; `recorded` are replies of
    /// an earlier session, which were asked for under `earlier_limits`.
    ///
    /// # Errors
    /// When no HTTP client can be set up; when the cache cannot be written.
    pub(super) fn build(
        &self,
        options: &EvaluationOptions,
        corpus: &[Arc<TestCase>],
        recorded: Option<Arc<RecordedReplies>>,
        earlier_limits: BTreeMap<String, ReplyLimits>,
        meters: &Arc<Meters>,
    ) -> Result<(Arc<Panels>, Endpoints)> {
        let shared = Shared {
            corpus: corpus.to_vec(),
            truncate: options.scorers.truncate,
            compat: options.scoring.compat,
            earlier_limits,
            recorded: recorded.map(|replies| replies as Arc<dyn ReplySource>),
            meters: Arc::clone(meters),
            ledger: self.spending.ledger.clone(),
        };
        let mut built: BTreeMap<&str, BuiltJudge> = BTreeMap::new();
        for (name, named) in self.all() {
            built.insert(name, named.judge.build(&shared, named.price)?);
        }
        let fleet =
            |(name, judge): (&&str, &BuiltJudge)| Some(((*name).to_owned(), judge.fleet.clone()?));
        let endpoints = Endpoints(built.iter().filter_map(fleet).collect());
        let member = |(name, named): (&str, &NamedJudge)| {
            let built = built.get(name)?;
            Some(Member {
                judge: Arc::clone(&built.judge),
                renderer: built.renderer.clone(),
                source: Arc::clone(&built.source),
                answering: built.answering.clone(),
                in_flight: built
                    .fleet
                    .clone()
                    .map(|fleet| Arc::new(move || fleet.activity().in_flight) as _),
                judge_id: named.judge.judge_id().into(),
                samples: named.samples,
                merge: named.merge,
                expected: named.options.logprobs.is_some(),
            })
        };
        let panel = |(role, names): &(Role, Vec<String>)| {
            let members = self.of(names).filter_map(member).collect();
            (
                role.clone(),
                Panel {
                    members,
                    merge: self.panel_merge,
                },
            )
        };
        let panels: Panels = self.roles.iter().map(panel).collect();
        Ok((Arc::new(panels), endpoints))
    }

    /// Concurrent calls for a scorer with these roles: as many as the fastest of them takes.
    pub(super) fn concurrency(&self, roles: &[Role]) -> usize {
        let own = self.roles.iter().filter(|(role, _)| roles.contains(role));
        own.map(|(_, names)| self.of(names).map(|(_, named)| named.lanes()).sum())
            .max()
            .unwrap_or(1)
    }
}

/// The prompts of a role's calls.
fn family_of(role: &Role) -> PromptFamily {
    match role {
        Role::Rubric => PromptFamily::Rubric,
        Role::Aspect(_) => PromptFamily::Aspect,
        Role::Citation => PromptFamily::Attribution,
        Role::Criteria => PromptFamily::Criteria,
    }
}
