//! Messages that come as streams of events, put together into the message that would have come whole.
//!
//! `message_start` has the message without its content, `content_block_start` a block and `content_block_delta` the next piece
//! of it, `message_delta` the reason of the end and the last counts of tokens, `message_stop` nothing.

use bytes::Bytes;
use serde_json::{Map, Value, json};

use super::completion::MENDED;
use super::events::StreamReader;

/// The same body asking for a stream; `None` if the user has set the member.
pub(super) fn requested(body: &Bytes) -> Option<Bytes> {
    let mut members: Map<String, Value> = serde_json::from_slice(body).ok()?;
    if members.insert("stream".to_owned(), json!(true)).is_some() {
        return None;
    }
    Some(Value::Object(members).to_string().into())
}

/// A message that is being received.
#[derive(Debug, Default)]
pub(super) struct AnthropicStream {
    message: Map<String, Value>,
    blocks: Vec<Value>,
    error: Option<Value>,
    is_done: bool,
}

impl StreamReader for AnthropicStream {
    fn push(&mut self, mut event: Map<String, Value>) {
        // An error after the whole reply does not concern it; the reply is paid for.
        if let Some(error) = event.remove("error").filter(|_| !self.is_whole()) {
            self.error = Some(error);
        }
        if event.contains_key(MENDED) {
            self.message.insert(MENDED.to_owned(), json!(true));
        }
        if let Some(Value::Object(message)) = event.remove("message") {
            self.message.extend(message);
        }
        if let Some(block) = event.remove("content_block").filter(Value::is_object) {
            self.blocks.push(block);
        }
        match event.remove("delta") {
            Some(Value::Object(delta)) if event.contains_key("index") => self.add_to_block(&delta),
            // The end, and what it is about.
            Some(Value::Object(delta)) => self.message.extend(delta),
            _ => {}
        }
        if let Some(Value::Object(usage)) = event.remove("usage")
            && let Value::Object(known) = self.message.entry("usage").or_insert(json!({}))
        {
            known.extend(usage.into_iter().filter(|(_, count)| !count.is_null()));
        }
        self.is_done |= event.get("type").is_some_and(|kind| kind == "message_stop");
    }

    fn is_whole(&self) -> bool {
        let reason = self.message.get("stop_reason");
        self.is_done || reason.is_some_and(Value::is_string)
    }

    fn texts(&self) -> Vec<&str> {
        let pieces = self
            .blocks
            .iter()
            .flat_map(|block| [&block["thinking"], &block["text"]]);
        pieces.filter_map(Value::as_str).collect()
    }

    fn finish(mut self: Box<Self>, is_broken: bool) -> Option<Value> {
        if let Some(error) = self.error {
            return Some(json!({"error": error}));
        }
        if is_broken || self.message.is_empty() || !self.is_whole() {
            return None;
        }
        self.message
            .insert("content".to_owned(), json!(self.blocks));
        Some(Value::Object(self.message))
    }
}

impl AnthropicStream {
    /// Blocks come one after the other.
    fn add_to_block(&mut self, delta: &Map<String, Value>) {
        let Some(block) = self.blocks.last_mut() else {
            return;
        };
        for name in ["text", "thinking"] {
            if let Some(piece) = delta.get(name).and_then(Value::as_str) {
                let text = block[name].as_str().unwrap_or_default();
                block[name] = json!(format!("{text}{piece}"));
            }
        }
    }
}
