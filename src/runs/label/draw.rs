//! Draws the answers, or the pairs of answers, that people label.

use std::collections::{BTreeMap, HashMap, HashSet};

use crate::analysis::comparison::{MetricTable, Observations};
use crate::domain::{
    CaseId, Digest, FrameAnswer, Item, LabelDraw, LabelUnit, PairFrame, SystemName, VerdictDraw,
};
use crate::error::{Error, InputFault, Result};
use crate::runs::RunSet;
use crate::runs::random_draw::{answers_of, random_places};
use crate::runs::verdict_frame::{VerdictFrame, VerdictKey};
use crate::stats::{inclusion_probabilities, mean, sd, systematic_sample};

/// An answer that can be drawn.
#[derive(Debug, Clone, PartialEq)]
pub struct LabelCandidate {
    /// Its run, by index.
    pub run: usize,
    /// The system.
    pub system: SystemName,
    /// The test case.
    pub case_id: CaseId,
    /// Standard deviation of the values by every judge and sample; `None` for fewer than two, and where it does not matter.
    pub spread: Option<f64>,
}

/// The answers that can be drawn, and how they are.
#[derive(Debug, Clone, PartialEq)]
pub struct LabelCandidates {
    /// The answers, in an order that only they decide.
    pub answers: Vec<LabelCandidate>,
    /// The metric of which each has a value, as `scorer.name`; `None` if they are drawn whatever their values are.
    pub metric: Option<String>,
    /// [`LabelDraw::Spread`] or [`LabelDraw::Random`].
    pub draw: LabelDraw,
}

impl LabelCandidates {
    /// The answers of these runs with a value of the metric (by default the most important one), to be drawn more often where
    /// its samples and judges differ.
    ///
    /// # Errors
    /// When the runs cannot be observed; [`Error::Settings`] for a metric that they do not have.
    pub fn with_value(set: &RunSet, metric: Option<&str>) -> Result<Self> {
        let observations = set.observe()?;
        let chosen = metric.map_or_else(
            || Ok(observations.headline()),
            |name| observations.metrics_named(name),
        )?;
        let table = chosen.first().map(|at| &observations.metrics[*at]);
        let mut answers = table.map_or_else(Vec::new, |table| with_value(&observations, table));
        // The draw is systematic, so that an order by case spreads it over the cases; the same run and
        // seed give the same answers.
        answers.sort_by(|a, b| (&a.case_id, &a.system, a.run).cmp(&(&b.case_id, &b.system, b.run)));
        Ok(Self {
            answers,
            metric: table.map(|table| format!("{}.{}", table.metric.scorer, table.metric.name)),
            draw: LabelDraw::Spread,
        })
    }

    /// All answers of these runs, to be drawn at random. The metrics do not matter, so that the answers are the same ones for
    /// each of them.
    pub fn all(set: &RunSet) -> Self {
        let mut answers = Vec::new();
        for (run, recorded_run) in set.runs.iter().enumerate() {
            for (system, case_id) in answers_of(recorded_run) {
                answers.push(LabelCandidate {
                    run,
                    system,
                    case_id,
                    spread: None,
                });
            }
        }
        // By system, as draws are checked: see `random_draw`.
        answers.sort_by(|a, b| (&a.system, &a.case_id, a.run).cmp(&(&b.system, &b.case_id, b.run)));
        Self {
            answers,
            metric: None,
            draw: LabelDraw::Random,
        }
    }

    /// The probability with which each answer is drawn, and whether it is. At random all have the same probability and a system
    /// its share; else half of the sample is spread evenly and half in proportion to the spread, and an answer without a spread
    /// has the mean of the others.
    ///
    /// # Errors
    /// [`Error::Settings`] for fewer answers than `n`, and for `n` = 0.
    pub fn draw(&self, n: usize, seed: u64) -> Result<Vec<(f64, bool)>> {
        let is_random = self.draw == LabelDraw::Random;
        let noun = if is_random {
            "answers"
        } else {
            "answers with a value"
        };
        require(n, self.answers.len(), noun)?;
        let probabilities = if is_random {
            vec![n as f64 / self.answers.len() as f64; self.answers.len()]
        } else {
            inclusion_probabilities(&self.spreads(), n)
        };
        let sample = if is_random {
            random_places(self.answers.iter().map(|answer| &answer.system), n, seed)
        } else {
            systematic_sample(&probabilities, seed)
        };
        let sample: HashSet<usize> = sample.into_iter().collect();
        let drawn = probabilities.into_iter().enumerate();
        Ok(drawn.map(|(at, p)| (p, sample.contains(&at))).collect())
    }

    fn spreads(&self) -> Vec<f64> {
        let answers = self.answers.iter();
        let known: Vec<f64> = answers.filter_map(|answer| answer.spread).collect();
        // Neither favored nor neglected: nothing is known of how sure the judge is about it.
        let typical = mean(&known).unwrap_or(0.0);
        let spreads = self.answers.iter().map(|answer| answer.spread);
        spreads.map(|spread| spread.unwrap_or(typical)).collect()
    }
}

/// # Errors
/// When `n` of so many cannot be drawn.
fn require(n: usize, available: usize, noun: &str) -> Result<()> {
    if n == 0 || n > available {
        return Err(Error::Settings(format!(
            "--answers {n}: there are {available} {noun}; draw 1 or more of them"
        )));
    }
    Ok(())
}

/// The answers with a value of the metric, and how much its samples differ where there are several.
fn with_value(observations: &Observations, table: &MetricTable) -> Vec<LabelCandidate> {
    let mut answers = Vec::new();
    for (at, case) in observations.cases.iter().enumerate() {
        for (row, system) in observations.systems.iter().enumerate() {
            if table.values[row][at].value().is_none() {
                continue;
            }
            let spread = match &table.samples {
                Some(samples) => sd(&samples[row][at].concat()),
                None => None,
            };
            answers.push(LabelCandidate {
                run: system.run,
                system: system.system.clone(),
                case_id: case.case_id.clone(),
                spread,
            });
        }
    }
    answers
}

/// What was drawn: answers of the frame, or pairs of them.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Drawn {
    pub(super) draw: LabelDraw,
    pub(super) metric: Option<String>,
    pub(super) frame: Vec<FrameAnswer>,
    pub(super) pairs: Option<PairFrame>,
    /// The draw of single verdicts, and the probability of each of them.
    pub(super) verdicts: Option<(VerdictDraw, HashMap<VerdictKey, f64>)>,
    /// Indices of the frame: an answer, and the second one of a pair.
    pub(super) subjects: Vec<(usize, Option<usize>)>,
}

impl Drawn {
    /// The probability of a drawn verdict on the answer at this place of the frame; `None` if it was not drawn by itself.
    pub(super) fn verdict_probability(&self, place: usize, unit: &LabelUnit) -> Option<f64> {
        let (_, verdicts) = self.verdicts.as_ref()?;
        let answer = &self.frame[place];
        let key = (
            answer.system.clone(),
            answer.case_id.clone(),
            unit.name.clone(),
        );
        verdicts.get(&key).copied()
    }
}

/// Draws of these answers of the runs, as far as they have a text.
///
/// # Errors
/// As [`LabelCandidates::draw`]; [`Error::Input`] for runs without texts.
pub(super) fn draw_answers(
    set: &RunSet,
    mut candidates: LabelCandidates,
    n: usize,
    seed: u64,
) -> Result<Drawn> {
    let texts = texts(set)?;
    let mut seen = HashSet::new();
    candidates.answers.retain(|candidate| {
        let text = texts.get(&(candidate.run, &candidate.system, &candidate.case_id));
        // Two runs of the same answers by two judges: a person labels an answer once.
        text.is_some_and(|text| {
            seen.insert((candidate.system.clone(), candidate.case_id.clone(), *text))
        })
    });
    let drawn = candidates.draw(n, seed)?;
    let mut frame = Vec::new();
    for (candidate, (probability, is_drawn)) in candidates.answers.iter().zip(drawn) {
        frame.push(FrameAnswer {
            run: candidate.run,
            system: candidate.system.clone(),
            case_id: candidate.case_id.clone(),
            text: texts[&(candidate.run, &candidate.system, &candidate.case_id)],
            probability: Some(probability),
            drawn: is_drawn,
        });
    }
    let subjects = frame.iter().enumerate().filter(|(_, answer)| answer.drawn);
    let subjects = subjects.map(|(place, _)| (place, None)).collect();
    Ok(Drawn {
        draw: candidates.draw,
        metric: candidates.metric,
        frame,
        pairs: None,
        verdicts: None,
        subjects,
    })
}

/// Draws pairs: two answers to one question by two systems, each pair with the same probability.
///
/// # Errors
/// [`Error::Settings`] for fewer pairs than `n`, and for `n` = 0; [`Error::Input`] for runs without texts.
pub(super) fn draw_pairs(set: &RunSet, n: usize, seed: u64) -> Result<Drawn> {
    let mut frame = frame_of_texts(set)?;
    let mut by_case: BTreeMap<&CaseId, Vec<usize>> = BTreeMap::new();
    for (place, answer) in frame.iter().enumerate() {
        by_case.entry(&answer.case_id).or_default().push(place);
    }
    let mut pairs = Vec::new();
    for places in by_case.values() {
        for (at, first) in places.iter().enumerate() {
            for second in &places[at + 1..] {
                if frame[*first].system != frame[*second].system {
                    pairs.push((*first, *second));
                }
            }
        }
    }
    require(n, pairs.len(), "pairs of answers to one question")?;
    let probability = n as f64 / pairs.len() as f64;
    let sample = systematic_sample(&vec![probability; pairs.len()], seed);
    let mut subjects = Vec::new();
    for place in sample {
        let (first, second) = pairs[place];
        subjects.push((first, Some(second)));
        frame[first].drawn = true;
        frame[second].drawn = true;
    }
    Ok(Drawn {
        draw: LabelDraw::Pairs,
        metric: None,
        pairs: Some(PairFrame {
            of: pairs.len(),
            probability,
        }),
        verdicts: None,
        frame,
        subjects,
    })
}

/// Draws single verdicts of a run with their probabilities.
///
/// # Errors
/// As [`VerdictFrame::of`] and [`VerdictFrame::draw`]; for several runs, and for a run without texts.
pub(super) fn draw_verdicts(set: &RunSet, n: usize, seed: u64) -> Result<Drawn> {
    let verdicts = VerdictFrame::of_one(set)?;
    let (places, draw) = verdicts.draw(n, seed)?;
    let probabilities = verdicts.probabilities(n);
    let places = places.into_iter();
    let drawn = places.map(|at| (verdicts.key(at), probabilities[at]));
    let drawn: HashMap<VerdictKey, f64> = drawn.collect();
    let answers = drawn.keys().map(|(system, case, _)| (system, case));
    let answers: HashSet<_> = answers.collect();
    let mut frame = frame_of_texts(set)?;
    for answer in &mut frame {
        answer.drawn = answers.contains(&(&answer.system, &answer.case_id));
    }
    let subjects = frame.iter().enumerate().filter(|(_, answer)| answer.drawn);
    let subjects = subjects.map(|(place, _)| (place, None)).collect();
    Ok(Drawn {
        draw: LabelDraw::Verdicts,
        metric: None,
        pairs: None,
        frame,
        subjects,
        verdicts: Some((draw, drawn)),
    })
}

/// Every answer with a text, once, by case and system.
fn frame_of_texts(set: &RunSet) -> Result<Vec<FrameAnswer>> {
    let mut frame = Vec::new();
    for ((run, system, case_id), text) in texts(set)? {
        frame.push(FrameAnswer {
            run,
            system: system.clone(),
            case_id: case_id.clone(),
            text,
            probability: None,
            drawn: false,
        });
    }
    frame.sort_by(|a, b| (&a.case_id, &a.system, a.run).cmp(&(&b.case_id, &b.system, b.run)));
    let mut seen = HashSet::new();
    frame
        .retain(|answer| seen.insert((answer.system.clone(), answer.case_id.clone(), answer.text)));
    Ok(frame)
}

/// An answer in a set of runs.
type AnswerKey<'a> = (usize, &'a SystemName, &'a CaseId);

/// The hash of each answer's text.
///
/// # Errors
/// When a run has none.
fn texts(set: &RunSet) -> Result<HashMap<AnswerKey<'_>, Digest<16>>> {
    let mut texts = HashMap::new();
    for (run, recorded_run) in set.runs.iter().enumerate() {
        if recorded_run.items.is_empty() {
            let what =
                "has no texts to label: it was made with --no-inputs, or imported without answers";
            let hint = "score or import the answers with their texts";
            return Err(InputFault::new(&recorded_run.path, what).refuse(hint));
        }
        for item in &recorded_run.items {
            let key = (run, &item.answer.system, &item.case.case_id);
            texts.insert(key, item.answer.text_hash());
        }
    }
    Ok(texts)
}

/// The item of an answer of the frame.
pub(super) fn item_of<'a>(set: &'a RunSet, answer: &FrameAnswer) -> Result<&'a Item> {
    let mut items = set.runs[answer.run].items.iter();
    let item = items
        .find(|item| item.answer.system == answer.system && item.case.case_id == answer.case_id);
    item.ok_or_else(|| Error::Internal("an answer was drawn that no run has".to_owned()))
}
