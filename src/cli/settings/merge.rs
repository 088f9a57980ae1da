//! The config file's values in place of defaults.

use std::any::TypeId;
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde_json::{Map, Value, json};

use super::{SettingSources, TABLES};
use crate::cli::args::ScoreArgs;
use crate::cli::config_file::ConfigEntry;
use crate::cli::origin::Origin;
use crate::error::{Error, InputFault, Result};
use crate::evaluation::options::{JudgeTable, as_map};
use crate::judge::endpoint::is_secret_name;
use crate::judge::options::defaults;
use crate::text::names::{nearest, suggest};

/// Keys that exclude each other: a stronger source for one of them resets the others.
const CHOICES: [(&str, &str, [&str; 2]); 2] = [
    ("judge", "judge", ["temperature", "no_temperature"]),
    ("cache", "cache", ["path", "no_cache"]),
];

/// Tables whose keys the user chooses.
const FREE_TABLES: [&str; 2] = ["roles", "prices"];

impl SettingSources<'_> {
    /// The arguments with values from the file instead of defaults.
    ///
    /// # Errors
    /// Every fault of the file, and a flag that contradicts another.
    pub(super) fn merged(&self, args: &ScoreArgs) -> Result<ScoreArgs> {
        let default = as_map(&defaults::<ScoreArgs>());
        let mut map = as_map(args);
        let mut faults = Vec::new();
        for entry in self.file.iter().flat_map(|file| &file.entries) {
            if let Err(fault) = self.place(entry, &mut map, &default) {
                faults.push(fault);
            }
        }
        if !faults.is_empty() {
            return Err(Error::Input(faults));
        }
        for (table, group, keys) in CHOICES {
            self.settle_choice(table, keys, &mut map[group], &default[group])?;
        }
        from_map(map)
    }

    /// Resets the keys of a choice that a stronger source decides otherwise.
    ///
    /// # Errors
    /// [`Error::Usage`] for two flags that contradict each other.
    fn settle_choice(
        &self,
        table: &str,
        keys: [&str; 2],
        options: &mut Value,
        default: &Value,
    ) -> Result<()> {
        let origins = keys.map(|key| self.origin(table, key));
        let strongest = origins.iter().map(Origin::rank).max().unwrap_or(0);
        for (key, origin) in keys.iter().zip(&origins) {
            if origin.rank() < strongest {
                options[*key] = default[*key].clone();
            }
        }
        if let [Origin::Flag(first), Origin::Flag(second)] = origins
            && keys[1].starts_with("no_")
        {
            return Err(Error::Usage(format!(
                "{second} contradicts {first}; drop one of the two"
            )));
        }
        Ok(())
    }

    /// Applies one value of the file, unless a stronger source has set it.
    fn place(
        &self,
        entry: &ConfigEntry,
        map: &mut Map<String, Value>,
        default: &Map<String, Value>,
    ) -> Result<(), InputFault> {
        let table = &entry.table;
        let key = &entry.key;
        let value = self.resolved(table, key, &entry.value);
        // On a copy: a wrong value must not count against the next one.
        let mut changed = map.clone();
        let mut stronger = None;
        if let Some(judge) = table.strip_prefix("judges.") {
            let slot = &mut changed["judges"][judge];
            self.place_in_judge(entry, slot, value)?;
        } else if let Some((_, groups)) = TABLES.iter().find(|(name, _)| name == table) {
            let group = self.group_of(entry, groups, default)?;
            let given = std::mem::replace(&mut changed[group][key], value);
            let is_explicit = self.explicit_origin(table, key).is_some();
            // Also a value that differs from the default without a source: a program that embeds
            // the commands has set it.
            if is_explicit || given != default[group][key] {
                stronger = Some((group, given));
            }
        } else if FREE_TABLES.contains(&table.as_str()) {
            changed[table][key] = value;
        } else {
            return Err(self.unknown_table(entry));
        }
        // Also where a stronger source replaces the value, or the command does not use it: the file is wrong all the same.
        self.check_type(entry, &changed)?;
        if !self.uses(table, key) {
            return Ok(());
        }
        if let Some((group, given)) = stronger {
            put_over(&mut changed[group][key], given);
        }
        *map = changed;
        Ok(())
    }

    /// Applies a value to the table of a further judge, which the first of its keys creates.
    fn place_in_judge(
        &self,
        entry: &ConfigEntry,
        judge: &mut Value,
        value: Value,
    ) -> Result<(), InputFault> {
        let mut keys = match judge {
            Value::Object(keys) => std::mem::take(keys),
            _ => as_map(&JudgeTable::default()),
        };
        let Some(slot) = keys.get_mut(&entry.key) else {
            return Err(self.unknown_key(entry, &keys));
        };
        *slot = value;
        *judge = Value::Object(keys);
        Ok(())
    }

    /// The struct of the table that has the key.
    fn group_of(
        &self,
        entry: &ConfigEntry,
        groups: &[&'static str],
        default: &Map<String, Value>,
    ) -> Result<&'static str, InputFault> {
        let mut known = Map::new();
        for group in groups {
            if default[*group].get(&entry.key).is_some() {
                return Ok(group);
            }
            if let Some(keys) = default[*group].as_object() {
                known.extend(keys.clone());
            }
        }
        Err(self.unknown_key(entry, &known))
    }

    /// Checks that the options have a value that they can be.
    fn check_type(
        &self,
        entry: &ConfigEntry,
        changed: &Map<String, Value>,
    ) -> Result<(), InputFault> {
        match serde_json::from_value::<ScoreArgs>(Value::Object(changed.clone())) {
            Ok(_) => Ok(()),
            Err(error) => {
                let what = format!("{}.{}: {}", entry.table, entry.key, message(&error));
                Err(self.fault_at(entry, what))
            }
        }
    }

    /// Resolves a path relative to the file.
    fn resolved(&self, table: &str, key: &str, value: &Value) -> Value {
        if !self.arg(table, key).is_some_and(is_path) {
            return value.clone();
        }
        let file = self.file.as_ref();
        let parent = file.and_then(|file| file.path.parent());
        let parent = parent.unwrap_or(Path::new(""));
        match value {
            Value::String(path) => json!(parent.join(path)),
            Value::Array(paths) => paths
                .iter()
                .map(|path| self.resolved(table, key, path))
                .collect(),
            other => other.clone(),
        }
    }

    fn fault_at(&self, entry: &ConfigEntry, what: String) -> InputFault {
        let path = self.file.as_ref().map(|file| file.path.clone());
        InputFault::new(path.unwrap_or_default(), what).at_line(entry.line)
    }

    /// The error for an unknown key, with the nearest known one or its correct table.
    fn unknown_key(&self, entry: &ConfigEntry, known: &Map<String, Value>) -> InputFault {
        let table = &entry.table;
        let key = &entry.key;
        let shown = key.escape_debug();
        let near = nearest(key, known.keys().map(String::as_str));
        // A key in a file gets committed to a repository: this is not just an unknown name.
        if is_secret_name(key) && near.is_none_or(|known| known == "api_key_env") {
            let owner = if table.starts_with("judges.") {
                table
            } else {
                "judge"
            };
            let what = format!("[{table}] {shown}: a config file must not hold an API key");
            return self.fault_at(entry, what).hint(format!(
                "put the key into an environment variable and write api_key_env = \"ITS_NAME\" under [{owner}]"
            ));
        }
        let fault = self.fault_at(entry, format!("unknown key {shown} in [{table}]"));
        match table_of(key).filter(|_| near.is_none()) {
            Some(other) => fault.hint(format!("{shown} belongs under [{other}]")),
            None => fault.hint(suggest(key, known.keys().map(String::as_str))),
        }
    }

    fn unknown_table(&self, entry: &ConfigEntry) -> InputFault {
        let table = &entry.table;
        let tables = TABLES.iter().map(|(name, _)| *name);
        let known = tables.chain(["judges"]).chain(FREE_TABLES);
        let what = format!("unknown table [{}]", table.escape_debug());
        self.fault_at(entry, what).hint(suggest(table, known))
    }
}

/// The arguments of a command in place of the defaults of those of `score`.
///
/// # Errors
/// Never for the arguments of the program: their groups are those of `score`.
pub(super) fn as_score_args(args: &impl Serialize) -> Result<ScoreArgs> {
    let mut map = as_map(&defaults::<ScoreArgs>());
    for (group, value) in as_map(args) {
        match (map.get_mut(&group), value) {
            // A command may have a part of the group.
            (Some(Value::Object(all)), Value::Object(part)) => all.extend(part),
            (_, value) => drop(map.insert(group, value)),
        }
    }
    from_map(map)
}

fn from_map(map: Map<String, Value>) -> Result<ScoreArgs> {
    serde_json::from_value(Value::Object(map))
        .map_err(|error| Error::Internal(format!("options cannot be merged: {}", message(&error))))
}

/// Puts a stronger value over that of the file. Of headers and limits by kind only the entries of its names are replaced.
fn put_over(slot: &mut Value, stronger: Value) {
    match (slot, stronger) {
        (Value::Object(weak), Value::Object(strong)) => {
            // Header names ignore case: two of one name would both be sent.
            weak.retain(|name, _| !strong.keys().any(|other| other.eq_ignore_ascii_case(name)));
            weak.extend(strong);
        }
        (slot, stronger) => *slot = stronger,
    }
}

fn is_path(arg: &clap::Arg) -> bool {
    arg.get_value_parser().type_id() == TypeId::of::<PathBuf>()
}

/// Serde's message for a value of the wrong type, without the value, which may be secret.
fn message(error: &serde_json::Error) -> String {
    let text = error.to_string();
    match text.split_once('"').zip(text.rsplit_once('"')) {
        Some(((start, _), (_, end))) if text.starts_with("invalid") => {
            format!("{}{end}", start.trim_end())
        }
        _ => text,
    }
}

/// The table that holds a key.
fn table_of(key: &str) -> Option<&'static str> {
    let default = as_map(&defaults::<ScoreArgs>());
    for (table, groups) in TABLES {
        let mut groups = groups.iter();
        if groups.any(|group| default[*group].get(key).is_some()) {
            return Some(table);
        }
    }
    None
}
