//! Chooses scorers and aspects: those requested, else those that input and judges support.

use std::sync::Arc;

use super::options::EvaluationOptions;
use crate::dataset::{self, Support};
use crate::domain::{Aspect, Role};
use crate::error::{Error, InputFault, Result};
use crate::scorer::{InputNeed, SCORERS, ScorerInfo, ScorerRoles};
use crate::text::names::nearest;

/// The scorers of a run, in the order of the scorecard.
#[derive(Debug, Default, PartialEq)]
pub struct Choice {
    /// Those that run.
    pub scorers: Vec<&'static ScorerInfo>,
    /// Those that do not run, with the reason.
    pub left_out: Vec<(&'static ScorerInfo, &'static str)>,
}

impl Choice {
    /// The scorers for this input. With `lenient`, a requested scorer that cannot run is left out: in a row of a
    /// benchmark its columns are blank.
    ///
    /// # Errors
    /// [`Error::Usage`] for a requested scorer that cannot run; [`Error::Settings`] if none can.
    pub(super) fn of(
        options: &EvaluationOptions,
        support: &Support,
        lenient: bool,
    ) -> Result<Self> {
        let is_named = !options.scorers.scorers.is_empty();
        let mut choice = Self::default();
        // In the registry's order, whatever the order of `--scorers`: the columns of two runs are
        // the same.
        for scorer in SCORERS.iter().copied() {
            if !options.scorers.may_run(scorer) {
                continue;
            }
            match why_not(scorer, options, support) {
                None => choice.scorers.push(scorer),
                Some(why) if is_named && !lenient => {
                    return Err(Error::Usage(format!("{} cannot run: {why}", scorer.name)));
                }
                Some(why) => choice.left_out.push((scorer, why)),
            }
        }
        // Test cases hold rubrics or criteria: a note about the other would say nothing.
        let has_criteria = support.criteria > 0;
        choice.left_out.retain(|(scorer, _)| match scorer.needs {
            InputNeed::Rubric => !has_criteria,
            InputNeed::Criteria => has_criteria,
            // Only who has files of works or pages wants to know.
            InputNeed::Pairs | InputNeed::Pages | InputNeed::Works => false,
            _ => true,
        });
        if choice.scorers.is_empty() {
            let left: Vec<String> = choice
                .left_out
                .iter()
                .map(|(scorer, why)| format!("{}: {why}", scorer.name))
                .collect();
            return Err(Error::Settings(format!(
                "nothing can be scored: {}",
                left.join("; ")
            )));
        }
        Ok(choice)
    }

    /// What runs and what does not, where something was left out.
    pub fn note(&self) -> Option<String> {
        let names: Vec<&str> = self.scorers.iter().map(|scorer| scorer.name).collect();
        // One line for all of them; the remedies are in the error, where one of them is needed.
        let without_remedy = |why: &'static str| why.split(" (").next().unwrap_or(why);
        let left = self
            .left_out
            .iter()
            .map(|(scorer, why)| format!("{} ({})", scorer.name, without_remedy(why)));
        let left: Vec<String> = left.collect();
        (!left.is_empty()).then(|| {
            format!(
                "scorers: {}; left out: {}",
                names.join(", "),
                left.join(", ")
            )
        })
    }
}

/// Why a scorer cannot run, with the remedy in parentheses.
fn why_not(
    scorer: &ScorerInfo,
    options: &EvaluationOptions,
    support: &Support,
) -> Option<&'static str> {
    if let Some(reason) = missing_input(scorer.needs, support) {
        return Some(reason);
    }
    if scorer.needs == InputNeed::Pages && options.scorers.pages.sources.is_none() {
        return Some("no saved pages (add --sources FILE)");
    }
    let has_judge = match &scorer.roles {
        ScorerRoles::None => true,
        ScorerRoles::One(role) => options.has_role(role),
        ScorerRoles::Aspects => options.has_aspect_role(),
    };
    if has_judge {
        return None;
    }
    // The judge that the user named must not be called missing.
    if options.default_could_judge(scorer) {
        Some("only with --scorers (name it there, or give it a judge under [roles])")
    } else {
        Some("no judge (give --model or --base-url, or a judge under [roles])")
    }
}

/// What the input does not have, with the remedy in parentheses.
fn missing_input(needs: InputNeed, support: &Support) -> Option<&'static str> {
    let golds = support.gold_answer + support.short_answers + support.long_answers;
    let (count, reason) = match needs {
        InputNeed::Answers | InputNeed::Pages => return None,
        InputNeed::Rubric if support.criteria > 0 => {
            (0, "the test cases hold criteria, no rubric of ScholarQA-CS")
        }
        InputNeed::Rubric => (support.rubric, "no test cases (add --tests FILE)"),
        InputNeed::Criteria => (
            support.criteria,
            "no test cases with criteria (add --tests FILE)",
        ),
        InputNeed::Questions => (support.questions, "no questions beside the answers"),
        InputNeed::Sources => (support.sources, "no texts of sources (ctxs or docs)"),
        InputNeed::SourcesOrGold => (
            support.sources + support.gold_sources + support.traces,
            "no texts of sources (ctxs or docs), no gold_ctxs and no traces of searches",
        ),
        InputNeed::Works => (
            support.works,
            "no files of works (add --works SRC.., --retractions FILE or both)",
        ),
        InputNeed::Pairs => (
            support.pairs,
            "answers are not pairs (use scholareval pairs)",
        ),
        InputNeed::GoldAnswers => (
            golds,
            "no gold answers (answer, qa_pairs or annotations, or --references FILE)",
        ),
    };
    (count == 0).then_some(reason)
}

/// The aspects of a run, from the file or built in: the named ones, else those that have a judge.
///
/// # Errors
/// For a file that cannot be used, and for an aspect that it does not have.
pub(super) fn aspects_of(options: &EvaluationOptions) -> Result<Vec<Arc<Aspect>>> {
    let file = options.scorers.aspect_file.aspect_rubrics.as_ref();
    let known: Vec<Arc<Aspect>> = match file {
        Some(path) => dataset::load_aspects(path)?
            .into_iter()
            .map(Arc::new)
            .collect(),
        None => dataset::builtin_aspects(),
    };
    let all: Vec<&str> = known.iter().map(|aspect| &*aspect.name).collect();
    check_roles(options, &all)?;
    let judged = |aspect: &Arc<Aspect>| options.has_role(&Role::Aspect(Arc::clone(&aspect.name)));
    let names = &options.scorers.built_in.aspects.aspects;
    if names.is_empty() {
        return Ok(known.into_iter().filter(judged).collect());
    }
    let find = |name: &String| {
        let aspect = known
            .iter()
            .find(|aspect| *aspect.name == **name)
            .ok_or_else(|| {
                let (what, all) = (format!("no aspect is called {name:?}"), all.join(", "));
                match file {
                    Some(path) => InputFault::new(path, what).refuse(format!("it describes {all}")),
                    None => Error::Usage(format!("--aspects: {what}; there are {all}")),
                }
            })?;
        if !judged(aspect) {
            return Err(Error::Usage(format!(
                "--aspects {name}: no judge has the role aspect.{name}; name one under [roles], or give --model with \
                 --scorers prometheus"
            )));
        }
        Ok(Arc::clone(aspect))
    };
    names.iter().map(find).collect()
}

/// A role for an unknown aspect would leave its judge unused, and give the intended aspect to another.
fn check_roles(options: &EvaluationOptions, names: &[&str]) -> Result<()> {
    for key in options.roles.judges.keys() {
        if let Some(Role::Aspect(name)) = Role::from_name(key)
            && !names.contains(&&*name)
        {
            let hint = nearest(&name, names.iter().copied()).map_or_else(
                || format!("there are {}", names.join(", ")),
                |near| format!("did you mean aspect.{near}?"),
            );
            return Err(Error::Settings(format!(
                "[roles] aspect.{name}: no aspect is called {name:?}; {hint}"
            )));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scorer::citation::CITATION_AUDIT;
    use crate::scorer::overlap::OVERLAP;
    use crate::scorer::rubric::RUBRIC;

    fn options(names: &[&'static ScorerInfo]) -> EvaluationOptions {
        let mut options = EvaluationOptions::default();
        options.scorers.scorers = names.to_vec();
        options
    }

    #[test]
    fn the_input_selects_scorers_and_the_others_have_a_reason() {
        let support = Support {
            rubric: 3,
            questions: 3,
            sources: 3,
            ..Support::default()
        };
        let choice = Choice::of(&options(&[]), &support, false).unwrap();
        assert_eq!(choice.scorers, [&RUBRIC, &CITATION_AUDIT]);
        let note = choice.note().unwrap();
        assert!(
            note.starts_with("scorers: rubric, citation_audit; left out: prometheus (no judge"),
            "{note}"
        );
        assert!(note.contains("overlap (no gold"), "{note}");
    }

    #[test]
    fn a_scorer_of_answers_alone_runs_where_it_is_named() {
        static OF_ANSWERS: ScorerInfo = ScorerInfo {
            name: "of_answers",
            needs: InputNeed::Answers,
            roles: ScorerRoles::None,
            ..OVERLAP
        };
        let named = options(&[&OF_ANSWERS]);
        assert_eq!(why_not(&OF_ANSWERS, &named, &Support::default()), None);
        assert!(named.scorers.may_run(&OF_ANSWERS));
        assert!(!options(&[]).scorers.may_run(&OF_ANSWERS));
    }

    #[test]
    fn the_judge_of_the_user_is_not_called_missing() {
        let support = Support {
            rubric: 3,
            questions: 3,
            sources: 3,
            ..Support::default()
        };
        let mut options = options(&[]);
        options.judge.model = Some("gpt-4o".to_owned());
        let note = Choice::of(&options, &support, false)
            .unwrap()
            .note()
            .unwrap();
        assert!(
            note.contains("prometheus (only with --scorers), entailment (only with --scorers)"),
            "{note}"
        );
    }

    #[test]
    fn a_requested_scorer_that_cannot_run_is_an_error() {
        let support = Support {
            questions: 3,
            ..Support::default()
        };
        let error = Choice::of(&options(&[&RUBRIC]), &support, false).unwrap_err();
        assert_eq!(
            error.to_string(),
            "rubric cannot run: no test cases (add --tests FILE)"
        );
        let nothing = Choice::of(&options(&[]), &Support::default(), false).unwrap_err();
        assert!(
            matches!(nothing, Error::Settings(_)),
            "the command line can be understood: {nothing}"
        );
    }
}
