//! The FEVER score of predictions: `cargo run -p scholareval-facts --example fever_score -- predictions.jsonl`
#![allow(clippy::print_stdout)]

use std::path::PathBuf;

use scholareval_core::Result;
use scholareval_facts::FeverOptions;
use scholareval_facts::fever_files::Join;

fn main() -> Result<()> {
    let options = FeverOptions {
        predictions: std::env::args_os().skip(1).map(PathBuf::from).collect(),
        gold: None,
        max_evidence: 5,
        join: Join::default(),
        compat: false,
    };
    let board = options.leaderboard()?;
    for standing in &board.systems {
        for measure in &standing.metrics {
            println!(
                "{}: {} {:?}",
                standing.system, measure.name, measure.estimate
            );
        }
    }
    Ok(())
}
