//! The layers: imports run down only and in no circle, and outside crates stay in the rooms that own them. The tables here
//! are the ones of `docs/design.md`.

mod source;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use source::{PathUse, code_only, paths, without_tests};

/// Which rooms a room may use besides itself and `error`.
const MAY_USE: &[(&str, &[&str])] = &[
    ("error", &[]),
    ("files", &["domain", "text"]),
    ("text", &[]),
    ("stats", &[]),
    ("domain", &["text"]),
    ("question", &["domain", "text"]),
    ("dataset", &["files", "domain", "text", "question"]),
    ("prompt", &["files", "domain", "text", "question"]),
    ("judge", &["files", "domain", "text", "question", "prompt"]),
    ("scorer", &["domain", "text", "stats", "question"]),
    ("facts", &["files", "domain", "text", "stats", "dataset"]),
    ("sources", &["files", "domain", "text"]),
    ("works", &["files", "text", "dataset", "domain", "sources"]),
    (
        "analysis",
        &["domain", "text", "stats", "scorer", "dataset"],
    ),
    (
        "record",
        &[
            "files", "domain", "text", "question", "dataset", "prompt", "judge", "scorer",
            "sources", "analysis",
        ],
    ),
    (
        "evaluation",
        &[
            "files", "domain", "text", "stats", "question", "dataset", "prompt", "judge", "scorer",
            "sources", "works", "analysis", "record",
        ],
    ),
    (
        "runs",
        &[
            "files",
            "domain",
            "text",
            "stats",
            "question",
            "dataset",
            "prompt",
            "judge",
            "scorer",
            "sources",
            "analysis",
            "record",
            "evaluation",
        ],
    ),
    (
        "report",
        &[
            "files",
            "domain",
            "text",
            "stats",
            "dataset",
            "scorer",
            "facts",
            "analysis",
            "record",
            "evaluation",
            "runs",
        ],
    ),
];

/// Rooms at the top, which may use everything: the command line, and the crate's roots.
const TOP: &[&str] = &["cli", "lib", "main"];

/// Rooms that never wait for anything: no runtime, no network, no database.
const WITHOUT_RUNTIME: &[&str] = &[
    "domain", "text", "stats", "question", "dataset", "scorer", "facts", "analysis", "report",
];

/// Rooms that open no file.
const WITHOUT_FILES: &[&str] = &["domain", "text", "stats", "question", "scorer", "analysis"];

/// What only the command line may touch.
const ONLY_CLI: &[&str] = &[
    "clap_complete",
    "std::env",
    "std::process::exit",
    "process::exit",
];

/// Crates (and the module) that wait.
const RUNTIME: &[&str] = &["tokio", "reqwest", "async_openai", "rusqlite", "std::net"];

/// Macros that print.
const PRINTING: &[&str] = &["print!", "println!", "eprint!", "eprintln!", "dbg!"];

/// One source file, its path relative to the package.
struct Source {
    path: PathBuf,
    text: String,
}

fn sources_under(folder: &str) -> Vec<Source> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut open = vec![root.join(folder)];
    let mut found = Vec::new();
    while let Some(path) = open.pop() {
        if path.is_dir() {
            open.extend(
                std::fs::read_dir(&path)
                    .unwrap()
                    .map(|entry| entry.unwrap().path()),
            );
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = std::fs::read_to_string(&path).unwrap();
            found.push(Source {
                path: path.strip_prefix(root).unwrap().to_path_buf(),
                text,
            });
        }
    }
    found.sort_by(|left, right| left.path.cmp(&right.path));
    found
}

/// The module path of a file under `src`: `src/judge/layers/cached.rs` is `[judge, layers, cached]`.
fn module_of(path: &Path) -> Vec<String> {
    let mut parts: Vec<String> = path
        .with_extension("")
        .iter()
        .skip(1)
        .map(|part| part.to_string_lossy().into_owned())
        .collect();
    if parts.last().is_some_and(|last| last == "mod") {
        parts.pop();
    }
    parts
}

/// The room (first module) that a path of this crate leads to; `None` for every other path.
fn room_used(path: &PathUse, module: &[String]) -> Option<String> {
    if path.starts_with("crate") {
        return path.segments.get(1).cloned();
    }
    let ups = path
        .segments
        .iter()
        .take_while(|segment| *segment == "super")
        .count();
    // `lib` and `main` are the root themselves; elsewhere one `super` goes up one module
    (ups > 0 && ups == module.len())
        .then(|| path.segments.get(ups).cloned())
        .flatten()
}

/// What one file breaks, as lines `path:line: what`.
fn faults_of(source: &Source) -> Vec<String> {
    let module = module_of(&source.path);
    let room = module[0].as_str();
    if TOP.contains(&room) {
        return Vec::new();
    }
    let at = |line: usize, what: String| format!("{}:{line}: {what}", source.path.display());
    let Some((_, may_use)) = MAY_USE.iter().find(|(name, _)| *name == room) else {
        return vec![at(
            1,
            format!(
                "room `{room}` is not in the table; give it a row and say why in docs/design.md"
            ),
        )];
    };
    let (code, _) = without_tests(&code_only(&source.text));
    let mut faults = Vec::new();
    for path in paths(&code) {
        let mut refuse =
            |why: &str| faults.push(at(path.line, format!("`{}`: {why}", path.text())));
        if let Some(used) = room_used(&path, &module) {
            let is_room =
                TOP.contains(&used.as_str()) || MAY_USE.iter().any(|(name, _)| *name == used);
            if is_room && used != room && used != "error" && !may_use.contains(&used.as_str()) {
                refuse(&format!("{room} may not use {used}"));
            }
        }
        let begins = |with: &[&str]| with.iter().any(|prefix| path.starts_with(prefix));
        if begins(ONLY_CLI) {
            refuse("only cli may");
        }
        if WITHOUT_RUNTIME.contains(&room) && begins(RUNTIME) {
            refuse(&format!("{room} needs no runtime"));
        }
        if WITHOUT_FILES.contains(&room) && path.starts_with("std::fs") {
            refuse(&format!("{room} opens no file"));
        }
    }
    faults.extend(
        printing(&code)
            .into_iter()
            .map(|(line, name)| at(line, format!("`{name}`: only cli prints"))),
    );
    faults
}

fn printing(code: &str) -> Vec<(usize, &'static str)> {
    let in_line = |line: &str, name: &str| {
        line.match_indices(name)
            .any(|(at, _)| !line[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_'))
    };
    let lines = code.lines().enumerate();
    lines
        .flat_map(|(at, line)| {
            PRINTING
                .iter()
                .filter(move |name| in_line(line, name))
                .map(move |n| (at + 1, *n))
        })
        .collect()
}

/// Files that are compiled for tests only (`#[cfg(test)] mod tests;`), as path prefixes.
fn test_only(sources: &[Source]) -> BTreeSet<PathBuf> {
    let mut prefixes = BTreeSet::new();
    for source in sources {
        let module = module_of(&source.path);
        let is_root = module.len() == 1 && (module[0] == "lib" || module[0] == "main");
        let folder = if is_root {
            PathBuf::from("src")
        } else {
            Path::new("src").join(module.iter().collect::<PathBuf>())
        };
        let (_, names) = without_tests(&code_only(&source.text));
        prefixes.extend(names.into_iter().map(|name| folder.join(name)));
    }
    prefixes
}

fn report(faults: &[String]) -> String {
    faults.iter().fold(String::new(), |mut text, fault| {
        let _ = write!(text, "\n  {fault}");
        text
    })
}

#[test]
fn imports_run_down_only_and_outside_things_stay_in_their_rooms() {
    let sources = sources_under("src");
    assert!(
        sources.len() > 20,
        "only {} files found: is this the package?",
        sources.len()
    );
    let exempt = test_only(&sources);
    let is_exempt = |source: &&Source| {
        !exempt
            .iter()
            .any(|prefix| source.path.with_extension("").starts_with(prefix))
    };
    let faults: Vec<String> = sources
        .iter()
        .filter(is_exempt)
        .flat_map(faults_of)
        .collect();
    assert!(
        faults.is_empty(),
        "{} walls are broken:{}",
        faults.len(),
        report(&faults)
    );
}

/// The files that each file imports, by the modules of both. A path leads to the file of the deepest module it names;
/// re-exports (`pub use child::Item`) are not imports.
fn imports(sources: &[Source]) -> Imports {
    let modules: BTreeSet<Vec<String>> = sources
        .iter()
        .map(|source| module_of(&source.path))
        .collect();
    let of_source = |source: &Source| {
        let module = module_of(&source.path);
        let (code, _) = without_tests(&code_only(&source.text));
        let target = |path: PathUse| {
            let ups = path
                .segments
                .iter()
                .take_while(|segment| *segment == "super")
                .count();
            let base = match path.segments.first()?.as_str() {
                "crate" => &[],
                "super" => module.get(..module.len().checked_sub(ups)?)?,
                _ => return None,
            };
            let rest = path.segments.iter().skip(ups.max(1)).cloned();
            let mut target: Vec<String> = base.iter().cloned().chain(rest).collect();
            while !modules.contains(&target) {
                target.pop()?;
            }
            Some(target).filter(|target| *target != module)
        };
        let targets = paths(&code).into_iter().filter_map(target).collect();
        (module.clone(), targets)
    };
    sources.iter().map(of_source).collect()
}

type Imports = BTreeMap<Vec<String>, BTreeSet<Vec<String>>>;

/// What a file imports, directly or through others.
fn reached<'a>(imports: &'a Imports, from: &'a Vec<String>) -> BTreeSet<&'a Vec<String>> {
    let (mut seen, mut open) = (BTreeSet::new(), vec![from]);
    while let Some(module) = open.pop() {
        open.extend(
            imports
                .get(module)
                .into_iter()
                .flatten()
                .filter(|next| seen.insert(*next)),
        );
    }
    seen
}

/// Sets of files that import each other, directly or through others.
fn circles(imports: &Imports) -> BTreeSet<Vec<String>> {
    let reach: BTreeMap<_, _> = imports
        .keys()
        .map(|from| (from, reached(imports, from)))
        .collect();
    let circle_of = |from: &&Vec<String>| {
        let mutual = reach[from]
            .iter()
            .filter(|to| reach.get(**to).is_some_and(|back| back.contains(from)));
        mutual.map(|module| module.join("/")).collect::<Vec<_>>()
    };
    reach
        .keys()
        .map(circle_of)
        .filter(|circle| !circle.is_empty())
        .collect()
}

#[test]
fn no_files_import_each_other_in_a_circle() {
    let sources = sources_under("src");
    let exempt = test_only(&sources);
    let is_exempt = |source: &Source| {
        exempt
            .iter()
            .any(|prefix| source.path.with_extension("").starts_with(prefix))
    };
    let sources: Vec<Source> = sources
        .into_iter()
        .filter(|source| !is_exempt(source))
        .collect();
    let found = circles(&imports(&sources));
    assert!(found.is_empty(), "circles of imports: {found:#?}");
}

#[test]
fn a_circle_is_found_through_other_files_and_a_re_export_is_none() {
    let source = |path: &str, text: &str| Source {
        path: PathBuf::from(path),
        text: text.to_owned(),
    };
    let made = |last: &str| {
        circles(&imports(&[
            source("src/cli/mod.rs", "mod a;\npub use a::A;"),
            source("src/cli/a.rs", "use super::b::B;"),
            source("src/cli/b.rs", "use crate::cli::c::{C, D};"),
            source("src/cli/c.rs", last),
        ]))
    };
    assert_eq!(made("use super::A;"), BTreeSet::new());
    let circle = ["cli/a", "cli/b", "cli/c"].map(str::to_owned).to_vec();
    assert_eq!(made("fn f() -> super::a::A {}"), BTreeSet::from([circle]));
}

#[test]
fn every_room_of_the_library_has_a_row_in_the_table() {
    let lib = sources_under("src")
        .into_iter()
        .find(|source| source.path.ends_with("lib.rs"))
        .unwrap();
    let code = code_only(&lib.text);
    let declared = code
        .lines()
        .filter_map(|line| line.trim().strip_prefix("pub mod ")?.strip_suffix(';'));
    let unknown: Vec<&str> = declared
        .filter(|name| !TOP.contains(name) && !MAY_USE.iter().any(|(room, _)| room == name))
        .collect();
    assert!(unknown.is_empty(), "no row for {unknown:?}");
}

/// The checker itself: what one made-up file breaks, without its path.
fn faults_in(path: &str, text: &str) -> Vec<String> {
    let source = Source {
        path: PathBuf::from(path),
        text: text.to_owned(),
    };
    faults_of(&source)
        .into_iter()
        .map(|fault| fault.trim_start_matches(path).to_owned())
        .collect()
}

#[test]
fn an_upward_import_is_found_in_every_spelling() {
    let told = [":1: `crate::judge::Judge`: scorer may not use judge"];
    assert_eq!(
        faults_in("src/scorer/rubric.rs", "use crate::judge::Judge;"),
        told
    );
    assert_eq!(
        faults_in(
            "src/scorer/rubric.rs",
            "use crate::{domain::Score, judge::{Judge}};"
        ),
        told
    );
    assert_eq!(
        faults_in(
            "src/scorer/rubric.rs",
            "fn f(judge: &dyn crate::judge::Judge) {}"
        ),
        told
    );
    let by_super = faults_in("src/scorer/rubric.rs", "use super::super::judge::Judge;");
    assert_eq!(
        by_super,
        [":1: `super::super::judge::Judge`: scorer may not use judge"]
    );
    let of_mod = faults_in("src/scorer/mod.rs", "\nuse super::cli::run;");
    assert_eq!(of_mod, [":2: `super::cli::run`: scorer may not use cli"]);
}

#[test]
fn a_downward_import_the_own_room_and_the_error_are_allowed() {
    let text = "use crate::domain::Score;\nuse crate::error::Error;\nuse crate::Result;\nuse super::judge::own_module;";
    assert_eq!(
        faults_in("src/scorer/rubric.rs", text),
        Vec::<String>::new()
    );
    assert_eq!(
        faults_in(
            "src/cli/run.rs",
            "use crate::evaluation::run; use std::env; use clap::Parser;"
        ),
        [""; 0]
    );
}

#[test]
fn comments_strings_and_test_modules_are_not_code() {
    let text = "//! See [`crate::judge`].\n/* crate::cli::x /* nested */ println!() */\n\
                const A: &str = \"crate::judge::x \\\" std::env::var\"; const B: &str = r#\"crate::cli::\"y\" {\"#;\n\
                const C: char = '\"'; fn f<'a>(x: &'a str) {}\n\
                #[cfg(test)]\nmod tests { use crate::judge::Judge; fn f() { println!(\"{}\", '{'); } }\n\
                #[cfg(test)]\nuse crate::{judge::A, cli::B};\nuse std::env;";
    assert_eq!(
        faults_in("src/scorer/rubric.rs", text),
        [":9: `std::env`: only cli may"]
    );
}

#[test]
fn a_file_declared_for_tests_only_is_exempt() {
    let source = |path: &str, text: &str| Source {
        path: PathBuf::from(path),
        text: text.to_owned(),
    };
    let found = test_only(&[
        source("src/judge/mod.rs", "#[cfg(test)]\npub(crate) mod stub;"),
        source("src/lib.rs", ""),
    ]);
    assert_eq!(
        found.into_iter().collect::<Vec<_>>(),
        [PathBuf::from("src/judge/stub")]
    );
}

#[test]
fn what_belongs_to_the_command_line_is_refused_elsewhere() {
    let printed = faults_in(
        "src/judge/chat.rs",
        "fn f() { eprintln!(\"x\"); my_println!(); }",
    );
    assert_eq!(printed, [":1: `eprintln!`: only cli prints"]);
    assert_eq!(
        faults_in("src/evaluation/run.rs", "use std::{env, fs};"),
        [":1: `std::env`: only cli may"]
    );
    assert_eq!(
        faults_in("src/judge/a.rs", "fn f() { std::process::exit(1) }"),
        [":1: `std::process::exit`: only cli may"]
    );
    assert_eq!(
        faults_in("src/analysis/csv.rs", "use std::fs::File;"),
        [":1: `std::fs::File`: analysis opens no file"]
    );
    assert_eq!(
        faults_in("src/dataset/a.rs", "use tokio::sync;"),
        [":1: `tokio::sync`: dataset needs no runtime"]
    );
    assert_eq!(faults_in("src/dataset/a.rs", "use std::fs::File;"), [""; 0]);
}
