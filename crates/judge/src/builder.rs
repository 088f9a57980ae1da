//! Builds a judge from options: its model, its requests, and the layers around it.
//!
//! `JudgeBuilder::identify` asks servers who they are and opens the cache; `IdentifiedJudge::build`
//! puts the layers around the judge, with what the run shares (`Shared`).

use std::collections::{BTreeMap, BTreeSet};
use std::num::{NonZeroU32, NonZeroUsize};
use std::path::PathBuf;
use std::sync::Arc;

use secrecy::SecretString;

use super::answering::Answering;
use super::body::RequestOptions;
use super::cache::Cache;
use super::capacity::Capacity;
use super::endpoint::Endpoint;
use super::forms::{Effort, Structured};
use super::identity::{earlier_judge_id, judge_id};
use super::kind::JudgeKind;
use super::layers::budgeted::{Budgeted, Ledger, Price};
use super::layers::cached::Cached;
use super::layers::context_limited::ContextLimited;
use super::layers::retrying::Retrying;
use super::layers::scouted::Scouted;
use super::lexical::Lexical;
use super::meters::Meters;
use super::options::{CacheOptions, JudgeOptions, LimitOptions};
use super::planner::{Recalling, ReplySource};
use super::refusals::{Refusals, ReplyLimits};
use super::render::Renderer;
use super::reply_limits::LimitBounds;
use super::servers::{Fleet, Servers};
use super::{Judge, Notify, other_efforts};
use crate::prompt::PromptSet;
use scholareval_core::domain::{EndingModel, TestCase};
use scholareval_core::error::{Error, Result};
use scholareval_core::question::{KINDS, Kind, KindInfo};

/// The identity of the lexical baseline; the version changes when its scores do.
pub(crate) const LEXICAL_ID: &str = "lexical-1";

/// A judge to build: a model on servers, the lexical baseline, or a custom [`Judge`].
///
/// Options without a method are fields of the public options.
///
/// ```
/// use scholareval_judge::JudgeBuilder;
///
/// let hosted = JudgeBuilder::openai("openai/gpt-oss-120b")
///     .base_url("https://openrouter.ai/api/v1")
///     .api_key("sk-..")
///     .concurrency(8)
///     .cache("replies.sqlite");
/// let mut local = JudgeBuilder::server("http://localhost:8000").requests_per_minute(500);
/// local.limits.retries = 2;
/// # let _ = (hosted, local, JudgeBuilder::lexical());
/// ```
#[derive(Clone, Default)]
pub struct JudgeBuilder {
    /// Its model and requests.
    pub options: JudgeOptions,
    /// Its limits.
    pub limits: LimitOptions,
    /// Its reply cache.
    pub cache: CacheOptions,
    /// A judge that needs no server.
    pub own: Option<Arc<dyn Judge>>,
}

impl JudgeBuilder {
    /// The built-in baseline: deterministic, offline, no LLM.
    pub fn lexical() -> Self {
        Self::default()
    }

    /// A model of OpenAI or, with [`JudgeBuilder::base_url`], of another server.
    pub fn openai(model: impl Into<String>) -> Self {
        let options = JudgeOptions {
            model: Some(model.into()),
            ..JudgeOptions::default()
        };
        Self {
            options,
            ..Self::default()
        }
    }

    /// A model of Anthropic or, with [`JudgeBuilder::base_url`], of another server that speaks its protocol.
    pub fn anthropic(model: impl Into<String>) -> Self {
        let mut judge = Self::openai(model);
        judge.options.kind = Some(JudgeKind::Anthropic);
        judge
    }

    /// Asks the model in the protocol of this kind: `JudgeBuilder::openai("gemini-2.5-pro").kind(JudgeKind::Gemini)`.
    #[must_use]
    pub fn kind(mut self, kind: JudgeKind) -> Self {
        self.options.kind = Some(kind);
        self
    }

    /// The only model of an OpenAI-compatible server (vLLM, llama.cpp).
    pub fn server(url: impl Into<String>) -> Self {
        Self::default().base_url(url)
    }

    /// A custom judge, which answers tasks itself; `id` is its identity in records.
    pub fn custom(id: impl Into<String>, judge: impl Judge + 'static) -> Self {
        Self {
            own: Some(Arc::new(judge)),
            ..Self::openai(id)
        }
    }

    /// A server of the model; several servers share its calls, each within the limits.
    #[must_use]
    pub fn base_url(mut self, url: impl Into<String>) -> Self {
        self.options.base_url.push(url.into());
        self
    }

    /// The API key; an empty one counts as none.
    #[must_use]
    pub fn api_key(mut self, key: impl Into<String>) -> Self {
        self.options.api_key = Some(key.into())
            .filter(|key| !key.is_empty())
            .map(SecretString::from);
        self
    }

    /// Calls in flight at once, at least 1.
    #[must_use]
    pub fn concurrency(mut self, calls: usize) -> Self {
        self.limits.concurrency = NonZeroUsize::new(calls).unwrap_or(NonZeroUsize::MIN);
        self
    }

    /// Requests per minute, at least 1.
    #[must_use]
    pub fn requests_per_minute(mut self, requests: u32) -> Self {
        self.limits.rpm = NonZeroU32::new(requests).or(Some(NonZeroU32::MIN));
        self
    }

    /// The file of the reply cache; default: `.scholareval/cache.sqlite`.
    #[must_use]
    pub fn cache(mut self, path: impl Into<PathBuf>) -> Self {
        self.cache.path = path.into();
        self
    }

    /// Opens the cache and asks every server which model it serves.
    ///
    /// # Errors
    /// For an unusable cache or options; when no server is reachable and none is known from an earlier run.
    pub async fn identify(
        &self,
        prompts: &Arc<PromptSet>,
        notify: &Notify,
    ) -> Result<IdentifiedJudge> {
        let judge = &self.options;
        if let Some(custom) = &self.own {
            let id = judge.model.clone().unwrap_or_default();
            return Ok(IdentifiedJudge::Own {
                id,
                judge: Arc::clone(custom),
            });
        }
        if judge.kind() == JudgeKind::Lexical {
            return Ok(IdentifiedJudge::Lexical);
        }
        let cache = self.cache.path().map(Cache::open).transpose()?;
        if let Some(cache) = cache.as_ref().filter(|_| self.cache.leaves_log) {
            cache.leave_log()?;
        }
        let limits = self.limits.with_patience(judge.service_tier);
        let servers = Servers::ask(judge, &limits, cache.as_ref(), notify).await?;
        let id = judge_id(&servers.model, judge.cache_id.as_deref(), &servers.served);
        let earlier_id = earlier_judge_id(&servers.model, &servers.served);
        let is_renamed = judge.cache_id.is_none() && earlier_id != id;
        let request = RequestOptions {
            endpoint: judge.kind(),
            base_url: judge.addresses().first().cloned().unwrap_or_default(),
            conversation: judge.conversation,
            judge_id: id,
            earlier_judge_id: is_renamed.then_some(earlier_id),
            model: servers.model.clone(),
            temperature: judge.temperature(),
            top_p: judge.top_p,
            logprobs: judge.logprobs,
            seed: judge.seed,
            json_mode: judge.structured != Structured::Off,
            reasoning_effort: judge.reasoning_effort,
            service_tier: judge.service_tier,
            max_tokens: reply_limits(judge, prompts)?,
            extra_body: judge.request_fields(),
            ..RequestOptions::new("")
        };
        let mut refusals = learned_parameters(judge, &request, cache.as_ref())?;
        refusals.is_schema_kept = servers.keep_to_schema();
        let served = ServedModel {
            servers,
            request,
            structured: judge.structured,
            prompts: Arc::clone(prompts),
            cache,
            limits,
            given_limits: judge.reply_limits()?.into_keys().collect(),
            total: judge.total_limit()?,
            refusals: Arc::new(refusals),
        };
        Ok(IdentifiedJudge::Server(Box::new(served)))
    }
}

/// What is known of the judge, under its earlier identity as well, with the limits that the user gives it now: replies to them
/// are found by later runs.
fn learned_parameters(
    judge: &JudgeOptions,
    request: &RequestOptions,
    cache: Option<&Cache>,
) -> Result<Refusals> {
    let refusals = Refusals::of(&request.judge_id, cache)?;
    if let Some(earlier_id) = &request.earlier_judge_id {
        refusals.inherit(earlier_id)?;
    }
    let mut limits = ReplyLimits::new();
    for (kind, limit) in judge.reply_limits()? {
        limits.insert(kind, [limit].into());
    }
    refusals.add_limits(limits)?;
    if let Some(total) = judge.total_limit()? {
        refusals.add_total(total)?;
    }
    Ok(refusals)
}

/// The given limits, else those of the prompt set with room for the reasoning; a label judge needs room for a label only.
fn reply_limits(judge: &JudgeOptions, prompts: &PromptSet) -> Result<BTreeMap<Kind, u64>> {
    let given = judge.reply_limits()?;
    let limit = |kind: &KindInfo| match given.get(&kind.kind()) {
        Some(limit) => *limit,
        None if judge.kind() == JudgeKind::Label || judge.kind().is_decision_model() => {
            judge.kind().default_max_tokens(kind)
        }
        None => prompts
            .max_tokens(kind)
            .map(|limit| limit + judge.reasoning_effort.map_or(0, Effort::tokens)),
    };
    Ok(KINDS
        .into_iter()
        .filter_map(|kind| Some((kind.kind(), limit(kind)?)))
        .collect())
}

/// A judge with a known identity, before layers are built.
pub enum IdentifiedJudge {
    /// The built-in baseline.
    Lexical,
    /// A custom judge.
    Own {
        /// Its identity.
        id: String,
        /// The judge.
        judge: Arc<dyn Judge>,
    },
    /// A model behind servers.
    Server(Box<ServedModel>),
}

/// A model on one or more servers.
pub struct ServedModel {
    /// The servers, and what they serve.
    pub servers: Servers,
    /// Request parameters of every call.
    pub request: RequestOptions,
    /// The form of replies that is asked for.
    pub structured: Structured,
    /// What it is asked with.
    pub prompts: Arc<PromptSet>,
    /// Its reply cache.
    pub cache: Option<Cache>,
    limits: LimitOptions,
    /// Kinds of questions whose reply limit the user gave.
    pub given_limits: BTreeSet<Kind>,
    /// The most tokens of a reply with its reasoning, if the user gave it.
    pub total: Option<u64>,
    refusals: Arc<Refusals>,
}

/// A judge with its layers and other parts for a run.
pub struct BuiltJudge {
    /// The judge with all layers.
    pub judge: Arc<dyn Judge>,
    /// Cached replies.
    pub source: Arc<dyn ReplySource>,
    /// Renders calls to requests; `None` for judges that answer the task itself.
    pub renderer: Option<Arc<Renderer>>,
    /// Its servers, if it has any.
    pub fleet: Option<Arc<Fleet>>,
    /// Which cached replies count; `None` without a cache.
    pub answering: Option<Arc<Answering>>,
}

/// Shared parts of a run's judges.
#[derive(Clone, Default)]
pub struct Shared {
    /// Test cases, by which the lexical baseline weighs words.
    pub corpus: Vec<Arc<TestCase>>,
    /// Cut prompts that do not fit the context.
    pub truncate: bool,
    /// Ask as the reference asks, without choices of ours.
    pub compat: bool,
    /// The reply limits of the run that is continued, by judge identity.
    pub earlier_limits: BTreeMap<String, ReplyLimits>,
    /// Replies of an earlier session of the same run; they come before the cache and are not written into it.
    pub recorded: Option<Arc<dyn ReplySource>>,
    /// The counters of the run.
    pub meters: Arc<Meters>,
    /// The budget of the run.
    pub ledger: Option<Arc<Ledger>>,
}

impl IdentifiedJudge {
    /// The model on servers, if it is one.
    pub fn server(&self) -> Option<&ServedModel> {
        if let Self::Server(server) = self {
            Some(server)
        } else {
            None
        }
    }

    /// True for the built-in baseline.
    pub fn is_lexical(&self) -> bool {
        matches!(self, Self::Lexical)
    }

    /// The identity in cache keys and records.
    pub fn judge_id(&self) -> &str {
        match self {
            Self::Lexical => LEXICAL_ID,
            Self::Own { id, .. } => id,
            Self::Server(server) => &server.request.judge_id,
        }
    }

    /// Number of servers that share its calls, each with separate limits; at least 1.
    pub fn server_count(&self) -> usize {
        self.server()
            .map_or(1, |server| server.servers.endpoints().len())
    }

    /// True if replies are cached.
    pub fn is_cached(&self) -> bool {
        self.server().is_some_and(|server| server.cache.is_some())
    }

    /// Builds the layers around the judge, whose calls cost `price`.
    ///
    /// # Errors
    /// When no HTTP client can be set up; when texts are to be cut to a context of unknown length.
    pub fn build(&self, shared: &Shared, price: Option<Price>) -> Result<BuiltJudge> {
        let recorded: Vec<Arc<dyn ReplySource>> = shared.recorded.iter().cloned().collect();
        let (judge, source): (Arc<dyn Judge>, Arc<dyn ReplySource>) = match self {
            Self::Lexical => (
                Arc::new(Lexical::new(&shared.corpus)),
                Arc::new(Vec::<Arc<dyn ReplySource>>::new()),
            ),
            Self::Own { judge, .. } => (
                Arc::new(Recalling::new(
                    Arc::new(recorded.clone()),
                    Arc::clone(judge),
                )),
                Arc::new(recorded),
            ),
            Self::Server(server) => return server.build(shared, price, recorded),
        };
        Ok(BuiltJudge {
            judge,
            source,
            renderer: None,
            fleet: None,
            answering: None,
        })
    }
}

impl ServedModel {
    fn build(
        &self,
        shared: &Shared,
        price: Option<Price>,
        recorded: Vec<Arc<dyn ReplySource>>,
    ) -> Result<BuiltJudge> {
        let (model, meters) = (&self.request.model, || Arc::clone(&shared.meters));
        let capacity = self.servers.capacity();
        if shared.truncate && capacity.is_none() {
            return Err(Error::JudgeUnavailable(format!(
                "--truncate: the server of {model} does not report the length of its context; leave --truncate out"
            )));
        }
        let fleet = Arc::new(self.servers.fleet(&self.limits, &shared.meters, None)?);
        let asking = Budgeted::new(
            ContextLimited::new(
                Retrying::new(
                    Scouted::new(Arc::clone(&fleet)),
                    self.limits.retries,
                    meters(),
                ),
                capacity,
            )?,
            shared.ledger.clone(),
            price,
            meters(),
        );
        let answering = match &self.cache {
            Some(cache) => Some(Arc::new(Answering::new(
                cache.clone(),
                self.request.judge_id.as_str(),
            )?)),
            None => None,
        };
        let mut source = recorded.clone();
        let cached: Arc<dyn Judge> = match &answering {
            Some(answering) => {
                // The record of the run comes before the cache: a continued run keeps its recorded
                // replies, even if the cache has others by now.
                source.push(Arc::clone(answering) as Arc<dyn ReplySource>);
                Arc::new(Cached::new(asking, Arc::clone(answering), meters()))
            }
            None => Arc::new(asking),
        };
        let judge = Arc::new(Recalling::new(Arc::new(recorded), cached));
        let source = Arc::new(source);
        let renderer = self.renderer(shared, capacity.map(|(capacity, _)| capacity))?;
        Ok(BuiltJudge {
            judge,
            source,
            renderer: Some(Arc::new(renderer)),
            fleet: Some(fleet),
            answering,
        })
    }

    /// Renders calls as this judge is asked, knowing how long a prompt its servers take.
    fn renderer(&self, shared: &Shared, capacity: Option<Capacity>) -> Result<Renderer> {
        let refusals = Arc::clone(&self.refusals);
        let earlier_limits = shared.earlier_limits.get(&self.request.judge_id);
        if let Some(limits) = earlier_limits {
            refusals.add_limits(limits.clone())?;
        }
        let bounds = LimitBounds {
            total: self.total,
            capacity,
            is_continued: earlier_limits.is_some(),
        };
        let prompts = Arc::clone(&self.prompts);
        let room = capacity.filter(|_| shared.truncate);
        let renderer =
            Renderer::new(prompts, &self.request, self.structured, room, refusals).within(bounds);
        if shared.compat {
            return Ok(renderer);
        }
        Ok(renderer.with_own_choices(self.given_limits.iter().cloned(), capacity))
    }

    /// Why a run that makes calls must not start; `None` if it may.
    pub fn cannot_be_asked(&self) -> Option<String> {
        let no_key = |endpoint: &Endpoint| {
            let service = endpoint.service().filter(|_| endpoint.api_key.is_none())?;
            Some((service, endpoint.api_key_env.clone()))
        };
        self.servers.offline().or_else(|| {
            let (service, variable) = self.servers.endpoints().find_map(no_key)?;
            Some(format!("{variable} is not set, and {service} asks for a key; export it, or name another variable with --api-key-env"))
        })
    }

    /// What the model's service states about its end; at most one short request. What it states about parameters decides how
    /// requests are written from now on.
    ///
    /// # Errors
    /// [`Error::JudgeUnavailable`] for an effort that the model is known not to take, with those that it takes.
    pub async fn ending(&self) -> Result<Option<EndingModel>> {
        let (end, capabilities) = self.servers.stated().await;
        let model = self.request.model.clone();
        let protocol = self.request.endpoint.protocol();
        let efforts = protocol.efforts(&model, &capabilities);
        if let (Some(effort), Some(efforts)) = (self.request.reasoning_effort, efforts)
            && !efforts.contains(&effort)
        {
            let effort = Effort::names([effort]);
            let what = format!("{model} does not take --reasoning-effort {effort}");
            return Err(Error::JudgeUnavailable(other_efforts(&what, Some(efforts))));
        }
        self.refusals.set_capabilities(capabilities);
        Ok(end.map(|end| EndingModel { model, end }))
    }

    /// The room for reasoning that its replies were found to need, in tokens.
    pub fn room(&self) -> u64 {
        self.refusals.room(self.request.reasoning_effort)
    }

    /// The judge at one of its servers alone, past the cache and without retries: a check shows what is, at once.
    ///
    /// # Errors
    /// As [`IdentifiedJudge::build`].
    pub fn build_at(&self, server: usize, shared: &Shared) -> Result<BuiltJudge> {
        let capacity = self.servers.capacity();
        let fleet = self
            .servers
            .fleet(&self.limits, &shared.meters, Some(server))?;
        let fleet = Arc::new(fleet);
        let asking = Retrying::new(Arc::clone(&fleet), 0, Arc::clone(&shared.meters));
        let renderer = self.renderer(shared, capacity.map(|(capacity, _)| capacity))?;
        Ok(BuiltJudge {
            judge: Arc::new(ContextLimited::new(asking, capacity)?),
            source: Arc::new(Vec::<Arc<dyn ReplySource>>::new()),
            renderer: Some(Arc::new(renderer)),
            fleet: Some(fleet),
            answering: None,
        })
    }
}
