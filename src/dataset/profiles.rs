//! Rubric profiles: the shipped ones, and those in a user's directory.

use std::path::Path;

use crate::domain::RubricProfile;
use crate::error::{Error, InputFault, Result};
use crate::files::{parse_toml, read_small_text};
use crate::text::names::nearest;

/// File of a profile in its directory.
const PROFILE: &str = "profile.toml";

/// The profile of ScholarQA-CS2, whose files are recognized.
pub(super) const SCHOLARQA_CS2: &str = "scholarqa-cs2";

/// Names and texts of the shipped profiles, the default first.
pub const SHIPPED_PROFILES: [(&str, &str); 7] = [
    (
        "criteria",
        include_str!("../../rubrics/criteria/profile.toml"),
    ),
    (
        "scholarqa-cs",
        include_str!("../../rubrics/scholarqa_cs/profile.toml"),
    ),
    (
        "healthbench",
        include_str!("../../rubrics/healthbench/profile.toml"),
    ),
    (
        "researchrubrics",
        include_str!("../../rubrics/researchrubrics/profile.toml"),
    ),
    (
        "researchqa",
        include_str!("../../rubrics/researchqa/profile.toml"),
    ),
    (
        SCHOLARQA_CS2,
        include_str!("../../rubrics/scholarqa_cs2/profile.toml"),
    ),
    ("race", include_str!("../../rubrics/race/profile.toml")),
];

/// The profile of this name or directory; the default one for `None`.
///
/// # Errors
/// [`Error::Usage`] for a name that is neither; [`Error::Input`] for a file that is not a profile, with its line.
pub fn rubric_profile(name: Option<&str>) -> Result<RubricProfile> {
    let (name, source, path) = profile_source(name.unwrap_or("criteria"))?;
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

/// Name, text and path of a profile; a shipped one has its name for a path.
///
/// # Errors
/// As [`rubric_profile`].
pub fn profile_source(name: &str) -> Result<(String, String, String)> {
    if let Some((name, source)) = SHIPPED_PROFILES
        .iter()
        .find(|(shipped, _)| *shipped == name)
    {
        return Ok(((*name).to_owned(), (*source).to_owned(), (*name).to_owned()));
    }
    let path = Path::new(name).join(PROFILE);
    if path.is_file() {
        return Ok((
            name.to_owned(),
            read_small_text(&path)?.0,
            path.display().to_string(),
        ));
    }
    let names = SHIPPED_PROFILES.map(|(name, _)| name);
    let near =
        nearest(name, names).map_or_else(String::new, |near| format!("did you mean {near}? "));
    let what = format!(
        "--rubric: no rubric is called \"{}\"; {near}There are {}",
        name.escape_debug(),
        names.join(", ")
    );
    Err(Error::Usage(format!(
        "{what}, and directories with a {PROFILE}"
    )))
}

fn parse(source: &str, path: &Path) -> Result<RubricProfile> {
    let hint = "`scholareval rubrics show criteria` prints one to start from";
    let profile: RubricProfile = parse_toml(source, path, hint)?;
    let levels = &profile.reply.levels;
    let is_repeated = |(at, level): (usize, &crate::domain::Level)| {
        levels[..at].iter().any(|other| other.level == level.level)
            || level.level == profile.reply.abstain
    };
    let is_end = |level: &crate::domain::Level| {
        level.level.is_number() && [0.0, 1.0].contains(&level.credit)
    };
    let what = if levels.len() < 2 {
        "a scale needs two levels or more".to_owned()
    } else if let Some(level) = levels
        .iter()
        .find(|level| !(0.0..=1.0).contains(&level.credit))
    {
        format!(
            "the credit of level {} is {}, outside 0..1",
            level.level, level.credit
        )
    } else if let Some((_, level)) = levels.iter().enumerate().find(|entry| is_repeated(*entry)) {
        format!("the level {} occurs twice", level.level)
    } else if !profile.reply.second.is_empty() && profile.case.reference.is_empty() {
        "reply.second needs case.reference, the field of the article".to_owned()
    } else if profile.reply.continuous
        && [0, levels.len() - 1].iter().any(|at| !is_end(&levels[*at]))
    {
        "the ends of a continuous scale are numbers with the credits 0 and 1".to_owned()
    } else {
        return Ok(profile);
    };
    Err(InputFault::new(path, what).hint("change [reply]").into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shipped_profiles_are_valid_and_carry_their_own_names() {
        for (name, source) in SHIPPED_PROFILES {
            assert_eq!(parse(source, Path::new(name)).unwrap().name, name);
        }
    }

    #[test]
    fn a_wrong_key_is_reported_with_its_line_and_an_unknown_name_with_the_nearest() {
        let dir = tempfile::tempdir().unwrap();
        let of = |text: &str| {
            std::fs::write(dir.path().join(PROFILE), text).unwrap();
            rubric_profile(dir.path().to_str()).unwrap_err().to_string()
        };
        let good = SHIPPED_PROFILES[0].1;
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
        let error = rubric_profile(Some("healthbenhc")).unwrap_err().to_string();
        assert!(error.contains("did you mean healthbench?"), "{error}");
    }
}
