//! Replies that come token by token (server-sent events): lines, events and their end.
//!
//! Wire format: lines `data: {..}`, blank lines between, `data: [DONE]` at the end where the protocol has it (WHATWG HTML,
//! "Server-sent events"; OpenAI, "Streaming"). What an event means is the protocol's business ([`StreamReader`]).

use std::time::Duration;

use bytes::Bytes;
use http::HeaderMap;
use http::header::CONTENT_TYPE;
use serde_json::{Map, Value};
use tokio::time::Instant;

use super::completion::mended;

/// The end of a body comes right behind the last event.
const END_OF_STREAM: Duration = Duration::from_secs(1);
/// The usage comes soon behind the last token.
const USAGE: Duration = Duration::from_secs(5);

/// Bytes of a reply that must repeat themselves, some 500 tokens: a list may hold an item twice or thrice.
const LOOP: usize = 2_000;

/// Puts the events of a reply together.
pub trait StreamReader: Send {
    /// Takes the next event.
    fn push(&mut self, event: Map<String, Value>);

    /// Notes the `[DONE]` that ends a stream.
    fn end(&mut self) {}

    /// True once the text is there to its end; the usage may still come.
    fn is_whole(&self) -> bool;

    /// The texts so far, those of the reasoning included.
    fn texts(&self) -> Vec<&str>;

    /// The body as it would have come whole, or an error in its place; `None` if the reply was cut. A broken stream, of
    /// which an event could not be read, has no reply, but may have an error.
    fn finish(self: Box<Self>, is_broken: bool) -> Option<Value>;
}

/// True for a response that is a stream of events. (A server that does not stream answers with JSON.)
pub(crate) fn is_event_stream(headers: &HeaderMap) -> bool {
    let kind = headers
        .get(CONTENT_TYPE)
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default();
    kind.trim_start()
        .to_ascii_lowercase()
        .starts_with("text/event-stream")
}

/// A stream that is being received.
pub(crate) struct Assembly {
    reply: Box<dyn StreamReader>,
    /// The line that is not whole yet.
    line: Vec<u8>,
    /// Data of an event of several lines, until they are JSON together.
    event: Vec<u8>,
    is_done: bool,
    /// An event could not be read: what is there is not what was sent.
    is_broken: bool,
    /// When the first text came, and in how many events texts came: most servers send one for each token.
    pub written: Option<(Instant, u64)>,
}

impl Assembly {
    /// A stream whose events `reply` takes.
    pub(crate) fn new(reply: Box<dyn StreamReader>) -> Self {
        Self {
            reply,
            line: Vec::new(),
            event: Vec::new(),
            is_done: false,
            is_broken: false,
            written: None,
        }
    }

    /// Takes the next bytes. Lines end with a line feed, a carriage return or both; JSON has neither within a string.
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        let mut pieces = bytes.split(|byte| matches!(byte, b'\n' | b'\r'));
        self.line
            .extend_from_slice(pieces.next().unwrap_or_default());
        for piece in pieces {
            let line = std::mem::replace(&mut self.line, piece.to_vec());
            self.read_line(&line);
        }
    }

    /// How long it is worth to read on once the text is there to its end; `None` before.
    pub(crate) fn rest(&self) -> Option<Duration> {
        if self.is_done {
            Some(END_OF_STREAM)
        } else {
            self.reply.is_whole().then_some(USAGE)
        }
    }

    /// The body as it would have come whole; `None` if the reply was cut. An end without `[DONE]` counts where the server
    /// has reported why it stopped; an error in place of the rest is the body.
    pub(crate) fn finish(mut self) -> Option<Bytes> {
        let line = std::mem::take(&mut self.line);
        self.read_line(&line);
        self.end_event();
        let body = self.reply.finish(self.is_broken)?;
        Some(Bytes::from(body.to_string()))
    }

    fn read_line(&mut self, line: &[u8]) {
        let line = line
            .strip_prefix(b"\xef\xbb\xbf")
            .unwrap_or(line)
            .trim_ascii();
        // Comments (keep-alives) and event names carry nothing; llama.cpp has written `error:` lines.
        let Some(data) = line
            .strip_prefix(b"data:")
            .or_else(|| line.strip_prefix(b"error:"))
        else {
            return;
        };
        let data = data.trim_ascii();
        if data == b"[DONE]" {
            self.end_event();
            self.is_done = true;
            self.reply.end();
            return;
        }
        // Most events are one line. Lines of others are joined until they can be read, whatever stands between them.
        let is_first = self.event.is_empty();
        self.event.extend_from_slice(data);
        self.event.push(b'\n');
        // Mending takes its time, so it is tried once: of an event of one line.
        let mended = || is_first.then(|| mended(&self.event).ok()).flatten();
        if let Some(Value::Object(mut chunk)) =
            serde_json::from_slice(&self.event).ok().or_else(mended)
        {
            self.event.clear();
            if line.starts_with(b"error:") && !chunk.contains_key("error") {
                chunk = Map::from_iter([("error".to_owned(), Value::Object(chunk))]);
            }
            let before = self.text_bytes();
            self.reply.push(chunk);
            if self.text_bytes() > before {
                self.written.get_or_insert((Instant::now(), 0)).1 += 1;
            }
        }
    }

    /// Whether the reply has come to repeat itself: its last [`LOOP`] bytes are the same text at least four times. At
    /// temperature 0 it does so to its limit.
    pub(crate) fn repeats(&self) -> bool {
        let texts = self.reply.texts().into_iter();
        let mut ends = texts.filter_map(|text| text.as_bytes().last_chunk::<LOOP>());
        // A reply that has ended is whole, whatever it repeats.
        !self.reply.is_whole()
            && ends.any(|end| (1..=LOOP / 4).any(|period| end[period..] == end[..LOOP - period]))
    }

    fn text_bytes(&self) -> usize {
        self.reply.texts().into_iter().map(str::len).sum()
    }

    /// What could not be read is missing, unless the text was there before.
    fn end_event(&mut self) {
        self.is_broken |= !self.event.is_empty() && !self.reply.is_whole();
        self.event.clear();
    }
}
