//! What the fake judge did with each call, and the faults it is told to have.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use serde_json::Value;

use super::{Act, Behaviour, Protocol};
use crate::support::fake_server::Recorded;

/// What is done to a call instead of a good reply.
#[derive(Clone)]
pub(super) enum Fault {
    /// No reply arrives whole.
    Failing(Act),
    /// A good reply arrives whole; what comes with it is odd.
    Harmless(Act),
    /// A reply arrives whole, is paid, and nobody can read a verdict in it.
    Unreadable(Act),
}

/// How one sending of a call ended.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sending {
    Failed,
    Unreadable,
    Whole,
}

/// A call that has just arrived.
pub(super) struct Asked<'a> {
    pub(super) body: &'a [u8],
    /// How often the same call came before.
    pub(super) before: usize,
    /// How many calls came before, of whatever bytes.
    pub(super) number: usize,
    /// Whether a whole reply to it was sent already, readable or not.
    pub(super) was_paid: bool,
}

impl Asked<'_> {
    /// A number that depends on the bytes of the call and on `salt` alone: the same in every run.
    pub(super) fn hash(&self, salt: &str) -> u64 {
        let mut hasher = blake3::Hasher::new();
        hasher.update(salt.as_bytes()).update(self.body);
        u64::from_le_bytes(hasher.finalize().as_bytes()[..8].try_into().unwrap())
    }

    /// True for about so many of 100 calls.
    pub(super) fn is_among(&self, percent: u64) -> bool {
        self.hash("share") % 100 < percent
    }
}

/// Counts, for each call, how it was answered.
#[derive(Clone, Default)]
pub(super) struct Ledger {
    book: Arc<Mutex<Book>>,
    protocol: Protocol,
}

/// The call that a request makes: its body without the form of its reply. The repeat of an unreadable reply may ask for
/// a schema, and is the same call.
fn call_of(request: &Recorded) -> Vec<u8> {
    let mut body = request.json();
    let members = request.form().map_or(&[][..], |form| form.reply_members);
    for (parent, member) in members {
        if let Some(Value::Object(members)) = body.pointer_mut(parent) {
            members.remove(*member);
        }
    }
    body.to_string().into_bytes()
}

#[derive(Default)]
struct Book {
    sendings: HashMap<Vec<u8>, Vec<Sending>>,
    number: usize,
}

impl Ledger {
    /// Of a judge that answers in this protocol.
    pub(super) fn over(protocol: Protocol) -> Self {
        Self {
            protocol,
            ..Self::default()
        }
    }

    /// A good judge with `faults` (written for chat), whose replies are counted here.
    pub(super) fn judge(
        &self,
        faults: impl Fn(&Asked<'_>) -> Option<Fault> + Send + Sync + 'static,
    ) -> Behaviour {
        let (book, protocol) = (Arc::clone(&self.book), self.protocol);
        protocol.judge().deciding(move |request| {
            let mut book = book.lock().unwrap();
            let number = book.number;
            book.number += 1;
            let sendings = book.sendings.entry(call_of(request)).or_default();
            let was_paid = sendings.iter().any(|sending| *sending != Sending::Failed);
            let asked = Asked {
                body: &request.body,
                before: sendings.len(),
                number,
                was_paid,
            };
            let (sending, act) = match faults(&asked) {
                None => (Sending::Whole, None),
                Some(Fault::Harmless(act)) => (Sending::Whole, Some(act)),
                Some(Fault::Failing(act)) => (Sending::Failed, Some(act)),
                Some(Fault::Unreadable(act)) => (Sending::Unreadable, Some(act)),
            };
            sendings.push(sending);
            act.map(|act| protocol.act(act))
        })
    }

    /// How many different calls came.
    pub(super) fn bodies(&self) -> usize {
        self.book.lock().unwrap().sendings.len()
    }

    /// How many faults were met.
    pub(super) fn faults(&self) -> usize {
        self.count(|sending| sending != Sending::Whole)
    }

    /// How many of them were whole replies without a verdict.
    pub(super) fn unreadable(&self) -> usize {
        self.count(|sending| sending == Sending::Unreadable)
    }

    /// Whole replies beyond one for a call (beyond two where the first could not be read: that one is asked again
    /// on purpose, as the next attempt).
    pub(super) fn paid_again(&self) -> usize {
        let book = self.book.lock().unwrap();
        let beyond = |sendings: &Vec<Sending>| {
            let of = |kind| sendings.iter().filter(|sending| **sending == kind).count();
            of(Sending::Whole).saturating_sub(1) + of(Sending::Unreadable).saturating_sub(1)
        };
        book.sendings.values().map(beyond).sum()
    }

    fn count(&self, is_counted: impl Fn(Sending) -> bool) -> usize {
        let book = self.book.lock().unwrap();
        book.sendings
            .values()
            .flatten()
            .filter(|sending| is_counted(**sending))
            .count()
    }
}
