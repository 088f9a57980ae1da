//! The sample data of `scholareval demo` and the price list: the files of this directory, which is described in its README.

pub use include_dir::{Dir, File};

use include_dir::include_dir;

/// All files below `data/`, by their paths in it.
pub static DATA: Dir<'_> = include_dir!("$OUT_DIR/data");

/// The price list, as JSON.
pub const PRICES: &str = include_str!("prices.json");
