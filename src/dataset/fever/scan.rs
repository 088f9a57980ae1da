//! A line as programs write it, read in one pass.
//!
//! serde's derived readers look at each byte of these files several times; nearly all of them are page names, brackets and
//! numbers. What is not of the expected shape, valid or not, is left to the reader that explains; what is, [`scan`] reads as
//! that reader would. Of fields that nobody asks for only the grammar is checked (RFC 8259), not the size of their numbers
//! nor whether their surrogates come in pairs.

use std::borrow::Cow;

use crate::dataset::fever::wire::{Evidence, WireLine};
use crate::domain::fever::{ClaimId, Label, PredictedSentence, Prediction, Raised, Sentence};

/// Values nested deeper than this are not looked at here.
const DEPTH: u8 = 64;

/// Digits that surely fit into 64 bits.
const DIGITS: usize = 18;

/// What the line says; `None` where it has another shape than expected.
pub(super) fn scan(text: &str) -> Option<WireLine<'_>> {
    let mut cursor = Cursor { text, at: 0 };
    let mut found = Found::default();
    cursor.list(Brackets::OBJECT, |cursor| {
        let key = cursor.plain_string()?;
        cursor.expect(b':')?;
        found.field(key, cursor)
    })?;
    if cursor.next().is_some() {
        return None;
    }
    Some(WireLine {
        id: found.id.flatten(),
        label: found.label.flatten(),
        evidence: found.evidence.flatten(),
        prediction: Prediction { label: found.predicted_label.ok_or(Raised::Key), evidence: found.predicted_evidence },
        faults: Vec::new(),
    })
}

/// The fields seen so far. The inner `None` is a null.
#[derive(Default)]
struct Found<'a> {
    id: Option<Option<ClaimId<'a>>>,
    label: Option<Option<Label<'a>>>,
    evidence: Option<Option<Evidence<'a>>>,
    predicted_label: Option<Label<'a>>,
    predicted_evidence: Option<Vec<PredictedSentence<'a>>>,
}

impl<'a> Found<'a> {
    /// Reads the value of a key. A key that stands twice is left to the other reader: the last one counts.
    fn field(&mut self, key: &str, cursor: &mut Cursor<'a>) -> Option<()> {
        match key {
            "id" => once(&mut self.id, cursor.or_null(Cursor::id)?),
            "label" => once(&mut self.label, cursor.or_null(Cursor::label)?),
            "evidence" => once(&mut self.evidence, cursor.or_null(Cursor::evidence)?),
            "predicted_label" => once(&mut self.predicted_label, cursor.label()?),
            "predicted_evidence" => once(&mut self.predicted_evidence, cursor.predicted()?),
            _ => cursor.skip(DEPTH),
        }
    }
}

fn once<T>(place: &mut Option<T>, value: T) -> Option<()> {
    place.replace(value).is_none().then_some(())
}

/// How many bytes come before the first quote, backslash or control character: all, if there is none.
///
/// Eight at once: of `x - 1..1 & !x` the lowest high bit stands in the lowest byte of x that is 0 (S. E. Anderson, "Bit
/// Twiddling Hacks", "Determine if a word has a zero byte" and "a byte less than n").
fn plain_bytes(bytes: &[u8]) -> usize {
    const ONES: u64 = u64::from_le_bytes([1; 8]);
    const HIGHS: u64 = ONES << 7;
    let less = |word: u64, than: u8| word.wrapping_sub(ONES * u64::from(than)) & !word & HIGHS;
    let (words, rest) = bytes.as_chunks::<8>();
    for (index, word) in words.iter().enumerate() {
        let word = u64::from_le_bytes(*word);
        let equal = |byte: u8| less(word ^ (ONES * u64::from(byte)), 1);
        let found = equal(b'"') | equal(b'\\') | less(word, b' ');
        if found != 0 {
            return 8 * index + found.trailing_zeros() as usize / 8;
        }
    }
    let ends = |byte: &u8| matches!(byte, b'"' | b'\\' | ..b' ');
    8 * words.len() + rest.iter().position(ends).unwrap_or(rest.len())
}

/// What a list begins and ends with.
#[derive(Clone, Copy)]
struct Brackets(u8, u8);

impl Brackets {
    const LIST: Self = Self(b'[', b']');
    const OBJECT: Self = Self(b'{', b'}');
}

/// A place in a line. Every reader begins at any white space before its value, and ends right behind the value.
struct Cursor<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Cursor<'a> {
    #[inline]
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    /// The next byte that is no white space; it stays the next one.
    #[inline]
    fn next(&mut self) -> Option<u8> {
        loop {
            match self.peek()? {
                b' ' | b'\t' | b'\r' | b'\n' => self.at += 1,
                byte => return Some(byte),
            }
        }
    }

    fn expect(&mut self, wanted: u8) -> Option<()> {
        (self.next()? == wanted).then(|| self.at += 1)
    }

    fn word(&mut self, word: &str) -> Option<()> {
        self.text.as_bytes()[self.at..].starts_with(word.as_bytes()).then(|| self.at += word.len())
    }

    /// Items with commas between.
    fn list(&mut self, brackets: Brackets, mut item: impl FnMut(&mut Self) -> Option<()>) -> Option<()> {
        self.expect(brackets.0)?;
        if self.next()? == brackets.1 {
            self.at += 1;
            return Some(());
        }
        loop {
            item(self)?;
            let byte = self.next()?;
            self.at += 1;
            match byte {
                b',' => {}
                _ if byte == brackets.1 => return Some(()),
                _ => return None,
            }
        }
    }

    fn or_null<T>(&mut self, read: impl FnOnce(&mut Self) -> Option<T>) -> Option<Option<T>> {
        if self.next()? == b'n' { self.word("null").map(|()| None) } else { read(self).map(Some) }
    }

    /// Moves behind a string; gives where its text is, and whether it holds an escape.
    fn string(&mut self) -> Option<(&'a str, bool)> {
        self.expect(b'"')?;
        let (start, mut escaped) = (self.at, false);
        loop {
            let rest = &self.text.as_bytes()[self.at..];
            self.at += plain_bytes(rest);
            match self.peek()? {
                b'"' => {
                    let text = self.text.get(start..self.at)?;
                    self.at += 1;
                    return Some((text, escaped));
                }
                b'\\' => {
                    escaped = true;
                    self.escape()?;
                }
                _ => return None,
            }
        }
    }

    fn escape(&mut self) -> Option<()> {
        let rest = &self.text.as_bytes()[self.at + 1..];
        let length = match rest.first()? {
            b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => 2,
            b'u' if rest.get(1..5)?.iter().all(u8::is_ascii_hexdigit) => 6,
            _ => return None,
        };
        self.at += length;
        Some(())
    }

    /// A string without escapes.
    fn plain_string(&mut self) -> Option<&'a str> {
        self.string().and_then(|(text, escaped)| (!escaped).then_some(text))
    }

    /// A string; borrowed where it holds no escape.
    fn text(&mut self) -> Option<Cow<'a, str>> {
        self.next()?;
        let start = self.at;
        match self.string()? {
            (text, false) => Some(Cow::Borrowed(text)),
            (_, true) => serde_json::from_str(self.text.get(start..self.at)?).ok().map(Cow::Owned),
        }
    }

    /// A whole number as JSON writes it; not -0, which is none in Python's and serde's eyes.
    fn whole(&mut self) -> Option<i64> {
        let is_negative = self.next()? == b'-';
        self.at += usize::from(is_negative);
        let rest = &self.text.as_bytes()[self.at..];
        let count = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let goes_on = matches!(rest.get(count), Some(b'.' | b'e' | b'E'));
        let has_zero_ahead = rest.first() == Some(&b'0') && (count > 1 || is_negative);
        if count == 0 || count > DIGITS || goes_on || has_zero_ahead {
            return None;
        }
        let value = rest[..count].iter().fold(0, |value, digit| 10 * value + i64::from(digit - b'0'));
        self.at += count;
        Some(if is_negative { -value } else { value })
    }

    fn id(&mut self) -> Option<ClaimId<'a>> {
        if self.next()? == b'"' { self.text().map(ClaimId::read) } else { self.whole().map(ClaimId::Number) }
    }

    fn label(&mut self) -> Option<Label<'a>> {
        self.text().map(|text| Label::read(&text))
    }

    /// Groups of `[annotation id, evidence id, page, line, ..]`.
    fn evidence(&mut self) -> Option<Evidence<'a>> {
        let mut evidence = Evidence::default();
        self.list(Brackets::LIST, |cursor| {
            cursor.list(Brackets::LIST, |cursor| {
                evidence.sentences.push(cursor.gold_sentence()?);
                Some(())
            })?;
            evidence.ends.push(evidence.sentences.len());
            Some(())
        })?;
        Some(evidence)
    }

    fn gold_sentence(&mut self) -> Option<Sentence<'a>> {
        let (mut place, mut page, mut line) = (0, None, None);
        self.list(Brackets::LIST, |cursor| {
            match place {
                2 => page = cursor.or_null(Self::text)?,
                3 => line = cursor.or_null(Self::whole)?,
                _ => cursor.skip(DEPTH)?,
            }
            place += 1;
            Some(())
        })?;
        (place > 3).then_some(Sentence { page, line })
    }

    /// A list of `[page, line]`.
    fn predicted(&mut self) -> Option<Vec<PredictedSentence<'a>>> {
        // As many as the shared task counts.
        let mut predicted = Vec::with_capacity(5);
        self.list(Brackets::LIST, |cursor| {
            cursor.expect(b'[')?;
            let page = cursor.text()?;
            cursor.expect(b',')?;
            predicted.push(PredictedSentence::new(page, cursor.whole()?));
            cursor.expect(b']')
        })?;
        Some(predicted)
    }

    /// Moves behind a value of any kind.
    fn skip(&mut self, depth: u8) -> Option<()> {
        let depth = depth.checked_sub(1)?;
        match self.next()? {
            b'"' => self.string().map(|_| ()),
            b'[' => self.list(Brackets::LIST, |cursor| cursor.skip(depth)),
            b'{' => self.list(Brackets::OBJECT, |cursor| {
                cursor.string()?;
                cursor.expect(b':')?;
                cursor.skip(depth)
            }),
            b't' => self.word("true"),
            b'f' => self.word("false"),
            b'n' => self.word("null"),
            _ => self.skip_number(),
        }
    }

    fn skip_number(&mut self) -> Option<()> {
        self.at += usize::from(self.peek() == Some(b'-'));
        let first = self.peek();
        let whole = self.skip_digits()?;
        if first == Some(b'0') && whole > 1 {
            return None;
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.skip_digits()?;
        }
        if let Some(b'e' | b'E') = self.peek() {
            self.at += 1;
            self.at += usize::from(matches!(self.peek(), Some(b'+' | b'-')));
            self.skip_digits()?;
        }
        Some(())
    }

    /// At least one digit; gives how many.
    fn skip_digits(&mut self) -> Option<usize> {
        let rest = &self.text.as_bytes()[self.at..];
        let count = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        self.at += count;
        (count > 0).then_some(count)
    }
}
