//! Selects the pairs of raters to compare, and summarizes the result.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use super::confusion::{ItemScale, LabeledItem, confusions};
use super::corrected_shares::{RunVerdicts, corrected_shares};
use super::groups::groups;
use super::pair::rater_pair;
use super::panel_errors::panel_errors;
use super::powered::LabeledRun;
use super::result::{
    AgreementLevel, AgreementOptions, Confusion, NO_ORDER, PairAgreement, PoweredMean,
    RaterAgreement, RaterPair, SummaryRow,
};
use super::scales::{reversed_note, unknown_scale_note};
use super::units::{Context, RaterView};
use crate::ratings::{Estimate, FEWEST_FOR_INTERVAL};
use scholareval_core::domain::{CaseId, DrawProbabilities, Note, Rater};
use scholareval_core::text::names::{counted, list};
use scholareval_stats::mean;

/// Maximum number of raters for comparing judges in pairs.
const ALL_PAIRS: usize = 6;
/// Name of the people's mean.
const HUMANS: &str = "humans";
/// Version of the format of [`RaterAgreement`].
const SCHEMA_VERSION: u32 = 1;

/// Raters, and the questions of the cases.
#[derive(Debug, Clone, Default)]
pub struct Labeled {
    /// The raters, names unique.
    pub raters: Vec<Rater>,
    /// The question of each case, if known: cases of one question are resampled together.
    pub questions: HashMap<CaseId, Arc<str>>,
    /// The group of each case, if it has one.
    pub groups: HashMap<CaseId, Arc<str>>,
    /// The probabilities with which answers, or items of them, were drawn to be labeled, where they are known.
    pub probabilities: DrawProbabilities,
    /// The people together, if that is not the mean of the raters: adjudicated labels replace those on which they differ.
    pub people: Option<Rater>,
    /// The scales of labeled items, for tables of a judge's levels against those of people.
    pub scales: Vec<ItemScale>,
    /// The verdicts of runs on criteria that are met or not, for systems without labels.
    pub verdicts: Vec<RunVerdicts>,
}

impl Labeled {
    /// The raters, and the mean of the people if there are several.
    pub(super) fn views(&self, options: &AgreementOptions) -> (Vec<RaterView>, Option<RaterView>) {
        let raters = self.raters.iter();
        let views: Vec<RaterView> = raters.map(|rater| RaterView::new(rater, options)).collect();
        let people: Vec<&RaterView> = views.iter().filter(|view| view.is_human()).collect();
        let mut name = HUMANS.to_owned();
        while self.raters.iter().any(|rater| *rater.name == *name) {
            name.insert_str(0, "all ");
        }
        let humans = match &self.people {
            Some(together) => Some(RaterView::together(&name, together, &people, options)),
            None => (people.len() >= 2).then(|| RaterView::mean_of(&name, &people)),
        };
        (views, humans)
    }

    /// The levels of each judge against those of the people together, or of the only person.
    fn confusions(&self, options: &AgreementOptions) -> Vec<Confusion> {
        let of_items = AgreementOptions {
            level: AgreementLevel::Item,
            metric: None,
            ..options.clone()
        };
        let (views, humans) = self.views(&of_items);
        let mut people = views.iter().filter(|view| view.is_human());
        let Some(human) = humans.as_ref().or(people.next()) else {
            return Vec::new();
        };
        let context = self.context(&views, &of_items);
        let (scales, probabilities) = (&self.scales, &self.probabilities);
        let judges = views.iter().filter(|view| !view.is_human());
        judges
            .flat_map(|judge| confusions(judge, human, scales, probabilities, &context))
            .collect()
    }

    pub(super) fn context<'a>(
        &'a self,
        views: &'a [RaterView],
        options: &'a AgreementOptions,
    ) -> Context<'a> {
        let mut context = Context::new(views, &self.questions, options);
        context.groups = Some(&self.groups);
        for scale in &self.scales {
            for LabeledItem { item, .. } in &scale.items {
                let values = context.label_values.entry(Some(Arc::clone(item)));
                let levels = scale.levels.iter().map(|(_, value)| value.to_bits());
                values.or_default().extend(levels);
            }
        }
        let is_of_items = options.level == AgreementLevel::Item && options.metric.is_none();
        if let [scale] = &self.scales[..]
            && is_of_items
        {
            context.levels = scale.levels.len();
        }
        context
    }
}

/// Compares the raters: each judge with the mean of the people and with each person, people in pairs, judges in pairs
/// (with at most six raters), and all together.
pub fn rater_agreement(labeled: &Labeled, options: &AgreementOptions) -> RaterAgreement {
    let (views, humans) = labeled.views(options);
    let context = labeled.context(&views, options);
    let (people, judges): (Vec<&RaterView>, Vec<&RaterView>) =
        views.iter().partition(|view| view.is_human());
    let chosen = chosen_pairs(&judges, &people, humans.as_ref()).into_iter();
    let pairs = chosen.map(|(first, second)| rater_pair(first, second, &context));
    let pairs: Vec<RaterPair> = pairs.collect();
    // The mean of several people is the better label; its noise is smaller than that of any of
    // them.
    let labels = humans.as_ref().or(people.first().copied());
    let probabilities = &labeled.probabilities;
    let runs = judges.iter();
    let runs = runs.filter_map(|judge| LabeledRun::new(judge, labels?, probabilities, &context));
    let labeled_runs: Vec<LabeledRun> = runs.collect();
    let confusions = labeled.confusions(options);
    let powered: Vec<PoweredMean> = labeled_runs.iter().flat_map(LabeledRun::means).collect();
    let all_views = views.iter().chain(&humans);
    let raters = labeled.raters.iter();
    let reversed = raters.filter_map(|rater| reversed_note(rater, options));
    let mut agreement = RaterAgreement {
        schema_version: SCHEMA_VERSION,
        options: options.clone(),
        summary: summary(&people, &judges, &pairs),
        raters: all_views.map(|view| view.rater.clone()).collect(),
        pairs,
        groups: groups(&views, &context),
        rogan_gladen: corrected_shares(
            &labeled.verdicts,
            &labeled.raters,
            &labeled.scales,
            &confusions,
            &context,
        ),
        confusions,
        panel_errors: labels.and_then(|people| panel_errors(&judges, people, &context)),
        reliability: Vec::new(),
        gates: Vec::new(),
        powered_notes: powered_notes(&powered, labeled_runs.iter().any(LabeledRun::is_weighted)),
        powered,
        notes: reversed.collect(),
    };
    agreement.notes.extend(unknown_scale_note(&views, &context));
    let notes = notes(&agreement);
    agreement.notes.extend(notes);
    if judges.len() >= 2 && views.len() > ALL_PAIRS {
        let text =
            format!("More than {ALL_PAIRS} raters: two judges are not compared with each other.");
        agreement.notes.push(Note::info(text));
    }
    agreement
}

/// Each judge with the people together and with each person, people in pairs, and few judges in pairs.
fn chosen_pairs<'a>(
    judges: &[&'a RaterView],
    people: &[&'a RaterView],
    humans: Option<&'a RaterView>,
) -> Vec<(&'a RaterView, &'a RaterView)> {
    let mut chosen = Vec::new();
    for judge in judges {
        for human in humans.iter().chain(people) {
            chosen.push((*judge, *human));
        }
    }
    chosen.extend(in_pairs(people));
    // Ten judges have 45 pairs among them, which would bury the comparisons with people.
    if judges.len() + people.len() <= ALL_PAIRS {
        chosen.extend(in_pairs(judges));
    }
    chosen
}

fn in_pairs<'a>(views: &[&'a RaterView]) -> Vec<(&'a RaterView, &'a RaterView)> {
    (0..views.len())
        .flat_map(|a| (a + 1..views.len()).map(move |b| (views[a], views[b])))
        .collect()
}

/// People with people, then each judge with single people, so that both are agreement of two raters; without people the
/// pairs of judges.
fn summary(people: &[&RaterView], judges: &[&RaterView], pairs: &[RaterPair]) -> Vec<SummaryRow> {
    let row = |who: String, is_of_row: &dyn Fn(&&RaterPair) -> bool| {
        summary_row(who, pairs.iter().filter(is_of_row).collect())
    };
    let mut rows = vec![row("people with people".to_owned(), &|pair| {
        is_one_of(&pair.first, people)
    })];
    for judge in judges {
        let name = &judge.rater.name;
        rows.push(row(format!("{name} with people"), &|pair| {
            pair.first == *name && is_one_of(&pair.second, people)
        }));
    }
    if people.is_empty() {
        rows.push(row("judges with judges".to_owned(), &|_| true));
    }
    rows.retain(|row| row.pairs > 0);
    if people.len() >= 2 {
        // No judge can be expected to agree with people more than these do with each other.
        let ceiling = rows.first().cloned().map(Box::new);
        for row in rows.iter_mut().skip(1) {
            row.ceiling.clone_from(&ceiling);
        }
    }
    rows
}

fn is_one_of(name: &str, views: &[&RaterView]) -> bool {
    views.iter().any(|view| *view.rater.name == *name)
}

/// The means over these pairs of raters, without those that share fewer than half as many units as others.
fn summary_row(who: String, mut pairs: Vec<&RaterPair>) -> SummaryRow {
    let all = pairs.len();
    let most = pairs.iter().map(|pair| units_of(pair)).max();
    pairs.retain(|pair| Some(2 * units_of(pair)) >= most);
    let mut tau = Vec::new();
    let mut better = Vec::new();
    let mut within = Vec::new();
    let mut orders = Vec::new();
    let mut chances = Vec::new();
    let mut is_above_chance = true;
    for pair in &pairs {
        tau.push(&pair.overall.kendall_tau_b);
        within.push(&pair.overall.within_question_tau_b);
        let compared = pair.overall.comparisons.as_ref();
        better.extend(compared.map(|compared| &compared.half_credit));
        let order = pair.ranking.as_ref().or(pair.wins.as_ref());
        orders.extend(order.map(|order| &order.kendall_tau_b));
        let chance = compared.map_or(0.0, PairAgreement::chance);
        let shares = compared.map(|compared| &compared.half_credit);
        let main = shares.unwrap_or(&pair.overall.kendall_tau_b);
        is_above_chance &= main.low.is_some_and(|low| low > chance);
        chances.push(chance);
    }
    SummaryRow {
        who,
        pairs: pairs.len(),
        left_out: all - pairs.len(),
        kendall_tau_b: mean_estimate(&tau, ""),
        half_credit: mean_estimate(&better, "no two answers to one question were compared"),
        within_question_tau_b: mean_estimate(&within, ""),
        systems: mean_estimate(&orders, NO_ORDER),
        ceiling: None,
        chance: chances.iter().sum::<f64>() / pairs.len().max(1) as f64,
        is_above_chance,
    }
}

/// The ratings or comparisons that two raters share.
fn units_of(pair: &RaterPair) -> usize {
    let compared = pair.overall.comparisons.as_ref();
    let pairs = compared.map_or(0, |compared| compared.n);
    pair.overall.n.max(pairs)
}

/// The mean of the defined estimates, without an interval; a single estimate is unchanged. Without any, the first one's reason,
/// or this one.
fn mean_estimate(estimates: &[&Estimate], reason: &str) -> Estimate {
    if let [only] = estimates {
        return (*only).clone();
    }
    let defined = || {
        estimates
            .iter()
            .filter(|estimate| estimate.estimate.is_some())
    };
    let values: Vec<f64> = defined().filter_map(|estimate| estimate.estimate).collect();
    let estimates = estimates.iter();
    let mut reasons = estimates.filter_map(|estimate| estimate.undefined.as_deref());
    Estimate {
        n: defined().filter_map(|estimate| estimate.n).min(),
        ..Estimate::new(mean(&values), || None, reasons.next().unwrap_or(reason))
    }
}

/// Notes on the prediction-powered means; `weighted` if the labels have unequal probabilities of being drawn.
fn powered_notes(powered: &[PoweredMean], weighted: bool) -> Vec<Note> {
    let mut notes = Vec::new();
    let mut means = powered.iter();
    if means.any(|mean| mean.powered.low.is_some() && !mean.reliable) {
        notes.push(Note::warning(
            "Some prediction-powered means and differences rest on fewer than 50 labels, or on labels of which more than 80% are \
             equal: their intervals may hold the true value less often than stated.",
        ));
    }
    let mut missing: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for mean in powered.iter().filter(|mean| mean.minus.is_none()) {
        if let Some(reason) = &mean.powered.undefined {
            let systems = missing.entry(reason).or_default();
            systems.insert(mean.system.as_str());
        }
    }
    notes.extend(missing.into_iter().map(|(reason, systems)| {
        Note::warning(format!(
            "No prediction-powered mean of {}: {reason}.",
            list(systems, 5)
        ))
    }));
    if weighted {
        notes.push(Note::warning(
            "The labeled answers were drawn with unequal probabilities: prediction-powered means weight labels by their \
             inverses; the measures of agreement do not.",
        ));
    } else if powered.iter().any(|mean| mean.powered.estimate.is_some()) {
        notes.push(Note::info(
            "Prediction-powered means hold if the labeled answers were drawn at random.",
        ));
    }
    notes
}

fn has_number_without_interval(pair: &RaterPair) -> bool {
    let estimates = pair.overall.estimates();
    let mut estimates = estimates.iter().map(|(.., estimate)| estimate);
    estimates.any(|estimate| estimate.estimate.is_some() && estimate.low.is_none())
}

/// Warnings first.
fn notes(agreement: &RaterAgreement) -> Vec<Note> {
    let mut notes = Vec::new();
    let metric = agreement.options.metric.as_ref();
    let of = metric.map_or_else(String::new, |metric| format!(" of {metric}"));
    let raters = agreement.raters.iter();
    for rater in raters.filter(|rater| rater.ratings == 0 && rater.preferences == 0) {
        notes.push(Note::warning(format!(
            "{} has no ratings{of} at this level and is left out.",
            rater.name
        )));
    }
    for row in agreement.summary.iter().filter(|row| row.left_out > 0) {
        notes.push(Note::warning(format!(
            "{}: {} with fewer than half as many shared units as others left out of the mean (--by rater has all).",
            row.who,
            counted(row.left_out, "pair of raters")
        )));
    }
    if agreement.pairs.iter().any(has_number_without_interval) {
        notes.push(Note::info(format!(
            "Intervals need at least {FEWEST_FOR_INTERVAL} units (answers, items or pairs; for orders of systems, questions) \
             and a number that changes with the questions."
        )));
    }
    let options = &agreement.options;
    notes.push(Note::info(format!(
        "Intervals: {:.0}%, questions with all their units; of coefficients by jackknife or, over few units, from the table \
         of ratings, of shares Wilson's, of orders of systems by BCa bootstrap over questions, {} resamples, seed {}; of \
         prediction-powered means Wilson's, of their differences and without a scale by bootstrap-t.",
        100.0 * options.confidence,
        options.resamples,
        options.seed
    )));
    notes
}
