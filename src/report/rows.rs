//! The numbers of a scored answer as rows, for `items.csv`, Parquet tables and inspect-ai logs.

use std::borrow::Cow;
use std::io::{self, Write};

use serde::Serialize;

use crate::analysis::{metric_by, metric_of};
use crate::domain::{Component, ScoredAnswer, Unit, UnscoredKind};
use crate::scorer::scorer_named;
use crate::text::spreadsheets::CsvText;

/// One number of a scored answer: a sum, or a component.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ComponentRow<'a> {
    /// The run's name.
    pub run: Cow<'a, str>,
    /// The system.
    pub system: &'a str,
    /// The case.
    pub case_id: &'a str,
    /// The scorer.
    pub scorer: &'a str,
    /// The metric: `score`, `ann_score` (`lexical_..` by the baseline), `aspect_mean`, or the component.
    pub component: Cow<'a, str>,
    /// `score`, `ann_score`, or the measure of the component.
    pub kind: &'static str,
    /// The unit of the value.
    pub unit: Unit,
    /// The question; empty where the run keeps no inputs.
    pub question: Cow<'a, str>,
    /// The judged text.
    pub text: Option<Cow<'a, str>>,
    /// The component's weight, if the score is a weighted sum.
    pub weight: Option<f64>,
    /// The number, if there is one.
    pub value: Option<f64>,
    /// The kind of reason for a missing value.
    pub reason_kind: Option<UnscoredKind>,
    /// The reason for a missing value.
    pub reason: Option<Cow<'a, str>>,
    /// The judge's feedback.
    pub feedback: Option<Cow<'a, str>>,
}

/// The sums of an answer, if any, then its components in the order of the score.
pub fn component_rows<'a>(
    run: &'a str,
    scored: &'a ScoredAnswer,
    texts: CsvText,
) -> Vec<ComponentRow<'a>> {
    let score = &scored.score;
    let (sum_name, ann_name) = score.sum_names();
    let score_name = match scorer_named(score.scorer.name()) {
        Some(info) => info.score_name,
        // A custom scorer scores the whole answer.
        None => Some("score"),
    };
    let name = score_name.map_or(sum_name, |name| metric_by(&score.scorer, name));
    let mut rows = Vec::with_capacity(score.components.len() + 2);
    // A weighted sum has its row even when it is unscored, so that each answer has as many rows.
    if score.is_weighted_sum() || (score_name.is_some() && score.value.is_some()) {
        rows.push(ComponentRow {
            value: score.value,
            ..row_of("score", name, run, scored, texts)
        });
    }
    if score.has_ann_score() {
        rows.push(ComponentRow {
            value: score.ann_score,
            ..row_of("ann_score", ann_name, run, scored, texts)
        });
    }
    for component in &score.components {
        rows.push(component_row(component, run, scored, texts));
    }
    rows
}

/// A number of the answer without its value.
fn row_of<'a>(
    kind: &'static str,
    name: &'a str,
    run: &'a str,
    scored: &'a ScoredAnswer,
    texts: CsvText,
) -> ComponentRow<'a> {
    ComponentRow {
        run: texts.cell("run", run),
        system: scored.system.as_str(),
        case_id: scored.case.case_id.as_str(),
        scorer: scored.score.scorer.as_str(),
        component: texts.cell("component", name),
        kind,
        unit: scored.score.unit(),
        question: texts.cell("question", &scored.case.initial_prompt),
        text: None,
        weight: None,
        value: None,
        reason_kind: None,
        reason: None,
        feedback: None,
    }
}

/// The row of a component; what it does not have stays empty.
fn component_row<'a>(
    component: &'a Component,
    run: &'a str,
    scored: &'a ScoredAnswer,
    texts: CsvText,
) -> ComponentRow<'a> {
    let name = metric_of(&scored.score.scorer, &component.name);
    let mut row = row_of(component.kind.name(), name, run, scored, texts);
    row.unit = component.kind.unit();
    row.value = component.value;
    if !component.text.is_empty() {
        row.text = Some(texts.cell("text", &component.text));
    }
    if component.kind.is_weighted() {
        row.weight = Some(component.weight);
    }
    if let Some(reason) = &component.reason {
        row.reason_kind = Some(reason.kind);
        row.reason = Some(texts.cell("reason", &reason.message));
    }
    if let Some(feedback) = &component.feedback {
        row.feedback = Some(texts.cell("feedback", feedback));
    }
    row
}

/// `items.csv` of a run: a header and one line per row (nothing without rows), quoted as in RFC 4180, lines end in a
/// line feed.
///
/// # Errors
/// When a row cannot be written.
pub fn write_items_csv<'a>(
    out: impl Write,
    run: &str,
    scored: impl IntoIterator<Item = &'a ScoredAnswer>,
    texts: CsvText,
) -> io::Result<()> {
    let mut csv = csv::Writer::from_writer(out);
    let scored = scored.into_iter();
    let mut rows = scored.flat_map(|answer| component_rows(run, answer, texts));
    rows.try_for_each(|row| csv.serialize(row))?;
    csv.flush()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::test_support::{answer, component, score};
    use crate::domain::ComponentKind;

    fn lines(components: Vec<Component>, texts: CsvText) -> Vec<String> {
        let answer = answer("gpt", "c1", score(components));
        let mut csv = Vec::new();
        write_items_csv(&mut csv, "r", [&answer], texts).unwrap();
        let csv = String::from_utf8(csv).unwrap();
        csv.split_inclusive('\n').map(str::to_owned).collect()
    }

    #[test]
    fn a_component_without_a_value_has_an_empty_cell_and_a_reason() {
        let lines = lines(
            vec![
                component("length", ComponentKind::Length, 0.05, Some(0.5)),
                component("a", ComponentKind::Property, 0.6, None),
            ],
            CsvText::Guarded,
        );
        let header = "run,system,case_id,scorer,component,kind,unit,question,text,weight,value,reason_kind,reason,feedback";
        assert_eq!(lines[0].trim_end(), header);
        assert!(
            lines[1].starts_with("r,gpt,c1,rubric,score,score,share,"),
            "{}",
            lines[1]
        );
        assert!(
            lines[3].starts_with("r,gpt,c1,rubric,length,length,share,"),
            "{}",
            lines[3]
        );
        assert!(
            lines[3].ends_with(",text of length,0.05,0.5,,,\n"),
            "{}",
            lines[3]
        );
        assert!(
            lines[4].ends_with(",text of a,0.6,,unreadable,no JSON object,\n"),
            "{}",
            lines[4]
        );
    }

    #[test]
    fn quotes_commas_and_line_breaks_stay_within_their_cell() {
        let mut hostile = component("a", ComponentKind::Property, 0.6, Some(1.0));
        hostile.text = "say \"x\",\nthen".into();
        hostile.feedback = Some("=HYPERLINK(\"u\")".to_owned().into());
        let [guarded, unchanged] = [CsvText::Guarded, CsvText::Unchanged]
            .map(|texts| lines(vec![hostile.clone()], texts).concat());
        let cells = ",\"say \"\"x\"\",\nthen\",0.6,1.0,,,\"=HYPERLINK(\"\"u\"\")\"\n";
        assert!(unchanged.contains(cells), "{unchanged}");
        assert_eq!(guarded, unchanged.replace("=HYPERLINK", "'=HYPERLINK"));
    }
}
