//! The criteria as a heatmap, systems by criteria, and the values behind its cells.

use std::cmp::Ordering;
use std::collections::HashMap;

use serde_json::{Value, json};

use super::HtmlReport;
use super::safety::push_html;
use super::table::ShortLabels;
use crate::analysis::{CriteriaGrid, CriteriaGroup, CriterionMark, CriterionRow};
use crate::domain::CaseId;
use crate::report::criteria::criteria_count;
use crate::report::table::Format;
use crate::report::visible;

/// Most criteria of a group that the page shows before it is asked for all.
// A screen of them.
const FIRST_ROWS: usize = 40;
/// Most criteria of a group on the page.
// Some 2 MB of a page: who looks for one of more finds it on the page of its case.
const MOST_ROWS: usize = 4000;
/// Most values by case that the page has of criteria.
// Some 5 MB of a page.
const MOST_VALUES: usize = 1_000_000;
/// Steps of the color scale; the style sheet has a class for each.
const STEPS: f64 = 10.0;

const EXPLANATION: &str = "Mean credit in % over all scored answers of a system, darker is more. A line or a cell leads to its cases.";
const FAULTS_EXPLANATION: &str =
    " A fault is what an answer should avoid: its number says how often it was found.";

/// Adds the heatmap; nothing without criteria.
pub(super) fn push_heatmap(
    page: &mut String,
    report: &HtmlReport<'_>,
    names: &ShortLabels,
    first: usize,
) {
    let grid = report.grid;
    if grid.groups.is_empty() {
        return;
    }
    let heatmap = HeatmapLines {
        order: system_order(report, first),
        cases: case_places(report),
        sets: value_sets(report),
    };
    let mut explanation = EXPLANATION.to_owned();
    if grid.groups.iter().any(|group| group.is_fault) {
        explanation += FAULTS_EXPLANATION;
    }
    push_html!(
        page,
        r#"<section class="criteria" aria-labelledby="criteria-title">
  <h2 id="criteria-title">Criteria</h2>
  <p class="explains">{}</p>
  <div class="wide" tabindex="0" role="region" aria-label="Criteria by system">
  <table class="heat{}" id="criteria">
    <thead><tr><th scope="col" class="question">Criterion</th>"#,
        explanation,
        if heatmap.order.len() > 6 { " many" } else { "" }
    );
    for system in &heatmap.order {
        let label = &report.comparison.systems[*system].label;
        push_html!(
            page,
            r#"<th scope="col" class="value" title="{}">"#,
            visible(label)
        );
        names.push(page, label);
        page.push_str("</th>");
    }
    page.push_str("</tr></thead>");
    for (at, group) in grid.groups.iter().enumerate() {
        heatmap.push_group(page, at, group);
    }
    page.push_str("\n  </table>\n  </div>\n</section>\n");
}

/// The systems from best to worst by the metric at that place.
fn system_order(report: &HtmlReport<'_>, first: usize) -> Vec<usize> {
    let comparison = report.comparison;
    match comparison.metrics.get(first) {
        Some(metric) => metric.systems.iter().map(|row| row.system).collect(),
        None => (0..comparison.systems.len()).collect(),
    }
}

fn case_places<'a>(report: &HtmlReport<'a>) -> HashMap<&'a CaseId, usize> {
    let cases = report.observations.cases.iter().enumerate();
    cases.map(|(at, case)| (&case.case_id, at)).collect()
}

/// What the lines of the heatmap are made with.
struct HeatmapLines<'a> {
    /// The systems in the order shown.
    order: Vec<usize>,
    cases: HashMap<&'a CaseId, usize>,
    sets: Vec<ValueSet<'a>>,
}

impl HeatmapLines<'_> {
    /// The line of a group, then those of its criteria.
    fn push_group(&self, page: &mut String, at: usize, group: &CriteriaGroup<'_>) {
        let rows = shown_rows(group, self.order.len());
        let mut count = criteria_count(group);
        if rows.len() > FIRST_ROWS {
            count += ", those with the largest differences first";
        }
        if rows.len() < group.rows.len() {
            count += &format!("; {} of them are here", rows.len());
        }
        let is_open = group.is_of_every_answer;
        let open = if is_open { " data-open" } else { "" };
        push_html!(page, "\n    <tbody{}>\n    <tr class=\"group\"", open);
        let set = self.sets.iter().position(|set| set.place == (at, None));
        push_leads_to(page, set);
        push_html!(
            page,
            r#"><th scope="rowgroup" title="{}"><a>{}</a> <small>{}</small></th>"#,
            group.scorer.as_str(),
            visible(&group.heading),
            count
        );
        if group.is_of_every_answer {
            push_html!(page, r#"<td colspan="{}"></td></tr>"#, self.order.len());
        } else {
            self.push_cells(page, group, &group.means(self.order.len()));
        }
        for (number, (place, row)) in rows.into_iter().enumerate() {
            page.push_str("\n    <tr");
            if number >= FIRST_ROWS {
                page.push_str(" class=\"more\"");
            }
            self.push_row(page, (at, place), group, row);
        }
        page.push_str("\n    </tbody>");
    }

    /// The line of a criterion behind its opened tag, which leads to its only case, or else to the values of all its cases.
    fn push_row(
        &self,
        page: &mut String,
        place: (usize, usize),
        group: &CriteriaGroup<'_>,
        row: &CriterionRow<'_>,
    ) {
        if let Some(case) = only_case(row).and_then(|case| self.cases.get(case)) {
            let part = part_key(group, row.name);
            push_html!(page, r#" data-case="{}" data-part="{}""#, case, part);
        } else {
            let place = (place.0, Some(place.1));
            let set = self.sets.iter().position(|set| set.place == place);
            push_leads_to(page, set);
        }
        push_html!(
            page,
            r#"><th scope="row"><a>{}</a></th>"#,
            visible(row.text)
        );
        self.push_cells(page, group, &row.means(self.order.len()));
    }

    fn push_cells(&self, page: &mut String, group: &CriteriaGroup<'_>, means: &[Option<f64>]) {
        for system in &self.order {
            match means[*system] {
                Some(mean) => push_cell(page, *system, mean, group.is_fault),
                None => page.push_str("<td class=\"missing\">–</td>"),
            }
        }
        page.push_str("</tr>");
    }
}

/// A cell in the color of its step; a fault says that it was found.
fn push_cell(page: &mut String, system: usize, mean: f64, is_fault: bool) {
    let kind = if is_fault { "known fault" } else { "known" };
    let shown = Format::PercentTo(0).show(mean);
    let text = match (is_fault, mean > 0.0) {
        (true, true) => format!("found {shown}%"),
        (true, false) => "not found".to_owned(),
        (false, _) => shown,
    };
    // Compat mode may exceed the range.
    let step = (mean.clamp(0.0, 1.0) * STEPS).round();
    push_html!(
        page,
        r#"<td class="{} v{}" data-system="{}">{}</td>"#,
        kind,
        step,
        system,
        text
    );
}

/// Says which values the line leads to.
fn push_leads_to(page: &mut String, set: Option<usize>) {
    if let Some(set) = set {
        push_html!(page, r#" data-of="{}""#, set);
    }
}

/// The criteria of a group on the page, with their places: more than a screen of them by their differences between systems.
fn shown_rows<'g, 'a>(
    group: &'g CriteriaGroup<'a>,
    systems: usize,
) -> Vec<(usize, &'g CriterionRow<'a>)> {
    let mut rows: Vec<(usize, &CriterionRow<'_>)> = group.rows.iter().enumerate().collect();
    if rows.len() > FIRST_ROWS {
        rows.sort_by(|(_, one), (_, other)| {
            let [one, other] = [one, other].map(|row| row.spread(systems));
            other.partial_cmp(&one).unwrap_or(Ordering::Equal)
        });
        rows.truncate(MOST_ROWS);
    }
    rows
}

/// The case of a criterion that a single case has.
fn only_case<'a>(row: &CriterionRow<'a>) -> Option<&'a CaseId> {
    let first = row.marks.first()?.case;
    let is_only = row.marks.iter().all(|mark| mark.case == first);
    is_only.then_some(first)
}

/// How the script names a component of a score.
fn part_key(group: &CriteriaGroup<'_>, name: &str) -> String {
    format!("{}/{}", group.scorer, name)
}

/// Values by system and case that the list of cases can show.
struct ValueSet<'a> {
    /// The group, and in it the criterion; `None` for all of them.
    place: (usize, Option<usize>),
    group: &'a CriteriaGroup<'a>,
    row: Option<&'a CriterionRow<'a>>,
}

impl<'a> ValueSet<'a> {
    fn marks(&self) -> impl Iterator<Item = &CriterionMark<'a>> {
        let rows = match self.row {
            Some(row) => std::slice::from_ref(row),
            None => &self.group.rows[..],
        };
        rows.iter().flat_map(|row| &row.marks)
    }

    /// The components of cases in which the criterion has another name than in the first one, by the place of the case.
    fn renamed(&self, cases: &HashMap<&CaseId, usize>) -> Value {
        let names = self.row.iter().flat_map(|row| &row.renamed);
        let parts = names.filter_map(|(case, name)| {
            let place = cases.get(case)?;
            Some((place.to_string(), part_key(self.group, name).into()))
        });
        Value::Object(parts.collect())
    }

    /// For the script: a row of mean credits for each system.
    fn as_json(&self, systems: usize, cases: &HashMap<&CaseId, usize>) -> Value {
        let mut sums = vec![vec![(0.0, 0.0); cases.len()]; systems];
        for mark in self.marks() {
            if let Some(case) = cases.get(mark.case) {
                let (sum, count) = &mut sums[mark.system][*case];
                *sum += mark.credit;
                *count += 1.0;
            }
        }
        let rows = sums.iter().map(|row| {
            let values = row.iter().map(|(sum, count)| {
                let mean = (*count > 0.0).then(|| sum / count);
                // As exact as it is shown.
                mean.map(|mean| (mean * 1000.0).round() / 1000.0)
            });
            values.collect::<Value>()
        });
        json!({
            "name": self.row.map_or(self.group.heading.as_str(), |row| row.text),
            "part": self.row.map(|row| part_key(self.group, row.name)),
            "renamed": self.renamed(cases),
            "fault": self.group.is_fault,
            "unit": "share",
            "values": rows.collect::<Value>(),
        })
    }
}

/// The sets that lines of the heatmap lead to: of every group, and of criteria that several cases have. A page has no more of
/// them than it has room for.
fn value_sets<'a>(report: &'a HtmlReport<'_>) -> Vec<ValueSet<'a>> {
    let grid: &CriteriaGrid<'a> = report.grid;
    let systems = report.comparison.systems.len();
    let size = systems * report.observations.cases.len();
    let room = MOST_VALUES / size.max(1);
    let mut of_groups = Vec::new();
    let mut of_rows = Vec::new();
    for (at, group) in grid.groups.iter().enumerate() {
        if !group.is_of_every_answer {
            of_groups.push(ValueSet {
                place: (at, None),
                group,
                row: None,
            });
        }
        for (place, row) in shown_rows(group, systems).into_iter().take(FIRST_ROWS) {
            if only_case(row).is_none() {
                of_rows.push(ValueSet {
                    place: (at, Some(place)),
                    group,
                    row: Some(row),
                });
            }
        }
    }
    of_groups.extend(of_rows);
    of_groups.truncate(room);
    of_groups
}

/// The values behind the lines of the heatmap, for the script.
pub(super) fn criteria_values(report: &HtmlReport<'_>) -> Value {
    let cases = case_places(report);
    let systems = report.comparison.systems.len();
    let sets = value_sets(report);
    sets.iter()
        .map(|set| set.as_json(systems, &cases))
        .collect()
}
