//! `items.csv`: one line per judged item, for data frames.

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
        let mut writer = csv::Writer::from_writer(Vec::new());
        for component in &answer.score.components {
            let (weight, value) = (weight_of(component), component.value.map(|value| value.to_string()));
            let reason = component.reason.as_ref().map(|reason| reason.message.as_str());
            let cells = [
                self.run.as_str(),
                answer.system.as_str(),
                answer.case.case_id.as_str(),
                answer.score.scorer,
                &component.name,
                component.kind.as_str(),
                &component.text,
                &weight,
                value.as_deref().unwrap_or_default(),
                reason.unwrap_or_default(),
                component.feedback.as_deref().unwrap_or_default(),
            ];
            // Writing records of equal length to memory cannot fail.
            let _ = writer.write_record(cells);
        }
        writer.into_inner().unwrap_or_default()
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
