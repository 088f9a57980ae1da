//! Text primitives: words, tokens, stems, sentences, citation markers, claims, web addresses, similarity, perturbations, bluffs.
//!
//! Functions of texts alone: none knows an answer, a question or a judge. What a reference script
//! does with a text is done here as it does it (white space and words of Python, NLTK's sentences
//! and stems), and its scorers only put the results together.

pub mod addresses;
pub mod bluff;
pub mod citation_markers;
pub mod claims;
pub mod difflib;
pub mod identifiers;
pub mod item_labels;
pub mod list_titles;
pub mod markdown_links;
pub mod model_tokens;
pub mod names;
pub mod nesting;
pub(crate) mod paper_tags;
pub mod perturbation;
pub mod punkt;
pub mod python_chars;
pub mod sentences;
pub mod source_lists;
pub mod spreadsheets;
pub mod stems;
pub mod tables;
pub mod thinking;
pub mod tokens;
pub mod words;
pub(crate) mod written_citations;
