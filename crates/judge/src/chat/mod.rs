//! Calls to a server, in whatever protocol.
//!
//! [`Chat`] sends a rendered body once, as the bytes that were rendered and hashed, and distinguishes what came back: a
//! whole reply (readable or not, it is paid), a transient failure, a refusal of this call, and what must stop the run.
//! Retries, limits and the cache are layers around it.

mod client;
mod server_error;
pub mod transport;

pub use client::Chat;
pub(crate) use server_error::{error_text, error_words, key_refused, no_server};
pub use server_error::{excerpt, helping_option};
