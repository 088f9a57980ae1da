//! What a system retrieved while it wrote an answer, and which cited addresses are among it.

use serde::{Deserialize, Serialize};

/// The addresses that a system saw while it wrote an answer, as its service or harness reports them.
///
/// A trace without addresses says that nothing was retrieved; an answer without a trace says nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RetrievalTrace {
    /// Whose text the system had.
    pub retrieved: Vec<String>,
    /// Seen in the results of a search.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub searched: Vec<String>,
    /// Those that the system could not open.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub failed: Vec<String>,
    /// Those that the service lists as cited, whether or not the text names them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub cited: Vec<String>,
    /// Those that the numbers of markers mean, from 1.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub numbered: Vec<String>,
    /// Whether the system may have seen addresses that are not here: results that were not reported, or without addresses.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_partial: bool,
}

/// Where a cited address comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AddressState {
    /// The system had the text, or the question names the address.
    Retrieved,
    /// It was in the results of a search and was not opened.
    SearchedOnly,
    /// It is not in the trace.
    NotRetrieved,
    /// There is no trace, or a partial one without it.
    Unknown,
}

/// An address that an answer cites.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CitedAddress {
    /// As it is first written.
    pub url: String,
    /// Where it comes from.
    pub state: AddressState,
    /// Whether the system tried to open it, and never could.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub fetch_failed: bool,
}
