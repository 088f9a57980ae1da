//! Runs to export, and the programs that exports are for.

use std::process::Command;

use serde_json::Value;

use super::fake_server::{Act, FakeServer};
use super::judging::{constant_judge, section};
use super::workspace::Workspace;

/// Names the Python that has pyarrow and inspect-ai; `.ci/python-venvs` makes one, `frames/bin/python`.
const PYTHON: &str = "SCHOLAREVAL_EXPORTS_PYTHON";

pub(crate) fn python() -> Option<String> {
    let python = std::env::var(PYTHON).ok();
    if python.is_none() {
        eprintln!(
            "skipped: {PYTHON} is not set (bash .ci/python-venvs makes one and prints its directory: frames/bin/python)"
        );
    }
    python
}

/// What the program that the files are meant for finds in them.
#[track_caller]
pub(crate) fn read_by(python: &str, form: &str, work: &Workspace, folder: &str) -> Value {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/support/read_exports.py");
    let output = Command::new(python)
        .args([script, form])
        .arg(work.path(folder))
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Two systems, three cases, two samples; one criterion of `c1` cannot be read, so `c1` is unscored.
pub(crate) fn run() -> (Workspace, FakeServer) {
    let work = Workspace::new(&["alpha", "beta"], 3);
    let causes_of_c1 = |request: &_| section(request, "criterion").contains("causes of c1.");
    let server =
        FakeServer::start(constant_judge().when(causes_of_c1, Act::Content("eight".to_owned())));
    work.score(
        &server,
        &[
            "--samples",
            "2",
            "--temperature",
            "0.5",
            "--max-unscored",
            "1",
        ],
    )
    .exits_with(0);
    (work, server)
}
