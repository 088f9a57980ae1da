//! The golden file's stub judge: replies drawn from hashes of the question and the answer (its field `stub`).

use std::fmt::Write as _;

use scholareval::question::{Expertise, Property, Question, SnippetEvidence};
use sha2::{Digest, Sha256};

pub(super) fn sha256(text: &str) -> String {
    Sha256::digest(text.as_bytes())
        .iter()
        .fold(String::new(), |mut hex, byte| {
            write!(hex, "{byte:02x}").unwrap();
            hex
        })
}

fn hex(text: &str, from: usize, to: usize) -> u64 {
    u64::from_str_radix(&text[from..to], 16).unwrap()
}

fn score(kind: &str, about: &str, answer: &str, modulus: u64) -> u64 {
    hex(
        &sha256(&format!("{kind}\n{}\n{}", sha256(about), sha256(answer))),
        0,
        8,
    ) % modulus
}

/// For each claim, for each of its citations, how many excerpts it has.
pub(super) fn claims(answer: &str) -> Vec<Vec<u64>> {
    let h = sha256(&format!("citations\n{}", sha256(answer)));
    let citations = |i: usize| hex(&h, 2 + i, 3 + i) % 3;
    let excerpts = |i: usize, j: usize| hex(&h, 20 + 3 * i + j, 21 + 3 * i + j) % 2;
    let claim = |i: usize| (0..citations(i) as usize).map(|j| excerpts(i, j)).collect();
    (0..(hex(&h, 0, 2) % 6) as usize).map(claim).collect()
}

pub(super) fn expertise(question: &str, answer: &str) -> u64 {
    score("expertise", question, answer, 11)
}

pub(super) fn property(criterion: &str, answer: &str) -> u64 {
    score("property", criterion, answer, 11)
}

pub(super) fn evidence(snippets: &[String], answer: &str) -> u64 {
    score(
        "evidence",
        &snippets.join("\n"),
        answer,
        snippets.len() as u64 + 2,
    )
}

/// The reply's text.
pub(super) fn reply(task: &dyn Question) -> String {
    let answer = task.judged();
    let score = match task.info().name {
        "expertise" => expertise(&task.downcast_ref::<Expertise>().unwrap().question, answer),
        "property" => property(&task.downcast_ref::<Property>().unwrap().criterion, answer),
        "evidence" => evidence(
            &task.downcast_ref::<SnippetEvidence>().unwrap().snippets,
            answer,
        ),
        "citations" => {
            let citation = |excerpts: &u64| serde_json::json!({"citation_text": "c", "excerpts": vec!["e"; *excerpts as usize]});
            let claim = |citations: &Vec<u64>| serde_json::json!({"claim_text": "t", "citations": citations.iter().map(citation).collect::<Vec<_>>()});
            return serde_json::json!({"claims": claims(answer).iter().map(claim).collect::<Vec<_>>()}).to_string();
        }
        _ => panic!("the rubric does not ask this"),
    };
    serde_json::json!({"score": score}).to_string()
}
