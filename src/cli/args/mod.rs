//! The command line as clap reads it.
//!
//! clap parses into these types, which flatten the options of the library; a config file is merged
//! into them before a command gets them.

mod agree;
mod batch;
mod bench;
mod certify;
mod citations;
mod exports;
mod facts;
mod help;
mod label;
mod overlap;
mod pairs;
mod plan;
mod plot;
mod probe;
mod reading;
mod score;
mod sources;
mod texts;

use std::path::PathBuf;

use clap::{ArgAction, Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use serde::{Deserialize, Serialize};

pub use agree::AgreeArgs;
pub use batch::{BatchCommand, BatchExportArgs, BatchImportArgs, BatchServiceArgs};
pub use bench::BenchArgs;
pub use certify::CertifyArgs;
pub use citations::{CitationsArgs, WorksCoverage};
pub use exports::{EeeArgs, ExportArgs, ExportCommand, ImportArgs};
pub use facts::{FeverCommand, ScifactCommand};
pub(super) use help::laid_out;
pub use label::{LabelArgs, LabelForm};
pub use overlap::OverlapArgs;
pub use pairs::PairsArgs;
pub use plan::PlanArgs;
pub use plot::PlotArgs;
pub use probe::ProbeArgs;
pub use reading::{
    Across, CompareArgs, GateOutput, OnUndecided, ReportArgs, TableArgs, TableFormat,
};
pub use score::{
    AnswerArgs, ConfigArgs, CsvArgs, DisplayOptions, JudgingArgs, ScoreArgs, ShownArgs,
};
pub use sources::{SourcesCommand, StoreArgs};
pub use texts::{BuildTestsArgs, ConvertArgs};

use super::exit_code::ExitCode;
use crate::report::{COMPARISON_LEGEND, CRITERIA_LEGEND, SCORECARD_LEGEND};
use crate::runs::RescoreOptions;

/// Scores long-form answers to scientific questions.
#[derive(Parser)]
#[command(name = "scholareval", version, propagate_version = true)]
#[command(subcommand_required = true, disable_help_flag = true, disable_version_flag = true, arg_required_else_help = true, after_long_help = format!("Exit codes:\n{}", ExitCode::table()))]
pub struct Cli {
    /// The command.
    #[command(subcommand)]
    pub command: Command,
    /// Options of every command.
    #[command(flatten)]
    pub global: GlobalArgs,
}

/// Options of every command.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "General")]
pub struct GlobalArgs {
    /// No progress, warnings and notes; errors only
    #[arg(long, short, global = true, hide_short_help = true)]
    pub quiet: bool,
    /// Print help; --help shows all options
    #[arg(long, short, global = true, action = ArgAction::Help)]
    help: Option<bool>,
    /// Colors: auto, always or never (auto respects NO_COLOR)
    #[arg(long, global = true, value_enum, default_value_t)]
    #[arg(hide_possible_values = true, value_name = "WHEN")]
    #[arg(hide_short_help = true)]
    pub color: ColorChoice,
    /// Verbose logging (-vv for trace); see also RUST_LOG. Answers and API keys are never logged
    #[arg(long, short, global = true, action = ArgAction::Count, hide_short_help = true)]
    pub verbose: u8,
    /// Print version
    #[arg(long, short = 'V', global = true, action = ArgAction::Version, hide_short_help = true)]
    version: Option<bool>,
}

/// When output is colored.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum ColorChoice {
    /// On a terminal, unless `NO_COLOR` is set or `TERM` is `dumb`.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// The format of standard output.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OutputFormat {
    /// For people.
    #[default]
    Table,
    /// For programs.
    Json,
    /// For spreadsheets.
    Csv,
}

/// The commands.
#[derive(Subcommand)]
pub enum Command {
    /// Score answers and compare the systems
    #[command(after_long_help = SCORECARD_LEGEND.help(include_str!("examples/score.txt")), long_about = "Score answers and compare the systems.\n\nEvery scorer runs that the input supports: the rubric of the test cases (--tests), aspects and citations where a judge has the role, the citation audit, overlap with gold answers, and with --sources whether cited pages support the answers; the run says what it left out and why. Replies are cached, so the same command continues where it stopped and pays for nothing twice.")]
    Score(Box<ScoreArgs>),
    /// Score sample data by the built-in baseline, as a first try
    #[command(
        long_about = "Score sample data by the built-in baseline, as a first try.\n\nWrites the sample data, a run and its page into a directory, and never replaces a file of yours. It needs no key and no network."
    )]
    Demo {
        /// Directory to create
        #[arg(value_name = "DIR", default_value = "scholareval-demo")]
        dir: PathBuf,
    },
    /// Score one row of ScholarQABench's own table
    #[command(after_long_help = include_str!("examples/bench.txt"))]
    Bench(Box<BenchArgs>),
    /// Test whether a judge moves when only form changes
    #[command(after_long_help = include_str!("examples/probe.txt"), long_about = "Test whether a judge moves when nothing of substance changes.\n\nEvery answer is also scored with filler, another layout, bullet points, without its citations, with a planted verdict and with shuffled sentences, and each is compared with the unchanged answer; so it is with the levels of its criteria reversed, with the criteria in another order and with each asked alone, where that changes what the judge is asked. The changes need no model and are the same every time. A run with all of them makes about seven times the calls of score, or ten times where criteria are asked together.")]
    Probe(Box<ProbeArgs>),
    /// Compare answers in pairs: win rates and strengths
    #[command(after_long_help = include_str!("examples/pairs.txt"), long_about = "Compare the answers of systems in pairs: which of two answers to a question is better?\n\nA judge sees both answers, in both orders unless --orders one is given, and names the better one or a tie. The table has each system's win rate and strength, the letters of those that do not differ significantly, and what the place and the length of an answer do to the verdicts. Replies are cached, so the same command continues where it stopped and pays for nothing twice.")]
    Pairs(Box<PairsArgs>),
    /// Check input, settings and judge with a question per role
    #[command(
        long_about = "Check input, settings and judge before a run is paid for.\n\nReads all input and asks one real question of each role, and each server one at least, as score does: again with what the judge needs to answer. Prints the tokens and what was learned of the judge, from which score starts. Ends with exit code 4 if a question gets no verdict. Without answers, the sample data of demo are asked about."
    )]
    Check(Box<ScoreArgs>),
    /// Estimate cost of score, or size a study (--power)
    #[command(after_long_help = include_str!("examples/plan.txt"))]
    Plan(Box<PlanArgs>),
    /// Make the calls of score through a batch service
    #[command(subcommand)]
    Batch(BatchCommand),
    /// Recompute a run from its replies, without a judge
    Rescore(RescoreArgs),
    /// List runs: when, judge, systems, scores
    Runs(RunsArgs),
    /// Write an HTML page of runs, down to each reply
    #[command(after_long_help = include_str!("examples/report.txt"), long_about = "Write one HTML page of runs: leaderboard, pairs, every case by every system, and behind each number the answer, the judge's feedback and its raw replies. The page is one file, loads nothing and needs no server: open it in a browser.")]
    Report(ReportArgs),
    /// Make the table of a paper: systems by metrics
    #[command(after_long_help = include_str!("examples/table.txt"), long_about = "Make the table of a paper from recorded runs: systems by metrics, as LaTeX, Markdown, CSV or for a terminal. Runs of the same systems by different scorers become one table, and runs of other systems add rows. The numbers are those of compare.")]
    Table(Box<TableArgs>),
    /// Draw a figure of a paper: means, differences, judges
    #[command(after_long_help = include_str!("examples/plot.txt"), long_about = "Draw a figure of a paper from recorded runs, as SVG or as TikZ for LaTeX. The numbers are those of compare.")]
    Plot(Box<PlotArgs>),
    /// Compare systems: means, paired tests, intervals
    #[command(after_long_help = COMPARISON_LEGEND.help(include_str!("examples/compare.txt")))]
    Compare(Box<CompareArgs>),
    /// Show the settings of score and where each comes from
    Config(Box<ScoreArgs>),
    /// Write, import or show prompt sets
    #[command(subcommand)]
    Prompts(PromptsCommand),
    /// List, show or check rubrics: lists of criteria
    #[command(subcommand)]
    Rubrics(RubricsCommand),
    /// Score SciFact submissions and single modules
    #[command(subcommand)]
    Scifact(ScifactCommand),
    /// Manage the reply cache
    #[command(subcommand)]
    Cache(CacheCommand),
    /// Score fact verification as the FEVER shared task does
    #[command(subcommand)]
    Fever(FeverCommand),
    /// Measure how judges and people agree
    #[command(after_long_help = include_str!("examples/agree.txt"))]
    Agree(AgreeArgs),
    /// Certify a judge: agreement with people, for later runs
    #[command(after_long_help = include_str!("examples/certify.txt"), long_about = "Certify a judge: may its verdicts be trusted?\n\nMakes one file and one page from a run and people's labels of its answers: agreement with people by system and group, how the judge repeats itself, what changes of form do to it (--probe), of a panel the number of independent judges that it is worth, and what it cost. The file names the judge, its prompts and its rubric by hashes and holds no text. score --certificate shows it in every table and page, and says so if another judge answers or if it is too old.")]
    Certify(CertifyArgs),
    /// Make pages on which people label answers, blind
    #[command(after_long_help = include_str!("examples/label.txt"), long_about = "Make pages on which people label answers, without seeing whose they are.\n\nAnswers are drawn with known probabilities, more often where the run's judges and samples differ, and dealt to the raters. A rater labels what the run judged: criteria by the levels of the rubric, aspects, claims with their sources, or whole answers; with --pairs which of two answers is better. Each page is one HTML file that works offline and by keyboard.")]
    Label(Box<LabelArgs>),
    /// Show which criteria discriminate, suspicious ones first
    #[command(after_long_help = CRITERIA_LEGEND.help(include_str!("examples/criteria.txt")))]
    Criteria(CriteriaArgs),
    /// Check citations: markers, whether works exist, retractions
    #[command(after_long_help = include_str!("examples/citations.txt"), long_about = "Check the citations of answers or of libraries.\n\nWithout further options: counts, coverage and dangling markers. With --works: whether the cited works are found in files of works, and which fields differ; a work that these files do not hold may exist all the same. With --retractions: which works are retracted. Whether sources support the sentences that cite them is a question for a judge: score --scorers entailment.")]
    Citations(Box<CitationsArgs>),
    /// Compare with gold answers: exact match, F1, ROUGE
    Overlap(Box<OverlapArgs>),
    /// Convert predictions with sources into answers
    Convert(ConvertArgs),
    /// Build test cases from annotated ingredients
    BuildTests(BuildTestsArgs),
    /// Index saved pages that answers cite, and list missing ones
    #[command(subcommand)]
    Sources(SourcesCommand),
    /// Make a run from the reference script's results file
    #[command(after_long_help = include_str!("examples/import.txt"))]
    Import(Box<ImportArgs>),
    /// Write a run for others: Parquet, Inspect, Every Eval Ever
    #[command(subcommand)]
    Export(ExportCommand),
    /// Print completions for a shell
    ShellCompletions {
        /// The shell: bash, elvish, fish, powershell or zsh
        #[arg(hide_possible_values = true)]
        shell: Shell,
    },
}

/// Arguments of `criteria`.
#[derive(Debug, Clone, Args)]
pub struct CriteriaArgs {
    /// Run directories, or directories that hold several (unfinished ones are skipped)
    #[arg(required = true, value_name = "RUN")]
    pub runs: Vec<PathBuf>,
    /// People's labels of criteria, as for agree; for a single run
    #[arg(long, value_name = "FILE", num_args = 1..)]
    pub labels: Vec<PathBuf>,
    /// Show runs whose judge, prompts, tests or settings differ, and flag it
    #[arg(long)]
    pub anyway: bool,
    /// How the statistics are shown.
    #[command(flatten)]
    pub display: DisplayOptions,
}

/// Arguments of `runs`.
#[derive(Debug, Clone, Args)]
pub struct RunsArgs {
    /// Directory that holds runs
    #[arg(value_name = "DIR", default_value = "runs")]
    pub dir: PathBuf,
    /// How the list is shown.
    #[command(flatten)]
    pub display: DisplayOptions,
}

/// Arguments of `rescore`.
#[derive(Debug, Clone, Args)]
pub struct RescoreArgs {
    /// Directory of the run record
    #[arg(value_name = "RUN")]
    pub run: PathBuf,
    /// What is different.
    #[command(flatten)]
    pub options: RescoreOptions,
    /// How the summary is shown.
    #[command(flatten)]
    pub display: DisplayOptions,
}

/// Commands about prompt sets.
#[derive(Debug, Clone, Subcommand)]
pub enum PromptsCommand {
    /// Write the built-in set into a directory, for editing
    Export {
        /// Directory to create
        dir: PathBuf,
    },
    /// Build a set of the published wording from your own copy of ScholarQABench, astabench or DeepResearch Bench
    Import {
        /// The checkout; with --family cs2 a wheel of astabench, its installed package or a checkout of asta-bench
        #[arg(value_name = "PATH")]
        source: PathBuf,
        /// What to import [default: all families of ScholarQABench]; cs2 is ScholarQA-CS2, its ingredients included; fact is
        /// FACT of DeepResearch Bench
        #[arg(long, value_parser = ["cs2", "fact"])]
        family: Option<String>,
        /// Directory to create
        #[arg(long, short, value_name = "DIR")]
        out: PathBuf,
    },
    /// Show a set's label and fingerprint, or what a judge was asked about a case of a run
    Show(ShowPromptsArgs),
}

/// Arguments of `prompts show`.
#[derive(Debug, Clone, Args)]
pub struct ShowPromptsArgs {
    /// Run directory: shows each call about --case with its prompt, verdict and raw reply; a prompt is rendered again from
    /// the record and shown if it has the hash of the one that was sent
    #[arg(value_name = "RUN", requires = "case")]
    pub run: Option<PathBuf>,
    /// The case
    #[arg(long, value_name = "ID", requires = "run")]
    pub case: Option<String>,
    /// Only these systems [default: all]
    #[arg(long, value_name = "A,B", value_delimiter = ',', requires = "run")]
    pub systems: Vec<String>,
    /// Only calls about this component or of this kind, such as citations or property [default: all]
    #[arg(long, value_name = "NAME", requires = "run")]
    pub item: Option<String>,
    /// The set; of a run that which its judges were asked with [default: built in]
    #[arg(long, value_name = "DIR", env = "SCHOLAREVAL_PROMPTS")]
    pub prompts: Option<PathBuf>,
}

/// What `rubrics check` does.
const CHECK_ABOUT: &str = "Check a file of criteria: duplicates, and cases in which no point can be earned.\n\nOf a file that no \
    built-in rubric reads, a draft of its profile.toml is printed, with what the draft could not decide and one case as the \
    judge will see it; the exit code is 3 until nothing is undecided. --lint never changes the exit code; its rules know \
    English words, and those for equal and similar criteria words of any language.";

/// Commands about rubrics that are lists of criteria.
#[derive(Debug, Clone, Subcommand)]
pub enum RubricsCommand {
    /// List the rubrics that --rubric knows by name
    List,
    /// Print the profile of a rubric, to start your own from
    Show {
        /// Its name, or a directory with a profile.toml
        #[arg(value_name = "NAME|DIR")]
        rubric: String,
    },
    /// Check a file of criteria: duplicates, and cases in which no point can be earned; of another form, print a draft of a profile
    #[command(long_about = CHECK_ABOUT)]
    Check {
        /// The file, as for score --tests
        file: PathBuf,
        /// Its rubric [default: criteria]
        #[arg(long, value_name = "NAME|DIR")]
        rubric: Option<String>,
        /// Also find criteria by their words: equal or similar ones of a case, two demands in one, what an empty answer meets, and
        /// judgments without anything to see
        #[arg(long)]
        lint: bool,
    },
}

/// Which cache file.
#[derive(Debug, Clone, Args)]
pub struct CacheFileArgs {
    /// The reply cache
    #[arg(long, value_name = "FILE", env = "SCHOLAREVAL_CACHE")]
    #[arg(default_value = ".scholareval/cache.sqlite")]
    pub cache: PathBuf,
}

/// Commands about the reply cache.
#[derive(Debug, Clone, Subcommand)]
pub enum CacheCommand {
    /// Count entries, tokens and bytes
    Stats {
        /// Which cache.
        #[command(flatten)]
        file: CacheFileArgs,
        /// table or json [default: table]
        #[arg(long, value_name = "FORM", value_enum)]
        format: Option<OutputFormat>,
    },
    /// Copy the entries of caches into one; existing entries stay
    Merge {
        /// Caches to read
        #[arg(required = true, value_name = "FILE")]
        sources: Vec<PathBuf>,
        /// Cache to write
        #[arg(long, value_name = "FILE")]
        into: PathBuf,
    },
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    fn parse(line: &str) -> Result<Cli, clap::Error> {
        Cli::try_parse_from(line.split_whitespace())
    }

    fn score_args(line: &str) -> ScoreArgs {
        match parse(line).map(|cli| cli.command) {
            Ok(Command::Score(args)) => *args,
            Ok(_) => panic!("not score: {line}"),
            Err(error) => panic!("{line}: {error}"),
        }
    }

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn the_reference_scripts_own_command_line_is_understood() {
        let args = score_args(
            "scholareval score --qa-dir D --test-config F --src-names a,b.jsonl --output R.json",
        );
        assert_eq!(args.qa_dir, [PathBuf::from("D")]);
        assert_eq!(args.options.cases.tests, Some(PathBuf::from("F")));
        assert_eq!(args.options.input.systems, ["a", "b.jsonl"]);
        assert_eq!(
            args.options.results.results_file,
            Some(PathBuf::from("R.json"))
        );
    }

    #[test]
    fn headers_may_be_repeated() {
        let args = score_args("scholareval score A --header a:1 --header b:2");
        assert_eq!(args.options.judge.headers.len(), 2);
    }
}
