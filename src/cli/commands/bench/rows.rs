//! The seven rows, as in ScholarQABench's README and commands.

use std::num::NonZeroUsize;

use crate::scorer::ScorerInfo;
use crate::scorer::citation::CITATION_AUDIT;
use crate::scorer::entailment::ENTAILMENT;
use crate::scorer::entailment::Form;
use crate::scorer::overlap::OVERLAP;
use crate::scorer::prometheus::PROMETHEUS;
use crate::scorer::rubric::RUBRIC;

/// The aspects of a grade, in the order of the columns.
pub(super) const ASPECTS: &[&str] = &["organization", "coverage", "relevance"];

/// The instruction that the published commands put before the question.
pub(super) const INSTRUCTION: &str =
    "Answer the question related to the most recent scientific literature.";

/// How many cited sources a grading prompt lists at most, as published.
pub(super) const TOP_N: usize = 10;

/// How many citations of a claim count, as published.
pub(super) const AT_MOST: NonZeroUsize = NonZeroUsize::MIN.saturating_add(2);

/// The format of the data file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BenchData {
    /// Questions in the format of predictions.
    Questions,
    /// Questions whose `output` is a reference answer for the aspects.
    ReferenceAnswers,
    /// Test cases with rubrics.
    TestCases,
}

/// A row of the benchmark.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct BenchRow {
    pub(super) id: &'static str,
    /// Folders below the data directory that may hold its data; the first that exists is used.
    pub(super) folders: &'static [&'static str],
    /// Its data file there; `None`: the only JSONL or JSON file.
    pub(super) file: Option<&'static str>,
    pub(super) data: BenchData,
    /// The scorer of the columns before the citations.
    pub(super) scorer: &'static ScorerInfo,
    pub(super) form: Form,
    /// Explanation of these columns.
    pub(super) legend: &'static str,
}

const SCIFACT: BenchRow = BenchRow {
    id: "scifact",
    folders: &["single_paper_tasks", "single_paper", "scifact", ""],
    file: Some("scifact_test.jsonl"),
    data: BenchData::Questions,
    scorer: &OVERLAP,
    form: Form::Short,
    legend: "match (Corr in the published table): accuracy, the share of outputs that contain the gold answer",
};
const BIO: BenchRow = BenchRow {
    id: "bio",
    folders: &["scholar_bio", "scholarqa_bio"],
    file: None,
    data: BenchData::Questions,
    scorer: &PROMETHEUS,
    form: Form::Long,
    legend: "aspects: graded from 1 to 5 without a reference answer, which this row does not have (the published table has \
             its citations only); aspect_mean: their mean",
};

/// All rows, in the order of the benchmark's table.
const ROWS: [BenchRow; 7] = [
    SCIFACT,
    BenchRow {
        id: "pubmedqa",
        folders: &["single_paper_tasks", "single_paper", "pubmedqa", ""],
        file: Some("pubmed_test.jsonl"),
        ..SCIFACT
    },
    BenchRow {
        id: "qasa",
        folders: &["single_paper_tasks", "single_paper", "qasa", ""],
        file: Some("qasa_test.jsonl"),
        form: Form::Long,
        legend: "rouge_l (Corr in the published table): ROUGE-L against the gold answer, with stemming",
        ..SCIFACT
    },
    BenchRow {
        id: "cs",
        folders: &["scholar_cs", "scholarqa_cs", ""],
        file: Some("test_configs_snippets.json"),
        data: BenchData::TestCases,
        scorer: &RUBRIC,
        legend: "score: the rubric score, criteria and snippets",
        ..BIO
    },
    BenchRow {
        id: "multi",
        folders: &["scholar_multi", "scholarqa_multi", ""],
        file: Some("human_answers.json"),
        data: BenchData::ReferenceAnswers,
        legend: "aspects: graded from 1 to 5 beside the expert's answer; aspect_mean: their mean",
        ..BIO
    },
    BIO,
    BenchRow {
        id: "neuro",
        folders: &["scholar_neuro", "scholarqa_neuro"],
        ..BIO
    },
];

impl BenchRow {
    /// The row of that name.
    pub(super) fn of(id: &str) -> Option<&'static Self> {
        ROWS.iter().find(|row| row.id == id)
    }

    /// The scorers of its columns, and the audit, which is free.
    pub(super) fn scorers(&self) -> Vec<&'static ScorerInfo> {
        vec![self.scorer, &ENTAILMENT, &CITATION_AUDIT]
    }

    /// Explanation of the columns.
    pub(super) fn legends(&self) -> Vec<String> {
        let form = match self.form {
            Form::Short => {
                "citations: whether the cited passages support question and answer as one claim"
            }
            Form::Long => "citations: whether the cited passages support each sentence",
        };
        let cited = format!(
            "{form}; precision and recall over the first {AT_MOST} citations, citation_f1: their harmonic mean"
        );
        vec![self.legend.to_owned(), cited]
    }

    /// Possible paths of its data file below the data directory.
    pub(super) fn places(&self) -> Vec<String> {
        let file = self.file.unwrap_or("*.jsonl");
        let mut places = Vec::new();
        for folder in self.folders {
            places.push(match *folder {
                "" => file.to_owned(),
                folder => format!("{folder}/{file}"),
            });
        }
        places
    }
}
