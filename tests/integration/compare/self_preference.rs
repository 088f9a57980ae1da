//! Judges that favor systems of their family.

use super::*;

const SYSTEMS: [&str; 5] = ["claude-opus", "claude_haiku", "gpt-4o", "gpt5-mini", "mine"];

/// Runs `one` by a judge of OpenAI that gives answers of its family 10 points, `two` by one of Anthropic and `three` by one without a
/// family, which give 8 points to each answer.
fn three_judges() -> Workspace {
    let work = Workspace::new(&SYSTEMS, 8);
    let favoring = FakeServer::start(Behaviour::good().saying(|request| match kind_of(request) {
        "property" | "expertise" if answer_of(request).contains("gpt") => {
            json!({"score": 10}).to_string()
        }
        kind => constant_reply(kind),
    }));
    let constant = FakeServer::start(constant_judge());
    for (server, out, judge) in [
        (&favoring, "one", "gpt-4o"),
        (&constant, "two", "claude-sonnet"),
        (&constant, "three", "local"),
    ] {
        work.score(server, &["--out", out, "--cache-id", judge])
            .exits_with(0);
    }
    work
}

fn preferences(work: &Workspace, more: &[&str]) -> Vec<Value> {
    let arguments = [
        "one", "two", "three", "--across", "judges", "--format", "json",
    ];
    let done = compare(work, &[&arguments[..], more].concat()).exits_with(0);
    as_json(&done)["self_preference"]
        .as_array()
        .unwrap()
        .clone()
}

#[test]
fn a_favor_for_the_family_is_a_number_of_each_judge_with_systems_on_both_sides() {
    let work = three_judges();
    let [favoring, other, without_family] = &preferences(&work, &[])[..] else {
        panic!("three judges")
    };
    assert_eq!(
        (&favoring["judge"], &favoring["family"], &favoring["run"]),
        (&json!("gpt-4o"), &json!("OpenAI"), &json!("one"))
    );
    assert_eq!(favoring["family_systems"], json!(["gpt-4o", "gpt5-mini"]));
    assert_eq!(
        favoring["other_systems"],
        json!(["claude-opus", "claude_haiku"])
    );
    // Two points are worth 0.2 * (0.05 + 2 * 0.15) = 0.07, of which 2 of 3 parts are above the mean of three judges.
    is_close(&favoring["preference"], 0.07 * 2.0 / 3.0);
    assert_eq!(favoring["differs"], true);
    // The others are 1 of 3 parts below the mean of answers of OpenAI's models.
    is_close(&other["preference"], 0.07 / 3.0);
    assert_eq!(
        (&without_family["preference"], &without_family["family"]),
        (&Value::Null, &Value::Null)
    );

    let text = unwrapped(
        &compare(
            &work,
            &["one", "two", "three", "--across", "judges", "--notes"],
        )
        .exits_with(0)
        .stdout,
    );
    for sentence in [
        "score: gpt-4o (one) favors its family (OpenAI: gpt-4o, gpt5-mini; others: claude-opus, claude_haiku) by 4.7 points, \
         relative to the mean of 3 judges (+4.7",
        "No self-preference of local (three): its family is not known (--family \"local=FAMILY\" names it).",
        "one: Judge gpt-4o and the systems gpt-4o, gpt5-mini are of one family (OpenAI): judges tend to score answers of their \
         family higher.",
    ] {
        assert!(text.contains(sentence), "{sentence}: {text}");
    }
}

#[test]
fn the_built_in_baseline_next_to_a_judge_does_not_hide_its_family() {
    let work = three_judges();
    let mut manifest = work.json("one/manifest.json");
    let judges = &mut manifest["roles"]["rubric"]["judges"];
    let mut lexical = judges[0].clone();
    lexical["id"] = "lexical".into();
    lexical["lexical"] = true.into();
    judges.as_array_mut().unwrap().push(lexical);
    work.write("one/manifest.json", &manifest.to_string());
    let with_lexical = preferences(&work, &[]).remove(0);
    assert_eq!(
        (&with_lexical["judge"], &with_lexical["family"]),
        (&json!("gpt-4o"), &json!("OpenAI"))
    );
}

#[test]
fn families_can_be_given_by_name() {
    let work = three_judges();
    let with_third = preferences(&work, &["--family", "mine=openai"]).remove(0);
    // A third system without any favor: 2 of 3 systems have one.
    is_close(&with_third["preference"], 0.07 * 2.0 / 3.0 * 2.0 / 3.0);
    let given = ["--family", "local=Ours", "--family", "mine=Ours"];
    let third = preferences(&work, &given).remove(2);
    assert_eq!(
        (&third["family"], &third["preference"]),
        (&json!("Ours"), &Value::Null)
    );
    let across = ["one", "two", "--across", "judges", "--notes"];
    let text = compare(
        &work,
        &[&across[..], &["--family", "claude-sonnet=Ours"]].concat(),
    )
    .exits_with(0);
    let reason = "it takes 2 systems of its family (Ours) and 2 of other known families, and there are 0 and 4";
    assert!(unwrapped(&text.stdout).contains(reason), "{}", text.stdout);
    compare(&work, &[&across[..], &["--family", "min=Ours"]].concat())
        .exits_with(3)
        .says(&["no system or judge is called min (did you mean mine?)"]);
    compare(&work, &[&across[..], &["--family", "mine"]].concat())
        .exits_with(2)
        .says(&["write NAME=FAMILY"]);
    compare(&work, &["one", "--family", "mine=Ours"]).exits_with(2);
    compare(
        &work,
        &["one", "two", "--across", "runs", "--family", "mine=Ours"],
    )
    .exits_with(2)
    .says(&["give --across judges"]);
}

#[test]
fn a_run_notes_systems_of_its_judges_family() {
    let work = Workspace::new(&["gpt-4o", "mine"], 2);
    let server = FakeServer::start(constant_judge());
    let note = "Judge gpt-5 and system gpt-4o are of one family (OpenAI): judges tend to score answers of their family higher.";
    let done = work.score(&server, &["--cache-id", "gpt-5"]).exits_with(0);
    assert!(unwrapped(&done.stdout).contains(note), "{}", done.stdout);
    let done = work
        .score(&server, &["--out", "other", "--cache-id", "claude-opus"])
        .exits_with(0);
    assert!(!done.stdout.contains("family"), "{}", done.stdout);
}
