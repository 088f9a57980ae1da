//! What sentences and ROUGE cost, beside NLTK and google's `rouge_score` on the same input in one run.
//!
//! `cargo bench --bench text` makes a Python environment under the target directory with `benches/reference_text.py`
//! (pip; once) and compares speed and results; `cargo bench --bench text -- --ours` measures ours alone. CPU seconds of
//! one thread on Linux, elapsed ones elsewhere. Input: the answers of `$SCHOLAREVAL_SHARED/data/scholarqa_cs` (or
//! `../shared`), else the sample data.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::print_stderr
)]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use scholareval::domain::Mode;
use scholareval::scorer::rouge::rouge;
use scholareval::text::punkt::sentences;
use scholareval::text::stems::Stems;
use serde_json::{Value, json};

/// Pairs of sentences, pairs of answers, and the length of an answer in bytes.
const SENTENCE_PAIRS: usize = 1_000;
const ANSWER_PAIRS: usize = 20;
const ANSWER_BYTES: usize = 5_000;
/// Each of ours is repeated until so much CPU time is spent.
const SECONDS: f64 = 0.5;

type Pair = (String, String);

fn main() {
    let texts = answers();
    let bytes: usize = texts.iter().map(String::len).sum();
    println!(
        "input: {} answers, {:.2} MB",
        texts.len(),
        bytes as f64 / 1e6
    );
    let begin = Instant::now();
    sentences("The model is loaded. Now.");
    println!(
        "reading the model, once: {:.1} ms\n",
        begin.elapsed().as_secs_f64() * 1e3
    );

    let sentence_pairs = sentence_pairs(&texts);
    let answer_pairs = answer_pairs(&texts);
    let (cut, cut_seconds) = repeated(|| texts.iter().map(|text| cut(text)).collect::<Vec<_>>());
    for (name, pairs) in [("sentences", &sentence_pairs), ("answers", &answer_pairs)] {
        let (_, seconds) = repeated(|| scores(pairs, &Stems::default()));
        println!(
            "pairs of {name}, every stem new: {:.1} us each",
            seconds * 1e6 / pairs.len() as f64
        );
    }
    // As in a long run: the words of the language are known.
    let stems = Stems::default();
    let (short, short_seconds) = repeated(|| scores(&sentence_pairs, &stems));
    let (long, long_seconds) = repeated(|| scores(&answer_pairs, &stems));
    let ours = [cut_seconds, short_seconds, long_seconds];
    println!("sentences: {:.1} MB/s", bytes as f64 / 1e6 / ours[0]);
    println!(
        "ROUGE, {} pairs of sentences: {:.2} us each",
        short.len(),
        ours[1] * 1e6 / short.len() as f64
    );
    println!(
        "ROUGE, {} pairs of {ANSWER_BYTES} bytes: {:.1} us each",
        long.len(),
        ours[2] * 1e6 / long.len() as f64
    );
    if std::env::args().any(|argument| argument == "--ours") {
        return;
    }
    let reference = reference(
        &json!({"texts": texts, "sentence_pairs": sentence_pairs, "answer_pairs": answer_pairs}),
    );
    println!(
        "\n{:<16} {:>14} {:>14} {:>8} {:>6} {:>12}",
        "", "reference s", "ours s", "ratio", "aim", "differences"
    );
    let results = [json!(cut), json!(short), json!(long)];
    let rows = [
        ("sentences", 40.0),
        ("sentence_pairs", 50.0),
        ("answer_pairs", 500.0),
    ];
    for (((name, aim), seconds), results) in rows.into_iter().zip(ours).zip(results) {
        let theirs = reference[name]["seconds"].as_f64().unwrap();
        let differences = differences(&results, &reference[name]["results"]);
        let ratio = theirs / seconds;
        println!(
            "{name:<16} {theirs:>14.4} {seconds:>14.6} {ratio:>8.0} {aim:>6.0} {differences:>12}"
        );
    }
}

/// CPU seconds of this thread where the system tells, else elapsed ones.
fn now() -> f64 {
    static BEGIN: std::sync::OnceLock<Instant> = std::sync::OnceLock::new();
    let begin = BEGIN.get_or_init(Instant::now);
    let nanoseconds = std::fs::read_to_string("/proc/thread-self/schedstat")
        .ok()
        .and_then(|text| {
            text.split(' ')
                .next()
                .and_then(|first| first.parse::<f64>().ok())
        });
    nanoseconds.map_or_else(
        || begin.elapsed().as_secs_f64(),
        |nanoseconds| nanoseconds / 1e9,
    )
}

/// The result, and the mean seconds of a run: the system's clock of CPU time may tick in hundredths of a second.
fn repeated<T>(work: impl Fn() -> T) -> (T, f64) {
    let begin = now();
    let mut runs = 0;
    loop {
        let result = std::hint::black_box(work());
        runs += 1;
        let seconds = now() - begin;
        if seconds > SECONDS {
            return (result, seconds / f64::from(runs));
        }
    }
}

fn cut(text: &str) -> Vec<&str> {
    sentences(text)
        .into_iter()
        .map(|range| &text[range])
        .collect()
}

/// Precision, recall and F of each of the three measures.
fn scores(pairs: &[Pair], stems: &Stems) -> Vec<[f64; 9]> {
    let numbers = |pair: &Pair| {
        let scores = rouge(&pair.0, &pair.1, Mode::Compat, stems);
        let [one, two, l] =
            [scores.rouge_1, scores.rouge_2, scores.rouge_l].map(|s| [s.precision, s.recall, s.f1]);
        [
            one[0], one[1], one[2], two[0], two[1], two[2], l[0], l[1], l[2],
        ]
    };
    pairs.iter().map(numbers).collect()
}

/// Items whose results are not the same; numbers to the last bit, but 0 is 0.0 too.
fn differences(ours: &Value, theirs: &Value) -> usize {
    let same = |ours: &Value, theirs: &Value| match (ours.as_f64(), theirs.as_f64()) {
        (Some(ours), Some(theirs)) => ours == theirs,
        _ => ours == theirs,
    };
    let (ours, theirs) = (ours.as_array().unwrap(), theirs.as_array().unwrap());
    assert_eq!(ours.len(), theirs.len());
    ours.iter()
        .zip(theirs)
        .filter(|(ours, theirs)| {
            let (ours, theirs) = (ours.as_array().unwrap(), theirs.as_array().unwrap());
            ours.len() != theirs.len()
                || !ours
                    .iter()
                    .zip(theirs)
                    .all(|(ours, theirs)| same(ours, theirs))
        })
        .count()
}

/// All answers, file by file.
fn answers() -> Vec<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let shared = std::env::var_os("SCHOLAREVAL_SHARED")
        .map_or_else(|| root.join("../shared"), PathBuf::from);
    let released = shared.join("data/scholarqa_cs/src_answers");
    let folder = if released.is_dir() {
        released
    } else {
        root.join("data/answers")
    };
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    files.sort();
    let lines = files.iter().flat_map(|file| {
        let text = std::fs::read_to_string(file).unwrap();
        text.lines()
            .map(|line| serde_json::from_str::<Value>(line).unwrap())
            .collect::<Vec<_>>()
    });
    lines
        .map(|line| line["answer_text"].as_str().unwrap().to_owned())
        .collect()
}

/// Neighbouring sentences.
fn sentence_pairs(texts: &[String]) -> Vec<Pair> {
    let all: Vec<&str> = texts
        .iter()
        .flat_map(|text| cut(text))
        .filter(|sentence| sentence.len() >= 80)
        .collect();
    let step = (all.len() / SENTENCE_PAIRS).max(1);
    all.windows(2)
        .step_by(step)
        .take(SENTENCE_PAIRS)
        .map(|two| (two[0].into(), two[1].into()))
        .collect()
}

/// Answers of full length, each with the next.
fn answer_pairs(texts: &[String]) -> Vec<Pair> {
    let long: Vec<String> = texts
        .iter()
        .map(|text| text.repeat(ANSWER_BYTES.div_ceil(text.len().max(1))))
        .map(|text| text[..text.floor_char_boundary(ANSWER_BYTES)].to_owned())
        .collect();
    let step = (long.len() / ANSWER_PAIRS).max(1);
    long.windows(2)
        .step_by(step)
        .take(ANSWER_PAIRS)
        .map(|two| (two[0].clone(), two[1].clone()))
        .collect()
}

/// What `reference_text.py` gives for this input.
fn reference(input: &Value) -> Value {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let (source, target) = (
        folder.join("text-input.json"),
        folder.join("text-reference.json"),
    );
    std::fs::write(&source, input.to_string()).unwrap();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/reference_text.py");
    let status = Command::new("python3")
        .arg(script)
        .arg(folder.join("reference-text-venv"))
        .args([&source, &target])
        .status()
        .expect("python3 runs");
    assert!(
        status.success(),
        "the reference failed; `-- --ours` measures without it"
    );
    serde_json::from_str(&std::fs::read_to_string(target).unwrap()).unwrap()
}
