//! Arguments of `sources`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

/// Commands about saved pages and files of works.
#[derive(Debug, Clone, Subcommand)]
pub enum SourcesCommand {
    /// Read saved pages into a store, or files of works into an index; what it has stays
    #[command(after_long_help = include_str!("examples/sources_index.txt"))]
    Index {
        /// Files and directories with saved pages, or with works
        #[arg(required = true, value_name = "SRC")]
        sources: Vec<PathBuf>,
        /// The file to write or to add to [default: sources.sqlite for pages, works.sqlite for works]
        #[arg(long, short, value_name = "FILE")]
        out: Option<PathBuf>,
    },
    /// Print what a judge would read of a page
    Show {
        /// Its address, a DOI, or an arXiv number (arXiv:2101.00001)
        #[arg(value_name = "URL")]
        url: String,
        /// Which store.
        #[command(flatten)]
        store: StoreArgs,
    },
    /// Measure how many works of a library the files of works hold
    #[command(after_long_help = include_str!("examples/sources_coverage.txt"))]
    Coverage {
        /// A library in BibTeX, CSL-JSON, RIS or PubMed (.nbib)
        #[arg(value_name = "LIBRARY")]
        library: PathBuf,
        /// Files and directories of works, or an index of them
        #[arg(long, required = true, num_args = 1.., value_name = "SRC")]
        works: Vec<PathBuf>,
    },
    /// List the addresses in answers of which the store has no page
    Missing {
        /// Answer files, or directories with one file per system
        #[arg(required = true, value_name = "ANSWERS")]
        answers: Vec<PathBuf>,
        /// Which store.
        #[command(flatten)]
        store: StoreArgs,
    },
}

/// Which store of pages.
#[derive(Debug, Clone, Args)]
pub struct StoreArgs {
    /// The store of pages
    #[arg(long, value_name = "FILE", default_value = "sources.sqlite")]
    pub sources: PathBuf,
}
