//! Text primitives: words, tokens, stems, sentences, citation markers.

pub mod words;
pub mod citation_markers;
pub mod sentences;
pub mod stems;
pub mod tokens;
