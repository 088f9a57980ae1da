//! Whether cited works exist, decided by files of works that the user has; nothing is fetched.
//!
//! The way of a reference: a reader gives [`Reference`]s (from answers, or a library in BibTeX, CSL-JSON or RIS). The files
//! of works (dumps of Crossref, OpenAlex, Semantic Scholar or arXiv, a library, or an index that was made of them) are
//! read once for the keys of these references, and give [`WorkRecord`]s. `matching` compares a reference with the records
//! that share an identifier, an equal title or rare words, and decides a [`WorkState`]: always about what these files
//! hold, never that a work was invented.
//!
//! ```no_run
//! use scholareval_works::{Works, load_library};
//!
//! # fn main() -> scholareval_core::Result<()> {
//! let library = load_library("library.bib".as_ref())?;
//! let mut works = Works::open(&["crossref.jsonl.gz".into()])?;
//! for checked in works.check(&library.references, &|_read, _all| {})? {
//!     println!("{:?}", checked.state);
//! }
//! # Ok(())
//! # }
//! ```
//!
//! Titles and names are hostile text: they are compared and shown, and become neither file names nor markup here.

mod agreement;
mod check;
mod content;
mod dumps;
mod entry_text;
mod forms;
mod free_text;
#[cfg(test)]
mod hallmark_tests;
mod index;
mod items;
mod keys;
mod markup;
mod matching;
mod names;
mod normalize;
mod references;
mod retractions;
mod scan;
mod wanted;

pub use check::{Works, WorksReport};
pub use dumps::is_works;
pub use forms::dump_form_names;
pub use index::{WorksIndexReport, index_works};
pub use references::{ReferenceList, is_library, load_library, references_of};
pub use retractions::{Retractions, retraction_list_names};
pub use scholareval_core::domain::{
    CheckedReference, DifferingField, PersonName, Reference, ReferenceKind, Retraction,
    RetractionKind, RetractionStatus, UncheckedReason, WorkField, WorkRecord, WorkSource,
    WorkState,
};
