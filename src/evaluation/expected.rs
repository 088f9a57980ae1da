//! Expected scores, weighted by the judge's token probabilities where the server reports them.

use crate::domain::{JudgeReply, Judgment, WhyNot, expected_value};
use crate::question::Question;

/// Replaces the score of a sample with the expected one. Without probabilities the plain score stays, with a flag that
/// gives the reason. Verdicts without a score, such as claims and labels, are unchanged.
pub(super) fn weigh(
    question: &dyn Question,
    reply: &JudgeReply,
    sample: Judgment,
    flags: &mut Vec<String>,
) -> Judgment {
    let mut reading = sample?;
    // A mean over claims or labels has no meaning; a question says whether its reply is a number.
    let Some((location, range)) = question.expected() else {
        return Ok(reading);
    };
    match expected_value(reply, range, location) {
        Ok(expected) => reading.verdict = reading.verdict.with_number(expected.value),
        Err(why) => {
            let why = match why {
                // Without the share: flags become notes, and equal notes of many answers are
                // counted as one.
                WhyNot::Covers(_) => "the listed alternatives cover too little".to_owned(),
                other => other.to_string(),
            };
            flags.push(format!(
                "plain scores in place of expected ones ({}): {why}",
                question.info()
            ));
        }
    }
    Ok(reading)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{Reading, TokenLogprob, Verdict};
    use crate::question::Property;

    fn question() -> Property {
        Property {
            question: "q".into(),
            answer: "a".into(),
            criterion: "c".into(),
        }
    }

    #[test]
    fn a_score_is_weighed_where_probabilities_came_and_marked_where_not() {
        let mut reply = JudgeReply::of_text("{\"score\": 7}");
        let plain = || Ok(Reading::new(Verdict::Points(7.0)));
        let mut marks = Vec::new();
        assert_eq!(weigh(&question(), &reply, plain(), &mut marks), plain());
        assert_eq!(
            marks,
            ["plain scores in place of expected ones (property): the server gave no probabilities"]
        );

        let token = |token: &str, top: &[(&str, f64)]| TokenLogprob {
            token: token.to_owned(),
            logprob: 0.0,
            top: top
                .iter()
                .map(|(text, p)| ((*text).to_owned(), p.ln()))
                .collect(),
        };
        reply.logprobs = Some(vec![
            token("{\"score\": ", &[]),
            token("7", &[("7", 0.75), ("9", 0.25)]),
            token("}", &[]),
        ]);
        let mut marks = Vec::new();
        let Ok(Reading {
            verdict: Verdict::Points(points),
            feedback: None,
            ..
        }) = weigh(&question(), &reply, plain(), &mut marks)
        else {
            panic!("no points")
        };
        // 0.75 x 7 + 0.25 x 9
        assert!((points - 7.5).abs() < 1e-9 && marks.is_empty());
    }
}
