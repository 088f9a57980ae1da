//! Perturbed answers: each is an answer of a further system, `NAME + padded`. Where only the criteria of its case are asked
//! otherwise, the answer is the same.

use std::sync::Arc;

use super::with_text;
use scholareval_core::domain::{CriteriaLayout, Item, TestCase};
use scholareval_core::error::Result;
use scholareval_core::text::bluff::bluff;
use scholareval_core::text::perturbation::Perturbation;

/// The answer with what the system wrote perturbed, and with the same appended list of sources, which `uncited` and `bluffing`
/// remove; `None` if it does not change, as that of a case without criteria for `bluffing`, or is a missing answer. The id of the case decides the order of shuffled sentences and criteria.
///
/// # Errors
/// When a text that was left in its file cannot be read.
pub fn perturbed(item: &Item, perturbation: Perturbation) -> Result<Option<Item>> {
    let layout = match perturbation {
        Perturbation::Reversed => CriteriaLayout::LevelsReversed,
        Perturbation::Reordered => CriteriaLayout::Reordered,
        Perturbation::Alone => CriteriaLayout::Alone,
        _ => return with_perturbed_text(item, perturbation),
    };
    if item.answer.is_missing {
        return Ok(None);
    }
    let mut item = item.clone().laid_out(layout);
    item.answer.system = item.answer.system.perturbed(perturbation);
    Ok(Some(item))
}

fn with_perturbed_text(item: &Item, perturbation: Perturbation) -> Result<Option<Item>> {
    let mut item = with_text(item)?;
    let answer = &mut item.answer;
    let text_of_system = answer.own_text();
    let changed = match perturbation {
        Perturbation::Bluffing => bluff(&item.case.initial_prompt, demands(&item.case)),
        _ => perturbation.apply(text_of_system, answer.case_id.seed()),
    };
    // Of an error text, a part would be an answer.
    let Some(changed) = changed.filter(|_| !answer.is_missing) else {
        return Ok(None);
    };
    let appended = Some(&answer.answer_text[text_of_system.len()..])
        .filter(|_| !matches!(perturbation, Perturbation::Uncited | Perturbation::Bluffing));
    let text = format!("{changed}{}", appended.unwrap_or_default());
    answer.own_bytes = answer.own_bytes.map(|_| changed.len());
    answer.answer_text = text.into();
    answer.system = answer.system.perturbed(perturbation);
    let own_text = answer.own_text_shared();
    if let Some(prediction) = &mut answer.prediction {
        Arc::make_mut(prediction).output = Some(own_text);
    }
    Ok(Some(item))
}

/// What an answer to the case should do; faults that it should avoid are not among them.
fn demands(case: &TestCase) -> Vec<&str> {
    let of_rubric = case.rubric.criteria.iter();
    let of_rubric = of_rubric.map(|criterion| (&*criterion.criterion, criterion.weight));
    let listed = case.criteria.iter();
    let listed = listed.map(|criterion| (&*criterion.text, criterion.weight));
    let mut demands = Vec::new();
    for (text, weight) in of_rubric.chain(listed) {
        if weight >= 0.0 {
            demands.push(text);
        }
    }
    demands
}

#[cfg(test)]
mod tests {
    use super::*;
    use scholareval_core::domain::{Answer, CaseCriterion, Prediction};

    #[test]
    fn what_the_system_wrote_changes_and_an_appended_list_goes_only_with_its_citations() {
        let text_of_system = "One [1]. Two.";
        let prediction = Prediction {
            output: Some(text_of_system.into()),
            ..Prediction::default()
        };
        let answer = Answer {
            own_bytes: Some(text_of_system.len()),
            prediction: Some(Arc::new(prediction)),
            ..Answer::new(
                "a".into(),
                "c1".into(),
                format!("{text_of_system}\nReferences:\n[1] T X\n"),
            )
        };
        let case = TestCase::without_rubric("c1".into(), "why?");
        let item = Item::new(Arc::new(case), answer);
        for (perturbation, changed, all) in [
            (
                Perturbation::Bullets,
                "- One [1].\n- Two.",
                "- One [1].\n- Two.\nReferences:\n[1] T X\n",
            ),
            (Perturbation::Uncited, "One. Two.", "One. Two."),
        ] {
            let changed_answer = perturbed(&item, perturbation).unwrap().unwrap().answer;
            assert_eq!(
                (changed_answer.own_text(), &*changed_answer.answer_text),
                (changed, all)
            );
            assert_eq!(
                changed_answer
                    .prediction
                    .as_ref()
                    .map(|prediction| prediction.output()),
                Some(changed)
            );
            assert_eq!(
                changed_answer.system.as_str(),
                format!("a + {}", perturbation.name())
            );
        }
        let plain = Item {
            answer: Answer::new("a".into(), "c1".into(), "One."),
            ..item
        };
        assert!(perturbed(&plain, Perturbation::Uncited).unwrap().is_none());
    }

    #[test]
    fn a_bluff_names_what_is_demanded_without_citations_and_faults() {
        let criterion = |text: &str, weight| CaseCriterion {
            text: text.into(),
            weight,
            ..CaseCriterion::default()
        };
        let mut case = TestCase::without_rubric("c1".into(), "Why rain?");
        let answer = Answer {
            own_bytes: Some(4),
            ..Answer::new("a".into(), "c1".into(), "One.\nReferences:\n[1] T X\n")
        };
        let bluffed = |case: &TestCase| {
            let item = Item::new(Arc::new(case.clone()), answer.clone());
            perturbed(&item, Perturbation::Bluffing).unwrap()
        };
        assert_eq!(bluffed(&case), None, "nothing to name");
        case.criteria = vec![
            criterion("Names clouds.", 2.0),
            criterion("Invents sources.", -1.0),
        ];
        let text = "This is a complete answer to the question about rain. It covers clouds in depth. \
            Taken together, these points answer the question in full.";
        let changed = bluffed(&case).unwrap().answer;
        assert_eq!(
            (
                changed.own_text(),
                &*changed.answer_text,
                changed.system.as_str()
            ),
            (text, text, "a + bluffing")
        );
    }
}
