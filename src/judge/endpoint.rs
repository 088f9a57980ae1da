//! Address, key, headers and time-outs of a judge's server.

use std::fmt;
use std::net::IpAddr;
use std::time::Duration;

use reqwest::Url;
use secrecy::{ExposeSecret, SecretString};

use crate::error::{Error, Result};

/// OpenAI's own address.
pub const OPENAI_BASE_URL: &str = "https://api.openai.com/v1";
/// The default environment variable for the key.
pub const DEFAULT_API_KEY_ENV: &str = "OPENAI_API_KEY";

/// Replaces secrets in all output.
const MASK: &str = "***";
/// Shorter values are not masked in foreign text: masking `1` everywhere would hide more than it protects.
const SHORTEST_SECRET: usize = 6;
/// Parts of names whose values are secrets.
const SECRET_PARTS: [&str; 11] =
    ["key", "token", "secret", "password", "passwd", "pwd", "auth", "cookie", "credential", "signature", "bearer"];
/// Names whose values are secrets although no part indicates it (`sig` signs Azure's links, `code` opens its
/// functions).
const SECRET_NAMES: [&str; 4] = ["sig", "code", "pat", "pass"];

/// Time-outs and size limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeouts {
    /// Until the connection is established.
    pub connect: Duration,
    /// From sending a request to the first byte of the response, connecting included; `None` for no separate limit.
    /// Servers that do not stream send nothing before the whole reply is ready, so it is useful only with
    /// [`Endpoint::stream`].
    pub first_byte: Option<Duration>,
    /// From sending a request to the last byte of its reply.
    pub total: Duration,
    /// Connections may fail for this long before the run stops, if none ever succeeded.
    pub no_server: Duration,
    /// Connections may fail for this long in a row before the run stops.
    pub server_gone: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            first_byte: None,
            total: Duration::from_secs(600),
            no_server: Duration::from_secs(5),
            server_gone: Duration::from_secs(60),
        }
    }
}

/// The server of a judge. Its `Debug` form shows no secret.
#[derive(Clone)]
pub struct Endpoint {
    /// Scheme, host and path up to `/v1`, without a slash at the end and without a query.
    pub base_url: String,
    /// The key, sent as a bearer token; `None` sends no `Authorization` header.
    pub api_key: Option<SecretString>,
    /// The environment variable of the key: named in messages, never read here.
    pub api_key_env: String,
    /// Further headers of every request.
    pub headers: Vec<(String, String)>,
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
    /// An endpoint at `url` without key, headers or query beyond those in the URL. Common mistakes are corrected: a
    /// missing scheme or `/v1`, a pasted route.
    ///
    /// # Errors
    /// [`Error::Settings`] if the URL is invalid.
    pub fn new(url: &str) -> Result<Self> {
        let (base_url, query) = split_base_url(url)?;
        Ok(Self { base_url, query, ..Self::unknown() })
    }

    /// An endpoint without address and secrets, for cleaning text from a file.
    pub(crate) fn unknown() -> Self {
        Self {
            base_url: String::new(),
            api_key: None,
            api_key_env: DEFAULT_API_KEY_ENV.to_owned(),
            headers: Vec::new(),
            query: Vec::new(),
            timeouts: Timeouts::default(),
            max_reply_bytes: 16 << 20,
            stream: false,
        }
    }

    /// The base URL with its query, passwords and key-like query values masked, for messages and manifests.
    pub fn masked_url(&self) -> String {
        match Url::parse(&self.base_url) {
            Ok(mut url) => {
                if !self.query.is_empty() {
                    url.query_pairs_mut().extend_pairs(&self.query);
                }
                masked(url)
            }
            Err(_) => "(unreadable URL)".to_owned(),
        }
    }

    /// Masks every secret of this endpoint in `text`, since server messages may quote the key.
    pub fn scrub(&self, text: &str) -> String {
        let mut clean = text.to_owned();
        let url = Url::parse(&self.base_url).ok();
        let password = url.as_ref().and_then(Url::password);
        let named = self.headers.iter().chain(&self.query).filter(|(name, _)| is_secret_name(name));
        let key = self.api_key.as_ref().map(|key| key.expose_secret());
        for secret in key.into_iter().chain(password).chain(named.map(|(_, value)| value.as_str())) {
            let bare = secret.strip_prefix("Bearer ").unwrap_or(secret).trim();
            if bare.len() >= SHORTEST_SECRET {
                clean = clean.replace(bare, MASK);
            }
        }
        mask_openai_keys(&clean)
    }

    /// True for OpenAI's own service.
    pub fn is_openai(&self) -> bool {
        self.host().is_some_and(|host| host == "api.openai.com")
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

    /// The address beside `/v1` of this server, for `GET /props` and `GET /health`.
    pub(crate) fn beside_v1(&self, path: &str) -> String {
        let root = self.base_url.strip_suffix("/v1").unwrap_or(&self.base_url);
        format!("{root}{path}")
    }

    fn host(&self) -> Option<String> {
        Url::parse(&self.base_url).ok()?.host_str().map(str::to_owned)
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
                let value = if is_secret_name(&key) { MASK.into() } else { value.into_owned() };
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

/// Servers quote keys, sometimes partly masked: mask everything that looks like one.
fn mask_openai_keys(text: &str) -> String {
    let mut clean = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find("sk-") {
        let (before, from_key) = rest.split_at(start);
        let is_word_start = !before.ends_with(|c: char| c.is_alphanumeric());
        let is_key_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '*');
        let end = from_key.find(|c: char| !is_key_part(c)).unwrap_or(from_key.len());
        let (word, tail) = from_key.split_at(end);
        clean.push_str(before);
        clean.push_str(if is_word_start && word.len() >= SHORTEST_SECRET { MASK } else { word });
        rest = tail;
    }
    clean.push_str(rest);
    clean
}

/// Normalizes a base URL as typed; returns it without a trailing slash, and its query.
///
/// - A missing scheme becomes `http` for what can hardly be a public service: an IP address, `localhost`, a name
///   without a dot (`gpu07:8000`), a name ending in `.local`, or any name with a port other than 443. Otherwise
///   it becomes `https`.
/// - Slashes at the end and a pasted `/chat/completions`, `/completions` or `/models` are taken off.
/// - A URL without a path gets `/v1`; any other path is kept (`/openai/deployments/x`).
///
/// # Errors
/// [`Error::Settings`] for an empty text, a scheme other than `http` or `https`, or an invalid URL.
fn split_base_url(text: &str) -> Result<(String, Vec<(String, String)>)> {
    let text = text.trim();
    if text.is_empty() {
        return Err(Error::Settings("the base URL is empty; write for example http://localhost:8000/v1".into()));
    }
    let with_scheme = match text.split_once("://") {
        Some(_) => text.to_owned(),
        None => format!("{}://{text}", guess_scheme(text)),
    };
    let refuse = |why: &str| {
        let shown = mask_url(&with_scheme);
        Error::Settings(format!("base URL {shown:?} {why}; write for example http://localhost:8000/v1"))
    };
    let mut url = Url::parse(&with_scheme).map_err(|error| refuse(&format!("cannot be read ({error})")))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(refuse("is neither http nor https"));
    }
    let query = url.query_pairs().map(|(key, value)| (key.into_owned(), value.into_owned())).collect();
    url.set_query(None);
    url.set_fragment(None);
    let path = mended_path(url.path());
    url.set_path(&path);
    Ok((url.to_string().trim_end_matches('/').to_owned(), query))
}

fn mended_path(path: &str) -> String {
    let mut path = path.trim_end_matches('/');
    for pasted in ["/chat/completions", "/completions", "/models"] {
        path = path.strip_suffix(pasted).unwrap_or(path).trim_end_matches('/');
    }
    if path.is_empty() { "/v1".to_owned() } else { path.to_owned() }
}

fn guess_scheme(bare: &str) -> &'static str {
    let Ok(url) = Url::parse(&format!("https://{bare}")) else { return "https" };
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']).to_owned();
    let is_private = host.parse::<IpAddr>().is_ok() || !host.contains('.') || host.ends_with(".local");
    // Only port 443 is omitted, the default of https.
    let has_443 = bare.split(['/', '?', '#']).next().is_some_and(|authority| authority.ends_with(":443"));
    if url.port().is_some() || (is_private && !has_443) { "http" } else { "https" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_base_url_is_normalized() {
        for (typed, normalized) in [
            ("api.openai.com", "https://api.openai.com/v1"),
            ("https://api.openai.com", "https://api.openai.com/v1"),
            ("https://api.openai.com/v1/", "https://api.openai.com/v1"),
            ("https://host.org/v1/chat/completions", "https://host.org/v1"),
            ("https://host.org/v1/chat/completions//", "https://host.org/v1"),
            ("https://host.org/openai/deployments/x", "https://host.org/openai/deployments/x"),
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
            assert_eq!(Endpoint::new(typed).unwrap().base_url, normalized, "{typed}");
        }
    }

    #[test]
    fn an_invalid_base_url_gives_an_error_with_an_example() {
        for typed in ["", "ftp://host/v1", "http://", "https://[bad"] {
            let message = Endpoint::new(typed).unwrap_err().to_string();
            assert!(message.contains("http://localhost:8000/v1"), "{typed}: {message}");
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
        let mut endpoint = Endpoint::new("https://me:hunter22@host.org/v1?api_key=abcdef123&version=2").unwrap();
        endpoint.api_key = Some(SecretString::from("topsecretkey"));
        endpoint.headers.push(("X-Api-Key".into(), "headersecret".into()));
        let shown = format!("{} {endpoint:?}", endpoint.masked_url());
        assert!(shown.contains("version=2") && shown.contains("https://***@"), "{shown}");
        for secret in ["hunter22", "abcdef123", "topsecretkey", "headersecret"] {
            assert!(!shown.contains(secret), "{secret} in {shown}");
            assert_eq!(endpoint.scrub(&format!("bad: {secret}!")), "bad: ***!");
        }
        assert_eq!(mask_url("https://sk-abc@host.org/"), "https://***@host.org/");
    }

    #[test]
    fn keys_quoted_by_the_server_are_masked_and_words_like_task_are_not() {
        let endpoint = Endpoint::new("https://host.org").unwrap();
        assert_eq!(endpoint.scrub("Incorrect API key: sk-ab****wxyz."), "Incorrect API key: ***.");
        assert_eq!(endpoint.scrub("this task-specific risk-free sk-"), "this task-specific risk-free sk-");
    }

    #[test]
    fn possible_keys_are_masked_in_addresses() {
        let mut endpoint = Endpoint::new("http://h:1/v1").unwrap();
        for name in ["code", "sig", "pwd", "api-key"] {
            endpoint.query = vec![(name.to_owned(), "hunter2".to_owned()), ("api-version".to_owned(), "1".to_owned())];
            assert_eq!(endpoint.masked_url(), format!("http://h:1/v1?{name}=***&api-version=1"));
            assert_eq!(endpoint.scrub("no hunter2 here"), "no *** here");
        }
    }

    #[test]
    fn routes_beside_v1_are_found() {
        let endpoint = Endpoint::new("http://localhost:80/x/v1").unwrap();
        assert_eq!(endpoint.beside_v1("/props"), "http://localhost/x/props");
        assert!(endpoint.is_loopback() && !endpoint.is_openai());
        assert!(Endpoint::new(OPENAI_BASE_URL).unwrap().is_openai());
    }
}
