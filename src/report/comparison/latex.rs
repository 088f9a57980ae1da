//! The comparison as LaTeX: floats with `booktabs` rules, which compile as they are.

use super::ComparisonContext;
use super::numbers::{coefficient, labels, level, marks, p, signed};
use super::told::{is_difference, of_all, of_all_cases, of_metric};
use crate::analysis::comparison::{Comparison, MetricComparison, PairComparison, SystemMean};
use crate::domain::Unit;
use crate::report::section_table::shown;
use crate::report::visible::visible;

/// Metrics whose means and intervals stand side by side within the text width of the article class.
const METRICS_IN_A_TABLE: usize = 3;

/// Floats with the means of all metrics, so many in each as a page is wide, then one a metric with its pairs. How the numbers were made stands in comments
/// and, where a reader of the paper must know it, in the captions.
pub fn render_comparison_latex(comparison: &Comparison, context: &ComparisonContext) -> String {
    let mut out = String::from("% needs \\usepackage{booktabs}\n");
    for run in &comparison.runs {
        out.push_str(&format!("% run: {}\n", comment(run)));
    }
    for told in of_all(comparison, context) {
        out.push_str(&format!("% {}\n", comment(&told)));
    }
    for (at, metrics) in comparison.metrics.chunks(METRICS_IN_A_TABLE).enumerate() {
        means(&mut out, comparison, at, metrics);
    }
    for (at, metric) in comparison.metrics.iter().enumerate() {
        for told in of_metric(metric, &comparison.options) {
            out.push_str(&format!("% {}: {}\n", comment(&metric.metric.name), comment(&told)));
        }
        if !metric.pairs.is_empty() {
            pairs(&mut out, comparison, at, metric);
        }
    }
    out
}

/// The systems in the order of the comparison's first metric, a column a metric.
fn means(out: &mut String, comparison: &Comparison, at: usize, metrics: &[MetricComparison]) {
    let Some(first) = comparison.metrics.first() else { return };
    let titles: Vec<String> = metrics.iter().map(|metric| escaped(&metric.metric.name)).collect();
    let counts: Vec<String> = metrics
        .iter()
        .zip(&titles)
        .map(|(metric, title)| format!("{title}: {}, {}", unit(metric.metric.unit), count(metric)))
        .collect();
    let has_letters = metrics.iter().flat_map(|metric| &metric.systems).any(|of| !of.letters.is_empty());
    let letters = if has_letters && first.systems.len() > 1 {
        format!(" Systems that share a letter are not told apart ($\\alpha={}$, Holm).", comparison.options.alpha)
    } else {
        String::new()
    };
    let caption = format!(
        "Means over shared cases with {} BCa bootstrap intervals ({}).{letters}{}",
        level(comparison.options.level).replace('%', "\\%"),
        counts.join("; "),
        caution(comparison)
    );
    let label = if at == 0 { "tab:comparison".to_owned() } else { format!("tab:comparison-{}", at + 1) };
    begin(out, &caption, &label, &format!("l{}", "r".repeat(titles.len())));
    out.push_str(&format!("system & {} \\\\\n\\midrule\n", titles.join(" & ")));
    for system in &first.systems {
        let cell = |metric: &MetricComparison| {
            let own = metric.systems.iter().find(|own| own.system == system.system);
            own.map_or("--".to_owned(), |own| mean_cell(own, metric.metric.unit))
        };
        let cells: Vec<String> = metrics.iter().map(cell).collect();
        out.push_str(&format!("{} & {} \\\\\n", escaped(&system.label), cells.join(" & ")));
    }
    end(out);
}

/// `$n=20$ of 100`.
fn count(metric: &MetricComparison) -> String {
    of_all_cases(metric, &format!("$n={}$", metric.cases.len()))
}

/// Runs that are no equals are no secret in the paper.
fn caution(comparison: &Comparison) -> String {
    let (differences, unfinished): (Vec<&String>, Vec<&String>) =
        comparison.marks.iter().partition(|mark| is_difference(mark));
    let told = |kind: &str, marks: &[&String]| match marks {
        [] => String::new(),
        _ => format!(" {kind}: {}.", marks.iter().map(|mark| escaped(mark)).collect::<Vec<_>>().join("; ")),
    };
    told("Unfinished", &unfinished) + &told("Not made alike", &differences)
}

fn mean_cell(system: &SystemMean, unit: Unit) -> String {
    let Some(mean) = system.mean else { return "--".to_owned() };
    let letters =
        if system.letters.is_empty() { String::new() } else { format!("^{{\\mathrm{{{}}}}}", system.letters) };
    let interval = system
        .interval
        .map_or(String::new(), |(low, high)| format!("\\;[{},\\,{}]", shown(low, unit), shown(high, unit)));
    format!("${}{letters}{interval}$", shown(mean, unit))
}

fn pairs(out: &mut String, comparison: &Comparison, at: usize, metric: &MetricComparison) {
    let options = &comparison.options;
    let caption = format!(
        "Paired differences in {} ({}, {}) with {} intervals, which are not corrected for the number of pairs; $p$ of the \
         permutation test, corrected by Holm; $^*$~told apart at {}{}.{}",
        escaped(&metric.metric.name),
        unit(metric.metric.unit),
        count(metric),
        level(options.level).replace('%', "\\%"),
        options.alpha,
        if metric.pairs.iter().any(PairComparison::is_open_to_change) {
            "; $^!$~with what is missing the verdict could be another"
        } else {
            ""
        },
        caution(comparison)
    );
    begin(out, &caption, &format!("tab:comparison-pairs-{}", at + 1), "llrrrr");
    out.push_str("system & against & difference & $p_{\\mathrm{Holm}}$ & W/T/L & $d_z$ \\\\\n\\midrule\n");
    for pair in &metric.pairs {
        let [first, second] = labels(metric, pair).map(escaped);
        let unit = metric.metric.unit;
        let interval = pair
            .interval
            .map_or(String::new(), |(low, high)| format!("\\;[{},\\,{}]", signed(low, unit), signed(high, unit)));
        let raised = marks(pair);
        let raised = if raised.is_empty() { String::new() } else { format!("^{{{raised}}}") };
        let difference = match metric.cases.is_empty() {
            true => "--".to_owned(),
            false => format!("${}{raised}{interval}$", signed(pair.difference, unit)),
        };
        out.push_str(&format!(
            "{first} & {second} & {difference} & {} & {}/{}/{} & {} \\\\\n",
            pair.p_holm.map_or("--".to_owned(), |value| format!("${}$", p(value))),
            pair.wins,
            pair.ties,
            pair.losses,
            pair.cohens_dz.map_or("--".to_owned(), |d| format!("${}$", coefficient(d))),
        ));
    }
    end(out);
}

fn begin(out: &mut String, caption: &str, label: &str, columns: &str) {
    out.push_str(&format!(
        "\\begin{{table}}[htbp]\n\\centering\n\\caption{{{caption}}}\n\\label{{{label}}}\n\\small\n\\begin{{tabular}}{{{columns}}}\n\\toprule\n"
    ));
}

fn end(out: &mut String) {
    out.push_str("\\bottomrule\n\\end{tabular}\n\\end{table}\n");
}

fn unit(unit: Unit) -> &'static str {
    match unit {
        Unit::Share => "\\%",
        Unit::Grade => "grades 1--5",
        Unit::Count => "counts",
    }
}

/// A comment ends with its line: the text has no other.
fn comment(text: &str) -> String {
    visible(text).into_owned()
}

/// Text that stays text and that pdflatex can set: what TeX would read as a command is spelled out, and letters beyond
/// Western European ones, for which its default fonts have no sign, are given by number.
pub(super) fn escaped(text: &str) -> String {
    visible(text).chars().fold(String::with_capacity(text.len() + 8), |mut out, c| {
        match c {
            '\\' => out.push_str("\\textbackslash{}"),
            '~' => out.push_str("\\textasciitilde{}"),
            '^' => out.push_str("\\textasciicircum{}"),
            '<' => out.push_str("\\textless{}"),
            '>' => out.push_str("\\textgreater{}"),
            '|' => out.push_str("\\textbar{}"),
            '"' => out.push_str("\\char34{}"),
            // At the head of a row these would be arguments of the end of the row before it.
            '[' | ']' | '*' => out.extend(['{', c, '}']),
            '&' | '%' | '$' | '#' | '_' | '{' | '}' => out.extend(['\\', c]),
            // Two of them would become a dash or another quotation mark.
            '-' | '`' | '\'' | ',' if out.ends_with(c) => {
                out.push_str("{}");
                out.push(c);
            }
            '–' => out.push_str("--"),
            c if c.is_ascii() || ('\u{c0}'..='\u{ff}').contains(&c) && !"ÐÞðþ×÷".contains(c) => out.push(c),
            other => out.push_str(&format!("\\texttt{{U+{:04X}}}", u32::from(other))),
        }
        out
    })
}
