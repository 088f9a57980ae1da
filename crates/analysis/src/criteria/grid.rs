//! The credit for each criterion by system, grouped as the rubric groups criteria: what a heatmap shows.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use super::{group_of, is_criterion, property_of};
use crate::comparison::ObservedSystem;
use crate::distinct;
use scholareval_core::domain::{CaseId, Component, ComponentKind, ScoredAnswer, ScorerId};
use scholareval_stats::mean;

/// Heading of the criteria of every case: length, expertise, citations, excerpts.
const OF_EVERY_CASE: &str = "Every answer";
/// Heading of graded aspects.
const ASPECTS: &str = "Aspects";
/// Heading of criteria without tags that could group them.
const UNGROUPED: &str = "Criteria";
/// Heading of criteria without the tag by which the others are grouped.
const OTHERS: &str = "Other criteria";
/// Heading of criteria with a negative weight.
const FAULTS: &str = "Faults";

/// The criteria by group, in the order of the rubric: those of cases, those of every case, faults.
#[derive(Debug, Clone, PartialEq)]
pub struct CriteriaGrid<'a> {
    /// The groups; none is empty.
    pub groups: Vec<CriteriaGroup<'a>>,
}

/// Criteria that belong together.
#[derive(Debug, Clone, PartialEq)]
pub struct CriteriaGroup<'a> {
    /// The scorer that judged them.
    pub scorer: &'a ScorerId,
    /// The name that they share but for a number, their tag, or their kind.
    pub heading: String,
    /// Whether they are faults: criteria with a negative weight, whose credit says how often they were found.
    pub is_fault: bool,
    /// Whether every answer is asked them: such criteria, as length and citations, have little in common, so that their mean
    /// says nothing.
    pub is_of_every_answer: bool,
    /// The criteria, in the order of the rubric.
    pub rows: Vec<CriterionRow<'a>>,
}

/// One criterion: that of a case, or one that several cases have with the same text.
#[derive(Debug, Clone, PartialEq)]
pub struct CriterionRow<'a> {
    /// The name of its component, in the first answer.
    pub name: &'a str,
    /// What it asks for; of snippets the criterion that they belong to.
    pub text: &'a str,
    /// The names of its component in the cases in which it has another one.
    pub renamed: HashMap<&'a CaseId, &'a str>,
    /// The cases that have it, with the name of its component.
    pub of_cases: BTreeSet<(&'a CaseId, &'a str)>,
    /// The credit of each answer that was judged by it.
    pub marks: Vec<CriterionMark<'a>>,
}

/// What an answer earned for a criterion.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CriterionMark<'a> {
    /// Index of the system.
    pub system: usize,
    /// The case.
    pub case: &'a CaseId,
    /// The share of the scale, 0..=1; of a fault 1 if it was found in full.
    pub credit: f64,
}

impl CriteriaGroup<'_> {
    /// The number of its criteria, as in the statistics of criteria: what several cases have with one text counts for each of them,
    /// unless every answer is asked it.
    pub fn count(&self) -> usize {
        if self.is_of_every_answer {
            return self.rows.len();
        }
        self.rows.iter().map(|row| row.of_cases.len()).sum()
    }

    /// The mean credit of each of `systems` systems over all answers and criteria of the group; `None` without any.
    pub fn means(&self, systems: usize) -> Vec<Option<f64>> {
        means_by_system(self.rows.iter().flat_map(|row| &row.marks), systems)
    }
}

impl CriterionRow<'_> {
    /// The mean credit of each of `systems` systems; `None` without an answer judged by it.
    pub fn means(&self, systems: usize) -> Vec<Option<f64>> {
        means_by_system(self.marks.iter(), systems)
    }

    /// How far the best of the systems is above the worst.
    pub fn spread(&self, systems: usize) -> f64 {
        let means: Vec<f64> = self.means(systems).into_iter().flatten().collect();
        let highest = means.iter().copied().fold(f64::MIN, f64::max);
        let lowest = means.iter().copied().fold(f64::MAX, f64::min);
        (highest - lowest).max(0.0)
    }
}

fn means_by_system<'m>(
    marks: impl Iterator<Item = &'m CriterionMark<'m>>,
    systems: usize,
) -> Vec<Option<f64>> {
    let mut credits = vec![Vec::new(); systems];
    for mark in marks {
        credits[mark.system].push(mark.credit);
    }
    credits.iter().map(|list| mean(list)).collect()
}

/// The criteria of these runs by system; answers of other systems than these are left out, as are comparisons of two answers.
///
/// ```
/// assert!(scholareval_analysis::criteria_grid(&[], &[]).groups.is_empty());
/// ```
pub fn criteria_grid<'a>(
    runs: &[&'a [Arc<ScoredAnswer>]],
    systems: &[ObservedSystem],
) -> CriteriaGrid<'a> {
    let mut places = HashMap::new();
    for (at, system) in systems.iter().enumerate() {
        places.insert((system.run, &system.system), at);
    }
    let families = TagFamilies::of(runs);
    let mut builder = GridBuilder::default();
    for (run, scored) in runs.iter().enumerate() {
        for answer in *scored {
            let place: Option<&usize> = places.get(&(run, &answer.system));
            // What pairs are compared by says nothing of single answers.
            if let (Some(system), None) = (place, &answer.systems) {
                builder.add(answer, *system, &families);
            }
        }
    }
    builder.finish()
}

/// What makes two components the same criterion.
#[derive(PartialEq, Eq, Hash)]
struct RowKey<'a> {
    scorer: &'a ScorerId,
    kind: ComponentKind,
    is_fault: bool,
    heading: String,
    label: &'a str,
}

/// Where a group stands among those of its scorer.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum GroupRank {
    OfCases,
    OfEveryCase,
    Faults,
}

#[derive(Default)]
struct GridBuilder<'a> {
    /// The group and the row of each criterion.
    places: HashMap<RowKey<'a>, (usize, usize)>,
    groups: Vec<(GroupRank, CriteriaGroup<'a>)>,
}

impl<'a> GridBuilder<'a> {
    /// Adds the criteria of an answer.
    fn add(&mut self, answer: &'a ScoredAnswer, system: usize, families: &TagFamilies<'a>) {
        for component in &answer.score.components {
            let value = component.value.filter(|value| value.is_finite());
            // What the judge could not assess has no weight either, so that a fault would not show as one.
            let Some(value) = value.filter(|_| is_criterion(component)) else {
                continue;
            };
            let (low, high) = component.kind.unit().range();
            let (group, row) = self.place_of(answer, component, families);
            let row = &mut self.groups[group].1.rows[row];
            if row.name != component.name {
                row.renamed.insert(&answer.case.case_id, &component.name);
            }
            row.of_cases.insert((&answer.case.case_id, &component.name));
            row.marks.push(CriterionMark {
                system,
                case: &answer.case.case_id,
                credit: (value - low) / (high - low),
            });
        }
    }

    /// Group and row of a component; new ones are added.
    fn place_of(
        &mut self,
        answer: &'a ScoredAnswer,
        component: &'a Component,
        families: &TagFamilies<'a>,
    ) -> (usize, usize) {
        let key = RowKey {
            scorer: &answer.score.scorer,
            kind: component.kind,
            is_fault: component.is_fault(),
            heading: heading(answer, component, families),
            label: label(answer, component),
        };
        if let Some(place) = self.places.get(&key) {
            return *place;
        }
        let group = self.group_of(&key);
        let rows = &mut self.groups[group].1.rows;
        rows.push(CriterionRow {
            name: &component.name,
            text: key.label,
            renamed: HashMap::new(),
            of_cases: BTreeSet::new(),
            marks: Vec::new(),
        });
        let place = (group, rows.len() - 1);
        self.places.insert(key, place);
        place
    }

    /// The group of a criterion; a new one is added.
    fn group_of(&mut self, key: &RowKey<'a>) -> usize {
        let of_key = (key.scorer, key.is_fault, &key.heading);
        let mut groups = self.groups.iter().map(|(_, group)| group);
        // A tag may be called as a group of ours is.
        let known =
            groups.position(|group| (group.scorer, group.is_fault, &group.heading) == of_key);
        if let Some(place) = known {
            return place;
        }
        let rank = if key.is_fault {
            GroupRank::Faults
        } else if key.kind.is_of_case() {
            GroupRank::OfCases
        } else {
            GroupRank::OfEveryCase
        };
        let group = CriteriaGroup {
            scorer: key.scorer,
            heading: key.heading.clone(),
            is_fault: key.is_fault,
            is_of_every_answer: rank == GroupRank::OfEveryCase,
            rows: Vec::new(),
        };
        self.groups.push((rank, group));
        self.groups.len() - 1
    }

    fn finish(mut self) -> CriteriaGrid<'a> {
        let scorers = distinct(self.groups.iter().map(|(_, group)| group.scorer));
        self.groups.sort_by_key(|(rank, group)| {
            let scorer = scorers.iter().position(|scorer| *scorer == group.scorer);
            (scorer, *rank)
        });
        CriteriaGrid {
            groups: self.groups.into_iter().map(|(_, group)| group).collect(),
        }
    }
}

/// What a criterion asks for. Criteria of every case are known by their names; the text of the length has a case's bounds.
fn label<'a>(answer: &'a ScoredAnswer, component: &'a Component) -> &'a str {
    match component.kind {
        ComponentKind::Length | ComponentKind::Aspect => &component.name,
        ComponentKind::Evidence => {
            let name = property_of(component);
            let mut components = answer.score.components.iter();
            let property = components.find(|other| *other.name == *name);
            property.map_or(name, |component| text_or_name(component))
        }
        _ => text_or_name(component),
    }
}

fn text_or_name(component: &Component) -> &str {
    if component.text.is_empty() {
        &component.name
    } else {
        &component.text
    }
}

/// The heading under which a criterion stands.
fn heading<'a>(
    answer: &ScoredAnswer,
    component: &'a Component,
    families: &TagFamilies<'a>,
) -> String {
    if component.is_fault() {
        return FAULTS.to_owned();
    }
    match component.kind {
        ComponentKind::Property => spelled_out(group_of(component)),
        ComponentKind::Evidence => format!("Snippets: {}", group_of(component).replace('_', " ")),
        ComponentKind::Criterion => families.heading(&answer.score.scorer, component),
        ComponentKind::Aspect => ASPECTS.to_owned(),
        _ => OF_EVERY_CASE.to_owned(),
    }
}

/// `Most important item` of `most_important_item`.
fn spelled_out(name: &str) -> String {
    let mut characters = name.chars();
    let first = characters.next().map(char::to_uppercase);
    let words = first.into_iter().flatten().chain(characters);
    words.collect::<String>().replace('_', " ")
}

/// Of each scorer the family of tags that groups its criteria: the first one of which criteria of one case have different
/// tags. In `axis:accuracy` the family is `axis`; a tag without a colon is of the family without a name.
struct TagFamilies<'a>(HashMap<&'a ScorerId, &'a str>);

impl<'a> TagFamilies<'a> {
    fn of(runs: &[&'a [Arc<ScoredAnswer>]]) -> Self {
        let mut families = HashMap::new();
        for answer in runs.iter().flat_map(|scored| scored.iter()) {
            if let Some(family) = differing_family(&answer.score.components) {
                families.entry(&answer.score.scorer).or_insert(family);
            }
        }
        Self(families)
    }

    fn heading(&self, scorer: &ScorerId, component: &'a Component) -> String {
        let Some(family) = self.0.get(scorer) else {
            return UNGROUPED.to_owned();
        };
        match tag_of(component, family) {
            Some(tag) => spelled_out(value_of(tag)),
            None => OTHERS.to_owned(),
        }
    }
}

/// The first family of which these criteria have different tags.
fn differing_family(components: &[Component]) -> Option<&str> {
    let all = components.iter();
    let mut criteria = all.filter(|component| component.kind == ComponentKind::Criterion);
    let first = criteria.next()?;
    let others: Vec<&Component> = criteria.collect();
    let mut families = first.tags.iter().map(|tag| family_of(tag));
    families.find(|family| {
        let tag = tag_of(first, family);
        others.iter().any(|other| tag_of(other, family) != tag)
    })
}

/// The component's first tag of the family.
fn tag_of<'a>(component: &'a Component, family: &str) -> Option<&'a str> {
    let mut tags = component.tags.iter().map(|tag| &**tag);
    tags.find(|tag| family_of(tag) == family)
}

fn family_of(tag: &str) -> &str {
    tag.split_once(':').map_or("", |(family, _)| family)
}

fn value_of(tag: &str) -> &str {
    tag.split_once(':').map_or(tag, |(_, value)| value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support::{answer_to, case, component, score};

    fn system(name: &str) -> ObservedSystem {
        ObservedSystem {
            label: name.to_owned(),
            system: name.into(),
            run: 0,
        }
    }

    fn answer(system: &str, case_id: &str, components: Vec<Component>) -> Arc<ScoredAnswer> {
        let case = case(case_id, &format!("why {case_id}?"), "A", false);
        Arc::new(answer_to(system, case, score(components)))
    }

    fn criterion(name: &str, tags: &[&str], weight: f64, value: Option<f64>) -> Component {
        let mut criterion = component(name, ComponentKind::Criterion, weight, value)
            .with_text(&format!("text of {name}"));
        criterion.tags = tags.iter().map(|tag| (*tag).to_owned()).collect();
        criterion
    }

    /// Heading, text and means of every row.
    fn shown(
        scored: &[Arc<ScoredAnswer>],
        systems: &[&str],
    ) -> Vec<(String, String, Vec<Option<f64>>)> {
        let systems: Vec<ObservedSystem> = systems.iter().map(|name| system(name)).collect();
        let grid = criteria_grid(&[scored], &systems);
        let mut rows = Vec::new();
        for group in &grid.groups {
            for row in &group.rows {
                rows.push((
                    group.heading.clone(),
                    row.text.to_owned(),
                    row.means(systems.len()),
                ));
            }
        }
        rows
    }

    #[test]
    fn numbered_criteria_are_groups_and_what_every_answer_is_asked_comes_after_them() {
        let parts = |value| {
            vec![
                component("length", ComponentKind::Length, 0.1, Some(1.0)),
                component(
                    "most_important_item_0",
                    ComponentKind::Property,
                    0.3,
                    Some(value),
                )
                .with_text("Names a."),
                component(
                    "most_important_item_0_evidence",
                    ComponentKind::Evidence,
                    0.3,
                    Some(0.5),
                )
                .with_text("3 snippets"),
            ]
        };
        let scored = [
            answer("a", "1", parts(0.8)),
            answer("b", "1", parts(0.4)),
            answer("c", "1", parts(0.1)),
        ];
        let row = |heading: &str, text: &str, means: [f64; 2]| {
            (
                heading.to_owned(),
                text.to_owned(),
                means.map(Some).to_vec(),
            )
        };
        assert_eq!(
            shown(&scored, &["a", "b"]),
            [
                row("Most important item", "Names a.", [0.8, 0.4]),
                row("Snippets: most important item", "Names a.", [0.5, 0.5]),
                row("Every answer", "length", [1.0, 1.0]),
            ]
        );
    }

    #[test]
    fn criteria_are_grouped_by_the_tag_in_which_those_of_a_case_differ() {
        let scored = [answer(
            "a",
            "1",
            vec![
                criterion("c1", &["level:x", "axis:accuracy"], 0.5, Some(1.0)),
                criterion("c2", &["level:x", "axis:context_awareness"], 0.5, Some(0.0)),
                criterion("c3", &["level:x"], 0.5, Some(0.5)),
                criterion("c4", &["level:x", "axis:accuracy"], -0.5, Some(1.0)),
                criterion("c5", &["level:x", "axis:faults"], 0.5, Some(1.0)),
            ],
        )];
        let headings: Vec<String> = shown(&scored, &["a"])
            .into_iter()
            .map(|row| row.0)
            .collect();
        assert_eq!(
            headings,
            [
                "Accuracy",
                "Context awareness",
                "Other criteria",
                "Faults",
                "Faults"
            ]
        );
    }

    #[test]
    fn one_text_in_several_cases_is_one_criterion_and_what_was_not_assessed_is_left_out() {
        let scored = [
            answer("a", "1", vec![criterion("c1", &[], 1.0, Some(1.0))]),
            answer("a", "2", vec![criterion("c1", &[], 1.0, Some(0.5))]),
            answer("b", "1", vec![criterion("c1", &[], 0.0, None)]),
        ];
        let rows = shown(&scored, &["a", "b"]);
        assert_eq!(
            rows,
            [(
                "Criteria".to_owned(),
                "text of c1".to_owned(),
                vec![Some(0.75), None]
            )]
        );
    }

    #[test]
    fn a_criterion_knows_its_other_names() {
        let named = |name: &str| {
            let criterion = component(name, ComponentKind::Criterion, 1.0, Some(1.0));
            vec![criterion.with_text("Cites a review.")]
        };
        let scored = [answer("a", "1", named("c1")), answer("a", "2", named("c4"))];
        let grid = criteria_grid(&[&scored], &[system("a")]);
        let [row] = &grid.groups[0].rows[..] else {
            panic!("one criterion: {grid:?}");
        };
        assert_eq!(row.name, "c1");
        let second = CaseId::from("2");
        assert_eq!(row.renamed, HashMap::from([(&second, "c4")]));
        // Two criteria of one text, as `criteria` counts them.
        assert_eq!(grid.groups[0].count(), 2);
    }

    #[test]
    fn grades_are_shares_of_their_scale() {
        let scored = [answer(
            "a",
            "1",
            vec![component("coverage", ComponentKind::Aspect, 0.0, Some(4.0))],
        )];
        assert_eq!(
            shown(&scored, &["a"]),
            [(
                "Aspects".to_owned(),
                "coverage".to_owned(),
                vec![Some(0.75)]
            )]
        );
    }
}
