//! The check of a submission, before anybody scores it.

use std::collections::HashMap;
use std::path::Path;

use super::gold::FAULTS_KEPT;
use super::lines::{Line, map_blocks};
use super::wire::WireLine;
use crate::dataset::text_file::as_text;
use crate::domain::fever::{ClaimId, Label};
use crate::error::{Error, InputFault, Result};

/// The file name that the shared task asks for.
const SUBMISSION_NAME: &str = "predictions.jsonl";

/// Sentences that the shared task counts for a claim.
const SENTENCES_COUNTED: usize = 5;

/// A submission without a fault.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Submission {
    /// How many predictions it holds.
    pub predictions: usize,
    /// How many predict each of SUPPORTS, REFUTES, NOT ENOUGH INFO.
    pub labels: [usize; 3],
    /// How many predict more sentences than the shared task counts (5).
    pub beyond_limit: usize,
    /// How many claims it was compared with; `None` without a file of claims.
    pub claims: Option<usize>,
    /// What is odd and yet allowed.
    pub warnings: Vec<InputFault>,
}

/// One line, as far as the whole file is concerned.
struct Checked {
    line: usize,
    id: Option<ClaimId<'static>>,
    label: Option<usize>,
    beyond_limit: bool,
    faults: Vec<InputFault>,
}

/// Checks a file of predictions as the shared task wants it: each line has `id`, `predicted_label` and
/// `predicted_evidence`, labels are known, sentences are `[page, line]`, each id occurs once; with a file of claims
/// (which may be blind: `{id, claim}`), every claim is predicted and their order is kept.
///
/// # Errors
/// Every fault found, with file, line and id.
pub fn check_submission(path: &Path, claims: Option<&Path>) -> Result<Submission> {
    let claims = claims.map(Claims::load).transpose()?;
    let mut submission = Submission { claims: claims.as_ref().map(|claims| claims.ids.len()), ..Submission::default() };
    let mut faults = Vec::new();
    let mut seen: HashMap<ClaimId<'static>, usize> = HashMap::new();
    map_blocks(
        path,
        |lines| lines.iter().map(|line| check_line(line, path)).collect::<Vec<_>>(),
        |block| {
            for checked in block {
                faults.extend(checked.faults);
                submission
                    .labels
                    .iter_mut()
                    .enumerate()
                    .for_each(|(at, count)| *count += usize::from(checked.label == Some(at)));
                submission.beyond_limit += usize::from(checked.beyond_limit);
                if let Some(id) = checked.id {
                    let place = Place { path, line: checked.line, index: submission.predictions };
                    faults.extend(place.of_id(&id, &seen, claims.as_ref()));
                    seen.entry(id).or_insert(checked.line);
                }
                submission.predictions += 1;
            }
            if faults.len() > FAULTS_KEPT { Err(Error::Input(std::mem::take(&mut faults))) } else { Ok(()) }
        },
    )?;
    if submission.predictions == 0 {
        faults.push(InputFault::new(path, "no prediction").hint("a line of JSON for each claim is expected"));
    }
    faults.extend(claims.and_then(|claims| claims.unpredicted(path, &seen, submission.predictions)));
    if !faults.is_empty() {
        return Err(Error::Input(faults));
    }
    if path.file_name().is_none_or(|name| name != SUBMISSION_NAME) {
        let fault = InputFault::new(path, "the shared task takes a file of another name");
        submission.warnings.push(fault.hint(format!("call it {SUBMISSION_NAME} when you submit it")));
    }
    Ok(submission)
}

fn check_line(line: &Line<'_>, path: &Path) -> Checked {
    let mut checked = Checked { line: line.number, id: None, label: None, beyond_limit: false, faults: Vec::new() };
    let at = |what: String| InputFault::new(path, what).at_line(line.number);
    let text = match as_text(line.bytes, path, line.number) {
        Ok(text) => text,
        Err(fault) => return Checked { faults: vec![fault], ..checked },
    };
    let mut read = match WireLine::read(text) {
        Ok(read) => read,
        Err(what) => return Checked { faults: vec![at(what)], ..checked },
    };
    read.label = None; // gold in the line is no part of a submission
    checked.id = read.id.take().map(ClaimId::into_owned);
    let unknown = read.unknown_labels();
    let of_claim = |what: String| match &checked.id {
        Some(id) => at(what).of_case(id.to_string()),
        None => at(what),
    };
    checked.faults.extend(read.faults.into_iter().chain(unknown).map(of_claim));
    if checked.id.is_none() {
        checked.faults.push(at("id is missing".to_owned()));
    }
    checked.label = match read.prediction.label {
        Ok(Label::Supports) => Some(0),
        Ok(Label::Refutes) => Some(1),
        Ok(Label::NotEnoughInfo) => Some(2),
        _ => None,
    };
    checked.beyond_limit = read.prediction.evidence.is_some_and(|evidence| evidence.len() > SENTENCES_COUNTED);
    checked
}

/// Where a prediction stands.
struct Place<'a> {
    path: &'a Path,
    line: usize,
    index: usize,
}

impl Place<'_> {
    /// What is wrong with the id of the prediction here.
    fn of_id(
        &self,
        id: &ClaimId<'static>,
        seen: &HashMap<ClaimId<'static>, usize>,
        claims: Option<&Claims>,
    ) -> Option<InputFault> {
        let fault = |what: String| InputFault::new(self.path, what).at_line(self.line).of_case(id.to_string());
        if let Some(first) = seen.get(id) {
            let hint = "keep one of the two lines";
            return Some(fault(format!("the claim is already predicted in line {first}")).hint(hint));
        }
        let claims = claims?;
        match claims.index.get(id) {
            None => Some(fault(format!("no claim of {} has this id", claims.path))),
            Some(index) if *index != self.index => Some(
                fault(format!("claim number {} stands as prediction number {}", index + 1, self.index + 1))
                    .hint("keep the order of the claims"),
            ),
            Some(_) => None,
        }
    }
}

/// The ids of a file of claims.
struct Claims {
    path: String,
    ids: Vec<ClaimId<'static>>,
    index: HashMap<ClaimId<'static>, usize>,
}

impl Claims {
    fn load(path: &Path) -> Result<Self> {
        let (mut claims, mut faults) =
            (Self { path: path.display().to_string(), ids: Vec::new(), index: HashMap::new() }, Vec::new());
        let id = |line: &Line<'_>| {
            let text = as_text(line.bytes, path, line.number)?;
            let at = |what: String| InputFault::new(path, what).at_line(line.number);
            let read = WireLine::read_gold(text).map_err(at)?;
            let id = read.id.filter(|id| !id.is_placeholder()).map(ClaimId::into_owned);
            id.map(|id| (line.number, id)).ok_or_else(|| at("the claim has no id (0 is a placeholder)".to_owned()))
        };
        map_blocks(
            path,
            |lines| lines.iter().map(id).collect::<Vec<Result<_, InputFault>>>(),
            |block| {
                for read in block {
                    match read {
                        Err(fault) => faults.push(fault),
                        Ok((line, id)) => {
                            if claims.index.insert(id.clone(), claims.ids.len()).is_some() {
                                faults.push(InputFault::new(path, format!("id {id} occurs twice")).at_line(line));
                            }
                            claims.ids.push(id);
                        }
                    }
                }
                Ok(())
            },
        )?;
        if faults.is_empty() { Ok(claims) } else { Err(Error::Input(faults)) }
    }

    /// A fault that counts the claims without a prediction and names the first ones.
    fn unpredicted(
        &self,
        path: &Path,
        seen: &HashMap<ClaimId<'static>, usize>,
        predictions: usize,
    ) -> Option<InputFault> {
        const NAMED: usize = 5;
        let missing: Vec<String> =
            self.ids.iter().filter(|id| !seen.contains_key(*id)).map(ToString::to_string).collect();
        let more = if missing.len() > NAMED { ", .." } else { "" };
        let named = missing.iter().take(NAMED).cloned().collect::<Vec<_>>().join(", ");
        let counted = format!("{predictions} predictions, {} claims in {}", self.ids.len(), self.path);
        let what = format!("{counted}; without a prediction: {} ({named}{more})", missing.len());
        (!missing.is_empty()).then(|| InputFault::new(path, what).hint("predict every claim, in the same order"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(predictions: &str, claims: Option<&str>) -> Result<Submission, Vec<String>> {
        let dir = tempfile::tempdir().unwrap();
        let (path, claims_path) = (dir.path().join("predictions.jsonl"), dir.path().join("claims.jsonl"));
        std::fs::write(&path, predictions).unwrap();
        std::fs::write(&claims_path, claims.unwrap_or_default()).unwrap();
        check_submission(&path, claims.map(|_| claims_path.as_path())).map_err(|error| {
            let text = error.to_string().replace(&format!("{}/", dir.path().display()), "");
            text.lines().map(str::to_owned).collect()
        })
    }

    fn line(id: &str) -> String {
        format!("{{\"id\": {id}, \"predicted_label\": \"refutes\", \"predicted_evidence\": [[\"p\", 1]]}}\n")
    }

    #[test]
    fn a_good_submission_is_counted() {
        let claims = "{\"id\": 1, \"claim\": \"c\"}\n{\"id\": 2, \"claim\": \"d\"}\n";
        let submission = check(&(line("1") + &line("2")), Some(claims)).unwrap();
        let expected = Submission { predictions: 2, labels: [0, 2, 0], claims: Some(2), ..Submission::default() };
        assert_eq!(submission, expected);
    }

    #[test]
    fn every_fault_is_told_with_its_line_and_id() {
        let text = format!(
            "{}{}{}\n{}",
            line("1"),
            line("1"),
            r#"{"id": 3, "predicted_label": "MAYBE", "predicted_evidence": [["p", true]]}"#,
            r#"{"predicted_label": "SUPPORTS"}"#
        );
        let wanted = "expected [page, line], a string and a whole number";
        assert_eq!(
            check(&text, None).unwrap_err(),
            [
                "predictions.jsonl:2 (case 1): the claim is already predicted in line 1; keep one of the two lines".to_owned(),
                format!("predictions.jsonl:3 (case 3): predicted_evidence[0]: {wanted}, found [\"p\",true]"),
                "predictions.jsonl:3 (case 3): predicted_label: expected one of SUPPORTS, REFUTES, NOT ENOUGH INFO, found \"MAYBE\"".to_owned(),
                "predictions.jsonl:4: predicted_evidence is missing; write [] where there is none".to_owned(),
                "predictions.jsonl:4: id is missing".to_owned(),
            ]
        );
    }

    #[test]
    fn order_and_completeness_are_those_of_the_claims() {
        let claims = "{\"id\": 1}\n{\"id\": 2}\n{\"id\": 3}\n";
        assert_eq!(
            check(&(line("2") + &line("9")), Some(claims)).unwrap_err(),
            [
                "predictions.jsonl:1 (case 2): claim number 2 stands as prediction number 1; keep the order of the claims",
                "predictions.jsonl:2 (case 9): no claim of claims.jsonl has this id",
                "predictions.jsonl: 2 predictions, 3 claims in claims.jsonl; without a prediction: 2 (1, 3); predict every claim, in the same order",
            ]
        );
    }
}
