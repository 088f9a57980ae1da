//! Several raters together: Krippendorff's alpha and ICC(2,1).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::measures::{MOST_CATEGORIES, distinct_values, scales_differ};
use super::result::{AgreementLevel, Estimate, RaterGroup};
use super::view::{Frame, Unit, View, distinct};
use crate::domain::{ComparedPair, RaterKind, SystemName};
use crate::stats::{MeasurementLevel, icc_2_1, krippendorff_alpha, krippendorff_alpha_clustered_interval};

/// All raters; where there are several people and also judges, the people; the same for judges.
pub(super) fn groups(views: &[View], frame: &Frame<'_>) -> Vec<RaterGroup> {
    let of = |kind: RaterKind| views.iter().filter(|view| view.kind == kind).collect::<Vec<_>>();
    let (people, judges) = (of(RaterKind::Human), of(RaterKind::Judge));
    let mut chosen: Vec<(&str, Vec<&View>)> = vec![("all raters", views.iter().collect())];
    if !people.is_empty() && !judges.is_empty() {
        chosen.push(("people", people));
        chosen.push(("judges", judges));
    }
    chosen.retain(|(_, views)| views.len() >= 2);
    let rated = chosen.iter().map(|(name, views)| of_ratings(name, views, frame));
    let compared = chosen.iter().filter_map(|(name, views)| of_preferences(name, views, frame));
    let mut groups: Vec<RaterGroup> = Vec::new();
    for group in rated.chain(compared).filter(|group| group.raters.len() >= 2) {
        // Where only people compared, all raters are the people.
        if !groups.iter().any(|known| known.of == group.of && known.raters == group.raters) {
            groups.push(group);
        }
    }
    groups
}

/// Raters (rows) by units (columns), with each unit's question.
struct Table {
    rows: Vec<Vec<Option<f64>>>,
    questions: Vec<usize>,
    /// Why the values cannot be compared one to one.
    unusable: Option<String>,
    /// Why resampling questions makes no sense for these units.
    one_number_a_system: bool,
}

fn of_ratings(name: &str, views: &[&View], frame: &Frame<'_>) -> RaterGroup {
    let raters: Vec<&View> = views.iter().copied().filter(|view| !view.values.is_empty()).collect();
    let table = match frame.options.level {
        AgreementLevel::System => system_means(&raters),
        AgreementLevel::Answer | AgreementLevel::Item => rating_table(&raters, frame),
    };
    group(name, "ratings", &raters, &table, frame)
}

fn rating_table(raters: &[&View], frame: &Frame<'_>) -> Table {
    let mut counts: BTreeMap<&Unit, usize> = BTreeMap::new();
    raters.iter().flat_map(|view| view.values.keys()).for_each(|unit| *counts.entry(unit).or_default() += 1);
    let units: Vec<&Unit> = counts.into_iter().filter(|(_, count)| *count >= 2).map(|(unit, _)| unit).collect();
    let rows: Vec<Vec<Option<f64>>> =
        raters.iter().map(|view| units.iter().map(|unit| view.values.get(unit).copied()).collect()).collect();
    Table {
        unusable: unusable(raters, &rows).or_else(|| items_differ(&units, &rows)),
        questions: units.iter().map(|unit| frame.question(&unit.case_id)).collect(),
        rows,
        one_number_a_system: false,
    }
}

/// Items of a rater on several scales, see [`super::measures::several_scales`].
fn items_differ(units: &[&Unit], rows: &[Vec<Option<f64>>]) -> Option<String> {
    let mixed = |row: &Vec<Option<f64>>| {
        let mut most: BTreeMap<&str, f64> = BTreeMap::new();
        for (unit, value) in units.iter().zip(row) {
            if let (Some(item), Some(value)) = (unit.item.as_deref(), value) {
                let own = most.entry(item).or_insert(f64::NEG_INFINITY);
                *own = own.max(*value);
            }
        }
        most.values().any(|most| *most <= 1.0) && most.values().any(|most| *most > 1.0)
    };
    rows.iter().any(mixed).then(|| "items on several scales: choose one with --metric".to_owned())
}

/// Why a judge's values and a person's cannot be compared one to one.
fn unusable(raters: &[&View], rows: &[Vec<Option<f64>>]) -> Option<String> {
    if raters.windows(2).all(|two| two[0].kind == two[1].kind) {
        return None;
    }
    let most = |row: &Vec<Option<f64>>| row.iter().flatten().copied().fold(f64::NEG_INFINITY, f64::max);
    let largest: Vec<(&str, f64)> = raters
        .iter()
        .zip(rows)
        .map(|(view, row)| (&*view.name, most(row)))
        .filter(|(_, most)| most.is_finite())
        .collect();
    scales_differ(&largest)
}

/// Each rater's mean of every system over the answers that all of them rated.
fn system_means(raters: &[&View]) -> Table {
    let mut sums: BTreeMap<&SystemName, (Vec<f64>, f64)> = BTreeMap::new();
    for unit in raters.first().into_iter().flat_map(|view| view.values.keys()) {
        let all: Option<Vec<f64>> = raters.iter().map(|view| view.values.get(unit).copied()).collect();
        if let Some(all) = all {
            let (sum, count) = sums.entry(&unit.system).or_insert_with(|| (vec![0.0; raters.len()], 0.0));
            sum.iter_mut().zip(all).for_each(|(sum, value)| *sum += value);
            *count += 1.0;
        }
    }
    let row = |rater: usize| sums.values().map(|(sum, count)| Some(sum[rater] / count)).collect();
    let rows: Vec<Vec<Option<f64>>> = (0..raters.len()).map(row).collect();
    Table { unusable: unusable(raters, &rows), questions: (0..sums.len()).collect(), rows, one_number_a_system: true }
}

/// Comparisons as ratings of pairs; `None` where fewer than two raters made any.
fn of_preferences(name: &str, views: &[&View], frame: &Frame<'_>) -> Option<RaterGroup> {
    let raters: Vec<&View> = views.iter().copied().filter(|view| !view.said.is_empty()).collect();
    if raters.len() < 2 {
        return None;
    }
    let pairs: BTreeSet<&ComparedPair> = raters.iter().flat_map(|view| view.said.keys()).collect();
    let table = Table {
        rows: raters.iter().map(|view| pairs.iter().map(|pair| view.said.get(*pair).copied()).collect()).collect(),
        questions: pairs.iter().map(|pair| frame.question(&pair.case_id)).collect(),
        unusable: None,
        one_number_a_system: false,
    };
    let mut group = group(name, "preferences", &raters, &table, frame);
    group.icc_2_1 = Estimate::undefined("outcomes are no scale");
    Some(group)
}

fn group(name: &str, of: &'static str, raters: &[&View], table: &Table, frame: &Frame<'_>) -> RaterGroup {
    let rows: Vec<&[Option<f64>]> = table.rows.iter().map(Vec::as_slice).collect();
    let rated = |unit: &usize| rows.iter().filter(|row| row[*unit].is_some()).count();
    let units: Vec<usize> = (0..table.questions.len()).collect();
    let pairable: Vec<usize> = units.iter().copied().filter(|unit| rated(unit) >= 2).collect();
    let why = if pairable.is_empty() { "no unit has two ratings" } else { "all ratings are one value" };
    let alpha = |level: MeasurementLevel| {
        if let Some(why) = &table.unusable {
            return Estimate::undefined(why);
        }
        let interval = || {
            let clustered = || krippendorff_alpha_clustered_interval(&rows, &table.questions, level, frame.bca());
            (!table.one_number_a_system).then(clustered).flatten()
        };
        Estimate::new(krippendorff_alpha(&rows, level), pairable.len(), interval, why)
    };
    let categories = distinct_values(table.rows.iter().flatten().flatten().copied());
    let nominal = if categories > MOST_CATEGORIES {
        Estimate::undefined(&format!("{categories} distinct values are no categories"))
    } else {
        alpha(MeasurementLevel::Nominal)
    };
    RaterGroup {
        name: name.to_owned(),
        of,
        raters: raters.iter().map(|view| Arc::clone(&view.name)).collect(),
        n: pairable.len(),
        questions: distinct(pairable.iter().map(|unit| table.questions[*unit])),
        alpha_nominal: nominal,
        alpha_ordinal: alpha(MeasurementLevel::Ordinal),
        alpha_interval: alpha(MeasurementLevel::Interval),
        complete: units.iter().filter(|unit| rows.len() >= 2 && rated(unit) == rows.len()).count(),
        icc_2_1: icc(&rows, table, frame),
    }
}

fn icc(rows: &[&[Option<f64>]], table: &Table, frame: &Frame<'_>) -> Estimate {
    if let Some(why) = &table.unusable {
        return Estimate::undefined(why);
    }
    let icc = icc_2_1(rows, frame.options.confidence);
    let why = "fewer than two units rated by all, or all ratings are one value";
    // By the F distribution: nothing is drawn that few units would repeat.
    Estimate::new(icc.map(|icc| icc.value), usize::MAX, || icc.and_then(|icc| icc.interval), why)
}
