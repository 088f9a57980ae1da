//! A round of labeling: the draw, the items, the pages of the raters.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::Path;

use clap::Args;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::deal::{deal, page_order, stream};
use super::draw::{Drawn, LabelCandidates, draw_answers, draw_pairs, draw_verdicts, item_of};
use super::names::{mentions, plain_name};
use super::texts::blind_answer;
use super::units::{LabelTask, RunTasks, pair};
use crate::analysis::comparison::SEED;
use crate::dataset::with_text;
use crate::domain::{
    ADJUDICATOR, BlindTexts, Digest, FrameAnswer, LABEL_SCHEMA, LabelKind, LabelScale, LabelSheet,
    Note, RaterPage, SheetItem, SubjectKind,
};
use crate::error::{Error, InputFault, Result};
use crate::runs::RunSet;
use crate::text::names::{counted, list};

/// The stream that decides which answer of a pair is its first one.
const ORDER_OF_PAIRS: u64 = 2;

/// What is drawn to be labeled, and by whom.
#[derive(Debug, Clone, Args)]
pub struct LabelOptions {
    /// Answers to draw, with --pairs pairs of answers
    #[arg(long, value_name = "N", default_value_t = 50)]
    pub answers: usize,
    /// Draw N single verdicts of one run in place of answers: half by weight, half by weight and doubt, for people or for score
    /// --selected
    #[arg(long, value_name = "N", conflicts_with_all = ["answers", "units", "pairs", "random", "metric"])]
    pub verdicts: Option<usize>,
    /// Raters: names with commas between; each gets a page
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub raters: Vec<String>,
    /// Answers of these that all raters label, which shows how they agree [default: a fifth]
    #[arg(long, value_name = "M")]
    pub overlap: Option<usize>,
    /// What is labeled: criterion, aspect, claim, answer (the whole of it) [default: the first of these that the run has]
    #[arg(long, value_name = "KINDS", value_enum, value_delimiter = ',')]
    #[arg(hide_possible_values = true)]
    pub units: Vec<LabelKind>,
    /// Ask which of two answers to a question is better
    #[arg(long, conflicts_with_all = ["units", "metric", "random"])]
    pub pairs: bool,
    /// Draw at random, all answers with the same probability, not more often where judges and samples differ
    #[arg(long, conflicts_with = "metric")]
    pub random: bool,
    /// The metric of which answers need a value, and whose samples and judges are looked at [default: the headline]
    #[arg(long, value_name = "NAME")]
    pub metric: Option<String>,
    /// Seed of the draw and of the order
    #[arg(long, value_name = "N", default_value_t = SEED)]
    pub seed: u64,
}

impl LabelOptions {
    /// The answers that can be drawn.
    ///
    /// # Errors
    /// As [`LabelCandidates::with_value`].
    pub fn candidates(&self, set: &RunSet) -> Result<LabelCandidates> {
        if self.random {
            Ok(LabelCandidates::all(set))
        } else {
            LabelCandidates::with_value(set, self.metric.as_deref())
        }
    }
}

/// A round: what is written into its directory, and what its maker should know.
#[derive(Debug, Clone, PartialEq)]
pub struct LabelRound {
    /// The key to everything on the pages.
    pub sheet: LabelSheet,
    /// What the pages show.
    pub texts: BlindTexts,
    /// Notes on the draw.
    pub notes: Vec<Note>,
}

/// Draws answers of the runs and deals what people can label of them to the raters.
///
/// # Errors
/// [`Error::Settings`] for raters with one name, for fewer answers than are drawn, and for answers without
/// anything to label; [`Error::Input`] for runs without texts.
pub fn label_round(set: &RunSet, options: &LabelOptions) -> Result<LabelRound> {
    let raters = rater_pages(&options.raters, set)?;
    let subject = if options.pairs || set.run_of_pairs().is_some() {
        SubjectKind::Pair
    } else {
        SubjectKind::Answer
    };
    let drawn = match subject {
        SubjectKind::Answer if options.verdicts.is_some() => {
            draw_verdicts(set, options.verdicts.unwrap_or_default(), options.seed)?
        }
        SubjectKind::Answer => {
            draw_answers(set, options.candidates(set)?, options.answers, options.seed)?
        }
        SubjectKind::Pair => draw_pairs(set, options.answers, options.seed)?,
    };
    let mut builder = RoundBuilder::new(options.seed, &drawn)?;
    let groups = match subject {
        SubjectKind::Answer => builder.add_answers(set, &drawn, &options.units)?,
        SubjectKind::Pair => builder.add_pairs(set, &drawn, options.seed)?,
    };
    let overlap = options.overlap.unwrap_or(if raters.len() > 1 {
        drawn.subjects.len().div_ceil(5)
    } else {
        0
    });
    let raters = builder.dealt(groups, raters, overlap, options.seed);
    if let Some(page) = raters.iter().find(|page| page.items.is_empty()) {
        let message = format!(
            "--raters: nothing is left for {}; draw more --answers, or raise --overlap",
            page.rater.escape_debug()
        );
        return Err(Error::Settings(message));
    }
    let notes = notes(&drawn, &builder);
    let mut sheet = LabelSheet {
        schema_version: LABEL_SCHEMA,
        id: Digest::from([0; 8]),
        seed: options.seed,
        draw: drawn.draw,
        metric: drawn.metric,
        runs: set.runs.iter().map(|run| run.name.clone()).collect(),
        frame: drawn.frame,
        pairs: drawn.pairs,
        verdicts: drawn.verdicts.map(|(draw, _)| draw),
        scales: builder.scales,
        items: builder.items,
        raters,
    };
    sheet.id = sheet.hash().map_err(not_json)?;
    let mut texts = builder.texts;
    texts.sheet = sheet.id;
    Ok(LabelRound {
        sheet,
        texts,
        notes,
    })
}

/// The pages of these raters, still empty, with distinct file names.
fn rater_pages(names: &[String], set: &RunSet) -> Result<Vec<RaterPage>> {
    if names.is_empty() {
        let message = "--raters: who labels? Name the raters, with commas between";
        return Err(Error::Usage(message.to_owned()));
    }
    let mut pages: Vec<RaterPage> = Vec::new();
    for name in names {
        let name = name.trim();
        if name.is_empty() || name == ADJUDICATOR {
            let message =
                format!("--raters: a rater cannot be called {name:?}; choose another name");
            return Err(Error::Usage(message));
        }
        // In `agree`, the run is a rater of its name, too.
        if set.runs.iter().any(|run| run.name.trim() == name) {
            let message = format!("--raters: {name:?} is the name of a run; choose another name");
            return Err(Error::Usage(message));
        }
        if pages.iter().any(|page| page.rater == name) {
            return Err(Error::Usage(format!("--raters: {name} is named twice")));
        }
        let plain = plain_name(name);
        let mut page = format!("{plain}.html");
        let mut number = 2;
        while is_taken(&page, &pages) {
            page = format!("{plain}-{number}.html");
            number += 1;
        }
        pages.push(RaterPage {
            rater: name.to_owned(),
            page,
            items: Vec::new(),
        });
    }
    Ok(pages)
}

/// Whether a page has this file name: two raters' names may have the same letters and digits, and the page of adjudication comes
/// into the directory, too.
fn is_taken(page: &str, pages: &[RaterPage]) -> bool {
    page == format!("{ADJUDICATOR}.html") || pages.iter().any(|other| other.page == page)
}

/// The first bytes of the hash of a value's JSON.
fn hash_of<const N: usize>(value: &impl serde::Serialize) -> Result<Digest<N>> {
    let json = serde_json::to_vec(value).map_err(not_json)?;
    Ok(blake3::hash(&json).into())
}

fn not_json(error: serde_json::Error) -> Error {
    Error::Internal(format!("cannot write a sheet as JSON: {error}"))
}

/// Collects items and texts.
struct RoundBuilder {
    /// Gives ids that nobody can compute without the whole frame.
    ids: ChaCha8Rng,
    used: HashSet<String>,
    scales: Vec<LabelScale>,
    items: Vec<SheetItem>,
    texts: BlindTexts,
    /// Drawn answers of which nothing can be labeled.
    without_items: usize,
}

/// The items of one answer or one pair, by index.
type ItemGroup = Vec<usize>;

impl RoundBuilder {
    fn new(seed: u64, drawn: &Drawn) -> Result<Self> {
        let frame: Digest<32> = hash_of(&(seed, &drawn.frame))?;
        Ok(Self {
            ids: ChaCha8Rng::from_seed(*frame.as_bytes()),
            used: HashSet::new(),
            scales: Vec::new(),
            items: Vec::new(),
            texts: BlindTexts {
                schema_version: LABEL_SCHEMA,
                sheet: Digest::from([0; 8]),
                answers: BTreeMap::new(),
                tasks: BTreeMap::new(),
            },
            without_items: 0,
        })
    }

    /// Adds what is labeled of the drawn answers, group by group. All runs that hold an answer contribute.
    fn add_answers(
        &mut self,
        set: &RunSet,
        drawn: &Drawn,
        kinds: &[LabelKind],
    ) -> Result<Vec<ItemGroup>> {
        let runs: Vec<RunTasks<'_>> = set.runs.iter().map(RunTasks::new).collect();
        let kinds = match drawn.verdicts {
            Some(_) => BTreeSet::from([LabelKind::Criterion]),
            None => chosen_kinds(set, &runs, kinds)?,
        };
        let mut groups = Vec::new();
        for (place, _) in &drawn.subjects {
            let answer = &drawn.frame[*place];
            let mut tasks: Vec<LabelTask> = Vec::new();
            for (run_tasks, run) in runs.iter().zip(&set.runs) {
                for item in run.items.iter().filter(|item| {
                    item.answer.system == answer.system
                        && item.case.case_id == answer.case_id
                        && item.answer.text_hash() == answer.text
                }) {
                    tasks.extend(run_tasks.tasks(item, &kinds)?);
                }
            }
            if drawn.verdicts.is_some() {
                tasks.retain(|task| drawn.verdict_probability(*place, &task.unit).is_some());
            }
            let mut seen = HashSet::new();
            // Two judges of one criterion: it is labeled once.
            tasks.retain(|task| seen.insert(task.unit.clone()));
            self.without_items += usize::from(tasks.is_empty());
            self.add_text(set, drawn, *place, &tasks)?;
            groups.push(self.add_group(drawn, (*place, None), tasks)?);
        }
        self.require_all_verdicts(set, drawn)?;
        groups.retain(|group| !group.is_empty());
        if groups.is_empty() {
            let message =
                "the drawn answers have nothing of that kind to label; choose other --units";
            return Err(Error::Settings(message.to_owned()));
        }
        Ok(groups)
    }

    /// # Errors
    /// When people cannot label one of the drawn verdicts: what the others correct would miss it.
    fn require_all_verdicts(&self, set: &RunSet, drawn: &Drawn) -> Result<()> {
        let of = drawn.verdicts.as_ref().map_or(0, |(_, all)| all.len());
        if self.items.len() >= of {
            return Ok(());
        }
        let what = format!(
            "people cannot label {} of {of} drawn verdicts on a page (such as those on snippets)",
            of - self.items.len()
        );
        let hint = "let a dear judge give the verdicts (label RUN --verdicts N --format csv, then score RUN --selected FILE), or draw \
                    answers (--answers N)";
        let run = set
            .runs
            .first()
            .map_or(Path::new("."), |run| run.path.as_path());
        Err(InputFault::new(run, what).refuse(hint))
    }

    /// Adds the drawn pairs, each a group of one item, its two answers in random order.
    fn add_pairs(&mut self, set: &RunSet, drawn: &Drawn, seed: u64) -> Result<Vec<ItemGroup>> {
        let mut rng = stream(seed, ORDER_OF_PAIRS);
        let mut groups = Vec::new();
        for (first, second) in &drawn.subjects {
            let second = second.unwrap_or(*first);
            self.add_text(set, drawn, *first, &[])?;
            self.add_text(set, drawn, second, &[])?;
            // By name, the first one would often be of the same system.
            let subject = if rng.random() {
                (second, Some(*first))
            } else {
                (*first, Some(second))
            };
            groups.push(self.add_group(drawn, subject, vec![pair()])?);
        }
        Ok(groups)
    }

    /// Adds the text of an answer, unless a pair with it was added before.
    fn add_text(
        &mut self,
        set: &RunSet,
        drawn: &Drawn,
        place: usize,
        tasks: &[LabelTask],
    ) -> Result<()> {
        if self.texts.answers.contains_key(&place) {
            return Ok(());
        }
        let answer: &FrameAnswer = &drawn.frame[place];
        let item = with_text(item_of(set, answer)?)?;
        let base = set.runs[answer.run].manifest.index_base();
        let sources = tasks.iter().flat_map(|task| &task.task.sources);
        let needed: BTreeSet<usize> = sources.copied().collect();
        let shown = blind_answer(&item, base, &needed);
        self.texts.answers.insert(place, shown);
        Ok(())
    }

    /// Adds the items of a group.
    fn add_group(
        &mut self,
        drawn: &Drawn,
        (answer, other): (usize, Option<usize>),
        tasks: Vec<LabelTask>,
    ) -> Result<ItemGroup> {
        let mut group = Vec::new();
        for LabelTask { unit, task, scale } in tasks {
            let Some(text) = self.texts.answers.get(&answer) else {
                return Err(Error::Internal("an answer has no text".to_owned()));
            };
            let shown = task.shown(text, &scale);
            let id = self.new_id();
            let scale = self.scale(scale);
            group.push(self.items.len());
            self.items.push(SheetItem {
                id: id.clone(),
                answer,
                other,
                probability: drawn.verdict_probability(answer, &unit),
                unit,
                shown,
                scale,
                shared: false,
            });
            self.texts.tasks.insert(id, task);
        }
        Ok(group)
    }

    fn new_id(&mut self) -> String {
        loop {
            let id = format!("{:010x}", self.ids.random::<u64>() >> 24);
            if self.used.insert(id.clone()) {
                return id;
            }
        }
    }

    /// The index of a scale, which many items share.
    fn scale(&mut self, scale: LabelScale) -> usize {
        let known = self.scales.iter().position(|other| *other == scale);
        known.unwrap_or_else(|| {
            self.scales.push(scale);
            self.scales.len() - 1
        })
    }

    /// The pages of the raters.
    fn dealt(
        &mut self,
        groups: Vec<ItemGroup>,
        mut raters: Vec<RaterPage>,
        overlap: usize,
        seed: u64,
    ) -> Vec<RaterPage> {
        let hands = deal(groups.len(), raters.len(), overlap, seed);
        for place in &hands.shared {
            for item in &groups[*place] {
                self.items[*item].shared = true;
            }
        }
        for (number, page) in raters.iter_mut().enumerate() {
            let mut item_groups = Vec::new();
            for place in hands.shared.iter().chain(&hands.by_rater[number]) {
                let items = groups[*place].iter().map(|item| &self.items[*item]);
                item_groups.push(items.collect());
            }
            page.items = page_order(item_groups, number, seed);
        }
        raters
    }
}

/// The kinds to label: those that were named, else the first one that a run has.
fn chosen_kinds(
    set: &RunSet,
    runs: &[RunTasks<'_>],
    named: &[LabelKind],
) -> Result<BTreeSet<LabelKind>> {
    if !named.is_empty() {
        return Ok(named.iter().copied().collect());
    }
    let mut first = LabelKind::Answer;
    for (run_tasks, run) in runs.iter().zip(&set.runs) {
        first = first.min(run_tasks.default_kind(&run.items)?);
    }
    Ok(BTreeSet::from([first]))
}

/// What the maker of the pages should know.
fn notes(drawn: &Drawn, builder: &RoundBuilder) -> Vec<Note> {
    let mut notes = Vec::new();
    let frame = drawn.frame.iter();
    let systems: BTreeSet<&str> = frame.map(|answer| answer.system.as_str()).collect();
    let answers = builder.texts.answers.values();
    let texts: Vec<&str> = answers.map(|answer| answer.text.as_str()).collect();
    let counts = mentions(systems, &texts);
    if !counts.is_empty() {
        let counts = counts.iter();
        let names = counts.map(|(name, count)| format!("{name} in {count}"));
        let names: Vec<String> = names.collect();
        notes.push(Note::warning(format!(
            "Drawn answers contain names of systems, by which a rater could recognize whose they are: {}.",
            list(names.iter().map(String::as_str), 5)
        )));
    }
    if builder.without_items > 0 {
        notes.push(Note::warning(format!(
            "{} of {} drawn have nothing of that kind to label.",
            counted(builder.without_items, "answer"),
            drawn.subjects.len()
        )));
    }
    notes
}
