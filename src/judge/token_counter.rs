//! Token counts of prompts by the vocabularies of OpenAI's models, which are built in:
//!
//! | models | vocabulary |
//! |---|---|
//! | `gpt-4o`, `gpt-4.1`, `gpt-4.5`, `gpt-5` and their variants, `chatgpt-4o`, `o1`, `o3`, `o4` | `o200k_base` |
//! | other `gpt-4`, `gpt-3.5` (`gpt-35` at Azure) | `cl100k_base` |
//!
//! (As in `tiktoken/model.py` of github.com/openai/tiktoken.) A chat has more tokens than its texts: 3 for each message,
//! those of its role and of its content, 1 more for a name, and 3 that begin the reply. That arithmetic is documented in
//! OpenAI's cookbook, "How to count tokens with tiktoken" (section 6), with the counts of the API for its example: 129 by
//! `gpt-4` and `gpt-3.5-turbo`, 124 by `gpt-4o`.
//!
//! A vocabulary is unpacked at its first use, which takes a moment and some tens of megabytes.

use serde_json::Value;
use tiktoken::CoreBpe;

/// Tokens that frame a message.
const PER_MESSAGE: u64 = 3;
/// Further tokens of a message with a name.
const PER_NAME: u64 = 1;
/// Tokens that begin the reply.
const REPLY_PRIMER: u64 = 3;

/// How the names of the models of each vocabulary begin; the first that fits counts.
const MODELS: [(&[&str], Vocabulary); 2] = [
    (&["gpt-5", "gpt-4o", "chatgpt-4o", "gpt-4.1", "gpt-4.5", "o1", "o3", "o4"], Vocabulary::O200k),
    (&["gpt-4", "gpt-3.5", "gpt-35"], Vocabulary::Cl100k),
];

/// How a model of OpenAI cuts texts into tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Vocabulary {
    /// `o200k_base`.
    O200k,
    /// `cl100k_base`.
    Cl100k,
}

impl Vocabulary {
    /// The vocabulary of a model, by its name: with a date behind it (`gpt-4o-2024-11-20`), as a gateway writes it
    /// (`openai/gpt-4o`), or fine-tuned (`ft:gpt-4o:..`). `None` for models that are not known to be OpenAI's.
    pub fn of_model(model: &str) -> Option<Self> {
        let name = model.strip_prefix("openai/").unwrap_or(model);
        let name = name.strip_prefix("ft:").unwrap_or(name);
        // `o1-mini` is one of them, `o10` is not.
        let is_end = |rest: &str| !rest.starts_with(|c: char| c.is_ascii_digit());
        let begins = |prefix: &&str| name.strip_prefix(*prefix).is_some_and(is_end);
        MODELS.iter().find(|(prefixes, _)| prefixes.iter().any(begins)).map(|(_, encoding)| *encoding)
    }

    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::O200k => "o200k_base",
            Self::Cl100k => "cl100k_base",
        }
    }

    /// The tokens of `text`; control tokens such as `<|endoftext|>` are text. `None` if the vocabulary is not built in.
    pub fn count(self, text: &str) -> Option<u64> {
        Some(self.tables()?.count(text) as u64)
    }

    /// The prompt tokens of a rendered body, of either kind; `None` for what is no body of ours.
    pub fn count_body(self, body: &[u8]) -> Option<u64> {
        let tables = self.tables()?;
        let count = |text: &Value| text.as_str().map(|text| tables.count(text) as u64);
        let body: Value = serde_json::from_slice(body).ok()?;
        if let Some(prompt) = body.get("prompt") {
            return count(prompt);
        }
        let messages = body["messages"].as_array().filter(|messages| !messages.is_empty())?;
        let of_message = |message: &Value| {
            let name = message.get("name").map_or(Some(0), |name| Some(PER_NAME + count(name)?))?;
            Some(PER_MESSAGE + count(&message["role"])? + count(&message["content"])? + name)
        };
        Some(REPLY_PRIMER + messages.iter().map(of_message).sum::<Option<u64>>()?)
    }

    fn tables(self) -> Option<&'static CoreBpe> {
        tiktoken::get_encoding(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn models_are_known_by_how_their_names_begin() {
        for (model, encoding) in [
            ("gpt-4o-2024-11-20", Some(Vocabulary::O200k)),
            ("openai/gpt-4o-mini", Some(Vocabulary::O200k)),
            ("ft:gpt-4o-mini:org::id", Some(Vocabulary::O200k)),
            ("gpt-4.1-nano", Some(Vocabulary::O200k)),
            ("gpt-5", Some(Vocabulary::O200k)),
            ("o3-mini", Some(Vocabulary::O200k)),
            ("o4-mini", Some(Vocabulary::O200k)),
            ("gpt-4", Some(Vocabulary::Cl100k)),
            ("gpt-4-turbo", Some(Vocabulary::Cl100k)),
            ("gpt-3.5-turbo", Some(Vocabulary::Cl100k)),
            ("gpt-35-turbo", Some(Vocabulary::Cl100k)),
            ("o10", None),
            ("gpt-oss-20b", None),
            ("prometheus-7b-v2.0", None),
            ("", None),
        ] {
            assert_eq!(Vocabulary::of_model(model), encoding, "{model}");
        }
    }

    /// Numbers of Python's tiktoken 0.14.0 with the published vocabularies (`disallowed_special=()`).
    #[test]
    fn texts_count_what_pythons_tiktoken_counts() {
        let long = "a".repeat(100);
        for (text, cl100k, o200k) in [
            ("You are a fair judge of scientific answers.", 9, 9),
            ("hello world", 2, 2),
            (
                "The transformer (Vaswani et al., 2017) replaced recurrence; see [12].\n\n  - 3.14159 \u{2248} \u{3c0}\n",
                32,
                31,
            ),
            ("\u{8a9e}\u{8a9e}\u{8a9e} caf\u{e9} na\u{ef}ve \u{1f9ea}", 12, 9),
            ("don't they're I'LL <|endoftext|>", 13, 11),
            (&long, 13, 13),
            ("  \t\n\n   x   \r\n", 5, 5),
            ("ElectroDynamics CamelCaseWord 1234567890", 12, 11),
        ] {
            let counted = (Vocabulary::Cl100k.count(text), Vocabulary::O200k.count(text));
            assert_eq!(counted, (Some(cl100k), Some(o200k)), "{text:?}");
        }
    }

    #[test]
    fn the_cookbooks_chat_counts_what_the_api_counted() {
        let said = |name: &str, content: &str| json!({"role": "system", "name": name, "content": content});
        let messages = json!([
            {"role": "system", "content": "You are a helpful, pattern-following assistant that translates corporate \
                jargon into plain English."},
            said("example_user", "New synergies will help drive top-line growth."),
            said("example_assistant", "Things working well together will increase revenue."),
            said("example_user", "Let's circle back when we have more bandwidth to touch base on opportunities for \
                increased leverage."),
            said("example_assistant", "Let's talk later when we're less busy about how to do better."),
            {"role": "user", "content": "This late pivot means we don't have time to boil the ocean for the client \
                deliverable."},
        ]);
        let body = json!({"model": "gpt-4o", "messages": messages, "temperature": 0}).to_string();
        assert_eq!(Vocabulary::Cl100k.count_body(body.as_bytes()), Some(129));
        assert_eq!(Vocabulary::O200k.count_body(body.as_bytes()), Some(124));
    }

    #[test]
    fn a_raw_prompt_has_no_frame_and_what_is_no_body_no_count() {
        let count = |body: &str| Vocabulary::O200k.count_body(body.as_bytes());
        assert_eq!(count(r#"{"model":"m","prompt":"hello\u0020world"}"#), Some(2));
        assert_eq!(count(r#"{"model":"m"}"#), None);
        assert_eq!(count("[]"), None);
    }
}
