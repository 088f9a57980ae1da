//! Decisions: questions with fixed options, which a decision model answers with probabilities.
//!
//! The most probable option is the verdict. The probabilities give two numbers more: the mean of the options' credits, and
//! their variance, which says how far the judge doubts its verdict. A server's `confidence` is not used: it means something
//! else on each of them.
//!
//! Two shapes of requests and replies are spoken ([`DecisionShape`]): in one, questions and answers are objects by name, in
//! the other lists. `reading.rs` reads replies answer by answer.

mod reading;

use serde_json::{Map, Value, json};

use crate::domain::Verdict;

/// How questions and answers stand in requests and replies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DecisionShape {
    /// Objects by name: System One, and the servers that speak it.
    Named,
    /// Lists, whose entries have a name: `OpenAI`.
    Listed,
}

/// What may be answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DecisionForm {
    /// Whether a statement is true; of its two options the second one is the true one.
    Predicate,
    /// One of several options.
    Choice,
    /// One of several levels, worst first.
    Score,
}

/// A question with fixed options.
#[derive(Debug, Clone, PartialEq)]
pub struct DecisionQuestion {
    /// What is asked.
    pub instructions: String,
    /// How it may be answered.
    pub form: DecisionForm,
    /// What may be answered, in the order in which it is sent; at least two.
    pub options: Vec<DecisionOption>,
    /// Whether credit counts against the answer: of equally probable options the one with more credit is then the verdict.
    pub is_fault: bool,
}

/// One possible answer.
#[derive(Debug, Clone, PartialEq)]
pub struct DecisionOption {
    /// Its name.
    pub label: String,
    /// When it applies; empty: its name says it.
    pub means: String,
    /// The verdict that it stands for. Its number is the option's credit; an abstention has none.
    pub verdict: Verdict,
}

/// Writes the instructions of decisions: a prompt set has a text for each kind of question.
pub trait DecisionWording {
    /// The instructions about what is decided: a criterion, a claim, a snippet. `is_fault` says that it counts against the
    /// answer.
    fn instructions(&self, decided: &str, is_fault: bool) -> String;
}

/// The name of the decision at this place of a request.
fn name_at(place: usize) -> String {
    format!("c{}", place + 1)
}

impl DecisionShape {
    /// The questions of a request. Reversed ones have their options in the other order, but for levels, which are counted.
    pub fn written(self, decisions: &[DecisionQuestion], is_reversed: bool) -> Value {
        let named = decisions
            .iter()
            .enumerate()
            .map(|(place, decision)| (name_at(place), decision));
        match self {
            Self::Named => {
                let questions: Map<String, Value> = named
                    .map(|(name, decision)| (name, decision.by_name(is_reversed)))
                    .collect();
                Value::Object(questions)
            }
            Self::Listed => named
                .map(|(name, decision)| decision.in_list(&name, is_reversed))
                .collect(),
        }
    }
}

impl DecisionForm {
    /// Its type in requests and replies.
    fn name(self, shape: DecisionShape) -> &'static str {
        match (self, shape) {
            (Self::Predicate, DecisionShape::Named) => "noul",
            (Self::Predicate, DecisionShape::Listed) => "predicate",
            (Self::Choice, _) => "choice",
            (Self::Score, _) => "score",
        }
    }
}

impl DecisionQuestion {
    /// The question as a value of an object of questions.
    fn by_name(&self, is_reversed: bool) -> Value {
        let mut question = json!({
            "type": self.form.name(DecisionShape::Named),
            "instructions": self.instructions,
        });
        match self.form {
            DecisionForm::Predicate => {
                if let Some([when_false, when_true]) = self.means_of_predicate() {
                    question["criteria"] = if is_reversed {
                        json!({"false": when_false, "true": when_true})
                    } else {
                        json!({"true": when_true, "false": when_false})
                    };
                }
            }
            DecisionForm::Choice => {
                let options = self.sent(is_reversed).into_iter();
                let criteria: Map<String, Value> = options
                    .map(|option| (option.label.clone(), option.means_or_null()))
                    .collect();
                question["criteria"] = Value::Object(criteria);
            }
            DecisionForm::Score => {
                let levels = self.options.iter();
                question["criteria"] = levels.map(DecisionOption::described).collect();
            }
        }
        question
    }

    /// The question as an entry of a list of questions. A predicate has no place for what its two answers mean: they stand in
    /// the instructions.
    fn in_list(&self, name: &str, is_reversed: bool) -> Value {
        let mut instructions = self.instructions.clone();
        let means = (self.form == DecisionForm::Predicate)
            .then(|| self.means_of_predicate())
            .flatten();
        if let Some([when_false, when_true]) = means {
            let mut lines = [
                format!("\nTrue when: {when_true}"),
                format!("\nFalse when: {when_false}"),
            ];
            if is_reversed {
                lines.reverse();
            }
            instructions.push_str(&lines.concat());
        }
        let mut question = json!({
            "type": self.form.name(DecisionShape::Listed),
            "name": name,
            "instructions": instructions,
        });
        let (list, label) = match self.form {
            DecisionForm::Predicate => return question,
            DecisionForm::Choice => ("choices", "value"),
            DecisionForm::Score => ("levels", "label"),
        };
        let mut entries: Vec<Value> = Vec::new();
        for option in self.sent(is_reversed) {
            let mut entry = json!({label: option.label});
            if !option.means.is_empty() {
                entry["description"] = option.means.as_str().into();
            }
            entries.push(entry);
        }
        question[list] = entries.into();
        question
    }

    /// The options in the order in which they are sent.
    fn sent(&self, is_reversed: bool) -> Vec<&DecisionOption> {
        let mut options: Vec<&DecisionOption> = self.options.iter().collect();
        if is_reversed && self.form != DecisionForm::Score {
            options.reverse();
        }
        options
    }

    /// Whether its options have another order in which they can be sent.
    pub fn is_reversible(&self) -> bool {
        match self.form {
            DecisionForm::Predicate => self.means_of_predicate().is_some(),
            DecisionForm::Choice => true,
            DecisionForm::Score => false,
        }
    }

    /// When a statement is false and when it is true, where both are said.
    fn means_of_predicate(&self) -> Option<[&str; 2]> {
        let [when_false, when_true] = self.options.as_slice() else {
            return None;
        };
        let means = [when_false.means.as_str(), when_true.means.as_str()];
        means.iter().all(|means| !means.is_empty()).then_some(means)
    }
}

impl DecisionOption {
    /// An option with this name and verdict.
    pub fn new(label: impl Into<String>, verdict: Verdict) -> Self {
        Self {
            label: label.into(),
            means: String::new(),
            verdict,
        }
    }

    /// The same with this meaning.
    #[must_use]
    pub fn meaning(self, means: impl Into<String>) -> Self {
        Self {
            means: means.into(),
            ..self
        }
    }

    /// What it earns; `None` for an abstention.
    fn credit(&self) -> Option<f64> {
        self.verdict.number()
    }

    fn means_or_null(&self) -> Value {
        if self.means.is_empty() {
            Value::Null
        } else {
            self.means.as_str().into()
        }
    }

    /// A level with what it means.
    fn described(&self) -> Value {
        if self.means.is_empty() {
            return self.label.as_str().into();
        }
        format!("{}: {}", self.label, self.means).into()
    }
}
