//! `score` from end to end against a fake judge: what a user can do, and what is written.

mod anthropic;
mod case_order;
mod damaged;
mod failures;
mod gemini;
mod inputs;
mod judge_options;
mod keeping;
mod planning;
mod reasoning_room;
mod record;
mod replies;
mod small_models;

use crate::support::fake_server::{Act, Behaviour, FakeServer, Gate, Recorded};
use crate::support::judging;
use crate::support::workspace;
