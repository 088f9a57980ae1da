//! The scales on which people label, from those on which judges do.

use serde_json::Value;

use crate::domain::{GivenLabel, LabelLevel, LabelScale, Preference, ReplyShape, text_of};

/// The keys of levels, in their order.
const KEYS: [char; 11] = ['0', '1', '2', '3', '4', '5', '6', '7', '8', '9', '+'];

/// The scale of criteria that are judged in this form, the lowest credit first. A continuous scale has its whole numbers.
///
/// # Errors
/// Why people cannot label on it, in words.
pub(super) fn scale_of(shape: &ReplyShape) -> Result<LabelScale, &'static str> {
    if !shape.second.is_empty() {
        return Err("its criteria are judged together with a reference article");
    }
    let levels = match whole_numbers(shape) {
        Some(levels) => levels,
        None => listed_levels(shape),
    };
    if levels.len() > KEYS.len() {
        return Err("its scale has more than 11 levels");
    }
    Ok(LabelScale { levels })
}

/// The whole numbers of a continuous scale within 0 to 10; `None` for other scales.
fn whole_numbers(shape: &ReplyShape) -> Option<Vec<LabelLevel>> {
    let mut numbers = Vec::new();
    for number in 0..=10_u8 {
        if shape.spans(f64::from(number)) {
            numbers.push(number);
        }
    }
    let ends = shape.levels.iter().map(|level| level.level.as_f64());
    let ends: Option<Vec<f64>> = ends.collect();
    // A scale from 0 to 100 would otherwise lose most of its levels.
    let is_within = ends?.iter().all(|end| (0.0..=10.0).contains(end));
    if numbers.is_empty() || !is_within {
        return None;
    }
    let mut levels = Vec::new();
    for number in numbers {
        let at = f64::from(number);
        let described = shape
            .levels
            .iter()
            .find(|level| level.level.as_f64() == Some(at));
        levels.push(LabelLevel {
            key: KEYS[usize::from(number)],
            name: number.to_string(),
            means: described.map_or_else(String::new, |level| level.means.clone()),
            label: GivenLabel::Value(shape.credit_at(at)?),
        });
    }
    Some(levels)
}

/// The levels of the profile. Levels that are numbers from 0 to 10 have these as keys, others count up from 0.
fn listed_levels(shape: &ReplyShape) -> Vec<LabelLevel> {
    let mut listed: Vec<_> = shape.levels.iter().collect();
    listed.sort_by(|a, b| a.credit.total_cmp(&b.credit));
    let mut levels = Vec::new();
    for (place, level) in listed.iter().enumerate() {
        let name = match &level.level {
            Value::Bool(true) => "yes".to_owned(),
            Value::Bool(false) => "no".to_owned(),
            other => text_of(other),
        };
        levels.push(LabelLevel {
            key: KEYS.get(place).copied().unwrap_or_default(),
            name,
            means: level.means.clone(),
            label: GivenLabel::Value(level.credit),
        });
    }
    let mut listed = listed.iter();
    if listed.all(|level| matches!(level.level.as_u64(), Some(0..=10))) {
        for level in &mut levels {
            let number: Option<usize> = level.name.parse().ok();
            level.key = number.map_or(level.key, |number| KEYS[number]);
        }
    }
    levels
}

/// Levels with the values of their numbers, from `first` on.
pub(super) fn numbered(first: usize, levels: &[(&str, &str)]) -> LabelScale {
    let mut scale = Vec::new();
    for (number, (name, means)) in (first..).zip(levels) {
        scale.push(LabelLevel {
            key: KEYS[number],
            name: (*name).to_owned(),
            means: (*means).to_owned(),
            label: GivenLabel::Value(number as f64),
        });
    }
    LabelScale { levels: scale }
}

/// Which of two answers is better.
pub(super) fn preference() -> LabelScale {
    let preferences = [
        ("left is better", Preference::First),
        ("about equal", Preference::Tie),
        ("right is better", Preference::Second),
    ];
    let mut levels = Vec::new();
    for (number, (name, preference)) in (1..).zip(preferences) {
        levels.push(LabelLevel {
            key: KEYS[number],
            name: name.to_owned(),
            means: String::new(),
            label: GivenLabel::Preference(preference),
        });
    }
    LabelScale { levels }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataset::rubric_profile;

    fn keys_and_values(rubric: &str) -> Vec<(char, String, f64)> {
        let profile = rubric_profile(Some(rubric)).unwrap();
        let scale = scale_of(&profile.reply).unwrap();
        let mut levels = Vec::new();
        for level in scale.levels {
            let GivenLabel::Value(value) = level.label else {
                panic!("{level:?}");
            };
            levels.push((level.key, level.name, value));
        }
        levels
    }

    #[test]
    fn levels_rise_and_have_the_credits_of_the_rubric() {
        let levels = [("0", "not met", 0.0), ("1", "met", 1.0)];
        let levels =
            levels.map(|(key, name, value)| (key.parse().unwrap(), name.to_owned(), value));
        assert_eq!(keys_and_values("criteria"), levels);
        let three = keys_and_values("scholarqa-cs2");
        assert_eq!(three[1], ('1', "1".to_owned(), 0.5));
        let five = keys_and_values("researchqa");
        assert_eq!(five[4], ('4', "Completely".to_owned(), 1.0));
        assert_eq!(keys_and_values("healthbench")[1].1, "yes");
    }

    #[test]
    fn a_continuous_scale_has_its_whole_numbers_with_plus_for_ten() {
        let points = keys_and_values("scholarqa-cs");
        assert_eq!(points.len(), 11);
        assert_eq!((points[7].0, &*points[7].1), ('7', "7"));
        assert!((points[7].2 - 0.7).abs() < 1e-12);
        assert_eq!(points[10], ('+', "10".to_owned(), 1.0));
    }

    #[test]
    fn criteria_judged_with_a_reference_article_have_no_scale() {
        let profile = rubric_profile(Some("race")).unwrap();
        assert!(scale_of(&profile.reply).is_err());
    }
}
