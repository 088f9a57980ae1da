//! A planned study, for people and as a table.

use std::path::Path;

use super::TableStyle;
use super::layout::{counted, wrapped};
use super::numbers::{percent, points};
use super::table::{Column, Format, Table};
use super::visible;
use crate::analysis::comparison::{PlannedStudy, PowerPlan};
use crate::domain::Note;
use crate::error::{Error, InputFault};

/// Questions of a pilot below which its standard deviation is too uncertain to plan by.
// With 20 questions, the standard deviation is known to about -24% to +46% (95%, normal
// differences).
const FEW: usize = 20;

/// The error that a run has nothing to plan a study from.
pub(crate) fn no_pilot(run: &Path) -> Error {
    let message = "no pilot: it takes two systems that differ by varying amounts on two or more shared questions";
    InputFault::new(run, message).refuse("score two systems on some 20 questions first")
}

/// The answer in one sentence, then the table with its notes.
pub fn power_text(plan: &PowerPlan, style: &TableStyle) -> String {
    let sentence = wrapped(&visible(&sentence(plan)), style.columns());
    format!("{sentence}\n\n{}", power_table(plan).terminal(style))
}

/// How many questions the main difference takes.
fn sentence(plan: &PowerPlan) -> String {
    let studies = &plan.studies;
    let by_difference = studies.chunk_by(|a, b| a.difference == b.difference);
    let by_difference: Vec<&[PlannedStudy]> = by_difference.collect();
    // The only difference, or the one before the largest.
    let main = by_difference[by_difference.len().saturating_sub(2)];
    format!(
        "To find a difference of {} in {} between two of {} with 80% power, ask about {} questions{}.",
        points(main[0].difference, plan.metric.unit),
        plan.metric.name,
        counted(plan.systems, "system"),
        questions_of(&main[0]),
        with_more_samples(main).unwrap_or_default(),
    )
}

fn questions_of(study: &PlannedStudy) -> String {
    Format::Count.show(study.questions as f64)
}

/// ` (120 with 4 samples each)`, if more samples than one make fewer questions enough.
fn with_more_samples(studies: &[PlannedStudy]) -> Option<String> {
    let best = fewest_questions(studies)?;
    if best.questions >= studies[0].questions {
        return None;
    }
    let samples = counted(best.samples?, "sample");
    Some(format!(" ({} with {samples} each)", questions_of(best)))
}

/// The study with the fewest questions and, of several, that with the fewest samples: more samples would only be paid for.
fn fewest_questions(studies: &[PlannedStudy]) -> Option<&PlannedStudy> {
    let studies = studies.iter();
    studies.min_by_key(|study| (study.questions, study.samples))
}

/// The planned studies, one per row.
pub fn power_table(plan: &PowerPlan) -> Table {
    let pilot = counted(plan.questions, "question");
    let level = percent(plan.level);
    let title = format!("Questions for 80% power at level {level}, from a pilot of {pilot}");
    let rows = &plan.studies;
    let mut table = Table::new(title, Vec::new());
    let difference = Column::new("difference", Format::of_mean(plan.metric.unit));
    table.column(difference, rows, |row| row.difference);
    if rows.iter().any(|row| row.samples.is_some()) {
        table.column(Column::count("samples"), rows, |row| row.samples);
    }
    table.column(Column::count("questions"), rows, |row| {
        (row.questions as f64, Some(row.interval))
    });
    table.notes = notes(plan);
    table
}

/// What the numbers rest on.
fn notes(plan: &PowerPlan) -> Vec<Note> {
    let mut notes = Vec::new();
    if plan.left_out > 0 {
        let cases = counted(plan.left_out, "case");
        notes.push(Note::warning(format!(
            "Left out of the pilot: {cases} without a value of every system."
        )));
    }
    if plan.questions < FEW {
        let pilot = counted(plan.questions, "question");
        notes.push(Note::warning(format!(
            "{pilot} are too few to plan by: the true number may be far off. Ask {FEW} or more first."
        )));
    }
    // The numbers of questions range like the variance, the standard deviation like its root.
    let low = 100.0 * (plan.range.low.sqrt() - 1.0);
    let high = 100.0 * (plan.range.high.sqrt() - 1.0);
    notes.push(Note::info(planned_by(plan)));
    notes.push(Note::warning(format!(
        "The ranges are what the pilot leaves open: it measures the standard deviation of differences, {}, only to within \
         {low:+.0}% to {high:+.0}% ({} interval for normal differences).",
        points(plan.sd, plan.metric.unit),
        percent(plan.level),
    )));
    notes
}

/// The standard deviation behind the numbers of questions.
fn planned_by(plan: &PowerPlan) -> String {
    if plan.systems > 2 {
        let [first, second] = &plan.pair;
        return format!("Planned by {first} and {second}, the pair whose differences vary most.");
    }
    format!(
        "Planned for a standard deviation of {}, below which the true one lies with a probability of 60%.",
        points(plan.upper_sd, plan.metric.unit)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::comparison::MetricId;
    use crate::domain::Unit;
    use crate::stats::Interval;

    #[test]
    fn the_sentence_recommends_the_fewest_samples_that_reach_its_number() {
        let study = |(samples, questions): (usize, usize)| PlannedStudy {
            difference: 0.05,
            samples: Some(samples),
            questions,
            interval: Interval {
                low: 20.0,
                high: 40.0,
            },
        };
        let mut plan = PowerPlan {
            schema_version: 1,
            metric: MetricId {
                scorer: "rubric".into(),
                name: "score".to_owned(),
                unit: Unit::Share,
                higher_is_better: true,
            },
            level: 0.95,
            systems: 2,
            questions: 24,
            left_out: 0,
            pair: ["a", "b"].map(str::to_owned),
            sd: 0.1,
            upper_sd: 0.11,
            range: Interval {
                low: 0.6,
                high: 1.9,
            },
            studies: [(1, 32), (2, 20), (5, 20)].map(study).to_vec(),
            curve: Vec::new(),
        };
        let sentence = |plan: &PowerPlan| {
            let text = power_text(plan, &TableStyle::default());
            text.split_whitespace().collect::<Vec<_>>().join(" ")
        };
        let text = sentence(&plan);
        assert!(
            text.contains("ask about 32 questions (20 with 2 samples each)."),
            "{text}"
        );
        // More samples that save nothing are not recommended.
        plan.studies = [(1, 20), (2, 20), (5, 20)].map(study).to_vec();
        let text = sentence(&plan);
        assert!(text.contains("ask about 20 questions. "), "{text}");
    }
}
