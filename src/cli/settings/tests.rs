//! The merge, tested without a process: made-up flags, environment and file.

use std::path::PathBuf;

use clap::Parser;
use secrecy::ExposeSecret;
use serde_json::json;

use super::*;
use crate::cli::args::{Cli, Command};
use crate::cli::exit_code::ExitCode;

/// Settings of a command line, environment and config file (`dir/my.toml` under a temporary directory).
pub(super) fn load(flags: &str, env: &[(&str, &str)], file: &str) -> Result<Settings> {
    let dir = tempfile::tempdir().unwrap();
    let mut line: Vec<String> = ["scholareval", "score"].map(str::to_owned).into();
    line.extend(flags.split_whitespace().map(str::to_owned));
    if !file.is_empty() {
        let path = dir.path().join("my.toml");
        std::fs::write(&path, file).unwrap();
        line.extend(["--config".to_owned(), path.display().to_string()]);
    }
    let Command::Score(args) = Cli::try_parse_from(line).unwrap_or_else(|error| panic!("{error}")).command else {
        panic!("not score")
    };
    Settings::load(&args, &Environment::from_pairs(env.iter().copied()))
}

pub(super) fn line<'a>(settings: &'a Settings, key: &str) -> &'a SettingLine {
    settings.describe().iter().find(|line| line.key == key).unwrap_or_else(|| panic!("no {key}"))
}

/// Message and exit code of settings that are refused.
pub(super) fn refused(flags: &str, env: &[(&str, &str)], file: &str) -> (String, ExitCode) {
    let error = load(flags, env, file).expect_err("settings that are refused");
    (error.to_string(), ExitCode::from(&error))
}

#[test]
fn flags_beat_environment_beats_file_beats_default() {
    let file = "[limits]\nrpm = 30\ntpm = 300\nconcurrency = 3\n";
    let env = [("SCHOLAREVAL_RPM", "20"), ("SCHOLAREVAL_TPM", "200")];
    let settings = load("--rpm 10", &env, file).unwrap();
    let numbers = (settings.limits.rpm.unwrap().get(), settings.limits.tpm.unwrap().get());
    assert_eq!((numbers, settings.limits.concurrency.get()), ((10, 200), 3));
    assert_eq!(line(&settings, "limits.rpm").origin, Origin::Flag("--rpm"));
    assert_eq!(line(&settings, "limits.tpm").origin, Origin::Environment("SCHOLAREVAL_TPM"));
    assert!(line(&settings, "limits.concurrency").origin.to_string().ends_with("my.toml:4 (limits.concurrency)"));
    assert_eq!(line(&settings, "score.samples").origin, Origin::Default);
}

#[test]
fn every_documented_key_is_shown_once_with_an_llm_judge() {
    let settings = load("A --tests T --model m", &[], "").unwrap();
    for key in keys::ALL {
        let grouped = [keys::MAX_TOKENS.name, keys::HEADERS.name, keys::QUERY.name].contains(&key.name);
        let count = settings.describe().iter().filter(|line| line.key == key.name).count();
        assert_eq!(count, usize::from(!grouped), "{}", key.name);
    }
    assert_eq!(line(&settings, "judge.max_tokens.property").value, json!(100));
    assert_eq!(line(&settings, "judge.max_tokens.citations").value, json!("none"));
}

#[test]
fn the_documented_example_is_accepted_and_its_defaults_are_the_defaults() {
    let example = load("", &[("OPENAI_API_KEY", "k")], crate::cli::config_file::EXAMPLE).unwrap();
    let default = load("--model gpt-4o", &[("OPENAI_API_KEY", "k")], "").unwrap();
    assert_eq!((&example.judge.max_tokens, example.judge.retries), (&default.judge.max_tokens, default.judge.retries));
    for key in ["samples", "on_unscored", "max_unscored", "parse_retries", "seed", "rubrics", "snippets"] {
        let key = format!("score.{key}");
        assert_eq!(line(&example, &key).value, line(&default, &key).value, "{key}");
    }
    for key in ["judge.base_url", "judge.temperature", "judge.timeout", "judge.wait_server", "limits.concurrency"] {
        assert_eq!(line(&example, key).value, line(&default, key).value, "{key}");
    }
}

#[test]
fn paths_of_the_file_are_relative_to_the_file_and_those_of_flags_are_not() {
    let file = "[score]\nanswers = [\"a\", \"/b\"]\ntests = \"t.json\"\n[cache]\npath = \"c.sqlite\"\n[prompts]\ndir = \"p\"\n";
    let settings = load("--tests mine.json", &[], file).unwrap();
    let Origin::File { path, .. } = &line(&settings, "score.answers").origin else { panic!("not from the file") };
    let dir = path.parent().unwrap();
    assert_eq!(settings.score.answers, [dir.join("a"), PathBuf::from("/b")]);
    assert_eq!(settings.score.tests, Some(PathBuf::from("mine.json")));
    assert_eq!(settings.cache.path, Some(dir.join("c.sqlite")));
    assert_eq!(settings.score.prompts, Some(dir.join("p")));
}

#[test]
fn neither_model_nor_url_is_lexical_and_openai_base_url_alone_is_no_choice() {
    assert_eq!(load("", &[], "").unwrap().judge.kind, JudgeKind::Lexical);
    let settings = load("", &[("OPENAI_BASE_URL", "http://h/v1")], "").unwrap();
    assert_eq!(settings.judge.kind, JudgeKind::Lexical);
    assert!(settings.warnings[0].contains("OPENAI_BASE_URL alone chooses no judge"), "{:?}", settings.warnings);
    assert!(settings.describe().iter().all(|line| line.key != "judge.base_url"));
}

#[test]
fn a_model_alone_goes_to_openai_base_url_else_to_openai() {
    let settings = load("--model m", &[("OPENAI_API_KEY", "k")], "").unwrap();
    assert_eq!((settings.judge.kind, settings.judge.base_urls[0].as_str()), (JudgeKind::Chat, OPENAI_BASE_URL));
    assert!(settings.warnings.is_empty(), "{:?}", settings.warnings);
    let settings = load("--model m", &[("OPENAI_BASE_URL", "http://h/v1")], "").unwrap();
    assert_eq!(settings.judge.base_urls[0], "http://h/v1");
    let both = [("OPENAI_BASE_URL", "http://h/v1"), ("SCHOLAREVAL_BASE_URL", "http://ours/v1")];
    assert_eq!(load("--model m", &both, "").unwrap().judge.base_urls[0], "http://ours/v1");
}

#[test]
fn a_url_without_a_model_is_a_choice_wherever_it_comes_from() {
    let file = "[judge]\nbase_url = \"localhost:8000\"\n";
    for (flags, env, file) in [
        ("--base-url localhost:8000", None, ""),
        ("", Some(("SCHOLAREVAL_BASE_URL", "localhost:8000")), ""),
        ("", None, file),
        ("", Some(("OPENAI_BASE_URL", "http://h/v1")), file),
    ] {
        let env: Vec<_> = env.into_iter().collect();
        let settings = load(flags, &env, file).unwrap();
        assert_eq!((settings.judge.kind, settings.judge.model), (JudgeKind::Chat, None), "{flags} {env:?} {file}");
    }
}

#[test]
fn lexical_with_a_model_or_url_is_a_usage_error_naming_the_origin() {
    let file = "[judge]\nmodel = \"m\"\n";
    for (flags, env, file, named) in [
        ("--judge lexical --model m", &[][..], "", "flag --model"),
        ("--judge lexical --base-url h", &[], "", "flag --base-url"),
        ("--judge lexical", &[("SCHOLAREVAL_MODEL", "m")], "", "environment SCHOLAREVAL_MODEL"),
        ("--judge lexical", &[], file, "my.toml:2 (judge.model)"),
    ] {
        let (message, code) = refused(flags, env, file);
        assert!(message.contains("--judge lexical") && message.contains(named), "{message}");
        assert_eq!(code, ExitCode::Usage, "{message}");
    }
    let (message, code) = refused("", &[], "[judge]\nkind = \"lexical\"\nmodel = \"m\"\n");
    assert!(message.contains(":2: judge.kind: lexical takes no model"), "{message}");
    assert_eq!(code, ExitCode::BadInput);
}

#[test]
fn openai_base_url_does_not_contradict_lexical() {
    assert!(load("--judge lexical", &[("OPENAI_BASE_URL", "http://h/v1")], "").is_ok());
}

#[test]
fn llm_options_with_the_lexical_judge_are_told_to_be_in_vain() {
    let settings = load("--temperature 0.5 --header a:1 --header b:2", &[], "").unwrap();
    assert_eq!(settings.warnings.len(), 1);
    assert!(settings.warnings[0].contains("--temperature, --header;"), "{:?}", settings.warnings);
}

#[test]
fn samples_at_temperature_zero_are_warned_about() {
    let warnings = |flags: &str| load(flags, &[], "").unwrap().warnings;
    let base = "--base-url localhost:1";
    assert!(warnings(&format!("{base} --samples 3"))[0].starts_with("3 samples at temperature 0 repeat"));
    assert!(warnings(&format!("{base} --samples 3 --temperature 0.7")).is_empty());
    assert!(warnings(&format!("{base} --samples 3 --no-temperature")).is_empty());
}

#[test]
fn rubrics_and_snippets_each_restrict_and_flags_replace_the_files_choice() {
    let parts = |flags: &str, file: &str| {
        let parts = load(flags, &[], file).unwrap().score.parts;
        (parts.rubrics, parts.snippets)
    };
    let file = "[score]\nrubrics = true\n";
    assert_eq!(parts("", ""), (true, true));
    assert_eq!(parts("--rubrics", ""), (true, false));
    assert_eq!(parts("--rubrics --snippets", ""), (true, true));
    assert_eq!(parts("", file), (true, false));
    assert_eq!(parts("--snippets", file), (false, true));
    let (message, _) = refused("", &[], "[score]\nrubrics = false\nsnippets = false\n");
    assert!(message.contains("set one of them to true"), "{message}");
}

#[test]
fn the_cache_follows_the_strongest_word_about_it() {
    let off = "[cache]\nenabled = false\n";
    let path = |flags: &str, env: &[(&str, &str)], file: &str| load(flags, env, file).unwrap().cache.path;
    assert_eq!(path("", &[], ""), Some(PathBuf::from(DEFAULT_CACHE)));
    assert_eq!(path("--no-cache", &[("SCHOLAREVAL_CACHE", "e")], ""), None);
    assert_eq!(path("", &[], off), None);
    assert_eq!(path("--cache f", &[], off), Some(PathBuf::from("f")));
    assert_eq!(path("", &[("SCHOLAREVAL_CACHE", "e")], off), Some(PathBuf::from("e")));
}

#[test]
fn reply_limits_are_merged_kind_by_kind() {
    let file = "[judge]\nbase_url = \"h\"\nmax_tokens = { property = 50, citations = 9000 }\n";
    let settings = load("--max-tokens citations=16000,evidence=none", &[], file).unwrap();
    use crate::domain::CallKind::{Citations, Expertise, Property};
    // expertise: default 100; property: file 50; evidence: flag none; citations: flag 16000; aspect and attribution:
    // none of ours, so that those of the prompts count
    assert_eq!(settings.judge.max_tokens, [(Expertise, 100), (Property, 50), (Citations, 16_000)].into());
    assert_eq!(line(&settings, "judge.max_tokens.citations").origin, Origin::Flag("--max-tokens"));
}

#[test]
fn a_header_flag_replaces_the_files_header_of_that_name() {
    let file = "[judge]\nbase_url = \"h\"\nheaders = { x-team = \"a\", X-Other = \"b\" }\n";
    let settings = load("--header X-Team:c", &[], file).unwrap();
    assert_eq!(settings.judge.headers, [("X-Other".to_owned(), "b".to_owned()), ("X-Team".to_owned(), "c".to_owned())]);
}

#[test]
fn no_secret_is_shown_anywhere() {
    let file = "[judge]\nheaders = { Authorization = \"Bearer hunter2\" }\nquery = { sig = \"hunter2\" }\n\
                extra_body = { nested = { api_key = \"hunter2\" } }\n";
    let flags = "--model m --base-url https://me:hunter2@h/v1?api-key=hunter2 --header api-key:hunter2";
    let settings = load(flags, &[("OPENAI_API_KEY", "hunter2")], file).unwrap();
    assert_eq!(settings.judge.api_key.as_ref().unwrap().expose_secret(), "hunter2");
    assert_eq!(settings.judge.headers[0].1, "Bearer hunter2");
    let shown: String = settings.describe().iter().map(|line| format!("{} {}\n", line.key, line.shown())).collect();
    for text in [shown, format!("{settings:?}"), format!("{:?}", settings.run_fingerprint_inputs())] {
        assert!(!text.contains("hunter2"), "{text}");
    }
    assert_eq!(line(&settings, "judge.base_url").shown(), "https://***@h/v1?api-key=***");
}

#[test]
fn bad_values_name_option_and_example_and_never_a_secret() {
    let chat = "--base-url localhost:1";
    for (flags, expected) in [
        ("--header hunter2", "--header: there is no ':' in it; write it as \"X-Team: biology\""),
        ("--header Content-Length:hunter2", "--header: the header Content-Length belongs to the transport"),
        ("--query hunter2", "--query: there is no '=' in it; write it as api-version="),
        ("--max-tokens propety=5", "--max-tokens: \"propety\" is no kind of question; known are expertise, property"),
        ("--max-tokens property=0", "--max-tokens: the limit \"0\" of property"),
        ("--extra-body [1]", "--extra-body: expected an object, found an array; write a JSON object"),
        ("--extra-body {\"hunter2", "--extra-body: not JSON (line 1, column"),
        ("--extra-body {\"model\":1}", "--extra-body: the field model is set by the program itself; use --model"),
        ("--max-tokens-field a.b", "--max-tokens-field: \"a.b\" is no field's name"),
        ("--timeout 0s", "--timeout: 0s leaves no time"),
        ("--api-key-env sk-hunter2", "--api-key-env: it takes the name of an environment variable"),
        ("--api-key-env gsk_hunter2", "--api-key-env: it takes the name of an environment variable"),
        ("--api-key-env MY_KEY", "--api-key-env: environment variable MY_KEY is not set; export MY_KEY="),
        ("--judge gpt", "--judge: \"gpt\" is no kind of judge; write lexical, chat, completions or label"),
        ("--top-p 0.5 --extra-body {\"top_p\":1}", "--extra-body: the field top_p is set by --top-p already"),
        ("--logprobs 5 --extra-body {\"top_logprobs\":1}", "--extra-body: the field top_logprobs is set by --logprobs"),
    ] {
        let (message, code) = refused(&format!("{chat} {flags}"), &[], "");
        assert!(message.contains(expected) && !message.contains("hunter2"), "{flags}: {message}");
        assert_eq!(code, ExitCode::Usage, "{flags}");
    }
    let (message, _) = refused("--base-url http:/h/v1", &[], "");
    assert!(message.contains("is no http address"), "{message}");
    let (message, _) = refused("--base-url ftp://me:hunter2@h", &[], "");
    assert!(message.contains("--base-url: \"ftp://***@h\" is no http address; write one such as"), "{message}");
}

#[test]
fn bad_values_of_environment_and_file_are_settings_errors_with_their_place() {
    let (message, code) = refused("", &[("SCHOLAREVAL_CONCURRENCY", "0")], "");
    assert!(message.contains("SCHOLAREVAL_CONCURRENCY (0): not a whole number of at least 1, such as 32"), "{message}");
    assert_eq!(code, ExitCode::BadInput);
    for (file, expected) in [
        (
            "[limits]\n\nrpm = 0\n",
            "my.toml:3: limits.rpm: expected a whole number of at least 1, such as 500, found the number 0",
        ),
        ("[score]\nmax_unscored = 2\n", "my.toml:2: score.max_unscored: 2 is not a share between 0 and 1"),
        (
            "[judge]\nbase_url = \"h\"\ntimeout = 90\n",
            "my.toml:3: judge.timeout: expected a string, found the number 90",
        ),
        ("[judge]\nbase_url = \"h\"\ntimeout = \"90\"\n", "my.toml:3: judge.timeout: \"90\" is not a duration"),
        ("[score]\non_unscored = \"skip\"\n", "my.toml:2: score.on_unscored: \"skip\" is not one of exclude, zero"),
        ("[judge]\nbase_url = \"h\"\nheaders = { a = [1] }\n", "my.toml:3: judge.headers: a: expected a string"),
    ] {
        let (message, code) = refused("", &[], file);
        assert!(message.contains(expected), "{message}");
        assert_eq!(code, ExitCode::BadInput, "{message}");
    }
}

#[test]
fn a_key_with_a_line_break_is_refused_without_being_shown() {
    let (message, code) = refused("--model m", &[("OPENAI_API_KEY", "hunter2\nX: y")], "");
    assert!(message.contains("OPENAI_API_KEY") && !message.contains("hunter2"), "{message}");
    assert_eq!(code, ExitCode::BadInput);
    let settings = load("--model m", &[("OPENAI_API_KEY", "hunter2\n")], "").unwrap();
    assert_eq!(settings.judge.api_key.unwrap().expose_secret(), "hunter2");
}

#[test]
fn missing_inputs_are_usage_errors_only_where_they_are_needed() {
    let settings = load("", &[], "").unwrap();
    assert!(settings.inputs().unwrap_err().to_string().starts_with("no answers given"));
    let settings = load("A --scorers overlap,rubric", &[], "").unwrap();
    assert!(settings.inputs().unwrap_err().to_string().contains("add --tests FILE"));
    for without_rubric in ["A", "A --scorers overlap"] {
        assert_eq!(load(without_rubric, &[], "").unwrap().inputs().unwrap().tests, None, "{without_rubric}");
    }
    let settings = load("--qa-dir A --test-config T", &[], "").unwrap();
    assert_eq!(settings.inputs().unwrap().tests, Some(Path::new("T")));
    assert_eq!(line(&settings, "score.answers").origin, Origin::Flag("--qa-dir"));
}

#[test]
fn the_fingerprint_sees_what_changes_scores_and_nothing_else() {
    let inputs = |flags: &str| load(flags, &[], "").unwrap().run_fingerprint_inputs();
    let base = "A --tests T --model m";
    for same in [
        "--concurrency 5 --rpm 3 --tpm 4 --retries 1 --timeout 5s --wait-server 1m",
        "--no-cache",
        "--retry-unscored --quiet --format json --out O --overwrite --no-inputs --run-label L --strict --dry-run",
        "--on-unscored zero --max-unscored 1 --seed 7",
        "--base-url http://other --header k:v --query k=v --max-tokens-field f",
    ] {
        assert_eq!(inputs(base), inputs(&format!("{base} {same}")), "{same}");
    }
    for other in [
        "--samples 2 --temperature 1",
        "--compat",
        "--agreement",
        "--rubrics",
        "--systems a",
        "--cases a",
        "--limit 3",
        "--parse-retries 0",
        "--cache-id x",
        "--judge-seed 1",
        "--no-temperature",
        "--no-json-mode",
        "--max-tokens property=7",
        "--extra-body {\"top_k\":1}",
        "--top-p 0.9",
        "--logprobs 5",
        "--judge completions",
        "--judge completions --conversation mistral",
        "--samples 2 --temperature 1 --merge median",
        "--scorers rubric,overlap",
        "--index-base 1",
        "--truncate",
        "--top-n 3",
        "--instruction Answer.",
        "--entail short",
    ] {
        assert_ne!(inputs(base), inputs(&format!("{base} {other}")), "{other}");
    }
    assert_eq!(inputs("--systems b,a.jsonl"), inputs("--systems a,b"));
}
