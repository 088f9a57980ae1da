//! What the lexical judge answers.

use std::path::{Path, PathBuf};

use proptest::prelude::*;
use serde_json::Value;

use super::*;
use scholareval_core::domain::{CaseId, Criterion, Role, Rubric, SystemName};
use scholareval_core::question::{
    Citations, Expertise, JudgeCall, Property, Question, SnippetEvidence,
};

fn case(question: &str, criteria: &[(&str, &[&str])]) -> Arc<TestCase> {
    let criteria = criteria
        .iter()
        .enumerate()
        .map(|(i, (criterion, snippets))| Criterion {
            name: format!("c{i}"),
            criterion: (*criterion).into(),
            weight: 0.1,
            snippets: snippets
                .iter()
                .map(|snippet| (*snippet).to_owned())
                .collect(),
        });
    Arc::new(TestCase {
        criteria: Vec::new(),
        reference: None,
        shown: Default::default(),
        group: None,
        case_id: "case".into(),
        initial_prompt: question.to_owned(),
        annotator: "a".to_owned(),
        agreement: false,
        rubric: Rubric {
            question: question.into(),
            criteria: criteria.collect(),
            ..Rubric::default()
        },
    })
}

fn judge() -> Lexical {
    Lexical::new(&[case(
        "How do vaccines create immunity?",
        &[
            (
                "The answer should explain antibodies.",
                &["Antibodies bind to the antigen of the pathogen"],
            ),
            (
                "The answer should mention memory cells.",
                &["Memory cells survive for decades"],
            ),
        ],
    )])
}

fn property(answer: &str, criterion: &str) -> Property {
    Property {
        question: "q".into(),
        answer: answer.into(),
        criterion: criterion.into(),
    }
}

fn score(judge: &Lexical, task: &dyn Question) -> f64 {
    serde_json::from_str::<Value>(&judge.answer(task)).unwrap()["score"]
        .as_f64()
        .unwrap()
}

#[test]
fn an_answer_with_the_criterions_words_scores_higher() {
    let judge = judge();
    let of = |answer: &str| {
        score(
            &judge,
            &property(answer, "The answer should explain antibodies."),
        )
    };
    assert!(of("Plasma cells explain it: the antibody.") > of("This answer is about the weather."));
    assert!(of("The answer explains antibodies.") > of("Antibodies."));
    assert!((of("The answer explains antibodies.") - 10.0).abs() < 1e-9);
    assert!(of("").abs() < 1e-9);
}

#[test]
fn a_rare_word_counts_more_than_one_that_every_criterion_has() {
    let judge = judge();
    let of = |answer: &str| {
        score(
            &judge,
            &property(answer, "The answer should explain antibodies."),
        )
    };
    assert!(
        of("explain") > of("answer"),
        "`explain` stands in one criterion, `answer` in both"
    );
}

#[test]
fn a_snippet_is_counted_if_half_of_its_weight_stands_together() {
    let judge = judge();
    let count = |answer: &str| {
        let snippets = Arc::from([
            "Antibodies bind to the antigen of the pathogen".to_owned(),
            "Memory cells survive for decades".to_owned(),
        ]);
        score(
            &judge,
            &SnippetEvidence {
                question: "q".into(),
                answer: answer.into(),
                snippets,
            },
        )
    };
    assert!(count("An antibody binds an antigen. Memory cells survive decades.").eq(&2.0));
    assert!(count("An antibody binds an antigen on pathogens.").eq(&1.0));
    assert!(count("Something about pathogens.").eq(&0.0));
}

#[test]
fn expertise_falls_with_the_distance_between_answer_and_question() {
    let judge = judge();
    let of = |answer: &str| {
        score(
            &judge,
            &Expertise {
                question: "How do cells make it?".into(),
                answer: answer.into(),
            },
        )
    };
    let plain = of(
        "A cell makes a thing that sticks to a germ, and a vaccine trains the immunity of the body.",
    );
    let jargon = of(
        "Immunoglobulin hypermutation complementarity differentiation proliferation seroconversion.",
    );
    assert!(plain > jargon, "{plain} {jargon}");
    assert!(of("").abs() < 1e-9);
}

#[test]
fn the_same_call_has_the_same_reply_from_every_judge_of_the_corpus() {
    let task = property(
        "Memory of cells, explained.",
        "The answer should mention memory cells.",
    );
    let first = judge();
    assert_eq!(first.answer(&task), first.answer(&task));
    assert_eq!(first.answer(&task), judge().answer(&task));
}

#[test]
fn a_judge_without_corpus_works_on_unspaced_scripts_too() {
    let judge = Lexical::new(&[]);
    let of = |answer: &str| score(&judge, &property(answer, "答案应解释抗体"));
    assert!(of("抗体可以结合抗原") > of("天气很好"));
    assert!(score(&judge, &property("x", "...")).abs() < 1e-9);
}

#[tokio::test]
async fn asked_as_a_judge_it_replies_under_its_name_without_tokens() {
    let task = property("antibodies", "The answer should explain antibodies.");
    let request = JudgeRequest {
        call: JudgeCall::new("c0", Role::Rubric, task.clone()),
        system: SystemName::from("s"),
        case_id: CaseId::from("c"),
        attempt: 0,
        rendered: None,
    };
    let judge = judge();
    let Ok(Outcome::Reply(reply)) = judge.ask(&request).await else {
        panic!("no reply")
    };
    assert_eq!(
        (reply.content.as_str(), reply.model.as_deref()),
        (judge.answer(&task).as_str(), Some("lexical"))
    );
    assert_eq!((reply.usage.prompt_tokens, reply.is_cut()), (0, false));
}

proptest! {
    #[test]
    fn every_text_gets_a_readable_reply_within_the_bounds(answer in any::<String>(), other in any::<String>()) {
        let judge = judge();
        let (question, answer): (Arc<str>, Arc<str>) = (other.as_str().into(), answer.into());
        let in_bounds = |question: &dyn Question, most: f64| (0.0..=most).contains(&score(&judge, question));
        let snippets: Arc<[String]> = Arc::from([other.clone(), answer.to_string()]);
        let expertise = Expertise { question: Arc::clone(&question), answer: Arc::clone(&answer) };
        let evidence = SnippetEvidence { question: Arc::clone(&question), answer: Arc::clone(&answer), snippets };
        prop_assert!(in_bounds(&property(&answer, &other), 10.0));
        prop_assert!(in_bounds(&expertise, 10.0));
        prop_assert!(in_bounds(&evidence, 2.0));
        let claims = judge.answer(&Citations { question, answer });
        prop_assert!(serde_json::from_str::<Value>(&claims).unwrap()["claims"].is_array());
    }
}

fn shared() -> Option<PathBuf> {
    let path = std::env::var_os("SCHOLAREVAL_SHARED").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared"),
        PathBuf::from,
    );
    path.is_dir().then_some(path)
}

fn real_cases(shared: &Path) -> Vec<Arc<TestCase>> {
    let text = std::fs::read_to_string(shared.join("data/scholarqa_cs/test_configs_snippets.json"))
        .unwrap();
    let strings = |value: &Value| -> Vec<String> {
        value
            .as_array()
            .unwrap()
            .iter()
            .map(|s| s.as_str().unwrap().to_owned())
            .collect()
    };
    let cases: Value = serde_json::from_str(&text).unwrap();
    let read = |row: &Value| {
        let config = &row["metric_config"]["config"];
        let criteria: Vec<(String, Vec<String>)> = config["other_properties"]
            .as_array()
            .unwrap()
            .iter()
            .map(|p| {
                (
                    p["criterion"].as_str().unwrap().to_owned(),
                    strings(&p["evidence"]),
                )
            })
            .collect();
        let borrowed: Vec<(&str, Vec<&str>)> = criteria
            .iter()
            .map(|(c, s)| (c.as_str(), s.iter().map(String::as_str).collect()))
            .collect();
        let slices: Vec<(&str, &[&str])> =
            borrowed.iter().map(|(c, s)| (*c, s.as_slice())).collect();
        let mut case = (*case(config["question"].as_str().unwrap(), &slices)).clone();
        case.case_id = row["case_id"].as_str().unwrap().into();
        Arc::new(case)
    };
    cases.as_array().unwrap().iter().map(read).collect()
}

/// Mean criterion score, share of snippets found, share of cited claims, of citations with excerpts, and expertise.
fn means(judge: &Lexical, cases: &[Arc<TestCase>], path: &Path) -> [f64; 5] {
    let mut sums = [(0.0, 0.0); 5];
    let mut add =
        |i: usize, value: f64, count: f64| sums[i] = (sums[i].0 + value, sums[i].1 + count);
    for line in std::fs::read_to_string(path).unwrap().lines() {
        let row: Value = serde_json::from_str(line).unwrap();
        let answer: Arc<str> = row["answer_text"].as_str().unwrap().into();
        let case = cases
            .iter()
            .find(|case| case.case_id.as_str() == row["case_id"])
            .unwrap();
        let question = Arc::clone(&case.rubric.question);
        for criterion in &case.rubric.criteria {
            let (question, answer) = (Arc::clone(&question), Arc::clone(&answer));
            let snippets = Arc::clone(&criterion.snippets);
            let count = snippets.len() as f64;
            add(
                0,
                score(judge, &property(&answer, &criterion.criterion)),
                1.0,
            );
            add(
                1,
                score(
                    judge,
                    &SnippetEvidence {
                        question,
                        answer,
                        snippets,
                    },
                ),
                count,
            );
        }
        add(
            4,
            score(
                judge,
                &Expertise {
                    question: Arc::clone(&question),
                    answer: Arc::clone(&answer),
                },
            ),
            1.0,
        );
        let reply: Value =
            serde_json::from_str(&judge.answer(&Citations { question, answer })).unwrap();
        for claim in reply["claims"].as_array().unwrap() {
            let citations = claim["citations"].as_array().unwrap();
            add(2, f64::from(u8::from(!citations.is_empty())), 1.0);
            for citation in citations {
                add(
                    3,
                    f64::from(u8::from(
                        !citation["excerpts"].as_array().unwrap().is_empty(),
                    )),
                    1.0,
                );
            }
        }
    }
    sums.map(|(sum, count)| sum / count)
}

#[test]
fn real_answers_differ_and_leave_room_at_both_ends() {
    let Some(shared) = shared() else {
        eprintln!("skipped: SCHOLAREVAL_SHARED is not set and ../shared is not there");
        return;
    };
    let cases = real_cases(&shared);
    let judge = Lexical::new(&cases);
    let of = |system: &str| {
        let means = means(
            &judge,
            &cases,
            &shared.join(format!("data/scholarqa_cs/src_answers/{system}.jsonl")),
        );
        eprintln!(
            "{system}: criteria {:.2}, snippets {:.2}, cited {:.2}, quoted {:.2}, expertise {:.2}",
            means[0], means[1], means[2], means[3], means[4]
        );
        means
    };
    let (nora, gpt, perplexity, claude) = (of("nora"), of("gpt"), of("perplexity"), of("claude"));
    for system in [nora, gpt, perplexity, claude] {
        assert!(
            (1.0..9.0).contains(&system[0]) && (0.05..0.95).contains(&system[1]),
            "{system:?}"
        );
    }
    assert!(nora[3] > 0.5, "nora's reference lists hold excerpts");
    assert!(nora[2] > gpt[2], "gpt cites next to nothing");
}
