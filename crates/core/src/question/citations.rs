//! Which claims, citations and excerpts has the answer? The verdict is the shares of cited claims and of quoted citations.

use std::borrow::Cow;
use std::sync::Arc;

use serde_json::{Value, json};

use super::answered::{self, ANSWER, QUESTION, about_answer};
use super::compat;
use super::interface::Question;
use super::kind::KindInfo;
use super::merging::{Sample, merge_readable};
use super::reading::{self, Unreadable, list_of, list_schema, object_schema, text_schema};
use super::variable::Insert;
use super::words::Words;
use crate::domain::{ClaimShares, GradeMerge, JudgeReply, Judgment, Mode, Reading, Verdict};

/// Shares of cited claims and quoted citations.
pub static CITATIONS: KindInfo = KindInfo {
    name: "citations",
    family: "rubric",
    variables: &[QUESTION, ANSWER],
    ..KindInfo::DEFAULT
};

/// Splits the answer into claims, citations and excerpts.
#[derive(Debug, Clone, PartialEq)]
pub struct Citations {
    /// The question.
    pub question: Arc<str>,
    /// The answer.
    pub answer: Arc<str>,
}

impl Question for Citations {
    about_answer!();

    fn info(&self) -> &'static KindInfo {
        &CITATIONS
    }

    fn value<'a>(&'a self, variable: &str, _insert: &Insert<'_>) -> Cow<'a, str> {
        answered::value(variable, &self.question, &self.answer)
    }

    fn schema(&self) -> Option<Value> {
        let excerpts = list_schema(&text_schema());
        let citation =
            object_schema(&json!({"citation_text": text_schema(), "excerpts": excerpts}));
        let citations = list_schema(&citation);
        let claim = object_schema(&json!({"claim_text": text_schema(), "citations": citations}));
        Some(object_schema(&json!({"claims": list_schema(&claim)})))
    }

    /// Reads the claims: in default mode a list `claims` of objects, each with a list `citations` of objects, each with a
    /// list `excerpts`.
    fn read(&self, reply: &JudgeReply, mode: Mode) -> Result<Reading, Unreadable> {
        if mode == Mode::Compat {
            let shares = compat::shares(&reply.content)?;
            return Ok(Reading::new(Verdict::Claims(shares)));
        }
        let object = reading::object(reply)?;
        let shares = claim_shares(&object).map_err(Unreadable::new)?;
        let feedback = reading::feedback(&object);
        Ok(Reading::new(Verdict::Claims(shares)).with_feedback(feedback))
    }

    /// The two shares follow the rule; the counts are summed.
    fn merge(&self, samples: &[Sample], rule: GradeMerge, _mode: Mode) -> Judgment {
        merge_readable(samples, |verdicts| {
            let mut all: Vec<&ClaimShares> = Vec::new();
            for verdict in verdicts {
                if let Verdict::Claims(shares) = verdict {
                    all.push(shares);
                }
            }
            let citations: Vec<f64> = all.iter().map(|shares| shares.citations).collect();
            let excerpts: Vec<f64> = all.iter().map(|shares| shares.excerpts).collect();
            Some(Verdict::Claims(ClaimShares {
                citations: rule.of(&citations)?,
                excerpts: rule.of(&excerpts)?,
                claim_count: all.iter().map(|shares| shares.claim_count).sum(),
                citation_count: all.iter().map(|shares| shares.citation_count).sum(),
            }))
        })
    }

    fn opening(&self) -> Verdict {
        Verdict::Claims(ClaimShares {
            citations: 1.0,
            excerpts: 1.0,
            claim_count: 1,
            citation_count: 1,
        })
    }

    fn baseline(&self, words: &dyn Words) -> Option<String> {
        let claims = words.claims(&self.answer);
        Some(json!({"claims": claims}).to_string())
    }
}

fn claim_shares(object: &Value) -> Result<ClaimShares, String> {
    let claims = list_of(object, "claims", "")?;
    let mut cited = 0;
    let mut citations = 0;
    let mut quoted = 0;
    for (i, claim) in claims.iter().enumerate() {
        let list = list_of(claim, "citations", &format!("claims[{i}]."))?;
        cited += usize::from(!list.is_empty());
        citations += list.len();
        for (j, citation) in list.iter().enumerate() {
            let place = format!("claims[{i}].citations[{j}].");
            let excerpts = list_of(citation, "excerpts", &place)?;
            quoted += usize::from(!excerpts.is_empty());
        }
    }
    Ok(ClaimShares::of_counts(
        (cited, claims.len()),
        (quoted, citations),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_are_merged_by_their_shares() {
        let sample = |citations, excerpts| {
            Sample::from(Ok(Reading::new(Verdict::Claims(ClaimShares {
                citations,
                excerpts,
                claim_count: 2,
                citation_count: 1,
            }))))
        };
        let question = Citations {
            question: "q".into(),
            answer: "a".into(),
        };
        let samples = [sample(1.0, 0.0), sample(0.5, 1.0)];
        let merged = question.merge(&samples, GradeMerge::Mean, Mode::Default);
        // (1 + 0.5) / 2 and (0 + 1) / 2; 2 + 2 claims and 1 + 1 citations
        let expected = ClaimShares {
            citations: 0.75,
            excerpts: 0.5,
            claim_count: 4,
            citation_count: 2,
        };
        assert_eq!(merged, Ok(Reading::new(Verdict::Claims(expected))));

        // one sample is itself
        let merged = question.merge(&samples[..1], GradeMerge::MostCommon, Mode::Default);
        assert_eq!(merged, samples[0].judgment);
    }
}
