//! A certificate of a judge, for people: a sentence and tables, in the terminal and as a page.

use super::agreement::{confusion_table, is_skewed};
use super::layout::counted;
use super::numbers::{COEFFICIENT, shown_coefficient, unit_name};
use super::table::{Cell, Column, Format, Table};
use super::{TableStyle, visible, wrapped};
use crate::analysis::rater_agreement::{AgreementLevel, Measures};
use crate::analysis::{Estimate, ProbeEffect, Scale, distinct};
use crate::record::CertifiedJudge;
use crate::runs::{Certificate, CertifiedPanel};

/// Decimals of shifts, which are on the scale of the labels.
const SHIFT: Format = Format::Number(2);

/// The certificate for a terminal.
pub fn certificate_text(certificate: &Certificate, style: &TableStyle) -> String {
    let mut out = String::new();
    for sentence in certificate_sentences(certificate) {
        out += &wrapped(&visible(&sentence), style.columns());
        out.push('\n');
    }
    for table in certificate_tables(certificate) {
        out.push('\n');
        out += &table.terminal(style);
    }
    out
}

/// How the judge agrees with people, and how people agree with each other.
pub(super) fn certificate_sentences(certificate: &Certificate) -> Vec<String> {
    let unit = match certificate.level {
        AgreementLevel::Answer => "answer",
        AgreementLevel::Item => "item",
    };
    let measure = certificate.head.measure_name();
    let estimate = main_estimate(&certificate.agreement, certificate);
    let mut first = format!(
        "{} with people: {measure} {}, {} of {}, labeled by {}",
        certificate.judge,
        COEFFICIENT.show_estimate(certificate.head.estimate, estimate.interval()),
        counted(certificate.head.labels, unit),
        counted(certificate.agreement.questions, "question"),
        people(certificate.raters),
    );
    if let Some(people) = &certificate.people {
        first += &format!("; people with people: {}", shown_coefficient(people));
    }
    let mut sentences = vec![first + "."];
    sentences.extend(certificate.panel.as_ref().and_then(panel_sentence));
    sentences
}

fn people(raters: usize) -> String {
    match raters {
        1 => "1 person".to_owned(),
        others => format!("{others} people"),
    }
}

/// `The panel of 3 judges is worth 1.8 [1.4, 2.3] independent ones.`
fn panel_sentence(panel: &CertifiedPanel) -> Option<String> {
    let errors = panel.errors.as_ref()?;
    let judges = counted(errors.judges, "judge");
    let effective = &errors.effective;
    let Some(value) = effective.estimate else {
        let reason = effective.undefined.as_deref().unwrap_or("not defined");
        return Some(format!(
            "How many independent judges the panel is worth is not known: {reason}."
        ));
    };
    let shown = Format::Number(1).show_estimate(value, effective.interval());
    let correlation = COEFFICIENT.show(errors.correlation.unwrap_or_default());
    Some(format!(
        "The panel of {judges} is worth {shown} independent ones: their errors correlate by {correlation} on {}.",
        counted(errors.units, "item")
    ))
}

/// The tables from front to back; those without rows are left out.
pub(super) fn certificate_tables(certificate: &Certificate) -> Vec<Table> {
    let mut tables = vec![certificate_table(certificate)];
    tables.extend(certificate.confusions.iter().map(confusion_table));
    tables.extend(
        certificate
            .panel
            .as_ref()
            .map(|panel| panel_table(panel, certificate)),
    );
    tables.push(repeats_table(certificate));
    tables.extend(probe_tables(certificate));
    tables.push(identity_table(certificate));
    tables.retain(|table| !table.rows.is_empty());
    tables
}

/// Agreement on all labels, then on those of each system and of each group.
pub fn certificate_table(certificate: &Certificate) -> Table {
    let mut rows: Vec<(String, &Measures)> = vec![("all".to_owned(), &certificate.agreement)];
    for part in certificate.systems.iter().chain(&certificate.groups) {
        rows.push((part.name.clone(), &part.measures));
    }
    let mut table = Table::new("Where do judge and people differ?", Vec::new());
    table.column(Column::text("labels of"), &rows, |row| &row.0);
    table.column(Column::count("n"), &rows, |row| row.1.n);
    let measure = &certificate.head.measure;
    let main = Column::headed(measure, &certificate.head.measure_name(), COEFFICIENT).kept();
    table.column(main, &rows, |row| main_estimate(row.1, certificate));
    if is_skewed(&certificate.agreement) {
        let equal = Column::headed("raw_agreement", "equal (%)", Format::Percent);
        table.column(equal, &rows, |row| &row.1.raw_agreement);
        table.column(
            Column::headed("ac1", "AC1", COEFFICIENT).kept(),
            &rows,
            |row| &row.1.ac1,
        );
    }
    let shift = Column::headed("shift", "judge less people", SHIFT).kept();
    table.column(shift, &rows, |row| &row.1.shift);
    table.notes = certificate.notes.clone();
    table
}

fn panel_table(panel: &CertifiedPanel, certificate: &Certificate) -> Table {
    let mut rows = vec![(
        "the panel".to_owned(),
        main_estimate(&certificate.agreement, certificate),
    )];
    for member in &panel.judges {
        rows.push((member.judge.clone(), &member.agreement));
    }
    let mut table = Table::new("Is the panel better than its best judge?", Vec::new());
    table.column(Column::text("judge"), &rows, |row| &row.0);
    let measure = &certificate.head.measure;
    let column = Column::headed(measure, &certificate.head.measure_name(), COEFFICIENT);
    table.column(column, &rows, |row| row.1);
    table
}

/// How much repeated verdicts on the same question differ.
fn repeats_table(certificate: &Certificate) -> Table {
    let rows = &certificate.repeats;
    let mut table = Table::new("Does the judge repeat its verdicts?", Vec::new());
    table.column(Column::text("verdicts"), rows, |row| &row.group.name);
    table.column(Column::text("judge"), rows, |row| {
        row.judge.split('|').next().unwrap_or_default()
    });
    table.column(Column::count("samples"), rows, |row| row.samples);
    table.column(Column::count("n"), rows, |row| row.units);
    let equal = Column::headed("all_equal", "all equal (%)", Format::Percent);
    table.column(equal, rows, |row| row.all_equal);
    table.column(
        Column::headed("mean_sd", "mean SD", Format::Number(2)),
        rows,
        |row| row.mean_sd.filter(|_| row.group.scale != Scale::Label),
    );
    table
}

/// What each change of form changes, a table for each metric.
fn probe_tables(certificate: &Certificate) -> Vec<Table> {
    let mut tables = Vec::new();
    for (metric, unit) in distinct(certificate.probes.iter().map(|row| (&row.metric, row.unit))) {
        let effects = certificate
            .probes
            .iter()
            .filter(|row| row.metric == *metric);
        let rows: Vec<&ProbeEffect> = effects.collect();
        let title = format!(
            "What do changes of an answer do to the judge? {metric} ({})",
            unit_name(unit)
        );
        let mut table = Table::new(title, Vec::new());
        table.column(Column::text("answers"), &rows, |row| {
            row.perturbation.name()
        });
        table.column(Column::count("n"), &rows, |row| row.answers);
        let mean = |heading: &str| Column::new(heading, Format::of_mean(unit));
        table.column(mean("before"), &rows, |row| row.before);
        table.column(mean("after"), &rows, |row| row.after);
        let difference = Column::new("difference", Format::of_difference(unit)).kept();
        table.column(difference, &rows, |row| {
            row.difference
                .map(|value| Cell::from((value, row.interval)))
        });
        table.column(Column::new("p", Format::PValue), &rows, |row| row.p);
        table.column(Column::text("verdicts changed"), &rows, |row| {
            format!("{} of {}", row.changed_verdicts, row.verdicts)
        });
        tables.push(table);
    }
    tables
}

/// For whom and by what the certificate holds.
fn identity_table(certificate: &Certificate) -> Table {
    let mut rows: Vec<(&str, String)> =
        vec![("checked on", certificate.head.checked_on.to_string())];
    for (role, certified) in &certificate.head.roles {
        for judge in &certified.judges {
            rows.push(("judge of", format!("{role}: {}", described(judge))));
        }
        if let Some(prompts) = &certified.prompts {
            rows.push(("prompts", format!("blake3 {}..", prompts.short(12))));
        }
        rows.push((
            "profile",
            format!("blake3 {}..", certified.profile.short(12)),
        ));
    }
    for hash in &certificate.label_files {
        rows.push(("labels", format!("blake3 {}..", hash.short(12))));
    }
    let cost = &certificate.cost;
    let mut calls = format!(
        "{}, {} prompt and {} reply tokens",
        counted(cost.calls, "call"),
        Format::Count.show(cost.prompt_tokens as f64),
        Format::Count.show(cost.completion_tokens as f64)
    );
    if let Some(usd) = cost.usd.filter(|usd| *usd > 0.0) {
        calls += &format!(", ${usd:.2}");
    }
    rows.push(("cost", calls));
    let mut table = Table::new("What the certificate is for", Vec::new());
    table.column(Column::text("what"), &rows, |row| row.0);
    table.column(Column::text("value"), &rows, |row| &row.1);
    table
}

/// `gpt-4o (chat, answered by gpt-4o-2024-08-06, temperature 0)`
fn described(judge: &CertifiedJudge) -> String {
    let mut facts = vec![judge.protocol.as_str().unwrap_or_default().to_owned()];
    let served = judge.served_model.iter();
    facts.extend(served.map(|model| format!("answered by {model}")));
    let effort = judge.reasoning_effort.as_str();
    facts.extend(effort.map(|effort| format!("reasoning effort {effort}")));
    let temperature = judge.temperature.as_f64();
    facts.extend(temperature.map(|value| format!("temperature {value}")));
    if judge.samples > 1 {
        facts.push(format!("{} samples", judge.samples));
    }
    format!("{} ({})", judge.name(), facts.join(", "))
}

/// The estimate of the certificate's measure; all that it may be are listed.
fn main_estimate<'a>(measures: &'a Measures, certificate: &Certificate) -> &'a Estimate {
    measures
        .named(&certificate.head.measure)
        .unwrap_or(&measures.kappa)
}
