//! What a system answered to a question, with its sources and the gold it is compared with.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// A document that an answer may cite (`ctxs`, or `docs`, on the wire).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Source {
    /// Its title; `None` where the key is absent (an empty title is a title).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Its text; `None` where it is absent or [a bare `NaN`](Self::text_is_nan).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// True where the file has a bare `NaN` in place of the text (the reference prints `nan`).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub text_is_nan: bool,
    /// Its key, where the file has an object of sources `{key: [text, title]}`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
}

/// What an output is compared with; absent parts are empty or `None`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gold {
    /// The gold answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<String>,
    /// Ids of the gold sources: what `id_mapping` maps to, else markers such as `[0]`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gold_ctxs: Option<Vec<String>>,
    /// Texts of the gold documents (`gold_ctx`).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gold_texts: Vec<String>,
    /// Sets of short answers that mean the same, a set a question (`qa_pairs[].short_answers`).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub short_answers: Vec<Vec<String>>,
    /// Long reference answers (`annotations[].long_answer`).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub long_answers: Vec<String>,
}

/// One line of a prediction file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Prediction {
    /// `id` or `case_id` of the file, else the place in the file, from 1.
    pub id: String,
    /// The question (`input` or `query`).
    pub input: String,
    /// What the system wrote; `None` in a file of golds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<Arc<str>>,
    /// What it could cite, in the order of the numbers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sources: Vec<Source>,
    /// How many `ctxs` there are where `docs` stands for them: the reference checks numbers against these (compat).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replaced_ctxs: Option<usize>,
    /// Passages that a pipeline showed last (`final_passages`): what its answer rests on, as one text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub final_passages: Option<String>,
    /// Number of a marker to the id of a source.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id_mapping: Option<BTreeMap<String, String>>,
    /// What it is compared with.
    pub gold: Gold,
    /// 1-based line in the file.
    pub line: usize,
}

impl Prediction {
    /// The output, empty where there is none.
    pub fn output(&self) -> &str {
        self.output.as_deref().unwrap_or_default()
    }
}
