//! Numbers as people read them.

use crate::analysis::comparison::{MetricComparison, PairComparison};
use crate::domain::Unit;
use crate::report::section_table::shown;

/// A difference with its sign: points of per cent, grades, counts.
pub(super) fn signed(value: f64, unit: Unit) -> String {
    let text = shown(value, unit);
    let is_zero = text.chars().all(|c| matches!(c, '-' | '0' | '.'));
    match (is_zero, text.strip_prefix('-')) {
        (true, rest) => rest.unwrap_or(&text).to_owned(),
        (false, Some(_)) => text,
        (false, None) => format!("+{text}"),
    }
}

/// A p value with four decimals.
pub(super) fn p(p: f64) -> String {
    if p < 0.000_05 { "<0.0001".to_owned() } else { format!("{p:.4}") }
}

/// A probability in per cent. What is not certain does not look so.
pub(super) fn chance(share: f64) -> String {
    match share {
        share if share > 0.0 && share < 0.0005 => "<0.1".to_owned(),
        share if share < 1.0 && share > 0.9995 => ">99.9".to_owned(),
        _ => format!("{:.1}", 100.0 * share),
    }
}

/// `[low, high]`.
pub(super) fn bracket((low, high): (f64, f64), unit: Unit) -> String {
    format!("[{}, {}]", shown(low, unit), shown(high, unit))
}

/// `[+low, +high]`.
pub(super) fn signed_bracket((low, high): (f64, f64), unit: Unit) -> String {
    format!("[{}, {}]", signed(low, unit), signed(high, unit))
}

/// `95%`.
pub(super) fn level(level: f64) -> String {
    format!("{}%", (1000.0 * level).round() / 10.0)
}

/// What the numbers of a metric are called.
pub(in crate::report) fn unit_name(unit: Unit) -> &'static str {
    match unit {
        Unit::Share => "per cent",
        Unit::Grade => "grades from 1 to 5",
        Unit::Count => "counts an answer",
    }
}

/// The same where there is little room.
pub(super) fn short_unit(unit: Unit) -> &'static str {
    match unit {
        Unit::Share => "%",
        Unit::Grade => "1 to 5",
        Unit::Count => "count",
    }
}

/// What differences are counted in.
pub(super) fn points(unit: Unit) -> &'static str {
    match unit {
        Unit::Share => " points",
        Unit::Grade => " grades",
        Unit::Count => "",
    }
}

/// `*` where told apart, `!` where that depends on what is missing.
pub(in crate::report) fn marks(pair: &PairComparison) -> &'static str {
    match (pair.differs, pair.is_open_to_change()) {
        (true, true) => "*!",
        (true, false) => "*",
        (false, true) => "!",
        (false, false) => "",
    }
}

/// A correlation or an effect size; what rounds to 0 has no sign.
pub(super) fn coefficient(value: f64) -> String {
    let text = format!("{value:.2}");
    if text == "-0.00" { "0.00".to_owned() } else { text }
}

/// The labels of a pair.
pub(super) fn labels<'a>(metric: &'a MetricComparison, pair: &PairComparison) -> [&'a str; 2] {
    let label = |at: usize| metric.systems.get(at).map_or("?", |system| system.label.as_str());
    [label(pair.first), label(pair.second)]
}

/// How often the system in that row is the first over resamples.
pub(super) fn best(metric: &MetricComparison, row: usize) -> Option<f64> {
    metric.ranks.as_ref()?.get(row)?.first().copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_ps_and_near_certainties_do_not_look_like_0_or_1() {
        assert_eq!([p(0.000_04), p(0.000_05), p(0.0499), p(1.0)], ["<0.0001", "0.0001", "0.0499", "1.0000"]);
        assert_eq!([0.0, 0.0001, 0.5, 0.9999, 1.0].map(chance), ["0.0", "<0.1", "50.0", ">99.9", "100.0"]);
    }

    #[test]
    fn differences_have_a_sign_unless_they_show_as_nothing() {
        assert_eq!([0.147, -0.02, -0.0001, 0.0].map(|d| signed(d, Unit::Share)), ["+14.7", "-2.0", "0.0", "0.0"]);
        assert_eq!(signed(-0.25, Unit::Grade), "-0.25");
        assert_eq!([level(0.95), level(0.975)], ["95%", "97.5%"]);
    }
}
