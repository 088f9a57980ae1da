//! What the prompt of a call shows of the case and of its criteria.

use std::borrow::Cow;

use super::CriteriaLevels;
use crate::domain::{CaseCriterion, text_of};
use crate::question::variable::Insert;

/// In place of a question that the judge does not see.
const NO_QUESTION: &str = "(not shown: decide by the answer and the criteria alone)";

/// The section of a further field. Its tags are neutralized in the texts of all prompts about criteria.
const FIELD_SECTION: &str = "document";

impl CriteriaLevels {
    /// The question, or that it is not shown.
    pub(super) fn question_or_note(&self) -> &str {
        if self.shown.question {
            &self.question
        } else {
            NO_QUESTION
        }
    }

    /// [`CriteriaLevels::question_or_note`]; published wordings, which have no sections, have the further fields behind it.
    pub(super) fn shown_question(&self, insert: &Insert<'_>) -> Cow<'_, str> {
        let mut shown = Cow::Borrowed(self.question_or_note());
        if !insert.is_delimited {
            for (_, field) in self.shown_fields() {
                shown = format!("{shown}\n\n{field}").into();
            }
        }
        shown
    }

    /// The further fields of the case that the judge sees, as sections: their names, then their texts.
    pub(super) fn shown_fields(&self) -> impl Iterator<Item = (&'static str, Cow<'_, str>)> {
        let fields = self.shown.fields.iter();
        // Escaped names are on one line.
        fields.map(|(name, text)| {
            (
                FIELD_SECTION,
                format!("{}:\n{text}", name.escape_debug()).into(),
            )
        })
    }

    /// The criteria with their numbers, from 1: in the form of the prompt, else a line each.
    pub(super) fn numbered_criteria(&self, insert: &Insert<'_>) -> String {
        let mut lines: Vec<String> = Vec::new();
        for (number, criterion) in (1..).zip(&*self.criteria) {
            lines.push(self.numbered(number, criterion, insert));
        }
        lines.join("\n")
    }

    fn numbered(&self, number: usize, criterion: &CaseCriterion, insert: &Insert<'_>) -> String {
        let levels = self.described_levels(criterion);
        if let Some(template) = insert.criterion {
            let text = format!("{}{}{levels}", self.label(criterion), criterion.text);
            return template.filled_with(&|variable| match variable {
                "number" => number.to_string(),
                "criterion" => insert.on_one_line(&text),
                _ => insert.on_one_line(&criterion.examples.join("\n")),
            });
        }
        let text = self.with_examples(criterion) + &levels;
        format!("{number}. {}", insert.on_one_line(&text))
    }

    /// A criterion with its weight or sign, if the judge sees them, and the examples of what meets it.
    pub(super) fn with_examples(&self, criterion: &CaseCriterion) -> String {
        let mut text = format!("{}{}", self.label(criterion), criterion.text);
        for example in &criterion.examples {
            text.push_str(&format!(" Example: {example}"));
        }
        text
    }

    /// What the judge sees before the text of a criterion: of its weight, and the nodes above it.
    fn label(&self, criterion: &CaseCriterion) -> String {
        let weight = criterion.weight;
        let mut label = String::new();
        if self.shown.weight {
            let unit = if weight.abs() == 1.0 {
                "point"
            } else {
                "points"
            };
            label.push_str(&format!("[{weight} {unit}] "));
        }
        if self.shown.sign {
            label.push_str(if weight < 0.0 { "[fault] " } else { "[merit] " });
        }
        if !criterion.nodes_above.is_empty() {
            let nodes = criterion.nodes_above.join(" > ");
            label.push_str(&format!("[part of: {nodes}] "));
        }
        label
    }

    /// What the levels mean in a criterion, where the case says it, with a space before each.
    fn described_levels(&self, criterion: &CaseCriterion) -> String {
        let mut text = String::new();
        for (place, level) in self.shape.levels_in(self.layout) {
            if let Some(means) = criterion.means_at(place) {
                text.push_str(&format!(" Level {}: {means}", text_of(&level.level)));
            }
        }
        text
    }
}
