//! Names on the command line to metrics and systems of the runs.

use std::path::PathBuf;

use crate::analysis::CITATION_F1_MACRO;
use crate::analysis::comparison::{Observed, ObservedSystem};
use crate::cli::suggest::nearest;
use crate::error::{Error, InputFault, Result};

/// What is compared unless something else is named: the first of these that there is.
const MAIN: [&str; 7] = ["score", "lexical_score", "aspect_mean", "citation_f1_macro", "f1", "rouge_l", "match"];
/// Names listed in a message.
const LISTED: usize = 40;

/// Everything that the runs have.
pub(super) struct Selection {
    /// A table a metric.
    pub(super) tables: Vec<Observed>,
}

impl Selection {
    /// # Errors
    /// When the runs hold nothing that can be compared.
    pub(super) fn of(tables: Vec<Observed>, runs: &[PathBuf]) -> Result<Self> {
        if tables.is_empty() {
            let path = runs.first().cloned().unwrap_or_default();
            return Err(InputFault::new(path, "no scores that can be compared")
                .hint("score some answers first")
                .into());
        }
        Ok(Self { tables })
    }

    /// The tables of these names (`all`: every one), in the order of the runs' scorers; the main one where none is named.
    ///
    /// # Errors
    /// [`Error::Settings`] for a name that no metric has, with those there are.
    pub(super) fn metrics(&self, names: &[String]) -> Result<Vec<usize>> {
        let names: Vec<&str> = names.iter().map(|name| name.trim()).filter(|name| !name.is_empty()).collect();
        if names.contains(&"all") {
            return Ok((0..self.tables.len()).collect());
        }
        if names.is_empty() {
            return Ok(vec![self.main()]);
        }
        let found = names.into_iter().map(|name| match self.called(name) {
            none if none.is_empty() => Err(self.no_metric(name)),
            some => Ok(some),
        });
        Ok(found.collect::<Result<Vec<_>>>()?.concat())
    }

    /// The metric that a gate means.
    ///
    /// # Errors
    /// [`Error::Settings`] for a name that no metric has, or several scorers.
    pub(super) fn one_metric(&self, name: &str) -> Result<usize> {
        match self.called(name)[..] {
            [] => Err(self.no_metric(name)),
            [one] => Ok(one),
            [..] => Err(Error::Settings(format!("several scorers have a metric {name}; write SCORER.{name}"))),
        }
    }

    /// The metric that is compared unless another one is named.
    pub(super) fn main(&self) -> usize {
        MAIN.iter().find_map(|main| self.called(main).first().copied()).unwrap_or_default()
    }

    /// True if a metric is called so.
    pub(super) fn is_metric(&self, name: &str) -> bool {
        !self.called(name).is_empty()
    }

    /// The metrics of that name, as `name` or `scorer.name`.
    fn called(&self, name: &str) -> Vec<usize> {
        let is_it = |table: &Observed| {
            let metric = &table.metric;
            metric.name == name
                || name.strip_prefix(metric.scorer.as_str()).and_then(|rest| rest.strip_prefix('.'))
                    == Some(&metric.name)
        };
        (0..self.tables.len()).filter(|at| is_it(&self.tables[*at])).collect()
    }

    fn no_metric(&self, name: &str) -> Error {
        let plain = name.rsplit_once('.').map_or(name, |(_, metric)| metric);
        if plain == "citation_f1" && self.is_metric(CITATION_F1_MACRO) {
            return Error::Settings(format!(
                "{name} is not compared: it is made of a system's mean precision and mean recall, and the F1 of means is no \
                 mean over answers; {CITATION_F1_MACRO}, the mean of the answers' own F1, is"
            ));
        }
        let known: Vec<&str> = self.tables.iter().map(|table| table.metric.name.as_str()).collect();
        // A lexical score is no score: which one was meant is for the user to say.
        let lexical = format!("lexical_{name}");
        let meant = if known.contains(&lexical.as_str()) {
            Some(lexical.as_str())
        } else {
            nearest(name, known.iter().copied())
        };
        Error::Settings(unknown("metric", name, meant, &known))
    }

    /// The label of the system of that label, or of that name where one run alone has it.
    ///
    /// # Errors
    /// [`Error::Settings`] for a name that no system has, or several.
    pub(super) fn system(&self, name: &str) -> Result<String> {
        let name = name.trim();
        let systems: &[ObservedSystem] = self.tables.first().map_or(&[], |table| &table.systems);
        if systems.iter().any(|system| system.label == name) {
            return Ok(name.to_owned());
        }
        let own: Vec<&str> = systems
            .iter()
            .filter(|system| system.system.as_str() == name)
            .map(|system| system.label.as_str())
            .collect();
        match own[..] {
            [one] => Ok(one.to_owned()),
            [] => {
                let known: Vec<&str> = systems.iter().map(|system| system.label.as_str()).collect();
                Err(Error::Settings(unknown("system", name, nearest(name, known.iter().copied()), &known)))
            }
            [..] => Err(Error::Settings(format!("{name} is in several runs; write one of {}", own.join(", ")))),
        }
    }

    /// True if [`Self::system`] finds it.
    pub(super) fn is_system(&self, name: &str) -> bool {
        self.system(name).is_ok()
    }
}

fn unknown(what: &str, name: &str, meant: Option<&str>, known: &[&str]) -> String {
    let meant = meant.map_or(String::new(), |meant| format!(" (did you mean {meant}?)"));
    let more = known.len().saturating_sub(LISTED);
    let more = if more > 0 { format!(", and {more} more") } else { String::new() };
    let listed = known.iter().take(LISTED).copied().collect::<Vec<_>>().join(", ");
    format!("no {what} is called {name}{meant}; the runs have {listed}{more}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::comparison::MetricId;
    use crate::domain::Unit;

    #[test]
    fn the_f1_of_means_leads_to_the_mean_f1_and_why() {
        let metric = MetricId {
            scorer: "entailment".into(),
            name: CITATION_F1_MACRO.into(),
            unit: Unit::Share,
            higher_is_better: true,
        };
        let (systems, cases, values) = (Vec::new(), Vec::new(), Vec::new());
        let table =
            Observed { metric, systems, cases, values, asked: None, words: None, draws: None, notes: Vec::new() };
        let selection = Selection::of(vec![table], &[]).expect("tables");
        for name in ["citation_f1", "entailment.citation_f1"] {
            let told = selection.metrics(&[name.to_owned()]).expect_err("no metric of an answer").to_string();
            assert!(told.contains("citation_f1_macro") && told.contains("no mean over answers"), "{told}");
        }
        assert_eq!(selection.metrics(&["citation_f1_macro".to_owned()]).expect("it is there"), [0]);
    }
}
