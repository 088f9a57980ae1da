//! Whole runs of FACT with stubs in place of models and pages (`golden/fact.json`, `pipeline`), on the reports of a checkout,
//! in compat mode.

use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::{CITATIONS, metric, rows};
use scholareval_core::domain::{
    Answer, CitedStatement, Fingerprint, JudgeReply, Judgment, Mode, PageKind, PageState, ReadPage,
    Reading, ReportLanguage, Role, SavedPages, Score, ScoredAnswer, SupportState, TestCase,
    Verdict,
};
use scholareval_core::error::Result;
use scholareval_core::question::{CitedStatements, DistinctStatements, JudgeCall, PageSupport};
use scholareval_judge::prompt::PromptSet;
use scholareval_scorers::pages::{ACCURACY, Dedup, EFFECTIVE, PAGE_TOKENS, PageScorer};
use scholareval_scorers::{Scorer as _, Step, Subject, Verdicts};

const REPORTS: &str = "data/test_data/raw_data/claude-3-7-sonnet-latest.jsonl";
const QUERIES: &str = "data/prompt_data/query.jsonl";

fn sha256(text: &str) -> String {
    let digest = Sha256::digest(text.as_bytes());
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The first hexadecimal digit of the hash of a text, by which the stubs decide.
fn digit(text: &str) -> u32 {
    let hash = sha256(text);
    hash.chars().next().and_then(|c| c.to_digit(16)).unwrap()
}

/// Every page, fetched or not by the hash of its address.
struct StubPages;

impl StubPages {
    fn content(url: &str) -> Option<String> {
        (digit(url) > 1).then(|| format!("Page\n\n{url}\n\nText."))
    }
}

impl SavedPages for StubPages {
    fn settings(&self) -> Value {
        Value::Null
    }

    fn hash(&self) -> Fingerprint {
        [0; 32].into()
    }

    /// The address stands where the reason is, so that the text can be found again.
    fn page(&self, url: &str) -> Result<Option<ReadPage>> {
        let hash: Option<Fingerprint> =
            Self::content(url).map(|text| blake3::hash(text.as_bytes()).into());
        Ok(Some(ReadPage {
            read_url: None,
            state: if hash.is_some() {
                PageState::Ok
            } else {
                PageState::Unreachable
            },
            text_hash: hash,
            retrieved_at: None,
            page_kind: PageKind::Other,
            reason: url.to_owned(),
        }))
    }

    fn text(&self, page: &ReadPage) -> Result<Arc<str>> {
        Ok(Self::content(&page.reason).unwrap_or_default().into())
    }
}

/// The extraction by a rule: one pair for each marker in a sentence whose reference has a separate line.
fn extracted(article: &str) -> Vec<Value> {
    let mut references: HashMap<u64, &str> = HashMap::new();
    let lines: Vec<&str> = article.lines().collect();
    for line in &lines {
        if let Some((number, url)) = reference(line) {
            references.entry(number).or_insert(url);
        }
    }
    let mut pairs = Vec::new();
    for line in lines.into_iter().filter(|line| reference(line).is_none()) {
        for sentence in sentences(line) {
            let (fact, markers) = without_markers(sentence);
            for number in markers {
                if let (Some(url), false) = (references.get(&number), fact.is_empty()) {
                    pairs.push(json!({"fact": fact, "ref_idx": number, "url": url}));
                }
            }
        }
    }
    pairs
}

/// The number and the address of a line `[n] http..`.
fn reference(line: &str) -> Option<(u64, &str)> {
    let (number, rest) = line.trim().strip_prefix('[')?.split_once(']')?;
    let url = rest.split_whitespace().next()?;
    let number = number.parse().ok()?;
    url.starts_with("http").then_some((number, url))
}

/// The parts of a line, which end at white space behind a sign that ends a sentence.
fn sentences(line: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut start = 0;
    let mut before = ' ';
    for (at, c) in line.char_indices() {
        if c.is_whitespace() && ".!?。！？".contains(before) {
            parts.push(line[start..at].trim());
            start = at;
        }
        before = c;
    }
    parts.push(line[start..].trim());
    parts
}

/// A sentence without its markers and the space before them, and their numbers.
fn without_markers(sentence: &str) -> (String, Vec<u64>) {
    let mut fact = String::new();
    let mut markers = Vec::new();
    let mut rest = sentence;
    while let Some(open) = rest.find('[') {
        let inner = rest[open + 1..].split_once(']');
        let number = inner.and_then(|(inner, after)| Some((inner.parse().ok()?, after)));
        match number {
            Some((number, after)) => {
                fact.push_str(rest[..open].trim_end());
                markers.push(number);
                rest = after;
            }
            None => {
                fact.push_str(&rest[..=open]);
                rest = &rest[open + 1..];
            }
        }
    }
    fact.push_str(rest);
    (fact.trim().to_owned(), markers)
}

/// What the stub finds for a call. The extraction is a rule in the golden runs and no reply, so that its statements are not
/// cleaned as those of replies are: one of three back ticks stays.
fn judgment(call: &JudgeCall) -> Judgment {
    if let Some(cited) = call.question.downcast_ref::<CitedStatements>() {
        let mut statements = Vec::new();
        for pair in extracted(&cited.report) {
            statements.push(CitedStatement {
                text: pair["fact"].as_str().unwrap().to_owned(),
                urls: vec![pair["url"].as_str().unwrap().to_owned()],
            });
        }
        return Ok(Reading::new(Verdict::Statements(statements.into())));
    }
    let reply = JudgeReply::of_text(reply(call));
    call.question
        .parse(&reply, Mode::Compat)
        .map_err(Into::into)
}

/// The reply of the stub to a call.
fn reply(call: &JudgeCall) -> String {
    if let Some(distinct) = call.question.downcast_ref::<DistinctStatements>() {
        let numbered = (1..).zip(&*distinct.statements);
        let kept = numbered.filter(|(_, text)| digit(text) != 0);
        return json!(kept.map(|(number, _)| number).collect::<Vec<_>>()).to_string();
    }
    let support: &PageSupport = call.question.downcast_ref().unwrap();
    let mut verdicts = Vec::new();
    for (idx, statement) in (1..).zip(&*support.statements) {
        let label = match digit(&format!("{}\0{}", support.page, statement.text)) {
            _ if support.page.starts_with("scrape failed") => "unknown",
            14.. => "unknown",
            0..=7 => "supported",
            _ => "unsupported",
        };
        verdicts.push(json!({"idx": idx, "result": label}));
    }
    json!(verdicts).to_string()
}

/// What the steps of a run were asked, in the order of the scripts: all deduplications, then all validations. The extraction
/// is a rule there, and no call.
#[derive(Default)]
struct Asked {
    prompts: [Vec<String>; 2],
    extracted: Vec<Value>,
}

impl Asked {
    fn add(&mut self, call: &JudgeCall, wording: &PromptSet) {
        let step = match call.question.info().name {
            "statements" => return,
            "deduplicate" => 0,
            _ => 1,
        };
        let prompt = wording.render(&*call.question).user;
        self.prompts[step].push(sha256(&prompt));
    }
}

/// The score of a report in compat mode.
fn score_of(report: &Value, wording: &PromptSet, asked_calls: &mut Asked) -> Score {
    let scorer = PageScorer {
        pages: Some(Arc::new(StubPages)),
        page_tokens: PAGE_TOKENS,
        dedup: Dedup::Words,
        is_baseline: false,
        mode: Mode::Compat,
    };
    let id = report["id"].to_string();
    let question = report["prompt"].as_str().unwrap();
    let case = TestCase::without_rubric(id.as_str().into(), question);
    let article = report["article"].as_str().unwrap();
    asked_calls
        .extracted
        .push(json!([report["id"], extracted(article)]));
    let answer = Answer::new("claude".into(), id.as_str().into(), article);
    let subject = Subject::new(&case, &answer);
    let mut verdicts = Verdicts::new();
    loop {
        let calls = match scorer.step(&subject, &verdicts) {
            Step::Ask(calls) => calls,
            Step::Done(score) => return score,
        };
        for call in calls {
            asked_calls.add(&call, wording);
            let judgments = call.question.split(&judgment(&call));
            for (item, judgment) in call.items().into_iter().zip(judgments) {
                verdicts.insert(item, judgment);
            }
        }
    }
}

/// The lines of a file of the checkout, by id.
fn by_number(checkout: &Path, name: &str) -> Option<HashMap<u64, Value>> {
    let text = fs::read_to_string(checkout.join(name)).ok()?;
    let mut values = HashMap::new();
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        let value: Value = serde_json::from_str(line).unwrap();
        values.insert(value["id"].as_u64().unwrap(), value);
    }
    Some(values)
}

#[test]
fn whole_runs_are_those_of_the_reference() {
    let runs = rows("pipeline");
    let names: Vec<&str> = runs
        .iter()
        .map(|row| row["tag"].as_str().unwrap())
        .collect();
    let names = names.join(", ");
    let Some(checkout) = std::env::var_os("SCHOLAREVAL_FACT") else {
        eprintln!("skipped: {names}; SCHOLAREVAL_FACT names no checkout of deep_research_bench");
        return;
    };
    let checkout = Path::new(&checkout);
    let reports = by_number(checkout, REPORTS);
    let queries = by_number(checkout, QUERIES);
    let (Some(reports), Some(queries)) = (reports, queries) else {
        eprintln!("skipped: {names}; the checkout has no {REPORTS} or no {QUERIES}");
        return;
    };
    let wording = PromptSet::import_fact(checkout).unwrap();
    for row in runs {
        check_row(&row, &reports, &queries, &wording);
    }
}

fn check_row(
    row: &Value,
    reports: &HashMap<u64, Value>,
    queries: &HashMap<u64, Value>,
    wording: &PromptSet,
) {
    let tag = row["tag"].as_str().unwrap();
    let mut asked_calls = Asked::default();
    let mut scored = Vec::new();
    let mut validated = Vec::new();
    let mut all_fetched = true;
    for id in row["ids"].as_array().unwrap() {
        let report = &reports[&id.as_u64().unwrap()];
        let language = ReportLanguage::of_question(report["prompt"].as_str().unwrap());
        let is_chinese = queries[&id.as_u64().unwrap()]["language"] == "zh";
        assert_eq!(
            language == ReportLanguage::Chinese,
            is_chinese,
            "{tag} {id}"
        );
        let score = score_of(report, wording, &mut asked_calls);
        validated.push(json!([id, hashed_pages(&score)]));
        all_fetched &= score.pages.iter().all(|page| digit(&page.url) > 1);
        let id = id.to_string();
        let case = Arc::new(TestCase::without_rubric(id.as_str().into(), ""));
        scored.push(Arc::new(ScoredAnswer::new("claude".into(), case, score)));
    }
    let pairs = asked_calls
        .extracted
        .iter()
        .map(|row_of_report| row_of_report[1].as_array().unwrap().len());
    assert_eq!(row["pairs"], pairs.sum::<usize>(), "{tag}");
    assert_eq!(
        row["extracted_sha256"],
        sha256(&json!(asked_calls.extracted).to_string()),
        "{tag}"
    );
    assert_eq!(
        row["validated_sha256"],
        sha256(&json!(validated).to_string()),
        "{tag}"
    );
    let calls = asked_calls.prompts.concat();
    assert_eq!(row["calls"], calls.len(), "{tag}");
    // The message of a failed fetch is in the prompts, and only the reference knows it.
    if all_fetched {
        assert_eq!(
            row["calls_sha256"],
            sha256(&json!(calls).to_string()),
            "{tag}"
        );
    }
    check_numbers(row, &scored);
}

/// The pages of a report as the golden hash has them.
fn hashed_pages(score: &Score) -> Vec<Value> {
    let mut pages = Vec::new();
    for page in &score.pages {
        let mut facts = Vec::new();
        let mut verdicts = Vec::new();
        for (idx, statement) in page.statements.iter().enumerate() {
            facts.push(&statement.text);
            let label = match statement.verdict {
                SupportState::Supported => "supported",
                SupportState::Unsupported => "unsupported",
                _ => "unknown",
            };
            verdicts.push(json!([idx, label]));
        }
        pages.push(json!([page.url, facts, verdicts]));
    }
    pages
}

fn check_numbers(row: &Value, scored: &[Arc<ScoredAnswer>]) {
    let tag = row["tag"].as_str().unwrap();
    for (key, name) in [
        ("total_citations", CITATIONS),
        ("total_valid_citations", EFFECTIVE),
        ("valid_rate", ACCURACY),
    ] {
        let mean = metric(scored, name).estimate;
        assert_eq!(row["result"][key], json!(mean), "{tag}: {name}");
    }
}

#[test]
fn the_rule_of_the_extraction_splits_sentences_and_takes_markers_with_a_reference() {
    let article = "One [1]. Two is so. [2] Three [9] holds [2].\n[1] https://a.example - A\n[2] https://b.example";
    let pairs = extracted(article);
    let facts: Vec<&str> = pairs
        .iter()
        .map(|pair| pair["fact"].as_str().unwrap())
        .collect();
    assert_eq!(facts, ["One.", "Three holds.", "Three holds."]);
    assert_eq!(pairs[1]["url"], "https://b.example");
}

#[test]
fn a_statement_of_back_ticks_stays_as_the_rule_extracts_it() {
    let report = "A block:\n``` [1]\n[1] https://a.example/x";
    let question = CitedStatements {
        report: report.into(),
        language: ReportLanguage::English,
    };
    let call = JudgeCall::new("statements", Role::Page, question);
    let Verdict::Statements(statements) = judgment(&call).unwrap().verdict else {
        panic!("no statements");
    };
    assert_eq!(statements[0].text, "```");
}
