use super::*;
use proptest::prelude::*;

fn read(text: &str) -> WireLine<'_> {
    WireLine::read(text).unwrap()
}

fn same(fast: &WireLine<'_>, slow: &WireLine<'_>) -> bool {
    let gold = (&fast.id, &fast.label, &fast.evidence) == (&slow.id, &slow.label, &slow.evidence);
    gold && fast.prediction == slow.prediction
}

const LINE: &str = r#"{"id": 7, "label": "refutes", "evidence": [[[1, null, "p\u00e9", 3], [1, 2, null, null]], []],
    "all": {"x": [-0.5e+3, true, false, null, "\"\\\ud83d\ude00", {}, []], "": 0},
    "predicted_label": "SUPPORTS", "predicted_evidence": [["p\u00e9", 3], ["q", -1]], "claim": "c\té"}"#;

#[test]
fn both_ways_of_reading_see_the_same_in_a_good_line() {
    let (fast, slow) = (scan(LINE).unwrap(), WireLine::read_slowly(LINE).unwrap());
    assert!(same(&fast, &slow), "{fast:?} {slow:?}");
    let evidence = fast.evidence.unwrap();
    assert_eq!(evidence.sentences, [Sentence::new("pé", 3), Sentence { page: None, line: None }]);
    assert_eq!(evidence.ends, [2, 2]);
}

#[test]
fn what_is_borrowed_holds_no_escape() {
    let fast = scan(r#"{"predicted_label": "x", "predicted_evidence": [["plain", 1], ["\u0061", 1]]}"#).unwrap();
    let pages = fast.prediction.evidence.unwrap().into_iter().map(|predicted| predicted.sentence.unwrap().page);
    let is_borrowed: Vec<_> = pages.map(|page| matches!(page, Some(std::borrow::Cow::Borrowed("plain")))).collect();
    assert_eq!(is_borrowed, [true, false]);
}

#[test]
fn a_line_of_another_shape_is_left_to_the_reader_that_explains() {
    for text in [
        "",
        "{",
        "{}x",
        "[1]",
        r#"{"id": 1,}"#,
        r#"{"id": 01}"#,
        r#"{"id": -0}"#,
        r#"{"id": 1.0}"#,
        r#"{"id": 12345678901234567890}"#,
        r#"{"id": 1, "id": 2}"#,
        r#"{"a": 1.}"#,
        r#"{"a": 00}"#,
        r#"{"a": nul}"#,
        r#"{"a": "\x"}"#,
        r#"{"a": "\u12g4"}"#,
        "{\"a\": \"\t\"}",
        r#"{"predicted_label": null}"#,
        r#"{"predicted_evidence": [["a", 1, 2]]}"#,
        r#"{"predicted_evidence": [["a", true]]}"#,
        r#"{"predicted_evidence": [["\ud800", 1]]}"#,
        r#"{"evidence": [[[1, 2, "p"]]]}"#,
    ] {
        assert!(scan(text).is_none(), "{text}");
    }
    assert!(scan(&format!("{{\"a\": {}{}}}", "[".repeat(100), "]".repeat(100))).is_none());
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
    fn a_line_with_a_slip_is_read_as_the_slow_reader_reads_it(
        at in 0..LINE.len(),
        cut in 0..4_usize,
        put in "[-\\[\\]{}\",:0-9eE+.\\\\untré \t]{0,3}",
    ) {
        let from = LINE.floor_char_boundary(at);
        let to = LINE.ceil_char_boundary((from + cut).min(LINE.len()));
        let text = format!("{}{put}{}", &LINE[..from], &LINE[to..]);
        if let Some(fast) = scan(&text) {
            // What is skipped is not looked into: a number too large for Python or half of a pair of surrogates.
            match WireLine::read_slowly(&text) {
                Ok(slow) => prop_assert!(same(&fast, &slow), "{text}: {fast:?} {slow:?}"),
                Err(told) => prop_assert!(told.contains("out of range") || told.contains("hex escape"), "{text}: {told}"),
            }
        }
    }

    #[test]
    fn no_text_makes_it_panic(text in "\\PC*", inner in "[\\[\\]{}\",:0-9a-z ]{0,40}") {
        let _ = WireLine::read(&text);
        let _ = WireLine::read(&format!(r#"{{"predicted_label": "x", "predicted_evidence": [{inner}], "evidence": [{inner}]}}"#));
    }
}
