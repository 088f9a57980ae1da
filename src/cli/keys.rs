//! Which server gets which secret of the environment, and which config files the user trusts.
//!
//! A config file or a batch directory may come from somebody else, so it cannot pair a secret with a server by itself.

use std::collections::BTreeSet;
use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use secrecy::SecretString;

use super::origin::{Environment, Origin};
use crate::error::{Error, Result};
use crate::judge::endpoint::Endpoint;

/// The variable that other OpenAI clients also use. It sets an address, but does not select a judge.
pub(super) const OPENAI_BASE_URL_ENV: &str = "OPENAI_BASE_URL";
/// The variable of `--base-url`.
const BASE_URL_ENV: &str = "SCHOLAREVAL_BASE_URL";

/// What happens to a secret that a server would get.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum KeyUse {
    /// The server gets it.
    Send,
    /// The server is asked without it.
    Withhold,
    /// The command ends with an error.
    Refuse,
}

/// The servers that the user named, by flag, in the environment, or in a config file that is trusted.
pub(super) struct NamedServers {
    origins: BTreeSet<String>,
    trusts_all: bool,
}

impl NamedServers {
    /// The servers of flags and environment; all servers if the config file is trusted.
    pub(super) fn new(by_flag: &[String], environment: &Environment, trusts_all: bool) -> Self {
        let variables = [BASE_URL_ENV, OPENAI_BASE_URL_ENV]
            .into_iter()
            .filter_map(|name| environment.get(name));
        let urls = by_flag
            .iter()
            .map(String::as_str)
            .chain(variables.flat_map(|urls| urls.split(',')));
        let origins = urls.filter_map(|url| Endpoint::new(url).ok()?.origin());
        let origins = origins.collect();
        Self {
            origins,
            trusts_all,
        }
    }

    /// What happens to the secret in `variable`, which `named_by` named, at `server`.
    pub(super) fn key_use(&self, variable: &str, named_by: &Origin, server: &Endpoint) -> KeyUse {
        let is_named = match server.origin() {
            Some(origin) => self.origins.contains(&origin),
            None => false,
        };
        // OPENAI_API_KEY to api.openai.com needs no further word, wherever the address is from.
        let is_own_service = server.service_key() == Some(variable);
        match named_by {
            // It gets the login of its address in place of a key that was not named for it.
            Origin::Default if server.login.is_some() => KeyUse::Withhold,
            _ if self.trusts_all || server.is_loopback() || is_named || is_own_service => {
                KeyUse::Send
            }
            // Typed for this command.
            Origin::Flag(_) => KeyUse::Send,
            Origin::Default => KeyUse::Withhold,
            // A variable of the shell's profile is named for another command and another server.
            Origin::Environment(_) | Origin::File { .. } => KeyUse::Refuse,
        }
    }
}

/// The secret in a variable; `None` if it is not set. Only that of a header may hold blanks.
///
/// # Errors
/// [`Error::Settings`] for a value that no header can hold.
pub(super) fn secret(
    environment: &Environment,
    name: &str,
    is_header: bool,
) -> Result<Option<SecretString>> {
    let value = environment.get(name);
    let value = value.filter(|_| is_variable(name)).map(str::trim);
    if value.is_some_and(|value| {
        !value
            .chars()
            .all(|c| c.is_ascii_graphic() || (is_header && c == ' '))
    }) {
        return Err(Error::Settings(format!(
            "environment variable {name}: it has a space, a line break or a character that no key has; export the \
             bare key"
        )));
    }
    Ok(value.map(SecretString::from))
}

/// True for a variable's name, as opposed to a key.
pub(super) fn is_variable(name: &str) -> bool {
    !name.starts_with(|c: char| c.is_ascii_digit())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// What to do about a variable that is not set. The name may be the key itself: it is repeated only if it looks like a
/// name.
pub(super) fn not_set(name: &str) -> String {
    if is_variable(name) && !name.contains(|c: char| c.is_ascii_lowercase()) {
        return format!(
            "environment variable {name} is not set; export {name}=.. first, or name another"
        );
    }
    "it takes the name of an environment variable that is set, never the key itself; write one such as OPENAI_API_KEY"
        .to_owned()
}

/// True if the config file with this hash is trusted. `trusts_now` (`--trust-config`) remembers the hash; where it cannot
/// be written, it is trusted for this command only.
pub(super) fn is_trusted(hash: &str, trusts_now: bool, environment: &Environment) -> bool {
    let Some(list) = trusted_list(environment) else {
        return trusts_now;
    };
    // By the hash of its bytes and not by its path: whoever changes the file later is not trusted
    // with it.
    let is_known =
        fs::read_to_string(&list).is_ok_and(|hashes| hashes.lines().any(|line| line == hash));
    if trusts_now && !is_known {
        // Where the list cannot be written, the file is trusted now and asked about again.
        let _ = append_line(&list, hash);
    }
    trusts_now || is_known
}

fn append_line(list: &Path, line: &str) -> std::io::Result<()> {
    if let Some(dir) = list.parent() {
        fs::create_dir_all(dir)?;
    }
    let mut file = OpenOptions::new().create(true).append(true).open(list)?;
    file.write_all(format!("{line}\n").as_bytes())
}

/// Hashes of trusted config files, one a line, in the user's config directory. Relative directories are ignored: they
/// could lie beside the config file.
fn trusted_list(environment: &Environment) -> Option<PathBuf> {
    for (variable, below) in [
        ("XDG_CONFIG_HOME", ""),
        ("HOME", ".config"),
        ("APPDATA", ""),
    ] {
        if let Some(dir) = environment.get(variable) {
            let dir = Path::new(dir).join(below);
            if dir.is_absolute() {
                return Some(dir.join("scholareval").join("trusted-configs"));
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::endpoint::DEFAULT_API_KEY_ENV;
    use KeyUse::{Refuse, Send, Withhold};

    const OPENAI: &str = "https://api.openai.com/v1";
    const GOOGLE: &str = "https://generativelanguage.googleapis.com/v1beta";
    const OTHER: &str = "https://other.example/v1";

    #[test]
    fn a_key_goes_where_its_owner_sent_it() {
        let flag = || Origin::Flag("--api-key-env".into());
        let variable = || Origin::Environment("SCHOLAREVAL_API_KEY_ENV".into());
        let file = || Origin::File {
            path: "my.toml".into(),
            line: 1,
            key: "judge.api_key_env".into(),
        };
        let default = DEFAULT_API_KEY_ENV;
        let gemini = "GEMINI_API_KEY";
        let team = "TEAM_KEY";
        // variable, named by, server; then without a word of the user, with the server named, with the file trusted
        for (name, named_by, server, expected) in [
            (default, Origin::Default, OPENAI, [Send, Send, Send]),
            (
                default,
                Origin::Default,
                "localhost:8000",
                [Send, Send, Send],
            ),
            (
                default,
                Origin::Default,
                "http://127.0.0.2/v1",
                [Send, Send, Send],
            ),
            (
                default,
                Origin::Default,
                "http://[::1]:80",
                [Send, Send, Send],
            ),
            (default, Origin::Default, OTHER, [Withhold, Send, Send]),
            (
                default,
                Origin::Default,
                "https://api.openai.com.evil.example",
                [Withhold, Send, Send],
            ),
            (
                default,
                Origin::Default,
                "https://api.openai.com@evil.example",
                [Withhold, Withhold, Withhold],
            ),
            (
                default,
                Origin::Default,
                "http://localhost.evil.example",
                [Withhold, Send, Send],
            ),
            (
                default,
                Origin::Default,
                "https://me:password@api.openai.com",
                [Withhold, Withhold, Withhold],
            ),
            (gemini, Origin::Default, GOOGLE, [Send, Send, Send]),
            (gemini, Origin::Default, OPENAI, [Withhold, Send, Send]),
            (default, Origin::Default, GOOGLE, [Withhold, Send, Send]),
            (default, flag(), OTHER, [Send, Send, Send]),
            (default, variable(), OTHER, [Refuse, Send, Send]),
            (default, file(), OTHER, [Refuse, Send, Send]),
            (default, file(), OPENAI, [Send, Send, Send]),
            (default, file(), "localhost:8000", [Send, Send, Send]),
            (team, flag(), OTHER, [Send, Send, Send]),
            (team, flag(), OPENAI, [Send, Send, Send]),
            (team, variable(), OTHER, [Refuse, Send, Send]),
            (team, variable(), OPENAI, [Refuse, Send, Send]),
            (team, file(), OTHER, [Refuse, Send, Send]),
            (team, file(), OPENAI, [Refuse, Send, Send]),
            (team, file(), "localhost:8000", [Send, Send, Send]),
        ] {
            let none = Environment::default();
            let named = [
                NamedServers::new(&[], &none, false),
                NamedServers::new(&[server.to_owned()], &none, false),
                NamedServers::new(&[], &none, true),
            ];
            let endpoint = Endpoint::new(server).unwrap();
            let uses = named.map(|servers| servers.key_use(name, &named_by, &endpoint));
            assert_eq!(uses, expected, "{name} named by {named_by} at {server}");
        }
    }

    #[test]
    fn a_server_is_named_by_scheme_host_and_port_in_flags_and_in_the_environment() {
        for name in [BASE_URL_ENV, OPENAI_BASE_URL_ENV] {
            let environment =
                Environment::from_pairs([(name, "localhost:1, https://other.example/x")]);
            let servers = NamedServers::new(&[], &environment, false);
            for (url, expected) in [
                (OTHER, Send),
                ("https://other.example:443", Send),
                ("http://other.example/v1", Withhold),
                ("https://other.example:8443", Withhold),
                ("https://another.example", Withhold),
            ] {
                let endpoint = Endpoint::new(url).unwrap();
                assert_eq!(
                    servers.key_use(DEFAULT_API_KEY_ENV, &Origin::Default, &endpoint),
                    expected,
                    "{url}"
                );
            }
        }
    }

    #[test]
    fn a_trusted_file_is_remembered_by_its_hash_below_an_absolute_directory() {
        let home = tempfile::tempdir().unwrap();
        let environment = Environment::from_pairs([("HOME", home.path().to_str().unwrap())]);
        assert!(!is_trusted("ab", false, &environment) && is_trusted("ab", true, &environment));
        assert!(is_trusted("ab", false, &environment) && !is_trusted("abc", false, &environment));
        assert!(
            home.path()
                .join(".config/scholareval/trusted-configs")
                .is_file()
        );
        // nowhere to write: for this command only
        fs::write(home.path().join("file"), "").unwrap();
        let file = home.path().join("file");
        for (name, value) in [
            ("XDG_CONFIG_HOME", file.to_str().unwrap()),
            ("HOME", "relative"),
            ("UNUSED", "x"),
        ] {
            let environment = Environment::from_pairs([(name, value)]);
            assert!(
                is_trusted("ab", true, &environment) && !is_trusted("ab", false, &environment),
                "{name}"
            );
        }
    }
}
