//! Puts saved pages into a store and says what each address was when it was saved:
//! `cargo run -p scholareval-sources --example page_states -- examples/pages/pages.jsonl https://example.org/sky`
#![allow(clippy::print_stdout)]

use std::path::PathBuf;

use scholareval_core::{Error, Result};
use scholareval_sources::{PageStore, index};

fn main() -> Result<()> {
    let mut words = std::env::args().skip(1);
    let usage = || Error::Usage("give a file of saved pages and addresses".to_owned());
    let pages = PathBuf::from(words.next().ok_or_else(usage)?);
    let dir = tempfile::tempdir().map_err(Error::io(&pages, "index"))?;
    let path = dir.path().join("pages.sqlite");
    index(&[pages], &path)?;
    let store = PageStore::open(&path)?;
    for address in words {
        for page in store.snapshots(&address)? {
            println!("{address}: {}, {}", page.state.name(), page.title);
        }
    }
    Ok(())
}
