//! What several integration tests share.

pub(crate) mod exports;
pub(crate) mod fake_server;
pub(crate) mod judging;
mod running;
pub(crate) mod workspace;
