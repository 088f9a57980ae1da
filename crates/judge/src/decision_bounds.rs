//! How much the servers of decision models take in one request.

use reqwest::Url;

/// What a decision model has no use for, as the config file names it: nothing is sampled.
pub(crate) const NO_SAMPLING: &[&str] = &[
    "temperature",
    "top_p",
    "seed",
    "logprobs",
    "reasoning_effort",
    "service_tier",
    "structured",
    "max_tokens",
];

/// The bounds of a server, as its documentation or code states them (November 2026).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DecisionBounds {
    /// Questions of a request, >= 1.
    pub questions: usize,
    /// Options of a choice. A scale has ten levels at most on all servers.
    pub options: usize,
}

/// The bounds of services, by the end of their host.
const OF_SERVICES: [(&str, DecisionBounds); 6] = [
    ("api.openai.com", bounds(400, 255)),
    ("perplexity.ai", bounds(128, 255)),
    ("cloudflare.com", bounds(64, 255)),
    ("googleapis.com", bounds(1000, 255)),
    ("fireworks.ai", bounds(64, 208)),
    ("typesafe.ai", bounds(64, 255)),
];

/// Those of servers that are not known. vLLM takes no more questions; of options it takes 26, llama.cpp 52 and SGLang 255, and each
/// refuses more itself.
const UNKNOWN: DecisionBounds = bounds(64, 255);

const fn bounds(questions: usize, options: usize) -> DecisionBounds {
    DecisionBounds { questions, options }
}

impl DecisionBounds {
    /// Those of the server at this address.
    pub fn at(base_url: &str) -> Self {
        let url = Url::parse(base_url).ok();
        let host = url.as_ref().and_then(Url::host_str).unwrap_or_default();
        let is_of = |service: &&(&str, Self)| {
            host.strip_suffix(service.0)
                .is_some_and(|before| before.is_empty() || before.ends_with('.'))
        };
        OF_SERVICES
            .iter()
            .find(is_of)
            .map_or(UNKNOWN, |service| service.1)
    }

    /// Those of a recorded run, whose requests had at most so many questions.
    pub fn of_questions(questions: usize) -> Self {
        Self {
            questions: questions.max(1),
            options: usize::MAX,
        }
    }

    /// The lowest of several servers of one model.
    #[must_use]
    pub fn lowest(self, other: Self) -> Self {
        Self {
            questions: self.questions.min(other.questions),
            options: self.options.min(other.options),
        }
    }

    /// With at most so many questions, >= 1.
    #[must_use]
    pub fn at_most(self, questions: usize) -> Self {
        Self {
            questions: self.questions.min(questions.max(1)),
            ..self
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn services_are_known_by_the_end_of_their_host() {
        let questions = |url: &str| DecisionBounds::at(url).questions;
        assert_eq!(questions("https://api.openai.com/v1"), 400);
        assert_eq!(questions("https://api.perplexity.ai/v1"), 128);
        // Another host with the same letters at its end.
        assert_eq!(questions("https://notperplexity.ai/v1"), 64);
        assert_eq!(questions("http://localhost:8000/v1"), 64);
    }
}
