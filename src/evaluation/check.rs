//! Asks a judge one real question of each of its roles before a run: through the code of a run, so that what the judge
//! refuses or needs is learned and stored as a run would.

use std::collections::BTreeMap;
use std::future::ready;
use std::sync::{Arc, OnceLock};

use super::flips::Flips;
use super::legibility::shortened;
use super::units::units;
use super::{Job, Member, NamedJudge, Panel, Panels, Prepared, StopHandle};
use crate::dataset::with_text;
use crate::domain::{JudgeReply, Role, UnscoredKind, UnscoredReason};
use crate::error::{Error, Result};
use crate::judge::builder::{ServedModel, Shared};
use crate::judge::cache::{Cache, CallLabel, Entry};
use crate::judge::chat::helping_option;
use crate::judge::decision_probe::spoken_kinds;
use crate::judge::endpoint::Endpoint;
use crate::judge::kind::JudgeKind;
use crate::judge::meters::Meters;
use crate::judge::{AskFuture, Judge, JudgeRequest, Outcome};
use crate::question::KindInfo;
use crate::question::reading::INSIDE_REASONING;
use crate::record::{CallRecord, EventSink, RunEvent};
use crate::scorer::{Step, Subject, Verdicts};

/// The last reply to the question of each role.
pub type RoleReplies = Vec<(Role, JudgeReply)>;

/// A server of a judge that was asked a question of each of some roles.
pub struct CheckedServer {
    /// Its address, secrets masked.
    pub url: String,
    /// The roles that got a reply, each with the last one.
    pub replies: RoleReplies,
    /// Tokens of all prompts and of all replies, those of repeats included.
    pub tokens: [u64; 2],
    /// How far the verdicts of a decision model depend on the order of options and on other questions.
    pub flips: Option<Flips>,
    /// The kinds of decision model as which a server answers that does not as this one, each with the route.
    pub spoken: Vec<(JudgeKind, &'static str)>,
    /// Why there is a question without a verdict, with what to change.
    pub fault: Option<Error>,
}

impl Prepared {
    /// Asks this judge one question of each of its roles, and each of its servers one at least; empty for a judge without
    /// servers. The cache is not looked up, since a cached reply would test nothing; readable replies are stored for the run.
    ///
    /// # Errors
    /// When an answer or the cache cannot be read.
    pub async fn check(&self, name: &str, judge: &NamedJudge) -> Result<Vec<CheckedServer>> {
        let mut checked = Vec::new();
        let roles: Vec<&Role> = self.judges.roles_of(name).collect();
        let Some(server) = judge.judge.server().filter(|_| !roles.is_empty()) else {
            return Ok(checked);
        };
        let work = self.jobs(&self.scorers, None, &Arc::default())?;
        let endpoints = server.servers.endpoints();
        let count = endpoints.len();
        for (at, endpoint) in endpoints.enumerate() {
            let shared = Shared {
                truncate: self.options.asking.truncate,
                compat: self.options.scoring.compat,
                ..Shared::default()
            };
            let member = judge.member(&server.build_at(at, &shared)?);
            // Each role at one of the servers; with more servers than roles each server has one.
            let asked_here = roles.iter().skip(at % roles.len()).step_by(count);
            let panel = Panel::of_one(Member {
                samples: 1,
                ..member.clone()
            });
            let panels = asked_here.map(|role| ((*role).clone(), panel.clone()));
            let panels: Panels = panels.collect();
            let first_calls = panels.keys();
            let first_calls = first_calls.map(|role| (role.clone(), first_call_of(&member)));
            let mut calls = Calls::default();
            let result = ask(&work.jobs, first_calls.collect(), &mut calls).await;
            let (replies, fault) = replies_of(&calls, endpoint, server, &member)?;
            let fault = result.err().or(fault);
            let (mut flips, mut spoken) = (None, Vec::new());
            if fault.is_none() {
                flips = flips_of(&work.jobs, panels).await?;
            } else if member.decider.is_some() {
                spoken = spoken_kinds(endpoint, &server.request.model).await;
            }
            let meters = &shared.meters;
            let tokens = [&meters.prompt_tokens, &meters.completion_tokens].map(Meters::read);
            checked.push(CheckedServer {
                url: endpoint.masked_url(),
                replies,
                tokens,
                flips,
                spoken,
                fault,
            });
        }
        Ok(checked)
    }
}

/// The last reply of each role, and why there is one without a verdict. Replies with a verdict are stored for the run.
fn replies_of(
    calls: &Calls,
    endpoint: &Endpoint,
    server: &ServedModel,
    member: &Member,
) -> Result<(RoleReplies, Option<Error>)> {
    let mut replies = Vec::new();
    let mut fault = None;
    for (role, call) in calls.last() {
        match (call.failure(), &server.cache) {
            (Some(reason), _) => {
                let error = no_verdict(endpoint.masked_url(), call, reason, member);
                fault = fault.or(Some(error));
            }
            (None, cache) => {
                if let Some(renderer) = &member.renderer {
                    renderer.room().raise(call.room)?;
                }
                // Only with a verdict: what other replies show is to be changed, perhaps at the server, where the
                // call stays the same.
                if let Some(cache) = cache {
                    calls.store(role, cache)?;
                }
            }
        }
        replies.extend(call.reply.clone().map(|reply| (role.clone(), reply)));
    }
    Ok((replies, fault))
}

/// How verdicts on the first answer change with what stands around a question; `None` if no decision model is asked.
async fn flips_of(jobs: &[Job], panels: Panels) -> Result<Option<Flips>> {
    let panels = Arc::new(panels);
    for job in jobs {
        let job = Job {
            panels: Arc::clone(&panels),
            ..job.clone()
        };
        let Some(at) = first_answer(&job)? else {
            continue;
        };
        let item = with_text(&job.items[at])?;
        let Step::Ask(calls) = job.scorer.step(&Subject::of(&item), &Verdicts::default()) else {
            continue;
        };
        if let Some(unit) = units(&job, &calls, 0).first() {
            return Ok(Flips::of(unit, &item).await);
        }
    }
    Ok(None)
}

/// Scores the first answer of each job as far as these panels do.
async fn ask(jobs: &[Job], panels: Panels, calls: &mut Calls) -> Result<()> {
    let panels = Arc::new(panels);
    let (mut panel_jobs, mut pending) = (Vec::new(), Vec::new());
    for job in jobs {
        let mut roles = job.scorer.roles().into_iter();
        if !roles.any(|role| panels.contains_key(&role)) {
            continue;
        }
        pending.push(Vec::from_iter(first_answer(job)?));
        panel_jobs.push(Job {
            panels: Arc::clone(&panels),
            ..job.clone()
        });
    }
    let ran = super::run(&panel_jobs, &pending, calls, &StopHandle::new()).await;
    ran.map(drop)
}

/// The place of the first answer that there is.
fn first_answer(job: &Job) -> Result<Option<usize>> {
    for (at, item) in job.items.iter().enumerate() {
        if with_text(item)?.missing_answer(job.options.mode).is_none() {
            return Ok(Some(at));
        }
    }
    Ok(None)
}

/// A panel that answers one question.
fn first_call_of(member: &Member) -> Panel {
    let judge = FirstCall {
        inner: Arc::clone(&member.judge),
        items: OnceLock::new(),
    };
    Panel::of_one(Member {
        judge: Arc::new(judge),
        samples: 1,
        ..member.clone()
    })
}

/// Passes the first question, its repeats and parts, and defers all others.
struct FirstCall {
    inner: Arc<dyn Judge>,
    items: OnceLock<Vec<Arc<str>>>,
}

impl Judge for FirstCall {
    fn ask<'a>(&'a self, request: &'a JudgeRequest) -> AskFuture<'a> {
        let items = request.call.items();
        let first = self.items.get_or_init(|| items.clone());
        if items.iter().all(|item| first.contains(item)) {
            self.inner.ask(request)
        } else {
            Box::pin(ready(Ok(Outcome::Deferred)))
        }
    }
}

/// The calls of a check.
#[derive(Default)]
struct Calls(Vec<CallRecord>);

impl EventSink for Calls {
    fn on_event(&mut self, event: &RunEvent) -> Result<()> {
        if let RunEvent::Call(call) = event {
            self.0.push((**call).clone());
        }
        Ok(())
    }
}

impl Calls {
    /// The last call of each role.
    fn last(&self) -> BTreeMap<&Role, &CallRecord> {
        self.0.iter().map(|call| (&call.role, call)).collect()
    }

    /// Stores the replies of a role for the run.
    fn store(&self, role: &Role, cache: &Cache) -> Result<()> {
        for call in self.0.iter().filter(|call| call.role == *role) {
            let (Some(key), Some(reply)) = (call.fingerprint, &call.reply) else {
                continue;
            };
            let label = CallLabel {
                kind: call.kind.to_string(),
                judge: call.judge.to_string(),
                role: role.name().into_owned(),
                sample: call.sample,
                attempt: call.attempt,
            };
            cache.put(&Entry::new(key, label, reply.clone()), None)?;
        }
        Ok(())
    }
}

/// The error of a call without a verdict, with what to change.
fn no_verdict(url: String, call: &CallRecord, reason: &UnscoredReason, member: &Member) -> Error {
    let kind = &call.kind;
    let reply = call.reply.as_ref();
    let is_of_form = !reply.is_some_and(JudgeReply::is_in_reasoning_field);
    let advice = match (
        reason.kind,
        &member.renderer,
        KindInfo::named(kind.as_str()),
    ) {
        (UnscoredKind::Refused, ..) if reply.is_none() => {
            format!("try {}", helping_option(&reason.to_string()))
        }
        (UnscoredKind::Cut, Some(renderer), _) if reason.message.contains(INSIDE_REASONING) => {
            renderer.room().advice()
        }
        (UnscoredKind::Unreadable, Some(renderer), Some(info)) if is_of_form => {
            renderer.forms().form_advice(info).to_owned()
        }
        (UnscoredKind::Unreadable, ..) => "start the server with another one".to_owned(),
        (kind, ..) => call.remedy(kind).unwrap_or_default().to_owned(),
    };
    let text = reply.map(|reply| shortened(&reply.content));
    let text = text.unwrap_or_default();
    Error::JudgeUnavailable(format!(
        "the judge at {url} gives no verdict to a {kind} call: {reason}; its reply is \"{text}\"; {advice}"
    ))
}
