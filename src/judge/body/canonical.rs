//! One way to write a JSON value, and one way to hash parts.

use std::cell::Cell;
use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::{Map, Value};

use crate::domain::Fingerprint;

/// Name and version of what is hashed of a chat call; changes with every change of the encoding.
pub(super) const CHAT_ENCODING: &[u8] = b"scholareval chat call 1";
/// The same of a raw completion.
pub(super) const RAW_ENCODING: &[u8] = b"scholareval raw call 1";

pub(super) fn write_json(value: &impl Serialize, bytes: &mut Vec<u8>) {
    // Writing plain data to memory cannot fail: no map keys but strings, no input or output.
    let written = serde_json::to_writer(bytes, value);
    debug_assert!(written.is_ok());
}

/// `text` as it stands between the quotes of a JSON string.
pub(super) fn escaped(text: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len() + text.len() / 16 + 2);
    push_escaped(text, &mut bytes);
    bytes
}

/// Appends `text` as it stands between the quotes of a JSON string: the bytes that `serde_json` writes, blocks without
/// anything to escape, which are nearly all, in one go.
pub(super) fn push_escaped(text: &str, bytes: &mut Vec<u8>) {
    const BLOCK: usize = 32;
    // Without branches, so that the compiler looks at many bytes at a time.
    let escapes = |byte: u8| (byte < b' ') | (byte == b'"') | (byte == b'\\');
    let (blocks, rest) = text.as_bytes().as_chunks::<BLOCK>();
    for block in blocks {
        if block.iter().fold(false, |found, byte| found | escapes(*byte)) {
            block.iter().for_each(|byte| push_byte(*byte, bytes));
        } else {
            bytes.extend_from_slice(block);
        }
    }
    rest.iter().for_each(|byte| push_byte(*byte, bytes));
}

fn push_byte(byte: u8, bytes: &mut Vec<u8>) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let short = match byte {
        b'"' | b'\\' => byte,
        0x08 => b'b',
        b'\t' => b't',
        b'\n' => b'n',
        0x0c => b'f',
        b'\r' => b'r',
        0..b' ' => {
            let digits = [DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]];
            bytes.extend_from_slice(b"\\u00");
            bytes.extend_from_slice(&digits);
            return;
        }
        _ => {
            bytes.push(byte);
            return;
        }
    };
    bytes.extend_from_slice(&[b'\\', short]);
}

pub(super) fn write_sorted_object(object: &Map<String, Value>, bytes: &mut Vec<u8>) {
    let sorted: BTreeMap<&String, &Value> = object.iter().collect();
    bytes.push(b'{');
    for (i, (name, value)) in sorted.into_iter().enumerate() {
        if i > 0 {
            bytes.push(b',');
        }
        write_json(name, bytes);
        bytes.push(b':');
        write_sorted(value, bytes);
    }
    bytes.push(b'}');
}

fn write_sorted(value: &Value, bytes: &mut Vec<u8>) {
    match value {
        Value::Object(object) => write_sorted_object(object, bytes),
        Value::Array(items) => {
            bytes.push(b'[');
            for (i, item) in items.iter().enumerate() {
                if i > 0 {
                    bytes.push(b',');
                }
                write_sorted(item, bytes);
            }
            bytes.push(b']');
        }
        scalar => write_json(scalar, bytes),
    }
}

/// blake3 over parts with their lengths in front. The parts are gathered and hashed in one go, which blake3 does on
/// several chunks at once; fed part by part it is two times slower. They are gathered where the thread gathered the last
/// ones.
pub(super) struct KeyHasher(Vec<u8>);

thread_local! {
    static GATHERED: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

impl KeyHasher {
    /// `encoding` says what will come, `room` about how many bytes of it.
    pub(super) fn new(encoding: &[u8], room: usize) -> Self {
        let mut hasher = Self(GATHERED.take());
        hasher.0.clear();
        hasher.0.reserve(room);
        hasher.part(encoding);
        hasher
    }

    pub(super) fn part(&mut self, part: &[u8]) {
        self.0.extend_from_slice(&(part.len() as u64).to_le_bytes());
        self.0.extend_from_slice(part);
    }

    /// One part, from pieces that follow each other.
    pub(super) fn part_of(&mut self, pieces: &[&str]) {
        let length: usize = pieces.iter().map(|piece| piece.len()).sum();
        self.0.extend_from_slice(&(length as u64).to_le_bytes());
        pieces.iter().for_each(|piece| self.0.extend_from_slice(piece.as_bytes()));
    }

    /// A part that may be missing; missing and empty differ.
    pub(super) fn option(&mut self, part: Option<impl AsRef<[u8]>>) {
        self.0.push(u8::from(part.is_some()));
        if let Some(part) = part {
            self.part(part.as_ref());
        }
    }

    pub(super) fn finish(self) -> Fingerprint {
        let fingerprint = Fingerprint::from(blake3::hash(&self.0));
        GATHERED.set(self.0);
        fingerprint
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn by_serde(text: &str) -> Vec<u8> {
        let quoted = serde_json::to_vec(text).unwrap();
        quoted[1..quoted.len() - 1].to_vec()
    }

    #[test]
    fn every_byte_is_escaped_as_serde_json_does_wherever_it_stands_in_a_block() {
        for c in ('\0'..='\u{80}').chain(['\u{e9}', '\u{2028}', '\u{1f3f4}']) {
            for before in [0, 1, 30, 31, 32, 40] {
                let text = format!("{}{c}{}", "x".repeat(before), "y".repeat(40));
                assert_eq!(escaped(&text), by_serde(&text), "{text:?}");
            }
        }
    }

    proptest! {
        #[test]
        fn texts_are_escaped_as_serde_json_does(text in "(?s)([ -~\n]{0,40}|.){0,9}") {
            prop_assert_eq!(escaped(&text), by_serde(&text));
        }
    }
}
