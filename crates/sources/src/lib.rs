//! A store of web pages that the user has saved: what an answer cites can be read without fetching anything.
//!
//! The way of a page: a file is read by its form (`forms`: WARC, JSON of a scraper, a saved file, ..), which gives saved
//! pages: an address and the bytes that came. `text` makes text of them, `state` decides by rules, before any judge is
//! asked, whether this is the page or a wall, an error or nothing, and `store` keeps it by its content in one SQLite file.
//!
//! ```no_run
//! use scholareval_sources::{PageStore, index};
//!
//! # fn main() -> scholareval_core::Result<()> {
//! index(&["crawl.warc.gz".into()], "pages.sqlite".as_ref())?;
//! let store = PageStore::open("pages.sqlite".as_ref())?;
//! for page in store.snapshots("https://example.org/sky")? {
//!     println!("{:?} {:?}", page.state, store.text(&page)?);
//! }
//! # Ok(())
//! # }
//! ```
//!
//! Everything in a source is hostile: sizes are limited before bytes are held, no address or title becomes a file name, and
//! nothing is ever fetched.

mod cited;
mod decode;
mod forms;
mod index;
mod math;
mod page;
mod records;
mod saved;
mod sink;
mod state;
mod store;
mod text;

pub use cited::CitedPages;
pub use index::index;
pub use page::{last_moment, moment};
pub use saved::StoredPages;
pub use sink::IndexReport;
pub use store::{PageStore, StoredPage};
