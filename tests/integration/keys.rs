//! Which server gets which secret, and that no server's echo of it is stored.

use std::os::unix::fs::symlink;

use crate::support::fake_server::{Act, Behaviour, FakeServer, Recorded};
use crate::support::workspace::{Finished, KEY, Workspace};

/// A server that is not on this machine; a proxy carries every request to the fake one.
const FAR: &str = "http://judge.invalid/v1";
/// A config file that names that server.
const CONFIG: &str = "[judge]\nmodel = \"fake-judge\"\nbase_url = \"http://judge.invalid/v1\"\n";
/// The value of `TEAM_KEY`.
const TEAM: &str = "team-0123456789";

fn run(
    work: &Workspace,
    proxy: &FakeServer,
    arguments: &[&str],
    environment: &[(&str, &str)],
) -> Finished {
    let address = proxy.base_url().replace("/v1", "");
    let mut command = work.command(arguments);
    command
        .env("HTTP_PROXY", address)
        .env("TEAM_KEY", TEAM)
        .envs(environment.iter().copied());
    Finished::of(command.output().unwrap())
}

/// `score` with the config file `my.toml`.
fn score(
    work: &Workspace,
    proxy: &FakeServer,
    more: &[&str],
    environment: &[(&str, &str)],
) -> Finished {
    let arguments = [
        "score",
        "answers",
        "--tests",
        "tests.json",
        "--out",
        "out",
        "--config",
        "my.toml",
    ];
    run(
        work,
        proxy,
        &[&arguments[..], &["--retries", "0", "--overwrite"], more].concat(),
        environment,
    )
}

/// The distinct values of a header in all requests; empty where it is missing.
fn sent(server: &FakeServer, name: &str) -> Vec<String> {
    let mut values: Vec<String> = server
        .requests()
        .iter()
        .map(|request| request.header(name).unwrap_or_default().to_owned())
        .collect();
    values.sort();
    values.dedup();
    values
}

#[test]
fn the_default_key_goes_to_a_server_that_only_a_config_file_names_when_the_user_says_so() {
    let (key, team) = (format!("Bearer {KEY}"), format!("Bearer {TEAM}"));
    for (more, environment, expected) in [
        (&[][..], &[][..], ""),
        (&["--base-url", FAR], &[], &key),
        (&[], &[("SCHOLAREVAL_BASE_URL", FAR)], &key),
        (&[], &[("OPENAI_BASE_URL", "http://judge.invalid")], &key),
        (
            &[],
            &[("OPENAI_BASE_URL", "http://elsewhere.invalid/v1")],
            "",
        ),
        (&["--api-key-env", "OPENAI_API_KEY"], &[], &key),
        (&["--api-key-env", "TEAM_KEY"], &[], &team),
        (&["--trust-config"], &[], &key),
    ] {
        let (work, proxy) = (
            Workspace::new(&["alpha"], 1),
            FakeServer::start(Behaviour::good()),
        );
        work.write("my.toml", CONFIG);
        let done = score(&work, &proxy, more, environment).exits_with(0);
        assert_eq!(
            sent(&proxy, "authorization"),
            [expected],
            "{more:?} {environment:?}"
        );
        assert!(proxy.chat_count() > 0);
        let note = format!(
            "warning: OPENAI_API_KEY is not sent to {FAR}, which only the config file names"
        );
        assert_eq!(
            done.stderr.contains(&note),
            expected.is_empty(),
            "{more:?}\n{}",
            done.stderr
        );
    }
}

#[test]
fn a_config_file_pairs_a_variable_with_a_server_only_where_it_is_trusted() {
    let refusal = format!("TEAM_KEY would be sent to {FAR}, which only the config file names");
    let named = format!("{CONFIG}api_key_env = \"TEAM_KEY\"\n");
    let header = format!("{CONFIG}header_env = {{ X-Team = \"TEAM_KEY\" }}\n");
    let further = "[judges.far]\nmodel = \"fake-judge\"\nbase_url = \"http://judge.invalid/v1\"\n\
                   api_key_env = \"TEAM_KEY\"\n[roles]\nrubric = \"far\"\n";
    let by_environment = [("SCHOLAREVAL_API_KEY_ENV", "TEAM_KEY")];
    let bearer = format!("Bearer {TEAM}");
    for (config, environment, place, of_trusted) in [
        (
            named.as_str(),
            &[][..],
            "my.toml:4: judge.api_key_env: ",
            [bearer.as_str(), ""],
        ),
        (
            &header,
            &[],
            "my.toml:4: judge.header_env: ",
            ["Bearer sk-e2e-0123456789abcdef", TEAM],
        ),
        (
            further,
            &[],
            "my.toml:4: judges.far.api_key_env: ",
            [&bearer, ""],
        ),
        (
            CONFIG,
            &by_environment,
            "environment variable SCHOLAREVAL_API_KEY_ENV: ",
            [&bearer, ""],
        ),
    ] {
        let (work, proxy) = (
            Workspace::new(&["alpha"], 1),
            FakeServer::start(Behaviour::good()),
        );
        work.write("my.toml", config);
        for command in ["score", "plan", "check", "config"] {
            let arguments = [
                command,
                "answers",
                "--tests",
                "tests.json",
                "--config",
                "my.toml",
            ];
            let said = format!("{place}{refusal}");
            run(&work, &proxy, &arguments, environment)
                .exits_with(3)
                .says(&[&said, "--trust-config"]);
        }
        assert!(proxy.requests().is_empty(), "nothing is sent");
        score(&work, &proxy, &["--trust-config"], environment).exits_with(0);
        assert_eq!(
            [sent(&proxy, "authorization"), sent(&proxy, "x-team")].concat(),
            of_trusted,
            "{config}"
        );
        // the file is remembered, another one is not
        score(&work, &proxy, &[], environment).exits_with(0);
        work.write("my.toml", &format!("{config}# changed\n"));
        score(&work, &proxy, &[], environment)
            .exits_with(3)
            .says(&[&refusal]);
    }
}

#[test]
fn a_server_of_a_panel_gets_the_default_key_if_it_is_on_this_machine() {
    let (work, near) = (
        Workspace::new(&["alpha"], 1),
        FakeServer::start(Behaviour::good()),
    );
    let far = FakeServer::start(Behaviour::good());
    let of = |name: &str, url: &str| {
        format!(
            "[judges.{name}]\nmodel = \"fake-judge\"\nbase_url = \"{url}\"\ncache_id = \"{name}\"\n"
        )
    };
    let roles = "[roles]\nrubric = [\"near\", \"far\"]\n";
    work.write(
        "my.toml",
        &format!("{}{}{roles}", of("near", &near.base_url()), of("far", FAR)),
    );
    score(&work, &far, &[], &[])
        .exits_with(0)
        .says(&["[judges.far]", "OPENAI_API_KEY is not sent to"]);
    assert_eq!(
        (sent(&near, "authorization"), sent(&far, "authorization")),
        (vec![format!("Bearer {KEY}")], vec!["".into()])
    );
    // two servers of one judge
    let (near, far) = (
        FakeServer::start(Behaviour::good()),
        FakeServer::start(Behaviour::good()),
    );
    work.write(
        "my.toml",
        &format!(
            "[judge]\nmodel = \"fake-judge\"\nbase_url = [\"{}\", \"{FAR}\"]\n",
            near.base_url()
        ),
    );
    score(&work, &far, &["--no-cache"], &[]).exits_with(0);
    assert_eq!(
        (sent(&near, "authorization"), sent(&far, "authorization")),
        (vec![format!("Bearer {KEY}")], vec!["".into()])
    );
}

#[test]
fn a_header_takes_its_value_from_the_environment() {
    let (work, proxy) = (
        Workspace::new(&["alpha"], 1),
        FakeServer::start(Behaviour::good()),
    );
    work.write("my.toml", CONFIG);
    let done = score(
        &work,
        &proxy,
        &["--header-env", "X-Team=TEAM_KEY", "-vv"],
        &[],
    )
    .exits_with(0);
    assert_eq!(sent(&proxy, "x-team"), [TEAM]);
    assert!(!done.all_text().contains(TEAM));
    for (path, bytes) in work.files() {
        assert!(
            !String::from_utf8_lossy(&bytes).contains(TEAM),
            "{}",
            path.display()
        );
    }
    for (header, said) in [
        ("X-Team=NO_KEY", "environment variable NO_KEY is not set"),
        (
            "X-Team=team-0123456789",
            "it takes the name of an environment variable",
        ),
        ("X-Team", "or X-Api-Key=TEAM_KEY"),
        (
            "Content-Type=TEAM_KEY",
            "the header Content-Type belongs to the transport",
        ),
    ] {
        let done = score(&work, &proxy, &["--header-env", header], &[])
            .exits_with(2)
            .says(&["--header-env: ", said]);
        assert!(!done.all_text().contains(TEAM), "{}", done.stderr);
    }
}

#[test]
fn a_login_in_an_address_is_sent_in_place_of_the_key_and_never_beside_another() {
    let (work, proxy) = (
        Workspace::new(&["alpha"], 1),
        FakeServer::start(Behaviour::good()),
    );
    work.write("my.toml", CONFIG);
    let login = ["--base-url", "http://me:p%40ssword@judge.invalid/v1"];
    score(&work, &proxy, &login, &[]).exits_with(0);
    // me:p@ssword
    assert_eq!(sent(&proxy, "authorization"), ["Basic bWU6cEBzc3dvcmQ="]);
    let before = proxy.requests().len();
    for more in [
        ["--api-key-env", "OPENAI_API_KEY"],
        ["--header", "Authorization: x"],
        ["--header-env", "authorization=TEAM_KEY"],
    ] {
        let done = score(&work, &proxy, &[&login[..], &more].concat(), &[]).exits_with(3);
        done.says(&[
            "http://***@judge.invalid/v1 has a user and password",
            "drop the others",
        ]);
    }
    assert_eq!(proxy.requests().len(), before);
}

/// A judge that writes the request's authorization, and what it decodes to, into every reply.
fn echoing() -> Behaviour {
    Behaviour::good().saying(|request: &Recorded| {
        let header = |name: &str| request.header(name).unwrap_or_default().to_owned();
        let echo = format!("{} {} p@ssword", header("authorization"), header("x-team"));
        if request.asks_for_claims() {
            format!(r#"{{"claims": [{{"claim_text": "{echo}", "citations": []}}]}}"#)
        } else {
            // As feedback it is recorded with the scores, after the reply was parsed.
            let escaped: String = echo
                .chars()
                .map(|c| format!("\\u{:04X}", u32::from(c)))
                .collect();
            format!(r#"{{"score": 5, "note": "{echo}", "feedback": "{escaped}"}}"#)
        }
    })
}

#[test]
fn what_a_server_echoes_of_a_secret_is_stored_and_shown_by_nobody() {
    for (url, more, secrets) in [
        (FAR, &["--header-env", "X-Team=TEAM_KEY"][..], [KEY, TEAM]),
        (
            "http://me:p%40ssword@judge.invalid/v1",
            &[],
            ["bWU6cEBzc3dvcmQ=", "p@ssword"],
        ),
        // me:p@ssword
        (
            FAR,
            &["--header", "Authorization: Basic bWU6cEBzc3dvcmQ="],
            ["bWU6cEBzc3dvcmQ=", "p@ssword"],
        ),
        (
            FAR,
            &["--header", "Authorization: Token 0123456789"],
            ["Token 0123456789", "0123456789"],
        ),
    ] {
        let (work, proxy) = (Workspace::new(&["alpha"], 1), FakeServer::start(echoing()));
        work.write("my.toml", CONFIG);
        let arguments = [&["--base-url", url, "-vv"], more].concat();
        let mut output = score(&work, &proxy, &arguments, &[])
            .exits_with(0)
            .all_text();
        output += &work
            .run(&["report", "out", "--out", "page.html"])
            .exits_with(0)
            .all_text();
        assert!(
            work.read("out/calls.jsonl").contains("***"),
            "the echo was there"
        );
        let files = work
            .files()
            .into_iter()
            .map(|(path, bytes)| (path.display().to_string(), bytes));
        for (name, bytes) in files.chain([("the output".to_owned(), output.into_bytes())]) {
            let text = String::from_utf8_lossy(&bytes);
            assert!(
                !secrets.iter().any(|secret| text.contains(secret)),
                "{name}: {text}"
            );
        }
    }
}

/// A batch in `b`, exported for the far server.
fn exported(proxy: &FakeServer) -> Workspace {
    let work = Workspace::new(&["alpha"], 1);
    let arguments = [
        "batch",
        "export",
        "answers",
        "--tests",
        "tests.json",
        "--model",
        "fake-judge",
    ];
    run(
        &work,
        proxy,
        &[&arguments[..], &["--base-url", FAR, "--out", "b"]].concat(),
        &[],
    )
    .exits_with(0);
    work
}

fn uploads(proxy: &FakeServer) -> Vec<Recorded> {
    proxy
        .requests()
        .into_iter()
        .filter(|request| request.path.ends_with("/files"))
        .collect()
}

#[test]
fn the_key_goes_to_the_service_of_a_batch_when_the_user_says_so() {
    let key = format!("Bearer {KEY}");
    for (more, environment, expected) in [
        (&[][..], &[][..], None),
        (&["--base-url", FAR], &[], Some(key.as_str())),
        (&[], &[("OPENAI_BASE_URL", FAR)], Some(&key)),
        (&["--api-key-env", "OPENAI_API_KEY"], &[], Some(&key)),
        (&["--header-env", "Authorization=TEAM_KEY"], &[], Some(TEAM)),
        (
            &["--base-url", "http://me:p%40ssword@judge.invalid"],
            &[],
            Some("Basic bWU6cEBzc3dvcmQ="),
        ),
    ] {
        let proxy = FakeServer::start(Behaviour::good());
        let work = exported(&proxy);
        let done = run(
            &work,
            &proxy,
            &[&["batch", "submit", "b"], more].concat(),
            environment,
        )
        .exits_with(4);
        assert_eq!(
            uploads(&proxy)[0].header("authorization"),
            expected,
            "{more:?}"
        );
        let note = format!(
            "OPENAI_API_KEY is not sent to {FAR}, which only b/batch.json names; add --base-url {FAR}"
        );
        assert_eq!(
            done.stderr.contains(&note),
            expected.is_none_or(|sent| sent == TEAM),
            "{}",
            done.stderr
        );
    }
}

#[test]
fn a_batch_uploads_only_files_that_it_wrote_and_follows_no_link() {
    let proxy = FakeServer::start(Behaviour::good());
    let work = exported(&proxy);
    let submit = || {
        run(
            &work,
            &proxy,
            &["batch", "submit", "b", "--base-url", FAR],
            &[],
        )
    };
    let name = work.json("b/batch.json")["parts"][0]["file"]
        .as_str()
        .unwrap()
        .to_owned();
    let file = work.path(&format!("b/{name}"));
    let text = work.read(&format!("b/{name}"));
    std::fs::write(&file, text.replacen("alpha", "gamma", 1)).unwrap();
    submit().exits_with(3).says(&[
        &name,
        "is not the file that batch export wrote",
        "export the batch again",
    ]);
    // the same bytes behind a link
    work.write("elsewhere", &text);
    let with_link = |name: &str, command: &[&str]| {
        let path = work.path(name);
        std::fs::rename(&path, work.path("kept")).unwrap();
        symlink(work.path("kept"), &path).unwrap();
        run(&work, &proxy, command, &[])
            .exits_with(3)
            .says(&[name, "is a symbolic link"]);
        std::fs::remove_file(&path).unwrap();
        std::fs::rename(work.path("kept"), path).unwrap();
    };
    std::fs::write(&file, &text).unwrap();
    with_link(&format!("b/{name}"), &["batch", "submit", "b"]);
    with_link("b/batch.json", &["batch", "submit", "b"]);
    with_link("b/calls.jsonl", &["batch", "import", "b", "elsewhere"]);
    assert!(uploads(&proxy).is_empty(), "nothing was uploaded");
    // what is written goes through no link, either
    symlink(work.path("elsewhere"), work.path("b/.batch.json.partial")).unwrap();
    let service = FakeServer::start(Behaviour::good().handler(|request| {
        if request.path.ends_with("/files") {
            Some(Act::json(&serde_json::json!({"id": "file-1"})))
        } else {
            None
        }
    }));
    run(&work, &service, &["batch", "submit", "b"], &[]);
    assert_eq!(work.json("b/batch.json")["parts"][0]["file_id"], "file-1");
    assert_eq!(work.read("elsewhere"), text);
}

#[test]
fn what_a_batch_service_echoes_of_the_key_is_stored_and_shown_by_nobody() {
    let service = FakeServer::start(Behaviour::good().handler(|request| {
        let key = request
            .header("authorization")
            .unwrap_or_default()
            .to_owned();
        let path = request.path.as_str();
        let batch = serde_json::json!({
            "id": "batch-1", "status": "completed", "output_file_id": "out",
            "errors": {"data": [{"message": format!("quoting {key}")}]},
        });
        match path {
            _ if path.ends_with("/content") => {
                Some(Act::status(200, format!("{{\"quoting\": \"{key}\"}}\n")))
            }
            _ if path.ends_with("/files") => Some(Act::json(&serde_json::json!({"id": "file-1"}))),
            _ if path.contains("/batches") => Some(Act::json(&batch)),
            _ => None,
        }
    }));
    let work = exported(&service);
    let mut output = String::new();
    for command in ["submit", "fetch"] {
        let arguments = ["batch", command, "b", "--api-key-env", "TEAM_KEY"];
        // one line is not the results of four requests
        let code = if command == "fetch" { 4 } else { 0 };
        output += &run(&work, &service, &arguments, &[])
            .exits_with(code)
            .all_text();
    }
    assert!(output.contains("quoting ***"), "{output}");
    let files = work
        .files()
        .into_iter()
        .map(|(path, bytes)| (path.display().to_string(), bytes));
    for (name, bytes) in files.chain([("the output".to_owned(), output.into_bytes())]) {
        assert!(!String::from_utf8_lossy(&bytes).contains(TEAM), "{name}");
    }
}
