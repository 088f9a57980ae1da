//! API keys and secret headers of the judges, for the servers that may get them.

use secrecy::SecretString;

use super::SettingSources;
use crate::cli::keys::{KeyUse, is_variable, not_set, secret};
use crate::cli::origin::{Environment, Origin};
use crate::error::Result;
use crate::evaluation::options::{DEFAULT_JUDGE, EvaluationOptions};
use crate::judge::endpoint::Endpoint;
use crate::judge::kind::JudgeKind;
use crate::judge::options::{JudgeOptions, OptionFault};

/// A judge whose secrets are read.
struct JudgeSecrets<'a> {
    /// `judge`, or `judges.NAME`.
    table: &'a str,
    /// Whether the run asks it.
    is_asked: bool,
}

/// A variable that holds a secret.
struct SecretVariable {
    /// The key that names it: `judge.api_key_env`.
    option: String,
    name: String,
    origin: Origin,
    /// The header that has its value; `None` for the API key.
    header: Option<String>,
    /// Whether the user named it.
    is_named: bool,
}

impl JudgeSecrets<'_> {
    /// The start of a warning: which of several judges it is about.
    fn whose(&self) -> String {
        if self.table == "judge" {
            String::new()
        } else {
            format!("[{}]: ", self.table)
        }
    }
}

impl SettingSources<'_> {
    /// Reads the secrets of every judge, those of further judges first.
    pub(super) fn read_secrets(
        &self,
        options: &mut EvaluationOptions,
        environment: &Environment,
        warnings: &mut Vec<String>,
    ) -> Result<()> {
        let used = options.used_judges();
        let mut judges = Vec::new();
        for (name, table) in &mut options.judges {
            let is_used = used.contains(name.as_str());
            judges.push((format!("judges.{name}"), is_used, &mut table.judge));
        }
        let is_used = used.contains(DEFAULT_JUDGE);
        judges.push(("judge".to_owned(), is_used, &mut options.judge));
        for (table, is_used, judge) in judges {
            let secrets = JudgeSecrets {
                table: &table,
                is_asked: is_used && judge.kind() != JudgeKind::Lexical,
            };
            for variable in self.secret_variables(&table, judge) {
                self.read_secret(&secrets, judge, variable, environment, warnings)?;
            }
            warnings.extend(missing_key(&secrets, judge));
        }
        Ok(())
    }

    /// The variables of the API key and of the headers.
    fn secret_variables(&self, table: &str, judge: &JudgeOptions) -> Vec<SecretVariable> {
        let mut variables = vec![SecretVariable {
            option: format!("{table}.api_key_env"),
            name: judge.api_key_variable().to_owned(),
            origin: self.origin(table, "api_key_env"),
            header: None,
            is_named: judge.api_key_env.is_some(),
        }];
        // Where file and flags name such headers, all of them count as the file's.
        let origin = self
            .file_origin(table, "header_env")
            .unwrap_or_else(|| Origin::Flag("--header-env".to_owned()));
        for (header, name) in &judge.header_env {
            variables.push(SecretVariable {
                option: format!("{table}.header_env"),
                name: name.clone(),
                origin: origin.clone(),
                header: Some(header.clone()),
                is_named: true,
            });
        }
        variables
    }

    /// Reads one secret. Only variables that are named must be set, since local servers need no key.
    fn read_secret(
        &self,
        secrets: &JudgeSecrets<'_>,
        judge: &mut JudgeOptions,
        variable: SecretVariable,
        environment: &Environment,
        warnings: &mut Vec<String>,
    ) -> Result<()> {
        let value = secret(environment, &variable.name, variable.header.is_some())?;
        // What cannot be the name of a variable may be the key itself: an error even if nobody asks the judge.
        let must_be_set = secrets.is_asked || !is_variable(&variable.name);
        if variable.is_named && value.is_none() && must_be_set {
            let what = not_set(&variable.name);
            return Err(self.fault(OptionFault::new(&variable.option, what)));
        }
        // A judge that nobody asks needs no key and causes no warning about one.
        if secrets.is_asked && value.is_some() {
            self.check_servers(secrets, judge, &variable, warnings)?;
        }
        give(judge, variable.header, value);
        Ok(())
    }

    /// Withholds a secret from servers that only the config file names.
    ///
    /// # Errors
    /// If the file names the secret, too: it may be a file that collects secrets.
    fn check_servers(
        &self,
        secrets: &JudgeSecrets<'_>,
        judge: &mut JudgeOptions,
        variable: &SecretVariable,
        warnings: &mut Vec<String>,
    ) -> Result<()> {
        let name = &variable.name;
        for url in judge.addresses() {
            let server = Endpoint::new(&url)?;
            let destination = format!("{}, which only the config file names", server.masked_url());
            match self.servers.key_use(name, &variable.origin, &server) {
                KeyUse::Send => {}
                KeyUse::Refuse => {
                    let hint = "add --trust-config if you trust that file";
                    let what = format!("{name} would be sent to {destination}; {hint}");
                    return Err(self.fault(OptionFault::new(&variable.option, what)));
                }
                KeyUse::Withhold => {
                    if server.login.is_none() {
                        warnings.push(format!(
                            "{}{name} is not sent to {destination}; add --trust-config to send it",
                            secrets.whose()
                        ));
                    }
                    judge.withheld_from.push(url);
                }
            }
        }
        Ok(())
    }
}

fn give(judge: &mut JudgeOptions, header: Option<String>, value: Option<SecretString>) {
    match (header, value) {
        (None, value) => judge.api_key = value,
        (Some(header), Some(value)) => judge.secret_headers.push((header, value)),
        (Some(_), None) => {}
    }
}

/// The warning about a service that will reject calls without a key.
fn missing_key(secrets: &JudgeSecrets<'_>, judge: &JudgeOptions) -> Option<String> {
    if !secrets.is_asked || judge.api_key.is_some() {
        return None;
    }
    let mut services = Vec::new();
    for url in judge.addresses() {
        services.extend(Endpoint::new(&url).ok().and_then(|server| server.service()));
    }
    let service = services.pop()?;
    let remedy =
        "export it, or name another variable with --api-key-env (api_key_env in the config file)";
    Some(format!(
        "{}{} is not set: {service} will reject calls; {remedy}",
        secrets.whose(),
        judge.api_key_variable()
    ))
}
