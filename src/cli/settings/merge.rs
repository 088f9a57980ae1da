//! Merging one setting out of its sources, and remembering where it came from.

use std::path::PathBuf;

use serde_json::Value;

use super::keys::Key;
use super::value::SettingValue;
use crate::cli::config_file::{ConfigFile, Entry};
use crate::cli::origin::{Environment, Origin, SettingLine, escape_controls};
use crate::error::{Error, Result};

/// The sources below the flags, and the lines gathered so far.
pub(super) struct Sources<'a> {
    /// Where settings are looked for; empty for a further judge, whose settings stand in its table alone.
    pub(super) environment: &'a Environment,
    /// Where keys of services are looked for.
    pub(super) keys: &'a Environment,
    /// False for a judge that is not asked: then its key may be missing.
    pub(super) in_use: bool,
    pub(super) file: Option<&'a ConfigFile>,
    pub(super) lines: Vec<SettingLine>,
}

impl Sources<'_> {
    /// The strongest value that was set, with its origin: flag, environment, file.
    pub(super) fn find<T: SettingValue>(&self, key: &Key, flag: Option<T>) -> Result<Option<(T, Origin)>> {
        if let Some(value) = flag {
            return Ok(Some((value, Origin::Flag(key.flag))));
        }
        for name in key.env {
            if let Some(text) = self.environment.get(name) {
                let value = T::parse(text).map_err(|what| {
                    Error::Settings(format!("environment variable {name} ({}): {what}", escape_controls(text)))
                })?;
                return Ok(Some((value, Origin::Environment(name))));
            }
        }
        self.in_file(key)
    }

    /// The file's value.
    pub(super) fn in_file<T: SettingValue>(&self, key: &Key) -> Result<Option<(T, Origin)>> {
        let Some((file, entry)) = self.entry(key) else { return Ok(None) };
        let value = T::from_json(&entry.value).map_err(|what| file.fault(key.name, entry.line, &what))?;
        Ok(Some((value, self.file_origin(key.name, entry))))
    }

    /// The file and its entry for a key.
    pub(super) fn entry(&self, key: &Key) -> Option<(&ConfigFile, &Entry)> {
        let file = self.file?;
        Some((file, file.get(key.name)?))
    }

    /// The origin of an entry of the file.
    pub(super) fn file_origin(&self, name: &str, entry: &Entry) -> Origin {
        let path = self.file.map(|file| file.path().to_path_buf()).unwrap_or_default();
        let key = self.file.map_or_else(|| name.to_owned(), |file| file.shown(name));
        Origin::File { path, line: entry.line, key }
    }

    /// The further judge whose settings these are; `None` for all others.
    pub(super) fn judge(&self) -> Option<&str> {
        self.file.and_then(ConfigFile::judge)
    }

    /// What to type for a setting: its flag, or for a further judge, which has no flags, its key.
    pub(super) fn typed(&self, key: &Key) -> &'static str {
        match self.judge() {
            Some(_) => key.name.split_once('.').map_or(key.name, |(_, key)| key),
            None => key.flag,
        }
    }

    /// Records a line of `config`.
    pub(super) fn note(&mut self, name: impl Into<String>, value: Value, origin: Origin) {
        self.lines.push(SettingLine { key: name.into(), value, origin });
    }

    /// A setting that may be left out.
    pub(super) fn optional<T: SettingValue>(&mut self, key: &Key, flag: Option<T>) -> Result<Option<T>> {
        let found = self.find(key, flag)?;
        let (value, origin) = found.map_or((None, Origin::Default), |(value, origin)| (Some(value), origin));
        self.note(key.name, value.as_ref().map_or(Value::Null, T::to_json), origin);
        Ok(value)
    }

    /// A setting with a default.
    pub(super) fn or_default<T: SettingValue>(&mut self, key: &Key, flag: Option<T>, default: T) -> Result<T> {
        let (value, origin) = self.find(key, flag)?.unwrap_or((default, Origin::Default));
        self.note(key.name, value.to_json(), origin);
        Ok(value)
    }

    /// A switch: its flag can only turn it on.
    pub(super) fn switch(&mut self, key: &Key, flag: bool) -> Result<bool> {
        self.or_default(key, flag.then_some(true), false)
    }

    /// A path; one of the file is relative to the file.
    pub(super) fn path(&mut self, key: &Key, flag: Option<PathBuf>) -> Result<Option<PathBuf>> {
        let found = self.find(key, flag)?.map(|(path, origin)| (self.resolved(path, &origin), origin));
        let (value, origin) = found.map_or((None, Origin::Default), |(path, origin)| (Some(path), origin));
        self.note(key.name, value.as_ref().map_or(Value::Null, PathBuf::to_json), origin);
        Ok(value)
    }

    /// The path as seen from the working directory.
    pub(super) fn resolved(&self, path: PathBuf, origin: &Origin) -> PathBuf {
        match (origin, self.file) {
            (Origin::File { .. }, Some(file)) => file.resolve(&path),
            _ => path,
        }
    }
}

/// An error about a value, in the words and with the exit code of its origin: a flag's is a usage error.
pub(super) fn fault(key: &Key, origin: &Origin, what: &str) -> Error {
    match origin {
        Origin::Flag(flag) => Error::Usage(format!("{flag}: {what}")),
        Origin::Environment(name) => Error::Settings(format!("environment variable {name}: {what}")),
        Origin::Variable(name) => Error::Settings(format!("environment variable {name}: {what}")),
        Origin::File { path, line, key } => {
            crate::error::InputFault::new(path, format!("{key}: {what}")).at_line(*line).into()
        }
        Origin::Default => Error::Internal(format!("{}: {what}", key.name)),
    }
}
