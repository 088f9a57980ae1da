//! Imports the prompts of ScholarQA-CS2 from the user's copy of astabench: a wheel, the installed package or a checkout.

use std::path::{Path, PathBuf};

use serde_json::json;

use super::import::Files;
use super::python::{Place, normalized};
use super::set::PromptSet;
use crate::error::{InputFault, Result};
use crate::files::read_text;

const MANIFEST: &str = include_str!("../../rubrics/scholarqa_cs2/astabench.toml");

/// Where the modules are: in a wheel or a checkout, and in the package.
const DIRS: [&str; 2] = ["astabench/evals/sqa", "evals/sqa"];

/// Names of files, or of placeholders in the manifest; the module with the text and its place there; whether it is a text
/// for `str.format`.
const TEXTS: [(&str, &str, &str, bool); 8] = [
    ("criteria.system.txt", "rubric.py", "def _assess_properties_jointly/system_prompt", false),
    ("criteria.user.txt", "rubric.py", "def _assess_properties_jointly/user_prompt", false),
    ("criteria.criterion.txt", "rubric.py", "def _assess_properties_jointly/criteria/join()", false),
    ("precision.user.txt", "precision_eval.py", "PRECICION_EVAL_PROMPT", true),
    ("citation_group.user.txt", "citation_eval.py", "def score_citation_group/prompt", true),
    ("TITLE_MARKER", "citation_eval.py", "JUST_HAS_A_TITLE", false),
    ("NON_SUPPORTING", "pydantic_models.py", "class Claim/non_supporting/description", false),
    ("SUPPORTING", "pydantic_models.py", "class Claim/supporting/description", false),
];

impl PromptSet {
    /// Imports the published wording of ScholarQA-CS2: the families criteria (for ingredients) and cs2. The set is
    /// verbatim.
    ///
    /// # Errors
    /// A missing module, or an unexpected one: with file, line and what was expected.
    pub fn import_cs2(astabench: &Path) -> Result<Self> {
        let (mut manifest, mut files) = (MANIFEST.to_owned(), Files::new());
        for (name, module, steps, format) in TEXTS {
            let (path, source) = read_module(astabench, module)?;
            let text = Place::script(&path, &source).find(steps)?.template(steps, format)?;
            if name.ends_with(".txt") {
                files.insert(name.to_owned(), text);
            } else {
                manifest = manifest.replace(name, &json!(text).to_string());
            }
        }
        Self::compile(manifest, files, astabench)
    }
}

/// A module of astabench, with its path for messages.
fn read_module(astabench: &Path, name: &str) -> Result<(PathBuf, String)> {
    let mut paths = DIRS.iter().map(|dir| astabench.join(dir).join(name));
    let path = paths.find(|path| path.is_file()).ok_or_else(|| {
        InputFault::new(astabench, format!("has no {}/{name}", DIRS[0]))
            .hint("name a wheel of astabench, its installed package or a checkout of asta-bench")
    })?;
    let source = normalized(&read_text(&path)?.0);
    Ok((path, source))
}
