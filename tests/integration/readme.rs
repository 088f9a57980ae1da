//! README and documents against the program: what they name exists, what they show is what it prints.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use assert_cmd::Command;
use tempfile::TempDir;

use crate::import_logs::sample_log;
use crate::sources::sample_archive;
use crate::support::fake_server::{Act, Behaviour, FakeServer, Recorded};
use crate::support::judging::section;

/// Every command that has a help of its own.
const COMMANDS: [&str; 52] = [
    "",
    "certify",
    "demo",
    "score",
    "pairs",
    "bench",
    "probe",
    "plan",
    "batch export",
    "batch import",
    "batch submit",
    "batch fetch",
    "check",
    "table",
    "plot",
    "compare",
    "rescore",
    "report",
    "config",
    "prompts",
    "prompts export",
    "prompts import",
    "prompts show",
    "rubrics list",
    "rubrics show",
    "rubrics check",
    "sources index",
    "sources show",
    "sources coverage",
    "sources missing",
    "cache stats",
    "cache merge",
    "scifact score",
    "scifact retrieval",
    "scifact rationales",
    "scifact labels",
    "scifact check",
    "fever score",
    "fever check",
    "label",
    "agree",
    "criteria",
    "citations",
    "overlap",
    "convert",
    "build-tests",
    "import",
    "export parquet",
    "export inspect",
    "export inspect-scores",
    "export eee",
    "shell-completions",
];

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn read(name: &str) -> String {
    fs::read_to_string(root().join(name)).unwrap()
}

/// The pages in a directory, with its name.
fn pages(directory: &str) -> Vec<String> {
    let entries = fs::read_dir(root().join(directory)).unwrap();
    let mut names: Vec<String> = entries
        .map(|entry| {
            format!(
                "{directory}/{}",
                entry.unwrap().file_name().to_string_lossy()
            )
        })
        .filter(|name| name.ends_with(".md"))
        .collect();
    names.sort();
    names
}

/// README and everything under docs/, with names.
fn documents() -> Vec<(String, String)> {
    let mut names = vec![
        "README.md".to_owned(),
        "CHANGELOG.md".to_owned(),
        "data/README.md".to_owned(),
    ];
    for directory in ["docs", "docs/metrics", "docs/formats"] {
        names.extend(pages(directory));
    }
    assert!(names.len() >= 40, "{names:?}");
    names
        .into_iter()
        .map(|name| (name.clone(), read(&name)))
        .collect()
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
        let opens = text[..at]
            .chars()
            .next_back()
            .is_none_or(|c| !(c.is_alphanumeric() || c == '-'));
        let name: String = text[at + 2..]
            .chars()
            .take_while(|c| c.is_ascii_lowercase() || *c == '-')
            .collect();
        if opens && name.starts_with(|c: char| c.is_ascii_lowercase()) {
            found.insert(format!("--{}", name.trim_end_matches('-')));
        }
    }
    found
}

/// A line without the options of other programs: of `cargo run .. -- score ..` what follows the dashes.
fn ours(line: &str) -> &str {
    let other = ["cargo ", "vllm ", "llama-server ", "wget "]
        .iter()
        .any(|name| line.trim_start().starts_with(name));
    match (other, line.split_once(" -- ")) {
        (true, Some((_, arguments))) => arguments,
        (true, None) => "",
        (false, _) => line,
    }
}

#[test]
fn options_are_found_in_prose_and_not_in_table_rules() {
    let found = options("`--dry-run`, (`--rpm N`) --a=b |---|---| a--b --");
    assert_eq!(
        found.into_iter().collect::<Vec<_>>(),
        ["--a", "--dry-run", "--rpm"]
    );
    assert_eq!(
        ours("    cargo run --release -- score a --tests b"),
        "score a --tests b"
    );
}

#[test]
fn every_option_named_in_a_document_is_in_some_commands_help() {
    let known: BTreeSet<String> = COMMANDS
        .iter()
        .flat_map(|command| options(&help(command)))
        .collect();
    assert!(
        known.contains("--tests") && known.contains("--into") && known.len() > 40,
        "{known:?}"
    );
    for (name, text) in documents() {
        for line in text.lines() {
            let unknown: Vec<_> = options(ours(line)).difference(&known).cloned().collect();
            assert!(
                unknown.is_empty(),
                "{name} names {unknown:?}, which no help has: {line}"
            );
        }
    }
}

/// The indented commands of a document, in their order.
fn commands(document: &str) -> Vec<String> {
    let indented = document
        .lines()
        .filter_map(|line| line.strip_prefix("    "))
        .map(str::to_owned);
    indented
        .filter(|line| {
            ["scholareval ", "cargo run --release -- "]
                .iter()
                .any(|name| line.starts_with(name))
        })
        .collect()
}

/// What a command prints to standard output, run by a shell in `dir` with a server that any model name leads to.
fn run_in_shell(dir: &Path, line: &str, server: &FakeServer) -> String {
    let line = line.replace("cargo run --release -- ", "scholareval ");
    let folder = Path::new(env!("CARGO_BIN_EXE_scholareval"))
        .parent()
        .unwrap();
    let path = format!("{}:{}", folder.display(), std::env::var("PATH").unwrap());
    let output = Command::new("sh")
        .env_clear()
        .envs([
            ("PATH", path),
            ("OPENAI_BASE_URL", server.base_url()),
            ("OPENAI_API_KEY", "sk-guide-0123".to_owned()),
            ("JUDGE", "the-judge-of-the-page".to_owned()),
        ])
        .current_dir(dir)
        .args(["-c", &line])
        .output()
        .unwrap();
    let messages = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success() && !messages.contains("error:"),
        "{line}: {messages}"
    );
    String::from_utf8(output.stdout).unwrap()
}

/// A judge that also grades aspects and decides whether sources support claims.
fn judge_of_everything() -> Behaviour {
    let has = |name: &'static str| move |request: &Recorded| !section(request, name).is_empty();
    let grade = Act::Content("Feedback: clear. [RESULT] 4".to_owned());
    Behaviour::good()
        .when(has("claim"), Act::Content("Attributable".to_owned()))
        .when(has("rubric"), grade)
}

/// A clone as the documents expect it: the sample data, the examples, and checkouts of the scripts of three benchmarks.
fn clone_for_documents() -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    for (name, place) in [
        ("data", "data"),
        ("examples", "examples"),
        ("tests/fixtures/prompts/checkout", "ScholarQABench"),
        ("tests/fixtures/prompts/asta-bench", "asta-bench"),
        (
            "tests/fixtures/prompts/deep_research_bench",
            "deep_research_bench",
        ),
    ] {
        std::os::unix::fs::symlink(root().join(name), dir.path().join(place)).unwrap();
    }
    for name in ["my-system.eval", "other-system.eval"] {
        fs::write(dir.path().join(name), sample_log()).unwrap();
    }
    // What a crawler left.
    fs::write(dir.path().join("crawl.warc.gz"), sample_archive()).unwrap();
    dir
}

#[test]
fn the_commands_of_readme_and_guide_run_and_the_first_ones_print_what_is_shown() {
    for name in ["README.md", "docs/guide.md", "data/README.md"] {
        let document = read(name);
        let (dir, server) = (
            clone_for_documents(),
            FakeServer::start(judge_of_everything()),
        );
        let mut shown = document
            .split("```text\n")
            .skip(1)
            .map(|rest| rest.split_once("\n```").unwrap().0);
        let lines = commands(&document);
        assert!(lines.len() >= 3, "{name}: {lines:?}");
        for line in lines {
            let printed = run_in_shell(dir.path(), &line, &server);
            if let Some(shown) = shown.next() {
                assert_eq!(shown, printed.trim_end(), "{name}: {line}");
            }
        }
    }
}

#[test]
fn the_citation_names_this_version_and_the_authors_of_the_license() {
    let version = env!("CARGO_PKG_VERSION");
    let readme = read("README.md");
    let (_, entry) = readme.split_once("```bibtex\n").unwrap();
    let (entry, _) = entry.split_once("```").unwrap();
    assert!(entry.contains(&format!("version {version}}}")), "{entry}");
    let citation = read("CITATION.cff");
    assert!(citation.contains(&format!("\nversion: {version}\n")));
    let title = "scores for long-form answers to scientific questions";
    for text in [entry, &citation] {
        assert!(text.contains("The scholareval authors") && text.contains(title));
    }
    assert!(read("LICENSE-MIT").contains("the scholareval authors"));
}

#[test]
fn score_and_compare_explain_the_columns_of_their_tables_in_lines_that_fit() {
    let expected = [
        ("score", &["answers", "missing", "unscored", "*"][..]),
        ("compare", &["W/T/L", "d_z", "p alone"]),
        ("criteria", &["lowest", "reliable"]),
    ];
    for (command, headings) in expected {
        let help = help(command);
        let (_, columns) = help.split_once("\nColumns:\n").unwrap();
        let (columns, _) = columns.split_once("\n\n").unwrap();
        for heading in headings {
            let is_explained = |line: &str| line.starts_with(&format!("  {heading}  "));
            assert!(columns.lines().any(is_explained), "{heading}: {columns}");
        }
        let widest = columns.lines().map(|line| line.chars().count()).max();
        assert!(widest <= Some(80), "{columns}");
    }
}

#[test]
fn the_exit_codes_are_those_of_the_help() {
    let help = help("");
    let (_, table) = help.split_once("Exit codes:\n").unwrap();
    let codes = read("docs/formats/exit-codes.md");
    let rows: Vec<&str> = table
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .collect();
    assert_eq!(rows.len(), 9);
    for row in rows {
        let (code, meaning) = row.split_once("  ").unwrap();
        assert!(
            codes.contains(&format!("| {code} | {meaning}")),
            "docs/formats/exit-codes.md: {row}"
        );
    }
}

#[test]
fn formats_hold_the_whole_config_file_and_every_environment_variable() {
    let config = read("docs/formats/config.md");
    assert!(
        config.contains(read("src/cli/example.toml").trim_end()),
        "src/cli/example.toml is not in docs/formats/config.md"
    );
    let help = help("score");
    let variables: BTreeSet<&str> = help
        .split(|c: char| !(c.is_ascii_uppercase() || c == '_'))
        .filter(|word| word.starts_with("SCHOLAREVAL_") || word.starts_with("OPENAI_"))
        .collect();
    assert!(variables.len() > 8, "{variables:?}");
    for variable in variables {
        assert!(
            config.contains(&format!("`{variable}`")),
            "docs/formats/config.md does not have {variable}"
        );
    }
}

/// The head of every table of the reference's faults.
const FAULTS: &str = "| fault | the reference | here | tests |\n";

#[test]
fn every_test_named_beside_a_reference_fault_exists() {
    let mut sources = String::new();
    let mut open: Vec<_> = ["src", "crates", "tests"]
        .map(|name| root().join(name))
        .into();
    while let Some(path) = open.pop() {
        if path.is_dir() {
            open.extend(
                fs::read_dir(&path)
                    .unwrap()
                    .map(|entry| entry.unwrap().path()),
            );
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            sources.push_str(&fs::read_to_string(&path).unwrap());
        }
    }
    let metrics: String = pages("docs/metrics")
        .iter()
        .map(|name| read(name))
        .collect();
    assert_eq!(
        metrics.matches("| tests |").count(),
        metrics.matches(FAULTS).count(),
        "a table of faults with another head"
    );
    let tables = metrics.split(FAULTS).skip(1);
    let rows_of = |table| {
        str::lines(table)
            .skip(1)
            .take_while(|line| line.starts_with('|'))
    };
    let rows: Vec<&str> = tables.flat_map(rows_of).collect();
    assert!(rows.len() >= 14, "{rows:?}");
    for row in rows {
        let cell = row
            .trim_end_matches([' ', '|'])
            .rsplit(" | ")
            .next()
            .unwrap();
        let names: Vec<&str> = cell.split('`').skip(1).step_by(2).collect();
        assert!(!names.is_empty(), "no test is named: {row}");
        for name in names {
            assert!(
                sources.contains(&format!("fn {name}(")),
                "no test {name}: {row}"
            );
        }
    }
}

#[test]
fn the_config_file_among_the_examples_is_accepted_and_gives_every_role_its_judge() {
    let file = root().join("examples/eval.toml");
    let dir = tempfile::tempdir().unwrap();
    let output = program(dir.path(), &["config", "--config", file.to_str().unwrap()])
        .output()
        .unwrap();
    let shown = String::from_utf8(output.stdout).unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let value = |key: &str| {
        shown
            .lines()
            .find_map(|line| line.strip_prefix(key)?.split_whitespace().next())
    };
    let roles = [
        "roles.rubric = ",
        "roles.aspect = ",
        "roles.aspect.relevance = ",
        "roles.citation = ",
    ]
    .map(value);
    assert_eq!(
        roles,
        ["judge", "prometheus-bgb", "prometheus", "attrscore"].map(Some),
        "{shown}"
    );
}

/// The anchors of a page's headings, as GitHub and mdbook make them.
fn anchors(page: &str) -> BTreeSet<String> {
    let mut is_code = false;
    let headings = page.lines().filter(|line| {
        is_code ^= line.starts_with("```");
        !is_code && line.starts_with('#')
    });
    headings
        .map(|line| {
            let heading = line.trim_start_matches('#').trim().to_lowercase();
            let kept = |c: &char| c.is_alphanumeric() || ['-', '_'].contains(c);
            heading.replace(' ', "-").chars().filter(kept).collect()
        })
        .collect()
}

#[test]
fn every_link_of_the_documents_leads_to_a_file_and_a_heading() {
    for (name, text) in documents() {
        let folder = root().join(&name).parent().unwrap().to_path_buf();
        for (at, _) in text.match_indices("](") {
            let target = text[at + 2..].split(')').next().unwrap();
            if target.starts_with("http") {
                continue;
            }
            let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
            let path = if file.is_empty() {
                root().join(&name)
            } else {
                folder.join(file)
            };
            assert!(path.exists(), "{name} links to {target}");
            if !anchor.is_empty() {
                let page = fs::read_to_string(path).unwrap();
                assert!(anchors(&page).contains(anchor), "{name} links to {target}");
            }
        }
    }
}

#[test]
fn every_page_of_metrics_and_formats_is_short_and_in_the_index_and_the_book() {
    let book = read("docs/SUMMARY.md");
    for part in ["metrics", "formats"] {
        let index = read(&format!("docs/{part}.md"));
        for name in pages(&format!("docs/{part}")) {
            let words = read(&name).split_whitespace().count();
            assert!(words < 2500, "{name} has {words} words");
            let link = format!("]({}", name.strip_prefix("docs/").unwrap());
            assert!(index.contains(&link) && book.contains(&link), "{name}");
        }
    }
}
