//! The command line as a user meets it: settings and their origins, secrets, messages, exit codes, help.

use std::io::Read;
use std::path::Path;
use std::process::{Output, Stdio};

use assert_cmd::Command;
use serde_json::Value;

/// The program in an empty directory with an empty environment, so that nothing of the machine leaks in.
fn scholareval(dir: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_scholareval"));
    command.env_clear().current_dir(dir).args(arguments);
    command
}

fn run(arguments: &[&str], env: &[(&str, &str)], config: &str) -> Output {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("my.toml"), config).unwrap();
    scholareval(dir.path(), arguments)
        .envs(env.iter().copied())
        .output()
        .unwrap()
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// `config --format json` as (value, origin) of one key.
fn shown(output: &Output, key: &str) -> (Value, String) {
    assert_eq!(output.status.code(), Some(0), "{}", stderr(output));
    let rows: Vec<Value> = serde_json::from_str(&stdout(output)).unwrap();
    let row = rows
        .iter()
        .find(|row| row["key"] == key)
        .unwrap_or_else(|| panic!("no {key}"));
    (
        row["value"].clone(),
        row["origin"].as_str().unwrap().to_owned(),
    )
}

/// A limit that is NaN is above and below nothing: it would be no limit.
#[test]
fn numbers_that_limit_nothing_are_refused_wherever_they_are_written() {
    for number in ["nan", "inf", "-1", "1e999"] {
        for option in [
            "--budget-usd",
            "--temperature",
            "--top-p",
            "--max-unscored",
            "--budget-tokens",
            "--rpm",
            "--time-limit",
        ] {
            let argument = format!("{option}={number}");
            let output = run(&["config", "--model", "m", &argument], &[], "");
            assert_eq!(output.status.code(), Some(2), "{argument}");
            assert!(stderr(&output).contains(option), "{}", stderr(&output));
        }
        let price = format!("--price=1,{number}");
        let output = run(&["config", "--model", "m", &price], &[], "");
        assert_eq!(output.status.code(), Some(2), "{price}");
    }
    let mut lines = vec![
        "[budget]\nbudget_tokens = 99999999999999999999".to_owned(),
        "[limits]\nrpm = 99999999999999999999".to_owned(),
    ];
    for number in ["nan", "inf", "-inf", "-1.0"] {
        for line in [
            "[judge]\ntemperature",
            "[judge]\ntop_p",
            "[budget]\nbudget_usd",
            "[budget]\nbudget_tokens",
            "[limits]\ntimeout",
            "[score]\nmax_unscored",
        ] {
            lines.push(format!("{line} = {number}"));
        }
    }
    for config in lines {
        let output = run(&["config", "--config", "my.toml"], &[], &config);
        assert_eq!(output.status.code(), Some(3), "{config}");
        assert!(
            stderr(&output).contains("my.toml:2: "),
            "{}",
            stderr(&output)
        );
    }
}

#[test]
fn settings_show_their_origin_in_order_of_precedence() {
    let config = "[judge]\nmodel = \"from-file\"\n[limits]\nrpm = 30\ntpm = 300\nconcurrency = 3\n";
    let arguments = [
        "config", "--config", "my.toml", "--format", "json", "--rpm", "10",
    ];
    let output = run(
        &arguments,
        &[("SCHOLAREVAL_RPM", "20"), ("SCHOLAREVAL_TPM", "200")],
        config,
    );
    assert_eq!(
        shown(&output, "limits.rpm"),
        (10.into(), "flag --rpm".to_owned())
    );
    assert_eq!(
        shown(&output, "limits.tpm"),
        (200.into(), "environment SCHOLAREVAL_TPM".to_owned())
    );
    assert_eq!(
        shown(&output, "limits.concurrency"),
        (3.into(), "file my.toml:6 (limits.concurrency)".to_owned())
    );
    assert_eq!(
        shown(&output, "judge.model"),
        (
            "from-file".into(),
            "file my.toml:2 (judge.model)".to_owned()
        )
    );
    assert_eq!(
        shown(&output, "limits.retries"),
        (8.into(), "default".to_owned())
    );
}

#[test]
fn the_environment_can_name_the_config_file() {
    let output = run(
        &["config", "--format", "json"],
        &[("SCHOLAREVAL_CONFIG", "my.toml")],
        "[score]\nsamples = 3\ntests = \"t.json\"\n",
    );
    assert_eq!(shown(&output, "score.samples").0, 3);
    assert_eq!(shown(&output, "score.tests").0, "t.json");
}

#[test]
fn secrets_are_masked_in_every_form_of_config() {
    let config = "[judge]\nheaders = { Authorization = \"Bearer hunter2\" }\n";
    for format in ["table", "json", "csv"] {
        let arguments = [
            "config",
            "--config",
            "my.toml",
            "--format",
            format,
            "--model",
            "m",
            "--header",
            "api-key: hunter2",
            "--base-url",
            "https://me:hunter2@host/v1?token=hunter2",
            "--extra-body",
            r#"{"api_key": "hunter2"}"#,
        ];
        let output = run(&arguments, &[("OPENAI_API_KEY", "hunter2")], config);
        let text = stdout(&output) + &stderr(&output);
        assert_eq!(output.status.code(), Some(0), "{text}");
        assert!(
            !text.contains("hunter2") && text.contains("https://***@host/v1?token=***"),
            "{text}"
        );
        assert!(
            text.contains("judge.headers.api-key") && text.contains("set, not shown"),
            "{text}"
        );
    }
}

#[test]
fn config_shows_further_judges_and_roles_each_with_its_place() {
    let config = "[judges.prometheus]\nkind = \"completions\"\nbase_url = \"localhost:8001\"\ntop_p = 0.95\n\
                  [roles]\naspect.coverage = [\"judge\", \"prometheus\"]\nmerge = \"median\"\n";
    let arguments = [
        "config",
        "--config",
        "my.toml",
        "--format",
        "json",
        "--base-url",
        "localhost:1",
        "--samples",
        "2",
    ];
    let output = run(
        &arguments,
        &[("SCHOLAREVAL_MODEL", "big"), ("SCHOLAREVAL_RPM", "5")],
        config,
    );
    let file = |line: usize, key: &str| format!("file my.toml:{line} ({key})");
    let kind = ("completions".into(), file(2, "judges.prometheus.kind"));
    assert_eq!(shown(&output, "judges.prometheus.kind"), kind);
    assert_eq!(shown(&output, "judges.prometheus.top_p").0, 0.95);
    // variables and flags mean the judge of [judge]
    assert_eq!(
        shown(&output, "judges.prometheus.model"),
        (Value::Null, "default".to_owned())
    );
    assert_eq!(shown(&output, "judges.prometheus.rpm").0, Value::Null);
    assert_eq!(shown(&output, "judge.model").0, "big");
    assert_eq!(
        shown(&output, "judges.prometheus.samples"),
        (2.into(), "flag --samples".to_owned())
    );
    let panel = serde_json::json!(["judge", "prometheus"]);
    assert_eq!(
        shown(&output, "roles.aspect.coverage"),
        (panel, file(6, "roles.aspect.coverage"))
    );
    assert_eq!(shown(&output, "roles.merge").0, "median");
    assert!(
        stderr(&output).contains("warning: [judges.prometheus]: 2 samples at temperature 0"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn secrets_of_further_judges_are_masked_in_every_form_of_config() {
    let config = "[judges.x]\nbase_url = \"https://me:hunter2@host/v1?token=hunter2\"\napi_key_env = \"X_KEY\"\n\
                  headers = { Authorization = \"Bearer hunter2\" }\n\
                  extra_body = { api_key = \"hunter2\" }\n[roles]\nrubric = \"x\"\n";
    for format in ["table", "json", "csv"] {
        let output = run(
            &[
                "config",
                "--config",
                "my.toml",
                "--trust-config",
                "--format",
                format,
            ],
            &[("X_KEY", "hunter2")],
            config,
        );
        let text = stdout(&output) + &stderr(&output);
        assert_eq!(output.status.code(), Some(0), "{text}");
        assert!(
            !text.contains("hunter2") && text.contains("https://***@host/v1?token=***"),
            "{text}"
        );
        assert!(
            text.contains("judges.x.headers.Authorization") && text.contains("set, not shown"),
            "{text}"
        );
    }
}

#[test]
fn the_published_texts_stand_in_the_help() {
    let help = stdout(&run(&["score", "--help"], &[], ""));
    let help = help.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        help.contains("Answer the question related to the most recent scientific literature."),
        "{help}"
    );
    assert!(
        help.contains("published for aspects: 0.01")
            && help.contains("published for aspects: 0.95"),
        "{help}"
    );
}

#[test]
fn the_reference_scripts_own_command_line_works() {
    let arguments = [
        "config",
        "--qa-dir",
        "answers",
        "--test-config",
        "tests.json",
        "--src-names",
        "a,b.jsonl",
        "--output",
        "results.json",
        "--format",
        "json",
    ];
    let output = run(&arguments, &[], "");
    assert_eq!(
        shown(&output, "score.answers").0,
        serde_json::json!(["answers"])
    );
    assert_eq!(shown(&output, "score.tests").0, "tests.json");
    assert_eq!(
        shown(&output, "score.systems").0,
        serde_json::json!(["a", "b.jsonl"])
    );
    assert_eq!(shown(&output, "output.results_file").0, "results.json");
}

/// Arguments, config file, exit code, and what the message says.
type Refusal<'a> = (&'a [&'a str], &'a str, i32, &'a str);

fn refused(cases: &[Refusal<'_>]) {
    for (arguments, config, code, expected) in cases {
        let output = run(arguments, &[], config);
        let text = stderr(&output);
        assert!(
            text.contains(expected) && !text.contains("hunter2"),
            "{arguments:?}: {text}"
        );
        assert_eq!(output.status.code(), Some(*code), "{arguments:?}: {text}");
        assert_eq!(stdout(&output), "", "{arguments:?}");
    }
}

#[test]
fn every_refusal_names_the_option_and_has_its_exit_code() {
    let chat = "[judge]\nbase_url = \"localhost:1\"\n";
    let cases: &[Refusal<'_>] = &[
        (&["config", "--nonsense"], "", 2, "--nonsense"),
        (&["config", "--concurrency", "0"], "", 2, "--concurrency"),
        (&["config", "--samples", "none"], "", 2, "--samples"),
        (
            &["config", "--max-unscored", "-0.5"],
            "",
            2,
            "write 5% or 0.05",
        ),
        (
            &["config", "--max-unscored", "20"],
            "",
            2,
            "write 5% or 0.05",
        ),
        (
            &["config", "--config", "my.toml"],
            "[score]\nmax_unscored = 20\n",
            3,
            "my.toml:2: score.max_unscored: not a share from 0% to 100%",
        ),
        (
            &["config", "--wait-server", "20"],
            "",
            2,
            "such as 20m, 90s or 1h30m",
        ),
        (
            &["config", "--temperature", "1", "--no-temperature"],
            "",
            2,
            "--no-temperature contradicts --temperature",
        ),
        (
            &["config", "--format", "xml"],
            "",
            2,
            "[possible values: table, json, csv]",
        ),
        (
            &["config", "--on-unscored", "skip"],
            "",
            2,
            "[possible values: exclude, zero]",
        ),
        (
            &["config", "--cache", "f", "--no-cache"],
            "",
            2,
            "--no-cache",
        ),
        (
            &["config", "--judge", "lexical", "--model", "m"],
            "",
            2,
            "judge.model comes from flag --model",
        ),
        (
            &["config", "--judge", "lexical", "--config", "my.toml"],
            chat,
            2,
            "my.toml:2 (judge.base_url)",
        ),
        (
            &["config", "--header", "x", "--config", "my.toml"],
            chat,
            2,
            "error: --header: no name of a header before a colon",
        ),
        (
            &["config", "--extra-body", "1", "--config", "my.toml"],
            chat,
            2,
            "error: --extra-body: not a JSON object",
        ),
        (
            &["config", "--config", "absent.toml"],
            "",
            3,
            "absent.toml: no such file",
        ),
        (
            &["config", "--config", "my.toml"],
            "[judge]\nmodle = \"m\"\n",
            3,
            "my.toml:2: unknown key modle in [judge]; did you mean model?",
        ),
        (
            &["config", "--config", "my.toml"],
            "[judge]\napi_key = \"hunter2\"\n",
            3,
            "api_key_env = ",
        ),
        (
            &["config", "--config", "my.toml"],
            "[judge\n",
            3,
            "my.toml:1: not valid TOML",
        ),
        (
            &["config", "--config", "my.toml"],
            "[limits]\nrpm = \"fast\"\n",
            3,
            "my.toml:2: limits.rpm: invalid type: string, expected a nonzero u32",
        ),
        (&["score"], "", 2, "no answers given"),
        (
            &["cache", "stats", "--cache", "absent.sqlite"],
            "",
            3,
            "absent.sqlite: there is no such cache",
        ),
    ];
    refused(cases);
}

#[test]
fn refusals_of_scorers_judges_and_roles_say_what_to_type() {
    refused(&[
        (
            &["config", "--scorers", "rubric,promethius"],
            "",
            2,
            "'prometheus'",
        ),
        (
            &["config", "--index-base", "2"],
            "",
            2,
            "--index-base <0|1>",
        ),
        (
            &["config", "--entail", "medium"],
            "",
            2,
            "--entail <long|short>",
        ),
        (&["config", "--at-most", "0"], "", 2, "--at-most"),
        (
            &["config", "--merge", "sum"],
            "",
            2,
            "[possible values: mean, median, most-common]",
        ),
        (&["config", "--logprobs", "21"], "", 2, "from 1 to 20"),
        (&["config", "--top-p", "0"], "", 2, "above 0 and up to 1"),
        (
            &["config", "--conversation", "llama"],
            "",
            2,
            "[possible values: llama-2, mistral, chatml, none]",
        ),
        (
            &["config", "--judge", "completions"],
            "",
            2,
            "needs a server: give a model or a base URL",
        ),
        (
            &["config", "--config", "my.toml"],
            "[judge]\ntemperature = 3\nmodel = \"m\"\n",
            3,
            "my.toml:2: judge.temperature: not a temperature; write a number from 0 to 2",
        ),
        (
            &["config", "--config", "my.toml"],
            "[judge]\nheaders = \"hunter2\"\n",
            3,
            "my.toml:2: judge.headers: expected a table of names and values",
        ),
        (
            &["config", "--config", "my.toml"],
            "[limits]\nmodel = \"m\"\n[jugde]\nx = 1\n",
            3,
            "my.toml:2: unknown key model in [limits]; model belongs under [judge]\n       my.toml:4: unknown table [jugde]; did you mean judge?",
        ),
        (
            &["config", "--config", "my.toml"],
            "[judge]\nmodel = \"m\"\n[prices.m]\nprompt = 1.0\ncompletion = -1.0\n",
            3,
            "prices.m: not a price",
        ),
        (
            &["config", "--config", "my.toml"],
            "[judges.a]\nmodle = \"m\"\n[roles]\nrubrik = \"a\"\n",
            3,
            "my.toml:2: unknown key modle in [judges.a]; did you mean model?",
        ),
        (
            &["config", "--config", "my.toml"],
            "[judges.prometheus]\nbase_url = \"h\"\n[roles]\naspect = \"promethius\"\n",
            3,
            "my.toml:4: roles.aspect: there is no judge \"promethius\"; did you mean prometheus?",
        ),
        (
            &["config", "--config", "my.toml"],
            "[judges.a]\nbase_url = \"h\"\napi_key_env = \"sk-hunter2\"\n[roles]\nrubric = \"a\"\n",
            3,
            "my.toml:3: judges.a.api_key_env: it takes the name of an environment variable",
        ),
        (
            &["check", "answers", "--scorers", "rubric"],
            "",
            2,
            "no test cases given; add --tests FILE",
        ),
    ]);
}

#[test]
fn a_bad_environment_variable_is_named_and_exits_3() {
    let output = run(&["config"], &[("SCHOLAREVAL_TIMEOUT", "ten minutes")], "");
    assert!(
        stderr(&output)
            .contains("environment variable SCHOLAREVAL_TIMEOUT (ten minutes): not a duration")
    );
    assert_eq!(output.status.code(), Some(3));
}

#[test]
fn warnings_go_to_standard_error_unless_quiet() {
    let arguments = ["config", "--samples", "3"];
    assert!(
        stderr(&run(&arguments, &[], "")).starts_with("warning: 3 samples by the lexical judge")
    );
    assert_eq!(
        stderr(&run(&[&arguments[..], &["--quiet"]].concat(), &[], "")),
        ""
    );
}

#[test]
fn help_shows_flags_variables_and_defaults_without_values_of_variables() {
    let output = run(
        &["score", "--help"],
        &[("SCHOLAREVAL_BASE_URL", "https://me:hunter2@host")],
        "",
    );
    let help = stdout(&output);
    for flag in [
        "--config",
        "--no-temperature",
        "--qa-dir",
        "--test-config",
        "--src-names",
        "--color",
        "--verbose",
    ] {
        assert!(help.contains(flag), "{flag} is not in the help");
    }
    assert!(
        help.contains("[env: SCHOLAREVAL_BASE_URL]") && !help.contains("hunter2"),
        "{help}"
    );
    for default in [
        "[default: 32]",
        "[default: 10m]",
        "[default: .scholareval/cache.sqlite]",
    ] {
        assert!(help.contains(default), "{default} is not in the help");
    }
    for heading in [
        "Input:",
        "Scoring:",
        "Scorers:",
        "Judge:",
        "Limits:",
        "Bounds:",
        "Cache:",
        "Output:",
        "Examples:",
    ] {
        assert!(
            help.contains(&format!("\n{heading}\n")),
            "no heading {heading}"
        );
    }
    assert_eq!(output.status.code(), Some(0));
}

#[test]
fn the_example_of_a_config_file_holds_every_key_and_is_accepted() {
    let example = scholareval::cli::config_file::EXAMPLE;
    // The example names a server, to which a key goes only if its user says so.
    let arguments = [
        "config",
        "--config",
        "my.toml",
        "--format",
        "json",
        "--trust-config",
    ];
    let output = run(&arguments, &[("OPENAI_API_KEY", "k")], example);
    let rows: Vec<Value> =
        serde_json::from_str(&stdout(&output)).unwrap_or_else(|_| panic!("{}", stderr(&output)));
    for row in &rows {
        let (key, origin) = (
            row["key"].as_str().unwrap(),
            row["origin"].as_str().unwrap(),
        );
        // a further judge leaves most keys open; kind stands as a comment: it contradicts the model
        let is_open = key.starts_with("judges.") || ["judge.kind", "judge.api_key"].contains(&key);
        let is_given = origin.starts_with("file my.toml") || origin.starts_with("flag --");
        assert!(
            is_given || is_open,
            "{key} is not in the example ({origin})"
        );
    }
    assert!(rows.len() > 80, "{}", rows.len());
}

#[test]
fn blank_variables_count_as_not_set_and_flags_beat_choices_of_the_file() {
    let arguments = [
        "config",
        "--config",
        "my.toml",
        "--format",
        "json",
        "--only",
        "snippets",
        "--temperature",
        "0.5",
    ];
    let blank = [
        ("SCHOLAREVAL_RPM", ""),
        ("SCHOLAREVAL_MODEL", " "),
        ("SCHOLAREVAL_FORMAT", ""),
    ];
    let config = "[score]\nonly = \"criteria\"\n[judge]\nmodel = \"m\"\nno_temperature = true\nbase_url = \"h\"\n\
                  headers = { x-team = \"a\", X-Other = \"b\" }\n[cache]\nno_cache = true\n";
    let output = run(
        &[&arguments[..], &["--header", "X-Team:c", "--cache", "f"]].concat(),
        &blank,
        config,
    );
    assert_eq!(
        shown(&output, "limits.rpm"),
        (Value::Null, "default".to_owned())
    );
    assert_eq!(shown(&output, "judge.model").0, "m");
    assert_eq!(shown(&output, "score.only").0, "snippets");
    assert_eq!(
        (
            shown(&output, "judge.no_temperature").0,
            shown(&output, "judge.temperature").0
        ),
        (false.into(), 0.5.into())
    );
    assert_eq!(
        (
            shown(&output, "cache.no_cache").0,
            shown(&output, "cache.path").0
        ),
        (false.into(), "f".into())
    );
    assert_eq!(
        (
            shown(&output, "judge.headers.X-Team").0,
            shown(&output, "judge.headers.X-Other").0
        ),
        ("c".into(), "b".into())
    );
    assert!(!stdout(&output).contains("x-team"));
}

#[test]
fn a_model_alone_goes_to_openai_base_url_and_that_variable_alone_chooses_no_judge() {
    let openai = [("OPENAI_BASE_URL", "http://h/v1")];
    let output = run(&["config", "--format", "json", "--model", "m"], &openai, "");
    assert_eq!(
        shown(&output, "judge.base_url"),
        (
            "http://h/v1".into(),
            "environment OPENAI_BASE_URL".to_owned()
        )
    );
    let output = run(&["config", "--format", "json"], &openai, "");
    assert_eq!(shown(&output, "judge.kind").0, "lexical");
    assert!(stderr(&output).contains("OPENAI_BASE_URL alone chooses no judge"));
}

#[test]
fn a_key_is_read_from_the_variable_that_is_named_and_from_nowhere_else() {
    let base = ["config", "--base-url", "localhost:1", "--api-key-env"];
    for (name, says) in [
        (
            "MY_KEY",
            "environment variable MY_KEY is not set; export MY_KEY=",
        ),
        ("sk-hunter2", "it takes the name of an environment variable"),
        (
            "gsk_hunter2",
            "it takes the name of an environment variable",
        ),
    ] {
        let output = run(&[&base[..], &[name]].concat(), &[], "");
        assert!(
            stderr(&output).contains(says) && !stderr(&output).contains("hunter2"),
            "{}",
            stderr(&output)
        );
        assert_eq!(output.status.code(), Some(2));
    }
    let output = run(
        &["config", "--model", "m"],
        &[("OPENAI_API_KEY", "hunter2\nX: y")],
        "",
    );
    assert!(stderr(&output).contains("OPENAI_API_KEY") && !stderr(&output).contains("hunter2"));
    assert_eq!(output.status.code(), Some(3));
    // only a judge that is asked needs its key
    let unused = "[judges.x]\nmodel = \"m\"\napi_key_env = \"X_KEY\"\n[roles]\naspect = \"x\"\n";
    assert_eq!(
        run(
            &["config", "--config", "my.toml", "--scorers", "rubric"],
            &[],
            unused
        )
        .status
        .code(),
        Some(0)
    );
    let output = run(&["config", "--config", "my.toml"], &[], unused);
    assert!(
        stderr(&output)
            .contains("my.toml:3: judges.x.api_key_env: environment variable X_KEY is not set")
    );
    assert_eq!(output.status.code(), Some(3));
}

#[test]
fn the_long_help_holds_the_table_of_exit_codes() {
    let help = stdout(&run(&["--help"], &[], ""));
    for (code, meaning) in scholareval::cli::ExitCode::ALL {
        assert!(
            help.contains(&format!("  {}  {meaning}", code as u8)),
            "{code:?}"
        );
    }
}

#[test]
fn completions_know_the_options() {
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let output = run(&["shell-completions", shell], &[], "");
        assert!(stdout(&output).contains("max-unscored"), "{shell}");
        assert_eq!(output.status.code(), Some(0));
    }
}

/// The reader closes the pipe before anything is written.
#[test]
fn a_closed_pipe_is_silent_success() {
    for arguments in [&["config"][..], &["shell-completions", "bash"]] {
        let mut child = std::process::Command::new(env!("CARGO_BIN_EXE_scholareval"))
            .args(arguments)
            .env_clear()
            .stdout({
                let (reader, writer) = std::io::pipe().unwrap();
                drop(reader);
                Stdio::from(writer)
            })
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut told = String::new();
        child
            .stderr
            .take()
            .unwrap()
            .read_to_string(&mut told)
            .unwrap();
        assert_eq!(
            (child.wait().unwrap().code(), told.as_str()),
            (Some(0), ""),
            "{arguments:?}"
        );
    }
}
