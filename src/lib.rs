//! Scores long-form answers to scientific questions, with LLM judges and deterministic checks.
//!
//! An [`Evaluation`] reads a directory of answer files (one file is one system), pairs each answer with its test case, asks a
//! judge the questions of the scorers, and gives a [`Run`]: scores, and a record from which every report can be made. The
//! program `scholareval` is a client of this library.
//!
//! ```no_run
//! use scholareval::{Evaluation, JudgeBuilder, Result};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<()> {
//! let judge = JudgeBuilder::openai("openai/gpt-oss-120b")
//!     .base_url("https://openrouter.ai/api/v1")
//!     .api_key("sk-..")
//!     .concurrency(8)
//!     .cache("replies.sqlite");
//! let run = Evaluation::builder().tests("tests.json").answers("answers").judge(judge).run("runs/mine").await?;
//! for scored in run.scores() {
//!     println!("{} {}: {:?}", scored.system, scored.case.case_id, scored.score.value);
//! }
//! # Ok(())
//! # }
//! ```
//!
//! * [Concepts](#concepts)
//! * [Example: offline, with the lexical baseline](#example-offline-with-the-lexical-baseline)
//! * [Example: a custom judge](#example-a-custom-judge)
//! * [Example: a scorer by hand](#example-a-scorer-by-hand)
//! * [Rooms](#rooms)
//!
//! # Concepts
//!
//! A **[`Scorer`]** turns an answer into a [`Score`](domain::Score). It asks and never calls: [`step`](Scorer::step) is a pure
//! function that returns the questions it needs ([`JudgeCall`](question::JudgeCall)s: data, not prompts), or the finished
//! score.
//!
//! A **[`Judge`]** replies to a call. [`JudgeBuilder`] makes one of a model behind an OpenAI-compatible endpoint or Anthropic's, with its
//! limits, retries and reply cache. A [`Role`](domain::Role) (rubric, aspects, citations) may have a panel of several.
//!
//! A **verdict** is what is read from a reply. An answer without one is *unscored*, with a reason; never 0, never NaN.
//!
//! A **plan** is the same run with a judge that has cached replies only: it scores what they settle, counts the rest, and
//! costs nothing. [`Evaluation::plan`] gives it; every run begins with it, so that nothing is paid twice.
//!
//! A **[`Run`]** is a directory: its manifest, inputs, calls with raw replies, and scores. The same evaluation run again
//! continues where it stopped; [`runs::rescore`] scores it again without a judge.
//!
//! **Modes**: by default numbers follow `docs/metrics.md`; [`Mode::Compat`](domain::Mode::Compat) gives those of the
//! reference scripts, faults included.
//!
//! # Example: offline, with the lexical baseline
//!
//! Without a judge the built-in baseline answers: deterministic, no LLM, for tests and as a lower bound.
//!
//! ```
//! use scholareval::{Evaluation, Result};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<()> {
//! # let dir = std::env::temp_dir().join(format!("scholareval-doc-{}", std::process::id()));
//! let evaluation = Evaluation::builder().tests("data/test_cases.json").answers("data/answers");
//! let plan = evaluation.clone().plan().await?;
//! let run = evaluation.run(dir.join("run")).await?;
//! assert!(plan.answers > 0 && run.scores().iter().any(|scored| scored.score.value.is_some()));
//!
//! // Means with intervals, the best system first.
//! let summary = run.summary();
//! assert_eq!(summary.unscored_share, 0.0);
//! # std::fs::remove_dir_all(dir).ok();
//! # Ok(())
//! # }
//! ```
//!
//! # Example: a custom judge
//!
//! A judge may answer the question itself, without a prompt. It goes into an evaluation by [`JudgeBuilder::custom`].
//!
//! ```
//! use scholareval::domain::JudgeReply;
//! use scholareval::judge::{AskFuture, Judge, JudgeRequest, Outcome};
//! use scholareval::question::Citations;
//!
//! struct Strict;
//!
//! impl Judge for Strict {
//!     fn ask<'a>(&'a self, request: &'a JudgeRequest) -> AskFuture<'a> {
//!         let is_list = request.call.question.downcast_ref::<Citations>().is_some();
//!         let reply = if is_list { r#"{"claims": []}"# } else { r#"{"score": 1}"# };
//!         Box::pin(std::future::ready(Ok(Outcome::Reply(JudgeReply::of_text(reply)))))
//!     }
//! }
//! # let _ = scholareval::JudgeBuilder::custom("strict", Strict);
//! ```
//!
//! # Example: a scorer by hand
//!
//! A scorer can be driven without prompt, file or runtime.
//!
//! ```
//! use std::sync::Arc;
//! use scholareval::domain::{Answer, JudgeReply, Mode, RubricParts};
//! use scholareval::scorer::{Scorer, Step, Subject, Verdicts, rubric::RubricScorer};
//!
//! # fn main() -> scholareval::Result<()> {
//! let tests = scholareval::dataset::load_test_cases("data/test_cases.json".as_ref(), Mode::Default)?;
//! let case = &tests.cases[0];
//! let answer = Answer::new("mine".into(), case.case_id.clone(), "Short wavelengths scatter much more [1].");
//! let scorer = RubricScorer::new(RubricParts::BOTH, Mode::Default);
//! let judge = scholareval::judge::lexical::Lexical::new(&tests.cases);
//!
//! let mut verdicts = Verdicts::new();
//! let score = loop {
//!     match scorer.step(&Subject::new(case, &answer), &verdicts) {
//!         Step::Done(score) => break score,
//!         Step::Ask(calls) => {
//!             for call in calls {
//!                 let reply = JudgeReply::of_text(judge.answer(&*call.question));
//!                 let judgment = call.question.parse(&reply, Mode::Default);
//!                 verdicts.insert(Arc::clone(&call.item), judgment.map_err(Into::into));
//!             }
//!         }
//!     }
//! };
//! assert_eq!(score.component("citations").and_then(|part| part.value), Some(1.0)); // 1 claim, cited
//! # Ok(())
//! # }
//! ```
//!
//! # Rooms
//!
//! Here is the pipeline: [`cli`] and [`report`] above [`runs`] (what is done with finished runs), above [`evaluation`] (the
//! loop), above [`record`] (the run directory). What it stands on are separate crates, open here under one name: [`analysis`]
//! above [`scorer`], [`judge`] with [`prompt`], [`dataset`], [`facts`] (SciFact and FEVER), [`sources`] (saved pages) and [`works`]
//! (files of cited works), above [`question`], [`domain`], [`error`], and [`stats`], which stands alone. Formulas stand in
//! `docs/metrics.md`, files in `docs/formats.md`, decisions in `docs/design.md`. Files carry a version; the Rust interface
//! may change with every minor version before 1.0. Hidden modules are not part of it: they are open for the program of this project,
//! tests and benches.

#[doc(hidden)]
pub mod cli;
pub mod evaluation;
pub mod record;
pub mod report;
pub mod runs;

#[doc(inline)]
pub use scholareval_analysis as analysis;
pub(crate) use scholareval_core::files;
#[doc(hidden)]
pub use scholareval_core::text;
#[doc(inline)]
pub use scholareval_core::{Error, Result, domain, error, question};
#[doc(inline)]
pub use scholareval_dataset as dataset;
#[doc(inline)]
pub use scholareval_facts as facts;
#[doc(inline)]
pub use scholareval_judge::{self as judge, Judge, JudgeBuilder, prompt};
#[doc(inline)]
pub use scholareval_scorers::{self as scorer, Scorer};
#[doc(inline)]
pub use scholareval_sources as sources;
#[doc(inline)]
pub use scholareval_stats as stats;
#[doc(inline)]
pub use scholareval_works as works;

pub use evaluation::{Evaluation, Run};
