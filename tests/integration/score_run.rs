//! `score` from end to end against a fake judge: what a user can do, and what is written.

mod planning;
mod record;

use crate::support::fake_server::{Act, Behaviour, FakeServer, Recorded};
use crate::support::judging;
use crate::support::workspace;
