//! Reads the answers to decisions.
//!
//! Probabilities have to cover the options and to sum to about 1. What is wrong with one answer concerns no other.

use serde_json::{Map, Value};

use super::{DecisionForm, DecisionOption, DecisionQuestion, DecisionShape, name_at};
use crate::domain::{Belief, Reading, UnscoredKind, text_of};
use crate::question::reading::Unreadable;

/// Rounding of probabilities at 0 and 1.
const EDGE: f64 = 1e-6;
/// Probabilities closer than this are equal.
const TIE: f64 = 1e-9;
/// How far the named option may be below the most probable one: replies are rounded to two decimals.
const CHOICE_BELOW_TOP: f64 = 0.01;

/// The probabilities of an answer, each with the label of its option; of a scale with the place of its level.
type Listed<'a> = Vec<(String, &'a Value)>;

impl DecisionShape {
    /// The answers to decisions, in their order, in a reply's `answers`: the reading of each, or why there is none. What is
    /// wrong with one answer concerns no other; only what cannot be read at all may be asked again.
    ///
    /// # Errors
    /// If it is unclear which answer is to which question: they are of the other shape, without names, or two have one name.
    pub fn read(
        self,
        decisions: &[DecisionQuestion],
        answers: &Value,
    ) -> Result<Vec<Result<Reading, Unreadable>>, Unreadable> {
        let by_name = self.by_name(answers)?;
        let mut readings = Vec::new();
        for (place, decision) in decisions.iter().enumerate() {
            let answer = by_name.get(&name_at(place)).unwrap_or(&Value::Null);
            readings.push(self.read_answer(decision, answer));
        }
        Ok(readings)
    }

    fn by_name(self, answers: &Value) -> Result<Map<String, Value>, Unreadable> {
        match (self, answers) {
            (Self::Named, Value::Object(answers)) => Ok(answers.clone()),
            (Self::Listed, Value::Array(answers)) => {
                let mut by_name = Map::new();
                for answer in answers {
                    let name = answer["name"].as_str();
                    let name = name.ok_or_else(|| Unreadable::new("an answer has no name"))?;
                    if by_name.insert(name.to_owned(), answer.clone()).is_some() {
                        return Err(Unreadable::new(format!("two answers are named {name}")));
                    }
                }
                Ok(by_name)
            }
            _ => Err(Unreadable::new(
                "the reply has no answers in the form of the questions",
            )),
        }
    }

    fn read_answer(
        self,
        decision: &DecisionQuestion,
        answer: &Value,
    ) -> Result<Reading, Unreadable> {
        if answer.is_null() {
            return Err(Unreadable::lasting(
                UnscoredKind::Missing,
                "the reply has no answer to this question",
            ));
        }
        if !answer.is_object() {
            return Err(Unreadable::new("an answer is not an object"));
        }
        let kind = answer["type"].as_str().unwrap_or_default();
        if kind == "refusal" {
            return Err(Unreadable::lasting(
                UnscoredKind::Refused,
                "the judge refuses to answer this question",
            ));
        }
        let expected = decision.form.name(self);
        if kind != expected {
            let what = format!("the answer to a {expected} question is of type {kind:?}");
            return Err(Unreadable::new(what));
        }
        let read = match decision.form {
            DecisionForm::Predicate => decision.read_predicate(self, answer),
            DecisionForm::Choice => decision.read_choice(self, answer),
            DecisionForm::Score => decision.read_score(self, answer),
        };
        read.map_err(Unreadable::new)
    }

    /// The probabilities in an answer, by the label of their option (of a scale by its place); `None` if it has none.
    fn probabilities<'a>(self, answer: &'a Value) -> Result<Option<Listed<'a>>, String> {
        let listed = &answer["probabilities"];
        if listed.is_null() {
            return Ok(None);
        }
        let pairs: Option<Listed<'_>> = match self {
            Self::Named => listed.as_object().map(|listed| {
                let pairs = listed.iter();
                pairs.map(|(label, p)| (label.clone(), p)).collect()
            }),
            Self::Listed => listed.as_array().map(|listed| {
                let entries = listed.iter();
                entries
                    .map(|entry| (text_of(&entry["value"]), &entry["probability"]))
                    .collect()
            }),
        };
        match pairs {
            Some(pairs) => Ok(Some(pairs)),
            None => Err("the probabilities are not in the form of the questions".to_owned()),
        }
    }
}

impl DecisionQuestion {
    fn read_predicate(&self, shape: DecisionShape, answer: &Value) -> Result<Reading, String> {
        let value = &answer[match shape {
            DecisionShape::Named => "noul",
            DecisionShape::Listed => "probability",
        }];
        let p = probability(value, "the probability")?;
        self.settled(&[1.0 - p, p], None)
    }

    fn read_choice(&self, shape: DecisionShape, answer: &Value) -> Result<Reading, String> {
        let labels: Vec<&str> = self
            .options
            .iter()
            .map(|option| option.label.as_str())
            .collect();
        let chosen = &answer["choice"];
        if chosen.is_null() {
            return Err("the answer has no choice".to_owned());
        }
        let chosen = place_of(&text_of(chosen), &labels)?;
        match shape.probabilities(answer)? {
            Some(pairs) => self.settled(&distribution(&pairs, &labels)?, Some(chosen)),
            None => Ok(Reading::new(self.options[chosen].verdict.clone())),
        }
    }

    fn read_score(&self, shape: DecisionShape, answer: &Value) -> Result<Reading, String> {
        let highest = self.options.len() as f64 - 1.0;
        let score = match &answer["score"] {
            Value::Null => None,
            score => Some(finite(score, "the score")?),
        };
        let Some(pairs) = shape.probabilities(answer)? else {
            let score = score.ok_or("the answer has no score")?;
            if !(-EDGE..=highest + EDGE).contains(&score) {
                return Err("the score is outside its levels".to_owned());
            }
            return self.between_levels(score);
        };
        let places: Vec<String> = (0..self.options.len())
            .map(|place| place.to_string())
            .collect();
        let places: Vec<&str> = places.iter().map(String::as_str).collect();
        let p = distribution(&pairs, &places)?;
        let mean: f64 = p
            .iter()
            .enumerate()
            .map(|(level, p)| level as f64 * p)
            .sum();
        let allowed = tolerance(p.len()) * highest;
        if score.is_some_and(|score| (score - mean).abs() > allowed) {
            return Err("the score is not the mean of its levels".to_owned());
        }
        self.settled(&p, None)
    }

    /// The verdict of a mean level of which no probabilities are known: on the line between the two levels around it.
    fn between_levels(&self, score: f64) -> Result<Reading, String> {
        let low = (score.max(0.0) as usize).min(self.options.len().saturating_sub(2));
        let credit = |place: usize| self.options.get(place).and_then(DecisionOption::credit);
        let (Some(below), Some(above)) = (credit(low), credit(low + 1)) else {
            return Err("a level has no credit".to_owned());
        };
        let expected = below + (score - low as f64) * (above - below);
        let verdict = self.options[low].verdict.clone().with_number(expected);
        Ok(Reading {
            belief: Some(Belief {
                expected,
                doubt: None,
                is_tie: false,
            }),
            ..Reading::new(verdict)
        })
    }

    /// The verdict of these probabilities: the most probable option, or the one that the answer names. Of equally probable ones
    /// the worst for the sign of the weight counts, and an abstention only alone.
    fn settled(&self, p: &[f64], chosen: Option<usize>) -> Result<Reading, String> {
        let most = p.iter().copied().fold(0.0, f64::max);
        let mut top: Vec<usize> = (0..p.len()).filter(|at| p[*at] >= most - TIE).collect();
        if let Some(chosen) = chosen {
            if p[chosen] < most - CHOICE_BELOW_TOP - TIE {
                return Err("the choice is not the most probable option".to_owned());
            }
            top = vec![chosen];
        }
        let is_tie = top.len() > 1;
        let sign = if self.is_fault { -1.0 } else { 1.0 };
        let rated = top
            .iter()
            .filter_map(|at| Some((*at, sign * self.options[*at].credit()?)));
        let Some((worst, _)) = rated.min_by(|a, b| a.1.total_cmp(&b.1)) else {
            return Ok(Reading::new(self.options[top[0]].verdict.clone()));
        };
        let credits: Vec<(f64, f64)> = p
            .iter()
            .zip(&self.options)
            .filter_map(|(p, option)| Some((*p, option.credit()?)))
            .collect();
        let mass: f64 = credits.iter().map(|(p, _)| p).sum();
        let expected = credits.iter().map(|(p, credit)| p * credit).sum::<f64>() / mass;
        let squares = credits
            .iter()
            .map(|(p, credit)| p * (credit - expected).powi(2));
        Ok(Reading {
            belief: Some(Belief {
                expected,
                doubt: Some(squares.sum::<f64>() / mass),
                is_tie,
            }),
            ..Reading::new(self.options[worst].verdict.clone())
        })
    }
}

/// How far the probabilities of so many options may be from 1 in sum: replies are rounded to two decimals.
fn tolerance(options: usize) -> f64 {
    (0.005 * options as f64).clamp(0.05, 0.25) + TIE
}

fn finite(value: &Value, name: &str) -> Result<f64, String> {
    let number = value.as_f64().filter(|number| number.is_finite());
    number.ok_or_else(|| format!("{name} is not a number"))
}

fn probability(value: &Value, name: &str) -> Result<f64, String> {
    let p = finite(value, name)?;
    if !(-EDGE..=1.0 + EDGE).contains(&p) {
        return Err(format!("{name} is not within 0 and 1"));
    }
    Ok(p.clamp(0.0, 1.0))
}

/// The place of a label: as it is written, else that of the only one that is equal but for case and outer blanks.
fn place_of(label: &str, labels: &[&str]) -> Result<usize, String> {
    if let Some(place) = labels.iter().position(|known| *known == label) {
        return Ok(place);
    }
    let wanted = label.trim().to_lowercase();
    let mut alike = (0..labels.len()).filter(|at| labels[*at].trim().to_lowercase() == wanted);
    match (alike.next(), alike.next()) {
        (Some(place), None) => Ok(place),
        _ => Err(format!("no option is {label:?}")),
    }
}

/// The probabilities in the order of the labels, which have one each; divided by their sum, which is about 1.
fn distribution(pairs: &[(String, &Value)], labels: &[&str]) -> Result<Vec<f64>, String> {
    let mut given: Vec<Option<f64>> = vec![None; labels.len()];
    for (label, value) in pairs {
        let place = place_of(label, labels)?;
        let name = format!("the probability of {:?}", labels[place]);
        if given[place].is_some() {
            return Err(format!(
                "there are two probabilities of {:?}",
                labels[place]
            ));
        }
        given[place] = Some(probability(value, &name)?);
    }
    let mut p: Vec<f64> = Vec::new();
    for (given, label) in given.into_iter().zip(labels) {
        p.push(given.ok_or_else(|| format!("{label:?} has no probability"))?);
    }
    let total: f64 = p.iter().sum();
    if (total - 1.0).abs() > tolerance(p.len()) {
        return Err(format!("the probabilities sum to {total:.3}"));
    }
    Ok(p.into_iter().map(|p| p / total).collect())
}

#[cfg(test)]
mod tests;
