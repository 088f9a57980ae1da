//! ScholarQA-CS rubrics: weights, length bounds, criteria and snippets.

use std::sync::Arc;

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};

/// Which halves of a rubric are judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RubricParts {
    /// Judge the criteria.
    pub rubrics: bool,
    /// Judge the snippets.
    pub snippets: bool,
}

impl RubricParts {
    /// Criteria and snippets.
    pub const BOTH: Self = Self {
        rubrics: true,
        snippets: true,
    };
}

/// The rubric of one test case (`metric_config.config` of its file). The defaults are those of the released files.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Rubric {
    /// The question put to the judge (default: the question of the case).
    pub question: Arc<str>,
    /// Answers of at most this many words get the full length score (default 300).
    pub low_length: i64,
    /// Answers of at least this many words get none (default 600).
    pub high_length: i64,
    /// Weight of component `length` (default 0.05).
    #[serde(deserialize_with = "number")]
    pub length_weight: f64,
    /// Weight of component `expertise` (default 0.05).
    #[serde(deserialize_with = "number")]
    pub expertise_weight: f64,
    /// Weight of component `citations` (default 0.2).
    #[serde(deserialize_with = "number")]
    pub citations_weight: f64,
    /// Weight of component `excerpts` (default 0.1).
    #[serde(deserialize_with = "number")]
    pub excerpts_weight: f64,
    /// The criteria, in file order.
    #[serde(rename = "other_properties")]
    pub criteria: Vec<Criterion>,
}

impl Default for Rubric {
    fn default() -> Self {
        Self {
            question: "".into(),
            low_length: 300,
            high_length: 600,
            length_weight: 0.05,
            expertise_weight: 0.05,
            citations_weight: 0.2,
            excerpts_weight: 0.1,
            criteria: Vec::new(),
        }
    }
}

impl Rubric {
    /// The missing rubric: no criteria, all weights 0.
    pub fn none(question: Arc<str>) -> Self {
        Self {
            question,
            low_length: 0,
            high_length: 0,
            length_weight: 0.0,
            expertise_weight: 0.0,
            citations_weight: 0.0,
            excerpts_weight: 0.0,
            criteria: Vec::new(),
        }
    }

    /// Whether this is the missing rubric, [`Rubric::none`].
    pub fn is_none(&self) -> bool {
        let weights = [
            self.length_weight,
            self.expertise_weight,
            self.citations_weight,
            self.excerpts_weight,
        ];
        self.criteria.is_empty() && weights == [0.0; 4]
    }
}

/// One property of a good answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Criterion {
    /// Name of its component; its snippets' component is `<name>_evidence`.
    pub name: String,
    /// What the answer should do; empty if only snippets are asked.
    pub criterion: Arc<str>,
    /// Share of the score, for criterion and snippets together.
    #[serde(deserialize_with = "number")]
    pub weight: f64,
    /// Texts that support the criterion.
    #[serde(rename = "evidence", default)]
    pub snippets: Arc<[String]>,
}

/// A number, or a string with a number, as in the reference.
fn number<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged, expecting = "expected a number")]
    enum Spelled {
        Number(f64),
        Text(String),
    }
    match Spelled::deserialize(deserializer)? {
        Spelled::Number(number) => Ok(number),
        Spelled::Text(text) => text
            .trim()
            .parse()
            .map_err(|_| D::Error::custom("expected a number, found a string")),
    }
}
