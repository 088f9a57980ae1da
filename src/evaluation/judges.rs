//! The judges of a run: identified once, then built with their layers, one or a panel per role.
//!
//! Options become identities (servers are asked what they serve), identities become keys of the
//! cache, and only then are the layers built that ask.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::json;

use super::options::{DEFAULT_JUDGE, EvaluationOptions, judge_settings};
use super::spending::Spending;
use super::{JudgeTerms, Member, Panel, Panels};
use crate::domain::{BatchSize, EndingModel, EndpointUse, GradeMerge, Role, Severity, TestCase};
use crate::error::{Error, Result};
use crate::judge::builder::{BuiltJudge, IdentifiedJudge, JudgeBuilder, ServedModel, Shared};
use crate::judge::decider::Decider;
use crate::judge::decision_bounds::DecisionBounds;
use crate::judge::forms::ServiceTier;
use crate::judge::layers::budgeted::Price;
use crate::judge::meters::{Activity, Meters};
use crate::judge::options::{CacheOptions, JudgeOptions, LimitOptions};
use crate::judge::planner::ReplySource;
use crate::judge::prices::PriceList;
use crate::judge::refusals::ReplyLimits;
use crate::judge::servers::Fleet;
use crate::judge::{Judge, Notify};
use crate::prompt::{PromptFamily, PromptSet};
use crate::question::{ASPECT, ATTRIBUTION, CRITERIA, PAIR, PROPERTY, STATEMENTS};
use crate::record::{JudgeEntry, PromptsEntry, QUESTIONS_PER_REQUEST, RecordedReplies, RoleEntry};
use crate::text::names::without_directories;

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
        let mut uses = Vec::new();
        for (judge, fleet) in &self.0 {
            let stats = fleet.stats();
            // A run from cache asks nobody; rows of zeros would hide that.
            if stats.iter().all(|stats| stats.calls == 0) {
                continue;
            }
            for stats in stats {
                uses.push(EndpointUse {
                    judge: judge.clone(),
                    stats,
                });
            }
        }
        uses
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
    /// How it is asked, if it is a decision model.
    decider: Option<Decider>,
}

impl NamedJudge {
    /// Asks the servers of this judge which model they serve; its price is left open.
    ///
    /// # Errors
    /// As [`JudgeBuilder::identify`]; when no judge has the name.
    async fn identify(
        name: &str,
        options: &EvaluationOptions,
        custom_judge: Option<&Arc<dyn Judge>>,
        prompts: &Arc<PromptSet>,
        notify: &Notify,
    ) -> Result<Self> {
        let named = options
            .judge_named(name)
            .ok_or_else(|| Error::Settings(format!("[roles]: no judge is called {name:?}")))?;
        let builder = JudgeBuilder {
            options: named.judge.clone(),
            limits: named.limits.clone(),
            cache: CacheOptions {
                leaves_log: options.output.temporary,
                ..options.cache.clone()
            },
            own: custom_judge.cloned(),
        };
        let judge = builder.identify(prompts, notify).await?;
        if judge.is_lexical() && options.asking.prompts.is_some() {
            let message =
                "the lexical judge reads no prompts; --prompts has no effect without a model";
            notify(Severity::Warning, message);
        }
        let per_call = options.scorers.built_in.rubric.criteria_per_call;
        let bounds = judge.server().and_then(|server| bounds(server, per_call));
        let decider =
            bounds.and_then(|bounds| Decider::new(named.judge.kind(), Arc::clone(prompts), bounds));
        Ok(Self {
            judge,
            price: None,
            limits: named.limits.clone(),
            samples: named.samples,
            merge: named.merge,
            options: named.judge.clone(),
            decider,
        })
    }

    /// The price of its model in the list, at the rate of its service tier.
    fn listed_price(&self, list: &PriceList) -> Option<Price> {
        let server = self.judge.server()?;
        // All endpoints of a judge serve one model, so that the first one decides which provider's
        // price applies.
        let endpoint = server.servers.endpoints().next()?;
        let price = list.find(&server.request.model, endpoint)?;
        let tier = self.options.service_tier;
        Some(price.times(tier.map_or(1.0, ServiceTier::price_share)))
    }

    /// Concurrent answers that keep all its servers busy. An answer stays at its server and the hash spreads answers
    /// unevenly, so this is slightly above the servers' total.
    fn lanes(&self) -> usize {
        let servers = self.judge.server_count();
        let all = self.limits.concurrency.get().saturating_mul(servers);
        if servers > 1 {
            // A quarter more, so that no server idles because a hash gave its neighbor more of the
            // answers in progress.
            all.saturating_add(all / 4)
        } else {
            all
        }
    }

    /// Its manifest entry, with the reply limits of these calls.
    fn entry(&self, family: PromptFamily) -> JudgeEntry {
        let server = self.judge.server();
        let served = server.map(|server| server.servers.served.reduced());
        let mut settings = judge_settings(&self.options);
        if let Some(server) = server {
            // Null where the user gave `none`; no entry for lists that nobody limited.
            let mut limits: BTreeMap<&str, Option<u64>> = BTreeMap::new();
            for info in family.kinds() {
                let kind = info.kind();
                let limit = server.request.max_tokens.get(&kind).copied();
                if limit.is_some() || server.given_limits.contains(&kind) {
                    limits.insert(info.name, limit);
                }
            }
            if let Some(total) = server.total {
                limits.insert("total", Some(total));
            }
            settings.insert("max_tokens".to_owned(), json!(limits));
        }
        // What is asked together decides the reply: a run is read again in the same requests.
        if let Some(decider) = &self.decider {
            let most = decider.bounds().questions;
            settings.insert(QUESTIONS_PER_REQUEST.to_owned(), json!(most));
        }
        JudgeEntry {
            id: self.judge.judge_id().to_owned(),
            earlier_id: server.and_then(|server| server.request.earlier_judge_id.clone()),
            model: server.map(|server| without_directories(&server.request.model).to_owned()),
            base_url: server.map(|server| server.servers.urls()),
            served: served
                .map(|it| json!({"id": it.served, "root": it.root, "model_path": it.model_path})),
            lexical: self.judge.is_lexical(),
            samples: self.samples,
            merge: self.merge,
            settings,
            answered_by: Vec::new(),
            room: None,
            end: None,
        }
    }

    /// The judge with its layers, as a member of a panel.
    pub(super) fn member(&self, built: &BuiltJudge) -> Member {
        let in_flight = built.fleet.clone();
        Member {
            judge: Arc::clone(&built.judge),
            renderer: built.renderer.clone(),
            source: Arc::clone(&built.source),
            answering: built.answering.clone(),
            in_flight: in_flight.map(|fleet| Arc::new(move || fleet.activity().in_flight) as _),
            judge_id: self.judge.judge_id().into(),
            samples: self.samples,
            merge: self.merge,
            decider: self.decider.clone(),
            expected: self.options.logprobs.is_some(),
        }
    }

    /// How it is asked, if it is a decision model.
    pub(super) fn decider(&self) -> Option<&Decider> {
        self.decider.as_ref()
    }

    /// The manifest entry of the prompts of this family; `None` if no prompt is used.
    pub fn prompts(&self, family: PromptFamily) -> Option<PromptsEntry> {
        let family = self.judge.server()?.prompts.family_of(family)?;
        Some(PromptsEntry {
            label: family.label(),
            fingerprint: family.fingerprint(),
            comparable_with_published: family.is_published(),
        })
    }
}

/// What a request to the servers of this judge may hold; of questions at most so many as the user wants.
fn bounds(server: &ServedModel, per_call: Option<BatchSize>) -> Option<DecisionBounds> {
    let each = server
        .servers
        .endpoints()
        .map(|endpoint| DecisionBounds::at(&endpoint.base_url));
    let bounds = each.reduce(DecisionBounds::lowest)?;
    Some(match per_call {
        Some(BatchSize(size)) if size > 0 => bounds.at_most(size),
        _ => bounds,
    })
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

    /// Asks every server which model it serves. `custom_judge` replaces the judge of `[judge]`.
    ///
    /// # Errors
    /// As [`JudgeBuilder::identify`]; for a panel with two equal judges.
    pub(super) async fn identify(
        options: &EvaluationOptions,
        custom_judge: Option<&Arc<dyn Judge>>,
        roles: &[Role],
        notify: &Notify,
    ) -> Result<Self> {
        let prompts = Arc::new(match options.prompts_dir() {
            Some(dir) => PromptSet::load(&dir)?,
            None => PromptSet::builtin(),
        });
        let mut with_judges: Vec<(Role, Vec<String>)> = Vec::new();
        for role in roles {
            let judges = options.judges_of(role);
            if judges.is_empty() {
                return Err(Error::Settings(format!(
                    "no judge has the role {}; give it one under [roles]",
                    role.name()
                )));
            }
            with_judges.push((role.clone(), judges));
        }
        let list = PriceList::load(options.budget.prices.as_deref())?;
        let mut by_name: BTreeMap<String, NamedJudge> = BTreeMap::new();
        let mut uses_list = false;
        for name in with_judges.iter().flat_map(|(_, judges)| judges) {
            // Identifying asks the server, so once a judge, however many roles it has.
            if by_name.contains_key(name) {
                continue;
            }
            // A judge in the user's code stands for `[judge]` only; roles may still name judges of
            // the config file.
            let custom_judge = custom_judge.filter(|_| name == DEFAULT_JUDGE);
            let mut named =
                NamedJudge::identify(name, options, custom_judge, &prompts, notify).await?;
            named.price = given_price(options, name, &named.judge);
            if named.price.is_none() {
                named.price = named.listed_price(&list);
                uses_list |= named.price.is_some();
            }
            by_name.insert(name.clone(), named);
        }
        let mut models = Vec::new();
        for named in by_name.values() {
            if let Some(server) = named.judge.server() {
                models.push((server.request.model.as_str(), named.price));
            }
        }
        let spending = Spending::of(options, models.into_iter())?;
        let judges = Self {
            by_name,
            roles: with_judges,
            panel_merge: options.roles.merge,
            prices_of: uses_list.then_some(list.date),
            spending,
        };
        // Two equal judges have equal cache keys: the second would repeat the first one's replies
        // and pretend to agree with it.
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
        let names = names.iter();
        names.filter_map(|name| Some((name.as_str(), self.by_name.get(name)?)))
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
        let roles = self.roles.iter();
        let of_aspects = roles.filter(|(role, _)| matches!(role, Role::Aspect(_)));
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

    /// The judge of rubrics, criteria, pairs or pages, if these are scored; the first of a panel.
    pub(super) fn rubric(&self) -> Option<&NamedJudge> {
        let (_, names) = self.roles.iter().find(|(role, _)| {
            matches!(
                role,
                Role::Rubric | Role::Criteria | Role::Pair | Role::Page
            )
        })?;
        self.of(names).next().map(|(_, named)| named)
    }

    /// The decision models among the judges, with their names.
    pub(super) fn all_deciders(&self) -> impl Iterator<Item = (&str, &Decider)> {
        let judges = self.by_name.iter();
        judges.filter_map(|(name, named)| Some((name.as_str(), named.decider()?)))
    }

    /// The decision models among the judges of a role, with their names.
    pub(super) fn deciders<'a>(
        &'a self,
        role: &Role,
    ) -> impl Iterator<Item = (&'a str, &'a Decider)> {
        let names = self.roles.iter().find(|(known, _)| known == role);
        let judges = names.into_iter().flat_map(|(_, names)| self.of(names));
        judges.filter_map(|(name, named)| Some((name, named.decider()?)))
    }

    /// True if replies are cached, or there is no judge.
    pub fn is_cached(&self) -> bool {
        let mut is_any_cached = false;
        for named in self.by_name.values() {
            // One uncached judge suffices to lose replies: the record must then be flushed for each
            // call.
            if !named.judge.is_cached() && !named.judge.is_lexical() {
                return false;
            }
            is_any_cached |= named.judge.is_cached();
        }
        is_any_cached
    }

    /// Every judge by name.
    pub fn all(&self) -> impl Iterator<Item = (&str, &NamedJudge)> {
        let by_name = self.by_name.iter();
        by_name.map(|(name, named)| (name.as_str(), named))
    }

    /// The roles of the judge of that name.
    pub(super) fn roles_of<'a>(&'a self, judge: &'a str) -> impl Iterator<Item = &'a Role> {
        let roles = self.roles.iter();
        let of_judge = roles.filter(move |(_, names)| names.iter().any(|name| name == judge));
        of_judge.map(|(role, _)| role)
    }

    /// Why a run with calls for one of these roles must not start.
    pub(super) fn cannot_be_asked(&self, roles: &[Role]) -> Option<String> {
        for (role, names) in &self.roles {
            if !roles.contains(role) {
                continue;
            }
            for (_, named) in self.of(names) {
                let server = named.judge.server();
                if let Some(why) = server.and_then(ServedModel::cannot_be_asked) {
                    return Some(why);
                }
            }
        }
        None
    }

    /// Whether the judge with this identity cannot be asked.
    pub(super) fn is_out_of_reach(&self, judge_id: &str) -> bool {
        self.by_name.values().any(|named| {
            let server = named.judge.server();
            named.judge.judge_id() == judge_id
                && server.is_some_and(|server| server.cannot_be_asked().is_some())
        })
    }

    /// What services state about the end of these judges' models, by the judge's identity.
    ///
    /// # Errors
    /// As [`ServedModel::ending`].
    pub(super) async fn endings(
        &self,
        judge_ids: &BTreeSet<&str>,
    ) -> Result<BTreeMap<String, EndingModel>> {
        let mut endings = BTreeMap::new();
        for named in self.by_name.values() {
            let id = named.judge.judge_id();
            if let Some(server) = named.judge.server()
                && judge_ids.contains(id)
                && let Some(ending) = server.ending().await?
            {
                endings.insert(id.to_owned(), ending);
            }
        }
        Ok(endings)
    }

    /// The first address of the judge with this identity.
    pub(super) fn first_url(&self, judge_id: &str) -> Option<String> {
        let mut judges = self.by_name.values().map(|named| &named.judge);
        let judge = judges.find(|judge| judge.judge_id() == judge_id)?;
        judge.server()?.servers.first_url()
    }

    /// The manifest entries of the roles.
    pub(super) fn entries(&self) -> BTreeMap<String, RoleEntry> {
        let mut entries = BTreeMap::new();
        for (role, names) in &self.roles {
            let family = family_of(role);
            let mut entry = RoleEntry {
                merge: self.panel_merge,
                ..RoleEntry::default()
            };
            for (_, named) in self.of(names) {
                if entry.judges.is_empty() {
                    entry.prompts = named.prompts(family);
                }
                entry.judges.push(named.entry(family));
            }
            entries.insert(role.name().into_owned(), entry);
        }
        entries
    }

    /// Each model with its price, by judge identity.
    pub(super) fn terms(&self) -> BTreeMap<String, JudgeTerms> {
        let mut terms = BTreeMap::new();
        for named in self.by_name.values() {
            if let Some(server) = named.judge.server() {
                let judge_terms = JudgeTerms {
                    model: server.request.model.clone(),
                    price: named.price,
                };
                terms.insert(server.request.judge_id.clone(), judge_terms);
            }
        }
        terms
    }

    /// The panels of the run and their servers, with the layers around every judge. `corpus` weighs words for the lexical
    /// baseline; `recorded` are replies of an earlier session, which were asked for under `earlier_limits`.
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
            truncate: options.asking.truncate,
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
        let mut endpoints = Endpoints::default();
        for (name, judge) in &built {
            if let Some(fleet) = &judge.fleet {
                endpoints.0.push(((*name).to_owned(), Arc::clone(fleet)));
            }
        }
        let mut panels = Panels::new();
        for (role, names) in &self.roles {
            let mut panel = Panel {
                members: Vec::new(),
                merge: self.panel_merge,
            };
            for (name, named) in self.of(names) {
                if let Some(built) = built.get(name) {
                    panel.members.push(named.member(built));
                }
            }
            panels.insert(role.clone(), panel);
        }
        Ok((Arc::new(panels), endpoints))
    }

    /// Concurrent calls for a scorer with these roles: as many as the fastest of them takes.
    pub(super) fn concurrency(&self, roles: &[Role]) -> usize {
        let mut most = None;
        for (role, names) in &self.roles {
            if roles.contains(role) {
                let calls: usize = self.of(names).map(|(_, named)| named.lanes()).sum();
                // Not the slowest: the slots of an answer wait for the slower judge anyway, and the
                // faster one would idle.
                most = most.max(Some(calls));
            }
        }
        most.unwrap_or(1)
    }
}

/// The price that the user gave: that of the options for the judge of `[judge]`, else that of the model's name.
fn given_price(options: &EvaluationOptions, name: &str, judge: &IdentifiedJudge) -> Option<Price> {
    if name == DEFAULT_JUDGE
        // The flags name a price without a model; it can only mean the judge that the flags
        // describe.
        && let Some(price) = options.budget.price()
    {
        return Some(price);
    }
    let model = &judge.server()?.request.model;
    options.prices.get(model).copied()
}

/// The prompts of a role's calls.
fn family_of(role: &Role) -> PromptFamily {
    PromptFamily::of(match role {
        Role::Rubric => &PROPERTY,
        Role::Aspect(_) => &ASPECT,
        Role::Citation => &ATTRIBUTION,
        Role::Criteria => &CRITERIA,
        Role::Pair => &PAIR,
        Role::Page => &STATEMENTS,
    })
}
