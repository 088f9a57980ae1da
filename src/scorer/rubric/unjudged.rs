//! What a rubric score consists of, before anybody judged.

use super::{LEXICAL, Plan, RubricScorer, State, unscored};
use crate::domain::{Mode, RubricParts, Score, TestCase, UnscoredKind};

impl RubricScorer {
    /// Every component of the case's score with its kind, weight (a share of 1) and text, and no value: what scores made
    /// elsewhere are laid into. `ann_divisor` and notes are those of the scorer's mode.
    ///
    /// ```
    /// use scholareval::domain::{Mode, RubricParts, TestCase};
    /// use scholareval::scorer::rubric::RubricScorer;
    ///
    /// let score = RubricScorer::new(RubricParts::BOTH, Mode::Default)
    ///     .unjudged(&TestCase::without_rubric("c1".into(), "why?"));
    /// let names: Vec<&str> = score.components.iter().map(|component| component.name.as_str()).collect();
    /// assert_eq!(names, ["length", "expertise", "citations", "excerpts"]);
    /// assert_eq!(score.value, None);
    /// ```
    pub fn unjudged(&self, case: &TestCase) -> Score {
        let plan = Plan::new(&case.rubric, self.parts, self.mode);
        let states: Vec<State> = plan.parts.iter().map(|_| unscored(UnscoredKind::NotAsked, "not judged")).collect();
        self.fold(plan, states)
    }

    /// The scorer whose scores these are, by what is told of them.
    pub fn of_recorded(parts: RubricParts, mode: Mode, lexical: bool) -> Self {
        Self { parts, mode, name: if lexical { LEXICAL } else { "rubric" } }
    }
}
