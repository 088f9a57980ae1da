use super::*;
use proptest::prelude::*;

fn read(text: &str) -> WireLine<'_> {
    WireLine::read(text).unwrap()
}

#[test]
fn both_ways_of_reading_see_the_same_in_a_good_line() {
    let text = r#"{"id": 7, "label": "refutes", "evidence": [[[1, null, "p\u00e9", 3], [1, 2, null, null]], []],
        "predicted_label": "SUPPORTS", "predicted_evidence": [["p\u00e9", 3], ["q", -1]], "claim": "c"}"#;
    let (fast, slow) = (read(text), WireLine::read_slowly(text).unwrap());
    assert_eq!((&fast.id, &fast.label, &fast.groups), (&slow.id, &slow.label, &slow.groups));
    assert_eq!(fast.prediction, slow.prediction);
    assert_eq!((fast.faults.len(), slow.faults.len()), (0, 0));
    assert_eq!(fast.groups.unwrap()[0], [Sentence::new("pé", 3), Sentence { page: None, line: None }]);
}

#[test]
fn oddities_are_faults_and_yet_read_as_python_compares_them() {
    let line = read(r#"{"predicted_label": null, "predicted_evidence": [["a", true], ["a", 1.0], ["a", "1"], ["a"]]}"#);
    assert_eq!(line.prediction.label, Err(Raised::Attribute));
    let evidence = line.prediction.evidence.unwrap();
    let one = Some(Sentence::new("a", 1));
    let seen: Vec<_> = evidence.into_iter().map(|predicted| (predicted.sentence, predicted.form)).collect();
    assert_eq!(seen, [(one.clone(), Form::Boolean), (one, Form::Bad), (None, Form::Bad), (None, Form::Bad)]);
    assert_eq!(line.faults.len(), 5);
    assert_eq!(
        line.faults[3],
        r#"predicted_evidence[2]: expected [page, line], a string and a whole number, found ["a","1"]"#
    );
}

#[test]
fn what_no_mode_can_read_is_an_error() {
    for (text, expected) in [
        ("[1]", "expected an object, found a list"),
        (r#"{"id": [1]}"#, "id: expected a number or a string, found a list"),
        (r#"{"label": 3}"#, "label: expected a string, found the number 3"),
        (r#"{"evidence": [3]}"#, "evidence[0]: expected a group, a list of sentences, found the number 3"),
        (
            r#"{"evidence": [[[1, "p", 2]]]}"#,
            r#"evidence[0][0]: expected [annotation id, evidence id, page, line], found [1,"p",2]"#,
        ),
        (r#"{"predicted_evidence": "p"}"#, r#"predicted_evidence: expected a list, found the string "p""#),
    ] {
        assert_eq!(WireLine::read(text).unwrap_err(), expected);
    }
    assert!(WireLine::read("{").unwrap_err().starts_with("invalid JSON: "));
}

#[test]
fn of_a_key_written_twice_the_last_counts_as_in_python() {
    let line = read(r#"{"predicted_label": "x", "predicted_label": "supports", "predicted_evidence": []}"#);
    assert_eq!(line.prediction.label, Ok(Label::Supports));
}

proptest! {
    #[test]
    fn no_text_makes_it_panic(text in "\\PC*", inner in "[\\[\\]{}\",:0-9a-z ]{0,40}") {
        let _ = WireLine::read(&text);
        let _ = WireLine::read(&format!(r#"{{"predicted_label": "x", "predicted_evidence": [{inner}], "evidence": [{inner}]}}"#));
    }
}
