//! `python/scholareval/_options.py` has the options of the command line, as types and help of the Python functions.
//!
//! After a change of an option: `UPDATE_PYTHON=1 cargo test --test integration python_options`, and commit the file.

use std::any::type_name;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::num::{NonZeroU32, NonZeroU64, NonZeroUsize};
use std::path::{Path, PathBuf};

use clap::builder::ValueParser;
use clap::{Arg, ArgAction, Command};

const FILE: &str = "python/scholareval/_options.py";

const HEAD: &str = r#""""The options of the command line as keyword arguments; made by tests/integration/python_options.rs from its help."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Literal, TypedDict

Text = str | os.PathLike[str]
"""A path."""

Pairs = str | int | Mapping[str, str | int] | Sequence[str]
"""A mapping, or texts `NAME=VALUE`."""
"#;

/// A class of options, and a command that has them.
struct OptionClass {
    name: &'static str,
    base: &'static str,
    command: &'static str,
    /// Parameters of the function by name, which its options leave out.
    named: &'static [&'static str],
    /// Options that the function sets itself.
    own: &'static [&'static str],
}

impl OptionClass {
    fn leaves_out(&self, name: &str) -> bool {
        self.named.contains(&name) || self.own.contains(&name)
    }
}

const NAMED: &[&str] = &[
    "tests",
    "model",
    "base_url",
    "judge",
    "scorers",
    "rubric",
    "samples",
    "out",
    "cache",
    "concurrency",
    "seed",
];

const CLASSES: [OptionClass; 4] = [
    OptionClass {
        name: "ScoreOptions",
        base: "TypedDict",
        command: "score",
        named: NAMED,
        own: &["format", "dry_run", "notes", "raw_csv"],
    },
    OptionClass {
        name: "PlanOptions",
        base: "ScoreOptions",
        command: "plan",
        named: NAMED,
        own: &["format", "dry_run", "notes", "raw_csv"],
    },
    OptionClass {
        name: "CompareOptions",
        base: "TypedDict",
        command: "compare",
        named: &[],
        own: &["format", "notes", "raw_csv"],
    },
    OptionClass {
        name: "AgreeOptions",
        base: "TypedDict",
        command: "agree",
        named: &[],
        own: &["format", "labels", "notes", "raw_csv"],
    },
];

#[test]
fn the_options_of_the_python_functions_are_those_of_the_command_line() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(FILE);
    let wanted = python_file(&scholareval::cli::program());
    if std::env::var_os("UPDATE_PYTHON").is_some() {
        std::fs::write(&path, &wanted).unwrap();
    }
    let there = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        there == wanted,
        "{FILE} is not current: UPDATE_PYTHON=1 cargo test --test integration python_options"
    );
}

fn python_file(program: &Command) -> String {
    let mut file = HEAD.to_owned();
    let mut pairs = BTreeSet::new();
    for class in CLASSES {
        let all = options_of(program, class.command);
        for arg in &all {
            if has_pairs(arg) {
                pairs.insert(python_name(arg));
            }
        }
        if class.name == "ScoreOptions" {
            let mut named = all.clone();
            named.retain(|arg| class.named.contains(&&*python_name(arg)));
            let about = "The options that `score` and others have as parameters of their own.";
            write_class(&mut file, "NamedOptions", "TypedDict", about, &named);
        }
        let inherited = match class.base {
            "TypedDict" => Vec::new(),
            _ => options_of(program, "score"),
        };
        let inherited: Vec<String> = inherited.into_iter().map(python_name).collect();
        let mut own = all.clone();
        own.retain(|arg| {
            let name = python_name(arg);
            !class.leaves_out(&name) && !inherited.contains(&name)
        });
        let about = format!("Further options of `scholareval {}`.", class.command);
        write_class(&mut file, class.name, class.base, &about, &own);
    }
    let names: Vec<String> = pairs.iter().map(|name| format!("{name:?}")).collect();
    write!(
        file,
        "\n\n# Options of texts `NAME=VALUE`, as which a mapping is passed; other mappings are passed as JSON.\n\
         PAIRS = frozenset(({}))\n",
        names.join(", ")
    )
    .unwrap();
    file
}

/// The visible options of a command.
fn options_of<'a>(program: &'a Command, command: &str) -> Vec<&'a Arg> {
    let command = program.find_subcommand(command).unwrap();
    command
        .get_arguments()
        .filter(|arg| is_option(arg))
        .collect()
}

fn is_option(arg: &Arg) -> bool {
    arg.get_long().is_some() && !arg.is_hide_set()
}

/// The keyword of the option.
fn python_name(arg: &Arg) -> String {
    arg.get_long().unwrap_or_default().replace('-', "_")
}

fn write_class(file: &mut String, name: &str, base: &str, about: &str, options: &[&Arg]) {
    write!(
        file,
        "\n\nclass {name}({base}, total=False):\n    \"\"\"{about}\n\n"
    )
    .unwrap();
    for arg in options {
        let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
        writeln!(file, "    {}: {}", python_name(arg), escaped(&help)).unwrap();
    }
    file.push_str("    \"\"\"\n\n");
    for arg in options {
        writeln!(file, "    {}: {}", python_name(arg), python_type(arg)).unwrap();
    }
}

/// Help as part of a docstring, with the names of options as those of keywords.
fn escaped(help: &str) -> String {
    let mut text = String::new();
    let mut words = help.split(' ').peekable();
    while let Some(word) = words.next() {
        let is_flag = word.contains("--");
        let word = if is_flag {
            word.replace("--", "").replace('-', "_")
        } else {
            word.to_owned()
        };
        text.push_str(&word.replace('\\', "\\\\").replace("\"\"\"", "'''"));
        if words.peek().is_some() {
            text.push(' ');
        }
    }
    text
}

fn is_of<T: 'static>(arg: &Arg) -> bool {
    format!("{:?}", arg.get_value_parser().type_id()) == type_name::<T>()
}

fn has_pairs(arg: &Arg) -> bool {
    is_of::<(String, String)>(arg)
}

fn is_repeated(arg: &Arg) -> bool {
    matches!(arg.get_action(), ArgAction::Append)
}

fn python_type(arg: &Arg) -> String {
    if matches!(arg.get_action(), ArgAction::SetTrue) {
        return "bool".to_owned();
    }
    if has_pairs(arg) {
        return "Pairs".to_owned();
    }
    let one = type_of_value(arg);
    if is_repeated(arg) {
        format!("{one} | Sequence[{one}]")
    } else {
        one
    }
}

fn type_of_value(arg: &Arg) -> String {
    let parser: &ValueParser = arg.get_value_parser();
    let values = parser.possible_values();
    if let Some(values) = values.filter(|_| !is_repeated(arg)) {
        let visible = values.filter(|value| !value.is_hide_set());
        let names: Vec<String> = visible
            .map(|value| format!("{:?}", value.get_name()))
            .collect();
        return format!("Literal[{}]", names.join(", "));
    }
    let is_whole = is_of::<u32>(arg)
        || is_of::<u64>(arg)
        || is_of::<i64>(arg)
        || is_of::<usize>(arg)
        || is_of::<NonZeroU32>(arg)
        || is_of::<NonZeroU64>(arg)
        || is_of::<NonZeroUsize>(arg);
    let name = if is_whole {
        "int"
    } else if is_of::<f64>(arg) {
        // a share may be written as 5%
        "float | str"
    } else if is_of::<PathBuf>(arg) {
        "Text"
    } else if is_of::<serde_json::Value>(arg) {
        "str | Mapping[str, object]"
    } else if arg.get_long() == Some("criteria-per-call") {
        "int | str"
    } else {
        "str"
    };
    name.to_owned()
}
