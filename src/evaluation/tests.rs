//! The step loop with a toy scorer and a judge made of a closure.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Map, Value, json};

use super::*;
use crate::domain::{
    Answer, CallId, CaseId, Component, ComponentKind, GradeMerge, JudgeReply, Mode, Reading, Role,
    Rubric, Score, TestCase, UnscoredKind, UnscoredReason, Verdict,
};
use crate::error::{Error, Result};
use crate::judge::decider::Decider;
use crate::judge::decision_bounds::DecisionBounds;
use crate::judge::kind::JudgeKind;
use crate::judge::planner::ReplySource;
use crate::judge::{AskError, AskFuture, Judge, JudgeRequest, Outcome};
use crate::prompt::PromptSet;
use crate::question::{DecisionChunk, JudgeCall, Property, TOO_LONG};
use crate::record::{EventSink, RunEvent};
use crate::scorer::{Step, Subject, Verdicts};

/// Asks `a` and `b`, then `a_evidence` if `a` earned something.
struct Toy;

impl Scorer for Toy {
    fn name(&self) -> &str {
        "toy"
    }

    fn step(&self, subject: &Subject<'_>, verdicts: &Verdicts) -> Step {
        let Subject { case, answer, .. } = *subject;
        let ask = |item: &str| {
            JudgeCall::new(
                item,
                Role::Rubric,
                Property {
                    question: case.initial_prompt.as_str().into(),
                    answer: Arc::clone(&answer.answer_text),
                    criterion: item.into(),
                },
            )
        };
        let earned = matches!(verdicts.get("a"), Some(Ok(Reading { verdict: Verdict::Points(p), .. })) if *p > 0.0);
        let wanted: &[&str] = if earned {
            &["a", "b", "a_evidence"]
        } else {
            &["a", "b"]
        };
        let missing: Vec<_> = wanted
            .iter()
            .filter(|item| !verdicts.contains_key(**item))
            .map(|item| ask(item))
            .collect();
        if !missing.is_empty() {
            return Step::Ask(missing);
        }
        let component = |item: &&str| {
            let (value, reason) = match &verdicts[*item] {
                Ok(Reading {
                    verdict: Verdict::Points(points),
                    ..
                }) => (Some(points / 10.0), None),
                Ok(_) => (None, None),
                Err(reason) => (None, Some(reason.clone().into())),
            };
            Component {
                value,
                reason,
                ..Component::new(item, ComponentKind::Property).with_weight(1.0)
            }
        };
        let components: Vec<_> = wanted.iter().map(component).collect();
        let value = components.iter().map(|component| component.value).sum();
        Step::Done(Score {
            scorer: "toy".into(),
            value,
            components,
            ..Score::default()
        })
    }
}

type Answering = dyn Fn(&JudgeRequest) -> Result<Outcome, AskError> + Send + Sync;

/// Answers by a closure after a moment; records the calls and how many were in flight.
struct Scripted {
    answer: Box<Answering>,
    asked: Mutex<Vec<String>>,
    flying: AtomicUsize,
    most: AtomicUsize,
}

impl Scripted {
    fn new(
        answer: impl Fn(&JudgeRequest) -> Result<Outcome, AskError> + Send + Sync + 'static,
    ) -> Arc<Self> {
        Arc::new(Self {
            answer: Box::new(answer),
            asked: Mutex::default(),
            flying: AtomicUsize::new(0),
            most: AtomicUsize::new(0),
        })
    }

    fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

fn name(request: &JudgeRequest) -> String {
    format!(
        "{}/{}#{}.{}",
        request.case_id, request.call.item, request.call.sample, request.attempt
    )
}

impl Judge for Scripted {
    fn ask<'a>(&'a self, request: &'a JudgeRequest) -> AskFuture<'a> {
        Box::pin(async move {
            self.asked.lock().unwrap().push(name(request));
            let flying = self.flying.fetch_add(1, Ordering::SeqCst) + 1;
            self.most.fetch_max(flying, Ordering::SeqCst);
            tokio::time::sleep(Duration::from_millis(100)).await;
            self.flying.fetch_sub(1, Ordering::SeqCst);
            (self.answer)(request)
        })
    }
}

/// Cached replies, by name.
struct Paid(HashMap<String, &'static str>);

impl ReplySource for Paid {
    fn find(&self, request: &JudgeRequest) -> Result<Option<JudgeReply>> {
        Ok(self
            .0
            .get(&name(request))
            .map(|text| JudgeReply::of_text(*text)))
    }
}

/// The cached reply, else the inner judge.
struct PaidFirst(Arc<Paid>, Arc<Scripted>);

impl Judge for PaidFirst {
    fn ask<'a>(&'a self, request: &'a JudgeRequest) -> AskFuture<'a> {
        match self.0.find(request) {
            Ok(Some(reply)) => Box::pin(std::future::ready(Ok(Outcome::Reply(JudgeReply {
                cached: true,
                ..reply
            })))),
            _ => self.1.ask(request),
        }
    }
}

#[derive(Default)]
struct Seen(Vec<RunEvent>);

impl EventSink for Seen {
    fn on_event(&mut self, event: &RunEvent) -> Result<()> {
        self.0.push(event.clone());
        Ok(())
    }
}

impl Seen {
    fn calls(&self) -> Vec<String> {
        let call = |event: &RunEvent| match event {
            RunEvent::Call(call) => Some(format!(
                "{}/{}#{}.{}",
                call.case_id, call.item, call.sample, call.attempt
            )),
            _ => None,
        };
        self.0.iter().filter_map(call).collect()
    }
}

fn points(points: u32) -> Result<Outcome, AskError> {
    Ok(Outcome::Reply(JudgeReply::of_text(format!(
        "{{\"score\": {points}}}"
    ))))
}

fn unreadable() -> Result<Outcome, AskError> {
    Ok(Outcome::Reply(JudgeReply::of_text("no idea")))
}

fn job(
    answers: usize,
    paid: &[(&str, &'static str)],
    change: impl FnOnce(&mut Options),
) -> (Job, Arc<Paid>) {
    sampled_job(answers, paid, 1, change)
}

fn sampled_job(
    answers: usize,
    paid: &[(&str, &'static str)],
    samples: u32,
    change: impl FnOnce(&mut Options),
) -> (Job, Arc<Paid>) {
    let rubric = Rubric {
        question: "q".into(),
        ..Rubric::default()
    };
    let item = |i: usize| {
        let case_id = CaseId::from(format!("c{i}"));
        let case = TestCase {
            criteria: Vec::new(),
            reference: None,
            shown: Default::default(),
            group: None,
            case_id: case_id.clone(),
            initial_prompt: "q".into(),
            annotator: String::new(),
            agreement: false,
            rubric: rubric.clone(),
        };
        let answer = Answer::new("s".into(), case_id, "text".repeat(answers - i));
        Item::new(Arc::new(case), answer)
    };
    let mut options = Options {
        concurrency: 1,
        parse_retries: 2,
        at_once: false,
        retry_unscored: false,
        mode: Mode::Default,
        reasoning_tags: Vec::new(),
        selected_items: Arc::default(),
    };
    change(&mut options);
    let paid = Arc::new(Paid(
        paid.iter()
            .map(|(name, text)| ((*name).to_owned(), *text))
            .collect(),
    ));
    let source = Arc::clone(&paid) as Arc<dyn ReplySource>;
    let member = Member {
        source,
        samples,
        ..Member::new(Scripted::new(|_| points(0)), "toy")
    };
    let job = Job {
        items: (0..answers).map(item).collect(),
        scorer: Arc::new(Toy),
        panels: Arc::new(Panels::from([(Role::Rubric, Panel::of_one(member))])),
        options: Arc::new(options),
    };
    (job, paid)
}

/// The job with only that judge.
fn asking(job: &Job, judge: Arc<dyn Judge>) -> [Job; 1] {
    let member = job.panels[&Role::Rubric].members[0].clone();
    let panels = Panels::from([(Role::Rubric, Panel::of_one(Member { judge, ..member }))]);
    [Job {
        panels: Arc::new(panels),
        ..job.clone()
    }]
}

async fn both_passes(job: &Job, judge: Arc<dyn Judge>) -> (Plan, RunOutcome, Seen) {
    let mut seen = Seen::default();
    let jobs = asking(job, judge);
    let planned = plan(&jobs, &mut seen).await.expect("planned");
    let mut outcome = run(&jobs, &planned.pending, &mut seen, &StopHandle::new())
        .await
        .expect("run");
    outcome.scored.extend(planned.scored);
    (planned.plan, outcome, seen)
}

#[tokio::test(start_paused = true)]
async fn a_gated_call_is_asked_only_where_its_gate_opened() {
    let (job, _) = job(2, &[], |_| ());
    let judge = Scripted::new(|request| points(u32::from(request.case_id.as_str() == "c1")));
    let (plan, outcome, _) = both_passes(&job, judge.clone()).await;
    assert_eq!(
        judge.asked(),
        [
            "c0/a#0.0",
            "c0/b#0.0",
            "c1/a#0.0",
            "c1/b#0.0",
            "c1/a_evidence#0.0"
        ]
    );
    assert_eq!(
        (plan.askable_now, plan.at_most, plan.cached),
        (4, 6, 0),
        "2 x (a, b), 2 x evidence at most"
    );
    assert_eq!(outcome.scored.len(), 2);
}

#[tokio::test(start_paused = true)]
async fn an_unreadable_reply_is_asked_again_twice_and_then_unscored() {
    let (job, _) = job(1, &[], |_| ());
    let judge = Scripted::new(|request| {
        if &*request.call.item == "a" {
            unreadable()
        } else {
            points(3)
        }
    });
    let (_, outcome, seen) = both_passes(&job, judge.clone()).await;
    assert_eq!(
        judge.asked(),
        ["c0/a#0.0", "c0/a#0.1", "c0/a#0.2", "c0/b#0.0"]
    );
    assert_eq!(seen.calls(), judge.asked(), "every attempt is recorded");
    let a = outcome.scored[0].score.component("a").expect("component");
    assert_eq!(
        a.reason.as_ref().map(|reason| reason.kind),
        Some(UnscoredKind::Unreadable)
    );
}

#[tokio::test(start_paused = true)]
async fn a_reply_that_is_nearly_json_is_read_at_once_and_noted() {
    // Of earlier versions, for which the first attempt was unreadable.
    let paid = [("c0/a#0.0", "{'score': 7}"), ("c0/a#0.1", "{\"score\": 4}")];
    let (job, source) = job(1, &paid, |_| ());
    let judge = Scripted::new(|_| points(3));
    let (_, outcome, _) = both_passes(&job, Arc::new(PaidFirst(source, judge.clone()))).await;
    assert_eq!(judge.asked(), ["c0/b#0.0", "c0/a_evidence#0.0"]);
    let score = &outcome.scored[0].score;
    assert_eq!(score.component("a").and_then(|a| a.value), Some(0.7));
    assert_eq!(score.notes, [super::attempts::MENDED_READING]);
}

#[tokio::test(start_paused = true)]
async fn used_attempts_are_repeated_only_on_request() {
    let paid = [
        ("c0/a#0.0", "?"),
        ("c0/a#0.1", "?"),
        ("c0/a#0.2", "?"),
        ("c0/b#0.0", "{\"score\": 1}"),
    ];
    let (plain, source) = job(1, &paid, |_| ());
    let judge = Scripted::new(|_| points(8));
    let (plan, outcome, _) = both_passes(&plain, Arc::new(PaidFirst(source, judge.clone()))).await;
    assert!(judge.asked().is_empty(), "nothing is asked again");
    assert_eq!((plan.askable_now, outcome.scored.len()), (0, 1));

    let (again, source) = job(1, &paid, |options| options.retry_unscored = true);
    let (plan, outcome, _) = both_passes(&again, Arc::new(PaidFirst(source, judge.clone()))).await;
    assert_eq!(
        judge.asked(),
        ["c0/a#0.3", "c0/a_evidence#0.0"],
        "the next attempt is asked"
    );
    assert_eq!((plan.askable_now, plan.at_most), (1, 2));
    assert_eq!(
        outcome.scored[0].score.component("a").and_then(|a| a.value),
        Some(0.8)
    );
}

#[tokio::test(start_paused = true)]
async fn a_later_cached_attempt_is_found_without_a_call() {
    let paid = [
        ("c0/a#0.0", "?"),
        ("c0/a#0.1", "?"),
        ("c0/a#0.2", "?"),
        ("c0/a#0.3", "{\"score\": 0}"),
        ("c0/b#0.0", "{\"score\": 1}"),
    ];
    let (job, _) = job(1, &paid, |_| ());
    let mut seen = Seen::default();
    let planned = plan(std::slice::from_ref(&job), &mut seen)
        .await
        .expect("planned");
    assert_eq!(
        planned.scored[0].score.component("a").and_then(|a| a.value),
        Some(0.0)
    );
    assert_eq!(planned.plan.cached, 2, "one verdict each for a and b");
}

#[tokio::test(start_paused = true)]
async fn the_plan_counts_gates_that_cached_replies_opened_or_closed() {
    let paid = [
        ("c0/a#0.0", "{\"score\": 4}"),
        ("c1/a#0.0", "{\"score\": 0}"),
        ("c1/b#0.0", "{\"score\": 2}"),
    ];
    let (job, source) = job(3, &paid, |_| ());
    let judge = Scripted::new(|_| points(8));
    let (plan, outcome, seen) = both_passes(&job, Arc::new(PaidFirst(source, judge.clone()))).await;
    // c0: b and, its gate being open, a_evidence; c1: complete; c2: a and b now, a_evidence perhaps.
    assert_eq!((plan.askable_now, plan.at_most, plan.cached), (4, 5, 3));
    assert_eq!(judge.asked().len(), 5);
    assert_eq!(outcome.scored.len(), 3);
    assert_eq!(
        seen.calls().len(),
        8,
        "each call is reported once, cached or new"
    );
}

#[tokio::test(start_paused = true)]
async fn calls_that_share_no_long_prefix_start_together() {
    let (job, _) = sampled_job(1, &[], 4, |options| options.concurrency = 8);
    let judge = Scripted::new(|request| {
        assert!(request.call.sample < 4);
        points(0)
    });
    let before = tokio::time::Instant::now();
    let (_, outcome, _) = both_passes(&job, judge.clone()).await;
    assert_eq!(before.elapsed(), Duration::from_millis(100));
    assert_eq!(judge.most.load(Ordering::SeqCst), 8);
    assert_eq!(outcome.scored.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn while_answers_wait_each_asks_one_call_at_a_time() {
    let (job, _) = job(4, &[], |options| options.concurrency = 2);
    let judge = Scripted::new(|_| points(0));
    both_passes(&job, judge.clone()).await;
    assert_eq!(judge.most.load(Ordering::SeqCst), 2);
    assert_eq!(
        judge.asked()[..4],
        ["c0/a#0.0", "c1/a#0.0", "c0/b#0.0", "c1/b#0.0"],
        "the two longest answers first"
    );
}

#[tokio::test(start_paused = true)]
async fn a_stopped_run_finishes_what_is_in_flight_and_asks_nothing_new() {
    let (job, _) = job(3, &[], |options| options.concurrency = 2);
    let judge = Scripted::new(|_| points(1));
    let stop = StopHandle::new();
    let mut seen = Seen::default();
    let later = stop.clone();
    tokio::spawn(async move {
        tokio::time::sleep(Duration::from_millis(50)).await;
        later.stop("SIGTERM");
    });
    let outcome = run(
        &asking(&job, judge.clone()),
        &[vec![0, 1, 2]],
        &mut seen,
        &stop,
    )
    .await
    .expect("run");
    assert_eq!(judge.asked(), ["c0/a#0.0", "c1/a#0.0"]);
    assert_eq!(seen.calls(), judge.asked(), "what was in flight is kept");
    assert_eq!(
        (outcome.unfinished, outcome.stopped.as_deref()),
        (3, Some("SIGTERM"))
    );
    assert!(seen.0.contains(&RunEvent::Stopping("SIGTERM".into())));
}

#[tokio::test(start_paused = true)]
async fn a_stop_keeps_every_call_of_an_answer_that_is_in_flight() {
    let (job, _) = sampled_job(1, &[], 8, |options| options.concurrency = 4);
    // Replies take different times, so that the first one back finds the others in flight.
    struct Uneven(Mutex<u64>);
    impl Judge for Uneven {
        fn ask<'a>(&'a self, _request: &'a JudgeRequest) -> AskFuture<'a> {
            let nth = {
                let mut count = self.0.lock().unwrap();
                *count += 1;
                *count
            };
            Box::pin(async move {
                tokio::time::sleep(Duration::from_millis(100 * nth)).await;
                points(1)
            })
        }
    }
    let stop = StopHandle::new();
    let later = stop.clone();
    tokio::spawn(async move {
        tokio::time::sleep(Duration::from_millis(150)).await;
        later.stop("SIGTERM");
    });
    let mut seen = Seen::default();
    let judge = Arc::new(Uneven(Mutex::new(0)));
    let outcome = run(
        &asking(&job, Arc::clone(&judge) as Arc<dyn Judge>),
        &[vec![0]],
        &mut seen,
        &stop,
    )
    .await
    .expect("run");
    let count = *judge.0.lock().unwrap();
    assert!(count > 2, "several calls were in flight");
    assert_eq!(
        seen.calls().len() as u64,
        count,
        "each call that was asked is recorded"
    );
    assert_eq!(outcome.unfinished, 1);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_hangs_is_dropped_after_the_grace() {
    struct Hangs;
    impl Judge for Hangs {
        fn ask<'a>(&'a self, _request: &'a JudgeRequest) -> AskFuture<'a> {
            Box::pin(std::future::pending())
        }
    }
    let (job, _) = job(1, &[], |_| ());
    let stop = StopHandle::new();
    stop.stop("SIGINT");
    let outcome = run(
        &asking(&job, Arc::new(Hangs)),
        &[vec![0]],
        &mut Seen::default(),
        &stop,
    )
    .await
    .expect("run");
    assert_eq!(outcome.unfinished, 1);
    let stop = StopHandle::new();
    let later = stop.clone();
    tokio::spawn(async move {
        tokio::time::sleep(Duration::from_secs(1)).await;
        later.stop("SIGINT");
    });
    let outcome = run(
        &asking(&job, Arc::new(Hangs)),
        &[vec![0]],
        &mut Seen::default(),
        &stop,
    )
    .await
    .expect("run");
    assert_eq!(outcome.unfinished, 1);
}

#[tokio::test(start_paused = true)]
async fn a_stopped_run_does_not_wait_for_calls_that_only_wait_themselves() {
    struct Waits;
    impl Judge for Waits {
        fn ask<'a>(&'a self, _request: &'a JudgeRequest) -> AskFuture<'a> {
            Box::pin(std::future::pending())
        }
    }
    let (job, _) = job(2, &[], |options| options.concurrency = 2);
    let stop = StopHandle::new();
    let later = stop.clone();
    tokio::spawn(async move {
        tokio::time::sleep(Duration::from_secs(1)).await;
        later.stop("SIGINT");
    });
    let before = tokio::time::Instant::now();
    let member = Member {
        in_flight: Some(Arc::new(|| 0)),
        ..Member::new(Arc::new(Waits), "waits")
    };
    let panels = Panels::from([(Role::Rubric, Panel::of_one(member))]);
    let jobs = [Job {
        panels: Arc::new(panels),
        ..job.clone()
    }];
    let outcome = run(&jobs, &[vec![0, 1]], &mut Seen::default(), &stop)
        .await
        .expect("run");
    assert_eq!(outcome.unfinished, 2);
    // 1 s until the stop, 5 checks of 100 ms; far from the 20 s that calls in flight would get.
    assert_eq!(before.elapsed(), Duration::from_millis(1500));
}

#[tokio::test(start_paused = true)]
async fn a_judge_that_is_never_understood_stops_the_run_early() {
    let (job, _) = job(40, &[], |_| ());
    let judge = Scripted::new(|_| unreadable());
    let all: Vec<usize> = (0..40).collect();
    let error = run(
        &asking(&job, judge.clone()),
        &[all],
        &mut Seen::default(),
        &StopHandle::new(),
    )
    .await
    .unwrap_err();
    assert!(
        error
            .to_string()
            .contains("no reply to the property calls about 3 different cases"),
        "{error}"
    );
    // a and b of two answers and a of the third, three times each
    assert_eq!(judge.asked().len(), 15);
}

#[tokio::test(start_paused = true)]
async fn unreadable_replies_about_two_answers_stop_no_run() {
    let (job, _) = job(2, &[], |_| ());
    let (_, outcome, _) = both_passes(&job, Scripted::new(|_| unreadable())).await;
    assert_eq!(outcome.scored.len(), 2);
    assert!(
        outcome
            .scored
            .iter()
            .all(|scored| scored.score.value.is_none())
    );
}

#[tokio::test(start_paused = true)]
async fn a_fatal_error_ends_the_run_with_it() {
    let (job, _) = job(3, &[], |_| ());
    let judge =
        Scripted::new(|_| Err(AskError::Fatal(Error::JudgeUnavailable("wrong key".into()))));
    let error = run(
        &asking(&job, judge.clone()),
        &[vec![0, 1, 2]],
        &mut Seen::default(),
        &StopHandle::new(),
    )
    .await
    .unwrap_err();
    assert_eq!(error.to_string(), "wrong key");
    assert_eq!(judge.asked().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_sink_that_cannot_write_stops_the_run() {
    struct Full;
    impl EventSink for Full {
        fn on_event(&mut self, _event: &RunEvent) -> Result<()> {
            Err(Error::Settings("disk full".into()))
        }
    }
    let (job, _) = job(5, &[], |_| ());
    let judge = Scripted::new(|_| points(1));
    let error = run(
        &asking(&job, judge.clone()),
        &[vec![0, 1, 2, 3, 4]],
        &mut Full,
        &StopHandle::new(),
    )
    .await
    .unwrap_err();
    assert_eq!(error.to_string(), "disk full");
    assert!(judge.asked().len() <= 3, "asked {:?}", judge.asked());
}

/// A job whose judge votes on each call with so many samples.
fn voting_job(paid: &[(&str, &'static str)], samples: u32) -> (Job, Arc<Paid>) {
    let (mut job, paid) = sampled_job(1, paid, samples, |options| options.concurrency = 8);
    let member = Member {
        merge: GradeMerge::MostCommon,
        ..job.panels[&Role::Rubric].members[0].clone()
    };
    job.panels = Arc::new(Panels::from([(Role::Rubric, Panel::of_one(member))]));
    (job, paid)
}

#[tokio::test(start_paused = true)]
async fn a_vote_stops_when_no_further_sample_can_change_it() {
    // a: 7 7; b: 3 4 4, where the first two are always asked and the third decides.
    let judge = Scripted::new(|request| match (&*request.call.item, request.call.sample) {
        ("a", _) => points(7),
        ("b", 0) => points(3),
        ("b", _) => points(4),
        _ => points(1),
    });
    let (job, _) = voting_job(&[], 3);
    let (plan, outcome, seen) = both_passes(&job, judge.clone()).await;
    // a and b twice now; their third samples, and the evidence behind its gate thrice, at most
    assert_eq!((plan.askable_now, plan.at_most), (4, 9));
    let mut calls = judge.asked();
    calls.sort();
    let expected = [
        "c0/a#0.0",
        "c0/a#1.0",
        "c0/a_evidence#0.0",
        "c0/a_evidence#1.0",
        "c0/b#0.0",
        "c0/b#1.0",
        "c0/b#2.0",
    ];
    assert_eq!(calls, expected);
    assert_eq!(seen.calls().len(), expected.len());
    let scored = &outcome.scored[0];
    assert_eq!(scored.score.component("b").and_then(|b| b.value), Some(0.4));
    let b = &scored.members["b"][0];
    assert_eq!(b.samples, [Some(3.0), Some(4.0), Some(4.0)]);
    // The spread is that of the first two: the third was taken because they differ.
    assert!(b.stops_early && (b.spread.unwrap() - 0.5_f64.sqrt()).abs() < 1e-12);
}

#[tokio::test(start_paused = true)]
async fn a_vote_continues_from_the_samples_that_are_paid_for() {
    let paid = [
        ("c0/a#0.0", "{\"score\": 0}"),
        ("c0/a#1.0", "{\"score\": 0}"),
        ("c0/b#0.0", "{\"score\": 2}"),
        ("c0/b#1.0", "{\"score\": 3}"),
        ("c0/b#2.0", "{\"score\": 4}"),
    ];
    let (job, source) = voting_job(&paid, 5);
    let judge = Scripted::new(|_| points(3));
    let judged = Arc::new(PaidFirst(source, judge.clone()));
    let (plan, outcome, _) = both_passes(&job, judged).await;
    // now: the third of a, since three of five are always needed, and the fourth of b, which may settle 2, the first seen; at
    // most: all of both, and five about the evidence
    assert_eq!((plan.askable_now, plan.at_most, plan.cached), (2, 10, 5));
    let mut calls = judge.asked();
    calls.sort();
    // a: 0 0 3 3 3; its evidence: 3 3 3; b: 2 3 4 3 3
    let evidence = [
        "c0/a_evidence#0.0",
        "c0/a_evidence#1.0",
        "c0/a_evidence#2.0",
    ];
    let of_b = ["c0/b#3.0", "c0/b#4.0"];
    let of_a = ["c0/a#2.0", "c0/a#3.0", "c0/a#4.0"];
    assert_eq!(calls, [&of_a[..], &evidence, &of_b].concat());
    let score = &outcome.scored[0].score;
    assert_eq!(score.component("a").and_then(|a| a.value), Some(0.3));
    assert_eq!(score.component("b").and_then(|b| b.value), Some(0.3));
}

#[tokio::test(start_paused = true)]
async fn an_unreadable_sample_does_not_vote() {
    let judge = Scripted::new(|request| match request.call.sample {
        0 => unreadable(),
        _ => points(0),
    });
    let (job, _) = voting_job(&[], 3);
    let (_, outcome, _) = both_passes(&job, judge.clone()).await;
    // One 0 of two samples: the third could only tie.
    assert!(judge.asked().iter().all(|call| !call.contains("#2")));
    assert_eq!(
        outcome.scored[0].score.component("a").and_then(|a| a.value),
        Some(0.0)
    );
}

#[tokio::test(start_paused = true)]
async fn a_panel_asks_every_judge_and_keeps_every_verdict() {
    let (job, _) = job(1, &[], |_| ());
    let member =
        |points_of: u32, id: &str| Member::new(Scripted::new(move |_| points(points_of)), id);
    let members = vec![
        member(4, "strict"),
        Member {
            samples: 2,
            ..member(8, "kind")
        },
    ];
    let panels = Panels::from([(
        Role::Rubric,
        Panel {
            members,
            merge: GradeMerge::Mean,
        },
    )]);
    let jobs = [Job {
        panels: Arc::new(panels),
        ..job
    }];
    let mut seen = Seen::default();
    let planned = plan(&jobs, &mut seen).await.expect("planned");
    // a and b, each by one sample of one judge and two of the other; a_evidence behind its gate
    assert_eq!((planned.plan.askable_now, planned.plan.at_most), (6, 9));
    let outcome = run(&jobs, &planned.pending, &mut seen, &StopHandle::new())
        .await
        .expect("run");
    let scored = &outcome.scored[0];
    // (4 + 8) / 2 / 10
    assert_eq!(scored.score.component("a").and_then(|a| a.value), Some(0.6));
    let values: Vec<_> = scored.members["a"]
        .iter()
        .map(|m| (&*m.judge, m.value, m.samples.len(), m.spread))
        .collect();
    assert_eq!(
        values,
        [
            ("strict", Some(4.0), 1, None),
            ("kind", Some(8.0), 2, Some(0.0))
        ]
    );
    let ids: std::collections::HashSet<_> = seen.0.iter().filter_map(call_id_of).collect();
    assert_eq!(
        ids.len(),
        9,
        "every call of every judge has an id of its own"
    );
}

fn call_id_of(event: &RunEvent) -> Option<CallId> {
    match event {
        RunEvent::Call(call) => Some(call.call_id),
        _ => None,
    }
}

#[tokio::test(start_paused = true)]
async fn a_role_without_a_judge_leaves_its_components_unscored_and_makes_no_calls() {
    let (job, _) = job(2, &[], |_| ());
    let jobs = [Job {
        panels: Arc::new(Panels::new()),
        ..job
    }];
    let planned = plan(&jobs, &mut Seen::default()).await.expect("planned");
    assert!(planned.is_done());
    let reason = planned.scored[0]
        .score
        .component("a")
        .and_then(|a| a.reason.clone())
        .expect("a reason");
    assert_eq!(
        *reason,
        UnscoredReason::new(UnscoredKind::NotAsked, "no judge was asked")
    );
}

#[tokio::test(start_paused = true)]
async fn the_jobs_of_a_run_do_not_wait_for_each_other() {
    let (job, _) = job(4, &[], |options| options.concurrency = 1);
    let (slow, quick) = (Scripted::new(|_| points(0)), Scripted::new(|_| points(0)));
    let jobs =
        [&slow, &quick].map(|judge| asking(&job, Arc::clone(judge) as Arc<dyn Judge>)[0].clone());
    let all = vec![vec![0, 1, 2, 3], vec![0, 1, 2, 3]];
    let before = tokio::time::Instant::now();
    let outcome = run(&jobs, &all, &mut Seen::default(), &StopHandle::new())
        .await
        .expect("run");
    assert_eq!(outcome.scored.len(), 8);
    // 8 calls of 100 ms one after the other in each job; both at once
    assert_eq!(before.elapsed(), Duration::from_millis(800));
}

/// The answers of a decision model that gives each item these points, with the other probability at no points; points of 11 cannot
/// be read.
fn decided(request: &JudgeRequest, points_of: impl Fn(&str) -> u32) -> Result<Outcome, AskError> {
    let chunk: &DecisionChunk = request.call.question.downcast_ref().expect("a chunk");
    let mut answers = Map::new();
    for (place, item) in chunk.items.iter().enumerate() {
        let points = points_of(&item.name);
        let p = |option: u32| {
            f64::from(u8::from(option == points))
                .mul_add(0.8, f64::from(u8::from(option == 0)) * 0.2)
        };
        let probabilities: Map<String, Value> = (0..=10)
            .map(|option: u32| (option.to_string(), p(option).into()))
            .collect();
        let answer =
            json!({"type": "choice", "choice": points.to_string(), "probabilities": probabilities});
        answers.insert(format!("c{}", place + 1), answer);
    }
    Ok(Outcome::Reply(JudgeReply::of_text(
        Value::Object(answers).to_string(),
    )))
}

/// A job whose judge is a decision model with at most so many questions a request.
fn decided_job(most: usize) -> Job {
    let (job, _) = job(1, &[], |_| ());
    let prompts = Arc::new(PromptSet::builtin());
    let member = Member {
        decider: Decider::new(
            JudgeKind::SystemOne,
            prompts,
            DecisionBounds::of_questions(most),
        ),
        ..job.panels[&Role::Rubric].members[0].clone()
    };
    Job {
        panels: Arc::new(Panels::from([(Role::Rubric, Panel::of_one(member))])),
        ..job
    }
}

#[tokio::test(start_paused = true)]
async fn a_decision_model_is_asked_the_calls_of_a_step_in_one_request() {
    let judge = Scripted::new(|request| decided(request, |item| if item == "b" { 5 } else { 10 }));
    let (plan, outcome, _) = both_passes(&decided_job(64), judge.clone()).await;
    assert_eq!(judge.asked(), ["c0/a..b#0.0", "c0/a_evidence#0.0"]);
    assert_eq!((plan.askable_now, plan.at_most), (1, 2));
    let score = &outcome.scored[0].score;
    let values =
        |score: &Score| ["a", "b"].map(|name| score.component(name).and_then(|part| part.value));
    assert_eq!(values(score), [Some(1.0), Some(0.5)]);
    let belief = score
        .component("b")
        .and_then(|part| part.belief.as_deref().copied());
    let belief = belief.expect("probabilities");
    // .8 x .5, and .8 x .2 x .5 x .5
    assert!((belief.expected - 0.4).abs() < 1e-9);
    assert!((belief.doubt.expect("probabilities") - 0.04).abs() < 1e-9);
}

#[tokio::test(start_paused = true)]
async fn what_is_too_long_is_asked_in_halves_and_the_plan_counts_what_is_left() {
    let too_long = |request: &JudgeRequest| {
        if request.call.items().len() > 1 {
            return Ok(Outcome::Reply(JudgeReply {
                finish_reason: Some(TOO_LONG.to_owned()),
                ..JudgeReply::of_text("status 413")
            }));
        }
        decided(request, |_| 10)
    };
    let judge = Scripted::new(too_long);
    let (_, outcome, seen) = both_passes(&decided_job(64), judge.clone()).await;
    let asked = judge.asked();
    assert_eq!(
        asked,
        ["c0/a..b#0.0", "c0/a#0.0", "c0/b#0.0", "c0/a_evidence#0.0"]
    );
    assert!(outcome.scored[0].score.is_complete());
    let recorded = seen.0.iter().filter_map(call_id_of).count();
    assert_eq!(recorded, 4, "the refusal is recorded like a reply");
    // The halves took its place, and each has a verdict.
    assert_eq!(replaced_and_failed(&seen), (1, 0));
}

/// How many requests other ones replaced, and how many have no verdict in the end.
fn replaced_and_failed(seen: &Seen) -> (usize, usize) {
    let (mut replaced, mut failed) = (0, 0);
    for event in &seen.0 {
        if let RunEvent::Call(call) = event {
            replaced += usize::from(call.is_replaced);
            failed += usize::from(call.failure().is_some());
        }
    }
    (replaced, failed)
}

#[tokio::test(start_paused = true)]
async fn only_what_has_no_verdict_when_it_was_asked_alone_is_a_failure() {
    // Neither can be read together; alone the first can.
    let judge = Scripted::new(|request| {
        let is_alone = request.call.items().len() == 1;
        decided(
            request,
            |item| if is_alone && item != "b" { 10 } else { 11 },
        )
    });
    let (_, _, seen) = both_passes(&decided_job(64), judge.clone()).await;
    assert_eq!(
        judge.asked(),
        ["c0/a..b#0.0", "c0/a#0.1", "c0/b#0.1", "c0/a_evidence#0.0"]
    );
    assert_eq!(replaced_and_failed(&seen), (1, 1));
    // A request that brings nothing for good is one.
    let judge = Scripted::new(|_| Ok(Outcome::Reply(JudgeReply::of_text("{}"))));
    let (_, _, seen) = both_passes(&decided_job(64), judge.clone()).await;
    assert_eq!(judge.asked(), ["c0/a..b#0.0"]);
    assert_eq!(replaced_and_failed(&seen), (0, 1));
}

#[tokio::test(start_paused = true)]
async fn an_item_whose_answer_cannot_be_read_is_asked_alone_once() {
    let judge = Scripted::new(|request| decided(request, |item| if item == "b" { 11 } else { 10 }));
    let (_, outcome, _) = both_passes(&decided_job(64), judge.clone()).await;
    let asked = judge.asked();
    assert_eq!(asked, ["c0/a..b#0.0", "c0/b#0.1", "c0/a_evidence#0.0"]);
    let score = &outcome.scored[0].score;
    assert!(score.value.is_none(), "never the mean of the others");
    let reason = score.component("b").and_then(|part| part.reason.as_deref());
    assert_eq!(
        reason.map(|reason| reason.kind),
        Some(UnscoredKind::Unreadable)
    );
}

#[tokio::test(start_paused = true)]
async fn a_request_has_no_more_questions_than_its_server_takes() {
    let judge = Scripted::new(|request| decided(request, |_| 10));
    both_passes(&decided_job(1), judge.clone()).await;
    assert_eq!(judge.asked(), ["c0/a#0.0", "c0/b#0.0", "c0/a_evidence#0.0"]);
}
