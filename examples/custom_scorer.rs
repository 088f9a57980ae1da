//! A scorer of one's own, run over all sample answers: half of it counted from the text, half of it judged.
//!
//! A scorer asks and never calls: `step` is a pure function that gives either questions or the finished score. The
//! pipeline asks the judge, reads the replies, and steps again. Run with `cargo run --example custom_scorer`.
#![expect(clippy::print_stdout, reason = "an example shows what it found")]

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use scholareval::Result;
use scholareval::dataset::{PairOptions, load_answers, load_test_cases, pair};
use scholareval::domain::{
    Answer, Component, ComponentKind, JudgeCall, JudgeTask, Mode, Role, Score, TestCase, Verdict,
};
use scholareval::evaluation::{self, EventSink, Item, Job, Member, Options, Panel, Panels, RunEvent, StopHandle};
use scholareval::judge::lexical::Lexical;
use scholareval::scorer::{Judged, Scorer, Step, Verdicts};
use scholareval::text::words::words;

/// The name of the judged component, and of the call that it is judged by.
const LIMITS: &str = "limits";

/// Does the answer give numbers, and does it say what is not known?
struct Caution;

impl Scorer for Caution {
    fn name(&self) -> &'static str {
        "caution"
    }

    fn step(&self, case: &TestCase, answer: &Answer, verdicts: &Verdicts) -> Step {
        let Some(judged) = verdicts.get(LIMITS) else {
            let task = JudgeTask::Property {
                question: Arc::clone(&case.rubric.question),
                answer: Arc::clone(&answer.answer_text),
                criterion: "The answer names limits, uncertainty or open problems.".into(),
            };
            return Step::Ask(vec![JudgeCall { item: LIMITS.into(), role: Role::Rubric, task, draw: 0, member: 0 }]);
        };
        // What could not be judged keeps its reason, and leaves the score without a value.
        let (value, reason) = match judged {
            Judged::Verdict(Verdict::Points(points), _) => (Some(points / 10.0), None),
            Judged::Verdict(..) => (None, None),
            Judged::Unscored(reason) => (None, Some(reason.clone())),
        };
        let numbers = words(&answer.answer_text).filter(|word| word.contains(|c: char| c.is_ascii_digit())).count();
        let part = |name: &str, value, reason| Component {
            name: name.to_owned(),
            kind: ComponentKind::Property,
            text: name.to_owned(),
            weight: 0.5,
            value,
            reason,
            feedback: None,
        };
        let numbers = part("numbers", Some((numbers as f64 / 10.0).min(1.0)), None);
        let components = vec![numbers, part(LIMITS, value, reason)];
        let total = components.iter().map(|part| part.value.map(|value| part.weight * value)).sum();
        Step::Done(Score { scorer: self.name(), value: total, components, ..Score::default() })
    }
}

/// Sums up the scores as they come; a scored answer is one event of a run.
#[derive(Default)]
struct Sums(BTreeMap<String, (f64, usize)>);

impl EventSink for Sums {
    fn on_event(&mut self, event: &RunEvent) -> Result<()> {
        if let RunEvent::Scored(scored) = event
            && let Some(value) = scored.score.value
        {
            let (sum, count) = self.0.entry(scored.system.to_string()).or_default();
            *sum += value;
            *count += 1;
        }
        Ok(())
    }
}

#[tokio::main]
async fn main() -> Result<()> {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("data");
    let tests = load_test_cases(&data.join("test_cases.json"), Mode::Default)?;
    let systems = load_answers(&[data.join("answers")], Mode::Default)?;
    let paired = pair(&tests, &systems, &PairOptions::default())?.items;
    let items: Arc<[Item]> =
        paired.into_iter().map(|pair| Item { case: pair.case, answer: pair.answer, steering: Vec::new() }).collect();
    let judge = Arc::new(Lexical::new(&tests.cases));
    let jobs = [Job {
        items,
        scorer: Arc::new(Caution),
        panels: Arc::new(Panels::none().with(Role::Rubric, Panel::of_one(Member::new(judge, "lexical")))),
        options: Arc::new(Options { concurrency: 4, parse_retries: 2, retry_unscored: false, mode: Mode::Default }),
    }];
    let mut sums = Sums::default();
    // Planning scores what is already paid (here nothing) and counts the rest.
    let planned = evaluation::plan(&jobs, &mut sums).await?;
    println!("{} answers, {} calls to ask", planned.plan.answers, planned.plan.askable_now);
    evaluation::run(&jobs, &planned.pending, &mut sums, &StopHandle::new()).await?;
    for (system, (sum, count)) in sums.0 {
        println!("{system:<10} {:.3} over {count} answers", sum / count as f64);
    }
    Ok(())
}
