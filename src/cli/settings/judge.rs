//! The judge's settings: which judge it is, and what is sent to it.

use std::collections::BTreeSet;
use std::time::Duration;

use secrecy::SecretString;
use serde_json::Value;

use super::keys::{self, Key};
use super::merge::{Sources, fault};
use super::request::{max_tokens, pairs, request_fields};
use super::value::{BaseUrls, Logprobs, SettingValue, Temperature, TopP};
use super::{Conversation, JudgeKind, JudgeSettings, OPENAI_BASE_URL, Streaming};
use crate::cli::args::{JudgeArgs, LimitArgs};
use crate::cli::masking::masked_url;
use crate::cli::origin::{Environment, Origin};
use crate::error::{Error, Result};
use crate::judge::endpoint::Endpoint;

/// The variable that other OpenAI clients use, too. It says where a model is, but chooses no judge by itself.
const OPENAI_BASE_URL_ENV: &str = "OPENAI_BASE_URL";

/// The variable that holds the key unless another is named.
const OPENAI_API_KEY_ENV: &str = "OPENAI_API_KEY";

/// Merges the settings of the judge of `[judge]`, or of a further one (then `sources` is a view of its table, and there
/// are no flags); warnings go to `warnings`.
pub(super) fn merge_judge(
    sources: &mut Sources<'_>,
    flags: &JudgeArgs,
    limits: &LimitArgs,
    warnings: &mut Vec<String>,
) -> Result<JudgeSettings> {
    let model = sources.find(&keys::MODEL, flags.model.as_deref().map(str::trim).map(str::to_owned))?;
    let base_urls = sources.find(&keys::BASE_URL, flags.base_url.as_deref().map(BaseUrls::split))?;
    let kind = choose(sources, flags, model.as_ref().map(|found| &found.1), base_urls.as_ref().map(|found| &found.1))?;
    if let Some((name, origin)) = &model
        && (name.is_empty() || name.chars().any(char::is_control))
    {
        return Err(fault(&keys::MODEL, origin, "not a model's name; write one such as gpt-4o"));
    }
    let first_line = sources.lines.len();
    let (model, origin) = model.map_or((None, Origin::Default), |(name, origin)| (Some(name), origin));
    sources.note(keys::MODEL.name, model.clone().map_or(Value::Null, Value::from), origin);
    let (base_urls, origin) = base_urls.unwrap_or_else(|| (BaseUrls::split(OPENAI_BASE_URL), Origin::Default));
    let base_urls = checked_urls(&base_urls, &origin)?;
    sources.note(keys::BASE_URL.name, base_urls.to_json(), origin);
    let (api_key_env, api_key) = api_key(sources, flags, kind)?;
    if kind != JudgeKind::Lexical && sources.in_use && api_key.is_none() && base_urls.has_openai() {
        let option = sources.typed(&keys::API_KEY_ENV);
        warnings.push(format!(
            "{api_key_env} is not set: OpenAI will refuse; export it, or name another variable with {option}"
        ));
    }
    let reply_limits = max_tokens(sources, flags.max_tokens.as_deref(), kind)?;
    let sampling = sampling(sources, flags)?;
    let settings = JudgeSettings {
        kind,
        model,
        base_urls: base_urls.0,
        api_key_env,
        api_key,
        cache_id: sources.optional(&keys::CACHE_ID, flags.cache_id.clone())?,
        temperature: sampling.temperature,
        seed: sources.optional(&keys::JUDGE_SEED, flags.judge_seed)?,
        json_mode: {
            sources.or_default(&keys::JSON_MODE, flags.no_json_mode.then_some(false), kind == JudgeKind::Chat)?
        },
        max_tokens: reply_limits.limits,
        max_tokens_given: reply_limits.given,
        max_tokens_field: max_tokens_field(sources, flags)?,
        conversation: conversation(sources, flags, kind, warnings)?,
        top_p: sampling.top_p,
        logprobs: sampling.logprobs,
        extra_body: request_fields(sources, flags.extra_body.as_deref(), &sampling.fields(sources))?,
        headers: pairs(sources, &keys::HEADERS, &flags.headers)?,
        query: pairs(sources, &keys::QUERY, &flags.query)?,
        wait_server: wait_server(sources, flags)?,
        stream: sources.or_default(&keys::STREAM, limits.stream, Streaming::Auto)?,
        timeout: timeout(sources, limits)?,
        first_byte_timeout: first_byte_timeout(sources, limits, warnings)?,
        retries: sources.or_default(&keys::RETRIES, limits.retries, 8)?,
    };
    if kind == JudgeKind::Lexical {
        forget_lines(sources, first_line, warnings);
    }
    Ok(settings)
}

/// How tokens are drawn, and what is told of them.
struct Sampling {
    temperature: Option<f64>,
    top_p: Option<f64>,
    logprobs: Option<u32>,
}

impl Sampling {
    /// The request fields that these settings fill, each with its option.
    fn fields(&self, sources: &Sources<'_>) -> Vec<(&'static str, &'static str)> {
        let top_p = self.top_p.map(|_| ("top_p", sources.typed(&keys::TOP_P)));
        let logprobs = self.logprobs.map(|_| sources.typed(&keys::LOGPROBS));
        let logprobs = logprobs.into_iter().flat_map(|option| [("logprobs", option), ("top_logprobs", option)]);
        top_p.into_iter().chain(logprobs).collect()
    }
}

fn sampling(sources: &mut Sources<'_>, flags: &JudgeArgs) -> Result<Sampling> {
    let temperature = match flags.no_temperature {
        true => {
            let key = Key { flag: "--no-temperature", ..keys::TEMPERATURE };
            sources.or_default(&key, Some(Temperature(None)), Temperature(None))?.0
        }
        false => sources.or_default(&keys::TEMPERATURE, flags.temperature, Temperature(Some(0.0)))?.0,
    };
    Ok(Sampling {
        temperature,
        top_p: sources.optional(&keys::TOP_P, flags.top_p)?.map(|TopP(share)| share),
        logprobs: sources.optional(&keys::LOGPROBS, flags.logprobs)?.map(|Logprobs(n)| n),
    })
}

/// A chat server writes the conversation out itself, so a format given for one is told to be in vain.
fn conversation(
    sources: &mut Sources<'_>,
    flags: &JudgeArgs,
    kind: JudgeKind,
    warnings: &mut Vec<String>,
) -> Result<Conversation> {
    let conversation = sources.or_default(&keys::CONVERSATION, flags.conversation, Conversation::None)?;
    if kind == JudgeKind::Chat && conversation != Conversation::None {
        let (option, kind) = (sources.typed(&keys::CONVERSATION), sources.typed(&keys::KIND));
        warnings.push(format!(
            "{option} {} has no effect: a chat server writes conversations out itself; add {kind} completions to do it here",
            conversation.as_str()
        ));
    }
    Ok(conversation)
}

/// The baseline sends nothing: its `config` shows nothing of the above, and flags given in vain are told, as are keys
/// in the table of a further judge.
fn forget_lines(sources: &mut Sources<'_>, first: usize, warnings: &mut Vec<String>) {
    let further = sources.judge().is_some();
    let mut vain: Vec<String> = Vec::new();
    for line in sources.lines.drain(first..) {
        let given = match line.origin {
            Origin::Flag(flag) => flag.to_owned(),
            Origin::File { key, .. } if further => key.rsplit('.').next().unwrap_or_default().to_owned(),
            _ => continue,
        };
        if !vain.contains(&given) {
            vain.push(given);
        }
    }
    if !vain.is_empty() {
        let (model, url) = (sources.typed(&keys::MODEL), sources.typed(&keys::BASE_URL));
        warnings.push(format!(
            "no effect with the lexical judge, which asks no server: {}; give {model} or {url} for an LLM",
            vain.join(", ")
        ));
    }
}

/// Neither model nor URL: lexical. `OPENAI_BASE_URL` alone counts as no choice, since it may be set for other programs.
fn choose(
    sources: &mut Sources<'_>,
    flags: &JudgeArgs,
    model: Option<&Origin>,
    base_url: Option<&Origin>,
) -> Result<JudgeKind> {
    // The file's URL is a choice even where OPENAI_BASE_URL overrules its value.
    let file_url = sources.entry(&keys::BASE_URL).map(|(_, entry)| sources.file_origin(keys::BASE_URL.name, entry));
    let url = base_url.filter(|origin| **origin != Origin::Environment(OPENAI_BASE_URL_ENV)).or(file_url.as_ref());
    let choice = model.map(|origin| ("a model", origin)).or(url.map(|origin| ("a URL", origin)));
    let Some((name, origin)) = sources.find(&keys::KIND, flags.judge.clone())? else {
        let kind = if choice.is_some() { JudgeKind::Chat } else { JudgeKind::Lexical };
        let origin = choice.map(|(_, origin)| origin.clone()).unwrap_or(Origin::Default);
        sources.note(keys::KIND.name, Value::from(kind.as_str()), origin);
        return Ok(kind);
    };
    let (give_model, give_url) = (sources.typed(&keys::MODEL), sources.typed(&keys::BASE_URL));
    let kind = JudgeKind::parse(&name).map_err(|_| {
        let what = format!(
            "{name:?} is no kind of judge; write lexical, chat, completions or label, or leave it out and give \
             {give_model} or {give_url}"
        );
        fault(&keys::KIND, &origin, &what)
    })?;
    match (kind, choice) {
        (JudgeKind::Lexical, Some((what, other))) => return Err(contradiction(&origin, what, other)),
        // A kind was asked for, so that here OPENAI_BASE_URL does say where.
        (JudgeKind::Chat | JudgeKind::Completions | JudgeKind::Label, None) if base_url.is_none() => {
            let what = format!("a judge of kind {} needs a server: give {give_model} or {give_url}", kind.as_str());
            return Err(fault(&keys::KIND, &origin, &what));
        }
        _ => {}
    }
    sources.note(keys::KIND.name, Value::from(kind.as_str()), origin);
    Ok(kind)
}

/// The lexical judge was asked for, and so was an LLM. If one of the two is a flag it is a matter of usage.
fn contradiction(lexical: &Origin, what: &str, other: &Origin) -> Error {
    let what = format!("lexical takes no model and no URL, but {what} comes from {other}; drop one of the two");
    match [lexical, other].into_iter().any(|origin| matches!(origin, Origin::Flag(_))) {
        true => Error::Usage(format!("--judge lexical ({lexical}): {what}")),
        false => fault(&keys::KIND, lexical, &what),
    }
}

/// Finds slips early; how a bare host is mended is the endpoint's business. The message shows no secret of the URL.
fn checked_url(url: &str, origin: &Origin) -> Result<String> {
    let url = url.trim();
    let (scheme, rest) = url.split_once("://").unwrap_or(("http", url));
    let half_typed = !url.contains("://") && ["http:", "https:"].iter().any(|start| url.starts_with(start));
    let known = !half_typed && ["http", "https"].iter().any(|known| scheme.eq_ignore_ascii_case(known));
    if !known || rest.is_empty() || rest.starts_with('/') || url.chars().any(|c| c.is_control() || c.is_whitespace()) {
        let shown = masked_url(url).escape_debug().to_string();
        let what = format!("\"{shown}\" is no http address; write one such as https://host/v1 or localhost:8000");
        return Err(fault(&keys::BASE_URL, origin, &what));
    }
    Ok(url.to_owned())
}

/// Each address checked; one that is there twice would get twice its share of the answers and of the limits.
fn checked_urls(urls: &BaseUrls, origin: &Origin) -> Result<BaseUrls> {
    let urls: Vec<String> = urls.0.iter().map(|url| checked_url(url, origin)).collect::<Result<_>>()?;
    let mut seen = BTreeSet::new();
    for url in &urls {
        // What cannot be read is told when the endpoint is made, with all that is known of addresses there.
        let Ok(name) = Endpoint::new(url).map(|endpoint| endpoint.masked_url()) else { continue };
        if !seen.insert(name) {
            let shown = masked_url(url).escape_debug().to_string();
            return Err(fault(&keys::BASE_URL, origin, &format!("\"{shown}\" is given twice; name each address once")));
        }
    }
    Ok(BaseUrls(urls))
}

fn wait_server(sources: &mut Sources<'_>, flags: &JudgeArgs) -> Result<Option<Duration>> {
    let limit = sources.or_default(&keys::WAIT_SERVER, flags.wait_server, Duration::ZERO)?;
    Ok(Some(limit).filter(|limit| !limit.is_zero()))
}

/// The variable's name and the key it holds. Only a variable named on purpose must be set: local servers need no key.
fn api_key(sources: &mut Sources<'_>, flags: &JudgeArgs, kind: JudgeKind) -> Result<(String, Option<SecretString>)> {
    let found = sources.find(&keys::API_KEY_ENV, flags.api_key_env.clone())?;
    let (name, origin) = found.unwrap_or_else(|| (OPENAI_API_KEY_ENV.to_owned(), Origin::Default));
    let is_name =
        name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') && !name.starts_with(|c: char| c.is_ascii_digit());
    let key = if is_name { read_key(sources.keys, &name)? } else { None };
    if origin != Origin::Default && key.is_none() && (kind != JudgeKind::Lexical && sources.in_use || !is_name) {
        // Somebody may have given the key itself: what was given is repeated only where it looks like a name.
        let looks_like_a_name = is_name && !name.contains(|c: char| c.is_ascii_lowercase());
        let what = if looks_like_a_name {
            format!("environment variable {name} is not set; export {name}=.. first, or name another")
        } else {
            "it takes the name of an environment variable that is set, never the key itself; \
             write one such as OPENAI_API_KEY"
                .to_owned()
        };
        return Err(fault(&keys::API_KEY_ENV, &origin, &what));
    }
    sources.note(keys::API_KEY_ENV.name, Value::from(name.as_str()), origin);
    let shown = if key.is_some() { "set, not shown" } else { "not set" };
    let origin = if key.is_some() { Origin::Variable(name.clone()) } else { Origin::Default };
    sources.note("judge.api_key", Value::from(shown), origin);
    Ok((name, key))
}

fn read_key(environment: &Environment, name: &str) -> Result<Option<SecretString>> {
    let Some(key) = environment.get(name).map(str::trim) else { return Ok(None) };
    if !key.chars().all(|c| c.is_ascii_graphic()) {
        return Err(Error::Settings(format!(
            "environment variable {name}: it holds a blank, a line break or a character that no key has; export the bare key"
        )));
    }
    Ok(Some(SecretString::from(key)))
}

fn max_tokens_field(sources: &mut Sources<'_>, flags: &JudgeArgs) -> Result<String> {
    let found = sources.find(&keys::MAX_TOKENS_FIELD, flags.max_tokens_field.clone())?;
    let (name, origin) = found.unwrap_or_else(|| ("max_tokens".to_owned(), Origin::Default));
    if !name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
        let what = format!("{name:?} is no field's name; write one such as max_completion_tokens");
        return Err(fault(&keys::MAX_TOKENS_FIELD, &origin, &what));
    }
    sources.note(keys::MAX_TOKENS_FIELD.name, Value::from(name.as_str()), origin);
    Ok(name)
}

fn timeout(sources: &mut Sources<'_>, limits: &LimitArgs) -> Result<Duration> {
    let found = sources.find(&keys::TIMEOUT, limits.timeout)?;
    let (timeout, origin) = found.unwrap_or((Duration::from_secs(600), Origin::Default));
    if timeout.is_zero() {
        return Err(fault(&keys::TIMEOUT, &origin, "0s leaves no time for a reply; write one such as 90s or 10m"));
    }
    sources.note(keys::TIMEOUT.name, timeout.to_json(), origin);
    Ok(timeout)
}

/// A whole reply has no byte before its last: without streams the limit is one for the whole.
fn first_byte_timeout(
    sources: &mut Sources<'_>,
    limits: &LimitArgs,
    warnings: &mut Vec<String>,
) -> Result<Option<Duration>> {
    let Some((limit, origin)) = sources.find(&keys::FIRST_BYTE_TIMEOUT, limits.first_byte_timeout)? else {
        sources.note(keys::FIRST_BYTE_TIMEOUT.name, Value::Null, Origin::Default);
        return Ok(None);
    };
    if limit.is_zero() {
        let what = "0s leaves no time for a byte; write one such as 60s, or leave it out";
        return Err(fault(&keys::FIRST_BYTE_TIMEOUT, &origin, what));
    }
    let is_off =
        sources.lines.iter().any(|line| line.key == keys::STREAM.name && line.value == Streaming::Off.as_str());
    if is_off {
        let (option, stream) = (sources.typed(&keys::FIRST_BYTE_TIMEOUT), sources.typed(&keys::STREAM));
        warnings.push(format!(
            "{option} limits the whole reply while {stream} is off: servers send nothing before it is whole"
        ));
    }
    sources.note(keys::FIRST_BYTE_TIMEOUT.name, limit.to_json(), origin);
    Ok(Some(limit))
}
