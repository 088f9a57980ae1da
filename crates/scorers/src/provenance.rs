//! Provenance: which of the addresses that an answer cites did the system retrieve, or see in a search?
//!
//! Two addresses are the same if they lead to the same [target](target_key): a work or a page, never a host or the beginning of
//! an address. Nothing is fetched and no judge is asked.

use std::collections::HashSet;

use scholareval_core::domain::{
    AddressState, CitedAddress, IndexBase, Mode, Prediction, RetrievalTrace, citations,
};
use scholareval_core::text::addresses::target_key;
use scholareval_core::text::identifiers::mentions_of;
use scholareval_core::text::source_lists::source_lists;

/// The addresses that an answer cites, each once, with where they come from: first those in its text, then those that its
/// numbers mean, then those that the service lists.
///
/// Addresses in the question count as retrieved: who asks has named them.
pub fn cited_addresses(
    prediction: &Prediction,
    question: &str,
    trace: Option<&RetrievalTrace>,
    base: IndexBase,
) -> Vec<CitedAddress> {
    let known = KnownAddresses::of(trace, question);
    let text = prediction.output();
    let mut cited: Vec<&str> = mentions_of(text);
    // With a list in the text its numbers mean the entries of that list.
    if source_lists(text).is_empty() {
        cited.extend(numbered_sources(prediction, base));
        cited.extend(trace.into_iter().flat_map(|trace| numbered(text, trace)));
    }
    cited.extend(trace.into_iter().flat_map(|trace| strs(&trace.cited)));
    let mut seen = HashSet::new();
    let mut addresses = Vec::new();
    for address in cited {
        if let Some(key) = target_key(address)
            && seen.insert(key.clone())
        {
            addresses.push(CitedAddress {
                url: address.to_owned(),
                state: known.state_of(&key),
                fetch_failed: known.has_failed(&key),
            });
        }
    }
    addresses
}

/// The addresses of the sources that the numbers in the text mean.
fn numbered_sources(prediction: &Prediction, base: IndexBase) -> impl Iterator<Item = &str> {
    let places = prediction.cited_sources(base, Mode::Default).into_iter();
    places.filter_map(|place| prediction.sources[place].work.as_ref()?.url.as_deref())
}

/// The addresses that the numbers in the text mean for the service.
fn numbered<'a>(text: &str, trace: &'a RetrievalTrace) -> impl Iterator<Item = &'a str> {
    let names = citations(text, None, 1).into_iter();
    let numbers = names
        .flat_map(|citation| citation.names)
        .filter_map(|name| name.number());
    let places = numbers.filter_map(|number| IndexBase::One.place_of(number));
    places.filter_map(|place| trace.numbered.get(place).map(String::as_str))
}

fn strs(addresses: &[String]) -> impl Iterator<Item = &str> {
    addresses.iter().map(String::as_str)
}

/// The addresses of a trace and a question by what they lead to.
struct KnownAddresses {
    retrieved: HashSet<String>,
    searched: HashSet<String>,
    failed: HashSet<String>,
    /// The state of all others.
    otherwise: AddressState,
}

impl KnownAddresses {
    fn of(trace: Option<&RetrievalTrace>, question: &str) -> Self {
        let mut known = Self {
            retrieved: HashSet::new(),
            searched: HashSet::new(),
            failed: HashSet::new(),
            otherwise: AddressState::Unknown,
        };
        if let Some(trace) = trace {
            let asked = mentions_of(question).into_iter();
            let retrieved = strs(&trace.retrieved).chain(asked);
            known.retrieved = retrieved.filter_map(target_key).collect();
            known.searched = strs(&trace.searched).filter_map(target_key).collect();
            known.failed = strs(&trace.failed).filter_map(target_key).collect();
            if !trace.is_partial {
                known.otherwise = AddressState::NotRetrieved;
            }
        }
        known
    }

    fn state_of(&self, key: &str) -> AddressState {
        if self.retrieved.contains(key) {
            AddressState::Retrieved
        } else if self.searched.contains(key) {
            AddressState::SearchedOnly
        } else {
            self.otherwise
        }
    }

    fn has_failed(&self, key: &str) -> bool {
        self.failed.contains(key) && !self.retrieved.contains(key)
    }
}

/// The values about the addresses that an answer cites, in the order of the audit's components: whether there is a trace, the
/// share of the addresses in each state, and the share of those that could not be opened.
pub(super) fn address_values(addresses: &[CitedAddress], has_trace: bool) -> [Option<f64>; 6] {
    let all = addresses.len();
    let share = |count: usize| (has_trace && all > 0).then(|| count as f64 / all as f64);
    let in_state = |state| {
        let of_state = addresses.iter().filter(|address| address.state == state);
        share(of_state.count())
    };
    let failed = addresses.iter().filter(|address| address.fetch_failed);
    [
        (all > 0).then_some(f64::from(has_trace)),
        in_state(AddressState::Retrieved),
        in_state(AddressState::SearchedOnly),
        in_state(AddressState::NotRetrieved),
        in_state(AddressState::Unknown),
        share(failed.count()),
    ]
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use serde_json::{Value, json};

    use super::*;
    use crate::citation::CitationAuditScorer;
    use crate::{Scorer, Step, Subject, Verdicts};
    use scholareval_core::domain::{Score, TestCase};
    use scholareval_dataset::parse_answers;

    /// The audit of a row `{answer_text, ..}`, read as a file of answers.
    fn audited(mut row: Value, mode: Mode) -> Score {
        row["case_id"] = "c".into();
        let read = parse_answers(&row.to_string(), "s".into(), "s.jsonl".as_ref(), mode);
        let answer = read.unwrap().answers.remove(0);
        let scorer = CitationAuditScorer {
            mode,
            ..CitationAuditScorer::default()
        };
        let case = TestCase::without_rubric("c".into(), answer.question());
        match scorer.step(&Subject::new(&case, &answer), &Verdicts::default()) {
            Step::Done(score) => score,
            Step::Ask(_) => panic!("it asks a judge"),
        }
    }

    fn states(row: Value) -> Vec<(String, AddressState)> {
        let addresses = audited(row, Mode::Default).addresses.into_iter();
        addresses
            .map(|address| (address.url, address.state))
            .collect()
    }

    fn values(score: &Score) -> Vec<(&str, f64)> {
        let components = score.components.iter();
        let of_addresses = components.skip_while(|component| component.name != "traced");
        of_addresses
            .map(|component| (component.name.as_str(), component.value.unwrap()))
            .collect()
    }

    #[test]
    fn states_are_those_of_the_golden_file() {
        let beside = || concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared").into();
        let shared = std::env::var_os("SCHOLAREVAL_SHARED").map_or_else(beside, PathBuf::from);
        let path = shared.join("golden/provenance.json");
        let Ok(json) = std::fs::read_to_string(&path) else {
            let path = path.display();
            eprintln!("skipped: {path} is not there; set SCHOLAREVAL_SHARED");
            return;
        };
        let rows: Vec<Value> = serde_json::from_str(&json).unwrap();
        let mut wrong = Vec::new();
        for row in &rows {
            let mut inputs = row["inputs"].clone();
            inputs["answer_text"] = row["answer"].clone();
            let mut found = Vec::new();
            for address in audited(inputs, Mode::Default).addresses {
                found.push((target_key(&address.url), json!(address.state)));
            }
            let mut wanted = Vec::new();
            for address in row["cited"].as_array().unwrap() {
                let url = address["url"].as_str().unwrap();
                // `report.` in a golden address is the mark of a sentence.
                let key = mentions_of(url).first().and_then(|url| target_key(url));
                wanted.push((key, address["state"].clone()));
            }
            if found != wanted {
                wrong.push(format!("{}: {found:?}, not {wanted:?}", row["id"]));
            }
        }
        let (count, all) = (wrong.len(), rows.len());
        assert!(count == 0, "{count} of {all}:\n{}", wrong.join("\n"));
    }

    #[test]
    fn addresses_are_compared_as_wholes_whatever_they_are_written_with() {
        let retrieved = |cited: &str, known: &str| {
            let text = format!("It is so ([a]({cited})).");
            let found = states(json!({"answer_text": text, "ctxs": [{"url": known}]}));
            assert_eq!(found.len(), 1, "{cited}: {found:?}");
            found[0].1 == AddressState::Retrieved
        };
        for (cited, known) in [
            ("http://x.org/a", "https://x.org/a"),
            ("https://x.org:443/a/", "https://x.org/a"),
            (
                "https://x.org/a?utm_source=chat&utm_medium=b",
                "https://x.org/a",
            ),
            ("https://x.org/a?id=1&gclid=7", "https://x.org/a?id=1"),
            ("https://x.org/caf%c3%a9", "https://x.org/café"),
            ("https://x.org/a\\_b", "https://x.org/a_b"),
            (
                "https://arxiv.org/pdf/2101.00001v2",
                "https://arxiv.org/abs/2101.00001",
            ),
            (
                "https://doi.org/10.4321%2Fice.9",
                "https://dx.doi.org/10.4321/ICE.9",
            ),
            (
                "https://www.ncbi.nlm.nih.gov/pmc/articles/PMC77/",
                "https://pmc.ncbi.nlm.nih.gov/articles/PMC77",
            ),
        ] {
            assert!(retrieved(cited, known), "{cited}");
            assert!(retrieved(known, cited), "{known}");
        }
        for (cited, known) in [
            ("https://x.org/a/b", "https://x.org/a"),
            ("https://x.org", "https://x.org/a"),
            ("https://x.org/a?id=1", "https://x.org/a?id=2"),
            ("https://x.org/a", "https://sub.x.org/a"),
            ("https://x.org/A", "https://x.org/a"),
            ("https://x.org:8080/a", "https://x.org/a"),
            ("https://x.org/#/one", "https://x.org/#/two"),
            ("https://x.org/a%2Fb", "https://x.org/a/b"),
        ] {
            assert!(!retrieved(cited, known), "{cited}");
            assert!(!retrieved(known, cited), "{known}");
        }
    }

    #[test]
    fn shares_are_over_the_distinct_addresses_of_an_answer() {
        let opened = json!({"type": "open_page", "url": "https://x.org/a"});
        let sources = json!([{"url": "https://x.org/a"}, {"url": "https://x.org/b"}]);
        let output = json!([
            {"type": "web_search_call", "status": "completed", "action": {"type": "search", "sources": sources}},
            {"type": "web_search_call", "status": "completed", "action": opened},
            {"type": "web_search_call", "status": "failed", "action": {"type": "open_page", "url": "https://x.org/b"}},
        ]);
        let text = "A (https://x.org/a). B (https://x.org/b). C (https://x.org/c), again http://www.x.org/a#top, as in your \
                    https://x.org/d.";
        let row =
            json!({"answer_text": text, "question": "Is https://x.org/d right?", "output": output});
        let score = audited(row.clone(), Mode::Default);
        // a and d, b, c: 4 addresses.
        let expected = [
            ("traced", 1.0),
            ("retrieved", 0.5),
            ("searched_only", 0.25),
            ("not_retrieved", 0.25),
            ("origin_unknown", 0.0),
            ("fetch_failed", 0.25),
        ];
        assert_eq!(values(&score), expected);
        let failed = score.addresses.iter().find(|address| address.fetch_failed);
        assert_eq!(failed.map(|address| &*address.url), Some("https://x.org/b"));
        assert_eq!(audited(row, Mode::Compat).addresses, []);
    }

    #[test]
    fn without_a_trace_nothing_is_known_and_without_addresses_nothing_is_counted() {
        let untraced = audited(json!({"answer_text": "A https://x.org/a."}), Mode::Default);
        assert_eq!(values(&untraced), [("traced", 0.0)]);
        assert_eq!(untraced.addresses[0].state, AddressState::Unknown);
        let row = json!({"answer_text": "A https://x.org/a.", "visited_urls": []});
        assert_eq!(
            values(&audited(row, Mode::Default))[3],
            ("not_retrieved", 1.0)
        );
        // Sources without addresses: it may be one of them.
        let row =
            json!({"answer_text": "A https://x.org/a.", "ctxs": [{"title": "A", "text": "b"}]});
        let partial = audited(row, Mode::Default);
        assert_eq!(values(&partial)[4], ("origin_unknown", 1.0));
        let row = json!({"answer_text": "A.", "ctxs": [{"url": "https://x.org/a"}]});
        assert_eq!(values(&audited(row, Mode::Default)), []);
    }

    #[test]
    fn numbers_mean_the_addresses_of_the_service_unless_the_text_has_a_list() {
        let found = |text: &str| {
            let citations = ["https://x.org/a", "https://x.org/b"];
            let states = states(json!({"answer_text": text, "citations": citations}));
            states.into_iter().map(|(url, _)| url).collect::<Vec<_>>()
        };
        assert_eq!(found("A [2]. B [9]."), ["https://x.org/b"]);
        let listed = "A [2].\n\n## References\n[1] Doe, https://x.org/c\n[2] Roe, https://x.org/d";
        assert_eq!(found(listed), ["https://x.org/c", "https://x.org/d"]);
    }
}
