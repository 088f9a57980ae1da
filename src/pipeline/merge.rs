//! Several draws of one call become one verdict.

use crate::domain::{ClaimShares, UnscoredKind, UnscoredReason, Verdict};
use crate::scorer::Judged;

/// One draw: what was read and said, or why nothing was.
pub(super) type Draw = Result<(Verdict, Option<String>), UnscoredReason>;

/// The mean of the draws that could be read; the first reason if none could.
///
/// Points and counts are averaged, claims by their two shares (their counts are summed). The feedback of the first
/// readable draw is kept.
pub(super) fn merge_draws(draws: Vec<Draw>) -> Judged {
    let mut first_reason = None;
    let mut feedback = None;
    let mut verdicts = Vec::with_capacity(draws.len());
    for draw in draws {
        match draw {
            Ok((verdict, said)) => {
                feedback = feedback.or(said);
                verdicts.push(verdict);
            }
            Err(reason) => first_reason = first_reason.or(Some(reason)),
        }
    }
    match mean(&verdicts) {
        Some(verdict) => Judged::Verdict(verdict, feedback),
        None => Judged::Unscored(
            first_reason.unwrap_or_else(|| UnscoredReason::new(UnscoredKind::NotAsked, "no draw was asked")),
        ),
    }
}

fn mean(verdicts: &[Verdict]) -> Option<Verdict> {
    let n = verdicts.len() as f64;
    match verdicts {
        [] => None,
        [only] => Some(*only),
        [Verdict::Points(_), ..] => Some(Verdict::Points(verdicts.iter().map(number).sum::<f64>() / n)),
        [Verdict::Count(_), ..] => Some(Verdict::Count(verdicts.iter().map(number).sum::<f64>() / n)),
        [Verdict::Grade(_), ..] => Some(Verdict::Grade(verdicts.iter().map(number).sum::<f64>() / n)),
        [Verdict::Attribution(first), ..] => Some(Verdict::Attribution(*first)),
        [Verdict::Claims(_), ..] => {
            let mut merged = ClaimShares { citations: 0.0, excerpts: 0.0, claim_count: 0, citation_count: 0 };
            for verdict in verdicts {
                if let Verdict::Claims(shares) = verdict {
                    merged.citations += shares.citations / n;
                    merged.excerpts += shares.excerpts / n;
                    merged.claim_count += shares.claim_count;
                    merged.citation_count += shares.citation_count;
                }
            }
            Some(Verdict::Claims(merged))
        }
    }
}

fn number(verdict: &Verdict) -> f64 {
    match verdict {
        Verdict::Points(value) | Verdict::Count(value) | Verdict::Grade(value) => *value,
        Verdict::Attribution(label) => f64::from(u8::from(label.is_support())),
        Verdict::Claims(shares) => shares.citations,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unreadable() -> UnscoredReason {
        UnscoredReason::new(UnscoredKind::Unreadable, "no JSON object")
    }

    #[test]
    fn readable_draws_are_averaged_and_unreadable_ones_left_out() {
        let merged = merge_draws(vec![
            Ok((Verdict::Points(7.0), None)),
            Err(unreadable()),
            Ok((Verdict::Points(4.0), Some("brief".into()))),
        ]);
        // (7 + 4) / 2
        assert_eq!(merged, Judged::Verdict(Verdict::Points(5.5), Some("brief".into())));
    }

    #[test]
    fn without_a_readable_draw_the_first_reason_stands() {
        assert_eq!(merge_draws(vec![Err(unreadable())]), Judged::Unscored(unreadable()));
    }

    #[test]
    fn one_draw_is_itself() {
        let shares = ClaimShares { citations: 1.0 / 3.0, excerpts: 0.0, claim_count: 3, citation_count: 1 };
        let merged = merge_draws(vec![Ok((Verdict::Claims(shares), None))]);
        assert_eq!(merged, Judged::Verdict(Verdict::Claims(shares), None));
    }

    #[test]
    fn claims_are_merged_by_their_shares() {
        let draw = |citations, excerpts| {
            Ok((Verdict::Claims(ClaimShares { citations, excerpts, claim_count: 2, citation_count: 1 }), None))
        };
        let Judged::Verdict(Verdict::Claims(merged), _) = merge_draws(vec![draw(1.0, 0.0), draw(0.5, 1.0)]) else {
            panic!("expected claims")
        };
        // (1 + 0.5) / 2 and (0 + 1) / 2
        assert_eq!((merged.citations, merged.excerpts), (0.75, 0.5));
        assert_eq!((merged.claim_count, merged.citation_count), (4, 2));
    }
}
