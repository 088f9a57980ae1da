//! What a file looks like that was given in another's place: one fault that says so is worth more than one a line.

use std::path::Path;

use serde_json::Value;

use super::elements::elements;
use crate::error::InputFault;

/// What the elements of a file are, by their keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    /// `{initial_prompt, metric_config, ..}`.
    TestCases,
    /// `{case_id, answer_text}`.
    Answers,
    /// `{input, output, ..}`.
    Predictions,
}

impl Shape {
    const ALL: [Self; 3] = [Self::TestCases, Self::Answers, Self::Predictions];

    /// Keys that only such an element has; the first is hers in any case.
    fn keys(self) -> &'static [&'static str] {
        match self {
            Self::TestCases => &["metric_config", "initial_prompt"],
            Self::Answers => &["answer_text"],
            Self::Predictions => &["output", "input", "query"],
        }
    }

    /// What the first object is, and with it all: `None` where it is nothing that is known, or a later object has a key of
    /// `wanted`. Then the file is what it should be, with faults.
    pub(super) fn of<'a>(elements: impl Iterator<Item = &'a Value>, wanted: Self) -> Option<Self> {
        let has = |element: &Value, shape: Self| shape.keys().iter().any(|key| element.get(key).is_some());
        let mut first = None;
        for element in elements {
            if has(element, wanted) {
                return None;
            }
            first = first.or_else(|| Self::ALL.into_iter().find(|shape| has(element, *shape)));
        }
        first
    }

    /// What the text of a file holds in place of `wanted`; `None` where that cannot be told.
    pub(super) fn of_text(text: &str, path: &Path, wanted: Self) -> Option<Self> {
        let found = elements(text, path).ok()?;
        Self::of(found.iter().map(|element| &element.value), wanted)
    }

    /// The fault of a file that looks so and should be `wanted`.
    pub(super) fn fault(self, path: &Path, wanted: Self) -> InputFault {
        let looks = match self {
            Self::TestCases => "test cases {initial_prompt, case_id, metric_config}",
            Self::Answers => "answers {case_id, answer_text}",
            Self::Predictions => "predictions {input, output, ..}",
        };
        let hint = match (self, wanted) {
            (_, Self::TestCases) => "give it in the place of ANSWERS, and a file of test cases as --tests FILE",
            (Self::TestCases, _) => {
                "give it as --tests FILE to a command that has it, and here what a system wrote: {case_id, answer_text} \
                 or {input, output, ..}"
            }
            _ => "expected {input, output, ..} here; answers go with --tests FILE into scholareval score",
        };
        InputFault::new(path, format!("looks like a file of {looks}")).hint(hint)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataset::{parse_predictions, parse_system, parse_test_cases};
    use crate::domain::Mode;

    const CASE: &str = "{\"case_id\": \"1\", \"initial_prompt\": \"q\", \"metric_config\": {}}";
    const ANSWER: &str = "{\"case_id\": \"1\", \"answer_text\": \"a\"}";
    const PREDICTION: &str = "{\"input\": \"q\", \"output\": \"o\", \"ctxs\": [{\"text\": NaN}]}";

    fn tests(text: &str) -> String {
        parse_test_cases(text, Path::new("f"), Mode::Default).unwrap_err().to_string()
    }

    fn system(text: &str) -> String {
        parse_system(text.as_bytes(), "s".into(), Path::new("f"), Mode::Default).unwrap_err().to_string()
    }

    #[test]
    fn answers_and_predictions_in_the_place_of_test_cases_are_one_fault() {
        let told = "f: looks like a file of answers {case_id, answer_text}; give it in the place of ANSWERS, and a file of \
                    test cases as --tests FILE";
        for text in [format!("{ANSWER}\n{ANSWER}"), format!("[{ANSWER}, {ANSWER}]")] {
            assert_eq!(tests(&text), told);
        }
        // a bare NaN is no reason to say anything else
        for text in [PREDICTION.to_owned(), format!("{{\"data\": [{PREDICTION}]}}")] {
            assert!(
                tests(&text).starts_with("f: looks like a file of predictions {input, output, ..}; give"),
                "{text}"
            );
        }
    }

    #[test]
    fn test_cases_in_the_place_of_answers_are_one_fault() {
        for text in [format!("[{CASE},\n{CASE}]"), format!("{CASE}\n{CASE}"), CASE.replace(',', ",\n")] {
            assert!(
                system(&text).starts_with("f: looks like a file of test cases {initial_prompt"),
                "{}",
                system(&text)
            );
            let error = parse_predictions(&text, "s".into(), Path::new("f")).unwrap_err().to_string();
            assert!(error.starts_with("f: looks like a file of test cases {") && error.lines().count() == 1, "{error}");
        }
        let error = parse_predictions(&format!("{ANSWER}\n{ANSWER}"), "s".into(), Path::new("f")).unwrap_err();
        assert!(
            error.to_string().starts_with("f: looks like a file of answers {case_id, answer_text}; expected {input")
        );
    }

    #[test]
    fn a_file_that_is_what_it_should_be_in_any_part_keeps_its_own_faults() {
        assert!(tests(&format!("{ANSWER}\n{CASE}")).starts_with("f:1 (case 1): initial_prompt is missing"));
        assert!(tests("{\"case_id\": \"1\"}").contains("initial_prompt is missing"));
        assert!(system("[{\"x\": 1}]").starts_with("f:1: neither input nor query"));
    }
}
