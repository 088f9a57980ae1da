//! How replies name the better of two answers: in our form, or in those that imported prompts ask for.
//!
//! The **last** allowed verdict of a reply counts, since judges restate the choice before they decide. A single letter may as
//! well name the loser behind the winner (`[[A]] because [[B]] is worse`): of two different ones none counts. Where single
//! brackets are read, doubled ones come first. What is none of the allowed verdicts is unreadable, and never a tie.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::domain::{
    AnswerPreference, JudgeReply, Mode, Preference, Reading, Verdict, after_thinking, bare, listed,
};
use crate::question::Unreadable;
use crate::question::reading::{feedback, object, single};

/// Ratings that differ by no more than this are a tie (FastChat).
const RATING_TIE: f64 = 0.1;
/// 7.6 - 7.5 is 0.0999.. or 0.1000.., as the floats fall.
const ROUNDING: f64 = 1e-9;

/// The form of a reply about two answers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PairForm {
    /// `{"winner": "A"}`, `"B"` or `"tie"`: the built-in prompts.
    #[default]
    Winner,
    /// `[[A]]`, `[[B]]`, `[[C]]` for a tie (FastChat's pairs).
    Letters,
    /// `[[8,7]]`: ratings, a tie within 0.1 (FastChat).
    Ratings,
    /// `[[A>>B]]` to `[[B>>A]]` (arena-hard).
    Arrows,
    /// A list of models with ranks, `[{"model": "model_1", "rank": 1}, ..]`, also under `ordered_models` (alpaca_eval).
    Ranks,
    /// Two numbers in the first line, `8 7` (alpaca_eval's form of LMSYS).
    Scores,
    /// `m` or `M`, weighted by their token probabilities where the server gives them (alpaca_eval).
    Tokens,
}

impl PairForm {
    /// The forms that a manifest can declare for its prompts.
    pub(super) const NAMES: &'static [&'static str] = &[
        "winner", "letters", "ratings", "arrows", "ranks", "scores", "tokens",
    ];

    /// The form with this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::deserialize(Value::from(name)).ok()
    }

    /// Reads a reply.
    ///
    /// # Errors
    /// If it has no allowed verdict, or was cut before one; in default mode also with two different letters.
    pub(super) fn read(self, reply: &JudgeReply, mode: Mode) -> Result<Reading, Unreadable> {
        if self == Self::Winner {
            return winner(reply);
        }
        if reply.is_cut() && !self.is_whole(&reply.content) {
            return Err(Unreadable::cut(reply));
        }
        let text = match mode {
            Mode::Default => after_thinking(&reply.content).map_err(Unreadable::new)?,
            Mode::Compat => &reply.content,
        };
        let preference = match self {
            Self::Winner => None,
            Self::Letters => letters(text, mode)?.map(Into::into),
            Self::Ratings => last_bracketed(text, ratings).map(Into::into),
            Self::Arrows => last_bracketed(text, arrow),
            Self::Ranks => ranks(&reply.content)
                .or_else(|| ranks(text))
                .map(Into::into),
            Self::Scores => scores(text, mode).map(Into::into),
            Self::Tokens => by_tokens(reply, text.trim()),
        };
        let preference = preference.ok_or_else(|| Unreadable::new(self.expected()))?;
        Ok(Reading::new(Verdict::Preference(preference)).with_feedback(explanation(text)))
    }

    /// Whether a text that ended at the reply limit is a whole verdict: ranks are the whole text, and a token is whole whatever would
    /// come behind it.
    fn is_whole(self, text: &str) -> bool {
        match self {
            Self::Ranks => ranks(text).is_some(),
            Self::Tokens => !text.trim().is_empty(),
            _ => false,
        }
    }

    /// What an unreadable reply does not have.
    fn expected(self) -> &'static str {
        match self {
            Self::Winner => "no \"winner\" in the reply's object",
            Self::Letters => "no [[A]], [[B]] or [[C]] in the reply",
            Self::Ratings => "no [[rating,rating]] in the reply",
            Self::Arrows => "no [[A>B]] or its like in the reply",
            Self::Ranks => "no ranks 1 and 2 of the two models in the reply",
            Self::Scores => "no two numbers at the beginning of the reply",
            Self::Tokens => "neither m nor M in the reply",
        }
    }
}

/// The text of a reply is its explanation, unless it is only the verdict.
fn explanation(text: &str) -> Option<String> {
    let text = text.trim();
    let is_explained = text.split_whitespace().nth(3).is_some();
    is_explained.then(|| text.to_owned())
}

fn winner(reply: &JudgeReply) -> Result<Reading, Unreadable> {
    let object = object(reply)?;
    let named = single(&object, "winner").map_err(Unreadable::new)?;
    let named = named.and_then(Value::as_str);
    let named = named.ok_or_else(|| Unreadable::new(PairForm::Winner.expected()))?;
    let preference = Preference::named(named)
        .ok_or_else(|| Unreadable::new("winner is none of A, B and tie"))?;
    Ok(Reading::new(Verdict::Preference(preference.into())).with_feedback(feedback(&object)))
}

/// What `read` makes of the last text in doubled brackets that it can read; without one, of the last in single brackets.
fn last_bracketed<T>(text: &str, read: fn(&str) -> Option<T>) -> Option<T> {
    let doubled = bracketed(text, "[[", "]]").filter_map(read).last();
    doubled.or_else(|| bracketed(text, "[", "]").filter_map(read).last())
}

/// The texts between these brackets, without brackets in them.
fn bracketed<'a>(
    text: &'a str,
    open: &'static str,
    close: &'static str,
) -> impl Iterator<Item = &'a str> {
    let pieces = text.split(open).skip(1);
    let inside = pieces.filter_map(move |piece| Some(piece.split_once(close)?.0));
    inside.filter(|inside| !inside.contains(['[', ']']))
}

/// The last letter; in default mode all must be the same.
fn letters(text: &str, mode: Mode) -> Result<Option<Preference>, Unreadable> {
    let letters: Vec<Preference> = bracketed(text, "[[", "]]").filter_map(letter).collect();
    let last = letters.last().copied();
    if mode == Mode::Default && letters.iter().any(|letter| Some(*letter) != last) {
        return Err(Unreadable::new(
            "two different verdicts in the reply, such as [[A]] and [[B]]",
        ));
    }
    Ok(last)
}

fn letter(text: &str) -> Option<Preference> {
    match text.trim() {
        "A" | "a" => Some(Preference::First),
        "B" | "b" => Some(Preference::Second),
        "C" | "c" => Some(Preference::Tie),
        _ => None,
    }
}

fn ratings(text: &str) -> Option<Preference> {
    let (first, second) = text.split_once(',')?;
    let lead = number(first)? - number(second)?;
    Some(Preference::of_difference(lead, RATING_TIE + ROUNDING))
}

/// `A>>B`: which of both is better, and whether it is much better.
fn arrow(text: &str) -> Option<AnswerPreference> {
    let text: String = text.to_ascii_uppercase().split_whitespace().collect();
    let between = text.strip_prefix(['A', 'B'])?.strip_suffix(['A', 'B'])?;
    let is_a_left = match (text.as_bytes().first()?, text.as_bytes().last()?) {
        (b'A', b'B') => true,
        (b'B', b'A') => false,
        _ => return None,
    };
    let is_left_better = match between {
        "=" => return Some(Preference::Tie.into()),
        ">" | ">>" => true,
        "<" | "<<" => false,
        _ => return None,
    };
    let better = Preference::First.exchanged_if(is_a_left != is_left_better);
    Some(AnswerPreference {
        is_strong: between.len() == 2,
        ..better.into()
    })
}

/// Ranks 1 and 2 of both models, whichever is named first.
fn ranks(text: &str) -> Option<Preference> {
    let text = text.trim();
    // The form is a list as Python prints it: no name and no rank has a quote in it.
    let read = |text: &str| serde_json::from_str::<Value>(text).ok();
    let value = read(text).or_else(|| read(&text.replace('\'', "\"")))?;
    let list = value.get("ordered_models").unwrap_or(&value).as_array()?;
    let rank = |names: [&str; 2]| {
        let mut of_model = list.iter().filter(|entry| {
            let model = entry.get("model").and_then(Value::as_str);
            model.is_some_and(|model| names.contains(&model))
        });
        of_model.next()?.get("rank")?.as_f64()
    };
    let first = rank(["model_1", "m"])?;
    let second = rank(["model_2", "M"])?;
    if first == 1.0 && second == 2.0 {
        Some(Preference::First)
    } else if first == 2.0 && second == 1.0 {
        Some(Preference::Second)
    } else {
        None
    }
}

/// The two numbers with which the reply begins. In default mode no other may be on their line: of `8,5 7,5` or `8 or 9, 7`
/// nobody knows which two are meant.
fn scores(text: &str, mode: Mode) -> Option<Preference> {
    let line = text.trim_start().lines().next()?;
    let mut numbers = line
        .split(|character: char| character == ',' || character.is_whitespace())
        .filter(|word| !word.is_empty());
    let first = number(numbers.next()?)?;
    let second = number(numbers.next()?)?;
    if mode == Mode::Default && numbers.any(|word| word.starts_with(char::is_numeric)) {
        return None;
    }
    Some(Preference::of_difference(first - second, 0.0))
}

/// The probability of `m` among `m` and `M` where the reply has it; without probabilities, whichever the reply is.
fn by_tokens(reply: &JudgeReply, text: &str) -> Option<AnswerPreference> {
    // Judges put it in emphasis, quotes or a sentence's full stop.
    let text = text.trim_matches(|c: char| !c.is_alphanumeric());
    let tokens = reply.logprobs.as_deref().unwrap_or_default();
    // Tokens of reasoning may come before it, and one of the end behind it.
    let verdict_token = tokens.iter().rfind(|token| bare(&token.token) == text);
    let alternatives = verdict_token.or(tokens.first()).map_or(Vec::new(), listed);
    let first = probability(&alternatives, "m");
    let both = first + probability(&alternatives, "M");
    if both > 0.0 {
        return Some(AnswerPreference::of_value(first / both));
    }
    match text {
        "m" => Some(Preference::First.into()),
        "M" => Some(Preference::Second.into()),
        _ => None,
    }
}

/// The probability of all alternatives that are this text.
fn probability(alternatives: &[(String, f64)], text: &str) -> f64 {
    let same = alternatives.iter().filter(|(other, _)| other == text);
    same.map(|(_, probability)| probability).sum()
}

/// A finite number.
fn number(text: &str) -> Option<f64> {
    let number: f64 = text.trim().parse().ok()?;
    number.is_finite().then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::TokenLogprob;

    fn value(form: PairForm, text: &str) -> Option<f64> {
        let reading = form.read(&JudgeReply::of_text(text), Mode::Default).ok()?;
        reading.verdict.number()
    }

    #[test]
    fn every_name_of_a_form_is_its_own() {
        for name in PairForm::NAMES {
            let form = PairForm::named(name).unwrap();
            assert_eq!(serde_json::to_value(form).unwrap(), *name);
        }
        assert_eq!(PairForm::named("other"), None);
    }

    #[test]
    fn the_last_allowed_verdict_counts() {
        let letters = "[[A]] at first, then [[B]]";
        assert_eq!(value(PairForm::Letters, letters), None);
        let compat = PairForm::Letters.read(&JudgeReply::of_text(letters), Mode::Compat);
        assert_eq!(compat.unwrap().verdict.number(), Some(0.0));
        assert_eq!(value(PairForm::Letters, "[[A]], so [[a]]"), Some(1.0));
        assert_eq!(value(PairForm::Letters, "[[A]] against [[D]]"), Some(1.0));
        assert_eq!(value(PairForm::Arrows, "[[A>B]] [B>A]"), Some(1.0));
        assert_eq!(value(PairForm::Ratings, "[[7.6,7.5]]"), Some(0.5));
    }

    #[test]
    fn scores_and_letters_are_read_behind_reasoning_and_of_two_numbers_only() {
        let scores = |text| value(PairForm::Scores, text);
        assert_eq!(scores("<think>\n9 1\n</think>\n7 8\nfine"), Some(0.0));
        assert_eq!(scores("9 1 at first </think> 7, 8"), Some(0.0));
        assert_eq!(scores("8 7 because"), Some(1.0));
        for text in ["8,5 7,5", "8 7 or 8", "8-9 7", "8 or 9, 7"] {
            assert_eq!(scores(text), None, "{text}");
        }
        assert_eq!(
            value(PairForm::Letters, "[THINK][[A]]?[/THINK][[B]]"),
            Some(0.0)
        );
        assert_eq!(value(PairForm::Tokens, "<think>m</think>M"), Some(0.0));
    }

    #[test]
    fn whole_ranks_count_though_they_ended_at_the_limit() {
        let list = r#"[{"model": "m", "rank": 1}, {"model": "M", "rank": 2}]"#;
        let cut = |text: &str| JudgeReply {
            finish_reason: Some("length".to_owned()),
            ..JudgeReply::of_text(text)
        };
        let read = |text| PairForm::Ranks.read(&cut(text), Mode::Default);
        assert_eq!(read(list).unwrap().verdict.number(), Some(1.0));
        assert!(read(&list[..list.len() - 1]).is_err());
    }

    #[test]
    fn a_reply_without_a_verdict_is_no_tie() {
        for form in PairForm::NAMES {
            let form = PairForm::named(form).unwrap();
            assert_eq!(value(form, ""), None, "{form:?}");
            assert_eq!(value(form, "both are good"), None, "{form:?}");
        }
        assert_eq!(value(PairForm::Winner, r#"{"winner": "both"}"#), None);
        assert_eq!(value(PairForm::Winner, r#"{"winner": "Tie"}"#), Some(0.5));
    }

    #[test]
    fn much_better_is_noted_and_counts_as_better() {
        let reading = PairForm::Arrows
            .read(&JudgeReply::of_text("[[B>>A]]"), Mode::Default)
            .unwrap();
        let expected = AnswerPreference {
            value: 0.0,
            is_strong: true,
        };
        assert_eq!(reading.verdict, Verdict::Preference(expected));
    }

    #[test]
    fn tokens_are_weighted_by_their_probability() {
        let token = TokenLogprob {
            token: "m".to_owned(),
            logprob: -0.1,
            top: vec![("m".to_owned(), -0.1), (" M".to_owned(), -2.4)],
        };
        let reply = JudgeReply {
            logprobs: Some(vec![token]),
            ..JudgeReply::of_text("m")
        };
        let reading = PairForm::Tokens.read(&reply, Mode::Default).unwrap();
        let first = (-0.1_f64).exp();
        let expected = first / (first + (-2.4_f64).exp());
        assert_eq!(reading.verdict.number(), Some(expected));
        assert_eq!(value(PairForm::Tokens, "M"), Some(0.0));
    }
}
