//! How raters agree: judges and people, two judges, two runs, two annotators, all in one way.
//!
//! A run becomes a [`Rater`] by [`run_rater`], people come from files of labels; [`rater_agreement`] compares them by two
//! and together. Formulas and choices: `docs/metrics.md`. What is not defined says why; a missing rating is missing,
//! never 0; intervals draw questions, each with everything rated of it.
//!
//! ```
//! use scholareval::analysis::rater_agreement::{AgreementOptions, Labelled, rater_agreement};
//! use scholareval::domain::{Rater, RaterKind, Rating};
//!
//! let rater = |name: &str, values: [f64; 3]| {
//!     let mut rater = Rater::new(name, RaterKind::Human);
//!     rater.ratings = values
//!         .into_iter()
//!         .enumerate()
//!         .map(|(at, value)| Rating { system: "s".into(), case_id: format!("c{at}").into(), item: None, value })
//!         .collect();
//!     rater
//! };
//! let labels = Labelled { raters: vec![rater("ann", [1.0, 2.0, 4.0]), rater("bob", [2.0, 3.0, 5.0])], ..Labelled::default() };
//! let agreement = rater_agreement(&labels, &AgreementOptions::seeded(42));
//! assert_eq!(agreement.pairs[0].overall.kendall_tau_b.estimate, Some(1.0));
//! ```

mod comparisons;
mod few;
mod groups;
mod measures;
mod powered;
mod result;
mod reversed;
mod run;
mod systems;
mod view;

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use crate::domain::{CaseId, Rater, RaterKind};
use measures::Between;
pub use result::{
    AgreementLevel, AgreementOptions, Estimate, FEWEST_FOR_INTERVAL, Measures, PairAgreement, PartMeasures,
    PoweredMean, RankedSystem, Ranking, RaterAgreement, RaterGroup, RaterPair, RaterSummary, SystemWins, TieThreshold,
    Wins,
};
pub use reversed::{ReversedItem, reversed_items};
pub use run::{run_metrics, run_rater};
use systems::BySystem;
use view::{Frame, Shared, View};

/// Version of the form of [`RaterAgreement`].
const SCHEMA_VERSION: u32 = 1;
/// Up to so many raters every two are compared; beyond, two judges are not.
const ALL_PAIRS: usize = 6;
/// What the mean of all people is called.
pub const HUMANS: &str = "humans";

/// Who rated, and what the cases ask.
#[derive(Debug, Clone, Default)]
pub struct Labelled {
    /// The raters, names unique.
    pub raters: Vec<Rater>,
    /// The question of each case, where known: cases of one question are resampled together.
    pub questions: HashMap<CaseId, Arc<str>>,
}

/// Compares the raters. See the [module](self) for what is compared.
pub fn rater_agreement(labelled: &Labelled, options: &AgreementOptions) -> RaterAgreement {
    let views: Vec<View> = labelled.raters.iter().map(|rater| View::new(rater, options)).collect();
    let frame = Frame::new(&views, &labelled.questions, options);
    let people: Vec<&View> = views.iter().filter(|view| view.kind == RaterKind::Human).collect();
    let judges: Vec<&View> = views.iter().filter(|view| view.kind == RaterKind::Judge).collect();
    let name = free_name(&labelled.raters);
    let humans = (people.len() >= 2).then(|| View::mean(&name, &people));
    let rated_all = humans.as_ref().or(match people.as_slice() {
        [only] => Some(*only),
        _ => None,
    });
    let pairs = chosen_pairs(&judges, &people, humans.as_ref());
    let mut agreement = RaterAgreement {
        schema_version: SCHEMA_VERSION,
        options: options.clone(),
        raters: views.iter().chain(&humans).map(View::summary).collect(),
        pairs: pairs.into_iter().map(|(first, second)| pair(Between { first, second, frame: &frame })).collect(),
        groups: groups::groups(&views, &frame),
        powered: powered::powered(&judges, rated_all, &frame),
        notes: notes(&views, humans.is_some(), options),
    };
    agreement.notes.extend(few::notes(&agreement));
    agreement
}

/// `humans`, unless a rater is called so.
fn free_name(raters: &[Rater]) -> String {
    let mut name = HUMANS.to_owned();
    while raters.iter().any(|rater| *rater.name == *name) {
        name.insert_str(0, "all ");
    }
    name
}

/// Judges before people, each with the mean of the people; then people by two, judges by two.
fn chosen_pairs<'a>(judges: &[&'a View], people: &[&'a View], humans: Option<&'a View>) -> Vec<(&'a View, &'a View)> {
    fn by_two<'a>(views: &[&'a View]) -> Vec<(&'a View, &'a View)> {
        (0..views.len()).flat_map(|a| (a + 1..views.len()).map(move |b| (views[a], views[b]))).collect()
    }
    let mut pairs = Vec::new();
    for judge in judges {
        pairs.extend(humans.into_iter().chain(people.iter().copied()).map(|human| (*judge, human)));
    }
    pairs.extend(by_two(people));
    if judges.len() + people.len() <= ALL_PAIRS {
        pairs.extend(by_two(judges));
    }
    pairs
}

fn pair(between: Between<'_>) -> RaterPair {
    let Between { first, second, frame } = between;
    let shared = first.shared(second, frame);
    let compared = between.compared(&shared);
    let (thresholds, tie_threshold) = between.thresholds(&compared);
    let with_comparisons = |shared: &[Shared<'_>], keeps: &dyn Fn(&comparisons::Compared<'_>) -> bool| {
        let kept: Vec<_> = compared.iter().filter(|pair| keeps(pair)).collect();
        Measures { comparisons: between.pair_agreement(&kept, thresholds), ..between.measures(shared) }
    };
    let by_system = BySystem::new(&shared);
    let level = frame.options.level;
    let (overall, systems) = if level == AgreementLevel::System {
        (by_system.measures(between), Vec::new())
    } else {
        let names: BTreeSet<_> =
            by_system.systems.iter().copied().chain(compared.iter().flat_map(|pair| pair.systems)).collect();
        let part = |system: &crate::domain::SystemName| {
            let own: Vec<Shared<'_>> = shared.iter().filter(|both| both.unit.system == *system).copied().collect();
            let measures = with_comparisons(&own, &|pair| pair.systems.contains(&system));
            PartMeasures { name: system.to_string(), measures }
        };
        let parts = if names.len() > 1 { names.into_iter().map(part).collect() } else { Vec::new() };
        (with_comparisons(&shared, &|_| true), parts)
    };
    let is_mixed = measures::several_scales(&shared).is_some();
    let wins = between.wins(&compared, thresholds);
    // At the level of systems a threshold of answers matters to wins only.
    let is_used = |threshold: &TieThreshold| level != AgreementLevel::System || !threshold.chosen || wins.is_some();
    RaterPair {
        first: Arc::clone(&first.name),
        second: Arc::clone(&second.name),
        overall,
        items: items(between, &shared),
        systems,
        tie_threshold: tie_threshold.filter(is_used),
        ranking: if is_mixed { None } else { by_system.ranking(between) },
        wins,
    }
}

/// The measures of each item, where there are several; each with ties of its own.
fn items(between: Between<'_>, shared: &[Shared<'_>]) -> Vec<PartMeasures> {
    let names: BTreeSet<&Arc<str>> = shared.iter().filter_map(|both| both.unit.item.as_ref()).collect();
    let part = |item: &Arc<str>| {
        let own: Vec<Shared<'_>> =
            shared.iter().filter(|both| both.unit.item.as_ref() == Some(item)).copied().collect();
        let compared = between.compared(&own);
        let (thresholds, _) = between.thresholds(&compared);
        let comparisons = between.pair_agreement(&compared.iter().collect::<Vec<_>>(), thresholds);
        PartMeasures { name: item.to_string(), measures: Measures { comparisons, ..between.measures(&own) } }
    };
    names.into_iter().map(part).collect()
}

fn notes(views: &[View], has_mean: bool, options: &AgreementOptions) -> Vec<String> {
    let mut notes = Vec::new();
    let (people, judges): (Vec<&View>, Vec<&View>) = views.iter().partition(|view| view.kind == RaterKind::Human);
    if has_mean {
        notes.push(format!(
            "{HUMANS}: the mean of the {} people's ratings of a unit, and what most of them preferred",
            people.len()
        ));
    }
    if judges.len() >= 2 && views.len() > ALL_PAIRS {
        notes.push(format!("more than {ALL_PAIRS} raters: two judges are not compared with each other"));
    }
    let nothing = |view: &&View| view.values.is_empty() && view.said.is_empty();
    for view in views.iter().filter(nothing) {
        let of = options.metric.as_deref().unwrap_or("that kind");
        notes.push(format!("{} rated nothing of {of} at this level", view.name));
    }
    notes
}

#[cfg(test)]
mod tests;
