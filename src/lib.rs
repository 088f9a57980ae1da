//! Scores long-form answers to scientific questions.
//!
//! The program `scholareval` is a thin layer over this library. What it computes stands in `docs/metrics.md`, every file
//! it reads or writes in `docs/formats.md`, why it is built this way in `docs/design.md`.
//!
//! # From files to numbers
//!
//! 1. [`dataset`] reads test cases, answers, predictions with their sources and gold answers, and joins them; an error names
//!    file, line and case.
//! 2. A [`Scorer`] [`step`](Scorer::step)s: a pure function that returns the questions it needs
//!    ([`JudgeCall`](domain::JudgeCall)s: structured tasks, not prompts, each for a [`Role`](domain::Role)) or the finished
//!    [`Score`](domain::Score). See [`scorer`].
//! 3. [`prompt`] turns a task into messages, for judges that read prompts.
//! 4. A [`Judge`] replies; a role with several judges has a [`Panel`](evaluation::Panel). Judges wrap judges: see
//!    [`judge::cache`], [`judge::layers`], [`judge::chat`]; [`judge::lexical`] is a baseline that answers the task itself.
//! 5. [`JudgeTask::parse`](domain::JudgeTask::parse) reads the raw reply into a [`Verdict`](domain::Verdict). What has no
//!    verdict is *unscored*, with a reason, and never a silent 0.
//! 6. [`evaluation`] runs the loop over all answers of every scorer's [`Job`](evaluation::Job), first as a plan that asks
//!    nothing, then for real, and emits events; [`evaluation::record`] writes them down.
//! 7. [`analysis`] makes means with intervals, ranks, comparisons and agreement of the scores; [`report`] renders them.
//!
//! SciFact and FEVER have files of their own: [`facts`]. [`stats`] and [`text`] can be used by themselves.
//!
//! # One answer, scored by hand
//!
//! The scorer can be driven without any pipeline, prompt or runtime:
//!
//! ```
//! use std::sync::Arc;
//! use scholareval::domain::{Answer, JudgeReply, Mode, RubricParts};
//! use scholareval::judge::lexical::Lexical;
//! use scholareval::scorer::{Judged, Scorer, Step, Verdicts, rubric::RubricScorer};
//!
//! # fn main() -> scholareval::Result<()> {
//! let cases = r#"[{"case_id": "c1", "initial_prompt": "Why is the sky blue?", "metric_config": {"config": {
//!     "question": "Why is the sky blue?",
//!     "other_properties": [{"name": "rayleigh", "weight": 0.6, "evidence": [],
//!         "criterion": "The answer should name Rayleigh scattering of short wavelengths."}]}}}]"#;
//! let tests = scholareval::dataset::parse_test_cases(cases, "cases.json".as_ref(), Mode::Default)?;
//! let case = &tests.cases[0];
//! let answer_text = "Rayleigh scattering is strongest at short wavelengths [1].";
//! let answer = Answer::new("mine".into(), "c1".into(), answer_text);
//!
//! let judge = Lexical::new(&tests.cases);
//! let scorer = RubricScorer::new(RubricParts::BOTH, Mode::Default);
//! let mut verdicts = Verdicts::new();
//! let score = loop {
//!     match scorer.step(case, &answer, &verdicts) {
//!         Step::Done(score) => break score,
//!         Step::Ask(calls) => {
//!             for call in calls {
//!                 let reply = JudgeReply::of_text(judge.answer(&call.task));
//!                 let judged = match call.task.parse(&reply, Mode::Default) {
//!                     Ok((verdict, feedback)) => Judged::Verdict(verdict, feedback),
//!                     Err(unreadable) => Judged::Unscored(unreadable.into()),
//!                 };
//!                 verdicts.insert(Arc::clone(&call.item), judged);
//!             }
//!         }
//!     }
//! };
//! assert_eq!(score.component("citations").and_then(|part| part.value), Some(1.0)); // 1 claim, cited
//! assert!(score.value.is_some_and(|value| value > 0.5 && value <= 1.0));
//! # Ok(())
//! # }
//! ```
//!
//! `examples/score_one.rs` does the same through `evaluation`, with a judge made of a closure; `examples/custom_scorer.rs`
//! runs a scorer of its own over many answers.
//!
//! # What is promised
//!
//! Numbers: the default mode follows `docs/metrics.md`; [`Mode::Compat`](domain::Mode::Compat) gives the reference
//! scripts' numbers, faults included, within the limits stated there. Files carry a version. The Rust interface may change
//! with every minor version before 1.0.

pub mod analysis;
pub mod cli;
pub mod dataset;
pub mod domain;
pub mod error;
pub mod evaluation;
pub mod facts;
pub mod judge;
pub mod prompt;
pub mod report;
pub mod scorer;
pub mod stats;
pub mod text;

pub use error::{Error, Result};
pub use judge::Judge;
pub use scorer::Scorer;
