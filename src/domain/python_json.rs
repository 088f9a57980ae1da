//! Parses JSON as Python's `json.loads` does.
//!
//! Replies are parsed as in the reference, in both modes: RFC 8259 plus `NaN`, `Infinity` and `-Infinity`, integers of
//! any size, floats beyond range as infinities, lone surrogates in escapes, and the last of equal keys. `reading`
//! decides on rounding and ranges.

use std::fmt;

use serde::de::IgnoredAny;

/// A JSON value with Python's distinctions.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Value {
    /// `null`.
    Null,
    /// `true`, `false`: 1 and 0 in Python's arithmetic.
    Bool(bool),
    /// A number without fraction and exponent: its digits as written, with the sign (`-0` is `0`).
    Int(String),
    /// Any other number.
    Float(f64),
    /// A string; lone surrogates become U+FFFD, which changes neither emptiness nor any key in use.
    Str(String),
    /// An array.
    List(Vec<Self>),
    /// An object, keys in order of first occurrence.
    Dict(Vec<(String, Self)>),
}

impl Value {
    /// The value of `key` in an object.
    pub(crate) fn get(&self, key: &str) -> Option<&Self> {
        match self {
            Self::Dict(pairs) => pairs.iter().find(|(name, _)| name == key).map(|(_, value)| value),
            _ => None,
        }
    }

    /// Python's `bool(value)`.
    pub(crate) fn is_truthy(&self) -> bool {
        match self {
            Self::Null => false,
            Self::Bool(value) => *value,
            Self::Int(digits) => digits != "0",
            // NaN is truthy: it is unequal to zero.
            Self::Float(value) => *value != 0.0,
            Self::Str(text) => !text.is_empty(),
            Self::List(values) => !values.is_empty(),
            Self::Dict(pairs) => !pairs.is_empty(),
        }
    }

    /// The type, for messages: `a string`, `an object`.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "a boolean",
            Self::Int(_) | Self::Float(_) => "a number",
            Self::Str(_) => "a string",
            Self::List(_) => "a list",
            Self::Dict(_) => "an object",
        }
    }
}

/// Why Python could not parse a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// `json.JSONDecodeError`, at this byte.
    Decode(usize),
    /// `ValueError` (not a `JSONDecodeError`): an integer of more than [`MAX_INT_DIGITS`] digits.
    TooManyDigits,
    /// `RecursionError`: nested deeper than [`MAX_DEPTH`].
    TooDeep,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Decode(at) => write!(f, "invalid JSON at byte {at}"),
            Self::TooManyDigits => write!(f, "a number of more than {MAX_INT_DIGITS} digits"),
            Self::TooDeep => write!(f, "JSON nested deeper than {MAX_DEPTH}"),
        }
    }
}

/// CPython's `sys.int_info.default_max_str_digits` (since 3.11).
pub(crate) const MAX_INT_DIGITS: usize = 4300;

/// Maximum nesting depth. CPython's limit is 1,000 frames minus those of the caller: about this many brackets.
pub(crate) const MAX_DEPTH: usize = 990;

/// Parses `text` as one JSON value, surrounded by white space only.
pub(crate) fn parse(text: &str) -> Result<Value, Fault> {
    let mut reader = Reader { text, at: 0, depth: 0 };
    let value = reader.value()?;
    if reader.peek().is_none() { Ok(value) } else { reader.fault() }
}

/// Parses brackets, words and numbers; `serde_json` parses strings and the grammar of numbers.
struct Reader<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
}

impl Reader<'_> {
    /// The next byte after white space.
    fn peek(&mut self) -> Option<u8> {
        let rest = &self.text[self.at..];
        self.at += rest.len() - rest.trim_start_matches([' ', '\t', '\n', '\r']).len();
        self.text.as_bytes().get(self.at).copied()
    }

    fn fault<T>(&self) -> Result<T, Fault> {
        Err(Fault::Decode(self.at))
    }

    /// Consumes `byte` if it is next.
    fn take(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    fn value(&mut self) -> Result<Value, Fault> {
        match self.peek() {
            Some(b'"') => self.string().map(Value::Str),
            Some(b'{') => self.dict(),
            Some(b'[') => {
                let mut values = Vec::new();
                self.elements(b']', |reader| {
                    values.push(reader.value()?);
                    Ok(())
                })?;
                Ok(Value::List(values))
            }
            _ => self.scalar(),
        }
    }

    /// The comma-separated elements up to `close`; `read` parses one of them.
    fn elements(&mut self, close: u8, mut read: impl FnMut(&mut Self) -> Result<(), Fault>) -> Result<(), Fault> {
        if self.depth == MAX_DEPTH {
            return Err(Fault::TooDeep);
        }
        self.depth += 1;
        self.at += 1;
        let mut is_closed = self.take(close);
        while !is_closed {
            read(self)?;
            is_closed = self.take(close);
            if !is_closed && !self.take(b',') {
                return self.fault();
            }
        }
        self.depth -= 1;
        Ok(())
    }

    fn dict(&mut self) -> Result<Value, Fault> {
        let mut pairs: Vec<(String, Value)> = Vec::new();
        self.elements(b'}', |reader| {
            if reader.peek() != Some(b'"') {
                return reader.fault();
            }
            let key = reader.string()?;
            if !reader.take(b':') {
                return reader.fault();
            }
            let value = reader.value()?;
            match pairs.iter_mut().find(|(name, _)| *name == key) {
                Some(pair) => pair.1 = value,
                None => pairs.push((key, value)),
            }
            Ok(())
        })?;
        Ok(Value::Dict(pairs))
    }

    fn scalar(&mut self) -> Result<Value, Fault> {
        let rest = &self.text[self.at..];
        let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.');
        let word = &rest[..rest.find(|c| !is_part(c)).unwrap_or(rest.len())];
        let value = match word {
            "null" => Value::Null,
            "true" => Value::Bool(true),
            "false" => Value::Bool(false),
            "NaN" => Value::Float(f64::NAN),
            "Infinity" => Value::Float(f64::INFINITY),
            "-Infinity" => Value::Float(f64::NEG_INFINITY),
            // serde_json rejects a number beyond the range of floats, unless it only skips it.
            _ if serde_json::from_str::<IgnoredAny>(word).is_err() => return self.fault(),
            _ if word.contains(['.', 'e', 'E']) => word.parse().map(Value::Float).or_else(|_| self.fault())?,
            _ if word.trim_start_matches('-').len() > MAX_INT_DIGITS => return Err(Fault::TooManyDigits),
            "-0" => Value::Int("0".to_owned()),
            _ => Value::Int(word.to_owned()),
        };
        self.at += word.len();
        Ok(value)
    }

    fn string(&mut self) -> Result<String, Fault> {
        let mut is_escaped = false;
        let is_end = |c: char| {
            let is_end = c == '"' && !is_escaped;
            is_escaped = c == '\\' && !is_escaped;
            is_end
        };
        let rest = &self.text[self.at..];
        let Some(end) = rest[1..].find(is_end) else { return Err(Fault::Decode(self.text.len())) };
        let literal = &rest[..end + 2];
        let text = serde_json::from_str(literal).or_else(|_| serde_json::from_str(&without_surrogates(literal)));
        let text = text.or_else(|_| self.fault())?;
        self.at += literal.len();
        Ok(text)
    }
}

/// The string literal with U+FFFD for every escaped lone surrogate, which UTF-8 cannot represent.
fn without_surrogates(literal: &str) -> String {
    let mut out = String::with_capacity(literal.len());
    let mut rest = literal;
    while let Some(at) = rest.find('\\') {
        let (before, escape) = rest.split_at(at);
        out.push_str(before);
        let unit = escape.strip_prefix("\\u").and_then(|hex| u32::from_str_radix(hex.get(..4)?, 16).ok());
        let length = if unit.is_some_and(|unit| (0xd800..0xe000).contains(&unit)) {
            out.push(char::REPLACEMENT_CHARACTER);
            "\\ud800".len()
        } else {
            let length = 1 + escape[1..].chars().next().map_or(0, char::len_utf8);
            out.push_str(&escape[..length]);
            length
        };
        rest = &escape[length..];
    }
    out + rest
}

#[cfg(test)]
mod tests;
