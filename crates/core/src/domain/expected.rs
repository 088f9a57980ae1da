//! Expected scores: the mean over a judge's possible scores, weighted by token probabilities.
//!
//! A judge that writes `4` may have given 5 almost the same probability; the weighted mean keeps that (G-Eval, arXiv
//! 2303.16634, section 2.3).
//!
//! The token is found by its text, not its position: servers strip code fences and thinking from the content, but not
//! from the token list. White space is ignored, since servers write the spaces of tokens differently.

use std::ops::RangeInclusive;

use super::python_json::{self, outermost_braces};
use super::{JudgeReply, TokenLogprob};
use crate::text::thinking::reply_start;

/// The marker before a grade.
pub const RESULT: &str = "[RESULT]";

/// Minimum total probability of the alternatives that are scores.
// Below one half, the mean would be over what the judge most likely did not mean.
pub const LEAST_MASS: f64 = 0.5;

/// Position of the score in a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScoreLocation {
    /// After the last `[RESULT]`, in any case (aspect grades).
    AfterResult,
    /// The value of `score` in the reply's JSON object (points).
    JsonScore,
}

/// A probability-weighted mean.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Expected {
    /// sum(p n) / sum(p) over the alternatives that are scores n; within the range.
    pub value: f64,
    /// sum(p), [`LEAST_MASS`]..=1.
    pub mass: f64,
}

/// Why a reply has no expected score; its plain score is used and flagged.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub enum WhyNot {
    /// The server sent no probabilities, or none for the score's token.
    #[error("the server gave no probabilities")]
    NoLogprobs,
    /// No whole number in range at the score's position, or its token is not among those listed.
    #[error("the score's token was not found")]
    NotFound,
    /// The number spans more tokens than can be resolved, or shares one with other text.
    #[error("the score is not a token of its own")]
    SeveralTokens,
    /// The alternatives that are scores only have this total probability.
    #[error("the listed alternatives cover only {:.0}%", 100.0 * .0)]
    Covers(f64),
}

/// The expected score of a reply over the whole numbers of `range`.
///
/// Alternatives of the score's token that are numbers in range count with exp(logprob); ` 4` and `4` are the same
/// number. If a longer number could begin with the same token (`1` of `10`), the next token's alternatives split its
/// probability: `0` counts for `10`, any non-digit for `1`. The next token is known only for the sampled token; an
/// ambiguous alternative that was not sampled is left out, unless the tokenizer lists longer numbers as one token.
///
/// # Errors
/// [`WhyNot`]; there is no silent fallback.
pub fn expected_value(
    reply: &JudgeReply,
    range: RangeInclusive<u32>,
    location: ScoreLocation,
) -> Result<Expected, WhyNot> {
    let tokens = reply
        .logprobs
        .as_deref()
        .filter(|tokens| !tokens.is_empty())
        .ok_or(WhyNot::NoLogprobs)?;
    let place = match location {
        ScoreLocation::AfterResult => after_result(&reply.content),
        ScoreLocation::JsonScore => json_score(&reply.content),
    };
    let place = place.ok_or(WhyNot::NotFound)?;
    let number = &reply.content[place.digits.clone()];
    if !number
        .parse()
        .is_ok_and(|number: u32| range.contains(&number))
    {
        return Err(WhyNot::NotFound);
    }
    let at = token_of(&place, &reply.content, tokens).ok_or(WhyNot::NotFound)?;
    let step = TokenStep {
        first: &tokens[at],
        next: tokens.get(at + 1),
        range: &range,
    };
    if !step.spells(number) {
        return Err(WhyNot::SeveralTokens);
    }
    // Servers list alternatives only on request; a mean over the token alone would be the plain
    // score under another name.
    if step.first.top.is_empty() {
        return Err(WhyNot::NoLogprobs);
    }
    let outcomes = step.outcomes();
    let mass: f64 = outcomes.iter().map(|(_, p)| p).sum();
    if mass < LEAST_MASS {
        return Err(WhyNot::Covers(mass));
    }
    let value = outcomes.iter().map(|(n, p)| f64::from(*n) * p).sum::<f64>() / mass;
    let (low, high) = (f64::from(*range.start()), f64::from(*range.end()));
    Ok(Expected {
        // Rounding may leave the range by a last digit.
        value: value.clamp(low, high),
        mass: mass.min(1.0),
    })
}

/// Byte offsets in the content.
struct NumberPlace {
    /// Start of the anchor text before the number.
    anchor: usize,
    /// The number's digits.
    digits: std::ops::Range<usize>,
}

/// The number after the last `[RESULT]`.
fn after_result(content: &str) -> Option<NumberPlace> {
    let (anchor, grade) = last_result(content)?;
    Some(NumberPlace {
        anchor,
        digits: whole_number(content, content.len() - grade.len())?,
    })
}

/// Where the last `[RESULT]` of a text begins, in any case, and the text from its grade on: behind the scale, if the judge
/// repeats it, and a bracket.
pub(crate) fn last_result(text: &str) -> Option<(usize, &str)> {
    // The last one: judges repeat the format before they grade. Compared as bytes: the marker is ASCII, but the text behind a
    // bracket may end inside a character.
    let mut windows = text.as_bytes().windows(RESULT.len());
    let at = windows.rposition(|window| window.eq_ignore_ascii_case(RESULT.as_bytes()))?;
    let grade = without_scale(text[at + RESULT.len()..].trim_start());
    Some((at, grade.strip_prefix(['(', '[']).unwrap_or(grade)))
}

/// The text without the scale that it begins with, as in `(1-5): 4`: brackets with the digits 1 and 5, apart, and no other.
fn without_scale(text: &str) -> &str {
    let inner = text.strip_prefix(['(', '[']).unwrap_or_default();
    let Some((scale, behind)) = inner.split_once([')', ']']) else {
        return text;
    };
    let digits = scale.chars().filter(|c| c.is_numeric());
    if scale.contains("15") || !digits.eq(['1', '5']) {
        return text;
    }
    behind.trim_start_matches(|c: char| c.is_whitespace() || c == ':' || c == '=')
}

/// The value of `score` in the outermost JSON object; of repeated keys the last, as in JSON parsers.
fn json_score(content: &str) -> Option<NumberPlace> {
    const KEY: &str = "\"score\"";
    let after_thinking = reply_start(content, &[]);
    let start = after_thinking + content[after_thinking..].find('{')?;
    // In what is only nearly JSON, the key may stand in a text.
    python_json::parse(outermost_braces(&content[start..])?).ok()?;
    let (mut depth, mut in_string, mut escaped) = (0_usize, false, false);
    let mut place = None;
    for (at, byte) in content.bytes().enumerate().skip(start) {
        if in_string {
            in_string = escaped || byte != b'"';
            escaped = !escaped && byte == b'\\';
            continue;
        }
        match byte {
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.saturating_sub(1),
            b'"' => {
                in_string = true;
                let colon = content[at..]
                    .strip_prefix(KEY)
                    .map(str::trim_start)
                    .and_then(|rest| rest.strip_prefix(':'));
                if let Some(rest) = colon.filter(|_| depth == 1) {
                    place = Some((at, content.len() - rest.trim_start().len()));
                }
            }
            _ => {}
        }
    }
    let (anchor, number) = place?;
    Some(NumberPlace {
        anchor,
        digits: whole_number(content, number)?,
    })
}

/// The digits at `start`, unless they continue as a decimal number.
fn whole_number(content: &str, start: usize) -> Option<std::ops::Range<usize>> {
    let rest = content.get(start..)?;
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    let mut behind = rest[digits..].bytes();
    let is_decimal = match behind.next() {
        Some(b'.') => behind.next().is_some_and(|byte| byte.is_ascii_digit()),
        Some(b'e' | b'E') => behind
            .next()
            .is_some_and(|byte| byte.is_ascii_digit() || matches!(byte, b'+' | b'-')),
        _ => false,
    };
    (digits > 0 && !is_decimal).then_some(start..start + digits)
}

/// Whether comparisons ignore the character: white space, and what tokenizers write instead.
fn is_space(c: char) -> bool {
    // SentencePiece and GPT-2 write a space as ▁ and Ġ, and some servers send these as they are.
    c.is_whitespace() || matches!(c, '\u{2581}' | '\u{120}')
}

/// The text without white space.
pub fn bare(text: &str) -> String {
    text.chars().filter(|c| !is_space(*c)).collect()
}

/// Index of the token in which the number begins.
fn token_of(place: &NumberPlace, content: &str, tokens: &[TokenLogprob]) -> Option<usize> {
    let wanted = bare(&content[place.anchor..place.digits.end]);
    let digits = place.digits.len();
    // The anchor may occur again after the number (in quoting feedback): skip as many in the tokens.
    let behind = bare(&content[place.digits.end..]).matches(&wanted).count();
    let mut joined = String::new();
    let mut token_at = Vec::new();
    for (index, token) in tokens.iter().enumerate() {
        joined.extend(token.token.chars().filter(|c| !is_space(*c)));
        token_at.resize(joined.len(), index);
    }
    // From the end: what comes before the content in the tokens (thinking) may hold the same text.
    let (start, _) = joined.rmatch_indices(&wanted).nth(behind)?;
    token_at.get(start + wanted.len() - digits).copied()
}

/// The score's token, or its beginning, and the next one.
struct TokenStep<'a> {
    first: &'a TokenLogprob,
    next: Option<&'a TokenLogprob>,
    range: &'a RangeInclusive<u32>,
}

impl TokenStep<'_> {
    /// Whether the first token, or both together, are exactly the number.
    fn spells(&self, number: &str) -> bool {
        let first = bare(&self.first.token);
        let rest = number.strip_prefix(first.as_str());
        rest.is_some_and(|rest| rest.is_empty() || self.next.is_some_and(|next| next.token == rest))
    }

    /// Possible numbers in range with their probabilities; a number can occur twice.
    fn outcomes(&self) -> Vec<(u32, f64)> {
        let taken = bare(&self.first.token);
        let top = listed(self.first);
        // A tokenizer that lists a longer number as one token would list each of them so.
        let is_merging = top
            .iter()
            .any(|(text, _)| text.len() > 1 && digits_of(text).is_some());
        let mut outcomes = Vec::new();
        for (text, p) in &top {
            let Some(number) = digits_of(text) else {
                continue;
            };
            if is_merging || !self.begins_longer(text) {
                outcomes.push((number, *p));
            } else if *text == taken {
                outcomes.extend(self.split(text, *p));
            }
        }
        outcomes.retain(|(number, _)| self.range.contains(number));
        outcomes
    }

    /// Whether a longer number in range begins with these digits.
    fn begins_longer(&self, digits: &str) -> bool {
        self.range.clone().any(|number| {
            let number = number.to_string();
            number.len() > digits.len() && number.starts_with(digits)
        })
    }

    /// Splits the sampled token's probability by the next token's alternatives.
    fn split(&self, digits: &str, p: f64) -> Vec<(u32, f64)> {
        let Some(next) = self.next.filter(|next| !next.top.is_empty()) else {
            return Vec::new();
        };
        let mut outcomes = Vec::new();
        for (text, logprob) in alternatives(next) {
            let more: String = text.chars().take_while(char::is_ascii_digit).collect();
            // With a decimal point it is not a whole number.
            if !text.starts_with('.')
                && let Ok(number) = format!("{digits}{more}").parse()
            {
                // Servers round: a log probability of 0.0001 would be a probability above 1.
                outcomes.push((number, p * logprob.min(0.0).exp()));
            }
        }
        outcomes
    }
}

/// Alternatives of a token, itself included.
fn alternatives(token: &TokenLogprob) -> impl Iterator<Item = (&str, f64)> {
    let itself = Some((token.token.as_str(), token.logprob));
    // A sampled token need not be among the most likely ones, and must not count twice.
    let itself = itself.filter(|(text, _)| token.top.iter().all(|(listed, _)| listed != text));
    token
        .top
        .iter()
        .map(|(text, logprob)| (text.as_str(), *logprob))
        .chain(itself)
}

/// The same without white space, with probabilities.
pub fn listed(token: &TokenLogprob) -> Vec<(String, f64)> {
    alternatives(token)
        .map(|(text, logprob)| (bare(text), logprob.min(0.0).exp()))
        .collect()
}

/// The number, if the text consists of digits.
fn digits_of(text: &str) -> Option<u32> {
    text.bytes()
        .all(|byte| byte.is_ascii_digit())
        .then(|| text.parse().ok())
        .flatten()
}

#[cfg(test)]
mod tests;
