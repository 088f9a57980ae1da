//! Assumed answers to deferred calls, so that planning reaches the calls behind them.

use std::sync::Arc;

use crate::domain::{Item, Reading, Score};
use crate::question::{JudgeCall, Question};
use crate::scorer::{Scorer, Step, Subject, Verdicts};

/// Items that were deferred, with their questions.
pub(super) type Deferred = [(Arc<str>, Arc<dyn Question>)];

/// Gives deferred calls the verdicts that open their gates.
pub(super) fn open(verdicts: &mut Verdicts, deferred: &Deferred) {
    for (item, question) in deferred {
        let reading = Reading::new(question.opening());
        verdicts.insert(Arc::clone(item), Ok(reading));
    }
}

/// The score of an item if every gate opens, with the calls that this takes.
pub(super) fn assumed_score(
    scorer: &dyn Scorer,
    item: &Item,
    mut on_call: impl FnMut(&JudgeCall),
) -> Score {
    let mut verdicts = Verdicts::default();
    loop {
        let calls = match scorer.step(&Subject::of(item), &verdicts) {
            Step::Ask(calls) => calls,
            Step::Done(score) => return score,
        };
        let mut opened = Vec::with_capacity(calls.len());
        for call in calls {
            on_call(&call);
            opened.push((call.item, call.question));
        }
        open(&mut verdicts, &opened);
    }
}

/// Removes the assumed verdicts.
pub(super) fn forget(verdicts: &mut Verdicts, deferred: &Deferred) {
    for (item, _) in deferred {
        verdicts.remove(item);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;
    use crate::domain::{Answer, Item, JudgeReply, Prediction, Role, Source, TestCase};
    use crate::error::Result;
    use crate::evaluation::{
        Job, Member, Options, Panel, Panels, PlanOutcome, StopHandle, plan, run,
    };
    use crate::judge::planner::ReplySource;
    use crate::judge::{AskFuture, Judge, JudgeRequest, Outcome};
    use crate::record::NoEvents;
    use crate::scorer::entailment::EntailmentScorer;

    /// Always defers; planning never asks it.
    struct Silent;

    impl Judge for Silent {
        fn ask<'a>(&'a self, _request: &'a JudgeRequest) -> AskFuture<'a> {
            Box::pin(std::future::ready(Ok(Outcome::Deferred)))
        }
    }

    /// Labels by the name of the question.
    struct Holds(Vec<(&'static str, &'static str)>);

    impl ReplySource for Holds {
        fn find(&self, request: &JudgeRequest) -> Result<Option<JudgeReply>> {
            let item = &*request.call.item;
            Ok(self
                .0
                .iter()
                .find(|(known_item, _)| *known_item == item)
                .map(|(_, label)| JudgeReply::of_text(*label)))
        }
    }

    const THREE_AND_ONE: &str = "This sentence is surely longer than fifty characters and cites three [0][1][2]. \
                                 This sentence is surely longer than fifty characters and cites one [3].";

    async fn planned(holds: Vec<(&'static str, &'static str)>) -> PlanOutcome {
        planned_of(THREE_AND_ONE, holds).await
    }

    async fn planned_of(text: &str, holds: Vec<(&'static str, &'static str)>) -> PlanOutcome {
        let member = Member {
            source: Arc::new(Holds(holds)),
            ..Member::new(Arc::new(Silent), "silent")
        };
        plan(&[job(text, member)], &mut NoEvents).await.unwrap()
    }

    fn job(text: &str, member: Member) -> Job {
        let source = |n: usize| Source {
            text: Some(format!("text {n}")),
            ..Source::default()
        };
        let prediction = Prediction {
            input: "Why?".to_owned(),
            output: Some(text.into()),
            sources: (0..4).map(source).collect(),
            ..Prediction::default()
        };
        let answer = Answer {
            prediction: Some(Arc::new(prediction)),
            ..Answer::new("s".into(), "c".into(), text)
        };
        let case = Arc::new(TestCase::without_rubric("c".into(), "Why?"));
        let options = Options {
            concurrency: 1,
            parse_retries: 0,
            at_once: false,
            retry_unscored: false,
            mode: crate::domain::Mode::Default,
            reasoning_tags: Vec::new(),
            selected_items: Arc::default(),
        };
        Job {
            items: Arc::from([Item::new(case, answer)]),
            scorer: Arc::new(EntailmentScorer::default()),
            panels: Arc::new(Panels::from([(Role::Citation, Panel::of_one(member))])),
            options: Arc::new(options),
        }
    }

    /// Derives labels from a hash of the question, most of them support; counts the calls.
    struct Fickle(u64, AtomicU64);

    impl Judge for Fickle {
        fn ask<'a>(&'a self, request: &'a JudgeRequest) -> AskFuture<'a> {
            self.1.fetch_add(1, Ordering::SeqCst);
            let mut hasher = blake3::Hasher::new();
            hasher
                .update(&self.0.to_le_bytes())
                .update(request.call.question.judged().as_bytes());
            let holds = !hasher.finalize().as_bytes()[0].is_multiple_of(3);
            let label = if holds {
                "Attributable"
            } else {
                "Extrapolatory"
            };
            Box::pin(std::future::ready(Ok(Outcome::Reply(JudgeReply::of_text(
                label,
            )))))
        }
    }

    #[tokio::test]
    async fn no_verdicts_lead_to_more_calls_than_planned_at_most() {
        let sentence = |cited: &str| {
            format!("Yeast makes alcohol when oxygen is scarce, as brewers know {cited}. ")
        };
        let text = ["[0][1][2]", "[0]", "[1][2]", "[3][0]", "[2][1][3]", ""]
            .map(sentence)
            .concat();
        let mut most = 0;
        for seed in 0..100 {
            let judge = Arc::new(Fickle(seed, AtomicU64::new(0)));
            let jobs = [job(
                &text,
                Member::new(Arc::clone(&judge) as Arc<dyn Judge>, "fickle"),
            )];
            let planned = plan(&jobs, &mut NoEvents).await.unwrap();
            run(&jobs, &planned.pending, &mut NoEvents, &StopHandle::new())
                .await
                .unwrap();
            let calls = judge.1.load(Ordering::SeqCst);
            assert!(
                (planned.plan.askable_now..=planned.plan.at_most).contains(&calls),
                "seed {seed}: {calls} calls"
            );
            most = most.max(calls);
        }
        assert!(most >= 10, "no gate was open in any run: {most} calls");
    }

    /// Calls now, and behind gates.
    fn counts(planned: &PlanOutcome) -> (u64, u64) {
        let group = &planned.groups[0];
        (group.now.calls, group.at_most.calls - group.now.calls)
    }

    #[tokio::test]
    async fn every_round_of_entailment_is_planned_as_far_as_it_can_come() {
        // now: all three citations together, and the single one; behind one gate: each of the three alone; behind two:
        // the other two without it, three times
        let none = planned(Vec::new()).await;
        assert_eq!(counts(&none), (2, 3 + 3));
        assert_eq!(none.plan.at_most, 8);
    }

    #[tokio::test]
    async fn a_plan_respects_cached_replies() {
        // together they do not support: nothing is behind that gate
        let closed = planned(vec![("s1[0,1,2]", "Contradictory")]).await;
        assert_eq!(counts(&closed), (1, 0));
        let open = planned(vec![
            ("s1[0,1,2]", "Attributable"),
            ("s2[3]", "Attributable"),
        ])
        .await;
        // each alone can be asked now; the other two without it are behind that reply
        assert_eq!(counts(&open), (3, 3));
    }

    #[tokio::test]
    async fn a_reply_that_two_sentences_need_otherwise_is_planned_both_ways() {
        let text = "Yeast makes alcohol when oxygen is scarce, as brewers know [0][1][2]. \
                    Yeast makes alcohol when oxygen is scarce, as brewers know [0].";
        // now: all three together, and the first alone, which is all that the second sentence cites; behind one gate: the
        // two others alone, and their pair, since the first alone is replied to by then; behind two: the other pairs
        let planned = planned_of(text, Vec::new()).await;
        assert_eq!(counts(&planned), (2, 3 + 2));
        let paid = planned_of(
            text,
            vec![("s1[0,1,2]", "Attributable"), ("s2[0]", "Contradictory")],
        )
        .await;
        // the two others alone, and the pair without the first, can be asked now; behind those two: the other pairs
        assert_eq!(counts(&paid), (3, 2));
    }
}
