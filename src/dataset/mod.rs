//! Files to domain: test cases, answers, and how they are paired.
//!
//! [`load_test_cases`] and [`load_answers`] read and check whole files and tell every fault they find, each with file,
//! line, case and remedy; [`pair`] joins answers to test cases. Nothing is dropped silently: what has no partner is a
//! warning.

mod answer_files;
mod answers;
mod asked;
mod conversion;
mod elements;
mod fields;
mod ingredients;
mod jsonl;
mod labels;
mod md5;
mod names;
mod pairing;
mod plain;
mod prediction_fields;
mod predictions;
mod prepared;
mod python_repr;
mod references;
mod results;
mod rubric_faults;
mod scorable;
mod shape;
mod system_files;
mod test_cases;
mod text_file;

pub use answers::{SystemAnswers, load_answers, parse_answers, render_answer};
pub use asked::{AskedQuestions, Covered};
pub use conversion::{Conversion, Converted, ReferencesBlock, convert, no_case_asks};
pub use ingredients::{build_test_cases, load_ingredients, render_test_cases};
pub use jsonl::{JsonLine, parse_jsonl, read_jsonl};
pub use labels::{Labels, load_labels, parse_labels};
pub(crate) use names::suggest;
pub use pairing::{PairOptions, PairedAnswer, Pairing, pair};
pub use predictions::{Predictions, load_predictions, parse_predictions};
pub use prepared::ScorableOptions;
pub use references::{JoinedAnswers, JoinedBy, References, load_references};
pub use results::{RecordedAnswer, ResultsFile, SystemResults, load_results, parse_results};
pub use scorable::{ReadFile, Scorable, Support, scorable, supports};
pub use system_files::{SystemFile, load_systems, parse_system};
pub use test_cases::{TestCases, load_test_cases, parse_test_cases};
pub(crate) use text_file::read_bytes;
