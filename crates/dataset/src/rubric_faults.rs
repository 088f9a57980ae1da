//! Finds faults of rubrics whose fields all have valid types.

use std::collections::HashMap;

use scholareval_core::domain::{ComponentKind, Criterion, Rubric};

/// Tolerance for the sum of weights, as in the reference.
const WEIGHT_TOLERANCE: f64 = 1e-6;

/// Every fault of `rubric`, with what to do.
pub(super) fn rubric_faults(rubric: &Rubric) -> Vec<String> {
    let mut faults = Vec::new();
    let (low, high) = (rubric.low_length, rubric.high_length);
    if low > high {
        faults.push(format!(
            "low_length {low} is above high_length {high}; swap the two"
        ));
    }
    for criterion in &rubric.criteria {
        if criterion.name.is_empty() {
            faults.push("a property has an empty name; name it".to_owned());
        }
        if criterion.criterion.is_empty() && criterion.snippets.is_empty() {
            let name = &criterion.name;
            faults.push(format!(
                "property {name:?} has neither a criterion nor evidence; give it one of the two"
            ));
        }
    }
    name_faults(&rubric.criteria, &mut faults);
    weight_faults(rubric, &mut faults);
    faults
}

/// Names that would give two components the same name.
fn name_faults(criteria: &[Criterion], faults: &mut Vec<String>) {
    let mut properties: HashMap<&str, usize> = HashMap::new();
    let mut of_snippets: HashMap<String, &str> = HashMap::new();
    for criterion in criteria {
        *properties.entry(&criterion.name).or_default() += 1;
        if !criterion.snippets.is_empty() {
            of_snippets.insert(format!("{}_evidence", criterion.name), &criterion.name);
        }
    }
    for criterion in criteria {
        let name = &criterion.name;
        // Reported once, at the first of them.
        if properties
            .remove(name.as_str())
            .is_some_and(|count| count > 1)
        {
            faults.push(format!(
                "duplicate property name {name:?}; give each property its own name"
            ));
        }
        // Without text a property has no component with its name.
        if criterion.criterion.is_empty() {
            continue;
        }
        if ComponentKind::ALL_STATIC
            .iter()
            .any(|kind| kind.name() == name)
        {
            faults.push(format!(
                "property name {name:?} is reserved for a component of every rubric; rename the property"
            ));
        }
        if let Some(other) = of_snippets.get(name) {
            let what = format!(
                "property name {name:?} is also the name of the evidence of property {other:?}"
            );
            faults.push(format!("{what}; rename one of the two"));
        }
    }
}

fn weight_faults(rubric: &Rubric, faults: &mut Vec<String>) {
    let of_rubric = [
        ("length_weight", rubric.length_weight),
        ("expertise_weight", rubric.expertise_weight),
        ("citations_weight", rubric.citations_weight),
        ("excerpts_weight", rubric.excerpts_weight),
    ];
    let of_properties = rubric
        .criteria
        .iter()
        .map(|criterion| (criterion.name.as_str(), criterion.weight));
    let mut sum = 0.0;
    let mut are_finite = true;
    for (name, weight) in of_rubric.into_iter().chain(of_properties) {
        sum += weight;
        are_finite &= weight.is_finite();
        if !weight.is_finite() || weight < 0.0 {
            faults.push(format!(
                "weight {weight} of {name:?} is not a share; write a number from 0 to 1"
            ));
        }
    }
    // Infinite weights are named above; finite ones may have an infinite sum.
    if are_finite && (sum - 1.0).abs() >= WEIGHT_TOLERANCE {
        // Eight digits hide floating-point noise.
        let sum = (sum * 1e8).round() / 1e8;
        faults.push(format!(
            "weights sum to {sum}; make length_weight, expertise_weight, citations_weight, excerpts_weight and the \
             properties' weights sum to 1"
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn criterion(name: &str, text: &str, weight: f64, snippets: &[&str]) -> Criterion {
        let snippets = snippets
            .iter()
            .map(|s| (*s).to_owned())
            .collect::<Vec<_>>()
            .into();
        Criterion {
            name: name.into(),
            criterion: text.into(),
            weight,
            snippets,
        }
    }

    fn faults(criteria: Vec<Criterion>) -> Vec<String> {
        let rubric = Rubric {
            question: "q".into(),
            criteria,
            ..Rubric::default()
        };
        let what = |fault: String| fault.split("; ").next().unwrap().to_owned();
        rubric_faults(&rubric).into_iter().map(what).collect()
    }

    #[test]
    fn weights_must_sum_to_one_within_a_millionth() {
        // 0.05 + 0.05 + 0.2 + 0.1 = 0.4 besides the property.
        assert!(faults(vec![criterion("a", "x", 0.6 + 9e-7, &[])]).is_empty());
        assert_eq!(
            faults(vec![criterion("a", "x", 0.6 + 2e-6, &[])]),
            ["weights sum to 1.000002"]
        );
        assert_eq!(
            faults(vec![criterion("a", "x", 0.5, &[])]),
            ["weights sum to 0.9"]
        );
    }

    #[test]
    fn negative_and_infinite_weights_are_named() {
        assert_eq!(
            faults(vec![
                criterion("a", "x", -0.1, &[]),
                criterion("b", "x", 0.7, &[])
            ]),
            ["weight -0.1 of \"a\" is not a share"]
        );
        assert_eq!(
            faults(vec![criterion("a", "x", f64::NAN, &[])]),
            ["weight NaN of \"a\" is not a share"]
        );
    }

    #[test]
    fn finite_weights_with_an_infinite_sum_are_a_fault() {
        let criteria = ["a", "b"].map(|name| criterion(name, "x", f64::MAX, &[]));
        assert_eq!(faults(criteria.into()), ["weights sum to inf"]);
    }

    #[test]
    fn duplicate_names_are_reported_once() {
        let three = || criterion("a", "x", 0.2, &[]);
        assert_eq!(
            faults(vec![three(), three(), three()]),
            ["duplicate property name \"a\""]
        );
    }

    #[test]
    fn names_of_other_components_collide() {
        assert_eq!(
            faults(vec![criterion("length", "x", 0.6, &[])]),
            ["property name \"length\" is reserved for a component of every rubric"]
        );
        assert_eq!(
            faults(vec![
                criterion("a", "x", 0.3, &["s"]),
                criterion("a_evidence", "x", 0.3, &[])
            ]),
            ["property name \"a_evidence\" is also the name of the evidence of property \"a\""]
        );
        // Without snippets `a` has no such component, and without a text nor has `length`: nothing collides.
        assert!(faults(vec![criterion("length", "", 0.6, &["s"])]).is_empty());
        assert!(
            faults(vec![
                criterion("a", "x", 0.3, &[]),
                criterion("a_evidence", "x", 0.3, &[])
            ])
            .is_empty()
        );
    }

    #[test]
    fn a_property_without_any_part_and_swapped_bounds_are_faults() {
        assert_eq!(
            faults(vec![criterion("a", "", 0.6, &[])]),
            ["property \"a\" has neither a criterion nor evidence"]
        );
    }
}
