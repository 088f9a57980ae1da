//! Whether judges favor systems of their family, in sentences.

use crate::analysis::comparison::{FEWEST_OF_FAMILY, SelfPreference, p_text};
use crate::domain::{Note, SystemName};
use crate::report::numbers::{points, shown_difference};
use crate::text::names::list;

/// Most systems that a sentence names.
const MAX_NAMED: usize = 5;

/// `score: gpt-4o favors its family (OpenAI: a, b; others: c, d) by 2.1 points, relative to the mean of 3 judges (+2.1 [0.3, 3.9],
/// p = 0.011).`; `None` without a number.
pub(super) fn sentence(preference: &SelfPreference) -> Option<String> {
    let value = preference.preference?;
    let unit = preference.metric.unit;
    let (verb, size) = if !preference.differs {
        // A size without significance would be quoted as an effect.
        ("neither favors nor disfavors", " significantly".to_owned())
    } else if value > 0.0 {
        ("favors", format!(" by {}", points(value, unit)))
    } else {
        ("disfavors", format!(" by {}", points(-value, unit)))
    };
    Some(format!(
        "{}: {} {verb} its family ({}: {}; others: {}){size}, relative to the mean of {} judges ({}, {}).",
        preference.metric.name,
        judge(preference),
        preference.family.as_deref()?,
        system_names(&preference.family_systems),
        system_names(&preference.other_systems),
        preference.judges,
        shown_difference(value, preference.interval, unit),
        p_text(preference.p?),
    ))
}

/// `gpt-4o`, with its run where that has another name: `gpt-4o (run1)`.
fn judge(preference: &SelfPreference) -> String {
    let SelfPreference { judge, run, .. } = preference;
    if judge == run {
        judge.clone()
    } else {
        format!("{judge} ({run})")
    }
}

fn system_names(systems: &[SystemName]) -> String {
    list(systems.iter().map(SystemName::as_str), MAX_NAMED)
}

/// Why judges have no number, each by the first metric.
pub(super) fn notes(preferences: &[SelfPreference]) -> Vec<Note> {
    let mut notes = Vec::new();
    for preference in preferences {
        if preference.preference.is_none() && preference.metric == preferences[0].metric {
            let judge = judge(preference);
            let reason = reason(preference);
            notes.push(Note::info(format!(
                "No self-preference of {judge}: {reason}."
            )));
        }
    }
    notes
}

fn reason(preference: &SelfPreference) -> String {
    let judge = &preference.judge;
    let of_family = preference.family_systems.len();
    let others = preference.other_systems.len();
    match &preference.family {
        None => format!("its family is not known (--family \"{judge}=FAMILY\" names it)"),
        Some(family) if of_family.min(others) < FEWEST_OF_FAMILY => format!(
            "it takes {FEWEST_OF_FAMILY} systems of its family ({family}) and {FEWEST_OF_FAMILY} of other known families, and \
             there are {of_family} and {others} (--family SYSTEM=FAMILY names families)"
        ),
        Some(_) => "it takes two shared questions".to_owned(),
    }
}
