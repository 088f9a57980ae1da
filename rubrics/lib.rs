//! The prompts and profiles that scholareval comes with: the files of this directory, which is described in its README.

pub use include_dir::{Dir, File};

use include_dir::include_dir;

/// All files below `rubrics/`, by their paths in it.
pub static RUBRICS: Dir<'_> = include_dir!("$OUT_DIR/rubrics");

/// The aspects that answers are graded on, as JSON.
pub const ASPECTS_JSON: &str = include_str!("aspects/aspects.json");

/// The README of exported prompts.
pub const PROMPTS_README: &str = include_str!("scholarqa_cs/README.md");

/// Manifests of published prompts, without their wordings: those are imported from the user's own copy.
pub mod published {
    /// The rubric of ScholarQA-CS.
    pub const SCHOLARQA_CS: &str = include_str!("scholarqa_cs/scholarqabench.toml");
    /// The aspects of ScholarQABench.
    pub const ASPECTS: &str = include_str!("aspects/scholarqabench.toml");
    /// The attribution questions of ScholarQABench.
    pub const ATTRIBUTION: &str = include_str!("attribution/scholarqabench.toml");
    /// The rubric of ScholarQA-CS2.
    pub const SCHOLARQA_CS2: &str = include_str!("scholarqa_cs2/astabench.toml");
    /// The questions about saved pages of DeepResearch Bench.
    pub const PAGES: &str = include_str!("pages/deepresearchbench.toml");
}
