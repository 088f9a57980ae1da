//! Rubric profiles: the shipped ones, and those in a user's directory.

use std::collections::HashSet;
use std::path::Path;

use scholareval_rubrics::{File, RUBRICS};
use serde_json::Value;

use scholareval_core::domain::{RubricProfile, comparable_level};
use scholareval_core::error::{Error, InputFault, Result};
use scholareval_core::files::{parse_toml, read_small_text};
use scholareval_core::text::names::nearest;

/// File of a profile in its directory.
const PROFILE: &str = "profile.toml";

/// The profile of ScholarQA-CS2, whose files are recognized.
pub(super) const SCHOLARQA_CS2: &str = "scholarqa-cs2";

/// The profile of cases that name none.
const DEFAULT_PROFILE: &str = "criteria";

/// Names and texts of the shipped profiles, the default first. A profile has the name of its directory below `rubrics/`, with
/// hyphens.
pub fn shipped_profiles() -> Vec<(String, &'static str)> {
    let mut profiles = Vec::new();
    for dir in RUBRICS.dirs() {
        let text = dir.get_file(dir.path().join(PROFILE));
        if let Some(text) = text.and_then(File::contents_utf8) {
            let name = dir.path().display().to_string().replace('_', "-");
            profiles.push((name, text));
        }
    }
    profiles.sort_by_key(|(name, _)| (name != DEFAULT_PROFILE, name.clone()));
    profiles
}

/// The profile of this name or directory; the default one for `None`.
///
/// # Errors
/// [`Error::Usage`] for a name that is neither; [`Error::Input`] for a file that is not a profile, with its line.
pub fn rubric_profile(name: Option<&str>) -> Result<RubricProfile> {
    let (name, source, path) = profile_source(name.unwrap_or(DEFAULT_PROFILE))?;
    let profile = parse(&source, Path::new(&path))?;
    Ok(RubricProfile {
        name: if path == name {
            name
        } else {
            profile.name.clone()
        },
        ..profile
    })
}

/// The keys with which a profile of the user's names fields: `case.id`. `None` for a shipped one, which names fields that
/// files need not have.
///
/// # Errors
/// As [`rubric_profile`].
pub(super) fn named_keys(rubric: Option<&str>) -> Result<Option<HashSet<String>>> {
    let (name, source, path) = profile_source(rubric.unwrap_or(DEFAULT_PROFILE))?;
    if path == name {
        return Ok(None);
    }
    keys_of(&source, Path::new(&path)).map(Some)
}

/// The keys with which the text of a profile names fields.
///
/// # Errors
/// When it is not TOML.
pub(super) fn keys_of(source: &str, path: &Path) -> Result<HashSet<String>> {
    let profile: Value = parse_toml(source, path, "")?;
    let mut keys = HashSet::from(["show".to_owned()]);
    for part in ["case", "criterion"] {
        let fields = profile[part].as_object().into_iter().flatten();
        keys.extend(fields.map(|(key, _)| format!("{part}.{key}")));
    }
    Ok(keys)
}

/// Name, text and path of a profile; a shipped one has its name for a path.
///
/// # Errors
/// As [`rubric_profile`].
pub fn profile_source(name: &str) -> Result<(String, String, String)> {
    // A shipped name wins over a directory of that name, so that a result's `--rubric` means the
    // same everywhere.
    let shipped = shipped_profiles();
    if let Some((name, source)) = shipped.iter().find(|(shipped, _)| shipped == name) {
        return Ok((name.clone(), (*source).to_owned(), name.clone()));
    }
    let path = Path::new(name).join(PROFILE);
    if path.is_file() {
        return Ok((
            name.to_owned(),
            read_small_text(&path)?.0,
            path.display().to_string(),
        ));
    }
    let names: Vec<&str> = shipped.iter().map(|(name, _)| name.as_str()).collect();
    let near = nearest(name, names.iter().copied())
        .map_or_else(String::new, |near| format!("did you mean {near}? "));
    let what = format!(
        "--rubric: no rubric is called \"{}\"; {near}There are {}",
        name.escape_debug(),
        names.join(", ")
    );
    Err(Error::Usage(format!(
        "{what}, and directories with a {PROFILE}"
    )))
}

/// # Errors
/// When the text is not a profile.
pub(super) fn parse(source: &str, path: &Path) -> Result<RubricProfile> {
    let hint = "`scholareval rubrics show criteria` prints one to start from";
    let profile: RubricProfile = parse_toml(source, path, hint)?;
    match reply_fault(&profile) {
        Some(what) => Err(InputFault::new(path, what).hint("change [reply]").into()),
        None => Ok(profile),
    }
}

/// Why replies cannot be read by this profile.
fn reply_fault(profile: &RubricProfile) -> Option<String> {
    let reply = &profile.reply;
    let levels = &reply.levels;
    // With one level every answer gets the same score.
    if levels.len() < 2 {
        return Some("a scale needs two levels or more".to_owned());
    }
    for level in levels {
        if !(0.0..=1.0).contains(&level.credit) {
            return Some(format!(
                "the credit of level {} is {}, outside 0..1",
                level.level, level.credit
            ));
        }
    }
    if let Some(what) = repeated_level(&reply.words()) {
        return Some(what);
    }
    if !reply.second.is_empty() && profile.case.reference.is_empty() {
        return Some("reply.second needs case.reference, the field of the article".to_owned());
    }
    if !reply.continuous {
        return None;
    }
    // Between the ends a grade is interpolated; other credits there would make the scale's meaning
    // depend on levels in between, which a continuous reply need not name.
    let has_ends = [levels.first(), levels.last()]
        .into_iter()
        .flatten()
        .all(|end| end.level.is_number() && [0.0, 1.0].contains(&end.credit));
    if !has_ends {
        return Some(
            "the ends of a continuous scale are numbers with the credits 0 and 1".to_owned(),
        );
    }
    if !reply.is_ordered() {
        return Some(
            "the levels of a continuous scale are numbers in ascending or descending order"
                .to_owned(),
        );
    }
    None
}

/// Two levels that a reply could not choose between, since case, hyphens and the form of numbers do not matter when replies
/// are read.
fn repeated_level(levels: &[Value]) -> Option<String> {
    for (at, level) in levels.iter().enumerate() {
        let said = comparable_level(level);
        let Some(first) = levels[..at]
            .iter()
            .find(|other| comparable_level(other) == said)
        else {
            continue;
        };
        if first == level {
            return Some(format!("the level {level} occurs twice"));
        }
        return Some(format!(
            "the levels {first} and {level} cannot be distinguished in a reply, where case, hyphens and the form of \
             numbers do not matter"
        ));
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use scholareval_core::domain::{CaseCriterion, JudgeReply, Mode};
    use scholareval_core::question::{CriteriaLevels, Question};
    use serde_json::json;

    #[test]
    fn shipped_profiles_are_valid_and_carry_their_own_names() {
        for (name, source) in shipped_profiles() {
            assert_eq!(parse(source, Path::new(&name)).unwrap().name, name);
        }
    }

    #[test]
    fn every_profile_of_the_repository_is_shipped() {
        let rubrics = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../rubrics");
        let mut count = 0;
        for entry in std::fs::read_dir(rubrics).unwrap() {
            let has_profile = entry.unwrap().path().join(PROFILE).is_file();
            count += usize::from(has_profile);
        }
        let shipped = shipped_profiles().len();
        assert_eq!(shipped, count, "every directory with a profile");
    }

    #[test]
    fn a_wrong_key_is_reported_with_its_line_and_an_unknown_name_with_the_nearest() {
        let dir = tempfile::tempdir().unwrap();
        let of = |text: &str| {
            std::fs::write(dir.path().join(PROFILE), text).unwrap();
            rubric_profile(dir.path().to_str()).unwrap_err().to_string()
        };
        let good = shipped_profiles()[0].1;
        let error = of(&good.replace("abstain", "abstention"));
        assert!(
            error.contains("profile.toml:5: unknown field `abstention`"),
            "{error}"
        );
        let error = of(&good.replace("credit = 1", "credit = 2"));
        assert!(
            error.contains("the credit of level \"met\" is 2, outside 0..1; change [reply]"),
            "{error}"
        );
        let error = of(&good.replace("\"not met\"", "\"met\""));
        assert!(error.contains("the level \"met\" occurs twice"), "{error}");
        let error = of(&good.replace("\"not met\"", "\"Met.\""));
        assert!(
            error.contains("the levels \"met\" and \"Met.\" cannot be distinguished in a reply"),
            "{error}"
        );
        let error = of(&good.replace("\"cannot assess\"", "\"not_met\""));
        assert!(
            error.contains("\"not met\" and \"not_met\" cannot be"),
            "{error}"
        );
        let numbers = good
            .replace("\"met\"", "1")
            .replace("\"not met\"", "\"1.0\"");
        let error = of(&numbers);
        assert!(
            error.contains("the levels 1 and \"1.0\" cannot be"),
            "{error}"
        );
        let error = rubric_profile(Some("healthbenhc")).unwrap_err().to_string();
        assert!(error.contains("did you mean healthbench?"), "{error}");
    }

    #[test]
    fn levels_of_a_continuous_scale_are_numbers_in_order() {
        let of = |levels: &[&str]| {
            let level = |(level, credit): (&&str, f64)| {
                format!("{{ level = {level}, credit = {credit}, means = \"\" }}")
            };
            let credits = [0.0, 0.7, 1.0];
            let levels: Vec<String> = levels.iter().zip(credits).map(level).collect();
            let text = format!(
                "name = \"n\"\nabout = \"a\"\n[reply]\ncontinuous = true\nlevels = [{}]\n",
                levels.join(", ")
            );
            parse(&text, Path::new("profile.toml")).map_err(|error| error.to_string())
        };
        assert!(of(&["0", "5", "10"]).is_ok() && of(&["10", "5.5", "0"]).is_ok());
        for levels in [["0", "12", "10"], ["0", "\"some\"", "10"]] {
            let error = of(&levels).unwrap_err();
            assert!(
                error.contains("are numbers in ascending or descending order; change [reply]"),
                "{error}"
            );
        }
    }

    /// The schema of a reply about so many criteria; the baseline's reply must be readable.
    fn schema_of(rubric: &str, count: usize) -> Option<Value> {
        let criterion = CaseCriterion {
            text: "c".into(),
            ..CaseCriterion::default()
        };
        let question = CriteriaLevels {
            question: "q".into(),
            answer: "a".into(),
            criteria: vec![criterion; count].into(),
            shape: rubric_profile(Some(rubric)).unwrap().reply,
            reference: None,
            shown: Default::default(),
        };
        let shares = vec![1.0; count];
        let reply = JudgeReply::of_text(question.shape.reply_of(
            &question.criteria,
            &shares,
            &shares,
        ));
        assert!(question.read(&reply, Mode::Default).is_ok());
        question.schema()
    }

    #[test]
    fn schemas_describe_what_is_read() {
        let schema = schema_of("criteria", 1).unwrap();
        assert_eq!(
            schema["properties"]["verdict"],
            json!({"type": ["string"], "enum": ["met", "not met", "cannot assess"]})
        );
        let ingredients = schema_of("scholarqa-cs2", 2).unwrap();
        let verdict = &ingredients["properties"]["scores"]["items"];
        assert_eq!(
            verdict["properties"]["score"],
            json!({"type": ["number"], "enum": [2, 1, 0]})
        );
        assert_eq!(
            verdict["required"],
            json!(["criteria", "reasoning", "evidence", "score", "criteria_idx"])
        );
        let boolean = schema_of("healthbench", 1).unwrap();
        assert_eq!(
            boolean["properties"]["criteria_met"]["type"],
            json!(["boolean"])
        );
        assert_eq!(schema_of("researchqa", 1), None, "lines are not JSON");
    }
}
