//! Address, key, headers and time-outs of a judge's server.
//!
//! An address is normalized once; all that is shown of it later goes through its masks.

use std::fmt;
use std::net::IpAddr;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use memchr::memmem;
use percent_encoding::percent_decode_str;
use reqwest::Url;
use secrecy::{ExposeSecret, SecretString};
use serde_json::{Map, Value};

use super::kind::JudgeKind;
use super::protocol::{CHAT, OPENAI, Protocol, ServiceAddress};
use scholareval_core::error::{Error, Result};

/// The address of OpenAI.
pub const OPENAI_BASE_URL: &str = OPENAI.base_url;
/// The environment variable of the key for servers that speak OpenAI's protocols.
pub const DEFAULT_API_KEY_ENV: &str = OPENAI.key_variable;

/// The header of logins, and of keys in most protocols.
const AUTHORIZATION: &str = "authorization";
/// Replaces secrets in all output.
const MASK: &str = "***";
/// Escapes of JSON that can stand for a character of a secret.
const ESCAPES: [&str; 2] = ["\\u", "\\/"];
/// Shorter values are not masked in foreign text: masking `1` everywhere would hide more than it protects.
const SHORTEST_SECRET: usize = 4;
/// Parts of names whose values are secrets.
const SECRET_PARTS: [&str; 11] = [
    "key",
    "token",
    "secret",
    "password",
    "passwd",
    "pwd",
    "auth",
    "cookie",
    "credential",
    "signature",
    "bearer",
];
/// Names whose values are secrets although no part indicates it (`sig` signs Azure's links, `code` opens its
/// functions).
const SECRET_NAMES: [&str; 4] = ["sig", "code", "pat", "pass"];

/// Time-outs and size limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeouts {
    /// Until the connection is established.
    pub connect: Duration,
    /// From sending a request to the last byte of its reply.
    pub total: Duration,
    /// Connections may fail, or no completions come, for this long before the run stops, if none ever succeeded.
    pub no_server: Duration,
    /// Connections may fail for this long in a row before the run stops.
    pub server_gone: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            // Ten minutes, the default of OpenAI's clients: a long list on a slow local model
            // takes minutes.
            total: Duration::from_secs(600),
            // A server that never answered most likely has a mistyped address: report it soon.
            no_server: Duration::from_secs(5),
            // A server that was there is probably restarting.
            server_gone: Duration::from_secs(60),
        }
    }
}

/// The server of a judge. Its `Debug` form shows no secret.
#[derive(Clone)]
pub struct Endpoint {
    /// Scheme, host and path up to `/v1`, without user and password, a slash at the end and a query.
    pub base_url: String,
    /// `user:password` of the URL, sent as a Basic login.
    pub login: Option<SecretString>,
    /// The key, sent in the header of the protocol.
    pub api_key: Option<SecretString>,
    /// The route of calls, where the address has another one than the protocol.
    pub route: Option<String>,
    /// How the server is asked.
    pub protocol: &'static dyn Protocol,
    /// The environment variable of the key: named in messages, never read here.
    pub api_key_env: String,
    /// Further headers of every request.
    pub headers: Vec<(String, String)>,
    /// Further headers whose values are secrets, whatever their names.
    pub secret_headers: Vec<(String, SecretString)>,
    /// Further query parameters of every request.
    pub query: Vec<(String, String)>,
    /// Time-outs.
    pub timeouts: Timeouts,
    /// Larger replies are rejected; the limit of a reply's tokens may lower it to 1 MiB.
    pub max_reply_bytes: usize,
    /// Whether to stream replies. They are assembled and parsed as usual, but the server notices at once when the
    /// client disconnects (a time-out, a stopped run), and stops generating.
    pub stream: bool,
}

impl Endpoint {
    /// An endpoint at the address `text`, asked by chat, without key, headers, login or query beyond those in the URL, which is normalized:
    ///
    /// - A missing scheme becomes `http` for what can hardly be a public service: an IP address, `localhost`, a name
    ///   without a dot (`gpu07:8000`), a name ending in `.local`, or any name with a port other than 443. Otherwise
    ///   it becomes `https`.
    /// - Slashes at the end and a pasted route of a call (`/chat/completions`, ..) or `/models` are taken off.
    /// - A URL without a path gets that of the protocol, mostly `/v1`; any other path is kept (`/openai/deployments/x`).
    ///
    /// # Errors
    /// [`Error::Settings`] for an empty text, a scheme other than `http` or `https`, or an invalid URL.
    pub fn new(text: &str) -> Result<Self> {
        Self::of(text, &CHAT)
    }

    /// The same, asked in this protocol.
    pub fn of(text: &str, protocol: &'static dyn Protocol) -> Result<Self> {
        let text = text.trim();
        if text.is_empty() {
            return Err(Error::Settings(
                "the base URL is empty; write for example http://localhost:8000/v1".into(),
            ));
        }
        let with_scheme = match text.split_once("://") {
            Some(_) => text.to_owned(),
            None => format!("{}://{text}", guess_scheme(text)),
        };
        let refuse = |why: &str| {
            let shown = mask_url(&with_scheme);
            Error::Settings(format!(
                "base URL {shown:?} {why}; write for example http://localhost:8000/v1"
            ))
        };
        let mut url = Url::parse(&with_scheme)
            .map_err(|error| refuse(&format!("cannot be read ({error})")))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(refuse("is neither http nor https"));
        }
        let query = url
            .query_pairs()
            .map(|(key, value)| (key.into_owned(), value.into_owned()))
            .collect();
        let login = login_of(&url);
        let _ = url.set_password(None);
        let _ = url.set_username("");
        url.set_query(None);
        url.set_fragment(None);
        let whole = url.path().trim_end_matches('/').to_owned();
        let other = protocol.other_route(&whole);
        let (path, route) = match other.filter(|(_, route)| *route != protocol.path()) {
            Some((base, route)) => (base.to_owned(), Some(route.to_owned())),
            None => (mended_path(&whole, protocol), None),
        };
        url.set_path(&path);
        let base_url = url.to_string().trim_end_matches('/').to_owned();
        Ok(Self {
            base_url,
            login,
            query,
            route,
            protocol,
            ..Self::unknown()
        })
    }

    /// The same, asked in the protocol of this kind of judge.
    #[must_use]
    pub fn through(self, kind: JudgeKind) -> Self {
        Self {
            protocol: kind.protocol_at(&self.base_url),
            ..self
        }
    }

    /// An endpoint without address and secrets, for cleaning text from a file.
    pub fn unknown() -> Self {
        Self {
            base_url: String::new(),
            route: None,
            login: None,
            api_key: None,
            protocol: &CHAT,
            api_key_env: DEFAULT_API_KEY_ENV.to_owned(),
            headers: Vec::new(),
            secret_headers: Vec::new(),
            query: Vec::new(),
            timeouts: Timeouts::default(),
            max_reply_bytes: 16 << 20,
            stream: false,
        }
    }

    /// The base URL with its query, passwords and key-like query values masked, for messages and manifests.
    pub fn masked_url(&self) -> String {
        let Ok(mut url) = Url::parse(&self.base_url) else {
            return "(unreadable URL)".to_owned();
        };
        if self.login.is_some() {
            let _ = url.set_username(MASK);
        }
        if !self.query.is_empty() {
            url.query_pairs_mut().extend_pairs(&self.query);
        }
        masked(url)
    }

    /// The headers with the login of the URL and with the key, which each protocol writes into another header. Where
    /// both are the `Authorization` header, the login counts.
    pub(crate) fn credentials(&self) -> Vec<(&'static str, String)> {
        let mut headers = Vec::new();
        if let Some(key) = &self.api_key {
            let (name, scheme) = self.protocol.key_header();
            headers.push((name, format!("{scheme}{}", key.expose_secret())));
        }
        if let Some(login) = &self.login {
            let login = STANDARD.encode(login.expose_secret());
            headers.retain(|(name, _)| *name != AUTHORIZATION);
            headers.push((AUTHORIZATION, format!("Basic {login}")));
        }
        headers
    }

    /// Masks every secret of this endpoint in `text`, and whatever looks like a key, since server messages may
    /// quote the key.
    pub fn scrub(&self, text: &str) -> String {
        let mut clean = text.to_owned();
        mask(&mut clean, &self.secrets());
        mask_keys(&clean)
    }

    /// Masks every secret of this endpoint in all strings of a reply.
    pub(crate) fn mask_reply(&self, reply: &mut Value) {
        mask_strings(reply, &self.secrets());
    }

    /// Masks every secret of this endpoint in a text that was put together from a reply.
    pub(crate) fn mask_text(&self, text: &mut String) {
        mask(text, &self.secrets());
    }

    /// Masks every secret of this endpoint in a body of any form.
    pub(crate) fn mask_body(&self, body: Bytes) -> Bytes {
        let secrets = self.secrets();
        let mut signs = secrets.iter().map(String::as_str).chain(ESCAPES);
        if !signs.any(|sign| memmem::find(&body, sign.as_bytes()).is_some()) {
            return body;
        }
        let text = String::from_utf8_lossy(&body);
        let mut clean = text.to_string();
        mask(&mut clean, &secrets);
        // As it was, with bytes that are not UTF-8, unless there is a secret in it.
        if clean == text { body } else { clean.into() }
    }

    /// Every secret in each form that a server may quote: as sent, without its scheme (`Bearer`, `Basic`), and the
    /// password of a Basic login. The longest come first, since one may be part of another.
    fn secrets(&self) -> Vec<String> {
        let named = self
            .headers
            .iter()
            .chain(&self.query)
            .filter(|(name, _)| is_secret_name(name));
        let hidden = self
            .secret_headers
            .iter()
            .map(|(_, value)| value.expose_secret().to_owned());
        let key = self
            .api_key
            .as_ref()
            .map(|key| key.expose_secret().to_owned());
        let sent = named
            .map(|(_, value)| value.clone())
            .chain(hidden)
            .chain(self.credentials().into_iter().map(|(_, value)| value))
            .chain(key);
        let mut secrets = Vec::new();
        for value in sent {
            let bare = value
                .split_once(' ')
                .map_or(value.as_str(), |(_, bare)| bare)
                .trim();
            let login = STANDARD
                .decode(bare)
                .ok()
                .and_then(|login| String::from_utf8(login).ok());
            if let Some((user, password)) = login.as_deref().and_then(|login| login.split_once(':'))
            {
                // The user name is the key itself where there is no password (https://KEY@host).
                secrets.push(if password.is_empty() { user } else { password }.to_owned());
            }
            secrets.extend([bare.to_owned(), value]);
        }
        secrets.retain(|secret| secret.len() >= SHORTEST_SECRET);
        secrets.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
        secrets
    }

    /// The name of the public service that has this address (OpenAI, ..). Their lists of models do not identify what is
    /// behind a name, and they ask for a key.
    pub fn service(&self) -> Option<&'static str> {
        self.service_address().map(|service| service.name)
    }

    /// The environment variable with the key of the public service that has this address.
    pub fn service_key(&self) -> Option<&'static str> {
        self.service_address().map(|service| service.key_variable)
    }

    fn service_address(&self) -> Option<&'static ServiceAddress> {
        let host = self.host()?;
        let mut services = JudgeKind::protocols().map(|protocol| protocol.address());
        services.find(|service| service.host == host)
    }

    /// The address of a call about `model`.
    pub(crate) fn call_url(&self, model: &str, is_streaming: bool) -> String {
        let base = &self.base_url;
        match &self.route {
            Some(route) => format!("{base}{route}"),
            None => format!("{base}{}", self.protocol.route(model, is_streaming)),
        }
    }

    /// The address of the list of models.
    pub(crate) fn models_url(&self) -> String {
        format!("{}{}", self.base_url, self.protocol.models_route())
    }

    /// The address of the entry of `model` in that list, if such entries state when a model ends.
    pub(crate) fn model_url(&self, model: &str) -> Option<String> {
        let route = self.protocol.model_route(model)?;
        Some(format!("{}{route}", self.base_url))
    }

    /// True if the host is this machine, for which proxies must not be used.
    pub fn is_loopback(&self) -> bool {
        let host = self.host().unwrap_or_default();
        let bare = host.trim_matches(['[', ']']);
        let address = bare.parse::<IpAddr>();
        bare == "localhost"
            || bare.ends_with(".localhost")
            || address.is_ok_and(|address| address.is_loopback() || address.is_unspecified())
    }

    /// True if the address can hardly be that of a public service: plain HTTP, this machine or a private network.
    pub(crate) fn is_private(&self) -> bool {
        !self.base_url.starts_with("https://")
            || self.host().is_none_or(|host| is_private_host(&host))
    }

    /// The address beside `/v1` of this server, for `GET /props` and `GET /health`.
    pub(crate) fn beside_v1(&self, path: &str) -> String {
        let root = self.base_url.strip_suffix("/v1").unwrap_or(&self.base_url);
        format!("{root}{path}")
    }

    /// Scheme, host and port, which identify a server.
    pub fn origin(&self) -> Option<String> {
        Some(
            Url::parse(&self.base_url)
                .ok()?
                .origin()
                .ascii_serialization(),
        )
    }

    /// Host with its port, and the path unless it is `/v1`.
    pub(crate) fn host_and_path(&self) -> Option<(String, String)> {
        let rest = self.base_url.split_once("://")?.1;
        let rest = rest.strip_suffix("/v1").unwrap_or(rest);
        let (host, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        Some((host.to_owned(), path.to_owned()))
    }

    fn host(&self) -> Option<String> {
        Url::parse(&self.base_url)
            .ok()?
            .host_str()
            .map(str::to_owned)
    }
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.headers.iter().map(|(name, _)| name.as_str()).collect();
        f.debug_struct("Endpoint")
            .field("url", &self.masked_url())
            .field("has_key", &self.api_key.is_some())
            .field("headers", &names)
            .field("timeouts", &self.timeouts)
            .finish_non_exhaustive()
    }
}

/// Any URL without its fragment, its user and key-like query values masked. Text that is not a URL is masked entirely
/// if it has an `@` or a `?`, else unchanged.
pub fn mask_url(text: &str) -> String {
    match Url::parse(text) {
        Ok(url) if url.has_host() => masked(url),
        _ if text.contains('@') || text.contains('?') => MASK.to_owned(),
        _ => text.to_owned(),
    }
}

/// A copy in which strings under key-like names are masked, at any depth. Numbers stay: `max_tokens` is not a secret.
pub fn masked_json(value: &Value) -> Value {
    match value {
        Value::Object(map) => {
            let mut shown = Map::new();
            for (name, inner) in map {
                let is_hidden = is_secret_name(name) && inner.is_string();
                let inner = if is_hidden {
                    Value::from(MASK)
                } else {
                    masked_json(inner)
                };
                shown.insert(name.clone(), inner);
            }
            Value::Object(shown)
        }
        Value::Array(items) => items.iter().map(masked_json).collect(),
        other => other.clone(),
    }
}

fn masked(mut url: Url) -> String {
    // The user name is often the key itself (https://KEY@host).
    if url.password().is_some() || !url.username().is_empty() {
        let _ = url.set_password(None);
        let _ = url.set_username(MASK);
    }
    url.set_fragment(None);
    if url.query().is_some() {
        let pairs: Vec<(String, String)> = url
            .query_pairs()
            .map(|(key, value)| {
                let value = if is_secret_name(&key) {
                    MASK.into()
                } else {
                    value.into_owned()
                };
                (key.into_owned(), value)
            })
            .collect();
        url.query_pairs_mut().clear().extend_pairs(&pairs);
    }
    url.to_string()
}

/// True for names of headers, query parameters and fields with secret values.
pub fn is_secret_name(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    SECRET_NAMES.contains(&name.as_str()) || SECRET_PARTS.iter().any(|part| name.contains(part))
}

/// A reply is parsed after it was masked: where a secret is in it with escapes of JSON, these are written out first.
fn mask(text: &mut String, secrets: &[String]) {
    if ESCAPES.iter().any(|escape| text.contains(escape)) {
        let plain = written_out(text);
        if secrets.iter().any(|secret| plain.contains(secret)) {
            *text = plain;
        }
    }
    for secret in secrets {
        if text.contains(secret) {
            *text = text.replace(secret, MASK);
        }
    }
}

/// JSON, or JSON in a string of JSON, with characters in place of their escapes, as far as a string can hold them unescaped.
fn written_out(text: &str) -> String {
    let mut parts = text.split("\\u");
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let digits = part.get(..4).unwrap_or_default();
        let number = u32::from_str_radix(digits, 16).ok();
        let character = number.and_then(char::from_u32);
        match character.filter(|c| !c.is_control() && !matches!(c, '"' | '\\')) {
            Some(c) => {
                plain.truncate(plain.trim_end_matches('\\').len());
                plain.push(c);
                plain += &part[4..];
            }
            None => plain = plain + "\\u" + part,
        }
    }
    plain.replace("\\/", "/")
}

fn mask_strings(value: &mut Value, secrets: &[String]) {
    match value {
        Value::String(text) => mask(text, secrets),
        Value::Array(items) => items
            .iter_mut()
            .for_each(|item| mask_strings(item, secrets)),
        Value::Object(members) => members
            .values_mut()
            .for_each(|member| mask_strings(member, secrets)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Servers quote keys, sometimes partly masked: mask everything that looks like one of a known service.
fn mask_keys(text: &str) -> String {
    let mut clean = text.to_owned();
    for protocol in JudgeKind::protocols() {
        let beginning = protocol.address().key_beginning;
        if clean.contains(beginning) {
            clean = mask_keys_with(&clean, beginning);
        }
    }
    clean
}

/// The same for keys that begin so.
fn mask_keys_with(text: &str, beginning: &str) -> String {
    let mut clean = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find(beginning) {
        let (before, from_key) = rest.split_at(start);
        // Words such as `task-list` hold the beginning of a key as well.
        let is_word_start = !before.ends_with(|c: char| c.is_alphanumeric());
        let end = from_key
            .find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '*')))
            .unwrap_or(from_key.len());
        let (word, tail) = from_key.split_at(end);
        clean.push_str(before);
        let is_key = is_word_start && word.len() > beginning.len() + 2;
        clean.push_str(if is_key { MASK } else { word });
        rest = tail;
    }
    clean.push_str(rest);
    clean
}

/// `user:password` of a URL, percent signs decoded.
fn login_of(url: &Url) -> Option<SecretString> {
    let password = url.password();
    if password.is_none() && url.username().is_empty() {
        return None;
    }
    let user = percent_decode_str(url.username()).decode_utf8_lossy();
    let password = percent_decode_str(password.unwrap_or_default()).decode_utf8_lossy();
    Some(format!("{user}:{password}").into())
}

/// A path without a pasted route, or that of the protocol if there is none.
fn mended_path(path: &str, protocol: &dyn Protocol) -> String {
    let mut path = path.trim_end_matches('/');
    for other in JudgeKind::protocols() {
        path = other.without_route(path).trim_end_matches('/');
    }
    path = path
        .strip_suffix("/models")
        .unwrap_or(path)
        .trim_end_matches('/');
    if path.is_empty() {
        protocol.address().default_path.to_owned()
    } else {
        path.to_owned()
    }
}

/// True for an IP address, a name without a dot and one ending in `.local`.
fn is_private_host(host: &str) -> bool {
    host.trim_matches(['[', ']']).parse::<IpAddr>().is_ok()
        || !host.contains('.')
        || host.ends_with(".local")
}

fn guess_scheme(bare: &str) -> &'static str {
    let Ok(url) = Url::parse(&format!("https://{bare}")) else {
        return "https";
    };
    let is_private = is_private_host(url.host_str().unwrap_or_default());
    // Only port 443 is omitted, the default of https.
    let has_443 = bare
        .split(['/', '?', '#'])
        .next()
        .is_some_and(|authority| authority.ends_with(":443"));
    if url.port().is_some() || (is_private && !has_443) {
        "http"
    } else {
        "https"
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_base_url_is_normalized() {
        for (typed, normalized) in [
            ("api.openai.com", "https://api.openai.com/v1"),
            ("https://api.openai.com", "https://api.openai.com/v1"),
            ("https://api.openai.com/v1/", "https://api.openai.com/v1"),
            (
                "https://host.org/v1/chat/completions",
                "https://host.org/v1",
            ),
            (
                "https://host.org/v1/chat/completions//",
                "https://host.org/v1",
            ),
            (
                "https://host.org/openai/deployments/x",
                "https://host.org/openai/deployments/x",
            ),
            ("localhost:8000", "http://localhost:8000/v1"),
            ("localhost", "http://localhost/v1"),
            ("127.0.0.1:8080/v1", "http://127.0.0.1:8080/v1"),
            ("[::1]:8080", "http://[::1]:8080/v1"),
            ("[::1]", "http://[::1]/v1"),
            ("gpu07:8000", "http://gpu07:8000/v1"),
            ("judge.example.org:9000", "http://judge.example.org:9000/v1"),
            ("judge.example.org:443", "https://judge.example.org/v1"),
            ("  example.org/v1  ", "https://example.org/v1"),
        ] {
            assert_eq!(
                Endpoint::new(typed).unwrap().base_url,
                normalized,
                "{typed}"
            );
        }
    }

    #[test]
    fn an_invalid_base_url_gives_an_error_with_an_example() {
        for typed in ["", "ftp://host/v1", "http://", "https://[bad"] {
            let message = Endpoint::new(typed).unwrap_err().to_string();
            assert!(
                message.contains("http://localhost:8000/v1"),
                "{typed}: {message}"
            );
        }
    }

    #[test]
    fn the_query_of_a_pasted_url_is_kept_for_every_request() {
        let endpoint = Endpoint::new("https://host.org/v1?api-version=7").unwrap();
        assert_eq!(endpoint.base_url, "https://host.org/v1");
        assert_eq!(endpoint.query, [("api-version".to_owned(), "7".to_owned())]);
    }

    #[test]
    fn no_secret_of_a_url_is_shown() {
        let mut endpoint =
            Endpoint::new("https://me:hunter22@host.org/v1?api_key=abcdef123&version=2").unwrap();
        endpoint.api_key = Some(SecretString::from("topsecretkey"));
        endpoint
            .headers
            .push(("X-Api-Key".into(), "headersecret".into()));
        let shown = format!("{} {endpoint:?}", endpoint.masked_url());
        assert!(
            shown.contains("version=2") && shown.contains("https://***@"),
            "{shown}"
        );
        for secret in ["hunter22", "abcdef123", "topsecretkey", "headersecret"] {
            assert!(!shown.contains(secret), "{secret} in {shown}");
            assert_eq!(endpoint.scrub(&format!("bad: {secret}!")), "bad: ***!");
        }
        assert_eq!(
            mask_url("https://sk-abc@host.org/"),
            "https://***@host.org/"
        );
    }

    #[test]
    fn a_login_in_the_url_is_sent_and_masked_in_each_form() {
        let endpoint = Endpoint::new("https://me:p%40ss+w%26rd%3D@host.org/v1").unwrap();
        assert_eq!(endpoint.base_url, "https://host.org/v1");
        // me:p@ss+w&rd=
        assert_eq!(
            endpoint.credentials(),
            [(AUTHORIZATION, "Basic bWU6cEBzcyt3JnJkPQ==".to_owned())]
        );
        assert_eq!(
            endpoint.scrub("got Basic bWU6cEBzcyt3JnJkPQ== of me, p@ss+w&rd="),
            "got *** of me, ***"
        );
        let key_alone = Endpoint::new("https://secretkey@host.org").unwrap();
        // secretkey:
        assert_eq!(
            key_alone.credentials(),
            [(AUTHORIZATION, "Basic c2VjcmV0a2V5Og==".to_owned())]
        );
        assert_eq!(key_alone.scrub("no secretkey"), "no ***");
    }

    #[test]
    fn secrets_are_masked_in_every_string_of_a_reply() {
        let mut endpoint = Endpoint::new("https://host.org").unwrap();
        endpoint.api_key = Some("topsecretkey".into());
        endpoint
            .headers
            .push(("Authorization".into(), "Basic bWU6aHVudGVyMg==".into()));
        endpoint
            .secret_headers
            .push(("X-Team".into(), "teamsecret".into()));
        let mut reply =
            json!({"a": [{"b": "topsecretkey, hunter2, bWU6aHVudGVyMg==, teamsecret"}], "n": 1});
        endpoint.mask_reply(&mut reply);
        assert_eq!(reply, json!({"a": [{"b": "***, ***, ***, ***"}], "n": 1}));
        assert_eq!(
            endpoint.mask_body(Bytes::from_static(b"\xff topsecretkey")),
            "\u{fffd} ***"
        );
        assert_eq!(
            endpoint.mask_body(Bytes::from_static(b"\xff")),
            &b"\xff"[..]
        );
    }

    #[test]
    fn keys_quoted_by_the_server_are_masked_and_words_like_task_are_not() {
        let endpoint = Endpoint::new("https://host.org").unwrap();
        assert_eq!(
            endpoint.scrub("Incorrect API key: sk-ab****wxyz."),
            "Incorrect API key: ***."
        );
        assert_eq!(
            endpoint.scrub("Consumer 'api_key:AIzaSyA-1_b' is blocked"),
            "Consumer 'api_key:***' is blocked"
        );
        assert_eq!(
            endpoint.scrub("this task-specific risk-free sk-"),
            "this task-specific risk-free sk-"
        );
    }

    #[test]
    fn possible_keys_are_masked_in_addresses() {
        let mut endpoint = Endpoint::new("http://h:1/v1").unwrap();
        for name in ["code", "sig", "pwd", "api-key"] {
            endpoint.query = vec![
                (name.to_owned(), "hunter2".to_owned()),
                ("api-version".to_owned(), "1".to_owned()),
            ];
            assert_eq!(
                endpoint.masked_url(),
                format!("http://h:1/v1?{name}=***&api-version=1")
            );
            assert_eq!(endpoint.scrub("no hunter2 here"), "no *** here");
        }
    }

    #[test]
    fn routes_beside_v1_are_found() {
        let endpoint = Endpoint::new("http://localhost:80/x/v1").unwrap();
        assert_eq!(endpoint.beside_v1("/props"), "http://localhost/x/props");
        assert!(endpoint.is_loopback() && endpoint.service().is_none());
        assert_eq!(
            Endpoint::new(OPENAI_BASE_URL).unwrap().service(),
            Some("OpenAI")
        );
    }

    #[test]
    fn a_password_in_a_url_is_masked() {
        assert_eq!(
            mask_url("https://me:hunter2@host:8000/v1"),
            "https://***@host:8000/v1"
        );
        for broken in ["me:hunter2@host/v1", "https://me:hun/te?r2@host/v1"] {
            assert_eq!(mask_url(broken), "***");
        }
    }

    #[test]
    fn key_like_query_values_are_masked_and_others_stay() {
        assert_eq!(
            mask_url("https://h/v1?api-version=2024-06&api-key=abc&sig=xyz#access_token=q"),
            "https://h/v1?api-version=2024-06&api-key=***&sig=***"
        );
        assert_eq!(
            mask_url("http://localhost:8000/v1"),
            "http://localhost:8000/v1"
        );
    }

    #[test]
    fn headers_that_carry_keys_are_known_by_name() {
        for name in [
            "Authorization",
            "api-key",
            "X-API-KEY",
            "Cookie",
            "Proxy-Authorization",
            "x-auth-token",
        ] {
            assert!(is_secret_name(name), "{name}");
        }
        for name in ["x-team", "OpenAI-Organization", "api-version", "accept"] {
            assert!(!is_secret_name(name), "{name}");
        }
    }

    #[test]
    fn secrets_within_json_are_masked_at_any_depth_and_numbers_stay() {
        let shown = masked_json(&json!({"max_tokens": 5, "a": [{"api_key": "abc", "top_k": 3}]}));
        assert_eq!(
            shown,
            json!({"max_tokens": 5, "a": [{"api_key": "***", "top_k": 3}]})
        );
    }

    #[test]
    fn a_key_with_escapes_is_masked_in_what_is_parsed_later() {
        let mut endpoint = Endpoint::new("https://host").unwrap();
        endpoint.api_key = Some(SecretString::from("key-ab/cd+ef=="));
        for escaped in [
            r#"{"feedback": "\u006bey-ab/cd+ef== and \u00e9"}"#,
            r#"{"feedback": "key\u002Dab\/cd+ef\u003d="}"#,
            r#"{"content": "{\"feedback\": \"k\\u0065y-ab/cd\\u002bef==\"}"}"#,
        ] {
            let mut reply = json!(escaped);
            endpoint.mask_reply(&mut reply);
            let text = reply.as_str().unwrap();
            assert!(text.contains(MASK) && !text.contains("cd"), "{text}");
            assert!(serde_json::from_str::<Value>(text).is_ok(), "{text}");
            let body = endpoint.mask_body(escaped.as_bytes().to_vec().into());
            assert_eq!(&body[..], text.as_bytes());
        }
        // Without a key nothing changes: not the escapes, and not the bytes.
        let other = b"\xff {\"a\": \"\\u00e9\\u0022 \\/ \\u12\"}".to_vec();
        assert_eq!(endpoint.mask_body(other.clone().into())[..], other[..]);
        assert_eq!(written_out(r#"\u0022 \u12 \u0041"#), r#"\u0022 \u12 A"#);
    }
}
