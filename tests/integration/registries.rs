//! What the registries list is in the docs.

use std::fs;
use std::path::Path;

use clap::{CommandFactory as _, ValueEnum as _};
use scholareval::cli::args::Cli;
use scholareval::dataset::{TRACE_SHAPES, shipped_profiles};
use scholareval::domain::Role;
use scholareval::judge::kind::JudgeKind;
use scholareval::question::KINDS;
use scholareval::report::FIGURES;
use scholareval::works::{dump_form_names, retraction_list_names};

const CONFIG: &str = include_str!("../../docs/formats/config.md");
const EXAMPLE: &str = include_str!("../../src/cli/example.toml");

/// All pages of a directory below `docs/`.
fn pages(directory: &str) -> String {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("docs")
        .join(directory);
    let mut text = String::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "md") {
            text += &fs::read_to_string(path).unwrap();
        }
    }
    text
}

fn assert_named<'a>(docs: &str, names: impl IntoIterator<Item = &'a str>) {
    let missing: Vec<&str> = names
        .into_iter()
        .filter(|name| !docs.contains(&format!("`{name}`")))
        .collect();
    assert!(missing.is_empty(), "not in the docs: {missing:?}");
}

#[test]
fn the_example_and_the_docs_name_every_kind_of_judge() {
    for text in [EXAMPLE, CONFIG] {
        let line = text.lines().find(|line| line.starts_with("# kind = "));
        let line = line.unwrap_or_default();
        for kind in JudgeKind::value_variants() {
            assert!(line.contains(&format!("\"{kind}\"")), "{kind}: {line}");
        }
    }
}

#[test]
fn the_docs_name_every_kind_of_question_and_every_role() {
    let formats = pages("formats");
    assert_named(&formats, KINDS.iter().map(|kind| kind.name));
    let roles = [
        Role::Rubric,
        Role::Citation,
        Role::Criteria,
        Role::Pair,
        Role::Page,
    ];
    for role in roles {
        assert_named(&formats, [&*role.name()]);
    }
}

#[test]
fn the_docs_have_every_rubric_profile() {
    let profiles = shipped_profiles();
    assert_named(&pages("metrics"), profiles.iter().map(|(name, _)| &**name));
}

#[test]
fn the_docs_have_every_export_and_every_figure() {
    let command = Cli::command();
    let export = command.find_subcommand("export").unwrap();
    let guide = pages("");
    let formats = pages("formats");
    for form in export.get_subcommands() {
        let command = format!("export {}", form.get_name());
        assert!(guide.contains(&command), "{command}");
        let section = format!("**`{command}`**");
        assert!(formats.contains(&section), "{section}");
    }
    for figure in FIGURES {
        let option = format!("--what {}", figure.name);
        assert!(guide.contains(&option), "{option}");
    }
}

#[test]
fn the_docs_have_every_form_of_works_and_every_list_of_retractions() {
    let formats = pages("formats");
    for name in dump_form_names().chain(retraction_list_names()) {
        assert!(formats.contains(&format!("\n| {name} |")), "{name}");
    }
}

#[test]
fn the_docs_have_every_shape_of_a_trace() {
    let formats = pages("formats");
    for shape in TRACE_SHAPES {
        let row = formats
            .lines()
            .find(|line| line.starts_with(&format!("| {} |", shape.name)));
        let row = row.unwrap_or_default();
        assert!(
            row.contains(&format!("`{}`", shape.field)),
            "{}",
            shape.field
        );
    }
}
