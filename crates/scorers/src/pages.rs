//! Support by saved pages: does the page that a sentence cites say what the sentence says?
//!
//! The way of an answer: a judge lists its statements with their addresses (`report`); the statements of each page are put
//! together, each once (`cited`); a judge says of each whether the page supports it (`support`); the verdicts make the
//! score (`fold`). The pages come from [`SavedPages`]; nothing is fetched.
//!
//! With S statements supported, U unsupported and O open, which is neither: the accuracy is S / (S + U), the effective
//! citations are S. After FACT of DeepResearch Bench (Du et al. 2025), whose faults are in `docs/metrics.md`.

mod cited;
mod compat;
mod distinct;
mod fold;
mod passage;
mod report;
mod support;
mod windows;

use std::fmt;
use std::num::NonZeroU64;
use std::sync::Arc;

use clap::Args;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use self::report::Listed;
use super::values::ask_or_score;
use super::{InputNeed, Scorer, ScorerInfo, ScorerReference, ScorerRoles, Step, Subject, Verdicts};
use scholareval_core::domain::{
    Mode, ReportLanguage, Role, SavedPages, Unit, UnscoredKind, UnscoredReason,
};

pub use distinct::Dedup;
pub use fold::{ACCURACY, ACCURACY_MACRO, EFFECTIVE};

/// The scorer by saved pages.
pub static PAGES: ScorerInfo = ScorerInfo {
    name: "pages",
    help: "Whether the pages that an answer cites support it (needs --sources)",
    roles: ScorerRoles::One(Role::Page),
    needs: InputNeed::Pages,
    unit: Unit::Share,
    score_name: None,
    // Of a comparison the second: the first is a number of the whole system.
    headline: &[ACCURACY],
    binary: &[],
    means_named: &[(ACCURACY, ACCURACY_MACRO)],
    optional: &[ACCURACY_MACRO, "unverified"],
    directions: &[("effective_citations", true), ("unverified", false)],
    reference: ScorerReference::InSettings,
    make: |new| {
        let options = &new.options.pages;
        Arc::new(PageScorer {
            pages: new.pages.cloned(),
            page_tokens: options.page_tokens.unwrap_or(PAGE_TOKENS),
            dedup: options.dedup.unwrap_or_default(),
            is_baseline: new.is_baseline,
            mode: new.mode,
        })
    },
    restore: |recorded| {
        let settings: PageSettings = recorded.scorer()?;
        Ok(Arc::new(PageScorer {
            pages: recorded.pages.cloned(),
            page_tokens: settings.page_tokens,
            dedup: settings.dedup,
            is_baseline: recorded.is_baseline,
            mode: recorded.mode,
        }))
    },
};

/// Tokens of a page that a judge reads at a time, where nobody says otherwise: about 45 printed pages, with room for the
/// statements in a context of 64,000.
pub const PAGE_TOKENS: NonZeroU64 = NonZeroU64::MIN.saturating_add(29_999);

/// Options of the scorer. Whoever takes them takes the store of pages with the flag `--sources`.
#[derive(Debug, Clone, Default, Args, Serialize, Deserialize)]
#[command(next_help_heading = "Scorers")]
pub struct PageOptions {
    /// Tokens of a page that a judge reads at a time; a longer page is read in up to 8 parts [default: 30000]
    #[arg(long, value_name = "N", requires = "sources")]
    pub page_tokens: Option<NonZeroU64>,
    /// Which statements about a page count as one: those with the same words, or those of which a judge says so (a further
    /// call for each page with several) [default: words]
    #[arg(
        long,
        value_name = "words|judge",
        value_enum,
        hide_possible_values = true,
        requires = "sources"
    )]
    pub dedup: Option<Dedup>,
}

/// What compat mode reproduces.
const FACT_REFERENCE: &str = "deep_research_bench@214741e";

/// Asks whether the pages that an answer cites support it.
#[derive(Clone)]
pub struct PageScorer {
    /// The saved pages; without any, every statement is open.
    pub pages: Option<Arc<dyn SavedPages>>,
    /// Tokens of a page that a judge reads at a time.
    pub page_tokens: NonZeroU64,
    /// Which statements about a page count as one; in compat mode always those of which a judge says so.
    pub dedup: Dedup,
    /// Whether the built-in baseline judges.
    pub is_baseline: bool,
    /// Scoring rules.
    pub mode: Mode,
}

/// What the record of a run keeps of the scorer.
#[derive(Serialize, Deserialize)]
struct PageSettings {
    pages: Value,
    page_tokens: NonZeroU64,
    /// Left out for equal words.
    #[serde(default, skip_serializing_if = "is_by_words")]
    dedup: Dedup,
    /// What compat mode reproduces.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    reference: Option<String>,
}

/// Whether a judge is not asked about repeated statements.
fn is_by_words(dedup: &Dedup) -> bool {
    *dedup == Dedup::Words
}

impl fmt::Debug for PageScorer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PageScorer")
            .field("settings", &self.settings())
            .finish_non_exhaustive()
    }
}

impl Scorer for PageScorer {
    fn name(&self) -> &str {
        PAGES.name
    }

    fn roles(&self) -> Vec<Role> {
        vec![Role::Page]
    }

    fn settings(&self) -> Value {
        let pages = self.pages.as_ref();
        let settings = PageSettings {
            pages: pages.map_or(Value::Null, |pages| pages.settings()),
            page_tokens: self.page_tokens,
            dedup: self.dedup,
            reference: (self.mode == Mode::Compat).then(|| FACT_REFERENCE.to_owned()),
        };
        serde_json::to_value(settings).unwrap_or_default()
    }

    fn step(&self, subject: &Subject<'_>, verdicts: &Verdicts) -> Step {
        if subject.answer.is_missing_in(self.mode) {
            let reason = UnscoredReason::new(UnscoredKind::NoAnswer, "there is no answer");
            return Step::Done(fold::unscored(self, &reason));
        }
        if self.mode == Mode::Compat {
            return compat::step(self, subject, verdicts);
        }
        let report = &subject.answer.answer_text;
        let language = ReportLanguage::of_report(&subject.case.initial_prompt, report);
        let statements = match report::listed(report, language, verdicts) {
            Listed::Open(calls) => return Step::Ask(calls),
            Listed::Failed(reason) => return Step::Done(fold::unscored(self, &reason)),
            Listed::All(statements) => statements,
        };
        let mut pages = match cited::pages(self, &statements) {
            Ok(pages) => pages,
            Err(error) => {
                // A store that cannot be read says nothing about an answer.
                let reason = UnscoredReason::new(UnscoredKind::Exception, error.to_string());
                return Step::Done(fold::unscored(self, &reason));
            }
        };
        if self.dedup == Dedup::Judge {
            let calls = distinct::open_calls(&pages, language, verdicts);
            if !calls.is_empty() {
                return Step::Ask(calls);
            }
            if let Err(reason) = distinct::keep(&mut pages, verdicts) {
                return Step::Done(fold::unscored(self, &reason));
            }
        }
        ask_or_score(support::open_calls(&pages, language, verdicts), || {
            fold::score(self, pages, verdicts)
        })
    }
}

#[cfg(test)]
mod golden_tests;
#[cfg(any(test, feature = "testing"))]
pub mod test_support;
#[cfg(test)]
mod tests;
