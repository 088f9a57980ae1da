//! Arguments of `convert` and `build-tests`.

use std::path::PathBuf;

use clap::Args;

use crate::dataset::ReferencesBlock;
use crate::scorer::citation::IndexBase;

/// Arguments of `convert`.
#[derive(Debug, Clone, Args)]
pub struct ConvertArgs {
    /// Predictions (a JSON list, {"data": [..]} or JSON lines)
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Test cases; a question is looked up by its initial_prompt
    #[arg(long, value_name = "FILE")]
    pub tests: PathBuf,
    /// Answers to write: JSON lines of {case_id, answer_text}
    #[arg(long, short, value_name = "FILE")]
    pub out: PathBuf,
    /// Whether cited sources are appended as a list
    #[arg(long, value_enum, default_value = "append", value_name = "HOW")]
    pub references_block: ReferencesBlock,
    /// Number of the first source
    #[arg(long, value_enum, default_value = "0", value_name = "N")]
    pub index_base: IndexBase,
    /// Keep the thinking that outputs begin with (--compat keeps it, too)
    #[arg(long)]
    pub keep_thinking: bool,
    /// Tags of reasoning besides the known ones, such as "<plan> </plan>"; may be repeated
    #[arg(long, value_name = "OPEN CLOSE")]
    pub reasoning_tags: Vec<String>,
    /// Convert as the reference script does: sources renumbered, the last of two equal cases kept
    #[arg(long)]
    pub compat: bool,
}

/// Arguments of `build-tests`.
#[derive(Debug, Clone, Args)]
pub struct BuildTestsArgs {
    /// Annotated ingredients (a JSON list, {"data": [..]} or JSON lines)
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Test cases to write
    #[arg(long, short, value_name = "FILE")]
    pub out: PathBuf,
}
