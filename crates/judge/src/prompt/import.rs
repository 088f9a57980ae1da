//! Imports prompt sets from copies that the user has: of ScholarQABench, and of DeepResearch Bench for FACT, a checkout; of
//! astabench, for ScholarQA-CS2, a wheel, the installed package or a checkout.
//!
//! Sources are string literals of Python scripts, located by function and name. What is not wording, such as names of files
//! and schemas, is in manifests with placeholders (`rubrics/*/*bench.toml`).

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::json;

use super::python::{ScriptPosition, normalized};
use super::set::{Family, PromptSet};
use scholareval_rubrics::published;

use scholareval_core::error::{Error, InputFault, Result};
use scholareval_core::files::{for_each_member, read_bytes, read_small_text};
use scholareval_core::question::STATEMENTS;
use scholareval_core::text::tables::section;

/// Scripts of ScholarQABench, each with its tables of the manifest; the first is required.
const SCRIPTS: [(&str, &str); 3] = [
    ("scholarqacs_rubric.py", published::SCHOLARQA_CS),
    ("prometheus_eval.py", published::ASPECTS),
    ("citation_correctness_eval.py", published::ATTRIBUTION),
];
/// Where the modules of astabench are: in a wheel or a checkout, and in the package.
const CS2_DIRS: [&str; 2] = ["astabench/evals/sqa", "evals/sqa"];
const CS2_MODULES: [&str; 4] = [
    "rubric.py",
    "precision_eval.py",
    "citation_eval.py",
    "pydantic_models.py",
];

/// The scripts of FACT, in the directory `utils` of DeepResearch Bench.
const FACT_SCRIPTS: [&str; 3] = ["extract.py", "deduplicate.py", "validate.py"];

/// A section for each script: the place of a text in it, the name of the file for the text or of a placeholder in the
/// manifest, and whether it is a text for `str.format`.
const LITERALS: &str = include_str!("literals.txt");
/// The mark of a text for `str.format`.
const FORMAT: &str = " (str.format)";

/// A set in the making.
#[derive(Default)]
struct Import {
    manifest: String,
    /// Texts by file name.
    files: BTreeMap<String, String>,
}

impl Import {
    /// Takes the texts of one script.
    fn read(&mut self, path: &Path, source: &str) -> Result<()> {
        let source = normalized(source);
        let script = ScriptPosition::script(path, &source);
        let file_name = path.file_name().unwrap_or_default().to_string_lossy();
        for line in section(LITERALS, &file_name) {
            let (steps, target) = line.split_once(" -> ").unwrap_or_default();
            let name = target.trim_end_matches(FORMAT);
            let last = steps.rsplit('/').next().unwrap_or_default();
            let text = script
                .find(steps)?
                .template(last, target.ends_with(FORMAT))?;
            if name.ends_with(".txt") {
                self.files.insert(name.to_owned(), text);
            } else {
                // As JSON, which is also how TOML writes a string: the text may hold quotes and
                // line breaks.
                self.manifest = self.manifest.replace(name, &json!(text).to_string());
            }
        }
        Ok(())
    }

    /// The set, with the commit of the checkout if `.git` names it, and the fingerprint of the family that it is about.
    fn compile_with_commit(
        self,
        checkout: &Path,
        family: impl Fn(&PromptSet) -> Option<&Family>,
    ) -> Result<PromptSet> {
        // Compiled twice: the fingerprint that the manifest records is only known of a compiled
        // set.
        let set = PromptSet::compile(self.manifest.clone(), self.files, checkout)?;
        let Some((commit, family)) = head_commit(checkout).zip(family(&set)) else {
            return Ok(set);
        };
        let fingerprint = family.fingerprint();
        let manifest = format!(
            "{}\n[imported]\ncommit = \"{commit}\"\nfingerprint = \"{fingerprint}\"\n",
            self.manifest
        );
        PromptSet::compile(manifest, set.files, checkout)
    }
}

impl PromptSet {
    /// Imports the published wording from a checkout of ScholarQABench.
    ///
    /// The set is verbatim. A family whose script is missing is the built-in one. The manifest keeps the checkout's
    /// commit if `.git` names it.
    ///
    /// # Errors
    /// No rubric script, or an unexpected one: with file, line and what was expected.
    pub fn import(checkout: &Path) -> Result<Self> {
        let mut import = Import::default();
        for (script, tables) in SCRIPTS {
            let path = checkout.join("scripts").join(script);
            // A checkout without a family's script still gives the others their published wording.
            if path.is_file() {
                import.manifest.push_str(tables);
                import.read(&path, &read_small_text(&path)?.0)?;
            } else if import.manifest.is_empty() {
                let fault = InputFault::new(checkout, format!("has no scripts/{script}"));
                return Err(fault.refuse("name the top directory of a checkout of ScholarQABench"));
            }
        }
        import.compile_with_commit(checkout, |set| set.families().first())
    }

    /// Imports the published wording of FACT from a checkout of DeepResearch Bench: the family pages, in English and Chinese.
    /// The set is verbatim. The manifest keeps the checkout's commit if `.git` names it.
    ///
    /// # Errors
    /// A missing script, or an unexpected one: with file, line and what was expected.
    pub fn import_fact(checkout: &Path) -> Result<Self> {
        let mut import = Import {
            manifest: published::PAGES.to_owned(),
            ..Import::default()
        };
        for script in FACT_SCRIPTS {
            let path = checkout.join("utils").join(script);
            if !path.is_file() {
                let fault = InputFault::new(checkout, format!("has no utils/{script}"));
                return Err(
                    fault.refuse("name the top directory of a checkout of deep_research_bench")
                );
            }
            import.read(&path, &read_small_text(&path)?.0)?;
        }
        import.compile_with_commit(checkout, |set| set.family(&STATEMENTS))
    }

    /// Imports the published wording of ScholarQA-CS2: the families criteria (for ingredients) and cs2. The set is
    /// verbatim.
    ///
    /// # Errors
    /// A missing module, or an unexpected one: with file, line and what was expected.
    pub fn import_cs2(astabench: &Path) -> Result<Self> {
        let mut import = Import {
            manifest: published::SCHOLARQA_CS2.to_owned(),
            ..Import::default()
        };
        let mut sources: Vec<(PathBuf, String)> = Vec::new();
        let is_module = |name: &str| {
            CS2_MODULES
                .iter()
                .any(|module| name == format!("{}/{module}", CS2_DIRS[0]))
        };
        if astabench.is_file() {
            for_each_member(
                &read_bytes(astabench)?.0,
                astabench,
                is_module,
                |path, text| {
                    sources.push((path.to_owned(), text.to_owned()));
                    Ok(())
                },
            )?;
        }
        for module in CS2_MODULES {
            let path = CS2_DIRS
                .iter()
                .map(|dir| astabench.join(dir).join(module))
                .find(|path| path.is_file());
            sources.extend(
                path.map(|path| Ok::<_, Error>((path.clone(), read_small_text(&path)?.0)))
                    .transpose()?,
            );
            if !sources.iter().any(|(path, _)| path.ends_with(module)) {
                let fault = InputFault::new(astabench, format!("has no {}/{module}", CS2_DIRS[0]));
                let hint =
                    "name a wheel of astabench, its installed package or a checkout of asta-bench";
                return Err(fault.refuse(hint));
            }
        }
        sources
            .iter()
            .try_for_each(|(path, source)| import.read(path, source))?;
        Self::compile(import.manifest, import.files, astabench)
    }
}

/// The commit of `HEAD`, 40 hexadecimal digits, read from `.git` without running git.
fn head_commit(checkout: &Path) -> Option<String> {
    let mut git = checkout.join(".git");
    // In a worktree or a submodule it is a file that names the directory.
    if git.is_file() {
        git = checkout.join(
            fs::read_to_string(&git)
                .ok()?
                .trim()
                .strip_prefix("gitdir: ")?,
        );
    }
    let head = fs::read_to_string(git.join("HEAD")).ok()?;
    let commit = match head.trim().strip_prefix("ref: ") {
        None => head.trim().to_owned(),
        Some(name) => match fs::read_to_string(git.join(name)) {
            Ok(text) => text.trim().to_owned(),
            // After `git gc` a branch has no separate file.
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
            assert_eq!(
                head_commit(checkout(&files).path()).as_deref(),
                Some(COMMIT),
                "{files:?}"
            );
        }
        assert_eq!(head_commit(checkout(&[]).path()), None);
        assert_eq!(
            head_commit(checkout(&[(".git/HEAD", "nonsense")]).path()),
            None
        );
    }
}
