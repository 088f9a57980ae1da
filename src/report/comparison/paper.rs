//! How the numbers were made, as a sentence for a paper.

use super::ComparisonContext;
use super::numbers::level;
use crate::analysis::comparison::Comparison;
use crate::report::visible::{shortened, visible};

/// Who judged, with which prompts, over how many of how many cases, and by what method; `None` where nothing is shared.
pub(super) fn for_the_paper(comparison: &Comparison, context: &ComparisonContext) -> Option<String> {
    let options = &comparison.options;
    let mut over: Vec<(String, Vec<String>)> = Vec::new();
    for metric in comparison.metrics.iter().filter(|metric| !metric.cases.is_empty()) {
        let cases = format!("{} of {} cases", metric.cases.len(), metric.cases_in_all);
        let name = visible(&metric.metric.name).into_owned();
        match over.iter_mut().find(|(known, _)| *known == cases) {
            Some((_, names)) => names.push(name),
            None => over.push((cases, vec![name])),
        }
    }
    let (first, several) = (over.first()?.0.clone(), over.len() > 1);
    let of = |(cases, names): (String, Vec<String>)| format!("{cases} ({})", names.join(", "));
    let over = if several { over.into_iter().map(of).collect::<Vec<_>>().join("; ") } else { first };
    let made = judged_alike(comparison, context);
    let judged = if made.is_empty() { String::new() } else { format!(" ({})", made.join("; ")) };
    let has_pairs = comparison.metrics.iter().any(|metric| !metric.pairs.is_empty());
    let tests = if has_pairs {
        format!(
            "; pairs by the two-sided paired permutation test, corrected by Holm over {} of a metric (alpha {})",
            if options.baseline.is_some() { "the pairs with the baseline" } else { "all pairs" },
            options.alpha
        )
    } else {
        String::new()
    };
    Some(format!(
        "for the paper: scholareval {}{judged}; means over {over} with {} BCa bootstrap intervals over questions ({} \
         resamples, seed {}){tests}.",
        env!("CARGO_PKG_VERSION"),
        level(options.level),
        options.resamples,
        options.seed
    ))
}

/// Who judged what is compared, roles that are judged alike once.
fn judged_alike(comparison: &Comparison, context: &ComparisonContext) -> Vec<String> {
    let scorers = || comparison.metrics.iter().map(|metric| metric.metric.scorer.as_str());
    let is_of = |role: &str| match role {
        "rubric" => scorers().any(|scorer| scorer.ends_with("rubric")),
        role if role.starts_with("aspect") => scorers().any(|scorer| scorer.ends_with("prometheus")),
        _ => scorers().any(|scorer| !scorer.ends_with("rubric") && !scorer.ends_with("prometheus")),
    };
    let mut alike: Vec<(String, Vec<&str>)> = Vec::new();
    for made in &context.made {
        let Some((role, by)) = made.split_once(": ").filter(|(role, _)| is_of(role)) else { continue };
        let by = by.replace(", not comparable with published numbers", "");
        match alike.iter_mut().find(|(known, _)| *known == by) {
            Some((_, roles)) => roles.push(role),
            None => alike.push((by, vec![role])),
        }
    }
    alike.into_iter().map(|(by, roles)| shortened(&format!("{} by {by}", roles.join(", ")), 300)).collect()
}
