//! The persistent reply cache: one SQLite file, safe between threads and processes, open to `sqlite3`.
//!
//! - **Key**: the [`Fingerprint`] of everything that decides a reply. Every whole reply is stored raw, readable or not.
//! - **Models**: a key may have replies of several models, if a service answered by another one later. The first is in the
//!   row of the key, each other one in a row of key and model; none replaces another. Who uses them decides which models
//!   count ([`Models`], [`answering`](super::answering)).
//! - **Writing**: one connection; [`Cache::put`] returns when its reply is *committed*. A committed reply survives
//!   `kill -9`. With `synchronous = NORMAL` a power cut may cost the last replies, never the file. A cache that is closed
//!   leaves nothing in its log: the file alone can be copied.
//! - **Reading**: a small pool of connections; a hit is around 10 microseconds, less than handing it to another thread.
//! - **Leases**: before asking, a call leases the key, and a thread renews the lease while it asks. Equal calls, of this
//!   process or another, wait for the reply, for the release, or for the end of the lease.
//! - **Safety**: a file that is not a cache, or is damaged, is an error that names it and is never written. Every row
//!   carries a digest, so that damage inside a reply is an error and not a wrong reply.
//!
//! Besides replies only what servers report of themselves is stored: no prompt and no API key.
//!
//! ```
//! use scholareval_core::domain::{Fingerprint, JudgeReply};
//! use scholareval_judge::cache::{Cache, CallLabel, Entry};
//!
//! # fn main() -> scholareval_core::Result<()> {
//! # let dir = std::env::temp_dir().join(format!("scholareval-doc-{}", std::process::id()));
//! let cache = Cache::open(&dir.join("cache.sqlite"))?;
//! let key = Fingerprint::from([7; 32]);
//! let label = CallLabel {
//!     kind: "property".into(), judge: "gpt-x".into(), role: "rubric".into(), sample: 0, attempt: 0,
//! };
//! let entry = Entry::new(key, label, JudgeReply::of_text(r#"{"score": 7}"#));
//! cache.put(&entry, None)?;
//! assert_eq!(cache.get(&key)?.map(|reply| reply.content).as_deref(), Some(r#"{"score": 7}"#));
//! # drop(cache);
//! # let _ = std::fs::remove_dir_all(&dir);
//! # Ok(())
//! # }
//! ```

mod entry;
mod file;
mod lease_clock;
mod owner;
mod store;
mod upkeep;
mod void_leases;

#[cfg(test)]
mod tests;

pub use entry::{CallLabel, Entry, Models};
pub use file::{APPLICATION_ID, SCHEMA_VERSION, settle};
pub use store::{Cache, Lease, Leased, Stored};
pub use upkeep::{CacheStats, Inserted, MergeReport, merge};

#[cfg(doc)]
use scholareval_core::domain::Fingerprint;
