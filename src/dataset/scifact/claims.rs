//! Claims with their gold evidence.

use std::path::Path;

use serde_json::Value;

use super::lines::{Line, Spelled, by_abstract, claim_id, describe, doc_id, each_claim, label, sentences};
use crate::domain::Mode;
use crate::domain::scifact::{Claim, DocId, EvidenceGroup, Label, Oddity, Rationale};
use crate::error::{InputFault, Result};

const EXAMPLE: &str = "{\"id\": 1, \"claim\": \"..\", \"evidence\": {..}}";

/// Reads claims with their gold evidence.
///
/// # Errors
/// Every fault: a claim that stands twice, an abstract with two labels or without a rationale, an unknown label, a
/// sentence that is no whole number, a claim without `evidence`.
pub fn parse_claims(bytes: &[u8], path: &Path, mode: Mode) -> Result<Vec<Claim>> {
    parse(bytes, path, mode, false)
}

/// Reads claims that may lack `evidence`, as the test set does.
///
/// # Errors
/// As [`parse_claims`], without its last one.
pub fn parse_blind_claims(bytes: &[u8], path: &Path, mode: Mode) -> Result<Vec<Claim>> {
    parse(bytes, path, mode, true)
}

fn parse(bytes: &[u8], path: &Path, mode: Mode, may_be_blind: bool) -> Result<Vec<Claim>> {
    let claims = each_claim(bytes, path, EXAMPLE, mode, |line| {
        let id = claim_id(line, "id")?;
        let mut faults = Vec::new();
        let text = line.object.get("claim").and_then(Value::as_str).unwrap_or_default().to_owned();
        let mut oddity = None;
        let evidence = match line.object.get("evidence") {
            None if may_be_blind => None,
            None => {
                let hint = "this seems to be a blind file: take the one with the evidence";
                faults.push(line.fault("evidence is missing").hint(hint));
                None
            }
            Some(_) => {
                let mut groups = Vec::new();
                for (key, value) in by_abstract(line, "evidence")? {
                    match group(line, key, value, mode, &mut oddity) {
                        Ok(group) => groups.push(group),
                        Err(found) => faults.extend(found),
                    }
                }
                Some(groups)
            }
        };
        if faults.is_empty() { Ok(Claim { id, text, evidence, line: line.number, oddity }) } else { Err(faults) }
    })?;
    if claims.is_empty() {
        return Err(InputFault::new(path, "no claims in the file")
            .hint(format!("write one {EXAMPLE} per line"))
            .into());
    }
    Ok(claims)
}

fn group(
    line: &Line<'_>,
    key: &str,
    value: &Value,
    mode: Mode,
    oddity: &mut Option<Oddity>,
) -> Result<EvidenceGroup, Vec<InputFault>> {
    let doc_id = doc_id(line, key).map_err(|fault| vec![fault])?;
    let Value::Array(list) = value else {
        let what = format!("abstract {doc_id}: expected a list of rationales, found {}", describe(value));
        let hint = "write [{\"sentences\": [0, 4], \"label\": \"SUPPORT\"}]";
        return Err(vec![line.fault(what).hint(hint)]);
    };
    let read = |rationale: &Value| {
        let sentences = sentences(line, doc_id, rationale.get("sentences"))?;
        Ok((Rationale(sentences), label(line, doc_id, rationale.get("label"))?))
    };
    let read: Result<Vec<_>, InputFault> = list.iter().map(read).collect();
    let (rationales, labels): (Vec<_>, Vec<_>) = read.map_err(|fault| vec![fault])?.into_iter().unzip();
    let label = match mode {
        Mode::Default => one_label(line, doc_id, labels)?,
        Mode::Compat => compat_label(labels, oddity),
    };
    Ok(EvidenceGroup { doc_id, label, rationales })
}

/// The label of all rationales.
fn one_label(line: &Line<'_>, doc_id: DocId, labels: Vec<Spelled>) -> Result<Label, Vec<InputFault>> {
    let mut first = None;
    for label in labels {
        let label = match label {
            Spelled::Plainly(label) | Spelled::AsInFever(label) => label,
            Spelled::Unknown(fault) => return Err(vec![fault]),
        };
        let first = *first.get_or_insert(label);
        if first != label {
            let what = format!("abstract {doc_id} has two labels, {first} and {label}");
            return Err(vec![line.fault(what).hint("give all its rationales the same label")]);
        }
    }
    first.ok_or_else(|| {
        let fault = line.fault(format!("abstract {doc_id} has no rationale, so it has no label"));
        vec![fault.hint("take the abstract out, or list a rationale")]
    })
}

/// The label of the first rationale, and what the reference stumbles over: first of the claim, in its order.
fn compat_label(labels: Vec<Spelled>, oddity: &mut Option<Oddity>) -> Label {
    // The texts are compared, so that SUPPORT and SUPPORTS are two labels.
    let text = |label: &Spelled| match label {
        Spelled::Plainly(label) => label.as_str().to_owned(),
        Spelled::AsInFever(label) => format!("{label}S"),
        Spelled::Unknown(fault) => fault.what.clone(),
    };
    let texts: Vec<String> = labels.iter().map(text).collect();
    let found = match labels.first() {
        None => Some(Oddity::NoRationale),
        Some(_) if texts.iter().any(|text| *text != texts[0]) => Some(Oddity::TwoLabels),
        Some(Spelled::Plainly(_)) => None,
        Some(_) => Some(Oddity::UnknownLabel),
    };
    *oddity = oddity.or(found);
    match labels.first() {
        Some(Spelled::Plainly(label)) => *label,
        // Equal to no label that a submission may hold.
        _ => Label::NotEnoughInfo,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::scifact::ClaimId;
    use crate::error::Error;

    fn faults(text: &str) -> Vec<String> {
        match parse_claims(text.as_bytes(), Path::new("g.jsonl"), Mode::Default) {
            Err(Error::Input(faults)) => faults.iter().map(ToString::to_string).collect(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_claim_keeps_its_rationales_by_abstract() {
        let text = "\u{20}\n{\"id\": 3, \"claim\": \"c\", \"evidence\": {\"7\": [{\"sentences\": [2, 5], \"label\": \
                    \"SUPPORTS\"}, {\"sentences\": [7], \"label\": \"SUPPORT\"}]}, \"cited_doc_ids\": [7]}\r\n";
        let claims = parse_claims(text.as_bytes(), Path::new("g"), Mode::Default).unwrap();
        assert_eq!((claims.len(), &claims[0].id, claims[0].line), (1, &ClaimId::Number(3), 2));
        let rationales = vec![Rationale(vec![2, 5]), Rationale(vec![7])];
        assert_eq!(claims[0].groups(), [EvidenceGroup { doc_id: DocId(7), label: Label::Support, rationales }]);
    }

    #[test]
    fn every_fault_is_told_with_line_claim_and_remedy() {
        let text = r#"{"id": 1, "evidence": {"7": [{"sentences": [0], "label": "SUPPORT"}, {"sentences": [1], "label": "REFUTES"}]}}
{"id": 2, "evidence": {"7": [], "x": []}}
{"id": 2, "evidence": {}}
{"id": 4, "evidence": {"7": [{"sentences": [-1], "label": "SUPPORT"}]}}
{"id": 5, "evidence": {"7": [{"sentences": [1], "label": "SUPORT"}]}}
{"id": 6}
{"evidence": {}}
[1]"#;
        let expected = [
            "g.jsonl:1 (case 1): abstract 7 has two labels, SUPPORT and CONTRADICT; give all its rationales the same label",
            "g.jsonl:2 (case 2): abstract 7 has no rationale, so it has no label; take the abstract out, or list a rationale",
            "g.jsonl:2 (case 2): evidence: abstract \"x\" is no whole number; use the S2ORC id of the corpus",
            "g.jsonl:3 (case 2): claim 2 stands twice, first on line 2; keep one of the two lines",
            "g.jsonl:4 (case 4): abstract 7, sentences: expected a whole number from 0, found the number -1; list the \
             positions of the sentences, from 0, such as [0, 4]",
            "g.jsonl:5 (case 5): abstract 7: unknown label \"SUPORT\"; did you mean SUPPORT?",
            "g.jsonl:6 (case 6): evidence is missing; this seems to be a blind file: take the one with the evidence",
            "g.jsonl:7: id: expected a whole number, found nothing",
            "g.jsonl:8: expected an object, found a list; write one {\"id\": 1, \"claim\": \"..\", \"evidence\": {..}} per line",
        ];
        assert_eq!(faults(text), expected);
    }

    #[test]
    fn a_blind_claim_has_no_evidence() {
        let claims = parse_blind_claims(b"{\"id\": 6, \"claim\": \"c\"}", Path::new("g"), Mode::Default).unwrap();
        assert_eq!((claims[0].evidence.as_ref(), claims[0].groups().len()), (None, 0));
    }
}
