//! Diagnostics on standard error, for `-v` and `RUST_LOG`.

use tracing_subscriber::filter::{LevelFilter, Targets, filter_fn};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

/// Starts logging: nothing for 0, debug for 1, trace above; `RUST_LOG` (`target=level,..`) overrides it.
///
/// Only events of this crate pass, whatever `RUST_LOG` is: the HTTP and OpenAI crates log bodies and headers, which
/// hold answers, replies and keys.
pub(crate) fn start(verbose: u8) {
    let level = match verbose {
        0 => LevelFilter::OFF,
        1 => LevelFilter::DEBUG,
        _ => LevelFilter::TRACE,
    };
    let requested = std::env::var("RUST_LOG")
        .ok()
        .filter(|text| !text.trim().is_empty());
    let filter: Targets = requested
        .and_then(|text| text.parse().ok())
        .unwrap_or_else(|| Targets::new().with_default(level));
    let crate_events = filter_fn(|metadata| is_ours(metadata.target()));
    let writer = tracing_subscriber::fmt::layer()
        .with_writer(std::io::stderr)
        .with_ansi(false);
    // A second start (tests, embedding) leaves the first in place.
    let _ = tracing_subscriber::registry()
        .with(crate_events)
        .with(filter)
        .with(writer)
        .try_init();
}

fn is_ours(target: &str) -> bool {
    target == "scholareval" || target.starts_with("scholareval::")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crates_that_log_bodies_never_pass() {
        for target in [
            "async_openai::client",
            "reqwest::connect",
            "hyper_util::client",
            "scholareval_evil",
        ] {
            assert!(!is_ours(target), "{target}");
        }
        assert!(is_ours("scholareval::judge::chat") && is_ours("scholareval"));
    }
}
