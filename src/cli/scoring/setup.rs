//! The judge of a run: who it is, what is sent to it, and the layers around it.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;

use crate::cli::settings::{Conversation, JudgeKind, JudgeSettings, NamedJudge, Settings};
use crate::cli::terminal;
use crate::domain::{CallKind, JudgeReply, TestCase};
use crate::error::{Error, Result};
use crate::judge::body::RequestOptions;
use crate::judge::cache::Cache;
use crate::judge::capacity::{Capacity, TokenCounter};
use crate::judge::chat::Chat;
use crate::judge::conversation::ConversationFormat;
use crate::judge::endpoint::{Endpoint, Timeouts};
use crate::judge::endpoint_kind::EndpointKind;
use crate::judge::identity::{ServerIdentity, identify, judge_id, wait_for_server};
use crate::judge::layers::budgeted::Budgeted;
use crate::judge::layers::cached::Cached;
use crate::judge::layers::collapsing::Collapsing;
use crate::judge::layers::context_limited::ContextLimited;
use crate::judge::layers::rate_limited::{Limits, RateLimited};
use crate::judge::layers::retrying::{RetryPolicy, Retrying};
use crate::judge::lexical::Lexical;
use crate::judge::meters::Meters;
use crate::judge::openai_tokens::Encoding;
use crate::judge::planner::{NoReplies, Recalling, ReplySource};
use crate::judge::prompt_counter::PromptCounter;
use crate::judge::{Judge, JudgeRequest};
use crate::pipeline::record::{JudgeEntry, PromptsEntry};
use crate::pipeline::{NoRendering, Renderer};
use crate::prompt::{PromptFamily, PromptSet};

use super::renderer::PromptRenderer;
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

/// A model behind an endpoint.
pub(in crate::cli) struct IdentifiedChat {
    endpoint: Endpoint,
    options: RequestOptions,
    served: ServerIdentity,
    prompts: Arc<PromptSet>,
    cache: Option<Cache>,
    /// Why the server could not be reached.
    offline: Option<Error>,
}

impl IdentifiedChat {
    /// How much the model takes; nothing is known of a server that cannot be reached, and OpenAI does not say.
    async fn capacity(&self) -> Result<Capacity> {
        if self.offline.is_some() || self.endpoint.is_openai() {
            return Ok(Capacity::default());
        }
        Capacity::of(&self.endpoint, &self.options.model).await
    }

    /// Why a run that needs a call must not begin.
    fn cannot_be_asked(&self) -> Option<String> {
        let variable = &self.endpoint.api_key_env;
        let no_key = || {
            (self.endpoint.is_openai() && self.endpoint.api_key.is_none()).then(|| {
                format!("{variable} is not set, and OpenAI asks for a key; export it, or name another variable with --api-key-env")
            })
        };
        self.offline.as_ref().map(ToString::to_string).or_else(no_key)
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
    /// Opens the cache and asks the server who it is.
    ///
    /// # Errors
    /// For a cache or settings that cannot be used; for no server at all when nothing is known of it from an earlier run.
    pub(in crate::cli) async fn identify(
        settings: &Settings,
        named: &NamedJudge,
        prompts: &Arc<PromptSet>,
    ) -> Result<Self> {
        let judge = &named.judge;
        if judge.kind == JudgeKind::Lexical {
            if settings.score.prompts.is_some() && !settings.output.quiet {
                terminal::note("warning: the lexical judge reads no prompts; --prompts has no effect without a model");
            }
            return Ok(Self::Lexical);
        }
        let cache = settings.cache.path.as_deref().map(Cache::open).transpose()?;
        let endpoint = endpoint(judge)?;
        if let Some(limit) = judge.wait_server {
            wait(&endpoint, limit).await?;
        }
        let (model, served, offline) = who(&endpoint, judge, cache.as_ref()).await?;
        let options = request_options(judge, prompts, &served, model);
        options.check()?;
        let prompts = Arc::clone(prompts);
        Ok(Self::Chat(Box::new(IdentifiedChat { endpoint, options, served, prompts, cache, offline })))
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
                base_url: Some(chat.endpoint.masked_url()),
                served: Some(json!({
                    "id": chat.served.served,
                    "root": chat.served.root,
                    "model_path": chat.served.model_path,
                })),
                lexical: false,
            },
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
    pub(in crate::cli) async fn judging(
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
                });
            }
            Self::Chat(chat) => chat,
        };
        let capacity = chat.capacity().await?;
        if truncate && capacity.context_tokens.is_none() {
            return Err(Error::JudgeUnavailable(format!(
                "--truncate: the server of {} does not tell how long its context is; leave --truncate out",
                chat.options.model
            )));
        }
        let counter = capacity.tokenizer.map(|tokenizer| TokenCounter::new(&chat.endpoint, tokenizer)).transpose()?;
        let transport = Chat::new(chat.endpoint.clone(), Arc::clone(meters))?.through(chat.options.endpoint);
        let limits = Limits {
            concurrency: named.limits.concurrency.get(),
            requests_per_minute: named.limits.rpm,
            tokens_per_minute: named.limits.tpm.map(|tpm| NonZeroU32::try_from(tpm).unwrap_or(NonZeroU32::MAX)),
            ..Limits::default()
        };
        let policy = RetryPolicy { max_attempts: named.judge.retries.saturating_add(1), ..RetryPolicy::default() };
        let limited = RateLimited::new(transport, limits, Arc::clone(meters));
        let asking = Retrying::new(limited, policy, Arc::clone(meters));
        let asking = ContextLimited::new(asking, capacity, counter);
        let price = budget.prices.get(&chat.options.model);
        let asking = Budgeted::new(asking, budget.ledger.clone(), price);
        let room = truncate.then_some(capacity);
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
        Ok(Judging { judge, source, renderer })
    }

    /// Who counts the tokens of its prompts: the server, else the vocabulary of a model of OpenAI; `None` where neither
    /// is known.
    ///
    /// # Errors
    /// When no HTTP client can be set up.
    pub(in crate::cli) async fn prompt_counter(&self) -> Result<Option<PromptCounter>> {
        let Self::Chat(chat) = self else { return Ok(None) };
        let built_in = || Encoding::of_model(&chat.options.model).map(PromptCounter::BuiltIn);
        match chat.capacity().await?.tokenizer {
            Some(tokenizer) => {
                let counter = TokenCounter::new(&chat.endpoint, tokenizer)?;
                Ok(Some(PromptCounter::Server(Box::new(counter))))
            }
            None => Ok(built_in()),
        }
    }

    /// One tiny call; `None` for the baseline, which needs none.
    ///
    /// # Errors
    /// What the server said, with the option that helps.
    pub(in crate::cli) async fn ping(&self) -> Result<Option<JudgeReply>> {
        match self {
            Self::Lexical => Ok(None),
            Self::Chat(chat) => {
                let transport = Chat::new(chat.endpoint.clone(), Arc::default())?.through(chat.options.endpoint);
                transport.ping(&chat.options).await.map(Some)
            }
        }
    }
}

/// What is sent to this judge.
fn request_options(
    judge: &JudgeSettings,
    prompts: &PromptSet,
    served: &ServerIdentity,
    model: String,
) -> RequestOptions {
    let endpoint = match judge.kind {
        JudgeKind::Completions => EndpointKind::Completions,
        JudgeKind::Label => EndpointKind::Label,
        JudgeKind::Chat | JudgeKind::Lexical => EndpointKind::Chat,
    };
    RequestOptions {
        endpoint,
        conversation: match judge.conversation {
            Conversation::Llama2 => ConversationFormat::Llama2,
            Conversation::Mistral => ConversationFormat::Mistral,
            Conversation::ChatMl => ConversationFormat::ChatMl,
            Conversation::None => ConversationFormat::None,
        },
        judge_id: judge_id(&model, judge.cache_id.as_deref(), served),
        model,
        temperature: judge.temperature,
        top_p: judge.top_p,
        logprobs: judge.logprobs,
        seed: judge.seed,
        json_mode: judge.json_mode,
        max_tokens: reply_limits(judge, endpoint, prompts),
        max_tokens_field: judge.max_tokens_field.clone(),
        extra_body: judge.extra_body.clone(),
        ..RequestOptions::new("")
    }
}

/// What was given, else what the prompt set says; a label alone needs no more room than a label has.
fn reply_limits(judge: &JudgeSettings, endpoint: EndpointKind, prompts: &PromptSet) -> BTreeMap<CallKind, u64> {
    let limit = |kind: CallKind| match judge.max_tokens_given.contains(&kind) {
        true => judge.max_tokens.get(&kind).copied(),
        false if endpoint == EndpointKind::Label => endpoint.default_max_tokens(kind),
        false => prompts.max_tokens(kind),
    };
    CallKind::ALL.into_iter().filter_map(|kind| Some((kind, limit(kind)?))).collect()
}

/// Model, what the server says of it, and why the server could not be asked.
async fn who(
    endpoint: &Endpoint,
    judge: &JudgeSettings,
    cache: Option<&Cache>,
) -> Result<(String, ServerIdentity, Option<Error>)> {
    let key = format!("judge {} {}", endpoint.masked_url(), judge.model.as_deref().unwrap_or("*"));
    let there = if endpoint.is_openai() { Ok(()) } else { wait_for_server(endpoint, Duration::ZERO, |_, _| ()).await };
    let Err(error) = there else {
        let (model, served) = identify(endpoint, judge.model.as_deref()).await?;
        if let Some(cache) = cache {
            refuse_silence(cache, &key, judge, &served)?;
            tell_change(cache, &model, judge, &served)?;
            cache.remember_server(&key, &said(&model, &served))?;
        }
        return Ok((model, served, None));
    };
    let last = cache.map(|cache| cache.recall_server(&key)).transpose()?.flatten();
    let named = || match (&judge.cache_id, &judge.model) {
        // The judge's name in the cache is all that its keys need.
        (Some(_), Some(model)) => Some((model.clone(), ServerIdentity::default())),
        _ => None,
    };
    let Some((model, served)) = last.as_deref().and_then(remembered).or_else(named) else { return Err(error) };
    terminal::note(&format!(
        "note: {} cannot be asked now; its replies are taken from the cache under what it last said it serves",
        endpoint.masked_url()
    ));
    Ok((model, served, Some(error)))
}

/// Model and identity as they are kept in the cache.
fn said(model: &str, served: &ServerIdentity) -> String {
    json!([model, served.served, served.root, served.model_path]).to_string()
}

/// A server that told more about itself at the last run, and nothing else now, has a bad moment: its replies would be
/// filed under another identity, and everything that is already paid would be paid again.
fn refuse_silence(cache: &Cache, key: &str, judge: &JudgeSettings, served: &ServerIdentity) -> Result<()> {
    if judge.cache_id.is_some() {
        return Ok(());
    }
    match cache.recall_server(key)?.and_then(|identity| remembered(&identity)) {
        Some((model, before)) if says_less(served, &before) => Err(Error::JudgeUnavailable(format!(
            "the server says less of what it serves than at the last run ({}); try again, or give the model a fixed \
             name in the cache with --cache-id NAME",
            judge_id(&model, None, &before)
        ))),
        _ => Ok(()),
    }
}

/// True if `now` only lacks parts of `before`: what it does tell is the same.
fn says_less(now: &ServerIdentity, before: &ServerIdentity) -> bool {
    let parts = [(&now.served, &before.served), (&now.root, &before.root), (&now.model_path, &before.model_path)];
    now != before && parts.into_iter().all(|(now, before)| now.is_none() || now == before)
}

/// Reads what [`said`] wrote.
fn remembered(identity: &str) -> Option<(String, ServerIdentity)> {
    let [model, served, root, model_path] = serde_json::from_str::<[Option<String>; 4]>(identity).ok()?;
    Some((model?, ServerIdentity { served, root, model_path }))
}

/// Says so when a model of that name is another one than at the last run with this cache, at whatever address.
fn tell_change(cache: &Cache, model: &str, judge: &JudgeSettings, served: &ServerIdentity) -> Result<()> {
    let known = cache.servers()?.into_iter().filter_map(|(_, identity)| remembered(&identity));
    let Some((_, before)) = known
        .into_iter()
        .find(|(of, _)| of == model)
        .filter(|(_, before)| judge_id(model, None, before) != judge_id(model, None, served))
    else {
        return Ok(());
    };
    let used = match &judge.cache_id {
        Some(id) => format!("its replies count as those of cache id {id:?} all the same"),
        None => "replies kept from the model before are not used".to_owned(),
    };
    let (before, now) = (judge_id(model, None, &before), judge_id(model, None, served));
    let line = format!("warning: {model} is another model than at the last run: before {before}, now {now}; {used}");
    terminal::note(&line);
    Ok(())
}

async fn wait(endpoint: &Endpoint, limit: Duration) -> Result<()> {
    let mut told = Duration::ZERO;
    let url = endpoint.masked_url();
    wait_for_server(endpoint, limit, |elapsed, state| {
        if told.is_zero() || elapsed >= told + Duration::from_secs(30) {
            told = elapsed.max(Duration::from_millis(1));
            terminal::note(&format!("waiting for {url}: {state} ({} s)", elapsed.as_secs()));
        }
    })
    .await
}

fn endpoint(judge: &JudgeSettings) -> Result<Endpoint> {
    let mut endpoint = Endpoint::new(&judge.base_url)?;
    endpoint.api_key = judge.api_key.clone();
    endpoint.api_key_env = judge.api_key_env.clone();
    endpoint.headers.clone_from(&judge.headers);
    endpoint.query.extend(judge.query.iter().cloned());
    endpoint.timeouts = Timeouts { total: judge.timeout, ..endpoint.timeouts };
    Ok(endpoint)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lost_part_is_less_and_another_part_is_another_model() {
        let identity = |served: Option<&str>, root: Option<&str>| ServerIdentity {
            served: served.map(str::to_owned),
            root: root.map(str::to_owned),
            model_path: None,
        };
        let before = identity(Some("m"), Some("/w"));
        assert!(says_less(&identity(None, None), &before));
        assert!(says_less(&identity(Some("m"), None), &before));
        assert!(!says_less(&before, &before));
        assert!(!says_less(&identity(Some("m"), Some("/other")), &before));
        assert!(!says_less(&before, &identity(Some("m"), None)), "more than before");
    }
}
