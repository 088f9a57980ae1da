//! Aspects as files: the built-in ones, and those in ScholarQABench's schema of `prometheus_rubrics_v8.json`.

use std::path::Path;
use std::sync::{Arc, OnceLock};

use serde_json::Value;
use serde_json::value::RawValue;

use super::files::read_text;
use crate::domain::Aspect;
use crate::error::{Error, InputFault, Result};

const BUILTIN: &str = include_str!("../../rubrics/aspects/aspects.json");
const SCORES: [&str; 5] =
    ["score1_description", "score2_description", "score3_description", "score4_description", "score5_description"];

/// The aspects scholareval comes with, worded by us: organization, coverage (which wants the titles of cited sources)
/// and relevance, in the published order.
pub fn builtin_aspects() -> Vec<Arc<Aspect>> {
    static ASPECTS: OnceLock<Vec<Arc<Aspect>>> = OnceLock::new();
    let read = || {
        #[expect(clippy::expect_used, reason = "compiled in, and a test reads it")]
        let aspects = parse_aspects(BUILTIN, Path::new("built-in aspects")).expect("the built-in aspects");
        aspects.into_iter().map(Arc::new).collect()
    };
    ASPECTS.get_or_init(read).clone()
}

/// Reads a file of aspects (`docs/formats.md`).
///
/// # Errors
/// [`Error::Input`] with every fault found; [`Error::Io`] if the file cannot be read.
pub fn load_aspects(path: &Path) -> Result<Vec<Aspect>> {
    parse_aspects(&read_text(path)?, path)
}

/// Reads the text of a file of aspects, a JSON list; `path` stands in messages. The aspects keep their order, no two have
/// one name, and no description is empty.
///
/// # Errors
/// [`Error::Input`] with every fault found, each with the line its entry begins on.
pub fn parse_aspects(text: &str, path: &Path) -> Result<Vec<Aspect>> {
    let text = text.trim_start_matches('\u{feff}');
    let entries: Vec<&RawValue> = serde_json::from_str(text).map_err(|error| not_a_list(&error, path))?;
    let mut found = Vec::new();
    let mut aspects: Vec<(Aspect, usize)> = Vec::new();
    for raw in entries {
        // An entry is a slice of `text`: its address tells its line.
        let offset = (raw.get().as_ptr() as usize).saturating_sub(text.as_ptr() as usize).min(text.len());
        let line = 1 + text.as_bytes()[..offset].iter().filter(|byte| **byte == b'\n').count();
        let mut entry = Entry { path, line, name: None, found: &mut found };
        let Some(aspect) = entry.read(raw) else { continue };
        if let Some((_, first)) = aspects.iter().find(|(known, _)| known.name == aspect.name) {
            let what = format!("is there twice, first on line {first}");
            entry.fault(&what, "keep one of them, or give one another name");
        }
        aspects.push((aspect, line));
    }
    if aspects.is_empty() && found.is_empty() {
        found.push(InputFault::new(path, "no aspects in the file").hint(EXPECTED));
    }
    if found.is_empty() {
        Ok(aspects.into_iter().map(|(aspect, _)| aspect).collect())
    } else {
        Err(Error::Input(found))
    }
}

const EXPECTED: &str = "expected a JSON list of objects with aspect, criteria_description and score1_description to \
                        score5_description";

fn not_a_list(error: &serde_json::Error, path: &Path) -> Error {
    let message = error.to_string();
    let message = message.split(" at line ").next().unwrap_or_default();
    let what = match error.is_data() {
        true => "is no JSON list of aspects".to_owned(),
        false => format!("invalid JSON at column {}: {message}", error.column()),
    };
    let fault = InputFault::new(path, what).hint(EXPECTED);
    if error.is_data() { fault.into() } else { fault.at_line(error.line()).into() }
}

/// One entry of the list, and where its faults go.
struct Entry<'a> {
    path: &'a Path,
    line: usize,
    name: Option<String>,
    found: &'a mut Vec<InputFault>,
}

impl Entry<'_> {
    fn fault(&mut self, what: &str, hint: &str) {
        let what = match &self.name {
            Some(name) => format!("aspect {}: {what}", name.escape_debug()),
            None => what.to_owned(),
        };
        self.found.push(InputFault::new(self.path, what).at_line(self.line).hint(hint));
    }

    /// The aspect; faults of its fields are noted, so that all are told at once.
    fn read(&mut self, raw: &RawValue) -> Option<Aspect> {
        let value: Value = match serde_json::from_str(raw.get()) {
            Ok(value @ Value::Object(_)) => value,
            _ => {
                self.fault("an entry of the list is no object", EXPECTED);
                return None;
            }
        };
        let name = self.text(&value, "aspect");
        self.name.clone_from(&name);
        let criteria_description = self.text(&value, "criteria_description");
        let score_descriptions = SCORES.map(|field| self.text(&value, field));
        let use_title = self.flag(&value, "use_title");
        let use_docs = self.flag(&value, "use_docs");
        let [one, two, three, four, five] = score_descriptions;
        Some(Aspect {
            name: name?.as_str().into(),
            criteria_description: criteria_description?,
            score_descriptions: [one?, two?, three?, four?, five?],
            use_title: use_title?,
            use_docs: use_docs?,
        })
    }

    fn text(&mut self, value: &Value, field: &str) -> Option<String> {
        match value.get(field) {
            Some(Value::String(text)) if !text.trim().is_empty() => return Some(text.clone()),
            Some(Value::String(_)) => self.fault(&format!("{field} is empty"), "write a description"),
            Some(_) => self.fault(&format!("{field} is no text"), "put it between double quotes"),
            None => self.fault(&format!("{field} is missing"), EXPECTED),
        }
        None
    }

    /// `true` or `false`; false where the field is not there.
    fn flag(&mut self, value: &Value, field: &str) -> Option<bool> {
        match value.get(field) {
            None => Some(false),
            Some(Value::Bool(flag)) => Some(*flag),
            Some(_) => {
                self.fault(&format!("{field} is neither true nor false"), "write true or false without quotes");
                None
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faults(text: &str) -> Vec<String> {
        match parse_aspects(text, Path::new("aspects.json")) {
            Err(Error::Input(faults)) => faults.iter().map(ToString::to_string).collect(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn the_built_in_aspects_have_the_published_names_and_flags() {
        let aspects = builtin_aspects();
        let flags: Vec<_> = aspects.iter().map(|a| (&*a.name, a.use_title, a.use_docs)).collect();
        assert_eq!(flags, [("organization", false, false), ("coverage", true, false), ("relevance", false, false)]);
    }

    #[test]
    fn every_fault_of_every_entry_is_told_with_its_line() {
        let complete = BUILTIN.trim().trim_start_matches('[').trim_end_matches(']').trim();
        let broken = complete.replacen("\"score2_description\"", "\"score_2\"", 1).replacen(
            "\"use_docs\": false",
            "\"use_docs\": \"no\"",
            1,
        );
        let told = faults(&format!(
            "[{broken},\n7,\n{}]",
            complete.replacen("organization", " ", 1).replacen("\"aspect\": \"relevance\"", "\"aspect\": \"\"", 1)
        ));
        assert_eq!(
            told[0].split("; ").next(),
            Some("aspects.json:1: aspect organization: score2_description is missing")
        );
        assert_eq!(
            told[1],
            "aspects.json:1: aspect organization: use_docs is neither true nor false; write true or false without quotes"
        );
        let rest: Vec<&str> = told[2..].iter().filter_map(|fault| fault.split("; ").next()).collect();
        // the first copy fills lines 1 to 32: three objects of 11 lines, the last without a line feed
        assert_eq!(
            rest,
            [
                "aspects.json:34: an entry of the list is no object",
                "aspects.json:35: aspect is empty",
                "aspects.json:46: aspect coverage: is there twice, first on line 12",
                "aspects.json:57: aspect is empty",
            ]
        );
    }

    #[test]
    fn what_is_no_list_of_aspects_says_what_was_expected() {
        assert!(faults("{}")[0].starts_with("aspects.json: is no JSON list of aspects; expected a JSON list"));
        assert!(faults("[]")[0].starts_with("aspects.json: no aspects in the file; expected a JSON list"));
        assert!(faults("[\n{]")[0].starts_with("aspects.json:2: invalid JSON at column 2"), "{:?}", faults("[\n{]"));
    }

    #[test]
    fn the_released_file_is_read() {
        let shared = std::env::var_os("SCHOLAREVAL_SHARED")
            .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared"), std::path::PathBuf::from);
        let path = shared.join("data/rubrics/prometheus_rubrics_v8.json");
        if !path.is_file() {
            eprintln!("skipped: {} is not there", path.display());
            return;
        }
        let released = load_aspects(&path).unwrap();
        let names: Vec<_> = released.iter().map(|a| (&*a.name, a.use_title, a.use_docs)).collect();
        let ours = builtin_aspects();
        assert_eq!(names, ours.iter().map(|a| (&*a.name, a.use_title, a.use_docs)).collect::<Vec<_>>());
        assert!(
            released.iter().zip(&ours).all(|(theirs, own)| theirs.criteria_description != own.criteria_description)
        );
    }
}
