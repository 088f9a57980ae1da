//! The items on which raters differ, to be settled by somebody who sees all of their labels.

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::dataset::no_faults;
use crate::domain::{GivenLabel, ItemLabel, LabelFile, LabelSheet, PageItem};
use crate::error::{Error, InputFault, Result};

/// An item on which raters differ.
#[derive(Debug, Clone, PartialEq)]
pub struct Dispute {
    /// The item's id.
    pub item: String,
    /// What the raters say of it, without their names; sides are those of the item.
    pub labels: Vec<DisputedLabel>,
}

/// What one rater says of an item.
#[derive(Debug, Clone, PartialEq)]
pub struct DisputedLabel {
    /// The label; `None` for a comment alone.
    pub label: Option<GivenLabel>,
    /// The comment; may be empty.
    pub comment: String,
}

/// The items of the sheet that two or more raters labeled and not all in the same way, in the order of the sheet. Adjudications
/// among the files are left out: they settle, and do not differ.
///
/// # Errors
/// [`Error::Input`] for labels of another sheet, by unknown raters or of unknown items; [`Error::Settings`] if no item is disputed.
pub fn disputes(sheet: &LabelSheet, files: &[(PathBuf, LabelFile)]) -> Result<Vec<Dispute>> {
    no_faults(faults(sheet, files))?;
    let mut by_item: BTreeMap<&str, Vec<DisputedLabel>> = BTreeMap::new();
    let mut raters = 0;
    for (_, file) in files.iter().filter(|(_, file)| !file.adjudicated) {
        raters += 1;
        for label in &file.labels {
            if let Some(on_page) = sheet.on_page(&file.rater, &label.item) {
                let labels = by_item.entry(&label.item).or_default();
                labels.push(as_in_item(label, &on_page));
            }
        }
    }
    let mut disputes = Vec::new();
    let mut both = 0;
    for item in &sheet.items {
        let Some(mut labels) = by_item.remove(item.id.as_str()) else {
            continue;
        };
        let given: Vec<GivenLabel> = labels.iter().filter_map(|label| label.label).collect();
        both += usize::from(given.len() > 1);
        if given.windows(2).any(|two| two[0] != two[1]) {
            // By what they say, not by file: the first one would otherwise always be of the same rater.
            labels.sort_by(|a, b| order_of(a).total_cmp(&order_of(b)));
            disputes.push(Dispute {
                item: item.id.clone(),
                labels,
            });
        }
    }
    if disputes.is_empty() {
        let message = format!(
            "nothing to settle: {raters} raters, {both} items that two of them labeled, none on which they differ"
        );
        return Err(Error::Settings(message));
    }
    Ok(disputes)
}

fn faults(sheet: &LabelSheet, files: &[(PathBuf, LabelFile)]) -> Vec<InputFault> {
    let mut faults = Vec::new();
    for (path, file) in files {
        let fault = if file.sheet != sheet.id {
            let what = format!("labels of sheet {}, not of {}", file.sheet, sheet.id);
            InputFault::new(path, what).hint("name the directory that the rater's page is from")
        } else if let Some(unknown) = unknown_label(sheet, file) {
            let rater = file.rater.escape_debug();
            let item = unknown.item.escape_debug();
            let what = format!("item {item} is not on a page of {rater}");
            InputFault::new(path, what).hint("files of labels must stay as they were downloaded")
        } else {
            continue;
        };
        faults.push(fault);
    }
    faults
}

/// A label of an item that is not on the rater's page.
fn unknown_label<'a>(sheet: &LabelSheet, file: &'a LabelFile) -> Option<&'a ItemLabel> {
    let mut labels = file.labels.iter();
    labels.find(|label| sheet.on_page(&file.rater, &label.item).is_none())
}

/// The label with the sides of the item.
fn as_in_item(label: &ItemLabel, on_page: &PageItem) -> DisputedLabel {
    let given = match label.label {
        Some(GivenLabel::Preference(preference)) => {
            Some(GivenLabel::Preference(on_page.preferred(preference)))
        }
        other => other,
    };
    DisputedLabel {
        label: given,
        comment: label.comment.clone(),
    }
}

fn order_of(label: &DisputedLabel) -> f64 {
    match label.label {
        Some(GivenLabel::Value(value)) => value,
        Some(GivenLabel::Preference(preference)) => -f64::from(preference.sign()),
        Some(GivenLabel::CannotAssess) => f64::INFINITY,
        None => f64::NAN,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{
        Digest, LABEL_SCHEMA, LabelDraw, LabelKind, LabelUnit, Preference, RaterPage, SheetItem,
    };

    fn sheet(kind: LabelKind) -> LabelSheet {
        let item = |id: &str| SheetItem {
            id: id.to_owned(),
            answer: 0,
            other: (kind == LabelKind::Pair).then_some(1),
            unit: LabelUnit {
                kind,
                scorer: String::new(),
                name: String::new(),
            },
            probability: None,
            shown: Digest::from([0; 16]),
            scale: 0,
            shared: true,
        };
        let page = |rater: &str, swapped| RaterPage {
            rater: rater.to_owned(),
            page: format!("{rater}.html"),
            items: ["x", "y"]
                .map(|id| PageItem {
                    item: id.to_owned(),
                    swapped,
                })
                .to_vec(),
        };
        LabelSheet {
            schema_version: LABEL_SCHEMA,
            id: Digest::from([1; 8]),
            seed: 1,
            draw: LabelDraw::Random,
            metric: None,
            runs: Vec::new(),
            frame: Vec::new(),
            pairs: None,
            verdicts: None,
            scales: Vec::new(),
            items: vec![item("x"), item("y")],
            raters: vec![page("ann", false), page("ben", true)],
        }
    }

    fn file(rater: &str, labels: &[(&str, GivenLabel, &str)]) -> (PathBuf, LabelFile) {
        let label = |(item, label, comment): &(&str, GivenLabel, &str)| ItemLabel {
            item: (*item).to_owned(),
            label: Some(*label),
            comment: (*comment).to_owned(),
            seconds: 1.0,
            at: String::new(),
            earlier: Vec::new(),
        };
        let file = LabelFile {
            schema_version: LABEL_SCHEMA,
            sheet: Digest::from([1; 8]),
            rater: rater.to_owned(),
            adjudicated: false,
            saved_at: String::new(),
            labels: labels.iter().map(label).collect(),
        };
        (format!("{rater}.json").into(), file)
    }

    #[test]
    fn an_item_is_disputed_where_labels_differ_and_keeps_all_comments() {
        let value = GivenLabel::Value;
        let files = [
            file("ann", &[("x", value(1.0), "clear"), ("y", value(1.0), "")]),
            file(
                "ben",
                &[("x", value(0.0), "not at all"), ("y", value(1.0), "")],
            ),
        ];
        let disputes = disputes(&sheet(LabelKind::Criterion), &files).unwrap();
        assert_eq!(disputes.len(), 1);
        let labels: Vec<_> = disputes[0]
            .labels
            .iter()
            .map(|label| &*label.comment)
            .collect();
        assert_eq!(
            (&*disputes[0].item, labels),
            ("x", vec!["not at all", "clear"])
        );
    }

    #[test]
    fn sides_are_compared_as_those_of_the_item() {
        let side = GivenLabel::Preference;
        // ben sees the answers the other way round: his right is ann's left.
        let files = [
            file(
                "ann",
                &[
                    ("x", side(Preference::First), ""),
                    ("y", side(Preference::First), ""),
                ],
            ),
            file(
                "ben",
                &[
                    ("x", side(Preference::Second), ""),
                    ("y", side(Preference::First), ""),
                ],
            ),
        ];
        let disputes = disputes(&sheet(LabelKind::Pair), &files).unwrap();
        assert_eq!(disputes.len(), 1);
        let labels: Vec<_> = disputes[0].labels.iter().map(|label| label.label).collect();
        let both = [side(Preference::First), side(Preference::Second)].map(Some);
        assert_eq!((&*disputes[0].item, labels), ("y", both.to_vec()));
    }

    #[test]
    fn labels_of_another_sheet_or_page_are_refused() {
        let mut files = [file("ann", &[("z", GivenLabel::CannotAssess, "")])];
        let error = disputes(&sheet(LabelKind::Criterion), &files).unwrap_err();
        assert!(error.to_string().contains("item z is not on a page of ann"));
        files[0].1.sheet = Digest::from([2; 8]);
        let error = disputes(&sheet(LabelKind::Criterion), &files).unwrap_err();
        assert!(error.to_string().contains("labels of sheet 0202"));
    }
}
