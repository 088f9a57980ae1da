//! Predictions in the record: what scorers of citations and overlap look at.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::domain::{Answer, Gold, Prediction, Source, TestCase};

/// A prediction. What is told by the answer and its case already is left out.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct PredictionLine {
    /// Absent where it is the case id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    /// Absent where it is the case's `initial_prompt`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    input: Option<String>,
    /// Absent where it is the answer's own text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    output: Option<String>,
    /// True where there is none.
    #[serde(default, skip_serializing_if = "is_false")]
    no_output: bool,
    /// Absent where it is the answer's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    line: Option<usize>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    sources: Vec<SourceLine>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    replaced_ctxs: Option<usize>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    final_passages: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    id_mapping: Option<BTreeMap<String, String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    answer: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    gold_ctxs: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    gold_texts: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    short_answers: Vec<Vec<String>>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    long_answers: Vec<String>,
}

#[derive(Debug, Serialize, Deserialize)]
struct SourceLine {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    title: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    #[serde(default, skip_serializing_if = "is_false")]
    text_is_nan: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    key: Option<String>,
}

fn is_false(flag: &bool) -> bool {
    !flag
}

impl PredictionLine {
    /// The line of the prediction that this answer to this case comes from.
    pub(super) fn of(prediction: &Prediction, case: &TestCase, answer: &Answer) -> Self {
        let unless = |text: &str, told: &str| (text != told).then(|| text.to_owned());
        let gold = prediction.gold.clone();
        Self {
            id: unless(&prediction.id, answer.case_id.as_str()),
            input: unless(&prediction.input, &case.initial_prompt),
            output: prediction.output.as_deref().and_then(|output| unless(output, answer.own_text())),
            no_output: prediction.output.is_none(),
            line: (prediction.line != answer.line).then_some(prediction.line),
            sources: prediction.sources.iter().cloned().map(source_line).collect(),
            replaced_ctxs: prediction.replaced_ctxs,
            final_passages: prediction.final_passages.clone(),
            id_mapping: prediction.id_mapping.clone(),
            answer: gold.answer,
            gold_ctxs: gold.gold_ctxs,
            gold_texts: gold.gold_texts,
            short_answers: gold.short_answers,
            long_answers: gold.long_answers,
        }
    }

    /// The prediction of this answer to this case.
    pub(super) fn prediction_of(self, case: &TestCase, answer: &Answer) -> Prediction {
        let output = match self.no_output {
            true => None,
            false => Some(self.output.map_or_else(|| answer.own_text_shared(), Arc::from)),
        };
        Prediction {
            id: self.id.unwrap_or_else(|| answer.case_id.to_string()),
            input: self.input.unwrap_or_else(|| case.initial_prompt.clone()),
            output,
            sources: self.sources.into_iter().map(source_of).collect(),
            replaced_ctxs: self.replaced_ctxs,
            final_passages: self.final_passages,
            id_mapping: self.id_mapping,
            gold: Gold {
                answer: self.answer,
                gold_ctxs: self.gold_ctxs,
                gold_texts: self.gold_texts,
                short_answers: self.short_answers,
                long_answers: self.long_answers,
            },
            line: self.line.unwrap_or(answer.line),
        }
    }
}

fn source_line(source: Source) -> SourceLine {
    let Source { title, text, text_is_nan, key } = source;
    SourceLine { title, text, text_is_nan, key }
}

fn source_of(line: SourceLine) -> Source {
    let SourceLine { title, text, text_is_nan, key } = line;
    Source { title, text, text_is_nan, key }
}
