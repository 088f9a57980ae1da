//! Calls as files for batch services, and their results into the cache.
//!
//! A batch is a directory: request files in the form of OpenAI's Batch API (`{custom_id, method, url, body}` a line, one
//! set of files for each judge and route, split at the service's limits), `calls.jsonl` with what each request asks
//! (without any text of an answer), and `batch.json`, with the request files and how far each of them is.
//! `custom_id` is the call's fingerprint, so a result finds its place in the cache wherever it was made: by the services of
//! OpenAI, Anthropic and Google (`service/`), `vllm run-batch`, or `contrib/ray_batch.py`.
//!
//! Sources of the form: OpenAI's Batch API reference (requests, results, at most 50,000 requests and 200 MB a file);
//! vLLM's documentation of `run-batch` (0.8.3: of our routes it takes chat, not completions).

mod import;
mod manifest;
mod service;
mod writer;

pub use import::{BatchCall, BatchCalls, ImportReport};
pub use manifest::{BatchManifest, BatchPart, BatchState, CALLS_FILE, MANIFEST_FILE, refuse_link};
pub use service::{BatchLimits, BatchService, batches_of};
pub use writer::BatchWriter;
