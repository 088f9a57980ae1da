//! What several integration tests share.

pub(crate) mod fake_server;
