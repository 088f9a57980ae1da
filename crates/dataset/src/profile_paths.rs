//! The paths of the fields that a profile names, parsed.

use serde_json::Value;

use super::paths::FieldPath;
use scholareval_core::domain::RubricProfile;

/// What tables may call the text of a criterion.
pub(super) const TEXT_OF_TABLES: &str = "criterion";

/// The paths of a profile; those of keys that are left empty have no text.
pub(super) struct ProfilePaths<'p> {
    pub(super) id: FieldPath,
    pub(super) question: Vec<FieldPath>,
    pub(super) criteria: FieldPath,
    pub(super) tags: Vec<FieldPath>,
    pub(super) group: FieldPath,
    pub(super) group_weights: FieldPath,
    pub(super) reference: FieldPath,
    /// With the values with which a case is left out.
    pub(super) skip: Vec<(FieldPath, &'p [Value])>,
    pub(super) shown: Vec<FieldPath>,
    pub(super) text: FieldPath,
    pub(super) text_of_tables: FieldPath,
    pub(super) weight: FieldPath,
    pub(super) criterion_id: FieldPath,
    pub(super) criterion_tags: FieldPath,
    pub(super) examples: FieldPath,
    pub(super) explanation: FieldPath,
    pub(super) level_means: FieldPath,
    pub(super) children: FieldPath,
    /// Whether a file of one case is named by its directory; the id of others is a field.
    pub(super) is_id_of_file: bool,
    /// Of a value that is a criterion, a list of criteria, and an object of such lists.
    pub(super) itself: FieldPath,
    pub(super) elements: FieldPath,
    pub(super) groups: FieldPath,
}

impl<'p> ProfilePaths<'p> {
    /// The id of a case that is the number of its row.
    pub(super) const ROW_NUMBER: &'static str = "#";

    /// The id of a case in a file alone: the name of its directory.
    const DIRECTORY: &'static str = "*";

    /// # Errors
    /// The first path that is not one, with its key.
    pub(super) fn of(profile: &'p RubricProfile) -> Result<Self, String> {
        let (case, criterion) = (&profile.case, &profile.criterion);
        let mut skip = Vec::new();
        for (path, values) in &case.skip {
            skip.push((parsed("case.skip", path)?, values.as_slice()));
        }
        let is_id_of_file = case.id == Self::DIRECTORY;
        let id = if is_id_of_file { "id" } else { &case.id };
        let question = case.question.0.iter().map(String::as_str);
        let tags = case.tags.0.iter().map(String::as_str);
        Ok(Self {
            id: parsed("case.id", id)?,
            question: all_parsed("case.question", question)?,
            criteria: parsed("case.criteria", &case.criteria)?,
            tags: all_parsed("case.tags", tags)?,
            group: parsed("case.group", &case.group)?,
            group_weights: parsed("case.group_weights", &case.group_weights)?,
            reference: parsed("case.reference", &case.reference)?,
            skip,
            shown: all_parsed("show", profile.shown_paths())?,
            text: parsed("criterion.text", &criterion.text)?,
            text_of_tables: parsed("criterion.text", TEXT_OF_TABLES)?,
            weight: parsed("criterion.weight", &criterion.weight)?,
            criterion_id: parsed("criterion.id", &criterion.id)?,
            criterion_tags: parsed("criterion.tags", &criterion.tags)?,
            examples: parsed("criterion.examples", &criterion.examples)?,
            explanation: parsed("criterion.explanation", &criterion.explanation)?,
            level_means: parsed("criterion.level_means", &criterion.level_means)?,
            children: parsed("criterion.children", &criterion.children)?,
            is_id_of_file,
            itself: FieldPath::parse(".")?,
            elements: FieldPath::parse("[]")?,
            groups: FieldPath::parse("*[]")?,
        })
    }

    /// The paths that lead to fields in every file of the profile, by key.
    pub(super) fn by_key(&self) -> Vec<(&'static str, &FieldPath)> {
        let mut paths = vec![
            ("case.criteria", &self.criteria),
            ("case.group", &self.group),
            ("case.group_weights", &self.group_weights),
            ("case.reference", &self.reference),
            ("criterion.text", &self.text),
            ("criterion.weight", &self.weight),
            ("criterion.id", &self.criterion_id),
            ("criterion.tags", &self.criterion_tags),
            ("criterion.examples", &self.examples),
            ("criterion.explanation", &self.explanation),
            ("criterion.children", &self.children),
        ];
        if self.id.text != Self::ROW_NUMBER && !self.is_id_of_file {
            paths.push(("case.id", &self.id));
        }
        paths.extend(self.question.iter().map(|path| ("case.question", path)));
        paths.extend(self.tags.iter().map(|path| ("case.tags", path)));
        paths.extend(self.skip.iter().map(|(path, _)| ("case.skip", path)));
        paths.extend(self.shown.iter().map(|path| ("show", path)));
        // What stands for a name in braces differs from criterion to criterion.
        paths.retain(|(_, path)| !path.text.is_empty() && !path.has_braces());
        paths
    }
}

fn parsed(key: &str, path: &str) -> Result<FieldPath, String> {
    FieldPath::parse(path).map_err(|what| format!("{key}: {what}"))
}

fn all_parsed<'a>(
    key: &str,
    paths: impl Iterator<Item = &'a str>,
) -> Result<Vec<FieldPath>, String> {
    paths.map(|path| parsed(key, path)).collect()
}
