//! What a reader must know beside the numbers: one sentence or two per matter.

use super::layout::{counted, listed, per_cent, short_name};
use super::rubric_table::Fewer;
use super::visible::shortened;
use super::{ReportContext, visible};
use crate::analysis::{Agreement, OnUnscored, Summary, SystemRow};
use crate::domain::{Mode, UnscoredKind};

/// Listed entries of one kind before the rest is counted.
const LISTED: usize = 5;

/// Every footnote that applies, in the order of their weight.
pub(super) fn footnotes(summary: &Summary, context: &ReportContext) -> Vec<String> {
    let mut notes = Vec::new();
    // The lines of the roles say it, with the panel and the draws.
    if summary.lexical || !context.names_roles {
        notes.extend([judge(summary, context), prompts(context)]);
    }
    notes.push(intervals(summary));
    if summary.mode == Mode::Compat {
        notes.push("compat mode: pairing, parsing and arithmetic are the reference script's, faults included.".into());
    }
    notes.extend(ranking(summary));
    notes.extend(fewer(summary));
    notes.extend(summary.rows.iter().filter_map(|row| unscored(summary, row)));
    notes.extend(context.remarks.iter().map(|remark| format!("{}.", shortened(remark, 300))));
    notes.extend(missing(summary));
    notes.extend(steering(summary));
    notes.extend(remarks(summary));
    notes.extend(context.agreement.as_ref().map(agreement));
    notes
}

fn judge(summary: &Summary, context: &ReportContext) -> String {
    let label = visible(&context.judge_label);
    if summary.lexical {
        format!(
            "{} and {}: the built-in lexical judge is a baseline and no LLM.",
            summary.score_name(),
            summary.ann_score_name()
        )
    } else {
        format!("judge: {label}.")
    }
}

fn prompts(context: &ReportContext) -> String {
    let label = visible(&context.prompts_label);
    match &context.comparability_note {
        Some(note) => format!("prompts: {label}; {}.", visible(note)),
        None => format!("prompts: {label}."),
    }
}

fn intervals(summary: &Summary) -> String {
    intervals_note(summary.level, summary.resamples, summary.seed, (summary.cases, summary.questions))
}

/// How intervals were made, of so many cases and questions.
pub(super) fn intervals_note(level: f64, resamples: u32, seed: u64, (cases, questions): (usize, usize)) -> String {
    let together = if questions < cases {
        format!(" ({cases} cases of {questions} questions: the cases of a question are drawn together)")
    } else {
        String::new()
    };
    format!(
        "intervals: {:.0}%, BCa bootstrap of the mean over cases{together}, {resamples} resamples, seed {seed}.",
        100.0 * level,
    )
}

fn ranking(summary: &Summary) -> Option<String> {
    if summary.rows.len() < 2 {
        return None;
    }
    let (with, without): (Vec<&SystemRow>, Vec<&SystemRow>) =
        summary.rows.iter().partition(|row| row.metrics.score.n > 0);
    let names = |rows: &[&SystemRow]| {
        let names: Vec<String> = rows.iter().map(|row| short_name(row.system.as_str())).collect();
        listed(names.into_iter(), LISTED)
    };
    match &with[..] {
        [] => return Some("no case is scored for any system: nothing is ranked.".into()),
        [one] => {
            let only = short_name(one.system.as_str());
            return Some(format!("only {only} has a score, so nothing is ranked; without one: {}.", names(&without)));
        }
        _ if summary.shared_cases == 0 => {
            return Some("no case is scored for all systems: the rows are in the order of their own means.".into());
        }
        _ => {}
    }
    let all = match &without[..] {
        [] => "all of them".to_owned(),
        without => format!("all systems that have a score (none yet: {})", names(without)),
    };
    let differs = if summary.rank_differs_from_means {
        ", which is not the order of the means above: those are over each system's own cases"
    } else {
        ""
    };
    let cases = counted(summary.shared_cases, "case");
    Some(format!("systems are ranked over the {cases} scored for {all}{differs}{}.", shared_means(&with)))
}

/// The means that the ranks are made from, where they are others than the table's.
fn shared_means(rows: &[&SystemRow]) -> String {
    let pair = |row: &SystemRow| row.shared_mean.zip(row.metrics.score.estimate);
    let is_other = |row: &&&SystemRow| pair(row).is_some_and(|(shared, own)| (shared - own).abs() > 1e-12);
    if !rows.iter().any(|row| is_other(&row)) {
        return String::new();
    }
    let told = |row: &&SystemRow| {
        let mean = row.shared_mean.map_or_else(|| "-".to_owned(), per_cent);
        format!("{} {mean}", short_name(row.system.as_str()))
    };
    format!("; over these cases: {}", rows.iter().map(told).collect::<Vec<_>>().join(", "))
}

/// What the mark at a mean says.
fn fewer(summary: &Summary) -> Option<String> {
    let counts = Fewer::of(summary);
    let told = |row: &SystemRow| {
        let (name, n, most) = counts.told(row)?;
        Some(format!("{} {name} {n} of {most}", short_name(row.system.as_str())))
    };
    let told: Vec<String> = summary.rows.iter().filter_map(told).collect();
    (!told.is_empty())
        .then(|| format!("*: a mean over fewer cases than another system's: {}.", listed(told.into_iter(), LISTED)))
}

fn unscored(summary: &Summary, row: &SystemRow) -> Option<String> {
    if row.unscored == 0 {
        return None;
    }
    let policy = match summary.on_unscored {
        OnUnscored::Exclude => "left out of the means",
        OnUnscored::Zero => "missing components counted as 0",
    };
    let reasons = row
        .unscored_reasons
        .iter()
        .map(|reason| format!("{}, e.g. {}", of_kind(reason.components, reason.kind), shortened(&reason.example, 40)));
    let mut note = format!("{}: {} unscored, {policy}", visible(row.system.as_str()), counted(row.unscored, "answer"));
    if !row.unscored_reasons.is_empty() {
        note += &format!(" ({})", reasons.take(LISTED).collect::<Vec<_>>().join("; "));
    }
    if let Some(bounds) = row.bounds {
        note += &format!(
            "; with every missing value 0 or 1, {} is {} or {}",
            summary.score_name(),
            per_cent(bounds.score_low),
            per_cent(bounds.score_high)
        );
        if let (Some(low), Some(high)) = (bounds.ann_score_low, bounds.ann_score_high) {
            note += &format!(", {} {} or {}", summary.ann_score_name(), per_cent(low), per_cent(high));
        }
    }
    Some(note + ".")
}

/// `4 components unreadable`.
pub(super) fn of_kind(components: usize, why: UnscoredKind) -> String {
    format!("{} {}", counted(components, "component"), kind(why))
}

pub(super) fn kind(kind: UnscoredKind) -> &'static str {
    match kind {
        UnscoredKind::Unreadable => "unreadable",
        UnscoredKind::Cut => "cut",
        UnscoredKind::ContextOverflow => "beyond the context",
        UnscoredKind::Refused => "refused",
        UnscoredKind::Unreachable => "unreachable",
        UnscoredKind::DependsOnUnscored => "depending on an unscored one",
        UnscoredKind::Exception => "exceptions of the reference",
        UnscoredKind::NotAsked => "not asked",
        UnscoredKind::NeedsOtherCalls => "in need of other calls",
        UnscoredKind::NoJudge => "without a judge",
    }
}

fn missing(summary: &Summary) -> Option<String> {
    let names = summary.missing.iter().map(|missing| format!("{}/{}", missing.system, missing.case_id));
    let count = counted(summary.missing.len(), "answer");
    (!summary.missing.is_empty()).then(|| format!("{count} missing: {}.", listed(names, LISTED)))
}

fn steering(summary: &Summary) -> Option<String> {
    let entry = |entry: &crate::analysis::SteeringEntry| {
        format!("{}/{} ({})", entry.system, entry.case_id, entry.signs.join(", "))
    };
    let count = counted(summary.steering.len(), "answer");
    (!summary.steering.is_empty())
        .then(|| format!("{count} may try to steer the judge: {}.", listed(summary.steering.iter().map(entry), LISTED)))
}

/// What scores say of themselves.
fn remarks(summary: &Summary) -> Vec<String> {
    let remark = |note: &crate::analysis::NoteCount| {
        format!("{} ({}).", shortened(&note.note, 300), counted(note.answers, "answer"))
    };
    let mut remarks: Vec<String> = summary.notes.iter().take(LISTED).map(remark).collect();
    if summary.notes.len() > LISTED {
        remarks.push(format!("{} more of such remarks: see the scores.", summary.notes.len() - LISTED));
    }
    remarks
}

fn agreement(agreement: &Agreement) -> String {
    let one = |name: &str, mean: Option<f64>, questions: usize| match mean {
        Some(mean) => format!("{name} {mean:.3} over {}", counted(questions, "question")),
        None => format!("{name} undefined"),
    };
    let mut note = format!(
        "agreement of annotators' ann_score on the systems: {}, {}",
        one("Kendall's tau-b", agreement.kendall_tau_b, agreement.kendall_questions),
        one("Pearson's r", agreement.pearson, agreement.pearson_questions)
    );
    if agreement.undefined > 0 {
        note += &format!("; undefined for {}", counted(agreement.undefined, "question"));
    }
    note + "."
}
