//! Predictions against the claims they are for.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use super::{counted, no_faults};
use crate::domain::scifact::{Claim, ClaimId};
use crate::error::{InputFault, Result};

/// Refuses a file that cannot be meant for this gold: none of its claims is there, or their numbers are written as text.
///
/// # Errors
/// One fault for the file, or one for each such id.
pub(super) fn check_ids<'a>(
    claims: &[Claim],
    predicted: impl Iterator<Item = (&'a ClaimId, usize)>,
    path: &Path,
) -> Result<()> {
    let known: HashSet<&ClaimId> = claims.iter().map(|claim| &claim.id).collect();
    let predicted: Vec<_> = predicted.collect();
    let unknown: Vec<_> = predicted.iter().filter(|(id, _)| !known.contains(id)).collect();
    let mut faults: Vec<InputFault> =
        unknown.iter().filter_map(|(id, line)| number_as_text(id, *line, &known, path)).collect();
    if faults.is_empty() && !predicted.is_empty() && unknown.len() == predicted.len() {
        let what = format!("none of its {} is in the gold", counted(predicted.len(), "claim"));
        faults.push(InputFault::new(path, what).hint("check --gold and the ids"));
    }
    no_faults(faults)
}

/// Every claim that is not in the claims file, for `check`.
pub(super) fn unknown_ids<'a>(
    claims: &[Claim],
    predicted: impl Iterator<Item = (&'a ClaimId, usize)>,
    path: &Path,
) -> Vec<InputFault> {
    let known: HashSet<&ClaimId> = claims.iter().map(|claim| &claim.id).collect();
    let fault = |id: &ClaimId, line: usize| {
        let plain = InputFault::new(path, format!("there is no claim {id}")).at_line(line).of_case(id.to_string());
        number_as_text(id, line, &known, path).unwrap_or_else(|| plain.hint("check the id, or take the line out"))
    };
    predicted.filter(|(id, _)| !known.contains(id)).map(|(id, line)| fault(id, line)).collect()
}

fn number_as_text(id: &ClaimId, line: usize, known: &HashSet<&ClaimId>, path: &Path) -> Option<InputFault> {
    let ClaimId::Text(text) = id else { return None };
    let number = text.trim().parse().ok().map(ClaimId::Number).filter(|number| known.contains(number))?;
    let fault =
        InputFault::new(path, format!("the claim's id is the string \"{text}\", the gold has the number {number}"));
    Some(fault.at_line(line).of_case(text.to_string()).hint("write it without quotes"))
}

/// The claim that was typed.
///
/// # Errors
/// The gold has no such claim.
pub(super) fn typed_claim<'a>(claims: &'a [Claim], typed: &str, path: &Path) -> Result<&'a Claim> {
    let by_text: HashMap<String, &Claim> = claims.iter().map(|claim| (claim.id.to_string(), claim)).collect();
    by_text.get(typed.trim()).copied().ok_or_else(|| {
        let first: Vec<String> = claims.iter().take(5).map(|claim| claim.id.to_string()).collect();
        let fault = InputFault::new(path, format!("--explain {typed:?}: there is no such claim"));
        fault.hint(format!("it has {}: {}, ..", counted(claims.len(), "claim"), first.join(", "))).into()
    })
}
