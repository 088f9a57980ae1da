//! Rubrics that are lists of criteria: the criteria of a case, and profiles that say how they are read, asked and
//! counted.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// Metrics of a report beside those of its criteria (ScholarQA-CS2), in the order of their mean.
pub const REPORT_METRICS: [&str; 4] = [
    "ingredient_recall",
    "answer_precision",
    "citation_precision",
    "citation_recall",
];

/// One criterion of a case.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct CaseCriterion {
    /// Name of its component, unique within the case: its id in the file, else `c1`, `c2`, ..
    pub name: String,
    /// What an answer should do, or, with a negative weight, what it should not do.
    pub text: Arc<str>,
    /// Points for meeting it; negative ones are taken away.
    pub weight: f64,
    /// Tags; scores are also reported by tag.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// Examples of texts that meet it, for the prompt.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub examples: Vec<String>,
    /// Its id in the file, where other criteria of the case have the same one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shared_id: Option<String>,
}

/// How the criteria of a benchmark, or those of a user, are read, asked and counted (`profile.toml`).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RubricProfile {
    /// Its name.
    pub name: String,
    /// What it is for, and its source.
    pub about: String,
    /// What `--compat` reproduces, with its commit or version; empty: nothing.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reference: String,
    /// Criteria of one call; 0 for all of a case.
    #[serde(default = "one")]
    pub batch: usize,
    /// With `--compat`, criteria without a readable verdict count as 0, and so do cases without positive weights.
    #[serde(default)]
    pub zero_in_compat: bool,
    /// With `--compat`, means over answers are clipped to 0..=1.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub clip_in_compat: bool,
    /// Answers are reports with citations, as in ScholarQA-CS2: their precision and their citations are judged, too, and
    /// the score is the mean of the four.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub report: bool,
    /// The citations of a report were not retrieved: supporting ones count half.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub retrieverless: bool,
    /// What titles that stand for their sources begin with in the prompts of a report's citations: a quote that begins so
    /// counts as a title, as in the reference. A run sets it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub title_marker: String,
    /// Fields of a case.
    #[serde(default)]
    pub case: CaseFields,
    /// Fields of a criterion.
    #[serde(default)]
    pub criterion: CriterionFields,
    /// How a reply is read.
    pub reply: Arc<ReplyShape>,
}

fn one() -> usize {
    1
}

/// Names of the fields of a case.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct CaseFields {
    /// Its id.
    pub id: String,
    /// Its question: a text, or a list of messages `{role, content}`.
    pub question: String,
    /// The list of its criteria, or an object with one list for each group.
    pub criteria: String,
    /// Tags of all its criteria.
    pub tags: String,
    /// The weight of each group, as an object; empty: there is at most one group.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub group_weights: String,
    /// The article that answers are compared with, if replies have a second score.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub reference: String,
}

impl Default for CaseFields {
    fn default() -> Self {
        let [id, question, criteria, tags] =
            ["case_id", "question", "criteria", "tags"].map(str::to_owned);
        Self {
            id,
            question,
            criteria,
            tags,
            group_weights: String::new(),
            reference: String::new(),
        }
    }
}

/// Names of the fields of a criterion.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct CriterionFields {
    /// Its text.
    pub text: String,
    /// Its weight; 1 where the field is missing, unless it is required.
    pub weight: String,
    /// Whether a criterion without a weight is an error.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub weight_required: bool,
    /// Its id.
    pub id: String,
    /// Its tag, or a list of tags.
    pub tags: String,
    /// A list of examples of texts that meet it; empty: not read.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub examples: String,
    /// A text that explains it to the judge; empty: not read.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub explanation: String,
}

impl Default for CriterionFields {
    fn default() -> Self {
        let [text, weight, id, tags] = ["text", "weight", "id", "tags"].map(str::to_owned);
        Self {
            text,
            weight,
            weight_required: false,
            id,
            tags,
            examples: String::new(),
            explanation: String::new(),
        }
    }
}

/// How a reply says which level of the scale each criterion reaches.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReplyShape {
    /// JSON objects, or lines.
    #[serde(default)]
    pub form: ReplyForm,
    /// Key of the level in an object.
    #[serde(default = "verdict")]
    pub key: String,
    /// Key of the list of objects about several criteria, and key of a criterion's number, from 1, in each; `None`:
    /// `verdicts` and `criterion`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub list: Option<(String, String)>,
    /// Key of the score of the case's reference article: a credit is then the answer's share of both. Empty: none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub second: String,
    /// The levels.
    pub levels: Vec<Level>,
    /// Whether numbers between the levels count, too, with a credit between those of the two levels around them.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub continuous: bool,
    /// What a judge replies in place of a level where it cannot assess a criterion; empty: not offered.
    #[serde(default)]
    pub abstain: String,
}

fn verdict() -> String {
    "verdict".to_owned()
}

/// Form of a reply.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReplyForm {
    /// One object for one criterion; for several, a list of objects with the number of the criterion.
    #[default]
    Object,
    /// One level a line, in the order of the criteria.
    Lines,
}

/// A level of a scale.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Level {
    /// As the judge writes it: a text, a number, true or false.
    pub level: Value,
    /// What it earns, 0..=1, times the weight.
    pub credit: f64,
    /// When it applies, for the prompt.
    pub means: String,
}

impl RubricProfile {
    /// How often the reference repeats a call whose reply it cannot read; 0 where it is no more than by default.
    pub fn repeats_in_compat(&self) -> u32 {
        if self.report {
            // ScholarQA-CS2: one first attempt and 20 repeats (astabench 0.5.4, `retry_utils.py`).
            20
        } else if !self.reply.second.is_empty() {
            // RACE: 10 attempts.
            9
        } else {
            0
        }
    }
}

impl ReplyShape {
    /// The levels and when they apply, one a line, for the prompt.
    pub fn describe_levels(&self) -> String {
        let mut lines = Vec::new();
        for level in &self.levels {
            lines.push(format!("{}: {}", text_of(&level.level), level.means));
        }
        if !self.abstain.is_empty() {
            let means = "the question and the answer do not let you decide";
            lines.push(format!("{}: {means}", self.abstain));
        }
        if self.continuous {
            lines.push("Numbers between these levels count, too.".to_owned());
        }
        lines.join("\n")
    }

    /// The credit of a number on a continuous scale, on the straight line between the two levels around it; beyond the
    /// ends, which only compat mode reads, on the line between the ends. `None` on other scales.
    pub fn credit_at(&self, number: f64) -> Option<f64> {
        let points = self.points()?;
        let ends = [*points.first()?, *points.last()?];
        let around = points
            .windows(2)
            .find(|pair| lies_between(number, pair[0].0, pair[1].0));
        let credit = height(ends, number);
        let Some(&[low, high]) = around.and_then(|pair| pair.first_chunk()) else {
            return Some(credit);
        };
        // Added to the line between the ends, which most scales follow throughout: they keep their digits.
        let bends = [low, high]
            .map(|(level, credit_of_level)| (level, credit_of_level - height(ends, level)));
        Some(credit + height(bends, number))
    }

    /// Whether a number is within the ends of a continuous scale.
    pub fn spans(&self, number: f64) -> bool {
        self.points().is_some_and(|points| {
            points
                .windows(2)
                .any(|pair| lies_between(number, pair[0].0, pair[1].0))
        })
    }

    /// The numbers of a continuous scale with their credits; `None` for other scales.
    fn points(&self) -> Option<Vec<(f64, f64)>> {
        if !self.continuous {
            return None;
        }
        self.levels
            .iter()
            .map(|level| Some((level.level.as_f64()?, level.credit)))
            .collect()
    }

    /// Whether the levels of a continuous scale are numbers in ascending or in descending order.
    pub fn is_ordered(&self) -> bool {
        let Some(points) = self.points() else {
            return false;
        };
        let mut pairs = points.windows(2);
        if points.first().map(|first| first.0) < points.last().map(|last| last.0) {
            pairs.all(|pair| pair[0].0 < pair[1].0)
        } else {
            pairs.all(|pair| pair[0].0 > pair[1].0)
        }
    }

    /// What a judge replies about a criterion: a level, or the abstention.
    pub fn words(&self) -> Vec<Value> {
        let abstain = Some(self.abstain.as_str()).filter(|abstain| !abstain.is_empty());
        self.levels
            .iter()
            .map(|level| level.level.clone())
            .chain(abstain.map(Value::from))
            .collect()
    }

    /// The form of a reply about `count` criteria, for the prompt.
    pub fn describe_reply(&self, count: usize) -> String {
        if self.form == ReplyForm::Lines {
            return format!(
                "{count} lines, one for each criterion in their order, each with its level and nothing else"
            );
        }
        let levels: Vec<String> = self.words().iter().map(Value::to_string).collect();
        let texts: Vec<String> = self
            .texts()
            .iter()
            .map(|key| format!("\"{key}\": \"one or two sentences\""))
            .collect();
        let mut verdict = format!(
            "{}, {}: {}",
            texts.join(", "),
            Value::from(&*self.key),
            levels.join(" or ")
        );
        if !self.second.is_empty() {
            let second = Value::from(&*self.second);
            verdict.push_str(&format!(
                " (the text in <response>), {second}: the same scale (the text in <reference>)"
            ));
        }
        let (list, number) = self.list_keys();
        match count {
            1 if self.list.is_none() => format!("one JSON object: {{{verdict}}}"),
            _ => format!(
                "one JSON object with one entry for each of the {count} criteria: {{\"{list}\": [{{\"{number}\": 1, \
                 {verdict}}}, ..]}}"
            ),
        }
    }
}

impl ReplyShape {
    /// The keys of the list of a reply about several criteria, and of a criterion's number in it.
    pub fn list_keys(&self) -> (&str, &str) {
        self.list
            .as_ref()
            .map_or(("verdicts", "criterion"), |(list, number)| (list, number))
    }

    /// Keys of the texts beside a level; a reply with a list of another name has those of ScholarQA-CS2.
    pub fn texts(&self) -> &'static [&'static str] {
        if self.list.is_some() {
            // Its reference's validator requires all of them.
            &["criteria", "reasoning", "evidence"]
        } else {
            &["explanation"]
        }
    }

    /// A reply in this form, with the level whose credit is nearest to each of these shares; `second` holds the shares
    /// of the reference article.
    pub fn reply_of(&self, shares: &[f64], second: &[f64]) -> String {
        let levels: Vec<&Value> = shares
            .iter()
            .filter_map(|share| self.nearest(*share))
            .collect();
        if self.form == ReplyForm::Lines {
            return levels
                .into_iter()
                .map(text_of)
                .collect::<Vec<_>>()
                .join("\n");
        }
        let (list, number) = self.list_keys();
        let mut entries: Vec<Value> = Vec::new();
        for (place, level) in levels.into_iter().enumerate() {
            let mut entry = json!({number: place + 1, &*self.key: level});
            if self.list.is_some() {
                for key in self.texts() {
                    entry[key] = "".into();
                }
            }
            if let Some(level) = second.get(place).and_then(|share| self.nearest(*share)) {
                entry[&*self.second] = level.clone();
            }
            entries.push(entry);
        }
        let is_alone = entries.len() == 1 && self.list.is_none();
        if is_alone {
            entries.remove(0).to_string()
        } else {
            json!({list: entries}).to_string()
        }
    }

    /// The level whose credit is nearest to this share.
    fn nearest(&self, share: f64) -> Option<&Value> {
        // Of two levels at the same distance the first one, so that a reply is the same each time.
        let nearest = self.levels.iter().min_by(|a, b| {
            let distance = (a.credit - share).abs();
            distance.total_cmp(&(b.credit - share).abs())
        });
        nearest.map(|level| &level.level)
    }
}

/// A level as text: without the quotes of JSON.
pub fn text_of(level: &Value) -> String {
    level
        .as_str()
        .map_or_else(|| level.to_string(), str::to_owned)
}

/// A level as replies are compared with it: case, a full stop at the end, `_` or `-` for a space, and the form of a
/// number (`1`, `1.0`) do not matter.
pub fn comparable_level(level: &Value) -> String {
    let text = text_of(level);
    // A level on a separate line often ends like a sentence.
    let text = text.trim().trim_end_matches('.');
    match text.parse::<f64>() {
        // -0 is 0.
        Ok(number) if number.is_finite() => (number + 0.0).to_string(),
        _ => text.to_lowercase().replace(['_', '-'], " "),
    }
}

fn lies_between(number: f64, first: f64, second: f64) -> bool {
    (first.min(second)..=first.max(second)).contains(&number)
}

/// The height of the line through two points.
fn height([low, high]: [(f64, f64); 2], at: f64) -> f64 {
    low.1 + (at - low.0) / (high.0 - low.0) * (high.1 - low.1)
}

/// What a judge says of one criterion.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CriterionVerdict {
    /// The credit of its level; `None` if the judge cannot assess it.
    pub credit: Option<f64>,
    /// The credit of the reference article, where a reply has two scores.
    #[serde(skip)]
    pub second: Option<f64>,
    /// The judge's explanation.
    #[serde(skip)]
    pub feedback: Option<String>,
}

/// Criteria a call, as an option.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Value", into = "Value")]
pub struct BatchSize(pub usize);

impl BatchSize {
    /// Parses a number, or `all`, which is 0.
    ///
    /// # Errors
    /// A message with the expected form.
    pub fn from_text(text: &str) -> Result<Self, String> {
        let size = if text == "all" {
            Some(0)
        } else {
            text.parse().ok().filter(|size| *size > 0)
        };
        size.map(Self)
            .ok_or_else(|| "write a number of criteria, or all".to_owned())
    }
}

impl TryFrom<Value> for BatchSize {
    type Error = String;

    fn try_from(value: Value) -> Result<Self, String> {
        Self::from_text(&text_of(&value))
    }
}

impl From<BatchSize> for Value {
    fn from(size: BatchSize) -> Self {
        if size.0 == 0 {
            "all".into()
        } else {
            size.0.into()
        }
    }
}

impl fmt::Display for BatchSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&text_of(&(*self).into()))
    }
}
