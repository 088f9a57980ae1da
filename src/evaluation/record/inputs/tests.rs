//! What is written is read back, whatever it holds.

use super::*;
use crate::domain::{Gold, Prediction, Source};
use proptest::prelude::*;
#[test]
fn inputs_survive_their_file() {
    let case = Arc::new(TestCase {
        case_id: "c1".into(),
        initial_prompt: "why?".into(),
        annotator: "A".into(),
        agreement: true,
        rubric: Rubric {
            question: "why?".into(),
            low_length: 300,
            high_length: 600,
            length_weight: 0.05,
            expertise_weight: 0.05,
            citations_weight: 0.2,
            excerpts_weight: 0.1,
            criteria: vec![Criterion {
                name: "p".into(),
                criterion: "say why".into(),
                weight: 0.1 + 0.5,
                snippets: Arc::from(vec!["because\n\u{2028}".to_owned()]),
            }],
        },
    });
    let item = |system: &str| Item {
        case: Arc::clone(&case),
        answer: Answer { line: 3, ..Answer::new(system.into(), "c1".into(), "so \u{0} \"it\" is") },
        steering: vec![],
    };
    let items = vec![item("a"), item("b")];
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("inputs.jsonl");
    write_inputs(&path, &items).expect("written");
    assert_eq!(load_inputs(&path).expect("read"), items);
    assert_eq!(std::fs::read_to_string(&path).expect("text").lines().count(), 3, "one case, two answers");
}
#[test]
fn a_record_of_old_still_loads() {
    let config = r#"{"question": "q", "low_length": 1, "high_length": 2, "length_weight": 1.0, "expertise_weight": 0.0, "citations_weight": 0.0, "excerpts_weight": 0.0, "other_properties": []}"#;
    let text = format!(
        "{{\"type\": \"case\", \"v\": 1, \"case_id\": \"c\", \"initial_prompt\": \"q\", \"annotator\": \"A\", \
         \"agreement\": false, \"config\": {config}}}\n\
         {{\"type\": \"answer\", \"v\": 1, \"system\": \"s\", \"case_id\": \"c\", \"line\": 7, \"answer_text\": \"t\", \
         \"steering\": []}}\n"
    );
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("inputs.jsonl");
    std::fs::write(&path, text).expect("written");
    let lists = load_item_lists(&path).expect("read");
    assert_eq!(lists.rubric, lists.plain);
    let answer = &lists.rubric[0].answer;
    assert_eq!((answer.line, answer.own_bytes, answer.prediction.is_none()), (7, None, true));
}
/// Cases: `c<i>` of even number have a rubric.
fn case(number: usize) -> Arc<TestCase> {
    let mut case = TestCase::without_rubric(format!("c{number}").into(), "why?");
    if number.is_multiple_of(2) {
        case.rubric.length_weight = 1.0;
    }
    Arc::new(case)
}
fn text() -> impl Strategy<Value = String> {
    "([a-z\\[\\]0-9 \\n\"]|\\PC){0,12}"
}
fn source() -> impl Strategy<Value = Source> {
    let some = || prop::option::of(text());
    (some(), some(), any::<bool>(), some()).prop_map(|(title, text, text_is_nan, key)| Source {
        title,
        text,
        text_is_nan,
        key,
    })
}
fn gold() -> impl Strategy<Value = Gold> {
    let texts = || prop::collection::vec(text(), 0..3);
    let sets = prop::collection::vec(prop::collection::vec(text(), 0..2), 0..2);
    (prop::option::of(text()), prop::option::of(texts()), texts(), sets, texts()).prop_map(
        |(answer, gold_ctxs, gold_texts, short_answers, long_answers)| Gold {
            answer,
            gold_ctxs,
            gold_texts,
            short_answers,
            long_answers,
        },
    )
}
fn prediction() -> impl Strategy<Value = Prediction> {
    let ids = (prop_oneof![Just("c0".to_owned()), text()], prop_oneof![Just("why?".to_owned()), text()]);
    let output = prop::option::of(prop_oneof![Just("own".to_owned()), text()]);
    let mapping = prop::option::of(prop::collection::btree_map(text(), text(), 0..3));
    let sources = prop::collection::vec(source(), 0..3);
    (ids, output, sources, prop::option::of(text()), mapping, gold(), 0..3_usize).prop_map(
        |((id, input), output, sources, final_passages, id_mapping, gold, line)| Prediction {
            id,
            input,
            output: output.map(Into::into),
            replaced_ctxs: (line > 0).then_some(sources.len() + 1),
            sources,
            final_passages,
            id_mapping,
            gold,
            line,
        },
    )
}
fn items() -> impl Strategy<Value = Vec<Item>> {
    let reference = || prop::option::of(text());
    let one = (0..4_usize, 0..3_usize, any::<bool>(), prop::option::of(prediction()), reference());
    prop::collection::vec(one, 0..8).prop_map(|made| {
        let mut seen = std::collections::HashSet::new();
        let once = made.into_iter().filter(|(number, system, ..)| seen.insert((*number, *system)));
        once.map(|(number, system, block, prediction, reference)| {
            let case = case(number);
            let answer = Answer {
                own_bytes: block.then_some(3),
                prediction: prediction.map(Arc::new),
                reference_answer: reference.map(Arc::from),
                line: 1,
                ..Answer::new(format!("s{system}").into(), case.case_id.clone(), "own\nReferences:\n")
            };
            Item { case, answer, steering: vec!["sign".to_owned(); system] }
        })
        .collect()
    })
}
proptest! {
    #[test]
    fn every_item_survives_its_file(items in items()) {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("inputs.jsonl");
        write_inputs(&path, &items).expect("written");
        prop_assert_eq!(load_inputs(&path).expect("read"), items);
    }
    #[test]
    fn both_lists_survive_with_their_order_and_every_answer_is_written_once(
        items in items(), in_plain in prop::collection::vec(any::<bool>(), 8), turn in 0..8_usize
    ) {
        let rubric: Vec<Item> = items.iter().filter(|item| !item.case.rubric.is_none()).cloned().collect();
        let is_left = |item: &Item| !rubric.contains(item);
        let mut plain: Vec<Item> =
            items.iter().zip(in_plain).filter(|(item, kept)| *kept || is_left(item)).map(|(item, _)| item.clone()).collect();
        let middle = turn.min(plain.len());
        plain.rotate_left(middle);
        let lists = ItemLists { rubric, plain };
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("inputs.jsonl");
        write_item_lists(&path, &lists).expect("written");
        prop_assert_eq!(load_item_lists(&path).expect("read"), lists);
        let lines = std::fs::read_to_string(&path).expect("text");
        let answers = lines.lines().filter(|line| line.contains("\"type\":\"answer\"")).count();
        prop_assert_eq!(answers, items.len());
        let cases: std::collections::HashSet<_> = items.iter().map(|item| item.case.case_id.clone()).collect();
        prop_assert_eq!(lines.lines().count(), answers + cases.len());
    }
}
