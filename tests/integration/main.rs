//! All integration tests, in one binary.
#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr
)]

mod agree;
mod agree_gates;
mod answer_files;
mod asked_prompts;
mod aspects_golden;
mod batch;
mod batch_services;
mod bench_rows;
mod cache;
mod certify;
mod check;
mod citations_golden;
mod cited_works;
mod cli_settings;
mod compare;
mod criteria;
mod criteria_golden;
mod cs2_golden;
mod dataset;
mod dear_verdicts;
mod decisions;
mod demo;
#[cfg(unix)]
mod endpoints;
mod entailment_golden;
mod exports;
#[cfg(unix)]
mod fact;
mod faults;
mod fever;
mod fuzz;
mod html_report;
mod import_logs;
mod imports;
mod judge_http;
#[cfg(unix)]
mod keys;
mod label;
mod labels_back;
mod library;
mod llama_cpp;
mod looks;
mod old_scale;
mod pages;
mod pairs;
mod pairwise_golden;
mod panels;
mod pinned_calls;
mod plan;
mod plot;
mod probe;
mod profiles_golden;
mod prompts;
mod prompts_cs2;
mod prompts_fact;
mod prompts_graded;
mod prompts_injection;
mod provenance;
mod python_options;
mod python_replies;
mod readme;
mod real_data;
mod registries;
mod reports;
#[cfg(unix)]
mod resume;
mod retirement;
mod rubric_golden;
mod rubric_reading;
mod rubrics_check;
mod runs;
mod safety;
mod scifact_cli;
mod scifact_golden;
mod score_run;
mod scorecard;
mod scored_again;
mod sources;
mod support;
mod table;
mod text_commands;
mod text_golden;
mod who_answered;
mod wire;
mod works;
