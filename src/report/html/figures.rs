//! Numbers as the page writes them: shares in per cent, grades and counts as they are.

use crate::domain::Unit;

/// A number in its unit.
pub(super) fn number(value: f64, unit: Unit) -> String {
    let text = match unit {
        Unit::Share => format!("{:.1}", 100.0 * value),
        Unit::Grade => format!("{value:.2}"),
        Unit::Count => format!("{value:.1}"),
    };
    without_negative_zero(text)
}

/// A difference, with its sign (a true minus).
pub(super) fn signed(value: f64, unit: Unit) -> String {
    let text = number(value.abs(), unit);
    let is_zero = !text.contains(|digit: char| ('1'..='9').contains(&digit));
    match (is_zero, value < 0.0) {
        (true, _) => text,
        (false, true) => format!("\u{2212}{text}"),
        (false, false) => format!("+{text}"),
    }
}

/// `[47.0, 49.9]`, as the tables of the terminal write it.
pub(super) fn range((low, high): (f64, f64), unit: Unit) -> String {
    format!("[{}, {}]", number(low, unit), number(high, unit))
}

/// The same with signs.
pub(super) fn signed_range((low, high): (f64, f64), unit: Unit) -> String {
    format!("[{}, {}]", signed(low, unit), signed(high, unit))
}

/// A p: three digits behind the point, below that an inequality.
pub(super) fn probability(p: f64) -> String {
    if p < 0.0001 {
        "< 0.0001".to_owned()
    } else if p < 0.001 {
        format!("{p:.4}")
    } else {
        format!("{p:.3}")
    }
}

/// A coefficient with its interval: `0.61 [0.50, 0.70]`.
pub(super) fn coefficient_range(value: f64, interval: Option<(f64, f64)>) -> String {
    match interval {
        Some((low, high)) => format!("{} [{}, {}]", coefficient(value), coefficient(low), coefficient(high)),
        None => coefficient(value),
    }
}

/// A coefficient, two digits.
pub(super) fn coefficient(value: f64) -> String {
    without_negative_zero(format!("{value:.2}")).replace('-', "\u{2212}")
}

/// A whole number with commas between thousands.
pub(super) fn thousands(number: u32) -> String {
    let digits = number.to_string();
    let commas = |at: usize| at > 0 && (digits.len() - at).is_multiple_of(3);
    digits.chars().enumerate().flat_map(|(at, digit)| commas(at).then_some(',').into_iter().chain([digit])).collect()
}

/// What differences are in.
pub(super) fn difference_unit(unit: Unit) -> &'static str {
    match unit {
        Unit::Share => "percentage points",
        Unit::Grade => "grades",
        Unit::Count => "counts an answer",
    }
}

fn without_negative_zero(text: String) -> String {
    match text.strip_prefix('-') {
        Some(rest) if !rest.contains(|digit: char| ('1'..='9').contains(&digit)) => rest.to_owned(),
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_per_cent_and_differences_have_signs() {
        assert_eq!(number(0.48519, Unit::Share), "48.5");
        assert_eq!(number(4.256, Unit::Grade), "4.26");
        assert_eq!(signed(-0.031, Unit::Share), "\u{2212}3.1");
        assert_eq!(signed(0.2, Unit::Grade), "+0.20");
        assert_eq!([signed(-0.0001, Unit::Share), number(-0.0001, Unit::Share)], ["0.0", "0.0"]);
        assert_eq!(coefficient(-0.001), "0.00");
    }

    #[test]
    fn thousands_are_set_apart() {
        assert_eq!([7, 100, 1000, 10_000, 1_234_567].map(thousands), ["7", "100", "1,000", "10,000", "1,234,567"]);
    }

    #[test]
    fn a_small_p_is_told_as_an_inequality() {
        assert_eq!([0.04321, 0.00056, 0.00001, 1.0].map(probability), ["0.043", "0.0006", "< 0.0001", "1.000"]);
    }
}
