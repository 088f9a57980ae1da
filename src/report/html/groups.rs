//! The groups of a case's criteria, which fold on its page: the nodes of a tree, or the values of a tag.

use std::collections::{BTreeSet, HashMap};

use crate::domain::TestCase;

/// Groups of criteria.
#[derive(Debug, Default)]
pub(super) struct CriterionGroups {
    /// The heading of each group, and the group around it.
    pub(super) list: Vec<(String, Option<usize>)>,
    /// The innermost group of each criterion, by its name.
    of: HashMap<String, usize>,
}

impl CriterionGroups {
    /// The groups of the criteria of a case: none unless it is a tree, or each criterion has exactly one of several tags that
    /// not all have.
    pub(super) fn of(case: &TestCase) -> Self {
        let mut groups = Self::default();
        groups.add_nodes(case);
        if groups.list.is_empty() {
            groups.add_tags(case);
        }
        groups
    }

    /// The innermost group of the criterion with this name.
    pub(super) fn innermost(&self, criterion: &str) -> Option<usize> {
        self.of.get(criterion).copied()
    }

    fn add_nodes(&mut self, case: &TestCase) {
        let mut places = HashMap::new();
        for criterion in &case.criteria {
            let mut above = None;
            // The first text is that of the root.
            let mut texts = criterion.nodes_above.iter().skip(1);
            for number in criterion.nodes(case.case_id.as_str()) {
                let text = texts.next().map_or("", |text| text);
                let place = *places.entry(number).or_insert_with(|| {
                    let heading = format!("{number} {text}").trim_end().to_owned();
                    self.list.push((heading, above));
                    self.list.len() - 1
                });
                above = Some(place);
            }
            self.of
                .extend(above.map(|place| (criterion.name.clone(), place)));
        }
    }

    fn add_tags(&mut self, case: &TestCase) {
        let mut counts: HashMap<&str, usize> = HashMap::new();
        for tag in case.criteria.iter().flat_map(|criterion| &criterion.tags) {
            *counts.entry(tag).or_default() += 1;
        }
        let is_of_some = |tag: &&String| counts[tag.as_str()] < case.criteria.len();
        let mut tags = Vec::with_capacity(case.criteria.len());
        for criterion in &case.criteria {
            let mut of_some = criterion.tags.iter().filter(is_of_some);
            let (Some(tag), None) = (of_some.next(), of_some.next()) else {
                return;
            };
            tags.push(tag);
        }
        if BTreeSet::from_iter(&tags).len() == tags.len() {
            return;
        }
        let mut places = HashMap::new();
        for (criterion, tag) in case.criteria.iter().zip(tags) {
            let place = *places.entry(tag).or_insert_with(|| {
                self.list.push((tag.clone(), None));
                self.list.len() - 1
            });
            self.of.insert(criterion.name.clone(), place);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::CaseCriterion;

    fn groups(criteria: &[(&str, &[&str], &[&str])]) -> CriterionGroups {
        let mut case = TestCase::without_rubric("q".into(), "why?");
        for (name, tags, texts) in criteria {
            case.criteria.push(CaseCriterion {
                name: (*name).to_owned(),
                tags: tags.iter().map(|tag| (*tag).to_owned()).collect(),
                nodes_above: texts.iter().map(|text| (*text).into()).collect(),
                ..CaseCriterion::default()
            });
        }
        CriterionGroups::of(&case)
    }

    #[test]
    fn nodes_of_a_tree_are_groups_within_groups() {
        let of = groups(&[
            ("a", &["code", "q 1", "q 1.2"], &["all", "one", "two"]),
            ("b", &["code", "q 1"], &["all", "one"]),
            ("c", &["runs"], &["all"]),
        ]);
        let expected = [("1 one".to_owned(), None), ("1.2 two".to_owned(), Some(0))];
        assert_eq!(of.list, expected);
        let innermost = ["a", "b", "c"].map(|name| of.innermost(name));
        assert_eq!(innermost, [Some(1), Some(0), None]);
        let without_texts = groups(&[("a", &["q 1"], &[]), ("b", &[], &[])]);
        assert_eq!(without_texts.list, [("1".to_owned(), None)]);
    }

    #[test]
    fn tags_are_groups_where_each_criterion_has_one_that_not_all_have() {
        let of = groups(&[
            ("a", &["all", "x"], &[]),
            ("b", &["y", "all"], &[]),
            ("c", &["all", "x"], &[]),
        ]);
        assert_eq!(of.list, [("x".to_owned(), None), ("y".to_owned(), None)]);
        assert_eq!(of.innermost("c"), Some(0));
        // One without, one with two, none, and a group for each.
        assert!(
            groups(&[("a", &["x"], &[]), ("b", &[], &[])])
                .list
                .is_empty()
        );
        assert!(
            groups(&[("a", &["x", "y"], &[]), ("b", &["x"], &[])])
                .list
                .is_empty()
        );
        assert!(
            groups(&[("a", &["x"], &[]), ("b", &["x"], &[])])
                .list
                .is_empty()
        );
        assert!(
            groups(&[("a", &["x"], &[]), ("b", &["y"], &[])])
                .list
                .is_empty()
        );
    }
}
