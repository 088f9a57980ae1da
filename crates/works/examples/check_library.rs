//! Looks the references of a library up in files of works:
//! `cargo run -p scholareval-works --example check_library -- examples/works/library.bib examples/works/works.jsonl`
#![allow(clippy::print_stdout)]

use std::path::PathBuf;

use scholareval_core::{Error, Result};
use scholareval_works::{Works, load_library};

fn main() -> Result<()> {
    let mut paths = std::env::args_os().skip(1).map(PathBuf::from);
    let usage = || Error::Usage("give a library and the files of works".to_owned());
    let library = load_library(&paths.next().ok_or_else(usage)?)?;
    let mut works = Works::open(&paths.collect::<Vec<_>>())?;
    let checked = works.check(&library.references, &|_, _| {})?;
    for (reference, checked) in library.references.iter().zip(checked) {
        println!("{}: {}", reference.key, checked.state.name());
    }
    Ok(())
}
