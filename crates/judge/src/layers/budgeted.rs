//! Stops calls before they exceed a budget.
//!
//! Every call reserves its maximum cost before it is sent, and settles its actual cost by the server's usage
//! afterwards. A call that does not fit beside other reservations waits for them to settle; one that does not fit
//! without any ends the run. A judge's first call goes alone, and its token count calibrates the others. The layer is
//! inside the cache, so cached replies are free, and around the retries, so a failed call costs nothing (services
//! charge for replies).
//!
//! Why reserve, and not stop when the sum is reached? With many calls in flight, all of them would be sent before the
//! first one's cost is known, and a budget would be exceeded by as many calls as a run makes at once.

use std::sync::{Arc, Mutex};

use serde::{Deserialize, Serialize};
use tokio::sync::{Mutex as FifoMutex, MutexGuard, Notify};

use crate::meters::Meters;
use crate::{AskError, AskFuture, Judge, JudgeRequest, Outcome, Rendered, locked};
use scholareval_core::domain::{JudgeReply, Usage, is_amount};
use scholareval_core::text::model_tokens::estimate_tokens;

/// Token estimates err: this multiple is reserved. 95% of answers are within 7% of their estimate
/// ([`crate::tokens`]), other languages and tokenizers are not.
const MARGIN: f64 = 1.25;
/// Where the server counted still more than that, this multiple of the highest ratio seen, since prompts differ.
const ABOVE_SEEN: f64 = 1.05;
/// Sums of floats: amounts that are equal on paper may differ in the last digits, and must not miss their budget by that.
const ROUNDING: f64 = 1e-9;
/// What a token costs more where it is written into the provider's prefix cache, as a share of its price (Anthropic).
const CACHE_WRITE: f64 = 0.25;

/// What a model costs, in USD per million tokens.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Price {
    /// Prompt tokens.
    pub prompt: f64,
    /// Reply tokens.
    pub completion: f64,
    /// Prompt tokens from the prefix cache of the service; `None`: priced as other prompt tokens.
    #[serde(default)]
    pub cached_prompt: Option<f64>,
}

impl Price {
    /// How to set the price of a model without one.
    pub fn how_to_set(model: &str) -> String {
        format!(
            "give --price IN,OUT (USD per million tokens of prompts and replies), or write [prices.\"{}\"] into the config file",
            model.escape_debug()
        )
    }

    /// This multiple of all rates.
    #[must_use]
    pub fn times(self, share: f64) -> Self {
        let cached_prompt = self.cached_prompt.map(|usd| usd * share);
        Self {
            prompt: self.prompt * share,
            completion: self.completion * share,
            cached_prompt,
        }
    }

    /// True if no rate is negative or infinite.
    pub fn is_valid(&self) -> bool {
        is_amount(self.prompt)
            && is_amount(self.completion)
            && self.cached_prompt.is_none_or(is_amount)
    }

    /// The cost of these tokens in USD:
    /// `((prompt - cached + 0.25 * written) * prompt price + cached * cached price + reply * reply price) / 1e6`, where
    /// `written` are the tokens that went into the provider's prefix cache.
    pub fn cost(&self, usage: &Usage) -> f64 {
        // Some servers count more cached tokens than prompt tokens; a cost is never negative.
        let cached = usage.cached_prompt_tokens.min(usage.prompt_tokens);
        let fresh =
            (usage.prompt_tokens - cached) as f64 + CACHE_WRITE * usage.cache_write_tokens as f64;
        let cached = cached as f64 * self.cached_prompt.unwrap_or(self.prompt);
        (fresh * self.prompt + cached + usage.completion_tokens as f64 * self.completion) / 1e6
    }
}

/// What a call costs, in both currencies of a budget.
#[derive(Debug, Clone, Copy, Default)]
struct Amount {
    usd: f64,
    /// A float, too: reservations are estimates.
    tokens: f64,
}

impl std::ops::Add for Amount {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            usd: self.usd + other.usd,
            tokens: self.tokens + other.tokens,
        }
    }
}

impl std::ops::Sub for Amount {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        Self {
            usd: self.usd - other.usd,
            tokens: self.tokens - other.tokens,
        }
    }
}

#[derive(Debug, Default)]
struct Account {
    spent: Amount,
    reserved: Amount,
    /// Calls with a reservation.
    open: usize,
    /// A call did not fit although nothing was reserved: no further one is sent.
    is_spent: bool,
}

type WhenSpent = Box<dyn Fn(&str) + Send + Sync>;

/// The account of a run, shared by all its judges.
pub struct Ledger {
    /// In US dollars.
    usd: Option<f64>,
    /// Prompt and reply tokens together.
    tokens: Option<u64>,
    account: Mutex<Account>,
    settled: Notify,
    when_spent: Mutex<Option<WhenSpent>>,
}

impl Ledger {
    /// An account of so many US dollars and tokens with nothing spent.
    pub fn new(usd: Option<f64>, tokens: Option<u64>) -> Self {
        Self {
            usd,
            tokens,
            account: Mutex::default(),
            settled: Notify::new(),
            when_spent: Mutex::new(None),
        }
    }

    /// Calls `act` once, with the reason, when no more calls are possible.
    pub fn when_spent(&self, act: impl Fn(&str) + Send + Sync + 'static) {
        *locked(&self.when_spent) = Some(Box::new(act));
    }

    /// Spent so far: USD (of judges with a price) and tokens.
    pub fn spent(&self) -> (f64, u64) {
        let spent = locked(&self.account).spent;
        (spent.usd, spent.tokens as u64)
    }

    /// Whether so much may be spent in all.
    fn holds(&self, sum: Amount) -> bool {
        is_within(sum.usd, self.usd)
            && is_within(sum.tokens, self.tokens.map(|tokens| tokens as f64))
    }

    /// Waits until the call fits; `None` if it never will.
    async fn reserve(&self, amount: Amount) -> Option<Reservation<'_>> {
        loop {
            // Subscribe before reading the account, so that no settlement is missed.
            let mut settled = std::pin::pin!(self.settled.notified());
            settled.as_mut().enable();
            let is_end = {
                let mut account = locked(&self.account);
                if account.is_spent {
                    return None;
                }
                if self.holds(account.spent + account.reserved + amount) {
                    account.reserved = account.reserved + amount;
                    account.open += 1;
                    return Some(Reservation {
                        ledger: self,
                        amount,
                        cost: Amount::default(),
                    });
                }
                // While other calls are open, their settlements may free enough: most calls cost
                // less than they reserve.
                account.is_spent = account.open == 0;
                account.is_spent
            };
            if is_end {
                self.end();
                return None;
            }
            settled.await;
        }
    }

    /// Reports that the budget is spent; waiting calls are not sent.
    fn end(&self) {
        let (usd, tokens) = self.spent();
        let mut spent = Vec::new();
        if let Some(budget) = self.usd {
            spent.push(format!("{usd:.4} of {budget} USD (--budget-usd)"));
        }
        if let Some(budget) = self.tokens {
            spent.push(format!("{tokens} of {budget} tokens (--budget-tokens)"));
        }
        let reason = format!(
            "the next call could exceed the budget; spent so far: {}",
            spent.join(" and ")
        );
        if let Some(act) = &*locked(&self.when_spent) {
            act(&reason);
        }
        self.settled.notify_waiters();
    }
}

/// Whether an amount is within a limit, if there is one.
fn is_within(amount: f64, limit: Option<f64>) -> bool {
    limit.is_none_or(|limit| amount <= limit * (1.0 + ROUNDING))
}

/// The reservation of a call, settled however the call ends: by a reply, an error, or a future that is dropped.
struct Reservation<'a> {
    ledger: &'a Ledger,
    amount: Amount,
    /// What the call has cost in the end; nothing if it had no reply.
    cost: Amount,
}

impl Drop for Reservation<'_> {
    fn drop(&mut self) {
        let mut account = locked(&self.ledger.account);
        account.open -= 1;
        // Sums of floats keep a remainder, which would grow; without open calls nothing is reserved.
        account.reserved = if account.open == 0 {
            Amount::default()
        } else {
            account.reserved - self.amount
        };
        account.spent = account.spent + self.cost;
        drop(account);
        self.ledger.settled.notify_waiters();
    }
}

/// `inner` within a budget; without one, it only counts what calls cost.
pub(crate) struct Budgeted<J> {
    inner: J,
    ledger: Option<Arc<Ledger>>,
    price: Option<Price>,
    meters: Arc<Meters>,
    /// The highest ratio of counted to estimated prompt tokens; `None` before the first reply.
    counted: Mutex<Option<f64>>,
    /// Held by the first call, until its reply arrives.
    first: FifoMutex<()>,
}

impl<J> Budgeted<J> {
    /// `inner`, whose calls cost `price`, counted in `meters`. A judge without a price uses tokens only.
    pub(crate) fn new(
        inner: J,
        ledger: Option<Arc<Ledger>>,
        price: Option<Price>,
        meters: Arc<Meters>,
    ) -> Self {
        Self {
            inner,
            ledger,
            price,
            meters,
            counted: Mutex::default(),
            first: FifoMutex::default(),
        }
    }

    /// The price of these tokens; 0 for a judge without one.
    fn usd(&self, usage: &Usage) -> f64 {
        self.price.map_or(0.0, |price| price.cost(usage))
    }

    fn amount(&self, usage: &Usage) -> Amount {
        let tokens = usage.prompt_tokens.saturating_add(usage.completion_tokens);
        Amount {
            usd: self.usd(usage),
            tokens: tokens as f64,
        }
    }

    /// Maximum cost of a call: its prompt with a margin, and its reply limit. A call without one restates the answer,
    /// so its reply counts as long as its prompt.
    fn at_most(&self, rendered: &Rendered) -> Amount {
        let prompt_tokens = self.with_margin(rendered.body.prompt_tokens);
        let completion_tokens = rendered.max_tokens.unwrap_or(prompt_tokens);
        self.amount(&Usage {
            prompt_tokens,
            completion_tokens,
            ..Usage::default()
        })
    }

    /// An estimate of tokens made so high that the server hardly counts more.
    fn with_margin(&self, estimate: u64) -> u64 {
        let counted = locked(&self.counted).unwrap_or_default();
        // The highest ratio and not the mean: a budget must hold for the text that the estimate
        // fits worst, and unused reservations come back with the reply.
        (estimate as f64 * MARGIN.max(counted * ABOVE_SEEN)) as u64
    }

    /// Cost of a reply by the server's count, else by the estimate with a margin, so that missing counts cannot exceed
    /// the budget.
    fn charge(&self, rendered: &Rendered, reply: &JudgeReply) -> Amount {
        let mut usage = reply.usage;
        self.calibrate(usage.prompt_tokens, rendered.body.prompt_tokens);
        // Some servers report no usage at all; counted as free, such calls would run past any
        // budget.
        if usage.prompt_tokens == 0 {
            usage.prompt_tokens = self.with_margin(rendered.body.prompt_tokens);
        }
        if usage.completion_tokens == 0 {
            usage.completion_tokens = self.with_margin(estimate_tokens(&reply.content));
        }
        self.amount(&usage)
    }

    /// Remembers by how much the server's count of a prompt exceeds the estimate.
    fn calibrate(&self, counted: u64, estimated: u64) {
        let ratio = counted as f64 / estimated.max(1) as f64;
        let mut highest = locked(&self.counted);
        *highest = Some(highest.unwrap_or_default().max(ratio));
    }

    /// The right to make the judge's first call, whose token count determines what the others reserve; `None` once a
    /// reply has come. The others wait here until then.
    async fn first_call(&self) -> Option<MutexGuard<'_, ()>> {
        if locked(&self.counted).is_some() {
            return None;
        }
        let first = self.first.lock().await;
        // The call before this one may have brought the count.
        locked(&self.counted).is_none().then_some(first)
    }
}

impl<J: Judge> Budgeted<J> {
    /// Asks and counts what the reply costs.
    async fn ask_counted(&self, request: &JudgeRequest) -> Result<Outcome, AskError> {
        let outcome = self.inner.ask(request).await?;
        if let Outcome::Reply(reply) = &outcome {
            self.meters.add_usd(self.usd(&reply.usage));
        }
        Ok(outcome)
    }

    /// Asks if the budget holds the most that the call can cost, beside the other calls; else the call is deferred.
    async fn ask_within(
        &self,
        ledger: &Ledger,
        request: &JudgeRequest,
        rendered: &Rendered,
    ) -> Result<Outcome, AskError> {
        // Before the first count nothing is known of the tokenizer; a hundred calls reserved on a
        // wrong estimate could overdraw the budget together.
        let _first = self.first_call().await;
        let Some(mut reservation) = ledger.reserve(self.at_most(rendered)).await else {
            return Ok(Outcome::Deferred);
        };
        let outcome = self.ask_counted(request).await?;
        if let Outcome::Reply(reply) = &outcome {
            reservation.cost = self.charge(rendered, reply);
        }
        Ok(outcome)
    }
}

impl<J: Judge> Judge for Budgeted<J> {
    fn ask<'a>(&'a self, request: &'a JudgeRequest) -> AskFuture<'a> {
        match (&self.ledger, &request.rendered) {
            (Some(ledger), Some(rendered)) => Box::pin(self.ask_within(ledger, request, rendered)),
            _ => Box::pin(self.ask_counted(request)),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use bytes::Bytes;

    use super::*;
    use crate::Body;
    use scholareval_core::domain::{Fingerprint, JudgeReply, Role};
    use scholareval_core::question::{Expertise, JudgeCall};

    /// Replies with this usage after a moment; counts the calls.
    struct Costs(Usage, AtomicUsize);

    impl Judge for Costs {
        fn ask<'a>(&'a self, _request: &'a JudgeRequest) -> AskFuture<'a> {
            self.1.fetch_add(1, Ordering::SeqCst);
            Box::pin(async move {
                tokio::task::yield_now().await;
                Ok(Outcome::Reply(JudgeReply {
                    usage: self.0,
                    ..JudgeReply::of_text("{}")
                }))
            })
        }
    }

    fn request(prompt_tokens: u64, max_tokens: u64) -> JudgeRequest {
        let task = Expertise {
            question: "q".into(),
            answer: "a".into(),
        };
        JudgeRequest {
            call: JudgeCall::new("expertise", Role::Rubric, task),
            system: "s".into(),
            case_id: "c".into(),
            attempt: 0,
            rendered: Some(Rendered {
                max_tokens: Some(max_tokens),
                ..Rendered::new(Fingerprint::from([0; 32]), move || {
                    Body::new(prompt_tokens, Bytes::new)
                })
            }),
        }
    }

    fn usage(prompt_tokens: u64, completion_tokens: u64) -> Usage {
        Usage {
            prompt_tokens,
            completion_tokens,
            ..Usage::default()
        }
    }

    async fn ask_many<J: Judge>(judge: &J, count: usize) -> usize {
        let request = request(80, 100);
        let outcomes = futures::future::join_all((0..count).map(|_| judge.ask(&request))).await;
        outcomes
            .iter()
            .filter(|outcome| matches!(outcome, Ok(Outcome::Reply(_))))
            .count()
    }

    #[test]
    fn cached_prompt_tokens_have_a_price_of_their_own() {
        let price = Price {
            prompt: 2.0,
            completion: 8.0,
            cached_prompt: Some(0.5),
        };
        let usage = Usage {
            prompt_tokens: 1000,
            cached_prompt_tokens: 400,
            completion_tokens: 50,
            ..Usage::default()
        };
        // (600 * 2 + 400 * 0.5 + 50 * 8) / 1e6
        assert!((price.cost(&usage) - 0.0018).abs() < 1e-12);
        let plain = Price {
            cached_prompt: None,
            ..price
        };
        assert!((plain.cost(&usage) - 0.0024).abs() < 1e-12);
    }

    #[tokio::test]
    async fn calls_wait_for_what_others_give_back_and_the_budget_is_never_passed() {
        // a call reserves 80 * 5/4 + 100 = 200 and costs 100: of 1,000 tokens nine can be used, the tenth would have to
        // reserve 200 of the 100 that are left
        let ledger = Arc::new(Ledger::new(None, Some(1000)));
        let reasons = Arc::new(Mutex::new(Vec::new()));
        let sink = Arc::clone(&reasons);
        ledger.when_spent(move |reason| sink.lock().unwrap().push(reason.to_owned()));
        let judge = Budgeted::new(
            Costs(usage(80, 20), AtomicUsize::new(0)),
            Some(Arc::clone(&ledger)),
            None,
            Arc::default(),
        );
        assert_eq!(ask_many(&judge, 50).await, 9);
        assert_eq!(
            (ledger.spent().1, judge.inner.1.load(Ordering::SeqCst)),
            (900, 9)
        );
        let reasons = reasons.lock().unwrap();
        assert_eq!(reasons.len(), 1, "reported once");
        assert!(reasons[0].contains("900 of 1000 tokens"), "{}", reasons[0]);
    }

    #[tokio::test]
    async fn dollars_are_counted_by_the_price_of_the_model() {
        let ledger = Arc::new(Ledger::new(Some(0.001), None));
        let price = Price {
            prompt: 1.0,
            completion: 1.0,
            cached_prompt: None,
        };
        // each reserves 200e-6 and costs 100e-6 USD, as above
        let judge = Budgeted::new(
            Costs(usage(80, 20), AtomicUsize::new(0)),
            Some(Arc::clone(&ledger)),
            Some(price),
            Arc::default(),
        );
        assert_eq!(ask_many(&judge, 50).await, 9);
        assert!(
            (ledger.spent().0 - 0.0009).abs() < 1e-12,
            "{:?}",
            ledger.spent()
        );
    }

    #[tokio::test]
    async fn a_call_that_fails_costs_nothing_and_a_server_that_does_not_count_is_counted_for() {
        struct Fails;
        impl Judge for Fails {
            fn ask<'a>(&'a self, _request: &'a JudgeRequest) -> AskFuture<'a> {
                let error = AskError::Transient {
                    message: "x".into(),
                    status: None,
                    retry_after: None,
                };
                Box::pin(std::future::ready(Err(error)))
            }
        }
        let ledger = Arc::new(Ledger::new(None, Some(1000)));
        let failing = Budgeted::new(Fails, Some(Arc::clone(&ledger)), None, Arc::default());
        assert!(failing.ask(&request(80, 100)).await.is_err());
        assert_eq!(ledger.spent().1, 0);
        let silent = Budgeted::new(
            Costs(usage(0, 0), AtomicUsize::new(0)),
            Some(Arc::clone(&ledger)),
            None,
            Arc::default(),
        );
        assert!(silent.ask(&request(80, 100)).await.is_ok());
        // 80 * 5/4 of the estimate, and 2 * 5/4 for `{}`, whole tokens
        assert_eq!(ledger.spent().1, 102);
    }

    #[tokio::test]
    async fn a_server_that_counts_far_more_than_the_estimate_does_not_pass_the_budget_either() {
        // an estimate of 80 that is counted as 320: the first call reserves 80 * 5/4 + 100 = 200 and costs 340; from then on
        // 80 * 4 * 1.05 + 100 = 436 are reserved: once more (340 + 436 = 776, and 680 spent), and no third time (1116).
        // With 200 reserved by all five at once would fit, and cost 1700
        for at_once in [1, 50] {
            let ledger = Arc::new(Ledger::new(None, Some(1000)));
            let judge = Budgeted::new(
                Costs(usage(320, 20), AtomicUsize::new(0)),
                Some(Arc::clone(&ledger)),
                None,
                Arc::default(),
            );
            for _ in 0..9 {
                ask_many(&judge, at_once).await;
            }
            assert_eq!(ledger.spent().1, 680, "{at_once} at once");
        }
    }

    #[tokio::test]
    async fn a_count_beyond_all_sense_spends_the_budget_and_does_not_wrap_around() {
        let ledger = Arc::new(Ledger::new(None, Some(1000)));
        let judge = Budgeted::new(
            Costs(usage(80, u64::MAX), AtomicUsize::new(0)),
            Some(Arc::clone(&ledger)),
            None,
            Arc::default(),
        );
        assert_eq!(ask_many(&judge, 9).await, 1);
    }

    #[tokio::test]
    async fn without_a_budget_nothing_is_held_back_and_the_cost_is_counted() {
        let (price, meters) = (
            Price {
                prompt: 1.0,
                completion: 2.0,
                cached_prompt: None,
            },
            Arc::<Meters>::default(),
        );
        let judge = Budgeted::new(
            Costs(usage(80, 20), AtomicUsize::new(0)),
            None,
            Some(price),
            Arc::clone(&meters),
        );
        assert_eq!(ask_many(&judge, 50).await, 50);
        // 50 * (80 * 1 + 20 * 2) / 1e6
        assert!((meters.usd() - 0.006).abs() < 1e-9, "{}", meters.usd());
    }
}
