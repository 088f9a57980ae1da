//! SciFact's files: claims with their evidence, the corpus, submissions, and the outputs of the three modules.
//!
//! All are JSONL, one claim (or abstract) a line; `docs/formats.md` shows them. In default mode every fault of a file is
//! told at once, with line and claim. In compat what the reference would stumble over is noted as an
//! [`Oddity`](crate::domain::scifact::Oddity) and left to the scorer, which knows what it would have raised.

mod claims;
mod corpus;
mod lines;
mod modules;
mod predictions;

use std::path::Path;

use crate::domain::Mode;
use crate::domain::scifact::{Claim, LabelPrediction, Prediction, RationaleSelection, Retrieval};
use crate::error::Result;

pub use claims::{parse_blind_claims, parse_claims};
pub use corpus::{Corpus, parse_corpus};
pub use modules::{parse_labels, parse_rationales, parse_retrievals};
pub use predictions::{parse_predictions, render_predictions};

use super::text_file::read_bytes;

macro_rules! load {
    ($($(#[$doc:meta])* $load:ident = $parse:ident -> $of:ty;)*) => {$(
        $(#[$doc])*
        ///
        /// # Errors
        /// Every fault of the file, or why it could not be read.
        pub fn $load(path: &Path, mode: Mode) -> Result<Vec<$of>> {
            $parse(&read_bytes(path)?.0, path, mode)
        }
    )*};
}

load! {
    /// Reads claims with their gold evidence.
    load_claims = parse_claims -> Claim;
    /// Reads claims whose evidence may be withheld.
    load_blind_claims = parse_blind_claims -> Claim;
    /// Reads a submission.
    load_predictions = parse_predictions -> Prediction;
    /// Reads retrieved abstracts.
    load_retrievals = parse_retrievals -> Retrieval;
    /// Reads selected rationale sentences.
    load_rationales = parse_rationales -> RationaleSelection;
    /// Reads predicted labels.
    load_labels = parse_labels -> LabelPrediction;
}

/// Reads a corpus.
///
/// # Errors
/// Every fault of the file, or why it could not be read.
pub fn load_corpus(path: &Path) -> Result<Corpus> {
    parse_corpus(&read_bytes(path)?.0, path)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::error::Error;

    #[test]
    fn one_thread_and_many_read_the_same_claims_and_tell_the_same_faults() {
        // 2,000 lines, 8 tasks at most; in the bad file every 50th has an unknown label and line 1,900 repeats a claim.
        let line = |i: u32, label: &str| {
            let id = if i == 1_900 && label == "?" { 1 } else { i };
            let label = if i.is_multiple_of(50) { label } else { "SUPPORT" };
            format!("{{\"id\": {id}, \"evidence\": {{\"7\": {{\"label\": \"{label}\", \"sentences\": [{i}]}}}}}}\n")
        };
        let [good, bad] = ["CONTRADICT", "?"].map(|label| (0..2_000).map(|i| line(i, label)).collect::<String>());
        let on = |threads, text: &str| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| parse_predictions(text.as_bytes(), Path::new("f"), Mode::Default))
        };
        let one = on(1, &good).unwrap();
        assert!(one.iter().enumerate().all(|(at, prediction)| prediction.line == at + 1) && one.len() == 2_000);
        assert_eq!(one, on(4, &good).unwrap());
        let told = |threads| match on(threads, &bad) {
            Err(Error::Input(faults)) => faults.iter().map(ToString::to_string).collect::<Vec<_>>(),
            other => panic!("{other:?}"),
        };
        // 2,000 / 50 unknown labels, and before that of line 1,901 its repeated claim.
        assert_eq!(told(1).len(), 41);
        assert_eq!(told(1)[38], "f:1901 (case 1): claim 1 stands twice, first on line 2; keep one of the two lines");
        assert!(told(1)[39].starts_with("f:1901 (case 1): abstract 7: unknown label \"?\""));
        assert_eq!(told(1), told(4));
    }

    proptest! {
        #[test]
        fn no_text_makes_a_reader_panic(text in "\\PC*", json in r#"\{"(id|claim_id)":[0-9]{1,3},"(evidence|labels|doc_ids)":[\[\]{}":0-9a-z,]{0,30}\}"#) {
            for bytes in [text.as_bytes(), json.as_bytes()] {
                for mode in [Mode::Default, Mode::Compat] {
                    let path = Path::new("f");
                    let _ = (parse_blind_claims(bytes, path, mode), parse_predictions(bytes, path, mode));
                    let _ = (parse_retrievals(bytes, path, mode), parse_rationales(bytes, path, mode));
                    let _ = (parse_labels(bytes, path, mode), parse_corpus(bytes, path));
                }
            }
        }
    }
}
