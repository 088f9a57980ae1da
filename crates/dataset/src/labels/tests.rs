use std::path::Path;

use super::*;
use scholareval_core::domain::{Preference, RaterKind};
use scholareval_core::error::{Error, Result};

fn parse(text: &str, name: &str) -> Result<Labels> {
    parse_labels(text, Path::new(name))
}

fn faults(text: &str, name: &str) -> Vec<String> {
    match parse(text, name) {
        Err(Error::Input(faults)) => faults.iter().map(ToString::to_string).collect(),
        other => panic!("{other:?}"),
    }
}

const CSV: &str = "system,case_id,item,rater,value\ngpt,c1,,ann,4\ngpt,c1,coverage,ann,2.5\nnora,c1,,\"bob, b\",3\n";

#[test]
fn items_that_were_guarded_against_spreadsheets_are_read_as_they_were() {
    let text = "system,case_id,item,rater,value\n-s,=c,'=p0,ann,1\n-s,=c,'quoted',ann,2\n";
    let labels = parse(text, "l.csv").unwrap();
    let names: Vec<_> = labels.raters[0]
        .ratings
        .iter()
        .map(|rating| rating.item.as_deref().unwrap())
        .collect();
    assert_eq!(
        (names, labels.raters[0].ratings[0].system.as_str()),
        (vec!["=p0", "'quoted'"], "-s")
    );
}

#[test]
fn scores_are_the_same_from_csv_and_from_json_lines() {
    let jsonl = r#"{"system": "gpt", "case_id": "c1", "rater": "ann", "value": 4}
{"system": "gpt", "case_id": "c1", "item": "coverage", "rater": "ann", "value": 2.5}
{"system": "nora", "case_id": "c1", "item": null, "rater": "bob, b", "value": "3"}
"#;
    let (csv, json) = (
        parse(CSV, "l.csv").unwrap(),
        parse(jsonl, "l.jsonl").unwrap(),
    );
    assert_eq!(csv.raters, json.raters);
    assert_eq!(csv.raters.len(), 2);
    assert_eq!(csv.raters[0].ratings[1].item.as_deref(), Some("coverage"));
    assert_eq!(
        (&*csv.raters[1].name, csv.raters[1].kind),
        ("bob, b", RaterKind::Human)
    );
}

#[test]
fn a_preference_is_a_letter_a_system_or_a_number() {
    use Preference::{First, Second, Tie};
    let text = "case_id,system_a,system_b,rater,preference\nc1,x,y,r,a\nc2,y,x,r,x\nc3,x,y,r,TIE\nc4,x,y,r,-0.5\n";
    let labels = parse(text, "p.csv").unwrap();
    let preferences = labels.raters[0].preferences.values().copied();
    let expected = [First, First, Tie, Second];
    assert!(preferences.eq(expected));
    // a system of that name goes first: here `a` is the second one
    let odd = parse(
        "case_id,system_a,system_b,rater,preference\nc1,b,a,r,a\n",
        "p.csv",
    )
    .unwrap();
    let (pair, preference) = odd.raters[0].preferences.first_key_value().unwrap();
    assert_eq!((pair.first.as_str(), *preference), ("a", First));
}

#[test]
fn pairs_hold_a_person_and_a_model() {
    let text = r#"[{"question": "why?", "models": ["y", "x"], "preference_ranking_norm": [1.0, 0.5],
        "human_citation": [2, 1], "model_citation": [0.5, 0.25], "model_overall": [0.75, 0.5]}]"#;
    let labels = parse(text, "dir/ann1.json").unwrap();
    let names: Vec<(&str, RaterKind)> = labels
        .raters
        .iter()
        .map(|rater| (&*rater.name, rater.kind))
        .collect();
    assert_eq!(
        names,
        [("ann1", RaterKind::Human), ("model", RaterKind::Judge)]
    );
    let (pair, preference) = labels.raters[0].preferences.first_key_value().unwrap();
    assert_eq!(
        (pair.first.as_str(), *preference),
        ("x", Preference::Second)
    );
    // two of citation, and two of the answer as a whole from the ranking
    assert_eq!(labels.raters[0].ratings.len(), 4);
    assert_eq!(
        labels.raters[1]
            .ratings
            .iter()
            .filter(|rating| rating.item.is_none())
            .count(),
        2
    );
    assert_eq!(labels.notes.len(), 1);
}

#[test]
fn a_rater_called_model_is_a_judge_in_every_shape() {
    let text = "system,case_id,rater,value\ngpt,c1,model,0.5\ngpt,c1,ann,4\n";
    let labels = parse(text, "l.csv").unwrap();
    let kinds: Vec<RaterKind> = labels.raters.iter().map(|rater| rater.kind).collect();
    assert_eq!(kinds, [RaterKind::Judge, RaterKind::Human]);
    let pair = "case_id,system_a,system_b,rater,preference\nc1,x,y,model,a\n";
    assert_eq!(
        parse(pair, "p.csv").unwrap().raters[0].kind,
        RaterKind::Judge
    );
}

#[test]
fn ratings_that_every_pair_of_an_answer_repeats_count_once() {
    let pair = |b: &str| {
        format!(
            r#"{{"question": "q", "models": ["x", "{b}"], "human_overall": [2, 1], "model_overall": [0.5, 0.25],
            "preference_ranking_norm": [1, 0]}}"#
        )
    };
    // x is in both pairs, rated by the person and the model
    let labels = parse(&format!("[{}, {}]", pair("y"), pair("z")), "ann.json").unwrap();
    assert_eq!(labels.raters[0].ratings.len(), 3);
    let labels = parse(&format!("[{}, {}]", pair("y"), pair("y")), "ann.json").unwrap();
    assert!(
        labels
            .raters
            .iter()
            .all(|rater| rater.preferences.len() <= 1)
    );
    assert_eq!(labels.raters[0].ratings.len(), 2);
}

#[test]
fn a_rater_who_says_two_things_of_one_answer_is_a_fault_unless_they_are_equal() {
    let twice = format!("{CSV}gpt,c1,,ann,4.0\n");
    assert_eq!(
        parse(&twice, "l.csv").unwrap(),
        parse(CSV, "l.csv").unwrap()
    );
    let otherwise = format!("{CSV}gpt,c1,,ann,5\n");
    assert_eq!(
        faults(&otherwise, "l.csv"),
        [
            "l.csv:5 (case c1): ann rated the answer of gpt differently before, at l.csv:2; keep one of the two, or give \
             the raters different names"
        ]
    );
    let pair = "case_id,system_a,system_b,rater,preference\nc1,x,y,r,a\nc1,y,x,r,b\nc1,y,x,r,a\n";
    let messages = faults(pair, "p.csv");
    assert!(
        messages.len() == 1
            && messages[0]
                .contains("p.csv:4 (case c1): r rated x against y differently before, at p.csv:2"),
        "{messages:?}"
    );
}

#[test]
fn quotes_keep_commas_quotes_and_line_breaks() {
    let text = "rater,system,case_id,value\n\"x, \"\"y\"\"\nz\",s,c,2\n\nlast,s,c,3\nbad,s,c,x\n";
    let rater = &parse(&text.replace("bad,s,c,x\n", ""), "l.csv")
        .unwrap()
        .raters[0];
    assert_eq!(&*rater.name, "x, \"y\"\nz");
    // lines 2 and 3 are one record, line 4 is empty
    assert!(faults(text, "l.csv")[0].starts_with("l.csv:6 (case c): value: expected a number"));
    let open = "system,case_id,value,rater\ns,c,1,\"ann\ns,c,2,bob\n";
    assert!(faults(open, "l.csv")[0].starts_with("l.csv:2: odd number of quotes in the row"));
}

#[test]
fn words_are_numbers_and_no_file_mixes_them_with_another_scale() {
    let text = "system,case_id,item,rater,value\ng,c,x,r, Yes \ng,d,x,r,UNMET\ng,e,x,r,0.5\ng,c,grade,r,4\n";
    let values: Vec<f64> = parse(text, "l.csv").unwrap().raters[0]
        .ratings
        .iter()
        .map(|rating| rating.value)
        .collect();
    assert_eq!(values, [1.0, 0.0, 0.5, 4.0]);
    let json = r#"[{"system": "g", "case_id": "c", "rater": "r", "value": true}, {"system": "g", "case_id": "d", "rater": "r", "value": "false"}]"#;
    let of_json = parse(json, "l.json").unwrap();
    assert_eq!(
        (
            of_json.raters[0].ratings[0].value,
            of_json.raters[0].ratings[1].value
        ),
        (1.0, 0.0)
    );
    for (rows, expected) in [
        (
            "g,c,x,r,perhaps",
            "l.csv:2 (case c): value: expected a number, found \"perhaps\"; words that are read as numbers: yes, no, true, \
             false, met, unmet",
        ),
        (
            "g,c,x,r,yes\ng,d,x,r,3",
            "l.csv:3 (case d): value: words are numbers from 0 to 1 here, and line 3 has 3 where line 2 has \"yes\"",
        ),
        (
            "g,c,x,r,-1\ng,d,x,r,no",
            "l.csv:3 (case d): value: words are numbers from 0 to 1 here, and line 2 has -1 where line 3 has \"no\"",
        ),
    ] {
        let text = format!("system,case_id,item,rater,value\n{rows}\n");
        let faults = faults(&text, "l.csv");
        assert!(faults[0].starts_with(expected), "{faults:?}");
    }
}

#[test]
fn faults_name_file_line_case_and_field() {
    for (text, name, expected) in [
        (
            "system,case_id,rater\ng,c,r\n",
            "l.csv",
            "l.csv:2 (case c): no value: the file has system, case_id, rater; expected scores",
        ),
        (
            "system,case_id,rater,value\ng,c,r,NaN\n",
            "l.csv",
            "l.csv:2 (case c): value: expected a number, found \"NaN\"",
        ),
        (
            "system,case_id,rater,value\ng,c,r\n",
            "l.csv",
            "l.csv:2: expected 4 cells as in the header, found 3",
        ),
        (
            "system,case_id,case_id\n",
            "l.csv",
            "l.csv:1: column 3 is called \"case_id\", as an earlier one is",
        ),
        (
            "{\"system\": \"g\", \"rater\": \"r\", \"value\": 1}",
            "l.jsonl",
            "l.jsonl:1: no case_id: the file has system, rater, value",
        ),
        (
            "[{\"q\": 1}, {\"q\": 2}]",
            "l.json",
            "l.json:1: no case_id: the file has q; faults in the file: 2; expected",
        ),
        (
            "{\"case_id\": [1]}",
            "l.jsonl",
            "l.jsonl:1: case_id: expected an id, found a list",
        ),
        (
            "[1]",
            "l.json",
            "l.json:1: invalid type: integer `1`, expected a map",
        ),
        (
            "[]",
            "l.json",
            "l.json: no labels in the file; expected scores",
        ),
        ("", "l.csv", "l.csv: no labels in the file"),
        (
            "case_id,system_a,system_b,rater,preference\nc,x,y,r,z\n",
            "p.csv",
            "p.csv:2 (case c): preference: expected a, b, tie, \"x\", \"y\" or a number, found \"z\"",
        ),
        (
            "case_id,system_a,system_b,rater,preference\nc,x,x,r,a\n",
            "p.csv",
            "system_a and system_b are both \"x\"",
        ),
        (
            "[{\"question\": \"q\", \"models\": [\"x\"]}]",
            "h.json",
            "h.json:1: models: invalid length 1, expected an array of length 2",
        ),
        (
            "[{\"question\": \"q\", \"models\": [\"x\", \"y\"], \"preference_ranking_norm\": [\"good\", 1]}]",
            "h.json",
            "h.json:1: preference_ranking_norm: [0]: expected a number, found \"good\"",
        ),
    ] {
        let messages = faults(text, name);
        assert!(
            messages.len() == 1 && messages[0].contains(expected),
            "{expected}\n{messages:?}"
        );
    }
}

#[test]
fn a_name_is_a_persons_or_a_models() {
    let text = r#"[{"question": "q", "models": ["x", "y"], "human_a": [1, 2], "model_a": [1, 2]}]"#;
    assert!(faults(text, "model.json")[0].contains("model is a judge's name and a person's"));
}

#[test]
fn nulls_and_empty_cells_are_missing_labels_and_counted() {
    let csv = "system,case_id,rater,value\ng,c1,r,1\ng,c2,r,\ng,c3,r,\n";
    let labels = parse(csv, "l.csv").unwrap();
    assert_eq!(labels.raters[0].ratings.len(), 1);
    assert_eq!(
        labels.notes[0].text,
        "Labels without a number (null, empty) are left out; rows by field: value (2)."
    );
    let pair = |question: &str, rest: &str| {
        format!(r#"{{"question": "{question}", "models": ["x", "y"], {rest}}}"#)
    };
    let rows = [
        pair(
            "a",
            r#""preference_ranking_norm": [1, 0], "human_a": [2, null], "model_a": null"#,
        ),
        pair(
            "b",
            r#""preference_ranking_norm": [null, 0], "human_a": [NaN, 1], "model_a": [0.5, 1]"#,
        ),
        pair(
            "c",
            r#""preference_ranking_norm": null, "human_a": null, "model_a": [0.5, 1]"#,
        ),
    ];
    let labels = parse(&rows.join("\n"), "ann.jsonl").unwrap();
    let [person, model] = &labels.raters[..] else {
        panic!("{:?}", labels.raters)
    };
    // Two ratings of a; of the answer two in the first row and one in the second.
    assert_eq!(
        (
            person.preferences.len(),
            person.ratings.len(),
            model.ratings.len()
        ),
        (1, 5, 4)
    );
    let fields = "human_a (3), model_a (1), preference_ranking_norm (2).";
    assert!(
        labels.notes.last().unwrap().text.ends_with(fields),
        "{:?}",
        labels.notes
    );
    let preference = "case_id,system_a,system_b,rater,preference\nc1,x,y,r,a\nc2,x,y,r,\n";
    assert_eq!(
        parse(preference, "p.csv").unwrap().raters[0]
            .preferences
            .len(),
        1
    );
}

#[test]
fn a_field_without_numbers_is_left_out_and_named() {
    let row = |id: u32| {
        format!(
            r#"{{"case_id": {id}, "models": ["x", "y"], "human_overall": [{id}, 1], "human_comment": "fine"}}"#
        )
    };
    let labels = parse(&[row(1), row(2)].join("\n"), "ann.jsonl").unwrap();
    assert_eq!(labels.raters[0].ratings.len(), 4);
    let expected =
        "Labels without a number (null, empty) are left out; rows by field: human_comment (2).";
    assert_eq!(
        labels
            .notes
            .iter()
            .map(|note| note.text.as_str())
            .collect::<Vec<_>>(),
        [expected]
    );
}

#[test]
fn the_probability_of_a_selection_belongs_to_the_answer_and_an_empty_value_is_a_missing_label() {
    let text = "system,case_id,rater,value,probability\ngpt,c1,person,4,0.25\ngpt,c1,ann,3,0.25\ngpt,c2,person,,0.5\n";
    let labels = parse(text, "l.csv").unwrap();
    assert_eq!(
        labels.probabilities.answers,
        HashMap::from([(("gpt".into(), "c1".into()), 0.25)])
    );
    assert_eq!(labels.raters.len(), 2);
    for (rows, what) in [
        ("gpt,c1,ann,4,0", "expected a number above 0"),
        ("gpt,c1,ann,4,1.5", "expected a number above 0"),
        (
            "gpt,c1,ann,4,0.5\ngpt,c1,bob,4,0.25",
            "which was 0.5 before",
        ),
    ] {
        let messages = faults(
            &format!("system,case_id,rater,value,probability\n{rows}\n"),
            "l.csv",
        );
        assert!(messages[0].contains(what), "{messages:?}");
    }
}

#[test]
fn spaces_around_a_name_make_no_other_rater() {
    let text = "system,case_id,rater,value\na,c1,ann,1\na,c2,ann ,0\n";
    let labels = parse_labels(text, "l.csv".as_ref()).unwrap();
    assert_eq!(labels.raters.len(), 1);
    let twice = "system,case_id,rater,value\na,c1,ann,1\na,c1,ann ,0\n";
    let error = parse_labels(twice, "l.csv".as_ref())
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("l.csv:3") && error.contains("l.csv:2"),
        "{error}"
    );
}
