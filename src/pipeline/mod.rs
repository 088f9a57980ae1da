//! The step loop: asks what scorers need, merges draws, asks again, and tells what happened as events.

mod event;

pub use event::{CallRecord, EventSink, Plan, RunEvent};
