//! Builds test cases from annotated ingredients: what an annotator considers important in an answer, with supporting
//! snippets.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;

use md5::{Digest, Md5};
use serde::Deserialize;
use serde_json::json;

use scholareval_core::domain::{Criterion, Rubric, TestCase};
use scholareval_core::error::{Error, InputFault, Result};
use scholareval_core::files::read_text;

use super::reader::{JsonLine, all, elements};

/// Total weight of the ingredients in the score.
const TOTAL_WEIGHT: f64 = 0.6;

const EXAMPLE: &str = "{\"question\": .., \"agreement\": false, \"spreadsheet\": {\"id\": .., \"name\": ..}, \"ingredients\": \
                       {\"most_important\": [{\"text\": .., \"snippets\": [..]}], \"nice_to_have\": [..]}}";

/// Reads annotated ingredients (`docs/formats.md`) and builds one test case from each.
///
/// # Errors
/// [`Error::Input`] with every faulty case, including two cases with one id; [`Error::Io`] if the file cannot be read.
pub fn load_ingredients(path: &Path) -> Result<Vec<TestCase>> {
    build_test_cases(&read_text(path)?.0, path)
}

/// Builds test cases from the text of a file of ingredients; `path` is for messages.
///
/// With m most-important and n nice-to-have ingredients, a nice-to-have one weighs 0.6 / (2 m + n), a most-important
/// one twice that. A missing `case_id` becomes the MD5 of Python's `str((question, spreadsheet.id))`.
///
/// # Errors
/// [`Error::Input`] with every faulty case.
pub fn build_test_cases(text: &str, path: &Path) -> Result<Vec<TestCase>> {
    let elements = elements(text, path)?;
    if elements.is_empty() {
        let fault = InputFault::new(path, "no ingredients in the file");
        return Err(
            fault.refuse("expected a list of {question, spreadsheet, agreement, ingredients}")
        );
    }
    let mut first_lines: HashMap<String, usize> = HashMap::new();
    all(elements.iter().map(|line| {
        let case = read_case(line)?;
        match first_lines.insert(case.case_id.to_string(), line.number) {
            None => Ok(case),
            Some(first) => {
                let fault = line.fault(format!(
                    "the same case as on line {first}: {}",
                    case.case_id
                ));
                Err(fault
                    .refuse("question and spreadsheet.id make the id; give each case a case_id"))
            }
        }
    }))
}

#[derive(Deserialize)]
struct IngredientLine {
    question: String,
    case_id: Option<String>,
    #[serde(default)]
    agreement: bool,
    spreadsheet: Spreadsheet,
    ingredients: Ingredients,
}

#[derive(Deserialize)]
struct Spreadsheet {
    id: Option<String>,
    name: String,
}

#[derive(Deserialize)]
struct Ingredients {
    #[serde(default)]
    most_important: Vec<Ingredient>,
    #[serde(default)]
    nice_to_have: Vec<Ingredient>,
}

#[derive(Deserialize)]
struct Ingredient {
    text: Arc<str>,
    #[serde(default)]
    snippets: Arc<[String]>,
}

fn read_case(line: &JsonLine<'_>) -> Result<TestCase, InputFault> {
    let read: IngredientLine = line.read(EXAMPLE)?;
    let question = read.question;
    let Ingredients {
        most_important,
        nice_to_have,
    } = read.ingredients;
    if most_important.is_empty() && nice_to_have.is_empty() {
        let fault = line.fault("no ingredients: most_important and nice_to_have are empty");
        return Err(fault.hint("give at least one {text, snippets}"));
    }
    let case_id = match (read.case_id, read.spreadsheet.id) {
        (Some(given), _) => given,
        (None, Some(sheet)) => published_id(&question, &sheet),
        (None, None) => {
            return Err(line
                .fault("spreadsheet.id is missing")
                .hint("give it, or a case_id"));
        }
    };
    // The published weights: a most important ingredient counts twice a nice one, and together they
    // have what the four general components leave.
    let unit = TOTAL_WEIGHT / (2 * most_important.len() + nice_to_have.len()) as f64;
    let mut criteria = weighted("most_important", 2.0 * unit, most_important);
    criteria.extend(weighted("nice_to_have", unit, nice_to_have));
    let rubric = Rubric {
        question: question.as_str().into(),
        criteria,
        ..Rubric::default()
    };
    Ok(TestCase {
        annotator: read.spreadsheet.name,
        agreement: read.agreement,
        rubric,
        ..TestCase::without_rubric(case_id.into(), &question)
    })
}

/// The id of a published test case. They were made by hashing Python's text of a tuple, so its quoting rules have to be copied
/// to get the same ids.
fn published_id(question: &str, sheet: &str) -> String {
    let tuple = format!("({}, {})", python_repr(question), python_repr(sheet));
    format!("{:x}", Md5::digest(tuple))
}

/// The criteria of one list, numbered from 0 within it: the names in the released test cases.
fn weighted(name: &str, weight: f64, list: Vec<Ingredient>) -> Vec<Criterion> {
    let mut criteria = Vec::new();
    for (index, Ingredient { text, snippets }) in list.into_iter().enumerate() {
        criteria.push(Criterion {
            name: format!("{name}_item_{index}"),
            criterion: text,
            weight,
            snippets,
        });
    }
    criteria
}

/// Test cases as an indented JSON list in the released form, with a final line feed.
///
/// # Errors
/// [`Error::Internal`] if they cannot be serialized.
pub fn render_test_cases(cases: &[TestCase]) -> Result<String> {
    let mut list = Vec::new();
    for case in cases {
        list.push(json!({
            "initial_prompt": case.initial_prompt,
            "metric_config": {"name": "rubric_corpusqa_generic", "config": case.rubric},
            "case_id": case.case_id, "annotator": case.annotator, "agreement": case.agreement,
        }));
    }
    let text = serde_json::to_string_pretty(&list)
        .map_err(|e| Error::Internal(format!("test cases as JSON: {e}")))?;
    Ok(text + "\n")
}

/// Python's `repr(text)`: in single quotes, or in double quotes if the text has single but no double ones; unprintable
/// characters are escaped.
fn python_repr(text: &str) -> String {
    let quote = if text.contains('\'') && !text.contains('"') {
        '"'
    } else {
        '\''
    };
    let mut out = String::with_capacity(text.len() + 2);
    out.push(quote);
    for c in text.chars() {
        // Writing to a string cannot fail.
        let _ = match c {
            '\\' => write!(out, "\\\\"),
            '\n' => write!(out, "\\n"),
            '\r' => write!(out, "\\r"),
            '\t' => write!(out, "\\t"),
            c if c == quote => write!(out, "\\{c}"),
            c if is_printable(c) => write!(out, "{c}"),
            c if u32::from(c) < 0x100 => write!(out, "\\x{:02x}", u32::from(c)),
            c if u32::from(c) < 0x1_0000 => write!(out, "\\u{:04x}", u32::from(c)),
            c => write!(out, "\\U{:08x}", u32::from(c)),
        };
    }
    out.push(quote);
    out
}

/// Python's `str.isprintable`: Rust's debug output escapes the same categories after the first character (controls,
/// formats, private use, unassigned, separators other than the space).
fn is_printable(c: char) -> bool {
    if matches!(c, '"' | '\'' | '\\') {
        return true;
    }
    // At the start of a text Rust also escapes combining marks, which Python prints; hence a letter
    // before.
    let pair: String = ['a', c].iter().collect();
    let mut escaped = pair.escape_debug().skip(1);
    escaped.next() == Some(c) && escaped.next().is_none()
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::parse_test_cases;
    use scholareval_core::domain::Mode;

    fn ingredients(most: usize, nice: usize) -> Value {
        let list = |n: usize| {
            (0..n)
                .map(|i| json!({"text": format!("t{i}"), "snippets": ["s"]}))
                .collect::<Vec<_>>()
        };
        json!({"question": "It's what?", "spreadsheet": {"id": "1a", "name": "Annotator 1"}, "agreement": true,
               "ingredients": {"most_important": list(most), "nice_to_have": list(nice)}})
    }

    fn build(text: &str) -> Result<Vec<TestCase>> {
        build_test_cases(text, Path::new("i.json"))
    }

    #[test]
    fn most_important_ingredients_weigh_twice_and_all_together_0_6() {
        let case = &build(&json!([ingredients(3, 1)]).to_string()).unwrap()[0];
        let weights: Vec<f64> = case.rubric.criteria.iter().map(|c| c.weight).collect();
        // 0.6 / (2 * 3 + 1) = 0.0857..; the released file has these very digits
        assert_eq!(
            weights,
            [
                0.17142857142857143,
                0.17142857142857143,
                0.17142857142857143,
                0.08571428571428572
            ]
        );
        let names: Vec<&str> = case
            .rubric
            .criteria
            .iter()
            .map(|c| c.name.as_str())
            .collect();
        assert_eq!(names[2..], ["most_important_item_2", "nice_to_have_item_0"]);
        assert_eq!(
            (case.annotator.as_str(), case.agreement),
            ("Annotator 1", true)
        );
    }

    #[test]
    fn a_missing_id_is_the_md5_of_pythons_tuple() {
        let case = &build(&ingredients(1, 0).to_string()).unwrap()[0];
        // hashlib.md5(str(("It's what?", "1a")).encode()).hexdigest()
        assert_eq!(case.case_id.as_str(), "b8554a2ef0760000923772653f66a74c");
        let mut given = ingredients(1, 0);
        given["case_id"] = json!("mine");
        assert_eq!(
            build(&given.to_string()).unwrap()[0].case_id.as_str(),
            "mine"
        );
    }

    #[test]
    fn what_is_built_is_read_again_the_same() {
        let built = build(&json!([ingredients(2, 3)]).to_string()).unwrap();
        let text = render_test_cases(&built).unwrap();
        let read = parse_test_cases(&text, Path::new("t.json"), Mode::Default).unwrap();
        assert_eq!(
            read.cases
                .iter()
                .map(|case| (**case).clone())
                .collect::<Vec<_>>(),
            built
        );
    }

    #[test]
    fn faults_are_reported_with_line_and_field() {
        let mut wrong = ingredients(1, 0);
        wrong["ingredients"]["most_important"][0] = json!({"snippets": []});
        let text = format!(
            "{}\n{}\n{wrong}\n{}",
            ingredients(1, 0),
            ingredients(1, 1),
            ingredients(0, 0)
        );
        let error = build(&text).unwrap_err().to_string();
        let lines: Vec<&str> = error.lines().collect();
        assert!(
            lines[0].starts_with("i.json:2: the same case as on line 1: "),
            "{error}"
        );
        assert!(
            lines[1].starts_with(
                "i.json:3: ingredients.most_important[0].text is missing; write one {"
            ),
            "{error}"
        );
        assert!(lines[2].starts_with("i.json:4: no ingredients"), "{error}");
    }

    #[test]
    fn strings_look_as_in_python() {
        // Each pair as CPython 3.11 prints it.
        for (text, expected) in [
            ("plain", "'plain'"),
            ("it's", "\"it's\""),
            ("say \"it's\"", "'say \"it\\'s\"'"),
            ("a\\b\n\t\r", "'a\\\\b\\n\\t\\r'"),
            ("é \u{301}x 模", "'é \u{301}x 模'"),
            ("\u{0}\u{7f}\u{a0}\u{ad}", "'\\x00\\x7f\\xa0\\xad'"),
            ("\u{200b}\u{2028}\u{e000}", "'\\u200b\\u2028\\ue000'"),
            ("\u{1f600}\u{10ffff}", "'\u{1f600}\\U0010ffff'"),
        ] {
            assert_eq!(python_repr(text), expected);
        }
    }
}
