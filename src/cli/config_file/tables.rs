//! The tables whose keys the user names: `[judges.NAME]` and `[roles]`.

use std::collections::BTreeMap;

use toml::de::{DeTable, DeValue};

use super::{ConfigFile, Entry, JudgeTable, to_json};
use crate::cli::settings::keys::{JUDGES, MERGE, PRICES, ROLES, SAMPLES, file_keys};
use crate::cli::suggest::nearest;
use crate::domain::Role;
use crate::error::InputFault;

/// The name of the judge of `[judge]`.
pub const DEFAULT_JUDGE: &str = "judge";

/// The role of all aspects that have none of their own, and the start of the names of those.
pub const ASPECT_ROLE: &str = "aspect";

/// The rule for panels, among the roles.
pub const ROLES_MERGE: &str = "merge";

/// What may stand in a further judge's table: the keys of `[judge]` and `[limits]`, and how often it is asked.
pub fn judge_keys() -> Vec<&'static str> {
    file_keys("judge").chain(file_keys("limits")).chain([SAMPLES.name, MERGE.name].map(own_part)).collect()
}

fn own_part(name: &'static str) -> &'static str {
    name.split_once('.').map_or(name, |(_, key)| key)
}

/// The setting that a key of a further judge's table stands for.
fn stands_for(key: &str) -> String {
    let table = if file_keys("judge").any(|known| known == key) {
        "judge"
    } else if file_keys("limits").any(|known| known == key) {
        "limits"
    } else {
        "score"
    };
    format!("{table}.{key}")
}

impl ConfigFile {
    /// Reads `[judges.NAME]`, all of them.
    pub(super) fn read_judges(
        &mut self,
        judges: &DeTable<'_>,
        line_of: &dyn Fn(usize) -> usize,
        faults: &mut Vec<InputFault>,
    ) {
        let known = judge_keys();
        for (name, content) in judges {
            let line = line_of(name.span().start);
            let name = name.get_ref().as_ref();
            let DeValue::Table(keys) = content.get_ref() else {
                let what = format!("{JUDGES}.{} is not a table", name.escape_debug());
                faults.push(InputFault::new(&self.path, what).at_line(line).hint(
                    "further judges have names, and their keys stand below: write [judges.NAME]; \
                     the judge without a name is [judge]",
                ));
                continue;
            };
            if let Some(fault) = self.wrong_judge_name(name) {
                faults.push(fault.at_line(line));
                continue;
            }
            let mut entries = BTreeMap::new();
            for (key, value) in keys {
                let (line, key) = (line_of(key.span().start), key.get_ref().as_ref());
                if known.contains(&key) {
                    entries.insert(stands_for(key), Entry { value: to_json(value.get_ref()), line });
                } else {
                    faults.push(self.unknown_key(&format!("{JUDGES}.{name}"), key, &known, None).at_line(line));
                }
            }
            self.judges.push(JudgeTable { name: name.to_owned(), line, entries });
        }
    }

    /// Reads `[prices."MODEL"]`: entries `prices.MODEL`, whose members [`Prices`](crate::cli::prices::Prices) looks at.
    pub(super) fn read_prices(&mut self, models: &DeTable<'_>, line_of: &dyn Fn(usize) -> usize) {
        for (model, value) in models {
            let line = line_of(model.span().start);
            let name = format!("{PRICES}.{}", model.get_ref());
            self.entries.insert(name, Entry { value: to_json(value.get_ref()), line });
        }
    }

    fn wrong_judge_name(&self, name: &str) -> Option<InputFault> {
        if name == DEFAULT_JUDGE {
            let what = format!("[{JUDGES}.{name}]: judge is the name of [judge]");
            return Some(InputFault::new(&self.path, what).hint("give this one another name, or write [judge]"));
        }
        let good = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_');
        (!good).then(|| {
            InputFault::new(&self.path, format!("[{JUDGES}]: {name:?} is no judge's name"))
                .hint("use letters, digits, - and _, as in [judges.prometheus-bgb]")
        })
    }

    /// Reads `[roles]`: entries `roles.rubric`, `roles.aspect`, `roles.aspect.NAME`, `roles.citation`, `roles.merge`.
    pub(super) fn read_roles(
        &mut self,
        roles: &DeTable<'_>,
        line_of: &dyn Fn(usize) -> usize,
        faults: &mut Vec<InputFault>,
    ) {
        let mut entries: Vec<(String, Entry)> = Vec::new();
        for (key, value) in roles {
            let (line, key) = (line_of(key.span().start), key.get_ref().as_ref());
            match value.get_ref() {
                // aspect.coverage = .. without quotes is a table in TOML's eyes.
                DeValue::Table(aspects) if key == ASPECT_ROLE => {
                    entries.extend(aspects.iter().map(|(aspect, value)| {
                        let line = line_of(aspect.span().start);
                        let role = format!("{ASPECT_ROLE}.{}", aspect.get_ref());
                        (role, Entry { value: to_json(value.get_ref()), line })
                    }));
                }
                other => entries.push((key.to_owned(), Entry { value: to_json(other), line })),
            }
        }
        // The parser sorts by key: of two entries for one role the later one is at fault.
        entries.sort_by_key(|(_, entry)| entry.line);
        for (role, entry) in entries {
            faults.extend(self.add_role(&role, entry));
        }
    }

    fn add_role(&mut self, role: &str, entry: Entry) -> Option<InputFault> {
        let line = entry.line;
        let shown = role.escape_debug();
        if role != ASPECT_ROLE && role != ROLES_MERGE && Role::from_name(role).is_none() {
            let fault = InputFault::new(&self.path, format!("unknown role {shown} in [{ROLES}]")).at_line(line);
            let known = ["rubric", "citation", ASPECT_ROLE, ROLES_MERGE];
            return Some(match nearest(role, known) {
                Some(known) => fault.hint(format!("did you mean {known}?")),
                None => fault.hint("known are rubric, citation, aspect, aspect.NAME, and merge for panels"),
            });
        }
        let name = format!("{ROLES}.{role}");
        if let Some(first) = self.entries.get(&name) {
            let what = format!("{name} is given twice: line {} has it, too", first.line);
            return Some(InputFault::new(&self.path, what).at_line(line).hint("keep one of the two"));
        }
        self.entries.insert(name, entry);
        None
    }
}
