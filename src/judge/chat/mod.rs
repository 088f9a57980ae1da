//! Chat and raw completions over an OpenAI-compatible endpoint.
//!
//! [`Chat`] sends a rendered body once, as the bytes that were rendered and hashed, and distinguishes what came back: a
//! whole reply (readable or not, it is paid), a transient failure, a refusal of this call, and what must stop the run.
//! Retries, limits and the cache are layers around it.

mod client;
mod reply;
mod server_error;
mod stream;
pub(in crate::judge) mod transport;

pub use client::Chat;
pub(in crate::judge) use reply::{MENDED_NOTE, decode, error_in, read_reply};
pub use server_error::excerpt;
pub(in crate::judge) use server_error::{error_text, error_words, key_refused, no_server};
