//! Reading config files.

use super::*;
use serde_json::json;

fn parse(text: &str) -> Result<ConfigFile> {
    ConfigFile::parse(Path::new("dir/my.toml"), text)
}

fn message(text: &str) -> String {
    parse(text).err().expect("an error").to_string()
}

#[test]
fn the_example_holds_every_key_of_every_table() {
    let file = parse(EXAMPLE).unwrap();
    for table in TABLES {
        for key in file_keys(table) {
            // kind stands as a comment: it contradicts the model that the example also has
            let shown = file.get(&format!("{table}.{key}")).is_some() || EXAMPLE.contains(&format!("# {key} = "));
            assert!(shown, "{table}.{key} is missing in example.toml");
        }
    }
}

#[test]
fn the_example_shows_every_role_and_further_judges_of_every_kind_but_chat() {
    let file = parse(EXAMPLE).unwrap();
    for role in ["rubric", "aspect", "aspect.relevance", "citation", "merge"] {
        assert!(file.get(&format!("roles.{role}")).is_some(), "{role}");
    }
    let judges: Vec<&str> = file.judges().map(|(name, _)| name).collect();
    assert_eq!(judges, ["prometheus-bgb", "prometheus", "attrscore"]);
    for key in ["samples", "merge"] {
        assert!(judge_keys().contains(&key), "{key}");
        assert!(file.of_judge("prometheus-bgb").unwrap().get(&format!("score.{key}")).is_some(), "{key}");
    }
}

#[test]
fn a_further_judges_table_reads_like_a_file_of_its_own_and_is_shown_under_its_name() {
    let file = parse("[judges.b]\nmodel = \"m\"\nrpm = 5\nsamples = 3\n[judges.a]\nkind = \"lexical\"\n").unwrap();
    assert_eq!(file.judges().collect::<Vec<_>>(), [("b", 1), ("a", 5)]);
    let table = file.of_judge("b").unwrap();
    let lines = ["judge.model", "limits.rpm", "score.samples"].map(|key| table.get(key).map(|entry| entry.line));
    assert_eq!(lines, [Some(2), Some(3), Some(4)]);
    assert_eq!((table.shown("limits.rpm"), file.shown("limits.rpm")), ("judges.b.rpm".into(), "limits.rpm".into()));
    assert_eq!(table.fault("judge.model", 2, "bad").to_string(), "dir/my.toml:2: judges.b.model: bad");
    assert!(file.get("judge.model").is_none() && file.of_judge("c").is_none());
}

#[test]
fn faults_of_judges_and_roles_are_all_named_with_what_to_write() {
    let text = message(
        "[judges.a]\nmodle = \"m\"\n[judges.\"b c\"]\n[judges.judge]\n[judges]\n\nmodel = \"m\"\n\
         [roles]\nrubrik = \"a\"\n\"aspect.x\" = \"a\"\naspect.x = \"b\"\nnonsense = 1\n[judges.d]\ntoken = \"hunter2\"\n",
    );
    for expected in [
        ":2: unknown key modle in [judges.a]; did you mean model?",
        ":3: [judges]: \"b c\" is no judge's name; use letters, digits, - and _",
        ":4: [judges.judge]: judge is the name of [judge]; give this one another name",
        ":7: judges.model is not a table; further judges have names",
        ":9: unknown role rubrik in [roles]; did you mean rubric?",
        "roles.aspect.x is given twice: line 10 has it, too; keep one of the two",
        ":12: unknown role nonsense in [roles]; known are rubric, citation, aspect, aspect.NAME",
        ":14: [judges.d] token: a config file must not hold a key; put the key into an environment variable and write \
         api_key_env = \"ITS_NAME\" under [judges.d]",
    ] {
        assert!(text.contains(expected), "{expected} is not in:\n{text}");
    }
    assert!(!text.contains("hunter2"), "{text}");
    assert_eq!(message("roles = 1"), "dir/my.toml:1: roles is not a table; write [roles] and its keys below it");
    assert!(message("[judge.x]\nmodel = 1\n").contains("unknown key x in [judge]"));
}

#[test]
fn roles_of_aspects_may_be_written_with_and_without_quotes() {
    for text in [
        "[roles]\n\"aspect.coverage\" = \"a\"\n",
        "[roles]\naspect.coverage = \"a\"\n",
        "[roles.aspect]\ncoverage = \"a\"\n",
    ] {
        let file = parse(text).unwrap();
        assert_eq!(
            file.get("roles.aspect.coverage").map(|e| (e.value.clone(), e.line)),
            Some((json!("a"), 2)),
            "{text}"
        );
    }
}

#[test]
fn values_keep_their_line_and_type() {
    let file = parse("[judge]\nmodel = \"m\"\nmax_tokens = { property = 1_00 }\n\n[limits]\nrpm = 5\n").unwrap();
    assert_eq!(file.get("judge.model").map(|e| (e.value.clone(), e.line)), Some((json!("m"), 2)));
    assert_eq!(file.get("judge.max_tokens").map(|e| e.value.clone()), Some(json!({"property": 100})));
    assert_eq!(file.get("limits.rpm").map(|e| e.line), Some(6));
    assert_eq!(file.resolve(Path::new("a.json")), Path::new("dir/a.json"));
    assert_eq!(file.resolve(Path::new("/a.json")), Path::new("/a.json"));
}

#[test]
fn unknown_keys_are_all_named_with_line_and_nearest_known_key() {
    let text = message("[judge]\nmodle = \"m\"\n[limits]\nmodel = 1\n[jugde]\n");
    assert_eq!(
        text,
        "dir/my.toml:2: unknown key modle in [judge]; did you mean model?\n\
         dir/my.toml:4: unknown key model in [limits]; model belongs under [judge]\n\
         dir/my.toml:5: unknown table jugde; did you mean [judge]?"
    );
}

#[test]
fn a_key_outside_its_table_is_told_where_it_belongs() {
    assert_eq!(message("model = \"m\""), "dir/my.toml:1: unknown key model; model belongs under [judge]");
    assert_eq!(message("judge = 3"), "dir/my.toml:1: judge is not a table; write [judge] and its keys below it");
}

#[test]
fn an_api_key_in_the_file_is_refused_and_not_repeated() {
    for key in ["api_key", "apikey", "openai_api_key", "token", "API_KEY"] {
        let text = message(&format!("[judge]\n{key} = \"sk-hunter2\"\n"));
        assert!(text.contains("api_key_env = ") && text.contains(":2:") && !text.contains("hunter2"), "{text}");
    }
}

#[test]
fn a_syntax_error_names_its_line_and_does_not_repeat_the_text() {
    let text = message("[judge]\nmodel = \"m\"\nheaders = { Authorization = Bearer hunter2 }\n");
    assert!(text.starts_with("dir/my.toml:3: not valid TOML: ") && !text.contains("hunter2"), "{text}");
}
