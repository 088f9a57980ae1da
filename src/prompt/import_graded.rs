//! The published wordings for aspects and for attribution, out of the literals at the top of two scripts.
//!
//! `scripts/prometheus_eval.py` sets three texts for `str.format`: with a reference answer, the same without headers
//! over the sections, and without a reference answer (one text, which has no headers either way). Its system message is
//! what `set_system_message` is given. `scripts/citation_correctness_eval.py` sets one text. The conversation format
//! around them belongs to the judge.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::files::read_text;
use super::manifest::{AspectEntry, AspectVariant, TaskEntry};
use super::python::{Placed, tokens};
use super::script::Scope;
use super::template::{Variable, escape};
use crate::error::Result;

const ASPECT_SCRIPT: &str = "scripts/prometheus_eval.py";
const ATTRIBUTION_SCRIPT: &str = "scripts/citation_correctness_eval.py";

const ASPECT_FIELDS: [(&str, Variable); 9] = [
    ("instruction", Variable::Instruction),
    ("response", Variable::Response),
    ("reference_answer", Variable::Reference),
    ("criteria_description", Variable::CriteriaDescription),
    ("score1_description", Variable::ScoreDescription(1)),
    ("score2_description", Variable::ScoreDescription(2)),
    ("score3_description", Variable::ScoreDescription(3)),
    ("score4_description", Variable::ScoreDescription(4)),
    ("score5_description", Variable::ScoreDescription(5)),
];
/// The script calls the document `output`.
const ATTRIBUTION_FIELDS: [(&str, Variable); 2] = [("claim", Variable::Claim), ("output", Variable::Document)];

/// The tokens of a script, or nothing if the checkout does not have it.
fn script(checkout: &Path, name: &str) -> Result<Option<(PathBuf, Vec<Placed>)>> {
    let path = checkout.join(name);
    if !path.is_file() {
        return Ok(None);
    }
    let tokens = tokens(&read_text(&path)?, &path)?;
    Ok(Some((path, tokens)))
}

/// The wording for aspects, its texts into `files`; `None` if the checkout does not have the script.
pub(super) fn import_aspect(checkout: &Path, files: &mut BTreeMap<String, String>) -> Result<Option<AspectEntry>> {
    let Some((path, tokens)) = script(checkout, ASPECT_SCRIPT)? else { return Ok(None) };
    let file = Scope { path: &path, what: "the script", line: 1, body: &tokens };
    let mut keep = |name: &str, text: String| {
        files.insert(name.to_owned(), text);
        vec![name.to_owned()]
    };
    let mut template = |literal: &str, name: &str| Ok(keep(name, file.format_template(literal, &ASPECT_FIELDS)?));
    let with_reference: Result<_> = template("prompt_template", "aspect.reference.user.txt");
    let plain: Result<_> = template("prompt_template_wo_header", "aspect.plain.user.txt");
    let without_reference: Result<Vec<String>> = template("prompt_template_no_reference", "aspect.user.txt");
    let without_reference = without_reference?;
    let mut entry = AspectEntry {
        with_reference: with_reference?,
        without_reference: without_reference.clone(),
        without_headers: Some(AspectVariant { with_reference: plain?, without_reference }),
        max_tokens: file.number("max_new_tokens"),
        ..AspectEntry::default()
    };
    let setter = "set_system_message";
    let call = tokens.windows(2).position(|pair| pair[0].is_name(setter) && pair[1].is_operator('('));
    let call = call.ok_or_else(|| file.fault(1, format!("the script does not call {setter}")))?;
    let system = file.plain_text(&format!("what {setter} is given"), &tokens[call + 1..])?;
    files.insert("aspect.system.txt".to_owned(), escape(&system));
    entry.system = Some("aspect.system.txt".to_owned());
    Ok(Some(entry))
}

/// The wording for attribution, its text into `files`; `None` if the checkout does not have the script.
pub(super) fn import_attribution(checkout: &Path, files: &mut BTreeMap<String, String>) -> Result<Option<TaskEntry>> {
    let Some((path, tokens)) = script(checkout, ATTRIBUTION_SCRIPT)? else { return Ok(None) };
    let file = Scope { path: &path, what: "the script", line: 1, body: &tokens };
    let name = "attribution.user.txt".to_owned();
    files.insert(name.clone(), file.format_template("input_prompt", &ATTRIBUTION_FIELDS)?);
    Ok(Some(TaskEntry { user: vec![name], max_tokens: file.number("max_new_tokens"), ..TaskEntry::default() }))
}
