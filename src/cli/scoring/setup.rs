//! The judge of a run: who it is, what is sent to it, and the layers around it.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::sync::Arc;

use serde_json::json;

use crate::cli::settings::Settings;
use crate::cli::terminal;
use crate::domain::{CallKind, JudgeReply, TestCase};
use crate::error::{Error, Result};
use crate::evaluation::record::{JudgeEntry, PromptsEntry};
use crate::evaluation::{NoRendering, Renderer};
use crate::judge::body::RequestOptions;
use crate::judge::cache::Cache;
use crate::judge::chat::Chat;
use crate::judge::identity::{ServerIdentity, judge_id};
use crate::judge::kind::JudgeKind;
use crate::judge::layers::budgeted::Budgeted;
use crate::judge::layers::cached::Cached;
use crate::judge::layers::collapsing::Collapsing;
use crate::judge::layers::context_limited::ContextLimited;
use crate::judge::layers::rate_limited::Limits;
use crate::judge::layers::retrying::{RetryPolicy, Retrying};
use crate::judge::lexical::Lexical;
use crate::judge::meters::Meters;
use crate::judge::options::JudgeOptions;
use crate::judge::planner::{NoReplies, Recalling, ReplySource};
use crate::judge::token_counter::TokenCounter;
use crate::judge::{Judge, JudgeRequest};
use crate::prompt::{PromptFamily, PromptSet};

use super::renderer::PromptRenderer;
use super::roles::NamedJudge;
use super::servers::{Fleet, Servers};
use super::spending::Spending;

/// The identity of the baseline: its version changes when its scores do.
pub(super) const LEXICAL_ID: &str = "lexical-1";

/// A judge whose identity is known, before any layer is built.
pub(in crate::cli) enum Identified {
    /// The built-in baseline.
    Lexical,
    /// A model behind an endpoint.
    Chat(Box<IdentifiedChat>),
}

/// A model behind one endpoint or several.
pub(in crate::cli) struct IdentifiedChat {
    servers: Servers,
    options: RequestOptions,
    prompts: Arc<PromptSet>,
    cache: Option<Cache>,
}

impl IdentifiedChat {
    /// Why a run that needs a call must not begin.
    fn cannot_be_asked(&self) -> Option<String> {
        let without_key = self.servers.endpoints().find(|endpoint| endpoint.is_openai() && endpoint.api_key.is_none());
        let no_key = || {
            without_key.map(|endpoint| {
                let variable = &endpoint.api_key_env;
                format!("{variable} is not set, and OpenAI asks for a key; export it, or name another variable with --api-key-env")
            })
        };
        self.servers.offline().or_else(no_key)
    }
}

/// Everything the pipeline needs of a judge.
pub(in crate::cli) struct Judging {
    /// Asks for real.
    pub(in crate::cli) judge: Arc<dyn Judge>,
    /// Knows what is already paid.
    pub(in crate::cli) source: Arc<dyn ReplySource>,
    /// Calls to bytes.
    pub(in crate::cli) renderer: Arc<dyn Renderer>,
    /// Its endpoints; `None` for the baseline.
    pub(super) fleet: Option<Arc<Fleet>>,
}

/// The cache as a place of paid replies; only what is rendered has a key.
struct CacheSource(Cache);

impl ReplySource for CacheSource {
    fn find(&self, request: &JudgeRequest) -> Result<Option<JudgeReply>> {
        match &request.rendered {
            Some(rendered) => self.0.get(&rendered.fingerprint),
            None => Ok(None),
        }
    }
}

impl Identified {
    /// Opens the cache and asks every server who it is.
    ///
    /// # Errors
    /// For a cache or settings that cannot be used; for no server at all when nothing is known of it from an earlier run.
    pub(in crate::cli) async fn identify(
        settings: &Settings,
        named: &NamedJudge,
        prompts: &Arc<PromptSet>,
    ) -> Result<Self> {
        let judge = &named.judge;
        if judge.kind() == JudgeKind::Lexical {
            if settings.options.scoring.prompts.is_some() && !settings.quiet {
                terminal::note("warning: the lexical judge reads no prompts; --prompts has no effect without a model");
            }
            return Ok(Self::Lexical);
        }
        let cache = settings.options.cache.path().map(Cache::open).transpose()?;
        let servers = Servers::ask(judge, &named.limits, cache.as_ref()).await?;
        let options = request_options(judge, prompts, &servers.served, servers.model.clone());
        let prompts = Arc::clone(prompts);
        Ok(Self::Chat(Box::new(IdentifiedChat { servers, options, prompts, cache })))
    }

    /// True for the built-in baseline.
    pub(in crate::cli) fn is_lexical(&self) -> bool {
        matches!(self, Self::Lexical)
    }

    /// The identity that cache keys and records carry.
    pub(in crate::cli) fn judge_id(&self) -> &str {
        match self {
            Self::Lexical => LEXICAL_ID,
            Self::Chat(chat) => &chat.options.judge_id,
        }
    }

    /// The model that is asked; `None` for the baseline.
    pub(in crate::cli) fn model(&self) -> Option<&str> {
        match self {
            Self::Lexical => None,
            Self::Chat(chat) => Some(&chat.options.model),
        }
    }

    /// Why a run that needs a call of it must not begin.
    pub(in crate::cli) fn cannot_be_asked(&self) -> Option<String> {
        match self {
            Self::Lexical => None,
            Self::Chat(chat) => chat.cannot_be_asked(),
        }
    }

    /// What the manifest says of the judge.
    pub(in crate::cli) fn entry(&self) -> JudgeEntry {
        match self {
            Self::Lexical => {
                JudgeEntry { id: LEXICAL_ID.into(), model: None, base_url: None, served: None, lexical: true }
            }
            Self::Chat(chat) => JudgeEntry {
                id: chat.options.judge_id.clone(),
                model: Some(chat.options.model.clone()),
                base_url: Some(chat.servers.urls()),
                served: Some(json!({
                    "id": chat.servers.served.served,
                    "root": chat.servers.served.root,
                    "model_path": chat.servers.served.model_path,
                })),
                lexical: false,
            },
        }
    }

    /// Where a batch of its calls goes: the first address that is there, secrets masked; `None` for the baseline.
    pub(in crate::cli) fn first_url(&self) -> Option<String> {
        match self {
            Self::Lexical => None,
            Self::Chat(chat) => chat.servers.first_url(),
        }
    }

    /// How many endpoints share its calls, each within limits of its own; at least 1.
    pub(in crate::cli) fn endpoint_count(&self) -> usize {
        match self {
            Self::Lexical => 1,
            Self::Chat(chat) => chat.servers.endpoints().len(),
        }
    }

    /// The rubric's reply limits in force, as a setting of the run; `None` for the baseline.
    pub(in crate::cli) fn reply_limits(&self) -> Option<serde_json::Value> {
        match self {
            Self::Lexical => None,
            Self::Chat(chat) => {
                let rubric = chat.options.max_tokens.iter().filter(|(kind, _)| CallKind::RUBRIC.contains(kind));
                let limits: BTreeMap<&str, u64> = rubric.map(|(k, n)| (k.as_str(), *n)).collect();
                Some(json!(limits))
            }
        }
    }

    /// What the manifest says of this family's prompts.
    pub(in crate::cli) fn prompts_entry(&self, family: PromptFamily) -> Option<PromptsEntry> {
        match self {
            Self::Lexical => None,
            Self::Chat(chat) => {
                let family = chat.prompts.family_of(family);
                Some(PromptsEntry {
                    label: family.label(),
                    fingerprint: family.fingerprint(),
                    comparable_with_published: family.is_published(),
                })
            }
        }
    }

    /// True where replies are kept in a cache.
    pub(in crate::cli) fn is_cached(&self) -> bool {
        matches!(self, Self::Chat(chat) if chat.cache.is_some())
    }

    /// Builds the layers. `recorded` are replies of an earlier session of the same run, used where there is no cache.
    ///
    /// # Errors
    /// When no HTTP client can be set up; when texts are to be cut to a context of which nothing is known.
    pub(in crate::cli) fn judging(
        &self,
        named: &NamedJudge,
        truncate: bool,
        corpus: &[Arc<TestCase>],
        recorded: Option<Arc<dyn ReplySource>>,
        meters: &Arc<Meters>,
        budget: &Spending,
    ) -> Result<Judging> {
        let chat = match self {
            Self::Lexical => {
                return Ok(Judging {
                    judge: Arc::new(Lexical::new(corpus)),
                    source: Arc::new(NoReplies),
                    renderer: Arc::new(NoRendering),
                    fleet: None,
                });
            }
            Self::Chat(chat) => chat,
        };
        let capacity = chat.servers.capacity().map(|(capacity, _)| capacity);
        if truncate && capacity.is_none() {
            return Err(Error::JudgeUnavailable(format!(
                "--truncate: the server of {} does not tell how long its context is; leave --truncate out",
                chat.options.model
            )));
        }
        let counter = chat.servers.capacity().map(|(capacity, at)| TokenCounter::of_server(at, capacity.tokenizer));
        let counter = counter.transpose()?;
        let limits = Limits {
            concurrency: named.limits.concurrency.get(),
            requests_per_minute: named.limits.rpm,
            tokens_per_minute: named.limits.tpm.map(|tpm| NonZeroU32::try_from(tpm).unwrap_or(NonZeroU32::MAX)),
        };
        let policy = RetryPolicy { max_attempts: named.limits.retries.saturating_add(1), ..RetryPolicy::default() };
        let fleet = Arc::new(chat.servers.fleet(chat.options.endpoint, limits, meters)?);
        let asking = Retrying::new(Arc::clone(&fleet), policy, Arc::clone(meters));
        let asking = ContextLimited::new(asking, capacity, counter);
        let price = budget.prices.get(&chat.options.model).copied();
        let asking = Budgeted::new(asking, budget.ledger.clone(), price);
        let room = capacity.filter(|_| truncate);
        let renderer = Arc::new(PromptRenderer::new(Arc::clone(&chat.prompts), &chat.options, room));
        let (judge, source): (Arc<dyn Judge>, Arc<dyn ReplySource>) = match (&chat.cache, recorded) {
            (Some(cache), _) => {
                let judge_id = chat.options.judge_id.as_str();
                let cached = Cached::new(asking, cache.clone(), judge_id, Arc::clone(meters));
                (Arc::new(Collapsing::new(cached)), Arc::new(CacheSource(cache.clone())))
            }
            (None, Some(recorded)) => {
                (Arc::new(Recalling::new(Arc::clone(&recorded), Collapsing::new(asking))), recorded)
            }
            (None, None) => (Arc::new(Collapsing::new(asking)), Arc::new(NoReplies)),
        };
        Ok(Judging { judge, source, renderer, fleet: Some(fleet) })
    }

    /// Who counts the tokens of its prompts: the server, else the vocabulary of a model of OpenAI; `None` where neither
    /// is known.
    ///
    /// # Errors
    /// When no HTTP client can be set up.
    pub(in crate::cli) fn prompt_counter(&self) -> Result<Option<TokenCounter>> {
        let Self::Chat(chat) = self else { return Ok(None) };
        match chat.servers.capacity() {
            Some((capacity, endpoint)) => TokenCounter::of_server(endpoint, capacity.tokenizer).map(Some),
            None => Ok(TokenCounter::built_in(&chat.options.model)),
        }
    }

    /// One tiny call to each endpoint, by its address; empty for the baseline, which needs none. The inner error says what the
    /// server said, with the option that helps.
    ///
    /// # Errors
    /// When no HTTP client can be set up.
    pub(in crate::cli) async fn ping(&self) -> Result<Vec<(String, Result<JudgeReply>)>> {
        let mut replies = Vec::new();
        if let Self::Chat(chat) = self {
            for endpoint in chat.servers.endpoints() {
                let transport = Chat::new(endpoint.clone(), Arc::default())?.through(chat.options.endpoint);
                replies.push((endpoint.masked_url(), transport.ping(&chat.options).await));
            }
        }
        Ok(replies)
    }
}

/// What is sent to this judge.
fn request_options(
    judge: &JudgeOptions,
    prompts: &PromptSet,
    served: &ServerIdentity,
    model: String,
) -> RequestOptions {
    RequestOptions {
        endpoint: judge.kind(),
        conversation: judge.conversation,
        judge_id: judge_id(&model, judge.cache_id.as_deref(), served),
        model,
        temperature: judge.temperature(),
        top_p: judge.top_p,
        logprobs: judge.logprobs,
        seed: judge.seed,
        json_mode: judge.kind() == JudgeKind::Chat && !judge.no_json_mode,
        max_tokens: reply_limits(judge, prompts),
        max_tokens_field: judge.max_tokens_field.clone(),
        extra_body: judge.request_fields(),
        ..RequestOptions::new("")
    }
}

/// What was given, else what the prompt set says; a label alone needs no more room than a label has.
fn reply_limits(judge: &JudgeOptions, prompts: &PromptSet) -> BTreeMap<CallKind, u64> {
    let given = |kind: CallKind| judge.max_tokens.as_ref().and_then(|limits| limits.0.get(&kind).copied());
    let limit = |kind: CallKind| match given(kind) {
        Some(limit) => limit,
        None if judge.kind() == JudgeKind::Label => judge.kind().default_max_tokens(kind),
        None => prompts.max_tokens(kind),
    };
    CallKind::ALL.into_iter().filter_map(|kind| Some((kind, limit(kind)?))).collect()
}
