//! README and documents against the program: what they name exists, what they show is what it prints.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use assert_cmd::Command;

/// Every command that has a help of its own.
const COMMANDS: [&str; 41] = [
    "",
    "score",
    "bench",
    "plan",
    "batch export",
    "batch import",
    "batch submit",
    "batch status",
    "batch fetch",
    "check",
    "table",
    "compare",
    "rescore",
    "report",
    "config",
    "prompts",
    "prompts export",
    "prompts import",
    "prompts show",
    "cache stats",
    "cache prune",
    "cache export",
    "cache merge",
    "scifact score",
    "scifact retrieval",
    "scifact rationales",
    "scifact labels",
    "scifact merge",
    "scifact oracle",
    "scifact check",
    "fever score",
    "fever check",
    "agree",
    "citations",
    "overlap",
    "convert",
    "build-tests",
    "import",
    "export parquet",
    "export inspect",
    "shell-completions",
];

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn read(name: &str) -> String {
    fs::read_to_string(root().join(name)).unwrap()
}

/// README and everything under docs/, with names.
fn documents() -> Vec<(String, String)> {
    let mut names = vec!["README.md".to_owned(), "CHANGELOG.md".to_owned(), "data/README.md".to_owned()];
    let docs = fs::read_dir(root().join("docs")).unwrap();
    names.extend(docs.map(|entry| format!("docs/{}", entry.unwrap().file_name().to_string_lossy())));
    names.sort();
    assert!(names.len() >= 6, "{names:?}");
    names.into_iter().map(|name| (name.clone(), read(&name))).collect()
}

fn program(dir: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_scholareval"));
    command.env_clear().current_dir(dir).args(arguments);
    command
}

fn help(command: &str) -> String {
    let words: Vec<&str> = command.split_whitespace().chain(["--help"]).collect();
    let output = program(&root(), &words).output().unwrap();
    assert!(output.status.success(), "{command} --help");
    String::from_utf8(output.stdout).unwrap()
}

/// `--name` of every option in a text.
fn options(text: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for (at, _) in text.match_indices("--") {
        let opens = text[..at].chars().next_back().is_none_or(|c| !(c.is_alphanumeric() || c == '-'));
        let name: String = text[at + 2..].chars().take_while(|c| c.is_ascii_lowercase() || *c == '-').collect();
        if opens && name.starts_with(|c: char| c.is_ascii_lowercase()) {
            found.insert(format!("--{}", name.trim_end_matches('-')));
        }
    }
    found
}

/// A line without the options of other programs: of `cargo run .. -- score ..` what follows the dashes.
fn ours(line: &str) -> &str {
    let other = ["cargo ", "vllm ", "llama-server "].iter().any(|name| line.trim_start().starts_with(name));
    match (other, line.split_once(" -- ")) {
        (true, Some((_, arguments))) => arguments,
        (true, None) => "",
        (false, _) => line,
    }
}

#[test]
fn options_are_found_in_prose_and_not_in_table_rules() {
    let found = options("`--dry-run`, (`--rpm N`) --a=b |---|---| a--b --");
    assert_eq!(found.into_iter().collect::<Vec<_>>(), ["--a", "--dry-run", "--rpm"]);
    assert_eq!(ours("    cargo run --release -- score a --tests b"), "score a --tests b");
}

#[test]
fn every_option_named_in_a_document_is_in_some_commands_help() {
    let known: BTreeSet<String> = COMMANDS.iter().flat_map(|command| options(&help(command))).collect();
    assert!(known.contains("--tests") && known.contains("--into") && known.len() > 40, "{known:?}");
    for (name, text) in documents() {
        for line in text.lines() {
            let unknown: Vec<_> = options(ours(line)).difference(&known).cloned().collect();
            assert!(unknown.is_empty(), "{name} names {unknown:?}, which no help has: {line}");
        }
    }
}

#[test]
fn every_command_line_of_the_readme_has_only_options_of_its_command() {
    let readme = read("README.md");
    let lines: Vec<&str> =
        readme.lines().filter_map(|line| ours(line.strip_prefix("    ")?).strip_prefix("scholareval ")).collect();
    assert!(lines.len() >= 12, "{lines:?}");
    for line in lines {
        let command = COMMANDS
            .iter()
            .filter(|command| !command.is_empty() && line.starts_with(**command))
            .max_by_key(|command| command.len())
            .unwrap_or_else(|| panic!("no such command: {line}"));
        let unknown: Vec<_> = options(line).difference(&options(&help(command))).cloned().collect();
        assert!(unknown.is_empty(), "{unknown:?} is not in the help of {command}: {line}");
    }
}

#[test]
fn the_readmes_first_output_is_what_its_command_prints() {
    let readme = read("README.md");
    assert!(
        readme.contains("    cargo run --release -- score data/answers --tests data/test_cases.json\n    cargo test\n")
    );
    let (_, rest) = readme.split_once("```text\n").unwrap();
    let (shown, _) = rest.split_once("\n```\n").unwrap();
    let dir = tempfile::tempdir().unwrap();
    let data = root().join("data");
    let (answers, tests) = (data.join("answers"), data.join("test_cases.json"));
    let arguments = ["score", answers.to_str().unwrap(), "--tests", tests.to_str().unwrap()];
    let output = program(dir.path(), &arguments).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(shown, String::from_utf8(output.stdout).unwrap().trim_end());
}

#[test]
fn the_readmes_commands_on_the_sample_data_run_without_a_key_or_a_server() {
    let dir = tempfile::tempdir().unwrap();
    let documents = read("README.md") + &read("data/README.md");
    let shown = documents.lines().filter_map(|line| line.strip_prefix("    "));
    let of_samples = shown.filter(|line| line.contains(" data/"));
    let of_samples: Vec<&str> = of_samples.map(|line| ours(line).trim_start_matches("scholareval ")).collect();
    assert!(of_samples.len() >= 7, "{of_samples:?}");
    for line in of_samples {
        let in_clone = |word: &str| match word.starts_with("data/") {
            true => root().join(word).display().to_string(),
            false => word.to_owned(),
        };
        let arguments: Vec<String> = line.split_whitespace().map(in_clone).collect();
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let output = program(dir.path(), &arguments).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && !said.contains("error"), "{line}: {said}");
        let printed = String::from_utf8(output.stdout).unwrap();
        let both = |one: &str, other: &str| printed.contains(one) && printed.contains(other);
        assert!(both("careful", "vague") || both("sourced", "loose"), "{line}: {printed}");
    }
}

#[test]
fn the_exit_codes_are_those_of_the_help() {
    let help = help("");
    let (_, table) = help.split_once("Exit codes:\n").unwrap();
    let (readme, formats) = (read("README.md"), read("docs/formats.md"));
    let rows: Vec<&str> = table.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    assert_eq!(rows.len(), 8);
    for row in rows {
        let (code, meaning) = row.split_once("  ").unwrap();
        assert!(readme.contains(&format!("| {code} | {meaning}")), "README.md: {row}");
        assert!(formats.contains(&format!("| {code} | ")), "docs/formats.md: {row}");
    }
}

#[test]
fn formats_hold_the_whole_config_file_and_every_environment_variable() {
    let formats = read("docs/formats.md");
    assert!(
        formats.contains(read("src/cli/example.toml").trim_end()),
        "src/cli/example.toml is not in docs/formats.md"
    );
    let help = help("score");
    let variables: BTreeSet<&str> = help
        .split(|c: char| !(c.is_ascii_uppercase() || c == '_'))
        .filter(|word| word.starts_with("SCHOLAREVAL_") || word.starts_with("OPENAI_"))
        .collect();
    assert!(variables.len() > 8, "{variables:?}");
    for variable in variables {
        assert!(formats.contains(&format!("`{variable}`")), "docs/formats.md lacks {variable}");
    }
}

/// The head of every table of the reference's faults.
const FAULTS: &str = "| fault | the reference | here | tests |\n";

#[test]
fn every_test_named_beside_a_reference_fault_exists() {
    let mut sources = String::new();
    let mut open = vec![root().join("src"), root().join("tests")];
    while let Some(path) = open.pop() {
        if path.is_dir() {
            open.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            sources.push_str(&fs::read_to_string(&path).unwrap());
        }
    }
    let metrics = read("docs/metrics.md");
    assert_eq!(
        metrics.matches("| tests |").count(),
        metrics.matches(FAULTS).count(),
        "a table of faults with another head"
    );
    let tables = metrics.split(FAULTS).skip(1);
    let rows_of = |table| str::lines(table).skip(1).take_while(|line| line.starts_with('|'));
    let rows: Vec<&str> = tables.flat_map(rows_of).collect();
    assert!(rows.len() >= 14, "{rows:?}");
    for row in rows {
        let cell = row.trim_end_matches([' ', '|']).rsplit(" | ").next().unwrap();
        let names: Vec<&str> = cell.split('`').skip(1).step_by(2).collect();
        assert!(!names.is_empty(), "no test is named: {row}");
        for name in names {
            assert!(sources.contains(&format!("fn {name}(")), "no test {name}: {row}");
        }
    }
}

#[test]
fn the_config_file_among_the_examples_is_accepted_and_gives_every_role_its_judge() {
    let file = root().join("examples/eval.toml");
    let dir = tempfile::tempdir().unwrap();
    let output = program(dir.path(), &["config", "--config", file.to_str().unwrap()]).output().unwrap();
    let shown = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let value = |key: &str| shown.lines().find_map(|line| line.strip_prefix(key)?.split_whitespace().next());
    let roles = ["roles.rubric = ", "roles.aspect = ", "roles.aspect.relevance = ", "roles.citation = "].map(value);
    assert_eq!(roles, ["judge", "prometheus-bgb", "prometheus", "attrscore"].map(Some), "{shown}");
}

#[test]
fn every_link_of_the_documents_leads_to_a_file() {
    for (name, text) in documents() {
        let folder = root().join(&name).parent().unwrap().to_path_buf();
        for (at, _) in text.match_indices("](") {
            let target = text[at + 2..].split(')').next().unwrap();
            let file = target.split('#').next().unwrap();
            let is_there = target.starts_with("http") || file.is_empty() || folder.join(file).exists();
            assert!(is_there, "{name} links to {target}");
        }
    }
}
