//! `scholareval plan`: what a run would ask, and what it would cost, before anything is paid.

mod bill;
mod counting;
mod fit;
mod render;

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::cli::ExitCode;
use crate::cli::args::PlanArgs;
use crate::cli::scoring::runtime;
use crate::cli::scoring::sinks::Nobody;
use crate::cli::settings::value::Share;
use crate::cli::settings::{OutputFormat, Settings};
use crate::cli::terminal;
use crate::error::{Error, Result};
use crate::evaluation;

use super::score::Prepared;
use bill::{Bill, JudgeTerms};

/// How many gates are taken to open if nobody says otherwise: an assumption, not a measurement; the output states it.
const DEFAULT_GATE_RATE: f64 = 0.7;

/// Runs the command.
///
/// # Errors
/// For input and settings that cannot be used, and for a server whose identity is not known and that cannot be asked.
pub(super) fn run(args: &PlanArgs, settings: &Settings) -> Result<ExitCode> {
    let gate_rate = args.gate_rate.map_or(DEFAULT_GATE_RATE, |Share(rate)| rate);
    if settings.output.format == OutputFormat::Csv {
        return Err(Error::Usage("--format csv: plan gives table or json".into()));
    }
    runtime()?.block_on(async {
        let prepared = Prepared::load(settings, None).await?;
        let jobs = prepared.jobs(settings, None, &Arc::default())?.0;
        let mut counters = BTreeMap::new();
        for (_, identified) in prepared.judges.named() {
            let counter = identified.prompt_counter()?;
            counters.extend(counter.map(|counter| (identified.judge_id().to_owned(), counter)));
        }
        let size = counting::sample_size(counters.values());
        let mut planned = evaluation::plan_sampling(&jobs, &mut Nobody, size).await?;
        let terms = prepared.judges.named().map(|(named, identified)| {
            let model = identified.model();
            let terms = JudgeTerms {
                model: model.map(str::to_owned),
                price: model.and_then(|model| settings.prices.get(model)),
                limits: named.limits.of_all(identified.endpoint_count()),
            };
            (identified.judge_id().to_owned(), terms)
        });
        let terms: BTreeMap<String, JudgeTerms> = terms.collect();
        let asked = terms.iter().filter(|(_, terms)| terms.model.is_some()).map(|(judge, _)| judge.clone());
        let (counting, errors) = counting::count(&mut planned, asked, &counters).await;
        let bill = Bill::of(&planned, &terms, gate_rate, (counting, &errors));
        let text = match settings.output.format {
            OutputFormat::Json => render::json(&bill)?,
            OutputFormat::Table | OutputFormat::Csv => render::table(&bill),
        };
        terminal::write_form(&text, settings.output.format)?;
        Ok(ExitCode::Ok)
    })
}
