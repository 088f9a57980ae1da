//! Error responses: the server's message, cleaned, and what to do about it.
//!
//! A body becomes a `ServerError`; a table (`RULES`) says whom it concerns: one answer, one call, a
//! later attempt, or the judge as a whole, with what the user can do.

use std::time::Duration;

use clap::ValueEnum as _;
use serde_json::Value;

use crate::endpoint::Endpoint;
use crate::forms::Effort;
use crate::parameter::Parameter;
use crate::protocol::{ListedModel, ParameterForm, Protocol};
use crate::{AFTER_THE_END, AskError, fatal};
use scholareval_core::domain::UnscoredKind;
use scholareval_core::text::names::nearest;
use scholareval_core::text::tables::section;

/// Longest quotation of a server in a message, in characters.
const LONGEST_QUOTE: usize = 300;

/// The sections of signs, a code or a phrase a line, and the options that help.
const SIGNS: &str = include_str!("server_errors.txt");

/// What an error is recognized by: the name of a section of lower-case phrases of its message, and of one of `code`s or `type`s
/// (`NAME: codes`).
type Sign = &'static str;

const QUOTA: Sign = "quota";
/// A quota that is renewed once a day (Google).
const QUOTA_PER_DAY: Sign = "quota per day";
/// A wrong key under a status with many other meanings (Google).
const BAD_KEY: Sign = "wrong key";
/// The account, or the country it is used from, is not served (Google).
const NOT_SERVED: Sign = "not served";
/// A refusal of the text itself. OpenAI names it `invalid_prompt`; Azure says what it is in `innererror`.
const MODERATION: Sign = "moderation";
const CONTEXT_OVERFLOW: Sign = "context overflow";
const UNKNOWN_MODEL: Sign = "unknown model";
/// The same under statuses with many other meanings.
const INVALID_MODEL: Sign = "invalid model";
/// The model has ended, by the name of the error (Groq), which no text of an answer can bring about.
const NAMED_RETIRED: Sign = "model ended, by name";
/// The model has ended, by statuses of errors that do not quote the request.
const RETIRED: Sign = "model ended";
/// The same where the status says that something is missing; elsewhere the words may be about a parameter.
const MISSING_AND_RETIRED: Sign = "missing and ended";
/// A parameter that is refused whatever its value, or but for one value; not a value out of range. Of a schema also that it is too
/// large: a smaller one would ask for another reply.
const UNSUPPORTED: Sign = "unsupported parameter";
/// A value that a parameter does not take. Of other parameters than the effort another value may work.
const WRONG_VALUE: Sign = "wrong value";
/// A refusal that does not say what it is about (Google).
const UNNAMED_ARGUMENT: Sign = "unnamed argument";
/// A server that speaks HTTPS got plain HTTP.
const WANTS_HTTPS: Sign = "wants https";
/// The reply limit went to the reasoning: an error in place of a cut reply (GPT-5).
const USED_UP_LIMIT: Sign = "used up limit";
/// A single request above the limit per minute, which is answered with 429 for ever.
const TOO_LARGE: Sign = "request too large";
/// Names of models in a message.
const MODELS_SHOWN: usize = 5;

/// Whom an error concerns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scope {
    /// The text of one answer: no call about it will work, calls about others will.
    Answer(UnscoredKind),
    /// This call, which will not work.
    Call,
    /// This call, now: it may work later.
    Later,
    /// Every call to the judge: the run stops.
    Judge(Stop),
}

/// Why a run stops.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stop {
    Quota,
    QuotaPerDay,
    NotServed,
    Model,
    Retired,
    Https,
    Key,
    Route,
    /// The server cannot do what is asked with this model.
    Unable,
    Redirect,
}

/// A line of the table: statuses from .. to, what the error is recognized by (`None`: the status suffices), its scope.
type ErrorRule = (&'static [(u16, u16)], Option<Sign>, Scope);

/// What errors mean, for all protocols: the first line that fits counts.
const RULES: [ErrorRule; 22] = [
    (&[(402, 402)], None, Scope::Judge(Stop::Quota)),
    (
        &[(429, 429)],
        Some(QUOTA_PER_DAY),
        Scope::Judge(Stop::QuotaPerDay),
    ),
    // Under any status: OpenAI says it with 429, Anthropic with 400, gateways with what they like.
    // Retried, each call would wait out all its attempts.
    (&[(0, u16::MAX)], Some(QUOTA), Scope::Judge(Stop::Quota)),
    (
        // 500 as well: some servers let the error of the engine through.
        &[(400, 400), (413, 413), (422, 422), (500, 500)],
        Some(CONTEXT_OVERFLOW),
        Scope::Answer(UnscoredKind::ContextOverflow),
    ),
    (
        &[(400, 401), (403, 403), (422, 422)],
        Some(MODERATION),
        Scope::Answer(UnscoredKind::Moderated),
    ),
    (
        &[(400, 499)],
        Some(NAMED_RETIRED),
        Scope::Judge(Stop::Retired),
    ),
    (
        // Also as 429: retried, each call would wait out all its attempts.
        &[(403, 404), (410, 410), (429, 429)],
        Some(RETIRED),
        Scope::Judge(Stop::Retired),
    ),
    (
        &[(404, 404), (410, 410)],
        Some(MISSING_AND_RETIRED),
        Scope::Judge(Stop::Retired),
    ),
    (
        &[(404, 405)],
        Some(UNKNOWN_MODEL),
        Scope::Judge(Stop::Model),
    ),
    (
        &[(400, 400), (403, 403), (422, 422)],
        Some(INVALID_MODEL),
        Scope::Judge(Stop::Model),
    ),
    (&[(400, 400)], Some(WANTS_HTTPS), Scope::Judge(Stop::Https)),
    (&[(400, 400)], Some(BAD_KEY), Scope::Judge(Stop::Key)),
    (
        &[(400, 400)],
        Some(NOT_SERVED),
        Scope::Judge(Stop::NotServed),
    ),
    // After moderation, which some services also send as 403.
    (&[(401, 401), (403, 403)], None, Scope::Judge(Stop::Key)),
    (&[(404, 405)], None, Scope::Judge(Stop::Route)),
    (&[(501, 501)], None, Scope::Judge(Stop::Unable)),
    (
        &[(413, 413)],
        None,
        Scope::Answer(UnscoredKind::ContextOverflow),
    ),
    (&[(300, 399)], None, Scope::Judge(Stop::Redirect)),
    (&[(429, 429)], Some(TOO_LARGE), Scope::Call),
    (&[(408, 409), (425, 425), (429, 429)], None, Scope::Later),
    (&[(500, u16::MAX)], None, Scope::Later),
    (&[(0, u16::MAX)], None, Scope::Call),
];

/// The status that an error under status 200 stands for, by its `code` or `type`.
const STATUS_OF_NAME: [(Sign, u16); 7] = [
    (QUOTA, 429),
    (MODERATION, 400),
    ("rate limit", 429),
    ("key", 401),
    (UNKNOWN_MODEL, 404),
    ("overloaded", 529),
    ("invalid request", 400),
];

/// An error response, or an error in place of a reply under status 200.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct ServerError {
    /// HTTP status, or the one that the error stands for.
    status: u16,
    /// How long the server asks to wait.
    retry_after: Option<Duration>,
    /// The message, cleaned by [`quote`].
    message: String,
    /// `code`, whether written as a string or a number.
    code: String,
    /// `type`.
    kind: String,
    /// Further names, where the protocol has them.
    reasons: Vec<String>,
    /// `param`: the field of the request that it is about.
    field: String,
}

impl ServerError {
    /// Reads the body of an error response: OpenAI's `{"error": {..}}`, a bare `{"message": ..}` (older vLLM),
    /// `{"detail": ..}` (FastAPI), or any text.
    pub(super) fn of_body(
        status: u16,
        retry_after: Option<Duration>,
        body: &[u8],
        endpoint: &Endpoint,
    ) -> Self {
        let body_json = match serde_json::from_slice::<Value>(body) {
            // Some services write a stream of one error as a list.
            Ok(Value::Array(mut list)) if list.len() == 1 => Ok(list.remove(0)),
            other => other,
        };
        let error = match body_json {
            Ok(Value::Object(object)) => match object.get("error").filter(|error| !error.is_null())
            {
                Some(error) => Self::of_value(error, endpoint),
                None => Self::of_value(&Value::Object(object), endpoint),
            },
            _ => Self {
                message: quote(&String::from_utf8_lossy(body), endpoint),
                ..Self::default()
            },
        };
        Self {
            status,
            retry_after: retry_after.or(error.retry_after),
            ..error
        }
    }

    /// An error that came under status 200: its `code` (a number or a string of one) is the status; else the one that
    /// its name stands for; else 500, for a gateway that lost its server.
    pub(super) fn under_200(
        error: &Value,
        retry_after: Option<Duration>,
        endpoint: &Endpoint,
    ) -> Self {
        let error = Self::of_value(error, endpoint);
        let error = Self {
            retry_after: retry_after.or(error.retry_after),
            ..error
        };
        let numeric = error
            .code
            .parse::<u16>()
            .ok()
            .filter(|code| (400..=599).contains(code));
        let named = STATUS_OF_NAME
            .iter()
            .find(|(sign, _)| error.is_named(sign))
            .map(|(_, status)| *status);
        let overflow = error.is(CONTEXT_OVERFLOW).then_some(400);
        Self {
            status: numeric.or(overflow).or(named).unwrap_or(500),
            ..error
        }
    }

    /// Reads the value of an `error` member.
    fn of_value(error: &Value, endpoint: &Endpoint) -> Self {
        let named = ["message", "detail", "error", "msg"]
            .into_iter()
            .find_map(|name| error.get(name));
        let message = named.unwrap_or(error);
        let message = message
            .as_str()
            .map_or_else(|| message.to_string(), str::to_owned);
        let facts = endpoint.protocol.error_facts(error);
        Self {
            message: quote(&message, endpoint),
            code: scalar(error.get("code").or_else(|| error.get("status"))),
            kind: scalar(error.get("type")),
            reasons: facts.reasons,
            retry_after: facts.wait,
            field: scalar(error.get("param")),
            ..Self::default()
        }
    }

    /// Whether it has one of the codes of a sign.
    fn is_named(&self, sign: Sign) -> bool {
        let names_given = [&self.code, &self.kind].into_iter().chain(&self.reasons);
        let names_given: Vec<&String> = names_given.collect();
        let name_of_section = format!("{sign}: codes");
        let mut codes = section(SIGNS, &name_of_section);
        codes.any(|code| names_given.iter().any(|name| *name == code))
    }

    fn is(&self, sign: Sign) -> bool {
        let message = self.message.to_lowercase();
        self.is_named(sign) || section(SIGNS, sign).any(|phrase| message.contains(phrase))
    }

    /// The parameter that the server refuses, one of those `sent`: the field that the error is about, else the first that
    /// its message names. That a parameter does not go together with reasoning is not about the effort.
    pub(super) fn refused_parameter(
        &self,
        sent: &[Parameter],
        protocol: &dyn Protocol,
    ) -> Option<Parameter> {
        let is_refusal = self.is(UNSUPPORTED);
        if !matches!(self.status, 400 | 403 | 422)
            || !is_refusal && !self.is(WRONG_VALUE)
            || self.is(CONTEXT_OVERFLOW)
            || self.is(MODERATION)
            || self.is_missing_model()
        {
            return None;
        }
        let text = if self.field.is_empty() {
            &self.message
        } else {
            &self.field
        };
        let count = if self.field.is_empty() { usize::MAX } else { 1 };
        let words: Vec<&str> = words_of(text).take(count).collect();
        let (efforts, others): (Vec<Parameter>, Vec<Parameter>) =
            sent.iter().partition(|parameter| parameter.is_effort());
        let named = |sent: &[Parameter]| {
            let mut words = words.iter();
            words.find_map(|word| sent_as(word, sent, protocol))
        };
        let parameter = named(&others).or_else(|| named(&efforts)).or_else(|| {
            let is_within = |form: &&ParameterForm| words.contains(&form.root());
            let form = protocol.parameters().iter().find(is_within)?;
            Some(form.parameter).filter(|parameter| sent.contains(parameter))
        })?;
        if !parameter.is_effort() {
            return is_refusal.then_some(parameter);
        }
        // Where it names a level, others may be taken.
        let names_level = words_of(&self.message).any(|word| Effort::from_str(word, true).is_ok());
        Some(if names_level {
            Parameter::Effort
        } else {
            parameter
        })
    }

    /// Whether the server refuses the call for the length of its reply, perhaps together with its prompt.
    pub(super) fn refuses_length(&self) -> bool {
        matches!(self.status, 400 | 413 | 422)
            && !self.is(UNSUPPORTED)
            && (self.is(CONTEXT_OVERFLOW) || names_limit(&self.message) || names_limit(&self.field))
    }

    /// Whether it stands for a reply that was cut in its reasoning.
    pub(super) fn is_used_up_limit(&self) -> bool {
        matches!(self.status, 400 | 422) && self.is(USED_UP_LIMIT)
    }

    /// The error of a call that asks for an effort, which a refusal may be about without naming it (Gemini).
    pub(super) fn noting_effort(mut self) -> Self {
        if self.is(UNNAMED_ARGUMENT) {
            self.message += " (the call asks for --reasoning-effort)";
        }
        self
    }

    /// Status and message, for the user.
    pub(super) fn message(&self) -> String {
        format!("status {}: {}", self.status, self.message)
            .trim_end_matches(": ")
            .to_owned()
    }

    /// True if the server does not have the model, or has it no more.
    pub(super) fn is_missing_model(&self) -> bool {
        matches!(self.scope(), Scope::Judge(Stop::Model | Stop::Retired))
    }

    /// Whether the text is longer than the model takes.
    pub(super) fn is_too_long(&self) -> bool {
        self.scope() == Scope::Answer(UnscoredKind::ContextOverflow)
    }

    /// Whom it concerns.
    fn scope(&self) -> Scope {
        for (statuses, sign, scope) in RULES {
            let has_status = statuses
                .iter()
                .any(|(from, to)| (*from..=*to).contains(&self.status));
            if has_status && sign.is_none_or(|sign| self.is(sign)) {
                return scope;
            }
        }
        Scope::Call
    }

    /// What to do about it.
    pub(super) fn classify(self, endpoint: &Endpoint) -> AskError {
        let scope = self.scope();
        let message = self.message();
        match scope {
            Scope::Judge(stop) => fatal(stop.words(&message, endpoint)),
            Scope::Later => AskError::Transient {
                message,
                status: Some(self.status),
                retry_after: self.retry_after,
            },
            Scope::Answer(kind) => AskError::Refused {
                message,
                status: self.status,
                kind,
            },
            Scope::Call => AskError::Refused {
                message,
                status: self.status,
                kind: UnscoredKind::Refused,
            },
        }
    }
}

fn words_of(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
}

/// The parameter of a call that a server refers to by this word.
fn sent_as(word: &str, sent: &[Parameter], protocol: &dyn Protocol) -> Option<Parameter> {
    sent.iter().copied().find(|parameter| {
        let form = protocol.parameter(*parameter);
        form.is_some_and(|form| {
            form.names
                .iter()
                .any(|name| name.eq_ignore_ascii_case(word))
        })
    })
}

impl Stop {
    /// The message for the user: what is wrong, in the server's words, and what to do about it.
    fn words(self, quoted: &str, endpoint: &Endpoint) -> String {
        let url = endpoint.masked_url();
        match self {
            Self::Quota => format!(
                "the quota of the judge's account is spent ({quoted}); add credit or give another key in {}, \
                 the same command continues where it stopped",
                endpoint.api_key_env
            ),
            Self::QuotaPerDay => format!(
                "the quota per day of the judge's account is spent ({quoted}); give the same command again when it is \
                 renewed, or another key in {}",
                endpoint.api_key_env
            ),
            Self::NotServed => format!(
                "the service at {url} takes no calls from this account ({quoted}); check its plan and country"
            ),
            Self::Model => {
                format!("the judge at {url} does not serve the model ({quoted}); check --model")
            }
            Self::Retired => format!(
                "the judge at {url} states that the model has ended ({quoted}); {AFTER_THE_END}"
            ),
            Self::Https => {
                let https = url.replacen("http:", "https:", 1);
                format!("the server at {url} speaks https, not http: use --base-url {https}")
            }
            Self::Key => key_refused(endpoint, quoted),
            Self::Route => {
                let path = endpoint.protocol.path();
                let base = endpoint.protocol.address().default_path;
                let other = endpoint.protocol.missing_route_hint();
                format!(
                    "{url} has no {path} ({quoted}); check --base-url, it usually ends in {base}{other}"
                )
            }
            Self::Unable => format!(
                "the judge at {url} cannot do this with its model ({quoted}); check --model and --judge"
            ),
            Self::Redirect => format!(
                "the judge at {url} redirects elsewhere ({quoted}); give the new address with --base-url"
            ),
        }
    }
}

/// The message of an error object: one line, whatever looks like a key masked.
pub(crate) fn error_words(error: &Value) -> String {
    let error = ServerError::of_value(error, &Endpoint::unknown());
    if error.message.is_empty() {
        error.code
    } else {
        error.message
    }
}

/// The message in the body of an error response: one line, secrets masked.
pub(crate) fn error_text(body: &[u8], endpoint: &Endpoint) -> String {
    ServerError::of_body(0, None, body, endpoint).message
}

/// The message for a key that is wrong or missing.
pub(crate) fn key_refused(endpoint: &Endpoint, quoted: &str) -> String {
    let (url, variable) = (endpoint.masked_url(), &endpoint.api_key_env);
    let (what, check) = match endpoint.api_key {
        Some(_) => (format!("refused the key from {variable}"), "check"),
        None => (format!("wants a key and got none from {variable}"), "set"),
    };
    format!(
        "the judge at {url} {what} ({quoted}); {check} {variable} or name another with --api-key-env"
    )
}

/// The models to choose from in place of `model`, by the server's list of them; empty if it lists no others.
pub(super) fn other_models(model: &str, listed: &[ListedModel]) -> String {
    let names: Vec<&str> = listed
        .iter()
        .map(|listed| &*listed.id)
        .filter(|name| *name != model)
        .collect();
    if let Some(near) = nearest(model, names.iter().copied()) {
        return format!(", did you mean {near:?}?");
    }
    let shown: Vec<String> = names
        .iter()
        .take(MODELS_SHOWN)
        .map(|name| format!("{name:?}"))
        .collect();
    let more = if names.len() > MODELS_SHOWN {
        ", .."
    } else {
        ""
    };
    if names.is_empty() {
        String::new()
    } else {
        format!(", it serves {}{more}", shown.join(", "))
    }
}

/// The message for a server that never answered.
pub(crate) fn no_server(url: &str, words: &str) -> String {
    format!(
        "no judge answers at {url} ({words}); check --base-url, or wait for it to load with --wait-server 20m"
    )
}

/// The option that changes what the server complains about.
pub fn helping_option(complaint: &str) -> &'static str {
    let complaint = complaint.to_lowercase();
    for line in section(SIGNS, "helping options") {
        let (phrases, option) = line.split_once(": ").unwrap_or_default();
        if phrases.split(", ").any(|phrase| complaint.contains(phrase)) {
            return option;
        }
    }
    "--extra-body JSON to send what the server wants"
}

/// The message of an error that may be about the request itself: a plain 400 or 422. What is reported about the text of
/// one answer is not a fault of the request.
pub(super) fn complaint(error: &AskError) -> Option<&str> {
    let AskError::Refused {
        message,
        status: 400 | 422,
        kind: UnscoredKind::Refused,
    } = error
    else {
        return None;
    };
    Some(message.as_str())
}

/// A code that a server may write as text or as a number; empty for anything else.
fn scalar(value: Option<&Value>) -> String {
    match value {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Number(number)) => number.to_string(),
        _ => String::new(),
    }
}

/// Whether an error speaks of a reply limit, under any of the names that servers have for it.
fn names_limit(text: &str) -> bool {
    let names = [
        "max_tokens",
        "max_completion_tokens",
        "max_output_tokens",
        "maxOutputTokens",
    ];
    names.iter().any(|name| text.contains(name))
}

/// `text` fit for one line of a message: secrets masked, control characters and runs of white space made one
/// space, at most [`LONGEST_QUOTE`] characters.
pub(super) fn quote(text: &str, endpoint: &Endpoint) -> String {
    // Only so much of a long page is read: masking can shorten, never by this much.
    let start: String = text.chars().take(16 * LONGEST_QUOTE).collect();
    // Masked before it is cut, or half of a key could stand at the end.
    let clean = endpoint.scrub(&start);
    let line = clean
        .split(|c: char| c.is_whitespace() || c.is_control() || is_invisible(c))
        .filter(|word| !word.is_empty())
        .collect::<Vec<_>>()
        .join(" ");
    match line.char_indices().nth(LONGEST_QUOTE) {
        Some((cut, _)) => format!("{}..", &line[..cut]),
        None => line,
    }
}

/// A short quotation of a reply on one line, whatever looks like a key masked.
pub fn excerpt(text: &str) -> String {
    quote(text, &Endpoint::unknown())
}

/// Characters that reorder or hide text on a terminal without being control characters.
fn is_invisible(c: char) -> bool {
    matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::kind::JudgeKind;
    use scholareval_core::error::Error;

    fn endpoint() -> Endpoint {
        Endpoint::new("http://localhost:8000").unwrap()
    }

    fn classify(status: u16, body: &str) -> AskError {
        let retry_after = Some(Duration::from_secs(1));
        ServerError::of_body(status, retry_after, body.as_bytes(), &endpoint())
            .classify(&endpoint())
    }

    fn stops_with(error: &AskError, part: &str) -> bool {
        matches!(error, AskError::Fatal(Error::JudgeUnavailable(message)) if message.contains(part))
    }

    fn refused(error: &AskError) -> Option<UnscoredKind> {
        if let AskError::Refused { kind, .. } = error {
            Some(*kind)
        } else {
            None
        }
    }

    #[test]
    fn every_sign_has_a_section() {
        let of_rules = RULES.iter().filter_map(|(_, sign, _)| *sign);
        let of_statuses = STATUS_OF_NAME.iter().map(|(sign, _)| *sign);
        let others = [UNSUPPORTED, WRONG_VALUE, UNNAMED_ARGUMENT, USED_UP_LIMIT];
        for sign in of_rules.chain(of_statuses).chain(others) {
            let codes = format!("{sign}: codes");
            let lines = section(SIGNS, sign).count() + section(SIGNS, &codes).count();
            assert!(lines > 0, "{sign}");
        }
    }

    #[test]
    fn keys_quotas_models_and_routes_stop_the_run() {
        assert!(stops_with(&classify(401, "{}"), "OPENAI_API_KEY"));
        assert!(stops_with(&classify(403, "no"), "--api-key-env"));
        assert!(stops_with(&classify(402, "pay"), "quota"));
        assert!(stops_with(
            &classify(429, r#"{"error":{"code":"insufficient_quota"}}"#),
            "quota"
        ));
        assert!(stops_with(
            &classify(429, r#"{"error":{"type":"insufficient_quota","code":429}}"#),
            "quota"
        ));
        assert!(stops_with(
            &classify(
                404,
                r#"{"error":{"message":"The model `x` does not exist"}}"#
            ),
            "--model"
        ));
        assert!(stops_with(
            &classify(404, r#"{"detail":"Not Found"}"#),
            "--base-url"
        ));
        assert!(stops_with(&classify(301, ""), "redirects"));
        let html = "<h1>400 Bad Request</h1>The plain HTTP request was sent to HTTPS port";
        assert!(stops_with(
            &classify(400, html),
            "speaks https, not http: use --base-url https://localhost:8000/v1"
        ));
    }

    #[test]
    fn a_model_that_is_not_served_is_recognized_in_each_form_and_the_nearest_is_named() {
        for (status, body) in [
            (
                404,
                r#"{"object":"error","message":"The model `x` does not exist.","type":"NotFoundError","code":404}"#,
            ),
            (
                404,
                r#"{"error":{"message":"The model `x` does not exist","code":"model_not_found"}}"#,
            ),
            (
                403,
                r#"{"error":{"message":"Project p has no access to x","code":"model_not_found"}}"#,
            ),
            (
                400,
                r#"{"error":{"message":"x is not a valid model ID","code":400}}"#,
            ),
            (
                400,
                r#"{"object":"error","message":"Invalid model: x","type":"invalid_model"}"#,
            ),
        ] {
            assert!(
                stops_with(&classify(status, body), "does not serve the model"),
                "{status} {body}"
            );
        }
        assert_eq!(
            refused(&classify(400, "this model has no logprobs")),
            Some(UnscoredKind::Refused)
        );
        let list = |names: &[&str]| {
            let entries: Vec<Value> = names.iter().map(|name| json!({"id": name})).collect();
            endpoint().protocol.models(&json!({"data": entries}))
        };
        assert_eq!(
            other_models("lama-3", &list(&["qwen", "llama-3"])),
            ", did you mean \"llama-3\"?"
        );
        assert_eq!(
            other_models("gpt", &list(&["qwen\u{1b}", "x"])),
            ", it serves \"qwen\\u{1b}\", \"x\""
        );
        assert_eq!(
            other_models("x", &list(&["x"])),
            "",
            "the list is of no help"
        );
        assert_eq!(other_models("x", &[]), "");
    }

    #[test]
    fn a_refused_parameter_is_recognized_in_the_forms_of_each_server() {
        let refused = |status: u16, body: &str| {
            // A request has a schema or JSON mode.
            let sent = Parameter::ALL.map(|parameter| {
                if parameter == Parameter::Schema {
                    Parameter::ResponseFormat
                } else {
                    parameter
                }
            });
            ServerError::of_body(status, None, body.as_bytes(), &endpoint())
                .refused_parameter(&sent, endpoint().protocol)
        };
        for (status, body, parameter) in [
            // OpenAI
            (
                400,
                r#"{"error":{"message":"Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.","type":"invalid_request_error","param":"max_tokens","code":"unsupported_parameter"}}"#,
                Parameter::MaxTokens,
            ),
            (
                400,
                r#"{"error":{"message":"Unsupported value: 'temperature' does not support 0 with this model.","param":"temperature","code":"unsupported_value"}}"#,
                Parameter::Temperature,
            ),
            (
                400,
                r#"{"error":{"message":"Invalid parameter: 'response_format' of type 'json_object' is not supported with this model.","param":"response_format","code":null}}"#,
                Parameter::ResponseFormat,
            ),
            (
                403,
                r#"{"error":{"message":"You are not allowed to request logprobs from this model","type":"invalid_request_error","param":null,"code":null}}"#,
                Parameter::Logprobs,
            ),
            // FastAPI's validation, in front of servers that know no such field
            (
                422,
                r#"{"detail":[{"type":"extra_forbidden","loc":["body","seed"],"msg":"Extra inputs are not permitted","input":1}]}"#,
                Parameter::Seed,
            ),
            // vLLM, llama.cpp, TGI
            (
                400,
                r#"{"object":"error","message":"top_p is not supported by this tokenizer mode","type":"BadRequestError","code":400}"#,
                Parameter::TopP,
            ),
            (
                400,
                r#"{"error":{"code":400,"message":"logprobs is not supported with tools + stream","type":"invalid_request_error"}}"#,
                Parameter::Logprobs,
            ),
            (
                422,
                r#"{"error":"Input validation error: `temperature` must be strictly positive","error_type":"validation"}"#,
                Parameter::Temperature,
            ),
            (
                400,
                r#"{"type":"error","error":{"type":"invalid_request_error","message":"`temperature` may only be set to 1 when thinking is enabled."}}"#,
                Parameter::Temperature,
            ),
        ] {
            assert_eq!(refused(status, body), Some(parameter), "{body}");
        }
        for (status, body) in [
            (
                400,
                r#"{"error":{"message":"max_tokens is too large: 16000. This model supports at most 4096 completion tokens","param":"max_tokens"}}"#,
            ),
            (
                400,
                r#"{"error":{"message":"temperature must be between 0 and 2","param":"temperature"}}"#,
            ),
            (
                400,
                r#"{"error":{"message":"'messages[0].role' does not support 'system' where temperature is set","param":"messages[0].role","code":"unsupported_value"}}"#,
            ),
            (
                400,
                r#"{"error":{"message":"the prompt on temperature is not supported","code":"context_length_exceeded"}}"#,
            ),
            (400, r#"{"error":{"message":"images are not supported"}}"#),
            (
                500,
                r#"{"error":{"message":"temperature is not supported"}}"#,
            ),
        ] {
            assert_eq!(refused(status, body), None, "{body}");
        }
        let sent = [Parameter::Temperature];
        let error = ServerError::of_body(
            400,
            None,
            br#"{"error":{"message":"seed is not supported"}}"#,
            &endpoint(),
        );
        assert_eq!(
            error.refused_parameter(&sent, endpoint().protocol),
            None,
            "what was not sent cannot be left out"
        );
    }

    #[test]
    fn a_refused_effort_is_told_from_a_refused_form_of_it_and_from_other_parameters() {
        let refused = |kind: JudgeKind, error: Value| {
            let endpoint = Endpoint::of("http://localhost:8000", kind.protocol()).unwrap();
            let forms = kind.protocol().parameters().iter();
            let sent: Vec<Parameter> = forms.map(|form| form.parameter).collect();
            let body = json!({"error": error}).to_string();
            let error = ServerError::of_body(400, None, body.as_bytes(), &endpoint);
            error.refused_parameter(&sent, endpoint.protocol)
        };
        let message = |text: &str| json!({"message": text});
        let level = "Thinking level is not supported for this model.";
        let budget =
            "output_config.format.schema: Invalid schema: The compiled grammar is too large, which";
        let disabled = "\"thinking.type.disabled\" is not supported for this model. Use \"thinking.type.adaptive\" and \"output_config.effort\" to control thinking behavior.";
        for (kind, text, parameter) in [
            (JudgeKind::Gemini, level, Parameter::ThinkingLevel),
            (
                JudgeKind::Gemini,
                "Thinking level MEDIUM is not supported for this model. Please retry with other thinking level.",
                Parameter::Effort,
            ),
            (JudgeKind::Anthropic, disabled, Parameter::Effort),
            (
                JudgeKind::Anthropic,
                "This model does not support effort level 'xhigh'. Supported levels: high, low, max, medium.",
                Parameter::Effort,
            ),
            (
                JudgeKind::Anthropic,
                "`temperature` is deprecated for this model.",
                Parameter::Temperature,
            ),
            (
                JudgeKind::Anthropic,
                "`temperature` may only be set to 1 when thinking is enabled.",
                Parameter::Temperature,
            ),
            (
                JudgeKind::Anthropic,
                "The compiled grammar is too large, which would cause performance issues.",
                Parameter::Schema,
            ),
            (JudgeKind::Anthropic, budget, Parameter::Schema),
            (
                JudgeKind::Anthropic,
                "output_config: Extra inputs are not permitted",
                Parameter::Schema,
            ),
            (
                JudgeKind::Chat,
                "Reasoning is mandatory for this endpoint and cannot be disabled.",
                Parameter::Effort,
            ),
            (
                JudgeKind::Chat,
                "Unsupported value: 'reasoning_effort' does not support 'none' with this model. Supported values are: 'minimal', 'low', 'medium', and 'high'.",
                Parameter::Effort,
            ),
            (
                JudgeKind::Chat,
                "temperature is not supported where reasoning_effort is set",
                Parameter::Temperature,
            ),
        ] {
            assert_eq!(refused(kind, message(text)), Some(parameter), "{text}");
        }
        let value = json!({"message": "Invalid value: 'max'.", "param": "reasoning_effort", "code": "invalid_value"});
        assert_eq!(refused(JudgeKind::Chat, value), Some(Parameter::Effort));
        let budget = refused(
            JudgeKind::Gemini,
            message("The thinking budget (0) is invalid."),
        );
        assert!(budget.is_some_and(Parameter::is_effort));
        for other in [
            "Request contains an invalid argument.",
            "The answer is invalid.",
        ] {
            assert_eq!(refused(JudgeKind::Gemini, message(other)), None, "{other}");
        }
        let value = json!({"message": "Invalid value: 3.", "param": "temperature", "code": "invalid_value"});
        assert_eq!(
            refused(JudgeKind::Chat, value),
            None,
            "another value may work"
        );
    }

    #[test]
    fn a_missing_route_is_named() {
        let endpoint = Endpoint::of("localhost:8000", JudgeKind::Label.protocol()).unwrap();
        let error = ServerError::of_body(404, None, br#"{"detail":"Not Found"}"#, &endpoint);
        let error = error.classify(&endpoint);
        assert!(stops_with(&error, "has no /completions"), "{error:?}");
    }

    #[test]
    fn passing_failures_keep_their_retry_after() {
        for status in [408, 409, 425, 429, 500, 502, 503, 504, 529] {
            let wait = Some(Duration::from_secs(1));
            let error = classify(status, "busy");
            assert!(
                matches!(&error, AskError::Transient { status: Some(s), retry_after, .. } if *s == status && *retry_after == wait),
                "{status}: {error:?}"
            );
        }
    }

    #[test]
    fn a_full_context_is_a_refusal_of_its_own_kind() {
        for body in [
            r#"{"error":{"type":"exceed_context_size_error","code":400,"message":"request (5000 tokens) exceeds"}}"#,
            r#"{"error":{"code":"context_length_exceeded","message":"x"}}"#,
            r#"{"object":"error","message":"This model's maximum context length is 4096 tokens."}"#,
        ] {
            assert_eq!(
                refused(&classify(400, body)),
                Some(UnscoredKind::ContextOverflow),
                "{body}"
            );
        }
        assert_eq!(refused(&classify(400, "bad")), Some(UnscoredKind::Refused));
        assert_eq!(refused(&classify(422, "bad")), Some(UnscoredKind::Refused));
        assert_eq!(
            refused(&classify(403, "input was flagged")),
            Some(UnscoredKind::Moderated)
        );
        assert_eq!(
            refused(&classify(429, "Request too large for m on tokens per min")),
            Some(UnscoredKind::Refused)
        );
    }

    #[test]
    fn a_refusal_of_the_text_is_recognized_in_the_form_of_each_service() {
        for body in [
            // OpenAI
            r#"{"error":{"message":"Invalid prompt: we've limited access to this content for safety reasons.","type":"invalid_request_error","param":null,"code":"invalid_prompt"}}"#,
            // Azure
            r#"{"error":{"message":"The response was filtered","code":"content_filter","status":400}}"#,
            r#"{"error":{"message":"The prompt triggered a policy","code":"400","innererror":{"code":"ResponsibleAIPolicyViolation","content_filter_result":{}}}}"#,
            // Anthropic
            r#"{"type":"error","error":{"type":"invalid_request_error","message":"Output blocked by content filtering policy"}}"#,
        ] {
            let error = classify(400, body);
            assert_eq!(refused(&error), Some(UnscoredKind::Moderated), "{body}");
            assert_eq!(complaint(&error), None, "the judge is not to blame: {body}");
        }
        let error = json!({"code": "invalid_prompt", "message": "no"});
        assert_eq!(
            ServerError::under_200(&error, None, &endpoint()).status,
            400
        );
    }

    #[test]
    fn an_error_under_200_stands_for_its_code() {
        let status = |error: Value| ServerError::under_200(&error, None, &endpoint()).status;
        assert_eq!(status(json!({"code": 502})), 502);
        assert_eq!(status(json!({"code": "429"})), 429);
        assert_eq!(status(json!({"code": "invalid_api_key"})), 401);
        assert_eq!(status(json!({"type": "insufficient_quota"})), 429);
        assert_eq!(status(json!({"code": "context_length_exceeded"})), 400);
        assert_eq!(status(json!("gone")), 500);
        assert_eq!(status(json!({"code": 7})), 500);
    }

    #[test]
    fn complaints_about_one_answer_are_none_about_the_request() {
        assert_eq!(complaint(&classify(422, "no")), Some("status 422: no"));
        for error in [
            classify(
                400,
                r#"{"error":{"code":"content_filter","message":"The response was filtered"}}"#,
            ),
            classify(400, r#"{"error":{"code":"context_length_exceeded"}}"#),
            classify(413, "too large"),
            classify(500, "oops"),
        ] {
            assert_eq!(complaint(&error), None, "{error:?}");
        }
    }

    #[test]
    fn a_refusal_that_names_nothing_may_be_about_the_effort() {
        let body = r#"{"error":{"message":"Request contains an invalid argument.","status":"INVALID_ARGUMENT"}}"#;
        let message = read(body).noting_effort().message();
        assert!(message.ends_with("(the call asks for --reasoning-effort)"));
        assert!(helping_option(&message).starts_with("--reasoning-effort"));
        let named = read(r#"{"error":{"message":"Invalid value at 'seed'"}}"#);
        assert_eq!(named.clone().noting_effort(), named);
    }

    #[test]
    fn each_complaint_has_its_option() {
        assert_eq!(helping_option("temperature must be 1"), "--no-temperature");
        assert_eq!(
            helping_option("response_format is unknown"),
            "--structured off"
        );
        let words = "requested sample logprobs of 8, which is greater than max allowed: 5";
        assert!(helping_option(words).starts_with("--logprobs"));
        assert!(helping_option("?").starts_with("--extra-body"));
    }

    fn read(body: &str) -> ServerError {
        ServerError::of_body(400, None, body.as_bytes(), &endpoint())
    }

    #[test]
    fn each_shape_of_error_body_gives_its_words() {
        for body in [
            r#"{"error":{"message":"too long","code":"400","type":"bad"}}"#,
            r#"{"error":{"message":"too long","code":400,"type":"bad"}}"#,
            r#"{"object":"error","message":"too long","code":400,"type":"bad"}"#,
        ] {
            let ServerError {
                message,
                code,
                kind,
                ..
            } = read(body);
            assert_eq!(
                [message.as_str(), &code, &kind],
                ["too long", "400", "bad"],
                "{body}"
            );
        }
        assert_eq!(read(r#"{"error":"no luck"}"#).message, "no luck");
        assert_eq!(read(r#"{"detail":"Not Found"}"#).message, "Not Found");
        assert_eq!(
            read(r#"{"detail":[{"msg":"x"}]}"#).message,
            r#"[{"msg":"x"}]"#
        );
        assert_eq!(
            read("<html>\n<h1>Bad\tGateway</h1>").message,
            "<html> <h1>Bad Gateway</h1>"
        );
        assert_eq!(read("").message, "");
    }

    #[test]
    fn hostile_words_are_cleaned_and_cut() {
        assert_eq!(read("a\u{1b}[31mred\u{7}\u{202e}b").message, "a [31mred b");
        let long = read(&"x".repeat(1000)).message;
        assert_eq!(long.chars().count(), 302, "300 and two dots");
    }
}
