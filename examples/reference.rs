//! Writes the reference of the command line: man pages, completions, and a page of all helps (`cli.md`).
//!
//! `cargo run --example reference -- DIR`; archives and the documentation site are made with it.

use std::error::Error;
use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;

use clap::ValueEnum as _;
use clap_complete::Shell;

fn main() -> Result<(), Box<dyn Error>> {
    let dir = PathBuf::from(std::env::args().nth(1).ok_or("usage: reference DIR")?);
    let (man, completions) = (dir.join("man"), dir.join("completions"));
    fs::create_dir_all(&man)?;
    fs::create_dir_all(&completions)?;
    let mut program = scholareval::cli::program();
    clap_mangen::generate_to(program.clone(), &man)?;
    for shell in Shell::value_variants() {
        clap_complete::generate_to(*shell, &mut program, "scholareval", &completions)?;
    }
    let mut page =
        "# Commands\n\nEvery command with its options, as `--help` prints them.\n".to_owned();
    // Subcommands take the global options from the program when it is built.
    program.build();
    write_help(&mut page, &mut program)?;
    fs::write(dir.join("cli.md"), page)?;
    Ok(())
}

/// The help of a command and of its subcommands.
fn write_help(page: &mut String, command: &mut clap::Command) -> std::fmt::Result {
    let name = command.get_bin_name().unwrap_or("scholareval").to_owned();
    let help = command.render_long_help().to_string();
    writeln!(page, "\n## `{name}`\n\n```text\n{}\n```", help.trim_end())?;
    let mut own = command
        .get_subcommands_mut()
        .filter(|sub| !sub.is_hide_set() && sub.get_name() != "help");
    own.try_for_each(|sub| write_help(page, sub))
}
