//! Signals: the first one asks a run to stop, a second Ctrl-C ends the process at once. A write beyond the limit on the size
//! of files is an error of that write.

use std::path::{Path, PathBuf};

#[cfg(unix)]
use rustix::process::Signal;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use super::exit_code::ExitCode;
use super::terminal;
use crate::error::{Error, Result};
use crate::evaluation::StopHandle;
use crate::judge::cache;

/// Lets writes beyond the limit on the size of files (`ulimit -f`, batch systems) fail with an error, which is reported.
/// Without a handler the system would kill the process.
#[cfg(unix)]
pub(crate) fn survive_file_size_limit() {
    use tokio::signal::unix::{SignalKind, signal};
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .build();
    let Ok(runtime) = runtime else {
        return;
    };
    let _context = runtime.enter();
    // The handler stays when the stream of signals is dropped. Where none can be installed, all is as before.
    drop(signal(SignalKind::from_raw(Signal::XFSZ.as_raw())));
}

/// Other systems have no such signal.
#[cfg(not(unix))]
pub fn survive_file_size_limit() {}

/// Installs the handlers: the first signal (see `STOPPING`; Ctrl-C where there are none) stops the run with its name as
/// the reason. A second Ctrl-C, SIGTERM or SIGQUIT exits at once with code 7; what is committed to `cache` stays, and is
/// moved into its file. Needs a tokio runtime.
///
/// # Errors
/// [`Error::Internal`] if the system rejects a handler.
pub(crate) fn stop_on_signal(stop: StopHandle, cache: Option<PathBuf>) -> Result<()> {
    let mut signals =
        listen().map_err(|error| Error::Internal(format!("cannot listen for signals: {error}")))?;
    tokio::spawn(async move {
        if let Some(first) = signals.recv().await {
            stop.stop(first);
        }
        while let Some(name) = signals.recv().await {
            // Batch systems repeat their warnings, and a terminal that closes may hang up more than once.
            if matches!(name, "SIGINT" | "SIGTERM" | "SIGQUIT" | "Ctrl-C") {
                exit_at_once(cache.as_deref());
            }
        }
    });
    Ok(())
}

/// Signals that stop a run, by name. Any of them would kill the process otherwise, with its last replies in the log of the
/// cache. SIGXCPU warns of a limit on processor time.
#[cfg(unix)]
const STOPPING: [(&str, Signal); 7] = [
    ("SIGINT", Signal::INT),
    ("SIGTERM", Signal::TERM),
    ("SIGQUIT", Signal::QUIT),
    ("SIGHUP", Signal::HUP),
    ("SIGUSR1", Signal::USR1),
    ("SIGUSR2", Signal::USR2),
    ("SIGXCPU", Signal::XCPU),
];

/// The names of signals as they arrive.
#[cfg(unix)]
fn listen() -> std::io::Result<UnboundedReceiver<&'static str>> {
    use tokio::signal::unix::{SignalKind, signal};
    let (sender, names) = unbounded_channel();
    for (name, number) in STOPPING {
        let mut signal = signal(SignalKind::from_raw(number.as_raw()))?;
        let sender = sender.clone();
        tokio::spawn(
            async move { while signal.recv().await.is_some() && sender.send(name).is_ok() {} },
        );
    }
    Ok(names)
}

/// The names of signals as they arrive; without a console there are none.
#[cfg(not(unix))]
fn listen() -> std::io::Result<UnboundedReceiver<&'static str>> {
    let (sender, names) = unbounded_channel();
    tokio::spawn(async move {
        while tokio::signal::ctrl_c().await.is_ok() && sender.send("Ctrl-C").is_ok() {}
    });
    Ok(names)
}

#[expect(
    clippy::exit,
    reason = "the user insists: calls in flight are dropped, and the cache holds what is paid"
)]
fn exit_at_once(cache: Option<&Path>) {
    if let Some(path) = cache
        // SQLite's log is emptied into the file: a user who copies the file now gets all replies.
        && let Err(error) = cache::settle(path)
    {
        terminal::note(&format!("warning: {error}"));
    }
    terminal::note(
        "stopped at once; every reply that arrived is kept, and the same command continues",
    );
    std::process::exit(i32::from(ExitCode::Stopped as u8));
}

#[cfg(unix)]
#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{BufRead, BufReader};
    use std::process::{Command, Stdio};

    /// Set in the child process of the test below.
    const CHILD: &str = "SCHOLAREVAL_TEST_SIGNAL_CHILD";

    fn send(signal: &str, process: u32) {
        assert!(
            Command::new("kill")
                .args([signal, &process.to_string()])
                .status()
                .unwrap()
                .success()
        );
    }

    /// The child of the next test: prints the first signal, then waits forever.
    #[tokio::test]
    async fn child_that_waits_for_signals() {
        if std::env::var_os(CHILD).is_some() {
            let stop = StopHandle::new();
            stop_on_signal(stop.clone(), None).unwrap();
            println!("listening");
            println!("stopped by {}", stop.stopped().await);
            std::future::pending::<()>().await;
        }
    }

    #[test]
    fn the_first_signal_stops_by_its_name_and_a_second_interrupt_ends_with_code_7() {
        for (first, name) in [("-INT", "SIGINT"), ("-USR1", "SIGUSR1")] {
            let mut child = Command::new(std::env::current_exe().unwrap())
                .args([
                    "--exact",
                    "cli::signals::tests::child_that_waits_for_signals",
                    "--nocapture",
                ])
                .env(CHILD, "1")
                .stdout(Stdio::piped())
                .stderr(Stdio::null())
                .spawn()
                .unwrap();
            let mut lines = BufReader::new(child.stdout.take().unwrap())
                .lines()
                .map(Result::unwrap);
            // The test harness may write on the same line.
            assert!(lines.any(|line| line.ends_with("listening")));
            send(first, child.id());
            assert!(lines.any(|line| line.ends_with(&format!("stopped by {name}"))));
            send("-USR1", child.id()); // a warning that repeats does not cut the stop short
            send("-INT", child.id());
            assert_eq!(child.wait().unwrap().code(), Some(7));
        }
    }
}
