//! Diagnostics of this program on standard error, for `-v` and `RUST_LOG`.

use tracing::Level;
use tracing_subscriber::filter::{EnvFilter, filter_fn};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

/// Starts logging. 0: nothing unless `RUST_LOG` asks; 1: debug; 2 and more: everything.
///
/// Whatever `RUST_LOG` says, only this crate's own events pass: the HTTP and OpenAI crates log bodies and headers, and
/// those hold answers, replies and keys.
pub fn start(verbose: u8) {
    let level = match verbose {
        0 => "off",
        1 => "scholareval=debug",
        _ => "scholareval=trace",
    };
    let asked = std::env::var("RUST_LOG").ok().filter(|text| !text.trim().is_empty());
    let filter = asked.and_then(|text| EnvFilter::try_new(text).ok()).unwrap_or_else(|| EnvFilter::new(level));
    let own = filter_fn(|metadata| is_ours(metadata.target()) && *metadata.level() <= Level::TRACE);
    let writer = tracing_subscriber::fmt::layer().with_writer(std::io::stderr).with_ansi(false);
    // A second start (tests, embedding) leaves the first in place.
    let _ = tracing_subscriber::registry().with(own).with(filter).with(writer).try_init();
}

fn is_ours(target: &str) -> bool {
    target == "scholareval" || target.starts_with("scholareval::")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crates_that_log_bodies_never_pass() {
        for target in ["async_openai::client", "reqwest::connect", "hyper_util::client", "scholareval_evil"] {
            assert!(!is_ours(target), "{target}");
        }
        assert!(is_ours("scholareval::judge::chat") && is_ours("scholareval"));
    }
}
