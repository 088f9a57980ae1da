//! Submissions.

use std::path::Path;

use serde_json::{Map, Value, json};

use super::lines::{Line, Spelled, by_abstract, claim_id, doc_id, each_claim, label, sentences};
use crate::domain::Mode;
use crate::domain::scifact::{DocId, Label, Oddity, PredictedAbstract, Prediction};
use crate::error::{InputFault, Result};

const EXAMPLE: &str = "{\"id\": 52, \"evidence\": {\"11\": {\"label\": \"SUPPORT\", \"sentences\": [1]}}}";

/// Reads a submission: one claim a line, `evidence` may be empty. Abstracts labelled `NOT_ENOUGH_INFO` are left out and
/// counted. An empty file is a submission that predicts nothing.
///
/// # Errors
/// Every fault: a claim that is predicted twice, an unknown label, a sentence that is no whole number from 0.
pub fn parse_predictions(bytes: &[u8], path: &Path, mode: Mode) -> Result<Vec<Prediction>> {
    each_claim(bytes, path, EXAMPLE, mode, |line| {
        let claim_id = claim_id(line, "id")?;
        let mut faults = Vec::new();
        let mut prediction =
            Prediction { claim_id, evidence: Vec::new(), undecided: 0, line: line.number, oddity: None };
        if mode == Mode::Compat && !line.object.contains_key("evidence") {
            prediction.oddity = Some(Oddity::MissingKey);
            return Ok(prediction);
        }
        for (key, value) in by_abstract(line, "evidence")? {
            if mode == Mode::Compat {
                add_as_reference(line, key, value, &mut prediction);
            } else if let Err(fault) = add(line, key, value, &mut prediction) {
                faults.push(fault);
            }
        }
        if faults.is_empty() { Ok(prediction) } else { Err(faults) }
    })
}

fn add(line: &Line<'_>, key: &str, value: &Value, prediction: &mut Prediction) -> Result<(), InputFault> {
    let doc_id = doc_id(line, key)?;
    let sentences = sentences(line, doc_id, value.get("sentences"))?;
    match label(line, doc_id, value.get("label"))? {
        Spelled::Plainly(Label::NotEnoughInfo) => prediction.undecided += 1,
        Spelled::Plainly(label) | Spelled::AsInFever(label) => {
            prediction.evidence.push(PredictedAbstract { doc_id, label, sentences });
        }
        Spelled::Unknown(fault) => return Err(fault),
    }
    Ok(())
}

/// Takes an abstract as Python does; of what the reference stumbles over the first is noted.
fn add_as_reference(line: &Line<'_>, key: &str, value: &Value, prediction: &mut Prediction) {
    let doc_id = doc_id(line, key).ok();
    let label = match value.get("label") {
        Some(Value::String(name)) => Label::from_name(name).ok_or(Oddity::UnknownLabel),
        Some(_) => Err(Oddity::UnknownLabel),
        None => Err(Oddity::MissingKey),
    };
    let sentences = match value.get("sentences") {
        Some(Value::Array(list)) => Ok(list.iter().map(python_index).collect()),
        Some(_) => Err(Oddity::NoList),
        None => Err(Oddity::MissingKey),
    };
    let found = match (&label, &sentences, doc_id) {
        (Err(Oddity::MissingKey), _, _) => Some(Oddity::MissingKey),
        (_, Err(Oddity::MissingKey), _) => Some(Oddity::MissingKey),
        (_, _, None) => Some(Oddity::TextDocId),
        (Err(odd), _, _) => Some(*odd),
        (Ok(Label::NotEnoughInfo), _, _) => Some(Oddity::Undecided),
        (_, Err(odd), _) => Some(*odd),
        _ => None,
    };
    prediction.oddity = prediction.oddity.or(found);
    if label == Ok(Label::NotEnoughInfo) {
        prediction.undecided += 1;
        return;
    }
    // An id that no gold abstract has.
    let doc_id = doc_id.unwrap_or(DocId(i64::MIN));
    let (label, sentences) = (label.unwrap_or(Label::NotEnoughInfo), sentences.unwrap_or_default());
    prediction.evidence.push(PredictedAbstract { doc_id, label, sentences });
}

/// The position that is equal to this value in Python; one that no rationale has for everything else.
fn python_index(value: &Value) -> u32 {
    let number = match value {
        Value::Bool(flag) => Some(f64::from(u8::from(*flag))),
        other => other.as_f64(),
    };
    let index = number.filter(|number| (0.0..f64::from(u32::MAX)).contains(number) && number.fract() == 0.0);
    index.map_or(u32::MAX, |index| index as u32)
}

/// A submission as JSONL, in the order given.
pub fn render_predictions(predictions: &[Prediction]) -> String {
    let line = |prediction: &Prediction| {
        let abstracts = prediction.evidence.iter().map(|predicted| {
            let value = json!({"label": predicted.label.as_str(), "sentences": predicted.sentences});
            (predicted.doc_id.to_string(), value)
        });
        let evidence: Map<String, Value> = abstracts.collect();
        let mut object = Map::new();
        object.insert("id".to_owned(), serde_json::to_value(&prediction.claim_id).unwrap_or_default());
        object.insert("evidence".to_owned(), Value::Object(evidence));
        Value::Object(object).to_string() + "\n"
    };
    predictions.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;

    fn parse(text: &str, mode: Mode) -> Result<Vec<Prediction>> {
        parse_predictions(text.as_bytes(), Path::new("p.jsonl"), mode)
    }

    #[test]
    fn what_is_written_is_read_again() {
        let text = "{\"id\":52,\"evidence\":{\"16\":{\"label\":\"CONTRADICT\",\"sentences\":[18,20]},\"11\":{\"label\":\
                    \"SUPPORT\",\"sentences\":[]}}}\n{\"id\":\"a\",\"evidence\":{}}\n";
        assert_eq!(render_predictions(&parse(text, Mode::Default).unwrap()), text);
    }

    #[test]
    fn undecided_abstracts_are_left_out_and_counted() {
        let text = r#"{"id": 1, "evidence": {"7": {"label": "NOT_ENOUGH_INFO", "sentences": []}}}"#;
        let read = parse(text, Mode::Default).unwrap();
        assert_eq!((read[0].evidence.len(), read[0].undecided, read[0].oddity), (0, 1, None));
        assert_eq!(parse(text, Mode::Compat).unwrap()[0].oddity, Some(Oddity::Undecided));
    }

    #[test]
    fn compat_takes_values_as_python_does_and_notes_what_the_reference_stumbles_over() {
        let text = r#"{"id": 1, "evidence": {"7": {"label": "SUPPORT", "sentences": [1.0, true, -1, "2"]}}}"#;
        let read = parse(text, Mode::Compat).unwrap();
        assert_eq!((&read[0].evidence[0].sentences[..], read[0].oddity), (&[1, 1, u32::MAX, u32::MAX][..], None));
        for (text, oddity) in [
            (r#"{"id": 1}"#, Oddity::MissingKey),
            (r#"{"id": 1, "evidence": {"7": {"label": "SUPPORT"}}}"#, Oddity::MissingKey),
            (r#"{"id": 1, "evidence": {"7": {"label": "SUPPORT", "sentences": null}}}"#, Oddity::NoList),
            (r#"{"id": 1, "evidence": {"x": {"label": "SUPPORT", "sentences": []}}}"#, Oddity::TextDocId),
            (r#"{"id": 1, "evidence": {"7": {"label": "REFUTES", "sentences": []}}}"#, Oddity::UnknownLabel),
        ] {
            assert_eq!(parse(text, Mode::Compat).unwrap()[0].oddity, Some(oddity), "{text}");
            assert!(text.contains("REFUTES") || parse(text, Mode::Default).is_err(), "{text}");
        }
    }

    #[test]
    fn every_fault_is_told_with_line_claim_and_remedy() {
        let text = r#"{"id": 1, "evidence": {"7": {"label": "support", "sentences": []}, "8": {"label": "SUPPORT"}}}
{"id": 1, "evidence": {}}
{"id": 2}
{"id": 1.5, "evidence": {}}"#;
        let Err(Error::Input(faults)) = parse(text, Mode::Default) else { panic!("no faults") };
        let told: Vec<String> = faults.iter().map(ToString::to_string).collect();
        let expected = [
            "p.jsonl:1 (case 1): abstract 7: unknown label \"support\"; did you mean SUPPORT?",
            "p.jsonl:1 (case 1): abstract 8, sentences: expected a list, found nothing; list the positions of the \
             sentences, from 0, such as [0, 4]",
            "p.jsonl:2 (case 1): claim 1 stands twice, first on line 1; keep one of the two lines",
            "p.jsonl:3 (case 2): evidence: expected an object, found nothing; write {\"evidence\": {\"11\": ..}} with \
             abstracts as keys, or {} for none",
            "p.jsonl:4: id: expected a whole number, found the number 1.5",
        ];
        assert_eq!(told, expected);
    }
}
