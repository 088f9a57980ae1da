//! Arguments of `sources`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

/// Examples below the long help.
const INDEX_EXAMPLES: &str = "\
Examples:
  What a scraper and a crawler saved:
    scholareval sources index scraped.jsonl crawl.warc.gz saved-pages/ --out sources.sqlite
  What answers cite and the store does not have:
    scholareval sources missing answers/ > to-fetch.txt

Forms: WARC and WET, gzip or not; WACZ; JSON and JSONL of {url, text} (or content, markdown, html,
raw_content, error), of DeepResearch Bench's FACT (scraped.jsonl, validated.jsonl), of Jina,
Firecrawl and Tavily; logs of Inspect; saved HTML, text, and PDFs with page.txt next to page.pdf;
directories of these. Nothing is fetched.";

/// Commands about saved pages.
#[derive(Debug, Clone, Subcommand)]
pub enum SourcesCommand {
    /// Read saved pages into a store; pages that it has stay
    #[command(after_long_help = INDEX_EXAMPLES)]
    Index {
        /// Files and directories with saved pages
        #[arg(required = true, value_name = "SRC")]
        sources: Vec<PathBuf>,
        /// The store to write or to add to
        #[arg(long, short, value_name = "FILE", default_value = "sources.sqlite")]
        out: PathBuf,
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
