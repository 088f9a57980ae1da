//! Limits of a run: money, tokens and time.

use std::num::NonZeroU64;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::StopHandle;
use super::options::EvaluationOptions;
use crate::domain::TimeSpan;
use crate::error::{Error, Result};
use crate::judge::layers::budgeted::{Ledger, Price};

/// Time reserved for calls in flight at the end of a time limit; at most a tenth of the limit.
// The grace of a stop (20 s) and some seconds for writing the tables.
const LEAD: Duration = Duration::from_secs(25);

/// The budget and time limit of a run.
pub(super) struct Spending {
    /// `None` without a budget.
    pub(super) ledger: Option<Arc<Ledger>>,
    /// Start of the command, and its time limit.
    time: Option<(Instant, Duration)>,
}

impl Spending {
    /// The limits that were set, for these models with their prices.
    ///
    /// # Errors
    /// [`Error::Settings`] for a budget in dollars where a model has no price.
    pub(super) fn of<'a>(
        options: &EvaluationOptions,
        mut models: impl Iterator<Item = (&'a str, Option<Price>)>,
    ) -> Result<Self> {
        let limits = &options.budget;
        let unpriced = models.find(|(_, price)| price.is_none());
        if let (Some(_), Some((model, _))) = (limits.budget_usd, unpriced) {
            let remedy = Price::how_to_set(model);
            return Err(Error::Settings(format!(
                "--budget-usd: the price of {model:?} is unknown; {remedy}"
            )));
        }
        let (usd, tokens) = (limits.budget_usd, limits.budget_tokens.map(NonZeroU64::get));
        Ok(Self {
            ledger: (usd.is_some() || tokens.is_some()).then(|| Arc::new(Ledger::new(usd, tokens))),
            // From the start of the command, since that is when a scheduler's clock started, too.
            time: limits.time_limit.map(|limit| (Instant::now(), *limit)),
        })
    }

    /// Stops the run when its budget is spent or its time is over. Must be called in a Tokio runtime.
    pub(super) fn bound(&self, stop: &StopHandle) {
        if let Some(ledger) = &self.ledger {
            let stop = stop.clone();
            ledger.when_spent(move |reason| stop.stop(reason));
        }
        if let Some((start, limit)) = self.time {
            let stop = stop.clone();
            let until = start + limit.saturating_sub(lead(limit));
            let reason = out_of_time(limit);
            tokio::spawn(async move {
                tokio::time::sleep_until(until.into()).await;
                stop.stop(&reason);
            });
        }
    }
}

/// How long before the limit the run stops sending calls.
fn lead(limit: Duration) -> Duration {
    // A short limit in a test or a trial would otherwise end before it begins.
    LEAD.min(limit / 10)
}

/// The reason for a stop at the time limit, with the time reserved for calls in flight.
fn out_of_time(limit: Duration) -> String {
    let lead = lead(limit).as_secs_f64();
    let limit = TimeSpan(limit);
    format!(
        "the time limit of {limit} (--time-limit), of which the last {lead:.1}s are kept for calls in flight"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_limit_message_names_the_reserved_time() {
        let message = |limit| out_of_time(Duration::from_millis(limit));
        // a tenth of short limits, 25 s of long ones
        let kept = "the time limit of 2s (--time-limit), of which the last 0.2s are kept for calls in flight";
        assert_eq!(message(2000), kept);
        assert!(
            message(1_200_000)
                .starts_with("the time limit of 20m (--time-limit), of which the last 25.0s are")
        );
    }
}
