//! Proxies named in the environment.

use crate::support::fake_server::{Behaviour, FakeServer, Reserved};
use crate::support::workspace::{Finished, Workspace, scoring};

use super::{CASES, SYSTEMS, calm};

/// A name that no server has.
const FAR: &str = "http://judge.invalid/v1";

fn run(work: &Workspace, base_url: &str, environment: &[(&str, &str)]) -> Finished {
    let mut command = work.command(&scoring(base_url, &["--retries", "0"]));
    Finished::of(command.envs(environment.iter().copied()).output().unwrap())
}

#[test]
fn a_proxy_carries_every_call_and_its_password_is_seen_by_nobody() {
    let (calls, scores) = calm(CASES);
    let (work, proxy) = (
        Workspace::new(&SYSTEMS, CASES),
        FakeServer::start(Behaviour::good()),
    );
    let address = proxy
        .base_url()
        .replace("http://", "http://me:hunter2@")
        .replace("/v1", "");
    let done = run(&work, FAR, &[("HTTP_PROXY", &address)]).exits_with(0);
    assert_eq!(
        (proxy.chat_count(), work.read("out/scores.jsonl")),
        (calls, scores)
    );
    for sent in proxy.chats() {
        assert_eq!(sent.path, format!("{FAR}/chat/completions"));
        // me:hunter2
        assert_eq!(
            sent.header("proxy-authorization"),
            Some("Basic bWU6aHVudGVyMg==")
        );
    }
    assert!(!done.all_text().contains("hunter2"));
    for (path, bytes) in work.files() {
        let holds = bytes.windows(7).any(|window| window == b"hunter2");
        assert!(!holds, "{}", path.display());
    }
}

#[test]
fn what_needs_no_proxy_goes_without() {
    let absent = Reserved::new();
    let proxy = absent.base_url().replace("/v1", "");
    let (work, server) = (
        Workspace::new(&SYSTEMS, 1),
        FakeServer::start(Behaviour::good()),
    );
    run(&work, &server.base_url(), &[("HTTP_PROXY", &proxy)]).exits_with(0);
    let there = FakeServer::start(Behaviour::good());
    let proxy = there.base_url().replace("/v1", "");
    let other = Workspace::new(&SYSTEMS, 1);
    run(
        &other,
        FAR,
        &[("HTTP_PROXY", &proxy), ("NO_PROXY", "judge.invalid")],
    )
    .exits_with(4);
    assert_eq!(there.chat_count(), 0);
}
