//! Aspects as files: the built-in ones, and those in ScholarQABench's schema of `prometheus_rubrics_v8.json`.

use std::path::Path;
use std::sync::{Arc, OnceLock};

use serde::Deserialize;
use serde_json::value::RawValue;

use super::files::read_text;
use crate::domain::Aspect;
use crate::error::{Error, InputFault, Result};

const BUILTIN: &str = include_str!("../../rubrics/aspects/aspects.json");

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

/// Reads the text of a file of aspects, a JSON list; `path` is for messages. The aspects keep their order, no two have
/// one name, and no description is empty.
///
/// # Errors
/// [`Error::Input`] with the first fault of every entry that has one, each with the line its entry begins on.
pub fn parse_aspects(text: &str, path: &Path) -> Result<Vec<Aspect>> {
    let text = text.trim_start_matches('\u{feff}');
    let entries: Vec<&RawValue> = serde_json::from_str(text).map_err(|error| not_a_list(&error, path))?;
    let mut faults = Vec::new();
    let mut aspects: Vec<(Aspect, usize)> = Vec::new();
    for raw in entries {
        // An entry is a slice of `text`: its address gives its line.
        let offset = (raw.get().as_ptr() as usize).saturating_sub(text.as_ptr() as usize).min(text.len());
        let line = 1 + text.as_bytes()[..offset].iter().filter(|byte| **byte == b'\n').count();
        let aspect = read(raw.get()).and_then(|aspect| match aspects.iter().find(|(of, _)| of.name == aspect.name) {
            Some((_, first)) => {
                Err(format!("aspect {}: is there twice, first on line {first}", aspect.name.escape_debug()))
            }
            None => Ok(aspect),
        });
        match aspect {
            Ok(aspect) => aspects.push((aspect, line)),
            Err(what) => faults.push(InputFault::new(path, what).at_line(line).hint(EXPECTED)),
        }
    }
    if aspects.is_empty() && faults.is_empty() {
        faults.push(InputFault::new(path, "no aspects in the file").hint(EXPECTED));
    }
    if faults.is_empty() {
        Ok(aspects.into_iter().map(|(aspect, _)| aspect).collect())
    } else {
        Err(Error::Input(faults))
    }
}

const EXPECTED: &str = "expected a JSON list of objects with aspect, criteria_description and score1_description to \
                        score5_description";

/// An aspect as the file has it.
#[derive(Deserialize)]
struct Entry {
    aspect: String,
    criteria_description: String,
    score1_description: String,
    score2_description: String,
    score3_description: String,
    score4_description: String,
    score5_description: String,
    #[serde(default)]
    use_title: bool,
    #[serde(default)]
    use_docs: bool,
}

/// One aspect, or what is wrong with it.
fn read(text: &str) -> Result<Aspect, String> {
    if !text.starts_with('{') {
        return Err("an entry of the list is no object".to_owned());
    }
    let entry: Entry = serde_json::from_str(text).map_err(|error| without_place(&error))?;
    let score_descriptions = [
        entry.score1_description,
        entry.score2_description,
        entry.score3_description,
        entry.score4_description,
        entry.score5_description,
    ];
    if entry.aspect.trim().is_empty() {
        return Err("aspect is empty".to_owned());
    }
    let names = ["score1", "score2", "score3", "score4", "score5", "criteria"];
    let descriptions = score_descriptions.iter().chain([&entry.criteria_description]);
    if let Some((name, _)) = names.iter().zip(descriptions).find(|(_, text)| text.trim().is_empty()) {
        return Err(format!("aspect {}: {name}_description is empty", entry.aspect.escape_debug()));
    }
    let Entry { aspect, criteria_description, use_title, use_docs, .. } = entry;
    Ok(Aspect { name: aspect.into(), criteria_description, score_descriptions, use_title, use_docs })
}

/// The message without line and column, which are those within the entry.
fn without_place(error: &serde_json::Error) -> String {
    let message = error.to_string();
    message.split(" at line ").next().unwrap_or_default().to_owned()
}

fn not_a_list(error: &serde_json::Error, path: &Path) -> Error {
    if error.is_data() {
        return InputFault::new(path, "is no JSON list of aspects").hint(EXPECTED).into();
    }
    let what = format!("invalid JSON at column {}: {}", error.column(), without_place(error));
    InputFault::new(path, what).at_line(error.line()).hint(EXPECTED).into()
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
    fn every_entry_with_a_fault_is_listed_with_its_line() {
        let complete = BUILTIN.trim().trim_start_matches('[').trim_end_matches(']').trim();
        let broken = complete.replacen("\"score2_description\"", "\"score_2\"", 1);
        let last_use = broken.rfind("\"use_docs\": false").unwrap();
        let broken = format!("{}\"use_docs\": \"no\"{}", &broken[..last_use], &broken[last_use + 17..]);
        let listed = faults(&format!(
            "[{broken},\n7,\n{}]",
            complete.replacen("organization", " ", 1).replacen("\"aspect\": \"relevance\"", "\"aspect\": \"\"", 1)
        ));
        let listed: Vec<&str> = listed.iter().filter_map(|fault| fault.split("; ").next()).collect();
        // the first copy fills lines 1 to 32: three objects of 11 lines, the last without a line feed
        assert_eq!(
            listed,
            [
                "aspects.json:1: missing field `score2_description`",
                "aspects.json:23: invalid type: string \"no\", expected a boolean",
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
