//! Prompt sets in files: built-in, loaded from a directory, exported for editing.
//!
//! A directory, or the files compiled in, becomes a map of texts and the source of its manifest, of
//! which `PromptSet` is compiled; exporting is the way back.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::OnceLock;

use scholareval_rubrics::{Dir, PROMPTS_README, RUBRICS};

use super::manifest::{MANIFEST, PromptManifest, README};
use super::set::PromptSet;
use scholareval_core::error::{Error, InputFault, Result};
use scholareval_core::files::read_small_text;

/// The directory below `rubrics/` whose manifest comes first: its mode and its comments are those of the whole set.
const FIRST_DIRECTORY: &str = "scholarqa_cs";

/// The directories below `rubrics/` that have prompts. Each of them is a set by itself.
fn builtin_directories() -> Vec<&'static Dir<'static>> {
    let mut directories: Vec<&Dir<'_>> = RUBRICS
        .dirs()
        .filter(|dir| dir.contains(dir.path().join(MANIFEST)))
        .collect();
    directories.sort_by_key(|dir| (dir.path() != Path::new(FIRST_DIRECTORY), dir.path()));
    directories
}

/// The manifest of the built-in prompts, with the tables of all directories, and their texts by file name.
fn builtin_sources() -> (String, BTreeMap<String, String>) {
    let mut manifest = String::new();
    let mut texts = BTreeMap::new();
    for file in builtin_directories().into_iter().flat_map(Dir::files) {
        let name = file
            .path()
            .file_name()
            .unwrap_or_default()
            .to_string_lossy();
        let text = file.contents_utf8().unwrap_or_default();
        if name == MANIFEST {
            manifest.push_str(if manifest.is_empty() {
                text
            } else {
                tables_of(text)
            });
        } else if name.ends_with(".txt") {
            texts.insert(name.into_owned(), text.to_owned());
        }
    }
    (manifest, texts)
}

/// A manifest without what comes before its first table.
fn tables_of(manifest: &str) -> &str {
    manifest.find("\n[").map_or(manifest, |at| &manifest[at..])
}

impl PromptSet {
    /// The built-in prompts.
    pub fn builtin() -> Self {
        let (manifest, files) = builtin_sources();
        #[expect(clippy::expect_used, reason = "compiled in, and a test reads it")]
        Self::compile_over(None, manifest, files, Path::new("built-in prompts"))
            .expect("the built-in prompts")
    }

    /// The built-in set, created once; fills in the families missing from other sets.
    pub(super) fn shared_builtin() -> &'static Self {
        static BUILTIN: OnceLock<PromptSet> = OnceLock::new();
        BUILTIN.get_or_init(Self::builtin)
    }

    /// Loads the set in `dir`: `manifest.toml` and the files it names; other files are ignored. Families missing from
    /// the manifest are the built-in ones.
    ///
    /// # Errors
    /// A missing or unreadable file, text that is not UTF-8, an unknown or missing variable: with file, line and
    /// remedy.
    pub fn load(dir: &Path) -> Result<Self> {
        let manifest_path = dir.join(MANIFEST);
        if !manifest_path.is_file() {
            return Err(
                InputFault::new(dir, format!("is not a prompt set: it has no {MANIFEST}"))
                    .refuse("`scholareval prompts export DIR` writes one to start from"),
            );
        }
        let (manifest_source, _) = read_small_text(&manifest_path)?;
        let manifest = PromptManifest::parse(&manifest_source, &manifest_path)?;
        let mut files = BTreeMap::new();
        for name in manifest.files() {
            let path = dir.join(&name);
            if !path.is_file() {
                return Err(InputFault::new(
                    &manifest_path,
                    format!("names the file {name}, which does not exist"),
                )
                .refuse(format!("write {} or change the manifest", path.display())));
            }
            files.insert(name, read_small_text(&path)?.0);
        }
        Self::compile(manifest_source, files, dir)
    }

    /// Writes the set into `dir` for editing, with a README of the variables.
    ///
    /// A directory that already contains this set is left unchanged, and one that an export left half-written is completed.
    ///
    /// # Errors
    /// A directory with any other contents, and file-system errors.
    pub fn export(&self, dir: &Path) -> Result<()> {
        fs::create_dir_all(dir).map_err(Error::io(dir, "create"))?;
        let fixed = [
            (MANIFEST, self.manifest_source.as_str()),
            (README, PROMPTS_README),
        ];
        let files = || {
            fixed.into_iter().chain(
                self.files
                    .iter()
                    .map(|(name, text)| (name.as_str(), text.as_str())),
            )
        };
        if fs::read_dir(dir)
            .map_err(Error::io(dir, "read"))?
            .next()
            .is_some()
        {
            // The manifest is written first, so that without it the directory is somebody else's.
            let is_other = |(name, text): &(&str, &str)| match fs::read(dir.join(name)) {
                // A beginning of the file is what a killed export leaves.
                Ok(there) => !text.as_bytes().starts_with(&there),
                Err(_) => *name == MANIFEST,
            };
            if let Some((name, _)) = files().find(is_other) {
                let fault = InputFault::new(
                    dir,
                    format!("is not empty, and its {name} differs from this set's"),
                );
                return Err(fault.refuse("name a new or an empty directory"));
            }
        }
        for (name, text) in files() {
            let path = dir.join(name);
            fs::write(&path, text).map_err(Error::io(&path, "write"))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prompt::{Family, InsertMode, PromptFamily};
    use scholareval_core::question::{ATTRIBUTION, CRITERIA, PROPERTY, Property};

    fn attribution() -> PromptFamily {
        PromptFamily::of(&ATTRIBUTION)
    }

    fn property() -> Property {
        Property {
            question: "q".into(),
            answer: "a".into(),
            criterion: "c".into(),
        }
    }

    fn rubric(set: &PromptSet) -> &Family {
        set.family(&PROPERTY).unwrap()
    }

    /// An exported built-in set with one file changed.
    fn edited(
        name: &str,
        edit: impl FnOnce(String) -> String,
    ) -> (tempfile::TempDir, Result<PromptSet>) {
        let dir = tempfile::tempdir().unwrap();
        PromptSet::builtin().export(dir.path()).unwrap();
        let path = dir.path().join(name);
        fs::write(&path, edit(fs::read_to_string(&path).unwrap())).unwrap();
        let set = PromptSet::load(dir.path());
        (dir, set)
    }

    #[test]
    fn an_exported_set_is_the_same_set_when_loaded() {
        let (_dir, set) = edited("README.md", |text| text + "mine");
        let set = set.unwrap();
        assert_eq!(
            rubric(&set).fingerprint(),
            rubric(&PromptSet::builtin()).fingerprint()
        );
        assert!(
            rubric(&set).label().starts_with("scholareval@"),
            "{}",
            rubric(&set).label()
        );
        assert_eq!(
            set.render(&property()),
            PromptSet::builtin().render(&property())
        );
    }

    #[test]
    fn an_exported_set_holds_every_family_and_each_directory_of_ours_is_a_set_too() {
        let (_dir, set) = edited("README.md", |text| text);
        assert!(set.unwrap().families().iter().all(Family::is_builtin));
        let rubrics = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../rubrics");
        for dir in builtin_directories() {
            let set = PromptSet::load(&rubrics.join(dir.path())).unwrap();
            assert!(
                set.families().iter().all(Family::is_builtin),
                "{:?}",
                dir.path()
            );
        }
    }

    #[test]
    fn a_family_that_a_set_lacks_is_the_built_in_one_and_an_edited_one_changes_no_other() {
        let (_dir, set) = edited("attribution.claim.txt", |text| text + "Be strict.");
        for family in set.unwrap().families() {
            assert_eq!(
                family.is_builtin(),
                family.id != attribution(),
                "{family:?}"
            );
        }
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("a.txt"), "{{document}}{{claim}}").unwrap();
        let manifest = "mode = \"verbatim\"\n[attribution]\nuser = [\"a.txt\"]\n";
        fs::write(dir.path().join("manifest.toml"), manifest).unwrap();
        let set = PromptSet::load(dir.path()).unwrap();
        for family in set.families() {
            let is_verbatim = family.mode == InsertMode::Verbatim;
            assert_eq!(is_verbatim, family.id == attribution(), "{family:?}");
            assert_eq!(family.is_builtin(), !is_verbatim, "{family:?}");
        }
        let label = set.family(&ATTRIBUTION).unwrap().label();
        assert!(label.starts_with("custom@"), "{label}");
    }

    #[test]
    fn what_a_table_leaves_out_is_as_the_kind_says_and_published_wordings_add_nothing() {
        let of = |mode: &str, table: &str| {
            let dir = tempfile::tempdir().unwrap();
            fs::write(dir.path().join("a.txt"), "{{document}}{{claim}}").unwrap();
            fs::write(
                dir.path().join("c.txt"),
                "{{question}}{{response}}{{criteria}}{{levels}}{{reply}}",
            )
            .unwrap();
            let manifest = format!(
                "mode = \"{mode}\"\n[attribution]\nuser = [\"a.txt\"]\n{table}\n\
                 [criteria]\nuser = [\"c.txt\"]\n{table}\n"
            );
            fs::write(dir.path().join("manifest.toml"), manifest).unwrap();
            let set = PromptSet::load(dir.path()).unwrap();
            [&ATTRIBUTION, &CRITERIA].map(|info| (set.max_tokens(info), set.json_mode(info)))
        };
        assert_eq!(of("fenced", ""), [(Some(100), false), (Some(300), true)]);
        assert_eq!(of("verbatim", ""), [(None, false), (None, false)]);
        let given = "max_tokens = 7\njson_mode = false";
        assert_eq!(of("fenced", given), [(Some(7), false), (Some(7), false)]);
        let given = "max_tokens = 7\njson_mode = true";
        assert_eq!(of("verbatim", given), [(Some(7), true), (Some(7), true)]);
    }

    #[test]
    fn an_edited_set_is_reported_as_custom_and_not_comparable() {
        let (_dir, set) = edited("property.txt", |text| text + "Be kind.");
        let set = set.unwrap();
        assert_eq!(
            rubric(&set).label(),
            format!("custom@{}", rubric(&set).fingerprint().short(8))
        );
        assert_eq!(
            rubric(&set).comparability_note(),
            Some("not comparable with published numbers")
        );
    }

    #[test]
    fn line_breaks_at_the_end_and_of_another_system_change_nothing() {
        let (_dir, set) = edited("evidence.txt", |text| {
            text.replace('\n', "\r\n") + "\r\n\r\n"
        });
        assert_eq!(
            rubric(&set.unwrap()).fingerprint(),
            rubric(&PromptSet::builtin()).fingerprint()
        );
    }

    #[test]
    fn an_unknown_variable_names_file_and_line() {
        let (dir, set) = edited("property.txt", |text| format!("{{{{criterium}}}}\n{text}"));
        let message = set.unwrap_err().to_string();
        let expected = format!(
            "{}:1: unknown variable {{{{criterium}}}}",
            dir.path().join("property.txt").display()
        );
        assert!(message.starts_with(&expected), "{message}");
    }

    #[test]
    fn a_missing_response_is_an_error_naming_the_task() {
        let (_dir, set) = edited("answer.txt", |text| text.replace("{{response}}", ""));
        let message = set.unwrap_err().to_string();
        assert!(
            message.contains("{{response}} is missing in the expertise task"),
            "{message}"
        );
    }

    #[test]
    fn a_variable_of_another_task_is_an_error() {
        let (_dir, set) = edited("citations.txt", |text| text + "{{snippets}}");
        let message = set.unwrap_err().to_string();
        assert!(
            message.contains("{{snippets}} has no value in the citations task"),
            "{message}"
        );
    }

    #[test]
    fn what_an_aspect_or_a_claim_needs_is_named_with_its_variant() {
        let (_dir, set) = edited("aspect.reference.txt", |text| {
            text.replace("{{reference_answer}}", "none")
        });
        let message = set.unwrap_err().to_string();
        let expected = "{{reference_answer}} is missing in the aspect (with_reference) task";
        assert!(message.contains(expected), "{message}");
        let (_dir, set) = edited("aspect.answer.txt", |text| text + "{{reference_answer}}");
        let message = set.unwrap_err().to_string();
        assert!(
            message.contains("{{reference_answer}} is twice in the aspect (with_reference) task"),
            "{message}"
        );
        let (_dir, set) = edited("aspect.rubric.txt", |text| text + "{{score3_description}}");
        let message = set.unwrap_err().to_string();
        assert!(
            message.contains(
                "{{score3_description}} has no value in the aspect (with_reference) task"
            ),
            "{message}"
        );
        let (_dir, set) = edited("attribution.claim.txt", |text| {
            text.replace("{{claim}}", "")
        });
        assert!(
            set.unwrap_err()
                .to_string()
                .contains("{{claim}} is missing in the attribution task")
        );
        let (_dir, set) = edited("attribution.claim.txt", |text| text + "{{response}}");
        assert!(
            set.unwrap_err()
                .to_string()
                .contains("{{response}} has no value in the attribution task")
        );
    }

    #[test]
    fn a_fenced_text_stands_once_and_never_in_the_system_message() {
        let (_dir, set) = edited("property.txt", |text| text + "{{response}}");
        assert!(
            set.unwrap_err()
                .to_string()
                .contains("{{response}} is twice in the property task")
        );
        let (_dir, set) = edited("system.txt", |text| text + "{{question}}");
        assert!(
            set.unwrap_err()
                .to_string()
                .contains("{{question}} is in a system message")
        );
    }

    #[test]
    fn a_directory_with_other_files_is_never_overwritten() {
        let (dir, _) = edited("property.txt", |text| text + "edited");
        let message = PromptSet::builtin()
            .export(dir.path())
            .unwrap_err()
            .to_string();
        assert!(
            message.contains("is not empty, and its property.txt differs from this set's"),
            "{message}"
        );
        assert!(
            fs::read_to_string(dir.path().join("property.txt"))
                .unwrap()
                .ends_with("edited")
        );
    }

    #[test]
    fn exporting_twice_to_one_place_is_fine() {
        let dir = tempfile::tempdir().unwrap();
        let place = dir.path().join("new/dir");
        PromptSet::builtin().export(&place).unwrap();
        PromptSet::builtin().export(&place).unwrap();
        // a kill or a full disk left half of it
        let whole = fs::read_to_string(place.join("property.txt")).unwrap();
        fs::write(place.join("property.txt"), &whole[..whole.len() / 2]).unwrap();
        fs::remove_file(place.join("attribution.claim.txt")).unwrap();
        PromptSet::builtin().export(&place).unwrap();
        assert_eq!(
            fs::read_to_string(place.join("property.txt")).unwrap(),
            whole
        );
        assert!(place.join("attribution.claim.txt").exists());
    }

    #[test]
    fn a_missing_manifest_or_file_says_what_to_do() {
        let dir = tempfile::tempdir().unwrap();
        assert!(
            PromptSet::load(dir.path())
                .unwrap_err()
                .to_string()
                .contains("prompts export")
        );
        let (_dir, set) = edited("manifest.toml", |text| {
            text.replace("system.txt", "other.txt")
        });
        assert!(
            set.unwrap_err()
                .to_string()
                .contains("names the file other.txt, which does not exist")
        );
    }
}
