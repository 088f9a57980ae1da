use super::*;
use crate::domain::fever::Label;

const GOLD: &str = r#"{"id": 1, "label": "REFUTES", "evidence": [[[null, null, "p", 1]]]}
{"id": 2, "label": "SUPPORTS", "evidence": [[[null, null, "p", 2]]]}
"#;

fn predicted(id: &str) -> String {
    format!("{{\"id\": {id}, \"predicted_label\": \"REFUTES\", \"predicted_evidence\": [[\"p\", 1]]}}\n")
}

type Seen = Vec<(usize, Label<'static>)>;

fn read(gold: &str, predictions: &str, join: Join, mode: Mode) -> Result<(Seen, PredictionsRead)> {
    let dir = tempfile::tempdir().unwrap();
    let (gold_path, path) = (dir.path().join("gold.jsonl"), dir.path().join("p.jsonl"));
    std::fs::write(&gold_path, gold).unwrap();
    std::fs::write(&path, predictions).unwrap();
    let mut gold = FeverGold::load(&gold_path, mode)?;
    if join == Join::Id {
        gold.index_ids()?;
    }
    let file = PredictionFile { path: &path, gold: Some(&gold), join, mode };
    let mut seen = Vec::new();
    let found = file.read(|joined| (joined.line, joined.gold.label.clone().into_owned()), |item| seen.push(item))?;
    Ok((seen, found))
}

fn error(gold: &str, predictions: &str, join: Join) -> String {
    let text = read(gold, predictions, join, Mode::Default).unwrap_err().to_string();
    text.split_once("p.jsonl").map(|(_, told)| told.to_owned()).unwrap_or(text)
}

#[test]
fn by_order_equal_ids_join_and_unequal_ones_are_told() {
    let (seen, _) = read(GOLD, &(predicted("1") + &predicted("\"2\"")), Join::Order, Mode::Default).unwrap();
    assert_eq!(seen, [(1, Label::Refutes), (2, Label::Supports)]);
    let told = error(GOLD, &(predicted("1") + &predicted("3")), Join::Order);
    assert!(told.starts_with(":2 (case 3): claim number 2 of ") && told.contains("has the id 2"), "{told}");
    assert!(told.ends_with("keep the order of the claims, or use --join id"), "{told}");
    assert!(read(GOLD, &(predicted("1") + &predicted("3")), Join::Order, Mode::Compat).is_ok());
}

#[test]
fn placeholders_join_any_id_by_order() {
    let gold = GOLD.replace("\"id\": 1", "\"id\": 0").replace("\"id\": 2, ", "");
    let (seen, found) = read(&gold, &(predicted("91198") + &predicted("91198")), Join::Order, Mode::Default).unwrap();
    assert_eq!(seen.len(), 2);
    assert!(found.warnings[0].to_string().ends_with(":2 (case 91198): the id is already predicted in line 1"));
}

#[test]
fn another_number_of_lines_is_an_error_and_in_compat_an_exception() {
    let three = predicted("1") + &predicted("2") + &predicted("3");
    for (predictions, lines) in [(predicted("1"), 1), (three, 3)] {
        let told = error(GOLD, &predictions, Join::Order);
        assert!(told.starts_with(&format!(": {lines} predictions, but ")), "{told}");
        assert!(told.contains("holds 2 claims"), "{told}");
        let (_, found) = read(GOLD, &predictions, Join::Order, Mode::Compat).unwrap();
        assert_eq!(found.raised, Some(Raised::Assertion));
    }
}

#[test]
fn by_id_order_does_not_matter_and_what_has_no_partner_is_counted() {
    let (seen, found) = read(GOLD, &(predicted("7") + &predicted("2")), Join::Id, Mode::Default).unwrap();
    assert_eq!(seen, [(2, Label::Supports)]);
    assert_eq!((found.unknown, found.missing), (1, vec![0]));
    assert!(found.warnings[0].to_string().contains(":1 (case 7): no claim of "));
    let told = error(GOLD, &(predicted("2") + &predicted("2")), Join::Id);
    assert_eq!(told, ":2 (case 2): the claim is already predicted in line 1; keep one of the two lines");
    let told = error(GOLD, &predicted("null"), Join::Id);
    assert_eq!(told, ":1: id is missing; use --join order");
}

#[test]
fn gold_in_the_line_goes_before_the_gold_file() {
    let own = r#"{"label": "NOT ENOUGH INFO", "evidence": [], "predicted_label": "REFUTES", "predicted_evidence": []}"#;
    let (seen, found) = read(GOLD, &format!("{own}\n{}", predicted("2")), Join::Order, Mode::Default).unwrap();
    assert_eq!(seen, [(1, Label::NotEnoughInfo), (2, Label::Supports)]);
    assert_eq!(found.own_gold, 1);
    // The numbers need not match where nothing is taken from the gold file.
    assert!(read(GOLD, own, Join::Order, Mode::Default).is_ok());
}

#[test]
fn by_default_every_fault_is_told_and_in_compat_left_to_the_scorer() {
    let bad = r#"{"id": 1, "predicted_label": "MAYBE", "predicted_evidence": [["p", "1"]]}
{"id": 2, "predicted_evidence": []}
"#;
    let text = read(GOLD, bad, Join::Order, Mode::Default).unwrap_err().to_string();
    let lines: Vec<_> = text.lines().map(|line| line.split_once("p.jsonl").unwrap().1).collect();
    assert_eq!(
        lines,
        [
            r#":1 (case 1): predicted_evidence[0]: expected [page, line], a string and a whole number, found ["p","1"]"#,
            r#":1 (case 1): predicted_label: expected one of SUPPORTS, REFUTES, NOT ENOUGH INFO, found "MAYBE""#,
            ":2 (case 2): predicted_label is missing",
        ]
    );
    assert_eq!(read(GOLD, bad, Join::Order, Mode::Compat).unwrap().0.len(), 2);
}

#[test]
fn one_thread_and_many_read_and_score_the_same() {
    use crate::scorer::fever::{Tally, score_instance};
    // 5,000 lines, 20 tasks: every third label is right, every second sentence, every fifth claim asks for two.
    let (mut gold, mut predictions) = (String::new(), String::new());
    for i in 0..5_000 {
        let second = if i % 5 == 0 { ", [1, 2, \"q\", 7]" } else { "" };
        gold.push_str(&format!("{{\"label\": \"REFUTES\", \"evidence\": [[[1, 2, \"p\", {}]{second}]]}}\n", i % 2));
        let label = if i % 3 == 0 { "refutes" } else { "SUPPORTS" };
        let evidence = if i % 7 == 0 { "[[\"p\", 1], [\"q\", 7]]" } else { "[[\"p\", 1]]" };
        predictions.push_str(&format!("{{\"predicted_label\": \"{label}\", \"predicted_evidence\": {evidence}}}\n"));
    }
    let dir = tempfile::tempdir().unwrap();
    let (gold_path, path) = (dir.path().join("gold.jsonl"), dir.path().join("p.jsonl"));
    std::fs::write(&gold_path, gold).unwrap();
    std::fs::write(&path, predictions).unwrap();
    let on = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let gold = FeverGold::load(&gold_path, Mode::Default).unwrap();
            let file = PredictionFile { path: &path, gold: Some(&gold), join: Join::Order, mode: Mode::Default };
            let mut tally = Tally::default();
            let score =
                |joined: &JoinedPrediction<'_>| score_instance(&joined.gold, &joined.prediction, Some(5)).unwrap();
            file.read(score, |score| tally.add(score)).unwrap();
            tally
        })
    };
    let one = on(1);
    assert_eq!((one.claims, one.labels_correct), (5_000, 1_667)); // 5,000 / 3, rounded up
    assert_eq!(one, on(4));
}
