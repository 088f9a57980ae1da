//! What is added to every request: reply limits, request fields, headers, query parameters. Messages about them never
//! repeat a value, since it may be a secret.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::JudgeKind;
use super::keys::{self, Key};
use super::merge::{Sources, fault};
use super::value::{Object, SettingValue, type_name};
use crate::cli::masking::{masked_json, masked_value};
use crate::cli::origin::Origin;
use crate::domain::CallKind;
use crate::error::Result;

/// Reply limit for the kinds that answer with one number.
const SCORE_TOKENS: u64 = 100;

/// Reply limit for a label: new tokens of the published AttrScore call.
const LABEL_TOKENS: u64 = 10;

/// Request fields that have an option or are the program's own, with what to do instead.
const OWN_FIELDS: [(&str, &str); 7] = [
    ("messages", "a prompt set (--prompts DIR) changes what is asked"),
    ("prompt", "a prompt set (--prompts DIR) changes what is asked"),
    ("model", "use --model"),
    ("stream", "replies are read whole"),
    ("n", "use --samples"),
    ("temperature", "use --temperature"),
    ("seed", "use --judge-seed"),
];

/// Headers that belong to the transport.
const OWN_HEADERS: [&str; 5] =
    ["content-length", "content-type", "transfer-encoding", "connection", "content-encoding"];

/// Reply limits by kind, and the kinds whose limit the user gave.
pub(super) struct ReplyLimits {
    pub(super) limits: BTreeMap<CallKind, u64>,
    pub(super) given: BTreeSet<CallKind>,
}

/// The reply limit where nobody says anything: grades with feedback and support have that of their prompts.
fn default_limit(judge: JudgeKind, kind: CallKind) -> Option<u64> {
    match kind {
        CallKind::Expertise | CallKind::Property | CallKind::Evidence => Some(SCORE_TOKENS),
        CallKind::Attribution if judge == JudgeKind::Label => Some(LABEL_TOKENS),
        CallKind::Citations | CallKind::Aspect | CallKind::Attribution => None,
    }
}

/// The reply limit of each kind; a kind without an entry has none, or that of its prompts. Kinds are merged one by one.
pub(super) fn max_tokens(sources: &mut Sources<'_>, flag: Option<&str>, judge: JudgeKind) -> Result<ReplyLimits> {
    let key = &keys::MAX_TOKENS;
    let mut limits: BTreeMap<CallKind, (Option<u64>, Origin)> =
        CallKind::ALL.into_iter().map(|kind| (kind, (default_limit(judge, kind), Origin::Default))).collect();
    if let Some((Object(map), origin)) = sources.in_file::<Object>(key)? {
        for (name, value) in &map {
            let text = match value {
                Value::String(text) => text.clone(),
                other => other.to_string(),
            };
            let (kind, limit) = kind_limit(name, &text).map_err(|what| fault(key, &origin, &what))?;
            limits.insert(kind, (limit, origin.clone()));
        }
    }
    let origin = Origin::Flag(key.flag);
    for piece in flag.unwrap_or_default().split(',').map(str::trim).filter(|piece| !piece.is_empty()) {
        let (name, limit) = piece.split_once('=').unwrap_or((piece, ""));
        let (kind, limit) = kind_limit(name.trim(), limit.trim()).map_err(|what| fault(key, &origin, &what))?;
        limits.insert(kind, (limit, origin.clone()));
    }
    for (kind, (limit, origin)) in &limits {
        let of_prompts = *origin == Origin::Default && matches!(kind, CallKind::Aspect | CallKind::Attribution);
        let none = if of_prompts { "that of the prompts" } else { "none" };
        let shown = limit.map_or(Value::from(none), Value::from);
        sources.note(format!("{}.{kind}", key.name), shown, origin.clone());
    }
    let fixed = |kind: CallKind| judge == JudgeKind::Label && kind == CallKind::Attribution;
    let given = limits.iter().filter(|(kind, (_, origin))| *origin != Origin::Default || fixed(**kind));
    let given = given.map(|(kind, _)| *kind).collect();
    let limits = limits.into_iter().filter_map(|(kind, (limit, _))| Some((kind, limit?))).collect();
    Ok(ReplyLimits { limits, given })
}

fn kind_limit(name: &str, limit: &str) -> Result<(CallKind, Option<u64>), String> {
    let kinds = || CallKind::ALL.map(CallKind::as_str).join(", ");
    let kind = CallKind::from_name(name).ok_or_else(|| {
        format!("{name:?} is no kind of question; known are {}, as in property=100,citations=16000", kinds())
    })?;
    match limit {
        "none" => Ok((kind, None)),
        _ => match limit.parse() {
            Ok(limit) if limit > 0 => Ok((kind, Some(limit))),
            _ => Err(format!(
                "the limit {limit:?} of {kind} is not a number of at least 1; write {kind}=100, or {kind}=none"
            )),
        },
    }
}

/// Fields added to every request. `also` are fields that are set by options, with those options.
pub(super) fn request_fields(
    sources: &mut Sources<'_>,
    flag: Option<&str>,
    also: &[(&str, &str)],
) -> Result<Map<String, Value>> {
    let key = &keys::EXTRA_BODY;
    let origin = Origin::Flag(key.flag);
    let flag = flag.map(|text| Object::parse(text).map_err(|what| fault(key, &origin, &what))).transpose()?;
    let (Object(map), origin) = sources.find(key, flag)?.unwrap_or_else(|| (Object(Map::new()), Origin::Default));
    if let Some((name, instead)) = OWN_FIELDS.into_iter().find(|(name, _)| map.contains_key(*name)) {
        return Err(fault(key, &origin, &format!("the field {name} is set by the program itself; {instead}")));
    }
    if let Some((name, option)) = also.iter().find(|(name, _)| map.contains_key(*name)) {
        return Err(fault(key, &origin, &format!("the field {name} is set by {option} already; give it once")));
    }
    let shown = if map.is_empty() { Value::Null } else { masked_json(&Value::Object(map.clone())) };
    sources.note(key.name, shown, origin);
    Ok(map)
}

/// Headers (`K:V`) or query parameters (`K=V`), the file's first; a flag of the same name replaces the file's.
pub(super) fn pairs(sources: &mut Sources<'_>, key: &Key, flags: &[String]) -> Result<Vec<(String, String)>> {
    let mut found: Vec<(String, String, Origin)> = Vec::new();
    if let Some((Object(map), origin)) = sources.in_file::<Object>(key)? {
        for (name, value) in map {
            let checked = match &value {
                Value::String(text) => pair(key, &name, text),
                Value::Number(_) | Value::Bool(_) => pair(key, &name, &value.to_string()),
                other => Err(format!("{name}: expected a string, found {}", type_name(other))),
            };
            let (name, value) = checked.map_err(|what| fault(key, &origin, &what))?;
            found.push((name, value, origin.clone()));
        }
    }
    let origin = Origin::Flag(key.flag);
    let from_file = found.len();
    for text in flags {
        let (name, value) = split_pair(key, text).map_err(|what| fault(key, &origin, &what))?;
        found.push((name, value, origin.clone()));
    }
    let replaced = |name: &str| found[from_file..].iter().any(|(flag, ..)| same_name(key, flag, name));
    let kept: Vec<_> =
        found.iter().enumerate().filter(|(i, (name, ..))| *i >= from_file || !replaced(name)).map(|(_, p)| p).collect();
    for (name, value, origin) in &kept {
        sources.note(format!("{}.{name}", key.name), Value::from(masked_value(name, value)), origin.clone());
    }
    Ok(kept.into_iter().map(|(name, value, _)| (name.clone(), value.clone())).collect())
}

fn same_name(key: &Key, a: &str, b: &str) -> bool {
    if *key == keys::HEADERS { a.eq_ignore_ascii_case(b) } else { a == b }
}

fn split_pair(key: &Key, text: &str) -> Result<(String, String), String> {
    let (separator, example) =
        if *key == keys::HEADERS { (':', "\"X-Team: biology\"") } else { ('=', "api-version=2024-10-21") };
    let (name, value) =
        text.split_once(separator).ok_or_else(|| format!("there is no {separator:?} in it; write it as {example}"))?;
    pair(key, name.trim(), value)
}

fn pair(key: &Key, name: &str, value: &str) -> Result<(String, String), String> {
    let value = value.trim();
    if *key == keys::HEADERS {
        let token = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c);
        if name.is_empty() || !name.chars().all(token) {
            return Err("the name before the colon is no header's name; write it as \"X-Team: biology\"".to_owned());
        }
        if OWN_HEADERS.contains(&name.to_ascii_lowercase().as_str()) {
            return Err(format!("the header {name} belongs to the transport; leave it out"));
        }
        if !value.chars().all(|c| c == ' ' || c == '\t' || c.is_ascii_graphic()) {
            return Err(format!("the value of {name} holds a character that no header may have; use plain ASCII"));
        }
    } else if name.is_empty() || name.chars().any(char::is_control) || value.chars().any(char::is_control) {
        return Err("no name before the =, or a control character; write it as api-version=2024-10-21".to_owned());
    }
    Ok((name.to_owned(), value.to_owned()))
}
