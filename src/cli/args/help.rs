//! Layout of the help: commands in groups, and in `-h` only the options that most people need.

use std::fmt::Write as _;

use clap::{Args as _, Command};

use crate::evaluation::options::EvaluationOptions;

/// All commands, in the order of the help.
const GROUPS: [(&str, &str); 5] = [
    ("Run", "demo score pairs plan batch bench probe"),
    (
        "Read",
        "table plot compare label agree certify criteria report runs",
    ),
    (
        "Inputs",
        "convert build-tests import export prompts rubrics sources",
    ),
    ("Without a judge", "citations overlap scifact fever"),
    ("Upkeep", "cache config check rescore shell-completions"),
];

/// The options of evaluations that `-h` shows.
const COMMON: &str = "answers tests systems limit scorers references model base_url out";

/// The options of evaluations that `citations -h` shows, too.
const OF_CITATIONS: [&str; 2] = ["works", "retractions"];

/// The program with its help laid out.
pub(in crate::cli) fn laid_out(program: Command) -> Command {
    let evaluation = EvaluationOptions::augment_args(Command::new("evaluation"));
    let ids = evaluation
        .get_arguments()
        .map(|arg| arg.get_id().as_str().to_owned());
    let rare = ids.filter(|id| COMMON.split(' ').all(|common| common != id));
    let rare: Vec<String> = rare.collect();
    let template = format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{}{{options}}{{after-help}}",
        list_of_commands(&program)
    );
    program
        .help_template(template)
        .mut_subcommands(|command| short(command, &rare))
}

/// The command with rare options in `--help` only.
fn short(command: Command, rare: &[String]) -> Command {
    let is_citations = command.get_name() == "citations";
    let command = command.mut_args(|arg| {
        // What this command is about.
        if is_citations && OF_CITATIONS.iter().any(|id| arg.get_id() == id) {
            return arg;
        }
        // `-h` has to fit a screen: a list of seventy options hides the nine that a first run
        // needs.
        if rare.iter().any(|id| arg.get_id() == id) {
            arg.hide_short_help(true)
        } else {
            arg
        }
    });
    command.mut_subcommands(|command| short(command, rare))
}

/// The commands by group: clap has no groups of subcommands.
fn list_of_commands(program: &Command) -> String {
    let header = program.get_styles().get_header();
    let literal = program.get_styles().get_literal();
    let mut text = String::new();
    for (title, names) in GROUPS {
        // Writing to a string does not fail.
        let _ = writeln!(text, "{header}{title}:{header:#}");
        for name in names.split(' ') {
            let about = program.find_subcommand(name).and_then(Command::get_about);
            let about = about.map(ToString::to_string);
            let _ = writeln!(
                text,
                "  {literal}{name:<19}{literal:#}{}",
                about.unwrap_or_default()
            );
        }
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;
    use crate::cli::args::Cli;

    #[test]
    fn every_command_is_listed_once_on_one_line_of_80_columns() {
        let program = Cli::command();
        let mut listed: Vec<&str> = GROUPS
            .iter()
            .flat_map(|(_, names)| names.split(' '))
            .collect();
        let mut known: Vec<&str> = program.get_subcommands().map(Command::get_name).collect();
        listed.sort_unstable();
        known.sort_unstable();
        assert_eq!(listed, known);
        let long: Vec<String> = list_of_commands(&program.styles(clap::builder::Styles::plain()))
            .lines()
            .filter(|line| line.len() > 80)
            .map(str::to_owned)
            .collect();
        assert!(long.is_empty(), "{long:#?}");
    }

    #[test]
    fn short_help_fits_a_screen() {
        let mut program = laid_out(Cli::command());
        program.build();
        let mut open = vec![program];
        while let Some(mut command) = open.pop() {
            let help = command.render_help().to_string();
            assert!(help.lines().count() <= 47, "{}: {help}", command.get_name());
            open.extend(command.get_subcommands().cloned());
        }
    }

    #[test]
    fn common_options_exist() {
        let evaluation = EvaluationOptions::augment_args(Command::new("evaluation"));
        for id in COMMON.split(' ') {
            assert!(
                evaluation.get_arguments().any(|arg| arg.get_id() == id),
                "{id}"
            );
        }
    }
}
