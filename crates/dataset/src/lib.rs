//! Reads test cases, answers and other input files, and pairs answers with test cases.
//!
//! [`load_test_cases`] and [`load_answers`] check whole files and report every faulty element with its file, line and
//! case, and what to do; [`pair`] joins answers to test cases. Nothing is dropped silently: unpaired elements are
//! warnings.

mod answers;
mod asked;
mod aspects;
mod case_criteria;
mod conversion;
mod criteria;
mod draft;
mod fields;
mod files;
mod ingredients;
mod inspect_log;
mod label_files;
mod labels;
mod lint;
mod pairing;
mod paths;
mod perturbed;
mod predictions;
mod profile_paths;
mod profiles;
mod reader;
mod references;
mod results;
mod rubric_faults;
mod scorable;
mod selected;
mod test_cases;
mod traces;
mod tree;

pub use answers::{
    AnswerOptions, SystemAnswers, load_answers, parse_answers, render_answer, with_text,
};
pub use asked::{AskedQuestions, Covered};
pub use aspects::{builtin_aspects, load_aspects, parse_aspects};
pub use conversion::{Conversion, Converted, ReferencesBlock, convert, references_block};
pub use criteria::load_tests;
pub use draft::{ProfileDraft, draft_profile};
pub use fields::PARTS as ANSWER_PARTS;
pub use ingredients::{build_test_cases, load_ingredients, render_test_cases};
pub use inspect_log::{InspectLog, InspectSample, read_input};
pub use label_files::{
    SHEET_FILE, TEXTS_FILE, load_blind_texts, load_label_files, load_label_sheet,
};
pub use labels::{LabelWords, Labels, load_labels, parse_labels};
pub use lint::{LintFinding, LintRule, lint_tests};
pub use pairing::{PairOptions, Pairing, pair};
pub use perturbed::perturbed;
pub use predictions::{Predictions, load_predictions, parse_predictions};
pub use profiles::{profile_source, rubric_profile, shipped_profiles};
pub use reader::{JsonLine, all, no_faults, parse_jsonl, read_jsonl};
pub use references::{References, load_references};
pub use results::{RecordedAnswer, ResultsFile, SystemResults, load_results, parse_results};
pub use scorable::{InputFile, Scorable, ScorableOptions, Support, scorable, supports};
pub use selected::{SelectedAnswers, SelectedItems, load_selected};
pub use test_cases::{TestCases, load_test_cases, parse_test_cases};
pub use traces::{TRACE_SHAPES, TraceShape, trace};
