//! What the registries list is in the docs.

use clap::ValueEnum as _;
use scholareval::judge::kind::JudgeKind;

const FORMATS: &str = include_str!("../../docs/formats/config.md");
const EXAMPLE: &str = include_str!("../../src/cli/example.toml");

#[test]
fn the_example_and_the_docs_name_every_kind_of_judge() {
    for text in [EXAMPLE, FORMATS] {
        let line = text.lines().find(|line| line.starts_with("# kind = "));
        let line = line.unwrap_or_default();
        for kind in JudgeKind::value_variants() {
            assert!(line.contains(&format!("\"{kind}\"")), "{kind}: {line}");
        }
    }
}
