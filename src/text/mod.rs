//! Text primitives: words, tokens, stems, sentences, citation markers, similarity, perturbations.

pub mod citation_markers;
pub mod difflib;
pub mod names;
pub mod nesting;
pub mod paper_tags;
pub mod perturbation;
pub mod punkt;
pub mod python_chars;
pub mod sentences;
pub mod spreadsheets;
pub mod stems;
pub mod thinking;
pub mod tokens;
pub mod words;
