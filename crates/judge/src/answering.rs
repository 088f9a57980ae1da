//! Which cached replies of a judge count: those of the model that answers for it now.
//!
//! A service may answer a judge's calls by another model from one day to the next, under the same name. Replies of both have
//! the same keys, and mixing them would give scores by no single judge. The rule:
//!
//! - The cache keeps for each judge which model gave its most recent live reply. Until the run has a live reply itself, a
//!   cached reply counts if it is by that model; every reply counts if none is known, as in a cache of an older version.
//! - The first live reply of the run decides anew. If cached replies of another model were used before it, the run is
//!   *contradicted*: what was scored by them is scored again.
//! - From then on the replies of every model count that has answered in this run: identical calls are paid once, even to a
//!   server that answers by several models.
//! - A run that needs no live call may use its cached replies as they are ([`Answering::count_as_they_are`]).
//!
//! A reply that names no model always counts. A reply that does not count stays in the cache and may count again later.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use super::cache::{Cache, Entry, Lease, Leased, Models, Stored};
use super::planner::ReplySource;
use super::{JudgeRequest, locked};
use scholareval_core::domain::{Fingerprint, JudgeReply};
use scholareval_core::error::Result;

/// The cached replies of one judge, as far as they count in a run.
#[derive(Debug)]
pub struct Answering {
    cache: Cache,
    judge: Arc<str>,
    state: Mutex<AnsweringState>,
}

/// The effective rule, and what has followed from it so far.
#[derive(Debug)]
struct AnsweringState {
    /// The model of the judge's most recent live reply before this run.
    latest: Option<String>,
    rule: Rule,
    /// The models of the cached replies that were used.
    used: BTreeSet<String>,
    /// Cached replies that were not used because they are by another model.
    passed_over: u64,
    /// The model of the first live reply, if replies of another model had been used.
    contradicted_by: Option<String>,
}

/// Whose replies count.
#[derive(Debug)]
enum Rule {
    /// Those of the most recent live reply's model; all if it is unknown.
    Latest,
    /// All.
    AsTheyAre,
    /// Those of the models that answered in this run.
    Live(BTreeSet<String>),
}

impl AnsweringState {
    /// The models whose replies count at this moment.
    fn models(&self) -> Models {
        match &self.rule {
            Rule::AsTheyAre => Models::Any,
            Rule::Live(models) => Models::Only(models.clone()),
            Rule::Latest => match &self.latest {
                Some(latest) => Models::Only(BTreeSet::from([latest.clone()])),
                None => Models::Any,
            },
        }
    }

    fn forget_uses(&mut self) {
        self.used.clear();
        self.passed_over = 0;
        self.contradicted_by = None;
    }
}

impl Answering {
    /// The replies in `cache` of the judge with this identity.
    ///
    /// # Errors
    /// When the cache cannot be read.
    pub fn new(cache: Cache, judge: impl Into<Arc<str>>) -> Result<Self> {
        let judge = judge.into();
        let latest = cache.answering_model(&judge)?;
        let state = AnsweringState {
            latest,
            rule: Rule::Latest,
            used: BTreeSet::new(),
            passed_over: 0,
            contradicted_by: None,
        };
        Ok(Self {
            cache,
            judge,
            state: Mutex::new(state),
        })
    }

    /// The judge's identity.
    pub fn judge(&self) -> &str {
        &self.judge
    }

    /// The cached reply of that key, if one counts.
    ///
    /// # Errors
    /// When the cache cannot be read.
    pub fn get(&self, key: &Fingerprint) -> Result<Option<JudgeReply>> {
        let models = locked(&self.state).models();
        match self.cache.get_by(key, &models)? {
            Stored::Reply(reply) => Ok(self.takes(&reply).then_some(reply)),
            Stored::OfOtherModels => {
                locked(&self.state).passed_over += 1;
                Ok(None)
            }
            Stored::Nothing => Ok(None),
        }
    }

    /// The cached reply of that key if one counts, else the right to ask for it; `None` while another asks.
    ///
    /// # Errors
    /// When the cache cannot be read or written.
    pub fn try_lease(&self, key: &Fingerprint) -> Result<Option<Leased>> {
        loop {
            let models = locked(&self.state).models();
            match self.cache.try_lease_by(key, &models)? {
                // Another model has answered since: it is looked up again.
                Some(Leased::Cached(reply)) if !self.takes(&reply) => {}
                leased => return Ok(leased),
            }
        }
    }

    /// The process that asks this call, if that is another one.
    ///
    /// # Errors
    /// When the cache cannot be read.
    pub fn asked_by_other(&self, key: &Fingerprint) -> Result<Option<String>> {
        self.cache.asked_by_other(key)
    }

    /// As [`Answering::try_lease`], but waits while another asks.
    ///
    /// # Errors
    /// When the cache cannot be read or written.
    pub async fn lease(&self, key: &Fingerprint) -> Result<Leased> {
        loop {
            let leased = self
                .cache
                .lease_by(key, || locked(&self.state).models())
                .await?;
            match leased {
                // Another model has answered since: it is looked up again.
                Leased::Cached(reply) if !self.takes(&reply) => {}
                leased => return Ok(leased),
            }
        }
    }

    /// Stores a live reply, by whose model other replies are judged from now on.
    ///
    /// # Errors
    /// When the cache cannot be written.
    pub fn put(&self, entry: &Entry, lease: Lease) -> Result<()> {
        self.cache.put_live(entry, lease)?;
        let Some(model) = entry.reply.answering_model() else {
            return Ok(());
        };
        let mut state = locked(&self.state);
        if let Rule::Live(models) = &mut state.rule {
            models.insert(model.to_owned());
            return Ok(());
        }
        // Only now it is known who answers; scores that rest on other replies cannot be mended one
        // by one, so they are made again.
        if state.used.iter().any(|used| used != model) {
            state.contradicted_by = Some(model.to_owned());
        }
        state.rule = Rule::Live(BTreeSet::from([model.to_owned()]));
        Ok(())
    }

    /// Whether a cached reply counts, which is then used.
    fn takes(&self, reply: &JudgeReply) -> bool {
        let mut state = locked(&self.state);
        let counts = state.models().allow(reply);
        if counts && let Some(model) = reply.answering_model() {
            state.used.insert(model.to_owned());
        }
        counts
    }

    /// Whether the first live reply was by another model than cached replies that were used before.
    pub fn is_contradicted(&self) -> bool {
        locked(&self.state).contradicted_by.is_some()
    }

    /// Whether cached replies were not used because they are by another model.
    pub fn has_passed_over(&self) -> bool {
        locked(&self.state).passed_over > 0
    }

    /// Whether the cached replies that were used are by a single model.
    pub fn used_one_model(&self) -> bool {
        locked(&self.state).used.len() <= 1
    }

    /// Lets cached replies count as they are, until a live reply comes.
    pub fn count_as_they_are(&self) {
        self.begin_again_by(Rule::AsTheyAre);
    }

    /// Lets only cached replies by the model of the most recent live reply count, until a live reply comes.
    pub fn count_latest(&self) {
        self.begin_again_by(Rule::Latest);
    }

    /// Forgets which replies were used: the answers are scored again.
    pub fn begin_again(&self) {
        locked(&self.state).forget_uses();
    }

    fn begin_again_by(&self, rule: Rule) {
        let mut state = locked(&self.state);
        state.forget_uses();
        // What a live reply has shown is not forgotten by a choice made for cached ones.
        if !matches!(state.rule, Rule::Live(_)) {
            state.rule = rule;
        }
    }

    /// What the user must know of cached replies that do not count; `None` without any.
    pub fn note(&self) -> Option<String> {
        let state = locked(&self.state);
        let judge = self.judge.split('|').next().unwrap_or_default();
        if let Some(model) = &state.contradicted_by {
            let used = state.used.iter().map(String::as_str);
            let others: Vec<&str> = used.filter(|used| used != model).collect();
            return Some(format!(
                "{model} answers as judge {judge} now: answers that were scored by cached replies of {} are scored again",
                others.join(" and ")
            ));
        }
        if state.passed_over == 0 || !matches!(state.rule, Rule::Latest) {
            return None;
        }
        let latest = state.latest.as_ref()?;
        let count = state.passed_over;
        let replies = if count == 1 { "reply" } else { "replies" };
        Some(format!(
            "judge {judge}: {count} cached {replies} of other models than {latest}, which answered last, do not count"
        ))
    }
}

/// Only rendered calls have a key.
impl ReplySource for Answering {
    fn find(&self, request: &JudgeRequest) -> Result<Option<JudgeReply>> {
        match &request.rendered {
            Some(rendered) => rendered.find(|key| self.get(key)),
            None => Ok(None),
        }
    }
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;
    use crate::cache::CallLabel;

    fn entry(key: u8, model: Option<&str>) -> Entry {
        let label = CallLabel {
            kind: "property".into(),
            judge: "m".into(),
            role: "rubric".into(),
            sample: 0,
            attempt: 0,
        };
        let reply = JudgeReply {
            model: model.map(str::to_owned),
            ..JudgeReply::of_text(format!("{key} by {}", model.unwrap_or("nobody")))
        };
        Entry::new(Fingerprint::from([key; 32]), label, reply)
    }

    fn cache() -> (TempDir, Cache) {
        let dir = tempfile::tempdir().unwrap();
        let cache = Cache::open(&dir.path().join("cache")).unwrap();
        (dir, cache)
    }

    fn content(answering: &Answering, key: u8) -> Option<String> {
        let reply = answering.get(&Fingerprint::from([key; 32])).unwrap();
        reply.map(|reply| reply.content)
    }

    /// A live reply of that model to that key.
    async fn live(answering: &Answering, key: u8, model: Option<&str>) {
        let entry = entry(key, model);
        match answering.lease(&entry.key).await.unwrap() {
            Leased::Granted(lease) => answering.put(&entry, lease).unwrap(),
            Leased::Cached(reply) => panic!("{reply:?} is cached"),
        }
    }

    #[tokio::test]
    async fn a_cached_reply_counts_if_its_model_gave_the_most_recent_live_reply() {
        let (_dir, cache) = cache();
        let first = Answering::new(cache.clone(), "m").unwrap();
        live(&first, 1, Some("old")).await;
        live(&first, 2, Some("new")).await;
        assert!(!first.is_contradicted(), "no cached reply was used");
        assert_eq!(content(&first, 1).unwrap(), "1 by old", "of this run");

        let second = Answering::new(cache.clone(), "m").unwrap();
        assert_eq!(
            (content(&second, 1), second.has_passed_over()),
            (None, true)
        );
        assert_eq!(content(&second, 2).unwrap(), "2 by new");
        assert!(
            second
                .note()
                .unwrap()
                .contains("1 cached reply of other models than new")
        );
        live(&second, 1, Some("new")).await;
        assert_eq!(content(&second, 1).unwrap(), "1 by new");

        // The reply that did not count is still there, and counts when its model answers again.
        live(&Answering::new(cache.clone(), "m").unwrap(), 3, Some("old")).await;
        let third = Answering::new(cache.clone(), "m").unwrap();
        assert_eq!(content(&third, 1).unwrap(), "1 by old");
        assert_eq!(content(&third, 2), None);

        let other = Answering::new(cache, "another judge").unwrap();
        assert_eq!(
            content(&other, 2).unwrap(),
            "2 by new",
            "nothing is known of it"
        );
    }

    #[tokio::test]
    async fn the_first_live_reply_contradicts_what_was_used_before() {
        let (_dir, cache) = cache();
        // As in the cache of an older version: nobody knows who answered last.
        cache.put(&entry(1, Some("old")), None).unwrap();
        cache.put(&entry(2, None), None).unwrap();
        let answering = Answering::new(cache.clone(), "m").unwrap();
        assert!(content(&answering, 1).is_some() && content(&answering, 2).is_some());
        live(&answering, 3, None).await;
        assert!(!answering.is_contradicted(), "it names no model");
        live(&answering, 4, Some("new")).await;
        assert!(answering.is_contradicted());
        answering.begin_again();
        assert!(!answering.is_contradicted());
        assert_eq!(content(&answering, 1), None);
        assert!(content(&answering, 2).is_some() && content(&answering, 3).is_some());

        live(&answering, 5, Some("old")).await;
        assert!(!answering.is_contradicted(), "only the first one decides");
        assert_eq!(content(&answering, 1).unwrap(), "1 by old", "both answer");
        let agreeing = Answering::new(cache, "m").unwrap();
        content(&agreeing, 1);
        live(&agreeing, 6, Some("old")).await;
        assert!(!agreeing.is_contradicted());
    }

    #[tokio::test]
    async fn without_live_calls_replies_can_count_as_they_are() {
        let (_dir, cache) = cache();
        let first = Answering::new(cache.clone(), "m").unwrap();
        live(&first, 1, Some("old")).await;
        live(&first, 2, Some("new")).await;
        let answering = Answering::new(cache, "m").unwrap();
        answering.count_as_they_are();
        assert_eq!(content(&answering, 1).unwrap(), "1 by old");
        assert!(answering.used_one_model());
        assert_eq!(content(&answering, 2).unwrap(), "2 by new");
        assert!(!answering.used_one_model());
        answering.count_latest();
        assert_eq!(content(&answering, 1), None);
    }

    #[tokio::test]
    async fn two_processes_agree_on_who_answered_last() {
        let (_dir, cache) = cache();
        let first = Answering::new(cache.clone(), "m").unwrap();
        let path = cache.path().to_owned();
        let second = Answering::new(Cache::open(&path).unwrap(), "m").unwrap();
        live(&first, 1, Some("old")).await;
        live(&second, 2, Some("new")).await;
        // The first has its answer already: that of the other process is by another model and does not count for it.
        assert_eq!(content(&first, 2), None);
        live(&first, 2, Some("old")).await;
        assert_eq!(content(&second, 2).unwrap(), "2 by new");
        assert_eq!(cache.answering_model("m").unwrap().as_deref(), Some("old"));
    }
}
