//! Estimates of the tokens of prompts.

use crate::prompt::Messages;
use scholareval_core::text::model_tokens::estimate_tokens;

/// What a chat server adds around one message (role, separators), in tokens.
const TOKENS_PER_MESSAGE: u64 = 4;

/// About how many tokens a chat prompt of these messages has, their framing included.
pub fn estimate_messages(messages: &Messages) -> u64 {
    messages
        .texts()
        .map(|text| estimate_tokens(text) + TOKENS_PER_MESSAGE)
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_message_costs_its_framing() {
        // (1 + 4) + (2 + 4): (5 + 18) / 24 and (11 + 2 * 18) / 24
        assert_eq!(
            estimate_messages(&Messages::new(Some("hello".into()), "hello there")),
            11
        );
    }
}
