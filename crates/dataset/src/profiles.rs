//! Rubric profiles: the shipped ones, and those in a user's directory.

use std::collections::{BTreeMap, HashSet};
use std::path::Path;

use scholareval_rubrics::{File, RUBRICS};
use serde_json::Value;

use scholareval_core::domain::{
    REPORT_METRICS, ReplyForm, RubricProfile, comparable_level, text_of,
};
use scholareval_core::error::{Error, InputFault, Result};
use scholareval_core::files::{parse_toml, read_small_text};
use scholareval_core::text::names::nearest;

use super::profile_paths::ProfilePaths;

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
    let fault = case_fault(&profile)
        .map(|what| (what, "change the key"))
        .or_else(|| reply_fault(&profile).map(|what| (what, "change [reply]")))
        .or_else(|| form_fault(&profile).map(|what| (what, "change [reply]")))
        .or_else(|| metric_fault(&profile).map(|what| (what, "change [[metrics]]")));
    match fault {
        Some((what, hint)) => Err(InputFault::new(path, what).refuse(hint)),
        None => Ok(profile),
    }
}

/// Why cases cannot be read by this profile.
fn case_fault(profile: &RubricProfile) -> Option<String> {
    let (case, criterion) = (&profile.case, &profile.criterion);
    let paths = match ProfilePaths::of(profile) {
        Ok(paths) => paths,
        Err(what) => return Some(what),
    };
    let question = &case.question.0;
    let has_number = |path: &String| path.contains("{n}");
    let mut shown = HashSet::new();
    let repeated = paths
        .shown
        .iter()
        .find(|path| !shown.insert(path.last_name()));
    let mut weights = criterion.weights.values();
    let what = if profile.show.iter().any(String::is_empty) {
        "show has an empty name"
    } else if let Some(path) = repeated {
        return Some(format!("show has two fields called {}", path.last_name()));
    } else if question.is_empty() {
        "case.question names no field"
    } else if !question.iter().all(has_number) && (question.len() > 1 || has_number(&question[0])) {
        "several paths of case.question are the turns of a talk, each with {n} in it"
    } else if !case.nest.is_empty() && case.group.is_empty() {
        "case.nest joins groups, and case.group names no field"
    } else if case.nest.values().any(Vec::is_empty) || has_group_twice(&case.nest) {
        "case.nest needs groups, each under one name and not itself such a name"
    } else if !criterion.only.is_empty() && criterion.children.is_empty() {
        "criterion.only chooses the criteria of a tree, and criterion.children names none"
    } else if case.pooled && !case.group_weights.is_empty() {
        "case.pooled and case.group_weights exclude each other: groups have weights, or are only tags"
    } else if !criterion.level_means.is_empty() && !criterion.level_means.contains("{level}") {
        "criterion.level_means needs {level}, which stands for each level"
    } else if weights.any(|weight| !weight.is_finite()) {
        "criterion.weights has a weight that is not finite"
    } else {
        return None;
    };
    Some(what.to_owned())
}

/// Whether a group is under two names, or is one of the names.
fn has_group_twice(nest: &BTreeMap<String, Vec<String>>) -> bool {
    let mut seen: HashSet<&String> = nest.keys().collect();
    nest.values().flatten().any(|group| !seen.insert(group))
}

/// What in [reply] contradicts its form.
fn form_fault(profile: &RubricProfile) -> Option<String> {
    let reply = &profile.reply;
    let is_about_one = matches!(reply.form, ReplyForm::FirstWord | ReplyForm::Mark);
    let has_list = matches!(reply.form, ReplyForm::Object | ReplyForm::Map);
    let has_blank = |level: &Value| text_of(level).contains(char::is_whitespace);
    let what = if is_about_one && profile.batch != 1 {
        "first_word and mark are about one criterion: batch must be 1"
    } else if (reply.form == ReplyForm::Mark) == reply.marks.is_empty() {
        "reply.marks are needed for form = \"mark\", and for no other form"
    } else if reply.marks.iter().any(|mark| mark.trim().is_empty()) {
        "reply.marks has an empty mark"
    } else if reply.list.is_some() && !has_list {
        "reply.list is for the forms object and map"
    } else if reply.by_text && (reply.list.is_none() || reply.form != ReplyForm::Object) {
        "reply.by_text is for form = \"object\" and needs reply.list: the key of the list, and the key of a criterion's text"
    } else if !reply.second.is_empty() && reply.form != ReplyForm::Object {
        "reply.second is for form = \"object\""
    } else if reply.form == ReplyForm::FirstWord && reply.words().iter().any(has_blank) {
        "levels of form = \"first_word\" are single words"
    } else {
        return None;
    };
    Some(what.to_owned())
}

/// What is wrong with the metrics of this profile.
fn metric_fault(profile: &RubricProfile) -> Option<String> {
    let mut names = HashSet::from(["", "score", "micro", "macro_score"]);
    for metric in &profile.metrics {
        let name = metric.name.escape_debug();
        if !names.insert(&metric.name) || REPORT_METRICS.contains(&&*metric.name) {
            return Some(format!(
                "\"{name}\" cannot be the name of a metric: it is empty, reserved or used twice"
            ));
        }
        let rules = [
            !metric.also.is_empty(),
            metric.right,
            metric.length.is_some(),
            metric.pass.is_some(),
            metric.normalized,
        ];
        if rules.into_iter().filter(|rule| *rule).count() != 1 {
            return Some(format!(
                "the metric {name} needs exactly one of also, right, length, pass and normalized"
            ));
        }
        if !metric.tag.is_empty() && !rules[0] && !metric.right {
            return Some(format!(
                "the metric {name} has a tag, which only also and right can have: the others are made of the whole score"
            ));
        }
        let mut levels = profile.reply.levels.iter();
        if rules[0] && !levels.any(|level| level.also.contains_key(&metric.also)) {
            let also = metric.also.escape_debug();
            return Some(format!(
                "the metric {name} counts also.{also}, which no level has"
            ));
        }
        if metric.pass.is_some_and(|mark| !(0.0..=1.0).contains(&mark)) {
            return Some(format!(
                "pass of the metric {name} is a share of the score, 0.7 for 70%"
            ));
        }
        if metric
            .length
            .is_some_and(|length| length.per.is_nan() || length.per <= 0.0)
        {
            return Some(format!("length.per of the metric {name} must be above 0"));
        }
    }
    None
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
        let mut credits = level.also.values().chain([&level.credit]);
        if let Some(credit) = credits.find(|credit| !(0.0..=1.0).contains(*credit)) {
            return Some(format!(
                "the credit of level {} is {credit}, outside 0..1",
                level.level
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

    #[test]
    fn keys_that_contradict_each_other_are_refused() {
        let of = |top: &str, tables: &str| {
            let reply = if tables.contains("[reply]") {
                ""
            } else {
                "[reply]"
            };
            let text = format!(
                "name = \"n\"\nabout = \"a\"\n{top}\n{tables}\n{reply}\nlevels = [{{ level = \"yes\", credit = 1, \
                 also = {{ strict = 1 }}, means = \"\" }}, {{ level = \"no way\", credit = 0, means = \"\" }}]\n"
            );
            let read = parse(&text, Path::new("profile.toml"));
            read.err()
                .map_or_else(String::new, |error| error.to_string())
        };
        for (top, tables, expected) in [
            ("show = [\"\"]", "", "show has an empty name"),
            (
                "show = [\"a.x\", \"b.x\"]",
                "",
                "show has two fields called x",
            ),
            ("", "[case]\nid = \"a..b\"", "case.id: a..b is not a path"),
            ("", "[case]\nquestion = []", "case.question names no field"),
            (
                "",
                "[case]\nquestion = [\"q{n}\", \"r\"]",
                "are the turns of a talk",
            ),
            (
                "",
                "[case]\npooled = true\ngroup_weights = \"w\"",
                "exclude each other",
            ),
            ("", "[criterion]\nlevel_means = \"score\"", "needs {level}"),
            ("", "[criterion]\nweights = { a = inf }", "is not finite"),
            (
                "",
                "[reply]\nform = \"mark\"",
                "reply.marks are needed for form = \"mark\"",
            ),
            (
                "",
                "[reply]\nmarks = [\"[RESULT]\"]",
                "and for no other form",
            ),
            (
                "batch = 2",
                "[reply]\nform = \"mark\"\nmarks = [\"a\"]",
                "batch must be 1",
            ),
            ("", "[reply]\nform = \"first_word\"", "are single words"),
            ("", "[reply]\nby_text = true", "needs reply.list"),
            (
                "",
                "[reply]\nform = \"list\"\nlist = [\"a\", \"b\"]",
                "for the forms object and map",
            ),
            (
                "",
                "[[metrics]]\nname = \"score\"\nright = true",
                "reserved or used twice",
            ),
            ("", "[[metrics]]\nname = \"m\"", "exactly one of also"),
            (
                "",
                "[[metrics]]\nname = \"m\"\nright = true\npass = 0.5",
                "exactly one of also",
            ),
            (
                "",
                "[[metrics]]\nname = \"m\"\nalso = \"lax\"",
                "also.lax, which no level has",
            ),
            (
                "",
                "[[metrics]]\nname = \"m\"\nlength = { center = 1, per = 0, lose = 1 }",
                "must be above 0",
            ),
            ("", "[[metrics]]\nname = \"m\"\npass = 70", "0.7 for 70%"),
            (
                "",
                "[[metrics]]\nname = \"m\"\nnormalized = true\ntag = \"t\"",
                "only also and right can have",
            ),
            (
                "",
                "[[metrics]]\nname = \"micro\"\nright = true",
                "reserved",
            ),
            (
                "[case]\ngroup = \"g\"\nnest = { a = [\"b\"], c = [\"b\"] }",
                "",
                "each under one name",
            ),
            (
                "[case]\ngroup = \"g\"\nnest = { a = [\"b\"], b = [\"c\"] }",
                "",
                "each under one name",
            ),
            ("[case]\nnest = { a = [\"b\"] }", "", "names no field"),
            ("[criterion]\nonly = [\"a\"]", "", "names none"),
        ] {
            let error = of(top, tables);
            assert!(error.contains(expected), "{tables}: {error}");
        }
        let metrics =
            "[[metrics]]\nname = \"m\"\nalso = \"strict\"\n[[metrics]]\nname = \"r\"\nright = true";
        assert_eq!(of("show = [\"a.x\", \"question\"]", metrics), "");
        assert_eq!(
            of("", "[reply]\nform = \"mark\"\nmarks = [\"[RESULT]\"]"),
            ""
        );
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
            layout: Default::default(),
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
