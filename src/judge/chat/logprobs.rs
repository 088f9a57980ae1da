//! Token probabilities as servers write them.
//!
//! Two forms are read, whatever route they come from: the list of chat (`{"content": [{"token", "logprob",
//! "top_logprobs": [{"token", "logprob"}]}]}`; llama.cpp writes it for raw completions too) and the columns of
//! raw completions (`{"tokens": [..], "token_logprobs": [..], "top_logprobs": [{token: logprob}]}`; OpenAI, vLLM).

use serde_json::Value;

use crate::domain::TokenLogprob;

/// Stands for a probability of zero, whose logarithm JSON cannot write: what vLLM sends in its place.
const NEVER: f64 = -9999.0;

/// The tokens of a choice's `logprobs` member; `None` where there are none.
///
/// Alternatives are kept, the most probable first, where a score can stand: at tokens with an ASCII digit, and at the
/// token behind one, which tells whether the number would have gone on. Of a long reply that is a small part.
pub(super) fn token_logprobs(value: &Value) -> Option<Vec<TokenLogprob>> {
    let mut tokens = listed(value).or_else(|| in_columns(value)).filter(|tokens| !tokens.is_empty())?;
    let mut is_after_digit = false;
    for token in &mut tokens {
        let has_digit = token.token.contains(|c: char| c.is_ascii_digit());
        if has_digit || is_after_digit {
            token.top.sort_by(|a, b| b.1.total_cmp(&a.1));
        } else {
            token.top = Vec::new();
        }
        is_after_digit = has_digit;
    }
    Some(tokens)
}

fn listed(value: &Value) -> Option<Vec<TokenLogprob>> {
    let tokens = value.get("content")?.as_array()?;
    let one = |entry: &Value| Some((entry.get("token")?.as_str()?.to_owned(), logprob(entry.get("logprob"))));
    let tokens = tokens.iter().map(|entry| {
        let (token, logprob) = one(entry)?;
        let top = entry.get("top_logprobs").and_then(Value::as_array);
        let top = top.map(|top| top.iter().filter_map(one).collect()).unwrap_or_default();
        Some(TokenLogprob { token, logprob, top })
    });
    // A token that cannot be read would shift all that follow: then the list says nothing.
    tokens.collect()
}

fn in_columns(value: &Value) -> Option<Vec<TokenLogprob>> {
    let tokens = value.get("tokens")?.as_array()?;
    let column = |name: &str| value.get(name).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let (logprobs, tops) = (column("token_logprobs"), column("top_logprobs"));
    let tokens = tokens.iter().enumerate().map(|(i, token)| {
        let top = tops.get(i).and_then(Value::as_object);
        let top = top.map(|top| top.iter().map(|(text, number)| (text.clone(), logprob(Some(number)))).collect());
        let token = token.as_str()?.to_owned();
        Some(TokenLogprob { token, logprob: logprob(logprobs.get(i)), top: top.unwrap_or_default() })
    });
    tokens.collect()
}

/// A logarithm of a probability: at most 0; [`NEVER`] where nothing usable is written.
fn logprob(value: Option<&Value>) -> f64 {
    value.and_then(Value::as_f64).filter(|number| number.is_finite()).map_or(NEVER, |number| number.clamp(NEVER, 0.0))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn token(token: &str, logprob: f64, top: &[(&str, f64)]) -> TokenLogprob {
        let top = top.iter().map(|(text, logprob)| ((*text).to_owned(), *logprob)).collect();
        TokenLogprob { token: token.to_owned(), logprob, top }
    }

    #[test]
    fn both_forms_give_the_same_tokens() {
        let chat = json!({"content": [
            {"token": ": ", "bytes": [58, 32], "logprob": -0.25, "top_logprobs": [{"token": ": ", "logprob": -0.25}]},
            {"token": "4", "logprob": -0.5, "top_logprobs": [{"token": "5", "logprob": -1.0}, {"token": "4", "logprob": -0.5}]},
            {"token": "}", "logprob": -0.0, "top_logprobs": [{"token": "}", "logprob": 0.0}]},
            {"token": "\n", "logprob": -0.125, "top_logprobs": []},
        ]});
        let columns = json!({
            "tokens": [": ", "4", "}", "\n"], "token_logprobs": [-0.25, -0.5, 0, -0.125], "text_offset": [0, 2, 3, 4],
            "top_logprobs": [{": ": -0.25}, {"5": -1.0, "4": -0.5}, {"}": 0}, null],
        });
        let expected = [
            token(": ", -0.25, &[]),
            token("4", -0.5, &[("4", -0.5), ("5", -1.0)]),
            token("}", 0.0, &[("}", 0.0)]),
            token("\n", -0.125, &[]),
        ];
        for form in [chat, columns] {
            assert_eq!(token_logprobs(&form).as_deref(), Some(&expected[..]), "{form}");
        }
    }

    #[test]
    fn what_servers_leave_out_is_no_error() {
        for nothing in [json!(null), json!({}), json!({"content": null}), json!({"tokens": []}), json!({"content": []})]
        {
            assert_eq!(token_logprobs(&nothing), None, "{nothing}");
        }
        // OpenAI gives the first token of an echoed prompt no probability, vLLM writes -inf as null.
        let sparse = json!({"tokens": ["7"], "token_logprobs": [null]});
        assert_eq!(token_logprobs(&sparse), Some(vec![token("7", NEVER, &[])]));
        assert_eq!(token_logprobs(&json!({"content": [{"token": "7", "logprob": 3.5}]})).unwrap()[0].logprob, 0.0);
        assert_eq!(token_logprobs(&json!({"content": [{"token": "7", "logprob": -1}, {"logprob": -1}]})), None);
    }
}
