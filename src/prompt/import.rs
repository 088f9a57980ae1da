//! Imports a prompt set from the user's checkout of ScholarQABench.
//!
//! Sources are the string literals of three scripts: those of class `RubricCorpusQaGenericMetric`, located by method
//! and argument; the `str.format` texts at the top of `prometheus_eval.py` (with and without a reference answer) with its system message; and the
//! text of `citation_correctness_eval.py`. The conversation format around them belongs to the judge.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use super::manifest::{AspectEntry, Imported, InsertMode, Manifest, TaskEntry};
use super::python::{Place, normalized};
use super::set::PromptSet;
use crate::error::{Error, InputFault, Result};
use crate::files::read_text;

const RUBRIC_SCRIPT: &str = "scripts/scholarqacs_rubric.py";
const ASPECT_SCRIPT: &str = "scripts/prometheus_eval.py";
const ATTRIBUTION_SCRIPT: &str = "scripts/citation_correctness_eval.py";
const CLASS: &str = "RubricCorpusQaGenericMetric";

/// Texts by file name.
pub(super) type Files = BTreeMap<String, String>;

impl PromptSet {
    /// Imports the published wording from a checkout of ScholarQABench.
    ///
    /// The set is verbatim. A family whose script is missing is the built-in one. The manifest keeps the checkout's
    /// commit if `.git` names it.
    ///
    /// # Errors
    /// No rubric script, or an unexpected one: with file, line and what was expected.
    pub fn import(checkout: &Path) -> Result<Self> {
        let path = checkout.join(RUBRIC_SCRIPT);
        if !path.is_file() {
            let fault = InputFault::new(checkout, format!("has no {RUBRIC_SCRIPT}"));
            return Err(fault.hint("name the top directory of a checkout of ScholarQABench").into());
        }
        let mut files = Files::new();
        let mut manifest = import_rubric(&path, &mut files)?;
        let script = |name| Some(checkout.join(name)).filter(|path| path.is_file());
        manifest.aspect = script(ASPECT_SCRIPT).map(|path| import_aspect(&path, &mut files)).transpose()?;
        manifest.attribution =
            script(ATTRIBUTION_SCRIPT).map(|path| import_attribution(&path, &mut files)).transpose()?;
        let source =
            |manifest: &Manifest| toml::to_string(manifest).map_err(|error| Error::Internal(error.to_string()));
        let set = Self::compile(source(&manifest)?, files, &path)?;
        let Some(commit) = head_commit(checkout) else { return Ok(set) };
        manifest.imported = Some(Imported { commit, fingerprint: set.families()[0].fingerprint() });
        Self::compile(source(&manifest)?, set.files, &path)
    }
}

/// Stores a text as a file and returns its name.
fn keep(files: &mut Files, name: impl Into<String>, text: String) -> String {
    let name = name.into();
    files.insert(name.clone(), text);
    name
}

/// A manifest with the four tasks of the rubric.
fn import_rubric(path: &Path, files: &mut Files) -> Result<Manifest> {
    let source = normalized(&read_text(path)?.0);
    let script = Place::script(path, &source);
    let class = script.definition("class", CLASS)?;
    let mut task = |kind: &str, method: &'static str| {
        let place = class.definition("def", method)?;
        let mut text = |argument: &'static str, part: &str| {
            let template = place.value_of(argument)?.template(argument, false)?;
            Ok::<_, Error>(keep(files, format!("{kind}.{part}.txt"), template))
        };
        Ok::<_, Error>(TaskEntry {
            system: Some(text("system_prompt", "system")?),
            user: vec![text("user_prompt", "user")?],
            max_tokens: place.value_of("max_tokens").ok().and_then(|value| value.number()),
            json_mode: place.value_of("json_mode").is_ok_and(|value| value.is_true()),
            ..TaskEntry::default()
        })
    };
    let property = task("property", "_score_property")?;
    let evidence = task("evidence", "_score_evidence")?;
    let citations = task("citations", "_score_citations_excerpts_inner")?;
    let score_output = class.definition("def", "score_output")?;
    let criterion = score_output.call("_score_property").and_then(Place::first_literal);
    let criterion = criterion.ok_or_else(|| score_output.fault("score_output gives no literal to _score_property"))?;
    let criterion = keep(files, "expertise.criterion.txt", criterion.plain("the criterion of expertise")?);
    Ok(Manifest {
        mode: InsertMode::Verbatim,
        imported: None,
        expertise: Some(TaskEntry { criterion: Some(criterion), ..property.clone() }),
        property: Some(property),
        evidence: Some(evidence),
        citations: Some(citations),
        aspect: None,
        attribution: None,
        criteria: None,
        precision: None,
        citation_group: None,
    })
}

fn import_aspect(path: &Path, files: &mut Files) -> Result<AspectEntry> {
    let source = normalized(&read_text(path)?.0);
    let script = Place::script(path, &source);
    let mut template = |name: &'static str, file: &str| {
        Ok::<_, Error>(vec![keep(files, file, script.value_of(name)?.template(name, true)?)])
    };
    let with_reference = template("prompt_template", "aspect.reference.user.txt")?;
    let without_reference = template("prompt_template_no_reference", "aspect.user.txt")?;
    let system = script.find("set_system_message()")?.template("the argument of set_system_message", false)?;
    Ok(AspectEntry {
        system: Some(keep(files, "aspect.system.txt", system)),
        with_reference,
        without_reference,
        max_tokens: script.value_of("max_new_tokens").ok().and_then(|value| value.number()),
        json_mode: false,
    })
}

fn import_attribution(path: &Path, files: &mut Files) -> Result<TaskEntry> {
    let source = normalized(&read_text(path)?.0);
    let script = Place::script(path, &source);
    let text = script.value_of("input_prompt")?.template("input_prompt", true)?;
    Ok(TaskEntry {
        user: vec![keep(files, "attribution.user.txt", text)],
        max_tokens: script.value_of("max_new_tokens").ok().and_then(|value| value.number()),
        ..TaskEntry::default()
    })
}

/// The commit of `HEAD`, 40 hexadecimal digits, read from `.git` without running git.
fn head_commit(checkout: &Path) -> Option<String> {
    let mut git = checkout.join(".git");
    if git.is_file() {
        git = checkout.join(fs::read_to_string(&git).ok()?.trim().strip_prefix("gitdir: ")?);
    }
    let head = fs::read_to_string(git.join("HEAD")).ok()?;
    let commit = match head.trim().strip_prefix("ref: ") {
        None => head.trim().to_owned(),
        Some(name) => match fs::read_to_string(git.join(name)) {
            Ok(text) => text.trim().to_owned(),
            Err(_) => {
                let packed = fs::read_to_string(git.join("packed-refs")).ok()?;
                let mut refs = packed.lines().filter_map(|line| line.split_once(' '));
                refs.find_map(|(commit, of)| (of == name).then(|| commit.to_owned()))?
            }
        },
    };
    (commit.len() == 40 && commit.bytes().all(|byte| byte.is_ascii_hexdigit())).then_some(commit)
}

#[cfg(test)]
mod tests {
    use super::*;

    const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";

    fn checkout(files: &[(&str, &str)]) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = dir.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        dir
    }

    #[test]
    fn the_commit_is_found_detached_on_a_branch_and_packed() {
        let branch = "ref: refs/heads/main\n";
        let packed = format!("# pack-refs with: peeled\n{COMMIT} refs/heads/main\n");
        for files in [
            vec![(".git/HEAD", COMMIT)],
            vec![(".git/HEAD", branch), (".git/refs/heads/main", COMMIT)],
            vec![(".git/HEAD", branch), (".git/packed-refs", packed.as_str())],
            vec![(".git", "gitdir: elsewhere\n"), ("elsewhere/HEAD", COMMIT)],
        ] {
            assert_eq!(head_commit(checkout(&files).path()).as_deref(), Some(COMMIT), "{files:?}");
        }
        assert_eq!(head_commit(checkout(&[]).path()), None);
        assert_eq!(head_commit(checkout(&[(".git/HEAD", "nonsense")]).path()), None);
    }
}
