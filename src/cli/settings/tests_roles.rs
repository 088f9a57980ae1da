//! Judges, roles and scorers, tested without a process.

use secrecy::ExposeSecret;
use serde_json::json;

use super::tests::{line, load, refused};
use super::*;
use crate::cli::exit_code::ExitCode;
use crate::domain::CallKind;

const PROMETHEUS: &str = "[judges.prometheus]\nkind = \"completions\"\nbase_url = \"localhost:8001\"\n";
const ATTRSCORE: &str = "[judges.attrscore]\nkind = \"label\"\nbase_url = \"localhost:8002\"\n";

fn aspect(name: &str) -> Role {
    Role::Aspect(name.into())
}

fn judges(settings: &Settings, role: &Role) -> Vec<String> {
    settings.role(role).map(|role| role.judges).unwrap_or_default()
}

#[test]
fn a_further_judge_has_every_key_and_its_own_defaults() {
    let file = "[judge]\nmodel = \"big\"\ntemperature = 0.3\n[judges.other]\nbase_url = \"localhost:1\"\nrpm = 5\n\
                concurrency = 2\nmax_tokens = { aspect = 300 }\nheaders = { X-Team = \"a\" }\ntop_p = 0.95\n\
                [roles]\naspect = \"other\"\n";
    let env = [("SCHOLAREVAL_MODEL", "env"), ("SCHOLAREVAL_RPM", "9"), ("OPENAI_API_KEY", "k")];
    let settings = load("--temperature 0.5 --retries 1 --logprobs 3", &env, file).unwrap();
    let other = settings.judge_named("other").unwrap();
    // nothing of [judge], of flags or of variables, but the key
    assert_eq!((other.judge.kind, other.judge.model.as_deref()), (JudgeKind::Chat, None));
    assert_eq!((other.judge.temperature, other.judge.retries, other.judge.logprobs), (Some(0.0), 8, None));
    assert_eq!((other.limits.rpm.map(NonZeroU32::get), other.limits.concurrency.get()), (Some(5), 2));
    assert_eq!((other.judge.top_p, other.judge.max_tokens.get(&CallKind::Aspect)), (Some(0.95), Some(&300)));
    assert_eq!(other.judge.api_key.as_ref().map(|key| key.expose_secret()), Some("k"));
    let main = settings.judge_named("judge").unwrap();
    assert_eq!(
        (main.judge.model.as_deref(), main.judge.temperature, main.judge.logprobs),
        (Some("env"), Some(0.5), Some(3))
    );
    assert!(settings.judge_named("nobody").is_none());
    let shown = line(&settings, "judges.other.rpm");
    assert!(shown.origin.to_string().ends_with("my.toml:6 (judges.other.rpm)"), "{}", shown.origin);
    assert_eq!(line(&settings, "judges.other.max_tokens.aspect").value, json!(300));
}

#[test]
fn draws_are_those_of_the_run_unless_the_judge_says_otherwise() {
    let file = format!(
        "{PROMETHEUS}samples = 5\nmerge = \"median\"\ntemperature = 1\n{ATTRSCORE}[roles]\naspect = \"prometheus\"\n"
    );
    let settings = load("--samples 3 --merge most-common --temperature 1 --model m", &[], &file).unwrap();
    let draws = ["prometheus", "attrscore", "judge"].map(|name| {
        let judge = settings.judge_named(name).unwrap();
        (judge.samples, judge.merge)
    });
    assert_eq!(draws, [(5, MergeRule::Median), (3, MergeRule::MostCommon), (3, MergeRule::MostCommon)]);
    assert_eq!(line(&settings, "judges.attrscore.samples").origin, Origin::Flag("--samples"));
    assert!(line(&settings, "judges.prometheus.merge").origin.to_string().contains("(judges.prometheus.merge)"));
}

#[test]
fn defaults_follow_the_kind_of_judge() {
    let kind = |flags: &str| load(&format!("--base-url localhost:1 {flags}"), &[], "").unwrap().judge;
    let label = kind("--judge label");
    assert_eq!((label.json_mode, label.temperature), (false, Some(0.0)));
    assert_eq!(label.max_tokens.get(&CallKind::Attribution), Some(&10));
    assert!(label.max_tokens_given.contains(&CallKind::Attribution));
    assert_eq!(kind("--judge label --max-tokens attribution=4").max_tokens.get(&CallKind::Attribution), Some(&4));
    let completions = kind("--judge completions --conversation llama-2");
    assert_eq!((completions.json_mode, completions.conversation), (false, Conversation::Llama2));
    // the prompts' own limits count for grades with feedback
    assert_eq!(completions.max_tokens.get(&CallKind::Aspect), None);
    assert!(!completions.max_tokens_given.contains(&CallKind::Aspect));
    assert!(kind("").json_mode && kind("--judge chat").kind == JudgeKind::Chat);
}

#[test]
fn a_kind_other_than_lexical_needs_a_server() {
    for (flags, env) in [("--judge chat", None), ("--judge completions", None), ("--judge label", None)] {
        let (message, code) = refused(flags, env.as_slice(), "");
        assert!(message.contains("needs a server: give --model or --base-url"), "{message}");
        assert_eq!(code, ExitCode::Usage);
    }
    assert!(load("--judge completions", &[("OPENAI_BASE_URL", "http://h/v1")], "").is_ok());
}

#[test]
fn roles_fall_back_from_the_aspect_to_all_aspects_to_the_judge() {
    let file = format!(
        "{PROMETHEUS}{ATTRSCORE}[judges.third]\nmodel = \"m\"\nbase_url = \"h\"\n[roles]\naspect = \"prometheus\"\n\
         \"aspect.relevance\" = [\"third\", \"prometheus\"]\ncitation = \"attrscore\"\nmerge = \"median\"\n"
    );
    let settings = load("", &[], &file).unwrap();
    assert_eq!(judges(&settings, &aspect("coverage")), ["prometheus"]);
    let panel = RoleSettings { judges: vec!["third".into(), "prometheus".into()], merge: MergeRule::Median };
    assert_eq!(settings.role(&aspect("relevance")), Some(panel));
    assert_eq!(judges(&settings, &Role::Citation), ["attrscore"]);
    assert_eq!(judges(&settings, &Role::Rubric), ["judge"]);
    assert_eq!(line(&settings, "roles.aspect.relevance").value, json!(["third", "prometheus"]));
    assert_eq!(line(&settings, "roles.merge").value, json!("median"));
    assert!(settings.warnings.is_empty(), "{:?}", settings.warnings);
}

#[test]
fn without_roles_the_judge_grades_only_what_was_asked_for_by_name_and_the_baseline_never() {
    let has = |flags: &str| {
        let settings = load(flags, &[("OPENAI_API_KEY", "k")], "").unwrap();
        (settings.has_role(&Role::Rubric), settings.has_role(&aspect("coverage")), settings.has_role(&Role::Citation))
    };
    assert_eq!(has(""), (true, false, false));
    assert_eq!(has("--model m"), (true, false, false));
    assert_eq!(has("--model m --scorers prometheus"), (true, true, false));
    assert_eq!(has("--model m --scorers rubric,entailment"), (true, false, true));
    assert_eq!(has("--scorers prometheus,entailment"), (true, false, false));
    assert_eq!(has("--model m --judge label --scorers prometheus,entailment"), (false, false, true));
    let warnings = load("--scorers prometheus,entailment", &[], "").unwrap().warnings;
    assert!(warnings[0].starts_with("no judge has the role aspect, so prometheus stays blank"), "{warnings:?}");
    assert!(warnings[1].starts_with("no judge has the role citation, so entailment stays blank"), "{warnings:?}");
}

#[test]
fn roles_that_cannot_be_given_are_refused_with_their_line_and_what_to_write() {
    let lexical = "[judges.words]\nkind = \"lexical\"\n";
    for (file, expected) in [
        (
            format!("{PROMETHEUS}[roles]\naspect = \"promethus\"\n"),
            ":5: roles.aspect: there is no judge \"promethus\"; did you mean prometheus?",
        ),
        (
            format!("{PROMETHEUS}[roles]\nrubric = \"gpt\"\n"),
            "known are prometheus, judge (others are defined by [judges.NAME])",
        ),
        (format!("{PROMETHEUS}[roles]\nrubric = 3\n"), ":5: roles.rubric: expected the name of a judge"),
        (format!("{PROMETHEUS}[roles]\nrubric = [\"judge\", \"judge\"]\n"), "judge stands twice in this panel"),
        (
            format!("{PROMETHEUS}[roles]\nmerge = \"sum\"\n"),
            ":5: roles.merge: \"sum\" is not one of mean, median, most-common",
        ),
        (
            format!("{lexical}[roles]\n\"aspect.coverage\" = \"words\"\n"),
            ":4: roles.aspect.coverage: words is a lexical judge, which can judge the rubric only",
        ),
        ("[roles]\ncitation = \"judge\"\n".to_owned(), ":2: roles.citation: judge is a lexical judge"),
        (
            format!("{ATTRSCORE}[roles]\naspect = \"attrscore\"\n"),
            ":5: roles.aspect: attrscore is a label judge, which can judge citations only",
        ),
        ("[judges.x]\ntemperature = 1\n".to_owned(), ":1: judges.x: neither model nor base_url"),
        ("[judges.x]\nmodel = \"m\"\nrpm = 0\n".to_owned(), ":3: judges.x.rpm: expected a whole number of at least 1"),
        (
            "[judges.x]\nkind = \"label\"\n".to_owned(),
            ":2: judges.x.kind: a judge of kind label needs a server: give model or base_url",
        ),
        ("[judges.x]\nkind = \"gpt\"\n".to_owned(), ":2: judges.x.kind: \"gpt\" is no kind of judge"),
        ("[judges.x]\nkind = \"lexical\"\nmodel = \"m\"\n".to_owned(), ":2: judges.x.kind: lexical takes no model"),
        (
            "[judges.x]\nmodel = \"m\"\nlogprobs = 21\n".to_owned(),
            ":3: judges.x.logprobs: expected a whole number from 1 to 20",
        ),
    ] {
        let (message, code) = refused("", &[], &file);
        assert!(message.contains(expected), "{expected} is not in: {message}");
        assert_eq!(code, ExitCode::BadInput, "{message}");
    }
}

#[test]
fn a_missing_key_matters_only_for_judges_that_are_asked() {
    let file = "[judges.x]\nmodel = \"m\"\napi_key_env = \"X_KEY\"\n[roles]\naspect = \"x\"\n";
    let (message, _) = refused("", &[], file);
    assert!(message.contains(":3: judges.x.api_key_env: environment variable X_KEY is not set"), "{message}");
    assert!(load("--scorers rubric", &[], file).is_ok());
    let settings = load("", &[("X_KEY", "hunter2")], file).unwrap();
    assert_eq!(line(&settings, "judges.x.api_key").shown(), "set, not shown");
}

#[test]
fn what_has_no_effect_is_told_judge_by_judge() {
    let warnings = |flags: &str, file: &str| load(flags, &[], file).unwrap().warnings;
    let unused = warnings("", PROMETHEUS);
    assert_eq!(unused, ["[judges.prometheus] has no role and is not asked; name it under [roles], or drop it"]);
    let draws = format!("{PROMETHEUS}samples = 3\n[roles]\naspect = \"prometheus\"\n");
    assert_eq!(
        warnings("", &draws),
        [
            "[judges.prometheus]: 3 samples at temperature 0 repeat one reply; set temperature = 0.7 or so with an LLM, or samples = 1"
        ]
    );
    assert!(warnings("--scorers rubric", &draws).is_empty());
    let baseline = "[judges.words]\nkind = \"lexical\"\ntop_p = 0.5\n[roles]\nrubric = \"words\"\n";
    assert!(
        warnings("", baseline)[0]
            .starts_with("[judges.words]: no effect with the lexical judge, which asks no server: top_p; give model")
    );
    assert!(
        warnings("--logprobs 5", "")[0].contains("no effect with the lexical judge, which asks no server: --logprobs;")
    );
    assert!(warnings("--base-url h --conversation mistral", "")[0].contains("--conversation mistral has no effect"));
    // [judge] is not asked here, so its draws are nobody's business
    let elsewhere = format!("{PROMETHEUS}temperature = 1\n[roles]\nrubric = \"prometheus\"\n");
    assert!(warnings("--samples 2", &elsewhere).is_empty(), "{:?}", warnings("--samples 2", &elsewhere));
}

#[test]
fn scorer_settings_come_from_flags_and_file() {
    let file = "[score]\nscorers = [\"prometheus\", \"overlap\"]\nreferences = \"r.json\"\nindex_base = 1\n\
                [aspects]\nnames = [\"coverage\"]\ninstruction = \"Answer.\"\ntop_n = 0\nno_reference = true\n\
                [citations]\nentail = \"short\"\nat_most = 2\n[overlap]\nmax_words = 100\n";
    let settings = load("--scorers entailment --top-n 5 --references mine.json", &[], file).unwrap().scorers;
    let expected = ScorerSettings {
        names: Some(vec![ScorerName::Entailment]),
        references: Some("mine.json".into()),
        no_reference: true,
        aspects: Some(vec!["coverage".to_owned()]),
        instruction: "Answer.".to_owned(),
        top_n: 5,
        index_base: 1,
        entail: EntailForm::Short,
        at_most: 2,
        max_words: Some(100),
        ..ScorerSettings::default()
    };
    assert_eq!(settings, expected);
    assert_eq!(load("", &[], "").unwrap().scorers, ScorerSettings::default());
    let settings = load("", &[], "[aspects]\nrubrics = \"v8.json\"\n").unwrap().scorers;
    assert!(settings.aspect_rubrics.is_some_and(|path| path.is_absolute() && path.ends_with("v8.json")));
    let (message, _) = refused("", &[], "[score]\nscorers = [\"promethius\"]\n");
    assert!(message.contains("my.toml:2: score.scorers: \"promethius\" is no scorer"), "{message}");
}

/// The keys of directories that are there already: they must be found again.
#[test]
fn a_run_of_the_rubric_by_one_judge_keeps_its_keys() {
    let score = ["agreement", "cases", "compat", "limit", "parse_retries", "rubrics", "samples", "snippets", "systems"];
    let judge = ["cache_id", "extra_body", "json_mode", "kind", "max_tokens", "model", "seed", "temperature"];
    let judge = judge.map(|key| format!("judge.{key}"));
    let score = score.map(|key| format!("score.{key}"));
    let inputs = |flags: &str, file: &str| load(flags, &[], file).unwrap().run_fingerprint_inputs();
    let chat = inputs("--model m", "");
    assert!(chat.keys().eq(judge.iter().chain(&score)), "{chat:?}");
    assert_eq!(chat["judge.max_tokens"], json!({"expertise": 100, "property": 100, "evidence": 100}));
    assert!(inputs("", "").keys().eq([&judge[3]].into_iter().chain(&score)));
    for same in [
        "--scorers rubric",
        "--scorers rubric --top-n 3 --entail short --max-words 9",
        "--merge median",
        "--references r",
    ] {
        assert_eq!(inputs(&format!("--model m {same}"), ""), chat, "{same}");
    }
    let roles = format!("{PROMETHEUS}[roles]\nrubric = \"judge\"\naspect = \"prometheus\"\n");
    assert_eq!(inputs("--model m --scorers rubric", &roles), chat);
}

#[test]
fn the_fingerprint_sees_the_judges_that_are_asked_and_their_roles() {
    let inputs = |flags: &str, file: &str| load(flags, &[], file).unwrap().run_fingerprint_inputs();
    let roles = |judge: &str, roles: &str| format!("{PROMETHEUS}{judge}{ATTRSCORE}[roles]\n{roles}\n");
    let base = inputs("", &roles("", "aspect = \"prometheus\"\ncitation = \"attrscore\""));
    assert_eq!(base["roles.aspect"], json!(["prometheus"]));
    assert_eq!(base["judges.prometheus"]["kind"], "completions");
    assert!(base.contains_key("judges.attrscore") && base.contains_key("judge.kind"));
    for same in ["retries = 1\n", "rpm = 1\nheaders = { Authorization = \"hunter2\" }\n"] {
        assert_eq!(inputs("", &roles(same, "aspect = \"prometheus\"\ncitation = \"attrscore\"")), base, "{same}");
    }
    for other in
        ["temperature = 1\n", "conversation = \"mistral\"\n", "samples = 2\n", "top_p = 0.9\n", "logprobs = 5\n"]
    {
        assert_ne!(inputs("", &roles(other, "aspect = \"prometheus\"\ncitation = \"attrscore\"")), base, "{other}");
    }
    assert_ne!(inputs("", &roles("", "\"aspect.coverage\" = \"prometheus\"\ncitation = \"attrscore\"")), base);
    let panel = inputs("", &roles("", "rubric = [\"judge\", \"prometheus\"]\nmerge = \"median\""));
    assert_eq!(panel["roles.rubric"], json!({"judges": ["judge", "prometheus"], "merge": "median"}));
    let elsewhere = inputs("--model m", &roles("", "rubric = \"prometheus\""));
    assert!(!elsewhere.keys().any(|key| key.starts_with("judge.")), "{elsewhere:?}");
    let asked = inputs("--model m --scorers prometheus", "");
    assert_eq!((&asked["aspects.top_n"], &asked["score.scorers"]), (&json!(10), &json!(["prometheus"])));
}

#[test]
fn no_secret_of_a_further_judge_is_shown() {
    let file = "[judges.x]\nbase_url = \"https://me:hunter2@h/v1?api-key=hunter2\"\napi_key_env = \"X_KEY\"\n\
                headers = { Authorization = \"Bearer hunter2\" }\nquery = { sig = \"hunter2\" }\n\
                extra_body = { nested = { api_key = \"hunter2\" } }\n[roles]\nrubric = \"x\"\n";
    let settings = load("", &[("X_KEY", "hunter2")], file).unwrap();
    assert_eq!(settings.judge_named("x").unwrap().judge.headers[0].1, "Bearer hunter2");
    let shown: String = settings.describe().iter().map(|line| format!("{} {}\n", line.key, line.shown())).collect();
    for text in [shown, format!("{settings:?}"), format!("{:?}", settings.run_fingerprint_inputs())] {
        assert!(!text.contains("hunter2"), "{text}");
    }
    assert_eq!(line(&settings, "judges.x.base_url").shown(), "https://***@h/v1?api-key=***");
    assert_eq!(line(&settings, "judges.x.headers.Authorization").shown(), "***");
}
