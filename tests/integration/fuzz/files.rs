//! Files: cases, answers, results, labels, claims, prompts, configuration, and the record of a run.

use std::path::{Path, PathBuf};

use clap::{Args as _, Command, FromArgMatches as _};
use scholareval::Error;
use scholareval::cli::args::ScoreArgs;
use scholareval::cli::origin::Environment;
use scholareval::cli::settings::Settings;
use scholareval::dataset::{
    SHEET_FILE, build_test_cases, load_label_files, load_label_sheet, parse_answers, parse_aspects,
    parse_labels, parse_predictions, parse_results, parse_test_cases, render_answer,
};
use scholareval::domain::{LabelSheet, Mode};
use scholareval::facts::claims::{BlindClaim, ClaimFile, FromLine};
use scholareval::facts::{
    FeverOptions, fever, fever_files, scifact, scifact_files, scifact_modules,
};
use scholareval::prompt::{PromptSet, delimiters, injection};
use scholareval::question::Property;
use scholareval::record::{Manifest, RecordedReplies, for_each_call, load_run};
use scholareval::runs::{RunSet, disputes};
use scholareval::text::{citation_markers, punkt, sentences, tokens, words};
use scholareval::works::{Reference, Retractions, Works, index_works};

use super::driver::fuzz;

const MODES: [Mode; 2] = [Mode::Default, Mode::Compat];

/// An error says something.
#[track_caller]
fn said<T>(result: Result<T, Error>) -> Option<T> {
    result
        .map_err(|error| assert!(!error.to_string().trim().is_empty(), "{error:?}"))
        .ok()
}

fn file() -> &'static Path {
    Path::new("file")
}

#[test]
fn test_cases() {
    fuzz("test_cases", |input| {
        let text = String::from_utf8_lossy(input);
        for mode in MODES {
            said(parse_test_cases(&text, file(), mode));
        }
        said(build_test_cases(&text, file()));
        said(parse_aspects(&text, file()));
    });
}

/// Answers are judged texts: they are cut, counted and put between delimiters.
#[test]
fn answers() {
    let prompts = PromptSet::builtin();
    fuzz("answers", move |input| {
        let text = String::from_utf8_lossy(input);
        for mode in MODES {
            for answer in said(parse_answers(&text, "s".into(), file(), mode))
                .into_iter()
                .flat_map(|read| read.answers)
            {
                let again =
                    parse_answers(&render_answer(&answer), "s".into(), file(), mode).unwrap();
                assert_eq!(again.answers[0].answer_text, answer.answer_text);
            }
        }
        said(parse_predictions(&text, file()));
        for range in punkt::sentences(&text)
            .into_iter()
            .chain(sentences::simple_sentences(&text))
        {
            assert!(text.get(range.clone()).is_some(), "{range:?}");
        }
        let _ = (
            tokens::tokens(&text),
            words::word_count(&text),
            injection::signs(&text),
        );
        let _ = (
            citation_markers::number_markers(&text),
            citation_markers::author_year_markers(&text),
        );
        let _ = (
            citation_markers::citation_ids(&text),
            citation_markers::without_citations(&text),
        );
        for family in prompts.families() {
            let _ = delimiters::neutralize(&text, family.id);
        }
        let text: std::sync::Arc<str> = text.into();
        let _ = prompts.render(&Property {
            question: text.clone(),
            answer: text.clone(),
            criterion: text,
        });
    });
}

#[test]
fn results() {
    fuzz("results", |input| {
        said(parse_results(&String::from_utf8_lossy(input), file()));
    });
}

#[test]
fn labels() {
    fuzz("labels", |input| {
        let labels = said(parse_labels(&String::from_utf8_lossy(input), file()));
        for rating in labels
            .iter()
            .flat_map(|labels| &labels.raters)
            .flat_map(|rater| &rater.ratings)
        {
            assert!(rating.value.is_finite(), "{rating:?}");
        }
    });
}

/// What a rater sends back, and the sheet that it is read by.
#[test]
fn label_files() {
    let dir = tempfile::tempdir().unwrap();
    let sheet = dir.path().join(SHEET_FILE);
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/fuzz/label_files");
    let whole = std::fs::read(corpus.join("sheet.json")).unwrap();
    fuzz("label_files", move |input| {
        std::fs::write(&sheet, input).unwrap();
        said(load_label_sheet(dir.path()));
        let files = said(load_label_files(std::slice::from_ref(&sheet)));
        std::fs::write(&sheet, &whole).unwrap();
        // Its id is that of the labels, and not its own.
        let own: LabelSheet = serde_json::from_slice(&whole).unwrap();
        said(disputes(&own, &files.unwrap_or_default()));
    });
}

fn claims<T: FromLine>(input: &[u8]) {
    for mode in MODES {
        said(ClaimFile::<T>::parse(input, file(), mode));
    }
}

/// Claims, predictions and gold of SciFact and FEVER, scored where they can be read.
#[test]
fn facts() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("predictions.jsonl");
    fuzz("facts", move |input| {
        claims::<BlindClaim>(input);
        claims::<fever::FeverGold>(input);
        claims::<fever_files::Predicted>(input);
        claims::<scifact::GoldClaim>(input);
        claims::<scifact::ClaimPrediction>(input);
        claims::<scifact_modules::Retrieved>(input);
        claims::<scifact_modules::Rationales>(input);
        claims::<scifact_modules::PredictedLabels>(input);
        std::fs::write(&path, input).unwrap();
        said(scifact_files::Corpus::load(&path));
        said(scifact_files::check_submission(
            &path,
            Some(&path),
            Some(&path),
        ));
        said(fever_files::check_submission(&path, Some(&path)));
        for compat in [false, true] {
            let options = FeverOptions {
                predictions: vec![path.clone()],
                gold: Some(path.clone()),
                max_evidence: 5,
                join: fever_files::Join::default(),
                compat,
            };
            said(options.leaderboard());
        }
    });
}

/// A prompt set from elsewhere: its manifest, or one of its texts.
#[test]
fn prompts() {
    let dir = tempfile::tempdir().unwrap();
    let set = dir.path().join("set");
    PromptSet::builtin().export(&set).unwrap();
    let checkout = dir.path().join("checkout");
    std::fs::create_dir_all(checkout.join("scripts")).unwrap();
    let files = ["manifest.toml", "property.txt"]
        .map(|name| (set.join(name), std::fs::read(set.join(name)).unwrap()));
    let scripts =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/prompts/checkout/scripts");
    let scripts: Vec<(PathBuf, Vec<u8>)> = std::fs::read_dir(scripts)
        .unwrap()
        .map(|entry| entry.unwrap())
        .map(|entry| {
            (
                checkout.join("scripts").join(entry.file_name()),
                std::fs::read(entry.path()).unwrap(),
            )
        })
        .collect();
    fuzz("prompts", move |input| {
        for (path, whole) in &files {
            std::fs::write(path, input).unwrap();
            said(PromptSet::load(&set));
            std::fs::write(path, whole).unwrap();
        }
        scripts
            .iter()
            .for_each(|(path, whole)| std::fs::write(path, whole).unwrap());
        for (path, whole) in &scripts {
            std::fs::write(path, input).unwrap();
            said(PromptSet::import(&checkout));
            std::fs::write(path, whole).unwrap();
        }
        let _keep = &dir;
    });
}

/// A configuration file that came with somebody's data.
#[test]
fn configs() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("scholareval.toml");
    let command = ScoreArgs::augment_args(Command::new("score"));
    let matches = command
        .try_get_matches_from(["score", "answers", "--config", path.to_str().unwrap()])
        .unwrap();
    let args = ScoreArgs::from_arg_matches(&matches).unwrap();
    let environment = Environment::from_pairs([("HOME", dir.path().to_str().unwrap())]);
    fuzz("configs", move |input| {
        std::fs::write(&path, input).unwrap();
        if let Some(settings) = said(Settings::load(&args, |_| (), &matches, &environment)) {
            settings
                .lines
                .iter()
                .for_each(|line| drop(line.value_text()));
        }
        let _keep = &dir;
    });
}

/// The record of a run with any of its files damaged: what is still read is a score.
#[test]
fn records() {
    let dir = tempfile::tempdir().unwrap();
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/fuzz/records");
    let files = [
        "manifest.json",
        "inputs.jsonl",
        "calls.jsonl",
        "scores.jsonl",
    ]
    .map(|name| {
        (
            dir.path().join(name),
            std::fs::read(corpus.join(name)).unwrap(),
        )
    });
    files
        .iter()
        .for_each(|(path, whole)| std::fs::write(path, whole).unwrap());
    let run = [dir.path().to_path_buf()];
    fuzz("records", move |input| {
        for (path, whole) in &files {
            std::fs::write(path, input).unwrap();
            said(RecordedReplies::to_resume(&run[0]));
            if let Some(manifest) = said(Manifest::of_run(&run[0])) {
                said(RecordedReplies::of_run(&run[0], &manifest));
                said(for_each_call(&run[0], &manifest, |_| Ok(())));
            }
            for scored in said(load_run(&run[0]))
                .into_iter()
                .flat_map(|run| run.scored)
            {
                assert!(scored.score.value.is_none_or(f64::is_finite), "{scored:?}");
            }
            if let Some(set) = said(RunSet::open(&run, true)) {
                let _ = set.observe();
            }
            std::fs::write(path, whole).unwrap();
        }
        let _keep = &dir;
    });
}

/// Saved pages: each input as JSON, as an archive and as a page.
#[test]
fn sources() {
    let dir = tempfile::tempdir().unwrap();
    fuzz("sources", move |input| {
        for name in ["input.jsonl", "input.warc", "input.html"] {
            let path = dir.path().join(name);
            std::fs::write(&path, input).unwrap();
            let store = dir.path().join("sources.sqlite");
            let _ = std::fs::remove_file(&store);
            if said(scholareval::sources::index(&[path], &store)).is_some() {
                let store = scholareval::sources::PageStore::open(&store).unwrap();
                let pages = said(store.snapshots("https://example.org/a")).unwrap_or_default();
                for page in pages {
                    said(store.text(&page));
                }
            }
        }
    });
}

/// Files of works: each input is read for references, and indexed.
#[test]
fn works() {
    let dir = tempfile::tempdir().unwrap();
    let references = works_references();
    fuzz("works", move |input| {
        for name in ["input.jsonl", "input.bib"] {
            let path = dir.path().join(name);
            std::fs::write(&path, input).unwrap();
            let index = dir.path().join("works.sqlite");
            let _ = std::fs::remove_file(&index);
            let sources = [path];
            let read = said(Works::open(&sources))
                .and_then(|mut works| said(works.check(&references, &|_, _| {})));
            if said(index_works(&sources, &index, &|_, _| {})).is_some() {
                let checked = Works::open(&[index])
                    .unwrap()
                    .check(&references, &|_, _| {})
                    .unwrap();
                assert_eq!(checked.len(), read.unwrap().len());
            }
        }
    });
}

/// Lists of retractions.
#[test]
fn retractions() {
    fuzz("retractions", |input| {
        said(Retractions::parse(input, file()));
    });
}

fn works_references() -> Vec<Reference> {
    let mut titled = Reference::new("a", "");
    titled.title = "Scattering of short wavelengths".to_owned();
    titled.take_identifiers("doi:10.4321/sky.2017.1");
    let text =
        "Lee, A. (2017). Why the sky is blue at noon and red at dusk. doi:10.4321/ice.2015.9";
    vec![titled, Reference::of_text("b", "", text)]
}
