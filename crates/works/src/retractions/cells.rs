//! Cells that lists of retractions have in common: identifiers and dates.

use chrono::{Datelike as _, NaiveDate};
use scholareval_core::text::identifiers::{WorkIdentifier, identifiers_in};

/// The DOIs of a cell as `doi:..`; "unavailable" is none.
pub(super) fn dois_of(cell: &str) -> Vec<String> {
    identifiers_in(cell)
        .iter()
        .map(WorkIdentifier::key)
        .collect()
}

/// The PMIDs of a cell as `pmid:..`; 0 is none.
pub(super) fn pmids_of(cell: &str) -> Vec<String> {
    let parts = cell.split(';').map(|part| format!("PMID: {}", part.trim()));
    parts.flat_map(|part| dois_of(&part)).collect()
}

/// `5/14/2021 0:00` as `2021-05-14`; `None` for what is not such a date.
pub(super) fn date_of(cell: &str) -> Option<String> {
    let date = cell.split_whitespace().next()?;
    let forms = ["%m/%d/%Y", "%Y-%m-%d"];
    let date = forms
        .iter()
        .find_map(|form| NaiveDate::parse_from_str(date, form).ok())?;
    (1000..=9999)
        .contains(&date.year())
        .then(|| date.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dois_with_semicolons_and_dates_in_every_form() {
        assert_eq!(
            dois_of("10.1002/(SICI)1097-0142(19990101)85:1<1::AID-CNCR1>3.0.CO;2-K"),
            ["doi:10.1002/(sici)1097-0142(19990101)85:1<1::aid-cncr1>3.0.co;2-k"]
        );
        assert_eq!(dois_of("Unavailable"), Vec::<String>::new());
        assert_eq!(
            dois_of("10.1234/a; 10.48550/arXiv.2101.00001"),
            ["doi:10.1234/a", "arxiv:2101.00001"]
        );
        for (cell, date) in [
            ("5/14/2021", Some("2021-05-14")),
            ("5/14/2021 0:00", Some("2021-05-14")),
            ("2021-05-14", Some("2021-05-14")),
            ("14/5/2021", None),
            ("5/14/21", None),
            ("", None),
            ("unknown", None),
        ] {
            assert_eq!(date_of(cell).as_deref(), date, "{cell}");
        }
    }
}
