//! What the address of a page says about the work on it.

use super::hosts::rules_of;
use super::web_address::WebAddress;
use super::{IdentifierScheme, WorkIdentifier, doi};

/// Parameters that hold a DOI.
const DOI_PARAMETERS: [&str; 4] = ["id", "doi", "doid", "uri"];

/// Addresses within addresses that are followed.
const DEPTH: usize = 3;

/// The identifiers that an address holds or stands for. It may lack its scheme.
pub(super) fn identifiers_of(address: &str) -> Vec<WorkIdentifier> {
    within(address, DEPTH)
}

fn within(address: &str, depth: usize) -> Vec<WorkIdentifier> {
    let address = WebAddress::of(address);
    if let Some(inner) = address.inner()
        && depth > 0
    {
        return within(&inner, depth - 1);
    }
    let mut identifiers: Vec<WorkIdentifier> = doi_of(&address).into_iter().collect();
    let holds_doi = !identifiers.is_empty() || doi_place(&address.path).is_some();
    for rule in rules_of(&address.host) {
        if rule.scheme == IdentifierScheme::Doi && holds_doi {
            continue;
        }
        if let Some(id) = (rule.id)(&address) {
            identifiers.push(WorkIdentifier {
                is_derived: rule.is_derived,
                scheme: rule.scheme,
                id: format!("{}{id}", rule.prefix),
            });
        }
    }
    identifiers
}

fn doi_place(path: &str) -> Option<usize> {
    let mut places = path.match_indices("10.").map(|(at, _)| at);
    places.find(|at| doi::begins_at(path, *at))
}

/// The DOI in the path, or in a parameter.
fn doi_of(address: &WebAddress<'_>) -> Option<WorkIdentifier> {
    doi::in_address(&address.path, &address.host).or_else(|| {
        let mut values = DOI_PARAMETERS
            .iter()
            .filter_map(|name| address.parameter(name));
        values.find_map(|value| doi::in_address(&value, &address.host))
    })
}
