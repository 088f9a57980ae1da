//! The bare loop: reqwest, the bodies, so many at once, every reply read to its end and thrown away. What any client
//! has to pay.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use bytes::Bytes;
use futures::stream::{StreamExt, TryStreamExt};

/// The first argument of this very program as the bare loop.
pub(crate) const FLAG: &str = "--as-bare-loop";

/// `calls` in all, the bodies over and over; each once where nothing is said.
pub(crate) fn command(
    base_url: &str,
    bodies: &Path,
    concurrency: usize,
    calls: Option<usize>,
) -> Command {
    let mut command = Command::new(std::env::current_exe().expect("this program"));
    command
        .env_clear()
        .args([FLAG, base_url])
        .arg(bodies)
        .arg(concurrency.to_string());
    command.args(calls.map(|calls| calls.to_string()));
    command
}

/// A file of bodies for the bare loop: each behind its length; gives their mean length.
pub(crate) fn write_bodies<'a>(path: &Path, bodies: impl Iterator<Item = &'a [u8]>) -> usize {
    let (mut bytes, mut count) = (Vec::new(), 0);
    for body in bodies {
        bytes.extend_from_slice(&u64::try_from(body.len()).expect("a length").to_le_bytes());
        bytes.extend_from_slice(body);
        count += 1;
    }
    std::fs::write(path, &bytes).expect("room for the bodies");
    bytes.len().checked_div(count).unwrap_or(0)
}

/// What the child does: base URL, file of bodies, calls at once, calls in all.
pub(crate) fn run(arguments: &[String]) {
    let [base_url, bodies, concurrency, calls @ ..] = arguments else {
        panic!("{FLAG} URL BODIES CONCURRENCY [CALLS]")
    };
    let bodies = split(Bytes::from(std::fs::read(bodies).expect("the bodies")));
    let calls = calls
        .first()
        .map_or(bodies.len(), |calls| calls.parse().expect("a number"));
    let bodies = bodies.iter().cycle().take(calls).cloned();
    let concurrency = concurrency.parse().expect("a number");
    let _ = rustls::crypto::ring::default_provider().install_default();
    let client = reqwest::Client::builder()
        .no_proxy()
        .tls_certs_only(std::iter::empty())
        .tcp_nodelay(true)
        .timeout(Duration::from_secs(600))
        .build()
        .expect("a client");
    let url = format!("{base_url}/chat/completions");
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    let sent = runtime.block_on(async {
        let calls = futures::stream::iter(bodies).map(|body| {
            let request = client
                .post(&url)
                .header("content-type", "application/json")
                .body(body);
            // A task each, as the program under test has one for each answer.
            tokio::spawn(async move {
                let response = request.send().await?.error_for_status()?;
                response.bytes().await.map(|_| ())
            })
        });
        let done = calls
            .buffer_unordered(concurrency)
            .map(|joined| joined.expect("a task"));
        done.try_collect::<Vec<()>>().await
    });
    sent.expect("every reply");
}

/// The bodies of a file that holds each behind its length (8 bytes, little-endian).
fn split(mut file: Bytes) -> Vec<Bytes> {
    let mut bodies = Vec::new();
    while !file.is_empty() {
        let length = u64::from_le_bytes(file.split_to(8)[..].try_into().expect("eight bytes"));
        bodies.push(file.split_to(usize::try_from(length).expect("a length")));
    }
    bodies
}
