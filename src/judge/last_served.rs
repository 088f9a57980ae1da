//! What servers reported at earlier runs, kept in the cache: a finished run can be repeated while no server is running, and
//! a changed model is noticed.

use serde_json::json;

use super::Notify;
use super::cache::Cache;
use super::endpoint::Endpoint;
use super::identity::{ServerIdentity, ServerReport, judge_id};
use super::options::JudgeOptions;
use crate::domain::Severity;
use crate::error::{Error, Result};

/// The cache's name for what a server reported.
fn place(endpoint: &Endpoint, judge: &JudgeOptions) -> String {
    format!("judge {} {}", endpoint.masked_url(), judge.model.as_deref().unwrap_or("*"))
}

/// What one of the servers reported at an earlier run; where the judge has a name in the cache, that is all its keys need.
pub(super) fn last_said(
    judge: &JudgeOptions,
    cache: Option<&Cache>,
    endpoints: &[&Endpoint],
) -> Result<Option<(String, ServerIdentity)>> {
    for endpoint in endpoints {
        let kept = cache.map(|cache| cache.recall_server(&place(endpoint, judge))).transpose()?.flatten();
        if let Some(last) = kept.as_deref().and_then(remembered) {
            return Ok(Some(last));
        }
    }
    Ok(match (&judge.cache_id, &judge.model) {
        (Some(_), Some(model)) => Some((model.clone(), ServerIdentity::default())),
        _ => None,
    })
}

/// Compares what the servers report with earlier runs, and keeps it.
pub(super) fn remember(
    cache: &Cache,
    judge: &JudgeOptions,
    there: &[(&Endpoint, &ServerReport)],
    notify: &Notify,
) -> Result<()> {
    for (endpoint, report) in there {
        refuse_silence(cache, &place(endpoint, judge), judge, &report.identity)?;
    }
    if let Some((_, report)) = there.first() {
        warn_of_change(cache, judge, report, notify)?;
    }
    for (endpoint, report) in there {
        cache.remember_server(&place(endpoint, judge), &said(report))?;
    }
    Ok(())
}

/// Model and identity as they are kept in the cache.
fn said(report: &ServerReport) -> String {
    let ServerIdentity { served, root, model_path } = &report.identity;
    json!([report.model, served, root, model_path]).to_string()
}

/// Reads what [`said`] wrote.
fn remembered(identity: &str) -> Option<(String, ServerIdentity)> {
    let [model, served, root, model_path] = serde_json::from_str::<[Option<String>; 4]>(identity).ok()?;
    Some((model?, ServerIdentity { served, root, model_path }))
}

/// A server that reports less than at the last run, and nothing different, has a temporary problem: its replies would be
/// stored under another identity, and every cached call would be paid again.
fn refuse_silence(cache: &Cache, key: &str, judge: &JudgeOptions, served: &ServerIdentity) -> Result<()> {
    if judge.cache_id.is_some() {
        return Ok(());
    }
    match cache.recall_server(key)?.and_then(|identity| remembered(&identity)) {
        Some((model, before)) if served.says_less_than(&before) => Err(Error::JudgeUnavailable(format!(
            "the server says less of what it serves than at the last run ({}); try again, or give the model a fixed \
             name in the cache with --cache-id NAME",
            judge_id(&model, None, &before)
        ))),
        _ => Ok(()),
    }
}

/// Warns when a model of that name is another one than at the last run with this cache, at whatever address.
fn warn_of_change(cache: &Cache, judge: &JudgeOptions, report: &ServerReport, notify: &Notify) -> Result<()> {
    let ServerReport { model, identity: served, .. } = report;
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
    let line = format!("{model} is another model than at the last run: before {before}, now {now}; {used}");
    notify(Severity::Warning, &line);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_server_said_is_read_back() {
        let identity = ServerIdentity { served: Some("m".into()), root: None, model_path: Some("/x|y".into()) };
        let report = ServerReport { model: "m".into(), identity: identity.clone(), ..ServerReport::default() };
        assert_eq!(remembered(&said(&report)), Some(("m".to_owned(), identity)));
    }
}
