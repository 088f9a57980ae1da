//! What a system answered, with its sources and the gold it is compared with.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{CaseId, SystemName};

/// One answer of one system to one test case.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    /// Who answered.
    pub system: SystemName,
    /// What was answered.
    pub case_id: CaseId,
    /// The answer, exactly as in the file (shared, since every call about it carries it).
    pub answer_text: Arc<str>,
    /// How many bytes of `answer_text` the system wrote itself; what follows is a block of references that was appended
    /// to it and that no length counts. `None`: all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub own_bytes: Option<usize>,
    /// The prediction that the answer comes from, with its sources and golds: what scorers of citations and overlap look
    /// at. `None` for answers of `{case_id, answer_text}` that nothing was joined to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prediction: Option<Arc<Prediction>>,
    /// A reference answer that an aspect's grade 5 is shown by.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reference_answer: Option<Arc<str>>,
    /// 1-based line of the answer file; 0 where there is none.
    pub line: usize,
}

impl Answer {
    /// An answer that is nothing but its text.
    pub fn new(system: SystemName, case_id: CaseId, answer_text: impl Into<Arc<str>>) -> Self {
        let answer_text = answer_text.into();
        Self { system, case_id, answer_text, own_bytes: None, prediction: None, reference_answer: None, line: 0 }
    }

    /// [`Answer::own_text`] for who keeps it: the answer's own text where nothing was appended to it.
    pub fn own_text_shared(&self) -> Arc<str> {
        match self.own_bytes {
            None => Arc::clone(&self.answer_text),
            Some(_) => Arc::from(self.own_text()),
        }
    }

    /// The question of its prediction, without white space around it; empty where it is not known.
    pub fn question(&self) -> &str {
        self.prediction.as_ref().map_or("", |prediction| prediction.input.trim())
    }

    /// What the system wrote itself, without an appended block of references.
    pub fn own_text(&self) -> &str {
        self.own_bytes.and_then(|bytes| self.answer_text.get(..bytes)).unwrap_or(&self.answer_text)
    }
}

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
