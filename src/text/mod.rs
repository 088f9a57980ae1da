//! Text primitives: words, tokens, stems, sentences, citation markers.

pub mod words;
