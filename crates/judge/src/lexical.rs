//! The built-in baseline judge: deterministic, offline, and no language model.
//!
//! It answers the question itself, in the wire format that every judge uses:
//!
//! - **A criterion**: 0-10 by how much of its content words the best windows of the answer cover. Content words are
//!   stems without stop words, weighted by their rarity over the test cases (`ln(1 + (1 + N) / (1 + df))`, N texts,
//!   df of them with the word). A window holds `WINDOW` content words. The best window counts wholly, what a second
//!   and a third one add counts `LATER_WINDOWS`. `score = 10 x covered weight / whole weight`, to one decimal.
//! - **Criteria of a list**: the level whose credit is nearest to that share of the criterion.
//! - **Snippets**: one counts as present if a single window covers at least `SNIPPET_PRESENT` of its weight; the
//!   window is `SNIPPET_ROOM` times as long as the snippet, at least `WINDOW`.
//! - **Irrelevant paragraphs**: those without any content word of the question.
//! - **Cited claims**: sentences; a citation in it supports it if the source's text covers `SNIPPET_PRESENT` of its weight.
//! - **Claims**: sentences with citation markers; the rules are in `claims.rs`.
//! - **Expertise**: crude. The share of long words (`LONG_WORD` characters) of the answer is compared with the
//!   question's, whose share is drawn towards that of all questions: `10 x max(0, 1 - |difference| / 0.5)`.
//!
//! Its numbers say whether words occur, not whether statements are right.

mod claims;
mod index;

use std::collections::{HashSet, VecDeque};
use std::sync::{Arc, Mutex};

use self::index::{Index, Query, Vocabulary, coverage};
use serde_json::Value;

use super::{AskFuture, Judge, JudgeRequest, Outcome, locked};
use scholareval_core::domain::{JudgeReply, TestCase};
use scholareval_core::question::{Question, Words};

/// Content words of one window: about a paragraph.
const WINDOW: u32 = 60;
/// How much of what they add a second and a third window earn.
const LATER_WINDOWS: [f64; 2] = [0.7, 0.5];
/// The share of a snippet's weight that one window must cover for the snippet to count as present.
const SNIPPET_PRESENT: f64 = 0.5;
/// Length of the window for a snippet, as a multiple of the snippet's length.
const SNIPPET_ROOM: u32 = 2;
/// A difference of the shares of long words that leaves no point.
const NO_FIT: f64 = 0.5;
/// Weight of an average question, in words.
const PRIOR_WORDS: f64 = 10.0;
/// The share of long words of an average question where there is no corpus.
const TYPICAL_SHARE: f64 = 0.3;
/// Maximum number of indexed answers in memory: more than are scored at a time.
const REMEMBERED: usize = 128;
/// The name under which the judge appears in replies.
const NAME: &str = "lexical";

/// The baseline judge; see the module's documentation for its rules.
pub struct Lexical {
    vocabulary: Vocabulary,
    typical_share: f64,
    recent: Mutex<VecDeque<(Arc<str>, Arc<Index>)>>,
}

impl Lexical {
    /// A judge that weights words by their rarity over these test cases' questions, criteria and snippets.
    ///
    /// The corpus is part of the judge: over other test cases the same answer may score differently.
    pub fn new(corpus: &[Arc<TestCase>]) -> Self {
        let mut vocabulary = Vocabulary::default();
        let mut documents: HashSet<&str> = HashSet::new();
        let (mut long, mut all) = (0.0, 0.0);
        for case in corpus {
            let question: &str = &case.rubric.question;
            let criteria = case.rubric.criteria.iter();
            let texts =
                criteria.flat_map(|c| c.snippets.iter().map(String::as_str).chain([&*c.criterion]));
            let texts = texts.chain(case.criteria.iter().map(|criterion| &*criterion.text));
            for text in texts
                .chain([question])
                // Each text once: in ScholarQA-CS two annotators share questions, whose words would
                // seem frequent.
                .filter(|text| documents.insert(text))
            {
                vocabulary.count_document(text);
            }
            let words = long_words(&vocabulary, question);
            (long, all) = (long + words.0, all + words.1);
        }
        let typical_share = if all > 0.0 { long / all } else { TYPICAL_SHARE };
        Self {
            vocabulary,
            typical_share,
            recent: Mutex::default(),
        }
    }

    /// The reply to a question, as its judges write it; empty where words say nothing about it: settings refuse the
    /// baseline for such questions, and an empty reply is never a verdict.
    pub fn answer(&self, question: &dyn Question) -> String {
        question.baseline(self).unwrap_or_default()
    }

    /// The share of a text's weight that the best window of another one covers.
    fn covered(&self, text: &str, by: &str) -> f64 {
        coverage(
            &Query::new(text, &self.vocabulary),
            &Index::new(by, &self.vocabulary),
            WINDOW,
            &[],
        )
    }

    /// The answer, tokenized and stemmed once for all calls about it.
    fn index(&self, answer: &Arc<str>) -> Arc<Index> {
        let recent = || locked(&self.recent);
        let is_it = |known: &Arc<str>| Arc::ptr_eq(known, answer) || known == answer;
        if let Some((_, index)) = recent().iter().find(|(known, _)| is_it(known)) {
            return Arc::clone(index);
        }
        // Made outside the lock: two threads may do it twice, none waits for the other.
        let index = Arc::new(Index::new(answer, &self.vocabulary));
        let mut recent = recent();
        if recent.len() >= REMEMBERED {
            recent.pop_back();
        }
        recent.push_front((Arc::clone(answer), Arc::clone(&index)));
        index
    }
}

impl Words for Lexical {
    fn expertise(&self, question: &str, answer: &Arc<str>) -> f64 {
        let index = self.index(answer);
        if index.content_words == 0 {
            return 0.0;
        }
        let (long, all) = long_words(&self.vocabulary, question);
        // A question has some ten content words, so that their share alone would be mostly
        // chance.
        let asker = (long + PRIOR_WORDS * self.typical_share) / (all + PRIOR_WORDS);
        let demanded = f64::from(index.long_words) / f64::from(index.content_words);
        10.0 * (1.0 - (demanded - asker).abs() / NO_FIT).max(0.0)
    }

    fn coverage(&self, criterion: &str, answer: &Arc<str>) -> f64 {
        let query = Query::new(criterion, &self.vocabulary);
        coverage(&query, &self.index(answer), WINDOW, &LATER_WINDOWS)
    }

    fn has_snippet(&self, snippet: &str, answer: &Arc<str>) -> bool {
        let query = Query::new(snippet, &self.vocabulary);
        // A long snippet could never be covered by a window that is shorter than it.
        let width = WINDOW.max(query.word_count().saturating_mul(SNIPPET_ROOM));
        coverage(&query, &self.index(answer), width, &[]) >= SNIPPET_PRESENT
    }

    fn is_related(&self, text: &str, question: &str) -> bool {
        self.covered(question, text) != 0.0
    }

    fn is_support(&self, source: &str, claim: &str) -> bool {
        self.covered(claim, source) >= SNIPPET_PRESENT
    }

    fn claims(&self, answer: &str) -> Value {
        claims::claims(answer)
    }
}

impl Judge for Lexical {
    fn ask<'a>(&'a self, request: &'a JudgeRequest) -> AskFuture<'a> {
        Box::pin(async move {
            let reply = JudgeReply::of_text(self.answer(&*request.call.question));
            Ok(Outcome::Reply(JudgeReply {
                model: Some(NAME.to_owned()),
                ..reply
            }))
        })
    }
}

/// How many content words of a text are long, and how many there are.
fn long_words(vocabulary: &Vocabulary, text: &str) -> (f64, f64) {
    let index = Index::new(text, vocabulary);
    (f64::from(index.long_words), f64::from(index.content_words))
}

#[cfg(test)]
mod tests;
