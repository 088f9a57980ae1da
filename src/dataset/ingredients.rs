//! Test cases from annotated ingredients: what an annotator finds important in an answer, with supporting snippets.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use serde_json::{Value, json};

use crate::domain::{Criterion, Rubric, TestCase};
use crate::error::{Error, InputFault, Result};

use super::elements::elements;
use super::fields::{Fields, Findings, Place};
use super::md5::md5_hex;
use super::python_repr::python_repr;
use super::text_file::{as_text, read_bytes};

/// Share of the score that the ingredients have together.
const TOTAL_WEIGHT: f64 = 0.6;

/// Reads annotated ingredients (`docs/formats.md`) and builds a test case of each.
///
/// # Errors
/// [`Error::Input`] with every fault found, two cases of one id among them; [`Error::Io`] if the file cannot be read.
pub fn load_ingredients(path: &Path) -> Result<Vec<TestCase>> {
    let bytes = read_bytes(path)?.0;
    build_test_cases(as_text(&bytes, path, 1)?, path)
}

/// Builds test cases from the text of a file of ingredients; `path` stands in messages.
///
/// With m most-important and n nice-to-have ingredients a nice-to-have one weighs 0.6 / (2 m + n), a most-important one
/// twice that. An absent `case_id` is the MD5 of Python's `str((question, spreadsheet.id))`.
///
/// # Errors
/// [`Error::Input`] with every fault found.
pub fn build_test_cases(text: &str, path: &Path) -> Result<Vec<TestCase>> {
    let mut found = Findings::default();
    let mut cases: Vec<TestCase> = Vec::new();
    let mut first_lines: HashMap<String, usize> = HashMap::new();
    for element in elements(text, path)? {
        let given = element.value.get("case_id").and_then(Value::as_str);
        let place = Place { path, line: element.line, case_id: given };
        let Some(case) = read_case(&element.value, place, &mut found) else { continue };
        if let Some(first) = first_lines.insert(case.case_id.to_string(), element.line) {
            let fault = place.fault(format!("the same case as on line {first}: {}", case.case_id));
            found.faults.push(fault.hint("question and spreadsheet.id make the id; give each case a case_id"));
        }
        cases.push(case);
    }
    if cases.is_empty() && found.faults.is_empty() {
        let fault = InputFault::new(path, "no ingredients in the file");
        found.faults.push(fault.hint("expected a list of {question, spreadsheet, agreement, ingredients}"));
    }
    if found.faults.is_empty() { Ok(cases) } else { Err(Error::Input(found.faults)) }
}

fn read_case(value: &Value, place: Place<'_>, found: &mut Findings) -> Option<TestCase> {
    let fields = Fields::of(value, "", place, found)?;
    let question = fields.string("question", found);
    let agreement = fields.flag("agreement", found);
    let spreadsheet = fields.object("spreadsheet", found);
    let annotator = spreadsheet.as_ref().and_then(|sheet| sheet.string("name", found)).map(str::to_owned);
    let sheet_id = match place.case_id {
        Some(_) => Some(""),
        None => spreadsheet.as_ref().and_then(|sheet| sheet.string("id", found)),
    };
    let ingredients = fields.object("ingredients", found);
    let criteria = ingredients.and_then(|ingredients| read_criteria(&ingredients, place, found));
    let question = question?;
    let case_id = match place.case_id {
        Some(given) => given.to_owned(),
        None => md5_hex(format!("({}, {})", python_repr(question), python_repr(sheet_id?)).as_bytes()),
    };
    let rubric = Rubric {
        question: question.into(),
        low_length: 300,
        high_length: 600,
        length_weight: 0.05,
        expertise_weight: 0.05,
        citations_weight: 0.2,
        excerpts_weight: 0.1,
        criteria: criteria?,
    };
    Some(TestCase {
        case_id: case_id.into(),
        initial_prompt: question.to_owned(),
        annotator: annotator?,
        agreement: agreement?,
        rubric,
    })
}

fn read_criteria(ingredients: &Fields<'_>, place: Place<'_>, found: &mut Findings) -> Option<Vec<Criterion>> {
    let most = ingredients.list("most_important", found)?;
    let nice = ingredients.list("nice_to_have", found)?;
    if most.is_empty() && nice.is_empty() {
        let fault = place.fault("no ingredients: most_important and nice_to_have are empty");
        found.faults.push(fault.hint("give at least one {text, snippets}"));
        return None;
    }
    let unit = TOTAL_WEIGHT / (2 * most.len() + nice.len()) as f64;
    let mut criteria = Vec::new();
    let mut whole = true;
    for (list, key, name, weight) in
        [(most, "most_important", "most_important_item", 2.0 * unit), (nice, "nice_to_have", "nice_to_have_item", unit)]
    {
        for (index, item) in list.iter().enumerate() {
            let within = ingredients.path_of(&format!("{key}[{index}]"));
            let criterion = Fields::of(item, &within, place, found).and_then(|fields| {
                let (text, snippets) = (fields.string("text", found), fields.strings("snippets", found));
                let criterion: Arc<str> = text?.into();
                Some(Criterion { name: format!("{name}_{index}"), criterion, weight, snippets: snippets? })
            });
            whole &= criterion.is_some();
            criteria.extend(criterion);
        }
    }
    whole.then_some(criteria)
}

/// Test cases as a JSON list in the released form, indented, with a line feed at the end.
///
/// # Errors
/// [`Error::Internal`] if they cannot be serialised.
pub fn render_test_cases(cases: &[TestCase]) -> Result<String> {
    let property = |criterion: &Criterion| {
        json!({"name": criterion.name, "criterion": &*criterion.criterion, "weight": criterion.weight,
               "evidence": &*criterion.snippets})
    };
    let wire = |case: &TestCase| {
        let rubric = &case.rubric;
        json!({
            "initial_prompt": case.initial_prompt,
            "metric_config": {"name": "rubric_corpusqa_generic", "config": {
                "question": &*rubric.question, "low_length": rubric.low_length, "high_length": rubric.high_length,
                "length_weight": rubric.length_weight, "expertise_weight": rubric.expertise_weight,
                "citations_weight": rubric.citations_weight, "excerpts_weight": rubric.excerpts_weight,
                "other_properties": rubric.criteria.iter().map(property).collect::<Vec<_>>(),
            }},
            "case_id": case.case_id.as_str(), "annotator": case.annotator, "agreement": case.agreement,
        })
    };
    let list: Vec<Value> = cases.iter().map(wire).collect();
    let text = serde_json::to_string_pretty(&list).map_err(|e| Error::Internal(format!("test cases as JSON: {e}")))?;
    Ok(text + "\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataset::parse_test_cases;
    use crate::domain::Mode;

    fn ingredients(most: usize, nice: usize) -> Value {
        let list = |n: usize| (0..n).map(|i| json!({"text": format!("t{i}"), "snippets": ["s"]})).collect::<Vec<_>>();
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
        assert_eq!(weights, [0.17142857142857143, 0.17142857142857143, 0.17142857142857143, 0.08571428571428572]);
        let names: Vec<&str> = case.rubric.criteria.iter().map(|c| c.name.as_str()).collect();
        assert_eq!(names[2..], ["most_important_item_2", "nice_to_have_item_0"]);
        assert_eq!((case.annotator.as_str(), case.agreement), ("Annotator 1", true));
    }

    #[test]
    fn an_absent_id_is_the_md5_of_pythons_tuple() {
        let case = &build(&ingredients(1, 0).to_string()).unwrap()[0];
        // hashlib.md5(str(("It's what?", "1a")).encode()).hexdigest()
        assert_eq!(case.case_id.as_str(), "b8554a2ef0760000923772653f66a74c");
        let mut given = ingredients(1, 0);
        given["case_id"] = json!("mine");
        assert_eq!(build(&given.to_string()).unwrap()[0].case_id.as_str(), "mine");
    }

    #[test]
    fn what_is_built_is_read_again_the_same() {
        let built = build(&json!([ingredients(2, 3)]).to_string()).unwrap();
        let text = render_test_cases(&built).unwrap();
        let read = parse_test_cases(&text, Path::new("t.json"), Mode::Default).unwrap();
        assert_eq!(read.cases.iter().map(|case| (**case).clone()).collect::<Vec<_>>(), built);
    }

    #[test]
    fn faults_are_told_with_line_and_field() {
        let mut wrong = ingredients(1, 0);
        wrong["ingredients"]["most_important"][0] = json!({"snippets": []});
        let text = format!("{}\n{}\n{wrong}\n{}", ingredients(1, 0), ingredients(1, 1), ingredients(0, 0));
        let error = build(&text).unwrap_err().to_string();
        let lines: Vec<&str> = error.lines().collect();
        assert!(lines[0].starts_with("i.json:2: the same case as on line 1: "), "{error}");
        assert_eq!(lines[1], "i.json:3: ingredients.most_important[0].text is missing");
        assert!(lines[2].starts_with("i.json:4: no ingredients"), "{error}");
    }
}
