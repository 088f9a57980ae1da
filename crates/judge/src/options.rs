//! Options of a judge: model and requests, limits, budget and reply cache.
//!
//! Each field is a command-line flag (clap), a key of the config file (serde), its default and its documentation.
//! Values that may be secret are parsed without errors and checked later, so that no parser message repeats them.

use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::num::{NonZeroU32, NonZeroU64, NonZeroUsize};
use std::path::{Path, PathBuf};

use clap::builder::Resettable;
use clap::{Args, ValueEnum};
use secrecy::SecretString;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

use super::conversation::Conversation;
use super::endpoint::{DEFAULT_API_KEY_ENV, Endpoint};
use super::forms::{Effort, ServiceTier, Structured};
use super::kind::JudgeKind;
use super::layers::budgeted::Price;
use super::parameter::Parameter;
use crate::prompt::Messages;
use scholareval_core::domain::{TimeSpan, is_amount, parse_amount};
use scholareval_core::error::Error;
use scholareval_core::question::{KINDS, Kind, KindInfo};

/// The help of `--judge`.
fn kind_help() -> String {
    let kinds: Vec<String> = JudgeKind::value_variants()
        .iter()
        .map(|kind| format!("{kind} ({})", kind.about()))
        .collect();
    format!(
        "Kind of judge: {} [default: chat with --model or --base-url, else lexical]",
        kinds.join(", ")
    )
}

/// The help of `--api-key-env`.
fn api_key_help() -> String {
    let mut defaults = DEFAULT_API_KEY_ENV.to_owned();
    for kind in JudgeKind::value_variants() {
        let variable = kind.protocol().address().key_variable;
        if variable != DEFAULT_API_KEY_ENV {
            defaults.push_str(&format!(", of kind {kind} {variable}"));
        }
    }
    format!(
        "Environment variable that holds the API key [default: {defaults}; sent to that service, to this machine and to \
         servers that --base-url or the environment names]"
    )
}

/// Request fields that have an option or are set by the program, each with what to do instead.
const OWN_FIELDS: [(&str, &str); 8] = [
    (
        "messages",
        "a prompt set (--prompts DIR) changes what is asked",
    ),
    (
        "prompt",
        "a prompt set (--prompts DIR) changes what is asked",
    ),
    ("echo", "a reply must not begin with its prompt"),
    ("model", "use --model"),
    ("stream", "use --stream"),
    ("n", "use --samples"),
    ("temperature", "use --temperature"),
    ("seed", "use --judge-seed"),
];

/// The name of the limit of reply and reasoning together among the reply limits of kinds.
const TOTAL: &str = "total";

/// Headers set by the transport.
const OWN_HEADERS: [&str; 5] = [
    "content-length",
    "content-type",
    "transfer-encoding",
    "connection",
    "content-encoding",
];

/// An option with an invalid value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OptionFault {
    /// Table and key: `judge.top_p`.
    pub key: String,
    /// What is wrong and what to write instead; never a value that may be secret.
    pub what: String,
    /// The key of the contradicting option, if there is one.
    pub contradicts: Option<String>,
}

impl OptionFault {
    /// A fault in the option `key`.
    pub fn new(key: &str, what: impl Into<String>) -> Self {
        Self {
            key: key.to_owned(),
            what: what.into(),
            contradicts: None,
        }
    }
}

impl From<OptionFault> for Error {
    fn from(fault: OptionFault) -> Self {
        Self::Settings(format!("{}: {}", fault.key, fault.what))
    }
}

/// Default options, as shown in the help. The environment is not read.
pub fn defaults<T: Args>() -> T {
    let command =
        T::augment_args(clap::Command::new("defaults")).mut_args(|arg| arg.env(Resettable::Reset));
    let parsed = command
        .try_get_matches_from(["defaults"])
        .and_then(|matches| T::from_arg_matches(&matches));
    // Only a default that the parser of its option rejects could fail; every test that builds options would show it.
    parsed.unwrap_or_else(|error| error.exit())
}

/// Model and requests of a judge. It may hold secrets: it has no `Debug` on purpose.
#[derive(Clone, Args, Serialize, Deserialize)]
#[command(next_help_heading = "Judge")]
pub struct JudgeOptions {
    /// Model that judges, such as gpt-oss-120b [default: the built-in lexical baseline, no LLM]
    #[arg(long, short, value_name = "NAME", env = "SCHOLAREVAL_MODEL")]
    pub model: Option<String>,
    /// OpenAI-compatible server, such as localhost:8000 [default: OPENAI_BASE_URL, else OpenAI]
    #[arg(
        long,
        value_name = "URL,..",
        env = "SCHOLAREVAL_BASE_URL",
        value_delimiter = ','
    )]
    #[serde(deserialize_with = "one_or_more")]
    pub base_url: Vec<String>,
    /// Kind of judge [default: chat with --model or --base-url, else lexical]
    #[arg(
        long = "judge",
        help = kind_help(),
        value_name = "KIND",
        value_enum,
        hide_possible_values = true
    )]
    pub kind: Option<JudgeKind>,
    /// Environment variable that holds the API key
    #[arg(
        long,
        help = api_key_help(),
        value_name = "NAME",
        env = "SCHOLAREVAL_API_KEY_ENV"
    )]
    pub api_key_env: Option<String>,
    /// Wait this long for a server that is still loading, such as 20m
    #[arg(
        long,
        value_name = "TIME",
        env = "SCHOLAREVAL_WAIT_SERVER",
        default_value = "0s"
    )]
    pub wait_server: TimeSpan,
    /// Sampling temperature, 0 to 2; published for aspects: 0.01
    #[arg(
        long,
        value_name = "T",
        value_parser = parse_amount,
        allow_negative_numbers = true,
        default_value_t = 0.0
    )]
    #[serde(deserialize_with = "amount_of_file")]
    pub temperature: f64,
    /// Send no temperature: the server samples as it does by default
    #[arg(long)]
    pub no_temperature: bool,
    /// Nucleus sampling, above 0 to 1; published for aspects: 0.95 [default: none is sent]
    #[arg(long, value_name = "P", value_parser = parse_amount, allow_negative_numbers = true)]
    #[serde(default, deserialize_with = "optional_amount_of_file")]
    pub top_p: Option<f64>,
    /// Seed sent to the server [default: none is sent]
    #[arg(
        id = "judge_seed",
        long = "judge-seed",
        value_name = "N",
        allow_negative_numbers = true
    )]
    pub seed: Option<i64>,
    /// Form of replies that is asked of the server: schema, json (JSON mode), off (the prompt alone asks), or auto: a
    /// schema where the prompts declare one, else JSON mode, and our schema for repeats of unreadable replies
    #[arg(
        long,
        value_name = "FORM",
        value_enum,
        hide_possible_values = true,
        default_value_t
    )]
    pub structured: Structured,
    /// How much a reasoning model thinks: none, minimal, low, medium, high, xhigh or max; reply limits begin with 0, 1,000,
    /// 4,000, 12,000, 32,000, 64,000 or 96,000 tokens of room for it [default: the model's own, room is given when a reply
    /// needs it]
    #[arg(long, value_name = "LEVEL", value_enum, hide_possible_values = true)]
    pub reasoning_effort: Option<Effort>,
    /// Service tier of OpenAI and Gemini: flex costs half, with three times the time-out and retries [default: none is sent]
    #[arg(long, value_name = "TIER", value_enum, hide_possible_values = true)]
    pub service_tier: Option<ServiceTier>,
    /// Reply limits per kind without the reasoning, such as property=100,citations=16000, and total=20000 for reply and
    /// reasoning together; a run continues under other ones [default: 100 for scores; for lists such as citations 2,000 and 3 per token of the answer, none with --compat or imported prompts;
    /// for aspect and attribution that of the prompts, for attribution by a label judge 10]
    #[arg(long, value_name = "KIND=N,..", value_delimiter = ',', value_parser = name_and_text)]
    #[serde(serialize_with = "as_map", deserialize_with = "from_map")]
    pub max_tokens: Vec<(String, String)>,
    /// Request N alternatives of each token, 1 to 20; scores become expected scores [default: none]
    #[arg(long, value_name = "N")]
    pub logprobs: Option<u32>,
    /// How a conversation is written out for a judge of kind completions
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t)]
    pub conversation: Conversation,
    /// Fields added to every request, a JSON object such as '{"top_k": 1}'
    #[arg(long, value_name = "JSON", value_parser = json_or_text)]
    pub extra_body: Option<Value>,
    /// Header added to every request; may be repeated
    #[arg(long = "header", value_name = "K:V", value_parser = header)]
    #[serde(serialize_with = "as_map", deserialize_with = "from_map")]
    pub headers: Vec<(String, String)>,
    /// Header whose value is that of an environment variable, for secrets; may be repeated
    #[arg(long, value_name = "K=VARIABLE", value_parser = name_and_text)]
    #[serde(serialize_with = "as_map", deserialize_with = "from_map")]
    pub header_env: Vec<(String, String)>,
    /// Name of the judge in the cache, instead of the model and what the server reports
    #[arg(long, value_name = "NAME")]
    pub cache_id: Option<String>,
    /// The key itself: read from the variable [`JudgeOptions::api_key_env`] names, never from a flag or a file.
    #[arg(skip)]
    #[serde(skip)]
    pub api_key: Option<SecretString>,
    /// Addresses, as in [`JudgeOptions::base_url`], that do not get the key.
    #[arg(skip)]
    #[serde(skip)]
    pub withheld_from: Vec<String>,
    /// The headers of [`JudgeOptions::header_env`] with their values.
    #[arg(skip)]
    #[serde(skip)]
    pub secret_headers: Vec<(String, SecretString)>,
}

impl Default for JudgeOptions {
    fn default() -> Self {
        defaults()
    }
}

impl JudgeOptions {
    /// The given kind; else chat with a model or an address, else the lexical baseline.
    pub fn kind(&self) -> JudgeKind {
        let is_server = self.model.is_some() || !self.base_url.is_empty();
        self.kind.unwrap_or(if is_server {
            JudgeKind::Chat
        } else {
            JudgeKind::Lexical
        })
    }

    /// The temperature to send, if any.
    pub fn temperature(&self) -> Option<f64> {
        (!self.no_temperature).then_some(self.temperature)
    }

    /// The environment variable with the key.
    pub fn api_key_variable(&self) -> &str {
        let default = self.kind().protocol().address().key_variable;
        self.api_key_env.as_deref().unwrap_or(default)
    }

    /// The addresses of its servers.
    pub fn addresses(&self) -> Vec<String> {
        if self.base_url.is_empty() {
            return vec![self.kind().protocol().address().base_url.to_owned()];
        }
        self.base_url.clone()
    }

    /// The request fields of [`JudgeOptions::extra_body`].
    pub fn request_fields(&self) -> Map<String, Value> {
        self.extra_body
            .as_ref()
            .and_then(Value::as_object)
            .cloned()
            .unwrap_or_default()
    }

    /// The reply limits of [`JudgeOptions::max_tokens`] in tokens; `None` means no limit.
    ///
    /// # Errors
    /// The first that is not a kind of question with a limit.
    pub fn reply_limits(&self) -> Result<BTreeMap<Kind, Option<u64>>, OptionFault> {
        let mut limits = BTreeMap::new();
        for (name, limit) in self.max_tokens.iter().filter(|(name, _)| name != TOTAL) {
            let (kind, tokens) = reply_limit(name, limit)
                .map_err(|what| OptionFault::new("judge.max_tokens", what))?;
            limits.insert(kind, tokens);
        }
        Ok(limits)
    }

    /// The most tokens of a reply with its reasoning, by [`JudgeOptions::max_tokens`].
    ///
    /// # Errors
    /// For a value that is not a number of tokens.
    pub fn total_limit(&self) -> Result<Option<u64>, OptionFault> {
        let given = self.max_tokens.iter().rfind(|(name, _)| name == TOTAL);
        let Some((_, limit)) = given else {
            return Ok(None);
        };
        match limit.parse() {
            Ok(tokens) if tokens > 0 => Ok(Some(tokens)),
            _ => Err(OptionFault::new(
                "judge.max_tokens",
                "the limit of reply and reasoning together is not a number of at least 1; write total=20000, or leave total out",
            )),
        }
    }

    /// Why all samples of a question would be the same reply, if they would.
    pub fn repeats(&self) -> Option<&'static str> {
        match self.kind() {
            JudgeKind::Lexical => Some("by the lexical judge"),
            // Hosted ones answer a repeated request with other probabilities.
            kind if kind.is_decision_model() => None,
            _ => (self.temperature() == Some(0.0)).then_some("at temperature 0"),
        }
    }

    /// Checks every value.
    ///
    /// # Errors
    /// The first invalid value.
    pub fn check(&self) -> Result<(), OptionFault> {
        self.check_kind()?;
        self.check_addresses()?;
        if self
            .model
            .as_ref()
            .is_some_and(|name| name.trim().is_empty() || name.chars().any(char::is_control))
        {
            let what = "not a model's name; write one such as gpt-oss-120b";
            return Err(OptionFault::new("judge.model", what));
        }
        if !(0.0..=2.0).contains(&self.temperature) {
            let what = "not a temperature; write a number from 0 to 2, such as 0.7";
            return Err(OptionFault::new("judge.temperature", what));
        }
        if self
            .top_p
            .is_some_and(|share| !(share > 0.0 && share <= 1.0))
        {
            let what = "not a share above 0 and up to 1, such as 0.95";
            return Err(OptionFault::new("judge.top_p", what));
        }
        if self
            .logprobs
            .is_some_and(|count| !(1..=20).contains(&count))
        {
            let what = "not a whole number from 1 to 20, such as 5";
            return Err(OptionFault::new("judge.logprobs", what));
        }
        self.reply_limits()?;
        self.total_limit()?;
        self.check_request_fields()?;
        self.headers.iter().try_for_each(check_header)?;
        self.header_env.iter().try_for_each(check_header_variable)
    }

    fn check_kind(&self) -> Result<(), OptionFault> {
        let given = [
            ("judge.model", self.model.is_some()),
            ("judge.base_url", !self.base_url.is_empty()),
        ];
        let server = given.into_iter().find(|(_, is_given)| *is_given);
        match (self.kind(), server) {
            (JudgeKind::Lexical, Some((other, _))) => Err(OptionFault {
                contradicts: Some(other.to_owned()),
                ..OptionFault::new(
                    "judge.kind",
                    "lexical takes no model and no base URL; drop one of the two",
                )
            }),
            (kind, None) if kind != JudgeKind::Lexical => {
                let what = format!(
                    "a judge of kind {} needs a server: give a model or a base URL",
                    self.kind()
                );
                Err(OptionFault::new("judge.kind", what))
            }
            _ => self.check_protocol(),
        }
    }

    /// An option that the kind's protocol does not have would be without effect.
    fn check_protocol(&self) -> Result<(), OptionFault> {
        let kind = self.kind();
        let given = [
            ("seed", self.seed.is_some()),
            ("logprobs", self.logprobs.is_some()),
            ("service_tier", self.service_tier.is_some()),
            ("reasoning_effort", self.reasoning_effort.is_some()),
            (
                "temperature",
                self.temperature != 0.0 || self.no_temperature,
            ),
            ("top_p", self.top_p.is_some()),
            ("structured", self.structured != Structured::default()),
            ("max_tokens", !self.max_tokens.is_empty()),
        ];
        let missing = kind.protocol().missing_options();
        let fault = given
            .into_iter()
            .find(|(key, is_given)| *is_given && missing.contains(key));
        let Some((key, _)) = fault else {
            return Ok(());
        };
        let what = format!("the protocol of a judge of kind {kind} has no {key}; leave it out");
        Err(OptionFault::new(&format!("judge.{key}"), what))
    }

    /// A repeated address would get twice its share of the answers and of the limits.
    fn check_addresses(&self) -> Result<(), OptionFault> {
        let mut seen = BTreeSet::new();
        for url in &self.base_url {
            let endpoint = Endpoint::of(url, self.kind().protocol_at(url))
                .map_err(|error| OptionFault::new("judge.base_url", error.to_string()))?;
            let shown = endpoint.masked_url();
            if !seen.insert(shown.clone()) {
                let what = format!("{shown} is given twice; name each address once");
                return Err(OptionFault::new("judge.base_url", what));
            }
        }
        Ok(())
    }

    /// Where a protocol has its parameters in one member, what has an option of ours is given by that option.
    fn check_settings_member(&self, fields: &Map<String, Value>) -> Result<(), OptionFault> {
        let protocol = self.kind().protocol();
        let Some(member) = protocol.settings_member() else {
            return Ok(());
        };
        for (parameter, flag) in [
            (Parameter::Temperature, "--temperature"),
            (Parameter::Seed, "--judge-seed"),
            (Parameter::TopP, "--top-p"),
            (Parameter::Logprobs, "--logprobs"),
        ] {
            let field = protocol.parameter(parameter).map_or("", |form| form.field);
            if fields
                .get(member)
                .is_some_and(|settings| settings.get(field).is_some())
            {
                let what = format!("the field {member}.{field} belongs to the program; use {flag}");
                return Err(OptionFault::new("judge.extra_body", what));
            }
        }
        Ok(())
    }

    fn check_request_fields(&self) -> Result<(), OptionFault> {
        if self
            .extra_body
            .as_ref()
            .is_some_and(|fields| !fields.is_object())
        {
            return extra_body_fault(
                r#"not a JSON object; write one in single quotes, such as '{"top_k": 1}'"#
                    .to_owned(),
            );
        }
        let fields = self.request_fields();
        if let Some((name, instead)) = OWN_FIELDS
            .into_iter()
            .find(|(name, _)| fields.contains_key(*name))
        {
            return extra_body_fault(format!(
                "the field {name} belongs to the program; {instead}"
            ));
        }
        let example = &Messages::new(Some(String::new()), "");
        for (name, _) in self.kind().protocol().texts(example) {
            if fields.contains_key(name) {
                return extra_body_fault(format!(
                    "the field {name} belongs to the program; a prompt set (--prompts DIR) changes what is asked"
                ));
            }
        }
        self.check_settings_member(&fields)?;
        let own_flags = [
            ("top_p", self.top_p.is_some(), "--top-p"),
            ("logprobs", self.logprobs.is_some(), "--logprobs"),
            ("top_logprobs", self.logprobs.is_some(), "--logprobs"),
        ];
        for (name, is_given, flag) in own_flags {
            if is_given && fields.contains_key(name) {
                return extra_body_fault(format!(
                    "the field {name} is set by {flag} already; give it once"
                ));
            }
        }
        Ok(())
    }
}

/// Concurrency, rate limits, retries and time-outs of a judge; they apply to each of its servers.
#[derive(Debug, Clone, Args, Serialize, Deserialize)]
#[command(next_help_heading = "Limits")]
pub struct LimitOptions {
    /// Calls in flight at once
    #[arg(
        long,
        value_name = "N",
        env = "SCHOLAREVAL_CONCURRENCY",
        default_value = "32"
    )]
    pub concurrency: NonZeroUsize,
    /// Requests per minute [default: no limit]
    #[arg(long, value_name = "N", env = "SCHOLAREVAL_RPM")]
    pub rpm: Option<NonZeroU32>,
    /// Tokens per minute [default: no limit]
    #[arg(long, value_name = "N", env = "SCHOLAREVAL_TPM")]
    pub tpm: Option<NonZeroU64>,
    /// Retries of transient failures (429, 5xx, resets, time-outs)
    #[arg(long, value_name = "N", default_value_t = 8)]
    pub retries: u32,
    /// Time-out of one request, such as 90s
    #[arg(
        long,
        value_name = "TIME",
        env = "SCHOLAREVAL_TIMEOUT",
        default_value = "10m"
    )]
    pub timeout: TimeSpan,
    /// Stream replies, so that a server stops generating on a time-out; auto: for vLLM, llama.cpp and SGLang
    #[arg(
        long,
        value_name = "WHEN",
        value_enum,
        env = "SCHOLAREVAL_STREAM",
        default_value_t
    )]
    pub stream: Streaming,
}

impl Default for LimitOptions {
    fn default() -> Self {
        defaults()
    }
}

impl LimitOptions {
    /// The limits for calls of this service tier.
    #[must_use]
    pub fn with_patience(&self, tier: Option<ServiceTier>) -> Self {
        let times = tier.map_or(1, ServiceTier::patience);
        let timeout = TimeSpan(self.timeout.saturating_mul(times));
        Self {
            timeout,
            retries: self.retries.saturating_mul(times),
            ..self.clone()
        }
    }

    /// Checks every value.
    ///
    /// # Errors
    /// The first invalid value.
    pub fn check(&self) -> Result<(), OptionFault> {
        if self.timeout.is_zero() {
            let what = "0s leaves no time for a reply; write one such as 90s or 10m";
            return Err(OptionFault::new("limits.timeout", what));
        }
        Ok(())
    }
}

/// Whether replies are streamed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Streaming {
    /// If the server stops when its client disconnects: vLLM, llama.cpp and SGLang.
    #[default]
    Auto,
    /// Always.
    On,
    /// Never.
    Off,
}

/// Options of the reply cache.
#[derive(Debug, Clone, Args, Serialize, Deserialize)]
#[command(next_help_heading = "Cache")]
pub struct CacheOptions {
    /// The reply cache
    #[arg(
        id = "cache_path",
        long = "cache",
        value_name = "FILE",
        env = "SCHOLAREVAL_CACHE"
    )]
    #[arg(default_value = ".scholareval/cache.sqlite")]
    pub path: PathBuf,
    /// Do not read or write the reply cache
    #[arg(long)]
    pub no_cache: bool,
    /// Repeat calls whose cached reply could not be read
    #[arg(long)]
    pub retry_unscored: bool,
    /// Replies stay in the cache's log when it is closed, which spares the wait for the disk: for many short runs, whose
    /// replies the next one finds there.
    #[arg(skip)]
    #[serde(skip)]
    pub leaves_log: bool,
}

impl Default for CacheOptions {
    fn default() -> Self {
        defaults()
    }
}

impl CacheOptions {
    /// The cache file; `None` without a cache.
    pub fn path(&self) -> Option<&Path> {
        (!self.no_cache).then_some(self.path.as_path())
    }
}

/// Budget of one command. It does not affect scores.
#[derive(Debug, Clone, Default, Args, Serialize, Deserialize)]
#[command(next_help_heading = "Bounds")]
pub struct BudgetOptions {
    /// Stop before more than this is spent by this command (needs a price for every model) [default: no limit]
    #[arg(long, value_name = "USD", value_parser = parse_amount, allow_negative_numbers = true)]
    #[serde(default, deserialize_with = "optional_amount_of_file")]
    pub budget_usd: Option<f64>,
    /// Stop before more tokens, of prompts and replies, are used by this command [default: no limit]
    #[arg(long, value_name = "N")]
    pub budget_tokens: Option<NonZeroU64>,
    /// Price of the model in USD per million prompt and reply tokens, such as 2.5,10 [default: that of the config file, else of
    /// the price list]
    #[arg(long, value_name = "IN,OUT")]
    pub price: Option<String>,
    /// Price list to use in place of the built-in one (JSON)
    #[arg(long, value_name = "FILE")]
    pub prices: Option<PathBuf>,
    /// Stop in time to end after this long, such as 3h50m [default: no limit]
    #[arg(long, value_name = "TIME")]
    pub time_limit: Option<TimeSpan>,
}

impl BudgetOptions {
    /// Checks every value.
    ///
    /// # Errors
    /// The first invalid value.
    pub fn check(&self) -> Result<(), OptionFault> {
        match self.budget_usd {
            Some(usd) if !is_amount(usd) || usd == 0.0 => Err(OptionFault::new(
                "budget.budget_usd",
                "not an amount of US dollars above 0; write for example 12.50",
            )),
            _ if self.price.is_some() && self.price().is_none() => Err(OptionFault::new(
                "budget.price",
                "not two prices; write USD per million prompt tokens and per million reply tokens, such as 2.5,10",
            )),
            _ => Ok(()),
        }
    }

    /// The price of the model of `--model`, if it is given.
    pub fn price(&self) -> Option<Price> {
        let (prompt, completion) = self.price.as_deref()?.split_once(',')?;
        Some(Price {
            prompt: parse_amount(prompt).ok()?,
            completion: parse_amount(completion).ok()?,
            cached_prompt: None,
        })
    }
}

/// Reads an amount of the config file; one that JSON cannot write comes as text.
pub(crate) fn amount_of_file<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    use serde::de::Error as _;
    let value = Value::deserialize(deserializer)?;
    parse_amount(value.as_str().unwrap_or(&value.to_string())).map_err(D::Error::custom)
}

/// The same for an option without a default.
pub(crate) fn optional_amount_of_file<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<f64>, D::Error> {
    use serde::de::Error as _;
    let value = Value::deserialize(deserializer)?;
    if value.is_null() {
        return Ok(None);
    }
    amount_of_file(value).map(Some).map_err(D::Error::custom)
}

/// Name and value; the name is empty if the text has no separator.
fn name_and_value(text: &str, separator: char) -> (String, String) {
    let (name, value) = text.split_once(separator).unwrap_or(("", text));
    (name.trim().to_owned(), value.trim().to_owned())
}

/// A header as typed, `NAME:VALUE`; checked later.
pub fn header(text: &str) -> Result<(String, String), Infallible> {
    Ok(name_and_value(text, ':'))
}

/// `NAME=TEXT` as typed; checked later.
pub fn name_and_text(text: &str) -> Result<(String, String), Infallible> {
    Ok(name_and_value(text, '='))
}

/// Checks name and value of a header, without repeating the value.
pub fn check_header((name, value): &(String, String)) -> Result<(), OptionFault> {
    let Some(what) = header_fault(name, value) else {
        return Ok(());
    };
    Err(OptionFault::new("judge.headers", what))
}

/// Why this is not a header that can be sent, if it is not.
fn header_fault(name: &str, value: &str) -> Option<String> {
    if name.is_empty() || !name.chars().all(is_header_name_char) {
        let what = "no name of a header before a colon, or before the = of header_env; write it as \"X-Team: biology\", or \
                    X-Api-Key=TEAM_KEY";
        return Some(what.to_owned());
    }
    if OWN_HEADERS.contains(&name.to_ascii_lowercase().as_str()) {
        return Some(format!(
            "the header {name} belongs to the transport; leave it out"
        ));
    }
    if !value
        .chars()
        .all(|c| c == ' ' || c == '\t' || c.is_ascii_graphic())
    {
        return Some(format!(
            "the value of {name} holds a character that no header may have; use plain ASCII"
        ));
    }
    None
}

/// What HTTP calls a token.
fn is_header_name_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c)
}

/// The limit of `KIND=N`: of which kind, and how many tokens; `none` means no limit.
fn reply_limit(name: &str, limit: &str) -> Result<(Kind, Option<u64>), String> {
    let Some(kind) = KindInfo::named(name) else {
        let kinds = KINDS.map(|info| info.name).join(", ");
        return Err(format!(
            "{name} is not a kind of question; known are {kinds}, and total, as in property=100,citations=16000"
        ));
    };
    if limit == "none" {
        return Ok((kind.kind(), None));
    }
    match limit.parse() {
        Ok(tokens) if tokens > 0 => Ok((kind.kind(), Some(tokens))),
        _ => Err(format!(
            "the limit of {kind} is not a number of at least 1; write {kind}=100, or {kind}=none"
        )),
    }
}

fn extra_body_fault(what: String) -> Result<(), OptionFault> {
    Err(OptionFault::new("judge.extra_body", what))
}

/// Checks the name of a header whose value a variable holds.
pub fn check_header_variable((name, _): &(String, String)) -> Result<(), OptionFault> {
    match header_fault(name, "") {
        Some(what) => Err(OptionFault::new("judge.header_env", what)),
        None => Ok(()),
    }
}

/// Invalid JSON stays a text, which [`JudgeOptions::check`] rejects without repeating it.
fn json_or_text(text: &str) -> Result<Value, Infallible> {
    Ok(serde_json::from_str(text).unwrap_or_else(|_| Value::from(text)))
}

pub fn as_map<S: Serializer>(pairs: &[(String, String)], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(pairs.iter().map(|(name, value)| (name, value)))
}

pub fn from_map<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Vec<(String, String)>, D::Error> {
    use serde::de::Error as _;
    let Value::Object(map) = Value::deserialize(deserializer)? else {
        return Err(D::Error::custom("expected a table of names and values"));
    };
    let mut pairs = Vec::new();
    for (name, value) in map {
        let value = match value {
            Value::String(value) => value.trim().to_owned(),
            Value::Number(_) | Value::Bool(_) => value.to_string(),
            _ => return Err(D::Error::custom(format!("{name}: expected a string"))),
        };
        pairs.push((name, value));
    }
    Ok(pairs)
}

/// A list of texts, or one comma-separated text.
pub fn one_or_more<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged, expecting = "expected a string, or an array of strings")]
    enum OneOrMore {
        One(String),
        More(Vec<String>),
    }
    let texts = match OneOrMore::deserialize(deserializer)? {
        OneOrMore::One(text) => text.split(',').map(str::to_owned).collect(),
        OneOrMore::More(texts) => texts,
    };
    Ok(texts
        .into_iter()
        .map(|text| text.trim().to_owned())
        .filter(|text| !text.is_empty())
        .collect())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use scholareval_core::question::{CITATIONS, PROPERTY};

    fn server() -> JudgeOptions {
        JudgeOptions {
            base_url: vec!["localhost:1".to_owned()],
            ..JudgeOptions::default()
        }
    }

    fn fault(options: JudgeOptions) -> String {
        let fault = options.check().unwrap_err();
        format!("{}: {}", fault.key, fault.what)
    }

    #[test]
    fn the_kind_follows_from_model_and_address() {
        assert_eq!(JudgeOptions::default().kind(), JudgeKind::Lexical);
        assert_eq!(server().kind(), JudgeKind::Chat);
        assert_eq!(
            JudgeOptions {
                kind: Some(JudgeKind::Label),
                ..server()
            }
            .kind(),
            JudgeKind::Label
        );
        let lexical = JudgeOptions {
            kind: Some(JudgeKind::Lexical),
            ..server()
        }
        .check()
        .unwrap_err();
        assert_eq!(lexical.contradicts.as_deref(), Some("judge.base_url"));
        let alone = JudgeOptions {
            kind: Some(JudgeKind::Completions),
            ..JudgeOptions::default()
        };
        assert!(fault(alone).contains("judge of kind completions needs a server"));
    }

    #[test]
    fn values_out_of_range_are_refused() {
        assert_eq!(server().check(), Ok(()));
        for options in [
            JudgeOptions {
                temperature: 2.1,
                ..server()
            },
            JudgeOptions {
                temperature: f64::NAN,
                ..server()
            },
            JudgeOptions {
                top_p: Some(0.0),
                ..server()
            },
            JudgeOptions {
                top_p: Some(f64::NAN),
                ..server()
            },
            JudgeOptions {
                logprobs: Some(21),
                ..server()
            },
            JudgeOptions {
                model: Some(" ".to_owned()),
                ..server()
            },
        ] {
            assert!(options.check().is_err());
        }
        assert!(
            LimitOptions {
                timeout: TimeSpan::default(),
                ..LimitOptions::default()
            }
            .check()
            .is_err()
        );
        for usd in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            let budget = BudgetOptions {
                budget_usd: Some(usd),
                ..BudgetOptions::default()
            };
            assert!(budget.check().is_err(), "{usd}");
        }
        for price in ["nan,1", "1,inf", "-1,1", "1"] {
            let budget = BudgetOptions {
                price: Some(price.to_owned()),
                ..BudgetOptions::default()
            };
            assert!(budget.check().is_err(), "{price}");
        }
    }

    #[test]
    fn flex_has_more_patience() {
        let limits = LimitOptions::default();
        let patient = limits.with_patience(Some(ServiceTier::Flex));
        // 3 * 10 min, 3 * 8
        assert_eq!(
            (patient.timeout, patient.retries),
            (TimeSpan::from_secs(1800), 24)
        );
        assert_eq!(limits.with_patience(None).retries, 8);
    }

    #[test]
    fn refusals_of_secret_values_do_not_repeat_them() {
        let header = |text: &str| JudgeOptions {
            headers: vec![name_and_value(text, ':')],
            ..server()
        };
        let body = |text: &str| JudgeOptions {
            extra_body: json_or_text(text).ok(),
            ..server()
        };
        let url = |text: &str| JudgeOptions {
            base_url: vec![text.to_owned()],
            ..JudgeOptions::default()
        };
        for (options, expected) in [
            (header("hunter2"), "no name of a header before a colon"),
            (
                header("Content-Length:hunter2"),
                "the header Content-Length belongs to the transport",
            ),
            (body("{\"hunter2"), "not a JSON object"),
            (body("[1]"), "not a JSON object"),
            (
                body("{\"model\": \"hunter2\"}"),
                "the field model belongs to the program; use --model",
            ),
            (url("ftp://me:hunter2@h"), "is neither http nor https"),
        ] {
            let text = fault(options);
            assert!(
                text.contains(expected) && !text.contains("hunter2"),
                "{text}"
            );
        }
        let twice = JudgeOptions {
            base_url: vec!["h:1".to_owned(), "http://h:1/v1".to_owned()],
            ..server()
        };
        assert!(fault(twice).contains("given twice"));
        let both = JudgeOptions {
            top_p: Some(0.5),
            extra_body: Some(json!({"top_p": 1})),
            ..server()
        };
        assert!(fault(both).contains("set by --top-p already"));
    }

    #[test]
    fn reply_limits_are_read_from_text_and_table() {
        let of = |text: &str| JudgeOptions {
            max_tokens: text
                .split(',')
                .map(|limit| name_and_value(limit, '='))
                .collect(),
            ..server()
        };
        let limits = [(PROPERTY.kind(), Some(100)), (CITATIONS.kind(), None)].into();
        assert_eq!(of("property=100,citations=none").reply_limits(), Ok(limits));
        let mut written = serde_json::to_value(server()).unwrap();
        written["max_tokens"] = json!({"property": 100, "citations": "none"});
        let read: JudgeOptions = serde_json::from_value(written).unwrap();
        assert!(read.reply_limits() == of("citations=none,property=100").reply_limits());
        assert!(fault(of("propety=5")).contains("known are expertise, property"));
        assert!(fault(of("property=0")).contains("the limit of property"));
    }

    #[test]
    fn options_survive_being_written_and_read() {
        let options = JudgeOptions {
            headers: vec![name_and_value("X-Team: biology", ':')],
            base_url: vec!["a".to_owned(), "b".to_owned()],
            extra_body: Some(json!({"top_k": 1})),
            ..JudgeOptions::default()
        };
        let written = serde_json::to_value(&options).unwrap();
        let read: JudgeOptions = serde_json::from_value(written.clone()).unwrap();
        assert_eq!(serde_json::to_value(&read).unwrap(), written);
        assert!(read.headers == options.headers);
    }
}
