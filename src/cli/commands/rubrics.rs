//! `scholareval rubrics list|show|check`.

use crate::cli::args::RubricsCommand;
use crate::cli::origin::escape_controls;
use crate::cli::terminal::{path_text, write_stdout};
use crate::dataset::{SHIPPED_PROFILES, load_tests, profile_source, rubric_profile};
use crate::domain::Mode;
use crate::error::Result;
use crate::text::names::counted;

pub(super) fn run(command: &RubricsCommand) -> Result<()> {
    let text = match command {
        RubricsCommand::List => {
            let line = |(name, _): &(&str, &str)| {
                Ok(format!("{name:<16}{}\n", rubric_profile(Some(name))?.about))
            };
            SHIPPED_PROFILES
                .iter()
                .map(line)
                .collect::<Result<String>>()?
        }
        RubricsCommand::Show { rubric } => profile_source(rubric)?.1,
        RubricsCommand::Check { file, rubric } => {
            let (tests, _) = load_tests(file, Mode::Default, rubric.as_deref(), true)?;
            let criteria = || tests.cases.iter().flat_map(|case| &case.criteria);
            let negative = criteria()
                .filter(|criterion| criterion.weight < 0.0)
                .count();
            let (cases, all) = (counted(tests.cases.len(), "case"), criteria().count());
            let criteria = if all == 1 { "criterion" } else { "criteria" };
            let mut text = format!(
                "{}: {cases}, {all} {criteria}, {negative} of negative weight\n",
                path_text(file)
            );
            let shown = tests
                .warnings
                .iter()
                .map(|warning| escape_controls(&warning.to_string()));
            text.extend(shown.map(|warning| format!("warning: {warning}\n")));
            text
        }
    };
    write_stdout(text.as_bytes())
}
