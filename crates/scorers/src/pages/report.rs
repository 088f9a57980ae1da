//! The statements of a report: asked at once, and by halves where the reply is too long.

use std::sync::Arc;

use crate::Verdicts;
use scholareval_core::domain::{
    CitedStatement, ReportLanguage, Role, UnscoredKind, UnscoredReason, Verdict,
};
use scholareval_core::question::{CitedStatements, JudgeCall};
use scholareval_core::text::source_lists::source_lists;

/// Item of the call about the whole report. A half adds a number to the name of what was halved.
const STATEMENTS: &str = "statements";

/// How often a report is halved: in parts of a sixteenth even the longest have a list of statements below the limit of a reply.
const MOST_HALVINGS: usize = 4;

/// The statements of a report, as far as they are known.
#[derive(Debug, PartialEq)]
pub(super) enum Listed {
    /// These calls come first.
    Open(Vec<JudgeCall>),
    /// A part of the report has no usable reply.
    Failed(UnscoredReason),
    /// All of them, in the order of the report.
    All(Vec<CitedStatement>),
}

/// The statements of a report, or the calls that still list them. A report without a word has none.
pub(super) fn listed(report: &str, language: ReportLanguage, verdicts: &Verdicts) -> Listed {
    if report.trim().is_empty() {
        return Listed::All(Vec::new());
    }
    let references = references_at(report);
    let whole = Piece {
        body: &report[..references],
        references: &report[references..],
    };
    let mut listing = Listing {
        language,
        verdicts,
        calls: Vec::new(),
        statements: Vec::new(),
        failed: None,
    };
    listing.add(whole, STATEMENTS);
    if let Some(reason) = listing.failed {
        // Nothing more is paid for an answer that has no score.
        return Listed::Failed(reason);
    }
    if listing.calls.is_empty() {
        Listed::All(listing.statements)
    } else {
        Listed::Open(listing.calls)
    }
}

/// A part of a report, with the list of references of the whole: without it a number in brackets has no address.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Piece<'a> {
    body: &'a str,
    references: &'a str,
}

impl Piece<'_> {
    fn text(self) -> Arc<str> {
        [self.body, self.references].concat().into()
    }

    /// Two halves of about the same length, split between paragraphs, else between lines; `None` for a single line.
    fn halves(self) -> Option<[Self; 2]> {
        let middle = middle_break(self.body, "\n\n").or_else(|| middle_break(self.body, "\n"))?;
        let (first, second) = self.body.split_at(middle);
        Some([first, second].map(|body| Self { body, ..self }))
    }
}

/// Where the second half begins: after the separator nearest to the middle that has text on both sides.
fn middle_break(text: &str, separator: &str) -> Option<usize> {
    let ends = text
        .match_indices(separator)
        .map(|(at, separator)| at + separator.len());
    let inner = ends.filter(|end| {
        let (first, second) = text.split_at(*end);
        !first.trim().is_empty() && !second.trim().is_empty()
    });
    inner.min_by_key(|end| end.abs_diff(text.len() / 2))
}

/// Where the list of references at the end of a report begins; its length if there is none.
fn references_at(report: &str) -> usize {
    let lists = source_lists(report);
    let at_end = lists.last().filter(|list| {
        let has_body = !report[..list.range.start].trim().is_empty();
        has_body && report[list.range.end..].trim().is_empty()
    });
    at_end.map_or(report.len(), |list| list.range.start)
}

/// Collects the statements of all parts of a report.
struct Listing<'a> {
    language: ReportLanguage,
    verdicts: &'a Verdicts,
    calls: Vec<JudgeCall>,
    statements: Vec<CitedStatement>,
    failed: Option<UnscoredReason>,
}

impl Listing<'_> {
    fn add(&mut self, piece: Piece<'_>, item: &str) {
        match self.verdicts.get(item) {
            None => {
                let question = CitedStatements {
                    report: piece.text(),
                    language: self.language,
                };
                self.calls.push(JudgeCall::new(item, Role::Page, question));
            }
            Some(Ok(reading)) => match &reading.verdict {
                Verdict::Statements(statements) => self.statements.extend_from_slice(statements),
                _ => self.fail(UnscoredReason::other_kind()),
            },
            Some(Err(reason)) => match piece.halves().filter(|_| may_help(reason.kind, item)) {
                Some(halves) => {
                    for (number, half) in (1..).zip(halves) {
                        self.add(half, &format!("{item}.{number}"));
                    }
                }
                None => self.fail(reason.clone()),
            },
        }
    }

    fn fail(&mut self, reason: UnscoredReason) {
        self.failed.get_or_insert(reason);
    }
}

/// Whether a shorter text may get a usable reply: not from a judge that writes something else, and not without end from one
/// that repeats itself up to its limit.
fn may_help(kind: UnscoredKind, item: &str) -> bool {
    let halvings = item.matches('.').count();
    let is_long = matches!(kind, UnscoredKind::Cut | UnscoredKind::ContextOverflow);
    is_long && halvings < MOST_HALVINGS
}

#[cfg(test)]
mod tests {
    use super::*;
    use scholareval_core::domain::Reading;

    const REPORT: &str = "Ice shrinks [1].\n\nIce grows [2].\n\n## References\n[1] https://a.example\n[2] https://b.example\n";

    fn of(report: &str, verdicts: &Verdicts) -> Listed {
        listed(report, ReportLanguage::English, verdicts)
    }

    fn statement(text: &str) -> CitedStatement {
        CitedStatement {
            text: text.to_owned(),
            urls: Vec::new(),
        }
    }

    fn list(texts: &[&str]) -> Reading {
        let statements = texts.iter().map(|text| statement(text)).collect();
        Reading::new(Verdict::Statements(statements))
    }

    fn cut() -> UnscoredReason {
        UnscoredReason::new(UnscoredKind::Cut, "cut at 16000 tokens")
    }

    fn texts_asked(listed: &Listed) -> Vec<(String, String)> {
        let Listed::Open(calls) = listed else {
            panic!("{listed:?}");
        };
        let mut texts = Vec::new();
        for call in calls {
            let question: &CitedStatements = call.question.downcast_ref().unwrap();
            texts.push((call.item.to_string(), question.report.to_string()));
        }
        texts
    }

    #[test]
    fn a_cut_reply_is_asked_again_by_halves_that_keep_the_references() {
        let mut verdicts = Verdicts::new();
        let whole = texts_asked(&of(REPORT, &verdicts));
        assert_eq!(whole, [("statements".to_owned(), REPORT.to_owned())]);

        verdicts.insert("statements".into(), Err(cut()));
        let halves = texts_asked(&of(REPORT, &verdicts));
        let references = &REPORT[REPORT.find("##").unwrap()..];
        assert_eq!(halves[0].0, "statements.1");
        assert_eq!(halves[0].1, format!("Ice shrinks [1].\n\n{references}"));
        assert_eq!(halves[1].1, format!("Ice grows [2].\n\n{references}"));

        verdicts.insert("statements.1".into(), Ok(list(&["a"])));
        verdicts.insert("statements.2".into(), Ok(list(&["b"])));
        let all = Listed::All(vec![statement("a"), statement("b")]);
        assert_eq!(of(REPORT, &verdicts), all);

        // A single paragraph has no halves.
        verdicts.insert("statements.2".into(), Err(cut()));
        assert_eq!(of(REPORT, &verdicts), Listed::Failed(cut()));
    }

    #[test]
    fn a_refusal_is_not_asked_by_halves_and_an_empty_report_not_at_all() {
        let refused = UnscoredReason::new(UnscoredKind::Refused, "no");
        let verdicts = Verdicts::from([("statements".into(), Err(refused.clone()))]);
        assert_eq!(of(REPORT, &verdicts), Listed::Failed(refused));
        assert_eq!(of(" \n", &Verdicts::new()), Listed::All(Vec::new()));
    }

    #[test]
    fn references_are_found_by_their_title_or_as_entries_at_the_end() {
        let end = |text: &str| text[references_at(text)..].to_owned();
        assert!(end(REPORT).starts_with("## References"));
        let section =
            "Ice [1].\n\n## Literature\n\nOthers differ [2].\nMany do.\n\n[1] https://a.example";
        assert_eq!(end(section), "[1] https://a.example");
        let first = "# Sources\n[1] https://a.example\n\n# Answer\nIce shrinks [1].";
        assert_eq!(end(first), "");
        let bare = "Ice [1].\n\n[1]: https://a.example\n- b, doi:10.1000/b\n\n";
        assert!(end(bare).starts_with("[1]: https"));
        assert_eq!(end("Ice (https://a.example)."), "");
        assert_eq!(end(""), "");
    }
}
