//! `manifest.toml`: contents of a prompt set.
//!
//! TOML is read strictly: an unknown table or key is a fault with its line, since a misspelled one
//! would have no effect.

use std::fmt;
use std::path::Path;

use serde::de::{self, DeserializeSeed, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::family::PromptFamily;
use scholareval_core::domain::Fingerprint;
use scholareval_core::error::{InputFault, Result};
use scholareval_core::files::{is_plain_name, parse_toml};
use scholareval_core::question::{KINDS, KindInfo, ReplyKind};

/// The manifest's file name.
pub const MANIFEST: &str = "manifest.toml";

/// The README of an exported set.
pub(super) const README: &str = "README.md";

/// How texts are inserted into templates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum InsertMode {
    /// Between delimiters that the text cannot close; see [`super::delimiters`].
    Fenced,
    /// Byte for byte, for published wordings.
    Verbatim,
}

/// A whole manifest.
#[derive(Debug, Clone)]
pub(crate) struct PromptManifest {
    pub mode: InsertMode,
    /// Origin of an imported set.
    pub imported: Option<Imported>,
    /// The tables of the kinds of questions, in their order; those of a family come together.
    tables: Vec<(&'static KindInfo, TaskTable)>,
}

/// Origin of an imported set.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Imported {
    /// The checkout's commit.
    pub commit: String,
    /// The set's fingerprint at import, which changes with later edits.
    pub fingerprint: Fingerprint,
}

/// The files and parameters of a kind of question.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct TaskTable {
    /// File of the system message.
    pub system: Option<String>,
    /// File of a criterion, for kinds that may have one.
    pub criterion: Option<String>,
    /// File of the text that asks a decision model, for kinds that it can be asked.
    pub decision: Option<String>,
    /// The same about what counts against an answer.
    pub decision_of_fault: Option<String>,
    /// Files of each form of the user message, in order.
    parts: Vec<(&'static str, Vec<String>)>,
    /// Reply limit, if it is given.
    pub max_tokens: Option<u64>,
    /// Whether to request JSON mode, if it is given.
    pub json_mode: Option<bool>,
    /// JSON schema of the reply, as text, or `{name, schema}`, which is sent as it is; only for kinds whose reply is a
    /// JSON object.
    pub schema: Option<String>,
    /// Text before a title that stands for its source, for kinds that show such titles: they need it.
    pub title_marker: Option<String>,
    /// The form of the verdict in a reply, where the kind has several.
    pub verdict: Option<String>,
}

/// The files and parameters of one form of the user message of a kind of question.
#[derive(Debug, Clone)]
pub(super) struct NamedTask {
    pub(super) info: &'static KindInfo,
    /// Key of the user files in the manifest and in the fingerprint: `user`, `with_reference`, ..
    pub(super) part: &'static str,
    /// Files of the user message, in order.
    pub(super) user: Vec<String>,
    pub(super) table: TaskTable,
}

impl PromptManifest {
    /// Parses a manifest; `path` is for messages.
    pub(crate) fn parse(source: &str, path: &Path) -> Result<Self> {
        let hint = "`scholareval prompts export DIR` writes a manifest to start from";
        let manifest: Self = parse_toml(source, path, hint)?;
        manifest.check_tables(path)?;
        for info in KINDS {
            for task in manifest.tasks(info) {
                task.check(path)?;
            }
        }
        Ok(manifest)
    }

    /// The tables of a family come together, and at least one table exists.
    fn check_tables(&self, path: &Path) -> Result<()> {
        for family in PromptFamily::all() {
            // A family with one table of the user's and others of ours would have a separate label
            // and a mixed wording.
            let missing = family.kinds().find(|info| self.table(info).is_none());
            let is_begun = family.kinds().any(|info| self.table(info).is_some());
            if let Some(missing) = missing.filter(|_| is_begun) {
                let what = format!(
                    "has no [{missing}], but other tables of the family {}",
                    family.as_str()
                );
                let hint = format!("give all of {}, or none of them", tables_of(family));
                return Err(InputFault::new(path, what).refuse(hint));
            }
        }
        if self.tables.is_empty() {
            let families = PromptFamily::all().into_iter().map(tables_of);
            let families: Vec<String> = families.collect();
            let hint = format!("give all tables of a family: {}", families.join("; or "));
            return Err(InputFault::new(path, "names no prompts").refuse(hint));
        }
        Ok(())
    }

    fn table(&self, info: &KindInfo) -> Option<&TaskTable> {
        let (_, table) = self
            .tables
            .iter()
            .find(|(kind, _)| kind.name == info.name)?;
        Some(table)
    }

    /// The tasks of a kind of question, one for each form of its user message; none if its table is missing.
    pub(super) fn tasks(&self, info: &'static KindInfo) -> Vec<NamedTask> {
        let Some(table) = self.table(info) else {
            return Vec::new();
        };
        let mut tasks = Vec::new();
        for part in info.parts {
            let user = table.user_files(part);
            if user.is_empty() && info.optional_parts.contains(part) {
                continue;
            }
            tasks.push(NamedTask {
                info,
                part,
                user,
                table: table.clone(),
            });
        }
        tasks
    }

    /// The names of all files, some more than once.
    pub(super) fn files(&self) -> Vec<String> {
        let tasks = KINDS.into_iter().flat_map(|info| self.tasks(info));
        tasks
            .flat_map(|task| task.files().map(str::to_owned).collect::<Vec<_>>())
            .collect()
    }
}

impl TaskTable {
    /// The files of a form of the user message.
    fn user_files(&self, part: &str) -> Vec<String> {
        let given = self.parts.iter().find(|(name, _)| *name == part);
        given.map(|(_, files)| files.clone()).unwrap_or_default()
    }
}

impl<'de> Deserialize<'de> for PromptManifest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(ManifestVisitor)
    }
}

/// Reads a manifest: its tables are those of the kinds of questions.
struct ManifestVisitor;

impl<'de> Visitor<'de> for ManifestVisitor {
    type Value = PromptManifest;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a manifest")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<PromptManifest, A::Error> {
        let mut mode = None;
        let mut imported = None;
        let mut tables = Vec::new();
        while let Some(key) = map.next_key::<String>()? {
            match (key.as_str(), KindInfo::named(&key)) {
                ("mode", _) => mode = Some(map.next_value()?),
                ("imported", _) => imported = Some(map.next_value()?),
                (_, Some(info)) => tables.push((info, map.next_value_seed(TableOf(info))?)),
                _ => {
                    let mut known = vec!["mode", "imported"];
                    known.extend(KINDS.map(|info| info.name));
                    // An unknown key is mostly a typing error: ignoring it would leave a default in
                    // force unnoticed.
                    return Err(unknown_field(&key, &known));
                }
            }
        }
        Ok(PromptManifest {
            // No default: whether untrusted text is delimited must be written down.
            mode: mode.ok_or_else(|| de::Error::missing_field("mode"))?,
            imported,
            tables,
        })
    }
}

/// Reads the table of a kind of question.
struct TableOf(&'static KindInfo);

impl<'de> DeserializeSeed<'de> for TableOf {
    type Value = TaskTable;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<TaskTable, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for TableOf {
    type Value = TaskTable;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the table [{}]", self.0)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<TaskTable, A::Error> {
        let parts = self.0.parts;
        let mut table = TaskTable::default();
        while let Some(key) = map.next_key::<String>()? {
            match key.as_str() {
                "system" => table.system = Some(map.next_value()?),
                "criterion" => table.criterion = Some(map.next_value()?),
                "decision" => table.decision = Some(map.next_value()?),
                "decision_of_fault" => table.decision_of_fault = Some(map.next_value()?),
                "max_tokens" => table.max_tokens = Some(map.next_value()?),
                "json_mode" => table.json_mode = Some(map.next_value()?),
                "schema" => table.schema = Some(map.next_value()?),
                "title_marker" => table.title_marker = Some(map.next_value()?),
                "verdict" => table.verdict = Some(map.next_value()?),
                other => match parts.iter().find(|part| **part == other) {
                    Some(part) => table.parts.push((*part, map.next_value()?)),
                    None => return Err(unknown_field(other, &[PARAMETERS, parts].concat())),
                },
            }
        }
        Ok(table)
    }
}

/// What a table may have besides the files of its user messages.
const PARAMETERS: &[&str] = &[
    "system",
    "criterion",
    "decision",
    "decision_of_fault",
    "max_tokens",
    "json_mode",
    "schema",
    "title_marker",
    "verdict",
];

fn unknown_field<E: de::Error>(name: &str, known: &[&str]) -> E {
    let known: Vec<String> = known.iter().map(|name| format!("`{name}`")).collect();
    E::custom(format!(
        "unknown field `{name}`, expected one of {}",
        known.join(", ")
    ))
}

impl NamedTask {
    /// The files it names.
    fn files(&self) -> impl Iterator<Item = &str> {
        let system = self.table.system.iter();
        system
            .chain(&self.user)
            .chain(&self.table.criterion)
            .chain(&self.table.decision)
            .chain(&self.table.decision_of_fault)
            .map(String::as_str)
    }

    fn check(&self, path: &Path) -> Result<()> {
        let info = self.info;
        let part = self.part;
        let fault = |what: &str, hint: &str| {
            Err(InputFault::new(path, format!("[{info}] {what}")).refuse(hint))
        };
        if self.user.is_empty() {
            let hint = format!("name at least one file, as in {part} = [\"answer.txt\"]");
            return fault(&format!("has no {part} file"), &hint);
        }
        if self.table.criterion.is_some() && !info.has_criterion_file {
            let can: Vec<String> = tables_with(|info| info.has_criterion_file);
            let hint = format!("only {} can have one; remove the line", can.join(" and "));
            return fault("has a criterion", &hint);
        }
        let has_decision = self.table.decision.is_some() || self.table.decision_of_fault.is_some();
        if has_decision && info.decided.is_none() {
            let can = tables_with(|info| info.decided.is_some()).join(", ");
            let hint = format!("a decision model can be asked {can}; remove the line");
            return fault("has a decision", &hint);
        }
        let has_marker = self.table.title_marker.is_some();
        // The compat rule compares quotes with it, so that an empty one would match everything.
        if has_marker != info.has_title_marker {
            let need = tables_with(|info| info.has_title_marker).join(" and ");
            let hint =
                format!("it is the text before the title of a source, in {need} and nowhere else");
            let article = if has_marker { "a" } else { "no" };
            return fault(&format!("has {article} title_marker"), &hint);
        }
        if let Some(form) = &self.table.verdict
            && !info.forms.contains(&form.as_str())
        {
            let hint = match info.forms {
                [] => format!("replies of [{info}] have one form; remove the line"),
                forms => format!("write one of {}", forms.join(", ")),
            };
            return fault(&format!("has the unknown verdict {form:?}"), &hint);
        }
        let schema = self.table.schema.as_deref();
        if schema.is_some_and(|schema| !is_object(schema) || info.reply != ReplyKind::Json) {
            let hint = "write a JSON schema in single quotes, such as '{\"type\": \"object\", ..}', and only where the reply is a JSON object";
            return fault("has a schema that cannot be used", hint);
        }
        if let Some(name) = self.files().find(|name| !is_plain(name)) {
            let hint = "use a plain file name in the directory of the manifest";
            return fault(&format!("names the file {name:?}"), hint);
        }
        Ok(())
    }
}

/// The tables of a family.
fn tables_of(family: PromptFamily) -> String {
    let names: Vec<String> = family.kinds().map(|info| format!("[{info}]")).collect();
    names.join(", ")
}

/// The tables of these kinds of questions.
fn tables_with(is_it: impl Fn(&KindInfo) -> bool) -> Vec<String> {
    let kinds = KINDS.into_iter().filter(|info| is_it(info));
    kinds.map(|info| format!("[{info}]")).collect()
}

/// Whether a text is a JSON object.
fn is_object(schema: &str) -> bool {
    serde_json::from_str::<Value>(schema).is_ok_and(|schema| schema.is_object())
}

/// True for a name that is not one of the set's files.
fn is_plain(name: &str) -> bool {
    is_plain_name(name) && name != MANIFEST && name != README
}

#[cfg(test)]
mod tests {
    use super::*;
    use scholareval_core::question::{ASPECT, CITATIONS, EVIDENCE};
    use scholareval_rubrics::RUBRICS;

    fn builtin(directory: &str) -> &'static str {
        let file = RUBRICS.get_file(format!("{directory}/{MANIFEST}"));
        file.unwrap().contents_utf8().unwrap()
    }

    fn fault_of(source: &str) -> String {
        PromptManifest::parse(source, Path::new("set/manifest.toml"))
            .unwrap_err()
            .to_string()
    }

    #[test]
    fn our_own_manifest_is_read() {
        let manifest = PromptManifest::parse(builtin("scholarqa_cs"), Path::new("m")).unwrap();
        assert_eq!(manifest.mode, InsertMode::Fenced);
        let citations = &manifest.tasks(&CITATIONS)[0].table;
        assert_eq!(citations.max_tokens, None);
        assert_eq!(citations.json_mode, Some(true));
        assert_eq!(
            manifest.tasks(&EVIDENCE)[0].user,
            ["answer.txt", "evidence.txt"]
        );
        assert!(manifest.tasks(&ASPECT).is_empty());
    }

    #[test]
    fn the_tables_of_the_rubric_come_together() {
        let message = fault_of(&builtin("scholarqa_cs").replace("[citations]", "[attribution]"));
        assert!(
            message.contains("has no [citations], but other tables of the family rubric"),
            "{message}"
        );
        let head = &builtin("scholarqa_cs")[..builtin("scholarqa_cs").find("[expertise]").unwrap()];
        assert!(fault_of(head).contains("names no prompts"));
    }

    #[test]
    fn an_aspect_without_files_is_an_error() {
        let aspects = builtin("aspects");
        let message =
            fault_of(&aspects.replace("[\"aspect.answer.txt\", \"aspect.rubric.txt\"]", "[]"));
        assert!(
            message.contains("[aspect] has no without_reference file"),
            "{message}"
        );
        assert!(message.contains("as in without_reference = ["), "{message}");
    }

    #[test]
    fn an_unknown_mode_is_an_error_naming_file_and_line() {
        let message = fault_of(&builtin("scholarqa_cs").replace("\"fenced\"", "\"open\""));
        assert!(
            message.starts_with("set/manifest.toml:2: unknown variant `open`"),
            "{message}"
        );
    }

    #[test]
    fn a_file_outside_the_directory_is_refused() {
        for name in [
            "../secret",
            "/etc/passwd",
            "a/b.txt",
            "..",
            "c:x",
            "manifest.toml",
        ] {
            let message = fault_of(&builtin("scholarqa_cs").replacen("system.txt", name, 1));
            assert!(message.contains("plain file name"), "{message}");
        }
    }

    #[test]
    fn a_task_without_user_files_is_an_error() {
        let message =
            fault_of(&builtin("scholarqa_cs").replace("[\"answer.txt\", \"evidence.txt\"]", "[]"));
        assert!(message.contains("[evidence] has no user file"), "{message}");
    }
}
