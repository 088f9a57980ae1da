//! Rubrics that are lists of criteria: the criteria of a case, and profiles that say how they are read, asked and
//! counted.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Value, json};

use super::CriteriaLayout;

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
    /// When each level of the scale applies in this case, level by level; empty: as the profile says.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub level_means: Vec<String>,
    /// In a tree whose nodes the judge sees: the texts of those above it, from the root.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub nodes_above: Vec<Arc<str>>,
}

impl CaseCriterion {
    /// What the level at this place of the scale means in this criterion; `None`: what the profile says.
    pub fn means_at(&self, place: usize) -> Option<&str> {
        let means = self.level_means.get(place).map(String::as_str);
        means.filter(|means| !means.is_empty())
    }

    /// The tag of a node with this number (`1.2`) in the tree of a case.
    pub fn node_tag(case: &str, number: &str) -> String {
        format!("{case} {number}")
    }

    /// The numbers of the nodes above it in the tree of this case, from below the root.
    pub fn nodes<'a>(&'a self, case: &'a str) -> impl Iterator<Item = &'a str> {
        self.tags
            .iter()
            .filter_map(|tag| Self::number_of_node(case, tag))
    }

    /// The number of the node that has this tag in the tree of a case; `None` for other tags.
    pub fn number_of_node<'a>(case: &str, tag: &'a str) -> Option<&'a str> {
        let number = tag.strip_prefix(case)?.strip_prefix(' ')?;
        let mut steps = number.split('.');
        steps
            .all(|step| step.parse::<usize>().is_ok())
            .then_some(number)
    }
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
    /// An answer's score is cut to 0..=1.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub clip: bool,
    /// With `--compat`, an answer's score is rounded to so many decimal places.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub round_in_compat: Option<usize>,
    /// The criteria of all answers are also pooled: `micro` is the share that is met, or avoided if it is a fault, and so it is for
    /// each tag.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub micro: bool,
    /// What the judge sees beside the answer and the criterion: `question`, `weight` and `sign` of the criterion, in a tree the
    /// `path` of nodes above it, or the path of a field of the case.
    #[serde(default = "question_only", skip_serializing_if = "is_question_only")]
    pub show: Vec<String>,
    /// Metrics beside the score.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub metrics: Vec<ProfileMetric>,
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

/// What [`RubricProfile::show`] calls the question, the weight and the sign of a criterion.
pub const SHOWN_QUESTION: &str = "question";
/// The weight of a criterion in [`RubricProfile::show`].
pub const SHOWN_WEIGHT: &str = "weight";
/// Whether a criterion is a fault, in [`RubricProfile::show`].
pub const SHOWN_SIGN: &str = "sign";
/// The texts of the nodes above a criterion of a tree, in [`RubricProfile::show`].
const SHOWN_PATH: &str = "path";

fn question_only() -> Vec<String> {
    vec![SHOWN_QUESTION.to_owned()]
}

fn is_question_only(show: &[String]) -> bool {
    show == [SHOWN_QUESTION]
}

/// A metric of answers beside their score; it has one of the rules.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ProfileMetric {
    /// Its name.
    pub name: String,
    /// Only criteria with this tag count; empty: all.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub tag: String,
    /// The weighted share by these credits of the levels ([`Level::also`]) in place of their own.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub also: String,
    /// The share of criteria, whatever their weights, that are right: met, or of faults avoided.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub right: bool,
    /// The score between its lowest and its highest value: 0 with all faults and nothing met, 1 with everything met and no fault.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub normalized: bool,
    /// The score less so much by the length of the answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub length: Option<LengthRule>,
    /// 1 if the score is this or more, else 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pass: Option<f64>,
}

/// What the length of an answer, in characters, takes from its score: `lose` for each `per` above `center`; below it gives.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LengthRule {
    /// The length that changes nothing.
    pub center: f64,
    /// Characters.
    pub per: f64,
    /// What they cost.
    pub lose: f64,
}

/// The paths of one field or several; one is written as a text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FieldPaths(pub Vec<String>);

impl From<&str> for FieldPaths {
    fn from(path: &str) -> Self {
        Self(vec![path.to_owned()])
    }
}

impl Serialize for FieldPaths {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.0[..] {
            [only] => only.serialize(serializer),
            all => all.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for FieldPaths {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(
            untagged,
            expecting = "expected the name of a field or a list of names"
        )]
        enum OneOrSeveral {
            One(String),
            Several(Vec<String>),
        }
        Ok(match OneOrSeveral::deserialize(deserializer)? {
            OneOrSeveral::One(path) => Self(vec![path]),
            OneOrSeveral::Several(paths) => Self(paths),
        })
    }
}

/// Paths of the fields of a case.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct CaseFields {
    /// Its id; `#`: the number of its row, from 1; `*`: the name of the directory of a `.json` file with one case, elsewhere the
    /// field `id`.
    pub id: String,
    /// Its question: a text, or a list of messages `{role, content}`. Several paths with `{n}` in them are the turns of a talk, for
    /// n = 0, 1, .. as long as the first one is there.
    pub question: FieldPaths,
    /// The list of its criteria, or an object with one list for each group.
    pub criteria: String,
    /// Tags of all its criteria.
    pub tags: FieldPaths,
    /// The group of a case: a system's `macro_score` is the mean over the groups of their mean scores. Empty: there are none.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub group: String,
    /// Groups that count as one in the macro score, by the mean of their means: the name of that one with theirs.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub nest: BTreeMap<String, Vec<String>>,
    /// Groups without weights are only tags: their criteria count by their own weights alone.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub pooled: bool,
    /// Each row is a criterion with its case; rows of one id form a case.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub rows: bool,
    /// Values of fields with which a case is left out.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub skip: BTreeMap<String, Vec<Value>>,
    /// The weight of each group, as an object; empty: there is at most one group.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub group_weights: String,
    /// The article that answers are compared with, if replies have a second score.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub reference: String,
}

impl Default for CaseFields {
    fn default() -> Self {
        Self {
            id: "case_id".to_owned(),
            question: "question".into(),
            criteria: "criteria".to_owned(),
            tags: "tags".into(),
            group: String::new(),
            nest: BTreeMap::new(),
            pooled: false,
            rows: false,
            skip: BTreeMap::new(),
            group_weights: String::new(),
            reference: String::new(),
        }
    }
}

/// Paths of the fields of a criterion.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct CriterionFields {
    /// Its text.
    pub text: String,
    /// Its weight; 1 where the field is missing, unless it is required. `{field}` in it stands for the text of another field of
    /// the criterion, with `_` for spaces.
    pub weight: String,
    /// The weight of each word that the field of the weight may hold; empty: it holds numbers.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub weights: BTreeMap<String, f64>,
    /// Whether a criterion without a weight is an error.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub weight_required: bool,
    /// Its id.
    pub id: String,
    /// Its tag, or a list of tags.
    pub tags: String,
    /// Whether a criterion without a tag is an error.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub tag_required: bool,
    /// Of a tree only criteria with one of these tags count; nodes without any go. Empty: all.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub only: Vec<String>,
    /// A list of examples of texts that meet it; empty: not read.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub examples: String,
    /// A text that explains it to the judge; empty: not read.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub explanation: String,
    /// What a level means in this criterion, with `{level}` for the level; empty: as the profile says.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub level_means: String,
    /// The list of nodes below a node of a tree; those where it is empty are the criteria. Empty: criteria are not in trees.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub children: String,
}

impl Default for CriterionFields {
    fn default() -> Self {
        let [text, weight, id, tags] = ["text", "weight", "id", "tags"].map(str::to_owned);
        Self {
            text,
            weight,
            weights: BTreeMap::new(),
            weight_required: false,
            id,
            tags,
            tag_required: false,
            only: Vec::new(),
            examples: String::new(),
            explanation: String::new(),
            level_means: String::new(),
            children: String::new(),
        }
    }
}

/// How a reply says which level of the scale each criterion reaches.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReplyShape {
    /// JSON, lines, a word or a mark.
    #[serde(default)]
    pub form: ReplyForm,
    /// Key of the level in an object.
    #[serde(default = "verdict")]
    pub key: String,
    /// Key of the list of objects about several criteria, and key of a criterion's number, from 1, in each; `None`:
    /// `verdicts` and `criterion`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub list: Option<(String, String)>,
    /// Whether objects name their criterion by its text, under the key that has its number otherwise.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub by_text: bool,
    /// What stands before the level of a reply that ends in it, whatever its case; of several the first that occurs counts, and of
    /// its occurrences the last.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub marks: Vec<String>,
    /// Key of the score of the case's reference article: a credit is then the answer's share of both. Empty: none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub second: String,
    /// The levels.
    pub levels: Vec<Level>,
    /// Whether numbers between the levels count, too, with a credit between those of the two levels around them.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub continuous: bool,
    /// Whether replies are read with `--compat` as by default: only levels of the scale, wherever an object has them. Else any
    /// number counts as itself there, as in ResearchRubrics.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub only_levels: bool,
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
    /// A JSON list of levels, in the order of the criteria.
    List,
    /// A JSON object with an object for each criterion, under a key with its number, from 1.
    Map,
    /// The level is the first word, and anything may follow; about one criterion.
    FirstWord,
    /// Any text with the level behind a mark; about one criterion.
    Mark,
}

/// A level of a scale.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Level {
    /// As the judge writes it: a text, a number, true or false.
    pub level: Value,
    /// What it earns, 0..=1, times the weight.
    pub credit: f64,
    /// What it earns in metrics beside the score, by the name of the credit; nothing where it has none.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub also: BTreeMap<String, f64>,
    /// When it applies, for the prompt.
    pub means: String,
}

/// What a judge of criteria sees beside the answer and the texts of the criteria.
#[derive(Debug, Clone, PartialEq)]
pub struct ShownFields {
    /// The question.
    pub question: bool,
    /// The weight of each criterion.
    pub weight: bool,
    /// Whether a criterion is a fault.
    pub sign: bool,
    /// Names and texts of further fields of the case.
    pub fields: Arc<[(String, String)]>,
}

impl Default for ShownFields {
    fn default() -> Self {
        Self {
            question: true,
            weight: false,
            sign: false,
            fields: Arc::default(),
        }
    }
}

impl RubricProfile {
    /// What the judge of a case sees, with these texts of its fields.
    pub fn shown(&self, fields: &Arc<[(String, String)]>) -> ShownFields {
        let shows = |name: &str| self.show.iter().any(|shown| shown == name);
        ShownFields {
            question: shows(SHOWN_QUESTION),
            weight: shows(SHOWN_WEIGHT),
            sign: shows(SHOWN_SIGN),
            fields: Arc::clone(fields),
        }
    }

    /// The paths of further fields of a case that the judge sees.
    pub fn shown_paths(&self) -> impl Iterator<Item = &str> {
        let names = self.show.iter().map(String::as_str);
        names.filter(|name| {
            let is_path = self.has_trees() && *name == SHOWN_PATH;
            !is_path && ![SHOWN_QUESTION, SHOWN_WEIGHT, SHOWN_SIGN].contains(name)
        })
    }

    /// Whether the criteria of a case are the leaves of a tree.
    pub fn has_trees(&self) -> bool {
        !self.criterion.children.is_empty()
    }

    /// Whether the judge sees the texts of the nodes above a criterion.
    pub fn shows_path(&self) -> bool {
        self.has_trees() && self.show.iter().any(|name| name == SHOWN_PATH)
    }

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
    ///
    /// What a level means in a criterion of the case is foreign text: it stands behind the criterion, not here.
    pub fn describe_levels(&self, criteria: &[CaseCriterion], layout: CriteriaLayout) -> String {
        let mut lines = Vec::new();
        for (place, level) in self.levels_in(layout) {
            let is_described = |criterion: &CaseCriterion| criterion.means_at(place).is_some();
            let means = if !criteria.is_empty() && criteria.iter().all(is_described) {
                "as the criterion says of this level"
            } else {
                &level.means
            };
            lines.push(format!("{}: {means}", text_of(&level.level)));
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

    /// The levels with their places, in the order in which a judge sees them.
    pub fn levels_in(&self, layout: CriteriaLayout) -> Vec<(usize, &Level)> {
        let mut levels: Vec<(usize, &Level)> = self.levels.iter().enumerate().collect();
        if layout == CriteriaLayout::LevelsReversed {
            levels.reverse();
        }
        levels
    }

    /// The credit of a number on a continuous scale, on the straight line between the two levels around it; beyond the
    /// ends, which only compat mode reads, on the line between the ends. `None` on other scales.
    pub fn credit_at(&self, number: f64) -> Option<f64> {
        self.value_at(number, |level| level.credit)
    }

    /// What a number on a continuous scale earns, by what each level does.
    fn value_at(&self, number: f64, value_of: impl Fn(&Level) -> f64) -> Option<f64> {
        let points = self.points(value_of)?;
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

    /// The verdict of a reply with this level.
    pub fn verdict_of(&self, level: &Level) -> CriterionVerdict {
        CriterionVerdict {
            credit: Some(level.credit),
            also: self.also(|name| also_of(level, name)),
            ..CriterionVerdict::default()
        }
    }

    /// The verdict of a reply with this number: between those of the two levels around it on a continuous scale, on others the
    /// number itself, without credits for further metrics.
    pub fn verdict_at(&self, number: f64) -> CriterionVerdict {
        let also = |name: &str| {
            let value = self.value_at(number, |level| also_of(level, name));
            value.unwrap_or_default()
        };
        CriterionVerdict {
            credit: Some(self.credit_at(number).unwrap_or(number)),
            also: self.also(also),
            ..CriterionVerdict::default()
        }
    }

    /// A credit for each further metric that a level of the scale has one for.
    fn also(&self, credit: impl Fn(&str) -> f64) -> BTreeMap<String, f64> {
        let names = self.levels.iter().flat_map(|level| level.also.keys());
        names.map(|name| (name.clone(), credit(name))).collect()
    }

    /// Whether a number is within the ends of a continuous scale.
    pub fn spans(&self, number: f64) -> bool {
        self.points(|level| level.credit).is_some_and(|points| {
            points
                .windows(2)
                .any(|pair| lies_between(number, pair[0].0, pair[1].0))
        })
    }

    /// The numbers of a continuous scale with what they earn; `None` for other scales.
    fn points(&self, value_of: impl Fn(&Level) -> f64) -> Option<Vec<(f64, f64)>> {
        if !self.continuous {
            return None;
        }
        self.levels
            .iter()
            .map(|level| Some((level.level.as_f64()?, value_of(level))))
            .collect()
    }

    /// Whether the levels of a continuous scale are numbers in ascending or in descending order.
    pub fn is_ordered(&self) -> bool {
        let Some(points) = self.points(|level| level.credit) else {
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
        let words = self.named_levels(text_of);
        match self.form {
            ReplyForm::Lines => format!(
                "{count} lines, one for each criterion in their order, each with its level and nothing else"
            ),
            ReplyForm::List => format!(
                "a JSON list of the {count} levels, one for each criterion in their order, and nothing else: [{}, ..]",
                self.named_levels(Value::to_string)
            ),
            ReplyForm::FirstWord => format!(
                "the level as the first word, {words}; then one or two sentences that explain it"
            ),
            ReplyForm::Mark => format!(
                "your reasons in a few sentences, then a last line with {} and the level: {words}",
                self.mark()
            ),
            ReplyForm::Object | ReplyForm::Map => self.describe_object(count),
        }
    }

    /// What a judge may reply, in this notation: `"met" or "not met"`, `any number from 0 to 10`.
    fn named_levels(&self, notation: impl Fn(&Value) -> String) -> String {
        let mut words: Vec<String> = self.words().iter().map(notation).collect();
        let levels = self.levels.len();
        if self.continuous && levels > 1 {
            let numbers = format!("any number from {} to {}", words[0], words[levels - 1]);
            words.splice(..levels, [numbers]);
        }
        words.join(" or ")
    }

    fn describe_object(&self, count: usize) -> String {
        let texts: Vec<String> = self
            .texts()
            .iter()
            .map(|key| format!("\"{key}\": \"one or two sentences\""))
            .collect();
        let mut verdict = format!(
            "{}, {}: {}",
            texts.join(", "),
            Value::from(&*self.key),
            self.named_levels(Value::to_string)
        );
        if !self.second.is_empty() {
            let second = Value::from(&*self.second);
            verdict.push_str(&format!(
                " (the text in <response>), {second}: the same scale (the text in <reference>)"
            ));
        }
        let (list, number) = self.list_keys();
        let named = if self.by_text {
            "\"the text of the criterion\""
        } else {
            "1"
        };
        match count {
            _ if self.form == ReplyForm::Map => format!(
                "one JSON object with one entry for each of the {count} criteria by its number: {{\"{list}\": \
                 {{\"{number}1\": {{{verdict}}}, ..}}}}"
            ),
            1 if self.list.is_none() => format!("one JSON object: {{{verdict}}}"),
            _ => format!(
                "one JSON object with one entry for each of the {count} criteria: {{\"{list}\": [{{\"{number}\": {named}, \
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

    /// Before the level of a reply that ends in it, for the prompt.
    fn mark(&self) -> &str {
        self.marks.first().map_or("", String::as_str)
    }

    /// Keys of the texts beside a level; a list of another name with numbers has those of ScholarQA-CS2.
    pub fn texts(&self) -> &'static [&'static str] {
        if self.list.is_some() && self.form == ReplyForm::Object && !self.by_text {
            // Its reference's validator requires all of them.
            &["criteria", "reasoning", "evidence"]
        } else {
            &["explanation"]
        }
    }

    /// A reply in this form about these criteria, with the level whose credit is nearest to each of these shares; `second`
    /// holds the shares of the reference article.
    pub fn reply_of(&self, criteria: &[CaseCriterion], shares: &[f64], second: &[f64]) -> String {
        let levels: Vec<&Value> = shares
            .iter()
            .filter_map(|share| self.nearest(*share))
            .collect();
        let words: Vec<String> = levels.iter().map(|level| text_of(level)).collect();
        match self.form {
            ReplyForm::Lines | ReplyForm::FirstWord => return words.join("\n"),
            ReplyForm::List => return json!(levels).to_string(),
            ReplyForm::Mark => return format!("{} {}", self.mark(), words.join("\n")),
            ReplyForm::Object | ReplyForm::Map => {}
        }
        let (list, number) = self.list_keys();
        let mut entries: Vec<Value> = Vec::new();
        for (place, level) in levels.into_iter().enumerate() {
            let mut entry = match criteria.get(place) {
                _ if self.form == ReplyForm::Map => json!({&*self.key: level}),
                Some(criterion) if self.by_text => {
                    json!({number: &*criterion.text, &*self.key: level})
                }
                _ => json!({number: place + 1, &*self.key: level}),
            };
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
        if self.form == ReplyForm::Map {
            let numbered = (1..).zip(entries);
            let entries: Value = numbered
                .map(|(place, entry)| (format!("{number}{place}"), entry))
                .collect();
            return json!({list: entries}).to_string();
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

/// What a level earns in the metric of this name.
fn also_of(level: &Level, name: &str) -> f64 {
    level.also.get(name).copied().unwrap_or_default()
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
    /// The credit in each sample, where the credit is the mean of several.
    #[serde(skip)]
    pub passes: Vec<f64>,
    /// What its level earns in metrics beside the score ([`Level::also`]).
    #[serde(skip)]
    pub also: BTreeMap<String, f64>,
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
