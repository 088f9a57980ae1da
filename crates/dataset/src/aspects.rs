//! Aspects of answer quality: built-in ones, and files in the schema of ScholarQABench's `prometheus_rubrics_v8.json`.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use scholareval_rubrics::ASPECTS_JSON;
use serde_json::{Map, Value};

use scholareval_core::domain::Aspect;
use scholareval_core::error::{InputFault, Result};
use scholareval_core::files::read_small_text;

use super::reader::{JsonLine, all, elements};

const EXPECTED: &str = "expected a JSON list of objects with aspect, criteria_description and score1_description to \
                        score5_description";

/// The built-in aspects, in our wording: organization, coverage (with the titles of cited sources) and relevance,
/// in the published order.
pub fn builtin_aspects() -> Vec<Arc<Aspect>> {
    static ASPECTS: OnceLock<Vec<Arc<Aspect>>> = OnceLock::new();
    ASPECTS.get_or_init(read_builtin_aspects).clone()
}

fn read_builtin_aspects() -> Vec<Arc<Aspect>> {
    #[expect(clippy::expect_used, reason = "compiled in, and a test reads it")]
    let aspects =
        parse_aspects(ASPECTS_JSON, Path::new("built-in aspects")).expect("the built-in aspects");
    aspects.into_iter().map(Arc::new).collect()
}

/// Reads a file of aspects (`docs/formats.md`).
///
/// # Errors
/// [`Error::Input`](scholareval_core::Error::Input) with every fault found; [`Error::Io`](scholareval_core::Error::Io) if the file cannot be
/// read.
pub fn load_aspects(path: &Path) -> Result<Vec<Aspect>> {
    parse_aspects(&read_small_text(path)?.0, path)
}

/// Parses a file of aspects; `path` is for messages. Keeps the order; names are distinct and descriptions not empty.
///
/// # Errors
/// [`Error::Input`](scholareval_core::Error::Input) with the first fault of every faulty entry.
pub fn parse_aspects(text: &str, path: &Path) -> Result<Vec<Aspect>> {
    let elements = elements(text, path)?;
    if elements.is_empty() {
        return Err(InputFault::new(path, "no aspects in the file").refuse(EXPECTED));
    }
    let mut first_lines: HashMap<Arc<str>, usize> = HashMap::new();
    all(elements.iter().map(|line| {
        let aspect = read_aspect(line)?;
        if let Some(first) = first_lines.insert(Arc::clone(&aspect.name), line.number) {
            let what = format!(
                "duplicate aspect {}, first on line {first}",
                aspect.name.escape_debug()
            );
            return Err(line.fault(what).refuse("give each aspect its own name"));
        }
        Ok(aspect)
    }))
}

fn read_aspect(line: &JsonLine<'_>) -> Result<Aspect, InputFault> {
    // The descriptions come from five numbered fields, which the type has as one list; each is
    // checked by name so that the message says which one.
    let mut aspect: Aspect = line.read("aspect").map_err(|fault| fault.hint(EXPECTED))?;
    let fields: Map<String, Value> = line.read("aspect")?;
    let text = |field: &str| {
        let what = match fields.get(field) {
            Some(Value::String(text)) if !text.trim().is_empty() => return Ok(text.clone()),
            Some(Value::String(_)) => "is empty",
            Some(_) => "is not a string",
            None => "is missing",
        };
        Err(line.fault(format!("{field} {what}")).hint(EXPECTED))
    };
    text("aspect")?;
    text("criteria_description")?;
    for (description, grade) in aspect.score_descriptions.iter_mut().zip(1..) {
        *description = text(&format!("score{grade}_description"))?;
    }
    Ok(aspect)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faults(text: &str) -> Vec<String> {
        match parse_aspects(text, Path::new("aspects.json")) {
            Err(scholareval_core::Error::Input(faults)) => {
                faults.iter().map(ToString::to_string).collect()
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn the_built_in_aspects_have_the_published_names_and_flags() {
        let aspects = builtin_aspects();
        let flags: Vec<_> = aspects
            .iter()
            .map(|a| (&*a.name, a.use_title, a.use_docs))
            .collect();
        assert_eq!(
            flags,
            [
                ("organization", false, false),
                ("coverage", true, false),
                ("relevance", false, false)
            ]
        );
    }

    #[test]
    fn every_entry_with_a_fault_is_listed_with_its_line() {
        let complete = ASPECTS_JSON
            .trim()
            .trim_start_matches('[')
            .trim_end_matches(']')
            .trim();
        let broken = complete.replacen("\"score2_description\"", "\"score_2\"", 1);
        let last_use = broken.rfind("\"use_docs\": false").unwrap();
        let broken = format!(
            "{}\"use_docs\": \"no\"{}",
            &broken[..last_use],
            &broken[last_use + 17..]
        );
        let listed = faults(&format!(
            "[{broken},\n7,\n{}]",
            complete.replacen("organization", " ", 1).replacen(
                "\"aspect\": \"relevance\"",
                "\"aspect\": \"\"",
                1
            )
        ));
        let listed: Vec<&str> = listed
            .iter()
            .filter_map(|fault| fault.split("; ").next())
            .collect();
        // the first copy fills lines 1 to 32: three objects of 11 lines, the last without a line feed
        assert_eq!(
            listed,
            [
                "aspects.json:1: score2_description is missing",
                "aspects.json:23: use_docs: invalid type: string \"no\", expected a boolean",
                "aspects.json:34: invalid type: integer `7`, expected an object with aspect and its descriptions",
                "aspects.json:35: aspect is empty",
                "aspects.json:46: duplicate aspect coverage, first on line 12",
                "aspects.json:57: aspect is empty",
            ]
        );
    }

    #[test]
    fn what_is_no_list_of_aspects_says_what_was_expected() {
        assert!(
            faults("{}")[0].starts_with("aspects.json:1: aspect is missing; expected a JSON list")
        );
        assert!(
            faults("[]")[0]
                .starts_with("aspects.json: no aspects in the file; expected a JSON list")
        );
        assert!(
            faults("[\n{]")[0].starts_with("aspects.json:2: invalid JSON at column 2"),
            "{:?}",
            faults("[\n{]")
        );
    }

    #[test]
    fn the_released_file_is_read() {
        let shared = std::env::var_os("SCHOLAREVAL_SHARED").map_or_else(
            || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared"),
            std::path::PathBuf::from,
        );
        let path = shared.join("data/rubrics/prometheus_rubrics_v8.json");
        if !path.is_file() {
            eprintln!("skipped: {} is not there", path.display());
            return;
        }
        let released = load_aspects(&path).unwrap();
        let names: Vec<_> = released
            .iter()
            .map(|a| (&*a.name, a.use_title, a.use_docs))
            .collect();
        let ours = builtin_aspects();
        assert_eq!(
            names,
            ours.iter()
                .map(|a| (&*a.name, a.use_title, a.use_docs))
                .collect::<Vec<_>>()
        );
        assert!(
            released
                .iter()
                .zip(&ours)
                .all(
                    |(their_aspect, our_aspect)| their_aspect.criteria_description
                        != our_aspect.criteria_description
                )
        );
    }
}
