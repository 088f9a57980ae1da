//! JSON as Python's `json.loads` reads it.
//!
//! Replies are read with the language of the reference's reader, in both modes: RFC 8259 plus the bare words `NaN`,
//! `Infinity` and `-Infinity`, integers of any size, floats beyond range as infinities, lone surrogates in escapes,
//! and of equal keys the last. What a number is worth is decided by `reading`; here nothing is rounded or refused
//! that Python keeps.

use std::fmt;

/// A JSON value with Python's distinctions.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Value {
    /// `null`.
    Null,
    /// `true`, `false`: integers 1 and 0 to Python's arithmetic.
    Bool(bool),
    /// A number without fraction and exponent: its digits as written, with the sign (`-0` is `0`).
    Int(String),
    /// Any other number.
    Float(f64),
    /// A string; lone surrogates are replaced by U+FFFD, which changes neither emptiness nor any key we look for.
    Str(String),
    /// An array.
    List(Vec<Self>),
    /// An object, in the order of first occurrence.
    Dict(Vec<(String, Self)>),
}

impl Value {
    /// The value under `key` of an object.
    pub(crate) fn get(&self, key: &str) -> Option<&Self> {
        match self {
            Self::Dict(pairs) => pairs.iter().find(|(name, _)| name == key).map(|(_, value)| value),
            _ => None,
        }
    }

    /// What Python's `bool(value)` gives.
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

    /// What it is, for messages: `a string`, `an object`.
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

/// Why Python could not read a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// `json.JSONDecodeError`, at this byte.
    Decode(usize),
    /// `ValueError`: an integer of more than [`MAX_INT_DIGITS`] digits, which is no `JSONDecodeError`.
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

/// How deep values may nest. CPython's limit is 1,000 frames less those of the caller: about this many brackets.
pub(crate) const MAX_DEPTH: usize = 990;

/// Reads `text` as one JSON value with nothing but white space around it.
pub(crate) fn parse(text: &str) -> Result<Value, Fault> {
    let mut reader = Reader { text, bytes: text.as_bytes(), at: 0, depth: 0 };
    reader.skip_space();
    let value = reader.value()?;
    reader.skip_space();
    if reader.at == text.len() { Ok(value) } else { Err(Fault::Decode(reader.at)) }
}

struct Reader<'a> {
    text: &'a str,
    bytes: &'a [u8],
    at: usize,
    depth: usize,
}

impl Reader<'_> {
    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn fault<T>(&self) -> Result<T, Fault> {
        Err(Fault::Decode(self.at))
    }

    fn skip_space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    /// Moves past `byte` if it is next.
    fn take(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    fn word(&mut self, word: &str, value: Value) -> Result<Value, Fault> {
        if self.bytes[self.at..].starts_with(word.as_bytes()) {
            self.at += word.len();
            Ok(value)
        } else {
            self.fault()
        }
    }

    fn value(&mut self) -> Result<Value, Fault> {
        match self.peek() {
            Some(b'"') => self.string().map(Value::Str),
            Some(b'{') => self.nested(Self::dict),
            Some(b'[') => self.nested(Self::list),
            Some(b'n') => self.word("null", Value::Null),
            Some(b't') => self.word("true", Value::Bool(true)),
            Some(b'f') => self.word("false", Value::Bool(false)),
            Some(b'N') => self.word("NaN", Value::Float(f64::NAN)),
            Some(b'I') => self.word("Infinity", Value::Float(f64::INFINITY)),
            Some(b'-') if self.bytes.get(self.at + 1) == Some(&b'I') => {
                self.word("-Infinity", Value::Float(f64::NEG_INFINITY))
            }
            Some(b'-' | b'0'..=b'9') => self.number(),
            _ => self.fault(),
        }
    }

    fn nested(&mut self, read: fn(&mut Self) -> Result<Value, Fault>) -> Result<Value, Fault> {
        if self.depth == MAX_DEPTH {
            return Err(Fault::TooDeep);
        }
        self.depth += 1;
        self.at += 1;
        self.skip_space();
        let value = read(self)?;
        self.depth -= 1;
        Ok(value)
    }

    fn list(&mut self) -> Result<Value, Fault> {
        let mut values = Vec::new();
        if self.take(b']') {
            return Ok(Value::List(values));
        }
        loop {
            values.push(self.value()?);
            self.skip_space();
            if self.take(b']') {
                return Ok(Value::List(values));
            }
            if !self.take(b',') {
                return self.fault();
            }
            self.skip_space();
        }
    }

    fn dict(&mut self) -> Result<Value, Fault> {
        let mut pairs: Vec<(String, Value)> = Vec::new();
        // A long object with many equal keys must not cost quadratic time.
        let mut places = std::collections::HashMap::<String, usize>::new();
        if self.take(b'}') {
            return Ok(Value::Dict(pairs));
        }
        loop {
            if self.peek() != Some(b'"') {
                return self.fault();
            }
            let key = self.string()?;
            self.skip_space();
            if !self.take(b':') {
                return self.fault();
            }
            self.skip_space();
            let value = self.value()?;
            match places.get(&key).and_then(|place| pairs.get_mut(*place)) {
                Some(pair) => pair.1 = value,
                None => {
                    places.insert(key.clone(), pairs.len());
                    pairs.push((key, value));
                }
            }
            self.skip_space();
            if self.take(b'}') {
                return Ok(Value::Dict(pairs));
            }
            if !self.take(b',') {
                return self.fault();
            }
            self.skip_space();
        }
    }

    fn digits(&mut self) -> usize {
        let start = self.at;
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
        self.at - start
    }

    /// A number; like Python's scanner it stops where the number stops, so that `007` or `1.` is refused by what
    /// follows it.
    fn number(&mut self) -> Result<Value, Fault> {
        let start = self.at;
        let negative = self.take(b'-');
        let whole_digits = if self.take(b'0') { 1 } else { self.digits() };
        if whole_digits == 0 {
            return self.fault();
        }
        let whole_end = self.at;
        if self.take(b'.') && self.digits() == 0 {
            self.at = whole_end;
        }
        let mantissa_end = self.at;
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            if self.digits() == 0 {
                self.at = mantissa_end;
            }
        }
        let literal = &self.text[start..self.at];
        if self.at > whole_end {
            return literal.parse().map(Value::Float).or_else(|_| self.fault());
        }
        if whole_digits > MAX_INT_DIGITS {
            return Err(Fault::TooManyDigits);
        }
        Ok(Value::Int(if negative && literal == "-0" { "0" } else { literal }.to_owned()))
    }

    fn string(&mut self) -> Result<String, Fault> {
        self.at += 1;
        let mut out = String::new();
        loop {
            let start = self.at;
            while !matches!(self.peek(), None | Some(b'"' | b'\\' | 0..=0x1f)) {
                self.at += 1;
            }
            // Stops are ASCII, so both ends are character boundaries.
            out.push_str(&self.text[start..self.at]);
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(out);
                }
                Some(b'\\') => {
                    self.at += 1;
                    out.push(self.escape()?);
                }
                _ => return self.fault(),
            }
        }
    }

    fn escape(&mut self) -> Result<char, Fault> {
        let Some(byte) = self.peek() else { return self.fault() };
        self.at += 1;
        Ok(match byte {
            b'"' | b'\\' | b'/' => char::from(byte),
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => {
                let unit = self.hex4()?;
                self.joined(unit)?
            }
            _ => {
                self.at -= 1;
                return self.fault();
            }
        })
    }

    fn hex4(&mut self) -> Result<u32, Fault> {
        let mut unit = 0;
        for _ in 0..4 {
            let Some(digit) = self.peek().and_then(|byte| char::from(byte).to_digit(16)) else { return self.fault() };
            unit = unit * 16 + digit;
            self.at += 1;
        }
        Ok(unit)
    }

    /// Joins a high surrogate with the low one escaped behind it; what has no partner stands alone, as in Python.
    fn joined(&mut self, unit: u32) -> Result<char, Fault> {
        let before = self.at;
        if (0xd800..0xdc00).contains(&unit) && self.bytes[self.at..].starts_with(b"\\u") {
            self.at += 2;
            // Python leaves a broken second escape to the next round, where it is an error as well.
            let low = self.hex4()?;
            if (0xdc00..0xe000).contains(&low) {
                let joined = 0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00);
                return Ok(char::from_u32(joined).unwrap_or(char::REPLACEMENT_CHARACTER));
            }
            self.at = before;
        }
        Ok(char::from_u32(unit).unwrap_or(char::REPLACEMENT_CHARACTER))
    }
}

#[cfg(test)]
mod tests;
