//! Signals that end a run cleanly: the first one asks to stop, a second Ctrl-C ends the process at once.

use crate::error::{Error, Result};

use super::exit_code::ExitCode;
use super::terminal;

/// Listens for SIGINT, SIGTERM, SIGHUP and SIGUSR1 (Ctrl-C elsewhere). Listening starts when it is made, inside a tokio
/// runtime, so that no signal falls into a gap.
#[derive(Debug)]
pub struct Signals {
    #[cfg(unix)]
    interrupt: tokio::signal::unix::Signal,
    #[cfg(unix)]
    terminate: tokio::signal::unix::Signal,
    #[cfg(unix)]
    hangup: tokio::signal::unix::Signal,
    #[cfg(unix)]
    user: tokio::signal::unix::Signal,
}

impl Signals {
    /// Starts to listen.
    ///
    /// # Errors
    /// [`Error::Internal`] if the system refuses.
    #[cfg(unix)]
    pub fn listen() -> Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        let listen =
            |kind| signal(kind).map_err(|error| Error::Internal(format!("cannot listen for signals: {error}")));
        Ok(Self {
            interrupt: listen(SignalKind::interrupt())?,
            terminate: listen(SignalKind::terminate())?,
            hangup: listen(SignalKind::hangup())?,
            user: listen(SignalKind::user_defined1())?,
        })
    }

    /// Starts to listen.
    ///
    /// # Errors
    /// None here; the signature is that of Unix.
    #[cfg(not(unix))]
    pub fn listen() -> Result<Self> {
        Ok(Self {})
    }

    /// Waits for a signal and gives its name: `SIGINT`, `SIGTERM`, `SIGHUP`, `SIGUSR1` (`Ctrl-C` elsewhere).
    #[cfg(unix)]
    pub async fn next(&mut self) -> &'static str {
        tokio::select! {
            _ = self.interrupt.recv() => "SIGINT",
            _ = self.terminate.recv() => "SIGTERM",
            _ = self.hangup.recv() => "SIGHUP",
            _ = self.user.recv() => "SIGUSR1",
        }
    }

    /// Waits for a signal and gives its name.
    #[cfg(not(unix))]
    pub async fn next(&mut self) -> &'static str {
        match tokio::signal::ctrl_c().await {
            Ok(()) => "Ctrl-C",
            // Without a console there is nothing to listen to.
            Err(_) => std::future::pending().await,
        }
    }

    /// Waits for the first signal and gives its name. From then on a second Ctrl-C or SIGTERM ends the process at once
    /// with code 7 (a task of the current runtime sees to it); what is committed to the cache stays.
    pub async fn first(mut self) -> &'static str {
        let name = self.next().await;
        tokio::spawn(async move {
            loop {
                // Batch systems repeat SIGUSR1 as a warning; only the insistent ones cut the clean stop short.
                // A terminal that closes may hang up more than once.
                if !matches!(self.next().await, "SIGUSR1" | "SIGHUP") {
                    exit_at_once();
                }
            }
        });
        name
    }
}

#[expect(clippy::exit, reason = "the user insists: in-flight calls are dropped, and the cache holds what is paid")]
fn exit_at_once() {
    terminal::note("stopped at once; replies that were kept are not lost: the same command goes on");
    std::process::exit(i32::from(ExitCode::Stopped.code()));
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;
    use std::io::{BufRead, BufReader};
    use std::process::{Command, Stdio};

    /// Set in the child process of the test below.
    const CHILD: &str = "SCHOLAREVAL_TEST_SIGNAL_CHILD";

    fn send(signal: &str, process: u32) {
        assert!(Command::new("kill").args([signal, &process.to_string()]).status().unwrap().success());
    }

    #[tokio::test]
    async fn a_signal_is_told_by_name() {
        let signals = Signals::listen().unwrap();
        send("-USR1", std::process::id());
        assert_eq!(signals.first().await, "SIGUSR1");
    }

    /// What the child of the next test does: tell the first signal, then wait for ever.
    #[tokio::test]
    async fn child_that_waits_for_signals() {
        if std::env::var_os(CHILD).is_some() {
            let signals = Signals::listen().unwrap();
            println!("listening");
            println!("told {}", signals.first().await);
            std::future::pending::<()>().await;
        }
    }

    #[test]
    fn the_first_interrupt_is_told_and_the_second_ends_with_code_7() {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "cli::signals::tests::child_that_waits_for_signals", "--nocapture"])
            .env(CHILD, "1")
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
        // The test harness may write its own words on the same line.
        assert!(lines.any(|line| line.ends_with("listening")));
        send("-INT", child.id());
        assert!(lines.any(|line| line.ends_with("told SIGINT")));
        send("-USR1", child.id()); // a warning that repeats does not cut the stop short
        send("-INT", child.id());
        assert_eq!(child.wait().unwrap().code(), Some(7));
    }
}
