//! Certificates of judges: which judge was checked against people, and by what number.
//!
//! `certify` writes a certificate, `score --certificate` copies its head into the manifest, and reports say whether it counts there
//! (`judge_check`). It holds fingerprints, names of models and numbers, and no text of a case or an answer.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::path::{Path, PathBuf};

use chrono::NaiveDate;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::domain::{Fingerprint, GradeMerge, today};
use crate::error::{Error, InputFault, Result};
use crate::files::read_small_text;
use crate::text::names::counted;

/// Version of the format of certificates.
pub const CERTIFICATE_VERSION: u32 = 1;

/// The field with the hash of all others.
const HASH: &str = "blake3";

/// What a certificate begins with: what it is for, and the number that tables show.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CertificateHead {
    /// Version of the format.
    pub certificate_version: u32,
    /// The program that made it.
    pub scholareval_version: String,
    /// The day on which the judge was asked, UTC.
    pub checked_on: NaiveDate,
    /// The checked judge of each role.
    pub roles: BTreeMap<String, CertifiedRole>,
    /// Answers or items that people labeled and the judge rated.
    pub labels: usize,
    /// The coefficient of agreement with people: `kappa`, `quadratic_kappa`, `kendall_tau_b` or, of pairs, `pairs_kappa`.
    pub measure: String,
    /// Its value, -1..=1.
    pub estimate: f64,
    /// Its interval, low and high; `None` from fewer than 10 labels, and where no question changes it.
    pub interval: Option<[f64; 2]>,
}

/// Who judged a role, by everything that makes another judge of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CertifiedRole {
    /// One judge, or the panel.
    pub judges: Vec<CertifiedJudge>,
    /// How the verdicts of a panel are merged; `None` for one judge.
    pub merge: Option<GradeMerge>,
    /// Hash of the prompt set; `None` for a role without prompts.
    pub prompts: Option<Fingerprint>,
    /// Hash of the profile: how criteria, aspects or claims are asked and counted.
    pub profile: Fingerprint,
}

/// A judge of a certificate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CertifiedJudge {
    /// How it is reached: `chat`, `anthropic`, ..
    pub protocol: Value,
    /// The requested model.
    pub model: Option<String>,
    /// The model that its replies name; else the one that its server reports, if it does.
    pub served_model: Option<String>,
    /// Reasoning effort; null where none was sent.
    pub reasoning_effort: Value,
    /// Temperature; null where none was sent.
    pub temperature: Value,
    /// Samples per question: the merged verdict of several agrees with people otherwise than a single one.
    pub samples: u32,
    /// How they are merged; `None` for one.
    pub merge: Option<GradeMerge>,
    /// Whether verdicts are expected scores (`--logprobs`).
    pub expected: bool,
}

impl CertifiedJudge {
    /// The name for people: the model, or the protocol of a judge without one.
    pub fn name(&self) -> String {
        self.model.clone().unwrap_or_else(|| shown(&self.protocol))
    }

    /// How `other` differs: `temperature 0 and not 0.7`.
    fn difference(&self, other: &Self) -> Option<String> {
        let (checked, now) = (json!(self), json!(other));
        let mut fields = checked.as_object()?.iter();
        let (field, checked) = fields.find(|(field, value)| now[*field] != **value)?;
        Some(format!(
            "{} {} and not {}",
            field.replace('_', " "),
            shown(checked),
            shown(&now[field])
        ))
    }
}

/// A value in a sentence.
fn shown(value: &Value) -> String {
    match value {
        Value::Null => "unset".to_owned(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

impl CertifiedRole {
    /// How the judge of a run differs from this one; `None` if it is the same.
    pub(crate) fn difference(&self, other: &Self) -> Option<String> {
        if self.judges.len() != other.judges.len() {
            let checked = counted(self.judges.len(), "judge");
            return Some(format!("{checked} and not {}", other.judges.len()));
        }
        for (checked, now) in self.judges.iter().zip(&other.judges) {
            if let Some(difference) = checked.difference(now) {
                return Some(difference);
            }
        }
        if self.merge != other.merge {
            return Some("another merge of the panel".to_owned());
        }
        if self.prompts != other.prompts {
            return Some("other prompts".to_owned());
        }
        (self.profile != other.profile).then(|| "another profile".to_owned())
    }
}

impl CertificateHead {
    /// Reads a certificate.
    ///
    /// # Errors
    /// When the file cannot be read, is not a certificate, has another version, or was changed after it was made.
    pub fn load(path: &Path) -> Result<Self> {
        let text = read_small_text(path)?.0;
        let all: Map<String, Value> =
            serde_json::from_str(&text).map_err(|error| not_a_certificate(path, error))?;
        let Some(version) = all.get("certificate_version").and_then(Value::as_u64) else {
            return Err(not_a_certificate(path, "certificate_version is missing"));
        };
        if version != u64::from(CERTIFICATE_VERSION) {
            let what = format!(
                "a certificate of version {version}; this program reads {CERTIFICATE_VERSION}"
            );
            return Err(InputFault::new(path, what).refuse("make it again with certify"));
        }
        if all.get(HASH) != Some(&json!(hash(&all))) {
            let what = "was changed after certify made it: its hash is another one";
            return Err(InputFault::new(path, what).refuse("make it again with certify"));
        }
        serde_json::from_value(Value::Object(all)).map_err(|error| not_a_certificate(path, error))
    }

    /// Whether the file is a certificate of any version, whatever was changed in it.
    pub(crate) fn is_at(path: &Path) -> bool {
        let text = read_small_text(path)
            .map(|(text, _)| text)
            .unwrap_or_default();
        let fields = serde_json::from_str::<Map<String, Value>>(&text).unwrap_or_default();
        fields.contains_key("certificate_version")
    }

    /// The measure for people.
    pub fn measure_name(&self) -> String {
        match self.measure.as_str() {
            "kendall_tau_b" => "tau-b".to_owned(),
            name => name.replace('_', " "),
        }
    }

    /// `checked on 60 labels, kappa 0.71 [0.60, 0.80], 2026-11-12`
    pub fn sentence(&self) -> String {
        let measure = self.measure_name();
        let mut text = format!(
            "checked on {}, {measure} {:.2}",
            counted(self.labels, "label"),
            self.estimate
        );
        text += &match self.interval {
            Some([low, high]) => format!(" [{low:.2}, {high:.2}]"),
            None => " (no interval)".to_owned(),
        };
        format!("{text}, {}", self.checked_on)
    }

    /// Why it does not count for this judge of a run that began on this day; `None` if it counts, and the reason is empty where it is
    /// for other roles.
    pub(super) fn refusal(
        &self,
        role: &str,
        now: &CertifiedRole,
        day: NaiveDate,
        days: u32,
    ) -> Option<String> {
        let Some(checked) = self.roles.get(role) else {
            return Some(String::new());
        };
        let date = self.checked_on;
        if let Some(difference) = checked.difference(now) {
            return Some(format!("the certificate of {date} is for {difference}"));
        }
        if date > today() {
            return Some(format!("the certificate's day, {date}, is in the future"));
        }
        let age = (day - date).num_days();
        (age > i64::from(days)).then(|| {
            format!(
                "the certificate of {date} was {age} days old, more than {days} (certificate_days)"
            )
        })
    }
}

fn not_a_certificate(path: &Path, why: impl Display) -> Error {
    InputFault::new(path, format!("not a certificate: {why}"))
        .refuse("name a file that certify made")
}

/// The object of a certificate with its hash as the last field.
pub(crate) fn sealed(mut certificate: Map<String, Value>) -> Map<String, Value> {
    let hash = hash(&certificate);
    certificate.insert(HASH.to_owned(), json!(hash));
    certificate
}

/// The hash of all other fields, whatever white space is between them.
fn hash(certificate: &Map<String, Value>) -> Fingerprint {
    let mut others = certificate.clone();
    others.remove(HASH);
    blake3::hash(json!(others).to_string().as_bytes()).into()
}

/// The certificates that a run was given, and for how many days they count. They are not part of its identity.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct GivenCertificates {
    /// Days after the check.
    pub days: u32,
    /// The certificates.
    pub heads: Vec<CertificateHead>,
}

impl GivenCertificates {
    /// Reads these files.
    ///
    /// # Errors
    /// As [`CertificateHead::load`].
    pub(crate) fn load(paths: &[PathBuf], days: u32) -> Result<Self> {
        let heads = paths.iter().map(|path| CertificateHead::load(path));
        Ok(Self {
            days,
            heads: heads.collect::<Result<_>>()?,
        })
    }

    /// Whether none was given.
    pub(super) fn is_empty(&self) -> bool {
        self.heads.is_empty()
    }
}
