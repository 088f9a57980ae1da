//! A run that goes on: what it says while it does.

use std::io::{BufRead as _, BufReader, Read as _};
use std::process::Child;
use std::sync::mpsc::{Receiver, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use super::workspace::Finished;

/// A run that says nothing for so long hangs; far beyond what a slow machine needs.
const LINE_LIMIT: Duration = Duration::from_secs(300);

/// A child whose streams are pipes; killed when dropped.
pub(crate) struct Running {
    child: Child,
    lines: Receiver<String>,
    stdout: Option<JoinHandle<String>>,
    stderr: String,
}

impl Running {
    pub(crate) fn of(mut child: Child) -> Self {
        let (mut stdout, stderr) = (child.stdout.take().unwrap(), child.stderr.take().unwrap());
        let stdout = std::thread::spawn(move || {
            let mut bytes = Vec::new();
            stdout.read_to_end(&mut bytes).unwrap();
            String::from_utf8_lossy(&bytes).into_owned()
        });
        let (told, lines) = channel();
        std::thread::spawn(move || {
            let mut stderr = BufReader::new(stderr);
            let mut line = Vec::new();
            while stderr.read_until(b'\n', &mut line).unwrap() > 0 {
                if told
                    .send(String::from_utf8_lossy(&line).into_owned())
                    .is_err()
                {
                    return;
                }
                line.clear();
            }
        });
        Self {
            child,
            lines,
            stdout: Some(stdout),
            stderr: String::new(),
        }
    }

    /// Waits until a line on standard error says this.
    #[track_caller]
    pub(crate) fn comes_to_say(&mut self, words: &str) {
        while let Ok(line) = self.lines.recv_timeout(LINE_LIMIT) {
            self.stderr.push_str(&line);
            if line.contains(words) {
                return;
            }
        }
        panic!("waited in vain for {words:?} in\n{}", self.stderr);
    }

    /// Waits for its end.
    #[track_caller]
    pub(crate) fn finish(mut self) -> Finished {
        while let Ok(line) = self.lines.recv_timeout(LINE_LIMIT) {
            self.stderr.push_str(&line);
        }
        let code = self.child.wait().unwrap().code();
        let stdout = self.stdout.take().unwrap().join().unwrap();
        Finished {
            code,
            stdout,
            stderr: std::mem::take(&mut self.stderr),
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
