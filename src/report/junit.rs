//! Gates as a JUnit file, the form in which CI services read results of tests.
//!
//! A missed gate is a failure and one that cannot be checked, for missing data or a run that did not finish, is an error; an
//! undecided one is skipped, with its sentence as the message. Numbers are properties of the test case.

use std::fmt::Write as _;

use crate::analysis::comparison::{GateOutcome, GateResult};

/// A condition, or a run, that could not be checked at all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UncheckedGate {
    /// The condition, or the directory.
    pub name: String,
    /// Why.
    pub message: String,
}

/// The file: one suite, called `suite`, with a test case for each gate.
pub fn junit(suite: &str, gates: &[GateResult], unchecked: &[UncheckedGate]) -> String {
    let count = |outcome: GateOutcome| gates.iter().filter(|gate| gate.outcome == outcome).count();
    let counts = format!(
        "tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\"",
        gates.len() + unchecked.len(),
        count(GateOutcome::Missed),
        count(GateOutcome::Unchecked) + unchecked.len(),
        count(GateOutcome::Undecided),
    );
    let mut cases = String::new();
    for gate in gates {
        cases += &test_case(gate);
    }
    for gate in unchecked {
        let name = escaped(&gate.name);
        let message = escaped(&gate.message);
        let _ = write!(
            cases,
            "    <testcase classname=\"scholareval\" name=\"{name}\">\n      <error message=\"{message}\"/>\n    </testcase>\n"
        );
    }
    let suite = escaped(suite);
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"scholareval\" {counts}>\n  \
         <testsuite name=\"{suite}\" {counts}>\n{cases}  </testsuite>\n</testsuites>\n"
    )
}

fn test_case(gate: &GateResult) -> String {
    let name = escaped(&gate.condition);
    let metric = escaped(&gate.metric);
    let mut text = format!("    <testcase classname=\"{metric}\" name=\"{name}\">\n");
    text += "      <properties>\n";
    for (name, value) in properties(gate) {
        let _ = writeln!(
            text,
            "        <property name=\"{name}\" value=\"{value}\"/>"
        );
    }
    text += "      </properties>\n";
    let element = match gate.outcome {
        GateOutcome::Met => None,
        GateOutcome::Missed => Some("failure"),
        GateOutcome::Undecided => Some("skipped"),
        GateOutcome::Unchecked => Some("error"),
    };
    if let Some(element) = element {
        let message = escaped(&gate.message);
        let _ = writeln!(text, "      <{element} message=\"{message}\"/>");
    }
    text + "    </testcase>\n"
}

/// The numbers of a gate that are known.
fn properties(gate: &GateResult) -> Vec<(&'static str, String)> {
    let numbers = [
        ("estimate", gate.estimate),
        ("low", gate.interval.map(|interval| interval.low)),
        ("high", gate.interval.map(|interval| interval.high)),
        ("threshold", Some(gate.threshold)),
        ("p", gate.p),
    ];
    let mut properties = Vec::new();
    for (name, number) in numbers {
        if let Some(number) = number {
            properties.push((name, number.to_string()));
        }
    }
    properties.push(("questions", gate.questions.to_string()));
    if let Some(needed) = gate.questions_needed {
        properties.push(("questions_needed", needed.to_string()));
    }
    if let Some(needed) = gate.labels_needed {
        properties.push(("labels_needed", needed.to_string()));
    }
    properties
}

/// The text for an attribute. XML has no way to write most control characters, not even as entities.
fn escaped(text: &str) -> String {
    let mut escaped = String::new();
    for c in text.chars() {
        match c {
            '&' => escaped += "&amp;",
            '<' => escaped += "&lt;",
            '>' => escaped += "&gt;",
            '"' => escaped += "&quot;",
            '\n' => escaped += "&#10;",
            '\t' => escaped += "&#9;",
            '\u{0}'..='\u{1f}' | '\u{7f}'..='\u{9f}' | '\u{fffe}' | '\u{ffff}' => {
                escaped.push(char::REPLACEMENT_CHARACTER);
            }
            other => escaped.push(other),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::Interval;

    fn gate(condition: &str, outcome: GateOutcome) -> GateResult {
        GateResult {
            condition: condition.to_owned(),
            outcome,
            message: "score differs by -0.1 <\u{1}>".to_owned(),
            metric: "score".to_owned(),
            systems: vec!["a".to_owned(), "b".to_owned()],
            estimate: Some(-0.1),
            interval: Some(Interval {
                low: -0.2,
                high: 0.0,
            }),
            threshold: -0.02,
            p: None,
            questions: 20,
            questions_needed: Some(80),
            labels_needed: None,
            is_not_worse: false,
        }
    }

    #[test]
    fn each_outcome_has_its_element_and_texts_are_escaped() {
        let gates = [
            gate("a>=b-0.02", GateOutcome::Met),
            gate("a\">b", GateOutcome::Missed),
            gate("c>=b-0.02", GateOutcome::Undecided),
            gate("d>=b-0.02", GateOutcome::Unchecked),
        ];
        let skipped = UncheckedGate {
            name: "runs/2".to_owned(),
            message: "stopped early".to_owned(),
        };
        insta::assert_snapshot!(junit("runs/1 & more", &gates, &[skipped]));
    }
}
