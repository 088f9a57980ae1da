//! Expected scores, weighted by the judge's token probabilities where the server reports them.

use crate::domain::{
    JudgeCall, JudgeReply, JudgeTask, Judgment, Reading, ScoreLocation, Verdict, WhyNot,
    expected_value,
};

/// Replaces the score of a sample with the expected one. Without probabilities the plain score stays, with a flag that
/// gives the reason. Claims and labels are unchanged.
pub(super) fn weigh(
    call: &JudgeCall,
    reply: &JudgeReply,
    sample: Judgment,
    marks: &mut Vec<String>,
) -> Judgment {
    let Reading { verdict, feedback } = sample?;
    let (range, location) = match (&call.task, &verdict) {
        (_, Verdict::Points(_)) => (0..=10, ScoreLocation::JsonScore),
        (_, Verdict::Grade(_)) => (1..=5, ScoreLocation::AfterResult),
        (JudgeTask::Evidence { snippets, .. }, Verdict::Count(_)) => (
            0..=u32::try_from(snippets.len()).unwrap_or(u32::MAX),
            ScoreLocation::JsonScore,
        ),
        _ => return Ok(Reading { verdict, feedback }),
    };
    let verdict = match expected_value(reply, range, location) {
        Ok(expected) => match verdict {
            Verdict::Points(_) => Verdict::Points(expected.value),
            Verdict::Grade(_) => Verdict::Grade(expected.value),
            _ => Verdict::Count(expected.value),
        },
        Err(why) => {
            let why = match why {
                WhyNot::Covers(_) => "the listed alternatives cover too little".to_owned(),
                other => other.to_string(),
            };
            marks.push(format!(
                "plain scores in place of expected ones ({}): {why}",
                call.task.kind()
            ));
            verdict
        }
    };
    Ok(Reading { verdict, feedback })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{Role, TokenLogprob};

    fn call() -> JudgeCall {
        let task = JudgeTask::Property {
            question: "q".into(),
            answer: "a".into(),
            criterion: "c".into(),
        };
        JudgeCall {
            item: "p".into(),
            role: Role::Rubric,
            task,
            sample: 0,
            member: 0,
        }
    }

    #[test]
    fn a_score_is_weighed_where_probabilities_came_and_marked_where_not() {
        let mut reply = JudgeReply::of_text("{\"score\": 7}");
        let plain = || Ok(Reading::new(Verdict::Points(7.0)));
        let mut marks = Vec::new();
        assert_eq!(weigh(&call(), &reply, plain(), &mut marks), plain());
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
        }) = weigh(&call(), &reply, plain(), &mut marks)
        else {
            panic!("no points")
        };
        // 0.75 x 7 + 0.25 x 9
        assert!((points - 7.5).abs() < 1e-9 && marks.is_empty());
    }
}
