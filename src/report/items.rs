//! `items.csv`: one line per judged item, for data frames.

use super::files::csv_line;
use crate::domain::{Component, ScoredAnswer};

/// Makes the lines of `items.csv` for one run.
///
/// Columns: run, system, case_id, scorer, item, kind, text, weight, value, reason, feedback; an item without a value
/// has an empty `value` and a `reason`. Quoting is that of RFC 4180, lines end in a line feed. Texts stand as they
/// are: a text that begins with `=` or `+` gets no guard against spreadsheets, since an added character would change
/// the data for everyone who reads the file with a program. Import the column as text in a spreadsheet.
///
/// ```
/// use scholareval::report::ItemsCsv;
/// assert!(ItemsCsv::new("runs/1").header().starts_with(b"run,system,case_id,"));
/// ```
#[derive(Debug, Clone)]
pub struct ItemsCsv {
    run: String,
}

impl ItemsCsv {
    /// For the run of that name.
    pub fn new(run: impl Into<String>) -> Self {
        Self { run: run.into() }
    }

    /// The first line.
    pub fn header(&self) -> &'static [u8] {
        b"run,system,case_id,scorer,item,kind,text,weight,value,reason,feedback\n"
    }

    /// The lines of one answer, in the order of its components.
    pub fn rows(&self, answer: &ScoredAnswer) -> Vec<u8> {
        let mut lines = String::new();
        for component in &answer.score.components {
            csv_line(
                &mut lines,
                &[
                    self.run.as_str().into(),
                    answer.system.as_str().into(),
                    answer.case.case_id.as_str().into(),
                    answer.score.scorer.into(),
                    component.name.as_str().into(),
                    component.kind.as_str().into(),
                    component.text.as_str().into(),
                    weight_of(component).into(),
                    component.value.map(|value| value.to_string()).unwrap_or_default().into(),
                    component.reason.as_ref().map(|reason| reason.message.as_str()).unwrap_or_default().into(),
                    component.feedback.as_deref().unwrap_or_default().into(),
                ],
            );
        }
        lines.into_bytes()
    }
}

/// The weight, where the score is a weighted sum.
fn weight_of(component: &Component) -> String {
    if component.kind.is_weighted() { component.weight.to_string() } else { String::new() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::made::{answer, component, score};
    use crate::domain::ComponentKind;

    fn rows(components: Vec<crate::domain::Component>) -> String {
        String::from_utf8(ItemsCsv::new("r").rows(&answer("gpt", "c1", score(components)))).unwrap()
    }

    #[test]
    fn an_item_without_a_value_has_an_empty_cell_and_a_reason() {
        let lines = rows(vec![
            component("length", ComponentKind::Length, 0.05, Some(0.5)),
            component("a", ComponentKind::Property, 0.6, None),
        ]);
        assert_eq!(
            lines,
            "r,gpt,c1,rubric,length,length,text of length,0.05,0.5,,\n\
             r,gpt,c1,rubric,a,property,text of a,0.6,,no JSON object,\n"
        );
    }

    #[test]
    fn quotes_commas_and_line_breaks_stay_within_their_cell() {
        let mut hostile = component("a", ComponentKind::Property, 0.6, Some(1.0));
        hostile.text = "say \"x\",\nthen".to_owned();
        hostile.feedback = Some("=HYPERLINK(\"u\")".to_owned());
        assert_eq!(
            rows(vec![hostile]),
            "r,gpt,c1,rubric,a,property,\"say \"\"x\"\",\nthen\",0.6,1,,\"=HYPERLINK(\"\"u\"\")\"\n"
        );
    }

    #[test]
    fn the_header_has_a_name_for_every_cell() {
        let header = String::from_utf8(ItemsCsv::new("r").header().to_vec()).unwrap();
        let line = rows(vec![component("length", ComponentKind::Length, 0.05, Some(0.5))]);
        assert_eq!(header.matches(',').count(), line.matches(',').count());
    }
}
