//! The comparison as GitHub's Markdown.

use super::ComparisonContext;
use super::numbers::{best, chance, coefficient, labels, marks, signed, signed_bracket};
use super::overview::{overview, title};
use super::told::{has_absent, heading, mean_with_interval, of_all, of_metric, p_or_dash};
use crate::analysis::comparison::{Comparison, MetricComparison};
use crate::report::visible::visible;

/// Of several metrics an overview; of each metric a heading, a table of systems, a table of pairs and a list of what a reader must know.
pub fn render_comparison_markdown(comparison: &Comparison, context: &ComparisonContext) -> String {
    let mut out = String::new();
    for (header, rows) in overview(comparison, usize::MAX) {
        out.push_str(&format!("{}\n\n", escaped(&title(comparison).replace('\n', " "))));
        let cells = |cells: &[String]| cells.iter().map(|cell| escaped(&cell.replace('\n', ""))).collect::<Vec<_>>();
        row(&mut out, &cells(&header));
        out.push_str(&format!("|:--|:--{}|\n", "|--:".repeat(header.len() - 2)));
        rows.iter().for_each(|own| row(&mut out, &cells(own)));
        out.push('\n');
    }
    for metric in &comparison.metrics {
        out.push_str(&format!("### {}\n\n", escaped(&heading(metric, &comparison.options))));
        systems(&mut out, metric);
        pairs(&mut out, metric);
        list(&mut out, of_metric(metric, &comparison.options));
    }
    list(&mut out, of_all(comparison, context));
    while out.ends_with("\n\n") {
        out.pop();
    }
    out
}

fn list(out: &mut String, told: Vec<String>) {
    for text in &told {
        out.push_str(&format!("- {}\n", escaped(text)));
    }
    out.push_str(if told.is_empty() { "" } else { "\n" });
}

fn systems(out: &mut String, metric: &MetricComparison) {
    let with_absent = has_absent(metric);
    out.push_str(match with_absent {
        true => "| system | mean | group | % best | n | unscored | no answer |\n|:--|--:|:--|--:|--:|--:|--:|\n",
        false => "| system | mean | group | % best | n | unscored |\n|:--|--:|:--|--:|--:|--:|\n",
    });
    for (at, system) in metric.systems.iter().enumerate() {
        let mut cells = vec![
            escaped(&visible(&system.label)),
            mean_with_interval(system.mean, system.interval, metric.metric.unit),
            system.letters.clone(),
            best(metric, at).filter(|_| metric.metric.higher_is_better).map_or(String::new(), chance),
            metric.cases.len().to_string(),
            system.unscored.to_string(),
        ];
        cells.extend(with_absent.then(|| system.absent.to_string()));
        row(out, &cells);
    }
    out.push('\n');
}

fn pairs(out: &mut String, metric: &MetricComparison) {
    if metric.pairs.is_empty() {
        return;
    }
    let unit = metric.metric.unit;
    out.push_str("| pair | difference | p | p Holm | | W/T/L | d_z |\n|:--|--:|--:|--:|:--|--:|--:|\n");
    for pair in &metric.pairs {
        let [first, second] = labels(metric, pair).map(|label| escaped(&visible(label)));
        let interval = pair.interval.map_or(String::new(), |interval| format!(" {}", signed_bracket(interval, unit)));
        let difference =
            if metric.cases.is_empty() { "-".to_owned() } else { signed(pair.difference, unit) + &interval };
        let cells = [
            format!("{first} – {second}"),
            difference,
            escaped(&p_or_dash(pair.p)),
            escaped(&p_or_dash(pair.p_holm)),
            escaped(marks(pair)),
            format!("{}/{}/{}", pair.wins, pair.ties, pair.losses),
            pair.cohens_dz.map_or("-".to_owned(), coefficient),
        ];
        row(out, &cells);
    }
    out.push('\n');
}

fn row(out: &mut String, cells: &[String]) {
    out.push_str(&format!("| {} |\n", cells.join(" | ")));
}

/// Text that stays text: what Markdown or HTML would read as markup is escaped, so that a name makes no cell, link, image,
/// mention or tag. The text is [`visible`] already: it has no line break.
pub(super) fn escaped(text: &str) -> String {
    text.chars().fold(String::with_capacity(text.len() + 8), |mut out, c| {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '@' => out.push_str("&#64;"),
            // `https:` and `www.` would become links.
            ':' if out.ends_with("http") || out.ends_with("https") || out.ends_with("ftp") => out.push_str("&#58;"),
            '.' if out.ends_with("www") => out.push_str("&#46;"),
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '~' | '#' | '!' | '$' => out.extend(['\\', c]),
            other => out.push(other),
        }
        out
    })
}
