//! The seven rows, as ScholarQABench's README and commands have them.

use crate::cli::args::BenchName;
use crate::cli::settings::{EntailForm, ScorerName};
use crate::domain::{Role, Unit};
use crate::report::{BenchColumn, BenchSource};

/// The aspects of a grade, in the order of the columns.
pub(super) const ASPECTS: &[&str] = &["organization", "coverage", "relevance"];

/// What the published commands put before the question.
pub(super) const INSTRUCTION: &str = "Answer the question related to the most recent scientific literature.";

/// How many cited sources a grading prompt lists at most, as published.
pub(super) const TOP_N: usize = 10;

/// How many citations of a claim count, as published.
pub(super) const AT_MOST: usize = 3;

/// The form of the data file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Data {
    /// Questions in the form of predictions.
    Questions,
    /// Questions whose `output` is a reference answer for the aspects.
    ReferenceAnswers,
    /// Test cases with rubrics.
    TestCases,
}

/// What stands in the first columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Correctness {
    /// Share of outputs that hold the gold answer.
    Accuracy,
    /// ROUGE-L against the gold answer.
    RougeL,
    /// The rubric score.
    Rubric,
    /// Grades in three aspects.
    Aspects,
}

/// A row of the benchmark.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Row {
    pub(super) name: BenchName,
    pub(super) id: &'static str,
    /// What it asks for.
    pub(super) task: &'static str,
    /// Where its data file may lie below the data directory, the first found counts.
    pub(super) files: &'static [&'static str],
    /// Directories whose only JSON or JSONL file is its data, where none of `files` is there.
    pub(super) folders: &'static [&'static str],
    pub(super) data: Data,
    pub(super) correctness: Correctness,
    pub(super) form: EntailForm,
}

/// All rows, in the order of the benchmark's table.
pub(super) const ROWS: [Row; 7] = [
    Row {
        name: BenchName::Scifact,
        id: "scifact",
        task: "claims, true or false",
        files: &[
            "single_paper_tasks/scifact_test.jsonl",
            "single_paper/scifact_test.jsonl",
            "scifact/scifact_test.jsonl",
            "scifact_test.jsonl",
        ],
        folders: &[],
        data: Data::Questions,
        correctness: Correctness::Accuracy,
        form: EntailForm::Short,
    },
    Row {
        name: BenchName::Pubmedqa,
        id: "pubmedqa",
        task: "questions, yes or no",
        files: &[
            "single_paper_tasks/pubmed_test.jsonl",
            "single_paper/pubmed_test.jsonl",
            "pubmedqa/pubmed_test.jsonl",
            "pubmed_test.jsonl",
        ],
        folders: &[],
        data: Data::Questions,
        correctness: Correctness::Accuracy,
        form: EntailForm::Short,
    },
    Row {
        name: BenchName::Qasa,
        id: "qasa",
        task: "questions about one paper, long answers",
        files: &[
            "single_paper_tasks/qasa_test.jsonl",
            "single_paper/qasa_test.jsonl",
            "qasa/qasa_test.jsonl",
            "qasa_test.jsonl",
        ],
        folders: &[],
        data: Data::Questions,
        correctness: Correctness::RougeL,
        form: EntailForm::Long,
    },
    Row {
        name: BenchName::Cs,
        id: "cs",
        task: "computer science, long answers, rubrics",
        files: &[
            "scholar_cs/test_configs_snippets.json",
            "scholarqa_cs/test_configs_snippets.json",
            "test_configs_snippets.json",
        ],
        folders: &[],
        data: Data::TestCases,
        correctness: Correctness::Rubric,
        form: EntailForm::Long,
    },
    Row {
        name: BenchName::Multi,
        id: "multi",
        task: "several domains, long answers, expert answers",
        files: &["scholar_multi/human_answers.json", "scholarqa_multi/human_answers.json", "human_answers.json"],
        folders: &[],
        data: Data::ReferenceAnswers,
        correctness: Correctness::Aspects,
        form: EntailForm::Long,
    },
    Row {
        name: BenchName::Bio,
        id: "bio",
        task: "biomedicine, long answers, no label",
        files: &["scholar_bio.jsonl", "scholar_bio.json"],
        folders: &["scholar_bio", "scholarqa_bio"],
        data: Data::Questions,
        correctness: Correctness::Aspects,
        form: EntailForm::Long,
    },
    Row {
        name: BenchName::Neuro,
        id: "neuro",
        task: "neuroscience, long answers, no label",
        files: &["scholar_neuro.jsonl", "scholar_neuro.json"],
        folders: &["scholar_neuro", "scholarqa_neuro"],
        data: Data::Questions,
        correctness: Correctness::Aspects,
        form: EntailForm::Long,
    },
];

impl Row {
    /// The row of that name.
    pub(super) fn of(name: BenchName) -> &'static Self {
        // Every name has its row; the first would be a wrong one, and a test looks.
        ROWS.iter().find(|row| row.name == name).unwrap_or(&ROWS[0])
    }

    /// The scorers that its columns are made from, and the audit, which costs nothing.
    pub(super) fn scorers(&self) -> Vec<ScorerName> {
        let correctness = match self.correctness {
            Correctness::Accuracy | Correctness::RougeL => ScorerName::Overlap,
            Correctness::Rubric => ScorerName::Rubric,
            Correctness::Aspects => ScorerName::Prometheus,
        };
        vec![correctness, ScorerName::Entailment, ScorerName::CitationAudit]
    }

    /// The roles that have to have a judge for every column to be filled.
    pub(super) fn roles(&self) -> Vec<Role> {
        let mut roles = match self.correctness {
            Correctness::Accuracy | Correctness::RougeL => Vec::new(),
            Correctness::Rubric => vec![Role::Rubric],
            Correctness::Aspects => ASPECTS.iter().map(|aspect| Role::Aspect((*aspect).into())).collect(),
        };
        roles.push(Role::Citation);
        roles
    }

    /// The columns.
    pub(super) fn columns(&self) -> Vec<BenchColumn> {
        let column = |name, unit, source| BenchColumn { name, unit, source };
        let of = |scorer, column| BenchSource::Scorer { scorer, column };
        let mut columns = match self.correctness {
            Correctness::Accuracy => vec![column("corr", Unit::Share, of("overlap", "match"))],
            Correctness::RougeL => vec![column("corr", Unit::Share, of("overlap", "rouge_l"))],
            Correctness::Rubric => vec![column("rub", Unit::Share, BenchSource::Rubric)],
            Correctness::Aspects => {
                let graded = ASPECTS.iter().map(|aspect| column(aspect, Unit::Grade, of("prometheus", aspect)));
                let all = BenchSource::AspectMean { scorer: "prometheus", of: ASPECTS };
                graded.chain([column("llm", Unit::Grade, all)]).collect()
            }
        };
        columns.extend([
            column("cite_p", Unit::Share, of("entailment", "citation_precision")),
            column("cite_r", Unit::Share, of("entailment", "citation_recall")),
            column("cite_f1", Unit::Share, of("entailment", "citation_f1")),
        ]);
        columns
    }

    /// What the columns mean.
    pub(super) fn legend(&self) -> Vec<String> {
        let correctness = match self.correctness {
            Correctness::Accuracy => "corr: accuracy, the share of outputs in which the gold answer stands",
            Correctness::RougeL => "corr: ROUGE-L against the gold answer, with stemming",
            Correctness::Rubric => "rub: the rubric score, criteria and snippets",
            Correctness::Aspects if self.data == Data::ReferenceAnswers => {
                "aspects: graded from 1 to 5 beside the expert's answer; llm: their mean"
            }
            Correctness::Aspects => {
                "aspects: graded from 1 to 5 without a reference answer, which this row does not have (the published \
                 table gives its citations only); llm: their mean"
            }
        };
        let form = match self.form {
            EntailForm::Short => "cite: whether the cited passages support question and answer as one claim",
            EntailForm::Long => "cite: whether the cited passages support each sentence",
        };
        let cited = format!(
            "{form}; cite_p, cite_r: precision and recall over the first {AT_MOST} citations, cite_f1: their harmonic mean"
        );
        vec![correctness.to_owned(), cited]
    }
}

#[cfg(test)]
mod tests {
    use clap::ValueEnum;

    use super::*;

    #[test]
    fn every_name_has_its_row_once_and_is_called_so() {
        for name in BenchName::value_variants() {
            let row = Row::of(*name);
            assert_eq!((row.name, ROWS.iter().filter(|row| row.name == *name).count()), (*name, 1));
            assert_eq!(name.to_possible_value().unwrap().get_name(), row.id);
        }
    }

    #[test]
    fn single_paper_answers_are_short_claims_but_qasas_and_all_others_are_long() {
        let short: Vec<&str> = ROWS.iter().filter(|row| row.form == EntailForm::Short).map(|row| row.id).collect();
        assert_eq!(short, ["scifact", "pubmedqa"]);
    }
}
