//! Which scorers run: those asked for, else those that the input supports; what is left out is told with its reason.

use crate::dataset::Support;
use crate::domain::Role;
use crate::error::{Error, Result};
use crate::evaluation::options::{EvaluationOptions, ScorerName};

/// The scorers of a run, in the order of the scorecard, and a line about what was left out.
#[derive(Debug, PartialEq)]
pub(in crate::cli) struct Choice {
    pub(in crate::cli) scorers: Vec<ScorerName>,
    pub(in crate::cli) note: Option<String>,
    /// What was left out, and why; the note has it in a few words, `-v` tells it whole.
    pub(in crate::cli) left_out: Vec<(ScorerName, &'static str)>,
}

impl Choice {
    /// The scorers for this input.
    ///
    /// # Errors
    /// [`Error::Usage`] for a scorer that was asked for and cannot run; [`Error::Settings`] if none can.
    pub(in crate::cli) fn of(settings: &EvaluationOptions, support: &Support) -> Result<Self> {
        let lacks = |scorer: ScorerName| lacking(scorer, settings, support);
        let names = &settings.scorers.scorers;
        if !names.is_empty() {
            for name in names {
                // Without a judge the columns of entailment stay blank; what the input itself lacks is a mistake.
                let stays_blank = *name == ScorerName::Entailment && support.sources > 0;
                if let Some(why) = lacks(*name).filter(|_| !stays_blank) {
                    return Err(Error::Usage(format!("{} cannot run: {why}", name.as_str())));
                }
            }
            let scorers = ScorerName::ALL.into_iter().filter(|scorer| names.contains(scorer)).collect();
            return Ok(Self { scorers, note: None, left_out: Vec::new() });
        }
        Self::among(&ScorerName::ALL, settings, support)
    }

    /// Of these scorers those that the input supports: in a row of a benchmark the columns of the others are blank.
    ///
    /// # Errors
    /// [`Error::Settings`] if none can run.
    pub(in crate::cli) fn among(
        wanted: &[ScorerName],
        settings: &EvaluationOptions,
        support: &Support,
    ) -> Result<Self> {
        let wanted = || ScorerName::ALL.into_iter().filter(|scorer| wanted.contains(scorer));
        let lacks = |scorer: ScorerName| lacking(scorer, settings, support);
        let scorers: Vec<ScorerName> = wanted().filter(|scorer| lacks(*scorer).is_none()).collect();
        let left_out: Vec<(ScorerName, &str)> = wanted().filter_map(|scorer| Some((scorer, lacks(scorer)?))).collect();
        let left: Vec<String> = left_out.iter().map(|(scorer, why)| format!("{} ({why})", scorer.as_str())).collect();
        if scorers.is_empty() {
            return Err(Error::Settings(format!("nothing can be scored: {}", left.join("; "))));
        }
        let names: Vec<&str> = scorers.iter().map(|scorer| scorer.as_str()).collect();
        tracing::info!("scorers: {}; left out: {}", names.join(", "), left.join(", "));
        let short: Vec<String> =
            left_out.iter().map(|(scorer, why)| format!("{} ({})", scorer.as_str(), in_short(why))).collect();
        let note = (!left.is_empty()).then(|| format!("scorers: {}; left out: {}", names.join(", "), short.join(", ")));
        Ok(Self { scorers, note, left_out })
    }

    /// True if that scorer runs.
    pub(in crate::cli) fn has(&self, scorer: ScorerName) -> bool {
        self.scorers.contains(&scorer)
    }
}

/// The reason up to where it says how to mend it.
fn in_short(why: &str) -> &str {
    match why {
        "it needs test cases: --tests FILE" => "no test cases",
        why if why.starts_with("no judge") => "no judge",
        why => why.split(" (").next().unwrap_or(why),
    }
}

/// What a scorer lacks.
fn lacking(scorer: ScorerName, settings: &EvaluationOptions, support: &Support) -> Option<&'static str> {
    let golds = support.gold_answer + support.short_answers + support.long_answers;
    match scorer {
        ScorerName::Rubric => (support.rubric == 0).then_some("it needs test cases: --tests FILE"),
        ScorerName::Prometheus if support.questions == 0 => Some("the answers come without their questions"),
        ScorerName::Prometheus => (!settings.has_aspect_role()).then_some("no judge has a role aspect"),
        ScorerName::Entailment if support.sources == 0 => Some("no sources (ctxs or docs)"),
        ScorerName::Entailment => (!settings.has_role(&Role::Citation)).then_some("no judge has the role citation"),
        ScorerName::CitationAudit => {
            (support.sources + support.gold_sources == 0).then_some("no sources (ctxs or docs) and no gold_ctxs")
        }
        ScorerName::Overlap => (golds == 0).then_some("no gold (answer, qa_pairs, annotations), none by --references"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(names: &[ScorerName]) -> EvaluationOptions {
        let mut options = EvaluationOptions::default();
        options.scorers.scorers = names.to_vec();
        options
    }

    #[test]
    fn the_input_decides_and_what_is_left_out_is_told_with_its_reason() {
        let support = Support { rubric: 3, questions: 3, sources: 3, ..Support::default() };
        let choice = Choice::of(&settings(&[]), &support).unwrap();
        assert_eq!(choice.scorers, [ScorerName::Rubric, ScorerName::CitationAudit]);
        let note = choice.note.unwrap();
        assert!(note.starts_with("scorers: rubric, citation_audit; left out: prometheus (no judge"), "{note}");
        assert!(note.contains("overlap (no gold"), "{note}");
    }

    #[test]
    fn a_scorer_that_was_asked_for_and_cannot_run_is_a_mistake() {
        let support = Support { questions: 3, ..Support::default() };
        let error = Choice::of(&settings(&[ScorerName::Rubric]), &support).unwrap_err();
        assert_eq!(error.to_string(), "rubric cannot run: it needs test cases: --tests FILE");
        let nothing = Choice::of(&settings(&[]), &Support::default()).unwrap_err();
        assert!(matches!(nothing, Error::Settings(_)), "the command line can be understood: {nothing}");
    }
}
