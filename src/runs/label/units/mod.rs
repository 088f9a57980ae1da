//! What of an answer people can label, one kind a file: the criteria, aspects and claims that a run judged, or the whole answer.
//!
//! A kind is a [`UnitSource`] in [`SOURCES`]. It turns the scores of an answer into tasks, each with the unit that the run's
//! component has, the text that raters read and the scale on which they answer; everything after it, the page included, works on
//! these. The tasks of a run are the same whenever they are made, so that labels can be checked against a run by their hashes.

mod aspects;
mod claims;
mod criteria;
mod whole;

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use crate::domain::{
    Aspect, BlindTask, CaseId, IndexBase, Item, LabelKind, LabelScale, LabelUnit, RubricProfile,
    ScoredAnswer, SystemName,
};
use crate::error::Result;
use crate::record::RecordedRun;

/// A unit of an answer with what a rater reads.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct LabelTask {
    /// The unit, as the run names it.
    pub unit: LabelUnit,
    /// What is asked.
    pub task: BlindTask,
    /// The labels that can be given.
    pub scale: LabelScale,
}

/// A kind of unit.
struct UnitSource {
    /// The kind.
    kind: LabelKind,
    /// The tasks of an answer by one score, none if the score has no unit of this kind. An error is why people cannot label what
    /// the score has.
    tasks: fn(&LabeledAnswer<'_>, &ScoredAnswer) -> Result<Vec<LabelTask>>,
}

/// The kinds of units of single answers. Without a choice, the first one that a run has is labeled.
const SOURCES: [UnitSource; 3] = [criteria::SOURCE, aspects::SOURCE, claims::SOURCE];

/// An answer with what the tasks about it need.
struct LabeledAnswer<'a> {
    item: &'a Item,
    profile: Option<&'a RubricProfile>,
    aspects: &'a [Arc<Aspect>],
    index_base: IndexBase,
}

/// Everything in a run that people can label.
pub(crate) struct RunTasks<'a> {
    profile: Option<RubricProfile>,
    aspects: Vec<Arc<Aspect>>,
    index_base: IndexBase,
    scored: HashMap<(&'a SystemName, &'a CaseId), Vec<&'a ScoredAnswer>>,
}

impl<'a> RunTasks<'a> {
    /// The tasks of this run.
    pub(crate) fn new(run: &'a RecordedRun) -> Self {
        let mut scored: HashMap<_, Vec<&ScoredAnswer>> = HashMap::new();
        for answer in &run.scored {
            let key = (&answer.system, &answer.case.case_id);
            scored.entry(key).or_default().push(answer);
        }
        let manifest = &run.manifest;
        let index_base = u8::try_from(manifest.index_base()).ok();
        Self {
            profile: manifest.criteria_profile(),
            aspects: manifest.aspects(),
            index_base: index_base
                .and_then(|base| IndexBase::try_from(base).ok())
                .unwrap_or_default(),
            scored,
        }
    }

    /// What is labeled if nobody chooses: the first kind that the run has, else whole answers.
    ///
    /// # Errors
    /// When people cannot label what the run has of it.
    pub(crate) fn default_kind(&self, items: &[Item]) -> Result<LabelKind> {
        for source in &SOURCES {
            for item in items {
                if !self.tasks(item, &BTreeSet::from([source.kind]))?.is_empty() {
                    return Ok(source.kind);
                }
            }
        }
        Ok(LabelKind::Answer)
    }

    /// The tasks of these kinds about an answer, kind by kind in the order of the run.
    ///
    /// # Errors
    /// When people cannot label what the run has of a kind.
    pub(crate) fn tasks(&self, item: &Item, kinds: &BTreeSet<LabelKind>) -> Result<Vec<LabelTask>> {
        let answer = LabeledAnswer {
            item,
            profile: self.profile.as_ref(),
            aspects: &self.aspects,
            index_base: self.index_base,
        };
        let mut tasks = Vec::new();
        for source in SOURCES.iter().filter(|source| kinds.contains(&source.kind)) {
            for scored in self.scores(item) {
                tasks.extend((source.tasks)(&answer, scored)?);
            }
        }
        if kinds.contains(&LabelKind::Answer) {
            tasks.push(whole::answer());
        }
        Ok(tasks)
    }

    /// The scores of an answer.
    pub(crate) fn scores<'b>(&'b self, item: &'b Item) -> &'b [&'a ScoredAnswer] {
        let key = (&item.answer.system, &item.case.case_id);
        self.scored.get(&key).map_or(&[], Vec::as_slice)
    }
}

pub(crate) use whole::pair;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{
        Answer, ClaimSupport, Component, ComponentKind, Mode, Prediction, Score, ScorerId, Source,
        TestCase,
    };
    use crate::record::Manifest;

    /// A run of one answer with these components and claims, and two sources.
    fn run(components: Vec<Component>, claims: Vec<ClaimSupport>) -> RecordedRun {
        let case = Arc::new(TestCase::without_rubric("c".into(), "why?"));
        let mut answer = Answer::new("s".into(), "c".into(), "It rains [0].");
        answer.prediction = Some(Arc::new(Prediction {
            sources: vec![Source::default(); 2],
            ..Prediction::default()
        }));
        let score = Score {
            scorer: ScorerId::baseline("mine"),
            components,
            claims,
            ..Score::default()
        };
        let scored = ScoredAnswer::new("s".into(), Arc::clone(&case), score);
        RecordedRun {
            path: "r".into(),
            name: "r".to_owned(),
            manifest: Manifest::begin(Mode::Default),
            items: vec![Item::new(case, answer)],
            scored: vec![Arc::new(scored)],
        }
    }

    fn claim(citations: &[u64], why: Option<&str>) -> ClaimSupport {
        ClaimSupport {
            claim: "It rains.".to_owned(),
            citations: citations.to_vec(),
            inherited: false,
            label: None,
            supported: None,
            precise_citations: None,
            why: why.map(str::to_owned),
            feedback: None,
            unscored: None,
        }
    }

    #[test]
    fn claims_that_a_judge_was_asked_about_are_labeled_with_their_sources() {
        let claims = vec![
            claim(&[], Some("no citation")),
            claim(&[1, 0], None),
            claim(&[7], Some("[7] is out of range")),
        ];
        let run = run(Vec::new(), claims);
        let tasks = RunTasks::new(&run);
        let kind = tasks.default_kind(&run.items).unwrap();
        assert_eq!(kind, LabelKind::Claim);
        let label_tasks = tasks.tasks(&run.items[0], &BTreeSet::from([kind])).unwrap();
        let units: Vec<&LabelUnit> = label_tasks.iter().map(|task| &task.unit).collect();
        let expected = LabelUnit {
            kind,
            // Whoever judged: labels are valid for every judge of the same claims.
            scorer: "mine".to_owned(),
            name: "1".to_owned(),
        };
        assert_eq!(units, [&expected]);
        assert_eq!(label_tasks[0].task.sources, [1, 0]);
    }

    #[test]
    fn criteria_come_before_aspects_and_without_either_the_whole_answer_is_labeled() {
        let criterion = Component::new("c1", ComponentKind::Criterion).with_text("Names rain");
        let aspect = Component::new("coverage", ComponentKind::Aspect);
        let length = Component::new("length", ComponentKind::Length);
        let both = run(vec![length.clone(), aspect.clone(), criterion], Vec::new());
        let tasks = RunTasks::new(&both);
        assert_eq!(
            tasks.default_kind(&both.items).unwrap(),
            LabelKind::Criterion
        );
        let kinds = BTreeSet::from([LabelKind::Answer, LabelKind::Aspect, LabelKind::Criterion]);
        let label_tasks = tasks.tasks(&both.items[0], &kinds).unwrap();
        let texts: Vec<&str> = label_tasks
            .iter()
            .map(|task| task.task.text.as_str())
            .collect();
        assert_eq!(texts[..2], ["Names rain", "coverage"]);
        assert_eq!((label_tasks[1].scale.levels[0].key, texts.len()), ('1', 3));
        let neither = run(vec![length], Vec::new());
        let kind = RunTasks::new(&neither)
            .default_kind(&neither.items)
            .unwrap();
        assert_eq!(kind, LabelKind::Answer);
    }
}
