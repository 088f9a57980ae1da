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
  Works, to look up what answers and libraries cite:
    scholareval sources index crossref/ arxiv-metadata.json --out works.sqlite

Forms of pages: WARC and WET, gzip or not; WACZ; JSON and JSONL of {url, text} (or content, markdown, html,
raw_content, error), of DeepResearch Bench's FACT (scraped.jsonl, validated.jsonl), of Jina,
Firecrawl and Tavily; logs of Inspect; saved HTML, text, and PDFs with page.txt next to page.pdf;
directories of these. Forms of works: Crossref, OpenAlex, Semantic Scholar and arXiv as JSON, gzip or
not; libraries in BibTeX, CSL-JSON, RIS or PubMed (.nbib). A command reads either pages or works. Nothing is fetched.";

/// Examples below the long help.
const COVERAGE_EXAMPLES: &str = "\
Examples:
  A library of real works of the field, against two dumps or their index:
    scholareval sources coverage library.bib --works crossref/ --works arxiv-metadata.json
    scholareval sources coverage library.bib --works works.sqlite

The library must be of works that exist, chosen without looking at the files of works: references of
reviews of the field, say. Its share that is found is what can be found at all.";

/// Commands about saved pages and files of works.
#[derive(Debug, Clone, Subcommand)]
pub enum SourcesCommand {
    /// Read saved pages into a store, or files of works into an index; what it has stays
    #[command(after_long_help = INDEX_EXAMPLES)]
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
    #[command(after_long_help = COVERAGE_EXAMPLES)]
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
